//! SimpleX links, told apart by path and data and never by host (simplexmq, `Agent/Protocol.hs`).
//!
//! ```text
//! short   https://<host>/<letter>#[<link id>/]<key>[?h=<hosts>][&p=<port>][&c=<key hash>]
//!         simplex:/<letter>#[<link id>/]<key>?h=<hosts>[&p=<port>][&c=<key hash>]
//! full    <scheme>/contact#/?v=<versions>&smp=<queues>[&data=<json>][&rk=<ratchet keys>]
//!         <scheme>/invitation#/?v=<versions>&smp=<queues>&e2e=<ratchet keys>
//! ```
//!
//! The host in a link is the router that holds the address, and that can have any domain; of a
//! full link it is a web page that says how to open it. So what a link is for shows in its path:
//!
//! | path | kind |
//! |---|---|
//! | `/a` | [`Contact`](LinkKind::Contact): a contact address |
//! | `/c` | [`Channel`](LinkKind::Channel) |
//! | `/g` | [`Group`](LinkKind::Group) |
//! | `/r` | [`Relay`](LinkKind::Relay): a router of messages for channels |
//! | `/i` | [`Invitation`](LinkKind::Invitation), for one contact; it alone has a link id |
//! | `/contact` | [`Group`](LinkKind::Group) if `data` has the type `group`, else `Contact` |
//! | `/invitation` | `Invitation` |
//!
//! Full links cannot be channels' or relays'. Whether a contact address is a business is not in
//! the link but in the data behind it.
//!
//! # What is read, and the normal form
//!
//! | written | read as |
//! |---|---|
//! | `HTTPS:`, a host in capitals | the same in lower case |
//! | `/A`, `/C`, `/G`, `/R` | the lower-case letter; `/I` is refused, as the chat core refuses it |
//! | `/a/#`, `/contact/#` | without the slash |
//! | keys with the padding of base64 | without it |
//! | keys whose last character has bits to spare that are set | an error: no key is written in two ways |
//! | `%xx` and `+` in a query | the byte, the space |
//! | a parameter that is not known | kept, behind the known ones |
//! | a port beside the host of a short link | an error: there it stands in `p` |
//!
//! [`Link::write`] gives the one form that all of these have in common: the scheme `simplex:`,
//! with the host of a short link as the first of `h`. Two links lead to the same place if their
//! normal forms are equal.

use core::fmt;

use crate::json::{BufferTooSmall, Object, Writer};

/// The length of a short link's key, in bytes.
pub const KEY_LEN: usize = 32;

/// The longest `data` of a full link that is looked into, in bytes. The chat core's own have less
/// than 60.
pub const MAX_DATA_LEN: usize = 512;

/// What a link leads to.
///
/// ```
/// use agentwire_core::discovery::link::{Link, LinkKind};
/// let text = "https://any.example/g#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
/// assert_eq!(Link::parse(text).unwrap().kind(), LinkKind::Group);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LinkKind {
    /// A contact address.
    Contact,
    /// An invitation for one contact.
    Invitation,
    /// A group.
    Group,
    /// A channel.
    Channel,
    /// A relay of channels.
    Relay,
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl LinkKind {
    /// The kind's name, as the chat core's API has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contact => "contact",
            Self::Invitation => "invitation",
            Self::Group => "group",
            Self::Channel => "channel",
            Self::Relay => "relay",
        }
    }
}

/// Whether a link names its data or carries them.
///
/// ```
/// use agentwire_core::discovery::link::{Link, LinkForm};
/// let text = "simplex:/contact#/?v=2-7&smp=smp%3A%2F%2Fkey%40host%2Fqueue";
/// assert_eq!(Link::parse(text).unwrap().form(), LinkForm::Full);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(clippy::exhaustive_enums)]
pub enum LinkForm {
    /// A key; the data lie encrypted on a router.
    Short,
    /// The queues and keys themselves.
    Full,
}

/// A link's scheme.
///
/// ```
/// use agentwire_core::discovery::link::{Link, Scheme};
/// let text = "simplex:/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY?h=smp.example";
/// assert_eq!(Link::parse(text).unwrap().scheme(), Scheme::Simplex);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(clippy::exhaustive_enums)]
pub enum Scheme {
    /// `simplex:`, which a SimpleX client opens.
    Simplex,
    /// `https:`, which a browser opens as well.
    Https,
}

/// A SimpleX link, as it was written.
///
/// `Debug` shows kind and form, never keys: who has a link can use it.
///
/// ```
/// use agentwire_core::discovery::link::{Link, LinkKind};
///
/// let text = "https://SMP.example/A/#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=?c=1234-w==";
/// let link = Link::parse(text).unwrap();
/// assert_eq!(link.kind(), LinkKind::Contact);
/// let mut buffer = [0; 128];
/// assert_eq!(
///     link.write(&mut buffer).unwrap(),
///     "simplex:/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY?h=smp.example&c=1234-w"
/// );
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Link<'a> {
    kind: LinkKind,
    host: Option<&'a str>,
    body: Body<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Body<'a> {
    Short { id: Option<&'a str>, key: &'a str, query: Query<'a> },
    Full { query: Query<'a> },
}

/// Why a text is not a SimpleX link, and the byte offset where that shows.
///
/// ```
/// use agentwire_core::discovery::link::{Link, LinkErrorKind};
/// let error = Link::parse("https://example.com/about").unwrap_err();
/// assert_eq!((error.kind, error.offset), (LinkErrorKind::Path, 19));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct LinkError {
    /// What is wrong.
    pub kind: LinkErrorKind,
    /// Bytes from the start of the text.
    pub offset: usize,
}

