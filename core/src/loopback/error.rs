//! What the stand-in refuses, as the core refuses it.

use core::fmt;
use core::time::Duration;

use super::{GroupRef, ProfileId, ServiceAddress};
use crate::chat::{ContactId, GroupId, GroupMemberId, ItemId};
use crate::json;
use crate::rpc::{CoreFailure, SignerKeyError};

/// Why a profile, a contact or a group was not made.
///
/// ```
/// use agentwire_core::loopback::{Loopback, SetupError};
/// let mut net = Loopback::new(1);
/// assert_eq!(net.add_profile("a@b"), Err(SetupError::InvalidDisplayName { chars: 3 }));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SetupError {
    /// The core takes no such name (its `invalidDisplayName`): it is empty, has one of
    /// `` .,;/\#@'"`~ `` or misplaced white space, or is longer than
    /// [`MAX_DISPLAY_NAME_CHARS`](super::MAX_DISPLAY_NAME_CHARS).
    InvalidDisplayName {
        /// Its length in characters.
        chars: usize,
    },
    /// There is no such profile.
    UnknownProfile {
        /// Who was named.
        profile: ProfileId,
    },
    /// There is no such group.
    UnknownGroup {
        /// Which was named.
        group: GroupRef,
    },
    /// A profile cannot be its own contact.
    SameProfile {
        /// Who was named twice.
        profile: ProfileId,
    },
    /// The profile is a member already.
    AlreadyMember {
        /// Who.
        profile: ProfileId,
        /// Of which group.
        group: GroupRef,
    },
    /// The profile has an address already (the core's `duplicateContactLink`).
    DuplicateAddress {
        /// Whose.
        profile: ProfileId,
    },
    /// There is no such address.
    UnknownAddress {
        /// Which was named.
        address: ServiceAddress,
    },
    /// As many invitations are open as there may be.
    TooManyInvitations {
        /// How many.
        limit: usize,
    },
    /// It is no SimpleX name.
    InvalidName {
        /// Where it breaks the grammar, in bytes.
        offset: usize,
    },
    /// Somebody has the SimpleX name.
    NameTaken,
    /// The profile is no member.
    NotMember {
        /// Who.
        profile: ProfileId,
        /// Of which group.
        group: GroupRef,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidDisplayName { chars } => {
                write!(f, "a text of {chars} characters that is no display name")
            }
            Self::UnknownProfile { profile } => write!(f, "{profile} does not exist"),
            Self::UnknownGroup { group } => write!(f, "{group} does not exist"),
            Self::SameProfile { profile } => write!(f, "{profile} cannot be its own contact"),
            Self::AlreadyMember { profile, group } => write!(f, "{profile} is in {group} already"),
            Self::DuplicateAddress { profile } => write!(f, "{profile} has an address already"),
            Self::UnknownAddress { address } => write!(f, "{address} does not exist"),
            Self::TooManyInvitations { limit } => write!(f, "{limit} invitations are open"),
            Self::InvalidName { offset } => write!(f, "not a SimpleX name (byte {offset})"),
            Self::NameTaken => f.write_str("the SimpleX name is taken"),
            Self::NotMember { profile, group } => write!(f, "{profile} is not in {group}"),
        }
    }
}

impl core::error::Error for SetupError {}

/// What is wrong with the mentions of a message that is to be sent. The core says
/// `errorStore/invalidMention` to all of them.
///
/// ```
/// use agentwire_core::loopback::{MentionProblem, SendError};
/// let error = SendError::InvalidMention { problem: MentionProblem::TooMany { mentions: 4 } };
/// assert_eq!(error.to_string(), "invalid mention: 4 mentions, at most 3 are sent");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum MentionProblem {
    /// The text does not mention a name of the map. It may look so: a text of one line that
    /// starts with `/` mentions nobody.
    NotInText {
        /// The position of the name in the list of mentions.
        index: usize,
    },
    /// A member is mentioned under two names.
    MemberTwice {
        /// Which member.
        group_member_id: GroupMemberId,
    },
    /// There are more than [`MAX_SEND_MENTIONS`](crate::chat::size::MAX_SEND_MENTIONS).
    TooMany {
        /// How many there are.
        mentions: usize,
    },
    /// A name stands for two members. A real core's map cannot even say this.
    NameTwice {
        /// The position of its second use in the list of mentions.
        index: usize,
    },
}

impl fmt::Display for MentionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInText { index } => write!(f, "the text does not mention number {index}"),
            Self::MemberTwice { group_member_id } => {
                write!(f, "member {} is mentioned under two names", group_member_id.0)
            }
            Self::TooMany { mentions } => write!(f, "{mentions} mentions, at most 3 are sent"),
            Self::NameTwice { index } => write!(f, "number {index} has a name that is taken"),
        }
    }
}

