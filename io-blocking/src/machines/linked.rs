//! A chat core: its session, and the two connections that carry the session's frames.

use core::time::Duration;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::{thread, time};

use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::caller::{Call, CallError, CallId};
use agentwire_core::chat::responder::{RespondError, Token};
use agentwire_core::chat::session::NotifyError;
use agentwire_core::chat::size::TooLarge;
use agentwire_core::rpc::{ErrorCode, RequestId, ServiceAnswerError, ServiceCall, ServiceCallId};
use agentwire_core::simplex::journal::{Change, JournalStore};
use agentwire_core::simplex::{Input, Link as Which, Output, Session};
use agentwire_core::time::Instant;

use super::Machine;
use crate::agent::Agent;
use crate::client::{CoreState, NotSent, RequestError, ServiceTarget};
use crate::link::{Core, Link, LinkError, Utf8Bytes, Watched, wait};
use crate::machine::{Learned, Step, learn, time_of_day};

/// How many frames of one connection are taken before the others have their turn.
const FRAMES: usize = 32;

/// How long after a failure it is tried again to keep the call journal.
const RETRY: Duration = Duration::from_secs(1);

/// A store, whatever its errors are.
pub(crate) trait Keep: Send {
    /// Whether the changes are kept.
    fn save(&mut self, changes: &[Change]) -> bool;
}

impl<S: JournalStore + Send> Keep for S {
    fn save(&mut self, changes: &[Change]) -> bool {
        JournalStore::save(self, changes).is_ok()
    }
}

enum Slot {
    Off,
    /// The attempt of this number is being made, in a thread of its own.
    Opening(u64),
    Up(Box<Link>),
}

type Opened = (Which, u64, Result<Link, LinkError>);

pub(crate) struct Linked<B> {
    core: Arc<Core>,
    session: Session<B>,
    chat: Slot,
    service: Slot,
    attempts: u64,
    opened: (mpsc::Sender<Opened>, mpsc::Receiver<Opened>),
    /// Wakes the thread that waits for the sockets.
    waker: Arc<UnixStream>,
    store: Option<Box<dyn Keep>>,
    /// What could not be kept, and when it is tried again: nothing else is done before it is.
    unsaved: Option<(Vec<Change>, Instant)>,
    /// A frame that the session had no room for.
    held: Option<(Which, Utf8Bytes)>,
    /// What the socket said last.
    error: Option<LinkError>,
    epoch: time::Instant,
    state: CoreState,
}

impl<B: Binding> Linked<B> {
    pub(crate) fn new(
        core: Core,
        session: Session<B>,
        store: Option<Box<dyn Keep>>,
        epoch: time::Instant,
        waker: UnixStream,
    ) -> Self {
        Self {
            core: Arc::new(core),
            session,
            chat: Slot::Off,
            service: Slot::Off,
            attempts: 0,
            opened: mpsc::channel(),
            waker: Arc::new(waker),
            store,
            unsaved: None,
            held: None,
            error: None,
            epoch,
            state: CoreState::Connecting,
        }
    }

    pub(crate) const fn state(&self) -> &CoreState {
        &self.state
    }

    pub(crate) const fn session_mut(&mut self) -> &mut Session<B> {
        &mut self.session
    }

    pub(crate) fn now(&self) -> Instant {
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
        self.attempts = self.attempts.wrapping_add(1);
        let attempt = self.attempts;
        let (core, opened) = (Arc::clone(&self.core), self.opened.0.clone());
        let waker = Arc::clone(&self.waker);
        let open = move || {
            // Nobody may be there any more.
            let _ = opened.send((which, attempt, Link::connect(&core)));
            wake(&waker);
        };
        let thread = thread::Builder::new().name(String::from("agentwire connect")).spawn(open);
        *self.slot(which) = Slot::Opening(attempt);
        if let Err(error) = thread {
            self.ended(which, error.into());
        }
    }

    /// A connection is gone, for a reason that the session does not know yet.
    fn ended(&mut self, which: Which, error: LinkError) {
        *self.slot(which) = Slot::Off;
        self.error = Some(error);
        let now = self.now();
        // Only frames are ever refused.
        let _ = self.session.handle_input(now, Input::Disconnected(which));
    }

