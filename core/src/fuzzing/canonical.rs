//! Canonical JSON against a tree that is written naively.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use arbitrary::Unstructured;

use super::generate::{Generator, Vocabulary};
use super::model;
use crate::json::canonical::{CanonicalError, MAX_PYTHON_DIGITS, Separators, jcs, python};
use crate::json::{ErrorKind, Kind, Value};

/// The bytes as they are, and JSON made from them.
pub fn canonical(data: &[u8]) {
    if let Ok(text) = core::str::from_utf8(data) {
        check(text);
    }
    let words = Vocabulary {
        names: &["a", "b", "", "é", "\u{e000}", "\u{ffff}", "😀", "\u{10ffff}"],
        values: &["{}", "[]", "-0", "1e2", "1e21", "1e-7", "0.1", "9007199254740993", "1e400"],
    };
    let mut bytes = Unstructured::new(data);
    let mut made = Generator::new(&mut bytes, &words);
    // What was made until the bytes ran out is worth a look too.
    let _ = made.value(4);
    if let Ok(text) = made.finish() {
        if let Ok(text) = core::str::from_utf8(&text) {
            check(text);
        }
    }
}

fn check(text: &str) {
    let parsed = Value::parse(text);
    let (ours, spaced) = (jcs(text), python(text, Separators::Spaced));
    let value = match parsed {
        Ok(value) => value,
        Err(error) => {
            // A name that occurs twice before the place may show first.
            for refused in [ours, spaced] {
                match refused.expect_err("not JSON") {
                    CanonicalError::Json(found) if found.kind != ErrorKind::DuplicateMember => {
                        assert_eq!(found, error);
                    }
                    earlier => assert!(earlier.offset() <= error.offset),
                }
            }
            return;
        }
    };
    let twice = has_duplicate(value);
    let numbers = numbers(value);
    match ours {
        Ok(written) => {
            assert!(!twice, "a name twice");
            assert_eq!(written, naive(value, &Jcs), "another form");
            assert_eq!(jcs(&written).as_ref(), Ok(&written), "no fixed point");
            let other = reversed(value);
            assert_eq!(jcs(&other).as_ref(), Ok(&written), "equal values, other forms");
        }
        Err(error) => refused(error, twice, &numbers, text, |number| {
            let double: f64 = number.parse().expect("a number");
            !double.is_finite()
                || (is_integer(number)
                    && double.abs() > 9_007_199_254_740_991.0
                    && es_number(double) != number)
        }),
    }
    match spaced {
        Ok(written) => {
            assert!(!twice, "a name twice");
            assert_eq!(written, naive(value, &Python), "another form");
            assert_eq!(python(&written, Separators::Spaced).as_ref(), Ok(&written));
            assert!(written.bytes().all(|byte| matches!(byte, b' '..=b'~')));
            let compact = python(text, Separators::Compact).expect("as with spaces");
            assert_eq!(python(&compact, Separators::Spaced), Ok(written));
        }
        Err(error) => refused(error, twice, &numbers, text, |number| {
            if is_integer(number) {
                number.trim_start_matches('-').len() > MAX_PYTHON_DIGITS
            } else {
                !number.parse::<f64>().expect("a number").is_finite()
            }
        }),
    }
}

/// There is a reason to refuse it, and the place is that of the reason.
fn refused(
    error: CanonicalError,
    twice: bool,
    numbers: &[&str],
    text: &str,
    bad: impl Fn(&str) -> bool,
) {
    match error {
        CanonicalError::Json(error) => {
            assert!(twice && error.kind == ErrorKind::DuplicateMember);
            assert!(text[error.offset..].starts_with('"'));
        }
        CanonicalError::TooLarge { offset } | CanonicalError::Inexact { offset } => {
            let number = numbers.iter().find(|number| text[offset..].starts_with(**number));
            assert!(number.is_some_and(|_| numbers.iter().any(|number| bad(number))));
        }
    }
}

fn is_integer(number: &str) -> bool {
    !number.contains(['.', 'e', 'E'])
}

fn has_duplicate(value: Value<'_>) -> bool {
    let Some(object) = value.as_object() else {
        return value.elements().into_iter().flatten().any(has_duplicate);
    };
    let mut names: Vec<String> = object.members().map(|(name, _)| name.chars().collect()).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    names.len() < all || object.members().any(|(_, value)| has_duplicate(value))
}

fn numbers<'a>(value: Value<'a>) -> Vec<&'a str> {
    match value.kind() {
        Kind::Number => alloc::vec![value.get()],
        Kind::Array => value.elements().into_iter().flatten().flat_map(numbers).collect(),
        Kind::Object => {
            let object = value.as_object().expect("an object");
            object.members().flat_map(|(_, value)| numbers(value)).collect()
        }
        _ => Vec::new(),
    }
}

