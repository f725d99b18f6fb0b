//! How a command names a conversation.

use core::fmt;

use super::grammar::{AS_GROUP, SCOPE_SUPPORT};
use crate::chat::{Chat, ContactId, GroupId, GroupMemberId};

/// A part of a group that is a conversation of its own.
///
/// ```
/// use agentwire_core::simplex::command::Scope;
/// assert_ne!(Scope::Support, Scope::MemberSupport(agentwire_core::chat::GroupMemberId(7)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Scope {
    /// The profile's own chat with the group's support.
    Support,
    /// The support chat of one member.
    MemberSupport(GroupMemberId),
}

/// A conversation as a command names it: `@<contactId>` or
/// `#<groupId>[(_support[:<groupMemberId>])][(as_group=on)]`.
///
/// It is always by number. `@4 text` would address the contact *named* 4, and `/_send` takes no
/// names at all.
///
/// ```
/// use agentwire_core::chat::{Chat, ContactId, GroupId};
/// use agentwire_core::simplex::command::{ChatRef, Scope};
///
/// assert_eq!(ChatRef::from(Chat::Direct(ContactId(4))).to_string(), "@4");
/// let support = ChatRef::from(Chat::Group(GroupId(2))).scope(Scope::Support).as_group();
/// assert_eq!(support.to_string(), "#2(_support)(as_group=on)");
/// assert_eq!("#2(_support)(as_group=on)".parse(), Ok(support));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct ChatRef {
    /// The conversation.
    pub chat: Chat,
    /// The part of the group.
    pub scope: Option<Scope>,
    /// Whether to send in the group's own name.
    pub as_group: bool,
}

impl From<Chat> for ChatRef {
    fn from(chat: Chat) -> Self {
        Self { chat, scope: None, as_group: false }
    }
}

impl ChatRef {
    /// This part of the group.
    #[must_use]
    pub const fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// In the group's own name.
    #[must_use]
    pub const fn as_group(mut self) -> Self {
        self.as_group = true;
        self
    }

    /// The number that stands in it, or another one in its scope, if it is negative: no command
    /// can name it.
    pub(super) const fn negative(self) -> Option<i64> {
        let number = match self.chat {
            Chat::Direct(ContactId(id)) | Chat::Group(GroupId(id)) => id,
        };
        match self.scope {
            Some(Scope::MemberSupport(GroupMemberId(id))) if id < 0 => Some(id),
            _ if number < 0 => Some(number),
            _ => None,
        }
    }

    /// Reads one at the beginning of `text`, and gives back what follows it.
    ///
    /// ```
    /// use agentwire_core::chat::{Chat, GroupId};
    /// use agentwire_core::simplex::command::ChatRef;
    /// let (to, rest) = ChatRef::parse_prefix("#7 live=on json []").unwrap();
    /// assert_eq!((to.chat, rest), (Chat::Group(GroupId(7)), " live=on json []"));
    /// ```
    ///
    /// # Errors
    /// [`ChatRefError`]
    pub fn parse_prefix(text: &str) -> Result<(Self, &str), ChatRefError> {
        if let Some(rest) = text.strip_prefix('@') {
            let (id, rest) = decimal(rest)?;
            return Ok((Self::from(Chat::Direct(ContactId(id))), rest));
        }
        let (id, mut rest) = decimal(text.strip_prefix('#').ok_or(ChatRefError)?)?;
        let mut to = Self::from(Chat::Group(GroupId(id)));
        if let Some(scope) = rest.strip_prefix(SCOPE_SUPPORT) {
            if let Some(after) = scope.strip_prefix(')') {
                to.scope = Some(Scope::Support);
                rest = after;
            } else {
                let (member, after) = decimal(scope.strip_prefix(':').ok_or(ChatRefError)?)?;
                to.scope = Some(Scope::MemberSupport(GroupMemberId(member)));
                rest = after.strip_prefix(')').ok_or(ChatRefError)?;
            }
        }
        if let Some(after) = rest.strip_prefix(AS_GROUP) {
            to.as_group = true;
            rest = after;
        }
        Ok((to, rest))
    }
}

/// Reads the digits at the beginning of `text` as a number.
pub(super) fn decimal(text: &str) -> Result<(i64, &str), ChatRefError> {
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end).ok_or(ChatRefError)?;
    let number = digits.parse().map_err(|_| ChatRefError)?;
    Ok((number, rest))
}

impl core::str::FromStr for ChatRef {
    type Err = ChatRefError;

    fn from_str(text: &str) -> Result<Self, ChatRefError> {
        match Self::parse_prefix(text)? {
            (to, "") => Ok(to),
            _ => Err(ChatRefError),
        }
    }
}

impl fmt::Display for ChatRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chat.fmt(f)?;
        match self.scope {
            None => {}
            Some(Scope::Support) => write!(f, "{SCOPE_SUPPORT})")?,
            Some(Scope::MemberSupport(GroupMemberId(id))) => write!(f, "{SCOPE_SUPPORT}:{id})")?,
        }
        f.write_str(if self.as_group { AS_GROUP } else { "" })
    }
}

/// A text that names no conversation as commands do.
///
/// ```
/// use agentwire_core::simplex::command::{ChatRef, ChatRefError};
/// assert_eq!("@ann".parse::<ChatRef>(), Err(ChatRefError));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)] // It has nothing to say.
pub struct ChatRefError;

impl fmt::Display for ChatRefError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a conversation: @<contactId> or #<groupId>, by number")
    }
}

impl core::error::Error for ChatRefError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn what_is_written_is_read() {
        let group = ChatRef::from(Chat::Group(GroupId(i64::MAX)));
        for to in [
            ChatRef::from(Chat::Direct(ContactId(0))),
            group,
            group.as_group(),
            group.scope(Scope::Support),
            group.scope(Scope::MemberSupport(GroupMemberId(3))).as_group(),
        ] {
            assert_eq!(to.to_string().parse(), Ok(to));
        }
    }

    #[test]
    fn nothing_else_is_read() {
        for text in [
            "",
            "@",
            "4",
            "@-4",
            "@+4",
            "@4 ",
            "@ 4",
            "@4(_support)",
            "#1(_support",
            "#1(_support:)",
            "#1(_support:x)",
            "#1(as_group=off)",
            "#1(as_group=on)(_support)",
            "@9223372036854775808",
        ] {
            assert_eq!(text.parse::<ChatRef>(), Err(ChatRefError), "{text}");
        }
    }
}
