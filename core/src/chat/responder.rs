//! The responder machine: commands in, replies out ("Commands", "Replies", "Message size").
//!
//! One [`Responder`] serves all conversations of a profile. A command goes through these states:
//!
//! ```text
//!         handle_command()
//!               │
//!   not for us ─┤ silence: another member, a protocol that is not declared, an ordinary message
//!      broken ──┤ Answered: the protocol's error, with the id where it could be read
//!        full ──┤ Answered: the protocol's error
//!               │ Request, with a Token
//!               ▼
//!         ┌──────────┐  notify(): a notification or part of a stream;
//!    ┌──▶ │ Answering│  the idle limit starts anew
//!    └─── └──────────┘
//!               │  respond(): the last reply, or the protocol's error in its place if it
//!               │             does not fit
//!               │  notify(): a part that does not fit ends the stream with that error
//!               │  fail(): the protocol's error
//!               │  · a limit passes: handle_timeout() gives the protocol's error
//!               ▼
//!         ┌──────────┐
//!         │ Answered │  the same command again is a Duplicate
//!         └──────────┘
//! ```
//!
//! So each accepted command has at least one answer, exactly one that is the last, and none after
//! it. Replies are sent in the order in which the methods return them.
//!
//! | method | kind |
//! |---|---|
//! | [`notify`](Responder::notify), [`respond`](Responder::respond), [`fail`](Responder::fail) | what the application wants |
//! | [`handle_command`](Responder::handle_command), [`handle_timeout`](Responder::handle_timeout) | what happened |
//! | [`poll_timeout`](Responder::poll_timeout) | when to come back; changes after each of the above |
//! | [`open`](Responder::open), [`capacity`](Responder::capacity), [`budget`](Responder::budget) | getters |
//!
//! # Who is meant
//!
//! A command without a mention is for everybody. With one, the member id decides that the chat
//! core gives for the written name. Today's chat core finds no mentions in a command of one line;
//! then the name decides: a bot takes it for itself if it is its own display name in that group
//! exactly, and no other member it knows bears the same. A mention is never taken for a broadcast.
//!
//! # The order of checks
//!
//! grammar → protocol → who is meant → seen before → the binding's own checks → room for an
//! answer → room in the table.
//!
//! # Edited commands
//!
//! A command is answered once. Its new text is no new command, but the chat core quotes the new
//! text from then on, so the room for the replies follows it.
//!
//! # When a limit passes
//!
//! A limit ends a command when [`handle_timeout`](Responder::handle_timeout) says so: an answer
//! that comes after the limit and before that is taken.

use core::fmt;
use core::time::Duration;

use super::command::{CommandError, CommandErrorKind, Head, MEMBER_OFFSET, Parsed};
use super::failure::{check_failure, shortest_failure};
use super::size::{
    EncodedSize, Margin, MessageShape, Quote, QuoteKind, ReplyBudget, SentAt, TooLarge,
};
use super::{Chat, ContactId, GroupId, Item, ItemId, Sender, Storage, Transmit};
use crate::binding::{Binding, Class, Expectation, Failure, Foreign, Refusal};
use crate::json::length::escaped_len;
use crate::json::{BufferTooSmall, Writer};
use crate::table::{Full, Hasher, Keyed, Table, Text, Ticket};
use crate::time::Instant;

/// A buffer of this many bytes holds every error of the standard bindings with
/// [`Inline`](super::Inline) storage, if the versions that a bot serves take at most 64 bytes
/// in all.
pub const FAILURE_BUFFER: usize = 512;

/// A protocol that a bot serves.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::responder::Service;
/// let service = Service::new(Standard::MCP, &["2026-07-28"]);
/// assert_eq!(service.versions, ["2026-07-28"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Service<'c, B> {
    /// The protocol.
    pub binding: B,
    /// The versions that the bot serves, in its order of preference.
    pub versions: &'c [&'c str],
}

impl<'c, B> Service<'c, B> {
    /// A protocol in these versions.
    pub const fn new(binding: B, versions: &'c [&'c str]) -> Self {
        Self { binding, versions }
    }
}

