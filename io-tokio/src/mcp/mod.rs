//! An MCP server behind bots, or before HTTP clients: [`McpBridge`] (Unix).
//!
//! ```text
//!   Bot (chat, Service RPC) ─▶ McpHandler ─┐
//!                                          ├─▶ McpBridge ─▶ a child process, or Streamable HTTP
//!   local HTTP clients ──────▶ Front ──────┘
//! ```
//!
//! Every rule is the machine's ([`agentwire_core::mcp::bridge`]): what may be passed on, whose answer
//! a message is, which limits hold. Here are a task that turns it, processes and sockets:
//!
//! - A child runs in a process group of its own, its standard error is drained, kept and logged, and
//!   its end ends its calls at once. It is started again with growing delays; what was up for a while
//!   is back soon ([`Backoff`](agentwire_core::mcp::bridge::Backoff)). Closing (or dropping) the bridge ends the whole group.
//! - [`Health`] says how it stands.
//! - [`PerCaller`] gives each caller a server of its own, as many as allowed, and ends those that
//!   nobody uses.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn core::error::Error>> {
//! use agentwire_core::mcp::bridge::{CallerId, Room, Via};
//! use agentwire_tokio::mcp::{Backend, McpBridge, Options, Reply};
//! use agentwire_tokio::stdio::ServerCommand;
//!
//! let command = ServerCommand::new("mcp-server-time").args(["--local-timezone", "UTC"]);
//! let bridge = McpBridge::start(Backend::Child(command), Options::default());
//! bridge.ready().await?;
//! let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
//!     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//! let mut call = bridge.call(CallerId(1), request, Room::UNLIMITED, Via::Conversation);
//! while let Some(reply) = call.next().await {
//!     match reply {
//!         Reply::Notification(text) => eprintln!("{} bytes of progress", text.len()),
//!         Reply::Answer(answer) => println!("{}", answer.text),
//!         _ => {}
//!     }
//! }
//! bridge.close().await;
//! # Ok(())
//! # }
//! ```
//!
#![doc = include_str!("../../docs/conformance.md")]

mod bridge;
mod child;
mod front;
mod handler;
mod health;
mod options;
mod per_caller;
#[cfg(feature = "gateway")]
pub(crate) mod refusal;
mod replies;
mod task;
mod upstream;

pub use crate::http::HttpError;
pub use bridge::{Backend, Call, McpBridge, Reply};
pub use front::{Answers, Front, FrontConfig, PATH};
pub use handler::McpHandler;
pub use health::{Health, StartError, Trouble};
pub use options::{Log, Options};
pub use per_caller::{IDLE, MAX_SERVERS, PerCaller, Servers};
pub use replies::Replies;
pub use upstream::Upstream;
