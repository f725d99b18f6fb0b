#![doc = include_str!("../../docs/message-size.md")]

use core::fmt;

use crate::json::length::{EscapedLen, escaped_len, fits};

/// The longest encoded message that the chat core sends, in bytes; a message of exactly this
/// length passes.
///
/// Source: *Agent protocols over SimpleX*, "Message size"; simplex-chat `Protocol.hs`,
/// `maxEncodedMsgLength`.
pub const MAX_ENCODED_MSG_LEN: usize = 15_602;

/// The longest body, in bytes, that a direct connection with post-quantum encryption sends as it
/// is; a longer one is compressed and must fit then.
///
/// Source: simplex-chat `Protocol.hs`, `maxCompressedMsgLength`.
pub const MAX_COMPRESSED_MSG_LEN: usize = 13_380;

/// The longest encoded connection information (a profile sent while connecting), in bytes.
///
/// Source: simplex-chat `Protocol.hs`, `maxEncodedInfoLength`.
pub const MAX_ENCODED_INFO_LEN: usize = 14_694;

/// The longest compressed connection information with post-quantum encryption, in bytes.
///
/// Source: simplex-chat `Protocol.hs`, `maxCompressedInfoLength`.
pub const MAX_COMPRESSED_INFO_LEN: usize = 10_968;

/// How many mentions the core accepts in a message that it is to send.
///
/// Source: simplex-chat `Internal.hs`, `maxSndMentions`.
pub const MAX_SEND_MENTIONS: usize = 3;

/// How many mentions the core keeps of a received message: the first ones in the text.
///
/// Source: simplex-chat `Internal.hs`, `maxRcvMentions`.
pub const MAX_RECEIVE_MENTIONS: usize = 5;

/// The usual length of a `msgId` and of a `memberId` in characters: padded base64url of 16 bytes.
pub const ID_LEN: usize = 24;

/// The length in characters of a version range as today's cores write it, `1-NN`.
pub const VERSION_LEN: usize = 4;

/// The bytes of a plain message around its text, with a version of [`VERSION_LEN`] and a `msgId`
/// of [`ID_LEN`] characters.
pub const PLAIN_OVERHEAD: usize = FRAME + VERSION_LEN + ID_LEN;

/// The bytes that a quote of a received item adds in a direct chat or a channel, without the
/// quoted text.
pub const DIRECT_QUOTE_OVERHEAD: usize = QUOTE + ID_LEN + SentAt::Received.len();

/// The bytes that a quote of a received item adds in a group, without the quoted text.
pub const GROUP_QUOTE_OVERHEAD: usize = DIRECT_QUOTE_OVERHEAD + MEMBER + ID_LEN;

/// The bytes that the first mention adds, with a `memberId` of [`ID_LEN`], without the name.
pub const MENTION_OVERHEAD: usize = MENTIONS + MENTION + ID_LEN;

/// The bytes to keep free in a signed group message; an estimate from the form of the signature.
///
/// Source: simplex-chat `Messages/Batch.hs`, `encodeBatchElement`: tag, chat binding, count, key
/// reference and an Ed25519 signature.
pub const SIGNED_MARGIN: usize = 69;

/// The bytes to keep free in a group message that a relay forwards; an estimate.
///
/// Source: simplex-chat `Protocol.hs`, the 161 bytes taken off for `x.grp.msg.forward`.
pub const RELAYED_MARGIN: usize = 160;

// The parts of the JSON in bytes, each without the values that vary.
const FRAME: usize = 86;
const MENTIONS: usize = 14;
const MENTION: usize = 18;
const QUOTE: usize = 93;
const MEMBER: usize = 14;
const LIVE: usize = 12;
const TTL: usize = 7;
const FORWARD: usize = 15;
const AS_GROUP: usize = 15;
const SCOPE: usize = 40;

/// A member of a group as a message mentions it.
///
/// ```
/// use agentwire_core::chat::size::Mention;
///
/// let mention = Mention::new("acme", "bVJpU2x2Q2ozMmZkVE81WA==");
/// assert_eq!(mention.name, "acme");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Mention<'a> {
    /// The name as it stands in the text after `@`, without quotation marks around it.
    pub name: &'a str,
    /// The `memberId` of the mentioned member, normally of [`ID_LEN`] characters.
    pub member_id: &'a str,
}

