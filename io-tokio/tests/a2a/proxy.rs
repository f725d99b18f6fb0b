//! What a caller in a conversation gets from an agent on HTTP.

use core::time::Duration;

use agentwire_core::a2a::ownership::{Memory, Ownership};
use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_core::chat::{ContactId, GroupId};
use agentwire_core::loopback::ServiceAddress;
use agentwire_core::rpc::session::ServiceReplyKind;
use agentwire_tokio::a2a::{
    HttpError, Proxy, ProxyConfig, Upstream, UpstreamConfig, UpstreamError,
};
use agentwire_tokio::bot::{Bot, BotConfig};
use agentwire_tokio::client::{CallOptions, Client, Replies, RequestOptions, Target};
use agentwire_tokio::network::Network;

use crate::agent::{
    Agent, CARD, GO, Got, Pieces, answer, event, json, result, stream, task, update,
};

/// Two callers, a bot with a proxy, and the agent behind it.
pub(crate) struct World {
    pub(crate) agent: Agent,
    ann: Client,
    bob: Client,
    to_bot: (ContactId, ContactId),
    group: GroupId,
    address: ServiceAddress,
    _bot: Bot,
}

impl World {
    pub(crate) async fn new(answer: impl Fn(&Got) -> Pieces + Send + Sync + 'static) -> Self {
        let agent = Agent::start(CARD, answer).await;
        Self::of(agent, UpstreamConfig::default()).await
    }

    pub(crate) async fn of(agent: Agent, config: UpstreamConfig) -> Self {
        let upstream = Upstream::discover(&agent.url, config).await.unwrap();
        let mut config = ProxyConfig::default();
        config.resume_delay = Duration::from_millis(1);
        config.poll_every = Duration::from_millis(1);
        let proxy = Proxy::with_config(upstream, Ownership::new(Memory::default()), config);
        let network = Network::new(1);
        let [ann, bob, bot] = ["ann", "bob", "bot"].map(|name| network.add_profile(name).unwrap());
        let to_bot =
            (network.connect(&ann, &bot).unwrap().0, network.connect(&bob, &bot).unwrap().0);
        let address = network.open_address(&bot).unwrap();
        let group = network.with(|net| {
            let group = net.create_group(ann.id(), "group").unwrap();
            for other in [bob.id(), bot.id()] {
                net.join(group, other).unwrap();
            }
            net.group_id(group, ann.id()).unwrap()
        });
        let declared = || vec![Declared::new(Standard::A2A, ["1.0"])];
        let config = BotConfig::from(declared()).service(declared());
        let bot = Bot::start(bot, config, proxy);
        let (ann, bob) = (Client::start(ann), Client::start(bob));
        Self { agent, ann, bob, to_bot, group, address, _bot: bot }
    }

    pub(crate) async fn ann(&self, request: &str) -> Vec<String> {
        replies(&self.ann, self.to_bot.0, request).await
    }

    /// A call of ann's, whose replies are taken one by one.
    pub(crate) async fn call(&self, request: &str) -> Replies {
        let options = CallOptions::default();
        self.ann.call(Standard::A2A, self.to_bot.0, request, options).await.unwrap()
    }

    pub(crate) async fn bob(&self, request: &str) -> Vec<String> {
        replies(&self.bob, self.to_bot.1, request).await
    }

    async fn service(&self, request: &str) -> ServiceReplyKind {
        let options = RequestOptions::default();
        self.ann.request(Standard::A2A, self.address, request, options).await.unwrap().kind
    }
}

async fn replies(client: &Client, to: impl Into<Target>, request: &str) -> Vec<String> {
    let options = CallOptions::default().answers(1);
    let mut replies = client.call(Standard::A2A, to, request, options).await.unwrap();
    let mut texts = Vec::new();
    while let Some(reply) = replies.next().await {
        texts.push(reply.unwrap().text);
    }
    texts
}

