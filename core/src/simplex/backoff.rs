//! How long to wait before a connection is tried again.

use core::time::Duration;

use crate::time::Instant;

/// The limits of a [`Backoff`].
///
/// ```
/// use agentwire_core::simplex::BackoffConfig;
/// use core::time::Duration;
/// assert_eq!(BackoffConfig::default().cap, Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BackoffConfig {
    /// The first wait; 250 milliseconds by default. Each further one is twice as long.
    pub first: Duration,
    /// The longest wait; 30 seconds by default.
    pub cap: Duration,
    /// How long a connection has to last for the next wait to be the first one again; 60 seconds
    /// by default. A core that accepts connections and drops them is not asked ever faster.
    pub stable: Duration,
}

impl Default for BackoffConfig {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(250),
            cap: Duration::from_secs(30),
            stable: Duration::from_secs(60),
        }
    }
}

/// Waits that double up to a cap, each shortened by chance by at most a half, so that many bots
/// that lost the same core do not come back at once. The chance is drawn from a seed: the same
/// seed gives the same waits.
///
/// ```
/// use agentwire_core::simplex::{Backoff, BackoffConfig};
/// use agentwire_core::time::Instant;
/// use core::time::Duration;
///
/// let mut backoff = Backoff::new(BackoffConfig::default(), 7);
/// let first = backoff.next_wait();
/// assert!(first > Duration::from_millis(124) && first <= Duration::from_millis(250));
/// let second = backoff.next_wait();
/// assert!(second > Duration::from_millis(249) && second <= Duration::from_millis(500));
///
/// // A connection that lasts a minute makes the next wait a short one.
/// backoff.connected(Instant::from_millis(0));
/// backoff.disconnected(Instant::from_millis(60_000));
/// assert!(backoff.next_wait() <= Duration::from_millis(250));
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    config: BackoffConfig,
    attempt: u32,
    since: Option<Instant>,
    random: u64,
}

impl Backoff {
    /// No wait has been given yet.
    #[must_use]
    pub const fn new(config: BackoffConfig, seed: u64) -> Self {
        Self { config, attempt: 0, since: None, random: seed }
    }

    /// How many waits were given since a connection was stable.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// There is a connection.
    pub fn connected(&mut self, now: Instant) {
        self.since = Some(now);
    }

    /// There is none any more, or none came about.
    pub fn disconnected(&mut self, now: Instant) {
        let lasted = self.since.take().map(|since| now.duration_since(since));
        if lasted.is_some_and(|lasted| lasted >= self.config.stable) {
            self.attempt = 0;
        }
    }

    /// The next wait.
    pub fn next_wait(&mut self) -> Duration {
        let doubled = 1_u32.checked_shl(self.attempt.min(31)).unwrap_or(u32::MAX);
        self.attempt = self.attempt.saturating_add(1);
        let longest = self.config.first.saturating_mul(doubled).min(self.config.cap);
        let millis = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        let half = millis / 2;
        let shortened = self.draw().checked_rem(half.saturating_add(1)).unwrap_or(0);
        Duration::from_millis(millis.saturating_sub(shortened))
    }

    /// The next number of the generator splitmix64.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(wait: Duration) -> u128 {
        wait.as_millis()
    }

    #[test]
    fn waits_double_up_to_the_cap_and_are_never_shorter_than_half() {
        let config = BackoffConfig::default();
        for seed in 0..50 {
            let mut backoff = Backoff::new(config, seed);
            let mut longest = config.first.as_millis();
            for _ in 0..100 {
                let wait = millis(backoff.next_wait());
                assert!(wait <= longest && wait >= longest / 2, "{wait} of {longest}");
                longest = (longest * 2).min(config.cap.as_millis());
            }
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let waits = |seed| {
            let mut backoff = Backoff::new(BackoffConfig::default(), seed);
            core::array::from_fn::<_, 8, _>(|_| backoff.next_wait())
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
    }

    #[test]
    fn only_a_stable_connection_resets_the_waits() {
        let mut backoff = Backoff::new(BackoffConfig::default(), 3);
        let mut now = Instant::ZERO;
        // The core accepts and drops, a hundred times.
        for _ in 0..100 {
            backoff.connected(now);
            now = now + Duration::from_millis(5);
            backoff.disconnected(now);
            now = now + backoff.next_wait();
        }
        assert!(millis(backoff.next_wait()) >= 15_000);
        for (lasted, is_short) in [(59_999, false), (60_000, true)] {
            let mut backoff = backoff.clone();
            backoff.connected(now);
            backoff.disconnected(now + Duration::from_millis(lasted));
            assert_eq!(millis(backoff.next_wait()) <= 250, is_short);
        }
    }

    #[test]
    fn no_limit_makes_it_overflow() {
        let config =
            BackoffConfig { first: Duration::MAX, cap: Duration::MAX, stable: Duration::ZERO };
        let mut backoff = Backoff::new(config, u64::MAX);
        for _ in 0..100 {
            assert!(backoff.next_wait() > Duration::from_secs(1));
        }
        let config = BackoffConfig { first: Duration::ZERO, cap: Duration::ZERO, ..config };
        assert_eq!(Backoff::new(config, 0).next_wait(), Duration::ZERO);
    }
}
