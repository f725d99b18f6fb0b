//! Many profiles on one thread: a loopback, a session on each of its profiles, and a clock that
//! only moves when it is told to.

use core::fmt;
use core::time::Duration;

use agentwire_core::binding::Standard;
use agentwire_core::chat::caller::{Call, CallError, CallId, To};
use agentwire_core::chat::session::{
    Declared, Event, Message, NotifyError, Reply, Request, Session, SessionConfig,
};
use agentwire_core::chat::{Chat, ContactId, GroupId, GroupMemberId, ItemId, MemberId};
use agentwire_core::loopback::{
    ComposedMessage, Endpoint, GroupRef, Loopback, ProfileId, SendError, SentMessage, Step,
};
use agentwire_core::time::Instant;

/// How many steps one instant may take before it is a livelock.
pub const MAX_STEPS: usize = 20_000;

/// A profile of a [`World`], in the order in which they were added.
pub type Who = usize;

/// What has happened at a profile.
#[derive(Debug)]
#[allow(clippy::exhaustive_enums)]
pub enum Happened {
    /// A message was sent.
    Sent(SentMessage),
    /// The chat core has refused one.
    NotSent(Message, SendError),
    /// The application learns this.
    Event(Event<Standard>),
}

/// The machines kept each other busy without any time passing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Livelock {
    /// When.
    pub at: Instant,
}

impl fmt::Display for Livelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {MAX_STEPS} steps at {} ms", self.at.as_millis())
    }
}

impl core::error::Error for Livelock {}

/// A member of a group as another one calls it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Mentioned {
    group: GroupId,
    /// Who it is, the same for all.
    pub member: MemberId,
    group_member: GroupMemberId,
    /// The name, as the calling profile's core tells equal names apart.
    pub name: String,
}

impl Mentioned {
    /// The member as the one to call.
    pub fn to(&self) -> To<'_> {
        To::Member {
            group: self.group,
            member: self.member,
            group_member: self.group_member,
            name: &self.name,
        }
    }
}

/// The whole of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct World {
    /// The chat cores.
    pub net: Loopback,
    /// The clock.
    pub now: Instant,
    ends: Vec<Endpoint<Standard>>,
    /// Whose session was changed from outside.
    touched: Vec<bool>,
}

impl World {
    /// A world without profiles.
    pub fn new(seed: u64) -> Self {
        Self { net: Loopback::new(seed), now: Instant::ZERO, ends: Vec::new(), touched: Vec::new() }
    }

    /// Adds a profile that declares these protocols.
    ///
    /// # Panics
    /// If the name is none.
    pub fn add(&mut self, name: &str, config: SessionConfig, declared: &[Standard]) -> Who {
        let profile = self.net.add_profile(name).expect("a name that a chat core allows");
        let versions = |binding: &Standard| match *binding {
            Standard::MCP => "2026-07-28",
            _ => "1.0",
        };
        let declared = declared.iter().map(|b| Declared::new(*b, [versions(b)])).collect();
        self.ends.push(Endpoint::new(profile, Session::new(config, declared)));
        self.touched.push(true);
        self.ends.len() - 1
    }

    /// The profile in the loopback.
    pub fn profile(&self, who: Who) -> ProfileId {
        self.ends[who].profile()
    }

    /// The session of a profile.
    pub fn session(&mut self, who: Who) -> &mut Session<Standard> {
        self.touched[who] = true;
        self.ends[who].session_mut()
    }

    /// Connects two profiles: `b` as `a` knows it.
    ///
    /// # Panics
    /// If they are one.
    pub fn connect(&mut self, a: Who, b: Who) -> ContactId {
        let (a, b) = (self.profile(a), self.profile(b));
        self.net.connect(a, b).expect("two profiles").0
    }

    /// A group of these members.
    ///
    /// # Panics
    /// If one occurs twice.
    pub fn group(&mut self, name: &str, members: &[Who]) -> GroupRef {
        let owner = self.profile(members[0]);
        let group = self.net.create_group(owner, name).expect("a name that a chat core allows");
        for &member in &members[1..] {
            let profile = self.profile(member);
            self.net.join(group, profile).expect("a new member");
        }
        group
    }

    /// The group as one of its members knows it.
    ///
    /// # Panics
    /// If it is no member.
    pub fn group_id(&self, group: GroupRef, who: Who) -> GroupId {
        self.net.group_id(group, self.profile(who)).expect("a member")
    }

    /// The member `of` as `who` knows it.
    ///
    /// # Panics
    /// If one of them is no member.
    pub fn member(&self, group: GroupRef, who: Who, of: Who) -> Mentioned {
        let known = self.net.member_of(group, self.profile(who), self.profile(of));
        let known = known.expect("a member");
        Mentioned {
            group: self.group_id(group, who),
            member: known.member,
            group_member: known.group_member_id,
            name: known.name,
        }
    }

