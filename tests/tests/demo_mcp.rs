//! `agentwire demo --mcp` with a published MCP server, PyPI `mcp-server-time`, behind the bot.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use agentwire_tests::peers;
use serde_json::Value;

/// The program. It is built as the workspace's tests have built it (this test is named because
/// tests have features of their own), so that next to nothing is left to do.
fn agentwire() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let output = Command::new(cargo)
        .args(["build", "--workspace", "--locked", "--bin", "agentwire", "--test", "demo_mcp"])
        .args(["--features", "agentwire-tests/peers", "--message-format", "json"])
        .current_dir(peers::root())
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "the program is not built");
    let messages = String::from_utf8(output.stdout).expect("UTF-8");
    let path = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let executable = message["executable"].as_str().map(PathBuf::from);
        executable.filter(|_| message["target"]["name"] == "agentwire")
    });
    path.expect("cargo names the executable")
}

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
