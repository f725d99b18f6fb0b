#![doc = include_str!("../../docs/loopback.md")]

pub mod api;
mod clock;
mod config;
mod delivery;
mod endpoint;
mod error;
mod event;
mod faults;
mod group_link;
mod incognito;
mod invitation;
mod leaving;
mod link;
mod mention;
mod name;
mod normalise;
mod profile;
mod record;
mod registry;
mod request;
mod rng;
mod send;
mod service;
#[cfg(test)]
mod service_tests;
mod setup;
#[cfg(test)]
mod tests;

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::String,
    vec::Vec,
};
use core::fmt;

pub use config::Config;
pub use endpoint::{
    Endpoint, SentMessage, SentService, ServiceOrigin, ServiceStep, ServiceTarget, Step,
};
pub use error::{
    ChangeError, MentionProblem, SendError, ServiceRequestError, ServiceResponseError, SetupError,
};
pub use event::{
    ComposedMessage, Event, ItemMention, ItemStatus, MemberChange, Quote, QuoteDirection,
    ReceivedItem, Sent, SupportChat,
};
pub use faults::{Fault, Faults};
pub use invitation::{InvitationId, MAX_INVITATIONS};
pub use leaving::ChatDeletion;
pub use link::LinkTarget;
pub use name::{MAX_DISPLAY_NAME_CHARS, mention_text};
pub use record::{MAX_RECORD_LEN, RecordError};
pub use registry::NameProblem;
pub use request::{AddressSettings, ContactRequestError, ContactRequested};
pub use service::{
    ASSUMED_REPLY_QUEUE_LEN, ConnectionId, ReceivedServiceRequest, ReceivedServiceResponse,
    SERVICE_RESPONSE_TIMEOUT, ServiceAddress, ServiceHandle, ServiceRequestOptions, ServiceSent,
};
pub use setup::{ContactInfo, MemberInfo};

use crate::chat::SharedMsgId;
use crate::time::Instant;
use invitation::Invitation;
use profile::Profile;
use registry::Named;
use rng::Rng;
use service::Address;
use setup::Group;

/// A profile of a [`Loopback`]: a core with a database of its own.
///
/// ```
/// use agentwire_core::loopback::Loopback;
/// let mut net = Loopback::new(1);
/// assert_ne!(net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ProfileId(usize);

impl fmt::Display for ProfileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "profile {}", self.0)
    }
}

/// A group of a [`Loopback`], seen from outside. Each member has a
/// [`GroupId`](crate::chat::GroupId) of its own for it.
///
/// ```
/// use agentwire_core::loopback::Loopback;
/// let mut net = Loopback::new(1);
/// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// let group = net.create_group(ann, "team").unwrap();
/// net.join(group, bot).unwrap();
/// assert_eq!(net.members(group, ann).unwrap().len(), 2);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct GroupRef(usize);

impl fmt::Display for GroupRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group {}", self.0)
    }
}

/// Chat cores and what connects them: one machine without I/O, clock or threads.
///
/// - *Setup*: [`add_profile`](Self::add_profile), [`connect`](Self::connect),
///   [`create_group`](Self::create_group), [`create_channel`](Self::create_channel),
///   [`join`](Self::join), [`leave`](Self::leave), [`remove_member`](Self::remove_member),
///   [`create_address`](Self::create_address), [`create_invitation`](Self::create_invitation),
///   [`create_group_link`](Self::create_group_link), [`name_profile`](Self::name_profile),
///   [`enable_service_requests`](Self::enable_service_requests), [`set_record`](Self::set_record),
///   [`set_group_record`](Self::set_group_record).
/// - *Input*: [`send`](Self::send), [`edit`](Self::edit), [`delete`](Self::delete),
///   [`forget`](Self::forget), [`service_request`](Self::service_request),
///   [`service_response`](Self::service_response), [`request_contact`](Self::request_contact),
///   [`accept_contact`](Self::accept_contact), [`use_invitation`](Self::use_invitation),
///   [`join_by_link`](Self::join_by_link), [`delete_contact`](Self::delete_contact),
///   [`delete_group`](Self::delete_group), [`handle_timeout`](Self::handle_timeout).
/// - *Output*: [`poll_event`](Self::poll_event), [`poll_timeout`](Self::poll_timeout).
/// - *Faults*: [`set_faults`](Self::set_faults), [`set_faults_between`](Self::set_faults_between),
///   [`fault_next`](Self::fault_next), [`fault_next_between`](Self::fault_next_between).
///
/// See the [module](self) for what is faithful to a real core and what is not.
///
/// ```
/// use agentwire_core::loopback::{Event, Faults, Loopback};
/// use agentwire_core::{chat::Chat, time::Instant};
/// use core::time::Duration;
///
/// let mut net = Loopback::new(1);
/// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// let (to_bot, _) = net.connect(ann, bot).unwrap();
/// net.set_faults(Faults::new().delay(Duration::from_millis(80), Duration::from_millis(80)));
///
/// net.send(Instant::ZERO, ann, Chat::Direct(to_bot), "hello").unwrap();
/// assert!(net.poll_event(bot).is_none());
/// let due = net.poll_timeout().unwrap();
/// assert_eq!(due, Instant::from_millis(80));
/// net.handle_timeout(due);
/// assert!(matches!(net.poll_event(bot), Some(Event::NewItem(_))));
/// ```
pub struct Loopback {
    config: Config,
    rng: Rng,
    /// What keys are made of: apart, so that an address changes nothing else in a run.
    keys: Rng,
    now: Instant,
    profiles: Vec<Profile>,
    groups: Vec<Group>,
    addresses: Vec<Address>,
    invitations: BTreeMap<InvitationId, Invitation>,
    /// How many invitations were ever made.
    made_invitations: i64,
    /// Who has which SimpleX name.
    named: BTreeMap<String, Named>,
    /// How many Service RPC requests were ever sent.
    service_requests: u64,
    faults: Faults,
    faults_between: BTreeMap<(ProfileId, ProfileId), Faults>,
    scripted: BTreeMap<ProfileId, VecDeque<Fault>>,
    scripted_between: BTreeMap<(ProfileId, ProfileId), VecDeque<Fault>>,
    /// When the last message from one profile to another arrives, so that none overtakes it.
    last_due: BTreeMap<(ProfileId, ProfileId), Instant>,
    /// How many parcels were ever posted.
    posted: u64,
    /// How many parcels wait in inboxes.
    in_flight: usize,
    /// The profiles that may have something due and room for it.
    awake: BTreeSet<ProfileId>,
}

