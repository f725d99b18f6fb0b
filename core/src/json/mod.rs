//! JSON without a heap: a strict scanner that lends spans, and a writer into the caller's buffer.
//!
//! The scanner takes exactly the texts that RFC 8259 defines, in one pass, without recursion and
//! without copying. What the grammar leaves open is decided here once:
//!
//! | question | decision |
//! |---|---|
//! | nesting | at most [`MAX_DEPTH`] arrays and objects inside each other ([`ErrorKind::TooDeep`]) |
//! | duplicate members | [`Object::members`] gives all of them in order; [`Object::get`] refuses to choose ([`ErrorKind::DuplicateMember`]) |
//! | names written with escapes | compared by what they mean: `"\u0069d"` is `id` |
//! | lone surrogates (`"\ud83d"`) | refused: no Rust string, and no other strict peer, can hold them |
//! | byte order mark | refused, with an error of its own |
//! | `-0`, `1e400`, 400 digits | numbers like any other: their text is kept, and nothing is rounded until a caller asks for an integer |
//! | data after the value | refused; white space is fine |
//! | bytes that are not UTF-8 | refused before anything else is looked at |
//! | unescaped control characters in strings | refused, as the grammar says; U+007F is none |
//!
//! [`Value`], [`Object`] and [`Str`] are proofs: whoever holds one knows that its text is well
//! formed.

#[cfg(feature = "canonical")]
pub mod canonical;
mod error;
pub mod length;
mod path;
mod scan;
pub(crate) mod splice;
mod string;
mod write;

use core::cmp::Ordering;
use core::fmt;

pub use error::{BufferTooSmall, Error, ErrorKind};
pub use path::{Path, Step, Steps};
use scan::Scanner;
pub(crate) use scan::{Read, Seen, Unread, Unreadable, Visited, name_of};
#[cfg(feature = "canonical")]
use write::hex;
#[cfg(feature = "alloc")]
pub use write::to_text;
#[cfg(feature = "alloc")]
pub(crate) use write::to_text_through;
pub(crate) use write::{INT_LEN, escape, int, write_string};
pub use write::{Writer, compact};

/// How many arrays and objects may be open at once: 127, the depth that serde_json reads too.
pub const MAX_DEPTH: u32 = 127;

/// What a value is.
///
/// ```
/// use agentwire_core::json::{Kind, Value};
/// assert_eq!(Value::parse(" [1] ").unwrap().kind(), Kind::Array);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // RFC 8259 section 3 is closed.
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number, of any size and precision.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The kind of a well-formed value that begins with this byte.
    fn of(first: Option<u8>) -> Self {
        match first {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Bool,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }
}

/// One well-formed JSON value, borrowed from the text it stands in, without white space around it.
///
/// `Debug` shows the kind and the length, never the text.
///
/// ```
/// use agentwire_core::json::Value;
///
/// let value = Value::parse(r#" {"id": 7, "params": {"a": [true]}} "#).unwrap();
/// let object = value.as_object().unwrap();
/// assert_eq!(object.get("id").unwrap().unwrap().get(), "7");
/// assert_eq!(object.get("params").unwrap().unwrap().get(), r#"{"a": [true]}"#);
/// ```
#[derive(Clone, Copy)]
pub struct Value<'a> {
    text: &'a str,
}

impl<'a> Value<'a> {
    /// `text` is one well-formed value, trimmed.
    fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// Reads a text that is one value, with white space around it or not.
    ///
    /// # Errors
    /// [`Error`] with the first place where the text is not JSON.
    pub fn parse(text: &'a str) -> Result<Self, Error> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    /// Reads bytes that are one value.
    ///
    /// # Errors
    /// [`Error`] as [`parse`](Self::parse), and [`ErrorKind::InvalidUtf8`] at the first byte that
    /// is not UTF-8.
    pub fn parse_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::parse(text(bytes)?)
    }

