//! Keys of ES256: ECDSA on P-256 (RFC 7518 section 3.4), as JWK and as PEM.

use alloc::string::String;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::hazmat::{PrehashSigner as _, PrehashVerifier as _};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use p256::elliptic_curve::sec1::ToSec1Point as _;
use p256::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
    LineEnding,
};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::json::{self, Object, Str, to_text};

/// Bytes of a coordinate and of a private key.
pub(super) const FIELD_LEN: usize = 32;

/// Bytes of a signature: R and S, each a big-endian number (RFC 7518 section 3.4).
pub const ES256_SIGNATURE_LEN: usize = 64;

/// The longest `kid` that is read, in bytes.
pub const MAX_KID_LEN: usize = 256;

/// A public key of ES256.
///
/// ```
/// use agentwire_core::card::PublicKey;
/// let jwk = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
///     "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
/// let key = PublicKey::from_jwk(jwk).unwrap();
/// assert_eq!(key.thumbprint(), "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U");
/// assert_eq!(PublicKey::from_pem(&key.to_pem()).unwrap(), key);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads a JWK (RFC 7517). Members that say nothing of the key are ignored; of `alg`, `use`
    /// and `key_ops` those are refused that forbid this use of it.
    ///
    /// # Errors
    /// [`KeyError`]; [`Private`](KeyError::Private) for one that holds the private key too, which
    /// nobody should have handed out.
    pub fn from_jwk(text: &str) -> Result<Self, KeyError> {
        let object = Object::parse(text)?;
        let jwk = Jwk::read(object, "verify")?;
        if object.get("d")?.is_some() {
            return Err(KeyError::Private);
        }
        Ok(jwk.public)
    }

    /// Reads PEM: `PUBLIC KEY`, the X.509 SubjectPublicKeyInfo (RFC 7468).
    ///
    /// # Errors
    /// [`KeyError::Private`] for a private key, [`KeyError::Pem`] for everything else that is not
    /// a public key of P-256.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        if text.contains("PRIVATE KEY-----") {
            return Err(KeyError::Private);
        }
        VerifyingKey::from_public_key_pem(text.trim()).map(Self).map_err(|_| KeyError::Pem)
    }

    /// The key as PEM, which ends with a line feed.
    pub fn to_pem(&self) -> String {
        // A point of the curve has this form; only a full heap could refuse, and that aborts.
        self.0.to_public_key_pem(LineEnding::LF).unwrap_or_default()
    }

    /// Writes the key as a JWK: what verifiers need, the use and the algorithm, and `kid` if there
    /// is one.
    ///
    /// ```
    /// use agentwire_core::card::SecretKey;
    /// let key = SecretKey::from_bytes(&[7; 32]).unwrap().public();
    /// let jwk = key.to_jwk(Some("2026-11"));
    /// assert!(jwk.starts_with(r#"{"kty":"EC","crv":"P-256","x":""#));
    /// assert!(jwk.ends_with(r#"","use":"sig","alg":"ES256","kid":"2026-11"}"#));
    /// ```
    pub fn to_jwk(&self, kid: Option<&str>) -> String {
        let [x, y] = self.coordinates();
        to_text(|out| {
            out.raw(r#"{"kty":"EC","crv":"P-256","x":"#).string(&x).raw(r#","y":"#).string(&y);
            out.raw(r#","use":"sig","alg":"ES256""#);
            if let Some(kid) = kid {
                out.raw(r#","kid":"#).string(kid);
            }
            out.raw("}");
        })
    }

    /// The key's SHA-256 thumbprint (RFC 7638) in base64url: a `kid` that needs no thought.
    pub fn thumbprint(&self) -> String {
        let [x, y] = self.coordinates();
        let hash = Sha256::new()
            .chain_update(r#"{"crv":"P-256","kty":"EC","x":""#)
            .chain_update(x)
            .chain_update(r#"","y":""#)
            .chain_update(y)
            .chain_update("\"}");
        URL_SAFE_NO_PAD.encode(hash.finalize())
    }

    /// Both coordinates in base64url.
    fn coordinates(&self) -> [String; 2] {
        let point = self.0.as_affine().to_sec1_point(false);
        // One byte that says "uncompressed", then the coordinates.
        let (x, y) = point
            .as_bytes()
            .get(1..)
            .and_then(|both| both.split_at_checked(FIELD_LEN))
            .unwrap_or_default();
        [x, y].map(|coordinate| URL_SAFE_NO_PAD.encode(coordinate))
    }

    /// Whether these bytes are this key's signature of a message with this SHA-256.
    pub(super) fn holds(&self, hash: &[u8; 32], signature: &[u8; ES256_SIGNATURE_LEN]) -> bool {
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.0.verify_prehash(hash, &signature).is_ok())
    }
}

/// Names the key by its thumbprint.
impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.thumbprint())
    }
}

