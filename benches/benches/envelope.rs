//! The envelope of Service RPC beside `serde_json` with typed structs that hold `&RawValue`.
//!
//! First a table of ratios, measured in turn in one run, then criterion's figures. The structs
//! borrow what they hold, so neither side allocates; both read from text and write text into memory
//! that is there already, except where `serde_json` makes a `String`.
//!
//! Text that is written is a `str` in the end. Where bytes are written, as `serde_json` does it
//! (its `to_writer` knows no text), that takes a look at all of them: [`core::str::from_utf8`].
//! Where text is written it takes none. Of 9 kB that look is half of the time, and the other half is
//! one copy of the payload, which is the same for everybody: so into bytes nobody is twice as fast
//! there, and into a text it is the copy alone.

use core::hint::black_box;

use agentwire_benches::{Candidate, Medians};
use agentwire_core::rpc::{ADVISED_LEN, ErrorCode, RequestEnvelope, ResponseEnvelope};
use criterion::{BenchmarkId, Criterion, Throughput};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The request as a user of `serde_json` would declare it.
#[derive(Deserialize, Serialize)]
struct Request<'a> {
    protocol: &'a str,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    version: Option<&'a RawValue>,
    #[serde(rename = "requestKey", skip_serializing_if = "Option::is_none")]
    request_key: Option<&'a str>,
    #[serde(borrow)]
    request: &'a RawValue,
}

#[derive(Deserialize, Serialize)]
struct Response<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    response: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    error: Option<Error<'a>>,
}

#[derive(Deserialize, Serialize)]
struct Error<'a> {
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(rename = "retryAfter", skip_serializing_if = "Option::is_none")]
    retry_after: Option<u32>,
}

const KEY: &str = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";

/// What an envelope holds.
enum Content {
    Request { key: Option<&'static str>, request: Box<RawValue> },
    Response(Box<RawValue>),
    Error,
}

/// An envelope and its parts.
struct Sample {
    name: &'static str,
    content: Content,
    text: String,
}

impl Sample {
    fn new(name: &'static str, content: Content) -> Self {
        let mut sample = Self { name, content, text: String::new() };
        let mut buffer = vec![0; 2 * ADVISED_LEN];
        let len = sample.write(&mut buffer);
        let mut other = vec![0; 2 * ADVISED_LEN];
        let other_len = sample.write_with_serde_json(&mut other);
        assert_eq!(buffer[..len], other[..other_len], "{name}");
        buffer.truncate(len);
        sample.text = String::from_utf8(buffer).expect("UTF-8");
        assert_eq!(sample.parse(), sample.parse_with_serde_json(), "{name}");
        sample
    }

    fn parse(&self) -> usize {
        let text = black_box(self.text.as_str());
        match self.content {
            Content::Request { .. } => {
                let envelope = RequestEnvelope::parse(text).expect("a request");
                envelope.protocol.raw().len()
                    + envelope.request.get().len()
                    + envelope.request_key.map_or(0, |key| key.raw().len())
            }
            Content::Response(_) | Content::Error => {
                match ResponseEnvelope::parse(text).expect("a response") {
                    ResponseEnvelope::Response(response) => response.get().len(),
                    ResponseEnvelope::Error(error) => error.code_text.raw().len(),
                }
            }
        }
    }

    fn parse_with_serde_json(&self) -> usize {
        let text = black_box(self.text.as_str());
        match self.content {
            Content::Request { .. } => {
                let envelope: Request<'_> = serde_json::from_str(text).expect("a request");
                envelope.protocol.len()
                    + envelope.request.get().len()
                    + envelope.request_key.map_or(0, str::len)
            }
            Content::Response(_) | Content::Error => {
                let envelope: Response<'_> = serde_json::from_str(text).expect("a response");
                envelope.response.map_or(0, |response| response.get().len())
                    + envelope.error.map_or(0, |error| error.code.len())
            }
        }
    }

    /// Writes text where there is room for it, from this place on.
    fn write_text(&self, out: &mut String, from: usize) -> usize {
        out.truncate(from);
        let written = match black_box(&self.content) {
            Content::Request { key, request } => {
                RequestEnvelope::write_to(out, "mcp", None, *key, request.get())
            }
            Content::Response(response) => ResponseEnvelope::write_to(out, response.get()),
            Content::Error => {
                let code = ErrorCode::RateLimited;
                ResponseEnvelope::write_error_to(out, code, Some("too many requests"), Some(60))
            }
        };
        written.expect("a string takes everything");
        black_box(&out[from..]).len()
    }

    /// Writes bytes and sees that they are text.
    fn write(&self, out: &mut [u8]) -> usize {
        let text = match black_box(&self.content) {
            Content::Request { key, request } => {
                RequestEnvelope::write(out, "mcp", None, *key, request.get())
            }
            Content::Response(response) => ResponseEnvelope::write(out, response.get()),
            Content::Error => {
                let code = ErrorCode::RateLimited;
                ResponseEnvelope::write_error(out, code, Some("too many requests"), Some(60))
            }
        };
        text.expect("room").len()
    }

    fn write_with_serde_json(&self, out: &mut [u8]) -> usize {
        match black_box(&self.content) {
            Content::Request { key, request } => written(out, &Request::of(*key, request)),
            Content::Response(response) => written(out, &Response::of(response)),
            Content::Error => written(out, &Response::ERROR),
        }
    }

