//! The loop behind [`Client`](crate::client::Client) and [`Bot`](crate::bot::Bot): one task that
//! turns a [`Machine`], which is a session on a chat core's API or on a profile of the loopback. It
//! decides nothing: what is a reply, what fits and when a wait is over is the session's; whose
//! request is handled next is [`Turns`](agentwire_core::turns::Turns)'.

mod embedded;
mod handlers;
mod keeper;
mod linked;
mod machine;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use agentwire_blocking::machine::Step;
use agentwire_core::binding::{Binding, Failure, Guarded};
use agentwire_core::chat::CallKey;
use agentwire_core::chat::caller::{CallError, CallId, TimedOut};
use agentwire_core::chat::responder::{AnswerError, TokenKey};
use agentwire_core::chat::session::{Event, NotifyError, Reply};
use agentwire_core::chat::size::TooLarge;
use agentwire_core::rpc::session::{ServiceEvent, ServiceReply};
use agentwire_core::rpc::{RequestId, ServiceCallId};
use agentwire_core::simplex::{CommandId, Outcome, Publication};
use agentwire_core::time::Instant;
use agentwire_core::turns::TurnLimits;
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;

pub(crate) use embedded::Embedded;
pub(crate) use handlers::{Admitted, Pass, Serve};
use handlers::{Handlers, Next, Refused};
pub(crate) use keeper::Keep;
pub(crate) use linked::{CoreHandle, Linked};
pub(crate) use machine::Machine;

use crate::bot::{self, ReplyError};
use crate::client::{
    CallOptions, CoreCallError, NotSent, Replies, RequestError, RequestOptions, ServiceTarget,
    Target,
};

/// How many replies of one call wait to be taken before the call is given up.
pub(crate) const REPLIES: usize = 256;

/// How many steps are taken before the other tasks of the runtime, and what the handles ask for,
/// get their turn.
const STEPS: usize = 128;

/// What handles ask of the loop.
///
/// The queue has no bound of its own: whoever asks waits for the outcome before it asks again, and
/// an answer or a cancellation comes once for each request or call.
pub(crate) enum Command<B> {
    Call {
        binding: Guarded<B>,
        target: Target,
        request: String,
        options: CallOptions,
        deliveries: Deliveries,
        replies: Replies<B>,
        made: oneshot::Sender<Result<Replies<B>, CallError<'static>>>,
    },
    Cancel(CallId),
    Request {
        binding: Guarded<B>,
        target: ServiceTarget,
        request: String,
        options: RequestOptions,
        ticket: ServiceTicket,
        done: oneshot::Sender<Result<ServiceReply, RequestError>>,
    },
    CancelRequest(ServiceTicket),
    Notify {
        request: TokenKey,
        text: String,
        done: oneshot::Sender<Result<Option<TooLarge>, ReplyError>>,
    },
    Respond {
        request: RequestKey,
        text: String,
        done: oneshot::Sender<Result<Option<TooLarge>, ReplyError>>,
    },
    Fail {
        request: RequestKey,
        failure: Failure<'static>,
    },
    /// The request needs a conversation.
    Unsuited(RequestKey),
    /// The command is about to be run: `true` once the call journal says so, `false` if it has
    /// been answered.
    Begin {
        call: CallKey,
        done: oneshot::Sender<bool>,
    },
    Ask {
        ask: Ask,
        done: oneshot::Sender<Result<Outcome, CoreCallError>>,
    },
    /// Answer what is open, take nothing new, and end.
    Stop,
    /// The same, answering what is open now with an error.
    Abandon,
}

/// What is asked of the core.
pub(crate) enum Ask {
    Command(String),
    Publish(Publication),
}

/// Which request it has become, once it is made.
pub(crate) type ServiceTicket = Arc<OnceLock<ServiceCallId>>;

/// A request that a handler answers, in a conversation or over Service RPC.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum RequestKey {
    Chat(TokenKey),
    Service(RequestId),
}

/// What a call receives.
pub(crate) enum Delivery {
    Reply(Reply),
    TimedOut(TimedOut),
    NotSent(NotSent),
}

