//! What the core says when it refuses a command.
//!
//! A refusal is a nest of tagged objects, from where it arose to what it is:
//!
//! ```text
//! {"type":"errorStore","storeError":{"type":"largeMsg"}}
//! {"type":"error","errorType":{"type":"commandError","message":"Failed reading: empty"}}
//! {"type":"errorAgent","agentError":{"type":"AGENT","agentErr":{"type":"A_SERVICE","serviceError":{"type":"timeout"}}}}
//! ```
//!
//! It is read loosely: the innermost tag says what it is, wherever it stands, and a tag that is
//! not known is kept by its name. The spelling of `A_SERVICE` errors is taken with and without
//! the `ASE` of the core's own names, in any letter case.

use core::fmt;

use crate::json::{Object, Str, Value};
use crate::rpc::CoreFailure;

/// How many tagged objects inside each other are looked at.
const MAX_LEVELS: usize = 8;

/// What a refusal is.
///
/// ```
/// use agentwire_core::simplex::error::CoreErrorKind;
/// assert_eq!(CoreErrorKind::LargeMsg.sentence(), "the message is too large once it is encoded");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum CoreErrorKind {
    /// `largeMsg`: the encoded message exceeds the limit ("Message size"); or it does so once it
    /// is compressed ("large compressed message") or signed ("large message").
    LargeMsg,
    /// `invalidQuote`: the quoted item is deleted, or none that can be quoted.
    InvalidQuote,
    /// `invalidMention`: a mention does not stand in the text as the core parses it.
    InvalidMention,
    /// `commandError`: the command breaks the grammar, or is not possible here.
    CommandError,
    /// `chatNotStarted`: the command needs `/_start` first.
    ChatNotStarted,
    /// `chatNotStopped`: the command needs `/_stop` first.
    ChatNotStopped,
    /// `noActiveUser`: the core has no user yet.
    NoActiveUser,
    /// `differentActiveUser`: the command names a user that is not the active one.
    DifferentActiveUser,
    /// `userContactLinkNotFound`: the user has no address.
    NoAddress,
    /// `duplicateContactLink`: the user has an address already.
    AddressExists,
    /// `unknownDomain`: nobody has the SimpleX name.
    NoSuchName,
    /// `noValidLink`: the SimpleX name leads to no link that the core connects by.
    NameWithoutLink,
    /// `invalidConnReq`, `unsupportedConnReq`: the core does not connect by such a link.
    InvalidLink,
    /// `AUTH` of a router: there is nothing behind the link or the connection, or nothing any
    /// more: it was deleted, or the invitation is spent.
    NothingThere,
    /// `contactNotActive`: the contact was deleted, on this side or the other.
    ContactNotActive,
    /// `groupMemberUserRemoved`: the profile has left the group, or was removed from it.
    NotInGroup,
    /// `groupUserRole`: the profile's role in the group does not allow it.
    Role,
    /// Another `…NotFound`: the contact, group, member or item is not in the database.
    NotFound,
    /// `A_SERVICE`: Service RPC could not do it.
    Service(CoreFailure),
    /// Anything else: see [`CoreError::tag`].
    Other,
}

