//! The envelope of a request and of a response ("Request", "Response").
//!
//! Both are exactly the document's JSON Type Definition schemas. Members that the schemas do not
//! name are left alone; what they name has the type that they give, and occurs once. Presence
//! decides: `"response": null` is a response, and `"error": null` is a malformed error.

use core::fmt;

use crate::json::{
    self, BufferTooSmall, Found, Kind, Object, Read, Seen, Str, Twice, Unread, Unreadable, Value,
    Writer,
};

/// A request, borrowed from its text.
///
/// ```
/// use agentwire_core::rpc::RequestEnvelope;
///
/// let text = r#"{"protocol":"mcp","request":{"jsonrpc":"2.0"},"x":[1]}"#;
/// let envelope = RequestEnvelope::parse(text).unwrap();
/// assert!(envelope.protocol == *"mcp");
/// assert_eq!(envelope.request.get(), r#"{"jsonrpc":"2.0"}"#);
/// assert!(envelope.version.is_none() && envelope.request_key.is_none());
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RequestEnvelope<'m> {
    /// The protocol's name; any string, whether or not a protocol can have this name.
    pub protocol: Str<'m>,
    /// The protocol's version, for a protocol whose messages do not include one. Any value.
    pub version: Option<Value<'m>>,
    /// The requester's public key.
    pub request_key: Option<Str<'m>>,
    /// The protocol's request message. Any value: what it has to be is the protocol's.
    pub request: Value<'m>,
}

/// A response, borrowed from its text.
///
/// ```
/// use agentwire_core::rpc::{ErrorCode, ResponseEnvelope};
///
/// let text = r#"{"error":{"code":"rate_limited","retryAfter":60}}"#;
/// let ResponseEnvelope::Error(error) = ResponseEnvelope::parse(text).unwrap() else { panic!() };
/// assert_eq!((error.code, error.retry_after), (ErrorCode::RateLimited, Some(60)));
/// assert!(ResponseEnvelope::parse(r#"{"response":null}"#).is_ok());
/// assert!(ResponseEnvelope::parse("{}").is_err());
/// ```
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums)] // "A response has exactly one of `response` and `error`."
pub enum ResponseEnvelope<'m> {
    /// The protocol's response message.
    Response(Value<'m>),
    /// The request was not passed to the protocol, or its answer could not be sent.
    Error(ErrorBody<'m>),
}

/// The error of a response, borrowed from its text.
///
/// ```
/// use agentwire_core::rpc::{ErrorCode, ResponseEnvelope};
/// let text = r#"{"error":{"code":"brand_new"}}"#;
/// let ResponseEnvelope::Error(error) = ResponseEnvelope::parse(text).unwrap() else { panic!() };
/// assert_eq!(error.code, ErrorCode::Unknown);
/// assert!(error.code_text == *"brand_new");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ErrorBody<'m> {
    /// What happened.
    pub code: ErrorCode,
    /// The code as it is written.
    pub code_text: Str<'m>,
    /// A description for the requester's logs.
    pub message: Option<Str<'m>>,
    /// Seconds after which a repeated request can succeed.
    pub retry_after: Option<u32>,
}

/// The error codes ("Response").
///
/// ```
/// use agentwire_core::rpc::ErrorCode;
/// assert_eq!(ErrorCode::named("too_large"), ErrorCode::TooLarge);
/// assert_eq!(ErrorCode::TooLarge.name(), Some("too_large"));
/// assert_eq!(ErrorCode::named("TOO_LARGE"), ErrorCode::Unknown);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ErrorCode {
    /// The responder does not serve the protocol over Service RPC.
    UnsupportedProtocol,
    /// The responder does not serve the requested version.
    UnsupportedVersion,
    /// The envelope is invalid, or `requestKey` differs from the verified signer key.
    BadRequest,
    /// The request needs a conversation.
    ConversationRequired,
    /// The response exceeds the size limit.
    TooLarge,
    /// The requester repeats the request later.
    RateLimited,
    /// The responder failed.
    Internal,
    /// A code that this revision of the document does not define.
    Unknown,
}

impl ErrorCode {
    const ALL: [Self; 7] = [
        Self::UnsupportedProtocol,
        Self::UnsupportedVersion,
        Self::BadRequest,
        Self::ConversationRequired,
        Self::TooLarge,
        Self::RateLimited,
        Self::Internal,
    ];

