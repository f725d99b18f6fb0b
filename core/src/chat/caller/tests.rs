use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use super::*;
use crate::binding::{Foreign, Standard};
use crate::chat::Inline;

const CONTACT: ContactId = ContactId(4);
const GROUP: GroupId = GroupId(9);

type Machine = Caller<Standard, Inline<16>>;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn member(name: &str) -> MemberId {
    MemberId::new(name).unwrap()
}

fn mcp(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

fn a2a(method: &str, parameters: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{{}},"a2a-service-parameters":{{"A2A-Version":"1.0"{parameters}}}}}"#
    )
}

fn to_bob<'a>() -> To<'a> {
    To::Member { group: GROUP, member: member("bob"), group_member: GroupMemberId(3), name: "bob" }
}

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const PROGRESS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
const WORKING: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING"}}}}"#;
const DONE: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}}"#;
const BROKEN: &str = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"m"}}"#;

/// Makes a call and binds it to the item `sent`.
fn open<S: Storage>(
    caller: &mut Caller<Standard, S>,
    call: &Call<'_, Standard>,
    sent: i64,
) -> CallId {
    let mut buffer = [0; 2_048];
    let (id, _) = caller.call(caller.now, call, &mut buffer).unwrap();
    caller.handle_sent(caller.now, id, ItemId(sent), Some(&format!("shared-{sent}"))).unwrap();
    id
}

fn direct<S: Storage>(caller: &mut Caller<Standard, S>, sent: i64) -> CallId {
    open(caller, &Call::new(Standard::MCP, To::Contact(CONTACT), &mcp("1")), sent)
}

fn broadcast(caller: &mut Machine, sent: i64) -> CallId {
    let request = mcp("1");
    open(caller, &Call::new(Standard::MCP, To::Everyone(GROUP), &request), sent)
}

fn stream(caller: &mut Machine, to: To<'_>, sent: i64) -> CallId {
    let request = a2a("SendStreamingMessage", "");
    open(caller, &Call::new(Standard::A2A, to, &request), sent)
}

fn from_contact(id: i64, text: &str, quoted: i64) -> Item<'_> {
    Item::direct(CONTACT, ItemId(id), text).quoting(Quoted::own(ItemId(quoted)))
}

fn from<'m>(name: &str, id: i64, text: &'m str, quoted: i64) -> Item<'m> {
    Item::new(Chat::Group(GROUP), Sender::Member(member(name)), ItemId(id), text)
        .quoting(Quoted::own(ItemId(quoted)))
}

#[track_caller]
fn reply<'m, S: Storage>(caller: &mut Caller<Standard, S>, now: u64, item: &Item<'m>) -> Reply<'m> {
    match caller.handle_reply(at(now), item).unwrap() {
        Handled::Reply(reply) => reply,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn late(caller: &mut Machine, item: &Item<'_>) -> CallId {
    match caller.handle_reply(at(0), item).unwrap() {
        Handled::Late(reply) => {
            assert!(!reply.is_end);
            reply.call
        }
        other => panic!("{other:?}"),
    }
}

// What a reply is matched by.

#[test]
fn a_reply_is_matched_by_the_quoted_item_and_never_by_text() {
    let mut caller = Machine::default();
    let (first, second) = (direct(&mut caller, 7), direct(&mut caller, 8));
    // The same text, and the same id in both requests: only the quote tells them apart.
    assert_eq!(reply(&mut caller, 0, &from_contact(20, ANSWER, 8)).call, second);
    assert_eq!(reply(&mut caller, 0, &from_contact(21, ANSWER, 7)).call, first);
    assert_eq!(caller.open(), 0);
}

#[test]
fn a_quote_without_an_item_is_matched_by_the_shared_id() {
    let mut caller = Machine::default();
    let call = direct(&mut caller, 7);
    let shared = |text| Some(Quoted::new(true, None, Some(text)));
    let mut item = from_contact(20, PROGRESS, 0);
    item.quote = shared("shared-8");
    assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::Unknown));
    item.quote = Some(Quoted::new(true, None, None));
    assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::Unknown));
    item.quote = shared("shared-7");
    assert_eq!(reply(&mut caller, 0, &item).call, call);
    // The same shared id in another conversation is another message.
    item = Item::direct(ContactId(5), ItemId(22), ANSWER);
    item.quote = shared("shared-7");
    assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::Unknown));
}

#[test]
fn a_quote_of_a_message_that_is_not_ours_is_no_reply() {
    let mut caller = Machine::default();
    direct(&mut caller, 7);
    let mut item = from_contact(20, ANSWER, 7);
    item.quote = Some(Quoted::new(false, Some(ItemId(7)), Some("shared-7")));
    assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::NotAReply));
    item.quote = None;
    assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::NotAReply));
    assert_eq!(caller.open(), 1);
}

