//! How a connection to a core is made.

use agentwire_blocking::link::{Core, LinkError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::client_async_with_config;

use super::Link;

/// What a WebSocket stands on.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

impl Link {
    /// Makes one connection. Dropping the future makes none. A
    /// [`Client`](crate::client::Client) makes its own.
    ///
    /// # Errors
    /// [`LinkError`]
    pub async fn connect(core: &Core) -> Result<Self, LinkError> {
        let limit = core.patience();
        timeout(limit, open(core)).await.map_err(|_| LinkError::TimedOut(limit))?
    }
}

async fn open(core: &Core) -> Result<Link, LinkError> {
    let (request, place) = core.place()?;
    let tls = place.is_tls.then(|| tls::Tls::new(core)).transpose()?;
    let socket = TcpStream::connect((place.host.as_str(), place.port)).await?;
    // A frame is written whole; waiting for more would only delay it.
    socket.set_nodelay(true)?;
    let socket: Box<dyn Socket> = match tls {
        Some(tls) => tls.connect(&place.host, socket).await?,
        None => Box::new(socket),
    };
    let (stream, _) = client_async_with_config(request, socket, Some(core.websocket())).await?;
    let (ping_after, silent_after) = core.keeps_alive();
    Ok(Link::new(stream, ping_after, silent_after))
}

#[cfg(feature = "tls")]
mod tls {
    use agentwire_blocking::link::{Core, LinkError, client_config};
    use tokio::net::TcpStream;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::pki_types::ServerName;

    use super::Socket;

    pub(super) struct Tls(TlsConnector);

    impl Tls {
        pub(super) fn new(core: &Core) -> Result<Self, LinkError> {
            Ok(Self(TlsConnector::from(client_config(core.trusted())?)))
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
}

#[cfg(not(feature = "tls"))]
mod tls {
    use agentwire_blocking::link::{Core, LinkError};
    use tokio::net::TcpStream;

    use super::Socket;

    pub(super) enum Tls {}

    impl Tls {
        pub(super) const fn new(_: &Core) -> Result<Self, LinkError> {
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
