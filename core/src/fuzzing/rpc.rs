//! Service RPC: the envelope against a reading on top of `serde_json`, and both machines against
//! lists of requests.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use arbitrary::{Result, Unstructured};

use super::generate::{Generator, Vocabulary};
use super::model::{self, Decimal, all, one};
use super::script::Script;
use super::script::texts::{self, Meaning, Style};
use crate::binding::Standard;
use crate::chat::responder::Service;
use crate::chat::{Growable, Inline};
use crate::json::Value;
use crate::rpc::{
    CoreFailure, ErrorCode, Executed, Fit, Framing, NormalisedLen, RateLimit, RequestEnvelope,
    ResponseEnvelope, Retry, ServiceAnswerError, ServiceCall, ServiceCallError, ServiceCallId,
    ServiceReceived, ServiceRequester, ServiceRequesterConfig, ServiceResponder,
    ServiceResponderConfig, ServiceResult, ServiceToken,
};
use crate::time::Instant;

/// The bytes as they are, and an envelope made from them.
pub fn envelope(data: &[u8]) {
    if let Ok(text) = core::str::from_utf8(data) {
        check(text);
    }
    let mut bytes = Unstructured::new(data);
    if let Ok(made) = make(&mut bytes) {
        if let Ok(text) = core::str::from_utf8(&made) {
            check(text);
        }
    }
}

/// Makes something that is nearly always close to an envelope.
fn make(bytes: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let words = Vocabulary {
        names: &["code", "message", "retryAfter", "protocol", "a", "b"],
        values: &["\"internal\"", "60", "6e1", "-1", "4294967296", "{\"code\":\"x\"}", "null"],
    };
    let mut made = Generator::new(bytes, &words);
    let is_request = made.bytes.arbitrary()?;
    let names: &[&str] = if is_request {
        &["protocol", "request", "protocol", "request", "version", "requestKey", "other"]
    } else {
        &["response", "error", "error", "other"]
    };
    made.out.push('{');
    for place in 0..made.bytes.int_in_range(0..=4)? {
        if place > 0 {
            made.out.push(',');
        }
        let name = *made.bytes.choose(names)?;
        made.quoted(name)?;
        made.out.push(':');
        match name {
            _ if made.bytes.ratio(1, 6)? => made.value(2)?,
            "protocol" | "requestKey" => made.quoted("mcp")?,
            "error" => {
                made.out.push_str("{\"code\":");
                made.quoted("rate_limited")?;
                if made.bytes.arbitrary()? {
                    made.out.push_str(",\"retryAfter\":");
                    made.number()?;
                }
                if made.bytes.ratio(1, 4)? {
                    made.out.push_str(",\"message\":");
                    made.value(1)?;
                }
                made.out.push('}');
            }
            _ => made.value(3)?,
        }
    }
    made.out.push('}');
    made.finish()
}

fn check(text: &str) {
    let members = Value::parse(text).ok().and_then(|_| model::members(text));
    request(text, members.as_deref());
    response(text, members.as_deref());
    if let Ok(value) = Value::parse(text) {
        let len = NormalisedLen::of(value);
        assert!(len.min <= len.max);
        match anew(value.get()) {
            Some(written) => assert_eq!((len.min, len.max), (written, written), "another length"),
            None => assert!(len.min >= 1),
        }
        for framing in [Framing::Request, Framing::SignedRequest, Framing::Response] {
            let fit = Fit::of(value, framing);
            assert_eq!(fit == Fit::Fine, len.max <= 10_000);
            assert_eq!(fit == Fit::TooLarge, len.min > framing.max_len() && len.max > 10_000);
        }
    }
}

type Members<'a> = [(String, &'a str)];

fn is_string(text: &str) -> bool {
    text.starts_with('"')
}

/// Whether each of these members occurs at most once.
fn are_single(members: &Members<'_>, names: &[&str]) -> bool {
    names.iter().all(|name| all(members, name).len() <= 1)
}

