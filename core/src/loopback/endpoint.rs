//! A session on a profile of the loopback: the loop that every driver turns.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{
    ComposedMessage, Event, Loopback, ProfileId, ReceivedItem, SendError, ServiceAddress,
    ServiceHandle, ServiceRequestError, ServiceRequestOptions, ServiceResponseError,
};
use crate::binding::Binding;
use crate::chat::session::{self, Input, Message, Origin, Output, Session, SessionError};
use crate::chat::{Chat, Item, ItemId, Mention, Quoted};
use crate::rpc::session::{
    ServiceEvent, ServiceInput, ServiceMessage, ServiceOutput, ServiceSession, ServiceSessionConfig,
};
use crate::rpc::{ErrorCode, RequestId, ServiceCallId};
use crate::time::Instant;

/// What has happened at an [`Endpoint`].
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::loopback::Step;
/// fn is_idle(step: &Step<Standard>) -> bool {
///     matches!(step, Step::Timeout(_))
/// }
/// ```
#[derive(Debug)]
#[allow(clippy::exhaustive_enums)]
pub enum Step<B> {
    /// The session has sent a message.
    Sent(SentMessage),
    /// The chat core has refused to send one; the session knows.
    NotSent(Message, SendError),
    /// The application learns this.
    Event(session::Event<B>),
    /// Service RPC: something was sent or not, or the application learns something.
    Service(ServiceStep<B>),
    /// Nothing is to be done before the next input or this time.
    Timeout(Option<Instant>),
}

/// What has happened at an [`Endpoint`] in Service RPC.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::loopback::ServiceStep;
/// fn is_sent(step: &ServiceStep<Standard>) -> bool {
///     matches!(step, ServiceStep::Sent(_))
/// }
/// ```
#[derive(Debug)]
#[allow(clippy::exhaustive_enums)]
pub enum ServiceStep<B> {
    /// The core has taken a request or a response.
    Sent(SentService),
    /// The core has refused a request; the session knows, and its end follows.
    RequestNotSent(ServiceCallId, ServiceRequestError),
    /// The core has refused a response. A requester meets silence until its timeout.
    ResponseNotSent(RequestId, ServiceResponseError),
    /// The application learns this.
    Event(ServiceEvent<B>),
}

/// Where a request goes, and who signs it.
///
/// ```
/// # use agentwire_core::loopback::Loopback;
/// use agentwire_core::loopback::ServiceTarget;
/// # let mut net = Loopback::new(1);
/// # let bot = net.add_profile("bot").unwrap();
/// let target = ServiceTarget::new(net.create_address(bot, true).unwrap());
/// assert_eq!(target.signer, None);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServiceTarget {
    /// The address.
    pub address: ServiceAddress,
    /// The public key of the one who signs, which stands for the core's `sign_key`.
    pub signer: Option<String>,
}

impl ServiceTarget {
    /// An unsigned request to this address.
    #[must_use]
    pub const fn new(address: ServiceAddress) -> Self {
        Self { address, signer: None }
    }

    /// The same, signed with the key whose public part this is.
    #[must_use]
    pub fn signed_by(mut self, key: impl Into<String>) -> Self {
        self.signer = Some(key.into());
        self
    }
}

impl From<ServiceAddress> for ServiceTarget {
    fn from(address: ServiceAddress) -> Self {
        Self::new(address)
    }
}

/// A request or a response that was sent.
///
/// ```
/// use agentwire_core::loopback::SentService;
/// fn show(sent: &SentService) -> String {
///     format!("{} bytes of JSON, {} of 11,106 with the framing", sent.json_len, sent.framed_len)
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SentService {
    /// What it is.
    pub origin: ServiceOrigin,
    /// The request that it responds to, if it is a response.
    pub request_id: Option<RequestId>,
    /// Whom it is for.
    pub to: Option<ProfileId>,
    /// The envelope as the session wrote it; the core writes it anew.
    pub text: String,
    /// The bytes of JSON that the core has written.
    pub json_len: usize,
    /// The same with the agent's framing.
    pub framed_len: usize,
}

