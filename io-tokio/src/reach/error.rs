//! Why nobody was reached: [`ReachError`].

use core::fmt;

use agentwire_core::profile::NoRoute;

use crate::client::CoreCallError;

/// Why nobody was reached. Nothing was sent.
///
/// ```
/// use agentwire_tokio::reach::ReachError;
/// assert_eq!(ReachError::NoContact.to_string(), "the profile has no such contact");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReachError {
    /// The profile has no contact of the name or number.
    NoContact,
    /// The profile has no group of the name or number.
    NoGroup,
    /// The group has no such member that is present, or several of the name.
    NoMember,
    /// The link is the profile's own.
    Own,
    /// The link leads to something that cannot be called: a group, a channel, an invitation.
    NotAContact,
    /// The request goes into a conversation, and the profile is not connected to the address.
    NotConnected,
    /// There is no direct chat with the member.
    NoDirectChat,
    /// The request goes over Service RPC, and no address of the other side is known.
    NoAddress,
    /// No transport carries the request.
    NoRoute(NoRoute),
    /// The core does not say.
    Core(CoreCallError),
}

impl fmt::Display for ReachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoContact => f.write_str("the profile has no such contact"),
            Self::NoGroup => f.write_str("the profile is in no such group"),
            Self::NoMember => f.write_str("the group has no such member, or several of that name"),
            Self::Own => f.write_str("the address is the profile's own"),
            Self::NotAContact => f.write_str("the address is not one of a contact"),
            Self::NotConnected => f.write_str(
                "the request needs a conversation, and there is none with the address yet",
            ),
            Self::NoDirectChat => f.write_str("there is no direct chat with the member"),
            Self::NoAddress => f.write_str("no address for Service RPC is known"),
            Self::NoRoute(error) => error.fmt(f),
            Self::Core(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ReachError {}

impl From<CoreCallError> for ReachError {
    fn from(error: CoreCallError) -> Self {
        match error {
            CoreCallError::Own => Self::Own,
            error => Self::Core(error),
        }
    }
}

impl From<NoRoute> for ReachError {
    fn from(error: NoRoute) -> Self {
        Self::NoRoute(error)
    }
}
