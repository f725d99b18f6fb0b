//! The loopback behind the WebSocket API of chat cores.
//!
//! Each profile of a [`Network`] has a port, as each `simplex-chat -p PORT` has one, and any
//! program that speaks to a core speaks to it. What is said is [`agentwire_core::loopback::api`]'s;
//! here are sockets, their limits, and what can be done to them:
//!
//! ```text
//! socket ──► frame ──► Api::handle_frame ──► Loopback
//!    ▲                                          │
//!    └── every Nth: cut ◄── Api::poll_frame ◄───┘       each frame, both ways ──► recording
//! ```
//!
//! A connection reads one frame ahead of the command that it waits for, so pings are answered
//! meanwhile; a client that does not read holds up itself alone. There is no password, as with a
//! real core: only addresses of this machine are for it.

mod connection;
mod record;
#[cfg(test)]
mod tests;

use core::fmt;
use core::future::Future;
use core::num::NonZeroU64;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentwire_core::loopback::api::Api;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::network::{Network, Profile};
pub use record::{Direction, Recorded};

/// How long a new connection may take until it is a WebSocket.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection has to take note of the end.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long no connection is taken after the system could not give one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Chat cores on ports: the API of each profile of a network.
///
/// ```
/// use agentwire_tokio::link::{Core, Link};
/// use agentwire_tokio::network::Network;
/// use agentwire_tokio::server::Server;
/// use tokio::net::TcpListener;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn core::error::Error>> {
/// let network = Network::new(1);
/// let bot = network.add_profile("bot")?;
/// let server = Server::new(&network, 1);
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let url = format!("ws://{}", listener.local_addr()?);
/// let served = tokio::spawn(server.serve(bot, listener));
///
/// let mut link = Link::connect(&Core::new(&url)).await?;
/// link.push(String::from(r#"{"corrId":"1","cmd":"/u"}"#));
/// assert!(link.receive().await?.starts_with(r#"{"corrId":"1","resp":{"type":"activeUser""#));
/// link.close().await;
///
/// server.close();
/// served.await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    network: Network,
    api: Mutex<Api>,
    /// After how many frames from the core a connection is cut.
    cut_every: watch::Sender<Option<NonZeroU64>>,
    recordings: Mutex<Vec<mpsc::UnboundedSender<Recorded>>>,
    is_closing: watch::Sender<bool>,
}

impl Server {
    /// A server without ports. The seed decides which of a profile's connections gets an event.
    #[must_use]
    pub fn new(network: &Network, seed: u64) -> Self {
        let shared = Shared {
            network: network.clone(),
            api: Mutex::new(Api::new(seed)),
            cut_every: watch::channel(None).0,
            recordings: Mutex::new(Vec::new()),
            is_closing: watch::channel(false).0,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Cuts each connection after so many frames from the core, without a goodbye and with what
    /// was still to be written; none means never.
    pub fn cut_every(&self, frames: Option<NonZeroU64>) {
        self.shared.cut_every.send_replace(frames);
    }

    /// All frames from now on, in the order in which the core takes and gives them. What is not
    /// taken is kept, without a bound; drop the receiver to see no more.
    pub fn record(&self) -> mpsc::UnboundedReceiver<Recorded> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.recordings().push(sender);
        receiver
    }

    /// Stops a profile's chat until a client's `/_start`, as if its core had been started for
    /// maintenance.
    pub fn stop(&self, profile: &Profile) {
        self.api().stop(profile.id());
    }

    /// Serves a profile's API on a port. The future ends some time after [`close`](Self::close);
    /// dropping it cuts the connections.
    pub fn serve(
        &self,
        profile: Profile,
        listener: TcpListener,
    ) -> impl Future<Output = ()> + Send + 'static {
        serve(Arc::clone(&self.shared), profile, listener)
    }

    /// Ends all connections with a goodbye, and takes no new ones.
    pub fn close(&self) {
        self.shared.is_closing.send_replace(true);
    }

    fn api(&self) -> MutexGuard<'_, Api> {
        self.shared.api()
    }

    fn recordings(&self) -> MutexGuard<'_, Vec<mpsc::UnboundedSender<Recorded>>> {
        self.shared.recordings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("network", &self.shared.network).finish_non_exhaustive()
    }
}

impl Shared {
    fn api(&self) -> MutexGuard<'_, Api> {
        // A panic while the lock was held has left the machine as any other call does.
        self.api.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(shared: Arc<Shared>, profile: Profile, listener: TcpListener) {
    let profile = Arc::new(profile);
    let mut closing = shared.is_closing.subscribe();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => break,
            // Those that have ended are let go of.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((socket, peer)) => {
                tracing::debug!(profile = profile.name(), %peer, "a connection");
                let (shared, profile) = (Arc::clone(&shared), Arc::clone(&profile));
                connections.spawn(connection::run(shared, profile, socket));
            }
            Err(error) => {
                // Too many open files, or a connection that was gone before it was taken.
                tracing::warn!(profile = profile.name(), %error, "no connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}
