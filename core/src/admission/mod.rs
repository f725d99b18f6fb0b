//! Who may call, how often, and with whose approval ("Callers and authorization").
//!
//! A bot answers everybody who can write to it, unless it says otherwise. [`Admission`] stands
//! between a request that the responder has made of a command and the handler; what it refuses is
//! answered with the binding's error and is never run:
//!
//! ```text
//!   admit() ──▶ allowed? ──▶ calls at once ──▶ rate ──▶ quota ──▶ Admitted ──▶ end()
//!                  │               │            │         │
//!                  ▼               ▼            ▼         ▼
//!             not_allowed     rate_limited  rate_limited  quota_exceeded, all but the first
//!                                                         with retryAfter
//! ```
//!
//! Limits are each caller's own, so that a caller who floods takes nothing from the others. What
//! needs the word of a bot's owner goes through [`Approvals`] before it is run, with `alloc` through
//! `Asking`, which knows what the calls are about and which of them need it.
//!
//! Who a caller is, is what the chat core knows: a contact by its id, a member of a group by the
//! group and its `memberId`, a requester over Service RPC by the key that signed. A display name
//! is never asked. The same human being in two conversations is two callers.

mod approval;
#[cfg(feature = "alloc")]
mod asking;

use core::fmt;

pub use approval::{
    Approvals, ApprovalsConfig, AskError, DecideError, Decided, Decision, OwnersFull, Question,
};

#[cfg(feature = "alloc")]
pub use asking::{Approved, Asking, Subject, When, WhenError};

use crate::binding::Failure;
use crate::chat::{Chat, ContactId, GroupId, MemberId, Sender, Storage};
use crate::rate::{RateLimit, Window, seconds_until};
use crate::rpc::SignerKey;
use crate::table::{Full, Hasher, Keyed, List, Table, Ticket};
use crate::time::Instant;

/// A caller, or an owner.
///
/// ```
/// use agentwire_core::admission::Person;
/// use agentwire_core::chat::{Chat, ContactId, Sender};
/// let person = Person::of(Chat::Direct(ContactId(4)), Sender::Contact);
/// assert_eq!(person, Person::Contact(ContactId(4)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Person {
    /// The contact of a direct chat.
    Contact(ContactId),
    /// A member of a group.
    Member(GroupId, MemberId),
    /// Whoever speaks as the group or channel itself.
    Channel(GroupId),
    /// Whoever signed a request over Service RPC.
    Signer(SignerKey),
    /// Whoever did not: all of them are one.
    Unsigned,
}

impl Person {
    /// Who sent an item.
    pub const fn of(chat: Chat, sender: Sender) -> Self {
        match (chat, sender) {
            (Chat::Direct(contact), _) => Self::Contact(contact),
            (Chat::Group(group), Sender::Member(member)) => Self::Member(group, member),
            (Chat::Group(group), _) => Self::Channel(group),
        }
    }

    /// Who sent a request over Service RPC.
    pub const fn signer(key: Option<SignerKey>) -> Self {
        match key {
            Some(key) => Self::Signer(key),
            None => Self::Unsigned,
        }
    }

    /// The group in which the person was met.
    pub const fn group(&self) -> Option<GroupId> {
        match self {
            Self::Member(group, _) | Self::Channel(group) => Some(*group),
            _ => None,
        }
    }

    fn hash(&self) -> u32 {
        let hasher = Hasher::new();
        match self {
            Self::Contact(ContactId(id)) => hasher.int(0).int(*id),
            Self::Member(GroupId(id), member) => hasher.int(1).int(*id).text(member.get()),
            Self::Channel(GroupId(id)) => hasher.int(2).int(*id),
            Self::Signer(key) => {
                let words = key.as_bytes().chunks(8);
                words.fold(hasher.int(3), |hasher, word| {
                    hasher.int(word.try_into().map(i64::from_le_bytes).unwrap_or_default())
                })
            }
            Self::Unsigned => hasher.int(4),
        }
        .finish()
    }
}

