//! The A2A binding: Agent2Agent 1.0, in the messages of its JSON-RPC binding, over `/_call a2a`.
//!
//! For the two streaming methods every `StreamResponse` is one reply; for every other method one
//! reply answers ("A2A binding", "A2A messages" and "Streaming").
//!
//! | what [`A2a`] checks of each request | error |
//! |---|---|
//! | the text is JSON | -32700 |
//! | it is a request; the service parameters are names and strings, none twice | -32600 |
//! | in a group it carries no credential | -32600 |
//! | `params`, if any, is an object | -32602 |
//! | `A2A-Version` is one that is served; none means 0.3 | -32009 |
//! | it is no push notification method | -32003 |
//!
//! A stream ends with a message, with a task or a status update in a terminal or an interrupted
//! state, or with an error. Everything else is the handler's, and what a handler needs stands
//! beside the binding:
//!
//! | what | where |
//! |---|---|
//! | what a request is for: methods, versions, service parameters, credentials | [`Method`], [`Version`], [`ServiceParameters`], [`Carrier`] |
//! | what an answer is: the events of a stream, the states of a task | [`StreamEvent`], [`TaskState`] |
//! | whether a message is one of A2A 1.0, field by field | [`check_params`], [`check_result`] |
//! | a request on its way to an agent's HTTP interface, and the answer on its way back | [`Incoming`], [`Answer`] |
//! | what a proxy and a gateway read in a card, and the tasks and requests that they make | [`Interface`], [`MadeTask`], [`write_with_headers`], `GatewayRequest` |
//! | what a gateway keeps for clients that have left (feature `alloc`) | `KeptTask`, `KeptTasks` |
//! | whose contexts and tasks are (feature `alloc`) | `ownership` |
//! | errors with their reasons | [`A2aError`], [`ErrorBody`] |

mod binding;
mod check;
pub mod credential;
mod error;
mod forward;
#[cfg(feature = "alloc")]
mod gateway;
mod headers;
mod interface;
#[cfg(feature = "alloc")]
mod kept;
mod made;
mod method;
#[cfg(feature = "alloc")]
pub mod ownership;
mod parameters;
mod state;
mod stream;
mod version;
mod word;

pub use binding::A2a;
pub use check::{
    FieldPath, Form, MAX_VIOLATIONS, Problem, Violation, check_params, check_result,
    write_invalid_params,
};
pub use credential::{Carrier, sets_push_config};
pub use error::{A2aError, ErrorBody};
pub use forward::{Answer, AnswerFault, Cause, Incoming, Refused, write_invalid_answer};
#[cfg(feature = "alloc")]
pub use gateway::GatewayRequest;
pub use headers::write_with_headers;
pub use interface::{Interface, JSONRPC_BINDING, credential_parameters, write_gateway_card};
#[cfg(feature = "alloc")]
pub use kept::{KEPT_FOR, KeptTask, KeptTasks, MAX_KEPT_TASK_LEN, MAX_KEPT_TASKS};
pub use made::MadeTask;
pub use method::Method;
pub use parameters::{ServiceParameters, passes};
pub use state::TaskState;
#[cfg(feature = "alloc")]
pub use stream::text_field;
pub use stream::{EventKind, StreamEvent};
pub use version::Version;
#[cfg(feature = "card")]
pub(crate) use word::is_field;

/// The URI of this binding in an Agent Card ("Identification").
pub const BINDING_URI: &str = "https://simplex.chat/protocol/a2a/v1";
/// The version of A2A that this binding is defined for.
pub const VERSION: &str = "1.0";
/// The member of a request that carries its service parameters ("Service parameters").
pub const SERVICE_PARAMETERS: &str = "a2a-service-parameters";
/// The service parameter that names the version.
pub const VERSION_PARAMETER: &str = "A2A-Version";
/// The service parameter that names the extensions which the caller uses.
pub const EXTENSIONS_PARAMETER: &str = "A2A-Extensions";
/// The error code PushNotificationNotSupportedError.
pub const PUSH_NOTIFICATION_NOT_SUPPORTED: i64 = -32003;
/// The error code VersionNotSupportedError.
pub const VERSION_NOT_SUPPORTED: i64 = -32009;
/// How many service parameters a request may have.
pub const MAX_SERVICE_PARAMETERS: usize = 64;
/// How long the name of a service parameter may be, in bytes.
pub const MAX_PARAMETER_NAME_LEN: usize = 128;
