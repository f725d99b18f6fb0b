//! Service RPC: the envelope, its size, keys, and both machines against each other.

use core::time::Duration;

use agentwire_core::binding::Standard;
use agentwire_core::chat::Inline;
use agentwire_core::chat::responder::Service;
use agentwire_core::json::Value;
use agentwire_core::rpc::{
    ADVISED_LEN, CoreFailure, ErrorCode, Executed, Fit, Framing, NormalisedLen, RateLimit,
    RequestEnvelope, ResponseEnvelope, Retry, ServiceAnswerError, ServiceCall, ServiceCallError,
    ServiceReceived, ServiceRequester, ServiceResponder, ServiceResponderConfig, ServiceResult,
    ServiceToken, SignerKey,
};
use agentwire_core::time::Instant;

use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    ("rpc: a request is read and written", request),
    ("rpc: a response has exactly one of response and error", response),
    ("rpc: what is no envelope is refused", no_envelope),
    ("rpc: the length is that of the text written anew", length),
    ("rpc: a message fits, perhaps, or not", fit),
    ("rpc: a key in two encodings is one key", key),
    ("rpc: a request and its response", exchange),
    ("rpc: a response that does not fit is replaced", too_large),
    ("rpc: limits pass on both sides", limits),
    ("rpc: rates and tables have limits", rates),
];

