//! What Streamable HTTP says in headers (MCP 2026-07-28, transports, Streamable HTTP).
//!
//! | header | repeats |
//! |---|---|
//! | `MCP-Protocol-Version` | the revision in `_meta` |
//! | `Mcp-Method` | the method |
//! | `Mcp-Name` | `params.name` of `tools/call` and `prompts/get`, `params.uri` of `resources/read` |
//! | `Mcp-Param-`*name* | an argument whose schema says so with `x-mcp-header` |
//!
//! A value that cannot stand in a header as it is, because it has other than visible ASCII characters
//! and inner spaces, or looks like an encoded one, is written as `=?base64?`…`?=`. A server refuses a
//! request whose headers and body disagree with [`HEADER_MISMATCH`](super::HEADER_MISMATCH).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Method;
use crate::json::{Kind, Object, Str, Value, Writer};
use crate::jsonrpc::{self, Request};

/// The header with the revision.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
/// The header with the method.
pub const METHOD_HEADER: &str = "mcp-method";
/// The header with the name or the URI.
pub const NAME_HEADER: &str = "mcp-name";
/// The header with the session of revisions before 2026-07-28: a server gives it with its answer to
/// `initialize`, and wants it with every later request until it answers one with 404 (MCP 2025-11-25,
/// transports, Session Management).
pub const SESSION_HEADER: &str = "mcp-session-id";
/// Bytes of a session's id: many times what servers use.
pub const MAX_SESSION: usize = 1024;
/// What the names of headers with arguments begin with.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// The member of a schema that asks for such a header.
pub const PARAM_ANNOTATION: &str = "x-mcp-header";
/// How deep inside each other properties with such a member may stand.
pub const MAX_PARAM_DEPTH: usize = 8;

const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// Whether a text can be a header's value as it is.
fn is_plain(text: Str<'_>) -> bool {
    let (mut first, mut last) = (None, None);
    let visible = text.chars().all(|char| {
        first = first.or(Some(char));
        last = Some(char);
        char == ' ' || char.is_ascii_graphic()
    });
    let padded = first == Some(' ') || last == Some(' ');
    visible && !padded && !text.raw().starts_with(ENCODED.0)
}

/// Whether a text is the id of a session: visible ASCII characters, [`MAX_SESSION`] at most.
///
/// ```
/// use agentwire_core::mcp::http::is_session;
/// assert!(is_session("1868a90c-3f5e"));
/// assert!(!is_session("") && !is_session("a b") && !is_session("caf\u{e9}"));
/// ```
pub fn is_session(text: &str) -> bool {
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    !text.is_empty() && text.len() <= MAX_SESSION && is_visible
}

