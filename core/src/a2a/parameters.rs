//! Service parameters: what HTTP has headers for ("Service parameters"; A2A 1.0 sections 3.2.6
//! and 12.3).
//!
//! | rule | where it comes from |
//! |---|---|
//! | names are tokens, compared without regard to case | RFC 9110 section 5.1, A2A 1.0 section 3.2.6 |
//! | values are strings without control characters other than the tab: no line ends | RFC 9110 section 5.5 |
//! | no name twice, in whatever case: several values stand in one string, joined by commas | "Service parameters" |
//! | at most [`MAX_SERVICE_PARAMETERS`], names of at most [`MAX_PARAMETER_NAME_LEN`] bytes | this crate |
//! | what is about the connection or the content is [never passed on](passes) | RFC 9110 section 7.6 |
//! | a credential is [never sent in a group](super::credential) | "Callers and authorization" |
//!
//! A message that breaks one of the first four is answered with -32600. A parameter that is not
//! passed on is left out, and the rest of the request goes its way.

use super::{
    MAX_PARAMETER_NAME_LEN, MAX_SERVICE_PARAMETERS, SERVICE_PARAMETERS, VERSION_PARAMETER,
};
use crate::json::{Found, Object, Str, Value};
use crate::jsonrpc::Request;

/// The service parameters of a request, checked: at most [`MAX_SERVICE_PARAMETERS`] members,
/// whose names are header field names (RFC 9110 section 5.1), no two alike in any letter case,
/// and whose values are strings without control characters other than the tab (section 5.5).
///
/// ```
/// use agentwire_core::a2a::ServiceParameters;
/// use agentwire_core::json::Value;
///
/// let value = Value::parse(r#"{"a2a-version": "1.0"}"#).unwrap();
/// let parameters = ServiceParameters::new(value).unwrap();
/// assert!(parameters.get("A2A-Version").unwrap() == *"1.0");
/// assert!(ServiceParameters::new(Value::parse(r#"{"a": 1}"#).unwrap()).is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ServiceParameters<'a> {
    object: Option<Object<'a>>,
}

impl<'a> ServiceParameters<'a> {
    /// Checks the value of the member.
    ///
    /// # Errors
    /// A sentence that says which rule it breaks.
    pub fn new(value: Value<'a>) -> Result<Self, &'static str> {
        let object = value.as_object().ok_or("a2a-service-parameters is not an object")?;
        let mut count: usize = 0;
        for (name, value) in object.members() {
            count = count.saturating_add(1);
            if count > MAX_SERVICE_PARAMETERS {
                return Err("more than 64 service parameters");
            }
            let mut length: usize = 0;
            for char in name.chars() {
                length = length.saturating_add(1);
                if !(char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char)) {
                    return Err("the name of a service parameter is not a header field name");
                }
            }
            if length == 0 || length > MAX_PARAMETER_NAME_LEN {
                return Err("the name of a service parameter is empty or longer than 128 bytes");
            }
            let value = value.as_str().ok_or("the value of a service parameter is not a string")?;
            if value.chars().any(|char| char.is_control() && char != '\t') {
                return Err("the value of a service parameter has a control character");
            }
            let same = object.members().filter(|(other, _)| same_name(*other, name)).count();
            if same > 1 {
                return Err("a service parameter occurs twice");
            }
        }
        Ok(Self { object: Some(object) })
    }

    /// The service parameters of a request: none if it has no such member.
    pub(super) fn of(member: &Found<Value<'a>>) -> Result<Self, &'static str> {
        match member.get() {
            Ok(Some(value)) => Self::new(value),
            Ok(None) => Ok(Self { object: None }),
            Err(_) => Err("a2a-service-parameters occurs twice"),
        }
    }

    /// The service parameters of a request.
    ///
    /// # Errors
    /// As [`new`](Self::new), and where the request has the member twice.
    ///
    /// ```
    /// use agentwire_core::a2a::ServiceParameters;
    /// use agentwire_core::jsonrpc::Request;
    /// let text = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask",
    ///     "a2a-service-parameters":{"A2A-Extensions":"u:a, ,u:b,u:a"}}"#;
    /// let parameters = ServiceParameters::of_request(&Request::parse(text).unwrap()).unwrap();
    /// assert_eq!(parameters.iter().count(), 1);
    /// ```
    pub fn of_request(request: &Request<'a>) -> Result<Self, &'static str> {
        let mut member = Found::default();
        for (name, value) in request.object.members() {
            if name == *SERVICE_PARAMETERS {
                member.add(value);
            }
        }
        Self::of(&member)
    }

    /// Names and values, in the order in which they are written.
    pub fn iter(&self) -> impl Iterator<Item = (Str<'a>, Str<'a>)> + use<'a> {
        let members = self.object.map(|object| object.members());
        members.into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_str()?)))
    }

    /// The value of the parameter `name`, in any letter case.
    pub fn get(&self, name: &str) -> Option<Str<'a>> {
        self.iter()
            .find(|(written, _)| {
                written.chars().map(|char| char.to_ascii_lowercase()).eq(lower(name.chars()))
            })
            .map(|(_, value)| value)
    }

    /// What a proxy sends to an HTTP interface as headers, one for each parameter: without those
    /// that [may not pass](passes), and without the version, which it states itself.
    pub fn forwarded(&self) -> impl Iterator<Item = (Str<'a>, Str<'a>)> + use<'a> {
        self.iter().filter(|(name, _)| {
            let mut buffer = [0; MAX_PARAMETER_NAME_LEN];
            let name = lowered(*name, &mut buffer);
            passes(name) && !name.eq_ignore_ascii_case(VERSION_PARAMETER)
        })
    }
}

