//! Addresses in `llms.txt` ("Addresses in llms.txt").
//!
//! The section `## Communications` of the file lists addresses, each a Markdown link, a colon and
//! notes:
//!
//! ```text
//! ## Communications
//!
//! - [<title>](<address>): <network> updates for <audience>[, <frequency>]. <info>
//! - [<title>](<address>): <network> group for <audience>. <info>
//! - [<title>](<address>): <network> [business ]contact for <audience>[, <protocol>]*. <info>
//! ```
//!
//! [`Communications`] goes through such a file and gives its [`Entry`]s, [`write()`] writes the
//! section. Reading needs time linear in the file's size, whatever it holds, and no memory.
//!
//! # What is read
//!
//! The file is Markdown (CommonMark), written by hand. Nothing of the section is passed over in
//! silence, except blank lines and thematic breaks: a line that is no entry is a [`Problem`], and
//! what is unusual in an entry is a [`Remark`].
//!
//! | in the file | here |
//! |---|---|
//! | LF, CRLF, CR; a byte order mark | read alike |
//! | `## Communications ##`, or underlined with `---` | the section begins; it ends at the next heading of level 1 or 2 |
//! | `### More` inside | an [`Item::Heading`]; the section goes on |
//! | the heading in another letter case or of another level | [`ProblemKind::LikeSection`] |
//! | the section twice | [`ProblemKind::SecondSection`], and both are read |
//! | code blocks and comments | never entries nor headings; problems inside the section |
//! | bullets `-`, `*`, `+`, `1.`, `1)`; nested and several lists | entries |
//! | an entry that goes on in the next line | one entry |
//! | `[a \[b\]](<c d>)`, `[a [b]](c(d) "e")` | a link, as Markdown has it; the title in quotes is passed over |
//! | the words of the grammar in any letter case, with any white space | read; what is written has the document's spelling |
//! | another network | an entry |
//! | another type | [`AddressType::Other`] with a remark |
//! | something in the list after the audience that cannot stand there | [`Term::Other`] with a remark |
//! | another audience, or none | [`ProblemKind::Audience`] |
//! | `agents and people`; no full stop | read, with a remark |
//!
//! Code spans in a title and HTML other than comments are taken for text.
//!
//! # What an address leads to
//!
//! For SimpleX entries the type has to be the link's: [`Entry::simplex_link`] checks that. The
//! network is named because the host in a SimpleX link says nothing ([`link`](super::link)).

mod markdown;
mod text;
mod write;

use core::fmt;

pub use text::{Chars, Text};
pub use write::{NewEntry, WriteError, WriteErrorKind, write};

use self::markdown::{Block, Fence, Line, Lines, MarkdownLink, NoLink, ends_comment, underline};
use super::link::{Link, LinkError, LinkKind};
use crate::binding::ProtocolName;
use crate::json::{BufferTooSmall, Writer, offset_in};

/// The heading of the section.
const SECTION: &str = "Communications";

/// The network of SimpleX links.
const SIMPLEX: &str = "SimpleX";

/// What an address is for.
///
/// ```
/// use agentwire_core::discovery::link::LinkKind;
/// use agentwire_core::discovery::llms::AddressType;
/// assert_eq!(AddressType::Updates.link_kind(), Some(LinkKind::Channel));
/// assert_eq!(AddressType::BusinessContact.link_kind(), Some(LinkKind::Contact));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AddressType<'a> {
    /// `updates`: it publishes updates.
    Updates,
    /// `group`: members converse there.
    Group,
    /// `contact`: it accepts conversations and requests.
    Contact,
    /// `business contact`: a business address.
    BusinessContact,
    /// A type that the document does not have.
    Other(Text<'a>),
}

impl AddressType<'_> {
    /// The kind of link that a SimpleX address of this type has to be. `None` for types that the
    /// document does not have.
    pub const fn link_kind(&self) -> Option<LinkKind> {
        match self {
            Self::Updates => Some(LinkKind::Channel),
            Self::Group => Some(LinkKind::Group),
            Self::Contact | Self::BusinessContact => Some(LinkKind::Contact),
            Self::Other(_) => None,
        }
    }

    /// The type's words, as the document spells them or as they were written.
    pub fn name(&self) -> Text<'_> {
        match self {
            Self::Updates => Text::new("updates"),
            Self::Group => Text::new("group"),
            Self::Contact => Text::new("contact"),
            Self::BusinessContact => Text::new("business contact"),
            Self::Other(text) => *text,
        }
    }
}