fn utf8(text: Str<'_>) -> impl Iterator<Item = u8> + '_ {
    text.chars().flat_map(|char| {
        let mut bytes = [0; 4];
        let len = char.encode_utf8(&mut bytes).len();
        bytes.into_iter().take(len)
    })
}

/// Writes a header's value.
///
/// ```
/// use agentwire_core::json::{Value, Writer};
/// use agentwire_core::mcp::http::write_value;
/// let value = |json| {
///     let mut buffer = [0; 64];
///     let mut out = Writer::new(&mut buffer);
///     write_value(&mut out, Value::parse(json).unwrap());
///     out.finish().unwrap().to_string()
/// };
/// assert_eq!(value(r#""get time""#), "get time");
/// assert_eq!(value(r#""caf\u00e9""#), "=?base64?Y2Fmw6k=?=");
/// assert_eq!(value("42"), "42");
/// ```
pub fn write_value(out: &mut Writer<'_>, value: Value<'_>) {
    let Some(text) = value.as_str() else {
        out.value(value);
        return;
    };
    if is_plain(text) {
        for char in text.chars() {
            out.raw(char.encode_utf8(&mut [0; 4]));
        }
        return;
    }
    out.raw(ENCODED.0);
    let mut bytes = utf8(text);
    loop {
        let mut group = [0; 3];
        let mut len = 0_usize;
        for (slot, byte) in group.iter_mut().zip(&mut bytes) {
            *slot = byte;
            len = len.saturating_add(1);
        }
        let mut encoded = [0; 4];
        let written = STANDARD.encode_slice(group.get(..len).unwrap_or_default(), &mut encoded);
        let written = encoded.get(..written.unwrap_or(0)).unwrap_or_default();
        out.raw(core::str::from_utf8(written).unwrap_or_default());
        if len < group.len() {
            break;
        }
    }
    out.raw(ENCODED.1);
}

/// Whether a header's value says the same as a value in the body.
///
/// ```
/// use agentwire_core::json::Value;
/// use agentwire_core::mcp::http::is_same;
/// let value = Value::parse(r#""caf\u00e9""#).unwrap();
/// assert!(is_same("=?base64?Y2Fmw6k=?=", value));
/// assert!(!is_same("cafe", value));
/// ```
pub fn is_same(header: &str, value: Value<'_>) -> bool {
    let header = header.trim_matches([' ', '\t']);
    let Some(text) = value.as_str() else { return header == value.get() };
    let encoded = header.strip_prefix(ENCODED.0).and_then(|rest| rest.strip_suffix(ENCODED.1));
    let Some(encoded) = encoded else { return text == *header };
    let mut expected = utf8(text);
    for group in encoded.as_bytes().chunks(4) {
        let mut decoded = [0; 3];
        let Ok(len) = STANDARD.decode_slice(group, &mut decoded) else { return false };
        let decoded = decoded.get(..len).unwrap_or_default();
        if !decoded.iter().all(|byte| expected.next() == Some(*byte)) {
            return false;
        }
    }
    expected.next().is_none()
}

/// The headers that a request has, besides those of its arguments: each name with the value in the
/// body that it repeats.
///
/// ```
/// use agentwire_core::jsonrpc::Request;
/// use agentwire_core::mcp::http::headers;
/// let request = Request::parse(
///     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
/// )
/// .unwrap();
/// let headers: Vec<_> = headers(&request).map(|(name, value)| (name, value.get())).collect();
/// assert_eq!(
///     headers,
///     [
///         ("mcp-protocol-version", "\"2026-07-28\""),
///         ("mcp-method", "\"tools/call\""),
///         ("mcp-name", "\"add\""),
///     ]
/// );
/// ```
pub fn headers<'a>(request: &Request<'a>) -> impl Iterator<Item = (&'static str, Value<'a>)> {
    let params = request.params.and_then(|params| params.as_object());
    let meta = params.and_then(|params| params.object("_meta").ok().flatten());
    let version = meta.and_then(|meta| meta.get(super::META_PROTOCOL_VERSION).ok().flatten());
    let subject = Method::of(request.method).subject();
    let name = params.zip(subject).and_then(|(params, name)| params.get(name).ok().flatten());
    let method = request.object.get("method").ok().flatten();
    [(VERSION_HEADER, version), (METHOD_HEADER, method), (NAME_HEADER, name)]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
}

/// The first header of a request that is missing or disagrees with its body. `header` gives a
/// header's value by its name in lower case.
///
/// ```
/// use agentwire_core::jsonrpc::Request;
/// use agentwire_core::mcp::http::mismatch;
/// let request = Request::parse(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).unwrap();
/// assert_eq!(mismatch(&request, |_| Some("tools/list")), None);
/// assert_eq!(mismatch(&request, |_| Some("tools/call")), Some("mcp-method"));
/// assert_eq!(mismatch(&request, |_| None), Some("mcp-method"));
/// ```
pub fn mismatch<'h>(
    request: &Request<'_>,
    header: impl Fn(&'static str) -> Option<&'h str>,
) -> Option<&'static str> {
    let mut headers = headers(request);
    let wrong =
        headers.find(|(name, value)| !header(name).is_some_and(|header| is_same(header, *value)));
    wrong.map(|(name, _)| name)
}

/// The HTTP status of an answer with this error code; 200 for results and errors of the server's own.
///
/// ```
/// use agentwire_core::mcp::http::status;
/// assert_eq!((status(-32602), status(-32601), status(-32603)), (400, 404, 200));
/// ```
pub const fn status(code: i64) -> u16 {
    match code {
        jsonrpc::METHOD_NOT_FOUND => 404,
        jsonrpc::PARSE_ERROR
        | jsonrpc::INVALID_REQUEST
        | jsonrpc::INVALID_PARAMS
        | super::HEADER_MISMATCH
        | super::MISSING_CLIENT_CAPABILITY
        | super::UNSUPPORTED_PROTOCOL_VERSION => 400,
        _ => 200,
    }
}

