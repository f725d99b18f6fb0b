//! The requester machine of Service RPC: one request out, one response in.
//!
//! ```text
//!        request()
//!           │ ServiceTransmit
//!           ▼
//!      ┌─────────┐  handle_response(): the protocol's answer, or the envelope's error
//!      │ Waiting │  handle_failure(): the core could not do it
//!      └─────────┘  · the limit passes and the core has said nothing: handle_timeout()
//!           │       · cancel()
//!           ▼
//!         ended
//! ```
//!
//! # What became of it
//!
//! A request that was sent may have been executed though no answer came, and the agent has no
//! idempotency: a repeated request is executed twice. So each end says what is known, and this
//! machine never repeats a request by itself.
//!
//! | end | executed? | sensible |
//! |---|---|---|
//! | an answer of the protocol | yes | |
//! | `rate_limited` | no | later |
//! | `conversation_required` | no | in a conversation |
//! | `unsupported_protocol`, `unsupported_version`, `bad_request` | no | not as it is |
//! | `too_large`, `internal` | unknown | only if repeating does no harm |
//! | another code with `retryAfter` | no | later |
//! | another code | no | not at all: it is final |
//! | a timeout, of the core or of this machine | unknown | only if repeating does no harm |
//! | an address without ratchet keys, a rejection, a signature that is not good, not the active user, not sent | no | not as it is |
//! | a response that is none of the protocol's | unknown | only if repeating does no harm |

use core::fmt;
use core::time::Duration;

use super::envelope::{EnvelopeError, ErrorCode, RequestEnvelope, ResponseEnvelope};
use super::key::SignerKey;
use super::size::{Fit, Framing, NormalisedLen};
use crate::binding::{Binding, Class, Expectation, Failure, Foreign, Place, Refusal};
use crate::chat::Storage;
use crate::json::{BufferTooSmall, Str, Value};
use crate::table::{Full, Keyed, Table, Ticket};
use crate::time::Instant;

/// How long the core waits for a response if it is not told otherwise ("Exchange").
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The limits of a [`ServiceRequester`].
///
/// ```
/// use agentwire_core::rpc::ServiceRequesterConfig;
/// use core::time::Duration;
/// assert_eq!(ServiceRequesterConfig::default().timeout, Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServiceRequesterConfig {
    /// How long the core is to wait for a response; [`DEFAULT_TIMEOUT`] by default.
    pub timeout: Duration,
    /// How much longer this machine waits for the core to say so; ten seconds by default.
    pub grace: Duration,
}

impl Default for ServiceRequesterConfig {
    fn default() -> Self {
        Self { timeout: DEFAULT_TIMEOUT, grace: Duration::from_secs(10) }
    }
}

/// A request to make.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::rpc::ServiceCall;
/// use core::time::Duration;
/// let call = ServiceCall::new(Standard::MCP, "{}").timeout(Duration::from_secs(60));
/// assert!(call.request_key.is_none() && !call.is_signed);
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ServiceCall<'a, B> {
    /// The protocol.
    pub binding: B,
    /// The protocol's request, a JSON object.
    pub request: &'a str,
    /// The protocol's version as JSON text, for a protocol whose messages do not include one.
    pub version: Option<&'a str>,
    /// The requester's public key, as the core writes keys.
    pub request_key: Option<&'a str>,
    /// Whether the core signs the request: whether it is given `sign_key`.
    pub is_signed: bool,
    /// How long to wait for the response; the machine's limit if it does not say.
    pub timeout: Option<Duration>,
}

impl<'a, B> ServiceCall<'a, B> {
    /// An unsigned request.
    pub const fn new(binding: B, request: &'a str) -> Self {
        Self { binding, request, version: None, request_key: None, is_signed: false, timeout: None }
    }

    /// The same request, signed with the key whose public part this is.
    #[must_use]
    pub const fn signed(mut self, request_key: &'a str) -> Self {
        self.request_key = Some(request_key);
        self.is_signed = true;
        self
    }

    /// The same request with a version in the envelope.
    #[must_use]
    pub const fn version(mut self, version: &'a str) -> Self {
        self.version = Some(version);
        self
    }

