//! Streams of events over HTTP.

use core::fmt;

use agentwire_core::sse::{Growing, Reader};
use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};

use super::HttpError;

/// The events of a body, one at a time: nothing is read ahead of whoever takes them but what the
/// connection itself holds.
pub(crate) struct Events {
    body: Incoming,
    reader: Reader<Growing>,
    /// What of the last chunk is still to be read.
    rest: Bytes,
}

impl Events {
    /// The events of a body, each of at most so many bytes.
    pub(crate) fn new(body: Incoming, limit: usize) -> Self {
        Self { body, reader: Reader::new(Growing::new(limit)), rest: Bytes::new() }
    }

    /// The data of the next event; `None` at the end of the body, if that is not inside an event.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, HttpError> {
        loop {
            let mut input = &self.rest[..];
            let before = input.len();
            let event = self.reader.read(&mut input).map(|event| event.map(|e| e.data.to_owned()));
            let taken = before - input.len();
            let _ = self.rest.split_to(taken);
            if let Some(data) = event.map_err(HttpError::Event)? {
                return Ok(Some(data));
            }
            match self.body.frame().await {
                None if self.reader.is_inside_event() => return Err(HttpError::CutOff),
                None => return Ok(None),
                // Trailers say nothing here.
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                Some(Err(_)) => return Err(HttpError::CutOff),
            }
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("reader", &self.reader).finish_non_exhaustive()
    }
}
