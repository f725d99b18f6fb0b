//! What a bridge is told: limits, times, options.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::json::length;

/// What a [`Bridge`](super::Bridge) is told. The defaults suit a server on the same machine.
///
/// ```
/// use agentwire_core::mcp::bridge::Config;
/// let config = Config { legacy: true, ..Config::default() };
/// assert_eq!(config.max_calls, 256);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)] // A user builds it from the default.
pub struct Config {
    /// How the bridge calls itself at the server (`clientInfo`).
    pub name: String,
    /// The version beside that name.
    pub version: String,
    /// How long the server has to answer the opening `server/discover`.
    pub open_timeout: Duration,
    /// How long a call may be without a sign of the server; progress begins it anew.
    pub idle_timeout: Duration,
    /// How long a call may take in all.
    pub total_timeout: Duration,
    /// Calls of all callers that are open at once.
    pub max_calls: usize,
    /// Calls of one caller that are open at once.
    pub max_per_caller: usize,
    /// Bytes of a request, or of one message of the server.
    pub max_message: usize,
    /// Bytes of one list, all pages of the server together.
    pub max_list: usize,
    /// Bytes of all lists that are kept.
    pub max_kept: usize,
    /// What becomes of log messages, which name no request.
    pub attribution: Attribution,
    /// Whether a server of an older revision is adapted instead of refused.
    pub legacy: bool,
    /// Whether `subscriptions/listen` is passed on. Else it is answered with -32601, and the server's
    /// capabilities are shown without the notifications that it serves.
    pub subscriptions: bool,
    /// Whether the server is on Streamable HTTP: calls of tools then come with the headers that the
    /// tool's schema asks for ([`ToServer::headers`](super::ToServer::headers)), the list of tools is
    /// asked for before the first one, and tools whose schema cannot be followed are left out of it.
    pub http: bool,
    /// Tools whose calls need a conversation, by name. Besides them those are marked whose
    /// definition has [`META_CONVERSATION`](super::META_CONVERSATION) in its `_meta`.
    pub conversation_tools: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: "agentwire".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            open_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(60),
            total_timeout: Duration::from_secs(600),
            max_calls: 256,
            max_per_caller: 64,
            max_message: 16 * 1024 * 1024,
            max_list: 4 * 1024 * 1024,
            max_kept: 16 * 1024 * 1024,
            attribution: Attribution::default(),
            legacy: false,
            subscriptions: false,
            http: false,
            conversation_tools: Vec::new(),
        }
    }
}

/// What becomes of `notifications/message`, which is tied to its request by the stream alone.
///
/// On a stream of its own each call gets its own. On a shared one nothing tells two calls apart.
///
/// ```
/// use agentwire_core::mcp::bridge::Attribution;
/// assert_eq!(Attribution::default(), Attribution::Alone);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Attribution {
    /// A call gets them while no other is in flight, or may still be; else nobody does.
    #[default]
    Alone,
    /// The server gets one call at a time; the others wait, within their limits.
    OneAtATime,
}

/// How much room an answer has, and how its length is counted.
///
/// ```
/// use agentwire_core::mcp::bridge::Room;
/// let room = Room::escaped(10);
/// assert_eq!(room.needed("\"12345\""), 9);
/// assert!(room.fits("\"123456\"") && !room.fits("\"1234567\""));
/// assert!(Room::UNLIMITED.fits("\"1234567\""));
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Room {
    /// The limit, in the unit of the measure.
    pub limit: usize,
    measure: fn(&str) -> usize,
}

impl Room {
    /// As much as one likes.
    pub const UNLIMITED: Self = Self { limit: usize::MAX, measure: str::len };

    /// Bytes of a JSON string that holds the text: a message in a conversation.
    pub const fn escaped(limit: usize) -> Self {
        Self { limit, measure: length::escaped_len }
    }

    /// Another measure. It is asked about whole messages and about single values in them, and has to
    /// give for a whole not more than for its parts together.
    pub const fn new(limit: usize, measure: fn(&str) -> usize) -> Self {
        Self { limit, measure }
    }

    /// What a text takes.
    pub fn needed(&self, text: &str) -> usize {
        (self.measure)(text)
    }

    /// Whether a text fits.
    pub fn fits(&self, text: &str) -> bool {
        self.limit == usize::MAX || self.needed(text) <= self.limit
    }
}

impl core::fmt::Debug for Room {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Room({})", self.limit)
    }
}
