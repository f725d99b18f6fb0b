//! `/_send` and what it carries.

use core::fmt;

use super::error::CommandError;
use super::grammar::{OPTION_LIVE, OPTION_SIGN, OPTION_TTL, SEND, WORD_JSON};
use super::out::Out;
use super::{ChatRef, nonnegative};
use crate::chat::size::MAX_SEND_MENTIONS;
use crate::chat::{GroupMemberId, ItemId};

/// Seconds after which a message is deleted: the option `ttl` of `/_send`.
///
/// ```
/// use agentwire_core::simplex::command::Ttl;
/// assert_ne!(Ttl::Seconds(60), Ttl::ChatDefault);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ttl {
    /// As the chat is set, which is also what holds without the option.
    ChatDefault,
    /// After this many.
    Seconds(u32),
}

/// The options of `/_send`. The grammar has them in this order.
///
/// ```
/// use agentwire_core::simplex::command::SendOptions;
/// assert_eq!(SendOptions::default().live, None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SendOptions {
    /// Whether the message is still being written.
    pub live: Option<bool>,
    /// After how long it is deleted.
    pub ttl: Option<Ttl>,
    /// Whether to sign it, in groups with relays; a signed message has less room
    /// ([`Margin::Signed`](crate::chat::size::Margin)).
    pub sign: Option<bool>,
}

/// A message of `/_send`: the core's `ComposedMessage` with a text.
///
/// ```
/// use agentwire_core::chat::ItemId;
/// use agentwire_core::simplex::command::Composed;
/// let reply = Composed::new("{}").quoting(ItemId(5));
/// assert_eq!(reply.quotes, Some(ItemId(5)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Composed<'c> {
    /// Its text.
    pub text: &'c str,
    /// The item that it quotes.
    pub quotes: Option<ItemId>,
    /// Whom it mentions: each name as it stands in the text without quotes, and the member in the
    /// profile's own database.
    pub mentions: &'c [(&'c str, GroupMemberId)],
}

impl<'c> Composed<'c> {
    /// A message with nothing but a text.
    #[must_use]
    pub const fn new(text: &'c str) -> Self {
        Self { text, quotes: None, mentions: &[] }
    }

    /// Quoting this item.
    #[must_use]
    pub const fn quoting(mut self, item: ItemId) -> Self {
        self.quotes = Some(item);
        self
    }

    /// Mentioning these members.
    #[must_use]
    pub const fn mentioning(mut self, mentions: &'c [(&'c str, GroupMemberId)]) -> Self {
        self.mentions = mentions;
        self
    }

    fn check(&self, is_group: bool) -> Result<(), CommandError> {
        nonnegative(self.quotes.map_or(0, |item| item.0))?;
        if self.mentions.is_empty() {
            return Ok(());
        }
        if !is_group {
            return Err(CommandError::MentionsInDirectChat);
        }
        let count = self.mentions.len();
        if count > MAX_SEND_MENTIONS {
            return Err(CommandError::TooManyMentions { count });
        }
        for (place, (name, member)) in self.mentions.iter().enumerate() {
            nonnegative(member.0)?;
            let mut before = self.mentions.iter().take(place);
            if before.any(|(other, same)| other == name || same == member) {
                return Err(CommandError::MentionTwice);
            }
        }
        Ok(())
    }

    /// With the members in the order in which the core's own clients write them.
    fn write(&self, out: &mut Out<'_, '_>) {
        out.raw("{");
        if let Some(item) = self.quotes {
            out.raw("\"quotedItemId\":").int(item.0).raw(",");
        }
        out.raw("\"msgContent\":{\"type\":\"text\",\"text\":").string(self.text).raw("}");
        out.raw(",\"mentions\":{");
        for (place, (name, member)) in self.mentions.iter().enumerate() {
            out.raw(if place == 0 { "" } else { "," });
            out.string(name).raw(":").int(member.0);
        }
        out.raw("}}");
    }
}

impl fmt::Debug for Composed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Composed")
            .field("text_len", &self.text.len())
            .field("quotes", &self.quotes)
            .field("mentions", &self.mentions.len())
            .finish()
    }
}

pub(super) fn check(
    to: ChatRef,
    options: SendOptions,
    messages: &[Composed<'_>],
) -> Result<(), CommandError> {
    let count = messages.len();
    if count == 0 {
        return Err(CommandError::NoMessages);
    }
    if options.live == Some(true) && count > 1 {
        return Err(CommandError::LiveWithOthers { count });
    }
    let quotes = messages.iter().filter(|message| message.quotes.is_some()).count();
    if quotes > 1 {
        return Err(CommandError::SeveralQuotes { count: quotes });
    }
    messages.iter().try_for_each(|message| message.check(to.chat.is_group()))
}

pub(super) fn write(
    to: ChatRef,
    options: SendOptions,
    messages: &[Composed<'_>],
    out: &mut Out<'_, '_>,
) {
    out.raw(SEND).raw(" ");
    to.write(out);
    out.flag(OPTION_LIVE, options.live);
    match options.ttl {
        None => {}
        Some(Ttl::ChatDefault) => {
            out.raw(" ").raw(OPTION_TTL).raw("default");
        }
        Some(Ttl::Seconds(seconds)) => {
            out.raw(" ").raw(OPTION_TTL).int(seconds.into());
        }
    }
    out.flag(OPTION_SIGN, options.sign).raw(" ").raw(WORD_JSON).raw(" [");
    for (place, message) in messages.iter().enumerate() {
        out.raw(if place == 0 { "" } else { "," });
        message.write(out);
    }
    out.raw("]");
}
