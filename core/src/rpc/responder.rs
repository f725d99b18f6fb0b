//! The responder machine of Service RPC: requests in, one response each.
//!
//! ```text
//!       handle_request()
//!             │
//!   refused ──┤ Answered: the envelope's error, or the protocol's own error as the response
//!             │ Request, with a Token
//!             ▼
//!       ┌───────────┐  respond(): the response, or too_large in its place
//!       │ Answering │  fail(): the envelope's error
//!       └───────────┘  · the limit passes: handle_timeout() gives conversation_required for a
//!             │          protocol that says so, else internal
//!             ▼
//!          answered: nothing more is ever sent
//! ```
//!
//! # The order of checks
//!
//! | check | what a request gets that fails it |
//! |---|---|
//! | overall rate limit | `rate_limited` with `retryAfter` |
//! | the envelope | `bad_request` |
//! | `requestKey` against the verified signer | `bad_request` |
//! | the signer's rate limit | `rate_limited` with `retryAfter` |
//! | the protocol is served over Service RPC | `unsupported_protocol` |
//! | the envelope's `version`, for a protocol that uses it | `unsupported_version` |
//! | the protocol's own checks, the version in its messages among them | its error, as the response |
//! | one request and one response suffice | `conversation_required` |
//! | room in the table | `rate_limited` with `retryAfter` |
//! | the size of the response, once it is given | `too_large` |
//!
//! A response that is written here, the protocol's error among them, is measured like one of the
//! handler's: `too_large` stands in the place of what does not fit.
//!
//! Keys are compared by their bytes: one key in two encodings is one key. A request with
//! `requestKey` that nobody signed is as bad as one that somebody else signed.

use core::fmt;
use core::time::Duration;

use super::envelope::{ErrorCode, RequestEnvelope, ResponseEnvelope};
use super::key::SignerKey;
use super::size::{Fit, Framing, NormalisedLen};
use crate::binding::{Binding, Class, Expectation, Failure, Foreign, Place};
use crate::chat::Storage;
use crate::chat::responder::Service;
use crate::json::{self, BufferTooSmall, Value, Writer};
use crate::rate::{RateLimit, Window, seconds_until};
use crate::table::{Full, Hasher, Keyed, Table, Ticket};
use crate::time::Instant;

/// How long after it received a request the core takes a response ("Exchange").
pub const RESPONSE_LIMIT: Duration = Duration::from_secs(180);

/// The limits of a [`ServiceResponder`].
///
/// ```
/// use agentwire_core::rpc::ServiceResponderConfig;
/// use core::time::Duration;
/// assert_eq!(ServiceResponderConfig::default().limit, Duration::from_secs(170));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServiceResponderConfig {
    /// How long a handler has; 170 seconds by default, and at most [`RESPONSE_LIMIT`], the core's
    /// own limit.
    pub limit: Duration,
    /// How many requests are taken from everybody together; as many as come by default.
    pub overall: Option<RateLimit>,
    /// How many requests are taken from one signer; as many as come by default. Unsigned requests
    /// have no signer.
    pub per_signer: Option<RateLimit>,
    /// Seconds after which a request can be repeated that found the table full; one by default.
    pub retry_when_full: u32,
}

impl Default for ServiceResponderConfig {
    fn default() -> Self {
        Self {
            limit: Duration::from_secs(170),
            overall: None,
            per_signer: None,
            retry_when_full: 1,
        }
    }
}

/// The right, and the duty, to answer one request. It is moved into the answer, so that a second
/// one does not compile.
///
/// ```compile_fail
/// # use agentwire_core::binding::Standard;
/// # use agentwire_core::chat::Inline;
/// # use agentwire_core::rpc::{ServiceResponder, ServiceToken};
/// # use agentwire_core::time::Instant;
/// fn twice(responder: &mut ServiceResponder<Standard, Inline<1>>, token: ServiceToken) {
///     let _ = responder.respond(Instant::ZERO, token, "{}", &mut []);
///     let _ = responder.respond(Instant::ZERO, token, "{}", &mut []);
/// }
/// ```
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a request that nobody answers gets an error when its limit passes"]
pub struct ServiceToken(Ticket);

