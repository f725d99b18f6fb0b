//! A small language for what a value has to look like, and the walk that holds a value against it.
//!
//! A [`Shape`] is data: the tables in [`shapes`](super::shapes) are written in it. The walk is as
//! deep as the table and never deeper, since no table refers to itself; each object is passed over
//! once, and members without a line in the table are left alone, for every object of MCP is open.

use super::fault::{Flaw, Kind, Wrong};
use crate::json::{self, Object, Value};
use crate::jsonrpc;

/// What a value has to look like.
pub(super) enum Shape {
    /// Anything, `null` included.
    Any,
    Text,
    Truth,
    /// A number without a fractional part.
    Integer,
    /// An integer that is not below zero.
    Count,
    Number,
    /// A number from 0 to 1.
    Share,
    /// A string or an integer: ids and progress tokens.
    Token,
    /// Bytes in base64.
    Base64,
    /// One of these strings.
    Word(&'static [&'static str]),
    Record(&'static Record),
    /// An object whose members all look alike, whatever they are called.
    Map(&'static Shape),
    List(&'static Shape),
    /// A list of at most so many.
    Few(usize, &'static Shape),
    /// One, or a list.
    OneOrMore(&'static Shape),
    /// An object that says in one member which record it is.
    Tagged(&'static Tagged),
    /// An object whose members show which record it is: the first that has its member, or the last.
    Shown(&'static [(&'static str, &'static Record)]),
    /// A string, a number, a truth value, or a list of strings.
    Answer,
}

/// An object with known members.
pub(super) struct Record {
    pub(super) fields: &'static [Field],
    /// One of these has to be there, where there are any.
    pub(super) any_of: &'static [&'static str],
    /// None of these may be there.
    pub(super) none_of: &'static [&'static str],
}

/// A known member.
pub(super) struct Field {
    name: &'static str,
    required: bool,
    shape: Shape,
}

/// A choice between records by the string in a member.
pub(super) struct Tagged {
    pub(super) member: &'static str,
    pub(super) arms: &'static [(&'static str, &'static Record)],
    /// What it is where the member is absent.
    pub(super) absent: Option<&'static Record>,
    /// The names of the arms, for the fault.
    pub(super) names: &'static [&'static str],
}

pub(super) const fn record(fields: &'static [Field]) -> Record {
    Record { fields, any_of: &[], none_of: &[] }
}

pub(super) const fn needs(name: &'static str, shape: Shape) -> Field {
    Field { name, required: true, shape }
}

pub(super) const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, required: false, shape }
}

type Checked<'a> = Result<(), Wrong<'a>>;

impl Shape {
    /// Holds a value against the shape.
    pub(super) fn check<'a>(&self, value: Value<'a>) -> Checked<'a> {
        let kind = |is, kind| if is { Ok(()) } else { Err(Wrong::new(Flaw::Kind(kind), value)) };
        match self {
            Self::Any => Ok(()),
            Self::Text => kind(value.as_str().is_some(), Kind::String),
            Self::Truth => kind(value.as_bool().is_some(), Kind::Bool),
            Self::Integer => kind(is_integer(value), Kind::Integer),
            Self::Count => kind(is_integer(value) && !is_negative(value), Kind::Count),
            Self::Number => kind(value.kind() == json::Kind::Number, Kind::Number),
            Self::Share => {
                let number = value.get().parse::<f64>();
                kind(number.is_ok_and(|number| (0.0..=1.0).contains(&number)), Kind::Share)
            }
            Self::Token => kind(value.as_str().is_some() || is_integer(value), Kind::Token),
            Self::Base64 => kind(value.as_str().is_some_and(is_base64), Kind::Base64),
            Self::Word(words) => match value.as_str() {
                Some(text) if words.iter().any(|word| text == **word) => Ok(()),
                Some(_) => Err(Wrong::new(Flaw::NoneOf(words), value)),
                None => kind(false, Kind::String),
            },
            Self::Record(record) => record.check(object(value)?),
            Self::Map(shape) => {
                object(value)?.members().try_for_each(|(_, value)| shape.check(value))
            }
            Self::List(shape) => list(value, usize::MAX, shape),
            Self::Few(limit, shape) => list(value, *limit, shape),
            Self::OneOrMore(shape) => match value.kind() {
                json::Kind::Array => list(value, usize::MAX, shape),
                _ => shape.check(value),
            },
            Self::Tagged(tagged) => tagged.check(object(value)?),
            Self::Shown(arms) => {
                let object = object(value)?;
                let has = |name: &str| object.members().any(|(member, _)| member == *name);
                let arm = arms.iter().find(|(name, _)| has(name)).or(arms.last());
                arm.map_or(Ok(()), |(_, record)| record.check(object))
            }
            Self::Answer => match value.kind() {
                json::Kind::Array => list(value, usize::MAX, &Self::Text),
                json::Kind::Null | json::Kind::Object => kind(false, Kind::Answer),
                _ => Ok(()),
            },
        }
    }
}

