//! JSON as the core writes it after it has read it: what becomes of a Service RPC message.
//!
//! The core reads a request or a response into values and writes these anew, on both sides. Keys
//! are sorted by their UTF-8 bytes at every level, white space goes, strings and numbers are
//! written in the encoder's own way. Of members with one name the **first** is kept: aeson
//! collects them in reverse and lets the last of those win (aeson 2.2,
//! `Data.Aeson.Decoding.Conversion`).

use alloc::{collections::BTreeMap, string::String};

use crate::json::{self, Kind, Str, Value, Writer};

/// The bytes of a value as the core writes it.
pub(super) fn len(value: Value<'_>) -> usize {
    let mut counter = Writer::new(&mut []);
    write(value, &mut counter);
    counter.needed()
}

/// What the core at the other end makes of a text that a core has written.
pub(super) fn again(written: &str) -> String {
    Value::parse(written).map(text).unwrap_or_default()
}

/// A value as the core writes it.
pub(super) fn text(value: Value<'_>) -> String {
    json::to_text(|out| write(value, out))
}

/// Depth first; the scanner has bounded the depth.
fn write(value: Value<'_>, out: &mut Writer<'_>) {
    match value.kind() {
        Kind::Null | Kind::Bool => {
            out.value(value);
        }
        Kind::Number => number(value.get(), out),
        Kind::String => {
            if let Some(text) = value.as_str() {
                out.string(&decoded(text));
            }
        }
        Kind::Array => {
            let mut before = "[";
            for element in value.elements().into_iter().flatten() {
                out.raw(before);
                write(element, out);
                before = ",";
            }
            out.raw(if before == "[" { "[]" } else { "]" });
        }
        Kind::Object => {
            let mut members = BTreeMap::new();
            for (name, value) in value.as_object().iter().flat_map(|object| object.members()) {
                members.entry(decoded(name)).or_insert(value);
            }
            let mut before = "{";
            for (name, value) in members {
                out.raw(before).string(&name).raw(":");
                write(value, out);
                before = ",";
            }
            out.raw(if before == "{" { "{}" } else { "}" });
        }
    }
}

fn decoded(text: Str<'_>) -> String {
    text.chars().collect()
}

/// A number is a coefficient and an exponent of ten, as they stand there: `1.50` is 150 and -2.
/// With an exponent from 0 to 1,024 it is written as an integer; else as the shortest digits, with
/// a point where the value is from 0.1 to below ten million, and with an exponent elsewhere (aeson
/// 2.2, `Data.Aeson.Encoding.Builder`; scientific, `Data.ByteString.Builder.Scientific`).
fn number(text: &str, out: &mut Writer<'_>) {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, written) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let most = if written.starts_with('-') { i64::MIN } else { i64::MAX };
    let exponent = written.parse().unwrap_or(most).saturating_sub(count(fraction));
    let digits: String = [whole, fraction].concat();
    let coefficient = digits.trim_start_matches('0');
    if (0..=1_024).contains(&exponent) {
        if coefficient.is_empty() {
            out.raw("0");
            return;
        }
        out.raw(sign).raw(coefficient);
        (0..exponent).for_each(|_| {
            out.raw("0");
        });
        return;
    }
    if coefficient.is_empty() {
        out.raw("0.0");
        return;
    }
    let digits = coefficient.trim_end_matches('0');
    // The value is 0.digits times ten to this power.
    let power = exponent.saturating_add(count(coefficient));
    out.raw(sign);
    match usize::try_from(power) {
        Ok(0) => {
            out.raw("0.").raw(digits);
        }
        Ok(places @ 1..=7) => {
            let (before, after) = digits.split_at_checked(places).unwrap_or((digits, ""));
            out.raw(before);
            (before.len()..places).for_each(|_| {
                out.raw("0");
            });
            out.raw(".").raw(if after.is_empty() { "0" } else { after });
        }
        _ => {
            let (first, after) = digits.split_at_checked(1).unwrap_or((digits, ""));
            out.raw(first).raw(".").raw(if after.is_empty() { "0" } else { after });
            out.raw("e").int(power.saturating_sub(1));
        }
    }
}

fn count(digits: &str) -> i64 {
    i64::try_from(digits.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::rpc::NormalisedLen;

    fn written(json: &str) -> String {
        let value = Value::parse(json).unwrap();
        let written = text(value);
        let range = NormalisedLen::of(value);
        assert!(range.min <= written.len() && written.len() <= range.max, "{json}: {range:?}");
        written
    }

    #[test]
    fn keys_are_sorted_by_their_bytes_at_every_level() {
        let json =
            r#" { "b" : [ { "z" : 1 , "a" : { "é" : 1, "z": 2 } } ], "\u0061" : [ ] , "B":{} } "#;
        assert_eq!(written(json), r#"{"B":{},"a":[],"b":[{"a":{"z":2,"é":1},"z":1}]}"#);
    }

    #[test]
    fn of_members_with_one_name_the_first_is_kept() {
        assert_eq!(written(r#"{"a":1,"\u0061":2,"b":0,"a":3}"#), r#"{"a":1,"b":0}"#);
    }

    #[test]
    fn strings_are_escaped_anew() {
        let json = r#"["\/\u00e9\ud83d\ude00", "\b\f\n\r\t\"\\", "\u007f<>&\u2028"]"#;
        let expected = "[\"/é😀\",\"\\u0008\\u000c\\n\\r\\t\\\"\\\\\",\"\u{7f}<>&\u{2028}\"]";
        assert_eq!(written(json), expected);
    }

    #[test]
    fn numbers_are_written_in_the_encoders_own_way() {
        let zeros = |n: usize| "0".repeat(n);
        for (json, expected) in [
            ("0", "0".into()),
            ("-0", "0".into()),
            ("-12", "-12".into()),
            ("12345678901234567890123", "12345678901234567890123".into()),
            ("1e2", "100".into()),
            ("1E+2", "100".into()),
            ("1.0", "1.0".into()),
            ("1.0e1", "10".into()),
            ("1.50", "1.5".into()),
            ("1.50e1", "15.0".into()),
            ("-2.5e3", "-2500".into()),
            ("1e1024", format!("1{}", zeros(1_024))),
            ("1e1025", "1.0e1025".into()),
            ("-12e1025", "-1.2e1026".into()),
            ("0.1", "0.1".into()),
            ("0.01", "1.0e-2".into()),
            ("1e-400", "1.0e-400".into()),
            ("1234567.5", "1234567.5".into()),
            ("12345678.5", "1.23456785e7".into()),
            ("100000.0", "100000.0".into()),
            ("10000000.0", "1.0e7".into()),
            ("0.0", "0.0".into()),
            ("-0.0", "0.0".into()),
            ("0e5", "0".into()),
            ("0e2000", "0.0".into()),
        ] {
            let expected: String = expected;
            assert_eq!(written(json), expected, "{json}");
        }
    }

    #[test]
    fn a_second_core_changes_nothing_but_one_number() {
        for json in [r#"{"b":[1.50,1e2,"\/"],"a":{}}"#, "1e1024", "1e1026", "0.01", "12345678.5"] {
            let once = written(json);
            assert_eq!(written(&once), once);
        }
        // Its coefficient has grown by a digit, so its exponent is one that is written out.
        assert_eq!(written(&written("1e1025")).len(), 1_026);
    }

    #[test]
    fn an_exponent_beyond_all_bounds_does_no_harm() {
        for json in ["1e99999999999999999999", "1e-99999999999999999999", "1.5e9223372036854775807"]
        {
            assert!(text(Value::parse(json).unwrap()).len() < 64);
        }
    }
}
