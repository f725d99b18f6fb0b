//! What comes of a request that a task answers: [`Replies`].

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::bridge::Reply;

/// Messages that wait to be taken.
const WAITING: usize = 64;

/// The messages of a task that answers one request. Dropping them ends the task.
///
/// ```
/// use core::future::poll_fn;
/// use core::pin::Pin;
/// use agentwire_tokio::mcp::{Replies, Reply};
/// use futures_core::Stream as _;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut replies = Replies::of(|lines| async move {
///     let _ = lines.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.into()).await;
/// });
/// let reply = poll_fn(|context| Pin::new(&mut replies).poll_next(context)).await;
/// assert!(matches!(reply, Some(Reply::Answer(_))));
/// # }
/// ```
pub struct Replies {
    from: mpsc::Receiver<String>,
    task: AbortHandle,
}

impl Replies {
    /// Starts a task, which sends its messages there, each in one line.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn of<W>(work: impl FnOnce(mpsc::Sender<String>) -> W) -> Self
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let (to, from) = mpsc::channel(WAITING);
        Self { from, task: tokio::spawn(work(to)).abort_handle() }
    }
}

impl Stream for Replies {
    type Item = Reply;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Reply>> {
        self.from.poll_recv(context).map(|text| text.map(Reply::read))
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Replies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replies").finish_non_exhaustive()
    }
}
