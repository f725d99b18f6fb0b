//! A local A2A server whose agent is in a conversation: [`Gateway`].

mod body;
mod call;
mod card;
mod follow;
mod left;
mod server;

use core::fmt;
use core::future::Future;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex};

use agentwire_core::a2a::{
    Answer, KEPT_FOR, KeptTasks, MAX_KEPT_TASKS, SERVICE_PARAMETERS, VERSION, VERSION_PARAMETER,
};
use agentwire_core::binding::{Place, Standard};
use agentwire_core::chat::CallOptions;
use agentwire_core::json::Object;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;

use crate::client::{Client, ClientError, Target};
use card::Card;

#[cfg(feature = "a2a-client")]
pub(crate) use call::failed as call_failed;

/// The path of the JSON-RPC interface, which is there with a slash at its end too, and at the root.
pub const INTERFACE_PATH: &str = "/a2a";

/// How a gateway behaves.
///
/// ```
/// use agentwire_tokio::a2a::GatewayConfig;
/// let config = GatewayConfig::default();
/// assert!(config.token.is_none());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// What a client has to show as `Authorization: Bearer`. It is needed where the gateway
    /// listens for other machines; it is the gateway's own and does not go to the agent, so an
    /// agent behind a gateway with a token gets its own credential by another header or not at all.
    pub token: Option<String>,
    /// The URL that the card names, where the gateway stands behind something else. Without it, the
    /// address that it listens on.
    pub url: Option<String>,
    /// How long a request's body may be, in bytes. Default 1 MiB: a message takes far less.
    pub max_body: usize,
    /// How often a stream without events gets a sign of life. Default 15 s.
    pub keep_alive: Duration,
    /// How many connections there may be. Default 256.
    pub max_connections: usize,
    /// How long to wait between looks at a task that waits for its caller, at first. It doubles, up
    /// to [`poll_at_most`](Self::poll_at_most). Default 1 s.
    pub poll_at_first: Duration,
    /// Default 30 s.
    pub poll_at_most: Duration,
    /// Of how many tasks the replies are kept that arrive after the client has left. Default
    /// [`MAX_KEPT_TASKS`], each of at most
    /// [`MAX_KEPT_TASK_LEN`](agentwire_core::a2a::MAX_KEPT_TASK_LEN) bytes.
    pub kept_tasks: usize,
    /// How long they are kept, and how long a call is read on whose client has left. Default
    /// [`KEPT_FOR`].
    pub kept_for: Duration,
    /// How long the agent has to answer a `GetTask` before what is kept of the task does. Default
    /// 10 s.
    pub kept_after: Duration,
    /// How many calls are read on whose clients have left; beyond that they are given up. Default
    /// 64.
    pub max_left: usize,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            token: None,
            url: None,
            max_body: 1024 * 1024,
            keep_alive: Duration::from_secs(15),
            max_connections: 256,
            poll_at_first: Duration::from_secs(1),
            poll_at_most: Duration::from_secs(30),
            kept_tasks: MAX_KEPT_TASKS,
            kept_for: KEPT_FOR,
            kept_after: Duration::from_secs(10),
            max_left: 64,
        }
    }
}

impl fmt::Debug for GatewayConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayConfig")
            .field("has_token", &self.token.is_some())
            .field("max_body", &self.max_body)
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}

/// Why there is no gateway.
///
/// ```
/// use agentwire_tokio::a2a::GatewayError;
/// assert!(GatewayError::NoToken.to_string().contains("token"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum GatewayError {
    /// It would listen for other machines, and has no token.
    NoToken,
    /// It cannot listen there.
    Listen(io::Error),
    /// The agent cannot be asked for its card.
    Call(ClientError),
    /// The agent's card is not a JSON object, or it has answered with an error.
    NoCard,
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToken => f.write_str("a gateway for other machines needs a token"),
            Self::Listen(error) => write!(f, "the gateway cannot listen: {error}"),
            Self::Call(error) => write!(f, "the agent's card: {error}"),
            Self::NoCard => f.write_str("the agent gives no card"),
        }
    }
}

impl core::error::Error for GatewayError {}

