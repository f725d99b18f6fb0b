#![doc = include_str!("../../../docs/loopback-api.md")]

mod command;
mod group;
mod input;
mod item;
mod leave;
mod meet;
#[cfg(test)]
mod meeting_tests;
mod not_done;
mod refusal;
mod report;
mod run;
#[cfg(test)]
mod tests;
mod view;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use core::fmt;

use super::event::Event;
use super::mention::is_space;
use super::rng::Rng;
use super::{Loopback, ProfileId, ServiceHandle};
use crate::json::{Object, Str, to_text};
use crate::time::Instant;
use refusal::Refusal;
use run::{Outcome, Run};
use view::View;

/// The version that the stand-in reports.
pub const VERSION: &str = "7.0.0.11";

/// How many clients may be connected to all profiles together.
pub const MAX_CLIENTS: usize = 1_024;

/// How many frames wait for a client before it is given no more commands' answers.
pub const MAX_FRAMES: usize = 16;

/// The longest `corrId` that is given back, in bytes; a longer one is no request.
pub const MAX_CORR_ID_LEN: usize = 1_024;

/// A connection to the API of a profile's core.
///
/// ```
/// use agentwire_core::loopback::{Loopback, api::Api};
/// let mut net = Loopback::new(1);
/// let bot = net.add_profile("bot").unwrap();
/// let mut api = Api::new(1);
/// assert_ne!(api.connect(bot).unwrap(), api.connect(bot).unwrap());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ClientId(u64);

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}", self.0)
    }
}

/// Why the machine did not take what it was given.
///
/// ```
/// use agentwire_core::loopback::api::{ApiError, MAX_CLIENTS};
/// let error = ApiError::TooManyClients { limit: MAX_CLIENTS };
/// assert_eq!(error.to_string(), "1024 clients are connected");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ApiError {
    /// There is no such client: a misuse.
    UnknownClient {
        /// Which was named.
        client: ClientId,
    },
    /// As many clients are connected as there may be.
    TooManyClients {
        /// How many.
        limit: usize,
    },
    /// A command of the client waits for its response. The frame can be handed in again when
    /// [`Api::takes_frames`] says so; a driver reads no more of the connection until then.
    Waits,
    /// The client's frames were not taken.
    Full {
        /// How many wait.
        limit: usize,
    },
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownClient { client } => write!(f, "{client} is not connected"),
            Self::TooManyClients { limit } => write!(f, "{limit} clients are connected"),
            Self::Waits => f.write_str("a command waits for its response"),
            Self::Full { limit } => write!(f, "{limit} frames wait for the client"),
        }
    }
}

impl core::error::Error for ApiError {}

/// The bot API of the cores of a [`Loopback`]: command frames in, response and event frames out.
///
/// - *Setup*: [`connect`](Self::connect), [`disconnect`](Self::disconnect),
///   [`stop`](Self::stop).
/// - *Input*: [`handle_frame`](Self::handle_frame).
/// - *Output*: [`poll_frame`](Self::poll_frame); [`Loopback::poll_timeout`] says when there may be
///   more.
///
/// See the [module](self) for the rules.
///
/// ```
/// use agentwire_core::loopback::{Loopback, api::Api};
/// use agentwire_core::time::Instant;
///
/// let mut net = Loopback::new(1);
/// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// let (to_bot, _) = net.connect(ann, bot).unwrap();
/// let mut api = Api::new(1);
/// let (of_ann, of_bot) = (api.connect(ann).unwrap(), api.connect(bot).unwrap());
///
/// let now = Instant::ZERO;
/// let frame = format!(r#"{{"corrId":"7","cmd":"/_send @{} text hello"}}"#, to_bot.0);
/// api.handle_frame(&mut net, now, of_ann, frame.as_bytes()).unwrap();
/// let response = api.poll_frame(&mut net, of_ann).unwrap();
/// assert!(response.starts_with(r#"{"corrId":"7","resp":{"type":"newChatItems","user":{"#));
/// let event = api.poll_frame(&mut net, of_bot).unwrap();
/// assert!(event.starts_with(r#"{"resp":{"type":"newChatItems","user":{"#));
/// ```
pub struct Api {
    rng: Rng,
    accounts: BTreeMap<ProfileId, Account>,
    clients: BTreeMap<ClientId, Client>,
    next_client: u64,
    /// How many frames clients were ever given.
    given: u64,
}

