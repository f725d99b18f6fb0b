//! One pass over the text: values are written as they end, and the members of an object are put
//! in order when it closes.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::marker::PhantomData;

use super::super::scan::Scanner;
use super::super::{Error, ErrorKind, MAX_DEPTH, Str};
use super::CanonicalError;
use super::text::{Dialect, Name, NumberFault};

/// What becomes of each value of a document, by the place where it stands.
///
/// The names of all members are compared for duplicates, those that are left out too.
pub(crate) trait Rules {
    /// What is known of a value by where it stands.
    type Place: Copy;

    /// The place of the whole document.
    fn root(&self) -> Self::Place;

    /// The place of a member of an object.
    fn member(&self, object: Self::Place, name: Str<'_>) -> Item<Self::Place>;

    /// The place of an element of an array.
    fn element(&self, array: Self::Place) -> Self::Place;

    /// Whether a value at this place stays, now that it has ended.
    fn keeps(&self, place: Self::Place, ended: Ended) -> bool;

    /// Members to add to an object that ends: for each a name that needs no escaping, and its
    /// JSON. `seen` has the bits of the members that stayed.
    fn absent(&self, object: Self::Place, seen: u32, add: &mut dyn FnMut(&'static str, &str)) {
        let _ = (object, seen, add);
    }
}

/// What is known of a member by its name.
#[derive(Clone, Copy)]
pub(crate) struct Item<P> {
    /// The place of its value.
    pub(crate) place: P,
    /// The name by which it is written, where that is another; it needs no escaping.
    pub(crate) name: Option<&'static str>,
    /// What is set in `seen` of [`Rules::absent`].
    pub(crate) bit: u32,
}

impl<P> Item<P> {
    /// A member that is written under its own name.
    pub(crate) const fn plain(place: P) -> Self {
        Self { place, name: None, bit: 0 }
    }
}

/// A value that has been written, as far as it matters for whether it stays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Null,
    False,
    EmptyString,
    /// An array with nothing left in it.
    EmptyArray,
    /// An object with nothing left in it.
    EmptyObject,
    Other,
}

/// A member that has been written.
struct Entry<'a> {
    name: Name<'a>,
    /// Where its name stands in the text.
    at: usize,
    /// Where it stands in the output, without a comma; an empty range if it is left out.
    start: usize,
    end: usize,
}

/// A container that is being written.
struct Frame<P> {
    object: bool,
    /// Whether the members so far are in order.
    sorted: bool,
    /// Whether something has been written in it.
    any: bool,
    place: P,
    /// The place of what is being written in it.
    item: P,
    /// Where its output begins, after the bracket.
    body: usize,
    /// The first of its entries.
    first: usize,
    /// Where the output of what is being written begins, with its comma.
    mark: usize,
    /// The bit of the member that is being written, and those of the members that stayed.
    bit: u32,
    seen: u32,
}

struct Engine<'a, 'r, D, R: Rules> {
    scanner: Scanner<'a>,
    rules: &'r R,
    out: Vec<u8>,
    entries: Vec<Entry<'a>>,
    frames: Vec<Frame<R::Place>>,
    scratch: Vec<u8>,
    dialect: PhantomData<D>,
}

/// Writes the canonical form of a text that is one value.
pub(crate) fn canonical<D: Dialect, R: Rules>(
    text: &str,
    rules: &R,
) -> Result<String, CanonicalError> {
    let mut engine = Engine {
        scanner: Scanner::new(text),
        rules,
        out: Vec::with_capacity(text.len()),
        entries: Vec::new(),
        frames: Vec::new(),
        scratch: Vec::new(),
        dialect: PhantomData::<D>,
    };
    engine.value()?;
    engine.scanner.end()?;
    // Only whole strings, names and ASCII were written.
    let not_text = |error: alloc::string::FromUtf8Error| {
        CanonicalError::Json(Error::new(ErrorKind::InvalidUtf8, error.utf8_error().valid_up_to()))
    };
    String::from_utf8(engine.out).map_err(not_text)
}