/// The limits of a [`Responder`].
///
/// ```
/// use agentwire_core::chat::responder::ResponderConfig;
/// use core::time::Duration;
/// assert_eq!(ResponderConfig::default().idle, Duration::from_secs(120));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ResponderConfig {
    /// How long a handler has until its last reply; eight minutes by default, which is less than
    /// what a [`Caller`](super::caller::Caller) waits by default.
    pub overall: Duration,
    /// How long a handler may stay silent; two minutes by default.
    pub idle: Duration,
    /// How much of a command the chat core quotes, in encoded bytes. `None`, the default, is all
    /// of it, as today's cores do.
    pub quote_limit: Option<usize>,
    /// What to keep free in groups; nothing by default.
    pub group_margin: Margin,
}

impl Default for ResponderConfig {
    fn default() -> Self {
        Self {
            overall: Duration::from_secs(480),
            idle: Duration::from_secs(120),
            quote_limit: None,
            group_margin: Margin::None,
        }
    }
}

/// The right, and the duty, to answer one command. It is moved into the last answer, so that a
/// second one does not compile.
///
/// ```compile_fail
/// # use agentwire_core::{binding::Standard, chat::{Inline, responder::{Responder, Token}}, time::Instant};
/// fn twice(responder: &mut Responder<Standard, Inline<1>>, token: Token, now: Instant) {
///     let _ = responder.respond(now, token, "{}", &mut []);
///     let _ = responder.respond(now, token, "{}", &mut []);
/// }
/// ```
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a command that nobody answers gets an error when its limit passes"]
pub struct Token(Ticket);

impl Token {
    /// A key of the token, for a driver's own tables.
    pub fn key(&self) -> TokenKey {
        TokenKey(self.0)
    }
}

/// The name of a [`Token`]: it can be copied and compared, and gives no right to answer.
///
/// ```
/// # use agentwire_core::chat::responder::{Token, TokenKey};
/// fn remember(token: &Token, table: &mut std::collections::BTreeMap<TokenKey, u32>) {
///     table.insert(token.key(), 1);
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TokenKey(Ticket);

/// A command to answer, borrowed from the item.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::responder::Request;
/// fn show(request: &Request<'_, Standard>) -> String {
///     format!("{} bytes, {} left for the reply", request.text.len(), request.room)
/// }
/// ```
#[non_exhaustive]
pub struct Request<'m, B> {
    /// With which to answer.
    pub token: Token,
    /// The protocol.
    pub binding: B,
    /// The protocol's request, one JSON object.
    pub text: &'m str,
    /// The JSON text with which an answer names the request, where the protocol has one.
    pub id: Option<&'m str>,
    /// The conversation.
    pub chat: Chat,
    /// Who asks.
    pub sender: Sender,
    /// The command's item.
    pub item: ItemId,
    /// Encoded bytes that one reply has for its text.
    pub room: usize,
}

impl<B: fmt::Debug> fmt::Debug for Request<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("token", &self.token)
            .field("binding", &self.binding)
            .field("text_len", &self.text.len())
            .field("chat", &self.chat)
            .field("sender", &self.sender)
            .field("item", &self.item)
            .field("room", &self.room)
            .finish()
    }
}

/// What an item is to the bot.
///
/// ```
/// # use agentwire_core::binding::Standard;
/// # use agentwire_core::chat::{ContactId, Inline, Item, ItemId};
/// # use agentwire_core::chat::responder::{Received, Responder};
/// # use agentwire_core::time::Instant;
/// let mut responder = Responder::<Standard, Inline<1>>::default();
/// let item = Item::direct(ContactId(4), ItemId(7), "hello");
/// let received = responder.handle_command(Instant::ZERO, &item, &[], &mut []).unwrap();
/// assert!(matches!(received, Received::NotACommand));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Received<'m, 'o, B> {
    /// A command to answer.
    Request(Request<'m, B>),
    /// A command that gets the protocol's error at once: send it.
    Answered {
        /// The error.
        transmit: Transmit<'o>,
        /// What it says.
        failure: Failure<'m>,
    },
    /// The command of an item that has been handled, or a new text of one: nothing is to be done.
    /// The open commands are known, the last 8 that have been answered, and of those before up to
    /// 64 where the storage has room for them beside the open ones.
    Duplicate,
    /// A command that is not answered.
    Ignored(Ignored),
    /// The text begins as a command and breaks the grammar: nobody is known to be called by it.
    Malformed(CommandError),
    /// The command leaves no room for any answer that quotes it.
    Unanswerable {
        /// Encoded bytes that a reply would have.
        room: usize,
        /// Encoded bytes that the protocol's shortest error takes.
        needed: usize,
    },
    /// An ordinary message, or a command of another grammar.
    NotACommand,
}

