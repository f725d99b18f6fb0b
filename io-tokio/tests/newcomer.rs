//! The README's page for newcomers, step by step: the program stands in for chat cores, the example
//! is the bot, and somebody who has nothing but its address calls it.
#![cfg(unix)]

use core::time::Duration;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use agentwire_core::binding::Standard;
use agentwire_tokio::client::{CallOptions, Client};
use agentwire_tokio::link::Core;
use serde_json::Value;
use tokio::time::timeout;

const README: &str = include_str!("../../README.md");
const EXAMPLE: &str = include_str!("../examples/echo.rs");

struct Running(Child, BufReader<ChildStdout>);

impl Running {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self(child, output)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).expect("UTF-8");
        line.trim_end().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where cargo has put the example; it is built if only this test was asked for.
fn example() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_agentwire"));
    let path = program.with_file_name("examples").join("echo");
    if !path.exists() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "agentwire-tokio", "--example", "echo"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.expect("cargo runs").success());
    }
    path
}

#[tokio::test]
async fn a_newcomer_has_a_bot_that_answers() {
    let mut cores = Running::start(Command::new(env!("CARGO_BIN_EXE_agentwire")).args([
        "--json",
        "loopback",
        "--strangers",
        "--profile",
        "caller=127.0.0.1:0",
        "--profile",
        "bot=127.0.0.1:0",
    ]));
    let mut url = || {
        let line: Value = serde_json::from_str(&cores.line()).expect("JSON");
        line["url"].as_str().expect("a text").to_owned()
    };
    let (caller, bot) = (url(), url());
    let mut bot = Running::start(Command::new(example()).arg(bot));
    let address = bot.line();

    let called = async {
        let client = Client::connect(Core::new(caller)).await.expect("a client");
        let contact = client.connect_to(&address, false).await.expect("a contact");
        // The message that the README has a person send.
        let command = README.lines().find_map(|line| line.strip_prefix("/_call a2a "));
        let command = command.expect("the README has one");
        let call = client.call(Standard::A2A, contact, command, CallOptions::default());
        call.await.expect("sent").last().await.expect("an answer")
    };
    let reply = timeout(Duration::from_secs(60), called).await.expect("it comes in time");
    let reply: Value = serde_json::from_str(&reply.text).expect("JSON");
    assert_eq!(reply["result"]["message"]["parts"][0]["text"], "hello");
}

#[test]
fn the_readme_shows_the_example() {
    let (_, code) = EXAMPLE.split_once("\n\n").expect("it begins with its docs");
    assert!(README.contains(code), "the README shows another example");
}
