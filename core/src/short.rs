//! A short text that is kept inline.

use core::fmt;
use core::num::NonZeroU8;

/// A text of at most `N` bytes, `N` being at most 254. `Option<Short<N>>` is no larger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[doc(hidden)] // Public only as the type of a hidden item.
pub struct Short<const N: usize> {
    bytes: [u8; N],
    /// The length and one.
    end: NonZeroU8,
}

impl<const N: usize> Short<N> {
    /// `None` if the text is longer.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; N];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        let end = u8::try_from(text.len()).ok()?.checked_add(1).and_then(NonZeroU8::new)?;
        Some(Self { bytes, end })
    }

    pub(crate) fn get(&self) -> &str {
        // The bytes are those of a whole `str`.
        self.bytes
            .get(..usize::from(self.end.get()).saturating_sub(1))
            .and_then(|bytes| core::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

impl<const N: usize> fmt::Debug for Short<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Short({} of {N} bytes)", self.get().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_up_to_the_limit_are_kept() {
        for text in ["", "a", "caf\u{e9}", "12345678"] {
            assert_eq!(Short::<8>::new(text).unwrap().get(), text);
        }
        assert!(Short::<8>::new("123456789").is_none());
        assert_eq!(size_of::<Option<Short<31>>>(), 32);
    }
}
