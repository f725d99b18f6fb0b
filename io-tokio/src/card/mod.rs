//! Agent Cards on the web: fetched, and checked against the keys that their own host publishes.
//!
//! ```text
//!  https://agent.example/.well-known/agent-card.json ──► the card, with its signatures
//!                                                             │ jku: on the same origin, or it is not fetched
//!  https://agent.example/keys.json ◄──────────────────────────┘
//!        │ kid
//!        ▼
//!  a key, a signature that it holds, and so a card that is its host's own
//! ```
//!
//! | what is fetched | |
//! |---|---|
//! | scheme | `https`; `http` to this machine alone, if that is allowed |
//! | host | resolves to addresses of the public internet alone, and those are dialled; others if that is allowed |
//! | redirects | none: whoever answers is the one that was named |
//! | size | [`MAX_CARD_LEN`](agentwire_core::card::MAX_CARD_LEN), [`MAX_JWKS_LEN`](agentwire_core::card::MAX_JWKS_LEN) |
//! | time | [`CardClientConfig::timeout`] |
//!
//! A key set is kept as long as its `Cache-Control` allows, and no longer than
//! [`CardClientConfig::keys_for`]. When a signature names a key that is not in it, it is fetched
//! again, so a new key is known at once; a key that is missing then is revoked.

mod client;
mod keys;

pub use client::{CardClient, CardClientConfig, CardFetchError, FetchedCard};
