//! The SimpleX interface of a card ("A2A binding", "Identification" and "Agent Card").

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use super::Card;
use crate::a2a::{BINDING_URI, Interface};
use crate::discovery::link::{Link, LinkError, LinkKind};
use crate::json::{self, Object, Str, Value, Writer, offset_in};

const INTERFACES: &str = "supportedInterfaces";

/// An element of `supportedInterfaces` that leads to SimpleX: what a client needs to go from a
/// card on the web to a chat.
///
/// ```
/// use agentwire_core::card::Card;
/// let text = r#"{"supportedInterfaces":[{"url":"https://a.example/rpc","protocolBinding":"JSONRPC"},
///     {"url":"https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY",
///      "protocolBinding":"https://simplex.chat/protocol/a2a/v1","protocolVersion":"1.0"}]}"#;
/// let card = Card::parse(text).unwrap();
/// let interface = card.simplex_interfaces().next().unwrap();
/// assert!(interface.url.starts_with("https://smp.example/a#"));
/// assert_eq!(interface.version, "1.0");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimplexInterface {
    /// The bot's contact address link, as the card has it.
    pub url: String,
    /// The version of A2A; empty if the card names none.
    pub version: String,
    /// What every request has to repeat in its `tenant` (A2A 1.0 section 8.3.2).
    pub tenant: Option<String>,
}

impl SimplexInterface {
    /// `None` if it is for another binding or its URL is no contact address.
    fn of(interface: Interface<'_>) -> Option<Self> {
        if interface.binding != *BINDING_URI {
            return None;
        }
        let text = |text: Str<'_>| -> String { text.chars().collect() };
        let url = text(interface.url);
        if Link::parse(&url).ok()?.kind() != LinkKind::Contact {
            return None;
        }
        let version = interface.version.map(text).unwrap_or_default();
        Some(Self { url, version, tenant: interface.tenant.map(text) })
    }
}

/// Never shows the link: who has it can use it.
impl fmt::Debug for SimplexInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimplexInterface(url of {} bytes)", self.url.len())
    }
}

impl<'a> Card<'a> {
    /// The interfaces that lead to SimpleX contact addresses, in the card's order, which is that of
    /// preference.
    pub fn simplex_interfaces(&self) -> impl Iterator<Item = SimplexInterface> + use<'a> {
        Interface::all(self.object).filter_map(SimplexInterface::of)
    }

    /// The card with the SimpleX interface: `link` is the bot's contact address, `version` that of
    /// A2A.
    ///
    /// An interface that is there for this binding and version gets the new link; otherwise one is
    /// added behind the others, as the least preferred. Everything else stays byte for byte, but
    /// for the signatures: they do not hold for the changed card, so they are gone. The owner of
    /// the key signs anew. A card that needs no change is lent back, with its signatures.
    ///
    /// # Errors
    /// [`InterfaceError`].
    ///
    /// ```
    /// use agentwire_core::card::Card;
    /// let link = "https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
    /// let card = Card::parse(r#"{"name": "A", "supportedInterfaces": [], "signatures": [0]}"#).unwrap();
    /// let added = card.with_simplex_interface(link, "1.0").unwrap();
    /// let expected = format!(r#"{{"name": "A", "supportedInterfaces": [{{"url":"{link}",{}}}]}}"#,
    ///     r#""protocolBinding":"https://simplex.chat/protocol/a2a/v1","protocolVersion":"1.0""#);
    /// assert_eq!(added, expected);
    /// let again = Card::parse(&added).unwrap();
    /// assert_eq!(again.with_simplex_interface(link, "1.0").unwrap(), expected);
    /// ```
    pub fn with_simplex_interface(
        &self,
        link: &str,
        version: &str,
    ) -> Result<Cow<'a, str>, InterfaceError> {
        let kind = Link::parse(link)?.kind();
        if kind != LinkKind::Contact {
            return Err(InterfaceError::NotContact { kind });
        }
        if !is_version(version) {
            return Err(InterfaceError::Version);
        }
        let array = self.object.get(INTERFACES)?;
        if array.is_some_and(|array| array.elements().is_none()) {
            return Err(InterfaceError::Interfaces);
        }
        let ours = |object: Object<'_>| {
            let is = |name, expected: &str| {
                object.str(name).ok().flatten().is_some_and(|text| text == *expected)
            };
            is("protocolBinding", BINDING_URI) && is("protocolVersion", version)
        };
        let elements = array.and_then(|array| array.elements()).into_iter().flatten();
        let there = elements.filter_map(|value| value.as_object()).find(|object| ours(*object));
        if let Some(object) = there {
            if object.str("url")?.is_some_and(|url| url == *link) {
                return Ok(Cow::Borrowed(self.text));
            }
        }
        let text = self.set(INTERFACES, true, |array, out| {
            let array = array.map_or("[]", |array| array.get());
            match there.and_then(|object| object.get("url").ok().flatten()) {
                Some(url) => {
                    let start = offset_in(array, url.get());
                    let end = start.saturating_add(url.get().len());
                    out.raw(array.get(..start).unwrap_or_default()).string(link);
                    out.raw(array.get(end..).unwrap_or_default());
                }
                None => append(array, link, version, out),
            }
        });
        // `set` has only changed the text of one member, so this is a card as well.
        let unsigned = match Card::parse(&text) {
            Ok(card) => card.with_signatures(&[], false),
            Err(_) => return Err(InterfaceError::Interfaces),
        };
        Ok(Cow::Owned(unsigned))
    }
}

