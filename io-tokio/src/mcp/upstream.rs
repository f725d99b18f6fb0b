//! A server on Streamable HTTP as a connection: one request for each exchange, answered with JSON or
//! with a stream of events (MCP 2026-07-28, transports, Streamable HTTP).
//!
//! A server of an older revision may open a session with its answer to the handshake. Requests then
//! name it, until the server does not know it any more: that is the end of the connection.

use core::time::Duration;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agentwire_core::json;
use agentwire_core::jsonrpc::Request;
use agentwire_core::mcp::bridge::ToServer;
use agentwire_core::mcp::http::{SESSION_HEADER, headers, is_session, write_value};
use agentwire_core::sse;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode, Uri};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::http::{Events, HttpClient, HttpError, HttpOptions, media_type, read_text, read_url};

/// How many messages may wait to be taken.
const INCOMING: usize = 64;

/// Where a server on HTTP is, and what it is told.
///
/// `Debug` shows neither the credential nor the path, which may hold one.
///
/// ```
/// use agentwire_tokio::mcp::Upstream;
/// let upstream = Upstream::new("https://mcp.example/secret").credential("Bearer canary");
/// assert!(!format!("{upstream:?}").contains("canary"));
/// assert!(!format!("{upstream:?}").contains("secret"));
/// ```
#[derive(Clone)]
pub struct Upstream {
    url: String,
    credential: Option<String>,
    ca_file: Option<PathBuf>,
    plain: bool,
}

impl Upstream {
    /// A server at an `https://` URL, or an `http://` one of this machine.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), credential: None, ca_file: None, plain: false }
    }

    /// Sends this in `Authorization` with every request.
    #[must_use]
    pub fn credential(mut self, credential: impl Into<String>) -> Self {
        self.credential = Some(credential.into());
        self
    }

    /// Trusts the certificates in this PEM file and no others.
    #[must_use]
    pub fn ca_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(file.into());
        self
    }

    /// Allows plain HTTP to other machines.
    #[must_use]
    pub const fn allow_plain_http(mut self) -> Self {
        self.plain = true;
        self
    }

    /// The server's host, for messages to a person.
    #[must_use]
    pub fn host(&self) -> String {
        let uri = self.url.parse::<Uri>().ok();
        uri.and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_else(|| "the server".into())
    }
}

impl core::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Upstream")
            .field("host", &self.host())
            .field("has_credential", &self.credential.is_some())
            .field("ca_file", &self.ca_file)
            .field("plain", &self.plain)
            .finish()
    }
}

/// What has come of an exchange.
pub(super) enum Came {
    Message(String),
    TooLarge,
    NotUtf8,
    /// Its stream has ended; why, unless it was in good order.
    Ended(Option<HttpError>),
}

/// How long the end of a session may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// The way to a server on HTTP.
pub(super) struct Connection {
    way: Way,
    limit: usize,
    running: HashMap<u64, AbortHandle>,
    /// Whether what was said last without an answer has arrived.
    said: watch::Receiver<bool>,
    /// The last headers that a message brought: its revision, for the end.
    headers: HeaderMap,
    to: mpsc::Sender<(u64, Came)>,
    from: mpsc::Receiver<(u64, Came)>,
}

/// Where requests go, and what each of them has.
#[derive(Clone)]
struct Way {
    http: HttpClient,
    url: Uri,
    credential: Option<HeaderValue>,
    /// The session of an older server, once it has given one.
    session: Arc<OnceLock<HeaderValue>>,
}

impl Way {
    /// Makes a request; says whether it named a session.
    async fn request(
        &self,
        method: hyper::Method,
        mut headers: HeaderMap,
        text: String,
    ) -> Result<(Response<Incoming>, bool), HttpError> {
        if let Some(credential) = &self.credential {
            headers.insert(AUTHORIZATION, credential.clone());
        }
        let session = self.session.get();
        if let Some(session) = session {
            headers.insert(SESSION_HEADER, session.clone());
        }
        let response = self.http.send(method, &self.url, headers, text).await?;
        Ok((response, session.is_some()))
    }
}

impl Connection {
    pub(super) fn new(upstream: &Upstream, limit: usize) -> Result<Self, HttpError> {
        let url = read_url(&upstream.url, upstream.plain)?;
        let is_plain = url.scheme_str() == Some("http");
        let options =
            HttpOptions { ca_file: upstream.ca_file.clone(), is_plain, ..HttpOptions::default() };
        let http = HttpClient::new(&options)?;
        let credential = upstream.credential.as_deref().map(HeaderValue::from_str).transpose();
        let mut credential = credential.map_err(|_| HttpError::Header)?;
        if let Some(credential) = &mut credential {
            credential.set_sensitive(true);
        }
        let (to, from) = mpsc::channel(INCOMING);
        Ok(Self {
            way: Way { http, url, credential, session: Arc::default() },
            limit,
            running: HashMap::new(),
            said: watch::channel(true).1,
            headers: HeaderMap::new(),
            to,
            from,
        })
    }

    /// Whether the server has opened a session, as older ones do.
    pub(super) fn has_session(&self) -> bool {
        self.way.session.get().is_some()
    }

