//! The profile as `/_profile` and `/_group_profile` take it: publishing declarations.
//!
//! The core gives a user's profile as a `LocalProfile` and takes a `Profile`: the same without
//! `profileId` and `localAlias`. Both write every other member back as it stands, whether it is
//! known here or not. What changes is the preferences (`preferences` of a profile,
//! `groupPreferences` of a group's), where [`rewrite_preferences`] puts the declarations, and the
//! profile's `peerType`.
//!
//! `commands`, the menu for people, is left as it is: `/_call` is never added to it
//! ("protocols").

use core::fmt;

use crate::json::{BufferTooSmall, Object, Str, Writer};
use crate::profile::{Edit, PeerType, Source, WriteError, rewrite_preferences};

/// What a profile is to say of its peer type.
///
/// ```
/// use agentwire_core::profile::PeerType;
/// use agentwire_core::simplex::profile::SetPeerType;
/// assert_ne!(SetPeerType::Keep, SetPeerType::To(PeerType::Agent));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum SetPeerType {
    /// What it says now, known or not.
    #[default]
    Keep,
    /// This.
    To(PeerType),
}

/// Why a profile was not written.
///
/// ```
/// use agentwire_core::json::BufferTooSmall;
/// use agentwire_core::simplex::profile::ProfileError;
/// fn needed(error: &ProfileError) -> Option<usize> {
///     match error {
///         ProfileError::Buffer(BufferTooSmall { needed, .. }) => Some(*needed),
///         _ => None,
///     }
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProfileError {
    /// The preferences cannot be rewritten.
    Preferences(WriteError),
    /// The buffer is too short. `needed` is enough, and may be more than that.
    Buffer(BufferTooSmall),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preferences(error) => write!(f, "the preferences: {error}"),
            Self::Buffer(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ProfileError {}

/// Writes a user's profile anew: a `LocalProfile` or a `Profile` becomes a `Profile` with these
/// declarations and this peer type.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::json::Object;
/// use agentwire_core::profile::{Declaration, Edit, PeerType, Transports};
/// use agentwire_core::simplex::profile::{SetPeerType, write_profile};
///
/// let now = r#"{"profileId":1,"displayName":"bot","fullName":"","localAlias":"","preferences":{"files":{"allow":"no"}}}"#;
/// let mcp = ProtocolName::new("mcp").unwrap();
/// let edits = [Edit::Declare(Declaration::new(mcp, &["2026-07-28"], Transports::new(true, false)))];
/// let mut buffer = [0; 512];
/// let peer = SetPeerType::To(PeerType::Agent);
/// let profile = write_profile(Object::parse(now).unwrap(), &edits, peer, &mut buffer).unwrap();
/// assert_eq!(
///     profile,
///     r#"{"displayName":"bot","fullName":"","preferences":{"files":{"allow":"no"},"protocols":{"mcp":{"versions":["2026-07-28"],"transports":{"chat":true}}}},"peerType":"agent"}"#
/// );
/// ```
///
/// # Errors
/// [`ProfileError`]
pub fn write_profile<'o>(
    profile: Object<'_>,
    edits: &[Edit<'_>],
    peer: SetPeerType,
    out: &'o mut [u8],
) -> Result<&'o str, ProfileError> {
    write(profile, Source::Profile, edits, peer, out)
}

/// Writes a group's profile anew, with these declarations: what its owner can do.
///
/// ```
/// use agentwire_core::json::Object;
/// use agentwire_core::simplex::profile::write_group_profile;
/// let now = r#"{"displayName":"team","fullName":"","groupPreferences":{"reactions":{"enable":"on"}}}"#;
/// let mut buffer = [0; 256];
/// let profile = write_group_profile(Object::parse(now).unwrap(), &[], &mut buffer).unwrap();
/// assert_eq!(profile, now);
/// ```
///
/// # Errors
/// [`ProfileError`]
pub fn write_group_profile<'o>(
    profile: Object<'_>,
    edits: &[Edit<'_>],
    out: &'o mut [u8],
) -> Result<&'o str, ProfileError> {
    write(profile, Source::Group, edits, SetPeerType::Keep, out)
}

