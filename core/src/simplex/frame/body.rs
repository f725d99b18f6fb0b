//! The types of responses and events, and what each has to have.

use core::fmt;

use super::item::{ChatItem, ChatPage};
use super::pick::{List, ShapeError, pick, word};
use super::{Address, Contact, ContactRequest, Group, Member, Plan, User};
use crate::json::{Object, Str, Value};
use crate::simplex::CoreVersion;
use crate::simplex::error::CoreError;

/// What a frame says. Of the core's types those stand here that have to do with calls; any other
/// one is [`Unknown`](Self::Unknown), and [`Frame::tag`](super::Frame::tag) and
/// [`Frame::object`](super::Frame::object) have it.
///
/// ```
/// use agentwire_core::simplex::frame::{Body, Frame};
/// fn is_message(frame: &Frame<'_>) -> bool {
///     matches!(frame.body(), Ok(Body::NewChatItems(_) | Body::ChatItemUpdated(_)))
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Body<'f> {
    /// `chatCmdError`, `chatError`: a refusal, or an error that the core reports by itself.
    Error(CoreError<'f>),
    /// `chatErrors`: several at once, beside what could be done.
    Errors(Errors<'f>),
    /// `newChatItems`: messages have arrived, or were sent.
    NewChatItems(List<'f, ChatItem<'f>>),
    /// `chatItemUpdated`: a message has a new text.
    ChatItemUpdated(ChatItem<'f>),
    /// `chatItemNotChanged`: the new text is the old one.
    ChatItemNotChanged(ChatItem<'f>),
    /// `chatItemsStatusesUpdated`: own messages have come further.
    ChatItemsStatusesUpdated(List<'f, ChatItem<'f>>),
    /// `chatItemsDeleted`: the items that were deleted.
    ChatItemsDeleted(List<'f, ChatItem<'f>>),
    /// `apiChat`: a page of a conversation.
    Chat(ChatPage<'f>),
    /// `apiChats`: conversations, each with its newest item.
    Chats(List<'f, ChatPage<'f>>),
    /// `contactConnected`, `contactSndReady`: messages can be sent.
    ContactConnected(Contact<'f>),
    /// `contactConnecting`, `acceptingContactRequest`: it has begun.
    ContactConnecting(Contact<'f>),
    /// `contactAlreadyExists`: the link leads to a contact that there is.
    ContactAlreadyExists(Contact<'f>),
    /// `contactUpdated`: a contact has another name, profile or preferences.
    ContactUpdated(Contact<'f>),
    /// `contactDeleted`, `contactDeletedByContact`
    ContactDeleted(Contact<'f>),
    /// `receivedContactRequest`: somebody wishes to connect.
    ContactRequest(ContactRequest<'f>),
    /// `sentInvitation`, `sentConfirmation`, `sentInvitationToContact`: connecting has begun.
    ConnectionStarted,
    /// Something about a group or one of its members.
    Group(GroupChange<'f>),
    /// `activeUser`
    ActiveUser(User<'f>),
    /// `usersList`
    Users(List<'f, User<'f>>),
    /// `contactsList`
    Contacts(List<'f, Contact<'f>>),
    /// `groupsList`
    Groups(List<'f, Group<'f>>),
    /// `groupMembers`
    GroupMembers(Group<'f>, List<'f, Member<'f>>),
    /// `userContactLink`, `userContactLinkCreated`, `userContactLinkUpdated`
    Address(Address<'f>),
    /// `userProfileUpdated`: the profile as it now is.
    ProfileUpdated(Object<'f>),
    /// `userProfileNoChange`
    ProfileNoChange,
    /// `connectionPlan`
    Plan(Plan<'f>),
    /// `serviceRequest`: a Service RPC request to answer.
    ServiceRequest(ServiceRequest<'f>),
    /// `serviceResponse`: the envelope that answers an own request.
    ServiceResponse(Object<'f>),
    /// `serviceReplyAccepted`: the core will send a response, over a connection of this
    /// `connectionId`.
    ServiceReplyAccepted(Option<Str<'f>>),
    /// `serviceReplySent`: it was sent, over a connection of this `connectionId`.
    ServiceReplySent(Option<Str<'f>>),
    /// `chatStarted`
    ChatStarted,
    /// `chatRunning`: it runs already, and the options of `/_start` have not been applied.
    ChatRunning,
    /// `chatStopped`
    ChatStopped,
    /// `versionInfo`
    Version(VersionInfo<'f>),
    /// `cmdOk`
    CmdOk,
    /// Another type.
    Unknown,
}

/// A row of what is read: the type's name, and how.
type Reader = for<'f> fn(Object<'f>) -> Result<Body<'f>, ShapeError>;

const READERS: [(&str, Reader); 38] = [
    ("newChatItems", |r| items(r, "chatItems").map(Body::NewChatItems)),
    ("chatItemUpdated", |r| one_item(r).map(Body::ChatItemUpdated)),
    ("chatItemsStatusesUpdated", |r| items(r, "chatItems").map(Body::ChatItemsStatusesUpdated)),
    ("serviceRequest", |r| ServiceRequest::read(r).map(Body::ServiceRequest)),
    ("serviceResponse", |r| pick(r, ["responseData"])?.need_object(0).map(Body::ServiceResponse)),
    ("serviceReplyAccepted", |r| connection(r).map(Body::ServiceReplyAccepted)),
    ("serviceReplySent", |r| connection(r).map(Body::ServiceReplySent)),
    ("chatItemNotChanged", |r| one_item(r).map(Body::ChatItemNotChanged)),
    ("chatItemsDeleted", |r| {
        let deletions = pick(r, ["chatItemDeletions"])?.need_elements(0)?;
        Ok(Body::ChatItemsDeleted(List::new(deletions, deletion)))
    }),
    ("apiChat", |r| ChatPage::read(pick(r, ["chat"])?.need_object(0)?).map(Body::Chat)),
    ("apiChats", |r| list(r, "chats", ChatPage::element).map(Body::Chats)),
    ("cmdOk", |_| Ok(Body::CmdOk)),
    ("chatErrors", |r| {
        let errors = pick(r, ["chatErrors"])?.need_elements(0)?;
        Ok(Body::Errors(Errors { errors: List::new(errors, error) }))
    }),
    ("contactConnected", |r| contact(r, "contact").map(Body::ContactConnected)),
    ("contactSndReady", |r| contact(r, "contact").map(Body::ContactConnected)),
    ("contactConnecting", |r| contact(r, "contact").map(Body::ContactConnecting)),
    ("acceptingContactRequest", |r| contact(r, "contact").map(Body::ContactConnecting)),
    ("contactAlreadyExists", |r| contact(r, "contact").map(Body::ContactAlreadyExists)),
    ("contactUpdated", |r| contact(r, "toContact").map(Body::ContactUpdated)),
    ("contactDeleted", |r| contact(r, "contact").map(Body::ContactDeleted)),
    ("contactDeletedByContact", |r| contact(r, "contact").map(Body::ContactDeleted)),
    ("receivedContactRequest", |r| {
        let request = pick(r, ["contactRequest"])?.need_object(0)?;
        ContactRequest::read(request).map(Body::ContactRequest)
    }),
    ("sentInvitation", |_| Ok(Body::ConnectionStarted)),
    ("sentConfirmation", |_| Ok(Body::ConnectionStarted)),
    ("sentInvitationToContact", |_| Ok(Body::ConnectionStarted)),
    ("activeUser", |r| User::read(pick(r, ["user"])?.need_object(0)?).map(Body::ActiveUser)),
    ("usersList", |r| list(r, "users", User::element).map(Body::Users)),
    ("contactsList", |r| list(r, "contacts", Contact::element).map(Body::Contacts)),
    ("groupsList", |r| list(r, "groups", Group::element).map(Body::Groups)),
    ("groupMembers", |r| {
        let found = pick(pick(r, ["group"])?.need_object(0)?, ["groupInfo", "members"])?;
        let members = List::new(found.need_elements(1)?, Member::element);
        Ok(Body::GroupMembers(Group::read(found.need_object(0)?)?, members))
    }),
    ("userContactLink", |r| Address::read(r).map(Body::Address)),
    ("userContactLinkCreated", |r| Address::read(r).map(Body::Address)),
    ("userContactLinkUpdated", |r| Address::read(r).map(Body::Address)),
    ("userProfileUpdated", |r| pick(r, ["toProfile"])?.need_object(0).map(Body::ProfileUpdated)),
    ("userProfileNoChange", |_| Ok(Body::ProfileNoChange)),
    ("connectionPlan", |r| Plan::read(r).map(Body::Plan)),
    ("versionInfo", |r| VersionInfo::read(r).map(Body::Version)),
    ("chatStarted", |_| Ok(Body::ChatStarted)),
];

/// The types that are read, by their names, except for those about groups.
///
/// ```
/// use agentwire_core::simplex::frame::event_names;
/// assert!(event_names().any(|name| name == "newChatItems"));
/// ```
pub fn event_names() -> impl Iterator<Item = &'static str> {
    let more = ["chatRunning", "chatStopped", "chatCmdError", "chatError"];
    READERS.iter().map(|(name, _)| *name).chain(more)
}

impl<'f> Body<'f> {
    pub(super) fn read(tag: Str<'f>, response: Object<'f>) -> Result<Self, ShapeError> {
        let tag = &*word(Some(tag));
        match tag {
            "chatRunning" => return Ok(Self::ChatRunning),
            "chatStopped" => return Ok(Self::ChatStopped),
            _ => {}
        }
        if let Some((_, read)) = READERS.iter().find(|(name, _)| *name == tag) {
            return read(response);
        }
        match GroupChangeKind::of(tag) {
            Some(kind) => GroupChange::read(kind, response).map(Self::Group),
            None => Ok(Self::Unknown),
        }
    }
}

fn list<'f, T>(
    response: Object<'f>,
    name: &'static str,
    read: fn(Value<'f>) -> Result<T, ShapeError>,
) -> Result<List<'f, T>, ShapeError> {
    Ok(List::new(pick(response, [name])?.need_elements(0)?, read))
}

fn items<'f>(
    response: Object<'f>,
    name: &'static str,
) -> Result<List<'f, ChatItem<'f>>, ShapeError> {
    list(response, name, ChatItem::element)
}

fn one_item(response: Object<'_>) -> Result<ChatItem<'_>, ShapeError> {
    ChatItem::read(pick(response, ["chatItem"])?.need_object(0)?)
}

fn deletion(value: Value<'_>) -> Result<ChatItem<'_>, ShapeError> {
    let object = value.as_object().ok_or(ShapeError::new("chatItemDeletions"))?;
    ChatItem::read(pick(object, ["deletedChatItem"])?.need_object(0)?)
}

fn error(value: Value<'_>) -> Result<CoreError<'_>, ShapeError> {
    value.as_object().map(CoreError::new).ok_or(ShapeError::new("chatErrors"))
}

fn contact<'f>(response: Object<'f>, name: &'static str) -> Result<Contact<'f>, ShapeError> {
    Contact::read(pick(response, [name])?.need_object(0)?)
}

fn connection(response: Object<'_>) -> Result<Option<Str<'_>>, ShapeError> {
    Ok(pick(response, ["connectionId"])?.str(0))
}

/// The errors of a `chatErrors`: each that could be read.
///
/// ```
/// use agentwire_core::simplex::error::CoreErrorKind;
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"resp":{"type":"chatErrors","chatErrors":[
///     {"type":"errorStore","storeError":{"type":"largeMsg"}}]}}"#;
/// let Ok(Body::Errors(errors)) = Frame::parse(text).unwrap().body() else { panic!() };
/// let kinds: Vec<CoreErrorKind> = errors.map(|error| error.kind()).collect();
/// assert_eq!(kinds, [CoreErrorKind::LargeMsg]);
/// ```
#[derive(Clone, Debug)]
pub struct Errors<'f> {
    errors: List<'f, CoreError<'f>>,
}

impl<'f> Iterator for Errors<'f> {
    type Item = CoreError<'f>;

    fn next(&mut self) -> Option<CoreError<'f>> {
        self.errors.by_ref().flatten().next()
    }
}

/// What has happened in a group.
///
/// ```
/// use agentwire_core::simplex::frame::GroupChangeKind;
/// assert_ne!(GroupChangeKind::MemberJoined, GroupChangeKind::MemberLeft);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum GroupChangeKind {
    /// `receivedGroupInvitation`: the profile is invited.
    Invited,
    /// `userJoinedGroup`: the profile has joined.
    Joined,
    /// `joinedGroupMember`, `joinedGroupMemberConnecting`, `connectedToGroupMember`
    MemberJoined,
    /// `leftMember`, `deletedMember`
    MemberLeft,
    /// `memberRole`: a member has another role.
    MemberRole,
    /// `groupMemberUpdated`: a member has another name or profile.
    MemberUpdated,
    /// `deletedMemberUser`, `leftMemberUser`: the profile is no longer in the group.
    Removed,
    /// `groupUpdated`: the group has another profile.
    Updated,
    /// `groupDeleted`: the group is no more.
    Deleted,
}

impl GroupChangeKind {
    fn of(tag: &str) -> Option<Self> {
        Some(match tag {
            "receivedGroupInvitation" => Self::Invited,
            "userJoinedGroup" => Self::Joined,
            "joinedGroupMember" | "joinedGroupMemberConnecting" | "connectedToGroupMember" => {
                Self::MemberJoined
            }
            "leftMember" | "deletedMember" => Self::MemberLeft,
            "memberRole" => Self::MemberRole,
            "groupMemberUpdated" => Self::MemberUpdated,
            "deletedMemberUser" | "leftMemberUser" => Self::Removed,
            "groupUpdated" => Self::Updated,
            "groupDeleted" => Self::Deleted,
            _ => return None,
        })
    }
}

/// Something about a group or one of its members.
///
/// ```
/// use agentwire_core::simplex::frame::{Body, Frame, GroupChangeKind};
/// let text = r#"{"resp":{"type":"joinedGroupMember","groupInfo":{"groupId":1,"localDisplayName":"team"},
///     "member":{"groupMemberId":7,"memberId":"WkdP","localDisplayName":"acme"}}}"#;
/// let Ok(Body::Group(change)) = Frame::parse(text).unwrap().body() else { panic!() };
/// assert_eq!(change.kind, GroupChangeKind::MemberJoined);
/// assert!(change.member.unwrap().name == *"acme");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GroupChange<'f> {
    /// What.
    pub kind: GroupChangeKind,
    /// In which group.
    pub group: Group<'f>,
    /// The member that it is about.
    pub member: Option<Member<'f>>,
}

impl<'f> GroupChange<'f> {
    fn read(kind: GroupChangeKind, response: Object<'f>) -> Result<Self, ShapeError> {
        let names = ["groupInfo", "toGroup", "member", "toMember", "deletedMember"];
        let found = pick(response, names)?;
        let group = match found.object(1) {
            Some(group) => group,
            None => found.need_object(0)?,
        };
        let member = found.object(3).or_else(|| found.object(4)).or_else(|| found.object(2));
        Ok(Self { kind, group: Group::read(group)?, member: member.map(Member::read).transpose()? })
    }
}

/// A Service RPC request that has arrived.
///
/// ```
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"resp":{"type":"serviceRequest","requestId":"cmVx",
///     "requestData":{"protocol":"mcp","request":{}}}}"#;
/// let Ok(Body::ServiceRequest(request)) = Frame::parse(text).unwrap().body() else { panic!() };
/// assert!(request.id == *"cmVx" && request.signer_key.is_none());
/// assert_eq!(request.data.get_text(), r#"{"protocol":"mcp","request":{}}"#);
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ServiceRequest<'f> {
    /// The core's id of it.
    pub id: Str<'f>,
    /// The key that the core has verified.
    pub signer_key: Option<Str<'f>>,
    /// The envelope.
    pub data: Object<'f>,
}

impl<'f> ServiceRequest<'f> {
    fn read(response: Object<'f>) -> Result<Self, ShapeError> {
        let found = pick(response, ["requestId", "signerKey", "requestData"])?;
        Ok(Self { id: found.need_str(0)?, signer_key: found.str(1), data: found.need_object(2)? })
    }
}

impl fmt::Debug for ServiceRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceRequest")
            .field("is_signed", &self.signer_key.is_some())
            .field("data_len", &self.data.get_text().len())
            .finish_non_exhaustive()
    }
}

/// Which version the core is.
///
/// ```
/// use agentwire_core::simplex::CoreVersion;
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"corrId":"1","resp":{"type":"versionInfo","versionInfo":{"version":"7.0.0.4"}}}"#;
/// let Ok(Body::Version(info)) = Frame::parse(text).unwrap().body() else { panic!() };
/// assert_eq!(info.version(), Some(CoreVersion::new(7, 0, 0, 4)));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct VersionInfo<'f> {
    /// The version as it is written.
    pub text: Str<'f>,
}

impl<'f> VersionInfo<'f> {
    fn read(response: Object<'f>) -> Result<Self, ShapeError> {
        let info = pick(response, ["versionInfo"])?.need_object(0)?;
        Ok(Self { text: pick(info, ["version"])?.need_str(0)? })
    }

    /// The version, if it is written as one.
    #[must_use]
    pub fn version(&self) -> Option<CoreVersion> {
        word(Some(self.text)).parse().ok()
    }
}
