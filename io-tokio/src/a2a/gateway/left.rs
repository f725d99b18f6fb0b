//! Clients that have left: the replies that arrive after that are read and kept for `GetTask`.

use std::sync::{MutexGuard, PoisonError};

use agentwire_core::a2a::{GatewayRequest, KeptTask, KeptTasks, Method};
use agentwire_core::chat::session::ReplyKind;
use agentwire_core::json::{Object, to_text};
use agentwire_core::jsonrpc::{Message, write_result};
use agentwire_core::time::Instant;
use tokio::time::timeout;

use super::Shared;
use crate::client::Replies;

impl Shared {
    fn kept(&self) -> (Instant, MutexGuard<'_, KeptTasks>) {
        let since = self.started.elapsed().as_millis();
        let now = Instant::from_millis(u64::try_from(since).unwrap_or(u64::MAX));
        // Nothing that is done with it panics halfway.
        (now, self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The result in a reply, if it is an object.
fn result(text: &str) -> Option<Object<'_>> {
    match Message::parse(text) {
        Ok(Message::Response(response)) => response.result.as_object(),
        _ => None,
    }
}

/// Takes a reply into the task that it is about.
pub(super) fn add(task: &mut KeptTask, text: &str) {
    if let Some(event) = result(text) {
        task.add(event);
    }
}

/// Reads what is left of a call, and keeps the task that it is about. `task` is what its client has
/// seen.
pub(super) async fn read(
    shared: &Shared,
    request: &GatewayRequest,
    mut replies: Replies,
    task: KeptTask,
) {
    if !(request.method().is_send() || request.method().is_streaming()) {
        return;
    }
    // With too many of them the call is given up.
    let Ok(_room) = shared.room.try_acquire() else { return };
    let mut id = task.id().map(str::to_owned);
    keep(shared, task);
    let read = async {
        while let Some(Ok(reply)) = replies.next().await {
            if let Some(event) = result(&reply.text) {
                let (now, mut kept) = shared.kept();
                match &id {
                    Some(id) => kept.add(now, id, event),
                    None => {
                        let mut task = KeptTask::default();
                        task.add(event);
                        id = task.id().map(str::to_owned);
                        kept.keep(now, task);
                    }
                }
            }
            if matches!(reply.kind, ReplyKind::Last(_)) {
                break;
            }
        }
    };
    let mut ended = shared.ended.subscribe();
    tokio::select! {
        _ = timeout(shared.config.kept_for, read) => {}
        _ = ended.wait_for(|ended| *ended) => {}
    }
}

/// Keeps a task whose last replies did not reach their client.
pub(super) fn keep(shared: &Shared, task: KeptTask) {
    let (now, mut kept) = shared.kept();
    kept.keep(now, task);
}

/// The same for a single answer.
pub(super) fn keep_answer(shared: &Shared, request: &GatewayRequest, text: &str) {
    if request.method().is_send() {
        let mut task = KeptTask::default();
        add(&mut task, text);
        keep(shared, task);
    }
}

/// The agent has answered: what it says of a task stands in place of what is kept of it.
pub(super) fn shown(shared: &Shared, request: &GatewayRequest, text: &str) {
    let (now, mut kept) = shared.kept();
    if kept.is_empty() {
        return;
    }
    let Some(result) = result(text) else { return };
    match (request.method(), request.task()) {
        (Method::GetTask | Method::CancelTask, Some(id)) => kept.add_task(now, &id, result),
        (Method::SendMessage, _) => {
            let mut task = KeptTask::default();
            task.add(result);
            task.id().into_iter().for_each(|id| kept.forget(id));
        }
        _ => {}
    }
}

/// A client has seen the whole of a stream: what is kept of its task is old.
pub(super) fn over(shared: &Shared, task: &KeptTask) {
    let (_, mut kept) = shared.kept();
    task.id().into_iter().for_each(|id| kept.forget(id));
}

/// What is kept of the task that a client asks for, as the answer to it.
pub(super) fn answer(shared: &Shared, request: &GatewayRequest) -> Option<String> {
    let id = request.task().filter(|_| request.method() == Method::GetTask)?;
    let (now, mut kept) = shared.kept();
    let task = kept.get(now, &id)?;
    let result = to_text(|out| task.write(out, request.history_length()));
    Some(to_text(|out| write_result(out, request.id(), &result)))
}
