//! Both machines with bounded queues, for drivers that own what they handle (feature `alloc`).
//!
//! A [`Session`] is one profile that calls and answers. Its contract is that of a sans-IO session:
//!
//! 1. Change it once: hand in an input, make a call, give an answer.
//! 2. Take outputs with [`poll_output`](Session::poll_output) until it gives
//!    [`Output::Timeout`], which is always the last one.
//! 3. Do what they say, and wait for the next input or for the timeout, whichever comes first.
//!
//! ```text
//!   items ───────────▶ ┌───────────────────────────┐ ──▶ Output::Transmit  a message to send
//!   sent, not sent ──▶ │ Caller · Responder        │ ──▶ Output::Event     what the application learns
//!   time ────────────▶ │ replies that came early   │ ──▶ Output::Timeout   when to come back
//!   call, respond… ──▶ └───────────────────────────┘
//! ```
//!
//! Replies that arrive before the chat core has named the command's own id are kept, at most
//! [`SessionConfig::max_early`] of them, and taken up as soon as it has.
//!
//! A full queue refuses further items with [`SessionError::QueueFull`] and changes nothing: a
//! driver takes outputs first, and so hands the pressure back to where the items come from. What
//! the chat core says of a message that the session itself sent is always taken.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::caller::{
    Call, CallError, CallId, Caller, CallerConfig, Handled, ReplyError, SentError, TimedOut,
};
use super::command::{Head, Parsed};
use super::responder::{
    AnswerError, FAILURE_BUFFER, Ignored, Received, RespondError, Responder, ResponderConfig,
    Service, Token, TokenKey,
};
use super::size::{EncodedSize, ReplyBudget, TooLarge};
use super::{Chat, GroupMemberId, Growable, Item, ItemId, Quoted, Sender, Transmit};
use crate::binding::{Binding, Class, End, Failure, Foreign, ProtocolName};
use crate::json::BufferTooSmall;
use crate::time::Instant;

/// The limits of a [`Session`].
///
/// ```
/// use agentwire_core::chat::session::SessionConfig;
/// assert_eq!(SessionConfig::default().max_queued, 1_024);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SessionConfig {
    /// The caller's limits.
    pub caller: CallerConfig,
    /// The responder's limits.
    pub responder: ResponderConfig,
    /// How many calls can be open at once; 4,096 by default.
    pub max_calls: usize,
    /// How many commands can be open at once; 1,024 by default.
    pub max_requests: usize,
    /// How many outputs wait to be taken; 1,024 by default.
    pub max_queued: usize,
    /// How many replies are kept that came before the id of their command; 256 by default.
    pub max_early: usize,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            caller: CallerConfig::default(),
            responder: ResponderConfig::default(),
            max_calls: 4_096,
            max_requests: 1_024,
            max_queued: 1_024,
            max_early: 256,
        }
    }
}

/// What happened.
///
/// ```
/// use agentwire_core::chat::{ContactId, Item, ItemId, session::Input};
/// let item = Item::direct(ContactId(4), ItemId(7), "hello");
/// assert!(matches!(Input::Item(&item), Input::Item(_)));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Input<'i> {
    /// Somebody's message has arrived, or a new text of one.
    Item(&'i Item<'i>),
    /// The chat core has sent a command.
    Sent {
        /// Which call's.
        call: CallId,
        /// Its own id.
        item: ItemId,
        /// Its shared id, where it is known.
        shared_msg_id: Option<&'i str>,
    },
    /// The chat core has refused to send a message.
    NotSent {
        /// Which one.
        origin: Origin,
    },
}

/// What a message is that is to be sent.
///
/// ```
/// use agentwire_core::chat::session::Origin;
/// assert_eq!(Origin::Refusal, Origin::Refusal);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Origin {
    /// The command of a call.
    Command(CallId),
    /// An answer to a request; whether it is the last one.
    Answer(TokenKey, bool),
    /// An error for a command that was refused at once.
    Refusal,
    /// A last answer that an earlier process had given, or an earlier connection did not take.
    Stored,
}

