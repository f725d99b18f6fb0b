//! Users, contacts, groups and members.

use core::fmt;

use super::pick::{ShapeError, pick, word};
use crate::chat::{ContactId, GroupId, GroupMemberId, MemberId};
use crate::json::{Object, Str, Value};
use crate::profile::PeerType;
use crate::simplex::UserId;

/// The peer type of a profile, with room for those that are not known: the core asks its clients
/// to tolerate unknown strings.
///
/// ```
/// use agentwire_core::profile::PeerType;
/// use agentwire_core::simplex::frame::{Body, Frame, Peer};
/// let text = r#"{"resp":{"type":"contactsList","contacts":[
///     {"contactId":1,"localDisplayName":"a","profile":{"displayName":"a","peerType":"agent"}},
///     {"contactId":2,"localDisplayName":"b","profile":{"displayName":"b","peerType":"oracle"}},
///     {"contactId":3,"localDisplayName":"c","profile":{"displayName":"c"}}]}}"#;
/// let Ok(Body::Contacts(contacts)) = Frame::parse(text).unwrap().body() else { panic!() };
/// let peers: Vec<Peer> = contacts.map(|contact| contact.unwrap().peer).collect();
/// assert!(matches!(peers[0], Peer::Known(PeerType::Agent)));
/// assert!(matches!(peers[1], Peer::Unknown(name) if name == *"oracle"));
/// assert!(matches!(peers[2], Peer::Known(PeerType::Human)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_enums)]
pub enum Peer<'f> {
    /// One that this crate knows. A profile that does not say is a person's.
    Known(PeerType),
    /// Another one, by its name.
    Unknown(Str<'f>),
}

impl<'f> Peer<'f> {
    fn of(profile: Option<Object<'f>>) -> Self {
        let name = profile.and_then(|profile| pick(profile, ["peerType"]).ok()?.str(0));
        let Some(name) = name else { return Self::Known(PeerType::Human) };
        let known = PeerType::named(&word(Some(name)));
        known.map_or(Self::Unknown(name), Self::Known)
    }
}

/// A user of the core.
///
/// ```
/// use agentwire_core::simplex::UserId;
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"corrId":"1","resp":{"type":"activeUser","user":{"userId":1,
///     "localDisplayName":"bot","profile":{"displayName":"bot"},"activeUser":true}}}"#;
/// let Ok(Body::ActiveUser(user)) = Frame::parse(text).unwrap().body() else { panic!() };
/// assert_eq!(user.id, UserId(1));
/// assert!(user.name == *"bot" && user.is_active);
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct User<'f> {
    /// Its number.
    pub id: UserId,
    /// Its name in this core.
    pub name: Str<'f>,
    /// Its profile: the core's `LocalProfile`.
    pub profile: Option<Object<'f>>,
    /// Whether it is the active one.
    pub is_active: bool,
}

impl<'f> User<'f> {
    pub(super) fn read(object: Object<'f>) -> Result<Self, ShapeError> {
        let found = pick(object, ["userId", "localDisplayName", "profile", "activeUser"])?;
        Ok(Self {
            id: UserId(found.need_int(0)?),
            name: found.need_str(1)?,
            profile: found.object(2),
            is_active: found.is(3),
        })
    }

    /// An element of `usersList`: a user with its unread messages.
    pub(super) fn element(value: Value<'f>) -> Result<Self, ShapeError> {
        let object = value.as_object().ok_or(ShapeError::new("users"))?;
        Self::read(pick(object, ["user"])?.object(0).unwrap_or(object))
    }
}

impl fmt::Debug for User<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("id", &self.id)
            .field("is_active", &self.is_active)
            .finish_non_exhaustive()
    }
}

/// A contact.
///
/// ```
/// use agentwire_core::chat::ContactId;
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"resp":{"type":"contactConnected","contact":{"contactId":3,
///     "localDisplayName":"ann_1","profile":{"displayName":"ann"}}}}"#;
/// let Ok(Body::ContactConnected(contact)) = Frame::parse(text).unwrap().body() else { panic!() };
/// assert_eq!(contact.id, ContactId(3));
/// assert!(contact.name == *"ann_1" && contact.display_name == *"ann");
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Contact<'f> {
    /// Its number.
    pub id: ContactId,
    /// Its name in this core: unique here.
    pub name: Str<'f>,
    /// The name that it gives itself.
    pub display_name: Str<'f>,
    /// Its profile: with `preferences`, where it declares protocols.
    pub profile: Option<Object<'f>>,
    /// What kind of peer it says it is.
    pub peer: Peer<'f>,
}

impl<'f> Contact<'f> {
    pub(super) fn read(object: Object<'f>) -> Result<Self, ShapeError> {
        let found = pick(object, ["contactId", "localDisplayName", "profile"])?;
        let (name, profile) = (found.need_str(1)?, found.object(2));
        Ok(Self {
            id: ContactId(found.need_int(0)?),
            name,
            display_name: display_name(profile).unwrap_or(name),
            profile,
            peer: Peer::of(profile),
        })
    }

    pub(super) fn element(value: Value<'f>) -> Result<Self, ShapeError> {
        Self::read(value.as_object().ok_or(ShapeError::new("contacts"))?)
    }
}

impl fmt::Debug for Contact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contact").field("id", &self.id).finish_non_exhaustive()
    }
}

