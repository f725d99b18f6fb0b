//! An echo bot at a chat core, 64 calls in flight over a WebSocket of this machine: with this
//! library, with simploxide-client, and with bare tokio-tungstenite. Then the memory of
//! conversations that are held open, by a caller and by a bot, and what they cost while nothing
//! happens.
//!
//! The core is a script in a thread of its own, cheaper than any of the bots; a bot and all its
//! tasks have one thread. For each call the same three frames pass, whatever the bot is made of:
//!
//! ```text
//! core ──▶ bot   {"resp":{"type":"newChatItems",…"/_call a2a {…}"…}}      the command
//! core ◀── bot   {"corrId":"7","cmd":"/_send @3 json [{…}]"}              the answer, quoting it
//! core ──▶ bot   {"corrId":"7","resp":{"type":"newChatItems",…}}          it has been sent
//! ```
//!
//! and before them two or three commands and their answers. All of the bots read each of these
//! frames, make the same answer with serde_json (the one by hand that reads no JSON puts it
//! together out of what it has found), and write what there is to write before they wait again.
//! What is not the same:
//!
//! - agentwire checks the JSON-RPC request and what it asks for, counts what the answer takes once
//!   it is encoded, keeps a deadline for each call, the journal that lets no command take effect
//!   twice, and the row of its callers; and it tells its handler when the core has the answer. It
//!   sends at most 64 commands before the first of them is answered.
//! - simploxide-client reads all of a frame into its types, and tells its handler too.
//! - By hand there are no deadlines, no sizes, no repeats, no second connection and no second
//!   attempt, and nobody is told.
//!
//! A name as an argument runs the bots whose name has it.

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

const OURS: &str = "agentwire";
const HELD_BY_CALLER: &str = "held open by a caller";
const HELD_BY_BOT: &str = "held open by a bot";
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

fn rows(wanted: &str) -> Vec<Row> {
    let row = |name, run| Row { name, begin: "/_start", run, best: [None; 2] };
    let mut rows = vec![
        row(OURS, |script| round(script, bots::agentwire)),
        row("simploxide-client", |script| round(script, bots::simploxide)),
        row("tokio-tungstenite, serde_json", |script| round(script, bots::serde_json)),
        row("tokio-tungstenite, JSON unread", |script| round(script, bots::unread)),
    ];
    rows.retain(|row| row.name.contains(wanted));
    rows
}

fn echo(calls: u64, rounds: usize, wanted: &str) {
    let mut rows = rows(wanted);
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
        let ours = rows.iter().find(|row| row.name == OURS).and_then(|row| row.best[size]);
        for row in &rows {
            let sample = row.best[size].expect("it was run");
            let share = ours.map_or(f64::NAN, |ours| 100.0 * ours.rate / sample.rate);
            println!(
                "    {:<32} {:>8.0} calls/s (agentwire has {share:>4.0} %), {:>6.2} µs of processor, \
                 {:>6.1} allocations, {:>7.0} bytes",
                row.name,
                sample.rate,
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

/// The conversations that are held open, by each in a process of its own: it has no memory then that
/// it could use again.
fn held() {
    let program = std::env::current_exe().expect("this program");
    for who in [HELD_BY_CALLER, HELD_BY_BOT] {
        let arguments = std::env::args().skip(1).chain([who.to_owned()]);
        let status = std::process::Command::new(&program).args(arguments).status();
        assert!(status.expect("it runs").success());
    }
}

fn hold(conversations: usize, who: &str) {
    let held = match who {
        HELD_BY_BOT => runtime().block_on(held::by_bot(conversations)),
        _ => runtime().block_on(held::by_caller(conversations)),
    };
    println!(
        "{conversations} conversations {who}: {} bytes of resident memory each; idle for {:?}: {:?} \
         of processor time",
        held.bytes,
        held::IDLE,
        held.idle
    );
}

fn main() {
    let (calls, rounds, conversations) =
        if is_measured() { (CALLS, ROUNDS, HELD) } else { (100, 1, 100) };
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    if let Some(who) = wanted.as_deref().filter(|who| [HELD_BY_CALLER, HELD_BY_BOT].contains(who)) {
        return hold(conversations, who);
    }
    host::print(&["agentwire-tokio", "simploxide-client", "tokio-tungstenite", "serde_json"]);
    if wanted.is_none() {
        held();
    }
    echo(calls, rounds, wanted.as_deref().unwrap_or_default());
}
