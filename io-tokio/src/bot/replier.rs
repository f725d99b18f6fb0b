//! Answering one request: [`Replier`].

use core::fmt;

use agentwire_core::binding::{Failure, Standard};
use agentwire_core::chat::responder::AnswerError;
use agentwire_core::chat::size::TooLarge;
use agentwire_core::rpc::ServiceAnswerError;
use tokio::sync::{mpsc, oneshot};

use crate::agent::{Command, RequestKey};
use crate::client::NotSent;

/// Why an answer was not sent.
///
/// ```
/// use agentwire_tokio::bot::ReplyError;
/// assert_eq!(ReplyError::Closed.to_string(), "the bot has ended");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// The chat core has not sent it: the command has been deleted, for example, and cannot be
    /// quoted any more.
    NotSent(NotSent),
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
            Self::NotSent(error) => write!(f, "the answer was not sent: {error}"),
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

    pub(super) const fn new(
        request: RequestKey,
        commands: mpsc::UnboundedSender<Command<B>>,
    ) -> Self {
        Self { request: Some(request), commands }
    }

    /// Sends a reply that is not the last one: a notification, or part of a stream. It is done when
    /// the chat core has taken it, so that nobody produces faster than is sent. `Ok` with the
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
        if matches!(result, Ok(Some(_)) | Err(ReplyError::Answer(AnswerError::Gone))) {
            self.request = None;
        }
        result
    }

    /// Sends the last reply. It is done when the chat core has taken it. `Ok` with its size if it
    /// did not fit: an error was sent in its place.
    /// If the future is dropped before it is done, the reply is sent all the same.
    ///
    /// # Errors
    /// [`ReplyError`]; the caller gets the binding's internal error then, unless the command has
    /// been answered, or the chat core sends no answer to it ([`ReplyError::NotSent`]).
    pub async fn respond(
        mut self,
        text: impl Into<String>,
    ) -> Result<Option<TooLarge>, ReplyError> {
        let request = self.request.take().ok_or(ReplyError::Answer(AnswerError::Gone))?;
        let (done, is_done) = oneshot::channel();
        let command = Command::Respond { request, text: text.into(), done };
        self.commands.send(command).map_err(|_| ReplyError::Closed)?;
        is_done.await.map_err(|_| ReplyError::Closed)?
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
