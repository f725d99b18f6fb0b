use super::*;
use crate::binding::End;
use crate::chat::Inline;
use crate::rpc::ADVISED_LEN;
use crate::rpc::sample::{A2A, ANSWER, KEY, MCP, Protocol, a2a, mcp, mcp_of, send_message};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;

type Machine = ServiceRequester<Protocol, Inline<4>>;

fn at(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1_000)
}

fn call(machine: &mut Machine, now: u64) -> ServiceCallId {
    let request = mcp("1", "tools/list");
    let (id, transmit) = machine
        .request(at(now), &ServiceCall::new(MCP, &request), &mut [0; 512])
        .map(|(id, t)| (id, t.fit))
        .unwrap();
    assert_eq!(transmit, Fit::Fine);
    id
}

/// What a response comes to: the kind of result, and what is known and sensible after it.
fn outcome(text: &str) -> (&'static str, Executed, Retry) {
    let mut machine = Machine::default();
    let id = call(&mut machine, 0);
    let outcome = machine.handle_response(at(1), id, text).unwrap();
    assert_eq!((outcome.call, machine.open()), (id, 0));
    // Nothing is open any more: a second response is nobody's.
    assert!(machine.handle_response(at(1), id, text).is_none());
    (kind(&outcome.result), outcome.executed, outcome.retry)
}