    /// The same request with a limit of its own.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl<B: fmt::Debug> fmt::Debug for ServiceCall<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceCall")
            .field("binding", &self.binding)
            .field("request_len", &self.request.len())
            .field("is_signed", &self.is_signed)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A request that has been made. It is not reused: the id of one that has ended names nothing.
///
/// ```
/// # use agentwire_core::{binding::Standard, chat::Inline, time::Instant};
/// # use agentwire_core::rpc::{ServiceCall, ServiceRequester};
/// # let mut requester = ServiceRequester::<Standard, Inline<1>>::default();
/// # let text = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
/// # let mut buffer = [0; 512];
/// # let call = ServiceCall::new(Standard::MCP, text);
/// let (id, _) = requester.request(Instant::ZERO, &call, &mut buffer).unwrap();
/// assert!(requester.cancel(id));
/// assert!(!requester.cancel(id));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ServiceCallId(Ticket);

/// A request to send: the arguments of the core's `/_service_request`.
///
/// ```
/// use agentwire_core::rpc::{Fit, ServiceTransmit};
/// fn may_fail(transmit: &ServiceTransmit<'_>) -> bool {
///     transmit.fit != Fit::Fine
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "the request has to be sent"]
#[non_exhaustive]
pub struct ServiceTransmit<'o> {
    /// The envelope.
    pub text: &'o str,
    /// How long the core is to wait: the option `timeout`.
    pub timeout: Duration,
    /// Whether it fits.
    pub fit: Fit,
}

impl fmt::Debug for ServiceTransmit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceTransmit")
            .field("text_len", &self.text.len())
            .field("timeout", &self.timeout)
            .field("fit", &self.fit)
            .finish()
    }
}

/// Why a request was not made. Nothing has changed and nothing is to be sent.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::Inline;
/// use agentwire_core::rpc::{ServiceCall, ServiceCallError, ServiceRequester};
/// use agentwire_core::time::Instant;
///
/// let mut requester = ServiceRequester::<Standard, Inline<1>>::default();
/// let mut call = ServiceCall::new(Standard::MCP, "{}");
/// call.request_key = Some("MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=");
/// let mut buffer = [0; 64];
/// let error = requester.request(Instant::ZERO, &call, &mut buffer).unwrap_err();
/// assert_eq!(error, ServiceCallError::KeyWithoutSignature);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServiceCallError<'a> {
    /// A request with `requestKey` has to be signed with that key ("Request").
    KeyWithoutSignature,
    /// `requestKey` is not a key as the core writes keys.
    Key(super::key::SignerKeyError),
    /// The binding refuses the request: it is none.
    Refused(Failure<'a>),
    /// Service RPC does not carry this request: it needs a conversation.
    NeedsConversation,
    /// The version is not JSON text.
    Version(crate::json::Error),
    /// The protocol's messages include their version: the envelope's is omitted ("Versions and
    /// capabilities", "Service parameters").
    VersionNotUsed,
    /// The envelope around the request would be no JSON: the request is none, or has no room for
    /// one more level of nesting.
    Json(crate::json::Error),
    /// The request does not fit whatever the framing.
    TooLarge {
        /// Bytes that the core's encoding takes at least.
        needed: usize,
        /// Bytes that fit at the very most.
        limit: usize,
    },
    /// The buffer is too short for the envelope.
    Buffer(BufferTooSmall),
    /// As many requests are open as can be.
    Full {
        /// How many.
        capacity: usize,
    },
}

impl ServiceCallError<'_> {
    /// The same error without what it borrows.
    #[must_use]
    pub const fn detached(self) -> ServiceCallError<'static> {
        match self {
            Self::Refused(failure) => ServiceCallError::Refused(failure.detached()),
            Self::KeyWithoutSignature => ServiceCallError::KeyWithoutSignature,
            Self::Key(error) => ServiceCallError::Key(error),
            Self::NeedsConversation => ServiceCallError::NeedsConversation,
            Self::Version(error) => ServiceCallError::Version(error),
            Self::VersionNotUsed => ServiceCallError::VersionNotUsed,
            Self::Json(error) => ServiceCallError::Json(error),
            Self::TooLarge { needed, limit } => ServiceCallError::TooLarge { needed, limit },
            Self::Buffer(error) => ServiceCallError::Buffer(error),
            Self::Full { capacity } => ServiceCallError::Full { capacity },
        }
    }
}

