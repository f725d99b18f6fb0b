//! What goes into a session and what comes out of it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::chat;
use crate::chat::session::Origin;
use crate::chat::{Chat, ItemId};
use crate::rpc::RequestId;
use crate::rpc::session::ServiceEvent;
use crate::simplex::command::CommandError;
use crate::simplex::error::CoreRefusal;
use crate::simplex::frame::{Frame, FrameError};
#[cfg(doc)]
use crate::simplex::journal::Journal;
use crate::simplex::journal::{Change, Silence};
use crate::simplex::{CoreVersion, UserId};
use crate::time::Instant;

/// A connection to the core. Both go to the same address.
///
/// ```
/// use agentwire_core::simplex::Link;
/// assert_ne!(Link::Chat, Link::Service);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // One for what answers at once, one for what blocks.
pub enum Link {
    /// Carries everything that the core answers at once. It is always wanted.
    Chat,
    /// Carries own Service RPC requests, each of which holds it until the response is there. It is
    /// wanted from the first request on.
    Service,
}

impl Link {
    pub(super) const ALL: [Self; 2] = [Self::Chat, Self::Service];
}

/// What happened.
///
/// ```
/// use agentwire_core::simplex::{Input, Link};
/// let input = Input::Frame(Link::Chat, r#"{"resp":{"type":"chatStarted"}}"#);
/// assert!(matches!(input, Input::Frame(Link::Chat, _)));
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Input<'i> {
    /// A connection that was asked for is there.
    Connected(Link),
    /// A connection has ended, or did not come about. Not to be said of one that the session
    /// itself had [given up](Output::Disconnect).
    Disconnected(Link),
    /// A text frame has arrived.
    Frame(Link, &'i str),
    /// A binary frame of this many bytes, or a frame larger than
    /// [`MAX_FRAME_LEN`](crate::simplex::frame::MAX_FRAME_LEN), has arrived: the core sends
    /// neither.
    Unreadable(Link, usize),
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected(link) => write!(f, "Connected({link:?})"),
            Self::Disconnected(link) => write!(f, "Disconnected({link:?})"),
            Self::Frame(link, text) => write!(f, "Frame({link:?}, {} bytes)", text.len()),
            Self::Unreadable(link, len) => write!(f, "Unreadable({link:?}, {len} bytes)"),
        }
    }
}

/// A text frame to send.
///
/// ```
/// use agentwire_core::simplex::Transmit;
/// fn show(transmit: &Transmit) -> String {
///     format!("{:?}: {} bytes", transmit.link, transmit.frame.len())
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transmit {
    /// On which connection.
    pub link: Link,
    /// The frame.
    pub frame: String,
}

impl fmt::Debug for Transmit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transmit({:?}, {} bytes)", self.link, self.frame.len())
    }
}

/// What there is to do.
///
/// ```
/// use agentwire_core::simplex::{Link, Output, Session};
/// use agentwire_core::binding::Standard;
/// let mut session = Session::<Standard>::new(Default::default(), Vec::new(), 1);
/// assert!(matches!(session.poll_output(), Output::Connect(Link::Chat)));
/// ```
#[derive(Debug)]
#[must_use]
#[allow(clippy::exhaustive_enums)]
pub enum Output<B> {
    /// Begin to connect, and say how it went with [`Input::Connected`] or
    /// [`Input::Disconnected`].
    Connect(Link),
    /// Give the connection, or the attempt to connect, up at once. Nothing more is to be said of
    /// it.
    Disconnect(Link),
    /// Send this frame. If that cannot be done, the connection has ended.
    Transmit(Transmit),
    /// Keep these changes of the call journal before going on: what follows rests on them. It comes
    /// only where a [durable](Journal::durable) journal was [given](super::Session::keep_journal).
    /// What cannot be kept has not happened: nothing that follows may be done then.
    Save(Vec<Change>),
    /// The application learns this.
    Event(Event<B>),
    /// Nothing more is to be done before the next input or this time.
    Timeout(Option<Instant>),
}

