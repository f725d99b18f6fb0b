//! The scanner: one iterative pass that checks a text and lends spans of it.
//!
//! A place is what is left of the text from there on: whether there is a byte, or a word of eight,
//! then takes one comparison.

use super::string::{self, Row, Stop, after, first};
use super::{Error, ErrorKind, Kind, MAX_DEPTH, Str, Value};

type Scanned<T> = Result<T, Stop>;

impl Stop {
    /// The error for whatever stands here, where something else had to stand.
    #[cold]
    fn unexpected(rest: &[u8]) -> Self {
        let unexpected = |byte: &u8| ErrorKind::UnexpectedByte(*byte);
        Self::at(rest, rest.first().map_or(ErrorKind::UnexpectedEnd, unexpected))
    }

    #[cold]
    fn in_text(self, text: &str) -> Error {
        let offset = text.len().saturating_sub(self.left);
        let kind = match self.kind {
            ErrorKind::UnexpectedByte(_) if offset == 0 && text.starts_with('\u{feff}') => {
                ErrorKind::ByteOrderMark
            }
            kind => kind,
        };
        Error::new(kind, offset)
    }
}

/// What follows the white space that stands here.
#[inline(always)]
fn white_space(rest: &[u8]) -> &[u8] {
    if first(rest) > b' ' { rest } else { after_white_space(rest) }
}

fn after_white_space(mut rest: &[u8]) -> &[u8] {
    while let [b' ' | b'\n' | b'\r' | b'\t', next @ ..] = rest {
        rest = next;
    }
    rest
}

/// At least one digit.
fn digits<'t>(mut rest: &'t [u8], number: &[u8]) -> Scanned<&'t [u8]> {
    match rest {
        [b'0'..=b'9', ..] => {}
        [] => return Err(Stop::at(rest, ErrorKind::UnexpectedEnd)),
        _ => return Err(Stop::at(number, ErrorKind::InvalidNumber)),
    }
    while let [b'0'..=b'9', next @ ..] = rest {
        rest = next;
    }
    Ok(rest)
}

/// A number; its sign or first digit stands here.
fn number(number: &[u8]) -> Scanned<&[u8]> {
    let rest = if let [b'-', rest @ ..] = number { rest } else { number };
    let mut rest = match rest {
        [b'0', b'0'..=b'9', ..] => return Err(Stop::at(number, ErrorKind::InvalidNumber)),
        [b'0', rest @ ..] => rest,
        _ => digits(rest, number)?,
    };
    if let [b'.', fraction @ ..] = rest {
        rest = digits(fraction, number)?;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let unsigned = if let [b'+' | b'-', rest @ ..] = exponent { rest } else { exponent };
        rest = digits(unsigned, number)?;
    }
    Ok(rest)
}

fn literal<'t>(rest: &'t [u8], word: &[u8]) -> Scanned<&'t [u8]> {
    match rest.strip_prefix(word) {
        Some(rest) => Ok(rest),
        None if word.starts_with(rest) => Err(Stop::at(&[], ErrorKind::UnexpectedEnd)),
        None => Err(Stop::at(rest, ErrorKind::InvalidLiteral)),
    }
}

/// A member's name.
#[derive(Clone, Copy, Default)]
struct Name {
    /// Bytes left where it begins and where it ends, with its quotes.
    from: usize,
    to: usize,
    /// Whether nothing in it is escaped.
    plain: bool,
}

impl Name {
    fn str<'a>(&self, text: &'a str) -> Str<'a> {
        Str { text: span(text, self.from, self.to), plain: self.plain }
    }
}

/// The part of a text between two places, each given by the bytes left there. Spans begin and end
/// beside ASCII bytes, so they lie on character boundaries.
#[inline(always)]
fn span(text: &str, from: usize, to: usize) -> &str {
    let offset = |left| text.len().wrapping_sub(left);
    text.get(offset(from)..offset(to)).unwrap_or_default()
}

/// A member's name and what follows its colon, with the white space before either.
#[inline(always)]
fn name(rest: &[u8]) -> Scanned<(Name, &[u8])> {
    let from = quote(rest)?;
    let (to, plain) = string::end(after(from, 1))?;
    Ok((Name { from: from.len(), to: to.len(), plain }, after_colon(to)?))
}