/// Why a command is not answered.
///
/// ```
/// use agentwire_core::chat::responder::Ignored;
/// assert_ne!(Ignored::OtherMember, Ignored::UndeclaredProtocol);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Ignored {
    /// The bot does not serve the protocol.
    UndeclaredProtocol,
    /// Another member is mentioned, as far as the bot can tell.
    OtherMember,
    /// The mention is the bot's own name, which another member bears too, and the chat core did
    /// not say whose it is.
    AmbiguousName,
}

/// Why an answer was not taken.
///
/// ```
/// use agentwire_core::binding::Foreign;
/// use agentwire_core::chat::responder::AnswerError;
/// assert_eq!(AnswerError::Gone.to_string(), "the command has been answered");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AnswerError {
    /// The command has been answered: its limit has passed, or its stream was ended with an error.
    Gone,
    /// The text is not a message of the protocol that answers the request.
    NotAnAnswer(Foreign),
    /// [`respond`](Responder::respond) was given a reply that is not a last one.
    NotLast,
    /// [`notify`](Responder::notify) was given a last reply.
    IsLast,
    /// The notification does not fit into one message; the answer goes on without it. For a part
    /// or a last reply: neither does the error of a binding of a user's own in its place.
    TooLarge(TooLarge),
    /// The buffer is too short for the error that has to be written.
    Buffer(BufferTooSmall),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the command has been answered"),
            Self::NotAnAnswer(foreign) => write!(f, "not an answer to the request: {foreign}"),
            Self::NotLast => f.write_str("not a last reply"),
            Self::IsLast => f.write_str("a last reply, which respond takes"),
            Self::TooLarge(error) => error.fmt(f),
            Self::Buffer(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AnswerError {}

/// A last answer that was not taken, with the token back so that another one can be given.
///
/// ```
/// use agentwire_core::chat::responder::RespondError;
/// fn why(error: &RespondError) -> String {
///     error.cause.to_string()
/// }
/// ```
#[derive(PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RespondError {
    /// The right to answer; after [`AnswerError::Gone`] it is worth nothing.
    pub token: Token,
    /// Why.
    pub cause: AnswerError,
}

impl fmt::Display for RespondError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl core::error::Error for RespondError {}

/// An answer to send.
///
/// ```
/// use agentwire_core::chat::responder::Answer;
/// fn was_replaced(answer: &Answer<'_>) -> bool {
///     answer.replaced.is_some()
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the answer has to be sent"]
#[non_exhaustive]
pub struct Answer<'o> {
    /// The message.
    pub transmit: Transmit<'o>,
    /// What did not fit, if the binding's error stands in the place of what the handler gave. The
    /// command is answered then.
    pub replaced: Option<TooLarge>,
}

/// A command that is being answered.
struct Open<B, T> {
    chat: Chat,
    item: ItemId,
    binding: B,
    expected: Expectation,
    id: Option<T>,
    budget: ReplyBudget,
    overall: Instant,
}

fn hash(chat: Chat, item: ItemId) -> u32 {
    let (kind, id) = match chat {
        Chat::Direct(ContactId(id)) => (0, id),
        Chat::Group(GroupId(id)) => (1, id),
    };
    Hasher::new().int(id).int(kind).int(item.0).finish()
}

/// The last commands that have been answered: one that got an error at once has no entry, and the
/// entry of another may be in use again.
#[derive(Default)]
struct Recent {
    items: [Option<(Chat, ItemId)>; 8],
}

impl Recent {
    fn has(&self, chat: Chat, item: ItemId) -> bool {
        self.items.contains(&Some((chat, item)))
    }

    fn add(&mut self, chat: Chat, item: ItemId) {
        self.items.rotate_right(1);
        if let Some(place) = self.items.first_mut() {
            *place = Some((chat, item));
        }
    }
}

