//! The proxy to an A2A agent on HTTP and the gateway from one, with agents and clients that also
//! say what they must not.
#![allow(missing_docs, clippy::std_instead_of_alloc)]

mod agent;
mod faults;
mod gateway;
mod left;
#[cfg(all(feature = "cli", unix))]
mod program;
mod proxy;
mod rows;
mod webhooks;
