//! The mentions in a text, as the core's markdown finds them.
//!
//! The core cuts each line into fragments and decides by a fragment's first character what it is.
//! Only a fragment that starts with `@` can be a mention; what other fragments swallow is none:
//!
//! ```text
//! fragment = spaces                        " "+
//!          | emphasis                      *…*  _…_  ~…~  `…`     to the end of the line if open
//!          | secret                        #…#                    to the end of the line if open
//!          | colour                        !1 …!  !red …!         else a word
//!          | mention                       @name  @'na me'        else a word
//!          | command                       /name  /'na me'        else a word
//!          | link                          [text](https://…)      else a word
//!          | phone number                  +44 7777 777 777       else a word
//!          | word                          up to the next space
//! ```
//!
//! Source: simplex-chat `Markdown.hs` and its tests, `textWithMentions`, `textWithCommands`,
//! `multilineMarkdownList`.

use alloc::{string::String, vec::Vec};
use core::ops::Range;

use crate::chat::is_punctuation;

/// What the core's markdown makes of a text.
#[derive(Default, Debug)]
pub(super) struct Markdown<'t> {
    /// Whether anything in the text has a format. If nothing has, the core ignores a message's
    /// mentions without a check.
    pub(super) formatted: bool,
    /// The mentions in the order of the text.
    pub(super) mentions: Vec<Mention<'t>>,
    /// The whole text without the marks of formats, in pieces.
    pub(super) pieces: Vec<Piece<'t>>,
}

/// A part of a text with one format or with none: the core's `FormattedText`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    pub(super) style: Option<Style<'t>>,
}

