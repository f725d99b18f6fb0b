//! Sending, editing and deleting, with the core's checks in the core's order.

use alloc::{collections::BTreeSet, string::String, sync::Arc, vec::Vec};
use core::time::Duration;

use super::delivery::{Message, Parcel, QuotedMsg, Wire};
use super::error::{ChangeError, MentionProblem, SendError};
use super::event::{
    ComposedMessage, Event, ItemMention, ItemStatus, Quote, QuoteDirection, ReceivedItem, Sent,
    SupportChat,
};
use super::name::mention_text;
use super::profile::{ContactStatus, Membership, Profile, Stored};
use super::{Loopback, ProfileId, clock, mention};
use crate::chat::encode::{DEFAULT_VERSION, WireMessage, WireQuote, encode};
use crate::chat::size::{self, MAX_SEND_MENTIONS};
use crate::chat::{Chat, ItemId, MemberId, Sender, SharedMsgId};
use crate::json::Writer;
use crate::simplex::command::Scope;
use crate::time::Instant;

/// A chat that a profile may send to: what its own messages carry, and who receives them.
struct Route {
    own: Option<MemberId>,
    /// In whose support chat it is sent.
    support: Option<MemberId>,
    /// Whether receivers see the group as the sender.
    as_group: bool,
    /// Each receiver, its chat, and the sender as it sees it.
    receivers: Vec<(ProfileId, Chat, Sender)>,
}

