//! Reading an `llms.txt` of 100, 1,000 and 10,000 addresses: the time for each address stays the
//! same.

use core::fmt::Write;
use core::hint::black_box;

use agentwire_benches::{Candidate, Medians};
use agentwire_core::discovery::llms::Communications;
use criterion::{BenchmarkId, Criterion, Throughput};

const COUNTS: [usize; 3] = [100, 1_000, 10_000];

/// A file with this many addresses, of all types in turn.
fn file(count: usize) -> String {
    let mut file = String::from("# Acme\n\n> Goods of all kinds.\n\n## Communications\n\n");
    for place in 0..count {
        let (letter, notes) = match place % 4 {
            0 => ("c", "SimpleX updates for people and agents, weekly. Product news and offers."),
            1 => ("g", "SimpleX group for people. Questions and tips from customers."),
            2 => ("a", "SimpleX business contact for agents, MCP, A2A. Orders and availability."),
            _ => ("a", "SimpleX contact for people. Support, on working days."),
        };
        writeln!(
            file,
            "- [Acme \\[{place}\\]](https://smp12.example/{letter}#{}): {notes}",
            "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"
        )
        .expect("a string takes everything");
    }
    file
}

/// Reads each entry, its list and its link.
fn read(file: &str) -> usize {
    let entries = Communications::new(file).entries();
    entries
        .filter(|entry| entry.simplex_link(&mut []).is_ok())
        .map(|entry| 1 + entry.terms().count())
        .sum()
}

fn per_entry() {
    let files = COUNTS.map(|count| (format!("{count} addresses"), file(count)));
    let work = files.iter().map(|(name, file)| Candidate::new(name, move || read(black_box(file))));
    let medians = Medians::measure(work.collect());
    println!("an llms.txt, its entries and their links read");
    let each: Vec<f64> = medians
        .rows
        .iter()
        .zip(COUNTS)
        .map(|((_, time), count)| *time / f64::from(u32::try_from(count).expect("small")))
        .collect();
    for ((name, _), time) in medians.rows.iter().zip(&each) {
        println!("  {name:<44} {time:>10.0} ns each {:>8.2}x", time / each[0]);
    }
}

fn detail(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("llms");
    for count in COUNTS {
        let file = file(count);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_with_input(BenchmarkId::from_parameter(count), file.as_str(), |b, file| {
            b.iter(|| read(black_box(file)));
        });
    }
    group.finish();
}

fn main() {
    // `cargo test` runs benchmarks with `--test`: then only to see that they work.
    if !std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        per_entry();
    }
    let mut criterion = Criterion::default().configure_from_args();
    detail(&mut criterion);
    criterion.final_summary();
}
