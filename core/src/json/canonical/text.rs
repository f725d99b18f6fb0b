//! How the two forms write strings and numbers, and how they order names.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt::Write as _;

use super::super::{Chars, hex};

/// The most digits of an integer in Python's form: CPython's own limit for reading one.
pub const MAX_PYTHON_DIGITS: usize = 4300;

/// The greatest integer up to which a double holds every one: 2^53 - 1, with its 16 digits.
const MAX_SAFE: u64 = 9_007_199_254_740_991;

/// What stands between the quotes of a well-formed string.
#[derive(Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(super) raw: &'a str,
    /// Whether nothing in it is escaped.
    pub(super) plain: bool,
}

impl<'a> Name<'a> {
    fn chars(self) -> Chars<'a> {
        Chars { rest: self.raw }
    }
}

/// Why a number has no canonical form.
pub(crate) enum NumberFault {
    TooLarge,
    Inexact,
}

/// How a form writes what stands in a document.
pub(crate) trait Dialect {
    const COMMA: &'static str;
    const COLON: &'static str;

    /// Writes a string, with its quotes.
    fn string(out: &mut Vec<u8>, text: Name<'_>);

    /// Writes a number, given as the document has it.
    fn number(out: &mut Vec<u8>, text: &str) -> Result<(), NumberFault>;

    /// Which of two names comes first.
    fn order(a: Name<'_>, b: Name<'_>) -> Ordering;
}

/// RFC 8785.
pub(crate) struct Jcs;

impl Dialect for Jcs {
    const COMMA: &'static str = ",";
    const COLON: &'static str = ":";