/// The core's `Format`, as far as the stand-in tells formats apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style<'t> {
    Bold,
    Italic,
    StrikeThrough,
    Snippet,
    Secret,
    /// By its letter or its digit.
    Coloured(&'t str),
    /// The address behind the text.
    Link(&'t str),
    Uri,
    Email,
    Phone,
    /// What stands behind `/`.
    Command(&'t str),
    /// The name of the member.
    Mention(&'t str),
    /// `@name.simplex`: the core reports what it is made of, the stand-in shows it as plain.
    Name,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention<'t> {
    pub(super) name: &'t str,
    /// Where it stands, with its `@` and quotes, in bytes.
    pub(super) range: Range<usize>,
}

/// Parses a whole text.
pub(super) fn parse(text: &str) -> Markdown<'_> {
    let mut found = Markdown::default();
    // As Haskell's `lines`: one newline at the end ends the last line and begins none.
    let body = text.strip_suffix('\n').unwrap_or(text);
    if !body.contains('\n') {
        let line = body.trim_start_matches(' ');
        let mut characters = line.chars();
        let first = characters.next();
        if characters.next().is_none() {
            return found;
        }
        if first == Some('/') {
            found.formatted = true;
            let command = line.get(1..).unwrap_or_default();
            found.pieces.push(Piece { text, style: Some(Style::Command(command)) });
            return found;
        }
    }
    let mut start = 0_usize;
    for line in body.split('\n') {
        if start > 0 {
            found.plain(text, start.saturating_sub(1)..start);
        }
        parse_line(text, line, start, &mut found);
        start = start.saturating_add(line.len()).saturating_add(1);
    }
    found
}

impl<'t> Markdown<'t> {
    /// Adds a plain part, to the piece in front of it if that is plain and ends there.
    fn plain(&mut self, text: &'t str, range: Range<usize>) {
        let part = text.get(range.clone()).unwrap_or_default();
        if part.is_empty() {
            return;
        }
        if let Some(last) = self.pieces.last_mut().filter(|last| last.style.is_none()) {
            let begin = range.start.saturating_sub(last.text.len());
            let joined = text.get(begin..range.end).unwrap_or_default();
            if joined.as_ptr() == last.text.as_ptr() {
                last.text = joined;
                return;
            }
        }
        self.pieces.push(Piece { text: part, style: None });
    }
}

/// `text` with its mentions replaced where `rename` gives another text for a name.
pub(super) fn rewrite(text: &str, mut rename: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for mention in parse(text).mentions {
        if let Some(renamed) = rename(mention.name) {
            out.push_str(text.get(copied..mention.range.start).unwrap_or_default());
            out.push_str(&renamed);
            copied = mention.range.end;
        }
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

/// A fragment: what it is, and its length in bytes, which is never zero.
enum Fragment<'t> {
    Plain(usize),
    /// The format, the text that has it, the length of all, and how much of its end is plain.
    Formatted {
        style: Style<'t>,
        shown: &'t str,
        whole: usize,
        tail: usize,
    },
    /// The name, the length with `@` and quotes, and that with the punctuation behind it.
    Mention(&'t str, usize, usize),
}

/// A fragment with nothing plain behind it.
fn formatted<'t>(style: Style<'t>, shown: &'t str, whole: usize) -> Fragment<'t> {
    Fragment::Formatted { style, shown, whole, tail: 0 }
}

fn parse_line<'t>(text: &'t str, line: &'t str, start: usize, found: &mut Markdown<'t>) {
    let mut rest = line;
    let mut at = start;
    while let Some(first) = rest.chars().next() {
        // Every fragment has at least its first character, so this ends.
        let least = first.len_utf8();
        let len = match fragment(first, rest) {
            Fragment::Plain(len) => {
                let len = len.max(least);
                found.plain(text, at..at.saturating_add(len));
                len
            }
            Fragment::Formatted { style, shown, whole, tail } => {
                found.formatted = true;
                found.pieces.push(Piece { text: shown, style: Some(style) });
                let end = at.saturating_add(whole);
                found.plain(text, end.saturating_sub(tail)..end);
                whole.max(least)
            }
            Fragment::Mention(name, len, whole) => {
                found.formatted = true;
                let end = at.saturating_add(len);
                if name.is_empty() {
                    found.plain(text, at..end);
                } else {
                    found.mentions.push(Mention { name, range: at..end });
                    let text = text.get(at..end).unwrap_or_default();
                    found.pieces.push(Piece { text, style: Some(Style::Mention(name)) });
                }
                found.plain(text, end..at.saturating_add(whole));
                whole.max(least)
            }
        };
        at = at.saturating_add(len);
        rest = rest.get(len..).unwrap_or_default();
    }
}

fn fragment(first: char, rest: &str) -> Fragment<'_> {
    let inner = rest.get(first.len_utf8()..).unwrap_or_default();
    match first {
        ' ' => Fragment::Plain(rest.len().saturating_sub(rest.trim_start_matches(' ').len())),
        '*' | '_' | '~' | '`' => emphasis(first, inner),
        '#' => secret(rest, inner),
        '!' => coloured(inner).unwrap_or_else(|| word(rest)),
        '@' => mention(inner).unwrap_or_else(|| word(rest)),
        '/' => match mention(inner) {
            Some(Fragment::Mention(name, len, whole)) => {
                let shown = rest.get(..len).unwrap_or_default();
                let tail = whole.saturating_sub(len);
                Fragment::Formatted { style: Style::Command(name), shown, whole, tail }
            }
            Some(Fragment::Formatted { whole, .. }) => {
                let shown = rest.get(..whole).unwrap_or_default();
                formatted(Style::Command(shown.get(1..).unwrap_or_default()), shown, whole)
            }
            _ => word(rest),
        },
        '[' => link(inner).unwrap_or_else(|| word(rest)),
        '+' | '0'..='9' => phone(rest).unwrap_or_else(|| word(rest)),
        _ => word(rest),
    }
}

/// Whether text between marks gets the format: there is some, and no space touches the marks.
fn is_tight(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(' ') && !text.ends_with(' ')
}

fn emphasis(mark: char, inner: &str) -> Fragment<'_> {
    match inner.split_once(mark) {
        Some((text, _)) if is_tight(text) => {
            let style = match mark {
                '*' => Style::Bold,
                '_' => Style::Italic,
                '~' => Style::StrikeThrough,
                _ => Style::Snippet,
            };
            formatted(style, text, text.len().saturating_add(2))
        }
        Some((text, _)) => Fragment::Plain(text.len().saturating_add(2)),
        None => Fragment::Plain(inner.len().saturating_add(1)),
    }
}

fn secret<'t>(rest: &'t str, inner: &'t str) -> Fragment<'t> {
    let body = inner.trim_start_matches('#');
    match body.find('#') {
        Some(end) => {
            let text = body.get(..end).unwrap_or_default();
            let behind = body.get(end..).unwrap_or_default().trim_start_matches('#');
            let len = rest.len().saturating_sub(behind.len());
            if is_tight(text) { formatted(Style::Secret, text, len) } else { Fragment::Plain(len) }
        }
        None => Fragment::Plain(rest.len()),
    }
}

fn coloured(inner: &str) -> Option<Fragment<'_>> {
    let colours =
        [("r", "ed"), ("g", "reen"), ("b", "lue"), ("y", "ellow"), ("c", "yan"), ("m", "agenta")];
    let letters = colours.iter().find_map(|(letter, more)| {
        let behind = inner.strip_prefix(letter)?;
        Some(behind.strip_prefix(more).unwrap_or(behind))
    });
    let behind = letters.or_else(|| inner.strip_prefix(|c| matches!(c, '1'..='6')))?;
    let body = behind.strip_prefix(is_space)?;
    let (text, after) = body.split_once('!')?;
    is_tight(text).then(|| {
        let used = inner.len().saturating_sub(after.len());
        let colour = inner.get(..1).unwrap_or_default();
        formatted(Style::Coloured(colour), text, used.saturating_add(1))
    })
}

