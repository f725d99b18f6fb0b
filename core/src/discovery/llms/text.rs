//! Markdown text that is borrowed as it was written.

use core::fmt;

use crate::json::{BufferTooSmall, Writer};

/// A piece of Markdown: a title, an address, a network's name, the free text of an entry.
///
/// It is kept as it was written. [`chars`](Self::chars) reads backslash escapes (`\]`), character
/// references (`&amp;`, `&#93;`; of the named ones `amp`, `lt`, `gt`, `quot` and `apos`), and a
/// line's end with the white space around it as one space. Other markup stays as it is. Two texts
/// are equal if they read the same.
///
/// `Debug` shows the length, never the text.
///
/// ```
/// use agentwire_core::discovery::llms::{Communications, Item};
///
/// let file = "## Communications\n- [Tom \\[&amp; Jerry\\]](mailto:t@a.example): Email contact for people.";
/// let Some(Item::Entry(entry)) = Communications::new(file).next() else { panic!() };
/// assert_eq!(entry.title().raw(), "Tom \\[&amp; Jerry\\]");
/// assert!(entry.title() == *"Tom [& Jerry]");
/// let mut buffer = [0; 32];
/// assert_eq!(entry.title().write(&mut buffer).unwrap(), "Tom [& Jerry]");
/// ```
#[derive(Clone, Copy)]
pub struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// The text as it was written.
    pub fn raw(&self) -> &'a str {
        self.0
    }

    /// The text, if it reads as it was written.
    pub fn as_plain(&self) -> Option<&'a str> {
        let special = |byte| matches!(byte, b'\\' | b'&' | b'\n' | b'\r');
        let plain = !self.0.bytes().any(special) || self.chars().eq(self.0.chars());
        plain.then_some(self.0)
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The characters that the text stands for.
    pub fn chars(&self) -> Chars<'a> {
        Chars { rest: self.0, within: 0 }
    }

    /// Writes what the text stands for into `out`.
    ///
    /// # Errors
    /// [`BufferTooSmall`]. The length of [`raw`](Self::raw) always suffices.
    pub fn write<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, BufferTooSmall> {
        let mut writer = Writer::new(out);
        for char in self.chars() {
            writer.raw(char.encode_utf8(&mut [0; 4]));
        }
        writer.finish()
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.chars().eq(other.chars())
    }
}

impl Eq for Text<'_> {}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.chars().eq(other.chars())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({} bytes)", self.0.len())
    }
}

/// The characters of a [`Text`].
///
/// ```
/// use agentwire_core::discovery::llms::{Communications, Item};
/// let file = "## Communications\n- [a\\*b](https://a.example): Web contact for people.";
/// let Some(Item::Entry(entry)) = Communications::new(file).next() else { panic!() };
/// assert!(entry.title().chars().eq("a*b".chars()));
/// ```
#[derive(Clone)]
pub struct Chars<'a> {
    rest: &'a str,
    /// How many of the next characters belong to a run of spaces that ends no line.
    within: usize,
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let char = self.rest.chars().next()?;
        let after = self.rest.get(char.len_utf8()..).unwrap_or_default();
        if char == '\\' {
            let escaped = after.chars().next().filter(char::is_ascii_punctuation);
            if let Some(escaped) = escaped {
                self.rest = after.get(1..).unwrap_or_default();
                return Some(escaped);
            }
        } else if char == '&' {
            if let Some((referred, len)) = reference(after) {
                self.rest = after.get(len..).unwrap_or_default();
                return Some(referred);
            }
        } else if self.within > 0 {
            self.within = self.within.saturating_sub(1);
        } else if is_space(char) {
            // A run is looked through once, when its first character is reached.
            let trimmed = self.rest.trim_start_matches(is_space);
            let len = self.rest.len().saturating_sub(trimmed.len());
            if self.rest.get(..len).is_some_and(|run| run.contains(['\n', '\r'])) {
                self.rest = trimmed;
                return Some(' ');
            }
            self.within = len.saturating_sub(1);
        }
        self.rest = after;
        Some(char)
    }
}

impl fmt::Debug for Chars<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chars({} bytes)", self.rest.len())
    }
}

fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r')
}

/// The longest character reference that is read, without its ampersand: `#x10FFFF;`.
const LONGEST_REFERENCE: usize = 9;

/// The character that a reference stands for, and its length; the ampersand is before it.
fn reference(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(LONGEST_REFERENCE).position(|byte| byte == b';')?;
    let name = text.get(..end)?;
    let char = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let (digits, radix) = match number.strip_prefix(['x', 'X']) {
                Some(digits) => (digits, 16),
                None => (number, 10),
            };
            if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            let code = u32::from_str_radix(digits, radix).ok()?;
            // As Markdown has it: zero and what is no character become the replacement character.
            char::from_u32(code).filter(|char| *char != '\0').unwrap_or(char::REPLACEMENT_CHARACTER)
        }
    };
    Some((char, end.saturating_add(1)))
}

/// Whether a text that follows an ampersand could be read as a reference with it, by a reader that
/// knows more names.
pub(super) fn looks_like_reference(text: &str) -> bool {
    let name = text.strip_prefix('#').unwrap_or(text);
    let end = name.bytes().take(40).position(|byte| !byte.is_ascii_alphanumeric());
    end.is_some_and(|end| end > 0 && name.get(end..).is_some_and(|rest| rest.starts_with(';')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    fn read(text: &str) -> String {
        Text::new(text).chars().collect()
    }

    #[test]
    fn escapes_and_references_are_read() {
        for (written, is) in [
            ("\\[a\\]", "[a]"),
            ("\\a \\", "\\a \\"),
            ("\\\\[", "\\["),
            ("a&amp;b&lt;&gt;&quot;&apos;", "a&b<>\"'"),
            ("&#65;&#x41;&#X1f980;", "AA\u{1f980}"),
            ("&#0;&#xD800;", "\u{fffd}\u{fffd}"),
            ("&copy; & &; &# &#; &#x; &#xg; &amp", "&copy; & &; &# &#; &#x; &#xg; &amp"),
            ("&#+65;", "&#+65;"),
            ("\\&amp;", "&amp;"),
            ("a  b", "a  b"),
            ("a \r\n\t b\nc", "a b c"),
        ] {
            assert_eq!(read(written), is, "{written:?}");
        }
    }

    #[test]
    fn a_text_is_plain_if_it_reads_as_it_was_written() {
        assert_eq!(Text::new("a&b\\c").as_plain(), Some("a&b\\c"));
        assert_eq!(Text::new("a&amp;b").as_plain(), None);
        assert_eq!(Text::new("a\nb").as_plain(), None);
    }
}
