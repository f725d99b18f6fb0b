//! MCP through the whole chain, and through other bridges: the same server of the official Rust SDK
//! behind all of them, the same calls, one run.
//!
//! ```text
//! client ── gateway mcp ══ core ══ core ══ serve mcp ── server      the whole chain
//! client ────────────────────────────────────────────── server      directly, on standard streams
//! client ── HTTP ── supergateway, mcp-proxy, serve mcp --http ── server
//! ```
//!
//! Each box is a process. What the whole chain's figure includes: two pipes, two WebSockets with two
//! commands and events for each message, the loopback in place of two chat cores, and the journal on
//! disk; what it leaves out is a real chat core's encryption, its database and the network. The
//! client is some lines of this file: it writes a request, and looks for the result in what comes.
//!
//! The other bridges speak the older revisions with a handshake and a session; they are there if
//! `benches/peers/install` has installed them.

mod chain;
mod fixture;
mod load;
mod processes;

use std::path::Path;
use std::time::Instant;

use agentwire_benches::{host, is_measured};
use chain::{Chain, Way};
use load::{Era, Http, Lines, Load, Sample};
use processes::{Running, piped};

/// With this argument the benchmark is the server.
const FIXTURE: &str = "--fixture";

const ROUNDS: usize = 3;

/// Results of 1 kB and 12 kB, one call after the other and 64 at any time.
const LOADS: [Load; 4] = [
    Load { bytes: 1_000, open: 1, total: 400 },
    Load { bytes: 1_000, open: 64, total: 2_000 },
    Load { bytes: 12_000, open: 1, total: 400 },
    Load { bytes: 12_000, open: 64, total: 2_000 },
];

/// The best of some rounds of each load.
type Best = [Option<Sample>; LOADS.len()];

fn rounds(mut run: impl FnMut(Load) -> Sample, fits: impl Fn(Load) -> bool) -> Best {
    let mut best = Best::default();
    for _ in 0..ROUNDS {
        for (load, best) in LOADS.into_iter().zip(&mut best) {
            if fits(load) {
                *best = Some(run(load).better(*best));
            }
        }
    }
    best
}

/// A line: calls per second, the median of one call, and what that is more than the direct call.
fn line(name: &str, best: &Best, direct: Option<&Best>) {
    print!("  {name:<34}");
    for (at, sample) in best.iter().enumerate() {
        let Some(sample) = sample else {
            print!("{:>21}", "-");
            continue;
        };
        let direct = direct.and_then(|direct| direct[at]);
        let (rate, median) = (sample.calls_per_second, sample.median * 1e6);
        match direct {
            Some(direct) => print!("{rate:>8.0}/s {:>+8.0} µs", median - direct.median * 1e6),
            None => print!("{rate:>8.0}/s {median:>8.0} µs"),
        }
    }
    println!();
}

/// A bridge from standard streams to HTTP.
struct Bridge {
    name: &'static str,
    path: &'static str,
    era: Era,
    command: std::process::Command,
    port: u16,
}

fn bridges(agentwire: &Path, own: &Path) -> Vec<Bridge> {
    let mut bridges = Vec::new();
    let port = processes::port();
    let mut command = piped(agentwire);
    command.args(["serve", "mcp", "--http", &format!("127.0.0.1:{port}"), "--"]);
    command.arg(own).arg(FIXTURE);
    bridges.push(Bridge {
        name: "agentwire serve mcp --http",
        path: "/mcp",
        era: Era::Now,
        command,
        port,
    });
    let handshake = Era::Handshake;
    if let Some(program) = processes::peer("supergateway", false) {
        let port = processes::port();
        let mut command = piped(program);
        let server = format!("{} {FIXTURE}", own.display());
        command.args(["--stdio", &server, "--outputTransport", "streamableHttp", "--stateful"]);
        command.args(["--port", &port.to_string(), "--logLevel", "none"]);
        bridges.push(Bridge { name: "supergateway", path: "/mcp", era: handshake, command, port });
    }
    if let Some(program) = processes::peer("mcp-proxy", false) {
        let port = processes::port();
        let mut command = piped(program);
        command.args([
            "--host",
            "127.0.0.1",
            "--server",
            "stream",
            "--port",
            &port.to_string(),
            "--",
        ]);
        command.arg(own).arg(FIXTURE);
        bridges.push(Bridge {
            name: "mcp-proxy (npm)",
            path: "/mcp",
            era: handshake,
            command,
            port,
        });
    }
    if let Some(program) = processes::peer("mcp-proxy", true) {
        let port = processes::port();
        let mut command = piped(program);
        command.args(["--port", &port.to_string(), "--"]).arg(own).arg(FIXTURE);
        bridges.push(Bridge {
            name: "mcp-proxy (PyPI)",
            path: "/mcp",
            era: handshake,
            command,
            port,
        });
    }
    bridges
}

fn main() {
    if std::env::args().any(|argument| argument == FIXTURE) {
        return fixture::serve();
    }
    if !is_measured() {
        return;
    }
    host::print(&["rmcp"]);
    let own = std::env::current_exe().expect("it has a path");
    let agentwire = processes::agentwire();
    println!(
        "  calls/s, and the median of one call; below the first line what it takes longer than that"
    );
    println!(
        "  {:<34}{:>21}{:>21}{:>21}{:>21}",
        "", "1 kB, 1 open", "1 kB, 64", "12 kB, 1 open", "12 kB, 64"
    );

    let direct = {
        let mut server = Running::start(piped(&own).arg(FIXTURE));
        let mut client = Lines::new(&mut server.0);
        rounds(|load| client.run(load), |_| true)
    };
    line("directly, on standard streams", &direct, None);
    for way in [Way::Chat, Way::ServiceRpc] {
        let mut chain = Chain::start(&agentwire, &own, way);
        // A response over Service RPC has room for 11,106 bytes.
        let fits = |load: Load| way == Way::Chat || load.bytes < 11_000;
        let best = rounds(|load| chain.client.run(load), fits);
        let name = match way {
            Way::Chat => "the whole chain, in a conversation",
            Way::ServiceRpc => "the whole chain, Service RPC",
        };
        line(name, &best, Some(&direct));
    }

    let mut local = Vec::new();
    for mut bridge in bridges(&agentwire, &own) {
        let start = Instant::now();
        let running = Running::start(&mut bridge.command);
        let http = Http::open(&format!("127.0.0.1:{}", bridge.port), bridge.path, bridge.era);
        let first = start.elapsed();
        let best = rounds(|load| http.run(load), |_| true);
        line(bridge.name, &best, Some(&direct));
        local.push((bridge.name, first, running.resident()));
    }
    println!(
        "\n  as a local bridge: milliseconds from its start to the first answer, resident MB after the load"
    );
    for (name, first, resident) in local {
        println!("  {name:<34}{:>10.0} ms {resident:>10.1} MB", first.as_secs_f64() * 1e3);
    }
}
