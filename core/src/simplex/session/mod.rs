//! The session: one core, two connections, both machines of both transports.

mod answers;
mod api;
mod chats;
mod config;
mod connection;
mod events;
mod jobs;
mod journaled;
mod names;
mod output;
mod publish;
mod recheck;
mod startup;
#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use api::AskError;
pub use config::SessionConfig;
pub use jobs::ServiceTarget;
pub use output::{
    CommandId, Disconnect, Event, Garbage, Input, Link, NotSent, Outcome, Output, OwnedFrame,
    Ready, ServiceRequests, StartError, Transmit, WhyOff,
};
pub use publish::Publication;

use self::chats::Chats;
use self::connection::{Connection, InFlight, MAX_GARBAGE, State};
use self::jobs::{Job, Look};
use self::names::Names;
use self::recheck::Unconfirmed;
use self::startup::Phase;
use super::frame::{Frame, FrameError};
use super::{Backoff, UserId};
use crate::binding::Binding;
use crate::chat::caller::CallId;
use crate::chat::session::{self as chats_of, Declared, Origin};
use crate::chat::{Chat, Item};
use crate::rpc::session::{ServiceEvent, ServiceMessage, ServiceOutput, ServiceReplyKind};
use crate::rpc::{Executed, RequestId, Retry};
use crate::simplex::journal::Journal;
use crate::time::{Instant, Timestamp};
use core::time::Duration;

/// Why a frame was not taken: the outputs were not. Nothing has changed: take them, and hand it in
/// again.
///
/// ```
/// use agentwire_core::simplex::OutputsFull;
/// let error = OutputsFull { capacity: 1_024 };
/// assert_eq!(error.to_string(), "1024 outputs wait to be taken, no more can");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)]
pub struct OutputsFull {
    /// How many can wait.
    pub capacity: usize,
}

impl fmt::Display for OutputsFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} outputs wait to be taken, no more can", self.capacity)
    }
}

impl core::error::Error for OutputsFull {}

/// A profile at a chat core that calls and answers, over conversations and over Service RPC. See
/// the [module](super) for how it is driven.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::Declared;
/// use agentwire_core::simplex::{Event, Input, Link, Output, Session};
/// use agentwire_core::time::Instant;
///
/// let declared = vec![Declared::new(Standard::MCP, ["2026-07-28"])];
/// let mut session = Session::new(Default::default(), declared, 1);
/// let now = Instant::from_millis(0);
/// assert!(matches!(session.poll_output(), Output::Connect(Link::Chat)));
/// session.handle_input(now, Input::Connected(Link::Chat)).unwrap();
///
/// // What a core answers to the start.
/// let answers = [
///     (r#""cmd":"/v""#, r#"{"type":"versionInfo","versionInfo":{"version":"7.0.0.4"}}"#),
///     (r#""cmd":"/u""#, r#"{"type":"activeUser","user":{"userId":1,"localDisplayName":"bot"}}"#),
///     (r#""cmd":"/_start main=on""#, r#"{"type":"chatStarted"}"#),
/// ];
/// for (corr_id, (command, answer)) in (1..).zip(answers) {
///     let Output::Transmit(transmit) = session.poll_output() else { panic!() };
///     assert_eq!(transmit.frame, format!(r#"{{"corrId":"{corr_id}",{command}}}"#));
///     let frame = format!(r#"{{"corrId":"{corr_id}","resp":{answer}}}"#);
///     session.handle_input(now, Input::Frame(Link::Chat, &frame)).unwrap();
/// }
/// // A bot asks which conversations there are, so as to know later which have something new.
/// let Output::Transmit(transmit) = session.poll_output() else { panic!() };
/// assert!(transmit.frame.contains("/_get chats 1"));
/// let frame = r#"{"corrId":"4","resp":{"type":"apiChats","chats":[]}}"#;
/// session.handle_input(now, Input::Frame(Link::Chat, frame)).unwrap();
/// let Output::Event(Event::Ready(ready)) = session.poll_output() else { panic!() };
/// assert_eq!(ready.name, "bot");
/// ```
pub struct Session<B> {
    config: SessionConfig,
    chat: chats_of::Session<B>,
    service: crate::rpc::session::ServiceSession<B, ServiceTarget>,
    chat_link: Connection,
    service_link: Connection,
    phase: Phase,
    was_ready: bool,
    user: Option<UserId>,
    /// Whether a protocol is declared in conversations.
    serves: bool,
    outputs: VecDeque<Output<B>>,
    last_corr_id: u64,
    last_command: u64,
    /// When the first command that the application asked for may be too late, or earlier.
    next_until: Option<Instant>,
    /// The open calls, and where they were made.
    calls: BTreeMap<CallId, Chat>,
    chats: Chats,
    names: Names,
    /// The messages that may have been sent, in their order.
    unconfirmed: Vec<Unconfirmed>,
    /// The conversations that are to be looked through.
    looks: VecDeque<Look>,
    is_looking: bool,
    strays: u64,
    journal: Journal,
    /// The time of day at a time of the driver's.
    clock: Option<(Instant, Timestamp)>,
    /// Where items are decoded and frames are written.
    scratch: Vec<u8>,
    now: Instant,
    /// Whether the session has been told what time it is.
    has_time: bool,
}

