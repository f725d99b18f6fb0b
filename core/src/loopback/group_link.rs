//! Links by which one joins a group or subscribes to a channel.
//!
//! ```text
//! create_group_link ──► link ──► join_by_link ──► GroupConnecting ──► GroupJoined
//!                                                 the others: Member { Joined }
//! ```

use alloc::string::String;

use super::error::SetupError;
use super::event::Event;
use super::link::LinkKeys;
use super::{GroupRef, Loopback, ProfileId};
use crate::chat::GroupId;
use crate::discovery::link::LinkKind;
use crate::time::Instant;

impl Loopback {
    /// Gives a group a link, unless it has one: the core's `/_create link #`.
    ///
    /// # Errors
    /// [`SetupError::UnknownGroup`]
    ///
    /// ```
    /// use agentwire_core::{discovery::link::Link, loopback::{LinkTarget, Loopback}};
    /// let mut net = Loopback::new(1);
    /// let ann = net.add_profile("ann").unwrap();
    /// let group = net.create_group(ann, "team").unwrap();
    /// net.create_group_link(group).unwrap();
    /// let (_, short) = net.group_links(group).unwrap();
    /// assert_eq!(net.behind(&Link::parse(&short).unwrap()), Some(LinkTarget::Group(group)));
    /// ```
    pub fn create_group_link(&mut self, group: GroupRef) -> Result<(), SetupError> {
        let unknown = SetupError::UnknownGroup { group };
        let known = self.groups.get_mut(group.0).ok_or(unknown)?;
        if known.link.is_none() {
            let kind = if known.is_channel { LinkKind::Channel } else { LinkKind::Group };
            known.link = Some(LinkKeys::new(kind, &mut self.keys));
        }
        Ok(())
    }

    /// Takes the link of a group away: the core's `/_delete link #`. Whether there was one.
    pub fn delete_group_link(&mut self, group: GroupRef) -> bool {
        self.groups.get_mut(group.0).is_some_and(|known| known.link.take().is_some())
    }

    /// The links of a group, the full and the short one.
    #[must_use]
    pub fn group_links(&self, group: GroupRef) -> Option<(String, String)> {
        let keys = self.groups.get(group.0)?.link.as_ref()?;
        Some((keys.full(None), keys.short()))
    }

    /// The id that the link of a group has besides.
    pub(super) fn group_link_id(&self, group: GroupRef) -> Option<&str> {
        self.groups.get(group.0)?.link.as_ref().map(LinkKeys::group_link_id)
    }

    /// Joins a group as by its link: the core's `/_connect` with it. Who is a member already stays
    /// one.
    ///
    /// # Errors
    /// [`SetupError::UnknownGroup`], [`SetupError::UnknownProfile`], [`SetupError::AlreadyMember`]
    pub fn join_by_link(
        &mut self,
        now: Instant,
        profile: ProfileId,
        group: GroupRef,
    ) -> Result<GroupId, SetupError> {
        self.handle_timeout(now);
        let joined = self.join(group, profile)?;
        self.tell(profile, Event::GroupConnecting { group: joined });
        self.tell(profile, Event::GroupJoined { group: joined });
        self.pump();
        Ok(joined)
    }
}
