//! The commands of the program that speak to a chat core, against `agentwire loopback`.

use core::time::Duration;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread;

use agentwire_tokio::link::{Core, Link};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::timeout;

/// A stand-in for the cores of a caller and a bot, ended with the test.
struct Cores {
    child: Child,
    caller: String,
    bot: String,
}

impl Cores {
    fn start(more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_agentwire"))
            .args(["--json", "loopback", "--profile", "caller=127.0.0.1:0"])
            .args(["--profile", "bot=127.0.0.1:0"])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut url = || -> String {
            let line = line(&mut output);
            line["url"].as_str().expect("a text").to_owned()
        };
        let (caller, bot) = (url(), url());
        Self { child, caller, bot }
    }

    /// The short link of the bot's address, which has ratchet keys and lets everybody in.
    async fn address(&self) -> String {
        let mut link = connect(&self.bot).await;
        command(&mut link, "/_address 1 pq_ratchet=on").await;
        let settings = r#"{"businessAddress":false,"autoAccept":{"acceptIncognito":false}}"#;
        command(&mut link, &format!("/_address_settings 1 {settings}")).await;
        let shown = command(&mut link, "/_show_address 1").await;
        let links = &shown["contactLink"]["connLinkContact"];
        links["connShortLink"].as_str().expect("a short link").to_owned()
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        // It has ended already, or it is of no use any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(output: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    output.read_line(&mut line).expect("UTF-8");
    serde_json::from_str(&line).expect("JSON")
}

async fn connect(url: &str) -> Link {
    Link::connect(&Core::new(url)).await.expect("a connection")
}

async fn command(link: &mut Link, command: &str) -> Value {
    link.push(json!({"corrId": "1", "cmd": command}).to_string());
    loop {
        let frame = timeout(Duration::from_secs(60), link.receive()).await.expect("in time");
        let mut frame: Value = serde_json::from_str(&frame.expect("a frame")).expect("JSON");
        if frame["corrId"] == "1" {
            return frame["resp"].take();
        }
    }
}

fn agentwire(args: &[&str]) -> Command {
    let states = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("states");
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentwire"));
    command.args(args).env_remove("AGENTWIRE_CORE").env("XDG_STATE_HOME", states);
    command.env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// Runs a command beside the runtime, so that nothing here waits for itself.
async fn run(args: &[&str]) -> Output {
    let mut command = agentwire(args);
    tokio::task::spawn_blocking(move || command.output().expect("the program runs"))
        .await
        .expect("it does not panic")
}

fn lines(output: &Output) -> Vec<Value> {
    let text = core::str::from_utf8(&output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn said(output: &Output) -> &str {
    core::str::from_utf8(&output.stderr).expect("UTF-8")
}

fn verdicts(output: &Output) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lines(output).iter().map(|line| (text(&line["check"]), text(&line["verdict"]))).collect()
}

#[tokio::test]
async fn the_doctor_finds_a_core_well() {
    let cores = Cores::start(&[]);
    cores.address().await;
    let output = run(&["--json", "doctor", "--core", &cores.bot]).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let verdicts = verdicts(&output);
    let names: Vec<&str> = verdicts.iter().map(|(check, _)| check.as_str()).collect();
    assert_eq!(
        names,
        [
            "address",
            "tcp",
            "websocket",
            "version",
            "user",
            "start",
            "profile address",
            "ratchet keys",
            "sizes",
            "clock",
            "journal"
        ]
    );
    let of = |check: &str| {
        let found = verdicts.iter().find(|(name, _)| name == check);
        found.map(|(_, verdict)| verdict.as_str())
    };
    // The chat runs already, and it does not say with what.
    assert_eq!(of("start"), Some("note"));
    assert!(verdicts.iter().all(|(check, verdict)| check == "start" || verdict == "pass"));
    let output = run(&["--json", "doctor", "--core", &cores.bot, "--restart-chat"]).await;
    assert!(self::verdicts(&output).contains(&("start".into(), "pass".into())));
}

#[tokio::test]
async fn the_doctor_says_which_step_fails_and_what_mends_it() {
    // Nothing listens.
    let free = TcpListener::bind("127.0.0.1:0").expect("bound").local_addr().expect("an address");
    let output = run(&["doctor", "--core", &format!("ws://{free}")]).await;
    assert_eq!(output.status.code(), Some(4));
    let text = core::str::from_utf8(&output.stdout).expect("UTF-8");
    assert!(text.contains("FAIL  tcp") && text.contains("simplex-chat -p 5225"), "{text}");

    // Something else listens.
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let url = format!("ws://{}", listener.local_addr().expect("an address"));
    let server = thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let _ = stream.expect("somebody").write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        }
    });
    let output = run(&["--json", "doctor", "--core", &url]).await;
    assert_eq!(output.status.code(), Some(4));
    assert!(verdicts(&output).contains(&("websocket".into(), "fail".into())));
    server.join().expect("it does not panic");

    let output = run(&["--json", "doctor", "--core", "http://x"]).await;
    assert_eq!(output.status.code(), Some(2));

    // The journal is damaged, or cannot be made.
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("damaged.db");
    std::fs::write(&path, b"\xef\xbb\xbfSQLite").expect("written");
    let cores = Cores::start(&[]);
    let journal = path.to_str().expect("UTF-8");
    let output = run(&["--json", "doctor", "--core", &cores.bot, "--journal", journal]).await;
    assert_eq!(output.status.code(), Some(9));
    let nowhere = ["--json", "doctor", "--core", &cores.bot, "--journal", "/proc/nowhere/x.db"];
    assert_eq!(run(&nowhere).await.status.code(), Some(3));
}

