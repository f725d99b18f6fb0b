//! Many callers, one MCP server: a machine without I/O (feature `alloc`).
//!
//! ```text
//!   caller a ─▶ ┌─────────────────────────────┐        ┌────────────┐
//!   caller b ─▶ │ Bridge                      │ ─────▶ │ MCP server │
//!   caller b ─▶ │  ids, tokens, limits, lists │ ◀───── │            │
//!   caller c ─▶ └─────────────────────────────┘        └────────────┘
//! ```
//!
//! # On the wire to the server
//!
//! Each exchange has an id of the bridge's own, and its progress token is the same number; an answer
//! and its notifications find their caller by it, and get back the caller's own id and token as they
//! were written. Only `jsonrpc`, `id`, `method` and `params` are passed on, on one line. What real
//! servers meet with silence, or take as a sign to stay in the mode of an older revision, never
//! reaches them: a request is [checked](crate::mcp::Asked) first, and the first message is always the
//! bridge's own `server/discover`.
//!
//! # The states of the server
//!
//! ```text
//!          connected             discovered, or a handshake done
//!   Down ────────────▶ Opening ─────────────────────────────────▶ Up
//!    ▲                    │                                        │
//!    │   disconnected     │  no revision that is spoken here       │ disconnected
//!    └────────────────────┼──────────────▶ Refused                 │
//!    └────────────────────┴────────────────────────────────────────┘
//! ```
//!
//! Calls wait while it opens; they fail at once while it is down or refused. When it ends, every call
//! that it had ends too.
//!
//! # Driving it
//!
//! | method | when |
//! |---|---|
//! | [`connected`](Bridge::connected), [`disconnected`](Bridge::disconnected) | the server has come, has gone |
//! | [`begin`](Bridge::begin), [`cancel`](Bridge::cancel) | a caller asks, or has gone |
//! | [`handle_message`](Bridge::handle_message), [`handle_overlong`](Bridge::handle_overlong), [`handle_lost`](Bridge::handle_lost) | the server has said something |
//! | [`poll_timeout`](Bridge::poll_timeout), [`handle_timeout`](Bridge::handle_timeout) | time |
//! | [`poll_output`](Bridge::poll_output) | after each of them, until `None` |
//!
//! Every call that was begun gets one last answer, unless it was cancelled: [`Output::Answer`].
//! Messages that belong to nothing are dropped and counted ([`Dropped`]). Memory is bounded by
//! [`Config`], whatever either side sends.
//!
//! ```
//! use agentwire_core::mcp::bridge::{Ask, Bridge, CallerId, Config, Output, Room, Via};
//! use agentwire_core::time::Instant;
//!
//! let now = Instant::ZERO;
//! let mut bridge = Bridge::new(Config::default());
//! bridge.connected(now);
//! let Some(Output::Send(first)) = bridge.poll_output() else { panic!() };
//! assert!(first.text.contains("server/discover"));
//! bridge.handle_message(now, None, r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",
//!     "supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}}"#);
//!
//! let request = r#"{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"add","_meta":{
//!     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//! let ask = Ask { caller: CallerId(7), request, room: Room::escaped(15_488), via: Via::Conversation };
//! let call = bridge.begin(now, &ask);
//! let Some(Output::Send(sent)) = bridge.poll_output() else { panic!() };
//! assert!(sent.text.starts_with(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","#));
//!
//! let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#;
//! bridge.handle_message(now, None, answer);
//! let Some(Output::Answer { call: whose, answer }) = bridge.poll_output() else { panic!() };
//! assert_eq!(whose, call);
//! assert_eq!(
//!     answer.text,
//!     r#"{"jsonrpc":"2.0","id":"mine","result":{"resultType":"complete","content":[]}}"#
//! );
//! ```

mod backoff;
mod complete;
mod config;
mod legacy;
mod list;
mod problem;
mod server;
#[cfg(test)]
mod tests;
mod text;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use backoff::Backoff;
pub use config::{Attribution, Config, Room};
pub use list::{
    MAX_KEPT_LISTS, MAX_LIST_PAGES, MAX_MARKED_TOOLS, META_CONVERSATION, META_OMITTED, PAGING_TIME,
};
use list::{Collected, Fetch, Lists, NoPage, asked_for};
pub use problem::{Limit, Problem};
use server::{Open, Server};
pub use server::{Refusal, Status};
use text::{at, own_key_of, push_compact, push_replaced};

use super::{
    Asked, Fault, Flaw, Mcp, Method, Notice, PROGRESS_TOKEN, Progress, Tie, Way, write_cancelled,
};
use crate::binding::{Binding as _, Failure, Place};
use crate::json::{Object, Value};
use crate::jsonrpc::{ErrorResponse, Message, Notification, Response};
use crate::time::Instant;

/// Who calls: whoever gets the private results of this number is one and the same.
///
/// ```
/// use agentwire_core::mcp::bridge::CallerId;
/// assert!(CallerId(1) < CallerId(2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(clippy::exhaustive_structs)] // A driver's own number.
pub struct CallerId(pub u64);

