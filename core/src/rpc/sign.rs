//! Signed requests ("Service RPC transport", "Signed requests"; feature `sign`).
//!
//! ```text
//! AD         associated data of the request's ratchet session
//! binding    SHA3-256("SimpleXService" ‖ AD)                       32 bytes
//! signature  Ed25519 over binding ‖ payload                        64 bytes
//! payload    the request's JSON as the core encodes it, byte for byte
//! ```
//!
//! The binding ties a signature to one ratchet session: copied into another one it fails.
//!
//! A user of a SimpleX core hands it a key (`sign_key=` of `/_service_request`), and the core
//! signs; a responder gets the verified key as `signerKey`. For them the keys are what counts
//! here: [`SecretKey`] and [`PublicKey`] read and write the core's encodings, and
//! [`MasterSecret`] keeps the keys for different responders apart. [`SecretKey::sign`] and
//! [`PublicKey::verify`] are for whoever stands in for a core.
//!
//! # Keys
//!
//! | key | structure | bytes | as text |
//! |---|---|---|---|
//! | public (`signerKey`, `requestKey`) | X.509 SubjectPublicKeyInfo, DER | 44 | base64url, 60 characters with padding |
//! | private (`sign_key`) | PKCS#8 version 1, DER | 48 | base64url, 64 characters |
//!
//! Both are read with padding and without, and written as the core writes them. Two public keys
//! are equal when their bytes are, however they were written. A public key is read only if a
//! signature can mean something under it: a point of the curve, in its one encoding, and of
//! large order.
//!
//! # Secrets
//!
//! [`SecretKey`], [`SecretText`] and [`MasterSecret`] are wiped when they are dropped, and `Debug`
//! shows nothing of them. Text that was read, buffers that the caller owns and copies that the
//! compiler makes on the stack are not theirs to wipe. Base64 is decoded through a table, which a
//! neighbour on the same processor might observe.

use core::fmt;

use base64::DecodeError;
use base64::Engine as _;
use ed25519_dalek::ed25519::signature::MultipartSigner as _;
use ed25519_dalek::{Signature, SigningKey, VerifyingKey};
use sha3::{Digest as _, Sha3_256};
use zeroize::{Zeroize as _, Zeroizing};

use super::key::{BASE64URL, KEY_LEN, SPKI_PREFIX, SignerKey};
use crate::json::Str;

/// What precedes the associated data in a [`SessionBinding`], in ASCII without a separator.
const CONTEXT: &[u8] = b"SimpleXService";

/// Bytes of a [`SessionBinding`], and so of the room in front of a payload that is verified.
pub const HEADROOM: usize = 32;

/// Bytes of a signature.
pub const ED25519_SIGNATURE_LEN: usize = 64;

/// Characters of a public key as the core writes it.
pub const PUBLIC_TEXT_LEN: usize = 60;

/// Characters of a private key as the core writes it.
pub const SECRET_TEXT_LEN: usize = 64;

/// Bytes of an X448 public key; the associated data of today's ratchets are two of them.
pub const X448_LEN: usize = 56;

/// What binds signatures to one ratchet session: `SHA3-256("SimpleXService" ‖ AD)`.
///
/// ```
/// use agentwire_core::rpc::sign::SessionBinding;
/// let (requester, service) = ([1; 56], [2; 56]);
/// let ad = [requester, service].concat();
/// assert_eq!(SessionBinding::of_keys(&requester, &service), SessionBinding::of_data(&ad));
/// assert_ne!(SessionBinding::of_keys(&service, &requester), SessionBinding::of_data(&ad));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SessionBinding([u8; HEADROOM]);

impl SessionBinding {
    /// The binding to the session with this associated data.
    pub fn of_data(ad: &[u8]) -> Self {
        Self(Sha3_256::new().chain_update(CONTEXT).chain_update(ad).finalize().into())
    }

    /// The binding to the session between these X448 keys: the associated data are the
    /// requester's public key and then the service's (simplexmq, `Crypto/Ratchet.hs`).
    pub fn of_keys(requester: &[u8; X448_LEN], service: &[u8; X448_LEN]) -> Self {
        let hash = Sha3_256::new().chain_update(CONTEXT);
        Self(hash.chain_update(requester).chain_update(service).finalize().into())
    }

    /// Its bytes, which the signature covers in front of the payload.
    pub const fn as_bytes(&self) -> &[u8; HEADROOM] {
        &self.0
    }
}

