//! Files of vectors: cases with the result that each must have.
//!
//! A file is recognised by its members, not by its name, and each format is one module here. The
//! program `vectors` runs files from the command line, ordinary tests run those in
//! `tests/vectors/`.

use core::fmt;

use serde_json::Value;

mod chat_messages;

/// The formats that can be run.
pub const FORMATS: &[Format] = &[chat_messages::FORMAT];

/// A format of vector files.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Format {
    /// What the file holds, in a word or two.
    pub name: &'static str,
    /// How a file of the format is recognised, for people.
    pub mark: &'static str,
    matches: fn(&Document) -> bool,
    run: fn(&Document) -> Report,
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The content of a vector file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Document {
    /// One JSON value.
    Json(Value),
    /// A JSON value on each line that is not empty.
    Lines(Vec<Value>),
}

impl Document {
    /// Reads a file's text: as one JSON value where it is one, otherwise line by line.
    ///
    /// # Errors
    ///
    /// [`Unusable::NotJson`] when it is neither.
    pub fn parse(text: &str) -> Result<Self, Unusable> {
        if let Ok(value) = serde_json::from_str(text) {
            return Ok(Self::Json(value));
        }
        let mut values = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if !line.trim().is_empty() {
                let value = serde_json::from_str(line)
                    .map_err(|_| Unusable::NotJson { line: index + 1 })?;
                values.push(value);
            }
        }
        Ok(Self::Lines(values))
    }

    /// Whether the file is one object that has these members.
    fn has_members(&self, names: &[&str]) -> bool {
        match self {
            Self::Json(value) => names.iter().all(|name| value.get(name).is_some()),
            Self::Lines(_) => false,
        }
    }
}

/// Why no case of a file could be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// The text is neither one JSON value nor one on each line; the first bad line, from 1.
    NotJson {
        /// The line, from 1.
        line: usize,
    },
    /// No format has these members.
    UnknownFormat,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { line } => write!(f, "not JSON, nor is line {line}"),
            Self::UnknownFormat => {
                f.write_str("unknown format; known:")?;
                for format in FORMATS {
                    write!(f, " {} ({})", format.name, format.mark)?;
                }
                Ok(())
            }
        }
    }
}

impl core::error::Error for Unusable {}

/// What came of the cases of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How many cases had the result that they must have.
    pub passed: usize,
    /// One line for each of the others.
    pub failures: Vec<String>,
}

impl Report {
    /// Counts a case: what is wrong with it, empty if nothing is.
    fn add(&mut self, case: &str, wrong: &[String]) {
        if wrong.is_empty() {
            self.passed += 1;
        } else {
            self.failures.push(format!("{case}: {}", wrong.join("; ")));
        }
    }
}

/// Runs all cases of a file's text.
///
/// # Errors
///
/// [`Unusable`] when the text is not JSON or of no known format.
pub fn run(text: &str) -> Result<Report, Unusable> {
    let document = Document::parse(text)?;
    let format =
        FORMATS.iter().find(|format| (format.matches)(&document)).ok_or(Unusable::UnknownFormat)?;
    Ok((format.run)(&document))
}
