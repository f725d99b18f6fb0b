//! What the benchmarks share: candidates measured side by side, so that a ratio between them comes
//! out of one run.

use core::fmt;
use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

pub mod host;
pub mod inputs;

/// How long one batch of a candidate runs: so short that on a busy machine most batches are not
/// interrupted, and the median is of one that is not.
const BATCH: Duration = Duration::from_micros(200);

/// How many batches of each candidate are run.
const ROUNDS: usize = 301;

/// A way to do the work, and its name.
pub struct Candidate<'w> {
    name: &'w str,
    work: Box<dyn FnMut() -> usize + 'w>,
}

impl fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'w> Candidate<'w> {
    /// A candidate that does this work. What the work returns is kept from being optimised away.
    pub fn new(name: &'w str, work: impl FnMut() -> usize + 'w) -> Self {
        Self { name, work: Box::new(work) }
    }

    /// Seconds per call, over this many calls.
    fn time(&mut self, calls: u32) -> f64 {
        let start = Instant::now();
        for _ in 0..calls {
            black_box((self.work)());
        }
        start.elapsed().as_secs_f64() / f64::from(calls)
    }

    /// How many calls fill a batch.
    fn calls(&mut self) -> u32 {
        let mut calls = 1_u32;
        while self.time(calls) * f64::from(calls) < BATCH.as_secs_f64() && calls < 1 << 30 {
            calls *= 2;
        }
        calls
    }
}

/// Counts what is written to it.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Counter {
    /// How many bytes.
    pub bytes: usize,
}

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Whether the benchmark is to be measured: `cargo test` runs it with `--test`, only to see that
/// it works.
#[must_use]
pub fn is_measured() -> bool {
    !std::env::args().any(|argument| argument == "--test" || argument == "--list")
}

/// The medians of several candidates, in the order in which they were given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Medians {
    /// Each candidate's name and its median in nanoseconds per call.
    pub rows: Vec<(String, f64)>,
}

impl Medians {
    /// Runs the candidates in turn, batch by batch, so that whatever else the machine does meets
    /// all of them alike.
    #[must_use]
    pub fn measure(mut candidates: Vec<Candidate<'_>>) -> Self {
        let calls: Vec<u32> = candidates.iter_mut().map(Candidate::calls).collect();
        let mut samples = vec![Vec::with_capacity(ROUNDS); candidates.len()];
        for _ in 0..ROUNDS {
            for ((candidate, &calls), samples) in
                candidates.iter_mut().zip(&calls).zip(&mut samples)
            {
                samples.push(candidate.time(calls) * 1e9);
            }
        }
        let median = |samples: &mut Vec<f64>| {
            samples.sort_by(f64::total_cmp);
            samples[samples.len() / 2]
        };
        let names = candidates.iter().map(|candidate| candidate.name.to_owned());
        Self { rows: names.zip(samples.iter_mut().map(median)).collect() }
    }

    /// The slowest median divided by the fastest.
    #[must_use]
    pub fn spread(&self) -> f64 {
        let times = || self.rows.iter().map(|row| row.1);
        times().fold(0.0, f64::max) / times().fold(f64::INFINITY, f64::min)
    }
}

/// A table: a line for each candidate with its time and how many times the first one's that is.
impl fmt::Display for Medians {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.rows.first().map_or(f64::NAN, |row| row.1);
        for (name, time) in &self.rows {
            writeln!(f, "  {name:<44} {time:>10.0} ns {:>8.2}x", time / first)?;
        }
        Ok(())
    }
}
