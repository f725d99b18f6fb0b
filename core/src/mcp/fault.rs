//! What is wrong with a message, and where.

use core::fmt;

use crate::json::{Path, Value, offset_in};
use crate::jsonrpc;

/// What a value should have been.
///
/// ```
/// use agentwire_core::mcp::Kind;
/// assert_eq!(Kind::Token.to_string(), "a string or an integer");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Kind {
    /// A string.
    String,
    /// A truth value.
    Bool,
    /// A number without a fractional part.
    Integer,
    /// An integer that is not below zero.
    Count,
    /// A number.
    Number,
    /// A number from 0 to 1.
    Share,
    /// A string or an integer: an id, a progress token.
    Token,
    /// Bytes in base64 (RFC 4648 section 4).
    Base64,
    /// An array.
    List,
    /// An object.
    Object,
    /// A string, a number, a truth value or a list of strings.
    Answer,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String => "a string",
            Self::Bool => "true or false",
            Self::Integer => "an integer",
            Self::Count => "an integer of zero or more",
            Self::Number => "a number",
            Self::Share => "a number from 0 to 1",
            Self::Token => "a string or an integer",
            Self::Base64 => "a string of base64",
            Self::List => "an array",
            Self::Object => "an object",
            Self::Answer => "a string, a number, a truth value or a list of strings",
        })
    }
}

/// What is wrong with a message.
///
/// ```
/// use agentwire_core::mcp::Flaw;
/// assert_eq!(Flaw::Missing("content").to_string(), "content is missing");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Flaw {
    /// It is no JSON-RPC 2.0 message, or one of another kind.
    Framing(jsonrpc::Fault),
    /// The value is of another kind.
    Kind(Kind),
    /// The object lacks this member.
    Missing(&'static str),
    /// The object has none of these members.
    MissingAny(&'static [&'static str]),
    /// The object has this member twice.
    Twice(&'static str),
    /// The object must not have this member.
    Forbidden(&'static str),
    /// The string is none of these.
    NoneOf(&'static [&'static str]),
    /// The list is longer than allowed.
    TooMany {
        /// How many there may be.
        limit: usize,
    },
    /// The revision is none of those from 2026-07-28 on.
    Revision,
    /// The result's type is neither `complete` nor `input_required`, nor one of an extension that
    /// the request declares. It "MUST be treated as invalid" (basic, Result Types).
    ResultType,
    /// Only `tools/call`, `prompts/get` and `resources/read` may ask for input (basic, Multi
    /// Round-Trip Requests).
    InputNotAllowed,
    /// The result asks for what the request's capabilities do not declare.
    Undeclared(&'static str),
    /// The response is to another request.
    OtherId,
    /// The subscription is another one.
    OtherSubscription,
    /// The progress token is another one, or the request has none.
    OtherToken,
    /// The request has not asked for such notifications.
    Unasked,
    /// Progress did not increase.
    NotIncreasing,
    /// The error code is reserved and has no meaning in this revision (basic, Error Codes).
    ReservedCode {
        /// The code.
        code: i64,
    },
    /// The notification is not one that its sender may send.
    WrongWay,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, names: &[&str]| {
            names.iter().enumerate().try_for_each(|(place, name)| {
                f.write_str(if place == 0 { "" } else { ", " })?;
                f.write_str(name)
            })
        };
        f.write_str(match self {
            Self::Framing(fault) => return write!(f, "{fault}"),
            Self::Kind(kind) => return write!(f, "it is not {kind}"),
            Self::Missing(name) => return write!(f, "{name} is missing"),
            Self::MissingAny(names) => {
                f.write_str("it has none of ")?;
                return list(f, names);
            }
            Self::Twice(name) => return write!(f, "{name} occurs twice"),
            Self::Forbidden(name) => return write!(f, "{name} must not be there"),
            Self::NoneOf(names) => {
                f.write_str("it is none of ")?;
                return list(f, names);
            }
            Self::TooMany { limit } => return write!(f, "there are more than {limit}"),
            Self::Revision => "it is not a revision from 2026-07-28 on",
            Self::ResultType => "it is not a type of result that was agreed on",
            Self::InputNotAllowed => "this method does not ask for input",
            Self::Undeclared(name) => {
                return write!(f, "the request does not declare the capability {name}");
            }
            Self::OtherId => "it is the id of another request",
            Self::OtherSubscription => "it is the id of another subscription",
            Self::OtherToken => "it is not the progress token of the request",
            Self::Unasked => "the request did not ask for it",
            Self::NotIncreasing => "progress did not increase",
            Self::ReservedCode { code } => return write!(f, "code {code} is reserved"),
            Self::WrongWay => "its sender may not send this notification",
        })
    }
}

/// A flaw of a message, with the place where it shows.
///
/// ```
/// use agentwire_core::mcp::{Asked, Flaw, Kind};
///
/// let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///     "io.modelcontextprotocol/clientCapabilities":{},"progressToken":1.5}}}"#;
/// let rejected = Asked::check(text).unwrap_err();
/// assert_eq!(rejected.fault.flaw, Flaw::Kind(Kind::Token));
/// assert_eq!(rejected.fault.path(text).to_string(), "$.params._meta.progressToken");
/// assert_eq!(rejected.fault.code(), -32602);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Fault {
    /// What is wrong.
    pub flaw: Flaw,
    /// Bytes from the start of the message to the value that is wrong; of a member that is
    /// missing, to the object that lacks it.
    pub offset: usize,
}

impl Fault {
    /// Where that is in the message, which has to be the text that was checked.
    pub const fn path<'a>(&self, text: &'a str) -> Path<'a> {
        Path::to(text, self.offset)
    }

    /// The JSON-RPC code of an answer to a request with this fault.
    pub const fn code(&self) -> i64 {
        match self.flaw {
            Flaw::Framing(fault) => fault.code(),
            Flaw::Revision => super::UNSUPPORTED_PROTOCOL_VERSION,
            // The ids of requests are looked at before their parameters.
            Flaw::OtherId => jsonrpc::INVALID_REQUEST,
            _ => jsonrpc::INVALID_PARAMS,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.flaw, self.offset)
    }
}

impl core::error::Error for Fault {}

/// A flaw of a part of a message, before the whole is at hand.
#[derive(Clone, Copy)]
pub(super) struct Wrong<'a> {
    flaw: Flaw,
    value: Value<'a>,
}

impl<'a> Wrong<'a> {
    pub(super) const fn new(flaw: Flaw, value: Value<'a>) -> Self {
        Self { flaw, value }
    }

    pub(super) fn in_text(self, text: &str) -> Fault {
        Fault { flaw: self.flaw, offset: offset_in(text, self.value.get()) }
    }
}
