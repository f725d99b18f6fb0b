//! A server before local clients: [`Front`] (MCP 2026-07-28, transports, Streamable HTTP).
//!
//! A request is one POST. Its answer is JSON, or a stream of events when notifications come first. A
//! client that goes away has cancelled its call.

use core::convert::Infallible;
use core::fmt;
use core::net::SocketAddr;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::io;
use std::sync::Arc;

use agentwire_core::jsonrpc::{ErrorId, Message, Request as Rpc, write_error};
use agentwire_core::mcp::bridge::{CallerId, Final, Room, Via};
use agentwire_core::mcp::{HEADER_MISMATCH, Notice, Way, http};
use agentwire_core::sse::{Event, write_keep_alive};
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use super::bridge::{Call, Reply};
use super::per_caller::Servers;
use crate::http::is_local as is_local_host;

/// Where the server is found.
pub const PATH: &str = "/mcp";

/// Connections at once.
const MAX_CONNECTIONS: usize = 1_024;

/// How long a client has for the head of a request.
const HEAD: Duration = Duration::from_secs(30);

/// How often a stream without events shows that it is alive.
const ALIVE: Duration = Duration::from_secs(15);

/// The longest body of a request, in bytes.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// A server before local clients. It ends when it is dropped.
///
/// It listens where it is told, and takes only requests that name that place or this machine as
/// their host and origin: a page in a browser that was led here by a name of its own is refused.
///
/// ```
/// use std::sync::Arc;
/// use agentwire_tokio::mcp::{Backend, Front, McpBridge, Options, Servers};
/// use agentwire_tokio::stdio::ServerCommand;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let bridge = McpBridge::start(Backend::Child(ServerCommand::new("true")), Options::default());
/// let servers = Arc::new(Servers::Shared(bridge));
/// let front = Front::listen("127.0.0.1:0".parse().unwrap(), servers).await.unwrap();
/// assert!(front.url().starts_with("http://127.0.0.1:"));
/// # }
/// ```
#[derive(Debug)]
pub struct Front {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Front {
    /// Listens and serves.
    ///
    /// # Errors
    /// What the system says if it cannot listen there.
    pub async fn listen(address: SocketAddr, servers: Arc<Servers>) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { address, task: tokio::spawn(accept(listener, address, servers)) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client is told.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Takes no more connections, and ends those that there are.
    pub async fn close(mut self) {
        self.task.abort();
        // Aborted, or a panic: it has ended.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, address: SocketAddr, servers: Arc<Servers>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // Dropped with this task, and all connections with it.
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => break stream,
                    // Too many open files, for example: it may pass.
                    Err(_) => sleep(Duration::from_millis(50)).await,
                },
                Some(_) = connections.join_next() => {}
            }
        };
        let servers = Arc::clone(&servers);
        connections.spawn(async move {
            serve(stream, address, servers).await;
            drop(place);
        });
    }
}

