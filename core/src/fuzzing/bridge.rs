//! The bridge between callers and an MCP server against a list of calls.
//!
//! Each call of a tool carries a number of its own, and the server that is played echoes it: an answer
//! or a notification that reaches another call shows at once.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use serde_json::Value as Json;

use super::script::Script;
use crate::mcp::bridge::{
    Ask, Attribution, Bridge, CallId, CallerId, Config, Output, Room, Status, Via,
};
use crate::mcp::{Asked, Notice, Way};
use crate::time::Instant;

/// Ids and tokens as callers write them: some are equal, some look equal.
const NAMES: [&str; 7] = ["1", "\"1\"", "0", "1.0", "\"\"", "\"\\u0031\"", "\"t\""];

/// Requests that are none, or none that is served.
const BAD: [&str; 6] = [
    "{",
    "[]",
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"ping","params":{}}"#,
];

struct Call {
    id: &'static str,
    token: Option<&'static str>,
    logs: bool,
    is_list: bool,
    listens: bool,
    room: Room,
    via: Via,
}

struct Model {
    bridge: Bridge,
    now: Instant,
    open: BTreeMap<CallId, Call>,
    /// Calls of tools by their number.
    numbers: Vec<CallId>,
    /// What the server has been sent: the message, and whether it has been answered or given up.
    exchanges: BTreeMap<u64, Json>,
    latest: u64,
    is_connected: bool,
    has_opened: bool,
    legacy: bool,
}

/// A script: callers ask, a server answers or does not, time passes.
///
/// | operation | what it does |
/// |---|---|
/// | `c` caller id token kind | a caller asks |
/// | `b` kind | a caller asks something that is no request |
/// | `a` exchange kind | the server answers |
/// | `p` exchange step | the server reports progress |
/// | `l` | the server logs |
/// | `n` kind | the server says something else |
/// | `x` call | a caller goes |
/// | `d`, `o` | the server goes, comes |
/// | `t` span | time passes |
pub fn mcp_bridge(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let config = Config {
        max_calls: 12,
        max_per_caller: 8,
        max_message: 4_096,
        max_list: 1_024,
        max_kept: 2_048,
        open_timeout: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(4),
        total_timeout: Duration::from_secs(9),
        attribution: if first & 1 == 0 { Attribution::Alone } else { Attribution::OneAtATime },
        legacy: first & 2 != 0,
        subscriptions: first & 4 != 0,
        http: first & 8 != 0,
        ..Config::default()
    };
    let legacy = config.legacy;
    let mut model = Model {
        bridge: Bridge::new(config),
        now: Instant::ZERO,
        open: BTreeMap::new(),
        numbers: Vec::new(),
        exchanges: BTreeMap::new(),
        latest: 0,
        is_connected: false,
        has_opened: false,
        legacy,
    };
    let mut script = Script::new(rest);
    while let Some(operation) = script.operation() {
        model.step(operation, &mut script);
        model.drain();
        model.check();
    }
    model.now = model.now + Duration::from_secs(20);
    model.bridge.handle_timeout(model.now);
    model.drain();
    assert!(model.open.values().all(|call| call.listens), "a call outlives its time");
}

