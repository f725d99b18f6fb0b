//! The task that turns the machine: one loop over what callers want, what the server says, and time.

use core::hash::BuildHasher as _;
use core::time::Duration;
use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::Arc;

use agentwire_core::mcp::bridge::{
    Ask, Backoff, Bridge, CallId, CallerId, Output, Refusal, Room, Status, Via,
};
use agentwire_core::time::Instant;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant as Clock;

use super::bridge::{Backend, Reply};
use super::child::{Child, Said};
use super::health::{Health, Trouble};
use super::options::Options;
use super::upstream::{Came, Connection};
use crate::http::HttpError;
use crate::stdio::{Cause, Ended};

/// What handles ask of the task.
pub(super) enum Command {
    Begin {
        ticket: u64,
        caller: CallerId,
        request: String,
        room: Room,
        via: Via,
        to: mpsc::Sender<Reply>,
    },
    Cancel {
        ticket: u64,
    },
    Close,
}

/// The way to the server.
enum Link {
    /// There is none; the next attempt is due at this time, if there is to be one.
    Down(Option<Clock>),
    Child(Child),
    Http(Box<Connection>),
}

/// What has happened.
enum Happened {
    Asked(Option<Command>),
    Said(Result<Said, Option<Ended>>),
    Came(u64, Came),
    Retry,
    Time,
}

/// The calls of one bridge, by the numbers of both sides.
#[derive(Default)]
struct Calls {
    open: HashMap<CallId, (u64, mpsc::Sender<Reply>)>,
    tickets: HashMap<u64, CallId>,
}

pub(super) struct Task {
    backend: Backend,
    options: Options,
    bridge: Bridge,
    backoff: Backoff,
    link: Link,
    calls: Calls,
    commands: mpsc::UnboundedReceiver<Command>,
    report: watch::Sender<Health>,
    epoch: Clock,
    random: RandomState,
    /// What went wrong last over HTTP.
    last_error: Option<String>,
}