impl<'a> Mention<'a> {
    /// A mention of the member with this `memberId` under this name.
    #[must_use]
    pub const fn new(name: &'a str, member_id: &'a str) -> Self {
        Self { name, member_id }
    }
}

impl fmt::Debug for Mention<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mention")
            .field("name_len", &self.name.len())
            .field("member_id_len", &self.member_id.len())
            .finish()
    }
}

/// How precisely the core writes the time of the quoted item.
///
/// ```
/// use agentwire_core::chat::size::SentAt;
///
/// assert_eq!(SentAt::Received.len(), "2026-11-30T14:50:04Z".len());
/// assert_eq!(SentAt::Own.len(), "2026-11-30T14:50:04.279123456Z".len());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SentAt {
    /// A received item: whole seconds, 20 characters.
    Received,
    /// An own sent item: nine digits of a second, 30 characters.
    Own,
    /// The longest form there is: twelve digits of a second, 33 characters.
    Worst,
    /// A time stamp of this many characters.
    Exact(usize),
}

impl SentAt {
    /// The length of the time stamp in characters, all of them ASCII.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a time stamp is never empty")]
    pub const fn len(self) -> usize {
        match self {
            Self::Received => 20,
            Self::Own => 30,
            Self::Worst => 33,
            Self::Exact(len) => len,
        }
    }
}

/// Where a quote stands, which decides whether it names the author of the quoted item.
///
/// ```
/// use agentwire_core::chat::size::{Quote, QuoteKind};
///
/// let direct = Quote::received(0, QuoteKind::Direct).encoded_len();
/// let group = Quote::received(0, QuoteKind::GROUP).encoded_len();
/// assert_eq!((direct, group), (137, 175));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuoteKind {
    /// A direct chat: no `memberId`.
    Direct,
    /// A group: the `memberId` of the quoted item's author, by its length in escaped bytes.
    Group {
        /// Escaped length of the `memberId`, normally [`ID_LEN`].
        member_id_len: usize,
    },
    /// An item that a channel sent as itself: no `memberId`.
    Channel,
}

impl QuoteKind {
    /// A group whose `memberId`s have the usual length.
    pub const GROUP: Self = Self::Group { member_id_len: ID_LEN };

    /// A group, and the `memberId` of the quoted item's author.
    #[must_use]
    pub fn group(member_id: &str) -> Self {
        Self::Group { member_id_len: escaped_len(member_id) }
    }
}

/// The quote in a message, by its lengths.
///
/// ```
/// use agentwire_core::chat::size::{Quote, QuoteKind, SentAt};
/// use agentwire_core::json::length::escaped_len;
///
/// let command = escaped_len(r#"/_call mcp {"id":1}"#);
/// let received = Quote::received(command, QuoteKind::Direct);
/// let own = Quote::own(command, QuoteKind::Direct);
/// assert_eq!(own.encoded_len(), received.encoded_len() + 9);
/// assert_eq!(received.sent_at(SentAt::Worst).encoded_len(), received.encoded_len() + 13);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Quote {
    /// Escaped length of the quoted text in bytes, as the core of the one who quotes holds it.
    pub text_len: usize,
    /// Where the quote stands.
    pub kind: QuoteKind,
    /// Whether the quoted item was sent by the one who quotes it (`sent` on the wire).
    pub sent: bool,
    /// How the quoted item's time is written.
    pub sent_at: SentAt,
    /// Escaped length of the quoted item's `msgId`, normally [`ID_LEN`].
    pub msg_id_len: usize,
}

impl Quote {
    /// A quote of a received item whose text has this escaped length: what a reply carries.
    #[must_use]
    pub const fn received(text_len: usize, kind: QuoteKind) -> Self {
        Self { text_len, kind, sent: false, sent_at: SentAt::Received, msg_id_len: ID_LEN }
    }

    /// A quote of an item of one's own, whose text has this escaped length.
    #[must_use]
    pub const fn own(text_len: usize, kind: QuoteKind) -> Self {
        Self { text_len, kind, sent: true, sent_at: SentAt::Own, msg_id_len: ID_LEN }
    }

    /// The same quote with another form of the time stamp.
    #[must_use]
    pub const fn sent_at(mut self, sent_at: SentAt) -> Self {
        self.sent_at = sent_at;
        self
    }