/// The name in a key, which has its quotes and the colon.
pub(crate) const fn name_of(key: &str) -> &str {
    let Some((_, name)) = key.as_bytes().split_first() else { return "" };
    let Some((name, _)) = name.split_last_chunk::<2>() else { return "" };
    match core::str::from_utf8(name) {
        Ok(name) => name,
        Err(_) => "",
    }
}

/// The quote that stands here, after white space.
#[inline(always)]
fn quote(rest: &[u8]) -> Scanned<&[u8]> {
    match white_space(rest) {
        rest @ [b'"', ..] => Ok(rest),
        rest => Err(Stop::unexpected(rest)),
    }
}

/// What follows white space and a colon.
#[inline(always)]
fn after_colon(rest: &[u8]) -> Scanned<&[u8]> {
    match white_space(rest) {
        [b':', rest @ ..] => Ok(rest),
        rest => Err(Stop::unexpected(rest)),
    }
}

/// Whether these three bytes stand here, and one more.
#[inline(always)]
fn stands(rest: &[u8], [first, second, third]: [u8; 3]) -> bool {
    let expected = u32::from_le_bytes([first, second, third, 0]);
    rest.first_chunk().is_some_and(|four| u32::from_le_bytes(*four) & 0x00ff_ffff == expected)
}

/// What ends a container that this byte opens.
#[inline(always)]
fn closing(opening: u8) -> u8 {
    // `{` and `}` are two apart, as `[` and `]` are.
    opening.wrapping_add(2)
}

/// What follows the end of an object or an array, or the comma before its next value; and whether
/// it has ended, as it does with this byte.
#[inline(always)]
fn after_value(rest: &[u8], close: u8) -> Scanned<(bool, &[u8])> {
    let rest = white_space(rest);
    let closed = first(rest) == close;
    if closed || first(rest) == b',' {
        return Ok((closed, after(rest, 1)));
    }
    Err(Stop::unexpected(rest))
}

/// The containers that are open around a place: one bit each, so the depth is bounded and nothing
/// recurses.
struct Nest {
    /// How many there are.
    depth: u32,
    /// What ends the innermost one; zero outside of all that are kept here.
    close: u8,
    /// Of those around it, whether they are objects.
    objects: u128,
}

impl Nest {
    fn new(depth: u32) -> Self {
        Self { depth, close: 0, objects: 0 }
    }

    /// A container begins with this byte.
    #[inline(always)]
    fn open(&mut self, opening: u8) {
        self.objects = (self.objects << 1) | u128::from(self.close == b'}');
        self.close = closing(opening);
        self.depth = self.depth.wrapping_add(1);
    }

    /// The innermost container ends.
    #[inline(always)]
    fn end(&mut self) {
        self.close = if self.objects & 1 == 1 { b'}' } else { b']' };
        self.objects >>= 1;
        self.depth = self.depth.wrapping_sub(1);
    }
}

/// What follows the value that stands here; `outer` containers are open around it.
fn skip(mut rest: &[u8], outer: u32) -> Scanned<&[u8]> {
    let mut nest = Nest::new(outer);
    let mut row = Row::new(rest);
    'next: loop {
        'value: {
            if nest.close == b'}' {
                if first(rest) != b'"' {
                    rest = quote(rest)?;
                }
                // Most often a name is followed by a string or an object, and a string by a name,
                // without white space.
                let mut place = row.string(rest);
                loop {
                    if stands(place, *b"\":\"") {
                        place = row.next_string(after(place, 2));
                        if !stands(place, *b"\",\"") {
                            (rest, _) = string::end_ahead(place)?;
                            break 'value;
                        }
                        place = row.next_string(after(place, 2));
                    } else if place.starts_with(b"\":{\"") && nest.depth != MAX_DEPTH {
                        nest.open(b'{');
                        place = row.next_string(after(place, 3));
                    } else {
                        break;
                    }
                }
                (rest, _) = string::end_ahead(place)?;
                rest = after_colon(rest)?;
            }
            rest = white_space(rest);
            let next = first(rest);
            match next {
                b'"' => {
                    let mut place = row.string(rest);
                    while nest.close == b']' && stands(place, *b"\",\"") {
                        place = row.next_string(after(place, 2));
                    }
                    (rest, _) = string::end_ahead(place)?;
                }
                b'{' | b'[' => {
                    if nest.depth == MAX_DEPTH {
                        return Err(Stop::at(rest, ErrorKind::TooDeep));
                    }
                    rest = white_space(after(rest, 1));
                    if first(rest) != closing(next) {
                        nest.open(next);
                        continue 'next;
                    }
                    rest = after(rest, 1);
                }
                b'-' | b'0'..=b'9' => rest = number(rest)?,
                b't' => rest = literal(rest, b"true")?,
                b'f' => rest = literal(rest, b"false")?,
                b'n' => rest = literal(rest, b"null")?,
                _ => return Err(Stop::unexpected(rest)),
            }
        }
        // A value has ended: close what ends with it, or go on to the next one.
        loop {
            if nest.depth == outer {
                return Ok(rest);
            }
            let closed;
            (closed, rest) = after_value(rest, nest.close)?;
            if !closed {
                break;
            }
            nest.end();
        }
    }
}