/// Whom an address is made for.
///
/// ```
/// use agentwire_core::discovery::llms::Audience;
/// assert_eq!(Audience::PeopleAndAgents.peer_types(), ["human", "agent"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(clippy::exhaustive_enums)]
pub enum Audience {
    /// `people`.
    People,
    /// `agents`.
    Agents,
    /// `people and agents`.
    PeopleAndAgents,
}

impl Audience {
    /// The words of the grammar.
    pub const fn name(self) -> &'static str {
        match self {
            Self::People => "people",
            Self::Agents => "agents",
            Self::PeopleAndAgents => "people and agents",
        }
    }

    /// The peer types of profiles that the words stand for: people are `human`, agents `agent`.
    /// They are the values of `audience` and `serves` ("Contact address peers").
    pub const fn peer_types(self) -> &'static [&'static str] {
        match self {
            Self::People => &["human"],
            Self::Agents => &["agent"],
            Self::PeopleAndAgents => &["human", "agent"],
        }
    }

    /// The audience, and whether its words stand in another order than the document's.
    fn parse(text: &str) -> Option<(Self, bool)> {
        let mut words = text.split_whitespace();
        let mut next = || words.next().unwrap_or_default();
        let (first, and, second, more) = (next(), next(), next(), next());
        let is = |text: &str, word| text.eq_ignore_ascii_case(word);
        if !and.is_empty() && (!is(and, "and") || !more.is_empty()) {
            return None;
        }
        match (is(first, "people"), is(first, "agents"), second) {
            (true, _, "") if and.is_empty() => Some((Self::People, false)),
            (_, true, "") if and.is_empty() => Some((Self::Agents, false)),
            (true, _, second) if is(second, "agents") => Some((Self::PeopleAndAgents, false)),
            (_, true, second) if is(second, "people") => Some((Self::PeopleAndAgents, true)),
            _ => None,
        }
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How often an address of type `updates` is updated; read in any letter case here.
pub use crate::profile::ChangeFrequency as Frequency;

/// The name of a protocol in any letter case, as it was written. `Display` gives the name in lower
/// case, and two are equal if that is.
///
/// ```
/// use agentwire_core::discovery::llms::{Communications, Item};
/// let file = "## Communications\n- [a](b): Web contact for agents, MCP, A2a.";
/// let Some(Item::Entry(entry)) = Communications::new(file).next() else { panic!() };
/// let mut buffer = [0; 8];
/// let second = entry.protocols().nth(1).unwrap();
/// assert_eq!(second.get(), "A2a");
/// assert_eq!(second.write(&mut buffer).unwrap().get(), "a2a");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Protocol<'a>(&'a str);

impl<'a> Protocol<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let allowed = |byte: u8| ProtocolName::allows(byte.to_ascii_lowercase());
        (!text.is_empty() && text.bytes().all(allowed)).then_some(Self(text))
    }

    /// The name as it was written.
    pub fn get(&self) -> &'a str {
        self.0
    }

    /// Whether it is this protocol.
    pub fn is(&self, name: ProtocolName<'_>) -> bool {
        self.0.eq_ignore_ascii_case(name.get())
    }

    /// Writes the name in lower case, as declarations and commands have it.
    ///
    /// # Errors
    /// [`BufferTooSmall`].
    pub fn write<'o>(&self, out: &'o mut [u8]) -> Result<ProtocolName<'o>, BufferTooSmall> {
        let error = BufferTooSmall { needed: self.0.len(), capacity: out.len() };
        let mut writer = Writer::new(out);
        super::lower(self.0, &mut writer);
        // What it was made of is a protocol's name but for its letter case.
        ProtocolName::new(writer.finish()?).ok_or(error)
    }
}

impl PartialEq for Protocol<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(other.0)
    }
}

impl Eq for Protocol<'_> {}

impl fmt::Display for Protocol<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| fmt::Write::write_char(f, char.to_ascii_lowercase()))
    }
}

