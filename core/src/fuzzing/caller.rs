//! The caller machine against a list of calls.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::script::Script;
use super::script::texts::{self, Meaning, Style};
use crate::binding::{End, Standard};
use crate::chat::caller::{
    Call, CallError, CallId, Caller, CallerConfig, Handled, Limit, ReplyError, SentError, TimedOut,
    To, UnknownCall, Wait,
};
use crate::chat::command::Command;
use crate::chat::{
    Chat, ContactId, GroupId, GroupMemberId, Growable, Inline, Item, ItemId, MemberId, Quoted,
    Sender,
};
use crate::time::Instant;

const LIMIT: usize = 4;
const MAX_REPLIES: u32 = 3;

/// A script of operations on two callers, one for each storage, and on a naive one.
///
/// | operation | parameters |
/// |---|---|
/// | `c` call, `C` call with a short buffer | whom, request, wait |
/// | `s` sent | which call, whether the shared id is known |
/// | `n` not sent, `x` cancel | which call |
/// | `r` reply, `e` edited reply | which call, who, kind, quote, item |
/// | `a` advance | a span; `b` hands in an earlier time |
/// | `t` handle one timeout | |
///
/// Which call: `0` is the last one that was made, `1` the one before.
pub fn caller_ops(data: &[u8]) {
    let config = CallerConfig {
        wait: Wait::new(Duration::from_secs(60), Duration::from_secs(20)),
        max_replies: MAX_REPLIES,
        ..CallerConfig::default()
    };
    let mut run = Run {
        inline: Caller::with_limit(config, usize::MAX),
        growable: Caller::with_limit(config, LIMIT),
        model: Model::default(),
        next_item: 1,
        long: 0,
    };
    let mut script = Script::new(data);
    while let Some(operation) = script.operation() {
        run.step(operation, &mut script);
        run.compare();
    }
    run.finish();
}

struct Run {
    inline: Caller<Standard, Inline<LIMIT>>,
    growable: Caller<Standard, Growable>,
    model: Model,
    /// Items are numbered on, commands and replies alike.
    next_item: i64,
    /// How many calls had a long request.
    long: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    /// Ended, and still known.
    Ended,
    Forgotten,
}

struct Known {
    id: CallId,
    chat: Chat,
    member: Option<MemberId>,
    wanted: u32,
    style: Style,
    state: State,
    item: Option<i64>,
    shared: Option<String>,
    overall: u64,
    idle: u64,
    deadline: u64,
    replies: u32,
    answers: u32,
    seen: BTreeSet<i64>,
    /// In a direct chat or with a mention, whether a part has named the task.
    task: bool,
    /// In a broadcast: who has begun a stream (false) or given the last reply (true).
    senders: BTreeMap<Sender, bool>,
}

#[derive(Default)]
struct Model {
    calls: Vec<Known>,
    ended: VecDeque<usize>,
    now: u64,
    /// The latest time there was, which machines go by.
    latest: u64,
}

fn member(name: &str) -> MemberId {
    MemberId::new(name).expect("short")
}

fn later(now: u64, span: Duration) -> u64 {
    Instant::from_millis(now).saturating_add(span).as_millis()
}

impl Known {
    fn is_broadcast(&self) -> bool {
        self.chat.is_group() && self.member.is_none()
    }

    fn is_called(&self, sender: Sender) -> bool {
        match (self.chat.is_group(), self.member) {
            (false, _) => sender == Sender::Contact,
            (true, Some(member)) => sender == Sender::Member(member),
            (true, None) => sender != Sender::Contact,
        }
    }

    /// Exact for the 64 ids up to the highest.
    fn has_seen(&self, item: i64) -> bool {
        let highest = self.seen.last().copied().unwrap_or(item);
        self.seen.contains(&item) && i128::from(highest) - i128::from(item) < 64
    }

    fn see(&mut self, item: i64) {
        let highest = self.seen.last().copied().unwrap_or(item);
        // What comes too far behind is not noted.
        if i128::from(highest) - i128::from(item) < 64 {
            self.seen.insert(item);
        }
    }
}

