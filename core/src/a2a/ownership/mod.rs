//! Whose a context and a task are ("Callers and authorization").
//!
//! An agent behind a proxy sees one caller: the proxy. Who of the proxy's callers may name which
//! context and which task, the proxy has to know itself:
//!
//! - A context and its tasks belong to the one whose request they came of: to the contact in a
//!   direct chat, to the member in a group, and there alone ([`Owner`]). The same person in another
//!   conversation is another owner.
//! - A request that names a context or a task of somebody else, or one that nobody has made, is
//!   answered alike: -32001, as for an unknown task.
//! - Over Service RPC there is no conversation, so nobody owns anything there.
//! - What an answer names for the first time becomes its caller's ([`Ownership::learn`]). An answer
//!   that names what belongs to somebody else does not reach the caller.
//! - A list of tasks is cut down to the caller's own ([`Ownership::own_tasks`]).
//!
//! ```text
//!  request ─► admit ─► agent ─► answer ─► learn ─► caller
//!               │                           │
//!               ▼ -32001                    ▼ -32006
//! ```
//!
//! Ids that nobody has used for [`Limits::max_age`] are forgotten, and the oldest ones when there
//! are more than [`Limits::per_owner`] of one owner or [`Limits::total`] in all: they are unknown
//! then. The [`Store`] decides whether that survives a restart; time is counted in milliseconds
//! from an epoch of the driver's choosing, which for a store that survives is a fixed one.

mod memory;
mod names;
mod owner;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

pub use memory::Memory;
pub use owner::{Owner, OwnerError};

use super::stream::{StreamEvent, field};
use super::{Method, word::is_field};
use crate::json::{Object, Str, Value, to_text};
use crate::time::Instant;

/// The longest id that is kept, in bytes.
pub const MAX_ID_LEN: usize = 256;

/// What an id names.
///
/// ```
/// use agentwire_core::a2a::ownership::Kind;
/// assert_ne!(Kind::Context, Kind::Task);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // A2A has these two.
pub enum Kind {
    /// A context.
    Context,
    /// A task.
    Task,
}

/// What is kept of an id.
///
/// ```
/// use agentwire_core::a2a::ownership::{Entry, Owner};
/// use agentwire_core::chat::ContactId;
/// use agentwire_core::time::Instant;
/// let entry = Entry::new(Owner::contact(ContactId(4)), Instant::from_millis(7));
/// assert!(!entry.is_local && entry.context.is_none());
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Whose it is.
    pub owner: Owner,
    /// When it was last used.
    pub used: Instant,
    /// The context of a task, where it is known.
    pub context: Option<String>,
    /// Whether the proxy has made it and the agent has never seen it.
    pub is_local: bool,
}

impl Entry {
    /// An entry of an id that the agent has made.
    pub const fn new(owner: Owner, used: Instant) -> Self {
        Self { owner, used, context: None, is_local: false }
    }

    /// The same, in this context.
    #[must_use]
    pub fn context(mut self, context: Option<String>) -> Self {
        self.context = context;
        self
    }

    /// The same, made by the proxy or not.
    #[must_use]
    pub const fn local(mut self, is_local: bool) -> Self {
        self.is_local = is_local;
        self
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("owner", &self.owner)
            .field("used", &self.used)
            .field("context_len", &self.context.as_ref().map(String::len))
            .field("is_local", &self.is_local)
            .finish()
    }
}

/// Where ownership is kept: in memory ([`Memory`]), or where it survives a restart.
///
/// It decides nothing. Each operation has happened, durably if the store is durable, when it
/// returns.
pub trait Store {
    /// Why the store could not be read or written.
    type Error;

    /// What is kept of an id.
    ///
    /// # Errors
    /// The store's own.
    fn get(&mut self, kind: Kind, id: &str) -> Result<Option<Entry>, Self::Error>;

    /// Keeps an entry, in place of the one there is.
    ///
    /// # Errors
    /// The store's own.
    fn put(&mut self, kind: Kind, id: &str, entry: &Entry) -> Result<(), Self::Error>;

