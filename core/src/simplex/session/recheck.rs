//! After a reconnect: which messages the core has, and what has come meanwhile.
//!
//! A message whose frame was sent and not answered may be in the core's database or not. It is
//! looked for among the conversation's items after the highest one that was known when it was
//! sent: an own item with its text and its quote is it. What is found was sent; what is not found
//! is looked for once more after [`settle`](super::SessionConfig::settle), in case the core was
//! still at it. Then it was not sent: an answer is sent (again, in its place), a call ends with
//! [`NotSent`](super::Event::NotSent). If the core refuses to show the conversation, nobody can
//! know: [`OutcomeUnknown`](super::Event::OutcomeUnknown). Neither can it be known whether an
//! answer was sent that may have been deleted since: where the conversation deletes its messages
//! after a time that has passed since the command came, or has a deleted own message whose text is
//! gone. One whose deletion the core tells of was sent.
//!
//! Until that is settled nothing else is sent, so the order of a conversation stays.
//!
//! What others sent meanwhile is read in pages, the newest conversations first, until there is no
//! more: a bot asks which conversations have something new, a caller looks where a call is open.
//! Items that were seen are passed over. A page waits until the bot has room for the commands that
//! can stand in it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::Session;
use super::jobs::{Job, Look, OVERVIEW};
use super::output::{Event, Garbage, Link, NotSent, Output};
use super::startup::Phase;
use crate::binding::Binding;
use crate::chat::session::{Input, Message, Origin};
use crate::chat::{Chat, ItemId};
use crate::simplex::frame::{Body, ChatItem, ShapeError};
use crate::time::Instant;
use core::time::Duration;

/// How long an item waits that there was no room for.
const RETRY: Duration = Duration::from_secs(1);

/// From after which item a conversation is looked through, and its newest item.
type Extent = (Option<ItemId>, Option<ItemId>);

/// A message that may have been sent.
pub(super) struct Unconfirmed {
    pub(super) message: Message,
    /// The highest item that was known when it was sent.
    pub(super) after: Option<ItemId>,
    /// How often it was looked for.
    pub(super) looks: u8,
    /// When it is looked for next.
    pub(super) at: Instant,
    /// Whether an own item has been found that was deleted and may have been this message.
    pub(super) may_be_deleted: bool,
}

impl Unconfirmed {
    pub(super) const fn new(message: Message, after: Option<ItemId>, at: Instant) -> Self {
        Self { message, after, looks: 0, at, may_be_deleted: false }
    }

    /// Whether this own item, of which the text is gone, may have been the message.
    fn may_be(&self, item: &ChatItem<'_>) -> bool {
        item.is_deleted
            && item.text.is_none()
            && item.chat == Some(self.message.chat)
            && self.after.is_none_or(|after| item.id > after)
    }

    /// Whether this item is the message.
    fn is(&self, item: &ChatItem<'_>) -> bool {
        let quotes = match (self.message.quotes, item.quote) {
            (None, None) => true,
            // The quoted item may be gone meanwhile.
            (Some(wanted), Some(quote)) => quote.item.is_none_or(|item| item == wanted),
            _ => false,
        };
        quotes
            && item.chat == Some(self.message.chat)
            && self.after.is_none_or(|after| item.id > after)
            && item.text.is_some_and(|text| text == *self.message.text.as_str())
    }
}

impl<B: Binding> Session<B> {
    /// Begins to look through the conversations: those of open calls, and all of a bot's that have
    /// something new.
    pub(super) fn look_again(&mut self) {
        if self.serves {
            self.chat_link.urgent.push_back(Job::Overview);
            return;
        }
        let chats = self.chats.by_age();
        let called = chats.into_iter().filter(|chat| self.calls.values().any(|at| at == chat));
        let looks: BTreeMap<Chat, Extent> = called.map(|chat| (chat, self.known(chat))).collect();
        self.chats.complete_but(|chat| looks.contains_key(&chat));
        self.look_at(looks);
    }

    /// From after which item a conversation is looked through, and its newest item, as far as they
    /// are known.
    fn known(&self, chat: Chat) -> Extent {
        (self.chats.after(chat), self.chats.newest(chat))
    }

    /// Looks through these conversations, the one with the newest item first, and once if one is to
    /// be looked through already.
    fn look_at(&mut self, mut chats: BTreeMap<Chat, Extent>) {
        let (gap, at) = (self.chats.gaps(), self.now);
        for look in &mut self.looks {
            if let Some((after, _)) = chats.remove(&look.chat) {
                look.after = look.after.min(after);
                look.gap = gap;
            }
        }
        let mut chats: Vec<(Chat, Extent)> = chats.into_iter().collect();
        chats.sort_by_key(|(_, (_, newest))| core::cmp::Reverse(*newest));
        let looks = chats.into_iter().map(|(chat, (after, _))| Look::new(chat, after, gap, at));
        self.looks.extend(looks);
    }

