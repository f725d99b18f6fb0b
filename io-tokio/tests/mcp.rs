//! A server behind the bridge, in good and bad company. As in `stdio`, the server is this file,
//! started again.

#[path = "stdio/child.rs"]
mod child;

use core::future::Future;
use core::time::Duration;
use std::fs;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_core::mcp::bridge::{CallerId, Problem, Room, Status, Via};
use agentwire_core::rpc::session::ServiceReplyKind;
use agentwire_tokio::bot::{Bot, BotConfig};
use agentwire_tokio::client::{CallOptions, Client, RequestOptions, Target};
use agentwire_tokio::mcp::{
    Backend, Call, Front, FrontConfig, Health, Log, McpBridge, McpHandler, Options, PerCaller,
    Reply, Servers, Upstream,
};
use agentwire_tokio::network::Network;
use agentwire_tokio::stdio::ServerCommand;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

fn main() -> ExitCode {
    if let Ok(mode) = std::env::var(child::VARIABLE) {
        return child::run(&mode);
    }
    // Orphans become children of this process, as they do in a container: a zombie shows.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).expect("Linux");
    macro_rules! trials {
        ($($name:ident)*) => { vec![$(trial(stringify!($name), $name)),*] };
    }
    let trials = trials![
        a_chatty_standard_error_blocks_nobody
        a_death_in_a_call_is_told_and_the_server_started_again
        a_server_that_never_starts_is_given_up
        a_server_that_ends_at_its_start_is_tried_three_times
        a_server_of_an_older_revision_is_refused_at_once
        a_server_of_an_older_revision_is_adapted
        servers_of_their_own_are_bounded_and_end
        a_further_caller_is_told_that_all_are_busy
        bad_servers_do_not_spoil_a_good_one
        a_call_has_its_limits_and_a_late_answer_none
        payloads_beyond_measure_end_their_call_alone
        errors_of_the_server_are_no_reason_to_start_it_again
        a_server_that_does_not_read_is_ended
        a_caller_that_goes_has_cancelled
        a_caller_that_takes_nothing_still_gets_its_answer
        behind_a_bot_in_a_conversation_and_over_service_rpc
        before_http_clients_answers_and_streams
        before_http_clients_what_is_refused
        before_http_clients_with_a_token
        before_http_clients_a_client_that_goes_has_cancelled
        over_http_answers_and_streams
        over_http_a_call_has_its_headers_and_its_tool_is_asked_for
        over_http_what_is_no_answer
        over_http_a_server_that_is_not_there
        over_http_an_older_server_has_its_session
        closing_leaves_nothing_behind
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial<F: Future<Output = ()> + 'static>(name: &str, test: fn() -> F) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failed::from)?;
        runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(60), test()).await })
            .map_err(Failed::from)
    })
}

fn command(mode: &str) -> ServerCommand {
    let program = std::env::current_exe().expect("a running program has a path");
    ServerCommand::new(program).env(child::VARIABLE, mode)
}

fn backend(mode: &str) -> Backend {
    Backend::Child(command(mode))
}

fn quick() -> Options {
    let mut options = Options::default();
    options.backoff.first = Duration::from_millis(20);
    options.backoff.limit = Duration::from_millis(100);
    options
}

async fn start(mode: &str, options: Options) -> McpBridge {
    let bridge = McpBridge::start(backend(mode), options);
    bridge.ready().await.expect("it starts");
    bridge
}

fn request(id: &str, method: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{more}"_meta":{{{META}}}}}}}"#
    )
}

fn with_token(method: &str, more: &str) -> String {
    request("1", method, more).replace("\"_meta\":{", "\"_meta\":{\"progressToken\":\"t\",")
}

fn call(bridge: &McpBridge, request: &str) -> Call {
    bridge.call(CallerId(1), request, Room::UNLIMITED, Via::Conversation)
}

async fn ask(bridge: &McpBridge, method: &str, more: &str) -> Value {
    let answer = call(bridge, &request("1", method, more)).answer().await.expect("an answer");
    serde_json::from_str(&answer.text).expect("JSON")
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn healthy(bridge: &McpBridge, what: &str, mut is: impl FnMut(&Health) -> bool) {
    let mut health = bridge.watch();
    let seen = health.wait_for(|health| is(health));
    tokio::time::timeout(Duration::from_secs(10), seen).await.expect(what).expect("it runs");
}

/// Whether there is a process of this number, a zombie included.
fn is_there(pid: u64) -> bool {
    fs::metadata(format!("/proc/{pid}")).is_ok()
}

async fn a_chatty_standard_error_blocks_nobody() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let mut options = quick();
    let taken = Arc::clone(&lines);
    options.log = Some(Log::new(move |line| taken.lock().unwrap().push(line.len())));
    let bridge = start("serve", options).await;
    let start = Instant::now();
    ask(&bridge, "test/stderr", "\"bytes\":262144,").await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    until("all is logged", || lines.lock().unwrap().iter().sum::<usize>() == 262_144).await;
    assert!(lines.lock().unwrap().iter().all(|len| *len <= 8_192), "a line without end");
    bridge.close().await;
}

