//! `agentwire config` and `agentwire serve --config` from outside.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose tool says which process it is, and what the environment is.
const GOOD: &str = r#"read l; i=${l#*'"id":'}; echo '{"jsonrpc":"2.0","id":'${i%%,*}',"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'; while read l; do i=${l#*'"id":'}; case $l in *tools/list*) r='{"tools":[],"ttlMs":0,"cacheScope":"public"}';; *) r='{"content":[{"type":"text","text":"'$$' '$WORD'"}]}';; esac; echo '{"jsonrpc":"2.0","id":'${i%%,*}',"result":'$r'}'; done"#;

/// One that is there and never says what its tools are.
const HANGING: &str = r#"read l; i=${l#*'"id":'}; echo '{"jsonrpc":"2.0","id":'${i%%,*}',"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'; while read l; do :; done"#;

const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"n","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// A folder of its own for each test, in which the program runs.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("config-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("user/agentwire")).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("written");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentwire"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null());
        for name in ["AGENTWIRE_CORE", "AGENTWIRE_CA_FILE", "AGENTWIRE_CONFIG", "NO_COLOR"] {
            command.env_remove(name);
        }
        command.env("XDG_CONFIG_HOME", self.0.join("user"));
        command.env("XDG_STATE_HOME", self.0.join("states"));
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program runs")
    }
}

fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).expect("UTF-8")
}

fn server(name: &str, script: &str, more: &str) -> String {
    format!("[serve.{name}]\ncommand = [\"sh\", \"-c\", '''{script}''']\n{more}\n")
}

/// A program that serves, with the lines it says.
struct Serving {
    child: Child,
    results: Receiver<Value>,
    notes: Receiver<String>,
}

