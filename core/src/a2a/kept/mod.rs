//! What a gateway keeps of the replies that have arrived after their HTTP client had left.
//!
//! ```text
//!  client ──SendStreamingMessage──► gateway ──► conversation ──► agent
//!         ◄──────── task t ────────         ◄──                 ──
//!    ╳ it leaves                             ◄── artifact, status ── KeptTask::add
//!  client ──GetTask t─────────────► gateway ──► the agent does not answer, or knows it no more
//!         ◄──────── task t ────────  KeptTasks::get
//! ```
//!
//! What the agent says itself comes first: a task that is kept is what there is when it says
//! nothing.

mod task;

use alloc::collections::VecDeque;
use core::time::Duration;

pub use task::KeptTask;

use crate::json::Object;
use crate::time::Instant;

/// The longest task that is kept, in bytes. One that grows beyond it is not kept at all: half of it
/// would be another task.
pub const MAX_KEPT_TASK_LEN: usize = 256 * 1024;

/// How many tasks are kept, unless another number is given.
pub const MAX_KEPT_TASKS: usize = 64;

/// How long a task is kept after the last reply about it, unless another span is given.
pub const KEPT_FOR: Duration = Duration::from_secs(60 * 60);

/// The tasks whose client has left: the newest so many, each for so long.
///
/// ```
/// use agentwire_core::a2a::{KeptTask, KeptTasks};
/// use agentwire_core::json::Object;
/// use agentwire_core::time::Instant;
///
/// let event = r#"{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
/// let mut task = KeptTask::default();
/// task.add(Object::parse(event).unwrap());
/// let (mut kept, now) = (KeptTasks::default(), Instant::ZERO);
/// kept.keep(now, task);
/// assert!(kept.get(now, "t").is_some());
/// kept.forget("t");
/// assert!(kept.get(now, "t").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct KeptTasks {
    /// By when the last reply came, the oldest first.
    tasks: VecDeque<(Instant, KeptTask)>,
    capacity: usize,
    span: Duration,
}

impl Default for KeptTasks {
    fn default() -> Self {
        Self::new(MAX_KEPT_TASKS, KEPT_FOR)
    }
}

impl KeptTasks {
    /// Keeps so many tasks for so long. With a capacity of 0 nothing is kept.
    #[must_use]
    pub const fn new(capacity: usize, span: Duration) -> Self {
        Self { tasks: VecDeque::new(), capacity, span }
    }

    /// How many tasks are kept, those that are too old among them.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Keeps a task, in place of what was kept of it; the oldest one makes room for it. One that
    /// names no task yet is not kept.
    pub fn keep(&mut self, now: Instant, task: KeptTask) {
        self.expire(now);
        let Some(id) = task.id() else { return };
        self.forget(id);
        if self.capacity == 0 {
            return;
        }
        while self.tasks.len() >= self.capacity {
            self.tasks.pop_front();
        }
        self.tasks.push_back((now, task));
    }

    /// Takes in a reply about a task that is kept. Of one that is not, nothing is.
    pub fn add(&mut self, now: Instant, id: &str, event: Object<'_>) {
        self.expire(now);
        if let Some((_, mut task)) = self.position(id).and_then(|place| self.tasks.remove(place)) {
            task.add(event);
            self.tasks.push_back((now, task));
        }
    }

    /// Takes in a task that is kept, as its agent has just shown it: in place of what was kept.
    pub fn add_task(&mut self, now: Instant, id: &str, task: Object<'_>) {
        self.expire(now);
        let place = self.position(id);
        if let Some((_, kept)) = place.and_then(|place| self.tasks.get_mut(place)) {
            kept.add_task(task);
        }
    }

    /// What is kept of a task, if that is enough to answer with.
    pub fn get(&mut self, now: Instant, id: &str) -> Option<&KeptTask> {
        self.expire(now);
        let (_, task) = self.tasks.get(self.position(id)?)?;
        Some(task).filter(|task| !task.is_empty())
    }

    /// Keeps nothing of a task any more: its agent has said what has become of it.
    pub fn forget(&mut self, id: &str) {
        if let Some(place) = self.position(id) {
            self.tasks.remove(place);
        }
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.tasks.iter().position(|(_, task)| task.id() == Some(id))
    }

    fn expire(&mut self, now: Instant) {
        while self.tasks.front().is_some_and(|(since, _)| now.duration_since(*since) > self.span) {
            self.tasks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
