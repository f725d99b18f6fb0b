//! The call journal: each command takes effect at most once, or its outcome is honestly unknown.
//!
//! A chat core tells of an item again: after a reconnect, when a bot reads a chat's history, when
//! it starts anew. And a bot ends at any moment. What has been done about a command therefore
//! outlives both, in a [`Journal`], keyed by the conversation, the item and the caller:
//!
//! ```text
//!                     handle_command(): New, then the responder makes a request of it
//!                                │
//!         older than the limit ──┤ accept(): Expired, answered and not run
//!             too many are open ─┤ accept(): Full
//!                                ▼ accept(): Run
//!                          ┌──────────┐   seen again after a restart: New, accept(): Run
//!                          │ Accepted │
//!                          └──────────┘
//!                                │ start()
//!                                ▼
//!                          ┌──────────┐   seen again after a restart: New, accept(): OutcomeUnknown,
//!                          │ Started  │   or Run where the handler is idempotent
//!                          └──────────┘
//!    refuse(): answered at once  │ finish()
//!              ────────────────▶ ▼
//!                          ┌──────────┐   seen again after a restart, or after the answer was
//!                          │ Finished │   lost: the stored answer
//!                          └──────────┘
//!                                │ confirm(): the chat core has taken the answer
//!                                ▼
//!                          ┌──────────┐
//!                          │Confirmed │   seen again: silence, for ever
//!                          └──────────┘
//! ```
//!
//! Seen again in any state while this process works on it: silence.
//!
//! # Who keeps it
//!
//! A journal decides and remembers; it writes nothing itself. [`Journal::volatile`] lives as long
//! as the process. A [durable](Journal::durable) one hands out [`Change`]s that a [`JournalStore`]
//! keeps: take them after each input and save them **before doing what the input led to**. All that
//! several inputs led to may be saved at once, so that many calls share the wait for the disk.
//! After a restart [`Journal::restore`] takes what was kept, and [`Journal::unfinished`] names the
//! commands to hand in once more, in their order, before anything new is read.
//!
//! | the process ends | after the restart |
//! |---|---|
//! | before the accept is saved | the command is not known: it is run when the core tells of it |
//! | then, before the start is saved | it is run |
//! | then, before the end is saved | `outcome unknown`, or run again if the handler is idempotent |
//! | then, before the core confirms | the stored answer is sent |
//! | then | silence |
//!
//! A store that finds its data damaged has lost what was done: [`Journal::after_loss`] answers what
//! was sent before with `outcome unknown`.
//!
//! # What is forgotten
//!
//! At most [`JournalConfig::max_open`] commands are open and [`JournalConfig::max_done`] are kept
//! that have been answered, none of them longer than [`JournalConfig::keep`]. The chat core numbers
//! the items of a profile in the order in which it stores them, so a command of a number at or below
//! the highest one that was forgotten has been dealt with: it meets silence too. A database that
//! was replaced starts its numbers anew: its items are told by times after the [`Mark`].

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

pub use crate::chat::CallKey;
use crate::chat::command::{Head, Parsed};
use crate::chat::{Item, ItemId, Me, MemberId, Sender};
use crate::time::Timestamp;

/// How far the clocks of others may differ from ours: an item's own time further in the future
/// than this says nothing about its age.
pub const CLOCK_SKEW: Duration = Duration::from_secs(600);

/// The limits of a [`Journal`].
///
/// ```
/// use agentwire_core::simplex::journal::JournalConfig;
/// use core::time::Duration;
/// assert_eq!(JournalConfig::default().max_age, Duration::from_secs(3_600));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct JournalConfig {
    /// How old a command may be, by its item's own time, to be run; an hour by default.
    pub max_age: Duration,
    /// How long an answered command is kept, and an answer that the core never confirms; a day by
    /// default.
    pub keep: Duration,
    /// How many commands can be open at once, those with an unconfirmed answer among them; 1,024
    /// by default.
    pub max_open: usize,
    /// How many answered commands are kept; 4,096 by default.
    pub max_done: usize,
    /// How often a command is started at most, if its handler is idempotent and never comes to an
    /// end; three times by default.
    pub max_starts: u8,
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self {
            max_age: Duration::from_secs(3_600),
            keep: Duration::from_secs(86_400),
            max_open: 1_024,
            max_done: 4_096,
            max_starts: 3,
        }
    }
}

