//! The JSON scanner beside `serde_json`: checking a whole text, of ordinary content and of content
//! that is meant to be slow; and whole replies of such content at the limit of a message.

use core::hint::black_box;

use agentwire_benches::{Candidate, Medians, host, inputs};
use agentwire_core::binding::{Binding, Expectation, Standard};
use agentwire_core::chat::size::MessageShape;
use agentwire_core::json::Value;
use serde_json::value::RawValue;

/// Bytes of a text at the limit of a message, if nothing in it has to be escaped.
const LIMIT: usize = 15_400;

/// A text of about this length: a head, a unit again and again, a tail.
fn repeated(head: &str, unit: &str, tail: &str, bytes: usize) -> String {
    let room = bytes.saturating_sub(head.len() + tail.len());
    format!("{head}{}{tail}", unit.repeat(room / unit.len()))
}

fn deep(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Checks a text with three parsers.
fn validation() {
    let prose = "\"The quick brown fox jumps over the lazy dog, and nobody is the wiser. \",";
    let flat = r#"{"id":7,"name":"a"},"#;
    let texts = [
        ("JSON in JSON", inputs::mcp_reply(12_100)),
        ("prose", repeated("[", prose, "0]", 12_100)),
        ("small objects", repeated("[", flat, "0]", 12_100)),
        ("numbers", repeated("[", "-12.5e3,", "0]", 12_100)),
    ];
    println!("checking a text of 12.1 kB");
    for (name, text) in &texts {
        println!(" {name}, {} bytes", text.len());
        let text = text.as_str();
        let medians = Medians::measure(vec![
            Candidate::new("agentwire", move || {
                Value::parse(black_box(text)).map_or(0, |value| value.get().len())
            }),
            Candidate::new("serde_json RawValue", move || {
                serde_json::from_str::<&RawValue>(black_box(text)).map_or(0, |raw| raw.get().len())
            }),
            Candidate::new("serde_json Value", move || {
                serde_json::from_str::<serde_json::Value>(black_box(text))
                    .map_or(0, |value| usize::from(value.is_array()))
            }),
        ]);
        print!("{medians}");
        println!("  agentwire: {:.2} GB/s", text.len() as f64 / medians.rows[0].1);
    }
}

/// Replies that are meant to be slow, beside an ordinary one of the same length.
fn hostile() {
    let expected: Expectation = Standard::MCP
        .accept(inputs::MCP_REQUEST, &[], agentwire_core::binding::Place::Direct)
        .expect("a request")
        .expected;
    let in_result = |value: &str| format!(r#"{{"jsonrpc":"2.0","id":17,"result":{value}}}"#);
    let room = LIMIT - 64;
    let deepest = format!("{},", deep(125));
    let too_deep = format!("{},", deep(200));
    let texts = [
        ("ordinary", inputs::mcp_reply(LIMIT)),
        ("prose", in_result(&repeated("\"", "nobody is the wiser ", "\"", room))),
        ("unmatched quotes", "\"".repeat(LIMIT)),
        ("a string that never ends", repeated("\"", "a", "", LIMIT)),
        ("escaped quotes", in_result(&repeated("\"", "\\\"", "\"", room))),
        ("escaped characters", in_result(&repeated("\"", "\\u001f", "\"", room))),
        ("an escape among clean bytes", in_result(&repeated("\"", "abcde\\n", "\"", room))),
        ("all control characters", "\u{1}".repeat(LIMIT / 6)),
        ("control characters in a string", repeated("{\"", "\u{1}", "\"}", LIMIT / 6)),
        ("depth 127, again and again", in_result(&repeated("[", &deepest, "0]", room))),
        ("depth 200", in_result(&repeated("[", &too_deep, "0]", room))),
        ("empty strings", in_result(&repeated("[", "\"\",", "0]", room))),
        ("one-byte members", repeated("{", "\"a\":0,", "\"b\":0}", LIMIT)),
        ("the same id again and again", repeated("{", "\"id\":0,", "\"b\":0}", LIMIT)),
        ("one long number", in_result(&"7".repeat(room))),
        ("white space", repeated("{", " ", "}", LIMIT)),
    ];
    println!("what a caller and its size check make of a reply at the limit");
    println!("  {:<44} {:>10} {:>13} {:>9}", "", "agentwire", "serde_json", "GB/s");
    let mut times = Vec::new();
    for (name, text) in &texts {
        let text = text.as_str();
        let shape = MessageShape::new();
        let medians = Medians::measure(vec![
            Candidate::new("", move || {
                let class = Standard::MCP.classify(&expected, black_box(text));
                usize::from(class.is_last()) + shape.encoded_len(text)
            }),
            Candidate::new("", move || {
                serde_json::from_str::<&RawValue>(black_box(text)).map_or(0, |raw| raw.get().len())
            }),
        ]);
        let [ours, peer] = [medians.rows[0].1, medians.rows[1].1];
        println!("  {name:<44} {ours:>7.0} ns {peer:>10.0} ns {:>9.2}", text.len() as f64 / ours);
        times.push((ours, peer));
    }
    let worst = |column: fn(&(f64, f64)) -> f64| times.iter().map(column).fold(0.0, f64::max);
    println!(
        "  slowest: {:.2} times an ordinary reply (serde_json's check alone: {:.2} times)",
        worst(|time| time.0) / times[0].0,
        worst(|time| time.1) / times[0].1
    );
}

fn main() {
    host::print(&["agentwire-core", "serde_json"]);
    validation();
    hostile();
}