    /// The core has said which conversations there are, the one with the newest activity first, or
    /// not. The core numbers items over all conversations, so one whose newest item is not after
    /// the newest one of the last look has nothing new.
    pub(super) fn overviewed(&mut self, body: Result<Body<'_>, ShapeError>) {
        let before = self.chats.looked_up_to;
        let (mut count, mut is_whole) = (0_u32, false);
        let mut found = Vec::new();
        let is_shown = matches!(body, Ok(Body::Chats(_)));
        if let Ok(Body::Chats(chats)) = body {
            is_whole = true;
            for chat in chats {
                count = count.saturating_add(1);
                let newest = chat.and_then(|mut page| Ok((page.chat(), page.next().transpose()?)));
                match newest {
                    Ok((Some(chat), Some(item))) => found.push((chat, item.id)),
                    Ok(_) => {}
                    Err(_) => is_whole = false,
                }
            }
        }
        // More conversations than fit may have something new.
        is_whole &= count < OVERVIEW || found.last().is_some_and(|(_, id)| Some(*id) <= before);
        let mut looks = BTreeMap::new();
        if !is_whole {
            looks.extend(self.chats.by_age().into_iter().map(|chat| (chat, self.known(chat))));
        }
        for (chat, newest) in &found {
            match (self.chats.after(*chat), before) {
                // What there was before the first look is none of this session's.
                (None, None) => self.chats.remember(*chat, *newest),
                (Some(after), None) if *newest <= after => {}
                (after, before) if Some(*newest) > before => {
                    looks.insert(*chat, (after.or(before), Some(*newest)));
                }
                _ => {}
            }
        }
        let pending: BTreeSet<Chat> = self.looks.iter().map(|look| look.chat).collect();
        self.chats.complete_but(|chat| looks.contains_key(&chat) || pending.contains(&chat));
        self.look_at(looks);
        if is_shown {
            let newest = found.iter().map(|(_, id)| *id).max();
            self.chats.looked_up_to = before.max(newest).or(Some(ItemId(0)));
        }
    }

    /// Looks through this conversation once more, from before this item on.
    pub(super) fn look_later(&mut self, chat: Chat, item: ItemId) {
        let after = Some(ItemId(item.0.saturating_sub(1)));
        let at = self.now.saturating_add(RETRY);
        let has_room = self.looks.len() < self.config.max_chats;
        match self.looks.iter_mut().find(|look| look.chat == chat) {
            Some(look) => look.after = look.after.min(after),
            None if has_room => {
                let gap = self.chats.gaps();
                self.looks.push_back(Look::new(chat, after, gap, at));
            }
            None => {}
        }
    }

    /// Asks for the next page, if it is time and there is room for it.
    pub(super) fn next_look(&mut self) {
        if self.is_looking || !matches!(self.phase, Phase::Ready(_)) {
            return;
        }
        let now = self.now;
        let search = self.unconfirmed.iter().find(|sent| sent.at <= now);
        let look = if let Some(sent) = search {
            let chat = sent.message.chat;
            let same = self.unconfirmed.iter().filter(|sent| sent.message.chat == chat);
            // `None`, when nothing was known, sorts before every item.
            let after = same.map(|sent| sent.after).min().flatten();
            Look { is_search: true, ..Look::new(chat, after, 0, now) }
        } else {
            let page = usize::try_from(self.config.page).unwrap_or(usize::MAX);
            let open = self.chat.open_requests().saturating_add(page);
            let most = self.config.chat.max_requests.min(self.config.max_backlog);
            let has_room = open <= most.max(page);
            let due = self.looks.front().is_some_and(|look| look.at <= now);
            if !due || !has_room {
                return;
            }
            let Some(look) = self.looks.pop_front() else { return };
            look
        };
        self.is_looking = true;
        self.chat_link.urgent.push_back(Job::Look(look));
    }

    /// When a page is due that is not waiting for anything else.
    pub(super) fn look_timeout(&self) -> Option<Instant> {
        if self.is_looking || !matches!(self.phase, Phase::Ready(_)) {
            return None;
        }
        let searches = self.unconfirmed.iter().map(|sent| sent.at).min();
        let look = self.looks.front().map(|look| look.at).filter(|at| *at > self.now);
        [searches, look].into_iter().flatten().min()
    }

