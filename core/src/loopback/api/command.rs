//! What the stand-in takes of the core's commands.
//!
//! Each alternative has to take the whole command, but for spaces at its end; options stand in one
//! order. Whatever fits none is one error for the core, "Failed reading: empty". Source:
//! simplex-chat `Commands.hs`, `chatCommandP`, and for Service RPC `APISendServiceRequest`.

use alloc::{string::String, vec::Vec};
use core::time::Duration;

use super::input::Input;
use crate::chat::{Chat, ContactId, GroupId, GroupMemberId, ItemId};
use crate::discovery::link::{Link, LinkForm, LinkKind};
use crate::discovery::name::{Name, NameKind};
use crate::json::{Object, Str, Value};
use crate::loopback::ChatDeletion;
use crate::simplex::ContactRequestId;
use crate::simplex::command::grammar::*;
use crate::simplex::command::{ChatRef, Page};

/// A command. Where `user` is none, the command means the active user.
#[derive(Debug)]
pub(super) enum Command<'a> {
    Version,
    ActiveUser,
    ActivateUserByName(&'a str),
    Users,
    ActivateUser(i64),
    CreateUser(Object<'a>),
    Start {
        service_requests: bool,
    },
    Stop,
    CheckRunning,
    Contacts {
        user: Option<i64>,
    },
    Groups {
        user: Option<i64>,
        contact: Option<ContactId>,
        search: Option<&'a str>,
    },
    Members(GroupId),
    GetChat {
        chat: ChatRef,
        page: Page,
        search: Option<&'a str>,
    },
    GetChats {
        user: i64,
    },
    Read(Option<Chat>),
    Send {
        to: ChatRef,
        live: bool,
        ttl: Option<u32>,
        messages: Vec<Composed>,
    },
    SendByName {
        is_group: bool,
        name: &'a str,
        text: String,
    },
    Update {
        chat: Chat,
        item: ItemId,
        live: bool,
        message: Composed,
    },
    Delete {
        chat: Chat,
        items: Vec<ItemId>,
        mode: DeleteMode,
    },
    Profile {
        user: i64,
        record: Object<'a>,
    },
    GroupProfile {
        group: GroupId,
        record: Object<'a>,
    },
    Preferences {
        contact: ContactId,
        preferences: Object<'a>,
    },
    CreateAddress {
        user: Option<i64>,
        ratchet_keys: bool,
    },
    DeleteAddress {
        user: Option<i64>,
    },
    ShowAddress {
        user: Option<i64>,
    },
    ShortLinkAddress {
        user: i64,
        ratchet_keys: bool,
    },
    AddressSettings {
        user: i64,
        ratchet_keys: bool,
        settings: Settings,
    },
    ProfileAddress {
        user: i64,
        is_on: bool,
    },
    ConnectPlan {
        user: i64,
        target: &'a str,
    },
    Connect {
        user: Option<i64>,
        incognito: bool,
        link: &'a str,
    },
    Invite {
        user: Option<i64>,
        incognito: bool,
    },
    Leave(GroupId),
    DeleteChat {
        chat: Chat,
        what: ChatDeletion,
        notify: bool,
    },
    DeleteConnection(i64),
    GroupLink {
        group: GroupId,
        wish: GroupLinkWish,
    },
    RotateAddressKeys(i64),
    Accept {
        incognito: bool,
        request: ContactRequestId,
    },
    Reject(ContactRequestId),
    ServiceRequest(ServiceRequest<'a>),
    ServiceResponse {
        user: i64,
        request: &'a str,
        data: Object<'a>,
    },
    /// A command of the core that the stand-in does not do.
    NotDone,
}

/// One of the messages of a `/_send`: the core's `ComposedMessage`, of which texts alone are sent.
#[derive(Debug)]
pub(super) struct Composed {
    pub(super) text: String,
    /// Whether it is a text and nothing else: no image, no file.
    pub(super) is_text: bool,
    pub(super) quoted: Option<ItemId>,
    pub(super) mentions: Vec<(String, GroupMemberId)>,
}

/// What is to happen to the link of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GroupLinkWish {
    Create,
    Show,
    Delete,
}

/// The core's `CIDeleteMode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DeleteMode {
    Broadcast,
    Internal,
    InternalMark,
}

/// The core's `AddressSettings`.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) business: bool,
    pub(super) auto_accept: bool,
    pub(super) incognito: bool,
    pub(super) auto_reply: Option<String>,
}

