//! How large a request or a response is once the core has encoded it ("Exchange").
//!
//! The core does not pass the text on: it reads it and writes it again. White space goes, keys are
//! sorted at every level, strings are escaped as its encoder escapes them, of members that occur
//! twice one is kept, and numbers are written in its own way. So the size is that of the text
//! after all this, and where the text alone does not decide it (members that occur twice, numbers
//! with a fraction or an exponent) it is a range.
//!
//! Before encryption the agent pads what it sends, its own framing included, to
//! [`PADDED_LEN`] bytes. The framing holds the reply queue's address, whose length the requester
//! does not know, so between [`ADVISED_LEN`] and what the padding holds at the very most a message
//! may or may not fit.

use core::fmt;

use crate::json::length::escaped_len;
use crate::json::{Kind, Members, Str, Value};
use crate::table::Hasher;

/// How many bytes of JSON a request or a response should not exceed ("Exchange").
pub const ADVISED_LEN: usize = 10_000;

/// The bytes that the agent pads a request or a response to ("Exchange"; simplexmq
/// `Agent/Protocol.hs`, `e2eEncConnInfoLength`).
pub const PADDED_LEN: usize = 11_106;

/// The bytes of the length that the padding begins with.
const LENGTH: usize = 2;

/// The bytes of the message's tag.
const TAG: usize = 1;

/// The bytes that a signed request takes besides: a mark, the key with its length, the signature
/// with its length (simplexmq, the encoding of `AgentServiceRequest`).
pub const SIGNATURE_LEN: usize = 1 + 45 + 65;

/// What is being measured.
///
/// ```
/// use agentwire_core::rpc::{Framing, PADDED_LEN};
/// assert_eq!(Framing::Response.max_len(), PADDED_LEN - 3);
/// assert_eq!(Framing::SignedRequest.max_len(), PADDED_LEN - 3 - 111);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)]
pub enum Framing {
    /// A request without a signature.
    Request,
    /// A request with a signature, which takes [`SIGNATURE_LEN`] bytes more.
    SignedRequest,
    /// A response; responses are not signed.
    Response,
}

impl Framing {
    /// The bytes of JSON that fit at the very most: what the padding holds without its length, the
    /// tag and the signature. In a request the reply queue's address takes some of it.
    pub const fn max_len(self) -> usize {
        let signature = if matches!(self, Self::SignedRequest) { SIGNATURE_LEN } else { 0 };
        PADDED_LEN.saturating_sub(LENGTH + TAG).saturating_sub(signature)
    }
}

/// A length in bytes that lies between two numbers, both included.
///
/// ```
/// use agentwire_core::json::Value;
/// use agentwire_core::rpc::NormalisedLen;
/// let len = NormalisedLen::of(Value::parse(r#"{ "b" : "\u00e9", "a" : 1 }"#).unwrap());
/// // {"a":1,"b":"é"}
/// assert_eq!((len.min, len.max), (16, 16));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct NormalisedLen {
    /// The core's encoding has at least this many bytes.
    pub min: usize,
    /// The core's encoding has at most this many bytes.
    pub max: usize,
}

impl NormalisedLen {
    /// A length that is known.
    pub(super) const fn exact(len: usize) -> Self {
        Self { min: len, max: len }
    }

    fn add(&mut self, other: Self) {
        self.min = self.min.saturating_add(other.min);
        self.max = self.max.saturating_add(other.max);
    }

    /// The length of a value after the core has read it and written it again.
    pub fn of(value: Value<'_>) -> Self {
        let mut len = Self::default();
        len.add_value(value, true);
        len
    }

    /// The greatest of the lengths, for one who does not ask for the least.
    pub(super) fn at_most(value: Value<'_>) -> usize {
        let mut len = Self::default();
        len.add_value(value, false);
        len.max
    }

    fn add_value(&mut self, value: Value<'_>, looks_for_repeats: bool) {
        match value.kind() {
            Kind::Null | Kind::Bool => self.add(Self::exact(value.get().len())),
            Kind::Number => self.add(number(value.get())),
            Kind::String => {
                if let Some(text) = value.as_str() {
                    self.add(Self::exact(string(text)));
                }
            }
            Kind::Array | Kind::Object => self.add_container(value.get(), looks_for_repeats),
        }
    }

