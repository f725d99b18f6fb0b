//! A chat core as the agent's machine: its session, and the two connections that carry the
//! session's frames.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use agentwire_blocking::machine::{Learned, Step, learn, time_of_day};
use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::CallKey;
use agentwire_core::chat::caller::{Call, CallError, CallId};
use agentwire_core::chat::responder::{RespondError, Token};
use agentwire_core::chat::session::NotifyError;
use agentwire_core::chat::size::TooLarge;
use agentwire_core::rpc::{ErrorCode, RequestId, ServiceAnswerError, ServiceCall, ServiceCallId};
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::{
    AskError, CommandId, Event, Input, Link as Which, Output, OwnedFrame, Publication, Session,
};
use agentwire_core::time::Instant;
use tokio::sync::{broadcast, watch};
use tokio::time::{Sleep, sleep_until};

use super::keeper::{Keep, Keeper};
use super::machine::Machine;
use crate::client::{CoreState, NotSent, RequestError, ServiceTarget};
use crate::link::{Core, Link, LinkError, Utf8Bytes};

/// How many frames of one connection are taken before the others have their turn.
const FRAMES: usize = 32;

/// How many events of the core wait to be taken by each of those who look at them.
const EVENTS: usize = 256;

/// What handles see of the connection.
#[derive(Clone, Debug)]
pub(crate) struct CoreHandle {
    pub(crate) state: watch::Receiver<CoreState>,
    pub(crate) events: broadcast::Sender<Arc<OwnedFrame>>,
}

type Opening = Pin<Box<dyn Future<Output = Result<Link, LinkError>> + Send>>;

enum Slot {
    Off,
    Opening(Opening),
    Up(Box<Link>),
}

pub(crate) struct Linked<B> {
    core: Arc<Core>,
    session: Session<B>,
    chat: Slot,
    service: Slot,
    /// Where the call journal is kept, if it is.
    keeper: Option<Keeper>,
    /// A frame that the session had no room for.
    held: Option<(Which, Utf8Bytes)>,
    /// What the socket said last.
    error: Option<LinkError>,
    epoch: tokio::time::Instant,
    alarm: Alarm,
    state: watch::Sender<CoreState>,
    events: broadcast::Sender<Arc<OwnedFrame>>,
}

/// A timer for deadlines that change with nearly every message, most of them to a later time: it is
/// left at an earlier one, and goes off once too often.
#[derive(Default)]
struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    is_set: bool,
}

impl Alarm {
    fn set(&mut self, deadline: tokio::time::Instant) {
        match &mut self.sleep {
            Some(sleep) if self.is_set && sleep.deadline() <= deadline => {}
            Some(sleep) => sleep.as_mut().reset(deadline),
            None => self.sleep = Some(Box::pin(sleep_until(deadline))),
        }
        self.is_set = true;
    }

    /// Ready when it goes off, once.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(sleep) = self.sleep.as_mut().filter(|_| self.is_set) else { return Poll::Pending };
        ready!(sleep.as_mut().poll(cx));
        self.is_set = false;
        Poll::Ready(())
    }
}

impl<B: Binding> Linked<B> {
    pub(crate) fn new(core: Core, session: Session<B>, store: Option<Box<dyn Keep>>) -> Self {
        let (state, _) = watch::channel(CoreState::Connecting);
        let (events, _) = broadcast::channel(EVENTS);
        Self {
            core: Arc::new(core),
            session,
            chat: Slot::Off,
            service: Slot::Off,
            keeper: store.map(Keeper::new),
            held: None,
            error: None,
            epoch: tokio::time::Instant::now(),
            alarm: Alarm::default(),
            state,
            events,
        }
    }

    pub(crate) fn handle(&self) -> CoreHandle {
        CoreHandle { state: self.state.subscribe(), events: self.events.clone() }
    }