/// A message to send.
///
/// ```
/// use agentwire_core::chat::session::Message;
/// fn show(message: &Message) -> String {
///     format!("{} bytes to {}", message.size.bytes(), message.chat)
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// What it is.
    pub origin: Origin,
    /// Where to send it.
    pub chat: Chat,
    /// Its text.
    pub text: String,
    /// What the whole message takes once the chat core has encoded it.
    pub size: EncodedSize,
    /// The item that it has to quote.
    pub quotes: Option<ItemId>,
    /// The member that it mentions.
    pub mention: Option<(String, GroupMemberId)>,
}

impl Message {
    fn new(origin: Origin, transmit: &Transmit<'_>) -> Self {
        Self {
            origin,
            chat: transmit.chat,
            text: transmit.text.into(),
            size: transmit.size,
            quotes: transmit.quotes,
            mention: transmit.mention.map(|(name, member)| (name.into(), member)),
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("origin", &self.origin)
            .field("chat", &self.chat)
            .field("text_len", &self.text.len())
            .field("quotes", &self.quotes)
            .finish_non_exhaustive()
    }
}

/// What a reply is to its call: [`Class`] without borrows.
///
/// ```
/// use agentwire_core::binding::End;
/// use agentwire_core::chat::session::ReplyKind;
/// assert!(ReplyKind::Last(End::Answer).is_last());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReplyKind {
    /// A notification before the last reply, of this method.
    Notification(String),
    /// Part of a stream, and what the stream can be resumed with.
    Part(Option<String>),
    /// The last reply of its sender.
    Last(End),
    /// Not a message of the protocol: collected as text.
    Text(Foreign),
}

impl ReplyKind {
    /// Whether nothing more is to come from this sender.
    pub const fn is_last(&self) -> bool {
        matches!(self, Self::Last(_))
    }
}

impl From<Class<'_>> for ReplyKind {
    fn from(class: Class<'_>) -> Self {
        match class {
            Class::Notification { method } => Self::Notification(method.chars().collect()),
            Class::Part { resume } => Self::Part(resume.map(|id| id.chars().collect())),
            Class::Last(end) => Self::Last(end),
            Class::Foreign(foreign) => Self::Text(foreign),
        }
    }
}

/// A reply to a call. See [`caller::Reply`](super::caller::Reply).
///
/// ```
/// use agentwire_core::chat::session::Reply;
/// fn show(reply: &Reply) -> String {
///     format!("{:?} from {:?}", reply.kind, reply.sender)
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The call.
    pub call: CallId,
    /// Who replies.
    pub sender: Sender,
    /// The reply's own id.
    pub item: ItemId,
    /// What it is to the call.
    pub kind: ReplyKind,
    /// The reply itself.
    pub text: String,
    /// Whether this is a new text of a reply that was there before.
    pub edited: bool,
    /// Whether the call has ended with it.
    pub is_end: bool,
    /// Whether the stream broke off where it can be resumed.
    pub is_resumable: bool,
}

impl From<super::caller::Reply<'_>> for Reply {
    fn from(reply: super::caller::Reply<'_>) -> Self {
        Self {
            call: reply.call,
            sender: reply.sender,
            item: reply.item,
            kind: reply.class.into(),
            text: reply.text.into(),
            edited: reply.edited,
            is_end: reply.is_end,
            is_resumable: reply.is_resumable,
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("call", &self.call)
            .field("sender", &self.sender)
            .field("item", &self.item)
            .field("kind", &self.kind)
            .field("text_len", &self.text.len())
            .field("is_end", &self.is_end)
            .finish_non_exhaustive()
    }
}

/// A command to answer. See [`responder::Request`](super::responder::Request).
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::Request;
/// fn show(request: &Request<Standard>) -> String {
///     format!("{} bytes from {:?}", request.text.len(), request.sender)
/// }
/// ```
#[non_exhaustive]
pub struct Request<B> {
    /// With which to answer.
    pub token: Token,
    /// The protocol.
    pub binding: B,
    /// The protocol's request, one JSON object.
    pub text: String,
    /// The JSON text with which an answer names the request, where the protocol has one.
    pub id: Option<String>,
    /// The conversation.
    pub chat: Chat,
    /// Who asks.
    pub sender: Sender,
    /// The command's item.
    pub item: ItemId,
    /// Encoded bytes that one reply has for its text.
    pub room: usize,
}

