//! As much of Markdown (CommonMark) as finding list items needs: lines, blocks, links.
//!
//! Each line is looked at a fixed number of times, and each item's text likewise, so the time is
//! linear whatever the file holds.

/// A line, without its ending.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    /// Bytes from the start of the file.
    pub(super) offset: usize,
    /// The first line is 1.
    pub(super) number: usize,
}

impl Line<'_> {
    pub(super) fn end(&self) -> usize {
        self.offset.saturating_add(self.text.len())
    }
}

/// The lines of a file. A line ends with LF, CRLF or CR.
#[derive(Clone)]
pub(super) struct Lines<'a> {
    pub(super) file: &'a str,
    pub(super) at: usize,
    pub(super) number: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.file.get(self.at..).filter(|rest| !rest.is_empty())?;
        let end = rest.bytes().position(|byte| byte == b'\n' || byte == b'\r');
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let ending = match end.and_then(|end| rest.get(end..)) {
            None => 0,
            Some(ending) if ending.starts_with("\r\n") => 2,
            Some(_) => 1,
        };
        self.number = self.number.saturating_add(1);
        let line = Line { text, offset: self.at, number: self.number };
        self.at = line.end().saturating_add(ending);
        Some(line)
    }
}

/// The opening of a fenced block of code.
#[derive(Clone, Copy)]
pub(super) struct Fence {
    char: char,
    len: usize,
}

impl Fence {
    /// Whether this line closes the block.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let (columns, text) = indent(line);
        let text = text.trim_end();
        columns < 4 && text.len() >= self.len && text.chars().all(|char| char == self.char)
    }
}

/// What a line begins.
pub(super) enum Block<'a> {
    Blank,
    /// A heading of this level.
    Heading(u8, &'a str),
    Fence(Fence),
    /// A comment; whether it ends in its line.
    Comment(bool),
    /// A list item: where in the line its text begins, and whether it is indented as code.
    Item(usize, bool),
    /// A thematic break.
    Rule,
    /// Indented as code, if no list is open.
    Indented,
    Text,
}

/// The columns before a line's text, and the text.
fn indent(line: &str) -> (usize, &str) {
    let mut columns: usize = 0;
    for (place, byte) in line.bytes().enumerate() {
        columns = match byte {
            b' ' => columns.saturating_add(1),
            b'\t' => (columns | 3).saturating_add(1),
            _ => return (columns, line.get(place..).unwrap_or_default()),
        };
    }
    (columns, "")
}

impl<'a> Block<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let (columns, text) = indent(line);
        let start = line.len().saturating_sub(text.len());
        if text.trim().is_empty() {
            return Self::Blank;
        }
        let deep = columns >= 4;
        match text.as_bytes() {
            [b'#', ..] if !deep => heading(text).unwrap_or(Self::Text),
            [b'`' | b'~', ..] if !deep => fence(text).map_or(Self::Text, Self::Fence),
            [b'<', b'!', b'-', b'-', ..] if !deep => {
                Self::Comment(ends_comment(text.get(4..).unwrap_or_default()))
            }
            [b'-' | b'*' | b'_', ..] if !deep && is_rule(text) => Self::Rule,
            _ => match marker(text) {
                Some(len) => Self::Item(start.saturating_add(len), deep),
                None if deep => Self::Indented,
                None => Self::Text,
            },
        }
    }
}

pub(super) fn ends_comment(text: &str) -> bool {
    text.contains("-->")
}

/// `## Heading ##`.
fn heading(text: &str) -> Option<Block<'_>> {
    let after = text.trim_start_matches('#');
    let level = text.len().saturating_sub(after.len());
    if level > 6 || !(after.is_empty() || after.starts_with([' ', '\t'])) {
        return None;
    }
    let title = after.trim();
    // A closing row of hashes stands apart from the title.
    let open = title.trim_end_matches('#');
    let title =
        if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { title };
    Some(Block::Heading(u8::try_from(level).ok()?, title))
}

fn fence(text: &str) -> Option<Fence> {
    let char = text.chars().next()?;
    let info = text.trim_start_matches(char);
    let len = text.len().saturating_sub(info.len());
    let allowed = len >= 3 && !(char == '`' && info.contains('`'));
    allowed.then_some(Fence { char, len })
}

/// Three or more of one character, with spaces between them at most.
fn is_rule(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let mut count: usize = 0;
    for char in text.chars() {
        if char == first {
            count = count.saturating_add(1);
        } else if !matches!(char, ' ' | '\t') {
            return false;
        }
    }
    count >= 3
}

/// The length of a list item's marker, the space behind it included.
fn marker(text: &str) -> Option<usize> {
    let digits = text.bytes().take(10).take_while(u8::is_ascii_digit).count();
    let marks = if digits == 0 { "-*+" } else { ".)" };
    let rest = text.get(digits..)?;
    if digits > 9 || !rest.starts_with(|char| marks.contains(char)) {
        return None;
    }
    let rest = rest.get(1..)?;
    let space = if rest.is_empty() { 0 } else { 1 };
    (space == 0 || rest.starts_with([' ', '\t']))
        .then(|| digits.saturating_add(1).saturating_add(space))
}