/// An Ed25519 public key: `signerKey` of a request, `requestKey` of its envelope.
///
/// Equality is that of the decoded bytes.
///
/// ```
/// use agentwire_core::rpc::sign::PublicKey;
/// let padded = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";
/// let key = PublicKey::parse(padded).unwrap();
/// assert_eq!(PublicKey::parse(padded.trim_end_matches('=')).unwrap(), key);
/// assert_eq!(key.to_text().as_str(), padded);
/// assert!(PublicKey::parse("MCowBQYDK2VwAyEA").is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Bytes of the structure with the key.
    const DER_LEN: usize = SPKI_PREFIX.len() + KEY_LEN;

    /// Reads a key from base64url of its DER, padded or not.
    ///
    /// # Errors
    /// [`KeyError`]; [`NotAPoint`](KeyError::NotAPoint), [`NotCanonical`](KeyError::NotCanonical)
    /// and [`SmallOrder`](KeyError::SmallOrder) for a structure that is right and holds no usable
    /// key.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        Self::from_bytes(&*read(text, &SPKI_PREFIX, Self::DER_LEN)?)
    }

    /// Reads a key from a JSON string: `requestKey` of an envelope.
    ///
    /// # Errors
    /// As [`parse`](Self::parse); offsets count from the start of the string's meaning.
    ///
    /// ```
    /// use agentwire_core::json::Value;
    /// use agentwire_core::rpc::sign::PublicKey;
    /// let json = r#""MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q\u003d""#;
    /// let string = Value::parse(json).unwrap().as_str().unwrap();
    /// let text = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q";
    /// assert_eq!(PublicKey::parse_str(string), PublicKey::parse(text));
    /// ```
    pub fn parse_str(text: Str<'_>) -> Result<Self, KeyError> {
        if let Some(plain) = text.as_plain() {
            return Self::parse(plain);
        }
        let mut buffer = [0; LOOK];
        match text.decode(&mut buffer) {
            Ok(text) => Self::parse(text),
            // More than 96 characters, which no key has.
            Err(short) => Err(KeyError::ExtraBytes {
                len: decoded_len(short.needed),
                expected: Self::DER_LEN,
            }),
        }
    }

    /// Reads a key from its 32 bytes.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), for what is not a key.
    pub fn from_bytes(bytes: &[u8; KEY_LEN]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::NotAPoint)?;
        if key.is_weak() {
            return Err(KeyError::SmallOrder);
        }
        if key.to_edwards().compress().as_bytes() != bytes {
            return Err(KeyError::NotCanonical);
        }
        Ok(Self(key))
    }

    /// The key's 32 bytes.
    pub fn as_bytes(&self) -> &[u8; KEY_LEN] {
        self.0.as_bytes()
    }

    /// The key as what identifies a signer.
    pub fn signer_key(&self) -> SignerKey {
        SignerKey::from_bytes(*self.as_bytes())
    }

    /// The key as the core writes it.
    pub fn to_text(&self) -> PublicText {
        let mut text = PublicText([0; PUBLIC_TEXT_LEN]);
        let mut der = [0; Self::DER_LEN];
        write(&SPKI_PREFIX, self.as_bytes(), &mut der, &mut text.0);
        text
    }

    /// Checks a signature over the request in `message`: [`HEADROOM`] bytes that are free to be
    /// overwritten, and then the payload.
    ///
    /// The check is strict: one signature has one encoding, and none is valid for a key or a
    /// commitment of small order, so what passes here passes everywhere.
    ///
    /// # Errors
    /// [`VerifyError`].
    ///
    /// ```
    /// use agentwire_core::rpc::sign::{HEADROOM, SecretKey, SessionBinding, VerifyError};
    /// let key = SecretKey::from_bytes([7; 32]);
    /// let binding = SessionBinding::of_data(&[0; 112]);
    /// let payload = br#"{"protocol":"mcp","request":{}}"#;
    /// let signature = key.sign(&binding, payload);
    ///
    /// let mut message = [0; HEADROOM + 31];
    /// message[HEADROOM..].copy_from_slice(payload);
    /// assert_eq!(key.public().verify(&binding, &mut message, &signature), Ok(()));
    /// let other = SessionBinding::of_data(&[1; 112]);
    /// let verdict = key.public().verify(&other, &mut message, &signature);
    /// assert_eq!(verdict, Err(VerifyError::Invalid));
    /// ```
    pub fn verify(
        &self,
        binding: &SessionBinding,
        message: &mut [u8],
        signature: &[u8],
    ) -> Result<(), VerifyError> {
        let signature = <&[u8; ED25519_SIGNATURE_LEN]>::try_from(signature)
            .map_err(|_| VerifyError::SignatureLength { len: signature.len() })?;
        let len = message.len();
        let headroom = message.first_chunk_mut().ok_or(VerifyError::NoHeadroom { len })?;
        *headroom = binding.0;
        let signature = Signature::from_bytes(signature);
        self.0.verify_strict(message, &signature).map_err(|_| VerifyError::Invalid)
    }

    /// Checks a signature over a payload, as [`verify`](Self::verify) does, on a copy of it.
    ///
    /// # Errors
    /// [`VerifyError`], never [`NoHeadroom`](VerifyError::NoHeadroom).
    #[cfg(feature = "alloc")]
    pub fn verify_copy(
        &self,
        binding: &SessionBinding,
        payload: &[u8],
        signature: &[u8],
    ) -> Result<(), VerifyError> {
        let mut message = [binding.as_bytes(), payload].concat();
        self.verify(binding, &mut message, signature)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_text().as_str())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

