//! One connection to the core: whether it is there, what waits to be sent on it, and what waits to
//! be answered.

use alloc::collections::VecDeque;

use super::jobs::Job;
use crate::chat::ItemId;
use crate::simplex::Backoff;
use crate::time::Instant;

/// How many frames of one connection in a row may be unreadable before it is given up.
pub(super) const MAX_GARBAGE: u32 = 16;

/// Whether a connection is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nobody wants it yet.
    Off,
    /// It is tried at this time.
    Waiting(Instant),
    /// It is being tried, until this time.
    Connecting(Instant),
    /// It is there.
    Up,
}

/// A command that the core has not answered.
pub(super) struct InFlight {
    pub(super) corr_id: u64,
    pub(super) job: Job,
    /// The highest item that was known when it was sent.
    pub(super) high: Option<ItemId>,
}

pub(super) struct Connection {
    pub(super) state: State,
    pub(super) backoff: Backoff,
    /// What goes before everything else: the start, and what a reconnect asks for.
    pub(super) urgent: VecDeque<Job>,
    pub(super) queue: VecDeque<Job>,
    pub(super) in_flight: VecDeque<InFlight>,
    /// Since when the first command in flight is the core's to work on.
    pub(super) working_since: Instant,
    /// How many frames in a row could not be read.
    pub(super) garbage: u32,
}

impl Connection {
    pub(super) const fn new(state: State, backoff: Backoff) -> Self {
        Self {
            state,
            backoff,
            urgent: VecDeque::new(),
            queue: VecDeque::new(),
            in_flight: VecDeque::new(),
            working_since: Instant::ZERO,
            garbage: 0,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.state == State::Up
    }

    /// A command was sent.
    pub(super) fn sent(&mut self, now: Instant, in_flight: InFlight) {
        if self.in_flight.is_empty() {
            self.working_since = now;
        }
        self.in_flight.push_back(in_flight);
    }

    /// The command with this number, which has been answered. The core answers in order, but
    /// nothing depends on it.
    pub(super) fn answered(&mut self, now: Instant, corr_id: u64) -> Option<InFlight> {
        let place = self.in_flight.iter().position(|sent| sent.corr_id == corr_id)?;
        self.working_since = now;
        self.in_flight.remove(place)
    }

    /// Takes out what waits to be sent and meets a condition.
    pub(super) fn take_queued(&mut self, mut which: impl FnMut(&Job) -> bool) -> Option<Job> {
        let place = self.queue.iter().position(&mut which)?;
        self.queue.remove(place)
    }
}
