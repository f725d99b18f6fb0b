//! The agent on HTTP: where it is, its card, and one request to it.

use core::fmt;
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use agentwire_core::a2a::{
    EXTENSIONS_PARAMETER, Incoming, Interface, VERSION, VERSION_PARAMETER, credential_parameters,
};
use agentwire_core::json::{Object, Str};
use agentwire_core::sse;
use hyper::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Method, StatusCode, Uri};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::source::Source;
use crate::http::{
    Events, HttpClient, HttpError, HttpOptions, Reach, media_type, read_text, read_url, same_origin,
};

/// Where an agent's card is (A2A 1.0 section 8.2).
pub(super) const CARD_PATH: &str = "/.well-known/agent-card.json";

/// How an agent on HTTP is reached.
///
/// ```
/// use agentwire_tokio::a2a::UpstreamConfig;
/// let mut config = UpstreamConfig::default();
/// config.interface = Some("http://127.0.0.1:9999/a2a".into());
/// assert!(!config.allow_plain_http);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpstreamConfig {
    /// The URL of the agent's JSON-RPC interface. Without it, the card names it, and it has to be
    /// on the origin of the card: a card that points elsewhere decides where credentials go.
    pub interface: Option<String>,
    /// Whether plain HTTP may go to another machine than this one.
    pub allow_plain_http: bool,
    /// Trusts the certificates in this PEM file, and no others.
    pub ca_file: Option<PathBuf>,
    /// How long an answer, or one event of a stream, may be, in bytes. Default:
    /// [`sse::MAX_DATA_LEN`].
    pub max_answer: usize,
    /// How long the card may take, from the connection on. Default 20 s.
    pub card_timeout: Duration,
    /// How long the public card is taken to be as it was. Default 60 s.
    pub card_age: Duration,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self {
            interface: None,
            allow_plain_http: false,
            ca_file: None,
            max_answer: sse::MAX_DATA_LEN,
            card_timeout: Duration::from_secs(20),
            card_age: Duration::from_secs(60),
        }
    }
}

/// Why an agent cannot be served.
///
/// ```
/// use agentwire_tokio::a2a::UpstreamError;
/// assert!(UpstreamError::NoInterface.to_string().contains("JSONRPC"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The card could not be fetched.
    Card(HttpError),
    /// The card is not a JSON object.
    NotACard,
    /// The card has no interface that speaks JSON-RPC and A2A 1.0.
    NoInterface,
    /// The card names an interface on another origin than its own.
    OtherOrigin,
    /// The interface cannot be called.
    Interface(HttpError),
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Card(error) => write!(f, "the agent's card cannot be fetched: {error}"),
            Self::NotACard => f.write_str("the agent's card is not a JSON object"),
            Self::NoInterface => {
                f.write_str("the agent's card has no JSONRPC interface of A2A 1.0")
            }
            Self::OtherOrigin => f.write_str(
                "the agent's card names an interface on another origin than its own; name the \
                 interface to allow that",
            ),
            Self::Interface(error) => write!(f, "the agent's interface: {error}"),
        }
    }
}

impl core::error::Error for UpstreamError {}

/// An agent on HTTP.
#[derive(Debug)]
pub struct Upstream {
    http: HttpClient,
    interface: Uri,
    card_url: Uri,
    card: Mutex<(Instant, Arc<str>)>,
    /// As the text of a JSON string.
    tenant: Option<String>,
    credentials: Vec<String>,
    config: UpstreamConfig,
}

/// What the agent's server has answered with.
pub(super) enum Answered {
    /// One answer, or a stream of them.
    Source(Source),
    /// It wants a credential: the status and the challenge.
    Challenge(String),
    /// It is called too often.
    Later(u32),
}

impl Upstream {
    /// Fetches the agent's card and reads where the agent is. `url` is that of the card, or any
    /// other on its origin, below which the card is at its well-known place.
    ///
    /// # Errors
    /// [`UpstreamError`]
    pub async fn discover(url: &str, config: UpstreamConfig) -> Result<Self, UpstreamError> {
        let allows_plain = config.allow_plain_http;
        let url = read_url(url, allows_plain).map_err(UpstreamError::Card)?;
        let named = config.interface.as_deref().map(|named| read_url(named, allows_plain));
        let named = named.transpose().map_err(UpstreamError::Interface)?;
        let is_plain = |url: &Uri| url.scheme_str() == Some("http");
        let options = HttpOptions {
            ca_file: config.ca_file.clone(),
            is_plain: is_plain(&url) && named.as_ref().is_none_or(is_plain),
            // The operator has named it.
            reach: Reach::Anywhere,
        };
        let http = HttpClient::new(&options).map_err(UpstreamError::Card)?;
        let card_url = card_url(&url).ok_or(UpstreamError::Card(HttpError::Url))?;
        let card = fetch_card(&http, &card_url, &config).await.map_err(UpstreamError::Card)?;
        let object = Object::parse(&card).map_err(|_| UpstreamError::NotACard)?;
        let text = |text: Str<'_>| text.chars().collect::<String>();
        let chosen = Interface::choose(object);
        let interface = match (named, chosen) {
            (Some(named), _) => named,
            (None, None) => return Err(UpstreamError::NoInterface),
            (None, Some(chosen)) => {
                let found = read_url(&text(chosen.url), allows_plain);
                let found = found.map_err(UpstreamError::Interface)?;
                if !same_origin(&found, &card_url) {
                    return Err(UpstreamError::OtherOrigin);
                }
                found
            }
        };
        let tenant = chosen.and_then(|chosen| chosen.tenant).map(|tenant| tenant.get().to_owned());
        let mut credentials = Vec::new();
        credential_parameters(object, &mut |name| credentials.push(text(name)));
        let card = Mutex::new((Instant::now(), Arc::from(card)));
        Ok(Self { http, interface, card_url, card, tenant, credentials, config })
    }

