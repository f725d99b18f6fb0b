//! What a bot serves, for whom, and within which limits: [`BotConfig`].

use core::fmt;

use agentwire_core::binding::{Binding, Guarded, Standard};
use agentwire_core::chat::session::{Declared, SessionConfig};
use agentwire_core::rpc::session::ServiceSessionConfig;
use agentwire_core::simplex::journal::{Journal, JournalConfig, JournalStore};
use agentwire_core::turns::TurnLimits;

use super::handler::Everybody;
use crate::agent::Keep;

/// What a [`Bot`](super::Bot) serves, for whom, and within which limits. A list of protocols is one
/// with the usual limits.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::Declared;
/// use agentwire_core::turns::TurnLimits;
/// use agentwire_tokio::bot::BotConfig;
///
/// let config = BotConfig::from(vec![Declared::new(Standard::A2A, ["1.0"])])
///     .service(vec![Declared::new(Standard::A2A, ["1.0"])])
///     .turns(TurnLimits::default().running_per_caller(2));
/// assert_eq!(config.turns.running_per_caller, 2);
/// ```
#[non_exhaustive]
pub struct BotConfig<B = Standard, G = Everybody> {
    /// The protocols in conversations.
    pub declared: Vec<Declared<B>>,
    /// The protocols over Service RPC.
    pub service: Vec<Declared<B>>,
    /// The limits of conversations.
    pub session: SessionConfig,
    /// The limits of Service RPC.
    pub service_session: ServiceSessionConfig,
    /// How much is handled at once, of everybody and of one.
    pub turns: TurnLimits,
    /// Whether the profile at the core says what is served; it does by default.
    pub publish: bool,
    /// Whether a command that an earlier process had begun may be run again; not by default.
    pub is_idempotent: bool,
    /// The limits of the call journal, where none is [given](Self::journal): how many commands are
    /// open at once among them.
    pub journal_limits: JournalConfig,
    /// The call journal and where it is kept; by default it ends with the bot.
    pub(super) journal: Option<(Journal, Box<dyn Keep>)>,
    /// Who may call.
    pub gate: G,
}

impl<B> Default for BotConfig<B> {
    fn default() -> Self {
        Self {
            declared: Vec::new(),
            service: Vec::new(),
            session: SessionConfig::default(),
            service_session: ServiceSessionConfig::default(),
            turns: TurnLimits::default(),
            publish: true,
            is_idempotent: false,
            journal_limits: JournalConfig::default(),
            journal: None,
            gate: Everybody,
        }
    }
}

impl<B> From<Vec<Declared<B>>> for BotConfig<B> {
    fn from(declared: Vec<Declared<B>>) -> Self {
        Self { declared, ..Self::default() }
    }
}

impl<B, G> BotConfig<B, G> {
    /// Serving these protocols in conversations.
    #[must_use]
    pub fn declared(mut self, declared: Vec<Declared<B>>) -> Self {
        self.declared = declared;
        self
    }

    /// Serving these over Service RPC.
    #[must_use]
    pub fn service(mut self, declared: Vec<Declared<B>>) -> Self {
        self.service = declared;
        self
    }

    /// With these limits of conversations.
    #[must_use]
    pub fn session(mut self, session: SessionConfig) -> Self {
        self.session = session;
        self
    }

    /// With these limits of Service RPC.
    #[must_use]
    pub fn service_session(mut self, session: ServiceSessionConfig) -> Self {
        self.service_session = session;
        self
    }

    /// With so much handled at once.
    #[must_use]
    pub fn turns(mut self, turns: TurnLimits) -> Self {
        self.turns = turns;
        self
    }

    /// Leaving the profile at the core as it is.
    #[must_use]
    pub fn unpublished(mut self) -> Self {
        self.publish = false;
        self
    }

    /// At a core, keeping the call journal where it outlives the process: a command takes effect at
    /// most once, whatever ends when. The journal is what the store has kept so far.
    ///
    /// ```
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::simplex::journal::{Change, Journal, JournalConfig, JournalStore};
    /// use agentwire_tokio::bot::BotConfig;
    ///
    /// struct Tape(Vec<Change>);
    ///
    /// impl JournalStore for Tape {
    ///     type Error = core::convert::Infallible;
    ///
    ///     fn save(&mut self, changes: &[Change]) -> Result<(), Self::Error> {
    ///         self.0.extend_from_slice(changes);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let journal = Journal::durable(JournalConfig::default());
    /// let config = BotConfig::<Standard>::default().journal(journal, Tape(Vec::new()));
    /// ```
    #[must_use]
    pub fn journal(mut self, journal: Journal, store: impl JournalStore + Send + 'static) -> Self {
        self.journal = Some((journal, Box::new(store)));
        self
    }

    /// At a core, with these limits of a call journal that ends with the bot. As many commands are
    /// open at once as the least of three limits allows:
    ///
    /// ```
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::simplex::journal::JournalConfig;
    /// use agentwire_core::turns::TurnLimits;
    /// use agentwire_tokio::bot::BotConfig;
    ///
    /// let mut config = BotConfig::<Standard>::default();
    /// config.session.max_requests = 10_000;
    /// let mut journal = JournalConfig::default();
    /// journal.max_open = 10_000;
    /// let config = config.journal_limits(journal).turns(TurnLimits::default().running(10_000));
    /// ```
    #[must_use]
    pub fn journal_limits(mut self, limits: JournalConfig) -> Self {
        self.journal_limits = limits;
        self
    }

    /// Running a command again that an earlier process had begun.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    /// For those whom this admits.
    #[must_use]
    pub fn gate<T>(self, gate: T) -> BotConfig<B, T> {
        BotConfig {
            declared: self.declared,
            service: self.service,
            session: self.session,
            service_session: self.service_session,
            turns: self.turns,
            publish: self.publish,
            is_idempotent: self.is_idempotent,
            journal_limits: self.journal_limits,
            journal: self.journal,
            gate,
        }
    }
}

impl<B, G> fmt::Debug for BotConfig<B, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BotConfig")
            .field("declared", &self.declared.len())
            .field("service", &self.service.len())
            .field("session", &self.session)
            .field("service_session", &self.service_session)
            .field("turns", &self.turns)
            .finish_non_exhaustive()
    }
}

/// The same protocols, with guards around their bindings.
pub(super) fn guarded<B: Binding>(declared: Vec<Declared<B>>) -> Vec<Declared<Guarded<B>>> {
    let guard = |declared: Declared<B>| {
        Declared::new(Guarded::new(*declared.binding()), declared.versions().iter().cloned())
    };
    declared.into_iter().map(guard).collect()
}
