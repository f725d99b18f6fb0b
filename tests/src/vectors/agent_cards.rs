//! Signed A2A Agent Cards: `vectors` with a `card`, its `canonical` text in several forms and a
//! `signature` for each, made with the key of RFC 7515 appendix A.3 and the same `protected` header.
//!
//! Each form has its text; the card with the signature for it holds under the public key, for the
//! first form that has this text; and the private key makes the same signature again.

use agentwire_core::card::{Card, Form, KeySet, Refusal, SecretKey, Signer, Verifier, VerifyError};
use serde_json::{Map, Value, json};

use super::{Document, Format, Report, required};

pub(super) const FORMAT: Format = Format {
    name: "signed Agent Cards",
    mark: "an object with `vectors`, `jwk_public` and `protected`",
    matches: |document| document.has_members(&["vectors", "jwk_public", "protected"]),
    run,
};

/// What the file calls the forms.
const FORMS: [(&str, Form); 3] =
    [("spec_rule1", Form::Spec), ("spec_rule1_known", Form::Known), ("sdk_prune", Form::Pruned)];

/// The private part of the key, as RFC 7515 has it.
const D: &str = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI";

fn run(document: &Document) -> Report {
    let mut report = Report::default();
    let Document::Json(file) = document else { return report };
    for (index, vector) in file["vectors"].as_array().into_iter().flatten().enumerate() {
        let id = vector["id"].as_str().unwrap_or("without an id");
        let wrong = vector.as_object().ok_or("not an object".into()).and_then(|it| check(file, it));
        report.add(&format!("case {index}, {id}"), &wrong.unwrap_or_else(|error| vec![error]));
    }
    report
}

fn check(file: &Value, vector: &Map<String, Value>) -> Result<Vec<String>, String> {
    let mut jwk = file["jwk_public"].clone();
    let kid = jwk["kid"].as_str().ok_or("kid: missing")?.to_owned();
    let protected = file["protected"].as_str().ok_or("protected: missing")?;
    let keys = KeySet::from_jwks(&json!({"keys": [jwk]}).to_string());
    let keys = keys.map_err(|error| format!("jwk_public: {error}"))?;
    jwk["d"] = D.into();
    let key = SecretKey::from_jwk(&jwk.to_string()).map_err(|error| format!("key: {error}"))?;

    let card = vector.get("card").ok_or("card: missing")?;
    let text = card.to_string();
    let unsigned = Card::parse(&text).map_err(|error| format!("card: {error}"))?;
    let canonical = required(vector, "canonical", Value::as_object)?;
    let signatures = required(vector, "signature", Value::as_object)?;
    let mut wrong = Vec::new();
    for (name, form) in FORMS {
        let expected = required(canonical, name, Value::as_str)?;
        let signature = required(signatures, name, Value::as_str)?;
        let made = unsigned.canonical(form).map_err(|error| format!("{name}: {error}"))?;
        if made != expected {
            wrong.push(format!("{name}: is {made}"));
        }
        let signer = Signer::new(&key, &kid)
            .and_then(|it| it.jku("https://agent.example/.well-known/jwks.json"));
        let again = signer.and_then(|signer| signer.form(form).sign(&unsigned));
        let again = again.map_err(|error| format!("{name}: {error}"))?;
        if (again.protected(), again.signature()) != (protected, signature) {
            wrong.push(format!("{name}: another signature is made"));
        }
        let mut signed = card.clone();
        signed["signatures"] = json!([{"protected": protected, "signature": signature}]);
        let signed = signed.to_string();
        let signed = Card::parse(&signed).map_err(|error| format!("{name}: {error}"))?;
        let holds = |form| unsigned.canonical(form).is_ok_and(|text| text == expected);
        let first = Form::ALL.into_iter().find(|form| holds(*form));
        let verdict = match Verifier::pinned(&keys).verify(&signed) {
            Ok(verified) => Some((verified.form, true)),
            Err(VerifyError::Refused(refusals)) => match refusals[..] {
                [Refusal::Form(form)] => Some((form, false)),
                _ => None,
            },
            Err(_) => None,
        };
        if verdict != first.map(|form| (form, form.covers_all())) {
            wrong.push(format!("{name}: the signature holds for {verdict:?}, not {first:?}"));
        }
        if Verifier::pinned(&keys).accept_uncovering().verify(&signed).map(|it| it.payload)
            != Ok(expected.to_owned())
        {
            wrong.push(format!("{name}: something else is vouched for"));
        }
    }
    Ok(wrong)
}