/// A request to answer, borrowed from its envelope.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::rpc::ServiceRequest;
/// fn is_signed(request: &ServiceRequest<'_, Standard>) -> bool {
///     request.signer.is_some()
/// }
/// ```
#[non_exhaustive]
pub struct ServiceRequest<'m, B> {
    /// With which to answer.
    pub token: ServiceToken,
    /// The protocol.
    pub binding: B,
    /// The protocol's request, one JSON object.
    pub text: &'m str,
    /// The JSON text with which an answer names the request, where the protocol has one.
    pub id: Option<&'m str>,
    /// The envelope's version, for a protocol that uses it.
    pub version: Option<Value<'m>>,
    /// Who signed it, as the core has verified.
    pub signer: Option<SignerKey>,
}

impl<B: fmt::Debug> fmt::Debug for ServiceRequest<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceRequest")
            .field("token", &self.token)
            .field("binding", &self.binding)
            .field("text_len", &self.text.len())
            .field("is_signed", &self.signer.is_some())
            .finish_non_exhaustive()
    }
}

/// A response to send: the argument of the core's `/_service_response`.
///
/// ```
/// use agentwire_core::rpc::ServiceResponse;
/// fn show(response: &ServiceResponse<'_>) -> usize {
///     response.text.len()
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "the response has to be sent"]
#[non_exhaustive]
pub struct ServiceResponse<'o> {
    /// The envelope.
    pub text: &'o str,
    /// The envelope's error, if it is one.
    pub error: Option<ErrorCode>,
    /// Whether it fits: a response SHOULD NOT exceed [`ADVISED_LEN`](super::ADVISED_LEN).
    pub fit: Fit,
}

impl<'o> ServiceResponse<'o> {
    /// A response of the protocol.
    const fn answer(text: &'o str, len: NormalisedLen) -> Self {
        Self { text, error: None, fit: Fit::of_len(len, Framing::Response) }
    }

    /// Writes an error of the envelope, without its message if it does not fit with it.
    fn refusal(
        out: &'o mut [u8],
        code: ErrorCode,
        message: Option<&str>,
        retry_after: Option<u32>,
    ) -> Result<Self, BufferTooSmall> {
        let len = message.map_or(0, json::length::escaped_len);
        let message = message.filter(|_| len <= MAX_MESSAGE_LEN);
        let text = ResponseEnvelope::write_error(out, code, message, retry_after)?;
        Ok(Self { text, error: Some(code), fit: Fit::Fine })
    }
}

/// The longest message of an error that is sent, in bytes with its escapes: with it every error
/// has fewer bytes than are advised.
pub const MAX_MESSAGE_LEN: usize = super::ADVISED_LEN - 100;

impl fmt::Debug for ServiceResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceResponse")
            .field("text_len", &self.text.len())
            .field("error", &self.error)
            .field("fit", &self.fit)
            .finish()
    }
}

/// What a request is to the responder.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::Inline;
/// use agentwire_core::rpc::{ErrorCode, ServiceReceived, ServiceResponder};
/// use agentwire_core::time::Instant;
///
/// let mut responder = ServiceResponder::<Standard, Inline<1>>::default();
/// let mut buffer = [0; 128];
/// let received = responder.handle_request(Instant::ZERO, "cmVx", None, "[]", &[], &mut buffer);
/// let ServiceReceived::Answered { response, .. } = received.unwrap() else { panic!() };
/// assert_eq!(response.error, Some(ErrorCode::BadRequest));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ServiceReceived<'m, 'o, B> {
    /// A request to answer.
    Request(ServiceRequest<'m, B>),
    /// A request that is answered at once: send it.
    Answered {
        /// The response.
        response: ServiceResponse<'o>,
        /// The protocol's failure, if the response is its error.
        failure: Option<Failure<'m>>,
    },
    /// The request has been received before, and is being answered or has been: nothing is sent.
    Duplicate,
}

/// Why a response was not taken.
///
/// ```
/// use agentwire_core::rpc::ServiceAnswerError;
/// assert_eq!(ServiceAnswerError::Gone.to_string(), "the request has been answered");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServiceAnswerError {
    /// The request has been answered, or its limit has passed: nothing more is sent.
    Gone,
    /// The text is not a response of the protocol to this request.
    NotAnAnswer(Foreign),
    /// A notification or part of a stream, which Service RPC does not carry.
    NotLast,
    /// The buffer is too short for the envelope.
    Buffer(BufferTooSmall),
}

