//! One connection to the WebSocket API of a chat core.
//!
//! A core that was started with `-p 5225` listens for WebSockets on that port. Each text frame is
//! one JSON object: to the core `{"corrId":"7","cmd":"/_contacts 1"}`, from it
//! `{"corrId":"7","resp":{…}}`, or `{"resp":{…}}` when something has happened. What a frame says is
//! [`agentwire_core::simplex`]'s; here it is bytes that are whole or not there:
//!
//! - A frame that was announced larger than [`Core::max_frame`] breaks the connection before there
//!   is memory for it, and so does a binary frame: a core sends none.
//! - A frame that waits to be written is kept here, so nothing that drops a future loses one. Its
//!   text goes to the socket's own buffer and is copied nowhere else; a received text is a part of
//!   the socket's buffer.
//! - While nobody reads, nothing is read: a core that sends faster than it is heard is held up by
//!   TCP.
//! - A quiet connection is pinged, and one that stays silent is broken.

mod connect;
#[cfg(test)]
mod tests;

use core::fmt;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::collections::VecDeque;

use futures_core::Stream;
use futures_sink::Sink;
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Bytes, Message};

pub use agentwire_blocking::link::{
    CONNECT_TIMEOUT, Core, LinkError, MAX_FRAME, PING_AFTER, SILENT_AFTER,
};
use connect::Socket;
pub use tokio_tungstenite::tungstenite::Utf8Bytes;

/// How long the other side has to take note of the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection: whole text frames in both directions, whatever they say.
///
/// ```no_run
/// use agentwire_tokio::link::{Core, Link, LinkError};
///
/// # async fn ask() -> Result<(), LinkError> {
/// let mut link = Link::connect(&Core::new("ws://127.0.0.1:5225")).await?;
/// link.push(String::from(r#"{"corrId":"1","cmd":"/version"}"#));
/// // The core may have something else to tell first.
/// while !link.receive().await?.contains(r#""corrId":"1""#) {}
/// link.close().await;
/// # Ok(())
/// # }
/// ```
pub struct Link {
    stream: WebSocketStream<Box<dyn Socket>>,
    /// What waits to be written.
    outgoing: VecDeque<Message>,
    /// Whether something was written that the socket may still hold.
    is_unflushed: bool,
    ping_after: Duration,
    silent_after: Duration,
    /// When something had arrived last.
    heard: Instant,
    /// Whether something has arrived since.
    is_heard: bool,
    has_pinged: bool,
    alarm: Pin<Box<Sleep>>,
}

impl Link {
    fn new(
        stream: WebSocketStream<Box<dyn Socket>>,
        ping_after: Duration,
        silent_after: Duration,
    ) -> Self {
        let heard = Instant::now();
        Self {
            stream,
            outgoing: VecDeque::new(),
            is_unflushed: false,
            ping_after,
            silent_after,
            heard,
            is_heard: false,
            has_pinged: false,
            alarm: Box::pin(sleep_until(heard + ping_after)),
        }
    }

    /// Writes a frame as soon as the socket takes it: while the link is asked to
    /// [receive](Self::receive) or to [close](Self::close). Whoever pushes looks how much
    /// [waits](Self::waiting).
    pub fn push(&mut self, frame: String) {
        self.outgoing.push_back(Message::text(frame));
    }

    /// How many frames wait for the socket.
    pub fn waiting(&self) -> usize {
        self.outgoing.len()
    }

    /// The next frame. What waits is written meanwhile. Dropping the future loses nothing; after
    /// an error the link is of no use.
    ///
    /// # Errors
    /// [`LinkError`]
    pub async fn receive(&mut self) -> Result<Utf8Bytes, LinkError> {
        poll_fn(|cx| self.poll_receive(cx)).await
    }

    /// The next frame, as [`poll_write`](Self::poll_write) goes on.
    pub(crate) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Utf8Bytes, LinkError>> {
        loop {
            // Whether or not all is written: the other side may have to be heard first.
            if let Poll::Ready(Err(error)) = self.poll_write(cx) {
                return Poll::Ready(Err(error));
            }
            let Poll::Ready(received) = Pin::new(&mut self.stream).poll_next(cx) else {
                ready!(self.poll_silence(cx))?;
                // A ping waits to be written.
                continue;
            };
            let Some(message) = received else {
                return Poll::Ready(Err(LinkError::Closed(None)));
            };
            self.is_heard = true;
            match message? {
                Message::Text(text) => return Poll::Ready(Ok(text)),
                Message::Binary(bytes) => {
                    return Poll::Ready(Err(LinkError::Binary { len: bytes.len() }));
                }
                Message::Close(frame) => {
                    let code = frame.map(|frame| frame.code.into());
                    return Poll::Ready(Err(LinkError::Closed(code)));
                }
                // Its pong stands in the socket's buffer now.
                Message::Ping(_) => self.is_unflushed = true,
                Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    /// Writes what waits, until the socket takes no more; ready when all of it is out.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        let mut stream = Pin::new(&mut self.stream);
        while !self.outgoing.is_empty() {
            ready!(stream.as_mut().poll_ready(cx))?;
            if let Some(message) = self.outgoing.pop_front() {
                stream.as_mut().start_send(message)?;
                self.is_unflushed = true;
            }
        }
        if self.is_unflushed {
            ready!(stream.poll_flush(cx))?;
            self.is_unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Ready when a ping was put into the queue, or the connection has been silent for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        if core::mem::take(&mut self.is_heard) {
            // All that was there has been read: one look at the clock for all of it.
            self.heard = Instant::now();
            self.has_pinged = false;
        }
        loop {
            ready!(self.alarm.as_mut().poll(cx));
            let silent = self.heard.elapsed();
            if silent >= self.silent_after {
                return Poll::Ready(Err(LinkError::Silent(self.silent_after)));
            }
            let next = if silent < self.ping_after { self.ping_after } else { self.silent_after };
            self.alarm.as_mut().reset(self.heard + next);
            if silent >= self.ping_after && !self.has_pinged {
                self.has_pinged = true;
                self.outgoing.push_back(Message::Ping(Bytes::new()));
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Writes what waits and says goodbye, as far as the other side takes it within a second.
    pub async fn close(mut self) {
        self.outgoing.push_back(Message::Close(None));
        let written = poll_fn(|cx| self.poll_write(cx));
        // It ends either way.
        let _ = timeout(CLOSE_TIMEOUT, written).await;
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("waiting", &self.outgoing.len()).finish_non_exhaustive()
    }
}
