//! A chat message written out as the SimpleX core encodes it, byte for byte.
//!
//! Nobody sends this text: the core encodes what it sends itself. It is here so that a size can be
//! shown to be right and so that a stand-in for the core can refuse what the core refuses. It
//! shares no arithmetic with [`size`](crate::chat::size), which says in advance how long the
//! result is.
//!
//! ```text
//! {"v":…,"msgId":…,"event":"x.msg.new","params":{
//!    "asGroup":true,
//!    "content":{"text":…,"type":"text"},
//!    "forward":true,
//!    "live":true,
//!    "mentions":{NAME:{"memberId":…}, …},
//!    "quote":{"content":{"text":…,"type":"text"},"msgRef":{"memberId":…,"msgId":…,"sent":…,"sentAt":…}},
//!    "scope":{"memberId":…,"type":"member"},
//!    "ttl":…}}
//! ```
//!
//! Everything but `content` is left out where the message does not have it, and nothing stands
//! between the parts. Source: simplex-chat `Protocol.hs`, `AppMessageJson`; its first level keeps
//! the order of declaration, the levels below are sorted by the bytes of the keys.

#[cfg(feature = "alloc")]
use alloc::{string::String, vec::Vec};
use core::fmt;

use crate::chat::size::{Mention, MessageShape, Quote, QuoteKind, SentAt};
use crate::json::length::escaped_len;

/// The version range that [`WireMessage::new`] puts into a message.
pub const DEFAULT_VERSION: &str = "1-21";

/// A chat message with a text, and all that stands beside the text on the wire.
///
/// ```
/// use agentwire_core::chat::encode::WireMessage;
///
/// let message = WireMessage::new("d1NPUHVDSDAyVWVTNnVwUA==", "hello");
/// assert_eq!(message.shape().encoded_len(message.text), 119);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct WireMessage<'a> {
    /// The version range of the protocol, such as `1-21`.
    pub version: &'a str,
    /// The message's own id.
    pub msg_id: &'a str,
    /// The text.
    pub text: &'a str,
    /// The mentioned members, in any order; of two with one name the last one counts.
    pub mentions: &'a [Mention<'a>],
    /// The quote.
    pub quote: Option<WireQuote<'a>>,
    /// Whether the message is live, that is, still being written.
    pub live: bool,
    /// The time to live in seconds.
    pub ttl: Option<u64>,
    /// Whether the message is forwarded from another chat.
    pub forward: bool,
    /// Whether the message is sent in the name of the group.
    pub as_group: bool,
    /// The `memberId` of the member in whose support chat the message is sent.
    pub member_scope: Option<&'a str>,
}

impl<'a> WireMessage<'a> {
    /// A plain message with this id and text.
    #[must_use]
    pub const fn new(msg_id: &'a str, text: &'a str) -> Self {
        Self {
            version: DEFAULT_VERSION,
            msg_id,
            text,
            mentions: &[],
            quote: None,
            live: false,
            ttl: None,
            forward: false,
            as_group: false,
            member_scope: None,
        }
    }

    /// What the size accounting has to know about this message.
    #[must_use]
    pub fn shape(&self) -> MessageShape<'a> {
        let mut shape = MessageShape::new()
            .version_len(escaped_len(self.version))
            .msg_id_len(escaped_len(self.msg_id))
            .mentions(self.mentions)
            .live(self.live)
            .forward(self.forward)
            .as_group(self.as_group);
        if let Some(quote) = &self.quote {
            shape = shape.quote(quote.shape());
        }
        if let Some(seconds) = self.ttl {
            shape = shape.ttl(seconds);
        }
        if let Some(member_id) = self.member_scope {
            shape = shape.member_scope(member_id);
        }
        shape
    }
}

impl fmt::Debug for WireMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireMessage")
            .field("version", &self.version)
            .field("msg_id_len", &self.msg_id.len())
            .field("text_len", &self.text.len())
            .field("mentions", &self.mentions)
            .field("quote", &self.quote)
            .field("live", &self.live)
            .field("ttl", &self.ttl)
            .field("forward", &self.forward)
            .field("as_group", &self.as_group)
            .field("member_scope_len", &self.member_scope.map(str::len))
            .finish()
    }
}

/// The quote of a [`WireMessage`].
///
/// ```
/// use agentwire_core::chat::encode::WireQuote;
///
/// let quote = WireQuote::new("/_call mcp {}", "dXQ3UnhqVi9YSnhCTlhydg==", "2026-11-30T14:50:04Z");
/// assert!(!quote.sent && quote.member_id.is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct WireQuote<'a> {
    /// The quoted text.
    pub text: &'a str,
    /// The `msgId` of the quoted item.
    pub msg_id: &'a str,
    /// In a group the `memberId` of the quoted item's author.
    pub member_id: Option<&'a str>,
    /// Whether the quoted item was sent by the one who quotes it.
    pub sent: bool,
    /// The quoted item's time, as the core writes it.
    pub sent_at: &'a str,
}

