//! The SDKs' clients and agents: those of PyPI and npm as programs of `tests/peers`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use agentwire_tests::interop;
use agentwire_tests::peers::{folder, program, root};
use serde_json::Value;

use crate::rust;

/// A client or an agent made with an SDK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sdk {
    Python,
    Npm,
    Rust,
}

pub(crate) const AGENTS: [Sdk; 2] = [Sdk::Python, Sdk::Npm];
pub(crate) const CLIENTS: [Sdk; 3] = [Sdk::Python, Sdk::Npm, Sdk::Rust];

/// What a client has got for one of its calls.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Seen {
    pub(crate) call: String,
    /// The events one by one, a task, or an error.
    pub(crate) what: Value,
}

impl Seen {
    fn of(line: &str) -> Self {
        let mut value: Value = serde_json::from_str(line).expect("a line of JSON");
        let call = value["call"].as_str().expect("a name").to_owned();
        Self { call, what: value["seen"].take() }
    }

    /// What comes through a conversation of what comes directly from an agent made with an SDK.
    pub(crate) fn through(&self, agent: Sdk) -> Self {
        match agent.differs(&self.call) {
            Some(difference) => {
                Self { call: self.call.clone(), what: (difference.changed)(&self.what) }
            }
            None => self.clone(),
        }
    }
}

/// What differs between the agent itself and the agent through a conversation, and why.
pub(crate) struct Difference {
    pub(crate) why: &'static str,
    /// What comes through, of what comes directly.
    pub(crate) changed: fn(&Value) -> Value,
}

/// In a conversation, a task that waits for its caller ends the stream. An agent that shows the
/// task as it has been left before it goes on with it would end the stream at its first event, so
/// the proxy leaves that one out.
const SHOWN_BEFORE: Difference = Difference {
    why: "the agent first shows the task as the message before has left it; in a conversation that \
          would end the stream, so it is left out",
    changed: |events| events.as_array().expect("events").iter().skip(1).cloned().collect(),
};

impl Sdk {
    pub(crate) fn package(self) -> String {
        let name = match self {
            Self::Python => "a2a-sdk",
            Self::Npm => "@a2a-js/sdk",
            Self::Rust => "a2a-client-lf",
        };
        format!("{name} {}", interop::version(name))
    }

    /// What has to differ in what comes from an agent made with it.
    pub(crate) fn differs(self, call: &str) -> Option<&'static Difference> {
        match (self, call) {
            (Self::Npm, "a second message") => Some(&SHOWN_BEFORE),
            _ => None,
        }
    }

    /// A script made with it.
    fn script(self, name: &str) -> Command {
        let scripts = root().join("tests/peers");
        let mut command;
        match self {
            Self::Python => {
                command = Command::new(program("python"));
                command.arg(scripts.join(format!("{name}.py")));
            }
            Self::Npm => {
                command = Command::new("node");
                command.arg(scripts.join(format!("{name}.mjs"))).arg(folder());
            }
            Self::Rust => unreachable!("it is no script"),
        }
        command.stdin(Stdio::null());
        command
    }

    /// What a client made with it gets from the agent at a URL.
    pub(crate) async fn run(self, url: &str) -> Vec<Seen> {
        if self == Self::Rust {
            return rust::run(url).await;
        }
        let mut command = self.script("a2a_client");
        command.arg(url).stderr(Stdio::inherit());
        let output = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic");
        let output = output.expect("the client runs");
        assert!(output.status.success(), "the client of {self:?} has failed at {url}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines().map(Seen::of).collect()
    }
}

/// An agent made with an SDK, ended with the test.
pub(crate) struct Agent {
    child: Child,
    pub(crate) url: String,
}

impl Agent {
    pub(crate) fn start(sdk: Sdk) -> Self {
        let mut command = sdk.script("a2a_agent");
        // It logs each error that it answers with.
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the agent starts");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut url).expect("its URL");
        assert!(url.ends_with('\n'), "the agent of {sdk:?} has ended: {:?}", child.wait());
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