/// A private key of ES256. Wiped when it is dropped, and never shown by `Debug`.
///
/// ```
/// use agentwire_core::card::SecretKey;
/// let key = SecretKey::from_bytes(&[7; 32]).unwrap();
/// let pem = key.to_pem();
/// assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"));
/// assert_eq!(SecretKey::from_pem(&pem).unwrap().public(), key.public());
/// assert_eq!(format!("{key:?}"), "SecretKey(..)");
/// ```
#[derive(Clone)]
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// Makes a key of 32 bytes, which have to come from a source of secure randomness.
    ///
    /// # Errors
    /// [`KeyError::OutOfRange`] for a number that is no private key of P-256: zero, or the order
    /// of its group and above. Of random bytes that is so once in four billion: take others.
    pub fn from_bytes(bytes: &[u8; FIELD_LEN]) -> Result<Self, KeyError> {
        SigningKey::from_slice(bytes).map(Self).map_err(|_| KeyError::OutOfRange)
    }

    /// Reads a JWK with `d`, as [`PublicKey::from_jwk`] does.
    ///
    /// # Errors
    /// [`KeyError`]; [`NotPrivate`](KeyError::NotPrivate) without `d`,
    /// [`Mismatch`](KeyError::Mismatch) if `x` and `y` are another key's.
    pub fn from_jwk(text: &str) -> Result<Self, KeyError> {
        let object = Object::parse(text)?;
        let jwk = Jwk::read(object, "sign")?;
        let secret = object.get("d")?.ok_or(KeyError::NotPrivate)?;
        let bytes = number(secret.as_str(), "d")?;
        let key = Self::from_bytes(&bytes)?;
        if key.public() == jwk.public { Ok(key) } else { Err(KeyError::Mismatch) }
    }

    /// Reads PEM: `PRIVATE KEY`, which is PKCS#8, or `EC PRIVATE KEY`, which is SEC1.
    ///
    /// # Errors
    /// [`KeyError::NotPrivate`] for a public key, [`KeyError::Pem`] for everything else that is
    /// not a private key of P-256, an encrypted one among it.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        if text.contains("-----BEGIN PUBLIC KEY-----") {
            return Err(KeyError::NotPrivate);
        }
        // OpenSSL writes the curve's parameters in front of a SEC1 key.
        const SEC1: &str = "-----BEGIN EC PRIVATE KEY-----";
        let key = match text.find(SEC1).and_then(|at| text.get(at..)) {
            Some(sec1) => p256::SecretKey::from_sec1_pem(sec1.trim()).map_err(|_| KeyError::Pem)?,
            None => p256::SecretKey::from_pkcs8_pem(text.trim()).map_err(|_| KeyError::Pem)?,
        };
        Ok(Self(key.into()))
    }

    /// The key as PKCS#8 in PEM, which ends with a line feed. Wiped when it is dropped.
    pub fn to_pem(&self) -> Zeroizing<String> {
        // Every private key has this form; only a full heap could refuse, and that aborts.
        self.0.to_pkcs8_pem(LineEnding::LF).unwrap_or_default()
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        PublicKey(*self.0.verifying_key())
    }

    /// Signs a message with this SHA-256: deterministically, as RFC 6979 says.
    pub(super) fn sign(&self, hash: &[u8; 32]) -> Option<[u8; ES256_SIGNATURE_LEN]> {
        let signature: Signature = self.0.sign_prehash(hash).ok()?;
        signature.to_bytes().as_slice().try_into().ok()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// The public part of a JWK.
pub(super) struct Jwk<'a> {
    pub(super) public: PublicKey,
    pub(super) kid: Option<Str<'a>>,
}

