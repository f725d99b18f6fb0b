//! Chat items: what the core says of a message, and what of it the machines take.

use core::fmt;

use super::pick::{Picked, Reading, ShapeError, known, pick, pick_reading, tag, word};
use super::{Group, Member};
use crate::chat::size::MAX_RECEIVE_MENTIONS;
use crate::chat::{
    Chat, ContactId, IdTooLong, Item, ItemId, Me, MemberId, Mention, Quoted, Sender,
};
use crate::json::{BufferTooSmall, Members, Object, Str, Unread, Value};

/// Who sent an item: the core's `chatDir`.
///
/// ```
/// use agentwire_core::simplex::frame::Direction;
/// assert!(Direction::DirectSent.is_own() && !Direction::DirectReceived.is_own());
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Direction<'f> {
    /// `directSnd`: the profile, in a direct chat.
    DirectSent,
    /// `directRcv`: the contact of the direct chat.
    DirectReceived,
    /// `groupSnd`: the profile, in a group.
    GroupSent,
    /// `groupRcv`: a member of the group; its particulars may be missing in a quote.
    GroupReceived(Option<Member<'f>>),
    /// `channelRcv`: the group or channel itself.
    ChannelReceived,
    /// Something else.
    Other,
}

impl<'f> Direction<'f> {
    fn reading(value: Unread<'f>) -> Reading<'f, Self> {
        let (read, found) =
            pick_reading(value, ["\"type\":", "\"groupMember\":"], |_, value| value.read())?;
        Ok((read, found.and_then(Self::of)))
    }

    fn of(found: Picked<'f, 2>) -> Result<Self, ShapeError> {
        Ok(match &*word(found.str(0)) {
            "directSnd" => Self::DirectSent,
            "directRcv" => Self::DirectReceived,
            "groupSnd" => Self::GroupSent,
            "groupRcv" => Self::GroupReceived(found.object(1).map(Member::read).transpose()?),
            "channelRcv" => Self::ChannelReceived,
            // However the profile speaks, it is the profile.
            other if other.ends_with("Snd") => Self::GroupSent,
            _ => Self::Other,
        })
    }

    /// Whether the profile itself sent it.
    #[must_use]
    pub const fn is_own(&self) -> bool {
        matches!(self, Self::DirectSent | Self::GroupSent)
    }
}

/// How far an item has come: the tag of the core's `itemStatus`.
///
/// ```
/// use agentwire_core::simplex::frame::ItemStatus;
/// assert_ne!(ItemStatus::SentNew, ItemStatus::Sent);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ItemStatus {
    /// `sndNew`: the core has it, and will send it.
    SentNew,
    /// `sndSent`: a server has it.
    Sent,
    /// `sndRcvd`: the other side has it.
    Received,
    /// `sndError`, `sndErrorAuth`: it was not sent.
    SendError,
    /// `sndWarning`: it is being tried.
    SendWarning,
    /// `rcvNew`, `rcvRead`: it has come.
    Arrived,
    /// Something else.
    Other,
}

impl ItemStatus {
    fn of(tag: &str) -> Self {
        match tag {
            "sndNew" => Self::SentNew,
            "sndSent" => Self::Sent,
            "sndRcvd" => Self::Received,
            "sndError" | "sndErrorAuth" => Self::SendError,
            "sndWarning" => Self::SendWarning,
            "rcvNew" | "rcvRead" => Self::Arrived,
            _ => Self::Other,
        }
    }
}

/// A message that an item quotes. Its text is not looked at: it is what the one who quotes sent.
///
/// ```
/// use agentwire_core::chat::ItemId;
/// use agentwire_core::simplex::frame::ItemQuote;
/// fn is_of_mine(quote: &ItemQuote<'_>) -> bool {
///     quote.direction.is_own() && quote.item == Some(ItemId(7))
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ItemQuote<'f> {
    /// Who sent the quoted message.
    pub direction: Direction<'f>,
    /// Its number in this core; absent when it is not there.
    pub item: Option<ItemId>,
    /// Its shared id.
    pub shared_msg_id: Option<Str<'f>>,
}