impl Loopback {
    /// Sends a message: the core's `/_send`. What arrives at once can be polled when it returns.
    ///
    /// # Errors
    /// [`SendError`] as the core refuses the message: first the chat, then the mentions, then the
    /// quote, then the size. Nothing was sent then.
    pub fn send<'a>(
        &mut self,
        now: Instant,
        profile: ProfileId,
        chat: Chat,
        message: impl Into<ComposedMessage<'a>>,
    ) -> Result<Sent, SendError> {
        let message = message.into();
        self.handle_timeout(now);
        let route = self.route_of(profile, chat, &message)?;
        let sender = self.known_profile(profile)?;
        let mentions = sender.checked_mentions(chat, &message)?;
        let quote = self.quote(sender, chat, &message, route.own)?;
        let own_quote = message.quoted_item.zip(quote.as_ref());
        let own_quote = own_quote.map(|(item, quoted)| quoted.seen_by_its_sender(chat, item));
        let shared_msg_id = self.new_message_id();
        let wire = Wire {
            shared_msg_id,
            text: String::from(message.text),
            mentions: mentions.iter().map(|m| (m.name.clone(), m.member)).collect(),
            quote,
            ttl: message.ttl,
            live: message.live,
            support: route.support,
            as_group: route.as_group,
            sent: self.now,
        };
        let encoded_len = encoded_len(&wire);
        self.check_size(encoded_len)?;
        self.check_in_flight(route.receivers.len())?;

        let item_ts = self.own_time();
        let own_sender = match route.own {
            Some(_) if route.as_group => Sender::Channel,
            Some(own) => Sender::Member(own),
            None => Sender::Contact,
        };
        let expires =
            message.ttl.map(|ttl| self.now.saturating_add(Duration::from_secs(ttl.into())));
        let body = ReceivedItem {
            chat,
            item: ItemId(0),
            shared_msg_id,
            sender: own_sender,
            sender_name: String::new(),
            group_member_id: None,
            item_ts: item_ts.clone(),
            text: wire.text.clone(),
            mentions,
            user_mention: false,
            quote: own_quote,
            edited: false,
            live: message.live,
            ttl: message.ttl,
            support: route.support.zip(route.own).map(|(of, own)| SupportChat::of(of, own)),
        };
        let unreceived = route.receivers.len();
        let stored = Stored { own: true, deleted: false, unreceived, expires, body };
        let unknown = SendError::UnknownProfile { profile };
        let item = self.profile_mut(profile).ok_or(unknown)?.items.insert(stored);
        if self.config.status_events {
            self.tell(profile, Event::ItemStatus { chat, item, status: ItemStatus::Sent });
        }
        self.post_to_all(profile, &route, &Arc::new(wire), Some((profile, chat, item)));
        self.pump();
        Ok(Sent { item, shared_msg_id, encoded_len, item_ts })
    }

    /// Whether a message would be sent, but for its size: what the core asks of all of several
    /// messages before it sends the first.
    pub(super) fn check_message(
        &self,
        profile: ProfileId,
        chat: Chat,
        message: &ComposedMessage<'_>,
    ) -> Result<(), SendError> {
        let route = self.route_of(profile, chat, message)?;
        let sender = self.known_profile(profile)?;
        sender.checked_mentions(chat, message)?;
        self.quote(sender, chat, message, route.own).map(drop)
    }

    fn quote(
        &self,
        sender: &Profile,
        chat: Chat,
        message: &ComposedMessage<'_>,
        own: Option<MemberId>,
    ) -> Result<Option<QuotedMsg>, SendError> {
        let truncate = self.config.truncate_quotes;
        let quote =
            message.quoted_item.map(|item| sender.quoted(chat, item, message, truncate, own));
        quote.transpose()
    }

    /// Changes the text of an own item: the core's `/_update item`. Text, mentions and the live
    /// mark are taken from `message`; a quote stays what it was. Receivers that never had the
    /// message get it now.
    ///
    /// # Errors
    /// [`ChangeError`] as the core refuses the change; nothing has changed then.
    pub fn edit<'a>(
        &mut self,
        now: Instant,
        profile: ProfileId,
        chat: Chat,
        item: ItemId,
        message: impl Into<ComposedMessage<'a>>,
    ) -> Result<(), ChangeError> {
        let message = message.into();
        self.handle_timeout(now);
        let route = self.route_again(profile, chat, item)?;
        let sender = self.known_profile(profile)?;
        let mentions = sender.checked_mentions(chat, &message)?;
        let stored = sender.own_item(chat, item)?;
        let wire = Wire {
            shared_msg_id: stored.body.shared_msg_id,
            text: String::from(message.text),
            mentions: mentions.iter().map(|m| (m.name.clone(), m.member)).collect(),
            quote: None,
            ttl: stored.body.ttl,
            live: message.live,
            support: route.support,
            as_group: route.as_group,
            sent: self.now,
        };
        let own_id = self.new_message_id();
        self.check_size(encoded_update_len(own_id, &wire))?;
        self.check_in_flight(route.receivers.len())?;
        let unknown = SendError::UnknownProfile { profile };
        let items = &mut self.profile_mut(profile).ok_or(unknown)?.items;
        if let Some(stored) = items.get_mut(chat, item) {
            stored.body.text.clone_from(&wire.text);
            stored.body.mentions = mentions;
            stored.body.edited = true;
            stored.body.live = message.live;
        }
        self.post_to_all(profile, &route, &Arc::new(wire), None);
        self.pump();
        Ok(())
    }

    /// Deletes an own item for everybody: the core's `/_delete item … broadcast`. It stays in the
    /// databases, marked, and cannot be quoted any more; earlier quotes of it are still resolved.
    ///
    /// # Errors
    /// [`ChangeError`] as the core refuses the deletion.
    pub fn delete(
        &mut self,
        now: Instant,
        profile: ProfileId,
        chat: Chat,
        item: ItemId,
    ) -> Result<(), ChangeError> {
        self.handle_timeout(now);
        let route = self.route_again(profile, chat, item)?;
        let shared_msg_id = self.known_profile(profile)?.own_item(chat, item)?.body.shared_msg_id;
        self.check_in_flight(route.receivers.len())?;
        let unknown = SendError::UnknownProfile { profile };
        let items = &mut self.profile_mut(profile).ok_or(unknown)?.items;
        if let Some(stored) = items.get_mut(chat, item) {
            stored.deleted = true;
        }
        let scripted = self.next_scripted(profile);
        for (to, chat, sender) in route.receivers {
            let journey = self.journey(profile, to, scripted.as_ref());
            let twice = journey.twice;
            let parcel = Parcel::Delete { chat, sender, shared_msg_id, twice };
            self.dispatch(profile, to, &journey, parcel);
        }
        self.pump();
        Ok(())
    }

    /// Removes an item from the profile's own database only: the core's
    /// `/_delete item … internal`. Quotes of it are no longer resolved here.
    ///
    /// # Errors
    /// [`ChangeError::Send`] with [`SendError::ChatItemNotFound`] when there is no such item.
    pub fn forget(
        &mut self,
        profile: ProfileId,
        chat: Chat,
        item: ItemId,
    ) -> Result<(), ChangeError> {
        let unknown = SendError::UnknownProfile { profile };
        let items = &mut self.profile_mut(profile).ok_or(unknown)?.items;
        if items.get(chat, item).is_none() {
            return Err(SendError::ChatItemNotFound { item }.into());
        }
        items.remove(item);
        Ok(())
    }

    /// Marks an item as deleted in the profile's own database only: the core's
    /// `/_delete item … internalMark`.
    pub(super) fn mark(&mut self, profile: ProfileId, chat: Chat, item: ItemId) {
        let items = self.profile_mut(profile).map(|known| &mut known.items);
        if let Some(stored) = items.and_then(|items| items.get_mut(chat, item)) {
            stored.deleted = true;
        }
    }

    fn post_to_all(
        &mut self,
        from: ProfileId,
        route: &Route,
        wire: &Arc<Wire>,
        origin: Option<(ProfileId, Chat, ItemId)>,
    ) {
        let scripted = self.next_scripted(from);
        for &(to, chat, sender) in &route.receivers {
            let mut journey = self.journey(from, to, scripted.as_ref());
            let edit = journey.edit.take().filter(|_| origin.is_some());
            let message = Message {
                chat,
                sender,
                wire: Arc::clone(wire),
                origin,
                update: origin.is_none(),
                twice: journey.twice,
                edit,
            };
            self.dispatch(from, to, &journey, Parcel::Message(message));
        }
    }

    /// Where a new message goes.
    fn route_of(
        &self,
        profile: ProfileId,
        chat: Chat,
        message: &ComposedMessage<'_>,
    ) -> Result<Route, SendError> {
        let support = match (chat, message.scope) {
            (Chat::Group(id), Some(scope)) => {
                let membership = self.known_profile(profile)?.membership(id)?;
                match scope {
                    Scope::Support => Some(membership.own),
                    Scope::MemberSupport(group_member_id) => {
                        let known = membership.by_group_member_id(group_member_id);
                        let unknown = SendError::GroupMemberNotFound { group_member_id };
                        Some(known.ok_or(unknown)?.0)
                    }
                }
            }
            _ => None,
        };
        self.route(profile, chat, support, message.as_group)
    }

    /// Where an item went that changes now. An item that is not there goes nowhere, which is found
    /// out later.
    fn route_again(
        &self,
        profile: ProfileId,
        chat: Chat,
        item: ItemId,
    ) -> Result<Route, SendError> {
        let known = self.known_profile(profile)?;
        let body = known.items.get(chat, item).map(|stored| &stored.body);
        let support = match (chat, body.and_then(|body| body.support)) {
            (Chat::Group(id), Some(SupportChat::Own)) => Some(known.membership(id)?.own),
            (_, Some(SupportChat::Of { member })) => Some(member),
            _ => None,
        };
        let as_group = body.is_some_and(|body| body.sender == Sender::Channel);
        self.route(profile, chat, support, as_group)
    }

    fn route(
        &self,
        profile: ProfileId,
        chat: Chat,
        support: Option<MemberId>,
        as_group: bool,
    ) -> Result<Route, SendError> {
        let sender = self.known_profile(profile)?;
        match chat {
            Chat::Direct(id) => {
                let contact = sender.contacts.get(&id);
                let contact = contact.ok_or(SendError::ContactNotFound { contact: id })?;
                if contact.status != ContactStatus::Active {
                    return Err(SendError::ContactNotActive { contact: id });
                }
                let receiver = (contact.peer, Chat::Direct(contact.mirror), Sender::Contact);
                let receivers = Vec::from([receiver]);
                Ok(Route { own: None, support: None, as_group: false, receivers })
            }
            Chat::Group(id) => {
                let membership = sender.membership(id)?;
                if !membership.active {
                    return Err(SendError::MemberLeft { group: id });
                }
                let own = membership.own;
                let group = self.groups.get(membership.group.0);
                let owner = group.and_then(super::setup::Group::owner);
                let is_channel = group.is_some_and(|group| group.is_channel);
                let role = |required| Err(SendError::Role { group: id, required });
                if owner != Some(own) {
                    match support {
                        Some(of) if of != own => return role("moderator"),
                        None if is_channel => return role("author"),
                        _ if as_group => return role("owner"),
                        _ => {}
                    }
                }
                let as_group = (as_group || is_channel) && support.is_none();
                let from = if as_group { Sender::Channel } else { Sender::Member(own) };
                let hears = |member: MemberId| {
                    support.is_none_or(|of| of == member || owner == Some(member))
                };
                let receivers = group
                    .map_or(&[][..], |group| &group.seats)
                    .iter()
                    .filter(|seat| seat.active && seat.member != own && hears(seat.member))
                    .map(|seat| (seat.profile, Chat::Group(seat.group_id), from))
                    .collect();
                Ok(Route { own: Some(own), support, as_group, receivers })
            }
        }
    }

    fn known_profile(&self, profile: ProfileId) -> Result<&Profile, SendError> {
        self.profiles.get(profile.0).ok_or(SendError::UnknownProfile { profile })
    }

    const fn check_size(&self, encoded_len: usize) -> Result<(), SendError> {
        let limit = self.config.max_encoded_len;
        if encoded_len > limit { Err(SendError::LargeMsg { encoded_len, limit }) } else { Ok(()) }
    }

    const fn check_in_flight(&self, more: usize) -> Result<(), SendError> {
        let limit = self.config.max_in_flight;
        if self.in_flight.saturating_add(more) > limit {
            return Err(SendError::TooManyInFlight { limit });
        }
        Ok(())
    }

    fn own_time(&mut self) -> String {
        // An odd number: a core's clock is finer than milliseconds, so nine digits are printed.
        let below_milli = (self.rng.up_to(999_999) | 1) as u32;
        clock::own(self.config.wall_clock_start, self.now, below_milli)
    }
}

