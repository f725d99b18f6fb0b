//! Results, on standard output.

use core::fmt::Display;
use std::io::{self, Stdout, Write};

use crate::exit::Failure;
use crate::terminal::Terminal;

/// Where results go. Errors of writing end the program, quietly if the reader is gone.
#[derive(Debug)]
pub(crate) struct Output {
    out: Stdout,
    terminal: Terminal,
    json: bool,
}

impl Output {
    /// Standard output, as text or as JSON lines.
    pub(crate) fn stdout(json: bool) -> Self {
        let out = io::stdout();
        let terminal = Terminal::of(&out);
        Output { out, terminal, json }
    }

    /// Whether JSON is wanted.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// What it is shown on.
    pub(crate) fn terminal(&self) -> Terminal {
        self.terminal
    }

    /// Writes one line of text. What comes from others must be escaped already.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<(), Failure> {
        writeln!(self.out, "{text}")?;
        Ok(self.out.flush()?)
    }

    /// Writes one line of JSON. It needs no escaping: JSON has no control characters, and where
    /// it is shown on a terminal the rest is escaped as JSON escapes.
    pub(crate) fn json(&mut self, value: &serde_json::Value) -> Result<(), Failure> {
        let text = value.to_string();
        if self.terminal.is_terminal() {
            self.line(crate::terminal::escape_json(&text))
        } else {
            self.line(text)
        }
    }
}
