//! Service RPC between cores: a request to an address, and the response to its reply queue.
//!
//! ```text
//! service_request ──► checks ──► journey ──► core of the address ──► Event::ServiceRequest
//!      │                                        │ service requests are off, or it had it: nothing
//!      └─ the wait begins                       ▼
//!           ├─► Event::ServiceResponse ◄── journey ◄── service_response ──► Event::ServiceReplySent
//!           └─► Event::ServiceFailed when it is over first
//! ```

#[cfg(feature = "sign")]
use alloc::boxed::Box;
use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
};
use core::fmt;
use core::time::Duration;

use super::delivery::Parcel;
use super::error::{ServiceRequestError, ServiceResponseError, SetupError};
use super::event::Event;
use super::faults::Journey;
use super::link::LinkKeys;
use super::request::AddressSettings;
use super::{Loopback, ProfileId, normalise};
use crate::discovery::link::LinkKind;
use crate::json::Object;
#[cfg(feature = "sign")]
use crate::rpc::sign::ED25519_SIGNATURE_LEN;
#[cfg(feature = "sign")]
use crate::rpc::sign::{PublicKey, SecretKey, SessionBinding, X448_LEN};
use crate::rpc::{CoreFailure, DEFAULT_TIMEOUT, Framing, PADDED_LEN, SignerKey};
use crate::time::Instant;

/// How long a core takes a response after it has received the request ("Exchange").
pub const SERVICE_RESPONSE_TIMEOUT: Duration = Duration::from_secs(180);

/// The bytes that the reply queue takes in a request, assumed: a list of one queue on a router with
/// a host name of 16 characters and an onion address (simplexmq, the encoding of `SMPQueueInfo`).
/// A real core's differs with the router; [`Config`](super::Config) can say otherwise.
pub const ASSUMED_REPLY_QUEUE_LEN: usize = 1 + 2 + (1 + 17 + 63 + 1 + 33) + 25 + 45 + 1;

/// The contact address of a profile: what its link or its name is to a real core.
///
/// ```
/// use agentwire_core::loopback::Loopback;
/// let mut net = Loopback::new(1);
/// let bot = net.add_profile("bot").unwrap();
/// let address = net.create_address(bot, true).unwrap();
/// assert_eq!(address.to_string(), "address 0");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ServiceAddress(usize);

impl fmt::Display for ServiceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "address {}", self.0)
    }
}

/// A request as the one who made it knows it: the stand-in's place of a command that blocks.
///
/// ```
/// # use agentwire_core::loopback::{Loopback, ServiceRequestOptions};
/// # use agentwire_core::time::Instant;
/// # let mut net = Loopback::new(1);
/// # let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// # let address = net.create_address(bot, true).unwrap();
/// let options = ServiceRequestOptions::new();
/// let one = net.service_request(Instant::ZERO, ann, address, options, "{}").unwrap();
/// let other = net.service_request(Instant::ZERO, ann, address, options, "{}").unwrap();
/// assert_ne!(one.handle, other.handle);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ServiceHandle(u64);

/// The connection over which a response is sent: the core's `connectionId`.
///
/// ```
/// use agentwire_core::loopback::ConnectionId;
/// fn same(accepted: ConnectionId, sent: ConnectionId) -> bool {
///     accepted == sent
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ConnectionId(u64);

impl ConnectionId {
    /// The id as the core writes it.
    pub(super) fn text(self) -> String {
        super::rng::text_id_of(self.0)
    }
}

/// The options of the core's `/_service_request`.
///
/// ```
/// use agentwire_core::loopback::ServiceRequestOptions;
/// use core::time::Duration;
/// assert_eq!(ServiceRequestOptions::new().timeout, Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServiceRequestOptions<'a> {
    /// How long to wait for the response; 30 seconds by default.
    pub timeout: Duration,
    /// The public key of the one who signs, which stands for `sign_key`: the stand-in's agents
    /// verify nothing and report this key.
    pub signer: Option<&'a str>,
}

impl Default for ServiceRequestOptions<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> ServiceRequestOptions<'a> {
    /// An unsigned request with the core's own wait.
    #[must_use]
    pub const fn new() -> Self {
        Self { timeout: DEFAULT_TIMEOUT, signer: None }
    }

    /// Waits so long.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Signs with the key whose public part this is.
    #[must_use]
    pub const fn signed_by(mut self, key: &'a str) -> Self {
        self.signer = Some(key);
        self
    }
}

