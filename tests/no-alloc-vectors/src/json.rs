//! The JSON scanner and the writer.

use agentwire_core::json::{BufferTooSmall, Error, ErrorKind, Kind, MAX_DEPTH, Object, Value};
use agentwire_core::json::{Writer, text};

use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    ("json: kinds of well-formed values", accepted),
    ("json: what is refused, why and where", refused),
    ("json: bytes that are not UTF-8 are refused", bytes),
    ("json: the deepest nesting passes, one more does not", depth),
    ("json: members in order, with the text of their values", members),
    ("json: a name means what its escapes mean", escaped_name),
    ("json: a duplicate is shown, and not chosen from", duplicate),
    ("json: a string decodes into a buffer that is just long enough", decode),
    ("json: the writer escapes as the chat core's encoder does", writer),
    ("json: the writer says how much space was needed", short_buffer),
];

const ACCEPTED: &[(&str, Kind)] = &[
    ("null", Kind::Null),
    (" true\n", Kind::Bool),
    ("-0", Kind::Number),
    ("1e400", Kind::Number),
    ("123456789012345678901234567890.5E-7", Kind::Number),
    ("\"\\ud83d\\ude00 \u{7f}\u{4e16}\"", Kind::String),
    ("[1,[],{},\"\"]", Kind::Array),
    ("\t{\"a\":{\"b\":[null]}}\r\n", Kind::Object),
];

fn accepted() -> bool {
    ACCEPTED.iter().all(|&(text, kind)| {
        Value::parse(text).is_ok_and(|value| value.kind() == kind && value.get() == text.trim())
    })
}

const REFUSED: &[(&str, ErrorKind, usize)] = &[
    ("", ErrorKind::UnexpectedEnd, 0),
    ("{\"a\":1", ErrorKind::UnexpectedEnd, 6),
    ("[1,]", ErrorKind::UnexpectedByte(b']'), 3),
    ("{} x", ErrorKind::TrailingData, 3),
    ("\u{feff}{}", ErrorKind::ByteOrderMark, 0),
    ("\"a\nb\"", ErrorKind::ControlCharacter(b'\n'), 2),
];

fn refused() -> bool {
    let at = |text| Value::parse(text).err().map(|Error { kind, offset, .. }| (kind, offset));
    let kind = |text| Value::parse(text).err().map(|error| error.kind);
    REFUSED.iter().all(|&(text, kind, offset)| at(text) == Some((kind, offset)))
        && kind("nulL") == Some(ErrorKind::InvalidLiteral)
        && kind("01") == Some(ErrorKind::InvalidNumber)
        && kind("\"\\x\"") == Some(ErrorKind::InvalidEscape)
        && kind("\"\\ud83d\"") == Some(ErrorKind::LoneSurrogate)
        && Object::parse("[]").err().map(|error| error.kind) == Some(ErrorKind::NotAnObject)
}

fn bytes() -> bool {
    text(b"\"\xff\"").err().map(|error| error.kind) == Some(ErrorKind::InvalidUtf8)
        && Value::parse_bytes(b"{\"a\":[1,2]}").is_ok_and(|value| value.kind() == Kind::Object)
}

fn depth() -> bool {
    const DEPTH: usize = MAX_DEPTH as usize;
    let mut bytes = [b'['; 2 * DEPTH + 2];
    let (_, closing) = bytes.split_at_mut(DEPTH + 1);
    closing.fill(b']');
    let Ok(text) = core::str::from_utf8(&bytes) else { return false };
    let deepest = text.get(1..text.len() - 1).unwrap_or_default();
    Value::parse(deepest).is_ok()
        && Value::parse(text).err().map(|error| error.kind) == Some(ErrorKind::TooDeep)
}

fn members() -> bool {
    let text = r#" {"jsonrpc":"2.0", "id" : 7 ,"params":{"a":[true, "}"]}} "#;
    let Ok(object) = Object::parse(text) else { return false };
    let expected = [("jsonrpc", "\"2.0\""), ("id", "7"), ("params", r#"{"a":[true, "}"]}"#)];
    object.members().count() == expected.len()
        && object
            .members()
            .zip(expected)
            .all(|((name, value), (key, text))| name.raw() == key && value.get() == text)
}

fn escaped_name() -> bool {
    let Ok(object) = Object::parse(r#"{"\u0069d":1,"x\u0000":2}"#) else { return false };
    object.get("id").is_ok_and(|found| found.is_some_and(|value| value.as_integer() == Some(1)))
        && object.get("x\0").is_ok_and(|found| found.is_some())
        && object.get("x").is_ok_and(|found| found.is_none())
}

fn duplicate() -> bool {
    let Ok(object) = Object::parse(r#"{"id":1,"\u0069d":2}"#) else { return false };
    object.members().count() == 2
        && object.get("id").err().map(|error| error.kind) == Some(ErrorKind::DuplicateMember)
}

fn decode() -> bool {
    let Ok(value) = Value::parse(r#""a\n\u00e9\ud83d\ude00""#) else { return false };
    let Some(string) = value.as_str() else { return false };
    let (mut enough, mut short) = ([0; 8], [0; 7]);
    string.decode(&mut enough) == Ok("a\n\u{e9}\u{1f600}")
        && string.decode(&mut short).err().map(|error| error.needed) == Some(8)
}

fn writer() -> bool {
    let mut buffer = [0; 96];
    let mut writer = Writer::new(&mut buffer);
    writer.string("\"\\/\n\r\t\u{8}\u{c}\0\u{1f}\u{7f}\u{e9}");
    writer.raw(",").int(i64::MIN).raw(",").int(0).raw(",").int(i64::MAX);
    writer.finish()
        == Ok(concat!(
            r#""\"\\/\n\r\t\u0008\u000c\u0000\u001f"#,
            "\u{7f}\u{e9}\"",
            ",-9223372036854775808,0,9223372036854775807"
        ))
}

fn short_buffer() -> bool {
    let mut buffer = [0; 8];
    let mut writer = Writer::new(&mut buffer);
    writer.raw("{\"id\":").int(17).raw("}");
    matches!(writer.finish(), Err(BufferTooSmall { needed: 9, capacity: 8, .. }))
}
