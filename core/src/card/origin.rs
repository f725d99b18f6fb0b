//! Where a card comes from, and which URLs are on the same origin (RFC 6454).

use core::fmt;

/// The longest URL that is looked at, in bytes.
pub const MAX_URL_LEN: usize = 2048;

/// The port that `https` has without saying so.
const HTTPS_PORT: u16 = 443;

/// The origin of an `https` URL: its host and port.
///
/// A URL is read strictly, because a URL that two parsers read differently names two origins:
/// no user, no backslash, no character that is not printable ASCII, no escape in the host. Hosts are
/// compared as text without regard to case, so `example.com.` is another host than `example.com`.
///
/// ```
/// use agentwire_core::card::Origin;
/// let card = Origin::of("https://Agent.example/.well-known/agent-card.json").unwrap();
/// assert_eq!(card, Origin::of("https://agent.example:443/keys.json").unwrap());
/// assert_ne!(card, Origin::of("https://agent.example:8443/keys.json").unwrap());
/// assert!(Origin::of("https://agent.example@evil.example/").is_err());
/// assert_eq!(card.to_string(), "https://agent.example");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    host: &'a str,
    port: u16,
}

impl<'a> Origin<'a> {
    /// The origin of a URL.
    ///
    /// # Errors
    /// [`OriginError`].
    pub fn of(url: &'a str) -> Result<Self, OriginError> {
        if url.len() > MAX_URL_LEN {
            return Err(OriginError::TooLong { len: url.len(), limit: MAX_URL_LEN });
        }
        if let Some(offset) = url.bytes().position(|byte| !byte.is_ascii_graphic() || byte == b'\\')
        {
            return Err(OriginError::Character { offset });
        }
        let (scheme, rest) = url.split_at_checked("https://".len()).ok_or(OriginError::NotHttps)?;
        if !scheme.eq_ignore_ascii_case("https://") {
            return Err(OriginError::NotHttps);
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(OriginError::User);
        }
        let (host, port) = match authority.rsplit_once(':') {
            // The colons of an IPv6 address stand in brackets.
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        let good = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(v6) => {
                !v6.is_empty()
                    && v6
                        .bytes()
                        .all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
            }
            None => !host.is_empty() && host.bytes().all(name),
        };
        if !good {
            return Err(OriginError::Host);
        }
        let port = match port {
            None => HTTPS_PORT,
            // `parse` would take a plus sign as well.
            Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                digits.parse().ok().filter(|port| *port != 0).ok_or(OriginError::Port)?
            }
            Some(_) => return Err(OriginError::Port),
        };
        Ok(Self { host, port })
    }

    /// The host, as it was written.
    pub const fn host(&self) -> &'a str {
        self.host
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether keys may be fetched from a URL for a card of this origin: it is on this origin, and
    /// has no fragment.
    pub fn has_keys(&self, url: &str) -> bool {
        !url.contains('#') && Origin::of(url).is_ok_and(|origin| origin == *self)
    }
}

impl PartialEq for Origin<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.port == other.port && self.host.eq_ignore_ascii_case(other.host)
    }
}

impl Eq for Origin<'_> {}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("https://")?;
        for char in self.host.chars() {
            write!(f, "{}", char.to_ascii_lowercase())?;
        }
        if self.port == HTTPS_PORT { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

/// Why a URL has no origin from which a card or a key may come.
///
/// ```
/// use agentwire_core::card::{Origin, OriginError};
/// assert_eq!(Origin::of("http://agent.example/"), Err(OriginError::NotHttps));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum OriginError {
    /// Longer than [`MAX_URL_LEN`].
    TooLong {
        /// Bytes of the URL.
        len: usize,
        /// [`MAX_URL_LEN`].
        limit: usize,
    },
    /// A character that does not stand in a URL: not printable ASCII, or a backslash.
    Character {
        /// Bytes from the start of the URL.
        offset: usize,
    },
    /// Another scheme than `https`.
    NotHttps,
    /// A user name or a password.
    User,
    /// No host, or something in it that no host name and no address has.
    Host,
    /// Not a port.
    Port,
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { len, limit } => write!(f, "a URL of {len} bytes, and {limit} are read"),
            Self::Character { offset } => {
                write!(f, "a character that does not stand in a URL (byte {offset})")
            }
            Self::NotHttps => f.write_str("not an https URL"),
            Self::User => f.write_str("a URL with a user name"),
            Self::Host => f.write_str("not a host"),
            Self::Port => f.write_str("not a port"),
        }
    }
}

impl core::error::Error for OriginError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn urls_on_the_same_origin_and_on_others() {
        let card = Origin::of("https://agent.example/card").unwrap();
        for same in [
            "https://agent.example",
            "HTTPS://AGENT.EXAMPLE:443/a/b?c",
            "https://agent.example:0443/",
        ] {
            assert!(card.has_keys(same), "{same}");
        }
        for other in [
            "https://agent.example#/",
            "https://agent.example/#k",
            "http://agent.example/",
            "https://agent.example:444/",
            "https://agent.example./",
            "https://sub.agent.example/",
            "https://agent.example.evil.example/",
            "https://agent.example@evil.example/",
            "https://evil.example/agent.example",
            "https://evil.example?@agent.example",
            "//agent.example/",
            "https:agent.example",
            "https:///agent.example",
            "https://agent.example\\@evil.example",
            "https://agent.example%2eevil.example/",
            " https://agent.example/",
            "https://agent.example/\n",
            "https://аgent.example/",
            "data:https://agent.example/",
            "https://agent.example:/",
            "https://agent.example:+443/",
            "https://agent.example:65979/",
            "https://agent.example:0/",
            "https://[agent.example]/",
            "",
            "https://",
        ] {
            assert!(!card.has_keys(other), "{other}");
        }
    }

    #[test]
    fn each_fault_has_its_error() {
        for (url, error) in [
            ("https://a\\b", OriginError::Character { offset: 9 }),
            ("https://é/", OriginError::Character { offset: 8 }),
            ("http://a/", OriginError::NotHttps),
            ("https://a:b@c/", OriginError::User),
            ("https://a%41/", OriginError::Host),
            ("https://[::1/", OriginError::Host),
            ("https://a:443x/", OriginError::Port),
        ] {
            assert_eq!(Origin::of(url), Err(error), "{url}");
        }
        let url = |len: usize| std::format!("https://a/{}", "x".repeat(len - 10));
        assert!(Origin::of(&url(MAX_URL_LEN)).is_ok());
        assert!(matches!(Origin::of(&url(MAX_URL_LEN + 1)), Err(OriginError::TooLong { .. })));
        let v6 = Origin::of("https://[2001:db8::1]:8443/x").unwrap();
        assert_eq!(
            (v6.host(), v6.port(), v6.to_string()),
            ("[2001:db8::1]", 8443, "https://[2001:db8::1]:8443".into())
        );
    }
}
