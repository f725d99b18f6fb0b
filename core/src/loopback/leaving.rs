//! The end of a contact, a group, or a conversation.

use alloc::vec::Vec;

use super::error::SendError;
use super::event::Event;
use super::profile::ContactStatus;
use super::{Loopback, ProfileId};
use crate::chat::{Chat, ContactId, GroupId};
use crate::time::Instant;

/// What of a conversation is deleted: the core's `ChatDeleteMode`.
///
/// ```
/// use agentwire_core::loopback::ChatDeletion;
/// assert_ne!(ChatDeletion::Entity, ChatDeletion::Messages);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ChatDeletion {
    /// Everything.
    Full,
    /// The contact; what was said stays.
    Entity,
    /// What was said; the contact stays.
    Messages,
}

impl Loopback {
    /// Deletes a contact: the core's `/_delete @`. The other side is told so if `notify` is set
    /// and the contact goes; it keeps the conversation and can no longer send.
    ///
    /// # Errors
    /// [`SendError::UnknownProfile`], [`SendError::ContactNotFound`]
    ///
    /// ```
    /// use agentwire_core::loopback::{ChatDeletion, Event, Loopback};
    /// use agentwire_core::time::Instant;
    /// let mut net = Loopback::new(1);
    /// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
    /// let (to_bot, to_ann) = net.connect(ann, bot).unwrap();
    /// net.delete_contact(Instant::ZERO, ann, to_bot, ChatDeletion::Full, true).unwrap();
    /// assert_eq!(net.poll_event(bot), Some(Event::ContactDeleted { contact: to_ann }));
    /// assert_eq!(net.contacts(ann), []);
    /// ```
    pub fn delete_contact(
        &mut self,
        now: Instant,
        profile: ProfileId,
        contact: ContactId,
        what: ChatDeletion,
        notify: bool,
    ) -> Result<(), SendError> {
        self.handle_timeout(now);
        let known = self.profile_mut(profile).ok_or(SendError::UnknownProfile { profile })?;
        let found = known.contacts.get_mut(&contact);
        let found = found.ok_or(SendError::ContactNotFound { contact })?;
        let (peer, mirror) = (found.peer, found.mirror);
        let was_active = found.status == ContactStatus::Active;
        match what {
            ChatDeletion::Messages => {
                known.items.clear(Chat::Direct(contact));
                return Ok(());
            }
            ChatDeletion::Entity => found.status = ContactStatus::DeletedByUser,
            ChatDeletion::Full => known.remove_contact(contact),
        }
        let theirs = self.profile_mut(peer).and_then(|peer| peer.contacts.get_mut(&mirror));
        if let Some(theirs) = theirs.filter(|_| notify && was_active) {
            if theirs.status == ContactStatus::Active {
                theirs.status = ContactStatus::Deleted;
                self.tell(peer, Event::ContactDeleted { contact: mirror });
                self.pump();
            }
        }
        Ok(())
    }

