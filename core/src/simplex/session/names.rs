//! Whether another member of a group bears the profile's name.
//!
//! A command of one line that mentions somebody comes without the core's mentions, so the name
//! decides, and it decides nothing if two members bear it. Who the members are is asked for when
//! the first such command comes; until the answer is there, the command waits.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};

use super::Session;
use super::jobs::Job;
use super::startup::Phase;
use crate::binding::Binding;
use crate::chat::{Chat, GroupId, Item, ItemId, Me, MemberId, Quoted, Sender};
use crate::simplex::frame::{Body, ShapeError};

/// What is known of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// It has been asked for.
    Asked,
    /// Whether another member bears the profile's name.
    Known(bool),
}

/// A command that waits for a name.
pub(super) struct Held {
    group: GroupId,
    sender: Sender,
    id: ItemId,
    text: Box<str>,
    quote: Option<(bool, Option<ItemId>, Option<Box<str>>)>,
    me: (MemberId, Box<str>),
    sent_at: Option<Box<str>>,
    ttl: Option<u64>,
    edited: bool,
}

impl Held {
    fn new(group: GroupId, me: Me<'_>, item: &Item<'_>) -> Self {
        let quote = item.quote.map(|q| (q.is_own, q.item, q.shared_msg_id.map(Into::into)));
        Self {
            group,
            sender: item.sender,
            id: item.id,
            text: item.text.into(),
            quote,
            me: (me.member, me.name.into()),
            sent_at: item.sent_at.map(Into::into),
            ttl: item.ttl,
            edited: item.edited,
        }
    }

    fn item(&self, is_shared: bool) -> Item<'_> {
        let mut item = Item::new(Chat::Group(self.group), self.sender, self.id, &self.text);
        item.quote = self
            .quote
            .as_ref()
            .map(|(is_own, id, shared)| Quoted::new(*is_own, *id, shared.as_deref()));
        item.me = Some(Me::new(self.me.0, &self.me.1).name_is_shared(is_shared));
        item.sent_at = self.sent_at.as_deref();
        item.ttl = self.ttl;
        item.edited = self.edited;
        item
    }
}

/// Whether the name of a member decides whom this item is for.
fn depends_on_name(item: &Item<'_>) -> bool {
    item.mentions.is_empty() && item.text.starts_with("/_call @")
}

#[derive(Default)]
pub(super) struct Names {
    known: BTreeMap<GroupId, Name>,
    held: VecDeque<Held>,
}

impl Names {
    /// The members of a group have changed.
    pub(super) fn forget(&mut self, group: GroupId) {
        if self.known.get(&group) != Some(&Name::Asked) {
            self.known.remove(&group);
        }
    }
}

impl<B: Binding> Session<B> {
    /// Completes who the profile is. `false` if the item has to wait for that: it is kept.
    pub(super) fn name(&mut self, item: &mut Item<'_>) -> bool {
        let (Chat::Group(group), Some(me)) = (item.chat, item.me) else { return true };
        if !depends_on_name(item) {
            return true;
        }
        if let Some(Name::Known(is_shared)) = self.names.known.get(&group) {
            item.me = Some(me.name_is_shared(*is_shared));
            return true;
        }
        let has_room = self.names.held.len() < self.config.max_held;
        if !has_room {
            // Not known is as good as ambiguous: rather nobody answers than two.
            item.me = Some(me.name_is_shared(true));
            return true;
        }
        self.names.held.push_back(Held::new(group, me, item));
        if !self.names.known.contains_key(&group) {
            self.ask_names(group);
        }
        false
    }

    fn ask_names(&mut self, group: GroupId) {
        if self.names.known.len() >= self.config.max_groups {
            self.names.known.retain(|_, name| *name == Name::Asked);
        }
        self.names.known.insert(group, Name::Asked);
        if matches!(self.phase, Phase::Ready(_)) {
            self.chat_link.urgent.push_back(Job::Members(group));
        }
    }

    /// After a reconnect: what was asked for is asked for once more.
    pub(super) fn ask_names_again(&mut self) {
        self.names.known.clear();
        let groups: alloc::collections::BTreeSet<GroupId> =
            self.names.held.iter().map(|held| held.group).collect();
        for group in groups {
            self.ask_names(group);
        }
    }

    /// The core has said who the members are, or not.
    pub(super) fn named(&mut self, group: GroupId, body: Result<Body<'_>, ShapeError>) {
        let is_shared = match body {
            Ok(Body::GroupMembers(info, members)) => {
                let me = info.membership;
                let mut others = members.flatten().filter(|member| member.is_present());
                others.any(|member| {
                    me.is_some_and(|me| {
                        member.member_id != me.member_id && member.display_name == me.display_name
                    })
                })
            }
            // Who bears the name is not known.
            _ => true,
        };
        self.names.known.insert(group, Name::Known(is_shared));
        let mut waiting = VecDeque::new();
        for held in core::mem::take(&mut self.names.held) {
            if held.group == group {
                self.hand_in(&held.item(is_shared));
            } else {
                waiting.push_back(held);
            }
        }
        self.names.held.append(&mut waiting);
    }
}