/// The way to a call. The queue has room for 32 elements from the start, however many it holds, so
/// they are small: most calls wait long for one reply.
type Deliveries = mpsc::Sender<Box<Delivery>>;

/// What is left to do.
enum Turn {
    /// More at once, after the others.
    Busy,
    /// Nothing before this time.
    Idle(Option<Instant>),
}

pub(crate) struct Agent<B, M> {
    machine: M,
    // Dropped before the calls: a call that breaks off with it is known by that.
    commands: mpsc::UnboundedReceiver<Command<B>>,
    calls: HashMap<CallId, Deliveries>,
    service_calls: HashMap<ServiceCallId, oneshot::Sender<Result<ServiceReply, RequestError>>>,
    asked: HashMap<CommandId, oneshot::Sender<Result<Outcome, CoreCallError>>>,
    handlers: Handlers<B>,
    /// Who waits to hear that its command has begun.
    begun: Vec<oneshot::Sender<bool>>,
    /// Whether handlers have begun that have not had their turn.
    has_begun: bool,
    is_stopping: bool,
    /// Whether a handle is left that could ask for something.
    has_handles: bool,
}

impl<B: Binding + Send + 'static, M: Machine<Guarded<B>>> Agent<B, M> {
    pub(crate) fn new(
        machine: M,
        commands: mpsc::UnboundedReceiver<Command<B>>,
        serve: Option<Arc<dyn Serve<B>>>,
        limits: TurnLimits,
    ) -> Self {
        Self {
            machine,
            commands,
            calls: HashMap::new(),
            service_calls: HashMap::new(),
            asked: HashMap::new(),
            handlers: Handlers::new(serve, limits),
            begun: Vec::new(),
            has_begun: false,
            is_stopping: false,
            has_handles: true,
        }
    }

    /// Runs until it is stopped or every handle is gone.
    pub(crate) async fn run(mut self) {
        loop {
            // Whatever changes from here on is seen below.
            self.machine.begin();
            let turn = self.turn();
            self.machine.end();
            let Turn::Idle(timeout) = turn else {
                yield_now().await;
                self.catch_up();
                continue;
            };
            if core::mem::take(&mut self.has_begun) {
                // What the handlers have to say at once goes out before more is read: so the core
                // has something to do meanwhile.
                yield_now().await;
                self.catch_up();
                continue;
            }
            if self.is_stopping && self.machine.is_done() {
                break;
            }
            tokio::select! {
                command = self.commands.recv(), if self.has_handles => match command {
                    Some(command) => self.obey(command),
                    None => {
                        self.has_handles = false;
                        self.stop();
                    }
                },
                () = self.handlers.ended() => {}
                () = self.machine.wait(timeout) => {}
            }
            self.catch_up();
        }
        let Self { machine, commands, handlers, .. } = self;
        // Nothing is taken any more: whoever asks is told so.
        drop(commands);
        handlers.detach();
        machine.close().await;
    }

    /// Does what the handles have asked for so far, and notes which handlers have ended: all of it
    /// goes out together then.
    fn catch_up(&mut self) {
        for _ in 0..self.commands.len() {
            if let Ok(command) = self.commands.try_recv() {
                self.obey(command);
            }
        }
        self.handlers.note_ended();
    }

    /// Takes the steps there are to take, up to a number of them.
    fn turn(&mut self) -> Turn {
        self.begin_handlers();
        for _ in 0..STEPS {
            match self.machine.step() {
                Step::Nothing | Step::Standing => {}
                Step::Event(event) => self.learn(event),
                Step::CommandNotSent(call, error) => {
                    self.deliver(call, Delivery::NotSent(error), true);
                }
                Step::Answer(token, result) => {
                    self.handlers.settle(&RequestKey::Chat(token), result);
                }
                Step::Service(event) => self.learn_service(event),
                Step::RequestNotSent(call, error) => {
                    // Its end follows, and then nobody is waiting any more.
                    if let Some(done) = self.service_calls.remove(&call) {
                        let _ = done.send(Err(RequestError::NotSent(error)));
                    }
                }
                Step::Response(request, result) => {
                    self.handlers.settle(&RequestKey::Service(request), result);
                }
                Step::Done(command, outcome) => {
                    if let Some(done) = self.asked.remove(&command) {
                        // Whoever waited may have gone.
                        let _ = done.send(Ok(outcome));
                    }
                }
                Step::Idle(timeout) => {
                    if self.machine.is_kept() {
                        for done in self.begun.drain(..) {
                            // Whoever waited may have been ended.
                            let _ = done.send(true);
                        }
                    }
                    return Turn::Idle(timeout);
                }
            }
        }
        Turn::Busy
    }

    fn begin_handlers(&mut self) {
        loop {
            match self.handlers.begin_next() {
                Next::None => return,
                Next::Begun => self.has_begun = true,
                Next::Refused(refused) => self.refuse(refused),
            }
        }
    }

    fn learn(&mut self, event: Event<Guarded<B>>) {
        match event {
            Event::Reply(reply) => {
                let (call, is_end) = (reply.call, reply.is_end);
                self.deliver(call, Delivery::Reply(reply), is_end);
            }
            Event::TimedOut(end) => self.deliver(end.call, Delivery::TimedOut(end), true),
            Event::Request(request) => {
                // The right to answer stays here; what handles the request knows its key.
                let (request, token) = bot::Request::split(request);
                self.take_up(RequestKey::Chat(token.key()), Some(token), request);
            }
            // It has been answered with an error.
            Event::Expired(request) => self.handlers.expire(&RequestKey::Chat(request)),
            // Nobody waits for these: a late reply's call has ended, and the rest is no call.
            _ => {}
        }
    }

    fn learn_service(&mut self, event: ServiceEvent<Guarded<B>>) {
        match event {
            ServiceEvent::Reply(reply) => {
                if let Some(done) = self.service_calls.remove(&reply.call) {
                    // Whoever waited may have gone.
                    let _ = done.send(Ok(reply));
                }
            }
            ServiceEvent::Request(request) => {
                let key = RequestKey::Service(request.request_id.clone());
                self.take_up(key, None, bot::Request::from(request));
            }
            ServiceEvent::Expired(request) => self.handlers.expire(&RequestKey::Service(request)),
            _ => {}
        }
    }

    fn take_up(
        &mut self,
        key: RequestKey,
        token: Option<agentwire_core::chat::responder::Token>,
        request: bot::Request<B>,
    ) {
        match self.handlers.add(self.machine.now(), key, token, request) {
            None => self.begin_handlers(),
            Some(refused) => self.refuse(refused),
        }
    }

    fn refuse(&mut self, refused: Refused) {
        match (refused.key, refused.token) {
            (RequestKey::Service(request), _) => {
                self.machine.fail_service(&request, &refused.failure);
            }
            (RequestKey::Chat(_), Some(token)) => self.machine.fail(token, &refused.failure),
            // It has been answered.
            (RequestKey::Chat(_), None) => {}
        }
    }

    fn stop(&mut self) {
        self.is_stopping = true;
        self.machine.stop();
    }

    fn deliver(&mut self, call: CallId, delivery: Delivery, is_end: bool) {
        let Some(replies) = self.calls.get(&call) else { return };
        // Whoever does not take replies does not hold up the others: the call is given up.
        let is_taken = replies.try_send(Box::new(delivery)).is_ok();
        if is_end || !is_taken {
            self.calls.remove(&call);
        }
        if !is_taken {
            self.machine.cancel(call);
        }
    }

    fn obey(&mut self, command: Command<B>) {
        match command {
            // The caller has gone before the command was sent.
            Command::Call { made, .. } if made.is_closed() => {}
            Command::Call { binding, target, request, options, deliveries, mut replies, made } => {
                let call = options.call(binding, target.as_to(), &request);
                let result = self.machine.call(&call).map(|id| {
                    self.calls.insert(id, deliveries);
                    replies.call = Some(id);
                    replies
                });
                // If the caller has gone, dropping the replies cancels the call.
                let _ = made.send(result);
            }
            Command::Cancel(call) => {
                self.calls.remove(&call);
                self.machine.cancel(call);
            }
            Command::Request { done, .. } if done.is_closed() => {}
            Command::Request { binding, target, request, options, ticket, done } => {
                let call = options.call(binding, &request);
                match self.machine.request(target, &call) {
                    Ok(id) => {
                        // Nobody else fills it in.
                        let _ = ticket.set(id);
                        self.service_calls.insert(id, done);
                    }
                    Err(error) => {
                        let _ = done.send(Err(error));
                    }
                }
            }
            Command::CancelRequest(ticket) => {
                if let Some(call) = ticket.get()
                    && self.service_calls.remove(call).is_some()
                {
                    self.machine.cancel_request(*call);
                }
            }
            Command::Notify { request, text, done } => self.notify(request, &text, done),
            Command::Respond { request, text, done } => self.respond(request, &text, done),
            Command::Fail { request, failure } => self.fail(request, failure),
            Command::Unsuited(request) => {
                let token = self.handlers.take(&request);
                match request {
                    RequestKey::Service(request) => self.machine.require_conversation(&request),
                    chat => self.refuse(Refused { key: chat, token, failure: Failure::Internal }),
                }
            }
            Command::Begin { call, done } => {
                if self.machine.begin_call(call) {
                    self.begun.push(done);
                } else {
                    // Whoever waited may have been ended.
                    let _ = done.send(false);
                }
            }
            Command::Ask { ask, done } => {
                let asked = match ask {
                    Ask::Command(text) => self.machine.command(&text),
                    Ask::Publish(publication) => self.machine.publish(publication),
                };
                match asked {
                    Some(Ok(command)) => {
                        self.asked.insert(command, done);
                    }
                    Some(Err(error)) => drop(done.send(Err(CoreCallError::Ask(error)))),
                    None => drop(done.send(Err(CoreCallError::Embedded))),
                }
            }
            Command::Stop => self.stop(),
            Command::Abandon => {
                self.stop();
                for (key, token) in self.handlers.abandon() {
                    self.refuse(Refused { key, token, failure: Failure::Stopping });
                }
            }
        }
    }

    fn notify(
        &mut self,
        request: TokenKey,
        text: &str,
        done: oneshot::Sender<Result<Option<TooLarge>, ReplyError>>,
    ) {
        let key = RequestKey::Chat(request);
        let result = match self.handlers.token(&key) {
            None => Err(ReplyError::Answer(AnswerError::Gone)),
            Some(token) => self.machine.notify(token, text).map_err(|error| match error {
                NotifyError::Answer(error) => ReplyError::Answer(error),
                _ => ReplyError::Busy,
            }),
        };
        if matches!(result, Ok(Some(_)) | Err(ReplyError::Answer(AnswerError::Gone))) {
            // What handles it may go on, as after its last reply.
            let _ = self.handlers.take(&key);
        }
        self.answered(key, result, done);
    }

    fn respond(
        &mut self,
        key: RequestKey,
        text: &str,
        done: oneshot::Sender<Result<Option<TooLarge>, ReplyError>>,
    ) {
        let token = self.handlers.take(&key);
        let result = match (&key, token) {
            (RequestKey::Service(request), _) => {
                let result = self.machine.respond_service(request, text);
                if result.is_err() {
                    self.machine.fail_service(request, &Failure::Internal);
                }
                result.map_err(ReplyError::Service)
            }
            (RequestKey::Chat(_), None) => Err(ReplyError::Answer(AnswerError::Gone)),
            (RequestKey::Chat(_), Some(token)) => {
                self.machine.respond(token, text).map_err(|error| {
                    self.machine.fail(error.token, &Failure::Internal);
                    ReplyError::Answer(error.cause)
                })
            }
        };
        self.answered(key, result, done);
    }

    /// What was handed to the session is settled when the core has it; an error is at once.
    fn answered(
        &mut self,
        key: RequestKey,
        result: Result<Option<TooLarge>, ReplyError>,
        done: oneshot::Sender<Result<Option<TooLarge>, ReplyError>>,
    ) {
        match result {
            Ok(replaced) => self.handlers.wait(key, done, replaced),
            // A handler that no longer waits for the outcome does not need it.
            Err(error) => drop(done.send(Err(error))),
        }
    }

    fn fail(&mut self, key: RequestKey, failure: Failure<'static>) {
        let token = self.handlers.take(&key);
        self.refuse(Refused { key, token, failure });
    }
}
