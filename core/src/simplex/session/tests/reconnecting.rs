//! What becomes of everything when a connection ends.

use super::super::*;
use super::calling::{asked_of, last_reply, reply_to, took, was_sent};
use super::core_of::*;
use crate::binding::Standard;
use crate::chat::session::Event as ChatEvent;
use crate::chat::{ContactId, ItemId};
use crate::time::Timestamp;
use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

/// Answers a page.
fn shown(rig: &mut Rig, start: &str, bares: &[String]) {
    let asked = rig.expect(start);
    rig.answer(&asked, &page(bares));
}

/// Answers every page that is asked for with the same items.
fn show_all(rig: &mut Rig, bares: &[String]) {
    let is_page = |asked: &Asked| asked.cmd.starts_with("/_get chat");
    while let Some(place) = rig.asked.iter().position(is_page) {
        let asked = rig.asked.remove(place).unwrap();
        rig.answer(&asked, &page(bares));
    }
}

#[test]
fn a_command_that_the_core_has_is_found_and_goes_on() {
    let mut rig = Rig::caller();
    rig.event(Link::Chat, &received(19, "hello", None));
    let call = rig.call(1);
    rig.ask();
    rig.cut(Link::Chat);
    rig.again();
    // Its reply has come meanwhile too.
    shown(
        &mut rig,
        "/_get chat @4 after=19 count=100",
        &[bare("directSnd", 20, &command(1), None), bare("directRcv", 21, &result(1), Some(20))],
    );
    assert_eq!(was_sent(&mut rig), (Origin::Command(call), ItemId(20)));
    assert_eq!(last_reply(&mut rig), (call, result(1)));
    assert!(rig.asked.iter().all(|asked| !asked.cmd.starts_with("/_send")));
}

#[test]
fn a_command_that_the_core_does_not_have_is_looked_for_twice_and_not_repeated() {
    let mut rig = Rig::caller();
    rig.event(Link::Chat, &received(19, "hello", None));
    let call = rig.call(1);
    rig.ask();
    rig.cut(Link::Chat);
    rig.again();
    shown(&mut rig, "/_get chat @4 after=19", &[]);
    show_all(&mut rig, &[]);
    assert!(rig.events.is_empty());
    rig.later(1_999);
    assert!(rig.asked.is_empty());
    rig.later(1);
    shown(&mut rig, "/_get chat @4 after=19", &[]);
    assert!(matches!(rig.told(), Event::NotSent { why: NotSent::Lost, .. }));
    assert!(matches!(rig.told(), Event::Chat(ChatEvent::NotSent(ended)) if ended == call));
    assert!(rig.asked.iter().all(|asked| !asked.cmd.starts_with("/_send")));
}

#[test]
fn a_conversation_that_the_core_does_not_show_leaves_the_outcome_unknown() {
    let mut rig = Rig::bot();
    rig.event(Link::Chat, &received(30, &command(1), None));
    let token = asked_of(&mut rig).token;
    reply_to(&mut rig, token, 1);
    let call = rig.call(2);
    assert_eq!(rig.asked.len(), 2);
    rig.asked.clear();
    rig.cut(Link::Chat);
    rig.again();
    let asked = rig.expect("/_get chat @4");
    rig.answer(&asked, &refusal("commandError"));
    for _ in 0..2 {
        assert!(matches!(rig.told(), Event::OutcomeUnknown { .. }));
    }
    assert!(!rig.session.cancel(call));
    assert!(rig.asked.iter().all(|asked| !asked.cmd.starts_with("/_send")));
}

#[test]
fn an_answer_that_the_core_does_not_have_is_sent_once_more_in_its_place() {
    let mut rig = Rig::bot();
    let items = [30, 31, 32].map(|id| bare("directRcv", id, &command(1), None));
    rig.event(Link::Chat, &new_items(&items));
    let tokens: Vec<_> = (0..3).map(|_| asked_of(&mut rig).token).collect();
    for token in tokens {
        reply_to(&mut rig, token, 1);
    }
    // The first one was taken, the answer to it is lost; the second one never arrived.
    assert_eq!(rig.asked.len(), 3);
    rig.asked.clear();
    rig.cut(Link::Chat);
    rig.again();
    let own = [bare("directSnd", 33, &result(1), Some(30))];
    shown(&mut rig, "/_get chat @4", &own);
    assert!(matches!(was_sent(&mut rig), (Origin::Answer(..), ItemId(33))));
    // What the core has is not sent again; the rest is, in order, after a second look.
    show_all(&mut rig, &own);
    assert!(rig.asked.is_empty());
    rig.later(2_000);
    show_all(&mut rig, &own);
    let quotes: Vec<_> = rig.asked.iter().map(quote_of).collect();
    assert_eq!(quotes, [Some(ItemId(31)), Some(ItemId(32))]);
}

