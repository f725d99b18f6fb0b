//! The binding to SimpleX: which message ends a call, and the error for everything that can go wrong.

use super::{
    META_CLIENT_CAPABILITIES, META_PROTOCOL_VERSION, REVISION, is_revision,
    write_unsupported_version,
};
use crate::binding::{
    Accepted, Binding, Class, End, Expectation, Failure, Foreign, Place, ProtocolName, Refusal,
    STANDARD_FAILURE_LEN,
};
use crate::json::{Found, Value, Writer};
use crate::jsonrpc::{self, ErrorId, IdKind, Message, Rejected, Request};

const NAME: ProtocolName<'static> = match ProtocolName::new("mcp") {
    Some(name) => name,
    None => unreachable!(),
};

/// The MCP binding: revision 2026-07-28 and later, over `/_call mcp`.
///
/// The request is one JSON-RPC request with its `_meta` envelope. Notifications for it may come
/// first; the response, a result or an error, is the last reply ("MCP binding", "Messages").
///
/// | what is checked here | error |
/// |---|---|
/// | the text is JSON | -32700 |
/// | it is a request, with an id that is a string or an integer | -32600 |
/// | `params._meta` names a revision and the client's capabilities | -32602 |
/// | the revision is one that is served | -32022 with `supported` and `requested` |
///
/// Everything else, the method and its parameters among it, is the handler's. A revision later
/// than 2026-07-28 is a version like any other: a bot states which ones it serves.
///
/// ```
/// use agentwire_core::binding::{Binding, Failure, Place};
/// use agentwire_core::mcp::Mcp;
///
/// let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
/// let accepted = Mcp.accept(request, &["2026-07-28"], Place::Direct).unwrap();
/// assert_eq!(accepted.id, Some("1"));
///
/// let refusal = Mcp.accept(request, &["2027-01-01"], Place::Direct).unwrap_err();
/// assert!(matches!(refusal.failure, Failure::UnsupportedVersion { .. }));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_structs)] // It has nothing to configure.
pub struct Mcp;

/// What `params._meta` says, gathered while the request is read.
#[derive(Clone, Copy, Default)]
struct Envelope<'m> {
    /// `params._meta`.
    meta: Found<Value<'m>>,
    /// The two members of `params._meta`.
    version: Found<Value<'m>>,
    capabilities: Found<Value<'m>>,
}

