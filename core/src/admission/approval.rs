//! The owner's approval: a call that waits for the word of a person.

use core::fmt;
use core::time::Duration;

use super::Person;
use crate::chat::{CallKey, Chat, ContactId, GroupId, Storage};
use crate::table::{Full, Hasher, Keyed, List, Table};
use crate::time::Instant;

/// The limits of [`Approvals`].
///
/// ```
/// use agentwire_core::admission::ApprovalsConfig;
/// use core::time::Duration;
/// assert_eq!(ApprovalsConfig::default().wait, Duration::from_secs(110));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ApprovalsConfig {
    /// How long a call waits for a decision. 110 seconds by default: less than a responder lets a
    /// command go without a reply.
    pub wait: Duration,
}

impl Default for ApprovalsConfig {
    fn default() -> Self {
        Self { wait: Duration::from_secs(110) }
    }
}

/// What an owner says.
///
/// ```
/// use agentwire_core::admission::Decision;
/// assert_ne!(Decision::Approve, Decision::Decline);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // Yes or no.
pub enum Decision {
    /// The call is run.
    Approve,
    /// The call is answered with
    /// [`Failure::NotApproved`](crate::binding::Failure::NotApproved).
    Decline,
}

impl Decision {
    /// What a word means with which an owner answers: `ok`, `yes` or `approve`, and `no` or
    /// `decline`, in any case, with a slash before it or not.
    ///
    /// ```
    /// use agentwire_core::admission::Decision;
    /// assert_eq!(Decision::from_word("/Approve"), Some(Decision::Approve));
    /// assert_eq!(Decision::from_word("no"), Some(Decision::Decline));
    /// assert_eq!(Decision::from_word("nope"), None);
    /// ```
    pub fn from_word(word: &str) -> Option<Self> {
        let word = word.strip_prefix('/').unwrap_or(word);
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        if ["ok", "yes", "approve"].into_iter().any(is) {
            return Some(Self::Approve);
        }
        ["no", "decline"].into_iter().any(is).then_some(Self::Decline)
    }
}

/// Ask an owner.
///
/// ```
/// use agentwire_core::admission::Question;
/// fn show(question: &Question) -> String {
///     format!("{:?}: may {:?} call?", question.owner, question.caller)
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Question {
    /// The call.
    pub call: CallKey,
    /// Who calls.
    pub caller: Person,
    /// Who is asked: nobody else can answer.
    pub owner: Person,
}

/// A call that has been decided. Nobody decides it again.
///
/// ```
/// use agentwire_core::admission::{Decided, Decision};
/// fn is_to_run(decided: &Decided) -> bool {
///     decided.decision == Decision::Approve
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
#[non_exhaustive]
pub struct Decided {
    /// The call.
    pub call: CallKey,
    /// Who calls.
    pub caller: Person,
    /// What the owner says.
    pub decision: Decision,
}

/// Why nobody can be asked.
///
/// ```
/// use agentwire_core::admission::AskError;
/// assert_eq!(AskError::NoOwner.to_string(), "the bot has no owner who could approve");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum AskError {
    /// There is no owner.
    NoOwner,
    /// The call waits already.
    Waiting,
    /// As many calls wait as can.
    Full {
        /// How many.
        capacity: usize,
    },
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOwner => f.write_str("the bot has no owner who could approve"),
            Self::Waiting => f.write_str("the call waits already"),
            Self::Full { capacity } => write!(f, "{capacity} calls wait, no more can"),
        }
    }
}

impl core::error::Error for AskError {}

/// Why a decision is not taken. The call goes on waiting, if it does.
///
/// ```
/// use agentwire_core::admission::DecideError;
/// assert_eq!(DecideError::NotAsked.to_string(), "somebody else was asked");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum DecideError {
    /// No such call waits: it has been decided, it has waited too long, or there was none.
    NotWaiting,
    /// Somebody else was asked.
    NotAsked,
    /// The person is an owner no longer.
    NotAnOwner,
}

impl fmt::Display for DecideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotWaiting => "no such call waits for a decision",
            Self::NotAsked => "somebody else was asked",
            Self::NotAnOwner => "the person is no owner",
        })
    }
}

impl core::error::Error for DecideError {}

/// There are as many owners as can be.
///
/// ```
/// use agentwire_core::admission::OwnersFull;
/// assert_eq!(OwnersFull { capacity: 2 }.to_string(), "there are 2 owners, no more can be");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_structs)]
pub struct OwnersFull {
    /// How many there can be.
    pub capacity: usize,
}

