//! One view of a JSON-RPC 2.0 message: a request, a notification, a response or an error.
//!
//! [`Message::parse`] reads a text once and tells the four apart strictly; what it lends borrows
//! from that text. An [`Id`] keeps its exact text, so an answer can restore it byte for byte.
//!
//! | members | message |
//! |---|---|
//! | `method` and `id` | [`Request`] |
//! | `method` | [`Notification`] |
//! | `id` and `result` | [`Response`] |
//! | `error`, with `id` or without | [`ErrorResponse`] |
//!
//! Any other combination is none of them, and neither is a message without `"jsonrpc": "2.0"`,
//! one that writes a member of these names twice, or a batch. Members of other names are left
//! alone. A [`Rejected`] message says what is wrong, where, which error code answers it, and
//! which id the answer carries, as far as one can be read.

use core::fmt;
use core::num::NonZeroU64;

use crate::json::{self, Kind, Object, Str, Value, Visited, Writer};

/// The text is not JSON (JSON-RPC 2.0 section 5.1).
pub const PARSE_ERROR: i64 = -32700;
/// The JSON is not a request (JSON-RPC 2.0 section 5.1).
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method (JSON-RPC 2.0 section 5.1).
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The method does not take these parameters (JSON-RPC 2.0 section 5.1).
pub const INVALID_PARAMS: i64 = -32602;
/// The responder failed (JSON-RPC 2.0 section 5.1).
pub const INTERNAL_ERROR: i64 = -32603;

/// What kind of value an [`Id`] is.
///
/// ```
/// use agentwire_core::jsonrpc::{Id, IdKind};
/// assert_eq!(Id::parse("8.0").unwrap().kind(), IdKind::Integer);
/// assert_eq!(Id::parse("1.5").unwrap().kind(), IdKind::Fraction);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // JSON-RPC 2.0 section 4 is closed.
pub enum IdKind {
    /// A string.
    String,
    /// A number without a fractional part, however it is written and of any size.
    Integer,
    /// A number with a fractional part, which JSON-RPC advises against.
    Fraction,
    /// `null`, which JSON-RPC advises against.
    Null,
}

/// The id of a request, with its exact text.
///
/// `"1"` and `1` are different ids; `1`, `1.0` and `1e0` are the same number and so the same id.
///
/// ```
/// use agentwire_core::jsonrpc::Id;
///
/// let id = Id::parse(r#""caf\u00e9""#).unwrap();
/// assert_eq!(id.get(), r#""caf\u00e9""#);
/// assert!(id.same(&Id::parse(r#""café""#).unwrap()));
/// assert!(!Id::parse("1").unwrap().same(&Id::parse(r#""1""#).unwrap()));
/// ```
#[derive(Clone, Copy)]
pub struct Id<'a> {
    value: Value<'a>,
}

impl<'a> Id<'a> {
    /// Reads an id from JSON text. `None` if the text is not a string, a number or `null`.
    pub fn parse(text: &'a str) -> Option<Self> {
        Self::new(Value::parse(text).ok()?)
    }

    fn new(value: Value<'a>) -> Option<Self> {
        matches!(value.kind(), Kind::String | Kind::Number | Kind::Null).then_some(Self { value })
    }