    /// The value's text.
    pub fn get(&self) -> &'a str {
        self.text
    }

    /// What the value is.
    pub fn kind(&self) -> Kind {
        // A well-formed value tells its kind by its first byte.
        Kind::of(self.text.as_bytes().first().copied())
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// The value as an object, if it is one.
    pub fn as_object(&self) -> Option<Object<'a>> {
        (self.kind() == Kind::Object).then_some(Object { text: self.text })
    }

    /// The value as a string, if it is one.
    pub fn as_str(&self) -> Option<Str<'a>> {
        (self.kind() == Kind::String).then_some(Str::new(self.text))
    }

    /// The value as a truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        (self.kind() == Kind::Bool).then_some(self.text == "true")
    }

    /// The value as an integer, if it is a number without a fractional part that an `i64` holds:
    /// `8`, `8.0` and `80e-1` are all 8; `1.5` and `1e30` are `None`. Nothing is rounded.
    ///
    /// ```
    /// use agentwire_core::json::Value;
    /// let integer = |text| Value::parse(text).unwrap().as_integer();
    /// assert_eq!(integer("1e2"), Some(100));
    /// assert_eq!(integer("-0"), Some(0));
    /// assert_eq!(integer("1.5"), None);
    /// assert_eq!(integer("9223372036854775808"), None);
    /// ```
    pub fn as_integer(&self) -> Option<i64> {
        if self.kind() == Kind::Number { integer(self.text) } else { None }
    }

    /// The elements, if it is an array.
    ///
    /// ```
    /// use agentwire_core::json::Value;
    /// let array = Value::parse("[1, [2], \"3\"]").unwrap();
    /// let texts: Vec<_> = array.elements().unwrap().map(|element| element.get()).collect();
    /// assert_eq!(texts, ["1", "[2]", "\"3\""]);
    /// ```
    pub fn elements(&self) -> Option<Elements<'a>> {
        (self.kind() == Kind::Array)
            .then_some(Elements { scanner: Scanner::new(inside(self.text)) })
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({:?}, {} bytes)", self.kind(), self.text.len())
    }
}

/// Bytes as text.
///
/// # Errors
/// [`ErrorKind::InvalidUtf8`] at the first byte that is not UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, Error> {
    core::str::from_utf8(bytes)
        .map_err(|error| Error::new(ErrorKind::InvalidUtf8, error.valid_up_to()))
}

/// A container's text without its brackets.
fn inside(text: &str) -> &str {
    let end = text.len().saturating_sub(1);
    text.get(1..end).unwrap_or_default()
}

/// One well-formed JSON object, borrowed from the text it stands in.
///
/// `Debug` shows the length, never the text.
///
/// ```
/// use agentwire_core::json::Object;
///
/// let object = Object::parse(r#"{"\u0069d": 1, "b": 2, "b": 3}"#).unwrap();
/// assert_eq!(object.get("id").unwrap().unwrap().get(), "1");
/// assert!(object.get("b").is_err());
/// assert_eq!(object.members().count(), 3);
/// ```
#[derive(Clone, Copy)]
pub struct Object<'a> {
    text: &'a str,
}

impl<'a> Object<'a> {
    /// Reads a text that is one object, with white space around it or not.
    ///
    /// # Errors
    /// [`Error`] as [`Value::parse`], and [`ErrorKind::NotAnObject`] for another kind of value.
    pub fn parse(text: &'a str) -> Result<Self, Error> {
        Self::parse_with(text, |_, _| {})
    }

