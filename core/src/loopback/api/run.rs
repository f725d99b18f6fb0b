//! What each command does, and what the core answers to it.

use alloc::{string::String, vec::Vec};

use super::command::{Command, Composed, DeleteMode, ServiceRequest, Settings};
use super::item::{Status, before_change, truth};
use super::refusal::Refusal;
use super::view::{USER, View};
use super::{Account, VERSION};
use crate::chat::{Chat, ContactId, GroupId, ItemId};
use crate::json::{Object, Writer, to_text};
use crate::loopback::event::{ComposedMessage, Event};
use crate::loopback::request::AddressSettings;
use crate::loopback::{
    ChangeError, Loopback, ProfileId, RecordError, SendError, ServiceAddress, ServiceHandle,
    ServiceRequestOptions, SetupError, record,
};
use crate::simplex::command::{ChatRef, Page};
use crate::time::Instant;

/// What a command comes to.
pub(super) enum Outcome {
    /// The response, at once.
    Response(String),
    /// The response comes when that of this Service RPC request does.
    Waits(ServiceHandle),
}

pub(super) type Done = Result<String, Refusal>;

/// One command of one client.
pub(super) struct Run<'n> {
    pub(super) net: &'n mut Loopback,
    pub(super) account: &'n mut Account,
    pub(super) profile: ProfileId,
    pub(super) now: Instant,
}

