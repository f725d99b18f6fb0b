//! The Model Context Protocol, revision 2026-07-28 and later: the binding to SimpleX, a strict check
//! of whole messages, and a bridge between callers and a server.
//!
//! # On the wire
//!
//! Every request carries what earlier revisions settled in a handshake:
//!
//! ```text
//! {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{
//!     "name":"add","arguments":{"a":1},
//!     "_meta":{
//!         "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!         "io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},
//!         "progressToken":"p"}}}
//! ```
//!
//! Notifications may come before the response; the response ends the request. A result says in
//! `resultType` whether it is `complete` or `input_required`, which asks for a new request that
//! brings the input ([`InputRequired`]). There is no session, no batch, and no request from a server.
//!
//! # What is here
//!
//! | part | what it does |
//! |---|---|
//! | [`Mcp`] | the binding: which message ends a call, which error says what |
//! | [`Asked`], [`Answer`], [`Notice`] | the check of a request, a response, a notification |
//! | [`Fault`] | what is wrong, and the path to it |
//! | [`InputRequired`], [`Retry`] | several round trips |
//! | [`Progress`], [`Tie`] | what ties notifications to requests |
//! | [`Caching`], [`Scope`] | how long a result can be kept, and for whom |
//! | [`write_unsupported_version`] and its kin | errors with their data |
//! | `pins` (feature `canonical`) | tool definitions pinned at first sight |
//! | [`http`] | the headers of Streamable HTTP |
//! | `bridge` (feature `alloc`) | many callers, one server |
//!
//! The checks are stricter than the published JSON schema, which takes a notification with an id, a
//! response with both a result and an error, an answer to `tools/call` without content, a request for
//! input that asks for nothing, and any string as `resultType`. A message of a later revision passes
//! with what all revisions from 2026-07-28 on have in common.

mod binding;
#[cfg(feature = "alloc")]
pub mod bridge;
mod caching;
mod check;
mod error;
mod fault;
pub mod http;
mod method;
#[cfg(feature = "canonical")]
pub mod pins;
mod retry;
mod shape;
mod shapes;
#[cfg(test)]
mod tests;

pub use binding::Mcp;
pub use caching::{Caching, Scope};
pub use check::{Answer, Asked, Capabilities, Notice, Progress, Rejected, Tie, Way};
pub use error::{
    HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION, write_cancelled,
    write_missing_capability, write_unsupported_version,
};
pub use fault::{Fault, Flaw, Kind};
pub use method::Method;
pub use retry::{InputRequired, Retry};

/// The first revision that this binding carries. Earlier ones begin with an `initialize`
/// handshake ("Versions and capabilities").
pub const REVISION: &str = "2026-07-28";
/// The `_meta` key that names the request's revision.
pub const META_PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key that holds the client's capabilities.
pub const META_CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The `_meta` key that names the client's software.
pub const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The `_meta` key that asks for `notifications/message`.
pub const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The `_meta` key of a result that names the server's software.
pub const META_SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The `_meta` key that ties a notification to a `subscriptions/listen` request.
pub const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// The `_meta` key that asks for progress, and the member that progress names it by.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The method of progress notifications.
pub const PROGRESS: &str = "notifications/progress";
/// The method of log messages.
pub const LOGGED: &str = "notifications/message";
/// The method of cancellations.
pub const CANCELLED: &str = "notifications/cancelled";

/// [`REVISION`] or a later one, by its name.
///
/// ```
/// use agentwire_core::mcp::Revision;
/// assert!(Revision::new("2027-01-01").unwrap().is_later());
/// assert!(Revision::new("2025-11-25").is_none());
/// assert_eq!(Revision::default().get(), "2026-07-28");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Revision([u8; REVISION.len()]);

impl Revision {
    /// The revision of that name, if it is [one](is_revision).
    pub fn new(name: &str) -> Option<Self> {
        if is_revision(name) { name.as_bytes().try_into().ok().map(Self) } else { None }
    }

    /// Its name.
    pub fn get(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or(REVISION)
    }

    /// Whether it is later than [`REVISION`].
    pub fn is_later(&self) -> bool {
        self.get() != REVISION
    }
}

impl Default for Revision {
    fn default() -> Self {
        let mut name = [0; REVISION.len()];
        name.copy_from_slice(REVISION.as_bytes());
        Self(name)
    }
}

impl core::fmt::Debug for Revision {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.get())
    }
}

/// Whether a name is that of [`REVISION`] or of a later one: revisions are dates, `YYYY-MM-DD`, and
/// sort as text.
///
/// ```
/// use agentwire_core::mcp::is_revision;
/// assert!(is_revision("2026-07-28") && is_revision("2027-01-01"));
/// assert!(!is_revision("2025-11-25") && !is_revision("2026-7-28") && !is_revision("draft"));
/// ```
pub fn is_revision(name: &str) -> bool {
    name.len() == REVISION.len()
        && name.bytes().zip(REVISION.bytes()).all(|(byte, pattern)| match pattern {
            b'-' => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
        && name >= REVISION
}