impl fmt::Display for ServiceAnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the request has been answered"),
            Self::NotAnAnswer(foreign) => write!(f, "not an answer to the request: {foreign}"),
            Self::NotLast => f.write_str("not a last reply; Service RPC carries one response"),
            Self::Buffer(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ServiceAnswerError {}

/// A response that was not taken, with the token back so that another one can be given.
///
/// ```
/// use agentwire_core::rpc::ServiceRespondError;
/// fn why(error: &ServiceRespondError) -> String {
///     error.cause.to_string()
/// }
/// ```
#[derive(PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServiceRespondError {
    /// The right to answer; after [`ServiceAnswerError::Gone`] it is worth nothing.
    pub token: ServiceToken,
    /// Why.
    pub cause: ServiceAnswerError,
}

impl fmt::Display for ServiceRespondError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl core::error::Error for ServiceRespondError {}

/// The error for a request whose limit has passed.
///
/// ```
/// use agentwire_core::rpc::ServiceExpired;
/// fn show(expired: &ServiceExpired<'_>) -> String {
///     expired.request_id.as_str().to_owned()
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "the error has to be sent"]
#[non_exhaustive]
pub struct ServiceExpired<'o> {
    /// The core's id of the request.
    pub request_id: RequestId,
    /// The response.
    pub response: ServiceResponse<'o>,
}

/// A request that is being answered.
struct Open<B> {
    request_id: RequestId,
    binding: B,
    expected: Expectation,
    deadline: Instant,
}

fn hash(request_id: &str) -> u32 {
    Hasher::new().text(request_id).finish()
}

impl<B> Keyed for Open<B> {
    fn hashes(&self) -> [Option<u32>; 2] {
        [Some(hash(self.request_id.as_str())), None]
    }
}

struct Signer {
    key: SignerKey,
    window: Window,
}

fn signer_hash(key: &SignerKey) -> u32 {
    let mut hasher = Hasher::new();
    for word in key.as_bytes().chunks(8) {
        let word = word.try_into().map(i64::from_le_bytes).unwrap_or_default();
        hasher = hasher.int(word);
    }
    hasher.finish()
}

impl Keyed for Signer {
    fn hashes(&self) -> [Option<u32>; 2] {
        [Some(signer_hash(&self.key)), None]
    }
}

/// The responder machine of Service RPC. See the [module](self) for its states and the order of
/// its checks.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::Inline;
/// use agentwire_core::chat::responder::Service;
/// use agentwire_core::rpc::{ServiceReceived, ServiceResponder};
/// use agentwire_core::time::Instant;
///
/// let mut responder = ServiceResponder::<Standard, Inline<4>>::default();
/// let services = [Service::new(Standard::A2A, &["1.0"])];
/// let text = r#"{"protocol":"a2a","request":{"jsonrpc":"2.0","id":1,"method":"SendMessage",
///     "a2a-service-parameters":{"A2A-Version":"1.0"},
///     "params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}}"#;
/// let mut buffer = [0; 256];
/// let now = Instant::from_millis(0);
/// let received = responder.handle_request(now, "cmVx", None, text, &services, &mut buffer);
/// let ServiceReceived::Request(request) = received.unwrap() else { panic!() };
/// let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"n"}}}"#;
/// let (id, response) = responder.respond(now, request.token, answer, &mut buffer).unwrap();
/// assert_eq!((id.as_str(), response.error), ("cmVx", None));
/// assert!(response.text.starts_with(r#"{"response":{"jsonrpc""#));
/// ```
pub struct ServiceResponder<B, S: Storage> {
    open: Table<Open<B>, S>,
    signers: Table<Signer, S>,
    everybody: Window,
    config: ServiceResponderConfig,
    now: Instant,
}

/// The core's id of a request, kept with its request.
///
/// ```
/// use agentwire_core::rpc::RequestId;
/// assert_eq!(RequestId::new("cmVx").unwrap().as_str(), "cmVx");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(heapless::String<MAX_REQUEST_ID_LEN>);

/// The longest id of a request that is kept, in bytes. The core's are base64url of a few dozen
/// random bytes.
pub const MAX_REQUEST_ID_LEN: usize = 64;

impl RequestId {
    /// Keeps an id, if it is not too long.
    pub fn new(text: &str) -> Option<Self> {
        heapless::String::try_from(text).ok().map(Self)
    }

    /// The id as the core wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({})", self.0.escape_debug())
    }
}

impl<B: Binding, S: Storage> Default for ServiceResponder<B, S> {
    /// The default limits, and as many requests as the storage has room for: at most 1,024.
    fn default() -> Self {
        Self::with_limit(ServiceResponderConfig::default(), 1_024)
    }
}

