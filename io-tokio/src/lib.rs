//! agentwire on tokio.
//!
//! - [`network`]: the embedded loopback, shared by the tasks of one process.
//! - [`link`]: where a chat core is, and one connection to it.
//! - [`client`]: calls agents and bots, in a direct chat or in a group.
//! - [`bot`]: answers calls with handlers of its own.
//! - [`gateway`] (feature `gateway`, Unix): a local MCP server for agent hosts.
//! - [`reach`]: whom a call is for, as a person writes it, and how it gets there.
//! - [`a2a`] (feature `a2a`): A2A agents on HTTP, made reachable over SimpleX, and the other way
//!   round.
//! - [`card`] (feature `card`): Agent Cards fetched from the web, and who vouches for them.
//! - [`a2a_client`] (feature `a2a-client`): a transport for clients of the official Rust SDK of A2A.
//! - [`rmcp`] (feature `rmcp`): servers and clients of the official Rust SDK of MCP.
//! - [`server`]: the loopback behind the WebSocket API of chat cores.
//! - [`mcp`] (feature `mcp`, Unix): an MCP server behind bots, or before local HTTP clients.
//! - [`stdio`] (feature `mcp`, Unix): an MCP server as a child process, spoken to over its
//!   standard streams.
//! - [`journal`] (feature `sqlite`): the call journal on disk.
//! - [`ownership`] (feature `sqlite`): whose the contexts and tasks of A2A are, on disk.

#![allow(clippy::std_instead_of_alloc, reason = "std is always there")]

#[cfg(feature = "a2a")]
pub mod a2a;
#[cfg(feature = "a2a-client")]
pub mod a2a_client;
mod agent;
pub mod bot;
#[cfg(feature = "card")]
pub mod card;
pub mod client;
#[cfg(all(feature = "gateway", unix))]
pub mod gateway;
#[cfg(any(feature = "a2a", all(feature = "mcp", unix)))]
mod http;
pub mod link;
#[cfg(all(feature = "mcp", unix))]
pub mod mcp;
pub mod network;
pub mod reach;
#[cfg(feature = "rmcp")]
pub mod rmcp;
pub mod server;
#[cfg(all(feature = "mcp", unix))]
pub mod stdio;

#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use agentwire_blocking::{journal, ownership};
