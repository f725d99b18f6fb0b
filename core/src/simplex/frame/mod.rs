//! What the core sends: responses to commands, and events (simplex-chat, bots/README.md and
//! bots/api).
//!
//! A frame is one JSON object. A response repeats the `corrId` of its command, an event has none;
//! what either says is a union whose tag is `type`:
//!
//! ```text
//! {"corrId":"7","resp":{"type":"newChatItems","user":{…},"chatItems":[{…}]}}      a response
//! {"resp":{"type":"newChatItems","user":{…},"chatItems":[{…},{…}]}}               an event
//! {"corrId":"7","resp":{"type":"chatCmdError","chatError":{…}}}                   a refusal
//! ```
//!
//! The same in other shapes is read too: `resp` as `{"Right":{…}}` or `{"Left":{…}}` (the core's
//! source encodes `Either` so), and `{"result":{…}}` or `{"error":{…}}` in `resp` or in its place
//! (the core as a library).
//!
//! Reading is tolerant where the core asks for it: members, tags and strings that are not known
//! are passed over or surfaced ([`Body::Unknown`]). It is strict in JSON, and in what a type has
//! to have ([`ShapeError`]); even then the `corrId` is known, so that its command has an end.
//!
//! A frame is borrowed. Several items in one frame are an iterator, each of them an input of the
//! machines of its own.

mod address;
mod body;
mod item;
mod people;
mod pick;
#[cfg(test)]
mod tests;

use core::fmt;

pub use address::{Address, ContactRequest, Links, Plan, PlanKind, PlanState};
pub use body::{
    Body, Errors, GroupChange, GroupChangeKind, ServiceRequest, VersionInfo, event_names,
};
pub use item::{
    ChatItem, ChatPage, Direction, ItemError, ItemQuote, ItemStatus, Mentions, Skipped,
};
pub use people::{Contact, Group, Member, Peer, User};
pub use pick::{List, ShapeError};

use super::error::CoreError;
use crate::json::{self, Elements, Found, Object, Str, Value};
use pick::{pick, tag};

/// The largest frame that is read, in bytes: 16 MiB. A page of a hundred messages with their
/// quotes has a few; an adapter gives its WebSocket the same limit.
pub const MAX_FRAME_LEN: usize = 16 * 1024 * 1024;

/// Why a frame was not read.
///
/// ```
/// use agentwire_core::simplex::frame::{Frame, FrameError};
/// assert_eq!(Frame::parse(r#"{"corrId":"7"}"#).unwrap_err(), FrameError::NoResponse);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FrameError {
    /// It has more bytes than are read.
    TooLarge {
        /// How many.
        len: usize,
        /// How many are read at most: [`MAX_FRAME_LEN`].
        limit: usize,
    },
    /// It is not one JSON object.
    Json(json::Error),
    /// It says nothing: there is no `resp` with a `type`.
    NoResponse,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { len, limit } => {
                write!(f, "a frame of {len} bytes, at most {limit} are read")
            }
            Self::Json(error) => write!(f, "a frame that is no JSON object: {error}"),
            Self::NoResponse => f.write_str("a frame without a response or an event"),
        }
    }
}

impl core::error::Error for FrameError {}

/// A frame from the core. `Debug` shows its type, never what it says.
///
/// ```
/// use agentwire_core::simplex::frame::{Body, Frame};
///
/// let frame = Frame::parse(r#"{"corrId":"7","resp":{"type":"chatStarted"}}"#).unwrap();
/// assert!(frame.corr_id().unwrap() == *"7");
/// assert!(matches!(frame.body(), Ok(Body::ChatStarted)));
///
/// let frame = Frame::parse(r#"{"resp":{"type":"somethingNew","x":1}}"#).unwrap();
/// assert!(frame.corr_id().is_none());
/// assert!(frame.tag() == *"somethingNew");
/// assert!(matches!(frame.body(), Ok(Body::Unknown)));
/// ```
#[derive(Clone)]
pub struct Frame<'f> {
    corr_id: Option<Str<'f>>,
    tag: Str<'f>,
    object: Object<'f>,
    is_error: bool,
    items: Option<Items<'f>>,
}

/// The member `chatItems` of a response, whose first element was read on the way: nearly every
/// frame of a bot's has it, and has one element.
#[derive(Clone)]
struct Items<'f> {
    list: Value<'f>,
    first: Value<'f>,
    item: Result<ChatItem<'f>, ShapeError>,
}

