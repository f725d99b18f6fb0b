//! Why there is no connection to a core, or no longer one.

use core::fmt;
use core::time::Duration;
use std::io;

use tungstenite::Error;
use tungstenite::error::{CapacityError, ProtocolError};

/// Why a connection to a core could not be made, or broke.
///
/// ```
/// use agentwire_blocking::link::LinkError;
/// let error = LinkError::TooLarge { len: 100_000_000, limit: 16_777_216 };
/// assert_eq!(error.to_string(), "a frame of 100000000 bytes, 16777216 are allowed");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// The address is no `ws://` or `wss://` URL with a host.
    Url,
    /// `wss://` needs the feature `tls`.
    NoTls,
    /// The file with certificates cannot be read, or holds none.
    CaFile(io::ErrorKind),
    /// No certificate of the system can be read, and no file was named.
    NoRoots,
    /// The other side's certificate, or its TLS.
    Tls(Box<str>),
    /// The operating system says so.
    Io(io::ErrorKind),
    /// What listens there speaks HTTP and declines, with this status.
    Status(u16),
    /// What listens there speaks no WebSocket, or breaks its rules.
    Protocol(Box<str>),
    /// A frame is larger than [`Core::max_frame`](super::Core::max_frame) allows.
    TooLarge {
        /// Its length in bytes, as announced.
        len: usize,
        /// What is allowed.
        limit: usize,
    },
    /// A frame is binary; a core sends text alone.
    Binary {
        /// Its length in bytes.
        len: usize,
    },
    /// A text frame is not UTF-8.
    NotUtf8,
    /// The other side has closed the connection, with this code if it gave one.
    Closed(Option<u16>),
    /// No connection in this time.
    TimedOut(Duration),
    /// Nothing has arrived for this long, not even an answer to a ping.
    Silent(Duration),
}

impl LinkError {
    /// Whether trying again is useless: nothing but another configuration mends it.
    ///
    /// ```
    /// use agentwire_blocking::link::LinkError;
    /// assert!(LinkError::Url.is_permanent());
    /// assert!(!LinkError::Closed(None).is_permanent());
    /// ```
    #[must_use]
    pub const fn is_permanent(&self) -> bool {
        matches!(self, Self::Url | Self::NoTls | Self::CaFile(_) | Self::NoRoots)
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => f.write_str("the address is no ws:// or wss:// URL"),
            Self::NoTls => f.write_str("wss:// needs the feature tls"),
            Self::CaFile(kind) => write!(f, "the file with certificates: {kind}"),
            Self::NoRoots => f.write_str("the system has no certificates"),
            Self::Tls(error) => write!(f, "TLS: {error}"),
            Self::Io(kind) => kind.fmt(f),
            Self::Status(status) => write!(f, "no WebSocket: HTTP status {status}"),
            Self::Protocol(error) => write!(f, "no WebSocket: {error}"),
            Self::TooLarge { len, limit } => {
                write!(f, "a frame of {len} bytes, {limit} are allowed")
            }
            Self::Binary { len } => write!(f, "a binary frame of {len} bytes"),
            Self::NotUtf8 => f.write_str("a text frame that is not UTF-8"),
            Self::Closed(None) => f.write_str("the other side has closed the connection"),
            Self::Closed(Some(code)) => {
                write!(f, "the other side has closed the connection with code {code}")
            }
            Self::TimedOut(span) => write!(f, "no connection within {span:?}"),
            Self::Silent(span) => write!(f, "nothing has arrived for {span:?}"),
        }
    }
}

impl core::error::Error for LinkError {}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        // rustls puts its own errors into one of these.
        match error.get_ref() {
            Some(inner) if error.kind() == io::ErrorKind::InvalidData => {
                Self::Tls(inner.to_string().into())
            }
            _ => Self::Io(error.kind()),
        }
    }
}

impl From<Error> for LinkError {
    fn from(error: Error) -> Self {
        match error {
            Error::ConnectionClosed
            | Error::AlreadyClosed
            | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => Self::Closed(None),
            Error::Io(error) => error.into(),
            Error::Capacity(CapacityError::MessageTooLong { size, max_size }) => {
                Self::TooLarge { len: size, limit: max_size }
            }
            Error::Utf8(_) => Self::NotUtf8,
            Error::Http(response) => Self::Status(response.status().as_u16()),
            Error::Url(_) | Error::HttpFormat(_) => Self::Url,
            // None of the others holds anything that was received.
            other => Self::Protocol(other.to_string().into()),
        }
    }
}
