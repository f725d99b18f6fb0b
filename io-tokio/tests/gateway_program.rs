//! `agentwire gateway mcp` from outside, before a core that `agentwire loopback` stands in for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_agentwire");

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, or the test has failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn core() -> (Running, String) {
    let mut child = Command::new(PROGRAM)
        .args(["--json", "loopback", "--profile", "ann=127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("UTF-8");
    let port: Value = serde_json::from_str(&line).expect("JSON");
    (Running(child), port["url"].as_str().expect("a text").to_owned())
}

/// A folder of its own, removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("agentwire-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn gateway(args: &[&str], folder: &Folder) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["gateway", "mcp"])
        .args(args)
        .env("XDG_STATE_HOME", &folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn request(id: u64, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

#[test]
fn a_host_is_served_until_its_end() {
    let folder = Folder::new("gateway");
    let (_core, url) = core();
    let mut gateway = Running(
        gateway(&["--core", &url, "--approve", "never"], &folder).spawn().expect("it runs"),
    );
    let mut input = gateway.0.stdin.take().expect("piped");
    let mut lines = BufReader::new(gateway.0.stdout.take().expect("piped")).lines();
    let mut answer = |text: String| -> Value {
        input.write_all(text.as_bytes()).expect("it reads");
        serde_json::from_str(&lines.next().expect("a line").expect("UTF-8")).expect("JSON")
    };
    let tools = answer(request(1, "tools/list", json!({})));
    assert_eq!(tools["result"]["tools"][6]["name"], "mcp_call");
    let list = answer(request(2, "tools/call", json!({"name": "list", "arguments": {}})));
    assert_eq!(list["result"]["isError"], false, "{list}");
    let lost = json!({"name": "send", "arguments": {"target": "@bob", "text": "hello"}});
    let lost = answer(request(3, "tools/call", lost));
    assert_eq!(lost["result"]["content"][0]["text"], "the profile has no such contact");
    drop(input);
    assert_eq!(gateway.0.wait().expect("it ends").code(), Some(0));
}

#[test]
fn what_is_wrong_at_the_start_is_said_with_its_exit_code() {
    let folder = Folder::new("gateway-start");
    let (_core, url) = core();
    let broken = folder.0.join("broken.pins");
    std::fs::write(&broken, "\0\0\0").expect("a file");
    let broken = broken.to_str().expect("UTF-8");
    for (args, code, said) in [
        (vec!["--core", "ws://127.0.0.1:1"], 4, "agentwire"),
        (vec!["--core", &url, "--ask-chat", "@owner"], 6, "no such contact"),
        (vec!["--core", &url, "--ask", "'open"], 2, "--ask"),
        (vec!["--core", &url, "--pins", broken], 9, "line 1"),
        (vec!["--core", &url, "--mirror", "@clock"], 2, "no = between"),
        (vec!["--core", &url, "--approve", "maybe"], 2, "never, new, always"),
    ] {
        let mut child = gateway(&args, &folder).spawn().expect("it runs");
        drop(child.stdin.take());
        let mut error = String::new();
        let mut stderr = child.stderr.take().expect("piped");
        stderr.read_to_string(&mut error).expect("UTF-8");
        assert_eq!(child.wait().expect("it ends").code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    }
}
