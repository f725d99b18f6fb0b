//! The chat core's bot API.

#[cfg(feature = "alloc")]
pub mod journal;
