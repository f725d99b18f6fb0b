//! The reader: bytes in, events out.

use core::fmt;
use core::time::Duration;

use super::buffer::Buffer;
use super::{DEFAULT_NAME, Event, MAX_ID_LEN, MAX_NAME_LEN};

/// Why an event is lost. What follows it is read on.
///
/// ```
/// use agentwire_core::sse::{Error, Lent, Reader};
/// let mut bytes = [0; 2];
/// let mut reader = Reader::new(Lent::new(&mut bytes));
/// let error = reader.read(&mut &b"data: 123\n\n"[..]).unwrap_err();
/// assert_eq!(error, Error::TooLarge { limit: 2 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// Its data does not fit into the buffer.
    TooLarge {
        /// How many bytes do.
        limit: usize,
    },
    /// Its name is longer than [`MAX_NAME_LEN`].
    NameTooLong {
        /// How many bytes it may have.
        limit: usize,
    },
    /// Its data or its name is not UTF-8.
    NotUtf8,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => {
                write!(f, "the data of an event is longer than {limit} bytes")
            }
            Self::NameTooLong { limit } => {
                write!(f, "the name of an event is longer than {limit} bytes")
            }
            Self::NotUtf8 => f.write_str("an event is not UTF-8"),
        }
    }
}

impl core::error::Error for Error {}

/// The longest name of a field that has a meaning: `event`, `retry`.
const FIELD_LEN: usize = 5;

/// Where in a line the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the name of a field, of which so many bytes have been kept.
    Field(usize),
    /// Right behind the colon, where one space does not count.
    Colon(Field),
    /// In the value of a field.
    Value(Field),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
    /// A comment, or a field without a meaning.
    Other,
}

impl Field {
    fn named(name: &[u8]) -> Self {
        match name {
            b"data" => Self::Data,
            b"event" => Self::Event,
            b"id" => Self::Id,
            b"retry" => Self::Retry,
            _ => Self::Other,
        }
    }
}

/// What counts for nothing at the start of a stream.
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// A name that is longer than any with a meaning.
const LONG_NAME: Place = Place::Field(FIELD_LEN.saturating_add(1));

/// The value of a `retry`, as far as it has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Empty,
    Is(u64),
    None,
}

impl Number {
    fn digit(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Empty, b'0'..=b'9') => Self::Is(u64::from(byte & 15)),
            (Self::Is(number), b'0'..=b'9') => {
                Self::Is(number.saturating_mul(10).saturating_add(u64::from(byte & 15)))
            }
            _ => Self::None,
        }
    }
}

type Id = heapless::Vec<u8, MAX_ID_LEN>;

/// Reads events out of chunks of bytes, wherever these were cut. See the [module](super).
///
/// ```text
///             ┌── bytes ──┐
///             ▼           │             blank line, data seen
///   start ─► in an event ─┴─────────────────────────► an event, lent until the next call
///             │      ▲                                or why it is lost
///             └──────┘ blank line, no data: nothing
/// ```
///
/// `read` takes what has arrived; the rest are getters. The end of the body is the caller's to see:
/// what [`is_inside_event`](Self::is_inside_event) then is lost, as the standard says.
///
/// ```
/// use agentwire_core::sse::{Lent, Reader};
///
/// let mut bytes = [0; 256];
/// let mut reader = Reader::new(Lent::new(&mut bytes));
/// let mut seen = Vec::new();
/// for chunk in [&b": hi\r"[..], b"\ndata: one\r\rda", b"ta:two\r", b"\n\r\ndata"] {
///     let mut input = chunk;
///     while let Some(event) = reader.read(&mut input).unwrap() {
///         seen.push(event.data.to_owned());
///     }
/// }
/// assert_eq!(seen, ["one", "two"]);
/// assert!(reader.is_inside_event());
/// ```
pub struct Reader<B> {
    data: B,
    /// The event's name.
    name: heapless::Vec<u8, MAX_NAME_LEN>,
    /// The id in the line that is being read; `None` once it is longer than what is kept.
    line_id: Option<Id>,
    /// Whether that id has a NUL in it, and so counts for nothing.
    has_nul: bool,
    /// The id that the next blank line makes the last one.
    next_id: Id,
    id: Id,
    line_retry: Number,
    retry: Option<Duration>,
    place: Place,
    /// The name of the field that is being read, as far as it can have a meaning.
    field: [u8; FIELD_LEN],
    /// How many bytes of a byte order mark have been seen; all of them when none can come any more.
    bom: usize,
    /// Whether the last byte was CR: a LF would belong to it.
    is_after_cr: bool,
    /// Whether the event has data, be it empty.
    has_data: bool,
    /// Why the event is lost, until it has been said.
    fault: Option<Error>,
    /// Whether that has been said.
    is_lost: bool,
    /// Whether the event has been lent to the caller.
    is_lent: bool,
    is_inside: bool,
}

