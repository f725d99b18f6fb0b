//! SimpleX names (SimpleX public names for channels and businesses; simplexmq, `SimplexName.hs`).
//!
//! ```text
//! [simplex:/name][# | @]<label>[.<label>]*
//! ```
//!
//! | written | what it names |
//! |---|---|
//! | `#privacy`, `privacy` | the public group or channel `privacy.simplex` |
//! | `#news.acme.simplex` | one below it |
//! | `@acme.simplex` | a contact address |
//! | `@acme.example` | a contact address under a web domain |
//! | `@acme` | nothing: only groups go without a top-level domain |
//!
//! A label has ASCII letters, digits and single hyphens inside, at most [`MAX_LABEL_LEN`] bytes; a
//! name at most [`MAX_NAME_LEN`]. Letters count the same in both cases, and the normal form is in
//! lower case: a name is looked up by its bytes.

use core::fmt;

use crate::json::{BufferTooSmall, Writer};

/// The longest label, in bytes (`SimplexName.hs`, from the limit of DNS).
pub const MAX_LABEL_LEN: usize = 63;

/// The longest name without its prefix, in bytes (`SimplexName.hs`, from the limit of DNS).
pub const MAX_NAME_LEN: usize = 253;

const URI: &str = "simplex:/name";

/// What a name is given to.
///
/// ```
/// use agentwire_core::discovery::name::{Name, NameKind};
/// assert_eq!(Name::parse("@acme.simplex").unwrap().kind(), NameKind::Contact);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(clippy::exhaustive_enums)]
pub enum NameKind {
    /// `#`: a channel or a public group. The default where no prefix stands.
    PublicGroup,
    /// `@`: a contact address.
    Contact,
}

/// The top-level domain of a name: who keeps it.
///
/// ```
/// use agentwire_core::discovery::name::{Name, Tld};
/// assert_eq!(Name::parse("#privacy").unwrap().tld(), Tld::Simplex);
/// assert_eq!(Name::parse("@acme.example").unwrap().tld(), Tld::Web);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Tld {
    /// `.simplex`, also where a group's name is a single label.
    Simplex,
    /// `.testing`.
    Testing,
    /// Any other: a domain of the web.
    Web,
}

/// A SimpleX name, as it was written.
///
/// `Debug` shows its kind and length, never the name.
///
/// ```
/// use agentwire_core::discovery::name::Name;
///
/// let name = Name::parse("simplex:/name#News.Acme.simplex").unwrap();
/// let mut buffer = [0; 64];
/// assert_eq!(name.write(&mut buffer).unwrap(), "#news.acme.simplex");
/// assert_eq!(name.labels().collect::<Vec<_>>(), ["News", "Acme", "simplex"]);
/// // A single label is under `.simplex`, and that is written out.
/// assert_eq!(Name::parse("Privacy").unwrap().write(&mut buffer).unwrap(), "#privacy.simplex");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    kind: NameKind,
    tld: Tld,
    domain: &'a str,
}

/// Why a text is not a SimpleX name, and the byte offset where that shows.
///
/// ```
/// use agentwire_core::discovery::name::{Name, NameErrorKind};
/// let error = Name::parse("@acme").unwrap_err();
/// assert_eq!((error.kind, error.offset), (NameErrorKind::NoTopLevelDomain, 5));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct NameError {
    /// What is wrong.
    pub kind: NameErrorKind,
    /// Bytes from the start of the text.
    pub offset: usize,
}

/// What is wrong with a name.
///
/// ```
/// use agentwire_core::discovery::name::{Name, NameErrorKind};
/// assert_eq!(Name::parse("#a..b").unwrap_err().kind, NameErrorKind::EmptyLabel);
/// assert_eq!(Name::parse("#a--b").unwrap_err().kind, NameErrorKind::Hyphen);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum NameErrorKind {
    /// Nothing follows the prefix, or nothing is there.
    Empty,
    /// Two dots meet, or a dot begins or ends the name.
    EmptyLabel,
    /// A hyphen begins or ends a label, or two meet.
    Hyphen,
    /// A byte other than ASCII letters, digits, hyphens and dots.
    Byte(u8),
    /// A label is longer than [`MAX_LABEL_LEN`].
    LabelTooLong {
        /// The label's length in bytes.
        len: usize,
    },
    /// The name is longer than [`MAX_NAME_LEN`].
    TooLong {
        /// The length in bytes, without the prefix.
        len: usize,
    },
    /// A contact's name is a single label.
    NoTopLevelDomain,
}

