//! Who and what a chat message names.

use core::fmt;

use crate::short::Short;

/// A contact of a profile: the chat core's `contactId`, unique in that profile's database.
///
/// ```
/// use agentwire_core::chat::{Chat, ContactId};
/// assert_eq!(Chat::Direct(ContactId(4)).to_string(), "@4");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_structs)] // A name for an integer.
pub struct ContactId(pub i64);

/// A group of a profile: the chat core's `groupId`, unique in that profile's database.
///
/// ```
/// use agentwire_core::chat::{Chat, GroupId};
/// assert_eq!(Chat::Group(GroupId(4)).to_string(), "#4");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_structs)] // A name for an integer.
pub struct GroupId(pub i64);

/// A member of a group as one profile's database counts members: the chat core's
/// `groupMemberId`. Sending a mention takes it; nothing else does, since every side has its own.
///
/// ```
/// use agentwire_core::chat::GroupMemberId;
/// assert_eq!(GroupMemberId(7).0, 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_structs)] // A name for an integer.
pub struct GroupMemberId(pub i64);

/// A chat item: the chat core's `itemId`. It is unique in one profile's database; the two sides
/// of a conversation number the same message differently.
///
/// ```
/// use agentwire_core::chat::ItemId;
/// assert!(ItemId(7) < ItemId(8));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_structs)] // A name for an integer.
pub struct ItemId(pub i64);

/// A conversation of a profile. Written as the chat core writes it: `@4` or `#4`.
///
/// ```
/// use agentwire_core::chat::{Chat, ContactId, GroupId};
/// assert!(Chat::Group(GroupId(1)).is_group());
/// assert_ne!(Chat::Group(GroupId(1)), Chat::Direct(ContactId(1)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_enums)] // The chat core has these two that can carry a call.
pub enum Chat {
    /// A direct chat with a contact.
    Direct(ContactId),
    /// A group.
    Group(GroupId),
}

impl Chat {
    /// Whether other members see what is sent here.
    pub const fn is_group(self) -> bool {
        matches!(self, Self::Group(_))
    }
}

impl fmt::Display for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct(ContactId(id)) => write!(f, "@{id}"),
            Self::Group(GroupId(id)) => write!(f, "#{id}"),
        }
    }
}

/// A command: its item and the conversation that holds it. They are ordered as the chat core has
/// stored them.
///
/// ```
/// use agentwire_core::chat::{CallKey, Chat, ContactId, ItemId};
/// let chat = Chat::Direct(ContactId(4));
/// assert!(CallKey::new(chat, ItemId(7)) < CallKey::new(chat, ItemId(8)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct CallKey {
    /// The item.
    pub item: ItemId,
    /// The conversation.
    pub chat: Chat,
}

impl CallKey {
    /// The command of this item.
    pub const fn new(chat: Chat, item: ItemId) -> Self {
        Self { item, chat }
    }
}

impl From<&super::Item<'_>> for CallKey {
    fn from(item: &super::Item<'_>) -> Self {
        Self::new(item.chat, item.id)
    }
}

/// The longest identifier that [`MemberId`] and [`SharedMsgId`] hold, in bytes. The chat core
/// makes both 24 characters long: base64 of the base64 of twelve random bytes.
pub const MAX_TEXT_ID_LEN: usize = 31;

/// A textual identifier is longer than [`MAX_TEXT_ID_LEN`].
///
/// ```
/// use agentwire_core::chat::{MAX_TEXT_ID_LEN, MemberId};
/// assert!(MemberId::new(&"m".repeat(MAX_TEXT_ID_LEN)).is_ok());
/// assert_eq!(MemberId::new(&"m".repeat(MAX_TEXT_ID_LEN + 1)).unwrap_err().len, 32);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct IdTooLong {
    /// Its length in bytes.
    pub len: usize,
}

impl fmt::Display for IdTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an identifier of {} bytes, at most {MAX_TEXT_ID_LEN} are kept", self.len)
    }
}

impl core::error::Error for IdTooLong {}

macro_rules! text_id {
    ($(#[$docs:meta])* $name:ident) => {
        $(#[$docs])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub struct $name(Short<MAX_TEXT_ID_LEN>);

        impl $name {
            /// Keeps an identifier as the chat core wrote it.
            ///
            /// # Errors
            /// [`IdTooLong`] when it is longer than [`MAX_TEXT_ID_LEN`] bytes.
            pub fn new(text: &str) -> Result<Self, IdTooLong> {
                Short::new(text).map(Self).ok_or(IdTooLong { len: text.len() })
            }

            /// The identifier's text.
            pub fn get(&self) -> &str {
                self.0.get()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.get().escape_debug())
            }
        }

        #[cfg(feature = "arbitrary")]
        impl<'a> arbitrary::Arbitrary<'a> for $name {
            fn arbitrary(u: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
                // Few values, so that generated operations meet each other.
                let digit = u.int_in_range(b'0'..=b'9')?;
                Self::new(core::str::from_utf8(&[digit]).unwrap_or_default())
                    .map_err(|_| arbitrary::Error::IncorrectFormat)
            }
        }
    };
}

text_id! {
    /// A member of a group: the chat core's `memberId`, the same on every member's side. It is
    /// compared byte by byte; a display name never stands for it.
    ///
    /// ```
    /// use agentwire_core::chat::MemberId;
    /// let member = MemberId::new("bVJpU2x2Q2ozMmZkVE81WA==").unwrap();
    /// assert_eq!(member.get(), "bVJpU2x2Q2ozMmZkVE81WA==");
    /// ```
    MemberId
}

text_id! {
    /// A message: the chat core's `itemSharedMsgId`, the same on both sides of a conversation.
    ///
    /// ```
    /// use agentwire_core::chat::SharedMsgId;
    /// let message = SharedMsgId::new("dXQ3UnhqVi9YSnhCTlhydg==").unwrap();
    /// assert_eq!(message.get().len(), 24);
    /// ```
    SharedMsgId
}

/// Who sent a message.
///
/// ```
/// use agentwire_core::chat::{MemberId, Sender};
/// let member = MemberId::new("bVJpU2x2Q2ozMmZkVE81WA==").unwrap();
/// assert_ne!(Sender::Member(member), Sender::Channel);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_enums)] // The chat core's directRcv, groupRcv and channelRcv.
pub enum Sender {
    /// The contact of the direct chat.
    Contact,
    /// A member of the group.
    Member(MemberId),
    /// The group or channel itself: a message that names no member.
    Channel,
}
