//! The requests that wait for a worker.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A bounded queue: putting something in never waits, taking it out does.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    capacity: usize,
}

struct State<T> {
    waiting: VecDeque<T>,
    is_closed: bool,
}

impl<T> Queue<T> {
    pub(crate) const fn new(capacity: usize) -> Self {
        let state = State { waiting: VecDeque::new(), is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), capacity }
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Puts something in, or gives it back when the queue is full or closed.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.is_closed || state.waiting.len() >= self.capacity {
            return Err(item);
        }
        state.waiting.push_back(item);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for something. `None` once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(item) = state.waiting.pop_front() {
                return Some(item);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes nothing more; what is in it can still be taken out.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
