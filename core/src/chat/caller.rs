//! The caller machine: commands out, replies in ("Replies").
//!
//! One [`Caller`] serves all conversations of a profile. A call goes through these states:
//!
//! ```text
//!               call()
//!                 │ Transmit
//!                 ▼
//!            ┌─────────┐  handle_not_sent()
//!            │ Sending │ ────────────────────────────────┐
//!            └─────────┘                                  │
//!                 │ handle_sent(): the command's own id   │
//!                 ▼                                       │
//!            ┌─────────┐  a notification, a part: the     │
//!       ┌──▶ │ Waiting │  idle limit starts anew          │
//!       └─── └─────────┘                                  │
//!                 │  the last reply (of the one called,   │
//!                 │  or of as many as were asked for)     │
//!                 │  · a limit passes: handle_timeout()   │
//!                 │  · cancel()                           │
//!                 ▼                                       ▼
//!            ┌─────────┐  replies that still come    ┌────────┐
//!            │  Ended  │  are Late, then Unknown     │  gone  │
//!            └─────────┘                             └────────┘
//! ```
//!
//! In a broadcast every member answers for itself: each sender has an own last reply, and the call
//! ends when its wait does, or after as many answers as it asked for.
//!
//! | method | kind |
//! |---|---|
//! | [`call`](Caller::call), [`cancel`](Caller::cancel) | what the application wants |
//! | [`handle_sent`](Caller::handle_sent), [`handle_not_sent`](Caller::handle_not_sent), [`handle_reply`](Caller::handle_reply), [`handle_timeout`](Caller::handle_timeout) | what happened |
//! | [`poll_timeout`](Caller::poll_timeout) | when to come back; changes after each of the above |
//! | [`open`](Caller::open), [`capacity`](Caller::capacity), … | getters |
//!
//! # What a reply is matched by
//!
//! By the message that it quotes: our own, by its item id, or by its shared message id where that
//! finds nothing, since the item may be gone. Never by the quoted text, which is whatever the replier sent. Then its sender has
//! to be the one called: the contact of a direct chat, the mentioned member, or any member in a
//! broadcast.
//!
//! # When a wait is over
//!
//! A limit ends a call when [`handle_timeout`](Caller::handle_timeout) says so: a reply that comes
//! after the limit and before that is taken, and a part or a notification starts the idle limit
//! anew.
//!
//! # Cancelling
//!
//! The document defines no message that cancels a call: [`cancel`](Caller::cancel) stops waiting,
//! and the other side goes on. An A2A task is cancelled with a call of `CancelTask`.

use core::fmt;
use core::time::Duration;

use super::command::{Command, MentionForm, NewCommandError};
use super::failure::check_failure;
use super::size::{self, Margin, MessageShape, Quote, QuoteKind, SentAt, TooLarge};
use super::{
    Chat, ContactId, GroupId, GroupMemberId, IdTooLong, Item, ItemId, MemberId, Quoted, Sender,
    SharedMsgId, Storage, Transmit,
};
use crate::binding::{Binding, Class, End, Expectation, Failure, Refusal};
use crate::json::{BufferTooSmall, Str};
use crate::table::{Full, Hasher, Keyed, Table, Ticket};
use crate::time::Instant;

/// How long a call waits.
///
/// ```
/// use agentwire_core::chat::caller::Wait;
/// use core::time::Duration;
/// let wait = Wait::new(Duration::from_secs(60), Duration::from_secs(20));
/// assert_eq!(wait.idle, Duration::from_secs(20));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Wait {
    /// From the call on, whatever comes.
    pub overall: Duration,
    /// From the call or the last notification or part of a stream on.
    pub idle: Duration,
}

impl Wait {
    /// Both limits.
    pub const fn new(overall: Duration, idle: Duration) -> Self {
        Self { overall, idle }
    }
}

impl Default for Wait {
    /// Ten minutes in all, two and a half without a sign of life.
    fn default() -> Self {
        Self::new(Duration::from_secs(600), Duration::from_secs(150))
    }
}

/// The limits of a [`Caller`].
///
/// ```
/// use agentwire_core::chat::caller::CallerConfig;
/// assert_eq!(CallerConfig::default().min_reply_room, 256);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CallerConfig {
    /// How long a call waits that does not say otherwise.
    pub wait: Wait,
    /// How many replies one call takes that are not a last one; 10,000 by default.
    pub max_replies: u32,
    /// How many encoded bytes have to be left for a reply that quotes the whole command, as
    /// today's chat cores do it; 256 by default. A command that leaves no room for the protocol's
    /// shortest error is not sent in any case.
    pub min_reply_room: usize,
    /// What to keep free in groups; nothing by default.
    pub group_margin: Margin,
    /// How a mention is written; for today's chat cores by default.
    pub mention_form: MentionForm,
}

