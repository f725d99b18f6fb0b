//! What a profile, a group and an address say of themselves ("Profile declarations"), and which
//! transport follows from it.
//!
//! | declaration | where | read by | what it says |
//! |---|---|---|---|
//! | `protocols` | `preferences` of a profile | [`Declarations`], [`Source::Profile`] | served in direct chats with it, and on its contact address over Service RPC |
//! | `protocols` | `groupPreferences` of a group | [`Declarations`], [`Source::Group`] | served by the group's owners in the group |
//! | `protocols` | `groupPreferences` of a business chat | [`Declarations`], [`Source::BusinessChat`] | the copy of what the business declares |
//! | `audience` | `publicGroup` of a channel or public group | [`PublicGroup`] | the peers it is made for |
//! | `changeFrequency` | `publicGroup` of a channel | [`PublicGroup`] | how often it is updated |
//! | `serves` | the data of a contact address link | [`AddressData`] | the peers it is made for |
//!
//! # What is decided here
//!
//! | question | decision |
//! |---|---|
//! | no `protocols` at all | [`Served::Unknown`]: today's cores cannot declare, and may serve |
//! | `protocols` of a profile without this protocol | [`Served::No`]: the profile lists what it serves |
//! | `protocols` of a group without it, or with `chat` false | [`Served::Unknown`]: another member may serve it |
//! | `transports.rpc` in a group's preferences | says nothing: it is valid in `preferences` only |
//! | an entry that does not follow the schema | an error with its place; no entry is guessed at |
//! | an entry whose key no protocol can have | not listed, and kept on rewriting |
//! | a name that occurs twice where one is looked for | an error: nobody knows which one counts |
//! | unknown members, unknown peer types, unknown frequencies | ignored, and kept on rewriting |
//! | an `audience` of unknown values only | empty: it is stated, so the default does not apply |
//! | values of a website and none in the record or the link data | the website's count: a value takes precedence over another, the absence of one does not |
//!
//! Reading takes no heap and lends from the text. Writing goes into the caller's buffer:
//! [`write_protocols`] makes the value anew, and [`rewrite_preferences`] changes what is ours in
//! preferences that are there and keeps the rest byte for byte.

mod choose;
mod error;
mod peers;
mod protocols;
mod rewrite;
#[cfg(test)]
mod tests;

pub use choose::{Choice, Needs, NoRoute, Obstacle, Route, Target, Transport, Why, choose};
pub use error::{DeclarationError, DeclarationErrorKind, Part};
pub use peers::{AddressData, ChangeFrequency, GroupKind, PeerType, PeerTypes, PublicGroup};
pub use protocols::{Declarations, Protocol, Protocols, Served, Source, Transports, Versions};
pub use rewrite::{
    Declaration, Edit, WriteError, copy_to_business_chat, rewrite_audience,
    rewrite_change_frequency, rewrite_preferences, rewrite_serves, write_protocols,
};
