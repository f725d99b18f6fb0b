//! The scanner: one iterative pass that checks a text and lends spans of it.

use super::{Error, ErrorKind, Kind, MAX_DEPTH, Str, Value};

type Scanned<T> = Result<T, Error>;

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

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn span(&self, from: usize) -> &'a str {
        // Spans begin and end beside ASCII bytes, so they lie on character boundaries.
        self.text.get(from..self.at).unwrap_or_default()
    }

    fn fail<T>(&self, kind: ErrorKind) -> Scanned<T> {
        Err(Error::new(kind, self.at))
    }

    /// The error for whatever stands here, where something else had to stand.
    fn unexpected<T>(&self) -> Scanned<T> {
        match self.peek() {
            None => self.fail(ErrorKind::UnexpectedEnd),
            Some(0xef) if self.at == 0 && self.text.starts_with('\u{feff}') => {
                self.fail(ErrorKind::ByteOrderMark)
            }
            Some(byte) => self.fail(ErrorKind::UnexpectedByte(byte)),
        }
    }

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
        self.white_space();
        if self.peek() != Some(b'"') {
            return self.unexpected();
        }
        let name = self.string()?;
        self.white_space();
        if !self.take(b':') {
            return self.unexpected();
        }
        Ok(name)
    }

    /// A string; the next byte is its opening quote.
    fn string(&mut self) -> Scanned<Str<'a>> {
        let from = self.at;
        self.step();
        loop {
            self.skip_clean();
            match self.peek() {
                None => return self.fail(ErrorKind::UnexpectedEnd),
                Some(b'"') => {
                    self.step();
                    return Ok(Str::new(self.span(from)));
                }
                Some(b'\\') => self.escape()?,
                Some(byte) => return self.fail(ErrorKind::ControlCharacter(byte)),
            }
        }
    }

    /// Moves on to the next quote, backslash or control character.
    fn skip_clean(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            // Up to four words: most names and short strings end here.
            for _ in 0..4 {
                let Some(word) = bytes.get(self.at..).and_then(<[u8]>::first_chunk) else {
                    while self
                        .peek()
                        .is_some_and(|byte| byte >= 0x20 && !matches!(byte, b'"' | b'\\'))
                    {
                        self.step();
                    }
                    return;
                };
                let found = special(u64::from_le_bytes(*word));
                if found != 0 {
                    self.at = self.at.saturating_add((found.trailing_zeros() / 8) as usize);
                    return;
                }
                self.at = self.at.saturating_add(8);
            }
            // Longer runs go by rows.
            self.at = self.at.saturating_add(clean_rows(bytes.get(self.at..).unwrap_or_default()));
        }
    }

    /// An escape; the next byte is its backslash.
    fn escape(&mut self) -> Scanned<()> {
        let from = self.at;
        self.step();
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
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
    fn number(&mut self) -> Scanned<()> {
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

    fn literal(&mut self, word: &str) -> Scanned<()> {
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
        self.walk(&mut |_, _| {})
    }

    /// One value; its members, if it is an object, go to `visit` as they end.
    ///
    /// Containers are kept as one bit each (an object or an array), so the depth is bounded and
    /// nothing recurses.
    pub(super) fn walk(
        &mut self,
        visit: &mut impl FnMut(Str<'a>, Value<'a>),
    ) -> Scanned<Value<'a>> {
        self.white_space();
        let from = self.at;
        let mut open: u128 = 0;
        let mut depth: u32 = 0;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        };
        // The member of the outermost object that is being read.
        let mut member = (Str::EMPTY, 0);
        loop {
            self.white_space();
            if depth == 1 {
                member.1 = self.at;
            }
            // Does a container open here that is not empty?
            let opened = match self.peek() {
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
                        depth = depth.saturating_add(1);
                        if object {
                            let name = self.name()?;
                            if depth == 1 {
                                member.0 = name;
                            }
                        }
                        true
                    }
                }
                Some(b'"') => {
                    self.string()?;
                    false
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
                    return Ok(Value::new(self.span(from), kind));
                }
                let object = open & 1 == 1;
                if depth == 1 && object {
                    let value = Value::of(self.span(member.1));
                    visit(member.0, value);
                }
                self.white_space();
                match self.peek() {
                    Some(b',') => {
                        self.step();
                        if object {
                            let name = self.name()?;
                            if depth == 1 {
                                member.0 = name;
                            }
                        }
                        break;
                    }
                    Some(b'}') if object => {}
                    Some(b']') if !object => {}
                    _ => return self.unexpected(),
                }
                self.step();
                open >>= 1;
                depth = depth.saturating_sub(1);
            }
        }
    }

    /// Nothing but white space may be left.
    pub(super) fn end(&mut self) -> Scanned<()> {
        self.white_space();
        if self.peek().is_none() { Ok(()) } else { self.fail(ErrorKind::TrailingData) }
    }
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

/// How many bytes at the start, a multiple of 32, hold no quote, backslash or control character.
fn clean_rows(bytes: &[u8]) -> usize {
    let mut clean: usize = 0;
    for row in bytes.chunks_exact(32) {
        let mut found = false;
        for &byte in row {
            found |= (byte < 0x20) | (byte == b'"') | (byte == b'\\');
        }
        if found {
            break;
        }
        clean = clean.saturating_add(32);
    }
    clean
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
    fn strings_of_every_length_end_where_they_end() {
        for length in 0..200 {
            let text = std::format!("\"{}\"x", "é".repeat(length));
            let mut scanner = Scanner::new(&text);
            scanner.string().unwrap();
            assert_eq!(scanner.at(), 2 * length + 2);
        }
    }
}
