//! One task, put together from the replies about it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::MAX_KEPT_TASK_LEN;
use crate::a2a::stream::field;
use crate::a2a::word::is_field;
use crate::a2a::{TaskState, text_field};
use crate::json::{Object, Value, Writer};

/// A task as the replies about it show it: the last whole task, the last status, and the artifacts
/// that have come, each once (A2A 1.0 sections 3.5.2 and 4.2).
///
/// | reply | what becomes of the task |
/// |---|---|
/// | `task` | it is that one |
/// | `statusUpdate` | it has that status |
/// | `artifactUpdate` | the artifact of that id is that one, or a new one |
/// | `artifactUpdate` with `append` | its parts come behind those of that id; where there is none, it is a new one |
/// | `message`, and whatever names another task | nothing |
///
/// `Debug` shows lengths alone.
///
/// ```
/// use agentwire_core::a2a::KeptTask;
/// use agentwire_core::json::{self, Object};
///
/// let mut task = KeptTask::default();
/// for event in [
///     r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#,
///     r#"{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"1"}]}}}"#,
///     r#"{"artifactUpdate":{"taskId":"t","append":true,"artifact":{"artifactId":"a","parts":[{"text":"2"}]}}}"#,
///     r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}"#,
/// ] {
///     task.add(Object::parse(event).unwrap());
/// }
/// assert_eq!(
///     json::to_text(|out| task.write(out, None)),
///     concat!(
///         r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"#,
///         r#""artifacts":[{"artifactId":"a","parts":[{"text":"1"},{"text":"2"}]}]}"#
///     )
/// );
/// ```
#[derive(Clone, Default)]
pub struct KeptTask {
    id: Option<String>,
    /// The members that are not among the others, as JSON, each with a comma behind it.
    members: String,
    /// As JSON; empty without one.
    status: String,
    history: Vec<String>,
    artifacts: Vec<Artifact>,
    is_too_large: bool,
}

#[derive(Clone)]
struct Artifact {
    id: String,
    /// The members but for the parts, as JSON, each with a comma behind it.
    members: String,
    /// As JSON, with commas between them.
    parts: String,
}

impl Artifact {
    fn read(id: String, object: Object<'_>) -> Self {
        let members = joined(object, &["parts"]);
        let mut artifact = Self { id, members, parts: String::new() };
        artifact.append(object);
        artifact
    }

    fn append(&mut self, object: Object<'_>) {
        for part in elements(object, "parts") {
            if !self.parts.is_empty() {
                self.parts.push(',');
            }
            self.parts.push_str(part.get());
        }
    }

    fn len(&self) -> usize {
        [&self.id, &self.members, &self.parts]
            .iter()
            .fold(0, |len, text| len.saturating_add(text.len()))
    }
}

/// The members of an object but for these and those that are null, each with a comma behind it.
fn joined(object: Object<'_>, but: &[&str]) -> String {
    let mut text = String::new();
    let is_kept = |name| !but.iter().any(|camel| is_field(name, camel));
    for (name, value) in object.members().filter(|(name, value)| is_kept(*name) && !value.is_null())
    {
        for piece in [name.get(), ":", value.get(), ","] {
            text.push_str(piece);
        }
    }
    text
}

fn elements<'m>(object: Object<'m>, name: &str) -> impl Iterator<Item = Value<'m>> {
    field(&object, name).and_then(|array| array.elements()).into_iter().flatten()
}

impl KeptTask {
    /// Takes in a `StreamResponse` or a `SendMessageResponse`.
    pub fn add(&mut self, event: Object<'_>) {
        let arm = |camel| field(&event, camel).and_then(|arm| arm.as_object());
        if let Some(task) = arm("task") {
            self.add_task(task);
        } else if let Some(update) = arm("statusUpdate") {
            if self.is_of(update, "taskId") {
                self.name(update);
                self.status = field(&update, "status").map_or("", |status| status.get()).into();
                self.check();
            }
        } else if let Some(update) = arm("artifactUpdate") {
            if self.is_of(update, "taskId") {
                self.name(update);
                self.add_artifact(update);
                self.check();
            }
        }
    }

