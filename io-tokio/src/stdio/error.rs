//! What can go wrong between a caller and a stdio server.

use core::error::Error;
use core::fmt;
use core::time::Duration;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;

use agentwire_core::{json, jsonrpc, mcp};

/// A request that is not passed to the server.
///
/// Real servers meet such input with silence, or take it as the sign of a client of an older
/// revision and stay in that mode, so it is answered here. [`code`](Self::code) is the JSON-RPC
/// code that fits.
///
/// ```
/// use agentwire_core::jsonrpc::{Fault, INVALID_REQUEST};
/// use agentwire_tokio::stdio::RequestError;
/// assert_eq!(RequestError::NotARequest(Fault::NotARequest).code(), INVALID_REQUEST);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The text is not JSON.
    NotJson(json::Error),
    /// The text is JSON, but not a JSON-RPC request.
    NotARequest(jsonrpc::Fault),
    /// It is not a request of MCP: why.
    Invalid(&'static str),
    /// Its `params._meta` is missing or malformed (MCP 2026-07-28, basic, `_meta`): why.
    Params(&'static str),
    /// It is of a revision before [`REVISION`](super::REVISION).
    Revision,
}

impl RequestError {
    /// The JSON-RPC error code for the answer.
    ///
    /// ```
    /// use agentwire_tokio::stdio::RequestError;
    /// assert_eq!(RequestError::Params("no _meta").code(), -32602);
    /// assert_eq!(RequestError::Revision.code(), -32022);
    /// ```
    #[must_use]
    pub const fn code(&self) -> i64 {
        match self {
            RequestError::NotJson(_) => jsonrpc::PARSE_ERROR,
            RequestError::NotARequest(fault) => fault.code(),
            RequestError::Invalid(_) => jsonrpc::INVALID_REQUEST,
            RequestError::Params(_) => jsonrpc::INVALID_PARAMS,
            RequestError::Revision => mcp::UNSUPPORTED_PROTOCOL_VERSION,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::NotJson(error) => write!(f, "the request is not JSON: {error}"),
            RequestError::NotARequest(fault) => write!(f, "the request is not valid: {fault}"),
            RequestError::Invalid(why) | RequestError::Params(why) => f.write_str(why),
            RequestError::Revision => {
                write!(f, "the request is of a revision before {}", mcp::REVISION)
            }
        }
    }
}

impl Error for RequestError {}

/// Why a server is no longer there.
///
/// ```
/// use agentwire_tokio::stdio::{Cause, Options, ServerCommand, SpawnError, StdioServer};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let command = ServerCommand::new("sh").args(["-c", "exit 3"]);
/// match StdioServer::spawn(command, Options::default()).await {
///     Err(SpawnError::NoAnswer { ended, .. }) => assert_eq!(ended.cause, Cause::Exited),
///     other => panic!("{other:?}"),
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// This side closed it.
    Closed,
    /// The process ended.
    Exited,
    /// It closed its standard output.
    StdoutClosed,
    /// It closed its standard input.
    StdinClosed,
}

/// How a server ended.
///
/// ```
/// use agentwire_tokio::stdio::{Options, ServerCommand, SpawnError, StdioServer};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let command = ServerCommand::new("sh").args(["-c", "echo no disk >&2; exit 3"]);
/// match StdioServer::spawn(command, Options::default()).await {
///     Err(SpawnError::NoAnswer { ended, .. }) => {
///         assert_eq!(ended.status.and_then(|status| status.code()), Some(3));
///         assert_eq!(ended.stderr(), "no disk\n");
///     }
///     other => panic!("{other:?}"),
/// }
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Ended {
    /// What ended it.
    pub cause: Cause,
    /// The exit status, where it is known.
    pub status: Option<ExitStatus>,
    /// Whether a member of its process group had to be killed.
    pub killed: bool,
    pub(crate) stderr: Arc<str>,
}

impl Ended {
    /// The last of what it wrote to its standard error, as it came: escape it before it reaches
    /// a terminal.
    #[must_use]
    pub fn stderr(&self) -> &str {
        &self.stderr
    }
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ended")
            .field("cause", &self.cause)
            .field("status", &self.status)
            .field("killed", &self.killed)
            .field("stderr_bytes", &self.stderr.len())
            .finish()
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cause, self.status) {
            (Cause::Closed, _) => f.write_str("the server was closed"),
            (_, Some(status)) => write!(f, "the server ended ({status})"),
            (Cause::StdinClosed, None) => f.write_str("the server closed its standard input"),
            (_, None) => f.write_str("the server closed its standard output"),
        }?;
        match self.stderr.len() {
            0 => Ok(()),
            len => write!(f, ", with {len} bytes on its standard error"),
        }
    }
}

