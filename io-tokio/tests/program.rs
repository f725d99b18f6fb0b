//! The program from outside.

use core::time::Duration;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const HELLO: &str = r#"read l; echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}'"#;

fn agentwire(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentwire"));
    command.args(args).env_remove("NO_COLOR").env_remove("COLUMNS").env("TERM", "xterm");
    command
}

fn run(args: &[&str]) -> Output {
    agentwire(args).stdin(Stdio::null()).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).expect("UTF-8")
}

/// A `--mcp` command of one shell script. It has no `'`.
fn server(script: &str) -> String {
    format!("sh -c \"{}\"", script.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Runs on a terminal of this width; what it shows.
fn on_terminal(mut command: Command, columns: u16) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("granted");
    unlockpt(&ours).expect("unlocked");
    let name = ptsname(&ours, Vec::new()).expect("a name").into_string().expect("UTF-8");
    let theirs = File::options().read(true).write(true).open(name).expect("opened");
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&theirs, size).expect("sized");
    let clone = || theirs.try_clone().expect("a second handle");
    command.stdin(clone()).stdout(clone()).stderr(clone());
    let mut child = command.spawn().expect("the program runs");
    drop((command, theirs));
    let mut shown = Vec::new();
    // The end of a terminal is an error on Linux.
    let _ = File::from(ours).read_to_end(&mut shown);
    child.wait().expect("it ends");
    String::from_utf8(shown).expect("UTF-8")
}

#[test]
fn help_is_a_result_with_the_exit_codes_at_its_end() {
    for args in [&["--help"][..], &["-h"], &["help"]] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stderr.is_empty());
        let help = text(&output.stdout);
        assert!(help.contains("Usage: agentwire"), "{help}");
        let table = help.split("Exit codes:").nth(1).expect("the table");
        for code in ["0 ", "2 ", "10 ", "130 ", "143 "] {
            assert!(table.lines().any(|line| line.trim_start().starts_with(code)), "{table}");
        }
    }
    for args in [&["--help"][..], &["demo", "--help"]] {
        let output = run(args);
        assert!(text(&output.stdout).lines().all(|line| line.chars().count() <= 100));
        let shown = on_terminal(agentwire(args), 80);
        let plain = shown.replace("\u{1b}[1m", "").replace("\u{1b}[4m", "");
        let plain = plain.replace("\u{1b}[0m", "");
        assert!(plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
    }
}

#[test]
fn help_takes_less_than_ten_milliseconds() {
    let best = (0..20)
        .map(|_| {
            let start = Instant::now();
            run(&["--help"]);
            start.elapsed()
        })
        .min()
        .expect("twenty runs");
    assert!(best < Duration::from_millis(10), "{best:?}");
}

#[test]
fn version_is_text_or_json() {
    for args in [&["--version"][..], &["-V"]] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(&output.stdout), concat!("agentwire ", env!("CARGO_PKG_VERSION"), "\n"));
    }
    for args in [["--version", "--json"], ["--json", "--version"]] {
        let output = run(&args);
        assert_eq!(output.status.code(), Some(0));
        let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(value["mcp"], serde_json::json!(["2026-07-28"]));
        assert_eq!(output.stdout.iter().filter(|&&byte| byte == b'\n').count(), 1);
    }
}

#[test]
fn a_wrong_command_line_is_code_2_and_named_on_standard_error() {
    let cases = [
        (&["--jsn"][..], "'--json'"),
        (&["--vresion"], "'--version'"),
        (&["demo", "--mpc", "x"], "'--mcp'"),
        (&["dmeo"], "'demo'"),
        (&["--json"], "a subcommand or --version is required"),
        (&["demo", "--mcp", "'x"], "a quote or an escape is not closed"),
        (&["demo", "--mcp", " "], "no program"),
        (&["demo", "extra"], "'extra'"),
        (&[], "Usage: agentwire"),
    ];
    for (args, named) in cases {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty());
        assert!(text(&output.stderr).contains(named), "{}", text(&output.stderr));
    }
}