impl<'f> ItemQuote<'f> {
    fn reading(value: Unread<'f>) -> Reading<'f, Self> {
        let mut direction = Ok(Direction::Other);
        let keys = ["\"chatDir\":", "\"itemId\":", "\"sharedMsgId\":"];
        let (read, found) = pick_reading(value, keys, |place, value| {
            if place != 0 {
                return value.read();
            }
            let read;
            (read, direction) = Direction::reading(value)?;
            Ok(read)
        })?;
        let quote = found.and_then(|found| {
            Ok(Self {
                direction: direction?,
                item: found.int(1).map(ItemId),
                shared_msg_id: found.str(2),
            })
        });
        Ok((read, quote))
    }
}

/// The members that an item mentions, as the core has recognised them: each name with its member.
///
/// ```
/// use agentwire_core::simplex::frame::Mentions;
/// fn count(mentions: &Mentions<'_>) -> usize {
///     mentions.clone().count()
/// }
/// ```
#[derive(Clone)]
pub struct Mentions<'f> {
    members: Option<Members<'f>>,
}

impl<'f> Iterator for Mentions<'f> {
    /// The name as it stands in the text without quotes, and the member's id.
    type Item = (Str<'f>, Str<'f>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (name, value) = self.members.as_mut()?.next()?;
            let member = value.as_object().and_then(|m| pick(m, ["memberId"]).ok()?.str(0));
            if let Some(member) = member {
                return Some((name, member));
            }
        }
    }
}

impl fmt::Debug for Mentions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mentions({})", self.clone().count())
    }
}

/// A chat item of a frame. `Debug` shows numbers and lengths, never texts.
///
/// ```
/// use agentwire_core::chat::{Chat, ContactId, ItemId};
/// use agentwire_core::chat::{Mention, size::MAX_RECEIVE_MENTIONS};
/// use agentwire_core::simplex::frame::{Body, Frame};
///
/// let text = r#"{"resp":{"type":"newChatItems","chatItems":[{
///     "chatInfo":{"type":"direct","contact":{"contactId":3,"localDisplayName":"u"}},
///     "chatItem":{"chatDir":{"type":"directRcv"},
///         "meta":{"itemId":8,"itemTs":"2026-08-15T15:30:48Z","itemStatus":{"type":"rcvNew"}},
///         "content":{"type":"rcvMsgContent","msgContent":{"type":"text","text":"/_call mcp {\"id\":1}"}}}}]}}"#;
/// let Ok(Body::NewChatItems(mut items)) = Frame::parse(text).unwrap().body() else { panic!() };
/// let item = items.next().unwrap().unwrap();
/// assert_eq!((item.chat, item.id), (Some(Chat::Direct(ContactId(3))), ItemId(8)));
///
/// // What the machines take:
/// let (mut buffer, mut mentions) = ([0; 256], [Mention::new("", ""); MAX_RECEIVE_MENTIONS]);
/// let taken = item.decode(&mut buffer, &mut mentions).unwrap();
/// assert_eq!(taken.text, r#"/_call mcp {"id":1}"#);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ChatItem<'f> {
    /// The conversation; `None` where it is none of a contact or a group.
    pub chat: Option<Chat>,
    /// The group, in a group.
    pub group: Option<Group<'f>>,
    /// Whether it stands in a part of the group that is a conversation of its own.
    pub is_scoped: bool,
    /// Who sent it.
    pub direction: Direction<'f>,
    /// Its number in this core.
    pub id: ItemId,
    /// Its id on every side.
    pub shared_msg_id: Option<Str<'f>>,
    /// Its time.
    pub time: Option<Str<'f>>,
    /// How far it has come.
    pub status: ItemStatus,
    /// Whether its text has been changed.
    pub is_edited: bool,
    /// Whether it has been deleted.
    pub is_deleted: bool,
    /// Whether it is still being written.
    pub is_live: bool,
    /// The seconds after which it is deleted.
    pub ttl: Option<u64>,
    /// Its text, if its content is a *text* message: the text of any other content, a picture's
    /// description say, is no command and no reply.
    pub text: Option<Str<'f>>,
    /// The message that it quotes.
    pub quote: Option<ItemQuote<'f>>,
    /// Whom it mentions.
    pub mentions: Mentions<'f>,
}

impl<'f> ChatItem<'f> {
    /// An `AChatItem`: the item with its conversation.
    pub(super) fn read(object: Object<'f>) -> Result<Self, ShapeError> {
        known(object, Self::reading)
    }

    pub(super) fn element(value: Value<'f>) -> Result<Self, ShapeError> {
        Self::read(value.as_object().ok_or(ShapeError::new("chatItems"))?)
    }

