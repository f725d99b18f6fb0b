//! How long a text becomes as a JSON string, counted as the SimpleX core's encoder writes it.
//!
//! The chat core limits the *encoded* message, and a command or a reply is a string inside it, so
//! every character costs what its escape costs. The core encodes with Haskell's `aeson`
//! (`Data.Aeson.Encoding.Builder`, `escapeAscii`):
//!
//! | character | written as | bytes |
//! |---|---|---|
//! | `"` and `\` | `\"`, `\\` | 2 |
//! | LF, CR, TAB | `\n`, `\r`, `\t` | 2 |
//! | every other one below U+0020, BS and FF among them | `\u00xx`, lowercase hex | 6 |
//! | every other one, U+007F, `/` and U+2028 among them | as it is, in UTF-8 | 1 to 4 |
//!
//! `serde_json` is shorter on U+0008 and U+000C (`\b`, `\f`) and equal elsewhere.
//!
//! Each *byte* of the UTF-8 text has a cost of its own, whatever stands around it. So lengths of
//! pieces add up ([`EscapedLen`]), even of pieces split inside a character, and a command need not
//! be assembled to be measured. All lengths here are of the content, without the two quotation
//! marks around it, in bytes.
//!
//! The speed does not depend on the content: where the target has vector registers (SSE2, NEON or
//! wasm's simd128, as the compiler is told) 32 bytes are counted side by side, elsewhere a
//! table of 256 bytes answers.
//!
//! ```
//! use agentwire_core::json::length::{escaped_len, fits, longest_prefix};
//!
//! assert_eq!(escaped_len(r#"{"id":1}"#), 8 + 2);
//! assert_eq!(escaped_len("\u{8}\n\u{7f}é"), 6 + 2 + 1 + 2);
//! assert!(fits("naïve", 6) && !fits("naïve", 5));
//! assert_eq!(longest_prefix("naïve", 3), "na");
//! ```

/// Bytes counted side by side.
const LANES: usize = 32;

/// Rows that a lane can count before it could overflow: each row adds at most 1.
const ROWS: usize = 255;

/// Bytes that are counted between two looks at a limit.
const BLOCK: usize = LANES * ROWS;

/// The most bytes that one byte of text can become.
pub(crate) const MAX_COST: usize = 6;

/// What escaping adds to a control character without a short form (`\u00xx`).
const LONG: u8 = 5;

/// The extra cost of each byte.
static EXTRA: [u8; 256] = extra_table();

/// Whether a byte is escaped by one backslash in front.
///
/// Written without a branch, so that it becomes vector code when applied to a row.
#[inline(always)]
const fn is_short(byte: u8) -> bool {
    // TAB and CR differ in one bit.
    (byte | 4 == b'\r') | (byte == b'\n') | (byte == b'"') | (byte == b'\\')
}

/// Whether a byte is written as `\u00xx`; without a branch as well.
#[inline(always)]
const fn is_long(byte: u8) -> bool {
    (byte < 0x20) & !is_short(byte)
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated by the compiler only; `byte` stays below 256"
)]
const fn extra_table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_short(byte as u8) as u8 + LONG * is_long(byte as u8) as u8;
        byte += 1;
    }
    table
}

/// What escaping adds to the bytes, counted with the table.
pub(crate) fn extra_by_table(bytes: &[u8]) -> usize {
    bytes
        .chunks(BLOCK)
        .map(|block| {
            block
                .iter()
                .map(|&byte| EXTRA.get(usize::from(byte)).map_or(0, |&extra| usize::from(extra)))
                .sum::<usize>()
        })
        .fold(0, usize::saturating_add)
}

/// What escaping adds to the bytes, counted 32 side by side.
pub(crate) fn extra_by_lanes(bytes: &[u8]) -> usize {
    bytes
        .chunks(BLOCK)
        .map(|block| {
            let (mut short, mut long) = ([0_u8; LANES], [0_u8; LANES]);
            let mut count = |row: &[u8]| {
                for ((short, long), &byte) in short.iter_mut().zip(&mut long).zip(row) {
                    *short = short.wrapping_add(u8::from(is_short(byte)));
                    *long = long.wrapping_add(u8::from(is_long(byte)));
                }
            };
            let rows = block.chunks_exact(LANES);
            let rest = rows.remainder();
            rows.for_each(&mut count);
            // The rest is a row of its own, filled up with bytes that cost nothing extra. Where
            // there is one, the block has fewer rows than a lane can count.
            let mut last = [b' '; LANES];
            if let Some(place) = last.get_mut(..rest.len()) {
                place.copy_from_slice(rest);
            }
            count(&last);
            total(&short).saturating_add(total(&long).saturating_mul(usize::from(LONG)))
        })
        .fold(0, usize::saturating_add)
}

fn total(lanes: &[u8; LANES]) -> usize {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    // Four sums of eight lanes each; none reaches 2048, and all of them together not 8192.
    let sums = lanes.chunks_exact(8).fold(0_u64, |sums, word| {
        let word = word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        sums.wrapping_add(word & EVEN).wrapping_add((word >> 8) & EVEN)
    });
    (sums.wrapping_mul(0x0001_0001_0001_0001) >> 48) as usize
}