impl fmt::Display for Person {
    /// As a conversation is written, and by what the chat core knows: no display name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contact(contact) => Chat::Direct(*contact).fmt(f),
            Self::Member(group, member) => write!(f, "{} {}", Chat::Group(*group), member.get()),
            Self::Channel(group) => Chat::Group(*group).fmt(f),
            Self::Signer(key) => key.fmt(f),
            Self::Unsigned => f.write_str("somebody who did not sign"),
        }
    }
}

/// Whom an entry of the allow-list lets in.
///
/// ```
/// use agentwire_core::admission::{Allowed, Person};
/// use agentwire_core::chat::{ContactId, GroupId};
/// assert!(Allowed::Person(Person::Contact(ContactId(4))).includes(&Person::Contact(ContactId(4))));
/// assert!(Allowed::Group(GroupId(1)).includes(&Person::Channel(GroupId(1))));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Allowed {
    /// One person.
    Person(Person),
    /// Every member of a group, as a member of it.
    Group(GroupId),
}

impl Allowed {
    /// Whether the entry lets this person in.
    pub fn includes(&self, person: &Person) -> bool {
        match self {
            Self::Person(allowed) => allowed == person,
            Self::Group(group) => person.group() == Some(*group),
        }
    }
}

/// The limits of an [`Admission`]. By default there are none.
///
/// ```
/// use agentwire_core::admission::AdmissionConfig;
/// assert!(!AdmissionConfig::default().only_listed);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AdmissionConfig {
    /// Whether only those may call who stand in the allow-list; everybody by default.
    pub only_listed: bool,
    /// How many calls of one caller are run at once; as many as come by default.
    pub max_open: Option<u32>,
    /// How many calls of one caller are taken in a short span; as many as come by default.
    pub rate: Option<RateLimit>,
    /// How many calls of one caller are taken in a long span, a day for example; as many as come
    /// by default.
    pub quota: Option<RateLimit>,
    /// Seconds after which a call can be repeated that found too many open; one by default.
    pub retry_when_open: u32,
}

impl Default for AdmissionConfig {
    fn default() -> Self {
        Self { only_listed: false, max_open: None, rate: None, quota: None, retry_when_open: 1 }
    }
}

/// Why a call is not taken.
///
/// ```
/// use agentwire_core::admission::Refused;
/// use agentwire_core::binding::Failure;
/// assert_eq!(Refused::NotAllowed.failure(), Failure::NotAllowed);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Refused {
    /// The caller is not in the allow-list.
    NotAllowed,
    /// As many calls of the caller are open as can be.
    TooManyOpen {
        /// How many.
        limit: u32,
        /// Seconds after which to try again.
        retry_after: u32,
    },
    /// The caller calls too often.
    TooOften {
        /// Seconds until the next span.
        retry_after: u32,
    },
    /// The caller's quota is used up.
    OverQuota {
        /// Seconds until the next span.
        retry_after: u32,
    },
    /// The limits of as many callers are followed as can be, and this one is none of them.
    TooManyCallers {
        /// How many.
        capacity: usize,
        /// Seconds until one of them is forgotten.
        retry_after: u32,
    },
}

impl Refused {
    /// What the caller is told.
    pub const fn failure(&self) -> Failure<'static> {
        match *self {
            Self::NotAllowed => Failure::NotAllowed,
            Self::TooManyOpen { retry_after, .. }
            | Self::TooOften { retry_after }
            | Self::TooManyCallers { retry_after, .. } => Failure::RateLimited { retry_after },
            Self::OverQuota { retry_after } => Failure::QuotaExceeded { retry_after },
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAllowed => f.write_str("the caller is not in the allow-list"),
            Self::TooManyOpen { limit, .. } => write!(f, "{limit} calls of the caller are open"),
            Self::TooOften { retry_after } => {
                write!(f, "the caller calls too often; again in {retry_after} s")
            }
            Self::OverQuota { retry_after } => {
                write!(f, "the caller's quota is used up; again in {retry_after} s")
            }
            Self::TooManyCallers { capacity, .. } => {
                write!(f, "the limits of {capacity} callers are followed, no more can be")
            }
        }
    }
}

impl core::error::Error for Refused {}