impl<B: Binding> Session<B> {
    /// A session that serves these protocols in conversations. `seed` is the chance that spreads
    /// attempts to connect: each process takes another one.
    pub fn new(config: SessionConfig, declared: Vec<Declared<B>>, seed: u64) -> Self {
        Self::with_service(config, declared, Vec::new(), seed)
    }

    /// A session that serves these protocols in conversations, and those over Service RPC, which
    /// also takes [`SessionConfig::service_requests`].
    pub fn with_service(
        config: SessionConfig,
        declared: Vec<Declared<B>>,
        service: Vec<Declared<B>>,
        seed: u64,
    ) -> Self {
        let backoff = |seed| Backoff::new(config.backoff, seed);
        let waiting = State::Waiting(Instant::ZERO);
        Self {
            config,
            serves: !declared.is_empty(),
            chat: chats_of::Session::new(config.chat, declared),
            service: crate::rpc::session::ServiceSession::new(config.service, service),
            chat_link: Connection::new(waiting, backoff(seed)),
            service_link: Connection::new(State::Off, backoff(seed.wrapping_add(1))),
            phase: Phase::Offline,
            was_ready: false,
            user: None,
            outputs: VecDeque::new(),
            last_corr_id: 0,
            last_command: 0,
            next_until: None,
            calls: BTreeMap::new(),
            chats: Chats::new(config.max_chats),
            names: Names::default(),
            unconfirmed: Vec::new(),
            looks: VecDeque::new(),
            is_looking: false,
            strays: 0,
            journal: Journal::volatile(config.journal),
            clock: None,
            scratch: Vec::new(),
            now: Instant::ZERO,
            has_time: false,
        }
    }

    /// Hands in what happened.
    ///
    /// # Errors
    /// [`OutputsFull`] for a frame; nothing has changed then. A driver that takes outputs until
    /// [`Output::Timeout`] after each input never meets it.
    pub fn handle_input(&mut self, now: Instant, input: Input<'_>) -> Result<(), OutputsFull> {
        let capacity = self.config.max_outputs;
        if matches!(input, Input::Frame(..)) && self.outputs.len() >= capacity {
            return Err(OutputsFull { capacity });
        }
        self.handle_timeout(now);
        match input {
            Input::Connected(link) => self.connected(link),
            Input::Disconnected(link) => {
                let has_any = matches!(self.link(link).state, State::Connecting(_) | State::Up);
                if has_any {
                    self.lost(link, Disconnect::Ended);
                }
            }
            Input::Frame(link, text) => self.frame(link, text),
            Input::Unreadable(link, len) => self.garbage(link, Garbage::Unreadable { len }),
        }
        Ok(())
    }

