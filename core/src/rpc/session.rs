//! Both machines of Service RPC with bounded queues, for drivers that own what they handle (feature
//! `alloc`).
//!
//! A [`ServiceSession`] is one profile that makes requests and answers them. Its contract is that
//! of [`chat::session`](crate::chat::session): change it once, take outputs until
//! [`ServiceOutput::Timeout`], do what they say.
//!
//! ```text
//!   requests, responses ──▶ ┌───────────────────────┐ ──▶ ServiceOutput::Transmit  what the core is to send
//!   failures of the core ─▶ │ ServiceRequester      │ ──▶ ServiceOutput::Event     what the application learns
//!   time ─────────────────▶ │ ServiceResponder      │ ──▶ ServiceOutput::Timeout   when to come back
//!   request, respond, … ──▶ └───────────────────────┘
//! ```
//!
//! Where a request goes and which key signs it is the driver's: the session hands `T` through as it
//! was given.
//!
//! # Failures over Service RPC
//!
//! A handler says what has failed in the binding's words. Where the envelope has a code for it, the
//! envelope's error is sent; what is the protocol's own is sent as its error, in `response`:
//!
//! | failure | sent |
//! |---|---|
//! | [`Failure::TooLarge`] | `too_large` |
//! | [`Failure::Busy`], [`Failure::Stopping`] | `rate_limited` with `retryAfter` |
//! | [`Failure::RateLimited`], [`Failure::QuotaExceeded`] | `rate_limited` with theirs |
//! | [`Failure::PushNotSupported`], [`Failure::NotApproved`] | `conversation_required` |
//! | [`Failure::Internal`] | `internal` |
//! | [`Failure::TimedOut`] | `conversation_required` where the binding says so, else `internal` |
//! | any other | the binding's error |

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::envelope::{EnvelopeError, ErrorCode};
use super::key::SignerKey;
use super::requester::{
    CoreFailure, Executed, Retry, ServiceCall, ServiceCallError, ServiceCallId, ServiceOutcome,
    ServiceRequester, ServiceRequesterConfig, ServiceResult,
};
use super::responder::{
    ENVELOPE, RequestId, ServiceAnswerError, ServiceReceived, ServiceRespondError,
    ServiceResponder, ServiceResponderConfig, ServiceResponse, ServiceToken,
};
use super::size::{Fit, Framing, NormalisedLen};
use crate::binding::{Binding, Class, End, Failure, Foreign};
use crate::chat::Growable;
use crate::chat::responder::Service;
use crate::chat::session::Declared;
use crate::chat::size::TooLarge;
use crate::json::{BufferTooSmall, Str, Value, Writer};
use crate::time::Instant;

/// The limits of a [`ServiceSession`].
///
/// ```
/// use agentwire_core::rpc::session::ServiceSessionConfig;
/// assert_eq!(ServiceSessionConfig::default().max_requests, 1_024);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServiceSessionConfig {
    /// The requester's limits.
    pub requester: ServiceRequesterConfig,
    /// The responder's limits.
    pub responder: ServiceResponderConfig,
    /// How many own requests can be open at once; 1,024 by default.
    pub max_calls: usize,
    /// How many requests of others can be open at once; 1,024 by default.
    pub max_requests: usize,
    /// How many outputs wait to be taken; 1,024 by default.
    pub max_queued: usize,
}

impl Default for ServiceSessionConfig {
    fn default() -> Self {
        Self {
            requester: ServiceRequesterConfig::default(),
            responder: ServiceResponderConfig::default(),
            max_calls: 1_024,
            max_requests: 1_024,
            max_queued: 1_024,
        }
    }
}

