//! The loop behind [`Client`](crate::client::Client) and [`Bot`](crate::bot::Bot): one task that
//! turns a session on a profile of the loopback. It decides nothing: what is a reply, what fits
//! and when a wait is over is the session's.

use std::collections::HashMap;

use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::caller::{CallError, CallId, TimedOut};
use agentwire_core::chat::responder::{AnswerError, Token, TokenKey};
use agentwire_core::chat::session::{Event, NotifyError, Origin, Reply, Request, Session};
use agentwire_core::chat::size::TooLarge;
use agentwire_core::loopback::{Endpoint, Loopback, SendError, ServiceStep, ServiceTarget, Step};
use agentwire_core::rpc::session::{IncomingRequest, ServiceEvent, ServiceReply, ServiceSession};
use agentwire_core::rpc::{ErrorCode, RequestId, ServiceAnswerError, ServiceCallId};
use agentwire_core::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, yield_now};

use crate::bot;
use crate::client::{CallOptions, Replies, RequestError, RequestOptions, Target};
use crate::network::{Profile, ServiceNotSent};

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
        binding: B,
        target: Target,
        request: String,
        options: CallOptions,
        deliveries: mpsc::Sender<Delivery>,
        replies: Replies<B>,
        made: oneshot::Sender<Result<Replies<B>, CallError<'static>>>,
    },
    Cancel(CallId),
    Request {
        binding: B,
        target: ServiceTarget,
        request: String,
        options: RequestOptions,
        done: oneshot::Sender<Result<ServiceReply, RequestError>>,
    },
    Notify {
        request: TokenKey,
        text: String,
        done: oneshot::Sender<Result<Option<TooLarge>, NotifyError>>,
    },
    Respond {
        request: RequestKey,
        text: String,
        done: oneshot::Sender<Result<Option<TooLarge>, RespondError>>,
    },
    Fail {
        request: RequestKey,
        failure: Failure<'static>,
    },
    /// The request needs a conversation.
    Unsuited(RequestKey),
    /// Answer what is open, take nothing new, and end.
    Stop,
}

/// A request that a handler answers, in a conversation or over Service RPC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RequestKey {
    Chat(TokenKey),
    Service(RequestId),
}

/// Why an answer was not taken.
pub(crate) enum RespondError {
    Chat(AnswerError),
    Service(ServiceAnswerError),
}

/// What a call receives.
pub(crate) enum Delivery {
    Reply(Reply),
    TimedOut(TimedOut),
    NotSent(SendError),
}

/// Begins to handle a request; `None` if nobody does.
pub(crate) type OnRequest<B> =
    Box<dyn FnMut(bot::Request<B>, RequestKey) -> Option<AbortHandle> + Send>;

/// A request that has not been answered.
struct Open {
    token: Token,
    handler: AbortHandle,
}

/// What is left to do.
enum Turn {
    /// More at once, after the others.
    Busy,
    /// Nothing before this time.
    Idle(Option<Instant>),
}

pub(crate) struct Agent<B> {
    profile: Profile,
    endpoint: Endpoint<B>,
    // Dropped before the calls: a call that breaks off with it is known by that.
    commands: mpsc::UnboundedReceiver<Command<B>>,
    calls: HashMap<CallId, mpsc::Sender<Delivery>>,
    /// The tokens stay here, so that a handler that is dropped while it waits loses none.
    requests: HashMap<TokenKey, Open>,
    service_calls: HashMap<ServiceCallId, oneshot::Sender<Result<ServiceReply, RequestError>>>,
    /// The handlers of requests over Service RPC; the right to answer is the session's.
    service_requests: HashMap<RequestId, AbortHandle>,
    on_request: Option<OnRequest<B>>,
    is_stopping: bool,
    /// Whether a handle is left that could ask for something.
    has_handles: bool,
}

