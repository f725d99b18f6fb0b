//! One event, and how it is written.

use core::fmt;

use super::DEFAULT_NAME;
use crate::json::Writer;

/// One event: read by a [`Reader`](super::Reader), or made to be written.
///
/// `Debug` shows lengths, never the text.
///
/// ```
/// use agentwire_core::json::Writer;
/// use agentwire_core::sse::Event;
///
/// let mut buffer = [0; 64];
/// let mut out = Writer::new(&mut buffer);
/// Event::new("{\n}").name("error").id("7").write(&mut out).unwrap();
/// assert_eq!(out.finish().unwrap(), "event: error\nid: 7\ndata: {\ndata: }\n\n");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<'a> {
    /// What it is called; `message` if it has no name of its own.
    pub name: &'a str,
    /// What it says. Lines are parted by line feeds.
    pub data: &'a str,
    /// Where to go on from after it: the last id that the stream has named, which need not be in
    /// this event. Empty if there is none.
    pub id: &'a str,
}

impl<'a> Event<'a> {
    /// An event without a name and an id of its own.
    pub const fn new(data: &'a str) -> Self {
        Self { name: DEFAULT_NAME, data, id: "" }
    }

    /// With a name.
    #[must_use]
    pub const fn name(mut self, name: &'a str) -> Self {
        self.name = name;
        self
    }

    /// With an id.
    #[must_use]
    pub const fn id(mut self, id: &'a str) -> Self {
        self.id = id;
        self
    }

    /// Writes it, its blank line included. Data of several lines, however they end, arrives with
    /// line feeds between them; a name of `message` and an empty id are left out.
    ///
    /// # Errors
    /// [`WriteError`], and nothing is written: a name or an id that the wire cannot carry.
    pub fn write(&self, out: &mut Writer<'_>) -> Result<(), WriteError> {
        if self.name.contains(['\r', '\n']) {
            return Err(WriteError::Name);
        }
        // An id with NUL would be passed over.
        if self.id.contains(['\r', '\n', '\0']) {
            return Err(WriteError::Id);
        }
        if !self.name.is_empty() && self.name != DEFAULT_NAME {
            out.raw("event: ").raw(self.name).raw("\n");
        }
        if !self.id.is_empty() {
            out.raw("id: ").raw(self.id).raw("\n");
        }
        let mut rest = self.data;
        loop {
            let end = rest.find(['\r', '\n']).unwrap_or(rest.len());
            out.raw("data: ").raw(rest.get(..end).unwrap_or_default()).raw("\n");
            let Some(tail) = rest.get(end..).filter(|tail| !tail.is_empty()) else { break };
            let one = tail.get(1..).unwrap_or_default();
            rest = tail.strip_prefix("\r\n").unwrap_or(one);
        }
        out.raw("\n");
        Ok(())
    }

    /// The text that [`write`](Self::write) writes.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// ```
    /// use agentwire_core::sse::Event;
    /// assert_eq!(Event::new("{}").to_text().unwrap(), "data: {}\n\n");
    /// assert!(Event::new("{}").name("a\nb").to_text().is_err());
    /// ```
    #[cfg(feature = "alloc")]
    pub fn to_text(&self) -> Result<alloc::string::String, WriteError> {
        self.write(&mut Writer::new(&mut []))?;
        // It can be written, as has just been seen.
        Ok(crate::json::to_text(|out| self.write(out).unwrap_or_default()))
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("name_len", &self.name.len())
            .field("data_len", &self.data.len())
            .field("id_len", &self.id.len())
            .finish()
    }
}

/// Writes what keeps a connection alive and means nothing: an empty comment.
///
/// ```
/// use agentwire_core::{json::Writer, sse::write_keep_alive};
/// let mut buffer = [0; 8];
/// let mut out = Writer::new(&mut buffer);
/// write_keep_alive(&mut out);
/// assert_eq!(out.finish().unwrap(), ":\n\n");
/// ```
pub fn write_keep_alive(out: &mut Writer<'_>) {
    out.raw(":\n\n");
}

/// Why an event cannot be written.
///
/// ```
/// use agentwire_core::{json::Writer, sse::{Event, WriteError}};
/// let error = Event::new("").id("a\nb").write(&mut Writer::new(&mut [])).unwrap_err();
/// assert_eq!(error, WriteError::Id);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum WriteError {
    /// The name has a line end in it.
    Name,
    /// The id has a line end or a NUL in it.
    Id,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "the name of the event has a line end in it",
            Self::Id => "the id of the event has a line end or a NUL in it",
        })
    }
}

impl core::error::Error for WriteError {}