#[test]
fn item_ids_count_within_their_conversation() {
    let mut caller = Machine::default();
    direct(&mut caller, 7);
    let elsewhere = Item::direct(ContactId(5), ItemId(20), ANSWER).quoting(Quoted::own(ItemId(7)));
    assert_eq!(caller.handle_reply(at(0), &elsewhere), Ok(Handled::Unknown));
    for contact in 5..200 {
        let elsewhere =
            Item::direct(ContactId(contact), ItemId(20), ANSWER).quoting(Quoted::own(ItemId(7)));
        assert_eq!(caller.handle_reply(at(0), &elsewhere), Ok(Handled::Unknown));
    }
    // A group with the number of the contact.
    let group =
        Item::new(Chat::Group(GroupId(4)), Sender::Member(member("bob")), ItemId(20), ANSWER)
            .quoting(Quoted::own(ItemId(7)));
    assert_eq!(caller.handle_reply(at(0), &group), Ok(Handled::Unknown));
}

#[test]
fn a_reply_before_its_commands_own_id_is_unbound_and_taken_afterwards() {
    let mut caller = Machine::default();
    let request = mcp("1");
    let call = Call::new(Standard::MCP, To::Contact(CONTACT), &request);
    let mut buffer = [0; 512];
    let (id, _) = caller.call(at(0), &call, &mut buffer).unwrap();
    let item = from_contact(20, ANSWER, 7);
    assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::Unbound));
    assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::Unbound));
    caller.handle_sent(at(1), id, ItemId(7), None).unwrap();
    assert!(reply(&mut caller, 2, &item).is_end);
    // Nothing waits for its id any more.
    assert_eq!(caller.handle_reply(at(2), &from_contact(21, ANSWER, 70)), Ok(Handled::Unknown));
}

#[test]
fn nothing_is_unbound_once_the_last_sending_call_is_gone() {
    let mut caller = Machine::default();
    let request = mcp("1");
    let call = Call::new(Standard::MCP, To::Contact(CONTACT), &request);
    let item = from_contact(20, ANSWER, 7);
    for way in 0..3 {
        let mut buffer = [0; 512];
        let (id, _) = caller.call(at(0), &call, &mut buffer).unwrap();
        assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::Unbound));
        match way {
            0 => caller.handle_not_sent(at(0), id).unwrap(),
            1 => assert!(caller.cancel(id)),
            _ => {
                let end = caller.handle_timeout(at(600_000)).unwrap();
                assert!(end.call == id && !end.was_sent);
            }
        }
        assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::Unknown), "{way}");
        assert_eq!(caller.handle_sent(at(0), id, ItemId(7), None), Err(SentError::UnknownCall));
        assert_eq!(caller.handle_not_sent(at(0), id), Err(UnknownCall));
    }
}

#[test]
fn a_shared_id_that_is_too_long_leaves_the_call_waiting_for_its_id() {
    let mut caller = Machine::default();
    let request = mcp("1");
    let mut buffer = [0; 512];
    let call = Call::new(Standard::MCP, To::Contact(CONTACT), &request);
    let (id, _) = caller.call(at(0), &call, &mut buffer).unwrap();
    let long = "s".repeat(32);
    let error = caller.handle_sent(at(0), id, ItemId(7), Some(&long)).unwrap_err();
    assert!(matches!(error, SentError::Id(error) if error.len == 32));
    assert_eq!(caller.handle_reply(at(0), &from_contact(20, ANSWER, 7)), Ok(Handled::Unbound));
    caller.handle_sent(at(0), id, ItemId(7), Some(&long[1..])).unwrap();
    assert!(reply(&mut caller, 0, &from_contact(20, ANSWER, 7)).is_end);
}

// Whose replies are accepted.

#[test]
fn a_mention_accepts_only_the_mentioned_members_replies() {
    let mut caller = Machine::default();
    let request = mcp("1");
    let id = open(&mut caller, &Call::new(Standard::MCP, to_bob(), &request), 7);
    assert_eq!(caller.handle_reply(at(0), &from("eve", 20, ANSWER, 7)), Ok(Handled::Stranger(id)));
    let channel = Item::new(Chat::Group(GROUP), Sender::Channel, ItemId(21), ANSWER)
        .quoting(Quoted::own(ItemId(7)));
    assert_eq!(caller.handle_reply(at(0), &channel), Ok(Handled::Stranger(id)));
    // What a stranger sent has not been handled: it does not make a reply of the same item a
    // second one.
    assert!(reply(&mut caller, 0, &from("bob", 20, ANSWER, 7)).is_end);
    assert_eq!(caller.handle_reply(at(0), &from("eve", 22, ANSWER, 7)), Ok(Handled::Stranger(id)));
}

#[test]
fn a_broadcast_accepts_every_member_and_the_channel() {
    let mut caller = Machine::default();
    broadcast(&mut caller, 7);
    for (place, name) in ["bob", "eve", "zoe"].into_iter().enumerate() {
        let reply = reply(&mut caller, 0, &from(name, 20 + place as i64, ANSWER, 7));
        assert_eq!((reply.sender, reply.is_end), (Sender::Member(member(name)), false));
    }
    let channel = Item::new(Chat::Group(GROUP), Sender::Channel, ItemId(30), ANSWER)
        .quoting(Quoted::own(ItemId(7)));
    assert_eq!(reply(&mut caller, 0, &channel).sender, Sender::Channel);
    // A group has no contact.
    let mut contact = channel;
    contact.sender = Sender::Contact;
    assert!(matches!(caller.handle_reply(at(0), &contact), Ok(Handled::Stranger(_))));
}

