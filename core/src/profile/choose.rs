//! The choice between the two transports.

use core::fmt;

use super::protocols::Served;

/// One of the two transports ("Overview").
///
/// ```
/// use agentwire_core::profile::{Route, Transport};
/// assert_eq!(Route::GroupChat.transport(), Transport::Chat);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_enums)] // The document has two.
pub enum Transport {
    /// Commands and replies in a conversation.
    Chat,
    /// Service RPC: one request and one response.
    Rpc,
}

/// Where a request goes.
///
/// ```
/// use agentwire_core::profile::{Route, Transport};
/// assert_eq!(Route::Rpc.transport(), Transport::Rpc);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // The document has two transports and two places to chat in.
pub enum Route {
    /// A direct chat with the contact, or with the member of the group.
    DirectChat,
    /// The group's chat.
    GroupChat,
    /// A Service RPC request to the contact address.
    Rpc,
}

impl Route {
    /// The transport of the route.
    pub const fn transport(self) -> Transport {
        match self {
            Self::DirectChat | Self::GroupChat => Transport::Chat,
            Self::Rpc => Transport::Rpc,
        }
    }
}

/// Who is to be called, and what is known of how.
///
/// ```
/// use agentwire_core::profile::{Served, Target};
/// // A contact address whose profile declares both transports:
/// let contact = Target::Contact { chat: Served::Yes, rpc: Served::Yes, address_known: true };
/// // A member of a group that lets its members write to each other, of whose address nothing is
/// // known, because groups remove preferences from their members' profiles:
/// let member = Target::Member {
///     chat: Served::Unknown,
///     direct_messages: true,
///     rpc: Served::Unknown,
///     address_known: false,
/// };
/// assert_ne!(contact, member);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // A caller builds it: a direct chat or a group, as `Place`.
pub enum Target {
    /// A contact or a contact address, a business address among them.
    Contact {
        /// [`Declarations::chat`](super::Declarations::chat) of its preferences, or of those of
        /// the business chat with it.
        chat: Served,
        /// [`Declarations::rpc`](super::Declarations::rpc) of its preferences.
        rpc: Served,
        /// Whether its contact address is known: a contact that was made otherwise may have none,
        /// and without one there is no Service RPC.
        address_known: bool,
    },
    /// A member of a group, or with a broadcast all of them.
    Member {
        /// [`Declarations::chat`](super::Declarations::chat) of the group's preferences.
        chat: Served,
        /// Whether one member is called, and the group lets members write to each other directly.
        direct_messages: bool,
        /// [`Declarations::rpc`](super::Declarations::rpc) of the member's own preferences, where
        /// they are known.
        rpc: Served,
        /// Whether a contact address of the member is known: without one there is no Service RPC.
        address_known: bool,
    },
}

/// What a request needs. The default is a short request with one answer, for anybody to see.
///
/// ```
/// use agentwire_core::profile::{Needs, Transport};
/// let mut needs = Needs::default();
/// needs.private = true;
/// needs.insist = Some(Transport::Rpc);
/// assert!(!needs.stream);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct Needs {
    /// Several replies: a stream, notifications before the result.
    pub stream: bool,
    /// A conversation: a context or a task that goes on, questions back, work that takes longer
    /// than Service RPC waits.
    pub conversation: bool,
    /// Nobody but the callee sees it.
    pub private: bool,
    /// It holds a credential.
    pub credential: bool,
    /// The request or its expected response exceeds what Service RPC carries.
    pub too_large_for_rpc: bool,
    /// The command or its expected reply exceeds what a message carries.
    pub too_large_for_chat: bool,
    /// The caller wants this transport and no other, also where nothing is declared.
    pub insist: Option<Transport>,
}

