//! What waits to be sent, and how it is written.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::output::CommandId;
use super::publish::Publication;
use crate::chat::session::Message;
use crate::chat::{Chat, GroupId, ItemId};
use crate::json::{Object, Writer};
use crate::rpc::{RequestId, ServiceCallId};
use crate::simplex::UserId;
use crate::simplex::command::{
    Command, CommandError, Composed, Page, Part, SendOptions, SignKey, Start,
};
use crate::time::Instant;
use core::fmt;
use core::time::Duration;

/// Where a Service RPC request goes, and which key signs it. `Debug` shows neither.
///
/// ```
/// use agentwire_core::simplex::ServiceTarget;
/// let target = ServiceTarget::new("@acme.simplex");
/// assert!(!target.is_signed());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ServiceTarget {
    target: String,
    sign_key: Option<String>,
}

impl ServiceTarget {
    /// An unsigned request to a contact address link or the SimpleX name of one.
    #[must_use]
    pub fn new(target: impl Into<String>) -> Self {
        Self { target: target.into(), sign_key: None }
    }

    /// The same, signed with this private key in the core's encoding.
    #[must_use]
    pub fn signed_with(mut self, key: impl Into<String>) -> Self {
        self.sign_key = Some(key.into());
        self
    }

    /// The link or the name.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether the core is to sign.
    #[must_use]
    pub const fn is_signed(&self) -> bool {
        self.sign_key.is_some()
    }
}

impl fmt::Debug for ServiceTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceTarget")
            .field("target_len", &self.target.len())
            .field("is_signed", &self.is_signed())
            .finish()
    }
}

impl From<&str> for ServiceTarget {
    fn from(target: &str) -> Self {
        Self::new(target)
    }
}

/// How many conversations are looked at together.
pub(super) const OVERVIEW: u32 = 1_000;

/// A step of the start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Version,
    User,
    SetUser(UserId),
    Start {
        /// Whether Service RPC requests are to be let in.
        requests: bool,
    },
    Stop,
}

impl Step {
    pub(super) const fn command(self) -> Command<'static> {
        match self {
            Self::Version => Command::Version,
            Self::User => Command::ActiveUser,
            Self::SetUser(user) => Command::SetActiveUser(user),
            Self::Start { requests } => {
                let service_requests = if requests { Some(true) } else { None };
                Command::Start(Start { main: true, send_files: None, service_requests })
            }
            Self::Stop => Command::Stop,
        }
    }
}

/// A page of a conversation that is looked through again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) chat: Chat,
    /// After which item; the newest ones if it does not say.
    pub(super) after: Option<ItemId>,
    /// Whether it is for messages that may have been sent.
    pub(super) is_search: bool,
    /// Whether something in the pages so far could not be read.
    pub(super) is_blurred: bool,
    /// Which gap it is to close.
    pub(super) gap: u64,
    /// Not before this time.
    pub(super) at: Instant,
}

impl Look {
    pub(super) const fn new(chat: Chat, after: Option<ItemId>, gap: u64, at: Instant) -> Self {
        Self { chat, after, is_search: false, is_blurred: false, gap, at }
    }
}

pub(super) enum Job {
    Start(Step),
    Look(Look),
    /// Which conversations have something new.
    Overview,
    Members(GroupId),
    Message(Message),
    Request {
        call: ServiceCallId,
        target: ServiceTarget,
        text: String,
        timeout: Duration,
    },
    Response {
        request: RequestId,
        text: String,
        /// Whether it may have been sent before.
        is_again: bool,
    },
    Command {
        id: CommandId,
        /// The command's text.
        text: String,
        /// When it is too late to send it.
        until: Instant,
    },
    Publish {
        id: CommandId,
        publication: Box<Publication>,
        /// The command that writes the profile, once the profile has been read, and whether that
        /// had the declarations before.
        write: Option<(String, bool)>,
        until: Instant,
    },
}

impl Job {
    /// The frame that carries it, written in a buffer that is kept for the next one.
    pub(super) fn frame(
        &self,
        corr_id: u64,
        user: UserId,
        page: u32,
        buffer: &mut Vec<u8>,
    ) -> Result<String, CommandError> {
        let mut digits = [0; 20];
        let mut writer = Writer::new(&mut digits);
        // A session that counts so far has sent for longer than there are computers.
        writer.int(i64::try_from(corr_id).unwrap_or(i64::MAX));
        let corr_id = writer.finish()?;
        match self {
            Self::Start(step) => step.command().frame_through(corr_id, buffer),
            Self::Look(look) => {
                let count = page;
                let page = match look.after {
                    Some(item) => Page::After { item: ItemId(item.0.max(0)), count },
                    None => Page::Last { count },
                };
                Command::GetChat { chat: look.chat.into(), page }.frame_through(corr_id, buffer)
            }
            Self::Overview => {
                Command::GetChats { user, count: OVERVIEW }.frame_through(corr_id, buffer)
            }
            Self::Members(group) => Command::Members(*group).frame_through(corr_id, buffer),
            Self::Message(message) => {
                let mention = message.mention.as_ref();
                let mention = mention.map(|(name, member)| (name.as_str(), *member));
                let mut composed = Composed::new(&message.text).mentioning(mention.as_slice());
                composed.quotes = message.quotes;
                let options = SendOptions::default();
                let messages = &[composed];
                Command::Send { to: message.chat.into(), options, messages }
                    .frame_through(corr_id, buffer)
            }
            Self::Request { target, text, timeout, .. } => {
                // The session has written the envelope, so it is an object.
                let request =
                    Object::parse(text).map_err(|_| CommandError::Empty { part: Part::Raw })?;
                let sign_key = target.sign_key.as_deref().map(SignKey::new);
                let (target, timeout) = (target.target(), Some(*timeout));
                Command::ServiceRequest { user, target, timeout, sign_key, request }
                    .frame_through(corr_id, buffer)
            }
            Self::Response { request, text, .. } => {
                let response =
                    Object::parse(text).map_err(|_| CommandError::Empty { part: Part::Raw })?;
                let request_id = request.as_str();
                Command::ServiceResponse { user, request_id, response }
                    .frame_through(corr_id, buffer)
            }
            Self::Command { text, .. } => Command::Raw(text).frame_through(corr_id, buffer),
            Self::Publish { write: Some((text, _)), .. } => {
                Command::Raw(text).frame_through(corr_id, buffer)
            }
            Self::Publish { publication, write: None, .. } => match publication.group() {
                Some(_) => Command::Groups(user).frame_through(corr_id, buffer),
                None => Command::ActiveUser.frame_through(corr_id, buffer),
            },
        }
    }

    /// When it is too late to send it.
    pub(super) const fn until(&self) -> Option<Instant> {
        match self {
            Self::Command { until, .. } | Self::Publish { until, .. } => Some(*until),
            _ => None,
        }
    }
}