impl fmt::Display for NameErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no name"),
            Self::EmptyLabel => f.write_str("an empty label"),
            Self::Hyphen => f.write_str("a hyphen stands between letters or digits, and alone"),
            Self::Byte(byte) => write!(f, "byte 0x{byte:02x}, which no name has"),
            Self::LabelTooLong { len } => {
                write!(f, "a label of {len} bytes, {MAX_LABEL_LEN} are allowed")
            }
            Self::TooLong { len } => write!(f, "{len} bytes, {MAX_NAME_LEN} are allowed"),
            Self::NoTopLevelDomain => f.write_str("a contact's name needs a top-level domain"),
        }
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a SimpleX name: {} (byte {})", self.kind, self.offset)
    }
}

impl core::error::Error for NameError {}

impl<'a> Name<'a> {
    /// Reads a name.
    ///
    /// # Errors
    /// [`NameError`] at the first byte that does not fit.
    pub fn parse(text: &'a str) -> Result<Self, NameError> {
        let rest = text.strip_prefix(URI).unwrap_or(text);
        let (kind, domain) = match rest.strip_prefix('@') {
            Some(domain) => (NameKind::Contact, domain),
            None => (NameKind::PublicGroup, rest.strip_prefix('#').unwrap_or(rest)),
        };
        let start = text.len().saturating_sub(domain.len());
        let fail = |kind, offset| Err(NameError { kind, offset });
        if domain.is_empty() {
            return fail(NameErrorKind::Empty, start);
        }
        if domain.len() > MAX_NAME_LEN {
            return fail(NameErrorKind::TooLong { len: domain.len() }, start);
        }
        let mut at = start;
        let mut labels: usize = 0;
        let mut last = "";
        for label in domain.split('.') {
            check_label(label, at)?;
            at = at.saturating_add(label.len()).saturating_add(1);
            labels = labels.saturating_add(1);
            last = label;
        }
        let tld = match (labels, kind) {
            (1, NameKind::Contact) => return fail(NameErrorKind::NoTopLevelDomain, text.len()),
            (1, NameKind::PublicGroup) => Tld::Simplex,
            _ if last.eq_ignore_ascii_case("simplex") => Tld::Simplex,
            _ if last.eq_ignore_ascii_case("testing") => Tld::Testing,
            _ => Tld::Web,
        };
        Ok(Self { kind, tld, domain })
    }

    /// What it is given to.
    pub fn kind(&self) -> NameKind {
        self.kind
    }

    /// Its top-level domain.
    pub fn tld(&self) -> Tld {
        self.tld
    }

    /// The labels in their order, as they were written; a top-level domain that was left out is
    /// not among them.
    pub fn labels(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.domain.split('.')
    }

    /// Writes the normal form: prefix and whole name in lower case.
    ///
    /// Two names are the same if their normal forms are.
    ///
    /// # Errors
    /// [`BufferTooSmall`]. [`MAX_NAME_LEN`] and one byte always suffice.
    pub fn write<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, BufferTooSmall> {
        self.append("", out)
    }

    /// Writes the normal form as a link, as in `simplex:/name#privacy.simplex`.
    ///
    /// # Errors
    /// [`BufferTooSmall`].
    pub fn write_uri<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, BufferTooSmall> {
        self.append(URI, out)
    }

    fn append<'o>(&self, scheme: &str, out: &'o mut [u8]) -> Result<&'o str, BufferTooSmall> {
        let mut writer = Writer::new(out);
        writer.raw(scheme).raw(match self.kind {
            NameKind::PublicGroup => "#",
            NameKind::Contact => "@",
        });
        super::lower(self.domain, &mut writer);
        if !self.domain.contains('.') {
            writer.raw(".simplex");
        }
        writer.finish()
    }
}