async fn a_death_in_a_call_is_told_and_the_server_started_again() {
    let bridge = start("serve", quick()).await;
    let mut waiting = call(&bridge, &request("\"w\"", "test/slow", "\"ms\":60000,"));
    let start = Instant::now();
    let dying = ask(&bridge, "test/die", "").await;
    assert_eq!(dying["error"]["data"], json!({"reason": "backend_ended", "why": "exit status: 3"}));
    let answer = waiting.answer().await.expect("an answer");
    assert!(answer.text.starts_with(r#"{"jsonrpc":"2.0","id":"w","error":"#), "{}", answer.text);
    assert!(!answer.text.contains("fire"), "what it wrote is not for callers");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    healthy(&bridge, "it is seen to be down", |health| health.trouble.is_some()).await;
    let trouble = bridge.health().trouble.expect("it ended");
    assert!(trouble.stderr.ends_with("the disk is on fire\n"));
    assert!(!format!("{trouble:?}").contains("fire"));
    healthy(&bridge, "it comes back", |health| health.is_up() && health.starts == 2).await;
    assert!(ask(&bridge, "test/echo", "").await["result"].is_object());
    bridge.close().await;
}

async fn a_server_that_never_starts_is_given_up() {
    let backend = Backend::Child(ServerCommand::new("/nonexistent/server"));
    let bridge = McpBridge::start(backend, quick());
    let error = bridge.ready().await.expect_err("there is no such program");
    assert!(error.to_string().starts_with("/nonexistent/server could not be started: "), "{error}");
    let answer = ask(&bridge, "test/echo", "").await;
    assert_eq!(answer["error"]["data"]["reason"], "backend_down");
    assert!(answer["error"]["data"]["retryAfterMs"].is_u64());
    bridge.close().await;
}

async fn a_server_that_ends_at_its_start_is_tried_three_times() {
    let bridge = McpBridge::start(backend("exit"), quick());
    let error = bridge.ready().await.expect_err("it ends");
    assert!(error.to_string().ends_with("ended: exit status: 3"), "{error}");
    assert_eq!(error.stderr(), "no database\n");
    assert!(bridge.health().starts >= 3);
    assert!(!bridge.health().is_up());
    bridge.close().await;
}

async fn a_server_of_an_older_revision_is_refused_at_once() {
    let bridge = McpBridge::start(backend("legacy"), quick());
    let error = bridge.ready().await.expect_err("it is too old");
    assert!(error.to_string().contains("does not speak MCP revision 2026-07-28"), "{error}");
    assert!(matches!(bridge.health().status, Status::Refused(_)));
    assert_eq!(bridge.health().pid, None);
    let answer = ask(&bridge, "test/echo", "").await;
    assert_eq!(answer["error"]["data"]["reason"], "backend_revision");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(bridge.health().starts, 1, "it is not tried again");
    bridge.close().await;
}

async fn a_server_of_an_older_revision_is_adapted() {
    let mut options = quick();
    options.bridge.legacy = true;
    let bridge = start("legacy", options).await;
    let seen = ask(&bridge, "test/seen", "").await;
    let lines = seen["result"]["lines"].as_array().expect("lines");
    let methods: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line.as_str().unwrap()).unwrap()["method"].take())
        .collect();
    assert_eq!(
        methods,
        ["server/discover", "initialize", "notifications/initialized", "test/seen"]
    );
    assert!(!lines[3].as_str().unwrap().contains("io.modelcontextprotocol"));
    bridge.close().await;
}