impl fmt::Debug for SentService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentService")
            .field("origin", &self.origin)
            .field("to", &self.to)
            .field("text_len", &self.text.len())
            .field("json_len", &self.json_len)
            .field("framed_len", &self.framed_len)
            .finish()
    }
}

/// What a Service RPC message is.
///
/// ```
/// use agentwire_core::loopback::ServiceOrigin;
/// assert_eq!(ServiceOrigin::Response(None), ServiceOrigin::Response(None));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServiceOrigin {
    /// A request; whether it is signed.
    Request {
        /// Which one.
        call: ServiceCallId,
        /// Whether it is signed.
        is_signed: bool,
    },
    /// A response, and the envelope's error if it is one.
    Response(Option<ErrorCode>),
}

/// A message that was sent.
///
/// ```
/// use agentwire_core::loopback::SentMessage;
/// fn show(sent: &SentMessage) -> String {
///     format!("{} of 15,602 bytes", sent.encoded_len)
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SentMessage {
    /// What it is.
    pub origin: Origin,
    /// Where it was sent.
    pub chat: Chat,
    /// Its own id.
    pub item: ItemId,
    /// The item that it quotes.
    pub quotes: Option<ItemId>,
    /// Its text.
    pub text: String,
    /// The bytes of the encoded message.
    pub encoded_len: usize,
}

impl fmt::Debug for SentMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentMessage")
            .field("origin", &self.origin)
            .field("chat", &self.chat)
            .field("item", &self.item)
            .field("text_len", &self.text.len())
            .field("encoded_len", &self.encoded_len)
            .finish_non_exhaustive()
    }
}

/// A [`Session`] that speaks through a profile of the [`Loopback`], and a [`ServiceSession`] beside
/// it.
///
/// Change it once (a call, an answer, time), then [`poll`](Self::poll) until [`Step::Timeout`].
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::caller::{Call, To};
/// use agentwire_core::chat::session::{Declared, Event, Session, SessionConfig};
/// use agentwire_core::loopback::{Endpoint, Loopback, Step};
/// use agentwire_core::time::Instant;
///
/// let mut net = Loopback::new(1);
/// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// let (to_bot, _) = net.connect(ann, bot).unwrap();
/// let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
/// let mut bot = Endpoint::new(bot, Session::new(SessionConfig::default(), declared));
/// let mut ann = Endpoint::new(ann, Session::new(SessionConfig::default(), Vec::new()));
/// let now = Instant::from_millis(0);
///
/// let request = r#"{"jsonrpc":"2.0","id":2,"method":"GetTask","params":{"id":"t"},
///     "a2a-service-parameters":{"A2A-Version":"1.0"}}"#;
/// ann.session_mut().call(now, &Call::new(Standard::A2A, To::Contact(to_bot), request)).unwrap();
/// assert!(matches!(ann.poll(&mut net, now), Step::Sent(_)));
///
/// let Step::Event(Event::Request(request)) = bot.poll(&mut net, now) else { panic!() };
/// let reply = r#"{"jsonrpc":"2.0","id":2,"result":{"id":"t"}}"#;
/// bot.session_mut().respond(now, request.token, reply).unwrap();
/// assert!(matches!(bot.poll(&mut net, now), Step::Sent(_)));
///
/// let Step::Event(Event::Reply(reply)) = ann.poll(&mut net, now) else { panic!() };
/// assert!(reply.is_end);
/// ```
pub struct Endpoint<B> {
    profile: ProfileId,
    session: Session<B>,
    service: ServiceSession<B, ServiceTarget>,
    /// The requests that wait for a response.
    calls: BTreeMap<ServiceHandle, ServiceCallId>,
    /// An item that the session had no room for.
    held: Option<ReceivedItem>,
}

