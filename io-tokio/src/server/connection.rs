//! One connection to a profile's core.

use core::future::poll_fn;
use core::pin::Pin;
use std::sync::Arc;

use agentwire_core::loopback::api::ClientId;
use agentwire_core::simplex::frame::MAX_FRAME_LEN;
use futures_core::Stream;
use futures_sink::Sink;
use tokio::net::TcpStream;
use tokio::time::{sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_async_with_config};

use super::{CLOSE_TIMEOUT, Direction, HANDSHAKE_TIMEOUT, Recorded, Shared};
use crate::network::Profile;

/// Serves a connection until either side ends it.
pub(super) async fn run(shared: Arc<Shared>, profile: Arc<Profile>, socket: TcpStream) {
    // Commands and answers are small, and somebody waits for each.
    let _ = socket.set_nodelay(true);
    let mut config = WebSocketConfig::default();
    (config.max_message_size, config.max_frame_size) = (Some(MAX_FRAME_LEN), Some(MAX_FRAME_LEN));
    let handshake = timeout(HANDSHAKE_TIMEOUT, accept_async_with_config(socket, Some(config)));
    let mut closing = shared.is_closing.subscribe();
    let stream = tokio::select! {
        _ = closing.wait_for(|closing| *closing) => return,
        stream = handshake => stream,
    };
    let Ok(Ok(stream)) = stream else {
        tracing::debug!(profile = profile.name(), "no WebSocket");
        return;
    };
    let client = match shared.api().connect(profile.id()) {
        Ok(client) => client,
        Err(error) => {
            tracing::warn!(profile = profile.name(), %error, "no client");
            return;
        }
    };
    let mut connection = Connection { shared, profile, client, stream, ahead: None, sent: 0 };
    connection.tell(Direction::Open, None);
    let ended = tokio::select! {
        biased;
        _ = closing.wait_for(|closing| *closing) => Ok(()),
        ended = connection.exchange() => ended,
    };
    match ended {
        // The core ends, and says so.
        Ok(()) => {
            let goodbye = connection.write(Message::Close(None));
            let _ = timeout(CLOSE_TIMEOUT, goodbye).await;
        }
        Err(reason) => tracing::debug!(profile = connection.profile.name(), ?reason, "ended"),
    }
}

struct Connection {
    shared: Arc<Shared>,
    profile: Arc<Profile>,
    client: ClientId,
    stream: WebSocketStream<TcpStream>,
    /// A frame that came while a command waits for its response.
    ahead: Option<Bytes>,
    /// How many frames of the core were written.
    sent: u64,
}

/// Why a connection ends that the server does not close.
#[derive(Debug)]
enum Ended {
    /// By the client, or because it broke.
    #[expect(dead_code, reason = "shown by Debug")]
    Gone(Option<Error>),
    /// As the server was told to.
    Cut,
}

impl Connection {
    async fn exchange(&mut self) -> Result<(), Ended> {
        let mut changes = self.shared.network.changes();
        loop {
            // What changes from here on is seen below.
            changes.mark_unchanged();
            while let Some(frame) = self.next_frame() {
                self.tell(Direction::FromCore, Some(frame.as_str().into()));
                let written = self.write(Message::text(frame)).await;
                written.map_err(|error| Ended::Gone(Some(error)))?;
                self.sent += 1;
                let cut = *self.shared.cut_every.borrow();
                if cut.is_some_and(|every| self.sent >= every.get()) {
                    return Err(Ended::Cut);
                }
            }
            let takes = self.shared.api().takes_frames(self.client);
            if let Some(frame) = self.ahead.take_if(|_| takes) {
                self.hand_in(&frame);
                continue;
            }
            let due = self.shared.network.lock().poll_timeout();
            let due = due.and_then(|due| self.shared.network.deadline(due));
            let timer = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => core::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                message = next(&mut self.stream), if self.ahead.is_none() => match message {
                    Some(Ok(Message::Text(text))) => self.received(text.into(), takes),
                    Some(Ok(Message::Binary(bytes))) => self.received(bytes, takes),
                    // Its pong is written with what comes next.
                    Some(Ok(Message::Ping(_))) => {
                        let flushed = flush(&mut self.stream).await;
                        flushed.map_err(|error| Ended::Gone(Some(error)))?;
                    }
                    Some(Ok(Message::Pong(_) | Message::Frame(_))) => {}
                    Some(Ok(Message::Close(_))) | None => return Err(Ended::Gone(None)),
                    Some(Err(error)) => return Err(Ended::Gone(Some(error))),
                },
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                }
                () = timer => {}
            }
        }
    }

    fn received(&mut self, frame: Bytes, takes: bool) {
        if takes {
            self.hand_in(&frame);
        } else {
            self.ahead = Some(frame);
        }
    }

    /// Hands a frame to the core and wakes everybody for whom that changes something.
    fn hand_in(&self, frame: &[u8]) {
        self.tell(Direction::ToCore, Some(String::from_utf8_lossy(frame).into()));
        let network = &self.shared.network;
        let taken = {
            let (mut api, mut net) = (self.shared.api(), network.lock());
            api.handle_frame(&mut net, network.now(), self.client, frame)
        };
        if let Err(error) = taken {
            // It was asked before.
            tracing::error!(profile = self.profile.name(), %error, "a frame was not taken");
        }
        network.wake();
    }

    /// What is to be written next.
    fn next_frame(&self) -> Option<String> {
        let network = &self.shared.network;
        let (frame, was_given) = {
            let (mut api, mut net) = (self.shared.api(), network.lock());
            net.handle_timeout(network.now());
            let before = api.given();
            let frame = api.poll_frame(&mut net, self.client);
            (frame, api.given() != before)
        };
        if was_given {
            network.wake();
        }
        frame
    }

    async fn write(&mut self, message: Message) -> Result<(), Error> {
        let mut stream = Pin::new(&mut self.stream);
        poll_fn(|cx| stream.as_mut().poll_ready(cx)).await?;
        stream.as_mut().start_send(message)?;
        flush(&mut self.stream).await
    }

    fn tell(&self, direction: Direction, frame: Option<Arc<str>>) {
        let len = frame.as_ref().map(|frame| frame.len());
        tracing::debug!(profile = self.profile.name(), client = %self.client, ?direction, len);
        let mut recordings =
            self.shared.recordings.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if recordings.is_empty() {
            return;
        }
        let recorded = Recorded {
            at: self.shared.network.now(),
            profile: self.profile.name().into(),
            client: self.client,
            direction,
            frame,
        };
        recordings.retain(|recording| recording.send(recorded.clone()).is_ok());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.api().disconnect(self.client);
        self.tell(Direction::Close, None);
        // Events are for the others now.
        self.shared.network.wake();
    }
}

async fn next(stream: &mut WebSocketStream<TcpStream>) -> Option<Result<Message, Error>> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await
}

async fn flush(stream: &mut WebSocketStream<TcpStream>) -> Result<(), Error> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_flush(cx)).await
}
