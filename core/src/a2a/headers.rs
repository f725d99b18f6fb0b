//! A request that has come over HTTP, on its way into a conversation: its headers become service
//! parameters.

use super::{SERVICE_PARAMETERS, VERSION_PARAMETER, passes};
use crate::json::{Object, Writer};

/// Writes a request with the headers it came with as its service parameters: those that
/// [pass](passes), names of several joined by commas (A2A 1.0 section 9.2). Where no header names
/// the version, that of the URL's query counts (section 3.6). A `a2a-service-parameters` that the
/// request has itself is left out: over HTTP the headers are it. White space between values is
/// left out too, since the size of a message is what there is least of.
///
/// Whether the parameters are well formed and not too many is the binding's to say, as it does for
/// every request.
///
/// ```
/// use agentwire_core::a2a::write_with_headers;
/// use agentwire_core::json::{self, Object};
///
/// let request = Object::parse(r#"{ "jsonrpc": "2.0", "id": 1, "method": "ListTasks" }"#).unwrap();
/// let headers = [("host", "h"), ("a2a-version", "1.0"), ("x-a", "1"), ("X-A", "2")];
/// assert_eq!(
///     json::to_text(|out| write_with_headers(out, request, &headers, None)),
///     concat!(
///         r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","#,
///         r#""a2a-service-parameters":{"a2a-version":"1.0","x-a":"1, 2"}}"#
///     )
/// );
/// ```
pub fn write_with_headers(
    out: &mut Writer<'_>,
    request: Object<'_>,
    headers: &[(&str, &str)],
    query_version: Option<&str>,
) {
    out.raw("{");
    for (name, value) in request.members().filter(|(name, _)| *name != *SERVICE_PARAMETERS) {
        out.raw(name.get()).raw(":").compact(value).raw(",");
    }
    out.string(SERVICE_PARAMETERS).raw(":{");
    let is_version = |name: &str| name.eq_ignore_ascii_case(VERSION_PARAMETER);
    let mut is_first = true;
    for (place, (name, value)) in headers.iter().enumerate() {
        let same = |other: &&(&str, &str)| other.0.eq_ignore_ascii_case(name);
        let is_repeated = headers.iter().take(place).any(|other| same(&other));
        if is_repeated || !passes(name) {
            continue;
        }
        out.raw(if core::mem::take(&mut is_first) { "" } else { "," }).string(name);
        out.raw(":\"").escaped(value);
        let after = headers.iter().skip(place.saturating_add(1));
        for (_, value) in after.filter(same) {
            out.raw(", ").escaped(value);
        }
        out.raw("\"");
    }
    let version = query_version.filter(|_| !headers.iter().any(|(name, _)| is_version(name)));
    if let Some(version) = version {
        out.raw(if is_first { "" } else { "," }).string(VERSION_PARAMETER).raw(":").string(version);
    }
    out.raw("}}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::A2a;
    use crate::binding::{Binding as _, Place};
    use crate::json::to_text;
    use std::string::String;

    fn written(request: &str, headers: &[(&str, &str)], version: Option<&str>) -> String {
        let request = Object::parse(request).unwrap();
        to_text(|out| write_with_headers(out, request, headers, version))
    }

    const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#;

    #[test]
    fn the_header_wins_over_the_query() {
        let is_served = |text: &str| A2a.accept(text, &["1.0"], Place::Direct).is_ok();
        assert!(is_served(&written(REQUEST, &[("A2A-Version", "1.0")], Some("0.3"))));
        assert!(!is_served(&written(REQUEST, &[("A2A-Version", "0.3")], Some("1.0"))));
        assert!(is_served(&written(REQUEST, &[], Some("1.0"))));
        assert!(!is_served(&written(REQUEST, &[], None)));
        assert!(!is_served(&written(
            REQUEST,
            &[("A2A-Version", "1.0"), ("a2a-version", "0.3")],
            None
        )));
    }

    #[test]
    fn the_requests_own_parameters_do_not_count() {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","a2a-service-parameters":{"A2A-Version":"1.0"},
            "\u00612a-service-parameters":7}"#;
        let text = written(text, &[("accept", "x"), ("Cookie", "c")], None);
        assert!(text.ends_with(r#","a2a-service-parameters":{}}"#), "{text}");
        assert_eq!(text.matches("service-parameters").count(), 1);
    }

    #[test]
    fn values_are_escaped_and_white_space_goes() {
        let text = r#"{ "a" : [ 1 , "b  \" c" , { } ] }"#;
        let text = written(text, &[("x", "a\"\\b")], None);
        assert_eq!(text, r#"{"a":[1,"b  \" c",{}],"a2a-service-parameters":{"x":"a\"\\b"}}"#);
    }
}
