//! What a protocol adds to the chat transport: a [`Binding`].
//!
//! The machines know commands, quotes, senders and deadlines. What a request is, which reply is
//! the last one and how an error is written belongs to the protocol after `/_call`, and that is
//! all a binding says. [`Mcp`] and [`A2a`] are the two that the
//! document defines ("Protocol names"); [`Standard`] is either of them. A protocol of your own is
//! a type of your own:
//!
//! ```
//! use agentwire_core::binding::{
//!     Accepted, Binding, Class, End, Expectation, Failure, Foreign, Place, ProtocolName, Refusal,
//! };
//! use agentwire_core::json::{Object, Writer};
//!
//! /// Answers `{"ping": n}` with `{"pong": n}`.
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! struct Ping;
//!
//! impl Binding for Ping {
//!     fn name(&self) -> ProtocolName<'static> {
//!         ProtocolName::new("ping").unwrap()
//!     }
//!
//!     fn accept<'m>(
//!         &self,
//!         request: &'m str,
//!         _versions: &'m [&'m str],
//!         _place: Place,
//!     ) -> Result<Accepted<'m>, Refusal<'m>> {
//!         let refuse = |failure| Refusal::new(failure, None);
//!         let object = Object::parse(request).map_err(|error| refuse(Failure::Parse(error)))?;
//!         match object.get("ping") {
//!             Ok(Some(_)) => Ok(Accepted::new(Expectation::default(), None).object(object)),
//!             _ => Err(refuse(Failure::InvalidRequest("no ping"))),
//!         }
//!     }
//!
//!     fn classify<'m>(&self, _expected: &Expectation, reply: &'m str) -> Class<'m> {
//!         match Object::parse(reply) {
//!             Ok(object) if object.get("pong").is_ok_and(|pong| pong.is_some()) => {
//!                 Class::Last(End::Answer)
//!             }
//!             Ok(_) => Class::Foreign(Foreign::NotAReply),
//!             Err(error) => Class::Foreign(Foreign::Json(error)),
//!         }
//!     }
//!
//!     fn write_failure(&self, failure: &Failure<'_>, _id: Option<&str>, out: &mut Writer<'_>) {
//!         out.raw("{\"pong\":null,\"why\":").string(failure.sentence()).raw("}");
//!     }
//! }
//!
//! assert!(Ping.accept(r#"{"ping": 1}"#, &[], Place::Direct).is_ok());
//! assert_eq!(Ping.classify(&Expectation::default(), r#"{"pong": 1}"#), Class::Last(End::Answer));
//! ```

#[cfg(feature = "std")]
mod guard;

use core::fmt;

#[cfg(feature = "std")]
pub use guard::Guarded;

use crate::a2a::A2a;
use crate::json::{self, Object, Str, Writer};
use crate::jsonrpc::{self, IdKind, IdPrint, Rejected};
use crate::mcp::Mcp;

/// The name of a protocol: lowercase ASCII letters, digits and hyphens, at least one
/// ("Protocol names").
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// assert_eq!(ProtocolName::new("mcp").unwrap().get(), "mcp");
/// assert!(ProtocolName::new("MCP").is_none());
/// assert!(ProtocolName::new("").is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ProtocolName<'a>(&'a str);

impl<'a> ProtocolName<'a> {
    /// `name`, if it is one.
    pub const fn new(name: &'a str) -> Option<Self> {
        let mut rest = name.as_bytes();
        if rest.is_empty() {
            return None;
        }
        while let [first, tail @ ..] = rest {
            if !Self::allows(*first) {
                return None;
            }
            rest = tail;
        }
        Some(Self(name))
    }

    /// Whether a name may hold this byte.
    pub(crate) const fn allows(byte: u8) -> bool {
        matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')
    }

    /// The name's text.
    pub const fn get(&self) -> &'a str {
        self.0
    }
}