impl<'a> WireQuote<'a> {
    /// A quote of a received item in a direct chat.
    #[must_use]
    pub const fn new(text: &'a str, msg_id: &'a str, sent_at: &'a str) -> Self {
        Self { text, msg_id, member_id: None, sent: false, sent_at }
    }

    /// What the size accounting has to know about this quote.
    #[must_use]
    pub fn shape(&self) -> Quote {
        let kind = self.member_id.map_or(QuoteKind::Direct, QuoteKind::group);
        let text_len = escaped_len(self.text);
        let quote = if self.sent { Quote::own } else { Quote::received }(text_len, kind);
        quote.msg_id_len(escaped_len(self.msg_id)).sent_at(SentAt::Exact(escaped_len(self.sent_at)))
    }
}

impl fmt::Debug for WireQuote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireQuote")
            .field("text_len", &self.text.len())
            .field("msg_id_len", &self.msg_id.len())
            .field("member_id_len", &self.member_id.map(str::len))
            .field("sent", &self.sent)
            .field("sent_at", &self.sent_at)
            .finish()
    }
}

/// Encodes a message as the core does; the length of the result in bytes is what the core
/// compares with [`MAX_ENCODED_MSG_LEN`](crate::chat::size::MAX_ENCODED_MSG_LEN).
///
/// ```
/// use agentwire_core::chat::encode::{WireMessage, encode};
///
/// let message = WireMessage::new("d1NPUHVDSDAyVWVTNnVwUA==", "a\u{8}\"");
/// assert_eq!(
///     encode(&message),
///     "{\"v\":\"1-21\",\"msgId\":\"d1NPUHVDSDAyVWVTNnVwUA==\",\"event\":\"x.msg.new\",\
///      \"params\":{\"content\":{\"text\":\"a\\u0008\\\"\",\"type\":\"text\"}}}"
/// );
/// ```
#[cfg(feature = "alloc")]
#[must_use]
pub fn encode(message: &WireMessage<'_>) -> String {
    let mut out = String::with_capacity(message.text.len().saturating_add(512));
    out.push_str("{\"v\":");
    push_string(&mut out, message.version);
    out.push_str(",\"msgId\":");
    push_string(&mut out, message.msg_id);
    out.push_str(",\"event\":\"x.msg.new\",\"params\":{");
    if message.as_group {
        out.push_str("\"asGroup\":true,");
    }
    push_content(&mut out, message.text);
    if message.forward {
        out.push_str(",\"forward\":true");
    }
    if message.live {
        out.push_str(",\"live\":true");
    }
    push_mentions(&mut out, message.mentions);
    if let Some(quote) = &message.quote {
        push_quote(&mut out, quote);
    }
    if let Some(member_id) = message.member_scope {
        out.push_str(",\"scope\":{\"memberId\":");
        push_string(&mut out, member_id);
        out.push_str(",\"type\":\"member\"}");
    }
    if let Some(seconds) = message.ttl {
        out.push_str(",\"ttl\":");
        push_number(&mut out, seconds);
    }
    out.push_str("}}");
    out
}

#[cfg(feature = "alloc")]
fn push_content(out: &mut String, text: &str) {
    out.push_str("\"content\":{\"text\":");
    push_string(out, text);
    out.push_str(",\"type\":\"text\"}");
}

