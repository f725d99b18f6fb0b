//! The other side: an MCP server that does what its caller asks, good or bad.

use core::time::Duration;
use std::io::{self, BufRead, Write};
use std::process::{Command, ExitCode};
use std::thread::sleep;

use serde_json::{Value, json};

/// Names the mode of a child.
pub(crate) const VARIABLE: &str = "AGENTWIRE_TEST_CHILD";

/// Lines that are no message.
pub(crate) const MALFORMED: [&str; 9] = [
    "Server listening",
    "[]",
    "7",
    "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{",
    "{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}",
    "{\"id\":1,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"sampling/createMessage\",\"params\":{}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"result\":{}}",
];

pub(crate) fn discovery(id: &str, revisions: &[&str]) -> String {
    let revisions = json!(revisions);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","supportedVersions":{revisions},"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}"#
    )
}

fn say(line: impl AsRef<[u8]>) {
    let mut out = io::stdout().lock();
    // A reader that is gone is seen at the end of the standard input.
    let _ = out.write_all(line.as_ref()).and_then(|()| out.write_all(b"\n"));
    let _ = out.flush();
}

fn answer(id: &Value, more: &str) {
    say(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete"{more}}}}}"#));
}

fn forever() -> ! {
    loop {
        sleep(Duration::from_secs(60));
    }
}

pub(crate) fn run(mode: &str) -> ExitCode {
    match mode {
        "exit" => {
            eprintln!("no database");
            return ExitCode::from(3);
        }
        "silent" => {
            eprintln!("thinking");
            forever();
        }
        "grandchild" => forever(),
        _ => {}
    }
    let mut server = Server { seen: Vec::new(), held: Vec::new() };
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        server.seen.push(line);
        if request["method"] != "server/discover" {
            if let Some(code) = server.serve(&request) {
                return code;
            }
            continue;
        }
        let id = request["id"].to_string();
        match mode {
            "legacy" => say(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
            )),
            "other" => say(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"Unsupported protocol version","data":{{"supported":["2025-11-25","2025-06-18"],"requested":"2026-07-28"}}}}}}"#
            )),
            "newer" => say(discovery(&id, &["2025-11-25", "2027-01-01"])),
            _ => say(discovery(&id, &["2026-07-28"])),
        }
        if mode == "deaf" {
            forever();
        }
    }
    if mode == "stubborn" {
        forever();
    }
    ExitCode::SUCCESS
}

struct Server {
    seen: Vec<String>,
    held: Vec<Value>,
}

impl Server {
    fn serve(&mut self, request: &Value) -> Option<ExitCode> {
        let (id, params) = (&request["id"], &request["params"]);
        let number = |name: &str| params[name].as_u64().unwrap_or_default();
        match request["method"].as_str().unwrap_or_default() {
            "test/seen" => {
                let pid = std::process::id();
                answer(id, &format!(",\"lines\":{},\"pid\":{pid}", json!(self.seen)));
            }
            "initialize" => answer(id, r#","protocolVersion":"2025-06-18","capabilities":{}"#),
            "test/echo" => {
                answer(id, &format!(",\"line\":{}", json!(self.seen.last())));
            }
            "test/progress" => {
                let token = &params["_meta"]["progressToken"];
                for step in 1..=number("count") {
                    sleep(Duration::from_millis(number("ms")));
                    say(format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}}}}}"#
                    ));
                }
                answer(id, "");
            }
            "test/hold" => self.held.push(request.clone()),
            "test/release" => {
                finish(request);
                self.held.drain(..).for_each(|held| finish(&held));
            }
            "test/slow" => {
                // Time passes while other requests are read.
                let (id, time) = (id.clone(), Duration::from_millis(number("ms")));
                std::thread::spawn(move || {
                    sleep(time);
                    answer(&id, "");
                });
            }
            "test/die" => {
                eprintln!("the disk is on fire");
                return Some(ExitCode::from(3));
            }
            "test/stderr" => {
                let bytes = vec![b'x'; usize::try_from(number("bytes")).unwrap_or_default()];
                io::stderr().write_all(&bytes).expect("it is read");
                answer(id, "");
            }
            "test/grandchild" => {
                let program = std::env::current_exe().expect("a running program has a path");
                let child = Command::new(program).env(VARIABLE, "grandchild").spawn();
                answer(id, &format!(",\"pid\":{}", child.expect("it starts").id()));
            }
            "test/big" => big(id, number("bytes"), params["last"] == true),
            "test/noise" => noise(id),
            "test/deep" => {
                answer(id, &format!(",\"deep\":{}1{}", "[".repeat(100_000), "]".repeat(100_000)));
            }
            "test/shape" => {
                let shape = params["shape"].as_str().unwrap_or_default();
                say(format!(r#"{{"jsonrpc":"2.0","id":{id},{shape}}}"#));
            }
            "test/log" => {
                say(
                    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}"#,
                );
                answer(id, "");
            }
            "subscriptions/listen" => {
                let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
                say(format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{{meta}}}}}"#
                ));
                answer(id, &format!(",{meta}"));
            }
            _ => {}
        }
        None
    }
}

/// One note of progress, then the answer, both with who asked.
fn finish(request: &Value) {
    let (id, params) = (&request["id"], &request["params"]);
    let (token, who) = (&params["_meta"]["progressToken"], &params["who"]);
    if !token.is_null() {
        say(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1,"message":{who}}}}}"#
        ));
    }
    answer(id, &format!(",\"who\":{who}"));
}

/// An answer of about this many bytes, in pieces, with its id at the start or at the end.
fn big(id: &Value, bytes: u64, last: bool) {
    let mut out = io::stdout().lock();
    let mut put = |text: &[u8]| out.write_all(text).expect("it is read");
    if last {
        put(b"{\"result\":{\"pad\":\"");
    } else {
        put(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"pad\":\"").as_bytes());
    }
    let block = [b'x'; 65536];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(block.len() as u64);
        put(&block[..usize::try_from(part).unwrap_or(block.len())]);
        left -= part;
    }
    if last {
        put(format!("\"}},\"jsonrpc\":\"2.0\",\"id\":{id}}}\n").as_bytes());
    } else {
        put(b"\"}}\n");
    }
    out.flush().expect("it is read");
}

fn noise(id: &Value) {
    MALFORMED.iter().for_each(say);
    // Nested as deep as it gets, and no message.
    say("[".repeat(100_000));
    say(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xff\"}}");
    // Ids that were never given out, and an error about nothing.
    say(r#"{"jsonrpc":"2.0","id":99999,"result":{}}"#);
    say(r#"{"jsonrpc":"2.0","id":"abc","result":{}}"#);
    say(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#);
    say(
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99999,"progress":1}}"#,
    );
    say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    // Blank lines do no harm.
    say("\n\r\n");
    answer(id, "");
    answer(id, "");
}
