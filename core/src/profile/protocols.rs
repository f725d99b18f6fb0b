//! The key `protocols`: which protocols are served, in which versions, on which transports.

use super::error::{DeclarationError, DeclarationErrorKind, Part};
use crate::binding::ProtocolName;
use crate::json::{Elements, ErrorKind, Object, Str, Value};

/// Whose preferences a declaration stands in.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::profile::{Declarations, Served, Source};
/// let text = r#"{"protocols":{"mcp":{"versions":["2026-07-28"],"transports":{"rpc":true}}}}"#;
/// let mcp = ProtocolName::new("mcp").unwrap();
/// let rpc = |source| Declarations::parse(source, text).unwrap().rpc(mcp).unwrap();
/// assert_eq!(rpc(Source::Profile), Served::Yes);
/// assert_eq!(rpc(Source::Group), Served::Unknown); // not valid there
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Source {
    /// `preferences` of a user or contact profile: direct chats with it, and Service RPC requests
    /// to its contact address.
    Profile,
    /// `groupPreferences` of a group: its owners, in the group.
    Group,
    /// `groupPreferences` of a business chat: a copy of what the business declares, so what is
    /// not in it is not served in the chat.
    BusinessChat,
}

/// Whether a protocol is served on a transport.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::profile::{Declarations, Served, Source};
/// let chat = |text| {
///     let mcp = ProtocolName::new("mcp").unwrap();
///     Declarations::parse(Source::Profile, text).unwrap().chat(mcp).unwrap()
/// };
/// assert_eq!(chat("{}"), Served::Unknown);
/// assert_eq!(chat(r#"{"protocols":{}}"#), Served::No);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // A declaration says yes or no, or there is none.
pub enum Served {
    /// It is declared.
    Yes,
    /// It is declared not to be.
    No,
    /// Nothing is declared: it may be.
    Unknown,
}

/// What preferences declare. See the [module](super) for what absence means.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::profile::{Declarations, Served, Source};
///
/// let preferences = r#"{"protocols": {"mcp": {
///     "versions": ["2027-01-01", "2026-07-28"],
///     "transports": {"chat": true, "rpc": true}}}}"#;
/// let declared = Declarations::parse(Source::Profile, preferences).unwrap();
/// let mcp = ProtocolName::new("mcp").unwrap();
/// assert_eq!(declared.chat(mcp), Ok(Served::Yes));
/// let protocol = declared.protocols().unwrap().get(mcp).unwrap().unwrap();
/// // The bot's first choice that we speak too:
/// assert_eq!(protocol.versions().negotiate(&["2026-07-28"]), Some("2026-07-28"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Declarations<'a> {
    source: Source,
    protocols: Option<Protocols<'a>>,
}

impl<'a> Declarations<'a> {
    /// Reads the preferences of a profile or a group.
    ///
    /// # Errors
    /// [`DeclarationError`] when they are not a JSON object, or `protocols` does not follow the
    /// document's schema.
    pub fn parse(source: Source, preferences: &'a str) -> Result<Self, DeclarationError> {
        let json = |error| DeclarationError::json(error, preferences, preferences);
        // Offsets of duplicates count from the object's own start.
        let object = Object::parse(preferences).map_err(json)?;
        let value = object
            .get("protocols")
            .map_err(|error| DeclarationError::json(error, preferences, object.get_text()))?;
        let protocols = value.map(|value| Protocols::read(preferences, value)).transpose()?;
        Ok(Self { source, protocols })
    }

    /// Nothing declared: what is known of a profile that was not seen.
    pub const fn none(source: Source) -> Self {
        Self { source, protocols: None }
    }