impl fmt::Display for ProtocolName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Who sees a message besides the one it is for.
///
/// ```
/// use agentwire_core::binding::Place;
/// use agentwire_core::chat::{Chat, GroupId};
/// assert_eq!(Place::from(Chat::Group(GroupId(1))), Place::Group);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_enums)]
pub enum Place {
    /// Nobody: a direct chat.
    Direct,
    /// Every member of a group.
    Group,
}

impl From<crate::chat::Chat> for Place {
    fn from(chat: crate::chat::Chat) -> Self {
        if chat.is_group() { Self::Group } else { Self::Direct }
    }
}

/// What a machine remembers of a request in order to classify its replies. A binding fills it
/// and is the only one that reads it.
///
/// ```
/// use agentwire_core::binding::Expectation;
/// let expected = Expectation { streaming: true, ..Expectation::default() };
/// assert!(expected.id.is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_structs)] // A binding of a user's own builds it.
pub struct Expectation {
    /// The print of the request's id, where the protocol has ids.
    pub id: Option<IdPrint>,
    /// Whether several replies with a result are to be expected.
    pub streaming: bool,
}

/// A request that a binding accepts.
///
/// ```
/// use agentwire_core::binding::{Accepted, Expectation};
/// let accepted = Accepted::new(Expectation::default(), Some("7"));
/// assert_eq!(accepted.id, Some("7"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Accepted<'m> {
    /// What to remember in order to classify the replies.
    pub expected: Expectation,
    /// The JSON text with which an answer names the request, where the protocol has one.
    pub id: Option<&'m str>,
    /// The request as the object that it is, where the binding has read it: then nobody has to
    /// read it again.
    pub object: Option<Object<'m>>,
}

impl<'m> Accepted<'m> {
    /// An accepted request.
    pub const fn new(expected: Expectation, id: Option<&'m str>) -> Self {
        Self { expected, id, object: None }
    }

    /// The same, with the request as an object.
    #[must_use]
    pub const fn object(mut self, request: Object<'m>) -> Self {
        self.object = Some(request);
        self
    }
}

/// A request that a binding refuses: what its error says.
///
/// ```
/// use agentwire_core::binding::{Failure, Refusal};
/// let refusal = Refusal::new(Failure::MethodNotFound, Some("7"));
/// assert_eq!(refusal.failure, Failure::MethodNotFound);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Refusal<'m> {
    /// Why.
    pub failure: Failure<'m>,
    /// The JSON text with which the error names the request, where one could be read.
    pub id: Option<&'m str>,
}

impl<'m> Refusal<'m> {
    /// A refused request.
    pub const fn new(failure: Failure<'m>, id: Option<&'m str>) -> Self {
        Self { failure, id }
    }
}

impl<'m> From<Rejected<'m>> for Refusal<'m> {
    fn from(rejected: Rejected<'m>) -> Self {
        let failure = match rejected.fault {
            jsonrpc::Fault::Json(error) if rejected.fault.code() == jsonrpc::PARSE_ERROR => {
                Failure::Parse(error)
            }
            fault => Failure::InvalidMessage(fault),
        };
        // An id of a kind that neither protocol has is none that an answer could name.
        let id = rejected.id.filter(|id| matches!(id.kind(), IdKind::String | IdKind::Integer));
        Self::new(failure, id.map(|id| id.get()))
    }
}

/// The longest version that an error repeats, in bytes of its JSON text.
pub const MAX_VERSION_LEN: usize = 64;

