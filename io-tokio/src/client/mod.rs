//! Calling: [`Client`].

mod connect;
mod replies;

use core::fmt;
use std::sync::Arc;

use agentwire_core::binding::{Binding, Guarded, Standard};
use agentwire_core::chat::caller::{CallError, TimedOut};
use agentwire_core::chat::session::{Session, SessionConfig};
use agentwire_core::rpc::session::{ServiceReply, ServiceSession, ServiceSessionConfig};
use agentwire_core::turns::TurnLimits;
use tokio::sync::{mpsc, oneshot};

pub use agentwire_blocking::client::{
    ConnectError, CoreCallError, CoreState, NotSent, RequestError, RequestOptions, ServiceTarget,
};
pub use agentwire_core::chat::{CallOptions, Target};

use crate::agent::{Agent, Command, CoreHandle, Embedded, Machine, REPLIES, ServiceTicket};
use crate::network::Profile;
pub use connect::CoreEvents;
pub(crate) use connect::ready;
pub use replies::Replies;

/// Why a call was not made, or how it ended without a last reply.
///
/// ```
/// use agentwire_tokio::client::ClientError;
/// assert_eq!(ClientError::Closed.to_string(), "the client has ended");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The session does not make it.
    Call(CallError<'static>),
    /// The chat core has not sent the command.
    NotSent(NotSent),
    /// Its wait is over. In a broadcast without a number of answers this is the usual end.
    TimedOut(TimedOut),
    /// Too many replies waited to be taken, so the call was given up.
    Lagged,
    /// The client's task has ended.
    Closed,
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::NotSent(error) => write!(f, "the command was not sent: {error}"),
            Self::TimedOut(end) => {
                write!(
                    f,
                    "no last reply in time ({} answers, {} other replies)",
                    end.answers, end.replies
                )
            }
            Self::Lagged => write!(f, "{REPLIES} replies were not taken, the call was given up"),
            Self::Closed => f.write_str("the client has ended"),
        }
    }
}

impl core::error::Error for ClientError {}

/// Calls agents and bots for one profile. A profile that also answers calls through
/// [`Bot::client`](crate::bot::Bot::client).
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::Declared;
/// use agentwire_core::jsonrpc::write_result;
/// use agentwire_tokio::{bot::{Bot, Replier, Request}, client::{CallOptions, Client}, network::Network};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let network = Network::new(1);
/// let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
/// let (to_bot, _) = network.connect(&ann, &bot).unwrap();
///
/// let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
/// let bot = Bot::start(bot, declared, |request: Request<Standard>, replier: Replier<Standard>| async move {
///     let id = request.id.unwrap_or_default();
///     let _ = replier.respond(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"id":"t"}}}}"#)).await;
/// });
/// let client = Client::start(ann);
/// let request = r#"{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"t"},
///     "a2a-service-parameters":{"A2A-Version":"1.0"}}"#;
/// let mut replies =
///     client.call(Standard::A2A, to_bot, request, CallOptions::default()).await.unwrap();
/// let reply = replies.next().await.unwrap().unwrap();
/// assert_eq!(reply.text, r#"{"jsonrpc":"2.0","id":7,"result":{"id":"t"}}"#);
/// assert!(replies.next().await.is_none());
/// bot.shutdown().await;
/// # });
/// ```
#[derive(Debug)]
pub struct Client<B = Standard> {
    commands: mpsc::UnboundedSender<Command<B>>,
    /// `None` for a profile of the embedded loopback.
    core: Option<CoreHandle>,
}

impl<B> Clone for Client<B> {
    fn clone(&self) -> Self {
        Self { commands: self.commands.clone(), core: self.core.clone() }
    }
}

