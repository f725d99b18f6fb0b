//! Addresses, what connecting to one would do, and those who wish to connect.

use core::fmt;

use super::pick::{ShapeError, pick, tag, word};
use super::{Contact, Group};
use crate::json::{Object, Str};
use crate::simplex::ContactRequestId;

/// The links of an address or of a plan: the full one, and the short one where there is one.
///
/// ```
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"resp":{"type":"userContactLinkCreated","connLinkContact":{
///     "connFullLink":"simplex:/contact#/?v=2-7&smp=x&rk=y","connShortLink":"https://smp.example/a#z"}}}"#;
/// let Ok(Body::Address(address)) = Frame::parse(text).unwrap().body() else { panic!() };
/// assert!(address.links.best() == *"https://smp.example/a#z");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Links<'f> {
    /// The full link. With ratchet keys it has `rk=`
    /// ([`Link::has_ratchet_keys`](crate::discovery::link::Link::has_ratchet_keys)).
    pub full: Str<'f>,
    /// The short link.
    pub short: Option<Str<'f>>,
}

impl<'f> Links<'f> {
    fn read(object: Object<'f>) -> Result<Self, ShapeError> {
        let found = pick(object, ["connFullLink", "connShortLink"])?;
        Ok(Self { full: found.need_str(0)?, short: found.str(1) })
    }

    /// The short link, or the full one where there is none.
    #[must_use]
    pub fn best(&self) -> Str<'f> {
        self.short.unwrap_or(self.full)
    }
}

impl fmt::Debug for Links<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links")
            .field("full_len", &self.full.raw().len())
            .field("short_len", &self.short.map(|link| link.raw().len()))
            .finish()
    }
}

/// The user's address.
///
/// ```
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"resp":{"type":"userContactLink","contactLink":{"userContactLinkId":1,
///     "connLinkContact":{"connFullLink":"simplex:/contact#/?v=2&smp=x"},
///     "addressSettings":{"businessAddress":false,"autoAccept":{"acceptIncognito":false}}}}}"#;
/// let Ok(Body::Address(address)) = Frame::parse(text).unwrap().body() else { panic!() };
/// assert!(address.auto_accepts && !address.is_business);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Address<'f> {
    /// Its links.
    pub links: Links<'f>,
    /// Whether it is a business address.
    pub is_business: bool,
    /// Whether those who wish to connect are accepted at once.
    pub auto_accepts: bool,
    /// The core's `AddressSettings`; absent right after the address was made.
    pub settings: Option<Object<'f>>,
}

impl<'f> Address<'f> {
    /// From a response with `contactLink`, or with `connLinkContact` alone.
    pub(super) fn read(response: Object<'f>) -> Result<Self, ShapeError> {
        let found = pick(response, ["contactLink", "connLinkContact"])?;
        let Some(link) = found.object(0) else {
            let links = Links::read(found.need_object(1)?)?;
            return Ok(Self { links, is_business: false, auto_accepts: false, settings: None });
        };
        let found = pick(link, ["connLinkContact", "addressSettings", "autoAccept"])?;
        let settings = found.object(1);
        let (is_business, auto_accepts) = match settings {
            Some(settings) => {
                let found = pick(settings, ["businessAddress", "autoAccept"])?;
                (found.is(0), found.value(1).is_some())
            }
            // Before there were settings, the option stood here.
            None => (false, found.value(2).is_some()),
        };
        let links = Links::read(found.need_object(0)?)?;
        Ok(Self { links, is_business, auto_accepts, settings })
    }
}

/// What a link or a name leads to.
///
/// ```
/// use agentwire_core::simplex::frame::PlanKind;
/// assert_ne!(PlanKind::Address, PlanKind::Group);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PlanKind {
    /// `invitationLink`: one conversation, once.
    Invitation,
    /// `contactAddress`: an address that accepts conversations and requests.
    Address,
    /// `groupLink`: a group or a channel.
    Group,
    /// Something else.
    Other,
}

/// How the profile stands to what a link leads to.
///
/// ```
/// use agentwire_core::simplex::frame::PlanState;
/// assert_ne!(PlanState::New, PlanState::Known);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PlanState {
    /// `ok`: nothing connects them yet.
    New,
    /// `ownLink`: it is the profile's own.
    Own,
    /// `connecting…`: connecting has begun.
    Connecting,
    /// `known`, `contactViaAddress`: they are connected, or the contact is known.
    Known,
    /// Something else.
    Other,
}

