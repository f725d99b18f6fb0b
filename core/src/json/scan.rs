//! The scanner: one iterative pass that checks a text and lends spans of it.

use super::{Error, ErrorKind, MAX_DEPTH, Str, Value};

type Scanned<T> = Result<T, Error>;

/// A member that is being read.
#[derive(Clone, Copy, Default)]
struct Member {
    /// Where its name stands, the quotes included.
    name: usize,
    name_end: usize,
    /// Whether nothing in its name is escaped.
    plain: bool,
    /// Where its value begins.
    value: usize,
}

impl Member {
    fn name<'a>(&self, text: &'a str) -> Str<'a> {
        Str { text: text.get(self.name..self.name_end).unwrap_or_default(), plain: self.plain }
    }
}

/// A member that has just been read. Its parts are cut out of the text when they are asked for.
pub(crate) struct Visited<'a, 's> {
    /// How many containers it stands in: 1 is a member of the value itself.
    pub(crate) depth: u32,
    text: &'a str,
    member: &'s Member,
    /// Where its value ends.
    end: usize,
}

impl<'a> Visited<'a, '_> {
    pub(crate) fn name(&self) -> Str<'a> {
        self.member.name(self.text)
    }

    /// The name's bytes, if nothing in them is escaped.
    pub(crate) fn plain_name(&self) -> Option<&'a [u8]> {
        let (from, to) = (self.member.name.wrapping_add(1), self.member.name_end.wrapping_sub(1));
        if self.member.plain { self.text.as_bytes().get(from..to) } else { None }
    }

    /// Whether its name means this.
    #[inline(always)]
    pub(crate) fn is(&self, name: &str) -> bool {
        match self.plain_name() {
            Some(plain) => plain == name.as_bytes(),
            None => self.name() == *name,
        }
    }

    pub(crate) fn value(&self) -> Value<'a> {
        Value::new(self.text.get(self.member.value..self.end).unwrap_or_default())
    }
}