    /// The same quote with a `msgId` of this escaped length.
    #[must_use]
    pub const fn msg_id_len(mut self, escaped: usize) -> Self {
        self.msg_id_len = escaped;
        self
    }

    /// What the quote adds to the message in bytes, the quoted text included.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        let member = match self.kind {
            QuoteKind::Group { member_id_len } => MEMBER.saturating_add(member_id_len),
            QuoteKind::Direct | QuoteKind::Channel => 0,
        };
        QUOTE
            .saturating_sub(self.sent as usize)
            .saturating_add(member)
            .saturating_add(self.msg_id_len)
            .saturating_add(self.sent_at.len())
            .saturating_add(self.text_len)
    }
}

/// Bytes kept free below the limit for what the core wraps around the message.
///
/// ```
/// use agentwire_core::chat::size::{Margin, MessageShape};
///
/// assert_eq!(Margin::default(), Margin::None);
/// assert_eq!(MessageShape::new().margin(Margin::Relayed).limit(), 15_602 - 160);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Margin {
    /// Nothing: direct chats and groups without relays. The default, since these wrap nothing
    /// around a message, and a margin would refuse what they accept.
    #[default]
    None,
    /// [`SIGNED_MARGIN`]: a group with relays in which messages are signed.
    Signed,
    /// [`RELAYED_MARGIN`]: a channel or public group, whose relays forward the message, signed or
    /// not, and silently drop one that becomes too long.
    Relayed,
    /// This many bytes.
    Bytes(usize),
}

impl Margin {
    /// The margin in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Signed => SIGNED_MARGIN,
            Self::Relayed => RELAYED_MARGIN,
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// What stands in a chat message beside its text, and thereby the exact size of the message.
///
/// ```
/// use agentwire_core::chat::size::{Mention, MessageShape};
///
/// let plain = MessageShape::new();
/// assert_eq!(plain.encoded_len("hello"), 119);
/// assert_eq!(plain.room(), 15_488);
///
/// let mentions = [Mention::new("acme", "bVJpU2x2Q2ozMmZkVE81WA==")];
/// let size = plain.mentions(&mentions).check("/_call @acme mcp {\n}").expect("small enough");
/// assert_eq!((size.bytes(), size.remaining()), (195, 15_407));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageShape<'a> {
    version_len: usize,
    msg_id_len: usize,
    mentions: &'a [Mention<'a>],
    quote: Option<Quote>,
    live: bool,
    ttl: Option<u64>,
    forward: bool,
    as_group: bool,
    member_scope: Option<&'a str>,
    margin: Margin,
}

