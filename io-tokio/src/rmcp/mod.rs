//! The official Rust SDK of MCP over SimpleX (feature `rmcp`): an `rmcp` server or client runs
//! unchanged.
//!
//! A client gets a [`ClientTransport`] in place of a child process or an HTTP endpoint; a server
//! stands behind a bot as its [`Server`] handler:
//!
//! ```text
//!  rmcp client ── ClientTransport ── Client ══ chat or Service RPC ══ Bot ── Server ── rmcp server
//! ```
//!
//! Revision 2026-07-28 has neither a handshake nor a session, so
//! - a client is started with `ClientLifecycleMode::Discover`: the older `initialize` is no request
//!   of the binding, and `call` refuses it;
//! - each request gets a service of its own from the server's factory. Requests of different
//!   callers with equal ids or progress tokens cannot meet, and notifications belong to the
//!   request during which the service sends them ("MCP binding", "Messages"). State that requests
//!   share belongs behind an `Arc` in the factory;
//! - servers ask nothing of clients, and of the client's notifications only
//!   `notifications/cancelled` means something: the call is given up here. Nothing is sent,
//!   since the binding has no cancellation.

mod client;
mod server;

pub use client::{ClientTransport, TransportError};
pub use server::Server;
