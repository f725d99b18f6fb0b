//! The methods of revision 2026-07-28, and what each takes and gives.

use super::shape::Record;
use super::shapes;
use crate::json::Str;

/// A method that a client calls (MCP 2026-07-28, schema, `ClientRequest`).
///
/// ```
/// use agentwire_core::mcp::Method;
/// assert_eq!(Method::named("tools/list"), Method::ListTools);
/// assert_eq!(Method::ListTools.list(), Some("tools"));
/// assert!(Method::CallTool.may_ask_for_input());
/// assert_eq!(Method::named("tasks/get"), Method::Other);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Method {
    /// `server/discover`
    Discover,
    /// `tools/list`
    ListTools,
    /// `tools/call`
    CallTool,
    /// `resources/list`
    ListResources,
    /// `resources/templates/list`
    ListResourceTemplates,
    /// `resources/read`
    ReadResource,
    /// `prompts/list`
    ListPrompts,
    /// `prompts/get`
    GetPrompt,
    /// `completion/complete`
    Complete,
    /// `subscriptions/listen`
    Listen,
    /// Any other, such as one of an extension.
    Other,
}

impl Method {
    const NAMES: [(Self, &'static str); 10] = [
        (Self::Discover, "server/discover"),
        (Self::ListTools, "tools/list"),
        (Self::CallTool, "tools/call"),
        (Self::ListResources, "resources/list"),
        (Self::ListResourceTemplates, "resources/templates/list"),
        (Self::ReadResource, "resources/read"),
        (Self::ListPrompts, "prompts/list"),
        (Self::GetPrompt, "prompts/get"),
        (Self::Complete, "completion/complete"),
        (Self::Listen, "subscriptions/listen"),
    ];

    const REMOVED: [&'static str; 7] = [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "tasks/result",
    ];

    /// The method of that name.
    pub fn named(name: &str) -> Self {
        Self::NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map_or(Self::Other, |(method, _)| *method)
    }

    pub(super) fn of(name: Str<'_>) -> Self {
        match name.as_plain() {
            Some(plain) => Self::named(plain),
            None => {
                let known = Self::NAMES.iter().find(|(_, known)| name == **known);
                known.map_or(Self::Other, |(method, _)| *method)
            }
        }
    }

    /// Whether earlier revisions have a method of that name which this one has no longer: nobody
    /// answers it, so a server that still does must not be asked (MCP 2026-07-28, Key Changes).
    ///
    /// ```
    /// use agentwire_core::mcp::Method;
    /// assert!(Method::is_removed("initialize") && Method::is_removed("tasks/list"));
    /// assert!(!Method::is_removed("tasks/get") && !Method::is_removed("tools/list"));
    /// ```
    pub fn is_removed(name: &str) -> bool {
        Self::REMOVED.contains(&name)
    }

    #[cfg(feature = "alloc")]
    pub(super) fn is_removed_of(name: Str<'_>) -> bool {
        Self::REMOVED.iter().any(|removed| name == **removed)
    }

    /// Its name; `None` for one that this revision does not have.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(method, _)| *method == self).map(|(_, name)| *name)
    }

    /// The member of the result that is a list in pages (server, Pagination).
    pub const fn list(self) -> Option<&'static str> {
        match self {
            Self::ListTools => Some("tools"),
            Self::ListResources => Some("resources"),
            Self::ListResourceTemplates => Some("resourceTemplates"),
            Self::ListPrompts => Some("prompts"),
            _ => None,
        }
    }

    /// Whether complete results say how long and for whom they can be kept (server, Caching).
    pub const fn is_cacheable(self) -> bool {
        matches!(self, Self::Discover | Self::ReadResource) || self.list().is_some()
    }

    /// Whether a result may ask for input (basic, Multi Round-Trip Requests).
    pub const fn may_ask_for_input(self) -> bool {
        matches!(self, Self::CallTool | Self::GetPrompt | Self::ReadResource)
    }

    /// The member of the parameters that the header `Mcp-Name` repeats (transports, Streamable
    /// HTTP).
    pub const fn subject(self) -> Option<&'static str> {
        match self {
            Self::CallTool | Self::GetPrompt => Some("name"),
            Self::ReadResource => Some("uri"),
            _ => None,
        }
    }

    pub(super) const fn params(self) -> &'static Record {
        match self {
            Self::Discover | Self::Other => &shapes::PLAIN_PARAMS,
            Self::ListTools
            | Self::ListResources
            | Self::ListResourceTemplates
            | Self::ListPrompts => &shapes::LIST_PARAMS,
            Self::CallTool => &shapes::CALL_TOOL_PARAMS,
            Self::ReadResource => &shapes::READ_RESOURCE_PARAMS,
            Self::GetPrompt => &shapes::GET_PROMPT_PARAMS,
            Self::Complete => &shapes::COMPLETE_PARAMS,
            Self::Listen => &shapes::LISTEN_PARAMS,
        }
    }

    pub(super) const fn result(self) -> &'static Record {
        match self {
            Self::Discover => &shapes::DISCOVERED,
            Self::ListTools => &shapes::TOOLS,
            Self::CallTool => &shapes::TOOL_CALLED,
            Self::ListResources => &shapes::RESOURCES,
            Self::ListResourceTemplates => &shapes::RESOURCE_TEMPLATES,
            Self::ReadResource => &shapes::RESOURCE_READ,
            Self::ListPrompts => &shapes::PROMPTS,
            Self::GetPrompt => &shapes::PROMPT_GOT,
            Self::Complete => &shapes::COMPLETED,
            Self::Listen => &shapes::LISTENED,
            Self::Other => &shapes::ANY_RESULT,
        }
    }
}
