//! The rules of the module's table, each by its name.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::chat::Chat;
use crate::loopback::{GroupRef, Instant};

pub(super) const NOW: Instant = Instant::from_millis(1_234);

/// Two connected profiles, a client of each, and a group of both.
pub(super) struct Bench {
    pub(super) net: Loopback,
    pub(super) api: Api,
    pub(super) ann: ProfileId,
    pub(super) bot: ProfileId,
    pub(super) of_ann: ClientId,
    pub(super) of_bot: ClientId,
    pub(super) to_bot: i64,
    pub(super) to_ann: i64,
    pub(super) group: GroupRef,
}

impl Bench {
    pub(super) fn new() -> Self {
        let mut net = Loopback::new(5);
        let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        let (to_bot, to_ann) = net.connect(ann, bot).unwrap();
        let group = net.create_group(ann, "team").unwrap();
        net.join(group, bot).unwrap();
        while net.poll_event(ann).is_some() {}
        let mut api = Api::new(5);
        let (of_ann, of_bot) = (api.connect(ann).unwrap(), api.connect(bot).unwrap());
        let (to_bot, to_ann) = (to_bot.0, to_ann.0);
        Self { net, api, ann, bot, of_ann, of_bot, to_bot, to_ann, group }
    }

    fn hand_in(&mut self, now: Instant, client: ClientId, frame: &str) {
        self.api.handle_frame(&mut self.net, now, client, frame.as_bytes()).unwrap();
    }

    /// All frames that wait for a client.
    pub(super) fn frames(&mut self, client: ClientId) -> Vec<Value> {
        let (api, net) = (&mut self.api, &mut self.net);
        let frames = core::iter::from_fn(|| api.poll_frame(net, client));
        frames.map(|frame| serde_json::from_str(&frame).unwrap()).collect()
    }

    /// The events that wait for a client.
    pub(super) fn events(&mut self, client: ClientId) -> Vec<Value> {
        let frames = self.frames(client).into_iter();
        frames
            .map(|mut frame| {
                assert_eq!(frame.get("corrId"), None);
                frame["resp"].take()
            })
            .collect()
    }

    /// The events of one type.
    pub(super) fn events_of(&mut self, client: ClientId, kind: &str) -> Vec<Value> {
        let mut events = self.events(client);
        events.retain(|event| event["type"] == kind);
        events
    }

    pub(super) fn command_at(
        &mut self,
        now: Instant,
        client: ClientId,
        command: &str,
    ) -> Option<Value> {
        self.frames(client);
        let frame = json!({"corrId": "c1", "cmd": command}).to_string();
        self.hand_in(now, client, &frame);
        let frame = self.api.poll_frame(&mut self.net, client)?;
        let mut frame: Value = serde_json::from_str(&frame).unwrap();
        assert_eq!(frame["corrId"], "c1", "{command}");
        Some(frame["resp"].take())
    }

    /// The response to a command; the events in front of it are lost.
    pub(super) fn command(&mut self, client: ClientId, command: &str) -> Value {
        self.command_at(NOW, client, command).expect("it has a response")
    }

    pub(super) fn ann_sends(&mut self, messages: &Value) -> Value {
        let command = format!("/_send @{} json {messages}", self.to_bot);
        self.command(self.of_ann, &command)
    }

    pub(super) fn group_of(&self, profile: ProfileId) -> i64 {
        self.net.group_id(self.group, profile).unwrap().0
    }
}

pub(super) fn text(text: &str) -> Value {
    json!({"msgContent": {"type": "text", "text": text}})
}

pub(super) fn command_error(message: &str) -> Value {
    let error = json!({"type": "commandError", "message": message});
    json!({"type": "chatCmdError", "chatError": {"type": "error", "errorType": error}})
}

pub(super) fn chat_error(kind: &str) -> Value {
    json!({"type": "chatCmdError", "chatError": {"type": "error", "errorType": {"type": kind}}})
}

pub(super) fn store_error(kind: &str) -> Value {
    let error = json!({"type": "errorStore", "storeError": {"type": kind}});
    json!({"type": "chatCmdError", "chatError": error})
}

pub(super) fn service_error(kind: &str) -> Value {
    let error = json!({"type": "A_SERVICE", "serviceError": {"type": kind}});
    let error = json!({"type": "AGENT", "agentErr": error});
    let error = json!({"type": "errorAgent", "agentError": error, "agentConnId": ""});
    json!({"type": "chatCmdError", "chatError": error})
}

