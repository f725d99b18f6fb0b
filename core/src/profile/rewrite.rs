//! Writing declarations, and changing them where others have theirs beside ours.

use core::fmt;

use super::error::{DeclarationError, Part};
use super::peers::{ChangeFrequency, GroupKind, PeerType, PeerTypes, PublicGroup, whole};
use super::protocols::{Declarations, Source, Transports, member, typed};
use crate::binding::ProtocolName;
use crate::json::splice::{Appender, Fate, splice};
use crate::json::{BufferTooSmall, Object, Str, Value, Writer, offset_in};

/// What a bot declares of one protocol.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::profile::{Declaration, Source, Transports, write_protocols};
/// let mcp = Declaration::new(
///     ProtocolName::new("mcp").unwrap(),
///     &["2026-07-28"],
///     Transports::new(true, true),
/// );
/// let mut buffer = [0; 128];
/// let text = write_protocols(Source::Profile, &[mcp], &mut buffer).unwrap();
/// let expected = r#"{"mcp":{"versions":["2026-07-28"],"transports":{"chat":true,"rpc":true}}}"#;
/// assert_eq!(text, expected);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Declaration<'a> {
    /// The protocol.
    pub name: ProtocolName<'a>,
    /// The versions served, in the order of preference.
    pub versions: &'a [&'a str],
    /// The transports on which it is served.
    pub transports: Transports,
}

impl<'a> Declaration<'a> {
    /// A declaration.
    pub const fn new(
        name: ProtocolName<'a>,
        versions: &'a [&'a str],
        transports: Transports,
    ) -> Self {
        Self { name, versions, transports }
    }

    fn write(&self, out: &mut Writer<'_>) {
        out.raw("{\"versions\":");
        self.write_versions(out);
        out.raw(",\"transports\":{");
        let mut transports = Appender::new(out);
        self.append_transports(&mut transports, |_| false);
        out.raw("}}");
    }

    fn write_versions(&self, out: &mut Writer<'_>) {
        out.raw("[");
        for (place, version) in self.versions.iter().enumerate() {
            out.raw(if place == 0 { "" } else { "," }).string(version);
        }
        out.raw("]");
    }

    /// The transports that are served; absent ones are false.
    fn append_transports(&self, to: &mut Appender<'_, '_>, there: impl Fn(&str) -> bool) {
        for (name, served) in [("chat", self.transports.chat), ("rpc", self.transports.rpc)] {
            if served && !there(name) {
                to.member(name).raw("true");
            }
        }
    }

    /// Writes what is declared of the protocol so far with our versions and transports in it.
    fn rewrite(&self, object: Object<'_>, out: &mut Writer<'_>) {
        let ours = |name: Str<'_>| {
            if name == *"versions" || name == *"transports" { Fate::Replace } else { Fate::Keep }
        };
        let replace = |name: Str<'_>, value: Value<'_>, out: &mut Writer<'_>| match value
            .as_object()
        {
            Some(transports) if name == *"transports" => self.rewrite_transports(transports, out),
            _ => self.write_versions(out),
        };
        splice(object, out, ours, replace, |_| {});
    }

    fn rewrite_transports(&self, object: Object<'_>, out: &mut Writer<'_>) {
        let ours = |name: Str<'_>| {
            if name == *"chat" || name == *"rpc" { Fate::Replace } else { Fate::Keep }
        };
        let replace = |name: Str<'_>, _: Value<'_>, out: &mut Writer<'_>| {
            let transports = self.transports;
            let served = if name == *"chat" { transports.chat } else { transports.rpc };
            out.raw(if served { "true" } else { "false" });
        };
        let there = |name: &str| object.members().any(|(member, _)| member == *name);
        splice(object, out, ours, replace, |to| self.append_transports(to, there));
    }
}

/// A change of what is declared of one protocol.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::profile::{Edit, Source, rewrite_preferences};
/// let text = r#"{ "protocols": {"a2a": {"versions":[],"transports":{}} }, "calls": {} }"#;
/// let mut buffer = [0; 128];
/// let edits = [Edit::Withdraw(ProtocolName::new("a2a").unwrap())];
/// let changed = rewrite_preferences(Source::Profile, text, &edits, &mut buffer).unwrap();
/// assert_eq!(changed, r#"{ "protocols": { }, "calls": {} }"#);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Edit<'a> {
    /// Declare a protocol, or declare it anew.
    Declare(Declaration<'a>),
    /// Declare a protocol no longer. No protocol at all left is a declaration too: none is served.
    Withdraw(ProtocolName<'a>),
}

impl<'a> Edit<'a> {
    const fn name(&self) -> ProtocolName<'a> {
        match self {
            Self::Declare(declaration) => declaration.name,
            Self::Withdraw(name) => *name,
        }
    }
}

