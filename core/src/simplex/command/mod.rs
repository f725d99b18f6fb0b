//! Commands, written exactly as the core's grammar reads them (simplex-chat, `Commands.hs`,
//! `chatCommandP`).
//!
//! The grammar is strict where its own clients are loose: the options of a command stand in a
//! fixed order with one space before each, `/_send` takes an array and nothing else, conversations
//! go by number. To whatever it cannot read the core answers the same `commandError`, "Failed
//! reading: empty". So a [`Command`] is a type that has no room for most mistakes, and what is
//! left is a [`CommandError`] before anything is sent.
//!
//! ```text
//! {"corrId":"7","cmd":"/_send @4 json [{\"quotedItemId\":5,\"msgContent\":{…},\"mentions\":{}}]"}
//!                      ╰──────────────── Command::write ────────────────────────────────────────╯
//! ╰─────────────────────────────────── Command::write_frame ──────────────────────────────────────╯
//! ```

mod chat_ref;
mod error;
pub mod grammar;
mod out;
mod send;
#[cfg(test)]
mod tests;

use core::fmt;
use core::time::Duration;

pub use chat_ref::{ChatRef, ChatRefError, Scope};
pub use error::{CommandError, Part};
use grammar::*;
use out::Out;
pub use send::{Composed, SendOptions, Ttl};

use super::{ContactRequestId, UserId};
use crate::chat::{Chat, ContactId, GroupId, ItemId};
use crate::json::{Object, Writer};

/// How the chat is to run: the options of `/_start`.
///
/// ```
/// use agentwire_core::simplex::command::{Command, Start};
/// let start = Start { service_requests: Some(true), ..Start::default() };
/// let mut buffer = [0; 64];
/// let text = Command::Start(start).write(&mut buffer).unwrap();
/// assert_eq!(text, "/_start main=on service_requests=on");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)] // The options of the core's grammar.
pub struct Start {
    /// Whether the main work runs: receiving and sending.
    pub main: bool,
    /// Whether files are sent.
    pub send_files: Option<bool>,
    /// Whether Service RPC requests are let in; off if it does not say.
    pub service_requests: Option<bool>,
}

impl Default for Start {
    /// `main=on` alone.
    fn default() -> Self {
        Self { main: true, send_files: None, service_requests: None }
    }
}

/// Which items of a conversation `/_get chat` gives.
///
/// ```
/// use agentwire_core::chat::ItemId;
/// use agentwire_core::simplex::command::Page;
/// assert_ne!(Page::Last { count: 100 }, Page::After { item: ItemId(0), count: 100 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Page {
    /// The newest ones.
    Last {
        /// How many.
        count: u32,
    },
    /// The first ones after an item, so the next page begins after the last of them.
    After {
        /// The item.
        item: ItemId,
        /// How many.
        count: u32,
    },
    /// The last ones before an item.
    Before {
        /// The item.
        item: ItemId,
        /// How many.
        count: u32,
    },
}

/// An Ed25519 private key as `/_service_request` takes it. `Debug` does not show it.
///
/// ```
/// use agentwire_core::simplex::command::SignKey;
/// assert_eq!(format!("{:?}", SignKey::new("MC4CAQ")), "SignKey(..)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SignKey<'c>(&'c str);

impl<'c> SignKey<'c> {
    /// A key in the core's encoding: base64url of its PKCS #8 DER.
    #[must_use]
    pub const fn new(text: &'c str) -> Self {
        Self(text)
    }

    /// The key itself.
    #[must_use]
    pub const fn expose(self) -> &'c str {
        self.0
    }
}

impl fmt::Debug for SignKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignKey(..)")
    }
}