/// A request or a response as it went out.
///
/// ```
/// # use agentwire_core::loopback::{Loopback, ServiceRequestOptions};
/// # use agentwire_core::time::Instant;
/// # let mut net = Loopback::new(1);
/// # let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// # let address = net.create_address(bot, true).unwrap();
/// let options = ServiceRequestOptions::new();
/// let sent = net.service_request(Instant::ZERO, ann, address, options, r#"{ "a": 1 }"#).unwrap();
/// assert_eq!((sent.json_len, sent.framed_len), (7, 7 + 2 + 1 + 189));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct ServiceSent<R> {
    /// What the core's later events name: a [`ServiceHandle`] or a [`ConnectionId`].
    pub handle: R,
    /// The bytes of JSON that the core has written.
    pub json_len: usize,
    /// The same with the agent's framing, of the [`PADDED_LEN`] to which it is padded.
    pub framed_len: usize,
}

/// What a profile has of Service RPC.
#[derive(Debug, Default)]
pub(super) struct Service {
    /// The option `service_requests=on` of `/_start`.
    takes_requests: bool,
    /// The profile's own requests that wait for a response, each with the place of its end in the
    /// inbox.
    waiting: BTreeMap<u64, (Instant, u64)>,
    /// Requests that were received, by number, until they are cleaned up.
    received: BTreeMap<u64, Received>,
    /// Their numbers by the core's ids.
    by_id: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct Received {
    id: String,
    from: ProfileId,
    at: Instant,
    is_over: bool,
}

/// The contact address of a profile.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) profile: ProfileId,
    /// The ratchet keys that whoever looks behind the short link finds.
    pub(super) ratchet_keys: Option<String>,
    /// Those that the full link has had since the address was made.
    pub(super) full_link_keys: Option<String>,
    pub(super) is_deleted: bool,
    pub(super) keys: LinkKeys,
    pub(super) settings: AddressSettings,
}

/// A request or response on its way, or the end of a wait.
#[derive(Debug)]
pub(super) enum ServiceParcel {
    Request { number: u64, from: ProfileId, signed: Option<Signed>, data: String },
    Response { number: u64, data: String },
    Timeout { number: u64 },
}

/// The key of a signed request as the core writes it, and what shows that it is the signer's.
#[derive(Clone, Debug)]
pub(super) struct Signed {
    key: String,
    proof: Proof,
}

#[derive(Clone, Debug)]
enum Proof {
    /// The stand-in's word.
    Assumed,
    /// A signature over the request, bound to a ratchet session.
    #[cfg(feature = "sign")]
    Signature(Box<Signature>),
    /// It has broken on the way.
    Broken,
}

#[cfg(feature = "sign")]
#[derive(Clone, Debug)]
struct Signature {
    key: PublicKey,
    binding: SessionBinding,
    bytes: [u8; ED25519_SIGNATURE_LEN],
}

impl Signed {
    /// What of it arrives.
    fn after(&self, journey: &Journey) -> Self {
        let proof = match &self.proof {
            _ if !journey.breaks_signature => self.proof.clone(),
            #[cfg(feature = "sign")]
            Proof::Signature(signature) => {
                let mut signature = signature.clone();
                if let Some(byte) = signature.bytes.first_mut() {
                    *byte ^= 1;
                }
                Proof::Signature(signature)
            }
            _ => Proof::Broken,
        };
        Self { key: self.key.clone(), proof }
    }

    /// Whether the receiver's core finds it good.
    #[cfg_attr(not(feature = "sign"), expect(unused_variables, reason = "nothing is verified"))]
    fn is_good(&self, data: &str) -> bool {
        match &self.proof {
            Proof::Assumed => true,
            Proof::Broken => false,
            #[cfg(feature = "sign")]
            Proof::Signature(signature) => {
                let Signature { key, binding, bytes } = &**signature;
                key.verify_copy(binding, data.as_bytes(), bytes).is_ok()
            }
        }
    }
}

