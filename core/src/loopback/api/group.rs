//! What the core shows of a group: the group itself and its members.

use crate::chat::{GroupId, MemberId};
use crate::json::{Object, Writer};
use crate::loopback::profile::{KnownMember, Membership};

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
        out.raw("{\"groupId\":").int(id.0).raw(",\"useRelays\":false");
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
        let contact = self.known().and_then(|profile| {
            let mut contacts = profile.contacts.iter();
            contacts.find(|(_, contact)| contact.peer == known.profile).map(|(id, _)| id.0)
        });
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
        out.raw(",\"memberRole\":").string(role(is_owner));
        out.raw(",\"memberCategory\":").string(category);
        out.raw(",\"memberStatus\":").string(status);
        out.raw(",\"memberSettings\":{\"showMessages\":true},\"blockedByAdmin\":false");
        out.raw(",\"invitedBy\":{\"type\":").string(if is_owner { "user" } else { "unknown" });
        out.raw("},\"localDisplayName\":").string(&known.local_name);
        out.raw(",\"memberProfile\":");
        local_profile(number, self.net.record(known.profile).unwrap_or("{}"), out);
        if let Some(contact) = contact.filter(|_| !is_self) {
            out.raw(",\"memberContactId\":").int(contact);
        }
        out.raw(",\"memberContactProfileId\":").int(number);
        if !is_self {
            out.raw(",\"activeConn\":");
            connection(number, "member", &created, out);
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

    /// Who has created the group.
    pub(super) fn owner(&self, id: GroupId) -> Option<MemberId> {
        self.net.groups.get(self.membership(id)?.group.0)?.owner()
    }
}

/// There are two roles here: who has created the group owns it.
pub(super) const fn role(is_owner: bool) -> &'static str {
    if is_owner { "owner" } else { "member" }
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
