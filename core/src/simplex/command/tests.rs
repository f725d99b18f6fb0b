use super::*;
use crate::chat::GroupMemberId;
use crate::json::{BufferTooSmall, Value};
use crate::simplex::{ContactRequestId, UserId};
use std::string::{String, ToString};

const USER: UserId = UserId(1);

fn written(command: Command<'_>) -> String {
    let mut buffer = [0; 1_024];
    command.write(&mut buffer).unwrap().into()
}

fn refusal(command: Command<'_>) -> CommandError {
    let error = command.write(&mut [0; 1_024]).unwrap_err();
    assert_eq!(command.write_frame("1", &mut [0; 1_024]), Err(error));
    assert!(!error.to_string().is_empty());
    error
}

fn object(text: &str) -> Object<'_> {
    Object::parse(text).unwrap()
}

#[test]
fn every_command_is_written_as_the_grammar_reads_it() {
    let group = GroupId(2);
    let contact = ContactId(4);
    let link = "https://smp.example/a#abc";
    let commands = [
        (Command::Version, "/v"),
        (Command::ActiveUser, "/u"),
        (Command::Users, "/users"),
        (Command::SetActiveUser(USER), "/_user 1"),
        (Command::Start(Start::default()), "/_start main=on"),
        (
            Command::Start(Start {
                main: true,
                send_files: Some(false),
                service_requests: Some(true),
            }),
            "/_start main=on snd_files=off service_requests=on",
        ),
        (Command::Stop, "/_stop"),
        (
            Command::ConnectPlan { user: USER, target: link },
            "/_connect plan 1 https://smp.example/a#abc",
        ),
        (
            Command::Connect {
                user: USER,
                incognito: Some(true),
                full_link: "simplex:/x",
                short_link: Some(link),
            },
            "/_connect 1 incognito=on simplex:/x https://smp.example/a#abc",
        ),
        (
            Command::Connect {
                user: USER,
                incognito: None,
                full_link: "simplex:/x",
                short_link: None,
            },
            "/_connect 1 simplex:/x",
        ),
        (
            Command::ConnectTo { incognito: true, target: "@acme.simplex" },
            "/connect incognito @acme.simplex",
        ),
        (
            Command::ConnectTo { incognito: false, target: link },
            "/connect https://smp.example/a#abc",
        ),
        (
            Command::CreateAddress { user: USER, pq_ratchet: Some(true) },
            "/_address 1 pq_ratchet=on",
        ),
        (Command::CreateAddress { user: USER, pq_ratchet: None }, "/_address 1"),
        (Command::ShowAddress(USER), "/_show_address 1"),
        (
            Command::ShortLinkAddress { user: USER, pq_ratchet: Some(false) },
            "/_short_link_address 1 pq_ratchet=off",
        ),
        (
            Command::AddressSettings {
                user: USER,
                pq_ratchet: Some(true),
                settings: object(r#"{"businessAddress":false}"#),
            },
            r#"/_address_settings 1 pq_ratchet=on {"businessAddress":false}"#,
        ),
        (Command::RotateAddressKeys(USER), "/_rotate_address_keys 1"),
        (
            Command::SetProfile { user: USER, profile: object(r#"{"displayName":"bot"}"#) },
            r#"/_profile 1 {"displayName":"bot"}"#,
        ),
        (Command::SetGroupProfile { group, profile: object("{}") }, "/_group_profile #2 {}"),
        (
            Command::SetContactPreferences { contact, preferences: object("{}") },
            "/_set prefs @4 {}",
        ),
        (Command::Members(group), "/_members #2"),
        (Command::Accept { request: ContactRequestId(9), incognito: None }, "/_accept 9"),
        (
            Command::Accept { request: ContactRequestId(9), incognito: Some(false) },
            "/_accept incognito=off 9",
        ),
        (Command::Contacts(USER), "/_contacts 1"),
        (Command::GetChats { user: USER, count: 7 }, "/_get chats 1 pcc=off count=7"),
        (Command::Groups(USER), "/_groups 1"),
        (
            Command::GetChat { chat: Chat::Direct(contact).into(), page: Page::Last { count: 10 } },
            "/_get chat @4 count=10",
        ),
        (
            Command::GetChat {
                chat: Chat::Group(group).into(),
                page: Page::After { item: ItemId(7), count: 100 },
            },
            "/_get chat #2 after=7 count=100",
        ),
        (
            Command::GetChat {
                chat: Chat::Group(group).into(),
                page: Page::Before { item: ItemId(7), count: 1 },
            },
            "/_get chat #2 before=7 count=1",
        ),
        (
            Command::ServiceRequest {
                user: USER,
                target: link,
                timeout: Some(Duration::from_millis(2_050)),
                sign_key: Some(SignKey::new("MC4C")),
                request: object(r#"{"protocol":"mcp"}"#),
            },
            r#"/_service_request 1 https://smp.example/a#abc timeout=2.050 sign_key=MC4C {"protocol":"mcp"}"#,
        ),
        (
            Command::ServiceRequest {
                user: USER,
                target: "@acme.simplex",
                timeout: None,
                sign_key: None,
                request: object("{}"),
            },
            "/_service_request 1 @acme.simplex {}",
        ),
        (
            Command::ServiceResponse { user: USER, request_id: "cmVx", response: object("{}") },
            "/_service_response 1 cmVx {}",
        ),
        (Command::Raw("/_rcv_files"), "/_rcv_files"),
    ];
    for (command, text) in commands {
        assert_eq!(written(command), text);
        assert!(written(command).starts_with(command.word()) || matches!(command, Command::Raw(_)));
    }
}

#[test]
fn a_send_has_its_options_in_the_grammars_order() {
    let messages = [Composed::new("hi")];
    let send = |options| Command::Send {
        to: Chat::Group(GroupId(2)).into(),
        options,
        messages: &messages,
    };
    let tail = r#" json [{"msgContent":{"type":"text","text":"hi"},"mentions":{}}]"#;
    let none = SendOptions::default();
    let all = SendOptions { live: Some(true), ttl: Some(Ttl::Seconds(60)), sign: Some(true) };
    let ttl = SendOptions { ttl: Some(Ttl::ChatDefault), ..none };
    assert_eq!(written(send(none)), std::format!("/_send #2{tail}"));
    assert_eq!(written(send(all)), std::format!("/_send #2 live=on ttl=60 sign=on{tail}"));
    assert_eq!(written(send(ttl)), std::format!("/_send #2 ttl=default{tail}"));
}

#[test]
fn mentions_go_by_group_member_id() {
    let mentions = [("acme", GroupMemberId(7)), ("na me", GroupMemberId(8))];
    let messages = [Composed::new("x").mentioning(&mentions)];
    let to = Chat::Group(GroupId(2)).into();
    let send = Command::Send { to, options: SendOptions::default(), messages: &messages };
    let text = r#"/_send #2 json [{"msgContent":{"type":"text","text":"x"},"mentions":{"acme":7,"na me":8}}]"#;
    assert_eq!(written(send), text);
}

/// The command's text, read back from the frame, is the command.
#[test]
fn a_frame_carries_the_command() {
    let text = "a \"quoted\" \\ line\nand\u{1}\u{8} é 😀";
    let messages = [Composed::new(text).quoting(ItemId(5))];
    let to = Chat::Direct(ContactId(4)).into();
    let send = Command::Send { to, options: SendOptions::default(), messages: &messages };
    let mut buffer = [0; 512];
    let frame = send.write_frame("a\"7", &mut buffer).unwrap();
    let frame = Object::parse(frame).unwrap();
    assert!(frame.str("corrId").unwrap().unwrap() == *"a\"7");
    let command: String = frame.str("cmd").unwrap().unwrap().chars().collect();
    assert_eq!(command, written(send));
    let json = Value::parse(command.strip_prefix("/_send @4 json ").unwrap()).unwrap();
    let message = json.elements().unwrap().next().unwrap().as_object().unwrap();
    let content = message.object("msgContent").unwrap().unwrap();
    assert_eq!(content.str("text").unwrap().unwrap().chars().collect::<String>(), text);
    let owned = send.to_frame("a\"7").unwrap();
    assert_eq!(owned, frame.get_text());
}

#[test]
fn a_buffer_one_short_says_how_much_is_needed() {
    let command = Command::Members(GroupId(12));
    let needed = written(command).len();
    for capacity in 0..needed {
        let error = command.write(&mut [0; 32][..capacity]).unwrap_err();
        assert_eq!(error, CommandError::Buffer(BufferTooSmall { needed, capacity }));
    }
    assert!(command.write(&mut [0; 32][..needed]).is_ok());
}

#[test]
fn what_the_grammar_cannot_express_is_refused() {
    let to = ChatRef::from(Chat::Direct(ContactId(4)));
    let group = ChatRef::from(Chat::Group(GroupId(2)));
    let options = SendOptions::default();
    fn send<'a>(to: ChatRef, messages: &'a [Composed<'a>]) -> Command<'a> {
        Command::Send { to, options: SendOptions::default(), messages }
    }
    let quote = Composed::new("x").quoting(ItemId(1));
    assert_eq!(refusal(send(to, &[])), CommandError::NoMessages);
    assert_eq!(refusal(send(to, &[quote, quote])), CommandError::SeveralQuotes { count: 2 });
    assert!(send(to, &[quote, Composed::new("x")]).check().is_ok());
    let live = Command::Send {
        to,
        options: SendOptions { live: Some(true), ..options },
        messages: &[Composed::new("x"), Composed::new("y")],
    };
    assert_eq!(refusal(live), CommandError::LiveWithOthers { count: 2 });

    let member = |name, id| (name, GroupMemberId(id));
    let four = [member("a", 1), member("b", 2), member("c", 3), member("d", 4)];
    fn mentioning<'a>(mentions: &'a [(&'a str, GroupMemberId)]) -> [Composed<'a>; 1] {
        [Composed::new("x").mentioning(mentions)]
    }
    assert_eq!(refusal(send(to, &mentioning(&four[..1]))), CommandError::MentionsInDirectChat);
    assert!(send(group, &mentioning(&four[..3])).check().is_ok());
    assert_eq!(
        refusal(send(group, &mentioning(&four))),
        CommandError::TooManyMentions { count: 4 }
    );
    let twice = [member("a", 1), member("a", 2)];
    assert_eq!(refusal(send(group, &mentioning(&twice))), CommandError::MentionTwice);
    let twice = [member("a", 1), member("b", 1)];
    assert_eq!(refusal(send(group, &mentioning(&twice))), CommandError::MentionTwice);
    assert_eq!(refusal(send(to.as_group(), &[quote])), CommandError::ScopeInDirectChat);

    assert_eq!(refusal(Command::Members(GroupId(-1))), CommandError::Negative { number: -1 });
    assert_eq!(refusal(Command::Contacts(UserId(-1))), CommandError::Negative { number: -1 });
    let page = Page::After { item: ItemId(-5), count: 1 };
    assert_eq!(refusal(Command::GetChat { chat: to, page }), CommandError::Negative { number: -5 });
    let scope = group.scope(Scope::MemberSupport(GroupMemberId(-2)));
    assert_eq!(refusal(send(scope, &[quote])), CommandError::Negative { number: -2 });

    for (target, error) in [
        ("", CommandError::Empty { part: Part::Target }),
        ("a b", CommandError::NotOneWord { part: Part::Target, offset: 1 }),
        ("ab\n", CommandError::NotOneWord { part: Part::Target, offset: 2 }),
        ("a\u{a0}", CommandError::NotOneWord { part: Part::Target, offset: 1 }),
    ] {
        assert_eq!(refusal(Command::ConnectTo { incognito: false, target }), error);
    }
    let request = |timeout, key| Command::ServiceRequest {
        user: USER,
        target: "x",
        timeout,
        sign_key: key,
        request: object("{}"),
    };
    assert_eq!(refusal(request(Some(Duration::ZERO), None)), CommandError::NoTime);
    let key = Some(SignKey::new(""));
    assert_eq!(refusal(request(None, key)), CommandError::Empty { part: Part::SignKey });
    assert_eq!(refusal(Command::Raw(" \n")), CommandError::Empty { part: Part::Raw });
}

#[test]
fn a_time_is_written_in_seconds() {
    let text = |millis: u64, nanos: u64| {
        let timeout = Duration::from_millis(millis) + Duration::from_nanos(nanos);
        let command = Command::ServiceRequest {
            user: USER,
            target: "x",
            timeout: Some(timeout),
            sign_key: None,
            request: object("{}"),
        };
        let text = written(command);
        let start = text.find('=').unwrap() + 1;
        String::from(&text[start..text.len() - 3])
    };
    assert_eq!(text(30_000, 0), "30");
    assert_eq!(text(1_500, 0), "1.500");
    assert_eq!(text(7, 0), "0.007");
    assert_eq!(text(0, 1), "0.001");
    assert_eq!(text(999, 1), "1");
}

#[test]
fn debug_shows_no_text() {
    let messages = [Composed::new("hunter2")];
    let send = Command::Send {
        to: Chat::Direct(ContactId(4)).into(),
        options: SendOptions::default(),
        messages: &messages,
    };
    let shown = std::format!("{send:?} {messages:?} {:?}", Command::Raw("hunter2"));
    assert!(!shown.contains("hunter2"), "{shown}");
}
