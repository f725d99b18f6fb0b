//! Which versions of the chat core are spoken with.

use core::fmt;

/// The oldest version whose frames are known: 6.5. An older core is refused at the start, since
/// it would be guessed at.
pub const MIN_CORE_VERSION: CoreVersion = CoreVersion::new(6, 5, 0, 0);

/// The version that this module was written for: 7.0. Newer ones are spoken with, since the core
/// asks its clients to tolerate what they do not know ("Bot API", bots/README.md).
pub const TRIED_CORE_VERSION: CoreVersion = CoreVersion::new(7, 0, 0, 0);

/// The version of a chat core: four numbers, of which the last ones may be left out.
///
/// ```
/// use agentwire_core::simplex::{CoreVersion, Support};
/// let version: CoreVersion = "7.0.0.11".parse().unwrap();
/// assert_eq!(version, CoreVersion::new(7, 0, 0, 11));
/// assert_eq!(version.to_string(), "7.0.0.11");
/// assert_eq!(version.support(), Support::Tried);
/// assert_eq!(CoreVersion::new(6, 4, 9, 9).support(), Support::TooOld);
/// assert_eq!(CoreVersion::new(8, 0, 0, 0).support(), Support::Newer);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CoreVersion([u16; 4]);

impl CoreVersion {
    /// The version with these numbers.
    #[must_use]
    pub const fn new(major: u16, minor: u16, patch: u16, build: u16) -> Self {
        Self([major, minor, patch, build])
    }

    /// Its numbers, from the most significant on.
    #[must_use]
    pub const fn numbers(self) -> [u16; 4] {
        self.0
    }

    /// Whether it is spoken with.
    #[must_use]
    pub fn support(self) -> Support {
        let (major, minor, tried) = (self.0[0], self.0[1], TRIED_CORE_VERSION.0);
        if self < MIN_CORE_VERSION {
            Support::TooOld
        } else if (major, minor) > (tried[0], tried[1]) {
            Support::Newer
        } else {
            Support::Tried
        }
    }
}

impl fmt::Display for CoreVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch, build] = self.0;
        write!(f, "{major}.{minor}.{patch}.{build}")
    }
}

impl core::str::FromStr for CoreVersion {
    type Err = VersionError;

    /// Reads one to four numbers with dots between them. What follows a `-` or a space is left
    /// out, as in `7.0.0-beta.1`.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let end = text.find(['-', '+', ' ']).unwrap_or(text.len());
        let mut numbers = [0; 4];
        let mut parts = text.get(..end).unwrap_or_default().split('.');
        for (place, number) in numbers.iter_mut().enumerate() {
            match parts.next() {
                Some(part) if part.bytes().all(|byte| byte.is_ascii_digit()) => {
                    *number = part.parse().map_err(|_| VersionError)?;
                }
                None if place > 0 => break,
                _ => return Err(VersionError),
            }
        }
        if parts.next().is_some() { Err(VersionError) } else { Ok(Self(numbers)) }
    }
}

/// A text that is no version of a chat core.
///
/// ```
/// use agentwire_core::simplex::{CoreVersion, VersionError};
/// assert_eq!("seven".parse::<CoreVersion>(), Err(VersionError));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)] // It has nothing to say.
pub struct VersionError;

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a version of a chat core: one to four numbers with dots between them")
    }
}

impl core::error::Error for VersionError {}

/// Whether a version of the core is spoken with.
///
/// ```
/// use agentwire_core::simplex::{MIN_CORE_VERSION, Support};
/// assert_eq!(MIN_CORE_VERSION.support(), Support::Tried);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)]
pub enum Support {
    /// Older than [`MIN_CORE_VERSION`]: refused.
    TooOld,
    /// Between [`MIN_CORE_VERSION`] and the minor version of [`TRIED_CORE_VERSION`].
    Tried,
    /// Of a minor version after it: spoken with, untried.
    Newer,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CoreVersion, VersionError> {
        text.parse()
    }

    #[test]
    fn versions_have_one_to_four_numbers() {
        assert_eq!(parse("7"), Ok(CoreVersion::new(7, 0, 0, 0)));
        assert_eq!(parse("v7.1"), Ok(CoreVersion::new(7, 1, 0, 0)));
        assert_eq!(parse("7.0.0-beta.1"), Ok(CoreVersion::new(7, 0, 0, 0)));
        assert_eq!(parse("7.0.0.65535"), Ok(CoreVersion::new(7, 0, 0, 65_535)));
        for text in ["", "7.", ".7", "7.0.0.1.2", "7.0.0.65536", "+7", "-7", "7.x"] {
            assert_eq!(parse(text), Err(VersionError), "{text}");
        }
    }

    #[test]
    fn the_edges_of_what_is_spoken_with() {
        assert_eq!(CoreVersion::new(6, 4, 65_535, 65_535).support(), Support::TooOld);
        assert_eq!(CoreVersion::new(6, 5, 0, 0).support(), Support::Tried);
        assert_eq!(CoreVersion::new(7, 0, 65_535, 65_535).support(), Support::Tried);
        assert_eq!(CoreVersion::new(7, 1, 0, 0).support(), Support::Newer);
    }
}