impl<B: fmt::Debug> fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("token", &self.token)
            .field("binding", &self.binding)
            .field("text_len", &self.text.len())
            .field("chat", &self.chat)
            .field("sender", &self.sender)
            .finish_non_exhaustive()
    }
}

/// What the application learns.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::Event;
/// fn is_request(event: &Event<Standard>) -> bool {
///     matches!(event, Event::Request(_))
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<B> {
    /// A reply to an open call.
    Reply(Reply),
    /// A reply to a call, or of a sender, that has ended.
    Late(Reply),
    /// A reply of somebody who was not called.
    Stranger {
        /// The call that it quotes.
        call: CallId,
        /// Who sent it.
        sender: Sender,
        /// Its own id.
        item: ItemId,
    },
    /// A call's wait is over.
    TimedOut(TimedOut),
    /// The chat core has refused to send a call's command: the call has ended.
    NotSent(CallId),
    /// A reply that there was no room to follow; its call stays open.
    Overflow {
        /// The reply's own id.
        item: ItemId,
        /// Which limit it met.
        error: ReplyError,
    },
    /// A command to answer.
    Request(Request<B>),
    /// A command was answered with an error at once.
    Refused {
        /// The conversation.
        chat: Chat,
        /// Who sent it.
        sender: Sender,
        /// The command's item.
        item: ItemId,
        /// Why, in a word: [`Failure::reason`].
        reason: &'static str,
    },
    /// A command's limit has passed, and the error was sent.
    Expired(TokenKey),
    /// A command that was not answered: not for this profile, malformed, or without room for any
    /// answer.
    Unanswered {
        /// The conversation.
        chat: Chat,
        /// The command's item.
        item: ItemId,
        /// Why.
        why: Unanswered,
    },
}

/// Why a command was not answered.
///
/// ```
/// use agentwire_core::chat::responder::Ignored;
/// use agentwire_core::chat::session::Unanswered;
/// assert_ne!(Unanswered::Ignored(Ignored::OtherMember), Unanswered::NoRoom);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unanswered {
    /// It is for somebody else.
    Ignored(Ignored),
    /// It breaks the grammar.
    Malformed(super::command::CommandError),
    /// No answer would fit beside its quote.
    NoRoom,
}

/// What there is to do.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::{Output, Session, SessionConfig};
/// let mut session = Session::<Standard>::new(SessionConfig::default(), Vec::new());
/// assert!(matches!(session.poll_output(), Output::Timeout(None)));
/// ```
#[derive(Debug)]
#[must_use]
#[allow(clippy::exhaustive_enums)]
pub enum Output<B> {
    /// Send this message. For a command, say afterwards that it was [sent](Input::Sent); for any
    /// message, that it was [not](Input::NotSent).
    Transmit(Message),
    /// The application learns this.
    Event(Event<B>),
    /// Nothing more is to be done before the next input or this time.
    Timeout(Option<Instant>),
}

/// Why an input was not taken. Nothing has changed: take outputs, and hand it in again.
///
/// ```
/// use agentwire_core::chat::session::SessionError;
/// let error = SessionError::QueueFull { capacity: 1_024 };
/// assert_eq!(error.to_string(), "1024 outputs wait to be taken, no more can");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// As many outputs wait as can.
    QueueFull {
        /// How many.
        capacity: usize,
    },
    /// As many replies as can be kept wait for the ids of their commands.
    TooManyEarly {
        /// How many.
        capacity: usize,
    },
    /// The command's own id was not taken.
    Sent(SentError),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueueFull { capacity } => {
                write!(f, "{capacity} outputs wait to be taken, no more can")
            }
            Self::TooManyEarly { capacity } => {
                write!(f, "{capacity} replies wait for the ids of their commands, no more can")
            }
            Self::Sent(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SessionError {}

/// A protocol that the profile declares, with the versions it serves.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::Declared;
/// let declared = Declared::new(Standard::A2A, ["1.0"]);
/// assert_eq!(declared.versions(), ["1.0"]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declared<B> {
    binding: B,
    versions: Vec<String>,
}

impl<B> Declared<B> {
    /// A protocol in these versions, in the order of preference.
    pub fn new<V: Into<String>>(binding: B, versions: impl IntoIterator<Item = V>) -> Self {
        Self { binding, versions: versions.into_iter().map(Into::into).collect() }
    }

    /// The protocol.
    pub fn binding(&self) -> &B {
        &self.binding
    }

