//! A server before HTTP clients: [`Front`] (MCP 2026-07-28, transports, Streamable HTTP).
//!
//! A request is one POST. Its answer is JSON, or a stream of events when notifications come first. A
//! client that goes away has cancelled its call.
//!
//! A page in a browser can reach a server on this machine, by its address or by a name of the page's
//! own that has come to mean it (DNS rebinding). So the host and the origin of a request are looked
//! at; a server for other machines asks for a token, which such a page does not know.

use core::convert::Infallible;
use core::fmt;
use core::future::poll_fn;
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
use futures_core::Stream;
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
    WWW_AUTHENTICATE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use super::bridge::{Call, Reply};
use super::per_caller::Servers;
use crate::http::{is_local, shows_token};

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

/// What answers the requests that come to a [`Front`].
///
/// ```
/// use agentwire_tokio::mcp::{Answers, Replies};
///
/// struct Silent;
///
/// impl Answers for Silent {
///     type Replies = Replies;
///
///     async fn answer(&self, _: String) -> Replies {
///         Replies::of(|_| core::future::ready(()))
///     }
/// }
/// ```
pub trait Answers: Send + Sync + 'static {
    /// The messages that a request brings: notifications, then the answer. Whoever drops them before
    /// that has cancelled the request.
    type Replies: Stream<Item = Reply> + Send + Unpin + 'static;

    /// Takes a request: a text that may be none. Whatever is wrong with it is said by its answer.
    fn answer(&self, request: String) -> impl Future<Output = Self::Replies> + Send;
}

impl Answers for Servers {
    type Replies = Call;

    async fn answer(&self, request: String) -> Call {
        // All clients of a front are one caller.
        self.call(CallerId(0), request, Room::UNLIMITED, Via::Conversation).await
    }
}

/// What a [`Front`] is told beyond its address. `Debug` does not show the token.
///
/// ```
/// use agentwire_tokio::mcp::FrontConfig;
/// let config = FrontConfig::default().token("canary");
/// assert!(!format!("{config:?}").contains("canary"));
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct FrontConfig {
    token: Option<String>,
}

impl FrontConfig {
    /// Serves only clients that show this token (`Authorization: Bearer ...`).
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }
}

impl fmt::Debug for FrontConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontConfig").field("has_token", &self.token.is_some()).finish()
    }
}

