//! The calls in flight, and the way of each message to its call.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::error::{BackendError, Ended};
use super::line::Line;
use super::message::{Incoming, Names, Notification, Request, Tie, cancelled, key_in_head};
use super::{Dropped, Options, Reply, deadline};

/// What a call's channel carries.
pub(super) type Item = Result<Reply, BackendError>;

/// What the tasks of one server share.
#[derive(Debug)]
pub(super) struct Routes {
    state: Mutex<State>,
    dropped: Counters,
    pub(super) options: Options,
}

#[derive(Debug)]
struct State {
    calls: HashMap<u64, Pending>,
    next: u64,
    /// Until then the server may still work on a call that was given up.
    quiet_until: Option<Instant>,
    outgoing: Option<mpsc::Sender<String>>,
    ended: Option<Ended>,
}

#[derive(Debug)]
struct Pending {
    names: Names,
    to: mpsc::Sender<Item>,
}

#[derive(Debug, Default)]
struct Counters {
    overlong: AtomicU64,
    not_utf8: AtomicU64,
    malformed: AtomicU64,
    unknown: AtomicU64,
    late: AtomicU64,
    unattributed: AtomicU64,
    full: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A call that was entered: its key, the line to send, where to send it, what comes back.
pub(super) struct Entered {
    pub(super) key: u64,
    pub(super) line: String,
    pub(super) outgoing: mpsc::Sender<String>,
    pub(super) from: mpsc::Receiver<Item>,
}

impl Routes {
    pub(super) fn new(options: Options, outgoing: mpsc::Sender<String>) -> Self {
        let state = State {
            calls: HashMap::new(),
            next: 1,
            quiet_until: None,
            outgoing: Some(outgoing),
            ended: None,
        };
        Routes { state: Mutex::new(state), dropped: Counters::default(), options }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a call under a new key.
    pub(super) fn enter(&self, request: &Request<'_>) -> Result<Entered, BackendError> {
        let mut state = self.state();
        if let Some(ended) = &state.ended {
            return Err(BackendError::Ended(ended.clone()));
        }
        let limit = self.options.max_in_flight;
        let Some(outgoing) = state.outgoing.clone().filter(|_| state.calls.len() < limit) else {
            return Err(BackendError::Busy { limit });
        };
        let key = state.next;
        state.next += 1;
        // One place more than notifications may take, so that the last item always has one.
        let (to, from) = mpsc::channel(self.options.queue.min(1 << 20) + 1);
        state.calls.insert(key, Pending { names: request.names(), to });
        Ok(Entered { key, line: request.line(key), outgoing, from })
    }

    /// Forgets a call nobody waits for. If its request may have reached the server, tells the
    /// server so.
    pub(super) fn give_up(&self, key: u64, sent: bool) {
        let mut state = self.state();
        if state.calls.remove(&key).is_none() || !sent {
            return;
        }
        let quiet = deadline(self.options.total_timeout);
        state.quiet_until = state.quiet_until.max(Some(quiet));
        if let Some(outgoing) = &state.outgoing {
            // A server that does not read has no use for it: a full queue drops it.
            let _ = outgoing.try_send(cancelled(key));
        }
    }

    /// Takes one line of the server.
    pub(super) fn take(&self, line: &Line<'_>) {
        match line {
            Line::Overlong(head) => self.overlong(head),
            Line::NotUtf8 => count(&self.dropped.not_utf8),
            Line::Text(text) => match Incoming::parse(text) {
                Incoming::Response(key, outcome) => {
                    self.finish(key, |names| {
                        let answer = outcome.restored(key, names);
                        answer.map(Reply::Response).ok_or_else(|| {
                            count(&self.dropped.malformed);
                            BackendError::InvalidAnswer
                        })
                    });
                }
                Incoming::Notification(notification) => self.notify(&notification),
                Incoming::Stray => count(&self.dropped.unknown),
                Incoming::Malformed(key) => {
                    count(&self.dropped.malformed);
                    // Better an error at once than silence until the deadline.
                    if let Some(key) = key {
                        self.fail(key, BackendError::InvalidAnswer);
                    }
                }
            },
        }
    }

    /// An answer that does not fit ends its call: the one its id names, or the only one there is.
    fn overlong(&self, head: &[u8]) {
        count(&self.dropped.overlong);
        let key = key_in_head(head).or_else(|| {
            let state = self.state();
            let only = state.calls.keys().next().copied();
            only.filter(|_| state.calls.len() == 1)
        });
        if let Some(key) = key {
            let limit = self.options.max_line;
            self.fail(key, BackendError::AnswerTooLarge { limit });
        }
    }

    /// Ends a call whose answer cannot be used, if it is still in flight.
    fn fail(&self, key: u64, error: BackendError) {
        let call = self.state().calls.remove(&key);
        if let Some(Pending { to, .. }) = call {
            // Fails only when the caller has just gone.
            let _ = to.try_send(Err(error));
        }
    }

    fn finish(&self, key: u64, item: impl FnOnce(&Names) -> Item) {
        let mut state = self.state();
        match state.calls.remove(&key) {
            Some(Pending { names, to }) => {
                drop(state);
                // Fails only when the caller has just gone.
                let _ = to.try_send(item(&names));
            }
            None => self.miss(key, &state),
        }
    }

    fn miss(&self, key: u64, state: &State) {
        let counter = if key < state.next { &self.dropped.late } else { &self.dropped.unknown };
        count(counter);
    }

    fn notify(&self, notification: &Notification<'_>) {
        let tie = notification.tie();
        let state = self.state();
        let call = match tie {
            Tie::Progress(key) | Tie::Subscription(key) => match state.calls.get(&key) {
                Some(call) => call,
                None => return self.miss(key, &state),
            },
            // It belongs to the one call in flight, if there is only one: also in the server's
            // eyes, which may not have noticed that another was given up.
            Tie::Stream => {
                let quiet = state.quiet_until.is_some_and(|until| Instant::now() < until);
                match state.calls.values().next() {
                    Some(call) if state.calls.len() == 1 && !quiet => call,
                    _ => return count(&self.dropped.unattributed),
                }
            }
            Tie::None => return count(&self.dropped.unattributed),
        };
        match notification.restored(&tie, &call.names) {
            None => count(&self.dropped.unknown),
            Some(text) if text.len() > self.options.max_notification => {
                count(&self.dropped.overlong);
            }
            Some(_) if call.to.capacity() <= 1 => count(&self.dropped.full),
            Some(text) => {
                let _ = call.to.try_send(Ok(Reply::Notification(text)));
            }
        }
    }

    /// Ends every call and takes no more.
    pub(super) fn end(&self, ended: &Ended) {
        let mut state = self.state();
        state.ended = Some(ended.clone());
        state.outgoing = None;
        for (_, call) in state.calls.drain() {
            let _ = call.to.try_send(Err(BackendError::Ended(ended.clone())));
        }
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        self.state().ended.clone()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.state().calls.len()
    }

    pub(super) fn dropped(&self) -> Dropped {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Dropped {
            overlong: get(&self.dropped.overlong),
            not_utf8: get(&self.dropped.not_utf8),
            malformed: get(&self.dropped.malformed),
            unknown: get(&self.dropped.unknown),
            late: get(&self.dropped.late),
            unattributed: get(&self.dropped.unattributed),
            full: get(&self.dropped.full),
        }
    }
}