fn kind(result: &ServiceResult<'_>) -> &'static str {
    match result {
        ServiceResult::Answer { .. } => "answer",
        ServiceResult::Error { .. } => "error",
        ServiceResult::Foreign(_) => "foreign",
        ServiceResult::Envelope(_) => "envelope",
        ServiceResult::Core(_) => "core",
        ServiceResult::Silence => "silence",
    }
}

fn error(code: &str, retry_after: Option<u32>) -> String {
    let after = retry_after.map_or_else(String::new, |after| format!(r#","retryAfter":{after}"#));
    format!(r#"{{"error":{{"code":"{code}"{after}}}}}"#)
}

fn after(seconds: u64) -> Retry {
    Retry::After(Duration::from_secs(seconds))
}

// Request.

#[test]
fn the_envelope_holds_the_protocols_request_as_it_is() {
    let mut machine = Machine::default();
    let request = mcp("1", "tools/list").replace(",\"id\"", " ,\n\"id\"");
    let mut out = [0; 512];
    let signed = ServiceCall::new(MCP, &request).signed(KEY);
    let (_, transmit) = machine.request(at(0), &signed, &mut out).unwrap();
    let expected = format!(r#"{{"protocol":"mcp","requestKey":"{KEY}","request":{request}}}"#);
    assert_eq!(transmit.text, expected);
    assert_eq!(transmit.timeout, DEFAULT_TIMEOUT);
}

#[test]
fn a_request_with_request_key_must_be_signed_with_that_key() {
    let mut machine = Machine::default();
    let request = mcp("1", "tools/list");
    let mut unsigned = ServiceCall::new(MCP, &request).signed(KEY);
    unsigned.is_signed = false;
    let error = machine.request(at(0), &unsigned, &mut [0; 512]).unwrap_err();
    assert_eq!(error, ServiceCallError::KeyWithoutSignature);
    let wrong = ServiceCall::new(MCP, &request).signed("MCow");
    let error = machine.request(at(0), &wrong, &mut [0; 512]).unwrap_err();
    assert!(matches!(error, ServiceCallError::Key(_)));
    // A signature without a key in the envelope is fine.
    let mut signed = ServiceCall::new(MCP, &request);
    signed.is_signed = true;
    let mut out = [0; 512];
    let (_, transmit) = machine.request(at(0), &signed, &mut out).unwrap();
    assert!(!transmit.text.contains("requestKey"));
    assert_eq!(machine.open(), 1);
}

#[test]
fn the_envelopes_version_is_omitted_where_messages_include_one() {
    let mut machine = Machine::default();
    let mut out = [0; 512];
    for (binding, request) in [(MCP, mcp("1", "x")), (A2A, send_message(""))] {
        let call = ServiceCall::new(binding, &request).version("\"1.0\"");
        let error = machine.request(at(0), &call, &mut out).unwrap_err();
        assert_eq!(error, ServiceCallError::VersionNotUsed);
    }
    let call = ServiceCall::new(Protocol::Numbered, "[1]").version(" 3 ");
    let (_, transmit) = machine.request(at(0), &call, &mut out).unwrap();
    assert_eq!(transmit.text, r#"{"protocol":"numbered","version": 3 ,"request":[1]}"#);
    for wrong in ["", "3,4", "three", r#"3,"requestKey":"x""#] {
        let call = ServiceCall::new(Protocol::Numbered, "[1]").version(wrong);
        let error = machine.request(at(0), &call, &mut out).unwrap_err();
        assert!(matches!(error, ServiceCallError::Version(_)), "{wrong}");
    }
}

#[test]
fn a_request_is_json_and_nothing_of_it_ends_up_beside_it() {
    let mut machine = Machine::default();
    let mut out = vec![0; 1_024];
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    for (request, is_fine) in [
        ("1", true),
        ("", false),
        (r#"1,"requestKey":"x""#, false),
        (&deep(126), true),
        // It is JSON as far as anybody reads it, but the envelope around it is one level deeper.
        (&deep(127), false),
    ] {
        let call = ServiceCall::new(Protocol::Numbered, request).version("3");
        let made = machine.request(at(0), &call, &mut out).map(drop);
        assert_eq!(made.is_ok(), is_fine, "{request}");
        assert!(made.is_ok() || matches!(made, Err(ServiceCallError::Json(_))));
    }
    assert_eq!(machine.open(), 2);
}

#[test]
fn a_request_that_the_protocol_refuses_is_not_made() {
    let mut machine = Machine::default();
    let mut out = [0; 512];
    for request in ["{}", "[]", "", &mcp_of("2020-01-01", "1", "x"), &mcp("null", "x")] {
        let error = machine.request(at(0), &ServiceCall::new(MCP, request), &mut out).unwrap_err();
        assert!(matches!(error, ServiceCallError::Refused(_)), "{request}");
    }
    assert_eq!((machine.open(), machine.poll_timeout()), (0, None));
}

#[test]
fn a_request_that_needs_a_conversation_is_not_made() {
    let mut machine = Machine::default();
    let mut out = [0; 512];
    for (binding, request) in [
        (MCP, mcp("1", "subscriptions/listen")),
        (A2A, a2a("GetTask", "{}")),
        (A2A, a2a("SendStreamingMessage", "{}")),
        (A2A, a2a("CreateTaskPushNotificationConfig", "{}")),
        (A2A, send_message(r#","configuration":{"returnImmediately":true}"#)),
        (A2A, a2a("SendMessage", r#"{"message":{"taskId":"t"}}"#)),
    ] {
        let call = ServiceCall::new(binding, &request);
        let error = machine.request(at(0), &call, &mut out).unwrap_err();
        assert_eq!(error, ServiceCallError::NeedsConversation, "{request}");
    }
    let request = send_message("");
    assert!(machine.request(at(0), &ServiceCall::new(A2A, &request), &mut out).is_ok());
}

#[test]
fn a_request_should_not_exceed_10_000_bytes_and_the_requester_is_told() {
    let envelope = |len: usize| format!("\"{}\"", "x".repeat(len - 48));
    let frame = r#"{"protocol":"numbered","version":3,"request":}"#.len();
    assert_eq!(frame, 46);
    let mut out = vec![0; 12_000];
    for (signed, limit) in [(false, 11_103), (true, 11_103 - 111)] {
        for (len, fit) in [
            (ADVISED_LEN, Some(Fit::Fine)),
            (ADVISED_LEN + 1, Some(Fit::Perhaps)),
            (limit, Some(Fit::Perhaps)),
            (limit + 1, None),
        ] {
            let request = envelope(len);
            let mut call = ServiceCall::new(Protocol::Numbered, &request).version("3");
            call.is_signed = signed;
            let mut machine = Machine::default();
            let written = request.len() + frame;
            let made = machine.request(at(0), &call, &mut out).map(|(_, t)| (t.fit, t.text.len()));
            match (made, fit) {
                (Ok((got, text_len)), Some(fit)) => {
                    assert_eq!((got, text_len), (fit, written));
                    assert_eq!(written, len);
                }
                (Err(ServiceCallError::TooLarge { needed, limit: most }), None) => {
                    assert_eq!((needed, most, machine.open()), (len, limit, 0));
                }
                (made, fit) => panic!("{len}: {made:?} instead of {fit:?}"),
            }
        }
    }
}

#[test]
fn white_space_and_escapes_that_the_core_takes_out_do_not_count() {
    let mut machine = Machine::default();
    let request = format!("[{}\"{}\"]", " ".repeat(9_000), "\\u0041".repeat(9_000));
    let mut out = vec![0; 80_000];
    let call = ServiceCall::new(Protocol::Numbered, &request).version("3");
    let (_, transmit) = machine.request(at(0), &call, &mut out).unwrap();
    assert_eq!(transmit.fit, Fit::Fine);
    // Numbers that it writes out do: perhaps, since the text alone does not decide it.
    let numbers = format!("[1e1024{}]", ",1e1024".repeat(10));
    let call = ServiceCall::new(Protocol::Numbered, &numbers).version("3");
    let (_, transmit) = machine.request(at(0), &call, &mut out).unwrap();
    assert_eq!(transmit.fit, Fit::Perhaps);
}

#[test]
fn a_short_buffer_and_a_full_table_change_nothing() {
    let mut machine = Machine::default();
    let request = mcp("1", "tools/list");
    let the_call = ServiceCall::new(MCP, &request);
    let error = machine.request(at(0), &the_call, &mut []).unwrap_err();
    let ServiceCallError::Buffer(BufferTooSmall { needed, .. }) = error else { panic!() };
    let mut out = vec![0; needed];
    assert!(machine.request(at(0), &the_call, &mut out[1..]).is_err());
    assert_eq!(machine.open(), 0);
    for _ in 0..4 {
        assert!(machine.request(at(0), &the_call, &mut out).is_ok());
    }
    let error = machine.request(at(0), &the_call, &mut out).unwrap_err();
    assert_eq!(error, ServiceCallError::Full { capacity: 4 });
}

// Response.

#[test]
fn an_answer_of_the_protocol_has_been_executed() {
    let done = ("answer", Executed::Yes, Retry::Never);
    assert_eq!(outcome(&format!(r#"{{"response":{ANSWER}}}"#)), done);
    // So has one that is an error, or asks for more.
    let text = r#"{"response":{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":""}}}"#;
    assert_eq!(outcome(text), done);
    let text =
        r#"{"response":{"id":1.0,"jsonrpc":"2.0","result":{"resultType":"input_required"}}}"#;
    assert_eq!(outcome(text), done);
}

#[test]
fn the_answer_is_lent_with_its_class() {
    let mut machine = Machine::default();
    let id = call(&mut machine, 0);
    let text = format!(r#"{{"response":{ANSWER}}}"#);
    let outcome = machine.handle_response(at(0), id, &text).unwrap();
    let ServiceResult::Answer { response, class } = outcome.result else { panic!() };
    assert_eq!((response.get(), class), (ANSWER, Class::Last(End::Answer)));
}

#[test]
fn after_these_codes_nothing_ran() {
    for (code, without, with) in [
        ("unsupported_protocol", Retry::Never, after(9)),
        ("unsupported_version", Retry::Never, after(9)),
        ("bad_request", Retry::Never, after(9)),
        ("conversation_required", Retry::InConversation, Retry::InConversation),
        ("rate_limited", after(0), after(9)),
    ] {
        assert_eq!(outcome(&error(code, None)), ("error", Executed::No, without), "{code}");
        assert_eq!(outcome(&error(code, Some(9))), ("error", Executed::No, with), "{code}");
    }
}

#[test]
fn after_too_large_and_internal_the_outcome_is_unknown() {
    for code in ["too_large", "internal"] {
        for after in [None, Some(9)] {
            let expected = ("error", Executed::Unknown, Retry::IfHarmless);
            assert_eq!(outcome(&error(code, after)), expected, "{code}");
        }
    }
    // When a repetition can succeed is said all the same.
    let mut machine = Machine::default();
    let id = call(&mut machine, 0);
    let text = error("internal", Some(9));
    let outcome = machine.handle_response(at(0), id, &text).unwrap();
    let ServiceResult::Error { code, retry_after, .. } = outcome.result else { panic!() };
    assert_eq!((code, retry_after), (ErrorCode::Internal, Some(Duration::from_secs(9))));
}

#[test]
fn an_unknown_code_is_final_unless_it_has_retry_after() {
    assert_eq!(outcome(&error("brand_new", None)), ("error", Executed::No, Retry::Never));
    assert_eq!(outcome(&error("brand_new", Some(0))), ("error", Executed::No, after(0)));
    let long = outcome(&error("", Some(u32::MAX)));
    assert_eq!(long, ("error", Executed::No, after(u32::MAX.into())));
}

#[test]
fn a_response_that_is_none_of_the_protocols_leaves_the_outcome_unknown() {
    for response in [
        "null",
        "\"done\"",
        "[]",
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    ] {
        let text = format!(r#"{{"response":{response}}}"#);
        assert_eq!(outcome(&text), ("foreign", Executed::Unknown, Retry::IfHarmless), "{text}");
    }
}

#[test]
fn a_malformed_envelope_leaves_the_outcome_unknown() {
    for text in [
        "",
        "[]",
        "{}",
        r#"{"response":1,"error":{"code":"internal"}}"#,
        r#"{"error":null}"#,
        r#"{"error":{"code":7}}"#,
        r#"{"error":{"code":"rate_limited","retryAfter":-1}}"#,
        r#"{"error":{"code":"rate_limited","retryAfter":1.5}}"#,
    ] {
        assert_eq!(outcome(text), ("envelope", Executed::Unknown, Retry::IfHarmless), "{text}");
    }
}

#[test]
fn an_id_that_the_core_wrote_anew_is_still_the_requests() {
    for (id, written) in
        [("1e2", "100"), ("1e20", "100000000000000000000"), ("\"\\u00e9\"", "\"é\"")]
    {
        let mut machine = Machine::default();
        let request = mcp(id, "tools/list");
        let mut out = [0; 512];
        let (call, _) = machine.request(at(0), &ServiceCall::new(MCP, &request), &mut out).unwrap();
        let text = format!(r#"{{"response":{{"id":{written},"jsonrpc":"2.0","result":{{}}}}}}"#);
        let outcome = machine.handle_response(at(0), call, &text).unwrap();
        assert_eq!(kind(&outcome.result), "answer", "{id}");
    }
}

// The core's failures.

#[test]
fn the_cores_failures() {
    for (failure, executed, retry) in [
        (CoreFailure::Timeout, Executed::Unknown, Retry::IfHarmless),
        (CoreFailure::NoRatchetKeys, Executed::No, Retry::Never),
        (CoreFailure::Rejected, Executed::No, Retry::Never),
        (CoreFailure::BadSignature, Executed::No, Retry::Never),
        (CoreFailure::NotActiveUser, Executed::No, Retry::Never),
        (CoreFailure::NoPendingRequest, Executed::Unknown, Retry::IfHarmless),
        (CoreFailure::Other, Executed::Unknown, Retry::IfHarmless),
    ] {
        let mut machine = Machine::default();
        let id = call(&mut machine, 0);
        let outcome = machine.handle_failure(at(0), id, failure).unwrap();
        assert_eq!((outcome.executed, outcome.retry), (executed, retry), "{failure:?}");
        assert!(matches!(outcome.result, ServiceResult::Core(same) if same == failure));
        assert!(machine.handle_failure(at(0), id, failure).is_none());
        assert_eq!(machine.open(), 0);
    }
}

// Time.

#[test]
fn the_default_timeout_is_30_seconds_and_the_core_speaks_first() {
    let mut machine = Machine::default();
    let id = call(&mut machine, 5);
    assert_eq!(machine.poll_timeout(), Some(at(45)));
    assert!(machine.handle_timeout(Instant::from_millis(44_999)).is_none());
    let outcome = machine.handle_timeout(at(45)).unwrap();
    assert_eq!((outcome.call, kind(&outcome.result)), (id, "silence"));
    assert_eq!((outcome.executed, outcome.retry), (Executed::Unknown, Retry::IfHarmless));
    assert!(machine.handle_timeout(at(45)).is_none());
}

#[test]
fn a_requester_that_expects_a_slow_response_sets_the_timeout() {
    let config = ServiceRequesterConfig { timeout: Duration::from_secs(7), grace: Duration::ZERO };
    let mut machine = Machine::with_limit(config, 4);
    let request = mcp("1", "tools/list");
    let mut out = [0; 512];
    let slow = ServiceCall::new(MCP, &request).timeout(Duration::from_secs(180));
    let (slow_id, transmit) = machine.request(at(0), &slow, &mut out).unwrap();
    assert_eq!(transmit.timeout, Duration::from_secs(180));
    let (id, transmit) =
        machine.request(at(0), &ServiceCall::new(MCP, &request), &mut out).unwrap();
    assert_eq!(transmit.timeout, Duration::from_secs(7));
    assert_eq!(machine.poll_timeout(), Some(at(7)));
    assert_eq!(machine.handle_timeout(at(200)).map(|outcome| outcome.call), Some(id));
    assert_eq!(machine.handle_timeout(at(200)).map(|outcome| outcome.call), Some(slow_id));
    let endless = ServiceCall::new(MCP, &request).timeout(Duration::MAX);
    assert!(machine.request(at(200), &endless, &mut out).is_ok());
    assert_eq!(machine.poll_timeout(), Some(Instant::MAX));
}

#[test]
fn a_response_after_the_timeout_is_nobodys() {
    let mut machine = Machine::default();
    let id = call(&mut machine, 0);
    assert!(machine.handle_timeout(at(40)).is_some());
    let text = format!(r#"{{"response":{ANSWER}}}"#);
    assert!(machine.handle_response(at(41), id, &text).is_none());
    assert!(machine.handle_failure(at(41), id, CoreFailure::Timeout).is_none());
    // Nor is it the next call's that has the same place.
    for _ in 0..4 {
        let next = call(&mut machine, 41);
        assert_ne!(next, id);
    }
    assert!(machine.handle_response(at(41), id, &text).is_none());
    assert_eq!(machine.open(), 4);
}

#[test]
fn a_response_that_comes_before_the_timeout_is_handled_counts() {
    let mut machine = Machine::default();
    let id = call(&mut machine, 0);
    let text = format!(r#"{{"response":{ANSWER}}}"#);
    assert!(machine.handle_response(at(50), id, &text).is_some());
    // Time never runs backwards.
    let _id = call(&mut machine, 0);
    assert_eq!(machine.poll_timeout(), Some(at(90)));
}

#[test]
fn a_call_that_is_cancelled_has_no_outcome() {
    let mut machine = Machine::default();
    let id = call(&mut machine, 0);
    assert!(machine.cancel(id) && !machine.cancel(id));
    assert!(machine.handle_response(at(0), id, "{}").is_none());
    assert_eq!((machine.poll_timeout(), machine.open()), (None, 0));
}

#[test]
fn nothing_is_ever_repeated_by_itself() {
    // The machine's only way to say "send" is `request`: what ends stays ended whatever comes.
    let mut machine = Machine::default();
    let id = call(&mut machine, 0);
    let text = error("rate_limited", Some(0));
    assert!(machine.handle_response(at(0), id, &text).is_some());
    assert!(machine.handle_timeout(at(1_000)).is_none());
    assert_eq!((machine.poll_timeout(), machine.open()), (None, 0));
}

#[test]
fn debug_and_display_show_no_text() {
    let mut machine = Machine::default();
    let request = mcp("1", "secret");
    let the_call = ServiceCall::new(MCP, &request).signed(KEY);
    let mut out = [0; 512];
    let shown = format!("{the_call:?}");
    let (id, transmit) = machine.request(at(0), &the_call, &mut out).unwrap();
    let shown = format!("{shown} {transmit:?} {machine:?}");
    let response = r#"{"error":{"code":"internal","message":"secret"}}"#;
    let outcome = machine.handle_response(at(0), id, response).unwrap();
    let shown = format!("{shown} {outcome:?}");
    assert!(!shown.contains("secret") && !shown.contains(KEY), "{shown}");
    assert!(!ServiceCallError::Full { capacity: 4 }.to_string().is_empty());
}