/// A public key as the core writes it: 60 characters, the last one padding.
///
/// ```
/// use agentwire_core::rpc::sign::SecretKey;
/// let text = SecretKey::from_bytes([7; 32]).public().to_text();
/// assert!(text.as_str().starts_with("MCowBQYDK2VwAyEA") && text.as_str().ends_with('='));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicText([u8; PUBLIC_TEXT_LEN]);

impl PublicText {
    /// The text.
    pub fn as_str(&self) -> &str {
        // Base64 is ASCII.
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for PublicText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicText({})", self.as_str())
    }
}

/// An Ed25519 private key: `sign_key` of a request. Wiped when it is dropped.
///
/// ```
/// use agentwire_core::rpc::sign::{PublicKey, SecretKey};
/// let text = "MC4CAQAwBQYDK2VwBCIEIDfEfevydXXfKajz3sRkcQ7RPvfWUPoq6pu1TYHV1DEe";
/// let key = SecretKey::parse(text).unwrap();
/// assert_eq!(key.to_text().expose(), text);
/// let public = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q";
/// assert_eq!(key.public(), PublicKey::parse(public).unwrap());
/// assert_eq!(format!("{key:?}"), "SecretKey(..)");
/// ```
#[derive(Clone)]
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// The structure in front of the key: PKCS#8 version 1 with OID 1.3.101.112 and an octet
    /// string in an octet string (RFC 8410 section 7).
    const PREFIX: [u8; 16] = [
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04,
        0x20,
    ];

    /// Bytes of the structure with the key.
    const DER_LEN: usize = Self::PREFIX.len() + KEY_LEN;

    /// Reads a key from base64url of its DER, padded or not.
    ///
    /// # Errors
    /// [`KeyError`]; any 32 bytes in the right structure are a key.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = read(text, &Self::PREFIX, Self::DER_LEN)?;
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }

    /// Makes a key of 32 bytes, which have to come from a source of secure randomness or from
    /// [`MasterSecret`].
    pub fn from_bytes(bytes: [u8; KEY_LEN]) -> Self {
        Self(SigningKey::from_bytes(&Zeroizing::new(bytes)))
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        // A public key made from a private one is a multiple of the base point, in its one
        // encoding, and never of small order.
        PublicKey(self.0.verifying_key())
    }

    /// The key as the core reads it after `sign_key=`.
    pub fn to_text(&self) -> SecretText {
        let mut text = SecretText([0; SECRET_TEXT_LEN]);
        let mut der = Zeroizing::new([0; Self::DER_LEN]);
        write(&Self::PREFIX, self.0.as_bytes(), &mut *der, &mut text.0);
        text
    }

    /// Signs a payload: the request's JSON as the core will encode it, or as it was received.
    pub fn sign(&self, binding: &SessionBinding, payload: &[u8]) -> [u8; ED25519_SIGNATURE_LEN] {
        self.0.multipart_sign(&[&binding.0, payload]).to_bytes()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// A private key as the core reads it: 64 characters. Wiped when it is dropped.
///
/// ```
/// use agentwire_core::rpc::sign::SecretKey;
/// let text = SecretKey::from_bytes([7; 32]).to_text();
/// assert!(text.expose().starts_with("MC4CAQAwBQYDK2VwBCIEI"));
/// assert_eq!(format!("{text:?}"), "SecretText(..)");
/// ```
#[derive(Clone)]
pub struct SecretText([u8; SECRET_TEXT_LEN]);

impl SecretText {
    /// The text, for the command to the core and nowhere else.
    pub fn expose(&self) -> &str {
        // Base64 is ASCII.
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Drop for SecretText {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(..)")
    }
}

/// A secret from which a separate key for each responder is derived, so that no two responders
/// can link the requests of one requester ("A requester SHOULD use a separate key for each
/// responder").
///
/// The key's 32 bytes are
///
/// ```text
/// SHA3-256("agentwire/responder-key/1" ‖ 0x00 ‖ master (32 bytes) ‖ responder)
/// ```
///
/// which is the same wherever and whenever it is computed. SHA3-256 with a secret of fixed length
/// in front is a pseudorandom function, and label and secret have fixed lengths, so no two
/// responders share an input. Without the master secret the keys are unrelated; whoever has it
/// has them all. `responder` is any text that stays the same for a responder, such as its address
/// link in one form: another spelling is another responder.
///
/// ```
/// use agentwire_core::rpc::sign::MasterSecret;
/// let master = MasterSecret::new([7; 32]);
/// let shop = master.key_for("https://smp1.example/a#shop");
/// let bank = master.key_for("https://smp1.example/a#bank");
/// assert_ne!(shop.public(), bank.public());
/// assert_eq!(master.key_for("https://smp1.example/a#shop").public(), shop.public());
/// assert_eq!(format!("{master:?}"), "MasterSecret(..)");
/// ```
#[derive(Clone)]
pub struct MasterSecret([u8; KEY_LEN]);

impl MasterSecret {
    const LABEL: &[u8] = b"agentwire/responder-key/1\0";

    /// A master secret of 32 bytes from a source of secure randomness.
    pub const fn new(bytes: [u8; KEY_LEN]) -> Self {
        Self(bytes)
    }

    /// The key for requests to this responder.
    pub fn key_for(&self, responder: &str) -> SecretKey {
        let mut bytes = Zeroizing::new([0; KEY_LEN]);
        let hash = Sha3_256::new().chain_update(Self::LABEL).chain_update(self.0);
        hash.chain_update(responder).finalize_into((&mut *bytes).into());
        SecretKey(SigningKey::from_bytes(&bytes))
    }
}

impl Drop for MasterSecret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for MasterSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterSecret(..)")
    }
}