    /// Reads a text that is one object and shows each member as it ends, in one pass. Members
    /// before the place of an error have been shown.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_with(
        text: &'a str,
        mut visit: impl FnMut(Str<'a>, Value<'a>),
    ) -> Result<Self, Error> {
        Self::parse_deep(text, 1, &mut |seen| visit(seen.name(), seen.value()))
    }

    /// As [`parse_with`](Self::parse_with), and shows the members of objects inside it too, down
    /// to `levels` containers inside each other (at most four), each with its depth: 1 is a member
    /// of the object itself. The members of a member's value are shown before that member.
    pub(crate) fn parse_deep(
        text: &'a str,
        levels: usize,
        visit: &mut dyn FnMut(&Visited<'a, '_>),
    ) -> Result<Self, Error> {
        let mut scanner = Scanner::new(text);
        let value = scanner.walk(levels, visit)?;
        scanner.end()?;
        Self::is(text, value)
    }

    /// As [`parse`](Self::parse), and leaves each member's value to `member`, which reads it and
    /// returns it, with the place of the member's name among `keys`: names with their quotes and the
    /// colon.
    #[inline(always)]
    pub(crate) fn parse_members<const N: usize>(
        text: &'a str,
        keys: [&str; N],
        member: impl FnMut(Option<usize>, Unread<'a>) -> Result<Read<'a>, Unreadable>,
    ) -> Result<Self, Error> {
        Self::is(text, Unread::whole(text, |value| value.read_members(keys, member))?)
    }

    /// The whole of a text, if it is an object.
    fn is(text: &'a str, value: Value<'a>) -> Result<Self, Error> {
        value.as_object().ok_or(Error::new(ErrorKind::NotAnObject, offset_in(text, value.text)))
    }

    /// The object's text.
    pub fn get_text(&self) -> &'a str {
        self.text
    }

    /// The object as a value.
    pub fn as_value(&self) -> Value<'a> {
        Value::new(self.text)
    }

    /// The members in the order in which they are written, duplicates included.
    pub fn members(&self) -> Members<'a> {
        Members { scanner: Scanner::new(inside(self.text)) }
    }

    /// The member `name`, if there is one.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateMember`] when the name occurs twice; the offset is that of the
    /// second value in the object's text.
    pub fn get(&self, name: &str) -> Result<Option<Value<'a>>, Error> {
        let mut found = None;
        for (key, value) in self.members() {
            if key == *name {
                if found.is_some() {
                    let offset = offset_in(self.text, value.text);
                    return Err(Error::new(ErrorKind::DuplicateMember, offset));
                }
                found = Some(value);
            }
        }
        Ok(found)
    }

    /// The member `name` if it is there and is an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn object(&self, name: &str) -> Result<Option<Object<'a>>, Error> {
        Ok(self.get(name)?.and_then(|value| value.as_object()))
    }

    /// The member `name` if it is there and is a string.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn str(&self, name: &str) -> Result<Option<Str<'a>>, Error> {
        Ok(self.get(name)?.and_then(|value| value.as_str()))
    }
}

/// Whether both are the same text.
impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Object<'_> {}

impl fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({} bytes)", self.text.len())
    }
}

/// A member that is looked for among those that are shown: a [`Value`], or one that was [`Seen`].
#[derive(Clone, Copy)]
pub(crate) struct Found<T> {
    last: Option<T>,
    twice: bool,
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Self { last: None, twice: false }
    }
}

impl<T: Copy> Found<T> {
    /// It is here.
    #[inline(always)]
    pub(crate) fn add(&mut self, value: T) {
        self.twice |= self.last.is_some();
        self.last = Some(value);
    }

    /// Its value, if there is one; or that it occurs twice.
    #[inline(always)]
    pub(crate) fn get(&self) -> Result<Option<T>, Twice<T>> {
        match self.last {
            Some(last) if self.twice => Err(Twice { last }),
            last => Ok(last),
        }
    }
}

/// A member occurs twice, or more often.
pub(crate) struct Twice<T> {
    pub(crate) last: T,
}

/// Where `part`, a slice of `whole`, begins in it; zero when it is no slice of it.
pub(crate) fn offset_in(whole: &str, part: &str) -> usize {
    let offset = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
    if offset <= whole.len() { offset } else { 0 }
}