impl Loopback {
    /// An empty network. Equal seeds and equal inputs give equal outputs, byte for byte.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with_config(seed, Config::new())
    }

    /// An empty network with other limits.
    #[must_use]
    pub fn with_config(seed: u64, config: Config) -> Self {
        Self {
            config,
            rng: Rng::new(seed),
            keys: Rng::new(seed ^ 0x6b65_7973),
            now: Instant::ZERO,
            profiles: Vec::new(),
            groups: Vec::new(),
            addresses: Vec::new(),
            invitations: BTreeMap::new(),
            made_invitations: 0,
            named: BTreeMap::new(),
            service_requests: 0,
            faults: Faults::new(),
            faults_between: BTreeMap::new(),
            scripted: BTreeMap::new(),
            scripted_between: BTreeMap::new(),
            last_due: BTreeMap::new(),
            posted: 0,
            in_flight: 0,
            awake: BTreeSet::new(),
        }
    }

    /// What `profile` is told next; none also when there is no such profile.
    ///
    /// A full queue holds deliveries back: each event that is taken lets the next one in.
    pub fn poll_event(&mut self, profile: ProfileId) -> Option<Event> {
        let event = self.profile_mut(profile)?.events.pop_front()?;
        self.awake.insert(profile);
        self.pump();
        Some(event)
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do: the next delivery to a
    /// profile whose event queue has room, the end of a wait for a response, or the end of an
    /// item's time to live.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let limit = self.config.event_queue.max(1);
        let next = self.profiles.iter().flat_map(|profile| {
            let has_room = profile.events.len() < limit;
            let due = profile.inbox.keys().next().map(|&(due, _)| due).filter(|_| has_room);
            due.into_iter().chain(profile.items.next_expiry())
        });
        next.min().filter(|due| *due < Instant::MAX)
    }

    /// Moves time on to `now`: delivers what is due, and lets items disappear. Time never runs
    /// backwards; a call too many does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        if now <= self.now && self.poll_timeout().is_none_or(|due| due > self.now) {
            return;
        }
        self.now = self.now.max(now);
        for index in 0..self.profiles.len() {
            let profile = ProfileId(index);
            let now = self.now;
            let gone = self.profile_mut(profile).map(|p| p.items.expire(now)).unwrap_or_default();
            for gone in gone {
                self.tell(profile, Event::ItemExpired { is_own: gone.own, item: gone.body });
            }
            self.awake.insert(profile);
        }
        self.pump();
    }

    /// How messages travel from now on, wherever no other rule is set.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// How messages from `from` to `to` travel from now on.
    pub fn set_faults_between(&mut self, from: ProfileId, to: ProfileId, faults: Faults) {
        self.faults_between.insert((from, to), faults);
    }

    /// What happens to the next message, edit or deletion that `sender` sends, at every receiver,
    /// or to the next Service RPC request or response.
    /// Several calls stand in a queue, one for each message.
    pub fn fault_next(&mut self, sender: ProfileId, fault: Fault) {
        self.scripted.entry(sender).or_default().push_back(fault);
    }

    /// What happens to the next message, edit, deletion, request or response from `from` to `to`.
    /// Several calls stand in a queue, one for each message.
    pub fn fault_next_between(&mut self, from: ProfileId, to: ProfileId, fault: Fault) {
        self.scripted_between.entry((from, to)).or_default().push_back(fault);
    }

    /// How many messages, receipts and other events are on their way or held back.
    #[must_use]
    pub const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// How many events wait to be polled by `profile`.
    #[must_use]
    pub fn queued(&self, profile: ProfileId) -> usize {
        self.profiles.get(profile.0).map_or(0, |profile| profile.events.len())
    }

    /// How many items are in the database of `profile`.
    #[must_use]
    pub fn stored_items(&self, profile: ProfileId) -> usize {
        self.profiles.get(profile.0).map_or(0, |profile| profile.items.len())
    }

    fn next_scripted(&mut self, sender: ProfileId) -> Option<Fault> {
        self.scripted.get_mut(&sender)?.pop_front()
    }

    fn profile_mut(&mut self, profile: ProfileId) -> Option<&mut Profile> {
        self.profiles.get_mut(profile.0)
    }

    fn new_message_id(&mut self) -> SharedMsgId {
        loop {
            // Always 24 characters, so it always fits.
            if let Ok(id) = SharedMsgId::new(&self.rng.text_id()) {
                return id;
            }
        }
    }
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loopback")
            .field("now", &self.now)
            .field("profiles", &self.profiles.len())
            .field("groups", &self.groups.len())
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}