#[test]
fn a_direct_chat_accepts_only_its_contact() {
    let mut caller = Machine::default();
    let id = direct(&mut caller, 7);
    let mut item = from_contact(20, ANSWER, 7);
    for sender in [Sender::Channel, Sender::Member(member("bob"))] {
        item.sender = sender;
        assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::Stranger(id)));
    }
}

// Twice, edited, late, out of order.

#[test]
fn the_same_item_twice_is_a_duplicate() {
    let mut caller = Machine::default();
    let id = direct(&mut caller, 7);
    let progress = from_contact(20, PROGRESS, 7);
    reply(&mut caller, 0, &progress);
    assert_eq!(caller.handle_reply(at(0), &progress), Ok(Handled::Duplicate(id)));
    let answer = from_contact(21, ANSWER, 7);
    reply(&mut caller, 0, &answer);
    // Also once the call has ended.
    assert_eq!(caller.handle_reply(at(0), &answer), Ok(Handled::Duplicate(id)));
    assert_eq!(caller.handle_reply(at(0), &progress), Ok(Handled::Duplicate(id)));
}

#[test]
fn duplicates_are_known_64_ids_back_and_never_invented() {
    for start in [0, 1, -5, i64::MIN, i64::MAX - 200, -100] {
        let mut seen = Seen::default();
        let mut model = Vec::new();
        for step in [0, 1, 2, 64, 3, 70, 133, 5, 133, 132, 69, 70, 200, 136, 137] {
            let id = start + step;
            let highest = model.iter().copied().max().unwrap_or(id);
            let known = model.contains(&id) && highest - id < 64;
            assert_eq!(seen.has(ItemId(id)), known, "{start} {step}");
            seen.add(ItemId(id));
            model.push(id);
            assert_eq!(seen.has(ItemId(id)), highest - id < 64, "{start} {step}");
        }
    }
    // A negative id does not make 0 a second one.
    let mut seen = Seen::default();
    seen.add(ItemId(-5));
    assert!(!seen.has(ItemId(0)) && seen.has(ItemId(-5)));
    // Ids further apart than an i64 can say.
    seen.add(ItemId(i64::MAX));
    assert!(seen.has(ItemId(i64::MAX)) && !seen.has(ItemId(-5)));
    seen.add(ItemId(i64::MIN));
    assert!(!seen.has(ItemId(i64::MIN)) && seen.has(ItemId(i64::MAX)));
    // 0 is the first that is so far ahead of the lowest.
    for (ahead, is_so_far) in [(-1_i64, false), (0, true), (1, true)] {
        let mut seen = Seen::default();
        seen.add(ItemId(i64::MIN));
        assert_eq!(ahead.checked_sub(i64::MIN).is_none(), is_so_far);
        seen.add(ItemId(ahead));
        assert!(seen.has(ItemId(ahead)) && !seen.has(ItemId(i64::MIN)), "{ahead}");
    }
}

#[test]
fn an_edited_reply_is_a_reply_with_the_new_text() {
    let mut caller = Machine::default();
    let id = direct(&mut caller, 7);
    // A live message: first a part of the text, then all of it.
    let begun = reply(&mut caller, 0, &from_contact(20, &ANSWER[..9], 7));
    assert!(matches!(begun.class, Class::Foreign(Foreign::Json(_))) && !begun.edited);
    let whole = reply(&mut caller, 0, &from_contact(20, ANSWER, 7).edit());
    assert_eq!((whole.class, whole.edited, whole.is_end), (Class::Last(End::Answer), true, true));
    // Edited again: too late, and said to be an edit.
    let Ok(Handled::Late(again)) = caller.handle_reply(at(0), &from_contact(20, "{}", 7).edit())
    else {
        panic!()
    };
    assert!(again.call == id && again.edited);
}

#[test]
fn an_edit_that_comes_first_makes_the_first_text_a_duplicate() {
    let mut caller = Machine::default();
    let id = direct(&mut caller, 7);
    reply(&mut caller, 0, &from_contact(20, PROGRESS, 7).edit());
    let first = from_contact(20, "working on it", 7);
    assert_eq!(caller.handle_reply(at(0), &first), Ok(Handled::Duplicate(id)));
}

#[test]
fn replies_keep_the_order_of_their_arrival() {
    let mut caller = Machine::default();
    let id = stream(&mut caller, To::Contact(CONTACT), 7);
    // The end overtakes the parts: what follows is late, and nothing is lost or turned round.
    reply(&mut caller, 0, &from_contact(22, WORKING, 7));
    assert!(reply(&mut caller, 0, &from_contact(23, DONE, 7)).is_end);
    assert_eq!(late(&mut caller, &from_contact(21, WORKING, 7)), id);
    assert_eq!(
        caller.handle_reply(at(0), &from_contact(21, WORKING, 7)),
        Ok(Handled::Duplicate(id))
    );
}