impl<B: Binding + Send + 'static> Client<B> {
    /// Starts the task that speaks for a profile. It ends when every handle of it is gone: the
    /// clones of this one and the [`Replies`] of its calls.
    ///
    /// # Panics
    /// Outside of a tokio runtime; the runtime needs its timer (`enable_time`).
    pub fn start(profile: Profile) -> Self {
        Self::with_config(profile, SessionConfig::default())
    }

    /// The same with limits of its own.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn with_config(profile: Profile, config: SessionConfig) -> Self {
        let session = Session::new(config, Vec::new());
        let service = ServiceSession::new(ServiceSessionConfig::default(), Vec::new());
        Self::spawn(Embedded::new(profile, session, service))
    }

    fn spawn(machine: impl Machine<Guarded<B>>) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        tokio::spawn(Agent::new(machine, receiver, None, TurnLimits::default()).run());
        Self { commands, core: None }
    }

    /// Makes a request over Service RPC and waits for its end: the response, or why there is none,
    /// and whether it has been executed. Dropping this future stops waiting and frees the request's
    /// place; it may have been sent.
    ///
    /// ```
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::loopback::ServiceAddress;
    /// use agentwire_core::rpc::session::ServiceReplyKind;
    /// use agentwire_tokio::client::{Client, RequestError, RequestOptions};
    ///
    /// async fn ask(client: &Client, bot: ServiceAddress, request: &str) -> Result<(), RequestError> {
    ///     let options = RequestOptions::default();
    ///     let reply = client.request(Standard::MCP, bot, request, options).await?;
    ///     if let ServiceReplyKind::Answer { text, .. } = reply.kind {
    ///         println!("{text}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`RequestError`]: nothing was sent, unless it is [`RequestError::Closed`].
    pub async fn request(
        &self,
        binding: B,
        target: impl Into<ServiceTarget>,
        request: impl Into<String>,
        options: RequestOptions,
    ) -> Result<ServiceReply, RequestError> {
        let (done, is_done) = oneshot::channel();
        let target = target.into();
        let options = options.signed(target.is_signed());
        let (binding, ticket) = (Guarded::new(binding), ServiceTicket::default());
        let mut pending =
            Pending { ticket: Arc::clone(&ticket), commands: &self.commands, is_over: false };
        let request = request.into();
        let command = Command::Request { binding, target, request, options, ticket, done };
        self.commands.send(command).map_err(|_| RequestError::Closed)?;
        let result = is_done.await.map_err(|_| RequestError::Closed)?;
        pending.is_over = true;
        result
    }

    pub(crate) const fn of(
        commands: mpsc::UnboundedSender<Command<B>>,
        core: Option<CoreHandle>,
    ) -> Self {
        Self { commands, core }
    }

    /// Calls somebody. The replies come through what is returned; dropping that stops waiting.
    /// If this future is dropped before it is done, nobody waits for the call, but its command
    /// may have been sent.
    ///
    /// # Errors
    /// [`ClientError::Call`] when the call is not made, [`ClientError::Closed`].
    pub async fn call(
        &self,
        binding: B,
        target: impl Into<Target>,
        request: impl Into<String>,
        options: CallOptions,
    ) -> Result<Replies<B>, ClientError> {
        let (deliveries, receiver) = mpsc::channel(REPLIES);
        let (made, is_made) = oneshot::channel();
        let (target, request) = (target.into(), request.into());
        // It travels to the task and back: whoever drops it from then on cancels the call.
        let commands = self.commands.clone();
        let replies = Replies::new(receiver, commands);
        let binding = Guarded::new(binding);
        let command =
            Command::Call { binding, target, request, options, deliveries, replies, made };
        self.commands.send(command).map_err(|_| ClientError::Closed)?;
        is_made.await.map_err(|_| ClientError::Closed)?.map_err(ClientError::Call)
    }
}

/// A request that nobody waits for once this is dropped.
struct Pending<'c, B> {
    ticket: ServiceTicket,
    commands: &'c mpsc::UnboundedSender<Command<B>>,
    is_over: bool,
}

impl<B> Drop for Pending<'_, B> {
    fn drop(&mut self) {
        if !self.is_over {
            // The task is gone, or it stops waiting.
            let _ = self.commands.send(Command::CancelRequest(Arc::clone(&self.ticket)));
        }
    }
}