/// Why a request gets an error instead of an answer. Each binding has an error for each.
///
/// ```
/// use agentwire_core::binding::Failure;
/// assert_eq!(Failure::Busy { capacity: 8 }.sentence(), "too many calls are open");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Failure<'m> {
    /// The request is not JSON.
    Parse(json::Error),
    /// The request is JSON, but not a message of the protocol's framing.
    InvalidMessage(jsonrpc::Fault),
    /// The request is not one of the protocol: why.
    InvalidRequest(&'static str),
    /// The parameters are not those of the protocol: why.
    InvalidParams(&'static str),
    /// The protocol has no such method.
    MethodNotFound,
    /// The request is of a version that is not served.
    UnsupportedVersion {
        /// The version it names, if it names one of at most [`MAX_VERSION_LEN`] bytes.
        requested: Option<Str<'m>>,
        /// The versions that are served.
        served: &'m [&'m str],
    },
    /// Push notifications are not used in a conversation (A2A binding, "Push notifications").
    PushNotSupported,
    /// A credential was sent where every member sees it ("Callers and authorization").
    CredentialInGroup,
    /// The answer does not fit into one message ("Message size").
    TooLarge {
        /// Encoded bytes that the message would take.
        needed: usize,
        /// Encoded bytes that one message takes at most.
        limit: usize,
    },
    /// The request's id is longer than what can be kept.
    IdTooLong {
        /// Bytes of its JSON text.
        len: usize,
        /// Bytes that can be kept.
        limit: usize,
    },
    /// As many calls are open as can be.
    Busy {
        /// How many.
        capacity: usize,
    },
    /// The bot is ending and takes no new requests.
    Stopping,
    /// No answer came in time.
    TimedOut,
    /// The handler failed.
    Internal,
    /// The command is older than what is still run.
    Expired,
    /// The command had been begun when the bot ended, and nobody knows what came of it.
    OutcomeUnknown,
    /// The caller calls too often, or has too many calls open.
    RateLimited {
        /// Seconds after which a repeated call can succeed.
        retry_after: u32,
    },
    /// The caller has used up what it is allowed in a longer span of time.
    QuotaExceeded {
        /// Seconds after which a repeated call can succeed.
        retry_after: u32,
    },
    /// The caller is none of those who may call.
    NotAllowed,
    /// The bot's owner has not approved the call: declined, or not answered in time.
    NotApproved,
}

