//! `agentwire serve mcp` from outside.

use core::time::Duration;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

/// A server that says who it is in a file, and answers whatever comes, in order.
const SERVER: &str = r#"echo $$ >"$PIDS"; echo "hello $$" >&2; read l; i=${l#*'"id":'}; echo '{"jsonrpc":"2.0","id":'${i%%,*}',"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'; while read l; do i=${l#*'"id":'}; echo '{"jsonrpc":"2.0","id":'${i%%,*}',"result":{"content":[]}}'; done"#;

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"n","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// A program that serves, and where.
struct Serving {
    child: Child,
    address: String,
    pids: PathBuf,
}

fn command(name: &str, args: &[&str], script: &str) -> (Command, PathBuf) {
    let pids = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("serve-{name}"));
    let _ = fs::remove_file(&pids);
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentwire"));
    command
        .args(["serve", "mcp", "--http", "127.0.0.1:0"])
        .args(args)
        .args(["--", "sh", "-c", script])
        .env("PIDS", &pids)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    (command, pids)
}

fn serve(name: &str, args: &[&str], script: &str) -> Serving {
    let (mut command, pids) = command(name, args, script);
    let mut child = command.spawn().expect("the program runs");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    Serving { child, address, pids }
}

impl Serving {
    fn post(&self, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nConnection: close\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: n\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("it is read");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn server(&self) -> i32 {
        let text = fs::read_to_string(&self.pids).expect("it has started");
        text.trim().parse().expect("a number")
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("it runs"), signal).expect("it is ours");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A zombie has ended, too: whoever waits for it is not this test.
fn is_running(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

fn until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_server_is_served_and_ends_with_the_program() {
    let mut serving = serve("term", &[], SERVER);
    let answer = serving.post(REQUEST);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(
        answer.ends_with(
            r#"{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","content":[]}}"#
        ),
        "{answer}"
    );
    let server = serving.server();
    assert!(is_running(server));
    let start = Instant::now();
    serving.signal(Signal::TERM);
    let status = serving.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(!is_running(server));
    let mut stderr = String::new();
    serving.child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
    assert!(stderr.contains(&format!("sh: hello {server}\n")), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_server_ends_even_when_the_program_is_killed() {
    // It ignores SIGTERM and the end of its input.
    let script = format!("trap '' TERM; {SERVER}; while :; do sleep 1; done");
    let mut serving = serve("kill", &[], &script);
    let server = serving.server();
    assert!(is_running(server));
    serving.signal(Signal::KILL);
    serving.child.wait().expect("it ends");
    until("the server has ended", || !is_running(server));
}

#[test]
fn a_server_that_dies_is_started_again() {
    let serving = serve("again", &[], SERVER);
    let first = serving.server();
    kill_process(Pid::from_raw(first).expect("it runs"), Signal::KILL).expect("it is there");
    until("another one has started", || {
        serving.post(REQUEST).contains("\"content\"") && serving.server() != first
    });
}

#[test]
fn a_server_that_never_starts_is_code_10() {
    for (name, script, says) in [
        ("exit", "echo no disk >&2; exit 3", "ended: exit status: 3"),
        (
            "old",
            r#"read l; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}'; read l"#,
            "does not speak MCP revision 2026-07-28",
        ),
    ] {
        let (mut command, _) = command(name, &[], script);
        let output = command.output().expect("the program runs");
        assert_eq!(output.status.code(), Some(10), "{output:?}");
        assert!(output.stdout.is_empty());
        let stderr = String::from_utf8(output.stderr).expect("text");
        assert!(stderr.contains(says), "{stderr}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentwire"));
    command.args(["serve", "mcp", "--http", "127.0.0.1:0", "--", "/nonexistent/server"]);
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(10));
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert!(stderr.contains("/nonexistent/server could not be started"), "{stderr}");
}

#[test]
fn a_wrong_command_line_is_code_2() {
    for args in [
        &["serve", "mcp"][..],
        &["serve", "mcp", "--http", "127.0.0.1:0"],
        &["serve", "mcp", "--htp", "x", "--", "y"],
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_agentwire")).args(args).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}

/// What a child is given stays out of what is shown.
#[test]
fn secrets_do_not_show() {
    let (mut command, _) = command("secret", &["--idle-timeout", "1"], "exit 3");
    command.env("TOKEN", "canary-7d1f").env("RUST_LOG", "trace");
    let output = command.output().expect("the program runs");
    let shown = format!("{output:?}");
    assert!(!shown.contains("canary"), "{shown}");
}

/// A program whose end is the test's.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    let output = child.stdout.as_mut().expect("piped");
    // Byte by byte: what follows is not to be swallowed.
    let mut byte = [0];
    while output.read(&mut byte).expect("a byte") == 1 && byte[0] != b'\n' {
        line.push(char::from(byte[0]));
    }
    line
}

#[tokio::test]
async fn a_server_is_called_over_simplex() {
    use agentwire_core::binding::Standard;
    use agentwire_core::chat::ContactId;
    use agentwire_tokio::client::{CallOptions, Client, Target};
    use agentwire_tokio::link::Core;
    use serde_json::Value;

    let mut cores = Command::new(env!("CARGO_BIN_EXE_agentwire"));
    cores.args(["--json", "loopback", "--profile", "ann=127.0.0.1:0"]);
    cores.args(["--profile", "bot=127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut cores = Ends(cores.spawn().expect("it runs"));
    let mut profile =
        || -> Value { serde_json::from_str(&first_line(&mut cores.0)).expect("JSON") };
    let (ann, bot) = (profile(), profile());
    let url = |profile: &Value| profile["url"].as_str().expect("a URL").to_owned();

    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (pids, calls) = (folder.join("serve-simplex"), folder.join("serve-simplex.db"));
    let _ = fs::remove_file(&calls);
    let mut serving = Command::new(env!("CARGO_BIN_EXE_agentwire"));
    serving
        .args(["serve", "mcp", "--core", &url(&bot), "--journal"])
        .arg(&calls)
        .args(["--", "sh", "-c", SERVER])
        .env("PIDS", &pids)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut serving = Ends(serving.spawn().expect("it runs"));
    let link = first_line(&mut serving.0);
    assert!(link.starts_with("https://"), "{link}");

    let client: Client = Client::connect(Core::new(url(&ann))).await.expect("the core is there");
    let contact = ann["contacts"][0]["contactId"].as_i64().expect("a contact");
    let target = Target::Contact(ContactId(contact));
    let options = CallOptions::default().answers(1);
    let mut replies =
        client.call(Standard::MCP, target, REQUEST, options).await.expect("it is sent");
    let reply = replies.next().await.expect("a reply").expect("in time");
    assert_eq!(
        reply.text,
        r#"{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","content":[]}}"#
    );

    let pid = i32::try_from(serving.0.id()).ok().and_then(Pid::from_raw).expect("it runs");
    kill_process(pid, Signal::TERM).expect("it is ours");
    assert_eq!(serving.0.wait().expect("it ends").code(), Some(0));
    let server: i32 = fs::read_to_string(&pids).expect("it ran").trim().parse().expect("a number");
    assert!(!is_running(server));
}