    /// The code of that name; [`Unknown`](Self::Unknown) if the document has none.
    pub fn named(name: &str) -> Self {
        Self::find(|code| code == name)
    }

    fn find(is_it: impl Fn(&str) -> bool) -> Self {
        let found = Self::ALL.into_iter().find(|code| code.name().is_some_and(&is_it));
        found.unwrap_or(Self::Unknown)
    }

    /// How the code is written; `None` for [`Unknown`](Self::Unknown).
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::UnsupportedProtocol => "unsupported_protocol",
            Self::UnsupportedVersion => "unsupported_version",
            Self::BadRequest => "bad_request",
            Self::ConversationRequired => "conversation_required",
            Self::TooLarge => "too_large",
            Self::RateLimited => "rate_limited",
            Self::Internal => "internal",
            Self::Unknown => return None,
        })
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("an unknown code"))
    }
}

/// A member that the schemas name.
///
/// ```
/// use agentwire_core::rpc::EnvelopeMember;
/// assert_eq!(EnvelopeMember::RetryAfter.name(), "retryAfter");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum EnvelopeMember {
    /// `protocol` of a request.
    Protocol,
    /// `version` of a request.
    Version,
    /// `requestKey` of a request.
    RequestKey,
    /// `request` of a request.
    Request,
    /// `response` of a response.
    Response,
    /// `error` of a response.
    Error,
    /// `code` of an error.
    Code,
    /// `message` of an error.
    Message,
    /// `retryAfter` of an error.
    RetryAfter,
}

impl EnvelopeMember {
    /// How the member is written.
    pub const fn name(self) -> &'static str {
        json::name_of(self.key())
    }

    /// The member's name with its quotes and the colon.
    const fn key(self) -> &'static str {
        match self {
            Self::Protocol => "\"protocol\":",
            Self::Version => "\"version\":",
            Self::RequestKey => "\"requestKey\":",
            Self::Request => "\"request\":",
            Self::Response => "\"response\":",
            Self::Error => "\"error\":",
            Self::Code => "\"code\":",
            Self::Message => "\"message\":",
            Self::RetryAfter => "\"retryAfter\":",
        }
    }
}

/// Why a text is not the envelope that it should be, and the byte offset where that shows.
///
/// ```
/// use agentwire_core::rpc::{EnvelopeErrorKind, EnvelopeMember, RequestEnvelope};
/// let error = RequestEnvelope::parse(r#"{"protocol": 7, "request": {}}"#).unwrap_err();
/// assert_eq!(error.kind, EnvelopeErrorKind::WrongType(EnvelopeMember::Protocol));
/// assert_eq!(error.offset, 13);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct EnvelopeError {
    /// What is wrong.
    pub kind: EnvelopeErrorKind,
    /// Bytes from the start of the text.
    pub offset: usize,
}

/// What is wrong with an envelope.
///
/// ```
/// use agentwire_core::rpc::{EnvelopeErrorKind, ResponseEnvelope};
/// let both = r#"{"response":1,"error":{"code":"internal"}}"#;
/// assert_eq!(ResponseEnvelope::parse(both).unwrap_err().kind, EnvelopeErrorKind::Both);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum EnvelopeErrorKind {
    /// The text is not one JSON object.
    Json(json::ErrorKind),
    /// A member that has to be there is missing.
    Missing(EnvelopeMember),
    /// A member has another type than the schema gives it.
    WrongType(EnvelopeMember),
    /// A member occurs twice.
    Duplicate(EnvelopeMember),
    /// A response has both `response` and `error`.
    Both,
    /// A response has neither `response` nor `error`.
    Neither,
}

impl fmt::Display for EnvelopeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(kind) => kind.fmt(f),
            Self::Missing(member) => write!(f, "{} is missing", member.name()),
            Self::WrongType(member) => write!(f, "{} has the wrong type", member.name()),
            Self::Duplicate(member) => write!(f, "{} occurs twice", member.name()),
            Self::Both => f.write_str("both response and error are there"),
            Self::Neither => f.write_str("neither response nor error is there"),
        }
    }
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.kind, self.offset)
    }
}

impl core::error::Error for EnvelopeError {}

/// Says where in the text a value stands.
#[derive(Clone, Copy)]
struct At<'m> {
    text: &'m str,
}