    /// The id's JSON text, exactly as its sender wrote it.
    pub fn get(&self) -> &'a str {
        self.value.get()
    }

    /// What kind of value it is.
    pub fn kind(&self) -> IdKind {
        match self.value.kind() {
            Kind::String => IdKind::String,
            Kind::Number if is_integral(self.get()) => IdKind::Integer,
            Kind::Number => IdKind::Fraction,
            _ => IdKind::Null,
        }
    }

    /// Whether both are the same id: of the same type and with the same meaning.
    pub fn same(&self, other: &Id<'_>) -> bool {
        self.get() == other.get()
            || match (self.value.as_str(), other.value.as_str()) {
                (Some(a), Some(b)) => a == b,
                (None, None) => match (Decimal::read(self.value), Decimal::read(other.value)) {
                    (Some(a), Some(b)) => a.same(&b),
                    _ => false,
                },
                _ => false,
            }
    }

    /// A print of the id in 64 bits: the same ids have the same print. Different ids may have it
    /// too, once in 2⁶⁴ by chance and at will by intent, so it serves to recognise the id of a
    /// request that the message is already known to belong to.
    pub fn print(&self) -> IdPrint {
        let mut hash = Fnv::new();
        if let Some(text) = self.value.as_str() {
            hash.byte(b'"');
            match text.as_plain() {
                Some(plain) => plain.bytes().for_each(|byte| hash.byte(byte)),
                None => text.chars().for_each(|char| {
                    char.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| hash.byte(byte));
                }),
            }
        } else if let Some(number) = self.value.as_integer() {
            hash.byte(b'i');
            hash.word(number as u64);
        } else if let Some(number) = Decimal::read(self.value) {
            hash.byte(if number.is_negative { b'-' } else { b'+' });
            number.digits().for_each(|digit| hash.byte(digit));
            hash.word(number.power as u64);
        } else {
            self.get().bytes().for_each(|byte| hash.byte(byte));
        }
        IdPrint(NonZeroU64::new(hash.0).unwrap_or(NonZeroU64::MIN))
    }
}

impl fmt::Debug for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({:?}, {} bytes)", self.kind(), self.get().len())
    }
}

/// A number as its digits, without zeros at either end, and the power of ten of the last one: the
/// same for all ways of writing it. An encoder on the way may have chosen another one.
struct Decimal<'a> {
    is_negative: bool,
    whole: &'a str,
    fraction: &'a str,
    power: i64,
}

impl<'a> Decimal<'a> {
    /// `None` for what is no number, and for an exponent beyond 64 bits.
    fn read(value: Value<'a>) -> Option<Self> {
        if value.kind() != Kind::Number {
            return None;
        }
        let number = value.get();
        let size = number.trim_start_matches('-');
        let (mantissa, exponent) = size.split_once(['e', 'E']).unwrap_or((size, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut whole = whole.trim_start_matches('0');
        let mut fraction = fraction.trim_end_matches('0');
        if whole.is_empty() && fraction.is_empty() {
            return Some(Self { is_negative: false, whole, fraction, power: 0 });
        }
        let mut power: i64 = exponent.trim_start_matches('+').parse().ok()?;
        if fraction.is_empty() {
            let all = whole.len();
            whole = whole.trim_end_matches('0');
            power = power.checked_add(i64::try_from(all.checked_sub(whole.len())?).ok()?)?;
        } else {
            power = power.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        }
        if whole.is_empty() {
            fraction = fraction.trim_start_matches('0');
        }
        Some(Self { is_negative: number.starts_with('-'), whole, fraction, power })
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        self.whole.bytes().chain(self.fraction.bytes())
    }

    fn same(&self, other: &Self) -> bool {
        (self.is_negative, self.power) == (other.is_negative, other.power)
            && self.digits().eq(other.digits())
    }
}

/// Whether a well-formed number has no fractional part. Exact for numbers of any size.
pub(crate) fn is_integral(number: &str) -> bool {
    if number.bytes().all(|digit| digit.is_ascii_digit()) {
        return true;
    }
    let (mantissa, exponent) = match number.find(['e', 'E']) {
        Some(at) => (number.get(..at).unwrap_or_default(), number.get(at..).unwrap_or_default()),
        None => (number, ""),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let whole = whole.trim_start_matches('-');
    if fraction.is_empty() && whole.bytes().all(|digit| digit == b'0') {
        return true;
    }
    // Zeros at the end of the mantissa that a negative exponent may take away.
    let zeros = if fraction.is_empty() {
        whole.len().saturating_sub(whole.trim_end_matches('0').len())
    } else {
        0
    };
    let exponent = exponent.get(1..).unwrap_or("0");
    match exponent.strip_prefix('-') {
        Some(left) => {
            let places = left.trim_start_matches('0');
            fraction.is_empty()
                && (places.is_empty() || places.parse::<usize>().is_ok_and(|left| left <= zeros))
        }
        None => {
            let right = exponent.strip_prefix('+').unwrap_or(exponent).trim_start_matches('0');
            // An exponent too long to be read is longer than any fraction in memory.
            let right = if right.is_empty() { 0 } else { right.parse().unwrap_or(usize::MAX) };
            fraction.len() <= right
        }
    }
}

/// FNV-1a: small, and fast on the few bytes of an id.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn byte(&mut self, byte: u8) {
        self.word(u64::from(byte));
    }

    /// Different words end differently: the multiplier is odd.
    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
    }
}