async fn servers_of_their_own_are_bounded_and_end() {
    const MAX: usize = 4;
    let servers =
        PerCaller::new(backend("serve"), quick()).max(MAX).idle(Duration::from_millis(200));
    let shared = Arc::new(Servers::PerCaller(servers.clone()));
    let mut pids = Vec::new();
    for caller in 0..40 {
        let text = request("1", "test/seen", "");
        let mut call =
            shared.call(CallerId(caller), text, Room::UNLIMITED, Via::Conversation).await;
        let answer = call.answer().await.expect("an answer");
        let seen: Value = serde_json::from_str(&answer.text).expect("JSON");
        // Its own: nobody else was there before.
        assert_eq!(seen["result"]["lines"].as_array().expect("lines").len(), 2);
        pids.push(seen["result"]["pid"].as_u64().expect("a number"));
        assert!(servers.len() <= MAX);
        let alive = pids.iter().filter(|pid| is_there(**pid)).count();
        assert!(alive <= MAX, "{alive} processes");
    }
    until("idle ones end", || servers.is_empty()).await;
    until("all have ended", || !pids.iter().any(|pid| is_there(*pid))).await;
    Arc::into_inner(shared).expect("nobody else").close().await;
}

async fn a_further_caller_is_told_that_all_are_busy() {
    let servers = Servers::PerCaller(PerCaller::new(backend("serve"), quick()).max(1));
    let hold = request("1", "test/hold", "");
    let mut first = servers.call(CallerId(1), hold, Room::UNLIMITED, Via::Conversation).await;
    tokio::time::timeout(Duration::from_millis(300), first.next()).await.expect_err("it is held");
    let text = request("\"b\"", "test/echo", "");
    let mut second =
        servers.call(CallerId(2), text.clone(), Room::UNLIMITED, Via::Conversation).await;
    let answer = second.answer().await.expect("an answer");
    assert_eq!(answer.problem, Some(Problem::Busy { limit: 1 }));
    assert!(answer.text.contains("\"id\":\"b\""));
    drop(first);
    // Its place is free as soon as the server has heard of it.
    let start = Instant::now();
    loop {
        let mut call =
            servers.call(CallerId(2), text.clone(), Room::UNLIMITED, Via::Conversation).await;
        if call.answer().await.expect("an answer").problem.is_none() {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(5));
    }
    servers.close().await;
}

async fn bad_servers_do_not_spoil_a_good_one() {
    let mut impatient = quick();
    impatient.bridge.open_timeout = Duration::from_millis(300);
    impatient.start_attempts = 1;
    let silent = McpBridge::start(backend("silent"), impatient.clone());
    let gone = McpBridge::start(backend("exit"), impatient.clone());
    let mut short = quick();
    short.bridge.idle_timeout = Duration::from_millis(300);
    let hanging = start("serve", short).await;
    let (silent_error, gone_error, hung, good) =
        tokio::join!(silent.ready(), gone.ready(), ask(&hanging, "test/hold", ""), async {
            let bridge = start("serve", quick()).await;
            for _ in 0..50 {
                assert!(ask(&bridge, "test/echo", "").await["result"].is_object());
            }
            bridge
        },);
    assert!(silent_error.expect_err("silent").to_string().contains("did not answer"));
    assert!(gone_error.expect_err("gone").to_string().contains("exit status: 3"));
    assert_eq!(hung["error"]["data"]["reason"], "timeout");
    for bridge in [silent, gone, hanging, good] {
        bridge.close().await;
    }
}

async fn a_call_has_its_limits_and_a_late_answer_none() {
    let mut options = quick();
    options.bridge.idle_timeout = Duration::from_millis(400);
    options.bridge.total_timeout = Duration::from_millis(1_200);
    let bridge = start("serve", options).await;
    let silent = ask(&bridge, "test/slow", "\"ms\":700,").await;
    assert_eq!(silent["error"]["data"]["limit"], "idle");
    // Progress every 100 ms for five seconds extends one limit, not the other.
    let mut lively = call(&bridge, &with_token("test/progress", "\"count\":50,\"ms\":100,"));
    let mut steps = 0;
    let answer = loop {
        match lively.next().await.expect("an answer") {
            Reply::Notification(text) => {
                assert!(text.contains("\"progressToken\":\"t\""));
                steps += 1;
            }
            Reply::Answer(answer) => break answer,
            _ => {}
        }
    };
    assert!(steps >= 5, "{steps}");
    assert!(answer.text.contains("\"limit\":\"total\""), "{}", answer.text);
    healthy(&bridge, "late ones are counted", |health| health.dropped.late > 0).await;
    bridge.close().await;
}

async fn payloads_beyond_measure_end_their_call_alone() {
    let mut options = quick();
    options.bridge.max_message = 1024 * 1024;
    let bridge = start("serve", options).await;
    for more in ["\"bytes\":104857600,", "\"bytes\":104857600,\"last\":true,"] {
        let answer = ask(&bridge, "test/big", more).await;
        assert_eq!(answer["error"]["data"]["reason"], "too_large", "{more}");
        assert_eq!(answer["error"]["data"]["limit"], 1024 * 1024);
    }
    let deep = ask(&bridge, "test/deep", "").await;
    assert_eq!(deep["error"]["data"]["reason"], "invalid_answer");
    assert!(ask(&bridge, "test/echo", "").await["result"].is_object());
    assert_eq!(bridge.health().starts, 1);
    bridge.close().await;
}

