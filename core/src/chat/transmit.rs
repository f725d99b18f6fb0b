//! What a machine asks its driver to send.

use core::fmt;

use super::size::EncodedSize;
use super::{Chat, GroupMemberId, ItemId};

/// A message to send: the machine's output. One message each, since the chat core takes one quote
/// per send.
///
/// The text is borrowed, from the caller's buffer or from what a handler gave. `Debug` shows its
/// length only.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::caller::{Call, Caller, To};
/// use agentwire_core::chat::{Chat, ContactId, Inline};
/// use agentwire_core::time::Instant;
///
/// let mut caller = Caller::<Standard, Inline<4>>::default();
/// let call = Call::new(Standard::MCP, To::Contact(ContactId(4)), r#"{"jsonrpc":"2.0","id":1,
///     "method":"tools/list","params":{"_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#);
/// let mut buffer = [0; 512];
/// let (id, transmit) = caller.call(Instant::ZERO, &call, &mut buffer).unwrap();
/// assert_eq!(transmit.chat, Chat::Direct(ContactId(4)));
/// assert!(transmit.text.starts_with("/_call mcp {"));
/// assert!(transmit.size.bytes() < 400);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "the message has to be sent"]
#[non_exhaustive]
pub struct Transmit<'o> {
    /// Where to send it.
    pub chat: Chat,
    /// The text of the message.
    pub text: &'o str,
    /// What the whole message takes once the chat core has encoded it.
    pub size: EncodedSize,
    /// The item that the message has to quote.
    pub quotes: Option<ItemId>,
    /// The member that the message mentions: the name as it stands in the text without quotes,
    /// and the id for the chat core's `mentions`.
    pub mention: Option<(&'o str, GroupMemberId)>,
}

impl<'o> Transmit<'o> {
    /// A reply to an item.
    pub(super) fn reply(chat: Chat, item: ItemId, text: &'o str, size: EncodedSize) -> Self {
        Self { chat, text, size, quotes: Some(item), mention: None }
    }
}

impl fmt::Debug for Transmit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transmit")
            .field("chat", &self.chat)
            .field("text_len", &self.text.len())
            .field("size", &self.size)
            .field("quotes", &self.quotes)
            .field("mention", &self.mention.map(|(_, member)| member))
            .finish()
    }
}
