//! Agent-to-agent protocols as pure machines: no I/O, no clock, no randomness, and no heap
//! unless the feature `alloc` is on.
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
pub mod binding;
pub mod chat;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod fuzzing;
pub mod json;
pub mod jsonrpc;
#[cfg(feature = "loopback")]
pub mod loopback;
pub mod mcp;
mod short;
mod table;
pub mod time;
