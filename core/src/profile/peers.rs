//! The peers that a channel, a group or an address is made for, and how often a channel is updated.

use core::fmt;

use super::error::{DeclarationError, DeclarationErrorKind, Part};
use super::protocols::{member, typed};
use crate::json::{Object, Str, Value};

/// The type of a peer: a value of a profile's `peerType`.
///
/// ```
/// use agentwire_core::profile::PeerType;
/// assert_eq!(PeerType::named("agent"), Some(PeerType::Agent));
/// assert_eq!(PeerType::named("Agent"), None);
/// assert_eq!(PeerType::Human.name(), "human");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum PeerType {
    /// A person.
    Human,
    /// A bot of the bot library.
    Bot,
    /// A business.
    Business,
    /// An AI agent.
    Agent,
}

impl PeerType {
    /// Every type, in the document's order.
    pub const ALL: [Self; 4] = [Self::Human, Self::Bot, Self::Business, Self::Agent];

    /// The type with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|peer| peer.name() == name)
    }

    /// The type that a JSON string names.
    pub(super) fn of(text: Str<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|peer| text == *peer.name())
    }

    /// How it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Bot => "bot",
            Self::Business => "business",
            Self::Agent => "agent",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Human => 1,
            Self::Bot => 2,
            Self::Business => 4,
            Self::Agent => 8,
        }
    }
}

impl fmt::Display for PeerType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of peer types. The default is that of `audience` and `serves`: people alone.
///
/// ```
/// use agentwire_core::profile::{PeerType, PeerTypes};
/// let both = PeerTypes::new(&[PeerType::Agent, PeerType::Human]);
/// assert!(both.contains(PeerType::Agent) && !both.contains(PeerType::Bot));
/// assert!(both.iter().eq([PeerType::Human, PeerType::Agent]));
/// assert!(PeerTypes::default().iter().eq([PeerType::Human]));
/// // A value in the record takes precedence over a website's.
/// assert_eq!(PeerTypes::effective(None, Some(both)), both);
/// assert_eq!(PeerTypes::effective(Some(PeerTypes::EMPTY), Some(both)), PeerTypes::EMPTY);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PeerTypes(u8);

impl PeerTypes {
    /// Nobody.
    pub const EMPTY: Self = Self(0);

    /// What holds where nothing is declared: `["human"]`.
    pub const HUMAN: Self = Self(PeerType::Human.bit());

    /// These types.
    pub fn new(peers: &[PeerType]) -> Self {
        peers.iter().copied().fold(Self::EMPTY, Self::with)
    }

    /// This type too.
    #[must_use]
    pub const fn with(self, peer: PeerType) -> Self {
        Self(self.0 | peer.bit())
    }

    /// Whether the type is among them.
    pub const fn contains(self, peer: PeerType) -> bool {
        self.0 & peer.bit() != 0
    }

    /// Takes the type out; whether it was among them.
    pub(super) fn take(&mut self, peer: PeerType) -> bool {
        let there = self.contains(peer);
        self.0 &= !peer.bit();
        there
    }

    /// The types, in the document's order.
    pub fn iter(self) -> impl Iterator<Item = PeerType> {
        PeerType::ALL.into_iter().filter(move |peer| self.contains(*peer))
    }

    /// What holds for a channel, a group or an address: the value in its record or link data,
    /// else what a website says of it, else the default ("The values in the public group record
    /// and in the address link data take precedence over the values on a website").
    pub fn effective(declared: Option<Self>, website: Option<Self>) -> Self {
        declared.or(website).unwrap_or_default()
    }

    /// Reads the member `name` of a declaration. Unknown values are ignored.
    fn read(
        text: &str,
        object: Object<'_>,
        name: &str,
        part: Part,
    ) -> Result<Option<Self>, DeclarationError> {
        let Some(value) = member(text, object, name)? else { return Ok(None) };
        let mut peers = Self::EMPTY;
        for value in typed(text, value, part, Value::elements)? {
            let value = typed(text, value, Part::PeerType, Value::as_str)?;
            peers = PeerType::of(value).map_or(peers, |peer| peers.with(peer));
        }
        Ok(Some(peers))
    }
}

impl Default for PeerTypes {
    fn default() -> Self {
        Self::HUMAN
    }
}

/// How often a channel is updated: a `changefreq` value of the Sitemaps protocol.
///
/// ```
/// use agentwire_core::profile::ChangeFrequency;
/// assert_eq!(ChangeFrequency::named("weekly"), Some(ChangeFrequency::Weekly));
/// assert_eq!(ChangeFrequency::named("biweekly"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_enums)] // The schema's enumeration is closed.
pub enum ChangeFrequency {
    /// With every look.
    Always,
    /// Every hour.
    Hourly,
    /// Every day.
    Daily,
    /// Every week.
    Weekly,
    /// Every month.
    Monthly,
    /// Every year.
    Yearly,
    /// Not any more.
    Never,
}

