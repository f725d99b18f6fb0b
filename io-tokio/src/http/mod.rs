//! HTTP as a client: requests, bodies within limits, streams of events.
//!
//! - HTTPS, or plain HTTP to this machine alone unless it is allowed elsewhere.
//! - No redirects are followed: whoever answers is the one that was named.
//! - Where somebody else chooses the URL, only the public internet is reached ([`Reach`]).
//! - What is sent with a request is never shown.
//!
//! And of HTTP as a server, whether a client shows the token it needs.

mod bearer;
mod client;
mod error;
mod events;
mod guard;
mod url;

pub(crate) use bearer::shows_token;
pub(crate) use client::{HttpClient, HttpOptions, media_type, read_text};
pub use error::HttpError;
pub(crate) use events::Events;
pub(crate) use guard::Reach;
#[cfg(feature = "a2a")]
pub(crate) use url::same_origin;
pub(crate) use url::{is_local, read_url};
