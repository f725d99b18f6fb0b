//! One connection to the WebSocket API of a chat core.
//!
//! A core that was started with `-p 5225` listens for WebSockets on that port. Each text frame is
//! one JSON object: to the core `{"corrId":"7","cmd":"/_contacts 1"}`, from it
//! `{"corrId":"7","resp":{…}}`, or `{"resp":{…}}` when something has happened. What a frame says is
//! [`agentwire_core::simplex`]'s; here it is bytes that are whole or not there.
//!
//! [`Core`] says where a core is, for the crate on tokio too; the connection itself, `Link`, is for
//! Unix:
//!
//! - A frame that was announced larger than [`Core::max_frame`] breaks the connection before there
//!   is memory for it, and so does a binary frame: a core sends none.
//! - The text of a frame goes to the socket's own buffer and is copied nowhere else; a received
//!   text is a part of the socket's buffer.
//! - While nobody reads, nothing is read: a core that sends faster than it is heard is held up by
//!   TCP.
//! - A quiet connection is pinged, and one that stays silent is broken.

mod address;
#[cfg(unix)]
mod connect;
mod error;
#[cfg(unix)]
mod socket;
#[cfg(all(test, unix))]
mod tests;
#[cfg(feature = "tls")]
mod tls;

#[doc(hidden)]
pub use address::Place;
pub use address::{CONNECT_TIMEOUT, Core, MAX_FRAME, PING_AFTER, SILENT_AFTER};
pub use error::LinkError;
#[cfg(unix)]
pub use socket::Link;
#[cfg(unix)]
use socket::readable;
#[cfg(unix)]
pub(crate) use socket::{Watched, wait};
#[cfg(feature = "tls")]
#[doc(hidden)]
pub use tls::client_config;
pub use tungstenite::Utf8Bytes;