/// A command of the core's bot API. JSON parts are proofs of being objects: the grammar takes no
/// other JSON there. `Debug` shows the command's word alone.
///
/// ```
/// use agentwire_core::chat::{Chat, ContactId, ItemId};
/// use agentwire_core::simplex::command::{Command, Composed, SendOptions};
///
/// let messages = [Composed::new(r#"{"id":1}"#).quoting(ItemId(5))];
/// let to = Chat::Direct(ContactId(4)).into();
/// let send = Command::Send { to, options: SendOptions::default(), messages: &messages };
///
/// let mut buffer = [0; 256];
/// assert_eq!(
///     send.write(&mut buffer).unwrap(),
///     r#"/_send @4 json [{"quotedItemId":5,"msgContent":{"type":"text","text":"{\"id\":1}"},"mentions":{}}]"#
/// );
/// assert!(send.write_frame("7", &mut buffer).unwrap().starts_with(r#"{"corrId":"7","cmd":"/_send @4 "#));
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Command<'c> {
    /// [`VERSION`]
    Version,
    /// [`ACTIVE_USER`]
    ActiveUser,
    /// [`USERS`]
    Users,
    /// [`SET_ACTIVE_USER`]
    SetActiveUser(UserId),
    /// [`START`]
    Start(Start),
    /// [`STOP`]
    Stop,
    /// [`SEND`]
    Send {
        /// The conversation.
        to: ChatRef,
        /// How.
        options: SendOptions,
        /// What; with one quote among them at most.
        messages: &'c [Composed<'c>],
    },
    /// [`CONNECT_PLAN`]
    ConnectPlan {
        /// Who would connect.
        user: UserId,
        /// The link or the SimpleX name.
        target: &'c str,
    },
    /// [`CONNECT`]
    Connect {
        /// Who connects.
        user: UserId,
        /// Whether under a random profile.
        incognito: Option<bool>,
        /// The full link.
        full_link: &'c str,
        /// The short link that it came from.
        short_link: Option<&'c str>,
    },
    /// [`CONNECT_TO`]
    ConnectTo {
        /// Whether under a random profile.
        incognito: bool,
        /// The link or the SimpleX name.
        target: &'c str,
    },
    /// [`ADDRESS`]
    CreateAddress {
        /// Whose.
        user: UserId,
        /// Either value gives the address ratchet keys; `None` does not.
        pq_ratchet: Option<bool>,
    },
    /// [`SHOW_ADDRESS`]
    ShowAddress(UserId),
    /// [`SHORT_LINK_ADDRESS`]
    ShortLinkAddress {
        /// Whose.
        user: UserId,
        /// As with [`CreateAddress`](Self::CreateAddress).
        pq_ratchet: Option<bool>,
    },
    /// [`ADDRESS_SETTINGS`]
    AddressSettings {
        /// Whose.
        user: UserId,
        /// As with [`CreateAddress`](Self::CreateAddress).
        pq_ratchet: Option<bool>,
        /// The core's `AddressSettings`.
        settings: Object<'c>,
    },
    /// [`ROTATE_ADDRESS_KEYS`]
    RotateAddressKeys(UserId),
    /// [`PROFILE`]
    SetProfile {
        /// Whose.
        user: UserId,
        /// The core's `Profile`: see [`profile`](super::profile).
        profile: Object<'c>,
    },
    /// [`GROUP_PROFILE`]
    SetGroupProfile {
        /// Of which group.
        group: GroupId,
        /// The core's `GroupProfile`.
        profile: Object<'c>,
    },
    /// [`CONTACT_PREFERENCES`]
    SetContactPreferences {
        /// For which contact.
        contact: ContactId,
        /// The core's `Preferences`.
        preferences: Object<'c>,
    },
    /// [`MEMBERS`]
    Members(GroupId),
    /// [`ACCEPT`]
    Accept {
        /// Whose wish.
        request: ContactRequestId,
        /// Whether under a random profile.
        incognito: Option<bool>,
    },
    /// [`CONTACTS`]
    Contacts(UserId),
    /// [`GROUPS`]
    Groups(UserId),
    /// [`GET_CHAT`]
    GetChat {
        /// The conversation.
        chat: ChatRef,
        /// Which items.
        page: Page,
    },
    /// [`GET_CHATS`]
    GetChats {
        /// Whose.
        user: UserId,
        /// How many.
        count: u32,
    },
    /// [`SERVICE_REQUEST`]
    ServiceRequest {
        /// Who asks: the active user.
        user: UserId,
        /// A contact address link or the SimpleX name of one.
        target: &'c str,
        /// How long to wait for the response, rounded up to a millisecond; 30 seconds if it does
        /// not say.
        timeout: Option<Duration>,
        /// With which key to sign.
        sign_key: Option<SignKey<'c>>,
        /// The envelope.
        request: Object<'c>,
    },
    /// [`SERVICE_RESPONSE`]
    ServiceResponse {
        /// Who answers: the active user.
        user: UserId,
        /// The core's id of the request.
        request_id: &'c str,
        /// The envelope.
        response: Object<'c>,
    },
    /// Any other command, as it is. The core strips white space from its end.
    Raw(&'c str),
}

