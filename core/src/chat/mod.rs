//! placeholder
pub mod caller;
pub mod command;
mod ids;
pub mod responder;
#[cfg(feature = "alloc")]
pub mod session;
pub mod size;