    fn clock(&self) -> Instant {
        let millis = self.epoch.elapsed().as_millis();
        Instant::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    const fn slot(&mut self, which: Which) -> &mut Slot {
        match which {
            Which::Chat => &mut self.chat,
            Which::Service => &mut self.service,
        }
    }

    fn connect(&mut self, which: Which) {
        let core = Arc::clone(&self.core);
        *self.slot(which) = Slot::Opening(Box::pin(async move { Link::connect(&core).await }));
    }

    /// A connection is gone, for a reason that the session does not know yet.
    fn ended(&mut self, which: Which, error: LinkError) {
        tracing::debug!(link = ?which, %error, "the connection ended");
        *self.slot(which) = Slot::Off;
        self.error = Some(error);
        let now = self.clock();
        // Only frames are ever refused.
        let _ = self.session.handle_input(now, Input::Disconnected(which));
    }

    /// Hands in a frame, or keeps it until there is room.
    fn hand_in(&mut self, now: Instant, which: Which, text: Utf8Bytes) {
        tracing::trace!(link = ?which, bytes = text.len(), "frame");
        if self.session.handle_input(now, Input::Frame(which, &text)).is_err() {
            self.held = Some((which, text));
        }
    }

    /// Ready when something was handed in.
    fn poll_io(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (now, mut has_any) = (self.clock(), false);
        for which in [Which::Chat, Which::Service] {
            for _ in 0..FRAMES {
                // Nothing more is read before the session has taken what there is.
                if self.held.is_some() {
                    return Poll::Ready(());
                }
                if self.poll_slot(now, which, cx).is_pending() {
                    break;
                }
                has_any = true;
            }
        }
        if has_any { Poll::Ready(()) } else { Poll::Pending }
    }

    fn poll_slot(&mut self, now: Instant, which: Which, cx: &mut Context<'_>) -> Poll<()> {
        match self.slot(which) {
            Slot::Off => return Poll::Pending,
            Slot::Opening(opening) => match opening.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(link)) => {
                    *self.slot(which) = Slot::Up(Box::new(link));
                    // Only frames are ever refused.
                    let _ = self.session.handle_input(now, Input::Connected(which));
                }
                Poll::Ready(Err(error)) => self.ended(which, error),
            },
            Slot::Up(link) => match link.poll_receive(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(text)) => self.hand_in(now, which, text),
                // The stream goes on after it; the session counts how often that happens.
                Poll::Ready(Err(LinkError::Binary { len })) => {
                    let _ = self.session.handle_input(now, Input::Unreadable(which, len));
                }
                Poll::Ready(Err(error)) => self.ended(which, error),
            },
        }
        Poll::Ready(())
    }

    fn learn(&mut self, event: Event<B>) -> Step<B> {
        log(&event, self.error.as_ref());
        let is_not_ready = matches!(*self.state.borrow(), CoreState::NotReady(_));
        match learn(event, &mut self.error, is_not_ready) {
            Learned::Step(step) => return step,
            Learned::State(state) => drop(self.state.send_replace(state)),
            // Nobody may be looking.
            Learned::Core(frame) => drop(self.events.send(Arc::new(frame))),
            Learned::Nothing => {}
        }
        Step::Nothing
    }
}

/// Says what has happened, with ids and sizes: never what a message says.
fn log<B>(event: &Event<B>, error: Option<&LinkError>) {
    match event {
        Event::Ready(ready) => {
            tracing::info!(user = ready.user.0, is_again = ready.is_again, "ready");
        }
        Event::NotReady(error) => tracing::warn!(%error, "the core cannot be used as it is"),
        Event::Disconnected { link, why, wait, attempt } => {
            tracing::warn!(?link, %why, ?error, ?wait, attempt, "no connection");
        }
        Event::NotSent { origin, why, .. } => tracing::debug!(?origin, %why, "not sent"),
        Event::OutcomeUnknown { origin, .. } => {
            tracing::debug!(?origin, "whether it was sent is not known");
        }
        Event::Undelivered { chat, item } => {
            tracing::warn!(%chat, item = item.0, "the core gives a message up");
        }
        Event::Repeated { chat, item, silence } => {
            tracing::debug!(%chat, item = item.0, ?silence, "a command was seen again");
        }
        Event::Core(frame) => tracing::trace!(event = frame.tag(), "core"),
        Event::CoreError(refusal) => tracing::warn!(%refusal, "the core reports an error"),
        Event::Garbage { link, error } => tracing::warn!(?link, ?error, "an unreadable frame"),
        _ => {}
    }
}

