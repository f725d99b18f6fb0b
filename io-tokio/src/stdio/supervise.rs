//! The tasks around a child, and its end.

use core::time::Duration;
use std::process::ExitStatus;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::deadline;
use super::error::{Cause, Ended};
use super::group::Group;
use super::line::LineReader;
use super::routes::Routes;
use super::tail::Tail;

/// How long the last bytes in the pipes and the exit status are waited for after a sign of the
/// end. Normally they are there at once; a grandchild that holds a pipe open takes all of it.
const SETTLE: Duration = Duration::from_millis(250);

/// How long a server has to end by itself after its standard input is closed.
const END_OF_INPUT: Duration = Duration::from_millis(500);

/// How long the system has to remove what was killed.
const REMOVAL: Duration = Duration::from_secs(1);

/// How often it is asked whether a group is empty.
const POLL: Duration = Duration::from_millis(10);

/// Passes lines to the routes until the stream ends.
pub(super) async fn read(source: impl AsyncRead + Unpin, routes: Arc<Routes>) {
    let mut lines = LineReader::new(source, routes.options.max_line);
    while let Ok(Some(line)) = lines.next().await {
        routes.take(&line);
    }
}

/// Writes lines until the child takes no more.
pub(super) async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// A running child and everything that hangs on it.
pub(crate) struct Supervisor {
    // Dropped first: the group is killed before its leader can be waited for.
    pub(crate) group: Group,
    pub(crate) child: Child,
    pub(crate) reader: JoinHandle<()>,
    pub(crate) writer: JoinHandle<()>,
    pub(crate) errors: JoinHandle<()>,
    pub(crate) tail: Arc<Tail>,
    /// How long the group has between SIGTERM and SIGKILL.
    pub(crate) grace: Duration,
    /// Told as soon as the end is known, before what is left of the group is ended.
    pub(crate) on_end: Box<dyn Fn(&Ended) + Send + Sync>,
}

impl Supervisor {
    /// Waits for the end, or for `close` to be sent or dropped, and leaves no process behind.
    pub(crate) async fn run(mut self, close: oneshot::Receiver<()>) -> Ended {
        let (cause, mut status) = tokio::select! {
            biased;
            _ = close => (Cause::Closed, None),
            status = self.child.wait() => (Cause::Exited, status.ok()),
            _ = &mut self.reader => (Cause::StdoutClosed, None),
            _ = &mut self.writer => (Cause::StdinClosed, None),
        };
        if cause != Cause::Closed {
            if status.is_none() {
                status = self.exit(Instant::now() + SETTLE).await;
            }
            let until = Instant::now() + SETTLE;
            settle(&mut self.reader, until).await;
            settle(&mut self.errors, until).await;
        }
        let cause = if status.is_some() { Cause::Exited } else { cause };
        let mut ended = Ended { cause, status, killed: false, stderr: self.tail.text().into() };
        (self.on_end)(&ended);
        self.stop(&mut ended).await;
        ended.stderr = self.tail.text().into();
        ended
    }

    /// Closes the standard input, then asks, then kills.
    async fn stop(&mut self, ended: &mut Ended) {
        self.writer.abort();
        if ended.status.is_none() {
            ended.status = self.exit(Instant::now() + END_OF_INPUT).await;
        }
        self.group.terminate();
        let grace = deadline(self.grace);
        if !self.gone(ended, grace).await {
            ended.killed = true;
            self.group.kill();
            self.gone(ended, Instant::now() + REMOVAL).await;
        }
        settle(&mut self.errors, Instant::now() + SETTLE).await;
        self.reader.abort();
        self.errors.abort();
    }

    /// Waits for the child and then for the rest of its group; says whether all are gone.
    async fn gone(&mut self, ended: &mut Ended, until: Instant) -> bool {
        if ended.status.is_none() {
            ended.status = self.exit(until).await;
        }
        if ended.status.is_none() {
            return false;
        }
        while self.group.is_alive() {
            if Instant::now() >= until {
                return false;
            }
            sleep(POLL).await;
        }
        true
    }

    async fn exit(&mut self, until: Instant) -> Option<ExitStatus> {
        timeout_at(until, self.child.wait()).await.ok().and_then(Result::ok)
    }
}

/// Gives a task some time to reach its end.
async fn settle(task: &mut JoinHandle<()>, until: Instant) {
    if !task.is_finished() {
        let _ = timeout(until.saturating_duration_since(Instant::now()), task).await;
    }
}
