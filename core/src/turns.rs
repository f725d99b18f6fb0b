//! Whose request is handled next (feature `alloc`).
//!
//! A bot is asked by many and can do a few things at once. [`Turns`] holds what waits: callers take
//! their turns one after the other, however many requests each of them has sent, and nobody has
//! more handled at once than a bot allows for one. What is too much is given back at once, so that
//! it can be refused while its caller still waits.
//!
//! ```text
//!   push ──▶ │ ann: ▪ ▪ ▪ ▪ │
//!            │ bob: ▪       │ ──▶ next: ann, bob, eve, ann, …   ──▶ handled ──▶ done
//!            │ eve: ▪ ▪     │
//! ```

use alloc::collections::{BTreeMap, VecDeque};
use core::fmt;

/// The limits of [`Turns`].
///
/// ```
/// use agentwire_core::turns::TurnLimits;
/// let limits = TurnLimits::default().running(8).running_per_caller(2);
/// assert_eq!((limits.waiting, limits.waiting_per_caller), (1_024, 64));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TurnLimits {
    /// How many requests are handled at once; 256 by default, at least one.
    pub running: usize,
    /// How many of one caller; 16 by default, at least one.
    pub running_per_caller: usize,
    /// How many wait; 1,024 by default.
    pub waiting: usize,
    /// How many of one caller; 64 by default.
    pub waiting_per_caller: usize,
}

const fn smaller(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

const fn larger(one: usize, other: usize) -> usize {
    if one > other { one } else { other }
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { running: 256, running_per_caller: 16, waiting: 1_024, waiting_per_caller: 64 }
    }
}

impl TurnLimits {
    /// How many requests there are places for, if all of them are of one caller.
    #[must_use]
    pub const fn places_per_caller(&self) -> usize {
        let running = smaller(larger(self.running, 1), larger(self.running_per_caller, 1));
        running.saturating_add(smaller(self.waiting, self.waiting_per_caller))
    }

    /// With this many requests handled at once.
    #[must_use]
    pub const fn running(mut self, requests: usize) -> Self {
        self.running = requests;
        self
    }

    /// With this many of one caller handled at once.
    #[must_use]
    pub const fn running_per_caller(mut self, requests: usize) -> Self {
        self.running_per_caller = requests;
        self
    }

    /// With this many waiting.
    #[must_use]
    pub const fn waiting(mut self, requests: usize) -> Self {
        self.waiting = requests;
        self
    }

    /// With this many of one caller waiting.
    #[must_use]
    pub const fn waiting_per_caller(mut self, requests: usize) -> Self {
        self.waiting_per_caller = requests;
        self
    }
}

/// A request that cannot even wait, given back.
///
/// ```
/// use agentwire_core::turns::{TurnLimits, Turns};
/// let mut turns = Turns::new(TurnLimits::default().running_per_caller(1).waiting_per_caller(0));
/// assert!(turns.push("ann", 1).is_ok());
/// let full = turns.push("ann", 2).unwrap_err();
/// assert_eq!((full.item, full.capacity), (2, 1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // Whoever gets it takes it apart.
pub struct Full<T> {
    /// The request.
    pub item: T,
    /// How many this caller, or all of them, may have open.
    pub capacity: usize,
}

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Full").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests are open, no more can be", self.capacity)
    }
}

impl<T> core::error::Error for Full<T> {}

struct Caller<T> {
    running: usize,
    waiting: VecDeque<T>,
}

/// Requests of many callers, of which a few are handled at once.
///
/// - *Inputs*: [`push`](Self::push), [`done`](Self::done), [`withdraw`](Self::withdraw).
/// - *Outputs*: [`next`](Self::next): take it until there is none after each input.
/// - *Getters*: [`running`](Self::running), [`waiting`](Self::waiting).
///
/// ```
/// use agentwire_core::turns::{TurnLimits, Turns};
/// let mut turns = Turns::new(TurnLimits::default().running(2));
/// for request in 1..=3 {
///     turns.push("ann", request).unwrap();
/// }
/// turns.push("bob", 9).unwrap();
/// assert_eq!(turns.next(), Some(("ann", 1)));
/// assert_eq!(turns.next(), Some(("bob", 9)));
/// assert_eq!(turns.next(), None);
/// turns.done(&"bob");
/// assert_eq!(turns.next(), Some(("ann", 2)));
/// ```
pub struct Turns<K, T> {
    limits: TurnLimits,
    callers: BTreeMap<K, Caller<T>>,
    /// Those who have something waiting and may have it handled, each once.
    ready: VecDeque<K>,
    running: usize,
    waiting: usize,
}