/// Why a declaration cannot be written.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::profile::{Declaration, Source, Transports, WriteError, write_protocols};
/// let name = ProtocolName::new("mcp").unwrap();
/// let rpc = Declaration::new(name, &["2026-07-28"], Transports::new(true, true));
/// let error = write_protocols(Source::Group, &[rpc], &mut [0; 128]).unwrap_err();
/// assert_eq!(error, WriteError::RpcInGroup { index: 0 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum WriteError {
    /// `transports.rpc` is valid in `preferences` only.
    RpcInGroup {
        /// Which of the declarations or edits, from 0.
        index: usize,
    },
    /// A protocol is named twice.
    Repeated {
        /// The second of the declarations or edits, from 0.
        index: usize,
    },
    /// `changeFrequency` is for channels only.
    NotAChannel,
    /// What is to be changed cannot be read.
    Existing(DeclarationError),
    /// The buffer is too short. Nothing usable was written.
    Buffer(BufferTooSmall),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RpcInGroup { index } => {
                write!(f, "transports.rpc is not valid in a group's preferences (number {index})")
            }
            Self::Repeated { index } => write!(f, "a protocol is named twice (number {index})"),
            Self::NotAChannel => f.write_str("changeFrequency is for channels only"),
            Self::Existing(error) => write!(f, "what is there: {error}"),
            Self::Buffer(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for WriteError {}

impl From<DeclarationError> for WriteError {
    fn from(error: DeclarationError) -> Self {
        Self::Existing(error)
    }
}

impl From<BufferTooSmall> for WriteError {
    fn from(error: BufferTooSmall) -> Self {
        Self::Buffer(error)
    }
}

/// Checks the edits against each other and against where they are written.
fn check<'a>(
    source: Source,
    edits: impl Iterator<Item = Edit<'a>> + Clone,
) -> Result<(), WriteError> {
    for (index, edit) in edits.clone().enumerate() {
        if edits.clone().take(index).any(|before| before.name() == edit.name()) {
            return Err(WriteError::Repeated { index });
        }
        match edit {
            Edit::Declare(declaration)
                if declaration.transports.rpc && source != Source::Profile =>
            {
                return Err(WriteError::RpcInGroup { index });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes a value of `protocols` with these declarations, in their order.
///
/// # Errors
/// [`WriteError`]; see [`Declaration`] for an example.
pub fn write_protocols<'o>(
    source: Source,
    declarations: &[Declaration<'_>],
    out: &'o mut [u8],
) -> Result<&'o str, WriteError> {
    check(source, declarations.iter().copied().map(Edit::Declare))?;
    let mut out = Writer::new(out);
    out.raw("{");
    let mut members = Appender::new(&mut out);
    for declaration in declarations {
        declaration.write(members.member(declaration.name.get()));
    }
    out.raw("}");
    Ok(out.finish()?)
}

/// Changes what preferences declare of some protocols and keeps everything else byte for byte:
/// other preferences, other protocols, and what this crate does not know of our own protocols.
///
/// # Errors
/// [`WriteError`], [`WriteError::Existing`] among it when the preferences or their `protocols` do
/// not follow the schema: nothing is thrown away unseen.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::profile::{Declaration, Edit, Source, Transports, rewrite_preferences};
///
/// let text = r#"{"commands":[], "protocols":{"mcp":{"versions":["old"],"x":1,"transports":{}}}}"#;
/// let mcp = Declaration::new(
///     ProtocolName::new("mcp").unwrap(),
///     &["2026-07-28"],
///     Transports::new(true, false),
/// );
/// let mut buffer = [0; 128];
/// let changed =
///     rewrite_preferences(Source::Profile, text, &[Edit::Declare(mcp)], &mut buffer).unwrap();
/// let expected = r#"{"commands":[], "protocols":{"mcp":{"versions":["2026-07-28"],"x":1,"transports":{"chat":true}}}}"#;
/// assert_eq!(changed, expected);
/// ```
pub fn rewrite_preferences<'o>(
    source: Source,
    preferences: &str,
    edits: &[Edit<'_>],
    out: &'o mut [u8],
) -> Result<&'o str, WriteError> {
    check(source, edits.iter().copied())?;
    let declared = Declarations::parse(source, preferences)?;
    if let Some(protocols) = declared.protocols() {
        for edit in edits {
            // The offset of a protocol that is declared twice counts from the preferences.
            protocols.get(edit.name()).map_err(|error| DeclarationError {
                offset: error
                    .offset
                    .saturating_add(offset_in(preferences, protocols.object().get_text())),
                ..error
            })?;
        }
    }
    let edit_of = |name: Str<'_>| edits.iter().find(|edit| name == *edit.name().get());
    let append = |to: &mut Appender<'_, '_>, there: &dyn Fn(&str) -> bool| {
        for edit in edits {
            match edit {
                Edit::Declare(declaration) if !there(declaration.name.get()) => {
                    declaration.write(to.member(declaration.name.get()));
                }
                _ => {}
            }
        }
    };
    let protocols = |value: Value<'_>, out: &mut Writer<'_>| {
        let Some(object) = value.as_object() else { return };
        let fate = |name: Str<'_>| match edit_of(name) {
            None => Fate::Keep,
            Some(Edit::Withdraw(_)) => Fate::Remove,
            Some(Edit::Declare(_)) => Fate::Replace,
        };
        let replace = |name: Str<'_>, value: Value<'_>, out: &mut Writer<'_>| match (
            edit_of(name),
            value.as_object(),
        ) {
            (Some(Edit::Declare(declaration)), Some(object)) => declaration.rewrite(object, out),
            _ => {
                out.value(value);
            }
        };
        let there = |name: &str| object.members().any(|(member, _)| member == *name);
        splice(object, out, fate, replace, |to| append(to, &there));
    };
    let any = edits.iter().any(|edit| matches!(edit, Edit::Declare(_)));
    set(
        preferences,
        "protocols",
        out,
        |_, value, out| protocols(value, out),
        |to| {
            if any {
                let out = to.member("protocols").raw("{");
                append(&mut Appender::new(out), &|_| false);
                out.raw("}");
            }
        },
    )
}

