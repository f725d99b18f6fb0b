//! Service RPC over its own connection.

use super::super::*;
use super::core_of::*;
use crate::binding::{Failure, Standard};
use crate::rpc::session::{IncomingRequest, ServiceReply};
use crate::rpc::{CoreFailure, ServiceCall, ServiceCallError, ServiceCallId};
use std::format;
use std::string::String;
use std::vec::Vec;

fn message(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"SendMessage","params":{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[]}}}},"a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
    )
}

fn ask(rig: &mut Rig, id: u32) -> ServiceCallId {
    let text = message(id);
    let call = ServiceCall::new(Standard::A2A, &text);
    let id = rig.session.request(rig.now, ServiceTarget::new("@acme.simplex"), &call).unwrap();
    rig.run();
    id
}

fn connect(rig: &mut Rig) {
    assert_eq!(rig.connects.pop_front(), Some(Link::Service));
    rig.input(Input::Connected(Link::Service));
}

fn reply(rig: &mut Rig) -> ServiceReply {
    match rig.told() {
        Event::Service(ServiceEvent::Reply(reply)) => reply,
        event => panic!("{event:?}"),
    }
}

fn answer_of(id: u32) -> String {
    format!(r#"{{"response":{}}}"#, result(id))
}

fn service_request(id: &str) -> String {
    format!(
        r#"{{"type":"serviceRequest","requestId":"{id}","requestData":{{"protocol":"a2a","request":{}}}}}"#,
        message(1)
    )
}

fn asked_of(rig: &mut Rig) -> IncomingRequest<Standard> {
    match rig.told() {
        Event::Service(ServiceEvent::Request(request)) => request,
        event => panic!("{event:?}"),
    }
}

fn service_error(name: &str) -> String {
    format!(
        r#"{{"type":"chatCmdError","chatError":{{"type":"errorAgent","agentError":{{"type":"AGENT","agentErr":{{"type":"A_SERVICE","serviceError":{{"type":"{name}"}}}}}}}}}}"#
    )
}

#[test]
fn a_request_has_a_connection_of_its_own_and_holds_it() {
    let mut rig = Rig::caller();
    assert!(rig.connects.is_empty(), "nobody needs it yet");
    let first = ask(&mut rig, 1);
    let second = ask(&mut rig, 2);
    connect(&mut rig);
    let asked = rig.expect("/_service_request 1 @acme.simplex timeout=30 {\"protocol\":\"a2a\"");
    assert_eq!(asked.link, Link::Service);
    assert!(rig.asked.is_empty(), "the second one waits for the first one's response");
    // Conversations go on meanwhile.
    rig.call(3);
    assert_eq!(rig.expect("/_send").link, Link::Chat);
    rig.answer(&asked, &format!(r#"{{"type":"serviceResponse","responseData":{}}}"#, answer_of(1)));
    let told = reply(&mut rig);
    assert_eq!((told.call, told.executed), (first, Executed::Yes));
    let asked = rig.expect("/_service_request");
    rig.answer(&asked, &service_error("timeout"));
    let told = reply(&mut rig);
    assert_eq!((told.call, told.executed), (second, Executed::Unknown));
    assert_eq!(told.kind, ServiceReplyKind::Core(CoreFailure::Timeout));
}

#[test]
fn a_key_signs_and_is_not_shown() {
    let mut rig = Rig::caller();
    let text = message(1);
    let target = ServiceTarget::from("@acme.simplex").signed_with("MC4CAQhunter2");
    let shown = format!("{target:?}");
    rig.session.request(rig.now, target, &ServiceCall::new(Standard::A2A, &text)).unwrap();
    rig.run();
    connect(&mut rig);
    rig.expect("/_service_request 1 @acme.simplex timeout=30 sign_key=MC4CAQhunter2 {");
    assert!(!shown.contains("hunter2"));
}

#[test]
fn a_request_that_a_cut_interrupts_is_not_repeated() {
    let mut rig = Rig::caller();
    let call = ask(&mut rig, 1);
    connect(&mut rig);
    rig.expect("/_service_request");
    rig.cut(Link::Service);
    let told = reply(&mut rig);
    assert_eq!((told.call, told.executed), (call, Executed::Unknown));
    // Nothing more is to be sent, so nobody connects.
    rig.later(100_000);
    assert!(rig.connects.is_empty() && rig.asked.is_empty());
    // The next one connects again.
    ask(&mut rig, 2);
    connect(&mut rig);
    rig.expect("/_service_request");
}

#[test]
fn a_request_whose_time_is_over_in_the_queue_was_not_executed() {
    let mut rig = Rig::caller();
    let first = ask(&mut rig, 1);
    let second = ask(&mut rig, 2);
    connect(&mut rig);
    rig.expect("/_service_request");
    rig.later(40_000);
    let ends: Vec<_> =
        [reply(&mut rig), reply(&mut rig)].map(|told| (told.call, told.executed)).into();
    assert!(ends.contains(&(first, Executed::Unknown)));
    assert!(ends.contains(&(second, Executed::No)));
    assert!(rig.asked.is_empty());
}

#[test]
fn a_core_that_never_responds_is_a_connection_that_has_ended() {
    let mut rig = Rig::caller();
    ask(&mut rig, 1);
    connect(&mut rig);
    rig.expect("/_service_request");
    rig.later(59_999);
    assert!(rig.disconnects.is_empty());
    rig.later(1);
    assert_eq!(rig.disconnects.pop_front(), Some(Link::Service));
}

#[test]
fn a_cancelled_request_is_not_sent_any_more() {
    let mut rig = Rig::caller();
    ask(&mut rig, 1);
    let second = ask(&mut rig, 2);
    connect(&mut rig);
    let asked = rig.expect("/_service_request");
    assert!(rig.session.cancel_request(second) && !rig.session.cancel_request(second));
    rig.answer(&asked, &service_error("notDRAddress"));
    assert_eq!(reply(&mut rig).executed, Executed::No);
    assert!(rig.asked.is_empty());
}

#[test]
fn the_queue_has_room_for_so_many_requests() {
    for (count, fits) in [(2, true), (3, true), (4, false)] {
        let config = SessionConfig { max_queued: 3, ..SessionConfig::default() };
        let mut rig = Rig::new(config, Vec::new());
        for id in 1..count {
            ask(&mut rig, id);
        }
        let text = message(9);
        let call = ServiceCall::new(Standard::A2A, &text);
        match rig.session.request(rig.now, "@acme.simplex".into(), &call) {
            Ok(_) => assert!(fits),
            Err(error) => {
                assert_eq!((error, fits), (ServiceCallError::Full { capacity: 3 }, false));
            }
        }
    }
}

#[test]
fn a_request_of_somebody_is_answered_on_the_connection_that_does_not_block() {
    let mut rig = Rig::bot();
    rig.event(Link::Chat, &service_request("cmVx"));
    let request = asked_of(&mut rig);
    rig.session.respond_service(rig.now, &request.request_id, &result(1)).unwrap();
    rig.run();
    let asked = rig.expect("/_service_response 1 cmVx {\"response\":");
    assert_eq!(asked.link, Link::Chat);
    rig.answer(&asked, r#"{"type":"serviceReplyAccepted","connectionId":"c2Vzc2lvbg=="}"#);
    assert!(matches!(rig.told(), Event::ResponseSent(id) if id == request.request_id));
    rig.event(Link::Chat, r#"{"type":"serviceReplySent","connectionId":"c2Vzc2lvbg=="}"#);
    assert!(rig.events.is_empty());
    assert!(rig.session.is_idle());
}

#[test]
fn two_agents_that_call_each_other_do_not_wait_for_each_other() {
    let mut rig = Rig::bot();
    ask(&mut rig, 1);
    connect(&mut rig);
    let blocked = rig.expect("/_service_request");
    // While the own request blocks, the other one's is answered, told on whichever connection.
    rig.event(Link::Service, &service_request("cmVx"));
    let request = asked_of(&mut rig);
    rig.session.fail_service(rig.now, &request.request_id, &Failure::Internal).unwrap();
    rig.run();
    let asked = rig.expect("/_service_response");
    rig.answer(&asked, r#"{"type":"serviceReplyAccepted","connectionId":"c2Vzc2lvbg=="}"#);
    rig.told();
    rig.answer(
        &blocked,
        &format!(r#"{{"type":"serviceResponse","responseData":{}}}"#, answer_of(1)),
    );
    assert_eq!(reply(&mut rig).executed, Executed::Yes);
}

#[test]
fn a_response_survives_a_cut_and_is_taken_once() {
    for (answer, is_taken) in [
        (r#"{"type":"serviceReplyAccepted","connectionId":"c2Vzc2lvbg=="}"#, true),
        (&service_error("noPendingRequest"), true),
        (&service_error("timeout"), false),
    ] {
        let mut rig = Rig::bot();
        rig.event(Link::Chat, &service_request("cmVx"));
        let request = asked_of(&mut rig);
        rig.session.respond_service(rig.now, &request.request_id, &result(1)).unwrap();
        rig.run();
        rig.expect("/_service_response");
        rig.cut(Link::Chat);
        rig.again();
        let asked = rig.expect("/_service_response 1 cmVx");
        rig.answer(&asked, answer);
        match rig.told() {
            Event::ResponseSent(_) => assert!(is_taken),
            Event::ResponseNotSent { .. } => assert!(!is_taken),
            event => panic!("{event:?}"),
        }
        assert!(rig.asked.is_empty());
    }
    // One that was never sent before is not taken for taken.
    let mut rig = Rig::bot();
    rig.event(Link::Chat, &service_request("cmVx"));
    let request = asked_of(&mut rig);
    rig.session.respond_service(rig.now, &request.request_id, &result(1)).unwrap();
    rig.run();
    let asked = rig.expect("/_service_response");
    rig.answer(&asked, &service_error("noPendingRequest"));
    assert!(matches!(rig.told(), Event::ResponseNotSent { .. }));
}

#[test]
fn errors_for_what_floods_are_left_out_in_the_end() {
    let mut config = SessionConfig { service_requests: true, max_queued: 2, ..Default::default() };
    (config.chat.max_requests, config.service.max_requests) = (1, 1);
    config.max_in_flight = 1;
    let mut rig = Rig::new(config, Vec::new());
    rig.start();
    let bad = |id: usize| {
        format!(r#"{{"type":"serviceRequest","requestId":"bad{id}","requestData":{{}}}}"#)
    };
    // One is being sent, four wait: there is no room for more.
    for id in 0..5 {
        rig.event(Link::Chat, &bad(id));
        assert!(matches!(rig.told(), Event::Service(ServiceEvent::Refused { .. })));
        assert!(rig.events.is_empty());
    }
    rig.event(Link::Chat, &bad(5));
    assert!(matches!(rig.told(), Event::ResponseDropped { capacity: 4, .. }));
}

#[test]
fn what_the_service_connection_may_have_taken_along_is_looked_for() {
    let mut rig = Rig::bot();
    rig.overview = overview(&[]);
    ask(&mut rig, 1);
    connect(&mut rig);
    rig.expect("/_service_request");
    rig.cut(Link::Service);
    rig.expect("/_get chats 1");
}
