//! The session against a scripted core.

mod asking;
mod calling;
mod core_of;
mod journaling;
mod reconnecting;
mod service;
mod starting;