impl Model {
    fn open(&self) -> impl Iterator<Item = (usize, &Known)> {
        self.calls.iter().enumerate().filter(|(_, call)| call.state == State::Open)
    }

    fn sending(&self) -> bool {
        self.open().any(|(_, call)| call.item.is_none())
    }

    fn followed(&self) -> usize {
        self.open().map(|(_, call)| call.senders.len()).sum()
    }

    fn end(&mut self, place: usize) {
        self.calls[place].state = State::Ended;
        self.ended.push_back(place);
    }

    fn find(&self, chat: Chat, quote: &Quoted<'_>) -> Option<usize> {
        let known = |call: &&Known| call.state != State::Forgotten && call.chat == chat;
        let by = |is_it: &dyn Fn(&Known) -> bool| {
            self.calls.iter().position(|call| known(&call) && is_it(call))
        };
        quote.item.and_then(|item| by(&|call| call.item == Some(item.0))).or_else(|| {
            quote.shared_msg_id.and_then(|id| by(&|call| call.shared.as_deref() == Some(id)))
        })
    }
}

impl Run {
    fn now(&self) -> Instant {
        Instant::from_millis(self.model.now)
    }

    fn item(&mut self) -> i64 {
        self.next_item += 1;
        self.next_item
    }

    fn step(&mut self, operation: u8, script: &mut Script<'_>) {
        let count = self.model.calls.len();
        // What reaches the machines hands in the time.
        let reaches = match operation {
            b'c' | b'C' | b'r' | b'e' | b't' => true,
            b's' | b'n' => count > 0,
            _ => false,
        };
        if reaches {
            self.model.latest = self.model.latest.max(self.model.now);
        }
        match operation {
            b'c' => self.call(script, 20_000),
            b'C' => self.call(script, 10),
            b's' => {
                if let Some(place) = script.latest(count) {
                    self.sent(place, script.below(3));
                }
            }
            b'n' => {
                let Some(place) = script.latest(count) else { return };
                let (now, id) = (self.now(), self.model.calls[place].id);
                let is_open = self.model.calls[place].state == State::Open;
                let expected = if is_open { Ok(()) } else { Err(UnknownCall) };
                assert_eq!(self.inline.handle_not_sent(now, id), expected);
                assert_eq!(self.growable.handle_not_sent(now, id), expected);
                if is_open {
                    self.model.end(place);
                }
            }
            b'x' => {
                let Some(place) = script.latest(count) else { return };
                let id = self.model.calls[place].id;
                let is_open = self.model.calls[place].state == State::Open;
                assert_eq!(self.inline.cancel(id), is_open);
                assert_eq!(self.growable.cancel(id), is_open);
                if is_open {
                    self.model.end(place);
                }
            }
            b'r' | b'e' => {
                let place = script.latest(count);
                self.reply(place, script, operation == b'e');
            }
            b'a' => self.model.now = self.model.now.saturating_add(script.span()),
            b'b' => self.model.now = self.model.now.saturating_sub(script.span()),
            b't' => {
                self.timeout();
            }
            _ => {}
        }
    }

