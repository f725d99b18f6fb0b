//! Answering: [`Bot`].

mod admit;
mod approving;
mod config;
mod connect;
mod handler;
mod replier;
mod request;

use core::time::Duration;
use std::sync::Arc;

use agentwire_core::binding::{Binding, Guarded, Standard};
use agentwire_core::chat::session::Session;
use agentwire_core::rpc::session::ServiceSession;
use agentwire_core::turns::TurnLimits;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::agent::{Agent, Command, CoreHandle, Embedded, Machine};
use crate::client::Client;
use crate::network::Profile;
pub use admit::{AdmittedCall, Admitting};
pub use approving::{Approving, Asked};
pub use config::BotConfig;
use config::guarded;
use handler::Served;
pub use handler::{Everybody, Gate, Handler};
pub use replier::{Replier, ReplyError};
pub use request::{Request, Via};

/// Answers the commands that a profile receives.
///
/// When it is dropped, it ends as [`shutdown`](Self::shutdown) ends it, unwatched.
///
/// [`Client`] shows a bot and its caller.
///
/// ```
/// use agentwire_core::binding::{Failure, Standard};
/// use agentwire_core::chat::session::Declared;
/// use agentwire_tokio::bot::{Bot, Replier, Request};
/// use agentwire_tokio::network::Profile;
///
/// fn serve(profile: Profile) -> Bot {
///     let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
///     Bot::start(profile, declared, |_: Request, replier: Replier| async move {
///         replier.fail(Failure::MethodNotFound);
///     })
/// }
/// ```
#[derive(Debug)]
pub struct Bot<B = Standard> {
    commands: mpsc::UnboundedSender<Command<B>>,
    /// `None` for a profile of the embedded loopback.
    core: Option<CoreHandle>,
    task: JoinHandle<()>,
}

impl<B: Binding + Send + 'static> Bot<B> {
    /// Starts the task that speaks for a profile, and serves what is declared: a list of protocols,
    /// or a [`BotConfig`]. For Service RPC the profile needs an
    /// [address](crate::network::Network::open_address).
    ///
    /// ```
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::chat::session::Declared;
    /// use agentwire_core::rpc::session::ServiceReplyKind;
    /// use agentwire_tokio::bot::{Bot, BotConfig, Replier, Request};
    /// use agentwire_tokio::client::{Client, RequestOptions};
    /// use agentwire_tokio::network::Network;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let network = Network::new(1);
    /// let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
    /// let address = network.open_address(&bot).unwrap();
    /// let config = BotConfig::from(vec![Declared::new(Standard::A2A, ["1.0"])])
    ///     .service(vec![Declared::new(Standard::A2A, ["1.0"])]);
    /// let handler = |request: Request<Standard>, replier: Replier<Standard>| async move {
    ///     let id = request.id.unwrap_or_default();
    ///     let result = r#"{"message":{"messageId":"n","role":"ROLE_AGENT","parts":[]}}"#;
    ///     let _ = replier.respond(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    /// };
    /// let bot = Bot::start(bot, config, handler);
    /// let request = r#"{"jsonrpc":"2.0","id":7,"method":"SendMessage",
    ///     "a2a-service-parameters":{"A2A-Version":"1.0"},
    ///     "params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;
    /// let client = Client::start(ann);
    /// let options = RequestOptions::default();
    /// let reply = client.request(Standard::A2A, address, request, options).await.unwrap();
    /// assert!(matches!(reply.kind, ServiceReplyKind::Answer { .. }));
    /// bot.shutdown().await;
    /// # });
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime; the runtime needs its timer (`enable_time`).
    pub fn start<G: Gate<B>>(
        profile: Profile,
        config: impl Into<BotConfig<B, G>>,
        handler: impl Handler<B>,
    ) -> Self {
        let config = config.into();
        let session = Session::new(config.session, guarded(config.declared));
        let service = ServiceSession::new(config.service_session, guarded(config.service));
        let machine = Embedded::new(profile, session, service);
        Self::spawn(machine, config.turns, config.gate, handler, false)
    }

    fn spawn(
        machine: impl Machine<Guarded<B>>,
        turns: TurnLimits,
        gate: impl Gate<B>,
        handler: impl Handler<B>,
        says_begin: bool,
    ) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let served = Served { handler, gate, says_begin, commands: commands.downgrade() };
        let agent = Agent::new(machine, receiver, Some(Arc::new(served)), turns);
        let task = tokio::spawn(agent.run());
        Self { commands, core: None, task }
    }

    /// Calls others for the same profile. The client's calls end with the bot, with
    /// [`ClientError::Closed`](crate::client::ClientError::Closed).
    pub fn client(&self) -> Client<B> {
        Client::of(self.commands.clone(), self.core.clone())
    }

    /// Answers new commands with the binding's internal error, waits until what is open has been
    /// answered, at the latest when its limits pass, and ends.
    pub async fn shutdown(mut self) {
        let _ = self.commands.send(Command::Stop);
        // An error would be a panic of the task, which has ended then too.
        let _ = (&mut self.task).await;
    }

    /// The same, but what is still open after this span is answered with the binding's internal
    /// error, and its handler ended.
    pub async fn shutdown_within(mut self, span: Duration) {
        let _ = self.commands.send(Command::Stop);
        if timeout(span, &mut self.task).await.is_err() {
            let _ = self.commands.send(Command::Abandon);
            let _ = (&mut self.task).await;
        }
    }
}

impl<B> Drop for Bot<B> {
    fn drop(&mut self) {
        // Repliers and clients hold the queue open: its end is no sign. An error: it has ended.
        let _ = self.commands.send(Command::Stop);
    }
}