/// What stands behind `@`: a quoted name, or everything up to white space without the
/// punctuation at its end.
fn mention(inner: &str) -> Option<Fragment<'_>> {
    let begins = |c: char| c > ' ' && !matches!(c, '#' | '@' | '\'');
    if let Some(quoted) = inner.strip_prefix('\'') {
        let (name, _) = quoted.split_once('\'')?;
        let len = name.len().saturating_add(3);
        return name.starts_with(begins).then_some(Fragment::Mention(name, len, len));
    }
    if !inner.starts_with(begins) {
        return None;
    }
    let token = inner.split(is_space).next().unwrap_or_default();
    let name = token.trim_end_matches(is_punctuation);
    let whole = token.len().saturating_add(1);
    if is_simplex_name(name) {
        return Some(formatted(Style::Name, token, whole));
    }
    Some(Fragment::Mention(name, name.len().saturating_add(1), whole))
}

/// A name with a domain, such as `acme.simplex`: newer cores take `@` and it for an address.
fn is_simplex_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
            && !label.contains("--")
    };
    name.contains('.') && name.len() <= 253 && name.split('.').all(is_label)
}

fn link(inner: &str) -> Option<Fragment<'_>> {
    let (text, behind) = inner.split_once(']')?;
    let (target, after) = behind.strip_prefix('(')?.split_once(')')?;
    let is_plain = !text.contains(|c| is_punctuation(c) && c != '-' && c != '_');
    let names_target = text == target || target.strip_prefix("https://") == Some(text);
    (!text.is_empty() && (is_plain || names_target) && is_uri(target)).then(|| {
        let used = inner.len().saturating_sub(after.len());
        formatted(Style::Link(target), text, used.saturating_add(1))
    })
}

fn phone(rest: &str) -> Option<Fragment<'_>> {
    fn digits(text: &str) -> Option<&str> {
        let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
        (behind.len() < text.len()).then_some(behind)
    }
    let separator = |text: &'_ str| -> usize { usize::from(text.starts_with([' ', '-', '.'])) };
    let mut behind = rest.strip_prefix('+').and_then(digits).unwrap_or(rest);
    let code = behind.get(separator(behind)..).and_then(|text| text.strip_prefix('('));
    if let Some(after) = code.and_then(digits).and_then(|text| text.strip_prefix(')')) {
        behind = after;
    }
    while let Some(after) = behind.get(separator(behind)..).and_then(digits) {
        behind = after;
    }
    // All of it is ASCII, so bytes are characters.
    let len = rest.len().saturating_sub(behind.len());
    let shown = rest.get(..len).unwrap_or_default();
    (7..=22).contains(&len).then_some(formatted(Style::Phone, shown, len))
}

