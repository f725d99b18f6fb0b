//! Keeping the call journal: a store waits for the disk, so it does that in a thread of its own.

use core::fmt;
use core::time::Duration;

use agentwire_core::simplex::journal::{Change, JournalStore};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::sleep;

/// How long after a failure it is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// A store, whatever its errors are.
pub(crate) trait Keep: Send + 'static {
    fn save(&mut self, changes: &[Change]) -> Result<(), String>;
}

impl<S: JournalStore + Send + 'static> Keep for S {
    fn save(&mut self, changes: &[Change]) -> Result<(), String> {
        JournalStore::save(self, changes).map_err(|error| error.to_string())
    }
}

type Outcome = (Box<dyn Keep>, Vec<Change>, Result<(), String>);

enum State {
    Idle(Box<dyn Keep>),
    Saving(JoinHandle<Outcome>),
    /// The store has panicked: nothing can be kept any more, so nothing more is done.
    Broken,
}

/// Saves changes one after the other, and again until they are kept: what cannot be kept has not
/// happened.
pub(super) struct Keeper(State);

impl Keeper {
    pub(super) const fn new(store: Box<dyn Keep>) -> Self {
        Self(State::Idle(store))
    }

    pub(super) const fn is_busy(&self) -> bool {
        !matches!(self.0, State::Idle(_))
    }

    pub(super) fn save(&mut self, changes: Vec<Change>) {
        match core::mem::replace(&mut self.0, State::Broken) {
            State::Idle(store) => self.0 = State::Saving(begin(store, changes)),
            // Nothing is handed out meanwhile.
            busy => self.0 = busy,
        }
    }

    /// Waits until what is being saved is kept. Dropping the future loses nothing.
    pub(super) async fn saved(&mut self) {
        loop {
            let State::Saving(saving) = &mut self.0 else {
                if matches!(self.0, State::Broken) {
                    core::future::pending::<()>().await;
                }
                return;
            };
            match saving.await {
                Ok((store, _, Ok(()))) => {
                    self.0 = State::Idle(store);
                    return;
                }
                Ok((store, changes, Err(error))) => {
                    tracing::error!(error, "the call journal cannot be kept; nothing is done");
                    self.0 = State::Saving(again(store, changes));
                }
                Err(error) => {
                    tracing::error!(%error, "the store of the call journal has failed");
                    self.0 = State::Broken;
                }
            }
        }
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("is_busy", &self.is_busy()).finish()
    }
}

fn begin(mut store: Box<dyn Keep>, changes: Vec<Change>) -> JoinHandle<Outcome> {
    spawn_blocking(move || {
        let result = store.save(&changes);
        (store, changes, result)
    })
}

fn again(store: Box<dyn Keep>, changes: Vec<Change>) -> JoinHandle<Outcome> {
    tokio::spawn(async move {
        sleep(RETRY).await;
        match begin(store, changes).await {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends.
                Err(_) => core::future::pending().await,
            },
        }
    })
}
