//! Time as an argument: the machines never read a clock.
//!
//! A driver picks an epoch once (the start of the process, boot, 1970) and counts milliseconds
//! from it. Spans are [`core::time::Duration`]. Arithmetic saturates: a deadline that cannot be
//! expressed is [`Instant::MAX`], "never".

use core::time::Duration;

/// A point in time: whole milliseconds since an epoch of the driver's choosing.
///
/// ```
/// use agentwire_core::time::Instant;
/// use core::time::Duration;
///
/// let start = Instant::from_millis(5_000);
/// let deadline = start + Duration::from_secs(30);
/// assert_eq!(deadline.as_millis(), 35_000);
/// assert_eq!(deadline.duration_since(start), Duration::from_secs(30));
/// assert_eq!(start.duration_since(deadline), Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct Instant(u64);

impl Instant {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);
    /// Later than any deadline that fires: "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The instant `span` later, rounded down to a millisecond; [`Instant::MAX`] when that
    /// cannot be expressed.
    pub const fn saturating_add(self, span: Duration) -> Self {
        let millis = span.as_millis();
        if millis > u64::MAX as u128 {
            Self::MAX
        } else {
            Self(self.0.saturating_add(millis as u64))
        }
    }

    /// How long after `earlier` this is; zero when it is not after.
    pub const fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl core::ops::Add<Duration> for Instant {
    type Output = Self;

    /// Same as [`Instant::saturating_add`].
    fn add(self, span: Duration) -> Self {
        self.saturating_add(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_saturates_at_never() {
        assert_eq!(Instant::from_millis(u64::MAX - 1) + Duration::from_millis(1), Instant::MAX);
        assert_eq!(Instant::from_millis(u64::MAX - 1) + Duration::from_millis(2), Instant::MAX);
        assert_eq!(Instant::ZERO + Duration::MAX, Instant::MAX);
    }

    #[test]
    fn parts_of_a_millisecond_are_dropped() {
        assert_eq!(Instant::ZERO + Duration::from_micros(1_999), Instant::from_millis(1));
    }
}
