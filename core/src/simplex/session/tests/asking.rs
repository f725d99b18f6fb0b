//! What else the application asks the core for, and what the core tells.

use super::super::*;
use super::core_of::*;
use crate::binding::ProtocolName;
use crate::chat::GroupId;
use crate::profile::{Declaration, PeerType, Transports};
use crate::simplex::command::{Command, CommandError, Part};
use crate::simplex::error::CoreErrorKind;
use crate::simplex::frame::Body;
use crate::simplex::profile::SetPeerType;
use std::format;
use std::string::String;

fn done(rig: &mut Rig) -> (CommandId, Outcome) {
    match rig.told() {
        Event::Done { command, outcome } => (command, outcome),
        event => panic!("{event:?}"),
    }
}

#[test]
fn commands_go_out_as_the_grammar_has_them_and_come_back_with_the_answer() {
    let mut rig = Rig::caller();
    let now = rig.now;
    let asked = [
        (rig.session.connect_plan(now, "@acme.simplex"), "/_connect plan 1 @acme.simplex"),
        (rig.session.connect(now, "@acme.simplex", true), "/connect incognito @acme.simplex"),
        (rig.session.create_address(now), "/_address 1 pq_ratchet=on"),
        (rig.session.show_address(now), "/_show_address 1"),
        (rig.session.ask(now, Command::Contacts), "/_contacts 1"),
        (rig.session.ask(now, Command::Groups), "/_groups 1"),
        (rig.session.command(now, &Command::Members(GroupId(2))), "/_members #2"),
        (
            rig.session.command(now, &Command::Raw("/_rotate_address_keys 1")),
            "/_rotate_address_keys 1",
        ),
    ];
    rig.run();
    for (id, text) in asked {
        let command = rig.ask();
        assert_eq!(command.cmd, text);
        rig.answer(&command, r#"{"type":"contactsList","contacts":[]}"#);
        let (told, outcome) = done(&mut rig);
        assert_eq!(told, id.unwrap());
        let Outcome::Response(response) = outcome else { panic!("{outcome:?}") };
        assert!(matches!(response.frame().unwrap().body(), Ok(Body::Contacts(_))));
    }
}

#[test]
fn a_command_is_refused_or_not_sent_or_unknown() {
    let mut rig = Rig::caller();
    let refused = rig.session.show_address(rig.now).unwrap();
    rig.run();
    let asked = rig.ask();
    rig.answer(&asked, &refusal("commandError"));
    let (told, Outcome::Refused(why)) = done(&mut rig) else { panic!() };
    assert_eq!((told, why.kind), (refused, CoreErrorKind::CommandError));

    let unknown = rig.session.show_address(rig.now).unwrap();
    rig.run();
    rig.ask();
    rig.cut(Link::Chat);
    assert_eq!(done(&mut rig), (unknown, Outcome::Unknown));

    let late = rig.session.show_address(rig.now).unwrap();
    rig.later(29_999);
    assert!(!rig.events.iter().any(|event| matches!(event, Event::Done { .. })));
    rig.later(1);
    assert!(rig.events.iter().any(
        |event| matches!(event, Event::Done { command, outcome: Outcome::NotSent } if *command == late)
    ));

    let error = rig.session.connect(rig.now, "a b", false).unwrap_err();
    assert_eq!(
        error,
        AskError::Command(CommandError::NotOneWord { part: Part::Target, offset: 1 })
    );
}

#[test]
fn what_was_asked_for_while_there_was_no_connection_is_sent_in_time() {
    let mut rig = Rig::new(SessionConfig::default(), std::vec::Vec::new());
    let id = rig.session.command(rig.now, &Command::Users).unwrap();
    rig.start();
    let asked = rig.expect("/users");
    rig.answer(&asked, r#"{"type":"usersList","users":[]}"#);
    assert_eq!(done(&mut rig).0, id);
}

fn user(profile: &str) -> String {
    format!(
        r#"{{"type":"activeUser","user":{{"userId":1,"localDisplayName":"bot","profile":{profile}}}}}"#
    )
}

fn mcp() -> Declaration<'static> {
    let name = ProtocolName::new("mcp").unwrap();
    Declaration::new(name, &["2026-07-28"], Transports::new(true, false))
}

#[test]
fn declarations_are_published_in_the_profile_that_there_is() {
    let before =
        r#"{"profileId":1,"displayName":"bot","fullName":"","preferences":{"commands":[]}}"#;
    let after = r#"{"displayName":"bot","fullName":"","preferences":{"commands":[],"protocols":{"mcp":{"versions":["2026-07-28"],"transports":{"chat":true}}}},"peerType":"agent"}"#;
    for (kept, answer) in [
        (true, format!(r#"{{"type":"userProfileUpdated","toProfile":{after}}}"#)),
        (false, format!(r#"{{"type":"userProfileUpdated","toProfile":{before}}}"#)),
        (false, String::from(r#"{"type":"userProfileNoChange"}"#)),
    ] {
        let mut rig = Rig::caller();
        let publication = Publication::profile(SetPeerType::To(PeerType::Agent)).declare(&mcp());
        let id = rig.session.publish(rig.now, publication).unwrap();
        rig.run();
        let asked = rig.expect("/u");
        rig.answer(&asked, &user(before));
        let asked = rig.ask();
        assert_eq!(asked.cmd, format!("/_profile 1 {after}"));
        rig.answer(&asked, &answer);
        assert_eq!(done(&mut rig), (id, Outcome::Published { is_kept: kept }));
    }
}

#[test]
fn an_owner_publishes_in_the_groups_preferences() {
    let mut rig = Rig::caller();
    let id =
        rig.session.publish(rig.now, Publication::in_group(GroupId(2)).declare(&mcp())).unwrap();
    rig.run();
    let asked = rig.expect("/_groups 1");
    let group = |preferences: &str| {
        format!(
            r#"{{"groupId":2,"localDisplayName":"g","groupProfile":{{"displayName":"g"{preferences}}}}}"#
        )
    };
    rig.answer(&asked, &format!(r#"{{"type":"groupsList","groups":[{}]}}"#, group("")));
    let asked = rig.ask();
    let declared = r#","groupPreferences":{"protocols":{"mcp":{"versions":["2026-07-28"],"transports":{"chat":true}}}}"#;
    assert_eq!(asked.cmd, format!(r#"/_group_profile #2 {{"displayName":"g"{declared}}}"#));
    rig.answer(&asked, &format!(r#"{{"type":"groupUpdated","toGroup":{}}}"#, group(declared)));
    assert_eq!(done(&mut rig), (id, Outcome::Published { is_kept: true }));

    rig.session.publish(rig.now, Publication::in_group(GroupId(3)).declare(&mcp())).unwrap();
    rig.run();
    let asked = rig.ask();
    rig.answer(&asked, r#"{"type":"groupsList","groups":[]}"#);
    assert_eq!(done(&mut rig).1, Outcome::NoSuchGroup);
}

#[test]
fn reading_a_profile_is_repeated_and_writing_it_is_not() {
    let mut rig = Rig::caller();
    let id = rig
        .session
        .publish(rig.now, Publication::profile(SetPeerType::Keep).declare(&mcp()))
        .unwrap();
    rig.run();
    rig.expect("/u");
    rig.cut(Link::Chat);
    rig.again();
    let asked = rig.expect("/u");
    rig.answer(&asked, &user(r#"{"displayName":"bot"}"#));
    rig.expect("/_profile");
    rig.cut(Link::Chat);
    assert_eq!(done(&mut rig), (id, Outcome::Unknown));
    rig.again();
    assert!(rig.asked.is_empty());
}

#[test]
fn other_events_are_told_by_their_names() {
    let mut rig = Rig::caller();
    for text in [
        r#"{"type":"contactConnected","contact":{"contactId":3,"localDisplayName":"u"}}"#,
        r#"{"type":"receivedContactRequest","contactRequest":{"contactRequestId":5,"localDisplayName":"a"}}"#,
        r#"{"type":"moonPhaseChanged"}"#,
    ] {
        rig.event(Link::Chat, text);
        let Event::Core(frame) = rig.told() else { panic!() };
        assert!(text.contains(&frame.tag()) && frame.text().contains(text));
    }
    rig.event(Link::Chat, r#"{"type":"chatErrors","chatErrors":[{"type":"errorStore","storeError":{"type":"largeMsg"}}]}"#);
    assert!(matches!(rig.told(), Event::CoreError(error) if error.kind == CoreErrorKind::LargeMsg));
    rig.event(Link::Chat, r#"{"type":"chatCmdError","chatError":{"type":"error","errorType":{"type":"commandError"}}}"#);
    assert!(
        matches!(rig.told(), Event::CoreError(error) if error.kind == CoreErrorKind::CommandError)
    );
}

#[test]
fn sixteen_unreadable_frames_in_a_row_are_too_many() {
    for (count, is_given_up) in [(15, false), (16, true)] {
        let mut rig = Rig::caller();
        for _ in 0..count {
            rig.input(Input::Frame(Link::Chat, "garbage"));
        }
        assert_eq!(!rig.disconnects.is_empty(), is_given_up);
    }
    let mut rig = Rig::caller();
    for _ in 0..40 {
        rig.input(Input::Unreadable(Link::Chat, 7));
        rig.event(Link::Chat, r#"{"type":"cmdOk"}"#);
    }
    assert!(rig.disconnects.is_empty());
    assert!(rig.events.iter().all(|event| matches!(event, Event::Garbage { .. })));
    assert_eq!(rig.events.len(), 40);
}

#[test]
fn frames_are_refused_while_outputs_are_not_taken() {
    for (waiting, is_taken) in [(1, true), (2, true), (3, false)] {
        let config = SessionConfig { max_outputs: 3, ..SessionConfig::default() };
        let mut rig = Rig::new(config, std::vec::Vec::new());
        rig.start();
        let frame = r#"{"resp":{"type":"moonPhaseChanged"}}"#;
        for _ in 0..waiting {
            rig.session.handle_input(rig.now, Input::Frame(Link::Chat, frame)).unwrap();
        }
        let result = rig.session.handle_input(rig.now, Input::Frame(Link::Chat, frame));
        assert_eq!(result, if is_taken { Ok(()) } else { Err(OutputsFull { capacity: 3 }) });
    }
}

#[test]
fn debug_shows_no_text() {
    let mut rig = Rig::caller();
    rig.call(1);
    let shown = format!("{:?} {:?}", rig.session, Input::Frame(Link::Chat, "hunter2"));
    assert!(!shown.contains("GetTask") && !shown.contains("hunter2"), "{shown}");
}
