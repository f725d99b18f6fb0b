//! The loop behind [`Client`](crate::client::Client) and [`Bot`](crate::bot::Bot): one task that
//! turns a session on a profile of the loopback. It decides nothing: what is a reply, what fits
//! and when a wait is over is the session's.

use std::collections::HashMap;

use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::caller::{CallError, CallId, TimedOut};
use agentwire_core::chat::responder::{RespondError, Token};
use agentwire_core::chat::session::{Event, NotifyError, Reply, Request, Session};
use agentwire_core::chat::size::TooLarge;
use agentwire_core::loopback::{Endpoint, SendError, Step};
use tokio::sync::{mpsc, oneshot};

use crate::client::Target;
use crate::network::Profile;

/// How many replies of one call wait to be taken before the call is given up.
pub(crate) const REPLIES: usize = 256;

/// What handles ask of the loop.
///
/// The queue has no bound of its own: each call waits for its answer before the next, and there
/// are no more answers than open requests.
pub(crate) enum Command<B> {
    Call {
        binding: B,
        target: Target,
        request: String,
        options: crate::client::CallOptions,
        replies: mpsc::Sender<Delivery>,
        made: oneshot::Sender<Result<CallId, CallError<'static>>>,
    },
    Cancel(CallId),
    Notify {
        token: Token,
        text: String,
        done: oneshot::Sender<(Token, Result<Option<TooLarge>, NotifyError>)>,
    },
    Respond {
        token: Token,
        text: String,
        done: oneshot::Sender<Result<Option<TooLarge>, RespondError>>,
    },
    Fail {
        token: Token,
        failure: Failure<'static>,
    },
    /// Answer what is open, take nothing new, and end.
    Stop,
}

/// What a call receives.
pub(crate) enum Delivery {
    Reply(Reply),
    TimedOut(TimedOut),
    NotSent(SendError),
}

/// Takes the requests that arrive, or gives the token of one back.
pub(crate) type OnRequest<B> = Box<dyn FnMut(Request<B>) -> Result<(), Token> + Send>;

pub(crate) struct Agent<B> {
    profile: Profile,
    endpoint: Endpoint<B>,
    commands: mpsc::UnboundedReceiver<Command<B>>,
    calls: HashMap<CallId, mpsc::Sender<Delivery>>,
    on_request: Option<OnRequest<B>>,
    is_stopping: bool,
    /// Whether a handle is left that could ask for something.
    has_handles: bool,
}

impl<B: Binding + Send + 'static> Agent<B> {
    pub(crate) fn new(
        profile: Profile,
        session: Session<B>,
        commands: mpsc::UnboundedReceiver<Command<B>>,
        on_request: Option<OnRequest<B>>,
    ) -> Self {
        let endpoint = Endpoint::new(profile.id(), session);
        let calls = HashMap::new();
        Self {
            profile,
            endpoint,
            commands,
            calls,
            on_request,
            is_stopping: false,
            has_handles: true,
        }
    }

    /// Runs until it is stopped or every handle is gone.
    pub(crate) async fn run(mut self) {
        let network = self.profile.network().clone();
        let mut changes = network.changes();
        loop {
            // Whatever changes from here on is seen below.
            changes.mark_unchanged();
            let timeout = self.drain();
            if self.is_stopping && self.endpoint.session().open_requests() == 0 {
                return;
            }
            let deadline = timeout.and_then(|timeout| network.deadline(timeout));
            let expired = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => core::future::pending().await,
                }
            };
            tokio::select! {
                command = self.commands.recv(), if self.has_handles => match command {
                    Some(command) => self.obey(command),
                    None => (self.is_stopping, self.has_handles) = (true, false),
                },
                _ = changes.changed() => {}
                () = expired => {}
            }
        }
    }

    /// Takes every step there is to take; says when to come back.
    fn drain(&mut self) -> Option<agentwire_core::time::Instant> {
        let network = self.profile.network().clone();
        let mut has_sent = false;
        let timeout = loop {
            let now = network.now();
            let step = self.endpoint.poll(&mut network.lock(), now);
            match step {
                Step::Sent(sent) => {
                    has_sent = true;
                    network.tell(&self.profile, || Ok(sent));
                }
                Step::NotSent(message, error) => {
                    if let agentwire_core::chat::session::Origin::Command(call) = message.origin {
                        self.deliver(call, Delivery::NotSent(error), true);
                    }
                    network.tell(&self.profile, || Err(error));
                }
                Step::Event(event) => self.learn(event),
                Step::Timeout(timeout) => break timeout,
            }
        };
        if has_sent {
            network.wake();
        }
        timeout
    }

    fn learn(&mut self, event: Event<B>) {
        match event {
            Event::Reply(reply) => {
                let (call, is_end) = (reply.call, reply.is_end);
                self.deliver(call, Delivery::Reply(reply), is_end);
            }
            Event::TimedOut(end) => self.deliver(end.call, Delivery::TimedOut(end), true),
            Event::Request(request) => match &mut self.on_request {
                Some(take) if !self.is_stopping => {
                    if let Err(token) = take(request) {
                        self.fail(token, &Failure::Internal);
                    }
                }
                _ => self.fail(request.token, &Failure::Internal),
            },
            // Nobody waits for these: a late reply's call has ended, and the rest is no call.
            _ => {}
        }
    }

    fn deliver(&mut self, call: CallId, delivery: Delivery, is_end: bool) {
        let Some(replies) = self.calls.get(&call) else { return };
        // Whoever does not take replies does not hold up the others: the call is given up.
        let is_taken = replies.try_send(delivery).is_ok();
        if is_end || !is_taken {
            self.calls.remove(&call);
        }
        if !is_taken {
            self.endpoint.session_mut().cancel(call);
        }
    }

    fn obey(&mut self, command: Command<B>) {
        let now = self.profile.network().now();
        let session = self.endpoint.session_mut();
        match command {
            Command::Call { binding, target, request, options, replies, made } => {
                let call = options.call(binding, target.as_to(), &request);
                let result = session.call(now, &call).map_err(CallError::detached);
                if let Ok(id) = result {
                    self.calls.insert(id, replies);
                }
                if let Err(Ok(id)) = made.send(result) {
                    // The caller is gone.
                    self.calls.remove(&id);
                    session.cancel(id);
                }
            }
            Command::Cancel(call) => {
                self.calls.remove(&call);
                session.cancel(call);
            }
            Command::Notify { token, text, done } => {
                let result = session.notify(now, &token, &text);
                if let Err((token, _)) = done.send((token, result)) {
                    self.fail(token, &Failure::Internal);
                }
            }
            Command::Respond { token, text, done } => {
                let result = session.respond(now, token, &text);
                if let Err(Err(RespondError { token, .. })) = done.send(result) {
                    self.fail(token, &Failure::Internal);
                }
            }
            Command::Fail { token, failure } => self.fail(token, &failure),
            Command::Stop => self.is_stopping = true,
        }
    }

    fn fail(&mut self, token: Token, failure: &Failure<'_>) {
        let now = self.profile.network().now();
        // An error means that the command has been answered, and that is what this is for.
        let _ = self.endpoint.session_mut().fail(now, token, failure);
    }
}