    /// Adds the bytes of a container token by token, without recursion: what stands between the
    /// tokens is white space.
    fn add_container(&mut self, text: &str, looks_for_repeats: bool) {
        let mut rest = text;
        let mut repeats = !looks_for_repeats;
        while let Some(byte) = rest.as_bytes().first() {
            let token = match byte {
                b' ' | b'\t' | b'\n' | b'\r' => 1,
                b'{' | b'}' | b'[' | b']' | b':' | b',' => {
                    self.add(Self::exact(1));
                    repeats = repeats || (*byte == b'{' && may_repeat(Members::after_brace(rest)));
                    1
                }
                b'"' => {
                    let token = string_token(rest);
                    let text = rest.get(..token).and_then(|text| Value::parse(text).ok());
                    if let Some(text) = text.and_then(|value| value.as_str()) {
                        self.add(Self::exact(string(text)));
                    }
                    token
                }
                _ => {
                    let end = rest.find(|char| ",]}: \t\n\r".contains(char));
                    let token = end.unwrap_or(rest.len());
                    let text = rest.get(..token).unwrap_or_default();
                    match byte {
                        b't' | b'f' | b'n' => self.add(Self::exact(text.len())),
                        _ => self.add(number(text)),
                    }
                    token
                }
            };
            rest = rest.get(token..).unwrap_or_default();
        }
        if repeats {
            // Of members with the same name one is kept; which one is not known here.
            self.min = 2;
        }
    }
}

/// The length of the string token that `text` begins with.
fn string_token(text: &str) -> usize {
    let mut is_escaped = false;
    for (place, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return place.saturating_add(1),
            _ => {}
        }
    }
    text.len()
}

/// A string with its quotes, as the core's encoder writes it.
fn string(text: Str<'_>) -> usize {
    let inside = match text.as_plain() {
        Some(plain) => escaped_len(plain),
        None => text.chars().fold(0, |len: usize, char| {
            len.saturating_add(escaped_len(char.encode_utf8(&mut [0; 4])))
        }),
    };
    inside.saturating_add(2)
}

/// A number, as the core's encoder writes it.
fn number(text: &str) -> NormalisedLen {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits == "0" {
        // Minus zero loses its sign.
        return NormalisedLen::exact(1);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return NormalisedLen::exact(text.len());
    }
    // A fraction or an exponent. With an exponent up to `WRITTEN_OUT` left after the fraction was taken
    // off, the digits are written out; else at most each digit, a sign, a point, a zero, the mark
    // and an exponent as long as the one that was written, or longer by the carry of the fraction.
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let exponent: Option<i64> = exponent.trim_start_matches('+').parse().ok();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction_len = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let count = whole.len().saturating_add(fraction.len());
    // An exponent of more than 64 bits wraps around in the decoder, to any exponent.
    let zeros = exponent
        .map_or(Ok(WRITTEN_OUT), |exponent| usize::try_from(exponent.saturating_sub(fraction_len)));
    let more = match zeros {
        Ok(zeros) if zeros <= WRITTEN_OUT => zeros.saturating_add(1),
        _ => MARKS,
    };
    NormalisedLen { min: 1, max: count.saturating_add(more) }
}

/// The greatest exponent that is left after the fraction was taken off with which the digits are
/// written out.
const WRITTEN_OUT: usize = 1_024;

/// A sign, a point, a zero before and behind it, seven zeros of a plain fraction, and an exponent
/// with its mark and sign.
const MARKS: usize = 1 + 1 + 2 + 7 + 22;

/// How many members of one object are compared with each other.
const COMPARED: usize = 128;

/// Whether a name occurs twice among the members, or there are too many to tell. Names are
/// compared by their hashes: two names that have the same one count as one name, and so make a
/// range where there could be a number.
fn may_repeat(members: Members<'_>) -> bool {
    let mut seen = [0; COMPARED];
    for (count, (name, _)) in members.enumerate() {
        let hash =
            name.chars().fold(Hasher::new(), |hasher, char| hasher.int(i64::from(u32::from(char))));
        let hash = hash.finish();
        let (before, after) = seen.split_at_mut_checked(count).unwrap_or_default();
        match after.first_mut() {
            Some(place) if !before.contains(&hash) => *place = hash,
            _ => return true,
        }
    }
    false
}

/// Whether a message fits.
///
/// ```
/// use agentwire_core::json::Value;
/// use agentwire_core::rpc::{Fit, Framing};
/// let value = Value::parse(r#"{"protocol":"mcp","request":{}}"#).unwrap();
/// assert_eq!(Fit::of(value, Framing::Request), Fit::Fine);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)]
pub enum Fit {
    /// At most [`ADVISED_LEN`] bytes.
    Fine,
    /// More than is advised, and not more than what can fit: that depends on the framing.
    Perhaps,
    /// More than what can fit whatever the framing.
    TooLarge,
}

impl Fit {
    /// Measures a whole envelope.
    pub fn of(envelope: Value<'_>, framing: Framing) -> Self {
        Self::of_len(NormalisedLen::of(envelope), framing)
    }

