//! A scripted core: it remembers what the session has asked, and answers as a test says.

use super::super::*;
use crate::binding::Standard;
use crate::chat::caller::{Call, To};
use crate::chat::{ContactId, ItemId};
use crate::json::Value;
use crate::simplex::frame::Frame;
use crate::simplex::journal::JournalStore;
use crate::simplex::journal::disk::Disk;
use alloc::collections::VecDeque;
use std::format;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

pub(super) type Told = Event<Standard>;

/// A command that the session has sent.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) link: Link,
    pub(super) id: String,
    pub(super) cmd: String,
}

pub(super) struct Rig {
    pub(super) session: Session<Standard>,
    pub(super) now: Instant,
    pub(super) asked: VecDeque<Asked>,
    pub(super) events: VecDeque<Told>,
    pub(super) connects: VecDeque<Link>,
    pub(super) disconnects: VecDeque<Link>,
    pub(super) until: Option<Instant>,
    /// What outlives the session.
    pub(super) disk: Disk,
    /// What the core answers to the question which conversations there are.
    pub(super) overview: String,
}

impl Rig {
    pub(super) fn new(config: SessionConfig, declared: Vec<Declared<Standard>>) -> Self {
        let served = declared.clone();
        let session = Session::with_service(config, declared, served, 7);
        Self {
            session,
            now: Instant::from_millis(1_000),
            asked: VecDeque::new(),
            events: VecDeque::new(),
            connects: VecDeque::new(),
            disconnects: VecDeque::new(),
            until: None,
            disk: Disk::default(),
            overview: refusal("commandError"),
        }
    }

    /// A caller whose core is started.
    pub(super) fn caller() -> Self {
        let mut rig = Self::new(SessionConfig::default(), Vec::new());
        rig.start();
        rig
    }

    /// A bot that serves A2A, whose core is started with service requests.
    pub(super) fn bot() -> Self {
        let config = SessionConfig { service_requests: true, ..SessionConfig::default() };
        let mut rig = Self::new(config, vec![Declared::new(Standard::A2A, ["1.0"])]);
        rig.start();
        rig
    }

    /// Takes every output there is.
    pub(super) fn run(&mut self) {
        for _ in 0..100_000 {
            match self.session.poll_output() {
                Output::Connect(link) => self.connects.push_back(link),
                Output::Disconnect(link) => self.disconnects.push_back(link),
                Output::Transmit(transmit) => {
                    let value = Value::parse(&transmit.frame).unwrap().as_object().unwrap();
                    let text = |name| value.str(name).unwrap().unwrap().chars().collect::<String>();
                    let asked = Asked { link: transmit.link, id: text("corrId"), cmd: text("cmd") };
                    self.asked.push_back(asked);
                }
                Output::Save(changes) => self.disk.save(&changes).unwrap(),
                Output::Event(event) => self.events.push_back(event),
                Output::Timeout(until) => {
                    assert!(
                        until.is_none_or(|until| until > self.now),
                        "{until:?} at {:?}",
                        self.now
                    );
                    self.until = until;
                    return;
                }
            }
        }
        panic!("there is no end of outputs");
    }

    pub(super) fn input(&mut self, input: Input<'_>) {
        self.session.handle_input(self.now, input).unwrap();
        self.run();
    }

    pub(super) fn later(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
        self.session.handle_timeout(self.now);
        self.run();
    }

    /// Moves to the time at which the session has something to do.
    pub(super) fn wait(&mut self) {
        self.now = self.until.unwrap();
        self.session.handle_timeout(self.now);
        self.run();
    }

    pub(super) fn ask(&mut self) -> Asked {
        self.asked.pop_front().expect("the session asks for something")
    }

    pub(super) fn told(&mut self) -> Told {
        self.events.pop_front().expect("the session tells something")
    }

    /// The next command, which begins with this word.
    pub(super) fn expect(&mut self, start: &str) -> Asked {
        let asked = self.ask();
        assert!(asked.cmd.starts_with(start), "{} is not {start}", asked.cmd);
        asked
    }

    pub(super) fn answer(&mut self, asked: &Asked, response: &str) {
        let frame = format!(r#"{{"corrId":"{}","resp":{response}}}"#, asked.id);
        self.input(Input::Frame(asked.link, &frame));
    }

    pub(super) fn event(&mut self, link: Link, response: &str) {
        let frame = format!(r#"{{"resp":{response}}}"#);
        self.input(Input::Frame(link, &frame));
    }

    /// Lets the connection come about, and starts the core as a fresh one.
    pub(super) fn start(&mut self) -> Ready {
        self.run();
        self.connect();
        self.answer_start()
    }

    pub(super) fn connect(&mut self) {
        assert_eq!(self.connects.pop_front(), Some(Link::Chat));
        self.input(Input::Connected(Link::Chat));
    }

    pub(super) fn answer_start(&mut self) -> Ready {
        let asked = self.expect("/v");
        self.answer(&asked, VERSION);
        let asked = self.expect("/u");
        self.answer(&asked, USER);
        let asked = self.expect("/_start main=on");
        self.answer(&asked, r#"{"type":"chatStarted"}"#);
        self.answer_overview();
        match self.told() {
            Event::Ready(ready) => ready,
            event => panic!("{event:?}"),
        }
    }

    pub(super) fn answer_overview(&mut self) {
        let is_overview = |asked: &Asked| asked.cmd.starts_with("/_get chats");
        if let Some(place) = self.asked.iter().position(is_overview) {
            let asked = self.asked.remove(place).unwrap();
            let overview = self.overview.clone();
            self.answer(&asked, &overview);
        }
    }

    /// Cuts a connection, and starts the core again when the session has connected.
    pub(super) fn cut(&mut self, link: Link) {
        self.input(Input::Disconnected(link));
        match self.told() {
            Event::Disconnected { link: told, .. } => assert_eq!(told, link),
            event => panic!("{event:?}"),
        }
    }

    pub(super) fn again(&mut self) -> Ready {
        while self.connects.is_empty() {
            self.wait();
        }
        self.connect();
        self.answer_start()
    }

    /// Makes a call to contact 4.
    pub(super) fn call(&mut self, id: u32) -> CallId {
        let request = request(id);
        let call = Call::new(Standard::A2A, To::Contact(ContactId(4)), &request);
        let id = self.session.call(self.now, &call).unwrap();
        self.run();
        id
    }
}

pub(super) const VERSION: &str = r#"{"type":"versionInfo","versionInfo":{"version":"7.0.0.4"}}"#;
pub(super) const USER: &str =
    r#"{"type":"activeUser","user":{"userId":1,"localDisplayName":"bot","activeUser":true}}"#;

pub(super) fn request(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask","params":{{"id":"t"}},"a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
    )
}

pub(super) fn result(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"id":"t"}}}}"#)
}

