//! What is recorded: each frame, and when connections begin and end.

use core::fmt;
use std::sync::Arc;

use agentwire_core::json;
use agentwire_core::loopback::api::ClientId;
use agentwire_core::time::Instant;

/// What happened at a connection.
///
/// ```
/// use agentwire_tokio::server::Direction;
/// assert_eq!(Direction::ToCore.name(), "to_core");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Direction {
    /// It was opened.
    Open,
    /// A frame of the client.
    ToCore,
    /// A frame for the client.
    FromCore,
    /// It was closed, by whomever.
    Close,
}

impl Direction {
    /// The name in a recording.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::ToCore => "to_core",
            Self::FromCore => "from_core",
            Self::Close => "close",
        }
    }
}

/// A line of a recording. `Display` writes it as a JSON object with its members in this order:
///
/// ```text
/// {"at":1234,"profile":"bot","client":"client 0","direction":"to_core","frame":"{\"corrId\":…}"}
/// ```
///
/// `at` is in milliseconds since the network began, `frame` is absent where there is none. `Debug`
/// does not show the frame.
///
/// ```
/// use agentwire_tokio::server::{Direction, Recorded};
/// fn is_command(recorded: &Recorded) -> bool {
///     recorded.direction == Direction::ToCore
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// When.
    pub at: Instant,
    /// Whose core.
    pub profile: Arc<str>,
    /// Which connection.
    pub client: ClientId,
    /// What happened.
    pub direction: Direction,
    /// The frame, with what is not UTF-8 replaced.
    pub frame: Option<Arc<str>>,
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = self.client.to_string();
        f.write_str(&json::to_text(|out| {
            let at = i64::try_from(self.at.as_millis()).unwrap_or(i64::MAX);
            out.raw("{\"at\":").int(at).raw(",\"profile\":").string(&self.profile);
            out.raw(",\"client\":").string(&client);
            out.raw(",\"direction\":").string(self.direction.name());
            if let Some(frame) = &self.frame {
                out.raw(",\"frame\":").string(frame);
            }
            out.raw("}");
        }))
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded")
            .field("at", &self.at)
            .field("profile", &self.profile)
            .field("client", &self.client)
            .field("direction", &self.direction)
            .field("frame_len", &self.frame.as_ref().map(|frame| frame.len()))
            .finish()
    }
}