/// What the API knows of a profile's core that its network does not.
#[derive(Debug)]
struct Account {
    is_running: bool,
}

impl Default for Account {
    /// The core's own start: `-p` starts the chat, without service requests.
    fn default() -> Self {
        Self { is_running: true }
    }
}

struct Client {
    profile: ProfileId,
    /// What is to be sent, and whether it is an event.
    frames: VecDeque<(bool, String)>,
    /// The request that the client's last command waits for, and the command's `corrId`.
    waits: Option<(ServiceHandle, String)>,
}

impl Client {
    /// Whether the client has taken the last event that it was given.
    fn is_free(&self) -> bool {
        self.frames.len() < MAX_FRAMES && !self.frames.iter().any(|(is_event, _)| *is_event)
    }
}

impl Api {
    /// The API of all profiles. The seed decides which of several clients gets an event.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            accounts: BTreeMap::new(),
            clients: BTreeMap::new(),
            next_client: 0,
            given: 0,
        }
    }

    /// A client connects to a profile's core. The first one finds the chat running, with service
    /// requests as the network has them.
    ///
    /// # Errors
    /// [`ApiError::TooManyClients`]
    pub fn connect(&mut self, profile: ProfileId) -> Result<ClientId, ApiError> {
        if self.clients.len() >= MAX_CLIENTS {
            return Err(ApiError::TooManyClients { limit: MAX_CLIENTS });
        }
        let client = ClientId(self.next_client);
        self.next_client = self.next_client.saturating_add(1);
        self.accounts.entry(profile).or_default();
        self.clients.insert(client, Client { profile, frames: VecDeque::new(), waits: None });
        Ok(client)
    }

    /// A client is gone, and with it what it was given and had not taken. A command that waits
    /// goes on; nobody gets its response.
    pub fn disconnect(&mut self, client: ClientId) {
        self.clients.remove(&client);
    }

    /// Stops a profile's chat, as if its core had been started for maintenance (`--maintenance`):
    /// what a client finds until its `/_start`.
    pub fn stop(&mut self, profile: ProfileId) {
        self.accounts.entry(profile).or_default().is_running = false;
        self.end_waiting(profile);
    }

    /// How many clients are connected to a profile's core.
    #[must_use]
    pub fn clients(&self, profile: ProfileId) -> usize {
        self.clients.values().filter(|client| client.profile == profile).count()
    }

    /// How many frames all clients were ever given. A call for one client can give another one a
    /// frame, an event or a response: whoever drives several wakes them when this has grown.
    #[must_use]
    pub const fn given(&self) -> u64 {
        self.given
    }

    /// Whether a client's next command is taken: none of its commands waits for a response, and it
    /// has taken the frames that it was given. A driver that reads on only then loses nothing.
    #[must_use]
    pub fn takes_frames(&self, client: ClientId) -> bool {
        let found = self.clients.get(&client);
        found.is_some_and(|found| found.waits.is_none() && found.frames.len() < MAX_FRAMES)
    }

    /// A frame of a client: `{"corrId":"…","cmd":"…"}`. Each has exactly one answer, at once or,
    /// for `/_service_request`, when the response or the timeout comes.
    ///
    /// # Errors
    /// [`ApiError`]; the frame can be handed in again later then.
    pub fn handle_frame(
        &mut self,
        net: &mut Loopback,
        now: Instant,
        client: ClientId,
        frame: &[u8],
    ) -> Result<(), ApiError> {
        let found = self.clients.get(&client).ok_or(ApiError::UnknownClient { client })?;
        if found.waits.is_some() {
            return Err(ApiError::Waits);
        }
        if found.frames.len() >= MAX_FRAMES {
            return Err(ApiError::Full { limit: MAX_FRAMES });
        }
        let profile = found.profile;
        let (corr_id, outcome) = match Request::parse(frame) {
            None => (None, Err(Refusal::FRAME)),
            Some(request) => {
                let account = self.accounts.entry(profile).or_default();
                net.handle_timeout(now);
                let command = command::parse(request.command.trim_end_matches(is_space));
                let was_running = account.is_running;
                let mut run = Run { net, account: &mut *account, profile, now };
                let outcome = command.ok_or(Refusal::GRAMMAR).and_then(|command| run.run(command));
                let has_stopped = was_running && !account.is_running;
                if has_stopped {
                    self.end_waiting(profile);
                }
                (Some(request.corr_id), outcome)
            }
        };
        let Some(found) = self.clients.get_mut(&client) else { return Ok(()) };
        let response = match outcome {
            Ok(Outcome::Response(response)) => response,
            Ok(Outcome::Waits(handle)) => {
                found.waits = corr_id.map(|corr_id| (handle, corr_id));
                return Ok(());
            }
            Err(refusal) => to_text(|out| refusal.response(out)),
        };
        found.frames.push_back((false, enveloped(corr_id.as_deref(), &response)));
        self.given = self.given.saturating_add(1);
        Ok(())
    }

    /// The next frame for a client: a response, or an event that this client and no other gets.
    /// Events wait in the network while no client of the profile is connected and while the chat
    /// is stopped.
    pub fn poll_frame(&mut self, net: &mut Loopback, client: ClientId) -> Option<String> {
        let found = self.clients.get(&client)?;
        let profile = found.profile;
        if found.frames.is_empty() {
            self.distribute(net, profile);
        }
        self.clients.get_mut(&client)?.frames.pop_front().map(|(_, frame)| frame)
    }

    /// Gives the profile's events to clients that have taken the last one, one to each.
    fn distribute(&mut self, net: &mut Loopback, profile: ProfileId) {
        if !self.accounts.get(&profile).is_some_and(|account| account.is_running) {
            return;
        }
        loop {
            let free = |client: &Client| client.profile == profile && client.is_free();
            let count = self.clients.values().filter(|client| free(client)).count();
            let Some(last) = count.checked_sub(1) else { return };
            let Some(event) = net.poll_event(profile) else { return };
            let view = View { net, profile };
            let (handle, response) = match &event {
                Event::ServiceResponse(response) => {
                    (response.handle, report::service_response(view, &response.data))
                }
                Event::ServiceFailed { handle, failure } => {
                    (*handle, report::service_failure(*failure))
                }
                _ => {
                    let Some(event) = report::report(view, &event) else { continue };
                    // One client is drawn even where there is one: the seed means one run.
                    let drawn = self.rng.up_to(last as u64);
                    let drawn = usize::try_from(drawn).unwrap_or(last);
                    let mut free = self.clients.values_mut().filter(|client| free(client));
                    if let Some(client) = free.nth(drawn) {
                        client.frames.push_back((true, enveloped(None, &event)));
                        self.given = self.given.saturating_add(1);
                    }
                    continue;
                }
            };
            self.respond(handle, &response);
        }
    }

    /// Answers the commands that wait, now that the chat is stopped.
    fn end_waiting(&mut self, profile: ProfileId) {
        for client in self.clients.values_mut().filter(|client| client.profile == profile) {
            if let Some((_, corr_id)) = client.waits.take() {
                let response = to_text(|out| Refusal::Inactive.response(out));
                client.frames.push_back((false, enveloped(Some(&corr_id), &response)));
                self.given = self.given.saturating_add(1);
            }
        }
    }

    /// Answers the command that waits for this request, if its client is still there.
    fn respond(&mut self, handle: ServiceHandle, response: &str) {
        let waits =
            |client: &&mut Client| client.waits.as_ref().is_some_and(|(waits, _)| *waits == handle);
        let Some(client) = self.clients.values_mut().find(waits) else { return };
        if let Some((_, corr_id)) = client.waits.take() {
            client.frames.push_back((false, enveloped(Some(&corr_id), response)));
            self.given = self.given.saturating_add(1);
        }
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("accounts", &self.accounts)
            .field("clients", &self.clients.len())
            .finish_non_exhaustive()
    }
}

/// A frame that was read: simplex-chat `Server.hs`, `ChatSrvRequest`.
struct Request {
    corr_id: String,
    command: String,
}

impl Request {
    /// Unknown members are ignored.
    fn parse(frame: &[u8]) -> Option<Self> {
        let object = Object::parse(crate::json::text(frame).ok()?).ok()?;
        let text = |text: Str<'_>| -> String { text.chars().collect() };
        let corr_id = object.str("corrId").ok()?.map(text)?;
        let command = object.str("cmd").ok()?.map(text)?;
        (corr_id.len() <= MAX_CORR_ID_LEN).then_some(Self { corr_id, command })
    }
}

fn enveloped(corr_id: Option<&str>, response: &str) -> String {
    to_text(|out| {
        out.raw("{");
        if let Some(corr_id) = corr_id {
            out.raw("\"corrId\":").string(corr_id).raw(",");
        }
        out.raw("\"resp\":").raw(response).raw("}");
    })
}