/// Writes `text`, one object, with a new value for the member `name`: `replace` writes it where the
/// member is, `append` where it is not.
fn set<'o>(
    text: &str,
    name: &str,
    out: &'o mut [u8],
    replace: impl Fn(Str<'_>, Value<'_>, &mut Writer<'_>),
    append: impl FnOnce(&mut Appender<'_, '_>),
) -> Result<&'o str, WriteError> {
    let object = whole(text)?;
    let there = member(text, object, name)?.is_some();
    let fate = |member: Str<'_>| if member == *name { Fate::Replace } else { Fate::Keep };
    edited(text, object, out, fate, replace, |to| {
        if !there {
            append(to);
        }
    })
}

/// Writes `text`, one object, with this value for the member `name`, or without the member.
fn put<'o, T: Copy>(
    text: &str,
    name: &str,
    value: Option<T>,
    out: &'o mut [u8],
    write: impl Fn(T, &mut Writer<'_>),
) -> Result<&'o str, WriteError> {
    let object = whole(text)?;
    let there = member(text, object, name)?.is_some();
    let fate = |member: Str<'_>| match value {
        _ if !(member == *name) => Fate::Keep,
        Some(_) => Fate::Replace,
        None => Fate::Remove,
    };
    let write = |out: &mut Writer<'_>| {
        if let Some(value) = value {
            write(value, out);
        }
    };
    edited(
        text,
        object,
        out,
        fate,
        |_, _, out| write(out),
        |to| {
            if value.is_some() && !there {
                write(to.member(name));
            }
        },
    )
}

/// [`splice`], with the white space around the object.
fn edited<'o>(
    text: &str,
    object: Object<'_>,
    out: &'o mut [u8],
    fate: impl Fn(Str<'_>) -> Fate,
    replace: impl Fn(Str<'_>, Value<'_>, &mut Writer<'_>),
    append: impl FnOnce(&mut Appender<'_, '_>),
) -> Result<&'o str, WriteError> {
    let mut out = Writer::new(out);
    let start = offset_in(text, object.get_text());
    let end = start.saturating_add(object.get_text().len());
    out.raw(text.get(..start).unwrap_or_default());
    splice(object, &mut out, fate, replace, append);
    out.raw(text.get(end..).unwrap_or_default());
    Ok(out.finish()?)
}

/// Copies `protocols` of a business profile into the `groupPreferences` of one of its chats, as it
/// is, and keeps everything else there byte for byte ("In a business chat, `protocols` of the
/// business profile MUST be copied"). A profile that declares nothing leaves nothing in the chat.
///
/// The copy holds `transports.rpc` as the profile has it; in a chat it says nothing.
///
/// # Errors
/// [`WriteError`]; offsets count from the start of the text that cannot be read.
///
/// ```
/// use agentwire_core::profile::copy_to_business_chat;
/// let profile = r#"{"protocols":{"a2a":{"versions":["1.0"],"transports":{"chat":true}}}}"#;
/// let mut buffer = [0; 128];
/// let copied = copy_to_business_chat(profile, r#"{"files":{}}"#, &mut buffer).unwrap();
/// let expected = r#"{"files":{},"protocols":{"a2a":{"versions":["1.0"],"transports":{"chat":true}}}}"#;
/// assert_eq!(copied, expected);
/// ```
pub fn copy_to_business_chat<'o>(
    preferences: &str,
    group_preferences: &str,
    out: &'o mut [u8],
) -> Result<&'o str, WriteError> {
    let declared = Declarations::parse(Source::Profile, preferences)?.protocols();
    put(group_preferences, "protocols", declared, out, |protocols, out| {
        out.raw(protocols.object().get_text());
    })
}

