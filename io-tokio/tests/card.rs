//! `agentwire card` from outside.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const CARD: &str = r#"{
  "name": "Café",
  "description": "d",
  "version": "1",
  "supportedInterfaces": [
    {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
  ],
  "capabilities": {"streaming": true},
  "defaultInputModes": ["text/plain"],
  "defaultOutputModes": ["text/plain"],
  "skills": [{"id": "s", "name": "n", "description": "x", "tags": ["t"]}]
}"#;

const LINK: &str = "https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

/// A folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("card").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn card(folder: &Path, args: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentwire"))
        .current_dir(folder)
        .arg("card")
        .args(args)
        .env_remove("COLUMNS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    // A program that refuses its command line does not read.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).expect("UTF-8")
}

/// What it prints, of a run that must end with this exit code.
fn result(folder: &Path, args: &[&str], stdin: &str, code: i32) -> String {
    let output = card(folder, args, stdin);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

fn json(folder: &Path, args: &[&str], stdin: &str, code: i32) -> Value {
    let args = [args, &["--json"]].concat();
    serde_json::from_str(&result(folder, &args, stdin, code)).expect("JSON")
}

/// A folder with a private key and its set.
fn with_key(name: &str, kid: &str) -> PathBuf {
    let folder = folder(name);
    let jwks = result(&folder, &["key", "new", "key.pem", "--kid", kid], "", 0);
    fs::write(folder.join("keys.json"), jwks).expect("written");
    folder
}

#[test]
fn a_card_is_signed_verified_and_refused_once_it_is_changed() {
    let folder = with_key("signed", "2026-11");
    let signed = result(&folder, &["sign", "--key", "key.pem", "--kid", "2026-11"], CARD, 0);
    // The text stays, but for the signatures at its end.
    assert!(signed.starts_with(CARD.trim_end_matches("\n}")), "{signed}");
    let verified = result(&folder, &["verify", "--key", "keys.json"], &signed, 0);
    assert_eq!(verified, "verified   signature 0, by the key 2026-11\nform       spec\n");
    fs::write(folder.join("card.json"), &signed).expect("written");
    let verified = json(&folder, &["verify", "--key", "keys.json", "card.json"], "", 0);
    assert_eq!((&verified["verified"], &verified["kid"]), (&json!(true), &json!("2026-11")));

    let changed = signed.replace("a.example", "b.example");
    let refused = result(&folder, &["verify", "--key", "keys.json"], &changed, 6);
    assert!(
        refused.contains("refused    signature 0, by the key 2026-11: not the key's signature"),
        "{refused}"
    );
    let refused = json(&folder, &["verify", "--key", "keys.json"], &changed, 6);
    assert_eq!(refused["signatures"][0]["kid"], "2026-11");
    let unsigned = json(&folder, &["verify", "--key", "keys.json"], CARD, 6);
    assert_eq!(unsigned["error"], "the card is not signed");
}

#[test]
fn fetched_keys_count_on_the_cards_own_origin_alone() {
    let folder = with_key("fetched", "k");
    let jku = "https://a.example/keys.json";
    let sign = ["sign", "--key", "key.pem", "--kid", "k", "--jku", jku];
    let signed = result(&folder, &sign, CARD, 0);
    let verify = |url, code| {
        result(&folder, &["verify", "--jwks", "keys.json", "--url", url], &signed, code)
    };
    assert!(verify("https://a.example/.well-known/agent-card.json", 0).starts_with("verified"));
    assert!(verify("https://b.example/card", 6).contains("not on the card's own origin"));
    verify("http://a.example/card", 2);
    for wrong in ["http://a.example/keys.json", "https://a.example/keys.json#k", "keys.json"] {
        let output = card(&folder, &["sign", "--key", "key.pem", "--jku", wrong], CARD);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_card_on_which_verifiers_disagree_is_linted_and_signed_only_when_asked() {
    let folder = with_key("unclean", "k");
    let unclean = CARD.replace("\"d\"", "\"\"");
    let sign = ["sign", "--key", "key.pem", "--kid", "k"];
    let output = card(&folder, &sign, &unclean);
    assert_eq!(output.status.code(), Some(6));
    assert!(output.stdout.is_empty());
    assert!(text(&output.stderr).contains("agentwire card lint"), "{}", text(&output.stderr));

    let lint = result(&folder, &["lint"], &unclean, 6);
    assert!(lint.starts_with("description\n  empty: some forms drop it\n"), "{lint}");
    assert!(lint.contains("accepted   by agentwire, form spec\n"), "{lint}");
    assert!(lint.contains("refused    by @a2a-js/sdk 1.3, form pruned\n"), "{lint}");
    assert!(lint.lines().all(|line| line.chars().count() <= 80));
    assert!(!result(&folder, &["lint"], CARD, 0).contains("refused"));

    let both = [&sign[..], &["--form", "spec", "--form", "pruned"]].concat();
    let signed: Value = json(&folder, &both, &unclean, 0);
    assert_eq!(signed["signatures"].as_array().map(Vec::len), Some(2));
    let pruned = [&sign[..], &["--form", "pruned"]].concat();
    let pruned = result(&folder, &pruned, &unclean, 0);
    let refused = result(&folder, &["verify", "--key", "keys.json"], &pruned, 6);
    assert!(refused.contains("form pruned"), "{refused}");
    let verify = ["verify", "--key", "keys.json", "--any-form"];
    let verified = json(&folder, &verify, &pruned, 0);
    let canonical = result(&folder, &["canonical", "--form", "pruned"], &unclean, 0);
    assert_eq!(verified["payload"], canonical.as_str());
    assert!(result(&folder, &verify, &pruned, 0).contains("not covered"));
}

#[test]
fn canonical_prints_the_bytes_that_are_signed_and_no_more() {
    let folder = folder("canonical");
    let canonical = result(&folder, &["canonical"], CARD, 0);
    assert!(canonical.starts_with(r#"{"capabilities":{"streaming":true},"#), "{canonical}");
    assert!(canonical.ends_with(r#""version":"1"}"#) && canonical.contains("Café"));
    let again = json(&folder, &["canonical", "-"], &canonical, 0);
    assert_eq!((&again["canonical"], &again["form"]), (&json!(canonical), &json!("spec")));
    let twice = CARD.replace("\"skills\"", "\"n\\u0061me\": 1, \"skills\"");
    let malformed = result(&folder, &["canonical"], &twice, 6);
    assert!(
        malformed.starts_with("malformed: no canonical form: a member occurs twice"),
        "{malformed}"
    );
    let broken = result(&folder, &["lint"], "{\"name\": ]}", 6);
    assert!(broken.contains("malformed: byte 0x5d cannot stand here"), "{broken}");
    assert!(json(&folder, &["lint"], "{\"name\": ]}", 6)["offset"] == 9);
}

#[test]
fn the_simplex_interface_is_added_signed_and_found() {
    let folder = with_key("interface", "k");
    let sign = ["sign", "--key", "key.pem", "--kid", "k"];
    let signed = result(&folder, &sign, CARD, 0);
    let add = ["add-interface", "--link", LINK];
    let output = card(&folder, &add, &signed);
    assert!(text(&output.stderr).contains("signatures are dropped"));
    let added = text(&output.stdout);
    let expected = CARD.replace("\"1.0\"}\n", &format!(
        "\"1.0\"}},\n    {{\"url\":\"{LINK}\",\"protocolBinding\":\"https://simplex.chat/protocol/a2a/v1\",\"protocolVersion\":\"1.0\"}}\n"
    ));
    assert_eq!(added, format!("{expected}\n"));
    assert_eq!(result(&folder, &["link"], added, 0), format!("{LINK}\n"));
    result(&folder, &["link"], CARD, 6);

    let renew = [&add[..], &["--key", "key.pem", "--kid", "k"]].concat();
    let renewed = result(&folder, &renew, &signed, 0);
    let verified = result(&folder, &["verify", "--key", "keys.json"], &renewed, 0);
    assert!(verified.ends_with(&format!("simplex    {LINK}\n")), "{verified}");
    let group = LINK.replace("/a#", "/g#");
    let output = card(&folder, &["add-interface", "--link", &group], CARD);
    assert_eq!(output.status.code(), Some(6));
    assert!(text(&output.stderr).contains("a link to a group"));
}

#[test]
fn keys_are_made_once_kept_private_and_shown_in_every_format() {
    let folder = with_key("keys", "k");
    let pem = fs::read_to_string(folder.join("key.pem")).expect("a key");
    assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let mode = fs::metadata(folder.join("key.pem")).expect("a file").mode();
        assert_eq!(mode & 0o777, 0o600);
        let open = fs::Permissions::from_mode(0o644);
        fs::write(folder.join("open.pem"), &pem).expect("written");
        fs::set_permissions(folder.join("open.pem"), open).expect("set");
        let output = card(&folder, &["sign", "--key", "open.pem"], CARD);
        assert!(output.status.success() && text(&output.stderr).contains("others can read"));
    }
    assert_eq!(card(&folder, &["key", "new", "key.pem"], "").status.code(), Some(6));
    assert_eq!(fs::read_to_string(folder.join("key.pem")).expect("a key"), pem);

    let jwks = result(&folder, &["key", "show", "key.pem"], "", 0);
    let jwk = json(&folder, &["key", "show", "key.pem", "--as", "jwk"], "", 0);
    let set: Value = serde_json::from_str(&jwks).expect("JSON");
    assert_eq!(set["keys"][0], jwk);
    assert!(jwk["d"].is_null() && jwk["kid"].as_str().is_some_and(|kid| kid.len() == 43));
    let public = result(&folder, &["key", "show", "key.pem", "--as", "pem"], "", 0);
    fs::write(folder.join("public.pem"), &public).expect("written");
    assert_eq!(json(&folder, &["key", "show", "public.pem", "--as", "jwk"], "", 0), jwk);
    // A public key signs nothing, a private one is not handed round.
    assert_eq!(card(&folder, &["sign", "--key", "public.pem"], CARD).status.code(), Some(6));
    assert_eq!(card(&folder, &["verify", "--key", "key.pem"], CARD).status.code(), Some(6));
    assert_eq!(card(&folder, &["sign", "--key", "absent.pem"], CARD).status.code(), Some(2));
    assert_eq!(card(&folder, &["sign"], CARD).status.code(), Some(2));
    assert_eq!(card(&folder, &["verify"], CARD).status.code(), Some(2));
}

#[test]
fn what_a_card_says_does_not_act_on_a_terminal() {
    let folder = folder("escaped");
    let hostile = CARD.replace("\"skills\"", "\"\\u001b[2J\\u202e\": 1, \"skills\"");
    let lint = result(&folder, &["lint"], &hostile, 6);
    assert!(lint.contains("\\u{1b}[2J\\u{202e}") && !lint.contains('\u{1b}'), "{lint}");
}

#[test]
fn help_fits_its_lines() {
    let folder = folder("help");
    for args in [
        &["--help"][..],
        &["sign", "--help"],
        &["verify", "--help"],
        &["lint", "--help"],
        &["key", "--help"],
        &["key", "new", "--help"],
        &["key", "show", "--help"],
        &["canonical", "--help"],
        &["add-interface", "--help"],
        &["link", "--help"],
    ] {
        let help = result(&folder, args, "", 0);
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
        assert!(help.contains("Usage: agentwire card"), "{help}");
    }
}