/// simplex-chat `Server.hs`, `receive`: `sendError Nothing Nothing "invalid request"`.
#[test]
fn a_frame_that_is_no_request_is_answered_without_an_id() {
    let mut bench = Bench::new();
    let long = format!(r#"{{"corrId":"{}","cmd":"/v"}}"#, "1".repeat(MAX_CORR_ID_LEN + 1));
    for frame in [
        "not JSON",
        "",
        "[]",
        r#"{"cmd":"/v"}"#,
        r#"{"corrId":1,"cmd":"/v"}"#,
        r#"{"corrId":"1"}"#,
        &long,
    ] {
        bench.hand_in(NOW, bench.of_ann, frame);
        let frames = bench.frames(bench.of_ann);
        assert_eq!(frames, [json!({"resp": command_error("invalid request")})], "{frame}");
    }
    bench.api.handle_frame(&mut bench.net, NOW, bench.of_ann, b"{\"corrId\":\"\xff\"}").unwrap();
    assert_eq!(bench.frames(bench.of_ann).len(), 1);
    for len in [MAX_CORR_ID_LEN - 1, MAX_CORR_ID_LEN] {
        let frame = json!({"corrId": "1".repeat(len), "cmd": "/v", "more": 1}).to_string();
        bench.hand_in(NOW, bench.of_ann, &frame);
        assert_eq!(bench.frames(bench.of_ann)[0]["resp"]["type"], "versionInfo");
    }
}

/// simplex-chat `Commands.hs`, `parseChatCommand`: `B.dropWhileEnd isSpace`; captured on core
/// 7.0.0: "Failed reading: empty".
#[test]
fn every_break_of_the_grammar_is_one_error() {
    let mut bench = Bench::new();
    let error = command_error("Failed reading: empty");
    for command in ["", "hello", "/_call mcp {}", "/_send @4", "/_start subscribe=on expire=on"] {
        assert_eq!(bench.command(bench.of_ann, command), error, "{command}");
    }
    assert_eq!(bench.command(bench.of_ann, "/v \t\r\n")["type"], "versionInfo");
}

#[test]
fn what_is_not_done_is_said() {
    let mut bench = Bench::new();
    bench.command(bench.of_ann, "/_address 1");
    let group = bench.group_of(bench.ann);
    let to_bot = bench.to_bot;
    for command in [
        "/_reaction @1 1 on {}",
        "/_create user {\"pastTimestamp\":false}",
        &format!("/_create link #{group} moderator"),
        &format!("/_address_settings 1 {}", json!({"businessAddress": true})),
        &format!(
            r#"/_send @{to_bot} json [{{"msgContent":{{"type":"image","text":"","image":""}}}}]"#
        ),
    ] {
        let response = bench.command(bench.of_ann, command);
        let error = &response["chatError"]["errorType"];
        assert_eq!(error["message"], "the loopback does not do this", "{command}: {response}");
    }
}

/// simplex-chat `Server.hs`, `client`: read, process, write.
#[test]
fn a_service_request_holds_its_connection() {
    let mut bench = Bench::new();
    bench.command(bench.of_bot, "/_address 1 pq_ratchet=on");
    let link = link_of(&mut bench, "connShortLink");
    // The bot runs without service requests: nothing comes back before the timeout.
    let command = format!("/_service_request 1 {link} timeout=2.5 {{}}");
    assert_eq!(bench.command_at(NOW, bench.of_ann, &command), None);
    assert!(!bench.api.takes_frames(bench.of_ann));
    let frame = br#"{"corrId":"2","cmd":"/v"}"#;
    let refused = bench.api.handle_frame(&mut bench.net, NOW, bench.of_ann, frame);
    assert_eq!(refused, Err(ApiError::Waits));

    let before = NOW.saturating_add(Duration::from_millis(2_499));
    bench.net.handle_timeout(before);
    assert_eq!(bench.frames(bench.of_ann), [Value::Null; 0]);
    assert_eq!(bench.net.poll_timeout(), Some(before.saturating_add(Duration::from_millis(1))));
    bench.net.handle_timeout(before.saturating_add(Duration::from_millis(1)));
    let frames = bench.frames(bench.of_ann);
    assert_eq!(frames, [json!({"corrId": "c1", "resp": service_error("timeout")})]);
    assert_eq!(bench.command(bench.of_ann, "/v")["versionInfo"]["version"], VERSION);
}

/// simplexmq `Agent/Protocol.hs`, `INACTIVE`; that a stopped core answers so was not seen.
#[test]
fn a_command_that_waits_is_answered_when_the_chat_is_stopped() {
    let mut bench = Bench::new();
    bench.command(bench.of_bot, "/_address 1 pq_ratchet=on");
    let link = link_of(&mut bench, "connShortLink");
    let command = format!("/_service_request 1 {link} {{}}");
    assert_eq!(bench.command_at(NOW, bench.of_ann, &command), None);
    let second = bench.api.connect(bench.ann).unwrap();
    assert_eq!(bench.command(second, "/_stop")["type"], "chatStopped");
    let frames = bench.frames(bench.of_ann);
    assert_eq!(frames[0]["corrId"], "c1");
    assert_eq!(frames[0]["resp"]["chatError"]["agentError"]["type"], "INACTIVE");
    assert!(bench.api.takes_frames(bench.of_ann));
}

/// A link of the bot's address.
pub(super) fn link_of(bench: &mut Bench, form: &str) -> String {
    let response = bench.command(bench.of_bot, "/_show_address 1");
    response["contactLink"]["connLinkContact"][form].as_str().unwrap().to_string()
}

/// A bot with an address and service requests turned on; the link to it.
fn service(bench: &mut Bench) -> String {
    bench.command(bench.of_bot, "/_stop");
    bench.command(bench.of_bot, "/_start main=on service_requests=on");
    bench.command(bench.of_bot, "/_address 1 pq_ratchet=on");
    link_of(bench, "connFullLink")
}

/// simplex-chat `Server.hs`, `output`: a thread of its own.
#[test]
fn events_go_on_while_a_command_waits() {
    let mut bench = Bench::new();
    let link = service(&mut bench);
    assert_eq!(
        bench.command_at(NOW, bench.of_ann, &format!("/_service_request 1 {link} {{}}")),
        None
    );
    let command = format!("/_send @{} text hello", bench.to_ann);
    bench.command(bench.of_bot, &command);
    assert_eq!(bench.events_of(bench.of_ann, "newChatItems").len(), 1);
    assert!(!bench.api.takes_frames(bench.of_ann));
}

/// simplex-chat `Server.hs`, `output`: all clients read one queue; issue 7113.
#[test]
fn each_event_goes_to_one_client() {
    let mut bench = Bench::new();
    let second = bench.api.connect(bench.bot).unwrap();
    let mut taken = [0, 0];
    for number in 0..64 {
        bench.ann_sends(&json!([text(&number.to_string())]));
        let events = [bench.of_bot, second].map(|client| bench.events(client).len());
        assert_eq!(events.iter().sum::<usize>(), 1);
        taken = [taken[0] + events[0], taken[1] + events[1]];
    }
    assert!(taken[0] > 8 && taken[1] > 8, "{taken:?}");

    // A client that takes nothing holds one event back, and the other gets the rest.
    for _ in 0..10 {
        bench.ann_sends(&json!([text("x")]));
    }
    let got = bench.events(second).len();
    assert!((9..=10).contains(&got), "{got}");
    assert_eq!(got + bench.events(bench.of_bot).len(), 10);
}

/// simplex-chat issue 7113: the queue is drained while a client is connected.
#[test]
fn events_wait_for_a_client() {
    let mut bench = Bench::new();
    bench.api.disconnect(bench.of_bot);
    for number in 0..3 {
        bench.ann_sends(&json!([text(&number.to_string())]));
    }
    assert_eq!(bench.net.queued(bench.bot), 3);
    let later = bench.api.connect(bench.bot).unwrap();
    let events = bench.events(later);
    let texts = events.iter().map(|e| &e["chatItems"][0]["chatItem"]["meta"]["itemText"]);
    assert!(texts.eq(["0", "1", "2"]));
}

/// simplex-chat `Server.hs`: `clientDisconnected _ = pure ()`.
#[test]
fn what_a_connection_had_taken_is_lost_with_it() {
    let mut bench = Bench::new();
    bench.ann_sends(&json!([text("0")]));
    bench.ann_sends(&json!([text("1")]));
    // A frame that is being written when the connection is cut.
    bench.api.distribute(&mut bench.net, bench.bot);
    bench.api.disconnect(bench.of_bot);
    let later = bench.api.connect(bench.bot).unwrap();
    let events = bench.events(later);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["chatItems"][0]["chatItem"]["meta"]["itemText"], "1");
}