/// What is wrong with a link.
///
/// ```
/// use agentwire_core::discovery::link::{Link, LinkErrorKind};
/// let kind = |text| Link::parse(text).unwrap_err().kind;
/// assert_eq!(kind("mailto:support@acme.example"), LinkErrorKind::Scheme);
/// assert_eq!(kind("https://smp.example/a#MDEy"), LinkErrorKind::KeyLength { len: 3 });
/// assert_eq!(kind("simplex:/name#privacy"), LinkErrorKind::Name);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum LinkErrorKind {
    /// White space, a control character or one that is not ASCII.
    Byte(u8),
    /// Neither `simplex:` nor `https://`.
    Scheme,
    /// No host follows `https://`, or a host in `h` is empty.
    NoHost,
    /// A byte that a host cannot have; of a short link that includes a port's colon.
    HostByte(u8),
    /// No path of a SimpleX link.
    Path,
    /// A name, which the module [`name`](super::name) reads.
    Name,
    /// No `#` follows the path.
    NoFragment,
    /// An invitation without a link id.
    NoLinkId,
    /// A byte that base64url does not have.
    Base64Byte(u8),
    /// A key or an id whose length base64 cannot have, or that is empty.
    Base64Length,
    /// Padding that does not fit the length.
    Base64Padding,
    /// Bits at the end that no byte uses, and that are set.
    Base64Bits,
    /// A key that has not [`KEY_LEN`] bytes.
    KeyLength {
        /// The length in bytes.
        len: usize,
    },
    /// A short link in the scheme `simplex:` that names no router in `h`.
    NoServer,
    /// No `/?` follows the `#` of a full link.
    NoQuery,
    /// A parameter that has to be there, or that is empty.
    Missing(Parameter),
    /// A parameter that is there twice.
    Repeated(Parameter),
    /// `%` without two hexadecimal digits.
    Percent,
    /// A port that is none: 1 to 65535.
    Port,
    /// Versions other than a number, or two with a hyphen.
    Versions,
    /// A queue that does not begin with `smp://`.
    Queue,
    /// `data` longer than [`MAX_DATA_LEN`].
    DataTooLong,
}

/// A parameter of a link's query.
///
/// ```
/// use agentwire_core::discovery::link::{Link, LinkErrorKind, Parameter};
/// let error = Link::parse("simplex:/contact#/?v=2-7").unwrap_err();
/// assert_eq!(error.kind, LinkErrorKind::Missing(Parameter::Queues));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Parameter {
    /// `h`: hosts of the router.
    Hosts,
    /// `p`: its port.
    Port,
    /// `c`: the hash of its certificate's key.
    KeyHash,
    /// `v`: versions of the agents' protocol.
    Versions,
    /// `smp`: queues.
    Queues,
    /// `e2e`: an invitation's ratchet keys.
    InvitationKeys,
    /// `data`: what the application adds.
    Data,
    /// `rk`: a contact address's ratchet keys.
    RatchetKeys,
}

impl Parameter {
    const SHORT: [Self; 3] = [Self::Hosts, Self::Port, Self::KeyHash];
    const FULL: [Self; 5] =
        [Self::Versions, Self::Queues, Self::InvitationKeys, Self::Data, Self::RatchetKeys];

    /// The parameter's name in a link.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hosts => "h",
            Self::Port => "p",
            Self::KeyHash => "c",
            Self::Versions => "v",
            Self::Queues => "smp",
            Self::InvitationKeys => "e2e",
            Self::Data => "data",
            Self::RatchetKeys => "rk",
        }
    }
}

impl fmt::Display for LinkErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(byte) => write!(f, "byte 0x{byte:02x}, which no link has"),
            Self::Scheme => f.write_str("neither simplex: nor https:"),
            Self::NoHost => f.write_str("no host"),
            Self::HostByte(byte) => write!(f, "byte 0x{byte:02x} in a host"),
            Self::Path => f.write_str("the path is no SimpleX link's"),
            Self::Name => f.write_str("a name, not a link"),
            Self::NoFragment => f.write_str("no # follows the path"),
            Self::NoLinkId => f.write_str("an invitation without its link id"),
            Self::Base64Byte(byte) => write!(f, "byte 0x{byte:02x}, which base64url does not have"),
            Self::Base64Length => f.write_str("a length that base64 cannot have"),
            Self::Base64Padding => f.write_str("padding that does not fit the length"),
            Self::Base64Bits => f.write_str("bits are set that belong to no byte"),
            Self::KeyLength { len } => write!(f, "a key of {len} bytes, it needs {KEY_LEN}"),
            Self::NoServer => f.write_str("a short link without a router's host"),
            Self::NoQuery => f.write_str("no /? follows the #"),
            Self::Missing(parameter) => write!(f, "no {}", parameter.name()),
            Self::Repeated(parameter) => write!(f, "{} is there twice", parameter.name()),
            Self::Percent => f.write_str("% without two hexadecimal digits"),
            Self::Port => f.write_str("a port is a number from 1 to 65535"),
            Self::Versions => f.write_str("versions are a number, or two with a hyphen"),
            Self::Queue => f.write_str("a queue that does not begin with smp://"),
            Self::DataTooLong => write!(f, "data of more than {MAX_DATA_LEN} bytes"),
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a SimpleX link: {} (byte {})", self.kind, self.offset)
    }
}

impl core::error::Error for LinkError {}

const fn fail<T>(kind: LinkErrorKind, offset: usize) -> Result<T, LinkError> {
    Err(LinkError { kind, offset })
}

/// A part of a link, and where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Span<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Span<'a> {
    fn new(text: &'a str, offset: usize) -> Self {
        Self { text, offset }
    }

    fn end(&self) -> usize {
        self.offset.saturating_add(self.text.len())
    }

    /// What follows the first `bytes`.
    fn after(&self, bytes: usize) -> Self {
        Self::new(self.text.get(bytes..).unwrap_or_default(), self.offset.saturating_add(bytes))
    }

    fn before(&self, bytes: usize) -> Self {
        Self::new(self.text.get(..bytes).unwrap_or_default(), self.offset)
    }

    /// The parts around the first of these characters.
    fn split(&self, char: char) -> Option<(Self, Self)> {
        let place = self.text.find(char)?;
        Some((self.before(place), self.after(place.saturating_add(1))))
    }
}

