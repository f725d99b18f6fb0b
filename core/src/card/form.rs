//! The canonical forms of a card: the text that a signature covers.

use alloc::string::String;
use core::fmt;

use super::schema::{AGENT_CARD, Field, Message, Presence, SIGNATURES, Type};
use crate::json::Str;
use crate::json::canonical::{CanonicalError, Ended, Item, Jcs, Rules, canonical};

/// How a card's canonical text is made. All are RFC 8785 of the card without `signatures`; they
/// differ in what else they leave out or add.
///
/// | form | fields that are not of the schema | empty and default values | made by |
/// |---|---|---|---|
/// | [`Spec`](Self::Spec) | kept | left out where A2A 1.0 section 8.4.1 says so | this crate; crate `a2a-protocol-types` |
/// | [`Known`](Self::Known) | left out | as `Spec` | whoever reads the card into messages first |
/// | [`Pruned`](Self::Pruned) | left out | every empty value left out, at any depth, `REQUIRED` or not | PyPI `a2a-sdk`, npm `@a2a-js/sdk` (1.3) |
/// | [`Served`](Self::Served) | kept | kept | `a2a-go` |
/// | [`Injected`](Self::Injected) | left out | as `Spec`, and absent `REQUIRED` fields added | a proposed change of `a2a-python` (pull request 1287) |
///
/// ```
/// use agentwire_core::card::{Card, Form};
/// let card = Card::parse(r#"{"name":"A","iconUrl":"","skills":[],"x":1,"securitySchemes":{}}"#).unwrap();
/// assert_eq!(card.canonical(Form::Spec).unwrap(), r#"{"iconUrl":"","name":"A","skills":[],"x":1}"#);
/// assert_eq!(card.canonical(Form::Pruned).unwrap(), r#"{"name":"A"}"#);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Form {
    /// That of the specification, on the card as it was received.
    Spec,
    /// That of the specification, on the fields of the schema alone.
    Known,
    /// Without anything that is empty.
    Pruned,
    /// The card as it was received.
    Served,
    /// That of the specification, with absent `REQUIRED` fields at their default.
    Injected,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 5] =
        [Self::Spec, Self::Served, Self::Known, Self::Pruned, Self::Injected];

    /// Its name: `spec`, `known`, `pruned`, `served`, `injected`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Known => "known",
            Self::Pruned => "pruned",
            Self::Served => "served",
            Self::Injected => "injected",
        }
    }

    /// Whether a signature over this form covers all that a reader of the card can see.
    ///
    /// Under the other forms parts of a card can be changed and the signature still holds: what
    /// they leave out may be anything.
    ///
    /// ```
    /// use agentwire_core::card::Form;
    /// let covering: Vec<Form> = Form::ALL.into_iter().filter(|form| form.covers_all()).collect();
    /// assert_eq!(covering, [Form::Spec, Form::Served]);
    /// ```
    pub const fn covers_all(self) -> bool {
        matches!(self, Self::Spec | Self::Served)
    }

    const fn keeps_unknown(self) -> bool {
        self.covers_all()
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Writes a card's canonical text.
pub(super) fn write(text: &str, form: Form) -> Result<String, CanonicalError> {
    canonical::<Jcs, _>(text, &ByForm(form))
}

/// A value, by what the schema says of the place where it stands.
#[derive(Clone, Copy)]
enum Place {
    /// An element of a list, a value of a map, or the card: it stays.
    Typed(&'static Type),
    /// A field of a message.
    Field(&'static Field),
    /// A member that the schema does not know.
    Unknown,
    /// Part of what the schema does not describe: contents of a `Struct`, and whatever stands
    /// where a value of another type should.
    Free,
    /// `signatures` of the card.
    Signatures,
    /// The card, of which nothing but `signatures` is looked at.
    Served,
}

static CARD: Type = Type::Message(&AGENT_CARD);

impl Place {
    fn ty(self) -> Option<&'static Type> {
        match self {
            Self::Typed(ty) => Some(ty),
            Self::Field(field) => Some(&field.ty),
            _ => None,
        }
    }

    fn message(self) -> Option<&'static Message> {
        match self.ty() {
            Some(Type::Message(message)) => Some(message),
            _ => None,
        }
    }
}

/// The rules of a form.
struct ByForm(Form);

impl Rules for ByForm {
    type Place = Place;

    fn root(&self) -> Place {
        if self.0 == Form::Served { Place::Served } else { Place::Typed(&CARD) }
    }

    #[inline]
    fn member(&self, object: Place, name: Str<'_>) -> Item<Place> {
        if let Some(message) = object.message() {
            let Some((place, field, exact)) = message.field(name) else {
                return Item::plain(Place::Unknown);
            };
            let value = if core::ptr::eq(message, &AGENT_CARD) && field.name == SIGNATURES {
                Place::Signatures
            } else {
                Place::Field(field)
            };
            // Written by its own name, so that both spellings of a field are one name twice.
            let name = (!exact).then_some(field.name);
            return Item { place: value, name, bit: 1_u32.checked_shl(place as u32).unwrap_or(0) };
        }
        Item::plain(match object {
            Place::Served if name == *SIGNATURES => Place::Signatures,
            _ => match object.ty() {
                Some(Type::Map(value)) => Place::Typed(value),
                _ => Place::Free,
            },
        })
    }

    #[inline]
    fn element(&self, array: Place) -> Place {
        match array.ty() {
            Some(Type::List(element)) => Place::Typed(element),
            _ => Place::Free,
        }
    }

    #[inline]
    fn keeps(&self, place: Place, ended: Ended) -> bool {
        let is_default = ended != Ended::Other;
        match place {
            Place::Signatures => false,
            Place::Unknown if !self.0.keeps_unknown() => false,
            Place::Field(field) => match (field.presence, ended) {
                (_, Ended::Null) => false,
                (Presence::Implicit, _) => !is_default,
                _ if self.0 == Form::Pruned => !is_default || ended == Ended::False,
                _ => true,
            },
            _ if self.0 == Form::Pruned => !is_default || ended == Ended::False,
            _ => true,
        }
    }

    fn absent(&self, object: Place, seen: u32, add: &mut dyn FnMut(&'static str, &str)) {
        let (Form::Injected, Some(message)) = (self.0, object.message()) else { return };
        for (place, field) in message.fields.iter().enumerate() {
            let bit = 1_u32.checked_shl(place as u32).unwrap_or(0);
            if field.presence == Presence::Required && seen & bit == 0 {
                let value = match field.ty {
                    Type::Text => "\"\"",
                    Type::Bool => "false",
                    Type::List(_) => "[]",
                    Type::Message(_) | Type::Map(_) | Type::Struct => "{}",
                };
                add(field.name, value);
            }
        }
    }
}
