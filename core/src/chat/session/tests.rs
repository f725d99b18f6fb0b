use core::time::Duration;
use std::format;
use std::vec;

use super::*;
use crate::binding::Standard;
use crate::chat::ContactId;
use crate::chat::caller::{Limit, To, Wait};
use crate::chat::command::CommandErrorKind;

const BOB: ContactId = ContactId(4);
const NOW: Instant = Instant::from_millis(1_000);

fn after(millis: u64) -> Instant {
    NOW + Duration::from_millis(millis)
}

/// A session that serves A2A 1.0, with changed limits.
fn session(change: impl FnOnce(&mut SessionConfig)) -> Session<Standard> {
    let mut config = SessionConfig::default();
    change(&mut config);
    Session::new(config, vec![Declared::new(Standard::A2A, ["1.0"])])
}

fn request_of(id: &str, method: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"id":"t"}},"a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
    )
}

fn result_of(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn part_of(id: &str, filler: &str) -> String {
    result_of(
        id,
        &format!(r#"{{"artifactUpdate":{{"taskId":"t","artifact":{{"x":"{filler}"}}}}}}"#),
    )
}

fn arrive(session: &mut Session<Standard>, item: i64, text: &str) -> Result<(), SessionError> {
    session.handle_input(NOW, Input::Item(&Item::direct(BOB, ItemId(item), text)))
}

fn command(session: &mut Session<Standard>, item: i64, id: &str, method: &str) {
    let text = format!("/_call a2a {}", request_of(id, method));
    arrive(session, item, &text).unwrap();
}

/// The token of a command that has just arrived.
fn token(session: &mut Session<Standard>, item: i64, id: &str, method: &str) -> Token {
    command(session, item, id, method);
    let Output::Event(Event::Request(request)) = session.poll_output() else { panic!() };
    assert_eq!((request.item, request.id.as_deref()), (ItemId(item), Some(id)));
    request.token
}

fn call(session: &mut Session<Standard>, id: &str, method: &str) -> CallId {
    let request = request_of(id, method);
    let call = Call::new(Standard::A2A, To::Contact(BOB), &request)
        .wait(Wait::new(Duration::from_millis(500), Duration::from_millis(200)));
    session.call(NOW, &call).unwrap()
}

fn sent(session: &mut Session<Standard>, call: CallId, item: i64) {
    let input = Input::Sent { call, item: ItemId(item), shared_msg_id: None };
    session.handle_input(NOW, input).unwrap();
}

fn reply(
    session: &mut Session<Standard>,
    item: i64,
    quotes: i64,
    text: &str,
) -> Result<(), SessionError> {
    let item = Item::direct(BOB, ItemId(item), text).quoting(Quoted::own(ItemId(quotes)));
    session.handle_input(NOW, Input::Item(&item))
}

fn transmitted(session: &mut Session<Standard>) -> Message {
    match session.poll_output() {
        Output::Transmit(message) => message,
        other => panic!("{other:?}"),
    }
}

fn event(session: &mut Session<Standard>) -> Event<Standard> {
    match session.poll_output() {
        Output::Event(event) => event,
        other => panic!("{other:?}"),
    }
}

/// Nothing more is to be done before this time.
fn idle_until(session: &mut Session<Standard>, timeout: Option<Instant>) {
    match session.poll_output() {
        Output::Timeout(at) => assert_eq!((at, session.poll_timeout()), (timeout, timeout)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn outputs_keep_their_order_and_the_timeout_is_the_last_one() {
    let mut session = session(|_| ());
    let id = call(&mut session, "1", "GetTask");
    command(&mut session, 7, "2", "GetTask");
    arrive(&mut session, 8, "/_call a2a []").unwrap();
    let message = transmitted(&mut session);
    assert_eq!(message.origin, Origin::Command(id));
    assert_eq!(message.chat, Chat::Direct(BOB));
    assert!(message.text.starts_with("/_call a2a {"));
    assert!(message.size.bytes() > message.text.len());
    assert!(matches!(event(&mut session), Event::Request(_)));
    let refusal = transmitted(&mut session);
    assert_eq!((refusal.origin, refusal.quotes), (Origin::Refusal, Some(ItemId(8))));
    assert!(matches!(
        event(&mut session),
        Event::Refused { item: ItemId(8), reason: "invalid_message" | "invalid_request", .. }
    ));
    // The earliest of both machines' deadlines: the call's idle limit.
    idle_until(&mut session, Some(after(200)));
    idle_until(&mut session, Some(after(200)));
}

#[test]
fn a_call_is_followed_to_its_end() {
    let mut session = session(|_| ());
    let id = call(&mut session, "1", "SubscribeToTask");
    let _ = transmitted(&mut session);
    sent(&mut session, id, 7);
    reply(&mut session, 8, 7, &part_of("1", "")).unwrap();
    reply(&mut session, 9, 7, "one moment, please").unwrap();
    let end = result_of("1", r#"{"task":{"id":"t","status":{"state":"TASK_STATE_FAILED"}}}"#);
    reply(&mut session, 10, 7, &end).unwrap();
    let kinds: Vec<_> = (0..3)
        .map(|_| match event(&mut session) {
            Event::Reply(reply) => (reply.call, reply.kind, reply.is_end),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds[0], (id, ReplyKind::Part(Some("t".into())), false));
    assert!(matches!(kinds[1], (_, ReplyKind::Text(Foreign::Json(_)), false)));
    assert_eq!(kinds[2], (id, ReplyKind::Last(End::Terminal), true));
    assert_eq!(session.open_calls(), 0);
    idle_until(&mut session, None);
}

#[test]
fn a_full_queue_refuses_items_and_calls_and_changes_nothing() {
    let mut session = session(|config| config.max_queued = 2);
    let full = SessionError::QueueFull { capacity: 2 };
    command(&mut session, 7, "1", "GetTask");
    let id = call(&mut session, "2", "GetTask");
    let text = format!("/_call a2a {}", request_of("3", "GetTask"));
    assert_eq!(arrive(&mut session, 8, &text), Err(full));
    let request = request_of("4", "GetTask");
    let refused = session.call(NOW, &Call::new(Standard::A2A, To::Contact(BOB), &request));
    assert_eq!(refused, Err(CallError::Full { capacity: 2 }));
    assert_eq!((session.open_calls(), session.open_requests()), (1, 1));

    let Event::Request(first) = event(&mut session) else { panic!() };
    arrive(&mut session, 8, &text).unwrap();
    // Full again: a notification is refused, a last answer never is.
    let notified = session.notify(NOW, &first.token, &part_of("1", ""));
    assert_eq!(notified, Err(NotifyError::Session(full)));
    assert_eq!(session.respond(NOW, first.token, &result_of("1", "{}")), Ok(None));
    assert_eq!(transmitted(&mut session).origin, Origin::Command(id));
    assert!(matches!(event(&mut session), Event::Request(second) if second.item == ItemId(8)));
    assert!(matches!(transmitted(&mut session).origin, Origin::Answer(_, true)));
}

#[test]
fn what_the_chat_core_says_of_a_command_is_taken_when_the_queue_is_full() {
    let mut session = session(|config| config.max_queued = 2);
    let tokens = [token(&mut session, 7, "1", "GetTask"), token(&mut session, 8, "2", "GetTask")];
    let kept = call(&mut session, "3", "GetTask");
    let refused = call(&mut session, "4", "GetTask");
    for (token, id) in tokens.into_iter().zip(["1", "2"]) {
        session.respond(NOW, token, &result_of(id, "{}")).unwrap();
    }
    assert_eq!(transmitted(&mut session).origin, Origin::Command(kept));
    sent(&mut session, kept, 20);
    assert_eq!(transmitted(&mut session).origin, Origin::Command(refused));
    let input = Input::NotSent { origin: Origin::Command(refused) };
    session.handle_input(NOW, input).unwrap();
    for _ in 0..2 {
        assert!(matches!(transmitted(&mut session).origin, Origin::Answer(..)));
    }
    assert!(matches!(event(&mut session), Event::NotSent(id) if id == refused));
    reply(&mut session, 21, 20, &result_of("3", "{}")).unwrap();
    assert!(matches!(event(&mut session), Event::Reply(reply) if reply.call == kept));
}

#[test]
fn replies_before_the_commands_id_are_kept_and_taken_up_in_order_after_it() {
    let mut session = session(|_| ());
    let id = call(&mut session, "1", "SubscribeToTask");
    let _ = transmitted(&mut session);
    reply(&mut session, 8, 7, &part_of("1", "a")).unwrap();
    reply(&mut session, 9, 7, &part_of("1", "b")).unwrap();
    idle_until(&mut session, Some(after(200)));
    sent(&mut session, id, 7);
    for item in [8, 9] {
        let Event::Reply(reply) = event(&mut session) else { panic!() };
        assert_eq!((reply.call, reply.item), (id, ItemId(item)));
    }
    idle_until(&mut session, Some(after(200)));
}

#[test]
fn an_early_reply_waits_on_while_another_call_may_be_meant() {
    let mut session = session(|_| ());
    let first = call(&mut session, "1", "GetTask");
    let second = call(&mut session, "2", "GetTask");
    let _ = (transmitted(&mut session), transmitted(&mut session));
    reply(&mut session, 30, 21, &result_of("2", "{}")).unwrap();
    sent(&mut session, first, 20);
    idle_until(&mut session, Some(after(200)));
    sent(&mut session, second, 21);
    assert!(matches!(event(&mut session), Event::Reply(reply) if reply.call == second));
}

#[test]
fn early_replies_that_nobody_waits_for_any_more_are_dropped() {
    for end in [0, 1, 2] {
        let mut session = session(|config| config.max_early = 1);
        let id = call(&mut session, "1", "GetTask");
        let _ = transmitted(&mut session);
        reply(&mut session, 8, 7, &result_of("1", "{}")).unwrap();
        match end {
            0 => assert!(session.cancel(id)),
            1 => {
                let input = Input::NotSent { origin: Origin::Command(id) };
                session.handle_input(NOW, input).unwrap();
                assert!(matches!(event(&mut session), Event::NotSent(call) if call == id));
            }
            _ => {
                session.handle_timeout(after(200));
                assert!(matches!(event(&mut session), Event::TimedOut(end) if !end.was_sent));
            }
        }
        idle_until(&mut session, None);
        // There is room for one again.
        call(&mut session, "2", "GetTask");
        let _ = transmitted(&mut session);
        reply(&mut session, 9, 6, &result_of("2", "{}")).unwrap();
    }
}

#[test]
fn early_replies_are_bounded_and_one_too_many_changes_nothing() {
    let mut session = session(|config| config.max_early = 2);
    let id = call(&mut session, "1", "SubscribeToTask");
    let _ = transmitted(&mut session);
    reply(&mut session, 8, 7, &part_of("1", "")).unwrap();
    reply(&mut session, 9, 7, &part_of("1", "")).unwrap();
    let error = SessionError::TooManyEarly { capacity: 2 };
    assert_eq!(reply(&mut session, 10, 7, &part_of("1", "")), Err(error));
    // What needs no keeping is taken meanwhile.
    command(&mut session, 11, "5", "GetTask");
    assert!(matches!(event(&mut session), Event::Request(_)));
    sent(&mut session, id, 7);
    for item in [8, 9] {
        assert!(matches!(event(&mut session), Event::Reply(reply) if reply.item == ItemId(item)));
    }
    reply(&mut session, 10, 7, &part_of("1", "")).unwrap();
    assert!(matches!(event(&mut session), Event::Reply(reply) if reply.item == ItemId(10)));
}

#[test]
fn a_command_that_is_not_sent_ends_its_call_once() {
    let mut session = session(|_| ());
    let id = call(&mut session, "1", "GetTask");
    let _ = transmitted(&mut session);
    let input = Input::NotSent { origin: Origin::Command(id) };
    session.handle_input(NOW, input).unwrap();
    session.handle_input(NOW, input).unwrap();
    assert!(matches!(event(&mut session), Event::NotSent(call) if call == id));
    idle_until(&mut session, None);
    assert_eq!(session.open_calls(), 0);
    let input = Input::Sent { call: id, item: ItemId(7), shared_msg_id: None };
    let error = SessionError::Sent(SentError::UnknownCall);
    assert_eq!(session.handle_input(NOW, input), Err(error));
    // Another message that is not sent is no call's.
    session.handle_input(NOW, Input::NotSent { origin: Origin::Refusal }).unwrap();
    idle_until(&mut session, None);
}

#[test]
fn a_shared_id_that_no_core_makes_is_refused_and_the_call_waits_on() {
    let mut session = session(|_| ());
    let id = call(&mut session, "1", "GetTask");
    let _ = transmitted(&mut session);
    let long = "m".repeat(32);
    let input = Input::Sent { call: id, item: ItemId(7), shared_msg_id: Some(&long) };
    let error = session.handle_input(NOW, input).unwrap_err();
    assert!(matches!(error, SessionError::Sent(SentError::Id(_))));
    assert_eq!(session.open_calls(), 1);
    sent(&mut session, id, 7);
}

#[test]
fn an_expired_command_gets_its_error_and_then_the_event() {
    let mut session = session(|config| config.responder.idle = Duration::from_millis(100));
    let token = token(&mut session, 7, "1", "GetTask");
    idle_until(&mut session, Some(after(100)));
    session.handle_timeout(after(99));
    idle_until(&mut session, Some(after(100)));
    session.handle_timeout(after(100));
    let message = transmitted(&mut session);
    assert_eq!(message.origin, Origin::Answer(token.key(), true));
    assert_eq!(message.quotes, Some(ItemId(7)));
    assert!(message.text.contains("-32603") && message.text.contains("TIMEOUT"));
    assert!(matches!(event(&mut session), Event::Expired(key) if key == token.key()));
    idle_until(&mut session, None);
    let error = session.respond(after(101), token, &result_of("1", "{}")).unwrap_err();
    assert_eq!(error.cause, AnswerError::Gone);
}

#[test]
fn all_that_is_due_comes_with_one_timeout() {
    let mut session = session(|config| config.responder.overall = Duration::from_millis(50));
    let tokens: Vec<_> =
        (0..3).map(|n| token(&mut session, n, &format!("{n}"), "GetTask")).collect();
    let id = call(&mut session, "1", "GetTask");
    let _ = transmitted(&mut session);
    sent(&mut session, id, 9);
    session.handle_timeout(after(1_000));
    // Time never runs backwards.
    session.handle_timeout(NOW);
    assert!(matches!(event(&mut session), Event::TimedOut(end) if end.limit == Limit::Idle));
    let mut keys: Vec<_> = tokens.iter().map(Token::key).collect();
    while !keys.is_empty() {
        let Origin::Answer(sent, true) = transmitted(&mut session).origin else { panic!() };
        let Event::Expired(expired) = event(&mut session) else { panic!() };
        assert_eq!(sent, expired);
        keys.retain(|key| *key != sent);
    }
    idle_until(&mut session, None);
}

#[test]
fn parts_and_the_last_answer_go_out_as_they_are() {
    let mut session = session(|_| ());
    let token = token(&mut session, 7, "1", "SubscribeToTask");
    let key = token.key();
    let part = part_of("1", "");
    assert_eq!(session.notify(NOW, &token, &part), Ok(None));
    let end = result_of("1", r#"{"message":{"parts":[]}}"#);
    assert!(session.classify(&token, &end).unwrap().is_last());
    assert_eq!(session.respond(NOW, token, &end), Ok(None));
    for (text, is_last) in [(part, false), (end, true)] {
        let message = transmitted(&mut session);
        assert_eq!(message.origin, Origin::Answer(key, is_last));
        assert_eq!((message.text, message.quotes), (text, Some(ItemId(7))));
        assert_eq!((message.chat, message.mention), (Chat::Direct(BOB), None));
    }
    idle_until(&mut session, None);
    assert_eq!(session.open_requests(), 0);
}

#[test]
fn an_answer_that_is_none_leaves_the_command_open() {
    let mut session = session(|_| ());
    let stream = token(&mut session, 7, "1", "SubscribeToTask");
    let part = part_of("1", "");
    let error = session.respond(NOW, stream, &part).unwrap_err();
    assert_eq!(error.cause, AnswerError::NotLast);
    let last = result_of("1", r#"{"message":{}}"#);
    let notified = session.notify(NOW, &error.token, &last);
    assert_eq!(notified, Err(NotifyError::Answer(AnswerError::IsLast)));
    let error = session.respond(NOW, error.token, &result_of("2", "{}")).unwrap_err();
    assert_eq!(error.cause, AnswerError::NotAnAnswer(Foreign::OtherId));
    assert_eq!(session.open_requests(), 1);
    session.fail(NOW, error.token, &Failure::MethodNotFound).unwrap();
    let message = transmitted(&mut session);
    assert!(message.text.contains("-32601"), "{}", message.text);
    assert_eq!(session.open_requests(), 0);
}

#[test]
fn an_answer_that_is_too_large_is_replaced_also_with_an_id_longer_than_the_buffer() {
    for id_len in [1, FAILURE_BUFFER + 100] {
        let mut session = session(|_| ());
        let id = format!("\"{}\"", "i".repeat(id_len));
        for streaming in [false, true] {
            let method = if streaming { "SubscribeToTask" } else { "GetTask" };
            let token = token(&mut session, i64::from(streaming), &id, method);
            let key = token.key();
            let room = session.budget(&token).unwrap().remaining();
            let filler = "a".repeat(room);
            let too_large = if streaming {
                let too_large = session.notify(NOW, &token, &part_of(&id, &filler)).unwrap();
                // The stream has ended with it.
                let error = session.respond(NOW, token, &result_of(&id, r#"{"message":{}}"#));
                assert_eq!(error.unwrap_err().cause, AnswerError::Gone);
                too_large
            } else {
                let text = result_of(&id, &format!("\"{filler}\""));
                session.respond(NOW, token, &text).unwrap()
            };
            let too_large = too_large.unwrap();
            assert!(too_large.needed > too_large.limit);
            let message = transmitted(&mut session);
            assert_eq!(message.origin, Origin::Answer(key, true));
            assert!(message.text.contains("-32603") && message.text.contains(&id));
            assert!(message.text.contains("TOO_LARGE"), "{}", message.text);
            idle_until(&mut session, None);
        }
    }
}

#[test]
fn failures_and_expiry_with_an_id_longer_than_the_buffer_repeat_it() {
    let mut session = session(|config| config.responder.idle = Duration::from_millis(1));
    let id = format!("\"{}\"", "i".repeat(2 * FAILURE_BUFFER));
    let failed = token(&mut session, 7, &id, "GetTask");
    session.fail(NOW, failed, &Failure::Internal).unwrap();
    assert!(transmitted(&mut session).text.contains(&id));
    let _expired = token(&mut session, 8, &id, "GetTask");
    session.handle_timeout(after(1));
    assert!(transmitted(&mut session).text.contains(&id));
    // And one that is refused at once.
    let text = format!("/_call a2a {}", request_of(&id, "ListTaskPushNotificationConfigs"));
    assert!(matches!(event(&mut session), Event::Expired(_)));
    arrive(&mut session, 9, &text).unwrap();
    let message = transmitted(&mut session);
    assert!(message.text.contains(&id) && message.text.contains("-32003"));
}

#[test]
fn strangers_late_replies_and_overflow_are_told_apart() {
    use crate::chat::{GroupId, GroupMemberId, MemberId};
    let mut session = session(|config| config.caller.max_replies = 1);
    let (group, member) = (GroupId(3), MemberId::new("bob").unwrap());
    let to = To::Member { group, member, group_member: GroupMemberId(5), name: "bob" };
    let request = request_of("1", "SubscribeToTask");
    let id = session.call(NOW, &Call::new(Standard::A2A, to, &request)).unwrap();
    let message = transmitted(&mut session);
    assert_eq!(message.mention, Some(("bob".into(), GroupMemberId(5))));
    sent(&mut session, id, 7);

    let mut item = 7;
    let mut arrive = |session: &mut Session<Standard>, sender: &str, text: &str| {
        item += 1;
        let sender = Sender::Member(MemberId::new(sender).unwrap());
        let arrived = Item::new(Chat::Group(group), sender, ItemId(item), text)
            .quoting(Quoted::own(ItemId(7)));
        session.handle_input(NOW, Input::Item(&arrived)).unwrap();
        ItemId(item)
    };
    let at = arrive(&mut session, "eve", &part_of("1", ""));
    let Event::Stranger { call, sender, item } = event(&mut session) else { panic!() };
    assert_eq!((call, item), (id, at));
    assert_eq!(sender, Sender::Member(MemberId::new("eve").unwrap()));

    arrive(&mut session, "bob", &part_of("1", ""));
    assert!(matches!(event(&mut session), Event::Reply(_)));
    let at = arrive(&mut session, "bob", &part_of("1", ""));
    let Event::Overflow { item, error } = event(&mut session) else { panic!() };
    assert_eq!((item, error), (at, ReplyError::TooManyReplies { limit: 1 }));

    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}"#;
    arrive(&mut session, "bob", error);
    let Event::Reply(reply) = event(&mut session) else { panic!() };
    assert!(reply.is_end && reply.is_resumable);
    arrive(&mut session, "bob", &part_of("1", ""));
    assert!(matches!(event(&mut session), Event::Late(reply) if reply.call == id));
    idle_until(&mut session, None);
}

#[test]
fn a_duplicate_and_an_ordinary_message_give_nothing() {
    let mut session = session(|_| ());
    let id = call(&mut session, "1", "SubscribeToTask");
    let _ = transmitted(&mut session);
    sent(&mut session, id, 7);
    reply(&mut session, 8, 7, &part_of("1", "")).unwrap();
    assert!(matches!(event(&mut session), Event::Reply(_)));
    reply(&mut session, 8, 7, &part_of("1", "")).unwrap();
    arrive(&mut session, 9, "hello").unwrap();
    arrive(&mut session, 10, "/help").unwrap();
    reply(&mut session, 11, 1, "of an older message").unwrap();
    command(&mut session, 12, "2", "GetTask");
    assert!(matches!(event(&mut session), Event::Request(_)));
    command(&mut session, 12, "2", "GetTask");
    idle_until(&mut session, Some(after(200)));
}

#[test]
fn commands_that_are_not_answered_say_why() {
    let mut session = session(|_| ());
    let why = |session: &mut Session<Standard>, item: i64, text: &str| {
        arrive(session, item, text).unwrap();
        match event(session) {
            Event::Unanswered { chat, item: at, why } => {
                assert_eq!((chat, at), (Chat::Direct(BOB), ItemId(item)));
                why
            }
            other => panic!("{other:?}"),
        }
    };
    let undeclared = why(&mut session, 1, "/_call mcp {}");
    assert_eq!(undeclared, Unanswered::Ignored(Ignored::UndeclaredProtocol));
    let malformed = why(&mut session, 2, "/_call  a2a {}");
    assert!(matches!(malformed, Unanswered::Malformed(error) if error.offset == 7));
    let mention = why(&mut session, 3, "/_call @bob a2a {}");
    assert!(matches!(
        mention,
        Unanswered::Malformed(error) if error.kind == CommandErrorKind::MemberInDirectChat
    ));
    let filler = "a".repeat(15_200);
    let text = format!(
        "/_call a2a {}",
        request_of("1", "GetTask").replace("\"t\"", &format!("\"{filler}\""))
    );
    assert_eq!(why(&mut session, 4, &text), Unanswered::NoRoom);
    assert_eq!(session.open_requests(), 0);
}

#[test]
fn declare_replaces_versions_and_retract_takes_them_back() {
    let mut session = session(|_| ());
    let mcp = r#"/_call mcp {"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    session.declare(Declared::new(Standard::MCP, ["2027-01-01"]));
    arrive(&mut session, 1, mcp).unwrap();
    assert!(transmitted(&mut session).text.contains("-32022"));
    assert!(matches!(event(&mut session), Event::Refused { reason: "unsupported_version", .. }));

    session.declare(Declared::new(Standard::MCP, ["2027-01-01", "2026-07-28"]));
    arrive(&mut session, 2, mcp).unwrap();
    let Event::Request(request) = event(&mut session) else { panic!() };
    // The other one is still there, once.
    let _token = token(&mut session, 3, "1", "GetTask");

    assert!(session.retract(Standard::MCP.name()));
    assert!(!session.retract(Standard::MCP.name()));
    arrive(&mut session, 4, mcp).unwrap();
    assert!(matches!(
        event(&mut session),
        Event::Unanswered { why: Unanswered::Ignored(Ignored::UndeclaredProtocol), .. }
    ));
    session.respond(NOW, request.token, &result_of("1", "{}")).unwrap();
    assert_eq!(transmitted(&mut session).quotes, Some(ItemId(2)));
}

#[test]
fn a_full_table_says_so_to_the_caller() {
    let mut session = session(|config| config.max_requests = 1);
    let first = token(&mut session, 1, "1", "GetTask");
    command(&mut session, 2, "2", "GetTask");
    let message = transmitted(&mut session);
    assert_eq!((message.origin, message.quotes), (Origin::Refusal, Some(ItemId(2))));
    assert!(message.text.contains("-32603") && message.text.contains("BUSY"));
    assert!(matches!(event(&mut session), Event::Refused { reason: "busy", .. }));
    session.respond(NOW, first, &result_of("1", "{}")).unwrap();
    let _ = transmitted(&mut session);
    let _third = token(&mut session, 3, "3", "GetTask");
}

#[test]
fn an_edited_command_is_not_answered_again_and_its_answer_is_measured_with_the_new_text() {
    let mut session = session(|_| ());
    let token = token(&mut session, 7, "1", "GetTask");
    let room = session.budget(&token).unwrap().remaining();
    let edit = |session: &mut Session<Standard>, more: usize| {
        let text = format!("/_call a2a {}{}", request_of("1", "GetTask"), " ".repeat(more));
        let item = Item::direct(BOB, ItemId(7), &text).edit();
        session.handle_input(NOW, Input::Item(&item)).unwrap();
        assert!(matches!(session.poll_output(), Output::Timeout(_)));
    };
    edit(&mut session, 100);
    assert_eq!(session.budget(&token).unwrap().remaining(), room - 100);
    // An error still has to fit.
    edit(&mut session, room);
    assert_eq!(session.budget(&token).unwrap().remaining(), room - 100);
    session.respond(NOW, token, &result_of("1", "{}")).unwrap();
    let _ = transmitted(&mut session);
    edit(&mut session, 1);
}

#[test]
fn nothing_that_is_printed_holds_message_text() {
    let mut session = session(|_| ());
    call(&mut session, "\"secret\"", "GetTask");
    command(&mut session, 7, "\"secret\"", "GetTask");
    for _ in 0..2 {
        let output = session.poll_output();
        let printed = format!("{output:?}");
        assert!(!printed.contains("secret") && printed.contains("_len"), "{printed}");
    }
}

#[test]
fn a_stopped_session_refuses_new_commands_and_finishes_open_ones() {
    let mut session = session(|_| {});
    let open = token(&mut session, 1, "1", "GetTask");
    session.stop();
    command(&mut session, 2, "2", "GetTask");
    let Output::Transmit(refusal) = session.poll_output() else { panic!("no refusal") };
    assert_eq!(refusal.quotes, Some(ItemId(2)));
    assert!(refusal.text.contains("the bot is ending"), "{}", refusal.text);
    let Output::Event(Event::Refused { reason, .. }) = session.poll_output() else {
        panic!("no event")
    };
    assert_eq!(reason, "stopping");
    assert_eq!(session.open_requests(), 1);
    session.fail(NOW, open, &Failure::Internal).unwrap();
    assert_eq!(session.open_requests(), 0);
}