pub(crate) fn request(method: &str, params: &str) -> String {
    with(method, params, r#"{"A2A-Version":"1.0"}"#)
}

pub(crate) fn with(method: &str, params: &str, parameters: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"x\u0031","method":"{method}","params":{params},"a2a-service-parameters":{parameters}}}"#
    )
}

pub(crate) fn message(more: &str) -> String {
    format!(
        r#"{{"message":{{{more}"messageId":"m","role":"ROLE_USER","parts":[{{"text":"hi"}}]}}}}"#
    )
}

pub(crate) fn restored(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"x\u0031","result":{result}}}"#)
}

pub(crate) fn is_error(reply: &str, code: i64, reason: &str) -> bool {
    reply.starts_with(r#"{"jsonrpc":"2.0","id":"x\u0031","error":{"#)
        && reply.contains(&format!("\"code\":{code},"))
        && reply.contains(&format!("\"reason\":\"{reason}\""))
}

#[tokio::test]
async fn a_request_goes_through_as_it_was_written() {
    let world = World::new(|_| result(r#"{ "task" : {"id":"t","status":{"state":3}} }"#)).await;
    let params = r#"{"message":{"messageId":"m","role":1,"parts":[{"data": null },{"raw":"-_8"}],"metadata":{"x": 1.0}}}"#;
    let parameters = r#"{"a2a-version":"1.0.3","Authorization":"Bearer t","X-Acme":"k","Host":"evil","cookie":"c","Content-Length":"1","A2A-Extensions":"u:a"}"#;
    let replies = world.ann(&with("SendMessage", params, parameters)).await;
    assert_eq!(replies, [restored(r#"{ "task" : {"id":"t","status":{"state":3}} }"#)]);
    let got = world.agent.requests().remove(0);
    assert!(got.head.starts_with("POST /a2a HTTP/1.1\r\n"), "{}", got.head);
    assert_eq!(
        got.body,
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"SendMessage","params":{params}}}"#,
            got.id()
        )
    );
    for (name, value) in [
        ("a2a-version", Some("1.0")),
        ("authorization", Some("Bearer t")),
        ("x-acme", Some("k")),
        ("a2a-extensions", Some("u:a")),
        ("content-type", Some("application/json")),
        ("accept", Some("application/json")),
        ("cookie", None),
    ] {
        assert_eq!(got.header(name), value, "{name}");
    }
    assert!(got.header("host").unwrap().starts_with("127.0.0.1:"));
    assert_eq!(got.head.to_ascii_lowercase().matches("a2a-version").count(), 1);
}

#[tokio::test]
async fn each_event_is_a_reply_however_the_stream_is_cut() {
    let artifact = r#"{"artifactUpdate":{"taskId":"t","contextId":"c-t","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}"#;
    let (first, last) =
        (format!("{{\"task\":{}}}", task("t", "WORKING")), update("t", "COMPLETED"));
    let whole = format!(
        "\u{feff}: ping\r\n\r\n{}: ping\n\nevent: message\rid: 7\rdata: {{\"jsonrpc\":\"2.0\",\rdata: \"id\":@ID,\"result\":{artifact}}}\r\r{}{}",
        event(&first).replace('\n', "\r\n"),
        event(&last),
        event(&update("t", "WORKING")),
    );
    for size in [1, 3, 16, 100_000] {
        let whole = whole.clone();
        let world = World::new(move |got| {
            // The id is put in before the text is cut.
            let whole = whole.replace("@ID", got.id());
            let chars: Vec<char> = whole.chars().collect();
            let pieces: Vec<String> = chars.chunks(size).map(|c| c.iter().collect()).collect();
            stream(&pieces.iter().map(String::as_str).collect::<Vec<_>>())
        })
        .await;
        let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
        let middle = format!("{{\"jsonrpc\":\"2.0\",\n\"id\":\"x\\u0031\",\"result\":{artifact}}}");
        assert_eq!(
            replies,
            [restored(&first), middle.replace(",\n", ","), restored(&last)],
            "in pieces of {size}"
        );
        assert_eq!(world.agent.requests()[0].header("accept"), Some("text/event-stream"));
    }
}

#[tokio::test]
async fn every_end_of_a_stream_ends_it() {
    for (end, events) in [
        (
            format!(
                "{{\"message\":{}}}",
                r#"{"messageId":"n","role":"ROLE_AGENT","parts":[{"text":"x"}]}"#
            ),
            1,
        ),
        (update("t", "INPUT_REQUIRED"), 1),
        (update("t", "AUTH_REQUIRED"), 1),
        (format!("{{\"task\":{}}}", task("t", "REJECTED")), 1),
    ] {
        let (ended, more) = (end.clone(), update("t", "WORKING"));
        let world = World::new(move |_| stream(&[&event(&ended), &event(&more)])).await;
        let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
        assert_eq!(replies.len(), events, "{replies:?}");
        assert_eq!(replies.last(), Some(&restored(&end)));
    }
}

#[tokio::test]
async fn a_json_error_answers_a_streaming_call() {
    let error = r#"{"code":-32004,"message":"no","data":{"old":true}}"#;
    for (status, id) in [("200 OK", "@ID"), ("400 Bad Request", "null"), ("200 OK", "\"@ID\"")] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        let world = World::new(move |_| json(status, &body)).await;
        let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
        let expected = format!(r#"{{"jsonrpc":"2.0","id":"x\u0031","error":{error}}}"#);
        assert_eq!(replies, [expected]);
    }
    // And one within a stream, as some servers send it.
    let inside =
        format!("event: error\ndata: {{\"jsonrpc\":\"2.0\",\"id\":@ID,\"error\":{error}}}\n\n");
    let world = World::new(move |_| stream(&[&event(&update("t", "WORKING")), &inside])).await;
    let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
    assert_eq!(replies.len(), 2);
    assert!(replies[1].contains("-32004"), "{replies:?}");
}

#[tokio::test]
async fn a_stream_that_is_cut_off_is_taken_up_again() {
    let world = World::new(|got| match got.method() {
        "SendStreamingMessage" => stream(&[&event(&update("t", "WORKING")), "data: {\"json"]),
        "SubscribeToTask" => {
            let snapshot = format!("{{\"task\":{}}}", task("t", "WORKING"));
            stream(&[&event(&snapshot), &event(&update("t", "COMPLETED"))])
        }
        other => panic!("{other}"),
    })
    .await;
    let parameters = r#"{"A2A-Version":"1.0","Authorization":"Bearer t"}"#;
    let replies = world.ann(&with("SendStreamingMessage", &message(""), parameters)).await;
    assert_eq!(replies.len(), 3, "{replies:?}");
    assert_eq!(replies[2], restored(&update("t", "COMPLETED")));
    let resumed = world.agent.requests().remove(1);
    assert!(resumed.body.ends_with(r#""params":{"id":"t"}}"#), "{}", resumed.body);
    assert_eq!(resumed.header("authorization"), Some("Bearer t"));
}

#[tokio::test]
async fn a_stream_that_cannot_be_taken_up_again_ends_with_the_task() {
    let world = World::new(|got| match got.method() {
        "SendStreamingMessage" => stream(&[&event(&update("t", "WORKING"))]),
        "SubscribeToTask" => json(
            "200 OK",
            r#"{"jsonrpc":"2.0","id":@ID,"error":{"code":-32004,"message":"the task is over"}}"#,
        ),
        "GetTask" => result(&task("t", "COMPLETED")),
        other => panic!("{other}"),
    })
    .await;
    let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
    let expected = restored(&format!("{{\"task\":{}}}", task("t", "COMPLETED")));
    assert_eq!(replies, [restored(&update("t", "WORKING")), expected]);
}

#[tokio::test]
async fn a_stream_that_is_cut_off_for_good_is_reported() {
    // Clean end of the body, right after a task that works.
    let world = World::new(|got| match got.method() {
        "SendStreamingMessage" => stream(&[&event(&update("t", "WORKING"))]),
        _ => answer("500 Internal Server Error", "text/html", "", "<html>"),
    })
    .await;
    let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
    assert_eq!(replies.len(), 2);
    assert!(is_error(&replies[1], -32603, "CUT_OFF"), "{replies:?}");
    assert!(replies[1].contains(r#""taskId":"t""#), "{replies:?}");
    // Nothing to take up.
    for pieces in [&[][..], &[": ping\n\n"], &["data: {\"a"]] {
        let pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        let world =
            World::new(move |_| stream(&pieces.iter().map(String::as_str).collect::<Vec<_>>()))
                .await;
        let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
        assert!(is_error(&replies[0], -32603, "CUT_OFF"), "{replies:?}");
        assert_eq!(world.agent.requests().len(), 1);
    }
}

#[tokio::test]
async fn what_is_no_answer_becomes_an_error() {
    let html = "<html>sorry</html>";
    let big = format!(r#"{{"jsonrpc":"2.0","id":@ID,"result":"{}"}}"#, "x".repeat(200_000));
    for (pieces, code, reason) in [
        (answer("500 Internal Server Error", "text/html", "", html), -32603, "AGENT_STATUS"),
        (
            answer("302 Found", "text/html", "Location: http://127.0.0.1:1/\r\n", ""),
            -32603,
            "AGENT_STATUS",
        ),
        (json("404 Not Found", r#"{"detail":"Not Found"}"#), -32603, "AGENT_STATUS"),
        (answer("200 OK", "text/html", "", html), -32006, "INVALID_AGENT_RESPONSE"),
        (json("200 OK", html), -32006, "INVALID_AGENT_RESPONSE"),
        (json("200 OK", ""), -32006, "INVALID_AGENT_RESPONSE"),
        (
            json("200 OK", r#"{"jsonrpc":"2.0","id":999,"result":{}}"#),
            -32006,
            "INVALID_AGENT_RESPONSE",
        ),
        (json("200 OK", r#"{"id":@ID,"result":{}}"#), -32006, "INVALID_AGENT_RESPONSE"),
        (json("200 OK", &big), -32603, "ANSWER_TOO_LARGE"),
        (
            vec![String::from(
                "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nContent-Type: application/json\r\n\r\n{",
            )],
            -32603,
            "AGENT_UNREACHABLE",
        ),
        (vec![String::from("nonsense\r\n\r\n")], -32603, "AGENT_UNREACHABLE"),
        (vec![], -32603, "AGENT_UNREACHABLE"),
    ] {
        let shown = format!("{pieces:?}");
        let agent = Agent::start(CARD, move |_| pieces.clone()).await;
        let mut config = UpstreamConfig::default();
        config.max_answer = 100_000;
        let world = World::of(agent, config).await;
        for method in ["SendMessage", "SendStreamingMessage"] {
            let replies = world.ann(&request(method, &message(""))).await;
            let shown = &shown[..shown.len().min(200)];
            assert!(is_error(&replies[0], code, reason), "{method} {shown} {replies:?}");
        }
        // A redirect is not followed, and nothing is sent twice.
        assert_eq!(world.agent.requests().len(), 2);
    }
}

#[tokio::test]
async fn an_event_that_is_too_large_ends_the_stream_and_get_task_gives_the_rest() {
    let world = World::new(|got| match got.method() {
        "GetTask" => result(&task("t", "COMPLETED")),
        _ => {
            let artifact = format!(
                r#"{{"artifactUpdate":{{"taskId":"t","contextId":"c-t","artifact":{{"artifactId":"a","parts":[{{"text":"{}"}}]}}}}}}"#,
                "x".repeat(16_000)
            );
            stream(&[&event(&update("t", "WORKING")), &event(&artifact), &event(&update("t", "COMPLETED"))])
        }
    })
    .await;
    let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
    assert_eq!(replies.len(), 2, "{replies:?}");
    assert!(is_error(&replies[1], -32603, "TOO_LARGE"), "{}", replies[1]);
    let replies = world.ann(&request("GetTask", r#"{"id":"t"}"#)).await;
    assert_eq!(replies, [restored(&task("t", "COMPLETED"))]);
}

#[tokio::test]
async fn a_task_of_another_caller_is_an_unknown_one() {
    let world = World::new(|got| match got.method() {
        "SendMessage" => result(&format!("{{\"task\":{}}}", task("t", "WORKING"))),
        "ListTasks" => result(&format!(
            r#"{{"tasks":[{},{}],"nextPageToken":"","pageSize":50,"totalSize":2}}"#,
            task("t", "WORKING"),
            task("somebody's", "WORKING")
        )),
        _ => result(&task("t", "WORKING")),
    })
    .await;
    assert_eq!(world.ann(&request("SendMessage", &message(""))).await.len(), 1);
    let sent = world.agent.requests().len();
    let mut unknown = Vec::new();
    for (method, params) in [
        ("GetTask", String::from(r#"{"id":"t"}"#)),
        ("GetTask", String::from(r#"{"id":"nobody's"}"#)),
        ("CancelTask", String::from(r#"{"id":"t"}"#)),
        ("SubscribeToTask", String::from(r#"{"id":"t"}"#)),
        ("ListTasks", String::from(r#"{"contextId":"c-t"}"#)),
        ("SendMessage", message(r#""taskId":"t","#)),
        ("SendMessage", message(r#""context_id":"c-t","#)),
    ] {
        unknown.extend(world.bob(&request(method, &params)).await);
    }
    // In the group ann is another caller too.
    let get = request("GetTask", r#"{"id":"t"}"#);
    unknown.extend(replies(&world.ann, Target::Everyone(world.group), &get).await);
    assert!(is_error(&unknown[0], -32001, "TASK_NOT_FOUND"), "{unknown:?}");
    assert!(unknown.iter().all(|reply| *reply == unknown[0]), "answered alike: {unknown:?}");
    assert_eq!(world.agent.requests().len(), sent, "nothing of it goes to the agent");
    assert_eq!(world.ann(&get).await, [restored(&task("t", "WORKING"))]);
    let list = request("ListTasks", "{}");
    let own = format!(
        r#"{{"tasks":[{}],"nextPageToken":"","pageSize":50,"totalSize":1}}"#,
        task("t", "WORKING")
    );
    assert_eq!(world.ann(&list).await, [restored(&own)]);
    let none = r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#;
    assert_eq!(world.bob(&list).await, [restored(none)]);
}

#[tokio::test]
async fn an_answer_with_another_callers_task_is_held_back() {
    let world = World::new(|_| result(&format!("{{\"task\":{}}}", task("t", "WORKING")))).await;
    world.ann(&request("SendMessage", &message(""))).await;
    let replies = world.bob(&request("SendMessage", &message(""))).await;
    assert!(is_error(&replies[0], -32006, "INVALID_AGENT_RESPONSE"), "{replies:?}");
}

#[tokio::test]
async fn a_credential_in_a_group_goes_no_further() {
    let world = World::new(|_| result(&task("t", "WORKING"))).await;
    let to = || Target::Everyone(world.group);
    // The client refuses what looks like one; the card's own name for a key only the proxy knows.
    let text = with("SendMessage", &message(""), r#"{"A2A-Version":"1.0","x-acme":"CANARY"}"#);
    let answers = replies(&world.ann, to(), &text).await;
    assert!(is_error(&answers[0], -32600, "CREDENTIAL_IN_GROUP"), "{answers:?}");
    assert!(!answers[0].contains("CANARY"));
    assert_eq!(world.agent.requests().len(), 0);
    assert_eq!(world.ann(&text).await.len(), 1);
    assert_eq!(world.agent.requests().len(), 1);
}

#[tokio::test]
async fn a_challenge_becomes_a_task_that_waits_for_a_credential() {
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let world = World::new(move |got| match got.header("authorization") {
            Some("Bearer good") => result(&format!("{{\"task\":{}}}", task("t", "COMPLETED"))),
            _ => answer(status, "text/plain", "WWW-Authenticate: Bearer realm=\"shop\"\r\n", ""),
        })
        .await;
        for method in ["SendMessage", "SendStreamingMessage"] {
            let reply = world.ann(&request(method, &message(""))).await.remove(0);
            assert!(reply.contains(r#""state":"TASK_STATE_AUTH_REQUIRED""#), "{reply}");
            let challenge = format!(r#"HTTP {}: Bearer realm=\"shop\""#, &status[..3]);
            assert!(reply.contains(&challenge), "{reply}");
            let id = reply.split(r#""task":{"id":""#).nth(1).unwrap().split('"').next().unwrap();
            // Its caller sees it, and nobody else.
            let get = request("GetTask", &format!(r#"{{"id":"{id}"}}"#));
            let seen = world.ann(&get).await.remove(0);
            assert!(seen.contains("AUTH_REQUIRED") && seen.contains(id), "{seen}");
            assert!(is_error(&world.bob(&get).await[0], -32001, "TASK_NOT_FOUND"));
            let cancel = request("CancelTask", &format!(r#"{{"id":"{id}"}}"#));
            assert!(world.ann(&cancel).await[0].contains("TASK_STATE_CANCELED"));
            // The message goes on with the credential; the agent has never heard of the task.
            let before = world.agent.requests().len();
            let again = message(&format!(r#""taskId":"{id}","#));
            let parameters = r#"{"A2A-Version":"1.0","Authorization":"Bearer good"}"#;
            let reply = world.ann(&with("SendMessage", &again, parameters)).await.remove(0);
            assert!(reply.contains("TASK_STATE_COMPLETED"), "{reply}");
            assert!(!world.agent.requests()[before].body.contains("taskId"));
        }
        let list = world.ann(&request("ListTasks", "{}")).await.remove(0);
        assert!(is_error(&list, -32603, "AUTHENTICATION_REQUIRED"), "{list}");
    }
}

#[tokio::test]
async fn the_public_card_answers_callers_without_a_credential() {
    let world = World::new(|_| result(r#"{"name":"for you"}"#)).await;
    let replies = world.ann(&request("GetExtendedAgentCard", "{}")).await;
    assert!(replies[0].contains(r#""name":"Shop""#), "{replies:?}");
    assert_eq!(world.agent.requests().len(), 0);
    let parameters = r#"{"A2A-Version":"1.0","X-ACME":"k"}"#;
    let replies = world.ann(&with("GetExtendedAgentCard", "{}", parameters)).await;
    assert_eq!(replies, [restored(r#"{"name":"for you"}"#)]);
}

#[tokio::test]
async fn over_service_rpc_the_task_is_waited_for() {
    let count = core::sync::atomic::AtomicUsize::new(0);
    let world = World::new(move |got| match got.method() {
        "SendMessage" => result(&format!("{{\"task\":{}}}", task("t", "SUBMITTED"))),
        _ if count.fetch_add(1, core::sync::atomic::Ordering::Relaxed) < 2 => {
            result(&task("t", "WORKING"))
        }
        _ => result(&task("t", "COMPLETED")),
    })
    .await;
    let ServiceReplyKind::Answer { text, .. } =
        world.service(&request("SendMessage", &message(""))).await
    else {
        panic!("no answer");
    };
    // The core has written it anew, its members in their order.
    assert!(text.contains(r#""result":{"task":{"contextId""#), "{text}");
    assert!(text.contains("COMPLETED"), "{text}");
    assert_eq!(world.agent.requests().len(), 4);
    // It belongs to nobody in a conversation.
    let get = request("GetTask", r#"{"id":"t"}"#);
    assert!(is_error(&world.ann(&get).await[0], -32001, "TASK_NOT_FOUND"));
}

#[tokio::test]
async fn wrong_parameters_are_answered_with_their_fields() {
    let world = World::new(|_| result("{}")).await;
    let text = request("SendMessage", r#"{"message":{"role":"user","parts":[{"mediaType":"x"}]}}"#);
    let reply = world.ann(&text).await.remove(0);
    for field in ["message.messageId", "message.role", "message.parts[0]"] {
        assert!(reply.contains(&format!(r#"{{"field":"{field}","#)), "{reply}");
    }
    assert!(reply.contains("-32602"));
    let reply = world.ann(&request("message/send", "{}")).await.remove(0);
    assert!(reply.contains("-32601"), "{reply}");
    assert_eq!(world.agent.requests().len(), 0);
}

#[tokio::test]
async fn too_many_calls_are_said_to_be_that() {
    let world =
        World::new(|_| answer("429 Too Many Requests", "text/plain", "Retry-After: 7\r\n", ""))
            .await;
    let reply = world.ann(&request("SendMessage", &message(""))).await.remove(0);
    assert!(is_error(&reply, -32603, "RATE_LIMITED"), "{reply}");
}

#[tokio::test]
async fn a_card_cannot_send_the_proxy_elsewhere() {
    let discover = |card: &'static str| async move {
        let agent = Agent::start(card, |_| result("{}")).await;
        Upstream::discover(&agent.url, UpstreamConfig::default()).await.map(|_| ()).unwrap_err()
    };
    let elsewhere = r#"{"supportedInterfaces":[{"url":"http://127.0.0.1:1/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#;
    assert_eq!(discover(elsewhere).await, UpstreamError::OtherOrigin);
    let metadata = r#"{"supportedInterfaces":[{"url":"http://169.254.169.254/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#;
    assert_eq!(discover(metadata).await, UpstreamError::Interface(HttpError::PlainHttp));
    let file = r#"{"supportedInterfaces":[{"url":"file:///etc/passwd","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#;
    assert_eq!(discover(file).await, UpstreamError::Interface(HttpError::Url));
    assert_eq!(discover(r#"{"name":"n"}"#).await, UpstreamError::NoInterface);
    assert_eq!(discover("[]").await, UpstreamError::NotACard);
    let mut config = UpstreamConfig::default();
    config.interface = Some("http://127.0.0.1:1/".into());
    let agent = Agent::start(elsewhere, |_| result("{}")).await;
    assert!(Upstream::discover(&agent.url, config).await.is_ok());
}

/// A second message to the task `t`, as a stream, answered with these pieces.
async fn second_message(pieces: Vec<String>) -> Vec<String> {
    let world = World::new(move |got| match got.method() {
        "SendMessage" => result(&format!(r#"{{"task":{}}}"#, task("t", "INPUT_REQUIRED"))),
        _ => stream(&pieces.iter().map(String::as_str).collect::<Vec<_>>()),
    })
    .await;
    world.ann(&request("SendMessage", &message(""))).await;
    world.ann(&request("SendStreamingMessage", &message(r#""taskId":"t","#))).await
}

#[tokio::test]
async fn a_task_as_it_was_before_the_message_does_not_end_the_stream() {
    let waits = format!(r#"{{"task":{}}}"#, task("t", "INPUT_REQUIRED"));
    let works = [update("t", "WORKING"), update("t", "COMPLETED")];
    let mut pieces = vec![event(&waits)];
    pieces.extend(works.iter().map(|update| event(update)));
    assert_eq!(second_message(pieces).await, works.each_ref().map(|update| restored(update)));
    // Nothing follows: it is the answer.
    assert_eq!(second_message(vec![event(&waits)]).await, [restored(&waits)]);
    assert_eq!(second_message(vec![event(&waits), GO.to_owned()]).await, [restored(&waits)]);
    // A task that waits again is the end, as ever.
    let again = update("t", "INPUT_REQUIRED");
    let pieces = vec![event(&works[0]), event(&again), event(&works[1])];
    let replies = second_message(pieces).await;
    assert_eq!(replies, [restored(&works[0]), restored(&again)]);
}
