//! Published MCP servers and a published client on both sides of the bridge: what comes through it is
//! what comes without it.

use core::time::Duration;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use agentwire_core::mcp::Asked;
use agentwire_core::mcp::bridge::{CallerId, Room, Via};
use agentwire_tests::peers::{program, root};
use agentwire_tokio::mcp::{Backend, Front, McpBridge, Options, Reply, Servers, Upstream};
use agentwire_tokio::stdio::ServerCommand;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

fn fixture() -> ServerCommand {
    ServerCommand::new(program("python")).arg(script("fixture_server.py"))
}

fn script(name: &str) -> PathBuf {
    root().join("tests/peers").join(name)
}

async fn start(command: ServerCommand) -> McpBridge {
    started(Backend::Child(command)).await
}

async fn started(backend: Backend) -> McpBridge {
    let bridge = McpBridge::start(backend, Options::default());
    bridge.ready().await.expect("it speaks 2026-07-28");
    bridge
}

fn request(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/logLevel": "debug",
        "progressToken": "a token",
    });
    json!({"jsonrpc": "2.0", "id": "an id", "method": method, "params": params}).to_string()
}

/// Asks, holds each message against the revision, and gives the answer and the notifications.
async fn ask_in(
    bridge: &McpBridge,
    method: &str,
    params: Value,
    room: Room,
) -> (Value, Vec<Value>) {
    let text = request(method, params);
    let (asked, _) = Asked::check(&text).expect("a good request");
    let mut call = bridge.call(CallerId(1), text, room, Via::Conversation);
    let mut notes = Vec::new();
    loop {
        match call.next().await.expect("an answer") {
            Reply::Notification(text) => notes.push(serde_json::from_str(&text).expect("JSON")),
            Reply::Answer(answer) => {
                assert!(room.fits(&answer.text));
                if let Err(fault) = asked.check_answer(&answer.text) {
                    panic!("{fault} at {}", fault.path(&answer.text));
                }
                return (serde_json::from_str(&answer.text).expect("JSON"), notes);
            }
            _ => {}
        }
    }
}

async fn ask(bridge: &McpBridge, method: &str, params: Value) -> Value {
    ask_in(bridge, method, params, Room::UNLIMITED).await.0
}

/// All tools, page by page.
async fn tools(bridge: &McpBridge, room: Room) -> (Vec<Value>, usize) {
    let (mut all, mut pages, mut params) = (Vec::new(), 0, json!({}));
    loop {
        let (page, _) = ask_in(bridge, "tools/list", params, room).await;
        all.extend(page["result"]["tools"].as_array().expect("tools").clone());
        pages += 1;
        match &page["result"]["nextCursor"] {
            Value::Null => return (all, pages),
            cursor => params = json!({"cursor": cursor}),
        }
    }
}

#[tokio::test]
async fn published_servers_are_listed_and_called() {
    let repository = root().to_str().expect("a plain path").to_owned();
    for (name, args, tool, arguments) in [
        (
            "mcp-server-time",
            &["--local-timezone", "UTC"][..],
            "get_current_time",
            json!({"timezone": "Asia/Tokyo"}),
        ),
        ("mcp-server-git", &[], "git_log", json!({"repo_path": repository, "max_count": 1})),
    ] {
        let bridge = start(ServerCommand::new(program(name)).args(args.iter().copied())).await;
        let discovered = ask(&bridge, "server/discover", json!({})).await;
        assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
        let (all, pages) = tools(&bridge, Room::UNLIMITED).await;
        assert_eq!(pages, 1);
        // As little room as a conversation may have, and less.
        for limit in [15_488, 3_000] {
            let (paged, _) = tools(&bridge, Room::escaped(limit)).await;
            assert_eq!(paged, all, "{name} {limit}");
        }
        let called =
            ask(&bridge, "tools/call", json!({"name": tool, "arguments": arguments})).await;
        assert_eq!(called["id"], "an id");
        assert_eq!(called["result"]["isError"], false, "{called}");
        let unknown = ask(&bridge, "tools/call", json!({"name": "nothing"})).await;
        assert!(unknown["error"].is_object() || unknown["result"]["isError"] == true, "{unknown}");
        bridge.close().await;
    }
}

