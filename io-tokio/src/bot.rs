//! Answering: [`Bot`].

use core::fmt;
use core::future::Future;
use std::sync::Arc;

use agentwire_core::binding::{Binding, Failure, Standard};
use agentwire_core::chat::responder::{AnswerError, Token, TokenKey};
use agentwire_core::chat::session::{self, Declared, NotifyError, Session, SessionConfig};
use agentwire_core::chat::size::TooLarge;
use agentwire_core::chat::{Chat, ItemId, Sender};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::agent::{Agent, Command};
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
    /// The conversation.
    pub chat: Chat,
    /// Who asks.
    pub sender: Sender,
    /// The command's item.
    pub item: ItemId,
    /// Encoded bytes that one reply has for its text.
    pub room: usize,
}

impl<B> Request<B> {
    /// The request, and the right to answer it.
    pub(crate) fn split(request: session::Request<B>) -> (Self, Token) {
        let session::Request { token, binding, text, id, chat, sender, item, room, .. } = request;
        (Self { binding, text, id, chat, sender, item, room }, token)
    }
}

impl<B: fmt::Debug> fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("binding", &self.binding)
            .field("text_len", &self.text.len())
            .field("chat", &self.chat)
            .field("sender", &self.sender)
            .finish_non_exhaustive()
    }
}

/// What answers commands: usually a closure. Each command is handled in a task of its own, which
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
    /// There is no room for it now.
    Busy,
    /// The bot's task has ended.
    Closed,
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(error) => error.fmt(f),
            Self::Busy => f.write_str("too many messages wait to be sent"),
            Self::Closed => f.write_str("the bot has ended"),
        }
    }
}

impl core::error::Error for ReplyError {}

/// The right, and the duty, to answer one command.
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
    request: Option<TokenKey>,
    commands: mpsc::UnboundedSender<Command<B>>,
}

impl<B> Replier<B> {
    /// Sends a reply that is not the last one: a notification, or part of a stream. `Ok` with the
    /// size of a part that did not fit: an error was sent in its place, and the command is
    /// answered.
    ///
    /// If the future is dropped before it is done, the reply is sent all the same, and the replier
    /// can be used on.
    ///
    /// # Errors
    /// [`ReplyError`]; nothing was sent then. Unless it is [`AnswerError::Gone`] or
    /// [`ReplyError::Closed`], the command is still to be answered.
    pub async fn notify(
        &mut self,
        text: impl Into<String>,
    ) -> Result<Option<TooLarge>, ReplyError> {
        let request = self.request.ok_or(ReplyError::Answer(AnswerError::Gone))?;
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
        is_done.await.map_err(|_| ReplyError::Closed)?.map_err(ReplyError::Answer)
    }

    /// Answers with the binding's error.
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
/// See [`Client`] for an example.
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
        let (commands, receiver) = mpsc::unbounded_channel();
        let session = Session::new(config, declared);
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
        let task = tokio::spawn(Agent::new(profile, session, receiver, Some(on_request)).run());
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
