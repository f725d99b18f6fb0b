//! SimpleX names: who answers to one.
//!
//! A real core asks a router that knows a public registry; here the names are handed in, and
//! everybody knows the same ones.

use alloc::string::String;

use super::error::SetupError;
use super::link::LinkTarget;
use super::{GroupRef, Loopback, ProfileId};
use crate::discovery::name::{MAX_NAME_LEN, Name, NameKind};

/// Whom a name is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Named {
    Profile(ProfileId),
    Group(GroupRef),
}

/// Why a name leads nowhere: the core's `SimplexDomainError`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum NameProblem {
    /// Nobody has it.
    UnknownDomain,
    /// Who has it has no address, or the group no link.
    NoValidLink,
}

impl Loopback {
    /// Gives a profile a SimpleX name, as `@bot.simplex`. It leads to whatever address the profile
    /// has when it is looked up.
    ///
    /// # Errors
    /// [`SetupError::UnknownProfile`]; [`SetupError::InvalidName`] also for a name of a group;
    /// [`SetupError::NameTaken`].
    ///
    /// ```
    /// use agentwire_core::discovery::name::Name;
    /// use agentwire_core::loopback::{LinkTarget, Loopback, NameProblem};
    /// let mut net = Loopback::new(1);
    /// let bot = net.add_profile("bot").unwrap();
    /// net.name_profile(bot, "@bot.simplex").unwrap();
    /// let name = Name::parse("@BOT.simplex").unwrap();
    /// assert_eq!(net.look_up(&name), Err(NameProblem::NoValidLink));
    /// let address = net.create_address(bot, false).unwrap();
    /// assert_eq!(net.look_up(&name), Ok(LinkTarget::Address(address)));
    /// ```
    pub fn name_profile(&mut self, profile: ProfileId, name: &str) -> Result<(), SetupError> {
        self.profiles.get(profile.0).ok_or(SetupError::UnknownProfile { profile })?;
        self.give_name(name, NameKind::Contact, Named::Profile(profile))
    }

    /// Gives a group or a channel a SimpleX name, as `#news.simplex`. It leads to the link that
    /// the group has when it is looked up.
    ///
    /// # Errors
    /// [`SetupError::UnknownGroup`]; [`SetupError::InvalidName`] also for a name of a contact;
    /// [`SetupError::NameTaken`].
    pub fn name_group(&mut self, group: GroupRef, name: &str) -> Result<(), SetupError> {
        self.groups.get(group.0).ok_or(SetupError::UnknownGroup { group })?;
        self.give_name(name, NameKind::PublicGroup, Named::Group(group))
    }

    fn give_name(&mut self, text: &str, kind: NameKind, whom: Named) -> Result<(), SetupError> {
        let name = Name::parse(text);
        let name = name.map_err(|error| SetupError::InvalidName { offset: error.offset })?;
        if name.kind() != kind {
            return Err(SetupError::InvalidName { offset: 0 });
        }
        let normal = normal_form(&name);
        if self.named.contains_key(&normal) {
            return Err(SetupError::NameTaken);
        }
        self.named.insert(normal, whom);
        Ok(())
    }

    /// What a name leads to.
    ///
    /// # Errors
    /// [`NameProblem`]
    pub fn look_up(&self, name: &Name<'_>) -> Result<LinkTarget, NameProblem> {
        let whom = self.named.get(&normal_form(name)).ok_or(NameProblem::UnknownDomain)?;
        let target = match *whom {
            Named::Profile(profile) => self.address_of(profile).map(LinkTarget::Address),
            Named::Group(group) => {
                let has_link = self.groups.get(group.0).is_some_and(|group| group.link.is_some());
                has_link.then_some(LinkTarget::Group(group))
            }
        };
        target.ok_or(NameProblem::NoValidLink)
    }
}

/// The name as it is looked up.
fn normal_form(name: &Name<'_>) -> String {
    // A name of one label gets the top-level domain, and the sign stands in front.
    let mut buffer = [0; MAX_NAME_LEN + 16];
    String::from(name.write(&mut buffer).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_kind_and_one_owners() {
        let mut net = Loopback::new(1);
        let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        let group = net.create_group(ann, "team").unwrap();
        let wrong = Err(SetupError::InvalidName { offset: 0 });
        assert_eq!(net.name_profile(bot, "#bot.simplex"), wrong);
        assert_eq!(net.name_group(group, "@team.simplex"), wrong);
        assert!(matches!(net.name_profile(bot, "bot bot"), Err(SetupError::InvalidName { .. })));
        assert_eq!(net.name_profile(bot, "@bot.simplex"), Ok(()));
        assert_eq!(net.name_profile(ann, "@Bot.Simplex"), Err(SetupError::NameTaken));
        // A contact's name and a group's are two.
        assert_eq!(net.name_group(group, "#bot"), Ok(()));
        let name = Name::parse("bot").unwrap();
        assert_eq!(net.look_up(&name), Err(NameProblem::NoValidLink));
        net.create_group_link(group).unwrap();
        assert_eq!(net.look_up(&name), Ok(LinkTarget::Group(group)));
        let nobodys = Name::parse("@nobody.simplex").unwrap();
        assert_eq!(net.look_up(&nobodys), Err(NameProblem::UnknownDomain));
    }
}