#[test]
fn a_server_that_cannot_start_is_code_10() {
    let output = run(&["demo", "--mcp", "/nonexistent/server"]);
    assert_eq!(output.status.code(), Some(10));
    assert!(output.stdout.is_empty());
    let said = text(&output.stderr);
    assert!(said.starts_with("agentwire: /nonexistent/server could not be started"), "{said}");

    let dying = server("echo no disk >&2; exit 4");
    let output = run(&["demo", "--mcp", &dying]);
    assert_eq!(output.status.code(), Some(10));
    let said = text(&output.stderr);
    assert!(said.contains("exit status: 4") && said.ends_with("sh: no disk\n"), "{said}");
}

/// What a hostile server has to say about its tools.
fn hostile() -> String {
    let tools = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"\u001b]0;owned\u0007tool","description":"\u009b2J \u202eright \u001b[31mred\r\u0000 and words and words and words and words and words and words","inputSchema":{"type":"object"}}]}}"#;
    server(&format!("{HELLO}; read l; printf %s\\\\n '{tools}'; read l"))
}

#[test]
fn what_a_server_says_does_not_act_on_the_terminal() {
    let hostile = hostile();
    let shown = on_terminal(agentwire(&["demo", "--mcp", &hostile]), 40);
    assert!(shown.contains("\\u{1b}]0;owned\\u{7}tool"), "{shown:?}");
    assert!(shown.contains("\\u{9b}2J \\u{202e}right"), "{shown:?}");
    // The only sequences are ours: styles, which begin with `[` and end with `m`.
    for rest in shown.split('\u{1b}').skip(1) {
        let end = rest.find(|char: char| !"[0123456789;".contains(char)).expect("an end");
        assert!(rest.starts_with('[') && rest[end..].starts_with('m'), "{shown:?}");
    }
    let others = |char: char| char.is_control() && !"\u{1b}\r\n".contains(char);
    assert!(!shown.contains(others) && !shown.contains('\u{202e}'), "{shown:?}");

    let json = on_terminal(agentwire(&["--json", "demo", "--mcp", &hostile]), 40);
    let line = json.trim_end();
    assert!(!line.contains(|char: char| char.is_control() || char == '\u{202e}'), "{line:?}");
    let value: Value = serde_json::from_str(line).expect("JSON");
    let name = value["result"]["tools"][0]["name"].as_str().expect("a name");
    assert_eq!(name, "\u{1b}]0;owned\u{7}tool");

    let dying = server("printf \\\\033]0\\;owned\\\\007 >&2; exit 1");
    let output = run(&["demo", "--mcp", &dying]);
    assert!(text(&output.stderr).ends_with("sh: \\u{1b}]0;owned\\u{7}\n"));
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let hostile = hostile();
    let args = ["demo", "--mcp", &hostile];
    assert!(on_terminal(agentwire(&args), 80).contains("\u{1b}[1m"));
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let mut command = agentwire(&args);
        command.env(name, value);
        let shown = on_terminal(command, 80);
        assert!(shown.contains("tool") && !shown.contains('\u{1b}'), "{shown:?}");
    }
    let piped = run(&args);
    assert_eq!(piped.status.code(), Some(0));
    assert!(!piped.stdout.contains(&0x1b) && !piped.stdout.is_empty());
    let mut help = agentwire(&["--help"]);
    help.env("NO_COLOR", "1");
    assert!(!on_terminal(help, 80).contains('\u{1b}'));
}

#[test]
fn lines_fit_the_terminal() {
    let hostile = hostile();
    let mut command = agentwire(&["demo", "--mcp", &hostile]);
    command.env("NO_COLOR", "1");
    let shown = on_terminal(command, 40);
    let tools: Vec<&str> = shown.lines().skip(1).collect();
    assert!(tools.len() == 4 && tools.iter().all(|line| line.chars().count() <= 40), "{shown}");
}

#[test]
fn a_closed_standard_output_ends_quietly() {
    let hostile = hostile();
    for args in [&["--version"][..], &["--help"], &["demo", "--mcp", &hostile]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = agentwire(args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .and_then(Child::wait_with_output)
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    }
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let full = File::options().write(true).open("/dev/full").expect("Linux");
    let output = agentwire(&["--version"])
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .and_then(Child::wait_with_output)
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("agentwire: the result could not be written"));
}