/// The level of the heading that a line of text becomes by the line under it.
pub(super) fn underline(line: &str) -> Option<u8> {
    let (columns, text) = indent(line);
    let text = text.trim_end();
    if columns >= 4 || text.is_empty() {
        return None;
    }
    match text.chars().next() {
        Some('=') if text.chars().all(|char| char == '=') => Some(1),
        Some('-') if text.chars().all(|char| char == '-') => Some(2),
        _ => None,
    }
}

/// A link at the beginning of a text: title, destination, and where the text goes on.
#[derive(Clone, Copy)]
pub(super) struct MarkdownLink<'a> {
    pub(super) title: &'a str,
    /// The first byte of the title.
    pub(super) title_at: usize,
    pub(super) destination: &'a str,
    /// The first byte of the destination.
    pub(super) destination_at: usize,
    /// The first byte behind the link.
    pub(super) end: usize,
}

/// Why a text does not begin with a link, and at which of its bytes that shows.
#[derive(Clone, Copy)]
pub(super) enum NoLink {
    /// No opening bracket.
    None,
    /// The bracket is not closed.
    Unclosed,
    /// `[title][reference]`.
    Reference(usize),
    /// No parenthesis after the title.
    NoDestination(usize),
    /// No closing parenthesis where the destination, or the title after it, ends.
    Destination(usize),
}

/// Reads characters one after another.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// Skips white space and says whether there was any.
    fn space(&mut self) -> bool {
        let rest = self.rest();
        let len = rest.len().saturating_sub(rest.trim_start_matches([' ', '\t', '\n', '\r']).len());
        self.skip(len);
        len > 0
    }

    /// Skips one byte, or two if it is a backslash before punctuation. The bytes that are looked
    /// for are all ASCII, so the place of a match is a boundary.
    fn step(&mut self) {
        let escape = self.peek() == Some(b'\\')
            && self
                .text
                .as_bytes()
                .get(self.at.saturating_add(1))
                .is_some_and(u8::is_ascii_punctuation);
        self.skip(if escape { 2 } else { 1 });
    }

    /// From behind an opening byte to its closing one, with pairs of them inside.
    fn balanced(&mut self, open: u8, close: u8) -> Option<&'a str> {
        let start = self.at;
        let mut depth: usize = 0;
        while let Some(byte) = self.peek() {
            if byte == close {
                if depth == 0 {
                    let inside = self.text.get(start..self.at);
                    self.skip(1);
                    return inside;
                }
                depth = depth.saturating_sub(1);
            } else if byte == open {
                depth = depth.saturating_add(1);
            }
            self.step();
        }
        None
    }

    /// `<...>` or a run without white space whose parentheses are balanced.
    fn destination(&mut self) -> Option<(&'a str, usize)> {
        if self.peek() == Some(b'<') {
            self.skip(1);
            let start = self.at;
            loop {
                match self.peek()? {
                    b'>' => {
                        let inside = self.text.get(start..self.at)?;
                        self.skip(1);
                        return Some((inside, start));
                    }
                    b'<' | b'\n' | b'\r' => return None,
                    _ => self.step(),
                }
            }
        }
        let start = self.at;
        let mut depth: usize = 0;
        while let Some(byte) = self.peek() {
            match byte {
                0..=b' ' | 0x7f => break,
                b'(' => depth = depth.saturating_add(1),
                b')' if depth == 0 => break,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.step();
        }
        if depth > 0 {
            return None;
        }
        Some((self.text.get(start..self.at)?, start))
    }

    /// The title that may follow a destination: it is skipped.
    fn destination_title(&mut self) -> Option<()> {
        let open = self.peek()?;
        self.skip(1);
        match open {
            b'(' => self.balanced(b'(', b')').map(drop),
            b'"' | b'\'' => {
                while self.peek()? != open {
                    self.step();
                }
                self.skip(1);
                Some(())
            }
            _ => None,
        }
    }
}

