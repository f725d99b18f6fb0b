//! What the call journal has to say.
//!
//! ```text
//! item ──▶ is_repeated? ──▶ responder ──▶ requested: accept ──▶ Event::Request ──▶ begin
//!              │                               │                                     │
//!              ▼                               ▼                                     ▼
//!      silence, or the            expired, outcome unknown            record: the last answer
//!      stored answer                                                  confirm: the core has it
//! ```
//!
//! The session looks for answers that may have been sent, in its conversation; the journal is what a
//! later process knows of them. So a stored answer is sent only if the core does not have it.

use alloc::vec::Vec;

use super::Session;
use super::output::{Event, Output};
use super::recheck::Unconfirmed;
use crate::binding::{Binding, Failure};
use crate::chat::session::{Event as ChatEvent, Message, Origin, Request};
use crate::chat::{CallKey, Item};
use crate::simplex::journal::{Accept, Change, Journal, Record, Seen};
use crate::time::{Instant, Timestamp};
use core::time::Duration;

/// # The call journal
impl<B: Binding> Session<B> {
    /// Keeps the call journal of this profile in the place of one that ends with the session. Give
    /// it before the first input, with the [clock](Self::set_clock). What an earlier process left
    /// is taken up as soon as the core is started.
    ///
    /// ```
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::simplex::journal::{Journal, JournalConfig};
    /// use agentwire_core::simplex::{Output, Session};
    /// let mut session = Session::<Standard>::new(Default::default(), Vec::new(), 1);
    /// session.keep_journal(Journal::durable(JournalConfig::default()));
    /// // Nothing has happened that would have to be kept.
    /// assert!(!matches!(session.poll_output(), Output::Save(_)));
    /// ```
    pub fn keep_journal(&mut self, journal: Journal) {
        // Where commands are known, others may have come since.
        for key in journal.keys() {
            self.chats.remember(key.chat, key.item);
        }
        self.journal = journal;
    }

    /// The call journal.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Says what time of day it is: by it, old commands are told from new ones. A session that does
    /// not know runs commands of any age. To be said again now and then, and when the clock was
    /// set.
    pub fn set_clock(&mut self, now: Instant, time: Timestamp) {
        self.clock = Some((now, time));
    }

    /// The application begins to run a command now, where it [says
    /// so](super::SessionConfig::says_begin). The changes have to be saved first. `false` if the
    /// command was answered meanwhile.
    pub fn begin(&mut self, call: CallKey) -> bool {
        self.journal.start(call)
    }

    /// The changes of the call journal that have not been [handed out](Output::Save): to keep them
    /// before the next output is taken.
    pub fn take_changes(&mut self) -> Vec<Change> {
        self.journal.take_changes()
    }

    /// The time of day; long ago if nobody has said it, so that nothing is old.
    fn time(&self) -> Timestamp {
        let passed =
            |(then, time): (Instant, Timestamp)| time.saturating_add(self.now.duration_since(then));
        self.clock.map(passed).unwrap_or_default()
    }

    /// Whether an item is a command that has been dealt with, or is being so.
    pub(super) fn is_repeated(&mut self, item: &Item<'_>) -> bool {
        let now = self.time();
        let (chat, id) = (item.chat, item.id);
        let silence = match self.journal.handle_command(item, now) {
            Seen::New => return false,
            Seen::Silence(why) => Some(why),
            Seen::Answer(answer) => {
                match self.chat.answer_again(item, answer) {
                    // The core may have it: it is looked for among what came after the command.
                    Ok(message) => {
                        let (after, at) = (Some(id), self.now);
                        self.unconfirmed.push(Unconfirmed::new(message, after, at));
                    }
                    // It fitted beside the command as it was then.
                    Err(_) => self.journal.lose(item.into()),
                }
                None
            }
        };
        let event = Event::Repeated { chat, item: id, silence };
        self.outputs.push_back(Output::Event(event));
        true
    }

    /// The responder has made a request of an item.
    pub(super) fn requested(&mut self, request: Request<B>, item: Option<&Item<'_>>) {
        let key = CallKey::new(request.chat, request.item);
        // Requests come of items alone.
        let failure = match item.filter(|item| CallKey::from(*item) == key) {
            Some(item) => match self.journal.accept(item, self.time(), self.config.is_idempotent) {
                Accept::Run => None,
                Accept::Expired => Some(Failure::Expired),
                Accept::OutcomeUnknown => Some(Failure::OutcomeUnknown),
                Accept::Full { capacity } => Some(Failure::Busy { capacity }),
            },
            None => None,
        };
        let Some(failure) = failure else {
            if !self.config.says_begin {
                self.journal.start(key);
            }
            self.outputs.push_back(Output::Event(Event::Chat(ChatEvent::Request(request))));
            return;
        };
        let Request { token, chat, sender, item, .. } = request;
        let reason = failure.reason();
        // The command was just accepted, so its token is good and an error fits.
        if self.chat.fail(self.now, token, &failure).is_ok() {
            let event = ChatEvent::Refused { chat, sender, item, reason };
            self.outputs.push_back(Output::Event(Event::Chat(event)));
        }
    }

    /// A message is about to be sent: a last answer is written down first.
    pub(super) fn record(&mut self, message: &Message, item: Option<&Item<'_>>) {
        let Some(key) = answered_by(message) else { return };
        if self.journal.finish(key, &message.text) {
            return;
        }
        if let Some(item) = item.filter(|item| CallKey::from(*item) == key) {
            // One for which there is no room is answered the same way when it comes again.
            self.journal.refuse(item, self.time(), &message.text);
        }
    }

    /// The core has taken a message.
    pub(super) fn confirm(&mut self, message: &Message) {
        if let Some(key) = answered_by(message) {
            self.journal.confirm(key, self.time());
        }
    }

    /// Whether an answer may have been sent and deleted again: its conversation deletes messages,
    /// and as much time has passed since the command came.
    pub(super) fn has_outlived(&self, message: &Message) -> bool {
        let key = message.quotes.map(|item| CallKey::new(message.chat, item));
        let record = key.and_then(|key| self.journal.get(key));
        let ttl = record.and_then(|record| Some((record.at, Duration::from_secs(record.ttl?))));
        ttl.is_some_and(|(at, ttl)| self.time().duration_since(at) >= ttl)
    }

    /// The core has not taken a message, or nobody knows.
    pub(super) fn unrecord(&mut self, message: &Message) {
        if let Some(key) = answered_by(message) {
            self.journal.lose(key);
        }
    }

    /// What an earlier process left is handed in as if the core told of it now.
    pub(super) fn take_up_again(&mut self, is_again: bool) {
        if !is_again {
            let left: Vec<Record> = self.journal.unfinished().cloned().collect();
            for record in &left {
                self.hand_in(&record.item());
            }
        }
        // Not before: what is too old gets an answer all the same.
        self.journal.forget(self.time());
    }
}

/// Which command a message is the last answer to.
fn answered_by(message: &Message) -> Option<CallKey> {
    let is_last = match message.origin {
        Origin::Answer(_, is_last) => is_last,
        Origin::Refusal | Origin::Stored => true,
        Origin::Command(_) => false,
    };
    message.quotes.filter(|_| is_last).map(|item| CallKey::new(message.chat, item))
}
