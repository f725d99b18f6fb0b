//! Writing the section.

use core::fmt;

use super::text::looks_like_reference;
use super::{AddressType, Audience, EntryLinkError, Frequency, SECTION, SIMPLEX, check_link};
use crate::binding::ProtocolName;
use crate::discovery::cased;
use crate::discovery::link::LinkKind;
use crate::json::{BufferTooSmall, Writer};

/// An address to write.
///
/// Its type is one of the document's. `Debug` shows lengths, never text.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::discovery::llms::{self, AddressType, Audience, NewEntry};
///
/// let protocols = [ProtocolName::new("mcp").unwrap(), ProtocolName::new("a2a").unwrap()];
/// let link = "https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
/// let ask = NewEntry::new("Ask Acme", link, AddressType::BusinessContact, Audience::Agents)
///     .protocols(&protocols)
///     .info("Orders and availability.");
/// let mail = NewEntry::new("Support", "mailto:a@b.example", AddressType::Contact, Audience::People)
///     .network("Email");
///
/// let mut buffer = [0; 512];
/// assert_eq!(
///     llms::write(&[ask, mail], &mut buffer).unwrap(),
///     "## Communications\n\n\
///      - [Ask Acme](https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY): \
///      SimpleX business contact for agents, MCP, A2A. Orders and availability.\n\
///      - [Support](mailto:a@b.example): Email contact for people.\n"
/// );
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct NewEntry<'a> {
    title: &'a str,
    link: &'a str,
    network: &'a str,
    kind: AddressType<'a>,
    audience: Audience,
    frequency: Option<Frequency>,
    protocols: &'a [ProtocolName<'a>],
    info: &'a str,
}

impl<'a> NewEntry<'a> {
    /// An address of the network SimpleX. The title is plain text, and is escaped where Markdown
    /// would read it otherwise.
    pub const fn new(
        title: &'a str,
        link: &'a str,
        kind: AddressType<'a>,
        audience: Audience,
    ) -> Self {
        Self {
            title,
            link,
            network: SIMPLEX,
            kind,
            audience,
            frequency: None,
            protocols: &[],
            info: "",
        }
    }

    /// Of another network. Its name is plain text.
    pub const fn network(mut self, network: &'a str) -> Self {
        self.network = network;
        self
    }

    /// How often it is updated: for the type `updates`.
    pub const fn frequency(mut self, frequency: Frequency) -> Self {
        self.frequency = Some(frequency);
        self
    }

    /// The protocols that it serves: for the types `contact` and `business contact`. They are
    /// written in upper case, as the document shows them.
    pub const fn protocols(mut self, protocols: &'a [ProtocolName<'a>]) -> Self {
        self.protocols = protocols;
        self
    }

    /// What the address is about: one line of Markdown, which is written as it is.
    pub const fn info(mut self, info: &'a str) -> Self {
        self.info = info;
        self
    }

    /// Whether the entry can be written, and will be read as it is.
    fn check(&self) -> Result<(), WriteErrorKind> {
        let one_line = |text: &str| !text.contains(char::is_control);
        let is = |text: &str, word| text.eq_ignore_ascii_case(word);
        if self.title.trim().is_empty() || !one_line(self.title) {
            return Err(WriteErrorKind::Title);
        }
        if self.link.is_empty() || self.link.contains(['\n', '\r']) {
            return Err(WriteErrorKind::Address);
        }
        let business = matches!(self.kind, AddressType::Contact)
            && self.network.split_whitespace().next_back().is_some_and(|last| is(last, "business"));
        let ends = |word: &str| is(word, "for") || word.ends_with('.');
        if self.network.trim().is_empty()
            || !one_line(self.network)
            || self.network.split_whitespace().any(ends)
            || business
        {
            return Err(WriteErrorKind::Network);
        }
        if matches!(self.kind, AddressType::Other(_)) {
            return Err(WriteErrorKind::Type);
        }
        if self.frequency.is_some() && self.kind != AddressType::Updates {
            return Err(WriteErrorKind::Frequency);
        }
        if !self.protocols.is_empty() && self.kind.link_kind() != Some(LinkKind::Contact) {
            return Err(WriteErrorKind::Protocols);
        }
        if !one_line(self.info) {
            return Err(WriteErrorKind::Info);
        }
        if is(self.network.trim(), SIMPLEX) {
            check_link(self.link, self.kind.link_kind()).map_err(WriteErrorKind::Link)?;
        }
        Ok(())
    }

    fn append(&self, writer: &mut Writer<'_>) {
        writer.raw("- [");
        escape(self.title.trim(), "\\[]`*_<", writer);
        writer.raw("](");
        // A bare address ends at white space and at a parenthesis without its pair.
        let odd = |char: char| char.is_whitespace() || char.is_control() || "()<>\\".contains(char);
        if self.link.contains(odd) {
            writer.raw("<");
            escape(self.link, "\\<>", writer);
            writer.raw(">");
        } else {
            escape(self.link, "", writer);
        }
        writer.raw("): ");
        escape(self.network.trim(), "\\[]`*_<", writer);
        writer.raw(" ").raw(self.kind.name().raw()).raw(" for ").raw(self.audience.name());
        if let Some(frequency) = self.frequency {
            writer.raw(", ").raw(frequency.name());
        }
        for protocol in self.protocols {
            writer.raw(", ");
            cased(protocol.get(), char::to_ascii_uppercase, writer);
        }
        writer.raw(".");
        let info = self.info.trim();
        if !info.is_empty() {
            writer.raw(" ").raw(info);
        }
        writer.raw("\n");
    }
}