    /// How many entries of an owner there are, or in all.
    ///
    /// # Errors
    /// The store's own.
    fn count(&mut self, owner: Option<&Owner>) -> Result<usize, Self::Error>;

    /// How many tasks of an owner there are.
    ///
    /// # Errors
    /// The store's own.
    fn count_tasks(&mut self, owner: &Owner) -> Result<usize, Self::Error>;

    /// Forgets the entry of an owner, or of anybody, whose use is the longest ago.
    ///
    /// # Errors
    /// The store's own.
    fn remove_oldest(&mut self, owner: Option<&Owner>) -> Result<(), Self::Error>;

    /// Forgets what was last used before this.
    ///
    /// # Errors
    /// The store's own.
    fn remove_unused_since(&mut self, time: Instant) -> Result<(), Self::Error>;
}

/// How much is kept, and how long.
///
/// ```
/// use agentwire_core::a2a::ownership::Limits;
/// let mut limits = Limits::default();
/// limits.per_owner = 100;
/// assert_eq!(limits.total, 100_000);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Limits {
    /// How long an id may go unused. Default: 30 days.
    pub max_age: Duration,
    /// How many ids one owner may have. Default: 2,000.
    pub per_owner: usize,
    /// How many ids there may be. Default: 100,000.
    pub total: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let day = 24 * 60 * 60;
        Self { max_age: Duration::from_secs(30 * day), per_owner: 2_000, total: 100_000 }
    }
}

/// Why a request or an answer is not let through.
///
/// ```
/// use agentwire_core::a2a::ownership::OwnershipError;
/// let error: OwnershipError<core::convert::Infallible> = OwnershipError::Unknown;
/// assert_eq!(error.to_string(), "a context or a task is not the caller's");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OwnershipError<E> {
    /// A request names a context or a task that is not its caller's: it is answered as one for an
    /// unknown task.
    Unknown,
    /// An answer names a context or a task that is another caller's.
    Foreign,
    /// An answer names an id that cannot be kept.
    IdTooLong {
        /// How many bytes can be.
        limit: usize,
    },
    /// The store has failed.
    Store(E),
}

impl<E> From<E> for OwnershipError<E> {
    fn from(error: E) -> Self {
        Self::Store(error)
    }
}

impl<E: fmt::Display> fmt::Display for OwnershipError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("a context or a task is not the caller's"),
            Self::Foreign => f.write_str("the agent's answer names what is another caller's"),
            Self::IdTooLong { limit } => {
                write!(f, "the agent's answer has an id of more than {limit} bytes")
            }
            Self::Store(error) => write!(f, "ownership cannot be kept: {error}"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for OwnershipError<E> {}

/// A request that may go on.
///
/// ```
/// use agentwire_core::a2a::ownership::{Admitted, Memory, Ownership, Owner};
/// use agentwire_core::a2a::Method;
/// use agentwire_core::chat::ContactId;
/// use agentwire_core::time::Instant;
///
/// let mut ownership = Ownership::new(Memory::default());
/// let ann = Owner::contact(ContactId(4));
/// let admitted = ownership.admit(Instant::ZERO, Some(&ann), Method::ListTasks, None).unwrap();
/// assert_eq!(admitted, Admitted::ToAgent);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Admitted {
    /// As it is.
    ToAgent,
    /// A message that goes on with a task or a context which the proxy has made: to the agent,
    /// naming neither ([`Incoming::write_anew`](super::Incoming::write_anew)).
    Anew,
    /// About a task that the proxy has made: the proxy answers it.
    Local {
        /// The context of the task.
        context: Option<String>,
    },
}