#[tokio::test]
async fn a_link_is_looked_at_without_connecting() {
    let cores = Cores::start(&["--strangers"]);
    let address = cores.address().await;
    let mut bot = connect(&cores.bot).await;
    let profile = r#"{"displayName":"bot","fullName":"","preferences":{"protocols":{"mcp":{"versions":["2026-07-28"],"transports":{"chat":true,"rpc":true}}}}}"#;
    command(&mut bot, &format!("/_profile 1 {profile}")).await;
    let output = run(&["--json", "discover", &address, "--core", &cores.caller]).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let lines = lines(&output);
    assert_eq!(lines[0]["kind"], "plan");
    assert_eq!((&lines[0]["state"], &lines[0]["name"]), (&json!("not connected"), &json!("bot")));
    let declared = lines.iter().find(|line| line["kind"] == "preferences").expect("declarations");
    assert_eq!(declared["protocols"][0]["name"], "mcp");
    assert_eq!(declared["protocols"][0]["route"], "rpc");
    // Nobody has been connected.
    let mut caller = connect(&cores.caller).await;
    let contacts = command(&mut caller, "/_contacts 1").await;
    assert_eq!(contacts["contacts"], json!([]));

    let output = run(&["discover", &address, "--core", &cores.caller]).await;
    let text = core::str::from_utf8(&output.stdout).expect("UTF-8");
    assert!(text.contains("goes over rpc"), "{text}");
}

/// A web site with this llms.txt, for so many requests.
fn site(text: &'static str, requests: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().take(requests) {
            serve(stream.expect("somebody"), text);
        }
    });
    url
}

fn serve(mut stream: TcpStream, text: &str) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    let status = if head.starts_with(b"GET /llms.txt ") { "200 OK" } else { "404 Not Found" };
    let len = text.len();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {len}\r\n\r\n{text}");
    stream.write_all(answer.as_bytes()).expect("written");
}

#[tokio::test]
async fn a_web_site_names_whom_to_call() {
    let text = "# Acme\n\n## Communications\n\n- [Support](https://smp.example/a#4JTB4nXPQjRcFGr6cZhyAhb1DmS4wXzh0x4rBbSkZ7k): SimpleX business address for agents, mcp\n";
    let url = site(text, 2);
    let output = run(&["--json", "discover", "--offline", &url]).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let lines = lines(&output);
    assert_eq!((&lines[0]["kind"], &lines[0]["title"]), (&json!("entry"), &json!("Support")));
    assert_eq!(lines.last().expect("a summary")["entries"], 1);

    // Without a core the links cannot be looked at, and what the site says is there all the same.
    let free = TcpListener::bind("127.0.0.1:0").expect("bound").local_addr().expect("an address");
    let output = run(&["--json", "discover", &url, "--core", &format!("ws://{free}")]).await;
    assert_eq!(output.status.code(), Some(4));
    assert!(said(&output).contains("--offline") && output.stdout.starts_with(b"{"));

    let other = site("", 1) + "/other.txt";
    let output = run(&["discover", &other]).await;
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    for (target, code) in [("a b", 2), ("ftp://x", 2)] {
        assert_eq!(run(&["discover", target]).await.status.code(), Some(code), "{target}");
    }
}

#[tokio::test]
async fn connecting_names_the_contact_and_is_done_once() {
    let cores = Cores::start(&["--strangers"]);
    let address = cores.address().await;
    for known in [false, true] {
        let output = run(&["--json", "connect", &address, "--core", &cores.caller]).await;
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let lines = lines(&output);
        assert_eq!(lines.len(), 1);
        assert_eq!((&lines[0]["kind"], &lines[0]["known"]), (&json!("contact"), &json!(known)));
    }
    let output = run(&["connect", &address, "--core", &cores.bot]).await;
    assert_eq!(output.status.code(), Some(6));
    assert!(said(&output).contains("this profile's own"));
    let output = run(&["connect", "nonsense", "--core", &cores.caller]).await;
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
}

#[tokio::test]
async fn messages_are_followed_until_ctrl_c_and_do_not_act_on_a_terminal() {
    let cores = Cores::start(&["--strangers"]);
    let address = cores.address().await;
    let mut follower = agentwire(&["connect", "--follow", &address, "--core", &cores.caller])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut output = BufReader::new(follower.stdout.take().expect("piped"));
    let mut first = String::new();
    output.read_line(&mut first).expect("UTF-8");
    assert!(first.starts_with("connected: "), "{first}");
    let mut bot = connect(&cores.bot).await;
    let contacts = command(&mut bot, "/_contacts 1").await;
    let id = &contacts["contacts"][0]["contactId"];
    let message = json!([{"msgContent": {"type": "text", "text": "news \u{1b}[2J"}}]);
    command(&mut bot, &format!("/_send @{id} json {message}")).await;
    let mut news = String::new();
    output.read_line(&mut news).expect("UTF-8");
    assert_eq!(news, "news \\u{1b}[2J\n");
    kill_process(Pid::from_child(&follower), Signal::INT).expect("it is our own child");
    assert_eq!(follower.wait().expect("it ends").code(), Some(0));
}
