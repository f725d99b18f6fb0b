//! Taking named members out of an object in one pass.

use core::fmt;

use crate::json::{Elements, Object, Read, Str, Unread, Unreadable, Value, name_of};

/// A response or an event whose type is known and whose shape is not: a member that it has to
/// have is missing, is of another kind, or stands there twice.
///
/// ```
/// use agentwire_core::simplex::frame::Frame;
/// let frame = Frame::parse(r#"{"resp":{"type":"newChatItems","chatItems":7}}"#).unwrap();
/// let error = frame.body().unwrap_err();
/// assert_eq!(error.member, "chatItems");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct ShapeError {
    /// Which member.
    pub member: &'static str,
}

impl ShapeError {
    pub(super) const fn new(member: &'static str) -> Self {
        Self { member }
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the core's message has no {} as it should be", self.member)
    }
}

impl core::error::Error for ShapeError {}

/// The members with these names. `null` is as good as absent: the core writes both.
pub(super) fn pick<'f, const N: usize>(
    object: Object<'f>,
    names: [&'static str; N],
) -> Result<Picked<'f, N>, ShapeError> {
    let mut values = [None; N];
    for (name, value) in object.members() {
        for (slot, wanted) in values.iter_mut().zip(names) {
            if name == *wanted {
                if slot.replace(value).is_some() {
                    return Err(ShapeError::new(wanted));
                }
                break;
            }
        }
    }
    Ok(Picked { names: Names::Plain(names), values })
}

/// Something that is made of a value while that is read, or what it lacks for that. So a frame is
/// passed over once, however deep what matters lies in it.
pub(super) type Reading<'f, T> = Result<(Read<'f>, Result<T, ShapeError>), Unreadable>;

/// As [`pick`], while the object is read; the values of these members are left to `inside`, which
/// reads them and may look into them. `keys` are the names with their quotes and the colon.
#[inline(always)]
pub(super) fn pick_reading<'f, const N: usize>(
    object: Unread<'f>,
    keys: [&'static str; N],
    mut inside: impl FnMut(usize, Unread<'f>) -> Result<Read<'f>, Unreadable>,
) -> Reading<'f, Picked<'f, N>> {
    let (mut values, mut twice) = ([None; N], None);
    let read = object.read_members(keys, |place, value| {
        let Some(place) = place else { return value.read() };
        let read = inside(place, value)?;
        if values.get_mut(place).is_some_and(|slot| slot.replace(read.seen.value).is_some()) {
            twice = twice.or(keys.get(place));
        }
        Ok(read)
    })?;
    let found = match twice {
        Some(key) => Err(ShapeError::new(name_of(key))),
        None => Ok(Picked { names: Names::Keys(keys), values }),
    };
    Ok((read, found))
}

/// What is made of an object that was read before.
pub(super) fn known<'f, T>(
    object: Object<'f>,
    reading: impl FnOnce(Unread<'f>) -> Reading<'f, T>,
) -> Result<T, ShapeError> {
    // It is known to be well formed.
    let unreadable = |_| ShapeError::new("chatItem");
    reading(Unread::again(object.as_value())).map_err(unreadable)?.1
}

/// The names that were looked for: as they are, or with their quotes and the colon.
enum Names<const N: usize> {
    Plain([&'static str; N]),
    Keys([&'static str; N]),
}

/// What [`pick`] has found.
pub(super) struct Picked<'f, const N: usize> {
    names: Names<N>,
    values: [Option<Value<'f>>; N],
}

impl<'f, const N: usize> Picked<'f, N> {
    fn name(&self, place: usize) -> &'static str {
        let (names, is_keys) = match &self.names {
            Names::Plain(names) => (names, false),
            Names::Keys(keys) => (keys, true),
        };
        let name = names.get(place).copied().unwrap_or_default();
        if is_keys { name_of(name) } else { name }
    }

    /// What was found at this place.
    pub(super) fn value(&self, place: usize) -> Option<Value<'f>> {
        self.values.get(place).copied().flatten().filter(|value| !value.is_null())
    }

    fn need<T>(&self, place: usize, found: Option<T>) -> Result<T, ShapeError> {
        found.ok_or(ShapeError::new(self.name(place)))
    }

    pub(super) fn str(&self, place: usize) -> Option<Str<'f>> {
        self.value(place)?.as_str()
    }

    pub(super) fn object(&self, place: usize) -> Option<Object<'f>> {
        self.value(place)?.as_object()
    }

    pub(super) fn int(&self, place: usize) -> Option<i64> {
        self.value(place)?.as_integer()
    }

    pub(super) fn is(&self, place: usize) -> bool {
        self.value(place).and_then(|value| value.as_bool()) == Some(true)
    }

    pub(super) fn need_str(&self, place: usize) -> Result<Str<'f>, ShapeError> {
        self.need(place, self.str(place))
    }

    pub(super) fn need_object(&self, place: usize) -> Result<Object<'f>, ShapeError> {
        self.need(place, self.object(place))
    }

    pub(super) fn need_int(&self, place: usize) -> Result<i64, ShapeError> {
        self.need(place, self.int(place))
    }

    pub(super) fn need_elements(&self, place: usize) -> Result<Elements<'f>, ShapeError> {
        self.need(place, self.value(place).and_then(|value| value.elements()))
    }
}

