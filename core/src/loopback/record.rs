//! What profiles and groups say of themselves: the core's `Profile` and `GroupProfile`, as JSON.
//!
//! A record is a JSON object with the strings `displayName` and `fullName`; `preferences` and
//! `groupPreferences` hold declarations (*Agent protocols over SimpleX*, "Profile declarations").
//! It is kept as the core writes it, with members that the stand-in does not know.

use alloc::{string::String, vec::Vec};
use core::fmt;

use super::event::Event;
use super::{GroupRef, Loopback, ProfileId, name, normalise};
use crate::chat::{ContactId, GroupId};
use crate::json::{self, Object};
use crate::time::Instant;

/// The longest record, in bytes as the core writes it (simplex-chat `Protocol.hs`,
/// `maxEncodedInfoLength`, which the message around it shares).
pub const MAX_RECORD_LEN: usize = 14_694;

/// Why a record was not taken.
///
/// ```
/// use agentwire_core::loopback::{Loopback, RecordError};
/// use agentwire_core::time::Instant;
/// let mut net = Loopback::new(1);
/// let bot = net.add_profile("bot").unwrap();
/// let error = net.set_record(Instant::ZERO, bot, r#"{"displayName":"bot"}"#);
/// assert_eq!(error, Err(RecordError::NotARecord));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// There is no such profile: a misuse of the stand-in.
    UnknownProfile {
        /// Who was named.
        profile: ProfileId,
    },
    /// The text is not one JSON object (the core's command error).
    Grammar(json::Error),
    /// `displayName` or `fullName` is missing, twice there, or no string (the core's command
    /// error).
    NotARecord,
    /// The core takes no such name (its `invalidDisplayName`).
    InvalidDisplayName {
        /// Its length in characters.
        chars: usize,
    },
    /// A contact, a member or a group bears the name (the core's `duplicateName`).
    DuplicateName,
    /// The record does not fit into its message (the core's `largeMsg`).
    TooLarge {
        /// Bytes of the record.
        len: usize,
        /// Bytes that fit.
        limit: usize,
    },
    /// The profile has no such contact (the core's `contactNotFound`).
    ContactNotFound {
        /// Which was named.
        contact: ContactId,
    },
    /// The profile has no such group (the core's `groupNotFound`).
    GroupNotFound {
        /// Which was named.
        group: GroupId,
    },
    /// The profile is not the group's owner (the core's `groupUserRole`).
    NotOwner {
        /// Of which group.
        group: GroupId,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownProfile { profile } => write!(f, "{profile} does not exist"),
            Self::Grammar(error) => write!(f, "the record is not a JSON object: {error}"),
            Self::NotARecord => f.write_str("a record has one displayName and one fullName"),
            Self::InvalidDisplayName { chars } => {
                write!(f, "a text of {chars} characters that is no display name")
            }
            Self::DuplicateName => f.write_str("the name is taken"),
            Self::TooLarge { len, limit } => {
                write!(f, "a record of {len} bytes, at most {limit} are sent")
            }
            Self::ContactNotFound { contact } => write!(f, "no contact {}", contact.0),
            Self::GroupNotFound { group } => write!(f, "no group {}", group.0),
            Self::NotOwner { group } => write!(f, "not the owner of group {}", group.0),
        }
    }
}

impl core::error::Error for RecordError {}

/// A record with a name and nothing else.
pub(super) fn named(name: &str) -> String {
    json::to_text(|out| {
        out.raw("{\"displayName\":").string(name).raw(",\"fullName\":\"\"}");
    })
}

/// A record that was checked, as the core writes it, and its display name.
fn checked(text: &str) -> Result<(String, String), RecordError> {
    let object = Object::parse(text).map_err(RecordError::Grammar)?;
    let string = |name| object.str(name).ok().flatten().ok_or(RecordError::NotARecord);
    let name: String = string("displayName")?.chars().collect();
    string("fullName")?;
    if !name::is_valid(&name) {
        return Err(RecordError::InvalidDisplayName { chars: name.chars().count() });
    }
    let record = normalise::text(object.as_value());
    if record.len() > MAX_RECORD_LEN {
        return Err(RecordError::TooLarge { len: record.len(), limit: MAX_RECORD_LEN });
    }
    Ok((record, name))
}