impl<'m> At<'m> {
    #[cold]
    fn fail<T>(self, kind: EnvelopeErrorKind, value: Value<'m>) -> Result<T, EnvelopeError> {
        Err(EnvelopeError { kind, offset: json::offset_in(self.text, value.get()) })
    }

    #[cold]
    fn missing<T>(self, member: EnvelopeMember) -> Result<T, EnvelopeError> {
        Err(EnvelopeError { kind: EnvelopeErrorKind::Missing(member), offset: self.text.len() })
    }

    /// A member's value, if the member is there; it may be there once.
    #[inline(always)]
    fn once(
        self,
        member: EnvelopeMember,
        found: Found<Seen<'m>>,
    ) -> Result<Option<Seen<'m>>, EnvelopeError> {
        match found.get() {
            Ok(seen) => Ok(seen),
            Err(Twice { last }) => self.fail(EnvelopeErrorKind::Duplicate(member), last.value),
        }
    }

    #[inline(always)]
    fn str(
        self,
        member: EnvelopeMember,
        seen: Option<Seen<'m>>,
    ) -> Result<Option<Str<'m>>, EnvelopeError> {
        let Some(seen) = seen else { return Ok(None) };
        match seen.as_str() {
            Some(text) => Ok(Some(text)),
            None => self.fail(EnvelopeErrorKind::WrongType(member), seen.value),
        }
    }
}

fn not_json(error: json::Error) -> EnvelopeError {
    EnvelopeError { kind: EnvelopeErrorKind::Json(error.kind), offset: error.offset }
}

impl<'m> RequestEnvelope<'m> {
    /// Reads a request.
    ///
    /// # Errors
    /// [`EnvelopeError`], which the document answers with `bad_request`.
    pub fn parse(text: &'m str) -> Result<Self, EnvelopeError> {
        use EnvelopeMember::{Protocol, Request, RequestKey, Version};
        let (mut protocol, mut version) = (Found::default(), Found::default());
        let (mut request_key, mut request) = (Found::default(), Found::default());
        let keys = [Protocol.key(), Request.key(), RequestKey.key(), Version.key()];
        Object::parse_members(text, keys, |place, value| {
            let read = value.read()?;
            match place {
                Some(0) => protocol.add(read.seen),
                Some(1) => request.add(read.seen),
                Some(2) => request_key.add(read.seen),
                Some(3) => version.add(read.seen),
                _ => {}
            }
            Ok(read)
        })
        .map_err(not_json)?;
        let at = At { text };
        let protocol = at.once(Protocol, protocol)?;
        let version = at.once(Version, version)?;
        let request_key = at.once(RequestKey, request_key)?;
        let request = at.once(Request, request)?;
        let Some(protocol) = at.str(Protocol, protocol)? else { return at.missing(Protocol) };
        let request_key = at.str(RequestKey, request_key)?;
        let Some(request) = request else { return at.missing(Request) };
        let (version, request) = (version.map(|version| version.value), request.value);
        Ok(Self { protocol, version, request_key, request })
    }

    /// Writes a request: `protocol` is a name, `version` and `request` are JSON text and are
    /// written as they are.
    ///
    /// ```
    /// use agentwire_core::rpc::RequestEnvelope;
    /// let mut buffer = [0; 64];
    /// let text = RequestEnvelope::write(&mut buffer, "mcp", None, None, "{}").unwrap();
    /// assert_eq!(text, r#"{"protocol":"mcp","request":{}}"#);
    /// ```
    ///
    /// # Errors
    /// [`BufferTooSmall`] with the length of the whole request.
    pub fn write<'o>(
        out: &'o mut [u8],
        protocol: &str,
        version: Option<&str>,
        request_key: Option<&str>,
        request: &str,
    ) -> Result<&'o str, BufferTooSmall> {
        let mut writer = Writer::new(out);
        // It counts on where there is no room, so that it has no errors of its own.
        let _ = Self::write_to(&mut writer, protocol, version, request_key, request);
        writer.finish()
    }

    /// As [`write`](Self::write), into whatever takes text: a `String`, one of `heapless`, a
    /// formatter. What is written is text already, so nothing of it is looked at again, as bytes in
    /// a buffer have to be before they are text.
    ///
    /// ```
    /// use agentwire_core::rpc::RequestEnvelope;
    /// let mut text = String::new();
    /// RequestEnvelope::write_to(&mut text, "mcp", None, None, "{}").unwrap();
    /// assert_eq!(text, r#"{"protocol":"mcp","request":{}}"#);
    /// ```
    ///
    /// # Errors
    /// That of `out`: a `String` has none, one of `heapless` is full. Part of the request may have
    /// been written.
    pub fn write_to(
        out: &mut impl fmt::Write,
        protocol: &str,
        version: Option<&str>,
        request_key: Option<&str>,
        request: &str,
    ) -> fmt::Result {
        out.write_str("{\"protocol\":")?;
        json::write_string(out, protocol)?;
        if let Some(version) = version {
            out.write_str(",\"version\":")?;
            out.write_str(version)?;
        }
        if let Some(key) = request_key {
            out.write_str(",\"requestKey\":")?;
            json::write_string(out, key)?;
        }
        out.write_str(",\"request\":")?;
        out.write_str(request)?;
        out.write_str("}")
    }
}

