use super::*;
use crate::chat::size::MAX_RECEIVE_MENTIONS;
use crate::chat::{
    Chat, ContactId, GroupId, GroupMemberId, Item, ItemId, MemberId, Mention, Quoted, Sender,
};
use crate::profile::PeerType;
use crate::simplex::error::CoreErrorKind;
use crate::simplex::{ContactRequestId, CoreVersion, UserId};
use std::format;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

macro_rules! vector {
    ($name:literal) => {
        Frame::parse(include_str!(concat!("../../../../tests/vectors/simplex/", $name, ".json")))
            .unwrap()
    };
}

const ME: &str = "bVJpU2x2Q2ozMmZkVE81WA==";
const OWNER: &str = "WkdPQ1pQSHhKeTlXR0Z4Qg==";
const CALL: &str = r#"/_call mcp {"jsonrpc":"2.0","id":1}"#;

fn member(id: &str) -> MemberId {
    MemberId::new(id).unwrap()
}

fn plain(text: Str<'_>) -> String {
    text.chars().collect()
}

fn items<'f>(frame: &Frame<'f>) -> Vec<ChatItem<'f>> {
    match frame.body().unwrap() {
        Body::NewChatItems(items) => items.map(Result::unwrap).collect(),
        body => panic!("{body:?}"),
    }
}

/// What the machines would take of the frame's only item.
fn with_item<T>(frame: &Frame<'_>, see: impl FnOnce(&Item<'_>) -> T) -> Result<T, ItemError> {
    let (mut buffer, mut mentions) = ([0; 1_024], [Mention::new("", ""); MAX_RECEIVE_MENTIONS]);
    let items = items(frame);
    items.last().unwrap().decode(&mut buffer, &mut mentions).map(|item| see(&item))
}

#[test]
fn a_message_of_a_contact() {
    let frame = vector!("new-item-direct");
    assert!(frame.corr_id().is_none());
    assert!(frame.tag() == *"newChatItems");
    let item = &items(&frame)[0];
    assert_eq!((item.chat, item.id), (Some(Chat::Direct(ContactId(3))), ItemId(8)));
    assert!(matches!(item.direction, Direction::DirectReceived));
    assert_eq!(item.status, ItemStatus::Arrived);
    assert!(!item.is_edited && !item.is_deleted && !item.is_live);
    with_item(&frame, |item| {
        assert_eq!((item.text, item.sender), (CALL, Sender::Contact));
        assert_eq!(item.sent_at, Some("2026-08-15T15:30:48Z"));
        assert!(item.quote.is_none() && item.me.is_none() && item.mentions.is_empty());
    })
    .unwrap();
}

#[test]
fn messages_in_a_group_know_who_is_mentioned_and_who_i_am() {
    let frame = vector!("new-item-group");
    let ids: Vec<ItemId> = items(&frame).iter().map(|item| item.id).collect();
    assert_eq!(ids, [ItemId(11), ItemId(12)]);
    with_item(&frame, |item| {
        assert_eq!(item.chat, Chat::Group(GroupId(1)));
        assert_eq!(item.sender, Sender::Member(member(OWNER)));
        assert!(item.text.contains("@v7probe-bot mcp {\n"));
        let me = item.me.unwrap();
        assert_eq!((me.member, me.name), (member(ME), "v7probe-bot"));
        assert_eq!(item.mentions, [Mention::new("v7probe-bot", ME)]);
    })
    .unwrap();
}

#[test]
fn a_quote_is_matched_by_direction_and_number() {
    for frame in [vector!("reply-direct"), vector!("reply-group")] {
        with_item(&frame, |item| {
            let shared = Some("d1NPUHVDSDAyVWVTNnVwUA==");
            assert_eq!(item.quote, Some(Quoted::new(true, Some(ItemId(7)), shared)));
        })
        .unwrap();
    }
}

#[test]
fn a_channel_speaks_for_itself() {
    with_item(&vector!("channel-item"), |item| assert_eq!(item.sender, Sender::Channel)).unwrap();
}

