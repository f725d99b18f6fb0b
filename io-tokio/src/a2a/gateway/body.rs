//! The bodies of answers: a text, or a stream of events.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

/// How many pieces of a stream wait to be written. Then whoever makes them waits.
pub(super) const PIECES: usize = 8;

/// The body of an answer.
pub(super) type Answer = Either<Full<Bytes>, Events>;

/// A stream of events.
#[derive(Debug)]
pub(super) struct Events(mpsc::Receiver<Bytes>);

/// Where events go; gone with the client.
pub(super) type Sender = mpsc::Sender<Bytes>;

impl Events {
    pub(super) fn new() -> (Sender, Self) {
        let (sender, receiver) = mpsc::channel(PIECES);
        (sender, Self(receiver))
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// An answer with a text.
pub(super) fn text(status: StatusCode, media_type: &'static str, text: String) -> Response<Answer> {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// An answer of JSON.
pub(super) fn json(status: StatusCode, body: String) -> Response<Answer> {
    text(status, "application/json", body)
}

/// An answer that is a stream.
pub(super) fn events(events: Events) -> Response<Answer> {
    let mut response = Response::new(Either::Right(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(agentwire_core::sse::MEDIA_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