pub(super) fn command(id: u32) -> String {
    format!("/_call a2a {}", request(id))
}

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    crate::json::to_text(|out| {
        out.string(text);
    })
}

/// An item of a direct chat without its conversation.
pub(super) fn bare(direction: &str, id: i64, text: &str, quotes: Option<i64>) -> String {
    let quote = quotes.map_or(String::new(), |id| {
        let of = if direction == "directRcv" { "directSnd" } else { "directRcv" };
        format!(r#","quotedItem":{{"chatDir":{{"type":"{of}"}},"itemId":{id}}}"#)
    });
    let text = quoted(text);
    format!(
        r#"{{"chatDir":{{"type":"{direction}"}},"meta":{{"itemId":{id},"itemTs":"2026-08-15T15:30:48Z","itemSharedMsgId":"shared{id}","itemStatus":{{"type":"sndNew"}}}},"content":{{"msgContent":{{"type":"text","text":{text}}}}}{quote}}}"#
    )
}

pub(super) fn in_chat(contact: i64, bare: &str) -> String {
    format!(
        r#"{{"chatInfo":{{"type":"direct","contact":{{"contactId":{contact},"localDisplayName":"c{contact}"}}}},"chatItem":{bare}}}"#
    )
}

/// `newChatItems` with these items of the contact 4.
pub(super) fn new_items(bares: &[String]) -> String {
    let items: Vec<String> = bares.iter().map(|bare| in_chat(4, bare)).collect();
    format!(r#"{{"type":"newChatItems","chatItems":[{}]}}"#, items.join(","))
}

/// A message of contact 4.
pub(super) fn received(id: i64, text: &str, quotes: Option<i64>) -> String {
    new_items(&[bare("directRcv", id, text, quotes)])
}

/// A page of the conversation with contact 4.
pub(super) fn page(bares: &[String]) -> String {
    format!(
        r#"{{"type":"apiChat","chat":{{"chatInfo":{{"type":"direct","contact":{{"contactId":4,"localDisplayName":"c"}}}},"chatItems":[{}]}}}}"#,
        bares.join(",")
    )
}

/// Conversations with contacts, each with the number of its newest item.
pub(super) fn overview(chats: &[(i64, i64)]) -> String {
    let chats: Vec<String> = chats
        .iter()
        .map(|(contact, newest)| {
            let item = bare("directRcv", *newest, "x", None);
            format!(
                r#"{{"chatInfo":{{"type":"direct","contact":{{"contactId":{contact}}}}},"chatItems":[{item}],"chatStats":{{}}}}"#
            )
        })
        .collect();
    format!(r#"{{"type":"apiChats","chats":[{}]}}"#, chats.join(","))
}

pub(super) fn refusal(tag: &str) -> String {
    format!(
        r#"{{"type":"chatCmdError","chatError":{{"type":"error","errorType":{{"type":"{tag}"}}}}}}"#
    )
}

/// The text of the first message that a `/_send` carries.
pub(super) fn text_of(asked: &Asked) -> String {
    let json = asked.cmd.split_once(" json ").unwrap().1;
    let first = Value::parse(json).unwrap().elements().unwrap().next().unwrap();
    let content = first.as_object().unwrap().object("msgContent").unwrap().unwrap();
    content.str("text").unwrap().unwrap().chars().collect()
}

/// The item that the first message of a `/_send` quotes.
pub(super) fn quote_of(asked: &Asked) -> Option<ItemId> {
    let json = asked.cmd.split_once(" json ").unwrap().1;
    let first = Value::parse(json).unwrap().elements().unwrap().next().unwrap();
    let quote = first.as_object().unwrap().get("quotedItemId").unwrap();
    quote.and_then(|quote| quote.as_integer()).map(ItemId)
}

#[test]
fn what_the_rig_writes_is_read() {
    let frame = format!(r#"{{"resp":{}}}"#, received(9, "\"x\"\n", Some(7)));
    assert!(Frame::parse(&frame).unwrap().body().is_ok());
    assert_eq!(7.to_string(), "7");
}
