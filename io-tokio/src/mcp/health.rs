//! How a server stands.

use core::error::Error;
use core::fmt;
use std::sync::Arc;

use agentwire_core::mcp::bridge::{Dropped, Status};

/// How a server stands.
///
/// ```
/// use agentwire_tokio::mcp::Health;
/// assert!(!Health::default().is_up());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Health {
    /// The machine's word for it.
    pub status: Status,
    /// How often it was started.
    pub starts: u64,
    /// How many attempts have failed since it was up.
    pub failures: u32,
    /// How many calls are open.
    pub open_calls: usize,
    /// What was dropped so far.
    pub dropped: Dropped,
    /// Notifications that a caller did not take in time.
    pub full: u64,
    /// The process, while there is one.
    pub pid: Option<u32>,
    /// What went wrong last.
    pub trouble: Option<Arc<Trouble>>,
    /// Whether nobody will try again.
    pub is_final: bool,
}

impl Health {
    /// Whether it takes requests.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.status == Status::Up
    }
}

/// What went wrong with a server.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// What happened, in a sentence.
    pub what: String,
    /// The last of what it wrote to its standard error, as it came: escape it before it reaches a
    /// terminal.
    pub stderr: String,
}

impl fmt::Debug for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trouble")
            .field("what", &self.what)
            .field("stderr_bytes", &self.stderr.len())
            .finish()
    }
}

/// Why a server did not come up.
///
/// ```
/// use agentwire_tokio::mcp::{Backend, McpBridge, Options};
/// use agentwire_tokio::stdio::ServerCommand;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut options = Options::default();
/// options.start_attempts = 1;
/// let command = ServerCommand::new("/nonexistent/server");
/// let bridge = McpBridge::start(Backend::Child(command), options);
/// let error = bridge.ready().await.unwrap_err();
/// assert!(error.to_string().starts_with("/nonexistent/server could not be started: "));
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StartError {
    /// What was tried.
    pub name: String,
    /// What went wrong.
    pub trouble: Arc<Trouble>,
}

impl StartError {
    /// The last of what the server wrote to its standard error.
    #[must_use]
    pub fn stderr(&self) -> &str {
        &self.trouble.stderr
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.trouble.what)
    }
}

impl Error for StartError {}
