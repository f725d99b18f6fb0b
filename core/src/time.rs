//! Time as an argument: the machines never read a clock.
//!
//! A driver picks an epoch once (the start of the process, boot, 1970) and counts milliseconds
//! from it. Spans are [`core::time::Duration`]. Arithmetic saturates: a deadline that cannot be
//! expressed is [`Instant::MAX`], "never". What is compared with other people's clocks, or outlives
//! the process, is a [`Timestamp`].

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

/// A time of day that others know too: whole milliseconds since 1970 began, UTC.
///
/// ```
/// use agentwire_core::time::Timestamp;
/// let time = Timestamp::parse("2026-08-15T15:30:48.25Z").unwrap();
/// assert_eq!(time.as_millis(), 1_786_807_848_250);
/// assert!(Timestamp::parse("yesterday").is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct Timestamp(u64);

impl Timestamp {
    /// The time `millis` milliseconds after 1970 began.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970 began.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero when it is not after.
    pub const fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The time `span` later, rounded down to a millisecond.
    pub const fn saturating_add(self, span: Duration) -> Self {
        Self(Instant(self.0).saturating_add(span).0)
    }

    /// Reads a time as the chat core writes it (`itemTs`): `2026-08-15T15:30:48Z`, with as many
    /// decimals of the second as there are. Parts of a millisecond are dropped. `None` for another
    /// form, for another zone than `Z`, and before 1970.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_once('T')?;
        let (time, fraction) = match rest.strip_suffix('Z')?.split_once('.') {
            Some((time, fraction)) => (time, fraction),
            None => (rest.strip_suffix('Z')?, "0"),
        };
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let millis = fraction.bytes().chain(*b"00").take(3).fold(0, |millis: u64, digit| {
            millis.saturating_mul(10).saturating_add(u64::from(digit.saturating_sub(b'0')))
        });
        let is_leap = |year: u64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let month_len = match month {
            4 | 6 | 9 | 11 => 30,
            2 if is_leap(year) => 29,
            2 => 28,
            1..=12 => 31,
            _ => return None,
        };
        // A leap second stands at 60.
        if !(1..=month_len).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        // Years begin in March here, so that the leap day is the last one.
        let year = if month <= 2 { year.checked_sub(1)? } else { year };
        let month = if month <= 2 { month.checked_add(9)? } else { month.checked_sub(3)? };
        let of_years = year.checked_mul(365)?.checked_add(year / 4)?.checked_sub(year / 100)?;
        let of_months = month.checked_mul(153)?.checked_add(2)? / 5;
        let days = of_years.checked_add(year / 400)?.checked_add(of_months)?.checked_add(day)?;
        // The first of January 1970 is day 719,469 from the first of March of the year 0.
        let days = days.checked_sub(719_469)?;
        let minutes = days.checked_mul(1_440)?.checked_add(hour.checked_mul(60)?)?;
        let seconds = minutes.checked_add(minute)?.checked_mul(60)?.checked_add(second)?;
        seconds.checked_mul(1_000)?.checked_add(millis).map(Self)
    }
}

/// Three numbers of these many digits with a mark between.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut numbers = [0; 3];
    for (number, len) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        if part.len() != len || !part.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_chat_core_are_read() {
        let millis = |text| Timestamp::parse(text).map(Timestamp::as_millis);
        assert_eq!(millis("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(millis("1970-01-01T00:00:00.0019Z"), Some(1));
        assert_eq!(millis("2000-02-29T23:59:59.999999999Z"), Some(951_868_799_999));
        assert_eq!(millis("2000-03-01T00:00:00Z"), Some(951_868_800_000));
        assert_eq!(millis("2026-08-15T15:30:48Z"), Some(1_786_807_848_000));
        assert_eq!(millis("2026-12-31T23:59:60Z"), Some(1_798_761_600_000));
        assert_eq!(millis("2027-01-01T00:00:00Z"), Some(1_798_761_600_000));
        assert_eq!(millis("9999-12-31T23:59:59Z"), Some(253_402_300_799_000));
        for wrong in [
            "",
            "T",
            "TZ",
            "1969-12-31T23:59:59Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00+01:00",
            "2026-01-01 00:00:00Z",
            "2026-1-01T00:00:00Z",
            "+026-01-01T00:00:00Z",
            "2026-01-01-01T00:00:00Z",
            "2026-01-01T00:00:00.xZ",
        ] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }

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
