//! Service RPC: one request, one response, no conversation ("Service RPC transport").
//!
//! The requester's core sends the request inside a connection request to a contact address, and
//! the response comes back to that request's reply queue. What both carry is an envelope around
//! the protocol's message.

mod envelope;
mod key;
pub mod requester;
pub mod responder;
#[cfg(test)]
mod sample;
#[cfg(feature = "alloc")]
pub mod session;
#[cfg(feature = "sign")]
pub mod sign;
mod size;

pub use crate::rate::RateLimit;
pub use envelope::{
    EnvelopeError, EnvelopeErrorKind, EnvelopeMember, ErrorBody, ErrorCode, RequestEnvelope,
    ResponseEnvelope,
};
pub use key::{SignerKey, SignerKeyError};
pub use requester::{
    CoreFailure, DEFAULT_TIMEOUT, Executed, Retry, ServiceCall, ServiceCallError, ServiceCallId,
    ServiceOutcome, ServiceRequester, ServiceRequesterConfig, ServiceResult, ServiceTransmit,
};
pub use responder::{
    MAX_MESSAGE_LEN, MAX_REQUEST_ID_LEN, RESPONSE_LIMIT, RequestId, ServiceAnswerError,
    ServiceExpired, ServiceReceived, ServiceRequest, ServiceRespondError, ServiceResponder,
    ServiceResponderConfig, ServiceResponse, ServiceToken,
};
pub use size::{ADVISED_LEN, Fit, Framing, NormalisedLen, PADDED_LEN, SIGNATURE_LEN};