impl Run<'_> {
    pub(super) fn run(&mut self, command: Command<'_>) -> Result<Outcome, Refusal> {
        if let Command::ServiceRequest(request) = command {
            return self.service_request(&request).map(Outcome::Waits);
        }
        self.at_once(command).map(Outcome::Response)
    }

    fn at_once(&mut self, command: Command<'_>) -> Done {
        // What a core does that does not run (simplex-chat `Commands.hs`: `withUser'` and commands
        // without a user).
        match command {
            Command::Version => return Ok(version()),
            Command::ActiveUser => return Ok(self.active_user()),
            Command::ActivateUser(user) => return self.activate(user),
            Command::ActivateUserByName(name) => return self.activate_by_name(name),
            Command::Users => return Ok(self.users()),
            Command::CreateUser(user) => return self.create_user(user),
            Command::Start { service_requests } => return self.start(service_requests),
            Command::Stop => {
                self.account.is_running = false;
                return Ok(bare("chatStopped"));
            }
            Command::CheckRunning => {
                let is_running = self.account.is_running;
                return Ok(bare(if is_running { "chatRunning" } else { "chatStopped" }));
            }
            Command::NotDone => return Err(Refusal::not_done()),
            _ if !self.account.is_running => return Err(Refusal::NOT_STARTED),
            _ => {}
        }
        match command {
            Command::Contacts { user } => self.contacts(user),
            Command::Groups { user, contact, search } => self.groups(user, contact, search),
            Command::Members(group) => self.members(group),
            Command::GetChat { chat, page, search } => self.get_chat(chat, page, search),
            Command::GetChats { user } => self.get_chats(user),
            Command::Read(chat) => {
                if let Some(chat) = chat {
                    self.check_chat(chat)?;
                }
                Ok(self.with_user("cmdOk", "user_", |_, _| {}))
            }
            Command::Send { to, live, ttl, messages } => self.send(to, live, ttl, &messages),
            Command::SendByName { is_group, name, text } => {
                let chat = self.chat_by_name(is_group, name)?;
                let message = Composed { text, is_text: true, quoted: None, mentions: Vec::new() };
                self.send(chat.into(), false, None, &[message])
            }
            Command::Update { chat, item, live, message } => {
                self.update(chat, item, live, &message)
            }
            Command::Delete { chat, items, mode } => self.delete(chat, &items, mode),
            Command::Profile { user, record } => self.set_profile(user, record),
            Command::GroupProfile { group, record } => self.set_group_profile(group, record),
            Command::Preferences { contact, preferences } => {
                self.set_preferences(contact, preferences)
            }
            Command::CreateAddress { user, ratchet_keys } => {
                self.create_address(user, ratchet_keys)
            }
            Command::DeleteAddress { user } => self.delete_address(user),
            Command::ShowAddress { user } => {
                let address = self.own_address(user)?;
                Ok(self.address("userContactLink", address))
            }
            Command::ShortLinkAddress { user, ratchet_keys } => {
                let address = self.own_address(Some(user))?;
                self.add_ratchet_keys(address, ratchet_keys)?;
                Ok(self.address("userContactLink", address))
            }
            Command::AddressSettings { user, ratchet_keys, settings } => {
                self.address_settings(user, ratchet_keys, settings)
            }
            Command::ProfileAddress { user, is_on } => self.profile_address(user, is_on),
            Command::RotateAddressKeys(user) => self.rotate_address_keys(user),
            Command::ConnectPlan { user, target } => self.connect_plan(user, target),
            Command::Connect { user, incognito, link } => self.connect(user, incognito, link),
            Command::Accept { incognito, request } => self.accept(incognito, request),
            Command::Reject(request) => self.reject(request),
            Command::Invite { user, incognito } => self.invite(user, incognito),
            Command::Leave(group) => self.leave(group),
            Command::DeleteChat { chat, what, notify } => self.delete_chat(chat, what, notify),
            Command::DeleteConnection(connection) => self.delete_connection(connection),
            Command::GroupLink { group, wish } => self.group_link(group, wish),
            Command::ServiceResponse { user, request, data } => {
                self.service_response(user, request, data)
            }
            _ => Err(Refusal::not_done()),
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        View { net: self.net, profile: self.profile }
    }

    /// A response with a user and more.
    pub(super) fn with_user(
        &self,
        kind: &str,
        member: &str,
        more: impl Fn(&View<'_>, &mut Writer<'_>),
    ) -> String {
        let view = self.view();
        to_text(|out| {
            out.raw("{\"type\":").string(kind).raw(",").string(member).raw(":");
            view.user(out);
            more(&view, out);
            out.raw("}");
        })
    }

    pub(super) fn response(&self, kind: &str, more: impl Fn(&View<'_>, &mut Writer<'_>)) -> String {
        self.with_user(kind, "user", more)
    }

    /// There is one user, and commands are for that one.
    pub(super) fn check_user(user: Option<i64>) -> Result<(), Refusal> {
        match user {
            Some(command) if command != USER => {
                Err(Refusal::DifferentActiveUser { command, active: USER })
            }
            _ => Ok(()),
        }
    }

    // ---- users and the core itself

    fn active_user(&self) -> String {
        self.response("activeUser", |_, _| {})
    }

    fn activate(&self, user: i64) -> Done {
        if user == USER {
            return Ok(self.active_user());
        }
        Err(Refusal::StoreNumber("userNotFound", "userId", user))
    }

    fn activate_by_name(&self, name: &str) -> Done {
        if self.net.display_name(self.profile) == Some(name) {
            return Ok(self.active_user());
        }
        Err(Refusal::StoreText("userNotFoundByName", "contactName", name.into()))
    }

    fn users(&self) -> String {
        let view = self.view();
        to_text(|out| {
            out.raw("{\"type\":\"usersList\",\"users\":[{\"user\":");
            view.user(out);
            out.raw(",\"unreadCount\":0}]}");
        })
    }

    fn create_user(&self, user: Object<'_>) -> Done {
        let profile = user.object("profile").ok().flatten();
        let name = profile.map(|profile| record::display_name(profile.get_text()));
        match name {
            Some(name) if self.net.display_name(self.profile) == Some(name.as_str()) => {
                Err(Refusal::Text("userExists", "contactName", name))
            }
            _ => Err(Refusal::not_done()),
        }
    }

    /// A core that runs already says so and does not look at the options.
    fn start(&mut self, service_requests: bool) -> Done {
        if self.account.is_running {
            return Ok(bare("chatRunning"));
        }
        self.account.is_running = true;
        // The profile is there: it has a core.
        let _ = self.net.enable_service_requests(self.profile, service_requests);
        Ok(bare("chatStarted"))
    }

    // ---- lists

    fn contacts(&self, user: Option<i64>) -> Done {
        Self::check_user(user)?;
        Ok(self.response("contactsList", |view, out| {
            out.raw(",\"contacts\":[");
            let mut before = "";
            for id in view.known().iter().flat_map(|known| known.contacts.keys()) {
                out.raw(before);
                view.contact(*id, out);
                before = ",";
            }
            out.raw("]");
        }))
    }

    fn groups(&self, user: Option<i64>, contact: Option<ContactId>, search: Option<&str>) -> Done {
        Self::check_user(user)?;
        let known = self.view().known();
        let peer = contact.and_then(|id| Some(known?.contacts.get(&id)?.peer));
        let search = search.unwrap_or_default().to_lowercase();
        let listed: Vec<GroupId> = known
            .iter()
            .flat_map(|known| &known.groups)
            .filter(|(_, group)| group.local_name.to_lowercase().contains(&search))
            .filter(|(_, group)| {
                contact.is_none() || group.members.values().any(|m| Some(m.profile) == peer)
            })
            .map(|(id, _)| *id)
            .collect();
        Ok(self.response("groupsList", |view, out| {
            out.raw(",\"groups\":[");
            let mut before = "";
            for id in &listed {
                out.raw(before);
                view.group(*id, out);
                before = ",";
            }
            out.raw("]");
        }))
    }

    fn members(&self, group: GroupId) -> Done {
        self.check_group(group)?;
        Ok(self.response("groupMembers", |view, out| {
            out.raw(",\"group\":");
            view.group_with_members(group, out);
        }))
    }

    pub(super) fn check_group(&self, group: GroupId) -> Result<(), Refusal> {
        let is_there = self.view().known().is_some_and(|known| known.groups.contains_key(&group));
        if is_there { Ok(()) } else { Err(SendError::GroupNotFound { group }.into()) }
    }

    pub(super) fn check_chat(&self, chat: Chat) -> Result<(), Refusal> {
        match chat {
            Chat::Group(group) => self.check_group(group),
            Chat::Direct(contact) => {
                let known = self.view().known();
                let is_there = known.is_some_and(|known| known.contacts.contains_key(&contact));
                if is_there { Ok(()) } else { Err(SendError::ContactNotFound { contact }.into()) }
            }
        }
    }

    fn chat_by_name(&self, is_group: bool, name: &str) -> Result<Chat, Refusal> {
        let known = self.view().known();
        let name = String::from(name);
        if is_group {
            let mut groups = known.iter().flat_map(|known| &known.groups);
            let found = groups.find(|(_, group)| group.local_name == name);
            let found = found.map(|(id, _)| Chat::Group(*id));
            return found.ok_or(Refusal::StoreText("groupNotFoundByName", "groupName", name));
        }
        let mut contacts = known.iter().flat_map(|known| &known.contacts);
        let found = contacts.find(|(_, contact)| contact.local_name == name);
        let found = found.map(|(id, _)| Chat::Direct(*id));
        found.ok_or(Refusal::StoreText("contactNotFoundByName", "contactName", name))
    }

    fn get_chat(&self, of: ChatRef, page: Page, search: Option<&str>) -> Done {
        let chat = of.chat;
        self.check_chat(chat)?;
        let support = self.view().support_chat(of)?;
        let search = search.unwrap_or_default().to_lowercase();
        let wanted = |text: &str| search.is_empty() || text.to_lowercase().contains(&search);
        let items = self.view().known().map(|known| &known.items);
        let items = items.into_iter().flat_map(|items| items.in_chat(chat));
        let of_scope = items.filter(|item| item.body.support == support);
        let mut items: Vec<_> = of_scope.filter(|item| wanted(&item.body.text)).collect();
        let keep = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        match page {
            Page::After { item, count } => {
                items.retain(|stored| stored.body.item > item);
                items.truncate(keep(count));
            }
            Page::Before { item, count } => {
                items.retain(|stored| stored.body.item < item);
                items.drain(..items.len().saturating_sub(keep(count)));
            }
            Page::Last { count } => {
                items.drain(..items.len().saturating_sub(keep(count)));
            }
        }
        Ok(self.response("apiChat", |view, out| {
            out.raw(",\"chat\":{\"chatInfo\":");
            view.chat_info(chat, support, out);
            out.raw(",\"chatItems\":[");
            let mut before = "";
            for stored in &items {
                out.raw(before);
                view.chat_item(stored, Status::Stored, out);
                before = ",";
            }
            out.raw("],\"chatStats\":").raw(STATS).raw("}");
        }))
    }

    fn get_chats(&self, user: i64) -> Done {
        Self::check_user(Some(user))?;
        let known = self.view().known();
        let direct =
            known.iter().flat_map(|known| known.contacts.keys().copied().map(Chat::Direct));
        let groups = known.iter().flat_map(|known| known.groups.keys().copied().map(Chat::Group));
        let chats: Vec<Chat> = direct.chain(groups).collect();
        Ok(self.response("apiChats", |view, out| {
            out.raw(",\"chats\":[");
            let mut before = "";
            for chat in &chats {
                out.raw(before).raw("{\"chatInfo\":");
                view.chat_info(*chat, None, out);
                out.raw(",\"chatItems\":[");
                let last = view.known().and_then(|known| {
                    let mut items = known.items.in_chat(*chat);
                    items.rfind(|item| item.body.support.is_none())
                });
                if let Some(last) = last {
                    view.chat_item(last, Status::Stored, out);
                }
                out.raw("],\"chatStats\":").raw(STATS).raw("}");
                before = ",";
            }
            out.raw("]");
        }))
    }

    // ---- items

    /// simplex-chat `Commands.hs`, `assertMultiSendable`: of several messages none may be live and
    /// one may quote. All are checked before the first is sent, but for their sizes: those that
    /// are too large are left out, and if none is left the first error is the command's
    /// (`processSendErrs`).
    fn send(&mut self, to: ChatRef, live: bool, ttl: Option<u32>, messages: &[Composed]) -> Done {
        let chat = to.chat;
        let quotes = messages.iter().filter(|message| message.quoted.is_some()).count();
        if messages.len() > 1 && (live || quotes > 1) {
            let rule = "invalid multi send: live and more than one quote not supported";
            return Err(Refusal::Command(rule));
        }
        if messages.iter().any(|message| !message.is_text) {
            return Err(Refusal::not_done());
        }
        let mentions: Vec<Vec<_>> = messages.iter().map(Composed::mentions).collect();
        let composed: Vec<ComposedMessage<'_>> = messages
            .iter()
            .zip(&mentions)
            .map(|(message, mentions)| {
                let mut composed = ComposedMessage::new(&message.text).mentions(mentions);
                (composed.quoted_item, composed.ttl, composed.live) = (message.quoted, ttl, live);
                (composed.scope, composed.as_group) = (to.scope, to.as_group);
                composed
            })
            .collect();
        for message in &composed {
            let checked = self.net.check_message(self.profile, chat, message);
            checked.map_err(|error| self.not_sent(error))?;
        }
        let (mut items, mut errors) = (Vec::new(), Vec::new());
        for message in composed {
            match self.net.send(self.now, self.profile, chat, message) {
                Ok(sent) => items.push(sent.item),
                Err(error) => errors.push(error),
            }
        }
        if items.is_empty() {
            let first = errors.first().map(|error| self.not_sent(*error));
            return Err(first.unwrap_or_else(Refusal::not_done));
        }
        if !errors.is_empty() {
            self.net.tell(self.profile, Event::NotSent(errors));
            self.net.pump();
        }
        Ok(self.response("newChatItems", |view, out| {
            out.raw(",\"chatItems\":[");
            let items = items.iter().filter_map(|item| view.known()?.items.get(chat, *item));
            let mut before = "";
            for stored in items {
                out.raw(before);
                view.item(stored, Status::New, out);
                before = ",";
            }
            out.raw("]");
        }))
    }

    fn update(&mut self, chat: Chat, item: ItemId, live: bool, message: &Composed) -> Done {
        if !message.is_text {
            return Err(Refusal::not_done());
        }
        let mentions = message.mentions();
        let mut composed = ComposedMessage::new(&message.text).mentions(&mentions);
        composed.live = live;
        let same = self.view().known().and_then(|known| known.items.get(chat, item));
        let is_same = same
            .is_some_and(|old| old.own && old.body.text == message.text && old.body.live == live);
        if !is_same {
            let edited = self.net.edit(self.now, self.profile, chat, item, composed);
            edited.map_err(|error| self.not_changed(error, "invalidChatItemUpdate"))?;
        }
        let kind = if is_same { "chatItemNotChanged" } else { "chatItemUpdated" };
        Ok(self.response(kind, |view, out| {
            out.raw(",\"chatItem\":");
            let stored = view.known().and_then(|known| known.items.get(chat, item));
            if let Some(stored) = stored {
                view.item(stored, Status::Stored, out);
            }
        }))
    }

    fn delete(&mut self, chat: Chat, items: &[ItemId], mode: DeleteMode) -> Done {
        self.check_chat(chat)?;
        let mut before = Vec::new();
        for item in items {
            let stored = self.view().known().and_then(|known| known.items.get(chat, *item));
            let stored = stored.ok_or(SendError::ChatItemNotFound { item: *item })?;
            if mode == DeleteMode::Broadcast && (!stored.own || stored.deleted) {
                return Err(Refusal::Chat("invalidChatItemDelete"));
            }
            before.push((*item, before_change(self.view(), stored)));
        }
        for item in items {
            let done = match mode {
                DeleteMode::Broadcast => self.net.delete(self.now, self.profile, chat, *item),
                DeleteMode::Internal => self.net.forget(self.profile, chat, *item),
                DeleteMode::InternalMark => {
                    self.net.mark(self.profile, chat, *item);
                    Ok(())
                }
            };
            done.map_err(|error| self.not_changed(error, "invalidChatItemDelete"))?;
        }
        Ok(self.response("chatItemsDeleted", |view, out| {
            out.raw(",\"chatItemDeletions\":[");
            let mut comma = "";
            for (item, old) in &before {
                out.raw(comma).raw("{\"deletedChatItem\":").raw(old);
                if let Some(stored) = view.known().and_then(|known| known.items.get(chat, *item)) {
                    out.raw(",\"toChatItem\":");
                    view.item(stored, Status::Stored, out);
                }
                out.raw("}");
                comma = ",";
            }
            out.raw("],\"byUser\":").raw(truth(true)).raw(",\"timed\":").raw(truth(false));
        }))
    }

    /// What the core says to a message that it does not send.
    pub(super) fn not_sent(&self, error: SendError) -> Refusal {
        match error {
            SendError::ContactNotActive { contact } => {
                Refusal::ContactNotActive(to_text(|out| self.view().contact(contact, out)))
            }
            SendError::Role { group, required } => {
                let info = to_text(|out| self.view().group(group, out));
                Refusal::GroupUserRole(info, required)
            }
            error => error.into(),
        }
    }

    /// `not_own` is the error for an item that is not the profile's to change.
    fn not_changed(&self, error: ChangeError, not_own: &'static str) -> Refusal {
        match error {
            ChangeError::Send(error) => self.not_sent(error),
            ChangeError::NotOwn { .. } => Refusal::Chat(not_own),
        }
    }

    // ---- records

    fn set_profile(&mut self, user: i64, object: Object<'_>) -> Done {
        Self::check_user(Some(user))?;
        let before = String::from(self.net.record(self.profile).unwrap_or("{}"));
        let changed = self.net.set_record(self.now, self.profile, object.get_text());
        let changed = changed.map_err(|error| of_record(error, object))?;
        Ok(self.profile_updated(&before, changed))
    }

    fn profile_updated(&self, before: &str, changed: bool) -> String {
        if !changed {
            return self.response("userProfileNoChange", |_, _| {});
        }
        self.response("userProfileUpdated", |view, out| {
            let contacts = view.known().map_or(0, |known| known.contacts.len());
            out.raw(",\"fromProfile\":").raw(before);
            out.raw(",\"toProfile\":").raw(view.net.record(view.profile).unwrap_or("{}"));
            out.raw(",\"updateSummary\":{\"updateSuccesses\":");
            out.int(i64::try_from(contacts).unwrap_or(i64::MAX));
            out.raw(",\"updateFailures\":0,\"changedContacts\":[]}");
        })
    }

    fn set_group_profile(&mut self, group: GroupId, object: Object<'_>) -> Done {
        self.check_group(group)?;
        let before = to_text(|out| self.view().group(group, out));
        let text = object.get_text();
        match self.net.set_group_record(self.now, self.profile, group, text) {
            Err(RecordError::NotOwner { .. }) => {
                let info = to_text(|out| self.view().group(group, out));
                return Err(Refusal::GroupUserRole(info, "owner"));
            }
            changed => changed.map_err(|error| of_record(error, object))?,
        };
        Ok(self.response("groupUpdated", |view, out| {
            out.raw(",\"fromGroup\":").raw(&before).raw(",\"toGroup\":");
            view.group(group, out);
            out.raw(",\"msgSigned\":false");
        }))
    }

    fn set_preferences(&mut self, contact: ContactId, preferences: Object<'_>) -> Done {
        let chat = Chat::Direct(contact);
        self.check_chat(chat)?;
        let before = to_text(|out| self.view().contact(contact, out));
        let text = preferences.get_text();
        self.net.set_contact_preferences(self.now, self.profile, contact, text)?;
        Ok(self.response("contactPrefsUpdated", |view, out| {
            out.raw(",\"fromContact\":").raw(&before).raw(",\"toContact\":");
            view.contact(contact, out);
        }))
    }

    // ---- addresses and contacts

    pub(super) fn own_address(&self, user: Option<i64>) -> Result<ServiceAddress, Refusal> {
        Self::check_user(user)?;
        let address = self.net.address_of(self.profile);
        address.ok_or(Refusal::Store("userContactLinkNotFound"))
    }

    fn create_address(&mut self, user: Option<i64>, ratchet_keys: bool) -> Done {
        Self::check_user(user)?;
        let address = match self.net.create_address(self.profile, ratchet_keys) {
            Ok(address) => address,
            Err(SetupError::DuplicateAddress { .. }) => {
                return Err(Refusal::Store("duplicateContactLink"));
            }
            Err(_) => return Err(Refusal::internal("the profile is gone")),
        };
        Ok(self.response("userContactLinkCreated", |view, out| {
            out.raw(",\"connLinkContact\":");
            created_link(view.net.links(address), out);
        }))
    }

    fn delete_address(&mut self, user: Option<i64>) -> Done {
        let address = self.own_address(user)?;
        let _ = self.net.delete_address(address);
        // The record no longer shows what leads nowhere.
        let _ = self.net.set_record_member(self.now, self.profile, "contactLink", None);
        Ok(self.response("userContactLinkDeleted", |_, _| {}))
    }

    fn add_ratchet_keys(&mut self, address: ServiceAddress, add: bool) -> Result<(), Refusal> {
        if add {
            let added = self.net.add_ratchet_keys(address);
            added.map_err(|_| Refusal::Store("userContactLinkNotFound"))?;
        }
        Ok(())
    }

    fn rotate_address_keys(&mut self, user: i64) -> Done {
        let address = self.own_address(Some(user))?;
        let rotated = self.net.rotate_ratchet_keys(address);
        rotated.map_err(|_| Refusal::Store("userContactLinkNotFound"))?;
        Ok(self.address("userContactLink", address))
    }

    fn address_settings(&mut self, user: i64, ratchet_keys: bool, settings: Settings) -> Done {
        let address = self.own_address(Some(user))?;
        if settings.business {
            return Err(Refusal::not_done());
        }
        self.add_ratchet_keys(address, ratchet_keys)?;
        let mut changed = AddressSettings::new();
        changed.auto_accept = settings.auto_accept;
        changed.accept_incognito = settings.incognito;
        changed.auto_reply = settings.auto_reply;
        self.net.set_address_settings(address, changed)?;
        Ok(self.address("userContactLinkUpdated", address))
    }

    /// A response with the core's `UserContactLink`.
    fn address(&self, kind: &str, address: ServiceAddress) -> String {
        self.response(kind, |view, out| {
            out.raw(",\"contactLink\":{\"userContactLinkId\":1,\"connLinkContact\":");
            created_link(view.net.links(address), out);
            out.raw(",\"shortLinkDataSet\":true,\"shortLinkLargeDataSet\":true");
            out.raw(",\"addressSettings\":{\"businessAddress\":false");
            let settings = view.net.address_settings(address);
            if let Some(settings) = settings.filter(|settings| settings.auto_accept) {
                out.raw(",\"autoAccept\":{\"acceptIncognito\":");
                out.raw(truth(settings.accept_incognito)).raw("}");
            }
            if let Some(reply) = settings.and_then(|settings| settings.auto_reply.as_deref()) {
                out.raw(",\"autoReply\":{\"type\":\"text\",\"text\":").string(reply).raw("}");
            }
            out.raw("}}");
        })
    }

    fn profile_address(&mut self, user: i64, is_on: bool) -> Done {
        let address = self.own_address(Some(user))?;
        let short = self.net.links(address).map(|(_, short)| short);
        let before = String::from(self.net.record(self.profile).unwrap_or("{}"));
        let value = short.as_deref().filter(|_| is_on);
        let changed = self.net.set_record_member(self.now, self.profile, "contactLink", value)?;
        Ok(self.profile_updated(&before, changed))
    }

    // ---- Service RPC

    fn service_request(&mut self, request: &ServiceRequest<'_>) -> Result<ServiceHandle, Refusal> {
        if !self.account.is_running {
            return Err(Refusal::NOT_STARTED);
        }
        Self::check_user(Some(request.user))?;
        let address = self.service_address(request.target)?;
        let mut options = ServiceRequestOptions::new();
        if let Some(timeout) = request.timeout {
            options = options.timeout(timeout);
        }
        let data = request.data.get_text();
        let sent = match request.sign_key {
            None => self.net.service_request(self.now, self.profile, address, options, data),
            Some(key) => self.signed_request(address, options, key, data)?,
        };
        Ok(sent?.handle)
    }

    #[cfg(feature = "sign")]
    fn signed_request(
        &mut self,
        address: ServiceAddress,
        options: ServiceRequestOptions<'_>,
        key: &str,
        data: &str,
    ) -> Result<RequestSent, Refusal> {
        let key = crate::rpc::sign::SecretKey::parse(key).map_err(|_| Refusal::GRAMMAR)?;
        let (now, profile) = (self.now, self.profile);
        let timeout = options.timeout;
        Ok(self.net.signed_service_request(now, profile, address, timeout, &key, data))
    }

    #[cfg(not(feature = "sign"))]
    fn signed_request(
        &mut self,
        _: ServiceAddress,
        _: ServiceRequestOptions<'_>,
        _: &str,
        _: &str,
    ) -> Result<RequestSent, Refusal> {
        Err(Refusal::internal("the loopback was built without signatures"))
    }

    fn service_response(&mut self, user: i64, request: &str, data: Object<'_>) -> Done {
        Self::check_user(Some(user))?;
        let sent = self.net.service_response(self.now, self.profile, request, data.get_text())?;
        Ok(self.response("serviceReplyAccepted", |_, out| {
            out.raw(",\"connectionId\":").string(&sent.handle.text());
        }))
    }
}

