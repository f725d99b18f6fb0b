//! The chat transport: protocol messages in a conversation ("Chat transport").
//!
//! A caller sends a command as a text message; a bot answers it with replies that quote it.
//!
//! ```text
//!   caller's side                                              responder's side
//!
//!   Caller::call ──Transmit──▶ chat core ~~~ /_call mcp {…} ~~▶ Responder::handle_command
//!                                                                     │ Request, with a Token
//!   Caller::handle_sent ◀── the item's id                             ▼
//!                                                                  a handler
//!   Caller::handle_reply ◀─── chat core ◀~~ {…}, quoting ~~~ Responder::notify, respond
//! ```
//!
//! - [`command`]: the grammar of the command.
//! - [`size`]: how much of the one message that fits is taken.
//! - [`caller`] and [`responder`]: the two machines. Neither stores a message: each input gives at
//!   most one event, and the event borrows from the input.
//! - [`session`] (with `alloc`): both machines with bounded queues, for drivers that want to own
//!   what they handle.

pub mod caller;
pub mod command;
pub mod encode;
mod failure;
mod ids;
mod item;
mod punctuation;
pub mod responder;
#[cfg(feature = "alloc")]
pub mod session;
pub mod size;
#[cfg(feature = "alloc")]
mod target;
mod transmit;

#[cfg(feature = "alloc")]
pub use crate::table::Growable;
pub use crate::table::{Inline, Storage};
pub use ids::{
    CallKey, Chat, ContactId, GroupId, GroupMemberId, IdTooLong, ItemId, MAX_TEXT_ID_LEN, MemberId,
    Sender, SharedMsgId,
};
pub use item::{Item, Me, Quoted};
#[cfg(feature = "loopback")]
pub(crate) use punctuation::is_punctuation;
pub use size::Mention;
#[cfg(feature = "alloc")]
pub use target::{CallOptions, Target};
pub use transmit::Transmit;
