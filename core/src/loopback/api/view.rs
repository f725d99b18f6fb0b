//! What the core shows of a profile: the user, contacts, and what they prefer.
//!
//! Members that say nothing in the stand-in have the values of a core that has just met the other
//! side. Source of the shapes: simplex-chat `bots/api/TYPES.md`, `Types.hs`,
//! `Types/Preferences.hs`.

use alloc::string::String;

use crate::chat::ContactId;
use crate::json::{Object, Value, Writer};
use crate::loopback::profile::{Contact, ContactStatus, Profile};
use crate::loopback::{Loopback, ProfileId, clock, record};
use crate::simplex::ContactRequestId;
use crate::time::Instant;

/// The number of a profile's only user in its core's database.
pub(super) const USER: i64 = 1;

/// The newest version of the chat protocol that the stand-in speaks.
const CHAT_VERSION: i64 = 21;

/// One profile of the network, to be shown.
#[derive(Clone, Copy)]
pub(super) struct View<'n> {
    pub(super) net: &'n Loopback,
    pub(super) profile: ProfileId,
}

/// The features of direct chats and what they are by default (`Types/Preferences.hs`,
/// `defaultChatPrefs`).
const FEATURES: [(&str, &str); 7] = [
    ("timedMessages", "no"),
    ("fullDelete", "no"),
    ("reactions", "yes"),
    ("voice", "yes"),
    ("files", "always"),
    ("calls", "yes"),
    ("sessions", "no"),
];

impl<'n> View<'n> {
    pub(super) fn known(&self) -> Option<&'n Profile> {
        self.net.profiles.get(self.profile.0)
    }

    /// When everything began.
    pub(super) fn beginning(&self) -> String {
        clock::received(self.net.config.wall_clock_start, Instant::ZERO)
    }

    /// The core's `User`.
    pub(super) fn user(&self, out: &mut Writer<'_>) {
        let Some(known) = self.known() else { return };
        out.raw("{\"userId\":").int(USER).raw(",\"agentUserId\":\"1\",\"userContactId\":1");
        out.raw(",\"localDisplayName\":").string(&known.display_name).raw(",\"profile\":");
        local_profile(USER, &known.record, out);
        out.raw(",\"fullPreferences\":");
        let preferences = preferences(&known.record);
        let mut before = "{";
        for (feature, default) in FEATURES {
            out.raw(before).string(feature).raw(":");
            preference(preferences, feature, default, out);
            before = ",";
        }
        out.raw(",\"commands\":");
        match preferences.and_then(|object| object.get("commands").ok().flatten()) {
            Some(commands) => out.value(commands),
            None => out.raw("[]"),
        };
        out.raw("},\"activeUser\":true,\"activeOrder\":1,\"showNtfs\":true");
        out.raw(",\"sendRcptsContacts\":true,\"sendRcptsSmallGroups\":true");
        out.raw(",\"autoAcceptMemberContacts\":false,\"userChatRelay\":false");
        out.raw(",\"clientService\":false}");
    }

    /// The core's `Contact`.
    pub(super) fn contact(&self, id: ContactId, out: &mut Writer<'_>) {
        let found = self.known().and_then(|known| known.contacts.get(&id));
        let Some(contact) = found else { return };
        let record = self.net.record_for(contact.peer, contact.mirror);
        self.contact_as(id, contact, &record, out);
    }

    /// A contact as it was when it had another record.
    pub(super) fn contact_before(&self, id: ContactId, before: &str, out: &mut Writer<'_>) {
        let found = self.known().and_then(|known| known.contacts.get(&id));
        if let Some(contact) = found {
            self.contact_as(id, contact, before, out);
        }
    }

    fn contact_as(
        &self,
        ContactId(id): ContactId,
        contact: &Contact,
        record: &str,
        out: &mut Writer<'_>,
    ) {
        let created = self.beginning();
        out.raw("{\"contactId\":").int(id);
        out.raw(",\"localDisplayName\":").string(&contact.local_name).raw(",\"profile\":");
        local_profile(id, record, out);
        if contact.status == ContactStatus::Active {
            out.raw(",\"activeConn\":");
            connection(id, "contact", &created, contact.incognito.is_some(), out);
        }
        out.raw(",\"contactUsed\":true,\"contactStatus\":").string(match contact.status {
            ContactStatus::Active => "active",
            ContactStatus::Deleted => "deleted",
            ContactStatus::DeletedByUser => "deletedByUser",
        });
        out.raw(",\"chatSettings\":{\"enableNtfs\":\"all\",\"favorite\":false}");
        out.raw(",\"userPreferences\":");
        out.raw(contact.preferences.as_deref().unwrap_or("{}"));
        out.raw(",\"mergedPreferences\":");
        self.merged(contact, record, out);
        out.raw(",\"createdAt\":").string(&created).raw(",\"updatedAt\":").string(&created);
        out.raw(",\"chatTs\":").string(&created);
        out.raw(",\"contactGrpInvSent\":false,\"chatTags\":[],\"chatDeleted\":false}");
    }

    /// What both sides together allow.
    fn merged(&self, contact: &Contact, record: &str, out: &mut Writer<'_>) {
        let own_record = self.known().map_or("{}", |known| known.record.as_str());
        let (in_record, theirs) = (preferences(own_record), preferences(record));
        let in_chat = contact.preferences.as_deref().and_then(|text| Object::parse(text).ok());
        let mut before = "{";
        for (feature, default) in FEATURES {
            let is_there = |object: &Object<'_>| object.get(feature).is_ok_and(|v| v.is_some());
            let (own, kind) = match in_chat.filter(is_there) {
                Some(chat) => (Some(chat), "contact"),
                None => (in_record, "user"),
            };
            let allows = |object| allow(object, feature).is_none_or(|allow| allow != *"no");
            let is_on = match allow(own, feature).or(allow(theirs, feature)) {
                Some(_) => allows(own) && allows(theirs),
                None => default != "no",
            };
            let is_on = if is_on { "true" } else { "false" };
            out.raw(before).string(feature).raw(":{\"enabled\":{\"forUser\":").raw(is_on);
            out.raw(",\"forContact\":").raw(is_on);
            out.raw("},\"userPreference\":{\"type\":").string(kind).raw(",\"preference\":");
            preference(own, feature, default, out);
            out.raw("},\"contactPreference\":");
            preference(theirs, feature, default, out);
            out.raw("}");
            before = ",";
        }
        out.raw("}");
    }

    /// The core's `UserContactRequest`.
    pub(super) fn request(&self, id: ContactRequestId, out: &mut Writer<'_>) {
        let Some(asking) = self.known().and_then(|known| known.requests.get(&id)) else { return };
        let shown = asking.incognito.as_deref().or_else(|| self.net.record(asking.from));
        let shown = shown.unwrap_or("{}");
        let created = self.beginning();
        out.raw("{\"contactRequestId\":").int(id.0);
        out.raw(",\"agentInvitationId\":\"").int(id.0).raw("\",\"userContactLinkId_\":1");
        out.raw(",\"cReqChatVRange\":");
        versions(out);
        out.raw(",\"localDisplayName\":").string(&record::display_name(shown));
        out.raw(",\"profileId\":").int(id.0).raw(",\"profile\":");
        local_profile(id.0, shown, out);
        out.raw(",\"createdAt\":").string(&created).raw(",\"updatedAt\":").string(&created);
        out.raw(",\"pqSupport\":true}");
    }
}