/// Who owns what. See the [module](self).
///
/// `admit`, `learn` and `own_tasks` move time on; it does not matter if it runs backwards.
///
/// ```
/// use agentwire_core::a2a::Method;
/// use agentwire_core::a2a::ownership::{Memory, Owner, Ownership, OwnershipError};
/// use agentwire_core::chat::ContactId;
/// use agentwire_core::json::{Object, Value};
/// use agentwire_core::time::Instant;
///
/// let mut ownership = Ownership::new(Memory::default());
/// let (ann, bob) = (Owner::contact(ContactId(4)), Owner::contact(ContactId(5)));
/// let now = Instant::ZERO;
/// let answer = Value::parse(r#"{"task":{"id":"t","contextId":"c"}}"#).unwrap();
/// ownership.learn(now, &ann, Method::SendMessage, answer).unwrap();
///
/// let params = Object::parse(r#"{"id":"t"}"#).ok();
/// assert!(ownership.admit(now, Some(&ann), Method::GetTask, params).is_ok());
/// for other in [Some(&bob), None] {
///     let refused = ownership.admit(now, other, Method::GetTask, params);
///     assert_eq!(refused, Err(OwnershipError::Unknown));
/// }
/// ```
#[derive(Debug)]
pub struct Ownership<S> {
    store: S,
    limits: Limits,
    /// When the store was last rid of what is too old.
    purged: Option<Instant>,
}

/// How often the store is rid of what is too old.
const PURGE_EVERY: Duration = Duration::from_secs(60);

impl<S: Store> Ownership<S> {
    /// With the usual limits.
    pub fn new(store: S) -> Self {
        Self::with_limits(store, Limits::default())
    }

    /// With limits of its own.
    pub const fn with_limits(store: S, limits: Limits) -> Self {
        Self { store, limits, purged: None }
    }

    /// The store.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Whether a request may go on: every context and task that it names, in whatever spelling and
    /// however often, is its caller's. `owner` is `None` over Service RPC.
    ///
    /// # Errors
    /// [`OwnershipError::Unknown`], [`OwnershipError::Store`].
    pub fn admit(
        &mut self,
        now: Instant,
        owner: Option<&Owner>,
        method: Method,
        params: Option<Object<'_>>,
    ) -> Result<Admitted, OwnershipError<S::Error>> {
        let mut admitted = Admitted::ToAgent;
        let Some(params) = params else { return Ok(admitted) };
        let mut result = Ok(());
        names::of_request(method, params, &mut |kind, id| {
            if result.is_err() {
                return;
            }
            result = self.admit_id(now, owner, kind, id).map(|entry| {
                if !entry.is_local {
                } else if method.is_send() {
                    admitted = Admitted::Anew;
                } else if kind == Kind::Task {
                    admitted = Admitted::Local { context: entry.context };
                }
            });
        });
        result.map(|()| admitted)
    }

    fn admit_id(
        &mut self,
        now: Instant,
        owner: Option<&Owner>,
        kind: Kind,
        id: Value<'_>,
    ) -> Result<Entry, OwnershipError<S::Error>> {
        let mut buffer = [0; MAX_ID_LEN];
        let id = id.as_str().and_then(|id| id.decode(&mut buffer).ok());
        let id = id.ok_or(OwnershipError::Unknown)?;
        let entry = self.find(now, kind, id)?;
        let own = entry.filter(|entry| Some(&entry.owner) == owner);
        let mut entry = own.ok_or(OwnershipError::Unknown)?;
        entry.used = entry.used.max(now);
        self.store.put(kind, id, &entry)?;
        Ok(entry)
    }

    /// The entry of an id that is not too old.
    fn find(&mut self, now: Instant, kind: Kind, id: &str) -> Result<Option<Entry>, S::Error> {
        let entry = self.store.get(kind, id)?;
        Ok(entry.filter(|entry| now.duration_since(entry.used) <= self.limits.max_age))
    }

