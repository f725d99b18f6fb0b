//! Whom a call is for, as a person writes it, and how it gets there.
//!
//! [`Address`] reads what is typed after `--to` or given by a model, [`Reached`] is what a chat
//! core knows of it, and [`Reached::route`] chooses between the conversation and Service RPC by
//! what is declared ([`profile::choose`](agentwire_core::profile::choose)):
//!
//! ```text
//!  "#team @acme" ── Address ──▶ Reached::find ──▶ Reached::route ──▶ Destination
//!                   (parsed)    (core is asked)   (declarations,     (a conversation, or
//!                                                  the request)       a Service RPC target)
//! ```

mod address;
mod error;
mod route;

pub use address::{Address, AddressError, Who};
pub use error::ReachError;
pub use route::{Destination, Reached};