#[test]
fn answers_given_while_there_is_no_connection_are_sent_once() {
    let mut rig = Rig::bot();
    rig.event(Link::Chat, &received(30, &command(1), None));
    let token = asked_of(&mut rig).token;
    rig.cut(Link::Chat);
    reply_to(&mut rig, token, 1);
    rig.again();
    let sends: Vec<_> =
        rig.asked.iter().filter(|asked| asked.cmd.starts_with("/_send")).map(quote_of).collect();
    assert_eq!(sends, [Some(ItemId(30))]);
}

#[test]
fn commands_that_came_meanwhile_are_read_in_pages_until_there_are_no_more() {
    let config = SessionConfig { page: 10, ..SessionConfig::default() };
    let mut rig = Rig::new(config, vec![Declared::new(Standard::A2A, ["1.0"])]);
    rig.start();
    rig.event(Link::Chat, &received(100, "hello", None));
    rig.cut(Link::Chat);
    rig.again();
    let mut after = 100;
    for count in [10, 10, 3] {
        let items: Vec<String> = (after + 1..=after + count)
            .map(|id| bare("directRcv", id, &command(1), None))
            .collect();
        shown(&mut rig, &format!("/_get chat @4 after={after} count=10"), &items);
        for id in after + 1..=after + count {
            let request = asked_of(&mut rig);
            assert_eq!(request.item, ItemId(id));
            reply_to(&mut rig, request.token, 1);
        }
        let sends: Vec<Asked> =
            rig.asked.iter().filter(|asked| asked.cmd.starts_with("/_send")).cloned().collect();
        rig.asked.retain(|asked| !asked.cmd.starts_with("/_send"));
        for (asked, item) in sends.iter().zip(1_000 + after..) {
            took(&mut rig, asked, item);
        }
        rig.events.clear();
        rig.asked.retain(|asked| !asked.cmd.starts_with("/_send"));
        after += count;
    }
    assert!(rig.asked.is_empty());
}

#[test]
fn a_page_waits_until_the_bot_has_room() {
    let mut config = SessionConfig { page: 10, ..SessionConfig::default() };
    config.chat.max_requests = 15;
    let mut rig = Rig::new(config, vec![Declared::new(Standard::A2A, ["1.0"])]);
    rig.start();
    rig.event(Link::Chat, &received(100, "hello", None));
    rig.cut(Link::Chat);
    rig.again();
    let items: Vec<String> =
        (101..111).map(|id| bare("directRcv", id, &command(1), None)).collect();
    shown(&mut rig, "/_get chat @4 after=100 count=10", &items);
    let mut tokens: Vec<_> = (0..10).map(|_| asked_of(&mut rig).token).collect();
    assert!(rig.asked.is_empty(), "ten are open, and ten more do not fit");
    for _ in 0..4 {
        reply_to(&mut rig, tokens.pop().unwrap(), 1);
    }
    assert!(!rig.asked.iter().any(|asked| asked.cmd.starts_with("/_get chat")));
    reply_to(&mut rig, tokens.pop().unwrap(), 1);
    assert!(rig.asked.iter().any(|asked| asked.cmd.starts_with("/_get chat @4 after=110")));
}

#[test]
fn a_backlog_is_read_as_fast_as_it_is_answered() {
    let config = SessionConfig { page: 10, max_backlog: 15, ..SessionConfig::default() };
    let mut rig = Rig::new(config, vec![Declared::new(Standard::A2A, ["1.0"])]);
    rig.start();
    rig.event(Link::Chat, &received(100, "hello", None));
    rig.cut(Link::Chat);
    rig.again();
    let items: Vec<String> =
        (101..111).map(|id| bare("directRcv", id, &command(1), None)).collect();
    shown(&mut rig, "/_get chat @4 after=100 count=10", &items);
    let mut tokens: Vec<_> = (0..10).map(|_| asked_of(&mut rig).token).collect();
    let reads = |rig: &Rig| rig.asked.iter().any(|asked| asked.cmd.starts_with("/_get chat"));
    for left in (5..10).rev() {
        assert!(!reads(&rig), "{} are open, and ten more are more than fifteen", left + 1);
        reply_to(&mut rig, tokens.pop().unwrap(), 1);
    }
    assert!(reads(&rig));
}