impl CoreErrorKind {
    /// What it is, in a sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::LargeMsg => "the message is too large once it is encoded",
            Self::InvalidQuote => "the quoted message is deleted",
            Self::InvalidMention => "a mention does not stand in the text as the core reads it",
            Self::CommandError => "the core does not understand the command, or it is not possible",
            Self::ChatNotStarted => "the chat has not been started",
            Self::ChatNotStopped => "the chat has not been stopped",
            Self::NoActiveUser => "the core has no user yet",
            Self::DifferentActiveUser => "the user is not the active one",
            Self::NoAddress => "the user has no address",
            Self::AddressExists => "the user has an address already",
            Self::NoSuchName => "nobody has this SimpleX name",
            Self::NameWithoutLink => "the SimpleX name leads to no address",
            Self::InvalidLink => "the core does not connect by such a link",
            Self::NothingThere => "there is nothing at the other end, or nothing any more",
            Self::ContactNotActive => "the contact was deleted, here or there",
            Self::NotInGroup => "the profile is no longer in the group",
            Self::Role => "the profile's role in the group does not allow it",
            Self::NotFound => "the core does not know it",
            Self::Service(_) => "Service RPC could not do it",
            Self::Other => "another error",
        }
    }

    fn of(tag: &str, message: Option<Str<'_>>) -> Self {
        let says = |start: &str| {
            message.is_some_and(|text| {
                let mut chars = text.chars();
                start.chars().all(|wanted| chars.next() == Some(wanted))
            })
        };
        match tag {
            "largeMsg" => Self::LargeMsg,
            "exception" if says("large compressed message") => Self::LargeMsg,
            "internalError" if says("large message") => Self::LargeMsg,
            "invalidQuote" => Self::InvalidQuote,
            "invalidMention" => Self::InvalidMention,
            "commandError" => Self::CommandError,
            "chatNotStarted" => Self::ChatNotStarted,
            "chatNotStopped" => Self::ChatNotStopped,
            "noActiveUser" => Self::NoActiveUser,
            "differentActiveUser" => Self::DifferentActiveUser,
            "userContactLinkNotFound" => Self::NoAddress,
            "duplicateContactLink" => Self::AddressExists,
            "unknownDomain" => Self::NoSuchName,
            "noValidLink" => Self::NameWithoutLink,
            "invalidConnReq" | "unsupportedConnReq" => Self::InvalidLink,
            "AUTH" => Self::NothingThere,
            "contactNotActive" => Self::ContactNotActive,
            "groupMemberUserRemoved" => Self::NotInGroup,
            "groupUserRole" => Self::Role,
            _ if tag.ends_with("NotFound") || tag.ends_with("NotFoundByName") => Self::NotFound,
            _ => Self::Other,
        }
    }
}

/// A sentence.
impl fmt::Display for CoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(failure) => failure.fmt(f),
            kind => f.write_str(kind.sentence()),
        }
    }
}

/// A refusal, borrowed from its frame. `Debug` and `Display` show what it is and the innermost
/// tag, not the core's own message.
///
/// ```
/// use agentwire_core::json::Object;
/// use agentwire_core::simplex::error::{CoreError, CoreErrorKind};
///
/// let error = r#"{"type":"errorStore","storeError":{"type":"largeMsg"}}"#;
/// let error = CoreError::new(Object::parse(error).unwrap());
/// assert_eq!(error.kind(), CoreErrorKind::LargeMsg);
/// let tags: Vec<String> = error.tags().map(|tag| tag.chars().collect()).collect();
/// assert_eq!(tags, ["errorStore", "largeMsg"]);
/// ```
#[derive(Clone, Copy)]
pub struct CoreError<'f> {
    object: Object<'f>,
    tag: Option<Str<'f>>,
    message: Option<Str<'f>>,
    kind: CoreErrorKind,
}

impl<'f> CoreError<'f> {
    /// Reads one.
    #[must_use]
    pub fn new(object: Object<'f>) -> Self {
        let mut tags = Tags::new(object);
        let (mut tag, mut is_service) = (None, false);
        let mut inner = None;
        for next in tags.by_ref() {
            is_service |= next == *"A_SERVICE";
            inner = tag.replace(next).or(inner);
        }
        let message = tags.message;
        let name = tag.and_then(|tag| tag.as_plain()).unwrap_or_default();
        let kind = if is_service {
            CoreErrorKind::Service(service_failure(name))
        } else {
            match CoreErrorKind::of(name, message) {
                // Outside of the innermost tag stands what its detail is about.
                CoreErrorKind::Other => {
                    let outer = inner.and_then(|tag| tag.as_plain()).unwrap_or_default();
                    CoreErrorKind::of(outer, message)
                }
                kind => kind,
            }
        };
        Self { object, tag, message, kind }
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> CoreErrorKind {
        self.kind
    }

    /// The innermost tag, by its name: what says most about an error that is not known.
    #[must_use]
    pub const fn tag(&self) -> Option<Str<'f>> {
        self.tag
    }

    /// The core's own words, where it has some.
    #[must_use]
    pub const fn message(&self) -> Option<Str<'f>> {
        self.message
    }

    /// All tags, from the outermost on; of a nest deeper than eight, the first eight.
    pub fn tags(&self) -> impl Iterator<Item = Str<'f>> + use<'f> {
        Tags::new(self.object)
    }

    /// The whole error.
    #[must_use]
    pub const fn object(&self) -> Object<'f> {
        self.object
    }

    /// The same as an end of a Service RPC request.
    #[must_use]
    pub const fn failure(&self) -> CoreFailure {
        match self.kind {
            CoreErrorKind::Service(failure) => failure,
            CoreErrorKind::DifferentActiveUser => CoreFailure::NotActiveUser,
            CoreErrorKind::CommandError
            | CoreErrorKind::LargeMsg
            | CoreErrorKind::ChatNotStarted
            | CoreErrorKind::NoActiveUser
            | CoreErrorKind::NoSuchName
            | CoreErrorKind::NameWithoutLink
            | CoreErrorKind::InvalidLink => CoreFailure::Refused,
            _ => CoreFailure::Other,
        }
    }
}

