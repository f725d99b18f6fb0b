//! Where a JSON string ends, and where a text has to be escaped: the search for a quote, a
//! backslash or a control character, a *special* byte.
//!
//! Most strings are short and have no escape, so the first bytes are looked at in words of eight.
//! Where an escape is met there are often more (JSON inside a JSON string has one every few bytes),
//! so rows of 64 bytes follow, each with one bit for each byte.

use super::ErrorKind;

/// Why a text cannot be read on, and how many bytes of it are left where that shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) kind: ErrorKind,
    pub(super) left: usize,
}

impl Stop {
    #[cold]
    pub(super) fn at(rest: &[u8], kind: ErrorKind) -> Self {
        Self { kind, left: rest.len() }
    }
}

/// The next byte; at the end zero, which begins no token.
#[inline(always)]
pub(super) fn first(rest: &[u8]) -> u8 {
    rest.first().copied().unwrap_or(0)
}

/// What follows so many bytes.
#[inline(always)]
pub(super) fn after(rest: &[u8], bytes: usize) -> &[u8] {
    rest.get(bytes..).unwrap_or_default()
}

/// What follows the string that goes on here, and whether nothing in this rest of it is escaped.
#[inline(always)]
pub(super) fn end(rest: &[u8]) -> Result<(&[u8], bool), Stop> {
    end_ahead(look_ahead::<8>(rest))
}

/// Looks for the first special byte in so many words: a place up to which there is none, most often that byte's.
#[inline(always)]
pub(super) fn look_ahead<const WORDS: usize>(mut rest: &[u8]) -> &[u8] {
    for _ in 0..WORDS {
        let Some((word, next)) = rest.split_first_chunk() else { break };
        let found = closer_look(u64::from_le_bytes(*word));
        if found != 0 {
            return after(rest, (found.trailing_zeros() / 8) as usize);
        }
        rest = next;
    }
    rest
}

/// Whether nothing is escaped in a well-formed string, with its quotes.
#[inline(never)]
pub(super) fn is_plain(string: &[u8]) -> bool {
    match look_ahead::<8>(after(string, 1)) {
        [b'"', ..] => true,
        rest => !rest.contains(&b'\\'),
    }
}

/// As [`end`], after [`look_ahead`].
#[inline(always)]
pub(super) fn end_ahead(rest: &[u8]) -> Result<(&[u8], bool), Stop> {
    match rest {
        [b'"', rest @ ..] => Ok((rest, true)),
        _ => long_end(rest),
    }
}

#[inline(never)]
fn long_end(mut rest: &[u8]) -> Result<(&[u8], bool), Stop> {
    let mut plain = true;
    loop {
        match *rest {
            [] => return Err(Stop::at(rest, ErrorKind::UnexpectedEnd)),
            [b'"', ..] => return Ok((after(rest, 1), plain)),
            [b'\\', short, ..] if is_short(short) => {
                plain = false;
                rest = after_short_escapes(rest);
            }
            [b'\\', ..] => {
                plain = false;
                rest = after_escape(rest)?;
            }
            [0x20..=0xff, ..] => rest = first_special(rest),
            [byte, ..] => return Err(Stop::at(rest, ErrorKind::ControlCharacter(byte))),
        }
    }
}

/// The first special byte and what follows it, or nothing.
pub(super) fn first_special(mut rest: &[u8]) -> &[u8] {
    // Four words at a time while nothing is found.
    while let Some((words, next)) = rest.split_first_chunk::<32>() {
        let found = words.chunks_exact(8).fold(0, |found, word| {
            found | special(word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)))
        });
        if found != 0 {
            break;
        }
        rest = next;
    }
    while let Some((word, next)) = rest.split_first_chunk() {
        let found = special(u64::from_le_bytes(*word));
        if found != 0 {
            return after(rest, (found.trailing_zeros() / 8) as usize);
        }
        rest = next;
    }
    let is_special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    after(rest, rest.iter().position(is_special).unwrap_or(rest.len()))
}

