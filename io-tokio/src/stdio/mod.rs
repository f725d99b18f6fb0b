//! An MCP server as a child process, spoken to over its standard streams (MCP 2026-07-28,
//! Transports, stdio).
//!
//! [`StdioServer::spawn`] starts the program in a process group of its own and opens with a
//! `server/discover` of its own, so that no caller's bytes are the first thing the server sees:
//! several servers take the first request as the sign of the client's revision and keep to it.
//! [`StdioServer::call`] then takes any number of requests at once, of any callers:
//!
//! - Each request goes out under an id, and where it asks for progress under a progress token,
//!   that no other request has; the caller gets its own id and token back as it wrote them. Only
//!   `jsonrpc`, `id`, `method` and `params` are passed on, in one line without white space
//!   between values. A request whose envelope a server would meet with silence is refused here
//!   ([`RequestError`]).
//! - Notifications reach the call they are tied to: `notifications/progress` by its token, those
//!   of `subscriptions/listen` by its id. `notifications/message` is tied to nothing, and reaches
//!   a call only if no other is, or may still be, in flight.
//! - What fits nowhere is dropped and counted ([`Dropped`]): late, repeated and unknown answers,
//!   lines that are no message, too long or no text. Memory stays bounded by [`Options`],
//!   whatever the server writes, its standard error included.
//! - Each call ends: with its answer, with silence for [`Options::idle_timeout`], at
//!   [`Options::total_timeout`] however much progress there is, or with the server. Progress
//!   extends the first limit, not the second. A call that is given up is cancelled at the server.
//! - The end of the server ends all calls at once, with its exit status and the last of its
//!   standard error. It is not restarted here.
//!
//! Closing (or dropping) a server closes its standard input, then sends SIGTERM to its process
//! group, and SIGKILL to what is left of it after [`Options::grace`]. If the runtime itself ends
//! first, the group is killed at once.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn core::error::Error>> {
//! use agentwire_tokio::stdio::{Options, Reply, ServerCommand, StdioServer};
//!
//! let command = ServerCommand::new("mcp-server-time").args(["--local-timezone", "UTC"]);
//! let server = StdioServer::spawn(command, Options::default()).await?;
//! let mut call = server
//!     .call(
//!         r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":{
//!         "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!         "io.modelcontextprotocol/clientCapabilities":{}}}}"#,
//!     )
//!     .await?;
//! while let Some(reply) = call.next().await {
//!     match reply? {
//!         Reply::Notification(text) => eprintln!("{} bytes of progress", text.len()),
//!         Reply::Response(text) => assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":"a""#)),
//!         _ => {}
//!     }
//! }
//! server.close().await;
//! # Ok(())
//! # }
//! ```

mod error;
pub(crate) mod group;
pub(crate) mod line;
mod message;
mod routes;
pub(crate) mod supervise;
pub(crate) mod tail;

use core::fmt;
use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::Command;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

pub use error::{BackendError, Cause, Ended, Limit, RequestError, SpawnError};

use group::Group;
use message::{Discovery, Request};
use routes::{Entered, Item, Routes};
use supervise::Supervisor;
use tail::Tail;

/// The MCP revision spoken here, and the oldest one.
pub const REVISION: &str = agentwire_core::mcp::REVISION;

/// How many lines may wait to be written to a server.
const OUTGOING: usize = 64;

/// The program to run as a server, its arguments and surroundings. No shell is involved.
///
/// ```
/// use agentwire_tokio::stdio::ServerCommand;
/// let command = ServerCommand::new("server").arg("--verbose").env("LANG", "C");
/// assert_eq!(command.program(), "server");
/// ```
#[derive(Clone)]
pub struct ServerCommand {
    program: OsString,
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    guard: Vec<OsString>,
}