fn request(text: &str, members: Option<&Members<'_>>) {
    let found = members.filter(|members| {
        are_single(members, &["protocol", "version", "requestKey", "request"])
            && one(members, "protocol").is_some_and(is_string)
            && one(members, "requestKey").is_none_or(is_string)
            && one(members, "request").is_some()
    });
    let envelope = match (RequestEnvelope::parse(text), found) {
        (Ok(envelope), Some(members)) => {
            assert_eq!(Some(envelope.protocol.get()), one(members, "protocol"));
            assert_eq!(envelope.request_key.map(|key| key.get()), one(members, "requestKey"));
            assert_eq!(envelope.version.map(|version| version.get()), one(members, "version"));
            assert_eq!(Some(envelope.request.get()), one(members, "request"));
            envelope
        }
        (Err(error), None) => return assert!(error.offset <= text.len()),
        (read, _) => panic!("the model disagrees with {read:?}"),
    };
    // What is written of the parts is the same request.
    let protocol: String = envelope.protocol.chars().collect();
    let key: Option<String> = envelope.request_key.map(|key| key.chars().collect());
    let (version, request) = (envelope.version.map(|version| version.get()), envelope.request);
    let write =
        |out| RequestEnvelope::write(out, &protocol, version, key.as_deref(), request.get());
    let len = write(&mut []).expect_err("no room").needed;
    let (mut short, mut out) = (alloc::vec![0; len - 1], alloc::vec![0; len]);
    assert!(write(&mut short).is_err_and(|error| error.needed == len));
    let again = RequestEnvelope::parse(write(&mut out).expect("room")).expect("a request");
    assert!(again.protocol == envelope.protocol && again.request_key == envelope.request_key);
    assert_eq!(again.request.get(), envelope.request.get());
    assert_eq!(again.version.map(|version| version.get()), version);
}

fn response(text: &str, members: Option<&Members<'_>>) {
    let read = ResponseEnvelope::parse(text);
    let single = members.filter(|members| are_single(members, &["response", "error"]));
    let pair = single.map(|members| (one(members, "response"), one(members, "error")));
    match (pair, read) {
        (Some((Some(response), None)), Ok(ResponseEnvelope::Response(value))) => {
            assert_eq!(value.get(), response);
        }
        (Some((None, Some(error))), read) => {
            let members = model::members(error);
            let found = members.as_deref().filter(|members| {
                are_single(members, &["code", "message", "retryAfter"])
                    && one(members, "code").is_some_and(is_string)
                    && one(members, "message").is_none_or(is_string)
                    && one(members, "retryAfter").is_none_or(|number| seconds(number).is_some())
            });
            match (read, found) {
                (Ok(ResponseEnvelope::Error(error)), Some(members)) => {
                    assert_eq!(Some(error.code_text.get()), one(members, "code"));
                    let code = model::string(error.code_text.get()).expect("a string");
                    assert_eq!(error.code, ErrorCode::named(&code));
                    assert_eq!(error.message.map(|text| text.get()), one(members, "message"));
                    assert_eq!(error.retry_after, one(members, "retryAfter").and_then(seconds));
                }
                (Err(error), None) => assert!(error.offset <= text.len()),
                (read, _) => panic!("the model disagrees with {read:?}"),
            }
        }
        (None | Some((None, None) | (Some(_), Some(_))), Err(error)) => {
            assert!(error.offset <= text.len());
        }
        (_, read) => panic!("the model disagrees with {read:?}"),
    }
}

fn seconds(number: &str) -> Option<u32> {
    let is_number = number.starts_with('-') || number.starts_with(|c: char| c.is_ascii_digit());
    let integer = if is_number { Decimal::parse(number).integer() } else { None };
    integer.and_then(|number| u32::try_from(number).ok())
}

/// The bytes that a value has once it is written anew; `None` where the text does not decide it.
fn anew(text: &str) -> Option<usize> {
    let list = |lens: Vec<Option<usize>>| -> Option<usize> {
        let commas = lens.len().saturating_sub(1);
        Some(lens.into_iter().sum::<Option<usize>>()? + commas + 2)
    };
    match text.as_bytes()[0] {
        b'{' => {
            let members = model::members(text)?;
            // The scanner looks no further.
            if members.len() > 128 || members.iter().any(|(name, _)| all(&members, name).len() > 1)
            {
                return None;
            }
            let len = |(name, value): &(String, &str)| Some(escaped(name) + 1 + anew(value)?);
            list(members.iter().map(len).collect())
        }
        b'[' => list(model::elements(text)?.into_iter().map(anew).collect()),
        b'"' => Some(escaped(&model::string(text)?)),
        b't' | b'f' | b'n' => Some(text.len()),
        _ if text.contains(['.', 'e', 'E']) => None,
        _ => Some(if text == "-0" { 1 } else { text.len() }),
    }
}

