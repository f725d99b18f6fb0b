//! A published MCP server, PyPI `mcp-server-time`, behind `StdioServer`.

use core::time::Duration;
use std::time::Instant;

use agentwire_tests::peers::program;
use agentwire_tokio::stdio::{BackendError, Options, Reply, ServerCommand, StdioServer};
use serde_json::{Value, json};

async fn start() -> StdioServer {
    let command = ServerCommand::new(program("mcp-server-time")).args(["--local-timezone", "UTC"]);
    StdioServer::spawn(command, Options::default()).await.expect("it speaks 2026-07-28")
}

fn request(id: Value, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": id,
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

async fn ask(server: &StdioServer, request: &str) -> Value {
    let answer = server.call(request).await.expect("sent").response().await.expect("an answer");
    assert!(!answer.contains('\n'));
    serde_json::from_str(&answer).expect("JSON")
}

fn time_in(zone: &str) -> Value {
    json!({"name": "get_current_time", "arguments": {"timezone": zone}})
}

#[tokio::test]
async fn its_tools_are_listed_and_called() {
    let server = start().await;
    let discovery: Value = serde_json::from_str(server.discovery()).expect("JSON");
    let who = &discovery["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(who["name"], "mcp-time");

    let list = ask(&server, &request(json!("list"), "tools/list", json!({}))).await;
    assert_eq!(list["id"], "list");
    assert_eq!(list["result"]["resultType"], "complete");
    let tools = list["result"]["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["get_current_time", "convert_time"]);

    let called = ask(&server, &request(json!(7), "tools/call", time_in("Asia/Tokyo"))).await;
    assert_eq!(called["id"], 7);
    assert_eq!(called["result"]["isError"], false);
    let time = &called["result"]["structuredContent"];
    assert_eq!(time["timezone"], "Asia/Tokyo");
    assert!(time["datetime"].as_str().expect("a time").ends_with("+09:00"));

    let ended = server.close().await;
    assert!(!ended.killed, "it ends by itself: {ended:?}");
}

#[tokio::test]
async fn callers_with_the_same_id_get_their_own_answers() {
    let server = start().await;
    let zones = ["Asia/Tokyo", "Europe/Paris", "America/New_York", "UTC"];
    let mut calls = Vec::new();
    for zone in zones.iter().cycle().take(32) {
        let request = request(json!(0), "tools/call", time_in(zone));
        calls.push((zone, server.call(&request).await.expect("sent")));
    }
    for (zone, mut call) in calls {
        let answer = call.response().await.expect("an answer");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["id"], 0);
        assert_eq!(answer["result"]["structuredContent"]["timezone"], **zone);
    }
    assert_eq!(server.dropped(), Default::default());
    server.close().await;
}

#[tokio::test]
async fn errors_and_odd_requests_are_answered_and_harm_nobody() {
    let server = start().await;
    let unknown = ask(&server, &request(json!(1), "no/such", json!({}))).await;
    assert_eq!(unknown["error"]["code"], -32601);
    let failed = ask(&server, &request(json!(2), "tools/call", time_in("Mars/Olympus"))).await;
    assert_eq!(failed["result"]["isError"], true);
    // Met with silence, or worse, if they reached it.
    for (odd, code) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list","params":{}}"#, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#, -32600),
        ("{", -32700),
    ] {
        match server.call(odd).await {
            Err(BackendError::Request(error)) => assert_eq!(error.code(), code, "{odd}"),
            other => panic!("{odd}: {other:?}"),
        }
    }
    let spread = request(json!("é\n"), "tools/call", time_in("UTC")).replace(',', ",\r\n ");
    let mut call = server.call(&spread).await.expect("sent");
    match call.next().await.expect("a message").expect("no error") {
        Reply::Response(text) => {
            assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":"é\n","result""#))
        }
        other => panic!("{other:?}"),
    }
    server.close().await;
}

#[tokio::test]
async fn a_killed_server_fails_its_calls_and_a_new_one_serves() {
    let server = start().await;
    let pid = server.pid().expect("it runs").to_string();
    let mut waiting = Vec::new();
    for id in 0..4 {
        let request = request(json!(id), "tools/call", time_in("UTC"));
        waiting.push(server.call(&request).await.expect("sent"));
    }
    let start_of_end = Instant::now();
    let killed = std::process::Command::new("kill").args(["-KILL", &pid]).status();
    assert!(killed.expect("kill runs").success());
    for mut call in waiting {
        // The answer may have been faster.
        if let Err(error) = call.response().await {
            assert!(matches!(error, BackendError::Ended(_)), "{error:?}");
        }
    }
    assert!(start_of_end.elapsed() < Duration::from_secs(2));
    let ended = server.close().await;
    assert_eq!(ended.status.map(|status| status.success()), Some(false));
    let server = start().await;
    ask(&server, &request(json!(1), "tools/list", json!({}))).await;
    server.close().await;
}