impl Default for CallerConfig {
    fn default() -> Self {
        Self {
            wait: Wait::default(),
            max_replies: 10_000,
            min_reply_room: 256,
            group_margin: Margin::None,
            mention_form: MentionForm::Recognised,
        }
    }
}

/// Who is called.
///
/// ```
/// use agentwire_core::chat::caller::To;
/// use agentwire_core::chat::{Chat, ContactId, GroupId};
/// assert_eq!(To::Contact(ContactId(4)).chat(), Chat::Direct(ContactId(4)));
/// assert_eq!(To::Everyone(GroupId(4)).chat(), Chat::Group(GroupId(4)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums)]
pub enum To<'a> {
    /// The contact of a direct chat.
    Contact(ContactId),
    /// One member of a group, who is mentioned.
    Member {
        /// The group.
        group: GroupId,
        /// Whose replies are accepted.
        member: MemberId,
        /// The member in the profile's own database, for the chat core's `mentions`.
        group_member: GroupMemberId,
        /// The name to write after the `@`.
        name: &'a str,
    },
    /// Every member of a group that serves the protocol.
    Everyone(GroupId),
}

impl To<'_> {
    /// The conversation.
    pub const fn chat(&self) -> Chat {
        match self {
            Self::Contact(contact) => Chat::Direct(*contact),
            Self::Member { group, .. } | Self::Everyone(group) => Chat::Group(*group),
        }
    }
}

impl fmt::Debug for To<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contact(contact) => write!(f, "Contact({contact:?})"),
            Self::Member { group, member, .. } => write!(f, "Member({group:?}, {member:?})"),
            Self::Everyone(group) => write!(f, "Everyone({group:?})"),
        }
    }
}

/// A call to make.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::GroupId;
/// use agentwire_core::chat::caller::{Call, To};
/// let call = Call::new(Standard::MCP, To::Everyone(GroupId(1)), "{}").answers(2);
/// assert_eq!(call.answers, Some(2));
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Call<'a, B> {
    /// The protocol.
    pub binding: B,
    /// Who is called.
    pub to: To<'a>,
    /// The protocol's request, a JSON object.
    pub request: &'a str,
    /// How long to wait; the machine's limits if it does not say.
    pub wait: Option<Wait>,
    /// In a broadcast: after how many last replies the call ends. Without it, it ends when its
    /// wait does.
    pub answers: Option<u32>,
    /// Seconds after which the chat deletes the message, where it does.
    pub ttl: Option<u64>,
}

impl<'a, B> Call<'a, B> {
    /// A call with the machine's limits.
    pub const fn new(binding: B, to: To<'a>, request: &'a str) -> Self {
        Self { binding, to, request, wait: None, answers: None, ttl: None }
    }

    /// The same call with limits of its own.
    #[must_use]
    pub const fn wait(mut self, wait: Wait) -> Self {
        self.wait = Some(wait);
        self
    }

    /// The same call, ending after this many answers.
    #[must_use]
    pub const fn answers(mut self, answers: u32) -> Self {
        self.answers = Some(answers);
        self
    }

    /// The same call in a chat with disappearing messages.
    #[must_use]
    pub const fn ttl(mut self, seconds: u64) -> Self {
        self.ttl = Some(seconds);
        self
    }
}

impl<B: fmt::Debug> fmt::Debug for Call<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("binding", &self.binding)
            .field("to", &self.to)
            .field("request_len", &self.request.len())
            .field("wait", &self.wait)
            .field("answers", &self.answers)
            .finish()
    }
}

/// A call that has been made. It is not reused: the id of a call that has ended names nothing.
///
/// ```
/// # use agentwire_core::{binding::Standard, chat::{Inline, caller::Caller}};
/// # let mut caller = Caller::<Standard, Inline<1>>::default();
/// # let text = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
/// # use agentwire_core::{chat::{ContactId, caller::{Call, To}}, time::Instant};
/// # let call = Call::new(Standard::MCP, To::Contact(ContactId(4)), text);
/// # let mut buffer = [0; 512];
/// let (id, _) = caller.call(Instant::ZERO, &call, &mut buffer).unwrap();
/// assert!(caller.cancel(id));
/// assert!(!caller.cancel(id));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CallId(Ticket);

