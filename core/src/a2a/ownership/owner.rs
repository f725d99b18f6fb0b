//! Who owns contexts and tasks.

use core::fmt;
use core::str::FromStr;

use crate::chat::{Chat, ContactId, GroupId, MemberId, Sender};

/// A caller in a conversation: the contact of a direct chat, or a member of a group.
///
/// It is written as `@4`, or `#7/` and the member's id; a channel, which names no member, as `#7`.
/// The ids are those of the profile's own chat core, which outlive a restart.
///
/// ```
/// use agentwire_core::a2a::ownership::Owner;
/// use agentwire_core::chat::ContactId;
/// let owner = Owner::contact(ContactId(4));
/// assert_eq!(owner.to_string(), "@4");
/// assert_eq!("@4".parse(), Ok(owner));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_structs)]
pub struct Owner {
    /// The conversation.
    pub chat: Chat,
    /// Who, in it.
    pub sender: Sender,
}

impl Owner {
    /// Who sent a message in a conversation.
    pub const fn new(chat: Chat, sender: Sender) -> Self {
        Self { chat, sender }
    }

    /// The contact of a direct chat.
    pub const fn contact(contact: ContactId) -> Self {
        Self::new(Chat::Direct(contact), Sender::Contact)
    }

    /// A member of a group.
    pub const fn member(group: GroupId, member: MemberId) -> Self {
        Self::new(Chat::Group(group), Sender::Member(member))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.sender {
            Sender::Contact | Sender::Channel => self.chat.fmt(f),
            Sender::Member(member) => write!(f, "{}/{}", self.chat, member.get()),
        }
    }
}

/// A text that is no [`Owner`].
///
/// ```
/// use agentwire_core::a2a::ownership::{Owner, OwnerError};
/// assert_eq!("4".parse::<Owner>(), Err(OwnerError));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_structs)] // There is nothing to say.
pub struct OwnerError;

impl fmt::Display for OwnerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a caller in a conversation")
    }
}

impl core::error::Error for OwnerError {}

impl FromStr for Owner {
    type Err = OwnerError;

    fn from_str(text: &str) -> Result<Self, OwnerError> {
        if let Some(contact) = text.strip_prefix('@') {
            return contact.parse().map(|id| Self::contact(ContactId(id))).map_err(|_| OwnerError);
        }
        let group = text.strip_prefix('#').ok_or(OwnerError)?;
        let (group, member) = match group.split_once('/') {
            Some((group, member)) => (group, Some(member)),
            None => (group, None),
        };
        let group = Chat::Group(GroupId(group.parse().map_err(|_| OwnerError)?));
        let sender = match member {
            Some(member) => Sender::Member(MemberId::new(member).map_err(|_| OwnerError)?),
            None => Sender::Channel,
        };
        Ok(Self::new(group, sender))
    }
}
