//! The program from outside.

mod terminal;

use core::time::Duration;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use terminal::on_terminal;

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

/// A `--mcp` command of one shell script.
fn server(script: &str) -> String {
    format!("sh -c \"{}\"", script.replace('\\', "\\\\").replace('"', "\\\""))
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
fn the_exit_codes_are_those_of_the_readme() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(readme).expect("it is there");
    let written: Vec<(u8, String)> = readme
        .lines()
        .filter_map(|line| {
            let (code, meaning) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
            Some((code.parse().ok()?, meaning.to_owned()))
        })
        .filter(|(_, meaning)| !meaning.contains('|'))
        .collect();
    let help = run(&["--help"]);
    let table = text(&help.stdout).split("Exit codes:\n").nth(1).expect("the table");
    let shown: Vec<(u8, String)> = table
        .lines()
        .map(|line| {
            let (code, meaning) = line.trim().split_once("  ").expect("a code and its meaning");
            (code.parse().expect("a number"), meaning.to_owned())
        })
        .collect();
    assert_eq!(written, shown);
}

#[test]
fn help_is_quick() {
    let best = (0..20)
        .map(|_| {
            let start = Instant::now();
            run(&["--help"]);
            start.elapsed()
        })
        .min()
        .expect("twenty runs");
    // Three, on a machine with nothing else to do.
    assert!(best < Duration::from_millis(50), "{best:?}");
}

