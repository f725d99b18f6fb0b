use super::*;
use crate::json::{ErrorKind, MAX_DEPTH};
use std::string::ToString as _;

fn refused(text: &str) -> (ErrorKind, usize) {
    match jcs(text) {
        Err(CanonicalError::Json(error)) => (error.kind, error.offset),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn members_are_in_the_order_of_utf16_units() {
    let text =
        r#"{"\uff01":1,"\ud83d\ude00":2,"\ue000":3,"a":4,"é":5,"":6,"aa":7,"\u0061\u0000":8}"#;
    let expected =
        "{\"\":6,\"a\":4,\"a\\u0000\":8,\"aa\":7,\"é\":5,\"😀\":2,\"\u{e000}\":3,\"！\":1}";
    assert_eq!(jcs(text).unwrap(), expected);
    // Written without escapes the names are compared by their bytes, with the same result.
    assert_eq!(jcs(expected).unwrap(), expected);
}

#[test]
fn plain_and_escaped_names_are_ordered_alike() {
    let mut names = std::vec::Vec::new();
    for first in
        ["", "a", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}", "é", "\u{7f}"]
    {
        for second in ["", "a", "\u{e000}", "\u{10000}", "\u{fffd}"] {
            names.push(std::format!("{first}{second}"));
        }
    }
    names.sort();
    names.dedup();
    let escape = |name: &str| -> std::string::String {
        name.encode_utf16().map(|unit| std::format!("\\u{unit:04x}")).collect()
    };
    for a in &names {
        for b in &names {
            let expected = a.encode_utf16().cmp(b.encode_utf16());
            let (raw_a, raw_b) = (escape(a), escape(b));
            let plain = |raw| text::Name { raw, plain: true };
            let escaped = |raw| text::Name { raw, plain: false };
            use text::Dialect as _;
            assert_eq!(Jcs::order(plain(a), plain(b)), expected, "{a:?} {b:?}");
            assert_eq!(Jcs::order(escaped(&raw_a), plain(b)), expected, "{a:?} {b:?}");
            assert_eq!(Jcs::order(escaped(&raw_a), escaped(&raw_b)), expected, "{a:?} {b:?}");
            assert_eq!(PythonCompact::order(escaped(&raw_a), plain(b)), a.cmp(b), "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_name_that_occurs_twice_is_refused_wherever_it_stands() {
    for (text, offset) in [
        (r#"{"a":1,"a":2}"#, 7),
        (r#"{"a":1,"\u0061":2}"#, 7),
        (r#"{"b":1,"a":2,"b":3}"#, 13),
        (r#"{"b":1,"a":2,"b":3,"a":4,"b":5}"#, 19),
        (r#"[0,{"x":{"b":1,"a":[{"b":1}],"b":3}}]"#, 29),
    ] {
        assert_eq!(refused(text), (ErrorKind::DuplicateMember, offset), "{text}");
        assert!(python(text, Separators::Compact).is_err());
    }
}

#[test]
fn what_is_no_json_is_refused_where_the_scanner_refuses_it() {
    for text in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "nul",
        "1 2",
        "[1}",
        "{]",
        "\"\\ud800\"",
        "01",
        "{\"a\":\"\u{1}\"}",
        "\u{feff}1",
        "NaN",
        "{1:2}",
        "[",
        "{\"a\":",
        "\"",
    ] {
        let expected = crate::json::Value::parse(text).unwrap_err();
        assert_eq!(refused(text), (expected.kind, expected.offset), "{text}");
    }
}

#[test]
fn depth_at_the_limit_and_one_above() {
    let limit = MAX_DEPTH as usize;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |levels: usize| open.repeat(levels) + "1" + &close.repeat(levels);
        assert_eq!(jcs(&nested(limit)).unwrap(), nested(limit));
        assert_eq!(refused(&nested(limit + 1)).0, ErrorKind::TooDeep);
    }
}

#[test]
fn objects_out_of_order_at_every_level() {
    let (mut text, mut expected) = ("1".to_string(), "1".to_string());
    for level in 0..60 {
        text = std::format!("{{ \"z\" : [ {level} ,{text}] ,\"b\":{{}},\"a\":\"\" }}");
        expected = std::format!("{{\"a\":\"\",\"b\":{{}},\"z\":[{level},{expected}]}}");
    }
    assert_eq!(jcs(&text).unwrap(), expected);
}

#[test]
fn integers_are_exact_or_refused() {
    for text in [
        "0",
        "-1",
        "999999999999999",
        "9007199254740991",
        "-9007199254740991",
        "9007199254740992",
        "295147905179352830000",
        "100000000000000000000",
    ] {
        assert_eq!(jcs(text).unwrap(), text);
    }
    for text in
        ["9007199254740993", "-9007199254740993", "295147905179352825856", "1000000000000000000000"]
    {
        assert_eq!(jcs(text), Err(CanonicalError::Inexact { offset: 0 }), "{text}");
    }
    // With a fraction or an exponent it is a double from the start.
    assert_eq!(jcs("9007199254740993.0").unwrap(), "9007199254740992");
    assert_eq!(jcs("[-0,-0.0,1e-400,-1e-400]").unwrap(), "[0,0,0,0]");
    assert_eq!(jcs("[0,-1e400]"), Err(CanonicalError::TooLarge { offset: 3 }));
    assert_eq!(jcs(&"9".repeat(400)), Err(CanonicalError::TooLarge { offset: 0 }));
}

/// What CPython 3.11 writes.
#[test]
fn numbers_as_python_writes_them() {
    let text = "[0,-0,-0.0,1.0,1e2,1.5,0.1,100000000000000000000,1e15,9999999999999998.0,1e16,1.5e16,\
                0.0001,0.00012,0.00001,1.5e-7,5e-324,1.7976931348623157e308,-1234.5e3,1e22,1e23,123456789.123]";
    let expected = "[0,0,-0.0,1.0,100.0,1.5,0.1,100000000000000000000,1000000000000000.0,9999999999999998.0,\
                    1e+16,1.5e+16,0.0001,0.00012,1e-05,1.5e-07,5e-324,1.7976931348623157e+308,-1234500.0,1e+22,\
                    1e+23,123456789.123]";
    assert_eq!(python(text, Separators::Compact).unwrap(), expected);
    let digits = "1".repeat(MAX_PYTHON_DIGITS);
    assert_eq!(python(&digits, Separators::Compact).unwrap(), digits);
    let more = std::format!("-{digits}1");
    assert_eq!(python(&more, Separators::Compact), Err(CanonicalError::TooLarge { offset: 0 }));
}

/// Of two shortest texts that are as near, ECMAScript and CPython take the even one.
#[test]
fn a_double_between_two_texts_is_written_as_the_even_one() {
    assert_eq!(jcs("131132172766642.625").unwrap(), "131132172766642.62");
    assert_eq!(python("131132172766642.625", Separators::Compact).unwrap(), "131132172766642.62");
    assert_eq!(python("-0.0e5", Separators::Compact).unwrap(), "-0.0");
}

#[test]
fn strings_and_names_as_python_writes_them() {
    let text = r#"{"\ud83d\ude00":"a/\u007f\u0080é","！":"\"\\\b\f\n\r\t\u0001~ "," ":[{},[]]}"#;
    let expected = r#"{" ": [{}, []], "\uff01": "\"\\\b\f\n\r\t\u0001~ ", "\ud83d\ude00": "a/\u007f\u0080\u00e9"}"#;
    assert_eq!(python(text, Separators::Spaced).unwrap(), expected);
    assert_eq!(python(expected, Separators::Spaced).unwrap(), expected);
}

#[test]
fn errors_say_where_and_show_no_text() {
    let error = jcs(r#"{"secret":1,"secret":2}"#).unwrap_err();
    assert_eq!(error.offset(), 12);
    let shown = std::format!("{error} {error:?}");
    assert!(!shown.contains("secret"), "{shown}");
}
