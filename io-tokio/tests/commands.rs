//! The commands of the program that speak to a chat core, against `agentwire loopback`.

mod terminal;

use core::time::Duration;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread;

use agentwire_tokio::link::{Core, Link};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use terminal::on_terminal;
use tokio::time::timeout;

/// A stand-in for the cores of a caller and a bot, ended with the test.
struct Cores {
    child: Child,
    // Whoever prints to nobody ends.
    _output: BufReader<ChildStdout>,
    caller: String,
    bot: String,
    /// The links of the groups that the bot owns, in the order of the command line.
    links: Vec<String>,
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
        let [caller, bot] = [line(&mut output), line(&mut output)];
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let groups = bot["groups"].as_array().expect("groups");
        let links = groups.iter().filter_map(|group| group.get("link")).map(text).collect();
        let (caller, bot) = (text(&caller["url"]), text(&bot["url"]));
        Self { child, _output: output, caller, bot, links }
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
    assert!(said(&output).contains("nobody has this SimpleX name"), "{}", said(&output));
    let output = run(&["connect", "https://a.example/a#AAAA", "--core", &cores.caller]).await;
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("agentwire inspect link says more"), "{}", said(&output));
}

#[tokio::test]
async fn a_name_leads_to_the_address_that_its_owner_makes() {
    let cores = Cores::start(&["--strangers", "--name", "bot=@bot.simplex"]);
    let name = "@bot.simplex";
    let output = run(&["discover", name, "--core", &cores.caller]).await;
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    assert!(said(&output).contains("the SimpleX name leads to no address"), "{}", said(&output));
    let bot = Running::start(&cores.bot, &journal("named"), &["--rpc"]);
    let output = run(&["--json", "discover", name, "--core", &cores.caller]).await;
    let plan = &lines(&output)[0];
    assert_eq!((&plan["leadsTo"], &plan["ratchetKeys"]), (&json!("contact address"), &json!(true)));
    let call = ["call", "--core", &cores.caller, "--to", name, "--tool", "echo", "text=hello"];
    for (rpc, code) in [("always", 0), ("never", 6)] {
        let output = run(&[&call[..], &["--rpc", rpc]].concat()).await;
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
    }
    // The other side learns nothing of who it is.
    let connect = ["--json", "connect", name, "--incognito", "--core", &cores.caller];
    let output = run(&connect).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let mut link = self::connect(&cores.bot).await;
    let contacts = command(&mut link, "/_contacts 1").await;
    let shown = &contacts["contacts"][0]["profile"]["displayName"];
    assert!(shown.is_string() && shown != "caller", "{shown}");
    // Events would go to it, too, and to the bot no more.
    link.close().await;
    let output = run(&[&call[..], &["--rpc", "never"]].concat()).await;
    assert_eq!(output.stdout, b"hello\n", "{}", said(&output));
    assert_eq!(bot.interrupt(), Some(0));
}

#[tokio::test]
async fn a_group_is_joined_by_its_link_and_answers_with_names() {
    let cores = Cores::start(&["--strangers", "--group", "team=bot"]);
    let link = &cores.links[0];
    let output = run(&["--json", "discover", link, "--core", &cores.caller]).await;
    let plan = &lines(&output)[0];
    assert_eq!((&plan["leadsTo"], &plan["name"]), (&json!("group"), &json!("team")));
    assert_eq!(plan["ratchetKeys"], Value::Null);
    for known in [false, true] {
        let output = run(&["--json", "connect", link, "--core", &cores.caller]).await;
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let joined = &lines(&output)[0];
        assert_eq!((&joined["kind"], &joined["known"]), (&json!("group"), &json!(known)));
    }
    let bot = Running::start(&cores.bot, &journal("joined"), &[]);
    let call = ["call", "--core", &cores.caller, "--to", "#team", "--answers", "1"];
    let call = [&call[..], &["--tool", "echo", "text=hello"]].concat();
    let output = run(&call).await;
    assert_eq!(output.stdout, b"bot:\nhello\n", "{}", said(&output));
    let output = run(&[&["--json"], &call[..]].concat()).await;
    assert_eq!(lines(&output)[0]["name"], "bot");
    assert_eq!(bot.interrupt(), Some(0));
}