/// Moves on from an escape of one character over further ones and what stands among them, row by
/// row, until they become rare, or to the first byte that needs a closer look.
fn after_short_escapes(mut rest: &[u8]) -> &[u8] {
    // A row is looked at before the one in front of it is done, for what follows depends on it.
    let mut ahead = rest.first_chunk().map(specials);
    // Whether the row's first byte belongs to an escape that began in the row before.
    let mut taken = false;
    while let (Some(bits), Some((row, next))) = (ahead, rest.split_first_chunk::<ROW>()) {
        let dense = bits.count_ones() > 2;
        ahead = if dense { next.first_chunk().map(specials) } else { None };
        let mut found = bits & !u64::from(taken);
        taken = false;
        while found != 0 {
            let place = found.trailing_zeros() as usize;
            let short = rest.get(place.wrapping_add(1)).copied().unwrap_or(0);
            if row.get(place) != Some(&b'\\') || !is_short(short) {
                return after(rest, place);
            }
            taken = place == ROW - 1;
            found &= !(0b11 << place);
        }
        rest = next;
        if !dense {
            return after(rest, usize::from(taken));
        }
    }
    // Less than a row is left.
    match after(rest, usize::from(taken)) {
        [b'\\', short, rest @ ..] if is_short(*short) => rest,
        rest => rest,
    }
}

/// What follows the escape whose backslash stands here.
fn after_escape(escape: &[u8]) -> Result<&[u8], Stop> {
    let lone = Err(Stop { kind: ErrorKind::LoneSurrogate, left: escape.len() });
    match after(escape, 1) {
        [] => Err(Stop::at(&[], ErrorKind::UnexpectedEnd)),
        [b'u', rest @ ..] => match unit(rest, escape)? {
            (0xd800..0xdc00, [b'\\', b'u', rest @ ..]) => match unit(rest, escape)? {
                (0xdc00..0xe000, rest) => Ok(rest),
                _ => lone,
            },
            (0xd800..0xe000, _) => lone,
            (_, rest) => Ok(rest),
        },
        [short, rest @ ..] if is_short(*short) => Ok(rest),
        _ => Err(Stop::at(escape, ErrorKind::InvalidEscape)),
    }
}

/// Four hexadecimal digits, and what follows them.
fn unit<'t>(mut rest: &'t [u8], escape: &[u8]) -> Result<(u16, &'t [u8]), Stop> {
    let mut unit: u16 = 0;
    for _ in 0..4 {
        let digit = match rest.first() {
            Some(byte @ b'0'..=b'9') => byte.wrapping_sub(b'0'),
            Some(byte @ b'a'..=b'f') => byte.wrapping_sub(b'a' - 10),
            Some(byte @ b'A'..=b'F') => byte.wrapping_sub(b'A' - 10),
            Some(_) => return Err(Stop::at(escape, ErrorKind::InvalidEscape)),
            None => return Err(Stop::at(rest, ErrorKind::UnexpectedEnd)),
        };
        unit = (unit << 4) | u16::from(digit);
        rest = after(rest, 1);
    }
    Ok((unit, rest))
}

/// Whether the byte and a backslash before it are a whole escape.
fn is_short(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

/// The high bit of each byte that is special. The lowest set bit is exact; bits above it can be
/// set without cause, since borrows run upwards.
#[inline(always)]
fn special(word: u64) -> u64 {
    closer_look(word) & !word
}

/// The special bytes of the row that is being read, for one who reads many strings one after the
/// other: from one quote to the next is one step then, however long a string is.
pub(super) struct Row<'t> {
    /// The row and all that follows it.
    text: &'t [u8],
    /// A bit for each special byte of the row that has not been passed.
    bits: u64,
}