async fn errors_of_the_server_are_no_reason_to_start_it_again() {
    let bridge = start("serve", quick()).await;
    for shape in [
        r#"\"error\":{\"code\":-32602,\"message\":\"m\"}"#,
        r#"\"result\":{\"resultType\":\"complete\",\"content\":[],\"isError\":true}"#,
        r#"\"error\":{\"code\":-32603,\"message\":\"m\"}"#,
    ] {
        ask(&bridge, "test/shape", &format!("\"shape\":\"{shape}\",")).await;
    }
    assert_eq!(bridge.health().starts, 1);
    assert!(bridge.health().is_up());
    bridge.close().await;
}

async fn a_server_that_does_not_read_is_ended() {
    let mut options = quick();
    options.max_waiting = 1024 * 1024;
    options.grace = Duration::from_millis(200);
    let bridge = start("deaf", options).await;
    let more = format!("\"pad\":\"{}\",", "x".repeat(900 * 1024));
    let mut calls: Vec<Call> =
        (0..3).map(|_| call(&bridge, &request("1", "test/echo", &more))).collect();
    for call in &mut calls {
        let answer = call.answer().await.expect("an answer");
        assert!(answer.text.contains("backend_"), "{}", answer.text);
    }
    bridge.close().await;
}

async fn a_caller_that_goes_has_cancelled() {
    let bridge = start("serve", quick()).await;
    let mut held = call(&bridge, &request("1", "test/hold", ""));
    tokio::time::timeout(Duration::from_millis(200), held.next()).await.expect_err("it is held");
    drop(held);
    until("the server is told", || bridge.health().open_calls == 0).await;
    let seen = ask(&bridge, "test/seen", "").await;
    let last = seen["result"]["lines"].as_array().expect("lines").iter().rev().nth(1).cloned();
    assert!(last.unwrap().as_str().unwrap().contains("notifications/cancelled"));
    bridge.close().await;
}

async fn a_caller_that_takes_nothing_still_gets_its_answer() {
    let bridge = start("serve", quick()).await;
    let mut lazy = call(&bridge, &with_token("test/progress", "\"count\":500,"));
    ask(&bridge, "test/echo", "").await;
    until("its answer has come", || bridge.health().open_calls == 0).await;
    let mut notes = 0;
    while let Some(reply) = lazy.next().await {
        match reply {
            Reply::Notification(_) => notes += 1,
            _ => assert_eq!(notes, 64),
        }
    }
    assert_eq!(bridge.health().full, 500 - 64);
    bridge.close().await;
}