impl ChangeFrequency {
    /// Every frequency, in the document's order.
    pub const ALL: [Self; 7] = [
        Self::Always,
        Self::Hourly,
        Self::Daily,
        Self::Weekly,
        Self::Monthly,
        Self::Yearly,
        Self::Never,
    ];

    /// The frequency with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|frequency| frequency.name() == name)
    }

    /// The frequency with this name in any letter case, as people write it.
    pub fn named_in_any_case(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|frequency| name.eq_ignore_ascii_case(frequency.name()))
    }

    /// How it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Hourly => "hourly",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Yearly => "yearly",
            Self::Never => "never",
        }
    }
}

impl fmt::Display for ChangeFrequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a group is.
///
/// ```
/// use agentwire_core::profile::{GroupKind, PublicGroup};
/// let text = r#"{"changeFrequency":"daily"}"#;
/// assert!(PublicGroup::parse(GroupKind::Channel, text).unwrap().change_frequency.is_some());
/// assert!(PublicGroup::parse(GroupKind::Group, text).unwrap().change_frequency.is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // The document knows these two.
pub enum GroupKind {
    /// A channel: its owners publish.
    Channel,
    /// A public group: its members converse.
    Group,
}

/// What the public group record declares, `publicGroup` of the group profile.
///
/// ```
/// use agentwire_core::profile::{ChangeFrequency, GroupKind, PeerType, PublicGroup};
/// let text = r#"{"audience":["agent","robot"],"changeFrequency":"weekly","groupType":"channel"}"#;
/// let record = PublicGroup::parse(GroupKind::Channel, text).unwrap();
/// assert!(record.audience().iter().eq([PeerType::Agent]));
/// assert_eq!(record.change_frequency, Some(ChangeFrequency::Weekly));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct PublicGroup {
    /// The peer types it is made for, if the record says so; unknown ones are left out.
    pub audience: Option<PeerTypes>,
    /// How often it is updated, if it is a channel whose record says so with a known value.
    pub change_frequency: Option<ChangeFrequency>,
}

impl PublicGroup {
    /// Reads a record. Of a group that is no channel, `changeFrequency` is left alone.
    ///
    /// # Errors
    /// [`DeclarationError`] when it is not a JSON object, or a field does not have the type that
    /// the document's schema gives.
    pub fn parse(kind: GroupKind, record: &str) -> Result<Self, DeclarationError> {
        let object = whole(record)?;
        let audience = PeerTypes::read(record, object, "audience", Part::Audience)?;
        let change_frequency = match kind {
            GroupKind::Channel => frequency(record, object)?,
            GroupKind::Group => None,
        };
        Ok(Self { audience, change_frequency })
    }

    /// The peer types it is made for; people where the record does not say.
    pub fn audience(&self) -> PeerTypes {
        self.audience.unwrap_or_default()
    }
}

fn frequency(text: &str, object: Object<'_>) -> Result<Option<ChangeFrequency>, DeclarationError> {
    let Some(value) = member(text, object, "changeFrequency")? else { return Ok(None) };
    let value = typed(text, value, Part::ChangeFrequency, Value::as_str)?;
    Ok(ChangeFrequency::ALL.into_iter().find(|frequency| value == *frequency.name()))
}

/// What the data of a contact address link declares.
///
/// ```
/// use agentwire_core::profile::{AddressData, PeerType};
/// let data = AddressData::parse(r#"{"profile":{},"business":true,"serves":["agent"]}"#).unwrap();
/// assert!(data.business && data.serves().contains(PeerType::Agent));
/// assert!(AddressData::parse("{}").unwrap().serves().contains(PeerType::Human));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct AddressData {
    /// The peer types the address is made for, if the data says so; unknown ones are left out.
    pub serves: Option<PeerTypes>,
    /// Whether it is a business address.
    pub business: bool,
}

impl AddressData {
    /// Reads the data.
    ///
    /// # Errors
    /// [`DeclarationError`] when it is not a JSON object, or `serves` is not an array of strings.
    pub fn parse(data: &str) -> Result<Self, DeclarationError> {
        let object = whole(data)?;
        let serves = PeerTypes::read(data, object, "serves", Part::Serves)?;
        // The document only says what the field marks, so anything but `true` marks nothing.
        let business = member(data, object, "business")?.and_then(|value| value.as_bool());
        Ok(Self { serves, business: business.unwrap_or(false) })
    }

    /// The peer types the address is made for; people where the data does not say.
    pub fn serves(&self) -> PeerTypes {
        self.serves.unwrap_or_default()
    }
}

/// A text that is one object.
pub(super) fn whole(text: &str) -> Result<Object<'_>, DeclarationError> {
    Object::parse(text).map_err(|error| DeclarationError {
        kind: DeclarationErrorKind::Json(error.kind),
        offset: error.offset,
    })
}
