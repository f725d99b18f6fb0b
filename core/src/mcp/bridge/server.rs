//! What is known of the server: its state, its revisions, what it can do.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::complete::push_caching;
use super::legacy;
use super::text::{at, push_compact, push_name, push_string, push_written};
use crate::binding::{Binding as _, Failure};
use crate::json::{Object, Str, Value};
use crate::jsonrpc::{ErrorId, ErrorResponse};
use crate::mcp::caching::Caching;
use crate::mcp::{
    META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_PROTOCOL_VERSION, META_SUBSCRIPTION, Mcp,
    REVISION, Revision, write_unsupported_version,
};
use crate::time::Instant;

/// Revisions of a server that are remembered.
const MAX_REVISIONS: usize = 16;

/// The state of the server.
///
/// ```
/// use agentwire_core::mcp::bridge::{Bridge, Config, Status};
/// let mut bridge = Bridge::new(Config::default());
/// bridge.connected(Default::default());
/// assert_eq!(bridge.status(), &Status::Opening);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Status {
    /// There is none.
    #[default]
    Down,
    /// It is there and has been asked what it speaks.
    Opening,
    /// It takes requests.
    Up,
    /// It cannot be used.
    Refused(Refusal),
}

/// Why a server cannot be used.
///
/// ```
/// use agentwire_core::mcp::bridge::{Bridge, Config, Refusal, Status};
/// let mut bridge = Bridge::new(Config::default());
/// bridge.connected(Default::default());
/// let old = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
/// bridge.handle_message(Default::default(), None, old);
/// let Status::Refused(refusal) = bridge.status() else { panic!() };
/// assert_eq!(refusal, &Refusal::Revision { code: Some(-32601), supported: vec![] });
/// assert!(refusal.to_string().contains("older revisions"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// It did not answer.
    NoAnswer,
    /// It answers `server/discover` with an error, as servers do that know only revisions before
    /// 2026-07-28, or serves only other revisions.
    Revision {
        /// The JSON-RPC error code, if it was an error.
        code: Option<i64>,
        /// The revisions that it names.
        supported: Vec<String>,
    },
    /// Its answer names no revisions.
    Unclear,
    /// It does not take the handshake of the older revisions either.
    Handshake {
        /// The JSON-RPC error code, if it was an error.
        code: Option<i64>,
    },
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoAnswer => f.write_str("it did not answer server/discover"),
            Self::Revision { code, supported } => {
                write!(f, "it does not speak MCP revision {REVISION}")?;
                if let Some(code) = code {
                    write!(f, " (it answers server/discover with error {code})")?;
                }
                if supported.is_empty() {
                    f.write_str("; older revisions are spoken only where that is asked for")
                } else {
                    write!(f, "; it speaks {}", supported.join(", "))
                }
            }
            Self::Unclear => f.write_str("it answers server/discover without naming its revisions"),
            Self::Handshake { code: Some(code) } => {
                write!(f, "it answers the handshake of older revisions with error {code}")
            }
            Self::Handshake { code: None } => {
                f.write_str("it does not take the handshake of older revisions")
            }
        }
    }
}

/// How far the opening is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Open {
    #[default]
    Discover,
    Initialize,
}

/// What comes after an answer to the opening.
pub(super) enum Next {
    Up { handshake: bool },
    Handshake,
    Refused,
}

#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) status: Status,
    pub(super) step: Open,
    pub(super) is_legacy: bool,
    /// Whether it has been seen to die of `server/discover`.
    pub(super) begins_with_handshake: bool,
    pub(super) opened_by: Option<u64>,
    pub(super) open_until: Option<Instant>,
    pub(super) retry_after: Option<Duration>,
    /// The revision that an older server chose; empty for others.
    pub(super) chosen: Box<str>,
    /// The revisions that requests may name.
    pub(super) served: Vec<Revision>,
    /// The result of `server/discover`.
    discovered: Box<str>,
}

impl Server {
    pub(super) fn opening(&mut self, key: u64, until: Instant) {
        self.status = Status::Opening;
        self.step = Open::Discover;
        self.opened_by = Some(key);
        self.open_until = Some(until);
    }

