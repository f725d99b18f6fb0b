//! The events of a stream, and how one ends.

use core::mem;

use super::TaskState;
use super::word::{self, is_field};
use crate::binding::End;
use crate::json::{Found, Kind, Object, Str, Value, Visited};
use crate::jsonrpc::{Message, Rejected};

/// What an event of a stream is: the arm of `StreamResponse` that is set.
///
/// ```
/// use agentwire_core::a2a::{EventKind, StreamEvent};
/// use agentwire_core::json::Object;
/// let event = StreamEvent::of(Object::parse(r#"{"artifactUpdate":{"taskId":"t"}}"#).unwrap());
/// assert_eq!(event.unwrap().kind, EventKind::ArtifactUpdate);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // `StreamResponse` of A2A 1.0 is closed.
pub enum EventKind {
    /// A message: the whole answer.
    Message,
    /// A task as it is.
    Task,
    /// A new state of a task.
    StatusUpdate,
    /// An artifact of a task, or more of one.
    ArtifactUpdate,
}

/// What there is to know of an event without reading what it says: the routing of a
/// `StreamResponse` (A2A 1.0 section 3.2.3), of a `SendMessageResponse`, or of a task.
///
/// Names may be in either spelling of ProtoJSON, states names or numbers; null is unset. Two arms,
/// or an arm that is no object, are no event.
///
/// ```
/// use agentwire_core::a2a::{StreamEvent, TaskState};
/// use agentwire_core::binding::End;
///
/// let reply = r#"{"jsonrpc":"2.0","id":2,"result":{"statusUpdate":{"taskId":"t-8",
///     "contextId":"c-7","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}}"#;
/// let (_, event) = StreamEvent::read(reply).unwrap();
/// let event = event.unwrap();
/// assert!(event.task_id.unwrap() == *"t-8" && event.context_id.unwrap() == *"c-7");
/// assert_eq!(event.state, Some(TaskState::InputRequired));
/// assert_eq!(event.end(), Some(End::Interrupted));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StreamEvent<'m> {
    /// Which arm is set.
    pub kind: EventKind,
    /// The task that it is about.
    pub task_id: Option<Str<'m>>,
    /// The context that it is in.
    pub context_id: Option<Str<'m>>,
    /// The state of the task, where it says that.
    pub state: Option<TaskState>,
}

impl<'m> StreamEvent<'m> {
    /// Reads a reply of a stream, and the event in its result, in one pass. There is no event in
    /// an error, and none in a result that is not a `StreamResponse`.
    ///
    /// # Errors
    /// [`Rejected`] as [`Message::parse`].
    pub fn read(text: &'m str) -> Result<(Message<'m>, Option<Self>), Rejected<'m>> {
        let mut found = None;
        // What has been seen so far inside the members, one in the other, that are being read.
        let (mut arms, mut parts, mut state) =
            (Arms::default(), Parts::default(), Found::default());
        let message = Message::parse_deep(text, 4, &mut |seen| match seen.depth {
            1 => {
                if seen.is("result") {
                    found = arms.event();
                }
                (arms, parts, state) = Default::default();
            }
            2 => {
                arms.add(seen, mem::take(&mut parts));
                state = Found::default();
            }
            3 => parts.add(seen, mem::take(&mut state)),
            _ if seen.is("state") => state.add(seen.value()),
            _ => {}
        })?;
        Ok((message, found))
    }

    /// The event that an object is: a `StreamResponse` or a `SendMessageResponse`.
    pub fn of(response: Object<'m>) -> Option<Self> {
        let mut arms = Arms::default();
        let (mut parts, mut state) = (Parts::default(), Found::default());
        let parsed = Object::parse_deep(response.get_text(), 3, &mut |seen| match seen.depth {
            1 => {
                arms.add(seen, mem::take(&mut parts));
                state = Found::default();
            }
            2 => parts.add(seen, mem::take(&mut state)),
            _ if seen.is("state") => state.add(seen.value()),
            _ => {}
        });
        parsed.ok().and_then(|_| arms.event())
    }

    /// The event that a task is, as `GetTask` and `CancelTask` answer with it.
    pub fn of_task(task: Object<'m>) -> Option<Self> {
        let mut parts = Parts::default();
        let mut state = Found::default();
        let parsed = Object::parse_deep(task.get_text(), 2, &mut |seen| match seen.depth {
            1 => parts.add(seen, mem::take(&mut state)),
            _ if seen.is("state") => state.add(seen.value()),
            _ => {}
        });
        parsed.ok().map(|_| parts.event(EventKind::Task))
    }

    /// How the stream ends with it, if it does ("Streaming"; A2A 1.0 section 3.1.2 for a message).
    pub fn end(&self) -> Option<End> {
        match (self.kind, self.state) {
            (EventKind::Message, _) => Some(End::Message),
            (EventKind::Task | EventKind::StatusUpdate, Some(state)) if state.is_terminal() => {
                Some(End::Terminal)
            }
            (EventKind::Task | EventKind::StatusUpdate, Some(state)) if state.is_interrupted() => {
                Some(End::Interrupted)
            }
            _ => None,
        }
    }
}