/// What happened.
///
/// ```
/// use agentwire_core::rpc::session::ServiceInput;
/// let input = ServiceInput::Request { request_id: "cmVx", signer_key: None, text: "{}" };
/// assert!(matches!(input, ServiceInput::Request { signer_key: None, .. }));
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum ServiceInput<'i> {
    /// A request has arrived: the core's `serviceRequest`.
    Request {
        /// The core's id of it.
        request_id: &'i str,
        /// The key that the core has verified.
        signer_key: Option<&'i str>,
        /// The envelope.
        text: &'i str,
    },
    /// The response to an own request has arrived: the core's `serviceResponse`.
    Response {
        /// Which request.
        call: ServiceCallId,
        /// The envelope.
        text: &'i str,
    },
    /// The core could not do it.
    Failure {
        /// Which request.
        call: ServiceCallId,
        /// Why.
        failure: CoreFailure,
    },
}

impl fmt::Debug for ServiceInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { request_id, signer_key, text } => f
                .debug_struct("Request")
                .field("request_id_len", &request_id.len())
                .field("is_signed", &signer_key.is_some())
                .field("text_len", &text.len())
                .finish(),
            Self::Response { call, text } => f
                .debug_struct("Response")
                .field("call", call)
                .field("text_len", &text.len())
                .finish(),
            Self::Failure { call, failure } => {
                f.debug_struct("Failure").field("call", call).field("failure", failure).finish()
            }
        }
    }
}

/// What the core is to send.
///
/// ```
/// use agentwire_core::rpc::session::ServiceMessage;
/// fn len(message: &ServiceMessage<()>) -> usize {
///     match message {
///         ServiceMessage::Request { text, .. } | ServiceMessage::Response { text, .. } => text.len(),
///         _ => 0,
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceMessage<T> {
    /// A request: the arguments of the core's `/_service_request`.
    Request {
        /// Which one.
        call: ServiceCallId,
        /// Where it goes, and which key signs it.
        target: T,
        /// The envelope.
        text: String,
        /// How long the core is to wait for the response.
        timeout: Duration,
        /// Whether it fits.
        fit: Fit,
    },
    /// A response: the arguments of the core's `/_service_response`.
    Response {
        /// The core's id of the request.
        request_id: RequestId,
        /// The envelope.
        text: String,
        /// The envelope's error, if it is one.
        error: Option<ErrorCode>,
    },
}

impl<T: fmt::Debug> fmt::Debug for ServiceMessage<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { call, target, text, timeout, fit } => f
                .debug_struct("Request")
                .field("call", call)
                .field("target", target)
                .field("text_len", &text.len())
                .field("timeout", timeout)
                .field("fit", fit)
                .finish(),
            Self::Response { request_id, text, error } => f
                .debug_struct("Response")
                .field("request_id", request_id)
                .field("text_len", &text.len())
                .field("error", error)
                .finish(),
        }
    }
}

/// How an own request has ended: [`ServiceOutcome`] without borrows.
///
/// ```
/// use agentwire_core::rpc::session::ServiceReply;
/// fn show(reply: &ServiceReply) -> String {
///     format!("{:?}, executed: {:?}, again: {:?}", reply.kind, reply.executed, reply.retry)
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServiceReply {
    /// The request.
    pub call: ServiceCallId,
    /// What came.
    pub kind: ServiceReplyKind,
    /// Whether it has been executed.
    pub executed: Executed,
    /// Whether to make it again.
    pub retry: Retry,
}

/// What came of a request: [`ServiceResult`] without borrows.
///
/// ```
/// use agentwire_core::rpc::CoreFailure;
/// use agentwire_core::rpc::session::ServiceReplyKind;
/// let timeout = ServiceReplyKind::Core(CoreFailure::Timeout);
/// assert_eq!(timeout.to_string(), "the chat core: no response came in time");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceReplyKind {
    /// The protocol's response: a result, or an error of the protocol.
    Answer {
        /// The response.
        text: String,
        /// How it ends the request.
        end: End,
    },
    /// An error of the envelope.
    Error {
        /// What happened.
        code: ErrorCode,
        /// The code as it is written.
        code_text: String,
        /// A description for logs.
        message: Option<String>,
        /// After which time a repeated request can succeed, as the responder says.
        retry_after: Option<Duration>,
    },
    /// The response is not one of the protocol to this request.
    Foreign(Foreign),
    /// The response is not an envelope.
    Envelope(EnvelopeError),
    /// The core could not do it.
    Core(CoreFailure),
    /// The core has said nothing in time.
    Silence,
}