/// What the application learns.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::simplex::Event;
/// fn is_ready(event: &Event<Standard>) -> bool {
///     matches!(event, Event::Ready(_))
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<B> {
    /// The core is started and answers: calls go out, and messages come in. It comes again after
    /// each reconnect.
    Ready(Ready),
    /// The core is there, and the session cannot be started on it. It is tried again.
    NotReady(StartError),
    /// A connection has ended or did not come about. It is tried again after the wait.
    Disconnected {
        /// Which one.
        link: Link,
        /// Why.
        why: Disconnect,
        /// How long until the next attempt.
        wait: Duration,
        /// How many attempts there have been since the last stable connection.
        attempt: u32,
    },
    /// Calls and commands in conversations.
    Chat(chat::session::Event<B>),
    /// The core has taken a message: it will deliver it.
    Sent {
        /// What it is.
        origin: Origin,
        /// Where.
        chat: Chat,
        /// Its own id.
        item: ItemId,
    },
    /// A message was not sent, and will not be. For the command of a call,
    /// [`NotSent`](chat::session::Event::NotSent) follows.
    NotSent {
        /// What it is.
        origin: Origin,
        /// Where.
        chat: Chat,
        /// Why.
        why: NotSent,
    },
    /// Whether a message was sent cannot be found out. It is not sent again; a call has ended.
    OutcomeUnknown {
        /// What it is.
        origin: Origin,
        /// Where.
        chat: Chat,
    },
    /// A command was seen again. If it is to be answered again, that has begun; otherwise nothing
    /// is said to it.
    Repeated {
        /// Where.
        chat: Chat,
        /// The command's item.
        item: ItemId,
        /// Why nothing is said; `None` if the stored answer is sent.
        silence: Option<Silence>,
    },
    /// The core had taken a message, and gives it up.
    Undelivered {
        /// Where.
        chat: Chat,
        /// Its own id.
        item: ItemId,
    },
    /// Requests and responses over Service RPC.
    Service(ServiceEvent<B>),
    /// The core has taken the response to a request.
    ResponseSent(RequestId),
    /// The core does not take the response to a request: the requester meets silence.
    ResponseNotSent {
        /// Which request.
        request: RequestId,
        /// Why.
        refusal: CoreRefusal,
    },
    /// The error for a request was left out, since too much waits to be sent: whoever floods meets
    /// silence in the end.
    ResponseDropped {
        /// Which request.
        request: RequestId,
        /// How many commands wait.
        capacity: usize,
    },
    /// What the application asked the core for has come to an end.
    Done {
        /// What it asked for.
        command: CommandId,
        /// How it ended.
        outcome: Outcome,
    },
    /// Something else has happened at the core: a contact, a wish to connect, a group, or an
    /// event that this crate does not know, by its name.
    Core(OwnedFrame),
    /// The core reports an error by itself.
    CoreError(CoreRefusal),
    /// A frame was not read.
    Garbage {
        /// Where it came from.
        link: Link,
        /// Why.
        error: Garbage,
    },
}

/// How a session stands to its core.
///
/// ```
/// use agentwire_core::simplex::{Ready, ServiceRequests};
/// fn show(ready: &Ready) -> String {
///     match ready.service_requests {
///         ServiceRequests::Off(why) => format!("as {}, without Service RPC: {why}", ready.name),
///         _ => format!("as {}", ready.name),
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Ready {
    /// Which user speaks.
    pub user: UserId,
    /// The user's name.
    pub name: String,
    /// The core's version, if it says one.
    pub version: Option<CoreVersion>,
    /// Whether Service RPC requests of others are let in.
    pub service_requests: ServiceRequests,
    /// Whether this is a reconnect.
    pub is_again: bool,
}

/// Whether Service RPC requests of others are let in.
///
/// ```
/// use agentwire_core::simplex::{ServiceRequests, WhyOff};
/// assert_ne!(ServiceRequests::On, ServiceRequests::Off(WhyOff::StillRunning));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)]
pub enum ServiceRequests {
    /// They are: the core was started so.
    On,
    /// Nobody has asked for it.
    NotWanted,
    /// They are not, though they should be.
    Off(WhyOff),
}

/// Why Service RPC requests are not let in.
///
/// ```
/// use agentwire_core::simplex::WhyOff;
/// assert!(WhyOff::NotKnown.to_string().contains("service_requests"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum WhyOff {
    /// The core does not know the option: it is too old.
    NotKnown,
    /// The chat runs already and cannot be stopped, so the option is not applied.
    CannotStop,
    /// The chat was stopped and runs again before it could be started with the option: something
    /// else starts it.
    StillRunning,
}

impl fmt::Display for WhyOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotKnown => "the core does not know service_requests=on: a newer one is needed",
            Self::CannotStop => {
                "the chat runs without service_requests=on and cannot be stopped; start the core \
                 in maintenance mode"
            }
            Self::StillRunning => {
                "something else starts the chat without service_requests=on; start the core in \
                 maintenance mode"
            }
        })
    }
}

/// Why a session cannot be started on a core.
///
/// ```
/// use agentwire_core::simplex::{CoreVersion, StartError};
/// let error = StartError::TooOld(CoreVersion::new(6, 4, 0, 0));
/// assert_eq!(error.to_string(), "the core is 6.4.0.0, at least 6.5.0.0 is needed");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The core is older than [`MIN_CORE_VERSION`](crate::simplex::MIN_CORE_VERSION).
    TooOld(CoreVersion),
    /// The core has no user yet.
    NoUser,
    /// Another user than the wanted one is active, and stays so.
    WrongUser {
        /// Which one is wanted.
        wanted: UserId,
        /// Why it did not become the active one, if the core says so.
        refusal: Option<CoreRefusal>,
    },
    /// The core refuses a step of the start.
    Refused {
        /// The command.
        command: &'static str,
        /// Why.
        refusal: CoreRefusal,
    },
    /// The core answers a step of the start with something else.
    Unexpected {
        /// The command.
        command: &'static str,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooOld(version) => write!(
                f,
                "the core is {version}, at least {} is needed",
                crate::simplex::MIN_CORE_VERSION
            ),
            Self::NoUser => f.write_str("the core has no user yet: create one first"),
            Self::WrongUser { wanted: UserId(id), .. } => {
                write!(f, "user {id} is not the active one and cannot be made so")
            }
            Self::Refused { command, refusal } => write!(f, "{command}: {refusal}"),
            Self::Unexpected { command } => {
                write!(f, "{command}: the core answers with something else")
            }
        }
    }
}