    /// Judges a length.
    pub const fn of_len(len: NormalisedLen, framing: Framing) -> Self {
        if len.max <= ADVISED_LEN {
            Self::Fine
        } else if len.min > framing.max_len() {
            Self::TooLarge
        } else {
            Self::Perhaps
        }
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fine => "it fits",
            Self::Perhaps => "it is larger than advised and may not fit",
            Self::TooLarge => "it does not fit",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    fn len(text: &str) -> (usize, usize) {
        let len = NormalisedLen::of(Value::parse(text).unwrap());
        (len.min, len.max)
    }

    #[test]
    fn white_space_goes_and_strings_are_escaped_anew() {
        for (text, written) in [
            (" [ ] ", "[]"),
            ("{ \"b\" : [ 1 , true , null ] , \"a\" : { } }", r#"{"a":{},"b":[1,true,null]}"#),
            (r#""\u00e9\/\b\u0041""#, r#""é/\u0008A""#),
            (r#""\ud83d\ude00\"\\\n""#, r#""😀\"\\\n""#),
            (r#"{"a b,]}":"x, y: {[\""}"#, r#"{"a b,]}":"x, y: {[\""}"#),
            ("-0", "0"),
            ("-12", "-12"),
        ] {
            assert_eq!(len(text), (written.len(), written.len()), "{text}");
        }
    }

    #[test]
    fn numbers_with_an_exponent_are_a_range_that_holds_what_the_core_writes() {
        // What the encoder makes of them, from its rule for exponents up to 1,024.
        let zeros = |n: usize| "0".repeat(n);
        for (text, written) in [
            ("1e2", "100".into()),
            ("1.0", "1.0".into()),
            ("1.50", "1.5".into()),
            ("-2.5e3", "-2500".into()),
            ("1e1024", format!("1{}", zeros(1_024))),
            ("1e1025", "1.0e1025".into()),
            ("0.01", "1.0e-2".into()),
            ("1e-400", "1.0e-400".into()),
            ("123456789.5", "1.234567895e8".into()),
            ("0.0", "0.0".into()),
            ("10e1024", format!("10{}", zeros(1_024))),
            ("-0.5e1025", format!("-5{}", zeros(1_024))),
            // An exponent that wraps around in 64 bits: to 1,000, from either side.
            ("1e18446744073709552616", format!("1{}", zeros(1_000))),
            ("-1e-18446744073709550616", format!("-1{}", zeros(1_000))),
        ] {
            let written: std::string::String = written;
            let (min, max) = len(text);
            assert!(min <= written.len() && written.len() <= max, "{text}: {min}..={max}");
        }
    }

    #[test]
    fn members_that_occur_twice_make_a_range() {
        let (min, max) = len(r#"{"a":1,"\u0061":22}"#);
        assert!(min <= r#"{"a":1}"#.len() && max == r#"{"a":1,"a":22}"#.len());
        let (min, max) = len(r#"[{"x":{"a":1,"a":2}}]"#);
        assert!(min < max);
        // The same name in different objects is none.
        let text = r#"[{"a":1},{"a":{"a":1}}]"#;
        assert_eq!(len(text), (text.len(), text.len()));
    }

    #[test]
    fn objects_nested_as_deep_as_can_be_have_an_exact_length() {
        let deep = format!("{}1{}", "{\"a\":".repeat(127), "}".repeat(127));
        assert_eq!(len(&deep), (deep.len(), deep.len()));
    }

    #[test]
    fn names_are_compared_up_to_128_members() {
        let object = |count: usize, last: &str| {
            let many: std::string::String =
                (1..count).map(|n| format!("\"m{n}\":[{n}],")).collect();
            format!("{{{many}\"{last}\":1}}")
        };
        for count in [1, 2, 64, 65, 127, 128] {
            let text = object(count, "last");
            assert_eq!(len(&text), (text.len(), text.len()), "{count}");
        }
        assert_eq!(len(&object(128, "m127")).0, 2);
        // Nobody looks further, so that the work is bounded.
        assert_eq!(len(&object(129, "last")).0, 2);
    }

    #[test]
    fn each_limit_at_below_and_above() {
        let envelope = |len: usize| format!("{{\"response\":\"{}\"}}", "x".repeat(len - 15));
        for framing in [Framing::Request, Framing::SignedRequest, Framing::Response] {
            let fit = |len: usize| {
                let text = envelope(len);
                assert_eq!(text.len(), len);
                Fit::of(Value::parse(&text).unwrap(), framing)
            };
            assert_eq!(fit(ADVISED_LEN - 1), Fit::Fine);
            assert_eq!(fit(ADVISED_LEN), Fit::Fine);
            assert_eq!(fit(ADVISED_LEN + 1), Fit::Perhaps);
            let max = framing.max_len();
            assert_eq!(fit(max - 1), Fit::Perhaps);
            assert_eq!(fit(max), Fit::Perhaps);
            assert_eq!(fit(max + 1), Fit::TooLarge);
        }
    }

    #[test]
    fn depth_and_number_of_members_are_bounded_work() {
        let deep = format!("{}1{}", "[".repeat(127), "]".repeat(127));
        assert_eq!(len(&deep), (255, 255));
        let many: std::string::String = (0..2_000).map(|n| format!("\"m{n}\":1,")).collect();
        let text = format!("{{{many}\"last\":1}}");
        let (_, max) = len(&text);
        assert_eq!(max, text.len());
    }
}