impl QuotedMsg {
    /// The quote as the core of the one who quotes keeps it.
    fn seen_by_its_sender(&self, chat: Chat, item: ItemId) -> Quote {
        let direction = match (chat, self.sent) {
            (Chat::Direct(_), true) => QuoteDirection::DirectSnd,
            (Chat::Direct(_), false) => QuoteDirection::DirectRcv,
            (Chat::Group(_), true) => QuoteDirection::GroupSnd,
            (Chat::Group(_), false) => QuoteDirection::GroupRcv { member: self.member },
        };
        Quote {
            direction,
            item: Some(item),
            shared_msg_id: self.shared_msg_id,
            text: self.text.clone(),
            sent_at: self.sent_at.clone(),
        }
    }
}

impl Profile {
    pub(super) fn membership(&self, id: crate::chat::GroupId) -> Result<&Membership, SendError> {
        self.groups.get(&id).ok_or(SendError::GroupNotFound { group: id })
    }

    /// The map of mentions, checked as the core's `getCIMentions` does.
    fn checked_mentions(
        &self,
        chat: Chat,
        message: &ComposedMessage<'_>,
    ) -> Result<Vec<ItemMention>, SendError> {
        if message.mentions.is_empty() {
            return Ok(Vec::new());
        }
        let Chat::Group(id) = chat else { return Err(SendError::MentionsNotSupported) };
        let membership = self.membership(id)?;
        let found = mention::parse(message.text);
        if !found.formatted {
            return Ok(Vec::new());
        }
        let invalid = |problem| SendError::InvalidMention { problem };
        let mentions = message.mentions.len();
        if mentions > MAX_SEND_MENTIONS {
            return Err(invalid(MentionProblem::TooMany { mentions }));
        }
        let (mut names, mut members) = (BTreeSet::new(), BTreeSet::new());
        for (index, (name, group_member_id)) in message.mentions.iter().enumerate() {
            if !found.mentions.iter().any(|found| found.name == *name) {
                return Err(invalid(MentionProblem::NotInText { index }));
            }
            if !names.insert(*name) {
                return Err(invalid(MentionProblem::NameTwice { index }));
            }
            if !members.insert(*group_member_id) {
                let group_member_id = *group_member_id;
                return Err(invalid(MentionProblem::MemberTwice { group_member_id }));
            }
        }
        let mut checked = Vec::new();
        for &(name, group_member_id) in message.mentions {
            let known = membership.by_group_member_id(group_member_id);
            let (member, _) = known.ok_or(SendError::GroupMemberNotFound { group_member_id })?;
            let name = String::from(name);
            checked.push(ItemMention { name, member, group_member_id: Some(group_member_id) });
        }
        checked.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(checked)
    }