    fn call(&mut self, script: &mut Script<'_>, buffer: usize) {
        let (to, wanted) = match script.below(6) {
            0 => (To::Contact(ContactId(1)), None),
            1 => (To::Contact(ContactId(2)), None),
            2 => {
                let (group, group_member) = (GroupId(1), GroupMemberId(7));
                (To::Member { group, member: member("0"), group_member, name: "bob" }, None)
            }
            3 => (To::Everyone(GroupId(1)), None),
            4 => (To::Everyone(GroupId(1)), Some(1)),
            _ => (To::Everyone(GroupId(1)), Some(2)),
        };
        let mut kind = script.below(7);
        if kind > 4 {
            // Long ones take long: a few will do.
            self.long += 1;
            kind = if self.long > 3 { 0 } else { kind };
        }
        let place = self.model.calls.len();
        let style = Style::ALL[kind % 3];
        let request = match kind {
            3 => String::from("[]"),
            4 => style.request(place, "").replace("A2A-Version", "Token\":\"t\",\"A2A-Version"),
            5 => style.request(place, &"x".repeat(15_100)),
            6 => style.request(place, &"x".repeat(16_000)),
            _ => style.request(place, ""),
        };
        let wait = match script.below(4) {
            0 => None,
            1 => Some(Wait::new(Duration::from_secs(5), Duration::from_secs(50))),
            2 => Some(Wait::new(Duration::MAX, Duration::MAX)),
            _ => Some(Wait::new(Duration::from_secs(90), Duration::from_micros(1_500))),
        };
        let mut call = Call::new(style.binding(), to, &request);
        call.answers = wanted;
        call.wait = wait;
        let now = self.now();
        let buffer = buffer.min(request.len() + 64);
        let (mut out, mut other) = (alloc::vec![0; buffer], alloc::vec![0; buffer]);
        let made = self.inline.call(now, &call, &mut out);
        assert_eq!(made, self.growable.call(now, &call, &mut other), "the storages disagree");

        let refused = kind == 3 || (kind == 4 && to.chat().is_group());
        let is_full = self.model.open().count() == LIMIT;
        match made {
            Err(CallError::Refused(_)) => assert!(refused),
            Err(CallError::Buffer(error)) => {
                assert!(!refused && buffer == 10 && error.needed > 10);
            }
            Err(CallError::TooLarge(_)) => assert!(!refused && kind == 6),
            Err(CallError::NoRoomForReply { room, needed }) => {
                assert!(!refused && kind == 5 && room < needed);
            }
            Err(CallError::Full { capacity }) => {
                assert!(!refused && is_full && capacity == LIMIT);
            }
            Err(other) => panic!("{other}"),
            Ok((id, transmit)) => {
                assert!(!refused && !is_full && buffer > 10 && kind < 5, "it was to be refused");
                let command = Command::parse(transmit.text).expect("a command");
                let name = matches!(to, To::Member { .. }).then_some("bob");
                assert_eq!(
                    (command.member(), transmit.mention.map(|(name, _)| name)),
                    (name, name)
                );
                assert_eq!((transmit.chat, transmit.quotes), (to.chat(), None));
                assert!(self.model.calls.iter().all(|call| call.id != id), "an id is used again");
                let wait = wait.unwrap_or(self.inline.config().wait);
                let latest = self.model.latest;
                let overall = later(latest, wait.overall);
                let idle = u64::try_from(wait.idle.as_millis()).unwrap_or(u64::MAX);
                // The oldest ended call makes room.
                if self.model.open().count() + self.model.ended.len() == LIMIT {
                    let oldest = self.model.ended.pop_front().expect("it is not full");
                    self.model.calls[oldest].state = State::Forgotten;
                }
                let member = name.map(|_| member("0"));
                self.model.calls.push(Known {
                    id,
                    chat: to.chat(),
                    member,
                    wanted: wanted.unwrap_or(u32::MAX),
                    style,
                    state: State::Open,
                    item: None,
                    shared: None,
                    overall,
                    idle,
                    deadline: overall.min(latest.saturating_add(idle)),
                    replies: 0,
                    answers: 0,
                    seen: BTreeSet::new(),
                    task: false,
                    senders: BTreeMap::new(),
                });
            }
        }
    }

    fn sent(&mut self, place: usize, shared: usize) {
        let item = self.item();
        let shared = match shared {
            0 => None,
            1 => Some(format!("shared-{item}")),
            _ => Some("x".repeat(32)),
        };
        let (now, id) = (self.now(), self.model.calls[place].id);
        let result = self.inline.handle_sent(now, id, ItemId(item), shared.as_deref());
        let other = self.growable.handle_sent(now, id, ItemId(item), shared.as_deref());
        assert_eq!(result, other, "the storages disagree");
        let call = &mut self.model.calls[place];
        let too_long = shared.as_ref().is_some_and(|shared| shared.len() > 31);
        match result {
            Ok(()) => {
                assert!(call.state == State::Open && !too_long);
                call.item = Some(item);
                call.shared = shared.or(call.shared.take());
            }
            Err(SentError::UnknownCall) => assert!(call.state != State::Open && !too_long),
            Err(SentError::Id(_)) => assert!(too_long),
        }
    }

