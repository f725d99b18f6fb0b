//! agentwire on tokio.
//!
//! - [`stdio`] (feature `mcp`, Unix): an MCP server as a child process, spoken to over its
//!   standard streams.

#![allow(clippy::std_instead_of_alloc, reason = "std is always there")]

#[cfg(all(feature = "mcp", unix))]
pub mod stdio;
