//! Why a chat core has not sent something.

use core::fmt;

use agentwire_core::loopback::{SendError, ServiceRequestError, ServiceResponseError};

/// Why a chat core has not sent a command, an answer or a request.
///
/// ```
/// use agentwire_core::loopback::SendError;
/// use agentwire_tokio::client::NotSent;
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
    /// The target is one of the other kind: a link for the embedded loopback, or an address of
    /// that for a core.
    Target,
}

impl NotSent {
    /// Whether it may have been sent all the same.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        false
    }
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => error.fmt(f),
            Self::Request(error) => error.fmt(f),
            Self::Response(error) => error.fmt(f),
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
