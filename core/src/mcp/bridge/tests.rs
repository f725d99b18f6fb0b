//! The bridge, scenario by scenario: what public reports and real peers have shown to go wrong.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use serde_json::{Value as Json, json};

use super::*;

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2025-11-25","2026-07-28","2027-01-01"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"ttlMs":0,"cacheScope":"public"}"#;

/// A bridge with a clock.
struct World {
    bridge: Bridge,
    now: Instant,
}

impl World {
    /// A bridge whose server has come up.
    fn up(config: Config) -> Self {
        let mut world = Self { bridge: Bridge::new(config), now: Instant::from_millis(1_000) };
        world.bridge.connected(world.now);
        let (key, opening) = world.sent();
        assert_eq!(opening["method"], "server/discover");
        world.answer(key, DISCOVERED);
        assert_eq!(world.bridge.status(), &Status::Up);
        assert_eq!(world.bridge.poll_output(), None);
        world
    }

    fn begin(&mut self, caller: u64, request: &str) -> CallId {
        self.begin_in(caller, request, Room::UNLIMITED, Via::Conversation)
    }

    fn begin_in(&mut self, caller: u64, request: &str, room: Room, via: Via) -> CallId {
        let ask = Ask { caller: CallerId(caller), request, room, via };
        self.bridge.begin(self.now, &ask)
    }

    /// The next output, which goes to the server: its exchange and the message.
    #[track_caller]
    fn sent(&mut self) -> (u64, Json) {
        match self.bridge.poll_output() {
            Some(Output::Send(message)) => {
                assert!(!message.text.contains('\n'));
                let text = serde_json::from_str(&message.text).unwrap();
                (message.exchange.unwrap_or(0), text)
            }
            other => panic!("{other:?}"),
        }
    }

    /// The next output, which is the answer to this call.
    #[track_caller]
    fn answered(&mut self, call: CallId) -> (String, Option<Problem>) {
        match self.bridge.poll_output() {
            Some(Output::Answer { call: whose, answer }) => {
                assert_eq!(whose, call);
                serde_json::from_str::<Json>(&answer.text).unwrap();
                (answer.text, answer.problem)
            }
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn error(&mut self, call: CallId) -> (i64, Json) {
        let (text, _) = self.answered(call);
        let mut text: Json = serde_json::from_str(&text).unwrap();
        (text["error"]["code"].as_i64().expect("an error"), text["error"]["data"].take())
    }

    #[track_caller]
    fn notified(&mut self, call: CallId) -> Json {
        match self.bridge.poll_output() {
            Some(Output::Notification { call: whose, text }) => {
                assert_eq!(whose, call);
                serde_json::from_str(&text).unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn cancelled(&mut self) -> u64 {
        match self.bridge.poll_output() {
            Some(Output::Cancel { exchange, text }) => {
                let text: Json = serde_json::from_str(&text).unwrap();
                assert_eq!(text["method"], "notifications/cancelled");
                assert_eq!(text["params"]["requestId"], exchange);
                exchange
            }
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn quiet(&mut self) {
        assert_eq!(self.bridge.poll_output(), None);
    }

    fn says(&mut self, text: &str) {
        self.bridge.handle_message(self.now, None, text);
    }

    fn answer(&mut self, key: u64, result: &str) {
        self.says(&format!(r#"{{"jsonrpc":"2.0","id":{key},"result":{result}}}"#));
    }

    fn progress(&mut self, token: &str, progress: &str) {
        self.says(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
        ));
    }

    fn log(&mut self) {
        self.says(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"d"}}"#);
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
        self.bridge.handle_timeout(self.now);
    }
}

fn request(id: &str, method: &str, params: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{meta}}}}}}}"#
    )
}

