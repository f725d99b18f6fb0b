//! Reading an `llms.txt` of 100, 1,000 and 10,000 addresses: the time for each address stays the
//! same.

use core::fmt::Write;
use core::hint::black_box;

use agentwire_benches::{Candidate, Medians};
use agentwire_core::discovery::llms::Communications;
use criterion::{BenchmarkId, Criterion, Throughput};

const COUNTS: [usize; 3] = [100, 1_000, 10_000];

/// The key of each link.
const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

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
        writeln!(file, "- [Acme \\[{place}\\]](https://smp12.example/{letter}#{KEY}): {notes}",)
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

/// Each candidate reads as many addresses, so that whatever else the machine does meets all alike.
fn per_entry() {
    let most = COUNTS.into_iter().max().unwrap_or_default();
    let files = COUNTS.map(|count| (format!("{count} addresses"), file(count), most / count));
    let work = files.iter().map(|(name, file, times)| {
        Candidate::new(name, move || (0..*times).map(|_| read(black_box(file))).sum())
    });
    let medians = Medians::measure(work.collect());
    println!("the entries of an llms.txt and their links read, {most} in all");
    print!("{medians}");
    let most = f64::from(u32::try_from(most).expect("small"));
    for (name, time) in &medians.rows {
        println!("  {name:<44} {:>10.0} ns each", time / most);
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
