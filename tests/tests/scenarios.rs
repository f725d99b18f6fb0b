//! What "Agent protocols over SimpleX" says of the chat transport, sentence by sentence, with a
//! caller and bots on the loopback. Each test is named after what it shows.

use core::time::Duration;

use agentwire_core::binding::{End, Failure, Foreign, Standard};
use agentwire_core::chat::caller::{Call, CallError, Limit, ReplyError, To, Wait};
use agentwire_core::chat::command::{CommandErrorKind, MentionForm};
use agentwire_core::chat::responder::Ignored;
use agentwire_core::chat::session::{
    Declared, Event, Origin, Reply, ReplyKind, Request, SessionConfig, Unanswered,
};
use agentwire_core::chat::{Chat, ContactId, ItemId, Sender};
use agentwire_core::json::length::escaped_len;
use agentwire_core::loopback::{self, ComposedMessage, Fault, GroupRef, SendError};
use agentwire_tests::world::{Happened, Who, World, a2a, mcp, result, status};
use serde_json::Value;

const ANN: Who = 0;
const BOT: Who = 1;
const MCP: Standard = Standard::MCP;
const A2A: Standard = Standard::A2A;
const REVISION: &str = "2026-07-28";
const LIMIT: usize = 15_602;

/// Ann, and a bot that is her contact and serves both protocols.
fn direct() -> (World, ContactId) {
    direct_with(SessionConfig::default(), SessionConfig::default())
}

fn direct_with(ann: SessionConfig, bot: SessionConfig) -> (World, ContactId) {
    let mut world = World::new(1);
    assert_eq!(world.add("ann", ann, &[]), ANN);
    assert_eq!(world.add("bot", bot, &[MCP, A2A]), BOT);
    let contact = world.connect(ANN, BOT);
    (world, contact)
}

/// Ann in a group with bots of these names, the first of which is `BOT`.
fn team(names: &[&str], ann: SessionConfig) -> (World, GroupRef) {
    let mut world = World::new(2);
    world.add("ann", ann, &[]);
    for name in names {
        world.add(name, SessionConfig::default(), &[MCP, A2A]);
    }
    let members: Vec<Who> = (0..=names.len()).collect();
    let group = world.group("team", &members);
    (world, group)
}

fn group_chat(world: &World, group: GroupRef) -> Chat {
    Chat::Group(world.group_id(group, ANN))
}

/// A command that a person could have typed, with its request as it is.
fn typed(world: &mut World, chat: Chat, text: &str) -> ItemId {
    world.send(ANN, chat, text)
}

fn answer(world: &mut World, who: Who, request: Request<Standard>) {
    let id = request.id.clone().unwrap();
    world.respond(who, request, &result(&id, "{}"));
}

fn ignored(event: &Event<Standard>) -> Option<Ignored> {
    match event {
        Event::Unanswered { why: Unanswered::Ignored(why), .. } => Some(*why),
        _ => None,
    }
}

fn code(text: &str) -> i64 {
    let error: Value = serde_json::from_str(text).unwrap();
    error["error"]["code"].as_i64().unwrap()
}

fn is_error(reply: &Reply, expected: i64) -> bool {
    assert_eq!(code(&reply.text), expected, "{}", reply.text);
    reply.is_end && reply.kind == ReplyKind::Last(End::Error { code: expected })
}

/// The messages with which `BOT` refuses what was typed, and nothing else may be sent.
fn refusals(world: &mut World) -> Vec<String> {
    let seen = world.drive_bounded().unwrap();
    let sent = seen.into_iter().filter_map(|(who, happened)| match happened {
        Happened::Sent(sent) => {
            assert_eq!((who, sent.origin), (BOT, Origin::Refusal));
            assert!(sent.quotes.is_some() && sent.encoded_len <= LIMIT);
            Some(sent.text)
        }
        _ => None,
    });
    sent.collect()
}

