//! The connection: [`Link`].

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tungstenite::{Bytes, Error, Message, Utf8Bytes, WebSocket};

use super::LinkError;
use super::connect::Socket;

/// How long the other side has to take note of the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection: whole text frames in both directions, whatever they say.
///
/// ```no_run
/// use agentwire_blocking::link::{Core, Link, LinkError};
///
/// # fn ask() -> Result<(), LinkError> {
/// let mut link = Link::connect(&Core::new("ws://127.0.0.1:5225"))?;
/// link.push(String::from(r#"{"corrId":"1","cmd":"/version"}"#));
/// // The core may have something else to tell first.
/// while !link.receive()?.contains(r#""corrId":"1""#) {}
/// link.close();
/// # Ok(())
/// # }
/// ```
pub struct Link {
    socket: WebSocket<Box<dyn Socket>>,
    /// The same socket, to wait for it.
    tcp: Arc<TcpStream>,
    /// What waits to be written.
    outgoing: VecDeque<Message>,
    /// Whether something was written that the socket may still hold.
    is_unflushed: bool,
    ping_after: Duration,
    silent_after: Duration,
    /// When something arrived last.
    heard: Instant,
    has_pinged: bool,
}

impl Link {
    pub(super) fn new(
        socket: WebSocket<Box<dyn Socket>>,
        tcp: TcpStream,
        (ping_after, silent_after): (Duration, Duration),
    ) -> Self {
        Self {
            socket,
            tcp: Arc::new(tcp),
            outgoing: VecDeque::new(),
            is_unflushed: false,
            ping_after,
            silent_after,
            heard: Instant::now(),
            has_pinged: false,
        }
    }

    /// Writes a frame as soon as the socket takes it: while the link is asked to
    /// [receive](Self::receive), to [try](Self::try_receive) it, or to [close](Self::close).
    /// Whoever pushes looks how much [waits](Self::waiting).
    pub fn push(&mut self, frame: String) {
        self.outgoing.push_back(Message::text(frame));
    }

    /// How many frames wait for the socket.
    pub fn waiting(&self) -> usize {
        self.outgoing.len()
    }

    /// Waits for the next frame. What waits is written meanwhile. After an error the link is of no
    /// use.
    ///
    /// # Errors
    /// [`LinkError`]
    pub fn receive(&mut self) -> Result<Utf8Bytes, LinkError> {
        loop {
            if let Some(text) = self.try_receive()? {
                return Ok(text);
            }
            wait(&[self.watched()], None, Some(self.deadline()))?;
        }
    }

    /// The next frame, if it is there; as [`receive`](Self::receive), without waiting.
    ///
    /// # Errors
    /// [`LinkError`]
    pub fn try_receive(&mut self) -> Result<Option<Utf8Bytes>, LinkError> {
        loop {
            self.write()?;
            let message = match self.socket.read() {
                Ok(message) => message,
                Err(error) if is_pending(&error) => {
                    if self.ping()? {
                        // It waits to be written.
                        continue;
                    }
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            };
            self.heard = Instant::now();
            self.has_pinged = false;
            match message {
                Message::Text(text) => return Ok(Some(text)),
                Message::Binary(bytes) => return Err(LinkError::Binary { len: bytes.len() }),
                Message::Close(frame) => {
                    return Err(LinkError::Closed(frame.map(|frame| frame.code.into())));
                }
                // Its pong stands in the socket's buffer now.
                Message::Ping(_) => self.is_unflushed = true,
                Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    /// Writes what waits, until the socket takes no more.
    pub(crate) fn write(&mut self) -> Result<(), LinkError> {
        loop {
            if self.is_unflushed {
                match self.socket.flush() {
                    Ok(()) => self.is_unflushed = false,
                    // The other side may have to be heard first.
                    Err(error) if is_pending(&error) => return Ok(()),
                    Err(error) => return Err(error.into()),
                }
            }
            let Some(message) = self.outgoing.pop_front() else { return Ok(()) };
            self.is_unflushed = true;
            match self.socket.write(message) {
                Ok(()) => {}
                // It stands in the socket's buffer all the same.
                Err(error) if is_pending(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether a ping was put into the queue; an error if the silence has been too long.
    fn ping(&mut self) -> Result<bool, LinkError> {
        let silent = self.heard.elapsed();
        if silent >= self.silent_after {
            return Err(LinkError::Silent(self.silent_after));
        }
        let is_due = silent >= self.ping_after && !self.has_pinged;
        if is_due {
            self.has_pinged = true;
            self.outgoing.push_back(Message::Ping(Bytes::new()));
        }
        Ok(is_due)
    }

    /// When it has to be tried again, whether or not something arrives.
    pub(crate) fn deadline(&self) -> Instant {
        self.heard + if self.has_pinged { self.silent_after } else { self.ping_after }
    }

    /// Writes what waits and says goodbye, as far as the other side takes it within a second.
    pub fn close(mut self) {
        self.outgoing.push_back(Message::Close(None));
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        // It ends either way.
        while self.write().is_ok() && self.wants_to_write() && Instant::now() < deadline {
            if wait(&[self.watched()], None, Some(deadline)).is_err() {
                return;
            }
        }
    }

    /// What there is to wait for.
    pub(crate) fn watched(&self) -> Watched {
        Watched { tcp: Arc::clone(&self.tcp), writes: self.wants_to_write() }
    }

    fn wants_to_write(&self) -> bool {
        self.is_unflushed || !self.outgoing.is_empty()
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("waiting", &self.outgoing.len()).finish_non_exhaustive()
    }
}

fn is_pending(error: &Error) -> bool {
    matches!(error, Error::Io(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// A socket that is waited for.
pub(crate) struct Watched {
    tcp: Arc<TcpStream>,
    writes: bool,
}

/// Waits until one of the sockets can go on, something can be read from `other`, or it is late.
pub(crate) fn wait(
    sockets: &[Watched],
    other: Option<BorrowedFd<'_>>,
    until: Option<Instant>,
) -> io::Result<()> {
    let mut fds: Vec<PollFd<'_>> = sockets
        .iter()
        .map(|socket| {
            let write = if socket.writes { PollFlags::OUT } else { PollFlags::empty() };
            PollFd::from_borrowed_fd(socket.tcp.as_fd(), PollFlags::IN | write)
        })
        .collect();
    fds.extend(other.map(|other| PollFd::from_borrowed_fd(other, PollFlags::IN)));
    let span = until.map(|until| until.saturating_duration_since(Instant::now()));
    poll_for(&mut fds, span)
}

/// Waits until something can be read, or for this long.
pub(super) fn readable(socket: &TcpStream, span: Duration) -> io::Result<()> {
    poll_for(&mut [PollFd::new(socket, PollFlags::IN)], Some(span))
}

fn poll_for(fds: &mut [PollFd<'_>], span: Option<Duration>) -> io::Result<()> {
    // A span that cannot be expressed is one that nobody waits out.
    let timeout = span.and_then(|span| Timespec::try_from(span).ok());
    match poll(fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
