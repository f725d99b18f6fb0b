//! `agentwire inspect signature`: whose a Service RPC request is.

use agentwire_core::rpc::RequestEnvelope;
use agentwire_core::rpc::sign::{KeyError, PublicKey, SessionBinding, VerifyError};
use serde_json::json;

use super::verdict;
use crate::args::{Bytes, SignatureArgs};
use crate::exit::{ExitCode, Failure};
use crate::output::Output;

/// What a responder makes of `requestKey`.
enum RequestKey {
    Absent,
    Equal,
    Different,
    /// There is one, and the request is not signed.
    Unsigned,
    Malformed(KeyError),
}

impl RequestKey {
    fn of(request: &RequestEnvelope<'_>, signer: Option<&PublicKey>) -> Self {
        match (request.request_key.map(PublicKey::parse_str), signer) {
            (None, _) => Self::Absent,
            (Some(Err(error)), _) => Self::Malformed(error),
            (Some(Ok(_)), None) => Self::Unsigned,
            (Some(Ok(key)), Some(signer)) if key == *signer => Self::Equal,
            (Some(Ok(_)), Some(_)) => Self::Different,
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::Absent => "absent: nothing to compare".into(),
            Self::Equal => "the signer's".into(),
            Self::Different => "another than the signer's".into(),
            Self::Unsigned => "named, but the request is not signed".into(),
            Self::Malformed(error) => format!("no key: {error}"),
        }
    }

    fn is_fine(&self) -> bool {
        matches!(self, Self::Absent | Self::Equal)
    }
}

/// Explains the request on standard input, whose bytes are those that were signed.
pub(super) fn run(args: &SignatureArgs, text: &str, output: &mut Output) -> Result<(), Failure> {
    let usage = |error: KeyError| Failure::new(ExitCode::Usage, format!("--signer-key: {error}"));
    let signer = args.signer_key.as_deref().map(PublicKey::parse).transpose().map_err(usage)?;
    let envelope = RequestEnvelope::parse(text);
    let request_key =
        envelope.as_ref().ok().map(|envelope| RequestKey::of(envelope, signer.as_ref()));
    let signature = check(args, signer.as_ref(), text.as_bytes());

    // A request with a bad signature never reaches a responder; one without a valid envelope or
    // with a key that is not the signer's gets an error.
    let outcome = match (&signature, &request_key) {
        (Some((_, Err(_))), _) => "not delivered",
        (_, Some(key)) if key.is_fine() => "accept",
        _ => "bad_request",
    };
    let key_sentence = request_key.as_ref().map(RequestKey::sentence);
    let hex = |binding: &SessionBinding| -> String {
        binding.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    };
    if output.is_json() {
        output.json(&json!({
            "outcome": outcome,
            "signer": signer.map(|key| key.to_string()),
            "binding": signature.as_ref().map(|(binding, _)| hex(binding)),
            "signatureValid": signature.as_ref().map(|(_, verdict)| verdict.is_ok()),
            "requestKey": key_sentence,
            "malformed": envelope.as_ref().err().map(ToString::to_string),
        }))?;
    } else {
        let mut row = |name: &str, value: &str| output.line(format_args!("{name:<11}{value}"));
        row("signer", &signer.map_or_else(|| "none".into(), |key| key.to_string()))?;
        if let Some((binding, verdict)) = &signature {
            row("binding", &hex(binding))?;
            let verdict = verdict.map_or_else(|error| error.to_string(), |()| "valid".into());
            row("signature", &verdict)?;
        }
        match (&key_sentence, &envelope) {
            (Some(sentence), _) => row("requestKey", sentence)?,
            (None, Err(error)) => row("malformed", &error.to_string())?,
            (None, Ok(_)) => {}
        }
        row("outcome", outcome)?;
    }
    verdict(outcome == "accept")
}

/// The session's binding and what the check of the signature gives, where both are given.
fn check(
    args: &SignatureArgs,
    signer: Option<&PublicKey>,
    payload: &[u8],
) -> Option<(SessionBinding, Result<(), VerifyError>)> {
    let (Bytes(ad), Bytes(signature)) = (args.ad.as_ref()?, args.signature.as_ref()?);
    let binding = SessionBinding::of_data(ad);
    Some((binding, signer?.verify_copy(&binding, payload, signature)))
}