impl Default for MessageShape<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> MessageShape<'a> {
    /// A plain message: no mention, no quote, no option; the version range and the `msgId` as
    /// today's cores write them ([`VERSION_LEN`], [`ID_LEN`]).
    #[must_use]
    pub const fn new() -> Self {
        Self {
            version_len: VERSION_LEN,
            msg_id_len: ID_LEN,
            mentions: &[],
            quote: None,
            live: false,
            ttl: None,
            forward: false,
            as_group: false,
            member_scope: None,
            margin: Margin::None,
        }
    }

    /// The escaped length of the version range (`v`), where it is known: `"1"` has 1, `"1-21"` 4.
    #[must_use]
    pub const fn version_len(mut self, escaped: usize) -> Self {
        self.version_len = escaped;
        self
    }

    /// The escaped length of the message's own `msgId`.
    #[must_use]
    pub const fn msg_id_len(mut self, escaped: usize) -> Self {
        self.msg_id_len = escaped;
        self
    }

    /// The mentioned members. The names differ (they are the members of one JSON object); a
    /// repeated one is counted each time.
    #[must_use]
    pub const fn mentions(mut self, mentions: &'a [Mention<'a>]) -> Self {
        self.mentions = mentions;
        self
    }

    /// The quote.
    #[must_use]
    pub const fn quote(mut self, quote: Quote) -> Self {
        self.quote = Some(quote);
        self
    }

    /// Whether the message is live, that is, still being written.
    #[must_use]
    pub const fn live(mut self, live: bool) -> Self {
        self.live = live;
        self
    }

    /// The time to live in seconds; the core adds it in a chat with disappearing messages.
    #[must_use]
    pub const fn ttl(mut self, seconds: u64) -> Self {
        self.ttl = Some(seconds);
        self
    }

    /// Whether the message is forwarded from another chat.
    #[must_use]
    pub const fn forward(mut self, forward: bool) -> Self {
        self.forward = forward;
        self
    }

    /// Whether the message is sent in the name of the group.
    #[must_use]
    pub const fn as_group(mut self, as_group: bool) -> Self {
        self.as_group = as_group;
        self
    }

    /// The `memberId` of the member in whose support chat the message is sent.
    #[must_use]
    pub const fn member_scope(mut self, member_id: &'a str) -> Self {
        self.member_scope = Some(member_id);
        self
    }

    /// Bytes to keep free below the limit.
    #[must_use]
    pub const fn margin(mut self, margin: Margin) -> Self {
        self.margin = margin;
        self
    }

    /// The longest encoded message allowed in bytes: [`MAX_ENCODED_MSG_LEN`] less the margin.
    #[must_use]
    pub const fn limit(&self) -> usize {
        MAX_ENCODED_MSG_LEN.saturating_sub(self.margin.bytes())
    }

    /// The bytes of the encoded message without its text; saturates at `usize::MAX`.
    #[must_use]
    pub fn overhead(&self) -> usize {
        let mut len = EscapedLen::new();
        len.add_escaped(FRAME).add_escaped(self.version_len).add_escaped(self.msg_id_len);
        if !self.mentions.is_empty() {
            // A comma stands before each mention but the first.
            len.add_escaped(MENTIONS).add_escaped(self.mentions.len().saturating_sub(1));
        }
        for mention in self.mentions {
            len.add_escaped(MENTION).add(mention.name).add(mention.member_id);
        }
        if let Some(quote) = &self.quote {
            len.add_escaped(quote.encoded_len());
        }
        if let Some(seconds) = self.ttl {
            len.add_escaped(TTL).add_escaped(decimal_digits(seconds));
        }
        if let Some(member_id) = self.member_scope {
            len.add_escaped(SCOPE).add(member_id);
        }
        for (present, bytes) in
            [(self.live, LIVE), (self.forward, FORWARD), (self.as_group, AS_GROUP)]
        {
            len.add_escaped(if present { bytes } else { 0 });
        }
        len.get()
    }

    /// The bytes of the encoded message with this text; saturates at `usize::MAX`.
    #[must_use]
    pub fn encoded_len(&self, text: &str) -> usize {
        self.overhead().saturating_add(escaped_len(text))
    }

    /// The escaped bytes of text that still fit; 0 also when nothing fits.
    #[must_use]
    pub fn room(&self) -> usize {
        self.limit().saturating_sub(self.overhead())
    }

    /// Measures the message with this text against the limit.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] when the encoded message is longer than [`limit`](Self::limit).
    pub fn check(&self, text: &str) -> Result<EncodedSize, TooLarge> {
        self.check_len(escaped_len(text))
    }

    /// Measures the message with a text of this escaped length against the limit.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] when the encoded message is longer than [`limit`](Self::limit).
    pub fn check_len(&self, escaped: usize) -> Result<EncodedSize, TooLarge> {
        EncodedSize::within(self.overhead().saturating_add(escaped), self.limit())
    }
}

const fn decimal_digits(number: u64) -> usize {
    match number.checked_ilog10() {
        Some(log) => (log as usize).saturating_add(1),
        None => 1,
    }
}

/// The size of a message that the core accepts.
///
/// ```
/// use agentwire_core::chat::size::MessageShape;
///
/// let size = MessageShape::new().check("hello").expect("small enough");
/// assert_eq!(size.to_string(), "119 of 15602 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct EncodedSize {
    bytes: usize,
    limit: usize,
}

impl EncodedSize {
    const fn within(bytes: usize, limit: usize) -> Result<Self, TooLarge> {
        if bytes <= limit {
            Ok(Self { bytes, limit })
        } else {
            Err(TooLarge { needed: bytes, limit })
        }
    }

    /// The length of the encoded message in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.bytes
    }

    /// The limit it was measured against in bytes, the margin taken off.
    #[must_use]
    pub const fn limit(self) -> usize {
        self.limit
    }

    /// How many bytes the message may still grow.
    #[must_use]
    pub const fn remaining(self) -> usize {
        self.limit.saturating_sub(self.bytes)
    }
}