/// How far a command has come. See the [module](self).
///
/// ```
/// use agentwire_core::simplex::journal::Stage;
/// assert!(Stage::Accepted.is_open() && !Stage::Confirmed.is_open());
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// It is to be run.
    Accepted,
    /// It has been run, so many times, and has not come to an end.
    Started {
        /// How often it was started.
        times: u8,
    },
    /// It has been answered, and the chat core has not said that it took the answer.
    Finished {
        /// The last reply.
        answer: Box<str>,
    },
    /// The chat core has taken the answer.
    Confirmed,
}

impl Stage {
    /// Whether something is left to do.
    pub const fn is_open(&self) -> bool {
        !matches!(self, Self::Confirmed)
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("Accepted"),
            Self::Started { times } => f.debug_struct("Started").field("times", times).finish(),
            Self::Finished { answer } => {
                f.debug_struct("Finished").field("answer_len", &answer.len()).finish()
            }
            Self::Confirmed => f.write_str("Confirmed"),
        }
    }
}

/// What is kept of a command: enough to hand it in again.
///
/// ```
/// use agentwire_core::chat::{ContactId, Item, ItemId};
/// use agentwire_core::simplex::journal::Record;
/// use agentwire_core::time::Timestamp;
/// let item = Item::direct(ContactId(4), ItemId(7), "/_call a2a {}").at("2026-08-15T15:30:48Z");
/// let record = Record::accepted(&item, Timestamp::from_millis(0));
/// assert_eq!((record.item().text, record.item().sent_at), (item.text, item.sent_at));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The command.
    pub key: CallKey,
    /// Who sent it.
    pub caller: Sender,
    /// When it was accepted.
    pub at: Timestamp,
    /// The item's own time as the chat core writes it.
    pub sent_at: Option<Box<str>>,
    /// The seconds after which the chat deletes messages.
    pub ttl: Option<u64>,
    /// The command's text; empty once nothing is left to do, and in a volatile journal.
    pub text: Box<str>,
    /// How far it has come.
    pub stage: Stage,
}

impl Record {
    /// A command that has just been accepted.
    pub fn accepted(item: &Item<'_>, now: Timestamp) -> Self {
        Self {
            key: item.into(),
            caller: item.sender,
            at: now,
            sent_at: item.sent_at.map(Into::into),
            ttl: item.ttl,
            text: item.text.into(),
            stage: Stage::Accepted,
        }
    }

    /// The item, as far as it matters for answering it. It was found to be for this profile
    /// before, so whoever is mentioned in it is the profile.
    pub fn item(&self) -> Item<'_> {
        let mut item = Item::new(self.key.chat, self.caller, self.key.item, &self.text);
        item.sent_at = self.sent_at.as_deref();
        item.ttl = self.ttl;
        if let Ok(Parsed::Head(head)) = Head::parse(&self.text) {
            // Without mentions of the chat core the name decides, and not the member's id.
            let me = |name| MemberId::new("").ok().map(|member| Me::new(member, name));
            item.me = head.member.and_then(me);
        }
        item
    }

    /// Whether it is the record of this item, and not of one that another database numbered alike.
    fn is_of(&self, item: &Item<'_>) -> bool {
        self.caller == item.sender && self.sent_at.as_deref() == item.sent_at
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("key", &self.key)
            .field("at", &self.at)
            .field("text_len", &self.text.len())
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}

/// Up to which item commands have been forgotten.
///
/// ```
/// use agentwire_core::chat::ItemId;
/// use agentwire_core::simplex::journal::Mark;
/// use agentwire_core::time::Timestamp;
/// assert_eq!(Mark::new(ItemId(7), Timestamp::from_millis(0)).item, ItemId(7));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Mark {
    /// The highest item that has been forgotten.
    pub item: ItemId,
    /// The latest time at which a forgotten command was accepted.
    pub at: Timestamp,
}

impl Mark {
    /// A mark at this item.
    pub const fn new(item: ItemId, at: Timestamp) -> Self {
        Self { item, at }
    }
}

