//! Profiles, contacts and groups.

use alloc::{string::String, vec::Vec};

use super::error::SetupError;
use super::event::{Event, MemberChange};
use super::link::LinkKeys;
use super::profile::Profile;
use super::{GroupRef, Loopback, ProfileId, name, record};
use crate::chat::{Chat, ContactId, GroupId, GroupMemberId, Me, MemberId};

/// A group as the network knows it.
#[derive(Debug)]
pub(super) struct Group {
    /// The core's `GroupProfile`, as the core writes it.
    pub(super) record: String,
    pub(super) seats: Vec<Seat>,
    /// Whether it is a channel: its owner speaks as the channel, and subscribers read.
    pub(super) is_channel: bool,
    /// The link by which one joins.
    pub(super) link: Option<LinkKeys>,
}

impl Group {
    /// Who has created the group.
    pub(super) fn owner(&self) -> Option<MemberId> {
        self.seats.first().map(|seat| seat.member)
    }
}

/// A membership, past or present.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) profile: ProfileId,
    pub(super) member: MemberId,
    /// The group in the member's database.
    pub(super) group_id: GroupId,
    pub(super) active: bool,
}

/// A contact of a profile.
///
/// ```
/// # use agentwire_core::loopback::Loopback;
/// # let mut net = Loopback::new(1);
/// # let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// # let (to_bot, _) = net.connect(ann, bot).unwrap();
/// let contact = &net.contacts(ann)[0];
/// assert_eq!((contact.contact, contact.name.as_str()), (to_bot, "bot"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ContactInfo {
    /// The contact in the profile's database.
    pub contact: ContactId,
    /// Who it is.
    pub profile: ProfileId,
    /// The contact's name, as the profile's core tells equal names apart.
    pub name: String,
}

/// A member of a group, as another member's core lists it.
///
/// ```
/// # use agentwire_core::loopback::Loopback;
/// # let mut net = Loopback::new(1);
/// # let ann = net.add_profile("ann").unwrap();
/// # let bots = [net.add_profile("bot").unwrap(), net.add_profile("bot").unwrap()];
/// # let group = net.create_group(ann, "team").unwrap();
/// # net.join(group, bots[0]).unwrap();
/// # net.join(group, bots[1]).unwrap();
/// let second = net.member_of(group, ann, bots[1]).unwrap();
/// assert_eq!((second.display_name.as_str(), second.name.as_str()), ("bot", "bot_1"));
/// assert_eq!(Some(second.member), net.member_id(group, bots[1]));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MemberInfo {
    /// The member in the listing profile's database.
    pub group_member_id: GroupMemberId,
    /// The member, the same on every side.
    pub member: MemberId,
    /// Who it is.
    pub profile: ProfileId,
    /// The name in the member's profile.
    pub display_name: String,
    /// The name, as the listing profile's core tells equal names apart.
    pub name: String,
    /// Whether the member is still in the group.
    pub active: bool,
}

impl Loopback {
    /// Adds a profile with an empty database.
    ///
    /// # Errors
    /// [`SetupError::InvalidDisplayName`]
    pub fn add_profile(&mut self, display_name: &str) -> Result<ProfileId, SetupError> {
        check_name(display_name)?;
        // Databases number on their own; one that begins elsewhere shows who mixes them up.
        let first = 1_i64.saturating_add(self.rng.up_to(99) as i64);
        let id = ProfileId(self.profiles.len());
        self.profiles.push(Profile::new(display_name, first, self.config.max_items));
        Ok(id)
    }

    /// Makes two profiles contacts of each other and gives their ids: `b` as `a` knows it, and `a`
    /// as `b` knows it. A second connection of the same two is another contact with another name.
    ///
    /// # Errors
    /// [`SetupError::UnknownProfile`], [`SetupError::SameProfile`]
    pub fn connect(
        &mut self,
        a: ProfileId,
        b: ProfileId,
    ) -> Result<(ContactId, ContactId), SetupError> {
        self.connect_as([a, b], [None, None])
    }

