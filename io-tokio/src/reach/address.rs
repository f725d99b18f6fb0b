//! The notation of an address: [`Address`].

use core::fmt;
use core::str::FromStr;

use agentwire_core::discovery::link::{Link, LinkKind};
use agentwire_core::discovery::name::{Name, NameKind};

/// Bytes that an address can take: a full link with ratchet keys is about 4,000 long.
const MAX_LEN: usize = 16 * 1024;

/// Whom a call is for.
///
/// | written | means |
/// |---|---|
/// | `simplex:/a#…`, `https://…/a#…`, `simplex:/contact#/?…` | a contact address, by its link |
/// | `@acme.simplex` | a contact address, by its SimpleX name |
/// | `alice`, `@alice`, `@'my bot'` | a contact, by the name it has in the profile |
/// | `@4` | the contact with this number |
/// | `#team`, `#'my team'`, `#3` | everyone in a group |
/// | `#team @alice`, `@team alice` | one member of a group, who is mentioned |
///
/// Names with white space stand between single quotes, as in the chat itself.
///
/// ```
/// use agentwire_tokio::reach::{Address, Who};
/// assert_eq!("@4".parse(), Ok(Address::Contact(Who::Number(4))));
/// let member: Address = "#'my team' @alice".parse().unwrap();
/// assert_eq!(member, Address::Member { group: Who::Name("my team".into()), name: "alice".into() });
/// assert_eq!(member.to_string(), "#'my team' @alice");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Address {
    /// A contact of the profile.
    Contact(Who),
    /// Everyone in a group.
    Everyone(Who),
    /// One member of a group.
    Member {
        /// The group.
        group: Who,
        /// The member's name in the group.
        name: String,
    },
    /// A contact address: its link, or a SimpleX name with its `@`.
    Link(String),
}

/// A contact or a group of the profile.
///
/// ```
/// use agentwire_tokio::reach::Who;
/// assert_eq!(Who::Name("my bot".into()).to_string(), "'my bot'");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(clippy::exhaustive_enums)]
pub enum Who {
    /// By the name it has in the profile.
    Name(String),
    /// By its number in the core's database.
    Number(i64),
}

/// Why an address cannot be read.
///
/// ```
/// use agentwire_tokio::reach::{Address, AddressError};
/// assert_eq!("#".parse::<Address>(), Err(AddressError::NoName));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AddressError {
    /// A name is missing.
    NoName,
    /// A quoted name has no end.
    OpenQuote,
    /// There is something after the address.
    Trailing {
        /// Bytes from the start to it.
        offset: usize,
    },
    /// It is too long.
    TooLong {
        /// Its bytes.
        len: usize,
        /// Bytes that it can take.
        limit: usize,
    },
    /// It is a link, and no valid one: what is wrong with it.
    Link(String),
    /// It is a link, but not that of a contact address: whom it is of.
    NotAContact(LinkKind),
    /// It is the SimpleX name of a channel or a public group.
    Channel,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName => f.write_str("a name is missing"),
            Self::OpenQuote => f.write_str("a quoted name has no end"),
            Self::Trailing { offset } => write!(
                f,
                "there is something after the address, at byte {offset}; names with spaces stand \
                 between single quotes"
            ),
            Self::TooLong { len, limit } => {
                write!(f, "{len} bytes are too long, {limit} is the limit")
            }
            Self::Link(why) => write!(f, "no valid SimpleX link: {why}"),
            Self::NotAContact(kind) => {
                write!(f, "the link is not that of a contact address: {kind}")
            }
            Self::Channel => f.write_str(
                "the name is that of a channel or a public group, which has no address to call",
            ),
        }
    }
}

impl core::error::Error for AddressError {}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (len, limit) = (text.len(), MAX_LEN);
        if len > limit {
            return Err(AddressError::TooLong { len, limit });
        }
        let text = text.trim();
        if ["simplex:", "https:", "http:"].iter().any(|scheme| starts_with(text, scheme)) {
            return link(text);
        }
        if text.starts_with('@')
            && Name::parse(text).is_ok_and(|name| name.kind() == NameKind::Contact)
        {
            return Ok(Self::Link(text.to_owned()));
        }
        let mut rest = Rest { text, at: 0 };
        let is_group = rest.skip('#');
        if !is_group {
            rest.skip('@');
        }
        let (name, is_quoted) = rest.name()?;
        rest.skip_spaces();
        if rest.is_empty() {
            let who = who(name, is_quoted);
            return Ok(if is_group { Self::Everyone(who) } else { Self::Contact(who) });
        }
        if !is_group && !text.starts_with('@') {
            return Err(AddressError::Trailing { offset: rest.at });
        }
        rest.skip('@');
        let (member, _) = rest.name()?;
        rest.skip_spaces();
        if !rest.is_empty() {
            return Err(AddressError::Trailing { offset: rest.at });
        }
        Ok(Self::Member { group: who(name, is_quoted), name: member })
    }
}

