//! The same calls over standard streams and over HTTP, with the same two kinds of load: one call
//! after the other, and 64 at any time.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::Instant;

/// What a run gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) calls_per_second: f64,
    /// Of one call, in seconds.
    pub(crate) median: f64,
}

impl Sample {
    fn new(took: Duration, mut latencies: Vec<f64>) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "thousands of calls")]
        let calls = latencies.len() as f64;
        latencies.sort_by(f64::total_cmp);
        let median = latencies.get(latencies.len() / 2).copied().unwrap_or(f64::NAN);
        Self { calls_per_second: calls / took.as_secs_f64(), median }
    }

    pub(crate) fn better(self, other: Option<Self>) -> Self {
        other.filter(|other| other.calls_per_second > self.calls_per_second).unwrap_or(self)
    }
}

/// Calls `total` times, never more than `open` at once, with results of `bytes` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) bytes: usize,
    pub(crate) open: u64,
    pub(crate) total: u64,
}

/// The revision in which a server is spoken to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Era {
    /// 2026-07-28: each request says all.
    Now,
    /// 2025-06-18: a handshake first, and over HTTP a session.
    Handshake,
}

/// A request of revision 2026-07-28.
fn request(id: u64, method: &str, members: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}{meta}}}}}"#)
}

/// A call; the older revision knows no `_meta` for it.
fn call(id: u64, bytes: usize, era: Era) -> String {
    let members = format!(r#""name":"text","arguments":{{"bytes":{bytes}}}"#);
    match era {
        Era::Now => request(id, "tools/call", &format!("{members},")),
        Era::Handshake => {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{members}}}}}"#)
        }
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The id of a response, and whether it is a result of that size.
fn check(text: &str, bytes: usize) -> u64 {
    assert!(text.contains(r#""result""#) && text.len() >= bytes, "no result: {text:.300}");
    let (_, after) = text.split_once(r#""id":"#).expect("a response has an id");
    let digits = after.trim_start().split(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).expect("the ids are numbers")
}

/// A server on the standard streams of a process.
#[derive(Debug)]
pub(crate) struct Lines {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Lines {
    pub(crate) fn new(child: &mut Child) -> Self {
        let output = BufReader::with_capacity(1 << 16, child.stdout.take().expect("piped"));
        let mut lines = Self { input: child.stdin.take().expect("piped"), output, next: 1 };
        // The first request of all decides about the server's era, and shows that it is there.
        lines.send(&request(0, "server/discover", "")).expect("it reads");
        lines.answer(0);
        lines
    }

    fn send(&mut self, text: &str) -> io::Result<()> {
        self.input.write_all(format!("{text}\n").as_bytes())
    }

    fn answer(&mut self, bytes: usize) -> u64 {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.output.read_line(&mut line).expect("it writes") > 0, "it has ended");
            if line.contains(r#""id":"#) {
                return check(&line, bytes);
            }
        }
    }

    pub(crate) fn run(&mut self, load: Load) -> Sample {
        let Load { bytes, open, total } = load;
        let first = self.next;
        let mut sent: Vec<Instant> = Vec::new();
        let mut latencies = Vec::new();
        let start = Instant::now();
        for _ in 0..total {
            if u64::try_from(sent.len() - latencies.len()).is_ok_and(|now| now == open) {
                let id = self.answer(bytes) - first;
                latencies.push(sent[usize::try_from(id).expect("small")].elapsed().as_secs_f64());
            }
            let text = call(self.next, bytes, Era::Now);
            self.next += 1;
            sent.push(Instant::now());
            self.send(&text).expect("it reads");
        }
        while latencies.len() < sent.len() {
            let id = self.answer(bytes) - first;
            latencies.push(sent[usize::try_from(id).expect("small")].elapsed().as_secs_f64());
        }
        Sample::new(start.elapsed(), latencies)
    }
}

/// A server on Streamable HTTP of this machine.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    /// `HOST:PORT`
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) era: Era,
    pub(crate) session: Option<String>,
}