/// A local A2A server whose agent is in a conversation.
///
/// - `GET /.well-known/agent-card.json` gives the agent's card with the gateway as its interface,
///   with `ETag`, `Last-Modified` and `Cache-Control`; what has not changed is a 304.
/// - A POST of a JSON-RPC request to [`INTERFACE_PATH`], to the same with a slash, or to the root
///   becomes a call in the conversation; the headers that pass become service parameters. A stream
///   comes as Server-Sent Events, with a sign of life when there is nothing to say; an error before
///   its first event comes as JSON.
/// - The conversation ends a stream where a task waits for its caller. `SubscribeToTask` stays open
///   over HTTP until the task is over: the gateway looks at the task, at once when another message
///   has gone through it, and follows it on when it goes on.
/// - Where a client leaves, the replies that still arrive are kept: `GetTask` asks the agent, and
///   where it does not answer, or with an error, it shows the task as those replies have left it.
///   What is kept is bounded in number, size and age, and gone with the process.
/// - A gateway on an address of this machine asks for no token, but for a `Host` that is this
///   machine, so that no website reaches it through a browser.
///
/// ```no_run
/// use agentwire_tokio::a2a::{Gateway, GatewayConfig, GatewayError};
/// use agentwire_tokio::client::{Client, Target};
///
/// # async fn serve(client: Client, agent: Target) -> Result<(), GatewayError> {
/// let card = Gateway::fetch_card(&client, &agent).await?;
/// let address = ([127, 0, 0, 1], 8080).into();
/// let gateway = Gateway::bind(address, client, agent, &card, GatewayConfig::default()).await?;
/// println!("{}", gateway.url());
/// gateway.run(core::future::pending()).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Gateway {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    agent: Target,
    card: Card,
    config: GatewayConfig,
    is_local: bool,
    url: String,
    /// A message has gone to the agent: what waits for its caller may go on.
    sent: Notify,
    /// What has arrived for clients that had left.
    kept: Mutex<KeptTasks>,
    /// For calls whose clients have left.
    room: Semaphore,
    /// Whether the gateway has ended.
    ended: watch::Sender<bool>,
    started: Instant,
}

impl Shared {
    fn place(&self) -> Place {
        match self.agent {
            Target::Contact(_) => Place::Direct,
            _ => Place::Group,
        }
    }

    fn options() -> CallOptions {
        CallOptions::default().answers(1)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Asks an agent for its card.
    ///
    /// # Errors
    /// [`GatewayError::Call`], [`GatewayError::NoCard`].
    pub async fn fetch_card(client: &Client, agent: &Target) -> Result<String, GatewayError> {
        let request = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetExtendedAgentCard\",\
             \"{SERVICE_PARAMETERS}\":{{\"{VERSION_PARAMETER}\":\"{VERSION}\"}}}}"
        );
        let call = client.call(Standard::A2A, agent.clone(), request, Shared::options());
        let replies = call.await.map_err(GatewayError::Call)?;
        let reply = replies.last().await.map_err(GatewayError::Call)?;
        match Answer::read(&reply.text, 1) {
            Ok(Answer::Result(card)) if card.as_object().is_some() => Ok(card.get().to_owned()),
            _ => Err(GatewayError::NoCard),
        }
    }

    /// Begins to listen. `card` is the agent's own card, as JSON.
    ///
    /// # Errors
    /// [`GatewayError`]
    pub async fn bind(
        address: SocketAddr,
        client: Client,
        agent: Target,
        card: &str,
        config: GatewayConfig,
    ) -> Result<Self, GatewayError> {
        let is_local = address.ip().is_loopback();
        if !is_local && config.token.as_ref().is_none_or(String::is_empty) {
            return Err(GatewayError::NoToken);
        }
        let card = Object::parse(card).map_err(|_| GatewayError::NoCard)?;
        let listener = TcpListener::bind(address).await.map_err(GatewayError::Listen)?;
        let address = listener.local_addr().map_err(GatewayError::Listen)?;
        let url = config.url.clone().unwrap_or_else(|| format!("http://{address}{INTERFACE_PATH}"));
        let card = Card::new(card, &url);
        let kept = Mutex::new(KeptTasks::new(config.kept_tasks, config.kept_for));
        let room = Semaphore::new(config.max_left.min(Semaphore::MAX_PERMITS));
        let shared = Shared {
            client,
            agent,
            card,
            config,
            is_local,
            url,
            sent: Notify::new(),
            kept,
            room,
            ended: watch::Sender::new(false),
            started: Instant::now(),
        };
        Ok(Self { listener, shared: Arc::new(shared) })
    }

    /// The URL of the JSON-RPC interface.
    pub fn url(&self) -> &str {
        &self.shared.url
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// [`GatewayError::Listen`]
    pub fn address(&self) -> Result<SocketAddr, GatewayError> {
        self.listener.local_addr().map_err(GatewayError::Listen)
    }

    /// Serves until `end`; then it takes no more connections, and those that there are end.
    pub async fn run(self, end: impl Future<Output = ()>) {
        server::run(&self.listener, self.shared, end).await;
    }
}
