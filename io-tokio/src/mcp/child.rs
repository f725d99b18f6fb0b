//! A child process as a connection: lines in, lines out, and its end.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::options::Options;
use crate::stdio::group::Group;
use crate::stdio::line::{Line, LineReader};
use crate::stdio::supervise::Supervisor;
use crate::stdio::tail::Tail;
use crate::stdio::{Ended, ServerCommand};

/// How many lines may wait to be taken.
const INCOMING: usize = 64;

/// The longest line of the standard error that is logged as one.
const LOG_LINE: usize = 8 * 1024;

/// What a child says.
pub(super) enum Said {
    Line(String),
    /// The head of a line above the limit.
    Overlong(Vec<u8>),
    NotUtf8,
}

/// A running child.
pub(super) struct Child {
    outgoing: mpsc::UnboundedSender<String>,
    waiting: Arc<AtomicUsize>,
    incoming: mpsc::Receiver<Said>,
    ended: oneshot::Receiver<Ended>,
    /// How it has ended, once that is known.
    end: Option<Option<Ended>>,
    close: oneshot::Sender<()>,
    supervisor: JoinHandle<Ended>,
    pub(super) pid: Option<u32>,
}

impl Child {
    pub(super) fn start(command: &ServerCommand, options: &Options) -> io::Result<Self> {
        let mut child = command.command().spawn()?;
        let pid = child.id();
        let group = Group::of(pid);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("a standard stream is missing"));
        };
        let (outgoing, lines) = mpsc::unbounded_channel();
        let (said, incoming) = mpsc::channel(INCOMING);
        let (tell, ended) = oneshot::channel();
        let tell = std::sync::Mutex::new(Some(tell));
        let waiting = Arc::new(AtomicUsize::new(0));
        let tail = Arc::new(Tail::new(options.stderr_tail));
        let supervisor = Supervisor {
            group,
            child,
            reader: tokio::spawn(read(stdout, options.bridge.max_message, said)),
            writer: tokio::spawn(write(stdin, lines, Arc::clone(&waiting))),
            errors: tokio::spawn(errors(stderr, Arc::clone(&tail), options.clone())),
            tail,
            grace: options.grace,
            on_end: Box::new(move |ended: &Ended| {
                let mut tell = tell.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                // Nobody listens any more when the bridge is closing.
                let _ = tell.take().map(|tell| tell.send(ended.clone()));
            }),
        };
        let (close, closed) = oneshot::channel();
        let supervisor = tokio::spawn(supervisor.run(closed));
        Ok(Self { outgoing, waiting, incoming, ended, end: None, close, supervisor, pid })
    }

    /// Hands a line to the writer; says how many bytes wait there.
    pub(super) fn send(&self, mut line: String) -> usize {
        line.push('\n');
        let len = line.len();
        let waiting = self.waiting.fetch_add(len, Ordering::Relaxed) + len;
        // The end of the writer is the end of the child, which is seen by itself.
        let _ = self.outgoing.send(line);
        waiting
    }

    /// What the child says next, or how it has ended. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Said, Option<Ended>> {
        if self.end.is_none() {
            tokio::select! {
                biased;
                Some(said) = self.incoming.recv() => return Ok(said),
                ended = &mut self.ended => self.end = Some(ended.ok()),
            }
        }
        // What it has said before its end comes first.
        self.incoming.try_recv().map_err(|_| self.end.clone().flatten())
    }

    /// Ends it and its process group, and waits for that.
    pub(super) async fn close(self) -> Option<Ended> {
        let Self { close, supervisor, outgoing, .. } = self;
        drop(outgoing);
        let _ = close.send(());
        supervisor.await.ok()
    }
}

async fn read(source: impl AsyncRead + Unpin, limit: usize, said: mpsc::Sender<Said>) {
    let mut lines = LineReader::new(source, limit);
    while let Ok(Some(line)) = lines.next().await {
        let said_now = match line {
            Line::Text(text) => Said::Line(text.to_owned()),
            Line::Overlong(head) => Said::Overlong(head.to_owned()),
            Line::NotUtf8 => Said::NotUtf8,
        };
        if said.send(said_now).await.is_err() {
            return;
        }
    }
}

async fn write(
    mut stdin: ChildStdin,
    mut lines: mpsc::UnboundedReceiver<String>,
    waiting: Arc<AtomicUsize>,
) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
        waiting.fetch_sub(line.len(), Ordering::Relaxed);
    }
    // Dropping the stream here would be taken as the child's doing.
    core::future::pending::<()>().await;
}

/// Keeps the tail of the standard error, and hands on its lines.
async fn errors(mut source: impl AsyncRead + Unpin, tail: Arc<Tail>, options: Options) {
    let mut chunk = vec![0; 8192];
    let mut line: Vec<u8> = Vec::new();
    let emit = |line: &mut Vec<u8>| {
        if let Some(log) = options.log.as_ref().filter(|_| !line.is_empty()) {
            log.line(String::from_utf8_lossy(line).trim_end());
        }
        line.clear();
    };
    loop {
        let read = match source.read(&mut chunk).await {
            Ok(0) => break,
            Ok(read) => &chunk[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        tail.push(read);
        for &byte in read {
            line.push(byte);
            if byte == b'\n' || line.len() == LOG_LINE {
                emit(&mut line);
            }
        }
    }
    emit(&mut line);
}
