//! An agent on HTTP that answers with what it is told to, byte by byte: also what no real server
//! would send.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// A request as it has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.find(|(written, _)| written.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn method(&self) -> &str {
        let at = self.body.find("\"method\":\"").map_or(0, |at| at + 10);
        self.body[at..].split('"').next().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &str {
        let at = self.body.find("\"id\":").map_or(0, |at| at + 5);
        self.body[at..].split(',').next().unwrap_or_default()
    }
}

/// What an answer consists of: pieces, each written at once.
pub(crate) type Pieces = Vec<String>;

/// A piece that is not written: what follows it waits until [`Agent::go`] lets it.
pub(crate) const GO: &str = "@GO";

/// An agent.
pub(crate) struct Agent {
    pub(crate) url: String,
    /// Each permit lets one answer go on.
    pub(crate) go: Arc<Semaphore>,
    pub(crate) got: Arc<Mutex<Vec<Got>>>,
    _tasks: JoinSet<()>,
}

impl Agent {
    /// An agent with a card in which `PORT` stands for its port, and with answers to POST requests:
    /// `@ID` in them stands for the id of the request.
    pub(crate) async fn start(
        card: &str,
        answer: impl Fn(&Got) -> Pieces + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let card = card.replace("PORT", &port.to_string());
        let got = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&got);
        let answer = Arc::new(answer);
        let go = Arc::new(Semaphore::new(0));
        let may_go = Arc::clone(&go);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let (card, seen, answer) = (card.clone(), Arc::clone(&seen), Arc::clone(&answer));
                let may_go = Arc::clone(&may_go);
                connections.spawn(async move {
                    serve(socket, &may_go, |got| {
                        if got.head.starts_with("GET /.well-known/agent-card.json ") {
                            return json("200 OK", &card);
                        }
                        seen.lock().unwrap().push(got.clone());
                        answer(got)
                    })
                    .await;
                });
            }
        });
        Self { url: format!("http://127.0.0.1:{port}"), go, got, _tasks: tasks }
    }

    pub(crate) fn requests(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }
}

async fn serve(mut socket: TcpStream, go: &Semaphore, answer: impl Fn(&Got) -> Pieces) {
    let Some(got) = read(&mut socket).await else { return };
    for piece in answer(&got) {
        if piece == GO {
            go.acquire().await.unwrap().forget();
            continue;
        }
        let piece = piece.replace("@ID", got.id());
        if socket.write_all(piece.as_bytes()).await.is_err() {
            return;
        }
        socket.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
    let _ = socket.shutdown().await;
}

async fn read(socket: &mut TcpStream) -> Option<Got> {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let read = socket.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let got = Got { head: head.to_owned(), body: body.to_owned() };
        let len = got.header("content-length").map_or(0, |len| len.parse().unwrap());
        if got.body.len() >= len {
            return Some(got);
        }
    }
}

/// A whole answer with a body.
pub(crate) fn answer(status: &str, media_type: &str, more: &str, body: &str) -> Pieces {
    vec![format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\n{more}Connection: close\r\n\r\n{body}"
    )]
}

pub(crate) fn json(status: &str, body: &str) -> Pieces {
    answer(status, "application/json", "", body)
}

/// An answer to the request that is asked.
pub(crate) fn result(result: &str) -> Pieces {
    json("200 OK", &format!(r#"{{"jsonrpc":"2.0","id":@ID,"result":{result}}}"#))
}

/// A stream that ends with its connection, cut into these pieces.
pub(crate) fn stream(pieces: &[&str]) -> Pieces {
    let mut all = answer("200 OK", "text/event-stream; charset=utf-8", "", "");
    all.extend(pieces.iter().map(|piece| (*piece).to_owned()));
    all
}

/// An event with a result.
pub(crate) fn event(result: &str) -> String {
    format!("data: {{\"jsonrpc\":\"2.0\",\"id\":@ID,\"result\":{result}}}\n\n")
}

pub(crate) const CARD: &str = r#"{"name":"Shop","description":"Sells anvils","version":"1",
    "supportedInterfaces":[{"url":"http://127.0.0.1:PORT/a2a","protocolBinding":"JSONRPC",
    "protocolVersion":"1.0"}],"capabilities":{"streaming":true},
    "securitySchemes":{"k":{"apiKeySecurityScheme":{"location":"header","name":"X-Acme"}}},
    "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}"#;

pub(crate) fn task(id: &str, state: &str) -> String {
    format!(r#"{{"id":"{id}","contextId":"c-{id}","status":{{"state":"TASK_STATE_{state}"}}}}"#)
}

pub(crate) fn update(id: &str, state: &str) -> String {
    format!(
        r#"{{"statusUpdate":{{"taskId":"{id}","contextId":"c-{id}","status":{{"state":"TASK_STATE_{state}"}}}}}}"#
    )
}