    /// Takes what an answer names, a result or one event of a stream, to be its caller's. The
    /// results of other methods than those that make and show a task name nothing.
    ///
    /// # Errors
    /// [`OwnershipError::Foreign`] and [`OwnershipError::IdTooLong`]: the answer must not reach the
    /// caller. [`OwnershipError::Store`].
    pub fn learn(
        &mut self,
        now: Instant,
        owner: &Owner,
        method: Method,
        result: Value<'_>,
    ) -> Result<(), OwnershipError<S::Error>> {
        let Some(result) = result.as_object() else { return Ok(()) };
        let event = match method {
            Method::GetTask | Method::CancelTask => StreamEvent::of_task(result),
            Method::SendMessage | Method::SendStreamingMessage | Method::SubscribeToTask => {
                StreamEvent::of(result)
            }
            _ => None,
        };
        match event {
            None => Ok(()),
            Some(event) => {
                let value = |id: Option<Str<'_>>| {
                    let mut buffer = [0; MAX_ID_LEN];
                    let id = id.map(|id| id.decode(&mut buffer).map(String::from));
                    let too_long = |_| OwnershipError::IdTooLong { limit: MAX_ID_LEN };
                    id.transpose().map_err(too_long)
                };
                let (task, context) = (value(event.task_id)?, value(event.context_id)?);
                self.take(now, owner, task.as_deref(), context.as_deref(), false)
            }
        }
    }

    /// Takes a task and its context that the proxy has made to be a caller's.
    ///
    /// ```
    /// use agentwire_core::a2a::Method;
    /// use agentwire_core::a2a::ownership::{Admitted, Memory, Owner, Ownership};
    /// use agentwire_core::{chat::ContactId, json::Object, time::Instant};
    ///
    /// let mut ownership = Ownership::new(Memory::default());
    /// let ann = Owner::contact(ContactId(4));
    /// ownership.learn_local(Instant::ZERO, &ann, "t", "c").unwrap();
    /// let params = Object::parse(r#"{"id":"t"}"#).ok();
    /// let admitted = ownership.admit(Instant::ZERO, Some(&ann), Method::GetTask, params).unwrap();
    /// assert_eq!(admitted, Admitted::Local { context: Some("c".into()) });
    /// ```
    ///
    /// # Errors
    /// As [`learn`](Self::learn).
    pub fn learn_local(
        &mut self,
        now: Instant,
        owner: &Owner,
        task: &str,
        context: &str,
    ) -> Result<(), OwnershipError<S::Error>> {
        self.take(now, owner, Some(task), Some(context), true)
    }

    fn take(
        &mut self,
        now: Instant,
        owner: &Owner,
        task: Option<&str>,
        context: Option<&str>,
        is_local: bool,
    ) -> Result<(), OwnershipError<S::Error>> {
        self.purge(now)?;
        let ids = [(Kind::Context, context, None), (Kind::Task, task, context)];
        let ids = ids.into_iter().filter_map(|(kind, id, context)| Some((kind, id?, context)));
        // Nothing is taken unless all of it can be.
        for (kind, id, _) in ids.clone() {
            let entry = self.find(now, kind, id)?;
            if entry.is_some_and(|entry| entry.owner != *owner) {
                return Err(OwnershipError::Foreign);
            }
        }
        for (kind, id, context) in ids {
            let known = self.store.get(kind, id)?;
            // What the agent has made stays the agent's.
            let is_local = is_local && known.as_ref().is_none_or(|known| known.is_local);
            let entry = Entry::new(owner.clone(), now).local(is_local);
            let entry = entry.context(context.map(String::from));
            self.store.put(kind, id, &entry)?;
            if known.is_none() {
                self.make_room(owner)?;
            }
        }
        Ok(())
    }

    fn make_room(&mut self, owner: &Owner) -> Result<(), S::Error> {
        if self.store.count(Some(owner))? > self.limits.per_owner {
            self.store.remove_oldest(Some(owner))?;
        }
        if self.store.count(None)? > self.limits.total {
            self.store.remove_oldest(None)?;
        }
        Ok(())
    }

    fn purge(&mut self, now: Instant) -> Result<(), S::Error> {
        let is_due = self.purged.is_none_or(|purged| now.duration_since(purged) >= PURGE_EVERY);
        if is_due {
            self.purged = Some(now);
            let age = u64::try_from(self.limits.max_age.as_millis()).unwrap_or(u64::MAX);
            let since = now.as_millis().saturating_sub(age);
            self.store.remove_unused_since(Instant::from_millis(since))?;
        }
        Ok(())
    }

    /// The result of `ListTasks` with the caller's own tasks alone: those it owns, and those in a
    /// context that it owns, which become its own with that. Unless the request named a context,
    /// `totalSize` becomes the number of the caller's tasks, since the agent counts everybody's.
    ///
    /// ```
    /// use agentwire_core::a2a::Method;
    /// use agentwire_core::a2a::ownership::{Memory, Owner, Ownership};
    /// use agentwire_core::{chat::ContactId, json::{Object, Value}, time::Instant};
    ///
    /// let mut ownership = Ownership::new(Memory::default());
    /// let ann = Owner::contact(ContactId(4));
    /// let answer = Value::parse(r#"{"task":{"id":"t"}}"#).unwrap();
    /// ownership.learn(Instant::ZERO, &ann, Method::SendMessage, answer).unwrap();
    /// let list = Object::parse(r#"{"tasks":[{"id":"s"},{"id":"t"}],"totalSize":2}"#).unwrap();
    /// let own = ownership.own_tasks(Instant::ZERO, &ann, list, false).unwrap();
    /// assert_eq!(own, r#"{"tasks":[{"id":"t"}],"totalSize":1}"#);
    /// ```
    ///
    /// # Errors
    /// [`OwnershipError::Store`]
    pub fn own_tasks(
        &mut self,
        now: Instant,
        owner: &Owner,
        result: Object<'_>,
        names_context: bool,
    ) -> Result<String, OwnershipError<S::Error>> {
        let mut own = Vec::new();
        for (_, value) in result.members().filter(|(name, _)| is_field(*name, "tasks")) {
            let mut kept = Vec::new();
            for task in value.elements().into_iter().flatten() {
                if self.is_own_task(now, owner, task)? {
                    kept.push(task);
                }
            }
            own.push(kept);
        }
        let total = self.store.count_tasks(owner)?;
        let total = i64::try_from(total).unwrap_or(i64::MAX);
        // What else may stand there is nothing that a list of tasks has.
        let is_known = |name| {
            ["tasks", "nextPageToken", "pageSize", "totalSize"]
                .iter()
                .any(|known| is_field(name, known))
        };
        Ok(to_text(|out| {
            out.raw("{");
            if own.is_empty() {
                out.raw("\"tasks\":[]");
            }
            let mut lists = own.iter();
            let known = result.members().filter(|(name, _)| is_known(*name));
            for (place, (name, value)) in known.enumerate() {
                let is_first = place == 0 && !own.is_empty();
                out.raw(if is_first { "" } else { "," }).raw(name.get()).raw(":");
                if is_field(name, "tasks") {
                    out.raw("[");
                    let kept = lists.next().map(Vec::as_slice).unwrap_or_default();
                    for (place, task) in kept.iter().enumerate() {
                        out.raw(if place == 0 { "" } else { "," }).value(*task);
                    }
                    out.raw("]");
                } else if is_field(name, "totalSize") && !names_context {
                    out.int(total);
                } else {
                    out.value(value);
                }
            }
            out.raw("}");
        }))
    }

    fn is_own_task(
        &mut self,
        now: Instant,
        owner: &Owner,
        task: Value<'_>,
    ) -> Result<bool, OwnershipError<S::Error>> {
        let Some(task) = task.as_object() else { return Ok(false) };
        let text = |name| {
            let mut buffer = [0; MAX_ID_LEN];
            let text = field(&task, name)?.as_str()?;
            text.decode(&mut buffer).ok().map(String::from)
        };
        let Some(id) = text("id") else { return Ok(false) };
        if let Some(entry) = self.find(now, Kind::Task, &id)? {
            return Ok(entry.owner == *owner);
        }
        let Some(context) = text("contextId") else { return Ok(false) };
        let entry = self.find(now, Kind::Context, &context)?;
        let is_own = entry.is_some_and(|entry| entry.owner == *owner);
        if is_own {
            self.take(now, owner, Some(&id), Some(&context), false)?;
        }
        Ok(is_own)
    }
}
