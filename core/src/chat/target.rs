//! Who is called and how long, without borrows: what a driver carries from one thread or task to
//! another until it makes the call.

use alloc::string::String;
use core::time::Duration;

use super::caller::{Call, To, Wait};
use super::{ContactId, GroupId, GroupMemberId, MemberId};

/// Who is called: [`To`] without borrows.
///
/// ```
/// use agentwire_core::chat::{ContactId, Target, caller::To};
/// let target = Target::from(ContactId(4));
/// assert_eq!(target.as_to(), To::Contact(ContactId(4)));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_enums)]
pub enum Target {
    /// The contact of a direct chat.
    Contact(ContactId),
    /// One member of a group, who is mentioned.
    Member {
        /// The group.
        group: GroupId,
        /// Whose replies are accepted.
        member: MemberId,
        /// The member in the profile's own database.
        group_member: GroupMemberId,
        /// The name to write after the `@`.
        name: String,
    },
    /// Every member of a group that serves the protocol.
    Everyone(GroupId),
}

impl Target {
    /// The same, borrowed.
    pub fn as_to(&self) -> To<'_> {
        match self {
            Self::Contact(contact) => To::Contact(*contact),
            Self::Member { group, member, group_member, name } => {
                To::Member { group: *group, member: *member, group_member: *group_member, name }
            }
            Self::Everyone(group) => To::Everyone(*group),
        }
    }
}

impl From<ContactId> for Target {
    fn from(contact: ContactId) -> Self {
        Self::Contact(contact)
    }
}

/// How a call waits.
///
/// ```
/// use agentwire_core::chat::CallOptions;
/// let options = CallOptions::default().answers(2);
/// assert_eq!(options.answers, Some(2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// How long; the session's limits if it does not say.
    pub wait: Option<Wait>,
    /// In a broadcast, after how many last replies the call ends.
    pub answers: Option<u32>,
}

impl CallOptions {
    /// With these limits.
    #[must_use]
    pub const fn wait(mut self, overall: Duration, idle: Duration) -> Self {
        self.wait = Some(Wait::new(overall, idle));
        self
    }

    /// Ending after this many answers.
    #[must_use]
    pub const fn answers(mut self, answers: u32) -> Self {
        self.answers = Some(answers);
        self
    }

    /// The call with these options.
    pub const fn call<'c, B: Copy>(&self, binding: B, to: To<'c>, request: &'c str) -> Call<'c, B> {
        let mut call = Call::new(binding, to, request);
        call.wait = self.wait;
        call.answers = self.answers;
        call
    }
}