/// simplex-chat `Commands.hs`, `StartChat`: with a running agent `CRChatRunning`.
#[test]
fn a_running_core_does_not_look_at_the_options_of_start() {
    let mut bench = Bench::new();
    let start = "/_start main=on service_requests=on";
    assert_eq!(bench.command(bench.of_bot, start), json!({"type": "chatRunning"}));
    bench.command(bench.of_bot, "/_address 1 pq_ratchet=on");
    let link = link_of(&mut bench, "connFullLink");
    let request = format!("/_service_request 1 {link} {{}}");
    assert_eq!(bench.command_at(NOW, bench.of_ann, &request), None);
    assert_eq!(bench.events_of(bench.of_bot, "serviceRequest").len(), 0);

    assert_eq!(bench.command(bench.of_bot, "/_stop"), json!({"type": "chatStopped"}));
    assert_eq!(bench.command(bench.of_bot, start), json!({"type": "chatStarted"}));
    let second = bench.api.connect(bench.ann).unwrap();
    assert_eq!(bench.command_at(NOW, second, &request), None);
    assert_eq!(bench.events_of(bench.of_bot, "serviceRequest").len(), 1);
}

/// simplex-chat `Commands.hs`: `withUser` asks for a chat that is started, `withUser'` does not.
#[test]
fn a_stopped_core_does_little() {
    let mut bench = Bench::new();
    bench.api.stop(bench.bot);
    for (command, kind) in [
        ("/user", "activeUser"),
        ("/users", "usersList"),
        ("/v", "versionInfo"),
        ("/_check running", "chatStopped"),
        ("/_stop", "chatStopped"),
    ] {
        assert_eq!(bench.command(bench.of_bot, command)["type"], kind, "{command}");
    }
    for command in ["/_contacts 1", "/_address 1"] {
        assert_eq!(bench.command(bench.of_bot, command), chat_error("chatNotStarted"));
    }
    bench.ann_sends(&json!([text("hello")]));
    assert_eq!(bench.events(bench.of_bot), [Value::Null; 0]);
    bench.command(bench.of_bot, "/_start");
    assert_eq!(bench.events_of(bench.of_bot, "newChatItems").len(), 1);
}

/// simplex-chat `Commands.hs`, `withUserId`.
#[test]
fn a_command_for_another_user_is_refused() {
    let mut bench = Bench::new();
    let error = json!({"type": "differentActiveUser", "commandUserId": 2, "activeUserId": 1});
    let error = json!({"type": "error", "errorType": error});
    let error = json!({"type": "chatCmdError", "chatError": error});
    for command in ["/_contacts 2", "/_groups 2", "/_address 2", "/_show_address 2"] {
        assert_eq!(bench.command(bench.of_ann, command), error, "{command}");
    }
    let response = bench.command(bench.of_ann, "/_user 2");
    assert_eq!(response["chatError"]["storeError"], json!({"type": "userNotFound", "userId": 2}));
}

/// simplex-chat `Protocol.hs`, `maxEncodedMsgLength`; `Commands.hs`, `processSendErrs`.
#[test]
fn of_several_messages_those_that_fit_are_sent() {
    let mut bench = Bench::new();
    for (len, fits) in [(15_487, true), (15_488, true), (15_489, false)] {
        let response = bench.ann_sends(&json!([text(&"a".repeat(len))]));
        if fits {
            assert_eq!(response["type"], "newChatItems", "{len}");
        } else {
            assert_eq!(response, store_error("largeMsg"), "{len}");
        }
    }
    bench.events(bench.of_ann);
    let large = "a".repeat(16_000);
    let response = bench.ann_sends(&json!([text(&large), text("small"), text(&large)]));
    let items = response["chatItems"].as_array().unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["chatItem"]["meta"]["itemText"], "small");
    assert_eq!(items[0]["chatItem"]["meta"]["itemStatus"], json!({"type": "sndNew"}));
    let events = bench.events_of(bench.of_ann, "chatErrors");
    let error = json!({"type": "errorStore", "storeError": {"type": "largeMsg"}});
    assert_eq!(events, [json!({"type": "chatErrors", "chatErrors": [error, error]})]);
}