impl Serving {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        let mut command = folder.command(&[&["--json"], args].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let stdout: ChildStdout = child.stdout.take().expect("piped");
        let stderr: ChildStderr = child.stderr.take().expect("piped");
        let ((to_results, results), (to_notes, notes)) = (channel(), channel());
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = to_results.send(serde_json::from_str(&line).expect("JSON"));
            }
        });
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = to_notes.send(line);
            }
        });
        Self { child, results, notes }
    }

    /// The next line of a kind.
    fn result(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let result = self.results.recv_timeout(PATIENCE).expect("it says so in time");
            if is_wanted(&result) {
                return result;
            }
        }
    }

    fn place(&self, name: &str) -> String {
        let line = self.result(|line| line["name"] == name);
        line["at"].as_str().expect("a text").to_owned()
    }

    fn note(&self, part: &str) -> String {
        loop {
            let note = self.notes.recv_timeout(PATIENCE).expect("it says so in time");
            if note.contains(part) {
                return note;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("it runs"), signal).expect("it is ours");
    }

    fn ends_with(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It has ended already, or the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn call(url: &str) -> String {
    let place = url.strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
    let place = place.unwrap_or_else(|| panic!("{url}"));
    let mut stream = TcpStream::connect(place).expect("it listens");
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {place}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: n\r\nContent-Length: {}\r\n\r\n{CALL}",
        CALL.len()
    );
    stream.write_all(request.as_bytes()).expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn the_example_is_well_formed_and_written_once_for_its_owner() {
    let folder = Folder::new("example");
    let printed = folder.run(&["config", "example"]);
    assert_eq!(printed.status.code(), Some(0));
    let written = folder.run(&["config", "example", "new/x.toml"]);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let path = folder.0.join("new/x.toml");
    assert_eq!(fs::read(&path).expect("a file"), printed.stdout);
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::write(&path, "mine").expect("written");
    let again = folder.run(&["config", "example", "new/x.toml"]);
    assert_eq!(again.status.code(), Some(6));
    assert_eq!(fs::read(&path).expect("a file"), b"mine");
    folder.write("y.toml", text(&printed.stdout));
    let checked = folder.run(&["config", "check", "y.toml"]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    assert_eq!(text(&checked.stdout), "y.toml: well-formed; serves clock\n");
}

#[test]
fn each_problem_is_named_with_its_line() {
    let folder = Folder::new("problems");
    let good = server("a", "x", "http = '127.0.0.1:0'");
    for (config, problem) in [
        (
            "version = 1\n[serve.a]\ncomand = ['x']",
            "bad.toml:3:1: unknown key serve.a.comand; is command meant?",
        ),
        ("version = 1\n[core]\nurl = \n", "bad.toml:3:"),
        (
            "version = 1\n[serve.a]\nlegacy = true",
            "bad.toml:3:1: serve.a has neither command nor url",
        ),
        (
            "version = 1\n[serve.a]\ncommand = ['x']\nurl = 'https://x'",
            "bad.toml:4:1: serve.a has both",
        ),
        (
            "version = 1\n[serve.a]\ncommand = ['x']\nhttp = '0.0.0.0:1'",
            "bad.toml:4:1: serve.a: other machines",
        ),
        (
            "version = 1\n[serve.a]\ncommand = ['x']\nhttp = '127.0.0.1:1'\nallow = ['@b']",
            "bad.toml:5:1: serve.a: allow is for a bot",
        ),
        (
            "version = 1\n[serve.a]\ncommand = ['x']\n[serve.b]\ncommand = ['x']",
            "bad.toml:5:1: serve.a and serve.b are served at the same place",
        ),
        ("version = 7", "bad.toml:1:1: this program reads version 1, not 7"),
    ] {
        folder.write("bad.toml", config);
        let output = folder.run(&["config", "check", "bad.toml"]);
        assert_eq!(output.status.code(), Some(3), "{config}");
        let said = text(&output.stderr);
        assert!(said.contains(problem), "{config}: {said}");
        assert!(output.stdout.is_empty());
        // And nothing of it is served.
        let output = folder.run(&["serve", "--config", "bad.toml"]);
        assert_eq!(output.status.code(), Some(3), "{config}");
    }
    folder.write("bad.toml", "version = 1\n[serve.a]\nx = 1\ny = 2\n");
    let output = folder.run(&["--json", "config", "check", "bad.toml"]);
    let lines: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["line"], &lines[1]["line"]), (&json!(3), &json!(4)));
    let missing = folder.run(&["config", "check", "none.toml"]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(text(&missing.stderr).contains("none.toml: "));
    let mut child = folder.command(&["config", "check", "-"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(format!("version = 1\n{good}").as_bytes()).expect("it reads");
    drop(input);
    assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(0));
}

#[test]
fn the_strongest_word_counts_and_is_named() {
    let folder = Folder::new("layers");
    let file = |core: &str, more: &str| format!("version = 1\n[core]\nurl = '{core}'\n{more}");
    folder.write(
        "user/agentwire/config.toml",
        &file(
            "ws://user",
            "[limits]\nmax_open = 1\nper_minute = 1\nper_day = 1\n[serve.u]\ncommand = ['u']\n",
        ),
    );
    let values = |args: &[&str], environment: &[(&str, &str)]| {
        let args = [&["--json", "config", "check", "-v"], args].concat();
        let output =
            folder.command(&args).envs(environment.iter().copied()).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let lines = text(&output.stdout).lines();
        lines.map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<Value>>()
    };
    let of = |values: &[Value], key: &str| {
        let found = values.iter().find(|line| line["key"] == key);
        let found = found.unwrap_or_else(|| panic!("{key}: {values:?}"));
        (found["value"].clone(), found["from"].as_str().expect("a text").to_owned())
    };
    let user = values(&[], &[]);
    assert_eq!(of(&user, "core.url").0, "ws://user");
    assert!(of(&user, "core.url").1.ends_with("user/agentwire/config.toml:3"));
    assert_eq!(of(&user, "serve.u.idle_timeout"), (json!(60), "default".into()));
    folder
        .write("agentwire.toml", &file("ws://project", "[limits]\nmax_open = 2\nper_minute = 2\n"));
    let project = values(&[], &[]);
    assert_eq!(of(&project, "core.url"), (json!("ws://project"), "agentwire.toml:3".into()));
    assert_eq!(of(&project, "limits.per_day").0, 1);
    let named = file(
        "ws://named",
        "[limits]\nmax_open = 3\n[serve.n]\ncommand = ['n']\nenv = { TOKEN = 'canary' }\n",
    );
    folder.write("named.toml", &named);
    for (args, environment) in
        [(&["named.toml"][..], &[][..]), (&[], &[("AGENTWIRE_CONFIG", "named.toml")])]
    {
        let all = values(args, environment);
        assert_eq!(of(&all, "core.url"), (json!("ws://named"), "named.toml:3".into()));
        assert_eq!(of(&all, "limits.max_open").0, 3);
        assert_eq!(of(&all, "limits.per_minute").0, 2);
        assert_eq!(of(&all, "limits.per_day").0, 1);
        // Services are those of one file.
        assert_eq!(all.last().expect("a line")["services"], json!(["n"]));
        assert!(!format!("{all:?}").contains("canary"));
    }
    let environment = [("AGENTWIRE_CORE", "wss://me:canary@host")];
    let all = values(&["named.toml"], &environment);
    assert_eq!(of(&all, "core.url"), (json!("wss://host"), "AGENTWIRE_CORE".into()));
    // The flag is the strongest: nobody is there.
    let states = ["serve", "--config", "named.toml", "--core", "ws://127.0.0.1:1"];
    folder.write("named.toml", &format!("version = 1\n{}", server("n", GOOD, "")));
    let output = folder.command(&states).env("AGENTWIRE_CORE", "ws://127.0.0.1:2").output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(text(&output.stderr).contains("127.0.0.1:1: "), "{output:?}");
}

#[test]
fn bad_services_are_named_and_do_not_spoil_a_good_one() {
    let folder = Folder::new("serve");
    let at = "http = '127.0.0.1:0'";
    let good = server("good", GOOD, &format!("{at}\nenv = {{ WORD = 'of-its-own' }}"));
    let hangs = server("hangs", HANGING, &format!("{at}\nidle_timeout = 1"));
    let never = server("never", "echo no disk >&2; exit 3", at);
    folder.write("all.toml", &format!("version = 1\n{good}{hangs}{never}"));
    let serving = Serving::start(&folder, &["serve", "--config", "all.toml"]);
    let place = serving.place("good");
    let answer = call(&place);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("of-its-own"), "{answer}");
    let status = serving.result(|line| line["kind"] == "status");
    let of = |name: &str| {
        let all = status["services"].as_array().expect("an array");
        let found = all.iter().find(|service| service["name"] == name).expect("it is named");
        (found["state"].as_str().expect("a text"), found["why"].as_str().unwrap_or_default())
    };
    assert_eq!(of("good"), ("served", ""));
    assert_eq!(of("hangs").0, "troubled");
    assert!(of("hangs").1.contains("tools/list"), "{status}");
    assert_eq!(of("never").0, "failed");
    assert!(of("never").1.contains("exit status: 3"), "{status}");
    assert!(call(&place).contains("of-its-own"));
    serving.signal(Signal::TERM);
    assert_eq!(serving.ends_with(), Some(0));

    // With nothing but bad ones, it ends as if each had been alone.
    folder.write("all.toml", &format!("version = 1\n{never}"));
    for args in [&["serve", "--config", "all.toml"][..], &["serve", "mcp", "--config", "all.toml"]]
    {
        let output = folder.run(args);
        assert_eq!(output.status.code(), Some(10), "{output:?}");
        assert!(text(&output.stderr).contains("never: no disk"), "{output:?}");
    }
    for args in [&["serve"][..], &["serve", "mcp"], &["serve", "mcp", "--legacy"]] {
        assert_eq!(folder.run(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_hangup_reads_the_configuration_again() {
    let folder = Folder::new("reload");
    let service = |name: &str, word: &str| {
        server(name, GOOD, &format!("http = '127.0.0.1:0'\nenv = {{ WORD = '{word}' }}"))
    };
    let write = |services: &[String]| {
        folder.write("agentwire.toml", &format!("version = 1\n{}", services.concat()));
    };
    write(&[service("same", "w1"), service("other", "w2"), service("gone", "w3")]);
    let serving = Serving::start(&folder, &["serve"]);
    let mut places: Vec<(String, String)> = Vec::new();
    while places.len() < 3 {
        let line = serving.result(|line| line["serving"] == "mcp");
        let part = |key: &str| line[key].as_str().expect("a text").to_owned();
        places.push((part("name"), part("at")));
    }
    let place = |name: &str| &places.iter().find(|(it, _)| it == name).expect("it is open").1;
    let before = call(place("same"));

    folder.write("agentwire.toml", "version = 1\n[serve.same]\nx = 1\n");
    serving.signal(Signal::HUP);
    serving.note("agentwire.toml:3:1: unknown key serve.same.x");
    serving.note("the old one stays");
    assert_eq!(call(place("same")).lines().last(), before.lines().last());
    assert!(call(place("gone")).contains("w3"));

    write(&[service("same", "w1"), service("other", "w4"), service("new", "w5")]);
    serving.signal(Signal::HUP);
    serving.note("2 ended, 2 started, 1 as before");
    let mut opened = Vec::new();
    while opened.len() < 2 {
        let line = serving.result(|line| line["serving"] == "mcp");
        let answer = call(line["at"].as_str().expect("a text"));
        let word = if line["name"] == "new" { "w5" } else { "w4" };
        assert!(answer.contains(word), "{line}: {answer}");
        opened.push(line["name"].as_str().expect("a text").to_owned());
    }
    opened.sort();
    assert_eq!(opened, ["new", "other"]);
    // The same process answers as before.
    assert_eq!(call(place("same")).lines().last(), before.lines().last());
    let gone = place("gone").strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
    assert!(TcpStream::connect(gone.expect("a place")).is_err());
    serving.signal(Signal::TERM);
    assert_eq!(serving.ends_with(), Some(0));
}

#[test]
fn bots_have_their_allow_lists_and_callers_their_servers() {
    let folder = Folder::new("bots");
    let cores = Serving::start(
        &folder,
        &["loopback", "--profile", "ann=127.0.0.1:0", "--profile", "bob=127.0.0.1:0"]
            .into_iter()
            .chain(["--profile", "one=127.0.0.1:0", "--profile", "two=127.0.0.1:0"])
            .collect::<Vec<_>>(),
    );
    let [ann, bob, one, two] = [(); 4].map(|()| {
        let line = cores.result(|line| line["url"].is_string());
        line["url"].as_str().expect("a text").to_owned()
    });
    let first = server("first", GOOD, &format!("core = '{one}'\nallow = ['@ann']"));
    let second = server("second", GOOD, "per_caller = 2");
    folder.write("c.toml", &format!("version = 1\n[core]\nurl = '{two}'\n{first}{second}"));
    let serving = Serving::start(&folder, &["serve", "--config", "c.toml"]);
    serving.result(|line| line["kind"] == "status");
    let called = |core: &str, bot: &str| {
        let args = ["call", "--core", core, "--to", bot, "--tool", "n", "--rpc", "never"];
        let output = folder.run(&args);
        let all = [&output.stdout[..], &output.stderr[..]].concat();
        (output.status.code(), String::from_utf8(all).expect("UTF-8"))
    };
    assert_eq!(called(&ann, "@one").0, Some(0));
    let (code, said) = called(&bob, "@one");
    assert!(code == Some(6) && said.contains("not_allowed"), "{code:?} {said}");
    let pid = |text: &str| text.trim().to_owned();
    let (of_ann, of_bob) = (called(&ann, "@two"), called(&bob, "@two"));
    assert_eq!((of_ann.0, of_bob.0), (Some(0), Some(0)), "{of_ann:?} {of_bob:?}");
    assert_ne!(pid(&of_ann.1), pid(&of_bob.1));
    assert_eq!(pid(&called(&ann, "@two").1), pid(&of_ann.1));
    serving.signal(Signal::TERM);
    assert_eq!(serving.ends_with(), Some(0));
}