    /// Makes a call.
    ///
    /// # Errors
    /// [`CallError`]
    pub fn call<'c>(
        &mut self,
        who: Who,
        call: &Call<'c, Standard>,
    ) -> Result<CallId, CallError<'c>> {
        let now = self.now;
        self.session(who).call(now, call)
    }

    /// Makes a call with the session's limits.
    ///
    /// # Panics
    /// If it is not made.
    pub fn make(&mut self, who: Who, binding: Standard, to: To<'_>, request: &str) -> CallId {
        self.call(who, &Call::new(binding, to, request)).expect("a call that is made")
    }

    /// Sends a message by hand.
    ///
    /// # Panics
    /// If the chat core refuses it.
    pub fn send<'m>(
        &mut self,
        who: Who,
        chat: Chat,
        message: impl Into<ComposedMessage<'m>>,
    ) -> ItemId {
        let profile = self.profile(who);
        self.net.send(self.now, profile, chat, message).expect("a message that is sent").item
    }

    /// Answers a request.
    ///
    /// # Panics
    /// If the answer is not taken.
    pub fn respond(&mut self, who: Who, request: Request<Standard>, text: &str) {
        let now = self.now;
        self.session(who).respond(now, request.token, text).expect("an answer");
    }

    /// Gives a reply that is not the last one.
    ///
    /// # Errors
    /// [`NotifyError`]
    pub fn notify(
        &mut self,
        who: Who,
        request: &Request<Standard>,
        text: &str,
    ) -> Result<(), NotifyError> {
        let now = self.now;
        self.session(who).notify(now, &request.token, text).map(|_| ())
    }

    /// Takes all steps that there are to take now.
    ///
    /// # Errors
    /// [`Livelock`] when there is no end to them.
    pub fn drive_bounded(&mut self) -> Result<Vec<(Who, Happened)>, Livelock> {
        let mut seen = Vec::new();
        let mut is_busy = true;
        while is_busy {
            is_busy = false;
            self.net.handle_timeout(self.now);
            for (who, end) in self.ends.iter_mut().enumerate() {
                let is_due = end.session().poll_timeout().is_some_and(|due| due <= self.now);
                let is_touched = core::mem::take(&mut self.touched[who]);
                if !is_due && !is_touched && self.net.queued(end.profile()) == 0 {
                    continue;
                }
                loop {
                    let happened = match end.poll(&mut self.net, self.now) {
                        Step::Sent(sent) => Happened::Sent(sent),
                        Step::NotSent(message, error) => Happened::NotSent(message, error),
                        Step::Event(event) => Happened::Event(event),
                        // Nobody here speaks over Service RPC.
                        Step::Service(_) => continue,
                        Step::Timeout(_) => break,
                    };
                    is_busy = true;
                    seen.push((who, happened));
                    if seen.len() > MAX_STEPS {
                        return Err(Livelock { at: self.now });
                    }
                }
            }
        }
        Ok(seen)
    }

    /// When something is to be done next; everything has been done now before.
    pub fn next_timeout(&self) -> Option<Instant> {
        let sessions = self.ends.iter().map(|end| end.session().poll_timeout());
        sessions.chain([self.net.poll_timeout()]).flatten().min()
    }

    /// Takes all steps that there are to take now, and gives what the applications learn.
    ///
    /// # Panics
    /// On a [`Livelock`], and if a chat core refuses a message.
    pub fn settle(&mut self) -> Vec<(Who, Event<Standard>)> {
        let seen = self.drive_bounded().expect("no livelock");
        let events = seen.into_iter().filter_map(|(who, happened)| match happened {
            Happened::Event(event) => Some((who, event)),
            Happened::Sent(_) => None,
            Happened::NotSent(message, error) => panic!("{message:?} is not sent: {error}"),
        });
        events.collect()
    }

    /// Lets time pass, and takes the steps of each moment.
    ///
    /// # Panics
    /// As [`settle`](Self::settle).
    pub fn pass(&mut self, span: Duration) -> Vec<(Who, Event<Standard>)> {
        let end = self.now + span;
        let mut seen = self.settle();
        while let Some(next) = self.next_timeout().filter(|next| *next <= end) {
            assert!(next > self.now, "a timeout that has passed and has nothing to do");
            self.now = next;
            seen.extend(self.settle());
        }
        self.now = end;
        seen
    }

    /// Drives, and gives the requests that have arrived; nothing else may have happened.
    ///
    /// # Panics
    /// If something else has happened.
    pub fn requests(&mut self) -> Vec<(Who, Request<Standard>)> {
        let requests = self.settle().into_iter().map(|(who, event)| match event {
            Event::Request(request) => (who, request),
            other => panic!("no request at {who}: {other:?}"),
        });
        requests.collect()
    }

    /// Drives, and gives the one request that has arrived.
    ///
    /// # Panics
    /// If something else has happened.
    pub fn request(&mut self) -> (Who, Request<Standard>) {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1);
        requests.remove(0)
    }

    /// Drives, and gives the replies that have arrived at `who`; nothing else may have happened
    /// there.
    ///
    /// # Panics
    /// If something else has happened.
    pub fn replies(&mut self, who: Who) -> Vec<Reply> {
        let here = self.settle().into_iter().filter(|(at, _)| *at == who);
        let replies = here.map(|(_, event)| match event {
            Event::Reply(reply) => reply,
            other => panic!("no reply: {other:?}"),
        });
        replies.collect()
    }

    /// Drives, and gives the one reply that has arrived at `who`.
    ///
    /// # Panics
    /// If something else has happened there.
    pub fn reply(&mut self, who: Who) -> Reply {
        let mut replies = self.replies(who);
        assert_eq!(replies.len(), 1);
        replies.remove(0)
    }
}

/// A request of A2A 1.0 with an id that is written as given.
pub fn a2a(id: &str, method: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"id":"t"}},"a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
    )
}

/// A request of MCP in this revision.
pub fn mcp(id: &str, method: &str, revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{revision}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

/// A response.
pub fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A response of a stream: the task `t` is in this state now.
pub fn status(id: &str, state: &str) -> String {
    let update = format!(
        r#"{{"statusUpdate":{{"taskId":"t","contextId":"c","status":{{"state":"TASK_STATE_{state}"}}}}}}"#
    );
    result(id, &update)
}