impl fmt::Debug for ServiceReplyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { text, end } => {
                f.debug_struct("Answer").field("text_len", &text.len()).field("end", end).finish()
            }
            Self::Error { code, message, .. } => f
                .debug_struct("Error")
                .field("code", code)
                .field("message_len", &message.as_ref().map(String::len))
                .finish_non_exhaustive(),
            Self::Foreign(foreign) => f.debug_tuple("Foreign").field(foreign).finish(),
            Self::Envelope(error) => f.debug_tuple("Envelope").field(error).finish(),
            Self::Core(failure) => f.debug_tuple("Core").field(failure).finish(),
            Self::Silence => f.write_str("Silence"),
        }
    }
}

/// A sentence about it, without what the other side says.
impl fmt::Display for ServiceReplyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { end: End::Error { code }, .. } => {
                write!(f, "the protocol's error {code}")
            }
            Self::Answer { .. } => f.write_str("an answer"),
            Self::Error { code, .. } => write!(f, "the responder: {code}"),
            Self::Foreign(foreign) => write!(f, "the response is none of the protocol: {foreign}"),
            Self::Envelope(error) => write!(f, "the response is no envelope: {error}"),
            Self::Core(failure) => write!(f, "the chat core: {failure}"),
            Self::Silence => f.write_str("the chat core says nothing"),
        }
    }
}

fn owned(text: Str<'_>) -> String {
    text.chars().collect()
}

impl From<ServiceOutcome<'_>> for ServiceReply {
    fn from(outcome: ServiceOutcome<'_>) -> Self {
        let ServiceOutcome { call, result, executed, retry } = outcome;
        let kind = match result {
            ServiceResult::Answer { response, class: Class::Last(end) } => {
                ServiceReplyKind::Answer { text: response.get().into(), end }
            }
            // The requester takes nothing but a last reply for an answer.
            ServiceResult::Answer { .. } => ServiceReplyKind::Foreign(Foreign::NotAReply),
            ServiceResult::Error { code, code_text, message, retry_after } => {
                ServiceReplyKind::Error {
                    code,
                    code_text: owned(code_text),
                    message: message.map(owned),
                    retry_after,
                }
            }
            ServiceResult::Foreign(foreign) => ServiceReplyKind::Foreign(foreign),
            ServiceResult::Envelope(error) => ServiceReplyKind::Envelope(error),
            ServiceResult::Core(failure) => ServiceReplyKind::Core(failure),
            ServiceResult::Silence => ServiceReplyKind::Silence,
        };
        Self { call, kind, executed, retry }
    }
}

/// A request to answer. The right to answer stays in the session, which knows the request by its
/// id.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::rpc::session::IncomingRequest;
/// fn show(request: &IncomingRequest<Standard>) -> String {
///     format!("{} bytes, signed: {}", request.text.len(), request.signer.is_some())
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncomingRequest<B> {
    /// The core's id of it.
    pub request_id: RequestId,
    /// The protocol.
    pub binding: B,
    /// The protocol's request, one JSON object.
    pub text: String,
    /// The JSON text with which an answer names the request, where the protocol has one.
    pub id: Option<String>,
    /// The envelope's version, as JSON text.
    pub version: Option<String>,
    /// Who signed it.
    pub signer: Option<SignerKey>,
    /// Bytes that the response has at most, as the core writes it.
    pub room: usize,
}

impl<B: fmt::Debug> fmt::Debug for IncomingRequest<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncomingRequest")
            .field("request_id", &self.request_id)
            .field("binding", &self.binding)
            .field("text_len", &self.text.len())
            .field("is_signed", &self.signer.is_some())
            .finish_non_exhaustive()
    }
}

/// What the application learns.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::rpc::session::ServiceEvent;
/// fn is_request(event: &ServiceEvent<Standard>) -> bool {
///     matches!(event, ServiceEvent::Request(_))
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ServiceEvent<B> {
    /// An own request has ended.
    Reply(ServiceReply),
    /// A request to answer.
    Request(IncomingRequest<B>),
    /// A request was answered with an error at once.
    Refused {
        /// The envelope's error; `None` if the response is the protocol's own error.
        code: Option<ErrorCode>,
    },
    /// A request's limit has passed, and the error was sent.
    Expired(RequestId),
}