/// A value that is still to be read.
#[derive(Clone, Copy)]
pub(crate) struct Unread<'a> {
    text: &'a str,
    rest: &'a [u8],
    /// How many containers it stands in.
    depth: u32,
}

/// A value that has been read.
#[derive(Clone, Copy)]
pub(crate) struct Read<'a> {
    pub(crate) seen: Seen<'a>,
    rest: &'a [u8],
}

/// A value, and what was seen of it when it was read.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) value: Value<'a>,
    /// Whether it is a string in which nothing is escaped.
    plain: bool,
}

impl<'a> Seen<'a> {
    /// The value as a string, if it is one. What was seen of it is not looked at again.
    #[inline(always)]
    pub(crate) fn as_str(&self) -> Option<Str<'a>> {
        let is_string = self.value.kind() == Kind::String;
        is_string.then_some(Str { text: self.value.text, plain: self.plain })
    }
}

impl<'a> Unread<'a> {
    /// The value that is a text, with white space around it or not, read by this function.
    #[inline]
    pub(super) fn whole(
        text: &'a str,
        read: impl FnOnce(Self) -> Result<Read<'a>, Unreadable>,
    ) -> Result<Value<'a>, Error> {
        let rest = white_space(text.as_bytes());
        let read = read(Self { text, rest, depth: 0 }).and_then(|read| {
            if white_space(read.rest).is_empty() {
                return Ok(read.seen.value);
            }
            Err(Unreadable(Stop::at(white_space(read.rest), ErrorKind::TrailingData)))
        });
        read.map_err(|unreadable| unreadable.0.in_text(text))
    }

    /// Reads it.
    #[inline(always)]
    pub(crate) fn read(self) -> Result<Read<'a>, Unreadable> {
        let end = match self.rest {
            [b'"', rest @ ..] => string::end(rest),
            [b'-' | b'0'..=b'9', ..] => number(self.rest).map(|rest| (rest, false)),
            rest => skip(rest, self.depth).map(|rest| (rest, false)),
        };
        end.map(|(rest, plain)| self.until(rest, plain)).map_err(Unreadable)
    }

    /// Reads it; if it is an object, each member's value is left to `member`, which reads it and
    /// returns it, with the place of the member's name among `keys`: names with their quotes and the
    /// colon.
    #[inline(always)]
    pub(crate) fn read_members<const N: usize>(
        self,
        keys: [&str; N],
        mut member: impl FnMut(Option<usize>, Unread<'a>) -> Result<Read<'a>, Unreadable>,
    ) -> Result<Read<'a>, Unreadable> {
        let [b'{', rest @ ..] = self.rest else { return self.read() };
        if self.depth == MAX_DEPTH {
            return self.read();
        }
        let depth = self.depth.wrapping_add(1);
        let mut rest = white_space(rest);
        if let [b'}', rest @ ..] = rest {
            return Ok(self.until(rest, false));
        }
        loop {
            let expected = keys.iter().enumerate().find_map(|(place, key)| {
                // Nearly always it is written without escapes and white space.
                Some((Some(place), rest.strip_prefix(key.as_bytes())?))
            });
            let (place, value) = match expected {
                Some(found) => found,
                None => {
                    let (name, value) = name(rest).map_err(Unreadable)?;
                    let name = name.str(self.text);
                    (keys.iter().position(|key| name == *name_of(key)), value)
                }
            };
            let value = Unread { text: self.text, rest: white_space(value), depth };
            let read = member(place, value)?;
            match white_space(read.rest) {
                [b',', next @ ..] => rest = next,
                [b'}', rest @ ..] => return Ok(self.until(rest, false)),
                rest => return Err(Unreadable(Stop::unexpected(rest))),
            }
        }
    }

    /// Reads it; if it is an array, its first element is left to `element`, which reads it and
    /// returns it.
    #[inline(always)]
    pub(crate) fn read_first(
        self,
        element: impl FnOnce(Unread<'a>) -> Result<Read<'a>, Unreadable>,
    ) -> Result<Read<'a>, Unreadable> {
        let [b'[', rest @ ..] = self.rest else { return self.read() };
        if self.depth == MAX_DEPTH {
            return self.read();
        }
        let (text, depth) = (self.text, self.depth.wrapping_add(1));
        let rest = white_space(rest);
        if let [b']', rest @ ..] = rest {
            return Ok(self.until(rest, false));
        }
        let mut read = element(Unread { text, rest, depth })?;
        loop {
            match white_space(read.rest) {
                [b',', next @ ..] => {
                    read = Unread { text, rest: white_space(next), depth }.read()?;
                }
                [b']', rest @ ..] => return Ok(self.until(rest, false)),
                rest => return Err(Unreadable(Stop::unexpected(rest))),
            }
        }
    }

    /// A value that has been read, to be looked into.
    pub(crate) fn again(value: Value<'a>) -> Self {
        Self { text: value.get(), rest: value.get().as_bytes(), depth: 0 }
    }

    #[inline(always)]
    fn until(&self, rest: &'a [u8], plain: bool) -> Read<'a> {
        let value = Value::new(span(self.text, self.rest.len(), rest.len()));
        Read { seen: Seen { value, plain }, rest }
    }
}