/// See [`Id::print`].
///
/// ```
/// use agentwire_core::jsonrpc::Id;
/// let print = |text| Id::parse(text).unwrap().print();
/// assert_eq!(print("1"), print("1.0"));
/// assert_ne!(print("1"), print("\"1\""));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IdPrint(NonZeroU64);

/// A request: it has an id, and its receiver answers it.
///
/// ```
/// use agentwire_core::jsonrpc::{Message, Request};
///
/// let text = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}"#;
/// let request = Request::parse(text).unwrap();
/// assert!(request.method == *"tools/list");
/// assert_eq!(request.id.get(), "7");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The whole message.
    pub object: Object<'a>,
    /// Its id.
    pub id: Id<'a>,
    /// The method's name.
    pub method: Str<'a>,
    /// The parameters: an object or an array, if any.
    pub params: Option<Value<'a>>,
}

impl<'a> Request<'a> {
    /// Reads a text that has to be a request.
    ///
    /// # Errors
    /// [`Rejected`]; another kind of message is [`Fault::NotARequest`].
    pub fn parse(text: &'a str) -> Result<Self, Rejected<'a>> {
        Self::parse_deep(text, 1, &mut |_| {})
    }

    /// As [`parse`](Self::parse), and shows members on the way: see [`Object::parse_deep`].
    pub(crate) fn parse_deep(
        text: &'a str,
        levels: usize,
        visit: &mut dyn FnMut(&Visited<'a, '_>),
    ) -> Result<Self, Rejected<'a>> {
        match Message::parse_deep(text, levels, visit)? {
            Message::Request(request) => Ok(request),
            Message::Response(response) => {
                Err(Rejected { fault: Fault::NotARequest, id: Some(response.id) })
            }
            Message::Error(error) => Err(Rejected { fault: Fault::NotARequest, id: error.id }),
            Message::Notification(_) => Err(Rejected { fault: Fault::NotARequest, id: None }),
        }
    }
}

/// A notification: it has no id, and nobody answers it.
///
/// ```
/// use agentwire_core::jsonrpc::Message;
/// let text = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#;
/// assert!(matches!(Message::parse(text).unwrap(), Message::Notification(_)));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Notification<'a> {
    /// The whole message.
    pub object: Object<'a>,
    /// The method's name.
    pub method: Str<'a>,
    /// The parameters: an object or an array, if any.
    pub params: Option<Value<'a>>,
}

/// A response that carries a result.
///
/// ```
/// use agentwire_core::jsonrpc::Message;
/// let text = r#"{"result":null,"id":"a","jsonrpc":"2.0"}"#;
/// let Message::Response(response) = Message::parse(text).unwrap() else { panic!() };
/// assert!(response.result.is_null());
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Response<'a> {
    /// The whole message.
    pub object: Object<'a>,
    /// The id of the request it answers.
    pub id: Id<'a>,
    /// The result: any value, `null` included.
    pub result: Value<'a>,
}

