//! What is behind [`Client`](crate::client::Client) and [`Bot`](crate::bot::Bot): a session, turned
//! by whichever thread has something to do or to wait for.
//!
//! On a profile of the loopback that is all. At a core one thread of its own waits for the sockets
//! and for what is due; the others write what they have to say, and wait until they are told.
//!
//! Locks are taken in this order: the agent's, then the network's, the bell's or the queue's. None
//! is held while waiting for a change or while a handler runs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentwire_core::admission::Person;
use agentwire_core::binding::{Binding, Failure, Guarded};
use agentwire_core::chat::caller::CallId;
use agentwire_core::chat::responder::{Token, TokenKey};
use agentwire_core::chat::session::{Event, Reply};
use agentwire_core::rpc::session::{ServiceEvent, ServiceReply};
use agentwire_core::rpc::{RequestId, ServiceCallId};
use agentwire_core::simplex::{CommandId, Outcome};
use agentwire_core::time::Instant;

use crate::bell::Bell;
use crate::bot::{Request, Via};
use crate::client::{ClientError, NotSent, RequestError};
use crate::machine::Step;
use crate::machines::Machine;
use crate::queue::Queue;

/// How many replies of one call wait to be taken before the call is given up.
pub(crate) const REPLIES: usize = 256;

/// A request that a handler answers, in a conversation or over Service RPC.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum RequestKey {
    Chat(TokenKey),
    Service(RequestId),
}

/// The right to answer a request.
#[derive(Debug)]
pub(crate) enum Right {
    Chat(Token),
    Service(RequestId),
}

impl Right {
    pub(crate) fn key(&self) -> RequestKey {
        match self {
            Self::Chat(token) => RequestKey::Chat(token.key()),
            Self::Service(request) => RequestKey::Service(request.clone()),
        }
    }
}

/// A request that waits for a worker.
pub(crate) struct Waiting<B> {
    pub(crate) right: Right,
    pub(crate) request: Request<B>,
}

pub(crate) struct Agent<B> {
    state: Mutex<State<B>>,
    pub(crate) bell: Bell,
    /// Where the requests go; a client has none.
    requests: Option<Arc<Queue<Person, Waiting<B>>>>,
}

pub(crate) struct State<B> {
    pub(crate) machine: Machine<Guarded<B>>,
    pub(crate) calls: HashMap<CallId, Inbox>,
    /// The requests over Service RPC that somebody waits for, and how they have ended.
    pub(crate) service_calls: HashMap<ServiceCallId, Option<Result<ServiceReply, RequestError>>>,
    /// What somebody waits for at the core, and how it has ended.
    pub(crate) asked: HashMap<CommandId, Option<Outcome>>,
    /// Who waits for an answer to be sent, in the order of the answers.
    waiters: HashMap<RequestKey, VecDeque<u64>>,
    outcomes: HashMap<u64, Result<(), NotSent>>,
    last_waiter: u64,
    pub(crate) is_stopping: bool,
    /// Whether nobody turns the session any more.
    pub(crate) is_closed: bool,
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
pub(crate) struct Pause {
    pub(crate) seen: u64,
    pub(crate) until: Option<Instant>,
}

impl<B: Binding> Agent<B> {
    pub(crate) fn new(
        machine: Machine<Guarded<B>>,
        bell: Bell,
        requests: Option<Arc<Queue<Person, Waiting<B>>>>,
    ) -> Self {
        let state = State {
            machine,
            calls: HashMap::new(),
            service_calls: HashMap::new(),
            asked: HashMap::new(),
            waiters: HashMap::new(),
            outcomes: HashMap::new(),
            last_waiter: 0,
            is_stopping: false,
            is_closed: false,
        };
        Self { state: Mutex::new(state), bell, requests }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<B>> {
        // Bindings are guarded, so only the session's own code runs under the lock, and each of
        // its calls is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Instant {
        self.bell.now()
    }

    /// Takes every step there is to take.
    pub(crate) fn drain(&self, state: &mut State<B>) -> Pause {
        // What changes from here on is seen by whoever waits.
        let mut seen = self.bell.seen();
        let mut has_delivered = false;
        state.machine.begin();
        loop {
            let (step, last) = state.machine.step();
            seen = last.unwrap_or(seen);
            has_delivered |= match step {
                Step::Nothing => false,
                Step::Standing => true,
                Step::Done(command, outcome) => state.done(command, outcome),
                Step::Event(event) => self.learn(state, event),
                Step::Service(event) => self.learn_service(state, event),
                Step::CommandNotSent(call, error) => {
                    state.end(call, ClientError::NotSent(error));
                    true
                }
                Step::Answer(token, result) => state.settle(&RequestKey::Chat(token), result),
                Step::Response(request, result) => {
                    state.settle(&RequestKey::Service(request), result)
                }
                Step::RequestNotSent(call, error) => {
                    state.end_request(call, Err(RequestError::NotSent(error)))
                }
                Step::Idle(until) => {
                    state.machine.end();
                    if has_delivered {
                        // The thread that waits for it may be another one.
                        self.bell.ring();
                    }
                    return Pause { seen, until };
                }
            };
        }
    }

    /// The same after something was asked for: what is due may have changed.
    pub(crate) fn act(&self, state: &mut State<B>) -> Pause {
        let pause = self.drain(state);
        self.bell.wake();
        pause
    }

    /// Waits until something may have changed, at the latest until this time.
    pub(crate) fn wait(&self, pause: &Pause, limit: Option<Instant>) {
        let until = [pause.until, limit].into_iter().flatten().min();
        self.bell.wait(pause.seen, until);
    }

    /// Nobody turns the session any more: whoever waits is told.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.bell.ring();
    }

