//! The JSON scanner against `serde_json`.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use arbitrary::Unstructured;

use super::generate::{Generator, Vocabulary};
use super::model::{self, Decimal};
use crate::json::{ErrorKind, Kind, MAX_DEPTH, Object, Str, Value, Writer};

/// The bytes as they are, and JSON made from them.
pub fn json(data: &[u8]) {
    check(data);
    let words =
        Vocabulary { names: &["a", "b", "id", "", "é"], values: &["{}", "[]", "-0", "1e2"] };
    let mut bytes = Unstructured::new(data);
    let mut made = Generator::new(&mut bytes, &words);
    // What was made until the bytes ran out is worth a look too.
    let _ = made.value(4);
    if let Ok(text) = made.finish() {
        check(&text);
    }
}

fn check(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else {
        let error = Value::parse_bytes(bytes).expect_err("not UTF-8");
        assert_eq!(error.kind, ErrorKind::InvalidUtf8);
        assert!(core::str::from_utf8(&bytes[..error.offset]).is_ok());
        return;
    };
    let model = model::value(text);
    match Value::parse(text) {
        Ok(value) => {
            assert_eq!(Some(value.get()), model, "serde_json disagrees");
            assert_eq!(Value::parse_bytes(bytes).expect("the same text").get(), value.get());
            look(value, 0);
            let tree = serde_json::from_str::<serde_json::Value>(text);
            assert!(
                tree.as_ref().map_or_else(|e| e.to_string().contains("out of range"), |_| true),
                "serde_json makes no tree of it"
            );
        }
        Err(error) => {
            let place = text.get(error.offset..).expect("a place in the text");
            match error.kind {
                ErrorKind::TooDeep => {
                    assert!(place.starts_with(['{', '[']));
                    assert_eq!(depth(&text[..error.offset]), MAX_DEPTH);
                }
                ErrorKind::LoneSurrogate => {
                    assert!(place.starts_with("\\ud") || place.starts_with("\\uD"));
                    let rest = &place[6..];
                    let string =
                        alloc::format!("\"{}\"", &place[..6 + rest.find('"').unwrap_or(0)]);
                    assert!(model::string(&string).is_none(), "serde_json reads this string");
                }
                _ => assert_eq!(model, None, "serde_json takes what gives {error}"),
            }
        }
    }
}

/// How many containers are open at the end of a beginning of JSON.
fn depth(text: &str) -> u32 {
    let (mut depth, mut string, mut escape) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escape => escape = false,
            b'\\' if string => escape = true,
            b'"' => string = !string,
            b'{' | b'[' if !string => depth += 1,
            b'}' | b']' if !string => depth -= 1,
            _ => {}
        }
    }
    depth
}

/// A value and all that is in it.
fn look(value: Value<'_>, depth: u32) {
    let text = value.get();
    assert_eq!(value.is_null(), text == "null");
    assert_eq!(value.as_bool(), text.parse().ok());
    match value.kind() {
        Kind::Null | Kind::Bool => {}
        Kind::Number => {
            assert_eq!(value.as_integer(), Decimal::parse(text).integer(), "the number {text}");
        }
        Kind::String => string(value.as_str().expect("a string")),
        Kind::Array => {
            let elements: Vec<Value<'_>> = value.elements().expect("an array").collect();
            let texts: Vec<&str> = elements.iter().map(Value::get).collect();
            assert_eq!(Some(texts), model::elements(text), "the elements differ");
            // Deep down there is nothing else than further up.
            for element in elements.into_iter().filter(|_| depth < 8) {
                look(element, depth + 1);
            }
        }
        Kind::Object => {
            let object = value.as_object().expect("an object");
            members(object, depth);
        }
    }
}

fn members(object: Object<'_>, depth: u32) {
    let expected = model::members(object.get_text()).expect("an object");
    let members: Vec<(Str<'_>, Value<'_>)> = object.members().collect();
    assert_eq!(members.len(), expected.len(), "the number of members differs");
    let mut shown = Vec::new();
    let again = Object::parse_with(object.get_text(), |name, value| shown.push((name, value)));
    assert_eq!(again.expect("the same object").get_text(), object.get_text());
    assert_eq!(shown.len(), members.len());
    for (place, (name, value)) in members.iter().enumerate() {
        let (expected_name, expected_value) = &expected[place];
        assert!(*name == **expected_name, "a name means something else");
        assert_eq!(value.get(), *expected_value, "a value is another span");
        assert_eq!((shown[place].0.get(), shown[place].1.get()), (name.get(), value.get()));
        string(*name);
        match object.get(expected_name) {
            Ok(found) => {
                let found = found.map(|value| value.get());
                assert_eq!(found, model::one(&expected, expected_name), "one was chosen");
            }
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::DuplicateMember);
                let all = model::all(&expected, expected_name);
                assert!(all.len() > 1, "no duplicate");
                assert!(object.get_text()[error.offset..].starts_with(all[1]));
            }
        }
        if depth < 8 {
            look(*value, depth + 1);
        }
    }
    if !expected.iter().any(|(name, _)| name == "absent") {
        assert!(object.get("absent").expect("no duplicate").is_none());
    }
}

fn string(string: Str<'_>) {
    let meaning = model::string(string.get()).expect("a string");
    assert_eq!(string.chars().collect::<String>(), meaning, "the meanings differ");
    assert!(string == *meaning && string != *alloc::format!("{meaning}x"));
    assert!(string.as_plain().is_none_or(|plain| plain == meaning));
    assert_eq!(string.as_plain().is_none(), string.get().contains('\\'));
    let mut exact = alloc::vec![0; meaning.len()];
    assert_eq!(string.decode(&mut exact).expect("long enough"), meaning);
    if let Some(short) = meaning.len().checked_sub(1) {
        let error = string.decode(&mut exact[..short]).expect_err("one byte short");
        assert_eq!(error.needed, meaning.len());
    }
    // What the writer makes of the meaning has the same meaning.
    let needed = {
        let mut writer = Writer::new(&mut []);
        writer.string(&meaning).needed()
    };
    let mut out = alloc::vec![0; needed];
    let mut writer = Writer::new(&mut out);
    writer.string(&meaning);
    let written = writer.finish().expect("as long as it said");
    assert_eq!(model::string(written), Some(meaning));
}
