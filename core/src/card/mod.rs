#![doc = include_str!("../../docs/agent-cards.md")]

mod form;
mod interface;
mod jws;
mod key;
mod keyset;
mod lint;
mod origin;
mod schema;
mod sign;
mod verify;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use form::Form;
pub use interface::{InterfaceError, SimplexInterface};
pub use jws::{CardSignature, MAX_HEADER_LEN, MAX_HEADER_PARAMETERS, Refusal};
pub use key::{ES256_SIGNATURE_LEN, KeyError, MAX_KID_LEN, PublicKey, SecretKey};
pub use keyset::{KeySet, KeySetError, MAX_JWKS_LEN, MAX_KEYS};
pub use lint::{FINDINGS, Finding, FindingKind, Lint, VERIFIERS, VerifierKind};
pub use origin::{MAX_URL_LEN, Origin, OriginError};
pub use sign::{NewSignature, SignError, Signer};
pub use verify::{Verified, Verifier, VerifyError};

use crate::json::canonical::CanonicalError;
use crate::json::splice::{Appender, Fate, splice};
use crate::json::{self, Found, Object, Value, Writer, offset_in, to_text};
use schema::SIGNATURES;

/// The longest card that is read, in bytes.
pub const MAX_CARD_LEN: usize = 256 * 1024;

/// How many signatures a card may have: each costs a verification.
pub const MAX_SIGNATURES: usize = 8;

/// An Agent Card as it was received.
///
/// `Debug` shows lengths, never the text.
///
/// ```
/// use agentwire_core::card::{Card, Form};
/// let card = Card::parse(r#"{"version":"1","name":"A","signatures":[]}"#).unwrap();
/// assert_eq!(card.canonical(Form::Spec).unwrap(), r#"{"name":"A","version":"1"}"#);
/// let twice = Card::parse(r#"{"name":"A","n\u0061me":"B"}"#).unwrap();
/// assert!(twice.canonical(Form::Spec).is_err());
/// ```
#[derive(Clone, Copy)]
pub struct Card<'a> {
    /// With the white space around it.
    text: &'a str,
    object: Object<'a>,
    signatures: Option<Value<'a>>,
}

impl<'a> Card<'a> {
    /// Reads a card.
    ///
    /// # Errors
    /// [`CardError`]. The members are not looked at, but for `signatures`, which has to be an
    /// array of at most [`MAX_SIGNATURES`] if it is there.
    pub fn parse(text: &'a str) -> Result<Self, CardError> {
        if text.len() > MAX_CARD_LEN {
            return Err(CardError::TooLong { len: text.len(), limit: MAX_CARD_LEN });
        }
        // In the pass that checks the text: it need not be read again to find the member.
        let mut found = Found::default();
        let object = Object::parse_with(text, |name, value| {
            if name == *SIGNATURES {
                found.add(value);
            }
        })?;
        let Ok(signatures) = found.get() else { return Err(CardError::Signatures) };
        let signatures = signatures.filter(|value| !value.is_null());
        if let Some(value) = signatures {
            let count = value.elements().ok_or(CardError::Signatures)?.count();
            if count > MAX_SIGNATURES {
                return Err(CardError::TooManySignatures { count, limit: MAX_SIGNATURES });
            }
        }
        Ok(Self { text, object, signatures })
    }