    /// As [`element`](Self::element), while it is read.
    pub(super) fn element_reading(value: Unread<'f>) -> Reading<'f, Self> {
        let (read, item) = Self::reading(value)?;
        let is_object = read.seen.value.as_object().is_some();
        Ok((read, if is_object { item } else { Err(ShapeError::new("chatItems")) }))
    }

    /// An item without its conversation, which is known.
    pub(super) fn read_in(info: &ChatInfo<'f>, object: Object<'f>) -> Result<Self, ShapeError> {
        known(object, Self::reading_alone).map(|item| item.within(info))
    }

    /// An `AChatItem`, while it is read.
    pub(super) fn reading(value: Unread<'f>) -> Reading<'f, Self> {
        let (mut info, mut item) = (None, None);
        let (read, found) =
            pick_reading(value, ["\"chatInfo\":", "\"chatItem\":"], |place, value| {
                let read;
                if place == 0 {
                    let of;
                    (read, of) = ChatInfo::reading(value)?;
                    info = Some(of);
                } else {
                    let alone;
                    (read, alone) = Self::reading_alone(value)?;
                    item = Some(alone);
                }
                Ok(read)
            })?;
        let item = found.and_then(|found| {
            found.need_object(0)?;
            let info = info.ok_or(ShapeError::new("chatInfo"))??;
            found.need_object(1)?;
            Ok(item.ok_or(ShapeError::new("chatItem"))??.within(&info))
        });
        Ok((read, item))
    }

    fn within(mut self, info: &ChatInfo<'f>) -> Self {
        (self.chat, self.group, self.is_scoped) = (info.chat, info.group, info.is_scoped);
        self
    }

    /// An item without its conversation, while it is read.
    fn reading_alone(value: Unread<'f>) -> Reading<'f, Self> {
        let (mut direction, mut meta) = (Ok(Direction::Other), None);
        let (mut message, mut quote) = (None, None);
        let keys =
            ["\"chatDir\":", "\"meta\":", "\"content\":", "\"quotedItem\":", "\"mentions\":"];
        let (read, found) = pick_reading(value, keys, |place, value| match place {
            0 => {
                let read;
                (read, direction) = Direction::reading(value)?;
                Ok(read)
            }
            1 => {
                let keys = [
                    "\"itemId\":",
                    "\"itemSharedMsgId\":",
                    "\"itemTs\":",
                    "\"itemStatus\":",
                    "\"itemEdited\":",
                    "\"itemDeleted\":",
                    "\"itemLive\":",
                    "\"itemTimed\":",
                ];
                let (read, found) = pick_reading(value, keys, |_, value| value.read())?;
                meta = Some(found);
                Ok(read)
            }
            2 => {
                let (read, _) = pick_reading(value, ["\"msgContent\":"], |_, value| {
                    let (read, found) =
                        pick_reading(value, ["\"type\":", "\"text\":"], |_, value| value.read())?;
                    // One that stands there twice is none.
                    message = if message.is_none() { Some(found.ok()) } else { Some(None) };
                    Ok(read)
                })?;
                Ok(read)
            }
            3 => {
                let (read, of) = ItemQuote::reading(value)?;
                quote = Some(of);
                Ok(read)
            }
            _ => value.read(),
        })?;
        let item = found.and_then(|found| {
            found.need_object(1)?;
            let meta = meta.ok_or(ShapeError::new("meta"))??;
            let ttl = meta.object(7).and_then(|timed| pick(timed, ["ttl"]).ok()?.int(0));
            let text = message.flatten().filter(|message| &*word(message.str(0)) == "text");
            let quote = quote.filter(|_| found.object(3).is_some());
            Ok(Self {
                chat: None,
                group: None,
                is_scoped: false,
                direction: direction?,
                id: ItemId(meta.need_int(0)?),
                shared_msg_id: meta.str(1),
                time: meta.str(2),
                status: ItemStatus::of(&word(meta.object(3).and_then(tag))),
                is_edited: meta.is(4),
                is_deleted: meta.value(5).is_some(),
                is_live: meta.is(6),
                ttl: ttl.and_then(|seconds| u64::try_from(seconds).ok()),
                text: text.and_then(|message| message.str(1)),
                quote: quote.transpose()?,
                mentions: Mentions { members: found.object(4).map(|mentions| mentions.members()) },
            })
        });
        Ok((read, item))
    }

    /// Bytes that [`decode`](Self::decode) needs at most.
    #[must_use]
    pub fn decode_len(&self) -> usize {
        let me = self.group.and_then(|group| group.membership);
        let member = match self.direction {
            Direction::GroupReceived(Some(member)) => Some(member.member_id),
            _ => None,
        };
        let quote = self.quote.and_then(|quote| quote.shared_msg_id);
        let parts = [
            self.text,
            self.time,
            quote,
            member,
            me.map(|me| me.member_id),
            me.map(|me| me.display_name),
        ];
        let mentions = self.mentions.clone().take(MAX_RECEIVE_MENTIONS);
        let mentions = mentions.map(|(name, member)| needs(name).saturating_add(needs(member)));
        let parts = parts.into_iter().flatten().map(needs);
        parts.chain(mentions).fold(0, usize::saturating_add)
    }

    /// The item as the machines take it: somebody else's text message in a conversation that can
    /// carry calls. What is escaped in the frame is decoded into `buffer`, everything else is
    /// borrowed from the frame. Of more than [`MAX_RECEIVE_MENTIONS`] mentions the first ones are
    /// kept, as the core does it.
    ///
    /// # Errors
    /// [`ItemError`]
    pub fn decode<'s>(
        &self,
        buffer: &'s mut [u8],
        mentions: &'s mut [Mention<'s>; MAX_RECEIVE_MENTIONS],
    ) -> Result<Item<'s>, ItemError>
    where
        'f: 's,
    {
        let skip = |why| Err(ItemError::Skipped(why));
        let Some(chat) = self.chat else { return skip(Skipped::NoConversation) };
        if self.direction.is_own() {
            return skip(Skipped::Own);
        }
        if self.is_scoped {
            return skip(Skipped::Scope);
        }
        let Some(text) = self.text else { return skip(Skipped::NotText) };
        let capacity = buffer.len();
        let short = BufferTooSmall { needed: self.decode_len(), capacity };
        let mut space = Space { rest: buffer, short };
        let sender = match self.direction {
            Direction::DirectReceived => Sender::Contact,
            Direction::GroupReceived(Some(member)) => {
                Sender::Member(space.member(member.member_id)?)
            }
            Direction::ChannelReceived => Sender::Channel,
            _ => return skip(Skipped::NoSender),
        };
        let mut item = Item::new(chat, sender, self.id, space.text(text)?);
        item.ttl = self.ttl;
        item.sent_at = self.time.map(|time| space.text(time)).transpose()?;
        if let Some(quote) = self.quote {
            let shared = quote.shared_msg_id.map(|id| space.text(id)).transpose()?;
            item.quote = Some(Quoted::new(quote.direction.is_own(), quote.item, shared));
        }
        if let Some(me) = self.group.and_then(|group| group.membership) {
            let member = space.member(me.member_id)?;
            item.me = Some(Me::new(member, space.text(me.display_name)?));
        }
        let mut count = 0_usize;
        for (slot, (name, member)) in mentions.iter_mut().zip(self.mentions.clone()) {
            *slot = Mention::new(space.text(name)?, space.text(member)?);
            count = count.saturating_add(1);
        }
        item.mentions = mentions.get(..count).unwrap_or_default();
        Ok(item)
    }
}

impl fmt::Debug for ChatItem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatItem")
            .field("chat", &self.chat)
            .field("id", &self.id)
            .field("direction", &self.direction)
            .field("status", &self.status)
            .field("text_len", &self.text.map(|text| text.raw().len()))
            .field("quote", &self.quote)
            .field("mentions", &self.mentions)
            .finish_non_exhaustive()
    }
}

