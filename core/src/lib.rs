//! Agent-to-agent protocols as pure machines.
//!
//! MCP and A2A messages travel over SimpleX, as *Agent protocols over SimpleX* defines it: in a
//! conversation a caller sends `/_call <protocol> <request>`, and a bot answers with messages that
//! quote the command; over Service RPC one request has one response, and there is no conversation.
//! This crate holds all the rules of it and does nothing else: it reads no socket, no clock and no
//! random source, and it allocates nothing unless the feature `alloc` is on.
//! Section names in quotes, as in "Message size", are those of that document.
//!
//! # From the ground up
//!
//! | module | what it is |
//! |---|---|
//! | [`time`] | milliseconds from an epoch of the driver's choosing |
//! | [`json`] | a strict scanner that lends spans, escape-aware lengths, a writer |
//! | [`jsonrpc`] | requests, responses, errors and notifications, told apart strictly |
//! | [`sse`] | Server-Sent Events: an incremental reader, a writer |
//! | [`binding`] | what a protocol adds to the transport: the trait, and what can go wrong |
//! | [`mcp`], [`a2a`] | the two bindings that the document defines |
//! | [`chat`] | the command grammar, the size of a message, the caller and the responder |
//! | [`rpc`] | Service RPC: the envelope, its size, the requester and the responder |
//! | [`admission`] | who may call, how often, and with whose approval |
//! | [`profile`] | what profiles, groups and addresses declare, and the choice of a transport |
//! | [`discovery`] | addresses in `llms.txt`, SimpleX links and names |
//! | [`simplex`] | the chat core's bot API: commands, frames, and a session over them |
//! | `turns` | whose request is handled next, so that nobody takes all (feature `alloc`) |
//! | `card` | A2A Agent Cards: signatures, and the SimpleX interface in them (feature `card`) |
//! | `loopback` | a stand-in for SimpleX cores, itself a machine (feature `loopback`) |
//!
//! A module uses only what stands above it in this table.
//!
//! # What a machine is
//!
//! - It takes *what happened and when*, and says *what to do*. Ids and time are handed in; the same
//!   inputs give the same outputs, byte for byte.
//! - The unit of input is a whole message, so one input gives at most one event, and the event
//!   borrows from the input. Nothing is queued and no message is stored.
//! - Methods are of four kinds: `handle_*` take what happened, `poll_*` say what is next, getters
//!   take `&self`, and the rest is what the application wants. Each machine's docs sort its own.
//! - `poll_timeout` is the one source of deadlines and `handle_timeout` moves time on. A call of it
//!   without need does nothing, and time never runs backwards.
//! - Open calls stand in a table of a fixed capacity: in the machine itself
//!   ([`Inline`](chat::Inline)) or growing on the heap up to a limit (`Growable`). A full table is
//!   an error with its number.
//!
//! # Errors
//!
//! Each operation has an error of its own with the numbers inside. Misuse of the interface, the
//! other side's faults and want of capacity are different variants or types. An error changes
//! nothing: no partial effect, and the same call can be made again. `Debug` and `Display` show
//! lengths and offsets, never the text of a message. Nothing that the other side sends makes a
//! machine panic, recurse, loop or grow.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `std` (default) | `alloc`, [`binding::Guarded`] |
//! | `alloc` | growable tables, [`chat::session`](chat), `simplex::Session`, the message encoder |
//! | `loopback` | the stand-in for SimpleX cores |
//! | `sign` | `rpc::sign`: keys and signatures of Service RPC requests; no heap |
//! | `canonical` | `json::canonical`: canonical forms of JSON |
//! | `card` | `card`: signed A2A Agent Cards; this one needs Rust 1.87 |
//! | `serde`, `defmt` | derives on data, errors and events |
//! | `arbitrary` | `Arbitrary` inputs and the fuzz targets' bodies |
//!
//! Without any the crate needs `core` alone. Features only add: none changes what another does.
#![no_std]
#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

#[cfg(any(feature = "alloc", test))]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod a2a;
pub mod admission;
pub mod binding;
#[cfg(feature = "card")]
pub mod card;
pub mod chat;
pub mod discovery;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod fuzzing;
pub mod json;
pub mod jsonrpc;
#[cfg(feature = "loopback")]
pub mod loopback;
pub mod mcp;
pub mod profile;
mod rate;
pub mod rpc;
mod short;
pub mod simplex;
pub mod sse;
mod table;
pub mod time;
#[cfg(feature = "alloc")]
pub mod turns;
