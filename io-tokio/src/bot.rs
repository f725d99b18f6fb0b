//! Answering: [`Bot`].

use core::fmt;
use core::future::Future;
use std::sync::Arc;

use agentwire_core::binding::{Binding, Failure, Standard};
use agentwire_core::chat::responder::{AnswerError, Token};
use agentwire_core::chat::session::{self, Declared, NotifyError, Session, SessionConfig};
use agentwire_core::chat::size::TooLarge;
use agentwire_core::chat::{Chat, ItemId, Sender};
use agentwire_core::loopback::ServiceTarget;
use agentwire_core::rpc::session::{IncomingRequest, ServiceSession, ServiceSessionConfig};
use agentwire_core::rpc::{ServiceAnswerError, SignerKey};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::agent::{Agent, Command, RequestKey, RespondError};
use crate::client::Client;
use crate::network::Profile;

/// A command to answer.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_tokio::bot::Request;
/// fn show(request: &Request<Standard>) -> String {
///     format!("{} bytes, {} left for the reply", request.text.len(), request.room)
/// }
/// ```
#[non_exhaustive]
pub struct Request<B = Standard> {
    /// The protocol.
    pub binding: B,
    /// The protocol's request, one JSON object.
    pub text: String,
    /// The JSON text with which an answer names the request, where the protocol has one.
    pub id: Option<String>,
    /// How it has come, and who asks.
    pub via: Via,
    /// Encoded bytes that one reply, or the response, has for its text.
    pub room: usize,
}

/// How a request has come.
///
/// ```
/// use agentwire_tokio::bot::Via;
/// fn who(via: &Via) -> String {
///     match via {
///         Via::Chat { sender, .. } => format!("{sender:?}"),
///         Via::Service { signer: Some(key) } => format!("the one with the key {key}"),
///         _ => String::from("anybody"),
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Via {
    /// A command in a conversation.
    Chat {
        /// The conversation.
        chat: Chat,
        /// Who asks.
        sender: Sender,
        /// The command's item.
        item: ItemId,
    },
    /// Service RPC: one request, one response.
    Service {
        /// Who signed it, if anybody did.
        signer: Option<SignerKey>,
    },
}

impl<B> Request<B> {
    /// The request, and the right to answer it.
    pub(crate) fn split(request: session::Request<B>) -> (Self, Token) {
        let session::Request { token, binding, text, id, chat, sender, item, room, .. } = request;
        (Self { binding, text, id, via: Via::Chat { chat, sender, item }, room }, token)
    }
}

impl<B> From<IncomingRequest<B>> for Request<B> {
    fn from(request: IncomingRequest<B>) -> Self {
        let IncomingRequest { binding, text, id, signer, room, .. } = request;
        Self { binding, text, id, via: Via::Service { signer }, room }
    }
}

impl<B: fmt::Debug> fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("binding", &self.binding)
            .field("text_len", &self.text.len())
            .field("via", &self.via)
            .finish_non_exhaustive()
    }
}

/// What answers commands and requests over Service RPC: usually a closure. Each command is handled in a task of its own, which
/// is ended at its next `.await` if the command's limits ([`SessionConfig::responder`]) pass
/// before its last reply: the caller has got the binding's error then. After its last reply a
/// handler may go on as long as it likes.
///
/// ```
/// use agentwire_core::binding::{Failure, Standard};
/// use agentwire_tokio::bot::{Handler, Replier, Request};
///
/// struct Refuse;
///
/// impl Handler<Standard> for Refuse {
///     async fn handle(&self, _request: Request, replier: Replier) {
///         replier.fail(Failure::MethodNotFound);
///     }
/// }
/// ```
pub trait Handler<B>: Send + Sync + 'static {
    /// Answers one command. If it panics, or drops the replier without a last reply, the caller
    /// gets the binding's internal error, and other commands notice nothing.
    fn handle(&self, request: Request<B>, replier: Replier<B>) -> impl Future<Output = ()> + Send;
}

impl<B, F, W> Handler<B> for F
where
    F: Fn(Request<B>, Replier<B>) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    fn handle(&self, request: Request<B>, replier: Replier<B>) -> impl Future<Output = ()> + Send {
        self(request, replier)
    }
}