#[test]
fn a_reply_is_late_after_an_answer_a_timeout_and_a_cancel() {
    let mut caller = Machine::default();
    let answered = direct(&mut caller, 7);
    reply(&mut caller, 0, &from_contact(20, ANSWER, 7));
    let cancelled = direct(&mut caller, 8);
    assert!(caller.cancel(cancelled));
    let slow = direct(&mut caller, 9);
    assert_eq!(caller.handle_timeout(at(600_000)).unwrap().call, slow);
    for (call, sent, id) in [(answered, 7, 30), (cancelled, 8, 31), (slow, 9, 32)] {
        assert_eq!(late(&mut caller, &from_contact(id, ANSWER, sent)), call);
    }
    assert_eq!(caller.open(), 0);
}

#[test]
fn the_id_of_an_ended_call_names_nothing() {
    let mut caller = Caller::<Standard, Inline<1>>::default();
    let old = direct(&mut caller, 7);
    assert!(caller.cancel(old));
    let new = direct(&mut caller, 8);
    assert_ne!(old, new);
    assert!(!caller.cancel(old) && !caller.is_open(old) && caller.is_open(new));
    assert_eq!(caller.handle_sent(at(0), old, ItemId(1), None), Err(SentError::UnknownCall));
    assert_eq!(caller.handle_not_sent(at(0), old), Err(UnknownCall));
    // Its slot is in use again, so its late replies are replies to nothing known.
    let item = from_contact(20, ANSWER, 7);
    assert_eq!(caller.handle_reply(at(0), &item), Ok(Handled::Unknown));
    assert!(reply(&mut caller, 0, &from_contact(21, ANSWER, 8)).is_end);
}

#[test]
fn an_unparsable_reply_is_collected_as_text() {
    let mut caller = Machine::default();
    direct(&mut caller, 7);
    let deep = "[".repeat(200);
    let long = "x".repeat(1 << 20);
    for (place, text) in ["one moment", "", "[1]", "\u{feff}{}", deep.as_str(), long.as_str()]
        .into_iter()
        .enumerate()
    {
        let taken = reply(&mut caller, 0, &from_contact(20 + place as i64, text, 7));
        assert!(matches!(taken.class, Class::Foreign(_)) && taken.text == text);
    }
    let other = r#"{"jsonrpc":"2.0","id":"1","result":{}}"#;
    let taken = reply(&mut caller, 0, &from_contact(40, other, 7));
    assert_eq!(taken.class, Class::Foreign(Foreign::OtherId));
    assert!(reply(&mut caller, 0, &from_contact(41, ANSWER, 7)).is_end);
}

// Broadcasts.

#[test]
fn each_stream_of_a_broadcast_has_its_own_end() {
    let mut caller = Machine::default();
    let id = stream(&mut caller, To::Everyone(GROUP), 7);
    reply(&mut caller, 0, &from("bob", 20, WORKING, 7));
    reply(&mut caller, 0, &from("eve", 21, WORKING, 7));
    assert_eq!(reply(&mut caller, 0, &from("bob", 22, DONE, 7)).class, Class::Last(End::Terminal));
    reply(&mut caller, 0, &from("eve", 23, WORKING, 7));
    // Bob has ended, Eve has not.
    assert_eq!(late(&mut caller, &from("bob", 24, WORKING, 7)), id);
    assert!(!reply(&mut caller, 0, &from("eve", 25, DONE, 7)).is_end);
    // The first reply of a third one may be its last.
    assert!(!reply(&mut caller, 0, &from("zoe", 26, BROKEN, 7)).is_end);
    assert!(caller.is_open(id));
    let end = caller.handle_timeout(at(600_000)).unwrap();
    assert_eq!((end.answers, end.replies, end.is_resumable), (3, 3, false));
}

#[test]
fn a_second_last_reply_of_a_sender_is_late() {
    let mut caller = Machine::default();
    let request = mcp("1");
    let call = Call::new(Standard::MCP, To::Everyone(GROUP), &request).answers(2);
    let id = open(&mut caller, &call, 7);
    reply(&mut caller, 0, &from("bob", 20, ANSWER, 7));
    assert_eq!(late(&mut caller, &from("bob", 21, ANSWER, 7)), id);
    assert_eq!(late(&mut caller, &from("bob", 20, ANSWER, 7).edit()), id);
    // So one sender does not stand for two answers.
    assert!(caller.is_open(id));
    assert!(reply(&mut caller, 0, &from("eve", 22, ANSWER, 7)).is_end);
    assert_eq!(late(&mut caller, &from("zoe", 23, ANSWER, 7)), id);
}

#[test]
fn too_many_senders_are_an_error_and_the_call_stays_open() {
    let mut caller = Caller::<Standard, Inline<2>>::default();
    let request = mcp("1");
    let call = Call::new(Standard::MCP, To::Everyone(GROUP), &request);
    let (first, second) = (open(&mut caller, &call, 7), open(&mut caller, &call, 8));
    reply(&mut caller, 0, &from("bob", 20, ANSWER, 7));
    reply(&mut caller, 0, &from("bob", 21, ANSWER, 8));
    let third = from("eve", 22, ANSWER, 8);
    assert_eq!(caller.handle_reply(at(0), &third), Err(ReplyError::TooManySenders { capacity: 2 }));
    // What needs no following is still taken.
    reply(&mut caller, 0, &from("eve", 23, PROGRESS, 8));
    // Room again once another broadcast ends, for the same item too.
    assert!(caller.cancel(first) && caller.is_open(second));
    assert_eq!(reply(&mut caller, 0, &third).call, second);
}