/// Walks over a text that is known to be UTF-8.
#[derive(Clone, Copy)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn step(&mut self) {
        self.skip(1);
    }

    #[inline(always)]
    fn skip(&mut self, bytes: usize) {
        // The place is never beyond the text's end, so this does not wrap.
        self.at = self.at.wrapping_add(bytes);
    }

    pub(super) fn span(&self, from: usize) -> &'a str {
        // Spans begin and end beside ASCII bytes, so they lie on character boundaries.
        self.text.get(from..self.at).unwrap_or_default()
    }

    pub(super) fn fail<T>(&self, kind: ErrorKind) -> Scanned<T> {
        Err(Error::new(kind, self.at))
    }

    /// The error for whatever stands here, where something else had to stand.
    pub(super) fn unexpected<T>(&self) -> Scanned<T> {
        match self.peek() {
            None => self.fail(ErrorKind::UnexpectedEnd),
            Some(0xef) if self.at == 0 && self.text.starts_with('\u{feff}') => {
                self.fail(ErrorKind::ByteOrderMark)
            }
            Some(byte) => self.fail(ErrorKind::UnexpectedByte(byte)),
        }
    }

    #[inline(always)]
    pub(super) fn white_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.step();
        }
    }

    /// Steps over `byte` if it is the next one.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        if here {
            self.step();
        }
        here
    }

    /// A member's name and the colon, with the white space around them.
    pub(super) fn name(&mut self) -> Scanned<Str<'a>> {
        let mut member = Member::default();
        self.name_of(Some(&mut member))?;
        Ok(member.name(self.text))
    }

    /// Steps over a member's name and the colon.
    #[inline(always)]
    fn name_of(&mut self, member: Option<&mut Member>) -> Scanned<()> {
        self.white_space();
        if self.peek() != Some(b'"') {
            return self.unexpected();
        }
        let from = self.at;
        let plain = self.string()?;
        if let Some(member) = member {
            member.name = from;
            member.name_end = self.at;
            member.plain = plain;
        }
        self.white_space();
        if !self.take(b':') {
            return self.unexpected();
        }
        Ok(())
    }

    /// A string; the next byte is its opening quote. Whether nothing in it is escaped.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Scanned<bool> {
        self.step();
        // Most names and short strings have no escape and end within a few words.
        let bytes = self.text.as_bytes();
        for _ in 0..6 {
            let Some(word) = bytes.get(self.at..).and_then(<[u8]>::first_chunk) else { break };
            let found = special(u64::from_le_bytes(*word));
            if found == 0 {
                self.skip(8);
                continue;
            }
            self.skip((found.trailing_zeros() / 8) as usize);
            if self.take(b'"') {
                return Ok(true);
            }
            break;
        }
        self.long_string()
    }

    /// The rest of a string.
    fn long_string(&mut self) -> Scanned<bool> {
        let mut plain = self.skip_rows();
        plain &= self.skip_clean();
        loop {
            match self.peek() {
                None => return self.fail(ErrorKind::UnexpectedEnd),
                Some(b'"') => {
                    self.step();
                    return Ok(plain);
                }
                Some(b'\\') => {
                    plain = false;
                    self.escape()?;
                    // Where one is, there are often more.
                    self.skip_rows();
                    self.skip_clean();
                }
                Some(byte) => return self.fail(ErrorKind::ControlCharacter(byte)),
            }
        }
    }

    /// Moves on to the next quote, backslash or control character; in a long string it may step
    /// over escapes of one character. Whether it met none.
    fn skip_clean(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let mut plain = true;
        loop {
            // A few words, then rows.
            for _ in 0..4 {
                let Some(word) = bytes.get(self.at..).and_then(<[u8]>::first_chunk) else {
                    while self
                        .peek()
                        .is_some_and(|byte| byte >= 0x20 && !matches!(byte, b'"' | b'\\'))
                    {
                        self.step();
                    }
                    return plain;
                };
                let found = special(u64::from_le_bytes(*word));
                if found != 0 {
                    self.skip((found.trailing_zeros() / 8) as usize);
                    return plain;
                }
                self.skip(8);
            }
            plain &= self.skip_rows();
        }
    }

    /// Moves on row by row over clean bytes and escapes of one character, as far as whole rows
    /// reach or to the first byte that needs a closer look. Whether it met no escape.
    fn skip_rows(&mut self) -> bool {
        if !cfg!(any(target_feature = "sse2", target_feature = "neon", target_feature = "simd128"))
        {
            return true;
        }
        let mut plain = true;
        let bytes = self.text.as_bytes();
        'rows: while let Some(row) = bytes.get(self.at..).and_then(<[u8]>::first_chunk) {
            let mut found = specials(row);
            while found != 0 {
                let place = found.trailing_zeros() as usize;
                let escape = self.at.wrapping_add(place);
                let is_short = bytes.get(escape) == Some(&b'\\')
                    && bytes.get(escape.wrapping_add(1)).is_some_and(|byte| is_short(*byte));
                if !is_short {
                    self.at = escape;
                    return plain;
                }
                plain = false;
                if place == ROW - 1 {
                    // The second byte is the first one of the next row.
                    self.skip(ROW + 1);
                    continue 'rows;
                }
                found &= !(0b11 << place);
            }
            self.skip(ROW);
        }
        plain
    }

    /// An escape; the next byte is its backslash.
    fn escape(&mut self) -> Scanned<()> {
        let from = self.at;
        self.step();
        match self.peek() {
            Some(byte) if is_short(byte) => {
                self.step();
                Ok(())
            }
            Some(b'u') => {
                self.step();
                let unit = self.hex4(from)?;
                match unit {
                    0xd800..0xdc00 => {
                        if !(self.take(b'\\') && self.take(b'u')) {
                            return Err(Error::new(ErrorKind::LoneSurrogate, from));
                        }
                        match self.hex4(from)? {
                            0xdc00..0xe000 => Ok(()),
                            _ => Err(Error::new(ErrorKind::LoneSurrogate, from)),
                        }
                    }
                    0xdc00..0xe000 => Err(Error::new(ErrorKind::LoneSurrogate, from)),
                    _ => Ok(()),
                }
            }
            None => self.fail(ErrorKind::UnexpectedEnd),
            Some(_) => Err(Error::new(ErrorKind::InvalidEscape, from)),
        }
    }

    fn hex4(&mut self, escape: usize) -> Scanned<u16> {
        let mut unit: u16 = 0;
        for _ in 0..4 {
            let digit = match self.peek() {
                Some(byte @ b'0'..=b'9') => byte.wrapping_sub(b'0'),
                Some(byte @ b'a'..=b'f') => byte.wrapping_sub(b'a' - 10),
                Some(byte @ b'A'..=b'F') => byte.wrapping_sub(b'A' - 10),
                Some(_) => return Err(Error::new(ErrorKind::InvalidEscape, escape)),
                None => return self.fail(ErrorKind::UnexpectedEnd),
            };
            unit = (unit << 4) | u16::from(digit);
            self.step();
        }
        Ok(unit)
    }

    /// At least one digit.
    fn digits(&mut self, number: usize) -> Scanned<()> {
        match self.peek() {
            Some(b'0'..=b'9') => {}
            None => return self.fail(ErrorKind::UnexpectedEnd),
            Some(_) => return Err(Error::new(ErrorKind::InvalidNumber, number)),
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.step();
        }
        Ok(())
    }

    /// A number; the next byte is its sign or first digit.
    pub(super) fn number(&mut self) -> Scanned<()> {
        let from = self.at;
        self.take(b'-');
        if self.take(b'0') {
            if let Some(b'0'..=b'9') = self.peek() {
                return Err(Error::new(ErrorKind::InvalidNumber, from));
            }
        } else {
            self.digits(from)?;
        }
        if self.take(b'.') {
            self.digits(from)?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.step();
            if let Some(b'+' | b'-') = self.peek() {
                self.step();
            }
            self.digits(from)?;
        }
        Ok(())
    }

    pub(super) fn literal(&mut self, word: &str) -> Scanned<()> {
        let from = self.at;
        for expected in word.bytes() {
            if self.peek().is_none() {
                return self.fail(ErrorKind::UnexpectedEnd);
            }
            if !self.take(expected) {
                return Err(Error::new(ErrorKind::InvalidLiteral, from));
            }
        }
        Ok(())
    }

    /// One value with all that is in it.
    pub(super) fn value(&mut self) -> Scanned<Value<'a>> {
        self.walk(0, &mut |_| {})
    }

    /// One value; the members of the objects in it, down to `levels` containers inside each other
    /// (at most [`LEVELS`]), go to `visit` as they end, each with its depth: 1 is a member of the
    /// value itself. So the members of a member's value go there before that member does.
    ///
    /// Containers are kept as one bit each (an object or an array), so the depth is bounded and
    /// nothing recurses.
    pub(super) fn walk(
        &mut self,
        levels: usize,
        visit: &mut dyn FnMut(&Visited<'a, '_>),
    ) -> Scanned<Value<'a>> {
        self.white_space();
        let from = self.at;
        let mut open: u128 = 0;
        let mut depth: u32 = 0;
        // The member that is being read at each depth: its name and where its value begins.
        let mut members = [Member::default(); LEVELS];
        let members = members.get_mut(..levels).unwrap_or_default();
        loop {
            self.white_space();
            if let Some(member) = level(members, depth) {
                member.value = self.at;
            }
            // Does a container open here that is not empty?
            let opened = match self.peek() {
                Some(b'"') => {
                    self.string()?;
                    false
                }
                Some(open_byte @ (b'{' | b'[')) => {
                    if depth == MAX_DEPTH {
                        return self.fail(ErrorKind::TooDeep);
                    }
                    self.step();
                    self.white_space();
                    let object = open_byte == b'{';
                    if self.take(if object { b'}' } else { b']' }) {
                        false
                    } else {
                        open = (open << 1) | u128::from(object);
                        depth = depth.wrapping_add(1);
                        if object {
                            self.name_of(level(members, depth))?;
                        }
                        true
                    }
                }
                Some(b'-' | b'0'..=b'9') => {
                    self.number()?;
                    false
                }
                Some(b't') => {
                    self.literal("true")?;
                    false
                }
                Some(b'f') => {
                    self.literal("false")?;
                    false
                }
                Some(b'n') => {
                    self.literal("null")?;
                    false
                }
                _ => return self.unexpected(),
            };
            if opened {
                continue;
            }
            // A value has ended: close what ends with it, or go on to the next one.
            loop {
                if depth == 0 {
                    return Ok(Value::new(self.span(from)));
                }
                let object = open & 1 == 1;
                if object {
                    // Read field by field: the processor has only just stored them.
                    if let Some(member) = level(members, depth) {
                        visit(&Visited { depth, text: self.text, member, end: self.at });
                    }
                }
                self.white_space();
                match self.peek() {
                    Some(b',') => {
                        self.step();
                        if object {
                            self.name_of(level(members, depth))?;
                        }
                        break;
                    }
                    Some(b'}') if object => {}
                    Some(b']') if !object => {}
                    _ => return self.unexpected(),
                }
                self.step();
                open >>= 1;
                depth = depth.wrapping_sub(1);
            }
        }
    }

    /// Nothing but white space may be left.
    pub(super) fn end(&mut self) -> Scanned<()> {
        self.white_space();
        if self.peek().is_none() { Ok(()) } else { self.fail(ErrorKind::TrailingData) }
    }
}

