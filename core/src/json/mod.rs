//! placeholder
mod error;
pub mod length;
mod scan;
mod write;
