//! Values as ProtoJSON writes them (protobuf.dev, ProtoJSON format; A2A 1.0 sections 5.5 to 5.7).

use super::{Form, Problem};
use crate::json::{Str, Value};

/// An `int32` between two bounds: a number without a fractional part, or, where it is received, a
/// decimal string.
pub(super) fn integer(value: Value<'_>, from: i64, to: i64, form: Form) -> Result<(), Problem> {
    let number = match value.as_str() {
        Some(text) if form == Form::Received => decimal(text),
        Some(_) => None,
        None => value.as_integer(),
    };
    let is_plain = value.get().bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match number {
        None => Err(Problem::NotAnInteger),
        Some(number) if !(from..=to).contains(&number) => Err(Problem::OutOfRange { from, to }),
        Some(_) if form == Form::Emitted && !is_plain => Err(Problem::NotCanonical),
        Some(_) => Ok(()),
    }
}

fn decimal(text: Str<'_>) -> Option<i64> {
    let mut scratch = [0; 24];
    let text = text.decode(&mut scratch).ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Bytes in base64: the standard alphabet with padding; where it is received, the URL-safe one too,
/// and without padding.
pub(super) fn bytes(text: Str<'_>, form: Form) -> Result<(), Problem> {
    let (mut digits, mut padding) = (0_usize, 0_usize);
    for char in text.chars() {
        match char {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' if padding == 0 => {
                digits = digits.wrapping_add(1);
            }
            '-' | '_' if padding == 0 && form == Form::Received => {
                digits = digits.wrapping_add(1);
            }
            '=' if padding < 2 => padding = padding.wrapping_add(1),
            _ => return Err(Problem::NotBase64),
        }
    }
    let is_padded = digits.wrapping_add(padding) % 4 == 0;
    let is_bare = padding == 0 && digits % 4 != 1 && form == Form::Received;
    if is_padded || is_bare { Ok(()) } else { Err(Problem::NotBase64) }
}

/// A `google.protobuf.Timestamp`: RFC 3339 between the years 1 and 9999, with up to nine digits of
/// a second's fraction. What is emitted ends in `Z`; offsets are received all the same.
pub(super) fn timestamp(text: Str<'_>, form: Form) -> Result<(), Problem> {
    // The longest one has nine digits of a fraction and an offset.
    let mut scratch = [0; "0000-00-00T00:00:00.000000000+00:00".len()];
    let text = text.decode(&mut scratch).map_err(|_| Problem::NotATimestamp)?;
    match is_utc(text) {
        None => Err(Problem::NotATimestamp),
        Some(false) if form == Form::Emitted => Err(Problem::NotCanonical),
        Some(_) => Ok(()),
    }
}

/// Whether a timestamp ends in `Z`; `None` if it is none.
fn is_utc(text: &str) -> Option<bool> {
    let (date, time) = text.split_at_checked(10)?;
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return None,
    };
    if parts.next().is_some() || year == 0 || !(1..=days).contains(&day) {
        return None;
    }
    let (clock, rest) = time.strip_prefix(['T', 't'])?.split_at_checked(8)?;
    let mut parts = clock.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some()
        || number(hour, 2)? > 23
        || number(minute, 2)? > 59
        || number(second, 2)? > 59
    {
        return None;
    }
    let zone = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => {
            let end = fraction.find(|char: char| !char.is_ascii_digit())?;
            if !(1..=9).contains(&end) {
                return None;
            }
            fraction.get(end..)?
        }
    };
    if matches!(zone, "Z" | "z") {
        return Some(zone == "Z");
    }
    let (hour, minute) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    (number(hour, 2)? <= 23 && number(minute, 2)? <= 59).then_some(false)
}

/// So many digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    fn text(text: &str, check: impl Fn(Str<'_>) -> Result<(), Problem>) -> bool {
        let json = format!("\"{text}\"");
        check(Value::parse(&json).unwrap().as_str().unwrap()).is_ok()
    }

    #[test]
    fn timestamps() {
        let received = |time| text(time, |text| timestamp(text, Form::Received));
        let emitted = |time| text(time, |text| timestamp(text, Form::Emitted));
        for time in
            ["2026-01-31T23:59:59Z", "0001-01-01T00:00:00.1Z", "9999-12-31T00:00:00.123456789Z"]
        {
            assert!(received(time) && emitted(time), "{time}");
        }
        for time in [
            "2026-01-31T23:59:59+05:30",
            "2024-02-29t00:00:00z",
            "2000-02-29T00:00:00.5-00:00",
            "2026-01-31T23:59:59.123456789+05:30",
        ] {
            assert!(received(time) && !emitted(time), "{time}");
        }
        for time in [
            "notadate",
            "",
            "2026-01-31",
            "2026-01-31T23:59:59",
            "2026-01-31 23:59:59Z",
            "2026-1-31T23:59:59Z",
            "0000-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1234567890Z",
            "2026-01-01T00:00:00+5:30",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00Zx",
            "2026-01-01T00:00:00\u{e9}",
            "20\u{e9}6-01-01T00:00:00Z",
        ] {
            assert!(!received(time), "{time}");
        }
    }

    #[test]
    fn base64_of_both_alphabets_with_padding_or_without() {
        let received = |bytes64| text(bytes64, |text| bytes(text, Form::Received));
        let emitted = |bytes64| text(bytes64, |text| bytes(text, Form::Emitted));
        for both in ["", "AA==", "AAA=", "AAAA", "+/\\u0041=", "\\/\\/\\/\\/"] {
            assert!(received(both) && emitted(both), "{both}");
        }
        for lenient in ["AA", "AAA", "-_-_", "-_A="] {
            assert!(received(lenient) && !emitted(lenient), "{lenient}");
        }
        for neither in
            ["A", "A===", "AAAAA", "=", "====", "AA=A", "AA=", "A A", "AA==\\n", "\u{e9}"]
        {
            assert!(!received(neither), "{neither}");
        }
    }

    #[test]
    fn integers_in_each_way_of_writing_them() {
        let check = |json: &str, form| integer(Value::parse(json).unwrap(), 0, 100, form);
        for json in ["0", "100", "7"] {
            assert_eq!(check(json, Form::Received), Ok(()));
            assert_eq!(check(json, Form::Emitted), Ok(()));
        }
        for json in ["1.0", "1e1", "\"10\"", "\"\\u0030\""] {
            assert_eq!(check(json, Form::Received), Ok(()), "{json}");
            assert!(check(json, Form::Emitted).is_err(), "{json}");
        }
        let range = Err(Problem::OutOfRange { from: 0, to: 100 });
        for json in ["-1", "101", "\"-1\""] {
            assert_eq!(check(json, Form::Received), range, "{json}");
        }
        for json in ["1.5", "\"\"", "\"1.0\"", "\" 1\"", "\"+1\"", "true", "1e30", "[]"] {
            assert_eq!(check(json, Form::Received), Err(Problem::NotAnInteger), "{json}");
        }
    }
}
