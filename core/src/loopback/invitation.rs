//! One-time invitations: a link that makes contacts of its maker and the first who uses it.
//!
//! ```text
//! create_invitation ──► link ──► use_invitation ──► both are contacts, the link is spent
//!                        └──► delete_invitation: it leads nowhere
//! ```

use alloc::string::String;
use core::fmt;

use super::error::SetupError;
use super::event::Event;
use super::link::LinkKeys;
use super::{ContactRequestError, Loopback, ProfileId};
use crate::chat::ContactId;
use crate::discovery::link::LinkKind;
use crate::time::Instant;

/// How many invitations there are in all; the oldest that are spent make room.
pub const MAX_INVITATIONS: usize = 1_024;

/// An invitation of a [`Loopback`]. It is the maker's connection that waits too: the core's
/// `pccConnId`.
///
/// ```
/// use agentwire_core::loopback::Loopback;
/// let mut net = Loopback::new(1);
/// let ann = net.add_profile("ann").unwrap();
/// assert_ne!(net.create_invitation(ann).unwrap(), net.create_invitation(ann).unwrap());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct InvitationId(pub(super) i64);

impl fmt::Display for InvitationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invitation {}", self.0)
    }
}

#[derive(Debug)]
pub(super) struct Invitation {
    pub(super) profile: ProfileId,
    pub(super) keys: LinkKeys,
    /// The made-up record that the maker shows.
    pub(super) incognito: Option<String>,
    /// Who has used it, and the contact that each side has since: the maker's first.
    pub(super) used: Option<(ProfileId, [ContactId; 2])>,
}

impl Loopback {
    /// Makes an invitation: the core's `/_connect` without a link.
    ///
    /// # Errors
    /// [`SetupError::UnknownProfile`], [`SetupError::TooManyInvitations`]
    pub fn create_invitation(&mut self, profile: ProfileId) -> Result<InvitationId, SetupError> {
        self.create_invitation_as(profile, None)
    }

    /// The same under a made-up record, if there is one.
    pub(super) fn create_invitation_as(
        &mut self,
        profile: ProfileId,
        incognito: Option<String>,
    ) -> Result<InvitationId, SetupError> {
        self.profiles.get(profile.0).ok_or(SetupError::UnknownProfile { profile })?;
        if self.invitations.len() >= MAX_INVITATIONS {
            let mut all = self.invitations.iter();
            let spent = all.find(|(_, known)| known.used.is_some()).map(|(id, _)| *id);
            let limit = MAX_INVITATIONS;
            self.invitations.remove(&spent.ok_or(SetupError::TooManyInvitations { limit })?);
        }
        self.made_invitations = self.made_invitations.saturating_add(1);
        let id = InvitationId(self.made_invitations);
        let keys = LinkKeys::new(LinkKind::Invitation, &mut self.keys);
        self.invitations.insert(id, Invitation { profile, keys, incognito, used: None });
        Ok(id)
    }

    /// The links of an invitation, the full and the short one.
    #[must_use]
    pub fn invitation_links(&self, invitation: InvitationId) -> Option<(String, String)> {
        let known = self.invitations.get(&invitation)?;
        Some((known.keys.full(None), known.keys.short()))
    }

    /// Uses an invitation: the core's `/_connect` with its link. Gives the maker as a contact.
    ///
    /// # Errors
    /// [`ContactRequestError::UnknownInvitation`] also when it is spent,
    /// [`ContactRequestError::OwnAddress`], [`ContactRequestError::UnknownProfile`]
    ///
    /// ```
    /// use agentwire_core::loopback::{ContactRequestError, Loopback};
    /// use agentwire_core::time::Instant;
    /// let mut net = Loopback::new(1);
    /// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
    /// let invitation = net.create_invitation(ann).unwrap();
    /// net.use_invitation(Instant::ZERO, bot, invitation).unwrap();
    /// let again = net.use_invitation(Instant::ZERO, bot, invitation);
    /// assert_eq!(again, Err(ContactRequestError::UnknownInvitation { invitation }));
    /// ```
    pub fn use_invitation(
        &mut self,
        now: Instant,
        profile: ProfileId,
        invitation: InvitationId,
    ) -> Result<ContactId, ContactRequestError> {
        self.use_invitation_as(now, profile, invitation, None)
    }

    /// The same under a made-up record, if there is one.
    pub(super) fn use_invitation_as(
        &mut self,
        now: Instant,
        profile: ProfileId,
        invitation: InvitationId,
        incognito: Option<String>,
    ) -> Result<ContactId, ContactRequestError> {
        self.handle_timeout(now);
        self.profiles.get(profile.0).ok_or(ContactRequestError::UnknownProfile { profile })?;
        let unknown = ContactRequestError::UnknownInvitation { invitation };
        let known = self.invitations.get_mut(&invitation).filter(|known| known.used.is_none());
        let known = known.ok_or(unknown)?;
        if known.profile == profile {
            return Err(ContactRequestError::OwnAddress);
        }
        let (maker, shown) = (known.profile, known.incognito.take());
        let made = self.connect_as([maker, profile], [shown, incognito]);
        let (of_maker, of_user) = made.map_err(|_| unknown)?;
        if let Some(known) = self.invitations.get_mut(&invitation) {
            known.used = Some((profile, [of_maker, of_user]));
        }
        self.tell(maker, Event::ContactConnecting { contact: of_maker });
        self.tell(profile, Event::ContactSndReady { contact: of_user });
        self.tell(maker, Event::ContactConnected { contact: of_maker });
        self.tell(profile, Event::ContactConnected { contact: of_user });
        self.pump();
        Ok(of_user)
    }

    /// Deletes an invitation that nobody has used: the core's `/_delete :<pccConnId>`. Whether it
    /// was there.
    pub fn delete_invitation(&mut self, profile: ProfileId, invitation: InvitationId) -> bool {
        let is_open = |known: &Invitation| known.profile == profile && known.used.is_none();
        let is_there = self.invitations.get(&invitation).is_some_and(is_open);
        if is_there {
            self.invitations.remove(&invitation);
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invitations_are_limited_and_spent_ones_make_room() {
        let mut net = Loopback::new(1);
        let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        let first = net.create_invitation(ann).unwrap();
        for _ in 1..MAX_INVITATIONS {
            net.create_invitation(ann).unwrap();
        }
        let limit = MAX_INVITATIONS;
        let refused = net.create_invitation(ann);
        assert_eq!(refused, Err(SetupError::TooManyInvitations { limit }));
        net.use_invitation(Instant::ZERO, bot, first).unwrap();
        net.create_invitation(ann).unwrap();
        assert_eq!(net.invitation_links(first), None);
        assert_eq!(net.invitations.len(), MAX_INVITATIONS);
    }

    #[test]
    fn an_invitation_is_deleted_by_its_maker_while_nobody_has_used_it() {
        let mut net = Loopback::new(1);
        let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        let [open, used] = [(); 2].map(|()| net.create_invitation(ann).unwrap());
        net.use_invitation(Instant::ZERO, bot, used).unwrap();
        assert!(!net.delete_invitation(bot, open) && !net.delete_invitation(ann, used));
        assert!(net.delete_invitation(ann, open) && !net.delete_invitation(ann, open));
        let error = ContactRequestError::UnknownInvitation { invitation: open };
        assert_eq!(net.use_invitation(Instant::ZERO, bot, open), Err(error));
    }
}
