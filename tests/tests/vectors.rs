//! The vector files in `tests/vectors/`, and the program that runs such files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use agentwire_tests::vectors::{Unusable, run};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

fn chat_messages() -> String {
    std::fs::read_to_string(directory().join("simplex-messages.json")).expect("readable")
}

fn program(files: &[&Path]) -> (Option<i32>, String) {
    let Output { status, stdout, .. } =
        Command::new(env!("CARGO_BIN_EXE_vectors")).args(files).output().expect("runs");
    (status.code(), String::from_utf8(stdout).expect("UTF-8"))
}

/// A file of this content in the build's directory for temporary files.
fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("writable");
    path
}

#[test]
fn every_file_passes() {
    let mut files = 0;
    for entry in std::fs::read_dir(directory()).expect("a directory") {
        let path = entry.expect("an entry").path();
        // Schemas are not cases: `jtd.rs` has them.
        if path.to_str().is_some_and(|path| path.ends_with(".jtd.json")) {
            continue;
        }
        let report = run(&std::fs::read_to_string(&path).expect("readable")).expect("known");
        assert_eq!(report.failures, Vec::<String>::new(), "{}", path.display());
        assert_ne!(report.passed, 0, "{}", path.display());
        files += 1;
    }
    assert_ne!(files, 0);
}

#[test]
fn the_chat_messages_have_35_cases() {
    assert_eq!(run(&chat_messages()).expect("known").passed, 35);
    let good = directory().join("simplex-messages.json");
    assert_eq!(program(&[&good]), (Some(0), "35 passed, 0 failed\n".into()));
    assert_eq!(program(&[&good, &good]), (Some(0), "70 passed, 0 failed\n".into()));
}

#[test]
fn each_expectation_of_a_chat_message_is_checked() {
    let changes = [
        ("\"bytes\": 119", "\"bytes\": 120", "encoded has 119 bytes, not 120"),
        ("\"bytes\": 119", "\"bytes\": 120", "measured as 119 bytes, not 120"),
        ("7526fe39", "7526fe38", "sha256 is 7526fe39"),
        ("\"text\\\":\\\"hello\\\"", "\"text\\\":\\\"hallo\\\"", "encoded differs from byte 97 on"),
        ("\"accepted\": false", "\"accepted\": true", "refused, wrongly"),
        ("\"accepted\": true", "\"accepted\": false", "accepted, wrongly"),
        ("\"limit\": 15602", "\"limit\": 15610", "limit: is 15610, not 15602"),
        ("\"ttl\": 86400", "\"ttl\": \"86400\"", "ttl: of the wrong type"),
        ("\"ttl\": 86400", "\"tll\": 86400", "unknown member tll"),
        ("\"text\": \"hello\",", "", "text: missing"),
        ("[\n      \"x\",\n      15487\n     ]", "[\"x\", 1e300]", "text: a repetition"),
        ("15487\n", "99999999999\n", "text: longer than"),
    ];
    for (from, to, failure) in changes {
        let changed = chat_messages().replacen(from, to, 1);
        assert_ne!(changed, chat_messages(), "{from}");
        let report = run(&changed).expect("known");
        assert_eq!(report.failures.len(), 1, "{failure}: {:?}", report.failures);
        assert!(report.failures[0].contains(failure), "{failure}: {:?}", report.failures);
    }
}

#[test]
fn the_program_prints_a_line_for_each_failing_case() {
    let bad = file("bad.json", &chat_messages().replacen("\"bytes\": 119", "\"bytes\": 7", 1));
    let (code, out) = program(&[&bad]);
    assert_eq!(code, Some(1));
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains("case 0, plain text message: encoded has 119 bytes, not 7"));
    assert_eq!(lines[1], "34 passed, 1 failed");
}

#[test]
fn an_unknown_format_fails_and_names_the_known_ones() {
    assert_eq!(run("{\"limit\":1}").unwrap_err(), Unusable::UnknownFormat);
    assert_eq!(run("{\"a\":1}\n\n[]\n").unwrap_err(), Unusable::UnknownFormat);
    assert_eq!(run("{}\n{").unwrap_err(), Unusable::NotJson { line: 2 });
    let (code, out) = program(&[&file("unknown.json", "{\"limit\":1}")]);
    assert_eq!(code, Some(1));
    assert!(out.contains("unknown format; known: encoded chat messages (an object with `limit`"));
    assert!(out.ends_with("\n0 passed, 0 failed\n"));
}

#[test]
fn a_missing_file_fails_and_no_file_is_a_wrong_call() {
    let missing = Path::new(env!("CARGO_TARGET_TMPDIR")).join("missing.json");
    let (code, out) = program(&[&missing, &directory().join("simplex-messages.json")]);
    assert_eq!(code, Some(1));
    assert!(out.ends_with("\n35 passed, 0 failed\n"));
    assert_eq!(program(&[]), (Some(2), String::new()));
}
