//! The owner's decisions: [`Approver`].

use core::fmt;
use core::future::Future;
use core::time::Duration;
use std::io;
use std::process::Stdio;

use agentwire_core::admission;
pub use agentwire_core::admission::When;
use agentwire_core::chat::Chat;
use agentwire_core::simplex::error::CoreErrorKind;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use super::conversation;
use crate::client::{Client, CoreCallError};
use crate::reach::{Address, ReachError};

/// What the owner is asked about. `Display` is one line for a person, with no text of a message
/// in it; [`to_json`](Self::to_json) is the whole.
///
/// ```
/// use agentwire_tokio::gateway::Action;
/// let action = Action::Connect { to: "@acme.simplex".into() };
/// assert_eq!(action.to_string(), "connect to @acme.simplex");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Connect to an address.
    Connect {
        /// The address.
        to: String,
    },
    /// Send a message.
    Send {
        /// The conversation.
        to: String,
        /// The text.
        text: String,
    },
    /// Leave a group.
    Leave {
        /// The group.
        group: String,
    },
    /// Call an agent.
    Call {
        /// The agent, or the group.
        to: String,
        /// `mcp` or `a2a`.
        protocol: &'static str,
        /// The method.
        method: String,
        /// The tool, for `tools/call`.
        tool: Option<String>,
        /// The parameters, without `_meta`, as JSON.
        params: String,
    },
    /// Call a tool whose definition has changed since it was accepted.
    Changed {
        /// The agent.
        to: String,
        /// The tool.
        tool: String,
        /// The definition that is accepted, in canonical form.
        accepted: String,
        /// The one that there is now.
        proposed: String,
    },
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect { to } => write!(f, "connect to {to}"),
            Self::Send { to, text } => write!(f, "send a message of {} bytes to {to}", text.len()),
            Self::Leave { group } => write!(f, "leave {group}"),
            Self::Call { to, protocol, method, tool, params } => {
                write!(f, "call {protocol} {method}")?;
                if let Some(tool) = tool {
                    write!(f, " {tool}")?;
                }
                write!(f, " of {to} with {} bytes of parameters", params.len())
            }
            Self::Changed { to, tool, .. } => {
                write!(f, "call the tool {tool} of {to}, whose definition has changed")
            }
        }
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Action({self})")
    }
}

impl Action {
    /// All that there is to decide on.
    ///
    /// ```
    /// use agentwire_tokio::gateway::Action;
    /// let action = Action::Send { to: "@ann".into(), text: "hello".into() };
    /// let json = action.to_json().to_string();
    /// assert_eq!(json, r#"{"action":"send","text":"hello","to":"@ann"}"#);
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Value {
        let parsed = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
        match self {
            Self::Connect { to } => json!({"action": "connect", "to": to}),
            Self::Send { to, text } => json!({"action": "send", "to": to, "text": text}),
            Self::Leave { group } => json!({"action": "leave", "group": group}),
            Self::Call { to, protocol, method, tool, params } => json!({
                "action": "call", "to": to, "protocol": protocol, "method": method,
                "tool": tool, "params": parsed(params),
            }),
            Self::Changed { to, tool, accepted, proposed } => json!({
                "action": "accept_change", "to": to, "tool": tool,
                "accepted": parsed(accepted), "proposed": parsed(proposed),
            }),
        }
    }

    /// What one approval stands for under [`When::New`]; a change is always asked about.
    pub(super) fn kind(&self) -> Option<String> {
        Some(match self {
            Self::Connect { to } => format!("connect {to}"),
            Self::Send { to, .. } => format!("send {to}"),
            Self::Leave { group } => format!("leave {group}"),
            Self::Call { to, protocol, method, tool, .. } => {
                format!("call {protocol} {method} {} {to}", tool.as_deref().unwrap_or_default())
            }
            Self::Changed { .. } => return None,
        })
    }
}

/// What the owner has decided.
///
/// ```
/// use agentwire_tokio::gateway::Decision;
/// assert_eq!(Decision::Expired.to_string(), "the owner has not answered in time");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Decision {
    /// It may be done, this once.
    Approved,
    /// It is not to be done.
    Refused,
    /// Nobody has answered in time, so it is not done.
    Expired,
    /// The owner cannot be asked, so it is not done: why.
    Unreachable(String),
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approved => f.write_str("the owner approves"),
            Self::Refused => f.write_str("the owner refuses"),
            Self::Expired => f.write_str("the owner has not answered in time"),
            Self::Unreachable(why) => write!(f, "the owner cannot be asked: {why}"),
        }
    }
}

/// Asks the owner.
///
/// ```
/// use agentwire_tokio::gateway::{Action, Approver, Decision};
///
/// /// Lets messages out, and nothing else.
/// struct MessagesOnly;
///
/// impl Approver for MessagesOnly {
///     async fn decide(&self, action: &Action) -> Decision {
///         if matches!(action, Action::Send { .. }) { Decision::Approved } else { Decision::Refused }
///     }
/// }
/// ```
pub trait Approver: Send + Sync + 'static {
    /// Whether an action may be done, once. Dropping the future withdraws the question.
    fn decide(&self, action: &Action) -> impl Future<Output = Decision> + Send;
}

