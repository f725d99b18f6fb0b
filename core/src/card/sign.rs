//! Making signatures (A2A 1.0 section 8.4.2).

use alloc::string::String;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::jws::{MAX_HEADER_LEN, hash};
use super::key::{MAX_KID_LEN, SecretKey};
use super::origin::{Origin, OriginError};
use super::{Card, CardError, Form};
use crate::json::{Writer, to_text};

/// Who signs, and how.
///
/// Unless a form is asked for, a card is signed only if it has one canonical text in all
/// [forms](Form::ALL), so that every verifier there is accepts the signature. What stands in the
/// way of that says [`Lint`](super::Lint).
///
/// Signatures are made as RFC 6979 says, without randomness: the same card, key and header give
/// the same signature.
///
/// ```
/// use agentwire_core::card::{Card, KeySet, SecretKey, SignError, Signer, Verifier};
///
/// let key = SecretKey::from_bytes(&[7; 32]).unwrap();
/// let signer = Signer::new(&key, "2026-11").unwrap();
/// let text = r#"{"name":"A","description":"d","version":"1","capabilities":{"streaming":true},
///     "supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC",
///     "protocolVersion":"1.0"}],"defaultInputModes":["text/plain"],
///     "defaultOutputModes":["text/plain"],
///     "skills":[{"id":"s","name":"n","description":"x","tags":["t"]}]}"#;
/// let card = Card::parse(text).unwrap();
/// let signed = card.with_signatures(&[signer.sign(&card).unwrap()], false);
///
/// let mut keys = KeySet::new();
/// keys.add(key.public(), Some("2026-11")).unwrap();
/// let verified = Verifier::pinned(&keys).verify(&Card::parse(&signed).unwrap()).unwrap();
/// assert_eq!(verified.kid, "2026-11");
///
/// let unclear = text.replace("true", "null");
/// let refused = signer.sign(&Card::parse(&unclear).unwrap());
/// assert!(matches!(refused, Err(SignError::FormsDiffer { .. })));
/// ```
#[derive(Clone)]
pub struct Signer<'k> {
    key: &'k SecretKey,
    kid: &'k str,
    jku: Option<&'k str>,
    form: Option<Form>,
}

impl<'k> Signer<'k> {
    /// A signer with this key, which its public set names `kid`.
    ///
    /// # Errors
    /// [`SignError::Kid`] if it is empty or longer than [`MAX_KID_LEN`].
    pub fn new(key: &'k SecretKey, kid: &'k str) -> Result<Self, SignError> {
        if kid.is_empty() || kid.len() > MAX_KID_LEN {
            return Err(SignError::Kid { len: kid.len(), limit: MAX_KID_LEN });
        }
        Ok(Self { key, kid, jku: None, form: None })
    }

    /// Says where the key set is published. It has to be on the origin that serves the card.
    ///
    /// # Errors
    /// [`SignError::KeyUrl`] if no verifier would fetch it.
    pub fn jku(self, url: &'k str) -> Result<Self, SignError> {
        let origin = Origin::of(url).map_err(SignError::KeyUrl)?;
        if !origin.has_keys(url) {
            // A fragment, for the origin is its own.
            return Err(SignError::Fragment);
        }
        Ok(Self { jku: Some(url), ..self })
    }