impl Model {
    fn step(&mut self, operation: u8, script: &mut Script<'_>) {
        match operation {
            b'c' => {
                let caller = CallerId(script.below(3) as u64);
                let id = NAMES[script.below(NAMES.len())];
                let token = NAMES.get(script.below(NAMES.len() + 2)).copied();
                self.begin(caller, id, token, script.below(10));
            }
            b'b' => {
                let request = BAD[script.below(BAD.len())];
                let room = Room::UNLIMITED;
                let ask = Ask { caller: CallerId(1), request, room, via: Via::Conversation };
                let call = self.bridge.begin(self.now, &ask);
                let Some(Output::Answer { call: whose, answer }) = self.bridge.poll_output() else {
                    panic!("no answer to {request}")
                };
                assert_eq!(whose, call);
                assert!(answer.problem.is_some());
                assert!(self.bridge.poll_output().is_none(), "{request} went on");
            }
            b'a' => self.answer(script),
            b'p' => {
                let Some(key) = self.pick(script) else { return };
                let step = script.below(4);
                let number = self.number(key);
                self.says(
                    self.stream(key, script),
                    &format!(
                        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\
                         {{\"progressToken\":{key},\"progress\":{step},\"message\":\"{number}\"}}}}"
                    ),
                );
            }
            b'l' => self.says(
                None,
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#,
            ),
            b'n' => {
                let texts = [
                    "noise",
                    r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
                    r#"{"jsonrpc":"2.0","id":999999,"result":{}}"#,
                    r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#,
                    r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":""}}"#,
                    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
                ];
                let kind = script.below(texts.len() + 2);
                match texts.get(kind) {
                    Some(text) => self.says(None, text),
                    None if kind == texts.len() => self.bridge.handle_not_utf8(self.now, None),
                    None => {
                        let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"res", self.latest);
                        self.bridge.handle_overlong(self.now, None, head.as_bytes());
                    }
                }
            }
            b'x' => {
                if let Some(place) = script.latest(self.open.len()) {
                    let call = *self.open.keys().nth(place).expect("there is one");
                    self.open.remove(&call);
                    self.bridge.cancel(self.now, call);
                }
            }
            b'd' => {
                self.is_connected = false;
                self.has_opened = false;
                self.exchanges.clear();
                self.bridge.disconnected("gone");
                self.drain();
                assert!(self.open.is_empty(), "a call outlives its server");
            }
            b'o' => {
                self.is_connected = true;
                self.bridge.connected(self.now);
            }
            b't' => {
                self.now = self.now + Duration::from_millis(script.span());
                self.bridge.handle_timeout(self.now);
            }
            _ => {}
        }
    }

    fn begin(
        &mut self,
        caller: CallerId,
        id: &'static str,
        token: Option<&'static str>,
        kind: usize,
    ) {
        let number = self.numbers.len();
        let (method, params) = match kind {
            0 | 8 => ("tools/list", String::new()),
            1 => ("server/discover", String::new()),
            2 => ("subscriptions/listen", "\"notifications\":{},".into()),
            3 => ("tools/list", "\"cursor\":\"0-1\",".into()),
            _ => ("tools/call", format!("\"name\":\"n\",\"arguments\":{{\"n\":{number}}},")),
        };
        let logs = kind == 5;
        let room = if kind >= 6 { Room::escaped(420) } else { Room::UNLIMITED };
        let via = if kind == 9 { Via::OneShot } else { Via::Conversation };
        let mut meta = String::from(
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
             \"io.modelcontextprotocol/clientCapabilities\":{}",
        );
        if let Some(token) = token {
            meta += &format!(",\"progressToken\":{token}");
        }
        if logs {
            meta += ",\"io.modelcontextprotocol/logLevel\":\"debug\"";
        }
        let request = format!(
            "{{\"jsonrpc\":\"2.0\",\n \"id\":{id},\"method\":\"{method}\",\"params\":{{{params}\"_meta\":{{{meta}}}}}}}"
        );
        assert!(Asked::check(&request).is_ok(), "{request}");
        let ask = Ask { caller, request: &request, room, via };
        let call = self.bridge.begin(self.now, &ask);
        if method == "tools/call" {
            self.numbers.push(call);
        }
        let is_list = method == "tools/list";
        let listens = method == "subscriptions/listen";
        self.open.insert(call, Call { id, token, logs, is_list, listens, room, via });
    }

    /// One of the exchanges that the server has seen.
    fn pick(&self, script: &mut Script<'_>) -> Option<u64> {
        let place = script.latest(self.exchanges.len())?;
        self.exchanges.keys().nth(place).copied()
    }

    /// Whether a message comes on a stream of its own.
    fn stream(&self, key: u64, script: &mut Script<'_>) -> Option<u64> {
        (script.below(4) == 1).then_some(key)
    }

    fn number(&self, key: u64) -> String {
        let message = self.exchanges.get(&key);
        let number = message.map(|message| &message["params"]["arguments"]["n"]);
        number.filter(|number| number.is_u64()).map_or("-".into(), Json::to_string)
    }

    fn says(&mut self, stream: Option<u64>, text: &str) {
        if self.is_connected {
            self.bridge.handle_message(self.now, stream, text);
        }
    }

    fn answer(&mut self, script: &mut Script<'_>) {
        let Some(key) = self.pick(script) else { return };
        let kind = script.below(10);
        let stream = self.stream(key, script);
        let method = self.exchanges[&key]["method"].as_str().unwrap_or_default().to_string();
        let number = self.number(key);
        let result = match (&*method, kind) {
            (_, 9) => "null".into(),
            ("server/discover", 8) => "{\"supportedVersions\":[\"2025-11-25\"]}".into(),
            ("server/discover", _) => {
                "{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}".into()
            }
            ("initialize", _) => "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}".into(),
            ("tools/list", 0..=5) => {
                let tools: Vec<String> = (0..kind)
                    .map(|n| {
                        format!("{{\"name\":\"t{n}\",\"inputSchema\":{{\"type\":\"object\"}}}}")
                    })
                    .collect();
                let next = if kind == 3 { ",\"nextCursor\":\"\"" } else { "" };
                let scope = if kind % 2 == 0 { "public" } else { "private" };
                format!(
                    "{{\"tools\":[{}]{next},\"ttlMs\":{kind}000,\"cacheScope\":\"{scope}\"}}",
                    tools.join(", ")
                )
            }
            (_, 0..=5) => {
                format!("{{ \"content\": [{{\"type\":\"text\",\"text\":\"{number}\"}}] }}")
            }
            (_, 6) => "{\"resultType\":\"task\"}".into(),
            _ => "{\"content\":[{\"type\":\"text\",\"text\":\"\\ud83d\"}]}".into(),
        };
        let text = if kind == 7 {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{key},\"error\":{{\"code\":-32601,\"message\":\"{number}\"}}}}"
            )
        } else if kind == 4 {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{key}\",\"result\":{result}}}")
        } else {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{key},\"result\":{result}}}")
        };
        self.says(stream, &text);
    }

    /// Takes the outputs and holds each against what is known.
    fn drain(&mut self) {
        let mut count = 0;
        while let Some(output) = self.bridge.poll_output() {
            count += 1;
            assert!(count < 100, "outputs without end");
            match output {
                Output::Send(message) => self.sent(message.exchange, &message.text),
                Output::Cancel { exchange, text } => {
                    assert!(self.exchanges.contains_key(&exchange), "of nothing");
                    assert!(Notice::check(&text, Way::FromClient).is_ok());
                }
                Output::Notification { call, text } => {
                    let of = self.open.get(&call).expect("of a call that is open");
                    assert_eq!(of.via, Via::Conversation);
                    assert!(Notice::check(&text, Way::FromServer).is_ok(), "{text}");
                    if text.contains("notifications/message") {
                        assert!(of.logs, "it has not asked for it");
                    } else {
                        let token = of.token.expect("it has not asked for it");
                        assert!(text.contains(&format!("\"progressToken\":{token},")), "{text}");
                        self.is_own(call, &text, "message");
                    }
                }
                Output::Answer { call, answer } => {
                    let of = self.open.remove(&call).expect("one answer to each call");
                    let start = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},", of.id);
                    assert!(answer.text.starts_with(&start), "{}", answer.text);
                    assert!(!answer.text.contains('\n'));
                    assert!(serde_json::from_str::<Json>(&answer.text).is_ok(), "{}", answer.text);
                    if answer.problem.is_none() {
                        assert!(of.room.fits(&answer.text));
                        self.is_own(call, &answer.text, "text");
                        if of.is_list && answer.text.contains("\"result\"") {
                            assert!(
                                answer.text.contains("\"ttlMs\"")
                                    && answer.text.contains("\"cacheScope\"")
                            );
                        }
                    }
                }
            }
        }
    }

    fn sent(&mut self, exchange: Option<u64>, text: &str) {
        assert!(self.is_connected, "to nobody");
        assert!(!text.contains('\n'));
        let message: Json = serde_json::from_str(text).expect("JSON");
        let Some(key) = exchange else { return };
        assert!(key > self.latest, "an id is used again");
        self.latest = key;
        assert_eq!(message["id"], key);
        let method = message["method"].as_str().expect("a method").to_string();
        let opens = method == "initialize"
            || method == "server/discover" && self.bridge.status() == &Status::Opening;
        assert!(opens || self.has_opened, "a caller has the first word");
        self.has_opened = true;
        assert!(self.legacy || method != "initialize");
        if let Some(token) = message["params"]["_meta"].get("progressToken") {
            assert_eq!(token, key);
        }
        self.exchanges.insert(key, message);
    }

    /// That what the server has echoed is the call's own number.
    fn is_own(&self, call: CallId, text: &str, member: &str) {
        let Some(number) = self.numbers.iter().position(|other| *other == call) else { return };
        let mark = format!("\"{member}\":\"");
        if let Some((_, echo)) = text.split_once(&mark) {
            let echo = echo.split('"').next().unwrap_or_default();
            assert_eq!(echo, number.to_string(), "the answer to another call");
        }
    }

    fn check(&mut self) {
        assert_eq!(self.bridge.open_calls(), self.open.len(), "another number of calls");
        assert!(self.open.len() <= 12);
        let due = self.bridge.poll_timeout();
        let is_limited = due.is_some() || self.open.values().all(|call| call.listens);
        assert!(is_limited, "a call without a limit");
        if let Some(due) = due.filter(|due| *due <= self.now) {
            self.bridge.handle_timeout(self.now);
            self.drain();
            assert!(
                self.bridge.poll_timeout() > Some(due) || self.open.is_empty(),
                "time stands still"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripts of likely operations, by chance and always the same.
    #[test]
    fn scripts_by_chance() {
        const WORDS: [&str; 20] = [
            "c0004", "c0114", "c1004", "c0500", "c1108", "c0001", "c0102", "c2005", "c1226",
            "c0009", "a00", "a10", "a05", "a23", "a12", "p01", "p12", "l", "t3", "x0",
        ];
        const RARE: [&str; 12] =
            ["n0", "n5", "n7", "b3", "d o", "o", "d", "t5", "t4", "a08", "a07", "a09"];
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |count: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % count as u64) as usize
        };
        for _ in 0..1_500 {
            let mut script = format!("{}o a00 ", char::from(b'0' + below(16) as u8));
            for _ in 0..below(60) {
                let words: &[&str] = if below(6) == 0 { &RARE } else { &WORDS };
                script += words[below(words.len())];
                script.push(' ');
            }
            mcp_bridge(script.as_bytes());
        }
    }
}