/// Starts a demo whose server never lists its tools; the program, and the process ids that the
/// server wrote down.
fn stuck(name: &str, script: &str) -> (Child, Vec<i32>) {
    let file = std::env::temp_dir().join(format!("agentwire-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let script = format!("{HELLO}; {script} & echo $$ $! > {}; wait; sleep 60", file.display());
    let child = agentwire(&["demo", "--mcp", &server(&script)])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    (child, written(&file))
}

/// The numbers in a file, once it is complete.
fn written(file: &Path) -> Vec<i32> {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') {
            std::fs::remove_file(file).expect("it is ours");
            return text.split_whitespace().map(|pid| pid.parse().expect("a number")).collect();
        }
        assert!(start.elapsed() < Duration::from_secs(10), "the server does not start");
        thread::sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, signal).expect("it runs");
}

/// Gone, or waiting for a parent that has never heard of it.
fn is_gone(pid: i32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

fn all_gone(pids: &[i32]) {
    let start = Instant::now();
    while !pids.iter().all(|&pid| is_gone(pid)) {
        assert!(start.elapsed() < Duration::from_secs(2), "{pids:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_signal_ends_the_program_and_its_children_cleanly() {
    for (name, number) in [("term", Signal::TERM), ("int", Signal::INT)] {
        let (child, pids) = stuck(name, "sleep 60");
        let start = Instant::now();
        signal(&child, number);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "a clean end");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert!(output.stdout.is_empty());
        assert!(text(&output.stderr).starts_with("agentwire: ending"));
        all_gone(&pids);
    }
}

#[test]
fn a_second_signal_ends_at_once_and_stubborn_children_too() {
    for (name, number, code) in [("term2", Signal::TERM, 143), ("int2", Signal::INT, 130)] {
        let (mut child, pids) = stuck(name, "trap \"\" TERM; sleep 60");
        signal(&child, number);
        let mut said = [0; 17];
        child.stderr.as_mut().expect("a pipe").read_exact(&mut said).expect("it says so");
        assert_eq!(&said, b"agentwire: ending");
        let start = Instant::now();
        signal(&child, number);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code));
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        all_gone(&pids);
    }
}

