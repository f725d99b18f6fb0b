#![doc = include_str!("../../docs/simplex.md")]

mod backoff;
pub mod command;
#[cfg(feature = "alloc")]
pub mod control;
pub mod error;
pub mod frame;
mod ids;
#[cfg(feature = "alloc")]
pub mod journal;
pub mod profile;
#[cfg(feature = "alloc")]
pub mod replay;
#[cfg(feature = "alloc")]
mod session;
mod version;

pub use backoff::{Backoff, BackoffConfig};
pub use ids::{ContactRequestId, UserId};
#[cfg(feature = "alloc")]
pub use session::{
    AskError, CommandId, Disconnect, Event, Garbage, Input, Link, NotSent, Outcome, Output,
    OutputsFull, OwnedFrame, Publication, Ready, ServiceRequests, ServiceTarget, Session,
    SessionConfig, StartError, Transmit, WhyOff,
};
pub use version::{CoreVersion, MIN_CORE_VERSION, Support, TRIED_CORE_VERSION, VersionError};
