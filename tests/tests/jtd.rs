//! The envelopes of Service RPC against their JSON Type Definition schemas, as a validator of such
//! schemas (RFC 8927) reads them.
//!
//! The document adds one rule that a schema cannot say, "A response has exactly one of `response`
//! and `error`", and the parser one that a validator cannot see, that no member occurs twice. So the
//! first is added to what the validator says, and no input has a name twice.

use core::cell::Cell;
use std::collections::BTreeMap;

use agentwire_core::rpc::{EnvelopeErrorKind, ErrorCode, RequestEnvelope, ResponseEnvelope};
use jtd::{Schema, SerdeSchema};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

const CASES: u32 = 12_000;

fn schema(text: &str) -> Schema {
    let schema: SerdeSchema = serde_json::from_str(text).expect("a schema");
    let schema = Schema::from_serde_schema(schema).expect("a schema");
    schema.validate().expect("a schema without contradictions");
    schema
}

fn request_schema() -> Schema {
    schema(include_str!("../vectors/rpc-request.jtd.json"))
}

fn response_schema() -> Schema {
    schema(include_str!("../vectors/rpc-response.jtd.json"))
}

fn allows(schema: &Schema, value: &Value) -> bool {
    jtd::validate(schema, value, jtd::ValidateOptions::default()).expect("no recursion").is_empty()
}

/// Numbers at the ends of JTD's uint32 and far from it, in every way of writing them.
const NUMBERS: [&str; 22] = [
    "0",
    "-0",
    "0.0",
    "-0.0e5",
    "7",
    "7.0",
    "70e-1",
    "0.7e1",
    "0.7",
    "7e-1",
    "-7",
    "-7.0",
    "4294967295",
    "4294967295.0",
    "4294967295.5",
    "42949672950e-1",
    "4294967296",
    "4.294967295e9",
    "4.294967296E+9",
    "1e300",
    "18446744073709551616",
    "1e-300",
];

/// A string as JSON text: plain, or with its characters escaped.
fn quoted(text: &str, is_escaped: bool) -> String {
    if !is_escaped {
        return serde_json::to_string(text).expect("a string");
    }
    let escape = |unit: u16| format!("\\u{unit:04x}");
    format!("\"{}\"", text.encode_utf16().map(escape).collect::<String>())
}

fn string() -> BoxedStrategy<String> {
    let known = ErrorCodes::names().chain(["", "mcp", "MCP", "é😀", "brand_new"]);
    let text = prop_oneof![
        select(known.collect::<Vec<_>>()).prop_map(String::from),
        prop::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter),
    ];
    (text, any::<bool>()).prop_map(|(text, is_escaped)| quoted(&text, is_escaped)).boxed()
}

/// The codes that the document defines.
struct ErrorCodes;

impl ErrorCodes {
    fn names() -> impl Iterator<Item = &'static str> {
        [
            ErrorCode::UnsupportedProtocol,
            ErrorCode::UnsupportedVersion,
            ErrorCode::BadRequest,
            ErrorCode::ConversationRequired,
            ErrorCode::TooLarge,
            ErrorCode::RateLimited,
            ErrorCode::Internal,
        ]
        .into_iter()
        .filter_map(ErrorCode::name)
    }
}

/// Any value as JSON text.
fn anything() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        select(vec!["null", "true", "false", "[]", "{}"]).prop_map(String::from),
        select(&NUMBERS[..]).prop_map(String::from),
        string(),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|values| format!("[{}]", values.join(" ,"))),
            object(NAMES.to_vec(), inner),
        ]
    })
    .boxed()
}

const NAMES: [&str; 10] = [
    "protocol",
    "version",
    "requestKey",
    "request",
    "response",
    "error",
    "code",
    "message",
    "retryAfter",
    "other",
];

/// An object with up to three of these names, each at most once, in any order.
fn object(names: Vec<&'static str>, value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let most = 3;
    (
        prop::sample::subsequence(names, 0..=most).prop_shuffle(),
        prop::collection::vec((value, any::<bool>()), most),
    )
        .prop_map(|(names, values)| members(names.into_iter().zip(values)))
        .boxed()
}