/// The members of an [`Object`], in order.
///
/// ```
/// use agentwire_core::json::Object;
/// let object = Object::parse(r#"{"a":1,"b":[2]}"#).unwrap();
/// let mut members = object.members();
/// assert!(members.next().unwrap().0 == *"a");
/// assert_eq!(members.next().unwrap().1.get(), "[2]");
/// assert!(members.next().is_none());
/// ```
#[derive(Clone)]
pub struct Members<'a> {
    scanner: Scanner<'a>,
}

impl<'a> Members<'a> {
    /// The members of the object that `text` begins with, whose text has been found well formed.
    pub(crate) fn after_brace(text: &'a str) -> Self {
        Self { scanner: Scanner::new(text.get(1..).unwrap_or_default()) }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Str<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        // The text is known to be well formed, so errors do not occur: they end the iteration.
        let name = self.scanner.name().ok()?;
        let value = self.scanner.value().ok()?;
        self.scanner.comma();
        Some((name, value))
    }
}

impl fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Members({} bytes left)", self.scanner.left())
    }
}

/// The elements of an array, in order. See [`Value::elements`].
///
/// ```
/// use agentwire_core::json::Value;
/// let mut elements = Value::parse("[1, {\"a\": [2]}]").unwrap().elements().unwrap();
/// assert_eq!(elements.next().unwrap().get(), "1");
/// assert_eq!(elements.next().unwrap().get(), "{\"a\": [2]}");
/// assert!(elements.next().is_none());
/// ```
#[derive(Clone)]
pub struct Elements<'a> {
    scanner: Scanner<'a>,
}

impl<'a> Elements<'a> {
    /// The elements of an array that follow the first one, which is known.
    pub(crate) fn after(array: Value<'a>, first: Value<'a>) -> Self {
        let end = offset_in(array.text, first.text).saturating_add(first.text.len());
        let stop = array.text.len().saturating_sub(1);
        let mut scanner = Scanner::new(array.text.get(end..stop).unwrap_or_default());
        scanner.comma();
        Self { scanner }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.scanner.value().ok()?;
        self.scanner.comma();
        Some(value)
    }
}

impl fmt::Debug for Elements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Elements({} bytes left)", self.scanner.left())
    }
}

/// One well-formed JSON string, as it is written.
///
/// It compares with `str` by what it means, not by how it is escaped. `Debug` shows the length,
/// never the text.
///
/// ```
/// use agentwire_core::json::Value;
///
/// let text = Value::parse(r#""caf\u00e9 \ud83d\ude00""#).unwrap().as_str().unwrap();
/// assert!(text == *"café 😀");
/// assert_eq!(text.as_plain(), None); // it has escapes, so no slice of the text is its meaning
/// let mut buffer = [0; 16];
/// assert_eq!(text.decode(&mut buffer).unwrap(), "café 😀");
/// ```
#[derive(Clone, Copy)]
pub struct Str<'a> {
    /// With the quotes.
    text: &'a str,
    /// Whether nothing is escaped.
    plain: bool,
}

impl<'a> Str<'a> {
    /// `text` is one well-formed string with its quotes.
    fn new(text: &'a str) -> Self {
        Self { text, plain: string::is_plain(text.as_bytes()) }
    }