impl<B: Binding, S: Storage> ServiceResponder<B, S> {
    /// A machine for at most `limit` open requests, or fewer where the storage has less room. It
    /// limits the rate of as many signers.
    pub fn with_limit(config: ServiceResponderConfig, limit: usize) -> Self {
        Self {
            open: Table::new(limit),
            signers: Table::new(limit),
            everybody: Window::new(),
            config,
            now: Instant::ZERO,
        }
    }

    /// A request as the core reports it: its id, the key that it has verified, and the envelope.
    /// `services` are the protocols that are served over Service RPC; `out` holds a response that
    /// is to be sent at once, if there is one.
    ///
    /// # Errors
    /// [`BufferTooSmall`] when a response has to be written and `out` is short. No request is open
    /// then, and the same call succeeds with a larger buffer.
    pub fn handle_request<'m, 'o>(
        &mut self,
        now: Instant,
        request_id: &str,
        signer_key: Option<&str>,
        text: &'m str,
        services: &'m [Service<'m, B>],
        out: &'o mut [u8],
    ) -> Result<ServiceReceived<'m, 'o, B>, BufferTooSmall> {
        self.advance(now);
        let is_it = |open: &Open<B>| open.request_id.as_str() == request_id;
        if self.open.find(0, hash(request_id), is_it).is_some() {
            return Ok(ServiceReceived::Duplicate);
        }
        let before = self.everybody;
        let mut counted = None;
        match self.accept(request_id, signer_key, text, services, &mut counted) {
            Ok(request) => Ok(ServiceReceived::Request(request)),
            Err(refused) => match refused.write(out) {
                Ok(answered) => Ok(answered),
                Err(error) => {
                    // The request comes again with a larger buffer: it counts once.
                    self.everybody = before;
                    if let Some(signer) = counted.and_then(|ticket| self.signers.get_mut(ticket)) {
                        signer.window.give_back();
                    }
                    Err(error)
                }
            },
        }
    }

    /// The checks, in their order; `counted` is where the request's signer was counted.
    fn accept<'m>(
        &mut self,
        request_id: &str,
        signer_key: Option<&str>,
        text: &'m str,
        services: &'m [Service<'m, B>],
        counted: &mut Option<Ticket>,
    ) -> Result<ServiceRequest<'m, B>, Refused<'m, B>> {
        let refuse = |code, message| Refused::Envelope(code, message, None);
        let limited =
            |seconds| Refused::Envelope(ErrorCode::RateLimited, "too many requests", Some(seconds));
        if let Some(limit) = self.config.overall {
            self.everybody.take(self.now, limit).map_err(limited)?;
        }
        let bad = |message| refuse(ErrorCode::BadRequest, message);
        let envelope = RequestEnvelope::parse(text).map_err(|_| bad("the envelope is invalid"))?;
        let signer = signer_key.map(SignerKey::parse);
        if let Some(stated) = envelope.request_key {
            let mut buffer = [0; 128];
            let stated = stated.decode(&mut buffer).ok().and_then(|key| SignerKey::parse(key).ok());
            match (stated, signer) {
                (_, None) => return Err(bad("a request with requestKey has to be signed")),
                (Some(stated), Some(Ok(signer))) if stated == signer => {}
                _ => return Err(bad("requestKey is not the key of the signature")),
            }
        }
        // A key that the core has verified and this cannot read still signs nothing here.
        let signer = signer.and_then(Result::ok);
        if let (Some(limit), Some(key)) = (self.config.per_signer, signer) {
            *counted = self.take_from(key, limit).map_err(limited)?;
        }
        let service = services
            .iter()
            .find(|service| envelope.protocol == *service.binding.name().get())
            .ok_or(refuse(ErrorCode::UnsupportedProtocol, "the protocol is not served"))?;
        let binding = service.binding;
        if binding.uses_envelope_version()
            && !binding.serves_envelope_version(envelope.version, service.versions)
        {
            return Err(refuse(ErrorCode::UnsupportedVersion, "the version is not served"));
        }
        let request = envelope.request.get();
        let needs_conversation =
            refuse(ErrorCode::ConversationRequired, "the request needs a conversation");
        // Nobody else sees a request that comes over Service RPC.
        let accepted = match binding.accept(request, service.versions, Place::Direct) {
            Ok(accepted) => accepted,
            Err(refusal) if refusal.failure == Failure::PushNotSupported => {
                return Err(needs_conversation);
            }
            Err(refusal) => return Err(Refused::Protocol(binding, refusal.failure, refusal.id)),
        };
        if !binding.is_one_shot(request) {
            return Err(needs_conversation);
        }
        let Some(request_id) = RequestId::new(request_id) else {
            return Err(refuse(ErrorCode::Internal, "the id of the request is too long"));
        };
        let deadline = self.now.saturating_add(self.config.limit.min(RESPONSE_LIMIT));
        let open = Open { request_id, binding, expected: accepted.expected, deadline };
        let ticket = self.open.insert(deadline, open).map_err(|Full { .. }| {
            let seconds = Some(self.config.retry_when_full);
            Refused::Envelope(ErrorCode::RateLimited, "too many requests are open", seconds)
        })?;
        Ok(ServiceRequest {
            token: ServiceToken(ticket),
            binding,
            text: request,
            id: accepted.id,
            version: envelope.version,
            signer,
        })
    }

    /// Counts a request of a signer, and says where; the seconds to wait if it is one too many.
    fn take_from(&mut self, key: SignerKey, limit: RateLimit) -> Result<Option<Ticket>, u32> {
        let now = self.now;
        // Signers whose span is over are forgotten, so that the table holds the busy ones.
        while let Some((until, ticket)) = self.signers.earliest() {
            if until > now {
                break;
            }
            self.signers.end(ticket);
        }
        let known = self.signers.find(0, signer_hash(&key), |signer| signer.key == key);
        if let Some((ticket, true)) = known {
            let Some(signer) = self.signers.get_mut(ticket) else { return Ok(None) };
            return signer.window.take(now, limit).map(|()| Some(ticket));
        }
        let mut window = Window::new();
        window.take(now, limit)?;
        let entry = Signer { key, window };
        match self.signers.insert(window.until(), entry) {
            Ok(ticket) => Ok(Some(ticket)),
            Err(Full { .. }) => {
                let until = self.signers.earliest().map_or(window.until(), |(until, _)| until);
                Err(seconds_until(until, now))
            }
        }
    }

    /// The response of the protocol. It is put into the envelope, which is written into `out`; if
    /// it does not fit, the envelope's `too_large` stands in its place.
    ///
    /// # Errors
    /// [`ServiceRespondError`] with the token; nothing has changed then.
    pub fn respond<'o>(
        &mut self,
        now: Instant,
        token: ServiceToken,
        text: &str,
        out: &'o mut [u8],
    ) -> Result<(RequestId, ServiceResponse<'o>), ServiceRespondError> {
        self.advance(now);
        match self.response(&token, text, out) {
            Ok(answer) => {
                self.open.end(token.0);
                Ok(answer)
            }
            Err(cause) => Err(ServiceRespondError { token, cause }),
        }
    }

    fn response<'o>(
        &self,
        token: &ServiceToken,
        text: &str,
        out: &'o mut [u8],
    ) -> Result<(RequestId, ServiceResponse<'o>), ServiceAnswerError> {
        let open = self.answering(token).ok_or(ServiceAnswerError::Gone)?;
        match open.binding.classify(&open.expected, text) {
            Class::Last(_) => {}
            Class::Notification { .. } | Class::Part { .. } => {
                return Err(ServiceAnswerError::NotLast);
            }
            Class::Foreign(foreign) => return Err(ServiceAnswerError::NotAnAnswer(foreign)),
        }
        let value = Value::parse(text)
            .map_err(|error| ServiceAnswerError::NotAnAnswer(Foreign::Json(error)))?;
        let len = NormalisedLen::at_most(value).saturating_add(ENVELOPE);
        let written = if len > Framing::Response.max_len() {
            ServiceResponse::refusal(out, ErrorCode::TooLarge, Some(TOO_LARGE), None)
        } else {
            let len = NormalisedLen::exact(len);
            ResponseEnvelope::write(out, value.get()).map(|text| ServiceResponse::answer(text, len))
        };
        let response = written.map_err(ServiceAnswerError::Buffer)?;
        Ok((open.request_id.clone(), response))
    }

    /// The request of a token, if it is still time to answer it.
    fn answering(&self, token: &ServiceToken) -> Option<&Open<B>> {
        self.open.get(token.0).filter(|open| self.now < open.deadline)
    }

    /// Answers with an error of the envelope: [`ErrorCode::ConversationRequired`] for a tool that
    /// needs one, [`ErrorCode::Internal`] when the handler has failed. A message of more than
    /// [`MAX_MESSAGE_LEN`] bytes is left out.
    ///
    /// # Errors
    /// [`ServiceRespondError`] with the token; nothing has changed then.
    pub fn fail<'o>(
        &mut self,
        now: Instant,
        token: ServiceToken,
        code: ErrorCode,
        message: Option<&str>,
        retry_after: Option<u32>,
        out: &'o mut [u8],
    ) -> Result<(RequestId, ServiceResponse<'o>), ServiceRespondError> {
        self.advance(now);
        let Some(open) = self.answering(&token) else {
            return Err(ServiceRespondError { token, cause: ServiceAnswerError::Gone });
        };
        let request_id = open.request_id.clone();
        match ServiceResponse::refusal(out, code, message, retry_after) {
            Ok(response) => {
                self.open.end(token.0);
                Ok((request_id, response))
            }
            Err(error) => {
                Err(ServiceRespondError { token, cause: ServiceAnswerError::Buffer(error) })
            }
        }
    }

    /// Moves time on. Returns the error for a request whose limit has passed, written into `out`,
    /// if there is one: repeat until `None`. A call of this without need does nothing, and time
    /// never runs backwards.
    ///
    /// # Errors
    /// [`BufferTooSmall`]: the request stays open, and the same call succeeds with a larger
    /// buffer.
    pub fn handle_timeout<'o>(
        &mut self,
        now: Instant,
        out: &'o mut [u8],
    ) -> Result<Option<ServiceExpired<'o>>, BufferTooSmall> {
        self.advance(now);
        let Some((deadline, ticket)) = self.open.earliest() else { return Ok(None) };
        if deadline > self.now {
            return Ok(None);
        }
        let Some(open) = self.open.get(ticket) else { return Ok(None) };
        let (code, message) = if open.binding.late_needs_conversation() {
            (ErrorCode::ConversationRequired, "the work takes longer than a request may")
        } else {
            (ErrorCode::Internal, "no answer came in time")
        };
        let request_id = open.request_id.clone();
        let response = ServiceResponse::refusal(out, code, Some(message), None)?;
        self.open.end(ticket);
        Ok(Some(ServiceExpired { request_id, response }))
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.open.earliest().map(|(deadline, _)| deadline)
    }

    /// How many requests are open.
    pub fn open(&self) -> usize {
        self.open.open()
    }

    /// How many requests can be open at once.
    pub fn capacity(&self) -> usize {
        self.open.limit()
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }
}