impl Loopback {
    /// What a profile says of itself: the core's `Profile`, as the core writes it.
    #[must_use]
    pub fn record(&self, profile: ProfileId) -> Option<&str> {
        self.profiles.get(profile.0).map(|profile| profile.record.as_str())
    }

    /// Changes what a profile says of itself: the core's `/_profile`. Whether that is a change.
    /// Contacts are told; in groups members see the new name.
    ///
    /// # Errors
    /// [`RecordError`]; nothing has changed then.
    ///
    /// ```
    /// use agentwire_core::loopback::{Event, Loopback};
    /// use agentwire_core::time::Instant;
    /// let mut net = Loopback::new(1);
    /// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
    /// let (to_bot, _) = net.connect(ann, bot).unwrap();
    /// let record = r#"{"fullName": "", "displayName": "robot", "peerType": "agent"}"#;
    /// assert_eq!(net.set_record(Instant::ZERO, bot, record), Ok(true));
    /// assert_eq!(net.set_record(Instant::ZERO, bot, record), Ok(false));
    /// assert_eq!(net.contacts(ann)[0].name, "robot");
    /// assert!(matches!(
    ///     net.poll_event(ann),
    ///     Some(Event::ContactUpdated { contact, .. }) if contact == to_bot
    /// ));
    /// ```
    pub fn set_record(
        &mut self,
        now: Instant,
        profile: ProfileId,
        json: &str,
    ) -> Result<bool, RecordError> {
        self.handle_timeout(now);
        let unknown = RecordError::UnknownProfile { profile };
        self.profiles.get(profile.0).ok_or(unknown)?;
        let (record, name) = checked(json)?;
        let known = self.profile_mut(profile).ok_or(unknown)?;
        if known.record == record {
            return Ok(false);
        }
        let renamed = known.display_name != name;
        if renamed {
            if known.names.contains(&name) {
                return Err(RecordError::DuplicateName);
            }
            known.names.remove(&known.display_name);
            known.names.insert(name.clone());
            known.display_name.clone_from(&name);
        }
        let before = core::mem::replace(&mut known.record, record);
        for index in 0..self.profiles.len() {
            let other = ProfileId(index);
            let Some(known) = self.profile_mut(other) else { continue };
            if renamed {
                known.rename(profile, &name, other == profile);
            }
            let contacts: Vec<ContactId> = known
                .contacts
                .iter()
                .filter(|(_, contact)| contact.peer == profile && !contact.is_hidden)
                .map(|(id, _)| *id)
                .collect();
            for contact in contacts {
                self.tell(other, Event::ContactUpdated { contact, before: before.clone() });
            }
        }
        self.pump();
        Ok(true)
    }

    /// Changes one member of a profile's record, or takes it out.
    pub(super) fn set_record_member(
        &mut self,
        now: Instant,
        profile: ProfileId,
        member: &str,
        value: Option<&str>,
    ) -> Result<bool, RecordError> {
        let old = self.record(profile).ok_or(RecordError::UnknownProfile { profile })?;
        let object = Object::parse(old).map_err(RecordError::Grammar)?;
        let changed = json::to_text(|out| {
            let mut before = "{";
            for (name, value) in object.members().filter(|(name, _)| *name != *member) {
                out.raw(before).raw(name.get()).raw(":").value(value);
                before = ",";
            }
            if let Some(value) = value {
                out.raw(before).string(member).raw(":").string(value);
            }
            out.raw("}");
        });
        self.set_record(now, profile, &changed)
    }

    /// What a group says of itself: the core's `GroupProfile`.
    #[must_use]
    pub fn group_record(&self, group: GroupRef) -> Option<&str> {
        self.groups.get(group.0).map(|group| group.record.as_str())
    }