impl<'a> MarkdownLink<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, NoLink> {
        if !text.starts_with('[') {
            return Err(NoLink::None);
        }
        let mut scan = Scan { text, at: 1 };
        let title = scan.balanced(b'[', b']').ok_or(NoLink::Unclosed)?;
        match scan.peek() {
            Some(b'(') => scan.skip(1),
            Some(b'[') => return Err(NoLink::Reference(scan.at)),
            _ => return Err(NoLink::NoDestination(scan.at)),
        }
        scan.space();
        let start = scan.at;
        let (destination, destination_at) = scan.destination().ok_or(NoLink::Destination(start))?;
        if scan.space() && scan.peek() != Some(b')') {
            let start = scan.at;
            scan.destination_title().ok_or(NoLink::Destination(start))?;
            scan.space();
        }
        if scan.peek() != Some(b')') {
            return Err(NoLink::Destination(scan.at));
        }
        let end = scan.at.saturating_add(1);
        Ok(Self { title, title_at: 1, destination, destination_at, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn lines_end_with_lf_crlf_or_cr() {
        let lines = Lines { file: "a\nb\r\nc\rd\n\n\re", at: 0, number: 0 };
        let lines: Vec<_> = lines.map(|line| (line.text, line.offset, line.number)).collect();
        let expected = [
            ("a", 0, 1),
            ("b", 2, 2),
            ("c", 5, 3),
            ("d", 7, 4),
            ("", 9, 5),
            ("", 10, 6),
            ("e", 11, 7),
        ];
        assert_eq!(lines, expected);
    }

    fn kind(line: &str) -> &'static str {
        match Block::of(line) {
            Block::Blank => "blank",
            Block::Heading(..) => "heading",
            Block::Fence(_) => "fence",
            Block::Comment(_) => "comment",
            Block::Item(..) => "item",
            Block::Rule => "rule",
            Block::Indented => "indented",
            Block::Text => "text",
        }
    }

    #[test]
    fn blocks_are_told_apart() {
        for (line, expected) in [
            ("", "blank"),
            (" \t ", "blank"),
            ("# a", "heading"),
            ("###### a", "heading"),
            ("   ## a", "heading"),
            ("##", "heading"),
            ("####### a", "text"),
            ("##a", "text"),
            ("    ## a", "indented"),
            ("\t# a", "indented"),
            ("```", "fence"),
            ("~~~~ rust `x`", "fence"),
            ("``` a`b", "text"),
            ("``", "text"),
            ("<!-- a", "comment"),
            ("- a", "item"),
            ("-", "item"),
            ("*\ta", "item"),
            ("+ a", "item"),
            ("12. a", "item"),
            ("123456789) a", "item"),
            ("1234567890. a", "text"),
            ("     - a", "item"),
            ("-a", "text"),
            ("1a", "text"),
            ("---", "rule"),
            ("- - -", "rule"),
            ("***", "rule"),
            ("_ _ _", "rule"),
            ("--", "text"),
            ("> a", "text"),
            ("a", "text"),
        ] {
            assert_eq!(kind(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_headings_closing_hashes_are_no_part_of_it() {
        for (line, level, title) in [
            ("## Communications", 2, "Communications"),
            ("##\tCommunications  ##  ", 2, "Communications"),
            ("# C#", 1, "C#"),
            ("### #", 3, ""),
            ("# a # b", 1, "a # b"),
        ] {
            let Block::Heading(found, text) = Block::of(line) else { panic!("{line}") };
            assert_eq!((found, text), (level, title), "{line}");
        }
    }

    #[test]
    fn links_have_balanced_brackets_and_parentheses() {
        for (text, title, destination, rest) in [
            ("[a](b): c", "a", "b", ": c"),
            ("[a \\] b](c)", "a \\] b", "c", ""),
            ("[a [b] c](d)", "a [b] c", "d", ""),
            ("[![i](j)](k)", "![i](j)", "k", ""),
            ("[a](b(c)d)e", "a", "b(c)d", "e"),
            ("[a](b\\)c)", "a", "b\\)c", ""),
            ("[a](<b c)>)", "a", "b c)", ""),
            ("[a](<b\\>c>)", "a", "b\\>c", ""),
            ("[a]( b )", "a", "b", ""),
            ("[a](b \"t ) \\\" t\") c", "a", "b", " c"),
            ("[a](b 't')", "a", "b", ""),
            ("[a](b (t (u)))", "a", "b", ""),
            ("[a]()", "a", "", ""),
            ("[](b)", "", "b", ""),
            ("[ü](ß)é", "ü", "ß", "é"),
            ("[a\nb](c\n\"t\")", "a\nb", "c", ""),
        ] {
            let Ok(link) = MarkdownLink::parse(text) else { panic!("{text}") };
            assert_eq!(
                (link.title, link.destination, &text[link.end..]),
                (title, destination, rest)
            );
            assert_eq!(&text[link.destination_at..][..destination.len()], destination);
            assert_eq!(&text[link.title_at..][..title.len()], title);
        }
    }

    #[test]
    fn what_is_no_link_says_where() {
        let place = |text: &str| match MarkdownLink::parse(text) {
            Err(NoLink::None) => ("none", 0),
            Err(NoLink::Unclosed) => ("unclosed", 0),
            Err(NoLink::Reference(at)) => ("reference", at),
            Err(NoLink::NoDestination(at)) => ("no destination", at),
            Err(NoLink::Destination(at)) => ("destination", at),
            Ok(_) => ("link", 0),
        };
        assert_eq!(place("a"), ("none", 0));
        assert_eq!(place("[a](b"), ("destination", 5));
        assert_eq!(place("[a"), ("unclosed", 0));
        assert_eq!(place("[a\\](b)"), ("unclosed", 0));
        assert_eq!(place("[a][b]"), ("reference", 3));
        assert_eq!(place("[a] (b)"), ("no destination", 3));
        assert_eq!(place("[ ] [a](b)"), ("no destination", 3));
        assert_eq!(place("[a](b c)"), ("destination", 6));
        assert_eq!(place("[a](<b\n>)"), ("destination", 4));
        assert_eq!(place("[a](b(c)"), ("destination", 8));
        assert_eq!(place("[a](b \"t)"), ("destination", 6));
        assert_eq!(place("[a](<b>c)"), ("destination", 7));
    }
}