/// One connection, which is kept.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Http {
    /// The server, after its first answer; tries until there is one.
    pub(crate) fn open(host: &str, path: &str, era: Era) -> Self {
        let mut http = Self { host: host.into(), path: path.into(), era, session: None };
        let end = Instant::now() + Duration::from_secs(30);
        while !http.begin() {
            assert!(Instant::now() < end, "{host} does not answer");
            std::thread::sleep(Duration::from_millis(1));
        }
        http
    }

    fn begin(&mut self) -> bool {
        let Ok(stream) = TcpStream::connect(&self.host) else { return false };
        let mut connection = Connection { stream: BufReader::new(stream) };
        let (first, method) = match self.era {
            Era::Now => (request(0, "server/discover", ""), "server/discover"),
            Era::Handshake => (INITIALIZE.to_owned(), "initialize"),
        };
        let Ok((head, _)) = self.exchange(&mut connection, &first, method) else { return false };
        if self.era == Era::Handshake {
            let session = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
            });
            self.session = session;
            self.exchange(&mut connection, INITIALIZED, "notifications/initialized")
                .expect("it is accepted");
        }
        true
    }

    /// One request and its whole response: the head, and the body without the framing of chunks.
    fn exchange(
        &self,
        connection: &mut Connection,
        body: &str,
        method: &str,
    ) -> io::Result<(String, String)> {
        let version = match self.era {
            Era::Now => "2026-07-28",
            Era::Handshake => "2025-06-18",
        };
        let mut head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {version}\r\n\
             Mcp-Method: {method}\r\nContent-Length: {}\r\n",
            self.path,
            self.host,
            body.len()
        );
        if method == "tools/call" {
            head.push_str("Mcp-Name: text\r\n");
        }
        if let Some(session) = &self.session {
            head.push_str("Mcp-Session-Id: ");
            head.push_str(session);
            head.push_str("\r\n");
        }
        connection.stream.get_mut().write_all(format!("{head}\r\n{body}").as_bytes())?;
        connection.response()
    }

    pub(crate) fn run(&self, load: Load) -> Sample {
        let left = AtomicU64::new(load.total);
        let start = Instant::now();
        let latencies = std::thread::scope(|scope| {
            let callers: Vec<_> =
                (0..load.open).map(|_| scope.spawn(|| self.caller(load.bytes, &left))).collect();
            callers.into_iter().flat_map(|caller| caller.join().expect("it calls")).collect()
        });
        Sample::new(start.elapsed(), latencies)
    }

    fn caller(&self, bytes: usize, left: &AtomicU64) -> Vec<f64> {
        let stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_nodelay(true).expect("it can be set");
        let mut connection = Connection { stream: BufReader::with_capacity(1 << 16, stream) };
        let mut latencies = Vec::new();
        let take =
            || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        while let Ok(id) = take() {
            let begin = Instant::now();
            let text = call(id, bytes, self.era);
            let (_, body) =
                self.exchange(&mut connection, &text, "tools/call").expect("a response");
            assert_eq!(check(&body, bytes), id, "another call's answer");
            latencies.push(begin.elapsed().as_secs_f64());
        }
        latencies
    }
}

impl Connection {
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line),
        }
    }

    fn exactly(&mut self, bytes: usize) -> io::Result<String> {
        let mut body = vec![0; bytes];
        self.stream.read_exact(&mut body)?;
        String::from_utf8(body).map_err(io::Error::other)
    }

    fn response(&mut self) -> io::Result<(String, String)> {
        let mut head = String::new();
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let line = self.line()?;
            if line.trim_end().is_empty() {
                break;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            is_chunked |= lower.starts_with("transfer-encoding:") && lower.contains("chunked");
            head.push_str(&line);
        }
        if !is_chunked {
            return Ok((head, self.exactly(length)?));
        }
        let mut body = String::new();
        loop {
            let size = usize::from_str_radix(self.line()?.trim(), 16).map_err(io::Error::other)?;
            body.push_str(&self.exactly(size)?);
            self.line()?;
            if size == 0 {
                return Ok((head, body));
            }
        }
    }
}