impl<B: Binding + Send + 'static> Machine<B> for Linked<B> {
    fn now(&self) -> Instant {
        self.clock()
    }

    fn call(&mut self, call: &Call<'_, B>) -> Result<CallId, CallError<'static>> {
        let now = self.now();
        self.session.call(now, call).map_err(CallError::detached)
    }

    fn cancel(&mut self, call: CallId) {
        self.session.cancel(call);
    }

    fn request(
        &mut self,
        target: ServiceTarget,
        call: &ServiceCall<'_, B>,
    ) -> Result<ServiceCallId, RequestError> {
        let target = target.linked().ok_or(RequestError::NotSent(NotSent::Target))?;
        let now = self.now();
        let made = self.session.request(now, target, call);
        made.map_err(|error| RequestError::Call(error.detached()))
    }

    fn cancel_request(&mut self, call: ServiceCallId) {
        self.session.cancel_request(call);
    }

    fn notify(&mut self, token: &Token, text: &str) -> Result<Option<TooLarge>, NotifyError> {
        let now = self.now();
        self.session.notify(now, token, text)
    }

    fn respond(&mut self, token: Token, text: &str) -> Result<Option<TooLarge>, RespondError> {
        let now = self.now();
        self.session.respond(now, token, text)
    }

    fn fail(&mut self, token: Token, failure: &Failure<'_>) {
        let now = self.now();
        let _ = self.session.fail(now, token, failure);
    }

    fn respond_service(
        &mut self,
        request: &RequestId,
        text: &str,
    ) -> Result<Option<TooLarge>, ServiceAnswerError> {
        let now = self.now();
        self.session.respond_service(now, request, text)
    }

    fn fail_service(&mut self, request: &RequestId, failure: &Failure<'_>) {
        let now = self.now();
        let _ = self.session.fail_service(now, request, failure);
    }

    fn require_conversation(&mut self, request: &RequestId) {
        let (now, code) = (self.now(), ErrorCode::ConversationRequired);
        let _ = self.session.fail_service_with(now, request, code, None, None);
    }

    fn command(&mut self, text: &str) -> Option<Result<CommandId, AskError>> {
        let now = self.now();
        Some(self.session.command(now, &Command::Raw(text)))
    }

    fn publish(&mut self, publication: Publication) -> Option<Result<CommandId, AskError>> {
        let now = self.now();
        Some(self.session.publish(now, publication))
    }

    fn begin_call(&mut self, call: CallKey) -> bool {
        self.session.begin(call)
    }

    fn is_kept(&self) -> bool {
        !self.keeper.as_ref().is_some_and(Keeper::is_busy)
    }

    fn stop(&mut self) {
        self.session.stop();
    }

    fn is_done(&self) -> bool {
        let has_open = self.session.open_requests() > 0 || self.session.open_service_requests() > 0;
        // Without a core nothing more goes out.
        !has_open && (self.session.unsent() == 0 || self.session.ready().is_none())
    }

    fn begin(&mut self) {
        let now = self.now();
        self.session.set_clock(now, time_of_day());
        self.session.handle_timeout(now);
        if let Some((which, text)) = self.held.take() {
            self.hand_in(now, which, text);
        }
    }

    fn step(&mut self) -> Step<B> {
        // What follows rests on what is being saved.
        if self.keeper.as_ref().is_some_and(Keeper::is_busy) {
            return Step::Idle(None);
        }
        match self.session.poll_output() {
            Output::Connect(which) => self.connect(which),
            Output::Disconnect(which) => *self.slot(which) = Slot::Off,
            Output::Transmit(transmit) => {
                // A connection that has ended meanwhile was reported.
                if let Slot::Up(link) = self.slot(transmit.link) {
                    link.push(transmit.frame);
                }
            }
            Output::Event(event) => return self.learn(event),
            Output::Save(changes) => {
                if let Some(keeper) = &mut self.keeper {
                    keeper.save(changes);
                }
            }
            // What is held is handed in at once.
            Output::Timeout(_) if self.held.is_some() => return Step::Idle(Some(Instant::ZERO)),
            Output::Timeout(timeout) => return Step::Idle(timeout),
        }
        Step::Nothing
    }

    async fn wait(&mut self, until: Option<Instant>) {
        if let Some(keeper) = self.keeper.as_mut().filter(|keeper| keeper.is_busy()) {
            return keeper.saved().await;
        }
        let until = until.map(|until| until.duration_since(Instant::ZERO));
        if let Some(deadline) = until.and_then(|span| self.epoch.checked_add(span)) {
            self.alarm.set(deadline);
        }
        poll_fn(|cx| match self.poll_io(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => self.alarm.poll(cx),
        })
        .await;
    }

    async fn close(self) {
        for slot in [self.chat, self.service] {
            if let Slot::Up(link) = slot {
                link.close().await;
            }
        }
    }
}
