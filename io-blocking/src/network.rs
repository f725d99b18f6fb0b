//! The embedded loopback, shared by the threads of one process.

use core::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time;

use agentwire_core::chat::ContactId;
use agentwire_core::loopback::{Config, Loopback, ProfileId, SetupError};
use agentwire_core::time::Instant;

/// Chat cores and what connects them, in this process: [`Loopback`] behind a lock, in real time.
///
/// ```
/// use agentwire_blocking::network::Network;
///
/// let network = Network::new(1);
/// let ann = network.add_profile("ann").unwrap();
/// let bot = network.add_profile("bot").unwrap();
/// network.connect(&ann, &bot).unwrap();
/// assert_eq!(network.with(|net| net.contacts(ann.id()).len()), 1);
/// ```
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    epoch: time::Instant,
}

/// What the lock guards. Nobody waits for anything else while holding it.
struct State {
    loopback: Loopback,
    /// Counts changes: whoever has seen the last one waits for the next.
    changes: u64,
}

/// A profile of a [`Network`]. One client or one bot speaks for it.
///
/// ```
/// use agentwire_blocking::network::Network;
/// let network = Network::new(1);
/// let ann = network.add_profile("ann").unwrap();
/// assert_eq!(ann.name(), "ann");
/// ```
#[derive(Clone)]
pub struct Profile {
    network: Network,
    id: ProfileId,
    name: Arc<str>,
}

impl Network {
    /// A network without profiles. `seed` makes its ids and faults repeatable.
    pub fn new(seed: u64) -> Self {
        Self::with_config(seed, Config::default())
    }

    /// The same with limits of its own.
    pub fn with_config(seed: u64, config: Config) -> Self {
        let state = State { loopback: Loopback::with_config(seed, config), changes: 0 };
        let shared = Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            epoch: time::Instant::now(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Adds a profile.
    ///
    /// # Errors
    /// [`SetupError`] when the name is none that a chat core allows.
    pub fn add_profile(&self, name: &str) -> Result<Profile, SetupError> {
        let id = self.with(|net| net.add_profile(name))?;
        Ok(Profile { network: self.clone(), id, name: name.into() })
    }

    /// Connects two profiles: each gets the other as a contact, and the ids come in that order.
    ///
    /// # Errors
    /// [`SetupError`] when it is one profile twice.
    pub fn connect(&self, a: &Profile, b: &Profile) -> Result<(ContactId, ContactId), SetupError> {
        self.with(|net| net.connect(a.id, b.id))
    }

    /// Does anything else with the loopback: groups, faults, messages by hand. The network stands
    /// still meanwhile, so `change` must not call, answer or wait.
    pub fn with<R>(&self, change: impl FnOnce(&mut Loopback) -> R) -> R {
        self.step(|net| (change(net), true)).0
    }

    /// The time that the loopback knows: milliseconds since the network was made.
    pub fn now(&self) -> Instant {
        let millis = self.shared.epoch.elapsed().as_millis();
        Instant::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// Takes one step, which says whether others may see something new; gives how many changes
    /// there were until then.
    pub(crate) fn step<R>(&self, take: impl FnOnce(&mut Loopback) -> (R, bool)) -> (R, u64) {
        let mut state = self.lock();
        let (result, is_change) = take(&mut state.loopback);
        if is_change {
            state.changes = state.changes.wrapping_add(1);
            self.shared.changed.notify_all();
        }
        (result, state.changes)
    }

    /// Wakes everybody who waits.
    pub(crate) fn wake(&self) {
        self.with(|_| ());
    }

    /// Waits for a change after the one that was `seen` last, or until a time.
    pub(crate) fn wait(&self, seen: u64, until: Option<Instant>) {
        let mut state = self.lock();
        while state.changes == seen {
            let changed = &self.shared.changed;
            state = match until.map(|until| until.duration_since(self.now())) {
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(span) if span.is_zero() => return,
                Some(span) => {
                    changed.wait_timeout(state, span).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held has left the loopback as any other call does.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl Profile {
    /// Its id in the loopback.
    pub const fn id(&self) -> ProfileId {
        self.id
    }

    /// Its display name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The network it is part of.
    pub const fn network(&self) -> &Network {
        &self.network
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile").field("id", &self.id).finish_non_exhaustive()
    }
}