/// Nobody is there to ask: every question is answered with a refusal. For [`When::Never`].
///
/// ```
/// use agentwire_tokio::gateway::{Action, Approver as _, Decision, Unasked};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let leave = Action::Leave { group: "#team".into() };
/// assert!(matches!(Unasked.decide(&leave).await, Decision::Unreachable(_)));
/// # });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(clippy::exhaustive_structs)]
pub struct Unasked;

impl Approver for Unasked {
    async fn decide(&self, _: &Action) -> Decision {
        Decision::Unreachable(String::from("no way to ask is configured"))
    }
}

/// A command that decides: it gets the action as JSON on its standard input, and approves with
/// exit code 0.
///
/// ```
/// use agentwire_tokio::gateway::CommandHook;
/// let hook = CommandHook::new(["/usr/local/bin/ask-me"]);
/// assert_eq!(hook.unwrap().wait.as_secs(), 600);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CommandHook {
    program: String,
    args: Vec<String>,
    /// How long it may take; ten minutes by default. It is killed then.
    pub wait: Duration,
}

impl CommandHook {
    /// This program with these arguments; `None` without a program.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Option<Self> {
        let mut words = command.into_iter().map(Into::into);
        let program = words.next()?;
        Some(Self { program, args: words.collect(), wait: OWNER_WAIT })
    }

    async fn run(&self, action: &Action) -> io::Result<bool> {
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .stdin(Stdio::piped())
            // Standard output may carry the protocol.
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A hook that does not read decides all the same.
            let _ = stdin.write_all(format!("{}\n", action.to_json()).as_bytes()).await;
        }
        Ok(child.wait().await?.success())
    }
}

/// How long an owner has to answer.
const OWNER_WAIT: Duration = Duration::from_secs(600);

impl Approver for CommandHook {
    async fn decide(&self, action: &Action) -> Decision {
        match timeout(self.wait, self.run(action)).await {
            Ok(Ok(true)) => Decision::Approved,
            Ok(Ok(false)) => Decision::Refused,
            Ok(Err(error)) => Decision::Unreachable(format!("{}: {error}", self.program)),
            Err(_) => Decision::Expired,
        }
    }
}

/// An owner who is asked in a conversation, and answers there: `ok CODE` or `no CODE`. Each
/// question has a code of its own, which counts once, from this contact, in time.
///
/// ```no_run
/// use agentwire_tokio::client::Client;
/// use agentwire_tokio::gateway::ChatOwner;
/// use agentwire_tokio::reach::ReachError;
/// async fn owner(client: Client) -> Result<ChatOwner, ReachError> {
///     ChatOwner::find(client, &"@owner".parse().unwrap()).await
/// }
/// ```
#[derive(Debug)]
pub struct ChatOwner {
    client: Client,
    chat: Chat,
    /// How long the owner has to answer; ten minutes by default.
    pub wait: Duration,
}

/// How often the owner's conversation is looked at.
const LOOK: Duration = Duration::from_millis(500);

impl ChatOwner {
    /// The contact with this name or number.
    ///
    /// # Errors
    /// [`ReachError`]; [`NotAContact`](ReachError::NotAContact) for a group.
    pub async fn find(client: Client, address: &Address) -> Result<Self, ReachError> {
        match conversation::find(&client, address).await? {
            chat @ Chat::Direct(_) => Ok(Self { client, chat, wait: OWNER_WAIT }),
            Chat::Group(_) => Err(ReachError::NotAContact),
        }
    }

    async fn ask(&self, action: &Action) -> Result<Decision, CoreCallError> {
        let code = code();
        let whole = serde_json::to_string_pretty(&action.to_json()).unwrap_or_default();
        let minutes = self.wait.as_secs().div_ceil(60);
        let question = format!(
            "May I {action}? Answer \"ok {code}\" or \"no {code}\" within {minutes} min.\n{whole}"
        );
        let sent = match conversation::send(&self.client, self.chat, &question).await {
            // Nobody decides on what cannot be shown whole.
            Err(CoreCallError::Refused(refusal)) if refusal.kind == CoreErrorKind::LargeMsg => {
                return Ok(Decision::Unreachable(String::from(
                    "the action is too long to be shown",
                )));
            }
            sent => sent?,
        };
        let until = Instant::now() + self.wait;
        let mut seen = sent;
        while Instant::now() < until {
            for message in conversation::after(&self.client, self.chat, seen).await? {
                seen = message.item;
                let mut words = message.text.split_whitespace();
                let (word, of) = (words.next().unwrap_or_default(), words.next());
                if message.is_own || of != Some(&code) || words.next().is_some() {
                    continue;
                }
                match admission::Decision::from_word(word) {
                    Some(admission::Decision::Approve) => return Ok(Decision::Approved),
                    Some(admission::Decision::Decline) => return Ok(Decision::Refused),
                    None => {}
                }
            }
            sleep(LOOK).await;
        }
        Ok(Decision::Expired)
    }
}

impl Approver for ChatOwner {
    async fn decide(&self, action: &Action) -> Decision {
        match self.ask(action).await {
            Ok(decision) => decision,
            Err(error) => Decision::Unreachable(error.to_string()),
        }
    }
}

/// Six letters and digits that nobody can guess from the last ones.
fn code() -> String {
    const SIGNS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz234567895";
    let mut random = agentwire_blocking::machine::seed();
    (0..6)
        .map(|_| {
            let sign = SIGNS[(random % 32) as usize];
            random /= 32;
            char::from(sign)
        })
        .collect()
}
