//! The messages that the benchmarks exchange: made by a seeded generator, so that every run has
//! the same ones.

use core::fmt::Write as _;

/// An MCP request as a client of revision 2026-07-28 sends it.
pub const MCP_REQUEST: &str = concat!(
    r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"search","#,
    r#""arguments":{"query":"ferry to the islands","limit":20},"_meta":{"#,
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#
);

/// An A2A request that is answered with a stream.
pub const A2A_REQUEST: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"r-17","method":"SendStreamingMessage","params":{"message":{"#,
    r#""role":"ROLE_USER","messageId":"m-1","parts":[{"text":"Plan a trip to the islands"}]}},"#,
    r#""a2a-service-parameters":{"A2A-Version":"1.0"}}"#
);

/// The lengths of the replies, in bytes.
pub const LENGTHS: [usize; 3] = [137, 1_000, 12_000];

const WORDS: [&str; 24] = [
    "ferry", "leaves", "the", "harbour", "at", "noon", "and", "reaches", "an", "island", "before",
    "dusk", "with", "tickets", "sold", "on", "board", "only", "in", "summer", "Tromsø", "Zürich",
    "per", "person",
];

/// A small generator (Knuth's MMIX constants): what is needed is variety, not chance.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn sentence(&mut self, words: u64) -> String {
        let mut sentence = String::new();
        for _ in 0..words {
            sentence.push_str(WORDS[self.below(WORDS.len() as u64) as usize]);
            sentence.push(' ');
        }
        sentence.truncate(sentence.trim_end().len());
        sentence
    }
}

/// What a search tool gives: JSON, as most tools put it into a text. `room` is how many bytes it
/// takes once it is a JSON string.
fn hits(room: usize) -> String {
    let mut noise = Noise(2026);
    let cost = |text: &str| text.len() + text.matches('"').count();
    let mut text = String::from("{\"hits\":[");
    let (mut before, end) = ("", "],\"next\":\"\"}");
    loop {
        let (rank, score) = (noise.below(10_000), noise.below(1_000));
        let (title, snippet) = (noise.sentence(4), noise.sentence(16));
        let hit = format!(
            "{before}{{\"id\":{rank},\"score\":0.{score},\"title\":\"{title}\",\"snippet\":\"{snippet}\"}}"
        );
        if cost(&text) + cost(&hit) + cost(end) > room {
            break;
        }
        text.push_str(&hit);
        before = ",";
    }
    if before.is_empty() {
        // Not even one hit: a single answer.
        text = String::from("{\"next\":\"\"}");
    } else {
        text.push_str(end);
    }
    let pad = room.saturating_sub(cost(&text));
    text.insert_str(text.len() - 2, &"x".repeat(pad));
    text
}

fn escaped(text: &str) -> String {
    text.replace('"', "\\\"")
}

/// A message that has this many bytes with what the tool gives between `head` and `tail`.
fn message(head: &str, tail: &str, bytes: usize) -> String {
    let room = bytes - head.len() - tail.len();
    let message = format!("{head}{}{tail}", escaped(&hits(room)));
    assert_eq!(message.len(), bytes);
    message
}

/// A tool's result, not yet a JSON string, that fits the reply of the same length.
#[must_use]
pub fn tool_text(bytes: usize) -> String {
    hits(bytes - MCP_HEAD.len() - MCP_TAIL.len())
}

const MCP_HEAD: &str = concat!(
    r#"{"jsonrpc":"2.0","id":17,"result":{"resultType":"complete","#,
    r#""content":[{"type":"text","text":""#
);
const MCP_TAIL: &str = "\"}]}}";

/// The reply to [`MCP_REQUEST`], this many bytes long.
#[must_use]
pub fn mcp_reply(bytes: usize) -> String {
    message(MCP_HEAD, MCP_TAIL, bytes)
}

/// How many artifact updates a stream has.
pub const ARTIFACTS: usize = 10;

/// The replies to [`A2A_REQUEST`]: a task, [`ARTIFACTS`] artifact updates of this many bytes (but
/// no shorter than what one takes), and the status that ends the stream.
#[must_use]
pub fn a2a_stream(bytes: usize) -> Vec<String> {
    let frame = |event: &str| format!(r#"{{"jsonrpc":"2.0","id":"r-17","result":{event}}}"#);
    let mut stream = vec![frame(
        r#"{"task":{"id":"t-41","contextId":"c-7","status":{"state":"TASK_STATE_WORKING"}}}"#,
    )];
    for part in 0..ARTIFACTS {
        let mut head = String::from(r#"{"jsonrpc":"2.0","id":"r-17","result":{"artifactUpdate":{"#);
        write!(
            head,
            r#""taskId":"t-41","contextId":"c-7","artifact":{{"artifactId":"a-{part}","parts":[{{"text":""#
        )
        .expect("a string takes everything");
        let tail = r#""}]}}}}"#;
        stream.push(message(&head, tail, bytes.max(head.len() + tail.len() + 16)));
    }
    stream.push(frame(
        r#"{"statusUpdate":{"taskId":"t-41","contextId":"c-7","status":{"state":"TASK_STATE_COMPLETED"}}}"#,
    ));
    stream
}

/// An Agent Card of about this many bytes, with one canonical form whoever makes it: members in the
/// order in which people write them, laid out as serializers do, and as many skills as fit.
#[must_use]
pub fn agent_card(bytes: usize) -> String {
    let mut noise = Noise(8785);
    let mut text = String::from(concat!(
        r#"{"name":"Island ferries","description":"Plans trips to the islands","version":"2.4.1","#,
        r#""provider":{"url":"https://ferries.example","organization":"Ferries"},"#,
        r#""supportedInterfaces":[{"url":"https://ferries.example/a2a","#,
        r#""protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"#,
        r#""capabilities":{"streaming":true,"pushNotifications":false},"#,
        r#""securitySchemes":{"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},"#,
        r#""securityRequirements":[{"schemes":{"bearer":{"list":["trips"]}}}],"#,
        r#""defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":["#
    ));
    let mut before = "";
    for skill in 0.. {
        let (name, about) = (noise.sentence(3), noise.sentence(20));
        let (tag, example) = (noise.sentence(1), noise.sentence(8));
        let skill = format!(
            concat!(
                r#"{}{{"id":"skill-{}","name":"{}","description":"{}","#,
                r#""tags":["{}","ferry"],"examples":["{}"]}}"#
            ),
            before, skill, name, about, tag, example
        );
        if !before.is_empty() && text.len() + skill.len() + 2 > bytes {
            break;
        }
        text.push_str(&skill);
        before = ",";
    }
    text + "]}"
}
