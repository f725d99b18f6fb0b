//! How a connection to a core is made (Unix).

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Instant;

use tungstenite::HandshakeError;
use tungstenite::client::client_with_config;

use super::{Core, Link, LinkError, readable};

/// What a WebSocket stands on.
pub(super) trait Socket: Read + Write + Send {}

impl<S: Read + Write + Send> Socket for S {}

impl Link {
    /// Makes one connection. Looking up a host's name takes as long as the system allows.
    ///
    /// # Errors
    /// [`LinkError`]
    pub fn connect(core: &Core) -> Result<Self, LinkError> {
        let (request, place) = core.place()?;
        let tls = place.is_tls.then(|| tls::Tls::new(core)).transpose()?;
        let limit = core.patience();
        let deadline = Instant::now() + limit;
        let late = LinkError::TimedOut(limit);
        let left = || {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() { Err(late.clone()) } else { Ok(left) }
        };

        let mut refused = LinkError::Url;
        let mut found = None;
        for address in (place.host.as_str(), place.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left()?) {
                Ok(socket) => {
                    found = Some(socket);
                    break;
                }
                Err(error) => refused = error.into(),
            }
        }
        let tcp = found.ok_or(refused)?;
        // A frame is written whole; waiting for more would only delay it.
        tcp.set_nodelay(true)?;
        tcp.set_nonblocking(true)?;
        let socket = tcp.try_clone()?;
        let socket: Box<dyn Socket> = match tls {
            Some(tls) => tls.connect(&place.host, socket)?,
            None => Box::new(socket),
        };
        let mut opening = client_with_config(request, socket, Some(core.websocket()));
        loop {
            match opening {
                Ok((socket, _)) => return Ok(Self::new(socket, tcp, core.keeps_alive())),
                Err(HandshakeError::Failure(error)) => return Err(error.into()),
                Err(HandshakeError::Interrupted(half)) => {
                    readable(&tcp, left()?)?;
                    left()?;
                    opening = half.handshake();
                }
            }
        }
    }
}

#[cfg(feature = "tls")]
mod tls {
    use std::net::TcpStream;
    use std::sync::Arc;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, StreamOwned};

    use super::super::{Core, LinkError, client_config};
    use super::Socket;

    pub(super) struct Tls(Arc<ClientConfig>);

    impl Tls {
        pub(super) fn new(core: &Core) -> Result<Self, LinkError> {
            Ok(Self(client_config(core.trusted())?))
        }

        pub(super) fn connect(
            self,
            host: &str,
            socket: TcpStream,
        ) -> Result<Box<dyn Socket>, LinkError> {
            let name = ServerName::try_from(host.to_owned()).map_err(|_| LinkError::Url)?;
            let connection = ClientConnection::new(self.0, name)
                .map_err(|error| LinkError::Tls(error.to_string().into()))?;
            Ok(Box::new(StreamOwned::new(connection, socket)))
        }
    }
}

#[cfg(not(feature = "tls"))]
mod tls {
    use std::net::TcpStream;

    use super::super::{Core, LinkError};
    use super::Socket;

    pub(super) enum Tls {}

    impl Tls {
        pub(super) const fn new(_: &Core) -> Result<Self, LinkError> {
            Err(LinkError::NoTls)
        }

        pub(super) fn connect(self, _: &str, _: TcpStream) -> Result<Box<dyn Socket>, LinkError> {
            match self {}
        }
    }
}