/// Why a call was not made. Nothing has changed and nothing is to be sent.
///
/// ```
/// # use agentwire_core::{binding::Standard, chat::{ContactId, Inline}, time::Instant};
/// # use agentwire_core::chat::caller::{Call, CallError, Caller, To};
/// let mut caller = Caller::<Standard, Inline<1>>::default();
/// let call = Call::new(Standard::MCP, To::Contact(ContactId(4)), "[]");
/// let mut buffer = [0; 64];
/// let error = caller.call(Instant::ZERO, &call, &mut buffer).unwrap_err();
/// assert!(matches!(error, CallError::Refused(_)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CallError<'a> {
    /// The binding refuses the request: it is none, or it carries a credential into a group.
    Refused(Failure<'a>),
    /// The command cannot be written: the member's name, or the request.
    Command(NewCommandError),
    /// The command does not fit into one message.
    TooLarge(TooLarge),
    /// The command fits, but a reply that quotes it would not.
    NoRoomForReply {
        /// Encoded bytes that a reply would have.
        room: usize,
        /// Encoded bytes that it should have: [`CallerConfig::min_reply_room`], or what the
        /// protocol's shortest error takes if that is more.
        needed: usize,
    },
    /// The buffer is too short for the command.
    Buffer(BufferTooSmall),
    /// As many calls are open as can be.
    Full {
        /// How many.
        capacity: usize,
    },
}

impl CallError<'_> {
    /// The same error without what it borrows of the request: the version that it repeats.
    #[must_use]
    pub fn detached(self) -> CallError<'static> {
        match self {
            Self::Refused(failure) => CallError::Refused(failure.detached()),
            Self::Command(error) => CallError::Command(error),
            Self::TooLarge(error) => CallError::TooLarge(error),
            Self::NoRoomForReply { room, needed } => CallError::NoRoomForReply { room, needed },
            Self::Buffer(error) => CallError::Buffer(error),
            Self::Full { capacity } => CallError::Full { capacity },
        }
    }
}

impl fmt::Display for CallError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(failure) => f.write_str(failure.sentence()),
            Self::Command(error) => error.fmt(f),
            Self::TooLarge(error) => error.fmt(f),
            Self::NoRoomForReply { room, needed } => write!(
                f,
                "a reply that quotes this command would have {room} bytes, {needed} are needed"
            ),
            Self::Buffer(error) => error.fmt(f),
            Self::Full { capacity } => write!(f, "{capacity} calls are open, no more can be"),
        }
    }
}

impl core::error::Error for CallError<'_> {}

/// A call that is not open: it has ended, or never was.
///
/// ```
/// use agentwire_core::chat::caller::UnknownCall;
/// assert_eq!(UnknownCall.to_string(), "the call is not open");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_structs)] // It has nothing to say.
pub struct UnknownCall;

impl fmt::Display for UnknownCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the call is not open")
    }
}

impl core::error::Error for UnknownCall {}

/// Why a command's own id was not taken.
///
/// ```
/// use agentwire_core::chat::caller::{SentError, UnknownCall};
/// assert_eq!(SentError::from(UnknownCall), SentError::UnknownCall);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SentError {
    /// The call is not open.
    UnknownCall,
    /// The shared message id is longer than any that a chat core makes.
    Id(IdTooLong),
}

impl From<UnknownCall> for SentError {
    fn from(_: UnknownCall) -> Self {
        Self::UnknownCall
    }
}

impl fmt::Display for SentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCall => UnknownCall.fmt(f),
            Self::Id(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SentError {}

/// Why a reply was not taken. The machine has not changed.
///
/// ```
/// use agentwire_core::chat::caller::ReplyError;
/// let error = ReplyError::TooManySenders { capacity: 16 };
/// assert_eq!(error.to_string(), "replies of 16 senders are being followed, no more can be");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ReplyError {
    /// The call has taken as many replies as it may; its last reply is still taken.
    TooManyReplies {
        /// How many ([`CallerConfig::max_replies`]).
        limit: u32,
    },
    /// As many senders have answered open broadcasts as can be told apart.
    TooManySenders {
        /// How many.
        capacity: usize,
    },
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyReplies { limit } => {
                write!(f, "the call has had {limit} replies before the last one, no more are taken")
            }
            Self::TooManySenders { capacity } => {
                write!(f, "replies of {capacity} senders are being followed, no more can be")
            }
        }
    }
}

