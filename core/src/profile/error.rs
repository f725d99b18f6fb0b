//! What can be wrong with a declaration, and where.

use core::fmt;

use crate::json::{self, offset_in};

/// Why a declaration cannot be read, and the byte offset where that shows.
///
/// ```
/// use agentwire_core::profile::{
///     DeclarationErrorKind, Declarations, Part, Source,
/// };
/// let text = r#"{"protocols":{"mcp":{"versions":[1],"transports":{}}}}"#;
/// let error = Declarations::parse(Source::Profile, text).unwrap_err();
/// assert_eq!(error.kind, DeclarationErrorKind::Type(Part::Version));
/// assert_eq!(error.offset, 33);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct DeclarationError {
    /// What is wrong.
    pub kind: DeclarationErrorKind,
    /// Bytes from the start of the text.
    pub offset: usize,
}

/// What is wrong with a declaration.
///
/// ```
/// use agentwire_core::profile::{DeclarationErrorKind, Declarations, Part, Source};
/// let kind = |text| Declarations::parse(Source::Group, text).unwrap_err().kind;
/// let missing = DeclarationErrorKind::Missing(Part::Transports);
/// assert_eq!(kind(r#"{"protocols":{"mcp":{"versions":[]}}}"#), missing);
/// assert!(matches!(kind("[]"), DeclarationErrorKind::Json(_)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum DeclarationErrorKind {
    /// The text is not one JSON object, or a member occurs twice.
    Json(json::ErrorKind),
    /// A part is not there that the schema requires.
    Missing(Part),
    /// A part is of another type than the schema says.
    Type(Part),
}

/// A part of a declaration.
///
/// ```
/// use agentwire_core::profile::Part;
/// assert_eq!(Part::Rpc.name(), "transports.rpc");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Part {
    /// `protocols`, an object.
    Protocols,
    /// What `protocols` says of one protocol, an object.
    Protocol,
    /// `versions` of a protocol, an array.
    Versions,
    /// One of the versions, a string.
    Version,
    /// `transports` of a protocol, an object.
    Transports,
    /// `transports.chat`, a truth value.
    Chat,
    /// `transports.rpc`, a truth value.
    Rpc,
    /// `audience`, an array.
    Audience,
    /// `serves`, an array.
    Serves,
    /// One of the peer types, a string.
    PeerType,
    /// `changeFrequency`, a string.
    ChangeFrequency,
}

impl Part {
    /// How messages name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Protocols => "protocols",
            Self::Protocol => "the declaration of a protocol",
            Self::Versions => "versions",
            Self::Version => "a version",
            Self::Transports => "transports",
            Self::Chat => "transports.chat",
            Self::Rpc => "transports.rpc",
            Self::Audience => "audience",
            Self::Serves => "serves",
            Self::PeerType => "a peer type",
            Self::ChangeFrequency => "changeFrequency",
        }
    }
}

impl DeclarationError {
    /// An error that shows where `place`, a slice of `text`, begins.
    pub(super) fn at(kind: DeclarationErrorKind, text: &str, place: &str) -> Self {
        Self { kind, offset: offset_in(text, place) }
    }

    /// An error of JSON that was found in `part`, a slice of `text`.
    pub(super) fn json(error: json::Error, text: &str, part: &str) -> Self {
        let offset = offset_in(text, part).saturating_add(error.offset);
        Self { kind: DeclarationErrorKind::Json(error.kind), offset }
    }
}

impl fmt::Display for DeclarationErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(kind) => write!(f, "{kind}"),
            Self::Missing(part) => write!(f, "{} is missing", part.name()),
            Self::Type(part) => write!(f, "{} has the wrong type", part.name()),
        }
    }
}

impl fmt::Display for DeclarationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.kind, self.offset)
    }
}

impl core::error::Error for DeclarationError {}
