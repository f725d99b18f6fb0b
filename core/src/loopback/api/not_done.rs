//! Commands of the core that the stand-in does not do. It says so, instead of saying that there is
//! no such command.

/// How such commands begin (simplex-chat `Commands.hs`, `chatCommandP`). A prefix that ends in a
/// letter is a command without more, or one with white space behind it.
const PREFIXES: [&str; 71] = [
    "/_abort switch ",
    "/_accept member #",
    "/_add ",
    "/_app ",
    "/_archive ",
    "/_block #",
    "/_call answer @",
    "/_call end @",
    "/_call extra @",
    "/_call get",
    "/_call invite @",
    "/_call offer @",
    "/_call reject @",
    "/_call status @",
    "/_clear chat ",
    "/_connect contact ",
    "/_connect group #",
    "/_create *",
    "/_create member contact #",
    "/_create tag ",
    "/_db ",
    "/_delete member ",
    "/_delete reports #",
    "/_delete tag ",
    "/_delete user ",
    "/_files_encrypt ",
    "/_files_folder ",
    "/_forward ",
    "/_get app settings",
    "/_get code ",
    "/_get item info ",
    "/_get items ",
    "/_get relays #",
    "/_get tags ",
    "/_group ",
    "/_hide user ",
    "/_info ",
    "/_join #",
    "/_member ",
    "/_mute user ",
    "/_network",
    "/_ntf ",
    "/_prepare ",
    "/_public group ",
    "/_reaction ",
    "/_relay ",
    "/_remove #",
    "/_servers ",
    "/_set accept member contacts ",
    "/_set alias ",
    "/_set custom ",
    "/_set link role #",
    "/_set receipts ",
    "/_set theme ",
    "/_settings ",
    "/_switch ",
    "/_sync ",
    "/_temp_folder ",
    "/_ttl ",
    "/_unhide user ",
    "/_unmute user ",
    "/_unread chat ",
    "/_verify ",
    "/auto_accept ",
    "/fcancel ",
    "/freceive ",
    "/help",
    "/incognito",
    "/profile",
    "/profile_address ",
    "/simplex",
];

/// Whether the text begins as one of them.
pub(super) fn is_command(text: &str) -> bool {
    PREFIXES.iter().any(|prefix| {
        let behind = text.strip_prefix(prefix);
        let is_word = prefix.ends_with(|c: char| c.is_ascii_alphabetic());
        behind.is_some_and(|behind| !is_word || behind.is_empty() || behind.starts_with(' '))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_that_is_a_word_ends_there() {
        assert!(is_command("/_join #5"));
        assert!(is_command("/help"));
        assert!(is_command("/profile ann"));
        assert!(!is_command("/helper"));
        assert!(!is_command("/_call mcp {}"));
    }
}
