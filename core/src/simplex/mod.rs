#![doc = include_str!("../../docs/simplex.md")]

pub mod command;
pub mod error;
pub mod frame;
mod ids;
#[cfg(feature = "alloc")]
pub mod journal;
pub mod profile;
mod version;

pub use ids::{ConnectionId, ContactRequestId, UserId};
pub use version::{CoreVersion, MIN_CORE_VERSION, Support, TRIED_CORE_VERSION, VersionError};
