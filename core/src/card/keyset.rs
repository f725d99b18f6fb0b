//! Sets of public keys: a JWKS (RFC 7517 section 5), or keys that somebody was given.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::key::{Jwk, KeyError, MAX_KID_LEN, PublicKey};
use crate::json::{self, Object};

/// The longest JWKS that is read, in bytes.
pub const MAX_JWKS_LEN: usize = 64 * 1024;

/// How many keys a set holds.
pub const MAX_KEYS: usize = 64;

/// Public keys, each with the `kid` by which a signature names it.
///
/// A `kid` occurs once. A key without one, which only [`add`](Self::add) makes, is tried for every
/// signature.
///
/// A key that is no longer in the set that its owner publishes is revoked: whoever keeps sets for
/// later asks again when a `kid` is missing, and after a while anyway.
///
/// ```
/// use agentwire_core::card::{KeySet, SecretKey};
/// let key = SecretKey::from_bytes(&[7; 32]).unwrap().public();
/// let jwks = format!(r#"{{"keys":[{},{{"kty":"RSA"}}]}}"#, key.to_jwk(Some("2026-11")));
/// let keys = KeySet::from_jwks(&jwks).unwrap();
/// assert_eq!(keys.get("2026-11"), Some(&key));
/// assert_eq!((keys.len(), keys.skipped()), (1, 1));
/// ```
#[derive(Clone, Default)]
pub struct KeySet {
    keys: Vec<Entry>,
    skipped: usize,
}

#[derive(Clone)]
struct Entry {
    kid: Option<String>,
    key: PublicKey,
}

impl KeySet {
    /// A set without keys.
    #[must_use]
    pub const fn new() -> Self {
        Self { keys: Vec::new(), skipped: 0 }
    }

    /// Reads a JWKS. What is no key for ES256, is broken, or has no `kid` is skipped, as RFC 7517
    /// advises.
    ///
    /// # Errors
    /// [`KeySetError`], for a private key and for a `kid` that occurs twice among it.
    pub fn from_jwks(text: &str) -> Result<Self, KeySetError> {
        if text.len() > MAX_JWKS_LEN {
            return Err(KeySetError::TooLong { len: text.len(), limit: MAX_JWKS_LEN });
        }
        let object = Object::parse(text)?;
        let keys = object.get("keys")?.and_then(|keys| keys.elements());
        let mut set = Self::new();
        for (index, value) in keys.ok_or(KeySetError::NoKeys)?.enumerate() {
            let Some(object) = value.as_object() else {
                set.skip();
                continue;
            };
            match Jwk::read(object, "verify") {
                Ok(_) if object.members().any(|(name, _)| name == *"d") => {
                    return Err(KeySetError::Private { index });
                }
                Ok(Jwk { public, kid: Some(kid) }) => {
                    let kid: String = kid.chars().collect();
                    set.insert(public, Some(kid), index)?;
                }
                Ok(_) | Err(_) => set.skip(),
            }
        }
        Ok(set)
    }

    /// Adds a key that was obtained from its owner by other means, with the `kid` that signatures
    /// have to name it by, or without.
    ///
    /// # Errors
    /// [`KeySetError::SameKid`], [`KeySetError::Full`]; [`KeySetError::Key`] for a `kid` that is
    /// too long or empty.
    pub fn add(&mut self, key: PublicKey, kid: Option<&str>) -> Result<(), KeySetError> {
        self.insert(key, kid.map(String::from), self.keys.len())
    }