impl ServerCommand {
    /// A program, looked up in `PATH` if it is a bare name.
    pub fn new(program: impl Into<OsString>) -> Self {
        let program = program.into();
        ServerCommand {
            program,
            args: Vec::new(),
            envs: Vec::new(),
            directory: None,
            guard: Vec::new(),
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable on top of those of this process.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.envs.push((name.into(), value.into()));
        self
    }

    /// Sets the directory the program starts in.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Starts the program by way of another one, which becomes it: these words stand before it on
    /// the command line. A process that is killed cannot end its children; a guard can have the
    /// system do that, as `setpriv --pdeathsig KILL` does on Linux.
    #[must_use]
    pub fn guard<A: Into<OsString>>(mut self, words: impl IntoIterator<Item = A>) -> Self {
        self.guard = words.into_iter().map(Into::into).collect();
        self
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    pub(crate) fn command(&self) -> Command {
        let mut words = self.guard.iter().chain([&self.program]).chain(&self.args);
        let mut command = Command::new(words.next().unwrap_or(&self.program));
        command
            .args(words)
            .envs(self.envs.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }
}

impl fmt::Debug for ServerCommand {
    /// Arguments and variables may hold secrets: only their number is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCommand")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("envs", &self.envs.len())
            .field("directory", &self.directory)
            .finish()
    }
}

/// Limits of a [`StdioServer`].
///
/// ```
/// use agentwire_tokio::stdio::Options;
/// use core::time::Duration;
/// let mut options = Options::default();
/// options.idle_timeout = Duration::from_secs(5);
/// assert_eq!(options.max_line, 16 * 1024 * 1024);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How long the server has to answer `server/discover`. Default 30 s: programs that are
    /// fetched before they start take their time.
    pub start_timeout: Duration,
    /// How long a call may be silent. Default 30 s.
    pub idle_timeout: Duration,
    /// How long a call may take in all. Default 10 min.
    pub total_timeout: Duration,
    /// How long the process group has between SIGTERM and SIGKILL. Default 2 s.
    pub grace: Duration,
    /// The longest line read or written, in bytes. Default 16 MiB.
    pub max_line: usize,
    /// The longest notification passed on, in bytes. Default 64 KiB.
    pub max_notification: usize,
    /// How many calls may be in flight. Default 256.
    pub max_in_flight: usize,
    /// How many notifications may wait for the caller to take them, for each call. Default 64, at
    /// most 1,048,576; those above are dropped, the answer never is.
    pub queue: usize,
    /// How much of the standard error is kept, in bytes. Default 64 KiB.
    pub stderr_tail: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            start_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_secs(600),
            grace: Duration::from_secs(2),
            max_line: 16 * 1024 * 1024,
            max_notification: 64 * 1024,
            max_in_flight: 256,
            queue: 64,
            stderr_tail: 64 * 1024,
        }
    }
}

/// How many messages of a server were dropped, by reason.
///
/// ```
/// use agentwire_tokio::stdio::Dropped;
/// assert_eq!(Dropped::default().late, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Lines above [`Options::max_line`], notifications above [`Options::max_notification`].
    pub overlong: u64,
    /// Lines that are not UTF-8.
    pub not_utf8: u64,
    /// Lines that are no message of the protocol, and responses without one clear outcome.
    pub malformed: u64,
    /// Responses and notifications with an id or token that was never given out.
    pub unknown: u64,
    /// Responses and notifications for a call that has ended: too late, or repeated.
    pub late: u64,
    /// Notifications that are tied to no call.
    pub unattributed: u64,
    /// Notifications that a caller did not take in time.
    pub full: u64,
}

/// A message that a call brought, as one line of JSON with the caller's own id and token.
///
/// ```
/// use agentwire_tokio::stdio::Reply;
/// let reply = Reply::Response(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.into());
/// assert_eq!(format!("{reply:?}"), "Response(36 bytes)");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// A notification; more follows.
    Notification(String),
    /// The response, with a result or an error; the last message.
    Response(String),
}

impl Reply {
    /// The message.
    ///
    /// ```
    /// # use agentwire_tokio::stdio::Reply;
    /// assert_eq!(Reply::Response("{}".into()).text(), "{}");
    /// ```
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Reply::Notification(text) | Reply::Response(text) => text,
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Reply::Notification(_) => "Notification",
            Reply::Response(_) => "Response",
        };
        write!(f, "{name}({} bytes)", self.text().len())
    }
}

/// A running stdio MCP server. See the [module](self).
///
/// ```
/// use agentwire_tokio::stdio::{Options, ServerCommand, StdioServer};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn core::error::Error>> {
/// # let script = r#"read q; echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}}'; read q; echo '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}}'; read q"#;
/// # let command = ServerCommand::new("sh").args(["-c", script]);
/// let server = StdioServer::spawn(command, Options::default()).await?;
/// assert!(server.discovery().contains("2026-07-28"));
/// assert!(server.ended().is_none());
/// let ended = server.close().await;
/// assert!(!ended.killed);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct StdioServer {
    name: String,
    pid: Option<u32>,
    discovery: String,
    routes: Arc<Routes>,
    tail: Arc<Tail>,
    // Sent or dropped, it ends the server.
    close: oneshot::Sender<()>,
    supervisor: JoinHandle<Ended>,
}

