//! An echo bot at a chat core, 64 calls in flight over a WebSocket of this machine: with this
//! library, and with bare tokio-tungstenite. Then the memory of conversations that are held open,
//! and what they cost while nothing happens.
//!
//! The core is a script in a thread of its own, cheaper than any of the bots; a bot and all its
//! tasks have one thread. By hand there are no deadlines, no sizes, no repeats, no second
//! connection and no second attempt.

mod bots;
mod held;
mod measure;
mod wire;

use core::time::Duration;

use agentwire_benches::{host, is_measured};
use counting_alloc::{Allocated, Counting, allocated};
use wire::{Script, ScriptedCore};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const IN_FLIGHT: u64 = 64;
const CALLS: u64 = 5_000;
const ROUNDS: usize = 7;
const HELD: usize = 10_000;

/// The text of a large command, in bytes; together with the answer that quotes it, it has to fit
/// into a message.
const LARGE: usize = 4_000;

/// What one way to write the bot costs.
struct Row {
    name: &'static str,
    /// The command after whose answer the core may begin.
    begin: &'static str,
    run: fn(Script) -> Sample,
    /// The best rounds, with small and with large texts.
    best: [Option<Sample>; 2],
}

/// What one round costs.
#[derive(Clone, Copy)]
struct Sample {
    /// Calls per second.
    rate: f64,
    /// Of the bot's thread, in nanoseconds per call.
    time: f64,
    /// Of the bot's thread, times and bytes per call.
    allocations: f64,
    bytes: f64,
}

impl Sample {
    fn better(self, other: Option<Self>) -> Self {
        other.map_or(self, |other| Self {
            rate: self.rate.max(other.rate),
            time: self.time.min(other.time),
            allocations: self.allocations.min(other.allocations),
            bytes: self.bytes.min(other.bytes),
        })
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Runs a bot in this thread until the core has done its script.
fn round(script: Script, bot: impl AsyncFnOnce(&ScriptedCore)) -> Sample {
    let (core, done) = ScriptedCore::new(script);
    let mut span = Duration::ZERO;
    let before = measure::thread_time();
    let Allocated { times, bytes, .. } = allocated(|| {
        span = runtime().block_on(async {
            tokio::select! {
                span = done.wait() => span,
                () = bot(&core) => unreachable!("the core holds the connection"),
            }
        });
    });
    let time = measure::thread_time().saturating_sub(before);
    let calls = script.calls as f64;
    Sample {
        rate: calls / span.as_secs_f64(),
        time: time.as_nanos() as f64 / calls,
        allocations: times as f64 / calls,
        bytes: bytes as f64 / calls,
    }
}

fn rows() -> [Row; 3] {
    let row = |name, begin, run| Row { name, begin, run, best: [None; 2] };
    [
        row("agentwire", "/_start", |script| round(script, bots::agentwire)),
        row("tokio-tungstenite, serde_json", "/_start", |script| round(script, bots::serde_json)),
        row("tokio-tungstenite, JSON unread", "/_start", |script| round(script, bots::unread)),
    ]
}

fn echo(calls: u64, rounds: usize) {
    let mut rows = rows();
    for _ in 0..rounds {
        for (size, pad) in [0, LARGE].into_iter().enumerate() {
            // In turn, so that whatever else the machine does meets all of them.
            for row in &mut rows {
                let script = Script {
                    calls,
                    in_flight: IN_FLIGHT,
                    messages: calls,
                    contacts: 1,
                    pad,
                    begin: row.begin,
                };
                row.best[size] = Some((row.run)(script).better(row.best[size]));
            }
        }
    }
    println!("echo, {calls} calls, {IN_FLIGHT} in flight, best of {rounds} rounds in turn");
    for (size, pad) in [0, LARGE].into_iter().enumerate() {
        println!("  {pad} bytes of text each way");
        let ours = rows[0].best[size].expect("it was run");
        for row in &rows {
            let sample = row.best[size].expect("it was run");
            println!(
                "    {:<32} {:>8.0} calls/s (agentwire has {:>4.0} %), {:>6.2} µs of processor, \
                 {:>6.1} allocations, {:>7.0} bytes",
                row.name,
                sample.rate,
                100.0 * ours.rate / sample.rate,
                sample.time / 1e3,
                sample.allocations,
                sample.bytes
            );
        }
    }
    println!("  bytes allocated for each byte of text");
    for row in &rows {
        let [small, large] = row.best.map(|sample| sample.expect("it was run").bytes);
        println!("    {:<32} {:>8.1}", row.name, (large - small) / LARGE as f64);
    }
}

fn held(conversations: usize) {
    let held = runtime().block_on(held::by_caller(conversations));
    println!(
        "{conversations} conversations held open by a caller: {} bytes of resident memory each; \
         idle for {:?}: {:?} of processor time",
        held.bytes,
        held::IDLE,
        held.idle
    );
}

fn main() {
    host::print(&["agentwire-tokio", "tokio-tungstenite", "serde_json"]);
    let (calls, rounds, conversations) =
        if is_measured() { (CALLS, ROUNDS, HELD) } else { (100, 1, 100) };
    // First, while the process has no memory that it could use again.
    held(conversations);
    echo(calls, rounds);
}
