//! Requests over HTTP.

use core::time::Duration;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use agentwire_blocking::link::client_config;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::guard::Resolver;
use super::{HttpError, Reach};
use crate::link::LinkError;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(30);
/// How many such connections are kept to one host.
const MAX_IDLE: usize = 64;

/// How an agent on HTTP is reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpOptions {
    /// Trusts the certificates in this PEM file and no others.
    pub(crate) ca_file: Option<PathBuf>,
    /// Whether no URL is an `https://` one: then no certificates have to be there.
    pub(crate) is_plain: bool,
    /// Where connections may go.
    pub(crate) reach: Reach,
}

/// Keeps connections, and makes requests over them.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    client: Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>,
    reach: Reach,
}

impl HttpClient {
    /// A client without connections yet.
    pub(crate) fn new(options: &HttpOptions) -> Result<Self, HttpError> {
        let config = match &options.ca_file {
            _ if options.is_plain => nobody().map_err(HttpError::Trust)?,
            file => (*client_config(file.as_deref()).map_err(HttpError::Trust)?).clone(),
        };
        let mut connector = HttpConnector::new_with_resolver(Resolver(options.reach));
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(MAX_IDLE)
            .build(connector);
        Ok(Self { client, reach: options.reach })
    }

    /// Makes one request. The answer's body is still to be read.
    pub(crate) async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: String,
    ) -> Result<Response<Incoming>, HttpError> {
        // A name is looked at by the resolver, which an address does not pass.
        self.reach.check(uri)?;
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers;
        let sent = self.client.request(request).await;
        sent.map_err(|error| match refused(&error) {
            true => HttpError::NotPublic,
            false => HttpError::Connection(innermost(&error).into()),
        })
    }
}

/// What trusts nobody: TLS is not used.
fn nobody() -> Result<ClientConfig, LinkError> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| LinkError::Tls(error.to_string().into()))?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Ok(config)
}

/// Whether the resolver has refused what it found.
fn refused(error: &(dyn core::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if inner.is_some_and(|inner| inner.is::<HttpError>()) {
            return true;
        }
        next = error.source();
    }
    false
}

/// What an error is about in the end.
fn innermost(error: &dyn core::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// The media type of an answer, without its parameters and in lower case; empty without one.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads a whole body of at most so many bytes.
pub(crate) async fn read_text(body: Incoming, limit: usize) -> Result<String, HttpError> {
    match Limited::new(body, limit).collect().await {
        Ok(body) => String::from_utf8(body.to_bytes().into()).map_err(|_| HttpError::NotUtf8),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            Err(HttpError::TooLarge { limit })
        }
        Err(error) => Err(HttpError::Connection(innermost(&*error).into())),
    }
}
