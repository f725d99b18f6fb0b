//! The program: an agent on HTTP behind `serve a2a`, a client on HTTP before `gateway a2a`, and two
//! chat cores between them.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use agentwire_tokio::network::Network;
use agentwire_tokio::server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinSet, spawn_blocking};

use crate::agent::{Agent, CARD, Got, Pieces, event, result, stream, task, update};

/// Chat cores on ports: the URLs of `user`, of `other`, and of `shop`, whom both know.
async fn cores(served: &mut JoinSet<()>) -> (Network, [String; 3]) {
    let network = Network::in_real_time(1);
    let profiles = ["user", "other", "shop"].map(|name| network.add_profile(name).unwrap());
    for user in &profiles[..2] {
        network.connect(user, &profiles[2]).unwrap();
    }
    let server = Server::new(&network, 1);
    let mut urls = [const { String::new() }; 3];
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
    let (_network, [user, _, shop_core]) = cores(&mut served).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn two_callers_guess_each_others_tasks_in_vain_also_after_a_restart() {
    let mut served = JoinSet::new();
    let (_network, [user, other, shop_core]) = cores(&mut served).await;
    // Each message makes a task of its own, which anybody could guess.
    let count = AtomicUsize::new(0);
    let agent = Agent::start(CARD, move |got: &Got| match got.method() {
        "SendMessage" if !got.body.contains("taskId") => {
            let id = format!("t{}", count.fetch_add(1, Ordering::Relaxed));
            result(&format!("{{\"task\":{}}}", task(&id, "WORKING")))
        }
        "ListTasks" => result(&format!(
            r#"{{"tasks":[{},{}],"nextPageToken":"","pageSize":50,"totalSize":2}}"#,
            task("t0", "WORKING"),
            task("t1", "WORKING")
        )),
        _ => {
            let id = if got.body.contains("\"t0\"") { "t0" } else { "t1" };
            result(&task(id, "COMPLETED"))
        }
    })
    .await;
    let file = state("guess");
    let path = file.to_str().unwrap();
    let serve = ["serve", "a2a", "--upstream", &agent.url, "--core", &shop_core, "--state", path];
    let mut bot = Program::start(&serve).await;
    let gateway = |core: String| async move {
        let listen = ["--to", "@shop", "--core", &core, "--listen", "127.0.0.1:0"];
        Program::start(&[&["gateway", "a2a"], &listen[..]].concat()).await
    };
    let gateways = [gateway(user).await, gateway(other).await];
    let call = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
    };
    let message = |more: &str| {
        format!(
            r#"{{"message":{{{more}"messageId":"m","role":"ROLE_USER","parts":[{{"text":"hi"}}]}}}}"#
        )
    };
    for (gateway, id) in gateways.iter().zip(["t0", "t1"]) {
        let answer = post(&gateway.line, &call("SendMessage", &message(""))).await;
        assert!(answer.contains(&format!("\"{id}\"")), "{answer}");
    }
    for _ in ["before a restart", "after it"] {
        for (gateway, [own, others]) in gateways.iter().zip([["t0", "t1"], ["t1", "t0"]]) {
            let sent = agent.requests().len();
            let mut answers = Vec::new();
            for id in [others, "nobody's"] {
                for (method, params) in [
                    ("GetTask", format!(r#"{{"id":"{id}"}}"#)),
                    ("CancelTask", format!(r#"{{"id":"{id}"}}"#)),
                    ("SubscribeToTask", format!(r#"{{"id":"{id}"}}"#)),
                    ("SendMessage", message(&format!(r#""taskId":"{id}","#))),
                    ("SendMessage", message(&format!(r#""contextId":"c-{id}","#))),
                    ("ListTasks", format!(r#"{{"contextId":"c-{id}"}}"#)),
                ] {
                    let answer = post(&gateway.line, &call(method, &params)).await;
                    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
                    assert!(body.contains("\"code\":-32001"), "{method} {params} {answer}");
                    answers.push(body.to_owned());
                }
            }
            assert!(answers.iter().all(|answer| *answer == answers[0]), "alike: {answers:?}");
            assert_eq!(agent.requests().len(), sent, "nothing of it goes to the agent");
            let get = call("GetTask", &format!(r#"{{"id":"{own}"}}"#));
            let answer = post(&gateway.line, &get).await;
            assert!(answer.contains("TASK_STATE_COMPLETED"), "{answer}");
            let list = post(&gateway.line, &call("ListTasks", "{}")).await;
            assert!(list.contains(&format!("\"{own}\"")), "{list}");
            assert!(!list.contains(&format!("\"{others}\"")), "{list}");
        }
        drop(bot);
        bot = Program::start(&serve).await;
    }
    drop((bot, gateways));
    let _ = std::fs::remove_file(&file);
}