/// A request that a core has received: the core's `serviceRequest`.
///
/// ```
/// # use agentwire_core::loopback::{Event, Loopback, ServiceRequestOptions};
/// # use agentwire_core::time::Instant;
/// # let mut net = Loopback::new(1);
/// # let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// # let address = net.create_address(bot, true).unwrap();
/// net.enable_service_requests(bot, true).unwrap();
/// let options = ServiceRequestOptions::new();
/// net.service_request(Instant::ZERO, ann, address, options, r#"{"b": 1, "a": 2}"#).unwrap();
/// let Some(Event::ServiceRequest(request)) = net.poll_event(bot) else { panic!() };
/// assert_eq!(request.data, r#"{"a":2,"b":1}"#);
/// assert_eq!(request.signer_key, None);
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceivedServiceRequest {
    /// The core's id of it, with which to respond.
    pub request_id: String,
    /// The key of a signed request, as the core writes keys.
    pub signer_key: Option<String>,
    /// The request as the core has written it anew: `requestData`.
    pub data: String,
}

impl fmt::Debug for ReceivedServiceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedServiceRequest")
            .field("request_id", &self.request_id)
            .field("is_signed", &self.signer_key.is_some())
            .field("data_len", &self.data.len())
            .finish()
    }
}

/// A response that a core has received: the core's `serviceResponse`.
///
/// ```
/// use agentwire_core::loopback::ReceivedServiceResponse;
/// fn show(response: &ReceivedServiceResponse) -> String {
///     format!("{} bytes", response.data.len())
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceivedServiceResponse {
    /// The request.
    pub handle: ServiceHandle,
    /// The response as the core has written it anew: `responseData`.
    pub data: String,
}

impl fmt::Debug for ReceivedServiceResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedServiceResponse")
            .field("handle", &self.handle)
            .field("data_len", &self.data.len())
            .finish()
    }
}

impl Loopback {
    /// Starts or stops taking service requests: the option `service_requests` of the core's
    /// `/_start`. It is off at first: requests to the profile are dropped in silence.
    ///
    /// # Errors
    /// [`SetupError::UnknownProfile`]
    pub fn enable_service_requests(
        &mut self,
        profile: ProfileId,
        is_on: bool,
    ) -> Result<(), SetupError> {
        let known = self.profile_mut(profile).ok_or(SetupError::UnknownProfile { profile })?;
        known.service.takes_requests = is_on;
        Ok(())
    }

    /// Creates the contact address of a profile, with ratchet keys (the option `pq_ratchet` of the
    /// core's `/_address`) or without. Only an address with ratchet keys takes requests.
    ///
    /// # Errors
    /// [`SetupError::UnknownProfile`], [`SetupError::DuplicateAddress`]
    pub fn create_address(
        &mut self,
        profile: ProfileId,
        ratchet_keys: bool,
    ) -> Result<ServiceAddress, SetupError> {
        self.profiles.get(profile.0).ok_or(SetupError::UnknownProfile { profile })?;
        if self.address_of(profile).is_some() {
            return Err(SetupError::DuplicateAddress { profile });
        }
        let keys = LinkKeys::new(LinkKind::Contact, &mut self.keys);
        let ratchet_keys = ratchet_keys.then(|| self.keys.key(56));
        let made = Address {
            profile,
            full_link_keys: ratchet_keys.clone(),
            ratchet_keys,
            is_deleted: false,
            keys,
            settings: AddressSettings::new(),
        };
        // A profile that has deleted its address gets the same number again, with other links: so
        // there are never more addresses than profiles.
        match self.addresses.iter_mut().enumerate().find(|(_, old)| old.profile == profile) {
            Some((at, old)) => {
                *old = made;
                Ok(ServiceAddress(at))
            }
            None => {
                self.addresses.push(made);
                Ok(ServiceAddress(self.addresses.len().saturating_sub(1)))
            }
        }
    }

    /// Deletes an address: the core's `/_delete_address`. Its links lead nowhere from now on.
    ///
    /// # Errors
    /// [`SetupError::UnknownAddress`]
    pub fn delete_address(&mut self, address: ServiceAddress) -> Result<(), SetupError> {
        let known = self.address_mut(address).ok_or(SetupError::UnknownAddress { address })?;
        known.is_deleted = true;
        Ok(())
    }

    pub(super) fn address(&self, address: ServiceAddress) -> Option<&Address> {
        self.addresses.get(address.0).filter(|known| !known.is_deleted)
    }