impl fmt::Debug for NewEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewEntry")
            .field("title_len", &self.title.len())
            .field("link_len", &self.link.len())
            .field("kind", &self.kind)
            .field("audience", &self.audience)
            .field("info_len", &self.info.len())
            .finish_non_exhaustive()
    }
}

/// Appends plain text as Markdown, with these characters escaped, and ampersands that would begin
/// a character reference.
fn escape(text: &str, special: &str, writer: &mut Writer<'_>) {
    let mut clean = 0;
    for (place, char) in text.char_indices() {
        let after = || text.get(place.saturating_add(1)..).unwrap_or_default();
        // A backslash is only safe to leave where nothing after it could be taken for escaped.
        if special.contains(char) || (char == '&' && looks_like_reference(after())) {
            writer.raw(text.get(clean..place).unwrap_or_default()).raw("\\");
            clean = place;
        }
    }
    writer.raw(text.get(clean..).unwrap_or_default());
}

/// Writes the section with these addresses into `out`: the heading, a blank line, and a line for
/// each.
///
/// # Errors
/// [`WriteError`] for the first entry that cannot be written, or that would not be read as it is.
pub fn write<'o>(entries: &[NewEntry<'_>], out: &'o mut [u8]) -> Result<&'o str, WriteError> {
    for (entry, new) in entries.iter().enumerate() {
        new.check().map_err(|kind| WriteError { entry, kind })?;
    }
    let mut writer = Writer::new(out);
    writer.raw("## ").raw(SECTION).raw("\n\n");
    for entry in entries {
        entry.append(&mut writer);
    }
    writer
        .finish()
        .map_err(|error| WriteError { entry: entries.len(), kind: WriteErrorKind::Buffer(error) })
}

/// Why a section cannot be written.
///
/// ```
/// use agentwire_core::discovery::llms::{self, AddressType, Audience, NewEntry, WriteErrorKind};
/// let entry = NewEntry::new("a\nb", "mailto:a@b.example", AddressType::Contact, Audience::People);
/// let error = llms::write(&[entry], &mut []).unwrap_err();
/// assert_eq!((error.entry, error.kind), (0, WriteErrorKind::Title));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct WriteError {
    /// Which entry, from zero; the number of entries if it is not one's fault.
    pub entry: usize,
    /// What is wrong.
    pub kind: WriteErrorKind,
}

/// What is wrong with an entry to write.
///
/// ```
/// use agentwire_core::discovery::llms::WriteErrorKind;
/// assert!(WriteErrorKind::Network.to_string().contains("network"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum WriteErrorKind {
    /// The title is empty or has control characters, such as a line's end.
    Title,
    /// The address is empty or ends a line.
    Address,
    /// The network's name is empty, has control characters, holds the word `for` or a word that
    /// ends in a full stop, or ends in `business` before the type `contact`.
    Network,
    /// The type is none of the document's.
    Type,
    /// A frequency with another type than `updates`.
    Frequency,
    /// Protocols with another type than `contact` and `business contact`.
    Protocols,
    /// The free text has control characters, such as a line's end.
    Info,
    /// The address is no SimpleX link, or not one of the entry's type.
    Link(EntryLinkError),
    /// The buffer is short.
    Buffer(BufferTooSmall),
}

impl fmt::Display for WriteErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Title => f.write_str("a title is one line, and not empty"),
            Self::Address => f.write_str("an address is one line, and not empty"),
            Self::Network => f.write_str("a network's name that would not be read as one"),
            Self::Type => f.write_str("not a type of address that can be written"),
            Self::Frequency => f.write_str("only updates have a frequency"),
            Self::Protocols => f.write_str("only contacts have protocols"),
            Self::Info => f.write_str("the free text is one line"),
            Self::Link(error) => error.fmt(f),
            Self::Buffer(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            WriteErrorKind::Buffer(error) => error.fmt(f),
            kind => write!(f, "entry {}: {kind}", self.entry),
        }
    }
}

impl core::error::Error for WriteError {}