impl<'a> Jwk<'a> {
    /// Reads a JWK that may be used for an operation: `sign` or `verify`.
    pub(super) fn read(object: Object<'a>, operation: &'static str) -> Result<Self, KeyError> {
        let is = |name, expected: &str| -> Result<bool, KeyError> {
            Ok(object.get(name)?.and_then(|value| value.as_str()).is_some_and(|is| is == *expected))
        };
        if !is("kty", "EC")? || !is("crv", "P-256")? {
            return Err(KeyError::Algorithm);
        }
        if object.get("alg")?.is_some() && !is("alg", "ES256")? {
            return Err(KeyError::Algorithm);
        }
        if object.get("use")?.is_some() && !is("use", "sig")? {
            return Err(KeyError::Use);
        }
        if let Some(operations) = object.get("key_ops")? {
            let mut operations = operations.elements().into_iter().flatten();
            // What may sign may of course be checked.
            let allowed = |text: Str<'_>| text == *operation || text == *"sign";
            if !operations.any(|value| value.as_str().is_some_and(allowed)) {
                return Err(KeyError::Use);
            }
        }
        let kid = object.get("kid")?.map(|kid| kid.as_str().ok_or(KeyError::Kid)).transpose()?;
        if kid.is_some_and(|kid| kid.get().len() > MAX_KID_LEN.saturating_add(2)) {
            return Err(KeyError::Kid);
        }
        let coordinate = |name| number(object.str(name)?, name);
        let (x, y) = (coordinate("x")?, coordinate("y")?);
        let mut point = [4; FIELD_LEN * 2 + 1];
        for (byte, from) in point.iter_mut().skip(1).zip(x.iter().chain(y.iter())) {
            *byte = *from;
        }
        let public = VerifyingKey::from_sec1_bytes(&point).map_err(|_| KeyError::NotAPoint)?;
        Ok(Self { public: PublicKey(public), kid })
    }
}

/// A number of 32 bytes in base64url, without padding and with its leading zeros.
fn number(
    text: Option<Str<'_>>,
    member: &'static str,
) -> Result<Zeroizing<[u8; FIELD_LEN]>, KeyError> {
    let mut bytes = Zeroizing::new([0; FIELD_LEN]);
    // Base64url needs no escapes, so nobody writes any.
    let text = text.and_then(|text| text.as_plain()).ok_or(KeyError::Member(member))?;
    match URL_SAFE_NO_PAD.decode_slice(text, &mut *bytes) {
        Ok(FIELD_LEN) => Ok(bytes),
        _ => Err(KeyError::Member(member)),
    }
}

/// Why a text is not a key. It holds names and offsets, nothing of the key.
///
/// ```
/// use agentwire_core::card::{KeyError, PublicKey};
/// assert_eq!(PublicKey::from_jwk(r#"{"kty":"RSA"}"#), Err(KeyError::Algorithm));
/// assert_eq!(PublicKey::from_pem("no key"), Err(KeyError::Pem));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum KeyError {
    /// Not a JSON object, or a member that is read occurs twice.
    Json(json::Error),
    /// A key for another algorithm than ES256: `kty` has to be `EC`, `crv` `P-256`, and `alg`
    /// `ES256` or absent.
    Algorithm,
    /// `use` or `key_ops` forbid signatures.
    Use,
    /// `kid` is no string of at most [`MAX_KID_LEN`] bytes.
    Kid,
    /// This member is absent, or not 32 bytes in base64url without padding.
    Member(&'static str),
    /// The coordinates are not those of a point of the curve.
    NotAPoint,
    /// The number is no private key of P-256.
    OutOfRange,
    /// The public part is another key's.
    Mismatch,
    /// Not PEM of a key of P-256, as PKCS#8, SEC1 or SubjectPublicKeyInfo without a password.
    Pem,
    /// A private key, where a public one is wanted: it is known to others now.
    Private,
    /// A public key, where a private one is wanted.
    NotPrivate,
}

