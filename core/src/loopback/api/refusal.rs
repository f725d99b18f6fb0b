//! What the core says when it does not do a command: `chatCmdError`.
//!
//! Source of the shapes: simplex-chat `bots/api/TYPES.md`, `ChatError`, `ChatErrorType`, `StoreError`,
//! `AgentErrorType`, `AgentServiceError`.

use alloc::string::String;

use crate::json::Writer;
use crate::loopback::{
    ContactRequestError, NameProblem, RecordError, SendError, ServiceRequestError,
    ServiceResponseError,
};
use crate::rpc::CoreFailure;

/// A reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// `commandError`: the frame or the command breaks the grammar, or a rule that has no error of
    /// its own.
    Command(&'static str),
    /// An error without members.
    Chat(&'static str),
    /// An error with a text.
    Text(&'static str, &'static str, String),
    /// The command is for a user who is not the active one.
    DifferentActiveUser { command: i64, active: i64 },
    /// No display name, and one that would be one.
    InvalidDisplayName { name: String, valid: String },
    /// This role or a higher one may do this; the group is given as the core shows it.
    GroupUserRole(String, &'static str),
    /// The contact was deleted, as the core shows it.
    ContactNotActive(String),
    /// A SimpleX name leads nowhere: its domain as the core shows it, and why.
    DomainNotReady(String, NameProblem),
    /// A database's error without members.
    Store(&'static str),
    /// A database's error that names a number.
    StoreNumber(&'static str, &'static str, i64),
    /// A database's error that shows a group.
    StoreGroup(&'static str, String),
    /// A database's error that names a text.
    StoreText(&'static str, &'static str, String),
    /// There is nothing at the other end of a link.
    NoSuchAddress,
    /// The agent was stopped.
    Inactive,
    /// A command of the agent is too large.
    AgentLarge,
    /// Service RPC failed.
    Service(&'static str),
}

impl Refusal {
    /// Any break of the grammar.
    pub(super) const GRAMMAR: Self = Self::Command("Failed reading: empty");
    /// A frame that is no request.
    pub(super) const FRAME: Self = Self::Command("invalid request");
    /// The chat does not run.
    pub(super) const NOT_STARTED: Self = Self::Chat("chatNotStarted");

    /// What a real core would do, and the stand-in does not.
    pub(super) fn not_done() -> Self {
        Self::internal("the loopback does not do this")
    }

    pub(super) fn internal(message: &str) -> Self {
        Self::Text("internalError", "message", String::from(message))
    }

    /// The response.
    pub(super) fn response(&self, out: &mut Writer<'_>) {
        out.raw("{\"type\":\"chatCmdError\",\"chatError\":");
        self.write(out);
        out.raw("}");
    }

    /// The core's `ChatError`.
    pub(super) fn write(&self, out: &mut Writer<'_>) {
        let chat = "{\"type\":\"error\",\"errorType\":{\"type\":";
        let store = "{\"type\":\"errorStore\",\"storeError\":{\"type\":";
        let agent = "{\"type\":\"errorAgent\",\"agentError\":{\"type\":";
        match self {
            Self::Command(message) => {
                out.raw(chat).raw("\"commandError\",\"message\":").string(message).raw("}}");
            }
            Self::Chat(kind) => {
                out.raw(chat).string(kind).raw("}}");
            }
            Self::Text(kind, member, text) => {
                out.raw(chat).string(kind).raw(",").string(member).raw(":").string(text).raw("}}");
            }
            Self::DifferentActiveUser { command, active } => {
                out.raw(chat).raw("\"differentActiveUser\",\"commandUserId\":").int(*command);
                out.raw(",\"activeUserId\":").int(*active).raw("}}");
            }
            Self::InvalidDisplayName { name, valid } => {
                out.raw(chat).raw("\"invalidDisplayName\",\"displayName\":").string(name);
                out.raw(",\"validName\":").string(valid).raw("}}");
            }
            Self::GroupUserRole(group, required) => {
                out.raw(chat).raw("\"groupUserRole\",\"groupInfo\":").raw(group);
                out.raw(",\"requiredRole\":").string(required).raw("}}");
            }
            Self::ContactNotActive(contact) => {
                out.raw(chat).raw("\"contactNotActive\",\"contact\":").raw(contact).raw("}}");
            }
            Self::DomainNotReady(domain, problem) => {
                out.raw(chat).raw("\"simplexDomainNotReady\",\"simplexDomain\":").raw(domain);
                out.raw(",\"simplexDomainError\":{\"type\":").string(match problem {
                    NameProblem::NoValidLink => "noValidLink",
                    NameProblem::UnknownDomain => "unknownDomain",
                });
                out.raw("}}}");
            }
            Self::Store(kind) => {
                out.raw(store).string(kind).raw("}}");
            }
            Self::StoreNumber(kind, member, number) => {
                out.raw(store).string(kind).raw(",").string(member).raw(":").int(*number);
                out.raw("}}");
            }
            Self::StoreGroup(kind, group) => {
                out.raw(store).string(kind).raw(",\"groupInfo\":").raw(group).raw("}}");
            }
            Self::StoreText(kind, member, text) => {
                out.raw(store).string(kind).raw(",").string(member).raw(":").string(text);
                out.raw("}}");
            }
            Self::NoSuchAddress => {
                out.raw(agent).raw("\"SMP\",\"serverAddress\":\"smp://loopback.example\"");
                out.raw(",\"smpErr\":{\"type\":\"AUTH\"}},\"agentConnId\":\"\"}");
            }
            Self::Inactive => {
                out.raw(agent).raw("\"INACTIVE\"},\"agentConnId\":\"\"}");
            }
            Self::AgentLarge => {
                out.raw(agent).raw("\"CMD\",\"cmdErr\":{\"type\":\"LARGE\"},\"errContext\":\"\"}");
                out.raw(",\"agentConnId\":\"\"}");
            }
            Self::Service(kind) => {
                out.raw(agent).raw("\"AGENT\",\"agentErr\":{\"type\":\"A_SERVICE\"");
                out.raw(",\"serviceError\":{\"type\":").string(kind);
                if *kind == "rejected" {
                    out.raw(",\"rejectReason\":\"\"");
                }
                out.raw("}}},\"agentConnId\":\"\"}");
            }
        }
    }
}

impl From<SendError> for Refusal {
    fn from(error: SendError) -> Self {
        match error {
            SendError::ContactNotFound { contact } => {
                Self::StoreNumber("contactNotFound", "contactId", contact.0)
            }
            SendError::GroupNotFound { group } => {
                Self::StoreNumber("groupNotFound", "groupId", group.0)
            }
            SendError::MemberLeft { .. } => Self::Chat("groupMemberUserRemoved"),
            SendError::MentionsNotSupported => {
                Self::Command("mentions are not supported in this chat")
            }
            SendError::InvalidMention { .. } => Self::Store("invalidMention"),
            SendError::GroupMemberNotFound { group_member_id } => {
                Self::StoreNumber("groupMemberNotFound", "groupMemberId", group_member_id.0)
            }
            SendError::InvalidQuote { .. } => Self::Store("invalidQuote"),
            SendError::ChatItemNotFound { item } => {
                Self::StoreNumber("chatItemNotFound", "itemId", item.0)
            }
            SendError::LargeMsg { .. } => Self::Store("largeMsg"),
            // Whoever can show the contact or the group says more.
            SendError::ContactNotActive { .. } | SendError::Role { .. } => {
                Self::internal("the message was not taken")
            }
            SendError::UnknownProfile { .. } | SendError::TooManyInFlight { .. } => {
                Self::internal("the loopback has no room")
            }
        }
    }
}

impl From<RecordError> for Refusal {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Grammar(_) | RecordError::NotARecord => Self::GRAMMAR,
            RecordError::DuplicateName => Self::Store("duplicateName"),
            RecordError::TooLarge { .. } => Self::Store("largeMsg"),
            RecordError::ContactNotFound { contact } => {
                Self::StoreNumber("contactNotFound", "contactId", contact.0)
            }
            RecordError::GroupNotFound { group } => {
                Self::StoreNumber("groupNotFound", "groupId", group.0)
            }
            // The caller knows the name and the group, and says more.
            RecordError::InvalidDisplayName { .. }
            | RecordError::NotOwner { .. }
            | RecordError::UnknownProfile { .. } => Self::internal("the record was not taken"),
        }
    }
}

impl From<ContactRequestError> for Refusal {
    fn from(error: ContactRequestError) -> Self {
        match error {
            ContactRequestError::RequestNotFound { request } => {
                Self::StoreNumber("contactRequestNotFound", "contactRequestId", request.0)
            }
            ContactRequestError::OwnAddress => Self::Chat("invalidConnReq"),
            _ => Self::NoSuchAddress,
        }
    }
}

impl From<ServiceRequestError> for Refusal {
    fn from(error: ServiceRequestError) -> Self {
        match error {
            ServiceRequestError::NoRatchetKeys => Self::Service("notDRAddress"),
            ServiceRequestError::TooLarge { .. } => Self::AgentLarge,
            ServiceRequestError::Grammar(_) | ServiceRequestError::SignKey(_) => Self::GRAMMAR,
            ServiceRequestError::UnknownAddress { .. } => Self::NoSuchAddress,
            _ => Self::internal("the loopback has no room"),
        }
    }
}

impl From<ServiceResponseError> for Refusal {
    fn from(error: ServiceResponseError) -> Self {
        match error {
            ServiceResponseError::NoPendingRequest => Self::Service("noPendingRequest"),
            ServiceResponseError::Late { .. } => Self::Service("timeout"),
            ServiceResponseError::TooLarge { .. } => Self::AgentLarge,
            ServiceResponseError::Grammar(_) => Self::GRAMMAR,
            _ => Self::internal("the loopback has no room"),
        }
    }
}

impl From<CoreFailure> for Refusal {
    fn from(failure: CoreFailure) -> Self {
        Self::Service(match failure {
            CoreFailure::NoRatchetKeys => "notDRAddress",
            CoreFailure::Rejected => "rejected",
            CoreFailure::BadSignature => "badSignature",
            CoreFailure::NoPendingRequest => "noPendingRequest",
            _ => "timeout",
        })
    }
}