    /// The versions.
    pub fn versions(&self) -> &[String] {
        &self.versions
    }
}

/// A reply that came before the id of its command, kept whole.
struct Early {
    chat: Chat,
    sender: Sender,
    id: ItemId,
    text: Box<str>,
    quoted_item: Option<ItemId>,
    quoted_shared: Option<Box<str>>,
    edited: bool,
}

impl Early {
    fn new(item: &Item<'_>) -> Self {
        Self {
            chat: item.chat,
            sender: item.sender,
            id: item.id,
            text: item.text.into(),
            quoted_item: item.quote.and_then(|quote| quote.item),
            quoted_shared: item.quote.and_then(|quote| quote.shared_msg_id).map(Into::into),
            edited: item.edited,
        }
    }

    fn item(&self) -> Item<'_> {
        let mut item = Item::new(self.chat, self.sender, self.id, &self.text);
        item.quote = Some(Quoted::new(true, self.quoted_item, self.quoted_shared.as_deref()));
        item.edited = self.edited;
        item
    }
}

/// One profile that calls and answers. See the [module](self).
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::{ContactId, Item, ItemId};
/// use agentwire_core::chat::session::{Declared, Event, Input, Output, Session, SessionConfig};
/// use agentwire_core::time::Instant;
///
/// let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
/// let mut session = Session::new(SessionConfig::default(), declared);
/// let now = Instant::from_millis(0);
///
/// let text = r#"/_call a2a {"jsonrpc":"2.0","id":2,"method":"GetTask","params":{"id":"t"},"a2a-service-parameters":{"A2A-Version":"1.0"}}"#;
/// session.handle_input(now, Input::Item(&Item::direct(ContactId(4), ItemId(17), text))).unwrap();
/// let Output::Event(Event::Request(request)) = session.poll_output() else { panic!() };
///
/// let reply = r#"{"jsonrpc":"2.0","id":2,"result":{"id":"t"}}"#;
/// session.respond(now, request.token, reply).unwrap();
/// let Output::Transmit(message) = session.poll_output() else { panic!() };
/// assert_eq!((message.text.as_str(), message.quotes), (reply, Some(ItemId(17))));
/// assert!(matches!(session.poll_output(), Output::Timeout(None)));
/// ```
pub struct Session<B> {
    caller: Caller<B, Growable>,
    responder: Responder<B, Growable>,
    declared: Vec<Declared<B>>,
    outputs: VecDeque<Output<B>>,
    early: VecDeque<Early>,
    /// How many of the early replies, from the front, are to be looked at again.
    retry: usize,
    max_queued: usize,
    max_early: usize,
    is_stopping: bool,
    /// Where the machines write errors.
    scratch: Vec<u8>,
    now: Instant,
}

impl<B: Binding> Session<B> {
    /// A session that declares these protocols.
    pub fn new(config: SessionConfig, declared: Vec<Declared<B>>) -> Self {
        Self {
            caller: Caller::with_limit(config.caller, config.max_calls),
            responder: Responder::with_limit(config.responder, config.max_requests),
            declared,
            outputs: VecDeque::new(),
            early: VecDeque::new(),
            retry: 0,
            max_queued: config.max_queued,
            max_early: config.max_early,
            is_stopping: false,
            scratch: vec![0; FAILURE_BUFFER],
            now: Instant::ZERO,
        }
    }

    /// Hands in what happened.
    ///
    /// # Errors
    /// [`SessionError`]; nothing has changed then.
    pub fn handle_input(&mut self, now: Instant, input: Input<'_>) -> Result<(), SessionError> {
        self.now = self.now.max(now);
        match input {
            Input::Item(item) => {
                self.room()?;
                self.item(item)
            }
            // These belong to a message that has left the queue, and are never refused for want
            // of room in it.
            Input::Sent { call, item, shared_msg_id } => {
                self.caller
                    .handle_sent(self.now, call, item, shared_msg_id)
                    .map_err(SessionError::Sent)?;
                self.retry = self.early.len();
                Ok(())
            }
            Input::NotSent { origin } => {
                if let Origin::Command(call) = origin {
                    if self.caller.handle_not_sent(self.now, call).is_ok() {
                        self.outputs.push_back(Output::Event(Event::NotSent(call)));
                    }
                    self.retry = self.early.len();
                }
                Ok(())
            }
        }
    }

