//! Both machines against arbitrary input: what is written is read back, and whatever a link does
//! between a caller and two bots, each call and each command ends once.

use std::collections::{BTreeMap, BTreeSet};

use agentwire_core::binding::{Class, Failure, ProtocolName, Standard};
use agentwire_core::chat::caller::{
    Call, CallError, CallId, Caller, CallerConfig, Handled, ReplyError, To,
};
use agentwire_core::chat::command::{Command, MentionForm};
use agentwire_core::chat::responder::{
    AnswerError, FAILURE_BUFFER, Received, RespondError, Responder, ResponderConfig, Service, Token,
};
use agentwire_core::chat::session::{Declared, Event, Input, Output, Session, SessionConfig};
use agentwire_core::chat::{
    Chat, ContactId, GroupId, GroupMemberId, Inline, Item, ItemId, Me, MemberId, Quoted, Sender,
    Transmit,
};
use agentwire_core::time::Instant;
use proptest::collection::vec;
use proptest::prelude::*;

// Commands.

fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((any::<String>(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn request() -> impl Strategy<Value = String> {
    (vec((any::<String>(), json()), 0..4), 0..3, " *\n?").prop_map(|(members, form, space)| {
        let object = serde_json::Value::Object(members.into_iter().collect());
        match form {
            0 => object.to_string(),
            1 => serde_json::to_string_pretty(&object).unwrap(),
            _ => object.to_string().replacen('{', &format!("{{{space}"), 1),
        }
    })
}

/// Names that a command can write.
fn member_name() -> impl Strategy<Value = String> {
    let awkward = "[a-z .,!_\u{55e}é🦀\n-]{1,6}";
    prop_oneof![any::<String>(), awkward.prop_map(|name| name)].prop_filter("not a name", |name| {
        let first = name.chars().next();
        first.is_some_and(|first| first > ' ' && !matches!(first, '#' | '@' | '\''))
            && !name.contains('\'')
    })
}

proptest! {
    #[test]
    fn a_written_command_is_read_back(
        member in proptest::option::of(member_name()),
        protocol in "[a-z0-9-]{1,12}",
        request in request(),
        recognised in any::<bool>(),
    ) {
        let name = ProtocolName::new(&protocol).unwrap();
        let command = Command::new(member.as_deref(), name, &request).unwrap();
        let form = if recognised { MentionForm::Recognised } else { MentionForm::OneLine };
        let mut buffer = vec![0; 64 + request.len() + member.as_ref().map_or(0, String::len)];
        let text = command.write(form, &mut buffer).unwrap().to_owned();
        let read = Command::parse(&text).unwrap();
        prop_assert_eq!(read.member(), member.as_deref());
        prop_assert_eq!(read.protocol().get(), &protocol);
        let breaks = recognised && member.is_some() && !request.starts_with("{\n");
        let expected = if breaks { request.replacen('{', "{\n", 1) } else { request.clone() };
        prop_assert_eq!(read.request(), &expected);
        // Writing what was read changes nothing any more, and a shorter buffer is refused.
        let mut again = vec![0; text.len()];
        prop_assert_eq!(read.write(form, &mut again).unwrap(), &text);
        let error = read.write(form, &mut again[1..]).unwrap_err();
        prop_assert_eq!(error.needed, text.len());
    }

    #[test]
    fn no_text_breaks_the_grammar(text in prop_oneof![any::<String>(), "/_call [ @'a-z{}\":1\n]{0,20}"]) {
        if let Ok(command) = Command::parse(&text) {
            let mut buffer = vec![0; text.len() + 4];
            let written = command.write(MentionForm::OneLine, &mut buffer).unwrap();
            let read = Command::parse(written).unwrap();
            prop_assert_eq!(read.member(), command.member());
            prop_assert_eq!(
                serde_json::from_str::<serde_json::Value>(read.request()).unwrap(),
                serde_json::from_str::<serde_json::Value>(command.request()).unwrap()
            );
        }
    }
}

// A caller and two bots over a link that does anything.

const CONTACT: ContactId = ContactId(1);
const GROUP: GroupId = GroupId(1);
const BOTS: [(&str, &str); 2] = [("alice", "member-alice"), ("bob", "member-bob")];
const CALLER: &str = "member-caller";
const SERVICES: &[Service<'_, Standard>] =
    &[Service::new(Standard::MCP, &["2026-07-28"]), Service::new(Standard::A2A, &["1.0"])];

#[derive(Clone, Debug)]
enum Op {
    /// 0: the contact, 1 and 2: a member, 3: everyone. MCP, or a stream of A2A.
    Call {
        to: u8,
        stream: bool,
        answers: Option<u32>,
    },
    /// The chat core says whether it has sent the command.
    Sent {
        call: usize,
        is_sent: bool,
    },
    Cancel {
        call: usize,
    },
    /// A message arrives: which one, and whether it may arrive again.
    Arrive {
        message: usize,
        again: bool,
    },
    Lose {
        message: usize,
    },
    /// A handler acts on one of its commands.
    Handler {
        token: usize,
        act: u8,
    },
    Pass {
        millis: u64,
    },
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let which = any::<usize>;
    let op = prop_oneof![
        3 => (0..4_u8, any::<bool>(), proptest::option::of(1..4_u32))
            .prop_map(|(to, stream, answers)| Op::Call { to, stream, answers }),
        3 => (which(), prop::bool::weighted(0.9))
            .prop_map(|(call, is_sent)| Op::Sent { call, is_sent }),
        1 => which().prop_map(|call| Op::Cancel { call }),
        8 => (which(), prop::bool::weighted(0.2))
            .prop_map(|(message, again)| Op::Arrive { message, again }),
        1 => which().prop_map(|message| Op::Lose { message }),
        6 => (which(), 0..8_u8).prop_map(|(token, act)| Op::Handler { token, act }),
        1 => (0..200_000_u64).prop_map(|millis| Op::Pass { millis }),
    ];
    vec(op, 0..120)
}

/// A message under way.
#[derive(Clone)]
struct Message {
    /// The bot that it is for; without one it is for the caller.
    bot: Option<usize>,
    from: usize,
    chat: Chat,
    id: ItemId,
    text: String,
    /// The caller's own id of the quoted command.
    quoted: ItemId,
    /// The id under which the bot knows what it answers.
    answers: ItemId,
}

struct Link {
    now: Instant,
    caller: Caller<Standard, Inline<4>>,
    bots: [Responder<Standard, Inline<2>>; 2],
    next_id: i64,
    under_way: Vec<Message>,
    /// Calls that the chat core has said nothing of, with the id it will name.
    sending: Vec<(CallId, ItemId)>,
    calls: Vec<CallId>,
    unbound: Vec<Message>,
    tokens: Vec<(usize, Token, bool, ItemId)>,
    /// The caller's id of each command, by what a bot calls it.
    commands: BTreeMap<(usize, ItemId), ItemId>,
    /// How each call ended.
    ends: BTreeMap<CallId, &'static str>,
    accepted: BTreeSet<(usize, ItemId)>,
    /// Commands whose last answer has been sent, and each bot's in order.
    answered: BTreeSet<(usize, ItemId)>,
    recent: [Vec<ItemId>; 2],
    handled: BTreeSet<(CallId, ItemId)>,
}

fn member(id: &str) -> MemberId {
    MemberId::new(id).unwrap()
}

fn request_text(stream: bool) -> &'static str {
    if stream {
        r#"{"jsonrpc":"2.0","id":2,"method":"SendStreamingMessage","params":{},"a2a-service-parameters":{"A2A-Version":"1.0"}}"#
    } else {
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#
    }
}

impl Link {
    fn new() -> Self {
        let mut config = CallerConfig::default();
        config.max_replies = 20;
        let bot = || Responder::with_limit(ResponderConfig::default(), 2);
        Self {
            now: Instant::ZERO,
            caller: Caller::with_limit(config, 4),
            bots: [bot(), bot()],
            next_id: 0,
            under_way: Vec::new(),
            sending: Vec::new(),
            calls: Vec::new(),
            unbound: Vec::new(),
            tokens: Vec::new(),
            commands: BTreeMap::new(),
            ends: BTreeMap::new(),
            accepted: BTreeSet::new(),
            answered: BTreeSet::new(),
            recent: [Vec::new(), Vec::new()],
            handled: BTreeSet::new(),
        }
    }

    fn id(&mut self) -> ItemId {
        self.next_id += 1;
        ItemId(self.next_id)
    }

    fn end(&mut self, call: CallId, how: &'static str) {
        assert_eq!(
            self.ends.insert(call, how),
            None,
            "{call:?} ended twice, the second time {how}"
        );
        assert!(!self.caller.is_open(call));
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Call { to, stream, answers } => self.call(to, stream, answers),
            Op::Sent { call, is_sent } if !self.sending.is_empty() => {
                let (call, own) = self.sending.remove(call % self.sending.len());
                self.sent(call, own, is_sent);
            }
            Op::Cancel { call } if !self.calls.is_empty() => {
                let call = self.calls[call % self.calls.len()];
                let was_open = self.caller.is_open(call);
                assert_eq!(self.caller.cancel(call), was_open);
                if was_open {
                    self.end(call, "cancelled");
                }
            }
            Op::Arrive { message, again } if !self.under_way.is_empty() => {
                let place = message % self.under_way.len();
                let message = if again {
                    self.under_way[place].clone()
                } else {
                    self.under_way.remove(place)
                };
                self.arrive(message);
            }
            Op::Lose { message } if !self.under_way.is_empty() => {
                self.under_way.remove(message % self.under_way.len());
            }
            Op::Handler { token, act } if !self.tokens.is_empty() => {
                let place = token % self.tokens.len();
                self.handler(place, act);
            }
            Op::Pass { millis } => {
                self.now = Instant::from_millis(self.now.as_millis() + millis);
                self.timeouts();
            }
            _ => {}
        }
    }

    fn call(&mut self, to: u8, stream: bool, answers: Option<u32>) {
        let (binding, text) =
            (if stream { Standard::A2A } else { Standard::MCP }, request_text(stream));
        let to = match to {
            0 => To::Contact(CONTACT),
            3 => To::Everyone(GROUP),
            one => {
                let (name, id) = BOTS[usize::from(one) - 1];
                let (member, group_member) = (member(id), GroupMemberId(i64::from(one)));
                To::Member { group: GROUP, member, group_member, name }
            }
        };
        let mut call = Call::new(binding, to, text);
        call.answers = answers;
        let mut buffer = [0; 512];
        let was_open = self.caller.open();
        let (call, text, chat) = match self.caller.call(self.now, &call, &mut buffer) {
            Ok((call, transmit)) => (call, transmit.text.to_owned(), transmit.chat),
            Err(CallError::Full { capacity: 4 }) => {
                assert_eq!(was_open, 4);
                return;
            }
            Err(other) => panic!("{other:?}"),
        };
        let own = self.id();
        self.calls.push(call);
        self.sending.push((call, own));
        let bots = if chat.is_group() { 0..2 } else { 0..1 };
        for bot in bots {
            let id = self.id();
            self.commands.insert((bot, id), own);
            self.under_way.push(Message {
                bot: Some(bot),
                from: 0,
                chat,
                id,
                text: text.clone(),
                quoted: own,
                answers: id,
            });
        }
    }

    fn sent(&mut self, call: CallId, own: ItemId, is_sent: bool) {
        let was_open = self.caller.is_open(call);
        if is_sent {
            let result = self.caller.handle_sent(self.now, call, own, None);
            assert_eq!(result.is_ok(), was_open);
            for message in core::mem::take(&mut self.unbound) {
                self.arrive(message);
            }
        } else {
            assert_eq!(self.caller.handle_not_sent(self.now, call).is_ok(), was_open);
            if was_open {
                self.end(call, "not sent");
            }
        }
    }

    fn arrive(&mut self, message: Message) {
        match message.bot {
            Some(bot) => self.command(bot, &message),
            None => self.reply(message),
        }
    }

    fn command(&mut self, bot: usize, message: &Message) {
        let (name, id) = BOTS[bot];
        let sender = match message.chat {
            Chat::Direct(_) => Sender::Contact,
            Chat::Group(_) => Sender::Member(member(CALLER)),
        };
        let mut item = Item::new(message.chat, sender, message.id, &message.text);
        item.me = message.chat.is_group().then(|| Me::new(member(id), name));
        let mut buffer = [0; FAILURE_BUFFER];
        let key = (bot, message.id);
        // A bot knows at least the last eight that it has answered.
        let is_known = self.recent[bot].iter().rev().take(8).any(|id| *id == message.id);
        if self.answered.contains(&key) && !is_known {
            return;
        }
        let responder = &mut self.bots[bot];
        let was_open = responder.open();
        match responder.handle_command(self.now, &item, SERVICES, &mut buffer).unwrap() {
            Received::Request(request) => {
                assert!(self.accepted.insert(key), "accepted twice");
                assert!(!self.answered.contains(&key), "accepted after an error");
                let stream = request.binding == Standard::A2A;
                self.tokens.push((bot, request.token, stream, message.id));
            }
            Received::Answered { transmit, failure } => {
                assert!(matches!(failure, Failure::Busy { capacity: 2 }) && was_open == 2);
                let reply = (transmit.chat, transmit.text.to_owned());
                self.answer(bot, message.id, reply, true);
            }
            Received::Duplicate => {
                assert!(self.accepted.contains(&key) || self.answered.contains(&key));
            }
            Received::Ignored(_) => assert!(message.text.contains('@')),
            other => panic!("{other:?}"),
        }
    }

    /// A bot sends a reply to the caller.
    fn answer(&mut self, bot: usize, item: ItemId, reply: (Chat, String), is_last: bool) {
        let key = (bot, item);
        assert!(!self.answered.contains(&key), "a reply after the last one");
        if is_last {
            self.answered.insert(key);
            self.recent[bot].push(item);
        }
        let (chat, text) = reply;
        let (id, quoted) = (self.id(), self.commands[&key]);
        self.under_way.push(Message {
            bot: None,
            from: bot,
            chat,
            id,
            text,
            quoted,
            answers: item,
        });
    }

    fn handler(&mut self, place: usize, act: u8) {
        let (bot, token, stream, item) = self.tokens.remove(place);
        let is_open = !self.answered.contains(&(bot, item));
        let large = "x".repeat(16_000);
        let state = |state| {
            format!(
                r#"{{"jsonrpc":"2.0","id":2,"result":{{"statusUpdate":{{"taskId":"t","status":{{"state":"TASK_STATE_{state}"}}}}}}}}"#
            )
        };
        let (part, last) = if stream {
            (state("WORKING"), state("COMPLETED"))
        } else {
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
            (progress.to_owned(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned())
        };
        let grown = |text: &str| text.replacen("{\"", &format!("{{\"x\":\"{large}\",\""), 1);
        let part = if act == 1 { grown(&part) } else { part };
        let last = if act == 4 { grown(&last) } else { last };
        let mut buffer = [0; FAILURE_BUFFER];
        let own = |transmit: &Transmit<'_>| {
            assert!(transmit.size.bytes() <= 15_602);
            assert_eq!(transmit.quotes, Some(item));
            (transmit.chat, transmit.text.to_owned())
        };
        let result = match act {
            0..=2 => {
                let result = self.bots[bot].notify(self.now, &token, &part, &mut buffer);
                let result =
                    result.map(|answer| (own(&answer.transmit), answer.replaced.is_some()));
                self.tokens.push((bot, token, stream, item));
                match result {
                    Err(AnswerError::TooLarge(_)) => {
                        assert!(act == 1 && !stream && is_open);
                        return;
                    }
                    other => other,
                }
            }
            3 | 4 => match self.bots[bot].respond(self.now, token, &last, &mut buffer) {
                Ok(answer) => {
                    assert_eq!(answer.replaced.is_some(), act == 4);
                    Ok((own(&answer.transmit), true))
                }
                Err(RespondError { cause, .. }) => Err(cause),
            },
            5 => match self.bots[bot].fail(self.now, token, &Failure::Internal, &mut buffer) {
                Ok(transmit) => Ok((own(&transmit), true)),
                Err(RespondError { cause, .. }) => Err(cause),
            },
            6 => {
                // A handler that gives what is no answer keeps its token.
                let error =
                    self.bots[bot].respond(self.now, token, "sorry", &mut buffer).unwrap_err();
                assert_eq!(error.cause == AnswerError::Gone, !is_open);
                self.tokens.push((bot, error.token, stream, item));
                return;
            }
            // A handler that forgets its token.
            _ => return,
        };
        match result {
            Ok((reply, is_last)) => self.answer(bot, item, reply, is_last),
            Err(AnswerError::Gone) => assert!(!is_open),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn reply(&mut self, message: Message) {
        let sender = match message.chat {
            Chat::Direct(_) => Sender::Contact,
            Chat::Group(_) => Sender::Member(member(BOTS[message.from].1)),
        };
        let item = Item::new(message.chat, sender, message.id, &message.text)
            .quoting(Quoted::own(message.quoted));
        match self.caller.handle_reply(self.now, &item) {
            Ok(Handled::Reply(reply)) => {
                assert!(!self.ends.contains_key(&reply.call), "a reply after the end");
                assert!(self.handled.insert((reply.call, reply.item)), "a reply twice");
                assert!(!matches!(reply.class, Class::Foreign(_)));
                if reply.class.is_last() {
                    assert!(self.answered.contains(&(message.from, message.answers)));
                }
                let call = reply.call;
                assert_eq!(reply.is_end, !self.caller.is_open(call));
                if reply.is_end {
                    self.end(call, "answered");
                }
            }
            Ok(Handled::Late(reply)) => {
                self.handled.insert((reply.call, reply.item));
            }
            Ok(Handled::Unbound) => {
                assert!(self.sending.iter().any(|(call, _)| self.caller.is_open(*call)));
                self.unbound.push(message);
            }
            Ok(Handled::Duplicate(call)) => {
                assert!(self.handled.contains(&(call, message.id)), "a duplicate of nothing");
            }
            Ok(Handled::Unknown) => {}
            Err(ReplyError::TooManyReplies { .. } | ReplyError::TooManySenders { .. }) => {}
            other => panic!("{other:?}"),
        }
    }

    fn timeouts(&mut self) {
        while let Some(end) = self.caller.handle_timeout(self.now) {
            self.end(end.call, "timed out");
        }
        assert!(self.caller.poll_timeout().is_none_or(|due| due > self.now));
        for bot in 0..2 {
            let mut buffer = [0; FAILURE_BUFFER];
            while let Some(expired) = self.bots[bot].handle_timeout(self.now, &mut buffer).unwrap()
            {
                let reply = (expired.transmit.chat, expired.transmit.text.to_owned());
                let item = expired.transmit.quotes.unwrap();
                self.answer(bot, item, reply, true);
            }
            assert!(self.bots[bot].poll_timeout().is_none_or(|due| due > self.now));
        }
    }

    /// Whatever is left happens: nothing more arrives, and every limit passes.
    fn finish(mut self) {
        while let Some((call, own)) = self.sending.pop() {
            self.sent(call, own, true);
        }
        self.now = Instant::from_millis(self.now.as_millis() + 600_000);
        self.timeouts();
        assert_eq!((self.caller.open(), self.caller.poll_timeout()), (0, None));
        assert_eq!(self.ends.len(), self.calls.len());
        for bot in &self.bots {
            assert_eq!((bot.open(), bot.poll_timeout()), (0, None));
        }
        for key in &self.accepted {
            assert!(self.answered.contains(key), "a command without an answer");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn each_call_and_each_command_ends_once_whatever_the_link_does(ops in ops()) {
        let mut link = Link::new();
        for op in ops {
            link.apply(op);
        }
        link.finish();
    }
}

// A session hands edits to its responder.

#[test]
fn a_session_follows_the_new_text_of_a_command_that_it_answers() {
    let declared = vec![Declared::new(Standard::MCP, ["2026-07-28"])];
    let mut session = Session::<Standard>::new(SessionConfig::default(), declared);
    let text = format!("/_call mcp {}", request_text(false));
    let item = Item::direct(CONTACT, ItemId(1), &text);
    session.handle_input(Instant::ZERO, Input::Item(&item)).unwrap();
    let Output::Event(Event::Request(request)) = session.poll_output() else { panic!() };
    let room = session.budget(&request.token).unwrap().remaining();
    let edit = Item::direct(CONTACT, ItemId(1), "never mind").edit();
    session.handle_input(Instant::ZERO, Input::Item(&edit)).unwrap();
    assert!(matches!(session.poll_output(), Output::Timeout(_)));
    assert!(session.budget(&request.token).unwrap().remaining() > room);
}
