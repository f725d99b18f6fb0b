//! Black-box tests of the agentwire crates: what the tests in `tests/` and the programs share.

pub mod cores;
pub mod interop;
pub mod peers;
pub mod program;
pub mod readme;
pub mod vectors;
pub mod world;

/// The README's Rust, held to what the crates are.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
