//! The handler of a bot that serves an agent on HTTP: [`Proxy`].

use core::fmt;
use core::hash::BuildHasher as _;
use core::sync::atomic::{AtomicI64, Ordering};
use core::time::Duration;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use agentwire_core::a2a::Cause;
use agentwire_core::a2a::Incoming;
use agentwire_core::a2a::ownership::{Memory, Owner, Ownership, Store};
use agentwire_core::binding::{Failure, Place, Standard};
use agentwire_core::json::{Value, to_text};
use agentwire_core::time::Instant;
use tokio::task::spawn_blocking;

use super::exchange::{Exchange, Outcome};
use super::upstream::Upstream;
use crate::bot::{Handler, Replier, Request, Via};

/// How a proxy behaves.
///
/// ```
/// use agentwire_tokio::a2a::ProxyConfig;
/// let mut config = ProxyConfig::default();
/// config.resume_attempts = 0;
/// assert!(config.card.is_none());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProxyConfig {
    /// The card that callers without credentials get for `GetExtendedAgentCard`, instead of the
    /// agent's public one: one that names the SimpleX interface and is signed anew, for example.
    /// The agent's own is passed on as it is, since any change would void its signatures; the
    /// interfaces it names are then those on HTTP.
    pub card: Option<Arc<str>>,
    /// How often a stream that was cut off is taken up again before its caller gets an error.
    /// Default 3.
    pub resume_attempts: u32,
    /// How long to wait before the first of these; each further time it is twice as long. Default
    /// 200 ms.
    pub resume_delay: Duration,
    /// How often a task over Service RPC is looked at until it is done. Default: each second.
    pub poll_every: Duration,
}

impl Default for ProxyConfig {
    fn default() -> Self {
        Self {
            card: None,
            resume_attempts: 3,
            resume_delay: Duration::from_millis(200),
            poll_every: Duration::from_secs(1),
        }
    }
}

/// Serves an agent on HTTP in conversations and over Service RPC ("An A2A proxy bot").
///
/// - Each request goes to the agent with an id of the proxy's own, the caller's service parameters
///   as headers, `A2A-Version: 1.0`, and its parameters as they were written. The caller gets its
///   own id back.
/// - The events of a stream are replies, one by one: the next one is read when the chat core has
///   taken the one before. A stream that is cut off is taken up again with `SubscribeToTask`, or
///   ended with what `GetTask` says; if neither helps, its caller gets an error, never silence.
///   After an interrupted state the stream to the agent is closed.
/// - An event or an answer that does not fit into a message is answered with -32603, and the
///   stream is over; `GetTask` gives the rest.
/// - Contexts and tasks are their callers' own
///   ([`ownership`](agentwire_core::a2a::ownership)).
/// - A status of 401 or 403 becomes a task in `TASK_STATE_AUTH_REQUIRED` with the challenge in its
///   message. The caller sends its message again, with the credential and, if it likes, that
///   task's id.
/// - Over Service RPC the task is waited for until it is over or waits for its caller.
///
/// ```no_run
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::Declared;
/// use agentwire_tokio::a2a::{Proxy, Upstream, UpstreamConfig, UpstreamError};
/// use agentwire_tokio::bot::{Bot, BotConfig};
/// use agentwire_tokio::network::Profile;
///
/// # async fn serve(profile: Profile) -> Result<Bot, UpstreamError> {
/// let upstream = Upstream::discover("http://127.0.0.1:9999", UpstreamConfig::default()).await?;
/// let declared = || vec![Declared::new(Standard::A2A, ["1.0"])];
/// let config = BotConfig::from(declared()).service(declared());
/// Ok(Bot::start(profile, config, Proxy::new(upstream)))
/// # }
/// ```
#[derive(Debug)]
pub struct Proxy<S = Memory> {
    shared: Arc<Shared<S>>,
}

pub(super) struct Shared<S> {
    pub(super) upstream: Upstream,
    pub(super) config: ProxyConfig,
    ownership: Arc<Mutex<Ownership<S>>>,
    ids: AtomicI64,
    random: RandomState,
}

impl<S> Clone for Proxy<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl Proxy {
    /// With the usual behaviour, and ownership that does not outlive the process.
    pub fn new(upstream: Upstream) -> Self {
        Self::with_config(upstream, Ownership::new(Memory::default()), ProxyConfig::default())
    }
}

impl<S: Store + Send + 'static> Proxy<S> {
    /// With ownership that is kept elsewhere.
    pub fn with_config(upstream: Upstream, ownership: Ownership<S>, config: ProxyConfig) -> Self {
        let ownership = Arc::new(Mutex::new(ownership));
        let (ids, random) = (AtomicI64::new(1), RandomState::new());
        Self { shared: Arc::new(Shared { upstream, config, ownership, ids, random }) }
    }
}

impl<S: Store + Send + 'static> Shared<S> {
    /// An id of our own for a request to the agent.
    pub(super) fn next_id(&self) -> i64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// An id of our own for a task, a context or a message: nobody else's, in all likelihood.
    /// Nothing depends on its being a secret.
    pub(super) fn random_id(&self) -> String {
        let number = self.next_id();
        let other = RandomState::new().hash_one(number);
        format!("{:016x}{other:016x}", self.random.hash_one(number))
    }

    /// Asks or changes who owns what. The store may be on disk, so this is done where blocking is
    /// no harm.
    pub(super) async fn own<R: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Ownership<S>, Instant) -> R + Send + 'static,
    ) -> Result<R, Failure<'static>> {
        let ownership = Arc::clone(&self.ownership);
        let ask = move || {
            // A panic of the store's has left it as any other error does.
            let mut ownership = ownership.lock().unwrap_or_else(PoisonError::into_inner);
            ask(&mut ownership, now())
        };
        spawn_blocking(ask).await.map_err(|_| Failure::Internal)
    }
}

/// Milliseconds since 1970: a time that means the same after a restart.
fn now() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Instant::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

impl<S: Store<Error: fmt::Display + Send> + Send + 'static> Handler<Standard> for Proxy<S> {
    async fn handle(&self, request: Request, mut replier: Replier) {
        let (place, owner) = match request.via {
            Via::Chat { chat, sender, .. } => (Place::from(chat), Some(Owner::new(chat, sender))),
            Via::Service { .. } => (Place::Direct, None),
        };
        let shared = &*self.shared;
        let credentials = shared.upstream.credentials();
        let outcome = match Incoming::read(&request.text, place, &credentials) {
            Err(refused) => match refused.cause {
                Cause::Failure(failure) => Outcome::Failed(failure.detached()),
                _ => Outcome::Answered(to_text(|out| refused.write(out))),
            },
            Ok(mut incoming) => {
                let tenant = shared.upstream.tenant().and_then(|text| Value::parse(text).ok());
                incoming.tenant = tenant.and_then(|tenant| tenant.as_str());
                Exchange::new(shared, incoming, owner).run(&mut replier).await
            }
        };
        match outcome {
            Outcome::Answered(text) => {
                // Whoever is not there any more gets no answer.
                if let Err(error) = replier.respond(text).await {
                    tracing::debug!(%error, "no answer was sent");
                }
            }
            Outcome::Failed(failure) => replier.fail(failure),
            Outcome::Gone => {}
        }
    }
}

impl<S> fmt::Debug for Shared<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("upstream", &self.upstream)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
