//! What an agent turns, and what it learns from it: for this crate and the one on tokio.

use agentwire_core::binding::Binding;
use agentwire_core::chat::caller::CallId;
use agentwire_core::chat::responder::TokenKey;
use agentwire_core::chat::session;
use agentwire_core::chat::session::{Declared, Origin};
use agentwire_core::discovery;
use agentwire_core::profile::{Declaration, PeerType, Transports};
use agentwire_core::rpc::session::ServiceEvent;
use agentwire_core::rpc::{RequestId, ServiceCallId};
use agentwire_core::simplex::frame::Body;
use agentwire_core::simplex::profile::SetPeerType;
use agentwire_core::simplex::{
    CommandId, Disconnect, Event, Link, Outcome, OwnedFrame, Publication,
};
use agentwire_core::time::Instant;

use crate::client::{CoreCallError, CoreState, NotSent};
use crate::link::LinkError;

/// One step that was taken.
#[allow(clippy::exhaustive_enums)] // For the two adapters.
#[derive(Debug)]
pub enum Step<B> {
    /// Nothing that the agent has to know.
    Nothing,
    Event(session::Event<B>),
    /// The command of a call was not sent.
    CommandNotSent(CallId, NotSent),
    /// The first answer to this request that was not settled yet has been sent, or not.
    Answer(TokenKey, Result<(), NotSent>),
    Service(ServiceEvent<B>),
    RequestNotSent(ServiceCallId, NotSent),
    /// The response to this request has been sent, or not.
    Response(RequestId, Result<(), NotSent>),
    /// How the session stands to its core has changed.
    Standing,
    /// What was asked of the core has come to an end.
    Done(CommandId, Outcome),
    /// Nothing before this time, or before something arrives.
    Idle(Option<Instant>),
}

impl<B> Step<B> {
    /// A message was not sent.
    pub fn not_sent(origin: Origin, error: NotSent) -> Self {
        match origin {
            Origin::Command(call) => Self::CommandNotSent(call, error),
            Origin::Answer(token, _) => Self::Answer(token, Err(error)),
            _ => Self::Nothing,
        }
    }
}

/// What an event of a session on a core comes to.
#[allow(clippy::exhaustive_enums)] // For the two adapters.
#[derive(Debug)]
pub enum Learned<B> {
    Step(Step<B>),
    /// How the session stands to its core now.
    State(CoreState),
    /// For those who look at the core's own events.
    Core(OwnedFrame),
    Nothing,
}

/// Sorts an event. `error` is what the socket said last, `is_not_ready` whether the core was there
/// and could not be used.
pub fn learn<B>(event: Event<B>, error: &mut Option<LinkError>, is_not_ready: bool) -> Learned<B> {
    Learned::Step(match event {
        Event::Chat(event) => Step::Event(event),
        Event::Service(event) => Step::Service(event),
        Event::Sent { origin: Origin::Answer(token, _), .. } => Step::Answer(token, Ok(())),
        Event::NotSent { origin, why, .. } => Step::not_sent(origin, NotSent::Core(why)),
        Event::OutcomeUnknown { origin, .. } => Step::not_sent(origin, NotSent::Unknown),
        Event::ResponseSent(request) => Step::Response(request, Ok(())),
        Event::ResponseNotSent { request, refusal } => {
            Step::Response(request, Err(NotSent::Refused(refusal)))
        }
        Event::Done { command, outcome } => Step::Done(command, outcome),
        Event::Ready(ready) => {
            *error = None;
            return Learned::State(CoreState::Ready(ready));
        }
        Event::NotReady(error) => return Learned::State(CoreState::NotReady(error)),
        // The other one comes and goes with its requests.
        Event::Disconnected { link: Link::Chat, why, wait, attempt } => {
            let error = error.take();
            // Why the core cannot be used says more than that it was left alone for that.
            if why == Disconnect::NotReady && is_not_ready {
                return Learned::Nothing;
            }
            return Learned::State(CoreState::Disconnected { why, error, wait, attempt });
        }
        Event::Core(frame) => return Learned::Core(frame),
        _ => return Learned::Nothing,
    })
}

/// A number that no other process and no other run is likely to have, so that they do not all try
/// again at once.
pub fn seed() -> u64 {
    use core::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// What others' clocks say too.
pub fn time_of_day() -> agentwire_core::time::Timestamp {
    let now = std::time::SystemTime::now();
    let passed = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
    agentwire_core::time::Timestamp::from_millis(millis)
}

/// The settings of an address that lets everybody in.
pub const AUTO_ACCEPT: &str = r#"{"businessAddress":false,"autoAccept":{"acceptIncognito":false}}"#;

/// A bot's own address, as its core shows it.
#[derive(Debug)]
#[non_exhaustive]
pub struct OwnAddress {
    /// The link to hand out.
    pub link: String,
    /// Whether it lets everybody in.
    pub auto_accepts: bool,
    /// Whether its full link shows ratchet keys. Those of an address that was made without are
    /// behind its short link and not to be seen; giving it some once more changes nothing.
    pub shows_keys: bool,
}

/// The address in an answer of the core.
pub fn address(answer: &OwnedFrame) -> Result<OwnAddress, CoreCallError> {
    match answer.frame().map(|frame| frame.body()) {
        Some(Ok(Body::Address(address))) => {
            let full: String = address.links.full.chars().collect();
            let link = discovery::link::Link::parse(&full).ok();
            Ok(OwnAddress {
                link: address.links.best().chars().collect(),
                auto_accepts: address.auto_accepts,
                shows_keys: link.and_then(|link| link.has_ratchet_keys()) == Some(true),
            })
        }
        _ => Err(CoreCallError::Unexpected),
    }
}

/// What the profile says of these protocols; `None` if there are none.
pub fn publication<B: Binding>(
    chat: &[Declared<B>],
    service: &[Declared<B>],
) -> Option<Publication> {
    let mut publication = Publication::profile(SetPeerType::To(PeerType::Agent));
    let mut names = Vec::new();
    for declared in chat.iter().chain(service) {
        let name = declared.binding().name();
        if names.contains(&name) {
            continue;
        }
        names.push(name);
        let versions: Vec<&str> = declared.versions().iter().map(String::as_str).collect();
        let serves = |all: &[Declared<B>]| all.iter().any(|one| one.binding().name() == name);
        let transports = Transports::new(serves(chat), serves(service));
        publication = publication.declare(&Declaration::new(name, &versions, transports));
    }
    (!names.is_empty()).then_some(publication)
}