    /// Changes what a group says of itself: the core's `/_group_profile`, which the owner alone may
    /// use, the one who created the group. Whether that is a change. The other members are told.
    ///
    /// # Errors
    /// [`RecordError`]; nothing has changed then.
    pub fn set_group_record(
        &mut self,
        now: Instant,
        profile: ProfileId,
        group: GroupId,
        json: &str,
    ) -> Result<bool, RecordError> {
        self.handle_timeout(now);
        let known = self.profiles.get(profile.0).ok_or(RecordError::UnknownProfile { profile })?;
        let membership = known.groups.get(&group).ok_or(RecordError::GroupNotFound { group })?;
        let (at, own) = (membership.group, membership.own);
        let (record, _) = checked(json)?;
        let found = self.groups.get_mut(at.0).ok_or(RecordError::GroupNotFound { group })?;
        if found.owner() != Some(own) {
            return Err(RecordError::NotOwner { group });
        }
        if found.record == record {
            return Ok(false);
        }
        let before = core::mem::replace(&mut found.record, record);
        let told: Vec<_> = found
            .seats
            .iter()
            .filter(|seat| seat.active && seat.member != own)
            .map(|seat| (seat.profile, seat.group_id))
            .collect();
        for (other, group) in told {
            self.tell(other, Event::GroupUpdated { group, by: own, before: before.clone() });
        }
        self.pump();
        Ok(true)
    }

    /// Changes what a profile prefers in one chat: the core's `/_set prefs`.
    ///
    /// # Errors
    /// [`RecordError`]; nothing has changed then.
    pub fn set_contact_preferences(
        &mut self,
        now: Instant,
        profile: ProfileId,
        contact: ContactId,
        json: &str,
    ) -> Result<(), RecordError> {
        self.handle_timeout(now);
        let object = Object::parse(json).map_err(RecordError::Grammar)?;
        let preferences = normalise::text(object.as_value());
        if preferences.len() > MAX_RECORD_LEN {
            let len = preferences.len();
            return Err(RecordError::TooLarge { len, limit: MAX_RECORD_LEN });
        }
        let unknown = RecordError::UnknownProfile { profile };
        let known = self.profile_mut(profile).ok_or(unknown)?;
        let record = known.record.clone();
        let found = known.contacts.get_mut(&contact);
        let found = found.ok_or(RecordError::ContactNotFound { contact })?;
        let before = found.incognito.clone().unwrap_or(record);
        found.preferences = Some(preferences);
        let (peer, mirror) = (found.peer, found.mirror);
        self.tell(peer, Event::ContactUpdated { contact: mirror, before });
        self.pump();
        Ok(())
    }

    /// What `profile` is seen to prefer by its contact's core: its preferences for this chat in
    /// place of those in its record.
    pub(super) fn record_for(&self, profile: ProfileId, contact: ContactId) -> String {
        let Some(known) = self.profiles.get(profile.0) else { return String::new() };
        let contact = known.contacts.get(&contact);
        let shown = contact.and_then(|contact| contact.incognito.as_deref());
        let shown = shown.unwrap_or(&known.record);
        match contact.and_then(|contact| contact.preferences.as_deref()) {
            None => String::from(shown),
            Some(preferences) => with_preferences(shown, preferences),
        }
    }
}

/// A record with other preferences.
fn with_preferences(record: &str, preferences: &str) -> String {
    let Ok(object) = Object::parse(record) else { return String::from(record) };
    json::to_text(|out| {
        let mut before = "{";
        for (name, value) in object.members().filter(|(name, _)| *name != *"preferences") {
            out.raw(before).raw(name.get()).raw(":").value(value);
            before = ",";
        }
        out.raw(before).raw("\"preferences\":").raw(preferences).raw("}");
    })
}

/// The display name in a record.
pub(super) fn display_name(record: &str) -> String {
    let object = Object::parse(record).ok();
    let name = object.and_then(|object| object.str("displayName").ok().flatten());
    name.map(|name| name.chars().collect()).unwrap_or_default()
}