async fn behind_a_bot_in_a_conversation_and_over_service_rpc() {
    let mut options = quick();
    options.bridge.conversation_tools = vec!["talk".into()];
    let servers = Arc::new(Servers::Shared(start("serve", options).await));
    let network = Network::new(1);
    let ann = network.add_profile("ann").unwrap();
    let acme = network.add_profile("acme").unwrap();
    let (to_acme, _) = network.connect(&ann, &acme).unwrap();
    let address = network.open_address(&acme).unwrap();
    let declared = || vec![Declared::new(Standard::MCP, ["2026-07-28"])];
    let config = BotConfig::from(declared()).service(declared());
    let bot = Bot::start(acme, config, McpHandler::new(Arc::clone(&servers)));
    let client = Client::start(ann);

    let target = Target::Contact(to_acme);
    let text = with_token("test/progress", "\"count\":2,");
    let options = CallOptions::default().answers(1);
    let mut replies = client.call(Standard::MCP, target.clone(), text, options).await.unwrap();
    let mut texts = Vec::new();
    while let Some(reply) = replies.next().await {
        texts.push(reply.unwrap().text);
    }
    assert_eq!(texts.len(), 3, "two steps and the answer: {texts:?}");
    assert!(texts[0].contains(r#""progressToken":"t","progress":1"#));
    assert!(texts[2].starts_with(r#"{"jsonrpc":"2.0","id":1,"result":"#));

    // What does not fit into a message says how large it is, and how large it may be.
    let text = request("1", "test/big", "\"bytes\":20000,");
    let options = CallOptions::default().answers(1);
    let mut replies = client.call(Standard::MCP, target, text.clone(), options).await.unwrap();
    let answer: Value = serde_json::from_str(&replies.next().await.unwrap().unwrap().text).unwrap();
    assert_eq!(answer["error"]["code"], -32603);
    assert!(answer["error"]["data"]["size"].as_u64() > Some(20_000));
    assert!(answer["error"]["data"]["limit"].is_u64());

    let rpc =
        |text: String| client.request(Standard::MCP, address, text, RequestOptions::default());
    let reply = rpc(with_token("test/progress", "\"count\":2,")).await.unwrap();
    assert!(matches!(reply.kind, ServiceReplyKind::Answer { .. }), "{:?}", reply.kind);
    let reply = rpc(text).await.unwrap();
    assert!(format!("{:?}", reply.kind).contains("TooLarge"), "{:?}", reply.kind);
    let reply = rpc(request("1", "tools/call", "\"name\":\"talk\",")).await.unwrap();
    assert!(format!("{:?}", reply.kind).contains("ConversationRequired"), "{:?}", reply.kind);
    bot.shutdown().await;
    Arc::into_inner(servers).expect("the bot has ended").close().await;
}

/// Makes a request over HTTP by hand; gives the head and, as far as it comes, the body.
async fn post(front: &Front, headers: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(front.address()).await.unwrap();
    let text = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n{headers}\
         Content-Length: {}\r\n\r\n{body}",
        front.address(),
        body.len()
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_owned(), body.to_owned())
}

fn headers(method: &str) -> String {
    format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n")
}

async fn before_http_clients_answers_and_streams() {
    let servers = Arc::new(Servers::Shared(start("serve", quick()).await));
    let front = Front::listen("127.0.0.1:0".parse().unwrap(), servers).await.unwrap();
    let body = request("\"x\"", "test/echo", "");
    let (head, body) = post(&front, &headers("test/echo"), &body).await;
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert!(body.starts_with(r#"{"jsonrpc":"2.0","id":"x","result":"#), "{body}");

    let text = with_token("test/progress", "\"count\":2,");
    let (head, body) = post(&front, &headers("test/progress"), &text).await;
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    let events: Vec<&str> = body.lines().filter(|line| line.starts_with("data: ")).collect();
    assert_eq!(events.len(), 3, "{body}");
    assert!(events[1].contains(r#""progressToken":"t","progress":2"#));
    assert!(events[2].starts_with(r#"data: {"jsonrpc":"2.0","id":1,"result":"#));
}

async fn before_http_clients_what_is_refused() {
    let servers = Arc::new(Servers::Shared(start("serve", quick()).await));
    let front = Front::listen("127.0.0.1:0".parse().unwrap(), servers).await.unwrap();
    let good = request("1", "test/echo", "");
    let own = headers("test/echo");
    for (headers, body, status, contains) in [
        (own.clone(), good.replace("2.0", "1.0"), 400, "-32600"),
        (own.clone(), "{".into(), 400, "-32700"),
        (own.clone(), good.replace("2026-07-28", "2025-11-25"), 400, "-32020"),
        (
            own.replace("2026-07-28", "2025-11-25"),
            good.replace("2026-07-28", "2025-11-25"),
            400,
            "-32022",
        ),
        (String::new(), good.clone(), 400, "-32020"),
        (own.replace("echo", "other"), good.clone(), 400, "\"header\":\"mcp-method\""),
        (
            format!("{own}Origin: http://attacker.example\r\n"),
            good.clone(),
            403,
            "not this machine",
        ),
        (format!("{own}Origin: http://localhost:1\r\n"), good.clone(), 200, "result"),
        (
            own.clone(),
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#
                .into(),
            202,
            "",
        ),
        (own.clone(), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(), 400, ""),
    ] {
        let (head, answer) = post(&front, &headers, &body).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head} {body}");
        assert!(answer.contains(contains), "{answer}");
    }
    let mut stream = TcpStream::connect(front.address()).await.unwrap();
    stream
        .write_all(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 405 ") && answer.contains("allow: POST"), "{answer}");
    let mut stream = TcpStream::connect(front.address()).await.unwrap();
    stream
        .write_all(b"POST /mcp HTTP/1.1\r\nHost: attacker.example\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

async fn before_http_clients_with_a_token() {
    let servers = Arc::new(Servers::Shared(start("serve", quick()).await));
    let elsewhere = "192.0.2.1:0".parse().unwrap();
    for config in [FrontConfig::default(), FrontConfig::default().token("")] {
        let refused = Front::listen_with(elsewhere, config, Arc::clone(&servers)).await;
        assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    }
    let config = FrontConfig::default().token("canary");
    let front = Front::listen_with("127.0.0.1:0".parse().unwrap(), config, servers).await.unwrap();
    let (own, good) = (headers("test/echo"), request("1", "test/echo", ""));
    let (head, _) = post(&front, &own, &good).await;
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
    assert!(head.contains("www-authenticate: Bearer"), "{head}");
    let (head, _) = post(&front, &format!("{own}Authorization: Bearer canarx\r\n"), &good).await;
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
    let (head, _) = post(&front, &format!("{own}Authorization: Bearer canary\r\n"), &good).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
}

async fn before_http_clients_a_client_that_goes_has_cancelled() {
    let bridge = start("serve", quick()).await;
    let mut health = bridge.watch();
    let servers = Arc::new(Servers::Shared(bridge));
    let front = Front::listen("127.0.0.1:0".parse().unwrap(), servers).await.unwrap();
    let mut stream = TcpStream::connect(front.address()).await.unwrap();
    let body = request("1", "test/hold", "");
    let text = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{}\
         Content-Length: {}\r\n\r\n{body}",
        headers("test/hold"),
        body.len()
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    until("the call is open", || health.borrow_and_update().open_calls == 1).await;
    drop(stream);
    until("the call has ended", || health.borrow_and_update().open_calls == 0).await;
}

async fn closing_leaves_nothing_behind() {
    let mut options = quick();
    options.grace = Duration::from_millis(300);
    let program = std::env::current_exe().expect("a running program has a path");
    // A child that ignores SIGTERM: what is ignored stays ignored over `exec`.
    let stubborn = ServerCommand::new("sh")
        .args(["-c", "trap '' TERM; exec \"$0\""])
        .arg(program)
        .env(child::VARIABLE, "stubborn");
    let bridge = McpBridge::start(Backend::Child(stubborn), options);
    bridge.ready().await.expect("it starts");
    let grandchild = ask(&bridge, "test/grandchild", "").await;
    let grandchild = grandchild["result"]["pid"].as_u64().expect("a number");
    let leader = u64::from(bridge.health().pid.expect("it runs"));
    let mut open = call(&bridge, &request("1", "test/hold", ""));
    let start = Instant::now();
    bridge.close().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(!is_there(leader) && !is_there(grandchild));
    let answer = open.answer().await.expect("each call has its end");
    assert!(answer.text.contains("backend_ended"), "{}", answer.text);
}

/// A server on HTTP that is a bridge of ours before a child.
async fn over_http_answers_and_streams() {
    let servers = Arc::new(Servers::Shared(start("serve", quick()).await));
    let front = Front::listen("127.0.0.1:0".parse().unwrap(), servers).await.unwrap();
    let bridge = McpBridge::start(Backend::Http(Upstream::new(front.url())), quick());
    bridge.ready().await.expect("it is there");
    let answer = ask(&bridge, "test/echo", "").await;
    assert!(answer["result"]["line"].as_str().expect("a line").contains("test/echo"), "{answer}");
    let mut call = call(&bridge, &with_token("test/progress", "\"count\":3,"));
    let mut steps = 0;
    while let Some(Reply::Notification(text)) = call.next().await {
        assert!(text.contains("\"progressToken\":\"t\""), "{text}");
        steps += 1;
    }
    assert_eq!(steps, 3);
    // A caller that goes ends the stream, and the server behind it is told.
    let mut held = self::call(&bridge, &request("1", "test/hold", ""));
    tokio::time::timeout(Duration::from_millis(200), held.next()).await.expect_err("it is held");
    drop(held);
    let start = Instant::now();
    loop {
        let seen = ask(&bridge, "test/seen", "").await;
        if seen["result"]["lines"].to_string().contains("notifications/cancelled") {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(5));
    }
    // An error comes with a status of its own.
    let refused =
        ask(&bridge, "test/shape", r#""shape":"\"error\":{\"code\":-32601,\"message\":\"m\"}","#)
            .await;
    assert_eq!(refused["error"], json!({"code": -32601, "message": "m"}));
    bridge.close().await;
}

/// The head of an answer of which nothing more comes.
const HELD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 999\r\n\r\n";

/// Answers each request on a connection of its own with what the function makes of its head and body;
/// gives the address.
async fn http_server(answer: impl Fn(&str, &Value) -> String + Send + 'static) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp?key=canary", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            let (head, body) = loop {
                let mut chunk = [0; 4096];
                let read = stream.read(&mut chunk).await.unwrap_or(0);
                request.extend_from_slice(&chunk[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                if let Some((head, body)) = text.split_once("\r\n\r\n") {
                    let is_empty = body.is_empty() && head.starts_with("DELETE ");
                    let body = if is_empty { "null" } else { body };
                    if let Ok(body) = serde_json::from_str::<Value>(body) {
                        break (head.to_ascii_lowercase(), body);
                    }
                }
                assert!(read > 0, "a request breaks off: {text}");
            };
            let answer = answer(&head, &body);
            let _ = stream.write_all(answer.as_bytes()).await;
            if answer == HELD {
                held.push(stream);
            }
        }
    });
    url
}

fn http(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn result(body: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string()
}

const DISCOVERED: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;

async fn over_http_a_call_has_its_headers_and_its_tool_is_asked_for() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let url = http_server(move |head, body| {
        seen.lock().unwrap().push(head.to_owned());
        let value = match body["method"].as_str().unwrap() {
            "server/discover" => serde_json::from_str(DISCOVERED).unwrap(),
            "tools/list" => json!({"tools": [{"name": "caf\u{e9}", "inputSchema": {
                "type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "Count"}}}}]}),
            _ => json!({"content": []}),
        };
        let event = format!(": hello\n\ndata: {}\n\n", result(body, &value));
        http("200 OK", "text/event-stream; charset=utf-8", &event)
    })
    .await;
    let upstream = Upstream::new(url).credential("Bearer canary");
    assert!(!format!("{upstream:?}").contains("canary"));
    let bridge = McpBridge::start(Backend::Http(upstream), quick());
    bridge.ready().await.expect("it is there");
    let answer =
        ask(&bridge, "tools/call", "\"name\":\"caf\u{e9}\",\"arguments\":{\"n\":7},").await;
    assert_eq!(answer["result"]["content"], json!([]), "{answer}");
    assert!(!format!("{bridge:?} {:?}", bridge.health()).contains("canary"));
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 3);
    for (head, method) in heads.iter().zip(["server/discover", "tools/list", "tools/call"]) {
        assert!(head.starts_with("post /mcp?key=canary http/1.1"), "{head}");
        for line in [
            &format!("mcp-method: {method}"),
            "mcp-protocol-version: 2026-07-28",
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            "authorization: bearer canary",
        ] {
            assert!(head.lines().any(|own| own == line), "{line}: {head}");
        }
    }
    assert!(heads[2].contains("mcp-name: =?base64?y2fmw6k=?="), "{}", heads[2]);
    assert!(heads[2].contains("mcp-param-count: 7"), "{}", heads[2]);
}

async fn over_http_what_is_no_answer() {
    let url = http_server(|_, body| {
        let answer = |text: &str| result(body, &serde_json::from_str(text).unwrap());
        match body["method"].as_str().unwrap() {
            "server/discover" => http("200 OK", "application/json", &answer(DISCOVERED)),
            "test/null" => http(
                "400 Bad Request",
                "application/json",
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"m"}}"#,
            ),
            "test/html" => http("502 Bad Gateway", "text/html", "<h1>canary</h1>"),
            "test/json" => http("401 Unauthorized", "application/json", r#"{"detail":"canary"}"#),
            "test/text" => http("200 OK", "text/plain", "canary"),
            "test/cut" => http("200 OK", "text/event-stream", "data: {"),
            "test/empty" => http("200 OK", "text/event-stream", ""),
            "test/large" => http("200 OK", "application/json", &"x".repeat(100_000)),
            _ => String::new(),
        }
    })
    .await;
    let mut options = quick();
    options.bridge.max_message = 50_000;
    let bridge = McpBridge::start(Backend::Http(Upstream::new(url)), options);
    bridge.ready().await.expect("it is there");
    for (method, reason, why) in [
        ("test/html", "backend_ended", "HTTP status 502"),
        ("test/json", "backend_ended", "HTTP status 401"),
        ("test/text", "backend_ended", "neither JSON nor a stream"),
        ("test/cut", "backend_ended", "cut off"),
        ("test/empty", "backend_ended", "without an answer"),
        ("test/large", "too_large", ""),
        ("test/gone", "backend_ended", "no connection"),
    ] {
        let answer = ask(&bridge, method, "").await;
        assert_eq!(answer["id"], 1);
        assert_eq!(answer["error"]["data"]["reason"], reason, "{method} {answer}");
        let said = answer["error"]["data"]["why"].as_str().unwrap_or_default();
        assert!(said.contains(why), "{method} {answer}");
        assert!(!answer.to_string().contains("canary"), "{answer}");
    }
    // An error without an id is for the one request of its stream.
    let answer = ask(&bridge, "test/null", "").await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32602)));
    assert!(bridge.health().is_up(), "one bad answer is no reason to give it up");
    bridge.close().await;
}

/// A server of an older revision, with sessions that it forgets when it is asked to.
async fn over_http_an_older_server_has_its_session() {
    let seen = Arc::new(Mutex::new(Vec::<(String, String)>::new()));
    let log = Arc::clone(&seen);
    let url = http_server(move |head, body| {
        let mut state = log.lock().unwrap();
        let method = body["method"].as_str().unwrap_or("end").to_owned();
        let line = |name: &str| {
            let own = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            own.unwrap_or_default().to_owned()
        };
        let session = line("mcp-session-id");
        state.push((method.clone(), session.clone()));
        let sessions = state.iter().filter(|(method, _)| method == "initialize").count();
        let own = format!("s-{sessions}");
        let is_open = state.contains(&("notifications/initialized".into(), own.clone()));
        let is_expired = state.contains(&("test/expire".into(), own.clone()));
        let refused = |status: &str| http(status, "text/plain", "Bad Request");
        match method.as_str() {
            "server/discover" => refused("400 Bad Request"),
            "initialize" => {
                let initialized = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                    "serverInfo": {"name": "old", "version": "1"}});
                let answer = http("200 OK", "application/json", &result(body, &initialized));
                answer.replace("Connection:", &format!("Mcp-Session-Id: {own}\r\nConnection:"))
            }
            _ if session != own => refused("400 Bad Request"),
            _ if is_expired => http(
                "404 Not Found",
                "application/json",
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no session"}}"#,
            ),
            _ if line("mcp-protocol-version") != "2025-06-18" => refused("400 Bad Request"),
            "test/hold" => HELD.to_owned(),
            "end" => http("204 No Content", "text/plain", ""),
            _ if method.starts_with("notifications/") => http("202 Accepted", "text/plain", ""),
            _ if !is_open => refused("400 Bad Request"),
            _ => http("200 OK", "application/json", &result(body, &json!({"content": []}))),
        }
    })
    .await;
    let mut options = quick();
    options.bridge.legacy = true;
    let bridge = McpBridge::start(Backend::Http(Upstream::new(url)), options);
    bridge.ready().await.expect("it is there");
    let answer = ask(&bridge, "tools/call", "\"name\":\"n\",").await;
    assert_eq!(answer["result"]["content"], json!([]), "{answer}");
    // The session ends: what was asked in it has no answer, and there is a new one.
    let answer = ask(&bridge, "test/expire", "").await;
    assert_eq!(answer["error"]["data"]["reason"], "backend_ended", "{answer}");
    let mut health = bridge.watch();
    health
        .wait_for(|health| health.starts == 2 && health.is_up())
        .await
        .expect("it is there again");
    let answer = ask(&bridge, "tools/call", "\"name\":\"n\",").await;
    assert_eq!(answer["result"]["content"], json!([]), "{answer}");
    assert!(!format!("{bridge:?} {:?}", bridge.health()).contains("s-2"));
    // The end of a stream means nothing to it, so it is told.
    let mut held = call(&bridge, &request("1", "test/hold", ""));
    tokio::time::timeout(Duration::from_millis(200), held.next()).await.expect_err("it is held");
    drop(held);
    let has_heard = || {
        let seen = seen.lock().unwrap();
        seen.iter().any(|(method, session)| method == "notifications/cancelled" && session == "s-2")
    };
    while !has_heard() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bridge.close().await;
    let seen = seen.lock().unwrap();
    let of = |number: usize, method: &str| (method.to_owned(), format!("s-{number}"));
    let none = |method: &str| (method.to_owned(), String::new());
    assert_eq!(
        *seen,
        [
            none("server/discover"),
            none("initialize"),
            of(1, "notifications/initialized"),
            of(1, "tools/call"),
            of(1, "test/expire"),
            none("initialize"),
            of(2, "notifications/initialized"),
            of(2, "tools/call"),
            of(2, "test/hold"),
            of(2, "notifications/cancelled"),
            of(2, "end"),
        ]
    );
}

async fn over_http_a_server_that_is_not_there() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let upstream = Upstream::new(format!("http://{address}/mcp"));
    let bridge = McpBridge::start(Backend::Http(upstream), quick());
    let error = bridge.ready().await.expect_err("nobody listens");
    assert!(error.to_string().contains("no connection"), "{error}");
    bridge.close().await;
    for url in ["mcp.example", "http://mcp.example/", "https://user:canary@mcp.example/"] {
        let bridge = McpBridge::start(Backend::Http(Upstream::new(url)), quick());
        let error = bridge.ready().await.expect_err("it is not called");
        assert!(error.to_string().contains("cannot be called"), "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
        assert!(bridge.health().is_final);
        bridge.close().await;
    }
}
