use std::format;
use std::string::ToString;
use std::vec::Vec;

use super::*;
use crate::binding::Standard;
use crate::jsonrpc;

const NOW: Instant = Instant::from_millis(0);
const REQUEST: &str = r#"{"jsonrpc":"2.0","id":"é","method":"SendMessage","a2a-service-parameters":{"A2A-Version":"1.0"},"params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":"é","result":{"message":{"messageId":"n"}}}"#;

type TestSession = ServiceSession<Standard, u8>;

fn session(config: ServiceSessionConfig) -> TestSession {
    ServiceSession::new(config, vec![Declared::new(Standard::A2A, ["1.0"])])
}

fn envelope() -> String {
    format!("{{\"protocol\":\"a2a\",\"request\":{REQUEST}}}")
}

fn receive(session: &mut TestSession, request_id: &str) -> Result<(), ServiceQueueFull> {
    let text = envelope();
    session.handle_input(NOW, ServiceInput::Request { request_id, signer_key: None, text: &text })
}

fn event(session: &mut TestSession) -> ServiceEvent<Standard> {
    match session.poll_output() {
        ServiceOutput::Event(event) => event,
        other => panic!("{other:?}"),
    }
}

fn sent(session: &mut TestSession) -> ServiceMessage<u8> {
    match session.poll_output() {
        ServiceOutput::Transmit(message) => message,
        other => panic!("{other:?}"),
    }
}