    pub(super) fn forget(&mut self) {
        self.opened_by = None;
        self.open_until = None;
        self.is_legacy = false;
        self.chosen = Box::default();
    }

    pub(super) fn serves(&self, revision: Revision) -> bool {
        self.served.contains(&revision)
    }

    /// The answer to a request of a revision that is not served.
    pub(super) fn unsupported(&self, id: &str, requested: Revision) -> String {
        let mut out = String::new();
        let requested = alloc::format!("\"{}\"", requested.get());
        push_written(&mut out, |out| {
            let served = self.served.iter().map(Revision::get);
            let message = Failure::version(None, &[]).sentence();
            write_unsupported_version(out, ErrorId::Known(id), message, served, &requested);
        });
        out
    }

    /// Appends the result of `server/discover` that the handshake stands for.
    pub(super) fn push_own_discovery(&self, out: &mut String) {
        match Object::parse(&self.discovered) {
            Ok(result) => push_discovered(out, result, false),
            Err(_) => out.push_str("{}"),
        }
    }

    /// The result of `server/discover`, or the one that a handshake stands for, as one line of JSON;
    /// empty before the first.
    pub(super) fn discovery(&self) -> &str {
        &self.discovered
    }

    /// Takes the answer to the opening, or none.
    pub(super) fn take(
        &mut self,
        outcome: Option<Result<Value<'_>, &ErrorResponse<'_>>>,
        legacy: bool,
    ) -> Next {
        let refusal = match (self.step, outcome) {
            (Open::Discover, Some(Ok(result))) => match result.as_object() {
                Some(result) => match revisions(result, "supportedVersions") {
                    Some(names) => {
                        self.served = names.iter().filter_map(|name| Revision::new(name)).collect();
                        if !self.served.is_empty() {
                            let mut text = String::new();
                            push_compact(&mut text, result.get_text());
                            return self.up(text, false);
                        }
                        Refusal::Revision { code: None, supported: names }
                    }
                    None => Refusal::Unclear,
                },
                None => Refusal::Unclear,
            },
            (Open::Discover, Some(Err(error))) => {
                let data = error.data.and_then(|data| data.as_object());
                let supported = data.and_then(|data| revisions(data, "supported"));
                let supported = supported.unwrap_or_default();
                Refusal::Revision { code: Some(error.code), supported }
            }
            (Open::Discover, None) => Refusal::NoAnswer,
            (Open::Initialize, Some(Ok(result))) => {
                let chosen =
                    result.as_object().and_then(|result| Some((result, legacy::chosen(result)?)));
                match chosen {
                    Some((result, chosen)) => {
                        self.chosen = chosen.into();
                        self.served = alloc::vec![Revision::default()];
                        return self.up(legacy::discovered(result), true);
                    }
                    None => Refusal::Handshake { code: None },
                }
            }
            (Open::Initialize, Some(Err(error))) => Refusal::Handshake { code: Some(error.code) },
            (Open::Initialize, None) => Refusal::Handshake { code: None },
        };
        if legacy && self.step == Open::Discover {
            return Next::Handshake;
        }
        self.status = Status::Refused(refusal);
        Next::Refused
    }

    fn up(&mut self, discovered: String, handshake: bool) -> Next {
        self.status = Status::Up;
        self.is_legacy = handshake;
        self.begins_with_handshake = handshake;
        self.retry_after = None;
        self.discovered = discovered.into();
        Next::Up { handshake }
    }
}

/// A list of revisions: the first ones that are short enough to be dates.
fn revisions(object: Object<'_>, name: &str) -> Option<Vec<String>> {
    let names = at(object, &[name])?.elements()?;
    let names = names.filter_map(|name| name.as_str()?.as_plain());
    Some(names.filter(|name| name.len() <= 32).take(MAX_REVISIONS).map(String::from).collect())
}

