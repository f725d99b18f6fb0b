//! What stands beside every figure: the processor and the versions of the peers.

use std::fs;

/// The lock file the benchmarks were built with.
const LOCK: &str = include_str!("../../Cargo.lock");

/// The version of a package, as the lock file has it.
#[must_use]
pub fn version(package: &str) -> &'static str {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let rest = LOCK.split_once(&entry).map(|(_, rest)| rest);
    rest.and_then(|rest| rest.split_once('"')).map_or("?", |(version, _)| version)
}

/// The processor's name, where the system tells it.
#[must_use]
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.split(':').next().map(str::trim) == Some(name));
        line.and_then(|line| line.split_once(':')).map_or("?", |(_, value)| value.trim()).to_owned()
    };
    format!(
        "{}, family {} model {}, {}",
        field("model name"),
        field("cpu family"),
        field("model"),
        std::env::consts::ARCH
    )
}

/// Prints the processor and the versions of these packages.
pub fn print(packages: &[&str]) {
    println!("{}", processor());
    let named: Vec<String> =
        packages.iter().map(|package| format!("{package} {}", version(package))).collect();
    println!("{}", named.join(", "));
}