fn response_text(session: &mut TestSession) -> String {
    match sent(session) {
        ServiceMessage::Response { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

fn accepted(session: &mut TestSession, request_id: &str) -> RequestId {
    receive(session, request_id).unwrap();
    match event(session) {
        ServiceEvent::Request(request) => request.request_id,
        other => panic!("{other:?}"),
    }
}

fn is_idle(session: &mut TestSession) -> bool {
    matches!(session.poll_output(), ServiceOutput::Timeout(_))
}

#[test]
fn a_request_goes_out_with_its_target_and_its_end_comes_back() {
    let mut session = session(ServiceSessionConfig::default());
    let long = REQUEST.replace("hi", &"x".repeat(2_000));
    let call = ServiceCall::new(Standard::A2A, &long).timeout(Duration::from_secs(5));
    let id = session.request(NOW, 7, &call).unwrap();
    let ServiceMessage::Request { call, target, text, timeout, fit } = sent(&mut session) else {
        panic!()
    };
    assert_eq!((call, target, timeout, fit), (id, 7, Duration::from_secs(5), Fit::Fine));
    assert_eq!(text, format!("{{\"protocol\":\"a2a\",\"request\":{long}}}"));
    let text = format!("{{\"response\":{ANSWER}}}");
    session.handle_input(NOW, ServiceInput::Response { call, text: &text }).unwrap();
    let ServiceEvent::Reply(reply) = event(&mut session) else { panic!() };
    let kind = ServiceReplyKind::Answer { text: ANSWER.into(), end: End::Answer };
    assert_eq!((reply.call, reply.kind, reply.executed), (id, kind, Executed::Yes));
    // It has ended: nothing more comes of it.
    session.handle_input(NOW, ServiceInput::Response { call, text: &text }).unwrap();
    assert!(is_idle(&mut session));
    assert_eq!(session.open_calls(), 0);
}

#[test]
fn errors_failures_and_silence_end_a_request() {
    let mut session = session(ServiceSessionConfig::default());
    let call = ServiceCall::new(Standard::A2A, REQUEST);
    let make = |session: &mut TestSession| {
        let id = session.request(NOW, 0, &call).unwrap();
        let _ = sent(session);
        id
    };
    let ended = |session: &mut TestSession| match event(session) {
        ServiceEvent::Reply(reply) => reply,
        other => panic!("{other:?}"),
    };
    let call = make(&mut session);
    let text = r#"{"error":{"code":"br\u0061nd_new","message":"say \"why\"","retryAfter":3}}"#;
    session.handle_input(NOW, ServiceInput::Response { call, text }).unwrap();
    let reply = ended(&mut session);
    assert_eq!(reply.retry, Retry::After(Duration::from_secs(3)));
    let ServiceReplyKind::Error { code, code_text, message, .. } = &reply.kind else { panic!() };
    assert_eq!((*code, code_text.as_str()), (ErrorCode::Unknown, "brand_new"));
    assert_eq!(message.as_deref(), Some("say \"why\""));
    // What the other side says is not shown.
    let shown = format!("{reply:?} {}", reply.kind);
    assert!(!shown.contains("brand") && !shown.contains("why"), "{shown}");

    let call = make(&mut session);
    let failure = CoreFailure::Timeout;
    session.handle_input(NOW, ServiceInput::Failure { call, failure }).unwrap();
    let reply = ended(&mut session);
    assert_eq!(reply.kind, ServiceReplyKind::Core(CoreFailure::Timeout));
    assert_eq!((reply.executed, reply.retry), (Executed::Unknown, Retry::IfHarmless));

    make(&mut session);
    let ServiceOutput::Timeout(Some(due)) = session.poll_output() else { panic!() };
    session.handle_timeout(due);
    assert_eq!(ended(&mut session).kind, ServiceReplyKind::Silence);

    let call = make(&mut session);
    session.handle_input(NOW, ServiceInput::Response { call, text: "[]" }).unwrap();
    assert!(matches!(ended(&mut session).kind, ServiceReplyKind::Envelope(_)));

    let call = make(&mut session);
    assert!(session.cancel(call));
    session.handle_input(NOW, ServiceInput::Response { call, text }).unwrap();
    assert!(is_idle(&mut session));
}

#[test]
fn a_full_queue_refuses_requests_and_nothing_else() {
    let config = ServiceSessionConfig { max_queued: 1, ..ServiceSessionConfig::default() };
    let mut session = session(config);
    let call = ServiceCall::new(Standard::A2A, REQUEST);
    let id = session.request(NOW, 0, &call).unwrap();
    let full = ServiceCallError::Full { capacity: 1 };
    assert_eq!(session.request(NOW, 0, &call), Err(full));
    assert_eq!(receive(&mut session, "a"), Err(ServiceQueueFull { capacity: 1 }));
    let failure = CoreFailure::Rejected;
    session.handle_input(NOW, ServiceInput::Failure { call: id, failure }).unwrap();
    let _ = sent(&mut session);
    assert!(matches!(event(&mut session), ServiceEvent::Reply(_)));
    receive(&mut session, "a").unwrap();
}

#[test]
fn an_answer_that_is_none_leaves_the_request_open() {
    let mut session = session(ServiceSessionConfig::default());
    let id = accepted(&mut session, "a");
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
    for wrong in [notification, "no JSON", &ANSWER.replace('é', "e")] {
        let error = session.respond(NOW, &id, wrong).unwrap_err();
        assert!(matches!(error, ServiceAnswerError::NotAnAnswer(_) | ServiceAnswerError::NotLast));
    }
    assert_eq!(session.respond(NOW, &id, ANSWER), Ok(None));
    assert_eq!(response_text(&mut session), format!("{{\"response\":{ANSWER}}}"));
    for _ in 0..2 {
        assert_eq!(session.respond(NOW, &id, ANSWER), Err(ServiceAnswerError::Gone));
        let gone = session.fail(NOW, &id, &Failure::Internal);
        assert_eq!(gone, Err(ServiceAnswerError::Gone));
    }
    assert!(is_idle(&mut session));
}

#[test]
fn a_response_that_does_not_fit_is_replaced() {
    let mut session = session(ServiceSessionConfig::default());
    let id = accepted(&mut session, "a");
    let large = ANSWER.replace("\"n\"", &format!("\"{}\"", "n".repeat(12_000)));
    let size = TooLarge { needed: large.len() + 13, limit: 11_103 };
    assert_eq!(session.respond(NOW, &id, &large), Ok(Some(size)));
    assert!(response_text(&mut session).starts_with(r#"{"error":{"code":"too_large""#));
}

#[test]
fn each_failure_has_the_error_of_the_table() {
    let mut session = session(ServiceSessionConfig::default());
    for (failure, code) in [
        (Failure::TooLarge { needed: 2, limit: 1 }, "too_large"),
        (Failure::Busy { capacity: 1 }, "rate_limited"),
        (Failure::Stopping, "rate_limited"),
        (Failure::RateLimited { retry_after: 9 }, "rate_limited"),
        (Failure::QuotaExceeded { retry_after: 9 }, "rate_limited"),
        (Failure::PushNotSupported, "conversation_required"),
        (Failure::TimedOut, "conversation_required"),
        (Failure::Internal, "internal"),
    ] {
        let id = accepted(&mut session, failure.reason());
        session.fail(NOW, &id, &failure).unwrap();
        let text = response_text(&mut session);
        assert!(text.starts_with(&format!("{{\"error\":{{\"code\":\"{code}\"")), "{text}");
        assert_eq!(text.contains("retryAfter"), code == "rate_limited", "{text}");
    }
    let id = accepted(&mut session, "a");
    session.fail(NOW, &id, &Failure::MethodNotFound).unwrap();
    let text = response_text(&mut session);
    assert!(text.starts_with(r#"{"response":{"jsonrpc":"2.0","id":"é","error":"#), "{text}");
    assert!(text.contains(&jsonrpc::METHOD_NOT_FOUND.to_string()), "{text}");
}

#[test]
fn a_request_that_is_refused_at_once_is_answered_and_told() {
    let mut session = session(ServiceSessionConfig::default());
    let text = r#"{"protocol":"chess","request":{}}"#;
    let input = ServiceInput::Request { request_id: "a", signer_key: None, text };
    session.handle_input(NOW, input).unwrap();
    assert!(response_text(&mut session).contains("unsupported_protocol"));
    let ServiceEvent::Refused { code } = event(&mut session) else { panic!() };
    assert_eq!(code, Some(ErrorCode::UnsupportedProtocol));
}

#[test]
fn a_request_that_is_received_twice_is_one_request() {
    let mut session = session(ServiceSessionConfig::default());
    accepted(&mut session, "a");
    receive(&mut session, "a").unwrap();
    assert!(is_idle(&mut session));
}

#[test]
fn a_request_whose_limit_passes_is_answered_and_told() {
    let mut session = session(ServiceSessionConfig::default());
    let id = accepted(&mut session, "a");
    let ServiceOutput::Timeout(Some(due)) = session.poll_output() else { panic!() };
    assert_eq!(due, Instant::from_millis(170_000));
    session.handle_timeout(due);
    assert!(response_text(&mut session).contains("conversation_required"));
    assert!(matches!(event(&mut session), ServiceEvent::Expired(gone) if gone == id));
    assert_eq!(session.respond(due, &id, ANSWER), Err(ServiceAnswerError::Gone));
}

#[test]
fn a_session_that_stops_takes_no_new_requests() {
    let mut session = session(ServiceSessionConfig::default());
    let id = accepted(&mut session, "a");
    session.stop();
    receive(&mut session, "b").unwrap();
    assert!(response_text(&mut session).contains("rate_limited"));
    let ServiceEvent::Refused { code } = event(&mut session) else { panic!() };
    assert_eq!(code, Some(ErrorCode::RateLimited));
    session.respond(NOW, &id, ANSWER).unwrap();
    assert_eq!(session.open_requests(), 0);
}

#[test]
fn a_protocol_can_be_declared_later() {
    let mut session = TestSession::new(ServiceSessionConfig::default(), Vec::new());
    receive(&mut session, "a").unwrap();
    assert!(response_text(&mut session).contains("unsupported_protocol"));
    assert!(matches!(event(&mut session), ServiceEvent::Refused { .. }));
    session.declare(Declared::new(Standard::A2A, ["1.0"]));
    assert_eq!(session.declared().len(), 1);
    accepted(&mut session, "b");
}
