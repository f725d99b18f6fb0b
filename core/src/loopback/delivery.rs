//! The way of a message from one profile to another, and what the receiver's core makes of it.
//!
//! ```text
//! send ──► journey drawn ──► inbox of the receiver, by due time ──► core ──► event queue ──► poll
//!             │ lost                     ▲      │ queue full: waits       │
//!             ▼                          │      ▼                         ├─► receipt to the sender
//!           nothing                      └── next poll of the queue       └─► second report, edit
//! ```

use alloc::{boxed::Box, collections::BTreeSet, format, string::String, sync::Arc, vec::Vec};
use core::time::Duration;

use super::event::{
    Event, ItemMention, ItemStatus, Quote, QuoteDirection, ReceivedItem, SupportChat,
};
use super::faults::{Fault, Journey};
use super::mention;
use super::profile::{Membership, Profile, Stored};
use super::service::ServiceParcel;
use super::{Loopback, ProfileId, clock};
use crate::chat::size::MAX_RECEIVE_MENTIONS;
use crate::chat::{Chat, ItemId, MemberId, Sender, SharedMsgId};
use crate::time::Instant;

/// A message on the wire, the same for all receivers.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) shared_msg_id: SharedMsgId,
    pub(super) text: String,
    /// The map of mentions: one entry for each name.
    pub(super) mentions: Vec<(String, MemberId)>,
    pub(super) quote: Option<QuotedMsg>,
    pub(super) ttl: Option<u32>,
    pub(super) live: bool,
    /// In whose support chat it was sent.
    pub(super) support: Option<MemberId>,
    pub(super) as_group: bool,
    /// When it was sent.
    pub(super) sent: Instant,
}

/// The core's `QuotedMsg`: a reference to a message, and what the sender says it says.
#[derive(Debug)]
pub(super) struct QuotedMsg {
    pub(super) member: Option<MemberId>,
    pub(super) shared_msg_id: SharedMsgId,
    pub(super) sent: bool,
    pub(super) sent_at: String,
    pub(super) text: String,
}

/// Something that is due at a profile. Each gives at most one event.
#[derive(Debug)]
pub(super) enum Parcel {
    /// A message or the edit of one.
    Message(Message),
    /// The sender deleted a message for everybody.
    Delete { chat: Chat, sender: Sender, shared_msg_id: SharedMsgId, twice: bool },
    /// A Service RPC message, or the end of a wait for one.
    Service(ServiceParcel),
    /// An event that needs nothing any more.
    Ready(Box<Event>),
}

impl Parcel {
    /// One if it is on its way; the end of a wait is not.
    const fn travels(&self) -> usize {
        if matches!(self, Self::Service(ServiceParcel::Timeout { .. })) { 0 } else { 1 }
    }
}

#[derive(Debug)]
pub(super) struct Message {
    /// The receiver's chat.
    pub(super) chat: Chat,
    pub(super) sender: Sender,
    pub(super) wire: Arc<Wire>,
    /// Where a receipt goes; an edit gives none.
    pub(super) origin: Option<(ProfileId, Chat, ItemId)>,
    /// Whether it replaces the text of an earlier message.
    pub(super) update: bool,
    pub(super) twice: bool,
    pub(super) edit: Option<Option<String>>,
}

impl Loopback {
    /// Draws how a message from `from` to `to` travels.
    pub(super) fn journey(
        &mut self,
        from: ProfileId,
        to: ProfileId,
        scripted: Option<&Fault>,
    ) -> Journey {
        let faults = self.faults_between.get(&(from, to)).unwrap_or(&self.faults);
        let mut journey = Journey::draw(faults, &mut self.rng);
        if let Some(fault) = scripted {
            journey.meet(fault);
        }
        if let Some(faults) = self.scripted_between.get_mut(&(from, to)) {
            if let Some(fault) = faults.pop_front() {
                journey.meet(&fault);
            }
        }
        journey
    }

    /// Puts a parcel on its way; the journey says when it is due.
    pub(super) fn dispatch(
        &mut self,
        from: ProfileId,
        to: ProfileId,
        journey: &Journey,
        parcel: Parcel,
    ) {
        if journey.lost {
            return;
        }
        let mut due = self.now.saturating_add(journey.delay);
        if !journey.overtaken {
            let last = self.last_due.entry((from, to)).or_default();
            due = due.max(*last);
            *last = due;
        }
        self.post(to, due, parcel);
    }

    /// Puts an event for `to` behind everything that is due to it by now.
    pub(super) fn tell(&mut self, to: ProfileId, event: Event) {
        self.post(to, self.now, Parcel::Ready(Box::new(event)));
    }

    /// Puts a parcel into the inbox of `to`, and gives its place there.
    pub(super) fn post(&mut self, to: ProfileId, due: Instant, parcel: Parcel) -> (Instant, u64) {
        let number = self.posted;
        self.posted = self.posted.saturating_add(1);
        let travels = parcel.travels();
        if let Some(profile) = self.profile_mut(to) {
            profile.inbox.insert((due, number), parcel);
            self.in_flight = self.in_flight.saturating_add(travels);
            self.awake.insert(to);
        }
        (due, number)
    }