/// What a [`JournalStore`] has to keep.
///
/// ```
/// use agentwire_core::simplex::journal::Change;
/// fn is_news(change: &Change) -> bool {
///     matches!(change, Change::Put(_))
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A record that is new, in the place of one of the same key, if there is one.
    Put(Record),
    /// A record's command is started, for this many times now.
    Started {
        /// Whose.
        key: CallKey,
        /// How often it was started.
        times: u8,
    },
    /// A record's command has been answered.
    Finished {
        /// Whose.
        key: CallKey,
        /// The last reply.
        answer: Box<str>,
    },
    /// Nothing is left to do for a record: its text and its answer can go.
    Confirmed(CallKey),
    /// A record is forgotten.
    Dropped(CallKey),
    /// Up to where records have been forgotten.
    Mark(Mark),
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(record) => f.debug_tuple("Put").field(record).finish(),
            Self::Started { key, times } => write!(f, "Started({key:?}, {times})"),
            Self::Finished { key, answer } => {
                write!(f, "Finished({key:?}, {} bytes)", answer.len())
            }
            Self::Confirmed(key) => f.debug_tuple("Confirmed").field(key).finish(),
            Self::Dropped(key) => f.debug_tuple("Dropped").field(key).finish(),
            Self::Mark(mark) => f.debug_tuple("Mark").field(mark).finish(),
        }
    }
}

/// Where a durable journal is kept.
///
/// ```
/// use agentwire_core::simplex::journal::{Change, JournalStore};
///
/// /// Keeps everything, as long as the process lives.
/// #[derive(Default)]
/// struct Tape(Vec<Change>);
///
/// impl JournalStore for Tape {
///     type Error = core::convert::Infallible;
///
///     fn save(&mut self, changes: &[Change]) -> Result<(), Self::Error> {
///         self.0.extend_from_slice(changes);
///         Ok(())
///     }
/// }
/// assert!(Tape::default().save(&[]).is_ok());
/// ```
pub trait JournalStore {
    /// Why something could not be kept.
    type Error: core::error::Error;

    /// Keeps these changes, all or none of them, and returns when they outlive the process and the
    /// machine.
    ///
    /// # Errors
    /// None of the changes is kept then, and nothing that they stand for may be done.
    fn save(&mut self, changes: &[Change]) -> Result<(), Self::Error>;
}

/// What an item is to the journal.
///
/// ```
/// use agentwire_core::simplex::journal::Seen;
/// assert_ne!(Seen::New, Seen::Answer("{}"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Seen<'j> {
    /// Not known, or begun by a process that has ended: hand it to the responder, and a request
    /// that comes of it to [`Journal::accept`]. So is whatever is no command.
    New,
    /// It has been answered, and the chat core never took the answer: send this reply to it.
    Answer(&'j str),
    /// Nothing is to be done, and nothing is said.
    Silence(Silence),
}

impl fmt::Debug for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("New"),
            Self::Answer(answer) => write!(f, "Answer({} bytes)", answer.len()),
            Self::Silence(why) => write!(f, "Silence({why:?})"),
        }
    }
}

/// Why nothing is said to a command that is seen again.
///
/// ```
/// use agentwire_core::simplex::journal::Silence;
/// assert_ne!(Silence::Answered, Silence::InWork);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Silence {
    /// This process works on it, or is sending its answer.
    InWork,
    /// It has been answered.
    Answered,
    /// It came before what has been forgotten.
    Forgotten,
}

/// What is to be done with a request.
///
/// ```
/// use agentwire_core::simplex::journal::Accept;
/// assert_ne!(Accept::Run, Accept::Expired);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
#[non_exhaustive]
pub enum Accept {
    /// Run it, once the changes are saved; [`Journal::start`] comes first.
    Run,
    /// A process that has ended had begun it: answer
    /// [`Failure::OutcomeUnknown`](crate::binding::Failure::OutcomeUnknown).
    OutcomeUnknown,
    /// It is too old: answer [`Failure::Expired`](crate::binding::Failure::Expired).
    Expired,
    /// Too many are open: answer [`Failure::Busy`](crate::binding::Failure::Busy).
    Full {
        /// How many can be.
        capacity: usize,
    },
}

struct Entry {
    record: Record,
    /// Whether this process works on it.
    is_live: bool,
}