/// A `/_service_request`.
#[derive(Debug)]
pub(super) struct ServiceRequest<'a> {
    pub(super) user: i64,
    pub(super) target: &'a str,
    pub(super) timeout: Option<Duration>,
    pub(super) sign_key: Option<&'a str>,
    pub(super) data: Object<'a>,
}

/// Reads a command, whose white space at the end is gone.
pub(super) fn parse(text: &str) -> Option<Command<'_>> {
    ALTERNATIVES.iter().find_map(|alternative| {
        let mut input = Input::new(text);
        let command = alternative(&mut input)?;
        input.end().map(|()| command)
    })
}

type Alternative = for<'a> fn(&mut Input<'a>) -> Option<Command<'a>>;

const ALTERNATIVES: [Alternative; 37] = [
    create_user,
    users,
    activate_user,
    activate_user_by_name,
    active_user,
    start,
    running,
    get_chats,
    get_chat,
    send,
    update,
    delete,
    delete_chat,
    leave,
    group_link,
    read,
    accept,
    reject,
    profile,
    preferences,
    members,
    groups,
    group_profile,
    contacts,
    connect_plan,
    connect,
    connect_by_link,
    create_address,
    delete_address,
    show_address,
    short_link_address,
    rotate_address_keys,
    address_settings,
    service_request,
    service_response,
    send_by_name,
    others,
];

fn create_user<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.tag("/_create user ")?;
    input.json()?.as_object().map(Command::CreateUser)
}

fn users<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.tag(USERS)?;
    Some(Command::Users)
}

fn activate_user<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(SET_ACTIVE_USER)?;
    let user = input.decimal()?;
    // A password, which no profile has.
    if input.space().is_some() {
        input.json()?.as_str()?;
    }
    Some(Command::ActivateUser(user))
}

fn activate_user_by_name<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.one_of(&["/user ", "/u "])?;
    input.display_name().map(Command::ActivateUserByName)
}

fn active_user<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.one_of(&[ACTIVE_USER_LONG, ACTIVE_USER])?;
    Some(Command::ActiveUser)
}

/// `main=` has to be there as soon as there is any option.
fn start<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.tag(START)?;
    if !input.option(OPTION_MAIN) {
        return Some(Command::Start { service_requests: false });
    }
    let main = input.on_off()?;
    input.switch(OPTION_SEND_FILES, main);
    Some(Command::Start { service_requests: input.switch(OPTION_SERVICE_REQUESTS, false) })
}

fn running<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    if input.has(STOP) {
        return Some(Command::Stop);
    }
    input.tag("/_check running")?;
    Some(Command::CheckRunning)
}

fn get_chats<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.tag("/_get chats ")?;
    let user = input.decimal()?;
    input.switch("pcc=", false);
    // The pages are by time and the filter is an object; all chats are given whatever they say.
    if input.option(OPTION_COUNT) {
        input.decimal()?;
    }
    if input.space().is_some() {
        input.json()?.as_object()?;
    }
    Some(Command::GetChats { user })
}

fn get_chat<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(GET_CHAT)?;
    let chat = input.chat_ref()?;
    input.space()?;
    let item = |input: &mut Input<'a>| {
        let item = input.decimal().map(ItemId)?;
        input.space()?;
        Some(item)
    };
    let count = |input: &mut Input<'a>| {
        input.tag(OPTION_COUNT)?;
        Some(u32::try_from(input.decimal()?).unwrap_or(u32::MAX))
    };
    let page = if input.has(OPTION_AFTER) {
        Page::After { item: item(input)?, count: count(input)? }
    } else if input.has(OPTION_BEFORE) {
        Page::Before { item: item(input)?, count: count(input)? }
    } else {
        Page::Last { count: count(input)? }
    };
    let search = input.has(" search=").then(|| input.text());
    Some(Command::GetChat { chat, page, search })
}

/// The options in this order: `live`, `ttl`, `sign`. Signing concerns groups with relays alone.
fn send<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(SEND)?;
    let to = input.chat_ref()?;
    let live = input.switch(OPTION_LIVE, false);
    let ttl = if input.option(OPTION_TTL) {
        if input.has("default") { None } else { Some(u32::try_from(input.decimal()?).ok()?) }
    } else {
        None
    };
    input.switch(OPTION_SIGN, false);
    let messages = if input.has(" json ") {
        let mut messages = Vec::new();
        for message in input.json()?.elements()? {
            messages.push(composed(message.as_object()?)?);
        }
        messages
    } else {
        input.tag(" text ")?;
        let text = String::from(input.text());
        Vec::from([Composed { text, is_text: true, quoted: None, mentions: Vec::new() }])
    };
    (!messages.is_empty()).then_some(Command::Send { to, live, ttl, messages })
}