    /// Delivers what is due to the profiles that may have something, and what follows from it.
    pub(super) fn pump(&mut self) {
        while let Some(to) = self.awake.pop_first() {
            while self.deliver_one(to) {}
        }
    }

    fn deliver_one(&mut self, to: ProfileId) -> bool {
        let (now, limit) = (self.now, self.config.event_queue.max(1));
        let Some(profile) = self.profile_mut(to) else { return false };
        if profile.events.len() >= limit {
            return false;
        }
        let Some(first) = profile.inbox.first_entry().filter(|entry| entry.key().0 <= now) else {
            return false;
        };
        let due = first.key().0;
        let parcel = first.remove();
        self.in_flight = self.in_flight.saturating_sub(parcel.travels());
        let event = match parcel {
            Parcel::Ready(event) => Some(*event),
            Parcel::Message(message) => self.receive(to, due, message),
            Parcel::Service(parcel) => self.receive_service(to, due, parcel),
            Parcel::Delete { chat, sender, shared_msg_id, twice } => {
                let event = self.receive_deletion(to, chat, sender, shared_msg_id);
                if let Some(event) = event.clone().filter(|_| twice) {
                    self.post(to, due, Parcel::Ready(Box::new(event)));
                }
                event
            }
        };
        if let (Some(event), Some(profile)) = (event, self.profile_mut(to)) {
            profile.events.push_back(event);
        }
        true
    }

    fn receive(&mut self, to: ProfileId, due: Instant, message: Message) -> Option<Event> {
        let now = self.now;
        let start = self.config.wall_clock_start;
        let profile = self.profile_mut(to)?;
        let event = if message.update {
            profile.update(&message, now, start)?
        } else {
            Event::NewItem(profile.receive(&message, now, start, false)?)
        };
        if let Some(origin) = message.origin {
            self.receipt(origin);
        }
        if message.twice {
            self.post(to, due, Parcel::Ready(Box::new(event.clone())));
        }
        if let Some(text) = message.edit {
            let old = &message.wire;
            let wire = Wire {
                shared_msg_id: old.shared_msg_id,
                text: text.unwrap_or_else(|| format!("{} ", old.text)),
                mentions: old.mentions.clone(),
                quote: None,
                ttl: old.ttl,
                live: false,
                support: old.support,
                as_group: old.as_group,
                sent: old.sent,
            };
            let edit = Message {
                wire: Arc::new(wire),
                origin: None,
                update: true,
                twice: false,
                edit: None,
                ..message
            };
            self.post(to, due, Parcel::Message(edit));
        }
        Some(event)
    }

    /// Notes that one more receiver has the message.
    fn receipt(&mut self, (sender, chat, item): (ProfileId, Chat, ItemId)) {
        let stored = self.profile_mut(sender).and_then(|p| p.items.get_mut(chat, item));
        let Some(stored) = stored else { return };
        stored.unreceived = stored.unreceived.saturating_sub(1);
        if stored.unreceived == 0 && self.config.status_events {
            self.tell(sender, Event::ItemStatus { chat, item, status: ItemStatus::Received });
        }
    }

    fn receive_deletion(
        &mut self,
        to: ProfileId,
        chat: Chat,
        sender: Sender,
        shared_msg_id: SharedMsgId,
    ) -> Option<Event> {
        let profile = self.profile_mut(to)?;
        let stored = profile.items.received_mut(chat, shared_msg_id, sender)?;
        stored.deleted = true;
        let item = stored.body.item;
        Some(Event::ItemDeleted { chat, item })
    }
}

impl Profile {
    /// Stores a message as a new item; none when the profile is no longer in the chat, or when an
    /// edit that came first has made an item of the message: a shared id is unique in a chat.
    fn receive(
        &mut self,
        message: &Message,
        now: Instant,
        start: u64,
        edited: bool,
    ) -> Option<ReceivedItem> {
        let Message { chat, sender, wire, .. } = message;
        let (sender_name, group_member_id, support) = match *chat {
            Chat::Direct(id) => (self.contacts.get(&id)?.local_name.clone(), None, None),
            Chat::Group(id) => {
                let membership = self.groups.get(&id).filter(|group| group.active)?;
                let support = wire.support.map(|member| SupportChat::of(member, membership.own));
                match sender {
                    Sender::Member(member) => {
                        let known = membership.members.get(member)?;
                        (known.local_name.clone(), Some(known.group_member_id), support)
                    }
                    Sender::Channel => (membership.local_name.clone(), None, support),
                    Sender::Contact => return None,
                }
            }
        };
        if self.items.by_message(*chat, wire.shared_msg_id).is_some() {
            return None;
        }
        let quote = wire.quote.as_ref().map(|quoted| self.resolve(*chat, *sender, quoted));
        let (mentions, mentioned) = self.received_mentions(*chat, wire);
        let quoted = quote.as_ref().is_some_and(|q| q.direction == QuoteDirection::GroupSnd);
        let body = ReceivedItem {
            chat: *chat,
            item: ItemId(0),
            shared_msg_id: wire.shared_msg_id,
            sender: *sender,
            sender_name,
            group_member_id,
            item_ts: clock::received(start, wire.sent),
            text: wire.text.clone(),
            mentions,
            user_mention: mentioned || quoted,
            quote,
            edited,
            live: wire.live,
            ttl: wire.ttl,
            support,
        };
        let expires = wire.ttl.map(|ttl| now.saturating_add(Duration::from_secs(ttl.into())));
        let mut reported = body.clone();
        let stored = Stored { own: false, deleted: false, unreceived: 0, expires, body };
        reported.item = self.items.insert(stored);
        Some(reported)
    }