/// The call journal. See the [module](self).
///
/// ```
/// use agentwire_core::chat::{ContactId, Item, ItemId};
/// use agentwire_core::simplex::journal::{Accept, CallKey, Journal, JournalConfig, Seen, Silence};
/// use agentwire_core::time::Timestamp;
///
/// let mut journal = Journal::volatile(JournalConfig::default());
/// let now = Timestamp::parse("2026-08-15T15:30:49Z").unwrap();
/// let item = Item::direct(ContactId(4), ItemId(7), "/_call a2a {}").at("2026-08-15T15:30:48Z");
/// let key = CallKey::from(&item);
///
/// assert_eq!(journal.handle_command(&item, now), Seen::New);
/// assert_eq!(journal.accept(&item, now, false), Accept::Run);
/// journal.start(key);
/// journal.finish(key, "{}");
/// // The connection breaks before the core has said that it took the answer.
/// journal.handle_disconnect();
/// assert_eq!(journal.handle_command(&item, now), Seen::Answer("{}"));
/// journal.confirm(key, now);
/// assert_eq!(journal.handle_command(&item, now), Seen::Silence(Silence::Answered));
/// ```
pub struct Journal {
    config: JournalConfig,
    entries: BTreeMap<CallKey, Entry>,
    /// Those of `entries` that are confirmed.
    done: BTreeSet<CallKey>,
    mark: Option<Mark>,
    /// Until when nothing is known of what was done.
    lost: Option<Timestamp>,
    /// `None` if nobody keeps them.
    changes: Option<Vec<Change>>,
}

impl Journal {
    /// A journal that ends with the process.
    pub fn volatile(config: JournalConfig) -> Self {
        Self {
            config,
            entries: BTreeMap::new(),
            done: BTreeSet::new(),
            mark: None,
            lost: None,
            changes: None,
        }
    }

    /// An empty journal whose changes are to be kept.
    pub fn durable(config: JournalConfig) -> Self {
        Self { changes: Some(Vec::new()), ..Self::volatile(config) }
    }

    /// A journal as a process that has ended left it.
    pub fn restore(
        config: JournalConfig,
        records: impl IntoIterator<Item = Record>,
        mark: Option<Mark>,
    ) -> Self {
        let mut journal = Self { mark, ..Self::durable(config) };
        for record in records {
            let key = record.key;
            if !record.stage.is_open() {
                journal.done.insert(key);
            }
            journal.entries.insert(key, Entry { record, is_live: false });
        }
        journal
    }

    /// The same journal, of which what happened until `lost` has been lost: a command that was sent
    /// by then, or at a time that cannot be told, may have been run.
    #[must_use]
    pub fn after_loss(mut self, lost: Option<Timestamp>) -> Self {
        self.lost = lost;
        self
    }

    /// Somebody's message, before the responder sees it. A new text of an old item, and what is no
    /// command, is none of the journal's business.
    pub fn handle_command(&mut self, item: &Item<'_>, now: Timestamp) -> Seen<'_> {
        if item.edited || matches!(Head::parse(item.text), Ok(Parsed::NotACommand)) {
            return Seen::New;
        }
        let key = CallKey::from(item);
        match self.entries.get(&key) {
            None => {
                return if self.has_forgotten(item, now) {
                    Seen::Silence(Silence::Forgotten)
                } else {
                    Seen::New
                };
            }
            Some(entry) if !entry.record.is_of(item) => {
                self.drop_entry(key);
                return Seen::New;
            }
            Some(entry) if entry.record.stage == Stage::Confirmed => {
                return Seen::Silence(Silence::Answered);
            }
            Some(entry) if entry.is_live => return Seen::Silence(Silence::InWork),
            Some(_) => {}
        }
        let Some(entry) = self.entries.get_mut(&key) else { return Seen::New };
        match &entry.record.stage {
            Stage::Finished { answer } => {
                entry.is_live = true;
                Seen::Answer(answer)
            }
            _ => Seen::New,
        }
    }

    /// A request that the responder has made of an item: what is to be done with it. Whatever is
    /// answered then is told by [`finish`](Self::finish) or [`refuse`](Self::refuse), like every
    /// answer. `is_idempotent` says that the handler may run a command again that a process began
    /// which has ended.
    pub fn accept(&mut self, item: &Item<'_>, now: Timestamp, is_idempotent: bool) -> Accept {
        let key = CallKey::from(item);
        let is_expired = self.age(item, now) > self.config.max_age;
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.is_live = true;
            return match entry.record.stage {
                Stage::Accepted if is_expired => Accept::Expired,
                Stage::Accepted => Accept::Run,
                Stage::Started { times }
                    if is_idempotent && !is_expired && times < self.config.max_starts =>
                {
                    Accept::Run
                }
                _ => Accept::OutcomeUnknown,
            };
        }
        if is_expired {
            return Accept::Expired;
        }
        let is_by = |lost| own_time(item, now).is_none_or(|own| own <= lost);
        if self.lost.is_some_and(is_by) {
            return Accept::OutcomeUnknown;
        }
        let capacity = self.config.max_open;
        if self.open() >= capacity {
            return Accept::Full { capacity };
        }
        let record = Record::accepted(item, now);
        self.put(record);
        Accept::Run
    }