    /// Hands in a frame, or keeps it until there is room.
    fn hand_in(&mut self, which: Which, text: Utf8Bytes) {
        let now = self.now();
        if self.session.handle_input(now, Input::Frame(which, &text)).is_err() {
            self.held = Some((which, text));
        }
    }

    /// Takes what the sockets have.
    pub(crate) fn receive(&mut self) {
        while let Ok((which, attempt, result)) = self.opened.1.try_recv() {
            if !matches!(self.slot(which), Slot::Opening(wanted) if *wanted == attempt) {
                continue;
            }
            match result {
                Ok(link) => {
                    *self.slot(which) = Slot::Up(Box::new(link));
                    let now = self.now();
                    let _ = self.session.handle_input(now, Input::Connected(which));
                }
                Err(error) => self.ended(which, error),
            }
        }
        for which in [Which::Chat, Which::Service] {
            for _ in 0..FRAMES {
                // Nothing more is read before the session has taken what there is.
                if self.held.is_some() {
                    return;
                }
                let Slot::Up(link) = self.slot(which) else { break };
                match link.try_receive() {
                    Ok(Some(text)) => self.hand_in(which, text),
                    Ok(None) => break,
                    // The stream goes on after it; the session counts how often that happens.
                    Err(LinkError::Binary { len }) => {
                        let now = self.now();
                        let _ = self.session.handle_input(now, Input::Unreadable(which, len));
                    }
                    Err(error) => self.ended(which, error),
                }
            }
        }
    }

    /// What to wait for, and until when.
    pub(crate) fn watched(&self) -> (Vec<Watched>, Option<time::Instant>) {
        let links = [&self.chat, &self.service].into_iter().filter_map(|slot| match slot {
            Slot::Up(link) => Some(link),
            _ => None,
        });
        let until = links.clone().map(|link| link.deadline()).min();
        (links.map(|link| link.watched()).collect(), until)
    }

    /// Says goodbye.
    pub(crate) fn close(&mut self) {
        for which in [Which::Chat, Which::Service] {
            if let Slot::Up(link) = core::mem::replace(self.slot(which), Slot::Off) {
                link.close();
            }
        }
    }

