//! The signatures of a card: detached JWS (RFC 7515 appendix F) in A2A's clothes.

use alloc::string::String;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::form::Form;
use super::key::{ES256_SIGNATURE_LEN, MAX_KID_LEN};
use super::origin::MAX_URL_LEN;
use crate::json::{Object, Str, Value};

/// The longest protected header that is read, in bytes of its JSON.
pub const MAX_HEADER_LEN: usize = 4096;

/// How many parameters a header may have.
pub const MAX_HEADER_PARAMETERS: usize = 32;

/// A signature of a card, as far as it can be read without a key. Nothing of it is trusted yet.
///
/// ```
/// use agentwire_core::card::{Card, SecretKey, Signer};
/// let card = Card::parse(r#"{"name":"A","capabilities":{"streaming":true}}"#).unwrap();
/// let key = SecretKey::from_bytes(&[7; 32]).unwrap();
/// let signer = Signer::new(&key, "k1").unwrap().form(agentwire_core::card::Form::Spec);
/// let signed = card.with_signatures(&[signer.sign(&card).unwrap()], false);
/// let signed = Card::parse(&signed).unwrap();
/// let signature = signed.signatures().next().unwrap().unwrap();
/// assert_eq!((signature.kid(), signature.jku(), signature.typ()), ("k1", None, Some("JOSE")));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct CardSignature<'a> {
    /// As it was received: the signature covers this text.
    pub(super) protected: &'a str,
    pub(super) signature: [u8; ES256_SIGNATURE_LEN],
    kid: String,
    jku: Option<String>,
    typ: Option<String>,
}

impl<'a> CardSignature<'a> {
    /// Reads an element of `signatures`.
    pub(super) fn read(value: Value<'a>) -> Result<Self, Refusal> {
        let object = value.as_object().ok_or(Refusal::Shape)?;
        let member = |name| object.get(name).map_err(|_| Refusal::Shape);
        let text = |name| {
            // Base64url needs no escapes, so nobody writes any.
            let value = member(name)?.and_then(|value| value.as_str());
            value.and_then(|text| text.as_plain()).ok_or(Refusal::Shape)
        };
        let (protected, signature) = (text("protected")?, text("signature")?);
        let mut bytes = [0; MAX_HEADER_LEN];
        let len =
            URL_SAFE_NO_PAD.decode_slice(protected, &mut bytes).map_err(|_| Refusal::Header)?;
        let json = bytes.get(..len).and_then(|json| core::str::from_utf8(json).ok());
        let header = json.and_then(|json| Object::parse(json).ok()).ok_or(Refusal::Header)?;
        let unprotected = match member("header")?.filter(|value| !value.is_null()) {
            Some(value) => Some(value.as_object().ok_or(Refusal::Shape)?),
            None => None,
        };
        check_names(header, unprotected)?;
        let string = |name| -> Result<Option<Str<'_>>, Refusal> {
            let value = header.get(name).map_err(|_| Refusal::Header)?;
            value.map(|value| value.as_str().ok_or(Refusal::Header)).transpose()
        };
        if string("alg")?.is_none_or(|alg| alg != *"ES256") {
            return Err(Refusal::Algorithm);
        }
        let kid: String = string("kid")?.ok_or(Refusal::NoKid)?.chars().collect();
        if kid.is_empty() || kid.len() > MAX_KID_LEN {
            return Err(Refusal::NoKid);
        }
        let jku: Option<String> = string("jku")?.map(|jku| jku.chars().collect());
        if jku.as_ref().is_some_and(|jku| jku.len() > MAX_URL_LEN) {
            return Err(Refusal::Header);
        }
        let typ = string("typ")?.map(|typ| typ.chars().collect());
        let mut raw = [0; ES256_SIGNATURE_LEN];
        match URL_SAFE_NO_PAD.decode_slice(signature, &mut raw) {
            Ok(ES256_SIGNATURE_LEN) => Ok(Self { protected, signature: raw, kid, jku, typ }),
            _ => Err(Refusal::SignatureLength),
        }
    }

    /// The name of its key.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Where its signer says that the key is published. It proves nothing: see
    /// [`Verifier::fetched`](super::Verifier::fetched).
    pub fn jku(&self) -> Option<&str> {
        self.jku.as_deref()
    }

    /// The type in its header. Without one, npm's `@a2a-js/sdk` refuses the signature.
    pub fn typ(&self) -> Option<&str> {
        self.typ.as_deref()
    }
}

