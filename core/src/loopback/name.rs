//! Display names: which ones there are, and how equal ones are told apart.

use alloc::{collections::BTreeSet, format, string::String};

/// The longest display name, in characters.
pub const MAX_DISPLAY_NAME_CHARS: usize = 50;

/// The characters that no display name has.
const PROHIBITED: &str = ".,;/\\#@'\"`~";

/// Whether the core takes `name` as it is. The core's own rule (`mkValidName`) also tidies runs
/// of other punctuation, which is not asked for here.
pub(super) fn is_valid(name: &str) -> bool {
    let mut spaced = true;
    for character in name.chars() {
        let space = character.is_whitespace();
        // A space stands alone, inside.
        if space && spaced || character.is_control() || PROHIBITED.contains(character) {
            return false;
        }
        spaced = space;
    }
    !spaced && name.chars().count() <= MAX_DISPLAY_NAME_CHARS
}

/// A valid name that is close to this one, as the core proposes one; empty where nothing is left.
pub(super) fn valid(name: &str) -> String {
    let mut valid = String::new();
    for character in name.chars() {
        let character = if character.is_whitespace() { ' ' } else { character };
        let spaced = valid.is_empty() || valid.ends_with(' ');
        let is_left_out =
            character.is_control() || PROHIBITED.contains(character) || character == ' ' && spaced;
        if !is_left_out && valid.chars().count() < MAX_DISPLAY_NAME_CHARS {
            valid.push(character);
        }
    }
    valid.truncate(valid.trim_end().len());
    valid
}

/// The first of `name`, `name_1`, `name_2`, … that is not taken; it is taken then.
pub(super) fn take(taken: &mut BTreeSet<String>, name: &str) -> String {
    let mut local = String::from(name);
    let mut suffix = 0_u64;
    // A set that holds every suffix does not fit into memory.
    while taken.contains(&local) {
        suffix = suffix.saturating_add(1);
        local = format!("{name}_{suffix}");
    }
    taken.insert(local.clone());
    local
}

/// The text of a mention of `name`: quoted when a parser would stop inside it.
///
/// A name that has a dot is quoted too, since newer cores take `@a.b` for an address.
///
/// ```
/// use agentwire_core::loopback::mention_text;
/// assert_eq!(mention_text("acme"), "@acme");
/// assert_eq!(mention_text("acme bot"), "@'acme bot'");
/// ```
pub fn mention_text(name: &str) -> String {
    let quoted = name.contains(|c| super::mention::is_space(c) || c == '.')
        || name.ends_with(crate::chat::is_punctuation);
    if quoted { format!("@'{name}'") } else { format!("@{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_names_have_no_prohibited_characters() {
        for name in ["alice", "алиса", "John Doe", "alice 👍", "123", "alice-bob", "alice & bob"]
        {
            assert!(is_valid(name), "{name}");
        }
        for name in
            ["", " ", "alice ", " alice", "a  b", "J.Doe", "a@b", "#a", "a/b", "a\\b", "'a", "a\"b"]
        {
            assert!(!is_valid(name), "{name}");
        }
        for name in ["a`b", "a~b", "a,b", "a;b", "a\nb", "a\u{7}b"] {
            assert!(!is_valid(name), "{name:?}");
        }
    }

    #[test]
    fn display_names_have_at_most_50_characters() {
        assert!(is_valid(&"😀".repeat(50)));
        assert!(!is_valid(&"a".repeat(51)));
    }

    #[test]
    fn a_name_that_is_none_has_a_valid_one_beside_it() {
        for (name, expected) in [("a@b", "ab"), (" J.  Doe ", "J Doe"), ("@#", ""), ("ann", "ann")]
        {
            assert_eq!(valid(name), expected);
            assert!(expected.is_empty() || is_valid(expected));
        }
        assert!(is_valid(&valid(&"é ".repeat(100))));
    }

    #[test]
    fn equal_names_get_a_suffix() {
        let mut taken = BTreeSet::new();
        let names = [(); 3].map(|()| take(&mut taken, "bot"));
        assert_eq!(names, ["bot", "bot_1", "bot_2"]);
        assert_eq!(take(&mut taken, "bot_1"), "bot_1_1");
    }

    #[test]
    fn a_mention_is_quoted_where_needed() {
        assert_eq!(mention_text("a.j"), "@'a.j'");
        assert_eq!(mention_text("who?"), "@'who?'");
        assert_eq!(mention_text("bot_1"), "@bot_1");
    }
}
