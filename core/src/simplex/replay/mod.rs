//! A recording of a session's connections, run through a session once more.
//!
//! A recording (`agentwire loopback --record`) has every frame between a core and its clients. What
//! came from the core goes into a [`Session`]; what the session sends is held against what was sent
//! then:
//!
//! ```text
//! open ────────► Connected        the connection that the session asks for next
//! from_core ───► Frame            its corrId is the one that the session has used
//! to_core ─────► the same command is among what the session sends? else it was the application's
//!                wish (a reply, a call, a response, any command): it is wished for, and then?
//! close ───────► Disconnected
//! ```
//!
//! Commands are compared, not frames: a `corrId` is free. So a bot that was recorded with one
//! version can be held against another one, and a report of a user be looked at where it was
//! recorded: the same frames give the same answers, or the first that differ are named.
//!
//! What cannot be replayed is what no frame shows: limits of the application's own, what its
//! journal held, and calls that it gave up.

mod line;
#[cfg(all(test, feature = "loopback"))]
mod tests;
mod wish;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use line::{Line, LineKind};

use super::frame::{Body, Frame};
use super::{Event, Input, Link, Output, Session, SessionConfig};
use crate::binding::Standard;
use crate::chat::responder::Token;
use crate::chat::session::{Declared, Event as ChatEvent};
use crate::chat::{Chat, GroupId, GroupMemberId, ItemId, MemberId};
use crate::json::to_text;
use crate::time::Instant;

/// How many differences are kept; more are counted.
pub const MAX_DIFFERENCES: usize = 32;

/// How often the session is moved on to its next deadline until it asks for a connection.
const MAX_STEPS: usize = 64;

/// How many members of groups are kept by their numbers.
const MAX_MEMBERS: usize = 65_536;

/// Where the session does something else than was recorded.
///
/// `Debug` shows lengths; what the commands say is for whoever owns the recording.
///
/// ```
/// use agentwire_core::simplex::replay::Difference;
/// fn show(difference: &Difference) -> String {
///     match (&difference.recorded, &difference.replayed) {
///         (Some(_), Some(_)) => format!("line {}: another command", difference.line),
///         (Some(_), None) => format!("line {}: not sent", difference.line),
///         _ => format!("line {}: sent, and not recorded", difference.line),
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The line of the recording, from 1 on.
    pub line: usize,
    /// The command that was recorded there.
    pub recorded: Option<String>,
    /// The command that the session sends in its place.
    pub replayed: Option<String>,
}

impl fmt::Debug for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Difference")
            .field("line", &self.line)
            .field("recorded_len", &self.recorded.as_ref().map(String::len))
            .field("replayed_len", &self.replayed.as_ref().map(String::len))
            .finish()
    }
}

/// What a replay has come to.
///
/// ```
/// use agentwire_core::simplex::replay::Replay;
/// let report = Replay::new(Default::default(), Vec::new()).finish();
/// assert_eq!((report.frames, report.commands, report.differ), (0, 0, 0));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Frames of the core that were handed in.
    pub frames: usize,
    /// Frames of the core that cannot be read.
    pub unread: usize,
    /// Commands that were compared.
    pub commands: usize,
    /// Requests of callers, in chats and over Service RPC.
    pub requests: usize,
    /// Replies to own calls and requests.
    pub replies: usize,
    /// Commands that differ.
    pub differ: usize,
    /// The first [`MAX_DIFFERENCES`] of them.
    pub differences: Vec<Difference>,
}

/// A connection of the recording.
struct Connection {
    link: Link,
    /// The session's `corrId` for each recorded one that has no answer yet.
    ids: BTreeMap<String, String>,
}

/// A command that the session has sent and the recording has not shown yet.
struct Sent {
    link: Link,
    corr_id: String,
    command: String,
    line: usize,
}