/// What connecting would do: the response to `/_connect plan`, without connecting.
///
/// ```
/// use agentwire_core::simplex::frame::{Body, Frame, PlanKind, PlanState};
/// let text = r#"{"resp":{"type":"connectionPlan",
///     "connLink":{"connFullLink":"simplex:/contact#/?v=2&smp=x"},
///     "connectionPlan":{"type":"contactAddress","contactAddressPlan":{"type":"ok",
///         "contactSLinkData_":{"profile":{"displayName":"acme"},"business":false}}}}}"#;
/// let Ok(Body::Plan(plan)) = Frame::parse(text).unwrap().body() else { panic!() };
/// assert_eq!((plan.kind, plan.state), (PlanKind::Address, PlanState::New));
/// assert!(plan.link_data.is_some());
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Plan<'f> {
    /// The links that the core found.
    pub links: Option<Links<'f>>,
    /// What the link leads to.
    pub kind: PlanKind,
    /// How the profile stands to it.
    pub state: PlanState,
    /// The contact that it leads to, where that is known.
    pub contact: Option<Contact<'f>>,
    /// The group that it leads to, where that is known.
    pub group: Option<Group<'f>>,
    /// The data published with a short link: a profile or a group's profile, with declarations.
    pub link_data: Option<Object<'f>>,
    /// The whole plan.
    pub object: Object<'f>,
}

impl<'f> Plan<'f> {
    pub(super) fn read(response: Object<'f>) -> Result<Self, ShapeError> {
        let found = pick(response, ["connLink", "connectionPlan"])?;
        let object = found.need_object(1)?;
        let inside = pick(object, ["invitationLinkPlan", "contactAddressPlan", "groupLinkPlan"])?;
        let kind = match &*word(tag(object)) {
            "invitationLink" => PlanKind::Invitation,
            "contactAddress" => PlanKind::Address,
            "groupLink" => PlanKind::Group,
            _ => PlanKind::Other,
        };
        let inside = (0..3).find_map(|place| inside.object(place));
        let state = match &*word(inside.and_then(tag)) {
            "ok" => PlanState::New,
            "ownLink" => PlanState::Own,
            "known" | "contactViaAddress" => PlanState::Known,
            state if state.starts_with("connecting") => PlanState::Connecting,
            _ => PlanState::Other,
        };
        let names = [
            "contact",
            "contact_",
            "groupInfo",
            "groupInfo_",
            "contactSLinkData_",
            "groupSLinkData_",
        ];
        let parts = inside.map(|inside| pick(inside, names)).transpose()?;
        let part = |place: usize, other: usize| {
            let parts = parts.as_ref()?;
            parts.object(place).or_else(|| parts.object(other))
        };
        Ok(Self {
            links: found.object(0).map(Links::read).transpose()?,
            kind,
            state,
            contact: part(0, 1).map(Contact::read).transpose()?,
            group: part(2, 3).map(Group::read).transpose()?,
            link_data: part(4, 5),
            object,
        })
    }
}

/// Somebody's wish to connect.
///
/// ```
/// use agentwire_core::simplex::ContactRequestId;
/// use agentwire_core::simplex::frame::{Body, Frame};
/// let text = r#"{"resp":{"type":"receivedContactRequest","contactRequest":{"contactRequestId":5,
///     "localDisplayName":"ann","profile":{"displayName":"ann"}}}}"#;
/// let Ok(Body::ContactRequest(request)) = Frame::parse(text).unwrap().body() else { panic!() };
/// assert_eq!(request.id, ContactRequestId(5));
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ContactRequest<'f> {
    /// Its number: what accepting it takes.
    pub id: ContactRequestId,
    /// The name of who wishes it, in this core.
    pub name: Str<'f>,
    /// Their profile.
    pub profile: Option<Object<'f>>,
}

impl<'f> ContactRequest<'f> {
    pub(super) fn read(object: Object<'f>) -> Result<Self, ShapeError> {
        let found = pick(object, ["contactRequestId", "localDisplayName", "profile"])?;
        Ok(Self {
            id: ContactRequestId(found.need_int(0)?),
            name: found.need_str(1)?,
            profile: found.object(2),
        })
    }
}

impl fmt::Debug for ContactRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContactRequest").field("id", &self.id).finish_non_exhaustive()
    }
}