impl<B, T> Keyed for Open<B, T> {
    fn hashes(&self) -> [Option<u32>; 2] {
        [Some(hash(self.chat, self.item)), None]
    }
}

/// The responder machine. See the [module](self).
///
/// `B` is the bindings it speaks, usually [`Standard`](crate::binding::Standard); `S` is where it
/// keeps the open commands: [`Inline<N>`](super::Inline) or, with `alloc`, `Growable`.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::{ContactId, Inline, Item, ItemId};
/// use agentwire_core::chat::responder::{Received, Responder, Service};
/// use agentwire_core::time::Instant;
///
/// let mut responder = Responder::<Standard, Inline<16>>::default();
/// let services = [Service::new(Standard::A2A, &["1.0"])];
/// let now = Instant::from_millis(0);
/// let mut buffer = [0; 512];
///
/// let text = r#"/_call a2a {"jsonrpc":"2.0","id":2,"method":"GetTask","params":{"id":"t-1"},"a2a-service-parameters":{"A2A-Version":"1.0"}}"#;
/// let item = Item::direct(ContactId(4), ItemId(17), text);
/// let received = responder.handle_command(now, &item, &services, &mut buffer).unwrap();
/// let Received::Request(request) = received else { panic!() };
/// assert_eq!(request.id, Some("2"));
///
/// let reply = r#"{"jsonrpc":"2.0","id":2,"result":{"id":"t-1"}}"#;
/// let answer = responder.respond(now, request.token, reply, &mut buffer).unwrap();
/// assert_eq!(answer.transmit.text, reply);
/// assert_eq!(answer.transmit.quotes, Some(ItemId(17)));
/// ```
pub struct Responder<B, S: Storage> {
    open: Table<Open<B, S::Text>, S>,
    recent: Recent,
    config: ResponderConfig,
    now: Instant,
}

impl<B: Binding, S: Storage> Default for Responder<B, S> {
    /// The default limits, and as many commands as the storage has room for: at most 1,024.
    fn default() -> Self {
        Self::with_limit(ResponderConfig::default(), 1_024)
    }
}

impl<B: Binding, S: Storage> Responder<B, S> {
    /// A machine for at most `limit` open commands, or fewer where the storage has less room.
    pub fn with_limit(config: ResponderConfig, limit: usize) -> Self {
        Self { open: Table::new(limit), recent: Recent::default(), config, now: Instant::ZERO }
    }

