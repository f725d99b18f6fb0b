//! HTTP by hand on both ends, so that what is measured is the chain between them: an agent that
//! answers at once, and a client that keeps its connection.

use core::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const WORKING: &str = r#"{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,"artifact":{"artifactId":"a","parts":[{"text":"the quick brown fox jumps over the lazy dog"}]}}}"#;
const DONE: &str =
    r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
const TASK: &str =
    r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

/// How many bytes of events are put into one chunk.
const CHUNK: usize = 4096;

/// A connection, and what of it has been read.
struct Wire {
    socket: TcpStream,
    read: Vec<u8>,
}

impl Wire {
    fn new(socket: TcpStream) -> Self {
        socket.set_nodelay(true).expect("a socket");
        Self { socket, read: Vec::with_capacity(64 * 1024) }
    }

    /// Reads more; `None` at the end.
    async fn more(&mut self) -> Option<()> {
        let count = self.socket.read_buf(&mut self.read).await.ok()?;
        (count > 0).then_some(())
    }

    /// Takes what ends with this, with its end.
    async fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        let mut from = 0;
        loop {
            let found = self.read[from..].windows(end.len()).position(|window| window == end);
            if let Some(place) = found {
                return Some(self.read.drain(..from + place + end.len()).collect());
            }
            from = self.read.len().saturating_sub(end.len());
            self.more().await?;
        }
    }

    async fn exactly(&mut self, len: usize) -> Option<Vec<u8>> {
        while self.read.len() < len {
            self.more().await?;
        }
        Some(self.read.drain(..len).collect())
    }
}

fn length(head: &str) -> Option<usize> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    value.trim().parse().ok()
}

/// An agent: a task that is done, or a stream of so many events.
pub(crate) struct Agent {
    pub(crate) url: String,
    serving: JoinHandle<()>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Agent {
    pub(crate) async fn start(events: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let own = url.clone();
        let serving = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let own = own.clone();
                tokio::spawn(async move { serve(Wire::new(socket), &own, events).await });
            }
        });
        Self { url, serving }
    }
}

async fn serve(mut wire: Wire, url: &str, events: usize) -> Option<()> {
    loop {
        let head = wire.until(b"\r\n\r\n").await?;
        let head = String::from_utf8(head).ok()?;
        let body = wire.exactly(length(&head).unwrap_or(0)).await?;
        let body = String::from_utf8(body).ok()?;
        if head.starts_with("GET ") {
            let card = format!(
                r#"{{"name":"A","description":"d","version":"1","supportedInterfaces":[{{"url":"{url}/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}],"capabilities":{{"streaming":true}},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}}"#
            );
            json(&mut wire.socket, &card).await?;
            continue;
        }
        let id = body.split_once("\"id\":")?.1.split(',').next()?;
        let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        if !body.contains("SendStreamingMessage") {
            json(&mut wire.socket, &answer(TASK)).await?;
            continue;
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        wire.socket.write_all(head.as_bytes()).await.ok()?;
        let working = format!("data: {}\n\n", answer(WORKING));
        let mut left = events - 1;
        while left > 0 {
            let count = left.min(CHUNK / working.len());
            chunk(&mut wire.socket, &working.repeat(count)).await?;
            left -= count;
        }
        chunk(&mut wire.socket, &format!("data: {}\n\n", answer(DONE))).await?;
        wire.socket.write_all(b"0\r\n\r\n").await.ok()?;
    }
}

async fn json(socket: &mut TcpStream, body: &str) -> Option<()> {
    let len = body.len();
    let text = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len}\r\n\r\n{body}"
    );
    socket.write_all(text.as_bytes()).await.ok()
}

async fn chunk(socket: &mut TcpStream, body: &str) -> Option<()> {
    let text = format!("{:x}\r\n{body}\r\n", body.len());
    socket.write_all(text.as_bytes()).await.ok()
}

/// A client that makes one call after the other.
pub(crate) struct Caller {
    wire: Wire,
    request: String,
}

impl Caller {
    pub(crate) async fn connect(url: &str, method: &str) -> Self {
        let host = url.strip_prefix("http://").expect("plain HTTP");
        let socket = TcpStream::connect(host).await.expect("a connection");
        let params =
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let request = format!(
            "POST /a2a HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Self { wire: Wire::new(socket), request }
    }

    /// Makes a call: how many events came, of an answer that is no stream one.
    pub(crate) async fn call(&mut self) -> usize {
        let read = async {
            self.wire.socket.write_all(self.request.as_bytes()).await.ok()?;
            let head = String::from_utf8(self.wire.until(b"\r\n\r\n").await?).ok()?;
            let mut last;
            let mut events = 0;
            match length(&head) {
                Some(len) => {
                    last = self.wire.exactly(len).await?;
                    events = 1;
                }
                None => {
                    last = Vec::new();
                    loop {
                        let size = String::from_utf8(self.wire.until(b"\r\n").await?).ok()?;
                        let size = usize::from_str_radix(size.trim(), 16).ok()?;
                        let chunk = self.wire.exactly(size + 2).await?;
                        if size == 0 {
                            break;
                        }
                        events += chunk.windows(6).filter(|window| window == b"data: ").count();
                        last = chunk;
                    }
                }
            }
            let is_done = last.windows(9).any(|window| window == b"COMPLETED");
            assert!(is_done, "{}", String::from_utf8_lossy(&last));
            Some(events)
        };
        let read = tokio::time::timeout(Duration::from_secs(300), read).await;
        read.expect("an answer in time").expect("a whole answer")
    }
}
