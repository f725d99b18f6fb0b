//! What goes in and out: messages to send, their receipts, and what a profile is told.

use alloc::{string::String, vec::Vec};
use core::fmt;

use super::error::SendError;
use super::service::{
    ConnectionId, ReceivedServiceRequest, ReceivedServiceResponse, ServiceHandle,
};
use crate::chat::{Chat, ContactId, GroupId, GroupMemberId, ItemId, MemberId, Sender, SharedMsgId};
use crate::rpc::CoreFailure;
use crate::simplex::ContactRequestId;
use crate::simplex::command::Scope;

/// A message to send: the core's `ComposedMessage` and the options of its `/_send`.
///
/// ```
/// use agentwire_core::chat::GroupMemberId;
/// use agentwire_core::loopback::ComposedMessage;
/// use agentwire_core::chat::ItemId;
///
/// let mentions = [("acme", GroupMemberId(7))];
/// let message = ComposedMessage::new("/_call @acme mcp {\n}").mentions(&mentions).quoting(ItemId(3));
/// assert_eq!(message.quoted_item, Some(ItemId(3)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComposedMessage<'a> {
    /// The text.
    pub text: &'a str,
    /// The item of the same chat that is quoted.
    pub quoted_item: Option<ItemId>,
    /// Who is mentioned: names, which the text must mention, and the members that they stand for.
    pub mentions: &'a [(&'a str, GroupMemberId)],
    /// Seconds after which the message disappears.
    pub ttl: Option<u32>,
    /// Whether the message is live, that is, still being written.
    pub live: bool,
    /// The support chat of the group that it belongs to, if it is not for all.
    pub scope: Option<Scope>,
    /// Whether it is sent in the name of the group, which its owner alone can do. What the owner
    /// of a channel sends to all is always sent so.
    pub as_group: bool,
    /// For tests: what to send as the quoted text instead of the item's own. Receivers cannot
    /// see the difference.
    pub forged_quote: Option<&'a str>,
}

impl<'a> ComposedMessage<'a> {
    /// A message with nothing but a text.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self {
            text,
            quoted_item: None,
            mentions: &[],
            ttl: None,
            live: false,
            scope: None,
            as_group: false,
            forged_quote: None,
        }
    }

    /// Quotes an item of the same chat.
    #[must_use]
    pub const fn quoting(mut self, item: ItemId) -> Self {
        self.quoted_item = Some(item);
        self
    }

    /// Mentions members of the group.
    #[must_use]
    pub const fn mentions(mut self, mentions: &'a [(&'a str, GroupMemberId)]) -> Self {
        self.mentions = mentions;
        self
    }

    /// Lets the message disappear after so many seconds.
    #[must_use]
    pub const fn ttl(mut self, seconds: u32) -> Self {
        self.ttl = Some(seconds);
        self
    }

    /// Marks the message as still being written.
    #[must_use]
    pub const fn live(mut self) -> Self {
        self.live = true;
        self
    }

    /// Sends the message in a support chat of the group.
    #[must_use]
    pub const fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Sends the message in the name of the group.
    #[must_use]
    pub const fn as_group(mut self) -> Self {
        self.as_group = true;
        self
    }

    /// Sends `text` as the quoted text.
    #[must_use]
    pub const fn forged_quote(mut self, text: &'a str) -> Self {
        self.forged_quote = Some(text);
        self
    }
}

impl<'a> From<&'a str> for ComposedMessage<'a> {
    fn from(text: &'a str) -> Self {
        Self::new(text)
    }
}

impl<'a> From<&'a String> for ComposedMessage<'a> {
    fn from(text: &'a String) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for ComposedMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComposedMessage")
            .field("text_len", &self.text.len())
            .field("quoted_item", &self.quoted_item)
            .field("mentions", &self.mentions)
            .field("ttl", &self.ttl)
            .field("live", &self.live)
            .field("scope", &self.scope)
            .field("as_group", &self.as_group)
            .field("forged_quote_len", &self.forged_quote.map(str::len))
            .finish()
    }
}

/// What the core answers to a message that it sends.
///
/// ```
/// # use agentwire_core::{chat::Chat, loopback::Loopback, time::Instant};
/// # let mut net = Loopback::new(1);
/// # let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// # let (to_bot, _) = net.connect(ann, bot).unwrap();
/// let sent = net.send(Instant::ZERO, ann, Chat::Direct(to_bot), "hello").unwrap();
/// assert_eq!(sent.encoded_len, 119);
/// assert_eq!(sent.item_ts.len(), "2026-11-30T14:50:04.279123456Z".len());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Sent {
    /// The new item in the sender's database.
    pub item: ItemId,
    /// The message's id, the same for all who receive it.
    pub shared_msg_id: SharedMsgId,
    /// The length of the encoded message in bytes.
    pub encoded_len: usize,
    /// The item's time as the sender's core keeps it.
    pub item_ts: String,
}