/// The allow-list is full.
///
/// ```
/// use agentwire_core::admission::AllowListFull;
/// let error = AllowListFull { capacity: 2 };
/// assert_eq!(error.to_string(), "the allow-list holds 2 entries, no more can be");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_structs)]
pub struct AllowListFull {
    /// How many entries there can be.
    pub capacity: usize,
}

impl fmt::Display for AllowListFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the allow-list holds {} entries, no more can be", self.capacity)
    }
}

impl core::error::Error for AllowListFull {}

/// A call that is being run. It is moved into [`Admission::end`], so that none ends twice.
///
/// ```compile_fail
/// # use agentwire_core::{admission::{Admission, Admitted}, chat::Inline, time::Instant};
/// fn twice(admission: &mut Admission<Inline<1>>, admitted: Admitted) {
///     admission.end(Instant::ZERO, admitted);
///     admission.end(Instant::ZERO, admitted);
/// }
/// ```
#[derive(PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a call that never ends counts against its caller for ever"]
pub struct Admitted(Option<Ticket>);

/// A caller whose limits are followed.
struct Caller {
    person: Person,
    open: u32,
    rate: Window,
    quota: Window,
}

impl Keyed for Caller {
    fn hashes(&self) -> [Option<u32>; 2] {
        [Some(self.person.hash()), None]
    }
}

impl Caller {
    /// When nothing has to be known of the caller any more.
    fn until(&self) -> Instant {
        if self.open > 0 { Instant::MAX } else { self.rate.until().max(self.quota.until()) }
    }
}

/// Decides which calls are taken. See the [module](self).
///
/// `S` is where it keeps the callers and the allow-list: [`Inline<N>`](crate::chat::Inline) or,
/// with `alloc`, `Growable`.
///
/// ```
/// use agentwire_core::admission::{Admission, AdmissionConfig, Allowed, Person, Refused};
/// use agentwire_core::chat::{ContactId, Inline};
/// use agentwire_core::rpc::RateLimit;
/// use agentwire_core::time::Instant;
/// use core::time::Duration;
///
/// let mut config = AdmissionConfig::default();
/// config.only_listed = true;
/// config.rate = Some(RateLimit::new(1, Duration::from_secs(60)));
/// let mut admission = Admission::<Inline<16>>::with_limit(config, 16);
/// let (ann, bob) = (Person::Contact(ContactId(4)), Person::Contact(ContactId(5)));
/// admission.allow(Allowed::Person(ann)).unwrap();
///
/// let now = Instant::from_millis(0);
/// let admitted = admission.admit(now, ann).unwrap();
/// assert_eq!(admission.admit(now, bob), Err(Refused::NotAllowed));
/// assert_eq!(admission.admit(now, ann), Err(Refused::TooOften { retry_after: 60 }));
/// admission.end(now, admitted);
/// ```
pub struct Admission<S: Storage> {
    config: AdmissionConfig,
    callers: Table<Caller, S>,
    allowed: S::List<Allowed>,
    limit: usize,
    now: Instant,
}

impl<S: Storage> Admission<S> {
    /// A machine that follows the limits of at most `limit` callers, and whose allow-list has as
    /// many entries, or fewer where the storage has less room.
    pub fn with_limit(config: AdmissionConfig, limit: usize) -> Self {
        let callers = Table::new(limit);
        let limit = callers.limit();
        Self { config, callers, allowed: S::List::empty(), limit, now: Instant::ZERO }
    }

    /// Lets somebody in. It matters where only those [listed](AdmissionConfig::only_listed) may
    /// call.
    ///
    /// # Errors
    /// [`AllowListFull`]
    pub fn allow(&mut self, allowed: Allowed) -> Result<(), AllowListFull> {
        if self.allowed.as_ref().contains(&allowed) {
            return Ok(());
        }
        let full = AllowListFull { capacity: self.limit };
        if self.allowed.as_ref().len() >= self.limit {
            return Err(full);
        }
        self.allowed.push(allowed).map_err(|_| full)
    }

