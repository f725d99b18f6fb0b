//! Tasks that a proxy makes itself: for a challenge ("Callers and authorization": "A challenge is
//! answered with the task state `auth required`").

use super::{Method, TaskState};
use crate::json::Writer;

/// A task that stands in for what the agent has not said.
///
/// ```
/// use agentwire_core::a2a::{MadeTask, Method, TaskState};
/// use agentwire_core::json;
///
/// let task = MadeTask::new("t", TaskState::AuthRequired)
///     .context("c")
///     .says("m", "HTTP 401: Bearer realm=\"shop\"");
/// assert_eq!(
///     json::to_text(|out| task.write(out, "7", Method::SendMessage)),
///     concat!(
///         r#"{"jsonrpc":"2.0","id":7,"result":{"task":{"id":"t","contextId":"c","status":{"#,
///         r#""state":"TASK_STATE_AUTH_REQUIRED","message":{"messageId":"m","contextId":"c","#,
///         r#""taskId":"t","role":"ROLE_AGENT","parts":[{"text":"HTTP 401: Bearer realm=\"shop\""}"#,
///         r#"]}}}}}"#
///     )
/// );
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct MadeTask<'a> {
    id: &'a str,
    context: Option<&'a str>,
    state: TaskState,
    message: Option<(&'a str, &'a str)>,
}

impl<'a> MadeTask<'a> {
    /// A task in a state.
    pub const fn new(id: &'a str, state: TaskState) -> Self {
        Self { id, context: None, state, message: None }
    }

    /// In a context.
    pub const fn context(mut self, context: &'a str) -> Self {
        self.context = Some(context);
        self
    }

    /// With a message of the agent: its id and its text.
    pub const fn says(mut self, message: &'a str, text: &'a str) -> Self {
        self.message = Some((message, text));
        self
    }

    /// Writes the answer to a request for it: the task itself, or, where the method answers with a
    /// choice, the arm that it is.
    pub fn write(&self, out: &mut Writer<'_>, id: &str, method: Method) {
        let is_arm = !matches!(method, Method::GetTask | Method::CancelTask);
        out.raw("{\"jsonrpc\":\"2.0\",\"id\":").raw(id).raw(",\"result\":");
        out.raw(if is_arm { "{\"task\":" } else { "" }).raw("{\"id\":").string(self.id);
        self.write_context(out);
        out.raw(",\"status\":{\"state\":").string(self.state.name());
        if let Some((message, text)) = self.message {
            out.raw(",\"message\":{\"messageId\":").string(message);
            self.write_context(out);
            out.raw(",\"taskId\":").string(self.id);
            out.raw(",\"role\":\"ROLE_AGENT\",\"parts\":[{\"text\":").string(text).raw("}]}");
        }
        out.raw(if is_arm { "}}}}" } else { "}}}" });
    }

    fn write_context(&self, out: &mut Writer<'_>) {
        if let Some(context) = self.context {
            out.raw(",\"contextId\":").string(context);
        }
    }
}

impl core::fmt::Debug for MadeTask<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "MadeTask({:?})", self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::{Form, StreamEvent, check_result};
    use crate::json::to_text;
    use crate::jsonrpc::Message;

    #[test]
    fn each_answer_is_one_of_its_method() {
        let says = ("m", "HTTP 401: \"x\"\n");
        let bare = MadeTask::new("t\"", TaskState::AuthRequired);
        for task in
            [bare, bare.context("c"), bare.says(says.0, says.1), bare.context("c").says("m", "")]
        {
            for method in [
                Method::SendMessage,
                Method::SendStreamingMessage,
                Method::SubscribeToTask,
                Method::GetTask,
                Method::CancelTask,
            ] {
                let text = to_text(|out| task.write(out, "\"x\"", method));
                let Ok(Message::Response(response)) = Message::parse(&text) else {
                    panic!("{text}")
                };
                check_result(method, response.result, Form::Emitted, &mut |violation| {
                    panic!("{violation} in {text}");
                });
                let object = response.result.as_object().unwrap();
                let event = match method {
                    Method::GetTask | Method::CancelTask => StreamEvent::of_task(object),
                    _ => StreamEvent::of(object),
                };
                assert_eq!(event.unwrap().state, Some(TaskState::AuthRequired));
            }
        }
    }
}
