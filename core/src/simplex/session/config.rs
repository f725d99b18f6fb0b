//! The limits of a session.

use core::time::Duration;

use crate::chat;
use crate::rpc::session::ServiceSessionConfig;
use crate::simplex::journal::JournalConfig;
use crate::simplex::{BackoffConfig, UserId};
use crate::turns::TurnLimits;

/// The limits of a [`Session`](super::Session).
///
/// ```
/// use agentwire_core::simplex::SessionConfig;
/// let mut config = SessionConfig::default();
/// config.service_requests = true;
/// assert_eq!(config.max_queued, 1_024);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SessionConfig {
    /// The limits of calls and commands in conversations.
    pub chat: chat::session::SessionConfig,
    /// The limits of Service RPC.
    pub service: ServiceSessionConfig,
    /// The limits of the call journal, if none is [given](super::Session::keep_journal).
    pub journal: JournalConfig,
    /// Whether a command that an earlier process had begun may be run again; not by default.
    pub is_idempotent: bool,
    /// Whether the application says itself that it [begins](super::Session::begin) a command. By
    /// default a command counts as begun once the application has learned of it.
    pub says_begin: bool,
    /// Which user of the core speaks; the active one by default.
    pub user: Option<UserId>,
    /// Whether Service RPC requests of others are to be let in; not by default.
    pub service_requests: bool,
    /// How long to wait between attempts to connect.
    pub backoff: BackoffConfig,
    /// How long an attempt to connect may take; ten seconds by default.
    pub connect_timeout: Duration,
    /// How long the core may take to answer a command, 30 seconds by default. A core that takes
    /// longer is taken for stuck: its connection is given up.
    pub answer_timeout: Duration,
    /// How long the session looks for a message that may have been sent when a connection ended,
    /// before it takes it for not sent; two seconds by default, from the first look on.
    pub settle: Duration,
    /// How many commands are sent on the connection of conversations before the first of them is
    /// answered; 64 by default. The core works on one at a time, so this saves the way back and
    /// forth, and lets many pass the socket at once.
    pub max_in_flight: usize,
    /// How many commands wait to be sent on a connection; 1,024 by default. Answers to commands of
    /// others are taken beyond it: there are no more of them than open commands.
    pub max_queued: usize,
    /// How many outputs wait to be taken before further frames are refused; 1,024 by default.
    pub max_outputs: usize,
    /// How many conversations are looked through again after a reconnect; 16,384 by default, those
    /// with the newest messages.
    pub max_chats: usize,
    /// How many groups are remembered of which it is known whether another member bears the
    /// profile's name; 1,024 by default.
    pub max_groups: usize,
    /// How many commands wait until that is known; 64 by default.
    pub max_held: usize,
    /// How many messages one page of a conversation has; 100 by default.
    pub page: u32,
    /// How many commands of others may be open, those of the next page among them, while
    /// conversations are looked through; 1,024 by default. What came while there was no connection
    /// is taken up as fast as it is answered, and none of it finds the bot full.
    pub max_backlog: usize,
}

impl SessionConfig {
    /// What came while there was no connection is read no faster than these limits take it up,
    /// even if it is all of one caller.
    ///
    /// ```
    /// use agentwire_core::simplex::SessionConfig;
    /// use agentwire_core::turns::TurnLimits;
    /// let config = SessionConfig::default().paced(&TurnLimits::default());
    /// assert_eq!((config.max_backlog, config.page), (80, 40));
    /// ```
    #[must_use]
    pub fn paced(mut self, turns: &TurnLimits) -> Self {
        self.max_backlog = turns.places_per_caller();
        // Two pages, so that there is something to do while the next one is read.
        let half = u32::try_from(self.max_backlog / 2).unwrap_or(u32::MAX);
        self.page = self.page.min(half.max(1));
        self
    }
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            chat: chat::session::SessionConfig::default(),
            service: ServiceSessionConfig::default(),
            journal: JournalConfig::default(),
            is_idempotent: false,
            says_begin: false,
            user: None,
            service_requests: false,
            backoff: BackoffConfig::default(),
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(30),
            settle: Duration::from_secs(2),
            max_in_flight: 64,
            max_queued: 1_024,
            max_outputs: 1_024,
            max_chats: 16_384,
            max_groups: 1_024,
            max_held: 64,
            page: 100,
            max_backlog: 1_024,
        }
    }
}