impl<'c> Command<'c> {
    /// The command's word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Version => VERSION,
            Self::ActiveUser => ACTIVE_USER,
            Self::Users => USERS,
            Self::SetActiveUser(_) => SET_ACTIVE_USER,
            Self::Start(_) => START,
            Self::Stop => STOP,
            Self::Send { .. } => SEND,
            Self::ConnectPlan { .. } => CONNECT_PLAN,
            Self::Connect { .. } => CONNECT,
            Self::ConnectTo { .. } => CONNECT_TO,
            Self::CreateAddress { .. } => ADDRESS,
            Self::ShowAddress(_) => SHOW_ADDRESS,
            Self::ShortLinkAddress { .. } => SHORT_LINK_ADDRESS,
            Self::AddressSettings { .. } => ADDRESS_SETTINGS,
            Self::RotateAddressKeys(_) => ROTATE_ADDRESS_KEYS,
            Self::SetProfile { .. } => PROFILE,
            Self::SetGroupProfile { .. } => GROUP_PROFILE,
            Self::SetContactPreferences { .. } => CONTACT_PREFERENCES,
            Self::Members(_) => MEMBERS,
            Self::Accept { .. } => ACCEPT,
            Self::Contacts(_) => CONTACTS,
            Self::Groups(_) => GROUPS,
            Self::GetChat { .. } => GET_CHAT,
            Self::GetChats { .. } => GET_CHATS,
            Self::ServiceRequest { .. } => SERVICE_REQUEST,
            Self::ServiceResponse { .. } => SERVICE_RESPONSE,
            Self::Raw(_) => "a raw command",
        }
    }

    /// Whether the grammar can express it.
    ///
    /// # Errors
    /// [`CommandError`] with what it cannot.
    pub fn check(&self) -> Result<(), CommandError> {
        match *self {
            Self::Version | Self::ActiveUser | Self::Users | Self::Start(_) | Self::Stop => Ok(()),
            Self::SetActiveUser(user)
            | Self::ShowAddress(user)
            | Self::RotateAddressKeys(user)
            | Self::Contacts(user)
            | Self::Groups(user)
            | Self::CreateAddress { user, .. }
            | Self::ShortLinkAddress { user, .. }
            | Self::AddressSettings { user, .. }
            | Self::SetProfile { user, .. }
            | Self::GetChats { user, .. } => nonnegative(user.0),
            Self::Send { to, options, messages } => {
                to.check()?;
                send::check(to, options, messages)
            }
            Self::ConnectPlan { user, target } => {
                nonnegative(user.0)?;
                word(Part::Target, target)
            }
            Self::Connect { user, full_link, short_link, .. } => {
                nonnegative(user.0)?;
                word(Part::Target, full_link)?;
                short_link.map_or(Ok(()), |link| word(Part::ShortLink, link))
            }
            Self::ConnectTo { target, .. } => word(Part::Target, target),
            Self::SetGroupProfile { group, .. } | Self::Members(group) => nonnegative(group.0),
            Self::SetContactPreferences { contact, .. } => nonnegative(contact.0),
            Self::Accept { request, .. } => nonnegative(request.0),
            Self::GetChat { chat, page } => {
                chat.check()?;
                match page {
                    Page::Last { .. } => Ok(()),
                    Page::After { item, .. } | Page::Before { item, .. } => nonnegative(item.0),
                }
            }
            Self::ServiceRequest { user, target, timeout, sign_key, .. } => {
                nonnegative(user.0)?;
                word(Part::Target, target)?;
                if timeout == Some(Duration::ZERO) {
                    return Err(CommandError::NoTime);
                }
                sign_key.map_or(Ok(()), |key| word(Part::SignKey, key.expose()))
            }
            Self::ServiceResponse { user, request_id, .. } => {
                nonnegative(user.0)?;
                word(Part::RequestId, request_id)
            }
            Self::Raw(text) if text.trim().is_empty() => {
                Err(CommandError::Empty { part: Part::Raw })
            }
            Self::Raw(_) => Ok(()),
        }
    }

    /// Writes the command's text into `out`.
    ///
    /// # Errors
    /// [`CommandError`]; nothing usable was written then.
    pub fn write<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, CommandError> {
        self.check()?;
        let mut writer = Writer::new(out);
        self.write_to(&mut Out::new(&mut writer, false));
        Ok(writer.finish()?)
    }

    /// Writes the frame into `out`: `{"corrId":"…","cmd":"…"}`. The core's answer has the same
    /// `corrId`.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_frame<'o>(
        &self,
        corr_id: &str,
        out: &'o mut [u8],
    ) -> Result<&'o str, CommandError> {
        self.check()?;
        let mut writer = Writer::new(out);
        self.frame_to(corr_id, &mut writer);
        Ok(writer.finish()?)
    }

    /// The command's text in a string of its own.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    #[cfg(feature = "alloc")]
    pub fn to_text(&self) -> Result<alloc::string::String, CommandError> {
        self.check()?;
        Ok(crate::json::to_text(|writer| self.write_to(&mut Out::new(writer, false))))
    }

    /// The frame in a string of its own.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    #[cfg(feature = "alloc")]
    pub fn to_frame(&self, corr_id: &str) -> Result<alloc::string::String, CommandError> {
        self.check()?;
        Ok(crate::json::to_text(|writer| self.frame_to(corr_id, writer)))
    }

    /// The same, written in a buffer that is kept for the next one.
    #[cfg(feature = "alloc")]
    pub(crate) fn frame_through(
        &self,
        corr_id: &str,
        buffer: &mut alloc::vec::Vec<u8>,
    ) -> Result<alloc::string::String, CommandError> {
        self.check()?;
        Ok(crate::json::to_text_through(buffer, |writer| self.frame_to(corr_id, writer)))
    }

    fn frame_to(&self, corr_id: &str, writer: &mut Writer<'_>) {
        writer.raw("{\"corrId\":").string(corr_id).raw(",\"cmd\":\"");
        self.write_to(&mut Out::new(writer, true));
        writer.raw("\"}");
    }

    fn write_to(&self, out: &mut Out<'_, '_>) {
        match *self {
            Self::Send { to, options, messages } => return send::write(to, options, messages, out),
            Self::Raw(text) => {
                out.raw(text);
                return;
            }
            _ => out.raw(self.word()),
        };
        match *self {
            Self::Version
            | Self::ActiveUser
            | Self::Users
            | Self::Stop
            | Self::Send { .. }
            | Self::Raw(_) => out,
            Self::SetActiveUser(user)
            | Self::ShowAddress(user)
            | Self::RotateAddressKeys(user)
            | Self::Contacts(user)
            | Self::Groups(user) => out.user(user),
            Self::Start(start) => out
                .flag(OPTION_MAIN, Some(start.main))
                .flag(OPTION_SEND_FILES, start.send_files)
                .flag(OPTION_SERVICE_REQUESTS, start.service_requests),
            Self::ConnectPlan { user, target } => out.user(user).raw(" ").raw(target),
            Self::Connect { user, incognito, full_link, short_link } => {
                out.user(user).flag(OPTION_INCOGNITO, incognito).raw(" ").raw(full_link);
                match short_link {
                    Some(link) => out.raw(" ").raw(link),
                    None => out,
                }
            }
            Self::ConnectTo { incognito, target } => {
                if incognito {
                    out.raw(" ").raw(WORD_INCOGNITO);
                }
                out.raw(" ").raw(target)
            }
            Self::CreateAddress { user, pq_ratchet }
            | Self::ShortLinkAddress { user, pq_ratchet } => {
                out.user(user).flag(OPTION_PQ_RATCHET, pq_ratchet)
            }
            Self::AddressSettings { user, pq_ratchet, settings } => {
                out.user(user).flag(OPTION_PQ_RATCHET, pq_ratchet).object(settings)
            }
            Self::SetProfile { user, profile } => out.user(user).object(profile),
            Self::SetGroupProfile { group, profile } => {
                out.raw(" ");
                ChatRef::from(Chat::Group(group)).write(out);
                out.object(profile)
            }
            Self::SetContactPreferences { contact, preferences } => {
                out.raw(" ");
                ChatRef::from(Chat::Direct(contact)).write(out);
                out.object(preferences)
            }
            Self::Members(group) => {
                out.raw(" ");
                ChatRef::from(Chat::Group(group)).write(out);
                out
            }
            Self::Accept { request, incognito } => {
                out.flag(OPTION_INCOGNITO, incognito).raw(" ").int(request.0)
            }
            Self::GetChat { chat, page } => {
                out.raw(" ");
                chat.write(out);
                let count = match page {
                    Page::Last { count } => count,
                    Page::After { item, count } => {
                        out.raw(" ").raw(OPTION_AFTER).int(item.0);
                        count
                    }
                    Page::Before { item, count } => {
                        out.raw(" ").raw(OPTION_BEFORE).int(item.0);
                        count
                    }
                };
                out.raw(" ").raw(OPTION_COUNT).int(count.into())
            }
            Self::GetChats { user, count } => out
                .user(user)
                .flag(OPTION_PENDING, Some(false))
                .raw(" ")
                .raw(OPTION_COUNT)
                .int(count.into()),
            Self::ServiceRequest { user, target, timeout, sign_key, request } => {
                out.user(user).raw(" ").raw(target);
                if let Some(timeout) = timeout {
                    out.raw(" ").raw(OPTION_TIMEOUT);
                    seconds(timeout, out);
                }
                if let Some(key) = sign_key {
                    out.raw(" ").raw(OPTION_SIGN_KEY).raw(key.expose());
                }
                out.object(request)
            }
            Self::ServiceResponse { user, request_id, response } => {
                out.user(user).raw(" ").raw(request_id).object(response)
            }
        };
    }
}