impl fmt::Display for EncodedSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.bytes, self.limit)
    }
}

/// The encoded message would be longer than the core sends.
///
/// ```
/// use agentwire_core::chat::size::{MessageShape, TooLarge};
///
/// let text = "x".repeat(15_489);
/// let TooLarge { needed, limit, .. } = MessageShape::new().check(&text).unwrap_err();
/// assert_eq!((needed, limit), (15_603, 15_602));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TooLarge {
    /// The length of the encoded message in bytes.
    pub needed: usize,
    /// The longest length allowed in bytes, the margin taken off.
    pub limit: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message of {} bytes exceeds the limit of {} bytes", self.needed, self.limit)
    }
}

impl core::error::Error for TooLarge {}

/// How much reply a command leaves room for.
///
/// A reply quotes the command it answers, and both count. Today's cores quote the whole command;
/// [`quote_truncated`](Self::quote_truncated) is for cores that cut a quote.
///
/// ```
/// use agentwire_core::chat::size::{QuoteKind, ReplyBudget};
///
/// let command = r#"/_call mcp {"jsonrpc":"2.0","id":1}"#;
/// let budget = ReplyBudget::new(command, QuoteKind::Direct);
/// let reply = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
/// assert!(budget.fits(reply));
/// assert_eq!(budget.needed(reply), 336);
/// assert_eq!(budget.remaining(), 15_602 - 336 + reply.len() + 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplyBudget {
    /// The bytes of the reply's message without the reply's and the quoted text.
    around: usize,
    /// The escaped length of the quoted text.
    quoted: usize,
    limit: usize,
}

impl ReplyBudget {
    /// The budget of a plain reply to a received command of this text, quoted whole.
    #[must_use]
    pub fn new(command: &str, kind: QuoteKind) -> Self {
        Self::for_len(escaped_len(command), kind)
    }

    /// The budget of a plain reply to a received command of this escaped length, quoted whole.
    #[must_use]
    pub fn for_len(command_len: usize, kind: QuoteKind) -> Self {
        Self::for_shape(&MessageShape::new().quote(Quote::received(command_len, kind)))
    }

    /// The budget of a reply of this shape; without a quote, of a message that quotes nothing.
    #[must_use]
    pub fn for_shape(shape: &MessageShape<'_>) -> Self {
        let quoted = shape.quote.map_or(0, |quote| quote.text_len);
        let around = shape.overhead().saturating_sub(quoted);
        Self { around, quoted, limit: shape.limit() }
    }

    /// The same budget where the core cuts the quoted text to at most this many escaped bytes.
    #[must_use]
    pub fn quote_truncated(mut self, escaped: usize) -> Self {
        self.quoted = self.quoted.min(escaped);
        self
    }

    /// The same budget with bytes kept free below the limit.
    #[must_use]
    pub const fn margin(mut self, margin: Margin) -> Self {
        self.limit = MAX_ENCODED_MSG_LEN.saturating_sub(margin.bytes());
        self
    }

