//! What the application wants.

use alloc::boxed::Box;

use super::Session;
use super::jobs::{Job, ServiceTarget};
use super::output::{CommandId, Outcome, Ready};
use super::publish::Publication;
use super::startup::Phase;
use crate::binding::{Binding, Class, Failure, ProtocolName};
use crate::chat::caller::{Call, CallError, CallId};
use crate::chat::responder::{RespondError, Token};
use crate::chat::session::{Declared, NotifyError, SessionError};
use crate::chat::size::{ReplyBudget, TooLarge};
use crate::chat::{Chat, ItemId};
use crate::rpc::{
    ErrorCode, RequestId, ServiceAnswerError, ServiceCall, ServiceCallError, ServiceCallId,
};
use crate::simplex::UserId;
use crate::simplex::command::{Command, CommandError};
use crate::time::Instant;
use core::fmt;

/// Why something was not asked of the core. Nothing has changed.
///
/// ```
/// use agentwire_core::simplex::AskError;
/// assert_eq!(AskError::NotReady.to_string(), "the core is not started yet");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AskError {
    /// Who speaks is not known before the first [`Ready`](super::Event::Ready).
    NotReady,
    /// As many commands wait to be sent as can.
    Full {
        /// How many.
        capacity: usize,
    },
    /// A command cannot express it.
    Command(CommandError),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReady => f.write_str("the core is not started yet"),
            Self::Full { capacity } => write!(f, "{capacity} commands wait to be sent"),
            Self::Command(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AskError {}

/// # What the application wants
impl<B: Binding> Session<B> {
    /// Makes a call in a conversation: see [`chat::session`](crate::chat::session::Session::call).
    /// It can be made at any time; its wait begins at once.
    ///
    /// # Errors
    /// [`CallError`], with [`CallError::Full`] also when as many commands wait to be sent as can;
    /// nothing has changed then.
    pub fn call<'c>(&mut self, now: Instant, call: &Call<'c, B>) -> Result<CallId, CallError<'c>> {
        self.room().map_err(|capacity| CallError::Full { capacity })?;
        self.handle_timeout(now);
        let id = self.chat.call(self.now, call)?;
        self.calls.insert(id, call.to.chat());
        self.pump();
        Ok(id)
    }

    /// Stops waiting for a call, and does not send its command if it has not been sent yet.
    /// `false` if it is not open.
    pub fn cancel(&mut self, call: CallId) -> bool {
        let was_open = self.chat.cancel(call);
        self.call_ended(call);
        self.pump();
        was_open
    }

    /// Makes a request over Service RPC. It can be made at any time; it is sent when the requests
    /// before it have their responses, since each of them holds its connection.
    ///
    /// # Errors
    /// [`ServiceCallError`], with [`ServiceCallError::Full`] also when as many requests wait to be
    /// sent as can; nothing has changed then.
    pub fn request<'c>(
        &mut self,
        now: Instant,
        target: ServiceTarget,
        call: &ServiceCall<'c, B>,
    ) -> Result<ServiceCallId, ServiceCallError<'c>> {
        let capacity = self.config.max_queued;
        if self.service_link.queue.len() >= capacity {
            return Err(ServiceCallError::Full { capacity });
        }
        self.handle_timeout(now);
        let mut call = *call;
        call.is_signed = target.is_signed();
        let id = self.service.request(self.now, target, &call)?;
        self.pump();
        Ok(id)
    }

    /// Stops waiting for a response, and does not send the request if it has not been sent yet.
    /// `false` if it is not open.
    pub fn cancel_request(&mut self, call: ServiceCallId) -> bool {
        self.unsent_request(call);
        self.service.cancel(call)
    }

    /// Takes a request out of the queue. `false` if it is not there: it was sent.
    pub(super) fn unsent_request(&mut self, wanted: ServiceCallId) -> bool {
        let queued = self
            .service_link
            .take_queued(|job| matches!(job, Job::Request { call, .. } if *call == wanted));
        queued.is_some()
    }

    /// Gives a reply that is not the last one: see
    /// [`chat::session`](crate::chat::session::Session::notify).
    ///
    /// # Errors
    /// [`NotifyError`], with [`SessionError::QueueFull`] when as many commands wait to be sent as
    /// can; nothing has changed then.
    pub fn notify(
        &mut self,
        now: Instant,
        token: &Token,
        text: &str,
    ) -> Result<Option<TooLarge>, NotifyError> {
        self.room()
            .map_err(|capacity| NotifyError::Session(SessionError::QueueFull { capacity }))?;
        self.handle_timeout(now);
        let result = self.chat.notify(self.now, token, text);
        self.pump();
        result
    }

    /// Gives the last reply: see [`chat::session`](crate::chat::session::Session::respond). It is
    /// kept while there is no connection, and sent once.
    ///
    /// # Errors
    /// [`RespondError`] with the token; nothing has changed then.
    pub fn respond(
        &mut self,
        now: Instant,
        token: Token,
        text: &str,
    ) -> Result<Option<TooLarge>, RespondError> {
        self.handle_timeout(now);
        let result = self.chat.respond(self.now, token, text);
        self.pump();
        result
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
        self.handle_timeout(now);
        let result = self.chat.fail(self.now, token, failure);
        self.pump();
        result
    }

    /// Gives the response to a request over Service RPC: see
    /// [`rpc::session`](crate::rpc::session::ServiceSession::respond).
    ///
    /// # Errors
    /// [`ServiceAnswerError`]
    pub fn respond_service(
        &mut self,
        now: Instant,
        request: &RequestId,
        text: &str,
    ) -> Result<Option<TooLarge>, ServiceAnswerError> {
        self.handle_timeout(now);
        let result = self.service.respond(self.now, request, text);
        self.pump();
        result
    }

    /// Answers a request over Service RPC with an error: see
    /// [`rpc::session`](crate::rpc::session).
    ///
    /// # Errors
    /// [`ServiceAnswerError::Gone`]
    pub fn fail_service(
        &mut self,
        now: Instant,
        request: &RequestId,
        failure: &Failure<'_>,
    ) -> Result<(), ServiceAnswerError> {
        self.handle_timeout(now);
        let result = self.service.fail(self.now, request, failure);
        self.pump();
        result
    }

    /// Answers a request over Service RPC with an error of the envelope.
    ///
    /// # Errors
    /// [`ServiceAnswerError::Gone`]
    pub fn fail_service_with(
        &mut self,
        now: Instant,
        request: &RequestId,
        code: ErrorCode,
        message: Option<&str>,
        retry_after: Option<u32>,
    ) -> Result<(), ServiceAnswerError> {
        self.handle_timeout(now);
        let result = self.service.fail_with(self.now, request, code, message, retry_after);
        self.pump();
        result
    }

    /// Sends any command. Its end is an [`Event::Done`](super::Event::Done): if it cannot be sent
    /// within [`answer_timeout`](super::SessionConfig::answer_timeout) it is not sent at all. It is
    /// never sent twice.
    ///
    /// ```
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::simplex::{AskError, Session, UserId, command::Command};
    /// use agentwire_core::time::Instant;
    ///
    /// let mut session = Session::<Standard>::new(Default::default(), Vec::new(), 1);
    /// session.command(Instant::ZERO, &Command::Users).unwrap();
    /// // Who speaks is not known yet.
    /// let asked = session.ask(Instant::ZERO, Command::ShowAddress);
    /// assert_eq!(asked, Err(AskError::NotReady));
    /// ```
    ///
    /// # Errors
    /// [`AskError`]; nothing has changed then.
    pub fn command(&mut self, now: Instant, command: &Command<'_>) -> Result<CommandId, AskError> {
        self.room().map_err(|capacity| AskError::Full { capacity })?;
        let text = command.to_text().map_err(AskError::Command)?;
        self.handle_timeout(now);
        let (id, until) = self.new_command();
        self.chat_link.queue.push_back(Job::Command { id, text, until });
        Ok(id)
    }

    /// Sends a command for the user who speaks: `session.ask(now, Command::Contacts)`.
    ///
    /// # Errors
    /// As [`command`](Self::command), and [`AskError::NotReady`].
    pub fn ask<'c>(
        &mut self,
        now: Instant,
        command: impl FnOnce(UserId) -> Command<'c>,
    ) -> Result<CommandId, AskError> {
        let user = self.user().ok_or(AskError::NotReady)?;
        self.command(now, &command(user))
    }

    /// Asks what connecting to a link or a SimpleX name would do, without connecting. The answer
    /// is a [`Plan`](crate::simplex::frame::Plan).
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn connect_plan(&mut self, now: Instant, target: &str) -> Result<CommandId, AskError> {
        self.ask(now, |user| Command::ConnectPlan { user, target })
    }

    /// Connects to a link or a SimpleX name. The answer says that it has begun; a
    /// `contactConnected` follows as an [`Event::Core`](super::Event::Core).
    ///
    /// # Errors
    /// As [`command`](Self::command).
    pub fn connect(
        &mut self,
        now: Instant,
        target: &str,
        incognito: bool,
    ) -> Result<CommandId, AskError> {
        self.command(now, &Command::ConnectTo { incognito, target })
    }

    /// Creates the user's address with ratchet keys, so that it takes Service RPC requests. The
    /// answer is an [`Address`](crate::simplex::frame::Address).
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn create_address(&mut self, now: Instant) -> Result<CommandId, AskError> {
        self.ask(now, |user| Command::CreateAddress { user, pq_ratchet: Some(true) })
    }

    /// Asks for the user's address.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn show_address(&mut self, now: Instant) -> Result<CommandId, AskError> {
        self.ask(now, Command::ShowAddress)
    }

    /// Publishes declarations, in the profile or in a group. The profile is read, rewritten and
    /// written back; what else it says is left as it is, the menu `commands` among it.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn publish(
        &mut self,
        now: Instant,
        publication: Publication,
    ) -> Result<CommandId, AskError> {
        self.user().ok_or(AskError::NotReady)?;
        self.room().map_err(|capacity| AskError::Full { capacity })?;
        self.handle_timeout(now);
        let (id, until) = self.new_command();
        let publication = Box::new(publication);
        self.chat_link.queue.push_back(Job::Publish { id, publication, write: None, until });
        Ok(id)
    }

    /// Looks a conversation through from after this item on, once the core is started: what a bot
    /// knows from its last run.
    pub fn watch(&mut self, chat: Chat, after: ItemId) {
        self.chats.remember(chat, after);
        if matches!(self.phase, Phase::Ready(_)) {
            self.look_later(chat, ItemId(after.0.saturating_add(1)));
        }
    }

    /// The newest item of a conversation that was seen; `None` where none was.
    pub fn newest(&self, chat: Chat) -> Option<ItemId> {
        self.chats.newest(chat)
    }

    /// Takes no new commands and requests: they are answered with an error. Open ones can still be
    /// answered; once [`is_idle`](Self::is_idle) is true nobody is waiting.
    pub fn stop(&mut self) {
        self.chat.stop();
        self.service.stop();
    }

    /// Adds a protocol in conversations, or states other versions of one that is declared.
    pub fn declare(&mut self, declared: Declared<B>) {
        self.serves = true;
        self.chat.declare(declared);
    }

    /// Takes a protocol in conversations back. `false` if it is not declared.
    pub fn retract(&mut self, protocol: ProtocolName<'_>) -> bool {
        self.chat.retract(protocol)
    }

    /// Adds a protocol over Service RPC, or states other versions of one that is served.
    pub fn declare_service(&mut self, declared: Declared<B>) {
        self.service.declare(declared);
    }

    /// The next command, and until when it can be sent.
    fn new_command(&mut self) -> (CommandId, Instant) {
        self.last_command = self.last_command.wrapping_add(1);
        let until = self.now.saturating_add(self.config.answer_timeout);
        self.next_until = Some(self.next_until.map_or(until, |next| next.min(until)));
        (CommandId(self.last_command), until)
    }

    /// Whether a command finds room in the queue of the connection of conversations.
    fn room(&self) -> Result<(), usize> {
        let capacity = self.config.max_queued;
        if self.chat_link.queue.len() < capacity { Ok(()) } else { Err(capacity) }
    }
}

