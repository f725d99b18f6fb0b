use core::time::Duration;
use std::format;
use std::vec;

use super::*;
use crate::binding::Standard;
use crate::chat::caller::{Call, CallId, To};
use crate::chat::command::MentionForm;
use crate::chat::responder::Ignored;
use crate::chat::session::{Declared, SessionConfig, Unanswered};
use crate::loopback::{Fault, GroupRef};

const NOW: Instant = Instant::from_millis(0);
const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

fn request() -> &'static str {
    r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"},"a2a-service-parameters":{"A2A-Version":"1.0"}}"#
}

fn endpoint(net: &mut Loopback, name: &str, config: SessionConfig) -> Endpoint<Standard> {
    let profile = net.add_profile(name).unwrap();
    let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
    Endpoint::new(profile, Session::new(config, declared))
}

fn pair() -> (Loopback, Endpoint<Standard>, Endpoint<Standard>, Chat) {
    let mut net = Loopback::new(1);
    let ann = endpoint(&mut net, "ann", SessionConfig::default());
    let bot = endpoint(&mut net, "bot", SessionConfig::default());
    let (to_bot, _) = net.connect(ann.profile, bot.profile).unwrap();
    (net, ann, bot, Chat::Direct(to_bot))
}

fn call(endpoint: &mut Endpoint<Standard>, to: To<'_>) -> CallId {
    endpoint.session_mut().call(NOW, &Call::new(Standard::A2A, to, request())).unwrap()
}

fn contact(chat: Chat) -> To<'static> {
    let Chat::Direct(contact) = chat else { panic!() };
    To::Contact(contact)
}

/// A mention of `of` as `me` knows it.
fn member<'n>(
    net: &Loopback,
    group: GroupRef,
    me: &Endpoint<Standard>,
    of: &Endpoint<Standard>,
    name: &'n mut String,
) -> To<'n> {
    let known = net.member_of(group, me.profile, of.profile).unwrap();
    *name = known.name;
    To::Member {
        group: net.group_id(group, me.profile).unwrap(),
        member: known.member,
        group_member: known.group_member_id,
        name,
    }
}

