//! Contacts by an address: the link, the request, and what becomes of it.
//!
//! ```text
//! request_contact ──► link of an address ──► auto-accept is on ─────────────► both are contacts
//!                                       └──► ContactRequest ──► accept_contact ──┘
//!                                                          └──► reject_contact: silence
//! ```
//!
//! A real core needs several messages over queues for this; here it happens at once, and no fault
//! touches it.

use alloc::string::String;
use core::fmt;

use super::event::Event;
use super::{Loopback, ProfileId, ServiceAddress};
use crate::chat::{Chat, ContactId};
use crate::discovery::link::{Link, LinkForm, LinkKind};
use crate::json;
use crate::simplex::ContactRequestId;
use crate::time::Instant;

/// How an address answers requests: the core's `AddressSettings`.
///
/// ```
/// use agentwire_core::loopback::AddressSettings;
/// let settings = AddressSettings::new().auto_accept().auto_reply("Welcome.");
/// assert!(settings.auto_accept);
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AddressSettings {
    /// Whether everybody who asks is a contact at once.
    pub auto_accept: bool,
    /// The text that every new contact is sent.
    pub auto_reply: Option<String>,
}

impl AddressSettings {
    /// Requests wait for an answer, and nothing is sent.
    #[must_use]
    pub const fn new() -> Self {
        Self { auto_accept: false, auto_reply: None }
    }

    /// Accepts everybody.
    #[must_use]
    pub const fn auto_accept(mut self) -> Self {
        self.auto_accept = true;
        self
    }

    /// Sends this text to every new contact.
    #[must_use]
    pub fn auto_reply(mut self, text: impl Into<String>) -> Self {
        self.auto_reply = Some(text.into());
        self
    }
}

impl fmt::Debug for AddressSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressSettings")
            .field("auto_accept", &self.auto_accept)
            .field("auto_reply_len", &self.auto_reply.as_ref().map(String::len))
            .finish()
    }
}

/// What a request to an address comes to at first.
///
/// ```
/// use agentwire_core::loopback::{ContactRequested, Loopback};
/// use agentwire_core::time::Instant;
/// let mut net = Loopback::new(1);
/// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// let address = net.create_address(bot, false).unwrap();
/// let outcome = net.request_contact(Instant::ZERO, ann, address).unwrap();
/// assert_eq!(outcome, ContactRequested::Sent);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ContactRequested {
    /// It is on its way; [`Event::ContactConnected`] follows if it is accepted.
    Sent,
    /// The owner of the address is a contact already.
    Known(ContactId),
}

/// Why a request was not made, accepted or rejected.
///
/// ```
/// use agentwire_core::loopback::{ContactRequestError, Loopback};
/// use agentwire_core::time::Instant;
/// let mut net = Loopback::new(1);
/// let bot = net.add_profile("bot").unwrap();
/// let address = net.create_address(bot, false).unwrap();
/// let error = net.request_contact(Instant::ZERO, bot, address).unwrap_err();
/// assert_eq!(error, ContactRequestError::OwnAddress);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ContactRequestError {
    /// There is no such profile: a misuse of the stand-in.
    UnknownProfile {
        /// Who was named.
        profile: ProfileId,
    },
    /// There is no such address, or it was deleted.
    UnknownAddress {
        /// Which was named.
        address: ServiceAddress,
    },
    /// It is the profile's own address.
    OwnAddress,
    /// There is no such request (the core's `contactRequestNotFound`).
    RequestNotFound {
        /// Which was named.
        request: ContactRequestId,
    },
}

impl fmt::Display for ContactRequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownProfile { profile } => write!(f, "{profile} does not exist"),
            Self::UnknownAddress { address } => write!(f, "{address} does not exist"),
            Self::OwnAddress => f.write_str("the profile's own address"),
            Self::RequestNotFound { request } => write!(f, "no contact request {}", request.0),
        }
    }
}

impl core::error::Error for ContactRequestError {}

/// The random parts of an address's links.
#[derive(Clone, Debug)]
pub(super) struct LinkKeys {
    /// The short link's key.
    short: String,
    /// The queue's id, its router's key and the sender's key in a full link.
    queue: String,
    dh: String,
}

