//! Calls and answers in conversations.

use super::super::*;
use super::core_of::*;
use crate::binding::{Failure, Standard};
use crate::chat::caller::{Call, CallError, To};
use crate::chat::responder::Token;
use crate::chat::session::{Event as ChatEvent, Request};
use crate::chat::{ContactId, GroupId, GroupMemberId, ItemId, MemberId};
use crate::simplex::error::CoreErrorKind;
use std::format;
use std::string::String;

/// The request that the bot was told of.
pub(super) fn asked_of(rig: &mut Rig) -> Request<Standard> {
    match rig.told() {
        Event::Chat(ChatEvent::Request(request)) => request,
        event => panic!("{event:?}"),
    }
}

pub(super) fn reply_to(rig: &mut Rig, token: Token, id: u32) {
    rig.session.respond(rig.now, token, &result(id)).unwrap();
    rig.run();
}

/// Answers a send with the item that it became.
pub(super) fn took(rig: &mut Rig, asked: &Asked, item: i64) {
    let text = text_of(asked);
    let quotes = quote_of(asked).map(|item| item.0);
    rig.answer(asked, &new_items(&[bare("directSnd", item, &text, quotes)]));
}

pub(super) fn was_sent(rig: &mut Rig) -> (Origin, ItemId) {
    match rig.told() {
        Event::Sent { origin, item, .. } => (origin, item),
        event => panic!("{event:?}"),
    }
}

pub(super) fn last_reply(rig: &mut Rig) -> (CallId, String) {
    match rig.told() {
        Event::Chat(ChatEvent::Reply(reply)) if reply.is_end => (reply.call, reply.text),
        event => panic!("{event:?}"),
    }
}

#[test]
fn a_call_has_its_reply() {
    let mut rig = Rig::caller();
    let call = rig.call(1);
    let asked = rig.expect("/_send @4 json [");
    assert_eq!(text_of(&asked), command(1));
    took(&mut rig, &asked, 20);
    assert_eq!(was_sent(&mut rig), (Origin::Command(call), ItemId(20)));
    rig.event(Link::Chat, &received(21, &result(1), Some(20)));
    assert_eq!(last_reply(&mut rig), (call, result(1)));
    assert_eq!((rig.session.open_calls(), rig.session.unsent()), (0, 0));
    assert_eq!(rig.until, None);
}

#[test]
fn a_reply_that_comes_before_the_answer_of_its_own_core_is_taken() {
    let mut rig = Rig::caller();
    let call = rig.call(1);
    let asked = rig.ask();
    rig.event(Link::Chat, &received(21, &result(1), Some(20)));
    assert!(rig.events.is_empty());
    took(&mut rig, &asked, 20);
    was_sent(&mut rig);
    assert_eq!(last_reply(&mut rig).0, call);
}

#[test]
fn a_reply_on_the_other_connection_is_taken() {
    let mut rig = Rig::caller();
    let target = ServiceTarget::new("@acme.simplex");
    let text = request(9).replace("GetTask", "SendMessage").replace(
        r#""params":{"id":"t"}"#,
        r#""params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#,
    );
    let asked = crate::rpc::ServiceCall::new(Standard::A2A, &text);
    rig.session.request(rig.now, target, &asked).unwrap();
    rig.run();
    assert_eq!(rig.connects.pop_front(), Some(Link::Service));
    rig.input(Input::Connected(Link::Service));
    rig.expect("/_service_request");
    rig.call(1);
    let asked = rig.expect("/_send");
    took(&mut rig, &asked, 20);
    was_sent(&mut rig);
    rig.event(Link::Service, &received(21, &result(1), Some(20)));
    last_reply(&mut rig);
}

#[test]
fn several_commands_are_in_flight_and_no_more_than_allowed() {
    let config = SessionConfig { max_in_flight: 3, ..SessionConfig::default() };
    let mut rig = Rig::new(config, std::vec::Vec::new());
    rig.start();
    for id in 1..=5 {
        rig.call(id);
    }
    assert_eq!(rig.asked.len(), 3);
    let asked = rig.ask();
    took(&mut rig, &asked, 20);
    assert_eq!(rig.asked.len(), 3);
    assert_eq!(rig.session.unsent(), 4);
}