fn escaped(text: &str) -> usize {
    let cost = |char: char| match char {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '\0'..' ' => 6,
        _ => char.len_utf8(),
    };
    text.chars().map(cost).sum::<usize>() + 2
}

const LIMIT: usize = 4;
const TIMEOUT: u64 = 30_000;
const GRACE: u64 = 10_000;
const ANSWER: u64 = 170_000;
const OVERALL: (u32, u64) = (12, 60_000);
const PER_SIGNER: (u32, u64) = (3, 30_000);
const BUFFER: usize = 512;
const SERVICES: [Service<'static, Standard>; 2] =
    [Service::new(Standard::MCP, &["2026-07-28"]), Service::new(Standard::A2A, &["1.0"])];
/// Keys of five signers: one more than there is room for. The core pads them, the first request
/// does not.
const KEYS: [&str; 5] = [
    "MCowBQYDK2VwAyEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "MCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "MCowBQYDK2VwAyEAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "MCowBQYDK2VwAyEAAwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "MCowBQYDK2VwAyEABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
];

/// A script of operations on two requesters and two responders, one for each storage, and on
/// naive ones.
///
/// | operation | parameters |
/// |---|---|
/// | `q` request | kind |
/// | `o` response | which call, kind |
/// | `x` failure of the core | which call, kind |
/// | `c` cancel | which call |
/// | `i` incoming request, `I` with a short buffer | kind, signer, id |
/// | `r` respond, `R` respond with what is too large | which request, kind |
/// | `f` fail, `F` with a short buffer | which request |
/// | `a` advance | a span; `b` hands in an earlier time |
/// | `t` handle one timeout of each, `T` with a short buffer | |
///
/// Which: `0` is the last one that was made, `1` the one before.
pub fn rpc_ops(data: &[u8]) {
    let limit = |(requests, millis)| Some(RateLimit::new(requests, Duration::from_millis(millis)));
    let config = ServiceResponderConfig {
        overall: limit(OVERALL),
        per_signer: limit(PER_SIGNER),
        ..ServiceResponderConfig::default()
    };
    let timeouts = ServiceRequesterConfig::default();
    let mut run = Run {
        requesters: (
            ServiceRequester::with_limit(timeouts, usize::MAX),
            ServiceRequester::with_limit(timeouts, LIMIT),
        ),
        responders: (
            ServiceResponder::with_limit(config, usize::MAX),
            ServiceResponder::with_limit(config, LIMIT),
        ),
        calls: Vec::new(),
        requests: Vec::new(),
        ended: VecDeque::new(),
        overall: Window::default(),
        signers: Vec::new(),
        now: 0,
        asked: 0,
        heard: 0,
    };
    let mut script = Script::new(data);
    while let Some(operation) = script.operation() {
        run.step(operation, &mut script);
        run.compare();
    }
    run.finish();
}

struct Call {
    id: ServiceCallId,
    style: Style,
    number: usize,
    deadline: u64,
    is_open: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    Answered,
    Forgotten,
}

struct Incoming {
    id: String,
    tokens: Option<[ServiceToken; 2]>,
    style: Style,
    number: usize,
    deadline: u64,
    state: State,
}

/// The requests of one span.
#[derive(Clone, Copy, Default)]
struct Window {
    until: u64,
    count: u32,
}

impl Window {
    fn take(&mut self, now: u64, (requests, millis): (u32, u64)) -> bool {
        if now >= self.until {
            *self = Self { until: now.saturating_add(millis), count: 0 };
        }
        let is_free = self.count < requests;
        self.count += u32::from(is_free);
        is_free
    }
}

type Pair<I, G> = (I, G);

struct Run {
    requesters:
        Pair<ServiceRequester<Standard, Inline<LIMIT>>, ServiceRequester<Standard, Growable>>,
    responders:
        Pair<ServiceResponder<Standard, Inline<LIMIT>>, ServiceResponder<Standard, Growable>>,
    calls: Vec<Call>,
    requests: Vec<Incoming>,
    ended: VecDeque<usize>,
    overall: Window,
    signers: Vec<(usize, Window)>,
    now: u64,
    /// The latest time that the requesters have seen, and the responders.
    asked: u64,
    heard: u64,
}

/// A request that fits both styles' replies.
fn good(style: Style, number: usize, more: &str) -> String {
    match style {
        Style::Mcp => style.request(number, more),
        _ => format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"SendMessage\",\"a2a-service-parameters\":\
             {{\"A2A-Version\":\"1.0\"}},\"params\":{{\"message\":{{\"text\":\"{more}\"}}}}}}"
        ),
    }
}