/// The router of all addresses: a name that nobody can have (RFC 2606).
const ROUTER: &str = "smp.loopback.example";

impl LinkKeys {
    pub(super) fn new(rng: &mut super::rng::Rng) -> Self {
        Self { short: rng.key(32), queue: rng.key(24), dh: rng.key(44) }
    }

    /// The full link: with ratchet keys it has `rk`.
    pub(super) fn full(&self, ratchet_keys: bool) -> String {
        json::to_text(|out| {
            out.raw("simplex:/contact#/?v=2-8&smp=smp%3A%2F%2F").raw(&self.short);
            out.raw("%40").raw(ROUTER).raw("%2F").raw(&self.queue);
            out.raw("%23%2F%3Fv%3D1-4%26dh%3D").raw(&self.dh).raw("%26q%3Dc");
            if ratchet_keys {
                out.raw("&rk=").raw(&self.dh);
            }
        })
    }

    /// The short link.
    pub(super) fn short(&self) -> String {
        json::to_text(|out| {
            out.raw("https://").raw(ROUTER).raw("/a#").raw(&self.short);
        })
    }

    /// Whether a link leads here.
    fn is_led_to_by(&self, link: &Link<'_>) -> bool {
        let normal = |text: &str| Link::parse(text).map(|link| normal_form(&link)).ok();
        let found = Some(normal_form(link));
        match link.form() {
            LinkForm::Short => normal(&self.short()) == found,
            _ => [false, true].into_iter().any(|keys| normal(&self.full(keys)) == found),
        }
    }
}

fn normal_form(link: &Link<'_>) -> String {
    json::to_text(|out| {
        let mut buffer = [0; 1_024];
        // A link that is longer is none of ours.
        out.raw(link.write(&mut buffer).unwrap_or_default());
    })
}

impl Loopback {
    /// The links of an address, the full and the short one, as its core writes them.
    ///
    /// ```
    /// use agentwire_core::discovery::link::{Link, LinkKind};
    /// use agentwire_core::loopback::Loopback;
    /// let mut net = Loopback::new(1);
    /// let bot = net.add_profile("bot").unwrap();
    /// let address = net.create_address(bot, true).unwrap();
    /// let (full, short) = net.links(address).unwrap();
    /// assert_eq!(Link::parse(&full).unwrap().has_ratchet_keys(), Some(true));
    /// assert_eq!(net.address_at(&Link::parse(&short).unwrap()), Some(address));
    /// ```
    #[must_use]
    pub fn links(&self, address: ServiceAddress) -> Option<(String, String)> {
        let known = self.address(address)?;
        Some((known.keys.full(known.has_ratchet_keys), known.keys.short()))
    }

    /// The address that a link leads to.
    #[must_use]
    pub fn address_at(&self, link: &Link<'_>) -> Option<ServiceAddress> {
        if link.kind() != LinkKind::Contact {
            return None;
        }
        self.all_addresses().find(|(_, known)| known.keys.is_led_to_by(link)).map(|(id, _)| id)
    }

    /// The address of a profile.
    #[must_use]
    pub fn address_of(&self, profile: ProfileId) -> Option<ServiceAddress> {
        self.all_addresses().find(|(_, known)| known.profile == profile).map(|(id, _)| id)
    }

    /// How an address answers.
    #[must_use]
    pub fn address_settings(&self, address: ServiceAddress) -> Option<&AddressSettings> {
        self.address(address).map(|known| &known.settings)
    }

    /// Changes how an address answers: the core's `/_address_settings`. Requests that wait go on
    /// waiting.
    ///
    /// # Errors
    /// [`ContactRequestError::UnknownAddress`]
    pub fn set_address_settings(
        &mut self,
        address: ServiceAddress,
        settings: AddressSettings,
    ) -> Result<(), ContactRequestError> {
        let unknown = ContactRequestError::UnknownAddress { address };
        self.address_mut(address).ok_or(unknown)?.settings = settings;
        Ok(())
    }

