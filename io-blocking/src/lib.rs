//! agentwire on plain threads, without an async runtime.
//!
//! - [`network`]: the embedded loopback, shared by the threads of one process.
//! - [`link`]: where a chat core is, and one connection to it.
//! - [`client`]: calls agents and bots, in a direct chat or in a group.
//! - [`bot`]: answers calls with handlers of its own, in worker threads.
//! - `journal` (feature `sqlite`): the call journal on disk. Nothing in it waits for anything but
//!   the disk, so other adapters use it too.
//! - `ownership` (feature `sqlite`): whose the contexts and tasks of A2A are, on disk likewise.
//!
//! There is no protocol rule in this crate: [`Session`](agentwire_core::chat::session::Session)
//! has them all, and what is here takes its steps and waits.

#![allow(clippy::std_instead_of_alloc, reason = "std is always there")]

mod agent;
mod bell;
pub mod bot;
pub mod client;
#[cfg(feature = "sqlite")]
pub mod journal;
pub mod link;
#[doc(hidden)]
#[allow(missing_docs, reason = "for the two adapters")]
pub mod machine;
mod machines;
pub mod network;
mod not_sent;
#[cfg(feature = "sqlite")]
pub mod ownership;
mod queue;