/// Writes an array with the interface as its last element, laid out like the one before.
fn append(array: &str, link: &str, version: &str, out: &mut Writer<'_>) {
    let inside = array.get(1..array.len().saturating_sub(1)).unwrap_or_default();
    let last = Value::parse(array).ok().and_then(|array| array.elements()?.last());
    let end = inside.trim_end().len();
    let (kept, tail) = inside.split_at_checked(end).unwrap_or((inside, ""));
    out.raw("[").raw(kept);
    if let Some(last) = last {
        let before = kept.get(..kept.len().saturating_sub(last.get().len())).unwrap_or_default();
        out.raw(",").raw(before.get(before.trim_end().len()..).unwrap_or_default());
    }
    out.raw("{\"url\":").string(link);
    out.raw(",\"protocolBinding\":").string(BINDING_URI);
    out.raw(",\"protocolVersion\":").string(version).raw("}").raw(tail).raw("]");
}

/// Whether it has the form `Major.Minor` (A2A 1.0 section 3.6).
fn is_version(version: &str) -> bool {
    let number = |text: &str| {
        !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    version.split_once('.').is_some_and(|(major, minor)| number(major) && number(minor))
}

/// Why a card does not get a SimpleX interface.
///
/// ```
/// use agentwire_core::card::{Card, InterfaceError};
/// let card = Card::parse("{}").unwrap();
/// let link = "https://smp.example/g#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
/// let error = card.with_simplex_interface(link, "1.0").unwrap_err();
/// assert!(matches!(error, InterfaceError::NotContact { .. }));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum InterfaceError {
    /// A member that is read or changed occurs twice.
    Json(json::Error),
    /// Not a SimpleX link.
    Link(LinkError),
    /// A link to something other than a contact address.
    NotContact {
        /// To what.
        kind: LinkKind,
    },
    /// The version is not `Major.Minor`.
    Version,
    /// `supportedInterfaces` is not an array.
    Interfaces,
}

impl From<json::Error> for InterfaceError {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

impl From<LinkError> for InterfaceError {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

impl fmt::Display for InterfaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "{error}"),
            Self::Link(error) => write!(f, "not a SimpleX link: {error}"),
            Self::NotContact { kind } => {
                write!(f, "a link to a {kind}, where a contact address is wanted")
            }
            Self::Version => f.write_str("a version has the form 1.0"),
            Self::Interfaces => f.write_str("supportedInterfaces is not an array"),
        }
    }
}