impl fmt::Display for OwnersFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there are {} owners, no more can be", self.capacity)
    }
}

impl core::error::Error for OwnersFull {}

/// A call that waits.
struct Waiting {
    call: CallKey,
    caller: Person,
    asked: Option<Person>,
}

fn hash(call: CallKey) -> u32 {
    let (kind, id) = match call.chat {
        Chat::Direct(ContactId(id)) => (0, id),
        Chat::Group(GroupId(id)) => (1, id),
    };
    Hasher::new().int(kind).int(id).int(call.item.0).finish()
}

impl Keyed for Waiting {
    fn hashes(&self) -> [Option<u32>; 2] {
        [Some(hash(self.call)), None]
    }
}

/// The calls that wait for an owner's word.
///
/// ```text
///   ask() ──▶ waiting ──▶ poll_question() ──▶ asked ──▶ decide() ──▶ Decided, once
///               ▲                               │
///               └── remove_owner(): somebody ◀──┤
///                   else is asked               └─ the wait is over: handle_timeout() names it
/// ```
///
/// A question is put to one owner, and that person's decision is the only one taken, once, as long
/// as the person is an owner: whoever was removed between the question and the answer decides
/// nothing. After a restart the calls that were accepted and not begun are asked anew, under the
/// same [`CallKey`]; do that before reading items, and a late answer finds its call.
///
/// ```
/// use agentwire_core::admission::{Approvals, ApprovalsConfig, DecideError, Decision, Person};
/// use agentwire_core::chat::{CallKey, Chat, ContactId, Inline, ItemId};
/// use agentwire_core::time::Instant;
///
/// let mut approvals = Approvals::<Inline<8>>::with_limit(ApprovalsConfig::default(), 8);
/// let (owner, caller) = (Person::Contact(ContactId(1)), Person::Contact(ContactId(4)));
/// approvals.add_owner(owner).unwrap();
///
/// let now = Instant::from_millis(0);
/// let call = CallKey::new(Chat::Direct(ContactId(4)), ItemId(17));
/// approvals.ask(now, call, caller).unwrap();
/// let question = approvals.poll_question().unwrap();
/// assert_eq!((question.owner, question.caller), (owner, caller));
///
/// let wrong = approvals.decide(now, call, caller, Decision::Approve);
/// assert_eq!(wrong, Err(DecideError::NotAnOwner));
/// let decided = approvals.decide(now, call, owner, Decision::Approve).unwrap();
/// assert_eq!(decided.decision, Decision::Approve);
/// let again = approvals.decide(now, call, owner, Decision::Decline);
/// assert_eq!(again, Err(DecideError::NotWaiting));
/// ```
pub struct Approvals<S: Storage> {
    config: ApprovalsConfig,
    waiting: Table<Waiting, S>,
    owners: S::List<Person>,
    /// How many of `waiting` nobody has been asked about.
    unasked: usize,
    now: Instant,
}

impl<S: Storage> Approvals<S> {
    /// A machine in which at most `limit` calls wait, with as many owners, or fewer where the
    /// storage has less room.
    pub fn with_limit(config: ApprovalsConfig, limit: usize) -> Self {
        Self {
            config,
            waiting: Table::new(limit),
            owners: S::List::empty(),
            unasked: 0,
            now: Instant::ZERO,
        }
    }

    /// Makes somebody an owner. The first one is asked first.
    ///
    /// # Errors
    /// [`OwnersFull`]
    pub fn add_owner(&mut self, owner: Person) -> Result<(), OwnersFull> {
        if self.is_owner(&owner) {
            return Ok(());
        }
        let full = OwnersFull { capacity: self.waiting.limit() };
        if self.owners.as_ref().len() >= full.capacity {
            return Err(full);
        }
        self.owners.push(owner).map_err(|_| full)
    }

    /// Somebody is an owner no longer: what the person was asked, another owner is asked.
    pub fn remove_owner(&mut self, owner: &Person) -> bool {
        let owners = self.owners.as_mut();
        let Some(place) = owners.iter().position(|known| known == owner) else { return false };
        // The others keep their order.
        if let Some(rest) = owners.get_mut(place..) {
            rest.rotate_left(1);
        }
        self.owners.pop();
        while let Some(ticket) = self.waiting.position(|waiting| waiting.asked == Some(*owner)) {
            if let Some(waiting) = self.waiting.get_mut(ticket) {
                waiting.asked = None;
                self.unasked = self.unasked.saturating_add(1);
            }
        }
        true
    }