/// A call that was begun.
///
/// ```
/// use agentwire_core::mcp::bridge::{Ask, Bridge, CallerId, Config, Room, Via};
/// use agentwire_core::time::Instant;
/// let mut bridge = Bridge::new(Config::default());
/// let ask = Ask { caller: CallerId(1), request: "", room: Room::UNLIMITED, via: Via::OneShot };
/// assert_ne!(bridge.begin(Instant::ZERO, &ask), bridge.begin(Instant::ZERO, &ask));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(u64);

/// How an answer gets to its caller.
///
/// ```
/// use agentwire_core::mcp::bridge::Via;
/// assert_ne!(Via::Conversation, Via::OneShot);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_enums)] // The document has two transports.
pub enum Via {
    /// Notifications may come before it.
    Conversation,
    /// It is the one message there is.
    OneShot,
}

/// What a caller asks.
///
/// ```
/// use agentwire_core::mcp::bridge::{Ask, CallerId, Room, Via};
/// let ask = Ask { caller: CallerId(1), request: "{}", room: Room::UNLIMITED, via: Via::OneShot };
/// assert_eq!(format!("{ask:?}"), "Ask { caller: CallerId(1), request: 2 bytes, via: OneShot }");
/// ```
#[derive(Clone, Copy)]
#[allow(clippy::exhaustive_structs)] // A driver builds it.
pub struct Ask<'a> {
    /// Who asks.
    pub caller: CallerId,
    /// The request, as it was written.
    pub request: &'a str,
    /// The room that the answer has.
    pub room: Room,
    /// How the answer goes.
    pub via: Via,
}

impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("caller", &self.caller)
            .field("request", &format_args!("{} bytes", self.request.len()))
            .field("via", &self.via)
            .finish()
    }
}

/// A message for the server.
///
/// ```
/// use agentwire_core::mcp::bridge::{Bridge, Config, Output};
/// let mut bridge = Bridge::new(Config::default());
/// bridge.connected(Default::default());
/// let Some(Output::Send(message)) = bridge.poll_output() else { panic!() };
/// assert_eq!(message.exchange, Some(1));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToServer {
    /// The exchange that it begins; the answer comes under this id. `None` for a message that has no
    /// answer.
    pub exchange: Option<u64>,
    /// The method of a request.
    pub method: Method,
    /// One line of JSON, without a line feed.
    pub text: String,
}

impl fmt::Debug for ToServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToServer")
            .field("exchange", &self.exchange)
            .field("method", &self.method)
            .field("text", &format_args!("{} bytes", self.text.len()))
            .finish()
    }
}

/// The last message of a call.
///
/// ```
/// use agentwire_core::mcp::bridge::{Ask, Bridge, CallerId, Config, Output, Problem, Room, Via};
/// let mut bridge = Bridge::new(Config::default());
/// let ask = Ask { caller: CallerId(1), request: "{", room: Room::UNLIMITED, via: Via::OneShot };
/// bridge.begin(Default::default(), &ask);
/// let Some(Output::Answer { answer, .. }) = bridge.poll_output() else { panic!() };
/// assert!(answer.text.contains("-32700"));
/// assert!(matches!(answer.problem, Some(Problem::Request(_))));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Final {
    /// The response: one line of JSON with the caller's own id.
    pub text: String,
    /// Set where the response is an error of the bridge. A transport with errors of its own may have
    /// one for it ([`Problem::failure`], [`Problem::ConversationRequired`]).
    pub problem: Option<Problem>,
}

impl fmt::Debug for Final {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Final")
            .field("text", &format_args!("{} bytes", self.text.len()))
            .field("problem", &self.problem.as_ref().map(Problem::reason))
            .finish()
    }
}

/// What is to be done.
///
/// ```
/// use agentwire_core::mcp::bridge::{Bridge, Config};
/// assert!(Bridge::new(Config::default()).poll_output().is_none());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Output {
    /// Send this to the server.
    Send(ToServer),
    /// Nobody waits for this exchange any more. On a stream of lines send `text`; where each exchange
    /// has a stream of its own, end that.
    Cancel {
        /// The exchange.
        exchange: u64,
        /// `notifications/cancelled`.
        text: String,
    },
    /// Send this to the caller, before the answer.
    Notification {
        /// The call.
        call: CallId,
        /// One line of JSON with the caller's own token.
        text: String,
    },
    /// Send this to the caller; the call has ended.
    Answer {
        /// The call.
        call: CallId,
        /// The answer.
        answer: Final,
    },
}

/// How many messages of the server were dropped, by reason.
///
/// ```
/// use agentwire_core::mcp::bridge::Dropped;
/// assert_eq!(Dropped::default().late, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Messages above [`Config::max_message`], notifications that their caller has no room for.
    pub overlong: u64,
    /// Bytes that are no text.
    pub not_utf8: u64,
    /// What is no message of the protocol, or one that no server may send.
    pub malformed: u64,
    /// Answers and notifications with an id or a token that was never given out.
    pub unknown: u64,
    /// Answers and notifications of an exchange that has ended: too late, or repeated.
    pub late: u64,
    /// Notifications that are tied to no call.
    pub unattributed: u64,
    /// Notifications that their call has not asked for.
    pub unasked: u64,
    /// Answers that were passed on although something in them is not as the revision has it.
    pub faulty: u64,
}

