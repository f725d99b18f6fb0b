//! Calling: [`Client`].

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use agentwire_core::binding::{Binding, Standard};
use agentwire_core::chat::caller::{CallError, CallId, TimedOut};
use agentwire_core::chat::session::{Session, SessionConfig};
use agentwire_core::loopback::SendError;
use agentwire_core::time::Instant;

pub use agentwire_core::chat::session::Reply;
pub use agentwire_core::chat::{CallOptions, Target};

use crate::agent::{Agent, Inbox, REPLIES};
use crate::network::Profile;

/// Why a call was not made, or how it ended without its last reply.
///
/// ```
/// use agentwire_blocking::client::ClientError;
/// let error = ClientError::Lagged;
/// assert_eq!(error.to_string(), "256 replies were not taken, the call was given up");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The session does not make it.
    Call(CallError<'static>),
    /// The chat core refuses to send the command.
    NotSent(SendError),
    /// Its wait is over. In a broadcast without a number of answers this is the usual end.
    TimedOut(TimedOut),
    /// Too many replies waited to be taken, so the call was given up.
    Lagged,
    /// It has ended before, and all its replies were taken.
    Over,
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::NotSent(error) => write!(f, "the chat core refuses the command: {error}"),
            Self::TimedOut(end) => {
                write!(
                    f,
                    "no last reply in time ({} answers, {} other replies)",
                    end.answers, end.replies
                )
            }
            Self::Lagged => write!(f, "{REPLIES} replies were not taken, the call was given up"),
            Self::Over => f.write_str("the call has ended"),
        }
    }
}

impl core::error::Error for ClientError {}

/// Nothing came within the time that was asked for. The call is still open.
///
/// ```
/// use agentwire_blocking::client::Elapsed;
/// assert_eq!(Elapsed.to_string(), "nothing came in time");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)] // It has nothing to say.
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing came in time")
    }
}

impl core::error::Error for Elapsed {}

/// Calls agents and bots for one profile. Clones call for the same one, from any thread.
///
/// It has no thread of its own: the threads that call and wait for replies do the work.
///
/// ```
/// use agentwire_blocking::bot::{Bot, Replier, Request};
/// use agentwire_blocking::client::{CallOptions, Client};
/// use agentwire_blocking::network::Network;
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::Declared;
///
/// let network = Network::new(1);
/// let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
/// let (to_bot, _) = network.connect(&ann, &bot).unwrap();
///
/// let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
/// let bot = Bot::start(bot, declared, |request: Request, replier: Replier| {
///     let id = request.id.unwrap_or_default();
///     let _ = replier.respond(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"id":"t"}}}}"#));
/// }).unwrap();
///
/// let client = Client::start(ann);
/// let request = r#"{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"t"},
///     "a2a-service-parameters":{"A2A-Version":"1.0"}}"#;
/// let mut replies =
///     client.call(Standard::A2A, to_bot, request, CallOptions::default()).unwrap();
/// let reply = replies.next().unwrap().unwrap();
/// assert_eq!(reply.text, r#"{"jsonrpc":"2.0","id":7,"result":{"id":"t"}}"#);
/// assert!(replies.next().is_none());
/// bot.shutdown();
/// ```
pub struct Client<B = Standard> {
    agent: Arc<Agent<B>>,
}

impl<B> Clone for Client<B> {
    fn clone(&self) -> Self {
        Self { agent: Arc::clone(&self.agent) }
    }
}

impl<B: Binding> Client<B> {
    /// A client that speaks for a profile.
    pub fn start(profile: Profile) -> Self {
        Self::with_config(profile, SessionConfig::default())
    }

    /// The same with limits of its own.
    pub fn with_config(profile: Profile, config: SessionConfig) -> Self {
        let session = Session::new(config, Vec::new());
        Self { agent: Arc::new(Agent::new(profile, session, None)) }
    }

    /// Calls somebody: the command is sent when this returns, or what is returned says at once why
    /// the chat core has refused it. Dropping that stops waiting.
    ///
    /// # Errors
    /// [`ClientError::Call`] when the call is not made.
    pub fn call(
        &self,
        binding: B,
        target: impl Into<Target>,
        request: &str,
        options: CallOptions,
    ) -> Result<Replies<B>, ClientError> {
        let target = target.into();
        let call = options.call(binding, target.as_to(), request);
        let now = self.agent.now();
        let mut state = self.agent.lock();
        let made = state.endpoint.session_mut().call(now, &call);
        let id = made.map_err(|error| ClientError::Call(error.detached()))?;
        state.calls.insert(id, Inbox::default());
        self.agent.drain(&mut state, None);
        drop(state);
        Ok(Replies { call: id, agent: Arc::clone(&self.agent), is_over: false })
    }
}

impl<B> fmt::Debug for Client<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("profile", &self.agent.profile).finish_non_exhaustive()
    }
}

/// The replies to one call, in the order of their arrival, each with its sender.
///
/// As an iterator it waits for each reply. It ends after the last one; a call that ends otherwise
/// gives an error, and then nothing more. Dropping it stops waiting for more.
///
/// ```
/// use agentwire_blocking::client::Replies;
/// fn collect(replies: Replies) -> Vec<String> {
///     replies.map_while(Result::ok).map(|reply| reply.text).collect()
/// }
/// ```
pub struct Replies<B: Binding = Standard> {
    call: CallId,
    agent: Arc<Agent<B>>,
    is_over: bool,
}

impl<B: Binding> Replies<B> {
    /// The next reply, or the end of the call, as the iterator gives it, if it comes within `span`.
    ///
    /// # Errors
    /// [`Elapsed`]; the call waits on.
    pub fn next_timeout(
        &mut self,
        span: Duration,
    ) -> Result<Option<Result<Reply, ClientError>>, Elapsed> {
        // The clock has whole milliseconds, so one more is never too short.
        let span = span.saturating_add(Duration::from_millis(1));
        self.wait(Some(self.agent.now().saturating_add(span)))
    }

    /// The last reply of the one that was called; what comes before it is passed over.
    ///
    /// # Errors
    /// [`ClientError`] when the call ends without one.
    pub fn last(mut self) -> Result<Reply, ClientError> {
        loop {
            let reply = self.next().ok_or(ClientError::Over)??;
            if reply.kind.is_last() {
                return Ok(reply);
            }
        }
    }

    fn wait(
        &mut self,
        limit: Option<Instant>,
    ) -> Result<Option<Result<Reply, ClientError>>, Elapsed> {
        if self.is_over {
            return Ok(None);
        }
        loop {
            let mut state = self.agent.lock();
            let waiting = self.agent.drain(&mut state, None);
            let next = state.calls.get_mut(&self.call).and_then(Inbox::next);
            drop(state);
            if let Some(next) = next {
                self.is_over = next.as_ref().map_or(true, |reply| reply.is_end);
                return Ok(Some(next));
            }
            if limit.is_some_and(|limit| limit <= self.agent.now()) {
                return Err(Elapsed);
            }
            let until = [waiting.until, limit].into_iter().flatten().min();
            self.agent.profile.network().wait(waiting.seen, until);
        }
    }
}

impl<B: Binding> Iterator for Replies<B> {
    type Item = Result<Reply, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Without a limit nothing elapses.
        self.wait(None).ok().flatten()
    }
}

impl<B: Binding> Drop for Replies<B> {
    fn drop(&mut self) {
        let mut state = self.agent.lock();
        state.endpoint.session_mut().cancel(self.call);
        state.calls.remove(&self.call);
    }
}

impl<B: Binding> fmt::Debug for Replies<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replies")
            .field("call", &self.call)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}