#[test]
fn completions_name_every_command_and_flag() {
    let help = text(&run(&["--help"]).stdout).to_owned();
    let commands = help.split("Commands:").nth(1).expect("a list").split("\n\n").next();
    let commands: Vec<&str> = commands
        .expect("its end")
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    assert!(commands.contains(&"demo") && commands.contains(&"man"), "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = text(&output.stdout);
        for name in commands.iter().copied().chain(["json", "version", "mcp"]) {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
    let output = run(&["completions", "csh"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("bash"), "{}", text(&output.stderr));
    // The shell itself takes it.
    if let Ok(mut bash) = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn() {
        let script = run(&["completions", "bash"]).stdout;
        bash.stdin.take().expect("piped").write_all(&script).expect("written");
        assert!(bash.wait().expect("it ends").success());
    }
}

#[test]
fn manual_pages_are_made_from_the_same_definition() {
    let output = run(&["man"]);
    assert_eq!(output.status.code(), Some(0));
    let page = text(&output.stdout);
    assert!(page.contains(".TH AGENTWIRE 1"), "{page}");
    assert!(page.contains("Exit codes:") && page.contains("\\-\\-version"), "{page}");
    let output = run(&["man", "inspect", "message"]);
    let page = text(&output.stdout);
    assert!(page.contains(".TH AGENTWIRE-INSPECT-MESSAGE 1"), "{page}");
    assert!(page.contains("reply\\-to"), "{page}");

    let output = run(&["man", "inspetc"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("there are card, demo, inspect, loopback"),
        "{}",
        text(&output.stderr)
    );
    let output = run(&["man", "demo", "more"]);
    assert_eq!(output.status.code(), Some(2));

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    let _ = std::fs::remove_dir_all(&folder);
    let output = run(&["man", "--all", folder.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for name in ["agentwire", "agentwire-demo", "agentwire-inspect", "agentwire-inspect-link"] {
        let page = std::fs::read_to_string(folder.join(format!("{name}.1"))).expect(name);
        assert!(page.contains(&format!(".TH {} 1", name.to_uppercase())));
    }
    let nowhere = run(&["man", "--all", "/proc/nowhere"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).starts_with("agentwire: /proc/nowhere"));
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

/// A server that answers each request: with these tools, and with this result of each call.
fn serving(tools: &str, result: &str) -> String {
    let discovery = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#;
    let script = format!(
        r#"n=0; while read -r l; do n=$((n+1)); case "$l" in
        *server/discover*) r='{discovery}';;
        *tools/list*) r='{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{tools}]}}';;
        *) {result};;
        esac; printf '%s\n' "{{\"jsonrpc\":\"2.0\",\"id\":$n,\"result\":$r}}"; done"#
    );
    server(&script)
}

/// The result of a call, as a line of the script above.
fn says(text: &str) -> String {
    format!(r#"r='{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}'"#)
}

/// A server that means no good.
fn hostile() -> String {
    let tool = r#"{"name":"\u001b]0;owned\u0007tool","description":"\u001b[31mred","inputSchema":{"type":"object"}}"#;
    let text =
        r"\u009b2J \u202eright \u001b[31mred\r\u0000 and words and words and words and words";
    serving(tool, &says(text))
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
    let mut listed = None;
    for line in json.split_terminator("\r\n") {
        assert!(!line.contains(|char: char| char.is_control() || char == '\u{202e}'), "{line:?}");
        let value: Value = serde_json::from_str(line).expect("JSON");
        let text = value["text"].as_str().unwrap_or_default();
        let reply: Value = serde_json::from_str(text).unwrap_or_default();
        listed = listed.or(reply["result"]["tools"][0]["name"].as_str().map(str::to_owned));
    }
    assert_eq!(listed.as_deref(), Some("\u{1b}]0;owned\u{7}tool"));

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
    for columns in [36, 40, 79, 200] {
        for args in [&["demo"][..], &["demo", "--mcp", &hostile]] {
            let mut command = agentwire(args);
            command.env("NO_COLOR", "1");
            let shown = on_terminal(command, columns);
            let wide = shown.lines().find(|line| line.chars().count() > usize::from(columns));
            assert_eq!(wide, None, "{columns} columns");
            assert!(shown.contains(" messages, "), "{shown}");
        }
    }
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

/// Starts a demo whose server never answers a call; the program, and the process ids that the
/// server wrote down.
fn stuck(name: &str, script: &str) -> (Child, Vec<i32>) {
    let file = std::env::temp_dir().join(format!("agentwire-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let script =
        format!("{HELLO}; read l; {script} & echo $$ $! > {}; wait; sleep 60", file.display());
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
        let shown = text(&output.stdout);
        assert!(shown.ends_with("/_call mcp server/discover\n"), "the call stands there: {shown}");
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

/// What each scene of the demo is called, in order.
fn scenes(json: &str) -> Vec<String> {
    let values = json.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    values.filter_map(|value| value["scene"].as_str().map(str::to_owned)).collect()
}

#[test]
fn the_demo_is_a_transcript_for_people() {
    let output = run(&["demo"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let wide = shown.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
    let mut rest = shown;
    for part in [
        "\nAn agent asks a bot for its tools, in a direct chat\n",
        "agent ─▶ acme ",
        "/_call mcp tools/call availability {\"item\":\"anvil\"}\n",
        "acme: 12 anvils are in stock.\n",
        "\nA tool that reports progress\n",
        "notifications/progress 3 of 3\n",
        "\nOne bot in a group, mentioned\n",
        "/_call @acme mcp tools/call availability",
        "acme ↩  #market",
        "\nEveryone in a group\n",
        "\nA task that streams\n",
        "task t-8 submitted\n",
        "artifact of task t-8\n",
        "status of task t-8 completed\n",
        "\nA reply that does not fit\n",
        "bolt ↩  agent",
        "error -32603: the answer does not fit into one message\n",
        "\"size\":21829",
        "\nOne request without a conversation\n",
        "agent ─▶ bolt ",
        " of 10,000 bytes\n",
        "request mcp tools/call availability {\"item\":\"anvil\"}\n",
        ", padded to 11,106\n",
        "bolt ↩  agent ",
        "bolt: 3 anvils are in stock.\n",
        "\nA signed request\n",
        "signed request a2a SendMessage\n",
        "task t-9 completed\n",
        "on the account of your key",
        " messages, ",
    ] {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not in\n{rest}"));
        rest = &rest[at + part.len() - 1..];
    }
    // Everyone answers in no order.
    assert_eq!(shown.matches("acme: 12 anvils are in stock.\n").count(), 3);
    assert_eq!(shown.matches("bolt: 3 anvils are in stock.\n").count(), 2);
}

#[test]
fn the_demo_is_json_for_programs() {
    let output = run(&["demo", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    assert_eq!(scenes(shown).len(), 8);
    let mut signed = Vec::new();
    let (mut messages, mut bytes) = (0, 0);
    let mut sum = Value::Null;
    for line in shown.lines() {
        let value: Value = serde_json::from_str(line).expect("JSON");
        assert!(value.get("remark").is_none(), "{line}");
        if value.get("messages").is_some() {
            sum = value;
        } else if value.get("scene").is_none() {
            let size = value["bytes"].as_u64().expect("a size");
            let len = value["text"].as_str().expect("a text").len() as u64;
            if value["transport"] == "rpc" {
                // The core writes the JSON anew: here it has nothing to leave out.
                assert!(size == len && size <= 10_000, "{line}");
                assert_eq!((&value["advised"], &value["padded"]), (&10_000.into(), &11_106.into()));
                let is_signed = value["signed"] == true;
                let framing = value["framed"].as_u64().expect("a size") - size;
                let is_request = value["from"] == "agent";
                let expected = if is_signed { 303 } else { 192 };
                assert_eq!(framing, if is_request { expected } else { 3 }, "{line}");
                signed.extend(is_request.then_some(is_signed));
            } else {
                assert!(size > len && size <= 15_602, "{line}");
                assert_eq!(value["limit"], 15_602);
            }
            assert_ne!(value["to"], "?");
            (messages, bytes) = (messages + 1, bytes + size);
        }
    }
    assert_eq!(sum, serde_json::json!({"messages": messages, "bytes": bytes}));
    assert!(messages > 20, "{messages}");
    assert_eq!(signed, [false, true]);
}

#[test]
fn the_tools_of_a_server_are_called_but_not_those_that_change_something() {
    let tool = |name: &str, annotations: &str| {
        format!(
            r#"{{"name":"{name}","annotations":{{{annotations}}},"inputSchema":{{"type":"object","properties":{{"city":{{"type":"string"}}}},"required":["city"]}}}}"#
        )
    };
    let tools = [
        tool("wipe", r#""destructiveHint":true"#),
        tool("look", r#""readOnlyHint":true"#),
        tool("write", r#""readOnlyHint":false,"destructiveHint":false"#),
        tool("ask", ""),
        tool("peek", r#""readOnlyHint":true,"destructiveHint":true"#),
        tool("stare", r#""readOnlyHint":true"#),
    ];
    let spread = r#"{\n  \"sky\": \"blue and white\"\n}"#;
    let output = run(&["demo", "--mcp", &serving(&tools.join(","), &says(spread))]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for called in ["look", "ask", "peek"] {
        let line = format!("/_call mcp tools/call {called} {{\"city\":\"hello\"}}\n");
        assert!(shown.contains(&line), "{called}: {shown}");
    }
    for left in ["wipe", "write", "stare"] {
        assert!(!shown.contains(&format!("tools/call {left}")), "{shown}");
    }
    assert!(shown.contains("{\"sky\":\"blue and white\"}\n"), "{shown}");
    let remark = "Tools not called here: 1 more, and 2 that may change something.\n";
    assert!(shown.contains(remark), "{shown}");
}

#[test]
fn a_server_without_tools_is_told_apart() {
    let output = run(&["demo", "--mcp", &serving("", &says(""))]);
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    assert!(shown.contains("The server lists no tools: none is called.\n"), "{shown}");
}

#[test]
fn a_server_that_dies_in_a_call_ends_the_demo_with_its_last_words() {
    let tool = r#"{"name":"look","inputSchema":{"type":"object"}}"#;
    let dying = serving(tool, "echo out of ink >&2; exit 9");
    let output = run(&["demo", "--mcp", &dying]);
    assert_eq!(output.status.code(), Some(7));
    let shown = text(&output.stdout);
    assert!(shown.contains("/_call mcp tools/call look"), "{shown}");
    assert!(shown.contains("error -32603: the server ended (exit status: 9)"), "{shown}");
    assert!(!shown.contains("One bot in a group"), "{shown}");
    let said = text(&output.stderr);
    assert!(said.starts_with("agentwire: the server ended (exit status: 9)"), "{said}");
    assert!(said.ends_with(": out of ink\n"), "{said}");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_demo_quietly() {
    use std::io::{BufRead, BufReader};
    let mut child = agentwire(&["demo"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut line = String::new();
    let mut reader = BufReader::with_capacity(1, child.stdout.take().expect("a pipe"));
    while line.trim().is_empty() {
        line.clear();
        reader.read_line(&mut line).expect("a line");
    }
    assert!(line.starts_with("An agent asks a bot"), "{line}");
    drop(reader);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
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
fn an_llms_txt_is_listed_and_what_does_not_fit_is_explained() {
    let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
    let good = format!(
        "# Acme\n\n## Communications\n\n- [Ask \\[Acme\\]](https://a.example/a#{key}): SimpleX business \
         contact for agents, MCP, m c. Orders.\n"
    );
    let output = feed(&["inspect", "llms", "--json"], good.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    let lines: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let [entry, summary] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&entry["title"], &entry["line"]), (&"Ask [Acme]".into(), &5.into()));
    assert_eq!((&entry["type"], &entry["link"]), (&"business contact".into(), &"contact".into()));
    assert_eq!(entry["peerTypes"], serde_json::json!(["agent"]));
    assert_eq!(entry["protocols"], serde_json::json!(["mcp"]));
    assert_eq!(entry["other"], serde_json::json!(["m c"]));
    assert_eq!(entry["remarks"][0]["line"], 5);
    assert_eq!(summary, &serde_json::json!({"kind": "summary", "entries": 1, "problems": 0}));

    let bad = format!(
        "{good}- [News](https://a.example/a#{key}): SimpleX updates for people.\n- \x1bx\n"
    );
    let output = feed(&["inspect", "llms"], bad.as_bytes());
    assert_eq!(output.status.code(), Some(6));
    let shown = text(&output.stdout);
    assert!(shown.contains("  the address: a contact link, the type requires a channel link\n"));
    assert!(shown.contains("line 7: the item does not begin with a link (byte "), "{shown}");
    assert!(shown.ends_with("2 addresses, 2 problems\n") && !shown.contains('\x1b'), "{shown}");

    let output = feed(&["inspect", "llms"], b"# Acme\n");
    assert_eq!(output.status.code(), Some(6));
    assert!(text(&output.stdout).starts_with("line 1: no section"), "{}", text(&output.stdout));
}

#[test]
fn a_link_or_a_name_is_classified_and_normalised() {
    let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
    let link = format!("https://A.example/C/#{key}=\n");
    let (code, value) = feed_json(&["inspect", "link"], link.as_bytes());
    assert_eq!(
        (code, &value["type"], &value["form"]),
        (Some(0), &"channel".into(), &"short".into())
    );
    assert_eq!(value["normal"], format!("simplex:/c#{key}?h=a.example"));
    let shown = feed(&["inspect", "link"], link.as_bytes());
    assert!(text(&shown.stdout).starts_with("channel    short link in the scheme https"));
    let full = b"simplex:/contact#/?v=2-7&smp=smp%3A%2F%2Fk%40h%2Fq";
    assert_eq!(feed_json(&["inspect", "link"], full).1["ratchetKeys"], false);

    let (code, value) = feed_json(&["inspect", "link"], b"@Shop.simplex");
    assert_eq!(
        (code, &value["kind"], &value["type"]),
        (Some(0), &"name".into(), &"contact".into())
    );
    assert_eq!(value["normal"], "@shop.simplex");
    assert_eq!(feed_json(&["inspect", "link"], b"simplex:/name#privacy").1["tld"], "simplex");

    let (code, value) = feed_json(&["inspect", "link"], b"https://a.example/a#MDEy");
    assert_eq!((code, &value["as"], &value["offset"]), (Some(6), &"link".into(), &20.into()));
    let (code, value) = feed_json(&["inspect", "link"], b"mailto:a@a.example");
    assert_eq!((code, &value["as"], &value["offset"]), (Some(6), &"link".into(), &0.into()));
    let (code, value) = feed_json(&["inspect", "link"], b"@shop");
    assert_eq!((code, &value["as"], &value["offset"]), (Some(6), &"name".into(), &5.into()));
    let shown = feed(&["inspect", "link"], b"https://a.example/\x1b#MDEy");
    assert!(!text(&shown.stdout).contains('\x1b') && shown.status.code() == Some(6));
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

const ONE_SHOT: &str = r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"SendMessage","a2a-service-parameters":{"A2A-Version":"1.0"},"params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;

#[test]
fn a_request_envelope_is_explained() {
    let inspect = |input: &str| feed_json(&["inspect", "envelope"], input.as_bytes());
    let good = format!(r#"{{"protocol":"a2a","x":[1],"request": {ONE_SHOT}}}"#);
    let (code, value) = inspect(&good);
    assert_eq!((code, &value["kind"]), (Some(0), &"request".into()), "{value}");
    assert_eq!((&value["protocol"], &value["otherMembers"]), (&"a2a".into(), &1.into()));
    let offset = good.len() - 1 - ONE_SHOT.len();
    let place = serde_json::json!({"offset": offset, "bytes": ONE_SHOT.len()});
    assert_eq!(value["request"], place);
    assert_eq!(value["call"]["id"], "12345678901234567890123");
    let bytes =
        serde_json::json!({"min": good.len() - 1, "max": good.len() - 1, "advised": 10_000});
    assert_eq!(value["bytes"], bytes);
    assert_eq!(value["fit"]["unsigned"]["limit"], 11_103);
    assert_eq!(value["fit"]["signed"]["verdict"], "fine");

    // requestKey makes it a signed one, and has to be a key.
    let key = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q";
    let (code, value) = inspect(&good.replace("\"x\":[1]", &format!("\"requestKey\":\"{key}\"")));
    assert_eq!((code, &value["requestKey"]["valid"]), (Some(0), &true.into()));
    assert_eq!((&value["fit"]["unsigned"], &value["otherMembers"]), (&Value::Null, &0.into()));
    let (code, value) = inspect(&good.replace("\"x\":[1]", "\"requestKey\":\"AAAA\""));
    assert_eq!((code, &value["requestKey"]["valid"]), (Some(6), &false.into()));

    // What needs a conversation, what is no request of the protocol, and what is not known.
    let stream = good.replace("SendMessage", "SendStreamingMessage");
    let (code, value) = inspect(&stream);
    assert_eq!((code, &value["call"]["error"]), (Some(6), &"conversation_required".into()));
    let (code, value) = inspect(r#"{"protocol":"mcp","request":{"id":1}}"#);
    assert_eq!((code, &value["call"]["answer"]["error"]["code"]), (Some(6), &(-32600).into()));
    let (code, value) = inspect(r#"{"protocol":"own","request":null,"version":1e400}"#);
    assert_eq!((code, &value["call"], &value["version"]), (Some(0), &Value::Null, &"1e400".into()));
    let (code, value) = inspect(r#"{"protocol":"MCP","request":{}}"#);
    assert_eq!((code, &value["isName"]), (Some(6), &false.into()));

    let shown = feed(&["inspect", "envelope"], good.as_bytes());
    let rows = format!("request    {} bytes from byte {offset}\nprotocol   a2a\n", ONE_SHOT.len());
    assert!(text(&shown.stdout).starts_with(&rows), "{}", text(&shown.stdout));
    assert!(text(&shown.stdout).contains("unsigned   it fits (at the very most 11103)\n"));
}

#[test]
fn an_envelope_is_measured_at_its_limits() {
    let own = |len: usize| {
        let frame = r#"{"protocol":"own","request":""}"#;
        frame.replace("\"\"", &format!("\"{}\"", "x".repeat(len - frame.len())))
    };
    for (len, unsigned, signed, code) in [
        (10_000, "fine", "fine", 0),
        (10_001, "perhaps", "perhaps", 0),
        (10_992, "perhaps", "perhaps", 0),
        (10_993, "perhaps", "too_large", 0),
        (11_103, "perhaps", "too_large", 0),
        (11_104, "too_large", "too_large", 6),
    ] {
        let (status, value) = feed_json(&["inspect", "envelope"], own(len).as_bytes());
        let fit = (&value["fit"]["unsigned"]["verdict"], &value["fit"]["signed"]["verdict"]);
        assert_eq!((status, fit), (Some(code), (&unsigned.into(), &signed.into())), "{len}");
    }
    // It is the size after the core has written it anew that counts.
    let spread = own(9_990).replace(':', &format!(":{}", " ".repeat(2_000)));
    let (status, value) = feed_json(&["inspect", "envelope"], spread.as_bytes());
    assert_eq!((status, &value["bytes"]["max"]), (Some(0), &9_990.into()));
}

#[test]
fn a_response_envelope_is_explained() {
    let inspect = |input: &str| feed_json(&["inspect", "envelope"], input.as_bytes());
    let (code, value) = inspect(r#"{"response": null}"#);
    assert_eq!((code, &value["kind"]), (Some(0), &"response".into()));
    assert_eq!(value["response"], serde_json::json!({"offset": 13, "bytes": 4}));
    assert_eq!(value["fit"]["response"]["limit"], 11_103);
    for (error, known, is_final, after) in [
        (r#"{"code":"rate_limited","retryAfter":60}"#, true, false, Some(60)),
        (r#"{"code":"brand_new"}"#, false, true, None),
        (r#"{"code":"brand_new","retryAfter":1}"#, false, false, Some(1)),
    ] {
        let (code, value) = inspect(&format!("{{\"error\":{error}}}"));
        let error = &value["error"];
        assert_eq!((code, &error["known"]), (Some(0), &known.into()));
        assert_eq!((&error["final"], error["retryAfter"].as_u64()), (&is_final.into(), after));
    }
    let hostile = "{\"error\":{\"code\":\"\\u001b[2J\",\"message\":\"\\u202e\"}}";
    let shown = feed(&["inspect", "envelope"], hostile.as_bytes());
    assert!(!text(&shown.stdout).contains(['\u{1b}', '\u{202e}']));
}

#[test]
fn a_malformed_envelope_is_pointed_at() {
    for (input, kind, offset, error) in [
        ("[1]", "request", 0, "not a JSON object"),
        ("{\"protocol\": 7, \"request\": {}}", "request", 13, "protocol has the wrong type"),
        ("{\"protocol\":\"mcp\"}", "request", 18, "request is missing"),
        ("{\"response\":1,\"error\":{}}", "response", 22, "both response and error are there"),
        ("{\"response\":1,\"response\":2}", "response", 25, "response occurs twice"),
        ("{\"error\":{\"code\":7}}", "response", 17, "code has the wrong type"),
    ] {
        let (code, value) = feed_json(&["inspect", "envelope"], input.as_bytes());
        assert_eq!((code, &value["kind"]), (Some(6), &"malformed".into()), "{input}");
        assert_eq!((&value["as"], &value["offset"]), (&kind.into(), &offset.into()), "{input}");
        assert_eq!(value["error"], error, "{input}");
        let shown = feed(&["inspect", "envelope"], input.as_bytes());
        let caret = text(&shown.stdout).lines().last().expect("a line");
        assert_eq!(caret.find('^'), Some(offset + 2), "{input}");
    }
    let (code, value) = feed_json(&["inspect", "envelope", "--as", "response"], b"{}");
    assert_eq!(code, Some(6));
    assert_eq!(value["error"], "neither response nor error is there");
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

#[test]
fn declarations_are_explained() {
    let text = br#"{"protocols":{"mcp":{"versions":["2027-01-01","2026-07-28"],
        "transports":{"chat":true,"rpc":true}},"a2a":{"versions":["1.0"],"transports":{"chat":true}}}}"#;
    let (code, value) = feed_json(&["inspect", "profile"], text);
    assert_eq!((code, &value["declared"]), (Some(0), &true.into()));
    let protocols = value["protocols"].as_array().expect("an array");
    assert_eq!(protocols[0]["versions"], serde_json::json!(["2027-01-01", "2026-07-28"]));
    assert_eq!((&protocols[0]["rpc"], &protocols[0]["route"]), (&"yes".into(), &"rpc".into()));
    assert_eq!((&protocols[1]["rpc"], &protocols[1]["route"]), (&"no".into(), &"chat".into()));
    let (_, value) = feed_json(&["inspect", "profile", "--as", "group"], text);
    assert_eq!(value["protocols"][0]["rpc"], "unknown");
    assert_eq!(value["protocols"][0]["route"], "group chat");
    let shown = feed(&["inspect", "profile"], text);
    let shown = text_of(&shown);
    assert!(shown.contains("mcp        versions 2027-01-01, 2026-07-28\n"), "{shown}");
    assert!(shown.contains("goes over rpc: Service RPC is declared"), "{shown}");
    let (_, value) = feed_json(&["inspect", "profile"], b"{}");
    assert_eq!(value["declared"], false);

    let record = br#"{"audience":["agent","robot"],"changeFrequency":"weekly"}"#;
    let (_, value) = feed_json(&["inspect", "profile", "--as", "channel"], record);
    assert_eq!(value["audience"], serde_json::json!(["agent"]));
    assert_eq!(value["changeFrequency"], "weekly");
    let (_, value) = feed_json(&["inspect", "profile", "--as", "public-group"], record);
    assert!(value["changeFrequency"].is_null());
    let (_, value) = feed_json(&["inspect", "profile", "--as", "address"], b"{\"business\":true}");
    let expected = serde_json::json!({
        "kind": "address", "serves": ["human"], "stated": false, "business": true
    });
    assert_eq!(value, expected);

    let (code, value) = feed_json(&["inspect", "profile"], b"{\"protocols\":[]}");
    assert_eq!((code, &value["offset"]), (Some(6), &13.into()));
    let shown = feed(&["inspect", "profile"], b"{\"protocols\":[]}");
    assert_eq!(
        text_of(&shown),
        "malformed: protocols has the wrong type (byte 13)\n  {\"protocols\":[]}\n               ^\n"
    );
    let hostile = b"{\"protocols\":{\"a\":{\"versions\":[\"\\u001b[2J\"],\"transports\":{}}}}";
    assert!(!feed(&["inspect", "profile"], hostile).stdout.contains(&0x1b));
}

const SIGNER: &str = "MCowBQYDK2VwAyEA_3d3wt3ujikpXGYNOJ9RSbv3H1UuW4yDyGcynSps-xc=";
const AD: &str = "bde88ed2d7fe53206a8361551f4f132273d40e22bcff6989f54c3fb6f69a5b4e46a283553a21945457a129abfbc7a1797579350613e5480db75eb4aae8a75a304fc95297ec42aeefe816d9c83e3a79dd7089e61ffd0ad27bb119be07e597586f6c27804513eb791e4592b718aa60fe6a";
const SIGNATURE: &str = "f01964b379329677348d99edcf45af27f4690deed562c375678e64aa6a1d16b8dd893200236fe210a0e3eb1241b00d17096491a2ee902e55378064bf2467020b";

#[test]
fn a_signed_request_is_checked() {
    let other = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";
    let request = r#"{"protocol":"mcp","request":{"id":"q-7","jsonrpc":"2.0","method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"arguments":{"item":"Zürich ✓ 😀"},"name":"availability"}},"requestKey":"MCowBQYDK2VwAyEA_3d3wt3ujikpXGYNOJ9RSbv3H1UuW4yDyGcynSps-xc="}"#;
    let signed =
        ["inspect", "signature", "--signer-key", SIGNER, "--ad", AD, "--signature", SIGNATURE];
    let (code, value) = feed_json(&signed, request.as_bytes());
    assert_eq!((code, &value["outcome"]), (Some(0), &"accept".into()));
    assert_eq!(
        (&value["signatureValid"], &value["requestKey"]),
        (&true.into(), &"the signer's".into())
    );
    assert_eq!(
        value["binding"],
        "df8caa2dd4a328e8bf08889b73de75ecb34f824a92c21d484470d8e042bcaad3"
    );
    let shown = feed(&signed, request.as_bytes());
    assert!(
        text_of(&shown).contains("signature  valid\nrequestKey the signer's\noutcome    accept\n")
    );
    let changed = request.replace("q-7", "q-6");
    let (code, value) = feed_json(&signed, changed.as_bytes());
    assert_eq!((code, &value["outcome"]), (Some(6), &"not delivered".into()));

    let outcome = |args: &[&str], request: &str| {
        let (code, value) =
            feed_json(&[&["inspect", "signature"], args].concat(), request.as_bytes());
        assert_eq!(code == Some(0), value["outcome"] == "accept");
        value["outcome"].as_str().expect("a string").to_owned()
    };
    let bare = r#"{"protocol":"mcp","request":{}}"#;
    assert_eq!(outcome(&[], bare), "accept");
    assert_eq!(outcome(&["--signer-key", other], bare), "accept");
    assert_eq!(outcome(&[], request), "bad_request");
    assert_eq!(outcome(&["--signer-key", other], request), "bad_request");
    assert_eq!(outcome(&["--signer-key", SIGNER.trim_end_matches('=')], request), "accept");
    assert_eq!(outcome(&[], "{}"), "bad_request");
    for wrong in [
        &["--signer-key", "MCow"][..],
        &["--signature", SIGNATURE],
        &["--signer-key", SIGNER, "--ad", AD],
        &["--signer-key", SIGNER, "--ad", "0x", "--signature", SIGNATURE],
    ] {
        let output = feed(&[&["inspect", "signature"], wrong].concat(), b"");
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

fn text_of(output: &Output) -> &str {
    text(&output.stdout)
}