    /// The quote of one of this profile's items.
    fn quoted(
        &self,
        chat: Chat,
        item: ItemId,
        message: &ComposedMessage<'_>,
        truncate: Option<usize>,
        own: Option<MemberId>,
    ) -> Result<QuotedMsg, SendError> {
        let stored = self.items.get(chat, item).ok_or(SendError::ChatItemNotFound { item })?;
        if stored.deleted {
            return Err(SendError::InvalidQuote { item });
        }
        let member = match stored.body.sender {
            _ if stored.own => own,
            Sender::Member(member) => Some(member),
            Sender::Contact | Sender::Channel => None,
        };
        let mut text = match message.forged_quote {
            Some(text) => String::from(text),
            None => self.current_names(chat, &stored.body),
        };
        if let Some(chars) = truncate {
            let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
            text.truncate(end);
        }
        Ok(QuotedMsg {
            member,
            shared_msg_id: stored.body.shared_msg_id,
            sent: stored.own,
            sent_at: stored.body.item_ts.clone(),
            text,
        })
    }

    /// The text of an item, its mentions by the names that the members have now. The core leaves
    /// a name that is the member's own or has only a number behind it.
    fn current_names(&self, chat: Chat, body: &ReceivedItem) -> String {
        let membership = match chat {
            Chat::Group(id) if !body.mentions.is_empty() => self.groups.get(&id),
            _ => None,
        };
        let Some(membership) = membership else { return body.text.clone() };
        let display_name = |name: &str| {
            let mention = body.mentions.iter().find(|mention| mention.name == name)?;
            Some(membership.members.get(&mention.member)?.display_name.as_str())
        };
        let same = |mention: &ItemMention| {
            let Some(current) = display_name(&mention.name) else { return true };
            match mention.name.strip_prefix(current) {
                Some("") => true,
                Some(rest) => rest
                    .strip_prefix('_')
                    .is_some_and(|suffix| suffix.bytes().all(|byte| byte.is_ascii_digit())),
                None => false,
            }
        };
        if body.mentions.iter().all(same) {
            return body.text.clone();
        }
        mention::rewrite(&body.text, |name| display_name(name).map(mention_text))
    }

