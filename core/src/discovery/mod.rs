//! How an agent finds addresses: `llms.txt`, SimpleX links and names ("Addresses in llms.txt").
//!
//! A website owner publishes channels for updates and contact addresses for requests. An agent
//! reads them from the website, looks up each link's data without connecting, reads the
//! declarations there ([`profile`](crate::profile)), and then subscribes, connects or calls.
//!
//! ```text
//!   website                      here                       next
//!   llms.txt ──────────────▶ llms::Communications ──┐
//!   (link relation)                                 ├──▶ link::Link ──▶ the chat core, which
//!   (well-known document)                           │    name::Name     gets the link's data
//!   a link or a name from elsewhere ────────────────┘
//! ```
//!
//! | module | what it reads and writes |
//! |---|---|
//! | [`llms`] | the section `## Communications` of an `llms.txt` |
//! | [`link`] | every form of SimpleX link |
//! | [`name`] | SimpleX names |
//! | [`public`] | which addresses a URL of somebody else's may lead to |
//!
//! All of it borrows from the text that it reads, writes into buffers that the caller owns, and
//! needs no heap.
//!
//! # What is not here
//!
//! The document names two more places on a website, the link relation type and the well-known
//! document of [Publishing SimpleX addresses on websites], and leaves both to that text. It is
//! not public yet, so nothing here reads or writes them: a guess would be read by nobody, or
//! wrongly. Once it is public, each becomes a module beside [`llms`]. What they hold are links,
//! and [`link`] reads those already.
//!
//! What a website says comes last: the values in the record of a channel or a group and in the
//! data of an address's link take precedence over it ("Contact address peers").
//!
//! [Publishing SimpleX addresses on websites]: https://simplex.chat/docs/protocol/web-discovery.md

pub mod link;
pub mod llms;
pub mod name;
pub mod public;

use crate::json::Writer;

/// Appends a text with its ASCII letters in lower case.
fn lower(text: &str, writer: &mut Writer<'_>) {
    cased(text, char::to_ascii_lowercase, writer);
}

/// Appends a text with each letter changed.
fn cased(text: &str, change: impl Fn(&char) -> char, writer: &mut Writer<'_>) {
    for char in text.chars() {
        writer.raw(change(&char).encode_utf8(&mut [0; 4]));
    }
}
