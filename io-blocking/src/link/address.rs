//! Where a core is: [`Core`].

use core::fmt;
use core::time::Duration;
use std::path::{Path, PathBuf};

use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::client::Request;
use tungstenite::protocol::WebSocketConfig;

use super::LinkError;

/// The largest frame that is taken, in bytes, where nothing else was asked for. The answer to
/// `/_contacts` names every contact with its picture, so it is far more than a message.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// How long a connection may take to come about, TLS and the opening of the WebSocket included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A quiet connection is asked whether it still stands after this time.
pub const PING_AFTER: Duration = Duration::from_secs(30);

/// A connection on which nothing has arrived for this long is given up. It is longer than any
/// command takes: while a core works on one, it answers nothing else, pings included.
pub const SILENT_AFTER: Duration = Duration::from_secs(300);

/// How much is read from a socket at once.
const READ_BUFFER: usize = 32 * 1024;

/// A chat core and how it is reached: `simplex-chat -p 5225` listens on `ws://127.0.0.1:5225`.
///
/// The API of a core has neither encryption nor passwords. A core on another machine stands behind
/// something that adds both, and is reached with `wss://`.
///
/// ```
/// use agentwire_blocking::link::Core;
/// use core::time::Duration;
///
/// let core = Core::new("wss://core.example:443/bot")
///     .ca_file("/etc/agentwire/ca.pem")
///     .max_frame(1 << 20)
///     .connect_timeout(Duration::from_secs(3));
/// assert_eq!(core.url(), "wss://core.example:443/bot");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Core {
    url: String,
    ca_file: Option<PathBuf>,
    max_frame: usize,
    connect_timeout: Duration,
    ping_after: Duration,
    silent_after: Duration,
}

impl Core {
    /// The core at a `ws://` or `wss://` URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ca_file: None,
            max_frame: MAX_FRAME,
            connect_timeout: CONNECT_TIMEOUT,
            ping_after: PING_AFTER,
            silent_after: SILENT_AFTER,
        }
    }

    /// Trusts the certificates in this PEM file and no others: for a certificate of one's own.
    #[must_use]
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(path.into());
        self
    }

    /// Takes frames of so many bytes, instead of [`MAX_FRAME`]. A larger one breaks the
    /// connection, before there is memory for it.
    #[must_use]
    pub const fn max_frame(mut self, bytes: usize) -> Self {
        self.max_frame = bytes;
        self
    }

    /// Waits so long for a connection, instead of [`CONNECT_TIMEOUT`].
    #[must_use]
    pub const fn connect_timeout(mut self, span: Duration) -> Self {
        self.connect_timeout = span;
        self
    }

    /// Pings a quiet connection after one span, and gives up a silent one after the other,
    /// instead of [`PING_AFTER`] and [`SILENT_AFTER`].
    #[must_use]
    pub const fn keep_alive(mut self, ping_after: Duration, silent_after: Duration) -> Self {
        self.ping_after = ping_after;
        self.silent_after = silent_after;
        self
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Trusts only what is in this file, if one was named.
    #[doc(hidden)]
    pub fn trusted(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }

    /// How long a connection may take to come about.
    #[doc(hidden)]
    pub const fn patience(&self) -> Duration {
        self.connect_timeout
    }

    /// When a quiet connection is pinged, and when a silent one is given up.
    #[doc(hidden)]
    pub const fn keeps_alive(&self) -> (Duration, Duration) {
        (self.ping_after, self.silent_after)
    }

    /// The limits of its WebSocket.
    #[doc(hidden)]
    pub fn websocket(&self) -> WebSocketConfig {
        WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .max_frame_size(Some(self.max_frame))
            .max_message_size(Some(self.max_frame))
    }

    /// What to ask, and where.
    #[doc(hidden)]
    pub fn place(&self) -> Result<(Request, Place), LinkError> {
        place(&self.url)
    }
}

impl fmt::Debug for Core {
    /// Without what stands before `@` or after the host: it can hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("host", &place(&self.url).ok().map(|(_, place)| place.host))
            .field("ca_file", &self.ca_file)
            .field("max_frame", &self.max_frame)
            .finish_non_exhaustive()
    }
}

/// Where to connect to.
#[doc(hidden)]
#[derive(PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Place {
    pub is_tls: bool,
    pub host: String,
    pub port: u16,
}

fn place(url: &str) -> Result<(Request, Place), LinkError> {
    let request = url.into_client_request().map_err(|_| LinkError::Url)?;
    let uri = request.uri();
    let is_tls = match uri.scheme_str() {
        Some("ws") => false,
        Some("wss") => true,
        _ => return Err(LinkError::Url),
    };
    let host = uri.host().filter(|host| !host.is_empty()).ok_or(LinkError::Url)?;
    // The resolver and TLS want an address of version 6 without its brackets.
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    Ok((request, Place { is_tls, host, port }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_scheme_a_host_and_a_port() {
        let of = |url| place(url).map(|(_, place)| (place.is_tls, place.host, place.port));
        let at = |is_tls, host: &str, port| Ok((is_tls, host.to_owned(), port));
        assert_eq!(of("ws://127.0.0.1:5225"), at(false, "127.0.0.1", 5225));
        assert_eq!(of("ws://core.example/bot"), at(false, "core.example", 80));
        assert_eq!(of("wss://core.example"), at(true, "core.example", 443));
        assert_eq!(of("ws://[::1]:5225"), at(false, "::1", 5225));
        for url in ["", "127.0.0.1:5225", "http://127.0.0.1", "ws://", "ws://a b", "ws:///x"] {
            assert_eq!(of(url), Err(LinkError::Url), "{url:?}");
        }
    }

    #[test]
    fn nothing_secret_of_a_url_is_shown() {
        let core = Core::new("wss://user:CANARY@core.example/CANARY?key=CANARY");
        let shown = format!("{core:?}");
        assert!(shown.contains("core.example") && !shown.contains("CANARY"), "{shown}");
    }
}
