//! `agentwire gateway mcp` from outside, before a core that `agentwire loopback` stands in for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
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

/// Stand-ins for the cores of these profiles, and their URLs.
fn cores<const N: usize>(profiles: [&str; N]) -> (Running, [String; N]) {
    let mut command = Command::new(PROGRAM);
    command.args(["--json", "loopback"]);
    for profile in profiles {
        command.args(["--profile", &format!("{profile}=127.0.0.1:0")]);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let urls = profiles.map(|_| {
        let line = lines.next().expect("a line").expect("UTF-8");
        let port: Value = serde_json::from_str(&line).expect("JSON");
        port["url"].as_str().expect("a text").to_owned()
    });
    (Running(child), urls)
}

fn core() -> (Running, String) {
    let (core, [url]) = cores(["ann"]);
    (core, url)
}

/// The first line that a process prints.
fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    let output = child.stdout.as_mut().expect("piped");
    BufReader::new(output).read_line(&mut line).expect("UTF-8");
    line.trim_end().to_owned()
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

/// A request over HTTP: the status and the body of its answer.
fn post(url: &str, more: &str, method: &str, body: &str) -> (u16, String) {
    let place = url.strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
    let place = place.unwrap_or_else(|| panic!("{url}"));
    let mut stream = TcpStream::connect(place).expect("it listens");
    let name = if method == "tools/call" { "Mcp-Name: echo\r\n" } else { "" };
    let host = if more.contains("Host: ") { String::new() } else { format!("Host: {place}\r\n") };
    let head = format!(
        "POST /mcp HTTP/1.1\r\n{host}{more}Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    stream.write_all(body.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head[9..12].parse().expect("a status"), body.to_owned())
}

#[test]
fn http_clients_are_served_until_its_end() {
    let folder = Folder::new("gateway-http");
    let (_core, url) = core();
    let args = ["--core", &url, "--approve", "never", "--http", "127.0.0.1:0"];
    let mut gateway = Running(gateway(&args, &folder).spawn().expect("it runs"));
    // The end of its input means nothing here.
    drop(gateway.0.stdin.take());
    let at = first_line(&mut gateway.0);
    let list = request(1, "tools/list", json!({}));
    let (status, tools) = post(&at, "", "tools/list", &list);
    let tools: Value = serde_json::from_str(&tools).expect("JSON");
    assert_eq!((status, &tools["result"]["tools"][6]["name"]), (200, &json!("mcp_call")));
    for (more, code) in [
        ("Host: attacker.example\r\n", 403),
        ("Origin: http://attacker.example\r\n", 403),
        ("Origin: http://localhost:6274\r\n", 200),
    ] {
        assert_eq!(post(&at, more, "tools/list", &list).0, code, "{more}");
    }
    let (status, refused) = post(&at, "", "tools/list", "{");
    assert!(status == 400 && refused.contains("-32700"), "{refused}");
    let pid = i32::try_from(gateway.0.id()).ok().and_then(Pid::from_raw).expect("it runs");
    kill_process(pid, Signal::TERM).expect("it is ours");
    assert_eq!(gateway.0.wait().expect("it ends").code(), Some(0));
}

#[test]
fn one_agent_is_served_to_http_clients_that_show_a_token() {
    let folder = Folder::new("gateway-transparent");
    let (_core, [ann, bot]) = cores(["ann", "bot"]);
    let mut served = Command::new(PROGRAM);
    served.args(["bot", "--tool", "echo", "--core", &bot, "--no-journal"]);
    served.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut served = Running(served.spawn().expect("it runs"));
    first_line(&mut served.0);
    let token = folder.0.join("token");
    std::fs::write(&token, "canary\n").expect("a file");
    let token = token.to_str().expect("UTF-8");
    let args = ["--core", &ann, "--approve", "never", "--transparent", "@bot"];
    let at_http = ["--http", "127.0.0.1:0", "--token-file", token];
    let mut gateway =
        Running(gateway(&[&args[..], &at_http[..]].concat(), &folder).spawn().expect("it runs"));
    let at = first_line(&mut gateway.0);
    let call = json!({"name": "echo", "arguments": {"text": "hello"}});
    let call = request(1, "tools/call", call);
    assert_eq!(post(&at, "", "tools/call", &call).0, 401);
    let shown = "Authorization: Bearer canary\r\n";
    let (status, answer) = post(&at, shown, "tools/call", &call);
    assert!(status == 200 && answer.contains("hello"), "{answer}");
    let (status, answer) = post(&at, shown, "tools/list", &request(2, "tools/list", json!({})));
    assert!(status == 200 && answer.contains("\"echo\""), "{answer}");
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
        (vec!["--core", &url, "--http", "0.0.0.0:0"], 2, "--token-file"),
        (vec!["--core", &url, "--http", "127.0.0.1:0", "--token-file", "/none"], 3, "/none"),
        (vec!["--core", &url, "--token-file", "/none"], 2, "--http"),
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
