//! How the program ends.

use core::fmt::Write as _;
use std::io::{self, Write as _};
use std::process;

use agentwire_tokio::stdio::{BackendError, SpawnError};

use crate::terminal::escape;

/// The exit codes, a stable table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitCode {
    /// All went well, a clean end after SIGTERM or SIGINT included.
    Ok = 0,
    /// The other side answered with an error, or with nothing usable; or the result could not be
    /// written.
    ToolError = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The configuration is wrong.
    Config = 3,
    /// The chat core cannot be reached.
    NoCore = 4,
    /// The other side did not answer in time.
    Timeout = 5,
    /// The other side, or a rule here, refused.
    Refused = 6,
    /// The request was sent, and nobody knows what came of it.
    Unknown = 7,
    /// The state is in use by another process.
    Locked = 8,
    /// The state is damaged.
    Corrupt = 9,
    /// A child process could not be started.
    NoChild = 10,
    /// SIGINT before the end was clean.
    Interrupted = 130,
    /// SIGTERM before the end was clean.
    Terminated = 143,
}

impl ExitCode {
    const ALL: [(Self, &'static str); 13] = [
        (Self::Ok, "all went well"),
        (Self::ToolError, "the other side answered with an error, or nothing usable"),
        (Self::Usage, "the command line is wrong"),
        (Self::Config, "the configuration is wrong"),
        (Self::NoCore, "the chat core cannot be reached"),
        (Self::Timeout, "the other side did not answer in time"),
        (Self::Refused, "refused, by the other side or by a rule here"),
        (Self::Unknown, "sent, and the outcome is not known"),
        (Self::Locked, "the state is in use by another process"),
        (Self::Corrupt, "the state is damaged"),
        (Self::NoChild, "a child process could not be started"),
        (Self::Interrupted, "SIGINT before a clean end"),
        (Self::Terminated, "SIGTERM before a clean end"),
    ];

    /// The table, for the end of `--help`.
    pub(crate) fn table() -> String {
        let mut table = String::from("Exit codes:");
        for (code, meaning) in Self::ALL {
            // Writing to a string does not fail.
            let _ = write!(table, "\n  {:>3}  {meaning}", code as u8);
        }
        table
    }
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> Self {
        process::ExitCode::from(code as u8)
    }
}

/// Why the program ends before its work is done.
#[derive(Debug)]
pub(crate) struct Failure {
    code: ExitCode,
    /// What is said on standard error; nothing is if it is empty.
    message: String,
    /// Who else has something to say, and what it wrote.
    detail: Option<(String, String)>,
}

impl Failure {
    /// A failure with a message of one line.
    pub(crate) fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Failure { code, message: message.into(), detail: None }
    }

    /// Adds what a child wrote to its standard error.
    pub(crate) fn with_stderr(mut self, name: &str, text: &str) -> Self {
        self.detail = Some((name.to_owned(), text.to_owned())).filter(|_| !text.is_empty());
        self
    }

    /// What is said on standard error.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// How the program ends.
    pub(crate) fn code(&self) -> ExitCode {
        self.code
    }

    /// Says it on standard error.
    pub(crate) fn report(self) -> process::ExitCode {
        let mut text = String::new();
        if !self.message.is_empty() {
            let _ = writeln!(text, "agentwire: {}", escape(&self.message));
        }
        if let Some((name, detail)) = &self.detail {
            let lines: Vec<&str> = detail.lines().collect();
            for line in &lines[lines.len().saturating_sub(20)..] {
                // A child may have written 64 KiB without a line feed: its end says most.
                let from = line.len().saturating_sub(1000);
                let from = (from..line.len()).find(|&at| line.is_char_boundary(at)).unwrap_or(0);
                let _ = writeln!(text, "{}: {}", escape(name), escape(&line[from..]));
            }
        }
        // A closed standard error leaves nobody to tell.
        let _ = io::stderr().write_all(text.as_bytes());
        self.code.into()
    }
}

impl From<io::Error> for Failure {
    /// A failed write of a result. A reader that has seen enough is no failure.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::new(ExitCode::Ok, "")
        } else {
            Failure::new(ExitCode::ToolError, format!("the result could not be written: {error}"))
        }
    }
}

impl From<SpawnError> for Failure {
    fn from(error: SpawnError) -> Self {
        Failure::new(ExitCode::NoChild, error.to_string())
            .with_stderr(error.program(), error.stderr())
    }
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        let code = match &error {
            BackendError::Timeout { .. } => ExitCode::Timeout,
            BackendError::Ended(_) => ExitCode::Unknown,
            BackendError::Busy { .. }
            | BackendError::Request(_)
            | BackendError::RequestTooLarge { .. } => ExitCode::Refused,
            _ => ExitCode::ToolError,
        };
        let failure = Failure::new(code, error.to_string());
        match &error {
            BackendError::Ended(ended) => failure.with_stderr("server", ended.stderr()),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_stands_in_the_table_once() {
        let mut codes: Vec<u8> = ExitCode::ALL.iter().map(|(code, _)| *code as u8).collect();
        assert!(codes.is_sorted());
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130, 143]);
        assert!(ExitCode::table().lines().all(|line| line.len() <= 80));
    }

    #[test]
    fn a_reader_that_has_seen_enough_is_no_failure() {
        let closed = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((closed.code, closed.message.as_str()), (ExitCode::Ok, ""));
        let full = Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(full.code, ExitCode::ToolError);
    }
}
