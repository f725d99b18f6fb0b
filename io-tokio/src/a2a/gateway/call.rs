//! One request over HTTP, and its call in the conversation.

use std::sync::Arc;

use agentwire_core::a2a::{A2a, A2aError, ErrorBody, GatewayRequest, Method, VERSION_PARAMETER};
use agentwire_core::binding::{Binding as _, End, Failure, Standard};
use agentwire_core::chat::caller::CallError;
use agentwire_core::chat::session::{Reply, ReplyKind};
use agentwire_core::json::to_text;
use agentwire_core::sse::Event;
use hyper::{Response, StatusCode};
use tokio::time::{MissedTickBehavior, interval};

use super::body::{self, Answer, Events, Sender};
use super::{Shared, follow};
use crate::client::{ClientError, Replies};

/// Answers a request: with JSON, or with a stream of events.
pub(super) async fn answer(
    shared: &Arc<Shared>,
    text: &str,
    headers: &[(&str, &str)],
    query: Option<&str>,
) -> Response<Answer> {
    let version = query.and_then(version_of_query);
    let json = |text| body::json(StatusCode::OK, text);
    let request = match GatewayRequest::new(text, headers, version.as_deref(), shared.place()) {
        Ok(request) => request,
        Err(answer) => return json(answer),
    };
    let mut replies = match call(shared, request.text()).await {
        Ok(replies) => replies,
        Err(error) => return json(failed(request.id(), &error)),
    };
    let first = loop {
        match replies.next().await {
            // What people say meanwhile is no answer.
            Some(Ok(Reply { kind: ReplyKind::Text(_), is_end: false, .. })) => {}
            Some(Ok(reply)) => break reply,
            Some(Err(error)) => return json(failed(request.id(), &error)),
            None => return json(failed(request.id(), &ClientError::Closed)),
        }
    };
    if request.method().is_send() {
        shared.sent.notify_waiters();
    }
    let is_error = matches!(first.kind, ReplyKind::Last(End::Error { .. }));
    if is_error || !request.method().is_streaming() {
        return json(first.text);
    }
    let (sender, events) = Events::new();
    let shared = Arc::clone(shared);
    tokio::spawn(async move { stream(&shared, &request, first, replies, &sender).await });
    body::events(events)
}

/// The version in a URL's query (A2A 1.0 section 3.6).
fn version_of_query(query: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut versions = pairs.filter(|(name, _)| name.eq_ignore_ascii_case(VERSION_PARAMETER));
    versions.next().map(|(_, version)| version.to_owned())
}

pub(super) async fn call(shared: &Shared, text: &str) -> Result<Replies, ClientError> {
    shared.client.call(Standard::A2A, shared.agent.clone(), text, Shared::options()).await
}

/// How a stream in the conversation ends for one over HTTP.
pub(super) enum Ended {
    /// With its last event.
    Over,
    /// The task waits for its caller, or the wait for its events was over.
    Open,
    /// The client has left.
    Left,
}

/// Passes a stream on, and what follows it.
async fn stream(
    shared: &Shared,
    request: &GatewayRequest,
    first: Reply,
    mut replies: Replies,
    sender: &Sender,
) {
    let mut task = None;
    let ended = match pass(first, &mut task, sender).await {
        Some(ended) => ended,
        None => pass_all(shared, request, &mut replies, &mut task, sender).await,
    };
    drop(replies);
    let stays_open = request.method() == Method::SubscribeToTask;
    if let (Ended::Open, true, Some(task)) = (ended, stays_open, task.or_else(|| request.task())) {
        follow::follow(shared, request, &task, sender).await;
    }
}

/// Passes the replies of a call on until they end.
pub(super) async fn pass_all(
    shared: &Shared,
    request: &GatewayRequest,
    replies: &mut Replies,
    task: &mut Option<String>,
    sender: &Sender,
) -> Ended {
    let mut alive = interval(shared.config.keep_alive);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    alive.reset();
    loop {
        let reply = tokio::select! {
            reply = replies.next() => reply,
            _ = alive.tick() => {
                if !keep_alive(sender).await {
                    return Ended::Left;
                }
                continue;
            }
            () = sender.closed() => return Ended::Left,
        };
        alive.reset();
        match reply {
            Some(Ok(reply)) => {
                if let Some(ended) = pass(reply, task, sender).await {
                    return ended;
                }
            }
            // The task may well go on.
            Some(Err(ClientError::TimedOut(_))) if task.is_some() => return Ended::Open,
            Some(Err(error)) => {
                let text = failed(request.id(), &error);
                let is_there = send(sender, &text).await;
                return if is_there { Ended::Over } else { Ended::Left };
            }
            None => return Ended::Over,
        }
    }
}

/// Passes one reply on. How the stream ends, if it does with it.
pub(super) async fn pass(
    reply: Reply,
    task: &mut Option<String>,
    sender: &Sender,
) -> Option<Ended> {
    match &reply.kind {
        ReplyKind::Text(_) | ReplyKind::Notification(_) => return None,
        ReplyKind::Part(Some(id)) => *task = Some(id.clone()),
        _ => {}
    }
    if !send(sender, &reply.text).await {
        return Some(Ended::Left);
    }
    match reply.kind {
        ReplyKind::Last(End::Interrupted) => Some(Ended::Open),
        ReplyKind::Last(_) => Some(Ended::Over),
        _ => None,
    }
}

/// Sends an event. Whether the client is still there.
pub(super) async fn send(sender: &Sender, text: &str) -> bool {
    // Without a name and an id it can always be written.
    let event = Event::new(text).to_text().unwrap_or_default();
    sender.send(event.into()).await.is_ok()
}

pub(super) async fn keep_alive(sender: &Sender) -> bool {
    let text = to_text(agentwire_core::sse::write_keep_alive);
    sender.send(text.into()).await.is_ok()
}

/// The error for a call that was not made, or that ended without an answer.
pub(super) fn failed(id: &str, error: &ClientError) -> String {
    let failure = match error {
        ClientError::Call(CallError::Refused(failure)) => *failure,
        ClientError::Call(CallError::TooLarge(_) | CallError::NoRoomForReply { .. }) => {
            let body = ErrorBody::new(A2aError::InvalidRequest)
                .reason("too_large")
                .message("the request does not fit into one message");
            return to_text(|out| body.write(out, Some(id), &[]));
        }
        ClientError::Call(CallError::Full { capacity }) => Failure::Busy { capacity: *capacity },
        ClientError::TimedOut(_) => Failure::TimedOut,
        ClientError::Closed => Failure::Stopping,
        other => {
            tracing::warn!(error = %other, "a call has failed");
            Failure::Internal
        }
    };
    to_text(|out| A2a.write_failure(&failure, Some(id), out))
}
