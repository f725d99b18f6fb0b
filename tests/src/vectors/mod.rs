//! Files of vectors: cases with the result that each must have.
//!
//! A file is recognised by its members, not by its name, and each format is one module here. The
//! program `vectors` runs files from the command line, ordinary tests run those in
//! `tests/vectors/`.

use core::fmt;

use serde_json::{Map, Value};

mod agent_cards;
mod chat_messages;
mod jcs;
mod service_signatures;

/// The formats that can be run.
pub const FORMATS: &[Format] =
    &[agent_cards::FORMAT, chat_messages::FORMAT, jcs::FORMAT, service_signatures::FORMAT];

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
                for (place, format) in FORMATS.iter().enumerate() {
                    let separator = if place == 0 { "" } else { ";" };
                    write!(f, "{separator} {} ({})", format.name, format.mark)?;
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

    /// Counts all that another report counts.
    fn extend(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
    }
}

/// What is wrong with the result of a case, or why the case itself cannot be read.
type Check = fn(&Map<String, Value>) -> Result<Vec<String>, String>;

/// Runs the `cases` of a file, which have these `members` at most.
fn run_cases(document: &Document, members: &[&str], check: Check) -> Report {
    let mut report = Report::default();
    let Document::Json(file) = document else { return report };
    let Some(cases) = file["cases"].as_array() else {
        report.add("cases", &["not an array".into()]);
        return report;
    };
    let run = |case: &Value| {
        let case = case.as_object().ok_or("not an object")?;
        match case.keys().find(|key| !members.contains(&key.as_str())) {
            Some(unknown) => Err(format!("unknown member {unknown}")),
            None => check(case),
        }
    };
    for (index, case) in cases.iter().enumerate() {
        let name = match case["description"].as_str() {
            Some(description) => format!("case {index}, {description}"),
            None => format!("case {index}"),
        };
        report.add(&name, &run(case).unwrap_or_else(|malformed| vec![malformed]));
    }
    report
}

/// A member that must be there and of this type.
fn required<'v, T>(
    object: &'v Map<String, Value>,
    name: &str,
    read: fn(&'v Value) -> Option<T>,
) -> Result<T, String> {
    optional(object, name, read)?.ok_or_else(|| format!("{name}: missing"))
}

/// A member that is of this type if it is there.
fn optional<'v, T>(
    object: &'v Map<String, Value>,
    name: &str,
    read: fn(&'v Value) -> Option<T>,
) -> Result<Option<T>, String> {
    match object.get(name) {
        None => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(|| format!("{name}: of the wrong type")),
    }
}

/// Bytes from pairs of hexadecimal digits.
fn hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
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