    fn to_string_with_serde_json(&self) -> usize {
        let text = match black_box(&self.content) {
            Content::Request { key, request } => serde_json::to_string(&Request::of(*key, request)),
            Content::Response(response) => serde_json::to_string(&Response::of(response)),
            Content::Error => serde_json::to_string(&Response::ERROR),
        };
        text.expect("strings and numbers only").len()
    }
}

impl<'a> Request<'a> {
    fn of(request_key: Option<&'a str>, request: &'a RawValue) -> Self {
        Self { protocol: "mcp", version: None, request_key, request }
    }
}

impl<'a> Response<'a> {
    const ERROR: Response<'static> = Response {
        response: None,
        error: Some(Error {
            code: "rate_limited",
            message: Some("too many requests"),
            retry_after: Some(60),
        }),
    };

    fn of(response: &'a RawValue) -> Self {
        Self { response: Some(response), error: None }
    }
}

fn written(out: &mut [u8], value: &impl Serialize) -> usize {
    let room = out.len();
    let mut rest = &mut *out;
    serde_json::to_writer(&mut rest, value).expect("room");
    let len = room - rest.len();
    // What is sent is text.
    core::str::from_utf8(&out[..len]).expect("UTF-8").len()
}

fn tool_result(len: usize) -> String {
    let unit = r#"{\"item\":\"anvil\",\"in stock\":12} "#;
    let text = |count| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","content":[{{"type":"text","text":"{}"}}],"isError":false}}}}"#,
            unit.repeat(count)
        )
    };
    text((len - text(0).len()) / unit.len())
}

/// Many small members, as a list of tools has them.
fn tools(len: usize) -> String {
    let tool = r#"{"name":"availability","description":"Items in stock","inputSchema":{"type":"object","properties":{"item":{"type":"string"}},"required":["item"]}}"#;
    let tools = vec![tool; len / (tool.len() + 1)].join(",");
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","tools":[{tools}]}}}}"#)
}

fn raw(text: impl Into<String>) -> Box<RawValue> {
    RawValue::from_string(text.into()).expect("JSON")
}

fn samples() -> Vec<Sample> {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"availability","arguments":{"item":"anvil"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    vec![
        Sample::new("request", Content::Request { key: None, request: raw(request) }),
        Sample::new("signed request", Content::Request { key: Some(KEY), request: raw(request) }),
        Sample::new("response of a tool", Content::Response(raw(tool_result(200)))),
        Sample::new("response of 9 kB of text", Content::Response(raw(tool_result(9_000)))),
        Sample::new("response of 9 kB of tools", Content::Response(raw(tools(9_000)))),
        Sample::new("error", Content::Error),
    ]
}

fn ratios(samples: &[Sample]) {
    for sample in samples {
        println!("envelope, {}, {} bytes: parse", sample.name, sample.text.len());
        let parse = Medians::measure(vec![
            Candidate::new("agentwire", || sample.parse()),
            Candidate::new("serde_json", || sample.parse_with_serde_json()),
        ]);
        print!("{parse}");
        println!("envelope, {}, {} bytes: write", sample.name, sample.text.len());
        print!("{}", write_medians(sample));
    }
}

/// How many places the room to write to begins at.
const PLACES: usize = 9;

/// What a copy takes depends on where its ends lie in their pages: of several places for one of
/// them, the middle time.
fn write_medians(sample: &Sample) -> Medians {
    let room = 2 * ADVISED_LEN;
    let all: Vec<Medians> = (0..PLACES)
        .map(|place| {
            let from = place * 457;
            let mut text = String::with_capacity(room);
            text.push_str(&" ".repeat(from));
            let (mut ours, mut theirs) = (vec![0; room], vec![0; room]);
            Medians::measure(vec![
                Candidate::new("agentwire, text", || sample.write_text(&mut text, from)),
                Candidate::new("agentwire, bytes", || sample.write(&mut ours[from..])),
                Candidate::new("serde_json, bytes", || {
                    sample.write_with_serde_json(&mut theirs[from..])
                }),
                Candidate::new("serde_json, a new String", || sample.to_string_with_serde_json()),
            ])
        })
        .collect();
    let mut middle = all[0].clone();
    for (at, row) in middle.rows.iter_mut().enumerate() {
        let mut times: Vec<f64> = all.iter().map(|medians| medians.rows[at].1).collect();
        times.sort_by(f64::total_cmp);
        row.1 = times[PLACES / 2];
    }
    middle
}

fn detail(criterion: &mut Criterion, samples: &[Sample]) {
    let mut group = criterion.benchmark_group("envelope");
    for sample in samples {
        group.throughput(Throughput::Bytes(sample.text.len() as u64));
        let id = |what| BenchmarkId::new(what, sample.name);
        let mut out = vec![0; 2 * ADVISED_LEN];
        let mut text = String::with_capacity(2 * ADVISED_LEN);
        group.bench_function(id("parse, agentwire"), |b| b.iter(|| sample.parse()));
        group.bench_function(id("parse, serde_json"), |b| {
            b.iter(|| sample.parse_with_serde_json());
        });
        group.bench_function(id("write text, agentwire"), |b| {
            b.iter(|| sample.write_text(&mut text, 0));
        });
        group.bench_function(id("write bytes, agentwire"), |b| b.iter(|| sample.write(&mut out)));
        group.bench_function(id("write bytes, serde_json"), |b| {
            b.iter(|| sample.write_with_serde_json(&mut out));
        });
    }
    group.finish();
}

fn main() {
    let samples = samples();
    // `cargo test` runs benchmarks with `--test`: then only to see that they work.
    if !std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        ratios(&samples);
    }
    let mut criterion = Criterion::default().configure_from_args();
    detail(&mut criterion, &samples);
    criterion.final_summary();
}
