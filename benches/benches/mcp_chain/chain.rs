//! The whole chain as processes: a gateway, two chat cores, a bridge, and the server behind it.

use std::io::BufReader;
use std::path::Path;
use std::process::{ChildStdout, Command};

use crate::load::Lines;
use crate::processes::{Running, piped};

/// The chain, and a client of its gateway. What was started last is dropped first.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) client: Lines,
    _processes: [Running; 3],
    _outputs: [BufReader<ChildStdout>; 2],
}

/// The way between gateway and bridge.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Way {
    Chat,
    ServiceRpc,
}

/// A state folder of its own for each chain, so that each call is a new one.
fn program(agentwire: &Path, state: &Path) -> Command {
    let mut command = piped(agentwire);
    command.env("XDG_STATE_HOME", state);
    command
}

impl Chain {
    pub(crate) fn start(agentwire: &Path, fixture: &Path, way: Way) -> Self {
        let state =
            std::env::temp_dir().join(format!("agentwire-bench-{}-{way:?}", std::process::id()));
        let mut cores = Running::start(program(agentwire, &state).args([
            "--json",
            "loopback",
            "--profile",
            "bot=127.0.0.1:0",
            "--profile",
            "caller=127.0.0.1:0",
            "--contact",
            "caller:bot",
        ]));
        let mut out = cores.output();
        let mut url = || {
            let line = cores.line(&mut out);
            let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            line["url"].as_str().expect("a URL").to_owned()
        };
        let (bot, caller) = (url(), url());
        // The pipes stay open for as long as the programs may write to them.
        let cores_out = out;

        let mut serving = Running::start(
            program(agentwire, &state)
                .args(["serve", "mcp", "--core", &bot, "--"])
                .arg(fixture)
                .arg(crate::FIXTURE),
        );
        let mut out = serving.output();
        let link = serving.line(&mut out);

        let to = match way {
            Way::Chat => "@bot",
            Way::ServiceRpc => &link,
        };
        let mut gateway = Running::start(
            program(agentwire, &state)
                .args(["gateway", "mcp", "--core", &caller, "--approve", "never"])
                .args(["--transparent", to]),
        );
        let client = Lines::new(&mut gateway.0);
        Self { client, _processes: [gateway, serving, cores], _outputs: [cores_out, out] }
    }
}
