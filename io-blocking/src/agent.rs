//! What is behind [`Client`](crate::client::Client) and [`Bot`](crate::bot::Bot): a session on a
//! profile of the loopback, turned by whichever thread has something to do or to wait for.
//!
//! Locks are taken in this order: the agent's, then the network's or the queue's. None is held
//! while waiting for a change or while a handler runs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::caller::CallId;
use agentwire_core::chat::responder::{Token, TokenKey};
use agentwire_core::chat::session::{Event, Origin, Reply, Request, Session};
use agentwire_core::loopback::{Endpoint, SendError, Step};
use agentwire_core::time::Instant;

use crate::client::ClientError;
use crate::network::Profile;
use crate::queue::Queue;

/// How many replies of one call wait to be taken before the call is given up.
pub(crate) const REPLIES: usize = 256;

pub(crate) struct Agent<B> {
    pub(crate) profile: Profile,
    state: Mutex<State<B>>,
    /// Where the requests go; a client has none.
    requests: Option<Arc<Queue<Request<B>>>>,
}

pub(crate) struct State<B> {
    pub(crate) endpoint: Endpoint<B>,
    pub(crate) calls: HashMap<CallId, Inbox>,
}

/// What has come for a call and was not taken yet.
#[derive(Default)]
pub(crate) struct Inbox {
    replies: VecDeque<Reply>,
    /// How the call ended, if otherwise than with its last reply.
    end: Option<ClientError>,
}

impl Inbox {
    pub(crate) fn next(&mut self) -> Option<Result<Reply, ClientError>> {
        match self.replies.pop_front() {
            Some(reply) => Some(Ok(reply)),
            None => self.end.take().map(Err),
        }
    }
}

/// What there is to wait for after all steps were taken.
pub(crate) struct Waiting {
    pub(crate) seen: u64,
    pub(crate) until: Option<Instant>,
    /// Why the chat core refused the answer that was watched.
    pub(crate) refused: Option<SendError>,
}

impl<B: Binding> Agent<B> {
    pub(crate) fn new(
        profile: Profile,
        session: Session<B>,
        requests: Option<Arc<Queue<Request<B>>>>,
    ) -> Self {
        let endpoint = Endpoint::new(profile.id(), session);
        let state = Mutex::new(State { endpoint, calls: HashMap::new() });
        Self { profile, state, requests }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<B>> {
        // Only the session's own code runs under the lock, and each of its calls is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Instant {
        self.profile.network().now()
    }

    /// Takes every step there is to take. `watched` is a request whose answer has just been given.
    pub(crate) fn drain(&self, state: &mut State<B>, watched: Option<TokenKey>) -> Waiting {
        let network = self.profile.network();
        let mut refused = None;
        let mut has_delivered = false;
        loop {
            let (step, seen) = network.step(|net| {
                let step = state.endpoint.poll(net, network.now());
                // Others may have received something, or wait for the last answer.
                let is_change =
                    matches!(step, Step::Sent(_) | Step::NotSent(..) | Step::Service(_));
                (step, is_change)
            });
            match step {
                // This profile makes no requests over Service RPC and serves none.
                Step::Sent(_) | Step::Service(_) => {}
                Step::NotSent(message, error) => match message.origin {
                    Origin::Command(call) => {
                        state.end(call, ClientError::NotSent(error));
                        has_delivered = true;
                    }
                    Origin::Answer(token, _) if Some(token) == watched => refused = Some(error),
                    _ => {}
                },
                Step::Event(event) => has_delivered |= self.learn(state, event),
                Step::Timeout(until) => {
                    if has_delivered {
                        // The thread that waits for it may be another one.
                        network.wake();
                    }
                    return Waiting { seen, until, refused };
                }
            }
        }
    }

    /// Whether a call has something to take now.
    fn learn(&self, state: &mut State<B>, event: Event<B>) -> bool {
        match event {
            Event::Reply(reply) => state.deliver(reply),
            Event::TimedOut(end) => state.end(end.call, ClientError::TimedOut(end)),
            Event::Request(request) => {
                let Some(requests) = &self.requests else {
                    self.fail(state, request.token, &Failure::Internal);
                    return false;
                };
                let busy = Failure::Busy { capacity: requests.capacity() };
                if let Err(request) = requests.push(request) {
                    self.fail(state, request.token, &busy);
                }
                return false;
            }
            // Nobody waits for these: a late reply's call has ended, and the rest is no call.
            _ => return false,
        }
        true
    }

    pub(crate) fn fail(&self, state: &mut State<B>, token: Token, failure: &Failure<'_>) {
        // An error means that the command has been answered, and that is what this is for.
        let _ = state.endpoint.session_mut().fail(self.now(), token, failure);
    }
}

impl<B: Binding> State<B> {
    fn deliver(&mut self, reply: Reply) {
        let call = reply.call;
        let Some(inbox) = self.calls.get_mut(&call) else { return };
        if inbox.replies.len() < REPLIES {
            inbox.replies.push_back(reply);
        } else {
            // Whoever does not take replies does not hold up the others: the call is given up.
            self.endpoint.session_mut().cancel(call);
            self.end(call, ClientError::Lagged);
        }
    }

    fn end(&mut self, call: CallId, why: ClientError) {
        if let Some(inbox) = self.calls.get_mut(&call) {
            inbox.end.get_or_insert(why);
        }
    }
}