impl<'a> Link<'a> {
    /// Reads a link.
    ///
    /// # Errors
    /// [`LinkError`] with the place where the text stops being a link.
    pub fn parse(text: &'a str) -> Result<Self, LinkError> {
        if let Some((place, byte)) =
            text.bytes().enumerate().find(|(_, byte)| !byte.is_ascii_graphic())
        {
            return fail(LinkErrorKind::Byte(byte), place);
        }
        let whole = Span::new(text, 0);
        let (authority, rest) = if starts_with(text, "simplex:") {
            (None, whole.after("simplex:".len()))
        } else if starts_with(text, "https://") {
            let rest = whole.after("https://".len());
            let end = rest.text.find(['/', '#', '?']).unwrap_or(rest.text.len());
            (Some(rest.before(end)), rest.after(end))
        } else {
            return fail(LinkErrorKind::Scheme, 0);
        };
        if authority.is_some_and(|host| host.text.is_empty()) {
            return fail(LinkErrorKind::NoHost, rest.offset);
        }
        let (path, fragment) = match rest.split('#') {
            Some((path, fragment)) => (path, Some(fragment)),
            None => (rest, None),
        };
        let step = path.text.strip_prefix('/').unwrap_or_default();
        let step = step.strip_suffix('/').unwrap_or(step);
        let (full, kind) = match step {
            "contact" => (true, LinkKind::Contact),
            "invitation" => (true, LinkKind::Invitation),
            "a" | "A" => (false, LinkKind::Contact),
            "c" | "C" => (false, LinkKind::Channel),
            "g" | "G" => (false, LinkKind::Group),
            "r" | "R" => (false, LinkKind::Relay),
            "i" => (false, LinkKind::Invitation),
            _ if authority.is_none() && step.starts_with("name") => {
                return fail(LinkErrorKind::Name, path.offset);
            }
            _ => return fail(LinkErrorKind::Path, path.offset),
        };
        if let Some(host) = authority {
            check_authority(host, full)?;
        }
        let Some(fragment) = fragment else {
            return fail(LinkErrorKind::NoFragment, path.end());
        };
        let host = authority.map(|host| host.text);
        if full {
            Self::parse_full(kind, host, fragment)
        } else {
            Self::parse_short(kind, host, fragment)
        }
    }

    fn parse_short(
        kind: LinkKind,
        host: Option<&'a str>,
        fragment: Span<'a>,
    ) -> Result<Self, LinkError> {
        let (head, query) = match fragment.split('?') {
            Some((head, query)) => (head, query),
            None => (fragment, Span::new("", fragment.end())),
        };
        let (id, key) = if kind == LinkKind::Invitation {
            let Some((id, key)) = head.split('/') else {
                return fail(LinkErrorKind::NoLinkId, head.end());
            };
            (Some(base64(id)?.0), key)
        } else {
            (None, head)
        };
        let (unpadded, len) = base64(key)?;
        if len != KEY_LEN {
            return fail(LinkErrorKind::KeyLength { len }, key.offset);
        }
        let query = Query(query);
        let [hosts, port, key_hash] = query.known(Parameter::SHORT)?;
        if let Some(hosts) = hosts {
            check_hosts(hosts)?;
        } else if host.is_none() {
            return fail(LinkErrorKind::NoServer, query.0.end());
        }
        if let Some(port) = port {
            number(port)?;
        }
        if let Some(hash) = key_hash {
            // Its padding may be escaped; nothing else of it needs to be.
            let end = hash.text.find('%').unwrap_or(hash.text.len());
            let (escaped, padding) = (hash.before(end), hash.after(end));
            if !matches!(padding.text, "" | "%3D" | "%3d" | "%3D%3D" | "%3d%3d") {
                return fail(LinkErrorKind::Base64Byte(b'%'), padding.offset);
            }
            base64(escaped)?;
        }
        Ok(Self { kind, host, body: Body::Short { id, key: unpadded, query } })
    }

