//! Errors: codes, reasons, and how they are written (A2A 1.0 sections 3.3.2, 5.4 and 9.5).
//!
//! An error's `data` is an array of objects, each with its `@type`. The first one is a
//! `google.rpc.ErrorInfo`, whose `reason` programs can read: A2A's own stand in the domain
//! `a2a-protocol.org`, others in `simplex.chat`. A request whose parameters are wrong gets a
//! `google.rpc.BadRequest` besides ([`write_invalid_params`](super::write_invalid_params)). What a
//! peer puts into `data` may be anything, or absent.

use crate::json::Writer;
use crate::jsonrpc::{self, ErrorId};

/// The domain of the reasons that A2A defines.
const A2A_DOMAIN: &str = "a2a-protocol.org";
/// The domain of all other reasons.
const DOMAIN: &str = "simplex.chat";

/// An error that A2A names.
///
/// ```
/// use agentwire_core::a2a::A2aError;
/// assert_eq!(A2aError::TaskNotFound.code(), -32001);
/// assert_eq!(A2aError::TaskNotFound.reason(), "TASK_NOT_FOUND");
/// assert_eq!(A2aError::of_code(-32601), Some(A2aError::MethodNotFound));
/// assert_eq!(A2aError::of_code(1), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum A2aError {
    /// There is no such task, or it is another caller's.
    TaskNotFound,
    /// The task is over.
    TaskNotCancelable,
    /// There are no push notifications here.
    PushNotificationNotSupported,
    /// The agent does not do that, or not with this task.
    UnsupportedOperation,
    /// The agent does not take parts of this media type.
    ContentTypeNotSupported,
    /// An agent has answered with something that is no answer.
    InvalidAgentResponse,
    /// There is no extended card.
    ExtendedAgentCardNotConfigured,
    /// The agent needs an extension that the caller has not named.
    ExtensionSupportRequired,
    /// The version is not served.
    VersionNotSupported,
    /// The text is not JSON.
    Parse,
    /// The JSON is not a request.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The method does not take these parameters.
    InvalidParams,
    /// The responder failed.
    Internal,
}

impl A2aError {
    /// Every one, those of A2A first, by falling code.
    pub const ALL: [Self; 14] = [
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
        Self::Parse,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
    ];

    /// Its code.
    pub const fn code(self) -> i64 {
        match self {
            Self::TaskNotFound => -32001,
            Self::TaskNotCancelable => -32002,
            Self::PushNotificationNotSupported => -32003,
            Self::UnsupportedOperation => -32004,
            Self::ContentTypeNotSupported => -32005,
            Self::InvalidAgentResponse => -32006,
            Self::ExtendedAgentCardNotConfigured => -32007,
            Self::ExtensionSupportRequired => -32008,
            Self::VersionNotSupported => -32009,
            Self::Parse => jsonrpc::PARSE_ERROR,
            Self::InvalidRequest => jsonrpc::INVALID_REQUEST,
            Self::MethodNotFound => jsonrpc::METHOD_NOT_FOUND,
            Self::InvalidParams => jsonrpc::INVALID_PARAMS,
            Self::Internal => jsonrpc::INTERNAL_ERROR,
        }
    }