impl fmt::Debug for CoreError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoreError")
            .field("kind", &self.kind)
            .field("tag", &self.tag.and_then(|tag| tag.as_plain()))
            .field("message_len", &self.message.map(|text| text.raw().len()))
            .finish_non_exhaustive()
    }
}

impl fmt::Display for CoreError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        match self.tag.and_then(|tag| tag.as_plain()) {
            Some(tag) => write!(f, " ({tag})"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for CoreError<'_> {}

/// What an `A_SERVICE` error says: `ASETimeout` or `timeout`, in any letter case.
fn service_failure(tag: &str) -> CoreFailure {
    let name = match tag.split_at_checked(3) {
        Some((start, name)) if start.eq_ignore_ascii_case("ase") => name,
        _ => tag,
    };
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    if is("timeout") {
        CoreFailure::Timeout
    } else if is("notDRAddress") {
        CoreFailure::NoRatchetKeys
    } else if is("noPendingRequest") {
        CoreFailure::NoPendingRequest
    } else if is("rejected") {
        CoreFailure::Rejected
    } else if is("badSignature") {
        CoreFailure::BadSignature
    } else {
        CoreFailure::Other
    }
}

/// Goes inwards, one tag after another.
struct Tags<'f> {
    next: Option<Value<'f>>,
    message: Option<Str<'f>>,
    left: usize,
}

impl<'f> Tags<'f> {
    fn new(object: Object<'f>) -> Self {
        Self { next: Some(object.as_value()), message: None, left: MAX_LEVELS }
    }
}

impl<'f> Iterator for Tags<'f> {
    type Item = Str<'f>;

    fn next(&mut self) -> Option<Str<'f>> {
        loop {
            self.left = self.left.checked_sub(1)?;
            let value = self.next.take()?;
            if let Some(tag) = value.as_str() {
                return Some(tag);
            }
            let (mut tag, mut inner) = (None, None);
            for (name, value) in value.as_object()?.members() {
                if name == *"type" {
                    tag = value.as_str();
                } else if name == *"message" {
                    self.message = value.as_str().or(self.message);
                } else if inner.is_none() && holds_error(name) {
                    let is_nested = value.as_str().is_some() || value.as_object().is_some();
                    inner = is_nested.then_some(value);
                }
            }
            self.next = inner;
            if tag.is_some() {
                return tag;
            }
        }
    }
}

/// Whether a member of this name holds an error: `storeError`, `errorType`, `agentErr`, ….
fn holds_error(name: Str<'_>) -> bool {
    let raw = name.raw();
    raw.ends_with("rror") || raw.ends_with("Err") || raw == "errorType"
}

/// A refusal without borrows.
///
/// ```
/// use agentwire_core::json::Object;
/// use agentwire_core::simplex::error::{CoreError, CoreRefusal};
/// let error = r#"{"type":"error","errorType":{"type":"commandError","message":"Failed reading: empty"}}"#;
/// let refusal = CoreRefusal::from(CoreError::new(Object::parse(error).unwrap()));
/// assert_eq!(refusal.tag, "commandError");
/// assert_eq!(refusal.message.as_deref(), Some("Failed reading: empty"));
/// ```
#[cfg(feature = "alloc")]
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoreRefusal {
    /// What it is.
    pub kind: CoreErrorKind,
    /// The innermost tag, at most [`MAX_REFUSAL_TEXT`] bytes of it.
    pub tag: alloc::string::String,
    /// The core's own words, at most [`MAX_REFUSAL_TEXT`] bytes of them.
    pub message: Option<alloc::string::String>,
    /// The same as an end of a Service RPC request.
    pub failure: CoreFailure,
}

/// How much of a tag or of the core's own words a [`CoreRefusal`] keeps, in bytes.
pub const MAX_REFUSAL_TEXT: usize = 256;