impl StdioServer {
    /// Starts a server and asks it what it speaks.
    ///
    /// # Errors
    /// [`SpawnError`] if the program cannot be started, does not answer `server/discover` in
    /// time, or does not speak revision [`REVISION`] or a later one. It has ended by then.
    pub async fn spawn(command: ServerCommand, options: Options) -> Result<Self, SpawnError> {
        let program = command.program().to_string_lossy().into_owned();
        let start_timeout = options.start_timeout;
        let mut server = Self::start(&command, options)
            .map_err(|source| SpawnError::Start { program: program.clone(), source })?;
        let answer = match server.discover(start_timeout).await {
            Ok(answer) => answer,
            Err(source) => {
                let ended = server.close().await;
                return Err(SpawnError::NoAnswer { program, source, ended });
            }
        };
        let refusal = match Discovery::of(&answer) {
            Discovery::Revisions(names) if names.iter().any(|name| is_modern(name)) => {
                server.discovery = answer;
                return Ok(server);
            }
            Discovery::Revisions(supported) => {
                SpawnError::Revision { program, code: None, supported }
            }
            Discovery::Error { code, supported } => {
                SpawnError::Revision { program, code: Some(code), supported }
            }
            Discovery::Unclear => SpawnError::Discover { program },
        };
        server.close().await;
        Err(refusal)
    }

    fn start(command: &ServerCommand, options: Options) -> std::io::Result<Self> {
        let mut child = command.command().spawn()?;
        let pid = child.id();
        let group = Group::of(pid);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(std::io::Error::other("a standard stream is missing"));
        };
        let (outgoing, lines) = mpsc::channel(OUTGOING);
        let tail = Arc::new(Tail::new(options.stderr_tail));
        let routes = Arc::new(Routes::new(options, outgoing));
        let errors = Arc::clone(&tail);
        let supervisor = Supervisor {
            group,
            child,
            reader: tokio::spawn(supervise::read(stdout, Arc::clone(&routes))),
            writer: tokio::spawn(supervise::write(stdin, lines)),
            errors: tokio::spawn(async move { errors.drain(stderr).await }),
            tail: Arc::clone(&tail),
            grace: routes.options.grace,
            on_end: {
                let routes = Arc::clone(&routes);
                Box::new(move |ended| routes.end(ended))
            },
        };
        let (close, closed) = oneshot::channel();
        let supervisor = tokio::spawn(supervisor.run(closed));
        let name = command.program().to_string_lossy().into_owned();
        Ok(StdioServer { name, pid, discovery: String::new(), routes, tail, close, supervisor })
    }

    async fn discover(&self, within: Duration) -> Result<String, BackendError> {
        let request = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"discover\",\"method\":\"server/discover\",\
             \"params\":{{\"_meta\":{{\
             \"io.modelcontextprotocol/protocolVersion\":\"{REVISION}\",\
             \"io.modelcontextprotocol/clientInfo\":\
             {{\"name\":\"agentwire\",\"version\":\"{}\"}},\
             \"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}",
            env!("CARGO_PKG_VERSION")
        );
        let mut call = self.begin(&request, within, within).await?;
        call.response().await
    }

    /// Sends a request: one JSON-RPC request object of MCP with its `_meta` envelope. It may
    /// hold line feeds and white space; its id may be in use by another caller.
    ///
    /// # Errors
    /// [`BackendError`] if the request is not sent: malformed, too large, too many in flight,
    /// the server gone.
    pub async fn call(&self, request: &str) -> Result<Call, BackendError> {
        let options = &self.routes.options;
        self.begin(request, options.idle_timeout, options.total_timeout).await
    }

    async fn begin(
        &self,
        request: &str,
        idle: Duration,
        total: Duration,
    ) -> Result<Call, BackendError> {
        let limit = self.routes.options.max_line;
        if request.len() > limit {
            return Err(BackendError::RequestTooLarge { len: request.len(), limit });
        }
        let request = Request::parse(request)?;
        let Entered { key, line, outgoing, from } = self.routes.enter(&request)?;
        let mut call = Call {
            key,
            routes: Arc::clone(&self.routes),
            from,
            idle,
            total,
            idle_until: deadline(idle),
            total_until: deadline(total),
            sent: false,
            ended: false,
        };
        // The way is closed when the server has just gone; the call then says so.
        match timeout_at(call.idle_until.min(call.total_until), outgoing.send(line)).await {
            Ok(_) => call.sent = true,
            Err(_) => return Err(BackendError::Timeout { limit: Limit::Idle, after: idle }),
        }
        Ok(call)
    }

    /// The program, for messages to a person.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id, which is its process group's, too.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// The response to our `server/discover`, as one line of JSON: revisions, capabilities,
    /// instructions.
    #[must_use]
    pub fn discovery(&self) -> &str {
        &self.discovery
    }

    /// How it ended, if it did.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        self.routes.ended()
    }

    /// How many calls are in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.routes.in_flight()
    }

    /// What was dropped so far.
    #[must_use]
    pub fn dropped(&self) -> Dropped {
        self.routes.dropped()
    }

    /// The last of what it wrote to its standard error, as it came: escape it before it reaches
    /// a terminal.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.tail.text()
    }

    /// Ends the server and all of its process group, and waits for it. Takes at most
    /// [`Options::grace`] and about two seconds. Calls in flight end with [`Cause::Closed`].
    pub async fn close(self) -> Ended {
        let StdioServer { routes, tail, close, supervisor, .. } = self;
        // Fails when the server has ended by itself.
        let _ = close.send(());
        supervisor.await.unwrap_or_else(|_| {
            routes.ended().unwrap_or_else(|| Ended {
                cause: Cause::Closed,
                status: None,
                killed: true,
                stderr: tail.text().into(),
            })
        })
    }
}