    /// The card's text, as it was given.
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// The card as an object.
    pub const fn object(&self) -> Object<'a> {
        self.object
    }

    /// The text that a signature covers.
    ///
    /// # Errors
    /// [`CardError::Canonical`] for a card without a canonical form: one in which a name occurs
    /// twice in an object, a field by both its spellings (`iconUrl`, `icon_url`) among them.
    pub fn canonical(&self, form: Form) -> Result<String, CardError> {
        form::write(self.text, form).map_err(CardError::Canonical)
    }

    /// The signatures in their order, each as far as it can be read.
    pub fn signatures(&self) -> impl Iterator<Item = Result<CardSignature<'a>, Refusal>> + use<'a> {
        self.elements().map(CardSignature::read)
    }

    fn elements(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        self.signatures.and_then(|value| value.elements()).into_iter().flatten()
    }

    /// The card with these signatures, and everything else byte for byte: behind those that it
    /// has, or in their stead. Without new ones in the stead of all it is a card without
    /// signatures.
    ///
    /// Several signatures are for the time in which a key is replaced, or for verifiers of
    /// different forms: one that holds is enough (A2A 1.0 section 8.4.3).
    ///
    /// ```
    /// use agentwire_core::card::Card;
    /// let text = r#"{ "name": "A", "signatures": [1], "version": "1" }"#;
    /// let card = Card::parse(text).unwrap();
    /// assert_eq!(card.with_signatures(&[], false), r#"{ "name": "A", "version": "1" }"#);
    /// assert_eq!(card.with_signatures(&[], true), text);
    /// ```
    pub fn with_signatures(&self, new: &[NewSignature], keep: bool) -> String {
        let kept: Vec<Value<'a>> = self.elements().filter(|_| keep).collect();
        let write = |out: &mut Writer<'_>| {
            let mut comma = "";
            out.raw("[");
            for value in &kept {
                out.raw(comma).value(*value);
                comma = ",";
            }
            for signature in new {
                signature.write(out.raw(comma));
                comma = ",";
            }
            out.raw("]");
        };
        if new.is_empty() && keep {
            return self.text.into();
        }
        let any = !(new.is_empty() && kept.is_empty());
        self.set(SIGNATURES, any, |_, out| write(out))
    }

    /// The card with another value for a member, or without the member.
    fn set(
        &self,
        name: &str,
        present: bool,
        write: impl Fn(Option<Value<'a>>, &mut Writer<'_>),
    ) -> String {
        let there = self.object.members().any(|(member, _)| member == *name);
        let start = offset_in(self.text, self.object.get_text());
        let end = start.saturating_add(self.object.get_text().len());
        to_text(|out| {
            out.raw(self.text.get(..start).unwrap_or_default());
            splice(
                self.object,
                out,
                |member| match member == *name {
                    false => Fate::Keep,
                    true if present => Fate::Replace,
                    true => Fate::Remove,
                },
                |_, value, out| write(Some(value), out),
                |to: &mut Appender<'_, '_>| {
                    if present && !there {
                        write(None, to.member(name));
                    }
                },
            );
            out.raw(self.text.get(end..).unwrap_or_default());
        })
    }
}

impl fmt::Debug for Card<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Card({} bytes, {} signatures)", self.text.len(), self.elements().count())
    }
}

/// A tag that names a version of a card: the SHA-256 of its canonical form without the signatures,
/// in hexadecimal and shortened. It is the same however the card is laid out and signed, so it is
/// sent as a weak `ETag` (A2A 1.0 section 8.6; RFC 9110 section 8.8.3).
///
/// # Errors
/// [`CardError::Canonical`], as [`Card::canonical`].
///
/// ```
/// use agentwire_core::card::{Card, etag};
/// let card = Card::parse(r#"{"name":"A","version":"1"}"#).unwrap();
/// let same = Card::parse(r#"{ "version": "1", "name": "A", "signatures": [] }"#).unwrap();
/// assert_eq!(etag(&card), etag(&same));
/// let tag = etag(&card).unwrap();
/// assert!(tag.starts_with("W/\"") && tag.ends_with('"') && tag.len() == 36);
/// ```
pub fn etag(card: &Card<'_>) -> Result<String, CardError> {
    use core::fmt::Write as _;
    use sha2::{Digest as _, Sha256};
    let hash = Sha256::digest(card.canonical(Form::Served)?);
    let mut tag = String::from("W/\"");
    for byte in hash.iter().take(16) {
        // Writing to a string does not fail.
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    Ok(tag)
}

/// Why a text is no card, or has no canonical form.
///
/// ```
/// use agentwire_core::card::{Card, CardError};
/// let error = Card::parse(r#"{"signatures":{}}"#).unwrap_err();
/// assert_eq!(error, CardError::Signatures);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum CardError {
    /// Longer than [`MAX_CARD_LEN`].
    TooLong {
        /// Bytes of the card.
        len: usize,
        /// [`MAX_CARD_LEN`].
        limit: usize,
    },
    /// Not JSON, or not an object.
    Json(json::Error),
    /// It has no canonical form.
    Canonical(CanonicalError),
    /// `signatures` is not an array, or stands there twice.
    Signatures,
    /// More than [`MAX_SIGNATURES`].
    TooManySignatures {
        /// How many there are.
        count: usize,
        /// [`MAX_SIGNATURES`].
        limit: usize,
    },
}

impl CardError {
    /// Where it shows, in bytes from the start of the card, if it shows at a place.
    pub const fn offset(&self) -> Option<usize> {
        match self {
            Self::Json(error) => Some(error.offset),
            Self::Canonical(error) => Some(error.offset()),
            _ => None,
        }
    }
}

impl From<json::Error> for CardError {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { len, limit } => write!(f, "{len} bytes, and {limit} are read"),
            Self::Json(error) => write!(f, "{error}"),
            Self::Canonical(error) => write!(f, "no canonical form: {error}"),
            Self::Signatures => f.write_str("signatures is not one array"),
            Self::TooManySignatures { count, limit } => {
                write!(f, "{count} signatures, and {limit} are looked at")
            }
        }
    }
}

impl core::error::Error for CardError {}

#[cfg(test)]
mod tests;