/// What there is to do.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::rpc::session::{ServiceOutput, ServiceSession, ServiceSessionConfig};
/// let mut session =
///     ServiceSession::<Standard, ()>::new(ServiceSessionConfig::default(), Vec::new());
/// assert!(matches!(session.poll_output(), ServiceOutput::Timeout(None)));
/// ```
#[derive(Debug)]
#[must_use]
#[allow(clippy::exhaustive_enums)]
pub enum ServiceOutput<B, T> {
    /// The core is to send this. If it does not send a request, say so with
    /// [`ServiceInput::Failure`].
    Transmit(ServiceMessage<T>),
    /// The application learns this.
    Event(ServiceEvent<B>),
    /// Nothing more is to be done before the next input or this time.
    Timeout(Option<Instant>),
}

/// Why a request was not taken: as many outputs wait as can. Nothing has changed: take outputs, and
/// hand it in again.
///
/// ```
/// use agentwire_core::rpc::session::ServiceQueueFull;
/// let error = ServiceQueueFull { capacity: 1_024 };
/// assert_eq!(error.to_string(), "1024 outputs wait to be taken, no more can");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)]
pub struct ServiceQueueFull {
    /// How many.
    pub capacity: usize,
}

impl fmt::Display for ServiceQueueFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} outputs wait to be taken, no more can", self.capacity)
    }
}

impl core::error::Error for ServiceQueueFull {}

/// A request that is being answered.
struct Open<B> {
    token: ServiceToken,
    binding: B,
    id: Option<String>,
}

/// One profile that makes requests and answers them over Service RPC. See the [module](self).
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::Declared;
/// use agentwire_core::rpc::session::{
///     ServiceEvent, ServiceInput, ServiceMessage, ServiceOutput, ServiceSession,
///     ServiceSessionConfig,
/// };
/// use agentwire_core::time::Instant;
///
/// let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
/// let mut session = ServiceSession::<_, ()>::new(ServiceSessionConfig::default(), declared);
/// let now = Instant::from_millis(0);
/// let text = r#"{"protocol":"a2a","request":{"jsonrpc":"2.0","id":1,"method":"SendMessage",
///     "a2a-service-parameters":{"A2A-Version":"1.0"},
///     "params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}}"#;
/// let input = ServiceInput::Request { request_id: "cmVx", signer_key: None, text };
/// session.handle_input(now, input).unwrap();
/// let ServiceOutput::Event(ServiceEvent::Request(request)) = session.poll_output() else {
///     panic!()
/// };
/// let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"n"}}}"#;
/// assert_eq!(session.respond(now, &request.request_id, answer), Ok(None));
/// let ServiceOutput::Transmit(ServiceMessage::Response { text, .. }) = session.poll_output() else {
///     panic!()
/// };
/// assert!(text.starts_with(r#"{"response":{"jsonrpc""#));
/// ```
pub struct ServiceSession<B, T> {
    requester: ServiceRequester<B, Growable>,
    responder: ServiceResponder<B, Growable>,
    declared: Vec<Declared<B>>,
    outputs: VecDeque<ServiceOutput<B, T>>,
    open: BTreeMap<String, Open<B>>,
    max_queued: usize,
    retry_after: u32,
    is_stopping: bool,
    /// Where the machines write.
    scratch: Vec<u8>,
    now: Instant,
}

impl<B: Binding, T> ServiceSession<B, T> {
    /// A session that serves these protocols over Service RPC.
    pub fn new(config: ServiceSessionConfig, declared: Vec<Declared<B>>) -> Self {
        Self {
            requester: ServiceRequester::with_limit(config.requester, config.max_calls),
            responder: ServiceResponder::with_limit(config.responder, config.max_requests),
            declared,
            outputs: VecDeque::new(),
            open: BTreeMap::new(),
            max_queued: config.max_queued,
            retry_after: config.responder.retry_when_full,
            is_stopping: false,
            scratch: vec![0; 512],
            now: Instant::ZERO,
        }
    }

