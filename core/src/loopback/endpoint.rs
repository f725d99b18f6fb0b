//! A session on a profile of the loopback: the loop that every driver turns.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{ComposedMessage, Event, Loopback, ProfileId, ReceivedItem, SendError};
use crate::binding::Binding;
use crate::chat::session::{self, Input, Message, Origin, Output, Session, SessionError};
use crate::chat::{Chat, Item, ItemId, Mention, Quoted};
use crate::time::Instant;

/// What has happened at an [`Endpoint`].
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::loopback::Step;
/// fn is_idle(step: &Step<Standard>) -> bool {
///     matches!(step, Step::Timeout(_))
/// }
/// ```
#[derive(Debug)]
#[allow(clippy::exhaustive_enums)]
pub enum Step<B> {
    /// The session has sent a message.
    Sent(SentMessage),
    /// The chat core has refused to send one; the session knows.
    NotSent(Message, SendError),
    /// The application learns this.
    Event(session::Event<B>),
    /// Nothing is to be done before the next input or this time.
    Timeout(Option<Instant>),
}

/// A message that was sent.
///
/// ```
/// use agentwire_core::loopback::SentMessage;
/// fn show(sent: &SentMessage) -> String {
///     format!("{} of 15,602 bytes", sent.encoded_len)
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SentMessage {
    /// What it is.
    pub origin: Origin,
    /// Where it was sent.
    pub chat: Chat,
    /// Its own id.
    pub item: ItemId,
    /// The item that it quotes.
    pub quotes: Option<ItemId>,
    /// Its text.
    pub text: String,
    /// The bytes of the encoded message.
    pub encoded_len: usize,
}

impl fmt::Debug for SentMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentMessage")
            .field("origin", &self.origin)
            .field("chat", &self.chat)
            .field("item", &self.item)
            .field("text_len", &self.text.len())
            .field("encoded_len", &self.encoded_len)
            .finish_non_exhaustive()
    }
}

/// A [`Session`] that speaks through a profile of the [`Loopback`].
///
/// Change it once (a call, an answer, time), then [`poll`](Self::poll) until [`Step::Timeout`].
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::caller::{Call, To};
/// use agentwire_core::chat::session::{Declared, Event, Session, SessionConfig};
/// use agentwire_core::loopback::{Endpoint, Loopback, Step};
/// use agentwire_core::time::Instant;
///
/// let mut net = Loopback::new(1);
/// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// let (to_bot, _) = net.connect(ann, bot).unwrap();
/// let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
/// let mut bot = Endpoint::new(bot, Session::new(SessionConfig::default(), declared));
/// let mut ann = Endpoint::new(ann, Session::new(SessionConfig::default(), Vec::new()));
/// let now = Instant::from_millis(0);
///
/// let request = r#"{"jsonrpc":"2.0","id":2,"method":"GetTask","params":{"id":"t"},
///     "a2a-service-parameters":{"A2A-Version":"1.0"}}"#;
/// ann.session_mut().call(now, &Call::new(Standard::A2A, To::Contact(to_bot), request)).unwrap();
/// assert!(matches!(ann.poll(&mut net, now), Step::Sent(_)));
///
/// let Step::Event(Event::Request(request)) = bot.poll(&mut net, now) else { panic!() };
/// let reply = r#"{"jsonrpc":"2.0","id":2,"result":{"id":"t"}}"#;
/// bot.session_mut().respond(now, request.token, reply).unwrap();
/// assert!(matches!(bot.poll(&mut net, now), Step::Sent(_)));
///
/// let Step::Event(Event::Reply(reply)) = ann.poll(&mut net, now) else { panic!() };
/// assert!(reply.is_end);
/// ```
pub struct Endpoint<B> {
    profile: ProfileId,
    session: Session<B>,
    /// An item that the session had no room for.
    held: Option<ReceivedItem>,
}

impl<B: Binding> Endpoint<B> {
    /// A session on this profile.
    pub const fn new(profile: ProfileId, session: Session<B>) -> Self {
        Self { profile, session, held: None }
    }

