//! What the agents do, whatever drives them.

use core::fmt;
use core::time::Duration;

use agentwire_core::binding::Standard;
use agentwire_core::chat::ContactId;
use agentwire_core::chat::caller::{Call, To, Wait};
use agentwire_core::chat::session::{Declared, Event as ChatEvent};
use agentwire_core::simplex::{Event, OutputsFull, Session, SessionConfig};
use agentwire_core::time::Instant;

use crate::Socket;

/// The bot's answer to the first request.
pub const ANSWER: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

/// What the caller asks, the second time with another id.
const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"},"a2a-service-parameters":{"A2A-Version":"1.0"}}"#;

/// How long the caller waits for the first answer: enough for a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// How long it waits for the second one, which does not come.
const SHORT: Duration = Duration::from_millis(50);

/// How the exchange went.
pub type Verdict = Result<(), Wrong>;

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Wrong {
    /// The bot answered something else.
    Answer {
        /// How many bytes.
        len: usize,
    },
    /// The first answer did not come.
    Silence,
    /// The second request was answered.
    Noise,
    /// A call could not be made or sent.
    NotSent,
    /// The session gave its connection up, or nothing would ever happen again.
    Stuck,
    /// The driver did not take the outputs.
    Full,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { len } => write!(f, "another answer, of {len} bytes"),
            Self::Silence => f.write_str("the first request was not answered"),
            Self::Noise => f.write_str("the second request was answered"),
            Self::NotSent => f.write_str("a request was not sent"),
            Self::Stuck => f.write_str("the session or its driver is stuck"),
            Self::Full => f.write_str("the outputs were not taken"),
        }
    }
}

impl core::error::Error for Wrong {}

impl From<OutputsFull> for Wrong {
    fn from(_: OutputsFull) -> Self {
        Self::Full
    }
}

/// What an agent is to do.
#[derive(Debug)]
enum Role {
    /// Calls this contact; whether the first answer was there.
    Caller(ContactId, bool),
    /// Gives this answer.
    Bot(String),
}

/// A session, its connection, and what its application does.
pub struct Agent {
    /// The machine to drive.
    pub session: Session<Standard>,
    /// Where its frames go to and come from.
    pub socket: Socket,
    role: Role,
    verdict: Option<Verdict>,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("socket", &self.socket)
            .field("verdict", &self.verdict)
            .finish_non_exhaustive()
    }
}

/// A caller, and a bot that gives this answer, or the right one.
#[must_use]
pub fn agents(answer: Option<String>) -> (Agent, Agent) {
    let (to_caller, to_bot, bot) = Socket::pair();
    let agent = |socket, declared, seed, role| Agent {
        session: Session::new(SessionConfig::default(), declared, seed),
        socket,
        role,
        verdict: None,
    };
    let serves = vec![Declared::new(Standard::A2A, ["1.0"])];
    let answer = answer.unwrap_or_else(|| ANSWER.into());
    (
        agent(to_caller, Vec::new(), 1, Role::Caller(bot, false)),
        agent(to_bot, serves, 2, Role::Bot(answer)),
    )
}

impl Agent {
    /// The application learns something, and may hand the session something to do.
    pub fn handle_event(&mut self, now: Instant, event: Event<Standard>) {
        match (&self.role, event) {
            (Role::Bot(answer), Event::Chat(ChatEvent::Request(request)))
                if request.id.as_deref() == Some("1") =>
            {
                let given = self.session.respond(now, request.token, answer);
                self.verdict = given.is_err().then_some(Err(Wrong::NotSent));
            }
            (Role::Caller(bot, false), Event::Ready(_)) => {
                self.call(now, *bot, REQUEST, LONG);
            }
            (Role::Caller(bot, is_answered), Event::Chat(ChatEvent::Reply(reply))) => {
                if *is_answered {
                    self.verdict = Some(Err(Wrong::Noise));
                } else if !reply.is_end || reply.text != ANSWER {
                    self.verdict = Some(Err(Wrong::Answer { len: reply.text.len() }));
                } else {
                    let bot = *bot;
                    self.role = Role::Caller(bot, true);
                    self.call(now, bot, &REQUEST.replace("\"id\":1", "\"id\":2"), SHORT);
                }
            }
            (Role::Caller(_, is_answered), Event::Chat(ChatEvent::TimedOut(_))) => {
                self.verdict = Some(if *is_answered { Ok(()) } else { Err(Wrong::Silence) });
            }
            (Role::Caller(..), Event::NotSent { .. } | Event::OutcomeUnknown { .. }) => {
                self.verdict = Some(Err(Wrong::NotSent));
            }
            _ => {}
        }
    }

    fn call(&mut self, now: Instant, bot: ContactId, request: &str, wait: Duration) {
        let call = Call::new(Standard::A2A, To::Contact(bot), request).wait(Wait::new(wait, wait));
        if self.session.call(now, &call).is_err() {
            self.verdict = Some(Err(Wrong::NotSent));
        }
    }

    /// How the exchange went, once this agent knows: it is over then.
    #[must_use]
    pub const fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }
}