    pub(super) fn address_mut(&mut self, address: ServiceAddress) -> Option<&mut Address> {
        self.addresses.get_mut(address.0).filter(|known| !known.is_deleted)
    }

    pub(super) fn all_addresses(&self) -> impl Iterator<Item = (ServiceAddress, &Address)> {
        let all = self.addresses.iter().enumerate().filter(|(_, known)| !known.is_deleted);
        all.map(|(at, known)| (ServiceAddress(at), known))
    }

    /// Adds ratchet keys to an address: the option `pq_ratchet` of the core's
    /// `/_short_link_address` and `/_address_settings`.
    ///
    /// # Errors
    /// [`SetupError::UnknownAddress`]
    pub fn add_ratchet_keys(&mut self, address: ServiceAddress) -> Result<(), SetupError> {
        let known = self.address(address).ok_or(SetupError::UnknownAddress { address })?;
        if known.ratchet_keys.is_none() {
            self.rotate_ratchet_keys(address)?;
        }
        Ok(())
    }

    /// Gives an address new ratchet keys behind its short link, or its first ones: the core's
    /// `/_rotate_address_keys`. Requests with older keys are served all the same.
    ///
    /// # Errors
    /// [`SetupError::UnknownAddress`]
    pub fn rotate_ratchet_keys(&mut self, address: ServiceAddress) -> Result<(), SetupError> {
        let made = self.keys.key(56);
        let known = self.address_mut(address).ok_or(SetupError::UnknownAddress { address })?;
        known.ratchet_keys = Some(made);
        Ok(())
    }

    /// The profile that an address is of.
    #[must_use]
    pub fn profile_at(&self, address: ServiceAddress) -> Option<ProfileId> {
        self.address(address).map(|address| address.profile)
    }

    /// Sends a request: the core's `/_service_request`. A real core's command waits; here the
    /// response or the failure comes as an event that names the same handle.
    ///
    /// # Errors
    /// [`ServiceRequestError`]: first the command's grammar, then the address, then the size.
    /// Nothing was sent then.
    pub fn service_request(
        &mut self,
        now: Instant,
        profile: ProfileId,
        target: ServiceAddress,
        options: ServiceRequestOptions<'_>,
        json: &str,
    ) -> Result<ServiceSent<ServiceHandle>, ServiceRequestError> {
        let signer = options.signer.map(SignerKey::parse).transpose();
        let signer = signer.map_err(ServiceRequestError::SignKey);
        self.send_request(now, profile, target, options.timeout, json, |_, _| {
            Ok(signer?.map(|key| Signed { key: key.to_string(), proof: Proof::Assumed }))
        })
    }

    /// Sends a request that is really signed: what the core's `/_service_request` does with
    /// `sign_key`. The receiver's core verifies the signature; one that is not good never reaches
    /// the bot.
    ///
    /// # Errors
    /// As [`service_request`](Self::service_request).
    ///
    /// ```
    /// use agentwire_core::loopback::{Event, Fault, Loopback};
    /// use agentwire_core::rpc::{DEFAULT_TIMEOUT, sign::SecretKey};
    /// use agentwire_core::time::Instant;
    /// let mut net = Loopback::new(1);
    /// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
    /// let address = net.create_address(bot, true).unwrap();
    /// net.enable_service_requests(bot, true).unwrap();
    /// let key = SecretKey::from_bytes([7; 32]);
    ///
    /// let now = Instant::ZERO;
    /// net.signed_service_request(now, ann, address, DEFAULT_TIMEOUT, &key, "{}").unwrap();
    /// let Some(Event::ServiceRequest(request)) = net.poll_event(bot) else { panic!() };
    /// assert_eq!(request.signer_key.as_deref(), Some(key.public().to_text().as_str()));
    ///
    /// net.fault_next(ann, Fault::BreakSignature);
    /// net.signed_service_request(now, ann, address, DEFAULT_TIMEOUT, &key, "{}").unwrap();
    /// assert_eq!(net.poll_event(bot), None);
    /// ```
    #[cfg(feature = "sign")]
    pub fn signed_service_request(
        &mut self,
        now: Instant,
        profile: ProfileId,
        target: ServiceAddress,
        timeout: Duration,
        key: &SecretKey,
        json: &str,
    ) -> Result<ServiceSent<ServiceHandle>, ServiceRequestError> {
        self.send_request(now, profile, target, timeout, json, |net, data| {
            // The X448 keys of a ratchet session, the requester's and the service's.
            let mut session = [[0; X448_LEN]; 2];
            for byte in session.as_flattened_mut() {
                *byte = net.keys.up_to(255) as u8;
            }
            let [requester, service] = &session;
            let binding = SessionBinding::of_keys(requester, service);
            let bytes = key.sign(&binding, data.as_bytes());
            let key = key.public();
            let proof = Proof::Signature(Box::new(Signature { key, binding, bytes }));
            Ok(Some(Signed { key: key.to_string(), proof }))
        })
    }