/// Runs with this on standard input.
fn feed(args: &[&str], input: &[u8]) -> Output {
    let mut child = agentwire(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    child.wait_with_output().expect("it ends")
}

fn feed_json(args: &[&str], input: &[u8]) -> (Option<i32>, Value) {
    let output = feed(&[args, &["--json"]].concat(), input);
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn a_message_is_measured() {
    let (code, value) = feed_json(&["inspect", "message"], b"say \"hi\"\n");
    assert_eq!(code, Some(0));
    // 8 bytes, two of them escaped, in a frame of 114.
    assert_eq!((&value["bytes"], &value["fits"]), (&124.into(), &true.into()));
    assert_eq!(value["parts"]["escapes"], 2);

    let most = [b'x'; 15_602 - 114];
    assert_eq!(feed_json(&["inspect", "message"], &most).0, Some(0));
    let (code, value) = feed_json(&["inspect", "message"], &[&most[..], b"x"].concat());
    assert_eq!(code, Some(6));
    assert_eq!((&value["bytes"], &value["limit"]), (&15_603.into(), &15_602.into()));
    let (code, _) = feed_json(&["inspect", "message", "--margin", "signed"], &most);
    assert_eq!(code, Some(6));

    let quoted = std::env::temp_dir().join(format!("agentwire-{}-quoted", std::process::id()));
    std::fs::write(&quoted, "/_call mcp {}\n").expect("written");
    let file = quoted.to_str().expect("UTF-8");
    let direct = feed_json(&["inspect", "message", "--reply-to", file], b"{}").1;
    let group =
        feed_json(&["inspect", "message", "--reply-to", file, "--group", "--mention", "b"], b"{}");
    std::fs::remove_file(&quoted).expect("it is ours");
    assert_eq!(direct["bytes"], 114 + 2 + 137 + 13);
    let parts = &group.1["parts"];
    assert_eq!((&parts["quote"], &parts["quotedText"]), (&175.into(), &13.into()));
    let sum: u64 = parts.as_object().expect("parts").values().filter_map(Value::as_u64).sum();
    assert_eq!(group.1["bytes"], sum);

    let shown = feed(&["inspect", "message"], &[&most[..], b"xx"].concat());
    assert_eq!(shown.status.code(), Some(6));
    assert!(text(&shown.stdout).ends_with("of 15602: does not fit, 2 too many\n"));
    assert!(shown.stderr.is_empty());
}

#[test]
fn a_command_is_explained() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let good = format!(
        "/_call @'Acme shop' mcp {{\n\"jsonrpc\":\"2.0\",\"id\":12345678901234567890123,\"method\":\"tools/list\",\"params\":{{{meta}}}}}"
    );
    let (code, value) = feed_json(&["inspect", "command"], good.as_bytes());
    assert_eq!(code, Some(0), "{value}");
    assert_eq!((&value["member"], &value["protocol"]), (&"Acme shop".into(), &"mcp".into()));
    assert_eq!(value["call"]["id"], "12345678901234567890123");
    assert_eq!(value["call"]["method"], "tools/list");
    let direct = value["replyRoom"]["direct"].as_u64().expect("a number");
    assert_eq!(value["replyRoom"]["group"], direct - 38);
    let shown = feed(&["inspect", "command"], good.as_bytes());
    assert!(text(&shown.stdout).starts_with("to         @Acme shop\nprotocol   mcp\n"));

    for (input, offset) in [("/_call  mcp {}", 7), ("/_call mcp  {}", 11), ("/_call MCP {}", 7)] {
        let (code, value) = feed_json(&["inspect", "command"], input.as_bytes());
        assert_eq!((code, &value["kind"]), (Some(6), &"malformed".into()));
        assert_eq!(value["offset"], offset, "{input}");
        let shown = feed(&["inspect", "command"], input.as_bytes());
        let caret = text(&shown.stdout).lines().last().expect("a line");
        assert_eq!(caret.find('^'), Some(offset + 2), "{input}");
    }
    let (code, value) = feed_json(&["inspect", "command"], b"/_call mcp {\"id\":7, ]");
    assert_eq!(code, Some(6));
    assert_eq!(value["call"]["answer"]["error"]["code"], -32700);
    assert_eq!(value["malformed"]["offset"], 20);
    let (code, value) = feed_json(&["inspect", "command"], b"/_call own {}");
    assert_eq!((code, &value["call"]), (Some(0), &Value::Null));
    for input in ["hello", "/_call", "/_caller mcp {}", ""] {
        let (code, value) = feed_json(&["inspect", "command"], input.as_bytes());
        assert_eq!((code, &value["kind"]), (Some(0), &"other".into()), "{input}");
    }
}

#[test]
fn odd_input_is_explained_or_refused() {
    let output = feed(&["inspect", "message"], b"a\xff");
    assert_eq!(output.status.code(), Some(6));
    assert_eq!(text(&output.stderr), "agentwire: standard input: not UTF-8 (byte 1)\n");
    let output = feed(&["inspect", "message", "--reply-to", "/nonexistent"], b"");
    assert_eq!(output.status.code(), Some(2));
    let deep = format!("/_call mcp {}", "{\"a\":".repeat(200));
    assert_eq!(feed_json(&["inspect", "command"], deep.as_bytes()).0, Some(6));
    let hostile = "/_call mcp {\u{1b}]0;owned\u{7}\u{202e}";
    let shown = feed(&["inspect", "command"], hostile.as_bytes());
    assert!(!text(&shown.stdout).contains(['\u{1b}', '\u{7}', '\u{202e}']));
    let hostile = "/_call @\u{9b}2J mcp {}".as_bytes();
    let shown = feed(&["inspect", "command"], hostile);
    assert!(!text(&shown.stdout).contains('\u{9b}'));
}