/// The core's `LocalProfile`: a record with the number that a database gives it.
pub(super) fn local_profile(id: i64, record: &str, out: &mut Writer<'_>) {
    out.raw("{\"profileId\":").int(id);
    for (name, value) in Object::parse(record).iter().flat_map(Object::members) {
        out.raw(",").raw(name.get()).raw(":").value(value);
    }
    out.raw(",\"localAlias\":\"\"}");
}

/// The core's `Connection`. One that is incognito has a profile of its own.
pub(super) fn connection(
    id: i64,
    kind: &str,
    created: &str,
    is_incognito: bool,
    out: &mut Writer<'_>,
) {
    out.raw("{\"connId\":").int(id).raw(",\"agentConnId\":\"").int(id);
    out.raw("\",\"connChatVersion\":").int(CHAT_VERSION).raw(",\"peerChatVRange\":");
    versions(out);
    out.raw(",\"connLevel\":0,\"viaGroupLink\":false");
    if is_incognito {
        out.raw(",\"customUserProfileId\":").int(id);
    }
    out.raw(",\"connType\":").string(kind);
    out.raw(",\"connStatus\":{\"type\":\"ready\"},\"contactConnInitiated\":false");
    out.raw(",\"localAlias\":\"\",\"pqSupport\":true,\"pqEncryption\":true");
    out.raw(",\"pqSndEnabled\":true,\"pqRcvEnabled\":true");
    out.raw(",\"authErrCounter\":0,\"quotaErrCounter\":0,\"createdAt\":").string(created).raw("}");
}

/// The core's `VersionRange`.
pub(super) fn versions(out: &mut Writer<'_>) {
    out.raw("{\"minVersion\":1,\"maxVersion\":").int(CHAT_VERSION).raw("}");
}

fn preferences(record: &str) -> Option<Object<'_>> {
    Object::parse(record).ok()?.object("preferences").ok().flatten()
}

fn allow<'a>(preferences: Option<Object<'a>>, feature: &str) -> Option<crate::json::Str<'a>> {
    preferences?.object(feature).ok()??.str("allow").ok()?
}

/// One preference as it is stated, or the default.
fn preference(preferences: Option<Object<'_>>, feature: &str, default: &str, out: &mut Writer<'_>) {
    let stated = preferences.and_then(|object| object.get(feature).ok().flatten());
    match stated.filter(|value: &Value<'_>| value.as_object().is_some()) {
        Some(value) => out.value(value),
        None => out.raw("{\"allow\":").string(default).raw("}"),
    };
}
