//! Canonical forms: the one text for all JSON texts that mean the same (feature `canonical`).
//!
//! Whoever signs or hashes JSON needs the same bytes on both sides, whatever white space, order of
//! members and spelling the JSON has on its way. Two such forms are in use where this crate goes:
//!
//! | | [`jcs`] | [`python`] |
//! |---|---|---|
//! | defined by | RFC 8785 | CPython's `json.dumps(value, sort_keys=True)` |
//! | used for | signatures of A2A Agent Cards | proofs and hashes among SMCP nodes |
//! | between members | `,` and `:` | as [`Separators`] says |
//! | order of names | UTF-16 code units | code points |
//! | escaped in strings | `"`, `\`, U+0000 to U+001F | those, and all that is not printable ASCII |
//! | numbers | as ECMAScript writes doubles | integers as they are, others as `repr` writes doubles |
//!
//! The orders differ for characters beyond U+FFFF: their surrogates come before U+E000.
//!
//! # What has no canonical form
//!
//! Two readers must never take different things from one canonical text, so this is stricter than
//! the documents where they leave a choice:
//!
//! | | |
//! |---|---|
//! | a name twice in an object, however it is escaped | refused: readers differ in which one counts |
//! | half of a surrogate pair | refused |
//! | `1e400` | refused: no double holds it, and it would become infinity |
//! | an integer that a double does not hold, `9007199254740993` | refused by [`jcs`]: readers with longer integers would see another number than the one signed |
//! | an integer of more than [`MAX_PYTHON_DIGITS`] digits | refused by [`python`], as CPython refuses it |
//! | `0.1000000000000000055` | rounded to the nearest double; fractions are rounded by every reader |
//!
//! A canonical form is JSON, and its own canonical form. The time it takes grows with the text
//! times the depth at worst, and the memory with the text: nothing recurses.

mod engine;
mod text;

use alloc::string::String;
use core::fmt;

pub(crate) use engine::{Ended, Item, Rules, canonical};
pub(crate) use text::Jcs;
pub use text::MAX_PYTHON_DIGITS;
use text::{PythonCompact, PythonSpaced};

use super::Error;

/// What stands between members and elements in Python's form.
///
/// ```
/// use agentwire_core::json::canonical::{Separators, python};
/// assert_eq!(python("[1, 2]", Separators::Compact).unwrap(), "[1,2]");
/// assert_eq!(python("[1,2]", Separators::Spaced).unwrap(), "[1, 2]");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // Python's own two habits.
pub enum Separators {
    /// `,` and `:`, as with `separators=(",", ":")`.
    #[default]
    Compact,
    /// `, ` and `: `, what Python writes unasked.
    Spaced,
}

/// The canonical form of RFC 8785, the JSON Canonicalization Scheme.
///
/// # Errors
/// [`CanonicalError`]: the text is not JSON, or has no canonical form.
///
/// ```
/// use agentwire_core::json::canonical::jcs;
/// let text = r#"{ "b": 1.0, "a": "\u00e9\/", "\ud83d\ude00": 1E21, "\uff01": -0 }"#;
/// assert_eq!(jcs(text).unwrap(), r#"{"a":"é/","b":1,"😀":1e+21,"！":0}"#);
/// assert!(jcs(r#"{"a":1,"\u0061":1}"#).is_err());
/// ```
pub fn jcs(text: &str) -> Result<String, CanonicalError> {
    canonical::<Jcs, _>(text, &Everything)
}

/// What CPython's `json.dumps(json.loads(text), sort_keys=True)` writes.
///
/// # Errors
/// [`CanonicalError`]: the text is not JSON, or has no canonical form.
///
/// ```
/// use agentwire_core::json::canonical::{Separators, python};
/// let text = r#"{"b":[1.0,1e16,12345678901234567890],"a":"é/"}"#;
/// let expected = r#"{"a": "\u00e9/", "b": [1.0, 1e+16, 12345678901234567890]}"#;
/// assert_eq!(python(text, Separators::Spaced).unwrap(), expected);
/// ```
pub fn python(text: &str, separators: Separators) -> Result<String, CanonicalError> {
    match separators {
        Separators::Compact => canonical::<PythonCompact, _>(text, &Everything),
        Separators::Spaced => canonical::<PythonSpaced, _>(text, &Everything),
    }
}

/// The rules of a form that leaves nothing out.
struct Everything;

impl Rules for Everything {
    type Place = ();

    fn root(&self) {}

    fn member(&self, (): (), _: super::Str<'_>) -> Item<()> {
        Item::plain(())
    }

    fn element(&self, (): ()) {}

    fn keeps(&self, (): (), _: Ended) -> bool {
        true
    }
}

/// Why a text has no canonical form.
///
/// ```
/// use agentwire_core::json::canonical::{CanonicalError, jcs};
/// assert_eq!(jcs("[1e400]"), Err(CanonicalError::TooLarge { offset: 1 }));
/// assert_eq!(jcs("9007199254740993"), Err(CanonicalError::Inexact { offset: 0 }));
/// assert!(matches!(jcs("[1,]"), Err(CanonicalError::Json(_))));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum CanonicalError {
    /// The text is not JSON, or
    /// [names a member twice](super::ErrorKind::DuplicateMember): the offset is that of the
    /// second name.
    Json(Error),
    /// A number that no double holds, not even rounded; or for Python an integer with too many
    /// digits.
    TooLarge {
        /// Bytes from the start of the text to the number.
        offset: usize,
    },
    /// An integer that a double holds only rounded.
    Inexact {
        /// Bytes from the start of the text to the number.
        offset: usize,
    },
}

impl CanonicalError {
    /// Bytes from the start of the text to the place where it shows.
    pub const fn offset(&self) -> usize {
        match self {
            Self::Json(error) => error.offset,
            Self::TooLarge { offset } | Self::Inexact { offset } => *offset,
        }
    }
}

impl fmt::Display for CanonicalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "{error}"),
            Self::TooLarge { offset } => write!(f, "the number is too large (byte {offset})"),
            Self::Inexact { offset } => {
                write!(f, "the integer has no exact value as a double (byte {offset})")
            }
        }
    }
}

impl core::error::Error for CanonicalError {}

impl From<Error> for CanonicalError {
    fn from(error: Error) -> Self {
        Self::Json(error)
    }
}

#[cfg(test)]
mod tests;