/// Whether a profile, or a group's profile, declares what these edits declare: what
/// `userProfileUpdated` and `groupUpdated` give back tells whether the core has kept it. Today's
/// cores may drop the member `protocols` ("Implementations").
///
/// ```
/// use agentwire_core::json::Object;
/// use agentwire_core::profile::Source;
/// use agentwire_core::simplex::profile::keeps;
/// let kept = Object::parse(r#"{"preferences":{"protocols":{}}}"#).unwrap();
/// let dropped = Object::parse(r#"{"preferences":{}}"#).unwrap();
/// assert!(keeps(Source::Profile, kept) && !keeps(Source::Profile, dropped));
/// ```
#[must_use]
pub fn keeps(source: Source, profile: Object<'_>) -> bool {
    let preferences = profile.object(preferences_name(source)).ok().flatten();
    preferences.is_some_and(|preferences| matches!(preferences.object("protocols"), Ok(Some(_))))
}

const fn preferences_name(source: Source) -> &'static str {
    match source {
        Source::Profile => "preferences",
        _ => "groupPreferences",
    }
}

fn write<'o>(
    profile: Object<'_>,
    source: Source,
    edits: &[Edit<'_>],
    peer: SetPeerType,
    out: &'o mut [u8],
) -> Result<&'o str, ProfileError> {
    let name = preferences_name(source);
    let is_local = |member: Str<'_>| {
        source == Source::Profile && (member == *"profileId" || member == *"localAlias")
    };
    let sets_peer = |member: Str<'_>| {
        source == Source::Profile && member == *"peerType" && matches!(peer, SetPeerType::To(_))
    };
    let preferences = profile.members().find(|(member, _)| *member == *name);
    let preferences = preferences.map(|(_, value)| value).filter(|value| !value.is_null());
    let before = preferences.map_or("{}", |value| value.get());

    // The preferences are rewritten into the end of the buffer, then put between the members.
    let changed = Some(edits).filter(|edits| !edits.is_empty());
    let capacity = out.len();
    let room = match changed {
        None => 0,
        Some(edits) => match rewrite_preferences(source, before, edits, &mut []) {
            Ok(_) => 0,
            Err(WriteError::Buffer(BufferTooSmall { needed, .. })) => needed,
            Err(error) => return Err(ProfileError::Preferences(error)),
        },
    };
    let needed = profile.get_text().len().saturating_add(room.saturating_mul(2)).saturating_add(64);
    let short = ProfileError::Buffer(BufferTooSmall { needed, capacity });
    let front = capacity.checked_sub(room).ok_or(short)?;
    let (front, back) = out.split_at_mut_checked(front).ok_or(short)?;
    let after = match changed {
        None => before,
        Some(edits) => {
            rewrite_preferences(source, before, edits, back).map_err(ProfileError::Preferences)?
        }
    };

    let mut writer = Writer::new(front);
    let mut is_first = true;
    // A member's name, as it is quoted; its value follows.
    let mut member = |writer: &mut Writer<'_>, name: &str| {
        writer.raw(if is_first { "{" } else { "," }).raw(name).raw(":");
        is_first = false;
    };
    let mut has_preferences = false;
    for (key, value) in profile.members() {
        if key == *name {
            has_preferences = true;
            member(&mut writer, key.get());
            writer.raw(after);
        } else if !is_local(key) && !sets_peer(key) {
            member(&mut writer, key.get());
            writer.value(value);
        }
    }
    if !has_preferences && changed.is_some() {
        let quoted = match source {
            Source::Profile => "\"preferences\"",
            _ => "\"groupPreferences\"",
        };
        member(&mut writer, quoted);
        writer.raw(after);
    }
    if let SetPeerType::To(peer) = peer {
        member(&mut writer, "\"peerType\"");
        writer.string(peer.name());
    }
    writer.raw(if is_first { "{}" } else { "}" });
    writer.finish().map_err(|_| short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::ProtocolName;
    use crate::profile::{Declaration, Transports};
    use std::string::String;

    fn profile(text: &str, edits: &[Edit<'_>], peer: SetPeerType) -> Result<String, ProfileError> {
        let object = Object::parse(text).unwrap();
        write_profile(object, edits, peer, &mut [0; 1_024]).map(Into::into)
    }

    fn declare() -> Edit<'static> {
        let name = ProtocolName::new("a2a").unwrap();
        Edit::Declare(Declaration::new(name, &["1.0"], Transports::new(true, true)))
    }

    const DECLARED: &str =
        r#"{"protocols":{"a2a":{"versions":["1.0"],"transports":{"chat":true,"rpc":true}}}}"#;

    #[test]
    fn what_is_not_known_is_written_back() {
        let now = r#"{"displayName":"bot","new":{"a":[1e2]},"image":"data:x","peerType":"oracle"}"#;
        assert_eq!(profile(now, &[], SetPeerType::Keep).unwrap(), now);
    }

    #[test]
    fn preferences_are_added_where_there_are_none() {
        for now in [r#"{"displayName":"bot"}"#, r#"{"displayName":"bot","preferences":null}"#] {
            let expected = std::format!(r#"{{"displayName":"bot","preferences":{DECLARED}}}"#);
            assert_eq!(profile(now, &[declare()], SetPeerType::Keep).unwrap(), expected);
        }
    }

    #[test]
    fn the_menu_of_commands_is_left_as_it_is() {
        let commands = r#"[{"type":"command","keyword":"help","label":"Help"}]"#;
        let now =
            std::format!(r#"{{"displayName":"bot","preferences":{{"commands":{commands}}}}}"#);
        let after = profile(&now, &[declare()], SetPeerType::Keep).unwrap();
        assert!(after.contains(commands), "{after}");
        assert!(!after.contains("_call"), "{after}");
    }

    #[test]
    fn every_peer_type_is_written() {
        for peer in PeerType::ALL {
            let now = r#"{"peerType":"bot","displayName":"x"}"#;
            let expected = std::format!(r#"{{"displayName":"x","peerType":"{peer}"}}"#);
            assert_eq!(profile(now, &[], SetPeerType::To(peer)).unwrap(), expected);
        }
    }

    #[test]
    fn a_group_declares_in_its_own_preferences() {
        let now = r#"{"profileId":1,"displayName":"team"}"#;
        let name = ProtocolName::new("a2a").unwrap();
        let edits = [Edit::Declare(Declaration::new(name, &["1.0"], Transports::new(true, false)))];
        let mut buffer = [0; 512];
        let after = write_group_profile(Object::parse(now).unwrap(), &edits, &mut buffer).unwrap();
        assert!(
            after.starts_with(
                r#"{"profileId":1,"displayName":"team","groupPreferences":{"protocols""#
            )
        );
        assert!(keeps(Source::Group, Object::parse(after).unwrap()));
        // Service RPC is nothing that a group can serve.
        let object = Object::parse(now).unwrap();
        let mut buffer = [0; 512];
        let refused = write_group_profile(object, &[declare()], &mut buffer);
        assert!(matches!(refused, Err(ProfileError::Preferences(_))));
    }

    #[test]
    fn a_short_buffer_says_what_is_enough() {
        let now = r#"{"displayName":"bot","preferences":{"files":{"allow":"no"}}}"#;
        let object = Object::parse(now).unwrap();
        let whole = profile(now, &[declare()], SetPeerType::To(PeerType::Agent)).unwrap();
        let mut worked = 0;
        for size in 0..512 {
            let mut buffer = [0; 512];
            let peer = SetPeerType::To(PeerType::Agent);
            match write_profile(object, &[declare()], peer, &mut buffer[..size]) {
                Ok(text) => {
                    assert_eq!(text, whole);
                    worked += 1;
                }
                Err(ProfileError::Buffer(error)) => {
                    assert!(error.needed > size && error.needed <= 512, "{error:?}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(worked > 0);
    }
}
