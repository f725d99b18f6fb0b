//! Every MCP client and every MCP server that is there, with nothing between them and with all of it:
//! `gateway mcp --transparent`, two chat cores, `serve mcp`. What a client sees is the same.
//!
//! ```text
//!  client ══ server                                                     directly
//!  client ══ gateway ── core ══ core ── serve ══ server                 in a conversation
//!                            ══                                         over Service RPC
//! ```
//!
//! Three clients are programs on the SDKs of Python, npm and Rust, which take the same steps and
//! print a line for each; the fourth is the inspector's command line. What has to differ is taken
//! out first, and it is little: what o'clock it is, what is left of the time that a list may be
//! kept, and, over Service RPC, progress and logs, for which an answer has no place (Agent protocols
//! over SimpleX, "Service RPC").

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use agentwire_tests::peers::{folder, node, program, root};
use agentwire_tests::program::{Running, agentwire};
use serde_json::{Value, json};

/// What is called of the fixtures.
const FIXTURE_TOOLS: [&str; 18] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_unusual_text",
    "test_long_text",
    "test_error_handling",
    "test_tool_with_progress",
    "test_tool_with_logging",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
    "there is no such tool",
];

fn step(method: &str, params: Value) -> Value {
    json!({"method": method, "params": params})
}

fn call(name: &str, arguments: Value) -> Value {
    step("tools/call", json!({"name": name, "arguments": arguments}))
}

fn fixture_steps() -> Vec<Value> {
    let mut steps = vec![
        step("tools/list", json!({})),
        step("resources/list", json!({})),
        step("resources/templates/list", json!({})),
        step("prompts/list", json!({})),
    ];
    steps.extend(FIXTURE_TOOLS.map(|name| call(name, json!({}))));
    steps.extend([
        call("test_structured_content", json!({"a": 1, "b": 0.5})),
        call("test_structured_content", json!({"a": 1})),
        call("json_schema_2020_12_tool", json!({"name": "ann", "phone": "1"})),
        call("test_custom_headers", json!({"region": "zürich"})),
    ]);
    for uri in ["test://static-text", "test://static-binary", "test://template/7/data", "test://no"]
    {
        steps.push(step("resources/read", json!({ "uri": uri })));
    }
    for (name, arguments) in [
        ("test_simple_prompt", json!({})),
        ("test_prompt_with_image", json!({})),
        ("test_prompt_with_arguments", json!({"arg1": "é", "arg2": "\"\n"})),
        ("test_prompt_with_embedded_resource", json!({"resourceUri": "test://it"})),
        ("test_input_required_result_prompt", json!({})),
    ] {
        steps.push(step("prompts/get", json!({"name": name, "arguments": arguments})));
    }
    steps.push(step(
        "completion/complete",
        json!({"ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
            "argument": {"name": "arg1", "value": "par"}}),
    ));
    steps
}

/// A server: the words that start it, and what is asked of it.
struct Server {
    name: &'static str,
    words: Vec<String>,
    steps: Vec<Value>,
}

fn words<const N: usize>(words: [&Path; N]) -> Vec<String> {
    words.map(|word| word.to_str().expect("a plain path").to_owned()).into()
}

fn script(name: &str) -> PathBuf {
    root().join("tests/peers").join(name)
}

