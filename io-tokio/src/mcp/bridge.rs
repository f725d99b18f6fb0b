//! The handle: [`McpBridge`].

use core::fmt;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use agentwire_core::jsonrpc::Message;
use agentwire_core::mcp::bridge::{CallerId, Final, Room, Via};
use futures_core::Stream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::health::{Health, StartError, Trouble};
use super::options::Options;
use super::task::{Command, Task};
use super::upstream::Upstream;
use crate::stdio::ServerCommand;

/// Where a server is.
///
/// ```
/// use agentwire_tokio::mcp::Backend;
/// use agentwire_tokio::stdio::ServerCommand;
/// assert_eq!(Backend::Child(ServerCommand::new("server")).name(), "server");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// A program that is started here and spoken to over its standard streams.
    Child(ServerCommand),
    /// A server on Streamable HTTP.
    Http(Upstream),
}

impl Backend {
    /// What to call it, for messages to a person.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Child(command) => command.program().to_string_lossy().into_owned(),
            Self::Http(upstream) => upstream.host(),
        }
    }
}

/// A message that a call brought.
///
/// ```
/// use agentwire_tokio::mcp::Reply;
/// assert_eq!(format!("{:?}", Reply::Notification("{}".into())), "Notification(2 bytes)");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// A notification; more follows.
    Notification(String),
    /// The answer; the last message.
    Answer(Final),
}

impl Reply {
    /// What a message is: a notification, or else the answer.
    ///
    /// ```
    /// use agentwire_tokio::mcp::Reply;
    /// let told = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
    /// assert!(matches!(Reply::read(told), Reply::Notification(_)));
    /// assert!(matches!(Reply::read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Reply::Answer(_)));
    /// ```
    pub fn read(text: impl Into<String>) -> Self {
        let text = text.into();
        match Message::parse(&text) {
            Ok(Message::Notification(_)) => Self::Notification(text),
            _ => Self::Answer(Final::new(text)),
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Notification(text) => write!(f, "Notification({} bytes)", text.len()),
            Self::Answer(answer) => answer.fmt(f),
        }
    }
}

/// A server behind a task that speaks with it for all callers. See the [module](super).
///
/// ```
/// use agentwire_tokio::mcp::{Backend, McpBridge, Options};
/// use agentwire_tokio::stdio::ServerCommand;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let script = r#"read q; echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}}'; read q"#;
/// # let command = ServerCommand::new("sh").args(["-c", script]);
/// let bridge = McpBridge::start(Backend::Child(command), Options::default());
/// bridge.ready().await.unwrap();
/// assert!(bridge.health().is_up());
/// bridge.close().await;
/// # }
/// ```
#[derive(Debug)]
pub struct McpBridge {
    name: String,
    commands: mpsc::UnboundedSender<Command>,
    next: AtomicU64,
    queue: usize,
    health: watch::Receiver<Health>,
    start_attempts: u32,
    task: JoinHandle<()>,
}

impl McpBridge {
    /// Starts the task, and the server.
    ///
    /// # Panics
    /// Outside of a tokio runtime; the runtime needs its timer and its I/O.
    #[must_use]
    pub fn start(backend: Backend, options: Options) -> Self {
        let name = backend.name();
        let (commands, receiver) = mpsc::unbounded_channel();
        let (report, health) = watch::channel(Health::default());
        let (queue, start_attempts) = (options.queue.min(1 << 20), options.start_attempts);
        let task = tokio::spawn(Task::new(backend, options, receiver, report).run());
        Self { name, commands, next: AtomicU64::new(1), queue, health, start_attempts, task }
    }

