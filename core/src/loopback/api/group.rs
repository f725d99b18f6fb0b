//! What the core shows of a group: the group itself and its members.

use crate::chat::{Chat, GroupId, MemberId};
use crate::json::{Object, Writer};
use crate::loopback::profile::{KnownMember, Membership};
use crate::loopback::{SendError, SupportChat};
use crate::simplex::command::{ChatRef, Scope};

use super::item::truth;
use super::view::{View, connection, local_profile, versions};

/// The features of groups and what they are by default (simplex-chat `Types/Preferences.hs`,
/// `defaultGroupPrefs`).
const FEATURES: [(&str, &str); 13] = [
    ("timedMessages", "off"),
    ("directMessages", "off"),
    ("fullDelete", "off"),
    ("reactions", "on"),
    ("voice", "on"),
    ("files", "on"),
    ("simplexLinks", "on"),
    ("reports", "on"),
    ("history", "off"),
    ("support", "on"),
    ("sessions", "off"),
    ("comments", "off"),
    ("signMessages", "off"),
];

impl View<'_> {
    fn membership(&self, id: GroupId) -> Option<&Membership> {
        self.known()?.groups.get(&id)
    }

    /// The core's `GroupInfo`.
    pub(super) fn group(&self, id: GroupId, out: &mut Writer<'_>) {
        let record = self.membership(id).and_then(|known| self.net.group_record(known.group));
        self.group_before(id, record.unwrap_or("{}"), out);
    }

    /// A group as it was when it had another record.
    pub(super) fn group_before(&self, id: GroupId, record: &str, out: &mut Writer<'_>) {
        let Some(membership) = self.membership(id) else { return };
        let created = self.beginning();
        let current = membership.members.values().filter(|member| member.active).count();
        out.raw("{\"groupId\":").int(id.0);
        out.raw(",\"useRelays\":").raw(truth(self.is_channel(id)));
        out.raw(",\"localDisplayName\":").string(&membership.local_name);
        out.raw(",\"groupProfile\":").raw(record).raw(",\"localAlias\":\"\"");
        out.raw(",\"fullGroupPreferences\":");
        full_preferences(record, out);
        out.raw(",\"membership\":");
        self.member(id, membership.own, out);
        out.raw(",\"chatSettings\":{\"enableNtfs\":\"all\",\"favorite\":false}");
        out.raw(",\"createdAt\":").string(&created).raw(",\"updatedAt\":").string(&created);
        out.raw(",\"chatTs\":").string(&created);
        out.raw(",\"chatTags\":[],\"groupSummary\":{\"currentMembers\":");
        out.int(i64::try_from(current).unwrap_or(i64::MAX));
        out.raw("},\"membersRequireAttention\":0}");
    }

    /// The core's `Group`: the other members in the order of their numbers, without the profile
    /// itself.
    pub(super) fn group_with_members(&self, id: GroupId, out: &mut Writer<'_>) {
        out.raw("{\"groupInfo\":");
        self.group(id, out);
        out.raw(",\"members\":[");
        if let Some(membership) = self.membership(id) {
            let mut others: alloc::vec::Vec<_> = membership
                .members
                .iter()
                .filter(|(member, _)| **member != membership.own)
                .collect();
            others.sort_by_key(|(_, known)| known.group_member_id);
            let mut before = "";
            for (member, known) in others {
                out.raw(before);
                self.known_member(id, *member, known, out);
                before = ",";
            }
        }
        out.raw("]}");
    }

    /// The core's `GroupMember`.
    pub(super) fn member(&self, id: GroupId, member: MemberId, out: &mut Writer<'_>) {
        let known = self.membership(id).and_then(|membership| membership.members.get(&member));
        if let Some(known) = known {
            self.known_member(id, member, known, out);
        }
    }

    fn known_member(
        &self,
        id: GroupId,
        member: MemberId,
        known: &KnownMember,
        out: &mut Writer<'_>,
    ) {
        let created = self.beginning();
        let number = known.group_member_id.0;
        let is_self = self.membership(id).is_some_and(|membership| membership.own == member);
        let is_owner = self.is_owner(id, member);
        let contact = self.known().and_then(|profile| profile.known_by_name(known.profile));
        let category = match (is_self, is_owner) {
            (true, _) => "user",
            (false, true) => "host",
            (false, false) => "pre",
        };
        let status = match (known.active, is_owner) {
            (false, _) => "left",
            (true, true) => "creator",
            (true, false) => "connected",
        };
        out.raw("{\"groupMemberId\":").int(number).raw(",\"groupId\":").int(id.0);
        out.raw(",\"indexInGroup\":").int(number).raw(",\"memberId\":").string(member.get());
        out.raw(",\"memberRole\":").string(self.role(id, member));
        out.raw(",\"memberCategory\":").string(category);
        out.raw(",\"memberStatus\":").string(status);
        out.raw(",\"memberSettings\":{\"showMessages\":true},\"blockedByAdmin\":false");
        out.raw(",\"invitedBy\":{\"type\":").string(if is_owner { "user" } else { "unknown" });
        out.raw("},\"localDisplayName\":").string(&known.local_name);
        out.raw(",\"memberProfile\":");
        local_profile(number, self.net.record(known.profile).unwrap_or("{}"), out);
        if let Some((contact, _)) = contact.filter(|_| !is_self) {
            out.raw(",\"memberContactId\":").int(contact.0);
        }
        out.raw(",\"memberContactProfileId\":").int(number);
        if !is_self {
            out.raw(",\"activeConn\":");
            connection(number, "member", &created, false, out);
        }
        out.raw(",\"memberChatVRange\":");
        versions(out);
        out.raw(",\"createdAt\":").string(&created);
        out.raw(",\"updatedAt\":").string(&created).raw("}");
    }

    /// Whether a member has created the group.
    pub(super) fn is_owner(&self, id: GroupId, member: MemberId) -> bool {
        self.owner(id) == Some(member)
    }

    /// Who has created the group owns it. Others are members, or read a channel.
    pub(super) fn role(&self, id: GroupId, member: MemberId) -> &'static str {
        match (self.is_owner(id, member), self.is_channel(id)) {
            (true, _) => "owner",
            (false, true) => "observer",
            (false, false) => "member",
        }
    }

    fn is_channel(&self, id: GroupId) -> bool {
        let group = self.membership(id).and_then(|known| self.net.groups.get(known.group.0));
        group.is_some_and(|group| group.is_channel)
    }

    /// The support chat that a command means.
    pub(super) fn support_chat(&self, of: ChatRef) -> Result<Option<SupportChat>, SendError> {
        let (Chat::Group(id), Some(scope)) = (of.chat, of.scope) else { return Ok(None) };
        let membership = self.membership(id).ok_or(SendError::GroupNotFound { group: id })?;
        let Scope::MemberSupport(group_member_id) = scope else {
            return Ok(Some(SupportChat::Own));
        };
        let known = membership.by_group_member_id(group_member_id);
        let (member, _) = known.ok_or(SendError::GroupMemberNotFound { group_member_id })?;
        Ok(Some(SupportChat::of(member, membership.own)))
    }

    /// Who has created the group.
    pub(super) fn owner(&self, id: GroupId) -> Option<MemberId> {
        self.net.groups.get(self.membership(id)?.group.0)?.owner()
    }
}

fn full_preferences(record: &str, out: &mut Writer<'_>) {
    let stated = Object::parse(record).ok().and_then(|r| r.object("groupPreferences").ok()?);
    let mut before = "{";
    for (feature, default) in FEATURES {
        out.raw(before).string(feature).raw(":");
        match stated.and_then(|object| object.object(feature).ok()?) {
            Some(value) => out.value(value.as_value()),
            None => out.raw("{\"enable\":").string(default).raw("}"),
        };
        before = ",";
    }
    out.raw(",\"commands\":[]}");
}