fn servers(repository: &Path) -> Vec<Server> {
    let path = repository.to_str().expect("a plain path");
    let local = ["--local-timezone", "UTC"].map(Path::new);
    vec![
        Server {
            name: "time",
            words: words([&program("mcp-server-time"), local[0], local[1]]),
            steps: vec![
                step("tools/list", json!({})),
                call("get_current_time", json!({"timezone": "Asia/Tokyo"})),
                call(
                    "convert_time",
                    json!({"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}),
                ),
                call("get_current_time", json!({"timezone": "Mars/Olympus"})),
                call("nothing", json!({})),
            ],
        },
        Server {
            name: "git",
            words: words([&program("mcp-server-git")]),
            steps: vec![
                step("tools/list", json!({})),
                call("git_log", json!({"repo_path": path})),
                call("git_status", json!({"repo_path": path})),
                call("git_show", json!({"repo_path": path, "revision": "HEAD"})),
                call("git_log", json!({"repo_path": "/nothing"})),
                call("nothing", json!({})),
            ],
        },
        Server {
            name: "python",
            words: words([&program("python"), &script("everything.py")]),
            steps: fixture_steps(),
        },
        Server {
            name: "npm",
            words: words([&node(), &script("everything.mjs"), &folder()]),
            steps: fixture_steps(),
        },
        Server {
            name: "rmcp",
            words: words([Path::new(env!("CARGO_BIN_EXE_everything"))]),
            steps: fixture_steps(),
        },
    ]
}

/// A client that takes steps: the words before them.
fn stepping_clients() -> [(&'static str, Vec<String>); 3] {
    [
        ("python", words([&program("python"), &script("steps.py")])),
        ("npm", words([&node(), &script("steps.mjs"), &folder()])),
        ("rmcp", words([Path::new(env!("CARGO_BIN_EXE_steps"))])),
    ]
}

/// What a client has seen, a line for each step.
fn take_steps(client: &[String], steps: &[Value], server: &[String]) -> Vec<Value> {
    let output = Command::new(&client[0])
        .args(&client[1..])
        .arg(Value::from(steps).to_string())
        .args(server)
        .output()
        .expect("the client runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{client:?} {server:?}: {stderr}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let seen: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(seen.len(), steps.len(), "{client:?} {server:?}: {stderr}");
    seen
}

/// What the inspector says of those steps that its command line has.
fn inspect(steps: &[Value], server: &[String], state: &Path) -> Vec<Value> {
    let file = state.join("inspected.json");
    let config = json!({"mcpServers": {"it": {"command": server[0], "args": server[1..]}}});
    std::fs::write(&file, config.to_string()).expect("written");
    let mut seen = Vec::new();
    for step in steps {
        let (method, params) = (step["method"].as_str().expect("a text"), &step["params"]);
        let name = params["name"].as_str().unwrap_or_default();
        let mut command = Command::new(node());
        command.arg(program("mcp-inspector")).arg("--cli").arg("--config").arg(&file);
        command.args(["--server", "it", "--protocol-era", "modern", "--format", "json"]);
        command.args(["--quiet", "--method", method]).env("HOME", state);
        match method {
            "tools/list" | "prompts/list" | "resources/list" => {}
            "tools/call" if INSPECTED.contains(&name) => {
                let arguments = params["arguments"].to_string();
                command.args(["--tool-name", name, "--tool-args-json", &arguments]);
            }
            "resources/read" => {
                command.args(["--uri", params["uri"].as_str().expect("a text")]);
            }
            _ => continue,
        }
        let output = command.stdin(Stdio::null()).output().expect("the inspector runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let (out, code) = (text(output.stdout), output.status.code());
        let result: Value = serde_json::from_str(&out).unwrap_or_else(|_| json!(out));
        let error = text(output.stderr);
        assert!(!out.is_empty() || !error.is_empty(), "{step} {code:?}");
        seen.push(json!({"code": code, "result": result, "error": error}));
    }
    seen
}

/// What the inspector calls: it takes a process for each, and half a second.
const INSPECTED: [&str; 6] = [
    "get_current_time",
    "git_log",
    "test_simple_text",
    "test_unusual_text",
    "test_error_handling",
    "test_structured_content",
];

/// Takes out what has to differ.
fn comparable(mut seen: Vec<Value>, over_rpc: bool) -> Vec<Value> {
    fn visit(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("ttlMs");
                if fields.contains_key("datetime") {
                    fields.insert("datetime".into(), json!("now"));
                }
                fields.values_mut().for_each(visit);
            }
            Value::Array(items) => items.iter_mut().for_each(visit),
            Value::String(text) if text.contains("\"datetime\"") => {
                if let Ok(mut inner) = serde_json::from_str(text) {
                    visit(&mut inner);
                    *text = inner.to_string();
                }
            }
            _ => {}
        }
    }
    for line in &mut seen {
        visit(line);
        if over_rpc && let Some(fields) = line.as_object_mut() {
            fields.remove("progress");
            fields.remove("log");
        }
    }
    seen
}

fn assert_same(what: &str, steps: &[Value], direct: &[Value], through: &[Value]) -> usize {
    let mut differing = Vec::new();
    for (at, (direct, through)) in direct.iter().zip(through).enumerate() {
        if direct != through {
            let step = steps.get(at).map(ToString::to_string).unwrap_or_default();
            differing.push(format!("{step}\n  directly {direct}\n  through  {through}"));
        }
    }
    assert!(differing.is_empty(), "{what}: {}", differing.join("\n"));
    assert_eq!(direct.len(), through.len(), "{what}");
    direct.len()
}

/// One server with every client; how many answers were compared.
fn compare(server: &Server, gateway: &Gateway, state: &Path) -> usize {
    let chat = gateway.words("never");
    let rpc = gateway.words("always");
    let mut compared = 0;
    for (client, words) in stepping_clients() {
        let seen = |target: &[String], over_rpc| {
            comparable(take_steps(&words, &server.steps, target), over_rpc)
        };
        let what = |way| format!("{client} client, {} server, {way}", server.name);
        let direct = seen(&server.words, false);
        let through = seen(&chat, false);
        compared += assert_same(&what("conversation"), &server.steps, &direct, &through);
        let direct = comparable(direct, true);
        compared += assert_same(&what("Service RPC"), &server.steps, &direct, &seen(&rpc, true));
    }
    let direct = comparable(inspect(&server.steps, &server.words, state), false);
    assert!(!direct.is_empty());
    for (way, words) in [("conversation", &chat), ("Service RPC", &rpc)] {
        let through = comparable(inspect(&server.steps, words, state), false);
        let what = format!("inspector, {} server, {way}", server.name);
        compared += assert_same(&what, &[], &direct, &through);
    }
    compared
}

/// How a gateway to a server is started.
struct Gateway {
    program: PathBuf,
    core: String,
    link: String,
    pins: PathBuf,
}

impl Gateway {
    fn words(&self, rpc: &str) -> Vec<String> {
        // The conversation is with the contact, a request over Service RPC needs none.
        let to = if rpc == "always" { &self.link } else { "@server" };
        let pins = self.pins.to_str().expect("a plain path");
        let mut words = words([&self.program]);
        words.extend(
            ["gateway", "mcp", "--core", &self.core, "--approve", "never", "--pins", pins]
                .map(Into::into),
        );
        words.extend(["--transparent", to, "--rpc", rpc].map(Into::into));
        words
    }
}

/// A repository that is the same whenever it is made.
fn repository(at: &Path) -> PathBuf {
    let path = at.join("repository");
    let git = |words: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-C"])
            .arg(&path)
            .args(words)
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .stdout(Stdio::null())
            .status();
        assert!(status.expect("git runs").success(), "{words:?}");
    };
    std::fs::create_dir_all(&path).expect("made");
    std::fs::write(path.join("file"), "é \"quoted\"\n").expect("written");
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "file"]);
    git(&["commit", "--quiet", "--message", "a file"]);
    path
}