    /// The core has answered with a page, or not.
    pub(super) fn looked(&mut self, look: Look, body: Result<Body<'_>, ShapeError>) {
        self.is_looking = false;
        let Ok(Body::Chat(page)) = body else {
            if look.is_search {
                self.cannot_know(look.chat);
            } else {
                self.chats.complete(look.chat, look.gap);
            }
            return;
        };
        let (mut count, mut last, mut is_blurred) = (0_u32, None, look.is_blurred);
        for item in page {
            count = count.saturating_add(1);
            match item {
                Ok(item) => {
                    last = last.max(Some(item.id));
                    self.seen_again(&item);
                }
                Err(error) => {
                    is_blurred = true;
                    self.garbled(Link::Chat, Garbage::Shape(error));
                }
            }
        }
        let is_full = count >= self.config.page;
        // The first ones after an item go on; the newest ones are one page.
        if is_full && look.after.is_some() && last > look.after {
            let next = Look { after: last, is_blurred, ..look };
            if look.is_search {
                self.is_looking = true;
                self.chat_link.urgent.push_back(Job::Look(next));
            } else {
                self.looks.push_front(next);
            }
        } else if look.is_search {
            // What was not found may stand where nothing could be read, or before the newest ones.
            if is_blurred || is_full {
                self.cannot_know(look.chat);
            } else {
                self.settle(look.chat);
            }
        } else {
            self.chats.complete(look.chat, look.gap);
        }
    }

    /// An item of a page.
    fn seen_again(&mut self, item: &ChatItem<'_>) {
        let is_known = self.chats.has_seen(item.id);
        if item.direction.is_own() {
            if !is_known {
                self.own_item(item);
            }
        } else if !is_known || item.is_edited {
            self.item(item, is_known);
        }
    }

    /// An own item that is not known: it may be a message that may have been sent.
    pub(super) fn own_item(&mut self, item: &ChatItem<'_>) {
        let Some(chat) = item.chat else { return };
        if !self.found(item) {
            // Not as one that was seen: it may be a message whose answer is on its way.
            self.chats.remember(chat, item.id);
        }
    }

    /// Whether an own item is a message that may have been sent: it was.
    pub(super) fn found(&mut self, item: &ChatItem<'_>) -> bool {
        let Some(place) = self.unconfirmed.iter().position(|sent| sent.is(item)) else {
            for sent in self.unconfirmed.iter_mut().filter(|sent| sent.may_be(item)) {
                sent.may_be_deleted = true;
            }
            return false;
        };
        let Unconfirmed { message, .. } = self.unconfirmed.remove(place);
        self.was_sent(&message, item);
        true
    }

    /// The core has taken a message: this item.
    pub(super) fn was_sent(&mut self, message: &Message, item: &ChatItem<'_>) {
        let (origin, chat) = (message.origin, message.chat);
        self.chats.see(chat, item.id);
        self.confirm(message);
        if let Origin::Command(call) = origin {
            let shared = item.shared_msg_id.and_then(|id| id.as_plain());
            let sent = Input::Sent { call, item: item.id, shared_msg_id: shared };
            // A call that has ended meanwhile needs no id.
            let _ = self.chat.handle_input(self.now, sent);
        }
        let event = Event::Sent { origin, chat, item: item.id };
        self.outputs.push_back(Output::Event(event));
        self.pump();
    }

    /// A conversation was looked through: what was not found there is looked for once more, or was
    /// not sent.
    fn settle(&mut self, chat: Chat) {
        let mut kept = Vec::new();
        let (mut again, mut unknown) = (Vec::new(), Vec::new());
        for mut sent in core::mem::take(&mut self.unconfirmed) {
            if sent.message.chat != chat || sent.at > self.now {
                kept.push(sent);
            } else if sent.looks == 0 {
                sent.looks = 1;
                sent.at = self.now.saturating_add(self.config.settle);
                kept.push(sent);
            } else if sent.may_be_deleted || self.has_outlived(&sent.message) {
                unknown.push(sent.message);
            } else if let Origin::Command(_) = sent.message.origin {
                self.was_not_sent(sent.message.origin, chat, NotSent::Lost);
            } else {
                again.push(sent.message);
            }
        }
        self.unconfirmed = kept;
        for message in unknown {
            self.unknown(&message);
        }
        for message in again.into_iter().rev() {
            self.chat_link.queue.push_front(Job::Message(message));
        }
    }

    /// The core does not show a conversation, or not so that it can be read.
    fn cannot_know(&mut self, chat: Chat) {
        let (lost, kept): (Vec<Unconfirmed>, Vec<Unconfirmed>) =
            core::mem::take(&mut self.unconfirmed)
                .into_iter()
                .partition(|sent| sent.message.chat == chat);
        self.unconfirmed = kept;
        for sent in lost {
            self.unknown(&sent.message);
        }
    }

    /// A message was not sent, and will not be.
    pub(super) fn was_not_sent(&mut self, origin: Origin, chat: Chat, why: NotSent) {
        self.outputs.push_back(Output::Event(Event::NotSent { origin, chat, why }));
        // What the core says of a message of the session's own is always taken.
        let _ = self.chat.handle_input(self.now, Input::NotSent { origin });
        self.pump();
    }
}