impl<B: Binding> Endpoint<B> {
    /// A session on this profile. It makes requests over Service RPC and serves none.
    pub fn new(profile: ProfileId, session: Session<B>) -> Self {
        let service = ServiceSession::new(ServiceSessionConfig::default(), Vec::new());
        Self::with_service(profile, session, service)
    }

    /// The same with a session for Service RPC of its own. What it declares is served once the
    /// profile [takes requests](Loopback::enable_service_requests).
    pub const fn with_service(
        profile: ProfileId,
        session: Session<B>,
        service: ServiceSession<B, ServiceTarget>,
    ) -> Self {
        Self { profile, session, service, calls: BTreeMap::new(), held: None }
    }

    /// The profile.
    pub const fn profile(&self) -> ProfileId {
        self.profile
    }

    /// The session.
    pub const fn session(&self) -> &Session<B> {
        &self.session
    }

    /// The session, to change it.
    pub const fn session_mut(&mut self) -> &mut Session<B> {
        &mut self.session
    }

    /// The session for Service RPC.
    pub const fn service(&self) -> &ServiceSession<B, ServiceTarget> {
        &self.service
    }

    /// The session for Service RPC, to change it.
    pub const fn service_mut(&mut self) -> &mut ServiceSession<B, ServiceTarget> {
        &mut self.service
    }

    /// Takes one step: a message of a session goes out, or one that has arrived goes in.
    pub fn poll(&mut self, net: &mut Loopback, now: Instant) -> Step<B> {
        net.handle_timeout(now);
        self.session.handle_timeout(now);
        self.service.handle_timeout(now);
        loop {
            let service_timeout = match self.service.poll_output() {
                ServiceOutput::Transmit(message) => {
                    return Step::Service(self.send_service(net, now, message));
                }
                ServiceOutput::Event(event) => return Step::Service(ServiceStep::Event(event)),
                ServiceOutput::Timeout(timeout) => timeout,
            };
            match self.session.poll_output() {
                Output::Transmit(message) => return self.send(net, now, message),
                Output::Event(event) => return Step::Event(event),
                Output::Timeout(timeout) => {
                    let timeout = [timeout, service_timeout].into_iter().flatten().min();
                    let item = match self.held.take().map(Event::NewItem) {
                        Some(event) => Some(event),
                        None => net.poll_event(self.profile),
                    };
                    match item {
                        Some(Event::NewItem(item) | Event::ItemUpdated(item)) => {
                            if hand_in(&mut self.session, net, self.profile, now, &item).is_err() {
                                // It is taken once the session has room again: nothing is lost.
                                self.held = Some(item);
                                return Step::Timeout(timeout);
                            }
                        }
                        Some(event) => self.hand_in_service(now, &event),
                        None => {
                            let timeouts = [timeout, net.poll_timeout()];
                            return Step::Timeout(timeouts.into_iter().flatten().min());
                        }
                    }
                }
            }
        }
    }

    /// Hands an event of Service RPC to its session; other events are none of anybody's here.
    fn hand_in_service(&mut self, now: Instant, event: &Event) {
        let input = match event {
            Event::ServiceRequest(request) => ServiceInput::Request {
                request_id: &request.request_id,
                signer_key: request.signer_key.as_deref(),
                text: &request.data,
            },
            Event::ServiceResponse(response) => {
                let Some(call) = self.calls.remove(&response.handle) else { return };
                ServiceInput::Response { call, text: &response.data }
            }
            Event::ServiceFailed { handle, failure } => {
                let Some(call) = self.calls.remove(handle) else { return };
                ServiceInput::Failure { call, failure: *failure }
            }
            _ => return,
        };
        // All of its outputs have been taken, so there is room.
        let _ = self.service.handle_input(now, input);
    }

