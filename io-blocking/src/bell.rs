//! What threads wait on: [`Bell`].

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time;

use agentwire_core::time::Instant;

use crate::network::Profile;

/// Tells threads that something has changed.
pub(crate) enum Bell {
    /// The network's: other agents of the process change it too.
    Network(Profile),
    #[cfg(unix)]
    Core(CoreBell),
}

impl Bell {
    pub(crate) fn now(&self) -> Instant {
        match self {
            Self::Network(profile) => profile.network().now(),
            #[cfg(unix)]
            Self::Core(bell) => bell.now(),
        }
    }

    /// How many changes there have been. For the network it is asked with each step.
    pub(crate) fn seen(&self) -> u64 {
        match self {
            Self::Network(_) => 0,
            #[cfg(unix)]
            Self::Core(bell) => *bell.lock(),
        }
    }

    /// Something has changed.
    pub(crate) fn ring(&self) {
        match self {
            Self::Network(profile) => profile.network().wake(),
            #[cfg(unix)]
            Self::Core(bell) => bell.ring(),
        }
    }

    /// There is something to do for the thread that waits for the sockets.
    pub(crate) fn wake(&self) {
        match self {
            Self::Network(_) => {}
            #[cfg(unix)]
            Self::Core(bell) => bell.wake(),
        }
    }

    /// Waits for a change after the one that was `seen` last, or until a time.
    pub(crate) fn wait(&self, seen: u64, until: Option<Instant>) {
        match self {
            Self::Network(profile) => profile.network().wait(seen, until),
            #[cfg(unix)]
            Self::Core(bell) => bell.wait(seen, until),
        }
    }
}

/// The bell of an agent at a core, and the thread that waits for its sockets.
#[cfg(unix)]
pub(crate) struct CoreBell {
    changes: Mutex<u64>,
    changed: Condvar,
    epoch: time::Instant,
    waker: std::os::unix::net::UnixStream,
}

#[cfg(unix)]
impl CoreBell {
    /// `waker` is the other end of what the thread looks at, and does not block.
    pub(crate) fn new(epoch: time::Instant, waker: std::os::unix::net::UnixStream) -> Self {
        Self { changes: Mutex::new(0), changed: Condvar::new(), epoch, waker }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Instant {
        let millis = self.epoch.elapsed().as_millis();
        Instant::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    fn ring(&self) {
        let mut changes = self.lock();
        *changes = changes.wrapping_add(1);
        self.changed.notify_all();
    }

    fn wake(&self) {
        use std::io::Write;
        // When it is full, the thread has enough to see.
        let _ = (&self.waker).write(&[1]);
    }

    fn wait(&self, seen: u64, until: Option<Instant>) {
        let mut changes = self.lock();
        while *changes == seen {
            changes = match until.map(|until| until.duration_since(self.now())) {
                None => self.changed.wait(changes).unwrap_or_else(PoisonError::into_inner),
                Some(span) if span.is_zero() => return,
                Some(span) => {
                    let waited = self.changed.wait_timeout(changes, span);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