/// A response that carries an error.
///
/// ```
/// use agentwire_core::jsonrpc::Message;
/// let text = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad JSON"}}"#;
/// let Message::Error(error) = Message::parse(text).unwrap() else { panic!() };
/// assert_eq!((error.code, error.id.is_none()), (-32700, true));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ErrorResponse<'a> {
    /// The whole message.
    pub object: Object<'a>,
    /// The id of the request it answers. `None` when it is absent or `null`: the sender could
    /// not read the request's id.
    pub id: Option<Id<'a>>,
    /// What kind of error.
    pub code: i64,
    /// A sentence about it.
    pub message: Str<'a>,
    /// More about it, of any type.
    pub data: Option<Value<'a>>,
}

/// A JSON-RPC 2.0 message.
///
/// ```
/// use agentwire_core::jsonrpc::{Fault, Message};
///
/// let both = r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#;
/// let rejected = Message::parse(both).unwrap_err();
/// assert_eq!(rejected.fault, Fault::ResultAndError);
/// assert_eq!(rejected.id.unwrap().get(), "1");
/// ```
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums)] // JSON-RPC 2.0 has these four.
pub enum Message<'a> {
    /// A request.
    Request(Request<'a>),
    /// A notification.
    Notification(Notification<'a>),
    /// A response with a result.
    Response(Response<'a>),
    /// A response with an error.
    Error(ErrorResponse<'a>),
}

/// The members of a message, as far as they have been read.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<Value<'a>>,
    id: Option<Value<'a>>,
    method: Option<Value<'a>>,
    params: Option<Value<'a>>,
    result: Option<Value<'a>>,
    error: Option<Value<'a>>,
    twice: Option<Member>,
    id_twice: bool,
}

impl<'a> Members<'a> {
    // Out of line, so that members further inside pass by quickly.
    #[inline(never)]
    fn take(&mut self, seen: &Visited<'a, '_>) {
        let Some(member) = Member::named(seen) else { return };
        let place = match member {
            Member::Jsonrpc => &mut self.jsonrpc,
            Member::Id => &mut self.id,
            Member::Method => &mut self.method,
            Member::Params => &mut self.params,
            Member::Result => &mut self.result,
            Member::Error => &mut self.error,
        };
        if place.is_some() {
            self.twice = self.twice.or(Some(member));
            self.id_twice |= member == Member::Id;
        }
        *place = Some(seen.value());
    }

    /// The id that an answer to a rejected message carries.
    fn readable_id(&self) -> Option<Id<'a>> {
        if self.id_twice { None } else { self.id.and_then(Id::new) }
    }
}

/// A member that JSON-RPC 2.0 names.
///
/// ```
/// use agentwire_core::jsonrpc::{Fault, Member, Message};
/// let rejected = Message::parse(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#).unwrap_err();
/// assert_eq!(rejected.fault, Fault::Duplicate(Member::Id));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // JSON-RPC 2.0 sections 4 and 5 are closed.
pub enum Member {
    /// `jsonrpc`
    Jsonrpc,
    /// `id`
    Id,
    /// `method`
    Method,
    /// `params`
    Params,
    /// `result`
    Result,
    /// `error`
    Error,
}

impl Member {
    const ALL: [Self; 6] =
        [Self::Jsonrpc, Self::Id, Self::Method, Self::Params, Self::Result, Self::Error];

    fn named(seen: &Visited<'_, '_>) -> Option<Self> {
        Some(match seen.plain_name() {
            Some(b"jsonrpc") => Self::Jsonrpc,
            Some(b"id") => Self::Id,
            Some(b"method") => Self::Method,
            Some(b"params") => Self::Params,
            Some(b"result") => Self::Result,
            Some(b"error") => Self::Error,
            Some(_) => return None,
            None => return Self::ALL.into_iter().find(|member| seen.is(member.name())),
        })
    }

    /// How the member is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jsonrpc => "jsonrpc",
            Self::Id => "id",
            Self::Method => "method",
            Self::Params => "params",
            Self::Result => "result",
            Self::Error => "error",
        }
    }
}

