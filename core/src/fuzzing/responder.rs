//! The responder machine against a list of commands.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::script::Script;
use super::script::texts::{self, Meaning, Style};
use crate::binding::{Failure, Standard};
use crate::chat::encode::{WireMessage, WireQuote, encode};
use crate::chat::responder::{
    AnswerError, Expired, FAILURE_BUFFER, Ignored, Received, Responder, ResponderConfig, Service,
    Token, TokenKey,
};
use crate::chat::size::{MAX_ENCODED_MSG_LEN, Mention};
use crate::chat::{
    Chat, ContactId, GroupId, Growable, Inline, Item, ItemId, Me, MemberId, Sender, Transmit,
};
use crate::json::length::escaped_len;
use crate::jsonrpc::Message;
use crate::time::Instant;

const LIMIT: usize = 4;
/// How many answered commands are known again whatever the table has room for.
const RECENT: usize = 8;
const OVERALL: u64 = 60_000;
const IDLE: u64 = 20_000;
const SERVICES: [Service<'static, Standard>; 2] =
    [Service::new(Standard::MCP, &["2026-07-28"]), Service::new(Standard::A2A, &["1.0"])];

/// A script of operations on two responders, one for each storage, and on a naive one.
///
/// | operation | parameters |
/// |---|---|
/// | `c` command, `C` command with a short buffer, `e` edited command | where, text, item |
/// | `r` respond, `R` respond with a reply that is too long | which command, kind |
/// | `n` notify, `N` notify with one that is too long | which command, kind |
/// | `f` fail | which command |
/// | `a` advance | a span; `b` hands in an earlier time |
/// | `t` handle one timeout, `T` with a short buffer | |
///
/// Which command: `0` is the last one that was accepted, `1` the one before.
pub fn responder_ops(data: &[u8]) {
    let config = ResponderConfig {
        overall: Duration::from_millis(OVERALL),
        idle: Duration::from_millis(IDLE),
        ..ResponderConfig::default()
    };
    let mut run = Run {
        inline: Responder::with_limit(config, usize::MAX),
        growable: Responder::with_limit(config, LIMIT),
        known: Vec::new(),
        ended: VecDeque::new(),
        recent: VecDeque::new(),
        now: 0,
        latest: 0,
        items: 0,
    };
    let mut script = Script::new(data);
    while let Some(operation) = script.operation() {
        run.step(operation, &mut script);
        run.compare();
    }
    run.finish();
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    /// Answered, and still known.
    Answered,
    Forgotten,
}

struct Known {
    tokens: Option<[Token; 2]>,
    keys: [TokenKey; 2],
    chat: Chat,
    sender: Sender,
    item: i64,
    style: Style,
    /// The id of its request.
    number: usize,
    state: State,
    overall: u64,
    deadline: u64,
    room: usize,
}

struct Run {
    inline: Responder<Standard, Inline<LIMIT>>,
    growable: Responder<Standard, Growable>,
    known: Vec<Known>,
    ended: VecDeque<usize>,
    recent: VecDeque<(Chat, i64)>,
    now: u64,
    /// The latest time there was, which machines go by.
    latest: u64,
    items: i64,
}

fn member(name: &str) -> MemberId {
    MemberId::new(name).expect("short")
}

/// What a command's text is, before the machine looks at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    NotACommand,
    Malformed,
    Undeclared,
    Other,
    Ambiguous,
    /// The request gets this error.
    Refused(i64),
    /// No answer fits.
    Unanswerable,
    Good(Style),
}

/// Encoded bytes that a reply to this text has, by what the encoder makes of an empty one.
fn room(chat: Chat, sender: Sender, text: &str) -> usize {
    let author = match sender {
        Sender::Member(member) if chat.is_group() => Some(String::from(member.get())),
        _ => None,
    };
    // The item's time is not known, so it is as long as one can be.
    let (id, sent_at) = ("x".repeat(24), "x".repeat(33));
    let mut quote = WireQuote::new(text, &id, &sent_at);
    quote.member_id = author.as_deref();
    let mut message = WireMessage::new(&id, "");
    message.quote = Some(quote);
    MAX_ENCODED_MSG_LEN.saturating_sub(encode(&message).len())
}