impl<'t> Row<'t> {
    /// No row yet: the first string begins one.
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self { text, bits: 0 }
    }

    /// Looks for the first special byte in the string whose opening quote stands here: a place up
    /// to which there is none, most often that byte's.
    #[inline(always)]
    pub(super) fn string(&mut self, quote: &'t [u8]) -> &'t [u8] {
        let at = self.text.len().wrapping_sub(quote.len());
        if self.bits.trailing_zeros() as usize != at {
            self.bits = if at < ROW { self.bits & (u64::MAX << at) } else { 0 };
        }
        self.next_string(quote)
    }

    /// As [`string`](Self::string), where the last place was that of a quote and no special byte
    /// stands between it and this one.
    #[inline(always)]
    pub(super) fn next_string(&mut self, quote: &'t [u8]) -> &'t [u8] {
        if self.bits == 0 {
            let Some(row) = quote.first_chunk() else { return look_ahead::<8>(after(quote, 1)) };
            *self = Self { text: quote, bits: specials(row) };
        }
        self.pass();
        if self.bits == 0 {
            // The string ends in a later row.
            self.text = after(self.text, ROW);
            let Some(row) = self.text.first_chunk() else {
                return look_ahead::<8>(after(quote, 1));
            };
            self.bits = specials(row);
        }
        let at = self.bits.trailing_zeros() as usize;
        self.pass();
        match self.text.get(at..) {
            Some(place) => place,
            None => nowhere(),
        }
    }

    /// Passes the next special byte.
    #[inline(always)]
    fn pass(&mut self) {
        self.bits &= self.bits.wrapping_sub(1);
    }
}

/// The end of the text, where a row cannot end.
#[cold]
#[inline(never)]
fn nowhere() -> &'static [u8] {
    &[]
}

/// As [`special`], and some bytes that are not ASCII have theirs set too.
#[inline(always)]
fn closer_look(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // With its second bit turned over, the quote (0x22) stands next to the control characters, and
    // a space becomes 0x22, the mark after it 0x23: one comparison finds both.
    let quote_or_control = (word ^ ONES.wrapping_mul(2)).wrapping_sub(ONES.wrapping_mul(0x21));
    let backslash = (word ^ ONES.wrapping_mul(b'\\' as u64)).wrapping_sub(ONES);
    (quote_or_control | backslash) & ONES.wrapping_mul(0x80)
}

/// Bytes that are looked at side by side.
const ROW: usize = 64;

/// A bit for each byte that is special.
#[inline(never)] // As a function of its own it becomes vector code.
fn specials(row: &[u8; ROW]) -> u64 {
    // The comparison is that of `special`; no branch is left when this is compiled.
    let flag = |place: usize, bit: u8| {
        let byte = row.get(place).copied().unwrap_or(0);
        if (byte ^ 2 < 0x21) | (byte == b'\\') { bit } else { 0 }
    };
    // Four quarters side by side, each with two bits of every byte; the second one is for the
    // latter half of the quarter.
    let quarters: [u8; ROW / 4] = core::array::from_fn(|place| {
        flag(place, 1)
            | flag(place.wrapping_add(16), 1 << 2)
            | flag(place.wrapping_add(32), 1 << 4)
            | flag(place.wrapping_add(48), 1 << 6)
    });
    let half = |half: Option<&[u8; 8]>| half.map_or(0, |half| u64::from_le_bytes(*half));
    transposed(half(quarters.first_chunk()) | (half(quarters.last_chunk()) << 1))
}