    /// What to call the server, for messages to a person.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until the server takes requests for the first time.
    ///
    /// # Errors
    /// [`StartError`] if it cannot be used, or [`Options::start_attempts`] attempts have failed. The
    /// task goes on trying in the latter case, until the bridge is closed.
    pub async fn ready(&self) -> Result<(), StartError> {
        let mut health = self.health.clone();
        let attempts = self.start_attempts.max(1);
        let seen = health
            .wait_for(|health| health.is_up() || health.is_final || health.failures >= attempts)
            .await;
        let trouble = match seen {
            Ok(health) if health.is_up() => return Ok(()),
            Ok(health) => health.trouble.clone(),
            Err(_) => None,
        };
        let trouble = trouble.unwrap_or_else(|| {
            Arc::new(Trouble { what: "is no longer served".into(), stderr: String::new() })
        });
        Err(StartError { name: self.name.clone(), trouble })
    }

    /// How the server stands.
    #[must_use]
    pub fn health(&self) -> Health {
        self.health.borrow().clone()
    }

    /// Tells when that changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Health> {
        self.health.clone()
    }

    /// Begins a call. Whatever is wrong with it is said by its answer.
    pub fn call(&self, caller: CallerId, request: impl Into<String>, room: Room, via: Via) -> Call {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        // One place more than notifications may take, so that the answer always has one.
        let (to, from) = mpsc::channel(self.queue + 1);
        let request = request.into();
        // When the task has ended, the call ends without an answer.
        let _ = self.commands.send(Command::Begin { ticket, caller, request, room, via, to });
        Call { ticket, from, commands: self.commands.clone(), has_ended: false }
    }

    /// Ends the server and waits for it. Calls that are open are answered with an error.
    pub async fn close(mut self) {
        let _ = self.commands.send(Command::Close);
        // An error would be a panic of the task, which has ended then too.
        let _ = (&mut self.task).await;
    }
}

impl Drop for McpBridge {
    fn drop(&mut self) {
        // Calls hold the queue open: its end is no sign. An error: the task has ended.
        let _ = self.commands.send(Command::Close);
    }
}

/// A call. Dropping it before its answer cancels it at the server.
///
/// ```
/// use agentwire_core::mcp::bridge::{CallerId, Room, Via};
/// use agentwire_tokio::mcp::{Backend, McpBridge, Options, Reply};
/// use agentwire_tokio::stdio::ServerCommand;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let bridge = McpBridge::start(Backend::Child(ServerCommand::new("true")), Options::default());
/// let mut call = bridge.call(CallerId(1), "not a request", Room::UNLIMITED, Via::Conversation);
/// let Some(Reply::Answer(answer)) = call.next().await else { panic!() };
/// assert!(answer.text.contains("-32700"));
/// assert!(call.next().await.is_none());
/// # }
/// ```
pub struct Call {
    ticket: u64,
    from: mpsc::Receiver<Reply>,
    commands: mpsc::UnboundedSender<Command>,
    has_ended: bool,
}

impl Call {
    /// A call that has its answer.
    pub(super) fn answered(answer: Final) -> Self {
        let (to, from) = mpsc::channel(1);
        let (commands, _) = mpsc::unbounded_channel();
        // There is room for one.
        let _ = to.try_send(Reply::Answer(answer));
        Self { ticket: 0, from, commands, has_ended: false }
    }

    /// The next message: any number of notifications, then the answer, then `None`. `None` without an
    /// answer only when the bridge was closed before the call was begun. Cancel safe.
    pub async fn next(&mut self) -> Option<Reply> {
        core::future::poll_fn(|context| self.poll_reply(context)).await
    }

    fn poll_reply(&mut self, context: &mut Context<'_>) -> Poll<Option<Reply>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let reply = ready!(self.from.poll_recv(context));
        self.has_ended = !matches!(reply, Some(Reply::Notification(_)));
        Poll::Ready(reply)
    }

    /// The answer; notifications are passed over.
    pub async fn answer(&mut self) -> Option<Final> {
        loop {
            match self.next().await? {
                Reply::Answer(answer) => return Some(answer),
                Reply::Notification(_) => {}
            }
        }
    }
}

impl Stream for Call {
    type Item = Reply;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Reply>> {
        self.poll_reply(context)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.has_ended {
            let _ = self.commands.send(Command::Cancel { ticket: self.ticket });
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("ticket", &self.ticket)
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}