    /// Adds what a text holds: a JWKS, a JWK, or PEM of a public key.
    ///
    /// # Errors
    /// [`KeySetError`].
    ///
    /// ```
    /// use agentwire_core::card::{KeySet, SecretKey};
    /// let key = SecretKey::from_bytes(&[7; 32]).unwrap().public();
    /// let mut keys = KeySet::new();
    /// keys.add_text(&key.to_pem()).unwrap();
    /// keys.add_text(&key.to_jwk(Some("k"))).unwrap();
    /// assert_eq!(keys.len(), 2);
    /// ```
    pub fn add_text(&mut self, text: &str) -> Result<(), KeySetError> {
        if !text.trim_start().starts_with('{') {
            return self.add(PublicKey::from_pem(text)?, None);
        }
        let object = Object::parse(text)?;
        if object.members().any(|(name, _)| name == *"keys") {
            let more = Self::from_jwks(text)?;
            self.skipped = self.skipped.saturating_add(more.skipped);
            for (index, entry) in more.keys.into_iter().enumerate() {
                self.insert(entry.key, entry.kid, index)?;
            }
            return Ok(());
        }
        let key = PublicKey::from_jwk(text)?;
        let kid = object.str("kid")?.map(|kid| kid.chars().collect());
        self.insert(key, kid, self.keys.len())
    }

    fn insert(
        &mut self,
        key: PublicKey,
        kid: Option<String>,
        index: usize,
    ) -> Result<(), KeySetError> {
        if let Some(kid) = &kid {
            if kid.is_empty() || kid.len() > MAX_KID_LEN {
                return Err(KeyError::Kid.into());
            }
            if self.get(kid).is_some() {
                return Err(KeySetError::SameKid { index });
            }
        }
        if self.keys.len() >= MAX_KEYS {
            return Err(KeySetError::Full { limit: MAX_KEYS });
        }
        self.keys.push(Entry { kid, key });
        Ok(())
    }

    fn skip(&mut self) {
        self.skipped = self.skipped.saturating_add(1);
    }

    /// The key with this `kid`.
    pub fn get(&self, kid: &str) -> Option<&PublicKey> {
        self.keys.iter().find(|entry| entry.kid.as_deref() == Some(kid)).map(|entry| &entry.key)
    }

    /// The keys by which a signature with this `kid` may hold.
    pub(super) fn candidates(&self, kid: &str) -> impl Iterator<Item = &PublicKey> {
        let named = move |entry: &&Entry| entry.kid.as_deref().is_none_or(|own| own == kid);
        self.keys.iter().filter(named).map(|entry| &entry.key)
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many keys of a JWKS were skipped.
    pub fn skipped(&self) -> usize {
        self.skipped
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet({} keys)", self.keys.len())
    }
}

/// Why a text is no set of keys, or a key cannot be added to one.
///
/// ```
/// use agentwire_core::card::{KeySet, KeySetError};
/// assert_eq!(KeySet::from_jwks(r#"{"keys":{}}"#).unwrap_err(), KeySetError::NoKeys);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum KeySetError {
    /// Not a JSON object, or a member that is read occurs twice.
    Json(json::Error),
    /// Longer than [`MAX_JWKS_LEN`].
    TooLong {
        /// Bytes of the text.
        len: usize,
        /// [`MAX_JWKS_LEN`].
        limit: usize,
    },
    /// There is no array `keys`.
    NoKeys,
    /// One key, not a set: why it cannot be read.
    Key(KeyError),
    /// A private key stands in the set: everybody can sign with it now.
    Private {
        /// Which key, from 0.
        index: usize,
    },
    /// A `kid` names two keys.
    SameKid {
        /// The second of them, from 0.
        index: usize,
    },
    /// More than [`MAX_KEYS`] keys.
    Full {
        /// [`MAX_KEYS`].
        limit: usize,
    },
}

impl From<json::Error> for KeySetError {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

impl From<KeyError> for KeySetError {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}

impl fmt::Display for KeySetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "not a JWKS: {error}"),
            Self::TooLong { len, limit } => write!(f, "{len} bytes, and {limit} are read"),
            Self::NoKeys => f.write_str("no array named keys"),
            Self::Key(error) => write!(f, "{error}"),
            Self::Private { index } => write!(f, "key {index} is a private one"),
            Self::SameKid { index } => write!(f, "key {index} has the kid of another one"),
            Self::Full { limit } => write!(f, "more than {limit} keys"),
        }
    }
}

