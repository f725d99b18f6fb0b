//! The requests that wait for a worker.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use agentwire_core::turns::{TurnLimits, Turns};

/// A bounded queue: putting something in never waits, taking it out does. Callers take turns.
pub(crate) struct Queue<K, T> {
    state: Mutex<State<K, T>>,
    changed: Condvar,
}

struct State<K, T> {
    turns: Turns<K, T>,
    is_closed: bool,
}

/// What there was no place for, given back.
pub(crate) struct NoPlace<T> {
    pub(crate) item: T,
    /// `None` when nothing is taken any more.
    pub(crate) capacity: Option<usize>,
}

impl<K: Ord + Clone, T> Queue<K, T> {
    pub(crate) const fn new(limits: TurnLimits) -> Self {
        let state = State { turns: Turns::new(limits), is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Puts something in, or gives it back when the queue is full or closed.
    pub(crate) fn push(&self, caller: K, item: T) -> Result<(), NoPlace<T>> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(NoPlace { item, capacity: None });
        }
        let pushed = state.turns.push(caller, item);
        pushed.map_err(|full| NoPlace { item: full.item, capacity: Some(full.capacity) })?;
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for something. `None` once the queue is closed and empty. Whoever has taken it says
    /// when it is [`done`](Self::done).
    pub(crate) fn pop(&self) -> Option<(K, T)> {
        let mut state = self.lock();
        loop {
            if let Some(next) = state.turns.next() {
                return Some(next);
            }
            if state.is_closed && state.turns.waiting() == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn done(&self, caller: &K) {
        self.lock().turns.done(caller);
        // One that was held up by its caller's others may go on, and the last one may end.
        self.changed.notify_all();
    }

    /// Takes nothing more; what is in it can still be taken out.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<K, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