    /// Somebody's message. `services` are the protocols that the bot declares; `out` holds an
    /// error that is to be sent at once, if there is one. See [`Received`] for what it can be.
    ///
    /// # Errors
    /// [`BufferTooSmall`] when an error has to be written and `out` is short; nothing has changed
    /// then, and the same call succeeds with a larger buffer.
    pub fn handle_command<'m, 'o>(
        &mut self,
        now: Instant,
        item: &Item<'m>,
        services: &'m [Service<'m, B>],
        out: &'o mut [u8],
    ) -> Result<Received<'m, 'o, B>, BufferTooSmall> {
        self.advance(now);
        let is_it = |open: &Open<B, S::Text>| open.chat == item.chat && open.item == item.id;
        let known = self.open.find(0, hash(item.chat, item.id), is_it);
        if let (true, Some((ticket, true))) = (item.edited, known) {
            self.requote(ticket, item);
            return Ok(Received::Duplicate);
        }
        let head = match Head::parse(item.text) {
            Ok(Parsed::Head(head)) => head,
            Ok(Parsed::NotACommand) => return Ok(Received::NotACommand),
            Err(error) => return Ok(Received::Malformed(error)),
        };
        if head.member.is_some() && !item.chat.is_group() {
            let kind = CommandErrorKind::MemberInDirectChat;
            return Ok(Received::Malformed(CommandError::new(kind, MEMBER_OFFSET)));
        }
        let Some(service) = services.iter().find(|service| service.binding.name() == head.protocol)
        else {
            return Ok(Received::Ignored(Ignored::UndeclaredProtocol));
        };
        if let Some(ignored) = head.member.and_then(|name| not_for_us(name, item)) {
            return Ok(Received::Ignored(ignored));
        }
        if item.edited || known.is_some() || self.recent.has(item.chat, item.id) {
            return Ok(Received::Duplicate);
        }

        let budget = self.budget_of(item);
        let binding = service.binding;
        let (accepted, id) = match binding.accept(head.request, service.versions, item.chat.into())
        {
            Ok(accepted) => (Ok(accepted), accepted.id),
            Err(Refusal { failure, id }) => (Err(failure), id),
        };
        // An id that cannot be kept is not repeated either, so that errors are of bounded length.
        let id = id.filter(|id| S::Text::LIMIT.is_none_or(|limit| id.len() <= limit));
        // Whatever happens to the handler, an error has to fit.
        let room = budget.remaining();
        if let Err(needed) = check_failure(binding, id, room) {
            return Ok(Received::Unanswerable { room, needed });
        }
        let failure = match accepted {
            Err(failure) => failure,
            Ok(accepted) => match accepted.id.map(S::Text::keep).transpose() {
                Err(limit) => {
                    let len = accepted.id.map_or(0, str::len);
                    Failure::IdTooLong { len, limit }
                }
                Ok(id) => {
                    let overall = self.now.saturating_add(self.config.overall);
                    let deadline = overall.min(self.now.saturating_add(self.config.idle));
                    let open = Open {
                        chat: item.chat,
                        item: item.id,
                        binding,
                        expected: accepted.expected,
                        id,
                        budget,
                        overall,
                    };
                    match self.open.insert(deadline, open) {
                        Ok(ticket) => {
                            return Ok(Received::Request(Request {
                                token: Token(ticket),
                                binding,
                                text: head.request,
                                id: accepted.id,
                                chat: item.chat,
                                sender: item.sender,
                                item: item.id,
                                room: budget.remaining(),
                            }));
                        }
                        Err(Full { capacity }) => Failure::Busy { capacity },
                    }
                }
            },
        };
        match write_failure(binding, &failure, id, &budget, out)? {
            Ok((len, size)) => {
                self.recent.add(item.chat, item.id);
                let transmit = Transmit::reply(item.chat, item.id, text_of(out, len), size);
                Ok(Received::Answered { transmit, failure })
            }
            // A binding of a user's own whose errors take more than its shortest one promised.
            Err(_) => Ok(Received::Unanswerable { room, needed: shortest_failure(binding, id) }),
        }
    }

    /// The last answer has been given.
    fn end(&mut self, ticket: Ticket) {
        if let Some(open) = self.open.get(ticket) {
            self.recent.add(open.chat, open.item);
        }
        self.open.end(ticket);
    }

    /// The chat core quotes an edited command with its new text.
    fn requote(&mut self, ticket: Ticket, item: &Item<'_>) {
        let budget = self.budget_of(item);
        let Some(open) = self.open.get_mut(ticket) else { return };
        let id = open.id.as_ref().map(Text::get);
        // A command that its sender makes unanswerable is answered as if it had not: what the
        // chat core then refuses to send is the sender's own loss.
        if check_failure(open.binding, id, budget.remaining()).is_ok() {
            open.budget = budget;
        }
    }

    /// A reply that is not the last one: a notification, or part of a stream. It is sent as it is.
    /// A part of a stream that does not fit ends the stream: the binding's error stands in its
    /// place then, written into `out`, and the command is answered.
    ///
    /// # Errors
    /// [`AnswerError`]; nothing has changed then.
    pub fn notify<'o>(
        &mut self,
        now: Instant,
        token: &Token,
        text: &'o str,
        out: &'o mut [u8],
    ) -> Result<Answer<'o>, AnswerError> {
        self.advance(now);
        let open = self.open.get(token.0).ok_or(AnswerError::Gone)?;
        let is_part = match open.binding.classify(&open.expected, text) {
            Class::Notification { .. } => false,
            Class::Part { .. } => true,
            Class::Last(_) => return Err(AnswerError::IsLast),
            Class::Foreign(foreign) => return Err(AnswerError::NotAnAnswer(foreign)),
        };
        match open.budget.check(text) {
            Ok(size) => {
                let transmit = Transmit::reply(open.chat, open.item, text, size);
                let deadline = open.overall.min(self.now.saturating_add(self.config.idle));
                self.open.set_deadline(token.0, deadline);
                Ok(Answer { transmit, replaced: None })
            }
            Err(error) if is_part => {
                let answer = self.replace(token.0, error, out)?;
                self.end(token.0);
                Ok(answer)
            }
            Err(error) => Err(AnswerError::TooLarge(error)),
        }
    }

    /// The last reply. It is sent as it is; if it does not fit, the binding's error stands in its
    /// place, written into `out`.
    ///
    /// # Errors
    /// [`RespondError`] with the token; nothing has changed then.
    pub fn respond<'o>(
        &mut self,
        now: Instant,
        token: Token,
        text: &'o str,
        out: &'o mut [u8],
    ) -> Result<Answer<'o>, RespondError> {
        self.advance(now);
        match self.last_answer(&token, text, out) {
            Ok(answer) => {
                self.end(token.0);
                Ok(answer)
            }
            Err(cause) => Err(RespondError { token, cause }),
        }
    }

    fn last_answer<'o>(
        &self,
        token: &Token,
        text: &'o str,
        out: &'o mut [u8],
    ) -> Result<Answer<'o>, AnswerError> {
        let open = self.open.get(token.0).ok_or(AnswerError::Gone)?;
        match open.binding.classify(&open.expected, text) {
            Class::Last(_) => {}
            Class::Notification { .. } | Class::Part { .. } => return Err(AnswerError::NotLast),
            Class::Foreign(foreign) => return Err(AnswerError::NotAnAnswer(foreign)),
        }
        match open.budget.check(text) {
            Ok(size) => {
                let transmit = Transmit::reply(open.chat, open.item, text, size);
                Ok(Answer { transmit, replaced: None })
            }
            Err(error) => self.replace(token.0, error, out),
        }
    }

    /// The handler has failed, or will not answer: the binding's error is the last reply, written
    /// into `out`.
    ///
    /// # Errors
    /// [`RespondError`] with the token, when `out` is short or the command has been answered.
    pub fn fail<'o>(
        &mut self,
        now: Instant,
        token: Token,
        failure: &Failure<'_>,
        out: &'o mut [u8],
    ) -> Result<Transmit<'o>, RespondError> {
        self.advance(now);
        match self.failed(token.0, failure, out) {
            Ok(transmit) => {
                self.end(token.0);
                Ok(transmit)
            }
            Err(cause) => Err(RespondError { token, cause }),
        }
    }

    /// Moves time on. Returns the error for a command whose limit has passed, written into `out`,
    /// if there is one: repeat until `None`. A call of this without need does nothing, and time
    /// never runs backwards.
    ///
    /// # Errors
    /// [`BufferTooSmall`]: the command stays open, and the same call succeeds with a larger buffer.
    pub fn handle_timeout<'o>(
        &mut self,
        now: Instant,
        out: &'o mut [u8],
    ) -> Result<Option<Expired<'o>>, BufferTooSmall> {
        self.advance(now);
        loop {
            let Some((deadline, ticket)) = self.open.earliest() else { return Ok(None) };
            let Some(open) = self.open.get(ticket) else { return Ok(None) };
            if deadline > self.now {
                return Ok(None);
            }
            let (chat, item) = (open.chat, open.item);
            let id = open.id.as_ref().map(Text::get);
            let written = write_failure(open.binding, &Failure::TimedOut, id, &open.budget, out)?;
            self.end(ticket);
            // A binding of a user's own may write errors that do not fit; nothing can be said then.
            if let Ok((len, size)) = written {
                let transmit = Transmit::reply(chat, item, text_of(out, len), size);
                return Ok(Some(Expired { token: TokenKey(ticket), transmit }));
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.open.earliest().map(|(deadline, _)| deadline)
    }

    /// What a text is to the command, without sending it. `None` when the command has been
    /// answered.
    pub fn classify<'t>(&self, token: &Token, text: &'t str) -> Option<Class<'t>> {
        let open = self.open.get(token.0)?;
        Some(open.binding.classify(&open.expected, text))
    }

    /// How much one reply to the command can hold. `None` when the command has been answered.
    pub fn budget(&self, token: &Token) -> Option<ReplyBudget> {
        Some(self.open.get(token.0)?.budget)
    }

    /// How many commands are open.
    pub fn open(&self) -> usize {
        self.open.open()
    }

    /// How many commands can be open at once.
    pub fn capacity(&self) -> usize {
        self.open.limit()
    }

    /// The limits.
    pub fn config(&self) -> &ResponderConfig {
        &self.config
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// What a reply that quotes this item can hold.
    pub(super) fn budget_of(&self, item: &Item<'_>) -> ReplyBudget {
        let (kind, margin) = match (item.chat, item.sender) {
            (Chat::Direct(_), _) => (QuoteKind::Direct, Margin::None),
            (_, Sender::Member(member)) => {
                (QuoteKind::group(member.get()), self.config.group_margin)
            }
            (_, _) => (QuoteKind::Channel, self.config.group_margin),
        };
        let quoted = escaped_len(item.text).min(self.config.quote_limit.unwrap_or(usize::MAX));
        let sent_at = item.sent_at.map_or(SentAt::Worst, |text| SentAt::Exact(escaped_len(text)));
        let quote = Quote::received(quoted, kind).sent_at(sent_at);
        let mut shape = MessageShape::new().quote(quote).margin(margin);
        if let Some(seconds) = item.ttl {
            shape = shape.ttl(seconds);
        }
        ReplyBudget::for_shape(&shape)
    }

    /// The error for what did not fit.
    fn replace<'o>(
        &self,
        ticket: Ticket,
        error: TooLarge,
        out: &'o mut [u8],
    ) -> Result<Answer<'o>, AnswerError> {
        let failure = Failure::TooLarge { needed: error.needed, limit: error.limit };
        let transmit = self.failed(ticket, &failure, out)?;
        Ok(Answer { transmit, replaced: Some(error) })
    }

    fn failed<'o>(
        &self,
        ticket: Ticket,
        failure: &Failure<'_>,
        out: &'o mut [u8],
    ) -> Result<Transmit<'o>, AnswerError> {
        let open = self.open.get(ticket).ok_or(AnswerError::Gone)?;
        let id = open.id.as_ref().map(Text::get);
        let (len, size) = write_failure(open.binding, failure, id, &open.budget, out)
            .map_err(AnswerError::Buffer)?
            .map_err(AnswerError::TooLarge)?;
        Ok(Transmit::reply(open.chat, open.item, text_of(out, len), size))
    }
}

