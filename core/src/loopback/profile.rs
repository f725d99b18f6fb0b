//! One profile: its contacts, its view of its groups, and its items.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::String,
    vec::Vec,
};

use super::delivery::Parcel;
use super::event::{Event, ReceivedItem};
use super::service::Service;
use super::{GroupRef, ProfileId, name, record};
use crate::chat::{Chat, ContactId, GroupId, GroupMemberId, ItemId, MemberId, Sender, SharedMsgId};
use crate::simplex::ContactRequestId;
use crate::time::Instant;

/// A profile's database and its queues.
#[derive(Debug)]
pub(super) struct Profile {
    pub(super) display_name: String,
    /// The core's `Profile`, as the core writes it.
    pub(super) record: String,
    /// Every local name: of the profile itself, of contacts, groups and members.
    pub(super) names: BTreeSet<String>,
    pub(super) contacts: BTreeMap<ContactId, Contact>,
    /// Who has asked to be a contact and has no answer yet; at most one request of each.
    pub(super) requests: BTreeMap<ContactRequestId, Asking>,
    pub(super) groups: BTreeMap<GroupId, Membership>,
    pub(super) items: Items,
    /// What is on its way to this profile, by the time when it is due and in the order of sending.
    pub(super) inbox: BTreeMap<(Instant, u64), Parcel>,
    /// What has arrived and was not polled yet.
    pub(super) events: VecDeque<Event>,
    pub(super) service: Service,
    next_contact: i64,
    next_request: i64,
    next_group: i64,
    next_member: i64,
}

#[derive(Debug)]
pub(super) struct Contact {
    pub(super) peer: ProfileId,
    /// This profile in the peer's database.
    pub(super) mirror: ContactId,
    pub(super) local_name: String,
    pub(super) status: ContactStatus,
    /// The made-up record that the peer is shown, if it does not know the profile's own.
    pub(super) incognito: Option<String>,
    /// Whether the peer shows a made-up record.
    pub(super) is_hidden: bool,
    /// What this profile prefers in this chat, if that differs from its record.
    pub(super) preferences: Option<String>,
}

/// The core's `ContactStatus`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ContactStatus {
    Active,
    /// The other side has deleted this one.
    Deleted,
    /// This profile has deleted the contact, and keeps the conversation.
    DeletedByUser,
}

/// Who asks to be a contact.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pub(super) from: ProfileId,
    /// The made-up record under which it asks.
    pub(super) incognito: Option<String>,
}

/// A group as one of its members knows it.
#[derive(Debug)]
pub(super) struct Membership {
    pub(super) group: GroupRef,
    pub(super) own: MemberId,
    /// The group's name, as this core tells equal names apart.
    pub(super) local_name: String,
    pub(super) active: bool,
    /// All members that there ever were, the profile itself included.
    pub(super) members: BTreeMap<MemberId, KnownMember>,
}

#[derive(Clone, Debug)]
pub(super) struct KnownMember {
    pub(super) group_member_id: GroupMemberId,
    pub(super) profile: ProfileId,
    pub(super) display_name: String,
    pub(super) local_name: String,
    pub(super) active: bool,
}

impl Membership {
    pub(super) fn by_group_member_id(&self, id: GroupMemberId) -> Option<(MemberId, &KnownMember)> {
        let found = self.members.iter().find(|(_, member)| member.group_member_id == id);
        found.map(|(member, known)| (*member, known))
    }
}

impl Profile {
    /// `first` is the first number of each kind of id: two databases seldom number alike.
    pub(super) fn new(display_name: &str, first: i64, item_limit: usize) -> Self {
        let mut names = BTreeSet::new();
        names.insert(String::from(display_name));
        Self {
            display_name: String::from(display_name),
            record: record::named(display_name),
            names,
            contacts: BTreeMap::new(),
            requests: BTreeMap::new(),
            groups: BTreeMap::new(),
            items: Items::new(first, item_limit),
            inbox: BTreeMap::new(),
            events: VecDeque::new(),
            service: Service::default(),
            next_contact: first,
            next_request: first,
            next_group: first,
            next_member: first,
        }
    }

    pub(super) const fn next_contact_id(&self) -> ContactId {
        ContactId(self.next_contact)
    }

    pub(super) const fn next_group_id(&self) -> GroupId {
        GroupId(self.next_group)
    }

    /// `is_hidden` says that the name is made up; `incognito` is what the peer is shown.
    pub(super) fn add_contact(
        &mut self,
        peer: ProfileId,
        name: &str,
        mirror: ContactId,
        incognito: Option<String>,
        is_hidden: bool,
    ) {
        let local_name = name::take(&mut self.names, name);
        let status = ContactStatus::Active;
        let contact =
            Contact { peer, mirror, local_name, status, incognito, is_hidden, preferences: None };
        self.contacts.insert(self.next_contact_id(), contact);
        self.next_contact = self.next_contact.saturating_add(1);
    }

