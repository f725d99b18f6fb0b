//! Black-box tests of the agentwire crates: what the tests in `tests/` and the programs share.

pub mod vectors;
pub mod world;