impl fmt::Debug for CardSignature<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CardSignature(kid of {} bytes)", self.kid.len())
    }
}

/// Refuses headers that ask for more than a plain signature, or that say one thing twice.
fn check_names(header: Object<'_>, unprotected: Option<Object<'_>>) -> Result<(), Refusal> {
    let too_many = |header: &Object<'_>| header.members().nth(MAX_HEADER_PARAMETERS).is_some();
    if too_many(&header) || unprotected.as_ref().is_some_and(too_many) {
        return Err(Refusal::Header);
    }
    for (place, (name, _)) in header.members().enumerate() {
        if header.members().take(place).any(|(before, _)| before == name) {
            return Err(Refusal::Header);
        }
        // `crit` lists extensions that a verifier must understand, and none is understood here;
        // `b64` (RFC 7797) is one that changes what is signed.
        if name == *"crit" || name == *"b64" {
            return Err(Refusal::Extension);
        }
    }
    // The unprotected header counts for nothing, but RFC 7515 section 7.2.1 has rules for it.
    for (name, _) in unprotected.iter().flat_map(Object::members) {
        if name == *"crit" || name == *"b64" {
            return Err(Refusal::Extension);
        }
        if name == *"alg" || header.members().any(|(other, _)| other == name) {
            return Err(Refusal::TwoHeaders);
        }
    }
    Ok(())
}

/// The SHA-256 of what a signature covers: the protected header as it is written, a point, and the
/// payload in base64url.
pub(super) fn hash(protected: &str, payload: &str) -> [u8; 32] {
    /// A multiple of three, so that only the last piece has an incomplete group.
    const PIECE: usize = 3 * 512;
    let mut hash = Sha256::new().chain_update(protected).chain_update(".");
    let mut encoded = [0; PIECE / 3 * 4];
    for piece in payload.as_bytes().chunks(PIECE) {
        // A piece always fits.
        let len = URL_SAFE_NO_PAD.encode_slice(piece, &mut encoded).unwrap_or(0);
        hash.update(encoded.get(..len).unwrap_or_default());
    }
    hash.finalize().into()
}

/// Why a signature does not vouch for its card.
///
/// ```
/// use agentwire_core::card::{Card, Refusal};
/// let card = Card::parse(r#"{"signatures":[{"protected":"e30","signature":"AA"}]}"#).unwrap();
/// assert_eq!(card.signatures().next().unwrap().unwrap_err(), Refusal::Algorithm);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Refusal {
    /// Not an object with the strings `protected` and `signature`.
    Shape,
    /// The protected header is not base64url of a JSON object of at most [`MAX_HEADER_LEN`] bytes,
    /// names a parameter twice, or has one of another type; or a header has more than
    /// [`MAX_HEADER_PARAMETERS`].
    Header,
    /// `alg` is not `ES256`: `none`, a symmetric one, or just another.
    Algorithm,
    /// `crit` or `b64`: an extension that would have to be understood.
    Extension,
    /// A parameter stands in both headers, or `alg` in the unprotected one.
    TwoHeaders,
    /// There is no `kid`, or one that is empty or too long.
    NoKid,
    /// The signature is not base64url of 64 bytes.
    SignatureLength,
    /// There is no `jku`, and keys are taken from there.
    NoKeyUrl,
    /// `jku` is not on the card's own origin.
    KeyElsewhere,
    /// `jku` is another URL than the one that the keys are from.
    OtherKeyUrl,
    /// No key that is trusted has this `kid`.
    NoKey,
    /// It is no signature of this card by that key.
    Invalid,
    /// It is that key's signature of this card, in a form that leaves parts of the card uncovered.
    Form(Form),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shape => "not an object with protected and signature",
            Self::Header => "the protected header cannot be read",
            Self::Algorithm => "the algorithm is not ES256",
            Self::Extension => "crit or b64 in a header",
            Self::TwoHeaders => "a parameter in the wrong header, or in both",
            Self::NoKid => "no kid",
            Self::SignatureLength => "the signature is not 64 bytes in base64url",
            Self::NoKeyUrl => "no jku",
            Self::KeyElsewhere => "jku is not on the card's own origin",
            Self::OtherKeyUrl => "jku is not where the keys are from",
            Self::NoKey => "no trusted key has this kid",
            Self::Invalid => "not the key's signature of this card",
            Self::Form(form) => {
                return write!(
                    f,
                    "the signature holds for the form {form}, which does not cover all of the card"
                );
            }
        })
    }
}

impl core::error::Error for Refusal {}