    /// The command is about to be run: once this is saved it is never run again, unless its handler
    /// is idempotent. `false` if it is not one that has been accepted.
    pub fn start(&mut self, key: CallKey) -> bool {
        let Some(entry) = self.entries.get_mut(&key) else { return false };
        let times = match entry.record.stage {
            Stage::Accepted => 1,
            Stage::Started { times } => times.saturating_add(1),
            _ => return false,
        };
        entry.record.stage = Stage::Started { times };
        self.change(|| Change::Started { key, times });
        true
    }

    /// The last reply to an accepted command, before it is sent. `false` if the command is not one
    /// that is open.
    pub fn finish(&mut self, key: CallKey, answer: &str) -> bool {
        let Some(entry) = self.entries.get_mut(&key) else { return false };
        if matches!(entry.record.stage, Stage::Finished { .. } | Stage::Confirmed) {
            return false;
        }
        entry.record.stage = Stage::Finished { answer: answer.into() };
        entry.is_live = true;
        self.change(|| Change::Finished { key, answer: answer.into() });
        true
    }

    /// The last reply to a command that was never accepted, before it is sent: an error of the
    /// responder, of [`accept`](Self::accept), or of who may call. `false` if as many commands are
    /// open as can be: it is not remembered then, and answered the same way when it comes again.
    pub fn refuse(&mut self, item: &Item<'_>, now: Timestamp, answer: &str) -> bool {
        let key = CallKey::from(item);
        if self.entries.contains_key(&key) {
            return self.finish(key, answer);
        }
        if self.open() >= self.config.max_open {
            return false;
        }
        let mut record = Record::accepted(item, now);
        record.stage = Stage::Finished { answer: answer.into() };
        self.put(record);
        true
    }

    /// The chat core has taken the last reply. `false` if none is on its way.
    pub fn confirm(&mut self, key: CallKey, now: Timestamp) -> bool {
        let Some(entry) = self.entries.get_mut(&key) else { return false };
        if !matches!(entry.record.stage, Stage::Finished { .. }) {
            return false;
        }
        entry.record.stage = Stage::Confirmed;
        entry.record.text = Box::default();
        self.done.insert(key);
        self.change(|| Change::Confirmed(key));
        self.forget_done(now);
        true
    }

    /// The chat core has not taken a last reply: it is sent when the command is seen again.
    pub fn lose(&mut self, key: CallKey) {
        if let Some(entry) = self.entries.get_mut(&key) {
            if matches!(entry.record.stage, Stage::Finished { .. }) {
                entry.is_live = false;
            }
        }
    }

    /// The connection to the core has ended: whether it took the replies that were on their way is
    /// not known. [`unconfirmed`](Self::unconfirmed) lists them.
    pub fn handle_disconnect(&mut self) {
        let open = self.entries.values_mut();
        for entry in open.filter(|entry| matches!(entry.record.stage, Stage::Finished { .. })) {
            entry.is_live = false;
        }
    }

    /// Forgets what has been kept long enough, answers that nobody has asked for in all that time
    /// among it. [`confirm`](Self::confirm) forgets answered commands by itself; this is for now
    /// and then.
    pub fn forget(&mut self, now: Timestamp) {
        self.forget_done(now);
        let keep = self.config.keep;
        let is_left = |entry: &Entry| !entry.is_live && entry.record.stage.is_open();
        let is_old = |entry: &Entry| now.duration_since(entry.record.at) > keep;
        let left = self.entries.iter().filter(|(_, entry)| is_left(entry) && is_old(entry));
        for key in left.map(|(&key, _)| key).collect::<Vec<_>>() {
            self.forget_entry(key);
        }
    }

    fn forget_done(&mut self, now: Timestamp) {
        while let Some(&key) = self.done.first() {
            let at = self.get(key).map(|record| record.at);
            let is_old = at.is_none_or(|at| now.duration_since(at) > self.config.keep);
            if !is_old && self.done.len() <= self.config.max_done {
                break;
            }
            self.forget_entry(key);
        }
    }

