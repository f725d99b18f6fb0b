//! What a chat core says of a message: the input of both machines.

use core::fmt;

use super::size::Mention;
use super::{Chat, ItemId, MemberId, Sender};

/// One received chat item: everything that the machines want to know of it.
///
/// A driver fills it from the chat core's `newChatItems` and `chatItemUpdated`. Only text
/// messages that others sent are items of this kind. `Debug` shows lengths, never texts.
///
/// ```
/// use agentwire_core::chat::{Chat, ContactId, Item, ItemId};
///
/// let item = Item::direct(ContactId(4), ItemId(17), "/_call mcp {}");
/// assert_eq!(item.chat, Chat::Direct(ContactId(4)));
/// assert!(item.quote.is_none());
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Item<'m> {
    /// The conversation.
    pub chat: Chat,
    /// Who sent it.
    pub sender: Sender,
    /// The item's id in the profile's own database.
    pub id: ItemId,
    /// Its text, byte for byte.
    pub text: &'m str,
    /// The message it quotes.
    pub quote: Option<Quoted<'m>>,
    /// The mentions that the chat core recognised in it, each name with its member.
    pub mentions: &'m [Mention<'m>],
    /// Who the profile is in this group. `None` in a direct chat, or where it is not known.
    pub me: Option<Me<'m>>,
    /// The item's time as the chat core writes it (`itemTs`), where it is known: a reply's quote
    /// repeats it, so it counts towards the size of the reply.
    pub sent_at: Option<&'m str>,
    /// The seconds after which this chat deletes messages, where it does: the chat core adds them
    /// to a reply, so they count towards its size.
    pub ttl: Option<u64>,
    /// Whether this is a new text of an item that was there before (`chatItemUpdated`).
    pub edited: bool,
}

impl<'m> Item<'m> {
    /// A message of the contact of a direct chat.
    pub const fn direct(contact: super::ContactId, id: ItemId, text: &'m str) -> Self {
        Self::new(Chat::Direct(contact), Sender::Contact, id, text)
    }

    /// A message of a member of a group, which profile `me` belongs to.
    pub const fn group(
        group: super::GroupId,
        member: MemberId,
        me: Me<'m>,
        id: ItemId,
        text: &'m str,
    ) -> Self {
        let mut item = Self::new(Chat::Group(group), Sender::Member(member), id, text);
        item.me = Some(me);
        item
    }

    /// A message with nothing but a text.
    pub const fn new(chat: Chat, sender: Sender, id: ItemId, text: &'m str) -> Self {
        Self {
            chat,
            sender,
            id,
            text,
            quote: None,
            mentions: &[],
            me: None,
            sent_at: None,
            ttl: None,
            edited: false,
        }
    }

    /// The same item with a quote.
    #[must_use]
    pub const fn quoting(mut self, quote: Quoted<'m>) -> Self {
        self.quote = Some(quote);
        self
    }

    /// The same item with the mentions that the chat core recognised.
    #[must_use]
    pub const fn mentioning(mut self, mentions: &'m [Mention<'m>]) -> Self {
        self.mentions = mentions;
        self
    }

    /// The same item with its time.
    #[must_use]
    pub const fn at(mut self, sent_at: &'m str) -> Self {
        self.sent_at = Some(sent_at);
        self
    }

    /// The same item in a chat that deletes messages after this many seconds.
    #[must_use]
    pub const fn ttl(mut self, seconds: u64) -> Self {
        self.ttl = Some(seconds);
        self
    }

    /// The same item, as a new text of one that was there before.
    #[must_use]
    pub const fn edit(mut self) -> Self {
        self.edited = true;
        self
    }
}

impl fmt::Debug for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("chat", &self.chat)
            .field("sender", &self.sender)
            .field("id", &self.id)
            .field("text_len", &self.text.len())
            .field("quote", &self.quote)
            .field("mentions", &self.mentions.len())
            .field("edited", &self.edited)
            .finish()
    }
}

/// Which message an item quotes. The quoted text is left out on purpose: it is whatever the
/// replier sent, so nothing is decided by it.
///
/// ```
/// use agentwire_core::chat::{ItemId, Quoted};
/// let quote = Quoted::own(ItemId(7));
/// assert!(quote.is_own);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quoted<'m> {
    /// Whether the quoted message is one that the profile sent itself (`directSnd`, `groupSnd`).
    pub is_own: bool,
    /// Its id in the profile's own database; absent when it is deleted there.
    pub item: Option<ItemId>,
    /// Its `sharedMsgId`.
    pub shared_msg_id: Option<&'m str>,
}

impl<'m> Quoted<'m> {
    /// A quote of a message that the profile sent itself.
    pub const fn own(item: ItemId) -> Self {
        Self { is_own: true, item: Some(item), shared_msg_id: None }
    }

    /// A quote with what is known of the quoted message.
    pub const fn new(is_own: bool, item: Option<ItemId>, shared_msg_id: Option<&'m str>) -> Self {
        Self { is_own, item, shared_msg_id }
    }
}

impl fmt::Debug for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quoted")
            .field("is_own", &self.is_own)
            .field("item", &self.item)
            .field("shared_msg_id", &self.shared_msg_id.is_some())
            .finish()
    }
}

/// Who the profile is in a group.
///
/// ```
/// use agentwire_core::chat::{Me, MemberId};
/// let me = Me::new(MemberId::new("bVJpU2x2Q2ozMmZkVE81WA==").unwrap(), "acme");
/// assert!(!me.name_is_shared);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Me<'m> {
    /// The profile's `memberId` in the group.
    pub member: MemberId,
    /// Its own display name in the group.
    pub name: &'m str,
    /// Whether another member that the profile knows bears the same name.
    pub name_is_shared: bool,
}

impl<'m> Me<'m> {
    /// A member whose name no other member bears.
    pub const fn new(member: MemberId, name: &'m str) -> Self {
        Self { member, name, name_is_shared: false }
    }

    /// The same, where another member that the profile knows bears the same name.
    #[must_use]
    pub const fn name_is_shared(mut self, shared: bool) -> Self {
        self.name_is_shared = shared;
        self
    }
}

impl fmt::Debug for Me<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Me")
            .field("member", &self.member)
            .field("name_len", &self.name.len())
            .field("name_is_shared", &self.name_is_shared)
            .finish()
    }
}