/// `ComposedMessage` and `UpdatedMessage`: content, and what there may be besides.
fn composed(object: Object<'_>) -> Option<Composed> {
    let content = object.get("msgContent").ok()??.as_object()?;
    let kind = content.str("type").ok()??;
    // Every content has a text, but for unknown ones.
    let text: String = content.str("text").ok()??.chars().collect();
    let has_file = object.get("fileSource").ok()?.is_some_and(|file| !file.is_null());
    let present = |name| object.get(name).map(|value| value.filter(|value| !value.is_null()));
    let quoted = match present("quotedItemId").ok()? {
        Some(item) => Some(ItemId(item.as_integer()?)),
        None => None,
    };
    let mut mentions = Vec::new();
    if let Some(map) = present("mentions").ok()? {
        for (name, member) in map.as_object()?.members() {
            mentions.push((name.chars().collect(), GroupMemberId(member.as_integer()?)));
        }
    }
    Some(Composed { text, is_text: kind == *"text" && !has_file, quoted, mentions })
}

/// Behind `json` any white space that JSON may have, none included.
fn update<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.tag("/_update item ")?;
    let chat = input.chat()?;
    input.space()?;
    let item = ItemId(input.decimal()?);
    let live = input.switch(OPTION_LIVE, false);
    let message = if input.has(" json") {
        composed(input.json()?.as_object()?)?
    } else {
        input.tag(" text ")?;
        let text = String::from(input.text());
        Composed { text, is_text: true, quoted: None, mentions: Vec::new() }
    };
    Some(Command::Update { chat, item, live, message })
}

fn delete<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.tag("/_delete item ")?;
    let chat = input.chat()?;
    input.tag(" ")?;
    let mut items = Vec::from([ItemId(input.decimal()?)]);
    while input.has(",") {
        items.push(ItemId(input.decimal()?));
    }
    input.tag(" ")?;
    let mode = match input.word()? {
        "broadcast" => DeleteMode::Broadcast,
        "internal" => DeleteMode::Internal,
        "internalMark" => DeleteMode::InternalMark,
        _ => return None,
    };
    Some(Command::Delete { chat, items, mode })
}

/// A conversation or a connection that waits, and what of it: everything unless it is said.
fn delete_chat<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.tag("/_delete ")?;
    let connection = if input.has(":") { Some(input.decimal()?) } else { None };
    let chat = if connection.is_none() { Some(input.chat()?) } else { None };
    let what = match () {
        () if input.has(" messages") => ChatDeletion::Messages,
        () if input.has(" entity") => ChatDeletion::Entity,
        () => {
            input.has(" full");
            ChatDeletion::Full
        }
    };
    let notify = what == ChatDeletion::Messages || input.switch("notify=", true);
    Some(match (chat, connection) {
        (Some(chat), _) => Command::DeleteChat { chat, what, notify },
        (None, connection) => Command::DeleteConnection(connection?),
    })
}

fn leave<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.tag("/_leave #")?;
    input.decimal().map(GroupId).map(Command::Leave)
}

/// Who joins by a link is a member here, so no other role can be asked for.
fn group_link<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    let wishes = [
        ("/_create link #", GroupLinkWish::Create),
        ("/_get link #", GroupLinkWish::Show),
        ("/_delete link #", GroupLinkWish::Delete),
    ];
    let (_, wish) = wishes.into_iter().find(|(words, _)| input.has(words))?;
    let group = GroupId(input.decimal()?);
    if wish == GroupLinkWish::Create && !input.has(" member") && input.end().is_none() {
        let roles = ["relay", "observer", "author", "moderator", "admin", "owner"];
        input.space()?;
        let role = input.word()?;
        return roles.contains(&role).then_some(Command::NotDone);
    }
    Some(Command::GroupLink { group, wish })
}

fn rotate_address_keys<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(ROTATE_ADDRESS_KEYS)?;
    input.decimal().map(Command::RotateAddressKeys)
}

fn read<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    if input.has("/_read user ") {
        input.decimal()?;
        return Some(Command::Read(None));
    }
    input.tag("/_read chat ")?;
    let items = input.has("items ");
    let chat = input.chat()?;
    if items {
        input.tag(" ")?;
        input.decimal()?;
        while input.has(",") {
            input.decimal()?;
        }
    }
    Some(Command::Read(Some(chat)))
}

