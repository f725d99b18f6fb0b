//! A bot of a chat core: [`Bot::connect`] (Unix).

use std::sync::Arc;

use agentwire_core::binding::Binding;
use agentwire_core::chat::session::Declared;
use agentwire_core::json::Object;
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::error::CoreErrorKind;
use agentwire_core::simplex::journal::{Journal, JournalStore};
use agentwire_core::simplex::{Session, SessionConfig};

use super::{Bot, BotConfig, Replier, Request, guarded};
use crate::client::{ConnectError, CoreCallError, connect};
use crate::link::Core;
use crate::machine::{AUTO_ACCEPT, address, publication, seed};
use crate::machines::Keep;
use crate::queue::Queue;

/// # A chat core (Unix)
impl<B: Binding + Send + 'static> Bot<B> {
    /// A bot of the profile that is active at a core, once the core is started and answers, and
    /// the profile says what is served. From then on it connects anew whenever it has to: it picks
    /// up what has come meanwhile, and sends what it could not send.
    ///
    /// ```no_run
    /// use agentwire_blocking::bot::{Bot, BotConfig, Replier, Request};
    /// use agentwire_blocking::link::Core;
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::chat::session::Declared;
    ///
    /// # fn serve() -> Result<(), Box<dyn core::error::Error>> {
    /// let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
    /// let core = Core::new("ws://127.0.0.1:5225");
    /// let handler = |request: Request, replier: Replier| {
    ///     let id = request.id.unwrap_or_default();
    ///     let _ = replier.respond(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    /// };
    /// let bot = Bot::connect(core, declared, BotConfig::default(), handler)?;
    /// println!("{}", bot.address()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ConnectError`] when the first attempt fails; it is not repeated then.
    pub fn connect(
        core: Core,
        declared: Vec<Declared<B>>,
        config: BotConfig,
        handler: impl Fn(Request<B>, Replier<B>) + Send + Sync + 'static,
    ) -> Result<Self, ConnectError> {
        Self::connect_keeping(core, declared, config, None::<(Journal, Nothing)>, handler)
    }

    /// The same, keeping the call journal where it outlives the process: a command takes effect at
    /// most once, whatever ends when. The journal is what the store has kept so far.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_keeping<S: JournalStore + Send + 'static>(
        core: Core,
        declared: Vec<Declared<B>>,
        config: BotConfig,
        journal: Option<(Journal, S)>,
        handler: impl Fn(Request<B>, Replier<B>) + Send + Sync + 'static,
    ) -> Result<Self, ConnectError> {
        let mut session = SessionConfig::default().paced(&config.turns());
        session.chat = config.session;
        session.service = config.service_session;
        session.journal = config.journal_limits;
        session.service_requests = config.service;
        session.is_idempotent = config.is_idempotent;
        let services = if config.service { guarded(&declared) } else { Vec::new() };
        let mut session = Session::with_service(session, guarded(&declared), services, seed());
        let store = journal.map(|(journal, store)| {
            session.keep_journal(journal);
            Box::new(store) as Box<dyn Keep>
        });
        let requests = Arc::new(Queue::new(config.turns()));
        let (agent, thread) = connect::spawn(core, session, store, Some(Arc::clone(&requests)))?;
        let mut bot = Self { agent, requests, threads: vec![thread] };
        let worked = bot.work(config.workers, handler);
        worked.map_err(|error| ConnectError::Link(error.into()))?;
        bot.client().ready()?;
        let services = if config.service { &*declared } else { &[] };
        if let Some(publication) = publication(&declared, services).filter(|_| config.publish) {
            bot.client().publish(publication).map_err(ConnectError::Publish)?;
        }
        Ok(bot)
    }

    /// The link under which the profile can be reached: its address at the core, which is created
    /// if there is none, takes Service RPC requests, and lets everybody in who connects.
    ///
    /// # Errors
    /// [`CoreCallError`]
    pub fn address(&self) -> Result<String, CoreCallError> {
        let client = self.client();
        let answer = match client.of_user(Command::ShowAddress) {
            Err(CoreCallError::Refused(refusal)) if refusal.kind == CoreErrorKind::NoAddress => {
                client.of_user(|user| Command::CreateAddress { user, pq_ratchet: Some(true) })?
            }
            answer => answer?,
        };
        let mut own = address(&answer)?;
        if !own.shows_keys {
            let keys = |user| Command::ShortLinkAddress { user, pq_ratchet: Some(true) };
            match client.of_user(keys) {
                Ok(answer) => own.link = address(&answer)?.link,
                // A core without Service RPC: the address is good for conversations.
                Err(CoreCallError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if !own.auto_accepts {
            let settings = Object::parse(AUTO_ACCEPT).map_err(|_| CoreCallError::Unexpected)?;
            let set = |user| Command::AddressSettings { user, pq_ratchet: None, settings };
            client.of_user(set)?;
        }
        Ok(own.link)
    }
}

/// No store.
enum Nothing {}

impl JournalStore for Nothing {
    type Error = core::convert::Infallible;

    fn save(&mut self, _: &[agentwire_core::simplex::journal::Change]) -> Result<(), Self::Error> {
        match *self {}
    }
}