/// Why a tool's schema asks for headers that there cannot be: clients leave such a tool out.
///
/// ```
/// use agentwire_core::json::Object;
/// use agentwire_core::mcp::http::{ParamFault, params};
/// let schema = Object::parse(r#"{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}"#).unwrap();
/// assert_eq!(params(schema, None, &mut |_, _| {}), Err(ParamFault::Type));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ParamFault {
    /// The annotation is not a string that can be part of a header's name.
    Name,
    /// The property is neither a string, an integer nor a truth value.
    Type,
    /// Deeper than [`MAX_PARAM_DEPTH`].
    Depth,
    /// The annotation stands where no chain of `properties` leads.
    Place,
}

impl core::fmt::Display for ParamFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Name => f.write_str("x-mcp-header is not part of a header's name"),
            Self::Type => f.write_str("x-mcp-header is on neither a string, integer nor boolean"),
            Self::Depth => {
                write!(f, "x-mcp-header stands deeper than {MAX_PARAM_DEPTH} properties")
            }
            Self::Place => f.write_str("x-mcp-header stands where no properties lead"),
        }
    }
}

impl core::error::Error for ParamFault {}

/// Shows each argument that a tool's `inputSchema` wants repeated in a header: the name behind
/// [`PARAM_PREFIX`], and the value. Arguments that are absent or null have no header.
///
/// ```
/// use agentwire_core::json::Object;
/// use agentwire_core::mcp::http::params;
/// let schema = r#"{"type":"object","properties":{
///     "region":{"type":"string","x-mcp-header":"Region"},
///     "page":{"type":"object","properties":{"size":{"type":"integer","x-mcp-header":"Size"}}}}}"#;
/// let arguments = r#"{"region":"eu","page":{"size":7},"other":true}"#;
/// let mut seen = Vec::new();
/// params(Object::parse(schema).unwrap(), Object::parse(arguments).ok(), &mut |name, value| {
///     seen.push((name.raw(), value.get()));
/// })
/// .unwrap();
/// assert_eq!(seen, [("Region", "\"eu\""), ("Size", "7")]);
/// ```
///
/// # Errors
/// [`ParamFault`] if the schema cannot be followed; what was shown before is not to be used.
pub fn params<'s, 'a>(
    schema: Object<'s>,
    arguments: Option<Object<'a>>,
    visit: &mut dyn FnMut(Str<'s>, Value<'a>),
) -> Result<(), ParamFault> {
    let found = params_at(schema, arguments, visit, 0)?;
    // Every other place of the annotation is one that nobody can follow.
    if found == annotations(schema.get_text()) { Ok(()) } else { Err(ParamFault::Place) }
}

fn params_at<'s, 'a>(
    schema: Object<'s>,
    arguments: Option<Object<'a>>,
    visit: &mut dyn FnMut(Str<'s>, Value<'a>),
    depth: usize,
) -> Result<usize, ParamFault> {
    let mut found = 0_usize;
    let properties = schema.object("properties").ok().flatten();
    for (name, property) in properties.into_iter().flat_map(|properties| properties.members()) {
        let Some(property) = property.as_object() else { continue };
        let own = |(key, value): (Str<'a>, Value<'a>)| (key == name).then_some(value);
        let mut members = arguments.into_iter().flat_map(|arguments| arguments.members());
        let argument = members.find_map(own);
        let annotation = property.get(PARAM_ANNOTATION).map_err(|_| ParamFault::Name)?;
        if let Some(annotation) = annotation {
            found = found.saturating_add(1);
            let header = annotation.as_str().filter(|header| is_token(*header));
            let header = header.ok_or(ParamFault::Name)?;
            let kind = property.str("type").ok().flatten();
            let is_simple = ["string", "integer", "boolean"]
                .iter()
                .any(|simple| kind.is_some_and(|kind| kind == **simple));
            if !is_simple {
                return Err(ParamFault::Type);
            }
            let can_repeat = |value: &Value<'_>| {
                !matches!(value.kind(), Kind::Null | Kind::Array | Kind::Object)
            };
            if let Some(argument) = argument.filter(can_repeat) {
                visit(header, argument);
            }
        }
        if property.get("properties").is_ok_and(|properties| properties.is_some()) {
            let depth = depth.saturating_add(1);
            if depth > MAX_PARAM_DEPTH {
                return Err(ParamFault::Depth);
            }
            let inner = argument.and_then(|argument| argument.as_object());
            found = found.saturating_add(params_at(property, inner, visit, depth)?);
        }
    }
    Ok(found)
}