/// What stands in the list after the audience.
///
/// ```
/// use agentwire_core::discovery::llms::{Communications, Frequency, Item, Term};
/// let file = "## Communications\n- [a](b): Web updates for people, daily, free.";
/// let Some(Item::Entry(entry)) = Communications::new(file).next() else { panic!() };
/// let terms: Vec<_> = entry.terms().collect();
/// assert_eq!(terms[0], Term::Frequency(Frequency::Daily));
/// assert!(matches!(terms[1], Term::Other(text) if text == *"free"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Term<'a> {
    /// The frequency, in an entry of type `updates`.
    Frequency(Frequency),
    /// A protocol, in an entry of type `contact` or `business contact`.
    Protocol(Protocol<'a>),
    /// Anything else.
    Other(Text<'a>),
}

/// One address of the section.
///
/// `Debug` shows where it is and of what type, never its text.
///
/// ```
/// use agentwire_core::discovery::llms::{AddressType, Audience, Communications, Item};
///
/// let file = "# Acme\n\n## Communications\n\n\
///     - [Acme support](mailto:support@acme.example): Email contact for people. Orders.\n";
/// let Some(Item::Entry(entry)) = Communications::new(file).next() else { panic!() };
/// assert!(entry.title() == *"Acme support" && entry.network() == *"Email");
/// assert_eq!(entry.link().as_plain(), Some("mailto:support@acme.example"));
/// assert_eq!((entry.kind(), entry.audience()), (AddressType::Contact, Audience::People));
/// assert_eq!((entry.line(), entry.info().raw()), (5, "Orders."));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    source: &'a str,
    offset: usize,
    line: usize,
    title: Text<'a>,
    link: Text<'a>,
    network: Text<'a>,
    kind: AddressType<'a>,
    /// The text between `for` and the first comma.
    audience_text: &'a str,
    audience: Audience,
    swapped: bool,
    /// What follows the audience's comma, as far as the full stop.
    terms: Option<&'a str>,
    stopped: bool,
    info: Text<'a>,
}

