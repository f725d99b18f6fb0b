use alloc::format;
use alloc::string::{String, ToString};
use core::time::Duration;

use super::*;
use crate::binding::{Accepted, End, MAX_VERSION_LEN, Place, ProtocolName, Standard};
use crate::chat::{Inline, Me, MemberId, Mention};

const CONTACT: ContactId = ContactId(4);
const GROUP: GroupId = GroupId(9);
const BOTH: &[Service<'_, Standard>] =
    &[Service::new(Standard::MCP, &["2026-07-28"]), Service::new(Standard::A2A, &["1.0"])];
const CALLER: &str = "bVJpU2x2Q2ozMmZkVE81WA==";
const BOT: &str = "WkdPU2x2Q2ozMmZkVE81WA==";

type Machine = Responder<Standard, Inline<16>>;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn member(id: &str) -> MemberId {
    MemberId::new(id).unwrap()
}

fn me<'m>() -> Me<'m> {
    Me::new(member(BOT), "acme")
}

fn direct(id: i64, text: &str) -> Item<'_> {
    Item::direct(CONTACT, ItemId(id), text)
}

fn group(id: i64, text: &str) -> Item<'_> {
    Item::group(GROUP, member(CALLER), me(), ItemId(id), text)
}

fn mcp_request(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

fn mcp(id: &str) -> String {
    format!("/_call mcp {}", mcp_request(id))
}

fn a2a_request(method: &str, parameters: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{{}},"a2a-service-parameters":{{{parameters}}}}}"#
    )
}

fn a2a(method: &str) -> String {
    format!("/_call a2a {}", a2a_request(method, r#""A2A-Version":"1.0""#))
}

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const PROGRESS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
const WORKING: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING"}}}}"#;
const DONE: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}}"#;

/// What an item is, with errors written out.
fn seen<S: Storage>(responder: &mut Responder<Standard, S>, item: &Item<'_>) -> String {
    let mut buffer = [0; 1_024];
    match responder.handle_command(at(0), item, BOTH, &mut buffer).unwrap() {
        Received::Request(request) => {
            // It is left unanswered: the tests that want the token take it themselves.
            format!("request {}", request.id.unwrap_or("-"))
        }
        Received::Answered { transmit, .. } => {
            assert_eq!((transmit.quotes, transmit.chat), (Some(item.id), item.chat));
            format!("answered {}", transmit.text)
        }
        Received::Duplicate => "duplicate".into(),
        Received::Ignored(why) => format!("{why:?}"),
        Received::Malformed(error) => format!("{:?} {}", error.kind, error.offset),
        Received::Unanswerable { .. } => "unanswerable".into(),
        Received::NotACommand => "not a command".into(),
    }
}

#[track_caller]
fn accept<S: Storage>(responder: &mut Responder<Standard, S>, now: u64, item: &Item<'_>) -> Token {
    match responder.handle_command(at(now), item, BOTH, &mut [0; FAILURE_BUFFER]).unwrap() {
        Received::Request(request) => request.token,
        other => panic!("{other:?}"),
    }
}

// What is answered and what is not.

#[test]
fn a_protocol_that_is_not_declared_meets_silence() {
    let mut responder = Machine::default();
    assert_eq!(seen(&mut responder, &direct(1, "/_call x-1 {}")), "UndeclaredProtocol");
    assert_eq!(seen(&mut responder, &direct(2, "/_call x-1 {broken")), "UndeclaredProtocol");
    assert_eq!(seen(&mut responder, &group(3, "/_call @acme x-1 {}")), "UndeclaredProtocol");
    let item = direct(4, "/_call a2a {}");
    let received = responder.handle_command(at(0), &item, &BOTH[..1], &mut []).unwrap();
    assert!(matches!(received, Received::Ignored(Ignored::UndeclaredProtocol)));
    assert_eq!((responder.open(), responder.poll_timeout()), (0, None));
}

#[test]
fn a_malformed_command_has_its_error_and_no_answer() {
    let mut responder = Machine::default();
    for (text, kind) in [
        ("/_call ", "NoProtocol 7"),
        ("/_call  mcp {}", "Separator 7"),
        ("/_call mcp  {}", "Separator 11"),
        ("/_call MCP {}", "ProtocolByte(77) 7"),
        ("/_call @", "NoMember 8"),
        ("/_call @'acme mcp {}", "MemberQuote 8"),
        ("/_call @#acme mcp {}", "MemberStart 8"),
        ("/_call @acme, mcp {}", "MemberPunctuation 12"),
        ("/_call @acme", "NoProtocol 12"),
    ] {
        assert_eq!(seen(&mut responder, &group(1, text)), kind, "{text}");
    }
    for text in ["hello", "/call mcp {}", "/_caller mcp {}", "/_call", ""] {
        assert_eq!(seen(&mut responder, &group(1, text)), "not a command");
    }
}