/// How deep the members of objects can be visited.
pub(super) const LEVELS: usize = 4;

/// What is kept for this depth, which counts from 1.
fn level<T>(levels: &mut [T], depth: u32) -> Option<&mut T> {
    levels.get_mut((depth as usize).wrapping_sub(1))
}

/// Whether the byte and a backslash before it are a whole escape.
fn is_short(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that is a quote, a backslash or below 0x20. The lowest set bit is
/// exact; bits above it can be set without cause, since borrows run upwards.
fn special(word: u64) -> u64 {
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    let below = word.wrapping_sub(ONES.wrapping_mul(0x20)) & !word;
    let quote = zero(word ^ ONES.wrapping_mul(b'"' as u64));
    let backslash = zero(word ^ ONES.wrapping_mul(b'\\' as u64));
    (below | quote | backslash) & HIGHS
}

/// Bytes that are looked at side by side.
const ROW: usize = 32;

/// A bit for each byte that is a quote, a backslash or below 0x20.
fn specials(row: &[u8; ROW]) -> u32 {
    // Without a branch, so that this becomes vector code.
    let flags = row.map(|byte| u8::from((byte < 0x20) | (byte == b'"') | (byte == b'\\')));
    let mut found = 0;
    for word in flags.rchunks_exact(8) {
        let word = word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        // Each byte is 0 or 1: the product has them side by side in its highest byte.
        let bits = word.wrapping_mul(0x0102_0408_1020_4080) >> 56;
        found = (found << 8) | bits as u32;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_test_finds_the_first_special_byte_at_every_place() {
        for byte in 0..=255_u8 {
            let stop = byte < 0x20 || byte == b'"' || byte == b'\\';
            for place in 0..8 {
                let mut bytes = [b'~'; 8];
                bytes[place] = byte;
                let found = special(u64::from_le_bytes(bytes));
                assert_eq!(found != 0, stop, "byte {byte:#x} at {place}");
                if stop {
                    assert_eq!((found.trailing_zeros() / 8) as usize, place);
                }
            }
        }
    }

    #[test]
    fn a_row_has_a_bit_for_every_special_byte_at_every_place() {
        for byte in 0..=255_u8 {
            let stop = byte < 0x20 || byte == b'"' || byte == b'\\';
            for place in 0..ROW {
                let mut row = [b'~'; ROW];
                row[place] = byte;
                row[31 - place] = b'"';
                let expected = (u32::from(stop) << place) | (1 << (31 - place));
                // At one place the quote has overwritten the byte.
                let expected = if 31 - place == place { 1 << place } else { expected };
                assert_eq!(specials(&row), expected, "byte {byte:#x} at {place}");
            }
        }
    }

    #[test]
    fn escapes_at_every_place_of_a_long_string() {
        for (escape, ok) in [
            (r"\n", true),
            (r"\\", true),
            (r#"\""#, true),
            (r"\u00e9", true),
            (r"\ud83d\ude00", true),
            (r"\ud83d", false),
            (r"\x", false),
            ("\n", false),
        ] {
            for before in 0..80 {
                for after in [0, 1, 31, 32, 33, 70] {
                    let (before, after) = ("~".repeat(before), "~".repeat(after));
                    let text = std::format!("\"\\t{before}{escape}{escape}{after}\"x");
                    let mut scanner = Scanner::new(&text);
                    let result = scanner.string();
                    if ok {
                        assert!(!result.unwrap());
                        assert_eq!(scanner.at(), text.len() - 1);
                    } else {
                        let offset = 3 + before.len();
                        assert_eq!(result.unwrap_err().offset, offset, "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn members_are_visited_as_deep_as_asked_for() {
        let text = r#"{"a":{"b":{"c":{"d":1}},"e":[{"f":2}]},"g":3}"#;
        let visited = |visits: &mut std::vec::Vec<std::string::String>, depth, name: Str<'_>| {
            visits.push(std::format!("{depth}{}", name.raw()));
        };
        let mut visits = std::vec::Vec::new();
        Scanner::new(text)
            .walk(3, &mut |seen| visited(&mut visits, seen.depth, seen.name()))
            .unwrap();
        assert_eq!(visits, ["3c", "2b", "2e", "1a", "1g"]);
        visits.clear();
        Scanner::new(text)
            .walk(1, &mut |seen| visited(&mut visits, seen.depth, seen.name()))
            .unwrap();
        assert_eq!(visits, ["1a", "1g"]);
    }

    #[test]
    fn strings_of_every_length_end_where_they_end() {
        for length in 0..200 {
            let text = std::format!("\"{}\"x", "é".repeat(length));
            let mut scanner = Scanner::new(&text);
            assert!(scanner.string().unwrap());
            assert_eq!(scanner.at(), 2 * length + 2);
        }
    }
}
