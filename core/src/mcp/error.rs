//! Errors with the data that the revision asks for (MCP 2026-07-28, basic, Error Codes).

use crate::json::Writer;
use crate::jsonrpc::{self, ErrorId};

/// `HeaderMismatchError`: a header and the body disagree. Streamable HTTP alone has headers.
pub const HEADER_MISMATCH: i64 = -32020;
/// `MissingRequiredClientCapabilityError`.
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// `UnsupportedProtocolVersionError`.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;

/// Writes the answer to a request of a revision that is not served. `requested` is what the request
/// names; both lists are required, so a request that names none "requests" the empty string.
///
/// ```
/// use agentwire_core::{json::Writer, jsonrpc::ErrorId, mcp::write_unsupported_version};
/// let mut buffer = [0; 256];
/// let mut out = Writer::new(&mut buffer);
/// write_unsupported_version(&mut out, ErrorId::Known("1"), "no", ["2026-07-28"], "\"2025-11-25\"");
/// assert_eq!(
///     out.finish().unwrap(),
///     r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}"#
/// );
/// ```
pub fn write_unsupported_version<'s>(
    out: &mut Writer<'_>,
    id: ErrorId<'_>,
    message: &str,
    supported: impl IntoIterator<Item = &'s str> + Clone,
    requested: &str,
) {
    let data = |data: &mut Writer<'_>| {
        data.raw("{\"supported\":[");
        for (place, version) in supported.clone().into_iter().enumerate() {
            data.raw(if place == 0 { "" } else { "," }).string(version);
        }
        data.raw("],\"requested\":").raw(requested).raw("}");
    };
    jsonrpc::write_error(out, id, UNSUPPORTED_PROTOCOL_VERSION, message, Some(&data));
}

/// Writes the answer to a request that does not declare what it needs. `required` is the JSON text
/// of the client capabilities that are missing, an object.
///
/// ```
/// use agentwire_core::{json::Writer, jsonrpc::ErrorId, mcp::write_missing_capability};
/// let mut buffer = [0; 256];
/// let mut out = Writer::new(&mut buffer);
/// write_missing_capability(&mut out, ErrorId::Known("1"), "a form is needed", r#"{"elicitation":{}}"#);
/// assert_eq!(
///     out.finish().unwrap(),
///     r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"a form is needed","data":{"requiredCapabilities":{"elicitation":{}}}}}"#
/// );
/// ```
pub fn write_missing_capability(
    out: &mut Writer<'_>,
    id: ErrorId<'_>,
    message: &str,
    required: &str,
) {
    let data = |data: &mut Writer<'_>| {
        data.raw("{\"requiredCapabilities\":").raw(required).raw("}");
    };
    jsonrpc::write_error(out, id, MISSING_CLIENT_CAPABILITY, message, Some(&data));
}

/// Writes `notifications/cancelled` for a request. `id` is the request's, as JSON text. Only a client
/// sends it, and over a stream of bytes alone; over HTTP the end of the stream says the same.
///
/// ```
/// use agentwire_core::{json::Writer, mcp::write_cancelled};
/// let mut buffer = [0; 128];
/// let mut out = Writer::new(&mut buffer);
/// write_cancelled(&mut out, "7");
/// assert_eq!(
///     out.finish().unwrap(),
///     r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#
/// );
/// ```
pub fn write_cancelled(out: &mut Writer<'_>, id: &str) {
    out.raw(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":",
    );
    out.raw(id).raw("}}");
}