async fn serve(stream: TcpStream, address: SocketAddr, servers: Arc<Servers>) {
    // Answers are small: none is to wait for another.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let servers = Arc::clone(&servers);
        async move { Ok::<_, Infallible>(respond(request, address, &servers).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // A client that breaks off is nobody's fault.
    let _ = served;
}

type Answer = Response<Either<Full<Bytes>, Stream>>;

fn plain(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Either::Left(Full::new(text.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn refuse(status: StatusCode, why: &'static str) -> Answer {
    plain(status, "text/plain; charset=utf-8", why)
}

async fn respond(request: Request<Incoming>, address: SocketAddr, servers: &Servers) -> Answer {
    let (parts, body) = request.into_parts();
    if !is_local(&parts.headers, address) {
        return refuse(StatusCode::FORBIDDEN, "the host or the origin is not this machine\n");
    }
    if parts.uri.path() != PATH {
        return refuse(StatusCode::NOT_FOUND, "the MCP server is at /mcp\n");
    }
    if parts.method != Method::POST {
        let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, "a request is a POST\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        return response;
    }
    if !is_json(&parts.headers) {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a request is application/json\n");
    }
    let body = match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long\n");
        }
        Err(_) => return refuse(StatusCode::BAD_REQUEST, "the request breaks off\n"),
    };
    let Ok(text) = core::str::from_utf8(&body) else {
        return refuse(StatusCode::BAD_REQUEST, "the request is not UTF-8\n");
    };
    if let Ok(Message::Notification(_)) = Message::parse(text) {
        // Only a cancellation may come, and over HTTP the end of the stream is one.
        return match Notice::check(text, Way::FromClient) {
            Ok(_) => plain(StatusCode::ACCEPTED, "text/plain", ""),
            Err(_) => refuse(StatusCode::BAD_REQUEST, "no such notification\n"),
        };
    }
    if let Some(mismatch) = mismatched(&parts.headers, text) {
        return mismatch;
    }
    let caller = CallerId(0);
    let mut call = servers.call(caller, text, Room::UNLIMITED, Via::Conversation).await;
    match call.next().await {
        Some(Reply::Answer(answer)) => {
            let status = StatusCode::from_u16(status(&answer)).unwrap_or(StatusCode::OK);
            plain(status, "application/json", answer.text)
        }
        Some(Reply::Notification(text)) => {
            let mut alive = interval(ALIVE);
            alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
            alive.reset();
            let mut response = Response::new(Either::Right(Stream::new(call, alive, &text)));
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
            response
        }
        None => refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is ending\n"),
    }
}

/// The answer to a request whose headers and body disagree.
fn mismatched(headers: &HeaderMap, text: &str) -> Option<Answer> {
    // What is no request is answered by the bridge.
    let request = Rpc::parse(text).ok()?;
    let header = |name: &'static str| headers.get(name).and_then(|value| value.to_str().ok());
    let name = http::mismatch(&request, header)?;
    let mut buffer = vec![0; 512 + request.id.get().len()];
    let mut out = agentwire_core::json::Writer::new(&mut buffer);
    let message = "a header is missing or disagrees with the body";
    let data = |data: &mut agentwire_core::json::Writer<'_>| {
        data.raw("{\"header\":").string(name).raw("}");
    };
    write_error(&mut out, ErrorId::Known(request.id.get()), HEADER_MISMATCH, message, Some(&data));
    let text = out.finish().unwrap_or_default().to_owned();
    Some(plain(StatusCode::BAD_REQUEST, "application/json", text))
}

fn status(answer: &Final) -> u16 {
    match Message::parse(&answer.text) {
        Ok(Message::Error(error)) => http::status(error.code),
        _ => 200,
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// Whether the host, and the origin if there is one, are this machine.
fn is_local(headers: &HeaderMap, address: SocketAddr) -> bool {
    let names_us = |authority: &str| {
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
            _ => authority,
        };
        let ip = host.trim_start_matches('[').trim_end_matches(']').parse();
        is_local_host(host) || ip.is_ok_and(|ip: core::net::IpAddr| ip == address.ip())
    };
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    text(HOST).is_some_and(names_us)
        && text(ORIGIN).is_none_or(|origin| {
            origin.split_once("://").is_some_and(|(_, authority)| names_us(authority))
        })
}

/// Notifications, then the answer, as events.
struct Stream {
    call: Call,
    alive: Interval,
    next: Option<Bytes>,
    has_ended: bool,
}

impl Stream {
    fn new(call: Call, alive: Interval, first: &str) -> Self {
        Self { call, alive, next: event(first), has_ended: false }
    }
}

/// A message as an event. A message is one line, so it always is one.
fn event(text: &str) -> Option<Bytes> {
    Event::new(text).to_text().ok().map(Bytes::from)
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(next) = self.next.take() {
            return Poll::Ready(Some(Ok(Frame::data(next))));
        }
        if self.has_ended {
            return Poll::Ready(None);
        }
        if let Poll::Ready(reply) = self.call.poll_next(context) {
            self.alive.reset();
            let text = match reply {
                Some(Reply::Notification(text)) => text,
                Some(Reply::Answer(answer)) => {
                    self.has_ended = true;
                    answer.text
                }
                None => return Poll::Ready(None),
            };
            return Poll::Ready(event(&text).map(|event| Ok(Frame::data(event))));
        }
        ready!(self.alive.poll_tick(context));
        let mut buffer = [0; 16];
        let mut out = agentwire_core::json::Writer::new(&mut buffer);
        write_keep_alive(&mut out);
        let text = out.finish().unwrap_or(":\n\n").to_owned();
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))))
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended && self.next.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("call", &self.call).finish_non_exhaustive()
    }
}
