//! Publishing declarations: the profile is read, rewritten and written back.

use alloc::string::String;
use alloc::vec::Vec;

use crate::binding::ProtocolName;
use crate::chat::GroupId;
use crate::json::Object;
use crate::profile::{Declaration, Edit, Source, Transports};
use crate::simplex::UserId;
use crate::simplex::command::Command;
use crate::simplex::profile::{
    ProfileError, SetPeerType, keeps, write_group_profile, write_profile,
};

/// What to change of what a profile, or a group, declares.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::profile::{Declaration, PeerType, Transports};
/// use agentwire_core::simplex::{Publication, profile::SetPeerType};
///
/// let mcp = ProtocolName::new("mcp").unwrap();
/// let publication = Publication::profile(SetPeerType::To(PeerType::Agent))
///     .declare(&Declaration::new(mcp, &["2026-07-28"], Transports::new(true, true)));
/// assert_eq!(publication.group(), None);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Publication {
    group: Option<GroupId>,
    declare: Vec<(String, Vec<String>, Transports)>,
    withdraw: Vec<String>,
    peer: SetPeerType,
}

impl Publication {
    /// In the profile of the user.
    #[must_use]
    pub const fn profile(peer: SetPeerType) -> Self {
        Self { group: None, declare: Vec::new(), withdraw: Vec::new(), peer }
    }

    /// In the preferences of a group, which the profile has to own.
    #[must_use]
    pub const fn in_group(group: GroupId) -> Self {
        let peer = SetPeerType::Keep;
        Self { group: Some(group), declare: Vec::new(), withdraw: Vec::new(), peer }
    }

    /// Declares a protocol.
    #[must_use]
    pub fn declare(mut self, declaration: &Declaration<'_>) -> Self {
        let versions = declaration.versions.iter().map(|version| String::from(*version)).collect();
        self.declare.push((declaration.name.get().into(), versions, declaration.transports));
        self
    }

    /// Takes a declaration back.
    #[must_use]
    pub fn withdraw(mut self, protocol: ProtocolName<'_>) -> Self {
        self.withdraw.push(protocol.get().into());
        self
    }

    /// The group; `None` for the profile.
    #[must_use]
    pub const fn group(&self) -> Option<GroupId> {
        self.group
    }

    fn source(&self) -> Source {
        if self.group.is_some() { Source::Group } else { Source::Profile }
    }

    /// Whether what the core gives back declares what was published. Taking back alone needs
    /// nothing to be kept.
    pub(super) fn is_kept(&self, profile: Object<'_>) -> bool {
        self.declare.is_empty() || keeps(self.source(), profile)
    }

    /// The command that writes this profile back with the changes.
    pub(super) fn write(&self, user: UserId, profile: Object<'_>) -> Result<String, ProfileError> {
        let versions: Vec<Vec<&str>> = self
            .declare
            .iter()
            .map(|(_, all, _)| all.iter().map(String::as_str).collect())
            .collect();
        let declared =
            self.declare.iter().zip(&versions).filter_map(|((name, _, to), versions)| {
                Some(Edit::Declare(Declaration::new(ProtocolName::new(name)?, versions, *to)))
            });
        let withdrawn = self.withdraw.iter().filter_map(|name| ProtocolName::new(name));
        let edits: Vec<Edit<'_>> = declared.chain(withdrawn.map(Edit::Withdraw)).collect();
        let mut buffer = Vec::new();
        loop {
            let written = match self.group {
                Some(_) => write_group_profile(profile, &edits, &mut buffer),
                None => write_profile(profile, &edits, self.peer, &mut buffer),
            };
            let error = match written {
                Ok(text) => return Ok(command_text(self.group, user, text)),
                Err(error) => error,
            };
            match error {
                ProfileError::Buffer(short) if short.needed > buffer.len() => {
                    buffer.resize(short.needed, 0);
                }
                error => return Err(error),
            }
        }
    }
}

fn command_text(group: Option<GroupId>, user: UserId, profile: &str) -> String {
    // What was written of an object is an object.
    let Ok(profile) = Object::parse(profile) else { return String::new() };
    let command = match group {
        Some(group) => Command::SetGroupProfile { group, profile },
        None => Command::SetProfile { user, profile },
    };
    command.to_text().unwrap_or_default()
}