/// Changes `audience` of a public group record and keeps everything else byte for byte; values
/// that this crate does not know stay in it.
///
/// # Errors
/// [`WriteError`].
///
/// ```
/// use agentwire_core::profile::{PeerType, PeerTypes, rewrite_audience};
/// let mut buffer = [0; 64];
/// let peers = PeerTypes::new(&[PeerType::Human, PeerType::Agent]);
/// let record = r#"{"audience":["human", "robot"],"x":1}"#;
/// let changed = rewrite_audience(record, peers, &mut buffer).unwrap();
/// assert_eq!(changed, r#"{"audience":["human","robot","agent"],"x":1}"#);
/// ```
pub fn rewrite_audience<'o>(
    record: &str,
    peers: PeerTypes,
    out: &'o mut [u8],
) -> Result<&'o str, WriteError> {
    rewrite_peers(record, "audience", Part::Audience, peers, out)
}

/// Changes `serves` of the data of a contact address link, as [`rewrite_audience`] does.
///
/// # Errors
/// [`WriteError`].
///
/// ```
/// use agentwire_core::profile::{PeerType, PeerTypes, rewrite_serves};
/// let mut buffer = [0; 64];
/// let peers = PeerTypes::new(&[PeerType::Agent]);
/// let changed = rewrite_serves(r#"{"business":true}"#, peers, &mut buffer).unwrap();
/// assert_eq!(changed, r#"{"business":true,"serves":["agent"]}"#);
/// ```
pub fn rewrite_serves<'o>(
    data: &str,
    peers: PeerTypes,
    out: &'o mut [u8],
) -> Result<&'o str, WriteError> {
    rewrite_peers(data, "serves", Part::Serves, peers, out)
}

fn rewrite_peers<'o>(
    text: &str,
    name: &str,
    part: Part,
    peers: PeerTypes,
    out: &'o mut [u8],
) -> Result<&'o str, WriteError> {
    if let Some(value) = member(text, whole(text)?, name)? {
        for value in typed(text, value, part, Value::elements)? {
            typed(text, value, Part::PeerType, Value::as_str)?;
        }
    }
    let write = |value: Option<Value<'_>>, out: &mut Writer<'_>| {
        let mut separator = "";
        let mut left = peers;
        out.raw("[");
        for value in value.and_then(|value| value.elements()).into_iter().flatten() {
            // A value that is kept stands where it stood; a known one stands there once.
            let kept = match value.as_str().and_then(PeerType::of) {
                Some(peer) => left.take(peer),
                None => true,
            };
            if kept {
                out.raw(separator).value(value);
                separator = ",";
            }
        }
        for peer in left.iter() {
            out.raw(separator).string(peer.name());
            separator = ",";
        }
        out.raw("]");
    };
    set(text, name, out, |_, value, out| write(Some(value), out), |to| write(None, to.member(name)))
}

/// Changes `changeFrequency` of a channel's record, or takes it out, and keeps everything else
/// byte for byte.
///
/// # Errors
/// [`WriteError`], [`WriteError::NotAChannel`] for a frequency of a group that is none.
///
/// ```
/// use agentwire_core::profile::{ChangeFrequency, GroupKind, rewrite_change_frequency};
/// let mut buffer = [0; 64];
/// let daily = Some(ChangeFrequency::Daily);
/// let changed = rewrite_change_frequency(GroupKind::Channel, "{}", daily, &mut buffer).unwrap();
/// assert_eq!(changed, r#"{"changeFrequency":"daily"}"#);
/// ```
pub fn rewrite_change_frequency<'o>(
    kind: GroupKind,
    record: &str,
    frequency: Option<ChangeFrequency>,
    out: &'o mut [u8],
) -> Result<&'o str, WriteError> {
    if kind == GroupKind::Group && frequency.is_some() {
        return Err(WriteError::NotAChannel);
    }
    PublicGroup::parse(kind, record)?;
    put(record, "changeFrequency", frequency, out, |frequency, out| {
        out.string(frequency.name());
    })
}