    fn parse_full(
        kind: LinkKind,
        host: Option<&'a str>,
        fragment: Span<'a>,
    ) -> Result<Self, LinkError> {
        if !fragment.text.starts_with("/?") {
            return fail(LinkErrorKind::NoQuery, fragment.offset);
        }
        let query = Query(fragment.after(2));
        let [versions, queues, invitation_keys, data, ratchet_keys] =
            query.known(Parameter::FULL)?;
        let required = |value: Option<Span<'a>>, parameter| match value {
            Some(value) if !value.text.is_empty() => Ok(value),
            Some(value) => fail(LinkErrorKind::Missing(parameter), value.offset),
            None => fail(LinkErrorKind::Missing(parameter), query.0.end()),
        };
        check_versions(required(versions, Parameter::Versions)?)?;
        check_queues(required(queues, Parameter::Queues)?)?;
        if kind == LinkKind::Invitation {
            required(invitation_keys, Parameter::InvitationKeys)?;
        }
        if ratchet_keys.is_some() {
            required(ratchet_keys, Parameter::RatchetKeys)?;
        }
        let kind = match (kind, data) {
            (LinkKind::Contact, Some(data)) if is_group(data)? => LinkKind::Group,
            _ => kind,
        };
        Ok(Self { kind, host, body: Body::Full { query } })
    }

    /// What it leads to.
    pub fn kind(&self) -> LinkKind {
        self.kind
    }

    /// Whether it is short or full.
    pub fn form(&self) -> LinkForm {
        match self.body {
            Body::Short { .. } => LinkForm::Short,
            Body::Full { .. } => LinkForm::Full,
        }
    }

    /// Its scheme.
    pub fn scheme(&self) -> Scheme {
        if self.host.is_some() { Scheme::Https } else { Scheme::Simplex }
    }

    /// The host of a link in the scheme `https:`, as it was written. It says nothing of what the
    /// link is.
    pub fn host(&self) -> Option<&'a str> {
        self.host
    }

    /// Whether a full contact or group link carries ratchet keys (`rk`), without which its address
    /// takes no Service RPC requests. `None` where the link does not say: short links have them in
    /// their data, and invitations have others.
    ///
    /// ```
    /// use agentwire_core::discovery::link::Link;
    /// let text = "simplex:/contact#/?v=2-7&smp=smp%3A%2F%2Fkey%40host%2Fqueue&rk=keys";
    /// assert_eq!(Link::parse(text).unwrap().has_ratchet_keys(), Some(true));
    /// ```
    pub fn has_ratchet_keys(&self) -> Option<bool> {
        match self.body {
            Body::Full { query } if self.kind != LinkKind::Invitation => {
                Some(query.get(Parameter::RatchetKeys).is_some())
            }
            _ => None,
        }
    }

    /// Writes the normal form. It is read as the same link, and two links lead to the same place
    /// if their normal forms are equal.
    ///
    /// # Errors
    /// [`BufferTooSmall`]. Three times the link's length and 16 bytes always suffice.
    pub fn write<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, BufferTooSmall> {
        let mut writer = Writer::new(out);
        match self.body {
            Body::Short { id, key, query } => {
                writer.raw("simplex:/").raw(match self.kind {
                    LinkKind::Contact => "a",
                    LinkKind::Channel => "c",
                    LinkKind::Group => "g",
                    LinkKind::Relay => "r",
                    LinkKind::Invitation => "i",
                });
                writer.raw("#");
                if let Some(id) = id {
                    writer.raw(id).raw("/");
                }
                writer.raw(key).raw("?h=");
                self.write_hosts(query, &mut writer);
                if let Some(port) = query.get(Parameter::Port).and_then(|port| number(port).ok()) {
                    writer.raw("&p=").int(i64::from(port));
                }
                if let Some(hash) = query.get(Parameter::KeyHash) {
                    let end = hash.text.find(['=', '%']).unwrap_or(hash.text.len());
                    writer.raw("&c=").raw(hash.before(end).text);
                }
                query.write_others(&Parameter::SHORT, &mut writer);
            }
            Body::Full { query } => {
                let path = match self.kind {
                    LinkKind::Invitation => "simplex:/invitation#/?",
                    _ => "simplex:/contact#/?",
                };
                writer.raw(path);
                let mut separator = "";
                for parameter in Parameter::FULL {
                    if let Some(value) = query.get(parameter) {
                        writer.raw(separator).raw(parameter.name()).raw("=");
                        encode(Decoded::new(value), &mut writer);
                        separator = "&";
                    }
                }
                query.write_others(&Parameter::FULL, &mut writer);
            }
        }
        writer.finish()
    }

    fn write_hosts(&self, query: Query<'a>, writer: &mut Writer<'_>) {
        let mut separator = "";
        if let Some(host) = self.host {
            for byte in host.bytes() {
                encode_byte(byte.to_ascii_lowercase(), writer);
            }
            separator = "%2C";
        }
        let Some(hosts) = query.get(Parameter::Hosts) else { return };
        for host in Hosts(Some(hosts)) {
            // The host of the scheme https: need not be among them, and is first if it is.
            let bytes = || Decoded::new(host).map(|(_, byte)| byte.unwrap_or_default());
            let same = |first: &str| {
                first
                    .bytes()
                    .map(|byte| byte.to_ascii_lowercase())
                    .eq(bytes().map(|byte| byte.to_ascii_lowercase()))
            };
            if self.host.is_some_and(same) {
                continue;
            }
            writer.raw(separator);
            for byte in bytes() {
                encode_byte(byte.to_ascii_lowercase(), writer);
            }
            separator = "%2C";
        }
    }
}

impl fmt::Debug for Link<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("kind", &self.kind)
            .field("form", &self.form())
            .field("scheme", &self.scheme())
            .finish()
    }
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// A name or an address, in brackets if it is one of IPv6. A port only with full links.
fn check_authority(authority: Span<'_>, port: bool) -> Result<(), LinkError> {
    let (host, rest) = if authority.text.starts_with('[') {
        let Some(end) = authority.text.find(']') else {
            return fail(LinkErrorKind::HostByte(b'['), authority.offset);
        };
        let end = end.saturating_add(1);
        (authority.before(end), authority.after(end))
    } else {
        let end = authority.text.find(':').unwrap_or(authority.text.len());
        (authority.before(end), authority.after(end))
    };
    // Only a query is percent-encoded.
    if let Some(place) = host.text.find('%') {
        return fail(LinkErrorKind::HostByte(b'%'), host.offset.saturating_add(place));
    }
    check_host(host)?;
    match rest.text.bytes().next() {
        None => Ok(()),
        Some(b':') if port => number(rest.after(1)).map(drop),
        Some(byte) => fail(LinkErrorKind::HostByte(byte), rest.offset),
    }
}

/// A host's bytes; its `%xx` are read.
fn check_host(host: Span<'_>) -> Result<(), LinkError> {
    if host.text.is_empty() {
        return fail(LinkErrorKind::NoHost, host.offset);
    }
    for (offset, byte) in Decoded::new(host) {
        let Some(byte) = byte else { return fail(LinkErrorKind::Percent, offset) };
        if !(byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte)) {
            return fail(LinkErrorKind::HostByte(byte), offset);
        }
    }
    Ok(())
}

fn check_hosts(hosts: Span<'_>) -> Result<(), LinkError> {
    Hosts(Some(hosts)).try_for_each(check_host)
}

/// A list of hosts, split at commas, which may be escaped.
struct Hosts<'a>(Option<Span<'a>>);

impl<'a> Iterator for Hosts<'a> {
    type Item = Span<'a>;