/// The time after this span; for one that no clock can hold, a time nobody waits for.
pub(crate) fn deadline(span: Duration) -> Instant {
    const LONG: Duration = Duration::from_secs(30 * 365 * 86_400);
    let now = Instant::now();
    now.checked_add(span).unwrap_or_else(|| now + LONG)
}

/// A revision, or a later one: they are dates, and sort as text.
fn is_modern(name: &str) -> bool {
    let dated = name.len() == REVISION.len()
        && name.bytes().zip(REVISION.bytes()).all(|(byte, model)| match model {
            b'-' => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    dated && name >= REVISION
}

/// A call in flight. Dropping it before its end cancels it at the server.
///
/// ```
/// use agentwire_tokio::stdio::{Options, Reply, ServerCommand, StdioServer};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn core::error::Error>> {
/// # let script = r#"read q; echo '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}}'; read q; echo '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}}'; read q"#;
/// # let command = ServerCommand::new("sh").args(["-c", script]);
/// # let server = StdioServer::spawn(command, Options::default()).await?;
/// let request = r#"{"jsonrpc":"2.0","id":"mine","method":"tools/list","params":{"_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
/// let mut call = server.call(request).await?;
/// while let Some(reply) = call.next().await {
///     if let Reply::Response(text) = reply? {
///         assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":"mine","result":"#));
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct Call {
    key: u64,
    routes: Arc<Routes>,
    from: mpsc::Receiver<Item>,
    idle: Duration,
    total: Duration,
    idle_until: Instant,
    total_until: Instant,
    sent: bool,
    ended: bool,
}

impl Call {
    /// The next message: any number of notifications, then the response or one error, then
    /// `None`. Cancel safe: a message is never lost.
    ///
    /// # Errors
    /// [`BackendError`] if no response comes: in time, within the limits, from a server that
    /// still runs.
    pub async fn next(&mut self) -> Option<Result<Reply, BackendError>> {
        if self.ended {
            return None;
        }
        let item = if Instant::now() < self.total_until {
            let until = self.idle_until.min(self.total_until);
            tokio::select! {
                biased;
                item = self.from.recv() => item,
                () = sleep_until(until) => None,
            }
        } else {
            self.last()
        };
        let item = item.unwrap_or_else(|| Err(self.timed_out()));
        match &item {
            Ok(Reply::Notification(_)) => self.idle_until = deadline(self.idle),
            Ok(Reply::Response(_)) | Err(_) => self.end(),
        }
        Some(item)
    }

    /// The response; notifications are passed over.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn response(&mut self) -> Result<String, BackendError> {
        loop {
            match self.next().await {
                Some(Ok(Reply::Notification(_))) => {}
                Some(Ok(Reply::Response(text))) => return Ok(text),
                Some(Err(error)) => return Err(error),
                None => return Err(self.timed_out()),
            }
        }
    }

    /// The last item, if it is there already.
    fn last(&mut self) -> Option<Item> {
        loop {
            match self.from.try_recv() {
                Ok(Ok(Reply::Notification(_))) => {}
                Ok(item) => return Some(item),
                Err(_) => return None,
            }
        }
    }

    fn timed_out(&self) -> BackendError {
        let (limit, after) = if Instant::now() < self.total_until {
            (Limit::Idle, self.idle)
        } else {
            (Limit::Total, self.total)
        };
        BackendError::Timeout { limit, after }
    }

    fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            self.routes.give_up(self.key, self.sent);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("key", &self.key).field("ended", &self.ended).finish()
    }
}
