//! The program `agentwire` as a process.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::peers::root;

/// The program. It is built as the workspace's tests have built it (one of them is named because
/// tests have features of their own), so that next to nothing is left to do.
///
/// # Panics
/// If it cannot be built.
#[must_use]
pub fn agentwire() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let output = Command::new(cargo)
        .args(["build", "--workspace", "--locked", "--bin", "agentwire", "--test", "demo_mcp"])
        .args(["--features", "agentwire-tests/peers", "--message-format", "json"])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "the program is not built");
    let messages = String::from_utf8(output.stdout).expect("UTF-8");
    let path = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let executable = message["executable"].as_str().map(PathBuf::from);
        executable.filter(|_| message["target"]["name"] == "agentwire")
    });
    path.expect("cargo names the executable")
}

/// A process that ends with the test, and the lines that it prints.
#[derive(Debug)]
pub struct Running {
    /// The process.
    pub child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Starts it.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, lines }
    }

    /// The next line that it prints.
    ///
    /// # Panics
    /// If there is none.
    pub fn line(&mut self) -> String {
        self.lines.next().expect("a line").expect("UTF-8")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, or the test is over.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