    /// Takes in a task, as `GetTask` answers with it.
    pub fn add_task(&mut self, task: Object<'_>) {
        if !self.is_of(task, "id") {
            return;
        }
        let Some(id) = text_field(task, "id") else { return };
        *self = Self {
            id: Some(id),
            members: joined(task, &["status", "artifacts", "history"]),
            status: field(&task, "status").map_or("", |status| status.get()).into(),
            ..Self::default()
        };
        self.history.extend(elements(task, "history").map(|message| message.get().into()));
        for artifact in elements(task, "artifacts").filter_map(|artifact| artifact.as_object()) {
            let id = text_field(artifact, "artifactId").unwrap_or_default();
            self.artifacts.push(Artifact::read(id, artifact));
        }
        self.check();
    }

    /// Whether an object is about this task, or this has none yet.
    fn is_of(&self, object: Object<'_>, name: &str) -> bool {
        let id = text_field(object, name);
        id.is_some() && (self.id.is_none() || self.id == id)
    }

    /// Takes the ids of an update, where no whole task has come.
    fn name(&mut self, update: Object<'_>) {
        if self.id.is_some() {
            return;
        }
        self.id = text_field(update, "taskId");
        for (name, value) in [("id", "taskId"), ("contextId", "contextId")] {
            if let Some(value) = field(&update, value) {
                for piece in ["\"", name, "\":", value.get(), ","] {
                    self.members.push_str(piece);
                }
            }
        }
    }

    fn add_artifact(&mut self, update: Object<'_>) {
        let Some(artifact) = field(&update, "artifact").and_then(|it| it.as_object()) else {
            return;
        };
        if self.is_too_large {
            return;
        }
        let id = text_field(artifact, "artifactId").unwrap_or_default();
        let appends = field(&update, "append").and_then(|append| append.as_bool()) == Some(true);
        match self.artifacts.iter_mut().find(|known| known.id == id) {
            Some(known) if appends => known.append(artifact),
            Some(known) => *known = Artifact::read(id, artifact),
            None => self.artifacts.push(Artifact::read(id, artifact)),
        }
    }

    /// Gives up what is too large to be kept.
    fn check(&mut self) {
        if self.is_too_large || self.len() > MAX_KEPT_TASK_LEN {
            *self = Self { id: self.id.take(), is_too_large: true, ..Self::default() };
        }
    }

    /// The bytes that it holds.
    pub fn len(&self) -> usize {
        let texts = self.history.iter().chain([&self.members, &self.status]);
        let len = texts.fold(0_usize, |len, text| len.saturating_add(text.len()));
        self.artifacts.iter().fold(len, |len, artifact| len.saturating_add(artifact.len()))
    }

    /// Whether it holds nothing that could be written: no reply has named a task, none has said its
    /// status, or it was longer than [`MAX_KEPT_TASK_LEN`].
    pub fn is_empty(&self) -> bool {
        self.id.is_none() || self.status.is_empty()
    }

    /// The task's id.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The task's state.
    pub fn state(&self) -> Option<TaskState> {
        let status = Object::parse(&self.status).ok()?;
        TaskState::of(field(&status, "state")?)
    }

    /// Writes the task, with so many of the last messages of its history (A2A 1.0 section 3.2.4),
    /// or all of them.
    pub fn write(&self, out: &mut Writer<'_>, history: Option<usize>) {
        out.raw("{").raw(&self.members).raw("\"status\":").raw(&self.status);
        if !self.artifacts.is_empty() {
            out.raw(",\"artifacts\":[");
            for (place, artifact) in self.artifacts.iter().enumerate() {
                out.raw(if place == 0 { "{" } else { ",{" }).raw(&artifact.members);
                out.raw("\"parts\":[").raw(&artifact.parts).raw("]}");
            }
            out.raw("]");
        }
        let skipped = self.history.len().saturating_sub(history.unwrap_or(usize::MAX));
        for (place, message) in self.history.iter().skip(skipped).enumerate() {
            out.raw(if place == 0 { ",\"history\":[" } else { "," }).raw(message);
        }
        out.raw(if skipped < self.history.len() { "]}" } else { "}" });
    }
}

impl fmt::Debug for KeptTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptTask")
            .field("len", &self.len())
            .field("artifacts", &self.artifacts.len())
            .field("is_too_large", &self.is_too_large)
            .finish_non_exhaustive()
    }
}