/// A word of the core's, by what it means: written without escapes, as the core does it, it is
/// borrowed; else it is decoded, as far as words of the core are long.
pub(super) struct Word<'f> {
    plain: Option<&'f str>,
    bytes: [u8; 40],
    len: usize,
}

pub(super) fn word(text: Option<Str<'_>>) -> Word<'_> {
    let plain = text.map_or(Some(""), |text| text.as_plain());
    let mut bytes = [0; 40];
    let decoded = text.filter(|_| plain.is_none()).and_then(|text| text.decode(&mut bytes).ok());
    let len = decoded.map_or(0, str::len);
    Word { plain, bytes, len }
}

impl core::ops::Deref for Word<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        let decoded = || self.bytes.get(..self.len).map(core::str::from_utf8);
        self.plain.or_else(|| decoded()?.ok()).unwrap_or_default()
    }
}

/// The tag of a union: its member `type`.
pub(super) fn tag(object: Object<'_>) -> Option<Str<'_>> {
    pick(object, ["type"]).ok()?.str(0)
}

/// The elements of a list, each read on its own: one that is not as it should be does not spoil
/// the others.
///
/// ```
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"resp":{"type":"contactsList","contacts":[{"contactId":1,"localDisplayName":"ann"},{}]}}"#;
/// let Ok(Body::Contacts(contacts)) = Frame::parse(text).unwrap().body() else { panic!() };
/// let read: Vec<bool> = contacts.map(|contact| contact.is_ok()).collect();
/// assert_eq!(read, [true, false]);
/// ```
#[derive(Clone)]
pub struct List<'f, T> {
    /// The first element, if it was read before the list was taken.
    first: Option<Result<T, ShapeError>>,
    elements: Elements<'f>,
    read: fn(Value<'f>) -> Result<T, ShapeError>,
}

impl<'f, T> List<'f, T> {
    pub(super) fn new(
        elements: Elements<'f>,
        read: fn(Value<'f>) -> Result<T, ShapeError>,
    ) -> Self {
        Self { first: None, elements, read }
    }

    /// With a first element that has been read, and those after it.
    pub(super) fn after(
        first: Result<T, ShapeError>,
        elements: Elements<'f>,
        read: fn(Value<'f>) -> Result<T, ShapeError>,
    ) -> Self {
        Self { first: Some(first), elements, read }
    }
}

impl<T> Iterator for List<'_, T> {
    type Item = Result<T, ShapeError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.elements.next().map(self.read),
        }
    }
}

impl<T> fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.elements.clone().count().saturating_add(usize::from(self.first.is_some()));
        f.debug_struct("List").field("left", &left).finish()
    }
}