impl<D: Dialect, R: Rules> Engine<'_, '_, D, R> {
    /// The whole document. The containers are kept in `frames`, so nothing recurses.
    fn value(&mut self) -> Result<(), CanonicalError> {
        let mut place = self.rules.root();
        loop {
            self.scanner.white_space();
            let mut ended = match self.scanner.peek() {
                Some(b'"') => self.string()?,
                Some(bracket @ (b'{' | b'[')) => match self.open(bracket == b'{', place)? {
                    Opened::Empty(ended) => ended,
                    Opened::Item(item) => {
                        place = item;
                        continue;
                    }
                },
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true", Ended::Other)?,
                Some(b'f') => self.literal("false", Ended::False)?,
                Some(b'n') => self.literal("null", Ended::Null)?,
                _ => return Ok(self.scanner.unexpected()?),
            };
            // A value has ended: close what ends with it, or go on to the next one.
            loop {
                let Some(frame) = self.frames.last_mut() else { return Ok(()) };
                let object = frame.object;
                if self.rules.keeps(frame.item, ended) {
                    frame.any = true;
                    frame.seen |= frame.bit;
                    if object {
                        if let Some(entry) = self.entries.last_mut() {
                            entry.end = self.out.len();
                        }
                    }
                } else {
                    self.out.truncate(frame.mark);
                }
                self.scanner.white_space();
                match self.scanner.peek() {
                    Some(b',') => {
                        self.scanner.step();
                        place = self.item()?;
                        break;
                    }
                    Some(b'}') if object => {}
                    Some(b']') if !object => {}
                    _ => return Ok(self.scanner.unexpected()?),
                }
                self.scanner.step();
                ended = self.close()?;
            }
        }
    }

    fn string(&mut self) -> Result<Ended, CanonicalError> {
        let from = self.scanner.at();
        let plain = self.scanner.string()?;
        let raw = super::super::inside(self.scanner.span(from));
        D::string(&mut self.out, Name { raw, plain });
        Ok(if raw.is_empty() { Ended::EmptyString } else { Ended::Other })
    }

    fn number(&mut self) -> Result<Ended, CanonicalError> {
        let offset = self.scanner.at();
        self.scanner.number()?;
        match D::number(&mut self.out, self.scanner.span(offset)) {
            Ok(()) => Ok(Ended::Other),
            Err(NumberFault::TooLarge) => Err(CanonicalError::TooLarge { offset }),
            Err(NumberFault::Inexact) => Err(CanonicalError::Inexact { offset }),
        }
    }

    fn literal(&mut self, word: &str, ended: Ended) -> Result<Ended, CanonicalError> {
        self.scanner.literal(word)?;
        self.out.extend_from_slice(word.as_bytes());
        Ok(ended)
    }

    /// A container opens here.
    fn open(&mut self, object: bool, place: R::Place) -> Result<Opened<R::Place>, CanonicalError> {
        if self.frames.len() >= MAX_DEPTH as usize {
            return Ok(self.scanner.fail(ErrorKind::TooDeep)?);
        }
        self.scanner.step();
        self.out.push(if object { b'{' } else { b'[' });
        self.frames.push(Frame {
            object,
            sorted: true,
            any: false,
            place,
            item: place,
            body: self.out.len(),
            first: self.entries.len(),
            mark: self.out.len(),
            bit: 0,
            seen: 0,
        });
        self.scanner.white_space();
        if self.scanner.take(if object { b'}' } else { b']' }) {
            return Ok(Opened::Empty(self.close()?));
        }
        Ok(Opened::Item(self.item()?))
    }