/// Why a message was not sent.
///
/// ```
/// use agentwire_core::loopback::{Loopback, SendError};
/// use agentwire_core::{chat::Chat, time::Instant};
///
/// let mut net = Loopback::new(1);
/// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// let (to_bot, _) = net.connect(ann, bot).unwrap();
/// let error = net.send(Instant::ZERO, ann, Chat::Direct(to_bot), &"a".repeat(15_489)[..]);
/// assert_eq!(error, Err(SendError::LargeMsg { encoded_len: 15_603, limit: 15_602 }));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SendError {
    /// There is no such profile: a misuse of the stand-in.
    UnknownProfile {
        /// Who was named.
        profile: ProfileId,
    },
    /// The profile has no such contact (the core's `contactNotFound`).
    ContactNotFound {
        /// Which was named.
        contact: ContactId,
    },
    /// The profile has no such group (the core's `groupNotFound`).
    GroupNotFound {
        /// Which was named.
        group: GroupId,
    },
    /// The profile has left the group or was removed from it (the core's `groupMemberUserRemoved`).
    MemberLeft {
        /// Which group.
        group: GroupId,
    },
    /// The contact was deleted, on this side or the other (the core's `contactNotActive`).
    ContactNotActive {
        /// Which.
        contact: ContactId,
    },
    /// The profile may not do this in the group (the core's `groupUserRole`).
    Role {
        /// Which group.
        group: GroupId,
        /// The lowest role that may, as the core spells it.
        required: &'static str,
    },
    /// A mention in a direct chat (the core's command error "mentions are not supported in this
    /// chat").
    MentionsNotSupported,
    /// The core's `invalidMention`.
    InvalidMention {
        /// What is wrong.
        problem: MentionProblem,
    },
    /// The group has no such member (the core's `groupMemberNotFound`).
    GroupMemberNotFound {
        /// Which was named.
        group_member_id: GroupMemberId,
    },
    /// The item to quote is marked as deleted (the core's `invalidQuote`).
    InvalidQuote {
        /// Which item.
        item: ItemId,
    },
    /// The chat holds no such item (the core's `chatItemNotFound`): it never did, or it was
    /// removed.
    ChatItemNotFound {
        /// Which item.
        item: ItemId,
    },
    /// The encoded message is too long (the core's `largeMsg`).
    LargeMsg {
        /// Its length in bytes.
        encoded_len: usize,
        /// The longest one that is sent, in bytes.
        limit: usize,
    },
    /// As many messages are on their way as [`Config::max_in_flight`](super::Config) allows.
    TooManyInFlight {
        /// How many may be on their way.
        limit: usize,
    },
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownProfile { profile } => write!(f, "{profile} does not exist"),
            Self::ContactNotFound { contact } => write!(f, "no contact {}", contact.0),
            Self::GroupNotFound { group } => write!(f, "no group {}", group.0),
            Self::MemberLeft { group } => write!(f, "no longer a member of group {}", group.0),
            Self::ContactNotActive { contact } => {
                write!(f, "contact {} was deleted", contact.0)
            }
            Self::Role { group, required } => {
                write!(f, "group {} wants the role {required} for this", group.0)
            }
            Self::MentionsNotSupported => f.write_str("mentions are not supported in this chat"),
            Self::InvalidMention { problem } => write!(f, "invalid mention: {problem}"),
            Self::GroupMemberNotFound { group_member_id } => {
                write!(f, "no group member {}", group_member_id.0)
            }
            Self::InvalidQuote { item } => write!(f, "item {} cannot be quoted", item.0),
            Self::ChatItemNotFound { item } => write!(f, "no item {} in this chat", item.0),
            Self::LargeMsg { encoded_len, limit } => {
                write!(f, "a message of {encoded_len} encoded bytes, at most {limit} are sent")
            }
            Self::TooManyInFlight { limit } => write!(f, "{limit} messages are on their way"),
        }
    }
}

impl core::error::Error for SendError {}

/// Why an item was not edited or deleted.
///
/// ```
/// use agentwire_core::loopback::{ChangeError, SendError};
/// use agentwire_core::chat::ItemId;
/// let error = ChangeError::from(SendError::ChatItemNotFound { item: ItemId(4) });
/// assert_eq!(error.to_string(), "no item 4 in this chat");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ChangeError {
    /// The change could not be sent.
    Send(SendError),
    /// Somebody else's item, or one that is deleted (the core's `invalidChatItemUpdate` and
    /// `invalidChatItemDelete`).
    NotOwn {
        /// Which item.
        item: ItemId,
    },
}

impl From<SendError> for ChangeError {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(error) => error.fmt(f),
            Self::NotOwn { item } => write!(f, "item {} is not this profile's to change", item.0),
        }
    }
}

