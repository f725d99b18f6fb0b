//! Server-Sent Events without a heap: an incremental reader and the writer (WHATWG HTML, Server-sent
//! events).
//!
//! On the wire an event is some lines and a blank one that ends it. Lines end with CR LF, LF or CR,
//! and a chunk of the body may end anywhere: in a line, inside CR LF, inside a character.
//!
//! ```text
//! : a comment, which many servers send to keep the connection alive
//! event: error            the event's name; without one it is "message"
//! id: 7                   where to go on from, for the header Last-Event-ID
//! retry: 3000             how long to wait before connecting again, in milliseconds
//! data: {"jsonrpc":       lines of data, joined by line feeds;
//! data: "2.0"}            one space after the colon does not count
//!                         the event ends here
//! ```
//!
//! | what the standard leaves open, or does otherwise | here |
//! |---|---|
//! | how long an event may be | as long as the [buffer](Buffer) that the caller gives ([`Error::TooLarge`]); comments and fields without a meaning take no room, however long |
//! | data or a name that is not UTF-8 | [`Error::NotUtf8`], where the standard puts U+FFFD in its place: what reaches the caller is what was sent |
//! | an id longer than [`MAX_ID_LEN`], or not UTF-8 | not kept: the last event id is empty then, as if the stream could not be resumed |
//! | a `retry` beyond 64 bits | the longest time there is |
//!
//! An error is that of one event. What follows is read on.

mod buffer;
mod event;
mod reader;
#[cfg(test)]
mod tests;

#[cfg(feature = "alloc")]
pub use buffer::Growing;
pub use buffer::{Buffer, Lent};
pub use event::{Event, WriteError, write_keep_alive};
pub use reader::{Error, Reader};

/// The media type of a stream of events.
pub const MEDIA_TYPE: &str = "text/event-stream";
/// The longest last event id that is kept, in bytes.
pub const MAX_ID_LEN: usize = 128;
/// The longest name of an event, in bytes.
pub const MAX_NAME_LEN: usize = 64;
/// What an event without a name is called.
pub const DEFAULT_NAME: &str = "message";
/// How long the data of one event may be where nobody says otherwise, in bytes: 4 MiB, as in the
/// A2A SDK for JavaScript.
pub const MAX_DATA_LEN: usize = 4 * 1024 * 1024;