    /// The place of the next member or element; of a member, its name has been written.
    fn item(&mut self) -> Result<R::Place, CanonicalError> {
        let Some(frame) = self.frames.last_mut() else { return Ok(self.rules.root()) };
        frame.mark = self.out.len();
        if frame.any {
            self.out.extend_from_slice(D::COMMA.as_bytes());
        }
        if !frame.object {
            frame.item = self.rules.element(frame.place);
            return Ok(frame.item);
        }
        self.scanner.white_space();
        let at = self.scanner.at();
        let name = self.scanner.name()?;
        let item = self.rules.member(frame.place, name);
        let name = match item.name {
            Some(raw) => Name { raw, plain: true },
            None => Name { raw: name.raw(), plain: name.plain },
        };
        frame.item = item.place;
        frame.bit = item.bit;
        let start = self.out.len();
        D::string(&mut self.out, name);
        self.out.extend_from_slice(D::COLON.as_bytes());
        let entry = Entry { name, at, start, end: start };
        let before = self.entries.get(frame.first..).and_then(<[_]>::last);
        match before.map(|before| D::order(before.name, name)) {
            None | Some(Ordering::Less) => {}
            Some(Ordering::Equal) => return Err(duplicate(&entry)),
            Some(Ordering::Greater) => frame.sorted = false,
        }
        self.entries.push(entry);
        Ok(item.place)
    }

    /// A container has ended: puts its members in order.
    fn close(&mut self) -> Result<Ended, CanonicalError> {
        let Some(mut frame) = self.frames.pop() else { return Ok(Ended::Other) };
        if frame.object {
            self.add_absent(&mut frame);
            if !frame.sorted {
                self.sort(&frame)?;
            }
            self.entries.truncate(frame.first);
        }
        self.out.push(if frame.object { b'}' } else { b']' });
        Ok(match (frame.any, frame.object) {
            (true, _) => Ended::Other,
            (false, true) => Ended::EmptyObject,
            (false, false) => Ended::EmptyArray,
        })
    }

    fn add_absent(&mut self, frame: &mut Frame<R::Place>) {
        let (out, entries) = (&mut self.out, &mut self.entries);
        self.rules.absent(frame.place, frame.seen, &mut |raw, value| {
            if frame.any {
                out.extend_from_slice(D::COMMA.as_bytes());
            }
            let (name, start) = (Name { raw, plain: true }, out.len());
            D::string(out, name);
            out.extend_from_slice(D::COLON.as_bytes());
            out.extend_from_slice(value.as_bytes());
            let here = entries.get_mut(frame.first..).unwrap_or_default();
            // One that was there and was left out has its entry.
            match here.iter_mut().find(|entry| entry.name.plain && entry.name.raw == raw) {
                Some(entry) => (entry.start, entry.end) = (start, out.len()),
                None => entries.push(Entry { name, at: 0, start, end: out.len() }),
            }
            frame.any = true;
            frame.sorted = false;
        });
    }

    fn sort(&mut self, frame: &Frame<R::Place>) -> Result<(), CanonicalError> {
        let entries = self.entries.get_mut(frame.first..).unwrap_or_default();
        entries.sort_unstable_by(|a, b| D::order(a.name, b.name).then(a.at.cmp(&b.at)));
        self.scratch.clear();
        let mut before: Option<&Entry<'_>> = None;
        for entry in entries.iter() {
            if before.is_some_and(|before| D::order(before.name, entry.name).is_eq()) {
                return Err(duplicate(entry));
            }
            before = Some(entry);
            if entry.start < entry.end {
                if !self.scratch.is_empty() {
                    self.scratch.extend_from_slice(D::COMMA.as_bytes());
                }
                let written = self.out.get(entry.start..entry.end).unwrap_or_default();
                self.scratch.extend_from_slice(written);
            }
        }
        self.out.truncate(frame.body);
        self.out.extend_from_slice(&self.scratch);
        Ok(())
    }
}

/// What opens a container.
enum Opened<P> {
    /// It has ended again.
    Empty(Ended),
    /// Its first member or element follows.
    Item(P),
}

fn duplicate(entry: &Entry<'_>) -> CanonicalError {
    Error::new(ErrorKind::DuplicateMember, entry.at).into()
}
