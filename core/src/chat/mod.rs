//! placeholder
pub mod caller;
pub mod command;
pub mod encode;
mod ids;
pub mod responder;
#[cfg(feature = "alloc")]
pub mod session;
pub mod size;

pub use ids::{
    Chat, ContactId, GroupId, IdTooLong, ItemId, MAX_TEXT_ID_LEN, MemberId, Sender, SharedMsgId,
};