    /// The key `protocols`, if it is there.
    pub const fn protocols(&self) -> Option<Protocols<'a>> {
        self.protocols
    }

    /// Whose preferences they are.
    pub const fn source(&self) -> Source {
        self.source
    }

    /// Whether `/_call` for the protocol is answered: in a direct chat for a profile, in the chat
    /// itself for a business chat, in the group by its owners for a group.
    ///
    /// # Errors
    /// [`DeclarationError`] when the protocol is declared twice.
    pub fn chat(&self, name: ProtocolName<'_>) -> Result<Served, DeclarationError> {
        let Some(declared) = self.transports(name)? else { return Ok(Served::Unknown) };
        Ok(match (self.source, declared.chat) {
            (_, true) => Served::Yes,
            (Source::Profile | Source::BusinessChat, false) => Served::No,
            (Source::Group, false) => Served::Unknown,
        })
    }

    /// Whether Service RPC requests for the protocol are answered on the profile's contact
    /// address. Only a profile's own preferences say so.
    ///
    /// # Errors
    /// As [`chat`](Self::chat).
    pub fn rpc(&self, name: ProtocolName<'_>) -> Result<Served, DeclarationError> {
        let Some(declared) = self.transports(name)? else { return Ok(Served::Unknown) };
        Ok(match (self.source, declared.rpc) {
            (Source::Profile, true) => Served::Yes,
            (Source::Profile, false) => Served::No,
            (Source::Group | Source::BusinessChat, _) => Served::Unknown,
        })
    }

    /// The transports of a protocol: none where it is not among those declared, `None` where
    /// nothing is declared.
    fn transports(&self, name: ProtocolName<'_>) -> Result<Option<Transports>, DeclarationError> {
        let Some(protocols) = self.protocols else { return Ok(None) };
        Ok(Some(protocols.get(name)?.map_or_else(Transports::default, |found| found.transports)))
    }
}

/// The value of `protocols`, borrowed from its text and known to follow the schema.
///
/// ```
/// use agentwire_core::profile::Protocols;
/// let text = r#"{"mcp":{"versions":[],"transports":{"chat":true}},"No Name":{"versions":[],"transports":{}}}"#;
/// let protocols = Protocols::parse(text).unwrap();
/// let names: Vec<_> = protocols.iter().map(|protocol| protocol.name().raw()).collect();
/// assert_eq!(names, ["mcp"]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Protocols<'a> {
    object: Object<'a>,
}

impl<'a> Protocols<'a> {
    /// Reads a text that is the value of `protocols`.
    ///
    /// # Errors
    /// [`DeclarationError`] when it does not follow the document's schema.
    pub fn parse(text: &'a str) -> Result<Self, DeclarationError> {
        let value =
            Value::parse(text).map_err(|error| DeclarationError::json(error, text, text))?;
        Self::read(text, value)
    }

    /// `value` is a slice of `text`, from whose start offsets count.
    fn read(text: &str, value: Value<'a>) -> Result<Self, DeclarationError> {
        let object = typed(text, value, Part::Protocols, Value::as_object)?;
        for (name, value) in object.members() {
            Protocol::read(text, name, value)?;
        }
        Ok(Self { object })
    }

    /// What is declared of a protocol.
    ///
    /// # Errors
    /// [`DeclarationError`] when it is declared twice; the offset counts from the start of the
    /// value's text.
    pub fn get(&self, name: ProtocolName<'_>) -> Result<Option<Protocol<'a>>, DeclarationError> {
        let mut found = None;
        for protocol in self.iter().filter(|protocol| protocol.name == *name.get()) {
            if found.is_some() {
                let kind = DeclarationErrorKind::Json(ErrorKind::DuplicateMember);
                let (whole, place) = (self.object.get_text(), protocol.name.get());
                return Err(DeclarationError::at(kind, whole, place));
            }
            found = Some(protocol);
        }
        Ok(found)
    }

    /// Every protocol that is declared, in the order in which they stand there. Keys that no
    /// protocol can have are left out ("Clients MUST ignore unknown keys").
    pub fn iter(&self) -> impl Iterator<Item = Protocol<'a>> + use<'a> {
        let text = self.object.get_text();
        self.object.members().filter_map(move |(name, value)| {
            let mut chars = name.chars().peekable();
            chars.peek()?;
            let allowed = |char| u8::try_from(char).is_ok_and(ProtocolName::allows);
            if chars.all(allowed) { Protocol::read(text, name, value).ok() } else { None }
        })
    }

    /// The value's text.
    pub fn object(&self) -> Object<'a> {
        self.object
    }
}

/// The transports on which a protocol is served. An absent transport is false.
///
/// ```
/// use agentwire_core::profile::Transports;
/// let neither = Transports::default();
/// assert!(!neither.chat && !neither.rpc);
/// assert!(Transports::new(true, false).chat);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Transports {
    /// `/_call` for the protocol is answered in a conversation.
    pub chat: bool,
    /// Service RPC requests for the protocol are answered on the contact address.
    pub rpc: bool,
}

