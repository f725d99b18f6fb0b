//! Where a core is, and how a connection to it is made.

use core::fmt;
use core::time::Duration;
use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::{Link, LinkError};

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
/// use agentwire_tokio::link::Core;
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

    /// Makes one connection. Dropping the future makes none. A
    /// [`Client`](crate::client::Client) makes its own.
    ///
    /// # Errors
    /// [`LinkError`]
    pub async fn connect(&self) -> Result<Link, LinkError> {
        let limit = self.connect_timeout;
        timeout(limit, self.open()).await.map_err(|_| LinkError::TimedOut(limit))?
    }

    async fn open(&self) -> Result<Link, LinkError> {
        let (request, place) = place(&self.url)?;
        let tls = place.is_tls.then(|| tls::Tls::new(self.ca_file.as_deref())).transpose()?;
        let socket = TcpStream::connect((place.host.as_str(), place.port)).await?;
        // A frame is written whole; waiting for more would only delay it.
        socket.set_nodelay(true)?;
        let socket: Box<dyn Socket> = match tls {
            Some(tls) => tls.connect(&place.host, socket).await?,
            None => Box::new(socket),
        };
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .max_frame_size(Some(self.max_frame))
            .max_message_size(Some(self.max_frame));
        let (stream, _) = client_async_with_config(request, socket, Some(config)).await?;
        Ok(Link::new(stream, self.ping_after, self.silent_after))
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

/// What a WebSocket stands on.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

/// Where to connect to.
#[derive(PartialEq, Eq, Debug)]
struct Place {
    is_tls: bool,
    host: String,
    port: u16,
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

#[cfg(feature = "tls")]
mod tls {
    //! TLS with rustls and ring.

    use std::io;
    use std::path::Path;
    use std::sync::Arc;

    use tokio::net::TcpStream;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    use super::{LinkError, Socket};

    pub(super) struct Tls(TlsConnector);

    impl Tls {
        pub(super) fn new(ca_file: Option<&Path>) -> Result<Self, LinkError> {
            let roots = match ca_file {
                Some(path) => own_roots(path)?,
                None => system_roots()?,
            };
            let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| LinkError::Tls(error.to_string().into()))?
                .with_root_certificates(roots)
                .with_no_client_auth();
            Ok(Self(TlsConnector::from(Arc::new(config))))
        }

        pub(super) async fn connect(
            self,
            host: &str,
            socket: TcpStream,
        ) -> Result<Box<dyn Socket>, LinkError> {
            let name = ServerName::try_from(host.to_owned()).map_err(|_| LinkError::Url)?;
            Ok(Box::new(self.0.connect(name, socket).await?))
        }
    }

    fn own_roots(path: &Path) -> Result<RootCertStore, LinkError> {
        let unread = |error| match error {
            pem::Error::Io(error) => LinkError::CaFile(error.kind()),
            _ => LinkError::CaFile(io::ErrorKind::InvalidData),
        };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(path).map_err(unread)? {
            let added = roots.add(certificate.map_err(unread)?);
            added.map_err(|_| LinkError::CaFile(io::ErrorKind::InvalidData))?;
        }
        if roots.is_empty() {
            return Err(LinkError::CaFile(io::ErrorKind::UnexpectedEof));
        }
        Ok(roots)
    }

    fn system_roots() -> Result<RootCertStore, LinkError> {
        let mut roots = RootCertStore::empty();
        // A store often holds a few that cannot be read; the others count.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() { Err(LinkError::NoRoots) } else { Ok(roots) }
    }
}

#[cfg(not(feature = "tls"))]
mod tls {
    //! No TLS in this build.

    use std::path::Path;

    use tokio::net::TcpStream;

    use super::{LinkError, Socket};

    pub(super) enum Tls {}

    impl Tls {
        pub(super) const fn new(_: Option<&Path>) -> Result<Self, LinkError> {
            Err(LinkError::NoTls)
        }

        #[expect(clippy::unused_async, reason = "as with TLS")]
        pub(super) async fn connect(
            self,
            _: &str,
            _: TcpStream,
        ) -> Result<Box<dyn Socket>, LinkError> {
            match self {}
        }
    }
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
