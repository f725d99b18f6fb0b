//! Why a call gets an error of the bridge, and what the error says.

use alloc::string::String;
use core::time::Duration;

use super::output::Final;
use super::text::push_written;
use crate::binding::Failure;
use crate::json::Writer;
use crate::jsonrpc::{self, ErrorId, IdKind, Message};
use crate::mcp::Fault;

/// Which limit of time a call ran into.
///
/// ```
/// use agentwire_core::mcp::bridge::Limit;
/// assert_ne!(Limit::Idle, Limit::Total);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Limit {
    /// No sign of the server for this long.
    Idle,
    /// No answer in the time a call may take in all, whatever progress there was.
    Total,
}

/// Why a call gets an error of the bridge.
///
/// ```
/// use agentwire_core::mcp::bridge::Problem;
/// assert_eq!(Problem::Busy { limit: 8 }.reason(), "busy");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The request is not one of the revision. Nothing was passed on.
    Request(Fault),
    /// The request is too long to be passed on.
    RequestTooLarge {
        /// Its length in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The server, or the bridge for it, does not have the method.
    MethodNotFound,
    /// The cursor is none that was given out, or of a list that has changed.
    BadCursor,
    /// As many calls are open as may be, in all or of this caller.
    Busy {
        /// How many.
        limit: usize,
    },
    /// There is no server: it has ended, or not come up.
    Down {
        /// When it will be tried again, where that is known.
        retry_after: Option<Duration>,
    },
    /// The server ended before it answered. Whether it acted on the request is not known.
    Ended {
        /// What the driver said of it.
        why: String,
    },
    /// The server speaks no revision that is spoken here.
    Refused,
    /// The server did not answer in time; it was told that nobody waits any more.
    TimedOut {
        /// Which limit it was.
        limit: Limit,
        /// How long that is.
        after: Duration,
    },
    /// The answer does not fit.
    TooLarge {
        /// What it takes.
        needed: usize,
        /// What there is.
        limit: usize,
    },
    /// The answer is none that the revision allows.
    InvalidAnswer(Option<(Fault, String)>),
    /// The answer needs a conversation.
    ConversationRequired,
}

impl Problem {
    /// A word for programs, stable across versions; it stands in the error's `data`.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Request(_) => "invalid_request",
            Self::RequestTooLarge { .. } => "request_too_large",
            Self::MethodNotFound => "method_not_found",
            Self::BadCursor => "bad_cursor",
            Self::Busy { .. } => "busy",
            Self::Down { .. } => "backend_down",
            Self::Ended { .. } => "backend_ended",
            Self::Refused => "backend_revision",
            Self::TimedOut { .. } => "timeout",
            Self::TooLarge { .. } => "too_large",
            Self::InvalidAnswer(_) => "invalid_answer",
            Self::ConversationRequired => "conversation_required",
        }
    }

    /// A sentence for people.
    const fn sentence(&self) -> &'static str {
        match self {
            Self::Request(_) => "the request is not one of MCP",
            Self::RequestTooLarge { .. } => "the request is too long",
            Self::MethodNotFound => "no such method",
            Self::BadCursor => "the cursor belongs to no list, or to one that has changed",
            Self::Busy { .. } => "too many calls are open",
            Self::Down { .. } => "the MCP server is not running",
            Self::Ended { .. } => "the MCP server ended before it answered",
            Self::Refused => {
                "the MCP server speaks only revisions before 2026-07-28, which are not adapted here"
            }
            Self::TimedOut { limit: Limit::Idle, .. } => "the MCP server was silent for too long",
            Self::TimedOut { limit: Limit::Total, .. } => "the MCP server took too long",
            Self::TooLarge { .. } => "the answer does not fit into one message",
            Self::InvalidAnswer(_) => "the MCP server's answer is not valid",
            Self::ConversationRequired => "this call needs a conversation",
        }
    }

    const fn code(&self) -> i64 {
        match self {
            Self::Request(fault) => fault.code(),
            Self::RequestTooLarge { .. } => jsonrpc::INVALID_REQUEST,
            Self::MethodNotFound => jsonrpc::METHOD_NOT_FOUND,
            Self::BadCursor => jsonrpc::INVALID_PARAMS,
            _ => jsonrpc::INTERNAL_ERROR,
        }
    }

    /// The failure of the binding that this is, for a transport that has errors of its own.
    pub const fn failure(&self) -> Option<Failure<'static>> {
        Some(match self {
            Self::Busy { limit } => Failure::Busy { capacity: *limit },
            Self::TimedOut { .. } => Failure::TimedOut,
            Self::TooLarge { needed, limit } => {
                Failure::TooLarge { needed: *needed, limit: *limit }
            }
            _ => return None,
        })
    }

    /// The answer with which a driver turns a request away before the machine sees it.
    ///
    /// ```
    /// use agentwire_core::mcp::bridge::Problem;
    /// let request = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#;
    /// assert_eq!(
    ///     Problem::Busy { limit: 8 }.answer(request).text,
    ///     r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"too many calls are open","data":{"reason":"busy","capacity":8}}}"#
    /// );
    /// ```
    pub fn answer(self, request: &str) -> Final {
        let id = match Message::parse(request) {
            Ok(Message::Request(request)) => Some(request.id),
            _ => None,
        };
        let id = id.filter(|id| matches!(id.kind(), IdKind::String | IdKind::Integer));
        let text = self.write(id.map(|id| id.get()), request);
        Final { text, problem: Some(self) }
    }

    /// The error as a message. `text` is the request, where its path is shown.
    pub(super) fn write(&self, id: Option<&str>, text: &str) -> String {
        let mut out = String::new();
        let id = id.map_or(ErrorId::Absent, ErrorId::Known);
        push_written(&mut out, |out| {
            let data = |data: &mut Writer<'_>| self.write_data(data, text);
            jsonrpc::write_error(out, id, self.code(), self.sentence(), Some(&data));
        });
        out
    }

    fn write_data(&self, data: &mut Writer<'_>, text: &str) {
        let number = |data: &mut Writer<'_>, name: &str, number: u128| {
            data.raw(",").string(name).raw(":");
            data.int(i64::try_from(number).unwrap_or(i64::MAX));
        };
        let size = |data: &mut Writer<'_>, size: usize, limit: usize| {
            number(data, "size", size as u128);
            number(data, "limit", limit as u128);
        };
        data.raw("{\"reason\":").string(self.reason());
        match self {
            Self::Request(fault) => {
                data.raw(",\"path\":").string(&alloc::format!("{}", fault.path(text)));
                data.raw(",\"fault\":").string(&alloc::format!("{}", fault.flaw));
            }
            Self::InvalidAnswer(Some((fault, path))) => {
                data.raw(",\"path\":").string(path);
                data.raw(",\"fault\":").string(&alloc::format!("{}", fault.flaw));
            }
            Self::RequestTooLarge { len, limit } => size(data, *len, *limit),
            Self::TooLarge { needed, limit } => size(data, *needed, *limit),
            Self::Busy { limit } => number(data, "capacity", *limit as u128),
            Self::Down { retry_after: Some(after) } => {
                number(data, "retryAfterMs", after.as_millis());
            }
            Self::Ended { why } => {
                data.raw(",\"why\":").string(why);
            }
            Self::TimedOut { limit, after } => {
                data.raw(",\"limit\":").string(match limit {
                    Limit::Idle => "idle",
                    Limit::Total => "total",
                });
                number(data, "afterMs", after.as_millis());
            }
            _ => {}
        }
        data.raw("}");
    }
}