/// Why an answer was not sent.
///
/// ```
/// use agentwire_tokio::bot::ReplyError;
/// assert_eq!(ReplyError::Closed.to_string(), "the bot has ended");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReplyError {
    /// The session does not take it.
    Answer(AnswerError),
    /// The session for Service RPC does not take it.
    Service(ServiceAnswerError),
    /// Service RPC carries one response and nothing before it; nothing was sent, and the request is
    /// still to be answered.
    OneResponse,
    /// There is no room for it now.
    Busy,
    /// The bot's task has ended.
    Closed,
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(error) => error.fmt(f),
            Self::Service(error) => error.fmt(f),
            Self::OneResponse => f.write_str("Service RPC carries one response and nothing else"),
            Self::Busy => f.write_str("too many messages wait to be sent"),
            Self::Closed => f.write_str("the bot has ended"),
        }
    }
}

impl core::error::Error for ReplyError {}

/// The right, and the duty, to answer one command, or one request over Service RPC.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_tokio::bot::{Replier, ReplyError};
/// async fn answer(replier: Replier<Standard>) -> Result<(), ReplyError> {
///     replier.respond(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await?;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Replier<B = Standard> {
    /// `None` once the last reply is out.
    request: Option<RequestKey>,
    commands: mpsc::UnboundedSender<Command<B>>,
}

impl<B> Replier<B> {
    /// Whether [`notify`](Self::notify) can send anything: not over Service RPC.
    #[must_use]
    pub const fn can_notify(&self) -> bool {
        matches!(self.request, Some(RequestKey::Chat(_)))
    }

    /// Sends a reply that is not the last one: a notification, or part of a stream. `Ok` with the
    /// size of a part that did not fit: an error was sent in its place, and the command is
    /// answered.
    ///
    /// If the future is dropped before it is done, the reply is sent all the same, and the replier
    /// can be used on.
    ///
    /// # Errors
    /// [`ReplyError`]; nothing was sent then. Unless it is [`AnswerError::Gone`] or
    /// [`ReplyError::Closed`], the command is still to be answered. Over Service RPC it is always
    /// [`ReplyError::OneResponse`].
    pub async fn notify(
        &mut self,
        text: impl Into<String>,
    ) -> Result<Option<TooLarge>, ReplyError> {
        let request = match self.request {
            Some(RequestKey::Chat(request)) => request,
            Some(RequestKey::Service(_)) => return Err(ReplyError::OneResponse),
            None => return Err(ReplyError::Answer(AnswerError::Gone)),
        };
        let (done, is_done) = oneshot::channel();
        let command = Command::Notify { request, text: text.into(), done };
        self.commands.send(command).map_err(|_| ReplyError::Closed)?;
        let result = is_done.await.map_err(|_| ReplyError::Closed)?;
        if matches!(result, Ok(Some(_)) | Err(NotifyError::Answer(AnswerError::Gone))) {
            self.request = None;
        }
        result.map_err(|error| match error {
            NotifyError::Answer(error) => ReplyError::Answer(error),
            _ => ReplyError::Busy,
        })
    }

    /// Sends the last reply. `Ok` with its size if it did not fit: an error was sent in its place.
    /// If the future is dropped before it is done, the reply is sent all the same.
    ///
    /// # Errors
    /// [`ReplyError`]; the caller gets the binding's internal error then, unless the command has
    /// been answered.
    pub async fn respond(
        mut self,
        text: impl Into<String>,
    ) -> Result<Option<TooLarge>, ReplyError> {
        let request = self.request.take().ok_or(ReplyError::Answer(AnswerError::Gone))?;
        let (done, is_done) = oneshot::channel();
        let command = Command::Respond { request, text: text.into(), done };
        self.commands.send(command).map_err(|_| ReplyError::Closed)?;
        is_done.await.map_err(|_| ReplyError::Closed)?.map_err(|error| match error {
            RespondError::Chat(error) => ReplyError::Answer(error),
            RespondError::Service(error) => ReplyError::Service(error),
        })
    }

    /// Says that the request needs a conversation: over Service RPC the envelope's
    /// `conversation_required`. In a conversation, where nothing more can be asked for, the
    /// binding's internal error.
    pub fn require_conversation(mut self) {
        if let Some(request) = self.request.take() {
            // Nobody is there to answer any more if the bot has ended.
            let _ = self.commands.send(Command::Unsuited(request));
        }
    }