    fn next(&mut self) -> Option<Span<'a>> {
        let rest = self.0?;
        let comma = Decoded::new(rest).find(|(_, byte)| *byte == Some(b','));
        let Some((offset, _)) = comma else {
            self.0 = None;
            return Some(rest);
        };
        let place = offset.saturating_sub(rest.offset);
        let comma_len = if rest.after(place).text.starts_with(',') { 1 } else { 3 };
        self.0 = Some(rest.after(place.saturating_add(comma_len)));
        Some(rest.before(place))
    }
}

/// A port.
fn number(text: Span<'_>) -> Result<u16, LinkError> {
    let digits = text.text.bytes().all(|byte| byte.is_ascii_digit());
    match text.text.parse() {
        Ok(port @ 1..) if digits => Ok(port),
        _ => fail(LinkErrorKind::Port, text.offset),
    }
}

fn check_versions(versions: Span<'_>) -> Result<(), LinkError> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (first, last) = versions.text.split_once('-').unwrap_or((versions.text, "0"));
    if number(first) && number(last) {
        Ok(())
    } else {
        fail(LinkErrorKind::Versions, versions.offset)
    }
}

/// Queues, split at semicolons.
fn check_queues(queues: Span<'_>) -> Result<(), LinkError> {
    let mut start = queues.offset;
    let mut seen = 0_usize;
    for (offset, byte) in Decoded::new(queues) {
        let Some(byte) = byte else { return fail(LinkErrorKind::Percent, offset) };
        if byte == b';' {
            if seen < SMP.len() {
                return fail(LinkErrorKind::Queue, start);
            }
            // The next queue begins behind the semicolon, be it escaped or not.
            let escaped = queues.after(offset.saturating_sub(queues.offset)).text.starts_with('%');
            start = offset.saturating_add(if escaped { 3 } else { 1 });
            seen = 0;
        } else if seen < SMP.len() {
            if SMP.get(seen) != Some(&byte) {
                return fail(LinkErrorKind::Queue, start);
            }
            seen = seen.saturating_add(1);
        }
    }
    if seen < SMP.len() { fail(LinkErrorKind::Queue, start) } else { Ok(()) }
}

const SMP: &[u8] = b"smp://";

/// Whether the data of a contact link are a group's.
fn is_group(data: Span<'_>) -> Result<bool, LinkError> {
    let mut buffer = [0; MAX_DATA_LEN];
    let mut len: usize = 0;
    for (offset, byte) in Decoded::new(data) {
        let Some(byte) = byte else { return fail(LinkErrorKind::Percent, offset) };
        let Some(slot) = buffer.get_mut(len) else {
            return fail(LinkErrorKind::DataTooLong, data.offset);
        };
        *slot = byte;
        len = len.saturating_add(1);
    }
    // What is not the chat core's own is some other application's: a contact to everybody else.
    let text = buffer.get(..len).and_then(|bytes| core::str::from_utf8(bytes).ok());
    let kind = text.and_then(|text| Object::parse(text).ok()?.str("type").ok()?);
    Ok(kind.is_some_and(|kind| kind.chars().eq("group".chars())))
}

/// Base64url: the text without padding, and how many bytes it stands for.
fn base64(text: Span<'_>) -> Result<(&str, usize), LinkError> {
    let mut last = 0;
    let mut len: usize = 0;
    for byte in text.text.bytes() {
        last = match byte {
            b'A'..=b'Z' => byte.wrapping_sub(b'A'),
            b'a'..=b'z' => byte.wrapping_sub(b'a').wrapping_add(26),
            b'0'..=b'9' => byte.wrapping_sub(b'0').wrapping_add(52),
            b'-' => 62,
            b'_' => 63,
            b'=' => break,
            _ => return fail(LinkErrorKind::Base64Byte(byte), text.offset.saturating_add(len)),
        };
        len = len.saturating_add(1);
    }
    let (digits, padding) = (text.before(len), text.after(len));
    let spare = match len % 4 {
        _ if len == 0 => return fail(LinkErrorKind::Base64Length, text.offset),
        0 => 0,
        2 => 0b1111,
        3 => 0b11,
        _ => return fail(LinkErrorKind::Base64Length, text.offset),
    };
    let full = match len % 4 {
        2 => "==",
        3 => "=",
        _ => "",
    };
    if !padding.text.is_empty() && padding.text != full {
        return fail(LinkErrorKind::Base64Padding, padding.offset);
    }
    if last & spare != 0 {
        return fail(LinkErrorKind::Base64Bits, digits.end().saturating_sub(1));
    }
    Ok((digits.text, (len / 4).saturating_mul(3).saturating_add((len % 4).saturating_sub(1))))
}

/// The parameters behind a question mark.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Query<'a>(Span<'a>);

impl<'a> Query<'a> {
    /// Each parameter's name and value.
    fn parameters(self) -> impl Iterator<Item = (&'a str, Span<'a>)> {
        let mut rest = Some(self.0);
        core::iter::from_fn(move || {
            loop {
                let here = rest?;
                let (parameter, next) = match here.split('&') {
                    Some((parameter, next)) => (parameter, Some(next)),
                    None => (here, None),
                };
                rest = next;
                if !parameter.text.is_empty() {
                    let (name, value) =
                        parameter.split('=').unwrap_or((parameter, Span::new("", parameter.end())));
                    return Some((name.text, value));
                }
            }
        })
    }

    fn get(self, parameter: Parameter) -> Option<Span<'a>> {
        let mut found = self.parameters().filter(|(name, _)| *name == parameter.name());
        found.next().map(|(_, value)| value)
    }

    /// The values of these parameters, none of which is there twice. Every escape is checked.
    fn known<const N: usize>(
        self,
        parameters: [Parameter; N],
    ) -> Result<[Option<Span<'a>>; N], LinkError> {
        let mut values = [None; N];
        for (name, value) in self.parameters() {
            let mut bytes = Decoded::new(value);
            if let Some((offset, _)) = bytes.find(|(_, byte)| byte.is_none()) {
                return fail(LinkErrorKind::Percent, offset);
            }
            let known = parameters.iter().zip(&mut values).find(|(known, _)| known.name() == name);
            if let Some((parameter, place)) = known {
                if place.is_some() {
                    return fail(LinkErrorKind::Repeated(*parameter), value.offset);
                }
                *place = Some(value);
            }
        }
        Ok(values)
    }

    /// Appends the parameters that are not among these.
    fn write_others(self, known: &[Parameter], writer: &mut Writer<'_>) {
        for (name, value) in self.parameters() {
            if !known.iter().any(|known| known.name() == name) {
                writer.raw("&").raw(name).raw("=");
                encode(Decoded::new(value), writer);
            }
        }
    }
}