impl<'a> Message<'a> {
    /// Reads a text that is one message.
    ///
    /// # Errors
    /// [`Rejected`] with what is wrong and the id that an answer carries.
    pub fn parse(text: &'a str) -> Result<Self, Rejected<'a>> {
        Self::parse_deep(text, 1, &mut |_| {})
    }

    /// As [`parse`](Self::parse), and shows members on the way: see [`Object::parse_deep`].
    pub(crate) fn parse_deep(
        text: &'a str,
        levels: usize,
        visit: &mut dyn FnMut(&Visited<'a, '_>),
    ) -> Result<Self, Rejected<'a>> {
        let mut members = Members::default();
        let parsed = Object::parse_deep(text, levels, &mut |seen| {
            if seen.depth == 1 {
                members.take(seen);
            }
            visit(seen);
        });
        let reject =
            |fault, members: &Members<'a>| Err(Rejected { fault, id: members.readable_id() });
        let object = match parsed {
            Ok(object) => object,
            Err(error) => return reject(Fault::Json(error), &members),
        };
        if let Some(member) = members.twice {
            return reject(Fault::Duplicate(member), &members);
        }
        if !members.jsonrpc.and_then(|value| value.as_str()).is_some_and(|text| text == *"2.0") {
            return reject(Fault::Version, &members);
        }
        let id = match members.id {
            None => None,
            Some(value) => match Id::new(value) {
                None => return reject(Fault::IdKind, &members),
                id => id,
            },
        };
        match (members.method, members.result, members.error) {
            (Some(method), None, None) => {
                let Some(method) = method.as_str() else {
                    return reject(Fault::MethodKind, &members);
                };
                let params = members.params;
                if params.is_some_and(|value| !matches!(value.kind(), Kind::Object | Kind::Array)) {
                    return reject(Fault::ParamsKind, &members);
                }
                Ok(match id {
                    Some(id) => Self::Request(Request { object, id, method, params }),
                    None => Self::Notification(Notification { object, method, params }),
                })
            }
            (None, Some(result), None) => match id {
                Some(id) => Ok(Self::Response(Response { object, id, result })),
                None => reject(Fault::ResultWithoutId, &members),
            },
            (None, None, Some(error)) => {
                let fault = Fault::ErrorObject;
                let Some(error) = error.as_object() else { return reject(fault, &members) };
                let member = |name| error.get(name);
                let (Ok(code), Ok(message), Ok(data)) =
                    (member("code"), member("message"), member("data"))
                else {
                    return reject(fault, &members);
                };
                let (Some(code), Some(message)) = (
                    code.and_then(|value| value.as_integer()),
                    message.and_then(|value| value.as_str()),
                ) else {
                    return reject(fault, &members);
                };
                let id = id.filter(|id| id.kind() != IdKind::Null);
                Ok(Self::Error(ErrorResponse { object, id, code, message, data }))
            }
            (None, None, None) => reject(Fault::NoKind, &members),
            (None, Some(_), Some(_)) => reject(Fault::ResultAndError, &members),
            (Some(_), _, _) => reject(Fault::MethodAndResult, &members),
        }
    }
}

/// Why a text is not a JSON-RPC 2.0 message.
///
/// ```
/// use agentwire_core::jsonrpc::{Fault, Message};
/// assert_eq!(Message::parse(r#"{"id":1,"method":"m"}"#).unwrap_err().fault, Fault::Version);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Fault {
    /// The text is not one JSON object.
    Json(json::Error),
    /// `jsonrpc` is not the string `2.0`, or is missing.
    Version,
    /// A member occurs twice.
    Duplicate(Member),
    /// `id` is a truth value, an array or an object.
    IdKind,
    /// `method` is not a string.
    MethodKind,
    /// `params` is neither an object nor an array.
    ParamsKind,
    /// None of `method`, `result` and `error` is there.
    NoKind,
    /// Both `result` and `error` are there.
    ResultAndError,
    /// `method` stands beside `result` or `error`.
    MethodAndResult,
    /// A result without the id of its request.
    ResultWithoutId,
    /// `error` is not an object with an integer `code` and a string `message`.
    ErrorObject,
    /// A well-formed message of another kind, where a request has to stand.
    NotARequest,
}