/// A session that lives through a recording.
///
/// ```
/// use agentwire_core::simplex::replay::{Line, Replay};
/// let mut replay = Replay::new(Default::default(), Vec::new());
/// for (at, line) in [
///     r#"{"at":0,"profile":"ann","client":"c","direction":"open"}"#,
///     r#"{"at":1,"profile":"ann","client":"c","direction":"to_core",
///         "frame":"{\"corrId\":\"1\",\"cmd\":\"/v\"}"}"#,
///     r#"{"at":2,"profile":"ann","client":"c","direction":"to_core",
///         "frame":"{\"corrId\":\"2\",\"cmd\":\"/help\"}"}"#,
/// ]
/// .into_iter()
/// .enumerate()
/// {
///     replay.line(at + 1, &Line::parse(line).unwrap());
/// }
/// let report = replay.finish();
/// // A session asks for the version first, and does not ask for help before it knows it.
/// assert_eq!((report.commands, report.differ), (2, 1));
/// assert_eq!(report.differences[0].recorded.as_deref(), Some("/help"));
/// ```
pub struct Replay {
    session: Session<Standard>,
    now: Instant,
    /// The connections that the session has asked for and the recording has not shown yet.
    wanted: VecDeque<Link>,
    /// Those that the recording has shown and the session has not asked for yet.
    opened: VecDeque<String>,
    connections: BTreeMap<String, Connection>,
    sent: VecDeque<Sent>,
    tokens: BTreeMap<(Chat, ItemId), Token>,
    members: BTreeMap<(GroupId, GroupMemberId), MemberId>,
    /// The last line of each link at which a command was recorded.
    last: BTreeMap<Link, usize>,
    line: usize,
    report: Report,
}

impl Replay {
    /// A session as the one that was recorded: with its limits, and serving what it served in
    /// chats and, if its limits say so, over Service RPC.
    #[must_use]
    pub fn new(config: SessionConfig, declared: Vec<Declared<Standard>>) -> Self {
        let service = if config.service_requests { declared.clone() } else { Vec::new() };
        Self {
            session: Session::with_service(config, declared, service, 1),
            now: Instant::ZERO,
            wanted: VecDeque::new(),
            opened: VecDeque::new(),
            connections: BTreeMap::new(),
            sent: VecDeque::new(),
            tokens: BTreeMap::new(),
            members: BTreeMap::new(),
            last: BTreeMap::new(),
            line: 0,
            report: Report::default(),
        }
    }

    /// Lives through a line of the session's profile; lines come in order, with their numbers from
    /// 1 on.
    pub fn line(&mut self, number: usize, line: &Line) {
        self.line = number;
        self.now = self.now.max(line.at);
        self.session.handle_timeout(self.now);
        self.take_outputs();
        self.bind();
        match line.kind {
            LineKind::Open => self.open(&line.client),
            LineKind::FromCore => self.frame(&line.client, &line.frame),
            LineKind::ToCore => self.command(&line.client, &line.frame),
            LineKind::Close => {
                self.opened.retain(|client| *client != line.client);
                if let Some(connection) = self.connections.remove(&line.client) {
                    self.input(Input::Disconnected(connection.link));
                }
            }
        }
    }

    /// What it has come to. What the session has sent last and was not recorded may have been cut
    /// off with the recording: it counts if something was recorded behind it.
    #[must_use]
    pub fn finish(mut self) -> Report {
        for sent in core::mem::take(&mut self.sent) {
            if self.last.get(&sent.link).is_some_and(|last| *last > sent.line) {
                self.differs(sent.line, None, Some(sent.command));
            }
        }
        self.report
    }

    fn open(&mut self, client: &str) {
        self.opened.push_back(String::from(client));
        self.bind();
    }

    /// Gives connections that were opened to the session, which has asked for them.
    fn bind(&mut self) {
        while let (Some(link), Some(client)) =
            (self.wanted.front().copied(), self.opened.front().cloned())
        {
            self.wanted.pop_front();
            self.opened.pop_front();
            self.connections.insert(client, Connection { link, ids: BTreeMap::new() });
            // All outputs have been taken, so there is room.
            let _ = self.session.handle_input(self.now, Input::Connected(link));
            self.take_outputs();
        }
    }

    /// Lets time pass until the session asks for its first connection: its own waits are drawn, so
    /// it may want to wait a little longer than it did.
    fn wait_for_chat(&mut self) {
        let is_there = |connection: &Connection| connection.link == Link::Chat;
        for _ in 0..MAX_STEPS {
            if self.opened.is_empty() || self.connections.values().any(is_there) {
                return;
            }
            let Some(until) = self.session.poll_timeout() else { return };
            self.now = self.now.max(until);
            self.session.handle_timeout(self.now);
            self.take_outputs();
            self.bind();
        }
    }