#[test]
fn the_senders_of_an_ended_broadcast_are_forgotten() {
    let mut caller = Caller::<Standard, Inline<3>>::default();
    let request = mcp("1");
    let call = Call::new(Standard::MCP, To::Everyone(GROUP), &request).answers(3);
    for round in 0..100 {
        let id = open(&mut caller, &call, round * 10);
        for (place, name) in ["bob", "eve", "zoe"].into_iter().enumerate() {
            let item = from(name, round * 10 + 1 + place as i64, ANSWER, round * 10);
            assert_eq!(reply(&mut caller, 0, &item).is_end, name == "zoe");
        }
        assert!(!caller.is_open(id));
    }
    assert_eq!(caller.followed.open(), 0);
}

// When a stream can be resumed.

#[test]
fn a_stream_that_breaks_off_after_its_task_is_named_can_be_resumed() {
    let mut caller = Machine::default();
    stream(&mut caller, To::Contact(CONTACT), 7);
    let part = reply(&mut caller, 0, &from_contact(20, WORKING, 7));
    assert!(part.resume().unwrap() == *"t" && !part.is_resumable);
    assert!(reply(&mut caller, 0, &from_contact(21, BROKEN, 7)).is_resumable);

    stream(&mut caller, To::Contact(CONTACT), 8);
    assert!(!reply(&mut caller, 0, &from_contact(22, BROKEN, 8)).is_resumable);

    stream(&mut caller, To::Contact(CONTACT), 9);
    reply(&mut caller, 0, &from_contact(23, WORKING, 9));
    assert!(!reply(&mut caller, 0, &from_contact(24, DONE, 9)).is_resumable);

    stream(&mut caller, To::Contact(CONTACT), 10);
    reply(&mut caller, 0, &from_contact(25, WORKING, 10));
    assert!(caller.handle_timeout(at(600_000)).unwrap().is_resumable);
}

#[test]
fn one_senders_stream_says_nothing_of_anothers() {
    let mut caller = Machine::default();
    stream(&mut caller, To::Everyone(GROUP), 7);
    reply(&mut caller, 0, &from("bob", 20, WORKING, 7));
    assert!(!reply(&mut caller, 0, &from("eve", 21, BROKEN, 7)).is_resumable);
    assert!(reply(&mut caller, 0, &from("bob", 22, BROKEN, 7)).is_resumable);
    // Zoe's stream has ended as it should, Tom's goes on.
    reply(&mut caller, 0, &from("zoe", 23, WORKING, 7));
    reply(&mut caller, 0, &from("zoe", 24, DONE, 7));
    reply(&mut caller, 0, &from("tom", 25, WORKING, 7));
    reply(&mut caller, 0, &from("tom", 26, WORKING, 7));
    assert!(caller.handle_timeout(at(600_000)).unwrap().is_resumable);

    stream(&mut caller, To::Everyone(GROUP), 8);
    reply(&mut caller, 600_000, &from("zoe", 33, WORKING, 8));
    reply(&mut caller, 600_000, &from("zoe", 34, DONE, 8));
    assert!(!caller.handle_timeout(at(1_200_000)).unwrap().is_resumable);
}

#[test]
fn streams_beyond_the_table_go_on_without_being_resumable() {
    let mut caller = Caller::<Standard, Inline<1>>::default();
    let request = a2a("SendStreamingMessage", "");
    open(&mut caller, &Call::new(Standard::A2A, To::Everyone(GROUP), &request), 7);
    reply(&mut caller, 0, &from("bob", 20, WORKING, 7));
    reply(&mut caller, 0, &from("eve", 21, WORKING, 7));
    assert_eq!(
        caller.handle_reply(at(0), &from("eve", 22, BROKEN, 7)),
        Err(ReplyError::TooManySenders { capacity: 1 })
    );
    assert!(reply(&mut caller, 0, &from("bob", 23, BROKEN, 7)).is_resumable);
}

// Waiting.

fn waiting(caller: &mut Machine, overall: u64, idle: u64) -> CallId {
    let wait = Wait::new(Duration::from_millis(overall), Duration::from_millis(idle));
    let request = mcp("1");
    open(caller, &Call::new(Standard::MCP, To::Contact(CONTACT), &request).wait(wait), 7)
}

#[test]
fn a_limit_passes_at_its_millisecond_and_not_before() {
    for (overall, idle, limit) in
        [(1_000, 400, Limit::Idle), (300, 400, Limit::Overall), (400, 400, Limit::Overall)]
    {
        let due = overall.min(idle);
        for late in [0, 1, 1_000_000] {
            let mut caller = Machine::default();
            let call = waiting(&mut caller, overall, idle);
            assert_eq!(caller.poll_timeout(), Some(at(due)));
            assert_eq!(caller.handle_timeout(at(due - 1)), None);
            assert!(caller.is_open(call));
            let end = caller.handle_timeout(at(due + late)).unwrap();
            assert_eq!((end.call, end.limit, end.was_sent), (call, limit, true));
            assert_eq!(
                (caller.handle_timeout(at(due + late)), caller.poll_timeout()),
                (None, None)
            );
        }
    }
}

