//! Two sessions speak through the loopback's API, are recorded, and replayed.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::chat::ContactId;
use crate::chat::caller::{Call, To};
use crate::loopback::api::{Api, ClientId};
use crate::loopback::{Loopback, ProfileId};
use crate::rpc::ServiceCall;
use crate::rpc::session::ServiceEvent;
use crate::simplex::ServiceTarget;
use core::time::Duration;

/// A session and its connections to a core of the loopback.
struct Peer {
    name: &'static str,
    profile: ProfileId,
    session: Session<Standard>,
    links: BTreeMap<Link, ClientId>,
    replies: Vec<String>,
}

struct Bench {
    net: Loopback,
    api: Api,
    now: Instant,
    peers: Vec<Peer>,
    lines: Vec<String>,
    to_bot: ContactId,
    link: String,
}

fn declared() -> Vec<Declared<Standard>> {
    vec![Declared::new(Standard::A2A, ["1.0"])]
}

fn serving() -> SessionConfig {
    SessionConfig { service_requests: true, ..SessionConfig::default() }
}

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"GetTask","params":{"id":"t"},"a2a-service-parameters":{"A2A-Version":"1.0"}}"#;
const ONE_SHOT: &str = r#"{"jsonrpc":"2.0","id":3,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}},"a2a-service-parameters":{"A2A-Version":"1.0"}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"id":"t"}}"#;

impl Bench {
    fn new() -> Self {
        let mut net = Loopback::new(4);
        let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        let (to_bot, _) = net.connect(ann, bot).unwrap();
        let address = net.create_address(bot, true).unwrap();
        let (_, link) = net.links(address).unwrap();
        let peer = |name, profile, session| Peer {
            name,
            profile,
            session,
            links: BTreeMap::new(),
            replies: Vec::new(),
        };
        let peers = vec![
            peer("ann", ann, Session::new(SessionConfig::default(), Vec::new(), 5)),
            peer("bot", bot, Session::with_service(serving(), declared(), declared(), 6)),
        ];
        let (api, now, lines) = (Api::new(4), Instant::from_millis(1_000), Vec::new());
        Self { net, api, now, peers, lines, to_bot, link }
    }

    fn record(&mut self, at: usize, client: ClientId, direction: &str, frame: Option<&str>) {
        let millis = i64::try_from(self.now.as_millis()).unwrap();
        let name = self.peers[at].name;
        self.lines.push(to_text(|out| {
            out.raw("{\"at\":").int(millis).raw(",\"profile\":").string(name);
            out.raw(",\"client\":").string(&client.to_string());
            out.raw(",\"direction\":").string(direction);
            if let Some(frame) = frame {
                out.raw(",\"frame\":").string(frame);
            }
            out.raw("}");
        }));
    }

    /// Everything that can happen now happens.
    fn settle(&mut self) {
        while (0..self.peers.len()).filter(|at| self.turn(*at)).count() > 0 {}
    }

    fn turn(&mut self, at: usize) -> bool {
        let mut any = false;
        self.net.handle_timeout(self.now);
        self.peers[at].session.handle_timeout(self.now);
        loop {
            match self.peers[at].session.poll_output() {
                Output::Connect(link) => {
                    let client = self.api.connect(self.peers[at].profile).unwrap();
                    self.peers[at].links.insert(link, client);
                    self.record(at, client, "open", None);
                    let input = Input::Connected(link);
                    self.peers[at].session.handle_input(self.now, input).unwrap();
                }
                Output::Transmit(transmit) => {
                    let client = self.peers[at].links[&transmit.link];
                    self.record(at, client, "to_core", Some(&transmit.frame));
                    let frame = transmit.frame.as_bytes();
                    self.api.handle_frame(&mut self.net, self.now, client, frame).unwrap();
                }
                Output::Event(event) => self.event(at, event),
                Output::Timeout(_) => break,
                Output::Disconnect(_) | Output::Save(_) => {}
            }
            any = true;
        }
        for (link, client) in self.peers[at].links.clone() {
            while let Some(frame) = self.api.poll_frame(&mut self.net, client) {
                any = true;
                self.record(at, client, "from_core", Some(&frame));
                let input = Input::Frame(link, &frame);
                self.peers[at].session.handle_input(self.now, input).unwrap();
            }
        }
        any
    }

    fn event(&mut self, at: usize, event: Event<Standard>) {
        let (now, peer) = (self.now, &mut self.peers[at]);
        match event {
            Event::Chat(ChatEvent::Request(request)) => {
                peer.session.respond(now, request.token, ANSWER).unwrap();
            }
            Event::Service(ServiceEvent::Request(request)) => {
                let answer = ANSWER.replace("\"id\":2", "\"id\":3");
                peer.session.respond_service(now, &request.request_id, &answer).unwrap();
            }
            Event::Chat(ChatEvent::Reply(reply)) => peer.replies.push(reply.text),
            Event::Service(ServiceEvent::Reply(_)) => peer.replies.push("service".into()),
            _ => {}
        }
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now.saturating_add(span);
        self.settle();
    }

