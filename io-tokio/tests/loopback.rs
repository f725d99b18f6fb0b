//! `agentwire loopback` from outside: the program, its ports, its recording and its end.

use core::time::Duration;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use agentwire_core::binding::Standard;
use agentwire_core::chat::ContactId;
use agentwire_core::chat::session::Declared;
use agentwire_tokio::bot::{Bot, Replier, Request};
use agentwire_tokio::client::{CallOptions, Client, Target};
use agentwire_tokio::link::{Core, Link};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::timeout;

/// The running program, ended with the test.
struct Loopback {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Loopback {
    fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_agentwire"))
            .args(["--json", "loopback"])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, output }
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("UTF-8");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The exit code after a Ctrl-C, and what stood on standard error.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).expect("it is our own child");
        self.end()
    }

    fn end(&mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        let mut error = self.child.stderr.take().expect("piped");
        error.read_to_string(&mut said).expect("UTF-8");
        (self.child.wait().expect("it ends").code(), said)
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        // It has ended already, or the test has failed.
        let _ = self.child.kill();
    }
}

async fn connect(port: &Value) -> Link {
    Link::connect(&Core::new(port["url"].as_str().expect("a text"))).await.expect("a connection")
}

/// The next frame that `is_wanted`.
async fn frame(link: &mut Link, is_wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let frame = timeout(Duration::from_secs(60), link.receive()).await.expect("in time");
        let frame = serde_json::from_str(&frame.expect("a frame")).expect("JSON");
        if is_wanted(&frame) {
            return frame;
        }
    }
}

async fn command(link: &mut Link, command: &str) -> Value {
    link.push(json!({"corrId": "1", "cmd": command}).to_string());
    frame(link, |frame| frame["corrId"] == "1").await["resp"].take()
}