impl Fault {
    /// The error code that answers it: [`PARSE_ERROR`] for what is not JSON, else
    /// [`INVALID_REQUEST`].
    pub const fn code(self) -> i64 {
        match self {
            Self::Json(json::Error { kind: json::ErrorKind::NotAnObject, .. }) => INVALID_REQUEST,
            Self::Json(_) => PARSE_ERROR,
            _ => INVALID_REQUEST,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json(error) => return write!(f, "{error}"),
            Self::Duplicate(member) => return write!(f, "{} occurs twice", member.name()),
            Self::Version => "jsonrpc is not \"2.0\"",
            Self::IdKind => "id is not a string, a number or null",
            Self::MethodKind => "method is not a string",
            Self::ParamsKind => "params is neither an object nor an array",
            Self::NoKind => "none of method, result and error is there",
            Self::ResultAndError => "both result and error are there",
            Self::MethodAndResult => "method stands beside result or error",
            Self::ResultWithoutId => "a result has no id",
            Self::ErrorObject => "error is not an object with an integer code and a message",
            Self::NotARequest => "not a request",
        })
    }
}

/// A text that is not a JSON-RPC 2.0 message, with what is needed to answer it.
///
/// ```
/// use agentwire_core::jsonrpc::{Message, PARSE_ERROR};
///
/// // The text ends early, but its id has been read.
/// let rejected = Message::parse(r#"{"jsonrpc":"2.0","id":7,"method":"#).unwrap_err();
/// assert_eq!(rejected.fault.code(), PARSE_ERROR);
/// assert_eq!(rejected.id.unwrap().get(), "7");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rejected<'a> {
    /// What is wrong.
    pub fault: Fault,
    /// The message's id, where it could be read.
    pub id: Option<Id<'a>>,
}

impl fmt::Display for Rejected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a JSON-RPC message: {}", self.fault)
    }
}

impl core::error::Error for Rejected<'_> {}

/// Writes a response with a result; `id` and `result` are JSON text and are written as they are.
///
/// ```
/// use agentwire_core::{json::Writer, jsonrpc::write_result};
/// let mut buffer = [0; 64];
/// let mut out = Writer::new(&mut buffer);
/// write_result(&mut out, "7", "{}");
/// assert_eq!(out.finish().unwrap(), r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
/// ```
pub fn write_result(out: &mut Writer<'_>, id: &str, result: &str) {
    out.raw("{\"jsonrpc\":\"2.0\",\"id\":").raw(id).raw(",\"result\":").raw(result).raw("}");
}

/// How an error response names the request that it answers.
///
/// ```
/// use agentwire_core::{json::Writer, jsonrpc::{ErrorId, write_error}};
/// let mut buffer = [0; 96];
/// let mut out = Writer::new(&mut buffer);
/// write_error(&mut out, ErrorId::Null, -32700, "bad", None);
/// assert_eq!(
///     out.finish().unwrap(),
///     r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}"#
/// );
/// ```
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums)] // JSON-RPC says null, MCP says absent; there is no third way.
pub enum ErrorId<'a> {
    /// The request's id, as JSON text.
    Known(&'a str),
    /// It could not be read: `null` stands for it (JSON-RPC 2.0 section 5).
    Null,
    /// It could not be read: the member is left out (MCP 2026-07-28, JSONRPCErrorResponse).
    Absent,
}

