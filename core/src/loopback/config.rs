//! The limits of the stand-in.

use super::service::ASSUMED_REPLY_QUEUE_LEN;
use crate::chat::size::MAX_ENCODED_MSG_LEN;

/// Limits and switches of a [`Loopback`](super::Loopback).
///
/// ```
/// use agentwire_core::loopback::{Config, Loopback};
/// let config = Config::new().event_queue(8).truncate_quotes(100);
/// let net = Loopback::with_config(1, config);
/// # let _ = net;
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Config {
    /// The wall-clock time at [`Instant::ZERO`](crate::time::Instant::ZERO), in seconds since
    /// 1970; the default is the beginning of 2026.
    pub wall_clock_start: u64,
    /// How many events wait for a profile before deliveries to it are held back; at least one.
    pub event_queue: usize,
    /// How many items each profile keeps; at least one. The oldest are removed.
    pub max_items: usize,
    /// How many parcels may be on their way in all before nothing more is sent.
    pub max_in_flight: usize,
    /// The longest encoded message that is sent, in bytes.
    pub max_encoded_len: usize,
    /// How many characters of a quoted text are sent; none means all of them. Cores of today send
    /// all; truncated quotes are planned (*Agent protocols over SimpleX*, "Replies" and
    /// "Implementations").
    pub truncate_quotes: Option<usize>,
    /// Whether senders are told how far their messages have come.
    pub status_events: bool,
    /// The bytes that the reply queue takes in a Service RPC request.
    pub reply_queue_len: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Config {
    /// What a core of today does, with generous limits.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            wall_clock_start: 1_767_225_600,
            event_queue: 1_024,
            max_items: 10_000,
            max_in_flight: 100_000,
            max_encoded_len: MAX_ENCODED_MSG_LEN,
            truncate_quotes: None,
            status_events: true,
            reply_queue_len: ASSUMED_REPLY_QUEUE_LEN,
        }
    }

    /// Sets the wall-clock time at the epoch, in seconds since 1970.
    #[must_use]
    pub const fn wall_clock_start(mut self, seconds: u64) -> Self {
        self.wall_clock_start = seconds;
        self
    }

    /// Sets how many events wait for a profile before deliveries to it are held back.
    #[must_use]
    pub const fn event_queue(mut self, events: usize) -> Self {
        self.event_queue = events;
        self
    }

    /// Sets how many items each profile keeps.
    #[must_use]
    pub const fn max_items(mut self, items: usize) -> Self {
        self.max_items = items;
        self
    }

    /// Sets how many parcels may be on their way in all.
    #[must_use]
    pub const fn max_in_flight(mut self, parcels: usize) -> Self {
        self.max_in_flight = parcels;
        self
    }

    /// Sets the longest encoded message that is sent, in bytes: less than a core's own limit where
    /// messages are signed or relayed.
    #[must_use]
    pub const fn max_encoded_len(mut self, bytes: usize) -> Self {
        self.max_encoded_len = bytes;
        self
    }

    /// Sends only the first characters of a quoted text, as planned.
    #[must_use]
    pub const fn truncate_quotes(mut self, chars: usize) -> Self {
        self.truncate_quotes = Some(chars);
        self
    }

    /// Sets the bytes that the reply queue takes in a Service RPC request.
    #[must_use]
    pub const fn reply_queue_len(mut self, bytes: usize) -> Self {
        self.reply_queue_len = bytes;
        self
    }

    /// Sets whether senders are told how far their messages have come.
    #[must_use]
    pub const fn status_events(mut self, told: bool) -> Self {
        self.status_events = told;
        self
    }
}