impl Transports {
    /// These transports.
    pub const fn new(chat: bool, rpc: bool) -> Self {
        Self { chat, rpc }
    }
}

/// What is declared of one protocol.
///
/// ```
/// use agentwire_core::profile::Protocols;
/// let text = r#"{"a2a":{"versions":["1.0"],"transports":{"rpc":true,"pigeon":true},"x":1}}"#;
/// let protocol = Protocols::parse(text).unwrap().iter().next().unwrap();
/// assert!(protocol.name() == *"a2a");
/// assert!(protocol.transports().rpc && !protocol.transports().chat);
/// assert_eq!(protocol.versions().count(), 1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Protocol<'a> {
    name: Str<'a>,
    versions: Value<'a>,
    transports: Transports,
}

impl<'a> Protocol<'a> {
    fn read(text: &str, name: Str<'a>, value: Value<'a>) -> Result<Self, DeclarationError> {
        let object = typed(text, value, Part::Protocol, Value::as_object)?;
        let versions = required(text, object, "versions", Part::Versions)?;
        for version in typed(text, versions, Part::Versions, Value::elements)? {
            typed(text, version, Part::Version, Value::as_str)?;
        }
        let transports = required(text, object, "transports", Part::Transports)?;
        let transports = typed(text, transports, Part::Transports, Value::as_object)?;
        let transport = |name, part| -> Result<bool, DeclarationError> {
            let value = member(text, transports, name)?;
            Ok(value
                .map(|value| typed(text, value, part, Value::as_bool))
                .transpose()?
                .unwrap_or(false))
        };
        let transports =
            Transports { chat: transport("chat", Part::Chat)?, rpc: transport("rpc", Part::Rpc)? };
        Ok(Self { name, versions, transports })
    }

    /// The protocol's name, as it is written: one that a protocol can have.
    pub const fn name(&self) -> Str<'a> {
        self.name
    }

    /// The versions, in the bot's order of preference.
    pub fn versions(&self) -> Versions<'a> {
        Versions { elements: self.versions.elements() }
    }

    /// The transports.
    pub const fn transports(&self) -> Transports {
        self.transports
    }
}

/// The versions of a protocol, in the bot's order of preference.
///
/// ```
/// use agentwire_core::profile::Protocols;
/// let text = r#"{"a2a":{"versions":["2.0","1.1","1.0"],"transports":{}}}"#;
/// let versions = Protocols::parse(text).unwrap().iter().next().unwrap().versions();
/// assert_eq!(versions.negotiate(&["1.0", "1.1"]), Some("1.1"));
/// assert_eq!(versions.negotiate(&["0.3"]), None);
/// ```
#[derive(Clone, Debug)]
pub struct Versions<'a> {
    elements: Option<Elements<'a>>,
}

impl Versions<'_> {
    /// The first of the bot's versions that is among ours, whatever the order of ours.
    pub fn negotiate<'o>(&self, ours: &[&'o str]) -> Option<&'o str> {
        self.clone().find_map(|version| ours.iter().copied().find(|our| version == **our))
    }
}

impl<'a> Iterator for Versions<'a> {
    type Item = Str<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.elements.as_mut()?.next()?.as_str()
    }
}

/// A member of an object that is a slice of `text`.
pub(super) fn member<'a>(
    text: &str,
    object: Object<'a>,
    name: &str,
) -> Result<Option<Value<'a>>, DeclarationError> {
    object.get(name).map_err(|error| DeclarationError::json(error, text, object.get_text()))
}

fn required<'a>(
    text: &str,
    object: Object<'a>,
    name: &str,
    part: Part,
) -> Result<Value<'a>, DeclarationError> {
    let missing =
        DeclarationError::at(DeclarationErrorKind::Missing(part), text, object.get_text());
    member(text, object, name)?.ok_or(missing)
}

/// A value as what it has to be.
pub(super) fn typed<'a, T>(
    text: &str,
    value: Value<'a>,
    part: Part,
    read: fn(&Value<'a>) -> Option<T>,
) -> Result<T, DeclarationError> {
    let wrong = || DeclarationError::at(DeclarationErrorKind::Type(part), text, value.get());
    read(&value).ok_or_else(wrong)
}