/// # Getters
impl<B: Binding> Session<B> {
    /// How the session stands to its core; `None` while it is not started.
    pub fn ready(&self) -> Option<&Ready> {
        match &self.phase {
            Phase::Ready(ready) => Some(ready),
            _ => None,
        }
    }

    /// Who speaks, once that is known.
    pub fn user(&self) -> Option<UserId> {
        self.user
    }

    /// What a text is to the command. `None` when the command has been answered.
    pub fn classify<'t>(&self, token: &Token, text: &'t str) -> Option<Class<'t>> {
        self.chat.classify(token, text)
    }

    /// How much one reply to the command can hold. `None` when the command has been answered.
    pub fn budget(&self, token: &Token) -> Option<ReplyBudget> {
        self.chat.budget(token)
    }

    /// How many calls in conversations are open.
    pub fn open_calls(&self) -> usize {
        self.chat.open_calls()
    }

    /// How many commands in conversations are to be answered.
    pub fn open_requests(&self) -> usize {
        self.chat.open_requests()
    }

    /// How many own requests over Service RPC are open.
    pub fn open_service_calls(&self) -> usize {
        self.service.open_calls()
    }

    /// How many requests over Service RPC are to be answered.
    pub fn open_service_requests(&self) -> usize {
        self.service.open_requests()
    }

    /// How many commands wait to be sent, wait for the core's answer, or may have been sent.
    pub fn unsent(&self) -> usize {
        [&self.chat_link, &self.service_link]
            .into_iter()
            .flat_map(|link| [link.queue.len(), link.in_flight.len()])
            .fold(self.unconfirmed.len(), usize::saturating_add)
    }

    /// Whether nothing is to be answered, and nothing is to be sent.
    pub fn is_idle(&self) -> bool {
        self.open_requests() == 0 && self.open_service_requests() == 0 && self.unsent() == 0
    }

    /// How many answers came that nobody waited for: second ones, and those of commands that were
    /// given up.
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// What the application asked for and was not sent when it was too late to send it.
    pub(super) fn expire_queued(&mut self) {
        let now = self.now;
        if self.next_until.is_none_or(|until| until > now) {
            return;
        }
        while let Some(job) =
            self.chat_link.take_queued(|job| job.until().is_some_and(|until| until <= now))
        {
            if let Job::Command { id, .. } | Job::Publish { id, .. } = job {
                self.done(id, Outcome::NotSent);
            }
        }
        self.next_until = self.chat_link.queue.iter().filter_map(Job::until).min();
    }
}