impl core::error::Error for InterfaceError {}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

    fn added(text: &str) -> String {
        Card::parse(text).unwrap().with_simplex_interface(LINK, "1.0").unwrap().into_owned()
    }

    fn element() -> String {
        std::format!(
            "{{\"url\":\"{LINK}\",\"protocolBinding\":\"{BINDING_URI}\",\"protocolVersion\":\"1.0\"}}"
        )
    }

    #[test]
    fn the_interface_comes_last_and_is_laid_out_like_the_others() {
        let element = element();
        for (array, expected) in [
            ("[]", std::format!("[{element}]")),
            ("[ ]", std::format!("[{element} ]")),
            ("[1]", std::format!("[1,{element}]")),
            ("[\n    1,\n    2\n  ]", std::format!("[\n    1,\n    2,\n    {element}\n  ]")),
        ] {
            let around = |array: &str| {
                std::format!(" {{\"a\": 1,\n \"supportedInterfaces\": {array}, \"b\":[1 ]}}\n")
            };
            assert_eq!(added(&around(array)), around(&expected));
        }
        assert_eq!(added("{}"), std::format!("{{\"supportedInterfaces\":[{element}]}}"));
    }

    #[test]
    fn signatures_are_dropped_wherever_they_stand_and_only_with_a_change() {
        let with = |array: &str, signatures: &str| {
            std::format!("{{{signatures}\"supportedInterfaces\":{array}}}")
        };
        let signatures = "\"signatures\":[{}],";
        let expected = with(&std::format!("[{}]", element()), "");
        assert_eq!(added(&with("[]", signatures)), expected);
        let there = with(&std::format!("[{}]", element()), signatures);
        assert_eq!(added(&there), there);
    }

    #[test]
    fn the_link_of_an_interface_that_is_there_is_replaced() {
        let old = LINK.replace("smp.", "old.");
        let element = element().replace(LINK, &old).replace("}", ",\"tenant\":\"t\"}");
        let text = std::format!("{{\"supportedInterfaces\":[ 7, {element} ,8],\"signatures\":[]}}");
        let expected =
            std::format!("{{\"supportedInterfaces\":[ 7, {} ,8]}}", element.replace(&old, LINK));
        assert_eq!(added(&text), expected);
        let interface = Card::parse(&expected).unwrap().simplex_interfaces().next().unwrap();
        assert_eq!((interface.url.as_str(), interface.tenant.as_deref()), (LINK, Some("t")));
        // Another version is another interface.
        let other = text.replace("\"1.0\"", "\"0.9\"");
        assert_eq!(Card::parse(&added(&other)).unwrap().simplex_interfaces().count(), 2);
    }

    #[test]
    fn what_cannot_be_added_is_refused() {
        let add = |text, link, version| {
            Card::parse(text).unwrap().with_simplex_interface(link, version).unwrap_err()
        };
        assert!(matches!(add("{}", "https://a.example/", "1.0"), InterfaceError::Link(_)));
        let group = LINK.replace("/a#", "/g#");
        assert!(matches!(add("{}", &group, "1.0"), InterfaceError::NotContact { .. }));
        for version in ["", "1", "1.", ".0", "1.0.0", "v1.0", "1.x", "12345.0"] {
            assert_eq!(add("{}", LINK, version), InterfaceError::Version, "{version}");
        }
        assert_eq!(add(r#"{"supportedInterfaces":{}}"#, LINK, "1.0"), InterfaceError::Interfaces);
        let twice = r#"{"supportedInterfaces":[],"supported\u0049nterfaces":[]}"#;
        assert!(matches!(add(twice, LINK, "1.0"), InterfaceError::Json(_)));
    }

    #[test]
    fn only_contact_addresses_of_this_binding_are_simplex_interfaces() {
        let count = |element: &str| {
            let text = std::format!("{{\"supportedInterfaces\":[{element}]}}");
            Card::parse(&text).unwrap().simplex_interfaces().count()
        };
        let element = element();
        assert_eq!(count(&element), 1);
        assert_eq!(count(&element.replace("protocolBinding", "protocol_binding")), 1);
        assert_eq!(count(&element.replace("/a#", "/i#")), 0);
        assert_eq!(count(&element.replace("a2a/v1", "a2a/v2")), 0);
        assert_eq!(count(&element.replace("{", "{\"url\":\"x\",")), 0);
        assert_eq!(count("7"), 0);
    }
}
