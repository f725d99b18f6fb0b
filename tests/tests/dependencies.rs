//! What the crates stand on.

use std::process::Command;

/// The packages that a crate of the workspace is built from with these features, by name. What the
/// tests themselves are not built from may not be there to be looked at.
fn tree_of(package: &str, features: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", package, "--edges", "normal", "--prefix", "none"])
        .args(["--format", "{p}", features, "--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn the_blocking_crate_has_no_async_runtime() {
    let tree = tree_of("agentwire-blocking", "--all-features");
    assert!(tree.iter().any(|name| name == "agentwire-core"), "{tree:?}");
    for runtime in ["tokio", "futures", "futures-core", "async-std", "smol", "mio", "polling"] {
        assert!(!tree.iter().any(|name| name == runtime), "{runtime} in {tree:?}");
    }
    // The same question finds one where there is one.
    assert!(tree_of("agentwire-tokio", "--no-default-features").iter().any(|name| name == "tokio"));
}