    /// The agent's public card, fetched again if it is old. If that fails, the one there was.
    pub async fn card(&self) -> Arc<str> {
        let mut card = self.card.lock().await;
        if card.0.elapsed() >= self.config.card_age {
            let fresh = fetch_card(&self.http, &self.card_url, &self.config).await;
            if let Some(fresh) = fresh.ok().filter(|fresh| Object::parse(fresh).is_ok()) {
                card.1 = Arc::from(fresh);
            }
            card.0 = Instant::now();
        }
        Arc::clone(&card.1)
    }

    /// The URL of the interface that is called.
    pub fn interface(&self) -> String {
        self.interface.to_string()
    }

    /// The service parameters that the card's security schemes name.
    pub(super) fn credentials(&self) -> Vec<&str> {
        self.credentials.iter().map(String::as_str).collect()
    }

    /// What every request has to name, as the text of a JSON string.
    pub(super) fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// Makes one request, with a caller's service parameters as headers.
    pub(super) async fn call(
        &self,
        caller: &Incoming<'_>,
        body: String,
        streams: bool,
    ) -> Result<Answered, HttpError> {
        let headers = headers(caller, streams)?;
        let response = self.http.send(Method::POST, &self.interface, headers, body).await?;
        let (head, body) = response.into_parts();
        if matches!(head.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Ok(Answered::Challenge(challenge(head.status, &head.headers)));
        }
        if head.status == StatusCode::TOO_MANY_REQUESTS {
            let after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            return Ok(Answered::Later(after.and_then(|after| after.parse().ok()).unwrap_or(60)));
        }
        match media_type(&head.headers).as_str() {
            sse::MEDIA_TYPE if head.status.is_success() => {
                let events = Events::new(body, self.config.max_answer);
                Ok(Answered::Source(Source::Events(Box::new(events))))
            }
            "application/json" => {
                let text = read_text(body, self.config.max_answer).await?;
                if !head.status.is_success() && !text.contains("\"jsonrpc\"") {
                    return Err(HttpError::Status(head.status.as_u16()));
                }
                Ok(Answered::Source(Source::One(Some(text))))
            }
            _ if !head.status.is_success() => Err(HttpError::Status(head.status.as_u16())),
            _ => Err(HttpError::MediaType),
        }
    }
}

/// Where the card is whose own URL this is, or that of something beside it.
fn card_url(url: &Uri) -> Option<Uri> {
    if url.path().ends_with(".json") {
        return Some(url.clone());
    }
    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(CARD_PATH.parse().ok()?);
    Uri::from_parts(parts).ok()
}

async fn fetch_card(
    http: &HttpClient,
    url: &Uri,
    config: &UpstreamConfig,
) -> Result<String, HttpError> {
    let fetch = async {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(version_header(), HeaderValue::from_static(VERSION));
        let response = http.send(Method::GET, url, headers, String::new()).await?;
        if response.status() != StatusCode::OK {
            return Err(HttpError::Status(response.status().as_u16()));
        }
        read_text(response.into_body(), config.max_answer).await
    };
    timeout(config.card_timeout, fetch).await.unwrap_or(Err(HttpError::TimedOut))
}

fn version_header() -> HeaderName {
    HeaderName::from_bytes(VERSION_PARAMETER.as_bytes()).unwrap_or(CONTENT_TYPE)
}

/// The headers of a request: those of the protocol, and the service parameters that pass.
fn headers(caller: &Incoming<'_>, streams: bool) -> Result<HeaderMap, HttpError> {
    let mut headers = HeaderMap::new();
    for (name, value) in caller.parameters.forwarded() {
        let name: String = name.chars().collect();
        let value: String = value.chars().collect();
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HttpError::Header)?;
        let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| HttpError::Header)?;
        value.set_sensitive(!name.as_str().eq_ignore_ascii_case(EXTENSIONS_PARAMETER));
        headers.insert(name, value);
    }
    headers.insert(version_header(), HeaderValue::from_static(VERSION));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = if streams { sse::MEDIA_TYPE } else { "application/json" };
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    Ok(headers)
}

/// What a person or a program reads of a challenge: the status, and what the server says of the
/// credential that it wants.
fn challenge(status: StatusCode, headers: &HeaderMap) -> String {
    let mut text = format!("HTTP {}", status.as_u16());
    let challenges = headers.get_all(WWW_AUTHENTICATE).iter();
    for (place, challenge) in challenges.filter_map(|value| value.to_str().ok()).enumerate() {
        text.push_str(if place == 0 { ": " } else { ", " });
        text.push_str(challenge);
    }
    text
}
