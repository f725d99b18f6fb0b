//! Answering: [`Bot`].

#[cfg(unix)]
mod connect;

use core::fmt;
use core::mem;
use core::panic::AssertUnwindSafe;
use std::io;
use std::panic::catch_unwind;
use std::sync::{Arc, MutexGuard};
use std::thread::{self, JoinHandle};

use agentwire_core::admission::Person;
use agentwire_core::binding::{Binding, Failure, Guarded, Standard};
use agentwire_core::chat::responder::{AnswerError, RespondError};
use agentwire_core::chat::session::{Declared, NotifyError, Session, SessionConfig};
use agentwire_core::chat::size::TooLarge;
use agentwire_core::chat::{Chat, ItemId, Sender};
use agentwire_core::rpc::session::{ServiceSession, ServiceSessionConfig};
use agentwire_core::rpc::{ServiceAnswerError, SignerKey};
use agentwire_core::simplex::journal::JournalConfig;
use agentwire_core::turns::TurnLimits;

use crate::agent::{Agent, RequestKey, Right, State, Waiting};
use crate::bell::Bell;
use crate::client::{Client, NotSent};
use crate::machines::{Embedded, Machine};
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
    /// How it has come, and who asks.
    pub via: Via,
    /// Encoded bytes that one reply, or the response, has for its text.
    pub room: usize,
}

/// How a request has come.
///
/// ```
/// use agentwire_blocking::bot::Via;
/// fn who(via: &Via) -> String {
///     match via {
///         Via::Chat { sender, .. } => format!("{sender:?}"),
///         Via::Service { signer: Some(key) } => format!("the one with the key {key}"),
///         Via::Service { signer: None } => String::from("anybody"),
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_enums)] // The document has these two.
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