/// Writes a response with an error; `data` writes the JSON text of the error's `data`.
///
/// ```
/// use agentwire_core::{json::Writer, jsonrpc::{ErrorId, write_error}};
/// let mut buffer = [0; 128];
/// let mut out = Writer::new(&mut buffer);
/// write_error(&mut out, ErrorId::Known("7"), -32603, "too large", Some(&|data| {
///     data.raw("{\"limit\":").int(15602).raw("}");
/// }));
/// assert_eq!(
///     out.finish().unwrap(),
///     r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"too large","data":{"limit":15602}}}"#
/// );
/// ```
pub fn write_error(
    out: &mut Writer<'_>,
    id: ErrorId<'_>,
    code: i64,
    message: &str,
    data: Option<&dyn Fn(&mut Writer<'_>)>,
) {
    out.raw("{\"jsonrpc\":\"2.0\",");
    match id {
        ErrorId::Known(id) => {
            out.raw("\"id\":").raw(id).raw(",");
        }
        ErrorId::Null => {
            out.raw("\"id\":null,");
        }
        ErrorId::Absent => {}
    }
    out.raw("\"error\":{\"code\":").int(code).raw(",\"message\":").string(message);
    if let Some(data) = data {
        out.raw(",\"data\":");
        data(out);
    }
    out.raw("}}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Fault {
        Message::parse(text).unwrap_err().fault
    }

    #[test]
    fn the_four_kinds_are_told_apart_strictly() {
        let parse = |text| Message::parse(text).unwrap();
        assert!(matches!(parse(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#), Message::Request(_)));
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","id":null,"method":"m","params":[]}"#),
            Message::Request(_)
        ));
        assert!(matches!(parse(r#"{"jsonrpc":"2.0","method":"m"}"#), Message::Notification(_)));
        assert!(matches!(
            parse(r#"{"result":{},"x":[1],"jsonrpc":"2.0","id":1}"#),
            Message::Response(_)
        ));
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","error":{"code":1.0,"message":"m"}}"#),
            Message::Error(ErrorResponse { code: 1, id: None, .. })
        ));

        assert_eq!(fault(r#"{"id":1,"method":"m"}"#), Fault::Version);
        assert_eq!(fault(r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#), Fault::Version);
        assert_eq!(fault(r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#), Fault::Version);
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":1}"#), Fault::NoKind);
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":1,"method":7}"#), Fault::MethodKind);
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#),
            Fault::ParamsKind
        );
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":7}"#), Fault::ParamsKind);
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":1,"result":1,"error":null}"#),
            Fault::ResultAndError
        );
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#),
            Fault::MethodAndResult
        );
        assert_eq!(fault(r#"{"jsonrpc":"2.0","result":1}"#), Fault::ResultWithoutId);
        for error in [
            "7",
            "{}",
            r#"{"code":"1","message":"m"}"#,
            r#"{"code":1.5,"message":"m"}"#,
            r#"{"code":1}"#,
        ] {
            let text = std::format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
            assert_eq!(fault(&text), Fault::ErrorObject, "{text}");
        }
        for member in Member::ALL {
            let name = member.name();
            let text =
                std::format!(r#"{{"{name}":1,"jsonrpc":"2.0","id":1,"method":"m","{name}":1}}"#);
            assert!(matches!(fault(&text), Fault::Duplicate(_)), "{text}");
        }
    }

    #[test]
    fn ids_of_every_json_type() {
        for (id, kind) in [
            ("\"\"", IdKind::String),
            ("\"1\"", IdKind::String),
            ("0", IdKind::Integer),
            ("-1", IdKind::Integer),
            ("8.0", IdKind::Integer),
            ("1e2", IdKind::Integer),
            ("1e-0", IdKind::Integer),
            ("120e-1", IdKind::Integer),
            ("0e-5", IdKind::Integer),
            ("1.25e2", IdKind::Integer),
            ("1e99999999999999999999", IdKind::Integer),
            ("18446744073709551616", IdKind::Integer),
            ("1.5", IdKind::Fraction),
            ("12e-1", IdKind::Fraction),
            ("1.25e1", IdKind::Fraction),
            ("1e-99999999999999999999", IdKind::Fraction),
            ("null", IdKind::Null),
        ] {
            let text = std::format!(r#"{{"jsonrpc":"2.0","id": {id} ,"method":"m"}}"#);
            let Message::Request(request) = Message::parse(&text).unwrap() else { panic!("{id}") };
            assert_eq!((request.id.get(), request.id.kind()), (id, kind));
        }
        for id in ["true", "[]", "{}", "[1]"] {
            let text = std::format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            let rejected = Message::parse(&text).unwrap_err();
            assert_eq!(rejected.fault, Fault::IdKind, "{id}");
            assert!(rejected.id.is_none());
        }
    }

    #[test]
    fn the_same_id_has_the_same_print() {
        let ids =
            ["1", "1.0", "10e-1", "\"1\"", "\"\\u0031\"", "2", "null", "\"null\"", "1.5", "15e-1"];
        for a in ids {
            for b in ids {
                let (a, b) = (Id::parse(a).unwrap(), Id::parse(b).unwrap());
                assert_eq!(a.same(&b), a.print() == b.print(), "{} {}", a.get(), b.get());
            }
        }
    }

    /// The chat core writes the numbers of Service RPC anew.
    #[test]
    fn an_id_that_an_encoder_has_written_anew_is_the_same() {
        for (one, other, same) in [
            ("1e20", "100000000000000000000", true),
            ("-1e20", "100000000000000000000", false),
            ("123456789012345678901.0", "123456789012345678901", true),
            ("12345678901234567890123e-3", "12345678901234567890.123", true),
            ("0.0012", "1.2e-3", true),
            ("0.0012", "1.2e-4", false),
            ("100.50", "1005e-1", true),
            ("-0", "0", true),
            ("0e99999999999999999999", "0.0", true),
            ("1e1025", "1.0e1025", true),
            ("9223372036854775808", "9223372036854775809", false),
            ("1e9223372036854775807", "1e9223372036854775807", true),
            ("10e9223372036854775807", "1e9223372036854775807", false),
        ] {
            let (one, other) = (Id::parse(one).unwrap(), Id::parse(other).unwrap());
            assert_eq!(one.same(&other), same, "{} {}", one.get(), other.get());
            assert_eq!(one.print() == other.print(), same, "{} {}", one.get(), other.get());
        }
    }

    #[test]
    fn a_rejected_message_says_which_id_its_answer_carries() {
        let id = |text| Message::parse(text).unwrap_err().id.map(|id| id.get());
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"#), Some("\"a\""));
        assert_eq!(id(r#"{"jsonrpc":"2.0","method":"m","params":{]"#), None);
        assert_eq!(id(r#"{"id":3,"method":"m"}"#), Some("3"));
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#), None);
        assert_eq!(id(r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#), None);
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#), Some("1"));
        assert_eq!(id(r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#), None);
    }

    #[test]
    fn faults_have_the_codes_of_the_specification() {
        for (text, code) in [
            ("", PARSE_ERROR),
            ("{\"jsonrpc\"", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("7", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
        ] {
            assert_eq!(fault(text).code(), code, "{text}");
        }
        assert_eq!(
            Request::parse(r#"{"jsonrpc":"2.0","method":"m"}"#).unwrap_err().fault.code(),
            INVALID_REQUEST
        );
    }

    #[test]
    fn error_responses_name_their_request_in_three_ways() {
        let write = |id| {
            let mut buffer = [0; 128];
            let mut out = Writer::new(&mut buffer);
            write_error(&mut out, id, -1, "m", None);
            std::string::String::from(out.finish().unwrap())
        };
        let error = "\"error\":{\"code\":-1,\"message\":\"m\"}}";
        for (id, member) in [
            (ErrorId::Known("\"a\""), "\"id\":\"a\","),
            (ErrorId::Null, "\"id\":null,"),
            (ErrorId::Absent, ""),
        ] {
            assert_eq!(write(id), std::format!("{{\"jsonrpc\":\"2.0\",{member}{error}"));
        }
    }
}