    /// The contact that another profile is, if it was not deleted.
    pub(super) fn contact_of(&self, peer: ProfileId) -> Option<ContactId> {
        let mut contacts = self.contacts.iter();
        let is_it =
            |contact: &Contact| contact.peer == peer && contact.status == ContactStatus::Active;
        contacts.find(|(_, contact)| is_it(contact)).map(|(id, _)| *id)
    }

    /// The contact by which another profile is known under its own name.
    pub(super) fn known_by_name(&self, peer: ProfileId) -> Option<(ContactId, &Contact)> {
        let mut contacts = self.contacts.iter();
        contacts.find(|(_, known)| known.peer == peer && !known.is_hidden).map(|(id, c)| (*id, c))
    }

    /// Stores a request to be a contact, unless there is one of the same profile.
    pub(super) fn add_request(&mut self, asking: Asking) -> Option<ContactRequestId> {
        if self.requests.values().any(|known| known.from == asking.from) {
            return None;
        }
        let id = ContactRequestId(self.next_request);
        self.next_request = self.next_request.saturating_add(1);
        self.requests.insert(id, asking);
        Some(id)
    }

    /// Removes a contact with its conversation.
    pub(super) fn remove_contact(&mut self, id: ContactId) {
        let Some(contact) = self.contacts.remove(&id) else { return };
        self.items.clear(Chat::Direct(id));
        let is_member = self
            .groups
            .values()
            .flat_map(|group| group.members.values())
            .any(|member| member.local_name == contact.local_name);
        if !is_member {
            self.names.remove(&contact.local_name);
        }
    }

    /// Removes a group with its conversation.
    pub(super) fn remove_group(&mut self, id: GroupId) {
        let Some(group) = self.groups.remove(&id) else { return };
        self.items.clear(Chat::Group(id));
        self.names.remove(&group.local_name);
        for member in group.members.into_values() {
            let is_contact = |contact: &Contact| contact.local_name == member.local_name;
            let is_known =
                member.local_name == self.display_name || self.contacts.values().any(is_contact);
            if !is_known {
                self.names.remove(&member.local_name);
            }
        }
    }

    /// Another profile, or this one itself, has a new name: contacts and members get it.
    pub(super) fn rename(&mut self, whom: ProfileId, name: &str, is_self: bool) {
        let mut of_contact = None;
        let renamed = |contact: &&mut Contact| contact.peer == whom && !contact.is_hidden;
        for contact in self.contacts.values_mut().filter(renamed) {
            self.names.remove(&contact.local_name);
            contact.local_name = name::take(&mut self.names, name);
            of_contact = Some(contact.local_name.clone());
        }
        let members = self.groups.values_mut().flat_map(|group| group.members.values_mut());
        for member in members.filter(|member| member.profile == whom) {
            member.display_name = String::from(name);
            if is_self {
                member.local_name = String::from(name);
            } else if let Some(local) = &of_contact {
                member.local_name.clone_from(local);
            } else {
                self.names.remove(&member.local_name);
                member.local_name = name::take(&mut self.names, name);
            }
        }
    }

    pub(super) fn add_group(&mut self, group: GroupRef, name: &str, own: MemberId) -> GroupId {
        let local_name = name::take(&mut self.names, name);
        let id = self.next_group_id();
        self.next_group = self.next_group.saturating_add(1);
        let members = BTreeMap::new();
        self.groups.insert(id, Membership { group, own, local_name, active: true, members });
        id
    }

    /// Adds a member to a group. A member who is a contact too keeps the contact's local name,
    /// and the profile itself its own.
    pub(super) fn add_member(
        &mut self,
        group: GroupId,
        member: MemberId,
        profile: ProfileId,
        display_name: &str,
        is_self: bool,
    ) -> Option<&KnownMember> {
        let local_name = match self.known_by_name(profile) {
            _ if is_self => self.display_name.clone(),
            Some((_, contact)) => contact.local_name.clone(),
            None => name::take(&mut self.names, display_name),
        };
        let membership = self.groups.get_mut(&group)?;
        let known = KnownMember {
            group_member_id: GroupMemberId(self.next_member),
            profile,
            display_name: String::from(display_name),
            local_name,
            active: true,
        };
        self.next_member = self.next_member.saturating_add(1);
        Some(membership.members.entry(member).or_insert(known))
    }
}

/// An item of either direction.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) own: bool,
    /// Marked as deleted by its sender.
    pub(super) deleted: bool,
    /// Receivers whose cores do not have it yet.
    pub(super) unreceived: usize,
    pub(super) expires: Option<Instant>,
    /// The item; of an own one `sender` is the profile's member, or `Contact` in a direct chat.
    pub(super) body: ReceivedItem,
}

/// A profile's items, bounded: the oldest go when there are too many.
#[derive(Debug)]
pub(super) struct Items {
    next: i64,
    limit: usize,
    stored: BTreeMap<ItemId, Stored>,
    by_message: BTreeMap<(Chat, SharedMsgId), ItemId>,
    expiring: BTreeSet<(Instant, ItemId)>,
}