impl<'a> Entry<'a> {
    /// The link's text, which is the title of the address.
    pub fn title(&self) -> Text<'a> {
        self.title
    }

    /// The address: where the link leads.
    pub fn link(&self) -> Text<'a> {
        self.link
    }

    /// The name of the network.
    pub fn network(&self) -> Text<'a> {
        self.network
    }

    /// The type of the address.
    pub fn kind(&self) -> AddressType<'a> {
        self.kind
    }

    /// Whom it is for.
    pub fn audience(&self) -> Audience {
        self.audience
    }

    /// What stands in the list after the audience, in order.
    pub fn terms(&self) -> impl Iterator<Item = Term<'a>> + use<'a> {
        self.texts_and_terms().map(|(_, term)| term)
    }

    fn texts_and_terms(&self) -> impl Iterator<Item = (&'a str, Term<'a>)> + use<'a> {
        let kind = self.kind;
        let mut frequency = false;
        self.terms.into_iter().flat_map(|terms| terms.split(',')).map(move |text| {
            let text = text.trim();
            let term = match kind {
                AddressType::Updates if !frequency => {
                    Frequency::named_in_any_case(text).map(Term::Frequency)
                }
                AddressType::Contact | AddressType::BusinessContact => {
                    Protocol::new(text).map(Term::Protocol)
                }
                _ => None,
            };
            frequency |= matches!(term, Some(Term::Frequency(_)));
            (text, term.unwrap_or(Term::Other(Text::new(text))))
        })
    }

    /// How often it is updated, if it says so.
    pub fn frequency(&self) -> Option<Frequency> {
        self.terms().find_map(|term| match term {
            Term::Frequency(frequency) => Some(frequency),
            _ => None,
        })
    }

    /// The protocols that it serves. None does not mean that it serves none.
    pub fn protocols(&self) -> impl Iterator<Item = Protocol<'a>> + use<'a> {
        self.terms().filter_map(|term| match term {
            Term::Protocol(protocol) => Some(protocol),
            _ => None,
        })
    }

    /// What the address is about: the free text at the end.
    pub fn info(&self) -> Text<'a> {
        self.info
    }

    /// The whole entry as it was written, without the list's marker.
    pub fn source(&self) -> &'a str {
        self.source
    }

    /// The line in which it begins; the first is 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Where it begins, in bytes from the start of the file.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The link of an entry of the network SimpleX, which has to be of the entry's type; `None`
    /// for entries of other networks.
    ///
    /// A link that is written with escapes is decoded into `scratch`, whose length
    /// [`link().raw().len()`](Text::raw) always suffices. For others it can be empty.
    ///
    /// # Errors
    /// [`EntryLinkError`].
    ///
    /// ```
    /// use agentwire_core::discovery::link::LinkKind;
    /// use agentwire_core::discovery::llms::{Communications, EntryLinkError, Item};
    ///
    /// let file = "## Communications\n- [News](https://a.example/g#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0\
    ///     NTY3ODlhYmNkZWY): SimpleX updates for people.";
    /// let Some(Item::Entry(entry)) = Communications::new(file).next() else { panic!() };
    /// assert_eq!(
    ///     entry.simplex_link(&mut []).unwrap_err(),
    ///     EntryLinkError::Type { expected: LinkKind::Channel, found: LinkKind::Group }
    /// );
    /// ```
    pub fn simplex_link<'s>(
        &self,
        scratch: &'s mut [u8],
    ) -> Result<Option<Link<'s>>, EntryLinkError>
    where
        'a: 's,
    {
        if !self.network.raw().eq_ignore_ascii_case(SIMPLEX) {
            return Ok(None);
        }
        let text = match self.link.as_plain() {
            Some(plain) => plain,
            None => self.link.write(scratch).map_err(EntryLinkError::Scratch)?,
        };
        check_link(text, self.kind.link_kind()).map(Some)
    }

    /// What is unusual in the entry, in the order of the text.
    pub fn remarks(&self) -> impl Iterator<Item = Remark> + use<'a> {
        let entry = *self;
        let unknown = match entry.kind {
            AddressType::Other(text) => Some((RemarkKind::UnknownType, text.raw())),
            _ => None,
        };
        let swapped = entry.swapped.then_some((RemarkKind::AudienceOrder, entry.audience_text));
        let terms = entry.texts_and_terms().filter_map(move |(text, term)| {
            let kind = match (term, entry.kind) {
                (Term::Frequency(_) | Term::Protocol(_), _) => return None,
                _ if text.is_empty() => RemarkKind::EmptyTerm,
                (_, AddressType::Updates) if Frequency::named_in_any_case(text).is_some() => {
                    RemarkKind::SecondFrequency
                }
                (_, AddressType::Updates) => RemarkKind::UnknownFrequency,
                (_, AddressType::Contact | AddressType::BusinessContact) => {
                    RemarkKind::NotAProtocol
                }
                (_, AddressType::Group) => RemarkKind::GroupTerm,
                (_, AddressType::Other(_)) => RemarkKind::UnknownTerm,
            };
            Some((kind, text))
        });
        let end = entry.source.get(entry.source.len()..).unwrap_or_default();
        let open = (!entry.stopped).then_some((RemarkKind::NoFullStop, end));
        let all = unknown.into_iter().chain(swapped).chain(terms).chain(open);
        // They come in the order of the text, so the lines between them are counted once.
        let (mut at, mut line) = (0, entry.line);
        all.map(move |(kind, text)| {
            let place = offset_in(entry.source, text);
            line = line.saturating_add(line_ends(entry.source.get(at..place).unwrap_or_default()));
            at = place;
            Remark { kind, line, offset: entry.offset.saturating_add(place) }
        })
    }

    /// Reads an item of the list: the text behind its marker.
    fn parse(source: &'a str, offset: usize, line: usize) -> Result<Self, (ProblemKind, usize)> {
        let text = source.trim_start();
        let start = offset_in(source, text);
        let link = MarkdownLink::parse(text).map_err(|error| {
            let (kind, at) = match error {
                NoLink::None => (ProblemKind::NoLink, 0),
                NoLink::Unclosed => (ProblemKind::UnclosedTitle, 0),
                NoLink::Reference(at) => (ProblemKind::ReferenceLink, at),
                NoLink::NoDestination(at) => (ProblemKind::NoDestination, at),
                NoLink::Destination(at) => (ProblemKind::Destination, at),
            };
            (kind, start.saturating_add(at))
        })?;
        let at = |part: &str| offset_in(source, part);
        if link.destination.is_empty() {
            return Err((ProblemKind::NoAddress, start.saturating_add(link.destination_at)));
        }
        let title = link.title.trim();
        if title.is_empty() {
            return Err((ProblemKind::NoTitle, start.saturating_add(link.title_at)));
        }
        let rest = text.get(link.end..).unwrap_or_default();
        let behind = rest.trim_start();
        let Some(notes) = behind.strip_prefix(':') else {
            return Err((ProblemKind::NoColon, at(behind)));
        };
        let notes = notes.trim();
        if notes.is_empty() {
            return Err((ProblemKind::NoNotes, at(behind).saturating_add(1)));
        }
        let head = Head::parse(notes).map_err(|(kind, part)| (kind, at(part)))?;
        let stop = head.rest.match_indices('.').find(|(place, _)| {
            let after = head.rest.get(place.saturating_add(1)..).unwrap_or_default();
            after.is_empty() || after.starts_with(char::is_whitespace)
        });
        let (sentence, info) = match stop {
            Some((place, _)) => (
                head.rest.get(..place).unwrap_or_default(),
                head.rest.get(place.saturating_add(1)..).unwrap_or_default().trim(),
            ),
            None => (head.rest, ""),
        };
        let (audience_text, terms) = match sentence.split_once(',') {
            Some((audience, terms)) => (audience.trim(), Some(terms)),
            None => (sentence.trim(), None),
        };
        let (audience, swapped) =
            Audience::parse(audience_text).ok_or((ProblemKind::Audience, at(audience_text)))?;
        Ok(Self {
            source,
            offset,
            line,
            title: Text::new(title),
            link: Text::new(link.destination),
            network: Text::new(head.network),
            kind: head.kind,
            audience_text,
            audience,
            swapped,
            terms,
            stopped: stop.is_some(),
            info: Text::new(info),
        })
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("line", &self.line)
            .field("offset", &self.offset)
            .field("len", &self.source.len())
            .field("kind", &self.kind)
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

/// Whether a SimpleX link is of the kind that it has to be.
fn check_link(text: &str, expected: Option<LinkKind>) -> Result<Link<'_>, EntryLinkError> {
    let link = Link::parse(text).map_err(EntryLinkError::Link)?;
    match expected {
        Some(expected) if expected != link.kind() => {
            Err(EntryLinkError::Type { expected, found: link.kind() })
        }
        _ => Ok(link),
    }
}

