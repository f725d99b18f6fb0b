//! Why a chat core has not sent something.

use core::fmt;

use agentwire_core::loopback::{SendError, ServiceRequestError, ServiceResponseError};
use agentwire_core::simplex;
use agentwire_core::simplex::error::CoreRefusal;

/// Why a chat core has not sent a command, an answer or a request.
///
/// ```
/// use agentwire_core::loopback::SendError;
/// use agentwire_blocking::client::NotSent;
/// let error = NotSent::from(SendError::MentionsNotSupported);
/// assert!(!error.is_unknown());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotSent {
    /// The embedded loopback refuses the message.
    Message(SendError),
    /// The embedded loopback refuses the request.
    Request(ServiceRequestError),
    /// The embedded loopback refuses the response.
    Response(ServiceResponseError),
    /// It was not handed to the core, or the core refuses it.
    Core(simplex::NotSent),
    /// The core refuses the response.
    Refused(CoreRefusal),
    /// The connection ended, and nobody here can know whether it was sent.
    Unknown,
    /// The target is one of the other kind: a link for the embedded loopback, or an address of
    /// that for a core.
    Target,
}

impl NotSent {
    /// Whether it may have been sent all the same.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => error.fmt(f),
            Self::Request(error) => error.fmt(f),
            Self::Response(error) => error.fmt(f),
            Self::Core(why) => why.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Unknown => f.write_str("the connection ended before the core had answered"),
            Self::Target => f.write_str("the target cannot be reached from here"),
        }
    }
}

impl core::error::Error for NotSent {}

impl From<SendError> for NotSent {
    fn from(error: SendError) -> Self {
        Self::Message(error)
    }
}

impl From<ServiceRequestError> for NotSent {
    fn from(error: ServiceRequestError) -> Self {
        Self::Request(error)
    }
}

impl From<ServiceResponseError> for NotSent {
    fn from(error: ServiceResponseError) -> Self {
        Self::Response(error)
    }
}