    /// The same, each under its own record or under a made-up one.
    pub(super) fn connect_as(
        &mut self,
        [a, b]: [ProfileId; 2],
        [as_a, as_b]: [Option<String>; 2],
    ) -> Result<(ContactId, ContactId), SetupError> {
        let (known_a, known_b) = (self.set_up(a)?, self.set_up(b)?);
        if a == b {
            return Err(SetupError::SameProfile { profile: a });
        }
        let (b_of_a, a_of_b) = (known_a.next_contact_id(), known_b.next_contact_id());
        let name = |known: &Profile, shown: Option<&String>| match shown {
            Some(record) => record::display_name(record),
            None => known.display_name.clone(),
        };
        let (name_a, name_b) = (name(known_a, as_a.as_ref()), name(known_b, as_b.as_ref()));
        let (hides_a, hides_b) = (as_a.is_some(), as_b.is_some());
        if let Some(profile) = self.profile_mut(a) {
            profile.add_contact(b, &name_b, a_of_b, as_a, hides_b);
        }
        if let Some(profile) = self.profile_mut(b) {
            profile.add_contact(a, &name_a, b_of_a, as_b, hides_a);
        }
        Ok((b_of_a, a_of_b))
    }

    /// Makes a group with one member.
    ///
    /// # Errors
    /// [`SetupError::UnknownProfile`], [`SetupError::InvalidDisplayName`]
    pub fn create_group(&mut self, owner: ProfileId, name: &str) -> Result<GroupRef, SetupError> {
        self.create(owner, name, false)
    }

    /// Makes a channel: its owner's messages are the channel's own, and who joins reads.
    ///
    /// # Errors
    /// [`SetupError::UnknownProfile`], [`SetupError::InvalidDisplayName`]
    ///
    /// ```
    /// use agentwire_core::{chat::{Chat, Sender}, loopback::{Event, Loopback}, time::Instant};
    /// let mut net = Loopback::new(1);
    /// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
    /// let news = net.create_channel(ann, "news").unwrap();
    /// let of_bot = net.join(news, bot).unwrap();
    /// net.poll_event(ann);
    ///
    /// let of_ann = net.group_id(news, ann).unwrap();
    /// net.send(Instant::ZERO, ann, Chat::Group(of_ann), "hello").unwrap();
    /// let Some(Event::NewItem(item)) = net.poll_event(bot) else { panic!() };
    /// assert_eq!(item.sender, Sender::Channel);
    /// assert!(net.send(Instant::ZERO, bot, Chat::Group(of_bot), "me too").is_err());
    /// ```
    pub fn create_channel(&mut self, owner: ProfileId, name: &str) -> Result<GroupRef, SetupError> {
        self.create(owner, name, true)
    }

    fn create(
        &mut self,
        owner: ProfileId,
        name: &str,
        is_channel: bool,
    ) -> Result<GroupRef, SetupError> {
        self.set_up(owner)?;
        check_name(name)?;
        let group = GroupRef(self.groups.len());
        let record = record::named(name);
        self.groups.push(Group { record, seats: Vec::new(), is_channel, link: None });
        self.join(group, owner)?;
        Ok(group)
    }

    /// Adds a profile to a group and gives its id for the group. The new member knows those who
    /// are members now; they are told with [`MemberChange::Joined`]. Who comes back after leaving
    /// is a new member with a new chat.
    ///
    /// # Errors
    /// [`SetupError::UnknownGroup`], [`SetupError::UnknownProfile`], [`SetupError::AlreadyMember`]
    pub fn join(&mut self, group: GroupRef, profile: ProfileId) -> Result<GroupId, SetupError> {
        let display_name = self.set_up(profile)?.display_name.clone();
        let (name, others) = {
            let known = self.group(group)?;
            if known.seats.iter().any(|seat| seat.active && seat.profile == profile) {
                return Err(SetupError::AlreadyMember { profile, group });
            }
            let seats = known.seats.iter().filter(|seat| seat.active);
            let others: Vec<_> =
                seats.map(|seat| (seat.profile, seat.member, seat.group_id)).collect();
            (record::display_name(&known.record), others)
        };
        let member = self.new_member_id();
        let names: Vec<String> = others
            .iter()
            .map(|(other, ..)| self.profiles.get(other.0).map(|p| p.display_name.clone()))
            .map(Option::unwrap_or_default)
            .collect();
        let joining = self.profile_mut(profile).ok_or(SetupError::UnknownProfile { profile })?;
        let group_id = joining.add_group(group, &name, member);
        joining.add_member(group_id, member, profile, &display_name, true);
        for ((other, other_member, _), other_name) in others.iter().zip(&names) {
            joining.add_member(group_id, *other_member, *other, other_name, false);
        }
        if let Some(known) = self.groups.get_mut(group.0) {
            known.seats.push(Seat { profile, member, group_id, active: true });
        }
        for (other, _, their_id) in others {
            let known = self
                .profile_mut(other)
                .and_then(|p| p.add_member(their_id, member, profile, &display_name, false));
            if let Some(known) = known.cloned() {
                let event = Event::Member {
                    chat: Chat::Group(their_id),
                    member,
                    group_member_id: known.group_member_id,
                    name: known.local_name,
                    change: MemberChange::Joined,
                };
                self.tell(other, event);
            }
        }
        self.pump();
        Ok(group_id)
    }