fn idle(endpoint: &mut Endpoint<Standard>, net: &mut Loopback, now: Instant) -> Option<Instant> {
    match endpoint.poll(net, now) {
        Step::Timeout(timeout) => timeout,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_that_the_core_refuses_is_given_back_and_the_session_knows() {
    let (mut net, mut ann, ..) = pair();
    let nobody = crate::chat::ContactId(-1);
    let id = call(&mut ann, To::Contact(nobody));
    let Step::NotSent(message, error) = ann.poll(&mut net, NOW) else { panic!() };
    assert_eq!(message.origin, Origin::Command(id));
    assert_eq!(error, SendError::ContactNotFound { contact: nobody });
    let step = ann.poll(&mut net, NOW);
    assert!(matches!(step, Step::Event(session::Event::NotSent(call)) if call == id));
    assert_eq!(idle(&mut ann, &mut net, NOW), None);
    assert_eq!(ann.session().open_calls(), 0);
}

#[test]
fn a_deleted_command_cannot_be_quoted_so_its_answer_is_not_sent() {
    let (mut net, mut ann, mut bot, chat) = pair();
    call(&mut ann, contact(chat));
    let Step::Sent(sent) = ann.poll(&mut net, NOW) else { panic!() };
    let Step::Event(session::Event::Request(request)) = bot.poll(&mut net, NOW) else { panic!() };
    net.delete(NOW, ann.profile, chat, sent.item).unwrap();
    let key = request.token.key();
    bot.session_mut().respond(NOW, request.token, RESULT).unwrap();
    let Step::NotSent(message, error) = bot.poll(&mut net, NOW) else { panic!() };
    assert_eq!(message.origin, Origin::Answer(key, true));
    assert_eq!(error, SendError::InvalidQuote { item: request.item });
    assert_eq!(idle(&mut bot, &mut net, NOW), None);
}

#[test]
fn an_item_without_room_in_the_session_is_held_and_taken_later() {
    let mut net = Loopback::new(1);
    let config = SessionConfig { max_queued: 1, max_early: 0, ..SessionConfig::default() };
    let mut ann = endpoint(&mut net, "ann", config);
    let mut bot = endpoint(&mut net, "bot", SessionConfig::default());
    let (to_bot, to_ann) = net.connect(ann.profile, bot.profile).unwrap();
    // A command whose id the session does not learn: it was sent past the endpoint.
    let id = call(&mut ann, To::Contact(to_bot));
    let session::Output::Transmit(message) = ann.session_mut().poll_output() else { panic!() };
    let sent = net.send(NOW, ann.profile, message.chat, message.text.as_str()).unwrap();
    let Step::Event(session::Event::Request(request)) = bot.poll(&mut net, NOW) else { panic!() };
    bot.session_mut().respond(NOW, request.token, RESULT).unwrap();
    assert!(matches!(bot.poll(&mut net, NOW), Step::Sent(_)));
    net.send(
        NOW,
        bot.profile,
        Chat::Direct(to_ann),
        format!("/_call a2a {}", self::request()).as_str(),
    )
    .unwrap();

    let wait = idle(&mut ann, &mut net, NOW);
    assert!(wait.is_some());
    // It is still the same one, and nothing has overtaken it.
    assert_eq!(idle(&mut ann, &mut net, NOW), wait);
    assert_eq!(net.queued(ann.profile), 1);
    let input = Input::Sent { call: id, item: sent.item, shared_msg_id: None };
    ann.session_mut().handle_input(NOW, input).unwrap();
    let step = ann.poll(&mut net, NOW);
    assert!(matches!(step, Step::Event(session::Event::Reply(reply)) if reply.is_end));
    assert!(matches!(ann.poll(&mut net, NOW), Step::Event(session::Event::Request(_))));
}

#[test]
fn a_commands_id_is_learnt_though_answers_fill_the_queue() {
    let mut net = Loopback::new(1);
    let config = SessionConfig { max_queued: 1, ..SessionConfig::default() };
    let mut ann = endpoint(&mut net, "ann", config);
    let mut bot = endpoint(&mut net, "bot", SessionConfig::default());
    let (to_bot, to_ann) = net.connect(ann.profile, bot.profile).unwrap();
    let mut tokens = Vec::new();
    for _ in 0..3 {
        call(&mut bot, To::Contact(to_ann));
        assert!(matches!(bot.poll(&mut net, NOW), Step::Sent(_)));
        let Step::Event(session::Event::Request(request)) = ann.poll(&mut net, NOW) else {
            panic!()
        };
        tokens.push(request.token);
    }
    call(&mut ann, To::Contact(to_bot));
    for token in tokens {
        ann.session_mut().respond(NOW, token, RESULT).unwrap();
    }
    for _ in 0..4 {
        assert!(matches!(ann.poll(&mut net, NOW), Step::Sent(_)));
    }
    let request = loop {
        match bot.poll(&mut net, NOW) {
            Step::Event(session::Event::Request(request)) => break request,
            Step::Timeout(_) => panic!(),
            _ => {}
        }
    };
    bot.session_mut().respond(NOW, request.token, RESULT).unwrap();
    assert!(matches!(bot.poll(&mut net, NOW), Step::Sent(_)));
    let step = ann.poll(&mut net, NOW);
    assert!(matches!(step, Step::Event(session::Event::Reply(reply)) if reply.is_end));
}

#[test]
fn an_edited_command_runs_once_and_its_answer_still_fits() {
    let (mut net, mut ann, mut bot, chat) = pair();
    net.fault_next(
        ann.profile,
        Fault::Edit(Some(format!("/_call a2a {}{}", request(), " ".repeat(500)))),
    );
    call(&mut ann, contact(chat));
    assert!(matches!(ann.poll(&mut net, NOW), Step::Sent(_)));
    let Step::Event(session::Event::Request(request)) = bot.poll(&mut net, NOW) else { panic!() };
    idle(&mut bot, &mut net, NOW);
    // As much as fitted when the command arrived, and now does not.
    let frame = RESULT.replace("{}", "\"\"");
    let escaped = crate::json::length::escaped_len(&frame);
    let text = frame.replace("\"\"", &format!("\"{}\"", "a".repeat(request.room - escaped)));
    let replaced = bot.session_mut().respond(NOW, request.token, &text).unwrap().unwrap();
    assert_eq!(replaced.needed - replaced.limit, 500);
    assert!(matches!(bot.poll(&mut net, NOW), Step::Sent(_)));
    let Step::Event(session::Event::Reply(reply)) = ann.poll(&mut net, NOW) else { panic!() };
    assert!(reply.is_end && reply.text.contains("-32603"));
}

#[test]
fn an_edited_reply_is_told_as_one() {
    let (mut net, mut ann, mut bot, chat) = pair();
    call(&mut ann, contact(chat));
    assert!(matches!(ann.poll(&mut net, NOW), Step::Sent(_)));
    let Step::Event(session::Event::Request(request)) = bot.poll(&mut net, NOW) else { panic!() };
    net.fault_next(bot.profile, Fault::Edit(None));
    bot.session_mut().respond(NOW, request.token, RESULT).unwrap();
    assert!(matches!(bot.poll(&mut net, NOW), Step::Sent(_)));
    let Step::Event(session::Event::Reply(reply)) = ann.poll(&mut net, NOW) else { panic!() };
    assert_eq!((reply.edited, reply.text.as_str()), (false, RESULT));
    let Step::Event(session::Event::Late(edit)) = ann.poll(&mut net, NOW) else { panic!() };
    assert_eq!((edit.edited, edit.item), (true, reply.item));
}

#[test]
fn a_mention_reaches_the_session_with_the_cores_map_and_who_it_is() {
    let mut net = Loopback::new(1);
    let mut ann = endpoint(&mut net, "ann", SessionConfig::default());
    let mut bots =
        ["bot", "bot", "other"].map(|name| endpoint(&mut net, name, SessionConfig::default()));
    let group = net.create_group(ann.profile, "team").unwrap();
    for bot in &bots {
        net.join(group, bot.profile).unwrap();
    }
    let mut name = String::new();
    let to = member(&net, group, &ann, &bots[1], &mut name);
    call(&mut ann, to);
    let Step::Sent(sent) = ann.poll(&mut net, NOW) else { panic!() };
    assert!(sent.text.starts_with("/_call @bot_1 a2a {\n"), "{}", sent.text);
    let other = |step| {
        matches!(
            step,
            Step::Event(session::Event::Unanswered {
                why: Unanswered::Ignored(Ignored::OtherMember),
                ..
            })
        )
    };
    assert!(other(bots[0].poll(&mut net, NOW)));
    assert!(other(bots[2].poll(&mut net, NOW)));
    assert!(matches!(bots[1].poll(&mut net, NOW), Step::Event(session::Event::Request(_))));
}

#[test]
fn without_a_map_the_name_decides_and_a_shared_one_is_nobodys() {
    let mut net = Loopback::new(1);
    let ann = net.add_profile("ann").unwrap();
    let mut bots =
        ["bot", "bot", "other"].map(|name| endpoint(&mut net, name, SessionConfig::default()));
    let group = net.create_group(ann, "team").unwrap();
    for bot in &bots {
        net.join(group, bot.profile).unwrap();
    }
    let chat = Chat::Group(net.group_id(group, ann).unwrap());
    let one_line = |name| format!("/_call @{name} a2a {}", request());
    net.send(NOW, ann, chat, one_line("bot").as_str()).unwrap();
    net.send(NOW, ann, chat, one_line("other").as_str()).unwrap();
    for (bot, first) in
        bots.iter_mut().zip([Ignored::AmbiguousName, Ignored::AmbiguousName, Ignored::OtherMember])
    {
        let Step::Event(session::Event::Unanswered { why, .. }) = bot.poll(&mut net, NOW) else {
            panic!()
        };
        assert_eq!(why, Unanswered::Ignored(first));
    }
    assert!(matches!(bots[2].poll(&mut net, NOW), Step::Event(session::Event::Request(_))));
}

#[test]
fn todays_core_refuses_a_mention_on_one_line() {
    let mut net = Loopback::new(1);
    let mut config = SessionConfig::default();
    config.caller.mention_form = MentionForm::OneLine;
    let mut ann = endpoint(&mut net, "ann", config);
    let bot = endpoint(&mut net, "bot", SessionConfig::default());
    let group = net.create_group(ann.profile, "team").unwrap();
    net.join(group, bot.profile).unwrap();
    let mut name = String::new();
    let to = member(&net, group, &ann, &bot, &mut name);
    call(&mut ann, to);
    let Step::NotSent(_, error) = ann.poll(&mut net, NOW) else { panic!() };
    assert!(matches!(error, SendError::InvalidMention { .. }));
}

#[test]
fn the_timeout_is_the_earliest_of_the_sessions_and_the_networks() {
    let (mut net, mut ann, mut bot, chat) = pair();
    net.fault_next(ann.profile, Fault::Delay(Duration::from_millis(40)));
    call(&mut ann, contact(chat));
    assert!(matches!(ann.poll(&mut net, NOW), Step::Sent(_)));
    assert_eq!(idle(&mut ann, &mut net, NOW), Some(Instant::from_millis(40)));
    assert_eq!(idle(&mut bot, &mut net, NOW), Some(Instant::from_millis(40)));
    let later = Instant::from_millis(40);
    assert!(matches!(bot.poll(&mut net, later), Step::Event(session::Event::Request(_))));
    // Now the call's own idle limit is the next.
    assert_eq!(idle(&mut ann, &mut net, later), Some(Instant::from_millis(150_000)));
}

mod service {
    use super::*;
    use crate::rpc::session::ServiceReplyKind;
    use crate::rpc::{CoreFailure, Executed, Retry, ServiceCall, SignerKey};

    const KEY: &str = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";
    const ASK: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","a2a-service-parameters":{"A2A-Version":"1.0"},"params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;

    struct Two {
        net: Loopback,
        ann: Endpoint<Standard>,
        bot: Endpoint<Standard>,
        address: ServiceAddress,
    }

    fn two() -> Two {
        let mut net = Loopback::new(1);
        let ann = endpoint(&mut net, "ann", SessionConfig::default());
        let mut bot = endpoint(&mut net, "bot", SessionConfig::default());
        bot.service_mut().declare(Declared::new(Standard::A2A, ["1.0"]));
        let address = net.create_address(bot.profile, true).unwrap();
        net.enable_service_requests(bot.profile, true).unwrap();
        Two { net, ann, bot, address }
    }

    impl Two {
        fn request(&mut self, target: impl Into<ServiceTarget>, call: &ServiceCall<'_, Standard>) {
            self.ann.service_mut().request(NOW, target.into(), call).unwrap();
        }

        fn ann(&mut self) -> ServiceStep<Standard> {
            match self.ann.poll(&mut self.net, NOW) {
                Step::Service(step) => step,
                other => panic!("{other:?}"),
            }
        }

        fn bot(&mut self, now: Instant) -> ServiceStep<Standard> {
            match self.bot.poll(&mut self.net, now) {
                Step::Service(step) => step,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_signed_request_and_its_response() {
        let mut two = two();
        let target = ServiceTarget::new(two.address).signed_by(KEY);
        two.request(target, &ServiceCall::new(Standard::A2A, ASK).signed(KEY));
        let ServiceStep::Sent(sent) = two.ann() else { panic!() };
        assert!(matches!(sent.origin, ServiceOrigin::Request { is_signed: true, .. }));
        assert_eq!(sent.to, Some(two.bot.profile));
        assert_eq!((sent.json_len, sent.framed_len), (sent.text.len(), sent.text.len() + 303));
        let ServiceStep::Event(ServiceEvent::Request(request)) = two.bot(NOW) else { panic!() };
        assert_eq!(request.signer, SignerKey::parse(KEY).ok());
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"n"}}}"#;
        two.bot.service_mut().respond(NOW, &request.request_id, answer).unwrap();
        let ServiceStep::Sent(sent) = two.bot(NOW) else { panic!() };
        assert_eq!(sent.origin, ServiceOrigin::Response(None));
        assert_eq!(sent.to, Some(two.ann.profile));
        let ServiceStep::Event(ServiceEvent::Reply(reply)) = two.ann() else { panic!() };
        let ServiceReplyKind::Answer { text, .. } = reply.kind else { panic!() };
        assert_eq!(text, r#"{"id":1,"jsonrpc":"2.0","result":{"message":{"messageId":"n"}}}"#);
        assert_eq!(idle(&mut two.ann, &mut two.net, NOW), None);
        assert_eq!(two.ann.calls.len(), 0);
    }

    #[test]
    fn a_request_that_the_core_refuses_ends_at_once() {
        let mut two = two();
        let plain = two.net.create_address(two.ann.profile, false).unwrap();
        two.request(plain, &ServiceCall::new(Standard::A2A, ASK));
        let ServiceStep::RequestNotSent(call, error) = two.ann() else { panic!() };
        assert_eq!(error, ServiceRequestError::NoRatchetKeys);
        let ServiceStep::Event(ServiceEvent::Reply(reply)) = two.ann() else { panic!() };
        assert_eq!(reply.call, call);
        assert_eq!(reply.kind, ServiceReplyKind::Core(CoreFailure::NoRatchetKeys));
        assert_eq!((reply.executed, reply.retry), (Executed::No, Retry::Never));
    }

    #[test]
    fn a_request_without_a_response_ends_with_the_cores_timeout() {
        let mut two = two();
        two.net.enable_service_requests(two.bot.profile, false).unwrap();
        two.request(two.address, &ServiceCall::new(Standard::A2A, ASK));
        assert!(matches!(two.ann(), ServiceStep::Sent(_)));
        let due = idle(&mut two.ann, &mut two.net, NOW).unwrap();
        assert_eq!(due, Instant::from_millis(30_000));
        let Step::Service(ServiceStep::Event(ServiceEvent::Reply(reply))) =
            two.ann.poll(&mut two.net, due)
        else {
            panic!()
        };
        assert_eq!(reply.kind, ServiceReplyKind::Core(CoreFailure::Timeout));
        assert_eq!(reply.executed, Executed::Unknown);
        assert_eq!(two.ann.calls.len(), 0);
    }

    #[test]
    fn a_response_that_the_core_takes_no_more_is_told() {
        let mut two = two();
        let call = ServiceCall::new(Standard::A2A, ASK).timeout(Duration::from_secs(600));
        two.request(two.address, &call);
        assert!(matches!(two.ann(), ServiceStep::Sent(_)));
        let ServiceStep::Event(ServiceEvent::Request(request)) = two.bot(NOW) else { panic!() };
        // Nobody has turned the endpoint for too long.
        let late = Instant::from_millis(180_001);
        let ServiceStep::ResponseNotSent(id, error) = two.bot(late) else { panic!() };
        assert_eq!(id, request.request_id);
        assert!(matches!(error, ServiceResponseError::Late { .. }));
        let expired = two.bot(late);
        assert!(matches!(expired, ServiceStep::Event(ServiceEvent::Expired(gone)) if gone == id));
    }

    #[test]
    fn chat_and_service_rpc_go_side_by_side() {
        let mut two = two();
        let (to_bot, _) = two.net.connect(two.ann.profile, two.bot.profile).unwrap();
        call(&mut two.ann, To::Contact(to_bot));
        two.request(two.address, &ServiceCall::new(Standard::A2A, ASK));
        let (mut chats, mut requests) = (0, 0);
        for _ in 0..2 {
            match two.ann.poll(&mut two.net, NOW) {
                Step::Sent(_) | Step::Service(ServiceStep::Sent(_)) => {}
                other => panic!("{other:?}"),
            }
        }
        for _ in 0..2 {
            match two.bot.poll(&mut two.net, NOW) {
                Step::Event(session::Event::Request(_)) => chats += 1,
                Step::Service(ServiceStep::Event(ServiceEvent::Request(_))) => requests += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((chats, requests), (1, 1));
    }
}