impl core::error::Error for ChangeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Send(error) => Some(error),
            Self::NotOwn { .. } => None,
        }
    }
}

/// Why a Service RPC request was not sent.
///
/// ```
/// use agentwire_core::loopback::{Loopback, ServiceRequestError, ServiceRequestOptions};
/// use agentwire_core::{rpc::CoreFailure, time::Instant};
///
/// let mut net = Loopback::new(1);
/// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// let address = net.create_address(bot, false).unwrap();
/// let options = ServiceRequestOptions::new();
/// let error = net.service_request(Instant::ZERO, ann, address, options, "{}").unwrap_err();
/// assert_eq!(error, ServiceRequestError::NoRatchetKeys);
/// assert_eq!(error.failure(), CoreFailure::NoRatchetKeys);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ServiceRequestError {
    /// There is no such profile: a misuse of the stand-in.
    UnknownProfile {
        /// Who was named.
        profile: ProfileId,
    },
    /// There is no such address: a misuse of the stand-in.
    UnknownAddress {
        /// Which was named.
        address: ServiceAddress,
    },
    /// The text is not one JSON object (the core's command error).
    Grammar(json::Error),
    /// The key is none (the core's command error).
    SignKey(SignerKeyError),
    /// The address has no ratchet keys (the core's `ASENotDRAddress`).
    NoRatchetKeys,
    /// The request does not fit into the padding.
    TooLarge {
        /// Bytes that it takes with its framing.
        needed: usize,
        /// Bytes that fit.
        limit: usize,
    },
    /// As much is on its way as [`Config::max_in_flight`](super::Config) allows.
    TooManyInFlight {
        /// How much may be on its way.
        limit: usize,
    },
}

impl ServiceRequestError {
    /// The same as a requester learns it. Nothing was sent, so nothing was executed.
    pub const fn failure(&self) -> CoreFailure {
        match self {
            Self::NoRatchetKeys => CoreFailure::NoRatchetKeys,
            _ => CoreFailure::Refused,
        }
    }
}

impl fmt::Display for ServiceRequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownProfile { profile } => write!(f, "{profile} does not exist"),
            Self::UnknownAddress { address } => write!(f, "{address} does not exist"),
            Self::Grammar(error) => write!(f, "the request is not a JSON object: {error}"),
            Self::SignKey(error) => write!(f, "the key: {error}"),
            Self::NoRatchetKeys => f.write_str("the address has no ratchet keys"),
            Self::TooLarge { needed, limit } => {
                write!(f, "a request of {needed} bytes with its framing, at most {limit} are sent")
            }
            Self::TooManyInFlight { limit } => write!(f, "{limit} messages are on their way"),
        }
    }
}

impl core::error::Error for ServiceRequestError {}

/// Why the response to a Service RPC request was not sent.
///
/// ```
/// use agentwire_core::loopback::{Loopback, ServiceResponseError};
/// use agentwire_core::time::Instant;
/// let mut net = Loopback::new(1);
/// let bot = net.add_profile("bot").unwrap();
/// let error = net.service_response(Instant::ZERO, bot, "bm9uZQ==", "{}").unwrap_err();
/// assert_eq!(error, ServiceResponseError::NoPendingRequest);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServiceResponseError {
    /// There is no such profile: a misuse of the stand-in.
    UnknownProfile {
        /// Who was named.
        profile: ProfileId,
    },
    /// The text is not one JSON object (the core's command error).
    Grammar(json::Error),
    /// There is no request of this id, or it has its response (the core's `ASENoPendingRequest`).
    NoPendingRequest,
    /// The time in which a response is taken has passed (the core's `ASETimeout`).
    Late {
        /// How long after the request.
        after: Duration,
        /// How long a response is taken.
        limit: Duration,
    },
    /// The response does not fit into the padding. The request stays open.
    TooLarge {
        /// Bytes that it takes with its framing.
        needed: usize,
        /// Bytes that fit.
        limit: usize,
    },
    /// As much is on its way as [`Config::max_in_flight`](super::Config) allows.
    TooManyInFlight {
        /// How much may be on its way.
        limit: usize,
    },
}

impl fmt::Display for ServiceResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownProfile { profile } => write!(f, "{profile} does not exist"),
            Self::Grammar(error) => write!(f, "the response is not a JSON object: {error}"),
            Self::NoPendingRequest => f.write_str("there is no request to respond to"),
            Self::Late { after, limit } => {
                write!(f, "{} s after the request", after.as_secs())?;
                write!(f, ", a response is taken for {} s", limit.as_secs())
            }
            Self::TooLarge { needed, limit } => {
                write!(f, "a response of {needed} bytes with its framing, at most {limit} are sent")
            }
            Self::TooManyInFlight { limit } => write!(f, "{limit} messages are on their way"),
        }
    }
}

impl core::error::Error for ServiceResponseError {}