type RequestSent =
    Result<crate::loopback::ServiceSent<ServiceHandle>, crate::loopback::ServiceRequestError>;

impl Composed {
    fn mentions(&self) -> Vec<(&str, crate::chat::GroupMemberId)> {
        self.mentions.iter().map(|(name, member)| (name.as_str(), *member)).collect()
    }
}

const STATS: &str = "{\"unreadCount\":0,\"unreadMentions\":0,\"reportsCount\":0,\
    \"minUnreadItemId\":0,\"unreadChat\":false}";

/// A response that is its type alone.
fn bare(kind: &str) -> String {
    to_text(|out| {
        out.raw("{\"type\":").string(kind).raw("}");
    })
}

fn version() -> String {
    to_text(|out| {
        out.raw("{\"type\":\"versionInfo\",\"versionInfo\":{\"version\":").string(VERSION);
        out.raw(",\"simplexmqVersion\":").string(VERSION).raw(",\"simplexmqCommit\":\"\"}");
        out.raw(",\"chatMigrations\":[],\"agentMigrations\":[]}");
    })
}

/// The core's `CreatedConnLink`.
pub(super) fn created_link(links: Option<(String, String)>, out: &mut Writer<'_>) {
    let (full, short) = links.unwrap_or_default();
    out.raw("{\"connFullLink\":").string(&full).raw(",\"connShortLink\":").string(&short);
    out.raw("}");
}

/// What the core says to a record, with the name that it refuses.
fn of_record(error: RecordError, object: Object<'_>) -> Refusal {
    match error {
        RecordError::InvalidDisplayName { .. } => {
            let name = record::display_name(object.get_text());
            let valid = crate::loopback::name::valid(&name);
            Refusal::InvalidDisplayName { name, valid }
        }
        error => error.into(),
    }
}
