//! A line of a recording.

use alloc::string::String;

use crate::json::{Object, Str};
use crate::time::Instant;

/// What happened at a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_enums)] // What the format has.
pub enum LineKind {
    /// It was opened.
    Open,
    /// A frame of the client.
    ToCore,
    /// A frame of the core.
    FromCore,
    /// It was closed.
    Close,
}

/// A line of a recording: what happened at one connection to a core.
///
/// ```
/// use agentwire_core::simplex::replay::{Line, LineKind};
/// let text = r#"{"at":12,"profile":"bot","client":"client 0","direction":"open"}"#;
/// let line = Line::parse(text).unwrap();
/// assert_eq!((line.kind, line.profile.as_str()), (LineKind::Open, "bot"));
/// assert!(Line::parse(r#"{"at":12}"#).is_none());
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// When.
    pub at: Instant,
    /// Whose core.
    pub profile: String,
    /// Which connection.
    pub client: String,
    /// What happened.
    pub kind: LineKind,
    /// The frame; empty where there is none.
    pub frame: String,
}

impl Line {
    /// Reads a line; none if it is no line of a recording.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let object = Object::parse(text).ok()?;
        let string = |name| -> Option<String> { object.str(name).ok()?.map(decoded) };
        let kind = match string("direction")?.as_str() {
            "open" => LineKind::Open,
            "to_core" => LineKind::ToCore,
            "from_core" => LineKind::FromCore,
            "close" => LineKind::Close,
            _ => return None,
        };
        let at = u64::try_from(object.get("at").ok()??.as_integer()?).ok()?;
        let is_frame = matches!(kind, LineKind::ToCore | LineKind::FromCore);
        let frame = string("frame");
        if frame.is_some() != is_frame {
            return None;
        }
        Some(Self {
            at: Instant::from_millis(at),
            profile: string("profile")?,
            client: string("client")?,
            kind,
            frame: frame.unwrap_or_default(),
        })
    }
}

impl core::fmt::Debug for Line {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Line")
            .field("at", &self.at)
            .field("profile", &self.profile)
            .field("client", &self.client)
            .field("kind", &self.kind)
            .field("frame_len", &self.frame.len())
            .finish()
    }
}

pub(super) fn decoded(text: Str<'_>) -> String {
    text.chars().collect()
}

/// A recorded command frame: its `corrId` and its command.
pub(super) fn command_frame(frame: &str) -> Option<(String, String)> {
    let object = Object::parse(frame).ok()?;
    let string = |name| -> Option<String> { object.str(name).ok()?.map(decoded) };
    Some((string("corrId")?, string("cmd")?))
}