#[tokio::test]
async fn a_channel_is_subscribed_to_and_followed() {
    let cores = Cores::start(&["--strangers", "--channel", "news=bot", "--name", "news=#news"]);
    assert!(cores.links[0].contains("/c#"));
    let mut follower =
        agentwire(&["--json", "connect", "--follow", "#news", "--core", &cores.caller])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
    let mut output = BufReader::new(follower.stdout.take().expect("piped"));
    let subscribed = line(&mut output);
    assert_eq!((&subscribed["kind"], &subscribed["name"]), (&json!("group"), &json!("news")));
    let mut bot = connect(&cores.bot).await;
    let groups = command(&mut bot, "/_groups 1").await;
    let id = &groups["groups"][0]["groupId"];
    command(&mut bot, &format!("/_send #{id} text hello")).await;
    let news = line(&mut output);
    assert_eq!((&news["text"], &news["member"]), (&json!("hello"), &Value::Null));
    kill_process(Pid::from_child(&follower), Signal::INT).expect("it is our own child");
    assert_eq!(follower.wait().expect("it ends").code(), Some(0));
    // A subscriber only reads.
    let call = ["call", "--core", &cores.caller, "--to", "#news", "tools/list"];
    let output = run(&call).await;
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    assert!(said(&output).contains("the profile's role in the group"), "{}", said(&output));
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

/// A bot at a core, ended with the test.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
    ready: Value,
}

impl Running {
    fn start(core: &str, journal: &str, more: &[&str]) -> Self {
        let mut child = agentwire(&["--json", "bot", "--core", core, "--journal", journal])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let ready = line(&mut output);
        Self { child, output, ready }
    }

    fn address(&self) -> &str {
        self.ready["address"].as_str().expect("a text")
    }

