//! What an A2A client on HTTP gets through the gateway: from an agent on HTTP behind a proxy, with
//! a conversation between them.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_tokio::a2a::{
    Gateway, GatewayConfig, GatewayError, INTERFACE_PATH, Proxy, Upstream, UpstreamConfig,
};
use agentwire_tokio::bot::{Bot, BotConfig};
use agentwire_tokio::client::{Client, Target};
use agentwire_tokio::network::Network;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::agent::{Agent, CARD, Got, Pieces, event, json, result, stream, task, update};

pub(crate) struct World {
    pub(crate) agent: Agent,
    host: String,
    _bot: Bot,
    _gateway: JoinHandle<()>,
}

impl Drop for World {
    fn drop(&mut self) {
        self._gateway.abort();
    }
}

impl World {
    pub(crate) async fn new(answer: impl Fn(&Got) -> Pieces + Send + Sync + 'static) -> Self {
        Self::with(GatewayConfig::default(), answer).await
    }

    pub(crate) async fn with(
        config: GatewayConfig,
        answer: impl Fn(&Got) -> Pieces + Send + Sync + 'static,
    ) -> Self {
        Self::of(Agent::start(CARD, answer).await, config).await
    }

    /// With an agent that has this card.
    pub(crate) async fn behind(
        card: &str,
        answer: impl Fn(&Got) -> Pieces + Send + Sync + 'static,
    ) -> Self {
        Self::of(Agent::start(card, answer).await, GatewayConfig::default()).await
    }

    /// The card that it shows.
    pub(crate) async fn card(&self) -> String {
        self.exchange("GET /.well-known/agent-card.json HTTP/1.1\r\n", "").await.body
    }

    async fn of(agent: Agent, mut config: GatewayConfig) -> Self {
        let upstream = Upstream::discover(&agent.url, UpstreamConfig::default()).await.unwrap();
        let network = Network::new(1);
        let [ann, bot] = ["ann", "bot"].map(|name| network.add_profile(name).unwrap());
        let (to_bot, _) = network.connect(&ann, &bot).unwrap();
        let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
        let bot = Bot::start(bot, BotConfig::from(declared), Proxy::new(upstream));
        let (client, target) = (Client::start(ann), Target::from(to_bot));
        let card = Gateway::fetch_card(&client, &target).await.unwrap();
        config.poll_at_first = Duration::from_millis(5);
        let address = ([127, 0, 0, 1], 0).into();
        let gateway = Gateway::bind(address, client, target, &card, config).await.unwrap();
        let host = gateway.address().unwrap().to_string();
        assert_eq!(gateway.url(), format!("http://{host}{INTERFACE_PATH}"));
        let gateway = tokio::spawn(gateway.run(core::future::pending()));
        Self { agent, host, _bot: bot, _gateway: gateway }
    }

    pub(crate) async fn send(&self, head: &str, body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(&self.host).await.unwrap();
        let host =
            if head.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.host) };
        let length = body.len();
        let text =
            format!("{head}{host}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        socket.write_all(text.as_bytes()).await.unwrap();
        socket
    }

    async fn exchange(&self, head: &str, body: &str) -> Answer {
        let mut socket = self.send(head, body).await;
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        Answer::read(&text)
    }

    pub(crate) async fn post(&self, body: &str) -> Answer {
        self.exchange(&format!("POST {INTERFACE_PATH} HTTP/1.1\r\n{HEADERS}"), body).await
    }
}

pub(crate) const HEADERS: &str = "Content-Type: application/json\r\nA2A-Version: 1.0\r\n";

#[derive(Debug)]
pub(crate) struct Answer {
    status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head[9..12].parse().unwrap();
        let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { joined(body) } else { body.to_owned() };
        Self { status, head: head.to_ascii_lowercase(), body }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }

    fn events(&self) -> Vec<&str> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"));
        self.body.split("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect()
    }
}

/// The text that chunks carry.
fn joined(mut chunks: &str) -> String {
    let mut text = String::new();
    while let Some((len, rest)) = chunks.split_once("\r\n") {
        let len = usize::from_str_radix(len, 16).unwrap();
        text.push_str(&rest[..len]);
        chunks = rest[len..].strip_prefix("\r\n").unwrap();
    }
    text
}

