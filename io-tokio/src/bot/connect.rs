//! A bot of a chat core: [`Bot::connect`].

use agentwire_blocking::machine::{AUTO_ACCEPT, address, publication, seed};
use agentwire_core::binding::Binding;
use agentwire_core::json::Object;
use agentwire_core::simplex::command::Command as CoreCommand;
use agentwire_core::simplex::error::CoreErrorKind;
use agentwire_core::simplex::{Session, SessionConfig};

use super::config::guarded;
use super::{Bot, BotConfig, Gate, Handler};
use crate::agent::Linked;
use crate::client::{ConnectError, CoreCallError, ready};
use crate::link::Core;

/// # A chat core
impl<B: Binding + Send + 'static> Bot<B> {
    /// A bot of the profile that is active at a core, once the core is started and answers, and
    /// the profile says what is served. From then on it connects anew whenever it has to: it picks
    /// up what has come meanwhile, and sends what it could not send.
    ///
    /// ```no_run
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::chat::session::Declared;
    /// use agentwire_tokio::bot::{Bot, Replier, Request};
    /// use agentwire_tokio::link::Core;
    ///
    /// # async fn serve() -> Result<(), Box<dyn core::error::Error>> {
    /// let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
    /// let handler = |request: Request, replier: Replier| async move {
    ///     let id = request.id.unwrap_or_default();
    ///     let result = r#"{"message":{"messageId":"n","role":"ROLE_AGENT","parts":[]}}"#;
    ///     let _ = replier.respond(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    /// };
    /// let bot = Bot::connect(Core::new("ws://127.0.0.1:5225"), declared, handler).await?;
    /// println!("{}", bot.address().await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ConnectError`] when the first attempt fails; it is not repeated then.
    ///
    /// # Panics
    /// As [`start`](Self::start); the runtime needs its I/O driver too (`enable_io`).
    pub async fn connect<G: Gate<B>>(
        core: Core,
        config: impl Into<BotConfig<B, G>>,
        handler: impl Handler<B>,
    ) -> Result<Self, ConnectError> {
        let config = config.into();
        let publication = publication(&config.declared, &config.service).filter(|_| config.publish);
        let mut session = SessionConfig::default().paced(&config.turns);
        session.chat = config.session;
        session.service = config.service_session;
        session.journal = config.journal_limits;
        session.service_requests = !config.service.is_empty();
        let (declared, service) = (guarded(config.declared), guarded(config.service));
        session.is_idempotent = config.is_idempotent;
        // With a journal that outlives the process, a command that waits for its turn when that
        // ends has not begun, and is run by the next one.
        let says_begin = config.journal.is_some() || config.gate.asks();
        session.says_begin = says_begin;
        let mut session = Session::with_service(session, declared, service, seed());
        let store = config.journal.map(|(journal, store)| {
            session.keep_journal(journal);
            store
        });
        let machine = Linked::new(core, session, store);
        let handle = machine.handle();
        let mut bot = Self::spawn(machine, config.turns, config.gate, handler, says_begin);
        ready(&handle).await?;
        bot.core = Some(handle);
        if let Some(publication) = publication {
            bot.client().publish(publication).await.map_err(ConnectError::Publish)?;
        }
        Ok(bot)
    }

    /// The link under which the profile can be reached: its address at the core, which is created
    /// if there is none, takes Service RPC requests, and lets everybody in who connects.
    ///
    /// # Errors
    /// [`CoreCallError`]
    pub async fn address(&self) -> Result<String, CoreCallError> {
        let client = self.client();
        let answer = match client.of_user(CoreCommand::ShowAddress).await {
            Err(CoreCallError::Refused(refusal)) if refusal.kind == CoreErrorKind::NoAddress => {
                let create = |user| CoreCommand::CreateAddress { user, pq_ratchet: Some(true) };
                client.of_user(create).await?
            }
            answer => answer?,
        };
        let mut own = address(&answer)?;
        if !own.shows_keys {
            let keys = |user| CoreCommand::ShortLinkAddress { user, pq_ratchet: Some(true) };
            match client.of_user(keys).await {
                Ok(answer) => own.link = address(&answer)?.link,
                // A core without Service RPC: the address is good for conversations.
                Err(CoreCallError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if !own.auto_accepts {
            let settings = Object::parse(AUTO_ACCEPT).map_err(|_| CoreCallError::Unexpected)?;
            client
                .of_user(|user| CoreCommand::AddressSettings { user, pq_ratchet: None, settings })
                .await?;
        }
        Ok(own.link)
    }
}
