//! Answers to what is no request of the revision that is spoken.

use agentwire_core::json::{self, Object, Writer};
use agentwire_core::jsonrpc::{self, ErrorId, Id};
use agentwire_core::mcp::{REVISION, bridge, write_unsupported_version};

/// The answer to a text that is no request; `None` if it is one.
pub(crate) fn refusal(text: &str) -> Option<String> {
    let refused = bridge::refuse(text)?;
    Some(older(text).unwrap_or(refused.text))
}

/// The answer to a client that speaks an older revision, and so begins with `initialize`.
fn older(text: &str) -> Option<String> {
    let message = Object::parse(text).ok()?;
    if message.str("method").ok()?? != *"initialize" {
        return None;
    }
    let id = message.get("id").ok()??;
    let id = Id::parse(id.get()).map_or(ErrorId::Absent, |id| ErrorId::Known(id.get()));
    let params = message.object("params").ok().flatten();
    let requested = params.and_then(|params| params.get("protocolVersion").ok().flatten());
    let requested = requested.map_or("null", |version| version.get());
    let sentence =
        format!("this server speaks revision {REVISION} of MCP, which has no initialize");
    Some(json::to_text(|out| {
        write_unsupported_version(out, id, &sentence, [REVISION], requested);
    }))
}

/// An error response; `data` is JSON.
pub(crate) fn error(id: ErrorId<'_>, code: i64, message: &str, data: Option<&str>) -> String {
    json::to_text(|out| {
        let write = data.map(|data| {
            move |out: &mut Writer<'_>| {
                out.raw(data);
            }
        });
        let write = write.as_ref().map(|write| write as &dyn Fn(&mut Writer<'_>));
        jsonrpc::write_error(out, id, code, message, write);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_has_an_answer() {
        let answer = refusal("{").expect("an answer");
        assert!(answer.contains("-32700") && !answer.contains("\"id\""), "{answer}");
        let initialize = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
        let answer = refusal(initialize).expect("an answer");
        assert!(answer.contains("\"id\":7") && answer.contains("2026-07-28"), "{answer}");
        let without = refusal(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}}"#);
        assert!(without.expect("an answer").contains("\"id\":\"a\""));
        let whole = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        assert_eq!(refusal(whole), None);
    }
}