impl<'m> ResponseEnvelope<'m> {
    /// Reads a response.
    ///
    /// # Errors
    /// [`EnvelopeError`].
    pub fn parse(text: &'m str) -> Result<Self, EnvelopeError> {
        use EnvelopeMember::{Error, Response};
        let (mut response, mut error) = (Found::default(), Found::default());
        let mut body = ErrorMembers::default();
        Object::parse_members(text, [Response.key(), Error.key()], |place, value| {
            if place == Some(1) {
                body = ErrorMembers::default();
                let read = body.read(value)?;
                error.add(read.seen);
                return Ok(read);
            }
            let read = value.read()?;
            if place == Some(0) {
                response.add(read.seen);
            }
            Ok(read)
        })
        .map_err(not_json)?;
        let at = At { text };
        let response = at.once(Response, response)?;
        let error = at.once(Error, error)?;
        match (response, error) {
            (Some(response), None) => Ok(Self::Response(response.value)),
            (None, Some(error)) => body.check(at, error.value).map(Self::Error),
            (Some(_), Some(error)) => at.fail(EnvelopeErrorKind::Both, error.value),
            (None, None) => {
                Err(EnvelopeError { kind: EnvelopeErrorKind::Neither, offset: text.len() })
            }
        }
    }

    /// Writes a response: `response` is JSON text and is written as it is.
    ///
    /// ```
    /// use agentwire_core::rpc::ResponseEnvelope;
    /// let mut buffer = [0; 32];
    /// assert_eq!(ResponseEnvelope::write(&mut buffer, "null").unwrap(), r#"{"response":null}"#);
    /// ```
    ///
    /// # Errors
    /// [`BufferTooSmall`] with the length of the whole response.
    pub fn write<'o>(out: &'o mut [u8], response: &str) -> Result<&'o str, BufferTooSmall> {
        let mut writer = Writer::new(out);
        let _ = Self::write_to(&mut writer, response);
        writer.finish()
    }

    /// As [`write`](Self::write), into whatever takes text, as [`RequestEnvelope::write_to`].
    ///
    /// ```
    /// use agentwire_core::rpc::ResponseEnvelope;
    /// let mut text = String::new();
    /// ResponseEnvelope::write_to(&mut text, "null").unwrap();
    /// assert_eq!(text, r#"{"response":null}"#);
    /// ```
    ///
    /// # Errors
    /// That of `out`. Part of the response may have been written.
    pub fn write_to(out: &mut impl fmt::Write, response: &str) -> fmt::Result {
        out.write_str("{\"response\":")?;
        out.write_str(response)?;
        out.write_str("}")
    }

    /// Writes a response that is an error. An [`Unknown`](ErrorCode::Unknown) code is written as
    /// `internal`, for a responder says only what the document defines.
    ///
    /// ```
    /// use agentwire_core::rpc::{ErrorCode, ResponseEnvelope};
    /// let mut buffer = [0; 96];
    /// let code = ErrorCode::RateLimited;
    /// let text = ResponseEnvelope::write_error(&mut buffer, code, Some("busy"), Some(5)).unwrap();
    /// assert_eq!(text, r#"{"error":{"code":"rate_limited","message":"busy","retryAfter":5}}"#);
    /// ```
    ///
    /// # Errors
    /// [`BufferTooSmall`] with the length of the whole response.
    pub fn write_error<'o>(
        out: &'o mut [u8],
        code: ErrorCode,
        message: Option<&str>,
        retry_after: Option<u32>,
    ) -> Result<&'o str, BufferTooSmall> {
        let mut writer = Writer::new(out);
        let _ = Self::write_error_to(&mut writer, code, message, retry_after);
        writer.finish()
    }

    /// As [`write_error`](Self::write_error), into whatever takes text, as
    /// [`RequestEnvelope::write_to`].
    ///
    /// ```
    /// use agentwire_core::rpc::{ErrorCode, ResponseEnvelope};
    /// let mut text = String::new();
    /// ResponseEnvelope::write_error_to(&mut text, ErrorCode::Internal, None, None).unwrap();
    /// assert_eq!(text, r#"{"error":{"code":"internal"}}"#);
    /// ```
    ///
    /// # Errors
    /// That of `out`. Part of the response may have been written.
    pub fn write_error_to(
        out: &mut impl fmt::Write,
        code: ErrorCode,
        message: Option<&str>,
        retry_after: Option<u32>,
    ) -> fmt::Result {
        out.write_str("{\"error\":{\"code\":")?;
        json::write_string(out, code.name().unwrap_or("internal"))?;
        if let Some(message) = message {
            out.write_str(",\"message\":")?;
            json::write_string(out, message)?;
        }
        if let Some(seconds) = retry_after {
            out.write_str(",\"retryAfter\":")?;
            out.write_str(json::int(i64::from(seconds), &mut [0; json::INT_LEN]))?;
        }
        out.write_str("}}")
    }
}