fn starts_with(text: &str, scheme: &str) -> bool {
    text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

fn link(text: &str) -> Result<Address, AddressError> {
    // `simplex:/name…` is a name, the rest are links.
    if let Ok(name) = Name::parse(text) {
        return match name.kind() {
            NameKind::Contact => Ok(Address::Link(text.to_owned())),
            NameKind::PublicGroup => Err(AddressError::Channel),
        };
    }
    match Link::parse(text) {
        Ok(link) if link.kind() == LinkKind::Contact => Ok(Address::Link(text.to_owned())),
        Ok(link) => Err(AddressError::NotAContact(link.kind())),
        Err(error) => Err(AddressError::Link(error.to_string())),
    }
}

fn who(name: String, is_quoted: bool) -> Who {
    match name.parse() {
        Ok(number) if !is_quoted && name.bytes().all(|byte| byte.is_ascii_digit()) => {
            Who::Number(number)
        }
        _ => Who::Name(name),
    }
}

/// What is still to be read.
struct Rest<'a> {
    text: &'a str,
    at: usize,
}

impl Rest<'_> {
    fn get(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn is_empty(&self) -> bool {
        self.get().is_empty()
    }

    fn skip(&mut self, sign: char) -> bool {
        let is_there = self.get().starts_with(sign);
        if is_there {
            self.at += sign.len_utf8();
        }
        is_there
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.get().trim_start().len();
    }

    /// A name, and whether it stood between quotes.
    fn name(&mut self) -> Result<(String, bool), AddressError> {
        let is_quoted = self.skip('\'');
        let rest = self.get();
        let end = if is_quoted {
            rest.find('\'').ok_or(AddressError::OpenQuote)?
        } else {
            rest.find(char::is_whitespace).unwrap_or(rest.len())
        };
        let name = rest.get(..end).unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err(AddressError::NoName);
        }
        self.at += end + usize::from(is_quoted);
        Ok((name, is_quoted))
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => write_name(f, name),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contact(who) => write!(f, "@{who}"),
            Self::Everyone(who) => write!(f, "#{who}"),
            Self::Member { group, name } => {
                write!(f, "#{group} @")?;
                write_name(f, name)
            }
            Self::Link(link) => f.write_str(link),
        }
    }
}

/// As it is read: between quotes where it could be taken for something else.
fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let is_plain = !name.contains(char::is_whitespace)
        && !name.bytes().all(|byte| byte.is_ascii_digit())
        && Name::parse(&format!("@{name}")).is_err();
    if is_plain { f.write_str(name) } else { write!(f, "'{name}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Who {
        Who::Name(name.into())
    }

    #[test]
    fn each_form_is_read_and_written() {
        let link = "simplex:/a#abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ?h=smp.example.org";
        for (text, address) in [
            ("alice", Address::Contact(name("alice"))),
            (" @alice ", Address::Contact(name("alice"))),
            ("@'my bot'", Address::Contact(name("my bot"))),
            ("@4", Address::Contact(Who::Number(4))),
            ("@'4'", Address::Contact(name("4"))),
            ("#team", Address::Everyone(name("team"))),
            ("#3", Address::Everyone(Who::Number(3))),
            ("#team @bob", Address::Member { group: name("team"), name: "bob".into() }),
            ("@team bob", Address::Member { group: name("team"), name: "bob".into() }),
            ("#'a b'  'c d'", Address::Member { group: name("a b"), name: "c d".into() }),
            ("@acme.simplex", Address::Link("@acme.simplex".into())),
            ("@'acme.simplex'", Address::Contact(name("acme.simplex"))),
            ("simplex:/name@acme.simplex", Address::Link("simplex:/name@acme.simplex".into())),
            (link, Address::Link(link.into())),
        ] {
            assert_eq!(text.parse(), Ok(address.clone()), "{text}");
            assert_eq!(address.to_string().parse(), Ok(address), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, error) in [
            ("", AddressError::NoName),
            ("@", AddressError::NoName),
            ("#", AddressError::NoName),
            ("@''", AddressError::NoName),
            ("#team @", AddressError::NoName),
            ("#'team", AddressError::OpenQuote),
            ("alice bob", AddressError::Trailing { offset: 6 }),
            ("#team bob cid", AddressError::Trailing { offset: 10 }),
            ("simplex:/name#news.simplex", AddressError::Channel),
        ] {
            assert_eq!(text.parse::<Address>(), Err(error), "{text}");
        }
        assert!(matches!("https://example.org/".parse::<Address>(), Err(AddressError::Link(_))));
        let group = "https://smp.example.org/g#abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ";
        assert_eq!(group.parse::<Address>(), Err(AddressError::NotAContact(LinkKind::Group)));
    }

    #[test]
    fn an_address_has_a_limit() {
        for (len, is_read) in [(MAX_LEN - 1, true), (MAX_LEN, true), (MAX_LEN + 1, false)] {
            assert_eq!("x".repeat(len).parse::<Address>().is_ok(), is_read);
        }
    }
}