    fn reply(&mut self, place: Option<usize>, script: &mut Script<'_>, edited: bool) {
        let sender = match script.below(6) {
            0 => Sender::Contact,
            1 => Sender::Channel,
            2 => Sender::Member(member("0")),
            3 => Sender::Member(member("1")),
            4 => Sender::Member(member("2")),
            _ => Sender::Member(member("#")),
        };
        let kind = script.below(texts::KINDS);
        let call = place.map(|place| &self.model.calls[place]);
        let style = call.map_or(Style::Mcp, |call| call.style);
        let chat = call.map_or(Chat::Direct(ContactId(1)), |call| call.chat);
        let own = call.and_then(|call| call.item).map(ItemId);
        let shared = call.and_then(|call| call.shared.clone());
        let quote = match script.below(8) {
            0..=2 => own.map(Quoted::own),
            3 => Some(Quoted::new(true, Some(ItemId(-7)), shared.as_deref())),
            4 => Some(Quoted::new(true, None, shared.as_deref())),
            5 => Some(Quoted::new(false, own, shared.as_deref())),
            6 => Some(Quoted::own(ItemId(1_000_000))),
            _ => None,
        };
        let fresh = self.next_item + 1;
        let item = match script.below(8) {
            0..=3 => {
                self.next_item = fresh;
                fresh
            }
            4 => fresh - 1,
            5 => fresh - 63,
            6 => fresh - 64,
            _ => [i64::MIN, -1, 0, i64::MAX][script.below(4)],
        };
        let text = texts::reply(kind, style, place.unwrap_or(0));
        let mut received = Item::new(chat, sender, ItemId(item), &text);
        received.quote = quote;
        received.edited = edited;

        let now = self.now();
        let handled = self.inline.handle_reply(now, &received);
        assert_eq!(handled, self.growable.handle_reply(now, &received), "the storages disagree");
        let meaning = texts::meaning(kind, style);
        self.expect(&received, handled, meaning);
    }

    fn expect(
        &mut self,
        received: &Item<'_>,
        handled: Result<Handled<'_>, ReplyError>,
        meaning: Meaning,
    ) {
        let Some(quote) = received.quote.filter(|quote| quote.is_own) else {
            assert_eq!(handled, Ok(Handled::NotAReply));
            return;
        };
        let Some(place) = self.model.find(received.chat, &quote) else {
            let unbound = self.model.sending();
            assert_eq!(handled, Ok(if unbound { Handled::Unbound } else { Handled::Unknown }));
            return;
        };
        let followed = self.model.followed();
        let latest = self.model.latest;
        let call = &mut self.model.calls[place];
        let (sender, item) = (received.sender, received.id.0);
        if !call.is_called(sender) {
            assert_eq!(handled, Ok(Handled::Stranger(call.id)));
            return;
        }
        if !received.edited && call.has_seen(item) {
            assert_eq!(handled, Ok(Handled::Duplicate(call.id)));
            return;
        }
        let is_broadcast = call.is_broadcast();
        let state_of_sender = call.senders.get(&sender).copied();
        if call.state != State::Open || (is_broadcast && state_of_sender == Some(true)) {
            call.see(item);
            let Ok(Handled::Late(reply)) = handled else { panic!("{handled:?} of a late reply") };
            assert!(reply.call == call.id && !reply.is_end && !reply.is_resumable);
            texts::is_meant(reply.class, meaning);
            return;
        }
        let is_last = matches!(meaning, Meaning::Last { .. });
        if !is_last && call.replies >= MAX_REPLIES {
            assert_eq!(handled, Err(ReplyError::TooManyReplies { limit: MAX_REPLIES }));
            return;
        }
        let room = state_of_sender.is_some() || followed < LIMIT;
        if is_broadcast && is_last && !room {
            assert_eq!(handled, Err(ReplyError::TooManySenders { capacity: LIMIT }));
            return;
        }

        let Ok(Handled::Reply(reply)) = handled else { panic!("{handled:?} of a reply") };
        texts::is_meant(reply.class, meaning);
        assert_eq!((reply.call, reply.sender, reply.item), (call.id, sender, received.id));
        assert_eq!((reply.text, reply.edited), (received.text, received.edited));
        call.see(item);
        let names_task = meaning == Meaning::Part { task: true };
        let had_task = if is_broadcast { state_of_sender == Some(false) } else { call.task };
        if is_broadcast {
            if is_last {
                call.senders.insert(sender, true);
            } else if names_task && room {
                call.senders.insert(sender, false);
            }
        } else if names_task {
            call.task = true;
        }
        match meaning {
            Meaning::Last { end } => {
                call.answers += 1;
                let is_error = matches!(end, End::Error { .. });
                assert_eq!(reply.is_resumable, had_task && is_error);
                call.task &= is_broadcast;
            }
            Meaning::Part { .. } | Meaning::Notification => {
                call.replies += 1;
                call.deadline = call.overall.min(latest.saturating_add(call.idle));
            }
            Meaning::Foreign => call.replies += 1,
        }
        let is_end = is_last && (!is_broadcast || call.answers >= call.wanted);
        assert_eq!(reply.is_end, is_end);
        if is_end {
            self.model.end(place);
        }
    }