impl<B: Binding, S: Storage> fmt::Debug for ServiceResponder<B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceResponder")
            .field("open", &self.open())
            .field("capacity", &self.capacity())
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// The bytes of the envelope around a response: `{"response":}`.
pub(super) const ENVELOPE: usize = 13;

/// What `too_large` says for the requester's logs.
const TOO_LARGE: &str = "the response is too large";

/// Why a request is answered at once.
enum Refused<'m, B> {
    /// With an error of the envelope.
    Envelope(ErrorCode, &'static str, Option<u32>),
    /// With an error of the protocol, as the response.
    Protocol(B, Failure<'m>, Option<&'m str>),
}

impl<'m, B: Binding> Refused<'m, B> {
    fn write<'o>(self, out: &'o mut [u8]) -> Result<ServiceReceived<'m, 'o, B>, BufferTooSmall> {
        let (response, failure) = match self {
            Self::Envelope(code, message, retry_after) => {
                (ServiceResponse::refusal(out, code, Some(message), retry_after)?, None)
            }
            Self::Protocol(binding, failure, id) => {
                let text = protocol_error(binding, &failure, id, out)?;
                let len = Value::parse(text).map_or(usize::MAX, NormalisedLen::at_most);
                // The error repeats the request's id, which may be nearly as long as a request.
                let response = if len > Framing::Response.max_len() {
                    ServiceResponse::refusal(out, ErrorCode::TooLarge, Some(TOO_LARGE), None)?
                } else {
                    let text = protocol_error(binding, &failure, id, out)?;
                    ServiceResponse::answer(text, NormalisedLen::exact(len))
                };
                (response, Some(failure))
            }
        };
        Ok(ServiceReceived::Answered { response, failure })
    }
}

/// A response that is an error of the protocol.
fn protocol_error<'o, B: Binding>(
    binding: B,
    failure: &Failure<'_>,
    id: Option<&str>,
    out: &'o mut [u8],
) -> Result<&'o str, BufferTooSmall> {
    let mut writer = Writer::new(out);
    writer.raw("{\"response\":");
    binding.write_failure(failure, id, &mut writer);
    writer.raw("}");
    writer.finish()
}

#[cfg(test)]
mod tests;
