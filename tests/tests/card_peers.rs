//! Agent Cards signed and verified by the official SDKs, PyPI `a2a-sdk` and npm `@a2a-js/sdk`,
//! against ours in both directions.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use agentwire_core::card::{
    Card, Form, KeySet, Lint, Refusal, SecretKey, Signer, VERIFIERS, Verifier, VerifyError,
};
use agentwire_tests::interop;
use agentwire_tests::peers::{folder, program, root};
use serde_json::{Value, json};

const KID: &str = "k1";

/// Their private key, and ours: the key of RFC 7515 appendix A.3.
fn private() -> Value {
    json!({
        "kty": "EC", "crv": "P-256", "kid": KID,
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
    })
}

fn key() -> SecretKey {
    SecretKey::from_jwk(&private().to_string()).expect("a key")
}

fn keys() -> KeySet {
    let mut keys = KeySet::new();
    keys.add(key().public(), Some(KID)).expect("room");
    keys
}

/// An SDK that signs and verifies, behind one of `tests/peers/cards.*`.
struct Sdk {
    /// As [`VERIFIERS`] has it.
    name: &'static str,
    child: Child,
    tasks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Sdk {
    fn both() -> [Self; 2] {
        let scripts = root().join("tests/peers");
        let mut python = Command::new(program("python"));
        python.arg(scripts.join("cards.py"));
        let mut node = Command::new("node");
        node.arg(scripts.join("cards.mjs")).arg(folder());
        [Self::start("a2a-sdk 1.3 (Python)", python), Self::start("@a2a-js/sdk 1.3", node)]
    }

    fn start(name: &'static str, mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the peer runs");
        let tasks = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        assert!(VERIFIERS.iter().any(|verifier| verifier.name == name));
        Self { name, child, tasks, answers }
    }

    fn ask(&mut self, task: &Value) -> Value {
        writeln!(self.tasks, "{task}").expect("the peer reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the peer writes");
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{}: {answer}", self.name))
    }

    fn sign(&mut self, card: &Value) -> Value {
        let header = json!({"alg": "ES256", "typ": "JOSE", "kid": KID});
        let task = json!({"do": "sign", "card": card, "key": private(), "header": header});
        self.ask(&task)["card"].take()
    }

    fn verifies(&mut self, card: &Value) -> bool {
        let mut public = private();
        public.as_object_mut().expect("an object").remove("d");
        let task = json!({"do": "verify", "card": card, "keys": {KID: public}});
        self.ask(&task)["verified"].as_bool().expect("a verdict")
    }

    fn canonical(&mut self, card: &Value) -> String {
        self.ask(&json!({"do": "canonical", "card": card}))["canonical"]
            .as_str()
            .expect("a text")
            .to_owned()
    }
}

impl Drop for Sdk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A card on which all forms agree, with something of everything.
fn clean() -> Value {
    json!({
        "name": "Café \u{1f600}", "description": "line\u{2028}two \"quoted\"", "version": "1.0.0",
        "provider": {"url": "https://a.example", "organization": "A"},
        "supportedInterfaces": [
            {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY",
             "protocolBinding": "https://simplex.chat/protocol/a2a/v1", "protocolVersion": "1.0"},
        ],
        "capabilities": {
            "streaming": true, "pushNotifications": false,
            "extensions": [{"uri": "urn:x", "required": true, "params": {
                "\u{ff01}": 1, "\u{1f600}": 0.000001, "big": 1e21, "no": false, "deep": [[{"a": 1.5}]],
            }}],
        },
        "securitySchemes": {
            "o": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://a.example/oidc"}},
            "b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
        },
        "securityRequirements": [{"schemes": {"o": {"list": ["read"]}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "n", "description": "x", "tags": ["t"], "examples": ["e"]}],
        "iconUrl": "https://a.example/icon.png",
    })
}

/// Cards on which the SDKs and the specification disagree, by what is wrong with them.
fn unclean() -> Vec<(&'static str, Value)> {
    let with = |pointer: &str, value: Value| {
        let mut card = clean();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        card.pointer_mut(parent).expect("the card has it")[name] = value;
        card
    };
    vec![
        ("an empty description", with("/description", json!(""))),
        ("no skills", with("/skills", json!([]))),
        ("no capability said", with("/capabilities", json!({}))),
        ("an empty icon", with("/iconUrl", json!(""))),
        ("no scopes", with("/securityRequirements", json!([{"schemes": {"b": {"list": []}}}]))),
        ("mTLS without a word", with("/securitySchemes/m", json!({"mtlsSecurityScheme": {}}))),
        ("an empty value in params", with("/capabilities/extensions/0/params/x", json!([""]))),
        ("null in params", with("/capabilities/extensions/0/params/x", json!(null))),
        ("a member of 0.3", with("/preferredTransport", json!("JSONRPC"))),
    ]
}

fn ours(card: &Value, form: Option<Form>) -> Value {
    let text = card.to_string();
    let (card, key) = (Card::parse(&text).expect("a card"), key());
    let signer = Signer::new(&key, KID).expect("a kid");
    let signer = form.map_or(signer.clone(), |form| signer.form(form));
    let signature = signer.sign(&card).expect("signed");
    serde_json::from_str(&card.with_signatures(&[signature], false)).expect("JSON")
}

/// A table of the documentation, whose first column stands before these.
fn table(first: &str, columns: &[&str], rows: &[(&str, Vec<String>)]) -> String {
    let mut text = format!("| {first} | {} |\n|---|", columns.join(" | "));
    text.push_str(&"---|".repeat(columns.len()));
    for (name, cells) in rows {
        text.push_str(&format!("\n| {name} | {} |", cells.join(" | ")));
    }
    text
}

const fn verdict(verified: bool) -> &'static str {
    if verified { "verifies" } else { "refused" }
}

#[test]
fn clean_cards_verify_whoever_signs_and_whoever_checks() {
    let text = clean().to_string();
    let card = Card::parse(&text).expect("a card");
    assert!(Lint::of(&card).expect("a form").findings.is_empty());
    let mut sdks = Sdk::both();
    let mut signed = vec![("agentwire", ours(&clean(), None))];
    for sdk in &mut sdks {
        assert_eq!(sdk.canonical(&clean()), card.canonical(Form::Spec).expect("a form"));
        signed.push((sdk.name, sdk.sign(&clean())));
    }
    let mut rows = Vec::new();
    for (signer, signed) in signed {
        let mut row = vec![verdict(true).to_owned()];
        let mut changed = signed.clone();
        changed["skills"][0]["description"] = json!("another");
        let verify = |card: &Value| {
            let text = card.to_string();
            let card = Card::parse(&text).expect("a card");
            Verifier::pinned(&keys()).verify(&card).map(|verified| verified.form)
        };
        assert_eq!(verify(&signed), Ok(Form::Spec), "{signer}");
        assert_eq!(verify(&changed), Err(VerifyError::Refused(vec![Refusal::Invalid])));
        for sdk in &mut sdks {
            let verified = sdk.verifies(&signed);
            assert!(verified, "{signer} by {}", sdk.name);
            assert!(!sdk.verifies(&changed), "{signer} by {}", sdk.name);
            row.push(verdict(verified).to_owned());
        }
        rows.push((signer, row));
    }
    let columns = ["agentwire", sdks[0].name, sdks[1].name];
    interop::check("signatures", &table("signed by", &columns, &rows));
}

#[test]
fn the_lint_says_which_verifiers_refuse_a_card() {
    let mut sdks = Sdk::both();
    let mut rows: Vec<_> = unclean().iter().map(|(what, _)| (*what, Vec::new())).collect();
    for sdk in &mut sdks {
        for ((what, card), (_, row)) in unclean().into_iter().zip(&mut rows) {
            let text = card.to_string();
            let parsed = Card::parse(&text).expect("a card");
            let lint = Lint::of(&parsed).expect("a form");
            assert!(!lint.findings.is_empty(), "{what}");
            assert_eq!(
                sdk.canonical(&card),
                parsed.canonical(Form::Pruned).expect("a form"),
                "{what}"
            );
            for form in [Form::Spec, Form::Pruned] {
                let refused = lint.refusing(form).any(|verifier| verifier.name == sdk.name);
                let verified = sdk.verifies(&ours(&card, Some(form)));
                assert_eq!(verified, !refused, "{what}, {form}, {}", sdk.name);
                row.push(verdict(verified).to_owned());
            }
        }
    }
    let names = sdks.each_ref().map(|sdk| sdk.name);
    let columns =
        names.map(|name| [Form::Spec, Form::Pruned].map(|form| format!("{form}, {name}")));
    let columns: Vec<_> = columns.iter().flatten().map(String::as_str).collect();
    interop::check("forms", &table("a card with", &columns, &rows));
}

#[test]
fn what_the_sdks_sign_of_unclean_cards_is_recognised_and_taken_only_when_asked() {
    let mut sdks = Sdk::both();
    let mut rows: Vec<_> = unclean().iter().map(|(what, _)| (*what, Vec::new())).collect();
    for sdk in &mut sdks {
        for ((what, card), (_, row)) in unclean().into_iter().zip(&mut rows) {
            let signatures = sdk.sign(&card)["signatures"].take();
            let mut served = card.clone();
            served["signatures"] = signatures;
            let text = served.to_string();
            let served = Card::parse(&text).expect("a card");
            match Verifier::pinned(&keys()).verify(&served) {
                Err(VerifyError::Refused(refusals)) => {
                    let known = served.canonical(Form::Known) == served.canonical(Form::Pruned);
                    let form = if known { Form::Known } else { Form::Pruned };
                    assert_eq!(refusals, [Refusal::Form(form)], "{what}, {}", sdk.name);
                    row.push(format!("{form}"));
                }
                other => panic!("{what}, {}: {other:?}", sdk.name),
            }
            let keys = keys();
            let asked = Verifier::pinned(&keys).accept_uncovering().verify(&served);
            assert_eq!(asked.map(|it| it.payload), Ok(sdk.canonical(&card)), "{what}");
        }
    }
    let names = sdks.each_ref().map(|sdk| sdk.name);
    interop::check("recognised", &table("a card with", &names, &rows));
}