/// The same value: members from the last to the first, every character of a name as an escape.
fn reversed(value: Value<'_>) -> String {
    if let Some(object) = value.as_object() {
        let mut members: Vec<String> = object
            .members()
            .map(|(name, value)| {
                let units = |char: char| char.encode_utf16(&mut [0; 2]).to_vec();
                let escaped: String =
                    name.chars().flat_map(units).map(|unit| format!("\\u{unit:04X}")).collect();
                format!("\"{escaped}\" : {}", reversed(value))
            })
            .collect();
        members.reverse();
        return format!("{{ {} }}", members.join("\n,"));
    }
    match value.elements() {
        Some(elements) => format!("[{}]", elements.map(reversed).collect::<Vec<_>>().join(" , ")),
        None => value.get().to_string(),
    }
}

/// What a form says of names, strings and numbers.
trait Naive {
    const COMMA: &'static str;
    const COLON: &'static str;
    fn key(name: &str) -> Vec<u32>;
    fn string(&self, text: &str) -> String;
    fn number(&self, text: &str) -> String;
}

fn naive<F: Naive>(value: Value<'_>, form: &F) -> String {
    match value.kind() {
        Kind::Null | Kind::Bool => value.get().to_string(),
        Kind::Number => form.number(value.get()),
        Kind::String => form.string(&model::string(value.get()).expect("a string")),
        Kind::Array => {
            let elements = value.elements().expect("an array");
            let written: Vec<String> = elements.map(|value| naive(value, form)).collect();
            format!("[{}]", written.join(F::COMMA))
        }
        Kind::Object => {
            let mut members = model::members(value.get()).expect("an object");
            members.sort_by_key(|(name, _)| F::key(name));
            let written: Vec<String> = members
                .into_iter()
                .map(|(name, text)| {
                    let value = Value::parse(text).expect("a value");
                    format!("{}{}{}", form.string(&name), F::COLON, naive(value, form))
                })
                .collect();
            format!("{{{}}}", written.join(F::COMMA))
        }
    }
}

fn short(char: char) -> Option<&'static str> {
    Some(match char {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        _ => return None,
    })
}

fn quoted(text: &str, literal: impl Fn(char) -> bool) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match short(char) {
            Some(escape) => out.push_str(escape),
            None if literal(char) => out.push(char),
            None => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out + "\""
}

struct Jcs;

impl Naive for Jcs {
    const COMMA: &'static str = ",";
    const COLON: &'static str = ":";

    fn key(name: &str) -> Vec<u32> {
        name.encode_utf16().map(u32::from).collect()
    }

    fn string(&self, text: &str) -> String {
        quoted(text, |char| char >= ' ')
    }

    fn number(&self, text: &str) -> String {
        es_number(text.parse().expect("a number"))
    }
}

struct Python;

impl Naive for Python {
    const COMMA: &'static str = ", ";
    const COLON: &'static str = ": ";

    fn key(name: &str) -> Vec<u32> {
        name.chars().map(u32::from).collect()
    }

    fn string(&self, text: &str) -> String {
        quoted(text, |char| (' '..='~').contains(&char))
    }

    fn number(&self, text: &str) -> String {
        if is_integer(text) {
            return if text == "-0" { "0".into() } else { text.into() };
        }
        let value: f64 = text.parse().expect("a number");
        let (sign, digits, point) = digits(value);
        match point {
            // Digits before the point, from none to sixteen of them.
            -3..=0 => format!("{sign}0.{}{digits}", "0".repeat(-point as usize)),
            1..=16 => {
                let point = point as usize;
                let whole = format!("{digits:0<point$}");
                let fraction = &whole[point..];
                let fraction = if fraction.is_empty() { "0" } else { fraction };
                format!("{sign}{}.{fraction}", &whole[..point])
            }
            _ => {
                let (first, rest) = digits.split_at(1);
                let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
                let exponent = point - 1;
                let mark = if exponent < 0 { '-' } else { '+' };
                format!("{sign}{first}{rest}e{mark}{:02}", exponent.abs())
            }
        }
    }
}

/// The shortest digits of a double, and where its point is: behind that many of them.
///
/// Of several with as few digits it is the nearest, and of two that are as near the even one. The
/// standard library gives one of the shortest, but of two the greater.
fn digits(value: f64) -> (&'static str, String, i32) {
    let shortest = format!("{:e}", value.abs());
    let count =
        shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let rounded = format!("{:.*e}", count - 1, value.abs());
    let text = if rounded.parse() == Ok(value.abs()) { rounded } else { shortest };
    let (mantissa, exponent) = text.split_once('e').expect("an exponent");
    let exponent: i32 = exponent.parse().expect("a number");
    let sign = if value.is_sign_negative() { "-" } else { "" };
    (sign, mantissa.replace('.', ""), exponent + 1)
}

/// ECMA-262 `Number::toString`, as it is written there.
fn es_number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let (sign, digits, n) = digits(value);
    let k = digits.len() as i32;
    let body = match n {
        _ if k <= n && n <= 21 => digits + &"0".repeat((n - k) as usize),
        1..=21 => format!("{}.{}", &digits[..n as usize], &digits[n as usize..]),
        -5..=0 => format!("0.{}{digits}", "0".repeat(-n as usize)),
        _ => {
            let (first, rest) = digits.split_at(1);
            let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
            let mark = if n > 0 { '+' } else { '-' };
            format!("{first}{rest}e{mark}{}", (n - 1).abs())
        }
    };
    format!("{sign}{body}")
}
