//! Frames of the chat core, and the commands that it reads.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use arbitrary::{Result, Unstructured};

use super::generate::{Generator, Vocabulary};
use super::model;
use crate::chat::size::MAX_RECEIVE_MENTIONS;
use crate::chat::{Chat, ContactId, GroupId, GroupMemberId, ItemId, Mention};
use crate::json::{ErrorKind, Object};
use crate::simplex::command::{
    ChatRef, Command, CommandError, Composed, Page, Scope, SendOptions, SignKey, Start, Ttl,
};
use crate::simplex::error::CoreRefusal;
use crate::simplex::frame::{Body, ChatItem, Frame, FrameError, ItemError, event_names};
use crate::simplex::{ContactRequestId, CoreVersion, UserId};

/// The bytes as a frame, a frame made from them, a command made from them, and the bytes as a
/// reference to a conversation and as a version.
pub fn simplex_frame(data: &[u8]) {
    check(data);
    let words = Vocabulary { names: NAMES, values: VALUES };
    let mut bytes = Unstructured::new(data);
    let mut made = Generator::new(&mut bytes, &words);
    // What was made until the bytes ran out is worth a look too.
    let _ = made.object(5);
    if let Ok(text) = made.finish() {
        check(&text);
        if let (Ok(tag), Ok(text)) = (bytes.choose(TYPES), core::str::from_utf8(&text)) {
            // The same as the particulars of a type.
            let rest = text.trim().strip_prefix('{').unwrap_or("}");
            let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
            let frame = format!("{{\"corrId\":\"7\",\"resp\":{{\"type\":\"{tag}\"{comma}{rest}}}");
            check(frame.as_bytes());
        }
    }
    let _ = command(&mut Unstructured::new(data));
    if let Ok(text) = core::str::from_utf8(data) {
        reference(text);
        if let Ok(version) = text.parse::<CoreVersion>() {
            assert_eq!(format!("{version}").parse(), Ok(version));
        }
    }
}

const NAMES: &[&str] = &[
    "corrId",
    "resp",
    "type",
    "result",
    "error",
    "Right",
    "Left",
    "chatItems",
    "chatItem",
    "chatInfo",
    "chatDir",
    "meta",
    "itemId",
    "itemTs",
    "itemStatus",
    "itemSharedMsgId",
    "itemEdited",
    "itemDeleted",
    "itemTimed",
    "ttl",
    "content",
    "msgContent",
    "text",
    "quotedItem",
    "sharedMsgId",
    "mentions",
    "memberId",
    "groupMember",
    "groupMemberId",
    "contact",
    "contactId",
    "localDisplayName",
    "profile",
    "groupInfo",
    "groupId",
    "membership",
    "chatError",
    "errorType",
    "storeError",
    "agentError",
    "message",
    "user",
    "userId",
    "requestId",
    "requestData",
    "chat",
    "chats",
    "connectionPlan",
    "contactLink",
    "connLinkContact",
    "connFullLink",
];

const VALUES: &[&str] = &[
    "\"newChatItems\"",
    "\"direct\"",
    "\"directRcv\"",
    "\"groupRcv\"",
    "\"text\"",
    "\"\\u0074ext\"",
    "7",
    "-1",
    "\"7\"",
    "{\"type\":\"direct\",\"contact\":{\"contactId\":3}}",
    "{\"type\":\"group\",\"groupInfo\":{\"groupId\":1,\"localDisplayName\":\"g\",\"membership\":{\"groupMemberId\":2,\"memberId\":\"m\\u0065\",\"localDisplayName\":\"bot\"}}}",
    "{\"type\":\"directRcv\"}",
    "{\"type\":\"groupRcv\",\"groupMember\":{\"groupMemberId\":1,\"memberId\":\"a\",\"localDisplayName\":\"x\"}}",
    "{\"itemId\":8,\"itemTs\":\"2026-08-15T15:30:48Z\"}",
    "{\"msgContent\":{\"type\":\"text\",\"text\":\"/_call mcp {\\\"id\\\":1}\"}}",
    "{\"a\":{\"memberId\":\"b\"},\"c\\n\":{\"memberId\":\"d\\\\\"}}",
    "[{\"chatInfo\":{\"type\":\"direct\",\"contact\":{\"contactId\":3}},\"chatItem\":{\"chatDir\":{\"type\":\"directRcv\"},\"meta\":{\"itemId\":8},\"content\":{\"msgContent\":{\"type\":\"text\",\"text\":\"\\u00e9\"}}}}]",
    "{\"type\":\"errorStore\",\"storeError\":{\"type\":\"largeMsg\"}}",
];