    /// Moves time on; time never runs backwards. What is due comes with the next outputs.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// What there is to do next. [`Output::Timeout`] is the last one.
    pub fn poll_output(&mut self) -> Output<B> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return output;
            }
            if self.retry > 0 {
                self.retry = self.retry.saturating_sub(1);
                if let Some(early) = self.early.pop_front() {
                    if !self.reply(&early.item()) {
                        self.early.push_back(early);
                    }
                }
                continue;
            }
            if let Some(end) = self.caller.handle_timeout(self.now) {
                // Nobody may be waited for any more whose reply came early.
                self.retry = self.early.len();
                return Output::Event(Event::TimedOut(end));
            }
            if let Some(output) = self.expire() {
                return output;
            }
            return Output::Timeout(self.poll_timeout());
        }
    }

    /// Makes a call.
    ///
    /// # Errors
    /// [`CallError`], with [`CallError::Full`] also when as many outputs wait as can; nothing has
    /// changed then.
    pub fn call<'c>(&mut self, now: Instant, call: &Call<'c, B>) -> Result<CallId, CallError<'c>> {
        self.room().map_err(|_| CallError::Full { capacity: self.max_queued })?;
        self.now = self.now.max(now);
        let name = match call.to {
            super::caller::To::Member { name, .. } => name.len(),
            _ => 0,
        };
        // The keyword, a quoted name, the protocol, a line feed and the spaces between.
        let len =
            call.request.len().saturating_add(name).saturating_add(call.binding.name().get().len());
        let mut buffer = vec![0; len.saturating_add(16)];
        let (id, transmit) = self.caller.call(self.now, call, &mut buffer)?;
        self.outputs.push_back(Output::Transmit(Message::new(Origin::Command(id), &transmit)));
        Ok(id)
    }

    /// Stops waiting for a call. `false` if it is not open.
    pub fn cancel(&mut self, call: CallId) -> bool {
        let was_open = self.caller.cancel(call);
        self.retry = self.early.len();
        was_open
    }

    /// Gives a reply that is not the last one.
    ///
    /// # Errors
    /// [`AnswerError`]; nothing has changed then. `Ok` says whether the answer goes on: a part of
    /// a stream that does not fit has been replaced by an error that ends it.
    pub fn notify(
        &mut self,
        now: Instant,
        token: &Token,
        text: &str,
    ) -> Result<Option<TooLarge>, NotifyError> {
        self.room().map_err(NotifyError::Session)?;
        self.now = self.now.max(now);
        let now = self.now;
        loop {
            match self.responder.notify(now, token, text, &mut self.scratch) {
                Ok(answer) => {
                    let origin = Origin::Answer(token.key(), answer.replaced.is_some());
                    let message = Message::new(origin, &answer.transmit);
                    self.outputs.push_back(Output::Transmit(message));
                    return Ok(answer.replaced);
                }
                Err(AnswerError::Buffer(error)) => grow(&mut self.scratch, error),
                Err(error) => return Err(NotifyError::Answer(error)),
            }
        }
    }

    /// Gives the last reply. `Ok` says what did not fit, if an error has replaced it.
    ///
    /// Answers are never refused for want of room in the queue: there are no more of them than
    /// open commands.
    ///
    /// # Errors
    /// [`RespondError`] with the token; nothing has changed then.
    pub fn respond(
        &mut self,
        now: Instant,
        token: Token,
        text: &str,
    ) -> Result<Option<TooLarge>, RespondError> {
        self.now = self.now.max(now);
        let now = self.now;
        let origin = Origin::Answer(token.key(), true);
        let mut token = token;
        loop {
            match self.responder.respond(now, token, text, &mut self.scratch) {
                Ok(answer) => {
                    let message = Message::new(origin, &answer.transmit);
                    self.outputs.push_back(Output::Transmit(message));
                    return Ok(answer.replaced);
                }
                Err(RespondError { token: back, cause: AnswerError::Buffer(error) }) => {
                    token = back;
                    grow(&mut self.scratch, error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Answers with the binding's error.
    ///
    /// # Errors
    /// [`RespondError`] with the token; nothing has changed then.
    pub fn fail(
        &mut self,
        now: Instant,
        token: Token,
        failure: &Failure<'_>,
    ) -> Result<(), RespondError> {
        self.now = self.now.max(now);
        let now = self.now;
        let origin = Origin::Answer(token.key(), true);
        let mut token = token;
        loop {
            match self.responder.fail(now, token, failure, &mut self.scratch) {
                Ok(transmit) => {
                    let message = Message::new(origin, &transmit);
                    self.outputs.push_back(Output::Transmit(message));
                    return Ok(());
                }
                Err(RespondError { token: back, cause: AnswerError::Buffer(error) }) => {
                    token = back;
                    grow(&mut self.scratch, error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What a text is to the command. `None` when the command has been answered.
    pub fn classify<'t>(&self, token: &Token, text: &'t str) -> Option<Class<'t>> {
        self.responder.classify(token, text)
    }

    /// How much one reply to the command can hold. `None` when the command has been answered.
    pub fn budget(&self, token: &Token) -> Option<ReplyBudget> {
        self.responder.budget(token)
    }

    /// A last answer to this command that was given before and may not have been sent.
    ///
    /// # Errors
    /// [`TooLarge`]: the command has a longer text now.
    pub fn answer_again(&self, item: &Item<'_>, text: &str) -> Result<Message, TooLarge> {
        let size = self.responder.budget_of(item).check(text)?;
        let transmit = Transmit::reply(item.chat, item.id, text, size);
        Ok(Message::new(Origin::Stored, &transmit))
    }

    /// When the first limit of an open call or command passes: the time that
    /// [`Output::Timeout`] gives.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timeouts = [self.caller.poll_timeout(), self.responder.poll_timeout()];
        timeouts.into_iter().flatten().min()
    }

    /// How many calls are open.
    pub fn open_calls(&self) -> usize {
        self.caller.open()
    }

    /// How many commands are open.
    pub fn open_requests(&self) -> usize {
        self.responder.open()
    }

    /// Takes no new commands: they are answered with [`Failure::Stopping`]. Open ones can still be
    /// answered; once [`open_requests`](Self::open_requests) is zero nobody is waiting.
    pub fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Adds a protocol, or states other versions of one that is declared.
    pub fn declare(&mut self, declared: Declared<B>) {
        self.declared.retain(|known| known.binding.name() != declared.binding.name());
        self.declared.push(declared);
    }

    /// Takes a protocol back: further commands for it meet silence, open ones can still be
    /// answered. `false` if it is not declared.
    pub fn retract(&mut self, protocol: ProtocolName<'_>) -> bool {
        let before = self.declared.len();
        self.declared.retain(|known| known.binding.name() != protocol);
        self.declared.len() < before
    }

    /// One item: a reply, or a command.
    fn item(&mut self, item: &Item<'_>) -> Result<(), SessionError> {
        if item.quote.is_some_and(|quote| quote.is_own) {
            let capacity = self.max_early;
            let has_room = self.early.len() < capacity;
            if !self.reply(item) {
                if !has_room {
                    return Err(SessionError::TooManyEarly { capacity });
                }
                self.early.push_back(Early::new(item));
            }
        }
        self.command(item);
        Ok(())
    }

    /// `false` if it may be a reply to a command whose id is not known yet.
    fn reply(&mut self, item: &Item<'_>) -> bool {
        let event = match self.caller.handle_reply(self.now, item) {
            Ok(Handled::Reply(reply)) => Event::Reply(reply.into()),
            Ok(Handled::Late(reply)) => Event::Late(reply.into()),
            Ok(Handled::Stranger(call)) => {
                Event::Stranger { call, sender: item.sender, item: item.id }
            }
            Ok(Handled::Unbound) => return false,
            Ok(Handled::Duplicate(_) | Handled::Unknown | Handled::NotAReply) => return true,
            Err(error) => Event::Overflow { item: item.id, error },
        };
        self.outputs.push_back(Output::Event(event));
        true
    }

    fn command(&mut self, item: &Item<'_>) {
        let head = Head::parse(item.text);
        // An edited command may be one no longer, and is quoted with its new text all the same.
        if !item.edited && matches!(head, Ok(Parsed::NotACommand)) {
            return;
        }
        // Of what is declared it needs the protocol that it names.
        let named = match head {
            Ok(Parsed::Head(head)) => {
                self.declared.iter().find(|declared| declared.binding.name() == head.protocol)
            }
            _ => None,
        };
        let versions: Vec<&str> = named
            .iter()
            .flat_map(|declared| declared.versions.iter().map(String::as_str))
            .collect();
        let service = named.map(|declared| Service::new(declared.binding, &versions));
        let services = service.as_slice();
        let (chat, id) = (item.chat, item.id);
        let unanswered = |why| Output::Event(Event::Unanswered { chat, item: id, why });
        loop {
            let out = &mut self.scratch;
            match self.responder.handle_command(self.now, item, services, out) {
                Ok(Received::Request(request)) if self.is_stopping => {
                    let (sender, reason) = (item.sender, Failure::Stopping.reason());
                    // The command was just accepted, so its token is good and an error fits.
                    if self.fail(self.now, request.token, &Failure::Stopping).is_ok() {
                        let event = Event::Refused { chat, sender, item: id, reason };
                        self.outputs.push_back(Output::Event(event));
                    }
                }
                Ok(Received::Request(request)) => {
                    let request = Request {
                        token: request.token,
                        binding: request.binding,
                        text: request.text.into(),
                        id: request.id.map(Into::into),
                        chat: request.chat,
                        sender: request.sender,
                        item: request.item,
                        room: request.room,
                    };
                    self.outputs.push_back(Output::Event(Event::Request(request)));
                }
                Ok(Received::Answered { transmit, failure }) => {
                    let message = Message::new(Origin::Refusal, &transmit);
                    self.outputs.push_back(Output::Transmit(message));
                    let (sender, reason) = (item.sender, failure.reason());
                    let event = Event::Refused { chat, sender, item: id, reason };
                    self.outputs.push_back(Output::Event(event));
                }
                Ok(Received::Ignored(why)) => {
                    self.outputs.push_back(unanswered(Unanswered::Ignored(why)));
                }
                Ok(Received::Malformed(error)) => {
                    self.outputs.push_back(unanswered(Unanswered::Malformed(error)));
                }
                Ok(Received::Unanswerable { .. }) => {
                    self.outputs.push_back(unanswered(Unanswered::NoRoom));
                }
                Ok(Received::Duplicate | Received::NotACommand) => {}
                Err(error) => {
                    grow(&mut self.scratch, error);
                    continue;
                }
            }
            return;
        }
    }

    /// The error for one command whose limit has passed; the event follows it.
    fn expire(&mut self) -> Option<Output<B>> {
        let (token, message) = loop {
            match self.responder.handle_timeout(self.now, &mut self.scratch) {
                Ok(None) => return None,
                Ok(Some(expired)) => {
                    let origin = Origin::Answer(expired.token, true);
                    break (expired.token, Message::new(origin, &expired.transmit));
                }
                Err(error) => grow(&mut self.scratch, error),
            }
        };
        self.outputs.push_back(Output::Event(Event::Expired(token)));
        Some(Output::Transmit(message))
    }

    fn room(&self) -> Result<(), SessionError> {
        let capacity = self.max_queued;
        if self.outputs.len() < capacity {
            Ok(())
        } else {
            Err(SessionError::QueueFull { capacity })
        }
    }
}

impl<B: Binding> fmt::Debug for Session<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("caller", &self.caller)
            .field("responder", &self.responder)
            .field("outputs", &self.outputs.len())
            .field("early", &self.early.len())
            .finish_non_exhaustive()
    }
}

/// Why a reply that is not the last one was not taken.
///
/// ```
/// use agentwire_core::chat::responder::AnswerError;
/// use agentwire_core::chat::session::NotifyError;
/// let error = NotifyError::Answer(AnswerError::Gone);
/// assert_eq!(error.to_string(), "the command has been answered");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotifyError {
    /// The machine does not take it.
    Answer(AnswerError),
    /// There is no room for it now.
    Session(SessionError),
}

impl fmt::Display for NotifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(error) => error.fmt(f),
            Self::Session(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NotifyError {}

/// Makes room for what did not fit.
fn grow(buffer: &mut Vec<u8>, error: BufferTooSmall) {
    buffer.resize(error.needed.max(buffer.len().saturating_add(1)), 0);
}

#[cfg(test)]
mod tests;
