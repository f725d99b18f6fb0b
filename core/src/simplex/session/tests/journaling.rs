//! Restarts: what an earlier process has done is known to the next one.

use super::super::*;
use super::calling::{asked_of, reply_to, took, was_sent};
use super::core_of::*;
use crate::binding::Standard;
use crate::chat::session::Event as ChatEvent;
use crate::chat::{CallKey, ContactId, ItemId};
use crate::simplex::journal::disk::Disk;
use crate::simplex::journal::{Change, JournalConfig, Silence, Stage};
use crate::time::Timestamp;
use std::string::String;
use std::vec;
use std::vec::Vec;

/// Two seconds after the items of the scripted core.
fn now() -> Timestamp {
    Timestamp::parse("2026-08-15T15:30:50Z").unwrap()
}

/// A bot in its next life, whose core is started. It says itself when it begins a command.
fn life_at(disk: Disk, now: Timestamp, is_idempotent: bool) -> Rig {
    let config = SessionConfig { says_begin: true, is_idempotent, ..SessionConfig::default() };
    let mut rig = Rig::new(config, vec![Declared::new(Standard::A2A, ["1.0"])]);
    rig.session.set_clock(rig.now, now);
    rig.session.keep_journal(disk.restore(JournalConfig::default()));
    rig.disk = disk;
    rig.start();
    rig
}

fn life(disk: Disk) -> Rig {
    life_at(disk, now(), false)
}

fn key(id: i64) -> CallKey {
    CallKey::new(Chat::Direct(ContactId(4)), ItemId(id))
}

/// The pages that the session asks for, all of which show what there is.
fn show(rig: &mut Rig, items: &[String]) {
    while let Some(place) = rig.asked.iter().position(|asked| asked.cmd.starts_with("/_get chat")) {
        let asked = rig.asked.remove(place).unwrap();
        rig.answer(&asked, &page(items));
    }
}

fn send(rig: &mut Rig) -> Asked {
    let place = rig.asked.iter().position(|asked| asked.cmd.starts_with("/_send"));
    rig.asked.remove(place.expect("something is sent")).unwrap()
}

fn sends(rig: &Rig) -> usize {
    rig.asked.iter().filter(|asked| asked.cmd.starts_with("/_send")).count()
}

fn reason(asked: &Asked) -> String {
    let text = text_of(asked);
    let reason = text.split("\"reason\":\"").nth(1).unwrap_or_default();
    reason.split('"').next().unwrap().into()
}