impl fmt::Debug for Command<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({})", self.word())
    }
}

impl ChatRef {
    fn check(self) -> Result<(), CommandError> {
        if let Some(number) = self.negative() {
            return Err(CommandError::Negative { number });
        }
        if !self.chat.is_group() && (self.scope.is_some() || self.as_group) {
            return Err(CommandError::ScopeInDirectChat);
        }
        Ok(())
    }

    /// The same as `Display` writes.
    fn write(self, out: &mut Out<'_, '_>) {
        match self.chat {
            Chat::Direct(ContactId(id)) => out.raw("@").int(id),
            Chat::Group(GroupId(id)) => out.raw("#").int(id),
        };
        match self.scope {
            None => {}
            Some(Scope::Support) => {
                out.raw(SCOPE_SUPPORT).raw(")");
            }
            Some(Scope::MemberSupport(member)) => {
                out.raw(SCOPE_SUPPORT).raw(":").int(member.0).raw(")");
            }
        }
        out.raw(if self.as_group { AS_GROUP } else { "" });
    }
}

const fn nonnegative(number: i64) -> Result<(), CommandError> {
    if number < 0 { Err(CommandError::Negative { number }) } else { Ok(()) }
}

/// A part that the grammar reads up to the next space.
fn word(part: Part, text: &str) -> Result<(), CommandError> {
    if text.is_empty() {
        return Err(CommandError::Empty { part });
    }
    match text.find(|char: char| char.is_whitespace() || char.is_control()) {
        Some(offset) => Err(CommandError::NotOneWord { part, offset }),
        None => Ok(()),
    }
}

/// Seconds as the grammar's double: with as many decimals as are needed.
fn seconds(time: Duration, out: &mut Out<'_, '_>) {
    // Rounded up to a millisecond, so that a span is never none.
    let rounded = time.saturating_add(Duration::from_nanos(999_999));
    out.count(rounded.as_secs());
    let millis = rounded.subsec_millis();
    if millis > 0 {
        let digits = [millis / 100, millis / 10 % 10, millis % 10];
        out.raw(".");
        for digit in digits {
            out.int(digit.into());
        }
    }
}
