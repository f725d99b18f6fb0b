//! Where the answers to a request come from: one answer, or a stream of them.

use crate::http::{Events, HttpError};

/// The answers to one request, in their order.
pub(super) enum Source {
    /// One, or none any more.
    One(Option<String>),
    /// A stream of events.
    Events(Box<Events>),
}

impl Source {
    /// The text of the next answer; `None` after the last one.
    pub(super) async fn next(&mut self) -> Result<Option<String>, HttpError> {
        match self {
            Self::One(text) => Ok(text.take()),
            Self::Events(events) => loop {
                match events.next().await {
                    // An event without data that says something is no answer.
                    Ok(Some(data)) if data.is_empty() => {}
                    other => return other,
                }
            },
        }
    }
}