#[test]
fn what_was_seen_is_passed_over() {
    let mut rig = Rig::bot();
    rig.event(Link::Chat, &received(30, &command(1), None));
    let request = asked_of(&mut rig);
    rig.cut(Link::Chat);
    rig.again();
    shown(&mut rig, "/_get chat @4 after=30", &[bare("directRcv", 30, &command(1), None)]);
    assert!(rig.events.is_empty());
    reply_to(&mut rig, request.token, 1);
    assert_eq!(rig.asked.len(), 1);
}

#[test]
fn a_caller_looks_only_where_a_call_is_open() {
    let mut rig = Rig::caller();
    rig.event(Link::Chat, &received(30, "hello", None));
    rig.cut(Link::Chat);
    rig.again();
    assert!(rig.asked.is_empty());
    rig.call(1);
    let asked = rig.expect("/_send");
    took(&mut rig, &asked, 31);
    was_sent(&mut rig);
    rig.cut(Link::Chat);
    rig.again();
    shown(&mut rig, "/_get chat @4 after=30", &[bare("directRcv", 32, &result(1), Some(31))]);
    last_reply(&mut rig);
}

#[test]
fn a_status_that_overtakes_the_answer_is_no_proof_against_it() {
    // The status of the message comes before the answer to the send, then the connection ends.
    let mut rig = Rig::caller();
    rig.event(Link::Chat, &received(19, "hello", None));
    let call = rig.call(1);
    rig.ask();
    let own = bare("directSnd", 20, &command(1), None);
    let status =
        format!(r#"{{"type":"chatItemsStatusesUpdated","chatItems":[{}]}}"#, in_chat(4, &own));
    rig.event(Link::Chat, &status);
    rig.cut(Link::Chat);
    rig.again();
    shown(&mut rig, "/_get chat @4 after=19", &[own]);
    assert_eq!(was_sent(&mut rig), (Origin::Command(call), ItemId(20)));
}

#[test]
fn without_anything_known_the_newest_items_are_looked_at() {
    let mut rig = Rig::caller();
    let call = rig.call(1);
    rig.ask();
    rig.cut(Link::Chat);
    rig.again();
    shown(&mut rig, "/_get chat @4 count=100", &[bare("directSnd", 20, &command(1), None)]);
    assert_eq!(was_sent(&mut rig), (Origin::Command(call), ItemId(20)));
}

#[test]
fn a_core_that_never_answers_is_given_up() {
    let mut rig = Rig::caller();
    rig.call(1);
    rig.ask();
    rig.later(29_999);
    assert!(rig.disconnects.is_empty());
    rig.later(1);
    assert_eq!(rig.disconnects.pop_front(), Some(Link::Chat));
    let Event::Disconnected { why, .. } = rig.told() else { panic!() };
    assert_eq!(why, Disconnect::Stuck);
    rig.again();
    rig.expect("/_get chat @4");
}

#[test]
fn an_attempt_to_connect_has_its_time() {
    let mut rig = Rig::new(SessionConfig::default(), Vec::new());
    // The session does not know the time yet when it begins to connect.
    rig.run();
    rig.connects.clear();
    rig.later(0);
    rig.later(9_999);
    assert!(rig.disconnects.is_empty());
    rig.later(1);
    assert_eq!(rig.disconnects.pop_front(), Some(Link::Chat));
    // It comes about after all: too late.
    rig.input(Input::Connected(Link::Chat));
    assert_eq!(rig.disconnects.pop_front(), Some(Link::Chat));
    assert!(rig.asked.is_empty());
}

#[test]
fn waits_grow_and_a_stable_connection_makes_them_short() {
    let mut rig = Rig::caller();
    let mut waits = Vec::new();
    for _ in 0..20 {
        rig.input(Input::Disconnected(Link::Chat));
        let Event::Disconnected { wait, .. } = rig.told() else { panic!() };
        waits.push(wait);
        rig.wait();
        rig.connects.clear();
        rig.input(Input::Connected(Link::Chat));
        rig.answer_start();
    }
    assert!(waits[0] <= Duration::from_millis(250) && waits[19] >= Duration::from_secs(15));
    rig.later(60_000);
    rig.input(Input::Disconnected(Link::Chat));
    let Event::Disconnected { wait, .. } = rig.told() else { panic!() };
    assert!(wait <= Duration::from_millis(250));
}

#[test]
fn a_bot_looks_through_what_it_knows_from_its_last_run() {
    let config = SessionConfig::default();
    let mut rig = Rig::new(config, vec![Declared::new(Standard::A2A, ["1.0"])]);
    rig.session.watch(Chat::Direct(ContactId(4)), ItemId(500));
    rig.start();
    shown(
        &mut rig,
        "/_get chat @4 after=500 count=100",
        &[bare("directRcv", 501, &command(1), None)],
    );
    assert_eq!(asked_of(&mut rig).item, ItemId(501));
    assert_eq!(rig.session.newest(Chat::Direct(ContactId(4))), Some(ItemId(501)));
}

#[test]
fn replies_that_find_no_room_are_read_again() {
    let mut config = SessionConfig::default();
    config.chat.max_early = 1;
    let mut rig = Rig::new(config, Vec::new());
    rig.start();
    rig.call(1);
    let asked = rig.ask();
    rig.event(Link::Chat, &received(21, "working", Some(20)));
    rig.event(Link::Chat, &received(22, &result(1), Some(20)));
    took(&mut rig, &asked, 20);
    was_sent(&mut rig);
    assert!(matches!(rig.told(), Event::Chat(ChatEvent::Reply(reply)) if !reply.is_end));
    rig.later(1_000);
    shown(&mut rig, "/_get chat @4 after=21", &[bare("directRcv", 22, &result(1), Some(20))]);
    last_reply(&mut rig);
}

#[test]
fn time_that_jumps_is_taken_as_it_comes() {
    let mut rig = Rig::caller();
    rig.call(1);
    let asked = rig.ask();
    // Backwards: nothing happens.
    rig.session.handle_timeout(Instant::ZERO);
    assert!(rig.session.poll_timeout().unwrap() > rig.now);
    took(&mut rig, &asked, 20);
    was_sent(&mut rig);
    // A day forwards: the call is over, and the session goes on.
    rig.later(86_400_000);
    assert!(matches!(rig.told(), Event::Chat(ChatEvent::TimedOut(_))));
    rig.call(2);
    rig.expect("/_send");
}

#[test]
fn a_look_that_a_cut_interrupts_goes_on() {
    let mut rig = Rig::new(SessionConfig::default(), vec![Declared::new(Standard::A2A, ["1.0"])]);
    rig.overview = overview(&[(4, 100), (5, 100)]);
    rig.start();
    rig.cut(Link::Chat);
    rig.overview = overview(&[(4, 102), (5, 101)]);
    rig.again();
    rig.expect("/_get chat @4 after=100");
    rig.cut(Link::Chat);
    rig.again();
    // The second overview has nothing newer than the first one.
    assert_eq!(looked(&mut rig), ["@4 after=100", "@5 after=100"]);
}

/// The conversations that are looked through, and from where.
fn looked(rig: &mut Rig) -> Vec<String> {
    let mut looks = Vec::new();
    while let Some(asked) = rig.asked.pop_front() {
        if let Some(look) = asked.cmd.strip_prefix("/_get chat ") {
            looks.push(look.strip_suffix(" count=100").unwrap().into());
            rig.answer(&asked, &page(&[]));
        }
    }
    looks
}

#[test]
fn a_bot_looks_only_where_something_is_new() {
    let mut rig = Rig::new(SessionConfig::default(), vec![Declared::new(Standard::A2A, ["1.0"])]);
    // What there was before is none of this session's.
    rig.overview = overview(&[(4, 100), (5, 90)]);
    rig.start();
    assert!(looked(&mut rig).is_empty());
    rig.event(Link::Chat, &received(101, "hello", None));
    rig.cut(Link::Chat);
    // One that was seen, one with something new, one that was not there before.
    rig.overview = overview(&[(6, 103), (4, 102), (5, 90)]);
    rig.again();
    assert_eq!(looked(&mut rig), ["@6 after=100", "@4 after=100"]);
    rig.cut(Link::Chat);
    rig.again();
    assert!(looked(&mut rig).is_empty());
}

#[test]
fn an_overview_that_does_not_show_all_leaves_nothing_out() {
    let mut rig = Rig::bot();
    rig.overview = overview(&[]);
    rig.event(Link::Chat, &received(101, "hello", None));
    for (answer, is_looked) in [
        (refusal("commandError"), true),
        (overview(&[]).replace("[]", "[7]"), true),
        (overview(&[]), false),
    ] {
        rig.cut(Link::Chat);
        rig.overview = answer;
        rig.again();
        assert_eq!(looked(&mut rig) == ["@4 after=101"], is_looked);
    }
    // As many as were asked for, the last one with something new: there may be more.
    for (count, is_looked) in [(999, false), (1_000, true)] {
        let chats: Vec<(i64, i64)> = (0..count).map(|n| (1_000 + n, count * 1_000 - n)).collect();
        rig.cut(Link::Chat);
        rig.overview = overview(&chats);
        rig.again();
        assert_eq!(looked(&mut rig).contains(&"@4 after=101".into()), is_looked, "{count}");
    }
}

#[test]
fn what_comes_before_the_conversations_are_known_is_not_taken_for_old() {
    let mut rig = Rig::new(SessionConfig::default(), vec![Declared::new(Standard::A2A, ["1.0"])]);
    rig.run();
    rig.connect();
    for answer in [VERSION, USER, r#"{"type":"chatStarted"}"#] {
        let asked = rig.ask();
        rig.answer(&asked, answer);
    }
    // The connection ends before it is known what there is: nobody has been told to send anything.
    rig.expect("/_get chats");
    rig.cut(Link::Chat);
    rig.overview = overview(&[(4, 100)]);
    let ready = rig.again();
    assert!(!ready.is_again);
    assert!(looked(&mut rig).is_empty());
    // From here on nothing is lost, be it the first one ever of a conversation.
    rig.cut(Link::Chat);
    rig.overview = overview(&[(5, 101), (4, 100)]);
    assert!(rig.again().is_again);
    shown(&mut rig, "/_get chat @5 after=100", &[bare("directRcv", 101, &command(1), None)]);
    assert_eq!(asked_of(&mut rig).item, ItemId(101));
}

/// An answer whose frame was sent when the connection ended, to a command with this member in its
/// `meta`.
fn cut_after_an_answer(rig: &mut Rig, meta: &str) {
    let command =
        received(30, &command(1), None).replace("\"itemId\"", &format!("{meta}\"itemId\""));
    rig.event(Link::Chat, &command);
    let token = asked_of(rig).token;
    reply_to(rig, token, 1);
    rig.expect("/_send");
    rig.cut(Link::Chat);
    rig.again();
}

#[test]
fn an_answer_whose_deletion_is_told_of_was_sent() {
    let mut rig = Rig::bot();
    cut_after_an_answer(&mut rig, "");
    let own = in_chat(4, &bare("directSnd", 33, &result(1), Some(30)));
    rig.event(
        Link::Chat,
        &format!(
            r#"{{"type":"chatItemsDeleted","chatItemDeletions":[{{"deletedChatItem":{own}}}]}}"#
        ),
    );
    assert!(matches!(was_sent(&mut rig), (Origin::Answer(..), ItemId(33))));
    show_all(&mut rig, &[]);
    rig.later(2_000);
    show_all(&mut rig, &[]);
    assert!(rig.asked.is_empty());
}

#[test]
fn an_answer_that_may_have_been_deleted_is_not_sent_again() {
    let at = |millis: u64| Timestamp::from_millis(1_786_807_850_000 + millis);
    // The messages of the conversation are deleted after a minute, or not.
    for (ttl, passed, is_unknown) in [
        ("", 60_000, false),
        (r#""itemTimed":{"ttl":60},"#, 50_000, false),
        (r#""itemTimed":{"ttl":60},"#, 60_000, true),
    ] {
        let mut rig = Rig::bot();
        rig.session.set_clock(rig.now, at(0));
        cut_after_an_answer(&mut rig, ttl);
        rig.session.set_clock(rig.now, at(passed));
        show_all(&mut rig, &[]);
        rig.later(2_000);
        show_all(&mut rig, &[]);
        let is_sent = rig.asked.iter().any(|asked| asked.cmd.starts_with("/_send"));
        assert_eq!(is_sent, !is_unknown, "{ttl} {passed}");
        let told = rig.events.pop_front();
        assert_eq!(matches!(told, Some(Event::OutcomeUnknown { .. })), is_unknown);
    }
    // An own message is there that was deleted, and its text is gone.
    let gone = bare("directSnd", 33, "", Some(30))
        .replace(r#""text":"""#, "")
        .replace(r#""type":"text","#, r#""type":"unknown""#)
        .replace("\"itemId\":33", r#""itemDeleted":{"type":"deleted"},"itemId":33"#);
    let mut rig = Rig::bot();
    cut_after_an_answer(&mut rig, "");
    show_all(&mut rig, core::slice::from_ref(&gone));
    rig.later(2_000);
    show_all(&mut rig, core::slice::from_ref(&gone));
    assert!(rig.asked.is_empty());
    assert!(matches!(rig.told(), Event::OutcomeUnknown { .. }));
}