fn check_label(label: &str, start: usize) -> Result<(), NameError> {
    let fail = |kind, offset| Err(NameError { kind, offset });
    let mut hyphen = true;
    let mut at = start;
    for byte in label.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => hyphen = false,
            b'-' if hyphen => return fail(NameErrorKind::Hyphen, at),
            b'-' => hyphen = true,
            _ => return fail(NameErrorKind::Byte(byte), at),
        }
        at = at.saturating_add(1);
    }
    if label.is_empty() {
        return fail(NameErrorKind::EmptyLabel, start);
    }
    if hyphen {
        return fail(NameErrorKind::Hyphen, at.saturating_sub(1));
    }
    if label.len() > MAX_LABEL_LEN {
        return fail(NameErrorKind::LabelTooLong { len: label.len() }, start);
    }
    Ok(())
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Name")
            .field("kind", &self.kind)
            .field("tld", &self.tld)
            .field("len", &self.domain.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    fn normal(text: &str) -> String {
        let mut buffer = [0; MAX_NAME_LEN + 1];
        Name::parse(text).unwrap().write(&mut buffer).unwrap().into()
    }

    fn error(text: &str) -> (NameErrorKind, usize) {
        let error = Name::parse(text).unwrap_err();
        (error.kind, error.offset)
    }

    #[test]
    fn a_name_without_a_prefix_is_a_groups() {
        for text in ["privacy", "#privacy", "simplex:/name#privacy", "simplex:/nameprivacy"] {
            assert_eq!(Name::parse(text).unwrap().kind(), NameKind::PublicGroup, "{text}");
            assert_eq!(normal(text), "#privacy.simplex", "{text}");
        }
        assert_eq!(normal("acme.example"), "#acme.example");
        assert_eq!(normal("simplex:/name@a.b"), "@a.b");
    }

    #[test]
    fn names_are_lowercased() {
        assert_eq!(normal("#PriVacy"), "#privacy.simplex");
        assert_eq!(normal("@Shop.ACME.SIMPLEX"), "@shop.acme.simplex");
        assert_eq!(Name::parse("@a.SIMPLEX").unwrap().tld(), Tld::Simplex);
        let mut buffer = [0; 64];
        let name = Name::parse("@Shop.Acme").unwrap();
        assert_eq!(name.write_uri(&mut buffer).unwrap(), "simplex:/name@shop.acme");
        // The prefix is no part of the name and is read as it is.
        assert_eq!(error("SIMPLEX:/name#a"), (NameErrorKind::Byte(b':'), 7));
    }

    #[test]
    fn the_last_label_is_the_top_level_domain() {
        for (text, tld) in [
            ("#a", Tld::Simplex),
            ("#simplex", Tld::Simplex),
            ("#a.simplex", Tld::Simplex),
            ("@b.a.simplex", Tld::Simplex),
            ("@a.testing", Tld::Testing),
            ("#simplex.example", Tld::Web),
            ("@a.b.c", Tld::Web),
        ] {
            assert_eq!(Name::parse(text).unwrap().tld(), tld, "{text}");
        }
        assert_eq!(normal("#simplex"), "#simplex.simplex");
    }

    #[test]
    fn a_contacts_name_needs_a_top_level_domain() {
        assert_eq!(error("@privacy"), (NameErrorKind::NoTopLevelDomain, 8));
        assert_eq!(error("simplex:/name@privacy"), (NameErrorKind::NoTopLevelDomain, 21));
    }

    #[test]
    fn labels_have_ascii_letters_digits_and_single_inner_hyphens() {
        assert_eq!(normal("#a-b-c.1-2"), "#a-b-c.1-2");
        for (text, kind, offset) in [
            ("", NameErrorKind::Empty, 0),
            ("#", NameErrorKind::Empty, 1),
            ("simplex:/name", NameErrorKind::Empty, 13),
            ("##a", NameErrorKind::Byte(b'#'), 1),
            ("#@a", NameErrorKind::Byte(b'@'), 1),
            ("#a.", NameErrorKind::EmptyLabel, 3),
            ("#.a", NameErrorKind::EmptyLabel, 1),
            ("#a..b", NameErrorKind::EmptyLabel, 3),
            ("#-a", NameErrorKind::Hyphen, 1),
            ("#a-", NameErrorKind::Hyphen, 2),
            ("#a--b", NameErrorKind::Hyphen, 3),
            ("#a-.b", NameErrorKind::Hyphen, 2),
            ("#a_b", NameErrorKind::Byte(b'_'), 2),
            ("#a b", NameErrorKind::Byte(b' '), 2),
            ("#a\n", NameErrorKind::Byte(b'\n'), 2),
            // Letters of other alphabets that look alike would be other names.
            ("#\u{430}", NameErrorKind::Byte(0xd0), 1),
        ] {
            assert_eq!(error(text), (kind, offset), "{text:?}");
        }
    }

    #[test]
    fn a_label_has_at_most_63_bytes() {
        for len in [62, 63] {
            assert!(Name::parse(&"a".repeat(len)).is_ok(), "{len}");
            assert!(Name::parse(&std::format!("@x.{}.simplex", "a".repeat(len))).is_ok(), "{len}");
        }
        let text = std::format!("@x.{}.simplex", "a".repeat(64));
        assert_eq!(error(&text), (NameErrorKind::LabelTooLong { len: 64 }, 3));
    }

    #[test]
    fn a_name_has_at_most_253_bytes() {
        let label = "a".repeat(63);
        let of = |last: usize| std::format!("@{label}.{label}.{label}.{}", "b".repeat(last));
        for (last, len) in [(60, 252), (61, 253)] {
            let text = of(last);
            assert_eq!(text.len() - 1, len);
            assert_eq!(normal(&text), text);
        }
        assert_eq!(error(&of(62)), (NameErrorKind::TooLong { len: 254 }, 1));
        assert_eq!(error(&std::format!("simplex:/name{}", of(62))).1, 14);
    }

    #[test]
    fn a_short_buffer_says_what_is_needed() {
        let error = Name::parse("a").unwrap().write(&mut [0; 8]).unwrap_err();
        assert_eq!((error.needed, error.capacity), (10, 8));
    }

    #[test]
    fn debug_shows_no_text() {
        let shown = std::format!("{:?}", Name::parse("@hunter2.simplex").unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