    /// The exit code after a Ctrl-C.
    fn interrupt(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it is our own child");
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("UTF-8");
        assert_eq!(rest, "");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, or it is of no use any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn journal(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder.join("calls.db").to_str().expect("UTF-8").to_owned()
}

fn printed(output: &Output) -> &str {
    core::str::from_utf8(&output.stdout).expect("UTF-8")
}

#[tokio::test]
async fn a_bot_answers_what_is_called() {
    let cores = Cores::start(&["--group", "team=caller,bot"]);
    let bot = Running::start(&cores.bot, &journal("echo"), &["--rpc"]);
    let call = async |args: &[&str]| {
        let core = ["--core", &cores.caller];
        run(&[&["call"], args, &core[..]].concat()).await
    };
    let output = call(&["--to", "@bot", "--tool", "echo", "text=hello"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(printed(&output), "hello\n");
    // In a group, one member of it, and everybody.
    let output = call(&["--to", "#team @bot", "--tool", "echo", "text=hi there"]).await;
    assert_eq!(
        (output.status.code(), printed(&output)),
        (Some(0), "hi there\n"),
        "{}",
        said(&output)
    );
    let everybody = ["--to", "#team", "--answers", "1", "--tool", "echo", "text=all"];
    let output = call(&everybody).await;
    assert!(printed(&output).ends_with(":\nall\n"), "{} {}", printed(&output), said(&output));
    // The other protocol, over Service RPC and not.
    for rpc in ["always", "never"] {
        let output =
            call(&["--to", "@bot", "--protocol", "a2a", "--text", "hey", "--rpc", rpc]).await;
        assert_eq!(
            (output.status.code(), printed(&output)),
            (Some(0), "hey\n"),
            "{}",
            said(&output)
        );
    }
    let output = call(&["--to", bot.address(), "--rpc", "always", "tools/list", "--json"]).await;
    let answer = &lines(&output)[0];
    assert_eq!(answer["message"]["result"]["tools"][0]["name"], "echo", "{}", said(&output));
    let params = r#"{"name":"echo","arguments":{"text":"json"}}"#;
    let output = call(&["--to", "@bot", "tools/call", "--params", params]).await;
    assert_eq!(printed(&output), "json\n");
    assert_eq!(bot.interrupt(), Some(0));
}

#[tokio::test]
async fn what_goes_wrong_with_a_call_is_a_code_and_a_sentence() {
    let cores = Cores::start(&[]);
    let _bot = Running::start(&cores.bot, &journal("wrong"), &[]);
    for (args, code, sentence) in [
        (&["--to", "@nobody", "tools/list"][..], 6, "no such contact"),
        (&["--to", "@", "tools/list"], 2, "a name is missing"),
        (&["--to", "@bot", "no/such"], 1, "-32601"),
        (&["--to", "@bot", "--tool", "none"], 1, "no such tool"),
        (&["--to", "@bot", "--tool", "echo"], 1, "the argument text is missing"),
        (&["--to", "@bot", "tools/list", "--rpc", "always"], 6, ""),
        (&["--to", "@bot", "--text", "x"], 2, "--protocol a2a"),
        (&["--to", "@bot", "tools/list", "--params", "[]"], 2, "no JSON object"),
        (&["--to", "@bot", "tools/list", "x"], 2, "NAME=TEXT"),
        (&["--to", "@bot"], 2, "METHOD"),
        (&["--to", "@bot", "tools/list", "--protcol", "mcp"], 2, "'--protocol'"),
    ] {
        let output = run(&[&["call", "--core", &cores.caller], args].concat()).await;
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(sentence), "{args:?}: {}", said(&output));
    }
    let free = TcpListener::bind("127.0.0.1:0").expect("bound").local_addr().expect("an address");
    let url = format!("ws://{free}");
    let output = run(&["call", "--core", &url, "--to", "@bot", "tools/list"]).await;
    assert_eq!(output.status.code(), Some(4));
    assert!(said(&output).contains("simplex-chat -p 5225"), "{}", said(&output));
}

#[tokio::test]
async fn a_command_makes_the_answers_and_its_failure_is_one() {
    let cores = Cores::start(&[]);
    let exec = "sh -c 'read line; test \"$line\" = ok || { echo no; exit 3; }; echo \"$AGENTWIRE_CALLER says $line\"'";
    let _bot = Running::start(&cores.bot, &journal("exec"), &["--exec", exec, "--tool", "say"]);
    let call = async |text: &str| {
        let text = format!("text={text}");
        run(&["call", "--core", &cores.caller, "--to", "@bot", "--tool", "say", &text]).await
    };
    let output = call("ok").await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(printed(&output).starts_with('@') && printed(&output).ends_with(" says ok\n"));
    let output = call("bad").await;
    assert_eq!((output.status.code(), printed(&output)), (Some(1), "no\n"));
}

#[tokio::test]
async fn what_an_agent_says_does_not_act_on_the_terminal() {
    let cores = Cores::start(&[]);
    let exec = r"printf '\033]0;owned\007\033[2J'";
    let _bot = Running::start(&cores.bot, &journal("hostile"), &["--exec", exec, "--tool", "say"]);
    let mut call = agentwire(&["call", "--core", &cores.caller, "--to", "@bot", "--tool", "say"]);
    call.arg("text=x");
    let shown = tokio::task::spawn_blocking(move || on_terminal(call, 80)).await.expect("shown");
    assert!(shown.contains("owned") && !shown.contains('\u{1b}'), "{shown:?}");
    assert!(!shown.contains('\u{7}'), "{shown:?}");
}

#[tokio::test]
async fn callers_have_limits_and_strangers_none() {
    let cores = Cores::start(&["--profile", "other=127.0.0.1:0"]);
    let bot = Running::start(
        &cores.bot,
        &journal("limits"),
        &["--allow", "@caller", "--per-minute", "2"],
    );
    let call = async || {
        run(&["call", "--core", &cores.caller, "--to", "@bot", "--tool", "echo", "text=x"]).await
    };
    for code in [0, 0, 6] {
        let output = call().await;
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
    }
    assert!(said(&call().await).contains("rate_limited"));
    assert_eq!(bot.interrupt(), Some(0));
    let _bot = Running::start(&cores.bot, &journal("limits"), &["--allow", "@other"]);
    let output = call().await;
    assert_eq!(output.status.code(), Some(6));
    assert!(said(&output).contains("not_allowed"), "{}", said(&output));
}

#[tokio::test]
async fn a_call_waits_for_the_owner_and_outlives_a_kill() {
    let mut cores = Cores::start(&["--profile", "olga=127.0.0.1:0"]);
    let olga = line(&mut cores._output)["url"].as_str().expect("a text").to_owned();
    let journal = journal("owner");
    let flags = ["--approve", "always", "--owner", "@olga"];
    let mut first = Running::start(&cores.bot, &journal, &flags);
    let caller = cores.caller.clone();
    let called = tokio::spawn(async move {
        run(&["call", "--core", &caller, "--to", "@bot", "--tool", "echo", "text=x"]).await
    });
    let mut owner = connect(&olga).await;
    let contacts = command(&mut owner, "/_contacts 1").await;
    let contacts = contacts["contacts"].as_array().expect("contacts");
    let bot = contacts.iter().find(|contact| contact["localDisplayName"] == "bot");
    let bot = bot.expect("a contact")["contactId"].as_i64().expect("a number");
    let code = loop {
        let chat = command(&mut owner, &format!("/_get chat @{bot} count=10")).await;
        let items = chat["chat"]["chatItems"].as_array().expect("items").clone();
        let texts = items.iter().filter_map(|item| item["meta"]["itemText"].as_str());
        if let Some(text) = texts.into_iter().find(|text| text.starts_with("May ")) {
            assert!(text.contains("call mcp tools/call echo with"), "{text}");
            let (_, rest) = text.split_once("\"ok ").expect("it says how to answer");
            break rest.split_once('"').expect("quoted").0.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    first.child.kill().expect("SIGKILL");
    first.child.wait().expect("it has ended");
    let message = json!([{"msgContent": {"type": "text", "text": format!("ok {code}")}}]);
    command(&mut owner, &format!("/_send @{bot} json {message}")).await;
    let second = Running::start(&cores.bot, &journal, &flags);
    let output = called.await.expect("it does not panic");
    assert_eq!((output.status.code(), printed(&output)), (Some(0), "x\n"), "{}", said(&output));
    assert_eq!(second.interrupt(), Some(0));
    // Without an owner there is nobody to ask, and a stranger is none.
    let output = run(&["bot", "--core", &cores.bot, "--approve", "new"]).await;
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let stranger = ["--no-journal", "--approve", "new", "--owner", "@x"];
    let output = run(&[&["bot", "--core", &cores.bot], &stranger[..]].concat()).await;
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("owner @x"), "{}", said(&output));
}

#[tokio::test]
async fn a_second_bot_stops_and_names_the_first() {
    let cores = Cores::start(&[]);
    let journal = journal("second");
    let mut first = Running::start(&cores.bot, &journal, &[]);
    let second = ["bot", "--core", &cores.bot, "--journal", &journal];
    let output = run(&second).await;
    assert_eq!(output.status.code(), Some(8));
    assert!(said(&output).contains(&format!("process {}", first.child.id())), "{}", said(&output));
    // After kill -9 the next one takes over.
    first.child.kill().expect("SIGKILL");
    first.child.wait().expect("it has ended");
    let third = Running::start(&cores.bot, &journal, &[]);
    let output = run(&["--json", "doctor", "--core", &cores.bot, "--journal", &journal]).await;
    assert!(verdicts(&output).contains(&("journal".into(), "note".into())));
    assert_eq!(third.interrupt(), Some(0));
}

#[tokio::test]
async fn a_command_that_ran_when_the_bot_was_killed_is_not_run_again() {
    let cores = Cores::start(&[]);
    let journal = journal("killed");
    let folder = PathBuf::from(&journal).parent().expect("a folder").to_owned();
    std::fs::create_dir_all(&folder).expect("created");
    let (log, gate) = (folder.join("log"), folder.join("gate"));
    let exec = format!(
        "sh -c 'echo run >> {}; until test -e {}; do sleep 0.02; done; cat'",
        log.display(),
        gate.display()
    );
    let mut first = Running::start(&cores.bot, &journal, &["--exec", &exec]);
    let caller = cores.caller.clone();
    let called = tokio::spawn(async move {
        run(&["call", "--core", &caller, "--to", "@bot", "--tool", "run", "text=x"]).await
    });
    while !log.exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    first.child.kill().expect("SIGKILL");
    first.child.wait().expect("it has ended");
    std::fs::write(&gate, "").expect("written");
    let _second = Running::start(&cores.bot, &journal, &["--exec", &exec]);
    let output = called.await.expect("it does not panic");
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    assert!(said(&output).contains("OUTCOME_UNKNOWN") || said(&output).contains("outcome_unknown"));
    assert_eq!(std::fs::read_to_string(&log).expect("written"), "run\n");
}