    /// Answers with the binding's error, or over Service RPC with the envelope's where it has one
    /// ([`rpc::session`](agentwire_core::rpc::session)).
    pub fn fail(mut self, failure: Failure<'static>) {
        self.fail_with(failure);
    }

    fn fail_with(&mut self, failure: Failure<'static>) {
        if let Some(request) = self.request.take() {
            // Nobody is there to answer any more if the bot has ended.
            let _ = self.commands.send(Command::Fail { request, failure });
        }
    }
}

impl<B> Drop for Replier<B> {
    fn drop(&mut self) {
        self.fail_with(Failure::Internal);
    }
}

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
    task: JoinHandle<()>,
}

impl<B: Binding + Send + 'static> Bot<B> {
    /// Starts the task that speaks for a profile and declares these protocols.
    ///
    /// # Panics
    /// Outside of a tokio runtime; the runtime needs its timer (`enable_time`).
    pub fn start(profile: Profile, declared: Vec<Declared<B>>, handler: impl Handler<B>) -> Self {
        Self::with_config(profile, declared, SessionConfig::default(), handler)
    }

    /// The same with limits of its own.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn with_config(
        profile: Profile,
        declared: Vec<Declared<B>>,
        config: SessionConfig,
        handler: impl Handler<B>,
    ) -> Self {
        let service = ServiceSession::new(ServiceSessionConfig::default(), Vec::new());
        Self::with_service(profile, Session::new(config, declared), service, handler)
    }

    /// The same, answering over Service RPC too, with the same handler: what the second session
    /// declares is served there. The profile needs an [address](crate::network::Network::open_address).
    ///
    /// ```
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::chat::session::{Declared, Session, SessionConfig};
    /// use agentwire_core::rpc::session::{ServiceReplyKind, ServiceSession, ServiceSessionConfig};
    /// use agentwire_tokio::bot::{Bot, Replier, Request};
    /// use agentwire_tokio::client::{Client, RequestOptions};
    /// use agentwire_tokio::network::Network;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let network = Network::new(1);
    /// let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
    /// let address = network.open_address(&bot).unwrap();
    /// let declared = || vec![Declared::new(Standard::A2A, ["1.0"])];
    /// let chat = Session::new(SessionConfig::default(), declared());
    /// let service = ServiceSession::new(ServiceSessionConfig::default(), declared());
    /// let handler = |request: Request<Standard>, replier: Replier<Standard>| async move {
    ///     let id = request.id.unwrap_or_default();
    ///     let result = r#"{"message":{"messageId":"n","role":"ROLE_AGENT","parts":[]}}"#;
    ///     let _ = replier.respond(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    /// };
    /// let bot = Bot::with_service(bot, chat, service, handler);
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
    /// As [`start`](Self::start).
    pub fn with_service(
        profile: Profile,
        session: Session<B>,
        service: ServiceSession<B, ServiceTarget>,
        handler: impl Handler<B>,
    ) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let handler = Arc::new(handler);
        // Weak: the task does not keep itself alive.
        let for_repliers = commands.downgrade();
        let on_request = Box::new(move |request, key| {
            let replier = Replier { request: Some(key), commands: for_repliers.upgrade()? };
            let handler = Arc::clone(&handler);
            // A panic ends this task alone; it drops the replier, which answers.
            let task = tokio::spawn(async move { handler.handle(request, replier).await });
            Some(task.abort_handle())
        });
        let agent = Agent::new(profile, session, service, receiver, Some(on_request));
        let task = tokio::spawn(agent.run());
        Self { commands, task }
    }

    /// Calls others for the same profile. The client's calls end with the bot, with
    /// [`ClientError::Closed`](crate::client::ClientError::Closed).
    pub fn client(&self) -> Client<B> {
        Client::of(self.commands.clone())
    }

    /// Answers new commands with the binding's internal error, waits until what is open has been
    /// answered, at the latest when its limits pass, and ends.
    pub async fn shutdown(mut self) {
        let _ = self.commands.send(Command::Stop);
        // An error would be a panic of the task, which has ended then too.
        let _ = (&mut self.task).await;
    }
}

impl<B> Drop for Bot<B> {
    fn drop(&mut self) {
        // Repliers and clients hold the queue open: its end is no sign. An error: it has ended.
        let _ = self.commands.send(Command::Stop);
    }
}