impl fmt::Display for ServiceCallError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyWithoutSignature => {
                f.write_str("a request with requestKey has to be signed with that key")
            }
            Self::Key(error) => write!(f, "requestKey: {error}"),
            Self::Refused(failure) => f.write_str(failure.sentence()),
            Self::NeedsConversation => f.write_str("the request needs a conversation"),
            Self::Version(error) => write!(f, "the version: {error}"),
            Self::VersionNotUsed => f.write_str("the protocol's messages include their version"),
            Self::Json(error) => write!(f, "the envelope: {error}"),
            Self::TooLarge { needed, limit } => {
                write!(f, "the request takes {needed} bytes at least, at most {limit} fit")
            }
            Self::Buffer(error) => error.fmt(f),
            Self::Full { capacity } => write!(f, "{capacity} requests are open, no more can be"),
        }
    }
}

impl core::error::Error for ServiceCallError<'_> {}

/// What the core says when it could not do it (its `A_SERVICE` errors and `differentActiveUser`).
///
/// ```
/// use agentwire_core::rpc::{CoreFailure, Executed};
/// assert_eq!(CoreFailure::Timeout.executed(), Executed::Unknown);
/// assert_eq!(CoreFailure::NoRatchetKeys.executed(), Executed::No);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum CoreFailure {
    /// No response came in time (`ASETimeout`). A responder that runs without service requests
    /// drops requests in silence and looks the same.
    Timeout,
    /// The address has no ratchet keys (`ASENotDRAddress`): it takes no requests.
    NoRatchetKeys,
    /// The responder's agent rejects it (`ASERejected`).
    Rejected,
    /// The responder's agent finds the signature not good (`ASEBadSignature`).
    BadSignature,
    /// There is no request to respond to (`ASENoPendingRequest`).
    NoPendingRequest,
    /// The user is not the active one (`differentActiveUser`).
    NotActiveUser,
    /// The requester's own core does not send it: it breaks the command's grammar, or does not fit
    /// with the reply queue that this core has made.
    Refused,
    /// Anything else.
    Other,
}

impl CoreFailure {
    /// Whether the request can have been executed.
    pub const fn executed(self) -> Executed {
        match self {
            Self::Timeout | Self::Other | Self::NoPendingRequest => Executed::Unknown,
            Self::NoRatchetKeys
            | Self::Rejected
            | Self::BadSignature
            | Self::NotActiveUser
            | Self::Refused => Executed::No,
        }
    }
}

impl fmt::Display for CoreFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no response came in time",
            Self::NoRatchetKeys => "the address has no ratchet keys",
            Self::Rejected => "the responder's agent rejects the request",
            Self::BadSignature => "the signature is not good",
            Self::NoPendingRequest => "there is no request to respond to",
            Self::NotActiveUser => "the user is not the active one",
            Self::Refused => "the request was not sent",
            Self::Other => "another error",
        })
    }
}

/// Whether a request has been executed.
///
/// ```
/// use agentwire_core::rpc::{ErrorCode, Executed};
/// assert_eq!(Executed::after(ErrorCode::RateLimited), Executed::No);
/// assert_eq!(Executed::after(ErrorCode::Internal), Executed::Unknown);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)]
pub enum Executed {
    /// It has.
    Yes,
    /// It has not.
    No,
    /// Nobody here can know.
    Unknown,
}

impl Executed {
    /// After an error of the envelope.
    pub const fn after(code: ErrorCode) -> Self {
        match code {
            ErrorCode::TooLarge | ErrorCode::Internal => Self::Unknown,
            _ => Self::No,
        }
    }
}

/// Whether it is sensible to make the same request again.
///
/// ```
/// use agentwire_core::rpc::Retry;
/// use core::time::Duration;
/// assert_ne!(Retry::After(Duration::from_secs(5)), Retry::Never);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)]
pub enum Retry {
    /// The same request would meet the same end.
    Never,
    /// After this time, as the responder says, or at any time if it is zero.
    After(Duration),
    /// In a conversation.
    InConversation,
    /// Only if executing it twice does no harm.
    IfHarmless,
}

/// How a request has ended, borrowed from the response.
///
/// ```
/// use agentwire_core::rpc::ServiceOutcome;
/// fn show(outcome: &ServiceOutcome<'_>) -> String {
///     format!("executed: {:?}, again: {:?}", outcome.executed, outcome.retry)
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServiceOutcome<'m> {
    /// The request. It is no longer open.
    pub call: ServiceCallId,
    /// What came.
    pub result: ServiceResult<'m>,
    /// Whether it has been executed.
    pub executed: Executed,
    /// Whether to make it again.
    pub retry: Retry,
}

