//! What the core's command grammar cannot express.

use core::fmt;

use crate::chat::size::MAX_SEND_MENTIONS;
use crate::json::BufferTooSmall;

/// A part of a command that is text.
///
/// ```
/// use agentwire_core::simplex::command::Part;
/// assert_eq!(Part::Target.to_string(), "the link or name");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Part {
    /// A link or a name.
    Target,
    /// The short form of a link beside its full form.
    ShortLink,
    /// `sign_key`.
    SignKey,
    /// `requestId`.
    RequestId,
    /// The whole command.
    Raw,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Target => "the link or name",
            Self::ShortLink => "the short link",
            Self::SignKey => "the key",
            Self::RequestId => "the request's id",
            Self::Raw => "the command",
        })
    }
}

/// Why a command cannot be written. To the core every fault of grammar is the same `commandError`,
/// so it is found here.
///
/// ```
/// use agentwire_core::simplex::UserId;
/// use agentwire_core::simplex::command::{Command, CommandError, Part};
/// let command = Command::ConnectPlan { user: UserId(1), target: "two words" };
/// let error = command.write(&mut [0; 64]).unwrap_err();
/// assert_eq!(error, CommandError::NotOneWord { part: Part::Target, offset: 3 });
/// assert_eq!(error.to_string(), "the link or name has a space or a control character (byte 3)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum CommandError {
    /// The buffer is too short.
    Buffer(BufferTooSmall),
    /// The grammar has no negative numbers.
    Negative {
        /// The number.
        number: i64,
    },
    /// A part is empty.
    Empty {
        /// Which one.
        part: Part,
    },
    /// A part has to be one word.
    NotOneWord {
        /// Which one.
        part: Part,
        /// Where it has a space or a control character, in bytes.
        offset: usize,
    },
    /// `/_send` without a message.
    NoMessages,
    /// One `/_send` takes one quote: send one by one.
    SeveralQuotes {
        /// How many messages quote.
        count: usize,
    },
    /// A live message is sent alone.
    LiveWithOthers {
        /// How many messages there are.
        count: usize,
    },
    /// "mentions are not supported in this chat": a direct chat has none.
    MentionsInDirectChat,
    /// A message mentions more members than the core sends.
    TooManyMentions {
        /// How many.
        count: usize,
    },
    /// A message mentions the same name or member twice.
    MentionTwice,
    /// A scope, or the group's own name, in a direct chat.
    ScopeInDirectChat,
    /// A time of zero seconds to wait.
    NoTime,
}

impl From<BufferTooSmall> for CommandError {
    fn from(error: BufferTooSmall) -> Self {
        Self::Buffer(error)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer(error) => error.fmt(f),
            Self::Negative { number } => write!(f, "commands have no negative numbers: {number}"),
            Self::Empty { part } => write!(f, "{part} is empty"),
            Self::NotOneWord { part, offset } => {
                write!(f, "{part} has a space or a control character (byte {offset})")
            }
            Self::NoMessages => f.write_str("nothing to send"),
            Self::SeveralQuotes { count } => {
                write!(f, "{count} messages with quotes, one send takes one")
            }
            Self::LiveWithOthers { count } => {
                write!(f, "{count} messages, a live one is sent alone")
            }
            Self::MentionsInDirectChat => f.write_str("a direct chat has no mentions"),
            Self::TooManyMentions { count } => {
                write!(f, "{count} mentions, a message has at most {MAX_SEND_MENTIONS}")
            }
            Self::MentionTwice => f.write_str("a name or a member is mentioned twice"),
            Self::ScopeInDirectChat => f.write_str("a direct chat has no parts"),
            Self::NoTime => f.write_str("no time to wait for the response"),
        }
    }
}

impl core::error::Error for CommandError {}