fn call(id: &str, meta: &str) -> String {
    request(id, "tools/call", r#""name":"add","#, meta)
}

const DONE: &str = r#"{"resultType":"complete","content":[]}"#;

#[test]
fn ids_and_tokens_come_back_as_they_were_written() {
    let mut world = World::up(Config::default());
    // Two callers with the same id and the same token, and ids of every kind.
    for id in
        ["0", "\"1\"", "1", "\"caf\\u00e9\"", "\"\"", "8.0", "1e2", "-1", "9223372036854775808"]
    {
        for token in ["0", "\"\"", "\"1\"", id] {
            let text = call(id, &format!(",\"progressToken\":{token}"));
            let a = world.begin(1, &text);
            let b = world.begin(2, &text);
            let ((key_a, sent_a), (key_b, sent_b)) = (world.sent(), world.sent());
            assert_ne!(key_a, key_b);
            for (key, sent) in [(key_a, &sent_a), (key_b, &sent_b)] {
                assert_eq!(sent["id"], key);
                assert_eq!(sent["params"]["_meta"]["progressToken"], key);
            }
            world.progress(&key_b.to_string(), "1");
            let expected: Json = serde_json::from_str(token).unwrap();
            assert_eq!(world.notified(b)["params"]["progressToken"], expected);
            // Some servers echo a number as a string.
            world.progress(&format!("\"{key_a}\""), "0.5");
            world.notified(a);
            world.answer(key_b, DONE);
            let (text, problem) = world.answered(b);
            assert!(
                text.starts_with(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":")),
                "{text}"
            );
            assert_eq!(problem, None);
            world.says(&format!(r#"{{"result":{DONE},"id":"{key_a}","jsonrpc":"2.0"}}"#));
            world.answered(a);
        }
    }
    assert_eq!(world.bridge.dropped(), Dropped::default());
}

#[test]
fn no_caller_has_the_first_word_and_no_bad_request_goes_on() {
    let mut bridge = Bridge::new(Config::default());
    let now = Instant::ZERO;
    bridge.connected(now);
    let mut world = World { bridge, now };
    let waiting = world.begin(1, &call("1", ""));
    let (key, sent) = world.sent();
    assert_eq!((key, &sent["method"]), (1, &json!("server/discover")));
    for bad in [
        "",
        "not JSON",
        "[]",
        "\u{feff}{}",
        &call("null", ""),
        &call("1.5", ""),
        &call("1", ",\"progressToken\":null"),
        &call("1", "").replace("clientCapabilities", "x"),
        &call("1", "").replace("\"jsonrpc\":\"2.0\",", ""),
        &call("1", "").replace("\"id\":1,", ""),
        &call("1", "").replace("\"id\":1,", "\"id\":1,\"id\":1,"),
        &call("1", "").replace("2026-07-28", "2025-11-25"),
        &format!("[{}]", call("1", "")),
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":"\ud83d"}}"#,
    ] {
        let refused = world.begin(2, bad);
        let (text, problem) = world.answered(refused);
        assert!(matches!(problem, Some(Problem::Request(_))), "{bad}");
        assert!(!text.contains("\"id\":null"), "{text}");
    }
    world.quiet();
    world.answer(key, DISCOVERED);
    let (key, sent) = world.sent();
    assert_eq!(sent["method"], "tools/call");
    world.answer(key, DONE);
    world.answered(waiting);
}

#[test]
fn a_refused_request_is_told_where_and_why() {
    let mut world = World::up(Config::default());
    let id = world.begin(1, &call("\"a\"", ",\"progressToken\":1.5"));
    let (text, _) = world.answered(id);
    assert_eq!(
        text,
        r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"the request is not one of MCP","data":{"reason":"invalid_request","path":"$.params._meta.progressToken","fault":"it is not a string or an integer"}}}"#
    );
    let id = world.begin(1, &call("1", "").replace("2026-07-28", "2025-11-25"));
    let (code, data) = world.error(id);
    assert_eq!(code, -32022);
    assert_eq!(data, json!({"supported": ["2026-07-28", "2027-01-01"], "requested": "2025-11-25"}));
    // A later revision that the server does not have, although some servers would answer it.
    let id = world.begin(1, &call("1", "").replace("2026-07-28", "2028-01-01"));
    let (code, data) = world.error(id);
    assert_eq!(code, -32022);
    assert_eq!(data["requested"], "2028-01-01");
    // One that it has passes through.
    let later = world.begin(1, &call("1", "").replace("2026-07-28", "2027-01-01"));
    let (key, _) = world.sent();
    world.answer(key, r#"{ "resultType" : "streamed", "x": null }"#);
    assert!(world.answered(later).0.contains(r#""result":{"resultType":"streamed","x":null}"#));
}

#[test]
fn line_feeds_are_taken_out_and_nothing_else_is_changed() {
    let mut world = World::up(Config::default());
    let text = "{\n  \"jsonrpc\": \"2.0\",\r\n\t\"id\": 1, \"extra\": 1, \"method\": \"tools/call\", \"params\": {\n \"name\": \"a b\\n\", \"arguments\": {\"x\": [1, 2.50, \"\u{2028}\"]},\n \"_meta\": {\"io.modelcontextprotocol/protocolVersion\": \"2026-07-28\", \"io.modelcontextprotocol/clientCapabilities\": {}, \"traceparent\": \"00\"}}}";
    world.begin(1, text);
    let Some(Output::Send(sent)) = world.bridge.poll_output() else { panic!() };
    assert_eq!(
        sent.text,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"a b\\n\",\"arguments\":{\"x\":[1,2.50,\"\u{2028}\"]},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},\"traceparent\":\"00\"}}}"
    );
}

#[test]
fn what_belongs_to_nothing_is_dropped_and_counted() {
    let mut world = World::up(Config::default());
    let open = world.begin(1, &call("1", ",\"progressToken\":\"t\""));
    let (key, _) = world.sent();
    world.says("Listening on stdio");
    world.says("[]");
    world.says(r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}"#);
    world.says(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#);
    world.answer(99, DONE);
    world.says(r#"{"jsonrpc":"2.0","id":"x","result":{}}"#);
    world.says(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no id"}}"#);
    world.says(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no id"}}"#);
    world.progress("\"tool-call-4\"", "1");
    world.progress("1", "1");
    world.says(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    // A server's cancellation of an id that is ours, and no subscription's.
    world.says(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{key}}}}}"#
    ));
    world.log();
    world.quiet();
    world.progress(&key.to_string(), "1");
    world.notified(open);
    world.progress(&key.to_string(), "1");
    world.answer(key, DONE);
    world.answered(open);
    world.answer(key, DONE);
    world.progress(&key.to_string(), "2");
    world.quiet();
    let dropped = world.bridge.dropped();
    assert_eq!(
        dropped,
        Dropped {
            malformed: 5,
            unknown: 5,
            late: 3,
            unattributed: 1,
            unasked: 2,
            ..Dropped::default()
        }
    );
}

#[test]
fn messages_go_to_the_call_they_can_only_be_about() {
    let mut world = World::up(Config::default());
    let loud = ",\"io.modelcontextprotocol/logLevel\":\"debug\"";
    let a = world.begin(1, &call("1", loud));
    let (key_a, _) = world.sent();
    world.log();
    assert_eq!(world.notified(a)["params"]["level"], "info");
    let b = world.begin(2, &call("1", loud));
    let (key_b, _) = world.sent();
    world.log();
    assert_eq!(world.bridge.dropped().unattributed, 1);
    // On a stream of its own each gets its own.
    let text =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    world.bridge.handle_message(world.now, Some(key_b), text);
    world.notified(b);
    world.answer(key_a, DONE);
    world.answered(a);
    world.log();
    world.notified(b);
    // A call that was given up may still be written about.
    let c = world.begin(3, &call("1", loud));
    world.sent();
    world.bridge.cancel(world.now, c);
    world.cancelled();
    world.log();
    world.quiet();
    assert_eq!(world.bridge.dropped().unattributed, 2);
    world.answer(key_b, DONE);
    world.answered(b);
}

#[test]
fn one_call_at_a_time_where_that_is_asked_for() {
    let config = Config { attribution: Attribution::OneAtATime, ..Config::default() };
    let mut world = World::up(config);
    let loud = ",\"io.modelcontextprotocol/logLevel\":\"debug\"";
    let calls: Vec<CallId> = (0..3).map(|caller| world.begin(caller, &call("1", loud))).collect();
    for call in calls {
        let (key, _) = world.sent();
        world.quiet();
        world.log();
        world.notified(call);
        world.answer(key, DONE);
        world.answered(call);
    }
    world.quiet();
}

#[test]
fn time_runs_out_and_progress_extends_one_limit_of_two() {
    let config = Config {
        idle_timeout: Duration::from_secs(5),
        total_timeout: Duration::from_secs(12),
        ..Config::default()
    };
    let mut world = World::up(config);
    let silent = world.begin(1, &call("1", ""));
    let (key, _) = world.sent();
    world.pass(4_999);
    world.quiet();
    assert_eq!(world.bridge.poll_timeout(), Some(world.now + Duration::from_millis(1)));
    world.pass(1);
    let (code, data) = world.error(silent);
    assert_eq!(code, -32603);
    assert_eq!(data, json!({"reason": "timeout", "limit": "idle", "afterMs": 5000}));
    assert_eq!(world.cancelled(), key);
    world.answer(key, DONE);
    world.quiet();
    assert_eq!(world.bridge.dropped().late, 1);

    let lively = world.begin(1, &call("1", ",\"progressToken\":1"));
    let (key, _) = world.sent();
    for step in 1..=3 {
        world.pass(3_999);
        world.quiet();
        world.progress(&key.to_string(), &step.to_string());
        world.notified(lively);
    }
    world.pass(3);
    let (_, data) = world.error(lively);
    assert_eq!(data, json!({"reason": "timeout", "limit": "total", "afterMs": 12000}));
    world.cancelled();
    assert_eq!(world.bridge.poll_timeout(), None);
}

#[test]
fn a_caller_that_has_gone_leaves_nothing_behind() {
    let mut world = World::up(Config::default());
    let a = world.begin(1, &call("1", ",\"progressToken\":1"));
    let (key, _) = world.sent();
    world.bridge.cancel(world.now, a);
    assert_eq!(world.cancelled(), key);
    world.bridge.cancel(world.now, a);
    world.progress(&key.to_string(), "1");
    world.says(&format!(
        r#"{{"jsonrpc":"2.0","id":{key},"error":{{"code":0,"message":"Request cancelled"}}}}"#
    ));
    world.quiet();
    assert_eq!(world.bridge.open_calls(), 0);
    assert_eq!(world.bridge.dropped().late, 2);
}

#[test]
fn calls_end_with_their_server() {
    let mut world = World::up(Config::default());
    let calls: Vec<CallId> = (0..3).map(|caller| world.begin(caller, &call("1", ""))).collect();
    for _ in 0..3 {
        world.sent();
    }
    world.bridge.disconnected("exit status: 3");
    for call in calls {
        let (code, data) = world.error(call);
        assert_eq!(
            (code, data),
            (-32603, json!({"reason": "backend_ended", "why": "exit status: 3"}))
        );
    }
    world.bridge.set_retry_after(Some(Duration::from_millis(250)));
    let down = world.begin(1, &call("1", ""));
    let (_, data) = world.error(down);
    assert_eq!(data, json!({"reason": "backend_down", "retryAfterMs": 250}));
    // The next one is asked anew, and answers of the last one mean nothing.
    world.bridge.connected(world.now);
    let (key, opening) = world.sent();
    assert_eq!(opening["method"], "server/discover");
    world.answer(2, DONE);
    assert_eq!(world.bridge.status(), &Status::Opening);
    let waiting = world.begin(1, &call("1", ""));
    world.quiet();
    world.answer(key, DISCOVERED);
    let (key, _) = world.sent();
    world.answer(key, DONE);
    world.answered(waiting);
}

#[test]
fn as_many_calls_as_there_may_be() {
    let config = Config { max_calls: 4, max_per_caller: 2, ..Config::default() };
    let mut world = World::up(config);
    for (caller, limit) in [(1, 0), (1, 0), (1, 2), (2, 0), (2, 0), (3, 4)] {
        let id = world.begin(caller, &call("1", ""));
        if limit == 0 {
            world.sent();
        } else {
            let (text, problem) = world.answered(id);
            assert_eq!(problem, Some(Problem::Busy { limit }));
            assert!(text.contains(&format!("{{\"reason\":\"busy\",\"capacity\":{limit}}}")));
        }
    }
}

#[test]
fn a_request_up_to_the_limit_and_one_above_it() {
    let text = call("1", "");
    for (limit, fits) in [(text.len() - 1, false), (text.len(), true), (text.len() + 1, true)] {
        let mut world = World::up(Config {
            max_message: limit.max(DISCOVERED.len() + 64),
            ..Config::default()
        });
        world.bridge.config.max_message = limit;
        let id = world.begin(1, &text);
        if fits {
            world.sent();
        } else {
            let (code, data) = world.error(id);
            assert_eq!(code, -32600);
            assert_eq!(
                data,
                json!({"reason": "request_too_large", "size": text.len(), "limit": limit})
            );
        }
    }
}

#[test]
fn an_answer_that_does_not_fit_becomes_an_error_with_a_hint() {
    let mut world = World::up(Config::default());
    let result = r#"{"resultType":"complete","content":[{"type":"text","text":"\"\n"}]}"#;
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    let needed = crate::json::length::escaped_len(&answer);
    for limit in [needed - 1, needed, needed + 1] {
        let id = world.begin_in(1, &call("1", ""), Room::escaped(limit), Via::Conversation);
        let (key, _) = world.sent();
        world.answer(key, result);
        if limit < needed {
            let (text, problem) = world.answered(id);
            assert_eq!(problem, Some(Problem::TooLarge { needed, limit }));
            assert!(text.contains("-32603"));
            assert!(text.contains(&format!("\"size\":{needed},\"limit\":{limit}")), "{text}");
        } else {
            assert_eq!(world.answered(id), (answer.clone(), None));
        }
    }
    // One that is too long to be read at all ends its call, and no other.
    let (a, b) = (world.begin(1, &call("1", "")), world.begin(2, &call("1", "")));
    let ((key_a, _), (key_b, _)) = (world.sent(), world.sent());
    let head = format!(r#"{{"jsonrpc":"2.0","id":{key_a},"result":{{"content":[{{"text":"é"#);
    world.bridge.handle_overlong(world.now, None, &head.as_bytes()[..head.len() - 1]);
    assert!(matches!(world.answered(a).1, Some(Problem::TooLarge { .. })));
    world.answer(key_b, DONE);
    world.answered(b);
}

#[test]
fn answers_that_are_none() {
    let mut world = World::up(Config::default());
    for (result, path) in [
        ("null", None),
        ("[]", None),
        (r#"{"resultType":"task","content":[]}"#, Some("$.result.resultType")),
        (r#"{"resultType":"input_required"}"#, Some("$.result")),
        (
            r#"{"resultType":"complete","resultType":"input_required","content":[]}"#,
            Some("$.result.resultType"),
        ),
        (r#"{"resultType":"complete","content":7}"#, Some("$.result.content")),
        (
            r#"{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}}"#,
            Some("$.result.inputRequests.k"),
        ),
    ] {
        let id = world.begin(1, &call("1", ""));
        let (key, _) = world.sent();
        world.answer(key, result);
        let (code, data) = world.error(id);
        assert_eq!((code, &data["reason"]), (-32603, &json!("invalid_answer")), "{result}");
        assert_eq!(data["path"].as_str(), path, "{result}");
    }
    for broken in [
        r#"{"jsonrpc":"2.0","id":KEY,"result":{"content":[{"text":"\ud83d"}]}}"#,
        r#"{"jsonrpc":"2.0","id":KEY,"result":{},"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":KEY,"result":{},"error":null}"#,
        r#"{"jsonrpc":"2.0","id":KEY,"error":{"code":"1","message":""}}"#,
        r#"{"jsonrpc":"2.0","id":KEY,"result":{"a":"#,
    ] {
        let id = world.begin(1, &call("1", ""));
        let (key, _) = world.sent();
        world.says(&broken.replace("KEY", &key.to_string()));
        assert_eq!(world.error(id).1["reason"], "invalid_answer", "{broken}");
    }
    // What is odd deep inside is passed on, and counted.
    let id = world.begin(1, &call("1", ""));
    let (key, _) = world.sent();
    world.answer(key, r#"{"content":[{"type":"video"}],"isError":null}"#);
    assert_eq!(
        world.answered(id).0,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"video"}]}}"#
    );
    assert_eq!(world.bridge.dropped().faulty, 1);
}

#[test]
fn requests_for_input_and_what_comes_of_them_pass() {
    let mut world = World::up(Config::default());
    let text = call("1", "")
        .replace("clientCapabilities\":{}", "clientCapabilities\":{\"elicitation\":{}}");
    let id = world.begin(1, &text);
    let (key, _) = world.sent();
    let result = r#"{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"s\u0031"}"#;
    world.answer(key, result);
    assert_eq!(world.answered(id).0, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
    let retry = text.replace(
        "\"name\"",
        r#""inputResponses":{"k":{"action":"cancel"}},"requestState":"s\u0031","name""#,
    );
    world.begin(1, &retry);
    let Some(Output::Send(sent)) = world.bridge.poll_output() else { panic!() };
    assert!(sent.text.contains(r#""requestState":"s\u0031""#), "{}", sent.text);
}

#[test]
fn methods_that_the_revision_has_no_longer_do_not_reach_the_server() {
    let mut world = World::up(Config::default());
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/result"]
    {
        let id = world.begin(1, &request("1", method, "", ""));
        assert_eq!(world.error(id).0, -32601, "{method}");
        world.quiet();
    }
    // One of an extension does, and so does what a later revision may have anew.
    for text in [
        request("1", "tasks/get", "", ""),
        request("1", "ping", "", "").replace("2026-07-28", "2027-01-01"),
    ] {
        world.begin(1, &text);
        world.sent();
    }
}

#[test]
fn subscriptions_are_declined_or_passed_with_their_ids() {
    let listen = request(
        "\"l\"",
        "subscriptions/listen",
        r#""notifications":{"toolsListChanged":true},"#,
        "",
    );
    let mut world = World::up(Config::default());
    let id = world.begin(1, &listen);
    assert_eq!(world.error(id).0, -32601);
    let id = world.begin(1, &request("1", "server/discover", "", ""));
    let (key, _) = world.sent();
    world.answer(key, DISCOVERED);
    let text: Json = serde_json::from_str(&world.answered(id).0).unwrap();
    assert_eq!(text["result"]["capabilities"], json!({"tools": {}, "resources": {}}));
    assert_eq!(text["result"]["supportedVersions"], json!(["2026-07-28", "2027-01-01"]));

    let mut world = World::up(Config { subscriptions: true, ..Config::default() });
    let one_shot = world.begin_in(1, &listen, Room::UNLIMITED, Via::OneShot);
    assert_eq!(world.error(one_shot).0, -32601);
    let id = world.begin(1, &listen);
    let (key, sent) = world.sent();
    assert_eq!(sent["id"], key);
    // It lasts as long as both sides want.
    world.pass(100_000_000);
    world.quiet();
    let note = |key: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{key}}}}}}}"#
        )
    };
    world.says(&note(key));
    let subscription =
        |text: &Json| text["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
    assert_eq!(subscription(&world.notified(id)["params"]), "l");
    world.says(&note(key + 1));
    assert_eq!(world.bridge.dropped().unknown, 1);
    world.answer(key, &format!(r#"{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{key}}}}}"#));
    let text: Json = serde_json::from_str(&world.answered(id).0).unwrap();
    assert_eq!(subscription(&text["result"]), "l");
    // The other way to end one.
    let id = world.begin(1, &listen);
    let (key, _) = world.sent();
    world.says(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{key}}}}}"#
    ));
    let text: Json = serde_json::from_str(&world.answered(id).0).unwrap();
    assert_eq!(subscription(&text["result"]), "l");
}