    /// Handles one timeout, and says whether there was one.
    fn timeout(&mut self) -> bool {
        let now = self.now();
        let end = self.inline.handle_timeout(now);
        assert_eq!(end, self.growable.handle_timeout(now), "the storages disagree");
        let earliest = self.model.open().map(|(_, call)| call.deadline).min();
        let due = earliest.filter(|deadline| *deadline <= self.model.latest);
        let Some(TimedOut { call: id, limit, replies, answers, is_resumable, was_sent }) = end
        else {
            assert_eq!(due, None, "a limit has passed and nothing was said");
            return false;
        };
        let place = self.model.calls.iter().position(|call| call.id == id).expect("a call");
        let call = &self.model.calls[place];
        assert_eq!(call.state, State::Open, "a call ends twice");
        assert_eq!(Some(call.deadline), due, "another call's limit is earlier");
        let expected = if call.overall <= call.deadline { Limit::Overall } else { Limit::Idle };
        assert_eq!(limit, expected);
        assert_eq!((replies, answers), (call.replies, call.answers));
        let begun = call.senders.values().any(|has_ended| !has_ended);
        assert_eq!(is_resumable, call.task || begun);
        assert_eq!(was_sent, call.item.is_some());
        self.model.end(place);
        true
    }

    /// What getters say.
    fn compare(&self) {
        let open = self.model.open().count();
        assert_eq!((self.inline.open(), self.growable.open()), (open, open));
        let next = self.model.open().map(|(_, call)| Instant::from_millis(call.deadline)).min();
        assert_eq!((self.inline.poll_timeout(), self.growable.poll_timeout()), (next, next));
        assert_eq!((self.inline.capacity(), self.growable.capacity()), (LIMIT, LIMIT));
        for call in self.model.calls.iter().rev().take(12) {
            let is_open = call.state == State::Open;
            assert_eq!(self.inline.is_open(call.id), is_open);
            assert_eq!(self.growable.is_open(call.id), is_open);
        }
    }

    /// At the end of time every call has ended, and all the room there was is there again.
    fn finish(mut self) {
        (self.model.now, self.model.latest) = (u64::MAX, u64::MAX);
        while self.timeout() {}
        self.compare();
        assert_eq!(self.inline.poll_timeout(), None);
        for last in [false, true] {
            for _ in 0..LIMIT {
                self.call(&mut Script::new(if last { b"410" } else { b"310" }), 20_000);
                self.sent(self.model.calls.len() - 1, 0);
            }
            for sender in ["2", "3", "4", "5"] {
                let script = alloc::format!("{sender}200");
                let place = self.model.calls.len() - 1;
                // In a broadcast that one answer ends, the others are late.
                self.reply(Some(place), &mut Script::new(script.as_bytes()), false);
            }
            self.compare();
            while self.timeout() {}
        }
        self.compare();
    }
}
