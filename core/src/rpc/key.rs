//! The requester's public key as the core writes it ("Request", "Signed requests").

use core::fmt;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::display::Base64Display;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The bytes of an Ed25519 key.
pub(super) const KEY_LEN: usize = 32;

/// What the X.509 DER encoding (SPKI) of an Ed25519 public key begins with (RFC 8410).
pub(super) const SPKI_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// base64url, padded or not.
pub(super) const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A public key by its bytes: two texts of one key are equal, whatever their padding.
///
/// It identifies a signer; it verifies nothing. That is done by the core's agent, or with the
/// feature `sign`.
///
/// ```
/// use agentwire_core::rpc::SignerKey;
/// let padded = SignerKey::parse("MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=");
/// let plain = SignerKey::parse("MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q");
/// assert_eq!(padded.unwrap(), plain.unwrap());
/// assert!(SignerKey::parse("MCowBQYDK2Vw").is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SignerKey([u8; KEY_LEN]);

impl SignerKey {
    /// Reads a key: base64url, padded or not, of the X.509 DER encoding.
    ///
    /// # Errors
    /// [`SignerKeyError`].
    pub fn parse(text: &str) -> Result<Self, SignerKeyError> {
        // One byte more than a key has, so that a longer one shows.
        let mut der = [0; SPKI_PREFIX.len() + KEY_LEN + 1];
        let len =
            BASE64URL.decode_slice(text, &mut der).map_err(|_| SignerKeyError::NotBase64Url)?;
        let key = der.get(..len).and_then(|der| der.strip_prefix(&SPKI_PREFIX));
        key.and_then(|key| key.try_into().ok()).map(Self).ok_or(SignerKeyError::NotAnEd25519Key)
    }

    /// The key with these bytes.
    #[cfg(feature = "sign")]
    pub(super) const fn from_bytes(bytes: [u8; KEY_LEN]) -> Self {
        Self(bytes)
    }

    /// The key's 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }
}

/// The key as the core writes keys: padded base64url, 60 characters.
///
/// ```
/// use agentwire_core::rpc::SignerKey;
/// let text = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";
/// let plain = SignerKey::parse(text.trim_end_matches('=')).unwrap();
/// assert_eq!(plain.to_string(), text);
/// ```
impl fmt::Display for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut der = [0; SPKI_PREFIX.len() + KEY_LEN];
        for (byte, from) in der.iter_mut().zip(SPKI_PREFIX.iter().chain(&self.0)) {
            *byte = *from;
        }
        Base64Display::new(&der, &BASE64URL).fmt(f)
    }
}

impl fmt::Debug for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignerKey(…)")
    }
}

/// Why a text is not a public key.
///
/// ```
/// use agentwire_core::rpc::{SignerKey, SignerKeyError};
/// assert_eq!(SignerKey::parse("a+b/"), Err(SignerKeyError::NotBase64Url));
/// assert_eq!(SignerKey::parse("AAAA"), Err(SignerKeyError::NotAnEd25519Key));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SignerKeyError {
    /// Not base64url, or longer than a key.
    NotBase64Url,
    /// Not the X.509 DER encoding of an Ed25519 key.
    NotAnEd25519Key,
}

impl fmt::Display for SignerKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotBase64Url => "not base64url of at most 45 bytes",
            Self::NotAnEd25519Key => "not the X.509 DER encoding of an Ed25519 key",
        })
    }
}

impl core::error::Error for SignerKeyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_wrong_length_algorithm_or_with_extra_bytes_are_refused() {
        let encode = |bytes: &[u8]| {
            let mut text = [0; 256];
            let len = BASE64URL.encode_slice(bytes, &mut text).unwrap();
            std::string::String::from(core::str::from_utf8(&text[..len]).unwrap())
        };
        let key: std::vec::Vec<u8> = SPKI_PREFIX.into_iter().chain(0..32).collect();
        assert_eq!(SignerKey::parse(&encode(&key)).unwrap().as_bytes().last(), Some(&31));
        let mut x25519 = key.clone();
        x25519[8] = 0x6e;
        let mut longer = key.clone();
        longer.push(0);
        for wrong in [&key[..43], &x25519, &longer, &[]] {
            assert_eq!(SignerKey::parse(&encode(wrong)), Err(SignerKeyError::NotAnEd25519Key));
        }
        let far_longer = encode(&[0x30; 100]);
        assert_eq!(SignerKey::parse(&far_longer), Err(SignerKeyError::NotBase64Url));
        assert_eq!(SignerKey::parse("é"), Err(SignerKeyError::NotBase64Url));
    }
}
