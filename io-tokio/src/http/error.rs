//! Why there is no answer over HTTP.

use core::fmt;

use agentwire_core::sse;

use crate::link::LinkError;

/// Why there is no answer over HTTP, or no whole one.
///
/// ```
/// use agentwire_tokio::a2a::HttpError;
/// assert_eq!(HttpError::TooLarge { limit: 7 }.to_string(), "the answer is longer than 7 bytes");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HttpError {
    /// Not an `https://` or `http://` URL with a host and without a password.
    Url,
    /// Plain HTTP to another machine, which was not allowed.
    PlainHttp,
    /// The URL leads to an address that is not one of the public internet, and somebody else chose
    /// it.
    NotPublic,
    /// The certificates to trust cannot be read.
    Trust(LinkError),
    /// A service parameter that cannot be a header.
    Header,
    /// There is no connection, or it broke.
    Connection(Box<str>),
    /// The answer is too long.
    TooLarge {
        /// How many bytes it may have.
        limit: usize,
    },
    /// The answer is not UTF-8.
    NotUtf8,
    /// An event of a stream is too long, or not UTF-8.
    Event(sse::Error),
    /// The stream has been cut off inside an event.
    CutOff,
    /// The answer has this status, and nothing in it is an answer of the protocol.
    Status(u16),
    /// The answer has a media type that the protocol does not have.
    MediaType,
    /// No answer in time.
    TimedOut,
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Url => "not an https:// or http:// URL with a host and without a password",
            Self::PlainHttp => "plain HTTP to another machine is not allowed",
            Self::NotPublic => "the address is not one of the public internet",
            Self::Trust(error) => return error.fmt(f),
            Self::Header => "a service parameter cannot be a header",
            Self::Connection(error) => return write!(f, "no connection: {error}"),
            Self::TooLarge { limit } => {
                return write!(f, "the answer is longer than {limit} bytes");
            }
            Self::NotUtf8 => "the answer is not UTF-8",
            Self::Event(error) => return error.fmt(f),
            Self::CutOff => "the stream was cut off",
            Self::Status(status) => return write!(f, "HTTP status {status}"),
            Self::MediaType => "the answer is neither JSON nor a stream of events",
            Self::TimedOut => "no answer in time",
        })
    }
}

impl core::error::Error for HttpError {}