fn word(rest: &str) -> Fragment<'_> {
    let word = rest.split(' ').next().unwrap_or_default();
    let trimmed = word.trim_end_matches(|c| is_punctuation(c) && c != '/' && c != ')');
    let style = if is_uri(trimmed) || is_domain(trimmed) {
        Style::Uri
    } else if is_email(trimmed) {
        Style::Email
    } else {
        return Fragment::Plain(word.len());
    };
    let tail = word.len().saturating_sub(trimmed.len());
    Fragment::Formatted { style, shown: trimmed, whole: word.len(), tail }
}

fn is_uri(text: &str) -> bool {
    let host =
        |rest: &str| rest.split(['/', '?', '#', ':']).next().is_some_and(|host| host.contains('.'));
    !text.contains(' ')
        && text.chars().count() >= 10
        && (text.starts_with("simplex:/")
            || text.strip_prefix("http://").is_some_and(host)
            || text.strip_prefix("https://").is_some_and(host))
}

/// What is likely to be a domain: `name.tld` or `sub.name.tld`, in ASCII letters.
fn is_domain(text: &str) -> bool {
    let mut labels = text.rsplit('.');
    let (tld, name, sub, more) = (labels.next(), labels.next(), labels.next(), labels.next());
    let has = |label: Option<&str>, lengths: core::ops::RangeInclusive<usize>| {
        label.is_some_and(|l| {
            lengths.contains(&l.len()) && l.bytes().all(|b| b.is_ascii_alphabetic())
        })
    };
    let sub_is_short = sub.is_none_or(|sub| (3..=8).contains(&sub.chars().count()));
    more.is_none() && sub_is_short && has(name, 1..=24) && has(tld, 2..=8)
}

fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(user, host)| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
        let label =
            |l: &str| !l.is_empty() && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        !user.is_empty() && user.chars().all(plain) && host.split('.').all(label)
    })
}

