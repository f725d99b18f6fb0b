//! What a bridge is told beyond the machine's own [`Config`].

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use agentwire_core::mcp::bridge::{Backoff, Config};

/// What an [`McpBridge`](super::McpBridge) is told.
///
/// ```
/// use agentwire_tokio::mcp::Options;
/// let mut options = Options::default();
/// options.bridge.legacy = true;
/// assert_eq!(options.max_waiting, 32 * 1024 * 1024);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The machine's own limits, times and options.
    pub bridge: Config,
    /// The delays between attempts to start a server.
    pub backoff: Backoff,
    /// How many attempts may fail before the first success until
    /// [`ready`](super::McpBridge::ready) gives up. Default 3.
    pub start_attempts: u32,
    /// How long a child's process group has between SIGTERM and SIGKILL. Default 2 s.
    pub grace: Duration,
    /// How much of a child's standard error is kept, in bytes. Default 64 KiB.
    pub stderr_tail: usize,
    /// How many notifications of one call may wait to be taken. Default 64; those above are dropped,
    /// the answer never is.
    pub queue: usize,
    /// How many bytes may wait to be read by a child; one that leaves more unread is ended. Default
    /// 32 MiB.
    pub max_waiting: usize,
    /// Where the lines of a child's standard error go.
    pub log: Option<Log>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bridge: Config::default(),
            backoff: Backoff::default(),
            start_attempts: 3,
            grace: Duration::from_secs(2),
            stderr_tail: 64 * 1024,
            queue: 64,
            max_waiting: 32 * 1024 * 1024,
            log: None,
        }
    }
}

/// Takes lines of text of a server, as it wrote them: escape them before they reach a terminal.
///
/// ```
/// use agentwire_tokio::mcp::Log;
/// let log = Log::new(|line| eprintln!("server: {} bytes", line.len()));
/// log.line("hello");
/// ```
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&str) + Send + Sync>);

impl Log {
    /// Takes lines with this function, which must not block.
    pub fn new(take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Takes one.
    pub fn line(&self, line: &str) {
        (self.0)(line);
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}
