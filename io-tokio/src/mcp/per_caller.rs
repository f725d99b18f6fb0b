//! One server for all callers, or one for each.

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agentwire_core::mcp::bridge::{CallerId, Problem, Room, Via};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use super::bridge::{Backend, Call, McpBridge};
use super::options::Options;

/// How many servers of callers there are at most, where nothing else is said.
pub const MAX_SERVERS: usize = 16;

/// How long a server is kept that nobody uses, where nothing else is said.
pub const IDLE: Duration = Duration::from_secs(300);

/// Servers of callers: each gets one of its own, started with its first call and ended when it has
/// not been used for a while. There are never more processes than allowed, those that are ending
/// among them; when all are in use, a further caller is told that they are busy.
///
/// ```
/// use agentwire_tokio::mcp::{Backend, Options, PerCaller};
/// use agentwire_tokio::stdio::ServerCommand;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let backend = Backend::Child(ServerCommand::new("server"));
/// let servers = PerCaller::new(backend, Options::default()).max(4);
/// assert_eq!(servers.len(), 0);
/// # }
/// ```
#[derive(Clone)]
pub struct PerCaller(Arc<Inner>);

struct Inner {
    backend: Backend,
    options: Options,
    max: usize,
    idle: Duration,
    places: Arc<Semaphore>,
    servers: Mutex<HashMap<CallerId, Server>>,
}

struct Server {
    bridge: Arc<McpBridge>,
    used: Instant,
    place: OwnedSemaphorePermit,
}

impl PerCaller {
    /// Servers like this one.
    #[must_use]
    pub fn new(backend: Backend, options: Options) -> Self {
        Self::with(backend, options, MAX_SERVERS, IDLE)
    }

    fn with(backend: Backend, options: Options, max: usize, idle: Duration) -> Self {
        let places = Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS)));
        let servers = Mutex::default();
        Self(Arc::new(Inner { backend, options, max, idle, places, servers }))
    }

    /// The same with at most so many.
    #[must_use]
    pub fn max(self, max: usize) -> Self {
        let inner = &self.0;
        Self::with(inner.backend.clone(), inner.options.clone(), max.max(1), inner.idle)
    }

    /// The same with another time after which an unused one is ended.
    #[must_use]
    pub fn idle(self, idle: Duration) -> Self {
        let inner = &self.0;
        Self::with(inner.backend.clone(), inner.options.clone(), inner.max, idle)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.servers().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    async fn call(&self, caller: CallerId, request: String, room: Room, via: Via) -> Call {
        let inner = &self.0;
        if let Some(bridge) = inner.find(caller) {
            return bridge.call(caller, request, room, via);
        }
        let place = match Arc::clone(&inner.places).try_acquire_owned() {
            Ok(place) => Some(place),
            Err(_) => match inner.take_unused() {
                Some(server) => Some(server.end().await),
                None => None,
            },
        };
        let Some(place) = place else {
            return Call::answered(Problem::Busy { limit: inner.max }.answer(&request));
        };
        let is_first = inner.servers().is_empty();
        let bridge = {
            let mut servers = inner.servers();
            let server = servers.entry(caller).or_insert_with(|| Server {
                bridge: Arc::new(McpBridge::start(inner.backend.clone(), inner.options.clone())),
                used: Instant::now(),
                place,
            });
            server.used = Instant::now();
            Arc::clone(&server.bridge)
        };
        if is_first {
            tokio::spawn(sweep(Arc::downgrade(inner)));
        }
        bridge.call(caller, request, room, via)
    }

    async fn close(self) {
        let servers: Vec<Server> = self.0.servers().drain().map(|(_, server)| server).collect();
        let ends: Vec<_> = servers.into_iter().map(|server| tokio::spawn(server.end())).collect();
        for end in ends {
            let _ = end.await;
        }
    }
}

impl Inner {
    fn servers(&self) -> MutexGuard<'_, HashMap<CallerId, Server>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, caller: CallerId) -> Option<Arc<McpBridge>> {
        let mut servers = self.servers();
        let server = servers.get_mut(&caller)?;
        server.used = Instant::now();
        Some(Arc::clone(&server.bridge))
    }

    /// Takes out the one that has been unused for the longest time.
    fn take_unused(&self) -> Option<Server> {
        let mut servers = self.servers();
        let unused = servers.iter().filter(|(_, server)| server.is_unused());
        let caller = unused.min_by_key(|(_, server)| server.used).map(|(caller, _)| *caller)?;
        servers.remove(&caller)
    }

    fn take_old(&self) -> Vec<Server> {
        let mut servers = self.servers();
        let is_old = |server: &Server| server.is_unused() && server.used.elapsed() >= self.idle;
        let old: Vec<CallerId> = servers
            .iter()
            .filter(|(_, server)| is_old(server))
            .map(|(caller, _)| *caller)
            .collect();
        old.iter().filter_map(|caller| servers.remove(caller)).collect()
    }
}

impl Server {
    fn is_unused(&self) -> bool {
        // A call that has just been made may not have been counted: then it is someone's.
        self.bridge.health().open_calls == 0 && Arc::strong_count(&self.bridge) == 1
    }

    /// Ends it, and gives its place back once the processes are gone.
    async fn end(self) -> OwnedSemaphorePermit {
        if let Some(bridge) = Arc::into_inner(self.bridge) {
            bridge.close().await;
        }
        self.place
    }
}

/// Ends the servers that nobody uses, as long as there are any.
async fn sweep(inner: Weak<Inner>) {
    loop {
        let Some(pause) = inner.upgrade().map(|inner| inner.idle / 4) else { return };
        sleep(pause.max(Duration::from_millis(10))).await;
        let Some(inner) = inner.upgrade() else { return };
        for server in inner.take_old() {
            drop(server.end().await);
        }
        if inner.servers().is_empty() {
            return;
        }
    }
}

impl fmt::Debug for PerCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCaller")
            .field("backend", &self.0.backend)
            .field("max", &self.0.max)
            .field("idle", &self.0.idle)
            .field("len", &self.len())
            .finish()
    }
}

/// What answers: one server for all, or one for each caller.
///
/// ```
/// use agentwire_tokio::mcp::{Backend, Options, PerCaller, Servers};
/// use agentwire_tokio::stdio::ServerCommand;
/// let backend = Backend::Child(ServerCommand::new("server"));
/// let servers = Servers::PerCaller(PerCaller::new(backend, Options::default()));
/// assert!(matches!(servers, Servers::PerCaller(_)));
/// ```
#[derive(Debug)]
#[allow(clippy::exhaustive_enums)] // A server is shared or it is not.
pub enum Servers {
    /// One for all.
    Shared(McpBridge),
    /// One for each.
    PerCaller(PerCaller),
}

impl Servers {
    /// Begins a call.
    pub async fn call(
        &self,
        caller: CallerId,
        request: impl Into<String>,
        room: Room,
        via: Via,
    ) -> Call {
        match self {
            Self::Shared(bridge) => bridge.call(caller, request, room, via),
            Self::PerCaller(servers) => servers.call(caller, request.into(), room, via).await,
        }
    }

    /// Ends all servers and waits for it.
    pub async fn close(self) {
        match self {
            Self::Shared(bridge) => bridge.close().await,
            Self::PerCaller(servers) => servers.close().await,
        }
    }
}