    /// A member leaves; the others are told.
    ///
    /// # Errors
    /// [`SetupError::UnknownGroup`], [`SetupError::NotMember`]
    pub fn leave(&mut self, group: GroupRef, profile: ProfileId) -> Result<(), SetupError> {
        self.end_membership(group, profile, MemberChange::Left)
    }

    /// A member is removed; all are told, the member too.
    ///
    /// # Errors
    /// [`SetupError::UnknownGroup`], [`SetupError::NotMember`]
    pub fn remove_member(&mut self, group: GroupRef, profile: ProfileId) -> Result<(), SetupError> {
        self.end_membership(group, profile, MemberChange::Removed)
    }

    fn end_membership(
        &mut self,
        group: GroupRef,
        profile: ProfileId,
        change: MemberChange,
    ) -> Result<(), SetupError> {
        let known = self.groups.get_mut(group.0).ok_or(SetupError::UnknownGroup { group })?;
        let told: Vec<_> = known
            .seats
            .iter()
            .filter(|seat| seat.active)
            .map(|seat| (seat.profile, seat.group_id))
            .collect();
        let seat = known.seats.iter_mut().find(|seat| seat.active && seat.profile == profile);
        let seat = seat.ok_or(SetupError::NotMember { profile, group })?;
        seat.active = false;
        let member = seat.member;
        if known.owner() == Some(member) {
            // The link was the owner's.
            known.link = None;
        }
        for (other, group_id) in told {
            let membership = self.profile_mut(other).and_then(|p| p.groups.get_mut(&group_id));
            let Some(membership) = membership else { continue };
            let is_self = other == profile;
            membership.active &= !is_self;
            let Some(known) = membership.members.get_mut(&member) else { continue };
            known.active = false;
            let event = Event::Member {
                chat: Chat::Group(group_id),
                member,
                group_member_id: known.group_member_id,
                name: known.local_name.clone(),
                change,
            };
            if !(is_self && change == MemberChange::Left) {
                self.tell(other, event);
            }
        }
        self.pump();
        Ok(())
    }

    /// All profiles, in the order in which they were added.
    ///
    /// ```
    /// # use agentwire_core::loopback::Loopback;
    /// # let mut net = Loopback::new(1);
    /// # let ann = net.add_profile("ann").unwrap();
    /// assert_eq!(net.profiles(), [ann]);
    /// ```
    #[must_use]
    pub fn profiles(&self) -> Vec<ProfileId> {
        (0..self.profiles.len()).map(ProfileId).collect()
    }

    /// The name in a profile.
    #[must_use]
    pub fn display_name(&self, profile: ProfileId) -> Option<&str> {
        self.profiles.get(profile.0).map(|profile| profile.display_name.as_str())
    }

    /// The contacts of a profile, in the order of their ids; none when there is no such profile.
    #[must_use]
    pub fn contacts(&self, profile: ProfileId) -> Vec<ContactInfo> {
        let contacts = self.profiles.get(profile.0).map(|profile| &profile.contacts);
        let listed = contacts.into_iter().flatten().map(|(id, contact)| ContactInfo {
            contact: *id,
            profile: contact.peer,
            name: contact.local_name.clone(),
        });
        listed.collect()
    }