    /// Asks the owner of an address to be a contact: the core's `/_connect`. Who has asked already
    /// and has no answer asks the same again, which changes nothing.
    ///
    /// # Errors
    /// [`ContactRequestError`]
    ///
    /// ```
    /// use agentwire_core::loopback::{AddressSettings, Event, Loopback};
    /// use agentwire_core::time::Instant;
    /// let mut net = Loopback::new(1);
    /// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
    /// let address = net.create_address(bot, false).unwrap();
    /// net.set_address_settings(address, AddressSettings::new().auto_accept()).unwrap();
    /// net.request_contact(Instant::ZERO, ann, address).unwrap();
    /// assert!(matches!(net.poll_event(ann), Some(Event::ContactConnected { .. })));
    /// ```
    pub fn request_contact(
        &mut self,
        now: Instant,
        profile: ProfileId,
        address: ServiceAddress,
    ) -> Result<ContactRequested, ContactRequestError> {
        self.handle_timeout(now);
        let known = self.address(address).ok_or(ContactRequestError::UnknownAddress { address })?;
        let (owner, auto_accept) = (known.profile, known.settings.auto_accept);
        if owner == profile {
            return Err(ContactRequestError::OwnAddress);
        }
        let asking = self.profiles.get(profile.0);
        let asking = asking.ok_or(ContactRequestError::UnknownProfile { profile })?;
        if let Some((id, _)) = asking.contacts.iter().find(|(_, contact)| contact.peer == owner) {
            return Ok(ContactRequested::Known(*id));
        }
        if auto_accept {
            self.become_contacts(now, owner, profile, true);
        } else if let Some(request) = self.profile_mut(owner).and_then(|p| p.add_request(profile)) {
            self.tell(owner, Event::ContactRequest { request });
        }
        self.pump();
        Ok(ContactRequested::Sent)
    }

    /// Accepts a request: the core's `/_accept`.
    ///
    /// # Errors
    /// [`ContactRequestError`]
    pub fn accept_contact(
        &mut self,
        now: Instant,
        profile: ProfileId,
        request: ContactRequestId,
    ) -> Result<ContactId, ContactRequestError> {
        self.handle_timeout(now);
        let from = self.take_request(profile, request)?;
        let contact = self.become_contacts(now, profile, from, false);
        self.pump();
        contact.ok_or(ContactRequestError::UnknownProfile { profile })
    }

    /// Rejects a request: the core's `/_reject`. Who has asked does not learn it.
    ///
    /// # Errors
    /// [`ContactRequestError`]
    pub fn reject_contact(
        &mut self,
        profile: ProfileId,
        request: ContactRequestId,
    ) -> Result<(), ContactRequestError> {
        self.take_request(profile, request).map(drop)
    }

    fn take_request(
        &mut self,
        profile: ProfileId,
        request: ContactRequestId,
    ) -> Result<ProfileId, ContactRequestError> {
        let known = self.profile_mut(profile);
        let known = known.ok_or(ContactRequestError::UnknownProfile { profile })?;
        known.requests.remove(&request).ok_or(ContactRequestError::RequestNotFound { request })
    }

    /// Connects the owner of an address with another profile and tells both; then the owner's
    /// automatic reply goes out. The contact as the owner knows it.
    fn become_contacts(
        &mut self,
        now: Instant,
        owner: ProfileId,
        other: ProfileId,
        is_automatic: bool,
    ) -> Option<ContactId> {
        let (of_owner, of_other) = self.connect(owner, other).ok()?;
        if is_automatic {
            self.tell(owner, Event::ContactAccepting { contact: of_owner });
        }
        self.tell(owner, Event::ContactConnected { contact: of_owner });
        self.tell(other, Event::ContactConnected { contact: of_other });
        let address = self.address_of(owner)?;
        let reply = self.address_settings(address).and_then(|known| known.auto_reply.clone());
        if let Some(text) = reply {
            // A reply that is too long is not sent, and nobody learns it.
            let _ = self.send(now, owner, Chat::Direct(of_owner), &text);
        }
        Some(of_owner)
    }
}
