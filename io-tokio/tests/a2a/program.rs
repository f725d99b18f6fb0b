//! The program: an agent on HTTP behind `serve a2a`, a client on HTTP before `gateway a2a`, and two
//! chat cores between them.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use agentwire_tokio::network::Network;
use agentwire_tokio::server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinSet, spawn_blocking};

use crate::agent::{Agent, CARD, Got, Pieces, event, result, stream, task, update};

/// Two chat cores on ports that know each other: the URLs of `user` and `shop`.
async fn cores(served: &mut JoinSet<()>) -> (Network, [String; 2]) {
    let network = Network::in_real_time(1);
    let profiles = ["user", "shop"].map(|name| network.add_profile(name).unwrap());
    network.connect(&profiles[0], &profiles[1]).unwrap();
    let server = Server::new(&network, 1);
    let mut urls = [String::new(), String::new()];
    for (profile, url) in profiles.into_iter().zip(&mut urls) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        *url = format!("ws://{}", listener.local_addr().unwrap());
        let serve = server.serve(profile, listener);
        served.spawn(async move {
            serve.await;
        });
    }
    // It goes on with its tasks.
    core::mem::forget(server);
    (network, urls)
}

/// A run of the program, ended with the test.
struct Program {
    child: Child,
    line: String,
}

impl Program {
    /// Starts it, and waits for its first line.
    async fn start(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentwire"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped());
        spawn_blocking(move || {
            let mut child = command.spawn().unwrap();
            let mut line = String::new();
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            stdout.read_line(&mut line).unwrap();
            assert!(line.ends_with('\n'), "the program ended: {:?}", child.wait());
            Self { child, line: line.trim().to_owned() }
        })
        .await
        .unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn post(url: &str, body: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut socket = TcpStream::connect(host).await.unwrap();
    let request = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         A2A-Version: 1.0\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer
}

fn state(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("a2a-{}-{name}.db", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn shop(got: &Got) -> Pieces {
    match got.method() {
        "SendMessage" => result(&format!("{{\"task\":{}}}", task("t", "WORKING"))),
        "SendStreamingMessage" => stream(&[
            &event(&format!("{{\"task\":{}}}", task("s", "WORKING"))),
            &event(&update("s", "COMPLETED")),
        ]),
        _ => result(&task("t", "COMPLETED")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_on_http_reaches_an_agent_on_http_through_two_cores() {
    let mut served = JoinSet::new();
    let (_network, [user, shop_core]) = cores(&mut served).await;
    let agent = Agent::start(CARD, shop).await;
    let file = state("chain");
    let path = file.to_str().unwrap();
    let serve = ["serve", "a2a", "--upstream", &agent.url, "--core", &shop_core, "--state", path];
    let bot = Program::start(&serve).await;
    assert!(bot.line.contains('#'), "a link: {}", bot.line);
    let gateway = ["gateway", "a2a", "--to", "@shop", "--core", &user, "--listen", "127.0.0.1:0"];
    let gateway = Program::start(&gateway).await;
    let message = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    let call = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
    };
    let answer = post(&gateway.line, &call("SendMessage", message)).await;
    assert!(answer.contains("TASK_STATE_WORKING"), "{answer}");
    let answer = post(&gateway.line, &call("SendStreamingMessage", message)).await;
    assert_eq!(answer.matches("data: ").count(), 2, "{answer}");
    assert!(answer.contains("TASK_STATE_COMPLETED"), "{answer}");
    let answer = post(&gateway.line, &call("GetTask", r#"{"id":"somebody's"}"#)).await;
    assert!(answer.contains("-32001"), "{answer}");

    // After a restart of the bot the task is still its caller's.
    drop(bot);
    let bot = Program::start(&serve).await;
    let answer = post(&gateway.line, &call("GetTask", r#"{"id":"t"}"#)).await;
    assert!(answer.contains("TASK_STATE_COMPLETED"), "{answer}");
    drop((bot, gateway));
    let _ = std::fs::remove_file(&file);
}