fn count(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

/// Where a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Waiting for the server to open, or for its turn.
    Waiting,
    /// The server has it, under this exchange.
    Sent(u64),
    /// It waits for this list.
    Listing(u64),
}

#[derive(Debug)]
struct Call {
    caller: CallerId,
    /// The caller's id and token as they were written.
    id: Box<str>,
    token: Option<Box<str>>,
    asked: Asked,
    room: Room,
    via: Via,
    /// The request, as long as it waits or has to be asked anew.
    request: Box<str>,
    stage: Stage,
    progress: Progress,
    idle_until: Instant,
    total_until: Instant,
}

/// What an exchange with the server is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Open,
    Call(CallId),
    List(u64),
}

/// Many callers, one server. See the [module](self).
///
/// ```
/// use agentwire_core::mcp::bridge::{Bridge, Config, Status};
/// let bridge = Bridge::new(Config::default());
/// assert_eq!(bridge.status(), &Status::Down);
/// assert_eq!(bridge.open_calls(), 0);
/// ```
#[derive(Debug)]
pub struct Bridge {
    config: Config,
    server: Server,
    calls: BTreeMap<CallId, Call>,
    waiting: VecDeque<CallId>,
    exchanges: BTreeMap<u64, Purpose>,
    fetches: BTreeMap<u64, Fetch>,
    lists: Lists,
    outputs: VecDeque<Output>,
    next_call: u64,
    next_exchange: u64,
    /// Until then a call that was given up may still be written about.
    quiet_until: Instant,
    dropped: Dropped,
}

