//! Which contexts and tasks a request names.

use super::{Kind, Method};
use crate::a2a::word::is_field;
use crate::json::{Object, Value};

/// Shows every context and task that the parameters of a request name, all of them where a field
/// occurs twice: an agent might take either. What is null or empty names nothing; what is no string
/// is shown, since it cannot be a name of one.
pub(super) fn of_request(
    method: Method,
    params: Object<'_>,
    show: &mut dyn FnMut(Kind, Value<'_>),
) {
    let mut each = |object: &Object<'_>, name: &str, kind| {
        for (_, value) in object.members().filter(|(written, _)| is_field(*written, name)) {
            show_set(kind, value, show);
        }
    };
    match method {
        Method::SendMessage | Method::SendStreamingMessage => {
            for (_, message) in params.members().filter(|(name, _)| *name == *"message") {
                let Some(message) = message.as_object() else { continue };
                each(&message, "contextId", Kind::Context);
                each(&message, "taskId", Kind::Task);
                each(&message, "referenceTaskIds", Kind::Task);
            }
        }
        Method::GetTask | Method::CancelTask | Method::SubscribeToTask => {
            each(&params, "id", Kind::Task);
        }
        Method::ListTasks => each(&params, "contextId", Kind::Context),
        Method::CreateTaskPushNotificationConfig
        | Method::GetTaskPushNotificationConfig
        | Method::ListTaskPushNotificationConfigs
        | Method::DeleteTaskPushNotificationConfig => each(&params, "taskId", Kind::Task),
        Method::GetExtendedAgentCard => {}
    }
}

/// Shows a value, or the elements of a list, that are set.
fn show_set(kind: Kind, value: Value<'_>, show: &mut dyn FnMut(Kind, Value<'_>)) {
    let mut show_one = |value: Value<'_>| {
        let is_empty = value.as_str().is_some_and(|text| text.raw().is_empty());
        if !value.is_null() && !is_empty {
            show(kind, value);
        }
    };
    match value.elements() {
        Some(elements) => elements.for_each(show_one),
        None => show_one(value),
    }
}
