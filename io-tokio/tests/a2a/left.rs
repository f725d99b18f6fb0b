//! What becomes of the replies that arrive after an HTTP client has left the gateway.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use agentwire_tokio::a2a::{GatewayConfig, INTERFACE_PATH};
use tokio::io::AsyncReadExt as _;
use tokio::time::sleep;

use crate::agent::{GO, Got, Pieces, answer, event, json, result, stream, task, update};
use crate::gateway::{HEADERS, World, message, request, restored, wrapped};

/// Long enough that the gateway has seen that its client is gone.
const NOTICED: Duration = Duration::from_millis(100);

const ARTIFACT: &str = r#"{"artifactUpdate":{"taskId":"t","contextId":"c-t","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}"#;

fn failing(_: &Got) -> Pieces {
    answer("500 Internal Server Error", "text/html", "", "<html>")
}

/// A stream that goes on when it is let.
fn slow_stream() -> Pieces {
    let mut pieces = stream(&[&event(&wrapped(&task("t", "WORKING"))), GO]);
    pieces.extend([event(ARTIFACT), event(&update("t", "COMPLETED"))]);
    pieces
}

impl World {
    /// Makes a request, and leaves when the answer has this in it.
    async fn leave(&self, body: &str, at: &str) {
        let head = format!("POST {INTERFACE_PATH} HTTP/1.1\r\n{HEADERS}");
        let mut socket = self.send(&head, body).await;
        let mut text = String::new();
        while !text.contains(at) {
            let mut chunk = [0; 1024];
            let read = socket.read(&mut chunk).await.unwrap();
            assert_ne!(read, 0, "the answer has ended: {text}");
            text.push_str(core::str::from_utf8(&chunk[..read]).unwrap());
        }
        if at.is_empty() {
            // Nothing is read, so the request is waited for.
            while self.agent.requests().is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
        }
        drop(socket);
        sleep(NOTICED).await;
        self.agent.go.add_permits(1);
    }

    /// Asks for the task until the answer has this in it.
    async fn until(&self, params: &str, text: &str) -> String {
        for _ in 0..500 {
            let answer = self.post(&request("GetTask", params)).await.body;
            if answer.contains(text) {
                return answer;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("GetTask never shows {text}");
    }
}

const GET: &str = r#"{"id":"t"}"#;

fn done() -> String {
    let task = task("t", "COMPLETED");
    let artifacts = r#","artifacts":[{"artifactId":"a","parts":[{"text":"x"}]}]}"#;
    restored(&format!("{}{artifacts}", task.strip_suffix('}').unwrap()))
}

#[tokio::test]
async fn what_a_stream_still_brings_is_kept_for_get_task() {
    let looks = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&looks);
    let world = World::new(move |got| match got.method() {
        "SendStreamingMessage" => slow_stream(),
        _ if seen.fetch_add(1, Ordering::Relaxed) < 1_000 => failing(got),
        _ => result(&task("t", "FAILED")),
    })
    .await;
    world.leave(&request("SendStreamingMessage", &message("")), "WORKING").await;
    assert_eq!(world.until(GET, "COMPLETED").await, done());
    // The agent's own word counts for more.
    looks.store(1_000, Ordering::Relaxed);
    let answer = world.post(&request("GetTask", GET)).await;
    assert_eq!(answer.body, restored(&task("t", "FAILED")));
    looks.store(0, Ordering::Relaxed);
    let answer = world.post(&request("GetTask", GET)).await;
    assert_eq!(answer.body, restored(&task("t", "FAILED")));
    // Nobody else's task is there for that.
    let other = world.post(&request("GetTask", r#"{"id":"u"}"#)).await;
    assert!(other.body.contains("-32001"), "{}", other.body);
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_kept_for_get_task() {
    let world = World::new(|got| match got.method() {
        "SendMessage" => {
            let whole = r#"{"id":"t","contextId":"c-t","status":{"state":"TASK_STATE_COMPLETED"},"history":[{"messageId":"1"},{"messageId":"2"}]}"#;
            [vec![GO.to_owned()], result(&wrapped(whole))].concat()
        }
        _ => json("200 OK", r#"{"jsonrpc":"2.0","id":@ID,"error":{"code":-32001,"message":"no"}}"#),
    })
    .await;
    world.leave(&request("SendMessage", &message("")), "").await;
    let answer = world.until(GET, "COMPLETED").await;
    assert!(answer.contains(r#""history":[{"messageId":"1"},{"messageId":"2"}]"#), "{answer}");
    let answer = world.until(r#"{"id":"t","historyLength":1}"#, "COMPLETED").await;
    assert!(answer.contains(r#""history":[{"messageId":"2"}]"#), "{answer}");
}

#[tokio::test]
async fn an_agent_that_says_nothing_does_not_keep_it_back() {
    let mut config = GatewayConfig::default();
    config.kept_after = Duration::from_millis(50);
    let world = World::with(config, |got| match got.method() {
        "SendStreamingMessage" => slow_stream(),
        _ => vec![GO.to_owned()],
    })
    .await;
    world.leave(&request("SendStreamingMessage", &message("")), "WORKING").await;
    assert_eq!(world.until(GET, "COMPLETED").await, done());
}

#[tokio::test]
async fn a_client_that_stays_leaves_nothing_behind() {
    let world = World::new(|got| match got.method() {
        "SendStreamingMessage" => slow_stream(),
        _ => failing(got),
    })
    .await;
    world.agent.go.add_permits(1);
    let answer = world.post(&request("SendStreamingMessage", &message(""))).await;
    assert!(answer.body.contains("COMPLETED"));
    let answer = world.post(&request("GetTask", GET)).await;
    assert!(answer.body.contains("AGENT_STATUS"), "{}", answer.body);
}

#[tokio::test]
async fn only_so_many_calls_are_read_on() {
    let mut config = GatewayConfig::default();
    config.max_left = 0;
    let world = World::with(config, |got| match got.method() {
        "SendStreamingMessage" => slow_stream(),
        _ => failing(got),
    })
    .await;
    world.leave(&request("SendStreamingMessage", &message("")), "WORKING").await;
    sleep(NOTICED).await;
    let answer = world.post(&request("GetTask", GET)).await;
    assert!(answer.body.contains("AGENT_STATUS"), "{}", answer.body);
}