pub(crate) fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"x\u0031","method":"{method}","params":{params}}}"#)
}

pub(crate) fn message(more: &str) -> String {
    format!(
        r#"{{"message":{{{more}"messageId":"m","role":"ROLE_USER","parts":[{{"text":"hi"}}]}}}}"#
    )
}

pub(crate) fn restored(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"x\u0031","result":{result}}}"#)
}

pub(crate) fn wrapped(task: &str) -> String {
    format!("{{\"task\":{task}}}")
}

#[tokio::test]
async fn a_request_reaches_the_agent_and_its_answer_comes_back() {
    let world = World::new(|_| result(&wrapped(&task("t", "COMPLETED")))).await;
    let body = request("SendMessage", &message(""));
    for path in [INTERFACE_PATH, "/a2a/", "/"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nContent-Type: application/json; charset=utf-8\r\n\
             a2a-version: 1.0.2\r\nAuthorization: Bearer t\r\ntraceparent: 00-1\r\nX-Two: 1\r\n\
             X-Two: 2\r\nCookie: c\r\nAccept: */*\r\nUser-Agent: test\r\n"
        );
        let answer = world.exchange(&head, &body).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
        assert_eq!(answer.body, restored(&wrapped(&task("t", "COMPLETED"))));
    }
    let got = world.agent.requests().remove(0);
    for (name, value) in [
        ("a2a-version", Some("1.0")),
        ("authorization", Some("Bearer t")),
        ("traceparent", Some("00-1")),
        ("x-two", Some("1, 2")),
        ("cookie", None),
        ("user-agent", None),
    ] {
        assert_eq!(got.header(name), value, "{name}");
    }
    assert!(got.body.ends_with(&format!(r#""params":{}}}"#, message(""))), "{}", got.body);
}

#[tokio::test]
async fn ids_come_back_as_they_were_sent() {
    let world =
        World::new(|_| result(r#"{"id":"t","status":{"state":"TASK_STATE_WORKING"}}"#)).await;
    world.post(&request("GetExtendedAgentCard", "{}")).await;
    for id in ["42", "0", "\"42\"", "null", "123456789012345678901", "\"caf\\u00e9\""] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"GetExtendedAgentCard"}}"#);
        let answer = world.post(&body).await;
        assert!(answer.body.contains(&format!("\"id\":{id},")), "{id} {}", answer.body);
    }
}

#[tokio::test]
async fn a_stream_comes_as_events() {
    let world = World::new(|_| {
        stream(&[
            &event(&wrapped(&task("t", "WORKING"))),
            &event(&update("t", "WORKING")),
            &event(&update("t", "COMPLETED")),
        ])
    })
    .await;
    let answer = world.post(&request("SendStreamingMessage", &message(""))).await;
    let expected = [
        restored(&wrapped(&task("t", "WORKING"))),
        restored(&update("t", "WORKING")),
        restored(&update("t", "COMPLETED")),
    ];
    assert_eq!(answer.events(), expected);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn an_error_of_a_streaming_call_comes_as_json() {
    let world = World::new(|_| {
        json("200 OK", r#"{"jsonrpc":"2.0","id":@ID,"error":{"code":-32004,"message":"no"}}"#)
    })
    .await;
    let answer = world.post(&request("SendStreamingMessage", &message(""))).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.body.contains("-32004"), "{}", answer.body);
}

#[tokio::test]
async fn a_subscription_stays_open_until_the_task_is_over() {
    // It waits for its caller, works, waits again, and is done.
    let looks = Arc::new(AtomicUsize::new(0));
    let subscriptions = AtomicUsize::new(0);
    let world = World::new(move |got| match got.method() {
        "SendMessage" => result(&wrapped(&task("t", "WORKING"))),
        "SubscribeToTask" => match subscriptions.fetch_add(1, Ordering::Relaxed) {
            0 => stream(&[&event(&wrapped(&task("t", "INPUT_REQUIRED")))]),
            _ => stream(&[
                &event(&wrapped(&task("t", "WORKING"))),
                &event(&update("t", "AUTH_REQUIRED")),
            ]),
        },
        "GetTask" => result(&match looks.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => task("t", "INPUT_REQUIRED"),
            2 => task("t", "WORKING"),
            3 => task("t", "AUTH_REQUIRED"),
            _ => task("t", "COMPLETED"),
        }),
        other => panic!("{other}"),
    })
    .await;
    world.post(&request("SendMessage", &message(""))).await;
    let answer = world.post(&request("SubscribeToTask", r#"{"id":"t"}"#)).await;
    let expected = [
        restored(&wrapped(&task("t", "INPUT_REQUIRED"))),
        restored(&wrapped(&task("t", "WORKING"))),
        restored(&update("t", "AUTH_REQUIRED")),
        restored(&wrapped(&task("t", "COMPLETED"))),
    ];
    assert_eq!(answer.events(), expected);
    // A message's own stream ends where the conversation's does.
    let world = World::new(|_| stream(&[&event(&update("t", "INPUT_REQUIRED"))])).await;
    let answer = world.post(&request("SendStreamingMessage", &message(""))).await;
    assert_eq!(answer.events(), [restored(&update("t", "INPUT_REQUIRED"))]);
    assert_eq!(world.agent.requests().len(), 1);
}

#[tokio::test]
async fn a_silent_stream_gets_signs_of_life() {
    let mut config = GatewayConfig::default();
    config.keep_alive = Duration::from_millis(5);
    let world = World::with(config, |got| match got.method() {
        "SendMessage" => result(&wrapped(&task("t", "WORKING"))),
        "SubscribeToTask" => stream(&[&event(&wrapped(&task("t", "INPUT_REQUIRED")))]),
        _ => result(&task("t", "INPUT_REQUIRED")),
    })
    .await;
    world.post(&request("SendMessage", &message(""))).await;
    let body = request("SubscribeToTask", r#"{"id":"t"}"#);
    let head = format!("POST {INTERFACE_PATH} HTTP/1.1\r\n{HEADERS}");
    let mut socket = world.send(&head, &body).await;
    let mut text = String::new();
    while !text.contains("INPUT_REQUIRED") || text.matches(":\n\n").count() < 3 {
        let mut chunk = [0; 1024];
        let read = socket.read(&mut chunk).await.unwrap();
        assert_ne!(read, 0, "the stream has ended: {text}");
        text.push_str(core::str::from_utf8(&chunk[..read]).unwrap());
    }
}

#[tokio::test]
async fn the_card_names_the_gateway_alone() {
    let world = World::new(|_| Pieces::new()).await;
    let get = "GET /.well-known/agent-card.json HTTP/1.1\r\n";
    let card = world.exchange(get, "").await;
    assert_eq!((card.status, card.header("content-type")), (200, Some("application/json")));
    assert!(card.body.contains(&format!("http://{}{INTERFACE_PATH}", world.host)), "{}", card.body);
    assert!(card.body.contains(r#""pushNotifications":false"#) && card.body.contains("Shop"));
    assert_eq!(card.body.matches("http://").count(), 1, "{}", card.body);
    assert_eq!(card.header("cache-control"), Some("public, max-age=300"));
    for (name, condition) in [("etag", "If-None-Match"), ("last-modified", "If-Modified-Since")] {
        let original = card.header(name).unwrap();
        // Dates have upper case letters that reading the head has lowered; they are read all the same.
        let again = world.exchange(&format!("{get}{condition}: {original}\r\n"), "").await;
        if name == "etag" {
            assert_eq!((again.status, again.body.as_str()), (304, ""), "{condition}");
        }
    }
    let head = world.exchange("HEAD /.well-known/agent-card.json HTTP/1.1\r\n", "").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[tokio::test]
async fn what_is_no_request_is_answered_as_that() {
    let world = World::new(|_| Pieces::new()).await;
    let post = |headers: &str| format!("POST /a2a HTTP/1.1\r\n{headers}A2A-Version: 1.0\r\n");
    for media in ["Content-Type: text/plain\r\n", "", "Content-Type: application/a2a+json\r\n"] {
        let answer = world.exchange(&post(media), "{bad").await;
        assert_eq!(answer.status, 415);
        assert!(answer.body.contains("-32005"), "{}", answer.body);
    }
    for (body, code) in [
        ("{bad", "-32700"),
        ("", "-32700"),
        ("[]", "-32600"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, "-32600"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, "-32600"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "-32600"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}"#, "-32601"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t","historyLength":-1}}"#,
            "-32602",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"url":"https://h/"}}"#,
            "-32003",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"nobody's"}}"#, "-32001"),
    ] {
        let answer = world.post(body).await;
        assert_eq!(answer.status, 200, "{body}");
        assert!(answer.body.contains(&format!("\"code\":{code},")), "{body} {}", answer.body);
        let has_id = code != "-32700" && body.contains("\"id\":1");
        let id = if has_id { "\"id\":1," } else { "\"id\":null," };
        assert!(answer.body.contains(id), "{body} {}", answer.body);
    }
    let get = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#;
    let json = "POST /a2a HTTP/1.1\r\nContent-Type: application/json\r\n";
    for (head, code) in [
        (String::from(json), "-32009"),
        (format!("{json}A2A-Version: 0.3\r\n"), "-32009"),
        (format!("{json}A2A-Version: 99.0\r\n"), "-32009"),
        (json.replace("/a2a ", "/a2a?A2A-Version=1.0 "), "-32001"),
    ] {
        let answer = world.exchange(&head, get).await;
        assert!(answer.body.contains(code), "{head} {}", answer.body);
    }
    let long = world.post(&format!(r#"{{"x":"{}"}}"#, "x".repeat(1024 * 1024))).await;
    assert_eq!(long.status, 413);
    let fits_no_message = request(
        "SendMessage",
        &message(&format!(r#""metadata":{{"x":"{}"}},"#, "x".repeat(16_000))),
    );
    let answer = world.post(&fits_no_message).await;
    assert!(answer.body.contains("TOO_LARGE") && answer.body.contains("-32600"), "{}", answer.body);
    assert_eq!(world.exchange("GET /a2a HTTP/1.1\r\n", "").await.status, 405);
    assert_eq!(
        world.exchange("POST /.well-known/agent-card.json HTTP/1.1\r\n", "").await.status,
        405
    );
    assert_eq!(world.exchange("GET /else HTTP/1.1\r\n", "").await.status, 404);
    assert_eq!(world.agent.requests().len(), 0);
}

#[tokio::test]
async fn a_website_does_not_reach_a_local_gateway_through_a_browser() {
    let world = World::new(|_| Pieces::new()).await;
    for (host, status) in [
        ("evil.example", 403),
        ("localhost:8080", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("", 403),
    ] {
        let head = format!("GET /.well-known/agent-card.json HTTP/1.1\r\nHost: {host}\r\n");
        assert_eq!(world.exchange(&head, "").await.status, status, "{host}");
    }
}

#[tokio::test]
async fn a_gateway_for_other_machines_needs_a_token() {
    let network = Network::new(1);
    let [ann, bot] = ["ann", "bot"].map(|name| network.add_profile(name).unwrap());
    let (to_bot, _) = network.connect(&ann, &bot).unwrap();
    let (client, config) = (Client::start(ann), GatewayConfig::default());
    let bound = Gateway::bind(([0, 0, 0, 0], 0).into(), client, to_bot.into(), "{}", config).await;
    assert!(matches!(bound, Err(GatewayError::NoToken)));

    let mut config = GatewayConfig::default();
    config.token = Some("secret".into());
    let world = World::with(config, |_| result(&wrapped(&task("t", "COMPLETED")))).await;
    let get = "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: any.example\r\n";
    for (authorization, status) in [
        ("", 401),
        ("Authorization: Bearer wrong!\r\n", 401),
        ("Authorization: Bearer secret1\r\n", 401),
        ("Authorization: Basic secret\r\n", 401),
        ("Authorization: Bearer secret\r\n", 200),
        ("authorization: bearer secret\r\n", 200),
    ] {
        let answer = world.exchange(&format!("{get}{authorization}"), "").await;
        assert_eq!(answer.status, status, "{authorization}");
        assert_eq!(answer.header("www-authenticate").is_some(), status == 401);
    }
    let head = format!("POST /a2a HTTP/1.1\r\n{HEADERS}Authorization: Bearer secret\r\n");
    let answer = world.exchange(&head, &request("SendMessage", &message(""))).await;
    assert_eq!(answer.status, 200);
    // It is the gateway's own.
    assert_eq!(world.agent.requests()[0].header("authorization"), None);
}