impl<'m> Envelope<'m> {
    /// Reads a request and the envelope in it, in one pass.
    fn parse(request: &'m str) -> Result<(Request<'m>, Self), Rejected<'m>> {
        let mut envelope = Self::default();
        // What has been seen so far inside the member of the request, and inside the member of
        // that one, that is being read.
        let (mut params, mut meta) = (Self::default(), Self::default());
        let mut has_seen = false;
        let request = Request::parse_deep(request, 3, &mut |seen| match seen.depth {
            1 => {
                if seen.is("params") {
                    envelope = params;
                }
                if has_seen {
                    (params, meta) = (Self::default(), Self::default());
                    has_seen = false;
                }
            }
            2 => {
                if seen.is("_meta") {
                    meta.meta = params.meta;
                    meta.meta.add(seen.value());
                    params = meta;
                    has_seen = true;
                }
                if has_seen {
                    meta = Self::default();
                }
            }
            _ if seen.is(META_PROTOCOL_VERSION) => {
                meta.version.add(seen.value());
                has_seen = true;
            }
            _ if seen.is(META_CLIENT_CAPABILITIES) => {
                meta.capabilities.add(seen.value());
                has_seen = true;
            }
            _ => {}
        })?;
        Ok((request, envelope))
    }

    /// Whether the revision is one that is served.
    fn check(&self, request: &Request<'m>, versions: &'m [&'m str]) -> Result<(), Failure<'m>> {
        let served = if versions.is_empty() { &[REVISION] } else { versions };
        let Ok(meta) = self.meta.get() else {
            return Err(Failure::InvalidParams("params._meta occurs twice"));
        };
        if meta.and_then(|meta| meta.as_object()).is_none() {
            // A client of an earlier revision starts like this: tell it what is served.
            if request.method == *"initialize" {
                let params = request.params.and_then(|params| params.as_object());
                let requested =
                    params.and_then(|params| params.str("protocolVersion").ok().flatten());
                return Err(Failure::version(requested, served));
            }
            return Err(Failure::InvalidParams("params._meta is missing or not an object"));
        }
        let Some(version) = self.version.get().ok().flatten().and_then(|value| value.as_str())
        else {
            return Err(Failure::InvalidParams(
                "params._meta names no io.modelcontextprotocol/protocolVersion",
            ));
        };
        let capabilities = self.capabilities.get().ok().flatten();
        if capabilities.and_then(|value| value.as_object()).is_none() {
            return Err(Failure::InvalidParams(
                "params._meta has no io.modelcontextprotocol/clientCapabilities",
            ));
        }
        let is_served = if versions.is_empty() {
            match version.as_plain() {
                Some(plain) => is_revision(plain),
                // A buffer of a revision's length: whatever is longer is none.
                None => version.decode(&mut [0; REVISION.len()]).is_ok_and(is_revision),
            }
        } else {
            versions.iter().any(|served| version == **served)
        };
        if is_served { Ok(()) } else { Err(Failure::version(Some(version), served)) }
    }
}

impl Binding for Mcp {
    fn name(&self) -> ProtocolName<'static> {
        NAME
    }

    /// Checks the table of [`Mcp`]. Without `versions`, every revision from
    /// [`REVISION`] on is accepted.
    fn accept<'m>(
        &self,
        request: &'m str,
        versions: &'m [&'m str],
        _place: Place,
    ) -> Result<Accepted<'m>, Refusal<'m>> {
        let (request, envelope) = Envelope::parse(request)?;
        if !matches!(request.id.kind(), IdKind::String | IdKind::Integer) {
            let why = "the id is not a string or an integer";
            return Err(Refusal::new(Failure::InvalidRequest(why), None));
        }
        let id = Some(request.id.get());
        envelope.check(&request, versions).map_err(|failure| Refusal::new(failure, id))?;
        let expected = Expectation { id: Some(request.id.print()), streaming: false };
        Ok(Accepted::new(expected, id).object(request.object))
    }

    fn classify<'m>(&self, expected: &Expectation, reply: &'m str) -> Class<'m> {
        match Message::parse(reply) {
            Ok(Message::Notification(notification)) => {
                Class::Notification { method: notification.method }
            }
            Ok(Message::Response(response)) if expected.id == Some(response.id.print()) => {
                Class::Last(End::Answer)
            }
            // An error that names no request: its sender could not read the id.
            Ok(Message::Error(error))
                if error.id.is_none_or(|id| expected.id == Some(id.print())) =>
            {
                Class::Last(End::Error { code: error.code })
            }
            Ok(Message::Response(_) | Message::Error(_)) => Class::Foreign(Foreign::OtherId),
            Ok(Message::Request(_)) => Class::Foreign(Foreign::NotAReply),
            Err(rejected) => Class::Foreign(rejected.fault.into()),
        }
    }

    /// A subscription is answered with notifications, which Service RPC does not carry. Which
    /// tools need a conversation is the handler's to say.
    fn is_one_shot(&self, request: &str) -> bool {
        Request::parse(request).is_ok_and(|request| request.method != *"subscriptions/listen")
    }

    fn failure_len(&self) -> usize {
        STANDARD_FAILURE_LEN
    }

    fn write_failure(&self, failure: &Failure<'_>, id: Option<&str>, out: &mut Writer<'_>) {
        let id = id.map_or(ErrorId::Absent, ErrorId::Known);
        if let Failure::UnsupportedVersion { requested, served } = failure {
            let requested = requested.map_or("\"\"", |version| version.get());
            let served = served.iter().copied();
            return write_unsupported_version(out, id, failure.sentence(), served, requested);
        }
        let code = failure.code().unwrap_or(jsonrpc::INTERNAL_ERROR);
        let data = |data: &mut Writer<'_>| {
            data.raw("{\"reason\":").string(failure.reason());
            for (name, number) in failure.numbers().into_iter().flatten() {
                data.raw(",").string(name).raw(":");
                data.int(i64::try_from(number).unwrap_or(i64::MAX));
            }
            data.raw("}");
        };
        jsonrpc::write_error(out, id, code, failure.sentence(), Some(&data));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;

    fn request(id: &str, meta: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{meta}}}}}"#
        )
    }

    fn meta(version: &str) -> String {
        format!(r#"{{"{META_PROTOCOL_VERSION}":"{version}","{META_CLIENT_CAPABILITIES}":{{}}}}"#)
    }

    fn error(text: &str, versions: &[&str]) -> String {
        let refusal = Mcp.accept(text, versions, Place::Direct).unwrap_err();
        let mut buffer = [0; 512];
        let mut out = Writer::new(&mut buffer);
        Mcp.write_failure(&refusal.failure, refusal.id, &mut out);
        String::from(out.finish().unwrap())
    }

    #[test]
    fn ids_are_strings_or_integers_and_come_back_byte_for_byte() {
        for id in ["1", "-7", "8.0", "1e2", "\"\"", "\"caf\\u00e9\"", "9007199254740993"] {
            let text = request(id, &meta(REVISION));
            assert_eq!(Mcp.accept(&text, &[], Place::Direct).unwrap().id, Some(id));
        }
        for id in ["null", "1.5", "true", "{}", "[]"] {
            let answer = error(&request(id, &meta(REVISION)), &[]);
            assert!(
                answer.starts_with("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,"),
                "{answer}"
            );
        }
    }

    #[test]
    fn a_request_of_a_revision_that_is_not_served_gets_32022_with_its_data() {
        let text = request("\"a\"", &meta("2025-11-25"));
        assert_eq!(
            error(&text, &["2026-07-28", "2027-01-01"]),
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32022,"message":"this version is not served","data":{"supported":["2026-07-28","2027-01-01"],"requested":"2025-11-25"}}}"#
        );
        assert!(error(&text, &[]).contains("-32022"));
        assert!(error(&request("1", &meta("2026-7-28")), &[]).contains("-32022"));
        // A later revision passes, and a bot that states others refuses it.
        let later = request("1", &meta("2027-03-01"));
        assert!(Mcp.accept(&later, &[], Place::Direct).is_ok());
        let escaped = request("1", &meta("2027-03-0\\u0031"));
        assert!(Mcp.accept(&escaped, &[], Place::Direct).is_ok());
        assert!(Mcp.accept(&later, &["2027-03-01"], Place::Direct).is_ok());
        assert!(error(&later, &["2026-07-28"]).contains("-32022"));
    }

    #[test]
    fn a_missing_or_malformed_envelope_gets_32602() {
        for params in [
            "{}",
            "[]",
            r#"{"_meta":null}"#,
            r#"{"_meta":{}}"#,
            r#"{"_meta":{},"_meta":{}}"#,
            &format!(
                r#"{{"_meta":{{"{META_PROTOCOL_VERSION}":7,"{META_CLIENT_CAPABILITIES}":{{}}}}}}"#
            ),
            &format!(r#"{{"_meta":{{"{META_PROTOCOL_VERSION}":"2026-07-28"}}}}"#),
            &format!(
                r#"{{"_meta":{{"{META_PROTOCOL_VERSION}":"2026-07-28","{META_CLIENT_CAPABILITIES}":null}}}}"#
            ),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
            let answer = error(&text, &[]);
            assert!(
                answer.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"),
                "{text} {answer}"
            );
        }
        assert!(error(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, &[]).contains("-32602"));
    }

    #[test]
    fn an_initialize_of_an_earlier_revision_learns_what_is_served() {
        let text = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        let answer = error(text, &[]);
        assert!(
            answer.contains(r#""supported":["2026-07-28"],"requested":"2025-06-18""#),
            "{answer}"
        );
    }

    #[test]
    fn what_is_not_a_request_gets_32700_or_32600() {
        for (text, start) in [
            ("{", r#"{"jsonrpc":"2.0","error":{"code":-32700,"#),
            (
                r#"{"jsonrpc":"2.0","id":9,"method":"m","params":{"#,
                r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32700,"#,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
                r#"{"jsonrpc":"2.0","error":{"code":-32600,"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
                r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"#,
            ),
            // An id that MCP does not have is left out, whatever else is wrong.
            (
                r#"{"jsonrpc":"1.0","id":null,"method":"m"}"#,
                r#"{"jsonrpc":"2.0","error":{"code":-32600,"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":7}"#,
                r#"{"jsonrpc":"2.0","error":{"code":-32600,"#,
            ),
            (r#"[1]"#, r#"{"jsonrpc":"2.0","error":{"code":-32600,"#),
        ] {
            assert!(error(text, &[]).starts_with(start), "{text} {}", error(text, &[]));
        }
    }

    #[test]
    fn each_reply_is_classified() {
        let text = request("7", &meta(REVISION));
        let expected = Mcp.accept(&text, &[], Place::Direct).unwrap().expected;
        let class = |reply| Mcp.classify(&expected, reply);
        assert!(matches!(
            class(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}"#),
            Class::Notification { method } if method == *crate::mcp::PROGRESS
        ));
        assert_eq!(class(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), Class::Last(End::Answer));
        assert_eq!(class(r#"{"result":{},"id":7.0,"jsonrpc":"2.0"}"#), Class::Last(End::Answer));
        assert_eq!(
            class(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"m"}}"#),
            Class::Last(End::Error { code: -32602 })
        );
        for id in ["", r#""id":null,"#] {
            let reply =
                format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"m"}}}}"#);
            assert_eq!(class_of(&expected, &reply), Class::Last(End::Error { code: -32700 }));
        }
        assert_eq!(
            class(r#"{"jsonrpc":"2.0","id":"7","result":{}}"#),
            Class::Foreign(Foreign::OtherId)
        );
        assert_eq!(
            class(r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"m"}}"#),
            Class::Foreign(Foreign::OtherId)
        );
        assert_eq!(class_of(&expected, &text), Class::Foreign(Foreign::NotAReply));
        assert!(matches!(class("one moment please"), Class::Foreign(Foreign::Json(_))));
        assert_eq!(class("{}"), Class::Foreign(Foreign::Message(jsonrpc::Fault::Version)));
    }

    fn class_of<'m>(expected: &Expectation, reply: &'m str) -> Class<'m> {
        Mcp.classify(expected, reply)
    }

    #[test]
    fn a_subscription_needs_a_conversation() {
        let is_one_shot =
            |method| Mcp.is_one_shot(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#));
        assert!(!is_one_shot("subscriptions/listen"));
        for method in ["server/discover", "tools/list", "tools/call", "prompts/get"] {
            assert!(is_one_shot(method), "{method}");
        }
    }

    #[test]
    fn the_over_size_error_has_the_sizes() {
        let mut buffer = [0; 256];
        let mut out = Writer::new(&mut buffer);
        let failure = Failure::TooLarge { needed: 20_000, limit: 15_602 };
        Mcp.write_failure(&failure, Some("1"), &mut out);
        assert_eq!(
            out.finish().unwrap(),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the answer does not fit into one message","data":{"reason":"too_large","size":20000,"limit":15602}}}"#
        );
    }
}