/// simplex-chat `Commands.hs`, `assertMultiSendable`.
#[test]
fn of_several_messages_one_may_quote() {
    let mut bench = Bench::new();
    let sent = bench.ann_sends(&json!([text("quoted")]));
    let item = &sent["chatItems"][0]["chatItem"]["meta"]["itemId"];
    let quoting = json!({"msgContent": {"type": "text", "text": "x"}, "quotedItemId": item});
    let error = command_error("invalid multi send: live and more than one quote not supported");
    assert_eq!(bench.ann_sends(&json!([quoting, quoting])), error);
    let live = format!("/_send @{} live=on json {}", bench.to_bot, json!([text("a"), text("b")]));
    assert_eq!(bench.command(bench.of_ann, &live), error);
    let response = bench.ann_sends(&json!([quoting, text("b")]));
    assert_eq!(response["chatItems"].as_array().unwrap().len(), 2);
    // Nothing is sent when one of them is wrong.
    bench.events(bench.of_bot);
    let wrong = json!({"msgContent": {"type": "text", "text": "x"}, "quotedItemId": 1_000_000});
    let response = bench.ann_sends(&json!([text("a"), wrong]));
    assert_eq!(response["chatError"]["storeError"]["type"], "chatItemNotFound");
    assert_eq!(bench.events(bench.of_bot), [Value::Null; 0]);
}

/// simplex-chat `Internal.hs`, `quoteData`.
#[test]
fn a_deleted_item_is_an_invalid_quote() {
    let mut bench = Bench::new();
    let sent = bench.ann_sends(&json!([text("command")]));
    let item = sent["chatItems"][0]["chatItem"]["meta"]["itemId"].as_i64().unwrap();
    let received = bench.events_of(bench.of_bot, "newChatItems");
    let theirs = &received[0]["chatItems"][0]["chatItem"]["meta"]["itemId"];
    let delete = format!("/_delete item @{} {item} broadcast", bench.to_bot);
    let deleted = bench.command(bench.of_ann, &delete);
    assert_eq!(deleted["type"], "chatItemsDeleted");
    assert_eq!(deleted["byUser"], true);
    let events = bench.events_of(bench.of_bot, "chatItemsDeleted");
    let shown = &events[0]["chatItemDeletions"][0]["toChatItem"]["chatItem"]["meta"];
    assert_eq!((&shown["itemId"], &shown["itemDeleted"]["type"]), (theirs, &json!("deleted")));
    let reply = json!([{"msgContent": {"type": "text", "text": "x"}, "quotedItemId": theirs}]);
    let command = format!("/_send @{} json {reply}", bench.to_ann);
    assert_eq!(bench.command(bench.of_bot, &command), store_error("invalidQuote"));
}

/// simplex-chat `Markdown.hs`, `parseMaybeMarkdownList`; `Internal.hs`, `getCIMentions`.
#[test]
fn a_command_of_one_line_mentions_nobody() {
    let mut bench = Bench::new();
    let member = bench.net.member_of(bench.group, bench.ann, bench.bot).unwrap();
    let group = bench.group_of(bench.ann);
    let mut send = |line: &str| {
        let mentions = json!({"bot": member.group_member_id.0});
        let content = json!({"type": "text", "text": line});
        let messages = json!([{"msgContent": content, "mentions": mentions}]);
        bench.command(bench.of_ann, &format!("/_send #{group} json {messages}"))
    };
    assert_eq!(send("/_call @bot mcp {}"), store_error("invalidMention"));
    let sent = send("/_call @bot mcp {\n}");
    let mention = &sent["chatItems"][0]["chatItem"]["mentions"]["bot"];
    assert_eq!(mention["memberRef"]["groupMemberId"], member.group_member_id.0);
    assert_eq!(mention["memberId"], member.member.get());
}

/// simplex-chat `Commands.hs`, `APISendMessages`.
#[test]
fn a_direct_chat_takes_no_mentions() {
    let mut bench = Bench::new();
    let messages =
        json!([{"msgContent": {"type": "text", "text": "@bot"}, "mentions": {"bot": 1}}]);
    let error = command_error("mentions are not supported in this chat");
    assert_eq!(bench.ann_sends(&messages), error);
}

/// simplex-chat `Internal.hs`, `quoteContent`; `Store/Messages.hs`, `getChatItemQuote_`.
#[test]
fn a_quote_is_whole_and_found_by_number() {
    let mut bench = Bench::new();
    let command = format!("/_call mcp {}", "x".repeat(7_000));
    let sent = bench.ann_sends(&json!([text(&command)]));
    let own = &sent["chatItems"][0]["chatItem"]["meta"];
    let received = bench.events_of(bench.of_bot, "newChatItems");
    let item = &received[0]["chatItems"][0]["chatItem"];
    assert_eq!(item["chatDir"], json!({"type": "directRcv"}));
    assert_eq!(item["content"]["type"], "rcvMsgContent");
    assert_eq!(item["content"]["msgContent"], json!({"type": "text", "text": command}));
    let format = json!({"type": "command", "commandStr": &command[1..]});
    assert_eq!(item["formattedText"], json!([{"format": format, "text": command}]));
    assert_eq!(item["meta"]["itemSharedMsgId"], own["itemSharedMsgId"]);
    assert_eq!(item["meta"]["itemTs"], "2026-01-01T00:00:01Z");

    let quoted = &item["meta"]["itemId"];
    let reply = json!([{"msgContent": {"type": "text", "text": "{}"}, "quotedItemId": quoted}]);
    let command_of_bot = format!("/_send @{} json {reply}", bench.to_ann);
    let replied = bench.command(bench.of_bot, &command_of_bot);
    let shown = &replied["chatItems"][0]["chatItem"]["quotedItem"];
    assert_eq!((&shown["itemId"], &shown["chatDir"]["type"]), (quoted, &json!("directRcv")));
    let events = bench.events_of(bench.of_ann, "newChatItems");
    let quote = &events[0]["chatItems"][0]["chatItem"]["quotedItem"];
    assert_eq!(quote["chatDir"], json!({"type": "directSnd"}));
    assert_eq!(quote["itemId"], own["itemId"]);
    assert_eq!(quote["sharedMsgId"], own["itemSharedMsgId"]);
    assert_eq!(quote["content"], json!({"type": "text", "text": command}));
}