/// Why a text is not a key. It holds numbers only, nothing of the key.
///
/// ```
/// use agentwire_core::rpc::sign::{KeyError, PublicKey};
/// // An X25519 key: the structure is the same, the algorithm is another.
/// let x25519 = "MCowBQYDK2VuAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";
/// assert_eq!(PublicKey::parse(x25519).unwrap_err(), KeyError::Algorithm);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum KeyError {
    /// The text is not base64url: a character that cannot stand there, or none where one has to.
    Base64 {
        /// Bytes from the start of the text.
        offset: usize,
    },
    /// The structure ends too early.
    TooShort {
        /// Bytes that the text encodes.
        len: usize,
        /// Bytes that a key of this kind has.
        expected: usize,
    },
    /// Bytes follow the structure.
    ExtraBytes {
        /// Bytes that the text encodes.
        len: usize,
        /// Bytes that a key of this kind has.
        expected: usize,
    },
    /// The key is for another algorithm than Ed25519 (OID 1.3.101.112).
    Algorithm,
    /// The bytes are not the DER structure of such a key, as it is written for Ed25519.
    Structure {
        /// Bytes from the start of the structure to the first one that differs.
        offset: usize,
    },
    /// The public key is no point of the curve.
    NotAPoint,
    /// The public key is a point of the curve, but not in the encoding that it has.
    NotCanonical,
    /// The public key is a point of small order: anybody can make signatures for it.
    SmallOrder,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base64 { offset } => write!(f, "not base64url (byte {offset})"),
            Self::TooShort { len, expected } => {
                write!(f, "the key ends after {len} bytes of {expected}")
            }
            Self::ExtraBytes { len, expected } => {
                write!(f, "{len} bytes, where a key has {expected}")
            }
            Self::Algorithm => f.write_str("not a key for Ed25519"),
            Self::Structure { offset } => {
                write!(f, "not the DER structure of a key (byte {offset})")
            }
            Self::NotAPoint => f.write_str("the public key is no point of the curve"),
            Self::NotCanonical => f.write_str("the public key has another encoding"),
            Self::SmallOrder => f.write_str("the public key is of small order"),
        }
    }
}

impl core::error::Error for KeyError {}

