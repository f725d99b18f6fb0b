//! A local MCP server through which an agent host reaches agents and bots of SimpleX
//! (feature `gateway`).
//!
//! ```text
//!  agent host ══ MCP over stdio ══ Gateway ── Client ══ chat core ══ SimpleX ══ bots
//!                                     │
//!                                     └── Approver: the owner
//! ```
//!
//! The host speaks MCP and nothing else, of whichever revision the SDK knows. The gateway's own
//! tools are those that an agent needs for a profile of its own (Agent protocols over SimpleX,
//! "Implementations"):
//!
//! | tool | does |
//! |---|---|
//! | `connect` | connects to a contact address |
//! | `send`, `receive` | messages of a conversation |
//! | `list` | contacts and groups, and what they declare |
//! | `leave` | leaves a group |
//! | `mcp_tools`, `mcp_call` | lists and calls the tools of another agent |
//! | `a2a_call` | sends a message to an A2A agent |
//!
//! Tools of chosen agents can also be [mirrored](GatewayConfig::mirrors) under a prefix, so that a
//! model sees them as the gateway's own.
//!
//! [`Transparent`] is the other form: one agent, whose methods are the gateway's, as if it were
//! local.
//!
//! # What the owner decides
//!
//! Each connection, message and call is an action that the owner approves first, unless
//! [`When`] says less. An approval is for one action; what is asked shows the whole of it.
//! Definitions of tools are [pinned](agentwire_core::mcp::pins) at first sight: a changed one is
//! not called until the owner accepts the difference.
//!
//! # What others say
//!
//! Results come from other parties. They are given to the model behind a sentence that says from
//! whom they are, and that they are data.

mod approval;
mod approve;
mod config;
mod conversation;
mod remote;
mod server;
mod text;
mod tools;
mod transparent;

pub use approve::{Action, Approver, ChatOwner, CommandHook, Decision, Unasked, When};
pub use config::{GatewayConfig, Mirror};
pub use server::Gateway;
pub use transparent::Transparent;
