//! The caller and the responder machine against each other, on storage of their own.

use core::time::Duration;

use agentwire_core::binding::{Class, End, Standard};
use agentwire_core::chat::caller::{Call, CallError, CallId, Caller, Handled, Limit, Reply, To};
use agentwire_core::chat::responder::{
    FAILURE_BUFFER, Ignored, Received, Responder, Service, Token,
};
use agentwire_core::chat::{
    ContactId, GroupId, GroupMemberId, Inline, Item, ItemId, Me, MemberId, Mention, Quoted, Sender,
};
use agentwire_core::time::Instant;

use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    ("exchange: a call and its answer", call_and_answer),
    ("exchange: a stream, part by part", stream),
    ("exchange: one member of a group, mentioned", mentioned),
    ("exchange: an answer that does not fit is replaced", too_large),
    ("exchange: limits pass on both sides", limits),
    ("exchange: a full table says so", full),
    ("exchange: what is not for us meets silence", silence),
];

const CONTACT: ContactId = ContactId(4);
const MCP: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const MCP_ANSWER: &str = r#"{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}}"#;
const A2A: &str = r#"{"jsonrpc":"2.0","id":2,"method":"SendStreamingMessage","a2a-service-parameters":{"A2A-Version":"1.0"},"params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"t"}]}}}"#;
const SERVICES: [Service<'static, Standard>; 2] =
    [Service::new(Standard::MCP, &["2026-07-28"]), Service::new(Standard::A2A, &["1.0"])];
const START: Instant = Instant::from_millis(1_000);

type Machines = (Caller<Standard, Inline<2>>, Responder<Standard, Inline<2>>);

fn machines() -> Machines {
    (Caller::default(), Responder::default())
}

/// Sends a direct call across: the caller's item is `item`, the responder's the next one.
fn send(machines: &mut Machines, call: &Call<'_, Standard>, item: i64) -> Option<(CallId, Token)> {
    let (caller, responder) = machines;
    let mut buffer = [0; 512];
    let mut out = [0; FAILURE_BUFFER];
    let (id, transmit) = caller.call(START, call, &mut buffer).ok()?;
    let arrived = Item::direct(CONTACT, ItemId(item + 1), transmit.text);
    let received = responder.handle_command(START, &arrived, &SERVICES, &mut out).ok()?;
    caller.handle_sent(START, id, ItemId(item), None).ok()?;
    match received {
        Received::Request(request) => Some((id, request.token)),
        _ => None,
    }
}

/// What the caller makes of a reply that quotes its item.
fn reply<'m>(
    caller: &mut Caller<Standard, Inline<2>>,
    text: &'m str,
    item: i64,
    quoted: i64,
) -> Option<Reply<'m>> {
    let item = Item::direct(CONTACT, ItemId(item), text).quoting(Quoted::own(ItemId(quoted)));
    match caller.handle_reply(START, &item) {
        Ok(Handled::Reply(reply)) => Some(reply),
        _ => None,
    }
}

fn call_and_answer() -> bool {
    exchange().is_some()
}

/// One call and its answer, from the request to the end.
pub(crate) fn exchange() -> Option<()> {
    let mut machines = machines();
    let call = Call::new(Standard::MCP, To::Contact(CONTACT), MCP);
    let (id, token) = send(&mut machines, &call, 10)?;
    let (caller, responder) = &mut machines;
    let mut out = [0; FAILURE_BUFFER];
    let answer = responder.respond(START, token, MCP_ANSWER, &mut out).ok()?;
    let is_sent = answer.transmit.text == MCP_ANSWER
        && answer.transmit.quotes == Some(ItemId(11))
        && answer.replaced.is_none();
    let reply = reply(caller, MCP_ANSWER, 12, 10)?;
    let is_last = reply.call == id && reply.class == Class::Last(End::Answer) && reply.is_end;
    (is_sent && is_last && caller.open() == 0 && responder.open() == 0).then_some(())
}

fn stream() -> bool {
    let parts = [
        r#"{"jsonrpc":"2.0","id":2,"result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a"}}}}"#,
    ];
    let last = r#"{"jsonrpc":"2.0","id":2,"result":{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}}"#;
    let mut machines = machines();
    let call = Call::new(Standard::A2A, To::Contact(CONTACT), A2A);
    let Some((_, token)) = send(&mut machines, &call, 10) else { return false };
    let (caller, responder) = &mut machines;
    let mut out = [0; FAILURE_BUFFER];
    let passed = parts.iter().zip(12..).all(|(part, item)| {
        responder.notify(START, &token, part, &mut out).is_ok()
            && reply(caller, part, item, 10)
                .is_some_and(|reply| matches!(reply.class, Class::Part { resume: Some(_) }))
    });
    passed
        && responder.respond(START, token, last, &mut out).is_ok()
        && reply(caller, last, 20, 10)
            .is_some_and(|reply| reply.class == Class::Last(End::Terminal) && reply.is_end)
}