    /// Begins an exchange, or says what has no answer, which only older servers are told.
    pub(super) fn send(&mut self, message: ToServer) {
        let headers = headers_of(&message);
        let Some(exchange) = message.exchange else {
            return self.say(headers, message.text);
        };
        let exchanged = headers.map(|headers| Exchange {
            exchange,
            way: self.way.clone(),
            opens: is_handshake(&message.text),
            headers,
            text: message.text,
            limit: self.limit,
            to: self.to.clone(),
        });
        let (to, mut said) = (self.to.clone(), self.said.clone());
        let task = tokio::spawn(async move {
            // An error: it cannot be said any more.
            let _ = said.wait_for(|said| *said).await;
            let ended = match exchanged {
                Ok(exchanged) => exchanged.run().await.err(),
                Err(error) => Some(error),
            };
            // Nobody listens any more when the bridge is closing.
            let _ = to.send((exchange, Came::Ended(ended))).await;
        });
        self.running.insert(exchange, task.abort_handle());
    }

    /// Says something that has no answer. What is sent later waits for it.
    fn say(&mut self, headers: Result<HeaderMap, HttpError>, text: String) {
        let Ok(headers) = headers else { return };
        self.headers.clone_from(&headers);
        let way = self.way.clone();
        let (done, said) = watch::channel(false);
        let mut before = core::mem::replace(&mut self.said, said);
        tokio::spawn(async move {
            let _ = before.wait_for(|said| *said).await;
            // An error shows in the next exchange.
            let _ = way.request(hyper::Method::POST, headers, text).await;
            let _ = done.send(true);
        });
    }

    /// Ends an exchange that nobody waits for. An older server has to be told: the end of a stream
    /// means nothing to it.
    pub(super) fn cancel(&mut self, exchange: u64, text: String, is_older: bool) {
        if let Some(task) = self.running.remove(&exchange) {
            task.abort();
        }
        if is_older {
            self.say(Ok(self.headers.clone()), text);
        }
    }

    /// What comes next. Cancel safe.
    pub(super) async fn next(&mut self) -> (u64, Came) {
        let came = self.from.recv().await;
        // One sender is kept here: there is always a next one.
        let Some((exchange, came)) = came else { return core::future::pending().await };
        if matches!(came, Came::Ended(_)) {
            self.running.remove(&exchange);
        }
        (exchange, came)
    }

    /// Ends the session, if there is one.
    pub(super) async fn close(self) {
        if !self.has_session() {
            return;
        }
        let headers = self.headers.clone();
        let goodbye = self.way.request(hyper::Method::DELETE, headers, String::new());
        // The server may not let clients end sessions.
        let _ = timeout(GOODBYE, goodbye).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.running.values().for_each(AbortHandle::abort);
    }
}

/// The headers of a message, without those that every request has.
fn headers_of(message: &ToServer) -> Result<HeaderMap, HttpError> {
    let mut map = HeaderMap::new();
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = HeaderValue::from_static("application/json, text/event-stream");
    map.insert(ACCEPT, accept);
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| HttpError::Header);
    if let Ok(request) = Request::parse(&message.text) {
        for (name, repeated) in headers(&request) {
            let text = json::to_text(|out| write_value(out, repeated));
            map.insert(HeaderName::from_static(name), value(&text)?);
        }
    }
    for (name, text) in &message.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HttpError::Header)?;
        map.insert(name, value(text)?);
    }
    Ok(map)
}

/// Whether a request may open a session.
fn is_handshake(text: &str) -> bool {
    Request::parse(text).is_ok_and(|request| request.method == *"initialize")
}

struct Exchange {
    exchange: u64,
    way: Way,
    /// Whether its answer may open a session.
    opens: bool,
    headers: HeaderMap,
    text: String,
    limit: usize,
    to: mpsc::Sender<(u64, Came)>,
}

impl Exchange {
    async fn run(self) -> Result<(), HttpError> {
        let Self { exchange, way, opens, headers, text, limit, to } = self;
        let (response, has_session) = way.request(hyper::Method::POST, headers, text).await?;
        let (head, body) = response.into_parts();
        if has_session && head.status == StatusCode::NOT_FOUND {
            // The session is gone, whatever else is said.
            return Err(HttpError::Status(head.status.as_u16()));
        }
        if opens && let Some(session) = head.headers.get(SESSION_HEADER) {
            if !session.to_str().is_ok_and(is_session) {
                return Err(HttpError::Header);
            }
            let mut session = session.clone();
            session.set_sensitive(true);
            // There is one handshake on a connection.
            let _ = way.session.set(session);
        }
        let came = |came| to.send((exchange, came));
        match media_type(&head.headers).as_str() {
            sse::MEDIA_TYPE if head.status.is_success() => {
                let mut events = Events::new(body, limit);
                while let Some(data) = events.next().await? {
                    if came(Came::Message(data)).await.is_err() {
                        return Ok(());
                    }
                }
                Ok(())
            }
            // An error comes with its status, and says more than that.
            "application/json" => {
                let message = match read_text(body, limit).await {
                    Ok(text) if head.status.is_success() || text.contains("\"jsonrpc\"") => {
                        Came::Message(text)
                    }
                    Ok(_) => return Err(HttpError::Status(head.status.as_u16())),
                    Err(HttpError::TooLarge { .. }) => Came::TooLarge,
                    Err(HttpError::NotUtf8) => Came::NotUtf8,
                    Err(error) => return Err(error),
                };
                let _ = came(message).await;
                Ok(())
            }
            _ if !head.status.is_success() => Err(HttpError::Status(head.status.as_u16())),
            _ => Err(HttpError::MediaType),
        }
    }
}
