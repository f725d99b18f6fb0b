//! A stdio server in good and bad company. The server is this file itself, started again with
//! the variable `AGENTWIRE_TEST_CHILD`; so the tests have a runner of their own.

#[path = "stdio/child.rs"]
mod child;

use core::future::Future;
use core::time::Duration;
use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use agentwire_tokio::stdio::{
    BackendError, Call, Cause, Limit, Options, Reply, ServerCommand, SpawnError, StdioServer,
};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

fn main() -> ExitCode {
    if let Ok(mode) = std::env::var(child::VARIABLE) {
        return child::run(&mode);
    }
    // Orphans become children of this process, as they do in a container: a zombie shows.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).expect("Linux");
    macro_rules! trials {
        ($($name:ident)*) => { vec![$(trial(stringify!($name), $name)),*] };
    }
    let trials = trials![
        opens_with_its_own_discover
        ids_and_tokens_are_ours_on_the_way_and_the_callers_on_return
        the_same_id_and_token_of_two_callers_do_not_cross
        a_message_with_line_feeds_becomes_one_line
        a_request_that_would_harm_the_server_is_refused_with_its_code
        a_death_in_a_call_ends_all_calls_at_once
        a_death_is_seen_though_a_grandchild_holds_the_pipes
        a_program_that_does_not_exist
        a_server_that_ends_at_its_start
        a_server_that_is_silent_at_its_start
        a_server_of_an_older_revision
        a_server_of_other_revisions
        standard_error_without_line_feeds_never_blocks
        a_stubborn_server_and_its_grandchild_end
        a_dropped_server_ends
        the_end_of_the_runtime_ends_the_server
        a_polite_server_ends_without_signals
        an_answer_too_large_fails_its_call_only
        an_answer_too_large_with_its_id_last
        a_large_answer_within_the_limit_passes
        noise_is_dropped_and_counted
        an_invalid_answer_ends_its_call
        a_silent_call_ends_and_its_late_answer_is_dropped
        progress_extends_the_idle_limit_but_not_the_total
        log_messages_reach_a_call_only_if_it_is_alone
        a_dropped_call_is_cancelled_at_the_server
        a_caller_that_takes_nothing_still_gets_its_answer
        a_server_that_does_not_read_blocks_nobody
        a_server_that_closes_its_output_is_gone
        calls_above_the_limit_are_refused
        subscriptions_are_tied_by_the_callers_id
        two_hundred_servers_leave_nothing_behind
        a_signal_of_the_terminal_does_not_reach_the_server
        bad_servers_do_not_spoil_a_good_one
        limits_without_measure_are_taken
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial<F: Future<Output = ()> + 'static>(name: &str, test: fn() -> F) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failed::from)?;
        runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(60), test()).await })
            .map_err(Failed::from)
    })
}

fn command(mode: &str) -> ServerCommand {
    let program = std::env::current_exe().expect("a running program has a path");
    ServerCommand::new(program).env(child::VARIABLE, mode)
}

/// A child that ignores SIGTERM: what is ignored stays ignored over `exec`.
fn stubborn(mode: &str) -> ServerCommand {
    let program = std::env::current_exe().expect("a running program has a path");
    ServerCommand::new("sh")
        .args(["-c", "trap '' TERM; exec \"$0\""])
        .arg(program)
        .env(child::VARIABLE, mode)
}

fn options(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    options.start_timeout = Duration::from_secs(20);
    change(&mut options);
    options
}

async fn spawn(mode: &str) -> StdioServer {
    spawn_with(mode, |_| {}).await
}

async fn spawn_with(mode: &str, change: impl FnOnce(&mut Options)) -> StdioServer {
    StdioServer::spawn(command(mode), options(change)).await.expect("the child starts")
}

/// A request with this id, method and more members of `params`.
fn request(id: &str, method: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{more}"_meta":{{{META}}}}}}}"#
    )
}

fn request_with_token(id: &str, method: &str, token: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{more}"_meta":{{"progressToken":{token},{META}}}}}}}"#
    )
}

async fn call(server: &StdioServer, method: &str, more: &str) -> Call {
    server.call(&request("1", method, more)).await.expect("the request is sent")
}

async fn ask(server: &StdioServer, method: &str, more: &str) -> Value {
    let answer = call(server, method, more).await.response().await.expect("an answer");
    serde_json::from_str(&answer).expect("JSON")
}