/// The arms that have been seen.
#[derive(Clone, Copy, Default)]
struct Arms<'m> {
    kind: Option<EventKind>,
    /// Whether there is no arm to speak of: several, or one that is no object.
    is_broken: bool,
    parts: Parts<'m>,
}

impl<'m> Arms<'m> {
    fn add(&mut self, seen: &Visited<'m, '_>, parts: Parts<'m>) {
        let kind = match word::plain(seen.name(), &mut [0; word::LONGEST]) {
            "message" => EventKind::Message,
            "task" => EventKind::Task,
            "statusUpdate" | "status_update" => EventKind::StatusUpdate,
            "artifactUpdate" | "artifact_update" => EventKind::ArtifactUpdate,
            _ => return,
        };
        let value = seen.value();
        if value.is_null() {
            return;
        }
        self.is_broken |= self.kind.is_some() || value.kind() != Kind::Object;
        self.kind = Some(kind);
        self.parts = parts;
    }

    fn event(&self) -> Option<StreamEvent<'m>> {
        self.kind.filter(|_| !self.is_broken).map(|kind| self.parts.event(kind))
    }
}

/// What has been seen of the object in an arm.
#[derive(Clone, Copy, Default)]
struct Parts<'m> {
    id: Option<Str<'m>>,
    task_id: Option<Str<'m>>,
    context_id: Option<Str<'m>>,
    state: Option<TaskState>,
}

impl<'m> Parts<'m> {
    /// A member; of two with one name the last one counts.
    fn add(&mut self, seen: &Visited<'m, '_>, state: Found<Value<'m>>) {
        let set = |value: Value<'m>| value.as_str().filter(|text| !text.raw().is_empty());
        match word::plain(seen.name(), &mut [0; word::LONGEST]) {
            "id" => self.id = set(seen.value()),
            "taskId" | "task_id" => self.task_id = set(seen.value()),
            "contextId" | "context_id" => self.context_id = set(seen.value()),
            "status" => self.state = state.get().ok().flatten().and_then(TaskState::of),
            _ => {}
        }
    }

    fn event(&self, kind: EventKind) -> StreamEvent<'m> {
        let task_id = if kind == EventKind::Task { self.id } else { self.task_id };
        let state = self.state;
        StreamEvent { kind, task_id, context_id: self.context_id, state }
    }
}

/// The member of an object by its name in either spelling; of two the last one.
pub(super) fn field<'m>(object: &Object<'m>, camel: &str) -> Option<Value<'m>> {
    let named = object.members().filter(|(name, _)| is_field(*name, camel));
    named.map(|(_, value)| value).last().filter(|value| !value.is_null())
}

/// The text of a member, by its name in either spelling of ProtoJSON; of two the last one. Null and
/// the empty string are unset.
///
/// ```
/// use agentwire_core::a2a::text_field;
/// use agentwire_core::json::Object;
/// let message = Object::parse(r#"{"context_id":"c","taskId":""}"#).unwrap();
/// assert_eq!(text_field(message, "contextId").as_deref(), Some("c"));
/// assert_eq!(text_field(message, "taskId"), None);
/// ```
#[cfg(feature = "alloc")]
pub fn text_field(object: Object<'_>, camel: &str) -> Option<alloc::string::String> {
    let text = field(&object, camel)?.as_str()?;
    Some(text.chars().collect()).filter(|text: &alloc::string::String| !text.is_empty())
}