/// The beginning of the notes: network and type, as far as the word `for`.
struct Head<'a> {
    network: &'a str,
    kind: AddressType<'a>,
    /// What follows `for`.
    rest: &'a str,
}

impl<'a> Head<'a> {
    fn parse(notes: &'a str) -> Result<Self, (ProblemKind, &'a str)> {
        let is = |text: &str, word| text.eq_ignore_ascii_case(word);
        let mut last = "";
        let mut before_last = "";
        let mut found = None;
        for word in notes.split_whitespace() {
            if is(word, "for") {
                found = Some(word);
                break;
            }
            // The word stands in the first sentence or nowhere.
            if word.ends_with('.') {
                break;
            }
            (before_last, last) = (last, word);
        }
        let Some(word) = found else { return Err((ProblemKind::NoAudience, notes)) };
        let place = offset_in(notes, word);
        let rest = notes.get(place.saturating_add(word.len())..).unwrap_or_default();
        let head = notes.get(..place).unwrap_or_default().trim_end();
        let kind = match last {
            last if is(last, "updates") => AddressType::Updates,
            last if is(last, "group") => AddressType::Group,
            last if is(last, "contact") && is(before_last, "business") => {
                AddressType::BusinessContact
            }
            last if is(last, "contact") => AddressType::Contact,
            _ => {
                // Of what the document does not have, the first word is the network.
                let network = head.split_whitespace().next().unwrap_or_default();
                let kind = head.get(network.len()..).unwrap_or_default().trim_start();
                if kind.is_empty() {
                    let missing = if network.is_empty() {
                        ProblemKind::NoNetwork
                    } else {
                        ProblemKind::NoType
                    };
                    return Err((missing, word));
                }
                return Ok(Self { network, kind: AddressType::Other(Text::new(kind)), rest });
            }
        };
        let first = if kind == AddressType::BusinessContact { before_last } else { last };
        let network = head.get(..offset_in(head, first)).unwrap_or_default().trim_end();
        if network.is_empty() {
            return Err((ProblemKind::NoNetwork, first));
        }
        Ok(Self { network, kind, rest })
    }
}

/// How many lines end in a text.
fn line_ends(text: &str) -> usize {
    let mut bytes = text.bytes().peekable();
    let mut count: usize = 0;
    while let Some(byte) = bytes.next() {
        let ends = byte == b'\n' || (byte == b'\r' && bytes.peek() != Some(&b'\n'));
        count = count.saturating_add(usize::from(ends));
    }
    count
}

/// Why a SimpleX entry's address does not fit it.
///
/// ```
/// use agentwire_core::discovery::link::LinkErrorKind;
/// use agentwire_core::discovery::llms::{Communications, EntryLinkError, Item};
/// let file = "## Communications\n- [a](https://a.example/shop): SimpleX contact for people.";
/// let Some(Item::Entry(entry)) = Communications::new(file).next() else { panic!() };
/// let Err(EntryLinkError::Link(error)) = entry.simplex_link(&mut []) else { panic!() };
/// assert_eq!(error.kind, LinkErrorKind::Path);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum EntryLinkError {
    /// It is no SimpleX link; the offset counts in the address.
    Link(LinkError),
    /// It is another kind of link than the type requires.
    Type {
        /// What the type requires.
        expected: LinkKind,
        /// What the link is.
        found: LinkKind,
    },
    /// The address has escapes and the scratch space does not hold it.
    Scratch(BufferTooSmall),
}

