//! `agentwire inspect envelope`: a request or a response of Service RPC, its members and its size.

use agentwire_core::binding::{Place, ProtocolName};
use agentwire_core::json::{Object, Str, Value as Json};
use agentwire_core::rpc::{
    ADVISED_LEN, EnvelopeError, ErrorBody, Fit, Framing, NormalisedLen, RequestEnvelope,
    ResponseEnvelope, SignerKey,
};
use serde_json::{Value, json};

use super::{Call, call, call_json, point, verdict};
use crate::args::{EnvelopeArgs, EnvelopeKind};
use crate::exit::Failure;
use crate::output::Output;
use crate::terminal::escape;

/// The members that each schema names.
const REQUEST: [&str; 4] = ["protocol", "version", "requestKey", "request"];
const RESPONSE: [&str; 2] = ["response", "error"];

pub(super) fn run(args: &EnvelopeArgs, text: &str, output: &mut Output) -> Result<(), Failure> {
    let kind = args.kind.unwrap_or_else(|| kind_of(text));
    match kind {
        EnvelopeKind::Request => match RequestEnvelope::parse(text) {
            Ok(envelope) => request(&envelope, text, output),
            Err(error) => malformed("request", error, text, output),
        },
        EnvelopeKind::Response => match ResponseEnvelope::parse(text) {
            Ok(envelope) => response(&envelope, text, output),
            Err(error) => malformed("response", error, text, output),
        },
    }
}

/// What a text seems to be: a response names only members of one.
fn kind_of(text: &str) -> EnvelopeKind {
    let (mut of_request, mut of_response) = (false, false);
    let looked = Object::parse_with(text, |name, _| {
        of_request |= ["protocol", "request"].iter().any(|known| name == **known);
        of_response |= RESPONSE.iter().any(|known| name == **known);
    });
    if looked.is_ok() && of_response && !of_request {
        EnvelopeKind::Response
    } else {
        EnvelopeKind::Request
    }
}

fn malformed(
    kind: &str,
    error: EnvelopeError,
    text: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    if output.is_json() {
        output.json(&json!({
            "kind": "malformed",
            "as": kind,
            "offset": error.offset,
            "error": error.kind.to_string(),
        }))?;
    } else {
        output.line(format_args!("malformed {kind}: {error}"))?;
        point(text, error.offset, output)?;
    }
    verdict(false)
}

fn decoded(text: Str<'_>) -> String {
    text.chars().collect()
}

/// Where a value stands in the text.
fn place(text: &str, value: Json<'_>) -> (usize, usize) {
    let offset = value.get().as_ptr().addr().wrapping_sub(text.as_ptr().addr());
    (offset, value.get().len())
}

/// Members that the schema does not name: they are left alone.
fn others(text: &str, known: &[&str]) -> usize {
    let Ok(object) = Object::parse(text) else { return 0 };
    object.members().filter(|(name, _)| !known.iter().any(|known| *name == **known)).count()
}