fn same<A: core::fmt::Debug, B: core::fmt::Debug>(one: &A, other: &B) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"), "the storages disagree");
}

impl Run {
    fn step(&mut self, operation: u8, script: &mut Script<'_>) {
        match operation {
            b'q' => self.ask(script),
            b'o' | b'x' | b'c' => {
                let Some(place) = script.latest(self.calls.len()) else { return };
                match operation {
                    b'o' => self.response(place, script.below(12)),
                    b'x' => self.failure(place, script.below(7)),
                    _ => {
                        let (id, is_open) = (self.calls[place].id, self.calls[place].is_open);
                        assert_eq!(self.requesters.0.cancel(id), is_open);
                        assert_eq!(self.requesters.1.cancel(id), is_open);
                        self.calls[place].is_open = false;
                    }
                }
            }
            b'i' => self.incoming(script, BUFFER),
            b'I' => self.incoming(script, 10),
            b'r' | b'R' | b'f' | b'F' => {
                let Some(place) = script.latest(self.requests.len()) else { return };
                match operation {
                    b'f' => self.fail(place, BUFFER),
                    b'F' => self.fail(place, 10),
                    _ => self.respond(place, script.below(texts::KINDS), operation == b'R'),
                }
            }
            b'a' => self.now = self.now.saturating_add(script.span()),
            b'b' => self.now = self.now.saturating_sub(script.span()),
            b't' | b'T' => {
                self.silence();
                self.expire(if operation == b't' { BUFFER } else { 10 });
            }
            _ => {}
        }
    }

    fn asking(&mut self) -> Instant {
        self.asked = self.asked.max(self.now);
        Instant::from_millis(self.now)
    }

    fn hearing(&mut self) -> Instant {
        self.heard = self.heard.max(self.now);
        Instant::from_millis(self.now)
    }

    // Requester.

    fn ask(&mut self, script: &mut Script<'_>) {
        let kind = script.below(9);
        let number = self.calls.len() + 1;
        let style = if kind == 1 { Style::Single } else { Style::Mcp };
        let text = match kind {
            2 => Style::Stream.request(number, ""),
            3 => "{}".into(),
            6 => good(style, number, &"x".repeat(11_103)),
            _ => good(style, number, ""),
        };
        let binding = if kind == 2 { Standard::A2A } else { style.binding() };
        let mut call = ServiceCall::new(binding, &text);
        match kind {
            4 => call = call.signed(KEYS[0]),
            5 => call.request_key = Some(KEYS[0]),
            7 => call = call.timeout(Duration::from_secs(1)),
            8 => call = call.version("1"),
            _ => {}
        }
        let now = self.asking();
        let (mut out, mut other) = (alloc::vec![0; 12_000], alloc::vec![0; 12_000]);
        let made = self.requesters.0.request(now, &call, &mut out);
        same(&made, &self.requesters.1.request(now, &call, &mut other));
        let is_full = self.calls.iter().filter(|call| call.is_open).count() == LIMIT;
        match (kind, made) {
            (2, Err(ServiceCallError::NeedsConversation))
            | (3, Err(ServiceCallError::Refused(_)))
            | (5, Err(ServiceCallError::KeyWithoutSignature))
            | (6, Err(ServiceCallError::TooLarge { .. }))
            | (8, Err(ServiceCallError::VersionNotUsed)) => {}
            (0 | 1 | 4 | 7, Err(ServiceCallError::Full { capacity: LIMIT })) => assert!(is_full),
            (0 | 1 | 4 | 7, Ok((id, transmit))) => {
                assert!(!is_full && transmit.fit == Fit::Fine);
                let envelope = RequestEnvelope::parse(transmit.text).expect("a request");
                assert_eq!(envelope.request.get(), text);
                assert_eq!(envelope.request_key.is_some(), kind == 4);
                assert!(self.calls.iter().all(|call| call.id != id), "an id is used again");
                let timeout = if kind == 7 { 1_000 } else { TIMEOUT };
                assert_eq!(transmit.timeout, Duration::from_millis(timeout));
                let deadline = self.asked.saturating_add(timeout).saturating_add(GRACE);
                self.calls.push(Call { id, style, number, deadline, is_open: true });
            }
            (kind, made) => panic!("{made:?} of kind {kind}"),
        }
    }

