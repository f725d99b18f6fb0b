//! What the examples share: two agents at two SimpleX cores in memory. An example drives both
//! agents with a runtime of its own; nothing here knows of one.
//!
//! ```text
//!   example          Agent (Session) ── frames ── Socket ──┐
//!   and its runtime                                        ├── Api · Loopback: the cores
//!                    Agent (Session) ── frames ── Socket ──┘
//! ```
//!
//! The [caller](agents) asks twice. The first answer has to be the right one; the second request
//! the bot leaves alone, so that call has to end with its wait. An example thus has to get both
//! right: waking when a frame comes, and waking when time has passed.

mod agent;
mod socket;

pub use agent::{ANSWER, Agent, Verdict, Wrong, agents};
pub use socket::Socket;