/// The size of the whole as the core writes it.
struct Size {
    len: NormalisedLen,
    fits: Vec<(&'static str, Framing)>,
}

impl Size {
    fn new(text: &str, fits: Vec<(&'static str, Framing)>) -> Self {
        Self { len: Json::parse(text).map(NormalisedLen::of).unwrap_or_default(), fits }
    }

    fn json(&self) -> (Value, Value) {
        let fit = self.fits.iter().map(|(name, framing)| {
            let fit = match Fit::of_len(self.len, *framing) {
                Fit::Fine => "fine",
                Fit::Perhaps => "perhaps",
                Fit::TooLarge => "too_large",
            };
            ((*name).to_owned(), json!({"verdict": fit, "limit": framing.max_len()}))
        });
        let bytes = json!({"min": self.len.min, "max": self.len.max, "advised": ADVISED_LEN});
        (bytes, Value::Object(fit.collect()))
    }

    fn text(&self, output: &mut Output) -> Result<(), Failure> {
        let NormalisedLen { min, max, .. } = self.len;
        let bytes = if min == max { format!("{max}") } else { format!("{min} to {max}") };
        row(
            output,
            "size",
            &format!("{bytes} bytes as the core writes it, {ADVISED_LEN} advised"),
        )?;
        for (name, framing) in &self.fits {
            let fit = Fit::of_len(self.len, *framing);
            row(output, name, &format!("{fit} (at the very most {})", framing.max_len()))?;
        }
        Ok(())
    }

    /// Whether it fits in one of the ways at least.
    fn can_fit(&self) -> bool {
        self.fits.iter().any(|(_, framing)| Fit::of_len(self.len, *framing) != Fit::TooLarge)
    }
}

fn row(output: &mut Output, name: &str, value: &str) -> Result<(), Failure> {
    output.line(format_args!("{name:<11}{value}"))
}

fn request(envelope: &RequestEnvelope<'_>, text: &str, output: &mut Output) -> Result<(), Failure> {
    let protocol = decoded(envelope.protocol);
    let key = envelope.request_key.map(|key| SignerKey::parse(&decoded(key)));
    let (offset, bytes) = place(text, envelope.request);
    let others = others(text, &REQUEST);
    let mut fits = vec![("signed", Framing::SignedRequest)];
    if key.is_none() {
        // A request with requestKey has to be signed.
        fits.insert(0, ("unsigned", Framing::Request));
    }
    let size = Size::new(text, fits);
    let name = ProtocolName::new(&protocol);
    let call = name.map(|name| call(name, envelope.request.get(), Place::Direct, true));
    if output.is_json() {
        let (bytes_json, fit) = size.json();
        output.json(&json!({
            "kind": "request",
            "protocol": protocol,
            "isName": name.is_some(),
            // Its JSON text: a parser might round it.
            "version": envelope.version.map(|version| version.get()),
            "requestKey": key.map(|key| match key {
                Ok(_) => json!({"valid": true}),
                Err(error) => json!({"valid": false, "error": error.to_string()}),
            }),
            "request": {"offset": offset, "bytes": bytes},
            "otherMembers": others,
            "call": call.as_ref().map_or(Value::Null, call_json),
            "bytes": bytes_json,
            "fit": fit,
        }))?;
    } else {
        row(output, "request", &format!("{bytes} bytes from byte {offset}"))?;
        row(output, "protocol", &escape(&protocol))?;
        if name.is_none() {
            row(output, "", "no protocol can have this name")?;
        }
        if let Some(version) = envelope.version {
            row(output, "version", &escape(version.get()))?;
        }
        match key {
            Some(Ok(_)) => {
                row(output, "requestKey", "a key: the request has to be signed with it")?
            }
            Some(Err(error)) => row(output, "requestKey", &error.to_string())?,
            None => {}
        }
        if others > 0 {
            row(output, "others", &format!("members left alone: {others}"))?;
        }
        match &call {
            Some(Call::Accepted(request)) => {
                row(output, "method", &escape(request.method.raw()))?;
                row(output, "id", &escape(request.id.get()))?;
            }
            Some(Call::NeedsConversation) => {
                row(output, "refused", "it needs a conversation")?;
                row(output, "answer", "conversation_required")?;
            }
            Some(Call::Refused { sentence, answer }) => {
                row(output, "refused", sentence)?;
                row(output, "answer", &escape(answer))?;
            }
            Some(Call::Foreign) => {
                row(output, "", "a protocol of its own; only the envelope is looked at")?;
            }
            None => {}
        }
        size.text(output)?;
    }
    let is_accepted = matches!(call, Some(Call::Accepted(_) | Call::Foreign));
    verdict(is_accepted && !matches!(key, Some(Err(_))) && size.can_fit())
}

fn response(
    envelope: &ResponseEnvelope<'_>,
    text: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    let others = others(text, &RESPONSE);
    let size = Size::new(text, vec![("response", Framing::Response)]);
    if output.is_json() {
        let (bytes, fit) = size.json();
        let mut value = json!({
            "kind": "response",
            "otherMembers": others,
            "bytes": bytes,
            "fit": fit,
        });
        match envelope {
            ResponseEnvelope::Response(response) => {
                let (offset, bytes) = place(text, *response);
                value["response"] = json!({"offset": offset, "bytes": bytes});
            }
            ResponseEnvelope::Error(error) => {
                value["error"] = json!({
                    "code": decoded(error.code_text),
                    "known": error.code.name().is_some(),
                    "message": error.message.map(decoded),
                    "retryAfter": error.retry_after,
                    "final": is_final(error),
                });
            }
        }
        output.json(&value)?;
    } else {
        match envelope {
            ResponseEnvelope::Response(response) => {
                let (offset, bytes) = place(text, *response);
                row(output, "response", &format!("{bytes} bytes from byte {offset}"))?;
            }
            ResponseEnvelope::Error(error) => {
                let known = if error.code.name().is_some() { "" } else { ", an unknown code" };
                let code = decoded(error.code_text);
                row(output, "error", &format!("{}{known}", escape(&code)))?;
                if let Some(message) = error.message {
                    row(output, "message", &escape(&decoded(message)))?;
                }
                match error.retry_after {
                    Some(seconds) => row(output, "again", &format!("after {seconds} s"))?,
                    None if is_final(error) => row(output, "again", "no: it is final")?,
                    None => {}
                }
            }
        }
        if others > 0 {
            row(output, "others", &format!("members left alone: {others}"))?;
        }
        size.text(output)?;
    }
    verdict(size.can_fit())
}

/// "A requester treats an unknown code as final, unless the error has `retryAfter`."
fn is_final(error: &ErrorBody<'_>) -> bool {
    error.code.name().is_none() && error.retry_after.is_none()
}