impl<K: Ord + Clone, T> Turns<K, T> {
    /// Nothing waits.
    #[must_use]
    pub const fn new(limits: TurnLimits) -> Self {
        Self { limits, callers: BTreeMap::new(), ready: VecDeque::new(), running: 0, waiting: 0 }
    }

    /// A request of a caller.
    ///
    /// # Errors
    /// [`Full`] when too many of this caller, or of all, are open.
    pub fn push(&mut self, caller: K, item: T) -> Result<(), Full<T>> {
        let limits = self.limits;
        let (running, per_caller) = (limits.running.max(1), limits.running_per_caller.max(1));
        let open = self.running.saturating_add(self.waiting);
        let capacity = running.saturating_add(limits.waiting);
        if open >= capacity {
            return Err(Full { item, capacity });
        }
        let known = self.callers.get(&caller);
        let open = known.map_or(0, |known| known.running.saturating_add(known.waiting.len()));
        let capacity = per_caller.saturating_add(limits.waiting_per_caller);
        if open >= capacity {
            return Err(Full { item, capacity });
        }
        let new = || Caller { running: 0, waiting: VecDeque::new() };
        let entry = self.callers.entry(caller.clone()).or_insert_with(new);
        let was_waiting = !entry.waiting.is_empty();
        entry.waiting.push_back(item);
        self.waiting = self.waiting.saturating_add(1);
        if !was_waiting && entry.running < per_caller {
            self.ready.push_back(caller);
        }
        Ok(())
    }

    /// The next request to handle, and whose it is; it counts as handled until it is
    /// [`done`](Self::done).
    #[expect(clippy::should_implement_trait, reason = "it goes on after `None`")]
    pub fn next(&mut self) -> Option<(K, T)> {
        if self.running >= self.limits.running.max(1) {
            return None;
        }
        loop {
            let caller = self.ready.pop_front()?;
            let Some(known) = self.callers.get_mut(&caller) else { continue };
            let Some(item) = known.waiting.pop_front() else { continue };
            known.running = known.running.saturating_add(1);
            self.running = self.running.saturating_add(1);
            self.waiting = self.waiting.saturating_sub(1);
            if !known.waiting.is_empty() && known.running < self.limits.running_per_caller.max(1) {
                self.ready.push_back(caller.clone());
            }
            return Some((caller, item));
        }
    }

    /// A request that [`next`](Self::next) gave is handled.
    pub fn done(&mut self, caller: &K) {
        let Some(known) = self.callers.get_mut(caller).filter(|known| known.running > 0) else {
            return;
        };
        // Whoever stands in the row already does not stand in it twice.
        let was_held = known.running >= self.limits.running_per_caller.max(1);
        known.running = known.running.saturating_sub(1);
        self.running = self.running.saturating_sub(1);
        if known.waiting.is_empty() {
            self.forget(caller);
        } else if was_held {
            self.ready.push_back(caller.clone());
        }
    }

    /// Takes a waiting request of a caller out: the first that `is_it`.
    pub fn withdraw(&mut self, caller: &K, is_it: impl FnMut(&T) -> bool) -> Option<T> {
        let known = self.callers.get_mut(caller)?;
        let place = known.waiting.iter().position(is_it)?;
        let item = known.waiting.remove(place)?;
        self.waiting = self.waiting.saturating_sub(1);
        if known.waiting.is_empty() {
            self.ready.retain(|ready| ready != caller);
            self.forget(caller);
        }
        Some(item)
    }

    /// How many requests are handled.
    pub const fn running(&self) -> usize {
        self.running
    }

    /// How many wait.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Drops a caller of whom nothing is open.
    fn forget(&mut self, caller: &K) {
        let is_idle = |known: &Caller<T>| known.running == 0 && known.waiting.is_empty();
        if self.callers.get(caller).is_some_and(is_idle) {
            self.callers.remove(caller);
        }
    }
}

