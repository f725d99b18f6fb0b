//! How long, and for whom, a result can be kept (MCP 2026-07-28, server, Caching).

use core::time::Duration;

use crate::json::Object;

/// Who may be given a result that was kept.
///
/// ```
/// use agentwire_core::mcp::Scope;
/// assert_eq!(Scope::default(), Scope::Private);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // The schema has these two.
pub enum Scope {
    /// Anybody.
    Public,
    /// Only who it was made for. What says nothing, or nothing known, is private.
    #[default]
    Private,
}

impl Scope {
    /// Its name in a result.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// What a result says of its keeping. It is read leniently: a server that leaves the members out, or
/// writes something else, has said "do not keep it".
///
/// ```
/// use agentwire_core::json::Object;
/// use agentwire_core::mcp::{Caching, Scope};
/// use core::time::Duration;
///
/// let caching = |text| Caching::of(Object::parse(text).unwrap());
/// let kept = caching(r#"{"ttlMs":300000,"cacheScope":"public"}"#);
/// assert_eq!((kept.ttl, kept.scope), (Duration::from_secs(300), Scope::Public));
/// assert_eq!(caching(r#"{"ttlMs":-1,"cacheScope":""}"#), Caching::default());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Caching {
    /// For how long.
    pub ttl: Duration,
    /// For whom.
    pub scope: Scope,
}

impl Caching {
    /// Reads a result.
    pub fn of(result: Object<'_>) -> Self {
        let ttl = result.get("ttlMs").ok().flatten().and_then(|ttl| ttl.as_integer());
        let scope = result.str("cacheScope").ok().flatten();
        Self {
            ttl: Duration::from_millis(ttl.and_then(|ttl| u64::try_from(ttl).ok()).unwrap_or(0)),
            scope: match scope {
                Some(scope) if scope == *"public" => Scope::Public,
                _ => Scope::Private,
            },
        }
    }
}