    fn frame(&mut self, client: &str, recorded: &str) {
        let Some(connection) = self.connections.get_mut(client) else { return };
        self.report.frames = self.report.frames.saturating_add(1);
        let link = connection.link;
        let Ok(frame) = Frame::parse(recorded) else {
            self.report.unread = self.report.unread.saturating_add(1);
            return self.input(Input::Frame(link, recorded));
        };
        let corr_id = frame.corr_id().map(line::decoded);
        let own = corr_id.and_then(|corr_id| connection.ids.remove(&corr_id));
        if let Ok(Body::GroupMembers(group, members)) = frame.body() {
            for member in members.filter_map(Result::ok) {
                if let Some(key) = member.key().filter(|_| self.members.len() < MAX_MEMBERS) {
                    self.members.insert((group.id, member.id), key);
                }
            }
        }
        let object = frame.object();
        let text = own.map(|own| {
            to_text(|out| {
                out.raw("{\"corrId\":").string(&own).raw(",\"resp\":");
                out.value(object.as_value()).raw("}");
            })
        });
        match text {
            Some(text) => self.input(Input::Frame(link, &text)),
            None => self.input(Input::Frame(link, recorded)),
        }
    }

    fn command(&mut self, client: &str, text: &str) {
        let Some((corr_id, command)) = line::command_frame(text) else { return };
        if !self.connections.contains_key(client) {
            self.wait_for_chat();
        }
        if !self.connections.contains_key(client) {
            // A connection that the session opens when something is wished for.
            self.wish(&command);
            self.take_outputs();
            self.bind();
        }
        let Some(link) = self.connections.get(client).map(|connection| connection.link) else {
            return;
        };
        self.report.commands = self.report.commands.saturating_add(1);
        self.last.insert(link, self.line);
        let mut place = self.place(link, &command);
        if place.is_none() {
            self.wish(&command);
            self.take_outputs();
            place = self.place(link, &command);
        }
        let sent = place.and_then(|place| self.sent.remove(place));
        let Some(sent) = sent else {
            let other = self.sent.iter().position(|sent| sent.link == link);
            let other = other.and_then(|place| self.sent.remove(place));
            if let (Some(other), Some(connection)) = (&other, self.connections.get_mut(client)) {
                // What was answered then is the answer to what is sent now.
                connection.ids.insert(corr_id, other.corr_id.clone());
            }
            let line = self.line;
            return self.differs(line, Some(command), other.map(|other| other.command));
        };
        if let Some(connection) = self.connections.get_mut(client) {
            connection.ids.insert(corr_id, sent.corr_id);
        }
    }

    fn place(&self, link: Link, command: &str) -> Option<usize> {
        self.sent.iter().position(|sent| sent.link == link && sent.command == command)
    }

    fn differs(&mut self, line: usize, recorded: Option<String>, replayed: Option<String>) {
        self.report.differ = self.report.differ.saturating_add(1);
        if self.report.differences.len() < MAX_DIFFERENCES {
            self.report.differences.push(Difference { line, recorded, replayed });
        }
    }

    fn input(&mut self, input: Input<'_>) {
        // All outputs have been taken, so there is room.
        let _ = self.session.handle_input(self.now, input);
        self.take_outputs();
    }

    fn take_outputs(&mut self) {
        loop {
            match self.session.poll_output() {
                Output::Connect(link) => self.wanted.push_back(link),
                Output::Disconnect(link) => {
                    self.wanted.retain(|wanted| *wanted != link);
                    self.connections.retain(|_, connection| connection.link != link);
                }
                Output::Transmit(transmit) => {
                    if let Some((corr_id, command)) = line::command_frame(&transmit.frame) {
                        let (link, line) = (transmit.link, self.line);
                        self.sent.push_back(Sent { link, corr_id, command, line });
                    }
                }
                Output::Save(_) => {}
                Output::Event(event) => self.event(event),
                Output::Timeout(_) => return,
            }
        }
    }

    fn event(&mut self, event: Event<Standard>) {
        use crate::rpc::session::ServiceEvent;
        let count = match event {
            Event::Chat(ChatEvent::Request(request)) => {
                self.tokens.insert((request.chat, request.item), request.token);
                &mut self.report.requests
            }
            Event::Service(ServiceEvent::Request(_)) => &mut self.report.requests,
            Event::Chat(ChatEvent::Reply(_)) | Event::Service(ServiceEvent::Reply(_)) => {
                &mut self.report.replies
            }
            _ => return,
        };
        *count = count.saturating_add(1);
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("line", &self.line).finish_non_exhaustive()
    }
}
