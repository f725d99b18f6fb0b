//! The words of the core's command grammar (simplex-chat, `Commands.hs`), for both sides of it:
//! what writes commands and what reads them.

/// `/v`: the core's version; answered with `versionInfo`.
pub const VERSION: &str = "/v";
/// `/u`: the active user; answered with `activeUser`. `/user` is the same.
pub const ACTIVE_USER: &str = "/u";
/// `/user`: the long form of [`ACTIVE_USER`].
pub const ACTIVE_USER_LONG: &str = "/user";
/// `/users`: all users; answered with `usersList`.
pub const USERS: &str = "/users";
/// `/_user <userId>`: makes another user the active one; answered with `activeUser`.
pub const SET_ACTIVE_USER: &str = "/_user";
/// `/_start main=on|off[ snd_files=on|off][ service_requests=on|off]`: answered with
/// `chatStarted`, or with `chatRunning` if it runs already; its options are not applied then.
pub const START: &str = "/_start";
/// `/_stop`: answered with `chatStopped`.
pub const STOP: &str = "/_stop";
/// `/_send <ref>[ live=on|off][ ttl=<n>|default][ sign=on|off] json [..]`: answered with
/// `newChatItems`.
pub const SEND: &str = "/_send";
/// `/_connect plan <userId> <link or name>`: what connecting would do; answered with
/// `connectionPlan`.
pub const CONNECT_PLAN: &str = "/_connect plan";
/// `/_connect <userId>[ incognito=on|off] <full link>[ <short link>]`.
pub const CONNECT: &str = "/_connect";
/// `/connect[ incognito] <link or name>`.
pub const CONNECT_TO: &str = "/connect";
/// `/_address <userId>[ pq_ratchet=on|off]`: creates the user's address.
pub const ADDRESS: &str = "/_address";
/// `/_show_address <userId>`: answered with `userContactLink`.
pub const SHOW_ADDRESS: &str = "/_show_address";
/// `/_short_link_address <userId>[ pq_ratchet=on|off]`: adds a short link to the address.
pub const SHORT_LINK_ADDRESS: &str = "/_short_link_address";
/// `/_address_settings <userId>[ pq_ratchet=on|off] <json>`.
pub const ADDRESS_SETTINGS: &str = "/_address_settings";
/// `/_rotate_address_keys <userId>`.
pub const ROTATE_ADDRESS_KEYS: &str = "/_rotate_address_keys";
/// `/_profile <userId> <json>`: answered with `userProfileUpdated` or `userProfileNoChange`.
pub const PROFILE: &str = "/_profile";
/// `/_group_profile #<groupId> <json>`: answered with `groupUpdated`.
pub const GROUP_PROFILE: &str = "/_group_profile";
/// `/_set prefs @<contactId> <json>`.
pub const CONTACT_PREFERENCES: &str = "/_set prefs";
/// `/_members #<groupId>`: answered with `groupMembers`.
pub const MEMBERS: &str = "/_members";
/// `/_accept[ incognito=on|off] <contactRequestId>`.
pub const ACCEPT: &str = "/_accept";
/// `/_contacts <userId>`: answered with `contactsList`.
pub const CONTACTS: &str = "/_contacts";
/// `/_groups <userId>`: answered with `groupsList`.
pub const GROUPS: &str = "/_groups";
/// `/_get chat <ref> count=<n>`, `… after=<itemId> count=<n>`, `… before=<itemId> count=<n>`:
/// answered with `apiChat`.
pub const GET_CHAT: &str = "/_get chat";
/// `/_get chats <userId>[ pcc=on|off] count=<n>`: the conversations with the newest activity first,
/// each with its newest item; answered with `apiChats`.
pub const GET_CHATS: &str = "/_get chats";
/// `/_service_request <userId> <target>[ timeout=<seconds>][ sign_key=<key>] <json>`: answered
/// with `serviceResponse`.
pub const SERVICE_REQUEST: &str = "/_service_request";
/// `/_service_response <userId> <requestId> <json>`: answered with `serviceReplyAccepted`.
pub const SERVICE_RESPONSE: &str = "/_service_response";

/// The option of [`START`] that says whether the chat's main work runs.
pub const OPTION_MAIN: &str = "main=";
/// The option of [`START`] for sending files.
pub const OPTION_SEND_FILES: &str = "snd_files=";
/// The option of [`START`] that lets Service RPC requests in.
pub const OPTION_SERVICE_REQUESTS: &str = "service_requests=";
/// The option of [`SEND`] for a message that is still being written.
pub const OPTION_LIVE: &str = "live=";
/// The option of [`SEND`] for the seconds after which the message is deleted.
pub const OPTION_TTL: &str = "ttl=";
/// The option of [`SEND`] that has it signed, in groups with relays.
pub const OPTION_SIGN: &str = "sign=";
/// What stands before the messages of [`SEND`].
pub const WORD_JSON: &str = "json";
/// What stands before a plain text of [`SEND`].
pub const WORD_TEXT: &str = "text";
/// The option of connecting and accepting under a random profile.
pub const OPTION_INCOGNITO: &str = "incognito=";
/// The same of [`CONNECT_TO`], which has a word in its place.
pub const WORD_INCOGNITO: &str = "incognito";
/// The option that gives an address ratchet keys, so that it takes Service RPC requests.
pub const OPTION_PQ_RATCHET: &str = "pq_ratchet=";
/// The option of [`GET_CHATS`] for connections that are no contacts yet.
pub const OPTION_PENDING: &str = "pcc=";
/// The option of [`GET_CHAT`] for how many items, and of [`GET_CHATS`] for how many conversations.
pub const OPTION_COUNT: &str = "count=";
/// The option of [`GET_CHAT`] for items after one.
pub const OPTION_AFTER: &str = "after=";
/// The option of [`GET_CHAT`] for items before one.
pub const OPTION_BEFORE: &str = "before=";
/// The option of [`SERVICE_REQUEST`] for how long to wait, in seconds.
pub const OPTION_TIMEOUT: &str = "timeout=";
/// The option of [`SERVICE_REQUEST`] for the key that signs.
pub const OPTION_SIGN_KEY: &str = "sign_key=";

/// The marks of a [`ChatRef`](super::ChatRef): the support chat of a group or of one member, and
/// sending in the group's own name.
pub const SCOPE_SUPPORT: &str = "(_support";
/// See [`SCOPE_SUPPORT`].
pub const AS_GROUP: &str = "(as_group=on)";

/// How the grammar writes a truth value.
#[must_use]
pub const fn on_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

/// Reads a truth value as the grammar writes it.
///
/// ```
/// use agentwire_core::simplex::command::grammar::read_on_off;
/// assert_eq!(read_on_off("on"), Some(true));
/// assert_eq!(read_on_off("On"), None);
/// ```
#[must_use]
pub fn read_on_off(text: &str) -> Option<bool> {
    match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}