/// A member that a received message mentions.
///
/// ```
/// # use agentwire_core::loopback::{ComposedMessage, Event, Loopback};
/// # use agentwire_core::{chat::Chat, time::Instant};
/// # let mut net = Loopback::new(1);
/// # let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// # let group = net.create_group(ann, "team").unwrap();
/// # net.join(group, bot).unwrap();
/// # let chat = Chat::Group(net.group_id(group, ann).unwrap());
/// let member = net.member_of(group, ann, bot).unwrap();
/// let mentions = [("bot", member.group_member_id)];
/// let message = ComposedMessage::new("hello @bot").mentions(&mentions);
/// net.send(Instant::ZERO, ann, chat, message).unwrap();
/// while let Some(event) = net.poll_event(bot) {
///     if let Event::NewItem(item) = event {
///         assert_eq!(item.mentions[0].member, net.member_id(group, bot).unwrap());
///         assert!(item.user_mention);
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ItemMention {
    /// The name in the text.
    pub name: String,
    /// Who is meant.
    pub member: MemberId,
    /// The member in the receiver's database; absent if the receiver does not know the member.
    pub group_member_id: Option<GroupMemberId>,
}

/// Whose item is quoted, as the receiver of the quote sees it.
///
/// ```
/// use agentwire_core::loopback::QuoteDirection;
/// assert!(QuoteDirection::GroupSnd.is_own());
/// assert!(!QuoteDirection::GroupRcv { member: None }.is_own());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum QuoteDirection {
    /// An item that the receiver sent in this direct chat.
    DirectSnd,
    /// An item of the contact.
    DirectRcv,
    /// An item that the receiver sent in this group.
    GroupSnd,
    /// An item of another member.
    GroupRcv {
        /// Who, if the receiver knows the member.
        member: Option<MemberId>,
    },
}

impl QuoteDirection {
    /// Whether the quoted item is the receiver's own.
    pub const fn is_own(self) -> bool {
        matches!(self, Self::DirectSnd | Self::GroupSnd)
    }
}

/// The quote in a received item: the core's `CIQuote`.
///
/// Its [`text`](Self::text) is whatever the sender of the quote claims; the other members are what
/// the receiver's core found.
///
/// ```
/// # use agentwire_core::loopback::{ComposedMessage, Event, Loopback};
/// # use agentwire_core::{chat::Chat, time::Instant};
/// # let mut net = Loopback::new(1);
/// # let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// # let (to_bot, to_ann) = net.connect(ann, bot).unwrap();
/// # let sent = net.send(Instant::ZERO, ann, Chat::Direct(to_bot), "ping").unwrap();
/// # let Some(Event::NewItem(ping)) = net.poll_event(bot) else { panic!() };
/// let lie = ComposedMessage::new("pong").quoting(ping.item).forged_quote("never said");
/// net.send(Instant::ZERO, bot, Chat::Direct(to_ann), lie).unwrap();
/// while let Some(event) = net.poll_event(ann) {
///     if let Event::NewItem(pong) = event {
///         let quote = pong.quote.unwrap();
///         assert!(quote.direction.is_own());
///         assert_eq!((quote.item, quote.shared_msg_id), (Some(sent.item), sent.shared_msg_id));
///         assert_eq!(quote.text, "never said");
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quote {
    /// Whose item is quoted.
    pub direction: QuoteDirection,
    /// The quoted item in the receiver's database; absent if it is not there.
    pub item: Option<ItemId>,
    /// The quoted message.
    pub shared_msg_id: SharedMsgId,
    /// The quoted text as the sender of the quote gives it.
    pub text: String,
    /// The quoted item's time as the sender of the quote gives it.
    pub sent_at: String,
}

impl fmt::Debug for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quote")
            .field("direction", &self.direction)
            .field("item", &self.item)
            .field("shared_msg_id", &self.shared_msg_id)
            .field("text_len", &self.text.len())
            .field("sent_at", &self.sent_at)
            .finish()
    }
}