/// Why a signature does not hold.
///
/// ```
/// use agentwire_core::rpc::sign::{SecretKey, SessionBinding, VerifyError};
/// let binding = SessionBinding::of_data(&[]);
/// let verdict = SecretKey::from_bytes([7; 32]).public().verify(&binding, &mut [0; 31], &[0; 64]);
/// assert_eq!(verdict, Err(VerifyError::NoHeadroom { len: 31 }));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum VerifyError {
    /// A wrong call: the buffer has no [`HEADROOM`] bytes.
    NoHeadroom {
        /// Bytes that it has.
        len: usize,
    },
    /// A signature has [`ED25519_SIGNATURE_LEN`] bytes.
    SignatureLength {
        /// Bytes of what was given.
        len: usize,
    },
    /// It is not this key's signature of this payload in this session.
    Invalid,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeadroom { len } => {
                write!(f, "the buffer has {len} bytes, and {HEADROOM} are needed for the binding")
            }
            Self::SignatureLength { len } => {
                write!(f, "{len} bytes, where a signature has {ED25519_SIGNATURE_LEN}")
            }
            Self::Invalid => f.write_str("the signature is not valid"),
        }
    }
}

impl core::error::Error for VerifyError {}

/// Bytes of a text that are decoded in order to say what is wrong with it; a multiple of three,
/// and more than any key that is read here has.
const LOOK: usize = 96;

/// Reads the key that stands after `prefix` in a structure of `expected` bytes.
fn read(text: &str, prefix: &[u8], expected: usize) -> Result<Zeroizing<[u8; KEY_LEN]>, KeyError> {
    // A text that is too long is looked at as far as a key reaches.
    let looked_at = text.as_bytes().get(..LOOK / 3 * 4).unwrap_or(text.as_bytes());
    let mut buffer = Zeroizing::new([0; LOOK]);
    let len = BASE64URL
        .decode_slice(looked_at, &mut *buffer)
        .map_err(|error| KeyError::Base64 { offset: place(error, looked_at) })?;
    let der = buffer.get(..len).unwrap_or_default();
    check(der, prefix)?;
    let key = der.get(prefix.len()..).and_then(<[u8]>::first_chunk);
    // How many bytes the whole text stands for, whatever it says past what was looked at.
    let rest = text.trim_end_matches('=').len().saturating_sub(looked_at.len());
    let len = len.saturating_add(decoded_len(rest));
    match key {
        None => Err(KeyError::TooShort { len, expected }),
        Some(_) if len > expected => Err(KeyError::ExtraBytes { len, expected }),
        Some(key) => Ok(Zeroizing::new(*key)),
    }
}

/// The bytes for which so many characters without padding stand.
fn decoded_len(characters: usize) -> usize {
    characters.saturating_sub(characters.div_ceil(4))
}

/// Where a text stops being base64.
fn place(error: base64::DecodeSliceError, text: &[u8]) -> usize {
    match error {
        base64::DecodeSliceError::DecodeError(
            DecodeError::InvalidByte(offset, _) | DecodeError::InvalidLastSymbol { offset, .. },
        ) => offset,
        _ => text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last.saturating_add(1)),
    }
}

/// Checks that a structure begins with `prefix` as far as it reaches.
fn check(der: &[u8], prefix: &[u8]) -> Result<(), KeyError> {
    let Some(offset) = der.iter().zip(prefix).position(|(is, must)| is != must) else {
        return Ok(());
    };
    // A key for another algorithm differs in lengths already, so its OID is looked for by the
    // structure.
    if algorithm(der).is_some_and(|oid| oid != [0x2b, 0x65, 0x70]) {
        return Err(KeyError::Algorithm);
    }
    Err(KeyError::Structure { offset })
}

/// The object identifier in `SEQUENCE { [INTEGER,] SEQUENCE { OBJECT IDENTIFIER, … }, … }`.
fn algorithm(der: &[u8]) -> Option<&[u8]> {
    let mut inside = element(0x30, der)?.1;
    if let Some((_, after)) = element(0x02, inside) {
        let (version, _) = element(0x02, inside)?;
        (version.len() == 1).then_some(())?;
        inside = after;
    }
    let (_, inside) = element(0x30, inside)?;
    let (oid, _) = element(0x06, inside)?;
    Some(oid)
}

/// The content of the element with this tag that begins here, and what is to be read next: what
/// follows it, and for a sequence what is inside it. Content may reach past what is at hand.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = der.split_first()?;
    (*first == tag).then_some(())?;
    let (length, rest) = rest.split_first()?;
    // Long form: that many bytes of length follow, and no key needs more than two.
    let (len, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        0x81 => rest.split_first().map(|(len, rest)| (usize::from(*len), rest))?,
        0x82 => rest
            .split_first_chunk()
            .map(|(len, rest)| (usize::from(u16::from_be_bytes(*len)), rest))?,
        _ => return None,
    };
    if tag == 0x30 {
        return Some((rest, rest));
    }
    rest.split_at_checked(len)
}

