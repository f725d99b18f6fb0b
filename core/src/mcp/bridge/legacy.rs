//! Servers of the revisions before 2026-07-28, which begin with a handshake and know no envelope.
//!
//! ```text
//!   bridge ── server/discover ──────────▶ server      an error, or nothing: an older one
//!   bridge ── initialize ───────────────▶ server
//!   bridge ◀── result: capabilities ───── server
//!   bridge ── notifications/initialized ▶ server      once, for all callers
//! ```
//!
//! Requests then go out without the members of `_meta` that the handshake stands for, and results
//! come back completed. What such a server asks of a client, which no later one does, is declined.

use alloc::string::String;

use super::text::{at, push_compact, push_name, push_string, push_written};
use crate::json::Object;
use crate::jsonrpc::{self, ErrorId};
use crate::mcp::PROGRESS_TOKEN;

/// The revision that the handshake asks for: the last one with a handshake.
pub(super) const LAST_REVISION: &str = "2025-11-25";

/// The prefix of the envelope's members.
const ENVELOPE: &str = "io.modelcontextprotocol/";

/// The line that begins the handshake.
pub(super) fn initialize(key: u64, name: &str, version: &str) -> String {
    let mut out = alloc::format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{key},\"method\":\"initialize\",\"params\":{{\
         \"protocolVersion\":\"{LAST_REVISION}\",\"capabilities\":{{}},\"clientInfo\":{{\"name\":"
    );
    push_string(&mut out, name);
    out.push_str(",\"version\":");
    push_string(&mut out, version);
    out.push_str("}}}");
    out
}

/// The line that ends it.
pub(super) const INITIALIZED: &str =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

/// Appends the parameters of a request as an older server knows them, with our progress token.
pub(super) fn push_params(out: &mut String, params: Object<'_>, key: u64) {
    out.push('{');
    let mut is_first = true;
    for (name, value) in params.members() {
        let Some(meta) = value.as_object().filter(|_| name == *"_meta") else {
            push_name(out, &mut is_first, name.get());
            push_compact(out, value.get());
            continue;
        };
        let has_prefix = |name: crate::json::Str<'_>| {
            let mut chars = name.chars();
            ENVELOPE.chars().all(|expected| chars.next() == Some(expected))
        };
        let mut left = meta.members().filter(|(name, _)| !has_prefix(*name)).peekable();
        if left.peek().is_none() {
            continue;
        }
        push_name(out, &mut is_first, name.get());
        out.push('{');
        let mut is_first = true;
        for (name, value) in left {
            push_name(out, &mut is_first, name.get());
            if name == *PROGRESS_TOKEN {
                out.push_str(&alloc::format!("{key}"));
            } else {
                push_compact(out, value.get());
            }
        }
        out.push('}');
    }
    out.push('}');
}

/// The result of `server/discover` that the result of `initialize` stands for.
pub(super) fn discovered(initialized: Object<'_>) -> String {
    let mut out = String::from("{\"resultType\":\"complete\",\"supportedVersions\":[\"");
    out.push_str(crate::mcp::REVISION);
    out.push_str("\"],\"capabilities\":");
    match at(initialized, &["capabilities"]).and_then(|value| value.as_object()) {
        Some(capabilities) => push_compact(&mut out, capabilities.get_text()),
        None => out.push_str("{}"),
    }
    if let Some(text) = at(initialized, &["instructions"]).and_then(|value| value.as_str()) {
        out.push_str(",\"instructions\":");
        out.push_str(text.get());
    }
    let info = at(initialized, &["serverInfo"]).and_then(|value| value.as_object());
    if let Some(info) = info.filter(|info| is_implementation(*info)) {
        out.push_str(",\"_meta\":{\"");
        out.push_str(crate::mcp::META_SERVER_INFO);
        out.push_str("\":");
        push_compact(&mut out, info.get_text());
        out.push('}');
    }
    out.push_str(",\"ttlMs\":0,\"cacheScope\":\"private\"}");
    out
}

fn is_implementation(info: Object<'_>) -> bool {
    ["name", "version"].iter().all(|name| matches!(info.str(name), Ok(Some(_))))
}

/// The code of this revision for one of an older server: what has no meaning any more becomes what
/// has it now (basic, Error Codes).
pub(super) const fn code(code: i64) -> i64 {
    match code {
        // A resource that is not there.
        -32002 => jsonrpc::INVALID_PARAMS,
        -32099..=-32020 => jsonrpc::INTERNAL_ERROR,
        other => other,
    }
}

/// What is answered to a request of the server: its ping, and no to the rest.
pub(super) fn answer(id: &str, method: crate::json::Str<'_>) -> String {
    if method == *"ping" {
        alloc::format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")
    } else {
        let mut out = String::new();
        push_written(&mut out, |writer| {
            let id = ErrorId::Known(id);
            jsonrpc::write_error(writer, id, jsonrpc::METHOD_NOT_FOUND, "no such method", None);
        });
        out
    }
}

/// The revision that the server chose, if it is short enough to be one.
pub(super) fn chosen(initialized: Object<'_>) -> Option<&str> {
    let version = at(initialized, &["protocolVersion"])?.as_str()?.as_plain()?;
    (version.len() <= 32).then_some(version)
}