    /// Takes nothing new, and ends when what is open has been answered.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopping = true;
        state.machine.stop();
        drop(state);
        self.bell.ring();
        self.bell.wake();
    }

    /// Whether a call has something to take now.
    fn learn(&self, state: &mut State<B>, event: Event<Guarded<B>>) -> bool {
        match event {
            Event::Reply(reply) => state.deliver(reply),
            Event::TimedOut(end) => state.end(end.call, ClientError::TimedOut(end)),
            Event::Request(request) => {
                let via =
                    Via::Chat { chat: request.chat, sender: request.sender, item: request.item };
                let person = Person::of(request.chat, request.sender);
                let (binding, room) = (request.binding.get(), request.room);
                let request = (
                    Right::Chat(request.token),
                    Request { binding, text: request.text, id: request.id, via, room },
                );
                self.take_up(state, person, request);
                return false;
            }
            // Nobody waits for these: a late reply's call has ended, and the rest is no call.
            _ => return false,
        }
        true
    }

    fn learn_service(&self, state: &mut State<B>, event: ServiceEvent<Guarded<B>>) -> bool {
        match event {
            ServiceEvent::Reply(reply) => state.end_request(reply.call, Ok(reply)),
            ServiceEvent::Request(request) => {
                let via = Via::Service { signer: request.signer };
                let person = Person::signer(request.signer);
                let (binding, room) = (request.binding.get(), request.room);
                let request = (
                    Right::Service(request.request_id),
                    Request { binding, text: request.text, id: request.id, via, room },
                );
                self.take_up(state, person, request);
                false
            }
            _ => false,
        }
    }

    fn take_up(&self, state: &mut State<B>, person: Person, (right, request): (Right, Request<B>)) {
        let Some(requests) = &self.requests else {
            state.fail(right, &Failure::Internal);
            return;
        };
        if let Err(full) = requests.push(person, Waiting { right, request }) {
            let failure = match full.capacity {
                Some(capacity) => Failure::Busy { capacity },
                None => Failure::Stopping,
            };
            state.fail(full.item.right, &failure);
        }
    }
}

impl<B: Binding> State<B> {
    pub(crate) fn fail(&mut self, right: Right, failure: &Failure<'_>) {
        match right {
            Right::Chat(token) => self.machine.fail(token, failure),
            Right::Service(request) => self.machine.fail_service(&request, failure),
        }
    }

    /// Somebody waits for the last answer that was given to be sent.
    pub(crate) fn wait_for(&mut self, key: RequestKey) -> u64 {
        self.last_waiter = self.last_waiter.wrapping_add(1);
        self.waiters.entry(key).or_default().push_back(self.last_waiter);
        self.last_waiter
    }

    /// Whether the answer was sent, once that is known.
    pub(crate) fn outcome(&mut self, waiter: u64) -> Option<Result<(), NotSent>> {
        self.outcomes.remove(&waiter)
    }

    fn settle(&mut self, key: &RequestKey, result: Result<(), NotSent>) -> bool {
        let Some(waiters) = self.waiters.get_mut(key) else { return false };
        let waiter = waiters.pop_front();
        if waiters.is_empty() {
            self.waiters.remove(key);
        }
        waiter.is_some_and(|waiter| self.outcomes.insert(waiter, result).is_none())
    }

    fn done(&mut self, command: CommandId, outcome: Outcome) -> bool {
        match self.asked.get_mut(&command) {
            Some(end) => *end = Some(outcome),
            None => return false,
        }
        true
    }

    fn end_request(
        &mut self,
        call: ServiceCallId,
        result: Result<ServiceReply, RequestError>,
    ) -> bool {
        match self.service_calls.get_mut(&call) {
            Some(end @ None) => *end = Some(result),
            _ => return false,
        }
        true
    }

    fn deliver(&mut self, reply: Reply) {
        let call = reply.call;
        let Some(inbox) = self.calls.get_mut(&call) else { return };
        if inbox.replies.len() < REPLIES {
            inbox.replies.push_back(reply);
        } else {
            // Whoever does not take replies does not hold up the others: the call is given up.
            self.machine.cancel(call);
            self.end(call, ClientError::Lagged);
        }
    }

    fn end(&mut self, call: CallId, why: ClientError) {
        if let Some(inbox) = self.calls.get_mut(&call) {
            inbox.end.get_or_insert(why);
        }
    }
}

/// Stops the agent when the last handle is gone.
pub(crate) struct Handle<B: Binding>(pub(crate) Arc<Agent<B>>);

impl<B: Binding> Drop for Handle<B> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