    pub(super) fn call(&mut self, call: &Call<'_, B>) -> Result<CallId, CallError<'static>> {
        let now = self.now();
        self.session.call(now, call).map_err(CallError::detached)
    }

    pub(super) fn cancel(&mut self, call: CallId) {
        self.session.cancel(call);
    }

    pub(super) fn request(
        &mut self,
        target: ServiceTarget,
        call: &ServiceCall<'_, B>,
    ) -> Result<ServiceCallId, RequestError> {
        let target = target.linked().ok_or(RequestError::NotSent(NotSent::Target))?;
        let now = self.now();
        let made = self.session.request(now, target, call);
        made.map_err(|error| RequestError::Call(error.detached()))
    }

    pub(super) fn cancel_request(&mut self, call: ServiceCallId) {
        self.session.cancel_request(call);
    }

    pub(super) fn notify(
        &mut self,
        token: &Token,
        text: &str,
    ) -> Result<Option<TooLarge>, NotifyError> {
        let now = self.now();
        self.session.notify(now, token, text)
    }

    pub(super) fn respond(
        &mut self,
        token: Token,
        text: &str,
    ) -> Result<Option<TooLarge>, RespondError> {
        let now = self.now();
        self.session.respond(now, token, text)
    }

    pub(super) fn fail(&mut self, token: Token, failure: &Failure<'_>) {
        let now = self.now();
        let _ = self.session.fail(now, token, failure);
    }

    pub(super) fn respond_service(
        &mut self,
        request: &RequestId,
        text: &str,
    ) -> Result<Option<TooLarge>, ServiceAnswerError> {
        let now = self.now();
        self.session.respond_service(now, request, text)
    }

    pub(super) fn fail_service(&mut self, request: &RequestId, failure: &Failure<'_>) {
        let now = self.now();
        let _ = self.session.fail_service(now, request, failure);
    }

    pub(super) fn require_conversation(&mut self, request: &RequestId) {
        let (now, code) = (self.now(), ErrorCode::ConversationRequired);
        let _ = self.session.fail_service_with(now, request, code, None, None);
    }

    pub(super) fn is_open(&self, token: &Token) -> bool {
        self.session.budget(token).is_some()
    }

    pub(super) fn stop(&mut self) {
        self.session.stop();
    }

    pub(super) fn is_done(&self) -> bool {
        let has_open = self.session.open_requests() > 0 || self.session.open_service_requests() > 0;
        // Without a core nothing more goes out.
        !has_open && (self.session.unsent() == 0 || self.session.ready().is_none())
    }

    pub(super) fn begin(&mut self) {
        let now = self.now();
        self.session.set_clock(now, time_of_day());
        self.session.handle_timeout(now);
        if let Some((which, text)) = self.held.take() {
            self.hand_in(which, text);
        }
    }

    pub(super) fn step(&mut self) -> (Step<B>, Option<u64>) {
        let now = self.now();
        if let Some((changes, at)) = self.unsaved.take() {
            if at > now {
                self.unsaved = Some((changes, at));
                return (Step::Idle(Some(at)), None);
            }
            self.save(changes);
            return (Step::Nothing, None);
        }
        let step = match self.session.poll_output() {
            Output::Connect(which) => {
                self.connect(which);
                Step::Nothing
            }
            Output::Disconnect(which) => {
                *self.slot(which) = Slot::Off;
                Step::Nothing
            }
            Output::Transmit(transmit) => {
                // A connection that has ended meanwhile was reported.
                if let Slot::Up(link) = self.slot(transmit.link) {
                    link.push(transmit.frame);
                }
                Step::Nothing
            }
            Output::Event(event) => {
                let is_not_ready = matches!(self.state, CoreState::NotReady(_));
                match learn(event, &mut self.error, is_not_ready) {
                    Learned::Step(step) => step,
                    Learned::State(state) => {
                        self.state = state;
                        // Somebody may wait for it.
                        Step::Standing
                    }
                    Learned::Core(_) | Learned::Nothing => Step::Nothing,
                }
            }
            Output::Save(changes) => {
                self.save(changes);
                Step::Nothing
            }
            // What is held is handed in at once.
            Output::Timeout(_) if self.held.is_some() => Step::Idle(Some(Instant::ZERO)),
            Output::Timeout(timeout) => Step::Idle(timeout),
        };
        (step, None)
    }

    fn save(&mut self, changes: Vec<Change>) {
        let Some(store) = &mut self.store else { return };
        if !store.save(&changes) {
            // What cannot be kept has not happened.
            self.unsaved = Some((changes, self.now().saturating_add(RETRY)));
        }
    }

    /// Writes what the steps have left, as far as the sockets take it.
    pub(super) fn end(&mut self) {
        for which in [Which::Chat, Which::Service] {
            if let Slot::Up(link) = self.slot(which)
                && let Err(error) = link.write()
            {
                self.ended(which, error);
                wake(&self.waker);
            }
        }
    }
}

fn wake(waker: &UnixStream) {
    use std::io::Write;
    // When it is full, the thread has enough to see.
    let _ = (&*waker).write(&[1]);
}

/// Turns a session on a core until it is stopped and nothing is open any more.
pub(crate) fn turn<B: Binding>(agent: &Agent<B>, mut woken: UnixStream) {
    loop {
        let mut state = agent.lock();
        if let Machine::Linked(linked) = &mut state.machine {
            linked.receive();
        }
        let pause = agent.drain(&mut state);
        if state.is_stopping && state.machine.is_done() {
            if let Machine::Linked(linked) = &mut state.machine {
                linked.close();
            }
            break;
        }
        let Machine::Linked(linked) = &state.machine else { break };
        let (watched, until) = linked.watched();
        let due =
            pause.until.and_then(|at| linked.epoch.checked_add(at.duration_since(Instant::ZERO)));
        drop(state);
        let until = [until, due].into_iter().flatten().min();
        // If it cannot be waited for the sockets, they are asked.
        if wait(&watched, Some(woken.as_fd()), until).is_err() {
            thread::sleep(Duration::from_millis(1));
        }
        // It does not block.
        while woken.read(&mut [0; 64]).is_ok_and(|len| len == 64) {}
    }
    agent.close();
}