/// Waits until `done`, at most five seconds.
async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(5), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The state letter of a process; `None` if there is none of this number.
fn state(pid: u64) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

fn pid(server: &StdioServer) -> u64 {
    u64::from(server.pid().expect("it runs"))
}

async fn opens_with_its_own_discover() {
    let server = spawn("serve").await;
    let seen = ask(&server, "test/seen", "").await;
    let first: Value =
        serde_json::from_str(seen["result"]["lines"][0].as_str().expect("a line")).expect("JSON");
    assert_eq!(first["method"], "server/discover");
    let meta = &first["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "agentwire");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    let discovery: Value = serde_json::from_str(server.discovery()).expect("JSON");
    assert_eq!(discovery["result"]["supportedVersions"], json!(["2026-07-28"]));
    server.close().await;
}

async fn ids_and_tokens_are_ours_on_the_way_and_the_callers_on_return() {
    let server = spawn("serve").await;
    let names =
        ["1", "\"1\"", "\"\"", "-1", "0", "8.0", "1e2", "9007199254740993", r#""a\u0062\/c é""#];
    for name in names {
        let text = request_with_token(name, "test/progress", name, "\"count\":2,");
        let mut call = server.call(&text).await.expect("sent");
        for step in 1..=2 {
            let reply = call.next().await.expect("a message").expect("no error");
            let expected = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{name},"progress":{step}}}}}"#
            );
            assert_eq!(reply, Reply::Notification(expected));
        }
        let answer = call.next().await.expect("a message").expect("no error");
        let start = format!(r#"{{"jsonrpc":"2.0","id":{name},"result":{{"#);
        assert!(answer.text().starts_with(&start), "{}", answer.text());
        assert!(matches!(answer, Reply::Response(_)));
        assert!(call.next().await.is_none());
    }
    let seen = ask(&server, "test/seen", "").await;
    let lines = seen["result"]["lines"].as_array().expect("lines");
    let mut ids = Vec::new();
    for line in lines.iter().skip(1).take(names.len()) {
        let line: Value = serde_json::from_str(line.as_str().expect("text")).expect("JSON");
        assert_eq!(line["id"], line["params"]["_meta"]["progressToken"]);
        ids.push(line["id"].as_u64().expect("a number of ours"));
    }
    ids.dedup();
    assert_eq!(ids.len(), names.len());
    assert_eq!(server.dropped(), Default::default());
    server.close().await;
}

