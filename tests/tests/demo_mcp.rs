//! `agentwire demo --mcp` with a published MCP server, PyPI `mcp-server-time`, behind the bot, and the
//! README's commands with it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use agentwire_tests::peers;
use agentwire_tests::program::{Running, agentwire};
use agentwire_tests::readme;
use serde_json::{Value, json};

/// Runs the demo with the server of that name; each line of its output.
fn demo(server: &str) -> Vec<Value> {
    let server = format!("'{}' --local-timezone UTC", peers::program(server).display());
    let output = Command::new(agentwire())
        .args(["demo", "--json", "--mcp", &server])
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn its_real_tools_are_called_and_give_real_answers() {
    let lines = demo("mcp-server-time");
    let text = |line: &Value| line["text"].as_str().unwrap_or_default().to_owned();
    let answer = |call: &str| {
        let at = lines
            .iter()
            .position(|line| line["what"].as_str().is_some_and(|what| what.contains(call)));
        let reply = lines.get(at.expect("the call") + 1).expect("its answer");
        assert_eq!((&reply["from"], &reply["to"]), (&"acme".into(), &"agent".into()));
        assert!(reply["bytes"].as_u64().is_some_and(|bytes| bytes <= 15_602));
        serde_json::from_str::<Value>(&text(reply)).expect("JSON")
    };
    let tools = answer("/_call mcp tools/list");
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["get_current_time", "convert_time"]);

    let now = answer("/_call mcp tools/call get_current_time");
    assert_eq!(now["result"]["isError"], false);
    let time = &now["result"]["structuredContent"];
    assert_eq!(time["timezone"], "UTC");
    let year = time["datetime"].as_str().and_then(|time| time.get(..4)).expect("a time");
    assert!(year.parse::<u32>().is_ok_and(|year| year > 2024), "{year}");
    assert!(time["datetime"].as_str().is_some_and(|time| time.ends_with("+00:00")));

    let converted = answer("/_call mcp tools/call convert_time");
    assert_eq!(converted["result"]["isError"], false);
    assert_eq!(converted["result"]["structuredContent"]["time_difference"], "+0.0h");
    let last = lines.last().expect("a sum");
    assert!(last["messages"].as_u64().is_some_and(|messages| messages >= 18), "{last}");
}

#[test]
fn the_commands_of_the_readme_serve_a_server_call_it_and_give_it_to_an_agent_host() {
    let (agentwire, state) = (agentwire(), std::env::temp_dir());
    let state = state.join(format!("agentwire-readme-{}", std::process::id()));
    let program = || {
        let mut command = Command::new(&agentwire);
        command.env("XDG_STATE_HOME", &state).stdin(Stdio::null()).stderr(Stdio::inherit());
        command
    };
    let mut loopback = Running::start(program().args(["--json", "loopback"]).args([
        "--profile",
        "bot=127.0.0.1:0",
        "--profile",
        "caller=127.0.0.1:0",
        "--profile",
        "me=127.0.0.1:0",
        "--contact",
        "caller:me",
    ]));
    let mut port = || {
        let port: Value = serde_json::from_str(&loopback.line()).expect("JSON");
        port["url"].as_str().expect("a text").to_owned()
    };
    let (bot, caller) = (port(), port());

    let server = peers::program("mcp-server-time").display().to_string();
    let serve = readme::command(
        "agentwire serve mcp",
        &[("ws://127.0.0.1:5225", &bot), ("mcp-server-time", &server)],
    );
    let mut serving = Running::start(program().args(serve));
    let link = serving.line();

    let call =
        readme::command("agentwire call", &[("ws://127.0.0.1:5226", &caller), ("LINK", &link)]);
    let called = program().args(call).output().expect("it runs");
    assert!(called.status.success(), "{}", String::from_utf8_lossy(&called.stderr));
    let answer: Value = serde_json::from_slice(&called.stdout).expect("the tool answers with JSON");
    assert_eq!(answer["timezone"], "UTC");

    let text = std::fs::read_to_string(peers::root().join("README.md")).expect("it is there");
    let block = text.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
    let configuration: Value = serde_json::from_str(block.expect("a block")).expect("JSON");
    let host = &configuration["mcpServers"]["simplex"];
    assert_eq!(host["command"], "agentwire");
    let args = host["args"].as_array().expect("words").iter().filter_map(Value::as_str);
    let mirror = format!("{link}=clock_");
    let mut command = program();
    command.args(args).args(["--core", &caller, "--mirror", &mirror]).stdin(Stdio::piped());
    let mut gateway = Running::start(&mut command);
    let mut input = gateway.child.stdin.take().expect("piped");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    input.write_all(format!("{list}\n").as_bytes()).expect("it reads");
    let listed: Value = serde_json::from_str(&gateway.line()).expect("JSON");
    let tools = listed["result"]["tools"].as_array().expect("tools").iter();
    let names: Vec<_> = tools.filter_map(|tool| tool["name"].as_str()).collect();
    for name in ["mcp_call", "clock_get_current_time", "clock_convert_time"] {
        assert!(names.contains(&name), "{names:?}");
    }
    drop(input);
    assert_eq!(gateway.child.wait().expect("it ends").code(), Some(0));
    let _ = std::fs::remove_dir_all(state);
}
