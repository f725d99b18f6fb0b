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

fn service_signatures() -> String {
    std::fs::read_to_string(directory().join("service-rpc-signature.json")).expect("readable")
}

fn vectors(name: &str) -> String {
    std::fs::read_to_string(directory().join(name)).expect("readable")
}

/// The one failure of a file in which this was changed once.
fn failure(file: &str, from: &str, to: &str) -> String {
    let changed = file.replacen(from, to, 1);
    assert_ne!(changed, file, "{from}");
    let mut failures = run(&changed).expect("known").failures;
    assert_eq!(failures.len(), 1, "{from}: {failures:?}");
    failures.remove(0)
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
        // Schemas are not cases: `jtd.rs` has them. Folders have tests of their own.
        if path.is_dir() || path.to_str().is_some_and(|path| path.ends_with(".jtd.json")) {
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
    for (from, to, expected) in changes {
        let failure = failure(&chat_messages(), from, to);
        assert!(failure.contains(expected), "{expected}: {failure}");
    }
}

#[test]
fn canonical_json_has_80_cases() {
    assert_eq!(run(&vectors("jcs.json")).expect("known").passed, 80);
}

#[test]
fn each_expectation_of_canonical_json_is_checked() {
    let changes = [
        ("\"{\\\"a\\\":{},\\\"b\\\":[]}\"", "\"{}\"", "canonical: is {\"a\":{},\"b\":[]}"),
        ("\"reject\": true", "\"reject\": false, \"canonical\": \"\"", "refused, wrongly"),
        ("\"5e-324\"", "\"4e-324\"", "is 5e-324"),
        ("\"3ff0000000000000\"", "\"3ff000000000000z\"", "not hexadecimal"),
        ("\"3ff0000000000000\"", "\"3ff8000000000000\"", "is 1.5"),
    ];
    for (from, to, expected) in changes {
        let failure = failure(&vectors("jcs.json"), from, to);
        assert!(failure.contains(expected), "{expected}: {failure}");
    }
}

#[test]
fn the_signed_cards_have_10_cases() {
    assert_eq!(run(&vectors("a2a-cards.json")).expect("known").passed, 10);
}

#[test]
fn each_expectation_of_a_signed_card_is_checked() {
    let changes = [
        ("\"description\": \"\"", "\"description\": \"e\"", "spec_rule1: is {"),
        ("\"spec_rule1\": \"g5kF", "\"spec_rule1\": \"g5kG", "another signature is made"),
        ("\"spec_rule1\": \"g5kF", "\"spec_rule1\": \"g5kG", "holds for None, not Some(Spec)"),
        ("\"sdk_prune\": \"{", "\"sdk_prune\": \"[{", "something else is vouched for"),
    ];
    for (from, to, expected) in changes {
        let failure = failure(&vectors("a2a-cards.json"), from, to);
        assert!(failure.contains(expected), "{expected}: {failure}");
    }
}

#[test]
fn the_signed_requests_have_9_cases() {
    assert_eq!(run(&service_signatures()).expect("known").passed, 9);
    let good = directory().join("service-rpc-signature.json");
    assert_eq!(program(&[&good]), (Some(0), "9 passed, 0 failed\n".into()));
}

#[test]
fn each_expectation_of_a_signed_request_is_checked() {
    let changes = [
        ("\"105495522d", "\"105495522e", "another binding"),
        ("EIDfEfevy", "EIDfEfevz", "sign_key belongs to another signer_key"),
        ("EIDfEfevy", "EIDfEfevz", "another signature is made"),
        ("\"MC4CAQAwB", "\"MC4CAQAwC", "sign_key: not the DER structure of a key (byte 6)"),
        ("bl-Q=\"", "bl-Q\"", "signer_key is written differently"),
        ("bl-Q=\"", "bl-Qa\"", "signer_key: "),
        ("\"eae324", "\"eae325", "the signature is refused, wrongly"),
        ("\"signature_valid\": false", "\"signature_valid\": true", "the signature is refused"),
        ("\"signature_valid\": true", "\"signature_valid\": false", "the signature holds, wrongly"),
        ("\"requester_x448_hex\": \"bd", "\"requester_x448_hex\": \"be", "binding of the keys"),
        ("\"equal\"", "\"different\"", "requestKey: equal"),
        ("\"bad_request\"", "\"accept\"", "the responder's part is: bad_request"),
        ("\"ad_hex\": \"00", "\"ad_hex\": \"0", "another binding"),
        ("\"ad_hex\": \"00", "\"ad_hex\": \"0x", "ad_hex: not hexadecimal"),
        ("\"payload\"", "\"pay\"", "unknown member pay"),
        ("\"{\\\"protocol", "\"{\\\"Protocol", "payload: "),
    ];
    for (from, to, expected) in changes {
        let failure = failure(&service_signatures(), from, to);
        assert!(failure.contains(expected), "{expected}: {failure}");
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
    assert!(out.contains("unknown format; known: "), "{out}");
    assert!(out.contains("; encoded chat messages (an object with `limit`"), "{out}");
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
