//! The README's commands for A2A, with an agent and a client made with the SDK of PyPI.

use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use agentwire_tests::peers::{program, root};
use agentwire_tests::program::{Running, agentwire};
use agentwire_tests::readme;
use serde_json::Value;

fn script(name: &str) -> Command {
    let mut command = Command::new(program("python"));
    command.arg(root().join("tests/peers").join(name)).stdin(Stdio::null());
    command
}

/// What the client gets from the agent at a URL, call by call.
fn results(url: &str) -> Vec<String> {
    let output = script("a2a_client.py").arg(url).stderr(Stdio::inherit()).output();
    let output = output.expect("the client runs");
    assert!(output.status.success(), "the client has failed at {url}");
    output.stdout.lines().map(|line| line.expect("UTF-8")).collect()
}

/// The URL of a chat core in a line that names it.
fn core(line: &str) -> String {
    let url = line.split_whitespace().find(|word| word.starts_with("ws://"));
    url.unwrap_or_else(|| panic!("no URL in: {line}")).to_owned()
}

/// The program, whose state is kept for this test alone.
struct Program {
    path: PathBuf,
    state: PathBuf,
}

impl Program {
    fn start(&self, words: &[String], more: &[&str]) -> Running {
        let mut command = Command::new(&self.path);
        command.args(words).args(more).env("XDG_STATE_HOME", &self.state).stdin(Stdio::null());
        Running::start(&mut command)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.state);
    }
}

#[test]
fn the_commands_of_the_readme_serve_an_agent_and_are_a_server_for_it() {
    let state = std::env::temp_dir().join(format!("agentwire-a2a-{}", std::process::id()));
    let agentwire = Program { path: agentwire(), state };
    let mut agent = Running::start(script("a2a_agent.py").stderr(Stdio::null()));
    let agent = (agent.line(), agent);
    let ports = [
        ("bot=127.0.0.1:5225", "bot=127.0.0.1:0"),
        ("caller=127.0.0.1:5226", "caller=127.0.0.1:0"),
    ];
    let mut loopback = agentwire.start(&readme::command("agentwire loopback", &ports), &[]);
    let (bot, caller) = (core(&loopback.line()), core(&loopback.line()));

    let words = [("https://agent.example", agent.0.as_str()), ("ws://127.0.0.1:5225", &bot)];
    let mut serve = agentwire.start(&readme::command("agentwire serve a2a", &words), &[]);
    let link = serve.line();

    let words = [("LINK", link.as_str()), ("ws://127.0.0.1:5226", &caller)];
    let words = readme::command("agentwire gateway a2a", &words);
    let mut gateway = agentwire.start(&words, &["--listen", "127.0.0.1:0"]);
    let url = gateway.line();
    let url = url.strip_suffix("/a2a").expect("the path of the interface");

    let card = format!("{url}/.well-known/agent-card.json");
    let there = "http://127.0.0.1:8080/.well-known/agent-card.json";
    let words = readme::command("curl", &[(there, &card)]);
    let shown = Command::new("curl").args(words).stderr(Stdio::null()).output().expect("it runs");
    let card: Value = serde_json::from_slice(&shown.stdout).expect("a card");
    assert_eq!(card["name"], "SDK agent");
    assert_eq!(card["supportedInterfaces"][0]["url"], format!("{url}/a2a"));

    let through = results(url);
    assert!(through.len() >= 30, "{through:?}");
    assert_eq!(through, results(&agent.0));
}