    /// Signs this form, whatever the others are.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        Self { form: Some(form), ..self }
    }

    /// Signs a card. It is not changed: [`Card::with_signatures`] puts the signature into it.
    ///
    /// # Errors
    /// [`SignError::FormsDiffer`] unless a form was asked for, and [`SignError::Card`].
    pub fn sign(&self, card: &Card<'_>) -> Result<NewSignature, SignError> {
        let payload = card.canonical(self.form.unwrap_or(Form::Spec))?;
        if self.form.is_none() {
            for form in Form::ALL {
                if card.canonical(form)? != payload {
                    return Err(SignError::FormsDiffer { form });
                }
            }
        }
        let header = to_text(|out| {
            out.raw(r#"{"alg":"ES256","typ":"JOSE","kid":"#).string(self.kid);
            if let Some(jku) = self.jku {
                out.raw(r#","jku":"#).string(jku);
            }
            out.raw("}");
        });
        if header.len() > MAX_HEADER_LEN {
            return Err(SignError::Header { len: header.len(), limit: MAX_HEADER_LEN });
        }
        let protected = URL_SAFE_NO_PAD.encode(header);
        let signature = self.key.sign(&hash(&protected, &payload)).ok_or(SignError::NoSignature)?;
        Ok(NewSignature { protected, signature: URL_SAFE_NO_PAD.encode(signature) })
    }
}

impl fmt::Debug for Signer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("form", &self.form).finish_non_exhaustive()
    }
}

/// A signature that has been made.
///
/// ```
/// use agentwire_core::card::{Card, Form, SecretKey, Signer};
/// let key = SecretKey::from_bytes(&[7; 32]).unwrap();
/// let card = Card::parse(r#"{"name":"A"}"#).unwrap();
/// let signature = Signer::new(&key, "k").unwrap().form(Form::Spec).sign(&card).unwrap();
/// assert_eq!(signature.protected(), "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpPU0UiLCJraWQiOiJrIn0");
/// assert_eq!(signature.signature().len(), 86);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSignature {
    protected: String,
    signature: String,
}

impl NewSignature {
    /// The protected header in base64url.
    pub fn protected(&self) -> &str {
        &self.protected
    }

    /// The 64 bytes of the signature in base64url.
    pub fn signature(&self) -> &str {
        &self.signature
    }

    /// Writes it as an element of `signatures`.
    pub(super) fn write(&self, out: &mut Writer<'_>) {
        out.raw(r#"{"protected":"#).string(&self.protected);
        out.raw(r#","signature":"#).string(&self.signature).raw("}");
    }
}

/// Why a card is not signed.
///
/// ```
/// use agentwire_core::card::{SecretKey, SignError, Signer};
/// let key = SecretKey::from_bytes(&[7; 32]).unwrap();
/// assert_eq!(Signer::new(&key, "").unwrap_err(), SignError::Kid { len: 0, limit: 256 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SignError {
    /// The card has no canonical form.
    Card(CardError),
    /// The canonical text of this form is another than the specification's: verifiers of one of
    /// them would refuse the signature.
    FormsDiffer {
        /// The first such form.
        form: Form,
    },
    /// `kid` is empty or too long.
    Kid {
        /// Its bytes.
        len: usize,
        /// [`MAX_KID_LEN`].
        limit: usize,
    },
    /// No verifier would fetch the key set from this URL.
    KeyUrl(OriginError),
    /// The URL of the key set has a fragment.
    Fragment,
    /// The protected header is longer than verifiers read.
    Header {
        /// Its bytes.
        len: usize,
        /// [`MAX_HEADER_LEN`].
        limit: usize,
    },
    /// The curve's arithmetic gave no signature, which for a valid key does not happen.
    NoSignature,
}

impl From<CardError> for SignError {
    fn from(error: CardError) -> Self {
        Self::Card(error)
    }
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Card(error) => write!(f, "{error}"),
            Self::FormsDiffer { form } => {
                write!(f, "verifiers of the form {form} would refuse the signature")
            }
            Self::Kid { len, limit } => {
                write!(f, "a kid has 1 to {limit} bytes, this one {len}")
            }
            Self::KeyUrl(error) => write!(f, "jku: {error}"),
            Self::Fragment => f.write_str("jku: a URL with a fragment"),
            Self::Header { len, limit } => {
                write!(f, "a protected header of {len} bytes, and {limit} are read")
            }
            Self::NoSignature => f.write_str("no signature could be made"),
        }
    }
}

impl core::error::Error for SignError {}