/// A server before HTTP clients. It ends when it is dropped.
///
/// - On an address of this machine it takes only requests that name this machine as their host, and
///   as their origin if they have one.
/// - On another address it needs a token of its clients. An origin has to be this machine or the
///   host that the request names.
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
    /// Listens on an address of this machine, and serves.
    ///
    /// # Errors
    /// What the system says if it cannot listen there; `PermissionDenied` if the address is not this
    /// machine's alone.
    pub async fn listen<A: Answers>(address: SocketAddr, answers: Arc<A>) -> io::Result<Self> {
        Self::listen_with(address, FrontConfig::default(), answers).await
    }

    /// The same as the configuration says.
    ///
    /// # Errors
    /// What the system says if it cannot listen there; `PermissionDenied` if the address is not this
    /// machine's alone and there is no token.
    pub async fn listen_with<A: Answers>(
        address: SocketAddr,
        config: FrontConfig,
        answers: Arc<A>,
    ) -> io::Result<Self> {
        if !address.ip().is_loopback() && config.token.as_ref().is_none_or(String::is_empty) {
            let problem = "other machines are served only with a token";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let guard = Arc::new(Guard { token: config.token, is_local: address.ip().is_loopback() });
        Ok(Self { address, task: tokio::spawn(accept(listener, guard, answers)) })
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

async fn accept<A: Answers>(listener: TcpListener, guard: Arc<Guard>, answers: Arc<A>) {
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
        let (guard, answers) = (Arc::clone(&guard), Arc::clone(&answers));
        connections.spawn(async move {
            serve(stream, &guard, &answers).await;
            drop(place);
        });
    }
}

async fn serve<A: Answers>(stream: TcpStream, guard: &Arc<Guard>, answers: &Arc<A>) {
    // Answers are small: none is to wait for another.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let (guard, answers) = (Arc::clone(guard), Arc::clone(answers));
        async move { Ok::<_, Infallible>(respond(request, &guard, &*answers).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // A client that breaks off is nobody's fault.
    let _ = served;
}

type Answer<R> = Response<Either<Full<Bytes>, Events<R>>>;

fn plain<R>(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer<R> {
    let mut response = Response::new(Either::Left(Full::new(text.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn refuse<R>(status: StatusCode, why: &'static str) -> Answer<R> {
    plain(status, "text/plain; charset=utf-8", why)
}

async fn respond<A: Answers>(
    request: Request<Incoming>,
    guard: &Guard,
    answers: &A,
) -> Answer<A::Replies> {
    let (parts, body) = request.into_parts();
    if !guard.lets_host(&parts.headers) || !guard.lets_origin(&parts.headers) {
        return refuse(StatusCode::FORBIDDEN, "the host or the origin is not this machine\n");
    }
    if guard.token.as_ref().is_some_and(|token| !shows_token(&parts.headers, token)) {
        let mut response = refuse(StatusCode::UNAUTHORIZED, "a token is needed\n");
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
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
    let mut replies = answers.answer(text.to_owned()).await;
    match poll_fn(|context| Pin::new(&mut replies).poll_next(context)).await {
        Some(Reply::Answer(answer)) => {
            let status = StatusCode::from_u16(status(&answer)).unwrap_or(StatusCode::OK);
            plain(status, "application/json", answer.text)
        }
        Some(Reply::Notification(text)) => {
            let mut alive = interval(ALIVE);
            alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
            alive.reset();
            let mut response = Response::new(Either::Right(Events::new(replies, alive, &text)));
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
fn mismatched<R>(headers: &HeaderMap, text: &str) -> Option<Answer<R>> {
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

/// Who is let in.
struct Guard {
    token: Option<String>,
    /// Whether only this machine can be heard.
    is_local: bool,
}

impl Guard {
    /// Whether the host is this machine, where only this machine is listened to.
    fn lets_host(&self, headers: &HeaderMap) -> bool {
        !self.is_local || text(headers, HOST).is_some_and(names_us)
    }

    /// Whether the origin, if there is one, is this machine, or the host where others are served.
    fn lets_origin(&self, headers: &HeaderMap) -> bool {
        let host = text(headers, HOST).filter(|_| !self.is_local);
        text(headers, ORIGIN).is_none_or(|origin| {
            origin
                .split_once("://")
                .is_some_and(|(_, authority)| names_us(authority) || host == Some(authority))
        })
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

/// Whether a host, with or without a port, is this machine.
fn names_us(authority: &str) -> bool {
    is_local(match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    })
}

/// Notifications, then the answer, as events.
struct Events<R> {
    replies: R,
    alive: Interval,
    next: Option<Bytes>,
    has_ended: bool,
}

impl<R> Events<R> {
    fn new(replies: R, alive: Interval, first: &str) -> Self {
        Self { replies, alive, next: event(first), has_ended: false }
    }
}

/// A message as an event. A message is one line, so it always is one.
fn event(text: &str) -> Option<Bytes> {
    Event::new(text).to_text().ok().map(Bytes::from)
}

impl<R: Stream<Item = Reply> + Unpin> Body for Events<R> {
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
        if let Poll::Ready(reply) = Pin::new(&mut self.replies).poll_next(context) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lets(guard: &Guard, host: &'static str, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
        }
        guard.lets_host(&headers) && guard.lets_origin(&headers)
    }

    #[test]
    fn here_the_host_and_the_origin_are_this_machine() {
        let guard = Guard { token: None, is_local: true };
        for host in ["127.0.0.1:80", "localhost", "[::1]:8080", "LocalHost:1"] {
            assert!(lets(&guard, host, None), "{host}");
            assert!(lets(&guard, host, Some("http://localhost:6274")), "{host}");
            assert!(!lets(&guard, host, Some("http://attacker.example")), "{host}");
            assert!(!lets(&guard, host, Some("null")), "{host}");
        }
        for host in ["attacker.example", "127.0.0.1.attacker.example:80", "192.0.2.1", ""] {
            assert!(!lets(&guard, host, None), "{host}");
        }
        assert!(!guard.lets_host(&HeaderMap::new()));
    }

    #[test]
    fn elsewhere_an_origin_is_the_host_or_this_machine() {
        let guard = Guard { token: Some("t".into()), is_local: false };
        assert!(lets(&guard, "agent.example:8080", None));
        assert!(lets(&guard, "agent.example:8080", Some("https://agent.example:8080")));
        assert!(lets(&guard, "agent.example:8080", Some("http://localhost:6274")));
        assert!(!lets(&guard, "agent.example:8080", Some("http://attacker.example")));
    }
}
