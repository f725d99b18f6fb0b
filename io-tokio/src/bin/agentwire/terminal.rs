//! Text on a terminal: what others wrote must not act on it, and lines fit its width.

use core::fmt::{self, Display, Write as _};
use std::borrow::Cow;
use std::env;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

/// Who speaks.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default().bold();
/// What matters less.
pub(crate) const DIM: Style = Style::new().dimmed();

/// The width of what is no terminal, and of a terminal that does not say.
const WIDTH: usize = 80;

/// What results are shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    terminal: bool,
    colour: bool,
    width: usize,
}

impl Terminal {
    /// Looks at a stream and at `NO_COLOR`, `TERM` and `COLUMNS`.
    pub(crate) fn of(stream: &(impl IsTerminal + AsFd)) -> Self {
        let terminal = stream.is_terminal();
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let columns = || env::var("COLUMNS").ok()?.parse::<usize>().ok();
        let width = terminal_size::terminal_size_of(stream)
            .map(|(terminal_size::Width(width), _)| usize::from(width))
            .or_else(columns)
            .filter(|&width| width >= 20)
            .unwrap_or(WIDTH);
        Terminal { terminal, colour: terminal && !set("NO_COLOR") && !dumb, width }
    }

    /// Whether a person looks at it.
    pub(crate) fn is_terminal(self) -> bool {
        self.terminal
    }

    /// Its width in columns.
    pub(crate) fn width(self) -> usize {
        self.width
    }

    /// Text in a style, where colour is wanted.
    pub(crate) fn paint<T: Display>(self, style: Style, text: T) -> Painted<T> {
        Painted { style: if self.colour { style } else { Style::new() }, text }
    }
}

/// See [`Terminal::paint`].
#[derive(Debug)]
pub(crate) struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = self.style;
        write!(f, "{style}{}{style:#}", self.text)
    }
}

/// Whether a character acts on a terminal or hides in it instead of standing there: controls (so
/// every escape sequence loses its start), separators of lines, marks of direction, and what has
/// neither width nor a part in writing.
fn acts(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Foreign text in one line: each character that acts is shown by its escape, as `\n` or
/// `\u{1b}`. It is meant for eyes; a backslash stays one, so the way back is not unique.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    rewrite(text, |out, char| match char {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        char => out.extend(char.escape_unicode()),
    })
}

/// Foreign text of several lines: as [`escape`], but line feeds stay.
pub(crate) fn escape_lines(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(escape).collect();
    lines.join("\n")
}

/// JSON in one line: what acts becomes a JSON escape, so the value stays the same.
pub(crate) fn escape_json(text: &str) -> Cow<'_, str> {
    rewrite(text, |out, char| {
        for unit in char.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

fn rewrite(text: &str, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if acts(char) {
            escape(&mut out, char);
        } else {
            out.push(char);
        }
    }
    Cow::Owned(out)
}

/// How many columns escaped text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Escaped text in at most this many columns; what is missing is shown by an ellipsis.
pub(crate) fn truncate(text: &str, columns: usize) -> Cow<'_, str> {
    // Marks without width pile up in one column: beyond eight for each column is too many.
    let most = columns.saturating_mul(8);
    if text.len() <= columns || (width(text) <= columns && text.chars().count() <= most) {
        return Cow::Borrowed(text);
    }
    let room = columns.saturating_sub(1);
    let ends = text.char_indices().take(most).map(|(at, char)| at + char.len_utf8());
    let end = ends.take_while(|&end| width(&text[..end]) <= room).last().unwrap_or(0);
    let mut out = text[..end].to_owned();
    if columns > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// Escaped text in lines of at most this many columns, broken between words where it can be: at a
/// hyphen only where nothing else is left, for many stand in dates, names and numbers.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<Cow<'_, str>> {
    let options = textwrap::Options::new(columns.max(1))
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_lose_their_start() {
        assert_eq!(escape("\u{1b}[2J\u{1b}]0;me\u{7}"), "\\u{1b}[2J\\u{1b}]0;me\\u{7}");
        assert_eq!(escape("\u{9b}31m\u{9d}8;;x\u{9c}"), "\\u{9b}31m\\u{9d}8;;x\\u{9c}");
        assert_eq!(escape("a\r\nb\tc\u{8}\u{7f}\0"), "a\\r\\nb\\tc\\u{8}\\u{7f}\\u{0}");
    }

    #[test]
    fn marks_of_direction_and_hidden_characters_show() {
        assert_eq!(escape("a\u{202e}b\u{2066}c\u{2069}"), "a\\u{202e}b\\u{2066}c\\u{2069}");
        assert_eq!(escape("\u{200b}\u{feff}\u{2028}"), "\\u{200b}\\u{feff}\\u{2028}");
        assert_eq!(escape("\u{e0041}"), "\\u{e0041}");
    }

    #[test]
    fn writing_of_any_kind_stays() {
        for text in ["", "plain \\n text", "日本語", "שלום", "é e\u{301}", "👩\u{200d}🚀"]
        {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn line_feeds_stay_where_lines_are_wanted() {
        assert_eq!(escape_lines("a\nb\u{1b}c\r\n"), "a\nb\\u{1b}c\\r\n");
    }

    #[test]
    fn json_keeps_its_value() {
        let text = serde_json::json!({"a": "x\u{202e}\u{9b}\u{e0041}é"}).to_string();
        let shown = escape_json(&text);
        assert!(!shown.contains(acts));
        let back: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(back, serde_json::from_str::<serde_json::Value>(&text).expect("JSON"));
    }

    #[test]
    fn text_is_cut_by_columns() {
        assert_eq!(truncate("abcdef", 6), "abcdef");
        assert_eq!(truncate("abcdefg", 6), "abcde…");
        assert_eq!(truncate("日本語", 6), "日本語");
        assert_eq!(truncate("日本語", 5), "日本…");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(truncate("abc", 1), "…");
        assert_eq!(truncate("abc", 0), "");
        for columns in 0..20 {
            let text = "a👩\u{200d}🚀b日é e\u{301}xyz 👍🏽 end";
            assert!(width(&truncate(text, columns)) <= columns);
        }
    }

    #[test]
    fn marks_piled_up_are_cut() {
        let piled = format!("a{}", "\u{301}".repeat(10_000));
        assert!(truncate(&piled, 10).chars().count() <= 81);
    }

    #[test]
    fn lines_fit_the_width() {
        let text = "日本語 ".repeat(30) + &"x".repeat(200) + " and some words after it";
        let lines = wrap(&text, 40);
        assert!(lines.iter().all(|line| width(line) <= 40));
        assert!(lines.len() >= 9);
        assert_eq!(wrap("one two", 5), ["one", "two"]);
        assert_eq!(wrap("on 2026-11-30 at", 12), ["on", "2026-11-30", "at"]);
    }

    #[test]
    fn colour_is_only_for_those_who_want_it() {
        let plain = Terminal { terminal: true, colour: false, width: 80 };
        assert_eq!(plain.paint(NAME, "bot").to_string(), "bot");
        let colourful = Terminal { colour: true, ..plain };
        let painted = colourful.paint(NAME, "bot").to_string();
        assert!(painted.starts_with("\u{1b}[") && painted.ends_with("\u{1b}[0m"), "{painted:?}");
    }
}