#[test]
fn progress_extends_the_idle_limit_and_never_the_overall_one() {
    let mut caller = Machine::default();
    waiting(&mut caller, 1_000, 400);
    reply(&mut caller, 399, &from_contact(20, PROGRESS, 7));
    assert_eq!(caller.poll_timeout(), Some(at(799)));
    reply(&mut caller, 700, &from_contact(21, PROGRESS, 7));
    assert_eq!(caller.poll_timeout(), Some(at(1_000)));
    reply(&mut caller, 999, &from_contact(22, PROGRESS, 7));
    assert_eq!(caller.poll_timeout(), Some(at(1_000)));
    assert_eq!(caller.handle_timeout(at(1_000)).unwrap().limit, Limit::Overall);
}

#[test]
fn text_of_another_kind_extends_no_limit() {
    let mut caller = Machine::default();
    let id = waiting(&mut caller, 1_000, 400);
    reply(&mut caller, 300, &from_contact(20, "still at it", 7));
    assert_eq!(caller.poll_timeout(), Some(at(400)));
    let mut other = from_contact(21, PROGRESS, 7);
    other.sender = Sender::Channel;
    assert_eq!(caller.handle_reply(at(300), &other), Ok(Handled::Stranger(id)));
    reply(&mut caller, 310, &from_contact(22, PROGRESS, 7));
    assert_eq!(caller.poll_timeout(), Some(at(710)));
    assert_eq!(
        caller.handle_reply(at(500), &from_contact(22, PROGRESS, 7)),
        Ok(Handled::Duplicate(id))
    );
    assert_eq!(caller.poll_timeout(), Some(at(710)));
}

#[test]
fn a_reply_after_the_limit_is_taken_until_handle_timeout_has_said_otherwise() {
    let mut caller = Machine::default();
    waiting(&mut caller, 1_000, 400);
    assert!(reply(&mut caller, 5_000, &from_contact(20, ANSWER, 7)).is_end);
    assert_eq!(caller.handle_timeout(at(5_000)), None);
}

#[test]
fn time_never_runs_backwards() {
    let mut caller = Machine::default();
    assert_eq!(caller.handle_timeout(at(5_000)), None);
    let call = waiting(&mut caller, 1_000, 400);
    assert_eq!(caller.poll_timeout(), Some(at(5_400)));
    reply(&mut caller, 100, &from_contact(20, PROGRESS, 7));
    assert_eq!(caller.poll_timeout(), Some(at(5_400)));
    assert_eq!(caller.handle_timeout(at(0)), None);
    assert_eq!(caller.handle_timeout(at(5_400)).unwrap().call, call);
}

#[test]
fn limits_beyond_time_itself_never_pass() {
    let mut caller = Machine::default();
    let request = mcp("1");
    let wait = Wait::new(Duration::MAX, Duration::MAX);
    open(&mut caller, &Call::new(Standard::MCP, To::Contact(CONTACT), &request).wait(wait), 7);
    assert_eq!(caller.poll_timeout(), Some(Instant::MAX));
    assert_eq!(caller.handle_timeout(at(u64::MAX - 1)), None);
}

#[test]
fn calls_end_in_the_order_of_their_limits() {
    let mut caller = Machine::default();
    let mut calls = Vec::new();
    for (place, idle) in [30, 10, 20, 40].into_iter().enumerate() {
        let wait = Wait::new(Duration::from_millis(100), Duration::from_millis(idle));
        let request = mcp("1");
        let call = Call::new(Standard::MCP, To::Contact(CONTACT), &request).wait(wait);
        calls.push((idle, open(&mut caller, &call, place as i64)));
    }
    calls.sort_by_key(|(idle, _)| *idle);
    for (_, call) in calls {
        assert_eq!(caller.handle_timeout(at(100)).unwrap().call, call);
    }
    assert_eq!(caller.handle_timeout(at(100)), None);
}

// Bounds.

#[test]
fn a_full_table_is_an_error_with_its_capacity_and_usable_after_an_end() {
    let mut caller = Caller::<Standard, Inline<2>>::default();
    let (first, _) = (direct(&mut caller, 7), direct(&mut caller, 8));
    let request = mcp("1");
    let call = Call::new(Standard::MCP, To::Contact(CONTACT), &request);
    let mut buffer = [0; 512];
    let error = caller.call(at(0), &call, &mut buffer).unwrap_err();
    assert_eq!(error, CallError::Full { capacity: 2 });
    assert_eq!(error.to_string(), "2 calls are open, no more can be");
    assert_eq!(caller.open(), 2);
    assert!(caller.cancel(first));
    assert!(caller.call(at(0), &call, &mut buffer).is_ok());
}

#[test]
fn a_flood_of_replies_is_bounded_and_the_last_one_still_taken() {
    let config = CallerConfig { max_replies: 3, ..CallerConfig::default() };
    let mut caller = Machine::with_limit(config, 16);
    let (flooded, other) = (direct(&mut caller, 7), direct(&mut caller, 8));
    for id in 20..23 {
        reply(&mut caller, 0, &from_contact(id, if id == 21 { "text" } else { PROGRESS }, 7));
    }
    for text in [PROGRESS, "text"] {
        assert_eq!(
            caller.handle_reply(at(0), &from_contact(23, text, 7)),
            Err(ReplyError::TooManyReplies { limit: 3 })
        );
    }
    assert_eq!(reply(&mut caller, 0, &from_contact(24, PROGRESS, 8)).call, other);
    // The refused item was not handled.
    let last = reply(&mut caller, 0, &from_contact(23, ANSWER, 7));
    assert!(last.call == flooded && last.is_end);
}