fn display_name(profile: Option<Object<'_>>) -> Option<Str<'_>> {
    pick(profile?, ["displayName"]).ok()?.str(0)
}

/// A group or a channel.
///
/// ```
/// use agentwire_core::chat::GroupId;
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"resp":{"type":"groupsList","groups":[{"groupId":1,"localDisplayName":"team",
///     "groupProfile":{"displayName":"team"},
///     "membership":{"groupMemberId":2,"memberId":"bVJp","localDisplayName":"bot"}}]}}"#;
/// let Ok(Body::Groups(mut groups)) = Frame::parse(text).unwrap().body() else { panic!() };
/// let group = groups.next().unwrap().unwrap();
/// assert_eq!(group.id, GroupId(1));
/// assert!(group.membership.unwrap().member_id == *"bVJp");
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Group<'f> {
    /// Its number.
    pub id: GroupId,
    /// Its name in this core.
    pub name: Str<'f>,
    /// Its profile: with `groupPreferences`, where its owners declare protocols.
    pub profile: Option<Object<'f>>,
    /// Who the profile is in it.
    pub membership: Option<Member<'f>>,
}

impl<'f> Group<'f> {
    pub(super) fn read(object: Object<'f>) -> Result<Self, ShapeError> {
        let found = pick(object, ["groupId", "localDisplayName", "groupProfile", "membership"])?;
        let profile = found.object(2);
        // A group that an item stands in may be told by its profile's name alone.
        let name = found.str(1).or_else(|| display_name(profile));
        Ok(Self {
            id: GroupId(found.need_int(0)?),
            name: name.ok_or(ShapeError::new("localDisplayName"))?,
            profile,
            membership: found.object(3).map(Member::read).transpose()?,
        })
    }

    /// An element of `groupsList`: a group, or a group with a summary beside it.
    pub(super) fn element(value: Value<'f>) -> Result<Self, ShapeError> {
        let wrong = ShapeError::new("groups");
        let value = match value.elements() {
            Some(mut pair) => pair.next().ok_or(wrong)?,
            None => value,
        };
        let object = value.as_object().ok_or(wrong)?;
        Self::read(pick(object, ["groupInfo"])?.object(0).unwrap_or(object))
    }
}

impl fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("id", &self.id)
            .field("membership", &self.membership)
            .finish_non_exhaustive()
    }
}

/// A member of a group.
///
/// ```
/// use agentwire_core::chat::GroupMemberId;
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"resp":{"type":"groupMembers","group":{
///     "groupInfo":{"groupId":1,"localDisplayName":"team"},
///     "members":[{"groupMemberId":7,"memberId":"WkdP","localDisplayName":"acme",
///         "memberRole":"owner","memberStatus":"connected"}]}}}"#;
/// let Ok(Body::GroupMembers(group, mut members)) = Frame::parse(text).unwrap().body() else {
///     panic!()
/// };
/// let member = members.next().unwrap().unwrap();
/// assert_eq!(member.id, GroupMemberId(7));
/// assert!(member.role.unwrap() == *"owner" && member.is_present());
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Member<'f> {
    /// Its number in this core: what a mention is sent with.
    pub id: GroupMemberId,
    /// Its id on every side: what tells members apart.
    pub member_id: Str<'f>,
    /// Its name in this core: unique in it, so what to write after an `@`.
    pub name: Str<'f>,
    /// The name that it gives itself.
    pub display_name: Str<'f>,
    /// Its role: `owner`, `admin`, `moderator`, `member`, `observer`, ….
    pub role: Option<Str<'f>>,
    /// How it stands to the group: `connected`, `left`, `removed`, ….
    pub status: Option<Str<'f>>,
    /// The contact that it is too.
    pub contact: Option<ContactId>,
    /// What kind of peer it says it is.
    pub peer: Peer<'f>,
}

impl<'f> Member<'f> {
    pub(super) fn read(object: Object<'f>) -> Result<Self, ShapeError> {
        let found = pick(
            object,
            [
                "groupMemberId",
                "memberId",
                "localDisplayName",
                "memberProfile",
                "memberRole",
                "memberStatus",
                "memberContactId",
            ],
        )?;
        let profile = found.object(3);
        let display_name = display_name(profile);
        let name = found.str(2).or(display_name);
        let name = name.ok_or(ShapeError::new("localDisplayName"))?;
        Ok(Self {
            id: GroupMemberId(found.need_int(0)?),
            member_id: found.need_str(1)?,
            name,
            display_name: display_name.unwrap_or(name),
            role: found.str(4),
            status: found.str(5),
            contact: found.int(6).map(ContactId),
            peer: Peer::of(profile),
        })
    }

    pub(super) fn element(value: Value<'f>) -> Result<Self, ShapeError> {
        Self::read(value.as_object().ok_or(ShapeError::new("members"))?)
    }

    /// Its id, if no character of it is escaped and it is as short as the core makes them.
    #[must_use]
    pub fn key(&self) -> Option<MemberId> {
        MemberId::new(self.member_id.as_plain()?).ok()
    }

    /// Whether it is in the group, as far as its status says.
    #[must_use]
    pub fn is_present(&self) -> bool {
        let gone = ["left", "removed", "deleted", "rejected", "unknown"];
        self.status.is_none_or(|status| !gone.iter().any(|gone| status == **gone))
    }
}

impl fmt::Debug for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("id", &self.id)
            .field("member_id", &self.key())
            .field("contact", &self.contact)
            .finish_non_exhaustive()
    }
}