fn accept<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.tag(ACCEPT)?;
    let incognito = input.switch(OPTION_INCOGNITO, false);
    input.space()?;
    let request = ContactRequestId(input.decimal()?);
    Some(Command::Accept { incognito, request })
}

fn reject<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.tag("/_reject ")?;
    input.decimal().map(ContactRequestId).map(Command::Reject)
}

/// A number, one character of white space and a JSON object, which is how most commands go on.
fn numbered<'a>(input: &mut Input<'a>) -> Option<(i64, Object<'a>)> {
    let number = input.decimal()?;
    input.space()?;
    Some((number, input.json()?.as_object()?))
}

fn profile<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    if input.has("/_profile_address ") {
        let user = input.decimal()?;
        input.space()?;
        let is_on = input.on_off()?;
        return Some(Command::ProfileAddress { user, is_on });
    }
    input.word_of(PROFILE)?;
    let (user, record) = numbered(input)?;
    Some(Command::Profile { user, record })
}

fn preferences<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(CONTACT_PREFERENCES)?;
    input.tag("@")?;
    let (contact, preferences) = numbered(input)?;
    Some(Command::Preferences { contact: ContactId(contact), preferences })
}

fn members<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(MEMBERS)?;
    input.tag("#")?;
    input.decimal().map(GroupId).map(Command::Members)
}

fn groups<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    if input.word_of(GROUPS).is_some() {
        let user = Some(input.decimal()?);
        let contact = if input.has(" @") { Some(ContactId(input.decimal()?)) } else { None };
        let search = input.space().map(|()| input.text());
        return Some(Command::Groups { user, contact, search });
    }
    input.one_of(&["/groups", "/gs"])?;
    let search = input.space().map(|()| input.text());
    Some(Command::Groups { user: None, contact: None, search })
}

fn group_profile<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(GROUP_PROFILE)?;
    input.tag("#")?;
    let (group, record) = numbered(input)?;
    Some(Command::GroupProfile { group: GroupId(group), record })
}

fn contacts<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    if input.word_of(CONTACTS).is_some() {
        return input.decimal().map(|user| Command::Contacts { user: Some(user) });
    }
    input.tag("/contacts")?;
    Some(Command::Contacts { user: None })
}

fn connect_plan<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(CONNECT_PLAN)?;
    let user = input.decimal()?;
    input.space()?;
    let target = target(input)?;
    // How far names are looked up, and who vouches for a link, concern neither here.
    if input.has(" resolve=") {
        input.word()?;
    }
    if input.has(" sig=") {
        input.text();
    }
    Some(Command::ConnectPlan { user, target })
}

/// A link, or a name of the form `@name.domain` or `#name.domain`.
fn target<'a>(input: &mut Input<'a>) -> Option<&'a str> {
    let word = input.word()?;
    (Link::parse(word).is_ok() || Name::parse(word).is_ok()).then_some(word)
}

/// `/_connect <user> <full link>[ <short link>]`; without a link it makes an invitation.
fn connect<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(CONNECT)?;
    let user = Some(input.decimal()?);
    let incognito = input.switch(OPTION_INCOGNITO, false);
    if input.end().is_some() {
        input.text();
        return Some(Command::Invite { user, incognito });
    }
    input.space()?;
    let link = input.word()?;
    let full = Link::parse(link).ok()?;
    if full.form() != LinkForm::Full {
        return None;
    }
    if input.space().is_some() {
        Link::parse(input.word()?).ok()?;
    }
    Some(Command::Connect { user, incognito, link })
}

/// `/connect` and `/c` take any link or name; without one they make an invitation.
fn connect_by_link<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.one_of(&[CONNECT_TO, "/c"])?;
    let incognito = input.option(WORD_INCOGNITO) || input.option("i");
    if input.end().is_some() {
        input.text();
        return Some(Command::Invite { user: None, incognito });
    }
    input.space()?;
    let link = input.word()?;
    Some(Command::Connect { user: None, incognito, link })
}

fn create_address<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    if input.word_of(ADDRESS).is_some() {
        let user = Some(input.decimal()?);
        let mut ahead = *input;
        // The router of the address, which is one here.
        if ahead.space().is_some() && ahead.word().is_some_and(|word| word.starts_with("smp://")) {
            *input = ahead;
        }
        let ratchet_keys = input.maybe_switch(OPTION_PQ_RATCHET).is_some();
        return Some(Command::CreateAddress { user, ratchet_keys });
    }
    input.one_of(&["/address", "/ad"])?;
    Some(Command::CreateAddress { user: None, ratchet_keys: false })
}