fn tool(name: &str, more: usize) -> String {
    format!(
        r#"{{"name":"{name}","description":"{}","inputSchema":{{"type":"object"}}}}"#,
        "d".repeat(more)
    )
}

/// Answers the pages of a list as the server makes them: `sizes` entries each.
fn serve_pages(world: &mut World, sizes: &[usize], more: usize, caching: &str) {
    let mut number = 0;
    for (page, size) in sizes.iter().enumerate() {
        let (key, sent) = world.sent();
        let cursor =
            if page == 0 { Json::Null } else { json!(if page == 1 { "" } else { "next" }) };
        assert_eq!(sent["params"].get("cursor").cloned().unwrap_or_default(), cursor);
        assert_eq!(
            sent["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
        let tools: Vec<String> = (0..*size)
            .map(|_| {
                number += 1;
                tool(&format!("t{number}"), more)
            })
            .collect();
        // An empty cursor is one like any other.
        let next = match page {
            _ if page + 1 == sizes.len() => "",
            0 => r#","nextCursor":"""#,
            _ => r#","nextCursor":"next""#,
        };
        world.answer(
            key,
            &format!(
                r#"{{"resultType":"complete","tools":[{}]{next},{caching}}}"#,
                tools.join(",")
            ),
        );
    }
}

/// Takes all pages that the bridge makes, and gives the names and the number of pages.
fn take_pages(world: &mut World, caller: u64, room: Room, first: CallId) -> (Vec<String>, usize) {
    let (mut names, mut pages, mut id) = (Vec::new(), 0, first);
    loop {
        let (text, problem) = world.answered(id);
        assert_eq!(problem, None);
        assert!(room.fits(&text), "{} of {}", room.needed(&text), room.limit);
        let page: Json = serde_json::from_str(&text).unwrap();
        let tools = page["result"]["tools"].as_array().unwrap();
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_string()));
        pages += 1;
        let Some(cursor) = page["result"]["nextCursor"].as_str() else { return (names, pages) };
        let params = format!(r#""cursor":"{cursor}","#);
        id = world.begin_in(
            caller,
            &request("1", "tools/list", &params, ""),
            room,
            Via::Conversation,
        );
    }
}

#[test]
fn lists_come_in_pages_that_fit_whatever_pages_the_server_makes() {
    for sizes in [&[10][..], &[1; 10], &[3, 7], &[0, 10], &[5, 0, 5], &[0]] {
        for limit in [600, 1_000, 5_000, usize::MAX] {
            for caching in
                [r#""ttlMs":0,"cacheScope":"private""#, r#""ttlMs":60000,"cacheScope":"public""#]
            {
                let mut world = World::up(Config::default());
                let room = if limit == usize::MAX { Room::UNLIMITED } else { Room::escaped(limit) };
                let id = world.begin_in(
                    1,
                    &request("1", "tools/list", "", ",\"progressToken\":1"),
                    room,
                    Via::Conversation,
                );
                serve_pages(&mut world, sizes, 50, caching);
                let (names, pages) = take_pages(&mut world, 1, room, id);
                let all: Vec<String> =
                    (1..=sizes.iter().sum()).map(|n: usize| format!("t{n}")).collect();
                assert_eq!(names, all, "{sizes:?} {limit}");
                assert_eq!(pages > 1, limit < 2_000 && names.len() == 10);
                world.quiet();
            }
        }
    }
}

#[test]
fn a_list_is_kept_as_long_and_for_whom_its_server_says() {
    for (caching, own, others) in [
        (r#""ttlMs":0,"cacheScope":"public""#, false, false),
        (r#""ttlMs":1000,"cacheScope":"private""#, true, false),
        (r#""ttlMs":1000,"cacheScope":"public""#, true, true),
        (r#""ttlMs":1000,"cacheScope":"""#, true, false),
        (r#""ttlMs":1000"#, true, false),
        (r#""ttlMs":-5,"cacheScope":"public""#, false, false),
    ] {
        let mut world = World::up(Config::default());
        let list = request("1", "tools/list", "", "");
        let id = world.begin(1, &list);
        serve_pages(&mut world, &[1], 0, caching);
        world.answered(id);
        for (caller, is_kept) in [(1, own), (2, others)] {
            let id = world.begin(caller, &list);
            if is_kept {
                world.answered(id);
            } else {
                world.sent();
                world.bridge.cancel(world.now, id);
                world.cancelled();
            }
        }
        // A list with other parameters is another list.
        let other = world.begin(1, &request("1", "tools/list", r#""filter":1,"#, ""));
        world.sent();
        world.bridge.cancel(world.now, other);
        world.cancelled();
        world.pass(999);
        let id = world.begin(1, &list);
        if own {
            let (text, _) = world.answered(id);
            assert!(text.contains("\"ttlMs\":1,"), "{text}");
        } else {
            world.sent();
        }
        world.pass(1);
        world.begin(1, &list);
        if own {
            world.sent();
        }
    }
}

#[test]
fn a_change_or_a_new_server_ends_the_keeping() {
    let mut world = World::up(Config::default());
    let list = request("1", "tools/list", "", "");
    let id = world.begin(1, &list);
    serve_pages(&mut world, &[1], 0, r#""ttlMs":1000,"cacheScope":"public""#);
    world.answered(id);
    world.says(r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#);
    let id = world.begin(1, &list);
    world.answered(id);
    world.says(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    let id = world.begin(1, &list);
    serve_pages(&mut world, &[1], 0, r#""ttlMs":1000,"cacheScope":"public""#);
    world.answered(id);
    world.bridge.disconnected("");
    world.bridge.connected(world.now);
    let (key, _) = world.sent();
    world.answer(key, DISCOVERED);
    world.begin(1, &list);
    world.sent();
}

#[test]
fn cursors_that_lead_nowhere() {
    let mut world = World::up(Config::default());
    for cursor in
        ["", "zzz", "0", "0-0", "1-0000000000000000", "99999999999999999999-0000000000000000"]
    {
        let id =
            world.begin(1, &request("1", "tools/list", &format!("\"cursor\":\"{cursor}\","), ""));
        serve_pages(&mut world, &[2], 0, r#""ttlMs":0,"cacheScope":"public""#);
        let (code, data) = world.error(id);
        assert_eq!((code, &data["reason"]), (-32602, &json!("bad_cursor")), "{cursor}");
    }
}

#[test]
fn a_list_as_long_as_allowed_and_one_longer() {
    for (max, fits) in [(0, false), (-1, false), (1, true)] {
        let bytes = tool("t1", 0).len() + tool("t2", 0).len();
        let max_list = match max {
            0 => bytes - 1,
            -1 => 1,
            _ => bytes,
        };
        let mut world = World::up(Config { max_list, ..Config::default() });
        let id = world.begin(1, &request("1", "tools/list", "", ""));
        serve_pages(&mut world, &[2], 0, r#""ttlMs":0,"cacheScope":"public""#);
        let (_, problem) = world.answered(id);
        assert_eq!(problem.is_none(), fits, "{problem:?}");
    }
    // A server whose cursors never end.
    let mut world = World::up(Config::default());
    let id = world.begin(1, &request("1", "tools/list", "", ""));
    for page in 0..MAX_LIST_PAGES {
        let (key, _) = world.sent();
        if page + 1 == MAX_LIST_PAGES {
            let cancelled = world.bridge.open_calls();
            assert_eq!(cancelled, 1);
        }
        world.answer(key, r#"{"tools":[],"nextCursor":"again"}"#);
    }
    assert!(matches!(world.answered(id).1, Some(Problem::TooLarge { .. })));
}

#[test]
fn an_entry_that_fits_in_no_page_is_left_out_and_the_page_says_so() {
    let mut world = World::up(Config::default());
    let room = Room::escaped(900);
    let id = world.begin_in(1, &request("1", "tools/list", "", ""), room, Via::Conversation);
    let (key, _) = world.sent();
    let tools = [tool("a", 1), tool("b", 2_000), tool("c", 1)].join(",");
    world.answer(key, &format!(r#"{{"tools":[{tools}],"_meta":{{"x":1}}}}"#));
    let (text, _) = world.answered(id);
    let page: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(page["result"]["tools"].as_array().unwrap().len(), 2);
    assert_eq!(page["result"]["_meta"], json!({"agentwire/omitted": 1, "x": 1}));
    assert!(room.fits(&text));
    // There is a room in which no page fits.
    let id = world.begin_in(
        1,
        &request("1", "tools/list", "", ""),
        Room::escaped(50),
        Via::Conversation,
    );
    let (key, _) = world.sent();
    world.answer(key, r#"{"tools":[]}"#);
    assert!(matches!(world.answered(id).1, Some(Problem::TooLarge { limit: 50, .. })));
}

#[test]
fn callers_of_one_list_share_no_private_answer() {
    let mut world = World::up(Config::default());
    let list = request("1", "tools/list", "", "");
    let (a, b, c) = (world.begin(1, &list), world.begin(1, &list), world.begin(2, &list));
    let ((first, _), (second, _)) = (world.sent(), world.sent());
    world.quiet();
    world.answer(second, r#"{"tools":[]}"#);
    world.answered(c);
    world.answer(first, r#"{"tools":[]}"#);
    world.answered(a);
    world.answered(b);
    // One that goes leaves the other's list alone; the last one ends it.
    let (a, b) = (world.begin(1, &list), world.begin(1, &list));
    let (key, _) = world.sent();
    world.bridge.cancel(world.now, a);
    world.quiet();
    world.bridge.cancel(world.now, b);
    assert_eq!(world.cancelled(), key);
}

#[test]
fn tools_that_need_a_conversation() {
    let config = Config { conversation_tools: alloc::vec!["add".into()], ..Config::default() };
    let mut world = World::up(config);
    let one_shot = |world: &mut World, name: &str| {
        let text = request("1", "tools/call", &format!("\"name\":\"{name}\","), "");
        world.begin_in(1, &text, Room::UNLIMITED, Via::OneShot)
    };
    let id = one_shot(&mut world, "add");
    assert_eq!(world.answered(id).1, Some(Problem::ConversationRequired));
    world.begin(1, &call("1", ""));
    world.sent();
    one_shot(&mut world, "marked");
    world.sent();
    let id = world.begin(1, &request("1", "tools/list", "", ""));
    let (key, _) = world.sent();
    world.answer(key, r#"{"tools":[{"name":"marked","inputSchema":{"type":"object"},"_meta":{"agentwire/conversation":true}}]}"#);
    world.answered(id);
    let id = one_shot(&mut world, "marked");
    assert_eq!(world.answered(id).1, Some(Problem::ConversationRequired));
    one_shot(&mut world, "other");
    world.sent();
}

const NO_METHOD: &str =
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;

#[test]
fn a_server_of_an_older_revision_is_refused_with_a_clear_word() {
    for (answer, refusal) in [
        (NO_METHOD, Refusal::Revision { code: Some(-32601), supported: Vec::new() }),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}}"#,
            Refusal::Revision { code: Some(-32022), supported: alloc::vec!["2025-11-25".into()] },
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-11-25"]}}"#,
            Refusal::Revision { code: None, supported: alloc::vec!["2025-11-25".into()] },
        ),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Refusal::Unclear),
        (r#"{"jsonrpc":"2.0","id":1,"result":7}"#, Refusal::Unclear),
    ] {
        let mut world = World { bridge: Bridge::new(Config::default()), now: Instant::ZERO };
        world.bridge.connected(world.now);
        world.sent();
        let waiting = world.begin(1, &call("1", ""));
        world.says(answer);
        assert_eq!(world.bridge.status(), &Status::Refused(refusal));
        assert_eq!(world.answered(waiting).1, Some(Problem::Refused));
        let late = world.begin(1, &call("1", ""));
        assert_eq!(world.answered(late).1, Some(Problem::Refused));
    }
    let mut world = World { bridge: Bridge::new(Config::default()), now: Instant::ZERO };
    world.bridge.connected(world.now);
    world.sent();
    world.pass(29_999);
    assert_eq!(world.bridge.status(), &Status::Opening);
    world.pass(1);
    assert_eq!(world.bridge.status(), &Status::Refused(Refusal::NoAnswer));
}

const INITIALIZED: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"old","version":"1"},"instructions":"i"}"#;

/// A bridge before an older server that has come up.
fn adapted() -> World {
    let config = Config { legacy: true, ..Config::default() };
    let mut world = World { bridge: Bridge::new(config), now: Instant::ZERO };
    world.bridge.connected(world.now);
    world.sent();
    world.says(NO_METHOD);
    let (key, sent) = world.sent();
    assert_eq!(sent["method"], "initialize");
    assert_eq!(sent["params"]["protocolVersion"], "2025-11-25");
    world.answer(key, INITIALIZED);
    let (_, sent) = world.sent();
    assert_eq!(sent, json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert!(world.bridge.is_legacy());
    world
}

#[test]
fn a_server_of_an_older_revision_is_adapted_where_that_is_asked_for() {
    let mut world = adapted();
    let id = world.begin(1, &request("\"d\"", "server/discover", "", ""));
    let text: Json = serde_json::from_str(&world.answered(id).0).unwrap();
    assert_eq!(
        text,
        json!({"jsonrpc": "2.0", "id": "d", "result": {
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "instructions": "i", "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "old", "version": "1"}}}})
    );
    let id = world.begin(1, &call("1", ",\"progressToken\":\"t\",\"traceparent\":\"00\""));
    let (key, sent) = world.sent();
    assert_eq!(
        sent["params"],
        json!({"name": "add", "_meta": {"progressToken": key, "traceparent": "00"}})
    );
    world.progress(&key.to_string(), "1");
    assert_eq!(world.notified(id)["params"]["progressToken"], "t");
    world.answer(key, r#"{"content":[{"type":"text","text":"3"}]}"#);
    assert_eq!(
        world.answered(id).0,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"3"}]}}"#
    );
    // Nothing of the envelope is left.
    let id = world.begin(1, &request("1", "tools/list", "", ""));
    let (key, sent) = world.sent();
    assert_eq!(sent["params"], json!({}));
    world.answer(key, r#"{"tools":[],"nextCursor":"c"}"#);
    let (key, sent) = world.sent();
    assert_eq!(sent["params"], json!({"cursor": "c"}));
    world.answer(key, r#"{"tools":[]}"#);
    assert_eq!(
        world.answered(id).0,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}"#
    );
    for (code, became) in
        [(-32002, -32602), (-32042, -32603), (-32050, -32603), (-32602, -32602), (7, 7)]
    {
        let id = world.begin(1, &request("1", "resources/read", r#""uri":"u","#, ""));
        let (key, _) = world.sent();
        world.says(&format!(
            r#"{{"jsonrpc":"2.0","id":{key},"error":{{"code":{code},"message":"m","data":1}}}}"#
        ));
        assert_eq!(world.error(id), (became, json!(1)));
    }
}

#[test]
fn an_older_server_on_http_hears_its_revision_in_a_header() {
    let config = Config { legacy: true, http: true, ..Config::default() };
    let mut world = World { bridge: Bridge::new(config), now: Instant::ZERO };
    let headers = |world: &mut World| match world.bridge.poll_output() {
        Some(Output::Send(sent)) => (sent.exchange, sent.headers),
        other => panic!("{other:?}"),
    };
    world.bridge.connected(world.now);
    let (key, none) = headers(&mut world);
    assert!(none.is_empty());
    world.bridge.handle_lost(world.now, key.unwrap(), "HTTP status 400");
    let (key, none) = headers(&mut world);
    assert!(none.is_empty());
    world.answer(key.unwrap(), INITIALIZED);
    let version = alloc::vec![("mcp-protocol-version".into(), "2025-06-18".into())];
    assert_eq!(headers(&mut world), (None, version.clone()));
    // No list is asked for before a call: there are no headers for arguments.
    world.begin(1, &call("1", ""));
    assert_eq!(headers(&mut world).1, version);
    world.begin(1, &request("2", "tools/list", "", ""));
    assert_eq!(headers(&mut world).1, version);
    // The next server may be another one.
    world.bridge.disconnected("gone");
    while world.bridge.poll_output().is_some() {}
    world.bridge.connected(world.now);
    assert!(headers(&mut world).1.is_empty());
}

#[test]
fn an_older_server_may_ask_and_gets_a_polite_no() {
    let mut world = adapted();
    world.says(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    assert_eq!(world.sent().1, json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    world.says(r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}"#);
    let (_, sent) = world.sent();
    assert_eq!((&sent["id"], &sent["error"]["code"]), (&json!(9), &json!(-32601)));
}

#[test]
fn an_older_server_that_dies_of_the_first_message_is_greeted_otherwise() {
    let config = Config { legacy: true, ..Config::default() };
    let mut world = World { bridge: Bridge::new(config), now: Instant::ZERO };
    world.bridge.connected(world.now);
    assert_eq!(world.sent().1["method"], "server/discover");
    world.bridge.disconnected("exit status: 1");
    world.bridge.connected(world.now);
    let (key, sent) = world.sent();
    assert_eq!(sent["method"], "initialize");
    world.says(&format!(
        r#"{{"jsonrpc":"2.0","id":{key},"error":{{"code":-32600,"message":"no"}}}}"#
    ));
    let refused = Status::Refused(Refusal::Handshake { code: Some(-32600) });
    assert_eq!(world.bridge.status(), &refused);
}

#[test]
fn over_streams_of_their_own_an_answer_without_an_id_is_for_its_stream() {
    let mut world = World::up(Config::default());
    let (a, b) = (world.begin(1, &call("1", "")), world.begin(2, &call("\"b\"", "")));
    let ((key_a, _), (key_b, _)) = (world.sent(), world.sent());
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"m"}}"#;
    world.bridge.handle_message(world.now, Some(key_b), error);
    assert_eq!(
        world.answered(b).0,
        r#"{"jsonrpc":"2.0","id":"b","error":{"code":-32602,"message":"m"}}"#
    );
    // An answer to another one than the stream's is nobody's.
    let c = world.begin(3, &call("1", ""));
    let (key_c, _) = world.sent();
    let text = format!(r#"{{"jsonrpc":"2.0","id":{key_a},"result":{DONE}}}"#);
    world.bridge.handle_message(world.now, Some(key_c), &text);
    world.quiet();
    assert_eq!(world.bridge.dropped().unknown, 1);
    world.bridge.handle_lost(world.now, key_a, "the stream ended");
    assert_eq!(world.error(a).1["reason"], "backend_ended");
    world.bridge.handle_message(world.now, Some(key_c), "<html>");
    assert_eq!(world.error(c).1["reason"], "invalid_answer");
}

#[test]
fn what_is_shown_holds_no_text_of_a_message() {
    let mut world = World::up(Config::default());
    let text = call("\"secret-id\"", "").replace("add", "secret-tool");
    let ask = Ask { caller: CallerId(1), request: &text, room: Room::UNLIMITED, via: Via::OneShot };
    assert!(!format!("{ask:?}").contains("secret"));
    world.bridge.begin(world.now, &ask);
    let output = world.bridge.poll_output();
    assert!(!format!("{output:?}").contains("secret"));
    world.answer(2, r#"{"content":[{"type":"text","text":"secret"}]}"#);
    let output = world.bridge.poll_output();
    assert!(!format!("{output:?}").contains("secret"));
}

fn http() -> World {
    World::up(Config { http: true, ..Config::default() })
}

#[track_caller]
fn sent_with(world: &mut World) -> (u64, Vec<(String, String)>) {
    match world.bridge.poll_output() {
        Some(Output::Send(message)) => {
            assert_eq!(message.method, Method::CallTool);
            (message.exchange.unwrap(), message.headers)
        }
        other => panic!("{other:?}"),
    }
}

const MIRRORED: &str = r#"{"tools":[
    {"name":"add","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}}},
    {"name":"bad","inputSchema":{"type":"object","properties":{"r":{"type":"array","x-mcp-header":"R"}}}}
],"ttlMs":60000,"cacheScope":"public"}"#;

#[test]
fn over_http_a_call_has_the_headers_that_its_schema_asks_for() {
    let mut world = http();
    let text = call("1", "").replace("\"add\"", r#""add","arguments":{"r":"caf\u00e9"}"#);
    let id = world.begin(1, &text);
    // The list is asked for before the first call.
    let (key, sent) = world.sent();
    assert_eq!(sent["method"], "tools/list");
    assert_eq!(sent["params"].as_object().unwrap().len(), 1);
    world.answer(key, MIRRORED);
    let (key, headers) = sent_with(&mut world);
    assert_eq!(headers, [("mcp-param-Region".into(), "=?base64?Y2Fmw6k=?=".into())]);
    // The tool has changed meanwhile: its list is asked for once more.
    let mismatch = |key: u64| {
        format!(r#"{{"jsonrpc":"2.0","id":{key},"error":{{"code":-32020,"message":"m"}}}}"#)
    };
    world.says(&mismatch(key));
    let (key, sent) = world.sent();
    assert_eq!(sent["method"], "tools/list");
    world.answer(key, &MIRRORED.replace("Region", "Area"));
    let (key, headers) = sent_with(&mut world);
    assert_eq!(headers[0].0, "mcp-param-Area");
    // But not again and again.
    world.says(&mismatch(key));
    assert_eq!(world.error(id).0, -32020);
    // What is known is not asked for again, and a tool that nobody can call is not listed.
    world.begin(2, &text);
    sent_with(&mut world);
    let list = world.begin(2, &request("1", "tools/list", "", ""));
    let (text, _) = world.answered(list);
    assert!(text.contains("add") && !text.contains("bad"), "{text}");
}

#[test]
fn over_http_a_list_that_fails_does_not_keep_a_call_back() {
    for answer in [
        r#"{"jsonrpc":"2.0","id":KEY,"error":{"code":-32601,"message":"no tools"}}"#,
        r#"{"jsonrpc":"2.0","id":KEY,"result":{"tools":7}}"#,
        r#"{"jsonrpc":"2.0","id":KEY,"result":"#,
    ] {
        let mut world = http();
        let id = world.begin(1, &call("1", ""));
        let (key, _) = world.sent();
        world.says(&answer.replace("KEY", &key.to_string()));
        let (key, headers) = sent_with(&mut world);
        assert_eq!(headers, []);
        world.answer(key, DONE);
        world.answered(id);
    }
}