/// simplex-chat `Messages.hs`, `CIDirection`, `CIMention`; `Types.hs`, `GroupInfo`.
#[test]
fn a_group_item_shows_sender_mentions_and_membership() {
    let mut bench = Bench::new();
    let bot_of_ann = bench.net.member_of(bench.group, bench.ann, bench.bot).unwrap();
    let mentions = json!({"bot": bot_of_ann.group_member_id.0});
    let content = json!({"type": "text", "text": "hi @bot"});
    let messages = json!([{"msgContent": content, "mentions": mentions}]);
    let group = bench.group_of(bench.ann);
    bench.command(bench.of_ann, &format!("/_send #{group} json {messages}"));

    let events = bench.events_of(bench.of_bot, "newChatItems");
    let (info, item) =
        (&events[0]["chatItems"][0]["chatInfo"], &events[0]["chatItems"][0]["chatItem"]);
    assert_eq!(info["type"], "group");
    assert_eq!(info["groupInfo"]["groupId"], bench.group_of(bench.bot));
    assert_eq!(info["groupInfo"]["localDisplayName"], "team");
    let own = bench.net.member_of(bench.group, bench.bot, bench.bot).unwrap();
    let membership = &info["groupInfo"]["membership"];
    assert_eq!(membership["memberId"], own.member.get());
    assert_eq!(membership["groupMemberId"], own.group_member_id.0);
    assert_eq!(membership["memberRole"], "member");
    let ann = bench.net.member_of(bench.group, bench.bot, bench.ann).unwrap();
    let sender = &item["chatDir"]["groupMember"];
    assert_eq!(item["chatDir"]["type"], "groupRcv");
    assert_eq!(sender["memberId"], ann.member.get());
    assert_eq!(sender["groupMemberId"], ann.group_member_id.0);
    assert_eq!(sender["memberRole"], "owner");
    assert_eq!(sender["localDisplayName"], "ann");
    assert_eq!(sender["memberContactId"], bench.to_ann);
    assert_eq!(item["meta"]["userMention"], true);
    assert_eq!(item["mentions"]["bot"]["memberId"], own.member.get());
    let format = json!({"type": "mention", "memberName": "bot"});
    assert_eq!(item["formattedText"], json!([{"text": "hi "}, {"format": format, "text": "@bot"}]));

    let group = bench.group_of(bench.bot);
    let members = bench.command(bench.of_bot, &format!("/_members #{group}"));
    let members = members["group"]["members"].as_array().unwrap();
    assert_eq!(members.len(), 1);
    assert_eq!(members[0]["memberId"], ann.member.get());
}

/// simplex-chat `Commands.hs`, `sendNameP`.
#[test]
fn a_message_by_name_is_not_by_number() {
    let mut bench = Bench::new();
    let response = bench.command(bench.of_ann, "@bot hello there");
    assert_eq!(response["chatItems"][0]["chatItem"]["meta"]["itemText"], "hello there");
    let to_bot = bench.to_bot;
    let response = bench.command(bench.of_ann, &format!("@{to_bot} hello"));
    let error = json!({"type": "contactNotFoundByName", "contactName": to_bot.to_string()});
    assert_eq!(response["chatError"]["storeError"], error);
    let response = bench.command(bench.of_ann, "#team \"a\\nb\"");
    assert_eq!(response["chatItems"][0]["chatItem"]["meta"]["itemText"], "a\nb");
}

/// simplex-chat `Commands.hs`, `APIUpdateChatItem`.
#[test]
fn an_edit_is_reported_to_both_sides() {
    let mut bench = Bench::new();
    let sent = bench.ann_sends(&json!([text("one")]));
    let item = sent["chatItems"][0]["chatItem"]["meta"]["itemId"].as_i64().unwrap();
    bench.events(bench.of_bot);
    let update = |words: &str| {
        let content = json!({"msgContent": {"type": "text", "text": words}, "mentions": {}});
        format!("/_update item @{} {item} json {content}", bench.to_bot)
    };
    let (same, other) = (update("one"), update("two"));
    assert_eq!(bench.command(bench.of_ann, &same)["type"], "chatItemNotChanged");
    let response = bench.command(bench.of_ann, &other);
    assert_eq!(response["type"], "chatItemUpdated");
    assert_eq!(response["chatItem"]["chatItem"]["meta"]["itemEdited"], true);
    let events = bench.events_of(bench.of_bot, "chatItemUpdated");
    assert_eq!(events[0]["chatItem"]["chatItem"]["meta"]["itemText"], "two");
    let theirs = events[0]["chatItem"]["chatItem"]["meta"]["itemId"].as_i64().unwrap();
    let to_ann = bench.to_ann;
    let response =
        bench.command(bench.of_bot, &format!("/_update item @{to_ann} {theirs} text mine"));
    assert_eq!(response, chat_error("invalidChatItemUpdate"));
}