impl core::error::Error for ReplyError {}

/// What an item is to the open calls.
///
/// ```
/// # use agentwire_core::{binding::Standard, time::Instant};
/// # use agentwire_core::chat::{ContactId, Inline, Item, ItemId, caller::{Caller, Handled}};
/// let mut caller = Caller::<Standard, Inline<1>>::default();
/// let item = Item::direct(ContactId(4), ItemId(7), "hello");
/// assert_eq!(caller.handle_reply(Instant::ZERO, &item), Ok(Handled::NotAReply));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Handled<'m> {
    /// A reply to an open call.
    Reply(Reply<'m>),
    /// A reply to a call that has ended, or a further reply of a sender whose last one has come.
    Late(Reply<'m>),
    /// The same item once more; it has been handled. A call remembers the 64 item ids up to the
    /// highest one that it has had.
    Duplicate(CallId),
    /// A reply of somebody who was not called.
    Stranger(CallId),
    /// It quotes a message of ours that may be a command whose own id is not known yet. Hand the
    /// item in again after the next [`handle_sent`](Caller::handle_sent).
    Unbound,
    /// It quotes a message of ours that is no command of a known call.
    Unknown,
    /// It quotes nothing, or a message that is not ours.
    NotAReply,
}

/// A reply, borrowed from the item.
///
/// ```
/// use agentwire_core::chat::caller::Reply;
/// fn show(reply: &Reply<'_>) {
///     println!("{:?} of {:?}, {} bytes", reply.class, reply.sender, reply.text.len());
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply<'m> {
    /// The call.
    pub call: CallId,
    /// Who replies.
    pub sender: Sender,
    /// The reply's own id.
    pub item: ItemId,
    /// What it is to the call.
    pub class: Class<'m>,
    /// The reply itself.
    pub text: &'m str,
    /// Whether this is a new text of a reply that was there before.
    pub edited: bool,
    /// Whether the call has ended with it.
    pub is_end: bool,
    /// Whether the stream broke off where it can be resumed with `SubscribeToTask`: it ended with
    /// an error after a part of the same sender that named its task.
    pub is_resumable: bool,
}

impl<'m> Reply<'m> {
    /// What the stream can be resumed with, if this reply names it: for A2A the task's id.
    pub fn resume(&self) -> Option<Str<'m>> {
        match self.class {
            Class::Part { resume } => resume,
            _ => None,
        }
    }
}

impl fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("call", &self.call)
            .field("sender", &self.sender)
            .field("item", &self.item)
            .field("class", &self.class)
            .field("text_len", &self.text.len())
            .field("edited", &self.edited)
            .field("is_end", &self.is_end)
            .field("is_resumable", &self.is_resumable)
            .finish()
    }
}

/// A call whose wait is over.
///
/// ```
/// use agentwire_core::chat::caller::{Limit, TimedOut};
/// fn show(end: &TimedOut) -> String {
///     format!("{:?} after {} answers", end.limit, end.answers)
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct TimedOut {
    /// The call. It is no longer open.
    pub call: CallId,
    /// Which limit has passed.
    pub limit: Limit,
    /// How many replies came that were no last one.
    pub replies: u32,
    /// How many senders gave their last reply: in a broadcast this end is the usual one.
    pub answers: u32,
    /// Whether a stream can be resumed with `SubscribeToTask`: a part has named its task, and its
    /// end has not come.
    pub is_resumable: bool,
    /// Whether the chat core has said that the command was sent.
    pub was_sent: bool,
}

/// A limit of a [`Wait`].
///
/// ```
/// use agentwire_core::chat::caller::Limit;
/// assert_ne!(Limit::Overall, Limit::Idle);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)]
pub enum Limit {
    /// [`Wait::overall`].
    Overall,
    /// [`Wait::idle`].
    Idle,
}

/// An open call.
struct Open<B> {
    chat: Chat,
    /// The command's own id, once it is bound.
    item: ItemId,
    is_bound: bool,
    shared: Option<SharedMsgId>,
    /// The mentioned member; in a group without one it is a broadcast.
    member: Option<MemberId>,
    /// In a broadcast, after how many answers it ends.
    wanted: u32,
    binding: B,
    expected: Expectation,
    /// When the overall limit passes.
    overall: Instant,
    /// Milliseconds of the idle limit.
    idle: u64,
    replies: u32,
    answers: u32,
    seen: Seen,
    /// How many streams have named their task and go on.
    tasks: u32,
    /// In a broadcast, the sender that is followed since last.
    followed: Option<Ticket>,
}