    /// `sign` is given the request as the core has written it.
    fn send_request(
        &mut self,
        now: Instant,
        profile: ProfileId,
        target: ServiceAddress,
        timeout: Duration,
        json: &str,
        sign: impl FnOnce(&mut Self, &str) -> Result<Option<Signed>, ServiceRequestError>,
    ) -> Result<ServiceSent<ServiceHandle>, ServiceRequestError> {
        self.handle_timeout(now);
        self.profiles.get(profile.0).ok_or(ServiceRequestError::UnknownProfile { profile })?;
        let data = Object::parse(json).map_err(ServiceRequestError::Grammar)?.as_value();
        let (json_len, data) = (normalise::len(data), normalise::text(data));
        let signed = sign(self, &data)?;
        let address = self.address(target);
        let address = address.ok_or(ServiceRequestError::UnknownAddress { address: target })?;
        if address.ratchet_keys.is_none() {
            return Err(ServiceRequestError::NoRatchetKeys);
        }
        let to = address.profile;
        let framing = if signed.is_some() { Framing::SignedRequest } else { Framing::Request };
        let framed_len = framed(framing, json_len).saturating_add(self.config.reply_queue_len);
        if framed_len > PADDED_LEN {
            return Err(ServiceRequestError::TooLarge { needed: framed_len, limit: PADDED_LEN });
        }
        self.room_for_one().map_err(|limit| ServiceRequestError::TooManyInFlight { limit })?;

        let number = self.service_requests;
        self.service_requests = self.service_requests.saturating_add(1);
        let deadline = self.now.saturating_add(timeout);
        let end = self.post(profile, deadline, Parcel::Service(ServiceParcel::Timeout { number }));
        if let Some(known) = self.profile_mut(profile) {
            known.service.waiting.insert(number, end);
        }
        self.carry(profile, to, |journey| ServiceParcel::Request {
            number,
            from: profile,
            signed: signed.as_ref().map(|signed| signed.after(journey)),
            data: data.clone(),
        });
        self.pump();
        Ok(ServiceSent { handle: ServiceHandle(number), json_len, framed_len })
    }

    /// Sends the response to a request: the core's `/_service_response`. When it is accepted, an
    /// [`Event::ServiceReplySent`] of the same connection follows.
    ///
    /// # Errors
    /// [`ServiceResponseError`]; nothing was sent then, and a request that was open stays open
    /// unless it is [`Late`](ServiceResponseError::Late).
    pub fn service_response(
        &mut self,
        now: Instant,
        profile: ProfileId,
        request_id: &str,
        json: &str,
    ) -> Result<ServiceSent<ConnectionId>, ServiceResponseError> {
        self.handle_timeout(now);
        let data = Object::parse(json).map_err(ServiceResponseError::Grammar)?.as_value();
        let now = self.now;
        let room = self.room_for_one();
        let unknown = ServiceResponseError::UnknownProfile { profile };
        let service = &mut self.profile_mut(profile).ok_or(unknown)?.service;
        service.clean_up(now);
        let number = service.by_id.get(request_id).copied();
        let open = number.and_then(|number| Some((number, service.received.get_mut(&number)?)));
        let Some((number, open)) = open.filter(|(_, open)| !open.is_over) else {
            return Err(ServiceResponseError::NoPendingRequest);
        };
        let after = now.duration_since(open.at);
        if after > SERVICE_RESPONSE_TIMEOUT {
            open.is_over = true;
            return Err(ServiceResponseError::Late { after, limit: SERVICE_RESPONSE_TIMEOUT });
        }
        let json_len = normalise::len(data);
        let framed_len = framed(Framing::Response, json_len);
        if framed_len > PADDED_LEN {
            return Err(ServiceResponseError::TooLarge { needed: framed_len, limit: PADDED_LEN });
        }
        room.map_err(|limit| ServiceResponseError::TooManyInFlight { limit })?;
        open.is_over = true;
        let from = open.from;
        let data = normalise::text(data);
        let connection = ConnectionId(number);
        self.tell(profile, Event::ServiceReplySent { connection });
        self.carry(profile, from, |_| ServiceParcel::Response { number, data: data.clone() });
        self.pump();
        Ok(ServiceSent { handle: connection, json_len, framed_len })
    }