#[test]
fn only_the_text_of_a_text_message_is_a_command() {
    let skipped = with_item(&vector!("image-item"), |_| ()).unwrap_err();
    assert_eq!(skipped, ItemError::Skipped(Skipped::NotText));
    let skipped = with_item(&vector!("support-item"), |_| ()).unwrap_err();
    assert_eq!(skipped, ItemError::Skipped(Skipped::Scope));
    let skipped = with_item(&vector!("sent"), |_| ()).unwrap_err();
    assert_eq!(skipped, ItemError::Skipped(Skipped::Own));
}

#[test]
fn a_sent_message_names_its_item() {
    for frame in [vector!("sent"), vector!("sent-right")] {
        assert!(frame.corr_id().unwrap() == *"12");
        let item = &items(&frame)[0];
        assert_eq!((item.id, item.status), (ItemId(21), ItemStatus::SentNew));
        assert!(item.shared_msg_id.is_some());
    }
}

#[test]
fn an_edit_has_the_new_text_and_the_time_to_live() {
    let frame = vector!("item-updated");
    let Ok(Body::ChatItemUpdated(item)) = frame.body() else { panic!() };
    assert!(item.is_edited);
    assert_eq!(item.ttl, Some(3_600));
    assert_eq!(plain(item.text.unwrap()), r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#);
}

#[test]
fn statuses_and_deletions_are_lists_of_items() {
    let frame = vector!("statuses-updated");
    let Ok(Body::ChatItemsStatusesUpdated(mut items)) = frame.body() else { panic!() };
    assert_eq!(items.next().unwrap().unwrap().status, ItemStatus::Received);
    let frame = vector!("items-deleted");
    let Ok(Body::ChatItemsDeleted(mut items)) = frame.body() else { panic!() };
    let item = items.next().unwrap().unwrap();
    assert!(item.is_deleted && item.id == ItemId(8));
}

#[test]
fn a_refusal_is_read_in_every_shape() {
    for frame in [vector!("large-msg"), vector!("large-msg-left"), vector!("large-msg-error")] {
        assert!(frame.corr_id().unwrap() == *"7");
        let Ok(Body::Error(error)) = frame.body() else { panic!() };
        assert_eq!(error.kind(), CoreErrorKind::LargeMsg);
    }
    let error = vector!("command-error").error().unwrap();
    assert_eq!(error.kind(), CoreErrorKind::CommandError);
    assert!(error.message().unwrap() == *"Failed reading: empty");
    let error = vector!("service-timeout").error().unwrap();
    assert_eq!(error.failure(), crate::rpc::CoreFailure::Timeout);
    let Ok(Body::Errors(errors)) = vector!("chat-errors").body() else { panic!() };
    let kinds: Vec<CoreErrorKind> = errors.map(|error| error.kind()).collect();
    assert_eq!(kinds, [CoreErrorKind::LargeMsg, CoreErrorKind::NotFound]);
}

#[test]
fn a_result_is_read_in_every_shape() {
    assert!(matches!(vector!("started-result").body(), Ok(Body::ChatStarted)));
    for text in [
        r#"{"corrId":"1","resp":{"result":{"type":"chatStopped"}}}"#,
        r#"{"corrId":"1","resp":{"Right":{"type":"chatStopped"}}}"#,
        r#"{"corrId":"1","result":{"type":"chatStopped"}}"#,
        r#"{"corrId":"1","resp":{"type":"chatStopped","more":[1]},"more":{}}"#,
        r#"{"corrId":null,"resp":{"type":"chatStopped"}}"#,
    ] {
        let frame = Frame::parse(text).unwrap();
        assert!(matches!(frame.body(), Ok(Body::ChatStopped)), "{text}");
    }
}

#[test]
fn the_version_and_the_users() {
    let Ok(Body::Version(info)) = vector!("version-info").body() else { panic!() };
    assert_eq!(info.version(), Some(CoreVersion::new(7, 0, 0, 4)));
    let Ok(Body::ActiveUser(user)) = vector!("active-user").body() else { panic!() };
    assert_eq!(user.id, UserId(1));
    let Ok(Body::Users(users)) = vector!("users-list").body() else { panic!() };
    let active: Vec<bool> = users.map(|user| user.unwrap().is_active).collect();
    assert_eq!(active, [true, false]);
}

#[test]
fn peer_types_are_read_whether_they_are_known_or_not() {
    let Ok(Body::Contacts(contacts)) = vector!("contacts-list").body() else { panic!() };
    let peers: Vec<Peer<'_>> = contacts.map(|contact| contact.unwrap().peer).collect();
    assert_eq!(peers[..2], [Peer::Known(PeerType::Human), Peer::Known(PeerType::Agent)]);
    assert!(matches!(peers[2], Peer::Unknown(name) if name == *"oracle"));
}

#[test]
fn groups_and_their_members() {
    for frame in [vector!("groups-list"), vector!("groups-list-summaries")] {
        let Ok(Body::Groups(mut groups)) = frame.body() else { panic!() };
        let group = groups.next().unwrap().unwrap();
        assert_eq!(group.id, GroupId(1));
        assert_eq!(group.membership.unwrap().key(), Some(member(ME)));
    }
    let frame = vector!("group-members");
    let Ok(Body::GroupMembers(group, members)) = frame.body() else { panic!() };
    assert_eq!(group.id, GroupId(1));
    let members: Vec<Member<'_>> = members.map(Result::unwrap).collect();
    assert_eq!(members[0].id, GroupMemberId(1));
    assert_eq!(members[0].contact, Some(ContactId(3)));
    assert!(members[0].name == *"u_1" && members[0].display_name == *"u");
    assert!(members[0].is_present() && !members[1].is_present());
}

#[test]
fn addresses_and_plans() {
    let Ok(Body::Address(address)) = vector!("address").body() else { panic!() };
    assert!(address.auto_accepts && !address.is_business);
    assert!(plain(address.links.full).contains("rk="));
    assert!(address.links.best() == address.links.short.unwrap());
    let Ok(Body::Address(address)) = vector!("address-created").body() else { panic!() };
    assert!(address.settings.is_none());
    let Ok(Body::Plan(plan)) = vector!("plan-address").body() else { panic!() };
    assert_eq!((plan.kind, plan.state), (PlanKind::Address, PlanState::New));
    assert!(plan.contact.is_none() && plan.link_data.is_some());
    let Ok(Body::Plan(plan)) = vector!("plan-known").body() else { panic!() };
    assert_eq!((plan.kind, plan.state), (PlanKind::Address, PlanState::Known));
    assert_eq!(plan.contact.unwrap().id, ContactId(3));
}

#[test]
fn a_page_has_own_items_and_others() {
    let Ok(Body::Chat(page)) = vector!("chat-page").body() else { panic!() };
    assert_eq!(page.chat(), Some(Chat::Direct(ContactId(3))));
    let items: Vec<ChatItem<'_>> = page.map(Result::unwrap).collect();
    assert!(items[0].direction.is_own() && !items[1].direction.is_own());
    assert!(items.iter().all(|item| item.chat == Some(Chat::Direct(ContactId(3)))));
}

#[test]
fn conversations_have_their_newest_items() {
    let Ok(Body::Chats(chats)) = vector!("chats").body() else { panic!() };
    let newest: Vec<(Option<Chat>, Option<ItemId>)> = chats
        .map(|chat| {
            let mut chat = chat.unwrap();
            (chat.chat(), chat.next().map(|item| item.unwrap().id))
        })
        .collect();
    let (contact, group) = (Chat::Direct(ContactId(3)), Chat::Group(GroupId(1)));
    assert_eq!(newest, [(Some(contact), Some(ItemId(9))), (Some(group), None), (None, None)]);
}

#[test]
fn contacts_and_groups_change() {
    let Ok(Body::ContactConnected(contact)) = vector!("contact-connected").body() else { panic!() };
    assert_eq!(contact.id, ContactId(3));
    let Ok(Body::ContactRequest(request)) = vector!("contact-request").body() else { panic!() };
    assert_eq!(request.id, ContactRequestId(5));
    let Ok(Body::Group(change)) = vector!("member-joined").body() else { panic!() };
    assert_eq!(change.kind, GroupChangeKind::MemberJoined);
    assert_eq!(change.member.unwrap().key(), Some(member(OWNER)));
    let Ok(Body::Group(change)) = vector!("group-updated").body() else { panic!() };
    assert_eq!((change.kind, change.group.id), (GroupChangeKind::Updated, GroupId(1)));
}

#[test]
fn requests_and_responses_of_service_rpc() {
    let Ok(Body::ServiceRequest(request)) = vector!("service-request").body() else { panic!() };
    assert!(request.id == *"cmVxdWVzdC1vbmU=" && request.signer_key.is_some());
    let Ok(Body::ServiceResponse(data)) = vector!("service-response").body() else { panic!() };
    assert!(data.get("response").unwrap().is_some());
    let accepted = vector!("service-reply-accepted");
    let Ok(Body::ServiceReplyAccepted(Some(over))) = accepted.body() else { panic!() };
    assert!(over == *"U1kzSnRQQzNrQ0Z2RnhRdQ==");
    let sent = vector!("service-reply-sent");
    let Ok(Body::ServiceReplySent(Some(over))) = sent.body() else { panic!() };
    assert!(over == *"U1kzSnRQQzNrQ0Z2RnhRdQ==");
}

#[test]
fn an_event_that_is_not_known_has_its_name() {
    let frame = vector!("unknown-event");
    assert!(matches!(frame.body(), Ok(Body::Unknown)));
    assert_eq!(plain(frame.tag()), "moonPhaseChanged");
    assert!(frame.object().str("phase").unwrap().unwrap() == *"full");
}

#[test]
fn what_is_no_frame_says_why() {
    let error = |text: &str| Frame::parse(text).unwrap_err();
    for text in ["", "hello", "[]", "{", "{}x"] {
        assert!(matches!(error(text), FrameError::Json(_)), "{text}");
    }
    for text in [
        "{}",
        r#"{"corrId":"1"}"#,
        r#"{"resp":{}}"#,
        r#"{"resp":{"type":7}}"#,
        r#"{"resp":[]}"#,
        r#"{"resp":{"Right":{}}}"#,
        r#"{"resp":{"type":"a"},"resp":{"type":"b"}}"#,
    ] {
        assert_eq!(error(text), FrameError::NoResponse, "{text}");
    }
    let bytes = Frame::parse_bytes(b"{\"resp\":{\"type\":\"\xff\"}}").unwrap_err();
    assert!(matches!(bytes, FrameError::Json(_)));
    assert!(!bytes.to_string().is_empty());
}

#[test]
fn a_frame_may_have_16_mib() {
    let frame = r#"{"resp":{"type":"cmdOk"}}"#;
    for (len, is_read) in
        [(MAX_FRAME_LEN - 1, true), (MAX_FRAME_LEN, true), (MAX_FRAME_LEN + 1, false)]
    {
        let mut text = String::from(frame);
        text.extend(core::iter::repeat_n(' ', len - frame.len()));
        let expected = FrameError::TooLarge { len, limit: MAX_FRAME_LEN };
        assert_eq!(Frame::parse(&text).err(), (!is_read).then_some(expected));
        assert_eq!(Frame::parse_bytes(text.as_bytes()).err(), (!is_read).then_some(expected));
    }
}

#[test]
fn a_shape_that_is_not_as_it_should_be_spoils_nothing_else() {
    for (text, missing) in [
        (r#"{"corrId":"1","resp":{"type":"newChatItems"}}"#, "chatItems"),
        (r#"{"corrId":"1","resp":{"type":"activeUser","user":{"userId":"1"}}}"#, "userId"),
        (r#"{"corrId":"1","resp":{"type":"connectionPlan","connectionPlan":1}}"#, "connectionPlan"),
        (r#"{"corrId":"1","resp":{"type":"apiChat","chat":{"chatItems":[]}}}"#, "chatInfo"),
        (
            r#"{"corrId":"1","resp":{"type":"serviceRequest","requestId":"a","requestData":[]}}"#,
            "requestData",
        ),
        (r#"{"corrId":"1","resp":{"type":"versionInfo","versionInfo":{"version":7}}}"#, "version"),
    ] {
        let frame = Frame::parse(text).unwrap();
        assert!(frame.corr_id().unwrap() == *"1");
        assert_eq!(frame.body().unwrap_err(), ShapeError { member: missing });
    }
    // One item is not as it should be: the other one is read.
    let text = r#"{"resp":{"type":"newChatItems","chatItems":[7,{"chatInfo":{"type":"local"},
        "chatItem":{"meta":{"itemId":3}}},{"chatInfo":{"type":"direct","contact":{}},"chatItem":{}}]}}"#;
    let frame = Frame::parse(text).unwrap();
    let Ok(Body::NewChatItems(items)) = frame.body() else { panic!() };
    let ids: Vec<Option<ItemId>> = items.map(|item| Some(item.ok()?.id)).collect();
    assert_eq!(ids, [None, Some(ItemId(3)), None]);
}

#[test]
fn an_item_is_decoded_into_the_room_that_it_asks_for() {
    let frame = vector!("new-item-group");
    let items = items(&frame);
    let needed = items[1].decode_len();
    assert!(needed > 0 && needed < 100);
    for size in 0..=needed {
        let mut buffer = std::vec![0; size];
        let mut mentions = [Mention::new("", ""); MAX_RECEIVE_MENTIONS];
        let decoded = items[1].decode(&mut buffer, &mut mentions).map(|item| item.text.len());
        match decoded {
            Ok(len) => assert_eq!((size, len), (needed, needed - 7)),
            Err(ItemError::Buffer(error)) => {
                assert_eq!((error.needed, error.capacity), (needed, size));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn five_mentions_are_kept() {
    for count in [4, 5, 6] {
        let mentions: Vec<String> =
            (0..count).map(|n| std::format!(r#""m{n}":{{"memberId":"id{n}"}}"#)).collect();
        let text = std::format!(
            r#"{{"resp":{{"type":"newChatItems","chatItems":[{{
            "chatInfo":{{"type":"direct","contact":{{"contactId":1}}}},
            "chatItem":{{"chatDir":{{"type":"directRcv"}},"meta":{{"itemId":1}},
            "content":{{"msgContent":{{"type":"text","text":"x"}}}},"mentions":{{{}}}}}}}]}}}}"#,
            mentions.join(",")
        );
        let frame = Frame::parse(&text).unwrap();
        with_item(&frame, |item| assert_eq!(item.mentions.len(), count.min(5))).unwrap();
    }
}

#[test]
fn debug_shows_no_text() {
    let frame = vector!("new-item-direct");
    let shown = std::format!("{frame:?} {:?} {:?}", frame.body(), items(&frame));
    assert!(!shown.contains("_call") && !shown.contains("jsonrpc"), "{shown}");
}

#[test]
fn the_items_of_a_frame_are_read_whatever_stands_where() {
    let item = |id: i64| {
        format!(
            r#"{{"chatItem":{{"content":{{"msgContent":{{"text":"t","type":"text"}}}},"meta":{{"itemId":{id}}}}},"chatInfo":{{"type":"direct","contact":{{"x":[1],"contactId":3}}}}}}"#
        )
    };
    let read = |items: &str| {
        let text = format!(r#"{{"resp":{{"chatItems":{items},"type":"newChatItems"}}}}"#);
        match Frame::parse(&text).unwrap().body() {
            Ok(Body::NewChatItems(list)) => Ok(list
                .map(|item| item.map(|item| (item.id.0, item.chat)).map_err(|error| error.member))
                .collect::<Vec<_>>()),
            Ok(body) => panic!("{body:?}"),
            Err(error) => Err(error.member),
        }
    };
    let chat = Some(Chat::Direct(ContactId(3)));
    let (one, two) = (item(1), item(2));
    assert_eq!(read("[]"), Ok(vec![]));
    assert_eq!(read(&format!("[{one}]")), Ok(vec![Ok((1, chat))]));
    assert_eq!(
        read(&format!("[ 7 , {one},{{}} , {two} ]")),
        Ok(vec![Err("chatItems"), Ok((1, chat)), Err("chatInfo"), Ok((2, chat))])
    );
    assert_eq!(read("7"), Err("chatItems"));
    assert_eq!(read(&format!(r#"[{one}],"chatItems":[{two}]"#)), Err("chatItems"));
    let twice = one.replace(r#""itemId":1"#, r#""itemId":1,"itemId":1"#);
    assert_eq!(read(&format!("[{twice},{two}]")), Ok(vec![Err("itemId"), Ok((2, chat))]));
    let twice = one.replace(r#""contactId":3"#, r#""contactId":3,"contactId":3"#);
    assert_eq!(read(&format!("[{twice}]")), Ok(vec![Err("contactId")]));
}