/// The room that a string takes when it is decoded, at most.
fn needs(text: Str<'_>) -> usize {
    if text.as_plain().is_some() { 0 } else { text.raw().len() }
}

/// Room for decoded strings, taken from the front.
struct Space<'s> {
    rest: &'s mut [u8],
    short: BufferTooSmall,
}

impl<'s> Space<'s> {
    fn text<'f: 's>(&mut self, text: Str<'f>) -> Result<&'s str, BufferTooSmall> {
        if let Some(plain) = text.as_plain() {
            return Ok(plain);
        }
        // No escape is shorter than what it means.
        let rest = core::mem::take(&mut self.rest);
        let (room, rest) = rest.split_at_mut_checked(text.raw().len()).ok_or(self.short)?;
        self.rest = rest;
        text.decode(room)
    }

    fn member<'f: 's>(&mut self, text: Str<'f>) -> Result<MemberId, ItemError> {
        MemberId::new(self.text(text)?).map_err(ItemError::Id)
    }
}

/// Why an item is none for the machines.
///
/// ```
/// use agentwire_core::simplex::frame::Skipped;
/// assert_ne!(Skipped::Own, Skipped::NotText);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Skipped {
    /// The profile sent it itself.
    Own,
    /// Its content is no text message.
    NotText,
    /// Its conversation is none of a contact or a group.
    NoConversation,
    /// It stands in a support chat of a group, which is not the group's conversation.
    Scope,
    /// It does not say who sent it.
    NoSender,
}