    /// The string as it is written, with its quotes.
    pub fn get(&self) -> &'a str {
        self.text
    }

    /// What stands between the quotes, as it is written.
    pub fn raw(&self) -> &'a str {
        inside(self.text)
    }

    /// The string's meaning, where that is a slice of the text: when nothing is escaped.
    pub fn as_plain(&self) -> Option<&'a str> {
        self.plain.then(|| self.raw())
    }

    /// The characters that the string means.
    pub fn chars(&self) -> Chars<'a> {
        Chars { rest: self.raw() }
    }

    /// Writes the string's meaning into `out`.
    ///
    /// # Errors
    /// [`BufferTooSmall`] with the length of the whole meaning in bytes.
    pub fn decode<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, BufferTooSmall> {
        let mut writer = Writer::new(out);
        let mut chars = self.chars();
        loop {
            // What stands between the escapes is copied as it is: in a well-formed string nothing
            // else is special.
            let left = string::first_special(chars.rest.as_bytes()).len();
            let (clean, escape) = chars
                .rest
                .split_at_checked(chars.rest.len().wrapping_sub(left))
                .unwrap_or_default();
            writer.raw(clean);
            let short = match escape.as_bytes() {
                [b'\\', b'"', ..] => "\"",
                [b'\\', b'\\', ..] => "\\",
                [b'\\', b'n', ..] => "\n",
                _ => "",
            };
            if !short.is_empty() {
                writer.raw(short);
                chars.rest = escape.get(2..).unwrap_or_default();
                continue;
            }
            chars.rest = escape;
            match chars.next() {
                Some(char) => writer.raw(char.encode_utf8(&mut [0; 4])),
                None => break,
            };
        }
        writer.finish()
    }
}

impl PartialEq<Str<'_>> for Str<'_> {
    /// Whether both mean the same.
    fn eq(&self, other: &Str<'_>) -> bool {
        if self.plain && other.plain {
            self.text == other.text
        } else {
            self.chars().eq(other.chars())
        }
    }
}

impl Eq for Str<'_> {}

impl PartialEq<str> for Str<'_> {
    #[inline(always)]
    fn eq(&self, other: &str) -> bool {
        if self.plain {
            // Most comparisons end with the lengths, two quotes apart.
            self.text.len().wrapping_sub(other.len()) == 2
                && self
                    .text
                    .as_bytes()
                    .get(1..)
                    .is_some_and(|rest| rest.starts_with(other.as_bytes()))
        } else {
            self.chars().eq(other.chars())
        }
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Str({} bytes)", self.text.len())
    }
}

/// The characters that a [`Str`] means.
///
/// ```
/// use agentwire_core::json::Value;
/// let text = Value::parse(r#""a\n\u00e9""#).unwrap().as_str().unwrap();
/// assert_eq!(text.chars().collect::<String>(), "a\né");
/// ```
#[derive(Clone)]
pub struct Chars<'a> {
    rest: &'a str,
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let first = chars.next()?;
        if first != '\\' {
            self.rest = chars.as_str();
            return Some(first);
        }
        let escape = chars.next()?;
        self.rest = chars.as_str();
        Some(match escape {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let high = self.unit()?;
                if (0xd800..0xdc00).contains(&high) {
                    // The string is well formed: a second unit, the low half, follows.
                    self.rest = self.rest.get(2..)?;
                    let low = self.unit()?;
                    return char::decode_utf16([high, low]).next()?.ok();
                }
                return char::from_u32(u32::from(high));
            }
            same => same,
        })
    }
}

impl Chars<'_> {
    fn unit(&mut self) -> Option<u16> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        u16::from_str_radix(digits, 16).ok()
    }
}

impl fmt::Debug for Chars<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chars({} bytes left)", self.rest.len())
    }
}