/// That a value cannot be read.
pub(crate) struct Unreadable(Stop);

/// A member that is being read.
#[derive(Clone, Copy, Default)]
struct Member {
    name: Name,
    /// Bytes left where its value begins.
    value: usize,
}

/// A member that has just been read. Its parts are cut out of the text when they are asked for.
pub(crate) struct Visited<'a, 's> {
    /// How many containers it stands in: 1 is a member of the value itself.
    pub(crate) depth: u32,
    text: &'a str,
    member: &'s Member,
    /// Bytes left where its value ends.
    end: usize,
}

impl<'a> Visited<'a, '_> {
    pub(crate) fn name(&self) -> Str<'a> {
        self.member.name.str(self.text)
    }

    /// The name's bytes, if nothing in them is escaped.
    pub(crate) fn plain_name(&self) -> Option<&'a [u8]> {
        let name = &self.member.name;
        let offset = |left| self.text.len().wrapping_sub(left);
        let (from, to) = (offset(name.from).wrapping_add(1), offset(name.to).wrapping_sub(1));
        if name.plain { self.text.as_bytes().get(from..to) } else { None }
    }

    /// Whether its name means this.
    #[inline(always)]
    pub(crate) fn is(&self, name: &str) -> bool {
        match self.plain_name() {
            Some(plain) => plain == name.as_bytes(),
            None => self.name() == *name,
        }
    }

    pub(crate) fn value(&self) -> Value<'a> {
        Value::new(span(self.text, self.member.value, self.end))
    }
}

/// How deep the members of objects can be visited.
const LEVELS: usize = 4;

/// What is kept for this depth, which counts from 1.
#[inline(always)]
fn level<T>(levels: &mut [T], depth: u32) -> Option<&mut T> {
    levels.get_mut((depth as usize).wrapping_sub(1))
}

