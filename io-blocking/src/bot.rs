//! Answering: [`Bot`].

use core::fmt;
use core::mem;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicBool, Ordering};
use std::io;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use agentwire_core::binding::{Binding, Failure, Standard};
use agentwire_core::chat::responder::{AnswerError, RespondError, Token};
use agentwire_core::chat::session::{self, Declared, NotifyError, Session, SessionConfig};
use agentwire_core::chat::size::TooLarge;
use agentwire_core::chat::{Chat, ItemId, Sender};
use agentwire_core::loopback::SendError;

use crate::agent::Agent;
use crate::network::Profile;
use crate::queue::Queue;

/// A command to answer.
///
/// ```
/// use agentwire_blocking::bot::Request;
/// fn show(request: &Request) -> String {
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

/// Why an answer was not sent.
///
/// ```
/// use agentwire_blocking::bot::ReplyError;
/// use agentwire_core::chat::responder::AnswerError;
/// let error = ReplyError::Answer(AnswerError::Gone);
/// assert_eq!(error.to_string(), "the command has been answered");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReplyError {
    /// The session does not take it.
    Answer(AnswerError),
    /// There is no room for it now.
    Busy,
    /// The chat core refuses to send it: the command has been deleted, for example, and cannot be
    /// quoted any more.
    NotSent(SendError),
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(error) => error.fmt(f),
            Self::Busy => f.write_str("too many messages wait to be sent"),
            Self::NotSent(error) => write!(f, "the chat core refuses the answer: {error}"),
        }
    }
}

impl core::error::Error for ReplyError {}

/// The right, and the duty, to answer one command. Dropped without a last reply it sends the
/// binding's internal error at once. It can be moved to another thread.
///
/// ```
/// use agentwire_blocking::bot::{Replier, ReplyError};
/// fn answer(replier: Replier) -> Result<(), ReplyError> {
///     replier.respond(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)?;
///     Ok(())
/// }
/// ```
pub struct Replier<B: Binding = Standard> {
    token: Option<Token>,
    agent: Arc<Agent<B>>,
}

impl<B: Binding> Replier<B> {
    /// Sends a reply that is not the last one: a notification, or part of a stream. `Ok` with the
    /// size of a part that did not fit: an error was sent in its place, and the command is
    /// answered.
    ///
    /// # Errors
    /// [`ReplyError`]; nothing was sent then.
    pub fn notify(&mut self, text: &str) -> Result<Option<TooLarge>, ReplyError> {
        let gone = ReplyError::Answer(AnswerError::Gone);
        let token = self.token.as_ref().ok_or(gone)?;
        let now = self.agent.now();
        let mut state = self.agent.lock();
        let replaced =
            state.endpoint.session_mut().notify(now, token, text).map_err(|error| match error {
                NotifyError::Answer(error) => ReplyError::Answer(error),
                _ => ReplyError::Busy,
            })?;
        let refused = self.agent.drain(&mut state, Some(token.key())).refused;
        drop(state);
        if replaced.is_some() {
            self.token = None;
        }
        refused.map_or(Ok(replaced), |error| Err(ReplyError::NotSent(error)))
    }

    /// Sends the last reply. `Ok` with its size if it did not fit: an error was sent in its place.
    ///
    /// # Errors
    /// [`ReplyError`]; the caller gets the binding's internal error then, unless the command has
    /// been answered or the chat core sends no answer to it.
    pub fn respond(mut self, text: &str) -> Result<Option<TooLarge>, ReplyError> {
        let token = self.token.take().ok_or(ReplyError::Answer(AnswerError::Gone))?;
        let key = token.key();
        let now = self.agent.now();
        let mut state = self.agent.lock();
        match state.endpoint.session_mut().respond(now, token, text) {
            Ok(replaced) => match self.agent.drain(&mut state, Some(key)).refused {
                Some(error) => Err(ReplyError::NotSent(error)),
                None => Ok(replaced),
            },
            Err(RespondError { token, cause, .. }) => {
                self.agent.fail(&mut state, token, &Failure::Internal);
                self.agent.drain(&mut state, None);
                Err(ReplyError::Answer(cause))
            }
        }
    }

    /// Answers with the binding's error.
    pub fn fail(mut self, failure: &Failure<'_>) {
        self.fail_with(failure);
    }

    /// Whether an answer is still waited for: not after a limit of the session has passed.
    pub fn is_open(&self) -> bool {
        let state = self.agent.lock();
        self.token.as_ref().is_some_and(|token| state.endpoint.session().budget(token).is_some())
    }

    fn fail_with(&mut self, failure: &Failure<'_>) {
        if let Some(token) = self.token.take() {
            let mut state = self.agent.lock();
            self.agent.fail(&mut state, token, failure);
            self.agent.drain(&mut state, None);
        }
    }
}

impl<B: Binding> Drop for Replier<B> {
    fn drop(&mut self) {
        self.fail_with(&Failure::Internal);
    }
}

impl<B: Binding> fmt::Debug for Replier<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replier").field("token", &self.token).finish_non_exhaustive()
    }
}

/// The limits of a [`Bot`].
///
/// ```
/// use agentwire_blocking::bot::BotConfig;
/// let config = BotConfig::default().workers(8);
/// assert_eq!((config.workers, config.max_waiting), (8, 256));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BotConfig {
    /// The session's limits.
    pub session: SessionConfig,
    /// How many handlers run at once, each in a thread; 4 by default, at least one.
    pub workers: usize,
    /// How many requests wait for a worker; 256 by default. A further one is told that the bot is
    /// busy.
    pub max_waiting: usize,
}