/// Writes a structure and its base64url.
fn write(prefix: &[u8], key: &[u8; KEY_LEN], der: &mut [u8], text: &mut [u8]) {
    for (slot, byte) in der.iter_mut().zip(prefix.iter().chain(key)) {
        *slot = *byte;
    }
    // The text is as long as the structure needs, so this does not fail.
    let written = BASE64URL.encode_slice(der, text);
    debug_assert!(written.is_ok());
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    use super::*;

    const SIGN_KEY: &str = "MC4CAQAwBQYDK2VwBCIEIDfEfevydXXfKajz3sRkcQ7RPvfWUPoq6pu1TYHV1DEe";
    const SIGNER_KEY: &str = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";

    fn text(der: &[u8]) -> String {
        let mut text = std::vec![0; der.len().div_ceil(3) * 4];
        let len = BASE64URL.encode_slice(der, &mut text).unwrap();
        assert_eq!(len, text.len());
        String::from_utf8(text).unwrap()
    }

    fn decoded(text: &str) -> Vec<u8> {
        let mut der = std::vec![0; text.len()];
        let len = BASE64URL.decode_slice(text, &mut der).unwrap();
        der.truncate(len);
        der
    }

    fn public(der: &[u8]) -> KeyError {
        PublicKey::parse(&text(der)).unwrap_err()
    }

    fn verify(
        key: &PublicKey,
        binding: &SessionBinding,
        payload: &[u8],
        signature: &[u8],
    ) -> Result<(), VerifyError> {
        let mut message = [&[0xaa; HEADROOM], payload].concat();
        key.verify(binding, &mut message, signature)
    }

    #[test]
    fn both_keys_are_read_with_and_without_padding_and_written_as_the_core_does() {
        let key = SecretKey::parse(SIGN_KEY).unwrap();
        assert_eq!((SIGN_KEY.len(), SIGNER_KEY.len()), (SECRET_TEXT_LEN, PUBLIC_TEXT_LEN));
        assert_eq!(key.to_text().expose(), SIGN_KEY);
        assert_eq!(key.public().to_text().as_str(), SIGNER_KEY);
        let bare = PublicKey::parse(SIGNER_KEY.trim_end_matches('=')).unwrap();
        assert_eq!(bare, PublicKey::parse(SIGNER_KEY).unwrap());
        assert_eq!(bare, key.public());
        assert_eq!(format!("{bare}"), SIGNER_KEY);
        assert_eq!(bare.signer_key(), SignerKey::parse(SIGNER_KEY).unwrap());
    }

    #[test]
    fn a_signature_covers_the_context_the_associated_data_and_the_payload() {
        let key = SecretKey::parse(SIGN_KEY).unwrap();
        let ad: Vec<u8> = (0..112).collect();
        let binding = SessionBinding::of_data(&ad);
        let requester: &[u8; X448_LEN] = ad.first_chunk().unwrap();
        let service: &[u8; X448_LEN] = ad.last_chunk().unwrap();
        assert_eq!(SessionBinding::of_keys(requester, service), binding);
        let mut expected = Sha3_256::digest([CONTEXT, &ad].concat()).to_vec();
        assert_eq!(binding.as_bytes(), expected.as_slice());
        // What is signed is the concatenation, whatever signs it.
        expected.extend_from_slice(b"{}");
        let signature = key.sign(&binding, b"{}");
        let plain = SigningKey::from_bytes(key.0.as_bytes());
        assert_eq!(ed25519_dalek::Signer::sign(&plain, &expected).to_bytes(), signature);
        assert_eq!(verify(&key.public(), &binding, b"{}", &signature), Ok(()));
        for (binding, payload) in [
            (SessionBinding::of_data(&ad[1..]), &b"{}"[..]),
            (SessionBinding::of_keys(service, requester), b"{}"),
            (binding, b"{ }"),
            (binding, b""),
        ] {
            let verdict = verify(&key.public(), &binding, payload, &signature);
            assert_eq!(verdict, Err(VerifyError::Invalid));
        }
        let other = SecretKey::from_bytes([1; 32]).public();
        assert_eq!(verify(&other, &binding, b"{}", &signature), Err(VerifyError::Invalid));
    }

    #[test]
    fn a_changed_bit_in_any_byte_of_a_signature_is_noticed() {
        let key = SecretKey::from_bytes([3; 32]);
        let binding = SessionBinding::of_data(b"ad");
        let signature = key.sign(&binding, b"{}");
        for place in 0..ED25519_SIGNATURE_LEN {
            let mut changed = signature;
            changed[place] ^= 1 << (place % 8);
            let verdict = verify(&key.public(), &binding, b"{}", &changed);
            assert_eq!(verdict, Err(VerifyError::Invalid), "byte {place}");
        }
    }

    #[test]
    fn a_malleable_signature_is_refused() {
        // The order of the base point, 2^252 + 27742317777372353535851937790883648493.
        const ORDER: [u8; 32] = [
            0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9,
            0xde, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
        ];
        let key = SecretKey::from_bytes([3; 32]);
        let binding = SessionBinding::of_data(b"ad");
        let mut signature = key.sign(&binding, b"{}");
        // S + L is the same scalar; a lax check takes it.
        let mut carry = 0;
        for (byte, order) in signature[32..].iter_mut().zip(ORDER) {
            let sum = u16::from(*byte) + u16::from(order) + carry;
            *byte = sum as u8;
            carry = sum >> 8;
        }
        assert_eq!(carry, 0);
        assert_eq!(verify(&key.public(), &binding, b"{}", &signature), Err(VerifyError::Invalid));
    }

    #[test]
    fn keys_of_small_order_are_refused() {
        let mut identity = [0; 32];
        identity[0] = 1;
        let mut order_two = [0xff; 32];
        order_two[0] = 0xec;
        order_two[31] = 0x7f;
        let mut order_eight = [
            0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef,
            0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88,
            0x6d, 0x53, 0xfc, 0x05,
        ];
        let mut points = std::vec![[0; 32], identity, order_two, order_eight];
        order_eight[31] |= 0x80;
        points.push(order_eight);
        for point in points {
            assert_eq!(PublicKey::from_bytes(&point), Err(KeyError::SmallOrder), "{point:x?}");
            let der = [&SPKI_PREFIX[..], &point].concat();
            assert_eq!(public(&der), KeyError::SmallOrder);
        }
    }

    #[test]
    fn a_commitment_of_small_order_is_refused() {
        use curve25519_dalek::Scalar;
        use ed25519_dalek::Verifier as _;
        use sha2::Sha512;

        let key = SecretKey::from_bytes([3; 32]);
        let binding = SessionBinding::of_data(b"ad");
        let message = [binding.as_bytes(), &b"{}"[..]].concat();
        // With the identity as commitment, S = k·a.
        let mut signature = [0; ED25519_SIGNATURE_LEN];
        signature[0] = 1;
        let hash = Sha512::new().chain_update(&signature[..32]);
        let hash = hash.chain_update(key.public().as_bytes()).chain_update(&message);
        let k = Scalar::from_bytes_mod_order_wide(&hash.finalize().into());
        signature[32..].copy_from_slice((k * key.0.to_scalar()).as_bytes());

        let lax = key.0.verifying_key().verify(&message, &Signature::from_bytes(&signature));
        assert!(lax.is_ok(), "a lax check takes it");
        assert_eq!(verify(&key.public(), &binding, b"{}", &signature), Err(VerifyError::Invalid));
    }

    #[test]
    fn a_public_key_has_one_encoding() {
        // Coordinates of p and above stand for the same points as those from zero on.
        let mut found = 0;
        for low in 0xed..=0xff {
            for high in [0x7f, 0xff] {
                let mut bytes = [0xff; 32];
                (bytes[0], bytes[31]) = (low, high);
                let error = PublicKey::from_bytes(&bytes).unwrap_err();
                found += usize::from(error == KeyError::NotCanonical);
            }
        }
        assert_ne!(found, 0);
    }

    #[test]
    fn what_is_no_point_is_no_key() {
        let mut bytes = [0; 32];
        bytes[0] = 2;
        assert_eq!(PublicKey::from_bytes(&bytes), Err(KeyError::NotAPoint));
    }

    #[test]
    fn keys_of_wrong_length() {
        let der = decoded(SIGNER_KEY);
        for len in 0..44 {
            assert_eq!(public(&der[..len]), KeyError::TooShort { len, expected: 44 });
        }
        for extra in [1, 2, 3, 51, 52, 53, 1000] {
            let long = [der.clone(), std::vec![0; extra]].concat();
            let len = 44 + extra;
            assert_eq!(public(&long), KeyError::ExtraBytes { len, expected: 44 });
        }
        let der = decoded(SIGN_KEY);
        for len in [0, 16, 47] {
            let error = SecretKey::parse(&text(&der[..len])).unwrap_err();
            assert_eq!(error, KeyError::TooShort { len, expected: 48 });
        }
        let error = SecretKey::parse(&text(&[der, std::vec![0]].concat())).unwrap_err();
        assert_eq!(error, KeyError::ExtraBytes { len: 49, expected: 48 });
    }

    #[test]
    fn keys_for_other_algorithms() {
        let mut der = decoded(SIGNER_KEY);
        for last in [0x6e, 0x6f, 0x71] {
            // X25519, X448, Ed448 by their identifiers.
            der[8] = last;
            assert_eq!(public(&der), KeyError::Algorithm);
        }
        // The structures of Ed448, P-256 and RSA as they begin.
        let ed448 = [0x30, 0x43, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x71, 0x03, 0x3a, 0];
        let p256 =
            [0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06];
        let rsa = [
            0x30, 0x82, 0x01, 0x22, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1,
            1, 1,
        ];
        for (begin, len) in [(&ed448[..], 69), (&p256, 91), (&rsa, 294)] {
            let mut der = begin.to_vec();
            der.resize(len, 0x55);
            assert_eq!(public(&der), KeyError::Algorithm);
        }
        let mut der = decoded(SIGN_KEY);
        der[11] = 0x6e;
        assert_eq!(SecretKey::parse(&text(&der)).unwrap_err(), KeyError::Algorithm);
    }

    #[test]
    fn other_structures() {
        for (offset, byte) in [(0, 0x31), (1, 0x2b), (3, 0x06), (10, 0x22), (11, 0x01)] {
            let mut der = decoded(SIGNER_KEY);
            der[offset] = byte;
            assert_eq!(public(&der), KeyError::Structure { offset });
        }
        // A private key is no public one, nor the other way round.
        assert!(matches!(PublicKey::parse(SIGN_KEY), Err(KeyError::Structure { offset: 1 })));
        assert!(matches!(SecretKey::parse(SIGNER_KEY), Err(KeyError::Structure { offset: 1 })));
        // PKCS#8 version 2, which holds the public key too.
        let mut der = decoded(SIGN_KEY);
        der[4] = 1;
        let error = SecretKey::parse(&text(&der)).unwrap_err();
        assert_eq!(error, KeyError::Structure { offset: 4 });
    }

    #[test]
    fn texts_that_are_not_base64url() {
        let error = |text: &str| PublicKey::parse(text).unwrap_err();
        assert_eq!(error("MCow+QYDK2Vw"), KeyError::Base64 { offset: 4 });
        assert_eq!(error("MCow BQYDK2Vw"), KeyError::Base64 { offset: 4 });
        assert_eq!(error("MCowé"), KeyError::Base64 { offset: 4 });
        // The last character has bits that stand for nothing.
        let text = SIGNER_KEY.replace("Q=", "R=");
        assert_eq!(error(&text), KeyError::Base64 { offset: 58 });
        let text = SIGNER_KEY.replace("Q=", "Q==");
        assert!(matches!(error(&text), KeyError::Base64 { .. }));
        for len in [127, 128, 129, 10_000_000] {
            assert!(PublicKey::parse(&"A".repeat(len)).is_err());
            assert!(PublicKey::parse(&"é".repeat(len)).is_err());
        }
    }

    #[test]
    fn the_callers_buffer_has_headroom_of_32_bytes() {
        let key = SecretKey::from_bytes([3; 32]);
        let binding = SessionBinding::of_data(b"ad");
        let signature = key.sign(&binding, b"");
        let verdict = |len| key.public().verify(&binding, &mut std::vec![9; len], &signature);
        assert_eq!(verdict(31), Err(VerifyError::NoHeadroom { len: 31 }));
        assert_eq!(verdict(32), Ok(()));
        assert_eq!(verdict(33), Err(VerifyError::Invalid));
        for len in [0, 63, 65] {
            let verdict = key.public().verify(&binding, &mut [0; 32], &std::vec![0; len]);
            assert_eq!(verdict, Err(VerifyError::SignatureLength { len }));
        }
    }

    #[test]
    fn a_requester_should_use_a_separate_key_for_each_responder() {
        let master = MasterSecret::new([7; 32]);
        let key = |responder: &str| *master.key_for(responder).0.as_bytes();
        let input = [&b"agentwire/responder-key/1\0"[..], &[7; 32], b"a"].concat();
        assert_eq!(key("a").as_slice(), Sha3_256::digest(input).as_slice());
        let keys = ["", "a", "A", "a ", "aa"].map(key);
        for (place, one) in keys.iter().enumerate() {
            assert!(keys[..place].iter().all(|other| other != one));
        }
        assert_ne!(*MasterSecret::new([8; 32]).key_for("a").0.as_bytes(), key("a"));
    }

    #[test]
    fn debug_shows_no_secret() {
        let (key, master) = (SecretKey::parse(SIGN_KEY).unwrap(), MasterSecret::new([7; 32]));
        let shown = format!("{key:?} {:?} {master:?}", key.to_text());
        assert_eq!(shown, "SecretKey(..) SecretText(..) MasterSecret(..)");
    }
}