    /// Whether somebody is an owner.
    pub fn is_owner(&self, person: &Person) -> bool {
        self.owners.as_ref().contains(person)
    }

    /// A call needs an owner's word.
    ///
    /// # Errors
    /// [`AskError`]
    pub fn ask(&mut self, now: Instant, call: CallKey, caller: Person) -> Result<(), AskError> {
        self.now = self.now.max(now);
        if self.owners.as_ref().is_empty() {
            return Err(AskError::NoOwner);
        }
        if self.is_waiting(call) {
            return Err(AskError::Waiting);
        }
        let deadline = self.now.saturating_add(self.config.wait);
        let waiting = Waiting { call, caller, asked: None };
        let full = |Full { capacity }| AskError::Full { capacity };
        self.waiting.insert(deadline, waiting).map_err(full)?;
        self.unasked = self.unasked.saturating_add(1);
        Ok(())
    }

    /// Whom to ask next, if there is something to ask: repeat until `None`.
    pub fn poll_question(&mut self) -> Option<Question> {
        if self.unasked == 0 {
            return None;
        }
        let owner = *self.owners.as_ref().first()?;
        let ticket = self.waiting.position(|waiting| waiting.asked.is_none())?;
        let waiting = self.waiting.get_mut(ticket)?;
        waiting.asked = Some(owner);
        let (call, caller) = (waiting.call, waiting.caller);
        self.unasked = self.unasked.saturating_sub(1);
        Some(Question { call, caller, owner })
    }

    /// Somebody decides a call.
    ///
    /// # Errors
    /// [`DecideError`]; nothing has changed then.
    pub fn decide(
        &mut self,
        now: Instant,
        call: CallKey,
        by: Person,
        decision: Decision,
    ) -> Result<Decided, DecideError> {
        self.now = self.now.max(now);
        let found = self.waiting.find(0, hash(call), |waiting| waiting.call == call);
        let Some((ticket, true)) = found else { return Err(DecideError::NotWaiting) };
        if self.waiting.deadline(ticket).is_none_or(|deadline| deadline <= self.now) {
            return Err(DecideError::NotWaiting);
        }
        if !self.is_owner(&by) {
            return Err(DecideError::NotAnOwner);
        }
        let Some(waiting) = self.waiting.get(ticket) else { return Err(DecideError::NotWaiting) };
        if waiting.asked != Some(by) {
            return Err(DecideError::NotAsked);
        }
        let caller = waiting.caller;
        self.waiting.end(ticket);
        Ok(Decided { call, caller, decision })
    }

    /// A call waits no longer: its caller, or its limit, has ended it. `false` if it did not wait.
    pub fn cancel(&mut self, call: CallKey) -> bool {
        let found = self.waiting.find(0, hash(call), |waiting| waiting.call == call);
        let Some((ticket, true)) = found else { return false };
        if self.waiting.get(ticket).is_some_and(|waiting| waiting.asked.is_none()) {
            self.unasked = self.unasked.saturating_sub(1);
        }
        self.waiting.end(ticket)
    }

    /// Moves time on. Returns a call that has waited too long, to be answered with
    /// [`Failure::NotApproved`](crate::binding::Failure::NotApproved): repeat until `None`.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<CallKey> {
        self.now = self.now.max(now);
        let (deadline, ticket) = self.waiting.earliest()?;
        if deadline > self.now {
            return None;
        }
        let call = self.waiting.get(ticket)?.call;
        self.cancel(call);
        Some(call)
    }

    /// When the first call has waited too long.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.earliest().map(|(deadline, _)| deadline)
    }

    /// Whether a call waits.
    pub fn is_waiting(&self, call: CallKey) -> bool {
        let found = self.waiting.find(0, hash(call), |waiting| waiting.call == call);
        found.is_some_and(|(_, is_open)| is_open)
    }

    /// How many calls wait.
    pub fn waiting(&self) -> usize {
        self.waiting.open()
    }
}

impl<S: Storage> fmt::Debug for Approvals<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approvals")
            .field("waiting", &self.waiting())
            .field("unasked", &self.unasked)
            .field("owners", &self.owners.as_ref().len())
            .finish_non_exhaustive()
    }
}