#[test]
fn a_broken_request_of_a_declared_protocol_gets_its_error_with_the_id_where_readable() {
    let mut responder = Machine::default();
    for (place, (text, code, mcp_id, a2a_id)) in [
        ("{", -32700, "", "\"id\":null,"),
        (" ", -32700, "", "\"id\":null,"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"#, -32700, "\"id\":7,", "\"id\":7,"),
        (
            r#"{"jsonrpc":"2.0","id":"\u0041","method":1}"#,
            -32600,
            r#""id":"\u0041","#,
            r#""id":"\u0041","#,
        ),
        ("[]", -32600, "", "\"id\":null,"),
        (r#"{"jsonrpc":"2.0","method":"m"}"#, -32600, "", "\"id\":null,"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, -32600, "", "\"id\":null,"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, -32600, "", "\"id\":null,"),
        (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, -32600, "\"id\":7,", "\"id\":7,"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"m"} x"#, -32700, "\"id\":7,", "\"id\":7,"),
    ]
    .into_iter()
    .enumerate()
    {
        for (protocol, id) in [("mcp", mcp_id), ("a2a", a2a_id)] {
            let text = format!("/_call {protocol} {text}");
            if text.ends_with("  ") {
                continue;
            }
            let answer = seen(&mut responder, &direct(place as i64, &text));
            let start = format!(r#"answered {{"jsonrpc":"2.0",{id}"error":{{"code":{code},"#);
            assert!(answer.starts_with(&start), "{text}: {answer}");
            responder = Machine::default();
        }
    }
    // The protocol is known, the request is not there at all.
    for text in ["/_call mcp", "/_call @acme mcp"] {
        let answer = seen(&mut responder, &group(90, text));
        assert!(answer.contains("-32700"), "{answer}");
        responder = Machine::default();
    }
    let deep = format!("/_call mcp {{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    assert!(seen(&mut responder, &direct(91, &deep)).contains("-32700"));
    assert_eq!(responder.open(), 0);
}

#[test]
fn versions_and_push_methods_get_their_protocols_errors() {
    let mut responder = Machine::default();
    let old = mcp("1").replace("2026-07-28", "2025-11-25");
    assert!(seen(&mut responder, &direct(1, &old)).contains("\"code\":-32022,"));
    for (id, parameters) in [(2, r#""A2A-Version":"2.0""#), (3, "")] {
        let text = format!("/_call a2a {}", a2a_request("GetTask", parameters));
        assert!(seen(&mut responder, &direct(id, &text)).contains("\"code\":-32009,"));
    }
    for (id, method) in [
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    ]
    .into_iter()
    .enumerate()
    {
        let text = a2a(method);
        for item in [direct(10 + id as i64, &text), group(20 + id as i64, &text)] {
            assert!(seen(&mut responder, &item).contains("\"code\":-32003,"));
        }
    }
}

#[test]
fn a_credential_in_a_group_is_refused_and_in_a_direct_chat_is_not() {
    let mut responder = Machine::default();
    let parameters = r#""A2A-Version":"1.0","authorization":"Bearer hunter2""#;
    let text = format!("/_call a2a {}", a2a_request("GetTask", parameters));
    let answer = seen(&mut responder, &group(1, &text));
    assert!(answer.contains("\"code\":-32600,") && answer.contains("CREDENTIAL_IN_GROUP"));
    assert!(!answer.contains("hunter2"));
    assert_eq!(responder.open(), 0);
    assert_eq!(seen(&mut responder, &direct(2, &text)), "request 2");
}

// Who is meant.

#[test]
fn a_broadcast_is_answered_whatever_is_mentioned_inside_its_request() {
    let mut responder = Machine::default();
    let text = mcp("1").replace("tools/call", "@eve tools");
    let mentions = [Mention::new("eve", "eve")];
    assert_eq!(seen(&mut responder, &group(1, &text).mentioning(&mentions)), "request 1");
    let mut item = group(2, &text);
    item.me = None;
    assert_eq!(seen(&mut responder, &item), "request 1");
}

#[test]
fn with_a_mention_map_only_the_member_id_decides() {
    let mut responder = Machine::default();
    let request = mcp_request("1");
    let named = |name: &str| format!("/_call @{name} mcp {request}");
    let (acme, other) = (named("acme"), named("'some body'"));
    let map = |name, id| [Mention::new(name, id)];
    // Another member that bears our name, and our id under another name.
    assert_eq!(
        seen(&mut responder, &group(1, &acme).mentioning(&map("acme", "eve"))),
        "OtherMember"
    );
    assert_eq!(
        seen(&mut responder, &group(2, &other).mentioning(&map("some body", BOT))),
        "request 1"
    );
    // The map names us, but not as the one who is called.
    assert_eq!(
        seen(&mut responder, &group(3, &other).mentioning(&map("acme", BOT))),
        "OtherMember"
    );
    let both = [Mention::new("acme", BOT), Mention::new("some body", "eve")];
    assert_eq!(seen(&mut responder, &group(4, &other).mentioning(&both)), "OtherMember");
    assert_eq!(seen(&mut responder, &group(5, &acme).mentioning(&both)), "request 1");
    // With a map, a shared name is no matter.
    let mut shared = group(6, &acme);
    shared.me = Some(me().name_is_shared(true));
    assert_eq!(seen(&mut responder, &shared.mentioning(&both)), "request 1");
    // Ids are compared byte by byte.
    let lower = BOT.to_lowercase();
    assert_eq!(
        seen(&mut responder, &group(7, &acme).mentioning(&map("acme", &lower))),
        "OtherMember"
    );
}

#[test]
fn with_an_empty_map_the_own_name_decides_exactly() {
    let mut responder = Machine::default();
    let request = mcp_request("1");
    for (id, (name, what)) in [
        ("acme", "request 1"),
        ("'acme'", "request 1"),
        ("Acme", "OtherMember"),
        ("acme_1", "OtherMember"),
        ("acm", "OtherMember"),
        ("'acme '", "OtherMember"),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("/_call @{name} mcp {request}");
        assert_eq!(seen(&mut responder, &group(id as i64, &text)), what, "{name}");
    }
    let text = format!("/_call @acme mcp {request}");
    let mut item = group(20, &text);
    item.me = Some(me().name_is_shared(true));
    assert_eq!(seen(&mut responder, &item), "AmbiguousName");
    item.me = None;
    assert_eq!(seen(&mut responder, &item), "OtherMember");
    // What is not for us is not answered, however broken.
    let broken = group(21, "/_call @eve mcp {");
    assert_eq!(seen(&mut responder, &broken), "OtherMember");
}

#[test]
fn a_mention_in_a_direct_chat_is_malformed() {
    let mut responder = Machine::default();
    let text = format!("/_call @acme mcp {}", mcp_request("1"));
    let mut item = direct(1, &text);
    item.me = Some(me());
    assert_eq!(seen(&mut responder, &item), "MemberInDirectChat 7");
}

// Twice and edited.

#[test]
fn a_command_is_answered_once() {
    let mut responder = Machine::default();
    let text = mcp("1");
    let item = direct(1, &text);
    let token = accept(&mut responder, 0, &item);
    assert_eq!(seen(&mut responder, &item), "duplicate");
    assert_eq!(seen(&mut responder, &item.edit()), "duplicate");
    let _ = responder.respond(at(0), token, ANSWER, &mut []).unwrap();
    assert_eq!(seen(&mut responder, &item), "duplicate");
    // The same number in another conversation is another item.
    assert_eq!(seen(&mut responder, &group(1, &text)), "request 1");
    for contact in 5..200 {
        let elsewhere = Item::direct(ContactId(contact), ItemId(1), &text);
        assert_ne!(seen(&mut responder, &elsewhere), "duplicate");
    }
    // An edit makes no command.
    assert_eq!(seen(&mut responder, &direct(2, &text).edit()), "duplicate");
}

#[test]
fn a_command_that_got_an_error_at_once_is_not_answered_again() {
    let mut responder = Responder::<Standard, Inline<1>>::default();
    for id in 0..8 {
        assert!(seen(&mut responder, &direct(id, "/_call mcp {")).starts_with("answered"));
    }
    for id in 0..8 {
        assert_eq!(seen(&mut responder, &direct(id, "/_call mcp {")), "duplicate");
    }
    // A command that was turned away stays so, once there is room.
    let text = mcp("1");
    let token = accept(&mut responder, 0, &direct(20, &text));
    assert!(seen(&mut responder, &direct(21, &text)).contains("\"reason\":\"busy\""));
    let _ = responder.respond(at(0), token, ANSWER, &mut []).unwrap();
    assert_eq!(seen(&mut responder, &direct(21, &text)), "duplicate");
    assert_eq!(seen(&mut responder, &direct(22, &text)), "request 1");
}

#[test]
fn an_answered_command_is_known_when_its_entry_is_in_use_again() {
    let mut responder = Responder::<Standard, Inline<1>>::default();
    let text = mcp("1");
    for id in 0..20 {
        let token = accept(&mut responder, 0, &direct(id, &text));
        let _ = responder.respond(at(0), token, ANSWER, &mut []).unwrap();
        for before in (id - 7).max(0)..=id {
            assert_eq!(seen(&mut responder, &direct(before, &text)), "duplicate");
        }
    }
}

#[test]
fn an_edited_command_changes_the_room_for_its_replies() {
    let mut responder = Machine::default();
    let text = mcp("1");
    let token = accept(&mut responder, 0, &direct(1, &text));
    let room = responder.budget(&token).unwrap().remaining();
    let longer = format!("{text}{}", " ".repeat(1_000));
    assert_eq!(seen(&mut responder, &direct(1, &longer).edit()), "duplicate");
    assert_eq!(responder.budget(&token).unwrap().remaining(), room - 1_000);
    // Whatever the new text is, the core quotes it.
    assert_eq!(seen(&mut responder, &direct(1, "never mind").edit()), "duplicate");
    let left = responder.budget(&token).unwrap().remaining();
    assert!(left > room);
    // Unless nothing would fit any more.
    let huge = "x".repeat(15_500);
    assert_eq!(seen(&mut responder, &direct(1, &huge).edit()), "duplicate");
    assert_eq!(responder.budget(&token).unwrap().remaining(), left);
    let _ = responder.respond(at(0), token, ANSWER, &mut []).unwrap();
    assert_eq!(seen(&mut responder, &direct(1, "never mind").edit()), "not a command");
}

// Bounds.

#[test]
fn a_full_table_says_so_to_the_caller() {
    let mut responder = Responder::<Standard, Inline<2>>::default();
    let text = mcp("\"a\"");
    let first = accept(&mut responder, 0, &direct(1, &text));
    accept(&mut responder, 0, &direct(2, &text)).key();
    assert_eq!(
        seen(&mut responder, &direct(3, &text)),
        r#"answered {"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"too many calls are open","data":{"reason":"busy","capacity":2}}}"#
    );
    assert_eq!((responder.open(), responder.capacity()), (2, 2));
    let _ = responder.fail(at(0), first, &Failure::Internal, &mut [0; FAILURE_BUFFER]).unwrap();
    assert_eq!(seen(&mut responder, &direct(4, &text)), "request \"a\"");
}

#[test]
fn an_id_that_cannot_be_kept_is_refused_and_not_repeated() {
    let long = |len: usize| format!("\"{}\"", "i".repeat(len - 2));
    let mut responder = Machine::default();
    let kept = long(Inline::<16>::ID_LIMIT);
    assert_eq!(seen(&mut responder, &direct(1, &mcp(&kept))), format!("request {kept}"));
    let answer = seen(&mut responder, &direct(2, &mcp(&long(Inline::<16>::ID_LIMIT + 1))));
    assert!(answer.starts_with(r#"answered {"jsonrpc":"2.0","error":{"code":-32600,"#), "{answer}");
    assert!(answer.contains(r#""reason":"id_too_long","size":65,"limit":64"#), "{answer}");
    // The same in the errors of a request that is refused for something else.
    let refused = mcp(&long(10_000)).replace("2026-07-28", "2025-11-25");
    let answer = seen(&mut responder, &direct(3, &refused));
    assert!(answer.starts_with(r#"answered {"jsonrpc":"2.0","error":{"code":-32022,"#), "{answer}");
}

#[cfg(feature = "alloc")]
#[test]
fn a_growable_responder_keeps_long_ids_and_bounds_its_errors() {
    let long = |len: usize| format!("\"{}\"", "i".repeat(len - 2));
    let mut responder = Responder::<Standard, crate::chat::Growable>::default();
    let id = long(5_000);
    assert_eq!(seen(&mut responder, &direct(1, &mcp(&id))), format!("request {id}"));
    // An id that no error could repeat asks for no buffer of its size.
    let refused = mcp(&long(1 << 20)).replace("2026-07-28", "2025-11-25");
    for text in [refused, mcp(&long(1 << 20)), mcp(&long(8_000))] {
        assert_eq!(seen(&mut responder, &direct(2, &text)), "unanswerable");
    }
}

// Room.

/// A command of this many bytes.
fn padded(len: usize) -> String {
    let bare = mcp("1");
    let pad = len - bare.len() - r#""x":"","#.len();
    bare.replacen(r#""id":1"#, &format!(r#""x":"{}","id":1"#, "p".repeat(pad)), 1)
}

/// A last reply whose escaped length is this.
fn answer_of(escaped: usize) -> String {
    let bare = r#"{"jsonrpc":"2.0","id":1,"result":{"x":""}}"#;
    bare.replace("\"\"", &format!("\"{}\"", "r".repeat(escaped - escaped_len(bare))))
}

#[test]
fn a_reply_is_measured_with_the_real_quote() {
    for len in [400, 7_000, 14_000] {
        let text = padded(len);
        for (base, quote, worst) in [
            (direct(1, &text), 137, 13),
            (group(1, &text), 175, 13),
            (direct(1, &text).ttl(86_400), 137 + 12, 13),
            (Item::new(Chat::Group(GROUP), Sender::Channel, ItemId(1), &text), 137, 13),
        ] {
            for (item, time) in [(base, worst), (base.at("2026-11-30T14:50:04Z"), 0)] {
                let room = 15_602 - 114 - quote - time - escaped_len(&text);
                for (reply, fits) in [(room - 1, true), (room, true), (room + 1, false)] {
                    let mut responder = Machine::default();
                    let token = accept(&mut responder, 0, &item);
                    assert_eq!(responder.budget(&token).unwrap().remaining(), room);
                    let reply = answer_of(reply);
                    let mut buffer = [0; FAILURE_BUFFER];
                    let answer = responder.respond(at(0), token, &reply, &mut buffer).unwrap();
                    let size = answer.transmit.size.bytes();
                    assert!(size <= 15_602);
                    assert_eq!(responder.open(), 0);
                    #[cfg(feature = "alloc")]
                    assert_eq!(encoded(&item, &answer.transmit), size - time);
                    if fits {
                        assert_eq!((answer.replaced, answer.transmit.text), (None, &*reply));
                    } else {
                        let why = answer.replaced.unwrap();
                        assert_eq!((why.needed, why.limit), (15_603, 15_602));
                        assert_eq!(
                            answer.transmit.text,
                            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the answer does not fit into one message","data":{"reason":"too_large","size":15603,"limit":15602}}}"#
                        );
                    }
                }
            }
        }
    }
}

/// The length of the reply's whole message as the chat core writes it.
#[cfg(feature = "alloc")]
fn encoded(item: &Item<'_>, transmit: &Transmit<'_>) -> usize {
    use crate::chat::encode::{WireMessage, WireQuote, encode};
    let id = "dXQ3UnhqVi9YSnhCTlhydg==";
    let mut quote = WireQuote::new(item.text, id, "2026-11-30T14:50:04Z");
    let author = match item.sender {
        Sender::Member(_) => Some(CALLER),
        _ => None,
    };
    quote.member_id = author;
    let mut wire = WireMessage::new(id, transmit.text);
    wire.quote = Some(quote);
    wire.ttl = item.ttl;
    encode(&wire).len()
}

#[test]
fn a_truncated_quote_and_a_group_margin_are_options() {
    let text = padded(7_000);
    let escaped = escaped_len(&text);
    let config = ResponderConfig {
        quote_limit: Some(100),
        group_margin: Margin::Relayed,
        ..ResponderConfig::default()
    };
    let mut responder = Machine::with_limit(config, 16);
    let room = |responder: &mut Machine, item: &Item<'_>| {
        let token = accept(responder, 0, item);
        responder.budget(&token).unwrap().remaining()
    };
    assert_eq!(room(&mut responder, &direct(1, &text)), 15_351 - 13 - 100);
    assert_eq!(room(&mut responder, &group(2, &text)), 15_313 - 13 - 100 - 160);
    let mut plain = Machine::default();
    assert_eq!(room(&mut plain, &group(2, &text)), 15_313 - 13 - escaped);
}

#[test]
fn a_command_that_leaves_no_room_for_an_error_is_unanswerable() {
    let shortest = shortest_failure(Standard::MCP, Some("1"));
    let base = escaped_len(&mcp("1")) + r#"\"x\":\"\","#.len();
    let fits = 15_351 - 13 - shortest;
    let text = |escaped: usize| padded(mcp("1").len() + 7 + escaped - base);
    let mut responder = Machine::default();
    assert_eq!(seen(&mut responder, &direct(1, &text(fits))), "request 1");
    let over = text(fits + 1);
    let broken = over.replace("\"2.0\"", "\"1.0\"");
    for text in [over, broken] {
        let item = direct(2, &text);
        let received = responder.handle_command(at(0), &item, BOTH, &mut []).unwrap();
        let Received::Unanswerable { room, needed } = received else { panic!("{received:?}") };
        assert_eq!((room, needed), (shortest - 1, shortest));
    }
    // The handler's failure fits where the command was accepted, with nothing to spare.
    let mut buffer = [0; FAILURE_BUFFER];
    let end = responder.handle_timeout(at(120_000), &mut buffer).unwrap().unwrap();
    assert_eq!(end.transmit.size.bytes(), 15_602);
    assert!(end.transmit.text.contains("the handler failed"));
}

#[test]
fn the_shortest_error_is_measured_exactly() {
    let mut state: u64 = 1;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let pieces = ["a", "\\\"", "\\\\", "\\n", "\\u0041", "é", "😀", "\u{7f}", "/"];
    for round in 0..500 {
        let mut id = String::from("\"");
        for _ in 0..random(600) {
            id.push_str(pieces[random(pieces.len())]);
        }
        id.push('"');
        let id = match round % 4 {
            0 => None,
            1 => Some("-1.0e0"),
            _ => Some(id.as_str()),
        };
        for binding in [Standard::MCP, Standard::A2A] {
            let mut buffer = [0; 8_192];
            let mut out = Writer::new(&mut buffer);
            binding.write_failure(&Failure::Internal, id, &mut out);
            assert_eq!(shortest_failure(binding, id), escaped_len(out.finish().unwrap()));
        }
    }
}

#[test]
fn the_failure_buffer_holds_every_error_of_the_standard_bindings() {
    let longest = "the name of a service parameter is empty or longer than 128 bytes";
    let version = format!("\"{}\"", "v".repeat(MAX_VERSION_LEN - 2));
    let requested = crate::json::Value::parse(&version).unwrap().as_str();
    let json = crate::json::Error::new(crate::json::ErrorKind::UnexpectedEnd, usize::MAX);
    let one = ["1"; 64];
    let dates = ["2026-07-28"; 6];
    let id = format!("\"{}\"", "i".repeat(Inline::<1>::ID_LIMIT - 2));
    let max = usize::MAX;
    let version = |served| Failure::UnsupportedVersion { requested, served };
    for failure in [
        Failure::Parse(json),
        Failure::InvalidMessage(crate::jsonrpc::Fault::Json(json)),
        Failure::InvalidRequest(longest),
        Failure::InvalidParams(longest),
        Failure::MethodNotFound,
        version(&one),
        version(&dates),
        Failure::PushNotSupported,
        Failure::CredentialInGroup,
        Failure::TooLarge { needed: max, limit: max },
        Failure::IdTooLong { len: max, limit: max },
        Failure::Busy { capacity: max },
        Failure::TimedOut,
        Failure::Internal,
        Failure::Expired,
        Failure::OutcomeUnknown,
        Failure::RateLimited { retry_after: u32::MAX },
        Failure::QuotaExceeded { retry_after: u32::MAX },
        Failure::NotAllowed,
        Failure::NotApproved,
    ] {
        for binding in [Standard::MCP, Standard::A2A] {
            let mut buffer = [0; FAILURE_BUFFER];
            let mut out = Writer::new(&mut buffer);
            binding.write_failure(&failure, Some(&id), &mut out);
            assert!(out.needed() <= FAILURE_BUFFER, "{binding:?} {failure:?} {}", out.needed());
            crate::json::Value::parse(out.finish().unwrap()).unwrap();
        }
    }
}

#[test]
fn a_short_buffer_says_exactly_what_is_needed_and_nothing_changes() {
    let mut responder = Responder::<Standard, Inline<1>>::default();
    let broken = direct(1, "/_call mcp {");
    let error = responder.handle_command(at(0), &broken, BOTH, &mut []).unwrap_err();
    let short = &mut [0; FAILURE_BUFFER][..error.needed - 1];
    assert_eq!(
        responder.handle_command(at(0), &broken, BOTH, short).unwrap_err().needed,
        error.needed
    );
    let exact = &mut [0; FAILURE_BUFFER][..error.needed];
    let received = responder.handle_command(at(0), &broken, BOTH, exact).unwrap();
    assert!(matches!(received, Received::Answered { .. }));

    let text = a2a("SendStreamingMessage");
    let mut token = accept(&mut responder, 0, &direct(2, &text));
    let due = responder.poll_timeout();
    let needed = |error: &AnswerError| match error {
        AnswerError::Buffer(error) => error.needed,
        other => panic!("{other:?}"),
    };
    let large = DONE.replace("\"t\"", &format!("\"{}\"", "t".repeat(16_000)));
    let mut enough = 0;
    for _ in 0..2 {
        let error = responder.respond(at(5), token, &large, &mut [0; 9]).unwrap_err();
        enough = needed(&error.cause);
        token = error.token;
        let error = responder.fail(at(5), token, &Failure::Internal, &mut []).unwrap_err();
        assert!(needed(&error.cause) > 100);
        token = error.token;
        assert_eq!((responder.open(), responder.poll_timeout()), (1, due));
    }
    let part = WORKING.replace("\"t\"", &format!("\"{}\"", "t".repeat(16_000)));
    let error = responder.notify(at(5), &token, &part, &mut []).unwrap_err();
    assert_eq!(needed(&error), enough);
    let short = responder.handle_timeout(at(120_000), &mut [0; 9]).unwrap_err();
    assert_eq!(responder.open(), 1);
    let mut buffer = [0; FAILURE_BUFFER];
    let end = responder.handle_timeout(at(120_000), &mut buffer[..short.needed]).unwrap().unwrap();
    assert_eq!((end.token, responder.open()), (token.key(), 0));
}

// Answers.

#[test]
fn replies_of_a_stream_are_sent_in_order_and_end_with_its_last() {
    let mut responder = Machine::default();
    let text = a2a("SendStreamingMessage");
    let token = accept(&mut responder, 0, &group(1, &text));
    for _ in 0..3 {
        let answer = responder.notify(at(0), &token, WORKING, &mut []).unwrap();
        assert_eq!((answer.transmit.text, answer.transmit.quotes), (WORKING, Some(ItemId(1))));
        assert_eq!(answer.transmit.chat, Chat::Group(GROUP));
    }
    assert_eq!(responder.notify(at(0), &token, DONE, &mut []), Err(AnswerError::IsLast));
    let error = responder.respond(at(0), token, WORKING, &mut []).unwrap_err();
    assert_eq!(error.cause, AnswerError::NotLast);
    assert_eq!(responder.classify(&error.token, DONE), Some(Class::Last(End::Terminal)));
    let answer = responder.respond(at(0), error.token, DONE, &mut []).unwrap();
    assert_eq!((answer.transmit.text, answer.replaced, responder.open()), (DONE, None, 0));
}

#[test]
fn what_is_no_answer_to_the_request_is_refused_and_the_token_comes_back() {
    let mut responder = Machine::default();
    let text = mcp("1");
    let mut token = accept(&mut responder, 0, &direct(1, &text));
    let due = responder.poll_timeout();
    for wrong in [
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#,
        "done",
        "",
    ] {
        let error = responder.notify(at(9), &token, wrong, &mut []).unwrap_err();
        assert!(matches!(error, AnswerError::NotAnAnswer(_)), "{wrong}");
        let error = responder.respond(at(9), token, wrong, &mut []).unwrap_err();
        assert!(matches!(error.cause, AnswerError::NotAnAnswer(_)), "{wrong}");
        token = error.token;
    }
    // It has not kept the command alive either.
    assert_eq!(responder.poll_timeout(), due);
    assert!(responder.respond(at(9), token, ANSWER, &mut []).is_ok());
}

#[test]
fn a_part_that_does_not_fit_ends_the_stream_with_the_error() {
    let mut responder = Machine::default();
    let text = a2a("SubscribeToTask");
    let token = accept(&mut responder, 0, &direct(1, &text));
    let _ = responder.notify(at(0), &token, WORKING, &mut []).unwrap();
    let part = WORKING.replace("\"t\"", &format!("\"{}\"", "t".repeat(16_000)));
    let mut buffer = [0; FAILURE_BUFFER];
    let answer = responder.notify(at(0), &token, &part, &mut buffer).unwrap();
    assert!(answer.replaced.unwrap().needed > 15_602);
    assert!(answer.transmit.text.contains("\"code\":-32603,"));
    assert_eq!(responder.open(), 0);
    assert_eq!(responder.notify(at(0), &token, WORKING, &mut []), Err(AnswerError::Gone));
    assert_eq!(
        responder.respond(at(0), token, DONE, &mut []).unwrap_err().cause,
        AnswerError::Gone
    );
}

#[test]
fn a_notification_that_does_not_fit_is_left_out_and_the_answer_goes_on() {
    let mut responder = Machine::default();
    let text = mcp("1");
    let token = accept(&mut responder, 0, &direct(1, &text));
    let room = responder.budget(&token).unwrap().remaining();
    let due = responder.poll_timeout();
    let of = |escaped: usize| {
        let bare = escaped_len(PROGRESS) + r#"\"x\":\"\""#.len();
        PROGRESS.replace("{}", &format!("{{\"x\":\"{}\"}}", "p".repeat(escaped - bare)))
    };
    let error = responder.notify(at(9), &token, &of(room + 1), &mut []).unwrap_err();
    let AnswerError::TooLarge(error) = error else { panic!("{error:?}") };
    assert_eq!((error.needed, error.limit), (15_603, 15_602));
    assert_eq!((responder.open(), responder.poll_timeout()), (1, due));
    let exact = of(room);
    let answer = responder.notify(at(9), &token, &exact, &mut []).unwrap();
    assert_eq!(answer.transmit.size.bytes(), 15_602);
    assert!(responder.respond(at(9), token, ANSWER, &mut []).is_ok());
}

#[test]
fn a_failure_is_the_last_reply_with_the_exact_id() {
    let mut responder = Machine::default();
    for (place, id) in ["1.0", "\"caf\\u00e9\"", "-7", "1e2"].into_iter().enumerate() {
        let token = accept(&mut responder, 0, &direct(place as i64, &mcp(id)));
        let mut buffer = [0; FAILURE_BUFFER];
        let sent = responder.fail(at(0), token, &Failure::MethodNotFound, &mut buffer).unwrap();
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"#);
        assert!(sent.text.starts_with(&start), "{}", sent.text);
    }
    assert_eq!(responder.open(), 0);
}

// Time.

#[test]
fn a_silent_handler_is_answered_for_at_its_limit_and_not_before() {
    let config = ResponderConfig {
        overall: Duration::from_millis(1_000),
        idle: Duration::from_millis(400),
        ..ResponderConfig::default()
    };
    let text = mcp("\"a\"");
    for late in [0, 1, 1_000_000] {
        let mut responder = Machine::with_limit(config, 16);
        let mut buffer = [0; FAILURE_BUFFER];
        let token = accept(&mut responder, 0, &direct(1, &text));
        assert_eq!(responder.poll_timeout(), Some(at(400)));
        assert_eq!(responder.handle_timeout(at(399), &mut buffer), Ok(None));
        let _ = responder.notify(at(399), &token, PROGRESS, &mut []).unwrap();
        assert_eq!(responder.poll_timeout(), Some(at(799)));
        let _ = responder.notify(at(798), &token, PROGRESS, &mut []).unwrap();
        // The overall limit is never extended.
        assert_eq!(responder.poll_timeout(), Some(at(1_000)));
        assert_eq!(responder.handle_timeout(at(999), &mut buffer), Ok(None));
        let end = responder.handle_timeout(at(1_000 + late), &mut buffer).unwrap().unwrap();
        assert_eq!((end.token, end.transmit.quotes), (token.key(), Some(ItemId(1))));
        assert_eq!(
            end.transmit.text,
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"no answer came in time","data":{"reason":"timeout"}}}"#
        );
        assert_eq!(responder.handle_timeout(at(2_000_000), &mut buffer), Ok(None));
        assert_eq!(responder.poll_timeout(), None);
        // The handler comes too late, whatever it does.
        assert_eq!(responder.notify(at(0), &token, PROGRESS, &mut []), Err(AnswerError::Gone));
        assert!(responder.budget(&token).is_none() && responder.classify(&token, "").is_none());
        let error = responder.respond(at(0), token, ANSWER, &mut []).unwrap_err();
        assert_eq!(error.cause, AnswerError::Gone);
        let error = responder.fail(at(0), error.token, &Failure::Internal, &mut []).unwrap_err();
        assert_eq!(error.cause, AnswerError::Gone);
        assert_eq!(seen(&mut responder, &direct(1, &text)), "duplicate");
    }
}

#[test]
fn an_answer_after_the_limit_is_taken_until_handle_timeout_has_said_otherwise() {
    let mut responder = Machine::default();
    let text = mcp("1");
    let token = accept(&mut responder, 0, &direct(1, &text));
    assert!(responder.respond(at(u64::MAX), token, ANSWER, &mut []).is_ok());
}

#[test]
fn time_never_runs_backwards() {
    let mut responder = Machine::default();
    let text = mcp("1");
    assert_eq!(responder.handle_timeout(at(5_000), &mut []), Ok(None));
    accept(&mut responder, 0, &direct(1, &text)).key();
    assert_eq!(responder.poll_timeout(), Some(at(125_000)));
    assert_eq!(responder.handle_timeout(at(0), &mut []), Ok(None));
}

/// A binding whose errors repeat the id more often than their measure knows.
#[derive(Clone, Copy, Debug)]
struct Repeats;

impl Binding for Repeats {
    fn name(&self) -> ProtocolName<'static> {
        ProtocolName::new("repeats").unwrap()
    }

    fn accept<'m>(
        &self,
        _: &'m str,
        _: &'m [&'m str],
        _: Place,
    ) -> Result<Accepted<'m>, Refusal<'m>> {
        Ok(Accepted::new(Expectation::default(), Some("0123456789")))
    }

    fn classify<'m>(&self, _: &Expectation, _: &'m str) -> Class<'m> {
        Class::Last(End::Answer)
    }

    fn write_failure(&self, _: &Failure<'_>, id: Option<&str>, out: &mut Writer<'_>) {
        for _ in 0..2_000 {
            out.raw(id.unwrap_or_default());
        }
    }
}

#[test]
fn an_error_that_cannot_be_written_does_not_hold_up_the_others() {
    let services = [Service::new(Repeats, &[])];
    let mut responder = Responder::<Repeats, Inline<4>>::default();
    let mut buffer = alloc::vec![0; 32_768];
    let item = direct(1, "/_call repeats {}");
    let received = responder.handle_command(at(0), &item, &services, &mut buffer).unwrap();
    let Received::Request(request) = received else { panic!() };
    let large = "x".repeat(16_000);
    let error = responder.respond(at(0), request.token, &large, &mut buffer).unwrap_err();
    assert!(matches!(error.cause, AnswerError::TooLarge(_)));
    assert_eq!(responder.handle_timeout(at(120_000), &mut buffer), Ok(None));
    assert_eq!((responder.open(), responder.poll_timeout()), (0, None));
}

#[test]
fn debug_shows_no_text() {
    let mut responder = Machine::default();
    let text = mcp("\"hunter2\"");
    let item = direct(1, &text);
    let received = responder.handle_command(at(0), &item, BOTH, &mut []).unwrap();
    let shown = format!("{received:?} {item:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    let answer = seen(&mut responder, &direct(2, "/_call mcp {\"hunter2\""));
    assert!(!answer.contains("hunter2"));
    assert!(!format!("{responder:?}").is_empty() && !AnswerError::IsLast.to_string().is_empty());
}

#[cfg(target_pointer_width = "64")]
#[test]
fn the_responder_takes_no_more_memory_than_measured() {
    let of_16 = size_of::<Responder<Standard, Inline<16>>>();
    let of_32 = size_of::<Responder<Standard, Inline<32>>>();
    std::println!("{of_16} bytes for 16 commands, {} each", (of_32 - of_16) / 16);
    assert!(of_16 <= 3_328, "{of_16}");
    assert!((of_32 - of_16) / 16 <= 188, "{}", (of_32 - of_16) / 16);
    assert!(size_of::<Open<Standard, <Inline<16> as Storage>::Text>>() <= 144);
}
