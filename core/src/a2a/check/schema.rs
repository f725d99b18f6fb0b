//! The messages of A2A 1.0 as tables (specification/a2a.proto), as far as requests and their
//! results need them. An Agent Card is not among them.

use super::super::{Method, TaskState};

/// What a field holds.
pub(super) enum Type {
    Text,
    Truth,
    /// An `int32` between two bounds.
    Integer(i64, i64),
    Bytes,
    Time,
    /// An enum by its names; the first one is "unspecified".
    Enum(&'static [&'static str]),
    Message(&'static Schema),
    List(&'static Type),
    /// Any object: `google.protobuf.Struct`.
    Struct,
    /// Anything, null included: `google.protobuf.Value`.
    Any,
}

/// Whether a field has to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    May,
    /// It is REQUIRED, and its default is as good as nothing.
    Needed,
    /// It is REQUIRED; where it is received, nothing means its default.
    Emitted,
    /// An arm of the message's oneof.
    Arm,
}

pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Type,
    pub(super) rule: Rule,
}

/// A message: at most 32 fields, and at most one oneof.
pub(super) struct Schema(pub(super) &'static [Field]);

const fn may(name: &'static str, kind: Type) -> Field {
    Field { name, kind, rule: Rule::May }
}

const fn needs(name: &'static str, kind: Type) -> Field {
    Field { name, kind, rule: Rule::Needed }
}

const fn emits(name: &'static str, kind: Type) -> Field {
    Field { name, kind, rule: Rule::Emitted }
}

const fn arm(name: &'static str, kind: Type) -> Field {
    Field { name, kind, rule: Rule::Arm }
}

use Type::{Any, Bytes, Enum, Integer, List, Message, Struct, Text, Time, Truth};

const TEXTS: Type = List(&Text);
const COUNT: Type = Integer(0, i32::MAX as i64);
const STATE: Type = Enum(&TaskState::NAMES);
const ROLE: Type = Enum(&["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"]);

static PART: Schema = Schema(&[
    arm("text", Text),
    arm("raw", Bytes),
    arm("url", Text),
    arm("data", Any),
    may("metadata", Struct),
    may("filename", Text),
    may("mediaType", Text),
]);
static ONE_PART: Type = Message(&PART);
const PARTS: Type = List(&ONE_PART);

static MESSAGE: Schema = Schema(&[
    needs("messageId", Text),
    may("contextId", Text),
    may("taskId", Text),
    needs("role", ROLE),
    needs("parts", PARTS),
    may("metadata", Struct),
    may("extensions", TEXTS),
    may("referenceTaskIds", TEXTS),
]);

static STATUS: Schema =
    Schema(&[needs("state", STATE), may("message", Message(&MESSAGE)), may("timestamp", Time)]);

static ARTIFACT: Schema = Schema(&[
    needs("artifactId", Text),
    may("name", Text),
    may("description", Text),
    needs("parts", PARTS),
    may("metadata", Struct),
    may("extensions", TEXTS),
]);

static TASK: Schema = Schema(&[
    needs("id", Text),
    may("contextId", Text),
    needs("status", Message(&STATUS)),
    may("artifacts", List(&Message(&ARTIFACT))),
    may("history", List(&Message(&MESSAGE))),
    may("metadata", Struct),
]);

static STATUS_UPDATE: Schema = Schema(&[
    needs("taskId", Text),
    needs("contextId", Text),
    needs("status", Message(&STATUS)),
    may("metadata", Struct),
]);

static ARTIFACT_UPDATE: Schema = Schema(&[
    needs("taskId", Text),
    needs("contextId", Text),
    needs("artifact", Message(&ARTIFACT)),
    may("append", Truth),
    may("lastChunk", Truth),
    may("metadata", Struct),
]);

pub(super) static STREAM_RESPONSE: Schema = Schema(&[
    arm("task", Message(&TASK)),
    arm("message", Message(&MESSAGE)),
    arm("statusUpdate", Message(&STATUS_UPDATE)),
    arm("artifactUpdate", Message(&ARTIFACT_UPDATE)),
]);

static SEND_RESPONSE: Schema =
    Schema(&[arm("task", Message(&TASK)), arm("message", Message(&MESSAGE))]);

static AUTHENTICATION: Schema = Schema(&[needs("scheme", Text), may("credentials", Text)]);

static PUSH_CONFIG: Schema = Schema(&[
    may("tenant", Text),
    may("id", Text),
    may("taskId", Text),
    needs("url", Text),
    may("token", Text),
    may("authentication", Message(&AUTHENTICATION)),
]);

static CONFIGURATION: Schema = Schema(&[
    may("acceptedOutputModes", TEXTS),
    may("taskPushNotificationConfig", Message(&PUSH_CONFIG)),
    may("historyLength", COUNT),
    may("returnImmediately", Truth),
]);

static SEND: Schema = Schema(&[
    may("tenant", Text),
    needs("message", Message(&MESSAGE)),
    may("configuration", Message(&CONFIGURATION)),
    may("metadata", Struct),
]);

static GET_TASK: Schema =
    Schema(&[may("tenant", Text), needs("id", Text), may("historyLength", COUNT)]);

const PAGE_SIZE: Type = Integer(1, 100);

static LIST_TASKS: Schema = Schema(&[
    may("tenant", Text),
    may("contextId", Text),
    may("status", STATE),
    may("pageSize", PAGE_SIZE),
    may("pageToken", Text),
    may("historyLength", COUNT),
    may("statusTimestampAfter", Time),
    may("includeArtifacts", Truth),
]);

static TASK_LIST: Schema = Schema(&[
    emits("tasks", List(&Message(&TASK))),
    emits("nextPageToken", Text),
    emits("pageSize", COUNT),
    emits("totalSize", COUNT),
]);

static CANCEL_TASK: Schema =
    Schema(&[may("tenant", Text), needs("id", Text), may("metadata", Struct)]);

static SUBSCRIBE: Schema = Schema(&[may("tenant", Text), needs("id", Text)]);

static ONE_PUSH_CONFIG: Schema =
    Schema(&[may("tenant", Text), needs("taskId", Text), needs("id", Text)]);

static LIST_PUSH_CONFIGS: Schema = Schema(&[
    may("tenant", Text),
    needs("taskId", Text),
    may("pageSize", COUNT),
    may("pageToken", Text),
]);

static PUSH_CONFIG_LIST: Schema =
    Schema(&[may("configs", List(&Message(&PUSH_CONFIG))), may("nextPageToken", Text)]);

static TENANT: Schema = Schema(&[may("tenant", Text)]);

/// The parameters of a method.
pub(super) fn params(method: Method) -> &'static Schema {
    match method {
        Method::SendMessage | Method::SendStreamingMessage => &SEND,
        Method::GetTask => &GET_TASK,
        Method::ListTasks => &LIST_TASKS,
        Method::CancelTask => &CANCEL_TASK,
        Method::SubscribeToTask => &SUBSCRIBE,
        Method::CreateTaskPushNotificationConfig => &PUSH_CONFIG,
        Method::GetTaskPushNotificationConfig | Method::DeleteTaskPushNotificationConfig => {
            &ONE_PUSH_CONFIG
        }
        Method::ListTaskPushNotificationConfigs => &LIST_PUSH_CONFIGS,
        Method::GetExtendedAgentCard => &TENANT,
    }
}

/// The result of a method, or one event of its stream; `None` for what has no table here.
pub(super) fn result(method: Method) -> Option<&'static Schema> {
    Some(match method {
        Method::SendMessage => &SEND_RESPONSE,
        Method::SendStreamingMessage | Method::SubscribeToTask => &STREAM_RESPONSE,
        Method::GetTask | Method::CancelTask => &TASK,
        Method::ListTasks => &TASK_LIST,
        Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
            &PUSH_CONFIG
        }
        Method::ListTaskPushNotificationConfigs => &PUSH_CONFIG_LIST,
        Method::DeleteTaskPushNotificationConfig | Method::GetExtendedAgentCard => return None,
    })
}
