//! The states of a task.

use super::word;
use crate::json::Value;

/// The state of a task (A2A 1.0, `TaskState`).
///
/// ```
/// use agentwire_core::a2a::TaskState;
/// use agentwire_core::json::Value;
/// let state = TaskState::of(Value::parse("\"TASK_STATE_COMPLETED\"").unwrap()).unwrap();
/// assert!(state.is_terminal() && state.ends_stream());
/// // ProtoJSON takes numbers too; names of A2A 0.3 are none.
/// assert_eq!(TaskState::of(Value::parse("6").unwrap()), Some(TaskState::InputRequired));
/// assert_eq!(TaskState::of(Value::parse("\"completed\"").unwrap()), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TaskState {
    /// Unset, or a number that this revision does not know.
    #[default]
    Unspecified,
    /// Received.
    Submitted,
    /// Being worked on.
    Working,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// Canceled.
    Canceled,
    /// It waits for a message of the caller.
    InputRequired,
    /// The agent has declined it.
    Rejected,
    /// It waits for a credential of the caller.
    AuthRequired,
}

impl TaskState {
    /// Every state, by its number.
    pub const ALL: [Self; 9] = [
        Self::Unspecified,
        Self::Submitted,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::InputRequired,
        Self::Rejected,
        Self::AuthRequired,
    ];

    /// The names of [`ALL`](Self::ALL) on the wire.
    pub(super) const NAMES: [&'static str; 9] = [
        "TASK_STATE_UNSPECIFIED",
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
        "TASK_STATE_COMPLETED",
        "TASK_STATE_FAILED",
        "TASK_STATE_CANCELED",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_REJECTED",
        "TASK_STATE_AUTH_REQUIRED",
    ];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        let place = Self::ALL.iter().position(|state| *state == self);
        place.and_then(|place| Self::NAMES.get(place)).copied().unwrap_or_default()
    }

    /// The state that a value names; `None` for a name that is none, and for another kind of value.
    pub fn of(value: Value<'_>) -> Option<Self> {
        let place = match value.as_str() {
            Some(name) => {
                let mut scratch = [0; word::LONGEST];
                let name = word::plain(name, &mut scratch);
                Self::NAMES.iter().position(|known| *known == name)?
            }
            None => usize::try_from(value.as_integer()?).unwrap_or(usize::MAX),
        };
        Some(Self::ALL.get(place).copied().unwrap_or_default())
    }

    /// Whether nothing more becomes of the task.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the task waits for its caller.
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// Whether a stream ends with it ("Streaming").
    pub const fn ends_stream(self) -> bool {
        self.is_terminal() || self.is_interrupted()
    }
}