#[tokio::test]
async fn everything_that_an_answer_can_be_comes_through() {
    let bridge = start(fixture()).await;
    let (all, _) = tools(&bridge, Room::UNLIMITED).await;
    assert_eq!(all.len(), 66);
    let (paged, pages) = tools(&bridge, Room::escaped(15_488)).await;
    assert!(pages > 2, "{pages}");
    assert_eq!(paged, all);

    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let (counted, notes) =
        ask_in(&bridge, "tools/call", call("count", json!({"steps": 3})), Room::UNLIMITED).await;
    assert_eq!(counted["result"]["content"][0]["text"], "3 steps");
    assert_eq!(notes.len(), 3);
    for (step, note) in (1..).zip(&notes) {
        assert_eq!(note["params"]["progressToken"], "a token");
        assert_eq!(note["params"]["progress"], f64::from(step));
    }
    let (_, notes) =
        ask_in(&bridge, "tools/call", call("log", json!({"text": "hi"})), Room::UNLIMITED).await;
    assert_eq!(notes[0]["params"]["data"], "hi", "{notes:?}");

    // It asks for input, and goes on with it.
    let asked = ask(&bridge, "tools/call", call("greet", json!({}))).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let mut retry = call("greet", json!({}));
    retry["inputResponses"] = json!({"name": {"action": "accept", "content": {"name": "ann"}}});
    retry["requestState"] = asked["result"]["requestState"].clone();
    let greeted = ask(&bridge, "tools/call", retry).await;
    assert_eq!(greeted["result"]["content"][0]["text"], "hello ann a state");

    // What does not fit says how large it is.
    let long = call("repeat", json!({"text": "x", "times": 20_000}));
    let text = request("tools/call", long);
    let mut open = bridge.call(CallerId(1), text, Room::escaped(15_488), Via::Conversation);
    let answer = open.answer().await.expect("an answer");
    let error: Value = serde_json::from_str(&answer.text).expect("JSON");
    assert_eq!(error["error"]["code"], -32603);
    assert_eq!(error["error"]["data"]["limit"], 15_488);
    assert_eq!(bridge.health().dropped, Default::default());
    bridge.close().await;
}

#[tokio::test]
async fn callers_with_the_same_id_get_their_own_answers() {
    let bridge = start(fixture()).await;
    let mut calls = Vec::new();
    for number in 0..64 {
        let params = json!({"name": "add", "arguments": {"a": number, "b": 0}});
        let text = request("tools/call", params);
        let caller = CallerId(number);
        calls.push((number, bridge.call(caller, text, Room::UNLIMITED, Via::Conversation)));
    }
    for (number, mut call) in calls {
        let answer = call.answer().await.expect("an answer");
        let answer: Value = serde_json::from_str(&answer.text).expect("JSON");
        assert_eq!(answer["id"], "an id");
        assert_eq!(answer["result"]["structuredContent"]["result"], number);
    }
    bridge.close().await;
}

/// The published client against a server: what it has seen.
async fn client(words: &[&str]) -> Value {
    let output = Command::new(program("python"))
        .arg(script("client.py"))
        .args(words)
        .output()
        .await
        .expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The fixture on Streamable HTTP, and its URL.
async fn fixture_on_http() -> (Child, String) {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    let child = Command::new(program("python"))
        .arg(script("fixture_server.py"))
        .arg(port.port().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("it runs");
    for _ in 0..200 {
        if tokio::net::TcpStream::connect(port).await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    (child, format!("http://{port}/mcp"))
}

#[tokio::test]
async fn a_published_client_sees_the_same_with_and_without_the_bridge() {
    let python = program("python");
    let server = script("fixture_server.py");
    let direct = client(&[python.to_str().unwrap(), server.to_str().unwrap()]).await;
    assert_eq!(direct["steps"].as_array().expect("steps").len(), 3);

    let servers = Arc::new(Servers::Shared(start(fixture()).await));
    let front = Front::listen("127.0.0.1:0".parse().unwrap(), servers).await.unwrap();
    assert_eq!(client(&[&front.url()]).await, direct, "before a child");

    let (_server, url) = fixture_on_http().await;
    let on_http = client(&[&url]).await;
    let bridge = started(Backend::Http(Upstream::new(&url))).await;
    let servers = Arc::new(Servers::Shared(bridge));
    let front = Front::listen("127.0.0.1:0".parse().unwrap(), servers).await.unwrap();
    assert_eq!(client(&[&front.url()]).await, on_http, "before a server on HTTP");
    assert_eq!(on_http, direct, "the server itself");
}