#[cfg(feature = "alloc")]
fn push_mentions(out: &mut String, mentions: &[Mention<'_>]) {
    // As in the core's map: sorted by the bytes of the names, the last one of a name counts.
    let mut sorted: Vec<&Mention<'_>> = mentions.iter().rev().collect();
    sorted.sort_by_key(|mention| mention.name);
    sorted.dedup_by_key(|mention| mention.name);
    let mut before = ",\"mentions\":{";
    for mention in &sorted {
        out.push_str(before);
        push_string(out, mention.name);
        out.push_str(":{\"memberId\":");
        push_string(out, mention.member_id);
        out.push('}');
        before = ",";
    }
    if !sorted.is_empty() {
        out.push('}');
    }
}

#[cfg(feature = "alloc")]
fn push_quote(out: &mut String, quote: &WireQuote<'_>) {
    out.push_str(",\"quote\":{");
    push_content(out, quote.text);
    out.push_str(",\"msgRef\":{");
    if let Some(member_id) = quote.member_id {
        out.push_str("\"memberId\":");
        push_string(out, member_id);
        out.push(',');
    }
    out.push_str("\"msgId\":");
    push_string(out, quote.msg_id);
    out.push_str(if quote.sent { ",\"sent\":true" } else { ",\"sent\":false" });
    out.push_str(",\"sentAt\":");
    push_string(out, quote.sent_at);
    out.push_str("}}");
}

#[cfg(feature = "alloc")]
fn push_number(out: &mut String, number: u64) {
    use fmt::Write as _;
    // Writing into a `String` cannot fail.
    let _ = write!(out, "{number}");
}

/// Appends a JSON string with the encoder's escapes.
#[cfg(feature = "alloc")]
fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => {
                let code = u32::from(character);
                out.push_str(if code < 0x10 { "\\u000" } else { "\\u001" });
                out.extend(char::from_digit(code & 0xf, 16));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use alloc::format;

    use super::*;

    const MSG_ID: &str = "d1NPUHVDSDAyVWVTNnVwUA==";
    const QUOTED_ID: &str = "dXQ3UnhqVi9YSnhCTlhydg==";
    const MEMBER_ID: &str = "bVJpU2x2Q2ozMmZkVE81WA==";

    /// The `params` of the message; checks the frame around them and the size on the way.
    #[track_caller]
    fn params(message: &WireMessage<'_>) -> String {
        let encoded = encode(message);
        assert_eq!(message.shape().encoded_len(message.text), encoded.len());
        serde_json::from_str::<serde_json::Value>(&encoded).expect("well-formed");
        let head =
            format!("{{\"v\":\"1-21\",\"msgId\":\"{MSG_ID}\",\"event\":\"x.msg.new\",\"params\":");
        String::from(encoded.strip_prefix(&head).unwrap().strip_suffix('}').unwrap())
    }

    #[test]
    fn every_escape_is_written_as_the_core_writes_it() {
        let message =
            WireMessage::new(MSG_ID, "\\\"\n\r\t\u{8}\u{c}\0\u{b}\u{1f}\u{7f}/<é\u{2028}😀");
        assert_eq!(
            params(&message),
            "{\"content\":{\"text\":\"\\\\\\\"\\n\\r\\t\\u0008\\u000c\\u0000\\u000b\\u001f\u{7f}/<é\u{2028}😀\",\
             \"type\":\"text\"}}"
        );
    }

    #[test]
    fn all_members_at_once_are_sorted() {
        let mentions = [Mention::new("z", "2"), Mention::new("𠀀", "3"), Mention::new("é", "1")];
        let mut quote = WireQuote::new("q", QUOTED_ID, "2026-11-30T14:50:04Z");
        quote.member_id = Some(MEMBER_ID);
        quote.sent = true;
        let mut message = WireMessage::new(MSG_ID, "t");
        message.mentions = &mentions;
        message.quote = Some(quote);
        message.live = true;
        message.ttl = Some(86_400);
        message.forward = true;
        message.as_group = true;
        message.member_scope = Some(MEMBER_ID);
        assert_eq!(
            params(&message),
            format!(
                "{{\"asGroup\":true,\"content\":{{\"text\":\"t\",\"type\":\"text\"}},\"forward\":true,\
                 \"live\":true,\"mentions\":{{\"z\":{{\"memberId\":\"2\"}},\"é\":{{\"memberId\":\"1\"}},\
                 \"𠀀\":{{\"memberId\":\"3\"}}}},\"quote\":{{\"content\":{{\"text\":\"q\",\
                 \"type\":\"text\"}},\"msgRef\":{{\"memberId\":\"{MEMBER_ID}\",\"msgId\":\"{QUOTED_ID}\",\
                 \"sent\":true,\"sentAt\":\"2026-11-30T14:50:04Z\"}}}},\
                 \"scope\":{{\"memberId\":\"{MEMBER_ID}\",\"type\":\"member\"}},\"ttl\":86400}}"
            )
        );
    }

    #[test]
    fn of_two_mentions_with_one_name_the_last_counts_and_the_size_is_not_below() {
        let mentions = [Mention::new("a", "1"), Mention::new("a", "2")];
        let mut message = WireMessage::new(MSG_ID, "t");
        message.mentions = &mentions;
        let encoded = encode(&message);
        assert!(encoded.contains("\"mentions\":{\"a\":{\"memberId\":\"2\"}}"));
        assert!(message.shape().encoded_len("t") > encoded.len());
    }

    #[test]
    fn debug_shows_lengths_only() {
        let mut message = WireMessage::new(MSG_ID, "secret");
        message.quote = Some(WireQuote::new("hidden", QUOTED_ID, "2026-11-30T14:50:04Z"));
        let shown = format!("{message:?}");
        assert!(shown.contains("text_len: 6"));
        assert!(!shown.contains("secret") && !shown.contains("hidden"));
    }
}