impl<'m> Failure<'m> {
    /// A version that is not served; one that is too long to be repeated is left out.
    pub(crate) fn version(requested: Option<Str<'m>>, served: &'m [&'m str]) -> Self {
        let requested = requested.filter(|version| version.get().len() <= MAX_VERSION_LEN);
        Self::UnsupportedVersion { requested, served }
    }
}

impl Failure<'_> {
    /// The same failure without what it borrows: the versions.
    #[must_use]
    pub const fn detached(self) -> Failure<'static> {
        match self {
            Self::Parse(error) => Failure::Parse(error),
            Self::InvalidMessage(fault) => Failure::InvalidMessage(fault),
            Self::InvalidRequest(why) => Failure::InvalidRequest(why),
            Self::InvalidParams(why) => Failure::InvalidParams(why),
            Self::MethodNotFound => Failure::MethodNotFound,
            Self::UnsupportedVersion { .. } => {
                Failure::UnsupportedVersion { requested: None, served: &[] }
            }
            Self::PushNotSupported => Failure::PushNotSupported,
            Self::CredentialInGroup => Failure::CredentialInGroup,
            Self::TooLarge { needed, limit } => Failure::TooLarge { needed, limit },
            Self::IdTooLong { len, limit } => Failure::IdTooLong { len, limit },
            Self::Busy { capacity } => Failure::Busy { capacity },
            Self::Stopping => Failure::Stopping,
            Self::TimedOut => Failure::TimedOut,
            Self::Internal => Failure::Internal,
            Self::Expired => Failure::Expired,
            Self::OutcomeUnknown => Failure::OutcomeUnknown,
            Self::RateLimited { retry_after } => Failure::RateLimited { retry_after },
            Self::QuotaExceeded { retry_after } => Failure::QuotaExceeded { retry_after },
            Self::NotAllowed => Failure::NotAllowed,
            Self::NotApproved => Failure::NotApproved,
        }
    }

    /// A sentence that tells a person what happened.
    pub const fn sentence(&self) -> &'static str {
        match self {
            Self::Parse(_) => "the request is not valid JSON",
            Self::InvalidMessage(_) => "the request is not a JSON-RPC 2.0 request",
            Self::InvalidRequest(why) | Self::InvalidParams(why) => why,
            Self::MethodNotFound => "no such method",
            Self::UnsupportedVersion { .. } => "this version is not served",
            Self::PushNotSupported => "push notifications are not used in a conversation",
            Self::CredentialInGroup => "a credential must not be sent in a group",
            Self::TooLarge { .. } => "the answer does not fit into one message",
            Self::IdTooLong { .. } => "the id is too long",
            Self::Busy { .. } => "too many calls are open",
            Self::Stopping => "the bot is ending",
            Self::TimedOut => "no answer came in time",
            Self::Internal => "the handler failed",
            Self::Expired => "the command is too old to be run",
            Self::OutcomeUnknown => {
                "the bot ended while it ran the command; what came of it is not known"
            }
            Self::RateLimited { .. } => "too many calls",
            Self::QuotaExceeded { .. } => "the quota of calls is used up",
            Self::NotAllowed => "this caller may not call",
            Self::NotApproved => "the owner has not approved the call",
        }
    }

    /// A word for programs, stable across versions.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Parse(_) => "parse",
            Self::InvalidMessage(_) | Self::InvalidRequest(_) => "invalid_request",
            Self::InvalidParams(_) => "invalid_params",
            Self::MethodNotFound => "method_not_found",
            Self::UnsupportedVersion { .. } => "unsupported_version",
            Self::PushNotSupported => "push_notification_not_supported",
            Self::CredentialInGroup => "credential_in_group",
            Self::TooLarge { .. } => "too_large",
            Self::IdTooLong { .. } => "id_too_long",
            Self::Busy { .. } => "busy",
            Self::Stopping => "stopping",
            Self::TimedOut => "timeout",
            Self::Internal => "internal",
            Self::Expired => "expired",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::RateLimited { .. } => "rate_limited",
            Self::QuotaExceeded { .. } => "quota_exceeded",
            Self::NotAllowed => "not_allowed",
            Self::NotApproved => "not_approved",
        }
    }

    /// The JSON-RPC code that the two standard bindings share; `None` where each has its own.
    pub(crate) const fn code(&self) -> Option<i64> {
        Some(match self {
            Self::Parse(_) => jsonrpc::PARSE_ERROR,
            Self::InvalidMessage(fault) => fault.code(),
            Self::InvalidRequest(_) | Self::CredentialInGroup | Self::IdTooLong { .. } => {
                jsonrpc::INVALID_REQUEST
            }
            Self::InvalidParams(_) => jsonrpc::INVALID_PARAMS,
            Self::MethodNotFound => jsonrpc::METHOD_NOT_FOUND,
            Self::TooLarge { .. }
            | Self::Busy { .. }
            | Self::Stopping
            | Self::TimedOut
            | Self::Internal
            | Self::Expired
            | Self::OutcomeUnknown
            | Self::RateLimited { .. }
            | Self::QuotaExceeded { .. }
            | Self::NotAllowed
            | Self::NotApproved => jsonrpc::INTERNAL_ERROR,
            Self::UnsupportedVersion { .. } | Self::PushNotSupported => return None,
        })
    }

    /// The numbers in it, each with its name.
    pub(crate) fn numbers(&self) -> [Option<(&'static str, usize)>; 2] {
        match *self {
            Self::Parse(error) => [Some(("offset", error.offset)), None],
            Self::InvalidMessage(jsonrpc::Fault::Json(error)) => {
                [Some(("offset", error.offset)), None]
            }
            Self::TooLarge { needed, limit } => [Some(("size", needed)), Some(("limit", limit))],
            Self::IdTooLong { len, limit } => [Some(("size", len)), Some(("limit", limit))],
            Self::Busy { capacity } => [Some(("capacity", capacity)), None],
            Self::RateLimited { retry_after } | Self::QuotaExceeded { retry_after } => {
                [Some(("retryAfter", usize::try_from(retry_after).unwrap_or(usize::MAX))), None]
            }
            _ => [None, None],
        }
    }
}

