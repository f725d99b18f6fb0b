//! The replies of a call as the events of a stream.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use ::a2a::{A2AError, StreamResponse};
use agentwire_core::chat::session::{Reply, ReplyKind};
use futures_core::Stream;

use super::read;
use super::transport::call_error;
use crate::client::{ClientError, Replies};

type Event = Result<StreamResponse, A2AError>;

/// A stream whose first event is there. Dropping it gives the call up.
pub(super) struct Events {
    first: Option<Event>,
    replies: Replies,
    /// The id of the request, as JSON.
    id: String,
}

impl Events {
    pub(super) async fn begin(mut replies: Replies, id: String) -> Result<Self, A2AError> {
        let first = loop {
            match replies.next().await {
                Some(reply) => {
                    if let Some(event) = event(reply, &id) {
                        break event?;
                    }
                }
                None => return Err(call_error(&id, &ClientError::Closed)),
            }
        };
        Ok(Self { first: Some(Ok(first)), replies, id })
    }
}

/// The event that a reply is. What people say meanwhile is none.
fn event(reply: Result<Reply, ClientError>, id: &str) -> Option<Event> {
    match reply {
        Ok(Reply { kind: ReplyKind::Text(_), is_end: false, .. }) => None,
        Ok(reply) => Some(read(&reply.text)),
        Err(error) => Some(Err(call_error(id, &error))),
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = &mut *self;
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(first));
        }
        loop {
            let Some(reply) = ready!(Pin::new(&mut this.replies).poll_next(cx)) else {
                return Poll::Ready(None);
            };
            if let Some(event) = event(reply, &this.id) {
                return Poll::Ready(Some(event));
            }
        }
    }
}
