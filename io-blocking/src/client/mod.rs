//! Calling: [`Client`].

#[cfg(unix)]
pub(crate) mod connect;
mod replies;
mod request;
mod standing;
mod target;

use core::fmt;
use std::sync::Arc;

use agentwire_core::binding::{Binding, Guarded, Standard};
use agentwire_core::chat::caller::{CallError, TimedOut};
use agentwire_core::chat::session::{Session, SessionConfig};
use agentwire_core::rpc::session::{ServiceReply, ServiceSession, ServiceSessionConfig};

pub use agentwire_core::chat::session::Reply;
pub use agentwire_core::chat::{CallOptions, Target};

use crate::agent::{Agent, Handle, Inbox, REPLIES};
use crate::bell::Bell;
use crate::machines::{Embedded, Machine};
use crate::network::Profile;
pub use crate::not_sent::NotSent;
pub use replies::{Elapsed, Replies};
pub use request::{RequestError, RequestOptions};
pub use standing::{ConnectError, CoreCallError, CoreState};
pub use target::ServiceTarget;

/// Why a call was not made, or how it ended without its last reply.
///
/// ```
/// use agentwire_blocking::client::ClientError;
/// let error = ClientError::Lagged;
/// assert_eq!(error.to_string(), "256 replies were not taken, the call was given up");
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
    /// It has ended before, and all its replies were taken.
    Over,
    /// The client has ended.
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
            Self::Over => f.write_str("the call has ended"),
            Self::Closed => f.write_str("the client has ended"),
        }
    }
}

impl core::error::Error for ClientError {}

/// Calls agents and bots for one profile. Clones call for the same one, from any thread.
///
/// On a profile of the loopback it has no thread of its own: the threads that call and wait for
/// replies do the work. At a [core](Self::connect) one thread waits for the sockets.
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
pub struct Client<B: Binding = Standard> {
    agent: Arc<Agent<B>>,
    /// Ends the agent when the last one is gone; a bot ends its own.
    handle: Option<Arc<Handle<B>>>,
}

impl<B: Binding> Clone for Client<B> {
    fn clone(&self) -> Self {
        Self { agent: Arc::clone(&self.agent), handle: self.handle.clone() }
    }
}

impl<B: Binding> Client<B> {
    /// The client of a bot, which ends with it.
    pub(crate) const fn of(agent: Arc<Agent<B>>) -> Self {
        Self { agent, handle: None }
    }

    /// A client that speaks for a profile.
    pub fn start(profile: Profile) -> Self {
        Self::with_config(profile, SessionConfig::default())
    }

    /// The same with limits of its own.
    pub fn with_config(profile: Profile, config: SessionConfig) -> Self {
        let session = Session::new(config, Vec::new());
        let service = ServiceSession::new(ServiceSessionConfig::default(), Vec::new());
        let machine = Machine::Embedded(Embedded::new(profile.clone(), session, service));
        let agent = Arc::new(Agent::new(machine, Bell::Network(profile), None));
        Self { agent, handle: None }
    }

    /// Calls somebody. On the loopback the command is sent when this returns, or what is returned
    /// says at once why it was refused. Dropping that stops waiting.
    ///
    /// # Errors
    /// [`ClientError::Call`] when the call is not made, [`ClientError::Closed`].
    pub fn call(
        &self,
        binding: B,
        target: impl Into<Target>,
        request: &str,
        options: CallOptions,
    ) -> Result<Replies<B>, ClientError> {
        let target = target.into();
        let call = options.call(Guarded::new(binding), target.as_to(), request);
        let mut state = self.agent.lock();
        if state.is_closed {
            return Err(ClientError::Closed);
        }
        let id = state.machine.call(&call).map_err(ClientError::Call)?;
        state.calls.insert(id, Inbox::default());
        self.agent.act(&mut state);
        drop(state);
        Ok(Replies::new(id, self.clone()))
    }

    /// Makes a request over Service RPC and waits for its end: the response, or why there is none,
    /// and whether it has been executed.
    ///
    /// ```no_run
    /// use agentwire_blocking::client::{Client, RequestError, RequestOptions};
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::rpc::session::ServiceReplyKind;
    ///
    /// fn ask(client: &Client, request: &str) -> Result<(), RequestError> {
    ///     let options = RequestOptions::default();
    ///     let reply = client.request(Standard::MCP, "@acme.simplex", request, options)?;
    ///     if let ServiceReplyKind::Answer { text, .. } = reply.kind {
    ///         println!("{text}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`RequestError`]: nothing was sent, unless it is [`RequestError::Closed`].
    pub fn request(
        &self,
        binding: B,
        target: impl Into<ServiceTarget>,
        request: &str,
        options: RequestOptions,
    ) -> Result<ServiceReply, RequestError> {
        let target = target.into();
        let options = options.signed(target.is_signed());
        let call = options.call(Guarded::new(binding), request);
        let mut state = self.agent.lock();
        if state.is_closed {
            return Err(RequestError::Closed);
        }
        let id = state.machine.request(target, &call)?;
        state.service_calls.insert(id, None);
        let mut pause = self.agent.act(&mut state);
        loop {
            if let Some(end) = state.service_calls.get_mut(&id).and_then(Option::take) {
                state.service_calls.remove(&id);
                return end;
            }
            if state.is_closed {
                state.service_calls.remove(&id);
                state.machine.cancel_request(id);
                return Err(RequestError::Closed);
            }
            drop(state);
            self.agent.wait(&pause, None);
            state = self.agent.lock();
            pause = self.agent.drain(&mut state);
        }
    }
}

impl<B: Binding> fmt::Debug for Client<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
