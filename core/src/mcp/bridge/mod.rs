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

mod answers;
mod ask;
mod backoff;
mod complete;
mod config;
mod legacy;
mod list;
mod notices;
mod output;
mod pages;
mod problem;
mod refuse;
mod server;
#[cfg(test)]
mod tests;
mod text;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

pub use ask::{Ask, CallId, CallerId, Via};
pub use backoff::Backoff;
pub use config::{Attribution, Config, Room};
use list::{Fetch, Lists};
pub use list::{
    MAX_KEPT_LISTS, MAX_LIST_PAGES, MAX_MARKED_TOOLS, META_CONVERSATION, META_OMITTED, PAGING_TIME,
};
use output::count;
pub use output::{Dropped, Final, Output, ToServer};
pub use problem::{Limit, Problem};
pub use refuse::refuse;
use refuse::refused;
use server::{Open, Server};
pub use server::{Refusal, Status};
use text::{at, own_key_of, push_replaced};

use super::{Asked, Method, PROGRESS_TOKEN, Progress, Revision, http, write_cancelled};
use crate::json::{Object, Value};
use crate::jsonrpc::{ErrorResponse, Message, Request, Response};
use crate::time::Instant;

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
    /// Whether its tool's schema has been asked for, and asked for anew.
    has_schema: bool,
    has_refreshed: bool,
    progress: Progress,
    idle_until: Instant,
    total_until: Instant,
}

impl Call {
    fn is_tool_call(&self) -> bool {
        self.asked.method == Method::CallTool
    }
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
        self.server.opening(key, now.saturating_add(self.config.open_timeout));
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
            self.fail(
                call,
                if was_sent {
                    Problem::Ended { why: why.into() }
                } else {
                    Problem::Down { retry_after: self.server.retry_after }
                },
            );
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
            let text = refused(ask.request, &rejected, &self.server.served);
            (None, Problem::Request(rejected.fault), Some(text))
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
        if asked.method == Method::Listen && (!self.config.subscriptions || ask.via == Via::OneShot)
        {
            return Err(problem(Problem::MethodNotFound));
        }
        if asked.revision == Revision::default() && Method::is_removed_of(request.method) {
            return Err(problem(Problem::MethodNotFound));
        }
        match &self.server.status {
            Status::Down | Status::Refused(Refusal::NoAnswer) => {
                return Err(problem(Problem::Down { retry_after: self.server.retry_after }));
            }
            Status::Refused(_) => return Err(problem(Problem::Refused)),
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
            has_schema: false,
            has_refreshed: false,
            progress: Progress::default(),
            idle_until: now.saturating_add(self.idle(asked.method)),
            total_until: match asked.method {
                // A subscription lasts until one side ends it.
                Method::Listen => Instant::MAX,
                _ => now.saturating_add(self.config.total_timeout),
            },
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

    /// How long a call of this method may be without a sign of the server.
    fn idle(&self, method: Method) -> core::time::Duration {
        match method {
            Method::Listen => core::time::Duration::MAX,
            _ => self.config.idle_timeout,
        }
    }

    fn exchange(&mut self, purpose: Purpose) -> u64 {
        let key = self.next_exchange;
        self.next_exchange = self.next_exchange.wrapping_add(1);
        self.exchanges.insert(key, purpose);
        key
    }

    fn send(&mut self, exchange: Option<u64>, method: Method, text: String) {
        let mut headers = Vec::new();
        self.push_version(&mut headers);
        self.outputs.push_back(Output::Send(ToServer { exchange, method, text, headers }));
    }

    /// An older server on HTTP hears its revision in a header, since the body no longer says it (MCP
    /// 2025-11-25, transports, Protocol Version Header).
    fn push_version(&self, headers: &mut Vec<(String, String)>) {
        if self.config.http && self.server.is_legacy {
            headers.push((http::VERSION_HEADER.into(), self.server.chosen.clone().into()));
        }
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
            self.quiet_until = self.quiet_until.max(now.saturating_add(self.config.total_timeout));
            let mut text = String::new();
            text::push_written(&mut text, |out| {
                write_cancelled(out, &alloc::format!("{exchange}"))
            });
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
            if self.calls.get(&call).is_some_and(Call::is_tool_call) {
                // It has only waited for what headers it needs.
                self.pass_on(call);
            } else {
                self.fail(call, problem());
            }
        }
    }

    /// Sends what waits, as far as that goes.
    fn go_on(&mut self, now: Instant) {
        while self.server.status == Status::Up {
            let is_full =
                self.config.attribution == Attribution::OneAtATime && !self.exchanges.is_empty();
            if is_full {
                return;
            }
            let Some(call) = self.waiting.pop_front() else { return };
            self.dispatch(now, call);
        }
    }

    /// Passes a call on, or answers it from what is known.
    fn dispatch(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.calls.get(&call) else { return };
        let asked = entry.asked;
        let text = entry.request.clone();
        let Ok(request) = Request::parse(&text) else { return };
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
        // Older revisions have no headers for arguments.
        let has_headers = self.config.http && !self.server.is_legacy;
        if has_headers && entry.is_tool_call() && !entry.has_schema {
            let is_known = self.lists.tools(entry.caller).is_some();
            if let Some(entry) = self.calls.get_mut(&call) {
                entry.has_schema = true;
            }
            if !is_known {
                return self.list(now, call, params);
            }
        }
        self.pass_on(call);
    }

    /// Sends a call to the server.
    fn pass_on(&mut self, call: CallId) {
        let Some(entry) = self.calls.get(&call) else { return };
        let (method, caller) = (entry.asked.method, entry.caller);
        let text = entry.request.clone();
        let Ok(request) = Request::parse(&text) else { return };
        let Some(params) = request.params.and_then(|params| params.as_object()) else { return };
        let key = self.exchange(Purpose::Call(call));
        let line = self.line(key, &request, params);
        let mut headers = if self.config.http && method == Method::CallTool {
            self.lists.tools(caller).map(|tools| tools.headers(params)).unwrap_or_default()
        } else {
            Vec::new()
        };
        self.push_version(&mut headers);
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.stage = Stage::Sent(key);
            if !self.config.http {
                // It is not asked for again.
                entry.request = Box::default();
            }
        }
        let exchange = Some(key);
        self.outputs.push_back(Output::Send(ToServer { exchange, method, text: line, headers }));
    }

    /// Whether a call may be sent once more, with its tool's schema asked for anew.
    fn may_refresh(&mut self, call: CallId) -> bool {
        let is_http = self.config.http;
        let Some(entry) = self.calls.get_mut(&call) else { return false };
        let may = is_http && entry.is_tool_call() && !entry.has_refreshed;
        if may {
            entry.has_refreshed = true;
            entry.has_schema = false;
        }
        may
    }

    /// The line that goes to the server, with our own id and token.
    fn line(&self, key: u64, request: &Request<'_>, params: Object<'_>) -> String {
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
                self.server.opening(key, now.saturating_add(self.config.open_timeout));
                self.server.step = Open::Initialize;
                let text = legacy::initialize(key, &self.config.name, &self.config.version);
                self.send(Some(key), Method::Other, text);
            }
            server::Next::Refused => {
                self.waiting.clear();
                let is_silent = self.server.status == Status::Refused(Refusal::NoAnswer);
                let down = Problem::Down { retry_after: self.server.retry_after };
                let problem = if is_silent { down } else { Problem::Refused };
                while let Some((call, _)) = self.calls.first_key_value() {
                    let call = *call;
                    self.fail(call, problem.clone());
                }
            }
        }
    }
}