/// The bytes that a value of a query stands for, each with its place; `None` for a broken escape.
struct Decoded<'a> {
    rest: Span<'a>,
}

impl<'a> Decoded<'a> {
    fn new(value: Span<'a>) -> Self {
        Self { rest: value }
    }
}

impl Iterator for Decoded<'_> {
    type Item = (usize, Option<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let here = self.rest;
        let (byte, len) = match here.text.as_bytes() {
            [] => return None,
            [b'%', high, low, ..] => (hex(*high).zip(hex(*low)), 3),
            [b'%', ..] => (None, 1),
            [b'+', ..] => (Some((2, 0)), 1),
            [byte, ..] => (Some((byte >> 4, byte & 15)), 1),
        };
        let byte = byte.map(|(high, low)| high << 4 | low);
        self.rest = here.after(if byte.is_none() { 1 } else { len });
        Some((here.offset, byte))
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn encode(bytes: Decoded<'_>, writer: &mut Writer<'_>) {
    for (_, byte) in bytes {
        encode_byte(byte.unwrap_or_default(), writer);
    }
}

/// As the chat core writes a value of a query.
fn encode_byte(byte: u8, writer: &mut Writer<'_>) {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        writer.raw(char::from(byte).encode_utf8(&mut [0; 4]));
    } else {
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
        writer.raw("%");
        for value in [byte >> 4, byte & 15] {
            writer.raw(digit(value).to_ascii_uppercase().encode_utf8(&mut [0; 4]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;

    const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
    const FULL: &str = "simplex:/contact#/?v=2-7&smp=smp%3A%2F%2Fkey%40host%2Fqueue";

    fn normal(text: &str) -> String {
        let mut buffer = [0; 1024];
        let written = Link::parse(text).unwrap().write(&mut buffer).unwrap();
        assert!(written.len() <= text.len() * 3 + 16, "{text}");
        let mut again = [0; 1024];
        assert_eq!(Link::parse(written).unwrap().write(&mut again).unwrap(), written);
        assert_eq!(Link::parse(written).unwrap().kind(), Link::parse(text).unwrap().kind());
        written.into()
    }

    fn error(text: &str) -> (LinkErrorKind, usize) {
        let error = Link::parse(text).expect_err(text);
        (error.kind, error.offset)
    }

    #[test]
    fn the_host_of_a_web_link_is_not_percent_encoded() {
        let text = format!("https://smp.ex%41mple/g#{KEY}");
        let error = Link::parse(&text).unwrap_err();
        assert_eq!((error.kind, error.offset), (LinkErrorKind::HostByte(b'%'), 14));
        // In the query it is.
        let text = format!("simplex:/g#{KEY}?h=smp.ex%41mple");
        let mut buffer = [0; 128];
        let normal = Link::parse(&text).unwrap().write(&mut buffer).unwrap();
        assert!(Link::parse(normal).is_ok(), "{normal}");
    }

    #[test]
    fn short_links_are_told_apart_by_their_letter_never_by_host() {
        for host in
            ["smp12.simplex.im", "simplex.chat", "a.example", "channel.c", "[::1]", "1.2.3.4"]
        {
            for (letter, kind) in [
                ("a", LinkKind::Contact),
                ("c", LinkKind::Channel),
                ("g", LinkKind::Group),
                ("r", LinkKind::Relay),
            ] {
                for letter in [letter.into(), letter.to_uppercase()] {
                    for slash in ["", "/"] {
                        let text = format!("https://{host}/{letter}{slash}#{KEY}");
                        let link = Link::parse(&text).unwrap();
                        assert_eq!((link.kind(), link.form()), (kind, LinkForm::Short), "{text}");
                        assert_eq!((link.scheme(), link.host()), (Scheme::Https, Some(host)));
                        assert_eq!(link.has_ratchet_keys(), None);
                        let text = format!("simplex:/{letter}{slash}#{KEY}?h=a.example");
                        assert_eq!(Link::parse(&text).unwrap().kind(), kind);
                    }
                }
            }
            let text = format!("https://{host}/i#MDEy/{KEY}");
            assert_eq!(Link::parse(&text).unwrap().kind(), LinkKind::Invitation);
        }
        assert_eq!(error(&format!("https://a.example/I#MDEy/{KEY}")), (LinkErrorKind::Path, 17));
        assert_eq!(error(&format!("https://a.example/x#{KEY}")), (LinkErrorKind::Path, 17));
        assert_eq!(error(&format!("https://a.example/#{KEY}")), (LinkErrorKind::Path, 17));
        assert_eq!(error(&format!("https://a.example#{KEY}")), (LinkErrorKind::Path, 17));
        assert_eq!(error(&format!("https://a.example/b/a#{KEY}")), (LinkErrorKind::Path, 17));
        assert_eq!(error(&format!("https://a.example/a?b#{KEY}")), (LinkErrorKind::Path, 17));
        assert_eq!(error("https://a.example/a"), (LinkErrorKind::NoFragment, 19));
    }

    #[test]
    fn full_links_are_invitations_contacts_or_groups_by_their_data() {
        assert_eq!(Link::parse(FULL).unwrap().kind(), LinkKind::Contact);
        assert_eq!(Link::parse(FULL).unwrap().form(), LinkForm::Full);
        let kind = |data: &str| Link::parse(&format!("{FULL}&data={data}")).unwrap().kind();
        for data in [
            "%7B%22type%22%3A%22group%22%2C%22groupLinkId%22%3A%22abc%22%7D",
            "{\"type\":\"group\"}",
            "%7b+%22groupLinkId%22%3A1%2C%22type%22%3A%22gr\\u006fup%22%7d",
        ] {
            assert_eq!(kind(data), LinkKind::Group, "{data}");
        }
        for data in ["", "group", "{}", "[]", "{\"type\":\"channel\"}", "{\"type\":1}", "%FF"] {
            assert_eq!(kind(data), LinkKind::Contact, "{data}");
        }
        let invitation = FULL.replace("contact", "invitation");
        for host in ["simplex:", "https://simplex.chat", "https://a.example:8443", "HTTPS://[::1]"]
        {
            let text = format!("{}&e2e=v%3D2", invitation.replace("simplex:", host));
            assert_eq!(Link::parse(&text).unwrap().kind(), LinkKind::Invitation, "{text}");
            assert_eq!(normal(&text), format!("{invitation}&e2e=v%3D2"));
        }
        let missing = LinkErrorKind::Missing;
        assert_eq!(error(&invitation), (missing(Parameter::InvitationKeys), invitation.len()));
        assert_eq!(error(&format!("{invitation}&e2e=")).0, missing(Parameter::InvitationKeys));
        assert_eq!(error("simplex:/contact#/?smp=a"), (missing(Parameter::Versions), 24));
        assert_eq!(error("simplex:/contact#/?v=1"), (missing(Parameter::Queues), 22));
        assert_eq!(error("simplex:/contact#?v=1"), (LinkErrorKind::NoQuery, 17));
        assert_eq!(error("simplex:/contact#"), (LinkErrorKind::NoQuery, 17));
        assert_eq!(error("simplex:/contact"), (LinkErrorKind::NoFragment, 16));
    }

    #[test]
    fn rk_is_what_shows_an_address_with_ratchet_keys() {
        assert_eq!(Link::parse(FULL).unwrap().has_ratchet_keys(), Some(false));
        let text = format!("{FULL}&rk=v%3D2%26k");
        assert_eq!(Link::parse(&text).unwrap().has_ratchet_keys(), Some(true));
        let missing = LinkErrorKind::Missing(Parameter::RatchetKeys);
        assert_eq!(error(&format!("{FULL}&rk=")), (missing, FULL.len() + 4));
        let text = format!("{}&e2e=a&rk=b", FULL.replace("contact", "invitation"));
        assert_eq!(Link::parse(&text).unwrap().has_ratchet_keys(), None);
    }

    #[test]
    fn a_key_has_32_bytes_with_or_without_padding() {
        let link = |key: &str| format!("https://a.example/a#{key}");
        assert_eq!(normal(&link(&format!("{KEY}="))), normal(&link(KEY)));
        assert_eq!(error(&link("")), (LinkErrorKind::Base64Length, 20));
        assert_eq!(error(&link("MDEy")), (LinkErrorKind::KeyLength { len: 3 }, 20));
        // 31, 33 and 34 bytes, and a length that base64 does not have.
        let digits = "A".repeat(64);
        for (count, len) in [(42, 31), (44, 33), (46, 34)] {
            assert_eq!(error(&link(&digits[..count])), (LinkErrorKind::KeyLength { len }, 20));
        }
        assert!(Link::parse(&link(&digits[..43])).is_ok());
        assert_eq!(error(&link(&digits[..45])), (LinkErrorKind::Base64Length, 20));
        assert_eq!(error(&link(&format!("{KEY}=="))), (LinkErrorKind::Base64Padding, 63));
        assert_eq!(error(&link(&format!("{KEY}=A"))), (LinkErrorKind::Base64Padding, 63));
        let bits = format!("{}Z", &KEY[..42]);
        assert_eq!(error(&link(&bits)), (LinkErrorKind::Base64Bits, 62));
        for byte in ['+', '/', '%', '.', '&'] {
            let text = link(&format!("{}{byte}{}", &KEY[..5], &KEY[6..]));
            assert_eq!(error(&text), (LinkErrorKind::Base64Byte(byte as u8), 25));
        }
        assert!(Link::parse(&link(&KEY.replace('M', "-").replace('j', "_"))).is_ok());
    }

    #[test]
    fn an_invitation_has_a_link_id() {
        let link = |id: &str| format!("https://a.example/i#{id}{KEY}");
        assert_eq!(error(&link("")), (LinkErrorKind::NoLinkId, 63));
        assert_eq!(error(&link("/")), (LinkErrorKind::Base64Length, 20));
        assert_eq!(error(&link("A/")), (LinkErrorKind::Base64Length, 20));
        assert_eq!(normal(&link("MA==/")), format!("simplex:/i#MA/{KEY}?h=a.example"));
        let text = format!("https://a.example/a#MA/{KEY}");
        assert_eq!(error(&text), (LinkErrorKind::Base64Byte(b'/'), 22));
    }

    #[test]
    fn a_link_without_a_host_names_its_router() {
        let link = |query: &str| format!("simplex:/a#{KEY}{query}");
        for query in ["", "?", "?p=5223", "?c=MDEy"] {
            let text = link(query);
            assert_eq!(error(&text), (LinkErrorKind::NoServer, text.len()), "{query}");
        }
        assert_eq!(error(&link("?h=")), (LinkErrorKind::NoHost, 57));
        assert_eq!(error(&link("?h=a,,b")), (LinkErrorKind::NoHost, 59));
        assert_eq!(error(&link("?h=a%2C")), (LinkErrorKind::NoHost, 61));
        assert_eq!(error(&link("?h=a%2Fb")), (LinkErrorKind::HostByte(b'/'), 58));
        assert_eq!(error(&link("?h=a%2")), (LinkErrorKind::Percent, 58));
        let hosts = Parameter::Hosts;
        assert_eq!(error(&link("?h=a&h=b")), (LinkErrorKind::Repeated(hosts), 61));
    }

    #[test]
    fn ports_are_numbers() {
        let link = |port: &str| format!("simplex:/a#{KEY}?h=a&p={port}");
        for port in ["1", "5223", "65535", "00443"] {
            let number: u16 = port.parse().unwrap();
            assert_eq!(normal(&link(port)), link(&format!("{number}")));
        }
        for port in ["", "0", "65536", "+1", "-1", "x", "5223,443", "%31"] {
            assert_eq!(error(&link(port)), (LinkErrorKind::Port, 61), "{port}");
        }
        // Beside the host it stands in full links only.
        let text = format!("https://a.example:443/a#{KEY}");
        assert_eq!(error(&text), (LinkErrorKind::HostByte(b':'), 17));
        let text = FULL.replace("simplex:", "https://a.example:x");
        assert_eq!(error(&text), (LinkErrorKind::Port, 18));
    }

    #[test]
    fn there_is_one_normal_form() {
        let expected = format!("simplex:/g#{KEY}?h=smp.example%2Cb.onion&p=5223&c=1234-w&x=%C3%A9");
        for text in [
            format!("simplex:/g#{KEY}?h=smp.example,b.onion&p=5223&c=1234-w&x=%C3%A9"),
            format!("SIMPLEX:/G/#{KEY}=?x=%c3%a9&&c=1234-w==&p=05223&h=SMP.example%2cb.ONION"),
            format!("https://SMP.Example/g#{KEY}?h=b.onion&p=5223&c=1234-w%3D%3D&x=%C3%A9"),
            format!("https://smp.example/g#{KEY}?h=b.onion,smp.example&p=5223&c=1234-w&x=%C3%A9"),
        ] {
            assert_eq!(normal(&text), expected, "{text}");
        }
        assert_eq!(
            normal(&format!("https://[::1]/a#{KEY}")),
            format!("simplex:/a#{KEY}?h=%5B%3A%3A1%5D")
        );
        let text = "https://simplex.chat/contact/#/?smp=smp://key%40host/queue&v=2-7&y&x=a+b";
        assert_eq!(normal(text), format!("{FULL}&y=&x=a%20b"));
    }

    #[test]
    fn versions_and_queues_are_looked_at() {
        let link =
            |versions: &str, queues: &str| format!("simplex:/contact#/?v={versions}&smp={queues}");
        assert!(Link::parse(&link("2", "smp://a")).is_ok());
        assert!(Link::parse(&link("2-10", "smp%3A%2F%2Fa;smp://b%3Bsmp://c")).is_ok());
        for versions in ["x", "2-", "-2", "2-3-4", "2%2D3"] {
            assert_eq!(error(&link(versions, "smp://a")), (LinkErrorKind::Versions, 21));
        }
        for (queues, offset) in
            [("a", 27), ("smp:/", 27), ("smp://a;", 35), ("smp://a%3Bx", 37), (";", 27)]
        {
            assert_eq!(error(&link("2", queues)), (LinkErrorKind::Queue, offset), "{queues}");
        }
    }

    #[test]
    fn data_are_looked_into_up_to_their_limit() {
        let start = "{\"type\":\"group\",\"x\":\"\"}";
        for (len, kind) in [(511, Ok(LinkKind::Group)), (512, Ok(LinkKind::Group)), (513, Err(()))]
        {
            let data = start.replace("\"\"", &format!("\"{}\"", "x".repeat(len - start.len())));
            assert_eq!(data.len(), len);
            let text = format!("{FULL}&data={data}");
            let found = Link::parse(&text).map(|link| link.kind());
            assert_eq!(
                found.map_err(|error| assert_eq!(error.kind, LinkErrorKind::DataTooLong)),
                kind
            );
        }
    }

    #[test]
    fn other_addresses_are_no_links() {
        for (text, kind, offset) in [
            ("", LinkErrorKind::Scheme, 0),
            ("a", LinkErrorKind::Scheme, 0),
            ("http://a.example/a", LinkErrorKind::Scheme, 0),
            ("https:/a", LinkErrorKind::Scheme, 0),
            ("https://", LinkErrorKind::NoHost, 8),
            ("https:///a#b", LinkErrorKind::NoHost, 8),
            ("https://u@a.example/a#b", LinkErrorKind::HostByte(b'@'), 9),
            ("https://[::1/a#b", LinkErrorKind::HostByte(b'['), 8),
            ("https://[::1]x/a#b", LinkErrorKind::HostByte(b'x'), 13),
            ("https://a.example/about", LinkErrorKind::Path, 17),
            ("simplex:", LinkErrorKind::Path, 8),
            ("simplex://a#b", LinkErrorKind::Path, 8),
            ("simplex:a#b", LinkErrorKind::Path, 8),
            ("simplex:/name#privacy", LinkErrorKind::Name, 8),
            ("simplex:/name@a.simplex", LinkErrorKind::Name, 8),
            ("simplex:/a #b", LinkErrorKind::Byte(b' '), 10),
            ("https://\u{fc}.example/a", LinkErrorKind::Byte(0xc3), 8),
            ("simplex:/a#b\n", LinkErrorKind::Byte(b'\n'), 12),
        ] {
            assert_eq!(error(text), (kind, offset), "{text:?}");
        }
    }

    #[test]
    fn a_short_buffer_says_what_is_needed() {
        let text = format!("simplex:/a#{KEY}?h=a");
        let error = Link::parse(&text).unwrap().write(&mut [0; 5]).unwrap_err();
        assert_eq!((error.needed, error.capacity), (text.len(), 5));
    }

    #[test]
    fn debug_shows_no_key() {
        let shown = format!("{:?}", Link::parse(&format!("https://a.example/a#{KEY}")).unwrap());
        assert!(!shown.contains(KEY) && !shown.contains("a.example"), "{shown}");
    }
}