    /// An item that this profile may change.
    fn own_item(&self, chat: Chat, item: ItemId) -> Result<&Stored, ChangeError> {
        let stored = self.items.get(chat, item).ok_or(SendError::ChatItemNotFound { item })?;
        if stored.own && !stored.deleted { Ok(stored) } else { Err(ChangeError::NotOwn { item }) }
    }
}

/// The length of a message, encoded as the core encodes it.
fn encoded_len(wire: &Wire) -> usize {
    let mentions: Vec<size::Mention<'_>> =
        wire.mentions.iter().map(|(name, member)| size::Mention::new(name, member.get())).collect();
    let mut message = WireMessage::new(wire.shared_msg_id.get(), &wire.text);
    message.mentions = &mentions;
    message.live = wire.live;
    message.ttl = wire.ttl.map(u64::from);
    message.as_group = wire.as_group;
    message.member_scope = wire.support.as_ref().map(MemberId::get);
    message.quote = wire.quote.as_ref().map(|quoted| {
        let mut quote = WireQuote::new(&quoted.text, quoted.shared_msg_id.get(), &quoted.sent_at);
        quote.member_id = quoted.member.as_ref().map(MemberId::get);
        quote.sent = quoted.sent;
        quote
    });
    encode(&message).len()
}

/// The length of an edit, an `x.msg.update`: it has an id of its own and names the message that
/// it changes.
fn encoded_update_len(own_id: SharedMsgId, wire: &Wire) -> usize {
    // Nothing is kept: the writer counts what an empty buffer does not take.
    let mut writer = Writer::new(&mut []);
    writer.raw("{\"v\":").string(DEFAULT_VERSION);
    writer.raw(",\"msgId\":").string(own_id.get());
    writer.raw(",\"event\":\"x.msg.update\",\"params\":{\"content\":{\"text\":");
    writer.string(&wire.text).raw(",\"type\":\"text\"}");
    if wire.live {
        writer.raw(",\"live\":true");
    }
    let mut before = ",\"mentions\":{";
    for (name, member) in &wire.mentions {
        writer.raw(before).string(name).raw(":{\"memberId\":").string(member.get()).raw("}");
        before = ",";
    }
    if !wire.mentions.is_empty() {
        writer.raw("}");
    }
    writer.raw(",\"msgId\":").string(wire.shared_msg_id.get());
    if let Some(ttl) = wire.ttl {
        writer.raw(",\"ttl\":").int(i64::from(ttl));
    }
    writer.raw("}}");
    writer.needed()
}