impl<K, T> fmt::Debug for Turns<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns")
            .field("callers", &self.callers.len())
            .field("running", &self.running)
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn drain<K: Ord + Clone, T>(turns: &mut Turns<K, T>) -> Vec<(K, T)> {
        core::iter::from_fn(|| turns.next()).collect()
    }

    #[test]
    fn callers_take_turns_whoever_asks_most() {
        let mut turns = Turns::new(TurnLimits::default().running(1));
        for request in 0..50 {
            turns.push('a', request).unwrap();
        }
        turns.push('b', 100).unwrap();
        turns.push('c', 200).unwrap();
        let mut seen = Vec::new();
        while let Some((caller, request)) = turns.next() {
            seen.push(request);
            turns.done(&caller);
        }
        assert_eq!(seen[..5], [0, 100, 200, 1, 2]);
        assert_eq!(seen.len(), 52);
        assert!(turns.callers.is_empty() && turns.ready.is_empty());
    }

    #[test]
    fn a_caller_has_so_many_handled_and_no_more() {
        for limit in [1, 2, 16] {
            let limits = TurnLimits::default().running_per_caller(limit);
            let mut turns = Turns::new(limits);
            for request in 0..limit + 1 {
                turns.push('a', request).unwrap();
            }
            turns.push('b', 0).unwrap();
            let begun = drain(&mut turns);
            assert_eq!(begun.iter().filter(|(caller, _)| *caller == 'a').count(), limit);
            assert_eq!(begun.len(), limit + 1, "the other one is not held up");
            turns.done(&'a');
            assert_eq!(drain(&mut turns), [('a', limit)]);
        }
    }

    #[test]
    fn what_cannot_wait_is_given_back() {
        let limits = TurnLimits::default().running_per_caller(2).waiting_per_caller(3);
        let mut turns = Turns::new(limits);
        for request in 0..5 {
            turns.push('a', request).unwrap();
            drain(&mut turns);
        }
        let full = turns.push('a', 5).unwrap_err();
        assert_eq!((full.item, full.capacity), (5, 5));
        assert_eq!((turns.running(), turns.waiting()), (2, 3));
        turns.done(&'a');
        turns.push('a', 5).unwrap();

        let mut turns = Turns::new(TurnLimits::default().running(2).waiting(3));
        for caller in 0..5 {
            turns.push(caller, caller).unwrap();
            drain(&mut turns);
        }
        let full = turns.push(9, 9).unwrap_err();
        assert_eq!((full.item, full.capacity), (9, 5));
        turns.done(&0);
        turns.push(9, 9).unwrap();
    }

    #[test]
    fn limits_of_nothing_still_let_one_through() {
        let limits =
            TurnLimits { running: 0, running_per_caller: 0, waiting: 0, waiting_per_caller: 0 };
        let mut turns = Turns::new(limits);
        turns.push('a', 1).unwrap();
        assert!(turns.push('a', 2).is_err());
        assert!(turns.push('b', 2).is_err());
        assert_eq!(drain(&mut turns), [('a', 1)]);
        turns.done(&'a');
        turns.push('b', 2).unwrap();
        assert_eq!(drain(&mut turns), [('b', 2)]);
    }

    #[test]
    fn what_is_withdrawn_has_no_turn() {
        let mut turns = Turns::new(TurnLimits::default().running(1));
        for request in 0..3 {
            turns.push('a', request).unwrap();
        }
        turns.push('b', 9).unwrap();
        assert_eq!(turns.next(), Some(('a', 0)));
        assert_eq!(turns.withdraw(&'a', |request| *request == 1), Some(1));
        assert_eq!(turns.withdraw(&'a', |request| *request == 1), None);
        assert_eq!(turns.withdraw(&'b', |_| true), Some(9));
        turns.done(&'a');
        assert_eq!(drain(&mut turns), [('a', 2)]);
        turns.done(&'a');
        // One that counts for nothing any more changes nothing.
        turns.done(&'a');
        assert_eq!((turns.running(), turns.waiting()), (0, 0));
        assert!(turns.callers.is_empty() && turns.ready.is_empty());
    }

    #[test]
    fn any_order_of_events_keeps_the_books() {
        // A small generator, so that a failure repeats.
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let limits =
            TurnLimits { running: 4, running_per_caller: 2, waiting: 6, waiting_per_caller: 3 };
        let mut turns = Turns::new(limits);
        let (mut running, mut pushed, mut ended) = (Vec::new(), 0_u32, 0_u32);
        for step in 0..20_000_u32 {
            let caller = random(5);
            match random(4) {
                0 | 1 => pushed += u32::from(turns.push(caller, step).is_ok()),
                2 => ended += u32::from(turns.withdraw(&caller, |_| true).is_some()),
                _ if running.is_empty() => {}
                _ => {
                    let caller = running.swap_remove(random(running.len() as u64) as usize);
                    turns.done(&caller);
                    ended += 1;
                }
            }
            running.extend(drain(&mut turns).into_iter().map(|(caller, _)| caller));
            assert_eq!(turns.running(), running.len());
            assert_eq!((turns.running() + turns.waiting()) as u32, pushed - ended);
            assert!(turns.running() <= 4 && turns.waiting() <= 6);
            let of = |caller| running.iter().filter(|running| **running == caller).count();
            assert!((0..5).all(|caller| of(caller) <= 2));
            // Nobody waits without a reason.
            let held = |(caller, known): (&u64, &Caller<u32>)| {
                known.waiting.is_empty() || of(*caller) == 2 || turns.running() == 4
            };
            assert!(turns.callers.iter().all(held));
        }
    }
}