    /// The profile.
    pub const fn profile(&self) -> ProfileId {
        self.profile
    }

    /// The session.
    pub const fn session(&self) -> &Session<B> {
        &self.session
    }

    /// The session, to change it.
    pub const fn session_mut(&mut self) -> &mut Session<B> {
        &mut self.session
    }

    /// Takes one step: a message of the session goes out, or one that has arrived goes in.
    pub fn poll(&mut self, net: &mut Loopback, now: Instant) -> Step<B> {
        net.handle_timeout(now);
        self.session.handle_timeout(now);
        loop {
            match self.session.poll_output() {
                Output::Transmit(message) => return self.send(net, now, message),
                Output::Event(event) => return Step::Event(event),
                Output::Timeout(timeout) => {
                    let Some(item) = self.next_item(net) else {
                        let timeouts = [timeout, net.poll_timeout()];
                        return Step::Timeout(timeouts.into_iter().flatten().min());
                    };
                    if hand_in(&mut self.session, net, self.profile, now, &item).is_err() {
                        // It is taken once the session has room again: nothing is lost.
                        self.held = Some(item);
                        return Step::Timeout(timeout);
                    }
                }
            }
        }
    }

    fn next_item(&mut self, net: &mut Loopback) -> Option<ReceivedItem> {
        if let Some(item) = self.held.take() {
            return Some(item);
        }
        loop {
            match net.poll_event(self.profile)? {
                Event::NewItem(item) | Event::ItemUpdated(item) => return Some(item),
                Event::ItemDeleted { .. } | Event::ItemStatus { .. } | Event::Member { .. } => {}
            }
        }
    }

    fn send(&mut self, net: &mut Loopback, now: Instant, message: Message) -> Step<B> {
        let mention = message.mention.as_ref().map(|(name, member)| (name.as_str(), *member));
        let mut composed = ComposedMessage::new(&message.text).mentions(mention.as_slice());
        composed.quoted_item = message.quotes;
        let sent = match net.send(now, self.profile, message.chat, composed) {
            Ok(sent) => sent,
            Err(error) => {
                let input = Input::NotSent { origin: message.origin };
                let _ = self.session.handle_input(now, input);
                return Step::NotSent(message, error);
            }
        };
        if let Origin::Command(call) = message.origin {
            let shared_msg_id = Some(sent.shared_msg_id.get());
            // A call that was cancelled meanwhile needs no id.
            let _ = self
                .session
                .handle_input(now, Input::Sent { call, item: sent.item, shared_msg_id });
        }
        Step::Sent(SentMessage {
            origin: message.origin,
            chat: message.chat,
            item: sent.item,
            quotes: message.quotes,
            text: message.text,
            encoded_len: sent.encoded_len,
        })
    }
}

impl<B: Binding> fmt::Debug for Endpoint<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("profile", &self.profile)
            .field("session", &self.session)
            .field("held", &self.held.is_some())
            .finish()
    }
}

/// Hands an item of the loopback to a session.
fn hand_in<B: Binding>(
    session: &mut Session<B>,
    net: &Loopback,
    profile: ProfileId,
    now: Instant,
    received: &ReceivedItem,
) -> Result<(), SessionError> {
    let mentions: Vec<Mention<'_>> = received
        .mentions
        .iter()
        .map(|mention| Mention::new(&mention.name, mention.member.get()))
        .collect();
    let mut item = Item::new(received.chat, received.sender, received.item, &received.text)
        .mentioning(&mentions)
        .at(&received.item_ts);
    item.edited = received.edited;
    item.ttl = received.ttl.map(u64::from);
    item.quote = received.quote.as_ref().map(|quote| {
        let shared = Some(quote.shared_msg_id.get());
        Quoted::new(quote.direction.is_own(), quote.item, shared)
    });
    if let Chat::Group(group) = received.chat {
        item.me = net.me(profile, group);
    }
    session.handle_input(now, Input::Item(&item))
}

#[cfg(test)]
mod tests;
