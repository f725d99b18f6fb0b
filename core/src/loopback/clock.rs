//! Times as the core writes them: UTC, made from the driver's instants without a clock.

use alloc::{format, string::String};

use crate::time::Instant;

/// The last second of the year 9999; later times are written as this one.
const LAST_SECOND: u64 = 253_402_300_799;

/// The time of a received item: whole seconds, `2026-11-30T14:50:04Z`.
pub(super) fn received(start: u64, at: Instant) -> String {
    format!("{}Z", seconds(start, at))
}

/// The time of an own item: nine digits, `2026-11-30T14:50:04.279123456Z`. Instants have whole
/// milliseconds, so `below_milli` (less than 1,000,000) gives the last six.
pub(super) fn own(start: u64, at: Instant, below_milli: u32) -> String {
    format!("{}.{:03}{:06}Z", seconds(start, at), at.as_millis() % 1_000, below_milli % 1_000_000)
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "at most LAST_SECOND goes in, and every step makes it smaller or adds a few days"
)]
fn seconds(start: u64, at: Instant) -> String {
    let seconds = start.saturating_add(at.as_millis() / 1_000).min(LAST_SECOND);
    let of_day = seconds % 86_400;
    // Counted from 1 March of the year 0 the leap day is the last one of a year, and 400 years
    // have 146,097 days.
    let days = seconds / 86_400 + 719_468;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = days / 146_097 * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_received_item_has_whole_seconds() {
        let at = Instant::from_millis(4_999);
        assert_eq!(received(1_796_050_200, at), "2026-11-30T14:50:04Z");
    }

    #[test]
    fn an_own_item_has_nine_digits() {
        let at = Instant::from_millis(4_279);
        assert_eq!(own(1_796_050_200, at, 123_456), "2026-11-30T14:50:04.279123456Z");
        assert_eq!(own(0, Instant::ZERO, 1), "1970-01-01T00:00:00.000000001Z");
    }

    #[test]
    fn days_are_those_of_the_gregorian_calendar() {
        for (seconds, day) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (1_709_164_800, "2024-02-29"),
            (1_767_225_599, "2025-12-31"),
            (4_107_542_400, "2100-03-01"),
            (u64::MAX, "9999-12-31"),
        ] {
            assert!(received(seconds, Instant::ZERO).starts_with(day), "{day}");
        }
    }
}