/// How often the annotation occurs as a member's name.
fn annotations(schema: &str) -> usize {
    let mut count = 0_usize;
    for (at, _) in schema.match_indices("\"x-mcp-header\"") {
        let rest = schema.get(at..).unwrap_or_default();
        let after = rest.strip_prefix("\"x-mcp-header\"").unwrap_or_default().trim_start();
        count = count.saturating_add(usize::from(after.starts_with(':')));
    }
    count
}

/// A token of RFC 9110 section 5.6.2.
fn is_token(text: Str<'_>) -> bool {
    let mut chars = text.chars().peekable();
    chars.peek().is_some()
        && chars.all(|char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::{String, ToString as _};
    use std::vec::Vec;

    fn written(json: &str) -> String {
        let mut buffer = [0; 256];
        let mut out = Writer::new(&mut buffer);
        write_value(&mut out, Value::parse(json).unwrap());
        out.finish().unwrap().to_string()
    }

    #[test]
    fn values_that_can_and_that_cannot_stand_in_a_header() {
        for (json, header) in [
            ("\"\"", ""),
            ("\"a b\"", "a b"),
            ("\" a\"", "=?base64?IGE=?="),
            ("\"a \"", "=?base64?YSA=?="),
            ("\"a\\tb\"", "=?base64?YQli?="),
            ("\"=?base64?YQ==?=\"", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
            ("\"日本語\"", "=?base64?5pel5pys6Kqe?="),
            ("true", "true"),
            ("-7", "-7"),
        ] {
            assert_eq!(written(json), header, "{json}");
            let value = Value::parse(json).unwrap();
            assert!(is_same(header, value), "{json}");
            assert!(is_same(&std::format!(" {header}\t"), value) || header.is_empty());
        }
        for (header, json) in [
            ("b", "\"a\""),
            ("=?base64?YQ=?=", "\"a\""),
            ("=?base64?YWI=?=", "\"a\""),
            ("=?base64?YQ==?=", "\"ab\""),
            ("7", "8"),
            ("TRUE", "true"),
        ] {
            assert!(!is_same(header, Value::parse(json).unwrap()), "{header}");
        }
    }

    #[test]
    fn schemas_that_ask_for_headers() {
        let check = |schema: &str, arguments: &str| {
            let mut seen = Vec::new();
            params(
                Object::parse(schema).unwrap(),
                Object::parse(arguments).ok(),
                &mut |name, value| {
                    seen.push(std::format!("{}={}", name.raw(), value.get()));
                },
            )
            .map(|()| seen.join(" "))
        };
        let one = r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#;
        assert_eq!(check(one, r#"{"a":"x"}"#), Ok("A=\"x\"".into()));
        for absent in ["{}", r#"{"a":null}"#, r#"{"b":"x"}"#, r#"{"a":[1]}"#] {
            assert_eq!(check(one, absent), Ok(String::new()), "{absent}");
        }
        // A value that mentions the annotation is none.
        let mentioned =
            r#"{"description":"\"x-mcp-header\" x-mcp-header","default":"x-mcp-header"}"#;
        assert_eq!(check(mentioned, "{}"), Ok(String::new()));
        for (schema, fault) in [
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#, ParamFault::Name),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#, ParamFault::Name),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":7}}}"#, ParamFault::Name),
            (r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#, ParamFault::Type),
            (r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#, ParamFault::Type),
            (
                r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
                ParamFault::Place,
            ),
            (r#"{"x-mcp-header":"A"}"#, ParamFault::Place),
        ] {
            assert_eq!(check(schema, "{}"), Err(fault), "{schema}");
        }
        for (depth, is_deep) in [(MAX_PARAM_DEPTH, false), (MAX_PARAM_DEPTH + 1, true)] {
            let mut schema = String::from(r#"{"type":"string","x-mcp-header":"A"}"#);
            for _ in 0..=depth {
                schema = std::format!(r#"{{"properties":{{"a":{schema}}}}}"#);
            }
            assert_eq!(check(&schema, "{}") == Err(ParamFault::Depth), is_deep);
        }
    }
}