    #[inline]
    fn string(out: &mut Vec<u8>, text: Name<'_>) {
        out.push(b'"');
        if text.plain {
            // What needs an escape cannot stand there without one.
            out.extend_from_slice(text.raw.as_bytes());
        } else {
            let mut rest = text.raw;
            while let Some(clean) = rest.find('\\') {
                let (before, escape) = rest.split_at_checked(clean).unwrap_or((rest, ""));
                out.extend_from_slice(before.as_bytes());
                let mut chars = Chars { rest: escape };
                let Some(char) = chars.next() else { break };
                rest = chars.rest;
                if needs_escape(char) {
                    escaped(out, char);
                } else {
                    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            out.extend_from_slice(rest.as_bytes());
        }
        out.push(b'"');
    }

    /// Section 3.2.2.3: as ECMAScript writes the double.
    fn number(out: &mut Vec<u8>, text: &str) -> Result<(), NumberFault> {
        let integer = is_integer(text);
        if integer && text.len() <= 15 && text != "-0" {
            // Nearly every one: digits that a double is sure to hold, without a leading zero.
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        let value = double(text)?;
        let mut buffer = ryu_js::Buffer::new();
        let written = buffer.format_finite(value);
        if integer && value.abs() > MAX_SAFE as f64 && written != text {
            return Err(NumberFault::Inexact);
        }
        out.extend_from_slice(written.as_bytes());
        Ok(())
    }

    /// Section 3.2.3: by UTF-16 code units.
    #[inline]
    fn order(a: Name<'_>, b: Name<'_>) -> Ordering {
        if a.plain && b.plain {
            let (a, b) = (a.raw.as_bytes(), b.raw.as_bytes());
            let differing = a.iter().zip(b).find(|(a, b)| a != b);
            return differing
                .map_or(a.len().cmp(&b.len()), |(a, b)| utf16_rank(*a).cmp(&utf16_rank(*b)));
        }
        units(a).cmp(units(b))
    }
}

/// The UTF-16 code units of a name.
fn units(name: Name<'_>) -> impl Iterator<Item = u16> {
    let mut chars = name.chars();
    let mut low = None;
    core::iter::from_fn(move || {
        low.take().or_else(|| {
            let mut buffer = [0; 2];
            let units = chars.next()?.encode_utf16(&mut buffer);
            low = units.get(1).copied();
            units.first().copied()
        })
    })
}

/// The rank of a byte of UTF-8 at the first place where two texts differ, by the order of UTF-16:
/// the characters of four bytes have surrogates, which come before U+E000 to U+FFFF, whose first
/// bytes are 0xee and 0xef. Bytes inside of characters are below both.
fn utf16_rank(byte: u8) -> u16 {
    match byte {
        0xee | 0xef => u16::from(byte).wrapping_add(0x100),
        _ => u16::from(byte),
    }
}

/// CPython's, with `,` and `:`.
pub(crate) struct PythonCompact;

/// CPython's, with `, ` and `: `.
pub(crate) struct PythonSpaced;

macro_rules! python {
    ($dialect:ty, $comma:literal, $colon:literal) => {
        impl Dialect for $dialect {
            const COMMA: &'static str = $comma;
            const COLON: &'static str = $colon;

            fn string(out: &mut Vec<u8>, text: Name<'_>) {
                python_string(out, text);
            }

            fn number(out: &mut Vec<u8>, text: &str) -> Result<(), NumberFault> {
                python_number(out, text)
            }

            fn order(a: Name<'_>, b: Name<'_>) -> Ordering {
                // The order of UTF-8 is that of code points.
                if a.plain && b.plain { a.raw.cmp(b.raw) } else { a.chars().cmp(b.chars()) }
            }
        }
    };
}

python!(PythonCompact, ",", ":");
python!(PythonSpaced, ", ", ": ");

/// `ensure_ascii`: everything but printable ASCII is escaped.
fn python_string(out: &mut Vec<u8>, text: Name<'_>) {
    out.push(b'"');
    if text.plain && text.raw.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        out.extend_from_slice(text.raw.as_bytes());
    } else {
        for char in text.chars() {
            match char {
                ' '..='~' if !needs_escape(char) => out.push(char as u8),
                _ => escaped(out, char),
            }
        }
    }
    out.push(b'"');
}

/// An integer as it is; another number as `float.__repr__` writes it.
fn python_number(out: &mut Vec<u8>, text: &str) -> Result<(), NumberFault> {
    if is_integer(text) {
        if text.trim_start_matches('-').len() > MAX_PYTHON_DIGITS {
            return Err(NumberFault::TooLarge);
        }
        let text = if text == "-0" { "0" } else { text };
        out.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    repr(out, double(text)?);
    Ok(())
}

/// Writes a double as `float.__repr__` does: the digits of ECMAScript, laid out otherwise.
fn repr(out: &mut Vec<u8>, value: f64) {
    let mut buffer = ryu_js::Buffer::new();
    let written = buffer.format_finite(value.abs());
    let (mantissa, exponent) = written.split_once('e').unwrap_or((written, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // At most 21 digits before the point, or 17 behind it and six zeros.
    let mut all = heapless::String::<32>::new();
    for digit in whole.chars().chain(fraction.chars()) {
        let _ = all.push(digit);
    }
    let digits = all.trim_start_matches('0');
    let leading = all.len().saturating_sub(digits.len());
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    // The power of ten of the first digit.
    let first = i32::try_from(whole.len()).unwrap_or(0).saturating_sub(1);
    let first = first.saturating_sub(i32::try_from(leading).unwrap_or(0));
    let power = first.saturating_add(exponent.parse().unwrap_or(0));
    let power = if digits == "0" { 0 } else { power };

    let zeros = |count: usize| core::iter::repeat_n(b'0', count);
    let size = power.unsigned_abs() as usize;
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if !(-4..16).contains(&power) {
        let (one, more) = digits.split_at_checked(1).unwrap_or((digits, ""));
        out.extend_from_slice(one.as_bytes());
        if !more.is_empty() {
            out.push(b'.');
            out.extend_from_slice(more.as_bytes());
        }
        let mut exponent = heapless::String::<8>::new();
        let _ = write!(exponent, "e{}{size:02}", if power < 0 { '-' } else { '+' });
        out.extend_from_slice(exponent.as_bytes());
    } else if power < 0 {
        out.extend_from_slice(b"0.");
        out.extend(zeros(size.saturating_sub(1)));
        out.extend_from_slice(digits.as_bytes());
    } else {
        let before = size.saturating_add(1);
        let (whole, fraction) = digits.split_at_checked(before).unwrap_or((digits, ""));
        out.extend_from_slice(whole.as_bytes());
        out.extend(zeros(before.saturating_sub(digits.len())));
        out.push(b'.');
        out.extend_from_slice(if fraction.is_empty() { b"0" } else { fraction.as_bytes() });
    }
}

/// Whether a well-formed number is written without a fraction and without an exponent.
fn is_integer(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

/// The double nearest to a well-formed number.
fn double(text: &str) -> Result<f64, NumberFault> {
    // Every number of JSON is one of Rust's; too large ones become infinite.
    text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or(NumberFault::TooLarge)
}

fn needs_escape(char: char) -> bool {
    matches!(char, '"' | '\\' | '\0'..='\u{1f}')
}

/// Writes the escape of a character: a short one where there is one, else by its UTF-16 units.
fn escaped(out: &mut Vec<u8>, char: char) {
    let short = match char {
        '"' => b'"',
        '\\' => b'\\',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        _ => {
            for unit in char.encode_utf16(&mut [0; 2]) {
                let [high, low] = unit.to_be_bytes();
                out.extend_from_slice(b"\\u");
                out.extend([hex(high >> 4), hex(high & 15), hex(low >> 4), hex(low & 15)]);
            }
            return;
        }
    };
    out.extend([b'\\', short]);
}