impl Items {
    const fn new(first: i64, limit: usize) -> Self {
        Self {
            next: first,
            limit,
            stored: BTreeMap::new(),
            by_message: BTreeMap::new(),
            expiring: BTreeSet::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.stored.len()
    }

    /// Stores an item under the next number.
    pub(super) fn insert(&mut self, mut item: Stored) -> ItemId {
        let id = ItemId(self.next);
        self.next = self.next.saturating_add(1);
        item.body.item = id;
        self.by_message.insert((item.body.chat, item.body.shared_msg_id), id);
        if let Some(expires) = item.expires {
            self.expiring.insert((expires, id));
        }
        self.stored.insert(id, item);
        while self.stored.len() > self.limit.max(1) {
            let Some(oldest) = self.stored.keys().next().copied() else { break };
            self.remove(oldest);
        }
        id
    }

    pub(super) fn remove(&mut self, id: ItemId) -> Option<Stored> {
        let item = self.stored.remove(&id)?;
        let message = (item.body.chat, item.body.shared_msg_id);
        if self.by_message.get(&message) == Some(&id) {
            self.by_message.remove(&message);
        }
        if let Some(expires) = item.expires {
            self.expiring.remove(&(expires, id));
        }
        Some(item)
    }

    /// Removes all items of a chat.
    pub(super) fn clear(&mut self, chat: Chat) {
        let all: Vec<ItemId> = self.in_chat(chat).map(|item| item.body.item).collect();
        for item in all {
            self.remove(item);
        }
    }

    pub(super) fn get(&self, chat: Chat, id: ItemId) -> Option<&Stored> {
        self.stored.get(&id).filter(|item| item.body.chat == chat)
    }

    pub(super) fn get_mut(&mut self, chat: Chat, id: ItemId) -> Option<&mut Stored> {
        self.stored.get_mut(&id).filter(|item| item.body.chat == chat)
    }

    /// The items of a chat, in the order of their numbers.
    pub(super) fn in_chat(&self, chat: Chat) -> impl DoubleEndedIterator<Item = &Stored> {
        self.stored.values().filter(move |item| item.body.chat == chat)
    }

    /// The item of a message, whoever sent it.
    pub(super) fn by_message(&self, chat: Chat, message: SharedMsgId) -> Option<&Stored> {
        self.by_message.get(&(chat, message)).and_then(|id| self.stored.get(id))
    }

    /// The item of a message that `sender` sent.
    pub(super) fn received_mut(
        &mut self,
        chat: Chat,
        message: SharedMsgId,
        sender: Sender,
    ) -> Option<&mut Stored> {
        let id = self.by_message.get(&(chat, message))?;
        self.stored.get_mut(id).filter(|item| !item.own && item.body.sender == sender)
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.expiring.first().map(|&(at, _)| at)
    }

    /// Removes what has expired.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<Stored> {
        let mut gone = Vec::new();
        while let Some(&(at, id)) = self.expiring.first() {
            if at > now {
                break;
            }
            self.expiring.remove(&(at, id));
            gone.extend(self.remove(id));
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(message: &str, own: bool, expires: Option<Instant>) -> Stored {
        let body = ReceivedItem {
            chat: Chat::Direct(ContactId(1)),
            item: ItemId(0),
            shared_msg_id: SharedMsgId::new(message).unwrap(),
            sender: Sender::Contact,
            sender_name: String::new(),
            group_member_id: None,
            item_ts: String::new(),
            text: String::new(),
            mentions: Vec::new(),
            user_mention: false,
            quote: None,
            edited: false,
            live: false,
            ttl: None,
            support: None,
        };
        Stored { own, deleted: false, unreceived: 0, expires, body }
    }

    #[test]
    fn nothing_of_a_removed_item_is_left() {
        let mut items = Items::new(1, 2);
        for message in ["a", "b", "c", "d"] {
            items.insert(item(message, false, Some(Instant::from_millis(9))));
        }
        let lengths = (items.stored.len(), items.by_message.len(), items.expiring.len());
        assert_eq!(lengths, (2, 2, 2));
        assert_eq!(items.expire(Instant::from_millis(8)).len(), 0);
        assert_eq!(items.expire(Instant::from_millis(9)).len(), 2);
        let lengths = (items.stored.len(), items.by_message.len(), items.expiring.len());
        assert_eq!(lengths, (0, 0, 0));
    }

    #[test]
    fn an_own_item_is_nobody_elses_to_change() {
        let mut items = Items::new(1, 9);
        let chat = Chat::Direct(ContactId(1));
        items.insert(item("own", true, None));
        items.insert(item("received", false, None));
        let mut found = |message| {
            let message = SharedMsgId::new(message).unwrap();
            items.received_mut(chat, message, Sender::Contact).is_some()
        };
        assert!(found("received"));
        assert!(!found("own"));
        assert!(!found("unknown"));
    }
}