impl core::error::Error for KeySetError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::SecretKey;

    fn key(seed: u8) -> PublicKey {
        SecretKey::from_bytes(&[seed; 32]).unwrap().public()
    }

    fn set(keys: &[String]) -> Result<KeySet, KeySetError> {
        KeySet::from_jwks(&std::format!("{{\"keys\":[{}]}}", keys.join(",")))
    }

    #[test]
    fn keys_of_other_kinds_and_broken_ones_are_skipped() {
        let jwk = key(1).to_jwk(Some("a"));
        let keys = set(&[
            r#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#.into(),
            "7".into(),
            jwk.replace("\"x\":\"", "\"x\":\"A"),
            key(2).to_jwk(None),
            jwk,
        ]);
        let keys = keys.unwrap();
        assert_eq!((keys.len(), keys.skipped()), (1, 4));
        assert_eq!(keys.get("a"), Some(&key(1)));
        assert_eq!(keys.get("b"), None);
    }

    #[test]
    fn a_private_key_and_a_kid_of_two_are_refused() {
        let jwk = key(1).to_jwk(Some("a"));
        let private = jwk.replace("\"use\"", "\"d\":\"AQ\",\"use\"");
        assert_eq!(
            set(&[key(2).to_jwk(Some("b")), private]).unwrap_err(),
            KeySetError::Private { index: 1 }
        );
        let twice = key(2).to_jwk(Some("a")).replace("\"a\"", "\"\\u0061\"");
        assert_eq!(set(&[jwk, twice]).unwrap_err(), KeySetError::SameKid { index: 1 });
    }

    #[test]
    fn sets_at_their_limits() {
        let jwks = |count: usize| -> std::vec::Vec<String> {
            (0..count).map(|kid| key(1).to_jwk(Some(&std::format!("{kid}")))).collect()
        };
        assert_eq!(set(&jwks(MAX_KEYS)).unwrap().len(), MAX_KEYS);
        assert_eq!(set(&jwks(MAX_KEYS + 1)).unwrap_err(), KeySetError::Full { limit: MAX_KEYS });
        let padded = |len: usize| String::from("{\"keys\":[]}") + &" ".repeat(len - 11);
        assert!(KeySet::from_jwks(&padded(MAX_JWKS_LEN)).unwrap().is_empty());
        assert!(matches!(
            KeySet::from_jwks(&padded(MAX_JWKS_LEN + 1)),
            Err(KeySetError::TooLong { .. })
        ));
        let mut one = KeySet::new();
        assert_eq!(one.add(key(1), Some("")), Err(KeySetError::Key(KeyError::Kid)));
        assert_eq!(
            one.add(key(1), Some(&"k".repeat(MAX_KID_LEN + 1))),
            Err(KeySetError::Key(KeyError::Kid))
        );
        assert_eq!(one.add(key(1), Some(&"k".repeat(MAX_KID_LEN))), Ok(()));
    }

    #[test]
    fn a_key_without_a_kid_is_a_candidate_for_every_signature() {
        let mut keys = KeySet::new();
        keys.add(key(1), None).unwrap();
        keys.add(key(2), Some("b")).unwrap();
        assert_eq!(keys.candidates("b").count(), 2);
        assert_eq!(keys.candidates("c").collect::<std::vec::Vec<_>>(), [&key(1)]);
        assert_eq!(std::format!("{keys:?}"), "KeySet(2 keys)");
    }

    #[test]
    fn texts_of_every_kind_are_added() {
        let mut keys = KeySet::new();
        for text in [key(1).to_pem(), key(2).to_jwk(Some("b")), key(3).to_jwk(None)] {
            keys.add_text(&text).unwrap();
        }
        keys.add_text(&std::format!("{{\"keys\":[{}]}}", key(4).to_jwk(Some("d")))).unwrap();
        assert_eq!(keys.len(), 4);
        let secret = SecretKey::from_bytes(&[5; 32]).unwrap();
        assert_eq!(keys.add_text(&secret.to_pem()), Err(KeySetError::Key(KeyError::Private)));
        assert!(keys.add_text("").is_err());
    }
}