/// Why an item was not decoded.
///
/// ```
/// use agentwire_core::simplex::frame::{ItemError, Skipped};
/// assert_eq!(ItemError::Skipped(Skipped::Own).to_string(), "the profile's own message");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ItemError {
    /// It is none for the machines.
    Skipped(Skipped),
    /// The buffer is too short; [`ChatItem::decode_len`] suffices.
    Buffer(BufferTooSmall),
    /// A member's id is longer than any that a chat core makes.
    Id(IdTooLong),
}

impl From<BufferTooSmall> for ItemError {
    fn from(error: BufferTooSmall) -> Self {
        Self::Buffer(error)
    }
}

impl fmt::Display for ItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped(why) => f.write_str(match why {
                Skipped::Own => "the profile's own message",
                Skipped::NotText => "not a text message",
                Skipped::NoConversation => "not in a conversation",
                Skipped::Scope => "in a support chat",
                Skipped::NoSender => "nobody's message",
            }),
            Self::Buffer(error) => error.fmt(f),
            Self::Id(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ItemError {}

/// A conversation: the core's `ChatInfo`.
pub(super) struct ChatInfo<'f> {
    chat: Option<Chat>,
    group: Option<Group<'f>>,
    is_scoped: bool,
}

impl<'f> ChatInfo<'f> {
    pub(super) fn read(object: Object<'f>) -> Result<Self, ShapeError> {
        known(object, Self::reading)
    }

    fn reading(value: Unread<'f>) -> Reading<'f, Self> {
        let mut contact = None;
        let keys = ["\"type\":", "\"contact\":", "\"groupInfo\":", "\"groupChatScope\":"];
        let (read, found) = pick_reading(value, keys, |place, value| {
            if place != 1 {
                return value.read();
            }
            let (read, found) = pick_reading(value, ["\"contactId\":"], |_, value| value.read())?;
            contact = Some(found);
            Ok(read)
        })?;
        let info = found.and_then(|found| {
            let mut info = Self { chat: None, group: None, is_scoped: found.value(3).is_some() };
            match &*word(found.str(0)) {
                "direct" => {
                    found.need_object(1)?;
                    let contact = contact.ok_or(ShapeError::new("contact"))??;
                    info.chat = Some(Chat::Direct(ContactId(contact.need_int(0)?)));
                }
                "group" => {
                    let group = Group::read(found.need_object(2)?)?;
                    info.chat = Some(Chat::Group(group.id));
                    info.group = Some(group);
                }
                _ => {}
            }
            Ok(info)
        });
        Ok((read, info))
    }
}

/// A page of a conversation: the response to `/_get chat`, in the order of the items.
///
/// ```
/// use agentwire_core::chat::{Chat, ContactId, ItemId};
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"resp":{"type":"apiChat","chat":{
///     "chatInfo":{"type":"direct","contact":{"contactId":3,"localDisplayName":"u"}},
///     "chatItems":[{"chatDir":{"type":"directSnd"},"meta":{"itemId":8},"content":{}}]}}}"#;
/// let Ok(Body::Chat(mut page)) = Frame::parse(text).unwrap().body() else { panic!() };
/// assert_eq!(page.chat(), Some(Chat::Direct(ContactId(3))));
/// assert_eq!(page.next().unwrap().unwrap().id, ItemId(8));
/// ```
pub struct ChatPage<'f> {
    info: ChatInfo<'f>,
    elements: crate::json::Elements<'f>,
}

impl<'f> ChatPage<'f> {
    pub(super) fn read(chat: Object<'f>) -> Result<Self, ShapeError> {
        let found = pick(chat, ["chatInfo", "chatItems"])?;
        let info = ChatInfo::read(found.need_object(0)?)?;
        Ok(Self { info, elements: found.need_elements(1)? })
    }

    pub(super) fn element(value: Value<'f>) -> Result<Self, ShapeError> {
        Self::read(value.as_object().ok_or(ShapeError::new("chats"))?)
    }

    /// The conversation.
    #[must_use]
    pub const fn chat(&self) -> Option<Chat> {
        self.info.chat
    }
}

impl<'f> Iterator for ChatPage<'f> {
    type Item = Result<ChatItem<'f>, ShapeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let object = self.elements.next()?.as_object();
        Some(match object {
            Some(object) => ChatItem::read_in(&self.info, object),
            None => Err(ShapeError::new("chatItems")),
        })
    }
}

impl fmt::Debug for ChatPage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatPage")
            .field("chat", &self.info.chat)
            .field("left", &self.elements.clone().count())
            .finish()
    }
}