/// What follows the value that stands here. The members of the objects in it, down to `levels`
/// containers inside each other (at most [`LEVELS`]), go to `visit` as they end, each with its
/// depth: 1 is a member of the value itself. So the members of a member's value go there before
/// that member does.
///
/// As [`skip`], which steps over what is deeper.
fn visit_members<'a>(
    text: &'a str,
    mut rest: &'a [u8],
    levels: usize,
    visit: &mut dyn FnMut(&Visited<'a, '_>),
) -> Scanned<&'a [u8]> {
    let levels = levels.min(LEVELS) as u32;
    // The member that is being read at each depth.
    let mut members = [Member::default(); LEVELS];
    let mut depth: u32 = 0;
    let mut object = false;
    let mut around: u32 = 0;
    loop {
        if object {
            let (name, value) = name(rest)?;
            rest = white_space(value);
            if let Some(member) = level(&mut members, depth) {
                *member = Member { name, value: rest.len() };
            }
        } else {
            rest = white_space(rest);
        }
        let next = first(rest);
        match next {
            b'"' => (rest, _) = string::end(after(rest, 1))?,
            b'{' | b'[' if depth < levels => {
                rest = white_space(after(rest, 1));
                if first(rest) != closing(next) {
                    around = (around << 1) | u32::from(object);
                    object = next == b'{';
                    depth = depth.wrapping_add(1);
                    continue;
                }
                rest = after(rest, 1);
            }
            _ => rest = skip(rest, depth)?,
        }
        loop {
            if depth == 0 {
                return Ok(rest);
            }
            if object {
                if let Some(member) = level(&mut members, depth) {
                    visit(&Visited { depth, text, member, end: rest.len() });
                }
            }
            let closed;
            (closed, rest) = after_value(rest, closing(if object { b'{' } else { b'[' }))?;
            if !closed {
                break;
            }
            object = around & 1 == 1;
            around >>= 1;
            depth = depth.wrapping_sub(1);
        }
    }
}

/// Walks over a text that is known to be UTF-8.
#[derive(Clone, Copy)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, rest: text.as_bytes() }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Steps over white space and a comma.
    pub(super) fn comma(&mut self) {
        self.rest = white_space(self.rest);
        if let [b',', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn advance<T>(&mut self, scanned: Scanned<(T, &'a [u8])>) -> Result<T, Error> {
        let (result, rest) = scanned.map_err(|stop| stop.in_text(self.text))?;
        self.rest = rest;
        Ok(result)
    }

    /// A member's name and the colon, with the white space before either.
    pub(super) fn name(&mut self) -> Result<Str<'a>, Error> {
        let name = self.advance(name(self.rest))?;
        Ok(name.str(self.text))
    }

    /// One value with all that is in it.
    pub(super) fn value(&mut self) -> Result<Value<'a>, Error> {
        self.walk(0, &mut |_| {})
    }

    /// One value; members in it go to `visit`, as [`visit_members`] says.
    pub(super) fn walk(
        &mut self,
        levels: usize,
        visit: &mut dyn FnMut(&Visited<'a, '_>),
    ) -> Result<Value<'a>, Error> {
        let from = white_space(self.rest);
        let rest = match levels {
            0 => skip(from, 0),
            _ => visit_members(self.text, from, levels, visit),
        };
        self.advance(rest.map(|rest| ((), rest)))?;
        Ok(Value::new(span(self.text, from.len(), self.rest.len())))
    }

    /// Nothing but white space may be left.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        self.rest = white_space(self.rest);
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Stop::at(self.rest, ErrorKind::TrailingData).in_text(self.text))
    }
}

/// For those who read token by token.
#[cfg(feature = "canonical")]
impl<'a> Scanner<'a> {
    /// The offset of this place.
    pub(super) fn at(&self) -> usize {
        self.text.len().saturating_sub(self.rest.len())
    }

    /// The text from an offset to this place.
    pub(super) fn span(&self, from: usize) -> &'a str {
        self.text.get(from..self.at()).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub(super) fn step(&mut self) {
        self.rest = after(self.rest, 1);
    }