impl Via {
    /// Whose turn it takes.
    #[doc(hidden)]
    pub const fn person(&self) -> Person {
        match self {
            Self::Chat { chat, sender, .. } => Person::of(*chat, *sender),
            Self::Service { signer } => Person::signer(*signer),
        }
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

/// Why an answer was not sent.
///
/// ```
/// use agentwire_blocking::bot::ReplyError;
/// use agentwire_core::chat::responder::AnswerError;
/// let error = ReplyError::Answer(AnswerError::Gone);
/// assert_eq!(error.to_string(), "the command has been answered");
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
    /// The bot has ended.
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

/// The right, and the duty, to answer one command, or one request over Service RPC. Dropped without
/// a last reply it sends the binding's internal error at once. It can be moved to another thread.
///
/// ```
/// use agentwire_blocking::bot::{Replier, ReplyError};
/// fn answer(replier: Replier) -> Result<(), ReplyError> {
///     replier.respond(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)?;
///     Ok(())
/// }
/// ```
pub struct Replier<B: Binding = Standard> {
    right: Option<Right>,
    agent: Arc<Agent<B>>,
}

impl<B: Binding> Replier<B> {
    /// Whether [`notify`](Self::notify) can send anything: not over Service RPC.
    #[must_use]
    pub const fn can_notify(&self) -> bool {
        matches!(self.right, Some(Right::Chat(_)))
    }

    /// Sends a reply that is not the last one: a notification, or part of a stream. It returns when
    /// the chat core has taken it. `Ok` with the size of a part that did not fit: an error was sent
    /// in its place, and the command is answered.
    ///
    /// # Errors
    /// [`ReplyError`]; nothing was sent then.
    pub fn notify(&mut self, text: &str) -> Result<Option<TooLarge>, ReplyError> {
        let token = match &self.right {
            Some(Right::Chat(token)) => token,
            Some(Right::Service(_)) => return Err(ReplyError::OneResponse),
            None => return Err(ReplyError::Answer(AnswerError::Gone)),
        };
        let mut state = self.agent.lock();
        let replaced = state.machine.notify(token, text).map_err(|error| match error {
            NotifyError::Answer(error) => ReplyError::Answer(error),
            _ => ReplyError::Busy,
        })?;
        let waiter = state.wait_for(RequestKey::Chat(token.key()));
        let sent = self.sent(state, waiter);
        if replaced.is_some() {
            self.right = None;
        }
        sent.map(|()| replaced)
    }

    /// Sends the last reply. It returns when the chat core has taken it. `Ok` with its size if it
    /// did not fit: an error was sent in its place.
    ///
    /// # Errors
    /// [`ReplyError`]; the caller gets the binding's internal error then, unless the command has
    /// been answered or the chat core sends no answer to it.
    pub fn respond(mut self, text: &str) -> Result<Option<TooLarge>, ReplyError> {
        let right = self.right.take().ok_or(ReplyError::Answer(AnswerError::Gone))?;
        let key = right.key();
        let mut state = self.agent.lock();
        let result = match right {
            Right::Chat(token) => state.machine.respond(token, text).map_err(
                |RespondError { token, cause, .. }| {
                    state.machine.fail(token, &Failure::Internal);
                    ReplyError::Answer(cause)
                },
            ),
            Right::Service(request) => {
                state.machine.respond_service(&request, text).map_err(|error| {
                    state.machine.fail_service(&request, &Failure::Internal);
                    ReplyError::Service(error)
                })
            }
        };
        match result {
            Ok(replaced) => {
                let waiter = state.wait_for(key);
                self.sent(state, waiter).map(|()| replaced)
            }
            Err(error) => {
                self.agent.act(&mut state);
                Err(error)
            }
        }
    }

    /// Waits until an answer was sent, or not.
    fn sent<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<B>>,
        waiter: u64,
    ) -> Result<(), ReplyError> {
        let mut pause = self.agent.act(&mut state);
        loop {
            if let Some(outcome) = state.outcome(waiter) {
                return outcome.map_err(ReplyError::NotSent);
            }
            if state.is_closed {
                return Err(ReplyError::Closed);
            }
            drop(state);
            self.agent.wait(&pause, None);
            state = self.agent.lock();
            pause = self.agent.drain(&mut state);
        }
    }

    /// Says that the request needs a conversation: over Service RPC the envelope's
    /// `conversation_required`. In a conversation, where nothing more can be asked for, the
    /// binding's internal error.
    pub fn require_conversation(mut self) {
        match self.right.take() {
            Some(Right::Service(request)) => {
                let mut state = self.agent.lock();
                state.machine.require_conversation(&request);
                self.agent.act(&mut state);
            }
            right => {
                self.right = right;
                self.fail_with(&Failure::Internal);
            }
        }
    }

    /// Answers with the binding's error.
    pub fn fail(mut self, failure: &Failure<'_>) {
        self.fail_with(failure);
    }

    /// Whether an answer is still waited for: not after a limit of the session has passed. Over
    /// Service RPC that is known when it is given.
    pub fn is_open(&self) -> bool {
        match &self.right {
            Some(Right::Chat(token)) => self.agent.lock().machine.is_open(token),
            Some(Right::Service(_)) => true,
            None => false,
        }
    }

    fn fail_with(&mut self, failure: &Failure<'_>) {
        if let Some(right) = self.right.take() {
            let mut state = self.agent.lock();
            state.fail(right, failure);
            self.agent.act(&mut state);
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
        f.debug_struct("Replier").field("right", &self.right).finish_non_exhaustive()
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
    /// How many requests wait for a worker; 256 by default, and no more of one caller. A further
    /// one is told that the bot is busy.
    pub max_waiting: usize,
    /// How many requests of one caller are handled at once; by default as many as there are
    /// workers.
    pub max_per_caller: usize,
    /// Whether the protocols are served over Service RPC too; not by default.
    pub service: bool,
    /// The limits of Service RPC.
    pub service_session: ServiceSessionConfig,
    /// Whether the profile at a core says what is served; it does by default.
    pub publish: bool,
    /// Whether a command that an earlier process had begun may be run again; not by default.
    pub is_idempotent: bool,
    /// The limits of the call journal at a core, where none is given: how many commands are open at
    /// once among them.
    pub journal_limits: JournalConfig,
}

impl Default for BotConfig {
    fn default() -> Self {
        Self {
            session: SessionConfig::default(),
            workers: 4,
            max_waiting: 256,
            max_per_caller: usize::MAX,
            service: false,
            service_session: ServiceSessionConfig::default(),
            publish: true,
            is_idempotent: false,
            journal_limits: JournalConfig::default(),
        }
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

    /// With this many requests of one caller handled at once.
    #[must_use]
    pub const fn max_per_caller(mut self, requests: usize) -> Self {
        self.max_per_caller = requests;
        self
    }

    /// With these limits of a call journal that ends with the bot.
    #[must_use]
    pub const fn journal_limits(mut self, limits: JournalConfig) -> Self {
        self.journal_limits = limits;
        self
    }

    /// Serving over Service RPC too.
    #[must_use]
    pub const fn service(mut self, is_served: bool) -> Self {
        self.service = is_served;
        self
    }

    /// With these limits of Service RPC.
    #[must_use]
    pub const fn service_session(mut self, session: ServiceSessionConfig) -> Self {
        self.service_session = session;
        self
    }

    /// Leaving the profile at a core as it is, or not.
    #[must_use]
    pub const fn publish(mut self, is_published: bool) -> Self {
        self.publish = is_published;
        self
    }

    /// Running a command again that an earlier process had begun, or not.
    #[must_use]
    pub const fn idempotent(mut self, is_idempotent: bool) -> Self {
        self.is_idempotent = is_idempotent;
        self
    }

    fn turns(&self) -> TurnLimits {
        // The workers are the limit: whoever waits for one holds no place.
        TurnLimits::default()
            .running(self.workers.max(1))
            .running_per_caller(self.max_per_caller)
            .waiting(self.max_waiting)
            .waiting_per_caller(self.max_waiting)
    }
}

/// Answers the commands that a profile receives: one thread that waits for them, and workers that
/// run the handler. Dropping it is [`shutdown`](Self::shutdown).
///
/// [`Client`] shows a bot and its caller.
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
    requests: Arc<Queue<Person, Waiting<B>>>,
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
        let requests = Arc::new(Queue::new(config.turns()));
        let services = if config.service { guarded(&declared) } else { Vec::new() };
        let session = Session::new(config.session, guarded(&declared));
        let service = ServiceSession::new(config.service_session, services);
        let machine = Machine::Embedded(Embedded::new(profile.clone(), session, service));
        let bell = Bell::Network(profile);
        let agent = Arc::new(Agent::new(machine, bell, Some(Arc::clone(&requests))));
        let mut bot = Self { agent, requests, threads: Vec::new() };
        bot.work(config.workers, handler)?;
        let agent = Arc::clone(&bot.agent);
        bot.spawn("agentwire bot", move || attend(&agent))?;
        Ok(bot)
    }

    /// Starts the workers.
    fn work(
        &mut self,
        workers: usize,
        handler: impl Fn(Request<B>, Replier<B>) + Send + Sync + 'static,
    ) -> io::Result<()> {
        let handler = Arc::new(handler);
        for _ in 0..workers.max(1) {
            let (agent, requests) = (Arc::clone(&self.agent), Arc::clone(&self.requests));
            let handler = Arc::clone(&handler);
            self.spawn("agentwire worker", move || work(&agent, &requests, &*handler))?;
        }
        Ok(())
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(thread::Builder::new().name(name.into()).spawn(run)?);
        Ok(())
    }
}

impl<B: Binding> Bot<B> {
    /// Calls others for the same profile. The client ends with the bot.
    pub fn client(&self) -> Client<B> {
        Client::of(Arc::clone(&self.agent))
    }

    /// Takes no new commands, waits until what is open has been answered, and joins the threads.
    /// The session's limits answer for handlers that do not; a handler that never returns is
    /// waited for all the same.
    pub fn shutdown(self) {
        drop(self);
    }
}

impl<B: Binding> Drop for Bot<B> {
    fn drop(&mut self) {
        self.agent.stop();
        self.requests.close();
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
        f.debug_struct("Bot").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

/// The same protocols, with guards around their bindings.
fn guarded<B: Binding>(declared: &[Declared<B>]) -> Vec<Declared<Guarded<B>>> {
    let guard = |declared: &Declared<B>| {
        Declared::new(Guarded::new(*declared.binding()), declared.versions().iter().cloned())
    };
    declared.iter().map(guard).collect()
}

/// Takes steps and waits for the next one, until the bot is stopped and nothing is open.
fn attend<B: Binding>(agent: &Agent<B>) {
    loop {
        let mut state = agent.lock();
        let pause = agent.drain(&mut state);
        let is_over = state.is_stopping && state.machine.is_done();
        drop(state);
        if is_over {
            agent.close();
            return;
        }
        agent.wait(&pause, None);
    }
}

/// Runs the handler for one request after the other.
fn work<B: Binding>(
    agent: &Arc<Agent<B>>,
    requests: &Queue<Person, Waiting<B>>,
    handler: &(dyn Fn(Request<B>, Replier<B>) + Send + Sync),
) {
    while let Some((caller, Waiting { right, request })) = requests.pop() {
        let replier = Replier { right: Some(right), agent: Arc::clone(agent) };
        // Otherwise it has waited too long and was answered for that.
        if replier.is_open() {
            // The unwinding drops the replier, which answers; the handler itself is only shared.
            let _ = catch_unwind(AssertUnwindSafe(|| handler(request, replier)));
        }
        requests.done(&caller);
    }
}