    /// Moves time on; time never runs backwards. What is due comes with the next outputs.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
        if !core::mem::replace(&mut self.has_time, true) {
            // An attempt that was begun before the session knew the time begins here.
            if let State::Connecting(until) = &mut self.chat_link.state {
                *until = self.now.saturating_add(self.config.connect_timeout);
            }
        }
        self.chat.handle_timeout(self.now);
        self.service.handle_timeout(self.now);
    }

    /// What there is to do next. [`Output::Timeout`] is the last one.
    pub fn poll_output(&mut self) -> Output<B> {
        loop {
            let changes = self.take_changes();
            if !changes.is_empty() {
                return Output::Save(changes);
            }
            if let Some(output) = self.outputs.pop_front() {
                return output;
            }
            self.pump();
            self.tick(Link::Chat);
            self.tick(Link::Service);
            self.expire_queued();
            self.next_look();
            if !self.outputs.is_empty() || self.journal.has_changes() {
                continue;
            }
            if let Some(transmit) = self.next_transmit() {
                return Output::Transmit(transmit);
            }
            if self.outputs.is_empty() && !self.journal.has_changes() {
                return Output::Timeout(self.poll_timeout());
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do next: the time that
    /// [`Output::Timeout`] gives.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timeouts = [
            self.chat.poll_timeout(),
            self.service.poll_timeout(),
            self.link_timeout(Link::Chat),
            self.link_timeout(Link::Service),
            self.look_timeout(),
            self.next_until,
        ];
        timeouts.into_iter().flatten().min()
    }

    const fn link(&mut self, link: Link) -> &mut Connection {
        match link {
            Link::Chat => &mut self.chat_link,
            Link::Service => &mut self.service_link,
        }
    }

    /// Who speaks. Nothing that needs it is sent before it is known.
    fn user_id(&self) -> UserId {
        self.user.unwrap_or(UserId(0))
    }

    fn connected(&mut self, link: Link) {
        let now = self.now;
        let connection = self.link(link);
        if !matches!(connection.state, State::Connecting(_)) {
            // It comes too late: it was given up.
            if !connection.is_up() {
                self.outputs.push_back(Output::Disconnect(link));
            }
            return;
        }
        connection.state = State::Up;
        connection.garbage = 0;
        connection.backoff.connected(now);
        if link == Link::Chat {
            self.begin_start();
        }
    }

    /// Gives a connection up that is there or is being tried.
    fn give_up(&mut self, link: Link, why: Disconnect) {
        self.outputs.push_back(Output::Disconnect(link));
        self.lost(link, why);
    }

    /// A connection has ended, or did not come about.
    fn lost(&mut self, link: Link, why: Disconnect) {
        let now = self.now;
        let connection = self.link(link);
        connection.backoff.disconnected(now);
        let wait = connection.backoff.next_wait();
        let was_up = connection.is_up();
        connection.state = State::Waiting(now.saturating_add(wait));
        let attempt = connection.backoff.attempt();
        let urgent = core::mem::take(&mut connection.urgent);
        let in_flight = core::mem::take(&mut connection.in_flight);
        let event = Event::Disconnected { link, why, wait, attempt };
        self.outputs.push_back(Output::Event(event));
        if link == Link::Chat {
            self.phase = Phase::Offline;
            self.is_looking = false;
        }
        if was_up {
            // What the core had told this connection may not have arrived.
            self.chats.gap();
        }
        for job in urgent {
            // A page that was not even asked for.
            match job {
                Job::Look(look) if !look.is_search => self.looks.push_front(look),
                _ => {}
            }
        }
        let mut back = Vec::new();
        for sent in in_flight {
            back.extend(self.interrupted(sent));
        }
        for job in back.into_iter().rev() {
            self.link(link).queue.push_front(job);
        }
        if link == Link::Service {
            if self.service_link.queue.is_empty() {
                // It is tried again when there is something to send.
                self.service_link.state = State::Off;
            }
            if was_up && matches!(self.phase, Phase::Ready(_)) {
                self.look_again();
            }
        }
    }

    /// What is due on a connection.
    fn tick(&mut self, link: Link) {
        let now = self.now;
        let limit = self.answer_limit(link);
        let (connect_timeout, is_ready) =
            (self.config.connect_timeout, matches!(self.phase, Phase::Ready(_)));
        let connection = self.link(link);
        match connection.state {
            State::Off if is_ready && !connection.queue.is_empty() => {
                connection.state = State::Connecting(now.saturating_add(connect_timeout));
                self.outputs.push_back(Output::Connect(link));
            }
            State::Waiting(at) if at <= now => {
                connection.state = State::Connecting(now.saturating_add(connect_timeout));
                self.outputs.push_back(Output::Connect(link));
            }
            State::Connecting(until) if until <= now => {
                self.give_up(link, Disconnect::ConnectTimeout);
            }
            State::Up if limit.is_some_and(|limit| limit <= now) => {
                self.give_up(link, Disconnect::Stuck);
            }
            _ => {}
        }
    }

    /// Until when the core has to answer the first command in flight.
    fn answer_limit(&self, link: Link) -> Option<Instant> {
        let connection = match link {
            Link::Chat => &self.chat_link,
            Link::Service => &self.service_link,
        };
        let wait = match &connection.in_flight.front()?.job {
            Job::Request { timeout, .. } => timeout.saturating_add(self.config.answer_timeout),
            _ => self.config.answer_timeout,
        };
        Some(connection.working_since.saturating_add(wait))
    }

    fn link_timeout(&self, link: Link) -> Option<Instant> {
        let connection = match link {
            Link::Chat => &self.chat_link,
            Link::Service => &self.service_link,
        };
        match connection.state {
            State::Off => None,
            State::Waiting(at) | State::Connecting(at) => Some(at),
            State::Up => self.answer_limit(link),
        }
    }

    fn frame(&mut self, link: Link, text: &str) {
        if !self.link(link).is_up() {
            // What is left of a connection that was given up.
            self.strays = self.strays.saturating_add(1);
            return;
        }
        let frame = match Frame::parse(text) {
            Ok(frame) => frame,
            Err(error) => return self.garbage(link, Garbage::Frame(error)),
        };
        let now = self.now;
        let connection = self.link(link);
        connection.garbage = 0;
        let Some(corr_id) = frame.corr_id() else { return self.event(link, text, &frame) };
        let corr_id = corr_id.as_plain().and_then(|id| id.parse().ok());
        match corr_id.and_then(|id| connection.answered(now, id)) {
            Some(sent) => {
                self.answered(sent, text, &frame);
                self.pump();
            }
            // A second answer, or one to a command of somebody else.
            None => self.strays = self.strays.saturating_add(1),
        }
    }

    fn garbage(&mut self, link: Link, error: Garbage) {
        if !self.link(link).is_up() {
            return;
        }
        self.garbled(link, error);
        let connection = self.link(link);
        connection.garbage = connection.garbage.saturating_add(1);
        let is_too_large = matches!(error, Garbage::Frame(FrameError::TooLarge { .. }));
        if connection.garbage >= MAX_GARBAGE || is_too_large {
            self.give_up(link, Disconnect::Garbage);
        }
    }

    /// Takes what the machines have to say: messages to send, and what the application learns.
    fn pump(&mut self) {
        self.pump_of(None);
    }

    /// The same after this item was handed in.
    fn pump_of(&mut self, item: Option<&Item<'_>>) {
        loop {
            match self.chat.poll_output() {
                chats_of::Output::Transmit(message) => {
                    self.record(&message, item);
                    self.enqueue(message);
                }
                chats_of::Output::Event(chats_of::Event::Request(request)) => {
                    self.requested(request, item);
                }
                chats_of::Output::Event(event) => self.chat_event(event),
                chats_of::Output::Timeout(_) => break,
            }
        }
        loop {
            match self.service.poll_output() {
                ServiceOutput::Transmit(ServiceMessage::Request {
                    call,
                    target,
                    text,
                    timeout,
                    ..
                }) => {
                    let job = Job::Request { call, target, text, timeout };
                    self.service_link.queue.push_back(job);
                }
                ServiceOutput::Transmit(ServiceMessage::Response { request_id, text, .. }) => {
                    self.enqueue_response(request_id, text);
                }
                ServiceOutput::Event(event) => self.service_event(event),
                ServiceOutput::Timeout(_) => break,
            }
        }
    }

    fn enqueue(&mut self, message: chats_of::Message) {
        let capacity = self.config.max_queued;
        if message.origin == Origin::Refusal && self.chat_link.queue.len() >= capacity {
            // Whoever floods a bot meets silence in the end.
            let (origin, chat) = (message.origin, message.chat);
            let event = Event::NotSent { origin, chat, why: NotSent::Full { capacity } };
            self.outputs.push_back(Output::Event(event));
            self.unrecord(&message);
            return;
        }
        self.chat_link.queue.push_back(Job::Message(message));
    }

    fn enqueue_response(&mut self, request: RequestId, text: String) {
        // Answers to what is open always have room, errors for what floods do not.
        let open = self.config.chat.max_requests.saturating_add(self.config.service.max_requests);
        let capacity = self.config.max_queued.saturating_add(open);
        if self.chat_link.queue.len() >= capacity {
            let event = Event::ResponseDropped { request, capacity };
            self.outputs.push_back(Output::Event(event));
            return;
        }
        self.chat_link.queue.push_back(Job::Response { request, text, is_again: false });
    }

    fn chat_event(&mut self, event: chats_of::Event<B>) {
        match &event {
            chats_of::Event::Reply(reply) if reply.is_end => self.call_ended(reply.call),
            chats_of::Event::TimedOut(end) => self.call_ended(end.call),
            chats_of::Event::NotSent(call) => self.call_ended(*call),
            _ => {}
        }
        self.outputs.push_back(Output::Event(Event::Chat(event)));
    }

    fn service_event(&mut self, mut event: ServiceEvent<B>) {
        if let ServiceEvent::Reply(reply) = &mut event {
            // A request whose time is over before it was sent has not been executed.
            if reply.kind == ServiceReplyKind::Silence && self.unsent_request(reply.call) {
                reply.executed = Executed::No;
                reply.retry = Retry::After(Duration::ZERO);
            }
        }
        self.outputs.push_back(Output::Event(Event::Service(event)));
    }

    /// The next command that can be sent.
    fn next_transmit(&mut self) -> Option<Transmit> {
        for link in Link::ALL {
            while let Some(job) = self.next_job(link) {
                self.last_corr_id = self.last_corr_id.wrapping_add(1);
                let corr_id = self.last_corr_id;
                let (user, page) = (self.user_id(), self.config.page);
                match job.frame(corr_id, user, page, &mut self.scratch) {
                    Ok(frame) => {
                        let (now, high) = (self.now, self.chats.high());
                        self.link(link).sent(now, InFlight { corr_id, job, high });
                        return Some(Transmit { link, frame });
                    }
                    Err(error) => self.unwritable(job, error),
                }
            }
        }
        None
    }

    fn next_job(&mut self, link: Link) -> Option<Job> {
        let is_ready = matches!(self.phase, Phase::Ready(_));
        let is_settled = self.unconfirmed.is_empty();
        let max_in_flight = if is_ready { self.config.max_in_flight.max(1) } else { 1 };
        let connection = self.link(link);
        match (connection.state, link) {
            (State::Up, Link::Chat) if connection.in_flight.len() < max_in_flight => {
                connection.urgent.pop_front().or_else(|| {
                    if is_ready && is_settled { connection.queue.pop_front() } else { None }
                })
            }
            (State::Up, Link::Service) if is_ready && connection.in_flight.is_empty() => {
                connection.queue.pop_front()
            }
            _ => None,
        }
    }
}

impl<B: Binding> fmt::Debug for Session<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("chat", &self.chat)
            .field("service", &self.service)
            .field("chat_link", &self.chat_link.state)
            .field("service_link", &self.service_link.state)
            .field("unsent", &self.unsent())
            .field("chats", &self.chats.len())
            .field("outputs", &self.outputs.len())
            .finish_non_exhaustive()
    }
}