impl<B: Buffer> Reader<B> {
    /// A reader at the start of a stream. `buffer` bounds the data of one event.
    pub fn new(mut buffer: B) -> Self {
        buffer.clear();
        Self {
            data: buffer,
            name: heapless::Vec::new(),
            line_id: None,
            has_nul: false,
            next_id: Id::new(),
            id: Id::new(),
            line_retry: Number::Empty,
            retry: None,
            place: Place::Field(0),
            field: [0; FIELD_LEN],
            bom: 0,
            is_after_cr: false,
            has_data: false,
            fault: None,
            is_lost: false,
            is_lent: false,
            is_inside: false,
        }
    }

    /// Takes bytes off the front of `input`, up to the end of the next event. `None` when all of
    /// them have been taken and there is none.
    ///
    /// # Errors
    /// [`Error`] once for an event that is lost, as soon as that is known; the bytes up to there
    /// have been taken.
    pub fn read(&mut self, input: &mut &[u8]) -> Result<Option<Event<'_>>, Error> {
        if self.is_lent {
            self.begin_event();
        }
        while let Some((&byte, rest)) = input.split_first() {
            if core::mem::take(&mut self.is_after_cr) && byte == b'\n'
                || self.bom < BOM.len() && self.is_bom(byte)
            {
                *input = rest;
            } else if matches!(byte, b'\r' | b'\n') {
                *input = rest;
                self.is_after_cr = byte == b'\r';
                let is_event = self.end_line();
                self.report()?;
                if is_event {
                    return self.lend().map(Some);
                }
            } else {
                let taken = self.take(byte, input);
                *input = input.get(taken..).unwrap_or_default();
                self.report()?;
            }
        }
        Ok(None)
    }

    /// The last event id, for the header `Last-Event-ID` of a new connection; empty if there is
    /// none.
    pub fn last_event_id(&self) -> &str {
        core::str::from_utf8(&self.id).unwrap_or_default()
    }

    /// How long the server asks to wait before connecting again, if it does.
    pub const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Whether an event has begun and not ended: if the body ends here, it was cut off. Comments
    /// are no beginning.
    pub const fn is_inside_event(&self) -> bool {
        self.is_inside
    }

    /// Whether this byte belongs to a byte order mark. If it does not, those before it are the
    /// beginning of a name that has no meaning.
    fn is_bom(&mut self, byte: u8) -> bool {
        if BOM.get(self.bom) == Some(&byte) {
            self.bom = self.bom.saturating_add(1);
            self.is_inside = self.bom < BOM.len();
            return true;
        }
        if self.bom > 0 {
            self.place = LONG_NAME;
        }
        self.bom = BOM.len();
        false
    }

    /// Takes what a line goes on with, up to a place where something changes: how many bytes.
    fn take(&mut self, byte: u8, input: &[u8]) -> usize {
        match self.place {
            Place::Field(len) if byte == b':' => {
                self.begin_value(len);
                1
            }
            Place::Field(len) => {
                self.is_inside = true;
                if let Some(place) = self.field.get_mut(len) {
                    *place = byte;
                    self.place = Place::Field(len.saturating_add(1));
                } else {
                    self.place = LONG_NAME;
                }
                1
            }
            Place::Colon(field) => {
                self.place = Place::Value(field);
                usize::from(byte == b' ')
            }
            Place::Value(field) => {
                let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
                let end = input.iter().position(is_end).unwrap_or(input.len());
                self.take_value(field, input.get(..end).unwrap_or_default());
                end
            }
        }
    }

    /// The name of a field of so many bytes has ended.
    fn begin_value(&mut self, len: usize) {
        let field = self.field.get(..len).map_or(Field::Other, Field::named);
        match field {
            Field::Data => {
                // The line feed between this line of data and the one before it.
                if core::mem::replace(&mut self.has_data, true) {
                    self.take_value(Field::Data, b"\n");
                }
            }
            Field::Event => self.name.clear(),
            Field::Id => {
                self.line_id = Some(Id::new());
                self.has_nul = false;
            }
            Field::Retry => self.line_retry = Number::Empty,
            Field::Other => {}
        }
        self.place = Place::Colon(field);
    }

    fn take_value(&mut self, field: Field, bytes: &[u8]) {
        match field {
            Field::Data if !self.is_lost => {
                if !self.data.push(bytes) {
                    self.fault = Some(Error::TooLarge { limit: self.data.limit() });
                }
            }
            Field::Event => {
                if self.name.extend_from_slice(bytes).is_err() {
                    self.fault = Some(Error::NameTooLong { limit: MAX_NAME_LEN });
                }
            }
            Field::Id => {
                self.has_nul |= bytes.contains(&0);
                let id = self.line_id.as_mut();
                if id.is_none_or(|id| id.extend_from_slice(bytes).is_err()) {
                    self.line_id = None;
                }
            }
            Field::Retry => {
                self.line_retry =
                    bytes.iter().fold(self.line_retry, |number, byte| number.digit(*byte));
            }
            Field::Data | Field::Other => {}
        }
    }

    /// Ends a line. Whether it was the blank one after an event.
    fn end_line(&mut self) -> bool {
        let is_blank = self.place == Place::Field(0);
        if let Place::Field(len @ 1..) = self.place {
            // A line without a colon is a field with an empty value.
            self.begin_value(len);
        }
        match core::mem::replace(&mut self.place, Place::Field(0)) {
            Place::Colon(Field::Id) | Place::Value(Field::Id) if !self.has_nul => {
                let id = self.line_id.take();
                let id = id.filter(|id| core::str::from_utf8(id).is_ok());
                self.next_id = id.unwrap_or_default();
            }
            Place::Value(Field::Retry) => {
                if let Number::Is(millis) = self.line_retry {
                    self.retry = Some(Duration::from_millis(millis));
                }
            }
            _ => {}
        }
        if !is_blank {
            return false;
        }
        self.id.clone_from(&self.next_id);
        let is_event = self.has_data && !self.is_lost;
        if is_event {
            self.is_inside = false;
        } else {
            self.begin_event();
        }
        is_event
    }

    /// Says once that the event is lost.
    fn report(&mut self) -> Result<(), Error> {
        match self.fault.take() {
            Some(error) if !self.is_lost => {
                self.is_lost = true;
                Err(error)
            }
            _ => Ok(()),
        }
    }

    fn begin_event(&mut self) {
        self.data.clear();
        self.name.clear();
        self.has_data = false;
        self.is_lost = false;
        self.is_lent = false;
        self.is_inside = false;
    }

    fn lend(&mut self) -> Result<Event<'_>, Error> {
        self.is_lent = true;
        let name = core::str::from_utf8(&self.name).map_err(|_| Error::NotUtf8)?;
        let data = core::str::from_utf8(self.data.bytes()).map_err(|_| Error::NotUtf8)?;
        let name = if name.is_empty() { DEFAULT_NAME } else { name };
        Ok(Event { name, data, id: self.last_event_id() })
    }
}

impl<B: Buffer> fmt::Debug for Reader<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("data_len", &self.data.bytes().len())
            .field("limit", &self.data.limit())
            .field("is_inside_event", &self.is_inside)
            .finish_non_exhaustive()
    }
}