/// A received message as the receiver's core keeps and reports it.
///
/// ```
/// # use agentwire_core::loopback::{Event, Loopback};
/// # use agentwire_core::{chat::{Chat, Sender}, time::Instant};
/// # let mut net = Loopback::new(1);
/// # let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// # let (to_bot, to_ann) = net.connect(ann, bot).unwrap();
/// let sent = net.send(Instant::ZERO, ann, Chat::Direct(to_bot), "hello").unwrap();
/// let Some(Event::NewItem(item)) = net.poll_event(bot) else { panic!() };
/// assert_eq!((item.chat, item.sender), (Chat::Direct(to_ann), Sender::Contact));
/// assert_eq!(item.shared_msg_id, sent.shared_msg_id);
/// assert_eq!(item.item_ts, "2026-01-01T00:00:00Z");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceivedItem {
    /// Where it was received.
    pub chat: Chat,
    /// The item in the receiver's database.
    pub item: ItemId,
    /// The message's id, the same on every side.
    pub shared_msg_id: SharedMsgId,
    /// Who sent it.
    pub sender: Sender,
    /// The sender's name, as the receiver's core tells equal names apart.
    pub sender_name: String,
    /// In a group, the sender in the receiver's database.
    pub group_member_id: Option<GroupMemberId>,
    /// When the message was sent: UTC in whole seconds.
    pub item_ts: String,
    /// The text.
    pub text: String,
    /// The mentions that the receiver's core found in the text, sorted by name.
    pub mentions: Vec<ItemMention>,
    /// Whether the receiver is mentioned or, in a group, quoted: the core sets one flag for both.
    pub user_mention: bool,
    /// The quote.
    pub quote: Option<Quote>,
    /// Whether the text is not the first one.
    pub edited: bool,
    /// Whether the sender is still writing it.
    pub live: bool,
    /// Seconds after which the item disappears.
    pub ttl: Option<u32>,
    /// The support chat that it belongs to, if it is not for the whole group.
    pub support: Option<SupportChat>,
}

/// A member's support chat: the member and who moderates the group, and nobody else.
///
/// ```
/// use agentwire_core::loopback::{ComposedMessage, Event, Loopback, SupportChat};
/// use agentwire_core::{chat::Chat, simplex::command::Scope, time::Instant};
/// let mut net = Loopback::new(1);
/// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// let group = net.create_group(ann, "team").unwrap();
/// let of_bot = net.join(group, bot).unwrap();
/// net.poll_event(ann);
///
/// let help = ComposedMessage::new("help").scope(Scope::Support);
/// net.send(Instant::ZERO, bot, Chat::Group(of_bot), help).unwrap();
/// let Some(Event::NewItem(item)) = net.poll_event(ann) else { panic!() };
/// let member = net.member_id(group, bot).unwrap();
/// assert_eq!(item.support, Some(SupportChat::Of { member }));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SupportChat {
    /// The profile's own.
    Own,
    /// Another member's, which the profile moderates.
    Of {
        /// Whose.
        member: MemberId,
    },
}

impl SupportChat {
    /// The support chat of `member`, as the member `own` sees it.
    pub(super) fn of(member: MemberId, own: MemberId) -> Self {
        if member == own { Self::Own } else { Self::Of { member } }
    }
}

impl fmt::Debug for ReceivedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedItem")
            .field("chat", &self.chat)
            .field("item", &self.item)
            .field("shared_msg_id", &self.shared_msg_id)
            .field("sender", &self.sender)
            .field("sender_name", &self.sender_name)
            .field("group_member_id", &self.group_member_id)
            .field("item_ts", &self.item_ts)
            .field("text_len", &self.text.len())
            .field("mentions", &self.mentions)
            .field("user_mention", &self.user_mention)
            .field("quote", &self.quote)
            .field("edited", &self.edited)
            .field("live", &self.live)
            .field("ttl", &self.ttl)
            .field("support", &self.support)
            .finish()
    }
}

/// How far an own item has come.
///
/// ```
/// use agentwire_core::loopback::ItemStatus;
/// assert_eq!(ItemStatus::Sent.as_str(), "sndSent");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ItemStatus {
    /// It is on its way.
    Sent,
    /// Every receiver's core has it.
    Received,
}

impl ItemStatus {
    /// The status as the core spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sndSent",
            Self::Received => "sndRcvd",
        }
    }
}

/// What happened to a member of a group.
///
/// ```
/// use agentwire_core::loopback::MemberChange;
/// assert_ne!(MemberChange::Left, MemberChange::Removed);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum MemberChange {
    /// The member has joined.
    Joined,
    /// The member has left.
    Left,
    /// The member was removed. A profile that is removed is told so about itself.
    Removed,
}