// What is not sent.

#[test]
fn a_credential_is_not_sent_into_a_group() {
    let mut caller = Machine::default();
    let request = a2a("GetTask", r#","authorization":"Bearer x""#);
    let mut buffer = [0; 512];
    for to in [To::Everyone(GROUP), to_bob()] {
        let call = Call::new(Standard::A2A, to, &request);
        assert_eq!(
            caller.call(at(0), &call, &mut buffer).unwrap_err(),
            CallError::Refused(Failure::CredentialInGroup)
        );
    }
    assert_eq!((caller.open(), buffer), (0, [0; 512]));
    let call = Call::new(Standard::A2A, To::Contact(CONTACT), &request);
    assert!(caller.call(at(0), &call, &mut buffer).is_ok());
}

#[test]
fn what_is_not_a_request_is_not_sent() {
    let mut caller = Machine::default();
    let mut buffer = [0; 64];
    for text in ["", "[]", "{}", r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#] {
        let call = Call::new(Standard::MCP, To::Contact(CONTACT), text);
        let error = caller.call(at(0), &call, &mut buffer).unwrap_err();
        assert!(matches!(error, CallError::Refused(_)), "{text}");
    }
    for name in ["", "#x", "it's", " x"] {
        let to = To::Member {
            group: GROUP,
            member: member("bob"),
            group_member: GroupMemberId(3),
            name,
        };
        let request = mcp("1");
        let call = Call::new(Standard::MCP, to, &request);
        let error = caller.call(at(0), &call, &mut buffer).unwrap_err();
        assert!(matches!(error, CallError::Command(_)), "{name}");
    }
    assert_eq!(caller.open(), 0);
}

#[test]
fn a_short_buffer_says_exactly_what_is_needed() {
    for to in [To::Contact(CONTACT), to_bob()] {
        let mut caller = Machine::default();
        let request = mcp("1");
        let call = Call::new(Standard::MCP, to, &request);
        let mut large = [0; 512];
        let (id, transmit) = caller.call(at(0), &call, &mut large).unwrap();
        let (len, text) = (transmit.text.len(), transmit.text.to_string());
        assert!(caller.cancel(id));
        for short in [0, 1, len - 1] {
            let mut buffer = [0; 512];
            match caller.call(at(0), &call, &mut buffer[..short]).unwrap_err() {
                CallError::Buffer(error) => {
                    assert_eq!((error.needed, error.capacity), (len, short));
                }
                other => panic!("{other:?}"),
            }
            assert_eq!((caller.open(), caller.poll_timeout()), (0, None));
        }
        let mut exact = [0; 512];
        let (_, transmit) = caller.call(at(0), &call, &mut exact[..len]).unwrap();
        assert_eq!(transmit.text, text);
    }
}

/// A request of this many bytes, none of which the chat core escapes but its quotes.
fn padded(len: usize) -> String {
    let bare = mcp("1");
    let pad = len - bare.len() - r#""x":"","#.len();
    bare.replacen(r#""id":1"#, &format!(r#""x":"{}","id":1"#, "p".repeat(pad)), 1)
}

/// What a call with a request of this many bytes comes to.
fn sized(to: To<'_>, config: CallerConfig, ttl: Option<u64>, len: usize) -> Result<usize, String> {
    let mut caller = Machine::with_limit(config, 1);
    let request = padded(len);
    let mut call = Call::new(Standard::MCP, to, &request);
    call.ttl = ttl;
    let mut buffer = [0; 16_384];
    match caller.call(at(0), &call, &mut buffer) {
        Ok((_, transmit)) => {
            #[cfg(feature = "alloc")]
            {
                use crate::chat::encode::{WireMessage, encode};
                let mentions = [size::Mention::new("bob", "bob")];
                let mut wire = WireMessage::new("d1NPUHVDSDAyVWVTNnVwUA==", transmit.text);
                wire.ttl = ttl;
                wire.mentions = if transmit.mention.is_some() { &mentions } else { &[] };
                assert_eq!(encode(&wire).len(), transmit.size.bytes());
            }
            assert_eq!(caller.open(), 1);
            Ok(transmit.size.bytes())
        }
        Err(error) => {
            assert_eq!((caller.open(), caller.poll_timeout()), (0, None));
            match error {
                CallError::TooLarge(error) => {
                    Err(format!("large {} {}", error.needed, error.limit))
                }
                CallError::NoRoomForReply { room, needed } => Err(format!("room {room} {needed}")),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_command_of_15602_bytes_is_measured_from_both_sides() {
    let members = [(To::Contact(CONTACT), None), (to_bob(), None), (To::Everyone(GROUP), Some(9))];
    for (to, ttl) in members {
        // At this size there is no room for a reply, which is found out after the message's own.
        let config = CallerConfig { min_reply_room: 0, ..CallerConfig::default() };
        // Find the limit of the message from its error, which has the exact size.
        let Err(why) = sized(to, config, ttl, 16_000) else { panic!() };
        let needed: usize = why.split(' ').nth(1).unwrap().parse().unwrap();
        let fits = 16_000 - (needed - 15_602);
        assert!(sized(to, config, ttl, fits).unwrap_err().starts_with("room 0 "));
        assert_eq!(sized(to, config, ttl, fits + 1).unwrap_err(), "large 15603 15602");
    }
}

#[test]
fn a_command_that_leaves_too_little_room_for_a_reply_is_not_sent() {
    for (to, ttl) in
        [(To::Contact(CONTACT), None), (to_bob(), None), (To::Contact(CONTACT), Some(60))]
    {
        let config = CallerConfig { min_reply_room: 5_000, ..CallerConfig::default() };
        let Err(why) = sized(to, config, ttl, 14_000) else { panic!() };
        let room: usize = why.split(' ').nth(1).unwrap().parse().unwrap();
        let fits = 14_000 - (5_000 - room);
        assert!(sized(to, config, ttl, fits).is_ok());
        assert!(sized(to, config, ttl, fits - 1).is_ok());
        assert_eq!(sized(to, config, ttl, fits + 1).unwrap_err(), "room 4999 5000");
        // The room is that of a reply quoting the whole command, with the longest time there is.
        let mut caller = Machine::with_limit(config, 1);
        let request = padded(fits);
        let mut buffer = [0; 16_384];
        let (_, transmit) =
            caller.call(at(0), &Call::new(Standard::MCP, to, &request), &mut buffer).unwrap();
        let kind = if to.chat().is_group() { QuoteKind::GROUP } else { QuoteKind::Direct };
        let quoted = crate::json::length::escaped_len(transmit.text);
        let quote = Quote::received(quoted, kind).sent_at(SentAt::Worst);
        let mut shape = MessageShape::new().quote(quote);
        if let Some(seconds) = ttl {
            shape = shape.ttl(seconds);
        }
        assert_eq!(shape.room(), 5_000);
    }
}

#[test]
fn a_group_margin_counts_for_the_command_in_groups_only() {
    let none = CallerConfig { min_reply_room: 5_000, ..CallerConfig::default() };
    let relayed = CallerConfig { group_margin: Margin::Relayed, ..none };
    let room = |to, config| sized(to, config, None, 14_000).unwrap_err();
    assert_eq!(room(To::Contact(CONTACT), none), room(To::Contact(CONTACT), relayed));
    assert_ne!(room(To::Everyone(GROUP), none), room(To::Everyone(GROUP), relayed));
}

#[test]
fn the_room_for_a_reply_holds_the_protocols_shortest_error_with_its_id() {
    // An A2A error with a long id takes more than the default room.
    let id = format!("\"{}\"", "i".repeat(100));
    let request = |pad: usize| {
        a2a("GetTask", "").replacen(
            r#""id":2"#,
            &format!(r#""x":"{}","id":{id}"#, "p".repeat(pad)),
            1,
        )
    };
    let mut caller = Machine::default();
    let mut buffer = [0; 16_384];
    let mut refused = None;
    for pad in 14_000..15_600 {
        let request = request(pad);
        let call = Call::new(Standard::A2A, To::Contact(CONTACT), &request);
        match caller.call(at(0), &call, &mut buffer) {
            Ok((id, _)) => assert!(caller.cancel(id)),
            Err(CallError::NoRoomForReply { room, needed }) => {
                refused = Some((room, needed));
                break;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    let mut writer = [0; 512];
    let mut out = crate::json::Writer::new(&mut writer);
    Standard::A2A.write_failure(&Failure::Internal, Some(&id), &mut out);
    let needed = crate::json::length::escaped_len(out.finish().unwrap());
    assert!(needed > CallerConfig::default().min_reply_room);
    assert_eq!(refused, Some((needed - 1, needed)));
}

#[test]
fn debug_shows_no_text() {
    let mut caller = Machine::default();
    let request = mcp("\"hunter2\"");
    let call = Call::new(Standard::MCP, To::Contact(CONTACT), &request);
    let mut buffer = [0; 512];
    let (id, transmit) = caller.call(at(0), &call, &mut buffer).unwrap();
    let shown = format!("{call:?} {transmit:?}");
    caller.handle_sent(at(0), id, ItemId(7), None).unwrap();
    let item = from_contact(20, "hunter2", 7);
    let handled = caller.handle_reply(at(0), &item).unwrap();
    let shown = format!("{shown} {item:?} {handled:?} {caller:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

// Memory.

#[cfg(target_pointer_width = "64")]
#[test]
fn the_caller_takes_no_more_memory_than_measured() {
    let of_16 = size_of::<Caller<Standard, Inline<16>>>();
    let of_32 = size_of::<Caller<Standard, Inline<32>>>();
    std::println!("{of_16} bytes for 16 calls, {} each", (of_32 - of_16) / 16);
    assert!(of_16 <= 5_056, "{of_16}");
    // A call, the sender that it follows, and the indexes of both.
    assert!((of_32 - of_16) / 16 <= 304, "{}", (of_32 - of_16) / 16);
    assert!(size_of::<super::Open<Standard>>() <= 168);
    assert!(size_of::<Followed>() <= 52);
}