/// Haskell's `isSpace`.
pub(super) fn is_space(character: char) -> bool {
    matches!(
        character,
        '\t'..='\r'
            | ' '
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        let found = parse(text);
        for mention in &found.mentions {
            let at = &text[mention.range.clone()];
            assert!(
                at == std::format!("@{}", mention.name)
                    || at == std::format!("@'{}'", mention.name)
            );
        }
        found.mentions.into_iter().map(|mention| mention.name).collect()
    }

    #[test]
    fn a_one_line_command_has_no_mentions() {
        assert_eq!(names("/_call @bot mcp {}"), [""; 0]);
        assert_eq!(names("  /_call @bot mcp {}"), [""; 0]);
        assert_eq!(names("/_call @bot mcp {}\n"), [""; 0]);
        assert!(parse("/_call @bot mcp {}").formatted);
        assert!(!parse("/").formatted);
        assert_eq!(names("call @bot"), ["bot"]);
    }

    #[test]
    fn a_command_of_two_lines_has_mentions() {
        assert_eq!(names("/_call @bot mcp {\n}"), ["bot"]);
        assert_eq!(
            names("/_call @'my bot' mcp {\n\"a\":\"@carol\", @dave\n}\n"),
            ["my bot", "dave"]
        );
        assert_eq!(names("/_call @bot mcp {}\n\n"), ["bot"]);
    }

    #[test]
    fn a_mention_ends_at_white_space_without_trailing_punctuation() {
        for (text, name) in [
            ("@alice", "alice"),
            ("hello @alice !", "alice"),
            ("hello @alice!", "alice"),
            ("hello @alice...", "alice"),
            ("hello @alice@example.com", "alice@example.com"),
            ("hello @'alice @ example.com'", "alice @ example.com"),
            ("hello @'alice jones'!", "alice jones"),
            ("hello @'a.j.'!", "a.j."),
            ("hello @bob @'alice jones!", "bob"),
            ("hello @bob @ alice!", "bob"),
            ("hello @bob @", "bob"),
            ("hello @bob\tthere", "bob"),
            ("hello @bob_1's", "bob_1's"),
        ] {
            assert_eq!(names(text), [name], "{text}");
        }
        for text in ["hello @'alice jones!", "hello @ alice!", "mail@bob", "@", "@'", "@''", "@#a"]
        {
            assert_eq!(names(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn an_unquoted_name_with_a_domain_is_no_mention() {
        for text in ["@privacy.simplex", "ask @my-name.testing!", "@alice.example.com", "@x.y"] {
            assert_eq!(names(text), [""; 0], "{text}");
            assert!(parse(text).formatted, "{text}");
        }
        assert_eq!(names("@'x.y'"), ["x.y"]);
        assert_eq!(names("@x..y @a_b.c"), ["x..y", "a_b.c"]);
    }

    #[test]
    fn other_markdown_hides_mentions() {
        for text in [
            "*@bob*",
            "an open * hides @bob",
            "_ @bob",
            "`@bob`",
            "~x @bob~",
            "#see @bob#",
            "# @bob",
            "!1 see @bob!",
            "!red @bob!",
            "[bob](https://a.example/@bob)",
            "(@bob)",
            "say /'a @bob'",
        ] {
            assert_eq!(names(text), [""; 0], "{text}");
        }
        for text in [
            "*a*@bob",
            "a*b @bob",
            "!7 @bob",
            "! @bob!",
            "[x] @bob",
            "[a.b](https://a.example) @bob",
            "[a](nowhere) @bob",
            "07777 777 777@bob",
            "/help @bob and\nmore",
            "\n@bob",
        ] {
            assert_eq!(names(text), ["bob"], "{text}");
        }
    }

    #[test]
    fn a_text_without_any_format_is_told_apart() {
        for text in ["hello", "not a\nmarkdown", "077777 test", "a@", "**", "* a*", "x", "", "\n"] {
            assert!(!parse(text).formatted, "{text:?}");
        }
        for text in [
            "*b*",
            "#s#",
            "##double secret##",
            "!g x!",
            "+44 (0) 7777 777 777",
            "07777777777",
            "https://a.example",
            "simplex:/contact#/?v=1",
            "example.com.",
            "www.example.com",
            "chat@simplex.chat",
            "send /help",
        ] {
            assert!(parse(text).formatted, "{text:?}");
        }
        for text in ["1.5 a.b", "https://nohost", "a.b.example.com", "{\"a\":1}"] {
            assert!(!parse(text).formatted, "{text:?}");
        }
    }

    #[test]
    fn a_text_is_cut_into_pieces() {
        let pieces = |text| -> Vec<(&str, Option<Style<'_>>)> {
            parse(text).pieces.into_iter().map(|piece| (piece.text, piece.style)).collect()
        };
        let command = "/_call @bot mcp {}";
        assert_eq!(pieces(command), [(command, Some(Style::Command("_call @bot mcp {}")))]);
        assert_eq!(
            pieces("/_call @bot mcp {\n*a* b}"),
            [
                ("/_call", Some(Style::Command("_call"))),
                (" ", None),
                ("@bot", Some(Style::Mention("bot"))),
                (" mcp {\n", None),
                ("a", Some(Style::Bold)),
                (" b}", None),
            ]
        );
        assert_eq!(
            pieces("see example.com, @'a b'!"),
            [
                ("see ", None),
                ("example.com", Some(Style::Uri)),
                (", ", None),
                ("@'a b'", Some(Style::Mention("a b"))),
                ("!", None),
            ]
        );
        assert_eq!(pieces("plain * a* text"), [("plain * a* text", None)]);
    }

    #[test]
    fn every_text_ends_and_every_range_is_a_slice() {
        let pieces =
            ["@", "'", "*", "#", "!", "r", " ", "1", "+", "(", ")", "[", "]", "/", "é", "\n", "."];
        let mut rng = super::super::rng::Rng::new(3);
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..rng.up_to(12) {
                text.push_str(pieces[rng.up_to(16) as usize]);
            }
            names(&text);
            assert_eq!(rewrite(&text, |_| None), text);
            // Only marks are missing from the pieces, and nothing plain is cut in two.
            let pieces = parse(&text).pieces;
            assert!(pieces.iter().map(|piece| piece.text.len()).sum::<usize>() <= text.len());
            assert!(pieces.windows(2).all(|two| two.iter().any(|p| p.style.is_some())
                || two[0].text.as_bytes().as_ptr_range().end != two[1].text.as_ptr()));
        }
    }

    #[test]
    fn rewriting_replaces_whole_mentions() {
        let rename = |name: &str| (name == "a b").then(|| String::from("@c"));
        assert_eq!(rewrite("x @'a b'! @d\n@'a b'", rename), "x @c! @d\n@c");
    }
}