/// A result whose text takes exactly so many encoded bytes, with a filler that has to be escaped.
fn result_of_size(id: &str, encoded: usize) -> String {
    let text = |filler: &str| result(id, &format!(r#"{{"text":"{filler}"}}"#));
    let empty = escaped_len(&text(""));
    // A quote inside a string of JSON inside a string of JSON: four bytes.
    let quotes = (encoded - empty) / 4 - 100;
    let filler = "\\\"".repeat(quotes);
    let rest = encoded - escaped_len(&text(&filler));
    let text = text(&format!("{filler}{}", "a".repeat(rest)));
    assert_eq!(escaped_len(&text), encoded);
    text
}

mod commands {
    use super::*;

    #[test]
    fn a_command_with_a_mention_is_answered_by_the_mentioned_member() {
        let (mut world, group) = team(&["bot", "shop", "Acme shop"], SessionConfig::default());
        for who in 1..=3 {
            let member = world.member(group, ANN, who);
            world.make(ANN, A2A, member.to(), &a2a("1", "GetTask"));
            let mut events = world.settle();
            let at = events.iter().position(|(_, event)| matches!(event, Event::Request(_)));
            let (asked, Event::Request(request)) = events.remove(at.unwrap()) else { panic!() };
            assert_eq!(asked, who);
            assert_eq!(events.len(), 2);
            assert!(events.iter().all(|(_, e)| ignored(e) == Some(Ignored::OtherMember)));
            answer(&mut world, who, request);
            let reply = world.reply(ANN);
            assert!(reply.is_end);
            assert_eq!(reply.sender, Sender::Member(member.member));
        }
    }

    #[test]
    fn a_command_without_a_mention_is_a_broadcast_that_each_member_answers_who_serves_the_protocol()
    {
        let (mut world, group) = team(&["one", "two"], SessionConfig::default());
        let deaf = world.add("deaf", SessionConfig::default(), &[MCP]);
        let profile = world.profile(deaf);
        world.net.join(group, profile).unwrap();
        let to = To::Everyone(world.group_id(group, ANN));
        world.make(ANN, A2A, to, &a2a("1", "GetTask"));
        let mut asked = Vec::new();
        for (who, event) in world.settle() {
            match event {
                Event::Request(request) => asked.push((who, request)),
                other => {
                    assert_eq!((who, ignored(&other)), (deaf, Some(Ignored::UndeclaredProtocol)));
                }
            }
        }
        assert_eq!(asked.iter().map(|(who, _)| *who).collect::<Vec<_>>(), [1, 2]);
        for (who, request) in asked {
            answer(&mut world, who, request);
            let reply = world.reply(ANN);
            assert_eq!(reply.sender, Sender::Member(world.member(group, ANN, who).member));
            assert!(reply.kind.is_last() && !reply.is_end);
        }
    }

    #[test]
    fn a_mention_on_one_line_is_refused_by_todays_core_and_never_becomes_a_broadcast() {
        let mut config = SessionConfig::default();
        config.caller.mention_form = MentionForm::OneLine;
        let (mut world, group) = team(&["bot", "shop"], config);
        let member = world.member(group, ANN, BOT);
        let call = world.make(ANN, A2A, member.to(), &a2a("1", "GetTask"));
        let seen = world.drive_bounded().unwrap();
        let [(ANN, Happened::NotSent(message, error)), (ANN, Happened::Event(event))] = &seen[..]
        else {
            panic!("{seen:?}")
        };
        assert!(message.text.starts_with("/_call @bot a2a {\"jsonrpc"));
        assert!(matches!(error, SendError::InvalidMention { .. }));
        assert!(matches!(event, Event::NotSent(ended) if *ended == call));
    }

    #[test]
    fn a_textual_mention_that_the_core_did_not_recognise_is_for_the_bot_of_exactly_that_name() {
        let (mut world, group) = team(&["bot", "Bot", "bot 2"], SessionConfig::default());
        let chat = group_chat(&world, group);
        for (name, expected) in [("bot", 1), ("Bot", 2), ("'bot 2'", 3), ("nobody", 0)] {
            typed(&mut world, chat, &format!("/_call @{name} a2a {}", a2a("1", "GetTask")));
            for (who, event) in world.settle() {
                match event {
                    Event::Request(_) => assert_eq!(who, expected),
                    other => assert_eq!(ignored(&other), Some(Ignored::OtherMember)),
                }
            }
        }
        assert_eq!((1..4).map(|who| world.session(who).open_requests()).sum::<usize>(), 3);
    }

    #[test]
    fn two_bots_with_the_same_name_stay_silent_to_a_textual_mention_of_it() {
        let (mut world, group) = team(&["twin", "twin"], SessionConfig::default());
        let chat = group_chat(&world, group);
        typed(&mut world, chat, &format!("/_call @twin a2a {}", a2a("1", "GetTask")));
        let events = world.settle();
        assert_eq!(events.len(), 2);
        assert!(events.iter().all(|(_, e)| ignored(e) == Some(Ignored::AmbiguousName)));

        // A mention that the core recognises means one of them.
        let second = world.member(group, ANN, 2);
        world.make(ANN, A2A, second.to(), &a2a("2", "GetTask"));
        let asked: Vec<_> = world
            .settle()
            .into_iter()
            .filter(|(_, event)| matches!(event, Event::Request(_)))
            .map(|(who, _)| who)
            .collect();
        assert_eq!(asked, [2]);
    }

    #[test]
    fn a_bot_with_a_name_of_50_emoji_is_called_and_answers() {
        let name = "🦀".repeat(50);
        let (mut world, group) = team(&[&name], SessionConfig::default());
        let member = world.member(group, ANN, BOT);
        assert_eq!(member.name, name);
        world.make(ANN, A2A, member.to(), &a2a("1", "GetTask"));
        let (_, request) = world.request();
        // The quote holds the name too, and the reply still fits to the byte.
        let text = result_of_size("1", request.room);
        world.respond(BOT, request, &text);
        let seen = world.drive_bounded().unwrap();
        assert!(seen.iter().any(|(_, happened)| matches!(
            happened,
            Happened::Sent(sent) if sent.encoded_len == LIMIT && sent.text == text
        )));
    }

    #[test]
    fn a_mention_in_a_direct_chat_is_a_malformed_command() {
        let (mut world, contact) = direct();
        typed(&mut world, Chat::Direct(contact), &format!("/_call @bot a2a {}", a2a("1", "m")));
        let events = world.settle();
        let [(BOT, Event::Unanswered { why: Unanswered::Malformed(error), .. })] = events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!((error.kind, error.offset), (CommandErrorKind::MemberInDirectChat, 7));
    }

    #[test]
    fn one_space_separates_the_parts() {
        let (mut world, contact) = direct();
        let request = a2a("1", "GetTask");
        for (text, offset) in [
            (format!("/_call  a2a {request}"), 7),
            (format!("/_call\ta2a {request}"), 6),
            (format!("/_call a2a  {request}"), 11),
            (format!("/_call a2a\n{request}"), 10),
        ] {
            typed(&mut world, Chat::Direct(contact), &text);
            let events = world.settle();
            let [(BOT, Event::Unanswered { why: Unanswered::Malformed(error), .. })] = events[..]
            else {
                panic!("{events:?}")
            };
            assert_eq!((error.kind, error.offset), (CommandErrorKind::Separator, offset));
        }
    }

    #[test]
    fn a_command_that_is_not_ours_is_an_ordinary_message() {
        let (mut world, contact) = direct();
        for text in ["/call mcp {}", "/_caller mcp {}", "/_call", "hello", "say /_call mcp {}"] {
            typed(&mut world, Chat::Direct(contact), text);
        }
        assert!(world.settle().is_empty());
    }

    #[test]
    fn a_command_for_an_undeclared_protocol_meets_silence() {
        let (mut world, contact) = direct();
        for text in ["/_call acp {}", "/_call m-c-p {", "/_call mcp2 []"] {
            typed(&mut world, Chat::Direct(contact), text);
            let events = world.settle();
            assert_eq!(events.len(), 1);
            assert_eq!(ignored(&events[0].1), Some(Ignored::UndeclaredProtocol), "{text}");
        }
    }

    #[test]
    fn a_broken_request_of_a_declared_protocol_gets_its_error() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let cases = [
            ("{\"jsonrpc\":", -32700),
            ("", -32700),
            ("{\"a\":\"\\x\"}", -32700),
            ("{\"a\":\"\u{1}\"}", -32700),
            ("{} {}", -32700),
            ("[]", -32600),
            ("{}", -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
            ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", -32600),
            ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", -32600),
        ];
        let (mut world, contact) = direct();
        for protocol in ["mcp", "a2a"] {
            for (request, expected) in cases {
                let text = format!("/_call {protocol} {request}");
                typed(&mut world, Chat::Direct(contact), text.trim_end());
                let sent = refusals(&mut world);
                assert_eq!(sent.len(), 1, "{text}");
                assert_eq!(code(&sent[0]), expected, "{text}: {}", sent[0]);
            }
            let text = format!("/_call {protocol} {{\"a\":{deep}}}");
            typed(&mut world, Chat::Direct(contact), &text);
            let sent = refusals(&mut world);
            assert!([-32700, -32600].contains(&code(&sent[0])), "{}", sent[0]);
        }
        assert_eq!(world.session(BOT).open_requests(), 0);
    }

    #[test]
    fn the_error_has_the_requests_id_byte_for_byte_where_it_can_be_read() {
        let (mut world, contact) = direct();
        for id in ["7", "-0", "1e2", "\"caf\\u00e9\"", "\"\\\"\"", "123456789012345678901234567890"]
        {
            // No _meta, no version.
            let text =
                format!("/_call mcp {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}");
            typed(&mut world, Chat::Direct(contact), &text);
            let sent = refusals(&mut world);
            assert_eq!(code(&sent[0]), -32602);
            assert!(sent[0].contains(&format!("\"id\":{id}")), "{}", sent[0]);
        }
    }

    #[test]
    fn a_bot_with_a_full_table_says_so() {
        let mut config = SessionConfig::default();
        config.max_requests = 2;
        let (mut world, contact) = direct_with(SessionConfig::default(), config);
        for id in ["1", "2", "3"] {
            world.make(ANN, A2A, To::Contact(contact), &a2a(id, "GetTask"));
        }
        let events = world.settle();
        let replies: Vec<_> = events
            .iter()
            .filter_map(
                |(_, event)| if let Event::Reply(reply) = event { Some(reply) } else { None },
            )
            .collect();
        assert_eq!(replies.len(), 1);
        assert!(is_error(replies[0], -32603));
        assert!(replies[0].text.contains("\"id\":3") && replies[0].text.contains("BUSY"));
    }

    #[test]
    fn a_caller_with_a_full_table_says_so() {
        let mut config = SessionConfig::default();
        config.max_calls = 1;
        let (mut world, contact) = direct_with(config, SessionConfig::default());
        world.make(ANN, A2A, To::Contact(contact), &a2a("1", "GetTask"));
        let request = a2a("2", "GetTask");
        let refused = world.call(ANN, &Call::new(A2A, To::Contact(contact), &request));
        assert_eq!(refused, Err(CallError::Full { capacity: 1 }));
    }

    #[test]
    fn a_command_that_is_edited_or_repeated_is_answered_once() {
        let (mut world, contact) = direct();
        let profile = world.profile(ANN);
        for fault in [Fault::Duplicate, Fault::Edit(None)] {
            world.net.fault_next(profile, fault);
            world.make(ANN, A2A, To::Contact(contact), &a2a("1", "GetTask"));
            let (_, request) = world.request();
            answer(&mut world, BOT, request);
            assert!(world.reply(ANN).is_end);
        }
    }
}

mod replies {
    use super::*;

    #[test]
    fn each_reply_quotes_the_command_and_is_matched_by_it_whatever_the_order() {
        let (mut world, contact) = direct();
        let calls: Vec<_> = (0..10)
            .map(|_| world.make(ANN, A2A, To::Contact(contact), &a2a("\"same\"", "GetTask")))
            .collect();
        let mut requests = world.requests();
        requests.reverse();
        for ((_, request), call) in requests.into_iter().zip(calls.into_iter().rev()) {
            answer(&mut world, BOT, request);
            let reply = world.reply(ANN);
            assert_eq!((reply.call, reply.is_end), (call, true));
        }
    }

    #[test]
    fn replies_that_overtake_each_other_are_collected_in_the_order_of_arrival() {
        let (mut world, contact) = direct();
        let call = world.make(ANN, A2A, To::Contact(contact), &a2a("1", "SubscribeToTask"));
        let (_, request) = world.request();
        let bot = world.profile(BOT);
        world.net.fault_next(bot, Fault::Reorder(Duration::from_secs(1)));
        world.notify(BOT, &request, &status("1", "SUBMITTED")).unwrap();
        world.notify(BOT, &request, &status("1", "WORKING")).unwrap();
        let seen = world.pass(Duration::from_secs(2));
        let texts: Vec<_> = seen
            .iter()
            .map(|(_, event)| match event {
                Event::Reply(reply) if reply.call == call => reply.text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts, [status("1", "WORKING"), status("1", "SUBMITTED")]);
    }

    #[test]
    fn the_quoted_text_decides_nothing() {
        let (mut world, contact) = direct();
        let call = world.make(ANN, A2A, To::Contact(contact), &a2a("1", "GetTask"));
        let (_, request) = world.request();
        let reply = result("1", "{}");
        let lie = ComposedMessage::new(&reply).quoting(request.item).forged_quote("never said");
        world.send(BOT, request.chat, lie);
        assert_eq!(world.reply(ANN).call, call);
    }

    #[test]
    fn a_message_that_quotes_something_else_is_no_reply() {
        let (mut world, contact) = direct();
        let hello = world.send(ANN, Chat::Direct(contact), "hello");
        world.make(ANN, A2A, To::Contact(contact), &a2a("1", "GetTask"));
        let (_, request) = world.request();
        let text = result("1", "{}");
        // Without a quote; quoting another message of Ann's; quoting a message of the bot's own.
        let own = world.send(BOT, request.chat, text.as_str());
        world.send(BOT, request.chat, ComposedMessage::new(&text).quoting(own));
        let before = ItemId(request.item.0 - 1);
        world.send(BOT, request.chat, ComposedMessage::new(&text).quoting(before));
        assert!(world.replies(ANN).is_empty(), "{hello:?}");
        answer(&mut world, BOT, request);
        assert!(world.reply(ANN).is_end);
    }

    #[test]
    fn a_reply_to_a_command_that_its_sender_has_forgotten_is_matched_by_the_shared_id() {
        let (mut world, contact) = direct();
        world.make(ANN, A2A, To::Contact(contact), &a2a("1", "GetTask"));
        let seen = world.drive_bounded().unwrap();
        let mut request = None;
        for (who, happened) in seen {
            match happened {
                Happened::Sent(sent) => {
                    let profile = world.profile(who);
                    world.net.forget(profile, sent.chat, sent.item).unwrap();
                }
                Happened::Event(Event::Request(asked)) => request = Some(asked),
                other => panic!("{other:?}"),
            }
        }
        answer(&mut world, BOT, request.unwrap());
        assert!(world.reply(ANN).is_end);
    }

    #[test]
    fn a_broadcast_collects_every_reply_until_its_wait_ends_each_with_its_sender() {
        let (mut world, group) = team(&["one", "two", "three"], SessionConfig::default());
        let to = To::Everyone(world.group_id(group, ANN));
        let request = a2a("1", "SubscribeToTask");
        let wait = Wait::new(Duration::from_secs(10), Duration::from_secs(10));
        let call = world.call(ANN, &Call::new(A2A, to, &request).wait(wait)).unwrap();
        // Three streams at once, each with an end of its own.
        let mut asked = world.requests();
        for (who, request) in &asked {
            world.notify(*who, request, &status("1", "WORKING")).unwrap();
        }
        let (who, request) = asked.remove(1);
        world.respond(who, request, &status("1", "COMPLETED"));
        let (who, request) = &asked[0];
        world.notify(*who, request, &status("1", "WORKING")).unwrap();
        let mut by_sender = std::collections::BTreeMap::<Sender, Vec<bool>>::new();
        for reply in world.replies(ANN) {
            assert!(!reply.is_end);
            by_sender.entry(reply.sender).or_default().push(reply.kind.is_last());
        }
        let of = |who| Sender::Member(world.member(group, ANN, who).member);
        assert_eq!(by_sender[&of(1)], [false, false]);
        assert_eq!(by_sender[&of(2)], [false, true]);
        assert_eq!(by_sender[&of(3)], [false]);
        let seen = world.pass(Duration::from_secs(10));
        let [(ANN, Event::TimedOut(end))] = seen[..] else { panic!("{seen:?}") };
        assert_eq!((end.call, end.limit, end.answers), (call, Limit::Overall, 1));
    }

    #[test]
    fn a_reply_that_is_not_a_message_of_the_protocol_is_collected_as_text_with_its_sender() {
        let (mut world, contact) = direct();
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        world.make(ANN, MCP, To::Contact(contact), &mcp("1", "tools/list", REVISION));
        let (_, request) = world.request();
        for text in ["one moment, please", "{", "[1]", deep.as_str(), "{\"a\":\"\\q\"}", ""] {
            world.send(BOT, request.chat, ComposedMessage::new(text).quoting(request.item));
            let reply = world.reply(ANN);
            assert!(matches!(reply.kind, ReplyKind::Text(_)), "{text}: {:?}", reply.kind);
            assert_eq!(
                (reply.text.as_str(), reply.sender, reply.is_end),
                (text, Sender::Contact, false)
            );
        }
        // A response to somebody else's request, and a request.
        for (text, why) in [
            (result("2", "{}"), Foreign::OtherId),
            (result("\"1\"", "{}"), Foreign::OtherId),
            (mcp("1", "sampling/createMessage", REVISION), Foreign::NotAReply),
        ] {
            world.send(BOT, request.chat, ComposedMessage::new(&text).quoting(request.item));
            assert_eq!(world.reply(ANN).kind, ReplyKind::Text(why));
        }
        answer(&mut world, BOT, request);
        assert!(world.reply(ANN).is_end);
    }

    #[test]
    fn a_caller_of_a_command_with_a_mention_accepts_only_the_mentioned_members_replies() {
        let (mut world, group) = team(&["bot", "eve"], SessionConfig::default());
        let member = world.member(group, ANN, BOT);
        let call = world.make(ANN, A2A, member.to(), &a2a("1", "GetTask"));
        let events = world.settle();
        let (eves_item, eves_chat) = events
            .iter()
            .find_map(|(who, event)| match event {
                Event::Unanswered { chat, item, .. } if *who == 2 => Some((*item, *chat)),
                _ => None,
            })
            .unwrap();
        let text = result("1", "{\"forged\":true}");
        world.send(2, eves_chat, ComposedMessage::new(&text).quoting(eves_item));
        let eve = Sender::Member(world.member(group, ANN, 2).member);
        let events: Vec<_> = world.settle();
        assert!(matches!(
            events[..],
            [(ANN, Event::Stranger { call: of, sender, .. })] if of == call && sender == eve
        ));
        assert_eq!(world.session(ANN).open_calls(), 1);
    }

    #[test]
    fn a_flood_of_replies_to_one_call_is_bounded_and_leaves_the_others_alone() {
        let mut config = SessionConfig::default();
        config.caller.max_replies = 100;
        let (mut world, contact) = direct_with(config, SessionConfig::default());
        let flooded = world.make(ANN, A2A, To::Contact(contact), &a2a("1", "SubscribeToTask"));
        let other = world.make(ANN, A2A, To::Contact(contact), &a2a("2", "GetTask"));
        let [(_, first), (_, second)] = world.requests().try_into().unwrap();
        for _ in 0..2_000 {
            world.send(BOT, first.chat, ComposedMessage::new("spam").quoting(first.item));
        }
        let (mut taken, mut refused) = (0, 0);
        for (who, event) in world.settle() {
            assert_eq!(who, ANN);
            match event {
                Event::Reply(reply) if reply.call == flooded => taken += 1,
                Event::Overflow { error: ReplyError::TooManyReplies { limit: 100 }, .. } => {
                    refused += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((taken, refused), (100, 1_900));
        answer(&mut world, BOT, second);
        assert_eq!(world.reply(ANN).call, other);
        // Its last reply is still taken.
        world.respond(BOT, first, &status("1", "COMPLETED"));
        assert!(world.reply(ANN).is_end);
    }

    #[test]
    fn progress_extends_the_idle_limit_and_never_the_overall_one() {
        let (mut world, contact) = direct();
        let request = a2a("1", "SubscribeToTask");
        let wait = Wait::new(Duration::from_secs(60), Duration::from_secs(20));
        let call = Call::new(A2A, To::Contact(contact), &request).wait(wait);
        world.call(ANN, &call).unwrap();
        let (_, request) = world.request();
        for _ in 0..3 {
            assert!(
                world
                    .pass(Duration::from_secs(15))
                    .iter()
                    .all(|(_, e)| matches!(e, Event::Reply(_)))
            );
            world.notify(BOT, &request, &status("1", "WORKING")).unwrap();
        }
        let seen = world.pass(Duration::from_secs(15));
        let Some((ANN, Event::TimedOut(end))) = seen.last() else { panic!("{seen:?}") };
        assert_eq!((end.limit, end.replies), (Limit::Overall, 3));
        assert_eq!(world.now.as_millis(), 60_000);
    }
}

mod message_size {
    use super::*;

    fn sent_by_bot(world: &mut World) -> (String, usize) {
        let seen = world.drive_bounded().unwrap();
        let sent = seen.into_iter().find_map(|(who, happened)| match happened {
            Happened::Sent(sent) if who == BOT => Some((sent.text, sent.encoded_len)),
            Happened::NotSent(message, error) => panic!("{message:?}: {error}"),
            _ => None,
        });
        sent.unwrap()
    }

    #[test]
    fn a_reply_of_15602_bytes_is_sent_and_one_of_15603_is_replaced_by_the_bindings_error() {
        for binding in [MCP, A2A] {
            let (mut world, contact) = direct();
            let request_text = match binding {
                Standard::Mcp(_) => mcp("\"é\\n\"", "tools/list", REVISION),
                _ => a2a("\"é\\n\"", "GetTask"),
            };
            for more in [0, 1] {
                world.make(ANN, binding, To::Contact(contact), &request_text);
                let (_, request) = world.request();
                let text = result_of_size("\"é\\n\"", request.room + more);
                world.respond(BOT, request, &text);
                let (sent, encoded_len) = sent_by_bot(&mut world);
                if more == 0 {
                    assert_eq!((sent, encoded_len), (text, LIMIT));
                } else {
                    assert_eq!(code(&sent), -32603);
                    assert!(sent.contains("\"é\\n\"") && encoded_len < LIMIT, "{sent}");
                }
            }
        }
    }

    #[test]
    fn in_a_group_the_limit_is_the_same_with_its_longer_quote() {
        let (mut world, group) = team(&["bot"], SessionConfig::default());
        let member = world.member(group, ANN, BOT);
        for more in [0, 1] {
            world.make(ANN, A2A, member.to(), &a2a("1", "GetTask"));
            let (_, request) = world.request();
            let text = result_of_size("1", request.room + more);
            world.respond(BOT, request, &text);
            let (sent, encoded_len) = sent_by_bot(&mut world);
            assert_eq!(encoded_len == LIMIT, more == 0);
            assert_eq!(sent == text, more == 0);
        }
    }

    /// A request whose parameters hold a filler of this length.
    fn padded(filler: usize) -> String {
        a2a("1", "GetTask").replace("\"t\"", &format!("\"{}\"", "a".repeat(filler)))
    }

    #[test]
    fn a_command_of_15602_bytes_is_sent_and_one_of_15603_is_not() {
        let (mut world, contact) = direct();
        let (chat, profile, now) = (Chat::Direct(contact), world.profile(ANN), world.now);
        let send = |world: &mut World, filler| {
            let text = format!("/_call a2a {}", padded(filler));
            world.net.send(now, profile, chat, text.as_str()).map(|sent| sent.encoded_len)
        };
        let room = LIMIT - send(&mut world, 0).unwrap();
        let _ = world.request();
        assert_eq!(send(&mut world, room), Ok(LIMIT));
        // Nothing can quote it, and the bot says so.
        let events = world.settle();
        assert!(matches!(events[..], [(BOT, Event::Unanswered { why: Unanswered::NoRoom, .. })]));
        let error = SendError::LargeMsg { encoded_len: LIMIT + 1, limit: LIMIT };
        assert_eq!(send(&mut world, room + 1), Err(error));
        let request = padded(room + 1);
        let error = world.call(ANN, &Call::new(A2A, To::Contact(contact), &request)).unwrap_err();
        let CallError::TooLarge(error) = error else { panic!("{error:?}") };
        assert_eq!((error.needed, error.limit), (LIMIT + 1, LIMIT));
    }

    #[test]
    fn a_command_that_leaves_no_room_for_a_reply_is_not_sent() {
        let (mut world, contact) = direct();
        let request = padded(15_100);
        let error = world.call(ANN, &Call::new(A2A, To::Contact(contact), &request)).unwrap_err();
        assert!(matches!(error, CallError::NoRoomForReply { needed: 256.., .. }), "{error:?}");
    }

    #[test]
    fn strings_of_a_mebibyte_are_refused_and_hurt_nobody() {
        let (mut world, contact) = direct();
        let long = "\\\"".repeat(1 << 19);
        let request = a2a(&format!("\"{long}\""), "GetTask");
        let error = world.call(ANN, &Call::new(A2A, To::Contact(contact), &request)).unwrap_err();
        assert!(matches!(error, CallError::TooLarge(_)), "{error:?}");
        world.make(ANN, A2A, To::Contact(contact), &a2a("1", "GetTask"));
        let (_, request) = world.request();
        world.respond(BOT, request, &result("1", &format!("\"{long}\"")));
        assert!(is_error(&world.reply(ANN), -32603));
    }

    #[test]
    fn a_part_of_a_stream_that_is_too_large_ends_the_stream_with_the_error() {
        let (mut world, contact) = direct();
        world.make(ANN, A2A, To::Contact(contact), &a2a("1", "SubscribeToTask"));
        let (_, request) = world.request();
        world.notify(BOT, &request, &status("1", "WORKING")).unwrap();
        assert!(!world.reply(ANN).is_end);
        let large = status("1", &format!("WORKING\",\"x\":\"{}", "a".repeat(16_000)));
        world.notify(BOT, &request, &large).unwrap();
        let reply = world.reply(ANN);
        assert!(is_error(&reply, -32603) && reply.is_resumable);
        assert!(world.notify(BOT, &request, &status("1", "WORKING")).is_err());
    }

    #[test]
    fn a_deleted_command_cannot_be_quoted_and_the_bot_reports_it() {
        let (mut world, contact) = direct();
        let chat = Chat::Direct(contact);
        let text = format!("/_call a2a {}", a2a("1", "GetTask"));
        let item = typed(&mut world, chat, &text);
        let (_, request) = world.request();
        let (profile, now) = (world.profile(ANN), world.now);
        world.net.delete(now, profile, chat, item).unwrap();
        let (key, quoted) = (request.token.key(), request.item);
        answer(&mut world, BOT, request);
        let seen = world.drive_bounded().unwrap();
        let [(BOT, Happened::NotSent(message, error))] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!(message.origin, Origin::Answer(key, true));
        assert_eq!(*error, SendError::InvalidQuote { item: quoted });
        assert_eq!(world.session(BOT).open_requests(), 0);
    }

    #[test]
    fn a_command_that_was_edited_longer_is_answered_with_what_fits_beside_the_new_quote() {
        let (mut world, contact) = direct();
        let text = format!("/_call a2a {}", a2a("1", "GetTask"));
        let chat = Chat::Direct(contact);
        let item = typed(&mut world, chat, &text);
        let (_, request) = world.request();
        let (profile, now) = (world.profile(ANN), world.now);
        let longer = format!("{text}{}", " ".repeat(1_000));
        world.net.edit(now, profile, chat, item, longer.as_str()).unwrap();
        assert!(world.settle().is_empty());
        let text = result_of_size("1", request.room);
        world.respond(BOT, request, &text);
        let (sent, encoded_len) = sent_by_bot(&mut world);
        assert_eq!(code(&sent), -32603);
        assert!(encoded_len <= LIMIT);
    }
}

mod mcp_binding {
    use super::*;

    #[test]
    fn notifications_for_the_request_come_before_the_response_each_as_a_reply() {
        let (mut world, contact) = direct();
        world.make(ANN, MCP, To::Contact(contact), &mcp("1", "tools/call", REVISION));
        let (_, request) = world.request();
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
        for text in [progress, log] {
            world.notify(BOT, &request, text).unwrap();
        }
        answer(&mut world, BOT, request);
        let replies = world.replies(ANN);
        let kinds: Vec<_> = replies.iter().map(|reply| reply.kind.clone()).collect();
        assert_eq!(
            kinds,
            [
                ReplyKind::Notification("notifications/progress".into()),
                ReplyKind::Notification("notifications/message".into()),
                ReplyKind::Last(End::Answer),
            ]
        );
        assert_eq!(replies.iter().filter(|reply| reply.is_end).count(), 1);
    }

    #[test]
    fn the_answer_ends_with_a_result_or_an_error_that_has_the_requests_id() {
        let (mut world, contact) = direct();
        for id in ["1", "\"a\"", "\"\"", "-7", "9007199254740993", "\"caf\\u00e9\""] {
            world.make(ANN, MCP, To::Contact(contact), &mcp(id, "tools/call", REVISION));
            let (_, request) = world.request();
            assert_eq!(request.id.as_deref(), Some(id));
            world.respond(BOT, request, &result(id, r#"{"resultType":"input_required"}"#));
            let reply = world.reply(ANN);
            assert_eq!((reply.kind, reply.is_end), (ReplyKind::Last(End::Answer), true));

            world.make(ANN, MCP, To::Contact(contact), &mcp(id, "tools/call", REVISION));
            let (_, request) = world.request();
            let now = world.now;
            let session = world.session(BOT);
            session.fail(now, request.token, &Failure::MethodNotFound).unwrap();
            let reply = world.reply(ANN);
            assert!(is_error(&reply, -32601) && reply.text.contains(&format!("\"id\":{id}")));
        }
    }

    #[test]
    fn a_request_of_a_revision_that_is_not_served_gets_32022_which_lists_those_that_are() {
        let (mut world, contact) = direct();
        world.make(ANN, MCP, To::Contact(contact), &mcp("1", "tools/list", "2027-03-01"));
        let reply = world.reply(ANN);
        assert!(is_error(&reply, -32022));
        let error: Value = serde_json::from_str(&reply.text).unwrap();
        assert_eq!(error["error"]["data"]["supported"], serde_json::json!([REVISION]));
        assert_eq!(error["error"]["data"]["requested"], "2027-03-01");
        // A bot states which revisions it serves; later ones are like any other.
        world.session(BOT).declare(Declared::new(MCP, ["2027-03-01", REVISION]));
        world.make(ANN, MCP, To::Contact(contact), &mcp("1", "tools/list", "2027-03-01"));
        let _ = world.request();
    }

    #[test]
    fn an_earlier_client_that_begins_with_initialize_is_told_what_is_served() {
        let (mut world, contact) = direct();
        let text = r#"/_call mcp {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
        typed(&mut world, Chat::Direct(contact), text);
        let sent = refusals(&mut world);
        assert_eq!(code(&sent[0]), -32022);
        assert!(sent[0].contains(REVISION) && sent[0].contains("2025-06-18"));
    }

    #[test]
    fn a_handler_that_does_not_answer_in_time_is_answered_for() {
        let (mut world, contact) = direct();
        world.make(ANN, MCP, To::Contact(contact), &mcp("1", "tools/call", REVISION));
        let (_, request) = world.request();
        let seen = world.pass(Duration::from_secs(130));
        let reply = seen.iter().find_map(|(who, event)| match event {
            Event::Reply(reply) if *who == ANN => Some(reply),
            _ => None,
        });
        assert!(is_error(reply.unwrap(), -32603));
        assert!(seen.iter().any(|(who, event)| *who == BOT && matches!(event, Event::Expired(_))));
        assert!(world.notify(BOT, &request, "{}").is_err());
    }
}

mod a2a_streaming {
    use super::*;

    fn subscribe(world: &mut World, contact: ContactId) -> Request<Standard> {
        world.make(ANN, A2A, To::Contact(contact), &a2a("1", "SendStreamingMessage"));
        world.request().1
    }

    #[test]
    fn each_stream_response_is_one_reply_and_they_are_sent_in_the_order_of_the_stream() {
        let (mut world, contact) = direct();
        let request = subscribe(&mut world, contact);
        let mut texts =
            vec![result("1", r#"{"task":{"id":"t","status":{"state":"TASK_STATE_SUBMITTED"}}}"#)];
        for part in 0..20 {
            let artifact = format!(
                r#"{{"artifactUpdate":{{"taskId":"t","artifact":{{"artifactId":"{part}"}}}}}}"#
            );
            texts.push(result("1", &artifact));
        }
        for text in &texts {
            world.notify(BOT, &request, text).unwrap();
        }
        texts.push(status("1", "COMPLETED"));
        world.respond(BOT, request, &texts[21]);
        let replies = world.replies(ANN);
        assert_eq!(
            replies.iter().map(|reply| &reply.text).collect::<Vec<_>>(),
            texts.iter().collect::<Vec<_>>()
        );
        assert!(replies[..21].iter().all(|reply| reply.kind == ReplyKind::Part(Some("t".into()))));
        assert!(replies[21].is_end);
    }

    #[test]
    fn the_stream_ends_with_a_terminal_or_an_interrupted_state_or_a_message() {
        for (state, end) in [
            ("COMPLETED", End::Terminal),
            ("FAILED", End::Terminal),
            ("CANCELED", End::Terminal),
            ("REJECTED", End::Terminal),
            ("INPUT_REQUIRED", End::Interrupted),
            ("AUTH_REQUIRED", End::Interrupted),
        ] {
            let task =
                format!(r#"{{"task":{{"id":"t","status":{{"state":"TASK_STATE_{state}"}}}}}}"#);
            for text in [status("1", state), result("1", &task)] {
                let (mut world, contact) = direct();
                let request = subscribe(&mut world, contact);
                world.respond(BOT, request, &text);
                let reply = world.reply(ANN);
                assert_eq!((reply.kind, reply.is_end), (ReplyKind::Last(end), true));
                assert_eq!(world.session(BOT).open_requests(), 0);
            }
        }
        let (mut world, contact) = direct();
        let request = subscribe(&mut world, contact);
        world.respond(BOT, request, &result("1", r#"{"message":{"messageId":"m","parts":[]}}"#));
        assert_eq!(world.reply(ANN).kind, ReplyKind::Last(End::Message));
    }

    #[test]
    fn other_states_do_not_end_it() {
        let (mut world, contact) = direct();
        let request = subscribe(&mut world, contact);
        for state in ["SUBMITTED", "WORKING", "UNSPECIFIED", "OF_A_LATER_VERSION"] {
            world.notify(BOT, &request, &status("1", state)).unwrap();
            assert!(!world.reply(ANN).is_end);
        }
    }

    #[test]
    fn a_caller_that_missed_replies_resumes_the_stream_with_subscribe_to_task() {
        let (mut world, contact) = direct();
        let request = subscribe(&mut world, contact);
        world.notify(BOT, &request, &status("1", "WORKING")).unwrap();
        let ReplyKind::Part(Some(task)) = world.reply(ANN).kind else { panic!() };
        let bot = world.profile(BOT);
        world.net.fault_next(bot, Fault::Drop);
        world.respond(BOT, request, &status("1", "COMPLETED"));
        let seen = world.pass(Duration::from_secs(600));
        let [(ANN, Event::TimedOut(end))] = seen[..] else { panic!("{seen:?}") };
        assert!(end.is_resumable && end.was_sent);
        assert_eq!((end.limit, end.replies), (Limit::Idle, 1));
        let again = a2a("2", "SubscribeToTask").replace("\"t\"", &format!("\"{task}\""));
        world.make(ANN, A2A, To::Contact(contact), &again);
        let (_, request) = world.request();
        world.respond(BOT, request, &status("2", "COMPLETED"));
        assert!(world.reply(ANN).is_end);
    }

    #[test]
    fn every_other_method_is_answered_with_one_reply() {
        let (mut world, contact) = direct();
        for method in ["SendMessage", "GetTask", "ListTasks", "CancelTask", "GetExtendedAgentCard"]
        {
            world.make(ANN, A2A, To::Contact(contact), &a2a("1", method));
            let (_, request) = world.request();
            world.respond(BOT, request, &status("1", "WORKING"));
            let reply = world.reply(ANN);
            assert_eq!((reply.kind, reply.is_end), (ReplyKind::Last(End::Answer), true));
        }
    }

    #[test]
    fn the_push_notification_methods_get_push_notification_not_supported_error() {
        let (mut world, contact) = direct();
        for method in [
            "CreateTaskPushNotificationConfig",
            "GetTaskPushNotificationConfig",
            "ListTaskPushNotificationConfigs",
            "DeleteTaskPushNotificationConfig",
        ] {
            typed(&mut world, Chat::Direct(contact), &format!("/_call a2a {}", a2a("1", method)));
            assert_eq!(code(&refusals(&mut world)[0]), -32003);
        }
    }

    #[test]
    fn a_request_of_a_version_that_is_not_served_gets_version_not_supported_error() {
        let (mut world, contact) = direct();
        let without =
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#.to_owned();
        for request in [without, a2a("1", "GetTask").replace("\"1.0\"", "\"2.0\"")] {
            typed(&mut world, Chat::Direct(contact), &format!("/_call a2a {request}"));
            assert_eq!(code(&refusals(&mut world)[0]), -32009);
        }
    }

    #[test]
    fn a_request_with_a_credential_is_not_sent_in_a_group_and_refused_there() {
        let (mut world, group) = team(&["bot"], SessionConfig::default());
        let secret =
            a2a("1", "GetTask").replace("\"1.0\"", "\"1.0\",\"authorization\":\"Bearer hunter2\"");
        let member = world.member(group, ANN, BOT);
        for to in [member.to(), To::Everyone(world.group_id(group, ANN))] {
            let error = world.call(ANN, &Call::new(A2A, to, &secret)).unwrap_err();
            assert_eq!(error, CallError::Refused(Failure::CredentialInGroup));
        }
        let chat = group_chat(&world, group);
        typed(&mut world, chat, &format!("/_call a2a {secret}"));
        let sent = refusals(&mut world);
        assert_eq!(code(&sent[0]), -32600);
        assert!(!sent[0].contains("hunter2"));
        // In a direct chat it goes through.
        let contact = world.connect(ANN, BOT);
        world.make(ANN, A2A, To::Contact(contact), &secret);
        assert!(world.request().1.text.contains("hunter2"));
    }

    #[test]
    fn commands_and_replies_are_ordinary_messages_that_people_see() {
        let (mut world, group) = team(&["bot"], SessionConfig::default());
        let person = world.net.add_profile("person").unwrap();
        world.net.join(group, person).unwrap();
        let member = world.member(group, ANN, BOT);
        world.make(ANN, A2A, member.to(), &a2a("1", "GetTask"));
        let (_, request) = world.request();
        answer(&mut world, BOT, request);
        assert!(world.reply(ANN).is_end);
        let mut texts = Vec::new();
        while let Some(event) = world.net.poll_event(person) {
            if let loopback::Event::NewItem(item) = event {
                texts.push(item.text);
            }
        }
        assert_eq!(texts.len(), 2);
        assert!(texts[0].starts_with("/_call @bot a2a {"));
        assert_eq!(texts[1], result("1", "{}"));
    }
}