impl fmt::Display for EntryLinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => error.fmt(f),
            Self::Type { expected, found } => {
                write!(f, "a {found} link, the type requires a {expected} link")
            }
            Self::Scratch(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for EntryLinkError {}

/// Something unusual in an entry that can be read all the same.
///
/// ```
/// use agentwire_core::discovery::llms::{Communications, Item, RemarkKind};
/// let file = "## Communications\n- [a](b): Web updates for people, fortnightly.";
/// let Some(Item::Entry(entry)) = Communications::new(file).next() else { panic!() };
/// let remark = entry.remarks().next().unwrap();
/// assert_eq!((remark.kind, remark.line, remark.offset), (RemarkKind::UnknownFrequency, 2, 52));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Remark {
    /// What is unusual.
    pub kind: RemarkKind,
    /// The line; the first is 1.
    pub line: usize,
    /// Bytes from the start of the file.
    pub offset: usize,
}

/// What is unusual in an entry.
///
/// ```
/// use agentwire_core::discovery::llms::RemarkKind;
/// assert_eq!(RemarkKind::NoFullStop.to_string(), "no full stop after the audience's list");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum RemarkKind {
    /// A type that the document does not have.
    UnknownType,
    /// `agents and people`.
    AudienceOrder,
    /// Nothing between two commas, or after the last.
    EmptyTerm,
    /// A frequency that Sitemaps does not have.
    UnknownFrequency,
    /// One frequency more than the grammar has.
    SecondFrequency,
    /// What cannot be a protocol's name.
    NotAProtocol,
    /// Anything in the list of a group, which has none.
    GroupTerm,
    /// Anything in the list of a type that the document does not have.
    UnknownTerm,
    /// The audience and its list are not ended by a full stop, so there is no free text.
    NoFullStop,
}

impl fmt::Display for RemarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownType => "not a type of address that is known",
            Self::AudienceOrder => "the audience is spelled `people and agents`",
            Self::EmptyTerm => "nothing stands between commas",
            Self::UnknownFrequency => "not a frequency of the Sitemaps protocol",
            Self::SecondFrequency => "a second frequency",
            Self::NotAProtocol => "not a protocol's name",
            Self::GroupTerm => "a group has nothing after its audience",
            Self::UnknownTerm => "a list after the audience of an unknown type",
            Self::NoFullStop => "no full stop after the audience's list",
        })
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} (byte {})", self.line, self.kind, self.offset)
    }
}

/// A line of the file that does not fit.
///
/// `Debug` and `Display` show places and lengths, never the text.
///
/// ```
/// use agentwire_core::discovery::llms::{Communications, Item, ProblemKind};
/// let file = "## Communications\n- [a](b) SimpleX group for people.";
/// let Some(Item::Problem(problem)) = Communications::new(file).next() else { panic!() };
/// assert_eq!((problem.kind, problem.line, problem.offset), (ProblemKind::NoColon, 2, 27));
/// assert_eq!(problem.text, "[a](b) SimpleX group for people.");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem<'a> {
    /// What is wrong.
    pub kind: ProblemKind,
    /// The line in which that shows; the first is 1.
    pub line: usize,
    /// Where that shows, in bytes from the start of the file.
    pub offset: usize,
    /// The line; of a list item, all its lines without the marker.
    pub text: &'a str,
}

/// What is wrong with a line.
///
/// ```
/// use agentwire_core::discovery::llms::{Communications, Item, ProblemKind};
/// let problem = |file| match Communications::new(file).next() {
///     Some(Item::Problem(problem)) => problem.kind,
///     _ => panic!("it fits"),
/// };
/// assert_eq!(problem("# Acme\n"), ProblemKind::NoSection);
/// assert_eq!(problem("## Communications\n- Call us!"), ProblemKind::NoLink);
/// assert_eq!(problem("## Communications\n- [a](b): Web group for cats."), ProblemKind::Audience);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file has no such section; reported at its end.
    NoSection,
    /// The section begins a second time. It is read.
    SecondSection,
    /// A heading that differs from the section's by its level or letter case only.
    LikeSection,
    /// Text in the section that is no list item.
    Text,
    /// A line of a code block.
    Code,
    /// A line of a comment.
    Comment,
    /// The item does not begin with a link.
    NoLink,
    /// The link's text is not closed.
    UnclosedTitle,
    /// The link refers to a definition elsewhere.
    ReferenceLink,
    /// No parenthesis follows the link's text.
    NoDestination,
    /// The parenthesis with the address is not closed, or holds something else.
    Destination,
    /// The link has no text.
    NoTitle,
    /// The link has no address.
    NoAddress,
    /// No colon follows the link.
    NoColon,
    /// Nothing follows the colon.
    NoNotes,
    /// The notes' first sentence has no `for`.
    NoAudience,
    /// No network's name stands before the type.
    NoNetwork,
    /// No type stands before `for`.
    NoType,
    /// The audience is none of `people`, `agents`, `people and agents`.
    Audience,
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSection => "no section `## Communications`",
            Self::SecondSection => "the section is there a second time",
            Self::LikeSection => "the section's heading is spelled `## Communications`",
            Self::Text => "not a list item",
            Self::Code => "code, not a list item",
            Self::Comment => "a comment, not a list item",
            Self::NoLink => "the item does not begin with a link",
            Self::UnclosedTitle => "the bracket around the link's text is not closed",
            Self::ReferenceLink => "the link refers to a definition, the address has to be in it",
            Self::NoDestination => "no address in parentheses directly after the link's text",
            Self::Destination => "the address does not end at a parenthesis",
            Self::NoTitle => "the link has no text",
            Self::NoAddress => "the link has no address",
            Self::NoColon => "no colon follows the link",
            Self::NoNotes => "no notes follow the colon",
            Self::NoAudience => "the notes do not say whom the address is for",
            Self::NoNetwork => "no network's name stands before the type",
            Self::NoType => "no type of address stands before `for`",
            Self::Audience => "the audience is people, agents, or people and agents",
        })
    }
}

impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} (byte {})", self.line, self.kind, self.offset)
    }
}

impl fmt::Debug for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Problem")
            .field("kind", &self.kind)
            .field("line", &self.line)
            .field("offset", &self.offset)
            .field("len", &self.text.len())
            .finish()
    }
}

/// A heading inside the section.
///
/// ```
/// use agentwire_core::discovery::llms::{Communications, Item};
/// let Some(Item::Heading(heading)) = Communications::new("## Communications\n### Support").next()
/// else {
///     panic!()
/// };
/// assert_eq!((heading.level, heading.title.raw(), heading.line), (3, "Support", 2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Heading<'a> {
    /// 3 to 6.
    pub level: u8,
    /// Its text.
    pub title: Text<'a>,
    /// Its line; the first is 1.
    pub line: usize,
    /// Where its line begins, in bytes from the start of the file.
    pub offset: usize,
}

/// What the section holds.
///
/// ```
/// use agentwire_core::discovery::llms::{Communications, Item};
/// let file = "## Communications\n- [a](b): Web group for people.\nAnd so on.\n\nText.";
/// let items: Vec<_> = Communications::new(file).collect();
/// assert!(matches!(items[..], [Item::Entry(_), Item::Problem(_)]));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "entries are what there is, and nothing is stored")]
pub enum Item<'a> {
    /// An address.
    Entry(Entry<'a>),
    /// A heading below the section's.
    Heading(Heading<'a>),
    /// A line that does not fit.
    Problem(Problem<'a>),
}

/// What stands in the section `## Communications` of a file, in order.
///
/// `Debug` shows where the reader is, never the file.
///
/// ```
/// use agentwire_core::discovery::llms::{Communications, Item};
///
/// let file = "# Acme\n\n## Communications\n\n\
///     - [News](https://smp.example/c#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY): \
///     SimpleX updates for people and agents, weekly. Product news.\n\n\
///     ## Docs\n\n\
///     - [Manual](https://acme.example/manual.md): How it works\n";
/// let mut items = Communications::new(file);
/// assert!(matches!(items.next(), Some(Item::Entry(entry)) if entry.title() == *"News"));
/// assert!(items.next().is_none());
/// ```
#[derive(Clone)]
pub struct Communications<'a> {
    lines: Lines<'a>,
    open: Open,
    /// Whether the section has begun and has not ended.
    inside: bool,
    /// Whether it has begun once.
    found: bool,
    /// Whether a list item came last, with blank lines at most since.
    in_list: bool,
    ended: bool,
}

/// A block that goes on over lines that are not looked at.
#[derive(Clone, Copy)]
enum Open {
    None,
    Code(Fence),
    Comment,
}

impl<'a> Communications<'a> {
    /// What stands in this file's section.
    pub fn new(file: &'a str) -> Self {
        let at = if file.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self {
            lines: Lines { file, at, number: 0 },
            open: Open::None,
            inside: false,
            found: false,
            in_list: false,
            ended: false,
        }
    }

    /// The entries alone, without what does not fit.
    pub fn entries(self) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        self.filter_map(|item| match item {
            Item::Entry(entry) => Some(entry),
            _ => None,
        })
    }

    /// A line that does not fit, if it is in the section.
    fn problem(&self, kind: ProblemKind, line: Line<'a>) -> Option<Item<'a>> {
        let text = line.text.trim();
        let offset = line.offset.saturating_add(offset_in(line.text, text));
        let problem = Problem { kind, line: line.number, offset, text };
        (self.inside && !text.is_empty()).then_some(Item::Problem(problem))
    }

    fn heading(&mut self, level: u8, title: &'a str, line: Line<'a>) -> Option<Item<'a>> {
        self.in_list = false;
        let problem = |kind| {
            let text = line.text;
            Some(Item::Problem(Problem { kind, line: line.number, offset: line.offset, text }))
        };
        if level == 2 && title == SECTION {
            let again = self.found;
            (self.inside, self.found) = (true, true);
            return if again { problem(ProblemKind::SecondSection) } else { None };
        }
        if self.inside && level > 2 {
            let title = Text::new(title);
            let (line, offset) = (line.number, line.offset);
            return Some(Item::Heading(Heading { level, title, line, offset }));
        }
        if level <= 2 {
            self.inside = false;
        }
        if title.eq_ignore_ascii_case(SECTION) { problem(ProblemKind::LikeSection) } else { None }
    }

    /// An item with the lines in which it goes on.
    fn item(&mut self, first: Line<'a>, start: usize) -> Item<'a> {
        let mut end = first.end();
        loop {
            let mut ahead = self.lines.clone();
            let Some(line) = ahead.next() else { break };
            let goes_on = match Block::of(line.text) {
                Block::Text => !line.text.trim_start().starts_with('>'),
                Block::Indented => true,
                _ => false,
            };
            if !goes_on {
                break;
            }
            end = line.end();
            self.lines = ahead;
        }
        let offset = first.offset.saturating_add(start);
        let source = self.lines.file.get(offset..end).unwrap_or_default();
        match Entry::parse(source, offset, first.number) {
            Ok(entry) => Item::Entry(entry),
            Err((kind, place)) => {
                let ends = line_ends(source.get(..place).unwrap_or_default());
                Item::Problem(Problem {
                    kind,
                    line: first.number.saturating_add(ends),
                    offset: offset.saturating_add(place),
                    text: source,
                })
            }
        }
    }

    /// Takes a line, and the lines that belong to it; what it gives, if anything.
    fn take(&mut self, line: Line<'a>) -> Option<Item<'a>> {
        match self.open {
            Open::Code(fence) => {
                if fence.is_closed_by(line.text) {
                    self.open = Open::None;
                }
                return self.problem(ProblemKind::Code, line);
            }
            Open::Comment => {
                if ends_comment(line.text) {
                    self.open = Open::None;
                }
                return self.problem(ProblemKind::Comment, line);
            }
            Open::None => {}
        }
        match Block::of(line.text) {
            Block::Blank => None,
            Block::Heading(level, title) => self.heading(level, title, line),
            Block::Fence(fence) => {
                self.open = Open::Code(fence);
                self.problem(ProblemKind::Code, line)
            }
            Block::Comment(closed) => {
                if !closed {
                    self.open = Open::Comment;
                }
                self.problem(ProblemKind::Comment, line)
            }
            Block::Rule => {
                self.in_list = false;
                None
            }
            Block::Item(_, deep) if deep && !self.in_list => self.problem(ProblemKind::Code, line),
            Block::Item(start, _) => {
                self.in_list = true;
                if self.inside { Some(self.item(line, start)) } else { None }
            }
            Block::Indented if !self.in_list => self.problem(ProblemKind::Code, line),
            Block::Indented => self.problem(ProblemKind::Text, line),
            Block::Text => {
                let mut ahead = self.lines.clone();
                if let Some(level) = ahead.next().and_then(|next| underline(next.text)) {
                    self.lines = ahead;
                    return self.heading(level, line.text.trim(), line);
                }
                // Text that is indented still belongs to the list.
                self.in_list &= line.text.starts_with([' ', '\t']);
                self.problem(ProblemKind::Text, line)
            }
        }
    }
}

impl<'a> Iterator for Communications<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        while let Some(line) = self.lines.next() {
            if let Some(item) = self.take(line) {
                return Some(item);
            }
        }
        if self.ended || self.found {
            return None;
        }
        self.ended = true;
        let (line, offset) = (self.lines.number, self.lines.file.len());
        Some(Item::Problem(Problem { kind: ProblemKind::NoSection, line, offset, text: "" }))
    }
}

impl core::iter::FusedIterator for Communications<'_> {}

impl fmt::Debug for Communications<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communications")
            .field("offset", &self.lines.at)
            .field("line", &self.lines.number)
            .field("len", &self.lines.file.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