/// What came of a request.
///
/// ```
/// use agentwire_core::rpc::ServiceResult;
/// fn is_answered(result: &ServiceResult<'_>) -> bool {
///     matches!(result, ServiceResult::Answer { .. })
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ServiceResult<'m> {
    /// The protocol's response: a result, or an error of the protocol.
    Answer {
        /// The response itself.
        response: Value<'m>,
        /// What it is to the request.
        class: Class<'m>,
    },
    /// An error of the envelope.
    Error {
        /// What happened.
        code: ErrorCode,
        /// The code as it is written.
        code_text: Str<'m>,
        /// A description for logs.
        message: Option<Str<'m>>,
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

/// A request that is open.
struct Open<B> {
    binding: B,
    expected: Expectation,
}

impl<B> Keyed for Open<B> {
    /// Requests are found by their tickets alone: the core correlates.
    fn hashes(&self) -> [Option<u32>; 2] {
        [None; 2]
    }
}

/// The requester machine of Service RPC. See the [module](self).
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::Inline;
/// use agentwire_core::rpc::{Executed, Retry, ServiceCall, ServiceRequester, ServiceResult};
/// use agentwire_core::time::Instant;
/// use core::time::Duration;
///
/// let mut requester = ServiceRequester::<Standard, Inline<4>>::default();
/// let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
/// let mut buffer = [0; 512];
/// let now = Instant::from_millis(0);
/// let call = ServiceCall::new(Standard::MCP, request);
/// let (id, transmit) = requester.request(now, &call, &mut buffer).unwrap();
/// assert!(transmit.text.starts_with(r#"{"protocol":"mcp","request":{"#));
///
/// let response = r#"{"error":{"code":"rate_limited","retryAfter":5}}"#;
/// let outcome = requester.handle_response(now, id, response).unwrap();
/// assert_eq!(outcome.executed, Executed::No);
/// assert_eq!(outcome.retry, Retry::After(Duration::from_secs(5)));
/// ```
pub struct ServiceRequester<B, S: Storage> {
    open: Table<Open<B>, S>,
    config: ServiceRequesterConfig,
    now: Instant,
}

impl<B: Binding, S: Storage> Default for ServiceRequester<B, S> {
    /// The default limits, and as many requests as the storage has room for: at most 1,024.
    fn default() -> Self {
        Self::with_limit(ServiceRequesterConfig::default(), 1_024)
    }
}

impl<B: Binding, S: Storage> ServiceRequester<B, S> {
    /// A machine for at most `limit` open requests, or fewer where the storage has less room.
    pub fn with_limit(config: ServiceRequesterConfig, limit: usize) -> Self {
        Self { open: Table::new(limit), config, now: Instant::ZERO }
    }

    /// Makes a request: writes the envelope into `out` and says what to send.
    ///
    /// # Errors
    /// [`ServiceCallError`]; nothing has changed then.
    pub fn request<'c: 'o, 'o>(
        &mut self,
        now: Instant,
        call: &ServiceCall<'c, B>,
        out: &'o mut [u8],
    ) -> Result<(ServiceCallId, ServiceTransmit<'o>), ServiceCallError<'c>> {
        self.advance(now);
        if let Some(key) = call.request_key {
            if !call.is_signed {
                return Err(ServiceCallError::KeyWithoutSignature);
            }
            SignerKey::parse(key).map_err(ServiceCallError::Key)?;
        }
        let binding = call.binding;
        if let Some(version) = call.version {
            if !binding.uses_envelope_version() {
                return Err(ServiceCallError::VersionNotUsed);
            }
            Value::parse(version).map_err(ServiceCallError::Version)?;
        }
        let accepted = match binding.accept(call.request, &[], Place::Direct) {
            Ok(accepted) => accepted,
            Err(Refusal { failure: Failure::PushNotSupported, .. }) => {
                return Err(ServiceCallError::NeedsConversation);
            }
            Err(Refusal { failure, .. }) => return Err(ServiceCallError::Refused(failure)),
        };
        if !binding.is_one_shot(call.request) {
            return Err(ServiceCallError::NeedsConversation);
        }
        // Not left to the binding: nothing in the request may end up beside it.
        Value::parse(call.request).map_err(ServiceCallError::Json)?;
        let protocol = binding.name().get();
        let text =
            RequestEnvelope::write(out, protocol, call.version, call.request_key, call.request)
                .map_err(ServiceCallError::Buffer)?;
        let framing = if call.is_signed { Framing::SignedRequest } else { Framing::Request };
        let len = Value::parse(text).map(NormalisedLen::of).map_err(ServiceCallError::Json)?;
        let fit = Fit::of_len(len, framing);
        if fit == Fit::TooLarge {
            let limit = framing.max_len();
            return Err(ServiceCallError::TooLarge { needed: len.min, limit });
        }
        let timeout = call.timeout.unwrap_or(self.config.timeout);
        let deadline = self.now.saturating_add(timeout).saturating_add(self.config.grace);
        let ticket = self
            .open
            .insert(deadline, Open { binding, expected: accepted.expected })
            .map_err(|Full { capacity }| ServiceCallError::Full { capacity })?;
        Ok((ServiceCallId(ticket), ServiceTransmit { text, timeout, fit }))
    }

    /// The core has a response: its `responseData`. `None` if the request is not open.
    pub fn handle_response<'m>(
        &mut self,
        now: Instant,
        call: ServiceCallId,
        text: &'m str,
    ) -> Option<ServiceOutcome<'m>> {
        self.advance(now);
        let open = self.open.get(call.0)?;
        let unknown = |result| (result, Executed::Unknown, Retry::IfHarmless);
        let (result, executed, retry) = match ResponseEnvelope::parse(text) {
            Ok(ResponseEnvelope::Response(response)) => {
                match open.binding.classify(&open.expected, response.get()) {
                    Class::Foreign(foreign) => unknown(ServiceResult::Foreign(foreign)),
                    class @ Class::Last(_) => {
                        (ServiceResult::Answer { response, class }, Executed::Yes, Retry::Never)
                    }
                    _ => unknown(ServiceResult::Foreign(Foreign::NotAReply)),
                }
            }
            Ok(ResponseEnvelope::Error(error)) => {
                let executed = Executed::after(error.code);
                let after = error.retry_after.map(|seconds| Duration::from_secs(seconds.into()));
                let retry = match (error.code, after) {
                    _ if executed == Executed::Unknown => Retry::IfHarmless,
                    (ErrorCode::ConversationRequired, _) => Retry::InConversation,
                    (ErrorCode::RateLimited, after) => Retry::After(after.unwrap_or_default()),
                    (_, Some(after)) => Retry::After(after),
                    (_, None) => Retry::Never,
                };
                let result = ServiceResult::Error {
                    code: error.code,
                    code_text: error.code_text,
                    message: error.message,
                    retry_after: after,
                };
                (result, executed, retry)
            }
            Err(error) => unknown(ServiceResult::Envelope(error)),
        };
        self.open.end(call.0);
        Some(ServiceOutcome { call, result, executed, retry })
    }

    /// The core could not do it. `None` if the request is not open.
    pub fn handle_failure(
        &mut self,
        now: Instant,
        call: ServiceCallId,
        failure: CoreFailure,
    ) -> Option<ServiceOutcome<'static>> {
        self.advance(now);
        if !self.open.end(call.0) {
            return None;
        }
        let executed = failure.executed();
        let retry = if executed == Executed::Unknown { Retry::IfHarmless } else { Retry::Never };
        Some(ServiceOutcome { call, result: ServiceResult::Core(failure), executed, retry })
    }

    /// Moves time on. Returns a request that the core has said nothing of in time, if there is
    /// one: repeat until `None`. A call of this without need does nothing, and time never runs
    /// backwards.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<ServiceOutcome<'static>> {
        self.advance(now);
        let (deadline, ticket) = self.open.earliest()?;
        if deadline > self.now {
            return None;
        }
        self.open.end(ticket);
        Some(ServiceOutcome {
            call: ServiceCallId(ticket),
            result: ServiceResult::Silence,
            executed: Executed::Unknown,
            retry: Retry::IfHarmless,
        })
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.open.earliest().map(|(deadline, _)| deadline)
    }

    /// Stops waiting for a response. `false` if the request is not open.
    pub fn cancel(&mut self, call: ServiceCallId) -> bool {
        self.open.end(call.0)
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

impl<B: Binding, S: Storage> fmt::Debug for ServiceRequester<B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceRequester")
            .field("open", &self.open())
            .field("capacity", &self.capacity())
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