/// What escaping adds to the bytes, counted in the way that suits the target.
#[inline]
fn extra_in(bytes: &[u8]) -> usize {
    if cfg!(any(target_feature = "sse2", target_feature = "neon", target_feature = "simd128")) {
        extra_by_lanes(bytes)
    } else {
        extra_by_table(bytes)
    }
}

/// The escaped length of a text in bytes, without the quotation marks around it.
///
/// Saturates at `usize::MAX`.
///
/// ```
/// use agentwire_core::json::length::escaped_len;
///
/// assert_eq!(escaped_len("tools/list"), 10);
/// assert_eq!(escaped_len("\"\r\u{1f}"), 2 + 2 + 6);
/// ```
#[must_use]
pub fn escaped_len(text: &str) -> usize {
    escaped_len_bytes(text.as_bytes())
}

/// The escaped length of a piece of UTF-8 text in bytes; the piece may begin or end inside a
/// character.
///
/// ```
/// use agentwire_core::json::length::{escaped_len, escaped_len_bytes};
///
/// let (head, tail) = "é\n".as_bytes().split_at(1);
/// assert_eq!(escaped_len_bytes(head) + escaped_len_bytes(tail), escaped_len("é\n"));
/// ```
#[must_use]
pub fn escaped_len_bytes(piece: &[u8]) -> usize {
    piece.len().saturating_add(extra_in(piece))
}

/// Whether the escaped length of a text is at most `limit` bytes.
///
/// Answers without reading the text where its length alone decides, and otherwise reads no further
/// than it has to.
///
/// ```
/// use agentwire_core::json::length::fits;
///
/// assert!(fits("a\nb", 4));
/// assert!(!fits("a\nb", 3));
/// ```
#[must_use]
pub fn fits(text: &str, limit: usize) -> bool {
    // How many bytes may still be added by escaping.
    let Some(mut spare) = limit.checked_sub(text.len()) else { return false };
    let mut unread = text.len();
    for block in text.as_bytes().chunks(BLOCK) {
        if unread.saturating_mul(MAX_COST.saturating_sub(1)) <= spare {
            return true;
        }
        match spare.checked_sub(extra_in(block)) {
            Some(left) => spare = left,
            None => return false,
        }
        unread = unread.saturating_sub(block.len());
    }
    true
}

/// The longest prefix of a text, on a character boundary, whose escaped length is at most `limit`
/// bytes.
///
/// ```
/// use agentwire_core::json::length::longest_prefix;
///
/// assert_eq!(longest_prefix("a\"b", 3), "a\"");
/// assert_eq!(longest_prefix("a\"b", 2), "a");
/// assert_eq!(longest_prefix("漢字", 5), "漢");
/// ```
#[must_use]
pub fn longest_prefix(text: &str, limit: usize) -> &str {
    let mut rest = text.as_bytes();
    let mut spare = limit;
    // Whole blocks first, then ever smaller pieces of the one that did not fit.
    for step in [BLOCK, 16 * LANES, LANES, 1] {
        for piece in rest.chunks(step) {
            let Some(left) = spare.checked_sub(escaped_len_bytes(piece)) else { break };
            spare = left;
            rest = rest.get(piece.len()..).unwrap_or_default();
        }
    }
    let mut end = text.len().saturating_sub(rest.len());
    loop {
        match text.get(..end) {
            Some(prefix) => return prefix,
            // Inside a character: at most three steps back to its beginning.
            None => end = end.saturating_sub(1),
        }
    }
}

/// An escaped length that grows piece by piece.
///
/// ```
/// use agentwire_core::json::length::{EscapedLen, escaped_len};
///
/// let mut len = EscapedLen::new();
/// len.add("/_call mcp ");
/// len.add(r#"{"id":1}"#);
/// assert_eq!(len.get(), escaped_len(r#"/_call mcp {"id":1}"#));
/// assert!(len.fits(21) && !len.fits(20));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EscapedLen(usize);

impl EscapedLen {
    /// Nothing counted yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }

