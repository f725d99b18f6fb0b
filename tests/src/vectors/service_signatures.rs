//! Signed Service RPC requests: `cases` with `signer_key`, `ad_hex`, `payload` and a signature.
//!
//! For each case the binding to the session is `binding_hex`, the check with `signer_key` says
//! `signature_valid`, and `requestKey` of the payload compares as `request_key_check` says, so that
//! the responder does what `responder` says. A case with `sign_key` is signed again, and the keys
//! and the signature are the same.

use agentwire_core::rpc::RequestEnvelope;
use agentwire_core::rpc::sign::{HEADROOM, PublicKey, SecretKey, SessionBinding, X448_LEN};
use serde_json::{Map, Value};

use super::{Document, Format, Report, hex, optional, required};

pub(super) const FORMAT: Format = Format {
    name: "signed Service RPC requests",
    mark: "an object with `cases` that have `binding_hex`",
    matches: |document| match document {
        Document::Json(file) => file["cases"][0].get("binding_hex").is_some(),
        Document::Lines(_) => false,
    },
    run,
};

const MEMBERS: &[&str] = &[
    "description",
    "sign_key",
    "signer_key",
    "ad_hex",
    "payload",
    "binding_hex",
    "signature_hex",
    "signature_valid",
    "requester_x448_hex",
    "service_x448_hex",
    "responder",
    "request_key_check",
];

fn run(document: &Document) -> Report {
    super::run_cases(document, MEMBERS, check)
}

fn check(case: &Map<String, Value>) -> Result<Vec<String>, String> {
    let text = |name| required(case, name, Value::as_str);
    let bytes = |name| hex(text(name)?).ok_or_else(|| format!("{name}: not hexadecimal"));
    let signer_key = text("signer_key")?;
    let key = PublicKey::parse(signer_key).map_err(|error| format!("signer_key: {error}"))?;
    let payload = text("payload")?;
    let (ad, signature) = (bytes("ad_hex")?, bytes("signature_hex")?);
    let valid = required(case, "signature_valid", Value::as_bool)?;
    let binding = SessionBinding::of_data(&ad);

    let mut wrong = Vec::new();
    let mut demand = |held: bool, what: &str| {
        if !held {
            wrong.push(what.to_owned());
        }
    };
    demand(binding.as_bytes() == bytes("binding_hex")?.as_slice(), "another binding");
    demand(key.to_text().as_str() == signer_key, "signer_key is written differently");
    let bare = PublicKey::parse(signer_key.trim_end_matches('='));
    demand(bare == Ok(key), "signer_key differs without padding");

    if case.contains_key("requester_x448_hex") {
        let x448 = |name| {
            <[u8; X448_LEN]>::try_from(bytes(name)?).map_err(|_| format!("{name}: not 56 bytes"))
        };
        let keys = (x448("requester_x448_hex")?, x448("service_x448_hex")?);
        demand(SessionBinding::of_keys(&keys.0, &keys.1) == binding, "another binding of the keys");
    }
    if let Some(sign_key) = optional(case, "sign_key", Value::as_str)? {
        let secret = SecretKey::parse(sign_key).map_err(|error| format!("sign_key: {error}"))?;
        demand(secret.public() == key, "sign_key belongs to another signer_key");
        demand(secret.to_text().expose() == sign_key, "sign_key is written differently");
        let made = secret.sign(&binding, payload.as_bytes());
        demand(made == signature.as_slice(), "another signature is made");
    }
    let mut message = [&[0; HEADROOM], payload.as_bytes()].concat();
    let verdict = key.verify(&binding, &mut message, &signature);
    demand(
        verdict.is_ok() == valid,
        if valid { "the signature is refused, wrongly" } else { "the signature holds, wrongly" },
    );

    let envelope = RequestEnvelope::parse(payload).map_err(|error| format!("payload: {error}"))?;
    let (comparison, responder) = match envelope.request_key.map(PublicKey::parse_str) {
        None => ("no requestKey: nothing to compare", "accept"),
        Some(request_key) if request_key == Ok(key) => ("equal", "accept"),
        Some(_) => ("different", "bad_request"),
    };
    if let Some(expected) = optional(case, "request_key_check", Value::as_str)? {
        demand(comparison == expected, &format!("requestKey: {comparison}"));
    }
    let responder = if verdict.is_ok() { responder } else { "not delivered (bad signature)" };
    demand(responder == text("responder")?, &format!("the responder's part is: {responder}"));
    Ok(wrong)
}