    /// Hands in what happened. A response or a failure is always taken.
    ///
    /// # Errors
    /// [`ServiceQueueFull`]; nothing has changed then.
    pub fn handle_input(
        &mut self,
        now: Instant,
        input: ServiceInput<'_>,
    ) -> Result<(), ServiceQueueFull> {
        self.now = self.now.max(now);
        let outcome = match input {
            ServiceInput::Request { request_id, signer_key, text } => {
                self.room()?;
                self.incoming(request_id, signer_key, text);
                return Ok(());
            }
            ServiceInput::Response { call, text } => {
                self.requester.handle_response(self.now, call, text).map(ServiceReply::from)
            }
            ServiceInput::Failure { call, failure } => {
                self.requester.handle_failure(self.now, call, failure).map(ServiceReply::from)
            }
        };
        // Of a request that was cancelled nobody wants to know.
        if let Some(reply) = outcome {
            self.outputs.push_back(ServiceOutput::Event(ServiceEvent::Reply(reply)));
        }
        Ok(())
    }

    /// Moves time on; time never runs backwards. What is due comes with the next outputs.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// What there is to do next. [`ServiceOutput::Timeout`] is the last one.
    pub fn poll_output(&mut self) -> ServiceOutput<B, T> {
        if let Some(output) = self.outputs.pop_front() {
            return output;
        }
        if let Some(outcome) = self.requester.handle_timeout(self.now) {
            return ServiceOutput::Event(ServiceEvent::Reply(outcome.into()));
        }
        loop {
            match self.responder.handle_timeout(self.now, &mut self.scratch) {
                Ok(None) => return ServiceOutput::Timeout(self.poll_timeout()),
                Ok(Some(expired)) => {
                    let message = response(&expired.request_id, &expired.response);
                    self.open.remove(expired.request_id.as_str());
                    let event = ServiceEvent::Expired(expired.request_id);
                    self.outputs.push_back(ServiceOutput::Event(event));
                    return ServiceOutput::Transmit(message);
                }
                Err(error) => grow(&mut self.scratch, error),
            }
        }
    }