/// What a reply is to the call that it quotes.
///
/// ```
/// use agentwire_core::binding::{Class, End};
/// assert!(Class::Last(End::Answer).is_last());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Class<'m> {
    /// A notification before the last reply: progress, or another one.
    Notification {
        /// Its method.
        method: Str<'m>,
    },
    /// Part of a stream, not its end.
    Part {
        /// What the stream can be resumed with: for A2A the task's id, for `SubscribeToTask`.
        resume: Option<Str<'m>>,
    },
    /// The last reply of its sender.
    Last(End),
    /// Not a message of the protocol that answers this request; it is collected as text
    /// ("Replies").
    Foreign(Foreign),
}

impl Class<'_> {
    /// Whether nothing more is to come from this sender.
    pub const fn is_last(&self) -> bool {
        matches!(self, Self::Last(_))
    }
}

/// How an answer ends.
///
/// ```
/// use agentwire_core::binding::End;
/// assert_ne!(End::Error { code: -32603 }, End::Answer);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum End {
    /// With the one result that the request asked for.
    Answer,
    /// With an error of the protocol.
    Error {
        /// Its code.
        code: i64,
    },
    /// A stream that is a single message.
    Message,
    /// A stream whose task is completed, failed, canceled or rejected.
    Terminal,
    /// A stream whose task waits for input or for an authorization.
    Interrupted,
}

/// Why a reply is not a message of the protocol that answers the request.
///
/// ```
/// use agentwire_core::binding::Foreign;
/// assert_eq!(Foreign::OtherId.to_string(), "the response has another id");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Foreign {
    /// Not one JSON object: a sentence for people, perhaps.
    Json(json::Error),
    /// JSON, but not a message of the protocol's framing.
    Message(jsonrpc::Fault),
    /// A message of the protocol, but none that answers a request: a request, for example.
    NotAReply,
    /// A response with the id of another request.
    OtherId,
    /// A result that is not one of those that a stream consists of.
    NotAStreamEvent,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "{error}"),
            Self::Message(fault) => write!(f, "{fault}"),
            Self::NotAReply => f.write_str("the message answers no request"),
            Self::OtherId => f.write_str("the response has another id"),
            Self::NotAStreamEvent => f.write_str("the result is not an event of a stream"),
        }
    }
}

impl From<jsonrpc::Fault> for Foreign {
    fn from(fault: jsonrpc::Fault) -> Self {
        match fault {
            jsonrpc::Fault::Json(error) => Self::Json(error),
            fault => Self::Message(fault),
        }
    }
}

/// A protocol that is called with `/_call`. See the [module](self) for one of your own.
pub trait Binding: Copy {
    /// The protocol's name after `/_call`.
    fn name(&self) -> ProtocolName<'static>;

