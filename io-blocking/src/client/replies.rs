//! What a call gives: [`Replies`].

use core::fmt;
use core::time::Duration;

use agentwire_core::binding::{Binding, Standard};
use agentwire_core::chat::caller::CallId;
use agentwire_core::time::Instant;

use super::{Client, ClientError, Reply};
use crate::agent::Inbox;

/// Nothing came within the time that was asked for. The call is still open.
///
/// ```
/// use agentwire_blocking::client::Elapsed;
/// assert_eq!(Elapsed.to_string(), "nothing came in time");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)] // It has nothing to say.
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing came in time")
    }
}

impl core::error::Error for Elapsed {}

/// The replies to one call, in the order of their arrival, each with its sender.
///
/// As an iterator it waits for each reply. It ends after the last one; a call that ends otherwise
/// gives an error, and then nothing more. Dropping it stops waiting for more.
///
/// ```
/// use agentwire_blocking::client::Replies;
/// fn collect(replies: Replies) -> Vec<String> {
///     replies.map_while(Result::ok).map(|reply| reply.text).collect()
/// }
/// ```
#[must_use = "dropping it gives the call up"]
pub struct Replies<B: Binding = Standard> {
    call: CallId,
    client: Client<B>,
    is_over: bool,
}

impl<B: Binding> Replies<B> {
    pub(super) const fn new(call: CallId, client: Client<B>) -> Self {
        Self { call, client, is_over: false }
    }

    /// The next reply, or the end of the call, as the iterator gives it, if it comes within `span`.
    ///
    /// # Errors
    /// [`Elapsed`]; the call waits on.
    pub fn next_timeout(
        &mut self,
        span: Duration,
    ) -> Result<Option<Result<Reply, ClientError>>, Elapsed> {
        // The clock has whole milliseconds, so one more is never too short.
        let span = span.saturating_add(Duration::from_millis(1));
        self.wait(Some(self.client.agent.now().saturating_add(span)))
    }

    /// The last reply of the one that was called; what comes before it is passed over.
    ///
    /// # Errors
    /// [`ClientError`] when the call ends without one.
    pub fn last(mut self) -> Result<Reply, ClientError> {
        loop {
            let reply = self.next().ok_or(ClientError::Over)??;
            if reply.kind.is_last() {
                return Ok(reply);
            }
        }
    }

    fn wait(
        &mut self,
        limit: Option<Instant>,
    ) -> Result<Option<Result<Reply, ClientError>>, Elapsed> {
        if self.is_over {
            return Ok(None);
        }
        let agent = &self.client.agent;
        loop {
            let mut state = agent.lock();
            let pause = agent.drain(&mut state);
            let mut next = state.calls.get_mut(&self.call).and_then(Inbox::next);
            if state.is_closed {
                next = next.or(Some(Err(ClientError::Closed)));
            }
            drop(state);
            if let Some(next) = next {
                self.is_over = next.as_ref().map_or(true, |reply| reply.is_end);
                return Ok(Some(next));
            }
            if limit.is_some_and(|limit| limit <= agent.now()) {
                return Err(Elapsed);
            }
            agent.wait(&pause, limit);
        }
    }
}

impl<B: Binding> Iterator for Replies<B> {
    type Item = Result<Reply, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Without a limit nothing elapses.
        self.wait(None).ok().flatten()
    }
}

impl<B: Binding> Drop for Replies<B> {
    fn drop(&mut self) {
        let mut state = self.client.agent.lock();
        state.machine.cancel(self.call);
        state.calls.remove(&self.call);
        drop(state);
        self.client.agent.bell.wake();
    }
}

impl<B: Binding> fmt::Debug for Replies<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replies")
            .field("call", &self.call)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}
