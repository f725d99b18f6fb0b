//! The methods.

use crate::json::Str;

/// A method of the A2A JSON-RPC binding (A2A 1.0 section 9.4).
///
/// ```
/// use agentwire_core::a2a::Method;
/// assert_eq!(Method::parse("GetTask"), Some(Method::GetTask));
/// assert_eq!(Method::parse("tasks/get"), None); // that is A2A 0.3
/// assert!(Method::SubscribeToTask.is_streaming());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Method {
    /// Sends a message; the answer is a task or a message.
    SendMessage,
    /// Sends a message; the answer is a stream.
    SendStreamingMessage,
    /// A task as it is.
    GetTask,
    /// The caller's tasks, page by page.
    ListTasks,
    /// Ends a task.
    CancelTask,
    /// A stream of what becomes of a task.
    SubscribeToTask,
    /// Registers a webhook for a task.
    CreateTaskPushNotificationConfig,
    /// A webhook of a task.
    GetTaskPushNotificationConfig,
    /// The webhooks of a task.
    ListTaskPushNotificationConfigs,
    /// Removes a webhook of a task.
    DeleteTaskPushNotificationConfig,
    /// The agent's card as this caller may see it.
    GetExtendedAgentCard,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 11] = [
        Self::SendMessage,
        Self::SendStreamingMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::SubscribeToTask,
        Self::CreateTaskPushNotificationConfig,
        Self::GetTaskPushNotificationConfig,
        Self::ListTaskPushNotificationConfigs,
        Self::DeleteTaskPushNotificationConfig,
        Self::GetExtendedAgentCard,
    ];

    /// The method's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendMessage => "SendMessage",
            Self::SendStreamingMessage => "SendStreamingMessage",
            Self::GetTask => "GetTask",
            Self::ListTasks => "ListTasks",
            Self::CancelTask => "CancelTask",
            Self::SubscribeToTask => "SubscribeToTask",
            Self::CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfig",
            Self::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfig",
            Self::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigs",
            Self::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfig",
            Self::GetExtendedAgentCard => "GetExtendedAgentCard",
        }
    }

    /// The method of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The method that a request names, however the name is written.
    pub fn of(name: Str<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|method| name == *method.name())
    }

    /// Whether it sends a message.
    pub const fn is_send(self) -> bool {
        matches!(self, Self::SendMessage | Self::SendStreamingMessage)
    }

    /// Whether it is answered with a stream.
    pub const fn is_streaming(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }

    /// Whether it is about webhooks, which a conversation has no use for ("Push notifications").
    pub const fn is_push(self) -> bool {
        matches!(
            self,
            Self::CreateTaskPushNotificationConfig
                | Self::GetTaskPushNotificationConfig
                | Self::ListTaskPushNotificationConfigs
                | Self::DeleteTaskPushNotificationConfig
        )
    }
}