impl From<json::Error> for KeyError {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "not a JWK: {error}"),
            Self::Algorithm => f.write_str("not a key for ES256"),
            Self::Use => f.write_str("use or key_ops forbid signatures"),
            Self::Kid => write!(f, "kid is no string of at most {MAX_KID_LEN} bytes"),
            Self::Member(name) => {
                write!(f, "{name} is not 32 bytes in base64url without padding")
            }
            Self::NotAPoint => f.write_str("the coordinates are not on the curve"),
            Self::OutOfRange => f.write_str("the number is no private key of P-256"),
            Self::Mismatch => f.write_str("x and y are not the public key of d"),
            Self::Pem => f.write_str("not PEM of an unencrypted key of P-256"),
            Self::Private => f.write_str("a private key where a public one is wanted"),
            Self::NotPrivate => f.write_str("a public key where a private one is wanted"),
        }
    }
}

impl core::error::Error for KeyError {}

#[cfg(test)]
mod tests {
    use super::*;

    const JWK: &str = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;

    fn with(members: &str) -> String {
        JWK.replace('}', members) + "}"
    }

    #[test]
    fn the_key_of_rfc_7515_is_read_as_public_and_private_jwk() {
        let public = PublicKey::from_jwk(JWK).unwrap();
        let private = with(r#","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI""#);
        let secret = SecretKey::from_jwk(&private).unwrap();
        assert_eq!(secret.public(), public);
        assert_eq!(PublicKey::from_jwk(&private), Err(KeyError::Private));
        assert_eq!(SecretKey::from_jwk(JWK).unwrap_err(), KeyError::NotPrivate);
        assert_eq!(PublicKey::from_jwk(&public.to_jwk(Some("a\"b"))).unwrap(), public);
        let other = private.replace("jpsQ", "jpsR");
        assert_eq!(SecretKey::from_jwk(&other).unwrap_err(), KeyError::Mismatch);
    }

    #[test]
    fn members_that_forbid_the_use_are_obeyed() {
        for (members, expected) in [
            (r#","alg":"ES256","use":"sig","key_ops":["verify"],"kid":"k""#, None),
            (r#","key_ops":["sign","verify"],"x5c":[]"#, None),
            (r#","alg":"ES384""#, Some(KeyError::Algorithm)),
            (r#","alg":"none""#, Some(KeyError::Algorithm)),
            (r#","alg":7"#, Some(KeyError::Algorithm)),
            (r#","use":"enc""#, Some(KeyError::Use)),
            (r#","key_ops":["encrypt"]"#, Some(KeyError::Use)),
            (r#","key_ops":[]"#, Some(KeyError::Use)),
            (r#","kid":7"#, Some(KeyError::Kid)),
        ] {
            assert_eq!(PublicKey::from_jwk(&with(members)).err(), expected, "{members}");
        }
        for kid_len in [MAX_KID_LEN - 1, MAX_KID_LEN, MAX_KID_LEN + 1] {
            let members = std::format!(",\"kid\":\"{}\"", "k".repeat(kid_len));
            let expected = (kid_len > MAX_KID_LEN).then_some(KeyError::Kid);
            assert_eq!(PublicKey::from_jwk(&with(&members)).err(), expected);
        }
        assert!(matches!(PublicKey::from_jwk(&with(r#","kty":"EC""#)), Err(KeyError::Json(_))));
    }

    #[test]
    fn coordinates_that_are_none_are_refused() {
        for (from, to, expected) in [
            ("f83O", "g83O", KeyError::NotAPoint),
            ("RVEU\"", "RVEU=\"", KeyError::Member("x")),
            ("RVEU\"", "RVEV\"", KeyError::Member("x")),
            ("x_FE", "x/FE", KeyError::Member("y")),
            ("f83OJ", "83OJ", KeyError::Member("x")),
            ("\"x\"", "\"X\"", KeyError::Member("x")),
            ("\"y\":", "\"y\":1,\"z\":", KeyError::Member("y")),
            ("\"EC\"", "\"OKP\"", KeyError::Algorithm),
            ("P-256", "P-384", KeyError::Algorithm),
            ("P-256", "secp256k1", KeyError::Algorithm),
        ] {
            assert_eq!(PublicKey::from_jwk(&JWK.replace(from, to)), Err(expected), "{to}");
        }
    }

    #[test]
    fn private_keys_at_the_ends_of_their_range() {
        let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(order.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(core::str::from_utf8(digits).unwrap(), 16).unwrap();
        }
        assert_eq!(SecretKey::from_bytes(&bytes).unwrap_err(), KeyError::OutOfRange);
        bytes[31] -= 1;
        assert!(SecretKey::from_bytes(&bytes).is_ok());
        assert_eq!(SecretKey::from_bytes(&[0; 32]).unwrap_err(), KeyError::OutOfRange);
        let mut one = [0; 32];
        one[31] = 1;
        assert!(SecretKey::from_bytes(&one).is_ok());
    }

    #[test]
    fn pem_of_the_wrong_kind_is_named() {
        let key = SecretKey::from_bytes(&[7; 32]).unwrap();
        let (secret, public) = (key.to_pem(), key.public().to_pem());
        assert_eq!(PublicKey::from_pem(&secret), Err(KeyError::Private));
        assert_eq!(SecretKey::from_pem(&public).unwrap_err(), KeyError::NotPrivate);
        let crlf = std::format!("\n{}", public.replace('\n', "\r\n"));
        assert_eq!(PublicKey::from_pem(&crlf).unwrap(), key.public());
        for broken in ["", "-----BEGIN PUBLIC KEY-----", &public[..60], &public.replace('M', "N")] {
            assert_eq!(PublicKey::from_pem(broken), Err(KeyError::Pem));
        }
        // Ed25519, and an encrypted one.
        let ed25519 = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIDfEfevydXXfKajz3sRkcQ7RPvfWUPoq6pu1TYHV1DEe\n-----END PRIVATE KEY-----\n";
        assert_eq!(SecretKey::from_pem(ed25519).unwrap_err(), KeyError::Pem);
        let encrypted = secret.replace("PRIVATE", "ENCRYPTED PRIVATE");
        assert_eq!(SecretKey::from_pem(&encrypted).unwrap_err(), KeyError::Pem);
    }

    /// As `openssl ecparam -name prime256v1 -genkey` writes a key.
    #[test]
    fn a_sec1_key_behind_its_parameters_is_read() {
        let pem = "-----BEGIN EC PARAMETERS-----\n\
            BggqhkjOPQMBBw==\n\
            -----END EC PARAMETERS-----\n\
            -----BEGIN EC PRIVATE KEY-----\n\
            MHcCAQEEIIv3T/HMgmdqdjlb/Om9gGiz8cdbWdcmn77BDjJw68q5oAoGCCqGSM49\n\
            AwEHoUQDQgAECxV4vNG8wkoOcKwyrVOnlUHBrCedmRHUt/W4Gz6otzk8XSqqKRmT\n\
            VONKwx7bpFBv+ekaZmskIefxGI4uWztWOQ==\n\
            -----END EC PRIVATE KEY-----\n";
        let public = "-----BEGIN PUBLIC KEY-----\n\
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAECxV4vNG8wkoOcKwyrVOnlUHBrCed\n\
            mRHUt/W4Gz6otzk8XSqqKRmTVONKwx7bpFBv+ekaZmskIefxGI4uWztWOQ==\n\
            -----END PUBLIC KEY-----\n";
        assert_eq!(SecretKey::from_pem(pem).unwrap().public().to_pem(), public);
    }

    #[test]
    fn secrets_are_not_shown() {
        let key = SecretKey::from_bytes(&[7; 32]).unwrap();
        assert_eq!(std::format!("{key:?}"), "SecretKey(..)");
        assert!(std::format!("{:?}", key.public()).starts_with("PublicKey("));
    }
}