    fn send_service(
        &mut self,
        net: &mut Loopback,
        now: Instant,
        message: ServiceMessage<ServiceTarget>,
    ) -> ServiceStep<B> {
        match message {
            ServiceMessage::Request { call, target, text, timeout, .. } => {
                let mut options = ServiceRequestOptions::new().timeout(timeout);
                options.signer = target.signer.as_deref();
                let to = net.profile_at(target.address);
                match net.service_request(now, self.profile, target.address, options, &text) {
                    Ok(sent) => {
                        self.calls.insert(sent.handle, call);
                        let (json_len, framed_len) = (sent.json_len, sent.framed_len);
                        let is_signed = target.signer.is_some();
                        let origin = ServiceOrigin::Request { call, is_signed };
                        ServiceStep::Sent(SentService {
                            origin,
                            request_id: None,
                            to,
                            text,
                            json_len,
                            framed_len,
                        })
                    }
                    Err(error) => {
                        let input = ServiceInput::Failure { call, failure: error.failure() };
                        // A failure is always taken.
                        let _ = self.service.handle_input(now, input);
                        ServiceStep::RequestNotSent(call, error)
                    }
                }
            }
            ServiceMessage::Response { request_id, text, error } => {
                let to = net.service_requester(self.profile, request_id.as_str());
                match net.service_response(now, self.profile, request_id.as_str(), &text) {
                    Ok(sent) => ServiceStep::Sent(SentService {
                        origin: ServiceOrigin::Response(error),
                        request_id: Some(request_id),
                        to,
                        text,
                        json_len: sent.json_len,
                        framed_len: sent.framed_len,
                    }),
                    Err(error) => ServiceStep::ResponseNotSent(request_id, error),
                }
            }
        }
    }

    fn send(&mut self, net: &mut Loopback, now: Instant, message: Message) -> Step<B> {
        let mention = message.mention.as_ref().map(|(name, member)| (name.as_str(), *member));
        let mut composed = ComposedMessage::new(&message.text).mentions(mention.as_slice());
        composed.quoted_item = message.quotes;
        let sent = match net.send(now, self.profile, message.chat, composed) {
            Ok(sent) => sent,
            Err(error) => {
                let input = Input::NotSent { origin: message.origin };
                let _ = self.session.handle_input(now, input);
                return Step::NotSent(message, error);
            }
        };
        if let Origin::Command(call) = message.origin {
            let shared_msg_id = Some(sent.shared_msg_id.get());
            // A call that was cancelled meanwhile needs no id.
            let _ = self
                .session
                .handle_input(now, Input::Sent { call, item: sent.item, shared_msg_id });
        }
        Step::Sent(SentMessage {
            origin: message.origin,
            chat: message.chat,
            item: sent.item,
            quotes: message.quotes,
            text: message.text,
            encoded_len: sent.encoded_len,
        })
    }
}

impl<B: Binding> fmt::Debug for Endpoint<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("profile", &self.profile)
            .field("session", &self.session)
            .field("service", &self.service)
            .field("held", &self.held.is_some())
            .finish()
    }
}

/// Hands an item of the loopback to a session.
fn hand_in<B: Binding>(
    session: &mut Session<B>,
    net: &Loopback,
    profile: ProfileId,
    now: Instant,
    received: &ReceivedItem,
) -> Result<(), SessionError> {
    // A support chat is no conversation of the session.
    if received.support.is_some() {
        return Ok(());
    }
    let mentions: Vec<Mention<'_>> = received
        .mentions
        .iter()
        .map(|mention| Mention::new(&mention.name, mention.member.get()))
        .collect();
    let mut item = Item::new(received.chat, received.sender, received.item, &received.text)
        .mentioning(&mentions)
        .at(&received.item_ts);
    item.edited = received.edited;
    item.ttl = received.ttl.map(u64::from);
    item.quote = received.quote.as_ref().map(|quote| {
        let shared = Some(quote.shared_msg_id.get());
        Quoted::new(quote.direction.is_own(), quote.item, shared)
    });
    if let Chat::Group(group) = received.chat {
        item.me = net.me(profile, group);
    }
    session.handle_input(now, Input::Item(&item))
}

#[cfg(test)]
mod tests;