impl<B: Binding, S: Storage> fmt::Debug for Responder<B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder")
            .field("open", &self.open())
            .field("capacity", &self.capacity())
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// The error for a command whose limit has passed.
///
/// ```
/// use agentwire_core::chat::responder::Expired;
/// fn show(expired: &Expired<'_>) -> String {
///     format!("{:?} was too slow", expired.token)
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the error has to be sent"]
#[non_exhaustive]
pub struct Expired<'o> {
    /// Whose limit it was. Its token is worth nothing now.
    pub token: TokenKey,
    /// The message.
    pub transmit: Transmit<'o>,
}

/// Why a command that mentions `name` is not for the bot; `None` if it is.
fn not_for_us(name: &str, item: &Item<'_>) -> Option<Ignored> {
    let other = Some(Ignored::OtherMember);
    let Some(me) = item.me else { return other };
    if item.mentions.is_empty() {
        if name != me.name {
            return other;
        }
        return me.name_is_shared.then_some(Ignored::AmbiguousName);
    }
    let mentioned = item.mentions.iter().find(|mention| mention.name == name);
    match mentioned {
        Some(mention) if mention.member_id == me.member.get() => None,
        _ => other,
    }
}

/// Writes the binding's error for `failure`, or the shortest one if that does not fit: its length
/// in `out`, and the size of the message.
fn write_failure<B: Binding>(
    binding: B,
    failure: &Failure<'_>,
    id: Option<&str>,
    budget: &ReplyBudget,
    out: &mut [u8],
) -> Result<Result<(usize, EncodedSize), TooLarge>, BufferTooSmall> {
    let mut write = |failure: &Failure<'_>| {
        let mut writer = Writer::new(out);
        binding.write_failure(failure, id, &mut writer);
        let text = writer.finish()?;
        Ok(budget.check(text).map(|size| (text.len(), size)))
    };
    match write(failure)? {
        Err(_) => write(&Failure::Internal),
        written => Ok(written),
    }
}

/// What [`write_failure`] has written.
fn text_of(out: &[u8], len: usize) -> &str {
    out.get(..len).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