    /// Calls of both kinds and a lost connection.
    fn live() -> Self {
        let mut bench = Self::new();
        bench.settle();
        let to = To::Contact(bench.to_bot);
        for _ in 0..3 {
            let call = Call::new(Standard::A2A, to, REQUEST);
            bench.peers[0].session.call(bench.now, &call).unwrap();
            bench.pass(Duration::from_millis(10));
        }
        let target = ServiceTarget::new(bench.link.clone());
        let call = ServiceCall::new(Standard::A2A, ONE_SHOT);
        bench.peers[0].session.request(bench.now, target, &call).unwrap();
        bench.pass(Duration::from_millis(10));
        assert_eq!(bench.peers[0].replies, [ANSWER, ANSWER, ANSWER, "service"]);

        // The bot's connection is cut; it comes back, and answers what came meanwhile.
        let client = bench.peers[1].links.remove(&Link::Chat).unwrap();
        bench.api.disconnect(client);
        bench.record(1, client, "close", None);
        let lost = Input::Disconnected(Link::Chat);
        bench.peers[1].session.handle_input(bench.now, lost).unwrap();
        let call = Call::new(Standard::A2A, to, REQUEST);
        bench.peers[0].session.call(bench.now, &call).unwrap();
        bench.settle();
        for _ in 0..20 {
            bench.pass(Duration::from_secs(1));
        }
        assert_eq!(bench.peers[0].replies.len(), 5);
        bench
    }

    fn replay(&self, name: &str, config: SessionConfig, served: Vec<Declared<Standard>>) -> Report {
        let mut replay = Replay::new(config, served);
        for (at, line) in self.lines.iter().enumerate() {
            let line = Line::parse(line).unwrap();
            if line.profile == name {
                replay.line(at + 1, &line);
            }
        }
        replay.finish()
    }
}

#[test]
fn what_was_recorded_is_what_a_session_does_again() {
    let bench = Bench::live();
    let report = bench.replay("ann", SessionConfig::default(), Vec::new());
    assert_eq!((report.differ, report.unread), (0, 0), "{:?}", report.differences);
    assert_eq!(report.replies, 5);
    let report = bench.replay("bot", serving(), declared());
    let first = report.differences.first().map(|d| (d.line, &d.recorded, &d.replayed));
    assert_eq!((report.differ, report.unread), (0, 0), "{first:?}");
    assert_eq!(report.requests, 5);
    assert!(report.commands > 8 && report.frames > 8, "{report:?}");
}

#[test]
fn what_a_session_would_do_otherwise_is_named() {
    let mut bench = Bench::live();
    // A reply that quotes another item.
    let at = bench.lines.iter().position(|line| {
        line.contains("\"bot\"") && line.contains("to_core") && line.contains("quotedItemId")
    });
    let at = at.unwrap();
    let (name, other) = (r#"quotedItemId\\\":"#, r#"quotedItemId\\\":9"#);
    assert!(bench.lines[at].contains(name));
    bench.lines[at] = bench.lines[at].replace(name, other);
    let report = bench.replay("bot", serving(), declared());
    assert_eq!(report.differ, 1, "{:?}", report.differences);
    assert_eq!(report.differences[0].line, at + 1);
    assert!(!format!("{report:?}").contains("quotedItemId"));

    // A session that serves nothing answers nobody.
    let report = bench.replay("bot", SessionConfig::default(), Vec::new());
    assert!(report.differ > 1);
}

#[test]
fn lines_that_are_none_are_told_apart() {
    let open = r#"{"at":1,"profile":"a","client":"c","direction":"open"}"#;
    assert!(Line::parse(open).is_some());
    for wrong in [
        "",
        "[]",
        r#"{"at":-1,"profile":"a","client":"c","direction":"open"}"#,
        r#"{"at":1,"profile":"a","client":"c","direction":"up"}"#,
        r#"{"at":1,"profile":"a","client":"c","direction":"open","frame":""}"#,
        r#"{"at":1,"profile":"a","client":"c","direction":"to_core"}"#,
        r#"{"at":1,"client":"c","direction":"open"}"#,
    ] {
        assert!(Line::parse(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn differences_are_kept_up_to_a_limit() {
    let mut replay = Replay::new(SessionConfig::default(), Vec::new());
    for (count, kept) in [(MAX_DIFFERENCES - 1, 31), (1, 32), (1, 32)] {
        for _ in 0..count {
            replay.differs(1, None, None);
        }
        assert_eq!(replay.report.differences.len(), kept);
    }
    assert_eq!(replay.finish().differ, MAX_DIFFERENCES + 1);
}
