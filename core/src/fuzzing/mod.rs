//! The bodies of the fuzz targets: one per parser and one per machine.
//!
//! A body takes bytes, makes an input of them and holds what the crate says of it against a naive
//! model. It panics where the two differ: that is how a fuzz target reports. `fuzz/` has one thin
//! target for each, and an ordinary test replays the committed corpora through `TARGETS`.
//!
//! | target | input | held against |
//! |---|---|---|
//! | `a2a_check` | parameters, or a result | what must hold of each check, and what may not be missing |
//! | `a2a_forward` | a request and an answer | what must not be changed on the way |
//! | `command` | a text | the grammar, written out from the parts that were read |
//! | `json` | a text; JSON made from the bytes | `serde_json`, exact decimal arithmetic |
//! | `size` | a text and a message | a table of bytes, the encoder |
//! | `jsonrpc` | a text; a message made from the bytes | a reading on top of `serde_json` |
//! | `bindings` | a text; requests and replies made from the bytes | the documents' tables, naively |
//! | `profile` | a text; preferences made from the bytes | the documents' schemas, naively; what rewriting must keep |
//! | `canonical` | a text; JSON made from the bytes | a tree that is written naively |
//! | `card` | a text; a card made from the bytes | what signing and checking must agree on |
//! | `caller_ops` | a script of operations | a list of calls |
//! | `responder_ops` | a script of operations | a list of commands |
//! | `envelope` | a text; an envelope made from the bytes | the schemas, on top of `serde_json` |
//! | `simplex_frame` | a frame, and one made from the bytes; a command made from them | a reading on top of `serde_json` |
//! | `simplex_session` | a script of what happens to two sessions and their wires | what must hold whatever breaks |
//! | `rpc_ops` | a script of operations | lists of requests |
//! | `sse` | a stream of bytes and how it is cut | the standard's algorithm on the whole stream |
//! | `mcp_bridge` | a script of operations | a list of calls, and a server that echoes their numbers |
//! | `loopback_api` | a script of commands and frames | one answer for each; the reader of frames |
//! | `pair` | a scenario | what must hold whatever the network does |
//!
//! Two parts of the crate's API serve them alone: `TARGETS` and the functions. Neither is stable.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "a panic is how a fuzz target reports what it has found"
)]

mod a2a;
mod api;
mod bindings;
mod bridge;
mod caller;
mod canonical;
#[cfg(feature = "card")]
mod card;
mod command;
mod discovery;
mod generate;
mod json;
mod jsonrpc;
mod model;
mod pair;
mod profile;
mod responder;
mod rpc;
mod script;
mod simplex_frame;
mod simplex_session;
mod size;
mod sse;

pub use a2a::{a2a_check, a2a_forward};
pub use api::loopback_api;
pub use bindings::bindings;
pub use bridge::mcp_bridge;
pub use caller::caller_ops;
pub use canonical::canonical;
#[cfg(feature = "card")]
pub use card::card;
pub use command::command;
pub use discovery::{link, llms, name};
pub use json::json;
pub use jsonrpc::jsonrpc;
pub use pair::pair;
pub use profile::profile;
pub use responder::responder_ops;
pub use rpc::{envelope, rpc_ops};
pub use simplex_frame::simplex_frame;
pub use simplex_session::simplex_session;
pub use size::size;
pub use sse::sse;

/// A body.
pub type Body = fn(&[u8]);

/// Every target by its name, which is that of its corpus.
pub const TARGETS: &[(&str, Body)] = &[
    ("a2a_check", a2a_check),
    ("a2a_forward", a2a_forward),
    ("bindings", bindings),
    ("caller_ops", caller_ops),
    ("canonical", canonical),
    #[cfg(feature = "card")]
    ("card", card),
    ("command", command),
    ("envelope", envelope),
    ("json", json),
    ("jsonrpc", jsonrpc),
    ("link", link),
    ("llms", llms),
    ("loopback_api", loopback_api),
    ("mcp_bridge", mcp_bridge),
    ("name", name),
    ("pair", pair),
    ("profile", profile),
    ("responder_ops", responder_ops),
    ("rpc_ops", rpc_ops),
    ("simplex_frame", simplex_frame),
    ("simplex_session", simplex_session),
    ("size", size),
    ("sse", sse),
];