const KEY: &str = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";
const OTHER_KEY: &str = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-U=";
const MCP: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const MCP_ANSWER: &str = r#"{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}}"#;
const A2A: &str = r#"{"jsonrpc":"2.0","id":2,"method":"SendMessage","a2a-service-parameters":{"A2A-Version":"1.0"},"params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"t"}]}}}"#;
const SERVICES: [Service<'static, Standard>; 2] =
    [Service::new(Standard::MCP, &["2026-07-28"]), Service::new(Standard::A2A, &["1.0"])];
const START: Instant = Instant::from_millis(1_000);

type Requester = ServiceRequester<Standard, Inline<2>>;
type Responder = ServiceResponder<Standard, Inline<2>>;

fn request() -> bool {
    let mut buffer = [0; 128];
    let Ok(text) = RequestEnvelope::write(&mut buffer, "p", Some("[1]"), Some(KEY), "null") else {
        return false;
    };
    let Ok(envelope) = RequestEnvelope::parse(text) else { return false };
    let mut little = [0; 4];
    let short = RequestEnvelope::write(&mut little, "p", None, None, "{}");
    envelope.protocol == *"p"
        && envelope.version.is_some_and(|version| version.get() == "[1]")
        && envelope.request_key.is_some_and(|key| key == *KEY)
        && envelope.request.is_null()
        && short.is_err_and(|error| error.needed == r#"{"protocol":"p","request":{}}"#.len())
}

fn response() -> bool {
    let text = r#"{"error":{"code":"rate_limited","retryAfter":6e1,"x":[]},"y":null}"#;
    let is_error = matches!(
        ResponseEnvelope::parse(text),
        Ok(ResponseEnvelope::Error(error))
            if error.code == ErrorCode::RateLimited && error.retry_after == Some(60)
    );
    let is_null = matches!(
        ResponseEnvelope::parse(r#"{"response":null}"#),
        Ok(ResponseEnvelope::Response(value)) if value.is_null()
    );
    is_error
        && is_null
        && ResponseEnvelope::parse("{}").is_err()
        && ResponseEnvelope::parse(r#"{"response":1,"error":{"code":"internal"}}"#).is_err()
}

fn no_envelope() -> bool {
    let requests = ["[]", "", "{}", r#"{"protocol":1,"request":1}"#, r#"{"protocol":"p"}"#];
    let responses = [
        r#"{"error":{"code":1}}"#,
        r#"{"error":{"code":"c","retryAfter":-1}}"#,
        r#"{"error":{"code":"c","retryAfter":1.5}}"#,
        r#"{"error":{"code":"c","code":"c"}}"#,
        r#"{"error":null}"#,
    ];
    requests.iter().all(|text| RequestEnvelope::parse(text).is_err())
        && responses.iter().all(|text| ResponseEnvelope::parse(text).is_err())
}

fn length() -> bool {
    let len = |text| Value::parse(text).map(NormalisedLen::of);
    let exact = |text, bytes| len(text).is_ok_and(|len| (len.min, len.max) == (bytes, bytes));
    let holds = |text, bytes| {
        len(text).is_ok_and(|len| len.min < len.max && len.min <= bytes && bytes <= len.max)
    };
    exact(r#"{ "b" : "\u00e9\b", "a" : [ -0 ] }"#, r#"{"a":[0],"b":"é\u0008"}"#.len())
        && holds("[1e1024]", 1_027)
        && holds("[1e18446744073709552616]", 1_003)
        && holds(r#"{"a":1,"\u0061":22}"#, r#"{"a":22}"#.len())
}

/// A response that is longer than what is advised.
static LONG_ANSWER: [u8; 12_000] = {
    let mut text = [b'x'; 12_000];
    let start = br#"{"jsonrpc":"2.0","id":"a","result":{"t":""#;
    let mut place = 0;
    while place < start.len() {
        text[place] = start[place];
        place += 1;
    }
    let end = br#""}}"#;
    place = 0;
    while place < end.len() {
        text[12_000 - end.len() + place] = end[place];
        place += 1;
    }
    text
};

fn long_answer() -> &'static str {
    core::str::from_utf8(&LONG_ANSWER).unwrap_or_default()
}

fn fit() -> bool {
    let of = |len: usize, framing: Framing| {
        // A value whose length is known: as many digits.
        let digits = LONG_DIGITS.get(..len).and_then(|digits| core::str::from_utf8(digits).ok());
        digits.and_then(|digits| Value::parse(digits).ok()).map(|value| Fit::of(value, framing))
    };
    [Framing::Request, Framing::SignedRequest, Framing::Response].into_iter().all(|framing| {
        of(ADVISED_LEN, framing) == Some(Fit::Fine)
            && of(ADVISED_LEN + 1, framing) == Some(Fit::Perhaps)
            && of(framing.max_len(), framing) == Some(Fit::Perhaps)
            && of(framing.max_len() + 1, framing) == Some(Fit::TooLarge)
    })
}

static LONG_DIGITS: [u8; 12_000] = [b'7'; 12_000];

fn key() -> bool {
    let of = SignerKey::parse;
    of(KEY).is_ok()
        && of(KEY) == of(KEY.trim_end_matches('='))
        && of(KEY) != of(OTHER_KEY)
        && of(OTHER_KEY).is_ok()
        && of("MCow").is_err()
        && of("é").is_err()
}

/// A request through the responder, until it is to be answered.
fn receive(responder: &mut Responder, id: &str, text: &str) -> Option<ServiceToken> {
    match responder.handle_request(START, id, None, text, &SERVICES, &mut []) {
        Ok(ServiceReceived::Request(request)) => Some(request.token),
        _ => None,
    }
}

fn exchange() -> bool {
    let mut requester = Requester::default();
    let mut responder = Responder::default();
    let (mut buffer, mut out) = ([0; 512], [0; 256]);
    let call = ServiceCall::new(Standard::MCP, MCP).signed(KEY);
    let Ok((id, transmit)) = requester.request(START, &call, &mut buffer) else { return false };
    let is_written = transmit.text.starts_with(r#"{"protocol":"mcp","requestKey":"MCow"#)
        && transmit.fit == Fit::Fine
        && transmit.timeout == Duration::from_secs(30);
    let key = Some(KEY.trim_end_matches('='));
    let received = responder.handle_request(START, "cmVx", key, transmit.text, &SERVICES, &mut []);
    let Ok(ServiceReceived::Request(request)) = received else { return false };
    let is_signed = request.signer.is_some() && request.id == Some("\"a\"");
    let again = responder.handle_request(START, "cmVx", key, transmit.text, &SERVICES, &mut []);
    let is_known = matches!(again, Ok(ServiceReceived::Duplicate));
    let Ok((to, response)) = responder.respond(START, request.token, MCP_ANSWER, &mut out) else {
        return false;
    };
    let is_sent = to.as_str() == "cmVx" && response.error.is_none() && response.fit == Fit::Fine;
    let outcome = requester.handle_response(START, id, response.text);
    let is_answer = outcome.is_some_and(|outcome| {
        outcome.executed == Executed::Yes
            && matches!(outcome.result, ServiceResult::Answer { response, .. } if response.get() == MCP_ANSWER)
    });
    let is_over = requester.handle_response(START, id, response.text).is_none();
    let unsigned = responder.handle_request(START, "x", None, transmit.text, &SERVICES, &mut out);
    let is_bad = matches!(
        unsigned,
        Ok(ServiceReceived::Answered { response, .. })
            if response.error == Some(ErrorCode::BadRequest)
    );
    is_written && is_signed && is_known && is_sent && is_answer && is_over && is_bad
}

fn too_large() -> bool {
    let mut responder = Responder::default();
    let mut out = [0; 256];
    let text = concat_request("mcp", MCP);
    let Some(token) = receive(&mut responder, "a", text.get()) else { return false };
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
    let Err(error) = responder.respond(START, token, progress, &mut out) else { return false };
    let is_refused = error.cause == ServiceAnswerError::NotLast;
    let Ok((_, response)) = responder.respond(START, error.token, long_answer(), &mut out) else {
        return false;
    };
    is_refused && response.error == Some(ErrorCode::TooLarge) && responder.open() == 0
}

/// An envelope on the stack.
struct Written {
    buffer: [u8; 512],
    len: usize,
}

impl Written {
    fn get(&self) -> &str {
        self.buffer.get(..self.len).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or("")
    }
}

fn concat_request(protocol: &str, request: &str) -> Written {
    let mut buffer = [0; 512];
    let text = RequestEnvelope::write(&mut buffer, protocol, None, None, request);
    let len = text.map_or(0, str::len);
    Written { buffer, len }
}

fn limits() -> bool {
    let mut requester = Requester::default();
    let mut responder = Responder::default();
    let (mut buffer, mut out) = ([0; 512], [0; 256]);
    let call = ServiceCall::new(Standard::A2A, A2A);
    let Ok((id, transmit)) = requester.request(START, &call, &mut buffer) else { return false };
    let Some(token) = receive(&mut responder, "a", transmit.text) else { return false };
    let end = START + Duration::from_secs(170);
    let is_due = responder.poll_timeout() == Some(end);
    let Err(late) = responder.respond(end, token, MCP_ANSWER, &mut out) else { return false };
    let is_gone = late.cause == ServiceAnswerError::Gone;
    let is_expired = matches!(
        responder.handle_timeout(end, &mut out),
        Ok(Some(expired)) if expired.response.error == Some(ErrorCode::ConversationRequired)
    );
    let silence = requester.handle_timeout(START + Duration::from_secs(40));
    let is_silent = silence.is_some_and(|outcome| {
        outcome.call == id
            && outcome.executed == Executed::Unknown
            && outcome.retry == Retry::IfHarmless
            && matches!(outcome.result, ServiceResult::Silence)
    });
    is_due
        && is_gone
        && is_expired
        && is_silent
        && CoreFailure::NoRatchetKeys.executed() == Executed::No
        && requester.poll_timeout().is_none()
        && responder.poll_timeout().is_none()
}

fn rates() -> bool {
    let mut requester = Requester::default();
    let mut buffer = [0; 512];
    let call = ServiceCall::new(Standard::MCP, MCP);
    let is_room = (0..2).all(|_| requester.request(START, &call, &mut buffer).is_ok());
    let is_full = requester.request(START, &call, &mut buffer).map(drop)
        == Err(ServiceCallError::Full { capacity: 2 });

    let mut config = ServiceResponderConfig::default();
    config.overall = Some(RateLimit::new(3, Duration::from_secs(60)));
    let mut responder = Responder::with_limit(config, 2);
    let text = concat_request("mcp", MCP);
    let mut out = [0; 256];
    let is_received = ["a", "b"].iter().all(|id| receive(&mut responder, id, text.get()).is_some());
    let mut after =
        |now| match responder.handle_request(now, "c", None, text.get(), &SERVICES, &mut out) {
            Ok(ServiceReceived::Answered { response, .. }) => {
                match ResponseEnvelope::parse(response.text) {
                    Ok(ResponseEnvelope::Error(error)) => error.retry_after,
                    _ => None,
                }
            }
            _ => None,
        };
    // The table is full, then the rate is, then the table again.
    let is_limited = after(START) == Some(1)
        && after(START) == Some(60)
        && after(START + Duration::from_secs(59)) == Some(1)
        && after(START + Duration::from_secs(60)) == Some(1);
    is_room && is_full && is_received && is_limited
}