fn delete_address<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    if input.has("/_delete_address ") {
        return input.decimal().map(|user| Command::DeleteAddress { user: Some(user) });
    }
    input.one_of(&["/delete_address", "/da"])?;
    Some(Command::DeleteAddress { user: None })
}

fn show_address<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    if input.word_of(SHOW_ADDRESS).is_some() {
        return input.decimal().map(|user| Command::ShowAddress { user: Some(user) });
    }
    input.one_of(&["/show_address", "/sa"])?;
    Some(Command::ShowAddress { user: None })
}

fn short_link_address<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(SHORT_LINK_ADDRESS)?;
    let user = input.decimal()?;
    Some(Command::ShortLinkAddress {
        user,
        ratchet_keys: input.maybe_switch(OPTION_PQ_RATCHET).is_some(),
    })
}

fn address_settings<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(ADDRESS_SETTINGS)?;
    let user = input.decimal()?;
    let ratchet_keys = input.maybe_switch(OPTION_PQ_RATCHET).is_some();
    input.space()?;
    let settings = settings(input.json()?.as_object()?)?;
    Some(Command::AddressSettings { user, ratchet_keys, settings })
}

/// `businessAddress` has to be there, and `acceptIncognito` in an `autoAccept` that is no null.
fn settings(object: Object<'_>) -> Option<Settings> {
    let business = object.get("businessAddress").ok()??.as_bool()?;
    let present = |name| object.get(name).map(|value| value.filter(|value| !value.is_null()));
    let auto_accept = match present("autoAccept").ok()? {
        Some(value) => Some(value.as_object()?.get("acceptIncognito").ok()??.as_bool()?),
        None => None,
    };
    let auto_reply = match present("autoReply").ok()? {
        Some(value) => {
            let content = value.as_object()?;
            content.str("type").ok()??;
            Some(content.str("text").ok()??.chars().collect())
        }
        None => None,
    };
    let incognito = auto_accept.unwrap_or_default();
    Some(Settings { business, auto_accept: auto_accept.is_some(), incognito, auto_reply })
}

/// The options in this order, each behind exactly one space; the JSON is an object.
fn service_request<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(SERVICE_REQUEST)?;
    let user = input.decimal()?;
    input.space()?;
    let target = target(input)?;
    let is_contact = match Link::parse(target) {
        Ok(link) => link.kind() == LinkKind::Contact,
        Err(_) => Name::parse(target).is_ok_and(|name| name.kind() == NameKind::Contact),
    };
    if !is_contact {
        return None;
    }
    let timeout = if input.option(OPTION_TIMEOUT) { Some(seconds(input.word()?)?) } else { None };
    let sign_key = if input.option(OPTION_SIGN_KEY) { Some(input.word()?) } else { None };
    if sign_key.is_some_and(|key| !is_key(key)) {
        return None;
    }
    input.space()?;
    let data = input.json()?.as_object()?;
    Some(Command::ServiceRequest(ServiceRequest { user, target, timeout, sign_key, data }))
}

/// Seconds as attoparsec's `double` reads them, to a millisecond.
fn seconds(text: &str) -> Option<Duration> {
    let number =
        Value::parse(text).ok().filter(|number| number.kind() == crate::json::Kind::Number);
    let seconds: f64 = number?.get().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(feature = "sign")]
fn is_key(text: &str) -> bool {
    crate::rpc::sign::SecretKey::parse(text).is_ok()
}

#[cfg(not(feature = "sign"))]
fn is_key(_: &str) -> bool {
    true
}

fn service_response<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    input.word_of(SERVICE_RESPONSE)?;
    let user = input.decimal()?;
    input.space()?;
    let request = input.word()?;
    input.space()?;
    let data = input.json()?.as_object()?;
    Some(Command::ServiceResponse { user, request, data })
}

/// `@name text` and `#name text`: by name, so `@4 text` is for the contact with the name 4. The
/// text may be a JSON string.
fn send_by_name<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    let is_group = !input.has("@");
    if is_group {
        input.tag("#")?;
    }
    let name = input.display_name()?;
    input.space()?;
    let text = input.text();
    let string = Value::parse(text).ok().and_then(|value| value.as_str());
    let text = string.map_or_else(|| String::from(text), |text: Str<'_>| text.chars().collect());
    Some(Command::SendByName { is_group, name, text })
}

