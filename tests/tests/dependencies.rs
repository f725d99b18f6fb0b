//! What the crates stand on.

use std::process::Command;

/// The packages that a crate of the workspace is built from, by name.
fn tree_of(package: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", package, "--edges", "normal", "--prefix", "none"])
        .args(["--format", "{p}", "--all-features", "--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn the_blocking_crate_has_no_async_runtime() {
    let tree = tree_of("agentwire-blocking");
    assert!(tree.iter().any(|name| name == "agentwire-core"), "{tree:?}");
    for runtime in ["tokio", "futures", "futures-core", "async-std", "smol", "mio", "polling"] {
        assert!(!tree.iter().any(|name| name == runtime), "{runtime} in {tree:?}");
    }
    // The same question finds one where there is one.
    assert!(tree_of("agentwire-tokio").iter().any(|name| name == "tokio"));
}