fn members(members: impl Iterator<Item = (&'static str, (String, bool))>) -> String {
    let members: Vec<String> = members
        .map(|(name, (value, is_escaped))| format!("{} : {value}", quoted(name, is_escaped)))
        .collect();
    format!(" {{{}}}", members.join(",\n"))
}

/// Mostly what the schema wants of each of these members, most of which are there.
fn near(wanted: Vec<(&'static str, u32, BoxedStrategy<String>)>) -> BoxedStrategy<String> {
    let members = wanted.into_iter().map(|(name, presence, value)| {
        let value = prop_oneof![7 => value, 1 => anything()];
        (
            prop::option::weighted(f64::from(presence) / 8.0, (value, prop::bool::weighted(0.2))),
            Just(name),
        )
    });
    members
        .collect::<Vec<_>>()
        .prop_shuffle()
        .prop_map(|members| {
            self::members(members.into_iter().filter_map(|(value, name)| Some((name, value?))))
        })
        .boxed()
}

fn requests() -> BoxedStrategy<String> {
    let near = near(vec![
        ("protocol", 7, string().boxed()),
        ("request", 7, anything().boxed()),
        ("version", 3, anything().boxed()),
        ("requestKey", 4, string().boxed()),
        ("other", 3, anything().boxed()),
    ]);
    prop_oneof![6 => near, 1 => object(NAMES.to_vec(), anything()), 1 => anything()].boxed()
}

fn responses() -> BoxedStrategy<String> {
    let number = prop_oneof![
        any::<u32>().prop_map(|number| number.to_string()),
        select(&NUMBERS[..]).prop_map(String::from)
    ];
    let error = near(vec![
        ("code", 7, string().boxed()),
        ("message", 4, string().boxed()),
        ("retryAfter", 5, number.boxed()),
        ("other", 2, anything().boxed()),
    ]);
    let near = near(vec![
        ("response", 3, anything().boxed()),
        ("error", 5, error.boxed()),
        ("other", 2, anything().boxed()),
    ]);
    prop_oneof![6 => near, 1 => object(NAMES.to_vec(), anything()), 1 => anything()].boxed()
}

/// Runs the same cases in every run. Neither answer of the check is rare.
fn check(strategy: impl Strategy<Value = String>, check: impl Fn(&str) -> bool) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let good = Cell::new(0);
    let outcome = runner.run(&strategy, |text| {
        good.set(good.get() + u32::from(check(&text)));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let good = good.get();
    assert!(good > CASES / 5 && good < CASES * 4 / 5, "{good} of {CASES} are good");
}

#[test]
fn a_request_is_what_the_schema_allows() {
    let schema = request_schema();
    check(requests(), |text| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let is_allowed = allows(&schema, &value);
        match RequestEnvelope::parse(text) {
            Ok(envelope) => {
                assert!(is_allowed, "{text}");
                assert!(envelope.protocol == *value["protocol"].as_str().unwrap(), "{text}");
                let key = envelope.request_key.map(|key| key.chars().collect::<String>());
                assert_eq!(key.as_deref(), value.get("requestKey").and_then(Value::as_str));
                let read = |value: agentwire_core::json::Value<'_>| {
                    serde_json::from_str::<Value>(value.get()).unwrap()
                };
                assert_eq!(Some(&read(envelope.request)), value.get("request"));
                assert_eq!(envelope.version.map(read).as_ref(), value.get("version"));
            }
            Err(error) => {
                assert!(!is_allowed, "{text}: {error}");
                let is_of_schema = matches!(
                    error.kind,
                    EnvelopeErrorKind::Missing(_) | EnvelopeErrorKind::WrongType(_)
                );
                assert_eq!(is_of_schema, value.is_object(), "{text}: {error}");
            }
        }
        is_allowed
    });
}

#[test]
fn a_response_is_what_the_schema_allows_with_exactly_one_of_response_and_error() {
    let schema = response_schema();
    let kinds = Cell::new(BTreeMap::new());
    check(responses(), |text| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let has = |name| value.get(name).is_some();
        let is_one = has("response") != has("error");
        let is_allowed = allows(&schema, &value) && is_one;
        let kind = match ResponseEnvelope::parse(text) {
            Ok(ResponseEnvelope::Response(response)) => {
                assert!(is_allowed, "{text}");
                let read: Value = serde_json::from_str(response.get()).unwrap();
                assert_eq!(Some(&read), value.get("response"));
                "response"
            }
            Ok(ResponseEnvelope::Error(error)) => {
                assert!(is_allowed, "{text}");
                let object = &value["error"];
                let code = object["code"].as_str().unwrap();
                assert!(error.code_text == *code && error.code == ErrorCode::named(code));
                let message = error.message.map(|message| message.chars().collect::<String>());
                assert_eq!(message.as_deref(), object.get("message").and_then(Value::as_str));
                let seconds = object.get("retryAfter").and_then(Value::as_f64);
                assert_eq!(error.retry_after.map(f64::from), seconds.map(|seconds| seconds + 0.0));
                "error"
            }
            Err(error) => {
                assert!(!is_allowed, "{text}: {error}");
                match error.kind {
                    EnvelopeErrorKind::Both => {
                        assert!(has("response") && has("error"));
                        "both"
                    }
                    EnvelopeErrorKind::Neither => {
                        assert!(!has("response") && !has("error"));
                        "neither"
                    }
                    EnvelopeErrorKind::Json(_) => {
                        assert!(!value.is_object());
                        "no object"
                    }
                    _ => "schema",
                }
            }
        };
        let mut counts = kinds.take();
        *counts.entry(kind).or_insert(0) += 1;
        kinds.set(counts);
        is_allowed
    });
    let kinds = kinds.take();
    assert!(kinds.len() == 6 && kinds.values().all(|count| *count > CASES / 100), "{kinds:?}");
}
