//! What a caller asks, and who that is.

use core::fmt;

use super::config::Room;

/// Who calls: whoever gets the private results of this number is one and the same.
///
/// ```
/// use agentwire_core::mcp::bridge::CallerId;
/// assert!(CallerId(1) < CallerId(2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(clippy::exhaustive_structs)] // A driver's own number.
pub struct CallerId(pub u64);

/// A call that was begun.
///
/// ```
/// use agentwire_core::mcp::bridge::{Ask, Bridge, CallerId, Config, Room, Via};
/// use agentwire_core::time::Instant;
/// let mut bridge = Bridge::new(Config::default());
/// let ask = Ask { caller: CallerId(1), request: "", room: Room::UNLIMITED, via: Via::OneShot };
/// assert_ne!(bridge.begin(Instant::ZERO, &ask), bridge.begin(Instant::ZERO, &ask));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(pub(super) u64);

/// How an answer gets to its caller.
///
/// ```
/// use agentwire_core::mcp::bridge::Via;
/// assert_ne!(Via::Conversation, Via::OneShot);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_enums)] // The document has two transports.
pub enum Via {
    /// Notifications may come before it.
    Conversation,
    /// It is the one message there is.
    OneShot,
}

/// What a caller asks.
///
/// ```
/// use agentwire_core::mcp::bridge::{Ask, CallerId, Room, Via};
/// let ask = Ask { caller: CallerId(1), request: "{}", room: Room::UNLIMITED, via: Via::OneShot };
/// assert_eq!(format!("{ask:?}"), "Ask { caller: CallerId(1), request: 2 bytes, via: OneShot }");
/// ```
#[derive(Clone, Copy)]
#[allow(clippy::exhaustive_structs)] // A driver builds it.
pub struct Ask<'a> {
    /// Who asks.
    pub caller: CallerId,
    /// The request, as it was written.
    pub request: &'a str,
    /// The room that the answer has.
    pub room: Room,
    /// How the answer goes.
    pub via: Via,
}

impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("caller", &self.caller)
            .field("request", &format_args!("{} bytes", self.request.len()))
            .field("via", &self.via)
            .finish()
    }
}