impl Task {
    pub(super) fn new(
        backend: Backend,
        options: Options,
        commands: mpsc::UnboundedReceiver<Command>,
        report: watch::Sender<Health>,
    ) -> Self {
        let mut config = options.bridge.clone();
        config.http |= matches!(backend, Backend::Http(_));
        Self {
            bridge: Bridge::new(config),
            backoff: options.backoff,
            link: Link::Down(Some(Clock::now())),
            calls: Calls::default(),
            epoch: Clock::now(),
            random: RandomState::new(),
            last_error: None,
            backend,
            options,
            commands,
            report,
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + self.epoch.elapsed()
    }

    fn clock(&self, at: Instant) -> Clock {
        let span = at.duration_since(Instant::ZERO);
        let never = Duration::from_secs(30 * 365 * 86_400);
        self.epoch.checked_add(span.min(never)).unwrap_or_else(|| self.epoch + never)
    }

    pub(super) async fn run(mut self) {
        // The first attempt comes before the first caller.
        self.connect();
        loop {
            self.flush().await;
            self.look().await;
            match self.wait().await {
                Happened::Asked(Some(command)) => {
                    if self.obey(command) {
                        break;
                    }
                }
                Happened::Asked(None) => break,
                Happened::Said(said) => self.hear(said),
                Happened::Came(exchange, came) => self.take(exchange, came),
                Happened::Retry => self.connect(),
                Happened::Time => {
                    let now = self.now();
                    self.bridge.handle_timeout(now);
                }
            }
        }
        self.bridge.disconnected("the bridge was closed");
        self.flush().await;
        match core::mem::replace(&mut self.link, Link::Down(None)) {
            Link::Child(child) => drop(child.close().await),
            Link::Http(connection) => connection.close().await,
            Link::Down(_) => {}
        }
        // What came while it closed gets its end, too.
        while let Ok(command) = self.commands.try_recv() {
            self.obey(command);
            self.flush().await;
        }
    }

    async fn wait(&mut self) -> Happened {
        let due = self.bridge.poll_timeout().map(|due| self.clock(due));
        let time = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => core::future::pending().await,
            }
        };
        let said = async {
            match &mut self.link {
                Link::Child(child) => Happened::Said(child.next().await),
                Link::Http(connection) => {
                    let (exchange, came) = connection.next().await;
                    Happened::Came(exchange, came)
                }
                Link::Down(Some(until)) => {
                    tokio::time::sleep_until(*until).await;
                    Happened::Retry
                }
                Link::Down(None) => core::future::pending().await,
            }
        };
        tokio::select! {
            command = self.commands.recv() => Happened::Asked(command),
            happened = said => happened,
            () = time => Happened::Time,
        }
    }

    /// Does what a handle asks; says whether that was to end.
    fn obey(&mut self, command: Command) -> bool {
        let now = self.now();
        match command {
            Command::Begin { ticket, caller, request, room, via, to } => {
                let ask = Ask { caller, request: &request, room, via };
                let call = self.bridge.begin(now, &ask);
                self.calls.open.insert(call, (ticket, to));
                self.calls.tickets.insert(ticket, call);
            }
            Command::Cancel { ticket } => {
                if let Some(call) = self.calls.tickets.remove(&ticket) {
                    self.calls.open.remove(&call);
                    self.bridge.cancel(now, call);
                }
            }
            Command::Close => return true,
        }
        false
    }

    /// Starts the server, or begins to ask it.
    fn connect(&mut self) {
        let link = match &self.backend {
            Backend::Child(command) => Child::start(command, &self.options)
                .map(Link::Child)
                .map_err(|error| (format!("could not be started: {error}"), false)),
            // What is wrong with it will be wrong the next time.
            Backend::Http(upstream) => Connection::new(upstream, self.options.bridge.max_message)
                .map(|connection| Link::Http(Box::new(connection)))
                .map_err(|error| (format!("cannot be called: {error}"), true)),
        };
        match link {
            Ok(link) => {
                let pid = if let Link::Child(child) = &link { child.pid } else { None };
                self.link = link;
                let now = self.now();
                self.bridge.connected(now);
                self.report.send_modify(|health| {
                    health.starts += 1;
                    health.pid = pid;
                    health.status = Status::Opening;
                });
            }
            Err((what, is_final)) => {
                let trouble = Trouble { what, stderr: String::new() };
                self.down("it could not be started", trouble, is_final);
            }
        }
    }

    /// Takes what has come of an exchange over HTTP.
    fn take(&mut self, exchange: u64, came: Came) {
        let now = self.now();
        match came {
            Came::Message(text) => self.bridge.handle_message(now, Some(exchange), &text),
            Came::TooLarge => self.bridge.handle_overlong(now, Some(exchange), &[]),
            Came::NotUtf8 => self.bridge.handle_not_utf8(now, Some(exchange)),
            Came::Ended(None) => {
                self.bridge.handle_lost(now, exchange, "the stream ended without an answer");
            }
            Came::Ended(Some(error)) => {
                self.bridge.handle_lost(now, exchange, &error.to_string());
                self.last_error = Some(error.to_string());
                let has_session =
                    matches!(&self.link, Link::Http(connection) if connection.has_session());
                if has_session && error == HttpError::Status(404) {
                    let what = "has ended the session".to_owned();
                    let trouble = Trouble { what, stderr: String::new() };
                    self.down("it has ended the session", trouble, false);
                }
            }
        }
    }

    /// The server is gone: its calls end, and it is tried again unless that is of no use.
    fn down(&mut self, why: &str, trouble: Trouble, is_final: bool) {
        let now = self.now();
        let random = u32::try_from(self.random.hash_one(now.as_millis()) >> 32).unwrap_or_default();
        let delay = self.backoff.failed(now, random);
        let retry = (!is_final).then_some(delay);
        self.bridge.disconnected(why);
        self.bridge.set_retry_after(retry);
        self.link = Link::Down(retry.map(|delay| Clock::now() + delay));
        let status = self.bridge.status().clone();
        self.report.send_modify(|health| {
            health.status = status;
            health.failures = health.failures.saturating_add(1);
            health.pid = None;
            health.trouble = Some(Arc::new(trouble));
            health.is_final = is_final;
        });
    }

    fn hear(&mut self, said: Result<Said, Option<Ended>>) {
        let now = self.now();
        match said {
            Ok(Said::Line(line)) => self.bridge.handle_message(now, None, &line),
            Ok(Said::Overlong(head)) => self.bridge.handle_overlong(now, None, &head),
            Ok(Said::NotUtf8) => self.bridge.handle_not_utf8(now, None),
            Err(ended) => {
                let (why, trouble) = match &ended {
                    Some(ended) => (ended.status_text(), Trouble::of(ended)),
                    None => ("it ended".into(), Trouble::default()),
                };
                self.down(&why, trouble, false);
            }
        }
    }

    /// Looks at what the machine has made of it: a server that has come up, or cannot be used.
    async fn look(&mut self) {
        let status = self.bridge.status();
        let reported = self.report.borrow().status.clone();
        match status {
            Status::Up if reported != Status::Up => {
                let now = self.now();
                self.backoff.is_up(now);
                self.report.send_modify(|health| {
                    health.status = Status::Up;
                    health.failures = 0;
                });
            }
            Status::Refused(refusal) if !matches!(self.link, Link::Down(_)) => {
                let is_final = *refusal != Refusal::NoAnswer;
                let what = refusal.to_string();
                let mut what = what.strip_prefix("it ").unwrap_or(&what).to_owned();
                if let Some(error) = self.last_error.take() {
                    what = format!("{what}: {error}");
                }
                let stderr = self.hang_up().await;
                self.down("it cannot be used", Trouble { what, stderr }, is_final);
                self.flush().await;
            }
            _ => {}
        }
        let (open_calls, dropped) = (self.bridge.open_calls(), self.bridge.dropped());
        self.report.send_if_modified(|health| {
            let changed = health.dropped != dropped;
            (health.open_calls, health.dropped) = (open_calls, dropped);
            changed
        });
    }

    /// Ends the child; gives the last of its standard error.
    async fn hang_up(&mut self) -> String {
        match core::mem::replace(&mut self.link, Link::Down(None)) {
            Link::Child(child) => {
                child.close().await.map(|ended| ended.stderr().to_owned()).unwrap_or_default()
            }
            Link::Down(_) | Link::Http(_) => String::new(),
        }
    }

    /// Does what the machine says.
    async fn flush(&mut self) {
        let mut is_stuck = false;
        while let Some(output) = self.bridge.poll_output() {
            match output {
                Output::Send(message) => match &mut self.link {
                    Link::Child(child) => {
                        is_stuck |= child.send(message.text) > self.options.max_waiting;
                    }
                    Link::Http(connection) => connection.send(message),
                    Link::Down(_) => {}
                },
                Output::Cancel { exchange, text } => match &mut self.link {
                    Link::Child(child) => {
                        is_stuck |= child.send(text) > self.options.max_waiting;
                    }
                    Link::Http(connection) => {
                        connection.cancel(exchange, text, self.bridge.is_legacy());
                    }
                    Link::Down(_) => {}
                },
                Output::Notification { call, text } => {
                    let Some((_, to)) = self.calls.open.get(&call) else { continue };
                    let is_full = to.capacity() <= 1;
                    if is_full || to.try_send(Reply::Notification(text)).is_err() {
                        self.report.send_modify(|health| health.full += 1);
                    }
                }
                Output::Answer { call, answer } => {
                    let Some((ticket, to)) = self.calls.open.remove(&call) else { continue };
                    self.calls.tickets.remove(&ticket);
                    // Fails only when the caller has just gone.
                    let _ = to.try_send(Reply::Answer(answer));
                }
                _ => {}
            }
        }
        if is_stuck {
            let stderr = self.hang_up().await;
            let what = "left too much unread".to_owned();
            self.down("it left too much unread", Trouble { what, stderr }, false);
            Box::pin(self.flush()).await;
        }
    }
}

impl Trouble {
    fn of(ended: &Ended) -> Self {
        Self { what: format!("ended: {}", ended.status_text()), stderr: ended.stderr().to_owned() }
    }
}

impl Default for Trouble {
    fn default() -> Self {
        Self { what: "ended".into(), stderr: String::new() }
    }
}

impl Ended {
    /// What callers are told: nothing that the server wrote.
    fn status_text(&self) -> String {
        match (self.status, self.cause) {
            (Some(status), _) => status.to_string(),
            (None, Cause::StdinClosed) => "it closed its standard input".into(),
            (None, _) => "it closed its standard output".into(),
        }
    }
}