    /// Replaces the text of a message. The core makes a new item of an edit whose message it does
    /// not have.
    fn update(&mut self, message: &Message, now: Instant, start: u64) -> Option<Event> {
        let Message { chat, sender, wire, .. } = message;
        let (mentions, mentioned) = self.received_mentions(*chat, wire);
        if let Some(stored) = self.items.received_mut(*chat, wire.shared_msg_id, *sender) {
            let body = &mut stored.body;
            let quoted =
                body.quote.as_ref().is_some_and(|q| q.direction == QuoteDirection::GroupSnd);
            body.text.clone_from(&wire.text);
            body.mentions = mentions;
            body.user_mention = mentioned || quoted;
            body.edited = true;
            body.live = wire.live;
            return Some(Event::ItemUpdated(body.clone()));
        }
        self.receive(message, now, start, true).map(Event::ItemUpdated)
    }

    /// Finds whose item is quoted, and which.
    pub(super) fn resolve(&self, chat: Chat, sender: Sender, quoted: &QuotedMsg) -> Quote {
        let found = |matches: &dyn Fn(&Stored) -> bool| {
            let stored = self.items.by_message(chat, quoted.shared_msg_id)?;
            matches(stored).then_some(stored.body.item)
        };
        let (direction, item) = match (chat, quoted.member) {
            // What the other side received is what this side sent.
            (Chat::Direct(_), _) if !quoted.sent => {
                (QuoteDirection::DirectSnd, found(&|stored| stored.own))
            }
            (Chat::Direct(_), _) => (QuoteDirection::DirectRcv, found(&|stored| !stored.own)),
            (Chat::Group(id), Some(member)) => match self.groups.get(&id) {
                Some(group) if group.own == member => {
                    (QuoteDirection::GroupSnd, found(&|stored| stored.own))
                }
                group => {
                    let author = Sender::Member(member);
                    let known = author == sender
                        || group.is_some_and(|group| group.members.contains_key(&member));
                    let item = found(&|stored| !stored.own && stored.body.sender == author);
                    let member = known.then_some(member);
                    (QuoteDirection::GroupRcv { member }, item)
                }
            },
            (Chat::Group(_), None) => (QuoteDirection::GroupRcv { member: None }, None),
        };
        Quote {
            direction,
            item,
            shared_msg_id: quoted.shared_msg_id,
            text: quoted.text.clone(),
            sent_at: quoted.sent_at.clone(),
        }
    }

    /// The mentions that the core keeps of a received message, and whether one is of the profile
    /// itself.
    fn received_mentions(&self, chat: Chat, wire: &Wire) -> (Vec<ItemMention>, bool) {
        let membership = match chat {
            Chat::Group(id) => self.groups.get(&id),
            Chat::Direct(_) => None,
        };
        let Some(membership) = membership else { return (Vec::new(), false) };
        let kept = kept_mentions(membership, wire);
        let mentioned = kept.iter().any(|mention| mention.member == membership.own);
        (kept, mentioned)
    }
}

/// In the order of the text, each name of the map and each member once, and then sorted as a map.
pub(super) fn kept_mentions(membership: &Membership, wire: &Wire) -> Vec<ItemMention> {
    let mut kept: Vec<ItemMention> = Vec::new();
    if wire.mentions.is_empty() {
        return kept;
    }
    let mut seen = BTreeSet::new();
    for found in mention::parse(&wire.text).mentions {
        if kept.len() >= MAX_RECEIVE_MENTIONS {
            break;
        }
        let entry = wire.mentions.iter().find(|(name, _)| name == found.name);
        let Some((name, member)) = entry.filter(|(_, member)| seen.insert(*member)) else {
            continue;
        };
        let known = membership.members.get(member);
        kept.push(ItemMention {
            name: name.clone(),
            member: *member,
            group_member_id: known.map(|known| known.group_member_id),
        });
    }
    kept.sort_by(|one, other| one.name.cmp(&other.name));
    kept
}