const TYPES: &[&str] = &[
    "newChatItems",
    "chatItemUpdated",
    "chatItemsStatusesUpdated",
    "chatItemsDeleted",
    "apiChat",
    "apiChats",
    "chatCmdError",
    "chatErrors",
    "contactConnected",
    "receivedContactRequest",
    "joinedGroupMember",
    "groupUpdated",
    "activeUser",
    "usersList",
    "contactsList",
    "groupsList",
    "groupMembers",
    "userContactLink",
    "connectionPlan",
    "serviceRequest",
    "serviceResponse",
    "versionInfo",
    "userProfileUpdated",
    "nothingKnown",
];

fn check(bytes: &[u8]) {
    let parsed = Frame::parse_bytes(bytes);
    let Ok(text) = core::str::from_utf8(bytes) else {
        assert!(matches!(parsed, Err(FrameError::Json(_))));
        return;
    };
    let members = model::members(text);
    let frame = match parsed {
        Ok(frame) => frame,
        Err(FrameError::Json(error)) => {
            // What the model is more lenient about.
            let is_stricter = matches!(error.kind, ErrorKind::LoneSurrogate | ErrorKind::TooDeep);
            assert!(members.is_none() || is_stricter, "an object is read");
            return;
        }
        Err(FrameError::NoResponse) => {
            let members = members.expect("an object");
            // What says so plainly is no such error.
            let response = model::one(&members, "resp").and_then(model::members);
            let tag = response.as_ref().and_then(|members| model::one(members, "type"));
            let has_one = model::all(&members, "corrId").len() < 2;
            assert!(!has_one || tag.is_none_or(|tag| !tag.starts_with('"')));
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let members = members.expect("an object");
    let expected = model::one(&members, "corrId").and_then(model::string);
    let corr_id: Option<String> = frame.corr_id().map(|id| id.chars().collect());
    assert_eq!(corr_id, expected);
    let inside = model::members(frame.object().get_text()).expect("an object");
    let tag: String = frame.tag().chars().collect();
    assert_eq!(model::one(&inside, "type").and_then(model::string), Some(tag.clone()));
    if let Some(error) = frame.error() {
        assert!(error.tags().count() <= 8);
        let refusal = CoreRefusal::from(error);
        assert!(refusal.tag.len() <= 256 && !format!("{refusal}").is_empty());
    }
    match frame.body() {
        Ok(Body::Unknown) => assert!(!event_names().any(|name| name == tag), "{tag} is known"),
        Ok(body) => walk(body),
        Err(error) => assert!(!error.member.is_empty()),
    }
}

/// Looks at everything that a frame says.
fn walk(body: Body<'_>) {
    match body {
        Body::NewChatItems(items)
        | Body::ChatItemsStatusesUpdated(items)
        | Body::ChatItemsDeleted(items) => items.flatten().for_each(|found| item(&found)),
        Body::ChatItemUpdated(found) | Body::ChatItemNotChanged(found) => item(&found),
        Body::Chat(page) => page.flatten().for_each(|found| item(&found)),
        Body::Chats(chats) => {
            chats.flatten().flatten().for_each(|found| item(&found.expect("it is one or none")));
        }
        Body::Errors(errors) => errors.for_each(|error| assert!(error.tags().count() <= 8)),
        Body::Contacts(contacts) => assert!(contacts.flatten().count() < usize::MAX),
        Body::Groups(groups) => assert!(groups.flatten().count() < usize::MAX),
        Body::GroupMembers(_, members) => {
            for member in members.flatten() {
                assert_eq!(
                    member.key().is_some(),
                    member.member_id.as_plain().is_some_and(|id| id.len() <= 31)
                );
            }
        }
        Body::Users(users) => assert!(users.flatten().count() < usize::MAX),
        body => assert!(!format!("{body:?}").is_empty()),
    }
}

/// What the machines would take of an item.
fn item(item: &ChatItem<'_>) {
    let needed = item.decode_len();
    let mut buffer = vec![0; needed];
    let mut mentions = [Mention::new("", ""); MAX_RECEIVE_MENTIONS];
    match item.decode(&mut buffer, &mut mentions) {
        Ok(taken) => {
            assert_eq!((Some(taken.chat), taken.id), (item.chat, item.id));
            assert!(taken.text.chars().eq(item.text.expect("a text").chars()));
            let quoted = item.quote.map(|quote| quote.direction.is_own());
            assert_eq!(taken.quote.map(|quote| quote.is_own), quoted);
            assert_eq!(taken.mentions.len(), item.mentions.clone().count().min(5));
        }
        Err(ItemError::Buffer(error)) => panic!("{error}"),
        Err(ItemError::Id(error)) => assert!(error.len > 31),
        Err(ItemError::Skipped(_)) => {}
    }
    if needed > 0 {
        let mut short = vec![0; needed - 1];
        let mut mentions = [Mention::new("", ""); MAX_RECEIVE_MENTIONS];
        if let Err(ItemError::Buffer(error)) = item.decode(&mut short, &mut mentions) {
            assert_eq!((error.needed, error.capacity), (needed, needed - 1));
        }
    }
    assert!(!format!("{item:?}").contains("_call"));
}

/// A reference is read, and written the same.
fn reference(text: &str) {
    if let Ok((to, rest)) = ChatRef::parse_prefix(text) {
        let written = format!("{to}");
        assert_eq!(written.parse(), Ok(to));
        let read = &text[..text.len() - rest.len()];
        // Leading zeros are all that writing changes.
        assert!(read == written || read.contains("0"), "{read} is not {written}");
    }
}

/// A command is written as it is framed, or refused both times.
fn command(u: &mut Unstructured<'_>) -> Result<()> {
    let texts: [String; 3] = u.arbitrary()?;
    let [first, second, third] = texts.each_ref().map(String::as_str);
    let (number, count): (i64, u32) = u.arbitrary()?;
    let user = UserId(number);
    let object = Object::parse(if u.arbitrary()? { third } else { "{\"a\":\"\\\"\"}" });
    let object = object.or_else(|_| Object::parse("{}")).expect("an object");
    let flag: Option<bool> = u.arbitrary()?;
    let chat =
        if u.arbitrary()? { Chat::Direct(ContactId(number)) } else { Chat::Group(GroupId(number)) };
    let mut to = ChatRef::from(chat);
    if u.ratio(1, 4)? {
        to = to.scope(Scope::MemberSupport(GroupMemberId(count.into())));
    }
    to.as_group = u.ratio(1, 8)?;
    let mentions = [(first, GroupMemberId(number)), (second, GroupMemberId(count.into()))];
    let mut composed = Composed::new(third).mentioning(&mentions[..u.int_in_range(0..=2)?]);
    if u.arbitrary()? {
        composed = composed.quoting(ItemId(count.into()));
    }
    let messages = [composed, Composed::new(first)];
    let ttl = u.arbitrary::<Option<u32>>()?.map(Ttl::Seconds);
    let options = SendOptions { live: flag, ttl, ..SendOptions::default() };
    let commands = [
        Command::Version,
        Command::SetActiveUser(user),
        Command::Start(Start { main: true, send_files: flag, service_requests: flag }),
        Command::Send { to, options, messages: &messages[..u.int_in_range(0..=2)?] },
        Command::ConnectPlan { user, target: first },
        Command::Connect { user, incognito: flag, full_link: first, short_link: Some(second) },
        Command::ConnectTo { incognito: flag.is_some(), target: first },
        Command::AddressSettings { user, pq_ratchet: flag, settings: object },
        Command::SetGroupProfile { group: GroupId(number), profile: object },
        Command::Accept { request: ContactRequestId(number), incognito: flag },
        Command::GetChat { chat: to, page: Page::After { item: ItemId(number), count } },
        Command::ServiceRequest {
            user,
            target: first,
            timeout: Some(Duration::from_micros(count.into())),
            sign_key: Some(SignKey::new(second)),
            request: object,
        },
        Command::ServiceResponse { user, request_id: first, response: object },
        Command::Raw(third),
    ];
    let command = u.choose(&commands)?;
    let Ok(text) = command.to_text() else {
        let refused = command.check().expect_err("it was refused");
        assert_eq!(command.write(&mut []), Err(refused));
        assert_eq!(command.write_frame(first, &mut []), Err(refused));
        return Ok(());
    };
    let mut exact = vec![0; text.len()];
    assert_eq!(command.write(&mut exact), Ok(text.as_str()));
    if let Some(capacity) = text.len().checked_sub(1) {
        let refused = command.write(&mut exact[..capacity]);
        assert!(matches!(refused, Err(CommandError::Buffer(error)) if error.needed == text.len()));
    }
    let frame = command.to_frame(second).expect("it can be written");
    let members = model::members(&frame).expect("an object");
    assert_eq!(model::one(&members, "cmd").and_then(model::string), Some(text.clone()));
    assert_eq!(model::one(&members, "corrId").and_then(model::string).as_deref(), Some(second));
    if let Command::Send { messages, .. } = command {
        let (head, json) = text.split_once(" json ").expect("the messages");
        assert!(head.starts_with(&format!("/_send {to}")));
        let sent: Vec<Vec<(String, &str)>> = model::elements(json)
            .expect("an array")
            .into_iter()
            .map(|message| model::members(message).expect("an object"))
            .collect();
        assert_eq!(sent.len(), messages.len());
        for (sent, message) in sent.iter().zip(*messages) {
            let content = model::one(sent, "msgContent").and_then(model::members);
            let content = content.expect("an object");
            let text = model::one(&content, "text").and_then(model::string);
            assert_eq!(text.as_deref(), Some(message.text));
            let mentions = model::one(sent, "mentions").and_then(model::members);
            assert_eq!(mentions.expect("an object").len(), message.mentions.len());
        }
    }
    Ok(())
}
