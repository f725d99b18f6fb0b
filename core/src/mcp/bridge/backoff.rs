//! How long to wait before a server is started again.

use core::time::Duration;

use crate::time::Instant;

/// Delays between attempts that grow to a limit, spread by chance.
///
/// Each attempt doubles the delay. It begins anew only after an attempt that has lasted: what starts
/// and ends at once does not bring a storm, and what fails after a long healthy time is back soon.
///
/// ```
/// use agentwire_core::mcp::bridge::Backoff;
/// use agentwire_core::time::Instant;
/// use core::time::Duration;
///
/// let mut backoff = Backoff::default();
/// let mut now = Instant::ZERO;
/// let delay = backoff.failed(now, u32::MAX);
/// assert_eq!(delay, Duration::from_millis(250));
/// assert_eq!(backoff.failed(now, u32::MAX), Duration::from_millis(500));
/// // It comes up and lasts for a minute.
/// backoff.is_up(now);
/// now = now + Duration::from_secs(60);
/// assert_eq!(backoff.failed(now, u32::MAX), Duration::from_millis(250));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)] // A user builds it from the default.
pub struct Backoff {
    /// The longest that the first delay can be.
    pub first: Duration,
    /// The longest that any can be.
    pub limit: Duration,
    /// How long an attempt has to last so that the next delay is a first one.
    pub stable: Duration,
    /// Failures since then.
    pub failures: u32,
    /// Since when it is up.
    pub up_since: Option<Instant>,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(250),
            limit: Duration::from_secs(30),
            stable: Duration::from_secs(60),
            failures: 0,
            up_since: None,
        }
    }
}

impl Backoff {
    /// The attempt has succeeded.
    pub fn is_up(&mut self, now: Instant) {
        self.up_since = Some(now);
    }

    /// It has failed, or what was up has ended: how long to wait. `random` spreads the delay over the
    /// upper half of its range.
    pub fn failed(&mut self, now: Instant, random: u32) -> Duration {
        let up = self.up_since.take().map(|since| now.duration_since(since));
        if up.is_some_and(|up| up >= self.stable) {
            self.failures = 0;
        }
        let factor = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        let delay = self.first.saturating_mul(factor).min(self.limit);
        // 2³² parts of the upper half, and one, so that the longest is the whole.
        let half = delay.as_nanos().checked_div(2).unwrap_or_default();
        let spread = half.saturating_mul(u128::from(random).saturating_add(1)) >> 32;
        Duration::from_nanos(u64::try_from(half.saturating_add(spread)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_the_limit_and_stay_within_their_half() {
        for random in [0, 1 << 31, u32::MAX] {
            let mut backoff = Backoff::default();
            let mut longest = Duration::from_millis(250);
            for attempt in 0..200 {
                let now = Instant::from_millis(attempt * 5);
                backoff.is_up(now);
                let delay = backoff.failed(now + Duration::from_millis(5), random);
                assert!(delay >= longest / 2 && delay <= longest, "{attempt} {delay:?}");
                longest = (longest * 2).min(Duration::from_secs(30));
            }
            assert_eq!(longest, Duration::from_secs(30));
        }
    }

    #[test]
    fn it_begins_anew_only_after_a_stable_time() {
        for (lasted, delay) in [(59_999, 500), (60_000, 250)] {
            let mut backoff = Backoff::default();
            backoff.failed(Instant::ZERO, u32::MAX);
            backoff.is_up(Instant::ZERO);
            let ended = Instant::from_millis(lasted);
            assert_eq!(backoff.failed(ended, u32::MAX), Duration::from_millis(delay));
        }
    }
}