impl<B> Open<B> {
    fn is_broadcast(&self) -> bool {
        self.chat.is_group() && self.member.is_none()
    }

    /// Whether replies of this sender are accepted.
    fn is_called(&self, sender: Sender) -> bool {
        match (self.chat, self.member) {
            (Chat::Direct(_), _) => sender == Sender::Contact,
            (Chat::Group(_), Some(member)) => sender == Sender::Member(member),
            (Chat::Group(_), None) => sender != Sender::Contact,
        }
    }
}

fn item_hash(chat: Chat, item: ItemId) -> u32 {
    let (kind, id) = match chat {
        Chat::Direct(ContactId(id)) => (0, id),
        Chat::Group(GroupId(id)) => (1, id),
    };
    Hasher::new().int(id).int(kind).int(item.0).finish()
}

fn shared_hash(shared: &str) -> u32 {
    Hasher::new().text(shared).finish()
}

impl<B> Keyed for Open<B> {
    fn hashes(&self) -> [Option<u32>; 2] {
        [
            self.is_bound.then(|| item_hash(self.chat, self.item)),
            self.shared.as_ref().map(|shared| shared_hash(shared.get())),
        ]
    }
}

/// The last item ids of a call: exact for the 64 ids up to the highest one.
#[derive(Clone, Copy, Default)]
struct Seen {
    highest: i64,
    below: u64,
}

impl Seen {
    fn has(&self, item: ItemId) -> bool {
        match self.highest.checked_sub(item.0) {
            Some(distance @ 0..64) => self.below & (1 << distance) != 0,
            _ => false,
        }
    }

    fn add(&mut self, item: ItemId) {
        if self.below == 0 {
            *self = Self { highest: item.0, below: 1 };
            return;
        }
        match item.0.checked_sub(self.highest) {
            Some(ahead) if ahead > 0 => {
                let shift = u32::try_from(ahead).unwrap_or(u32::MAX);
                self.below = self.below.checked_shl(shift).unwrap_or(0) | 1;
                self.highest = item.0;
            }
            Some(behind) if behind > -64 => self.below |= 1 << behind.unsigned_abs(),
            Some(_) => {}
            // Further apart than an i64 can say.
            None if item.0 >= 0 => *self = Self { highest: item.0, below: 1 },
            None => {}
        }
    }
}

/// A sender in a broadcast that has begun a stream or given its last reply.
struct Followed {
    call: Ticket,
    sender: Sender,
    /// Whether its last reply has come; else its stream has named a task.
    has_ended: bool,
    /// The one that was followed before in the same call.
    before: Option<Ticket>,
}

fn followed_hash(call: Ticket, sender: Sender) -> u32 {
    let hasher = Hasher::new().text(match &sender {
        Sender::Contact => "",
        Sender::Member(member) => member.get(),
        Sender::Channel => "#",
    });
    call.hash(hasher).finish()
}

impl Keyed for Followed {
    fn hashes(&self) -> [Option<u32>; 2] {
        [Some(followed_hash(self.call, self.sender)), None]
    }
}

/// The caller machine. See the [module](self).
///
/// `B` is the bindings it speaks, usually [`Standard`](crate::binding::Standard); `S` is where it
/// keeps the open calls: [`Inline<N>`](super::Inline) or, with `alloc`, `Growable`.
///
/// ```
/// use agentwire_core::binding::{Class, End, Standard};
/// use agentwire_core::chat::caller::{Call, Caller, Handled, To};
/// use agentwire_core::chat::{ContactId, Inline, Item, ItemId, Quoted};
/// use agentwire_core::time::Instant;
///
/// let mut caller = Caller::<Standard, Inline<16>>::default();
/// let now = Instant::from_millis(0);
/// let request = r#"{"jsonrpc":"2.0","id":"a","method":"GetTask","params":{"id":"t-1"},
///     "a2a-service-parameters":{"A2A-Version":"1.0"}}"#;
/// let call = Call::new(Standard::A2A, To::Contact(ContactId(4)), request);
///
/// let mut buffer = [0; 1_024];
/// let (id, transmit) = caller.call(now, &call, &mut buffer).unwrap();
/// // … the driver sends transmit.text to transmit.chat, and the chat core says it is item 7 …
/// caller.handle_sent(now, id, ItemId(7), None).unwrap();
///
/// let text = r#"{"jsonrpc":"2.0","id":"a","result":{"id":"t-1"}}"#;
/// let item = Item::direct(ContactId(4), ItemId(8), text).quoting(Quoted::own(ItemId(7)));
/// let Handled::Reply(reply) = caller.handle_reply(now, &item).unwrap() else { panic!() };
/// assert_eq!(reply.class, Class::Last(End::Answer));
/// assert!(reply.is_end && caller.open() == 0);
/// ```
pub struct Caller<B, S: Storage> {
    calls: Table<Open<B>, S>,
    followed: Table<Followed, S>,
    config: CallerConfig,
    now: Instant,
    /// Calls whose own id is not known yet.
    sending: usize,
}