    /// The longest encoded message allowed in bytes, the margin taken off.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// The escaped bytes of reply text that fit; 0 also when not even an empty reply does.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.limit.saturating_sub(self.overhead())
    }

    /// Whether a reply with this text fits; reads no more of it than it has to.
    #[must_use]
    pub fn fits(&self, reply: &str) -> bool {
        self.limit.checked_sub(self.overhead()).is_some_and(|room| fits(reply, room))
    }

    /// The length of the encoded message with this reply in bytes; saturates at `usize::MAX`.
    #[must_use]
    pub fn needed(&self, reply: &str) -> usize {
        self.overhead().saturating_add(escaped_len(reply))
    }

    /// Measures the reply against the limit.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] when the encoded message is longer than [`limit`](Self::limit).
    pub fn check(&self, reply: &str) -> Result<EncodedSize, TooLarge> {
        self.check_len(escaped_len(reply))
    }

    /// Measures a reply of this escaped length against the limit.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] when the encoded message is longer than [`limit`](Self::limit).
    pub const fn check_len(&self, escaped: usize) -> Result<EncodedSize, TooLarge> {
        EncodedSize::within(self.overhead().saturating_add(escaped), self.limit)
    }

    /// The bytes of the reply's message without the reply's text, the quoted text included.
    #[must_use]
    pub const fn overhead(&self) -> usize {
        self.around.saturating_add(self.quoted)
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;

    const MEMBER_ID: &str = "bVJpU2x2Q2ozMmZkVE81WA==";

    /// Texts of exactly this escaped length, of several makes.
    fn texts(len: usize) -> [alloc::string::String; 4] {
        let pad = |unit: &str, cost: usize| {
            format!("{}{}", unit.repeat(len / cost), "a".repeat(len % cost))
        };
        [pad("x", 1), pad("\"", 2), pad("\u{8}", 6), pad("漢", 3)]
    }

    /// At the limit, one below and one above, for a shape that leaves this room.
    #[track_caller]
    fn assert_room(shape: MessageShape<'_>, room: usize) {
        assert_eq!(shape.room(), room);
        assert_eq!(shape.overhead(), shape.limit() - room);
        for text in texts(room - 1) {
            let size = shape.check(&text).unwrap();
            assert_eq!((size.bytes(), size.remaining()), (shape.limit() - 1, 1));
        }
        for text in texts(room) {
            let size = shape.check(&text).unwrap();
            assert_eq!((size.bytes(), size.remaining()), (shape.limit(), 0));
            assert_eq!(size.limit(), shape.limit());
        }
        for text in texts(room + 1) {
            let error = shape.check(&text).unwrap_err();
            assert_eq!((error.needed, error.limit), (shape.limit() + 1, shape.limit()));
        }
    }

    #[test]
    fn plain_text_leaves_15_488_bytes() {
        assert_eq!(PLAIN_OVERHEAD, 114);
        assert_room(MessageShape::new(), 15_488);
        assert_room(MessageShape::new().version_len(1), 15_491);
        assert_room(MessageShape::new().msg_id_len(30), 15_482);
    }

    #[test]
    fn a_mention_takes_56_bytes_and_its_name() {
        assert_eq!(MENTION_OVERHEAD, 56);
        let mentions = [
            Mention::new("acme", MEMBER_ID),
            Mention::new("Jos\u{e9} B", MEMBER_ID),
            Mention::new("\"", "short"),
        ];
        assert_room(MessageShape::new().mentions(&mentions[..1]), 15_488 - 60);
        assert_room(MessageShape::new().mentions(&mentions[..2]), 15_488 - 60 - 43 - 7);
        assert_room(MessageShape::new().mentions(&mentions), 15_488 - 60 - 50 - 26);
    }

    #[test]
    fn a_quote_and_the_reply_share_what_is_left() {
        assert_eq!((DIRECT_QUOTE_OVERHEAD, GROUP_QUOTE_OVERHEAD), (137, 175));
        for quoted in [0, 1, 7_000, 15_000] {
            let quote = |kind| MessageShape::new().quote(Quote::received(quoted, kind));
            assert_room(quote(QuoteKind::Direct), 15_351 - quoted);
            assert_room(quote(QuoteKind::Channel), 15_351 - quoted);
            assert_room(quote(QuoteKind::GROUP), 15_313 - quoted);
            assert_room(quote(QuoteKind::group("short")), 15_313 + 19 - quoted);
        }
    }

    #[test]
    fn the_quoted_items_time_and_owner_change_the_size() {
        let direct = Quote::received(0, QuoteKind::Direct);
        let shape = |quote| MessageShape::new().quote(quote);
        assert_room(shape(Quote::own(0, QuoteKind::Direct)), 15_351 - 9);
        assert_room(shape(Quote::own(0, QuoteKind::GROUP)), 15_313 - 9);
        assert_room(shape(direct.sent_at(SentAt::Worst)), 15_351 - 13);
        assert_room(shape(direct.sent_at(SentAt::Exact(24))), 15_351 - 4);
        assert_room(shape(direct.msg_id_len(10)), 15_351 + 14);
    }

    #[test]
    fn each_option_has_its_size() {
        let plain = MessageShape::new();
        assert_room(plain.live(true), 15_488 - 12);
        assert_room(plain.forward(true), 15_488 - 15);
        assert_room(plain.as_group(true), 15_488 - 15);
        assert_room(plain.member_scope(MEMBER_ID), 15_488 - 64);
        for (seconds, digits) in [(0, 1), (9, 1), (10, 2), (86_400, 5), (u64::MAX, 20)] {
            assert_room(plain.ttl(seconds), 15_488 - 7 - digits);
        }
        assert_room(plain.live(false).forward(false).as_group(false), 15_488);
    }

    #[test]
    fn a_margin_lowers_the_limit_and_none_is_the_default() {
        assert_eq!(MessageShape::new().limit(), MAX_ENCODED_MSG_LEN);
        assert_room(MessageShape::new().margin(Margin::Signed), 15_488 - 69);
        assert_room(MessageShape::new().margin(Margin::Relayed), 15_488 - 160);
        assert_room(MessageShape::new().margin(Margin::Bytes(512)), 15_488 - 512);
        let all = MessageShape::new().margin(Margin::Bytes(usize::MAX));
        assert_eq!((all.limit(), all.room()), (0, 0));
        assert_eq!(all.check("").unwrap_err(), TooLarge { needed: 114, limit: 0 });
    }

    #[test]
    fn a_reply_budget_counts_the_whole_command() {
        let command = "\"".repeat(3_500);
        let budget = ReplyBudget::new(&command, QuoteKind::Direct);
        assert_eq!(budget.limit(), 15_602);
        assert_eq!(budget.remaining(), 15_351 - 7_000);
        for (len, fits) in [(8_350, true), (8_351, true), (8_352, false)] {
            for reply in texts(len) {
                assert_eq!(budget.fits(&reply), fits);
                assert_eq!(budget.needed(&reply), 15_602 - 8_351 + len);
                assert_eq!(budget.check(&reply).is_ok(), fits);
            }
        }
        assert_eq!(ReplyBudget::new(&command, QuoteKind::GROUP).remaining(), 15_313 - 7_000);
    }

    #[test]
    fn a_truncated_quote_leaves_more() {
        let budget = ReplyBudget::for_len(5_000, QuoteKind::GROUP);
        assert_eq!(budget.quote_truncated(5_001).remaining(), 15_313 - 5_000);
        assert_eq!(budget.quote_truncated(4_999).remaining(), 15_313 - 4_999);
        assert_eq!(budget.quote_truncated(0).remaining(), 15_313);
        assert_eq!(budget.margin(Margin::Relayed).remaining(), 15_313 - 5_000 - 160);
    }

    #[test]
    fn a_command_that_fills_the_message_leaves_no_reply() {
        let full = ReplyBudget::for_len(15_351, QuoteKind::Direct);
        assert_eq!(full.remaining(), 0);
        assert!(full.fits("") && !full.fits("x"));
        let over = ReplyBudget::for_len(15_352, QuoteKind::Direct);
        assert_eq!(over.remaining(), 0);
        assert!(!over.fits(""));
        assert_eq!(over.check("").unwrap_err(), TooLarge { needed: 15_603, limit: 15_602 });
        let huge = ReplyBudget::for_len(usize::MAX, QuoteKind::GROUP);
        assert_eq!((huge.needed("x"), huge.fits("")), (usize::MAX, false));
    }

    #[test]
    fn a_budget_of_a_shape_keeps_what_the_shape_has() {
        let shape = MessageShape::new()
            .quote(Quote::received(100, QuoteKind::GROUP).sent_at(SentAt::Worst))
            .ttl(86_400)
            .margin(Margin::Signed);
        let budget = ReplyBudget::for_shape(&shape);
        assert_eq!((budget.remaining(), budget.limit()), (shape.room(), shape.limit()));
        assert_eq!(budget.quote_truncated(40).remaining(), shape.room() + 60);
        let plain = ReplyBudget::for_shape(&MessageShape::new());
        assert_eq!(plain.quote_truncated(1).remaining(), 15_488);
    }

    #[test]
    fn debug_and_display_show_lengths_only() {
        let shown = format!("{:?}", Mention::new("secret name", "id"));
        assert_eq!(shown, "Mention { name_len: 11, member_id_len: 2 }");
        let error = MessageShape::new().check_len(15_489).unwrap_err();
        assert_eq!(error.to_string(), "message of 15603 bytes exceeds the limit of 15602 bytes");
    }
}
