//! The start: what is asked for in which order, and what the core can make of it.

use super::super::*;
use super::core_of::*;
use crate::binding::Standard;
use crate::simplex::CoreVersion;
use std::vec;
use std::vec::Vec;

fn wanting_requests() -> Rig {
    let config = SessionConfig { service_requests: true, ..SessionConfig::default() };
    Rig::new(config, vec![Declared::new(Standard::A2A, ["1.0"])])
}

/// Answers up to `/_start`, and gives that.
fn up_to_start(rig: &mut Rig) -> Asked {
    rig.run();
    rig.connect();
    let asked = rig.expect("/v");
    rig.answer(&asked, VERSION);
    let asked = rig.expect("/u");
    rig.answer(&asked, USER);
    rig.ask()
}

fn ready(rig: &mut Rig) -> Ready {
    rig.answer_overview();
    match rig.told() {
        Event::Ready(ready) => ready,
        event => panic!("{event:?}"),
    }
}

#[test]
fn a_fresh_core_is_started_with_service_requests() {
    let mut rig = wanting_requests();
    let asked = up_to_start(&mut rig);
    assert_eq!(asked.cmd, "/_start main=on service_requests=on");
    assert!(rig.events.is_empty(), "nothing is ready before the core has answered");
    rig.answer(&asked, r#"{"type":"chatStarted"}"#);
    assert!(rig.events.is_empty(), "nor before it knows which conversations there are");
    let asked = rig.expect("/_get chats 1 pcc=off count=1000");
    rig.answer(&asked, &overview(&[]));
    let ready = ready(&mut rig);
    assert_eq!(ready.service_requests, ServiceRequests::On);
    assert_eq!((ready.user, ready.name.as_str()), (UserId(1), "bot"));
    assert_eq!(ready.version, Some(CoreVersion::new(7, 0, 0, 4)));
    assert!(!ready.is_again);
    assert_eq!(rig.until, None);
}

#[test]
fn a_running_core_is_stopped_and_started() {
    let mut rig = wanting_requests();
    let asked = up_to_start(&mut rig);
    rig.answer(&asked, r#"{"type":"chatRunning"}"#);
    let asked = rig.expect("/_stop");
    rig.answer(&asked, r#"{"type":"chatStopped"}"#);
    let asked = rig.ask();
    assert_eq!(asked.cmd, "/_start main=on service_requests=on");
    rig.answer(&asked, r#"{"type":"chatStarted"}"#);
    assert_eq!(ready(&mut rig).service_requests, ServiceRequests::On);
}

#[test]
fn a_core_that_cannot_let_requests_in_says_so() {
    // It runs again before it could be started.
    let mut rig = wanting_requests();
    let asked = up_to_start(&mut rig);
    rig.answer(&asked, r#"{"type":"chatRunning"}"#);
    let asked = rig.expect("/_stop");
    rig.answer(&asked, r#"{"type":"chatStopped"}"#);
    let asked = rig.ask();
    rig.answer(&asked, r#"{"type":"chatRunning"}"#);
    assert_eq!(ready(&mut rig).service_requests, ServiceRequests::Off(WhyOff::StillRunning));

    // It cannot be stopped.
    let mut rig = wanting_requests();
    let asked = up_to_start(&mut rig);
    rig.answer(&asked, r#"{"type":"chatRunning"}"#);
    let asked = rig.expect("/_stop");
    rig.answer(&asked, &refusal("internalError"));
    assert_eq!(ready(&mut rig).service_requests, ServiceRequests::Off(WhyOff::CannotStop));

    // It does not know the option: it is started without.
    let mut rig = wanting_requests();
    let asked = up_to_start(&mut rig);
    rig.answer(&asked, &refusal("commandError"));
    let asked = rig.ask();
    assert_eq!(asked.cmd, "/_start main=on");
    rig.answer(&asked, r#"{"type":"chatStarted"}"#);
    assert_eq!(ready(&mut rig).service_requests, ServiceRequests::Off(WhyOff::NotKnown));
}

#[test]
fn who_wants_no_requests_leaves_a_running_core_as_it_is() {
    let mut rig = Rig::new(SessionConfig::default(), Vec::new());
    let asked = up_to_start(&mut rig);
    assert_eq!(asked.cmd, "/_start main=on");
    rig.answer(&asked, r#"{"type":"chatRunning"}"#);
    assert_eq!(ready(&mut rig).service_requests, ServiceRequests::NotWanted);
    assert!(rig.asked.is_empty());
}

#[test]
fn the_wanted_user_is_made_the_active_one() {
    let config = SessionConfig { user: Some(UserId(2)), ..SessionConfig::default() };
    let second = r#"{"type":"activeUser","user":{"userId":2,"localDisplayName":"second"}}"#;
    let mut rig = Rig::new(config, Vec::new());
    let asked = up_to_start(&mut rig);
    assert_eq!(asked.cmd, "/_user 2");
    rig.answer(&asked, second);
    let asked = rig.expect("/_start main=on");
    rig.answer(&asked, r#"{"type":"chatStarted"}"#);
    assert_eq!(ready(&mut rig).user, UserId(2));

    for answer in [USER, &refusal("userUnknown")] {
        let mut rig = Rig::new(config, Vec::new());
        let asked = up_to_start(&mut rig);
        rig.answer(&asked, answer);
        let Event::NotReady(StartError::WrongUser { wanted, .. }) = rig.told() else { panic!() };
        assert_eq!(wanted, UserId(2));
        assert_eq!(rig.disconnects.pop_front(), Some(Link::Chat));
    }
}

#[test]
fn a_core_that_cannot_be_used_is_tried_again() {
    let old = r#"{"type":"versionInfo","versionInfo":{"version":"6.4.9.9"}}"#;
    let mut rig = Rig::new(SessionConfig::default(), Vec::new());
    rig.run();
    rig.connect();
    let asked = rig.expect("/v");
    rig.answer(&asked, old);
    let told = rig.told();
    assert!(matches!(told, Event::NotReady(StartError::TooOld(_))), "{told:?}");
    let Event::Disconnected { why, .. } = rig.told() else { panic!() };
    assert_eq!(why, Disconnect::NotReady);
    assert_eq!(rig.disconnects.pop_front(), Some(Link::Chat));
    rig.wait();
    rig.connect();
    rig.answer_start();
}

#[test]
fn a_step_that_is_refused_or_answered_otherwise_is_named() {
    for (answers, command, is_refused) in [
        (&[VERSION, r#"{"type":"cmdOk"}"#][..], "/u", false),
        (&[VERSION, &refusal("exception")], "/u", true),
        (&[VERSION, USER, r#"{"type":"cmdOk"}"#], "/_start", false),
        (&[VERSION, USER, &refusal("exception")], "/_start", true),
    ] {
        let mut rig = Rig::new(SessionConfig::default(), Vec::new());
        rig.run();
        rig.connect();
        for answer in answers {
            let asked = rig.ask();
            rig.answer(&asked, answer);
        }
        match rig.told() {
            Event::NotReady(StartError::Refused { command: told, .. }) => {
                assert_eq!((told, true), (command, is_refused));
            }
            Event::NotReady(StartError::Unexpected { command: told }) => {
                assert_eq!((told, false), (command, is_refused));
            }
            event => panic!("{event:?}"),
        }
    }
    let mut rig = Rig::new(SessionConfig::default(), Vec::new());
    rig.run();
    rig.connect();
    let asked = rig.expect("/v");
    rig.answer(&asked, VERSION);
    let asked = rig.expect("/u");
    rig.answer(&asked, &refusal("noActiveUser"));
    assert!(matches!(rig.told(), Event::NotReady(StartError::NoUser)));
}

#[test]
fn a_core_that_says_no_version_is_taken_as_it_is() {
    for answer in
        [&refusal("commandError"), r#"{"type":"versionInfo","versionInfo":{"version":"x"}}"#]
    {
        let mut rig = Rig::new(SessionConfig::default(), Vec::new());
        rig.run();
        rig.connect();
        let asked = rig.expect("/v");
        rig.answer(&asked, answer);
        let asked = rig.expect("/u");
        rig.answer(&asked, USER);
        let asked = rig.expect("/_start");
        rig.answer(&asked, r#"{"type":"chatStarted"}"#);
        assert_eq!(ready(&mut rig).version, None);
    }
}

#[test]
fn nothing_is_sent_before_the_core_is_started() {
    let mut rig = Rig::new(SessionConfig::default(), Vec::new());
    rig.call(1);
    rig.connect();
    for answer in [VERSION, USER] {
        let asked = rig.ask();
        assert!(rig.asked.is_empty(), "one step at a time");
        rig.answer(&asked, answer);
    }
    let asked = rig.expect("/_start");
    rig.answer(&asked, r#"{"type":"chatStarted"}"#);
    rig.expect("/_send @4 json");
}

#[test]
fn a_start_that_a_cut_interrupts_begins_anew() {
    for answered in 0..3 {
        let mut rig = wanting_requests();
        rig.run();
        rig.connect();
        for answer in [VERSION, USER].iter().take(answered) {
            let asked = rig.ask();
            rig.answer(&asked, answer);
        }
        rig.cut(Link::Chat);
        rig.asked.clear();
        let ready = rig.again();
        assert!(!ready.is_again);
    }
}
