//! Results that ask for input, and the request that brings it (MCP 2026-07-28, basic, Multi
//! Round-Trip Requests).
//!
//! ```text
//!   client ── tools/call, id 1 ─────────────────────────────────────▶ server
//!   client ◀── result: input_required, inputRequests, requestState ── server
//!   client ── tools/call, id 2, inputResponses, requestState ───────▶ server
//!   client ◀── result: complete ───────────────────────────────────── server
//! ```
//!
//! The second request is a new one with the parameters of the first. What an earlier round added is
//! taken out before what this round adds is put in, and the state goes back byte for byte.

use super::check::Capabilities;
use super::fault::{Flaw, Wrong};
use crate::json::{Object, Str, Value, Writer};
use crate::jsonrpc::Request;

const RESPONSES: &str = "inputResponses";
const STATE: &str = "requestState";

/// A result that asks for input.
///
/// ```
/// use agentwire_core::json::{Object, Writer};
/// use agentwire_core::jsonrpc::Request;
/// use agentwire_core::mcp::{InputRequired, Retry};
///
/// let result = Object::parse(
///     r#"{"resultType":"input_required","requestState":"s\u0031","inputRequests":{
///     "who":{"method":"roots/list"}}}"#,
/// )
/// .unwrap();
/// let required = InputRequired::of(result);
/// assert_eq!(required.requests().count(), 1);
///
/// let first = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{}}}"#;
/// let responses = Object::parse(r#"{"who":{"roots":[]}}"#).unwrap();
/// assert!(required.unanswered(Some(responses)).next().is_none());
/// let mut buffer = [0; 256];
/// let mut out = Writer::new(&mut buffer);
/// let retry = Retry { id: "2", meta: None, responses: Some(responses) };
/// required.write_retry(&mut out, &Request::parse(first).unwrap(), &retry);
/// assert_eq!(
///     out.finish().unwrap(),
///     r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","_meta":{},"inputResponses":{"who":{"roots":[]}},"requestState":"s\u0031"}}"#
/// );
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InputRequired<'a> {
    /// The whole result.
    pub result: Object<'a>,
    /// What is asked for, by the server's keys.
    pub input_requests: Option<Object<'a>>,
    /// What has to come back with the retry, as the server wrote it.
    pub request_state: Option<Value<'a>>,
}

/// What a retry says that the first request did not.
///
/// ```
/// use agentwire_core::mcp::Retry;
/// let retry = Retry { id: "\"b\"", meta: None, responses: None };
/// assert_eq!(retry.id, "\"b\"");
/// ```
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // A caller builds it.
pub struct Retry<'a> {
    /// The retry's id as JSON text: another one than before.
    pub id: &'a str,
    /// Its `_meta`; the first request's, where it is `None`. A progress token may be the same: that
    /// request has ended.
    pub meta: Option<Object<'a>>,
    /// The answers, by the server's keys. `None` where nothing was asked for.
    pub responses: Option<Object<'a>>,
}

impl<'a> InputRequired<'a> {
    /// Takes a result apart; its `resultType` is known to be `input_required`.
    pub fn of(result: Object<'a>) -> Self {
        Self {
            result,
            input_requests: result.object("inputRequests").ok().flatten(),
            request_state: result.get(STATE).ok().flatten(),
        }
    }

    /// Each thing that is asked for: the server's key and a request without version and id.
    pub fn requests(&self) -> impl Iterator<Item = (Str<'a>, Object<'a>)> + use<'a> {
        let members = self.input_requests.map(|requests| requests.members());
        members.into_iter().flatten().filter_map(|(key, request)| Some((key, request.as_object()?)))
    }

    /// The keys that have no answer in `responses`. A server asks for these again.
    pub fn unanswered<'r>(
        &self,
        responses: Option<Object<'r>>,
    ) -> impl Iterator<Item = Str<'a>> + use<'a, 'r> {
        self.requests().map(|(key, _)| key).filter(move |key| {
            !responses.is_some_and(|responses| responses.members().any(|(name, _)| name == *key))
        })
    }

    /// Whether everything that is asked for was declared by the request.
    pub(super) fn check(&self, declared: &Capabilities) -> Result<(), Wrong<'a>> {
        for (_, request) in self.requests() {
            let method = request.str("method").ok().flatten();
            let is = |name: &str| method.is_some_and(|method| method == *name);
            let mode = request.object("params").ok().flatten();
            let mode = mode.and_then(|params| params.str("mode").ok().flatten());
            let undeclared = if is("sampling/createMessage") {
                (!declared.sampling).then_some("sampling")
            } else if is("roots/list") {
                (!declared.roots).then_some("roots")
            } else if mode.is_some_and(|mode| mode == *"url") {
                (!declared.url).then_some("elicitation.url")
            } else {
                (!declared.form).then_some("elicitation.form")
            };
            if let Some(name) = undeclared {
                return Err(Wrong::new(Flaw::Undeclared(name), request.as_value()));
            }
        }
        Ok(())
    }

    /// Writes the request that goes on with the call.
    pub fn write_retry(&self, out: &mut Writer<'_>, first: &Request<'_>, retry: &Retry<'_>) {
        out.raw("{\"jsonrpc\":\"2.0\",\"id\":").raw(retry.id).raw(",\"method\":");
        out.raw(first.method.get()).raw(",\"params\":{");
        let mut is_first = true;
        let mut name = |out: &mut Writer<'_>, name: &str| {
            out.raw(if is_first { "" } else { "," }).raw(name).raw(":");
            is_first = false;
        };
        let params = first.params.and_then(|params| params.as_object());
        for (key, value) in params.into_iter().flat_map(|params| params.members()) {
            if key == *RESPONSES || key == *STATE {
                continue;
            }
            name(out, key.get());
            match retry.meta {
                Some(meta) if key == *"_meta" => out.value(meta.as_value()),
                _ => out.value(value),
            };
        }
        if let Some(responses) = retry.responses {
            name(out, "\"inputResponses\"");
            out.value(responses.as_value());
        }
        if let Some(state) = self.request_state {
            name(out, "\"requestState\"");
            out.value(state);
        }
        out.raw("}}");
    }
}