/// The members of the object that stands where an error has to, if one does.
#[derive(Default)]
struct ErrorMembers<'m> {
    code: Found<Seen<'m>>,
    message: Found<Seen<'m>>,
    retry_after: Found<Seen<'m>>,
}

impl<'m> ErrorMembers<'m> {
    #[inline]
    fn read(&mut self, error: Unread<'m>) -> Result<Read<'m>, Unreadable> {
        use EnvelopeMember::{Code, Message, RetryAfter};
        let keys = [Code.key(), Message.key(), RetryAfter.key()];
        error.read_members(keys, |place, value| {
            let read = value.read()?;
            match place {
                Some(0) => self.code.add(read.seen),
                Some(1) => self.message.add(read.seen),
                Some(2) => self.retry_after.add(read.seen),
                _ => {}
            }
            Ok(read)
        })
    }

    /// The error, if its members are as they have to be.
    fn check(self, at: At<'m>, error: Value<'m>) -> Result<ErrorBody<'m>, EnvelopeError> {
        use EnvelopeMember::{Code, Error, Message, RetryAfter};
        if error.kind() != Kind::Object {
            return at.fail(EnvelopeErrorKind::WrongType(Error), error);
        }
        let code = at.once(Code, self.code)?;
        let message = at.once(Message, self.message)?;
        let retry_after = at.once(RetryAfter, self.retry_after)?;
        let Some(code_text) = at.str(Code, code)? else {
            return at.fail(EnvelopeErrorKind::Missing(Code), error);
        };
        let message = at.str(Message, message)?;
        let retry_after = match retry_after {
            None => None,
            // JTD's uint32: a number without a fractional part, however it is written.
            Some(Seen { value, .. }) => {
                match value.as_integer().and_then(|number| u32::try_from(number).ok()) {
                    None => return at.fail(EnvelopeErrorKind::WrongType(RetryAfter), value),
                    seconds => seconds,
                }
            }
        };
        let code = match code_text.as_plain() {
            Some(plain) => ErrorCode::named(plain),
            None => ErrorCode::find(|name| code_text == *name),
        };
        Ok(ErrorBody { code, code_text, message, retry_after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;

    fn request_error(text: &str) -> (EnvelopeErrorKind, usize) {
        let error = RequestEnvelope::parse(text).unwrap_err();
        (error.kind, error.offset)
    }

    fn response_error(text: &str) -> (EnvelopeErrorKind, usize) {
        let error = ResponseEnvelope::parse(text).unwrap_err();
        (error.kind, error.offset)
    }

    #[test]
    fn unknown_members_of_a_request_are_left_alone() {
        let many: String = (0..300).map(|n| format!("\"x{n}\":{n},")).collect();
        let text = format!("{{{many}\"request\":[1],\"protocol\":\"p\"}}");
        let envelope = RequestEnvelope::parse(&text).unwrap();
        assert!(envelope.protocol == *"p");
        assert_eq!(envelope.request.get(), "[1]");
    }

    #[test]
    fn protocol_and_request_have_to_be_there() {
        use EnvelopeErrorKind::Missing;
        assert_eq!(request_error("{}"), (Missing(EnvelopeMember::Protocol), 2));
        assert_eq!(request_error(r#"{"request":1}"#), (Missing(EnvelopeMember::Protocol), 13));
        assert_eq!(request_error(r#"{"protocol":"p"}"#), (Missing(EnvelopeMember::Request), 16));
    }

    #[test]
    fn members_of_a_request_have_the_types_of_the_schema() {
        use EnvelopeErrorKind::WrongType;
        for value in ["7", "null", "{}", "[]", "true"] {
            let text = format!(r#"{{"protocol":{value},"request":1}}"#);
            assert_eq!(request_error(&text), (WrongType(EnvelopeMember::Protocol), 12));
            let text = format!(r#"{{"protocol":"p","request":1,"requestKey":{value}}}"#);
            assert_eq!(request_error(&text), (WrongType(EnvelopeMember::RequestKey), 41));
            // The empty schema takes anything.
            let text = format!(r#"{{"protocol":"p","request":{value},"version":{value}}}"#);
            let envelope = RequestEnvelope::parse(&text).unwrap();
            assert_eq!((envelope.request.get(), envelope.version.unwrap().get()), (value, value));
        }
    }

    #[test]
    fn duplicate_members_are_refused() {
        use EnvelopeErrorKind::Duplicate;
        for (text, member) in [
            (r#"{"protocol":"p","request":1,"protocol":"q"}"#, EnvelopeMember::Protocol),
            (r#"{"protocol":"p","request":1,"\u0072equest":1}"#, EnvelopeMember::Request),
            (r#"{"protocol":"p","request":1,"version":1,"version":1}"#, EnvelopeMember::Version),
        ] {
            assert_eq!(request_error(text).0, Duplicate(member), "{text}");
        }
        assert_eq!(
            response_error(r#"{"response":1,"response":1}"#),
            (Duplicate(EnvelopeMember::Response), 25)
        );
        assert_eq!(
            response_error(r#"{"error":{"code":"internal","code":"internal"}}"#),
            (Duplicate(EnvelopeMember::Code), 35)
        );
        // Unknown ones are nobody's concern.
        assert!(RequestEnvelope::parse(r#"{"x":1,"x":2,"protocol":"p","request":1}"#).is_ok());
    }

    #[test]
    fn what_is_not_an_object_is_no_envelope() {
        use EnvelopeErrorKind::Json;
        for (text, kind) in [
            ("", json::ErrorKind::UnexpectedEnd),
            ("[]", json::ErrorKind::NotAnObject),
            ("7", json::ErrorKind::NotAnObject),
            ("{} {}", json::ErrorKind::TrailingData),
        ] {
            assert_eq!(request_error(text).0, Json(kind));
            assert_eq!(response_error(text).0, Json(kind));
        }
    }

    #[test]
    fn a_response_has_exactly_one_of_response_and_error() {
        assert_eq!(response_error("{}"), (EnvelopeErrorKind::Neither, 2));
        assert_eq!(response_error(r#"{"x":1}"#).0, EnvelopeErrorKind::Neither);
        for text in [
            r#"{"response":1,"error":{"code":"internal"}}"#,
            r#"{"error":{"code":"internal"},"response":null}"#,
            r#"{"response":null,"error":null}"#,
        ] {
            assert_eq!(response_error(text).0, EnvelopeErrorKind::Both, "{text}");
        }
        let null = ResponseEnvelope::parse(r#"{"response":null}"#).unwrap();
        assert!(matches!(null, ResponseEnvelope::Response(value) if value.is_null()));
    }

    #[test]
    fn members_of_an_error_have_the_types_of_the_schema() {
        use EnvelopeErrorKind::{Missing, WrongType};
        for value in ["null", "7", "[]", "\"x\""] {
            let text = format!(r#"{{"error":{value}}}"#);
            assert_eq!(response_error(&text), (WrongType(EnvelopeMember::Error), 9));
        }
        assert_eq!(response_error(r#"{"error":{}}"#), (Missing(EnvelopeMember::Code), 9));
        assert_eq!(
            response_error(r#"{"error":{"code":7}}"#),
            (WrongType(EnvelopeMember::Code), 17)
        );
        assert_eq!(
            response_error(r#"{"error":{"code":"internal","message":null}}"#).0,
            WrongType(EnvelopeMember::Message)
        );
    }

    #[test]
    fn retry_after_is_a_uint32() {
        let parse = |number: &str| {
            let text = format!(r#"{{"error":{{"code":"rate_limited","retryAfter":{number}}}}}"#);
            match ResponseEnvelope::parse(&text) {
                Ok(ResponseEnvelope::Error(error)) => Ok(error.retry_after.unwrap()),
                Ok(ResponseEnvelope::Response(_)) => panic!("{text}"),
                Err(error) => Err(error.kind),
            }
        };
        for (number, seconds) in
            [("0", 0), ("60", 60), ("60.0", 60), ("6e1", 60), ("4294967295", u32::MAX)]
        {
            assert_eq!(parse(number), Ok(seconds), "{number}");
        }
        for number in ["-1", "1.5", "4294967296", "1e40", "\"60\"", "null", "true"] {
            let wrong = EnvelopeErrorKind::WrongType(EnvelopeMember::RetryAfter);
            assert_eq!(parse(number), Err(wrong), "{number}");
        }
    }

    #[test]
    fn every_code_has_its_name() {
        for code in ErrorCode::ALL {
            let text = format!(r#"{{"error":{{"code":"{code}"}}}}"#);
            let ResponseEnvelope::Error(error) = ResponseEnvelope::parse(&text).unwrap() else {
                panic!("{text}")
            };
            assert_eq!(error.code, code);
            let mut buffer = [0; 64];
            assert_eq!(ResponseEnvelope::write_error(&mut buffer, code, None, None).unwrap(), text);
        }
        for text in ["Internal", "", "internal ", "brand_new"] {
            assert_eq!(ErrorCode::named(text), ErrorCode::Unknown);
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut buffer = [0; 256];
        let text =
            RequestEnvelope::write(&mut buffer, "p-1", Some("[1,null]"), Some("a\"b"), "{\"x\":7}");
        let envelope = RequestEnvelope::parse(text.unwrap()).unwrap();
        assert!(envelope.protocol == *"p-1" && envelope.request_key.unwrap() == *"a\"b");
        assert_eq!(envelope.version.unwrap().get(), "[1,null]");
        assert_eq!(envelope.request.get(), "{\"x\":7}");
        let error = RequestEnvelope::write(&mut [0; 5], "p", None, None, "1").unwrap_err();
        assert_eq!(error.needed, 28);
    }

    #[test]
    fn a_text_gets_what_a_buffer_gets_and_fails_when_it_is_full() {
        let mut buffer = [0; 256];
        let check = |text: String, written: Result<&str, BufferTooSmall>| {
            assert_eq!(text, written.unwrap());
        };
        let mut text = String::new();
        let (version, key) = (Some("[1,null]"), Some("a\"b"));
        RequestEnvelope::write_to(&mut text, "p", version, key, "{}").unwrap();
        check(text, RequestEnvelope::write(&mut buffer, "p", version, key, "{}"));
        let mut text = String::new();
        ResponseEnvelope::write_to(&mut text, "[7]").unwrap();
        check(text, ResponseEnvelope::write(&mut buffer, "[7]"));
        for code in ErrorCode::ALL {
            let (message, after) = (Some("line\n\"two\""), Some(u32::MAX));
            let mut text = String::new();
            ResponseEnvelope::write_error_to(&mut text, code, message, after).unwrap();
            check(text, ResponseEnvelope::write_error(&mut buffer, code, message, after));
        }
        // {"protocol":"p","request":7}
        let mut exact = heapless::String::<28>::new();
        RequestEnvelope::write_to(&mut exact, "p", None, None, "7").unwrap();
        assert_eq!(exact, r#"{"protocol":"p","request":7}"#);
        let mut short = heapless::String::<27>::new();
        assert!(RequestEnvelope::write_to(&mut short, "p", None, None, "7").is_err());
        let mut short = heapless::String::<27>::new();
        assert!(
            RequestEnvelope::write_to(&mut short, "two\nlines and more of it", None, None, "7")
                .is_err()
        );
    }
}
