//! How often somebody may do something: a window of time with a count.

use core::time::Duration;

use crate::time::Instant;

/// How many requests are taken in a span of time.
///
/// ```
/// use agentwire_core::rpc::RateLimit;
/// use core::time::Duration;
/// let limit = RateLimit::new(10, Duration::from_secs(60));
/// assert_eq!(limit.requests, 10);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RateLimit {
    /// How many.
    pub requests: u32,
    /// In how long, from the first one on.
    pub per: Duration,
}

impl RateLimit {
    /// So many in so long.
    pub const fn new(requests: u32, per: Duration) -> Self {
        Self { requests, per }
    }
}

/// The requests of one span of time.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    until: Instant,
    count: u32,
}

impl Window {
    pub(crate) const fn new() -> Self {
        Self { until: Instant::ZERO, count: 0 }
    }

    /// When the span is over.
    pub(crate) const fn until(&self) -> Instant {
        self.until
    }

    /// Counts a request; the seconds until the next span if it is one too many.
    pub(crate) fn take(&mut self, now: Instant, limit: RateLimit) -> Result<(), u32> {
        if now >= self.until {
            *self = Self { until: now.saturating_add(limit.per), count: 0 };
        }
        if self.count >= limit.requests {
            return Err(seconds_until(self.until, now));
        }
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Counts a request no longer.
    pub(crate) fn give_back(&mut self) {
        self.count = self.count.saturating_sub(1);
    }
}

/// Whole seconds, rounded up, at least one.
pub(crate) fn seconds_until(then: Instant, now: Instant) -> u32 {
    let seconds = then.duration_since(now).as_millis().div_ceil(1_000).max(1);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}