    fn response(&mut self, place: usize, kind: usize) {
        let Call { id, style, number, is_open, .. } = self.calls[place];
        let error = |code: &str, more: &str| format!("{{\"error\":{{\"code\":\"{code}\"{more}}}}}");
        let after = ",\"retryAfter\":9";
        let nine = Retry::After(Duration::from_secs(9));
        let answer = format!("{{\"response\":{}}}", texts::reply(1, style, number));
        let other = format!("{{\"response\":{}}}", texts::reply(4, style, number));
        let (text, executed, retry) = match kind {
            0 => (answer, Executed::Yes, Retry::Never),
            1 => (other, Executed::Unknown, Retry::IfHarmless),
            2 => ("{}".into(), Executed::Unknown, Retry::IfHarmless),
            3 => (error("internal", after), Executed::Unknown, Retry::IfHarmless),
            4 => (error("too_large", ""), Executed::Unknown, Retry::IfHarmless),
            5 => (error("rate_limited", after), Executed::No, nine),
            6 => (error("conversation_required", after), Executed::No, Retry::InConversation),
            7 => (error("bad_request", ""), Executed::No, Retry::Never),
            8 => (error("brand_new", ""), Executed::No, Retry::Never),
            9 => (error("brand_new", after), Executed::No, nine),
            10 => (error("unsupported_protocol", ""), Executed::No, Retry::Never),
            _ => ("{\"response\":null}".into(), Executed::Unknown, Retry::IfHarmless),
        };
        let now = self.asking();
        let outcome = self.requesters.0.handle_response(now, id, &text);
        same(&outcome, &self.requesters.1.handle_response(now, id, &text));
        assert_eq!(outcome.is_some(), is_open);
        self.calls[place].is_open = false;
        let Some(outcome) = outcome else { return };
        assert_eq!((outcome.call, outcome.executed, outcome.retry), (id, executed, retry));
        let is_right = match outcome.result {
            ServiceResult::Answer { .. } => kind == 0,
            ServiceResult::Foreign(_) => kind == 1 || kind == 11,
            ServiceResult::Envelope(_) => kind == 2,
            ServiceResult::Error { retry_after, .. } => {
                (3..11).contains(&kind) && retry_after.is_some() == text.contains("retryAfter")
            }
            _ => false,
        };
        assert!(is_right, "{:?} of kind {kind}", outcome.result);
    }

    fn failure(&mut self, place: usize, kind: usize) {
        let failure = [
            CoreFailure::Timeout,
            CoreFailure::NoRatchetKeys,
            CoreFailure::Rejected,
            CoreFailure::BadSignature,
            CoreFailure::NoPendingRequest,
            CoreFailure::NotActiveUser,
            CoreFailure::Other,
        ][kind];
        let Call { id, is_open, .. } = self.calls[place];
        let now = self.asking();
        let outcome = self.requesters.0.handle_failure(now, id, failure);
        same(&outcome, &self.requesters.1.handle_failure(now, id, failure));
        assert_eq!(outcome.is_some(), is_open);
        self.calls[place].is_open = false;
        let Some(outcome) = outcome else { return };
        let did_nothing = matches!(kind, 1 | 2 | 3 | 5);
        assert_eq!(outcome.executed == Executed::No, did_nothing);
        assert_eq!(outcome.retry == Retry::Never, did_nothing);
    }

