//! The embedded loopback, shared by the tasks of one process.

use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use agentwire_core::chat::ContactId;
use agentwire_core::loopback::{
    Config, Loopback, ProfileId, SendError, SentMessage, SentService, ServiceAddress,
    ServiceRequestError, ServiceResponseError, SetupError,
};
use agentwire_core::time::Instant;
use tokio::sync::{mpsc, watch};

/// Chat cores and what connects them, in this process: [`Loopback`] behind a lock.
///
/// ```
/// use agentwire_tokio::network::Network;
///
/// let network = Network::new(1);
/// let ann = network.add_profile("ann").unwrap();
/// let bot = network.add_profile("bot").unwrap();
/// let (bot_of_ann, _) = network.connect(&ann, &bot).unwrap();
/// assert_eq!(network.with(|net| net.contacts(ann.id()).len()), 1);
/// ```
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

struct Shared {
    loopback: Mutex<Loopback>,
    /// Counts changes; whoever waits for something to arrive watches it.
    changes: watch::Sender<u64>,
    observers: Mutex<Vec<mpsc::UnboundedSender<Observed>>>,
    service_observers: Mutex<Vec<mpsc::UnboundedSender<ObservedService>>>,
    epoch: tokio::time::Instant,
}

/// A profile of a [`Network`]. One speaks for it, a [`Client`](crate::client::Client) or a
/// [`Bot`](crate::bot::Bot), and takes it: two would take each other's messages. Its
/// [`id`](Self::id) is enough for everything else.
///
/// ```
/// use agentwire_tokio::network::Network;
/// let network = Network::new(1);
/// let ann = network.add_profile("ann").unwrap();
/// assert_eq!(ann.name(), "ann");
/// ```
pub struct Profile {
    network: Network,
    id: ProfileId,
    name: Arc<str>,
}

/// What a profile has sent, or could not send.
///
/// ```
/// use agentwire_tokio::network::Observed;
/// fn show(seen: &Observed) -> String {
///     match &seen.message {
///         Ok(sent) => format!("{}: {} bytes", seen.profile, sent.encoded_len),
///         Err(error) => format!("{}: {error}", seen.profile),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Observed {
    /// When.
    pub at: Instant,
    /// The profile's display name.
    pub profile: Arc<str>,
    /// The message, or why the chat core refused it.
    pub message: Result<SentMessage, SendError>,
}

/// What a profile has sent over Service RPC, or could not send.
///
/// ```
/// use agentwire_tokio::network::ObservedService;
/// fn show(seen: &ObservedService) -> String {
///     match &seen.message {
///         Ok(sent) => format!("{}: {} bytes of JSON", seen.profile, sent.json_len),
///         Err(error) => format!("{}: {error}", seen.profile),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ObservedService {
    /// When.
    pub at: Instant,
    /// The profile's display name.
    pub profile: Arc<str>,
    /// The display name of the one it is for, where it is known.
    pub to: Option<Arc<str>>,
    /// The request or response, or why the chat core refused it.
    pub message: Result<SentService, ServiceNotSent>,
}

/// Why a chat core has not sent a request or a response.
///
/// ```
/// use agentwire_core::loopback::ServiceRequestError;
/// use agentwire_tokio::network::ServiceNotSent;
/// let error = ServiceNotSent::Request(ServiceRequestError::NoRatchetKeys);
/// assert_eq!(error.to_string(), "the address has no ratchet keys");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServiceNotSent {
    /// A request.
    Request(ServiceRequestError),
    /// A response.
    Response(ServiceResponseError),
}