fn mentioned() -> bool {
    let (Ok(bot), Ok(other)) = (MemberId::new("Ym90"), MemberId::new("b3RoZXI=")) else {
        return false;
    };
    let group = GroupId(3);
    let to = To::Member { group, member: bot, group_member: GroupMemberId(7), name: "the bot" };
    let (mut caller, mut responder) = machines();
    let (mut buffer, mut out) = ([0; 512], [0; FAILURE_BUFFER]);
    let call = Call::new(Standard::MCP, to, MCP);
    let Ok((id, transmit)) = caller.call(START, &call, &mut buffer) else { return false };
    let is_written = transmit.text.starts_with("/_call @'the bot' mcp {\n")
        && transmit.mention == Some(("the bot", GroupMemberId(7)));
    let mentions = [Mention::new("the bot", bot.get())];
    let arrived = |me, item| {
        Item::group(group, other, Me::new(me, "the bot"), ItemId(item), transmit.text)
            .mentioning(&mentions)
    };
    let for_other = responder.handle_command(START, &arrived(other, 11), &SERVICES, &mut out);
    let is_silent = matches!(for_other, Ok(Received::Ignored(Ignored::OtherMember)));
    let for_bot = responder.handle_command(START, &arrived(bot, 12), &SERVICES, &mut out);
    let is_answered = matches!(for_bot, Ok(Received::Request(_)));
    let is_sent = caller.handle_sent(START, id, ItemId(10), Some("c2hhcmVk")).is_ok();
    // The item is gone on the caller's side: the shared id finds the call. A stranger is refused.
    let quote = Quoted::new(true, None, Some("c2hhcmVk"));
    let from = |sender, item| {
        let mut item = Item::new(arrived(bot, 0).chat, sender, ItemId(item), MCP_ANSWER);
        item.quote = Some(quote);
        item
    };
    let is_stranger =
        caller.handle_reply(START, &from(Sender::Member(other), 20)) == Ok(Handled::Stranger(id));
    let is_reply = matches!(
        caller.handle_reply(START, &from(Sender::Member(bot), 21)),
        Ok(Handled::Reply(reply)) if reply.is_end
    );
    is_written && is_silent && is_answered && is_sent && is_stranger && is_reply
}

/// The answer with white space behind it, which counts too: more than one message holds.
static PADDED_ANSWER: [u8; 15_400] = {
    let mut text = [b' '; 15_400];
    let mut place = 0;
    while place < MCP_ANSWER.len() {
        text[place] = MCP_ANSWER.as_bytes()[place];
        place += 1;
    }
    text
};

fn too_large() -> bool {
    let mut machines = machines();
    let call = Call::new(Standard::MCP, To::Contact(CONTACT), MCP);
    let Some((_, token)) = send(&mut machines, &call, 10) else { return false };
    let (caller, responder) = &mut machines;
    let Ok(text) = core::str::from_utf8(&PADDED_ANSWER) else { return false };
    let mut out = [0; FAILURE_BUFFER];
    let Ok(answer) = responder.respond(START, token, text, &mut out) else { return false };
    let error = answer.transmit.text;
    answer.replaced.is_some_and(|error| error.needed > error.limit)
        && error.contains("\"code\":-32603")
        && reply(caller, error, 12, 10)
            .is_some_and(|reply| reply.class == Class::Last(End::Error { code: -32603 }))
}

fn limits() -> bool {
    let mut machines = machines();
    let call = Call::new(Standard::MCP, To::Contact(CONTACT), MCP);
    let Some((id, token)) = send(&mut machines, &call, 10) else { return false };
    let (caller, responder) = &mut machines;
    let mut out = [0; FAILURE_BUFFER];
    let Some(answer_by) = responder.poll_timeout() else { return false };
    let before = Instant::from_millis(answer_by.as_millis() - 1);
    let is_early = matches!(responder.handle_timeout(before, &mut out), Ok(None));
    let is_expired = matches!(
        responder.handle_timeout(answer_by, &mut out),
        Ok(Some(expired)) if expired.token == token.key()
    );
    let is_gone = responder.respond(answer_by, token, MCP_ANSWER, &mut out).is_err();
    let Some(wait_until) = caller.poll_timeout() else { return false };
    let end = caller.handle_timeout(wait_until + Duration::from_millis(1));
    let is_over = end.is_some_and(|end| end.call == id && end.limit == Limit::Idle && end.was_sent);
    is_early && is_expired && is_gone && is_over && caller.poll_timeout().is_none()
}

fn full() -> bool {
    let mut machines = machines();
    let call = Call::new(Standard::MCP, To::Contact(CONTACT), MCP);
    let first = send(&mut machines, &call, 10);
    let second = send(&mut machines, &call, 20);
    let (caller, responder) = &mut machines;
    let (mut buffer, mut out) = ([0; 512], [0; FAILURE_BUFFER]);
    let is_full =
        matches!(caller.call(START, &call, &mut buffer), Err(CallError::Full { capacity: 2 }));
    let mut text = [0; 256];
    let Ok(command) = agentwire_core::chat::command::Command::new(None, MCP_NAME, MCP)
        .map(|command| command.write(Default::default(), &mut text))
    else {
        return false;
    };
    let Ok(command) = command else { return false };
    let item = Item::direct(CONTACT, ItemId(30), command);
    let says_so = matches!(
        responder.handle_command(START, &item, &SERVICES, &mut out),
        Ok(Received::Answered { transmit, .. }) if transmit.text.contains("\"busy\"")
    );
    first.is_some() && second.is_some() && is_full && says_so
}

const MCP_NAME: agentwire_core::binding::ProtocolName<'static> =
    match agentwire_core::binding::ProtocolName::new("mcp") {
        Some(name) => name,
        None => unreachable!(),
    };

fn silence() -> bool {
    let (_, mut responder) = machines();
    let mut out = [0; FAILURE_BUFFER];
    let mut received = |text| {
        let item = Item::direct(CONTACT, ItemId(1), text);
        responder.handle_command(START, &item, &SERVICES, &mut out).map(|received| match received {
            Received::NotACommand => 0,
            Received::Ignored(Ignored::UndeclaredProtocol) => 1,
            Received::Malformed(_) => 2,
            _ => 3,
        })
    };
    received("hello") == Ok(0)
        && received("/_call xmpp {}") == Ok(1)
        && received("/_call  mcp {}") == Ok(2)
        && received("/_call @bob mcp {}") == Ok(2)
        && received("/_call mcp {}") == Ok(3)
}
