//! One request over HTTP, and its call in the conversation.

use core::time::Duration;
use std::sync::Arc;

use agentwire_core::a2a::{
    A2a, A2aError, ErrorBody, GatewayRequest, KeptTask, Method, VERSION_PARAMETER,
};
use agentwire_core::binding::{Binding as _, End, Failure, Standard};
use agentwire_core::chat::caller::CallError;
use agentwire_core::chat::session::{Reply, ReplyKind};
use agentwire_core::json::to_text;
use agentwire_core::sse::Event;
use hyper::{Response, StatusCode};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::body::{self, Answer, Events, Sender};
use super::{Shared, follow, left};
use crate::client::{ClientError, Replies};

/// Answers a request: with JSON, or with a stream of events.
pub(super) async fn answer(
    shared: &Arc<Shared>,
    text: &str,
    headers: &[(&str, &str)],
    query: Option<&str>,
) -> Response<Answer> {
    let version = query.and_then(version_of_query);
    let request = match GatewayRequest::new(text, headers, version.as_deref(), shared.place()) {
        Ok(request) => request,
        Err(answer) => return json(answer),
    };
    let id = request.id().to_owned();
    let (client, answer) = oneshot::channel();
    let shared = Arc::clone(shared);
    // In a task of its own: the replies may come after the client has left.
    tokio::spawn(async move { exchange(&shared, &request, client).await });
    answer.await.unwrap_or_else(|_| json(failed(&id, &ClientError::Closed)))
}

fn json(text: String) -> Response<Answer> {
    body::json(StatusCode::OK, text)
}

/// Makes the call, and answers the client with its replies.
async fn exchange(
    shared: &Shared,
    request: &GatewayRequest,
    mut client: oneshot::Sender<Response<Answer>>,
) {
    // Without an answer from the agent, what is kept of the task answers.
    let instead = || left::answer(shared, request);
    let mut replies = match call(shared, request.text()).await {
        Ok(replies) => replies,
        Err(error) => {
            let text = instead().unwrap_or_else(|| failed(request.id(), &error));
            return drop(client.send(json(text)));
        }
    };
    let patience = instead().map_or(Duration::MAX, |_| shared.config.kept_after);
    let first = tokio::select! {
        first = timeout(patience, first(&mut replies)) => first.unwrap_or(Err(ClientError::Closed)),
        () = client.closed() => return left::read(shared, request, replies, KeptTask::default()).await,
    };
    if request.method().is_send() {
        shared.sent.notify_waiters();
    }
    match first {
        Err(error) => {
            let text = instead().unwrap_or_else(|| failed(request.id(), &error));
            drop(client.send(json(text)));
        }
        Ok(Reply { kind: ReplyKind::Last(End::Error { .. }), text, .. }) => {
            drop(client.send(json(instead().unwrap_or(text))));
        }
        Ok(first) if request.method().is_streaming() => {
            let (sender, events) = Events::new();
            // Where the client has left, the events have no reader either.
            let _ = client.send(body::events(events));
            stream(shared, request, first, replies, &sender).await;
        }
        Ok(first) => {
            left::shown(shared, request, &first.text);
            if client.send(json(first.text.clone())).is_err() {
                left::keep_answer(shared, request, &first.text);
            }
        }
    }
}

/// The first reply that answers.
async fn first(replies: &mut Replies) -> Result<Reply, ClientError> {
    loop {
        match replies.next().await {
            // What people say meanwhile is no answer.
            Some(Ok(Reply { kind: ReplyKind::Text(_), is_end: false, .. })) => {}
            Some(reply) => return reply,
            None => return Err(ClientError::Closed),
        }
    }
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
    let mut passed = Passed::default();
    let ended = match pass(first, &mut passed, sender).await {
        Some(ended) => ended,
        None => pass_all(shared, request, &mut replies, &mut passed, sender).await,
    };
    match ended {
        Ended::Left => left::read(shared, request, replies, passed.kept).await,
        // Whether all of it has been taken shows a moment later.
        Ended::Over => match sender.reserve_many(body::PIECES).await {
            Ok(_) => left::over(shared, &passed.kept),
            Err(_) => left::keep(shared, passed.kept),
        },
        Ended::Open => {
            left::over(shared, &passed.kept);
            drop(replies);
            let stays_open = request.method() == Method::SubscribeToTask;
            if let (true, Some(task)) = (stays_open, passed.task.or_else(|| request.task())) {
                follow::follow(shared, request, &task, sender).await;
            }
        }
    }
}

/// What has been passed on.
#[derive(Default)]
pub(super) struct Passed {
    /// The task that a reply has named.
    pub(super) task: Option<String>,
    /// The task as the replies show it: what there is of it when the client leaves.
    pub(super) kept: KeptTask,
}

/// Passes the replies of a call on until they end.
pub(super) async fn pass_all(
    shared: &Shared,
    request: &GatewayRequest,
    replies: &mut Replies,
    passed: &mut Passed,
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
                if let Some(ended) = pass(reply, passed, sender).await {
                    return ended;
                }
            }
            // The task may well go on.
            Some(Err(ClientError::TimedOut(_))) if passed.task.is_some() => return Ended::Open,
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
pub(super) async fn pass(reply: Reply, passed: &mut Passed, sender: &Sender) -> Option<Ended> {
    match &reply.kind {
        ReplyKind::Text(_) | ReplyKind::Notification(_) => return None,
        ReplyKind::Part(Some(id)) => passed.task = Some(id.clone()),
        _ => {}
    }
    left::add(&mut passed.kept, &reply.text);
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
pub(crate) fn failed(id: &str, error: &ClientError) -> String {
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