    /// Takes an entry from the allow-list. What is being run ends as it would have. `false` if
    /// there was none.
    pub fn disallow(&mut self, allowed: &Allowed) -> bool {
        let entries = self.allowed.as_mut();
        let Some(place) = entries.iter().position(|entry| entry == allowed) else { return false };
        let last = entries.len().saturating_sub(1);
        entries.swap(place, last);
        self.allowed.pop().is_some()
    }

    /// Whether somebody may call, their limits aside.
    pub fn is_allowed(&self, person: &Person) -> bool {
        let mut allowed = self.allowed.as_ref().iter();
        !self.config.only_listed || allowed.any(|entry| entry.includes(person))
    }

    /// A call: whether it is taken. One that is not counts for no limit but the rate.
    ///
    /// # Errors
    /// [`Refused`], with what to [tell](Refused::failure) the caller.
    pub fn admit(&mut self, now: Instant, person: Person) -> Result<Admitted, Refused> {
        self.now = self.now.max(now);
        let now = self.now;
        if !self.is_allowed(&person) {
            return Err(Refused::NotAllowed);
        }
        let AdmissionConfig { max_open, rate, quota, retry_when_open, .. } = self.config;
        if max_open.is_none() && rate.is_none() && quota.is_none() {
            return Ok(Admitted(None));
        }
        let ticket = self.caller(person)?;
        let Some(caller) = self.callers.get_mut(ticket) else { return Ok(Admitted(None)) };
        let admitted = (|| {
            if let Some(limit) = max_open.filter(|&limit| caller.open >= limit) {
                return Err(Refused::TooManyOpen { limit, retry_after: retry_when_open });
            }
            if let Some(limit) = rate {
                let too_often = |retry_after| Refused::TooOften { retry_after };
                caller.rate.take(now, limit).map_err(too_often)?;
            }
            if let Some(limit) = quota {
                let over_quota = |retry_after| Refused::OverQuota { retry_after };
                caller.quota.take(now, limit).map_err(over_quota)?;
            }
            caller.open = caller.open.saturating_add(1);
            Ok(Admitted(Some(ticket)))
        })();
        let until = caller.until();
        self.callers.set_deadline(ticket, until);
        admitted
    }

    /// A call has been answered.
    pub fn end(&mut self, now: Instant, admitted: Admitted) {
        self.now = self.now.max(now);
        let Some(ticket) = admitted.0 else { return };
        let Some(caller) = self.callers.get_mut(ticket) else { return };
        caller.open = caller.open.saturating_sub(1);
        let until = caller.until();
        self.callers.set_deadline(ticket, until);
    }

    /// How many callers' limits are followed.
    pub fn callers(&self) -> usize {
        self.callers.open()
    }

    /// How many calls of somebody are being run.
    pub fn open(&self, person: &Person) -> u32 {
        let known = self.callers.find(0, person.hash(), |caller| caller.person == *person);
        let caller = known.and_then(|(ticket, _)| self.callers.get(ticket));
        caller.map_or(0, |caller| caller.open)
    }

    /// The limits.
    pub fn config(&self) -> &AdmissionConfig {
        &self.config
    }

    /// The entry of a caller, a new one if need be.
    fn caller(&mut self, person: Person) -> Result<Ticket, Refused> {
        // Callers of whom nothing has to be known are forgotten.
        while let Some((until, ticket)) = self.callers.earliest() {
            if until > self.now {
                break;
            }
            self.callers.end(ticket);
        }
        let known = self.callers.find(0, person.hash(), |caller| caller.person == person);
        if let Some((ticket, true)) = known {
            return Ok(ticket);
        }
        let caller = Caller { person, open: 0, rate: Window::new(), quota: Window::new() };
        self.callers.insert(Instant::MAX, caller).map_err(|Full { capacity }| {
            let until = self.callers.earliest().map(|(until, _)| until);
            let until = until.filter(|&until| until < Instant::MAX);
            let soon = self.config.retry_when_open;
            let retry_after = until.map_or(soon, |until| seconds_until(until, self.now));
            Refused::TooManyCallers { capacity, retry_after }
        })
    }
}

impl<S: Storage> fmt::Debug for Admission<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("config", &self.config)
            .field("callers", &self.callers())
            .field("allowed", &self.allowed.as_ref().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
