//! Versions of A2A: `Major.Minor`.

use core::fmt;

use crate::binding::MAX_VERSION_LEN;
use crate::json::Str;

/// A version of A2A. A patch number may be written behind it and does not matter (A2A 1.0 section
/// 3.6); where a request names none, it means [`ABSENT`](Self::ABSENT).
///
/// ```
/// use agentwire_core::a2a::Version;
/// let version = Version::parse("1.0.2").unwrap();
/// assert_eq!(version, Version::V1_0);
/// assert_eq!(version.to_string(), "1.0");
/// assert!(["1", "v1.0", " 1.0", "1.0,0.3", ""].iter().all(|text| Version::parse(text).is_none()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_structs)] // A version has these two numbers.
pub struct Version {
    /// Versions that differ in it do not understand each other.
    pub major: u32,
    /// What has been added since.
    pub minor: u32,
}

impl Version {
    /// The version that the binding is defined for.
    pub const V1_0: Self = Self { major: 1, minor: 0 };
    /// What a request without a version means.
    pub const ABSENT: Self = Self { major: 0, minor: 3 };

    /// Reads a version.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |digits: &str| -> Option<u32> {
            let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
            if plain { digits.parse().ok() } else { None }
        };
        let mut parts = text.split('.');
        let version = Self { major: number(parts.next()?)?, minor: number(parts.next()?)? };
        if let Some(patch) = parts.next() {
            number(patch)?;
        }
        if parts.next().is_some() { None } else { Some(version) }
    }

    /// Reads a version that stands in a JSON string.
    pub(super) fn of(text: Str<'_>) -> Option<Self> {
        match text.as_plain() {
            Some(plain) => Self::parse(plain),
            None => Self::parse(text.decode(&mut [0; MAX_VERSION_LEN]).ok()?),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
