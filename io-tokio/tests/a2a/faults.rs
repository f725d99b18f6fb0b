//! Agents that break off, talk without end, or send more than anybody wants.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use agentwire_tokio::a2a::UpstreamConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::agent::{Agent, CARD, Got, Pieces, event, result, stream, task, update};
use crate::proxy::{World, is_error, message, request, restored};

/// An agent that writes what `write` says, after the head of an answer, and counts the bytes that
/// it got rid of. Its card is a usual one's.
async fn raw<W>(head: &'static str, write: W) -> (World, Arc<AtomicUsize>)
where
    W: Fn(usize) -> Option<Vec<u8>> + Clone + Send + Sync + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket, head, write.clone(), Arc::clone(&count)));
        }
    });
    let card = CARD.replace("PORT", &port.to_string());
    let card = Agent::start(&card, |_| Pieces::new()).await;
    let mut config = UpstreamConfig::default();
    config.interface = Some(format!("http://127.0.0.1:{port}/a2a"));
    (World::of(card, config).await, written)
}

async fn serve(
    mut socket: TcpStream,
    head: &str,
    write: impl Fn(usize) -> Option<Vec<u8>>,
    count: Arc<AtomicUsize>,
) {
    let mut request = [0; 16 * 1024];
    let _ = socket.read(&mut request).await;
    if socket.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    for number in 0.. {
        let Some(bytes) = write(number) else { break };
        if socket.write_all(&bytes).await.is_err() {
            return;
        }
        count.fetch_add(bytes.len(), Ordering::Relaxed);
    }
    // A reset: what is unread is thrown away.
    let _ = socket.set_zero_linger();
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const JSON: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
const MEGABYTE: usize = 1024 * 1024;

#[tokio::test]
async fn an_event_of_many_megabytes_is_not_read() {
    for (head, begin, method) in [
        (EVENTS, "data: {\"jsonrpc\":\"2.0\",\"x\":\"", "SendStreamingMessage"),
        (JSON, "{\"jsonrpc\":\"2.0\",\"x\":\"", "SendMessage"),
        // Nor one that is not given its end.
        (EVENTS, "data: x\ndata: ", "SendStreamingMessage"),
    ] {
        let (world, written) = raw(head, move |number| match number {
            0 => Some(begin.into()),
            1..=1024 => Some(vec![b'x'; 64 * 1024]),
            _ => None,
        })
        .await;
        let replies = world.ann(&request(method, &message(""))).await;
        assert!(is_error(&replies[0], -32603, "ANSWER_TOO_LARGE"), "{replies:?}");
        let read = written.load(Ordering::Relaxed);
        // The limit, and what the buffers of two sockets hold.
        assert!(read < 30 * MEGABYTE, "{read} bytes of 64 megabytes were taken");
    }
}

#[tokio::test]
async fn an_agent_that_never_ends_ends_with_its_caller() {
    // Signs of life alone: no reply, and no memory.
    let (world, written) = raw(EVENTS, |_| Some(b": ping\n\n".repeat(64))).await;
    let call = request("SendStreamingMessage", &message(""));
    assert!(timeout(Duration::from_millis(300), world.ann(&call)).await.is_err());
    assert!(written.load(Ordering::Relaxed) > 0);
    // The next caller is served all the same.
    let call = request("GetTask", r#"{"id":"nobody's"}"#);
    assert!(is_error(&world.ann(&call).await[0], -32001, "TASK_NOT_FOUND"));
}

#[tokio::test]
async fn events_without_end_wait_for_whoever_takes_them() {
    let artifact = r#"{"artifactUpdate":{"taskId":"t","contextId":"c-t","append":true,"artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}"#;
    let text = event(artifact).replace("@ID", "1");
    let (world, written) = raw(EVENTS, move |_| Some(text.clone().into_bytes())).await;
    let mut replies = world.call(&request("SendStreamingMessage", &message(""))).await;
    for _ in 0..20 {
        assert!(replies.next().await.unwrap().unwrap().text.contains("artifactUpdate"));
    }
    drop(replies);
    // Nobody takes them any more, so soon nobody reads them.
    let mut last = 0;
    for _ in 0..200 {
        sleep(Duration::from_millis(50)).await;
        let now = written.load(Ordering::Relaxed);
        if now == last {
            return;
        }
        last = now;
    }
    panic!("{last} bytes, and still more are taken");
}

#[tokio::test]
async fn a_connection_that_is_reset_is_reported_or_taken_up_again() {
    let (world, _) = raw(JSON, |number| (number == 0).then(|| b"{\"jsonrpc\":".to_vec())).await;
    let replies = world.ann(&request("SendMessage", &message(""))).await;
    assert!(is_error(&replies[0], -32603, "AGENT_UNREACHABLE"), "{replies:?}");
    let (world, _) = raw("", |_| None).await;
    for method in ["SendMessage", "SendStreamingMessage"] {
        let replies = world.ann(&request(method, &message(""))).await;
        assert!(is_error(&replies[0], -32603, "AGENT_UNREACHABLE"), "{method} {replies:?}");
    }
    // In a stream: each of its three attempts is reset as well.
    let working = event(&update("t", "WORKING"));
    let (world, _) =
        raw(EVENTS, move |number| (number == 0).then(|| working.replace("@ID", "1").into_bytes()))
            .await;
    let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
    let last = replies.last().unwrap();
    assert!(last.contains("\"error\""), "{replies:?}");
}

#[tokio::test]
async fn an_event_with_another_id_ends_the_stream_with_an_error() {
    for id in ["999", "\"x\"", "null", "true", "{}"] {
        let other = format!(
            "data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}\n\n",
            update("t", "COMPLETED")
        );
        let world =
            World::new(move |_: &Got| stream(&[&event(&update("t", "WORKING")), &other])).await;
        let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
        assert_eq!(replies.len(), 2, "{id} {replies:?}");
        assert!(is_error(&replies[1], -32006, "INVALID_AGENT_RESPONSE"), "{id} {replies:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_of_another_method_is_no_answer() {
    // A stream of what is no event, and a task where a list of them is asked for.
    for text in ["{}", "7", "[]", r#"{"task":{},"message":{}}"#, r#"{"unknown":{}}"#] {
        let text = text.to_owned();
        let world = World::new(move |_: &Got| stream(&[&event(&text)])).await;
        let replies = world.ann(&request("SendStreamingMessage", &message(""))).await;
        assert!(is_error(&replies[0], -32006, "INVALID_AGENT_RESPONSE"), "{replies:?}");
    }
    let world = World::new(|_: &Got| result(&task("t", "WORKING"))).await;
    let replies = world.ann(&request("ListTasks", "{}")).await;
    assert_eq!(replies, [restored(r#"{"tasks":[]}"#)]);
}