    /// Reads a request. Both sides use it: the caller before it sends, with no `versions`; the
    /// responder with the ones it serves, in its order of preference.
    ///
    /// # Errors
    /// [`Refusal`] with what the error says and which request it names.
    fn accept<'m>(
        &self,
        request: &'m str,
        versions: &'m [&'m str],
        place: Place,
    ) -> Result<Accepted<'m>, Refusal<'m>>;

    /// Says what a reply is to a request. Both sides use it: the caller for what arrives, the
    /// responder for what its handler gives.
    fn classify<'m>(&self, expected: &Expectation, reply: &'m str) -> Class<'m>;

    /// Writes the protocol's error for `failure`: one JSON object. `id` is the JSON text that
    /// names the request, where one could be read.
    fn write_failure(&self, failure: &Failure<'_>, id: Option<&str>, out: &mut Writer<'_>);

    /// Whether the request can be answered with one response and without a conversation, so that
    /// Service RPC can carry it. `request` is one that [`accept`](Self::accept) accepts. By
    /// default every request can.
    fn is_one_shot(&self, request: &str) -> bool {
        let _ = request;
        true
    }

    /// Whether a request whose time over Service RPC is up needs a conversation instead; by
    /// default the responder has failed.
    fn late_needs_conversation(&self) -> bool {
        false
    }

    /// Whether the protocol's version stands in the envelope of Service RPC, because its messages
    /// do not include one. By default it does not, and the envelope's `version` is ignored.
    fn uses_envelope_version(&self) -> bool {
        false
    }

    /// Whether the envelope's `version` of a request is one of those that are served, for a
    /// protocol that [uses](Self::uses_envelope_version) it. The binding defines its type; by
    /// default it is a string, one of `versions`, and has to be there.
    fn serves_envelope_version(&self, version: Option<json::Value<'_>>, versions: &[&str]) -> bool {
        let version = version.and_then(|version| version.as_str());
        version.is_some_and(|version| versions.iter().any(|served| version == **served))
    }

    /// How many bytes the error for [`Failure::Internal`] takes at most besides its id. The
    /// machines ask for each request, so a binding that knows it need not have it counted.
    fn failure_len(&self) -> usize {
        let mut counter = Writer::new(&mut []);
        self.write_failure(&Failure::Internal, Some(""), &mut counter);
        counter.needed()
    }
}

/// What the two standard bindings answer to [`Binding::failure_len`].
pub(crate) const STANDARD_FAILURE_LEN: usize = 256;

/// One of the two bindings that the document defines.
///
/// ```
/// use agentwire_core::binding::{Binding, Standard};
/// assert_eq!(Standard::MCP.name().get(), "mcp");
/// assert_eq!(Standard::A2A.name().get(), "a2a");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Standard {
    /// The Model Context Protocol.
    Mcp(Mcp),
    /// The Agent2Agent protocol.
    A2a(A2a),
}

impl Standard {
    /// The MCP binding.
    pub const MCP: Self = Self::Mcp(Mcp);
    /// The A2A binding.
    pub const A2A: Self = Self::A2a(A2a);

    /// The binding of that name.
    pub fn named(name: ProtocolName<'_>) -> Option<Self> {
        [Self::MCP, Self::A2A].into_iter().find(|binding| binding.name() == name)
    }
}

impl Binding for Standard {
    fn name(&self) -> ProtocolName<'static> {
        match self {
            Self::Mcp(binding) => binding.name(),
            Self::A2a(binding) => binding.name(),
        }
    }

    fn accept<'m>(
        &self,
        request: &'m str,
        versions: &'m [&'m str],
        place: Place,
    ) -> Result<Accepted<'m>, Refusal<'m>> {
        match self {
            Self::Mcp(binding) => binding.accept(request, versions, place),
            Self::A2a(binding) => binding.accept(request, versions, place),
        }
    }

    fn classify<'m>(&self, expected: &Expectation, reply: &'m str) -> Class<'m> {
        match self {
            Self::Mcp(binding) => binding.classify(expected, reply),
            Self::A2a(binding) => binding.classify(expected, reply),
        }
    }

    fn write_failure(&self, failure: &Failure<'_>, id: Option<&str>, out: &mut Writer<'_>) {
        match self {
            Self::Mcp(binding) => binding.write_failure(failure, id, out),
            Self::A2a(binding) => binding.write_failure(failure, id, out),
        }
    }

    fn is_one_shot(&self, request: &str) -> bool {
        match self {
            Self::Mcp(binding) => binding.is_one_shot(request),
            Self::A2a(binding) => binding.is_one_shot(request),
        }
    }

    fn late_needs_conversation(&self) -> bool {
        match self {
            Self::Mcp(binding) => binding.late_needs_conversation(),
            Self::A2a(binding) => binding.late_needs_conversation(),
        }
    }

    fn failure_len(&self) -> usize {
        match self {
            Self::Mcp(binding) => binding.failure_len(),
            Self::A2a(binding) => binding.failure_len(),
        }
    }
}