    fn silence(&mut self) -> bool {
        let now = self.asking();
        let outcome = self.requesters.0.handle_timeout(now);
        same(&outcome, &self.requesters.1.handle_timeout(now));
        let open = self.calls.iter().filter(|call| call.is_open);
        let due = open.map(|call| call.deadline).min().filter(|due| *due <= self.asked);
        let Some(outcome) = outcome else {
            assert_eq!(due, None, "a limit has passed and nothing was said");
            return false;
        };
        let call = self.calls.iter_mut().find(|call| call.id == outcome.call).expect("a call");
        assert!(call.is_open && Some(call.deadline) == due);
        assert!(matches!(outcome.result, ServiceResult::Silence));
        call.is_open = false;
        true
    }

    // Responder.

    fn incoming(&mut self, script: &mut Script<'_>, buffer: usize) {
        let kind = script.below(11);
        let signer = script.below(KEYS.len() + 1).checked_sub(1);
        let number = self.requests.len() + 1;
        let id = match script.below(8) {
            0..=5 => format!("new{number}"),
            6 => "i".repeat(65),
            _ => self.requests.last().map_or_else(String::new, |request| request.id.clone()),
        };
        let style = if kind == 1 { Style::Single } else { Style::Mcp };
        let plain = KEYS[0].trim_end_matches('=');
        let body = match kind {
            5 => good(style, number, "").replace("-07-", "-08-"),
            6 => good(style, number, "").replace("tools/list", "subscriptions/listen"),
            7 => Style::Single.request(number, ""),
            8 => "[]".into(),
            _ => good(style, number, ""),
        };
        let key = match kind {
            2 => format!("\"requestKey\":\"{plain}\","),
            3 => "\"requestKey\":\"x\",".into(),
            _ => String::new(),
        };
        let protocol = match kind {
            4 => "MCP",
            7 => "a2a",
            _ => style.binding_name(),
        };
        let text = match kind {
            9 => "[]".into(),
            10 => format!("{{\"protocol\":\"mcp\",\"request\":{body},\"request\":1}}"),
            _ => format!("{{\"protocol\":\"{protocol}\",{key}\"request\":{body}}}"),
        };
        let signer_key = signer.map(|signer| KEYS[signer]);
        let now = self.hearing();
        let (mut out, mut twin_out) = ([0; BUFFER], [0; BUFFER]);
        let received = self.responders.0.handle_request(
            now,
            &id,
            signer_key,
            &text,
            &SERVICES,
            &mut out[..buffer],
        );
        let twin = self.responders.1.handle_request(
            now,
            &id,
            signer_key,
            &text,
            &SERVICES,
            &mut twin_out[..buffer],
        );
        same(&received, &twin);

        let is_known = |request: &Incoming| request.id == id && request.state != State::Forgotten;
        if self.requests.iter().any(is_known) {
            return assert!(matches!(received, Ok(ServiceReceived::Duplicate)));
        }
        let before = self.overall;
        let mut counted = None;
        let expected = self.expected(kind, signer, &id, &mut counted);
        match (received, expected) {
            (Err(error), Some(_)) => {
                assert!(error.needed > buffer);
                self.overall = before;
                if let Some(place) = counted {
                    self.signers[place].1.count -= 1;
                }
            }
            (Ok(ServiceReceived::Answered { response, failure }), Some(expected)) => {
                let code = match ResponseEnvelope::parse(response.text).expect("a response") {
                    ResponseEnvelope::Error(error) => {
                        assert_eq!(
                            error.code == ErrorCode::RateLimited,
                            error.retry_after.is_some()
                        );
                        error.code.to_string()
                    }
                    ResponseEnvelope::Response(value) => {
                        let error =
                            value.as_object().and_then(|value| value.object("error").ok()?);
                        let code = error.and_then(|error| error.get("code").ok()?);
                        code.expect("an error of the protocol").get().into()
                    }
                };
                assert_eq!(code, expected);
                assert_eq!(failure.is_some(), expected.starts_with('-'));
                assert_eq!(response.fit, Fit::Fine);
            }
            (Ok(ServiceReceived::Request(request)), None) => {
                let Ok(ServiceReceived::Request(twin)) = twin else { panic!("disagree") };
                assert_eq!(request.text, body);
                assert_eq!(request.signer.is_some(), signer.is_some());
                let open = self.open().count();
                if open + self.ended.len() == LIMIT {
                    let oldest = self.ended.pop_front().expect("it is not full");
                    self.requests[oldest].state = State::Forgotten;
                }
                let tokens = Some([request.token, twin.token]);
                let deadline = self.heard.saturating_add(ANSWER);
                let state = State::Open;
                self.requests.push(Incoming { id, tokens, style, number, deadline, state });
            }
            (received, expected) => panic!("{received:?} where {expected:?} was expected"),
        }
    }