/// What keeps a request from a transport.
///
/// ```
/// use agentwire_core::profile::Obstacle;
/// assert_eq!(Obstacle::Stream.sentence(), "a stream needs a conversation");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Obstacle {
    /// The transport is declared not to be served for the protocol.
    NotServed,
    /// No contact address is known that a request could be sent to.
    NoAddress,
    /// Nothing is declared, and unknown means chat.
    Undeclared,
    /// Several replies need a conversation (A2A binding, "Streaming").
    Stream,
    /// The request needs a conversation (A2A binding, "Service RPC").
    Conversation,
    /// The request or its response is too large for the transport.
    TooLarge,
    /// Every member of the group would see it ("Privacy considerations"), and the group does not
    /// let its members write to each other directly, or all of them are called.
    Private,
    /// A credential must not be sent in a group ("Callers and authorization"), and there is no
    /// direct chat, as for [`Private`](Self::Private).
    Credential,
}

impl Obstacle {
    /// A sentence for people, without the full stop.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NotServed => "the protocol is declared not to be served there",
            Self::NoAddress => "no contact address is known",
            Self::Undeclared => "nothing is declared, and unknown means chat",
            Self::Stream => "a stream needs a conversation",
            Self::Conversation => "the request needs a conversation",
            Self::TooLarge => "the request or its response is too large",
            Self::Private => "every member of the group would see it",
            Self::Credential => "a credential must not be sent in a group",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// Why a route was chosen.
///
/// ```
/// use agentwire_core::profile::{Obstacle, Why};
/// assert_eq!(Why::NotRpc(Obstacle::Stream).to_string(), "not Service RPC: a stream needs a conversation");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Why {
    /// Service RPC is declared, and the request suits it.
    Declared,
    /// The caller insists.
    Insisted,
    /// Chat, because of what keeps the request from Service RPC.
    NotRpc(Obstacle),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declared => f.write_str("Service RPC is declared and suits the request"),
            Self::Insisted => f.write_str("the caller insists"),
            Self::NotRpc(obstacle) => write!(f, "not Service RPC: {obstacle}"),
        }
    }
}

/// A route, and why.
///
/// ```
/// use agentwire_core::profile::{Needs, Route, Served, Target, Why, choose};
/// let target = Target::Contact { chat: Served::Yes, rpc: Served::Yes, address_known: true };
/// let choice = choose(&target, &Needs::default()).unwrap();
/// assert_eq!((choice.route, choice.why), (Route::Rpc, Why::Declared));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Choice {
    /// Where the request goes.
    pub route: Route,
    /// Why it goes over this transport.
    pub why: Why,
}

/// There is no route: what keeps the request from each transport that was considered.
///
/// ```
/// use agentwire_core::profile::{Needs, Obstacle, Served, Target, choose};
/// let target = Target::Contact { chat: Served::No, rpc: Served::Yes, address_known: true };
/// let mut needs = Needs::default();
/// needs.stream = true;
/// let error = choose(&target, &needs).unwrap_err();
/// assert_eq!((error.chat, error.rpc), (Some(Obstacle::NotServed), Some(Obstacle::Stream)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct NoRoute {
    /// What keeps it from chat; `None` where the caller insists on Service RPC.
    pub chat: Option<Obstacle>,
    /// What keeps it from Service RPC; `None` where the caller insists on chat.
    pub rpc: Option<Obstacle>,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no transport carries the request")?;
        for (name, obstacle) in [("chat", self.chat), ("Service RPC", self.rpc)] {
            if let Some(obstacle) = obstacle {
                write!(f, "; {name}: {obstacle}")?;
            }
        }
        Ok(())
    }
}

impl core::error::Error for NoRoute {}