    /// How many requests of a profile wait for a response.
    #[must_use]
    pub fn service_requests_waiting(&self, profile: ProfileId) -> usize {
        self.profiles.get(profile.0).map_or(0, |profile| profile.service.waiting.len())
    }

    /// Who made a request: for those who watch, since a core does not know it.
    #[must_use]
    pub fn service_requester(&self, profile: ProfileId, request_id: &str) -> Option<ProfileId> {
        let service = &self.profiles.get(profile.0)?.service;
        let number = service.by_id.get(request_id)?;
        service.received.get(number).map(|received| received.from)
    }

    /// Each request has a connection of its own: it waits for nothing that was sent before.
    fn carry(
        &mut self,
        from: ProfileId,
        to: ProfileId,
        parcel: impl Fn(&Journey) -> ServiceParcel,
    ) {
        let scripted = self.next_scripted(from);
        let journey = self.journey(from, to, scripted.as_ref());
        if journey.lost {
            return;
        }
        let due = self.now.saturating_add(journey.delay);
        self.post(to, due, Parcel::Service(parcel(&journey)));
        if journey.twice {
            self.post(to, due, Parcel::Service(parcel(&journey)));
        }
    }

    fn room_for_one(&self) -> Result<(), usize> {
        let limit = self.config.max_in_flight;
        if self.in_flight < limit { Ok(()) } else { Err(limit) }
    }

    /// What the core at `to` makes of what is due.
    pub(super) fn receive_service(
        &mut self,
        to: ProfileId,
        due: Instant,
        parcel: ServiceParcel,
    ) -> Option<Event> {
        match parcel {
            ServiceParcel::Request { number, from, signed, data } => {
                let id = self.rng.text_id();
                let service = &mut self.profile_mut(to)?.service;
                service.clean_up(due);
                if !service.takes_requests || service.received.contains_key(&number) {
                    return None;
                }
                if signed.as_ref().is_some_and(|signed| !signed.is_good(&data)) {
                    return None;
                }
                service.by_id.insert(id.clone(), number);
                let received = Received { id: id.clone(), from, at: due, is_over: false };
                service.received.insert(number, received);
                Some(Event::ServiceRequest(ReceivedServiceRequest {
                    request_id: id,
                    signer_key: signed.map(|signed| signed.key),
                    data: normalise::again(&data),
                }))
            }
            ServiceParcel::Response { number, data } => {
                let profile = self.profile_mut(to)?;
                let end = profile.service.waiting.remove(&number)?;
                profile.inbox.remove(&end);
                let handle = ServiceHandle(number);
                let data = normalise::again(&data);
                Some(Event::ServiceResponse(ReceivedServiceResponse { handle, data }))
            }
            ServiceParcel::Timeout { number } => {
                self.profile_mut(to)?.service.waiting.remove(&number)?;
                let handle = ServiceHandle(number);
                Some(Event::ServiceFailed { handle, failure: CoreFailure::Timeout })
            }
        }
    }
}

impl Service {
    #[cfg(test)]
    pub(super) fn is_small(&self) -> bool {
        self.received.len() <= 3 && self.by_id.len() == self.received.len()
    }

    /// Forgets requests that no response was taken for in twice the time.
    fn clean_up(&mut self, now: Instant) {
        let kept = SERVICE_RESPONSE_TIMEOUT.saturating_mul(2);
        while let Some(oldest) = self.received.first_entry() {
            if oldest.get().at.saturating_add(kept) > now {
                break;
            }
            let oldest = oldest.remove();
            self.by_id.remove(&oldest.id);
        }
    }
}

/// The bytes of a message with its framing, but for the reply queue.
const fn framed(framing: Framing, json_len: usize) -> usize {
    PADDED_LEN.saturating_sub(framing.max_len()).saturating_add(json_len)
}