#[cfg(feature = "alloc")]
impl From<CoreError<'_>> for CoreRefusal {
    fn from(error: CoreError<'_>) -> Self {
        let keep = |text: Str<'_>| {
            let mut kept = alloc::string::String::new();
            for char in text.chars() {
                if kept.len().saturating_add(char.len_utf8()) > MAX_REFUSAL_TEXT {
                    break;
                }
                kept.push(char);
            }
            kept
        };
        Self {
            kind: error.kind,
            tag: error.tag.map(keep).unwrap_or_default(),
            message: error.message.map(keep),
            failure: error.failure(),
        }
    }
}

#[cfg(feature = "alloc")]
impl fmt::Debug for CoreRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoreRefusal")
            .field("kind", &self.kind)
            .field("tag", &self.tag)
            .field("message_len", &self.message.as_ref().map(alloc::string::String::len))
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "alloc")]
impl fmt::Display for CoreRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kind, self.tag)
    }
}

#[cfg(feature = "alloc")]
impl core::error::Error for CoreRefusal {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::{String, ToString};
    use std::vec::Vec;

    fn read(text: &str) -> CoreError<'_> {
        CoreError::new(Object::parse(text).unwrap())
    }

    fn kind(text: &str) -> CoreErrorKind {
        read(text).kind()
    }

    #[test]
    fn errors_of_the_store_and_the_chat_are_typed() {
        let store =
            |tag| std::format!(r#"{{"type":"errorStore","storeError":{{"type":"{tag}"}}}}"#);
        let chat = |tag| std::format!(r#"{{"type":"error","errorType":{{"type":"{tag}"}}}}"#);
        for (text, expected) in [
            (store("largeMsg"), CoreErrorKind::LargeMsg),
            (store("invalidQuote"), CoreErrorKind::InvalidQuote),
            (store("invalidMention"), CoreErrorKind::InvalidMention),
            (store("userContactLinkNotFound"), CoreErrorKind::NoAddress),
            (store("duplicateContactLink"), CoreErrorKind::AddressExists),
            (store("chatItemNotFound"), CoreErrorKind::NotFound),
            (store("contactNotFoundByName"), CoreErrorKind::NotFound),
            (store("somethingNew"), CoreErrorKind::Other),
            (chat("commandError"), CoreErrorKind::CommandError),
            (chat("chatNotStarted"), CoreErrorKind::ChatNotStarted),
            (chat("chatNotStopped"), CoreErrorKind::ChatNotStopped),
            (chat("noActiveUser"), CoreErrorKind::NoActiveUser),
            (chat("differentActiveUser"), CoreErrorKind::DifferentActiveUser),
            (chat("exception"), CoreErrorKind::Other),
            (chat("invalidConnReq"), CoreErrorKind::InvalidLink),
            (chat("groupMemberUserRemoved"), CoreErrorKind::NotInGroup),
        ] {
            assert_eq!(kind(&text), expected, "{text}");
        }
    }

    /// simplex-chat `bots/api/TYPES.md`, `ChatErrorType`, `AgentErrorType`.
    #[test]
    fn what_an_error_shows_does_not_hide_what_it_is() {
        for (text, expected) in [
            (
                r#"{"type":"error","errorType":{"type":"contactNotActive","contact":{"contactId":4,
                    "activeConn":{"connStatus":{"type":"ready"}},"contactStatus":"deleted"}}}"#,
                CoreErrorKind::ContactNotActive,
            ),
            (
                r#"{"type":"error","errorType":{"type":"groupUserRole","groupInfo":{"groupId":1,
                    "membership":{"invitedBy":{"type":"user"}}},"requiredRole":"owner"}}"#,
                CoreErrorKind::Role,
            ),
            (
                r#"{"type":"error","errorType":{"type":"simplexDomainNotReady",
                    "simplexDomain":{"nameTLD":"simplex","domain":"a","subDomain":[]},
                    "simplexDomainError":{"type":"unknownDomain"}}}"#,
                CoreErrorKind::NoSuchName,
            ),
            (
                r#"{"type":"error","errorType":{"type":"simplexDomainNotReady",
                    "simplexDomainError":{"type":"noValidLink"}}}"#,
                CoreErrorKind::NameWithoutLink,
            ),
            (
                r#"{"type":"errorAgent","agentError":{"type":"SMP","serverAddress":"smp://a",
                    "smpErr":{"type":"AUTH"}},"agentConnId":""}"#,
                CoreErrorKind::NothingThere,
            ),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn a_message_that_is_too_large_compressed_or_signed_is_too_large() {
        let text = r#"{"type":"error","errorType":{"type":"exception","message":"large compressed message"}}"#;
        assert_eq!(kind(text), CoreErrorKind::LargeMsg);
        let text =
            r#"{"type":"error","errorType":{"type":"internalError","message":"large message 17"}}"#;
        assert_eq!(kind(text), CoreErrorKind::LargeMsg);
        let text = r#"{"type":"error","errorType":{"type":"internalError","message":"other"}}"#;
        assert_eq!(kind(text), CoreErrorKind::Other);
    }

    #[test]
    fn service_errors_are_read_in_every_spelling() {
        let agent = |inner: &str| {
            std::format!(
                r#"{{"type":"errorAgent","agentError":{{"type":"AGENT","agentErr":{{"type":"A_SERVICE",{inner}}}}},"connectionEntity_":{{"type":"x"}}}}"#
            )
        };
        for (name, failure) in [
            ("timeout", CoreFailure::Timeout),
            ("ASETimeout", CoreFailure::Timeout),
            ("notDRAddress", CoreFailure::NoRatchetKeys),
            ("aseNotDrAddress", CoreFailure::NoRatchetKeys),
            ("noPendingRequest", CoreFailure::NoPendingRequest),
            ("badSignature", CoreFailure::BadSignature),
            ("new", CoreFailure::Other),
        ] {
            let nested = agent(&std::format!(r#""serviceError":{{"type":"{name}"}}"#));
            assert_eq!(kind(&nested), CoreErrorKind::Service(failure), "{nested}");
            assert_eq!(read(&nested).failure(), failure);
            let flat = agent(&std::format!(r#""serviceError":"{name}""#));
            assert_eq!(kind(&flat), CoreErrorKind::Service(failure), "{flat}");
        }
        let rejected = agent(r#""serviceError":{"type":"rejected","rejectReason":"no"}"#);
        assert_eq!(read(&rejected).failure(), CoreFailure::Rejected);
    }

    #[test]
    fn what_surrounds_an_unknown_detail_is_known() {
        let text =
            r#"{"type":"errorStore","storeError":{"type":"largeMsg","detailError":{"type":"x"}}}"#;
        assert_eq!(kind(text), CoreErrorKind::LargeMsg);
        assert_eq!(read(text).to_string(), "the message is too large once it is encoded (x)");
    }

    #[test]
    fn an_unknown_error_is_kept_by_its_name() {
        let error =
            read(r#"{"type":"errorDatabase","databaseError":{"type":"errorOpen","dbFile":"x"}}"#);
        assert_eq!(error.kind(), CoreErrorKind::Other);
        assert!(error.tag().unwrap() == *"errorOpen");
        let tags: Vec<String> = error.tags().map(|tag| tag.chars().collect()).collect();
        assert_eq!(tags, ["errorDatabase", "errorOpen"]);
        for text in ["{}", r#"{"type":7}"#, r#"{"storeError":[]}"#] {
            assert_eq!(read(text).kind(), CoreErrorKind::Other);
            assert!(read(text).tag().is_none());
        }
    }

    #[test]
    fn a_nest_is_followed_eight_levels_deep() {
        let nested = |levels: usize| {
            let mut text = String::from(r#"{"type":"largeMsg"}"#);
            for _ in 1..levels {
                text = std::format!(r#"{{"type":"x","e_rror":{text}}}"#);
            }
            text
        };
        assert_eq!(kind(&nested(7)), CoreErrorKind::LargeMsg);
        assert_eq!(kind(&nested(8)), CoreErrorKind::LargeMsg);
        assert_eq!(kind(&nested(9)), CoreErrorKind::Other);
    }

    #[test]
    fn a_refusal_keeps_so_much_and_shows_no_message() {
        for (len, kept) in [(255, 255), (256, 256), (257, 256)] {
            let long = "m".repeat(len);
            let text = std::format!(
                r#"{{"type":"error","errorType":{{"type":"exception","message":"{long}"}}}}"#
            );
            let refusal = CoreRefusal::from(read(&text));
            assert_eq!(refusal.message.as_ref().unwrap().len(), kept);
            assert!(!std::format!("{refusal:?} {refusal} {:?}", read(&text)).contains("mm"));
        }
    }
}