#[test]
fn every_client_sees_of_every_server_the_same_directly_and_through_all_of_it() {
    let agentwire = agentwire();
    let state = std::env::temp_dir().join(format!("agentwire-matrix-{}", std::process::id()));
    let servers = servers(&repository(&state));
    let program = |name: &str| {
        let mut command = Command::new(&agentwire);
        let log = std::fs::File::create(state.join(format!("{name}.log"))).expect("made");
        command.env("XDG_STATE_HOME", &state).stdin(Stdio::null()).stderr(log);
        command
    };
    let compared: usize = thread::scope(|scope| {
        let mut running = Vec::new();
        for server in &servers {
            let mut loopback = program(&format!("{}-loopback", server.name));
            loopback.args(["--json", "loopback"]);
            for profile in ["server", "client"] {
                loopback.args(["--profile", &format!("{profile}=127.0.0.1:0")]);
            }
            let mut loopback = Running::start(&mut loopback);
            let mut core = || {
                let line: Value = serde_json::from_str(&loopback.line()).expect("JSON");
                line["url"].as_str().expect("a text").to_owned()
            };
            let (at_server, core) = (core(), core());
            let mut serve = program(&format!("{}-serve", server.name));
            serve.args(["serve", "mcp", "--core", &at_server, "--"]).args(&server.words);
            let folder = state.join(server.name);
            let (program, pins) = (agentwire.clone(), folder.join("pins"));
            running.push(scope.spawn(move || {
                std::fs::create_dir_all(&folder).expect("made");
                let mut serve = Running::start(&mut serve);
                let link = serve.line();
                let compared = compare(server, &Gateway { program, core, link, pins }, &folder);
                drop((serve, loopback));
                compared
            }));
        }
        running.into_iter().map(|thread| thread.join().expect("the same")).sum()
    });
    // Five servers; three clients in two ways with all steps, and the inspector.
    let steps: usize = servers.iter().map(|server| server.steps.len()).sum();
    assert!(compared > 6 * steps, "{compared} of {steps}");
    println!("{compared} answers are the same");
    let _ = std::fs::remove_dir_all(state);
}