/// The line that opens a server.
pub(super) fn discover(key: u64, name: &str, version: &str) -> String {
    let mut out = alloc::format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{key},\"method\":\"server/discover\",\"params\":{{\"_meta\":{{\
         \"{META_PROTOCOL_VERSION}\":\"{REVISION}\",\"{META_CLIENT_INFO}\":{{\"name\":"
    );
    push_string(&mut out, name);
    out.push_str(",\"version\":");
    push_string(&mut out, version);
    out.push_str(&alloc::format!("}},\"{META_CLIENT_CAPABILITIES}\":{{}}}}}}}}"));
    out
}

/// Appends the result of `server/discover` as callers see it: the revisions that are served here, and
/// without the notifications that are not.
pub(super) fn push_discovered(out: &mut String, result: Object<'_>, subscriptions: bool) {
    out.push('{');
    let mut is_first = true;
    let mut has_type = false;
    for (name, value) in result.members() {
        if name == *"ttlMs" || name == *"cacheScope" || value.is_null() {
            continue;
        }
        has_type |= name == *"resultType";
        push_name(out, &mut is_first, name.get());
        match value.as_object() {
            Some(capabilities) if name == *"capabilities" && !subscriptions => {
                push_quiet(out, capabilities);
            }
            _ if name == *"supportedVersions" => push_revisions(out, value),
            _ => push_compact(out, value.get()),
        }
    }
    if !has_type {
        push_name(out, &mut is_first, "\"resultType\"");
        out.push_str("\"complete\"");
    }
    push_caching(out, &mut is_first, Caching::of(result));
    out.push('}');
}

fn push_revisions(out: &mut String, value: Value<'_>) {
    out.push('[');
    let mut is_first = true;
    let names = value.elements().into_iter().flatten().filter_map(|name| name.as_str()?.as_plain());
    for revision in names.filter_map(Revision::new) {
        super::text::comma(out, &mut is_first);
        push_string(out, revision.get());
    }
    out.push(']');
}

/// Appends capabilities without those that a subscription serves.
fn push_quiet(out: &mut String, capabilities: Object<'_>) {
    let is_loud = |name: Str<'_>| name == *"listChanged" || name == *"subscribe";
    out.push('{');
    let mut is_first = true;
    for (name, value) in capabilities.members() {
        push_name(out, &mut is_first, name.get());
        match value.as_object() {
            Some(capability)
                if ["tools", "prompts", "resources"].iter().any(|own| name == **own) =>
            {
                out.push('{');
                let mut is_first = true;
                for (name, value) in capability.members().filter(|(name, _)| !is_loud(*name)) {
                    push_name(out, &mut is_first, name.get());
                    push_compact(out, value.get());
                }
                out.push('}');
            }
            _ => push_compact(out, value.get()),
        }
    }
    out.push('}');
}

/// Appends the error of a response; one of an older server with a code of this revision.
pub(super) fn push_error(out: &mut String, error: &ErrorResponse<'_>, is_legacy: bool) {
    let object = error.object.object("error").ok().flatten();
    let code = if is_legacy { legacy::code(error.code) } else { error.code };
    match object {
        Some(object) if code == error.code => push_compact(out, object.get_text()),
        _ => {
            push_written(out, |out| {
                out.raw("{\"code\":").int(code).raw(",\"message\":").raw(error.message.get());
                if let Some(data) = error.data {
                    out.raw(",\"data\":").value(data);
                }
                out.raw("}");
            });
        }
    }
}

/// The end of a subscription.
pub(super) fn unsubscribed(id: &str) -> String {
    alloc::format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\"_meta\":{{\
         \"{META_SUBSCRIPTION}\":{id}}}}}}}"
    )
}

/// The binding's error; for a revision that is not served it names those of the server.
pub(super) fn failure(failure: &Failure<'_>, id: Option<&str>, served: &[Revision]) -> String {
    let names: Vec<&str> = served.iter().map(Revision::get).collect();
    let failure = match *failure {
        Failure::UnsupportedVersion { requested, served } => Failure::UnsupportedVersion {
            requested,
            served: if names.is_empty() { served } else { &names },
        },
        other => other,
    };
    let mut out = String::new();
    push_written(&mut out, |out| Mcp.write_failure(&failure, id, out));
    out
}