impl Bridge {
    /// A bridge without a server.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            server: Server::default(),
            calls: BTreeMap::new(),
            waiting: VecDeque::new(),
            exchanges: BTreeMap::new(),
            fetches: BTreeMap::new(),
            lists: Lists::default(),
            outputs: VecDeque::new(),
            next_call: 1,
            next_exchange: 1,
            quiet_until: Instant::ZERO,
            dropped: Dropped::default(),
        }
    }

    /// What it was told.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The state of the server.
    pub const fn status(&self) -> &Status {
        &self.server.status
    }

    /// The server's answer to `server/discover`, or the one that its handshake stands for: the
    /// result, as one line of JSON. Empty before it was up for the first time.
    pub fn discovery(&self) -> &str {
        self.server.discovery()
    }

    /// Whether the server is one of an older revision, adapted.
    pub const fn is_legacy(&self) -> bool {
        self.server.is_legacy
    }

    /// How many calls are open.
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// What was dropped so far.
    pub const fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// What is to be done next. To be asked after each change until it says `None`; a change makes at
    /// most one output for each open call and a few more.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    // The server comes and goes.

    /// A server is there, and has been sent nothing yet. Before the next one, the last one has to be
    /// [gone](Self::disconnected).
    pub fn connected(&mut self, now: Instant) {
        if matches!(self.server.status, Status::Up | Status::Opening) {
            return;
        }
        let key = self.exchange(Purpose::Open);
        self.server.opening(key, now + self.config.open_timeout);
        let text = if self.server.begins_with_handshake {
            self.server.step = Open::Initialize;
            legacy::initialize(key, &self.config.name, &self.config.version)
        } else {
            server::discover(key, &self.config.name, &self.config.version)
        };
        self.send(Some(key), Method::Discover, text);
    }

    /// The server is gone, or could not be started: every call that it had, or that waits for it,
    /// ends. `why` is told to the callers.
    pub fn disconnected(&mut self, why: &str) {
        if self.server.step == Open::Discover
            && self.server.status == Status::Opening
            && self.config.legacy
        {
            // It may be one that does not live with a first request of a later revision.
            self.server.begins_with_handshake = true;
        }
        if !matches!(self.server.status, Status::Refused(_)) {
            self.server.status = Status::Down;
        }
        self.server.forget();
        self.exchanges.clear();
        self.fetches.clear();
        self.waiting.clear();
        self.lists.clear();
        self.quiet_until = Instant::ZERO;
        while let Some((call, _)) = self.calls.first_key_value() {
            let call = *call;
            let was_sent = self.calls.get(&call).is_some_and(|call| call.stage != Stage::Waiting);
            self.fail(call, if was_sent {
                Problem::Ended { why: why.into() }
            } else {
                Problem::Down { retry_after: self.server.retry_after }
            });
        }
    }

    /// When a server that is down will be tried again; callers are told.
    pub fn set_retry_after(&mut self, delay: Option<core::time::Duration>) {
        self.server.retry_after = delay;
    }

    // Callers come and go.

    /// A caller asks. The answer may be among the outputs at once.
    pub fn begin(&mut self, now: Instant, ask: &Ask<'_>) -> CallId {
        let call = CallId(self.next_call);
        self.next_call = self.next_call.wrapping_add(1);
        if let Err((id, problem, text)) = self.enter(now, call, ask) {
            let text = text.unwrap_or_else(|| problem.write(id.as_deref(), ask.request));
            let answer = Final { text, problem: Some(problem) };
            self.outputs.push_back(Output::Answer { call, answer });
        }
        call
    }

    /// Enters a call, or says what its error is: the id it names, and a text that is already made.
    #[allow(clippy::type_complexity)] // It is looked at in one place.
    fn enter(
        &mut self,
        now: Instant,
        call: CallId,
        ask: &Ask<'_>,
    ) -> Result<(), (Option<String>, Problem, Option<String>)> {
        let len = ask.request.len();
        let limit = self.config.max_message;
        if len > limit {
            return Err((None, Problem::RequestTooLarge { len, limit }, None));
        }
        let (asked, request) = Asked::check(ask.request).map_err(|rejected| {
            let id = rejected.id.map(|id| String::from(id.get()));
            // What the binding has an error for, it has the error for.
            let made = Mcp.accept(ask.request, &[], Place::Direct).err().filter(|refusal| {
                matches!(rejected.fault.flaw, Flaw::Framing(_))
                    || matches!(refusal.failure, Failure::UnsupportedVersion { .. })
            });
            let text = made.map(|refusal| {
                server::failure(&refusal.failure, refusal.id, &self.server.served)
            });
            (id, Problem::Request(rejected.fault), text)
        })?;
        let id = request.id.get();
        let problem = |problem| (Some(String::from(id)), problem, None);
        let calls = self.calls.len();
        let own = self.calls.values().filter(|call| call.caller == ask.caller).count();
        if calls >= self.config.max_calls {
            return Err(problem(Problem::Busy { limit: self.config.max_calls }));
        }
        if own >= self.config.max_per_caller {
            return Err(problem(Problem::Busy { limit: self.config.max_per_caller }));
        }
        if asked.method == Method::Listen
            && (!self.config.subscriptions || ask.via == Via::OneShot)
        {
            return Err(problem(Problem::MethodNotFound));
        }
        match &self.server.status {
            Status::Refused(_) => return Err(problem(Problem::Refused)),
            Status::Down => {
                return Err(problem(Problem::Down { retry_after: self.server.retry_after }));
            }
            Status::Opening | Status::Up => {}
        }
        let params = request.params.and_then(|params| params.as_object());
        let token = params.and_then(|params| at(params, &["_meta", PROGRESS_TOKEN]));
        let entry = Call {
            caller: ask.caller,
            id: id.into(),
            token: token.map(|token| token.get().into()),
            asked,
            room: ask.room,
            via: ask.via,
            request: ask.request.into(),
            stage: Stage::Waiting,
            progress: Progress::default(),
            idle_until: now + self.config.idle_timeout,
            total_until: now + self.config.total_timeout,
        };
        self.calls.insert(call, entry);
        self.waiting.push_back(call);
        self.go_on(now);
        Ok(())
    }

    /// The caller has gone: its call is cancelled at the server, and gets no answer.
    pub fn cancel(&mut self, now: Instant, call: CallId) {
        if let Some(entry) = self.calls.remove(&call) {
            self.give_up(now, call, entry.stage);
            self.go_on(now);
        }
    }

    // The server says something.

    /// Takes a message of the server. `exchange` is the one on whose stream it came, where each has a
    /// stream of its own; `None` where all share one.
    pub fn handle_message(&mut self, now: Instant, exchange: Option<u64>, text: &str) {
        if text.len() > self.config.max_message {
            return self.handle_overlong(now, exchange, text.as_bytes());
        }
        match Message::parse(text) {
            Ok(Message::Notification(notification)) => self.notify(now, exchange, &notification),
            Ok(Message::Response(Response { id, result, .. })) => {
                self.answered(now, exchange, own_key_of(id), Ok(result));
            }
            Ok(Message::Error(error)) => {
                // On a stream of its own an error without an id can only be for that one.
                let key = error.id.map_or(exchange, own_key_of);
                self.answered(now, exchange, key, Err(&error));
            }
            Ok(Message::Request(request)) if self.server.is_legacy => {
                let text = legacy::answer(request.id.get(), request.method);
                self.send(None, Method::Other, text);
            }
            Ok(Message::Request(_)) => count(&mut self.dropped.malformed),
            Err(rejected) => {
                count(&mut self.dropped.malformed);
                // Better an error at once than silence until the deadline.
                let key = rejected.id.and_then(own_key_of).or(exchange);
                self.unusable(now, key, || Problem::InvalidAnswer(None));
            }
        }
        self.go_on(now);
    }

    /// Takes the beginning of a message that is longer than [`Config::max_message`], whose rest was
    /// skipped: it ends the call that its id names, or the only one there is.
    pub fn handle_overlong(&mut self, now: Instant, exchange: Option<u64>, head: &[u8]) {
        count(&mut self.dropped.overlong);
        // The head may end within a character: the text before it will do.
        let text = match core::str::from_utf8(head) {
            Ok(text) => text,
            Err(error) => head
                .get(..error.valid_up_to())
                .and_then(|head| core::str::from_utf8(head).ok())
                .unwrap_or_default(),
        };
        let named = match Message::parse(text) {
            Ok(Message::Response(response)) => own_key_of(response.id),
            Err(rejected) => rejected.id.and_then(own_key_of),
            Ok(_) => None,
        };
        let only = || self.exchanges.keys().next().copied().filter(|_| self.exchanges.len() == 1);
        let key = named.or(exchange).or_else(only);
        let limit = self.config.max_message;
        let needed = head.len().max(limit.saturating_add(1));
        self.unusable(now, key, || Problem::TooLarge { needed, limit });
        self.go_on(now);
    }

    /// Takes bytes of the server that are no text.
    pub fn handle_not_utf8(&mut self, now: Instant, exchange: Option<u64>) {
        count(&mut self.dropped.not_utf8);
        self.unusable(now, exchange, || Problem::InvalidAnswer(None));
        self.go_on(now);
    }

    /// The stream of an exchange has ended without an answer. `why` is told to the caller.
    pub fn handle_lost(&mut self, now: Instant, exchange: u64, why: &str) {
        self.unusable(now, Some(exchange), || Problem::Ended { why: why.into() });
        self.go_on(now);
    }

    // Time.

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let calls = self.calls.values().map(|call| call.idle_until.min(call.total_until));
        calls.chain(self.server.open_until).min().filter(|due| *due < Instant::MAX)
    }

    /// Time has moved on: ends what has taken too long.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due: Vec<CallId> = self
            .calls
            .iter()
            .filter(|(_, call)| call.idle_until.min(call.total_until) <= now)
            .map(|(call, _)| *call)
            .collect();
        for call in due {
            let Some(entry) = self.calls.get(&call) else { continue };
            let stage = entry.stage;
            let problem = if entry.total_until <= now {
                Problem::TimedOut { limit: Limit::Total, after: self.config.total_timeout }
            } else {
                Problem::TimedOut { limit: Limit::Idle, after: self.config.idle_timeout }
            };
            self.fail(call, problem);
            self.give_up(now, call, stage);
        }
        if self.server.open_until.is_some_and(|until| until <= now) {
            self.opened(now, None);
        }
        self.go_on(now);
    }

    // Inside.

    fn exchange(&mut self, purpose: Purpose) -> u64 {
        let key = self.next_exchange;
        self.next_exchange = self.next_exchange.wrapping_add(1);
        self.exchanges.insert(key, purpose);
        key
    }

    fn send(&mut self, exchange: Option<u64>, method: Method, text: String) {
        self.outputs.push_back(Output::Send(ToServer { exchange, method, text }));
    }

    /// Ends a call with an error of the bridge.
    fn fail(&mut self, call: CallId, problem: Problem) {
        if let Some(entry) = self.calls.remove(&call) {
            let text = problem.write(Some(&entry.id), &entry.request);
            let answer = Final { text, problem: Some(problem) };
            self.outputs.push_back(Output::Answer { call, answer });
        }
    }

    /// Ends a call with its answer, or with an error if that does not fit.
    fn finish(&mut self, call: CallId, text: String) {
        let Some(entry) = self.calls.get(&call) else { return };
        let (room, limit) = (entry.room, entry.room.limit);
        if !room.fits(&text) {
            let needed = room.needed(&text);
            return self.fail(call, Problem::TooLarge { needed, limit });
        }
        self.calls.remove(&call);
        let answer = Final { text, problem: None };
        self.outputs.push_back(Output::Answer { call, answer });
    }

    /// Tells the server that nobody waits for what a call was in.
    fn give_up(&mut self, now: Instant, call: CallId, stage: Stage) {
        let exchange = match stage {
            Stage::Waiting => {
                self.waiting.retain(|waiting| *waiting != call);
                return;
            }
            Stage::Sent(exchange) => exchange,
            Stage::Listing(list) => {
                let Some(fetch) = self.fetches.get_mut(&list) else { return };
                fetch.waiters.retain(|waiter| *waiter != call);
                if !fetch.waiters.is_empty() {
                    return;
                }
                let exchange = fetch.exchange;
                self.fetches.remove(&list);
                exchange
            }
        };
        if self.exchanges.remove(&exchange).is_some() {
            self.quiet_until = self.quiet_until.max(now + self.config.total_timeout);
            let mut text = String::new();
            text::push_written(&mut text, |out| write_cancelled(out, &alloc::format!("{exchange}")));
            self.outputs.push_back(Output::Cancel { exchange, text });
        }
    }

    /// Ends what an exchange was for with an error, if it is still open.
    fn unusable(&mut self, now: Instant, key: Option<u64>, problem: impl Fn() -> Problem) {
        let Some(key) = key else { return };
        match self.exchanges.remove(&key) {
            Some(Purpose::Open) => self.opened(now, None),
            Some(Purpose::Call(call)) => self.fail(call, problem()),
            Some(Purpose::List(list)) => self.fail_list(list, problem),
            None => {}
        }
    }

    fn fail_list(&mut self, list: u64, problem: impl Fn() -> Problem) {
        for call in self.fetches.remove(&list).map(|fetch| fetch.waiters).unwrap_or_default() {
            self.fail(call, problem());
        }
    }

    /// Sends what waits, as far as that goes.
    fn go_on(&mut self, now: Instant) {
        while self.server.status == Status::Up {
            let is_full = self.config.attribution == Attribution::OneAtATime
                && !self.exchanges.is_empty();
            if is_full {
                return;
            }
            let Some(call) = self.waiting.pop_front() else { return };
            self.dispatch(now, call);
        }
    }

    /// Passes a call on, or answers it from what is known.
    fn dispatch(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.calls.get_mut(&call) else { return };
        let asked = entry.asked;
        let text = core::mem::take(&mut entry.request);
        if asked.method.list().is_some() {
            // Its page is asked for once more when the list is there.
            entry.request = text.clone();
        }
        let Some(entry) = self.calls.get(&call) else { return };
        let Ok(request) = crate::jsonrpc::Request::parse(&text) else { return };
        let Some(params) = request.params.and_then(|params| params.as_object()) else { return };
        if !self.server.serves(asked.revision) {
            let text = self.server.unsupported(&entry.id, asked.revision);
            return self.finish(call, text);
        }
        if asked.method == Method::CallTool && entry.via == Via::OneShot {
            let name = params.str("name").ok().flatten();
            let is = |tool: &str| name.is_some_and(|name| name == *tool);
            let marked = name.and_then(|name| name.as_plain());
            if self.config.conversation_tools.iter().any(|tool| is(tool))
                || marked.is_some_and(|name| self.lists.needs_conversation(name))
            {
                return self.fail(call, Problem::ConversationRequired);
            }
        }
        if asked.method.list().is_some() {
            return self.list(now, call, params);
        }
        if self.server.is_legacy && matches!(asked.method, Method::Discover | Method::Listen) {
            if asked.method == Method::Listen {
                return self.fail(call, Problem::MethodNotFound);
            }
            let mut text = alloc::format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", entry.id);
            self.server.push_own_discovery(&mut text);
            text.push('}');
            return self.finish(call, text);
        }
        let key = self.exchange(Purpose::Call(call));
        let text = self.line(key, &request, params);
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.stage = Stage::Sent(key);
        }
        self.send(Some(key), asked.method, text);
    }

    /// The line that goes to the server, with our own id and token.
    fn line(&self, key: u64, request: &crate::jsonrpc::Request<'_>, params: Object<'_>) -> String {
        let own = alloc::format!("{key}");
        let mut out = String::with_capacity(request.object.get_text().len());
        out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
        out.push_str(&own);
        out.push_str(",\"method\":");
        out.push_str(request.method.get());
        out.push_str(",\"params\":");
        if self.server.is_legacy {
            legacy::push_params(&mut out, params, key);
        } else {
            // Without a token there is nothing at the path, and nothing is replaced.
            push_replaced(&mut out, params.as_value(), &["_meta", PROGRESS_TOKEN], &own);
        }
        out.push('}');
        out
    }

    // Lists.

    /// Answers with a page of a list, or asks the server for the list.
    fn list(&mut self, now: Instant, call: CallId, params: Object<'_>) {
        let Some(entry) = self.calls.get(&call) else { return };
        let (key, cursor) = asked_for(entry.asked.method, entry.asked.revision, params);
        let caller = entry.caller;
        if let Some(list) = self.lists.find(&key, caller, cursor, now) {
            return self.page(now, call, &list);
        }
        let running = self
            .fetches
            .iter_mut()
            .find(|(_, fetch)| fetch.caller == caller && fetch.key == key);
        if let Some((list, fetch)) = running {
            fetch.waiters.push(call);
            let list = *list;
            if let Some(entry) = self.calls.get_mut(&call) {
                entry.stage = Stage::Listing(list);
            }
            return;
        }
        let mut base = String::from("{");
        let mut is_first = true;
        for (name, value) in params.members() {
            if name == *"cursor" {
                continue;
            }
            text::push_name(&mut base, &mut is_first, name.get());
            match value.as_object().filter(|_| name == *"_meta") {
                Some(meta) => {
                    base.push('{');
                    let mut is_first = true;
                    for (name, value) in meta.members().filter(|(name, _)| *name != *PROGRESS_TOKEN)
                    {
                        text::push_name(&mut base, &mut is_first, name.get());
                        push_compact(&mut base, value.get());
                    }
                    base.push('}');
                }
                None => push_compact(&mut base, value.get()),
            }
        }
        base.push('}');
        let list = self.next_exchange;
        let exchange = self.exchange(Purpose::List(list));
        let fetch = Fetch::new(key, caller, exchange, base.into(), call);
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.stage = Stage::Listing(list);
        }
        self.ask_page(exchange, &fetch, None);
        self.fetches.insert(list, fetch);
    }

    /// Asks for a page of the server.
    fn ask_page(&mut self, exchange: u64, fetch: &Fetch, cursor: Option<&str>) {
        let mut text = alloc::format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{exchange},\"method\":\"{}\",\"params\":",
            fetch.key.method.name().unwrap_or_default()
        );
        let mut params = String::from("{");
        let mut is_first = true;
        if let Some(cursor) = cursor {
            text::push_name(&mut params, &mut is_first, "\"cursor\"");
            params.push_str(cursor);
        }
        let members = fetch.params.trim_start_matches('{').len();
        if members > 1 {
            text::comma(&mut params, &mut is_first);
        }
        params.push_str(fetch.params.get(1..).unwrap_or("}"));
        match Object::parse(&params) {
            Ok(params) if self.server.is_legacy => legacy::push_params(&mut text, params, exchange),
            _ => text.push_str(&params),
        }
        text.push('}');
        self.send(Some(exchange), fetch.key.method, text);
    }

    /// Takes a page of the server.
    fn collect(&mut self, now: Instant, list: u64, result: Value<'_>) {
        let limit = self.config.max_list;
        let Some(fetch) = self.fetches.get_mut(&list) else { return };
        let collected = match result.as_object() {
            Some(page) => fetch.collect(page, limit),
            None => Collected::Invalid,
        };
        match collected {
            Collected::More(cursor) => {
                let waiters = fetch.waiters.clone();
                for waiter in waiters {
                    self.touch(now, waiter);
                }
                let exchange = self.exchange(Purpose::List(list));
                if let Some(mut fetch) = self.fetches.remove(&list) {
                    fetch.exchange = exchange;
                    self.ask_page(exchange, &fetch, Some(&cursor));
                    self.fetches.insert(list, fetch);
                }
            }
            Collected::All => {
                let Some(fetch) = self.fetches.remove(&list) else { return };
                let (key, caller, waiters, list) = fetch.into_list(now);
                let list = self.lists.keep(key, caller, list, self.config.max_kept);
                for waiter in waiters {
                    self.page(now, waiter, &list);
                }
            }
            Collected::TooLarge { needed } => {
                self.fail_list(list, || Problem::TooLarge { needed, limit });
            }
            Collected::Invalid => self.fail_list(list, || Problem::InvalidAnswer(None)),
        }
    }

    /// Answers a call with a page.
    fn page(&mut self, now: Instant, call: CallId, list: &list::List) {
        let Some(entry) = self.calls.get(&call) else { return };
        let request = entry.request.clone();
        let params = crate::jsonrpc::Request::parse(&request).ok();
        let params = params.and_then(|request| request.params?.as_object());
        let cursor = params.and_then(|params| params.str("cursor").ok().flatten());
        match list.page(&entry.id, cursor, &entry.room, now) {
            Ok(text) => self.finish(call, text),
            Err(NoPage::BadCursor) => self.fail(call, Problem::BadCursor),
            Err(NoPage::TooLarge { needed }) => {
                let limit = entry.room.limit;
                self.fail(call, Problem::TooLarge { needed, limit });
            }
        }
    }

    // Answers.

    /// Begins a call's idle time anew.
    fn touch(&mut self, now: Instant, call: CallId) {
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.idle_until = now + self.config.idle_timeout;
        }
    }

    fn answered(
        &mut self,
        now: Instant,
        exchange: Option<u64>,
        key: Option<u64>,
        outcome: Result<Value<'_>, &ErrorResponse<'_>>,
    ) {
        let Some(key) = key.filter(|key| exchange.is_none_or(|exchange| exchange == *key)) else {
            return count(&mut self.dropped.unknown);
        };
        let Some(purpose) = self.exchanges.remove(&key) else {
            let is_late = key != 0 && key < self.next_exchange;
            return count(if is_late { &mut self.dropped.late } else { &mut self.dropped.unknown });
        };
        match purpose {
            Purpose::Open => self.opened(now, Some(outcome)),
            Purpose::Call(call) => self.pass_answer(key, call, outcome),
            Purpose::List(list) => match outcome {
                Ok(result) => self.collect(now, list, result),
                Err(error) => {
                    let waiters = self.fetches.remove(&list).map(|fetch| fetch.waiters);
                    for call in waiters.unwrap_or_default() {
                        self.pass_answer(key, call, Err(error));
                    }
                }
            },
        }
    }

    /// Passes an answer on to its caller.
    fn pass_answer(
        &mut self,
        key: u64,
        call: CallId,
        outcome: Result<Value<'_>, &ErrorResponse<'_>>,
    ) {
        let Some(entry) = self.calls.get(&call) else { return };
        let asked = entry.asked;
        let mut text = alloc::format!("{{\"jsonrpc\":\"2.0\",\"id\":{}", entry.id);
        let result = match outcome {
            Err(error) => {
                text.push_str(",\"error\":");
                server::push_error(&mut text, error, self.server.is_legacy);
                text.push('}');
                return self.finish(call, text);
            }
            Ok(result) => result,
        };
        let Some(object) = result.as_object() else {
            return self.fail(call, Problem::InvalidAnswer(None));
        };
        text.push_str(",\"result\":");
        let from = text.len();
        if asked.revision.is_later() {
            push_compact(&mut text, object.get_text());
        } else if asked.method == Method::Discover {
            server::push_discovered(&mut text, object, self.config.subscriptions);
        } else if asked.method == Method::Listen {
            let path = ["_meta", super::META_SUBSCRIPTION];
            if at(object, &path).and_then(text::own_key) == Some(key) {
                push_replaced(&mut text, result, &path, &entry.id);
            } else {
                push_compact(&mut text, object.get_text());
            }
        } else {
            complete::push_completed(&mut text, asked.method, object);
        }
        text.push('}');
        let made = text.get(from..text.len().saturating_sub(1)).unwrap_or_default();
        let fault = Value::parse(made).ok().and_then(|made| {
            let wrong = asked.result(made).err()?;
            Some(wrong.in_text(&text))
        });
        match fault {
            Some(fault) if is_vital(&fault, &text) => {
                let path = alloc::format!("{}", fault.path(&text));
                self.fail(call, Problem::InvalidAnswer(Some((fault, path))));
            }
            Some(_) => {
                count(&mut self.dropped.faulty);
                self.finish(call, text);
            }
            None => self.finish(call, text),
        }
    }

    // Notifications.

    fn notify(&mut self, now: Instant, exchange: Option<u64>, notification: &Notification<'_>) {
        let Ok(notice) = Notice::of(notification, Way::FromServer) else {
            return count(&mut self.dropped.malformed);
        };
        self.lists.changed(notice.method);
        let key = match notice.tie {
            Tie::Progress(id) | Tie::Subscription(id) | Tie::Request(id) => {
                let key = own_key_of(id);
                key.filter(|key| exchange.is_none_or(|exchange| exchange == *key))
            }
            Tie::Stream => exchange.or_else(|| self.alone(now)),
            Tie::None => return count(&mut self.dropped.unattributed),
        };
        let Some(key) = key else {
            let is_stream = matches!(notice.tie, Tie::Stream);
            return count(if is_stream {
                &mut self.dropped.unattributed
            } else {
                &mut self.dropped.unknown
            });
        };
        let call = match self.exchanges.get(&key) {
            Some(Purpose::Call(call)) => *call,
            Some(_) => return count(&mut self.dropped.unasked),
            None => {
                let is_late = key != 0 && key < self.next_exchange;
                return count(if is_late { &mut self.dropped.late } else { &mut self.dropped.unknown });
            }
        };
        self.pass_notice(now, key, call, notification, &notice);
    }

    /// The exchange that a message without a name can only be about.
    fn alone(&self, now: Instant) -> Option<u64> {
        let only = self.exchanges.keys().next().copied();
        only.filter(|_| self.exchanges.len() == 1 && now >= self.quiet_until)
    }

    fn pass_notice(
        &mut self,
        now: Instant,
        key: u64,
        call: CallId,
        notification: &Notification<'_>,
        notice: &Notice<'_>,
    ) {
        let idle = self.config.idle_timeout;
        let Some(entry) = self.calls.get_mut(&call) else { return };
        let is_listen = entry.asked.method == Method::Listen;
        let path: &[&str] = match notice.tie {
            Tie::Progress(_) => &["progressToken"],
            Tie::Subscription(_) => &["_meta", super::META_SUBSCRIPTION],
            _ => &[],
        };
        let own = match notice.tie {
            Tie::Progress(_) => entry.token.as_deref(),
            Tie::Subscription(_) => is_listen.then_some(&*entry.id),
            Tie::Stream => entry.asked.logs.then_some(""),
            // The subscription has ended, and this is how its server says so.
            Tie::Request(_) if is_listen => {
                let text = server::unsubscribed(&entry.id);
                self.exchanges.remove(&key);
                return self.finish(call, text);
            }
            Tie::Request(_) | Tie::None => None,
        };
        let Some(own) = own.filter(|_| entry.via == Via::Conversation) else {
            // Progress that cannot be shown is a sign of life all the same.
            entry.idle_until = now + idle;
            return count(&mut self.dropped.unasked);
        };
        if entry.progress.advance(notice).is_err() {
            return count(&mut self.dropped.malformed);
        }
        entry.idle_until = now + idle;
        let mut text = String::from("{\"jsonrpc\":\"2.0\",\"method\":");
        text.push_str(notification.method.get());
        if let Some(params) = notification.params {
            text.push_str(",\"params\":");
            if path.is_empty() {
                push_compact(&mut text, params.get());
            } else {
                push_replaced(&mut text, params, path, own);
            }
        }
        text.push('}');
        if entry.room.fits(&text) {
            self.outputs.push_back(Output::Notification { call, text });
        } else {
            count(&mut self.dropped.overlong);
        }
    }

    // Opening.

    /// The server has answered the opening, or has not.
    fn opened(&mut self, now: Instant, outcome: Option<Result<Value<'_>, &ErrorResponse<'_>>>) {
        if let Some(key) = self.server.opened_by.take() {
            self.exchanges.remove(&key);
        }
        self.server.open_until = None;
        match self.server.take(outcome, self.config.legacy) {
            server::Next::Up { handshake } => {
                if handshake {
                    self.send(None, Method::Other, legacy::INITIALIZED.into());
                }
            }
            server::Next::Handshake => {
                let key = self.exchange(Purpose::Open);
                self.server.opening(key, now + self.config.open_timeout);
                self.server.step = Open::Initialize;
                let text = legacy::initialize(key, &self.config.name, &self.config.version);
                self.send(Some(key), Method::Other, text);
            }
            server::Next::Refused => {
                self.waiting.clear();
                while let Some((call, _)) = self.calls.first_key_value() {
                    let call = *call;
                    self.fail(call, Problem::Refused);
                }
            }
        }
    }
}

/// Whether an answer with this fault would mislead its caller: one that is not what it says it is.
/// What is merely not as it should be, deep inside, is the server's to mend and the caller's to
/// judge.
fn is_vital(fault: &Fault, text: &str) -> bool {
    match fault.flaw {
        Flaw::ResultType
        | Flaw::InputNotAllowed
        | Flaw::Undeclared(_)
        | Flaw::MissingAny(_)
        | Flaw::Twice(_) => true,
        // A member of the result itself is missing, or of the wrong kind.
        Flaw::Missing(_) => fault.path(text).steps().count() <= 1,
        Flaw::Kind(_) => fault.path(text).steps().count() <= 2,
        _ => false,
    }
}