/// The version, and what a real core does besides.
fn others<'a>(input: &mut Input<'a>) -> Option<Command<'a>> {
    let mut ahead = *input;
    if ahead.one_of(&["/version", VERSION]).is_some() && ahead.end().is_some() {
        input.text();
        return Some(Command::Version);
    }
    super::not_done::is_command(input.text()).then_some(Command::NotDone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(text: &str) -> Option<(Chat, bool, Option<u32>, usize)> {
        match parse(text)? {
            Command::Send { to, live, ttl, messages } => Some((to.chat, live, ttl, messages.len())),
            other => panic!("{other:?}"),
        }
    }

    /// simplex-chat `Commands.hs`, `APISendMessages`: `sendRefP`, `liveMessageP`,
    /// `sendMessageTTLP`, then ` json ` or ` text `.
    #[test]
    fn the_options_of_send_stand_in_one_order() {
        let one = r#"[{"msgContent":{"type":"text","text":"x"}}]"#;
        let chat = Chat::Direct(ContactId(4));
        for (options, expected) in [
            ("", Some((chat, false, None, 1))),
            (" live=on", Some((chat, true, None, 1))),
            (" ttl=60", Some((chat, false, Some(60), 1))),
            (" ttl=default", Some((chat, false, None, 1))),
            (" live=off ttl=60 sign=on", Some((chat, false, Some(60), 1))),
            (" ttl=60 live=on", None),
            (" sign=on ttl=60", None),
            ("  live=on", None),
            (" live=yes", None),
        ] {
            let command = alloc::format!("/_send @4{options} json {one}");
            assert_eq!(send(&command), expected, "{options}");
        }
        assert_eq!(send("/_send #7 text hello"), Some((Chat::Group(GroupId(7)), false, None, 1)));
    }

    /// simplex-chat `Commands.hs`, `APISendMessages`: a non-empty list of `ComposedMessage`; and
    /// its issue 6479, a command of a published client.
    #[test]
    fn send_takes_a_list_of_messages_and_numbers_for_chats() {
        for text in [
            r#"/_send @4 json {"msgContent":{"type":"text","text":"x"}}"#,
            "/_send @4 json []",
            r#"/_send @4 json [{"msgContent":"x"}]"#,
            r#"/_send @4 json [{"msgContent":{"type":"text"}}]"#,
            r#"/_send @4 json [{"msgContent":{"type":"text","text":"x"},"quotedItemId":"5"}]"#,
            r#"/_send @4 json [{"msgContent":{"type":"text","text":"x"},"mentions":[]}]"#,
            r#"/_send @ann json [{"msgContent":{"type":"text","text":"x"}}]"#,
            r#"/_send [object Object] json [{"msgContent":{"type":"text","text":"x"}}]"#,
            r#"/_send 4 json [{"msgContent":{"type":"text","text":"x"}}]"#,
            "/_send @4",
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
        let text = r#"/_send #1 json [{"msgContent":{"type":"text","text":"a\u0062"},
            "quotedItemId":5,"mentions":{"bot":7},"unknown":1},
            {"msgContent":{"type":"text","text":"y"},"quotedItemId":null}]"#;
        let Some(Command::Send { messages, .. }) = parse(text) else { panic!() };
        let (text, quoted) = (messages[0].text.as_str(), messages[0].quoted);
        assert_eq!((text, quoted), ("ab", Some(ItemId(5))));
        assert_eq!(messages[0].mentions, [("bot".into(), GroupMemberId(7))]);
        assert_eq!(messages[1].quoted, None);
    }

    /// What [`simplex::command`](crate::simplex::command) writes is read as what it is.
    #[test]
    fn every_command_that_a_session_writes_is_read() {
        use crate::simplex::UserId;
        use crate::simplex::command::{self as written, SendOptions, SignKey, Start, Ttl};
        let object = Object::parse(r#"{"displayName":"a","fullName":""}"#).unwrap();
        let settings = Object::parse(r#"{"businessAddress":false}"#).unwrap();
        let full = "simplex:/contact#/?v=2-7&smp=smp%3A%2F%2Fkey%40host%2Fqueue&rk=keys";
        let short = "https://a.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
        let key = "MC4CAQAwBQYDK2VwBCIEIDfEfevydXXfKajz3sRkcQ7RPvfWUPoq6pu1TYHV1DEe";
        let user = UserId(1);
        let chat = Chat::Group(GroupId(2)).into();
        let support = ChatRef::from(Chat::Group(GroupId(2)))
            .scope(written::Scope::MemberSupport(GroupMemberId(3)));
        let mut options = SendOptions::default();
        (options.live, options.ttl) = (Some(true), Some(Ttl::Seconds(9)));
        let mentions = [("bot", GroupMemberId(7))];
        let messages = [written::Composed::new("a\n\"").quoting(ItemId(5)).mentioning(&mentions)];
        let commands = [
            written::Command::Version,
            written::Command::ActiveUser,
            written::Command::Users,
            written::Command::SetActiveUser(user),
            written::Command::Start(Start { service_requests: Some(true), ..Start::default() }),
            written::Command::Stop,
            written::Command::Send { to: chat, options, messages: &messages },
            written::Command::Send { to: support, options, messages: &messages },
            written::Command::ConnectPlan { user, target: short },
            written::Command::Connect {
                user,
                incognito: Some(false),
                full_link: full,
                short_link: Some(short),
            },
            written::Command::ConnectTo { incognito: true, target: short },
            written::Command::CreateAddress { user, pq_ratchet: Some(true) },
            written::Command::ShowAddress(user),
            written::Command::ShortLinkAddress { user, pq_ratchet: Some(false) },
            written::Command::AddressSettings { user, pq_ratchet: None, settings },
            written::Command::RotateAddressKeys(user),
            written::Command::SetProfile { user, profile: object },
            written::Command::SetGroupProfile { group: GroupId(2), profile: object },
            written::Command::SetContactPreferences { contact: ContactId(3), preferences: object },
            written::Command::Members(GroupId(2)),
            written::Command::Accept { request: ContactRequestId(4), incognito: None },
            written::Command::Contacts(user),
            written::Command::Groups(user),
            written::Command::GetChats { user, count: 1_000 },
            written::Command::GetChat { chat, page: Page::After { item: ItemId(1), count: 9 } },
            written::Command::ServiceRequest {
                user,
                target: full,
                timeout: Some(Duration::from_millis(2_500)),
                sign_key: Some(SignKey::new(key)),
                request: object,
            },
            written::Command::ServiceResponse { user, request_id: "bm9uZQ==", response: object },
        ];
        for command in commands {
            let mut buffer = [0; 1_024];
            let text = command.write(&mut buffer).unwrap();
            let read = parse(text);
            assert!(!matches!(read, None | Some(Command::NotDone)), "{text}: {read:?}");
        }
    }

    /// simplex-chat `Commands.hs`, `StartChat`.
    #[test]
    fn start_needs_main_before_any_other_option() {
        let start = |text| match parse(text) {
            Some(Command::Start { service_requests }) => Some(service_requests),
            Some(other) => panic!("{other:?}"),
            None => None,
        };
        assert_eq!(start("/_start"), Some(false));
        assert_eq!(start("/_start main=on"), Some(false));
        assert_eq!(start("/_start main=on snd_files=off service_requests=on"), Some(true));
        assert_eq!(start("/_start main=off service_requests=off"), Some(false));
        for text in [
            "/_start service_requests=on",
            "/_start main=on service_requests=on snd_files=on",
            "/_start subscribe=on expire=off",
            "/_start main=yes",
        ] {
            assert_eq!(start(text), None, "{text}");
        }
    }

    /// *Agent protocols over SimpleX*, "Exchange"; simplex-chat `Commands.hs`,
    /// `APISendServiceRequest`.
    #[test]
    fn a_service_request_has_its_options_in_order_and_an_object() {
        let link = "simplex:/contact#/?v=2-7&smp=smp%3A%2F%2Fkey%40host%2Fqueue&rk=keys";
        let key = "MC4CAQAwBQYDK2VwBCIEIDfEfevydXXfKajz3sRkcQ7RPvfWUPoq6pu1TYHV1DEe";
        let read = |rest: &str| {
            let text = alloc::format!("/_service_request 1 {link}{rest}");
            let Some(Command::ServiceRequest(request)) = parse(&text) else { return None };
            Some((request.timeout, request.sign_key.is_some()))
        };
        let seconds = |seconds| Some(Duration::from_millis(seconds));
        assert_eq!(read(" {}"), Some((None, false)));
        assert_eq!(read("\n{\"a\":1}"), Some((None, false)));
        assert_eq!(read(" timeout=10 {}"), Some((seconds(10_000), false)));
        assert_eq!(read(" timeout=2.5 {}"), Some((seconds(2_500), false)));
        assert_eq!(read(" timeout=1e1 {}"), Some((seconds(10_000), false)));
        let signed = alloc::format!(" sign_key={key} {{}}");
        assert_eq!(read(&signed), Some((None, true)));
        let both = alloc::format!(" timeout=1 sign_key={key} {{}}");
        assert_eq!(read(&both), Some((seconds(1_000), true)));
        for rest in [
            "".into(),
            " []".into(),
            "{}".into(),
            "  timeout=1 {}".into(),
            " timeout=-1 {}".into(),
            " timeout=x {}".into(),
            alloc::format!(" sign_key={key} timeout=1 {{}}"),
        ] {
            let rest: String = rest;
            assert_eq!(read(&rest), None, "{rest}");
        }
        for target in ["@bob", "#name.simplex/", "https://a.example/i#bGluaw/a2V5", "bob"] {
            let text = alloc::format!("/_service_request 1 {target} {{}}");
            assert!(parse(&text).is_none(), "{target}");
        }
    }

    /// simplex-chat `Commands.hs`: `"/_update item "` … `" json" *> jsonP`, `"/_delete item "`.
    #[test]
    fn items_are_updated_and_deleted_by_chat_and_number() {
        let content = r#"{"msgContent":{"type":"text","text":"x"},"mentions":{}}"#;
        for (text, is_command) in [
            (alloc::format!("/_update item @1 5 json {content}"), true),
            (alloc::format!("/_update item @1 5 live=on json{content}"), true),
            ("/_update item #1 5 text hello".into(), true),
            (r#"/_update item @1 5 json {"type":"text","text":"x"}"#.into(), false),
            ("/_delete item @1 5 broadcast".into(), true),
            ("/_delete item @1 5,6 internal".into(), true),
            ("/_delete item @1 5 forever".into(), false),
            ("/_delete item @1  5 internal".into(), false),
        ] {
            let text: String = text;
            assert_eq!(parse(&text).is_some(), is_command, "{text}");
        }
    }

    /// simplex-chat `Commands.hs`, `chatDeleteMode`; `bots/api/TYPES.md`, `ChatDeleteMode`.
    #[test]
    fn a_chat_is_deleted_with_everything_unless_it_is_said() {
        let read = |rest: &str| {
            let text = alloc::format!("/_delete {rest}");
            match parse(&text) {
                Some(Command::DeleteChat { chat, what, notify }) => Some((chat, what, notify)),
                _ => None,
            }
        };
        let (contact, group) = (Chat::Direct(ContactId(4)), Chat::Group(GroupId(7)));
        for (rest, expected) in [
            ("@4", Some((contact, ChatDeletion::Full, true))),
            ("@4 full", Some((contact, ChatDeletion::Full, true))),
            ("@4 full notify=off", Some((contact, ChatDeletion::Full, false))),
            ("@4 notify=off", Some((contact, ChatDeletion::Full, false))),
            ("#7 entity notify=on", Some((group, ChatDeletion::Entity, true))),
            ("#7 messages", Some((group, ChatDeletion::Messages, true))),
            ("#7 messages notify=off", None),
            ("@4 all", None),
            ("#7(_support)", None),
            ("4", None),
        ] {
            assert_eq!(read(rest), expected, "{rest}");
        }
        assert!(matches!(parse("/_delete :5"), Some(Command::DeleteConnection(5))));
    }

    #[test]
    fn an_invitation_is_asked_for_by_leaving_the_link_out() {
        for (text, expected) in [
            ("/_connect 1", Some((Some(1), false))),
            ("/_connect 1 incognito=on", Some((Some(1), true))),
            ("/connect", Some((None, false))),
            ("/c i", Some((None, true))),
            ("/c incognito ", Some((None, true))),
            ("/_connect", None),
            ("/_connect 1 incognito=yes", None),
        ] {
            let read = match parse(text) {
                Some(Command::Invite { user, incognito }) => Some((user, incognito)),
                _ => None,
            };
            assert_eq!(read, expected, "{text}");
        }
    }

    /// simplex-chat `Commands.hs`, `chatCommandP`: `choice` asks for the end of the input.
    #[test]
    fn every_command_takes_the_whole_text_but_for_spaces() {
        for text in ["/v", "/version", "/u  ", "/user", "/_members #3 ", "/_contacts 1"] {
            assert!(parse(text).is_some(), "{text}");
        }
        for text in ["/vx", "/v\tx", "/_members #3 4", "/_contacts", "/_call mcp {}", "", "hello"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