    /// The error of that code, if A2A names one.
    pub fn of_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|error| error.code() == code)
    }

    /// Its reason in ErrorInfo (A2A 1.0 section 11.6).
    pub const fn reason(self) -> &'static str {
        match self {
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::TaskNotCancelable => "TASK_NOT_CANCELABLE",
            Self::PushNotificationNotSupported => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Self::UnsupportedOperation => "UNSUPPORTED_OPERATION",
            Self::ContentTypeNotSupported => "CONTENT_TYPE_NOT_SUPPORTED",
            Self::InvalidAgentResponse => "INVALID_AGENT_RESPONSE",
            Self::ExtendedAgentCardNotConfigured => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            Self::ExtensionSupportRequired => "EXTENSION_SUPPORT_REQUIRED",
            Self::VersionNotSupported => "VERSION_NOT_SUPPORTED",
            Self::Parse => "PARSE_ERROR",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::MethodNotFound => "METHOD_NOT_FOUND",
            Self::InvalidParams => "INVALID_PARAMS",
            Self::Internal => "INTERNAL_ERROR",
        }
    }

    /// A sentence that tells a person what happened.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::TaskNotFound => "no such task",
            Self::TaskNotCancelable => "the task is over and cannot be canceled",
            Self::PushNotificationNotSupported => "push notifications are not supported",
            Self::UnsupportedOperation => "the agent does not support this operation",
            Self::ContentTypeNotSupported => "the content type is not supported",
            Self::InvalidAgentResponse => "the agent's answer is not valid",
            Self::ExtendedAgentCardNotConfigured => "no extended agent card is configured",
            Self::ExtensionSupportRequired => "the agent requires an extension",
            Self::VersionNotSupported => "this version is not served",
            Self::Parse => "the request is not valid JSON",
            Self::InvalidRequest => "the request is not a JSON-RPC 2.0 request",
            Self::MethodNotFound => "no such method",
            Self::InvalidParams => "the parameters are not valid",
            Self::Internal => "the agent failed",
        }
    }
}

/// An error response that is to be written.
///
/// ```
/// use agentwire_core::a2a::{A2aError, ErrorBody};
/// use agentwire_core::json::Writer;
/// let mut buffer = [0; 256];
/// let mut out = Writer::new(&mut buffer);
/// ErrorBody::new(A2aError::TaskNotFound).write(&mut out, Some("7"), &[]);
/// assert_eq!(
///     out.finish().unwrap(),
///     concat!(
///         r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"no such task","data":[{"#,
///         r#""@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","#,
///         r#""domain":"a2a-protocol.org","metadata":{}}]}}"#
///     )
/// );
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct ErrorBody<'a> {
    error: A2aError,
    message: &'a str,
    /// Another reason than the error's own.
    reason: Option<&'a str>,
}

impl<'a> ErrorBody<'a> {
    /// An error with its own sentence and reason.
    pub const fn new(error: A2aError) -> Self {
        Self { error, message: error.sentence(), reason: None }
    }

    /// With another sentence.
    pub const fn message(mut self, message: &'a str) -> Self {
        self.message = message;
        self
    }

    /// With a reason of its own: a word, which is written in upper case.
    pub const fn reason(mut self, reason: &'a str) -> Self {
        self.reason = Some(reason);
        self
    }

    /// Writes it for the request with this id, as JSON text; without one the id is null. Metadata
    /// are names and texts.
    pub fn write(&self, out: &mut Writer<'_>, id: Option<&str>, metadata: &[(&str, &str)]) {
        self.write_with(out, id, &|out| {
            for (place, (name, text)) in metadata.iter().enumerate() {
                out.raw(if place == 0 { "" } else { "," }).string(name).raw(":").string(text);
            }
        });
    }

    /// The same with metadata that are written by hand: members whose values are strings.
    pub(super) fn write_with(
        &self,
        out: &mut Writer<'_>,
        id: Option<&str>,
        metadata: &dyn Fn(&mut Writer<'_>),
    ) {
        self.write_all(out, id, metadata, &|_| {});
    }

    /// The same with further objects in the error's data, each behind a comma.
    pub(super) fn write_all(
        &self,
        out: &mut Writer<'_>,
        id: Option<&str>,
        metadata: &dyn Fn(&mut Writer<'_>),
        details: &dyn Fn(&mut Writer<'_>),
    ) {
        let id = id.map_or(ErrorId::Null, ErrorId::Known);
        jsonrpc::write_error(
            out,
            id,
            self.error.code(),
            self.message,
            Some(&|data| {
                data.raw("[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"");
                for char in self.reason.unwrap_or(self.error.reason()).chars() {
                    data.escaped(char.to_ascii_uppercase().encode_utf8(&mut [0; 4]));
                }
                data.raw("\",\"domain\":");
                data.string(if self.reason.is_none() { A2A_DOMAIN } else { DOMAIN });
                data.raw(",\"metadata\":{");
                metadata(data);
                data.raw("}}");
                details(data);
                data.raw("]");
            }),
        );
    }
}
