//! Connections, and what is asked on them.

use core::convert::Infallible;
use core::future::Future;
use core::pin::pin;
use core::time::Duration;
use std::sync::Arc;

use agentwire_core::a2a::{A2aError, ErrorBody};
use agentwire_core::json::to_text;
use hyper::body::Incoming;
use hyper::header::{ALLOW, AUTHORIZATION, HOST, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::body::{self, Answer};
use super::{INTERFACE_PATH, Shared, call};
use crate::a2a::upstream::CARD_PATH;
use crate::http::{HttpError, is_local, media_type, read_text, shows_token};

/// How long the head of a request may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long no connection is taken after the system could not give one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long connections have to end.
const END: Duration = Duration::from_secs(1);

pub(super) async fn run(
    listener: &TcpListener,
    shared: Arc<Shared>,
    end: impl Future<Output = ()>,
) {
    let has_ended = shared.ended.subscribe();
    let mut connections = JoinSet::new();
    let mut end = pin!(end);
    loop {
        let has_room = connections.len() < shared.config.max_connections;
        tokio::select! {
            biased;
            () = &mut end => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if has_room => match accepted {
                Ok((socket, _)) => {
                    let (shared, has_ended) = (Arc::clone(&shared), has_ended.clone());
                    connections.spawn(connection(socket, shared, has_ended));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not taken");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    shared.ended.send_replace(true);
    let all = async { while connections.join_next().await.is_some() {} };
    // What has not ended by then is dropped with the set.
    let _ = tokio::time::timeout(END, all).await;
}

async fn connection(socket: TcpStream, shared: Arc<Shared>, mut has_ended: watch::Receiver<bool>) {
    // An event is written whole; waiting for more would only delay it.
    let _ = socket.set_nodelay(true);
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(&shared, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(socket), service));
    let ended = async { has_ended.wait_for(|ended| *ended).await.is_ok() };
    tokio::select! {
        // A client that breaks off is no matter.
        _ = connection.as_mut() => {}
        _ = ended => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn answer(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<Answer> {
    if let Some(refusal) = refuse(shared, request.headers()) {
        return refusal;
    }
    let path = request.uri().path();
    let is_interface = path.strip_suffix('/').unwrap_or(path) == INTERFACE_PATH || path == "/";
    match (path == CARD_PATH, is_interface, request.method()) {
        (true, _, method @ (&Method::GET | &Method::HEAD)) => {
            shared.card.answer(method, request.headers())
        }
        (true, ..) => not_allowed("GET, HEAD"),
        (_, true, &Method::POST) => post(shared, request).await,
        (_, true, _) => not_allowed("POST"),
        _ => body::text(StatusCode::NOT_FOUND, "text/plain", "nothing is here\n".into()),
    }
}

fn not_allowed(allowed: &'static str) -> Response<Answer> {
    let text = format!("only {allowed}\n");
    let mut response = body::text(StatusCode::METHOD_NOT_ALLOWED, "text/plain", text);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Who is not served.
fn refuse(shared: &Shared, headers: &HeaderMap) -> Option<Response<Answer>> {
    if let Some(token) = &shared.config.token {
        if !shows_token(headers, token) {
            let text = String::from("a token is needed\n");
            let mut response = body::text(StatusCode::UNAUTHORIZED, "text/plain", text);
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return Some(response);
        }
    } else if shared.is_local {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        if !is_local(name) {
            let text = String::from("this host is not served here\n");
            return Some(body::text(StatusCode::FORBIDDEN, "text/plain", text));
        }
    }
    None
}

async fn post(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<Answer> {
    let refuse = |status, error, message: &str| {
        let error = ErrorBody::new(error).message(message);
        body::json(status, to_text(|out| error.write(out, None, &[])))
    };
    // Before anything is parsed: what is not JSON by its own word is not held against JSON.
    if media_type(request.headers()) != "application/json" {
        let message = "the content type is not application/json";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return refuse(status, A2aError::ContentTypeNotSupported, message);
    }
    let (head, body) = request.into_parts();
    let text = match read_text(body, shared.config.max_body).await {
        Ok(text) => text,
        Err(HttpError::NotUtf8) => {
            return refuse(StatusCode::OK, A2aError::Parse, "the request is not UTF-8");
        }
        Err(HttpError::TooLarge { .. }) => {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return refuse(status, A2aError::InvalidRequest, "the request is too long");
        }
        Err(_) => {
            let status = StatusCode::BAD_REQUEST;
            return refuse(status, A2aError::InvalidRequest, "the request has no end");
        }
    };
    let is_own = |name: &str| shared.config.token.is_some() && name == AUTHORIZATION.as_str();
    let headers: Vec<(&str, &str)> = head
        .headers
        .iter()
        .filter_map(|(name, value)| {
            Some((name.as_str(), core::str::from_utf8(value.as_bytes()).ok()?))
        })
        .filter(|(name, _)| !is_own(name))
        .collect();
    call::answer(shared, &text, &headers, head.uri.query()).await
}
