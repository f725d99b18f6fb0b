//! What can be wrong with a JSON text, and where.

use core::fmt;

/// Why a text is not one well-formed JSON value, and the byte offset where that shows.
///
/// ```
/// use agentwire_core::json::{self, ErrorKind};
///
/// let error = json::Value::parse(r#"{"id": 01}"#).unwrap_err();
/// assert_eq!(error.kind, ErrorKind::InvalidNumber);
/// assert_eq!(error.offset, 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Bytes from the start of the text to the place where it shows.
    pub offset: usize,
}

impl Error {
    pub(crate) const fn new(kind: ErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }
}

/// What is wrong with a JSON text.
///
/// ```
/// use agentwire_core::json::{ErrorKind, Value};
/// assert_eq!(Value::parse("[1,").unwrap_err().kind, ErrorKind::UnexpectedEnd);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text ends inside a value, or holds no value.
    UnexpectedEnd,
    /// A byte that cannot stand here.
    UnexpectedByte(u8),
    /// A literal that is not `true`, `false` or `null`.
    InvalidLiteral,
    /// A number that RFC 8259 section 6 does not allow: a leading zero or plus, no digit after
    /// the point or the exponent mark.
    InvalidNumber,
    /// A backslash followed by something that is no escape.
    InvalidEscape,
    /// A `\u` escape that is half of a surrogate pair.
    LoneSurrogate,
    /// A control character (below U+0020) that stands in a string unescaped.
    ControlCharacter(u8),
    /// The bytes are not UTF-8.
    InvalidUtf8,
    /// The text begins with U+FEFF.
    ByteOrderMark,
    /// Arrays and objects are nested deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    TooDeep,
    /// Something other than white space follows the value.
    TrailingData,
    /// The text is a well-formed value, but not an object.
    NotAnObject,
    /// A member name occurs twice where that would leave open which one counts.
    DuplicateMember,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedEnd => f.write_str("the text ends inside a value"),
            Self::UnexpectedByte(byte) => write!(f, "byte 0x{byte:02x} cannot stand here"),
            Self::InvalidLiteral => f.write_str("not one of true, false, null"),
            Self::InvalidNumber => f.write_str("not a JSON number"),
            Self::InvalidEscape => f.write_str("not a JSON escape"),
            Self::LoneSurrogate => f.write_str("half of a surrogate pair"),
            Self::ControlCharacter(byte) => {
                write!(f, "control character 0x{byte:02x} in a string is not escaped")
            }
            Self::InvalidUtf8 => f.write_str("not UTF-8"),
            Self::ByteOrderMark => f.write_str("the text begins with a byte order mark"),
            Self::TooDeep => write!(f, "nested deeper than {} levels", super::MAX_DEPTH),
            Self::TrailingData => f.write_str("data after the value"),
            Self::NotAnObject => f.write_str("not a JSON object"),
            Self::DuplicateMember => f.write_str("a member occurs twice"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.kind, self.offset)
    }
}

impl core::error::Error for Error {}

/// The caller's buffer is shorter than what has to be written. Nothing usable was written; a
/// call with `needed` bytes succeeds.
///
/// ```
/// use agentwire_core::json::Writer;
///
/// let mut small = [0; 4];
/// let mut writer = Writer::new(&mut small);
/// writer.string("hello");
/// let error = writer.finish().unwrap_err();
/// assert_eq!((error.needed, error.capacity), (7, 4));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct BufferTooSmall {
    /// Bytes that the whole output takes.
    pub needed: usize,
    /// Bytes that the buffer has.
    pub capacity: usize,
}

impl fmt::Display for BufferTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the buffer holds {} bytes, {} are needed", self.capacity, self.needed)
    }
}

impl core::error::Error for BufferTooSmall {}