/// Which limit a call ran into.
///
/// ```
/// use agentwire_tokio::stdio::{BackendError, Limit};
/// use core::time::Duration;
/// let error = BackendError::Timeout { limit: Limit::Total, after: Duration::from_secs(600) };
/// assert_eq!(error.to_string(), "the server did not finish within 600s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// No answer and no notification for this long.
    Idle,
    /// No answer in the time a call may take in all, however lively it is.
    Total,
}

/// Why a call has no answer.
///
/// ```
/// use agentwire_tokio::stdio::BackendError;
/// assert_eq!(BackendError::Busy { limit: 8 }.to_string(), "8 calls are in flight already");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BackendError {
    /// The request was not passed on.
    Request(RequestError),
    /// The request is longer than a line may be. Nothing was sent.
    RequestTooLarge {
        /// Its length in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// As many calls as allowed are in flight. Nothing was sent.
    Busy {
        /// How many may be in flight.
        limit: usize,
    },
    /// The server is gone. Whether it acted on the request is not known.
    Ended(Ended),
    /// The server did not answer in time; it was told that the call is cancelled.
    Timeout {
        /// Which limit it was.
        limit: Limit,
        /// How long that limit is.
        after: Duration,
    },
    /// The answer is longer than a line may be, and was skipped.
    AnswerTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer has neither or both of `result` and `error`, or one that is not an object.
    InvalidAnswer,
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackendError::Request(error) => error.fmt(f),
            BackendError::RequestTooLarge { len, limit } => {
                write!(f, "the request has {len} bytes, the limit is {limit}")
            }
            BackendError::Busy { limit } => write!(f, "{limit} calls are in flight already"),
            BackendError::Ended(ended) => ended.fmt(f),
            BackendError::Timeout { limit: Limit::Idle, after } => {
                write!(f, "the server was silent for {after:?}")
            }
            BackendError::Timeout { limit: Limit::Total, after } => {
                write!(f, "the server did not finish within {after:?}")
            }
            BackendError::AnswerTooLarge { limit } => {
                write!(f, "the server's answer is larger than {limit} bytes")
            }
            BackendError::InvalidAnswer => {
                f.write_str("the server's answer is not a JSON-RPC response")
            }
        }
    }
}

impl Error for BackendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            BackendError::Request(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RequestError> for BackendError {
    fn from(error: RequestError) -> Self {
        BackendError::Request(error)
    }
}

/// Why a server could not be started.
///
/// ```
/// use agentwire_tokio::stdio::{Options, ServerCommand, SpawnError, StdioServer};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let command = ServerCommand::new("/nonexistent/server");
/// let error = StdioServer::spawn(command, Options::default()).await.unwrap_err();
/// assert!(matches!(error, SpawnError::Start { .. }));
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum SpawnError {
    /// The system could not start the program.
    Start {
        /// The program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// The program started, but did not answer `server/discover`.
    NoAnswer {
        /// The program.
        program: String,
        /// What happened instead.
        source: BackendError,
        /// How it ended, with the last of its standard error.
        ended: Ended,
    },
    /// The program answers `server/discover` with an error, as servers do that know only
    /// revisions before 2026-07-28, or serves only other revisions.
    Revision {
        /// The program.
        program: String,
        /// The JSON-RPC error code, if it was an error.
        code: Option<i64>,
        /// The revisions that the server names, at most 16 of them.
        supported: Vec<String>,
    },
    /// The answer to `server/discover` has no list of revisions.
    Discover {
        /// The program.
        program: String,
    },
}

impl SpawnError {
    /// The program.
    #[must_use]
    pub fn program(&self) -> &str {
        match self {
            SpawnError::Start { program, .. }
            | SpawnError::NoAnswer { program, .. }
            | SpawnError::Revision { program, .. }
            | SpawnError::Discover { program } => program,
        }
    }

    /// The last of what the program wrote to its standard error before it failed to answer; empty
    /// for the other errors. Escape it before it reaches a terminal.
    #[must_use]
    pub fn stderr(&self) -> &str {
        match self {
            SpawnError::NoAnswer { ended, .. } => ended.stderr(),
            _ => "",
        }
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::Start { program, source } => {
                write!(f, "{program} could not be started: {source}")
            }
            SpawnError::NoAnswer { program, source, .. } => {
                write!(f, "{program} did not answer server/discover: {source}")
            }
            SpawnError::Revision { program, code, supported } => {
                write!(f, "{program} does not speak MCP revision {}", super::REVISION)?;
                if let Some(code) = code {
                    write!(f, " (it answers server/discover with error {code})")?;
                }
                if supported.is_empty() {
                    f.write_str("; servers of older revisions are not supported")
                } else {
                    write!(f, "; it speaks {}", supported.join(", "))
                }
            }
            SpawnError::Discover { program } => {
                write!(f, "{program} answers server/discover without naming its revisions")
            }
        }
    }
}

impl Error for SpawnError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            SpawnError::Start { source, .. } => Some(source),
            SpawnError::NoAnswer { source, .. } => Some(source),
            _ => None,
        }
    }
}