async fn event(link: &mut Link, kind: &str) -> Value {
    frame(link, |frame| frame["resp"]["type"] == kind).await["resp"].take()
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[tokio::test]
async fn two_programs_speak_through_it() {
    let file = scratch("two_programs.jsonl");
    let path = file.to_str().expect("UTF-8");
    let mut program = Loopback::start(&[
        "--profile",
        "caller=127.0.0.1:0",
        "--profile",
        "bot=127.0.0.1:0",
        "--group",
        "team=caller,bot",
        "--seed",
        "7",
        "--record",
        path,
    ]);
    let (caller, bot) = (program.line(), program.line());
    assert_eq!(caller["contacts"][0]["name"], "bot");
    let (mut of_caller, mut of_bot) = (connect(&caller).await, connect(&bot).await);
    for (chat, id) in
        [("@", &caller["contacts"][0]["contactId"]), ("#", &caller["groups"][0]["groupId"])]
    {
        let sent = command(&mut of_caller, &format!("/_send {chat}{id} text hello")).await;
        assert_eq!(sent["type"], "newChatItems");
        let received = event(&mut of_bot, "newChatItems").await;
        let item = &received["chatItems"][0]["chatItem"];
        assert_eq!(item["meta"]["itemText"], "hello");
    }
    let (code, said) = program.interrupt();
    assert_eq!(code, Some(0), "{said}");

    let recording = std::fs::read_to_string(&file).expect("written");
    let lines: Vec<Value> =
        recording.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let count = |direction: &str| lines.iter().filter(|l| l["direction"] == direction).count();
    assert_eq!((count("open"), count("close"), count("to_core")), (2, 2, 2));
    assert!(count("from_core") >= 4);
}

#[tokio::test]
async fn faults_and_strangers_are_what_the_flags_say() {
    let mut program = Loopback::start(&[
        "--profile",
        "caller=127.0.0.1:0",
        "--profile",
        "bot=127.0.0.1:0",
        "--strangers",
        "--maintenance",
        "--duplicate",
        "1000",
        "--delay",
        "1-5",
        "--cut-every",
        "100",
    ]);
    let (caller, bot) = (program.line(), program.line());
    assert_eq!(caller["contacts"], json!([]));
    let (mut of_caller, mut of_bot) = (connect(&caller).await, connect(&bot).await);
    assert_eq!(command(&mut of_bot, "/_check running").await["type"], "chatStopped");
    for link in [&mut of_caller, &mut of_bot] {
        assert_eq!(command(link, "/_start main=on").await["type"], "chatStarted");
    }
    let created = command(&mut of_bot, "/_address 1").await;
    let link = created["connLinkContact"]["connShortLink"].as_str().expect("a link");
    let settings = r#"{"businessAddress":false,"autoAccept":{"acceptIncognito":false}}"#;
    command(&mut of_bot, &format!("/_address_settings 1 {settings}")).await;
    assert_eq!(command(&mut of_caller, &format!("/c {link}")).await["type"], "sentInvitation");
    let contact = event(&mut of_caller, "contactConnected").await["contact"]["contactId"].take();
    command(&mut of_caller, &format!("/_send @{contact} text hello")).await;
    let first = event(&mut of_bot, "newChatItems").await;
    assert_eq!(event(&mut of_bot, "newChatItems").await, first);
    assert_eq!(program.interrupt().0, Some(0));
}

fn replay(file: &Path) -> (Option<i32>, Vec<Value>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_agentwire"))
        .args(["--json", "replay"])
        .arg(file)
        .output()
        .expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    (output.status.code(), lines, String::from_utf8(output.stderr).expect("UTF-8"))
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"},
    "a2a-service-parameters":{"A2A-Version":"1.0"}}"#;

/// A bot and a caller of this crate are recorded; replayed, they do the same, and where a line was
/// changed they do not.
#[tokio::test]
async fn a_recording_is_replayed() {
    let file = scratch("replayed.jsonl");
    let mut program = Loopback::start(&[
        "--profile",
        "caller=127.0.0.1:0",
        "--profile",
        "bot=127.0.0.1:0",
        "--record",
        file.to_str().expect("UTF-8"),
    ]);
    let (caller, bot) = (program.line(), program.line());
    let core = |port: &Value| Core::new(port["url"].as_str().expect("a text"));
    let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
    let bot = Bot::connect(core(&bot), declared, |_: Request, replier: Replier| async move {
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"id":"t"}}"#;
        replier.respond(answer).await.expect("sent");
    });
    let bot = timeout(Duration::from_secs(60), bot).await.expect("in time").expect("a bot");
    let client = Client::connect(core(&caller));
    let client =
        timeout(Duration::from_secs(60), client).await.expect("in time").expect("a client");
    let to = ContactId(caller["contacts"][0]["contactId"].as_i64().expect("a number"));
    for _ in 0..5 {
        let to = Target::Contact(to);
        let call = client.call(Standard::A2A, to, CALL.to_owned(), CallOptions::default());
        let reply = async { call.await.expect("sent").last().await.expect("an answer") };
        timeout(Duration::from_secs(60), reply).await.expect("in time");
    }
    assert_eq!(program.interrupt().0, Some(0));
    drop((bot, client));

    let (code, reports, said) = replay(&file);
    assert_eq!(code, Some(0), "{reports:?} {said}");
    assert_eq!(reports.len(), 2);
    let of = |name: &str| reports.iter().find(|report| report["profile"] == name).expect("there");
    assert_eq!((&of("caller")["replies"], &of("bot")["requests"]), (&json!(5), &json!(5)));
    assert_eq!(of("bot")["unread"], 0);

    let recording = std::fs::read_to_string(&file).expect("written");
    let changed = scratch("replayed_changed.jsonl");
    let other = recording.replacen(r#"quotedItemId\\\":"#, r#"quotedItemId\\\":9"#, 1);
    assert_ne!(recording, other);
    std::fs::write(&changed, other).expect("written");
    let (code, reports, said) = replay(&changed);
    assert_eq!(code, Some(1), "{said}");
    let differences: Vec<&Value> = reports
        .iter()
        .flat_map(|report| report["differences"].as_array().expect("a list"))
        .collect();
    assert_eq!(differences.len(), 1);
    assert!(differences[0]["recorded"].as_str().is_some_and(|c| c.starts_with("/_send")));

    std::fs::write(&changed, "{}").expect("written");
    assert_eq!(replay(&changed).0, Some(9));
    assert_eq!(replay(&scratch("no_such_recording.jsonl")).0, Some(3));
}

#[test]
fn a_port_that_is_taken_is_said_with_a_code_of_its_own() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("bot={}", taken.local_addr().expect("bound"));
    let (code, said) = Loopback::start(&["--profile", &address]).end();
    assert_eq!(code, Some(8), "{said}");
    assert!(said.contains("bot cannot listen on 127.0.0.1"), "{said}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_listens() {
    let bot = ["--profile", "bot=127.0.0.1:0"];
    for (more, words) in [
        (&["--profile", "bot=127.0.0.1:0"][..], "two profiles of this name"),
        (&["--contact", "bot:nobody"], "no such profile"),
        (&["--group", "team=nobody"], "no such profile"),
        (&["--group", "team=bot,bot"], "already"),
        (&["--profile", "a@b=127.0.0.1:0"], "display name"),
        (&["--profile", "caller=0.0.0.0:0"], "no password"),
        (&["--drop", "1001"], "1001"),
        (&["--contact", "bot:bot", "--strangers"], "cannot be used with"),
    ] {
        let args: Vec<&str> = bot.iter().chain(more).copied().collect();
        let (code, said) = Loopback::start(&args).end();
        assert_eq!(code, Some(2), "{more:?}: {said}");
        assert!(said.contains(words), "{more:?}: {said}");
    }
    let folder = scratch("no/such/folder/frames.jsonl");
    let args = [&bot[..], &["--record", folder.to_str().expect("UTF-8")]].concat();
    let (code, said) = Loopback::start(&args).end();
    assert_eq!(code, Some(3), "{said}");
}