    /// The groups of a profile with the names that its core gives them, in the order of their ids;
    /// none when there is no such profile.
    ///
    /// ```
    /// # use agentwire_core::loopback::Loopback;
    /// # let mut net = Loopback::new(1);
    /// # let ann = net.add_profile("ann").unwrap();
    /// # net.create_group(ann, "team").unwrap();
    /// assert_eq!(net.groups(ann)[0].1, "team");
    /// ```
    #[must_use]
    pub fn groups(&self, profile: ProfileId) -> Vec<(GroupId, String)> {
        let groups = self.profiles.get(profile.0).map(|profile| &profile.groups);
        groups.into_iter().flatten().map(|(id, group)| (*id, group.local_name.clone())).collect()
    }

    /// The group in the database of one of its members.
    #[must_use]
    pub fn group_id(&self, group: GroupRef, profile: ProfileId) -> Option<GroupId> {
        self.seat(group, profile).map(|seat| seat.group_id)
    }

    /// The member that a profile is in a group, the same on every side.
    #[must_use]
    pub fn member_id(&self, group: GroupRef, profile: ProfileId) -> Option<MemberId> {
        self.seat(group, profile).map(|seat| seat.member)
    }

    /// The members of a group as `profile` knows them, itself included, in the order of their ids
    /// in its database: the core's `/_members`.
    ///
    /// # Errors
    /// [`SetupError::UnknownGroup`], [`SetupError::NotMember`]
    pub fn members(
        &self,
        group: GroupRef,
        profile: ProfileId,
    ) -> Result<Vec<MemberInfo>, SetupError> {
        self.group(group)?;
        let not_member = SetupError::NotMember { profile, group };
        let group_id = self.group_id(group, profile).ok_or(not_member)?;
        let membership = self.profiles.get(profile.0).and_then(|p| p.groups.get(&group_id));
        let mut members: Vec<MemberInfo> = membership
            .ok_or(not_member)?
            .members
            .iter()
            .map(|(member, known)| MemberInfo {
                group_member_id: known.group_member_id,
                member: *member,
                profile: known.profile,
                display_name: known.display_name.clone(),
                name: known.local_name.clone(),
                active: known.active,
            })
            .collect();
        members.sort_by_key(|member| member.group_member_id);
        Ok(members)
    }

    /// Who a profile is in a group, by the group's id in its database, and whether another member
    /// bears its name. `None` when it is not in that group.
    #[must_use]
    pub fn me(&self, profile: ProfileId, group: GroupId) -> Option<Me<'_>> {
        let membership = self.profiles.get(profile.0)?.groups.get(&group)?;
        let name = membership.members.get(&membership.own)?.display_name.as_str();
        let is_shared = membership.members.iter().any(|(member, known)| {
            *member != membership.own && known.active && known.display_name == name
        });
        Some(Me::new(membership.own, name).name_is_shared(is_shared))
    }

    /// The member `of` as `profile` knows it; the latest membership of one who came back.
    #[must_use]
    pub fn member_of(
        &self,
        group: GroupRef,
        profile: ProfileId,
        of: ProfileId,
    ) -> Option<MemberInfo> {
        self.members(group, profile).ok()?.into_iter().rev().find(|member| member.profile == of)
    }

    /// The latest seat of a profile.
    fn seat(&self, group: GroupRef, profile: ProfileId) -> Option<&Seat> {
        let seats = &self.groups.get(group.0)?.seats;
        seats.iter().rev().find(|seat| seat.profile == profile)
    }

    fn group(&self, group: GroupRef) -> Result<&Group, SetupError> {
        self.groups.get(group.0).ok_or(SetupError::UnknownGroup { group })
    }

    fn set_up(&self, profile: ProfileId) -> Result<&Profile, SetupError> {
        self.profiles.get(profile.0).ok_or(SetupError::UnknownProfile { profile })
    }

    fn new_member_id(&mut self) -> MemberId {
        loop {
            // Always 24 characters, so it always fits.
            if let Ok(id) = MemberId::new(&self.rng.text_id()) {
                return id;
            }
        }
    }
}

fn check_name(name: &str) -> Result<(), SetupError> {
    if name::is_valid(name) {
        return Ok(());
    }
    Err(SetupError::InvalidDisplayName { chars: name.chars().count() })
}