impl Default for BotConfig {
    fn default() -> Self {
        Self { session: SessionConfig::default(), workers: 4, max_waiting: 256 }
    }
}

impl BotConfig {
    /// With these limits of the session.
    #[must_use]
    pub const fn session(mut self, session: SessionConfig) -> Self {
        self.session = session;
        self
    }

    /// With this many handlers at once.
    #[must_use]
    pub const fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// With this many requests waiting.
    #[must_use]
    pub const fn max_waiting(mut self, requests: usize) -> Self {
        self.max_waiting = requests;
        self
    }
}

/// Answers the commands that a profile receives: one thread that waits for them, and workers that
/// run the handler. Dropping it is [`shutdown`](Self::shutdown).
///
/// [`Client`](crate::client::Client) shows a bot and its caller.
///
/// ```
/// use agentwire_blocking::bot::{Bot, Replier, Request};
/// use agentwire_blocking::network::Profile;
/// use agentwire_core::binding::{Failure, Standard};
/// use agentwire_core::chat::session::Declared;
///
/// fn serve(profile: Profile) -> std::io::Result<Bot> {
///     let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
///     Bot::start(profile, declared, |_: Request, replier: Replier| {
///         replier.fail(&Failure::MethodNotFound);
///     })
/// }
/// ```
pub struct Bot<B: Binding = Standard> {
    agent: Arc<Agent<B>>,
    requests: Arc<Queue<session::Request<B>>>,
    is_stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl<B: Binding + Send + 'static> Bot<B> {
    /// Starts the threads that speak for a profile and declares these protocols. If the handler
    /// panics, or drops the replier without a last reply, the caller gets the binding's internal
    /// error.
    ///
    /// # Errors
    /// [`io::Error`] when a thread cannot be started.
    pub fn start(
        profile: Profile,
        declared: Vec<Declared<B>>,
        handler: impl Fn(Request<B>, Replier<B>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::with_config(profile, declared, BotConfig::default(), handler)
    }

    /// The same with limits of its own.
    ///
    /// # Errors
    /// [`io::Error`] when a thread cannot be started.
    pub fn with_config(
        profile: Profile,
        declared: Vec<Declared<B>>,
        config: BotConfig,
        handler: impl Fn(Request<B>, Replier<B>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let requests = Arc::new(Queue::new(config.max_waiting));
        let session = Session::new(config.session, declared);
        let agent = Arc::new(Agent::new(profile, session, Some(Arc::clone(&requests))));
        let mut bot = Self {
            agent,
            requests,
            is_stopping: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
        };
        let handler = Arc::new(handler);
        for _ in 0..config.workers.max(1) {
            let (agent, requests) = (Arc::clone(&bot.agent), Arc::clone(&bot.requests));
            let handler = Arc::clone(&handler);
            bot.spawn("agentwire worker", move || work(&agent, &requests, &*handler))?;
        }
        let (agent, is_stopping) = (Arc::clone(&bot.agent), Arc::clone(&bot.is_stopping));
        bot.spawn("agentwire bot", move || attend(&agent, &is_stopping))?;
        Ok(bot)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(thread::Builder::new().name(name.into()).spawn(run)?);
        Ok(())
    }
}

impl<B: Binding> Bot<B> {
    /// Takes no new commands, waits until what is open has been answered, and joins the threads.
    /// The session's limits answer for handlers that do not; a handler that never returns is
    /// waited for all the same.
    pub fn shutdown(self) {
        drop(self);
    }
}

impl<B: Binding> Drop for Bot<B> {
    fn drop(&mut self) {
        self.agent.lock().endpoint.session_mut().stop();
        self.requests.close();
        self.is_stopping.store(true, Ordering::Release);
        self.agent.profile.network().wake();
        for thread in mem::take(&mut self.threads) {
            // A handler that owns its bot cannot wait for itself.
            if thread.thread().id() != thread::current().id() {
                // Handlers' panics are caught; another one has been reported where it happened.
                let _ = thread.join();
            }
        }
    }
}

impl<B: Binding> fmt::Debug for Bot<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bot")
            .field("profile", &self.agent.profile)
            .field("threads", &self.threads.len())
            .finish_non_exhaustive()
    }
}

/// Takes steps and waits for the next one, until the bot is stopped and nothing is open.
fn attend<B: Binding>(agent: &Agent<B>, is_stopping: &AtomicBool) {
    loop {
        let mut state = agent.lock();
        let waiting = agent.drain(&mut state, None);
        let is_idle = state.endpoint.session().open_requests() == 0;
        drop(state);
        if is_idle && is_stopping.load(Ordering::Acquire) {
            return;
        }
        agent.profile.network().wait(waiting.seen, waiting.until);
    }
}

/// Runs the handler for one request after the other.
fn work<B: Binding>(
    agent: &Arc<Agent<B>>,
    requests: &Queue<session::Request<B>>,
    handler: &(dyn Fn(Request<B>, Replier<B>) + Send + Sync),
) {
    while let Some(taken) = requests.pop() {
        let replier = Replier { token: Some(taken.token), agent: Arc::clone(agent) };
        if !replier.is_open() {
            // It has waited too long and was answered for that.
            continue;
        }
        let request = Request {
            binding: taken.binding,
            text: taken.text,
            id: taken.id,
            chat: taken.chat,
            sender: taken.sender,
            item: taken.item,
            room: taken.room,
        };
        // The unwinding drops the replier, which answers; the handler itself is only shared.
        let _ = catch_unwind(AssertUnwindSafe(|| handler(request, replier)));
    }
}