/// Bit `m` of byte `n` becomes bit `n` of byte `m`.
fn transposed(mut bits: u64) -> u64 {
    for (distance, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swapped = (bits ^ (bits >> distance)) & mask;
        bits ^= swapped ^ (swapped << distance);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_special(byte: u8) -> bool {
        byte < 0x20 || byte == b'"' || byte == b'\\'
    }

    #[test]
    fn a_word_shows_its_first_special_byte_whatever_stands_beside_it() {
        for byte in 0..=255_u8 {
            for neighbour in [b'~', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                for place in 0..8 {
                    let mut bytes = [neighbour; 8];
                    bytes[place] = byte;
                    let found = special(u64::from_le_bytes(bytes));
                    assert_eq!(found != 0, is_special(byte), "byte {byte:#x} at {place}");
                    if found != 0 {
                        assert_eq!((found.trailing_zeros() / 8) as usize, place);
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_has_a_bit_for_every_special_byte_at_every_place() {
        for byte in 0..=255_u8 {
            for place in 0..ROW {
                let mut row = [b'~'; ROW];
                row[place] = byte;
                row[63 - place] = b'"';
                let expected = (u64::from(is_special(byte)) << place) | (1 << (63 - place));
                assert_eq!(specials(&row), expected, "byte {byte:#x} at {place}");
            }
        }
    }

    #[test]
    fn the_first_special_byte_is_found_at_every_distance() {
        for length in 0..140 {
            for after in [0, 1, 7, 8, 31, 32, 70] {
                for stop in [b'"', b'\\', 0x1f, 0] {
                    let mut bytes = std::vec![b' '; length + 1 + after];
                    bytes[length] = stop;
                    assert_eq!(first_special(&bytes), &bytes[length..]);
                }
            }
            assert!(first_special(&std::vec![0xc3; length]).is_empty());
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
            for before in 0..140 {
                for after in [0, 1, 31, 63, 64, 65, 130] {
                    let (before, after) = ("~".repeat(before), "~".repeat(after));
                    for first in [r"\t", r"\t\t\t\t", ""] {
                        let text = std::format!("\"{first}{before}{escape}{escape}{after}\"x");
                        let result = end(&text.as_bytes()[1..]);
                        if ok {
                            assert_eq!(result.unwrap(), (&b"x"[..], false));
                        } else {
                            let offset = 1 + first.len() + before.len();
                            assert_eq!(text.len() - result.unwrap_err().left, offset, "{text}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_shows_each_string_the_end_that_it_has() {
        let digits = "7".repeat(70);
        for gap in [",", ":", ", ", ",\n", "\t,", ",7,", &digits] {
            for inside in ["~", "é", r"~\n", r"~~~~~~~~~~~\u00e9"] {
                for step in 0..97 {
                    let strings = (0..40).map(|place| inside.repeat(place * step % 97));
                    let text = strings.map(|inside| std::format!("\"{inside}\"{gap}"));
                    let text = text.collect::<std::string::String>();
                    let mut rest = text.as_bytes();
                    let mut row = Row::new(rest);
                    let mut at_quote = false;
                    for place in 0..40 {
                        let ahead = if at_quote && gap.len() == 1 {
                            row.next_string(rest)
                        } else {
                            row.string(rest)
                        };
                        at_quote = ahead.starts_with(b"\"");
                        let (next, plain) = end(after(rest, 1)).unwrap();
                        let (found, is_plain) = end_ahead(ahead).unwrap();
                        let lens = (found.len(), next.len());
                        assert!(lens.0 == lens.1 && plain == is_plain, "{place}: {lens:?}");
                        rest = after(next, gap.len());
                    }
                    assert!(rest.is_empty());
                }
            }
        }
    }

    #[test]
    fn a_row_shows_that_a_string_never_ends() {
        for length in 0..200 {
            let text = std::format!("\"\",\"{}", "~".repeat(length));
            let mut row = Row::new(text.as_bytes());
            let first = row.string(text.as_bytes());
            assert_eq!(first, &text.as_bytes()[1..]);
            let stop = end_ahead(row.next_string(&text.as_bytes()[3..])).unwrap_err();
            assert_eq!((stop.kind, stop.left), (ErrorKind::UnexpectedEnd, 0));
        }
    }

    #[test]
    fn strings_of_every_length_end_where_they_end() {
        for length in 0..200 {
            for after in ["", "x", "xxxxxxxxx"] {
                let text = std::format!("\"{}\"{after}", "é".repeat(length));
                assert_eq!(end(&text.as_bytes()[1..]).unwrap(), (after.as_bytes(), true));
                let open = &text[1..=2 * length];
                let stop = end(open.as_bytes()).unwrap_err();
                assert_eq!((stop.kind, stop.left), (ErrorKind::UnexpectedEnd, 0));
            }
        }
    }
}
