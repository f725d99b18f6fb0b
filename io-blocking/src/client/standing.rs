//! How a client or a bot stands to its core: [`CoreState`], [`ConnectError`], [`CoreCallError`].

use core::fmt;
use core::time::Duration;

use agentwire_core::simplex::command::CommandError;
use agentwire_core::simplex::error::CoreRefusal;
use agentwire_core::simplex::profile::ProfileError;
use agentwire_core::simplex::{AskError, Disconnect, Outcome, Ready, StartError};

use crate::link::LinkError;

/// How a client or a bot stands to its core.
///
/// ```
/// use agentwire_blocking::client::CoreState;
/// fn is_there(state: &CoreState) -> bool {
///     matches!(state, CoreState::Ready(_))
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CoreState {
    /// The first connection is being made.
    Connecting,
    /// The core is started and answers.
    Ready(Ready),
    /// The core is there and cannot be used as it is. It is tried again.
    NotReady(StartError),
    /// There is no connection. It is tried again.
    Disconnected {
        /// What the session saw.
        why: Disconnect,
        /// What the socket said, if it did.
        error: Option<LinkError>,
        /// How long until the next attempt, counted from when this was said.
        wait: Duration,
        /// How many attempts there have been since the last stable connection.
        attempt: u32,
    },
}

impl fmt::Display for CoreState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Ready(ready) => write!(f, "user {} is ready", ready.user.0),
            Self::NotReady(error) => error.fmt(f),
            Self::Disconnected { error: Some(error), .. } => error.fmt(f),
            Self::Disconnected { why, .. } => why.fmt(f),
        }
    }
}

/// Why there is no client or bot.
///
/// ```
/// use agentwire_blocking::client::ConnectError;
/// use agentwire_blocking::link::LinkError;
/// let error = ConnectError::Link(LinkError::Url);
/// assert_eq!(error.to_string(), "the address is no ws:// or wss:// URL");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The core cannot be reached.
    Link(LinkError),
    /// The connection came about, and was given up.
    Lost(Disconnect),
    /// The core is there, and cannot be used as it is.
    Start(StartError),
    /// The core does not publish what a bot serves.
    Publish(CoreCallError),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => error.fmt(f),
            Self::Lost(why) => why.fmt(f),
            Self::Start(error) => error.fmt(f),
            Self::Publish(error) => write!(f, "the declarations were not published: {error}"),
        }
    }
}

impl core::error::Error for ConnectError {}

/// Why the core has not done what it was asked for.
///
/// ```
/// use agentwire_blocking::client::CoreCallError;
/// assert_eq!(CoreCallError::Embedded.to_string(), "the embedded loopback takes no commands");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CoreCallError {
    /// There is no core: the profile is one of the embedded loopback.
    Embedded,
    /// It was not asked.
    Ask(AskError),
    /// It refuses.
    Refused(CoreRefusal),
    /// There was no connection in time.
    NotSent,
    /// The connection ended, and nobody here can know what became of it.
    Unknown,
    /// The declarations cannot be written into the profile that there is.
    Profile(ProfileError),
    /// There is no such group, or no such member in it.
    NotFound,
    /// The link or name is the profile's own.
    Own,
    /// It answers with something else.
    Unexpected,
    /// The client's task has ended.
    Closed,
}

impl fmt::Display for CoreCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("the embedded loopback takes no commands"),
            Self::Ask(error) => error.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::NotSent => f.write_str("there was no connection in time"),
            Self::Unknown => f.write_str("the connection ended before the core had answered"),
            Self::Profile(error) => error.fmt(f),
            Self::NotFound => f.write_str("there is no such group or member"),
            Self::Own => f.write_str("the link is the profile's own"),
            Self::Unexpected => f.write_str("the core answers with something else"),
            Self::Closed => f.write_str("the client has ended"),
        }
    }
}

impl core::error::Error for CoreCallError {}

impl From<CommandError> for CoreCallError {
    fn from(error: CommandError) -> Self {
        Self::Ask(AskError::Command(error))
    }
}

impl CoreCallError {
    /// Why what was asked for has not ended well.
    #[doc(hidden)]
    #[must_use]
    pub fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Refused(refusal) => Self::Refused(refusal),
            Outcome::Profile(error) => Self::Profile(error),
            Outcome::NoSuchGroup => Self::NotFound,
            Outcome::NotSent => Self::NotSent,
            Outcome::Unknown => Self::Unknown,
            _ => Self::Unexpected,
        }
    }
}

impl ConnectError {
    /// What stands in the way in this state; `None` before anything is known.
    #[doc(hidden)]
    #[must_use]
    pub fn of(state: &CoreState) -> Option<Result<Ready, Self>> {
        Some(match state {
            CoreState::Connecting => return None,
            CoreState::Ready(ready) => Ok(ready.clone()),
            CoreState::NotReady(error) => Err(Self::Start(error.clone())),
            CoreState::Disconnected { error: Some(error), .. } => Err(Self::Link(error.clone())),
            CoreState::Disconnected { why, .. } => Err(Self::Lost(*why)),
        })
    }
}