/// What a profile is told. Own messages are not reported: [`Loopback::send`](super::Loopback::send)
/// has returned them.
///
/// ```
/// # use agentwire_core::{chat::Chat, loopback::{Event, ItemStatus, Loopback}, time::Instant};
/// # let mut net = Loopback::new(1);
/// # let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// # let (to_bot, _) = net.connect(ann, bot).unwrap();
/// let sent = net.send(Instant::ZERO, ann, Chat::Direct(to_bot), "hello").unwrap();
/// assert!(matches!(net.poll_event(bot), Some(Event::NewItem(item)) if item.text == "hello"));
/// assert!(matches!(
///     net.poll_event(ann),
///     Some(Event::ItemStatus { item, status: ItemStatus::Sent, .. }) if item == sent.item
/// ));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A message has arrived: an item of the core's `newChatItems`.
    NewItem(ReceivedItem),
    /// A received message has another text now: the core's `chatItemUpdated`.
    ItemUpdated(ReceivedItem),
    /// The sender has deleted an item for everybody: an item of the core's `chatItemsDeleted`. It
    /// stays in the database, marked, and cannot be quoted.
    ItemDeleted {
        /// Where it was.
        chat: Chat,
        /// Which item.
        item: ItemId,
    },
    /// The time to live of an item has passed, and it is no longer in the database: an item of the
    /// core's `chatItemsDeleted` that is `timed`.
    ItemExpired {
        /// Whether the profile has sent it.
        is_own: bool,
        /// What it was.
        item: ReceivedItem,
    },
    /// An own message has come further: an item of the core's `chatItemsStatusesUpdated`.
    ItemStatus {
        /// Where it was sent.
        chat: Chat,
        /// Which item.
        item: ItemId,
        /// How far it has come.
        status: ItemStatus,
    },
    /// A Service RPC request has arrived: the core's `serviceRequest`.
    ServiceRequest(ReceivedServiceRequest),
    /// The response to an own request has arrived: what the core's `/_service_request` returns.
    ServiceResponse(ReceivedServiceResponse),
    /// No response has come: what the core's `/_service_request` fails with.
    ServiceFailed {
        /// The request.
        handle: ServiceHandle,
        /// Why.
        failure: CoreFailure,
    },
    /// A response that was accepted is on its way: the core's `serviceReplySent`.
    ServiceReplySent {
        /// Over which connection.
        connection: ConnectionId,
    },
    /// Somebody asks to be a contact: the core's `receivedContactRequest`.
    ContactRequest {
        /// With which to accept or to reject.
        request: ContactRequestId,
    },
    /// The address has accepted a request on its own: the core's `acceptingContactRequest`.
    ContactAccepting {
        /// The new contact.
        contact: ContactId,
    },
    /// Somebody uses an invitation: the core's `contactConnecting`.
    ContactConnecting {
        /// The new contact.
        contact: ContactId,
    },
    /// The contact behind an invitation can be sent messages: the core's `contactSndReady`.
    ContactSndReady {
        /// The new contact.
        contact: ContactId,
    },
    /// A contact that was asked for is there: the core's `contactConnected`.
    ContactConnected {
        /// The new contact.
        contact: ContactId,
    },
    /// A contact says other things of itself: the core's `contactUpdated`.
    ContactUpdated {
        /// Which.
        contact: ContactId,
        /// Its record before.
        before: String,
    },
    /// A contact has deleted the profile: the core's `contactDeletedByContact`.
    ContactDeleted {
        /// Which.
        contact: ContactId,
    },
    /// The profile is about to be in a group that it has asked for: the core's
    /// `groupLinkConnecting`.
    GroupConnecting {
        /// Which.
        group: GroupId,
    },
    /// The profile is in a group that it has asked for: the core's `userJoinedGroup`.
    GroupJoined {
        /// Which.
        group: GroupId,
    },
    /// The owner has deleted a group: the core's `groupDeleted`.
    GroupDeleted {
        /// Which.
        group: GroupId,
        /// Who it was.
        by: MemberId,
    },
    /// A group has another record: the core's `groupUpdated`.
    GroupUpdated {
        /// Which.
        group: GroupId,
        /// Who has changed it.
        by: MemberId,
        /// Its record before.
        before: String,
    },
    /// Of several messages that were sent at once these were refused: the core's `chatErrors`.
    NotSent(Vec<SendError>),
    /// A group has changed: the core's `joinedGroupMember`, `leftMember`, `deletedMember` and
    /// `deletedMemberUser`.
    Member {
        /// Which group.
        chat: Chat,
        /// Who.
        member: MemberId,
        /// The member in the receiver's database.
        group_member_id: GroupMemberId,
        /// The member's name, as the receiver's core tells equal names apart.
        name: String,
        /// What happened.
        change: MemberChange,
    },
}