    /// Makes a request. `target` says where it goes and which key signs it.
    ///
    /// # Errors
    /// [`ServiceCallError`], with [`ServiceCallError::Full`] also when as many outputs wait as can;
    /// nothing has changed then.
    pub fn request<'c>(
        &mut self,
        now: Instant,
        target: T,
        call: &ServiceCall<'c, B>,
    ) -> Result<ServiceCallId, ServiceCallError<'c>> {
        self.room().map_err(|full| ServiceCallError::Full { capacity: full.capacity })?;
        self.now = self.now.max(now);
        let mut buffer = vec![0; call.request.len().saturating_add(256)];
        loop {
            let needed = match self.requester.request(self.now, call, &mut buffer) {
                Ok((id, transmit)) => {
                    let message = ServiceMessage::Request {
                        call: id,
                        target,
                        text: transmit.text.into(),
                        timeout: transmit.timeout,
                        fit: transmit.fit,
                    };
                    self.outputs.push_back(ServiceOutput::Transmit(message));
                    return Ok(id);
                }
                Err(ServiceCallError::Buffer(error)) => error,
                Err(error) => return Err(error),
            };
            grow(&mut buffer, needed);
        }
    }

    /// Stops waiting for a response. `false` if the request is not open.
    pub fn cancel(&mut self, call: ServiceCallId) -> bool {
        self.requester.cancel(call)
    }

    /// Gives the response to a request. `Ok` with its size if it did not fit: `too_large` was sent
    /// in its place.
    ///
    /// # Errors
    /// [`ServiceAnswerError`]: the request is still to be answered, unless it is
    /// [`Gone`](ServiceAnswerError::Gone).
    pub fn respond(
        &mut self,
        now: Instant,
        request: &RequestId,
        text: &str,
    ) -> Result<Option<TooLarge>, ServiceAnswerError> {
        let replaced = self.answer(now, request, |responder, now, token, out| {
            responder.respond(now, token, text, out)
        })?;
        Ok(replaced.map(|_| {
            let len = Value::parse(text).map(NormalisedLen::of).unwrap_or_default();
            let needed = len.max.saturating_add(ENVELOPE);
            TooLarge { needed, limit: Framing::Response.max_len() }
        }))
    }

    /// Answers with an error of the envelope.
    ///
    /// # Errors
    /// [`ServiceAnswerError::Gone`]
    pub fn fail_with(
        &mut self,
        now: Instant,
        request: &RequestId,
        code: ErrorCode,
        message: Option<&str>,
        retry_after: Option<u32>,
    ) -> Result<(), ServiceAnswerError> {
        let answered = self.answer(now, request, |responder, now, token, out| {
            responder.fail(now, token, code, message, retry_after, out)
        });
        answered.map(|_| ())
    }

    /// Answers with an error: the envelope's or the binding's, as the [module](self) says.
    ///
    /// # Errors
    /// [`ServiceAnswerError::Gone`]
    pub fn fail(
        &mut self,
        now: Instant,
        request: &RequestId,
        failure: &Failure<'_>,
    ) -> Result<(), ServiceAnswerError> {
        let open = self.open.get(request.as_str()).ok_or(ServiceAnswerError::Gone)?;
        let (code, retry_after) = match failure {
            Failure::TooLarge { .. } => (ErrorCode::TooLarge, None),
            Failure::Busy { .. } | Failure::Stopping => {
                (ErrorCode::RateLimited, Some(self.retry_after))
            }
            Failure::RateLimited { retry_after } | Failure::QuotaExceeded { retry_after } => {
                (ErrorCode::RateLimited, Some(*retry_after))
            }
            // An owner is asked about a command in a conversation, which can wait.
            Failure::PushNotSupported | Failure::NotApproved => {
                (ErrorCode::ConversationRequired, None)
            }
            Failure::TimedOut if open.binding.late_needs_conversation() => {
                (ErrorCode::ConversationRequired, None)
            }
            Failure::TimedOut | Failure::Internal => (ErrorCode::Internal, None),
            _ => {
                let write = |out: &mut Writer<'_>| {
                    open.binding.write_failure(failure, open.id.as_deref(), out);
                };
                let mut counter = Writer::new(&mut []);
                write(&mut counter);
                let mut buffer = vec![0; counter.needed()];
                let mut out = Writer::new(&mut buffer);
                write(&mut out);
                let text = out.finish().map_err(ServiceAnswerError::Buffer)?;
                return self.respond(now, request, text).map(|_| ());
            }
        };
        self.fail_with(now, request, code, Some(failure.sentence()), retry_after)
    }

    /// When the first limit of an open request passes.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timeouts = [self.requester.poll_timeout(), self.responder.poll_timeout()];
        timeouts.into_iter().flatten().min()
    }

    /// How many own requests are open.
    pub fn open_calls(&self) -> usize {
        self.requester.open()
    }

    /// How many requests of others are open.
    pub fn open_requests(&self) -> usize {
        self.responder.open()
    }

    /// Takes no new requests: they are answered with `rate_limited`. Open ones can still be
    /// answered.
    pub fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Adds a protocol, or states other versions of one that is served.
    pub fn declare(&mut self, declared: Declared<B>) {
        self.declared.retain(|known| known.binding().name() != declared.binding().name());
        self.declared.push(declared);
    }

    /// The protocols that are served.
    pub fn declared(&self) -> &[Declared<B>] {
        &self.declared
    }

    /// Gives an answer to a request that is open.
    fn answer(
        &mut self,
        now: Instant,
        request: &RequestId,
        mut give: impl for<'o> FnMut(
            &mut ServiceResponder<B, Growable>,
            Instant,
            ServiceToken,
            &'o mut [u8],
        )
            -> Result<(RequestId, ServiceResponse<'o>), ServiceRespondError>,
    ) -> Result<Option<ErrorCode>, ServiceAnswerError> {
        self.now = self.now.max(now);
        let open = self.open.remove(request.as_str());
        let Open { mut token, binding, id } = open.ok_or(ServiceAnswerError::Gone)?;
        loop {
            match give(&mut self.responder, self.now, token, &mut self.scratch) {
                Ok((request_id, given)) => {
                    let message = response(&request_id, &given);
                    self.outputs.push_back(ServiceOutput::Transmit(message));
                    return Ok(given.error);
                }
                Err(ServiceRespondError { token: back, cause }) => match cause {
                    ServiceAnswerError::Buffer(error) => {
                        token = back;
                        grow(&mut self.scratch, error);
                    }
                    ServiceAnswerError::Gone => return Err(cause),
                    _ => {
                        self.open
                            .insert(request.as_str().into(), Open { token: back, binding, id });
                        return Err(cause);
                    }
                },
            }
        }
    }

    fn incoming(&mut self, request_id: &str, signer_key: Option<&str>, text: &str) {
        let versions: Vec<Vec<&str>> = self
            .declared
            .iter()
            .map(|declared| declared.versions().iter().map(String::as_str).collect())
            .collect();
        let services: Vec<Service<'_, B>> = self
            .declared
            .iter()
            .zip(&versions)
            .map(|(declared, versions)| Service::new(*declared.binding(), versions))
            .collect();
        let request = loop {
            let (now, out) = (self.now, &mut self.scratch);
            match self.responder.handle_request(now, request_id, signer_key, text, &services, out) {
                Ok(ServiceReceived::Request(request)) => break request,
                Ok(ServiceReceived::Answered { response: given, .. }) => {
                    if let Some(request_id) = RequestId::new(request_id) {
                        let message = response(&request_id, &given);
                        self.outputs.push_back(ServiceOutput::Transmit(message));
                    }
                    let event = ServiceEvent::Refused { code: given.error };
                    self.outputs.push_back(ServiceOutput::Event(event));
                    return;
                }
                Ok(ServiceReceived::Duplicate) => return,
                Err(error) => grow(&mut self.scratch, error),
            }
        };
        // The responder keeps no request whose id is too long.
        let Some(request_id) = RequestId::new(request_id) else { return };
        let id: Option<String> = request.id.map(Into::into);
        let incoming = IncomingRequest {
            request_id: request_id.clone(),
            binding: request.binding,
            text: request.text.into(),
            id: id.clone(),
            version: request.version.map(|version| version.get().into()),
            signer: request.signer,
            room: Framing::Response.max_len().saturating_sub(ENVELOPE),
        };
        let open = Open { token: request.token, binding: request.binding, id };
        self.open.insert(request_id.as_str().into(), open);
        let event = if self.is_stopping {
            // It was just accepted, so it can be answered.
            let _ = self.fail(self.now, &request_id, &Failure::Stopping);
            ServiceEvent::Refused { code: Some(ErrorCode::RateLimited) }
        } else {
            ServiceEvent::Request(incoming)
        };
        self.outputs.push_back(ServiceOutput::Event(event));
    }

    fn room(&self) -> Result<(), ServiceQueueFull> {
        let capacity = self.max_queued;
        if self.outputs.len() < capacity { Ok(()) } else { Err(ServiceQueueFull { capacity }) }
    }
}

impl<B: Binding, T> fmt::Debug for ServiceSession<B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceSession")
            .field("requester", &self.requester)
            .field("responder", &self.responder)
            .field("outputs", &self.outputs.len())
            .finish_non_exhaustive()
    }
}

fn response<T>(request_id: &RequestId, given: &ServiceResponse<'_>) -> ServiceMessage<T> {
    ServiceMessage::Response {
        request_id: request_id.clone(),
        text: given.text.into(),
        error: given.error,
    }
}

/// Makes room for what did not fit.
fn grow(buffer: &mut Vec<u8>, error: BufferTooSmall) {
    buffer.resize(error.needed.max(buffer.len().saturating_add(1)), 0);
}

#[cfg(test)]
mod tests;