    fn open(&self) -> impl Iterator<Item = &Incoming> {
        self.requests.iter().filter(|request| request.state == State::Open)
    }

    /// The checks in their order; `None` if the request passes them.
    fn expected(
        &mut self,
        kind: usize,
        signer: Option<usize>,
        id: &str,
        counted: &mut Option<usize>,
    ) -> Option<&'static str> {
        let now = self.heard;
        if !self.overall.take(now, OVERALL) {
            return Some("rate_limited");
        }
        if matches!(kind, 9 | 10) || (kind == 2 && signer != Some(0)) || kind == 3 {
            return Some("bad_request");
        }
        if let Some(signer) = signer {
            self.signers.retain(|(_, window)| window.until > now);
            let place = self.signers.iter().position(|(known, _)| *known == signer);
            let place = match place {
                Some(place) => place,
                None if self.signers.len() == LIMIT => return Some("rate_limited"),
                None => {
                    self.signers.push((signer, Window::default()));
                    self.signers.len() - 1
                }
            };
            if !self.signers[place].1.take(now, PER_SIGNER) {
                return Some("rate_limited");
            }
            *counted = Some(place);
        }
        match kind {
            4 => Some("unsupported_protocol"),
            5 => Some("-32022"),
            6 | 7 => Some("conversation_required"),
            8 => Some("-32600"),
            _ if id.len() > 64 => Some("internal"),
            _ if self.open().count() == LIMIT => Some("rate_limited"),
            _ => None,
        }
    }

    fn end(&mut self, place: usize) {
        self.requests[place].state = State::Answered;
        self.ended.push_back(place);
    }

    /// Whether a request can still be answered.
    fn is_in_time(&self, place: usize) -> bool {
        let request = &self.requests[place];
        request.state == State::Open && self.heard < request.deadline
    }

    fn respond(&mut self, place: usize, kind: usize, is_long: bool) {
        let request = &mut self.requests[place];
        let Some([token, twin]) = request.tokens.take() else { return };
        let mut text = texts::reply(kind, request.style, request.number);
        let is_answer = matches!(texts::meaning(kind, request.style), Meaning::Last { .. });
        let meaning = texts::meaning(kind, request.style);
        let is_long = is_long && text.starts_with('{');
        if is_long {
            let long = format!("{{\"more\":\"{}\",", "x".repeat(11_103));
            text.replace_range(..1, &long);
        }
        let now = self.hearing();
        let (mut out, mut twin_out) = ([0; BUFFER], [0; BUFFER]);
        let result = self.responders.0.respond(now, token, &text, &mut out);
        let twin_result = self.responders.1.respond(now, twin, &text, &mut twin_out);
        same(&result, &twin_result);
        match (result, twin_result) {
            (Ok((id, response)), Ok(_)) => {
                assert!(self.is_in_time(place) && is_answer, "{meaning:?} was sent");
                assert_eq!(id.as_str(), self.requests[place].id);
                assert_eq!(response.error, is_long.then_some(ErrorCode::TooLarge));
                assert_eq!(response.text == format!("{{\"response\":{text}}}"), !is_long);
                self.end(place);
            }
            (Err(error), Err(twin)) => {
                match error.cause {
                    ServiceAnswerError::Gone => assert!(!self.is_in_time(place)),
                    ServiceAnswerError::NotLast => assert_eq!(meaning, Meaning::Notification),
                    ServiceAnswerError::NotAnAnswer(_) => assert_eq!(meaning, Meaning::Foreign),
                    ServiceAnswerError::Buffer(_) => panic!("there is room"),
                }
                let is_gone = error.cause == ServiceAnswerError::Gone;
                assert!(is_gone || self.is_in_time(place));
                self.requests[place].tokens = Some([error.token, twin.token]);
            }
            _ => panic!("the storages disagree"),
        }
    }

    fn fail(&mut self, place: usize, buffer: usize) {
        let Some([token, twin]) = self.requests[place].tokens.take() else { return };
        let now = self.hearing();
        let (mut out, mut twin_out) = ([0; BUFFER], [0; BUFFER]);
        let code = ErrorCode::Internal;
        let result = self.responders.0.fail(now, token, code, None, None, &mut out[..buffer]);
        let twin_result =
            self.responders.1.fail(now, twin, code, None, None, &mut twin_out[..buffer]);
        same(&result, &twin_result);
        match (result, twin_result) {
            (Ok((_, response)), Ok(_)) => {
                assert!(self.is_in_time(place) && buffer == BUFFER);
                assert_eq!(response.text, "{\"error\":{\"code\":\"internal\"}}");
                self.end(place);
            }
            (Err(error), Err(twin)) => {
                match error.cause {
                    ServiceAnswerError::Gone => assert!(!self.is_in_time(place)),
                    ServiceAnswerError::Buffer(_) => {
                        assert!(self.is_in_time(place) && buffer < BUFFER);
                    }
                    cause => panic!("{cause}"),
                }
                self.requests[place].tokens = Some([error.token, twin.token]);
            }
            _ => panic!("the storages disagree"),
        }
    }

    fn expire(&mut self, buffer: usize) -> bool {
        let now = self.hearing();
        let (mut out, mut twin_out) = ([0; BUFFER], [0; BUFFER]);
        let expired = self.responders.0.handle_timeout(now, &mut out[..buffer]);
        same(&expired, &self.responders.1.handle_timeout(now, &mut twin_out[..buffer]));
        let due = self.open().map(|request| request.deadline).min();
        let due = due.filter(|due| *due <= self.heard);
        let expired = match expired {
            Err(_) => {
                assert!(due.is_some() && buffer < BUFFER);
                return false;
            }
            Ok(None) => {
                assert_eq!(due, None, "a limit has passed and nothing was said");
                return false;
            }
            Ok(Some(expired)) => expired,
        };
        let is_it = |request: &Incoming| {
            request.state == State::Open && request.id == expired.request_id.as_str()
        };
        let place = self.requests.iter().position(is_it).expect("an open request");
        assert_eq!(Some(self.requests[place].deadline), due);
        let code = match self.requests[place].style {
            Style::Mcp => ErrorCode::Internal,
            _ => ErrorCode::ConversationRequired,
        };
        assert_eq!(expired.response.error, Some(code));
        self.end(place);
        true
    }

    /// What getters say.
    fn compare(&self) {
        let calls = || self.calls.iter().filter(|call| call.is_open);
        let counts = [self.requesters.0.open(), self.requesters.1.open()];
        assert_eq!(counts, [calls().count(); 2]);
        let next = calls().map(|call| Instant::from_millis(call.deadline)).min();
        assert_eq!([self.requesters.0.poll_timeout(), self.requesters.1.poll_timeout()], [next; 2]);
        let counts = [self.responders.0.open(), self.responders.1.open()];
        assert_eq!(counts, [self.open().count(); 2]);
        let next = self.open().map(|request| Instant::from_millis(request.deadline)).min();
        assert_eq!([self.responders.0.poll_timeout(), self.responders.1.poll_timeout()], [next; 2]);
    }

    /// At the end of time nothing is open, and all the room there was is there again.
    fn finish(mut self) {
        self.now = u64::MAX;
        while self.silence() {}
        while self.expire(BUFFER) {}
        self.compare();
        assert_eq!(self.calls.iter().filter(|call| call.is_open).count(), 0);
        assert_eq!(self.open().count(), 0);
        for _ in 0..LIMIT {
            self.ask(&mut Script::new(b"0"));
        }
        assert_eq!(self.requesters.0.open(), LIMIT);
        self.compare();
    }
}
