//! The programs that a row needs, and what they take.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A process that ends with its row.
#[derive(Debug)]
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("it starts"))
    }

    /// Megabytes of its own that are resident, without its children's.
    pub(crate) fn resident(&self) -> f64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap_or_default();
        let field = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes =
            field.and_then(|field| field.split_whitespace().next()?.parse::<f64>().ok());
        kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1_000.0)
    }

    /// The first line that it prints.
    pub(crate) fn line(&mut self, out: &mut BufReader<std::process::ChildStdout>) -> String {
        let mut line = String::new();
        out.read_line(&mut line).expect("it prints");
        assert!(!line.is_empty(), "{:?} prints nothing", self.0.try_wait());
        line.trim_end().to_owned()
    }

    pub(crate) fn output(&mut self) -> BufReader<std::process::ChildStdout> {
        BufReader::new(self.0.stdout.take().expect("piped"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Asked first, so that its own children end too.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        for _ in 0..200 {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(core::time::Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The program, built as its users have it; `AGENTWIRE` names another one.
pub(crate) fn agentwire() -> PathBuf {
    if let Some(path) = std::env::var_os("AGENTWIRE") {
        return path.into();
    }
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--package", "agentwire-tokio"])
        .current_dir(root())
        .status();
    assert!(built.is_ok_and(|status| status.success()), "the program is not built");
    // Beside the benchmark itself: target/release/deps/mcp_chain-*.
    let own = std::env::current_exe().expect("it has a path");
    own.ancestors().nth(2).expect("the folder of the profile").join("agentwire")
}

/// A program that `benches/peers/install` installed; `None` if it did not.
pub(crate) fn peer(name: &str, is_python: bool) -> Option<PathBuf> {
    let folder = if is_python { "venv/bin" } else { "node_modules/.bin" };
    let path = root().join("target/bench-peers").join(folder).join(name);
    path.exists().then_some(path)
}

/// A port that nobody listens on now.
pub(crate) fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it has one").port()
}

/// A quiet command with pipes for what it reads and prints.
pub(crate) fn piped(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}