impl<B: Binding, S: Storage> Default for Caller<B, S> {
    /// The default limits, and as many calls as the storage has room for: at most 1,024.
    fn default() -> Self {
        Self::with_limit(CallerConfig::default(), 1_024)
    }
}

impl<B: Binding, S: Storage> Caller<B, S> {
    /// A machine for at most `limit` open calls, or fewer where the storage has less room. It
    /// tells as many senders of broadcasts apart.
    pub fn with_limit(config: CallerConfig, limit: usize) -> Self {
        Self {
            calls: Table::new(limit),
            followed: Table::new(limit),
            config,
            now: Instant::ZERO,
            sending: 0,
        }
    }

    /// Makes a call: writes the command into `out` and says what to send.
    ///
    /// # Errors
    /// [`CallError`]; nothing has changed then.
    pub fn call<'c: 'o, 'o>(
        &mut self,
        now: Instant,
        call: &Call<'c, B>,
        out: &'o mut [u8],
    ) -> Result<(CallId, Transmit<'o>), CallError<'c>> {
        self.advance(now);
        let chat = call.to.chat();
        let binding = call.binding;
        let accepted = binding
            .accept(call.request, &[], chat.into())
            .map_err(|Refusal { failure, .. }| CallError::Refused(failure))?;
        let name = match call.to {
            To::Member { member, name, group_member, .. } => Some((name, group_member, member)),
            To::Contact(_) | To::Everyone(_) => None,
        };
        let member = name.map(|(name, ..)| name);
        let command = match accepted.object {
            // The binding has read it.
            Some(object) if core::ptr::eq(object.get_text(), call.request.trim()) => {
                Command::of(member, binding.name(), object)
            }
            _ => Command::new(member, binding.name(), call.request),
        }
        .map_err(CallError::Command)?;
        let text = command.write(self.config.mention_form, out).map_err(CallError::Buffer)?;

        let mentions = name.map(|(name, _, member)| (name, member));
        let mentions =
            mentions.as_ref().map(|(name, member)| size::Mention::new(name, member.get()));
        let margin = if chat.is_group() { self.config.group_margin } else { Margin::None };
        let mut shape = MessageShape::new().mentions(mentions.as_slice()).margin(margin);
        if let Some(seconds) = call.ttl {
            shape = shape.ttl(seconds);
        }
        let escaped = crate::json::length::escaped_len(text);
        let size = shape.check_len(escaped).map_err(CallError::TooLarge)?;
        let kind = if chat.is_group() { QuoteKind::GROUP } else { QuoteKind::Direct };
        let quote = Quote::received(escaped, kind).sent_at(SentAt::Worst);
        let room = shape.mentions(&[]).quote(quote).room();
        let needed = check_failure(binding, accepted.id, room).err().unwrap_or(0);
        let needed = needed.max(self.config.min_reply_room);
        if room < needed {
            return Err(CallError::NoRoomForReply { room, needed });
        }

        let wait = call.wait.unwrap_or(self.config.wait);
        let overall = self.now.saturating_add(wait.overall);
        let idle = u64::try_from(wait.idle.as_millis()).unwrap_or(u64::MAX);
        let open = Open {
            chat,
            item: ItemId(0),
            is_bound: false,
            shared: None,
            member: name.map(|(.., member)| member),
            wanted: call.answers.unwrap_or(u32::MAX),
            binding,
            expected: accepted.expected,
            overall,
            idle,
            replies: 0,
            answers: 0,
            seen: Seen::default(),
            tasks: 0,
            followed: None,
        };
        let deadline = overall.min(self.now.saturating_add(wait.idle));
        let ticket = self
            .calls
            .insert(deadline, open)
            .map_err(|Full { capacity }| CallError::Full { capacity })?;
        self.sending = self.sending.saturating_add(1);
        let mention = name.map(|(name, group_member, _)| (name, group_member));
        Ok((CallId(ticket), Transmit { chat, text, size, quotes: None, mention }))
    }

    /// The chat core has sent the command: its own id, and its shared id where it is known.
    /// Items that were [`Unbound`](Handled::Unbound) can be handed in again now.
    ///
    /// # Errors
    /// [`SentError`]; the call waits on for its id then.
    pub fn handle_sent(
        &mut self,
        now: Instant,
        call: CallId,
        item: ItemId,
        shared_msg_id: Option<&str>,
    ) -> Result<(), SentError> {
        self.advance(now);
        let shared = shared_msg_id.map(SharedMsgId::new).transpose().map_err(SentError::Id)?;
        let was_sending = !self.calls.get(call.0).ok_or(SentError::UnknownCall)?.is_bound;
        self.calls.rekey(call.0, |open| {
            open.item = item;
            open.is_bound = true;
            open.shared = shared.or(open.shared);
        });
        if was_sending {
            self.sending = self.sending.saturating_sub(1);
        }
        Ok(())
    }

    /// The chat core has refused to send the command: the call is no longer open.
    ///
    /// # Errors
    /// [`UnknownCall`].
    pub fn handle_not_sent(&mut self, now: Instant, call: CallId) -> Result<(), UnknownCall> {
        self.advance(now);
        if self.end(call.0) { Ok(()) } else { Err(UnknownCall) }
    }

    /// Somebody's message. See [`Handled`] for what it can be.
    ///
    /// # Errors
    /// [`ReplyError`] when it is a reply that there is no room to follow; the call stays open.
    pub fn handle_reply<'m>(
        &mut self,
        now: Instant,
        item: &Item<'m>,
    ) -> Result<Handled<'m>, ReplyError> {
        self.advance(now);
        let Some(quote) = item.quote.filter(|quote| quote.is_own) else {
            return Ok(Handled::NotAReply);
        };
        let Some((ticket, is_open)) = self.find(item.chat, &quote) else {
            return Ok(if self.sending > 0 { Handled::Unbound } else { Handled::Unknown });
        };
        let Some(open) = self.calls.remembered(ticket) else { return Ok(Handled::Unknown) };
        let id = CallId(ticket);
        if !open.is_called(item.sender) {
            return Ok(Handled::Stranger(id));
        }
        if !item.edited && open.seen.has(item.id) {
            return Ok(Handled::Duplicate(id));
        }
        let class = open.binding.classify(&open.expected, item.text);
        let mut reply = Reply {
            call: id,
            sender: item.sender,
            item: item.id,
            class,
            text: item.text,
            edited: item.edited,
            is_end: false,
            is_resumable: false,
        };
        let is_broadcast = open.is_broadcast();
        let followed = if is_broadcast { self.follow(ticket, item.sender) } else { None };
        if !is_open || followed.is_some_and(|(_, has_ended)| has_ended) {
            if let Some(open) = self.calls.remembered_mut(ticket) {
                open.seen.add(item.id);
            }
            return Ok(Handled::Late(reply));
        }
        let limit = self.config.max_replies;
        if !class.is_last() && open.replies >= limit {
            return Err(ReplyError::TooManyReplies { limit });
        }
        let names_task = matches!(class, Class::Part { resume: Some(_) });
        let mut last_followed = open.followed;
        let mut is_new_task = names_task && open.tasks == 0;
        if is_broadcast {
            is_new_task = false;
            if let (Some((entry, _)), true) = (followed, class.is_last()) {
                if let Some(entry) = self.followed.get_mut(entry) {
                    entry.has_ended = true;
                }
            } else if followed.is_none() && (class.is_last() || names_task) {
                let entry = Followed {
                    call: ticket,
                    sender: item.sender,
                    has_ended: class.is_last(),
                    before: last_followed,
                };
                match self.followed.insert(open.overall, entry) {
                    Ok(entry) => {
                        last_followed = Some(entry);
                        is_new_task = names_task;
                    }
                    // Without an entry it is only not known that the stream can be resumed.
                    Err(_) if names_task => {}
                    Err(Full { capacity }) => return Err(ReplyError::TooManySenders { capacity }),
                }
            }
        }

        let now = self.now;
        let Some(open) = self.calls.get_mut(ticket) else { return Ok(Handled::Unknown) };
        open.seen.add(item.id);
        open.followed = last_followed;
        let mut deadline = None;
        match class {
            Class::Last(end) => {
                open.answers = open.answers.saturating_add(1);
                let had_task = if is_broadcast { followed.is_some() } else { open.tasks > 0 };
                reply.is_resumable = had_task && matches!(end, End::Error { .. });
                open.tasks = open.tasks.saturating_sub(u32::from(had_task));
                reply.is_end = !is_broadcast || open.answers >= open.wanted;
            }
            Class::Notification { .. } | Class::Part { .. } => {
                open.replies = open.replies.saturating_add(1);
                open.tasks = open.tasks.saturating_add(u32::from(is_new_task));
                let idle = Duration::from_millis(open.idle);
                deadline = Some(open.overall.min(now.saturating_add(idle)));
            }
            Class::Foreign(_) => open.replies = open.replies.saturating_add(1),
        }
        if let Some(deadline) = deadline {
            self.calls.set_deadline(ticket, deadline);
        }
        if reply.is_end {
            self.end(ticket);
        }
        Ok(Handled::Reply(reply))
    }

    /// Moves time on. Returns a call whose wait is over, if there is one: repeat until `None`.
    /// A call of this without need does nothing, and time never runs backwards.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<TimedOut> {
        self.advance(now);
        let (deadline, ticket) = self.calls.earliest()?;
        if deadline > self.now {
            return None;
        }
        let open = self.calls.get(ticket)?;
        let end = TimedOut {
            call: CallId(ticket),
            limit: if open.overall <= deadline { Limit::Overall } else { Limit::Idle },
            replies: open.replies,
            answers: open.answers,
            is_resumable: open.tasks > 0,
            was_sent: open.is_bound,
        };
        self.end(ticket);
        Some(end)
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.calls.earliest().map(|(deadline, _)| deadline)
    }

    /// Stops waiting for a call. `false` if it is not open.
    pub fn cancel(&mut self, call: CallId) -> bool {
        self.end(call.0)
    }

    /// How many calls are open.
    pub fn open(&self) -> usize {
        self.calls.open()
    }

    /// Whether this call is open.
    pub fn is_open(&self, call: CallId) -> bool {
        self.calls.get(call.0).is_some()
    }

    /// How many calls can be open at once.
    pub fn capacity(&self) -> usize {
        self.calls.limit()
    }

    /// The limits.
    pub fn config(&self) -> &CallerConfig {
        &self.config
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// The call whose command this quotes, and whether it is open.
    fn find(&self, chat: Chat, quote: &Quoted<'_>) -> Option<(Ticket, bool)> {
        let by_item = quote.item.and_then(|item| {
            self.calls.find(0, item_hash(chat, item), |open| {
                open.is_bound && open.item == item && open.chat == chat
            })
        });
        by_item.or_else(|| {
            let shared = quote.shared_msg_id?;
            self.calls.find(1, shared_hash(shared), |open| {
                open.chat == chat && open.shared.is_some_and(|id| id.get() == shared)
            })
        })
    }

    /// What is known of a sender in a broadcast, and whether its last reply has come.
    fn follow(&self, call: Ticket, sender: Sender) -> Option<(Ticket, bool)> {
        let is_it = |entry: &Followed| entry.call == call && entry.sender == sender;
        let (entry, _) = self.followed.find(0, followed_hash(call, sender), is_it)?;
        self.followed.get(entry).map(|followed| (entry, followed.has_ended))
    }

    fn end(&mut self, ticket: Ticket) -> bool {
        let Some(open) = self.calls.get(ticket) else { return false };
        if !open.is_bound {
            self.sending = self.sending.saturating_sub(1);
        }
        // A late reply of an ended call is late whoever sends it: its senders need not be told
        // apart any more.
        let mut next = open.followed;
        while let Some(entry) = next {
            next = self.followed.get(entry).and_then(|followed| followed.before);
            self.followed.end(entry);
        }
        self.calls.end(ticket)
    }
}

impl<B, S: Storage> fmt::Debug for Caller<B, S>
where
    B: Binding,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("open", &self.open())
            .field("capacity", &self.capacity())
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
