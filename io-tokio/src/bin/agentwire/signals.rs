//! The runtime, and its end by a signal: the first asks for a clean end, which has five seconds;
//! the second ends at once. Children live in process groups of their own, so a Ctrl-C on the
//! terminal reaches them only through us; dropping the runtime ends what is left of them.

use core::future::Future;
use core::pin::pin;
use core::time::Duration;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::exit::{ExitCode, Failure};

/// How long a clean end may take.
const DRAIN: Duration = Duration::from_secs(5);

/// How long threads that wait for the system are waited for after the end.
const LEAVE: Duration = Duration::from_millis(100);

/// Tells the work that it is to end.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

/// Asks for the end of a part of the work.
#[derive(Debug)]
pub(crate) struct Asker(watch::Sender<bool>);

impl Asker {
    /// Asks. What has ended already is not asked.
    pub(crate) fn ask(&self) {
        let _ = self.0.send(true);
    }
}

impl Shutdown {
    /// An end of its own, for a part of the work.
    pub(crate) fn new() -> (Asker, Self) {
        let (ask, asked) = watch::channel(false);
        (Asker(ask), Self(asked))
    }

    /// Returns when the first signal has come. From then on no new work is to be begun.
    pub(crate) async fn requested(&mut self) {
        // An error means that nobody can ask any more: the work has ended.
        if self.0.wait_for(|requested| *requested).await.is_err() {
            core::future::pending::<()>().await;
        }
    }
}

/// Runs work on a runtime of one thread until it ends or is ended.
pub(crate) fn block_on<F, W>(work: F) -> Result<(), Failure>
where
    F: FnOnce(Shutdown) -> W,
    W: Future<Output = Result<(), Failure>>,
{
    block_on_within(DRAIN, work)
}

fn block_on_within<F, W>(drain: Duration, work: F) -> Result<(), Failure>
where
    F: FnOnce(Shutdown) -> W,
    W: Future<Output = Result<(), Failure>>,
{
    let failed = |error: io::Error| {
        Failure::new(ExitCode::ToolError, format!("the runtime could not be started: {error}"))
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let result = runtime.block_on(async {
        let mut signals = Signals::new().map_err(failed)?;
        let (ask, asked) = watch::channel(false);
        let mut work = pin!(work(Shutdown(asked)));
        let first = tokio::select! {
            biased;
            result = &mut work => return result,
            code = signals.next() => code,
        };
        eprintln!("agentwire: ending; a second signal ends at once");
        // The work holds a receiver as long as it has not ended.
        let _ = ask.send(true);
        tokio::select! {
            biased;
            result = &mut work => result,
            second = signals.next() => Err(Failure::new(second, "ended at once")),
            () = tokio::time::sleep(drain) => {
                Err(Failure::new(first, format!("no clean end within {drain:?}")))
            }
        }
    });
    runtime.shutdown_timeout(LEAVE);
    result
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Signals { interrupt, terminate })
    }

    /// The next one, as the exit code it would cause.
    async fn next(&mut self) -> ExitCode {
        tokio::select! {
            _ = self.interrupt.recv() => ExitCode::Interrupted,
            _ = self.terminate.recv() => ExitCode::Terminated,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::future::pending;
    use std::time::Instant;

    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    fn raise(signal: Signal) {
        kill_process(getpid(), signal).expect("it is our own process");
    }

    /// One test, for signals reach the whole process.
    #[test]
    fn a_signal_asks_and_the_second_ends() {
        let done = block_on(async |mut shutdown: Shutdown| {
            raise(Signal::TERM);
            shutdown.requested().await;
            Ok(())
        });
        assert!(done.is_ok(), "a clean end after SIGTERM is a success");

        for (signal, code) in
            [(Signal::INT, ExitCode::Interrupted), (Signal::TERM, ExitCode::Terminated)]
        {
            let start = Instant::now();
            let ended = block_on(async |mut shutdown: Shutdown| {
                raise(signal);
                shutdown.requested().await;
                raise(signal);
                pending().await
            });
            assert_eq!(ended.expect_err("it was stuck").code(), code);
            assert!(start.elapsed() < Duration::from_secs(2));

            let start = Instant::now();
            let late = block_on_within(Duration::from_millis(100), async |_shutdown| {
                raise(signal);
                pending().await
            });
            assert_eq!(late.expect_err("it took too long").code(), code);
            assert!(start.elapsed() >= Duration::from_millis(100));
        }
    }
}