/// Chooses the transport for a request.
///
/// | the callee declares | the request | goes |
/// |---|---|---|
/// | `transports.rpc` | suits one request and one response | over Service RPC |
/// | `transports.rpc` | is a stream, needs a conversation, is too large | into the chat |
/// | `transports.rpc` | whatever it is, and no contact address is known | into the chat |
/// | nothing | whatever it is | into the chat, unless the caller insists |
/// | `transports.chat` alone | whatever it is | into the chat |
///
/// In a group, what is private or holds a credential goes into a direct chat with the member or
/// over Service RPC, never into the group; that holds whatever the caller insists on. A direct
/// chat with a member is open to what the group's preferences say nothing of, so only its own
/// obstacles count there.
///
/// # Errors
/// [`NoRoute`] when each transport has an obstacle. A transport that is declared not to be served
/// has one even if the caller insists on it.
///
/// ```
/// use agentwire_core::profile::{Needs, Obstacle, Route, Served, Target, Transport, Why, choose};
///
/// let unknown = Target::Contact { chat: Served::Unknown, rpc: Served::Unknown, address_known: true };
/// let choice = choose(&unknown, &Needs::default()).unwrap();
/// assert_eq!((choice.route, choice.why), (Route::DirectChat, Why::NotRpc(Obstacle::Undeclared)));
///
/// let mut needs = Needs::default();
/// needs.insist = Some(Transport::Rpc);
/// assert_eq!(choose(&unknown, &needs).unwrap().route, Route::Rpc);
/// ```
pub fn choose(target: &Target, needs: &Needs) -> Result<Choice, NoRoute> {
    let chat = chat(target, needs);
    let rpc = rpc(target, needs);
    match needs.insist {
        Some(Transport::Chat) => match chat {
            Ok(route) => Ok(Choice { route, why: Why::Insisted }),
            Err(obstacle) => Err(NoRoute { chat: Some(obstacle), rpc: None }),
        },
        Some(Transport::Rpc) => match rpc {
            Ok(()) => Ok(Choice { route: Route::Rpc, why: Why::Insisted }),
            Err(obstacle) => Err(NoRoute { chat: None, rpc: Some(obstacle) }),
        },
        None => match (chat, rpc) {
            (_, Ok(())) => Ok(Choice { route: Route::Rpc, why: Why::Declared }),
            (Ok(route), Err(obstacle)) => Ok(Choice { route, why: Why::NotRpc(obstacle) }),
            (Err(chat), Err(rpc)) => Err(NoRoute { chat: Some(chat), rpc: Some(rpc) }),
        },
    }
}

/// Where a chat would be, or what keeps the request from it.
fn chat(target: &Target, needs: &Needs) -> Result<Route, Obstacle> {
    let (route, served) = match *target {
        Target::Contact { chat, .. } => (Route::DirectChat, chat),
        Target::Member { chat, direct_messages, .. } => {
            let hidden = if needs.credential {
                Some(Obstacle::Credential)
            } else if needs.private {
                Some(Obstacle::Private)
            } else {
                None
            };
            match hidden {
                None => (Route::GroupChat, chat),
                Some(_) if direct_messages => (Route::DirectChat, Served::Unknown),
                Some(obstacle) => return Err(obstacle),
            }
        }
    };
    if served == Served::No {
        return Err(Obstacle::NotServed);
    }
    if needs.too_large_for_chat {
        return Err(Obstacle::TooLarge);
    }
    Ok(route)
}

/// What keeps the request from Service RPC.
fn rpc(target: &Target, needs: &Needs) -> Result<(), Obstacle> {
    let (served, address_known) = match *target {
        Target::Contact { rpc, address_known, .. } | Target::Member { rpc, address_known, .. } => {
            (rpc, address_known)
        }
    };
    if served == Served::No {
        return Err(Obstacle::NotServed);
    }
    if !address_known {
        return Err(Obstacle::NoAddress);
    }
    if needs.stream {
        return Err(Obstacle::Stream);
    }
    if needs.conversation {
        return Err(Obstacle::Conversation);
    }
    if needs.too_large_for_rpc {
        return Err(Obstacle::TooLarge);
    }
    if served == Served::Unknown && needs.insist != Some(Transport::Rpc) {
        return Err(Obstacle::Undeclared);
    }
    Ok(())
}
