//! A server on Streamable HTTP as a connection: one request for each exchange, answered with JSON or
//! with a stream of events (MCP 2026-07-28, transports, Streamable HTTP).

use std::collections::HashMap;
use std::path::PathBuf;

use agentwire_core::json;
use agentwire_core::jsonrpc::Request;
use agentwire_core::mcp::bridge::ToServer;
use agentwire_core::mcp::http::{headers, write_value};
use agentwire_core::sse;
use hyper::Uri;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

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

/// The way to a server on HTTP.
pub(super) struct Connection {
    http: HttpClient,
    url: Uri,
    credential: Option<HeaderValue>,
    limit: usize,
    running: HashMap<u64, AbortHandle>,
    to: mpsc::Sender<(u64, Came)>,
    from: mpsc::Receiver<(u64, Came)>,
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
        Ok(Self { http, url, credential, limit, running: HashMap::new(), to, from })
    }

    /// Begins an exchange. What has no answer is not sent: over HTTP the end of a stream says it.
    pub(super) fn send(&mut self, message: ToServer) {
        let Some(exchange) = message.exchange else { return };
        let exchanged = self.headers(&message).map(|headers| {
            let (http, url, limit) = (self.http.clone(), self.url.clone(), self.limit);
            Exchange {
                exchange,
                http,
                url,
                headers,
                text: message.text,
                limit,
                to: self.to.clone(),
            }
        });
        let to = self.to.clone();
        let task = tokio::spawn(async move {
            let ended = match exchanged {
                Ok(exchanged) => exchanged.run().await.err(),
                Err(error) => Some(error),
            };
            // Nobody listens any more when the bridge is closing.
            let _ = to.send((exchange, Came::Ended(ended))).await;
        });
        self.running.insert(exchange, task.abort_handle());
    }

    /// Ends an exchange that nobody waits for.
    pub(super) fn cancel(&mut self, exchange: u64) {
        if let Some(task) = self.running.remove(&exchange) {
            task.abort();
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

    fn headers(&self, message: &ToServer) -> Result<HeaderMap, HttpError> {
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        map.insert(ACCEPT, accept);
        if let Some(credential) = &self.credential {
            map.insert(AUTHORIZATION, credential.clone());
        }
        let value = |text: &str| HeaderValue::from_str(text).map_err(|_| HttpError::Header);
        let request = Request::parse(&message.text).map_err(|_| HttpError::Header)?;
        for (name, repeated) in headers(&request) {
            let text = json::to_text(|out| write_value(out, repeated));
            map.insert(HeaderName::from_static(name), value(&text)?);
        }
        for (name, text) in &message.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HttpError::Header)?;
            map.insert(name, value(text)?);
        }
        Ok(map)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.running.values().for_each(AbortHandle::abort);
    }
}

struct Exchange {
    exchange: u64,
    http: HttpClient,
    url: Uri,
    headers: HeaderMap,
    text: String,
    limit: usize,
    to: mpsc::Sender<(u64, Came)>,
}

impl Exchange {
    async fn run(self) -> Result<(), HttpError> {
        let Self { exchange, http, url, headers, text, limit, to } = self;
        let response = http.send(hyper::Method::POST, &url, headers, text).await?;
        let (head, body) = response.into_parts();
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