#[test]
fn what_a_command_leads_to_is_kept_before_the_application_learns_of_it() {
    let mut rig = life(Disk::default());
    let frame = std::format!(r#"{{"resp":{}}}"#, received(30, &command(1), None));
    rig.session.handle_input(rig.now, Input::Frame(Link::Chat, &frame)).unwrap();
    let Output::Save(changes) = rig.session.poll_output() else { panic!() };
    assert!(matches!(&changes[..], [Change::Put(record)] if record.key == key(30)));
    let Output::Event(Event::Chat(ChatEvent::Request(request))) = rig.session.poll_output() else {
        panic!()
    };
    assert!(rig.session.begin(key(30)) && rig.session.take_changes().len() == 1);
    // The answer is kept before it is sent.
    rig.session.respond(rig.now, request.token, &result(1)).unwrap();
    let Output::Save(changes) = rig.session.poll_output() else { panic!() };
    assert!(matches!(&changes[..], [Change::Finished { .. }]));
    assert!(matches!(rig.session.poll_output(), Output::Transmit(_)));
}

#[test]
fn by_default_a_command_counts_as_begun_once_the_application_knows_it() {
    let mut rig = Rig::bot();
    rig.session.keep_journal(Disk::default().restore(JournalConfig::default()));
    rig.event(Link::Chat, &received(30, &command(1), None));
    let _ = asked_of(&mut rig);
    assert_eq!(rig.disk.records[&key(30)].stage, Stage::Started { times: 1 });
}

/// Runs a command of one life up to a step, and gives what is left of it.
fn killed_after(step: &str) -> Disk {
    let mut rig = life(Disk::default());
    rig.event(Link::Chat, &received(30, &command(1), None));
    let request = asked_of(&mut rig);
    if step != "accepted" {
        assert!(rig.session.begin(key(30)));
        rig.run();
        if step != "begun" {
            reply_to(&mut rig, request.token, 1);
            let asked = send(&mut rig);
            if step != "answered" {
                took(&mut rig, &asked, 31);
            }
        }
    }
    rig.disk
}

#[test]
fn killed_before_it_was_begun_a_command_is_run_though_nobody_tells_of_it_again() {
    let mut rig = life(killed_after("accepted"));
    let request = asked_of(&mut rig);
    assert_eq!((request.item, request.text.as_str()), (ItemId(30), &*super::core_of::request(1)));
    // The core tells of it too.
    rig.event(Link::Chat, &received(30, &command(1), None));
    show(&mut rig, &[bare("directRcv", 30, &command(1), None)]);
    assert!(rig.session.begin(key(30)));
    reply_to(&mut rig, request.token, 1);
    let asked = send(&mut rig);
    took(&mut rig, &asked, 31);
    assert_eq!((sends(&rig), rig.session.is_idle()), (0, true));
}

#[test]
fn killed_while_it_ran_a_command_has_an_unknown_outcome_and_is_not_run_again() {
    let mut rig = life(killed_after("begun"));
    show(&mut rig, &[bare("directRcv", 30, &command(1), None)]);
    let asked = send(&mut rig);
    assert_eq!((reason(&asked).as_str(), quote_of(&asked)), ("OUTCOME_UNKNOWN", Some(ItemId(30))));
    assert!(text_of(&asked).contains("-32603"));
    let told = rig.told();
    let Event::Chat(ChatEvent::Refused { reason, .. }) = told else { panic!("{told:?}") };
    assert_eq!(reason, "outcome_unknown");
    took(&mut rig, &asked, 31);
    was_sent(&mut rig);
    // In the life after that it is history.
    let mut rig = life(rig.disk);
    rig.event(Link::Chat, &received(30, &command(1), None));
    let told = rig.told();
    assert!(matches!(told, Event::Repeated { silence: Some(Silence::Answered), .. }), "{told:?}");
    assert_eq!(sends(&rig), 0);
}

#[test]
fn an_idempotent_command_is_run_again() {
    let mut rig = life_at(killed_after("begun"), now(), true);
    assert_eq!(asked_of(&mut rig).item, ItemId(30));
    assert!(rig.session.begin(key(30)));
    rig.run();
    assert_eq!(rig.disk.records[&key(30)].stage, Stage::Started { times: 2 });
}

#[test]
fn killed_before_the_core_confirmed_an_answer_that_the_core_has_is_not_sent_again() {
    let mut rig = life(killed_after("answered"));
    let own = bare("directSnd", 31, &result(1), Some(30));
    show(&mut rig, &[bare("directRcv", 30, &command(1), None), own]);
    let sent = |event: &Told| matches!(event, Event::Sent { origin: Origin::Stored, .. });
    assert!(rig.events.iter().any(sent));
    assert_eq!(rig.disk.records[&key(30)].stage, Stage::Confirmed);
    rig.later(10_000);
    assert_eq!(sends(&rig), 0);
}

/// The core is asked twice whether it has a message, and does not have it.
fn show_nothing(rig: &mut Rig) {
    show(rig, &[]);
    assert_eq!(sends(rig), 0);
    rig.later(2_000);
    show(rig, &[]);
}

#[test]
fn killed_before_the_core_confirmed_the_stored_answer_is_sent() {
    let mut rig = life(killed_after("answered"));
    show_nothing(&mut rig);
    let asked = send(&mut rig);
    assert_eq!((text_of(&asked), quote_of(&asked)), (result(1), Some(ItemId(30))));
    rig.events.clear();
    took(&mut rig, &asked, 31);
    assert_eq!(was_sent(&mut rig), (Origin::Stored, ItemId(31)));
    assert_eq!(rig.disk.records[&key(30)].stage, Stage::Confirmed);
    rig.event(Link::Chat, &received(30, &command(1), None));
    assert_eq!((sends(&rig), rig.events.len()), (0, 0));
}

#[test]
fn killed_after_the_core_confirmed_there_is_silence() {
    let mut rig = life(killed_after("confirmed"));
    show(&mut rig, &[bare("directRcv", 30, &command(1), None)]);
    rig.event(Link::Chat, &received(30, &command(1), None));
    assert_eq!(sends(&rig), 0);
    assert!(rig.events.iter().all(|event| matches!(event, Event::Repeated { .. })));
}

#[test]
fn a_stored_answer_that_the_core_refuses_stays_for_another_life() {
    let mut rig = life(killed_after("answered"));
    show_nothing(&mut rig);
    let asked = send(&mut rig);
    rig.answer(&asked, &refusal("exception"));
    let mut rig = life(rig.disk);
    show_nothing(&mut rig);
    assert_eq!(text_of(&send(&mut rig)), result(1));
}

#[test]
fn a_command_that_was_refused_is_refused_once() {
    let mut rig = life(Disk::default());
    let broken = "/_call a2a {\"jsonrpc\":\"2.0\",\"id\":1}";
    rig.event(Link::Chat, &received(30, broken, None));
    let asked = send(&mut rig);
    took(&mut rig, &asked, 31);
    let mut rig = life(rig.disk);
    rig.event(Link::Chat, &received(30, broken, None));
    show(&mut rig, &[bare("directRcv", 30, broken, None)]);
    assert_eq!(sends(&rig), 0);
}

#[test]
fn a_bot_that_slept_for_days_answers_old_commands_as_expired_and_runs_new_ones() {
    let days = now().saturating_add(Duration::from_secs(3 * 86_400));
    let mut rig = life_at(killed_after("accepted"), days, true);
    show(&mut rig, &[]);
    let asked = send(&mut rig);
    assert_eq!(reason(&asked), "EXPIRED");
    took(&mut rig, &asked, 40);
    rig.events.clear();
    rig.event(Link::Chat, &received(41, &command(2), None));
    let asked = send(&mut rig);
    assert_eq!(reason(&asked), "EXPIRED");
    took(&mut rig, &asked, 42);
    rig.events.clear();
    let new = received(43, &command(3), None).replace("08-15T15:30:48", "08-18T15:30:48");
    rig.event(Link::Chat, &new);
    assert_eq!(asked_of(&mut rig).item, ItemId(43));
    // Time goes on in the session too.
    rig.later(3_600_000);
    rig.events.clear();
    let new = received(50, &command(4), None).replace("08-15T15:30:48", "08-18T15:30:48");
    rig.event(Link::Chat, &new);
    assert!(
        rig.events.iter().any(|event| matches!(
            event,
            Event::Chat(ChatEvent::Refused { reason: "expired", .. })
        ))
    );
}

#[test]
fn a_session_that_knows_no_time_of_day_runs_commands_of_any_age() {
    let mut rig = Rig::bot();
    let old = received(30, &command(1), None).replace("2026", "1996");
    rig.event(Link::Chat, &old);
    assert_eq!(asked_of(&mut rig).item, ItemId(30));
}

#[test]
fn the_last_hundred_items_told_again_after_a_reconnect_and_a_restart_run_once_each() {
    let mut rig = life(Disk::default());
    let ids: Vec<i64> = (100..200).collect();
    let items: Vec<String> =
        ids.iter().map(|&id| bare("directRcv", id, &command(1), None)).collect();
    rig.event(Link::Chat, &new_items(&items));
    let requests: Vec<_> = ids.iter().map(|_| asked_of(&mut rig)).collect();
    let mut answered = 0;
    for request in requests {
        assert!(rig.session.begin(CallKey::new(request.chat, request.item)));
        reply_to(&mut rig, request.token, 1);
        answered += 1;
        // The connection breaks in the middle.
        if answered == 50 {
            for item in 1_000..1_050 {
                let asked = send(&mut rig);
                took(&mut rig, &asked, item);
            }
            rig.events.clear();
            rig.cut(Link::Chat);
            rig.again();
            show(&mut rig, &items);
            rig.event(Link::Chat, &new_items(&items));
        }
    }
    for item in 1_050..1_100 {
        let asked = send(&mut rig);
        took(&mut rig, &asked, item);
    }
    let is_request = |event: &Told| matches!(event, Event::Chat(ChatEvent::Request(_)));
    assert!(!rig.events.iter().any(is_request));
    let mut rig = life(rig.disk);
    show(&mut rig, &items);
    rig.event(Link::Chat, &new_items(&items));
    assert_eq!(sends(&rig), 0);
    assert!(!rig.events.iter().any(is_request));
    assert_eq!(rig.events.len(), 100, "each was told as a repetition");
}

#[test]
fn what_came_while_the_bot_was_down_is_read_in_pages() {
    let mut rig = life(killed_after("confirmed"));
    let mut handled = Vec::new();
    let mut next = 40;
    for _ in 0..8 {
        let Some(asked) = rig.asked.pop_front() else { break };
        assert!(asked.cmd.starts_with("/_get chat @4 after="), "{}", asked.cmd);
        let after: i64 = asked.cmd.split(['=', ' ']).nth(4).unwrap().parse().unwrap();
        assert!(after < next);
        let until = (next + 100).min(540);
        let items: Vec<String> =
            (next..until).map(|id| bare("directRcv", id, &command(1), None)).collect();
        next = until;
        rig.answer(&asked, &page(&items));
        while let Some(event) = rig.events.pop_front() {
            let Event::Chat(ChatEvent::Request(request)) = event else { continue };
            handled.push(request.item.0);
        }
    }
    assert_eq!(handled, (40..540).collect::<Vec<i64>>());
    assert_eq!(rig.disk.records.len(), 501);
}
