//! Encoded chat messages: `limit` and `cases`.
//!
//! Each case is encoded and measured, independently of each other, and both must give its `bytes`;
//! the encoded text must have its `sha256` and, where it is given, be its `encoded`; and the size
//! accounting must accept it exactly when `accepted` says so.

use agentwire_core::chat::encode::{WireMessage, WireQuote, encode};
use agentwire_core::chat::size::{MAX_ENCODED_MSG_LEN, Mention};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{Document, Format, Report, optional, required};

pub(super) const FORMAT: Format = Format {
    name: "encoded chat messages",
    mark: "an object with `limit` and `cases`",
    matches: |document| document.has_members(&["limit", "cases"]),
    run,
};

/// The most bytes that a repeated text may have.
const MAX_TEXT: usize = 1 << 26;

const MEMBERS: &[&str] = &[
    "description",
    "v",
    "msgId",
    "text",
    "mentions",
    "quote",
    "live",
    "ttl",
    "forward",
    "asGroup",
    "scope",
    "encoded",
    "sha256",
    "bytes",
    "accepted",
];

fn run(document: &Document) -> Report {
    let mut report = Report::default();
    let Document::Json(file) = document else { return report };
    let limit = file["limit"].as_u64();
    if limit != Some(MAX_ENCODED_MSG_LEN as u64) {
        report.add("limit", &[format!("is {}, not {MAX_ENCODED_MSG_LEN}", file["limit"])]);
    }
    report.extend(super::run_cases(document, MEMBERS, check));
    report
}

/// What is wrong with the result of a case, or why the case itself cannot be read.
fn check(case: &Map<String, Value>) -> Result<Vec<String>, String> {
    let text = repeated(case, "text")?;
    let quote = optional(case, "quote", Value::as_object)?;
    let quoted = quote.map(|quote| repeated(quote, "text")).transpose()?;
    let mentions: Vec<Mention<'_>> = match optional(case, "mentions", Value::as_object)? {
        None => Vec::new(),
        Some(map) => map
            .iter()
            .map(|(name, id)| Some(Mention::new(name, id.as_str()?)))
            .collect::<Option<_>>()
            .ok_or("mentions: a memberId is not a string")?,
    };

    let mut message = WireMessage::new(required(case, "msgId", Value::as_str)?, &text);
    message.version = required(case, "v", Value::as_str)?;
    message.mentions = &mentions;
    if let (Some(quote), Some(quoted)) = (quote, &quoted) {
        let mut wire = WireQuote::new(
            quoted,
            required(quote, "msgId", Value::as_str)?,
            required(quote, "sentAt", Value::as_str)?,
        );
        wire.sent = required(quote, "sent", Value::as_bool)?;
        wire.member_id = optional(quote, "memberId", Value::as_str)?;
        message.quote = Some(wire);
    }
    message.live = optional(case, "live", Value::as_bool)?.unwrap_or(false);
    message.ttl = optional(case, "ttl", Value::as_u64)?;
    message.forward = optional(case, "forward", Value::as_bool)?.unwrap_or(false);
    message.as_group = optional(case, "asGroup", Value::as_bool)?.unwrap_or(false);
    if let Some(scope) = optional(case, "scope", Value::as_object)? {
        if scope.get("type").and_then(Value::as_str) != Some("member") {
            return Err("scope: not of type member".into());
        }
        message.member_scope = Some(required(scope, "memberId", Value::as_str)?);
    }

    let bytes = required(case, "bytes", Value::as_u64)?;
    let accepted = required(case, "accepted", Value::as_bool)?;
    let encoded = encode(&message);
    let mut wrong = Vec::new();
    if let Some(expected) = optional(case, "encoded", Value::as_str)?
        && encoded != expected
    {
        let same = encoded.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
        wrong.push(format!("encoded differs from byte {same} on"));
    }
    if let Some(expected) = optional(case, "sha256", Value::as_str)? {
        let actual: String =
            Sha256::digest(&encoded).iter().map(|byte| format!("{byte:02x}")).collect();
        if actual != expected {
            wrong.push(format!("sha256 is {actual}, not {expected}"));
        }
    }
    if encoded.len() as u64 != bytes {
        wrong.push(format!("encoded has {} bytes, not {bytes}", encoded.len()));
    }
    let measured = message.shape().encoded_len(&text);
    if measured as u64 != bytes {
        wrong.push(format!("measured as {measured} bytes, not {bytes}"));
    }
    if message.shape().check(&text).is_ok() != accepted {
        wrong.push(format!("{}, wrongly", if accepted { "refused" } else { "accepted" }));
    }
    Ok(wrong)
}

/// A text: a string, or `{"repeat": [[string, count], …]}`.
fn repeated(object: &Map<String, Value>, name: &str) -> Result<String, String> {
    let value = required(object, name, Some)?;
    if let Some(text) = value.as_str() {
        return Ok(text.into());
    }
    let parts = value.get("repeat").and_then(Value::as_array);
    let mut text = String::new();
    for part in parts.ok_or_else(|| format!("{name}: neither a string nor a repetition"))? {
        let (unit, count) = part
            .as_array()
            .and_then(|pair| match pair.as_slice() {
                [unit, count] => Some((unit.as_str()?, usize::try_from(count.as_u64()?).ok()?)),
                _ => None,
            })
            .ok_or_else(|| format!("{name}: a repetition is not a pair of string and count"))?;
        if unit.len().saturating_mul(count).saturating_add(text.len()) > MAX_TEXT {
            return Err(format!("{name}: longer than {MAX_TEXT} bytes"));
        }
        text.push_str(&unit.repeat(count));
    }
    Ok(text)
}