    /// The changes since the last time: what has to be kept before anything is done that the
    /// inputs led to. Empty for a volatile journal.
    pub fn take_changes(&mut self) -> Vec<Change> {
        self.changes.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// The commands on which a process worked that has ended, in the order in which the chat core
    /// stored them: each is to be handed in as if the core told of it now.
    pub fn unfinished(&self) -> impl Iterator<Item = &Record> {
        let open = self.entries.values().filter(|entry| !entry.is_live);
        open.map(|entry| &entry.record).filter(|record| record.stage.is_open())
    }

    /// The answers that were being sent when the connection to the core ended. Who can look whether
    /// the chat has a reply to the command says so by [`confirm`](Self::confirm); the others are
    /// sent again.
    pub fn unconfirmed(&self) -> impl Iterator<Item = &Record> {
        self.unfinished().filter(|record| matches!(record.stage, Stage::Finished { .. }))
    }

    /// Whether there are changes that have not been taken.
    pub fn has_changes(&self) -> bool {
        self.changes.as_ref().is_some_and(|changes| !changes.is_empty())
    }

    /// The commands that are known, in the order in which the chat core stored them.
    pub fn keys(&self) -> impl Iterator<Item = CallKey> {
        self.entries.keys().copied()
    }

    /// What is kept of a command.
    pub fn get(&self, key: CallKey) -> Option<&Record> {
        self.entries.get(&key).map(|entry| &entry.record)
    }

    /// How many commands are open.
    pub fn open(&self) -> usize {
        self.entries.len().saturating_sub(self.done.len())
    }

    /// How many commands are known that have been answered.
    pub fn done(&self) -> usize {
        self.done.len()
    }

    /// Up to where commands have been forgotten.
    pub fn mark(&self) -> Option<Mark> {
        self.mark
    }

    /// The limits.
    pub fn config(&self) -> &JournalConfig {
        &self.config
    }

    /// How old an item is: by its own time, or by when it was accepted where it has none that
    /// could be true.
    fn age(&self, item: &Item<'_>, now: Timestamp) -> Duration {
        let accepted = || self.get(item.into()).map(|record| record.at);
        now.duration_since(own_time(item, now).or_else(accepted).unwrap_or(now))
    }

    fn has_forgotten(&self, item: &Item<'_>, now: Timestamp) -> bool {
        let Some(mark) = self.mark.filter(|mark| item.id <= mark.item) else { return false };
        let after_mark = mark.at.saturating_add(CLOCK_SKEW);
        own_time(item, now).is_none_or(|own| own <= after_mark)
    }

    fn put(&mut self, mut record: Record) {
        let key = record.key;
        if self.changes.is_some() {
            self.change(|| Change::Put(record.clone()));
        } else {
            // Nobody can hand it in again.
            record.text = Box::default();
        }
        self.done.remove(&key);
        self.entries.insert(key, Entry { record, is_live: true });
    }

    fn forget_entry(&mut self, key: CallKey) {
        let Some(record) = self.get(key) else { return };
        let mark = match self.mark {
            Some(mark) => Mark::new(mark.item.max(key.item), mark.at.max(record.at)),
            None => Mark::new(key.item, record.at),
        };
        self.drop_entry(key);
        if self.mark != Some(mark) {
            self.mark = Some(mark);
            self.change(|| Change::Mark(mark));
        }
    }

    fn drop_entry(&mut self, key: CallKey) {
        self.entries.remove(&key);
        self.done.remove(&key);
        self.change(|| Change::Dropped(key));
    }

    fn change(&mut self, change: impl FnOnce() -> Change) {
        if let Some(changes) = &mut self.changes {
            changes.push(change());
        }
    }
}

/// An item's own time, if it has one that could be true.
fn own_time(item: &Item<'_>, now: Timestamp) -> Option<Timestamp> {
    let latest = now.saturating_add(CLOCK_SKEW);
    item.sent_at.and_then(Timestamp::parse).filter(|&own| own <= latest)
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("open", &self.open())
            .field("done", &self.done())
            .field("mark", &self.mark)
            .field("unsaved", &self.changes.as_ref().map_or(0, Vec::len))
            .finish_non_exhaustive()
    }
}

#[cfg(any(test, feature = "arbitrary"))]
pub(crate) mod disk;
#[cfg(test)]
mod tests;
