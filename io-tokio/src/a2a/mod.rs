//! A2A agents on HTTP, made reachable over SimpleX, and the other way round.
//!
//! ```text
//!  A2A client ──HTTP──► Gateway ──Client──► SimpleX ──Bot──► Proxy ──HTTPS──► A2A agent
//! ```
//!
//! [`Proxy`] is a [`Handler`](crate::bot::Handler): a bot with it answers `/_call a2a` and Service
//! RPC for an agent on HTTP. [`Gateway`] is a local HTTP server whose agent is in a conversation.
//! What may go to the agent, whose tasks are whose and what a challenge becomes is
//! [`agentwire_core::a2a`]'s.
//!
#![doc = include_str!("../../docs/interop.md")]

mod exchange;
mod gateway;
mod proxy;
mod source;
mod upstream;

#[cfg(feature = "a2a-client")]
pub(crate) use gateway::call_failed;

pub use crate::http::HttpError;
pub use gateway::{Gateway, GatewayConfig, GatewayError, INTERFACE_PATH};
pub use proxy::{Proxy, ProxyConfig};
pub use upstream::{Upstream, UpstreamConfig, UpstreamError};
