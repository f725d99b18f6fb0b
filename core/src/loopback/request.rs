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
use super::profile::Asking;
use super::{InvitationId, Loopback, ProfileId, ServiceAddress};
use crate::chat::{Chat, ContactId};
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
    /// Whether who is accepted so sees a made-up profile.
    pub accept_incognito: bool,
    /// The text that every new contact is sent.
    pub auto_reply: Option<String>,
}

impl AddressSettings {
    /// Requests wait for an answer, and nothing is sent.
    #[must_use]
    pub const fn new() -> Self {
        Self { auto_accept: false, accept_incognito: false, auto_reply: None }
    }

    /// Accepts everybody.
    #[must_use]
    pub const fn auto_accept(mut self) -> Self {
        self.auto_accept = true;
        self
    }

    /// Shows who is accepted a made-up profile.
    #[must_use]
    pub const fn accept_incognito(mut self) -> Self {
        self.accept_incognito = true;
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
            .field("accept_incognito", &self.accept_incognito)
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
    /// There is no such invitation, or it is spent.
    UnknownInvitation {
        /// Which was named.
        invitation: InvitationId,
    },
    /// It is the profile's own address or invitation.
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
            Self::UnknownInvitation { invitation } => write!(f, "{invitation} leads nowhere"),
            Self::OwnAddress => f.write_str("the profile's own link"),
            Self::RequestNotFound { request } => write!(f, "no contact request {}", request.0),
        }
    }
}

impl core::error::Error for ContactRequestError {}

impl Loopback {
    /// The links of an address, the full and the short one, as its core shows them. The full link
    /// stays what it was when the address was made: keys that came later are behind the short one.
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
        Some((known.keys.full(known.full_link_keys.as_deref()), known.keys.short()))
    }

    /// The same as whoever looks behind the short link finds them: with the keys of today.
    pub(super) fn resolved_links(&self, address: ServiceAddress) -> Option<(String, String)> {
        let known = self.address(address)?;
        Some((known.keys.full(known.ratchet_keys.as_deref()), known.keys.short()))
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
        self.request_contact_as(now, profile, address, None)
    }

    /// The same under a made-up record, if there is one.
    pub(super) fn request_contact_as(
        &mut self,
        now: Instant,
        profile: ProfileId,
        address: ServiceAddress,
        incognito: Option<String>,
    ) -> Result<ContactRequested, ContactRequestError> {
        self.handle_timeout(now);
        let known = self.address(address).ok_or(ContactRequestError::UnknownAddress { address })?;
        let (owner, auto_accept) = (known.profile, known.settings.auto_accept);
        let accepts_incognito = known.settings.accept_incognito;
        if owner == profile {
            return Err(ContactRequestError::OwnAddress);
        }
        let asking = self.profiles.get(profile.0);
        let asking = asking.ok_or(ContactRequestError::UnknownProfile { profile })?;
        if let Some(id) = asking.contact_of(owner) {
            return Ok(ContactRequested::Known(id));
        }
        if auto_accept {
            let shown = accepts_incognito.then(|| self.made_up_record());
            self.become_contacts(now, [owner, profile], [shown, incognito], true);
        } else {
            let asking = Asking { from: profile, incognito };
            if let Some(request) = self.profile_mut(owner).and_then(|p| p.add_request(asking)) {
                self.tell(owner, Event::ContactRequest { request });
            }
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
        self.accept_contact_as(now, profile, request, None)
    }

    /// The same under a made-up record, if there is one.
    pub(super) fn accept_contact_as(
        &mut self,
        now: Instant,
        profile: ProfileId,
        request: ContactRequestId,
        shown: Option<String>,
    ) -> Result<ContactId, ContactRequestError> {
        self.handle_timeout(now);
        let Asking { from, incognito } = self.take_request(profile, request)?;
        let contact = self.become_contacts(now, [profile, from], [shown, incognito], false);
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
    ) -> Result<Asking, ContactRequestError> {
        let known = self.profile_mut(profile);
        let known = known.ok_or(ContactRequestError::UnknownProfile { profile })?;
        known.requests.remove(&request).ok_or(ContactRequestError::RequestNotFound { request })
    }

    /// Connects the owner of an address with another profile and tells both; then the owner's
    /// automatic reply goes out. The contact as the owner knows it.
    fn become_contacts(
        &mut self,
        now: Instant,
        [owner, other]: [ProfileId; 2],
        shown: [Option<String>; 2],
        is_automatic: bool,
    ) -> Option<ContactId> {
        let (of_owner, of_other) = self.connect_as([owner, other], shown).ok()?;
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
