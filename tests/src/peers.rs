//! Programs from the Python and npm registries, as `tests/run` installs them.

use std::path::{Path, PathBuf};

/// The workspace's root.
pub fn root() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}

/// A program among the peers: in the folder that `AGENTWIRE_PEERS` names, or in `target/peers`.
///
/// # Panics
/// If it is not installed there.
pub fn program(name: &str) -> PathBuf {
    let peers = std::env::var_os("AGENTWIRE_PEERS").unwrap_or_else(|| "target/peers".into());
    let peers = root().join(peers);
    ["venv/bin", "bin", "node_modules/.bin"]
        .map(|folder| peers.join(folder).join(name))
        .into_iter()
        .find(|program| program.is_file())
        .unwrap_or_else(|| panic!("no {name} in {}", peers.display()))
}
