use super::*;
use crate::chat::Inline;
use crate::rpc::sample::{A2A, ANSWER, KEY, MCP, Protocol, a2a, key, mcp, mcp_of, send_message};
use crate::rpc::{ADVISED_LEN, EnvelopeErrorKind};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

type Machine = ServiceResponder<Protocol, Inline<4>>;

const ALL: &[Service<'_, Protocol>] = &[
    Service::new(MCP, &["2026-07-28"]),
    Service::new(A2A, &["1.0"]),
    Service::new(Protocol::Numbered, &["three"]),
    Service::new(Protocol::Named, &["one", "two"]),
];

fn at(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1_000)
}

fn envelope(protocol: &str, more: &str, request: &str) -> String {
    format!(r#"{{"protocol":"{protocol}",{more}"request":{request}}}"#)
}

fn good() -> String {
    envelope("mcp", "", &mcp("1", "tools/list"))
}

/// What a request gets: `request`, `duplicate`, the envelope's code, or the code of the protocol's
/// error; with `retryAfter`, if there is one.
#[derive(PartialEq, Debug)]
struct Got(String, Option<u32>);

impl PartialEq<&str> for Got {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

fn got(text: &str) -> Got {
    match ResponseEnvelope::parse(text).unwrap() {
        ResponseEnvelope::Error(error) => Got(error.code.to_string(), error.retry_after),
        ResponseEnvelope::Response(value) => {
            let error = value.as_object().unwrap().object("error").unwrap().unwrap();
            Got(error.get("code").unwrap().unwrap().get().into(), None)
        }
    }
}

fn ask_as(machine: &mut Machine, now: u64, id: &str, signer: Option<&str>, text: &str) -> Got {
    let mut out = [0; 1_024];
    match machine.handle_request(at(now), id, signer, text, ALL, &mut out).unwrap() {
        ServiceReceived::Request(_) => Got("request".into(), None),
        ServiceReceived::Duplicate => Got("duplicate".into(), None),
        ServiceReceived::Answered { response, failure } => {
            let Got(code, after) = got(response.text);
            assert_eq!(response.error.is_some(), failure.is_none());
            assert_eq!(response.error.is_none(), code.starts_with('-'));
            assert_eq!(response.fit, Fit::Fine);
            Got(code, after)
        }
    }
}

fn ask(machine: &mut Machine, text: &str) -> Got {
    let id = format!("id{}", machine.open());
    ask_as(machine, 0, &id, None, text)
}

fn open(machine: &mut Machine, id: &str, text: &str) -> ServiceToken {
    open_at(machine, 0, id, text)
}

fn open_at(machine: &mut Machine, now: u64, id: &str, text: &str) -> ServiceToken {
    match machine.handle_request(at(now), id, None, text, ALL, &mut []).unwrap() {
        ServiceReceived::Request(request) => request.token,
        other => panic!("{other:?}"),
    }
}

fn with(change: impl FnOnce(&mut ServiceResponderConfig)) -> Machine {
    let mut config = ServiceResponderConfig::default();
    change(&mut config);
    ServiceResponder::with_limit(config, 4)
}

const SECOND: Duration = Duration::from_secs(1);

// The order of checks: each request fails two neighbouring ones, the first of which decides.

fn busy(config: &mut ServiceResponderConfig) {
    config.overall = Some(RateLimit::new(0, SECOND));
}

#[test]
fn the_overall_limit_comes_before_the_envelope() {
    assert_eq!(ask(&mut with(busy), "[]"), "rate_limited");
    assert_eq!(ask(&mut with(|_| {}), "[]"), "bad_request");
}

#[test]
fn the_envelope_comes_before_the_key() {
    // Both are bad_request: the message tells them apart.
    let text = format!(r#"{{"protocol":7,"requestKey":"{KEY}","request":1}}"#);
    let mut out = [0; 256];
    let mut machine = with(|_| {});
    let received = machine.handle_request(at(0), "a", None, &text, ALL, &mut out).unwrap();
    let ServiceReceived::Answered { response, .. } = received else { panic!() };
    assert!(response.text.contains("the envelope is invalid"));
}

#[test]
fn the_key_comes_before_the_signers_limit() {
    let mut machine = with(|config| config.per_signer = Some(RateLimit::new(0, SECOND)));
    let wrong = envelope("mcp", &format!(r#""requestKey":"{}","#, key(1)), "1");
    assert_eq!(ask_as(&mut machine, 0, "a", Some(KEY), &wrong), "bad_request");
    assert_eq!(ask_as(&mut machine, 0, "a", Some(KEY), &good()), "rate_limited");
}

#[test]
fn the_signers_limit_comes_before_the_protocol() {
    let unknown = envelope("nobody", "", "1");
    let mut machine = with(|config| config.per_signer = Some(RateLimit::new(0, SECOND)));
    assert_eq!(ask_as(&mut machine, 0, "a", Some(KEY), &unknown), "rate_limited");
    assert_eq!(ask_as(&mut with(|_| {}), 0, "a", Some(KEY), &unknown), "unsupported_protocol");
}

#[test]
fn the_key_comes_before_the_protocol() {
    let text = envelope("nobody", &format!(r#""requestKey":"{KEY}","#), "1");
    assert_eq!(ask(&mut with(|_| {}), &text), "bad_request");
}

#[test]
fn the_protocol_comes_before_the_version() {
    let text = envelope("nobody", r#""version":9,"#, "1");
    assert_eq!(ask(&mut with(|_| {}), &text), "unsupported_protocol");
}

#[test]
fn the_version_comes_before_the_protocols_own_checks() {
    // The request needs a conversation too.
    let text = envelope("numbered", r#""version":9,"#, r#""long""#);
    assert_eq!(ask(&mut with(|_| {}), &text), "unsupported_version");
    let text = envelope("numbered", r#""version":3,"#, r#""long""#);
    assert_eq!(ask(&mut with(|_| {}), &text), "conversation_required");
}

#[test]
fn the_protocols_own_checks_come_before_one_shot() {
    let text = envelope("mcp", "", &mcp_of("2020-01-01", "1", "subscriptions/listen"));
    assert_eq!(ask(&mut with(|_| {}), &text), "-32022");
    let text = envelope("mcp", "", &mcp("1", "subscriptions/listen"));
    assert_eq!(ask(&mut with(|_| {}), &text), "conversation_required");
    // A method of which the version is not served, and which needs a conversation.
    let text = a2a("GetTask", "{}").replace("1.0\"}", "7.0\"}");
    assert_eq!(ask(&mut with(|_| {}), &envelope("a2a", "", &text)), "-32009");
}

#[test]
fn one_shot_comes_before_room_in_the_table() {
    let mut machine = with(|_| {});
    for place in 0..4 {
        assert_eq!(ask_as(&mut machine, 0, &place.to_string(), None, &good()), "request");
    }
    let text = envelope("mcp", "", &mcp("1", "subscriptions/listen"));
    assert_eq!(ask_as(&mut machine, 0, "x", None, &text), "conversation_required");
    assert_eq!(ask_as(&mut machine, 0, "x", None, &good()), Got("rate_limited".into(), Some(1)));
}

#[test]
fn a_request_that_is_known_is_not_checked_again() {
    let mut machine = with(|config| config.overall = Some(RateLimit::new(1, SECOND)));
    assert_eq!(ask_as(&mut machine, 0, "a", None, &good()), "request");
    assert_eq!(ask_as(&mut machine, 0, "a", None, "[]"), "duplicate");
    assert_eq!(ask_as(&mut machine, 0, "b", None, "[]"), "rate_limited");
}

// Request.

#[test]
fn an_invalid_envelope_gets_bad_request() {
    for (text, kind) in [
        ("[]", "JSON"),
        ("{}", "missing"),
        (r#"{"protocol":"mcp"}"#, "missing"),
        (r#"{"protocol":"mcp","request":1,"request":1}"#, "twice"),
        (r#"{"protocol":"mcp","request":1,"requestKey":null}"#, "type"),
        ("not JSON", "JSON"),
        ("", "JSON"),
    ] {
        assert!(RequestEnvelope::parse(text).is_err(), "{kind}");
        assert_eq!(ask(&mut with(|_| {}), text), "bad_request", "{text}");
    }
}

#[test]
fn three_hundred_unknown_members_change_nothing() {
    let many: String = (0..300).map(|n| format!(r#""x{n}":{n},"#)).collect();
    let text = envelope("mcp", &many, &mcp("1", "tools/list"));
    assert_eq!(ask(&mut with(|_| {}), &text), "request");
}

#[test]
fn a_protocol_with_capitals_is_not_served() {
    for name in ["MCP", "Mcp", "", "mcp ", "a2", "\\u0041"] {
        let text = envelope(name, "", &mcp("1", "tools/list"));
        assert_eq!(ask(&mut with(|_| {}), &text), "unsupported_protocol", "{name}");
    }
    let escaped = envelope("\\u006dcp", "", &mcp("1", "tools/list"));
    assert_eq!(ask(&mut with(|_| {}), &escaped), "request");
}

#[test]
fn the_version_of_a_protocol_whose_messages_include_one_is_ignored() {
    for version in ["null", "7", "\"2020-01-01\"", "{}"] {
        let more = format!(r#""version":{version},"#);
        assert_eq!(ask(&mut with(|_| {}), &envelope("mcp", &more, &mcp("1", "t"))), "request");
        let text = envelope("a2a", &more, &send_message(""));
        assert_eq!(ask(&mut with(|_| {}), &text), "request");
    }
}

#[test]
fn a_revision_that_is_not_served_gets_the_protocols_own_error_inside_response() {
    let mut out = [0; 512];
    for (protocol, request, code) in [
        ("mcp", mcp_of("2020-01-01", "1", "tools/list"), "-32022"),
        ("a2a", send_message("").replace("1.0\"}", "0.9\"}"), "-32009"),
    ] {
        let text = envelope(protocol, "", &request);
        let mut machine = with(|_| {});
        let received = machine.handle_request(at(0), "a", None, &text, ALL, &mut out).unwrap();
        let ServiceReceived::Answered { response, failure } = received else { panic!() };
        assert_eq!(got(response.text), code);
        assert!(matches!(failure, Some(Failure::UnsupportedVersion { .. })));
        assert!(response.text.contains(r#""id":1"#) && response.error.is_none());
    }
}

#[test]
fn the_binding_defines_the_type_of_the_envelopes_version() {
    for (protocol, version, expected) in [
        ("numbered", "3", "request"),
        ("numbered", "3.0", "request"),
        ("numbered", "\"three\"", "unsupported_version"),
        ("numbered", "4", "unsupported_version"),
        ("named", "\"two\"", "request"),
        ("named", "\"\\u0074wo\"", "request"),
        ("named", "\"three\"", "unsupported_version"),
        ("named", "2", "unsupported_version"),
        ("named", "null", "unsupported_version"),
    ] {
        let text = envelope(protocol, &format!(r#""version":{version},"#), "1");
        assert_eq!(ask(&mut with(|_| {}), &text), expected, "{protocol} {version}");
    }
    assert_eq!(ask(&mut with(|_| {}), &envelope("named", "", "1")), "unsupported_version");
}

// Signed requests.

fn keyed(stated: &str, signer: Option<&str>) -> Got {
    let text = envelope("mcp", &format!(r#""requestKey":"{stated}","#), &mcp("1", "tools/list"));
    ask_as(&mut with(|_| {}), 0, "a", signer, &text)
}

#[test]
fn must_answer_bad_request_to_a_request_whose_request_key_differs_from_signer_key() {
    assert_eq!(keyed(&key(1), Some(KEY)), "bad_request");
    assert_eq!(keyed(KEY, Some(&key(1))), "bad_request");
    assert_eq!(keyed(KEY, Some(KEY)), "request");
}

#[test]
fn must_answer_bad_request_to_an_unsigned_request_with_request_key() {
    assert_eq!(keyed(KEY, None), "bad_request");
    assert_eq!(keyed("", None), "bad_request");
}

// Security considerations.

#[test]
fn a_responder_that_relies_on_request_key_must_compare_it_with_signer_key() {
    // Whoever handles a request sees one key, the verified one, and only if nothing else is stated.
    for signer in [None, Some(KEY), Some(&key(1)[..])] {
        for stated in [None, Some(KEY), Some(&key(1)[..]), Some("")] {
            let member = stated.map(|key| format!(r#""requestKey":"{key}","#)).unwrap_or_default();
            let text = envelope("mcp", &member, &mcp("1", "tools/list"));
            let mut machine = with(|_| {});
            let mut out = [0; 256];
            let received = machine.handle_request(at(0), "a", signer, &text, ALL, &mut out);
            let seen = match received.unwrap() {
                ServiceReceived::Request(request) => Some(request.signer),
                _ => None,
            };
            let verified = signer.map(|key| SignerKey::parse(key).unwrap());
            let expected = (stated.is_none() || stated == signer).then_some(verified);
            assert_eq!(seen, expected, "{stated:?} signed with {signer:?}");
        }
    }
}

#[test]
fn one_key_in_two_encodings_is_one_key() {
    let plain = KEY.trim_end_matches('=');
    let escaped = KEY.replace('M', "\\u004d").replace('=', "\\u003d");
    for stated in [KEY, plain, &escaped] {
        for signer in [KEY, plain] {
            assert_eq!(keyed(stated, Some(signer)), "request", "{stated} {signer}");
        }
    }
}

#[test]
fn a_key_that_cannot_be_decoded_is_bad() {
    let standard = KEY.replace('_', "/").replace('-', "+");
    let cut = &KEY[..56];
    let long = "A".repeat(1_000);
    let extra = format!("{}AAAA", KEY.trim_end_matches('='));
    for wrong in [&standard, cut, "", "é", &long, &extra] {
        assert_eq!(keyed(wrong, Some(KEY)), "bad_request", "{wrong}");
        // Not even if the core were to report the same text.
        assert_eq!(keyed(wrong, Some(wrong)), "bad_request", "{wrong}");
        assert_eq!(keyed(KEY, Some(wrong)), "bad_request", "{wrong}");
    }
}

#[test]
fn a_request_without_request_key_may_be_signed_or_not() {
    let text = good();
    for (signer, is_known) in [(None, false), (Some(KEY), true), (Some("not a key"), false)] {
        let mut machine = with(|_| {});
        let received = machine.handle_request(at(0), "a", signer, &text, ALL, &mut []).unwrap();
        let ServiceReceived::Request(request) = received else { panic!() };
        assert_eq!(request.signer.is_some(), is_known);
    }
}

// Rate limits.

#[test]
fn the_overall_limit_at_below_and_above_and_at_the_end_of_its_span() {
    let mut machine = with(|config| config.overall = Some(RateLimit::new(2, 10 * SECOND)));
    let mut ask = |now| ask_as(&mut machine, now, "x", None, "[]");
    assert_eq!(ask(100), "bad_request");
    assert_eq!(ask(100), "bad_request");
    assert_eq!(ask(100), Got("rate_limited".into(), Some(10)));
    assert_eq!(ask(109), Got("rate_limited".into(), Some(1)));
    // The span is over when `retryAfter` says so, and the next one begins.
    assert_eq!(ask(110), "bad_request");
    assert_eq!(ask(119), "bad_request");
    assert_eq!(ask(119), Got("rate_limited".into(), Some(1)));
    // Time never runs backwards.
    assert_eq!(ask(90), Got("rate_limited".into(), Some(1)));
    assert_eq!(ask(120), "bad_request");
}

#[test]
fn retry_after_is_rounded_up_to_whole_seconds() {
    let limit = RateLimit::new(0, Duration::from_millis(2_001));
    let mut machine = with(|config| config.overall = Some(limit));
    assert_eq!(ask(&mut machine, "[]"), Got("rate_limited".into(), Some(3)));
    let mut machine = with(|config| config.overall = Some(RateLimit::new(0, Duration::ZERO)));
    assert_eq!(ask(&mut machine, "[]"), Got("rate_limited".into(), Some(1)));
    let mut machine = with(|config| config.overall = Some(RateLimit::new(0, Duration::MAX)));
    assert_eq!(ask(&mut machine, "[]"), Got("rate_limited".into(), Some(u32::MAX)));
}

#[test]
fn the_limit_of_a_signer_is_its_own() {
    let mut machine = with(|config| config.per_signer = Some(RateLimit::new(2, 10 * SECOND)));
    let unserved = envelope("nobody", "", "1");
    let plain = KEY.trim_end_matches('=');
    let mut ask = |now, key: Option<&str>| ask_as(&mut machine, now, "x", key, &unserved);
    assert_eq!(ask(0, Some(KEY)), "unsupported_protocol");
    // Another writing of the key is no other signer.
    assert_eq!(ask(5, Some(plain)), "unsupported_protocol");
    assert_eq!(ask(5, Some(KEY)), Got("rate_limited".into(), Some(5)));
    assert_eq!(ask(5, Some(&key(1))), "unsupported_protocol");
    for _ in 0..5 {
        assert_eq!(ask(5, None), "unsupported_protocol");
    }
    assert_eq!(ask(9, Some(KEY)), Got("rate_limited".into(), Some(1)));
    assert_eq!(ask(10, Some(KEY)), "unsupported_protocol");
    // The other one's span began later.
    assert_eq!(ask(14, Some(&key(1))), "unsupported_protocol");
    assert_eq!(ask(14, Some(&key(1))), Got("rate_limited".into(), Some(1)));
    assert_eq!(ask(15, Some(&key(1))), "unsupported_protocol");
}

#[test]
fn a_full_table_of_signers_takes_no_new_one_until_a_span_ends() {
    let mut machine = with(|config| config.per_signer = Some(RateLimit::new(9, 10 * SECOND)));
    let text = envelope("nobody", "", "1");
    let mut ask = |now, n: u8| ask_as(&mut machine, now, "x", Some(&key(n)), &text);
    for n in 0..4 {
        assert_eq!(ask(n.into(), n), "unsupported_protocol");
    }
    assert_eq!(ask(4, 9), Got("rate_limited".into(), Some(6)));
    assert_eq!(ask(4, 2), "unsupported_protocol");
    assert_eq!(ask(10, 9), "unsupported_protocol");
    assert_eq!(ask(10, 0), Got("rate_limited".into(), Some(1)));
}

#[test]
fn a_request_with_a_request_key_that_is_not_the_signers_does_not_count_for_it() {
    let mut machine = with(|config| config.per_signer = Some(RateLimit::new(1, 10 * SECOND)));
    let forged = envelope("mcp", &format!(r#""requestKey":"{}","#, key(1)), "1");
    assert_eq!(ask_as(&mut machine, 0, "a", Some(KEY), &forged), "bad_request");
    assert_eq!(ask_as(&mut machine, 0, "a", Some(KEY), &good()), "request");
}

#[test]
fn a_short_buffer_changes_nothing_and_the_same_call_succeeds_with_a_larger_one() {
    let mut machine = with(|config| {
        config.overall = Some(RateLimit::new(1, SECOND));
        config.per_signer = Some(RateLimit::new(1, SECOND));
    });
    let mut out = [0; 512];
    let bad_version = envelope("mcp", "", &mcp_of("2020-01-01", "1", "tools/list"));
    for text in ["[]", &envelope("nobody", "", "1"), &bad_version] {
        let needed = {
            let mut call =
                |out| machine.handle_request(at(0), "a", Some(KEY), text, ALL, out).map(drop);
            let needed = call(&mut []).unwrap_err().needed;
            assert_eq!(call(&mut vec![0; needed - 1]).unwrap_err().needed, needed);
            needed
        };
        let received =
            machine.handle_request(at(0), "a", Some(KEY), text, ALL, &mut out[..needed]).unwrap();
        let ServiceReceived::Answered { response, .. } = received else { panic!() };
        assert_ne!(got(response.text), "rate_limited", "{text}");
        assert_eq!(response.text.len(), needed);
        assert_eq!(ask_as(&mut machine, 0, "a", Some(KEY), text), "rate_limited");
        machine = with(|config| {
            config.overall = Some(RateLimit::new(1, SECOND));
            config.per_signer = Some(RateLimit::new(1, SECOND));
        });
    }
}

// The table.

#[test]
fn a_full_table_gets_rate_limited_with_retry_after() {
    let mut machine = with(|config| config.retry_when_full = 7);
    let tokens: Vec<_> = (0..4).map(|n| open(&mut machine, &n.to_string(), &good())).collect();
    assert_eq!(machine.open(), machine.capacity());
    let full = Got("rate_limited".into(), Some(7));
    assert_eq!(ask_as(&mut machine, 0, "x", None, &good()), full);
    let mut out = [0; 128];
    for token in tokens {
        assert!(machine.respond(at(0), token, ANSWER, &mut out).is_ok());
    }
    // The one that was refused may come again.
    assert_eq!(ask_as(&mut machine, 0, "x", None, &good()), "request");
}

#[test]
fn a_request_that_was_answered_is_still_a_duplicate() {
    let mut machine = with(|_| {});
    let token = open(&mut machine, "a", &good());
    assert_eq!(ask_as(&mut machine, 0, "a", None, &good()), "duplicate");
    let _ = machine.respond(at(0), token, ANSWER, &mut [0; 128]).unwrap();
    assert_eq!(ask_as(&mut machine, 0, "a", None, &good()), "duplicate");
    assert_eq!(machine.open(), 0);
}

#[test]
fn long_request_ids() {
    let mut machine = with(|_| {});
    let longest = "i".repeat(MAX_REQUEST_ID_LEN);
    let token = open(&mut machine, &longest, &good());
    let (id, _) = machine.respond(at(0), token, ANSWER, &mut [0; 128]).unwrap();
    assert_eq!(id.as_str(), longest);
    let longer = "i".repeat(MAX_REQUEST_ID_LEN + 1);
    assert_eq!(ask_as(&mut machine, 0, &longer, None, &good()), "internal");
    assert_eq!((RequestId::new(&longer), machine.open()), (None, 0));
}

// Time.

#[test]
fn no_answer_within_170_seconds_gets_an_error() {
    for (text, code) in [
        (good(), ErrorCode::Internal),
        (envelope("a2a", "", &send_message("")), ErrorCode::ConversationRequired),
    ] {
        let mut machine = with(|_| {});
        let _token = open_at(&mut machine, 1, "a", &text);
        assert_eq!(machine.poll_timeout(), Some(at(171)));
        let mut out = [0; 256];
        let before = Instant::from_millis(170_999);
        assert_eq!(machine.handle_timeout(before, &mut out), Ok(None));
        let needed = machine.handle_timeout(at(171), &mut []).unwrap_err().needed;
        assert_eq!(machine.open(), 1);
        let expired = machine.handle_timeout(at(171), &mut out[..needed]).unwrap().unwrap();
        assert_eq!(expired.request_id.as_str(), "a");
        assert_eq!(expired.response.error, Some(code));
        assert_eq!(got(expired.response.text), code.name().unwrap());
        assert_eq!(machine.handle_timeout(at(171), &mut out), Ok(None));
        assert_eq!((machine.open(), machine.poll_timeout()), (0, None));
    }
}

#[test]
fn a_limit_is_no_longer_than_the_cores_180_seconds() {
    for (limit, end) in [(5, 5), (179, 179), (180, 180), (181, 180), (10_000, 180)] {
        let mut machine = with(|config| config.limit = Duration::from_secs(limit));
        let _token = open(&mut machine, "a", &good());
        assert_eq!(machine.poll_timeout(), Some(at(end)));
    }
}

#[test]
fn a_late_answer_is_an_error_to_the_handler() {
    let mut out = [0; 256];
    let mut machine = with(|_| {});
    let token = open(&mut machine, "a", &good());
    // The limit has passed, though nobody has said so to the machine.
    let error = machine.respond(at(170), token, ANSWER, &mut out).unwrap_err();
    assert_eq!(error.cause, ServiceAnswerError::Gone);
    let code = ErrorCode::Internal;
    let error = machine.fail(at(170), error.token, code, None, None, &mut out).unwrap_err();
    assert_eq!(error.cause, ServiceAnswerError::Gone);
    // What is sent is the error.
    assert!(machine.handle_timeout(at(170), &mut out).unwrap().is_some());
    let error = machine.respond(at(170), error.token, ANSWER, &mut out).unwrap_err();
    assert_eq!(error.cause, ServiceAnswerError::Gone);
    // One millisecond earlier it is in time.
    let mut machine = with(|_| {});
    let token = open(&mut machine, "a", &good());
    assert!(machine.respond(Instant::from_millis(169_999), token, ANSWER, &mut out).is_ok());
}

#[test]
fn a_double_answer_is_an_error_to_the_handler() {
    // A token is moved into its answer; one that belongs to another request is no way around.
    let mut out = [0; 256];
    let mut machine = with(|_| {});
    let token = open(&mut machine, "a", &good());
    let ServiceToken(ticket) = token;
    let _ = machine.respond(at(0), token, ANSWER, &mut out).unwrap();
    let again = machine.respond(at(0), ServiceToken(ticket), ANSWER, &mut out).unwrap_err();
    assert_eq!(again.cause, ServiceAnswerError::Gone);
    // Not even when its place is used again.
    for n in 0..4 {
        let _token = open(&mut machine, &n.to_string(), &good());
    }
    let again = machine.respond(at(0), again.token, ANSWER, &mut out).unwrap_err();
    assert_eq!((again.cause, machine.open()), (ServiceAnswerError::Gone, 4));
    let code = ErrorCode::Internal;
    let again = machine.fail(at(0), again.token, code, None, None, &mut out).unwrap_err();
    assert_eq!(again.cause, ServiceAnswerError::Gone);
}

#[test]
fn limits_pass_in_the_order_of_receipt() {
    let mut machine = with(|_| {});
    let mut out = [0; 256];
    for n in 0..4 {
        let _token = open_at(&mut machine, n, &n.to_string(), &good());
    }
    for n in 0..4 {
        let expired = machine.handle_timeout(at(500), &mut out).unwrap().unwrap();
        assert_eq!(expired.request_id.as_str(), n.to_string());
    }
    assert_eq!(machine.handle_timeout(at(500), &mut out), Ok(None));
}

// What a handler gives.

#[test]
fn a_notification_or_a_part_of_a_stream_is_not_sent() {
    let mut machine = with(|_| {});
    let mut out = [0; 256];
    let token = open(&mut machine, "a", &good());
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
    let error = machine.respond(at(0), token, progress, &mut out).unwrap_err();
    assert_eq!(error.cause, ServiceAnswerError::NotLast);
    assert!(machine.respond(at(0), error.token, ANSWER, &mut out).is_ok());
}

#[test]
fn what_does_not_answer_the_request_is_not_sent() {
    let mut machine = with(|_| {});
    let mut out = [0; 256];
    let mut token = open(&mut machine, "a", &good());
    for text in ["sorry", "", "[]", r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, &mcp("1", "x")] {
        let error = machine.respond(at(0), token, text, &mut out).unwrap_err();
        assert!(matches!(error.cause, ServiceAnswerError::NotAnAnswer(_)), "{text}");
        token = error.token;
    }
    // A binding of one's own may take what is no JSON: it would not be an envelope.
    let mut machine = with(|_| {});
    let token = open(&mut machine, "b", &envelope("numbered", r#""version":3,"#, "1"));
    let error = machine.respond(at(0), token, r#"1,"error":{}"#, &mut out).unwrap_err();
    assert!(matches!(error.cause, ServiceAnswerError::NotAnAnswer(Foreign::Json(_))));
    let error = machine.respond(at(0), error.token, r#""stranger""#, &mut out).unwrap_err();
    assert_eq!(error.cause, ServiceAnswerError::NotAnAnswer(Foreign::NotAReply));
    let (_, response) = machine.respond(at(0), error.token, "null", &mut out).unwrap();
    assert_eq!(response.text, r#"{"response":null}"#);
}

#[test]
fn results_and_errors_of_the_protocol_are_the_response() {
    let mut out = [0; 256];
    for answer in [
        ANSWER,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}"#,
    ] {
        let mut machine = with(|_| {});
        let token = open(&mut machine, "a", &good());
        let padded = format!(" \n{answer}\t");
        let (id, response) = machine.respond(at(0), token, &padded, &mut out).unwrap();
        assert_eq!(response.text, format!(r#"{{"response":{answer}}}"#));
        assert_eq!((id.as_str(), response.error, response.fit), ("a", None, Fit::Fine));
    }
}

#[test]
fn a_tool_that_needs_a_conversation_gets_conversation_required() {
    let mut out = [0; 256];
    let mut machine = with(|_| {});
    let token = open(&mut machine, "a", &good());
    let code = ErrorCode::ConversationRequired;
    let short = machine.fail(at(0), token, code, Some("ask"), Some(3), &mut []).unwrap_err();
    let ServiceAnswerError::Buffer(BufferTooSmall { needed, .. }) = short.cause else { panic!() };
    let (id, response) =
        machine.fail(at(0), short.token, code, Some("ask"), Some(3), &mut out[..needed]).unwrap();
    assert_eq!((id.as_str(), response.error), ("a", Some(code)));
    assert_eq!(
        response.text,
        r#"{"error":{"code":"conversation_required","message":"ask","retryAfter":3}}"#
    );
}

// Size.

/// An answer whose envelope has this many bytes once the core has written it: what is written
/// here is longer by white space, and by an escape.
fn answer_of(len: usize) -> String {
    let text =
        |n| format!(r#"{{ "jsonrpc":"2.0", "id":1, "result":{{"t":"{}\u00e9"}} }}"#, "x".repeat(n));
    let normalised = |text: &str| text.replace(' ', "").replace("\\u00e9", "é").len() + 13;
    let more = len - normalised(&text(0));
    let text = text(more);
    assert_eq!(normalised(&text), len);
    text
}

#[test]
fn too_large_at_exactly_the_limit_one_below_and_one_above_after_normalisation() {
    let limit = Framing::Response.max_len();
    assert_eq!(limit, 11_103);
    let mut out = vec![0; 12_000];
    for (len, error) in [
        (limit - 1, None),
        (limit, None),
        (limit + 1, Some(ErrorCode::TooLarge)),
        (20_000, Some(ErrorCode::TooLarge)),
    ] {
        let mut machine = with(|_| {});
        let token = open(&mut machine, "a", &good());
        let (_, response) = machine.respond(at(0), token, &answer_of(len), &mut out).unwrap();
        assert_eq!(response.error, error, "{len}");
        assert_eq!(machine.open(), 0);
    }
}

#[test]
fn a_response_should_not_exceed_10_000_bytes_and_the_responder_is_told() {
    let mut out = vec![0; 12_000];
    for (len, fit) in
        [(ADVISED_LEN - 1, Fit::Fine), (ADVISED_LEN, Fit::Fine), (ADVISED_LEN + 1, Fit::Perhaps)]
    {
        let mut machine = with(|_| {});
        let token = open(&mut machine, "a", &good());
        let (_, response) = machine.respond(at(0), token, &answer_of(len), &mut out).unwrap();
        assert_eq!((response.error, response.fit), (None, fit), "{len}");
    }
}

#[test]
fn numbers_that_the_core_writes_out_count_as_it_writes_them() {
    let mut out = [0; 1_024];
    let mut machine = with(|_| {});
    let token = open(&mut machine, "a", &good());
    let numbers: Vec<&str> = core::iter::repeat_n("1e1024", 11).collect();
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{}]}}"#, numbers.join(","));
    let (_, response) = machine.respond(at(0), token, &answer, &mut out).unwrap();
    assert_eq!(response.error, Some(ErrorCode::TooLarge));
}

#[test]
fn a_short_buffer_leaves_the_request_open() {
    let mut machine = with(|_| {});
    let mut out = [0; 128];
    let token = open(&mut machine, "a", &good());
    let error = machine.respond(at(0), token, ANSWER, &mut []).unwrap_err();
    let ServiceAnswerError::Buffer(BufferTooSmall { needed, .. }) = error.cause else { panic!() };
    assert_eq!(needed, ANSWER.len() + ENVELOPE);
    let error = machine.respond(at(0), error.token, ANSWER, &mut out[..needed - 1]).unwrap_err();
    assert_eq!(machine.open(), 1);
    assert!(machine.respond(at(0), error.token, ANSWER, &mut out[..needed]).is_ok());
}

#[test]
fn an_error_that_repeats_a_long_id_is_too_large() {
    // The request itself fits; its id beside the error does not.
    let id = format!("\"{}\"", "i".repeat(11_000));
    let text = envelope("mcp", "", &mcp_of("2020-01-01", &id, "t"));
    let mut out = vec![0; 12_000];
    let mut machine = with(|_| {});
    let received = machine.handle_request(at(0), "a", None, &text, ALL, &mut out).unwrap();
    let ServiceReceived::Answered { response, failure } = received else { panic!() };
    assert_eq!(
        (response.error, got(response.text)),
        (Some(ErrorCode::TooLarge), Got("too_large".into(), None))
    );
    assert!(failure.is_some());
}

#[test]
fn a_message_that_would_not_fit_is_left_out() {
    let mut out = vec![0; 30_000];
    for (message, is_sent) in [
        ("x".repeat(MAX_MESSAGE_LEN), true),
        ("x".repeat(MAX_MESSAGE_LEN + 1), false),
        ("\u{1}".repeat(MAX_MESSAGE_LEN / 6 + 1), false),
    ] {
        let mut machine = with(|_| {});
        let token = open(&mut machine, "a", &good());
        let code = ErrorCode::ConversationRequired;
        let (_, response) =
            machine.fail(at(0), token, code, Some(&message), Some(u32::MAX), &mut out).unwrap();
        assert_eq!(response.text.contains("message"), is_sent);
        let value = Value::parse(response.text).unwrap();
        assert_eq!(Fit::of(value, Framing::Response), Fit::Fine);
    }
}

// The A2A binding, "Service RPC".

#[test]
fn a_bot_answers_send_message_with_neither_context_id_nor_task_id() {
    for (more, expected) in [
        ("", "request"),
        (r#","configuration":{}"#, "request"),
        (r#","configuration":{"returnImmediately":false}"#, "request"),
        (r#","configuration":{"returnImmediately":true}"#, "conversation_required"),
        (r#","configuration":{"return_immediately":true}"#, "conversation_required"),
    ] {
        let text = envelope("a2a", "", &send_message(more));
        assert_eq!(ask(&mut with(|_| {}), &text), expected, "{more}");
    }
    for member in ["contextId", "taskId", "context_id", "task_id"] {
        let params = format!(r#"{{"message":{{"{member}":"x"}}}}"#);
        let text = envelope("a2a", "", &a2a("SendMessage", &params));
        assert_eq!(ask(&mut with(|_| {}), &text), "conversation_required", "{member}");
    }
}

#[test]
fn every_other_request_is_answered_with_conversation_required() {
    for method in [
        "SendStreamingMessage",
        "SubscribeToTask",
        "GetTask",
        "ListTasks",
        "CancelTask",
        "GetExtendedAgentCard",
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
        "sendMessage",
        "Unknown",
    ] {
        let text = envelope("a2a", "", &a2a(method, "{}"));
        assert_eq!(ask(&mut with(|_| {}), &text), "conversation_required", "{method}");
    }
}

#[test]
fn debug_shows_no_text() {
    let mut machine = with(|_| {});
    let text = good();
    let received = machine.handle_request(at(0), "a", Some(KEY), &text, ALL, &mut []).unwrap();
    let shown = format!("{received:?} {machine:?}");
    assert!(
        !shown.contains("tools") && !shown.contains(KEY) && !shown.contains("jsonrpc"),
        "{shown}"
    );
    let ServiceReceived::Request(request) = received else { panic!() };
    let mut out = [0; 128];
    let answered = machine.respond(at(0), request.token, ANSWER, &mut out).unwrap();
    assert!(!format!("{answered:?}").contains("result"));
    assert_eq!(EnvelopeErrorKind::Both.to_string(), "both response and error are there");
}
