//! What is to be done, and what was dropped.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::ask::CallId;
use super::problem::Problem;
use crate::mcp::Method;

/// A message for the server.
///
/// ```
/// use agentwire_core::mcp::bridge::{Bridge, Config, Output};
/// let mut bridge = Bridge::new(Config::default());
/// bridge.connected(Default::default());
/// let Some(Output::Send(message)) = bridge.poll_output() else { panic!() };
/// assert_eq!(message.exchange, Some(1));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToServer {
    /// The exchange that it begins; the answer comes under this id. `None` for a message that has no
    /// answer.
    pub exchange: Option<u64>,
    /// The method of a request.
    pub method: Method,
    /// One line of JSON, without a line feed.
    pub text: String,
    /// Names and values of the headers that repeat arguments of a tool
    /// ([`http::params`](crate::mcp::http::params)).
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for ToServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToServer")
            .field("exchange", &self.exchange)
            .field("method", &self.method)
            .field("text", &format_args!("{} bytes", self.text.len()))
            .field("headers", &self.headers.len())
            .finish()
    }
}

/// The last message of a call.
///
/// ```
/// use agentwire_core::mcp::bridge::{Ask, Bridge, CallerId, Config, Output, Problem, Room, Via};
/// let mut bridge = Bridge::new(Config::default());
/// let ask = Ask { caller: CallerId(1), request: "{", room: Room::UNLIMITED, via: Via::OneShot };
/// bridge.begin(Default::default(), &ask);
/// let Some(Output::Answer { answer, .. }) = bridge.poll_output() else { panic!() };
/// assert!(answer.text.contains("-32700"));
/// assert!(matches!(answer.problem, Some(Problem::Request(_))));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Final {
    /// The response: one line of JSON with the caller's own id.
    pub text: String,
    /// Set where the response is an error of the bridge. A transport with errors of its own may have
    /// one for it ([`Problem::failure`], [`Problem::ConversationRequired`]).
    pub problem: Option<Problem>,
}

impl Final {
    /// A response that is not the bridge's own.
    ///
    /// ```
    /// use agentwire_core::mcp::bridge::Final;
    /// assert!(Final::new(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).problem.is_none());
    /// ```
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), problem: None }
    }
}

impl fmt::Debug for Final {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Final")
            .field("text", &format_args!("{} bytes", self.text.len()))
            .field("problem", &self.problem.as_ref().map(Problem::reason))
            .finish()
    }
}

/// What is to be done.
///
/// ```
/// use agentwire_core::mcp::bridge::{Bridge, Config};
/// assert!(Bridge::new(Config::default()).poll_output().is_none());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Output {
    /// Send this to the server.
    Send(ToServer),
    /// Nobody waits for this exchange any more. On a stream of lines send `text`; where each exchange
    /// has a stream of its own, end that.
    Cancel {
        /// The exchange.
        exchange: u64,
        /// `notifications/cancelled`.
        text: String,
    },
    /// Send this to the caller, before the answer.
    Notification {
        /// The call.
        call: CallId,
        /// One line of JSON with the caller's own token.
        text: String,
    },
    /// Send this to the caller; the call has ended.
    Answer {
        /// The call.
        call: CallId,
        /// The answer.
        answer: Final,
    },
}

/// How many messages of the server were dropped, by reason.
///
/// ```
/// use agentwire_core::mcp::bridge::Dropped;
/// assert_eq!(Dropped::default().late, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Messages above [`Config::max_message`](super::Config::max_message), notifications that their caller has no room for.
    pub overlong: u64,
    /// Bytes that are no text.
    pub not_utf8: u64,
    /// What is no message of the protocol, or one that no server may send.
    pub malformed: u64,
    /// Answers and notifications with an id or a token that was never given out.
    pub unknown: u64,
    /// Answers and notifications of an exchange that has ended: too late, or repeated.
    pub late: u64,
    /// Notifications that are tied to no call.
    pub unattributed: u64,
    /// Notifications that their call has not asked for.
    pub unasked: u64,
    /// Answers that were passed on although something in them is not as the revision has it.
    pub faulty: u64,
}

pub(super) fn count(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}