impl core::error::Error for StartError {}

/// Why there is no connection.
///
/// ```
/// use agentwire_core::simplex::Disconnect;
/// assert_eq!(Disconnect::Stuck.to_string(), "the core does not answer");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Disconnect {
    /// It has ended, or did not come about.
    Ended,
    /// It did not come about in time.
    ConnectTimeout,
    /// The core did not answer a command in time.
    Stuck,
    /// The session cannot be started on the core.
    NotReady,
    /// Somebody has stopped the chat: it is started again.
    Stopped,
    /// Too many frames could not be read.
    Garbage,
}

impl fmt::Display for Disconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ended => "the connection ended",
            Self::ConnectTimeout => "no connection came about in time",
            Self::Stuck => "the core does not answer",
            Self::NotReady => "the core cannot be used as it is",
            Self::Stopped => "the chat was stopped",
            Self::Garbage => "too many frames could not be read",
        })
    }
}

/// Why a message was not sent.
///
/// ```
/// use agentwire_core::simplex::NotSent;
/// assert_eq!(NotSent::Lost.to_string(), "the connection ended before the core had it");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotSent {
    /// The core refuses it.
    Refused(CoreRefusal),
    /// A command cannot express it.
    Command(CommandError),
    /// The connection ended before the core had it. An answer is sent again instead.
    Lost,
    /// As many commands wait to be sent as can.
    Full {
        /// How many.
        capacity: usize,
    },
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Command(error) => error.fmt(f),
            Self::Lost => f.write_str("the connection ended before the core had it"),
            Self::Full { capacity } => write!(f, "{capacity} commands wait to be sent"),
        }
    }
}

/// Something that the application asked the core for.
///
/// ```
/// use agentwire_core::simplex::CommandId;
/// fn same(a: CommandId, b: CommandId) -> bool {
///     a == b
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CommandId(pub(super) u64);

/// How something that the application asked the core for has ended.
///
/// ```
/// use agentwire_core::simplex::{Outcome, frame::Body};
/// fn link(outcome: &Outcome) -> Option<String> {
///     let Outcome::Response(response) = outcome else { return None };
///     match response.frame()?.body() {
///         Ok(Body::Address(address)) => Some(address.links.best().chars().collect()),
///         _ => None,
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The core's answer.
    Response(OwnedFrame),
    /// Declarations were published. Whether the core keeps them: today's may drop `protocols`
    /// ("Implementations").
    Published {
        /// Whether they are in the profile as the core gives it back.
        is_kept: bool,
    },
    /// The core refuses.
    Refused(CoreRefusal),
    /// The declarations cannot be written into the profile that there is.
    Profile(crate::simplex::profile::ProfileError),
    /// There is no such group.
    NoSuchGroup,
    /// It was not sent in time.
    NotSent,
    /// It was sent, the connection ended, and nobody here can know what became of it.
    Unknown,
}

/// A frame that is kept. `Debug` shows its type and length.
///
/// ```
/// use agentwire_core::simplex::OwnedFrame;
/// let frame = OwnedFrame::new(r#"{"resp":{"type":"moonPhaseChanged"}}"#).unwrap();
/// assert_eq!(frame.tag(), "moonPhaseChanged");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct OwnedFrame {
    text: Box<str>,
}

impl OwnedFrame {
    /// Keeps the text of a frame.
    ///
    /// # Errors
    /// [`FrameError`]
    pub fn new(text: &str) -> Result<Self, FrameError> {
        Frame::parse(text).map(|_| Self { text: text.into() })
    }

    /// The frame.
    #[must_use]
    pub fn frame(&self) -> Option<Frame<'_>> {
        // It was read before, so it can be read again.
        Frame::parse(&self.text).ok()
    }

    /// Its type, by its name.
    #[must_use]
    pub fn tag(&self) -> String {
        self.frame().map(|frame| frame.tag().chars().collect()).unwrap_or_default()
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for OwnedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnedFrame({}, {} bytes)", self.tag(), self.text.len())
    }
}

/// Why a frame was not read.
///
/// ```
/// use agentwire_core::simplex::Garbage;
/// assert_ne!(Garbage::Unreadable { len: 1 }, Garbage::Unreadable { len: 2 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Garbage {
    /// It is no frame of the core.
    Frame(FrameError),
    /// Its type is known, and its shape is not.
    Shape(crate::simplex::frame::ShapeError),
    /// A message in it cannot be read.
    Item(crate::simplex::frame::ItemError),
    /// It is binary, or larger than is read.
    Unreadable {
        /// Its length in bytes.
        len: usize,
    },
}