    /// The escaped length of one text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(escaped_len(text))
    }

    /// Counts one more piece of text.
    pub fn add(&mut self, piece: &str) -> &mut Self {
        self.add_bytes(piece.as_bytes())
    }

    /// Counts one more piece of UTF-8 text, which may begin or end inside a character.
    pub fn add_bytes(&mut self, piece: &[u8]) -> &mut Self {
        self.add_escaped(escaped_len_bytes(piece))
    }

    /// Counts a piece whose escaped length in bytes is known already.
    pub const fn add_escaped(&mut self, bytes: usize) -> &mut Self {
        self.0 = self.0.saturating_add(bytes);
        self
    }

    /// The escaped length so far in bytes; `usize::MAX` also when it is greater.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }

    /// Whether the length so far is at most `limit` bytes.
    #[must_use]
    pub const fn fits(self, limit: usize) -> bool {
        self.0 <= limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec::Vec;

    /// The rule of the module's table, one byte at a time.
    fn model(bytes: &[u8]) -> usize {
        bytes
            .iter()
            .map(|byte| match byte {
                b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
                0..=0x1f => 6,
                _ => 1,
            })
            .sum()
    }

    /// Bytes of a seeded generator, `dense` of 256 of them below 0x60 (where the escapes are).
    fn noise(seed: u64, len: usize, dense: u8) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as u16
        };
        (0..len)
            .map(|_| {
                let [kind, byte] = next().to_be_bytes();
                if kind < dense { byte % 0x60 } else { byte }
            })
            .collect()
    }

    #[test]
    fn every_single_byte_costs_what_the_table_says() {
        for byte in 0..=u8::MAX {
            let expected = model(&[byte]);
            assert_eq!(escaped_len_bytes(&[byte]), expected, "byte {byte}");
            assert_eq!(1 + extra_by_lanes(&[byte; LANES]) / LANES, expected, "byte {byte}");
            assert_eq!(1 + extra_by_table(&[byte]), expected, "byte {byte}");
        }
    }

    #[test]
    fn lanes_and_table_agree_with_the_model_on_every_length_and_offset() {
        for len in 0..200 {
            for (seed, dense) in [(1, 0), (2, 128), (3, 255)] {
                let bytes = noise(seed + len as u64, len + 5, dense);
                for offset in 0..5 {
                    let piece = &bytes[offset..offset + len];
                    let expected = model(piece) - len;
                    assert_eq!(extra_by_lanes(piece), expected);
                    assert_eq!(extra_by_table(piece), expected);
                }
            }
        }
    }

    #[test]
    fn no_lane_overflows_on_the_costliest_text_around_a_block() {
        for len in [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 33, 10 * BLOCK + 31] {
            for byte in [0, 8, b'\n', b'"', 0x7f, 0xf0] {
                let bytes = alloc::vec![byte; len];
                assert_eq!(extra_by_lanes(&bytes), model(&bytes) - len);
                assert_eq!(extra_by_table(&bytes), model(&bytes) - len);
            }
            let bytes = noise(len as u64, len, 200);
            assert_eq!(extra_by_lanes(&bytes), model(&bytes) - len);
            assert_eq!(extra_by_table(&bytes), model(&bytes) - len);
        }
    }

    #[test]
    fn fits_at_one_below_and_one_above_the_escaped_length() {
        for unit in ["x", "\"", "\u{8}", "\u{7f}", "é", "漢", "📦", "a\u{c}\n漢"] {
            for count in [0, 1, 7, 31, 32, 33, 8160, 8161, 12_000] {
                let text = unit.repeat(count);
                let len = model(text.as_bytes());
                assert_eq!(escaped_len(&text), len);
                assert!(fits(&text, len));
                assert!(fits(&text, len + 1));
                assert!(len == 0 || !fits(&text, len - 1));
                assert!(fits(&text, usize::MAX));
                assert!(text.is_empty() || !fits(&text, 0));
            }
        }
    }

    #[test]
    fn fits_refuses_when_only_the_last_byte_is_too_much() {
        let mut text = "x".repeat(3 * BLOCK);
        text.push('\u{1}');
        assert!(fits(&text, 3 * BLOCK + 6));
        assert!(!fits(&text, 3 * BLOCK + 5));
    }

    #[test]
    fn longest_prefix_is_maximal_for_every_limit() {
        let text: String = "a\u{1}\"é漢📦\n\u{7f}\\".repeat(30);
        for limit in 0..=escaped_len(&text) + 2 {
            let prefix = longest_prefix(&text, limit);
            assert!(escaped_len(prefix) <= limit);
            if let Some(next) = text[prefix.len()..].chars().next() {
                let longer = &text[..prefix.len() + next.len_utf8()];
                assert!(escaped_len(longer) > limit);
            }
        }
    }

    #[test]
    fn longest_prefix_ends_inside_the_second_block() {
        let text = "\"".repeat(2 * BLOCK);
        assert_eq!(longest_prefix(&text, 2 * (BLOCK + 77) + 1).len(), BLOCK + 77);
        assert_eq!(longest_prefix(&text, usize::MAX), text);
        assert_eq!(longest_prefix("", 0), "");
        assert_eq!(longest_prefix("📦", 3), "");
    }

    #[test]
    fn pieces_add_up_to_the_whole_and_saturate() {
        let text = "{\"city\":\"Zürich\",\"note\":\"\u{8}漢\"}";
        for at in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            let mut len = EscapedLen::new();
            len.add_bytes(head).add_bytes(tail);
            assert_eq!(len, EscapedLen::of(text));
        }
        let mut len = EscapedLen::new();
        len.add_escaped(usize::MAX - 1).add("ab").add("c");
        assert_eq!(len.get(), usize::MAX);
        assert!(!len.fits(usize::MAX - 1));
    }
}
