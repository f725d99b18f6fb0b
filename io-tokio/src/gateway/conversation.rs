//! Ordinary messages: found, sent and read at the chat core.

use core::fmt;

use agentwire_core::chat::{Chat, ContactId, GroupId, ItemId};
use agentwire_core::simplex::command::{ChatRef, Command, Composed, Page, SendOptions};
use agentwire_core::simplex::frame::{Body, ChatItem, Direction};

use crate::client::{Client, CoreCallError, Target};
use crate::reach::{Address, Destination, ReachError, Reached};

/// Messages that are read with one command.
const PAGE: u32 = 100;

/// A message of a conversation.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) item: ItemId,
    /// Who sent it, where that is not plain from the conversation.
    pub(super) from: Option<String>,
    pub(super) is_own: bool,
    pub(super) time: Option<String>,
    pub(super) text: String,
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("item", &self.item)
            .field("is_own", &self.is_own)
            .field("text_len", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// The conversation with a contact, or that of a group.
pub(super) async fn find(client: &Client, address: &Address) -> Result<Chat, ReachError> {
    match Reached::find(client, address).await?.conversation() {
        Some(Destination::Conversation(Target::Contact(ContactId(id)))) => {
            Ok(Chat::Direct(ContactId(id)))
        }
        Some(Destination::Conversation(
            Target::Everyone(GroupId(id)) | Target::Member { group: GroupId(id), .. },
        )) => Ok(Chat::Group(GroupId(id))),
        _ => Err(ReachError::NotConnected),
    }
}

/// Sends a message: its id.
pub(super) async fn send(client: &Client, chat: Chat, text: &str) -> Result<ItemId, CoreCallError> {
    let messages = [Composed::new(text)];
    let send = Command::Send {
        to: ChatRef::from(chat),
        options: SendOptions::default(),
        messages: &messages,
    };
    let answer = client.command(&send).await?;
    match answer.frame().map(|frame| frame.body()) {
        Some(Ok(Body::NewChatItems(mut items))) => match items.next() {
            Some(Ok(item)) => Ok(item.id),
            _ => Err(CoreCallError::Unexpected),
        },
        _ => Err(CoreCallError::Unexpected),
    }
}

/// The newest messages, at most `count`.
pub(super) async fn last(
    client: &Client,
    chat: Chat,
    count: u32,
) -> Result<Vec<Message>, CoreCallError> {
    page(client, chat, Page::Last { count }).await
}

/// The messages after `item`, at most a page of them.
pub(super) async fn after(
    client: &Client,
    chat: Chat,
    item: ItemId,
) -> Result<Vec<Message>, CoreCallError> {
    page(client, chat, Page::After { item, count: PAGE }).await
}

async fn page(client: &Client, chat: Chat, page: Page) -> Result<Vec<Message>, CoreCallError> {
    let answer = client.command(&Command::GetChat { chat: ChatRef::from(chat), page }).await?;
    let Some(Ok(Body::Chat(items))) = answer.frame().map(|frame| frame.body()) else {
        return Err(CoreCallError::Unexpected);
    };
    Ok(items.filter_map(|item| message(&item.ok()?)).collect())
}

/// What can be read: not what is still being written, nor what is no text.
fn message(item: &ChatItem<'_>) -> Option<Message> {
    if item.is_live || item.is_deleted {
        return None;
    }
    let from = match &item.direction {
        Direction::GroupReceived(Some(member)) => Some(member.name.chars().collect()),
        _ => None,
    };
    Some(Message {
        item: item.id,
        from,
        is_own: matches!(item.direction, Direction::DirectSent | Direction::GroupSent),
        time: item.time.map(|time| time.chars().collect()),
        text: item.text?.chars().collect(),
    })
}