impl fmt::Display for ServiceNotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(f),
            Self::Response(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ServiceNotSent {}

impl Network {
    /// A network without profiles. `seed` makes its ids and faults repeatable.
    pub fn new(seed: u64) -> Self {
        Self::with_config(seed, Config::default())
    }

    /// The same, whose messages bear the time of day from now on, as those of real cores do:
    /// otherwise they bear times from the beginning of 2026 on, the same in each run.
    pub fn in_real_time(seed: u64) -> Self {
        let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::with_config(seed, Config::default().wall_clock_start(passed.as_secs()))
    }

    /// The same with limits of its own.
    pub fn with_config(seed: u64, config: Config) -> Self {
        let (changes, _) = watch::channel(0);
        let shared = Shared {
            loopback: Mutex::new(Loopback::with_config(seed, config)),
            changes,
            observers: Mutex::new(Vec::new()),
            service_observers: Mutex::new(Vec::new()),
            epoch: tokio::time::Instant::now(),
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

    /// Gives a profile a contact address with ratchet keys, and lets it take service requests
    /// ("Exchange"). A [`Bot`](crate::bot::Bot) of the profile answers them.
    ///
    /// # Errors
    /// [`SetupError::DuplicateAddress`]
    pub fn open_address(&self, profile: &Profile) -> Result<ServiceAddress, SetupError> {
        self.with(|net| {
            let address = net.create_address(profile.id, true)?;
            net.enable_service_requests(profile.id, true)?;
            Ok(address)
        })
    }

    /// Does anything else with the loopback: groups, faults, messages by hand. The network is
    /// locked meanwhile: `change` must not use it in any other way, and should be short.
    pub fn with<R>(&self, change: impl FnOnce(&mut Loopback) -> R) -> R {
        let result = change(&mut self.lock());
        self.wake();
        result
    }

    /// All that profiles send from now on, in its order. What is not taken is kept, without a
    /// bound; drop the receiver to see no more.
    pub fn observe(&self) -> mpsc::UnboundedReceiver<Observed> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.observers().push(sender);
        receiver
    }

    /// All that profiles send over Service RPC from now on; otherwise as
    /// [`observe`](Self::observe).
    pub fn observe_services(&self) -> mpsc::UnboundedReceiver<ObservedService> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.service_observers().push(sender);
        receiver
    }

    /// The time that the loopback knows.
    pub fn now(&self) -> Instant {
        let millis = self.shared.epoch.elapsed().as_millis();
        Instant::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// The same time as the runtime knows it.
    pub(crate) fn deadline(&self, instant: Instant) -> Option<tokio::time::Instant> {
        self.shared.epoch.checked_add(instant.duration_since(Instant::ZERO))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Loopback> {
        // A panic while the lock was held has left the loopback as any other call does.
        self.shared.loopback.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observers(&self) -> MutexGuard<'_, Vec<mpsc::UnboundedSender<Observed>>> {
        self.shared.observers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn service_observers(&self) -> MutexGuard<'_, Vec<mpsc::UnboundedSender<ObservedService>>> {
        self.shared.service_observers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody that something may have arrived.
    pub(crate) fn wake(&self) {
        self.shared.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    pub(crate) fn tell(
        &self,
        profile: &Profile,
        at: Instant,
        message: Result<&SentMessage, &SendError>,
    ) {
        let mut observers = self.observers();
        if observers.is_empty() {
            return;
        }
        let message = message.cloned().map_err(Clone::clone);
        let seen = Observed { at, profile: profile.name.clone(), message };
        observers.retain(|observer| observer.send(seen.clone()).is_ok());
    }

    pub(crate) fn tell_service(
        &self,
        net: &Loopback,
        profile: &Profile,
        at: Instant,
        message: Result<&SentService, ServiceNotSent>,
    ) {
        let mut observers = self.service_observers();
        if observers.is_empty() {
            return;
        }
        let to = message.ok().and_then(|sent| sent.to);
        let to = to.and_then(|to| net.display_name(to)).map(Arc::from);
        let profile = profile.name.clone();
        let seen = ObservedService { at, profile, to, message: message.cloned() };
        observers.retain(|observer| observer.send(seen.clone()).is_ok());
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