#[test]
fn a_refused_command_ends_its_call_with_the_reason() {
    let mut rig = Rig::caller();
    let call = rig.call(1);
    let asked = rig.ask();
    let refusal = r#"{"type":"chatCmdError","chatError":{"type":"errorStore","storeError":{"type":"largeMsg"}}}"#;
    rig.answer(&asked, refusal);
    let Event::NotSent { origin, why: NotSent::Refused(refusal), .. } = rig.told() else {
        panic!()
    };
    assert_eq!((origin, refusal.kind), (Origin::Command(call), CoreErrorKind::LargeMsg));
    assert!(matches!(rig.told(), Event::Chat(ChatEvent::NotSent(ended)) if ended == call));
    assert_eq!(rig.session.open_calls(), 0);
}

#[test]
fn a_second_answer_and_one_that_nobody_waits_for_are_counted() {
    let mut rig = Rig::caller();
    rig.call(1);
    let asked = rig.ask();
    took(&mut rig, &asked, 20);
    was_sent(&mut rig);
    took(&mut rig, &asked, 20);
    took(&mut rig, &asked, 22);
    for id in ["", "x", "99", "18446744073709551616"] {
        let other = Asked { id: id.into(), ..asked.clone() };
        rig.answer(&other, r#"{"type":"cmdOk"}"#);
    }
    assert!(rig.events.is_empty());
    assert_eq!(rig.session.strays(), 6);
}

#[test]
fn a_cancelled_call_is_not_sent_any_more() {
    let mut rig = Rig::new(SessionConfig::default(), std::vec::Vec::new());
    let call = rig.call(1);
    assert!(rig.session.cancel(call) && !rig.session.cancel(call));
    rig.start();
    assert!(rig.asked.is_empty());
}

#[test]
fn a_call_whose_wait_is_over_is_not_sent_any_more() {
    let mut rig = Rig::new(SessionConfig::default(), std::vec::Vec::new());
    let call = rig.call(1);
    rig.input(Input::Disconnected(Link::Chat));
    rig.later(150_000);
    let ended = rig.events.iter().any(
        |event| matches!(event, Event::Chat(ChatEvent::TimedOut(end)) if end.call == call && !end.was_sent),
    );
    assert!(ended);
    rig.events.clear();
    rig.connects.clear();
    rig.input(Input::Connected(Link::Chat));
    rig.answer_start();
    assert!(rig.asked.is_empty());
}

#[test]
fn a_command_is_answered_once() {
    let mut rig = Rig::bot();
    rig.event(Link::Chat, &received(30, &command(1), None));
    let request = asked_of(&mut rig);
    assert_eq!((request.item, request.chat), (ItemId(30), Chat::Direct(ContactId(4))));
    // The core tells it again, on the other connection, and once more.
    rig.event(Link::Chat, &received(30, &command(1), None));
    reply_to(&mut rig, request.token, 1);
    let asked = rig.expect("/_send @4 json");
    assert_eq!((text_of(&asked), quote_of(&asked)), (result(1), Some(ItemId(30))));
    took(&mut rig, &asked, 31);
    assert!(matches!(was_sent(&mut rig), (Origin::Answer(_, true), ItemId(31))));
    rig.event(Link::Chat, &received(30, &command(1), None));
    assert!(rig.events.is_empty() && rig.asked.is_empty());
    assert!(rig.session.is_idle());
}

#[test]
fn several_items_of_one_frame_are_several_commands() {
    let mut rig = Rig::bot();
    let items = [30, 31, 32].map(|id| bare("directRcv", id, &command(1), None));
    rig.event(Link::Chat, &new_items(&items));
    for id in [30, 31, 32] {
        assert_eq!(asked_of(&mut rig).item, ItemId(id));
    }
}

#[test]
fn a_stopping_bot_answers_what_is_open_and_refuses_the_rest() {
    let mut rig = Rig::bot();
    rig.event(Link::Chat, &received(30, &command(1), None));
    let request = asked_of(&mut rig);
    rig.session.stop();
    rig.event(Link::Chat, &received(31, &command(2), None));
    assert!(matches!(rig.told(), Event::Chat(ChatEvent::Refused { .. })));
    let refusal = rig.ask();
    assert_eq!(quote_of(&refusal), Some(ItemId(31)));
    rig.session.fail(rig.now, request.token, &Failure::Internal).unwrap();
    rig.run();
    let answer = rig.ask();
    assert_eq!(quote_of(&answer), Some(ItemId(30)));
    assert!(!rig.session.is_idle());
    took(&mut rig, &refusal, 32);
    took(&mut rig, &answer, 33);
    assert!(rig.session.is_idle());
}

#[test]
fn a_mention_goes_by_the_members_number() {
    let mut rig = Rig::caller();
    let member = MemberId::new("WkdPQ1pQSHhKeTlXR0Z4Qg==").unwrap();
    let to = To::Member { group: GroupId(2), member, group_member: GroupMemberId(7), name: "acme" };
    let text = request(1);
    rig.session.call(rig.now, &Call::new(Standard::A2A, to, &text)).unwrap();
    rig.run();
    let asked = rig.expect("/_send #2 json");
    assert!(asked.cmd.ends_with(r#""mentions":{"acme":7}}]"#), "{}", asked.cmd);
}

#[test]
fn the_queue_has_room_for_so_many_calls() {
    for (calls, fits) in [(2, true), (3, true), (4, false)] {
        let config = SessionConfig { max_queued: 3, ..SessionConfig::default() };
        let mut rig = Rig::new(config, std::vec::Vec::new());
        for id in 1..calls {
            rig.call(id);
        }
        let text = request(9);
        let call = Call::new(Standard::A2A, To::Contact(ContactId(4)), &text);
        match rig.session.call(rig.now, &call) {
            Ok(_) => assert!(fits),
            Err(error) => assert_eq!((error, fits), (CallError::Full { capacity: 3 }, false)),
        }
    }
}

#[test]
fn answers_are_taken_beyond_the_queue_and_refusals_are_not() {
    let config = SessionConfig { max_queued: 1, max_in_flight: 1, ..SessionConfig::default() };
    let mut rig = Rig::new(config, vec_of(Declared::new(Standard::A2A, ["1.0"])));
    rig.start();
    let items: std::vec::Vec<String> =
        (30..34).map(|id| bare("directRcv", id, &command(1), None)).collect();
    rig.event(Link::Chat, &new_items(&items));
    let tokens: std::vec::Vec<Token> = (0..4).map(|_| asked_of(&mut rig).token).collect();
    for token in tokens {
        reply_to(&mut rig, token, 1);
    }
    assert_eq!(rig.session.unsent(), 4);
    rig.event(Link::Chat, &received(40, "/_call a2a {}", None));
    let Event::NotSent { origin: Origin::Refusal, why: NotSent::Full { capacity: 1 }, .. } =
        rig.told()
    else {
        panic!()
    };
    assert_eq!(rig.session.unsent(), 4);
}

fn vec_of<T>(one: T) -> std::vec::Vec<T> {
    core::iter::once(one).collect()
}

fn group_item(id: i64, text: &str, mentions: &str) -> String {
    let text = quoted(text);
    format!(
        r#"{{"type":"newChatItems","chatItems":[{{"chatInfo":{{"type":"group","groupInfo":{{"groupId":2,"localDisplayName":"g","membership":{{"groupMemberId":1,"memberId":"me","localDisplayName":"bot_1","memberProfile":{{"displayName":"bot"}}}}}}}},"chatItem":{{"chatDir":{{"type":"groupRcv","groupMember":{{"groupMemberId":5,"memberId":"ann","localDisplayName":"ann"}}}},"meta":{{"itemId":{id}}},"content":{{"msgContent":{{"type":"text","text":{text}}}}},"mentions":{{{mentions}}}}}}}]}}"#
    )
}

fn members(names: &[(&str, &str)]) -> String {
    let members: std::vec::Vec<String> = names
        .iter()
        .map(|(id, name)| {
            format!(r#"{{"groupMemberId":9,"memberId":"{id}","localDisplayName":"{name}_1","memberProfile":{{"displayName":"{name}"}}}}"#)
        })
        .collect();
    format!(
        r#"{{"type":"groupMembers","group":{{"groupInfo":{{"groupId":2,"localDisplayName":"g","membership":{{"groupMemberId":1,"memberId":"me","localDisplayName":"bot_1","memberProfile":{{"displayName":"bot"}}}}}},"members":[{}]}}}}"#,
        members.join(",")
    )
}

#[test]
fn a_command_of_one_line_waits_until_it_is_known_who_bears_the_name() {
    let text = format!("/_call @bot a2a {}", request(1));
    for (others, is_mine) in [
        (&[("ann", "ann")][..], true),
        (&[("me", "bot"), ("ann", "ann")], true),
        (&[("other", "bot")], false),
    ] {
        let mut rig = Rig::bot();
        rig.event(Link::Chat, &group_item(50, &text, ""));
        assert!(rig.events.is_empty());
        let asked = rig.expect("/_members #2");
        rig.answer(&asked, &members(others));
        match rig.told() {
            Event::Chat(ChatEvent::Request(_)) => assert!(is_mine),
            Event::Chat(ChatEvent::Unanswered { .. }) => assert!(!is_mine),
            event => panic!("{event:?}"),
        }
        // It is known from now on, until the members change.
        rig.event(Link::Chat, &group_item(51, &text, ""));
        rig.told();
        assert!(rig.asked.is_empty());
        rig.event(
            Link::Chat,
            r#"{"type":"joinedGroupMember","groupInfo":{"groupId":2,"localDisplayName":"g"}}"#,
        );
        assert!(matches!(rig.told(), Event::Core(_)));
        rig.event(Link::Chat, &group_item(52, &text, ""));
        rig.expect("/_members #2");
    }
}

#[test]
fn a_mention_that_the_core_has_recognised_decides_at_once() {
    let mut rig = Rig::bot();
    let text = format!("/_call @bot a2a {}", request(1).replacen('{', "{\n", 1));
    rig.event(Link::Chat, &group_item(50, &text, r#""bot":{"memberId":"me"}"#));
    assert!(rig.asked.is_empty());
    asked_of(&mut rig);
}

#[test]
fn so_many_commands_wait_for_names() {
    let text = format!("/_call @bot a2a {}", request(1));
    for (count, decided) in [(63, 0), (64, 0), (65, 1)] {
        let mut rig = Rig::bot();
        for id in 0..count {
            rig.event(Link::Chat, &group_item(50 + id, &text, ""));
        }
        assert_eq!(rig.events.len(), decided, "{count}");
    }
}

#[test]
fn an_edit_of_a_reply_is_told() {
    let mut rig = Rig::caller();
    rig.call(1);
    let asked = rig.ask();
    took(&mut rig, &asked, 20);
    was_sent(&mut rig);
    rig.event(Link::Chat, &received(21, "working", Some(20)));
    assert!(matches!(rig.told(), Event::Chat(ChatEvent::Reply(reply)) if !reply.is_end));
    let edit = format!(
        r#"{{"type":"chatItemUpdated","chatItem":{}}}"#,
        in_chat(4, &bare("directRcv", 21, &result(1), Some(20)))
    );
    rig.event(Link::Chat, &edit);
    assert_eq!(last_reply(&mut rig).1, result(1));
}

#[test]
fn a_message_that_the_core_gives_up_is_told() {
    let mut rig = Rig::caller();
    let item = bare("directSnd", 20, "x", None).replace("sndNew", "sndError");
    let status =
        format!(r#"{{"type":"chatItemsStatusesUpdated","chatItems":[{}]}}"#, in_chat(4, &item));
    rig.event(Link::Chat, &status);
    assert!(matches!(rig.told(), Event::Undelivered { item: ItemId(20), .. }));
}

#[test]
fn a_chat_that_somebody_stops_is_started_again_and_the_answer_sent() {
    let mut rig = Rig::bot();
    rig.event(Link::Chat, &received(30, &command(1), None));
    let token = asked_of(&mut rig).token;
    reply_to(&mut rig, token, 1);
    let asked = rig.expect("/_send @4 json");
    rig.answer(&asked, &refusal("chatNotStarted"));
    let Event::Disconnected { why, .. } = rig.told() else { panic!() };
    assert_eq!(why, Disconnect::Stopped);
    assert_eq!(rig.disconnects.pop_front(), Some(Link::Chat));
    rig.again();
    let sends: std::vec::Vec<Option<ItemId>> =
        rig.asked.iter().filter(|asked| asked.cmd.starts_with("/_send")).map(quote_of).collect();
    assert_eq!(sends, [Some(ItemId(30))]);
    assert!(rig.events.is_empty());
}