    /// Steps over `byte` if it is the next one.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        if here {
            self.step();
        }
        here
    }

    pub(super) fn white_space(&mut self) {
        self.rest = white_space(self.rest);
    }

    /// A string; the next byte is its opening quote. Whether nothing in it is escaped.
    pub(super) fn string(&mut self) -> Result<bool, Error> {
        let string = string::end(after(self.rest, 1));
        self.advance(string.map(|(rest, plain)| (plain, rest)))
    }

    /// A number; the next byte is its sign or first digit.
    pub(super) fn number(&mut self) -> Result<(), Error> {
        self.advance(number(self.rest).map(|rest| ((), rest)))
    }

    pub(super) fn literal(&mut self, word: &str) -> Result<(), Error> {
        self.advance(literal(self.rest, word.as_bytes()).map(|rest| ((), rest)))
    }

    pub(super) fn fail<T>(&self, kind: ErrorKind) -> Result<T, Error> {
        Err(Stop::at(self.rest, kind).in_text(self.text))
    }

    /// The error for whatever stands here, where something else had to stand.
    pub(super) fn unexpected<T>(&self) -> Result<T, Error> {
        Err(Stop::unexpected(self.rest).in_text(self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn members_are_visited_as_deep_as_asked_for() {
        let text = r#"{"a":{"b":{"c":{"d":1}},"e":[{"f":2}]},"g":3}"#;
        let visits = |levels| {
            let mut visits: Vec<String> = Vec::new();
            Scanner::new(text)
                .walk(levels, &mut |seen| {
                    visits.push(format!("{}{}", seen.depth, seen.name().raw()));
                })
                .unwrap();
            visits
        };
        assert_eq!(visits(3), ["3c", "2b", "2e", "1a", "1g"]);
        assert_eq!(visits(4), ["4d", "3c", "2b", "4f", "2e", "1a", "1g"]);
        assert_eq!(visits(1), ["1a", "1g"]);
    }

    #[test]
    fn members_are_named_whether_or_not_they_are_written_as_expected() {
        let text = r#"{"b":1,"a" : 2,"\u0061":3,"c":4, "a":5,"ab":{"a":6}}"#;
        let mut seen: Vec<(Option<usize>, &str)> = Vec::new();
        let whole = Unread::whole(text, |value| {
            value.read_members([r#""a":"#, r#""b":"#], |place, value| {
                let read = value.read()?;
                seen.push((place, read.seen.value.get()));
                Ok(read)
            })
        });
        assert_eq!(whole.unwrap().get(), text);
        let [a, b] = [Some(0), Some(1)];
        let expected = [(b, "1"), (a, "2"), (a, "3"), (None, "4"), (a, "5"), (None, "{\"a\":6}")];
        assert_eq!(seen, expected);
    }

    #[test]
    fn the_first_element_is_left_to_the_reader() {
        for (text, expected) in [
            ("[1]", Some("1")),
            ("[ {\"a\":[2]} , 3,[4] ]", Some("{\"a\":[2]}")),
            ("[]", None),
            ("[ ]", None),
            ("{\"a\":1}", None),
            ("\"[\"", None),
        ] {
            let mut first = None;
            let whole = Unread::whole(text, |value| {
                value.read_first(|value| {
                    let read = value.read()?;
                    first = Some(read.seen.value.get());
                    Ok(read)
                })
            });
            assert_eq!((whole.unwrap().get(), first), (text, expected));
        }
    }

    #[test]
    fn an_error_is_the_same_however_the_text_is_read() {
        let deep = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let mut texts: Vec<String> = [
            "",
            "{",
            "{}",
            "{ } x",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":[1}",
            "{\"a\":tru}",
            "{\"a\":{\"b\":}}",
            "{\"a\":{\"b\":1]}",
            "{\"a\":01}",
            "{\"a\":\"\n\"}",
            "{a:1}",
            "[1,]",
            "[{\"a\":}]",
            "[",
            "[1",
            "[1 2]",
            "[1,2",
            "[1,2}",
            "[1,,2]",
            "\u{feff}{}",
            " { \"a\" : { \"b\" : [ { } , 1 ] } , \"c\" : null } ",
        ]
        .map(String::from)
        .to_vec();
        texts.extend([127, 128, 129].map(deep));
        texts.extend([127, 128, 129].map(nested));
        for text in texts {
            let read = |levels| {
                let mut scanner = Scanner::new(&text);
                let value = scanner.walk(levels, &mut |_| {})?;
                scanner.end()?;
                Ok::<_, Error>(value.get())
            };
            let expected = read(0);
            for levels in 1..=LEVELS {
                assert_eq!(read(levels), expected, "{text} to level {levels}");
            }
            let value = Unread::whole(&text, |value| {
                value.read_members([r#""a":"#], |_, value| {
                    value.read_members([r#""b":"#, r#""a":"#], |_, value| value.read())
                })
            });
            let value = value.map(|value| value.get());
            assert_eq!(value, expected, "{text} member by member");
            let value = Unread::whole(&text, |value| {
                value.read_first(|value| value.read_first(|value| value.read()))
            });
            let value = value.map(|value| value.get());
            assert_eq!(value, expected, "{text} element by element");
        }
    }
}