    /// Deletes a group: the core's `/_delete #`. Its owner ends it for all, who are told if
    /// `notify` is set; who has left it removes it from the own database.
    ///
    /// # Errors
    /// [`SendError::UnknownProfile`], [`SendError::GroupNotFound`]; [`SendError::Role`] for a
    /// member who is not the owner.
    pub fn delete_group(
        &mut self,
        now: Instant,
        profile: ProfileId,
        group: GroupId,
        what: ChatDeletion,
        notify: bool,
    ) -> Result<(), SendError> {
        self.handle_timeout(now);
        let known = self.profile_mut(profile).ok_or(SendError::UnknownProfile { profile })?;
        let membership = known.groups.get(&group).ok_or(SendError::GroupNotFound { group })?;
        let (at, own, was_active) = (membership.group, membership.own, membership.active);
        if what == ChatDeletion::Messages {
            known.items.clear(Chat::Group(group));
            return Ok(());
        }
        let found = self.groups.get_mut(at.0);
        let is_owner = found.as_ref().is_some_and(|found| found.owner() == Some(own));
        if was_active && !is_owner {
            return Err(SendError::Role { group, required: "owner" });
        }
        let mut ended = Vec::new();
        if let Some(found) = found.filter(|_| was_active) {
            found.link = None;
            for seat in &mut found.seats {
                if core::mem::take(&mut seat.active) && seat.member != own {
                    ended.push((seat.profile, seat.group_id));
                }
            }
        }
        for (other, group) in ended {
            let membership = self.profile_mut(other).and_then(|p| p.groups.get_mut(&group));
            let Some(membership) = membership else { continue };
            membership.active = false;
            if notify {
                self.tell(other, Event::GroupDeleted { group, by: own });
            }
        }
        if let Some(known) = self.profile_mut(profile) {
            known.remove_group(group);
        }
        self.pump();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loopback::SetupError;

    const NOW: Instant = Instant::ZERO;

    #[test]
    fn who_was_deleted_can_no_longer_send() {
        for what in [ChatDeletion::Full, ChatDeletion::Entity] {
            let mut net = Loopback::new(1);
            let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
            let (to_bot, to_ann) = net.connect(ann, bot).unwrap();
            net.send(NOW, ann, Chat::Direct(to_bot), "hello").unwrap();
            net.delete_contact(NOW, ann, to_bot, what, true).unwrap();
            let refused = net.send(NOW, bot, Chat::Direct(to_ann), "hello");
            assert_eq!(refused, Err(SendError::ContactNotActive { contact: to_ann }));
            let expected = match what {
                ChatDeletion::Full => SendError::ContactNotFound { contact: to_bot },
                _ => SendError::ContactNotActive { contact: to_bot },
            };
            assert_eq!(net.send(NOW, ann, Chat::Direct(to_bot), "hello"), Err(expected));
            assert_eq!(net.stored_items(ann) == 0, what == ChatDeletion::Full);
            // Who comes back is a new contact.
            net.connect(ann, bot).unwrap();
            let again = &net.contacts(ann)[usize::from(what == ChatDeletion::Entity)];
            let name = if what == ChatDeletion::Full { "bot" } else { "bot_1" };
            assert_eq!(again.name, name);
        }
    }

    #[test]
    fn nothing_arrives_of_who_was_deleted_without_a_word() {
        let mut net = Loopback::new(1);
        let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        let (to_bot, to_ann) = net.connect(ann, bot).unwrap();
        net.delete_contact(NOW, ann, to_bot, ChatDeletion::Full, false).unwrap();
        assert_eq!(net.poll_event(bot), None);
        net.send(NOW, bot, Chat::Direct(to_ann), "hello").unwrap();
        assert_eq!(net.poll_event(ann), None);
    }

    #[test]
    fn a_group_ends_with_its_owner() {
        let mut net = Loopback::new(1);
        let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        let group = net.create_group(ann, "team").unwrap();
        let of_bot = net.join(group, bot).unwrap();
        let of_ann = net.group_id(group, ann).unwrap();
        net.poll_event(ann);
        let member = net.member_id(group, ann).unwrap();
        let refused = net.delete_group(NOW, bot, of_bot, ChatDeletion::Full, true);
        assert_eq!(refused, Err(SendError::Role { group: of_bot, required: "owner" }));
        net.delete_group(NOW, ann, of_ann, ChatDeletion::Full, true).unwrap();
        let told = net.poll_event(bot);
        assert_eq!(told, Some(Event::GroupDeleted { group: of_bot, by: member }));
        assert_eq!(net.groups(ann), []);
        let refused = net.send(NOW, bot, Chat::Group(of_bot), "hello");
        assert_eq!(refused, Err(SendError::MemberLeft { group: of_bot }));
        net.delete_group(NOW, bot, of_bot, ChatDeletion::Full, true).unwrap();
        assert_eq!(net.groups(bot), []);
        // Their names are free again.
        assert_eq!(net.create_group(bot, "team").map(|_| ()), Ok::<(), SetupError>(()));
        assert_eq!(net.groups(bot)[0].1, "team");
    }
}
