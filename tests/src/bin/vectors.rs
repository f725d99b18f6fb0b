//! Runs files of vectors: `vectors FILE…`.
//!
//! Prints one line for each case that fails and `N passed, N failed` at the end. The exit code is
//! 0 if all passed, 1 if a case failed or a file could not be used, 2 without a file.

use std::process::ExitCode;

fn main() -> ExitCode {
    let files: Vec<_> = std::env::args_os().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: vectors FILE…");
        return ExitCode::from(2);
    }
    let (mut passed, mut failed, mut unusable) = (0, 0, false);
    for file in &files {
        let name = file.display();
        let report = std::fs::read_to_string(file)
            .map_err(|error| error.to_string())
            .and_then(|text| agentwire_tests::vectors::run(&text).map_err(|e| e.to_string()));
        match report {
            Ok(report) => {
                passed += report.passed;
                failed += report.failures.len();
                for failure in &report.failures {
                    println!("{name}: {failure}");
                }
            }
            Err(error) => {
                unusable = true;
                println!("{name}: {error}");
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 && !unusable { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