impl<'f> Frame<'f> {
    /// Reads a text frame.
    ///
    /// # Errors
    /// [`FrameError`]
    pub fn parse(text: &'f str) -> Result<Self, FrameError> {
        let (len, limit) = (text.len(), MAX_FRAME_LEN);
        if len > limit {
            return Err(FrameError::TooLarge { len, limit });
        }
        // The usual frame is known after one pass: `corrId`, and `resp` with its `type`.
        let (mut corr_id, mut response) = (Found::default(), Found::default());
        let (mut tag, mut items) = (None, None);
        let object = Object::parse_members(text, ["\"corrId\":", "\"resp\":"], |place, value| {
            if place != Some(1) {
                let read = value.read()?;
                if place == Some(0) {
                    corr_id.add(read.seen.value);
                }
                return Ok(read);
            }
            let (mut kind, mut list, mut first) = (Found::default(), Found::default(), None);
            let read = value.read_members(["\"type\":", "\"chatItems\":"], |place, value| {
                if place != Some(1) {
                    let read = value.read()?;
                    if place == Some(0) {
                        kind.add(read.seen);
                    }
                    return Ok(read);
                }
                let read = value.read_first(|value| {
                    let (read, item) = ChatItem::element_reading(value)?;
                    first = Some((read.seen.value, item));
                    Ok(read)
                })?;
                list.add(read.seen.value);
                Ok(read)
            })?;
            response.add(read.seen.value);
            // A second one leaves open what it is.
            tag = kind.get().ok().flatten().and_then(|kind| kind.as_str());
            let list = list.get().ok().flatten();
            items = list.zip(first).map(|(list, (first, item))| Items { list, first, item });
            Ok(read)
        });
        let object = object.map_err(FrameError::Json)?;
        let once = |found: Found<Value<'f>>| found.get().map_err(|_| FrameError::NoResponse);
        let (corr_id, response) = (once(corr_id)?, once(response)?);
        match (response.and_then(|response| response.as_object()), tag) {
            (Some(object), Some(tag)) => {
                let corr_id = corr_id.and_then(|id| id.as_str());
                Ok(Self { corr_id, tag, object, is_error: false, items })
            }
            _ => Self::of(object),
        }
    }

    /// Reads bytes that are a text frame.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and for bytes that are not UTF-8.
    pub fn parse_bytes(bytes: &'f [u8]) -> Result<Self, FrameError> {
        let (len, limit) = (bytes.len(), MAX_FRAME_LEN);
        if len > limit {
            return Err(FrameError::TooLarge { len, limit });
        }
        Self::parse(json::text(bytes).map_err(FrameError::Json)?)
    }

    /// Reads one of the other shapes.
    fn of(object: Object<'f>) -> Result<Self, FrameError> {
        let found = pick(object, ["corrId", "resp"]).map_err(|_| FrameError::NoResponse)?;
        let corr_id = found.str(0);
        let response = found.object(1).unwrap_or(object);
        let response_type = tag(response);
        if let Some(tag) = response_type {
            return Ok(Self { corr_id, tag, object: response, is_error: false, items: None });
        }
        let inside = pick(response, ["Right", "result", "Left", "error"])
            .map_err(|_| FrameError::NoResponse)?;
        let result = inside.object(0).or_else(|| inside.object(1));
        let (object, is_error) = match result.or_else(|| inside.object(2)) {
            Some(object) => (object, result.is_none()),
            None => (inside.object(3).ok_or(FrameError::NoResponse)?, true),
        };
        let tag = tag(object).ok_or(FrameError::NoResponse)?;
        Ok(Self { corr_id, tag, object, is_error, items: None })
    }

    /// Which command it answers; `None` for an event.
    #[must_use]
    pub const fn corr_id(&self) -> Option<Str<'f>> {
        self.corr_id
    }

    /// Its type, by its name.
    #[must_use]
    pub const fn tag(&self) -> Str<'f> {
        self.tag
    }

    /// What it says, as it stands.
    #[must_use]
    pub const fn object(&self) -> Object<'f> {
        self.object
    }

    /// The refusal, if it is one: of a command, or an error that the core reports by itself.
    #[must_use]
    pub fn error(&self) -> Option<CoreError<'f>> {
        if self.is_error {
            return Some(CoreError::new(self.object));
        }
        if self.tag == *"chatCmdError" || self.tag == *"chatError" {
            // One without particulars is an error all the same.
            let inside = pick(self.object, ["chatError"]).ok().and_then(|found| found.object(0));
            return Some(CoreError::new(inside.unwrap_or(self.object)));
        }
        None
    }

    /// What it says.
    ///
    /// # Errors
    /// [`ShapeError`] when its type is known and its shape is not.
    pub fn body(&self) -> Result<Body<'f>, ShapeError> {
        match (self.error(), &self.items) {
            (Some(error), _) => Ok(Body::Error(error)),
            (None, Some(items)) if self.tag == *"newChatItems" => {
                let rest = Elements::after(items.list, items.first);
                let list = List::after(items.item.clone(), rest, ChatItem::element);
                Ok(Body::NewChatItems(list))
            }
            (None, _) => Body::read(self.tag, self.object),
        }
    }
}

impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("is_response", &self.corr_id.is_some())
            .field("tag", &self.tag.as_plain())
            .field("len", &self.object.get_text().len())
            .finish()
    }
}