impl<B: Binding + Send + 'static> Agent<B> {
    pub(crate) fn new(
        profile: Profile,
        session: Session<B>,
        service: ServiceSession<B, ServiceTarget>,
        commands: mpsc::UnboundedReceiver<Command<B>>,
        on_request: Option<OnRequest<B>>,
    ) -> Self {
        let endpoint = Endpoint::with_service(profile.id(), session, service);
        Self {
            profile,
            endpoint,
            commands,
            calls: HashMap::new(),
            requests: HashMap::new(),
            service_calls: HashMap::new(),
            service_requests: HashMap::new(),
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
            let Turn::Idle(timeout) = self.turn() else {
                yield_now().await;
                for _ in 0..self.commands.len() {
                    if let Ok(command) = self.commands.try_recv() {
                        self.obey(command);
                    }
                }
                continue;
            };
            let open = self.endpoint.session().open_requests();
            if self.is_stopping && open == 0 && self.endpoint.service().open_requests() == 0 {
                return;
            }
            let expired = async {
                match timeout.and_then(|timeout| network.deadline(timeout)) {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => core::future::pending().await,
                }
            };
            tokio::select! {
                command = self.commands.recv(), if self.has_handles => match command {
                    Some(command) => self.obey(command),
                    None => {
                        self.has_handles = false;
                        self.stop();
                    }
                },
                _ = changes.changed() => {}
                () = expired => {}
            }
        }
    }

    /// Takes the steps there are to take, up to a number of them.
    fn turn(&mut self) -> Turn {
        let network = self.profile.network().clone();
        let mut has_sent = false;
        let mut turn = Turn::Busy;
        for _ in 0..STEPS {
            let now = network.now();
            let mut net = network.lock();
            let step = self.endpoint.poll(&mut net, now);
            // Told before anybody can answer it: observers see messages in their order.
            match &step {
                Step::Sent(sent) => network.tell(&self.profile, now, Ok(sent)),
                Step::NotSent(_, error) => network.tell(&self.profile, now, Err(error)),
                Step::Service(step) => self.tell_service(&net, now, step),
                _ => {}
            }
            drop(net);
            match step {
                Step::Sent(_) => has_sent = true,
                Step::NotSent(message, error) => {
                    if let Origin::Command(call) = message.origin {
                        self.deliver(call, Delivery::NotSent(error), true);
                    }
                }
                Step::Event(event) => self.learn(event),
                Step::Service(ServiceStep::Sent(_)) => has_sent = true,
                Step::Service(ServiceStep::RequestNotSent(call, error)) => {
                    // Its end follows, and then nobody is waiting any more.
                    if let Some(done) = self.service_calls.remove(&call) {
                        let _ = done.send(Err(RequestError::NotSent(error)));
                    }
                }
                // The requester's core waits until its timeout.
                Step::Service(ServiceStep::ResponseNotSent(..)) => {}
                Step::Service(ServiceStep::Event(event)) => self.learn_service(event),
                Step::Timeout(timeout) => {
                    turn = Turn::Idle(timeout);
                    break;
                }
            }
        }
        if has_sent {
            network.wake();
        }
        turn
    }

    fn learn(&mut self, event: Event<B>) {
        match event {
            Event::Reply(reply) => {
                let (call, is_end) = (reply.call, reply.is_end);
                self.deliver(call, Delivery::Reply(reply), is_end);
            }
            Event::TimedOut(end) => self.deliver(end.call, Delivery::TimedOut(end), true),
            Event::Request(request) => self.begin(request),
            Event::Expired(request) => {
                // It has been answered with an error: its handler works for nobody.
                if let Some(open) = self.requests.remove(&request) {
                    open.handler.abort();
                }
            }
            // Nobody waits for these: a late reply's call has ended, and the rest is no call.
            _ => {}
        }
    }

    fn tell_service(&self, net: &Loopback, now: Instant, step: &ServiceStep<B>) {
        let message = match step {
            ServiceStep::Sent(sent) => Ok(sent),
            ServiceStep::RequestNotSent(_, error) => Err(ServiceNotSent::Request(*error)),
            ServiceStep::ResponseNotSent(_, error) => Err(ServiceNotSent::Response(*error)),
            ServiceStep::Event(_) => return,
        };
        self.profile.network().tell_service(net, &self.profile, now, message);
    }

    fn learn_service(&mut self, event: ServiceEvent<B>) {
        match event {
            ServiceEvent::Reply(reply) => {
                if let Some(done) = self.service_calls.remove(&reply.call) {
                    // Whoever waited may have gone.
                    let _ = done.send(Ok(reply));
                }
            }
            ServiceEvent::Request(request) => self.begin_service(request),
            ServiceEvent::Expired(request) => {
                if let Some(handler) = self.service_requests.remove(&request) {
                    handler.abort();
                }
            }
            _ => {}
        }
    }

    fn begin_service(&mut self, request: IncomingRequest<B>) {
        let id = request.request_id.clone();
        let request = bot::Request::from(request);
        let key = RequestKey::Service(id.clone());
        match self.on_request.as_mut().and_then(|take| take(request, key)) {
            Some(handler) => {
                self.service_requests.insert(id, handler);
            }
            None => self.fail_service(&id, &Failure::Stopping),
        }
    }

    fn fail_service(&mut self, request: &RequestId, failure: &Failure<'_>) {
        let now = self.profile.network().now();
        // An error means that the request has been answered, and that is what this is for.
        let _ = self.endpoint.service_mut().fail(now, request, failure);
    }

    fn stop(&mut self) {
        self.is_stopping = true;
        self.endpoint.session_mut().stop();
        self.endpoint.service_mut().stop();
    }

    fn begin(&mut self, request: Request<B>) {
        // The right to answer stays here; what handles the request knows its key.
        let (request, token) = bot::Request::split(request);
        let key = token.key();
        let begun = RequestKey::Chat(key);
        match self.on_request.as_mut().and_then(|take| take(request, begun)) {
            Some(handler) => {
                self.requests.insert(key, Open { token, handler });
            }
            // Every handle is gone: the end has begun.
            None => self.fail(token, &Failure::Stopping),
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
            // The caller has gone before the command was sent.
            Command::Call { made, .. } if made.is_closed() => {}
            Command::Call { binding, target, request, options, deliveries, mut replies, made } => {
                let call = options.call(binding, target.as_to(), &request);
                let result = session.call(now, &call).map_err(CallError::detached).map(|id| {
                    self.calls.insert(id, deliveries);
                    replies.call = Some(id);
                    replies
                });
                // If the caller has gone, dropping the replies cancels the call.
                let _ = made.send(result);
            }
            Command::Cancel(call) => {
                self.calls.remove(&call);
                session.cancel(call);
            }
            Command::Request { done, .. } if done.is_closed() => {}
            Command::Request { binding, target, request, options, done } => {
                let call = options.call(binding, &request);
                match self.endpoint.service_mut().request(now, target, &call) {
                    Ok(id) => {
                        self.service_calls.insert(id, done);
                    }
                    Err(error) => {
                        let _ = done.send(Err(RequestError::Call(error.detached())));
                    }
                }
            }
            Command::Notify { request, text, done } => {
                let gone = Err(NotifyError::Answer(AnswerError::Gone));
                let open = self.requests.get(&request);
                let result = open.map_or(gone, |open| session.notify(now, &open.token, &text));
                if matches!(result, Ok(Some(_)) | Err(NotifyError::Answer(AnswerError::Gone))) {
                    self.requests.remove(&request);
                }
                // A handler that no longer waits for the outcome does not need it.
                let _ = done.send(result);
            }
            Command::Respond { request: RequestKey::Chat(request), text, done } => {
                let result = match self.requests.remove(&request) {
                    None => Err(AnswerError::Gone),
                    Some(Open { token, .. }) => {
                        session.respond(now, token, &text).map_err(|error| {
                            self.fail(error.token, &Failure::Internal);
                            error.cause
                        })
                    }
                };
                let _ = done.send(result.map_err(RespondError::Chat));
            }
            Command::Respond { request: RequestKey::Service(request), text, done } => {
                self.service_requests.remove(&request);
                let result = self.endpoint.service_mut().respond(now, &request, &text);
                if result.is_err() {
                    self.fail_service(&request, &Failure::Internal);
                }
                let _ = done.send(result.map_err(RespondError::Service));
            }
            Command::Fail { request: RequestKey::Chat(request), failure } => {
                if let Some(open) = self.requests.remove(&request) {
                    self.fail(open.token, &failure);
                }
            }
            Command::Fail { request: RequestKey::Service(request), failure } => {
                self.service_requests.remove(&request);
                self.fail_service(&request, &failure);
            }
            Command::Unsuited(RequestKey::Chat(request)) => {
                if let Some(open) = self.requests.remove(&request) {
                    self.fail(open.token, &Failure::Internal);
                }
            }
            Command::Unsuited(RequestKey::Service(request)) => {
                self.service_requests.remove(&request);
                let code = ErrorCode::ConversationRequired;
                // An error means that it has been answered.
                let _ = self.endpoint.service_mut().fail_with(now, &request, code, None, None);
            }
            Command::Stop => self.stop(),
        }
    }

    fn fail(&mut self, token: Token, failure: &Failure<'_>) {
        let now = self.profile.network().now();
        // An error means that the command has been answered, and that is what this is for.
        let _ = self.endpoint.session_mut().fail(now, token, failure);
    }
}
