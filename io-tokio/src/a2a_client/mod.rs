//! The official Rust client of A2A over SimpleX (feature `a2a-client`): an `a2a_client::A2AClient`
//! (crate `a2a-client-lf`) calls an agent in a conversation or over Service RPC as it calls one on
//! HTTP.
//!
//! ```text
//!  A2AClient ── ClientTransport ── Client ══ chat or Service RPC ══ Bot ── any A2A agent
//! ```
//!
//! A client that has the agent's card finds the way itself, with a [`ClientTransportFactory`] among
//! its factories: it answers for the card's SimpleX interface.
//!
//! - Each of the SDK's service parameters becomes one of the request (A2A 1.0 section 3.2.6), as
//!   the headers of a request over HTTP do; what the binding refuses is refused here, before it
//!   takes a message.
//! - The events of a stream are the replies. A stream ends where a task is over or waits for its
//!   caller: `get_task` and the next message go on from there.
//! - Service RPC carries `SendMessage` that waits for its outcome, and nothing else; other methods
//!   are error -32004 there.
//!
//! The SDK brings its types for gRPC with it, and with them `tonic`, `prost` and a build script that
//! runs `protoc`: there is no feature of its own that leaves them out. So nothing else here needs
//! this feature, and it is not among the default ones.

mod events;
mod factory;
mod transport;

pub use factory::ClientTransportFactory;
pub use transport::ClientTransport;

use ::a2a::{A2AError, JsonRpcError, JsonRpcResponse, TypedDetail, errordetails};
use a2a_pb::protojson_conv::{ProtoJsonPayload, from_value};
use serde_json::Value;

/// What an answer of this text holds.
fn read<T: ProtoJsonPayload>(text: &str) -> Result<T, A2AError> {
    let response: JsonRpcResponse = serde_json::from_str(text).map_err(|error| invalid(&error))?;
    match (response.result, response.error) {
        (_, Some(error)) => Err(error_of(error)),
        (Some(result), None) => from_value(result).map_err(|error| invalid(&error)),
        (None, None) => Err(A2AError::invalid_agent_response()),
    }
}

/// The error in a text that is one.
fn read_error(text: &str) -> A2AError {
    match serde_json::from_str::<JsonRpcResponse>(text) {
        Ok(JsonRpcResponse { error: Some(error), .. }) => error_of(error),
        _ => A2AError::internal("the request is refused"),
    }
}

fn error_of(error: JsonRpcError) -> A2AError {
    let JsonRpcError { code, message, data } = error;
    let details = match data {
        Some(Value::Array(details)) => details,
        _ => Vec::new(),
    };
    // What is no object is no detail.
    let details: Vec<TypedDetail> =
        details.into_iter().filter_map(|detail| serde_json::from_value(detail).ok()).collect();
    let error = A2AError::new(code, message);
    if details.is_empty() { error } else { error.with_details(details) }
}

/// Why an answer is none, without what it says.
fn invalid(error: &dyn core::error::Error) -> A2AError {
    tracing::debug!(%error, "an answer could not be read");
    A2AError::invalid_agent_response()
}

/// An error that this side has found, with a reason for programs.
fn failed(reason: &str, message: impl Into<String>) -> A2AError {
    let detail = TypedDetail::error_info(reason, errordetails::PROTOCOL_DOMAIN, None);
    A2AError::internal(message).with_details(vec![detail])
}
