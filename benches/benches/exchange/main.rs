//! One exchange without I/O in one thread: the caller writes and measures the command, the
//! responder reads it, answers and measures the answer, the caller finds the call that each reply
//! belongs to and sees the end.
//!
//! First a table of ratios, measured in turn in one run, then criterion's figures.

use core::hint::black_box;

use agentwire_benches::{Candidate, Medians, host, inputs};
use agentwire_core::binding::Standard;
use criterion::{BenchmarkId, Criterion, Throughput};

mod agentwire;
mod by_hand;
mod jsonrpsee;
mod rmcp;

use self::agentwire::Agentwire;
use self::by_hand::{ByHand, Protocol};
use self::jsonrpsee::Jsonrpsee;
use self::rmcp::Rmcp;

/// Ids of messages have 24 characters.
const MSG_ID: &str = "d1NPUHVDSDAyVWVTNnVwUA==";
/// The time of the command.
const SENT_AT: &str = "2026-11-30T14:50:04Z";

fn mcp_candidates(bytes: usize, reply: &str) -> Vec<Candidate<'_>> {
    let request = inputs::MCP_REQUEST;
    let mut ours = Agentwire::new();
    let mut by_hand = ByHand::new();
    let mut forgetful = ByHand::forgetful();
    let mut trusting = ByHand::trusting();
    let mut jsonrpsee = Jsonrpsee::new();
    let rmcp = Rmcp::new(inputs::tool_text(bytes));

    let sizes = ours.exchange(Standard::MCP, request, &[reply]);
    assert_eq!(by_hand.exchange(Protocol::Mcp, request, &[reply]), sizes);
    assert_eq!(forgetful.exchange(Protocol::Mcp, request, &[reply]), sizes);
    assert_eq!(trusting.exchange(Protocol::Mcp, request, &[reply]), sizes);
    assert_eq!(jsonrpsee.exchange(request, reply), sizes);

    vec![
        Candidate::new("agentwire", move || {
            ours.exchange(Standard::MCP, black_box(request), &[black_box(reply)])
        }),
        Candidate::new("serde_json RawValue + HashMap + BTreeSet", move || {
            by_hand.exchange(Protocol::Mcp, black_box(request), &[black_box(reply)])
        }),
        Candidate::new("the same, no deadlines, senders, repeats", move || {
            forgetful.exchange(Protocol::Mcp, black_box(request), &[black_box(reply)])
        }),
        Candidate::new("and with the answer unread by the responder", move || {
            trusting.exchange(Protocol::Mcp, black_box(request), &[black_box(reply)])
        }),
        Candidate::new("jsonrpsee-types + HashMap", move || {
            jsonrpsee.exchange(black_box(request), black_box(reply))
        }),
        Candidate::new("rmcp client and server, tokio duplex", move || rmcp.exchange()),
    ]
}

fn a2a_candidates<'w>(replies: &'w [&'w str]) -> Vec<Candidate<'w>> {
    let request = inputs::A2A_REQUEST;
    let mut ours = Agentwire::new();
    let mut by_hand = ByHand::new();
    let sizes = ours.exchange(Standard::A2A, request, replies);
    assert_eq!(by_hand.exchange(Protocol::A2a, request, replies), sizes);
    vec![
        Candidate::new("agentwire", move || {
            ours.exchange(Standard::A2A, black_box(request), black_box(replies))
        }),
        Candidate::new("serde_json RawValue + HashMap + BTreeSet", move || {
            by_hand.exchange(Protocol::A2a, black_box(request), black_box(replies))
        }),
    ]
}

fn ratios() {
    host::print(&["agentwire-core", "serde_json", "jsonrpsee-types", "rmcp", "tokio"]);
    for bytes in inputs::LENGTHS {
        let reply = inputs::mcp_reply(bytes);
        println!("MCP: one exchange, a reply of {} bytes", reply.len());
        print!("{}", Medians::measure(mcp_candidates(bytes, &reply)));
    }
    for bytes in inputs::LENGTHS {
        let stream = inputs::a2a_stream(bytes);
        let stream: Vec<&str> = stream.iter().map(String::as_str).collect();
        let (count, part) = (stream.len(), stream[1].len());
        println!("A2A: one stream of {count} replies, artifacts of {part} bytes");
        print!("{}", Medians::measure(a2a_candidates(&stream)));
    }
}

fn detail(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exchange/mcp");
    for bytes in inputs::LENGTHS {
        let reply = inputs::mcp_reply(bytes);
        let reply = reply.as_str();
        let request = inputs::MCP_REQUEST;
        group.throughput(Throughput::Elements(1));
        let mut ours = Agentwire::new();
        group.bench_function(BenchmarkId::new("agentwire", bytes), |b| {
            b.iter(|| ours.exchange(Standard::MCP, black_box(request), &[black_box(reply)]));
        });
        let mut by_hand = ByHand::new();
        group.bench_function(BenchmarkId::new("serde_json", bytes), |b| {
            b.iter(|| by_hand.exchange(Protocol::Mcp, black_box(request), &[black_box(reply)]));
        });
        let mut jsonrpsee = Jsonrpsee::new();
        group.bench_function(BenchmarkId::new("jsonrpsee-types", bytes), |b| {
            b.iter(|| jsonrpsee.exchange(black_box(request), black_box(reply)));
        });
        let rmcp = Rmcp::new(inputs::tool_text(bytes));
        group.bench_function(BenchmarkId::new("rmcp", bytes), |b| b.iter(|| rmcp.exchange()));
    }
    group.finish();

    let mut group = criterion.benchmark_group("exchange/a2a-stream");
    for bytes in inputs::LENGTHS {
        let stream = inputs::a2a_stream(bytes);
        let stream: Vec<&str> = stream.iter().map(String::as_str).collect();
        let request = inputs::A2A_REQUEST;
        group.throughput(Throughput::Elements(stream.len() as u64));
        let mut ours = Agentwire::new();
        group.bench_function(BenchmarkId::new("agentwire", bytes), |b| {
            b.iter(|| ours.exchange(Standard::A2A, black_box(request), black_box(&stream)));
        });
        let mut by_hand = ByHand::new();
        group.bench_function(BenchmarkId::new("serde_json", bytes), |b| {
            b.iter(|| by_hand.exchange(Protocol::A2a, black_box(request), black_box(&stream)));
        });
    }
    group.finish();
}

fn main() {
    if agentwire_benches::is_measured() {
        ratios();
    }
    let mut criterion = Criterion::default().configure_from_args();
    detail(&mut criterion);
    criterion.final_summary();
}
