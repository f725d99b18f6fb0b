//! The size check of a chat message at the limit, beside counting what `serde_json` writes.
//!
//! First a table of ratios, measured in turn in one run, then criterion's figures.

use core::hint::black_box;

use agentwire_benches::{Candidate, Counter, Medians, host};
use agentwire_core::chat::size::{MAX_ENCODED_MSG_LEN, MessageShape};
use agentwire_core::json::length::{escaped_len, longest_prefix};
use criterion::{BenchmarkId, Criterion, Throughput};
use serde::Serialize;

/// What the messages are made of. BS and FF are not among the control characters: there
/// `serde_json` writes, and so counts, something else than the chat core.
const CONTENTS: [(&str, &str); 4] = [
    ("prose", "The quick brown fox jumps over the lazy dog, and nobody is the wiser. "),
    (
        "JSON in JSON",
        r#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"12:30"}]}}"#,
    ),
    ("control characters", "\u{1}\u{2}\u{1b}\u{1f}"),
    ("CJK", "統一碼聯盟是一個非營利組織。"),
];

/// The content repeated and cut so that the encoded message has exactly the longest length.
fn text_at_the_limit(unit: &str) -> String {
    let room = MessageShape::new().room();
    let long = unit.repeat(MAX_ENCODED_MSG_LEN);
    let mut text = longest_prefix(&long, room).to_owned();
    text.extend(core::iter::repeat_n('a', room - escaped_len(&text)));
    text
}

/// The content repeated and cut to the number of bytes of the longest plain text.
fn text_of_fixed_length(unit: &str) -> String {
    let length = MessageShape::new().room();
    let mut text = unit.repeat(length);
    text.truncate(text.floor_char_boundary(length));
    text.extend(core::iter::repeat_n('a', length - text.len()));
    text
}

fn agentwire(text: &str) -> usize {
    MessageShape::new().check(text).map_or_else(|error| error.needed, |size| size.bytes())
}

/// The message as a user of `serde_json` would declare it.
#[derive(Serialize)]
struct Message<'a> {
    v: &'a str,
    #[serde(rename = "msgId")]
    msg_id: &'a str,
    event: &'a str,
    params: Params<'a>,
}

#[derive(Serialize)]
struct Params<'a> {
    content: Content<'a>,
}

#[derive(Serialize)]
struct Content<'a> {
    text: &'a str,
    r#type: &'a str,
}

fn message(text: &str) -> Message<'_> {
    Message {
        v: "1-21",
        msg_id: "d1NPUHVDSDAyVWVTNnVwUA==",
        event: "x.msg.new",
        params: Params { content: Content { text, r#type: "text" } },
    }
}

fn counting_writer(text: &str) -> usize {
    let mut counter = Counter::default();
    serde_json::to_writer(&mut counter, &message(text)).expect("a counter takes everything");
    counter.bytes
}

fn to_string(text: &str) -> usize {
    serde_json::to_string(&message(text)).expect("strings only").len()
}

/// A name, and a function that gives the size of the message with a text.
type Method = (&'static str, fn(&str) -> usize);

const METHODS: [Method; 3] = [
    ("agentwire", agentwire),
    ("serde_json into a counting writer", counting_writer),
    ("serde_json::to_string().len()", to_string),
];

fn ratios() {
    host::print(&["agentwire-core", "serde_json"]);
    println!("size check of a message of {MAX_ENCODED_MSG_LEN} encoded bytes");
    for (content, unit) in CONTENTS {
        let text = text_at_the_limit(unit);
        for (name, size) in METHODS {
            assert_eq!(size(&text), MAX_ENCODED_MSG_LEN, "{name} on {content}");
        }
        let work = |(name, size): Method| {
            let text = &text;
            Candidate::new(name, move || size(black_box(text)))
        };
        println!(" {content}, {} bytes of text", text.len());
        print!("{}", Medians::measure(METHODS.map(work).into()));
    }

    println!("size check of {} bytes of text, whatever it says", MessageShape::new().room());
    let texts = CONTENTS.map(|(content, unit)| (content, text_of_fixed_length(unit)));
    let candidates = texts
        .iter()
        .map(|(content, text)| Candidate::new(content, move || agentwire(black_box(text))));
    let medians = Medians::measure(candidates.collect());
    println!("{medians}  slowest content: {:.2} times the fastest", medians.spread());
}

fn detail(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("size");
    for (content, unit) in CONTENTS {
        let text = text_at_the_limit(unit);
        group.throughput(Throughput::Bytes(text.len() as u64));
        for (name, size) in METHODS {
            group.bench_with_input(BenchmarkId::new(name, content), text.as_str(), |b, text| {
                b.iter(|| size(black_box(text)));
            });
        }
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
