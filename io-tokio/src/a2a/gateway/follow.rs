//! A subscription over HTTP that is longer than the stream in the conversation.

use agentwire_core::a2a::{GatewayRequest, Method, StreamEvent};
use agentwire_core::binding::End;
use agentwire_core::chat::session::ReplyKind;
use agentwire_core::json::{Value, to_text};
use agentwire_core::jsonrpc::{Message, write_result};
use tokio::time::{Instant, interval, sleep_until};

use super::body::Sender;
use super::call::{self, Ended, Passed};
use super::{Shared, left};

/// Follows a task until it is over: looks at it while it waits for its caller, and takes up its
/// stream again when it goes on.
pub(super) async fn follow(shared: &Shared, request: &GatewayRequest, task: &str, sender: &Sender) {
    let mut delay = shared.config.poll_at_first;
    loop {
        if !wait(shared, delay, sender).await {
            return;
        }
        delay = (delay * 2).min(shared.config.poll_at_most);
        let Some(seen) = look(shared, request, task).await else { continue };
        if seen.is_over {
            call::send(sender, &seen.text).await;
            return;
        }
        if seen.waits {
            continue;
        }
        // It goes on: so does its stream.
        let text = request.about(Method::SubscribeToTask, task);
        let Ok(mut replies) = call::call(shared, &text).await else { continue };
        let Some(Ok(first)) = replies.next().await else { continue };
        // The task is over meanwhile, perhaps: the next look shows it.
        if matches!(first.kind, ReplyKind::Last(End::Error { .. })) {
            continue;
        }
        let mut passed = Passed { task: Some(task.to_owned()), ..Passed::default() };
        let ended = match call::pass(first, &mut passed, sender).await {
            Some(ended) => ended,
            None => call::pass_all(shared, request, &mut replies, &mut passed, sender).await,
        };
        match ended {
            Ended::Open => delay = shared.config.poll_at_first,
            Ended::Over => return,
            Ended::Left => return left::read(shared, request, replies, passed.kept).await,
        }
    }
}

/// Waits, or until a message has gone to the agent, with signs of life. Whether the client is still
/// there.
async fn wait(shared: &Shared, delay: core::time::Duration, sender: &Sender) -> bool {
    let until = Instant::now() + delay;
    let mut alive = interval(shared.config.keep_alive);
    alive.reset();
    loop {
        tokio::select! {
            () = sender.closed() => return false,
            () = sleep_until(until) => return true,
            () = shared.sent.notified() => return true,
            _ = alive.tick() => {
                if !call::keep_alive(sender).await {
                    return false;
                }
            }
        }
    }
}

/// A task as it is.
struct Seen {
    /// As an event of the stream.
    text: String,
    is_over: bool,
    waits: bool,
}

async fn look(shared: &Shared, request: &GatewayRequest, task: &str) -> Option<Seen> {
    let text = request.about(Method::GetTask, task);
    let reply = call::call(shared, &text).await.ok()?.last().await.ok()?;
    let Ok(Message::Response(response)) = Message::parse(&reply.text) else { return None };
    let result = response.result;
    let state = StreamEvent::of_task(result.as_object()?)?.state?;
    let event = |result: Value<'_>| {
        let result = format!("{{\"task\":{}}}", result.get());
        to_text(|out| write_result(out, request.id(), &result))
    };
    let (is_over, waits) = (state.is_terminal(), state.is_interrupted());
    Some(Seen { text: event(result), is_over, waits })
}