impl Record {
    /// Holds an object against the record, in one pass over its members.
    pub(super) fn check<'a>(&self, object: Object<'a>) -> Checked<'a> {
        // The tables have at most fourteen lines.
        let mut seen: u32 = 0;
        for (name, value) in object.members() {
            if let Some(place) = self.fields.iter().position(|field| name == *field.name) {
                let bit = 1_u32.wrapping_shl(u32::try_from(place).unwrap_or(u32::MAX));
                let Some(field) = self.fields.get(place) else { continue };
                if seen & bit != 0 {
                    return Err(Wrong::new(Flaw::Twice(field.name), value));
                }
                seen |= bit;
                field.shape.check(value)?;
            } else if let Some(name) = self.none_of.iter().find(|none| name == ***none) {
                return Err(Wrong::new(Flaw::Forbidden(name), value));
            }
        }
        let mut is_any_there = self.any_of.is_empty();
        for (place, field) in self.fields.iter().enumerate() {
            let bit = 1_u32.wrapping_shl(u32::try_from(place).unwrap_or(u32::MAX));
            if seen & bit != 0 {
                is_any_there |= self.any_of.contains(&field.name);
            } else if field.required {
                return Err(Wrong::new(Flaw::Missing(field.name), object.as_value()));
            }
        }
        if is_any_there {
            Ok(())
        } else {
            Err(Wrong::new(Flaw::MissingAny(self.any_of), object.as_value()))
        }
    }
}

impl Tagged {
    fn check<'a>(&self, object: Object<'a>) -> Checked<'a> {
        let whole = object.as_value();
        let Ok(tag) = object.get(self.member) else {
            return Err(Wrong::new(Flaw::Twice(self.member), whole));
        };
        let Some(tag) = tag else {
            let missing = Wrong::new(Flaw::Missing(self.member), whole);
            return self.absent.map_or(Err(missing), |record| record.check(object));
        };
        let Some(name) = tag.as_str() else {
            return Err(Wrong::new(Flaw::Kind(Kind::String), tag));
        };
        match self.arms.iter().find(|(arm, _)| name == **arm) {
            Some((_, record)) => record.check(object),
            None => Err(Wrong::new(Flaw::NoneOf(self.names), tag)),
        }
    }
}

fn object(value: Value<'_>) -> Result<Object<'_>, Wrong<'_>> {
    value.as_object().ok_or(Wrong::new(Flaw::Kind(Kind::Object), value))
}

fn list<'a>(value: Value<'a>, limit: usize, shape: &Shape) -> Checked<'a> {
    let elements = value.elements().ok_or(Wrong::new(Flaw::Kind(Kind::List), value))?;
    for (place, element) in elements.enumerate() {
        if place >= limit {
            return Err(Wrong::new(Flaw::TooMany { limit }, element));
        }
        shape.check(element)?;
    }
    Ok(())
}

/// Whether a value is a number without a fractional part, of any size.
pub(super) fn is_integer(value: Value<'_>) -> bool {
    value.kind() == json::Kind::Number && jsonrpc::is_integral(value.get())
}

fn is_negative(value: Value<'_>) -> bool {
    // -0 is none.
    value.get().starts_with('-')
        && value
            .get()
            .bytes()
            .take_while(|byte| !matches!(byte, b'e' | b'E'))
            .any(|byte| matches!(byte, b'1'..=b'9'))
}

/// The alphabet of RFC 4648 section 4 with its padding.
fn is_base64(text: json::Str<'_>) -> bool {
    let (mut data, mut padding) = (0_usize, 0_usize);
    for char in text.chars() {
        match char {
            '=' => padding = padding.saturating_add(1),
            'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' if padding == 0 => {
                data = data.saturating_add(1);
            }
            _ => return false,
        }
    }
    padding <= 2 && data.saturating_add(padding) % 4 == 0
}