/// simplex-chat `Commands.hs`, `jsonP`; aeson 2.2.
#[test]
fn service_data_are_written_anew() {
    let mut bench = Bench::new();
    let link = service(&mut bench);
    let request = format!(r#"/_service_request 1 {link} {{ "b" : 1e2, "a" : [ 1.50 ], "b": 3 }}"#);
    assert_eq!(bench.command_at(NOW, bench.of_ann, &request), None);
    let frame = bench.api.poll_frame(&mut bench.net, bench.of_bot).unwrap();
    assert!(frame.ends_with(r#""requestData":{"a":[1.5],"b":100}}}"#), "{frame}");
    let event: Value = serde_json::from_str(&frame).unwrap();
    assert_eq!(event["resp"].get("signerKey"), None);
    let id = event["resp"]["requestId"].as_str().unwrap();

    let respond = format!(r#"/_service_response 1 {id} {{"z":1,"y":"\/"}}"#);
    let response = bench.command(bench.of_bot, &respond);
    assert_eq!(response["type"], "serviceReplyAccepted");
    let sent = bench.events_of(bench.of_bot, "serviceReplySent");
    let connection = &response["connectionId"];
    assert!(connection.is_string());
    assert_eq!(sent, [json!({"type": "serviceReplySent", "connectionId": connection})]);
    let frame = bench.api.poll_frame(&mut bench.net, bench.of_ann).unwrap();
    assert!(frame.starts_with(r#"{"corrId":"c1","resp":{"type":"serviceResponse""#), "{frame}");
    assert!(frame.ends_with(r#""responseData":{"y":"/","z":1}}}"#), "{frame}");
    let again = bench.command(bench.of_bot, &respond);
    assert_eq!(again, service_error("noPendingRequest"));
}

/// *Agent protocols over SimpleX*, "Signed requests".
#[cfg(feature = "sign")]
#[test]
fn a_signed_request_shows_its_key() {
    let mut bench = Bench::new();
    let link = service(&mut bench);
    let key = "MC4CAQAwBQYDK2VwBCIEIDfEfevydXXfKajz3sRkcQ7RPvfWUPoq6pu1TYHV1DEe";
    let request = format!("/_service_request 1 {link} timeout=1 sign_key={key} {{}}");
    assert_eq!(bench.command_at(NOW, bench.of_ann, &request), None);
    let events = bench.events_of(bench.of_bot, "serviceRequest");
    let public = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";
    assert_eq!(events[0]["signerKey"], public);

    let second = bench.api.connect(bench.ann).unwrap();
    bench.net.fault_next(bench.ann, crate::loopback::Fault::BreakSignature);
    assert_eq!(bench.command_at(NOW, second, &request), None);
    assert_eq!(bench.events_of(bench.of_bot, "serviceRequest"), [Value::Null; 0]);
    let third = bench.api.connect(bench.ann).unwrap();
    let command = format!("/_service_request 1 {link} sign_key=MC4C {{}}");
    let response = bench.command(third, &command);
    assert_eq!(response, command_error("Failed reading: empty"));
}

/// simplexmq `Agent/Protocol.hs`, `A_SERVICE`; simplex-chat `Commands.hs`,
/// `APISendServiceRequest`.
#[test]
fn a_service_request_fails_as_the_agent_says() {
    let mut bench = Bench::new();
    bench.command(bench.of_bot, "/_address 1");
    let link = link_of(&mut bench, "connFullLink");
    assert!(!link.contains("&rk="));
    let request = format!("/_service_request 1 {link} {{}}");
    assert_eq!(bench.command(bench.of_ann, &request), service_error("notDRAddress"));

    // Keys that came later are behind the short link, and the full link stays as it was.
    bench.command(bench.of_bot, "/_short_link_address 1 pq_ratchet=on");
    assert_eq!(link_of(&mut bench, "connFullLink"), link);
    assert_eq!(bench.command(bench.of_ann, &request), service_error("notDRAddress"));
    let with_keys = link_of(&mut bench, "connShortLink");
    let large = json!({"a": "x".repeat(11_106)});
    let response = bench.command(bench.of_ann, &format!("/_service_request 1 {with_keys} {large}"));
    assert_eq!(response["chatError"]["agentError"]["cmdErr"]["type"], "LARGE");
    let response = bench.command(bench.of_ann, &format!("/_service_request 1 {with_keys} []"));
    assert_eq!(response, command_error("Failed reading: empty"));
    let response = bench.command(bench.of_bot, "/_service_response 1 bm9uZQ== {}");
    assert_eq!(response, service_error("noPendingRequest"));
    bench.command(bench.of_bot, "/_delete_address 1");
    let response = bench.command(bench.of_ann, &request);
    assert_eq!(response["chatError"]["agentError"]["smpErr"]["type"], "AUTH");
}

/// A third profile, with no contact yet, and its client.
pub(super) fn stranger(bench: &mut Bench) -> (ProfileId, ClientId) {
    let eve = bench.net.add_profile("eve").unwrap();
    (eve, bench.api.connect(eve).unwrap())
}

/// simplex-chat `Commands.hs`, `APIConnect`, `APIAcceptContact`, `APIRejectContact`.
#[test]
fn a_contact_comes_by_an_address() {
    let mut bench = Bench::new();
    let (eve, of_eve) = stranger(&mut bench);
    let created = bench.command(bench.of_bot, "/_address 1");
    assert_eq!(created["type"], "userContactLinkCreated");
    assert_eq!(bench.command(bench.of_bot, "/_address 1"), store_error("duplicateContactLink"));
    let full = created["connLinkContact"]["connFullLink"].as_str().unwrap();
    let short = created["connLinkContact"]["connShortLink"].as_str().unwrap();

    let response = bench.command(of_eve, &format!("/_connect 1 {full} {short}"));
    assert_eq!(response["type"], "sentInvitation");
    // Once more, before there is an answer.
    bench.command(of_eve, &format!("/connect {short}"));
    let events = bench.events_of(bench.of_bot, "receivedContactRequest");
    assert_eq!(events.len(), 1);
    let request = &events[0]["contactRequest"];
    assert_eq!(request["localDisplayName"], "eve");
    let id = request["contactRequestId"].as_i64().unwrap();
    let rejected = bench.command(bench.of_bot, &format!("/_reject {id}"));
    assert_eq!(rejected["contactRequest"]["contactRequestId"], id);
    let again = bench.command(bench.of_bot, &format!("/_accept {id}"));
    assert_eq!(again["chatError"]["storeError"]["type"], "contactRequestNotFound");

    bench.command(of_eve, &format!("/c {short}"));
    let events = bench.events_of(bench.of_bot, "receivedContactRequest");
    let id = events[0]["contactRequest"]["contactRequestId"].as_i64().unwrap();
    let accepted = bench.command(bench.of_bot, &format!("/_accept {id}"));
    assert_eq!(accepted["contact"]["localDisplayName"], "eve");
    assert_eq!(bench.events_of(bench.of_bot, "contactConnected").len(), 1);
    let connected = bench.events_of(of_eve, "contactConnected");
    assert_eq!(connected[0]["contact"]["localDisplayName"], "bot");
    let response = bench.command(of_eve, &format!("/_connect 1 {full}"));
    assert_eq!(response["type"], "contactAlreadyExists");
    assert_eq!(bench.net.contacts(eve).len(), 1);

    let (_, of_fay) = {
        let fay = bench.net.add_profile("fay").unwrap();
        (fay, bench.api.connect(fay).unwrap())
    };
    let settings = json!({
        "businessAddress": false,
        "autoAccept": {"acceptIncognito": false},
        "autoReply": {"type": "text", "text": "Welcome."},
    });
    let updated = bench.command(bench.of_bot, &format!("/_address_settings 1 {settings}"));
    assert_eq!(updated["contactLink"]["addressSettings"], settings);
    bench.command(of_fay, &format!("/connect {short}"));
    let kinds: Vec<Value> =
        bench.events(of_fay).iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["contactConnected", "newChatItems"]);
    let own = bench.command(bench.of_bot, &format!("/connect {short}"));
    assert_eq!(own, chat_error("invalidConnReq"));
}

/// simplex-chat `Commands.hs`, `APIConnectPlan`; *Agent protocols over SimpleX*, "Profile
/// declarations".
#[test]
fn a_short_link_shows_what_is_declared() {
    let mut bench = Bench::new();
    let (_, of_eve) = stranger(&mut bench);
    let protocols = json!({"mcp": {"versions": ["2026-07-28"], "transports": {"rpc": true}}});
    let record = json!({
        "displayName": "bot",
        "fullName": "A bot",
        "peerType": "agent",
        "preferences": {"protocols": protocols, "voice": {"allow": "no"}},
    });
    bench.command(bench.of_bot, &format!("/_profile 1 {record}"));
    bench.command(bench.of_bot, "/_address 1 pq_ratchet=on");
    let (short, full) = (link_of(&mut bench, "connShortLink"), link_of(&mut bench, "connFullLink"));
    let plan = bench.command(of_eve, &format!("/_connect plan 1 {short} resolve=all"));
    assert_eq!(plan["connLink"]["connFullLink"], full);
    let plan = &plan["connectionPlan"];
    assert_eq!(plan["type"], "contactAddress");
    assert_eq!(plan["contactAddressPlan"]["type"], "ok");
    let data = &plan["contactAddressPlan"]["contactSLinkData_"];
    assert_eq!(data["profile"], record);
    assert_eq!(data["business"], false);

    for (client, link, kind) in
        [(of_eve, &full, "ok"), (bench.of_ann, &short, "known"), (bench.of_bot, &short, "ownLink")]
    {
        let plan = bench.command(client, &format!("/_connect plan 1 {link}"));
        let plan = &plan["connectionPlan"]["contactAddressPlan"];
        assert_eq!(plan["type"], kind);
        assert_eq!(plan.get("contactSLinkData_"), None);
    }
    let (router, _) = short.split_once('#').unwrap();
    let nowhere = format!("{router}#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY");
    let plan = bench.command(of_eve, &format!("/_connect plan 1 {nowhere}"));
    assert_eq!(plan["chatError"]["agentError"]["smpErr"]["type"], "AUTH");
}

/// simplex-chat `Commands.hs`, `APIUpdateProfile`, `APISetContactPrefs`, `APIUpdateGroupProfile`.
#[test]
fn a_record_is_kept_and_contacts_are_told() {
    let mut bench = Bench::new();
    let record = json!({"displayName": "robot", "fullName": "", "image": "data:"});
    let response = bench.command(bench.of_bot, &format!("/_profile 1 {record}"));
    assert_eq!(response["type"], "userProfileUpdated");
    assert_eq!(response["toProfile"], record);
    assert_eq!(response["fromProfile"]["displayName"], "bot");
    let response = bench.command(bench.of_bot, &format!("/_profile 1 {record}"));
    assert_eq!(response["type"], "userProfileNoChange");
    let user = bench.command(bench.of_bot, "/u");
    assert_eq!(user["user"]["localDisplayName"], "robot");
    assert_eq!(user["user"]["profile"]["image"], "data:");
    let events = bench.events_of(bench.of_ann, "contactUpdated");
    assert_eq!(events[0]["fromContact"]["profile"]["displayName"], "bot");
    assert_eq!(events[0]["toContact"]["localDisplayName"], "robot");

    let wrong = json!({"displayName": "ro@bot", "fullName": ""});
    let response = bench.command(bench.of_bot, &format!("/_profile 1 {wrong}"));
    let error = &response["chatError"]["errorType"];
    assert_eq!((&error["displayName"], &error["validName"]), (&json!("ro@bot"), &json!("robot")));
    let taken = json!({"displayName": "ann", "fullName": ""});
    let response = bench.command(bench.of_bot, &format!("/_profile 1 {taken}"));
    assert_eq!(response, store_error("duplicateName"));

    let (to_ann, group) = (bench.to_ann, bench.group_of(bench.bot));
    let preferences = json!({"calls": {"allow": "no"}});
    let response = bench.command(bench.of_bot, &format!("/_set prefs @{to_ann} {preferences}"));
    assert_eq!(response["toContact"]["userPreferences"], preferences);
    let merged = &response["toContact"]["mergedPreferences"]["calls"];
    assert_eq!(merged["enabled"], json!({"forUser": false, "forContact": false}));
    let events = bench.events_of(bench.of_ann, "contactUpdated");
    assert_eq!(events[0]["toContact"]["profile"]["preferences"], preferences);

    let record = json!({"displayName": "crew", "fullName": "", "description": "x"});
    let response = bench.command(bench.of_bot, &format!("/_group_profile #{group} {record}"));
    assert_eq!(response["chatError"]["errorType"]["type"], "groupUserRole");
    let group = bench.group_of(bench.ann);
    let response = bench.command(bench.of_ann, &format!("/_group_profile #{group} {record}"));
    assert_eq!(response["toGroup"]["groupProfile"], record);
    let events = bench.events_of(bench.of_bot, "groupUpdated");
    assert_eq!(events[0]["fromGroup"]["groupProfile"]["displayName"], "team");
    assert_eq!(events[0]["toGroup"]["groupProfile"], record);
}

#[test]
fn lists_show_what_there_is() {
    let mut bench = Bench::new();
    let contacts = bench.command(bench.of_ann, "/_contacts 1");
    assert_eq!(contacts["contacts"][0]["contactId"], bench.to_bot);
    assert_eq!(contacts["contacts"][0]["activeConn"]["connStatus"]["type"], "ready");
    let to_bot = bench.to_bot;
    for (command, count) in [
        ("/_groups 1", 1),
        ("/groups", 1),
        ("/_groups 1 TEA", 1),
        ("/_groups 1 none", 0),
        (&*format!("/_groups 1 @{to_bot}"), 1),
    ] {
        let groups = bench.command(bench.of_ann, command);
        assert_eq!(groups["groups"].as_array().unwrap().len(), count, "{command}");
    }
    for number in 0..5 {
        bench.ann_sends(&json!([text(&number.to_string())]));
    }
    let mut texts = |page: &str| -> (Vec<String>, i64) {
        let chat = bench.command(bench.of_ann, &format!("/_get chat @{to_bot} {page}"));
        let items = chat["chat"]["chatItems"].as_array().unwrap();
        let text = |item: &Value| item["meta"]["itemText"].as_str().unwrap().to_string();
        let last = items.last().map_or(0, |item| item["meta"]["itemId"].as_i64().unwrap());
        (items.iter().map(text).collect(), last)
    };
    let (all, last) = texts("count=100");
    assert_eq!(all, ["0", "1", "2", "3", "4"]);
    assert_eq!(texts("count=2").0, ["3", "4"]);
    assert_eq!(texts(&format!("before={last} count=2")).0, ["2", "3"]);
    assert_eq!(texts(&format!("after={} count=2", last - 4)).0, ["1", "2"]);
    assert_eq!(texts("count=100 search=3").0, ["3"]);
    let chats = bench.command(bench.of_ann, "/_get chats 1 pcc=on count=10 {\"type\":\"filters\"}");
    assert_eq!(chats["chats"].as_array().unwrap().len(), 2);
    let users = bench.command(bench.of_ann, "/users");
    assert_eq!(users["users"][0]["user"]["userId"], 1);
}

#[test]
fn clients_are_limited() {
    let mut bench = Bench::new();
    for _ in 2..MAX_CLIENTS {
        bench.api.connect(bench.ann).unwrap();
    }
    let refused = bench.api.connect(bench.ann);
    assert_eq!(refused, Err(ApiError::TooManyClients { limit: MAX_CLIENTS }));
    bench.api.disconnect(bench.of_bot);
    bench.api.connect(bench.ann).unwrap();
}

#[test]
fn frames_that_are_not_taken_are_limited() {
    let mut bench = Bench::new();
    let frame = br#"{"corrId":"1","cmd":"/v"}"#;
    for _ in 0..MAX_FRAMES {
        assert!(bench.api.takes_frames(bench.of_ann));
        bench.api.handle_frame(&mut bench.net, NOW, bench.of_ann, frame).unwrap();
    }
    assert!(!bench.api.takes_frames(bench.of_ann));
    let refused = bench.api.handle_frame(&mut bench.net, NOW, bench.of_ann, frame);
    assert_eq!(refused, Err(ApiError::Full { limit: MAX_FRAMES }));
    assert_eq!(bench.frames(bench.of_ann).len(), MAX_FRAMES);
    let unknown = ClientId(99);
    let refused = bench.api.handle_frame(&mut bench.net, NOW, unknown, frame);
    assert_eq!(refused, Err(ApiError::UnknownClient { client: unknown }));
}

#[test]
fn the_same_seed_gives_the_same_frames() {
    let run = || {
        let mut bench = Bench::new();
        let second = bench.api.connect(bench.bot).unwrap();
        let mut seen = Vec::new();
        for number in 0..20 {
            bench.ann_sends(&json!([text(&number.to_string())]));
            seen.push(bench.frames(bench.of_bot));
            seen.push(bench.frames(second));
        }
        bench
            .net
            .send(NOW, bench.ann, Chat::Direct(crate::chat::ContactId(bench.to_bot)), "x")
            .unwrap();
        seen
    };
    assert_eq!(run(), run());
}
