//! Requests over Service RPC: [`RequestOptions`] and [`RequestError`].

use core::fmt;
use core::time::Duration;

#[cfg(doc)]
use agentwire_core::rpc::session::ServiceReply;
use agentwire_core::rpc::{ServiceCall, ServiceCallError};

use super::NotSent;
#[cfg(doc)]
use super::ServiceTarget;

/// Why a request over Service RPC was not made. How one that was made has ended, is in its
/// [`ServiceReply`].
///
/// ```
/// use agentwire_blocking::client::RequestError;
/// assert_eq!(RequestError::Closed.to_string(), "the client has ended");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RequestError {
    /// The session does not make it.
    Call(ServiceCallError<'static>),
    /// The chat core has not sent it.
    NotSent(NotSent),
    /// The client's task has ended. The request may have been sent.
    Closed,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::NotSent(error) => write!(f, "the request was not sent: {error}"),
            Self::Closed => f.write_str("the client has ended"),
        }
    }
}

impl core::error::Error for RequestError {}

/// What a request over Service RPC says besides the protocol's message.
///
/// ```
/// use agentwire_blocking::client::RequestOptions;
/// use core::time::Duration;
/// let options = RequestOptions::default().timeout(Duration::from_secs(90));
/// assert!(options.request_key.is_none());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RequestOptions {
    /// How long to wait for the response; the session's limit if it does not say.
    pub timeout: Option<Duration>,
    /// The protocol's version as JSON text, for a protocol whose messages do not include one.
    pub version: Option<String>,
    /// The envelope's `requestKey`. The [target](agentwire_core::simplex::ServiceTarget::signed_with) has to be signed with
    /// the same key.
    pub request_key: Option<String>,
    /// Whether the request is signed: [`Client::request`](super::Client::request) takes that from the target.
    is_signed: bool,
}

impl RequestOptions {
    /// Waiting so long.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// With a version in the envelope.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// With the signer's key in the envelope.
    #[must_use]
    pub fn request_key(mut self, key: impl Into<String>) -> Self {
        self.request_key = Some(key.into());
        self
    }

    /// Whether its target is signed.
    #[doc(hidden)]
    #[must_use]
    pub fn signed(mut self, is_signed: bool) -> Self {
        self.is_signed = is_signed;
        self
    }

    /// The call with these options.
    #[doc(hidden)]
    pub fn call<'c, B>(&'c self, binding: B, request: &'c str) -> ServiceCall<'c, B> {
        let mut call = ServiceCall::new(binding, request);
        call.timeout = self.timeout;
        call.version = self.version.as_deref();
        call.request_key = self.request_key.as_deref();
        call.is_signed = self.is_signed;
        call
    }
}