impl Run {
    fn now(&self) -> Instant {
        Instant::from_millis(self.now)
    }

    fn open(&self) -> impl Iterator<Item = &Known> {
        self.known.iter().filter(|command| command.state == State::Open)
    }

    /// An answered command is known for a while.
    fn note(&mut self, chat: Chat, item: i64) {
        self.recent.push_back((chat, item));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    fn end(&mut self, place: usize) {
        let known = &mut self.known[place];
        known.state = State::Answered;
        let (chat, item) = (known.chat, known.item);
        self.ended.push_back(place);
        self.note(chat, item);
    }

    fn step(&mut self, operation: u8, script: &mut Script<'_>) {
        let count = self.known.len();
        match operation {
            b'c' => self.command(script, FAILURE_BUFFER, false),
            b'C' => self.command(script, 10, false),
            b'e' => self.command(script, FAILURE_BUFFER, true),
            b'r' | b'R' | b'n' | b'N' => {
                let Some(place) = script.latest(count) else { return };
                let (number, style) = (self.known[place].number, self.known[place].style);
                let kind = script.below(texts::KINDS);
                let mut text = texts::reply(kind, style, number);
                if operation.is_ascii_uppercase() {
                    // Blanks around a value change nothing but its length.
                    text.push_str(&" ".repeat(MAX_ENCODED_MSG_LEN));
                }
                if operation.eq_ignore_ascii_case(&b'r') {
                    self.respond(place, &text, texts::meaning(kind, style));
                } else {
                    self.notify(place, &text, texts::meaning(kind, style));
                }
            }
            b'f' => {
                let Some(place) = script.latest(count) else { return };
                self.fail(place);
            }
            b'a' => self.now = self.now.saturating_add(script.span()),
            b'b' => self.now = self.now.saturating_sub(script.span()),
            b't' => {
                self.timeout(FAILURE_BUFFER);
            }
            b'T' => {
                self.timeout(10);
            }
            _ => {}
        }
    }

    fn command(&mut self, script: &mut Script<'_>, buffer: usize, edited: bool) {
        let group = Chat::Group(GroupId(1));
        let (chat, sender) = match script.below(5) {
            0 => (Chat::Direct(ContactId(1)), Sender::Contact),
            1 => (Chat::Direct(ContactId(2)), Sender::Contact),
            2 => (group, Sender::Member(member("0"))),
            3 => (group, Sender::Member(member("1"))),
            _ => (group, Sender::Channel),
        };
        let kind = script.below(16);
        let item = match script.below(8) {
            0..=4 => {
                self.items += 1;
                self.items
            }
            back => self.items - back as i64 + 5,
        };
        let number = item.unsigned_abs() as usize;
        let is_group = chat.is_group();
        let good =
            |style: Style| format!("/_call {} {}", style.binding_name(), style.request(number, ""));
        let mention = |name: &str| format!("/_call @{name} mcp {}", Style::Mcp.request(number, ""));
        let in_group = |fate| if is_group { fate } else { Fate::Malformed };
        let ours = [Mention::new("me", "9")];
        let theirs = [Mention::new("me", "8")];
        let mut me = Me::new(member("9"), "me");
        let mut mentions: &[Mention<'_>] = &[];
        let (text, fate) = match kind {
            0 => (good(Style::Mcp), Fate::Good(Style::Mcp)),
            1 => (good(Style::Stream), Fate::Good(Style::Stream)),
            2 => (good(Style::Single), Fate::Good(Style::Single)),
            3 => ("/_call x {}".into(), Fate::Undeclared),
            4 => ("hello".into(), Fate::NotACommand),
            5 => ("/_call  mcp {}".into(), Fate::Malformed),
            6 => ("/_call mcp {\"id\":".into(), Fate::Refused(-32700)),
            7 => ("/_call a2a {}".into(), Fate::Refused(-32600)),
            8 => (good(Style::Mcp).replace("-07-", "-08-"), Fate::Refused(-32022)),
            9 => (good(Style::Single).replace("1.0", "0.3"), Fate::Refused(-32009)),
            10 => (mention("me"), in_group(Fate::Good(Style::Mcp))),
            11 => (mention("you"), in_group(Fate::Other)),
            12 => {
                me = me.name_is_shared(true);
                (mention("'me'"), in_group(Fate::Ambiguous))
            }
            13 => {
                mentions = &ours;
                me = Me::new(member("9"), "somebody");
                (mention("me"), in_group(Fate::Good(Style::Mcp)))
            }
            14 => {
                mentions = &theirs;
                (mention("me"), in_group(Fate::Other))
            }
            _ => (good(Style::Mcp) + &" ".repeat(15_300), Fate::Unanswerable),
        };
        let mut received = Item::new(chat, sender, ItemId(item), &text).mentioning(mentions);
        received.me = is_group.then_some(me);
        received.edited = edited;

        self.latest = self.latest.max(self.now);
        let now = self.now();
        let (mut out, mut other_out) = ([0; FAILURE_BUFFER], [0; FAILURE_BUFFER]);
        let handled = self.inline.handle_command(now, &received, &SERVICES, &mut out[..buffer]);
        let other =
            self.growable.handle_command(now, &received, &SERVICES, &mut other_out[..buffer]);
        assert_eq!(format!("{handled:?}"), format!("{other:?}"), "the storages disagree");

        let is_it = |known: &Known| known.chat == chat && known.item == item;
        let seen =
            self.known.iter().position(|known| known.state != State::Forgotten && is_it(known));
        if let Some(place) = seen.filter(|place| edited && self.known[*place].state == State::Open)
        {
            assert!(matches!(handled, Ok(Received::Duplicate)));
            // The new text is the one that is quoted, unless nothing would fit then.
            let new = room(chat, sender, &text);
            if fate != Fate::Unanswerable {
                self.known[place].room = new;
            }
            return;
        }
        match fate {
            Fate::NotACommand => return assert!(matches!(handled, Ok(Received::NotACommand))),
            Fate::Malformed => return assert!(matches!(handled, Ok(Received::Malformed(_)))),
            Fate::Undeclared | Fate::Other | Fate::Ambiguous => {
                let expected = match fate {
                    Fate::Undeclared => Ignored::UndeclaredProtocol,
                    Fate::Other => Ignored::OtherMember,
                    _ => Ignored::AmbiguousName,
                };
                let Ok(Received::Ignored(ignored)) = handled else { panic!("{handled:?}") };
                return assert_eq!(ignored, expected);
            }
            Fate::Refused(_) | Fate::Unanswerable | Fate::Good(_) => {}
        }
        if edited || seen.is_some() || self.recent.contains(&(chat, item)) {
            return assert!(matches!(handled, Ok(Received::Duplicate)), "{handled:?}");
        }
        let is_full = self.open().count() == LIMIT;
        let code = match fate {
            Fate::Refused(code) => Some(code),
            Fate::Good(_) if is_full => Some(-32603),
            _ => None,
        };
        match handled {
            Err(error) => assert!(code.is_some() && error.needed > buffer),
            Ok(Received::Unanswerable { room, needed }) => {
                assert!(fate == Fate::Unanswerable && room < needed);
            }
            Ok(Received::Answered { transmit, failure }) => {
                assert!(is_full || !matches!(failure, Failure::Busy { .. }));
                error(&transmit, chat, item, code.expect("nothing is wrong"));
                self.note(chat, item);
            }
            Ok(Received::Request(request)) => {
                let Ok(Received::Request(other)) = other else { panic!("the storages disagree") };
                let Fate::Good(style) = fate else { panic!("{fate:?} was accepted") };
                assert!(!is_full);
                assert_eq!(request.binding, style.binding());
                assert_eq!(request.id, Some(&*format!("{number}")));
                assert!(text.ends_with(request.text) && request.text.starts_with('{'));
                assert_eq!(request.room, room(chat, sender, &text), "another room");
                let keys = [request.token.key(), other.token.key()];
                assert!(self.known.iter().all(|known| known.keys != keys), "a key is used again");
                if self.open().count() + self.ended.len() == LIMIT {
                    let oldest = self.ended.pop_front().expect("it is not full");
                    self.known[oldest].state = State::Forgotten;
                }
                let overall = self.latest.saturating_add(OVERALL);
                self.known.push(Known {
                    tokens: Some([request.token, other.token]),
                    keys,
                    chat,
                    sender,
                    item,
                    style,
                    number,
                    state: State::Open,
                    overall,
                    deadline: overall.min(self.latest.saturating_add(IDLE)),
                    room: request.room,
                });
            }
            Ok(other) => panic!("{other:?} of {fate:?}"),
        }
    }

    fn respond(&mut self, place: usize, text: &str, meaning: Meaning) {
        let Some([token, other]) = self.known[place].tokens.take() else { return };
        self.latest = self.latest.max(self.now);
        let now = self.now();
        let (mut out, mut other_out) = ([0; FAILURE_BUFFER], [0; FAILURE_BUFFER]);
        let result = self.inline.respond(now, token, text, &mut out);
        let twin = self.growable.respond(now, other, text, &mut other_out);
        assert_eq!(format!("{result:?}"), format!("{twin:?}"), "the storages disagree");
        let known = &mut self.known[place];
        let fits = escaped_len(text) <= known.room;
        match (result, twin) {
            (Ok(answer), Ok(_)) => {
                assert_eq!(known.state, State::Open, "a second last answer");
                assert!(matches!(meaning, Meaning::Last { .. }));
                assert_eq!(answer.replaced.is_none(), fits);
                if fits {
                    reply(&answer.transmit, known, text);
                } else {
                    error(&answer.transmit, known.chat, known.item, -32603);
                }
                self.end(place);
            }
            (Err(refused), Err(twin)) => {
                match refused.cause {
                    AnswerError::Gone => assert_ne!(known.state, State::Open),
                    AnswerError::NotAnAnswer(_) => assert_eq!(meaning, Meaning::Foreign),
                    AnswerError::NotLast => {
                        assert!(matches!(meaning, Meaning::Notification | Meaning::Part { .. }));
                    }
                    cause => panic!("{cause}"),
                }
                assert!(known.state == State::Open || refused.cause == AnswerError::Gone);
                known.tokens = Some([refused.token, twin.token]);
            }
            _ => panic!("the storages disagree"),
        }
    }

    fn notify(&mut self, place: usize, text: &str, meaning: Meaning) {
        let Some([token, other]) = self.known[place].tokens.take() else { return };
        self.latest = self.latest.max(self.now);
        let now = self.now();
        let (mut out, mut other_out) = ([0; FAILURE_BUFFER], [0; FAILURE_BUFFER]);
        let result = self.inline.notify(now, &token, text, &mut out);
        let twin = self.growable.notify(now, &other, text, &mut other_out);
        assert_eq!(format!("{result:?}"), format!("{twin:?}"), "the storages disagree");
        let latest = self.latest;
        let known = &mut self.known[place];
        known.tokens = Some([token, other]);
        let fits = escaped_len(text) <= known.room;
        let is_open = known.state == State::Open;
        match result {
            Ok(answer) => {
                assert!(is_open, "a reply after the last one");
                let is_part = matches!(meaning, Meaning::Part { .. });
                assert!(is_part || meaning == Meaning::Notification);
                assert_eq!(answer.replaced.is_none(), fits);
                if fits {
                    reply(&answer.transmit, known, text);
                    known.deadline = known.overall.min(latest.saturating_add(IDLE));
                } else {
                    assert!(is_part, "only a part is replaced");
                    error(&answer.transmit, known.chat, known.item, -32603);
                    self.end(place);
                }
            }
            Err(AnswerError::Gone) => assert!(!is_open),
            Err(AnswerError::NotAnAnswer(_)) => assert!(is_open && meaning == Meaning::Foreign),
            Err(AnswerError::IsLast) => {
                assert!(is_open && matches!(meaning, Meaning::Last { .. }));
            }
            Err(AnswerError::TooLarge(error)) => {
                assert!(is_open && !fits && meaning == Meaning::Notification);
                assert!(error.needed > error.limit);
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn fail(&mut self, place: usize) {
        let Some([token, other]) = self.known[place].tokens.take() else { return };
        self.latest = self.latest.max(self.now);
        let now = self.now();
        let (mut out, mut other_out) = ([0; FAILURE_BUFFER], [0; FAILURE_BUFFER]);
        let result = self.inline.fail(now, token, &Failure::Internal, &mut out);
        let twin = self.growable.fail(now, other, &Failure::Internal, &mut other_out);
        assert_eq!(format!("{result:?}"), format!("{twin:?}"), "the storages disagree");
        let known = &self.known[place];
        match result {
            Ok(transmit) => {
                assert_eq!(known.state, State::Open, "a second last answer");
                error(&transmit, known.chat, known.item, -32603);
                self.end(place);
            }
            Err(refused) => {
                assert_eq!(refused.cause, AnswerError::Gone);
                assert_ne!(known.state, State::Open);
            }
        }
    }

    /// Handles one timeout, and says whether there was one.
    fn timeout(&mut self, buffer: usize) -> bool {
        self.latest = self.latest.max(self.now);
        let now = self.now();
        let (mut out, mut other_out) = ([0; FAILURE_BUFFER], [0; FAILURE_BUFFER]);
        let expired = self.inline.handle_timeout(now, &mut out[..buffer]);
        let twin = self.growable.handle_timeout(now, &mut other_out[..buffer]);
        assert_eq!(format!("{expired:?}"), format!("{twin:?}"), "the storages disagree");
        let earliest = self.open().map(|known| known.deadline).min();
        let due = earliest.filter(|deadline| *deadline <= self.latest);
        match expired {
            Err(error) => {
                assert!(due.is_some() && error.needed > buffer);
                false
            }
            Ok(None) => {
                assert_eq!(due, None, "a limit has passed and nothing was said");
                false
            }
            Ok(Some(Expired { token, transmit })) => {
                let place = self.known.iter().position(|known| known.keys[0] == token);
                let place = place.expect("a command");
                let known = &self.known[place];
                assert_eq!(known.state, State::Open, "a command is answered twice");
                assert_eq!(Some(known.deadline), due, "another command's limit is earlier");
                error(&transmit, known.chat, known.item, -32603);
                self.end(place);
                true
            }
        }
    }

    /// What getters say.
    fn compare(&self) {
        let open = self.open().count();
        assert_eq!((self.inline.open(), self.growable.open()), (open, open));
        let next = self.open().map(|known| Instant::from_millis(known.deadline)).min();
        assert_eq!((self.inline.poll_timeout(), self.growable.poll_timeout()), (next, next));
        for known in self.known.iter().rev().take(12) {
            let Some([token, other]) = &known.tokens else { continue };
            for budget in [self.inline.budget(token), self.growable.budget(other)] {
                let is_open = known.state == State::Open;
                assert_eq!(budget.map(|budget| budget.remaining()), is_open.then_some(known.room));
            }
        }
    }

    /// At the end of time every command has been answered, and all the room is there again.
    fn finish(mut self) {
        self.now = u64::MAX;
        while self.timeout(FAILURE_BUFFER) {}
        self.compare();
        assert_eq!(self.inline.poll_timeout(), None);
        for _ in 0..=LIMIT {
            self.command(&mut Script::new(b"010"), FAILURE_BUFFER, false);
        }
        assert_eq!(self.inline.open(), LIMIT);
        while self.timeout(FAILURE_BUFFER) {}
        self.compare();
    }
}

/// A reply goes where the command came from, quotes it, and fits.
fn reply(transmit: &Transmit<'_>, known: &Known, text: &str) {
    assert_eq!((transmit.chat, transmit.quotes), (known.chat, Some(ItemId(known.item))));
    assert_eq!((transmit.text, transmit.mention), (text, None));
    let expected = MAX_ENCODED_MSG_LEN - known.room + escaped_len(text);
    assert_eq!(transmit.size.bytes(), expected, "{:?}", known.sender);
}

/// An error of the protocol that answers the command.
fn error(transmit: &Transmit<'_>, chat: Chat, item: i64, code: i64) {
    assert_eq!((transmit.chat, transmit.quotes), (chat, Some(ItemId(item))));
    assert!(transmit.size.bytes() <= MAX_ENCODED_MSG_LEN);
    let Ok(Message::Error(error)) = Message::parse(transmit.text) else { panic!("no error") };
    assert_eq!(error.code, code);
}
