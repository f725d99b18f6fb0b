//! The escape-aware length.

use agentwire_core::json::length::{EscapedLen, escaped_len, fits, longest_prefix};

use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    ("length: each kind of character", each_kind),
    ("length: every length up to 300 bytes", every_length),
    ("length: the sum of pieces is the whole", pieces),
    ("length: fits is exact at the limit", limit),
    ("length: the longest prefix that fits", prefix),
];

/// Text and its length between the quotes of a JSON string.
const KINDS: &[(&str, usize)] = &[
    ("", 0),
    ("plain ASCII text", 16),
    ("\"", 2),
    ("\\", 2),
    ("/", 1),
    ("\n\r\t", 6),
    ("\u{8}\u{c}", 12),
    ("\0\u{1b}\u{1f}", 18),
    ("\u{7f}", 1),
    ("\u{e9}\u{4e16}\u{1f600}", 9),
    ("\u{2028}", 3),
    ("{\"a\":\"b\\n\"}", 16),
];

fn each_kind() -> bool {
    KINDS.iter().all(|&(text, expected)| escaped_len(text) == expected)
}

/// Bytes of a text that is long enough to pass through every loop of the count.
fn pattern() -> [u8; 300] {
    let mut bytes = [b'a'; 300];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = match at % 11 {
            0 => b'"',
            3 => b'\n',
            5 => 0x01,
            8 => b'\\',
            _ => b'a',
        };
    }
    bytes
}

fn weight(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

fn every_length() -> bool {
    let bytes = pattern();
    let Ok(text) = core::str::from_utf8(&bytes) else { return false };
    let mut expected = 0;
    for end in 0..=bytes.len() {
        if text.get(..end).map(escaped_len) != Some(expected) {
            return false;
        }
        expected += bytes.get(end).copied().map_or(0, weight);
    }
    true
}

fn pieces() -> bool {
    let bytes = pattern();
    let Ok(text) = core::str::from_utf8(&bytes) else { return false };
    (0..=text.len()).step_by(7).all(|at| {
        let (head, tail) = text.split_at(at);
        EscapedLen::new().add(head).add(tail).get() == escaped_len(text)
    })
}

fn limit() -> bool {
    let bytes = pattern();
    let Ok(text) = core::str::from_utf8(&bytes) else { return false };
    let length = escaped_len(text);
    fits(text, length) && fits(text, length + 1) && !fits(text, length - 1) && !fits(text, 0)
}

fn prefix() -> bool {
    // 1 + 2 + 3 + 6 encoded bytes.
    let text = "a\"\u{4e16}\u{1}";
    let expected = ["", "a", "a", "a\"", "a\"", "a\"", "a\"\u{4e16}"];
    expected.iter().enumerate().all(|(limit, &prefix)| longest_prefix(text, limit) == prefix)
        && longest_prefix(text, 11) == "a\"\u{4e16}"
        && longest_prefix(text, 12) == text
}