/// A well-formed number as an integer, exactly, if it is one that an `i64` holds.
fn integer(number: &str) -> Option<i64> {
    // Nearly every one has neither a fraction nor an exponent.
    if let Ok(integer) = number.parse() {
        return Some(integer);
    }
    let (negative, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number),
    };
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (digits.get(..at)?, digits.get(at.checked_add(1)?..)?),
        None => (digits, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    // A number whose digits are all zero is zero, whatever its exponent.
    if whole.bytes().chain(fraction.bytes()).all(|digit| digit == b'0') {
        return Some(0);
    }
    let exponent: i32 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    // Digits to the right of the point after the exponent has moved it.
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let mut value: i64 = 0;
    let mut push = |digit: u8| -> Option<()> {
        let digit = i64::from(digit.wrapping_sub(b'0'));
        value = value.checked_mul(10)?;
        value = if negative { value.checked_sub(digit)? } else { value.checked_add(digit)? };
        Some(())
    };
    match scale.cmp(&0) {
        Ordering::Greater => {
            // What stands right of the point has to be zeros.
            let count = whole.len().checked_add(fraction.len())?;
            let kept = count.saturating_sub(usize::try_from(scale).ok()?);
            for (place, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
                if place < kept {
                    push(digit)?;
                } else if digit != b'0' {
                    return None;
                }
            }
        }
        _ => {
            for digit in whole.bytes().chain(fraction.bytes()) {
                push(digit)?;
            }
            // Past nineteen further zeros nothing but zero would fit.
            let zeros = scale.unsigned_abs();
            if zeros > 19 {
                return None;
            }
            for _ in 0..zeros {
                push(b'0')?;
            }
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    fn kind(text: &str) -> Result<Kind, ErrorKind> {
        Value::parse(text).map(|value| value.kind()).map_err(|error| error.kind)
    }

    #[test]
    fn each_decision_of_the_module_table() {
        assert_eq!(kind("\u{feff}{}"), Err(ErrorKind::ByteOrderMark));
        assert_eq!(kind("{}\u{feff}"), Err(ErrorKind::TrailingData));
        assert_eq!(kind("-0"), Ok(Kind::Number));
        assert_eq!(kind("1e400"), Ok(Kind::Number));
        assert_eq!(kind(&"9".repeat(400)), Ok(Kind::Number));
        assert_eq!(kind("{} {}"), Err(ErrorKind::TrailingData));
        assert_eq!(kind("{} \r\n\t"), Ok(Kind::Object));
        assert_eq!(kind(r#""\ud83d""#), Err(ErrorKind::LoneSurrogate));
        assert_eq!(kind(r#""\ude00\ud83d""#), Err(ErrorKind::LoneSurrogate));
        assert_eq!(kind(r#""\ud83dx""#), Err(ErrorKind::LoneSurrogate));
        assert_eq!(kind(r#""\ud83d\u0041""#), Err(ErrorKind::LoneSurrogate));
        assert_eq!(kind(r#""\ud83d\ude00""#), Ok(Kind::String));
        assert_eq!(kind("\"\u{7f}\""), Ok(Kind::String));
        assert_eq!(kind("\"\u{1f}\""), Err(ErrorKind::ControlCharacter(0x1f)));
        let bytes = Value::parse_bytes(b"{\"a\":\"\xff\"}").unwrap_err();
        assert_eq!((bytes.kind, bytes.offset), (ErrorKind::InvalidUtf8, 6));
    }

    #[test]
    fn what_is_not_json() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "[1",
            "[1,",
            "\"",
            "\"\\",
            "\"\\u12",
            "-",
            "1.",
            "1e",
            "1e+",
            "tru",
            "nul",
            "fals",
        ] {
            assert_eq!(kind(text), Err(ErrorKind::UnexpectedEnd), "{text}");
        }
        for text in
            ["+1", "}", "{,}", "[,]", "[1,]", "{\"a\":1,}", "{a:1}", "[1 2]", "'a'", "[}", "{]"]
        {
            assert!(matches!(kind(text), Err(ErrorKind::UnexpectedByte(_))), "{text}");
        }
        for text in ["01", "-01", "1.x", "1ex", "-x", "00"] {
            assert_eq!(kind(text), Err(ErrorKind::InvalidNumber), "{text}");
        }
        for text in ["trux", "nule", "falsy"] {
            assert_eq!(kind(text), Err(ErrorKind::InvalidLiteral), "{text}");
        }
        for text in [r#""\x""#, r#""\u12g4""#, r#""\U0041""#] {
            assert_eq!(kind(text), Err(ErrorKind::InvalidEscape), "{text}");
        }
        assert_eq!(kind("1 2"), Err(ErrorKind::TrailingData));
        assert_eq!(kind("NaN"), Err(ErrorKind::UnexpectedByte(b'N')));
    }

    #[test]
    fn depth_at_the_limit_and_one_above() {
        let nested = |levels: usize, open: &str, close: &str| -> String {
            open.repeat(levels) + "1" + &close.repeat(levels)
        };
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            assert!(kind(&nested(126, open, close)).is_ok());
            assert!(kind(&nested(127, open, close)).is_ok());
            assert_eq!(kind(&nested(128, open, close)), Err(ErrorKind::TooDeep));
            assert_eq!(kind(&nested(100_000, open, close)), Err(ErrorKind::TooDeep));
        }
        // An empty container counts as a level too, as it does for serde_json.
        let innermost_empty = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        for levels in [126, 127, 128, 129] {
            let text = innermost_empty(levels);
            let peer = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            assert_eq!(kind(&text).is_ok(), peer, "{levels}");
        }
    }

    #[test]
    fn members_are_lent_from_the_text() {
        let text = "{ \"a\" : {\"b\":[1,{\"c\":2}]} , \"\\u0061\" : \"x\\\"}\" }";
        let object = Object::parse(text).unwrap();
        let members: std::vec::Vec<_> =
            object.members().map(|(name, value)| (name.get(), value.get())).collect();
        assert_eq!(members, [("\"a\"", "{\"b\":[1,{\"c\":2}]}"), ("\"\\u0061\"", "\"x\\\"}\"")]);
        assert_eq!(object.get("a").unwrap_err().kind, ErrorKind::DuplicateMember);
        assert!(object.get("b").unwrap().is_none());
        assert_eq!(Object::parse("{ }").unwrap().members().count(), 0);
        assert_eq!(Object::parse(" [] ").unwrap_err(), Error::new(ErrorKind::NotAnObject, 1));
    }

    #[test]
    fn members_before_an_error_have_been_shown() {
        let mut seen = std::vec::Vec::new();
        let error = Object::parse_with(r#"{"id":7,"params":{"a":}}"#, |name, value| {
            seen.push((name.raw(), value.get()));
        })
        .unwrap_err();
        assert_eq!((error.kind, error.offset), (ErrorKind::UnexpectedByte(b'}'), 22));
        assert_eq!(seen, [("id", "7")]);
    }

    #[test]
    fn strings_mean_what_their_escapes_say() {
        let cases = [
            (r#""""#, ""),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""\u00e9\u20AC\uD83D\uDE00z""#, "é€😀z"),
            (r#""plain é""#, "plain é"),
        ];
        for (written, meaning) in cases {
            let value = Value::parse(written).unwrap().as_str().unwrap();
            assert!(value == *meaning, "{written}");
            assert!(!(value == *"something else"));
            let mut buffer = [0; 64];
            assert_eq!(value.decode(&mut buffer).unwrap(), meaning);
            if !meaning.is_empty() {
                let short = value.decode(&mut buffer[..meaning.len() - 1]).unwrap_err();
                assert_eq!(short.needed, meaning.len());
            }
        }
    }

    #[test]
    fn integers_are_exact_or_none() {
        let integer = |text| Value::parse(text).unwrap().as_integer();
        for (text, expected) in [
            ("0", Some(0)),
            ("-0.000e99999999999999999999", Some(0)),
            ("12", Some(12)),
            ("-12.00", Some(-12)),
            ("1.2e1", Some(12)),
            ("120e-1", Some(12)),
            ("12e-1", None),
            ("0.1", None),
            ("1e18", Some(1_000_000_000_000_000_000)),
            ("1e19", None),
            ("1e-5", None),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("1e99999999999", None),
            ("1e-99999999999", None),
            ("\"1\"", None),
        ] {
            assert_eq!(integer(text), expected, "{text}");
        }
    }

    #[test]
    fn debug_shows_no_text() {
        let value = Value::parse(r#"{"secret":"hunter2"}"#).unwrap();
        let shown = std::format!("{value:?} {:?}", value.as_object().unwrap().members());
        assert!(!shown.contains("hunter2") && !shown.contains("secret"), "{shown}");
    }
}
