//! What a call gives: [`Replies`].

use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use agentwire_core::binding::Standard;
use agentwire_core::chat::caller::CallId;
use agentwire_core::chat::session::Reply;
use futures_core::Stream;
use tokio::sync::mpsc;

use super::ClientError;
use crate::agent::{Command, Delivery};

/// The replies to one call, in the order of their arrival, each with its sender.
///
/// At most 256 of them wait to be taken ([`ClientError::Lagged`]). Dropping it stops waiting for
/// more, and frees the call's place. It is a [`Stream`] too, for those who have combinators for
/// these. [`Client`](super::Client) shows where it comes from.
///
/// ```
/// use agentwire_tokio::client::{ClientError, Replies};
/// async fn texts(mut replies: Replies) -> Result<Vec<String>, ClientError> {
///     let mut texts = Vec::new();
///     while let Some(reply) = replies.next().await {
///         texts.push(reply?.text);
///     }
///     Ok(texts)
/// }
/// ```
#[derive(Debug)]
#[must_use = "dropping it gives the call up"]
pub struct Replies<B = Standard> {
    /// `None` until it is made.
    pub(crate) call: Option<CallId>,
    receiver: mpsc::Receiver<Box<Delivery>>,
    commands: mpsc::UnboundedSender<Command<B>>,
    is_over: bool,
}

impl<B> Replies<B> {
    pub(super) const fn new(
        receiver: mpsc::Receiver<Box<Delivery>>,
        commands: mpsc::UnboundedSender<Command<B>>,
    ) -> Self {
        Self { call: None, receiver, commands, is_over: false }
    }

    /// The next reply. `None` once the call has ended; an error, after which there is nothing
    /// more, if it ended otherwise than with its last reply. No reply is lost if the future is
    /// dropped before it is done.
    pub async fn next(&mut self) -> Option<Result<Reply, ClientError>> {
        poll_fn(|cx| self.poll_reply(cx)).await
    }

    fn poll_reply(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Reply, ClientError>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(match ready!(self.receiver.poll_recv(cx)).map(|delivery| *delivery) {
            Some(Delivery::Reply(reply)) => {
                self.is_over = reply.is_end;
                Ok(reply)
            }
            end => {
                self.is_over = true;
                Err(match end {
                    Some(Delivery::TimedOut(end)) => ClientError::TimedOut(end),
                    Some(Delivery::NotSent(error)) => ClientError::NotSent(error),
                    // The queue was full, or the task is gone: that takes no more commands before
                    // it drops its side of this.
                    _ if self.commands.is_closed() => ClientError::Closed,
                    _ => ClientError::Lagged,
                })
            }
        }))
    }

    /// The last reply of the one that was called; what comes before it is passed over.
    ///
    /// # Errors
    /// [`ClientError`] when the call ends without one.
    pub async fn last(mut self) -> Result<Reply, ClientError> {
        while let Some(reply) = self.next().await {
            let reply = reply?;
            if reply.kind.is_last() {
                return Ok(reply);
            }
        }
        Err(ClientError::Closed)
    }
}

impl<B> Stream for Replies<B> {
    type Item = Result<Reply, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_reply(cx)
    }
}

impl<B> Drop for Replies<B> {
    fn drop(&mut self) {
        if let Some(call) = self.call.filter(|_| !self.is_over) {
            // The task is gone, or it stops waiting.
            let _ = self.commands.send(Command::Cancel(call));
        }
    }
}