async fn the_same_id_and_token_of_two_callers_do_not_cross() {
    let server = spawn("serve").await;
    // Answered in the opposite order.
    let hold = request_with_token("7", "test/hold", "\"t\"", "\"who\":\"first\",");
    let free = request_with_token("7", "test/release", "\"t\"", "\"who\":\"second\",");
    let mut first = server.call(&hold).await.expect("sent");
    let mut second = server.call(&free).await.expect("sent");
    for (call, who) in [(&mut first, "first"), (&mut second, "second")] {
        let note = call.next().await.expect("a message").expect("no error");
        assert!(note.text().contains(who) && note.text().contains(r#""progressToken":"t""#));
        let answer = call.response().await.expect("an answer");
        assert!(answer.contains(r#""id":7"#) && answer.contains(who), "{answer}");
    }
    server.close().await;
}

async fn a_message_with_line_feeds_becomes_one_line() {
    let server = spawn("serve").await;
    let text = format!(
        "{{\n \"method\" : \"test/echo\",\r\n\t\"extra\": [1,\n2],\n \"params\": {{ \"s\": \"a \\n\\\" b\\\\\",\n\
         \"n\": 1.50e+2, \"big\": 123456789012345678901234567890,\n\"_meta\": {{ {META} }} }},\n\
         \"id\": \"x\" , \"jsonrpc\":\n\"2.0\" }}\n"
    );
    let answer = server.call(&text).await.expect("sent").response().await.expect("an answer");
    let value: Value = serde_json::from_str(&answer).expect("JSON");
    let line = value["result"]["line"].as_str().expect("the line");
    let params = format!(
        r#""params":{{"s":"a \n\" b\\","n":1.50e+2,"big":123456789012345678901234567890,"_meta":{{{META}}}}}}}"#
    );
    assert!(line.ends_with(&params), "{line}");
    assert!(!line.contains("extra"));
    server.close().await;
}

async fn a_request_that_would_harm_the_server_is_refused_with_its_code() {
    let server = spawn("serve").await;
    let meta = format!("{{\"_meta\":{{{META}}}}}");
    let with = |token: &str| format!("{{\"_meta\":{{{META},\"progressToken\":{token}}}}}");
    let full = |id: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{params}}}"#)
    };
    let cases = [
        ("{".to_owned(), -32700),
        (String::new(), -32700),
        ("{} {}".to_owned(), -32700),
        ("\u{feff}{}".to_owned(), -32700),
        ("[]".to_owned(), -32600),
        ("\"text\"".to_owned(), -32600),
        (format!("[{}]", full("1", &meta)), -32600),
        (full("null", &meta), -32600),
        (full("1.5", &meta), -32600),
        (full("true", &meta), -32600),
        (full("{}", &meta), -32600),
        (full("1,\"id\":2", &meta), -32600),
        (full("1", &meta).replace("\"2.0\"", "\"1.0\""), -32600),
        (full("1", &meta).replace("\"jsonrpc\":\"2.0\",", ""), -32600),
        (full("1", &meta).replace("\"tools/list\"", "7"), -32600),
        (r#"{"jsonrpc":"2.0","method":"notifications/x"}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#.to_owned(), -32022),
        (full("1", &meta.replace("2026-07-28", "2025-11-25")), -32022),
        (full("1", "null"), -32600),
        (full("1", "[]"), -32602),
        (full("1", "{}"), -32602),
        (full("1", "{\"_meta\":null}"), -32602),
        (full("1", &meta.replace("\"2026-07-28\"", "7")), -32602),
        (full("1", &meta.replace(":{}", ":null")), -32602),
        (full("1", &with("null")), -32602),
        (full("1", &with("1.5")), -32602),
        (full("1", &with("1,\"progressToken\":2")), -32602),
    ];
    for (text, code) in cases {
        match server.call(&text).await {
            Err(BackendError::Request(error)) => assert_eq!(error.code(), code, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    let huge = "x".repeat(17 * 1024 * 1024);
    let error = server.call(&huge).await.expect_err("too large");
    assert!(matches!(error, BackendError::RequestTooLarge { len: 17_825_792, limit: 16_777_216 }));
    let seen = ask(&server, "test/seen", "").await;
    assert_eq!(seen["result"]["lines"].as_array().expect("lines").len(), 2, "nothing was sent");
    server.close().await;
}

async fn a_death_in_a_call_ends_all_calls_at_once() {
    let server = spawn("serve").await;
    let mut waiting = call(&server, "test/slow", "\"ms\":60000,").await;
    let start = Instant::now();
    let mut dying = call(&server, "test/die", "").await;
    for call in [&mut dying, &mut waiting] {
        match call.response().await {
            Err(BackendError::Ended(ended)) => {
                assert_eq!(ended.cause, Cause::Exited);
                assert_eq!(ended.status.and_then(|status| status.code()), Some(3));
                assert!(ended.stderr().ends_with("the disk is on fire\n"), "{}", ended.stderr());
                assert!(!format!("{ended:?} {ended}").contains("fire"));
            }
            other => panic!("{other:?}"),
        }
        assert!(call.next().await.is_none());
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let error = server.call(&request("1", "test/echo", "")).await.expect_err("it is gone");
    assert!(matches!(error, BackendError::Ended(_)));
    assert_eq!(server.ended().map(|ended| ended.cause), Some(Cause::Exited));
    let ended = server.close().await;
    assert_eq!((ended.cause, ended.killed), (Cause::Exited, false));
}

async fn a_death_is_seen_though_a_grandchild_holds_the_pipes() {
    let server = spawn("serve").await;
    let grandchild = ask(&server, "test/grandchild", "").await;
    let grandchild = grandchild["result"]["pid"].as_u64().expect("a number");
    let start = Instant::now();
    let error = call(&server, "test/die", "").await.response().await.expect_err("it dies");
    assert!(matches!(error, BackendError::Ended(_)), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    until("the grandchild is ended, too", || state(grandchild).is_none()).await;
    drop(server);
}

async fn a_program_that_does_not_exist() {
    let missing = ServerCommand::new("/nonexistent/server");
    let error = StdioServer::spawn(missing, Options::default()).await.expect_err("no such file");
    assert!(matches!(error, SpawnError::Start { .. }), "{error:?}");
    assert!(error.to_string().starts_with("/nonexistent/server could not be started: "));
}

async fn a_server_that_ends_at_its_start() {
    let start = Instant::now();
    let error = StdioServer::spawn(command("exit"), options(|_| {})).await.expect_err("it ends");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(error.stderr(), "no database\n");
    assert!(error.to_string().contains("exit status: 3"), "{error}");
}

async fn a_server_that_is_silent_at_its_start() {
    let wait = options(|options| options.start_timeout = Duration::from_millis(300));
    let start = Instant::now();
    let error = StdioServer::spawn(command("silent"), wait).await.expect_err("it is silent");
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    match error {
        SpawnError::NoAnswer { source: BackendError::Timeout { .. }, ended, .. } => {
            assert_eq!(ended.stderr(), "thinking\n");
            assert!(ended.status.is_some());
        }
        other => panic!("{other:?}"),
    }
}

async fn a_server_of_an_older_revision() {
    let error = StdioServer::spawn(command("legacy"), options(|_| {})).await.expect_err("old");
    assert!(matches!(error, SpawnError::Revision { code: Some(-32601), .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("does not speak MCP revision 2026-07-28"), "{text}");
    assert!(text.contains("-32601") && text.contains("older revisions are not supported"));
}

async fn a_server_of_other_revisions() {
    let error = StdioServer::spawn(command("other"), options(|_| {})).await.expect_err("other");
    let text = error.to_string();
    assert!(text.ends_with("it speaks 2025-11-25, 2025-06-18"), "{text}");
    let server = spawn("newer").await;
    assert!(server.discovery().contains("2027-01-01"));
    server.close().await;
}

async fn standard_error_without_line_feeds_never_blocks() {
    let server = spawn("serve").await;
    let answer = ask(&server, "test/stderr", "\"bytes\":262144,").await;
    assert_eq!(answer["result"]["resultType"], "complete");
    until("the last 64 KiB are kept", || server.stderr().len() == 64 * 1024).await;
    assert!(server.stderr().ends_with("xxxx"));
    server.close().await;
}

async fn a_stubborn_server_and_its_grandchild_end() {
    let grace = options(|options| options.grace = Duration::from_millis(500));
    let server = StdioServer::spawn(stubborn("stubborn"), grace).await.expect("it starts");
    let grandchild = ask(&server, "test/grandchild", "").await;
    let grandchild = grandchild["result"]["pid"].as_u64().expect("a number");
    let leader = pid(&server);
    assert!(state(leader).is_some() && state(grandchild).is_some());
    let start = Instant::now();
    let ended = server.close().await;
    let took = start.elapsed();
    assert!(ended.killed);
    // 500 ms to end by itself, 500 ms after SIGTERM, then SIGKILL.
    assert!(took > Duration::from_millis(900) && took < Duration::from_secs(3), "{took:?}");
    assert_eq!((state(leader), state(grandchild)), (None, None), "no process, no zombie");
}

async fn a_dropped_server_ends() {
    let server = spawn("serve").await;
    let leader = pid(&server);
    let mut waiting = call(&server, "test/slow", "\"ms\":60000,").await;
    drop(server);
    match waiting.response().await {
        Err(BackendError::Ended(ended)) => assert_eq!(ended.cause, Cause::Closed),
        other => panic!("{other:?}"),
    }
    until("the server ends", || state(leader).is_none()).await;
}

async fn the_end_of_the_runtime_ends_the_server() {
    let pids = std::thread::spawn(|| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let server = StdioServer::spawn(stubborn("stubborn"), Options::default()).await;
            let server = server.expect("it starts");
            let grandchild = ask(&server, "test/grandchild", "").await;
            (pid(&server), grandchild["result"]["pid"].as_u64().expect("a number"))
        })
    })
    .join()
    .expect("the thread ends");
    let alive = |pid| state(pid).is_some_and(|state| state != 'Z');
    until("both are killed", || !alive(pids.0) && !alive(pids.1)).await;
}

async fn a_polite_server_ends_without_signals() {
    let server = spawn("serve").await;
    let start = Instant::now();
    let ended = server.close().await;
    assert_eq!((ended.cause, ended.killed), (Cause::Closed, false));
    assert_eq!(ended.status.and_then(|status| status.code()), Some(0));
    assert!(start.elapsed() < Duration::from_millis(450), "{:?}", start.elapsed());
}

/// The most memory this process ever had, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("VmHWM");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

async fn an_answer_too_large_fails_its_call_only() {
    let server = spawn("serve").await;
    let before = peak();
    let mut other = call(&server, "test/hold", "").await;
    let big = call(&server, "test/big", "\"bytes\":104857600,").await.response().await;
    assert!(matches!(big, Err(BackendError::AnswerTooLarge { limit: 16_777_216 })), "{big:?}");
    let grown = peak().saturating_sub(before);
    assert!(grown < 80 * 1024, "{grown} KiB");
    ask(&server, "test/release", "").await;
    other.response().await.expect("the other call goes on");
    assert_eq!(server.dropped().overlong, 1);
    server.close().await;
}

async fn an_answer_too_large_with_its_id_last() {
    let server = spawn_with("serve", |options| options.max_line = 1024).await;
    let big = call(&server, "test/big", "\"bytes\":5000,\"last\":true,").await.response().await;
    assert!(matches!(big, Err(BackendError::AnswerTooLarge { limit: 1024 })), "{big:?}");
    server.close().await;
}

async fn a_large_answer_within_the_limit_passes() {
    let server = spawn("serve").await;
    let answer = call(&server, "test/big", "\"bytes\":3145728,").await.response().await;
    assert!(answer.expect("an answer").len() > 3_145_728);
    server.close().await;
}

async fn noise_is_dropped_and_counted() {
    let server = spawn_with("serve", |options| options.max_line = 256 * 1024).await;
    let mut noisy = call(&server, "test/noise", "").await;
    let answer = noisy.next().await.expect("a message").expect("no error");
    assert!(matches!(answer, Reply::Response(_)), "the noise is no message");
    ask(&server, "test/echo", "").await;
    let dropped = server.dropped();
    assert_eq!(dropped.malformed, child::MALFORMED.len() as u64 + 1, "{dropped:?}");
    assert_eq!(dropped.not_utf8, 1);
    assert_eq!(dropped.unknown, 4);
    assert_eq!(dropped.late, 1, "an answer given twice");
    assert_eq!(dropped.unattributed, 1);
    assert_eq!((dropped.overlong, dropped.full), (0, 0));
    server.close().await;
}

async fn an_invalid_answer_ends_its_call() {
    let server = spawn("serve").await;
    for shape in [
        "\"result\":null",
        "\"result\":{},\"error\":{}",
        "\"x\":1",
        "\"error\":\"no\"",
        "\"result\":{\"half\":\"\\ud83d\"}",
        "\"result\":{",
    ] {
        let text = serde_json::to_string(shape).expect("a string");
        let answer = call(&server, "test/shape", &format!("\"shape\":{text},")).await;
        let error = { answer }.response().await.expect_err(shape);
        assert!(matches!(error, BackendError::InvalidAnswer), "{error:?}");
    }
    let error = call(&server, "test/deep", "").await.response().await.expect_err("too deep");
    assert!(matches!(error, BackendError::InvalidAnswer), "{error:?}");
    assert_eq!(server.dropped().malformed, 7);
    let shape = r#""shape":"\"error\": {\"code\": -1, \"message\": \"no\"}","#;
    let answer = call(&server, "test/shape", shape).await.response().await.expect("an answer");
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#);
    server.close().await;
}

async fn a_silent_call_ends_and_its_late_answer_is_dropped() {
    let limit = Duration::from_millis(300);
    let server = spawn_with("serve", |options| options.idle_timeout = limit).await;
    let start = Instant::now();
    let mut slow = call(&server, "test/hold", "").await;
    match slow.response().await {
        Err(BackendError::Timeout { limit: Limit::Idle, after }) => assert_eq!(after, limit),
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() < Duration::from_secs(2));
    let seen = ask(&server, "test/seen", "").await;
    let lines = seen["result"]["lines"].as_array().expect("lines");
    let cancel: Value = serde_json::from_str(lines[2].as_str().expect("text")).expect("JSON");
    assert_eq!(cancel["method"], "notifications/cancelled");
    let held: Value = serde_json::from_str(lines[1].as_str().expect("text")).expect("JSON");
    assert_eq!(cancel["params"]["requestId"], held["id"], "our id, not the caller's");
    // Now the server answers it after all.
    ask(&server, "test/release", "").await;
    until("the late answer is dropped", || server.dropped().late == 1).await;
    assert!(slow.next().await.is_none());
    server.close().await;
}

async fn progress_extends_the_idle_limit_but_not_the_total() {
    let server = spawn_with("serve", |options| {
        options.idle_timeout = Duration::from_millis(400);
        options.total_timeout = Duration::from_millis(1500);
    })
    .await;
    let lively = |count: u32| {
        let more = format!("\"count\":{count},\"ms\":100,");
        request_with_token("1", "test/progress", "1", &more)
    };
    let mut long = server.call(&lively(8)).await.expect("sent");
    long.response().await.expect("800 ms of progress outlast an idle limit of 400");
    let start = Instant::now();
    let mut endless = server.call(&lively(100)).await.expect("sent");
    match endless.response().await {
        Err(BackendError::Timeout { limit: Limit::Total, .. }) => {}
        other => panic!("{other:?}"),
    }
    let took = start.elapsed();
    assert!(took > Duration::from_millis(1400) && took < Duration::from_secs(3), "{took:?}");
    drop(server);
}

async fn log_messages_reach_a_call_only_if_it_is_alone() {
    let server = spawn("serve").await;
    let mut alone = call(&server, "test/log", "").await;
    let note = alone.next().await.expect("a message").expect("no error");
    assert_eq!(
        note.text(),
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}"#
    );
    alone.response().await.expect("an answer");
    let held = call(&server, "test/hold", "").await;
    let mut second = call(&server, "test/log", "").await;
    let reply = second.next().await.expect("a message").expect("no error");
    assert!(matches!(reply, Reply::Response(_)));
    assert_eq!(server.dropped().unattributed, 1);
    // The server may still work on what the caller gave up.
    drop(held);
    let mut third = call(&server, "test/log", "").await;
    let reply = third.next().await.expect("a message").expect("no error");
    assert!(matches!(reply, Reply::Response(_)));
    assert_eq!(server.dropped().unattributed, 2);
    server.close().await;
}

async fn a_dropped_call_is_cancelled_at_the_server() {
    let server = spawn("serve").await;
    drop(call(&server, "test/hold", "").await);
    assert_eq!(server.in_flight(), 0);
    let seen = ask(&server, "test/seen", "").await;
    let lines = seen["result"]["lines"].as_array().expect("lines");
    assert!(lines[2].as_str().expect("text").contains("notifications/cancelled"));
    // A call that has its answer is not cancelled.
    let seen = ask(&server, "test/seen", "").await;
    assert_eq!(seen["result"]["lines"].as_array().expect("lines").len(), 5);
    server.close().await;
}

async fn a_caller_that_takes_nothing_still_gets_its_answer() {
    let server = spawn("serve").await;
    let text = request_with_token("1", "test/progress", "1", "\"count\":1000,");
    let mut lazy = server.call(&text).await.expect("sent");
    ask(&server, "test/echo", "").await;
    until("the answer has come", || server.in_flight() == 0).await;
    let mut notes = 0;
    while let Some(reply) = lazy.next().await {
        match reply.expect("no error") {
            Reply::Notification(_) => notes += 1,
            _ => assert_eq!(notes, 64),
        }
    }
    assert_eq!(server.dropped().full, 1000 - 64);
    server.close().await;
}

async fn a_server_that_does_not_read_blocks_nobody() {
    let server = spawn_with("deaf", |options| {
        options.idle_timeout = Duration::from_millis(300);
        options.grace = Duration::from_millis(300);
    })
    .await;
    let more = format!("\"pad\":\"{}\",", "x".repeat(1024 * 1024));
    let start = Instant::now();
    for _ in 0..3 {
        let error = match server.call(&request("1", "test/echo", &more)).await {
            Ok(mut call) => call.response().await.expect_err("it does not read"),
            Err(error) => error,
        };
        assert!(matches!(error, BackendError::Timeout { limit: Limit::Idle, .. }), "{error:?}");
    }
    let leader = pid(&server);
    server.close().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(state(leader), None);
}

async fn a_server_that_closes_its_output_is_gone() {
    // The shell closes its standard output after the first answer and lives on.
    let answer = child::discovery("1", &["2026-07-28"]);
    let script = format!("read line; echo '{answer}'; read line; exec >&-; sleep 60");
    let command = ServerCommand::new("sh").args(["-c", &script]);
    let server = StdioServer::spawn(command, options(|_| {})).await.expect("it starts");
    let start = Instant::now();
    match call(&server, "tools/list", "").await.response().await {
        Err(BackendError::Ended(ended)) => assert_eq!(ended.cause, Cause::StdoutClosed),
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    server.close().await;
}

async fn calls_above_the_limit_are_refused() {
    let server = spawn_with("serve", |options| options.max_in_flight = 2).await;
    let first = call(&server, "test/hold", "").await;
    let second = call(&server, "test/hold", "").await;
    let error = server.call(&request("1", "test/echo", "")).await.expect_err("full");
    assert!(matches!(error, BackendError::Busy { limit: 2 }), "{error:?}");
    drop((first, second));
    ask(&server, "test/echo", "").await;
    server.close().await;
}

async fn subscriptions_are_tied_by_the_callers_id() {
    let server = spawn("serve").await;
    let text = request("\"sub\"", "subscriptions/listen", "");
    let mut listen = server.call(&text).await.expect("sent");
    let key = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}"#;
    let note = listen.next().await.expect("a message").expect("no error");
    assert!(note.text().contains("notifications/tools/list_changed"), "{}", note.text());
    assert!(note.text().contains(key), "{}", note.text());
    let end = listen.response().await.expect("an answer");
    assert!(end.contains(key), "{end}");
    server.close().await;
}

async fn two_hundred_servers_leave_nothing_behind() {
    let mut leaders = Vec::new();
    for _ in 0..20 {
        let mut servers = Vec::new();
        for _ in 0..10 {
            servers.push(spawn("serve").await);
        }
        for server in servers {
            ask(&server, "test/echo", "").await;
            leaders.push(pid(&server));
            drop(server);
        }
    }
    assert_eq!(leaders.len(), 200);
    until("all ended", || leaders.iter().all(|&leader| state(leader).is_none())).await;
}

async fn a_signal_of_the_terminal_does_not_reach_the_server() {
    let server = spawn("serve").await;
    let pid = rustix::process::Pid::from_raw(pid(&server).try_into().expect("a process id"));
    let group = rustix::process::getpgid(pid).expect("it runs");
    assert_eq!(Some(group), pid, "it leads a group of its own");
    server.close().await;
}

async fn bad_servers_do_not_spoil_a_good_one() {
    let short = || options(|options| options.start_timeout = Duration::from_millis(500));
    let hanging =
        spawn_with("serve", |options| options.idle_timeout = Duration::from_millis(500)).await;
    let (never, gone, hung, good) = tokio::join!(
        StdioServer::spawn(command("silent"), short()),
        StdioServer::spawn(command("exit"), short()),
        async { call(&hanging, "test/hold", "").await.response().await },
        async {
            let server = spawn("serve").await;
            let start = Instant::now();
            for _ in 0..50 {
                ask(&server, "test/echo", "").await;
            }
            (server, start.elapsed())
        },
    );
    assert!(never.expect_err("silent").program().contains("stdio"));
    assert!(gone.is_err() && hung.is_err());
    assert!(good.1 < Duration::from_secs(2), "{:?}", good.1);
    good.0.close().await;
}

async fn limits_without_measure_are_taken() {
    let server = spawn_with("serve", |options| {
        options.start_timeout = Duration::MAX;
        options.idle_timeout = Duration::MAX;
        options.total_timeout = Duration::MAX;
        options.grace = Duration::MAX;
        options.max_line = usize::MAX;
        options.max_notification = usize::MAX;
        options.max_in_flight = usize::MAX;
        options.queue = usize::MAX;
        options.stderr_tail = 0;
    })
    .await;
    ask(&server, "test/stderr", "\"bytes\":10000,").await;
    drop(call(&server, "test/hold", "").await);
    assert_eq!(server.stderr(), "");
    server.close().await;

    let server = spawn_with("serve", |options| {
        options.queue = 0;
        options.max_notification = 0;
        options.grace = Duration::ZERO;
    })
    .await;
    let text = request_with_token("1", "test/progress", "1", "\"count\":3,");
    let mut call = server.call(&text).await.expect("sent");
    assert!(matches!(call.next().await, Some(Ok(Reply::Response(_)))));
    assert_eq!(server.dropped().overlong, 3);
    server.close().await;
}