/// Whether a service parameter may become a header of a request to an HTTP interface, or a header
/// of one may become a service parameter: not if it is about the connection, the framing, the
/// content or the way there, which are each side's own (RFC 9110 section 7.6), and not a cookie,
/// which belongs to one server. `name` is compared without regard to case.
///
/// ```
/// use agentwire_core::a2a::passes;
/// assert!(passes("A2A-Extensions") && passes("authorization") && passes("traceparent"));
/// assert!(!passes("Host") && !passes("proxy-authorization") && !passes("x-forwarded-for"));
/// ```
pub fn passes(name: &str) -> bool {
    const NAMES: [&str; 25] = [
        "age",
        "allow",
        "alt-svc",
        "connection",
        "cookie",
        "cookie2",
        "date",
        "expect",
        "forwarded",
        "from",
        "host",
        "http2-settings",
        "keep-alive",
        "last-event-id",
        "max-forwards",
        "origin",
        "range",
        "referer",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "via",
    ];
    const BEGINNINGS: [&str; 9] = [
        "accept",
        "access-control-",
        "content-",
        "if-",
        "proxy-",
        "sec-",
        "x-forwarded-",
        "x-http-method",
        "x-real-ip",
    ];
    let begins = |beginning: &&str| {
        name.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
    };
    !name.is_empty()
        && !NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
        && !BEGINNINGS.iter().any(begins)
}

/// A name in lower case; a checked name is ASCII and fits.
pub(super) fn lowered<'b>(name: Str<'_>, buffer: &'b mut [u8; MAX_PARAMETER_NAME_LEN]) -> &'b str {
    let mut len: usize = 0;
    for (place, char) in buffer.iter_mut().zip(lower(name.chars())) {
        *place = u8::try_from(char).ok().filter(u8::is_ascii).unwrap_or(b'?');
        len = len.saturating_add(1);
    }
    let lowered = buffer.get(..len).unwrap_or_default();
    core::str::from_utf8(lowered).unwrap_or_default()
}

fn lower(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    chars.map(|char| char.to_ascii_lowercase())
}

fn same_name(a: Str<'_>, b: Str<'_>) -> bool {
    lower(a.chars()).eq(lower(b.chars()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    fn forwarded(parameters: &str) -> Vec<String> {
        let value = Value::parse(parameters).unwrap();
        let parameters = ServiceParameters::new(value).unwrap();
        parameters.forwarded().map(|(name, _)| name.raw().into()).collect()
    }

    #[test]
    fn what_is_about_the_connection_or_the_content_does_not_pass() {
        for name in [
            "Host",
            "CONTENT-LENGTH",
            "Content-Type",
            "content-encoding",
            "Transfer-Encoding",
            "Connection",
            "TE",
            "Trailer",
            "Upgrade",
            "Keep-Alive",
            "Proxy-Authorization",
            "Proxy-Connection",
            "Expect",
            "Accept",
            "Accept-Encoding",
            "Cookie",
            "Set-Cookie",
            "Forwarded",
            "X-Forwarded-Host",
            "X-Real-IP",
            "Via",
            "Range",
            "If-None-Match",
            "Last-Event-ID",
            "Origin",
            "Sec-Fetch-Mode",
            "X-HTTP-Method-Override",
            "User-Agent",
            "HTTP2-Settings",
            "",
        ] {
            assert!(!passes(name), "{name}");
        }
        for name in [
            "A2A-Extensions",
            "Authorization",
            "X-API-Key",
            "traceparent",
            "tracestate",
            "Idempotency-Key",
            "X-Hosts",
            "Te-x",
            "Viable",
        ] {
            assert!(passes(name), "{name}");
            assert_eq!(forwarded(&format!("{{\"{name}\":\"v\"}}")), [name]);
        }
        let all = r#"{"a2a-VERSION":"1.0","\u0048ost":"evil","A2A-Extensions":"u","Cookie":"c"}"#;
        assert_eq!(forwarded(all), ["A2A-Extensions"]);
    }
}
