//! The links of addresses, invitations, groups and channels: how a core writes them, and what they
//! lead to.
//!
//! ```text
//! short  https://<router>/<a | g | c>#<key>          the data are behind it, ratchet keys too
//!        https://<router>/i#<link id>/<key>
//! full   simplex:/contact#/?v=…&smp=…[&data=…][&rk=…]   a group has data
//!        simplex:/invitation#/?v=…&smp=…&e2e=…
//! ```

use alloc::string::String;

use super::rng::Rng;
use super::{GroupRef, InvitationId, Loopback, ServiceAddress};
use crate::discovery::link::{Link, LinkForm, LinkKind};
use crate::json;

/// The router of all links: a name that nobody can have (RFC 2606).
const ROUTER: &str = "smp.loopback.example";

/// The random parts of a link.
#[derive(Clone, Debug)]
pub(super) struct LinkKeys {
    kind: LinkKind,
    /// The short link's key.
    short: String,
    /// The queue's id and the sender's key in a full link.
    queue: String,
    dh: String,
}

/// What a link leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LinkTarget {
    /// An address.
    Address(ServiceAddress),
    /// An invitation, used or not.
    Invitation(InvitationId),
    /// A group or a channel.
    Group(GroupRef),
}

impl LinkKeys {
    pub(super) fn new(kind: LinkKind, rng: &mut Rng) -> Self {
        Self { kind, short: rng.key(32), queue: rng.key(24), dh: rng.key(44) }
    }

    /// The full link, with the ratchet keys that it names.
    pub(super) fn full(&self, ratchet: Option<&str>) -> String {
        json::to_text(|out| {
            let is_invitation = self.kind == LinkKind::Invitation;
            out.raw("simplex:/").raw(if is_invitation { "invitation" } else { "contact" });
            out.raw("#/?v=2-8&smp=smp%3A%2F%2F").raw(&self.short);
            out.raw("%40").raw(ROUTER).raw("%2F").raw(&self.queue);
            out.raw("%23%2F%3Fv%3D1-4%26dh%3D").raw(&self.dh).raw("%26q%3D");
            out.raw(if is_invitation { "m" } else { "c" });
            match self.kind {
                LinkKind::Invitation => {
                    out.raw("&e2e=v%3D2-3%26x3dh%3D").raw(&self.dh);
                }
                LinkKind::Group | LinkKind::Channel => {
                    out.raw("&data=%7B%22type%22%3A%22group%22%2C%22groupLinkId%22%3A%22");
                    out.raw(self.group_link_id()).raw("%22%7D");
                }
                _ => {}
            }
            if let Some(keys) = ratchet {
                out.raw("&rk=").raw(keys);
            }
        })
    }

    /// The short link.
    pub(super) fn short(&self) -> String {
        json::to_text(|out| {
            out.raw("https://").raw(ROUTER).raw(match self.kind {
                LinkKind::Invitation => "/i#",
                LinkKind::Group => "/g#",
                LinkKind::Channel => "/c#",
                _ => "/a#",
            });
            if self.kind == LinkKind::Invitation {
                out.raw(&self.queue).raw("/");
            }
            out.raw(&self.short);
        })
    }

    /// The id that a group's link has besides.
    pub(super) fn group_link_id(&self) -> &str {
        self.queue.get(..16).unwrap_or_default()
    }

    /// Whether a link leads here. Ratchet keys of any age do.
    fn is_led_to_by(&self, link: &Link<'_>) -> bool {
        let own = if link.form() == LinkForm::Short { self.short() } else { self.full(None) };
        let own = Link::parse(&own).map(|link| normal_form(&link));
        own.is_ok_and(|own| own == normal_form(link))
    }
}

/// The link in its normal form, without ratchet keys.
fn normal_form(link: &Link<'_>) -> String {
    let mut buffer = [0; 1_024];
    // A link that is longer is none of ours.
    let text = link.write(&mut buffer).unwrap_or_default();
    String::from(text.split("&rk=").next().unwrap_or_default())
}

impl Loopback {
    /// What a link leads to; none where there is nothing, or nothing any more.
    ///
    /// ```
    /// use agentwire_core::discovery::link::Link;
    /// use agentwire_core::loopback::{LinkTarget, Loopback};
    /// let mut net = Loopback::new(1);
    /// let bot = net.add_profile("bot").unwrap();
    /// let address = net.create_address(bot, false).unwrap();
    /// let (full, _) = net.links(address).unwrap();
    /// let link = Link::parse(&full).unwrap();
    /// assert_eq!(net.behind(&link), Some(LinkTarget::Address(address)));
    /// ```
    #[must_use]
    pub fn behind(&self, link: &Link<'_>) -> Option<LinkTarget> {
        let mut addresses = self.all_addresses();
        let address = addresses.find(|(_, known)| known.keys.is_led_to_by(link));
        if let Some((address, _)) = address {
            return Some(LinkTarget::Address(address));
        }
        let mut invitations = self.invitations.iter();
        let invitation = invitations.find(|(_, known)| known.keys.is_led_to_by(link));
        if let Some((id, _)) = invitation {
            return Some(LinkTarget::Invitation(*id));
        }
        let leads = |keys: &Option<LinkKeys>| keys.as_ref().is_some_and(|k| k.is_led_to_by(link));
        let group = self.groups.iter().position(|group| leads(&group.link))?;
        Some(LinkTarget::Group(GroupRef(group)))
    }

    /// The address that a link leads to.
    #[must_use]
    pub fn address_at(&self, link: &Link<'_>) -> Option<ServiceAddress> {
        match self.behind(link)? {
            LinkTarget::Address(address) => Some(address),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// simplexmq `Agent/Protocol.hs`, `ConnectionRequestUri`, `ConnectionLink`; simplex-chat
    /// `tests/MarkdownTests.hs`: the links of groups have data.
    #[test]
    fn links_say_what_they_lead_to() {
        let kinds = [LinkKind::Contact, LinkKind::Invitation, LinkKind::Group, LinkKind::Channel];
        for kind in kinds {
            let keys = LinkKeys::new(kind, &mut Rng::new(1));
            let (full, short) = (keys.full(None), keys.short());
            let (full, short) = (Link::parse(&full).unwrap(), Link::parse(&short).unwrap());
            assert_eq!((short.kind(), short.form()), (kind, LinkForm::Short));
            // A full link cannot say that it is a channel's.
            let seen = if kind == LinkKind::Channel { LinkKind::Group } else { kind };
            assert_eq!((full.kind(), full.form()), (seen, LinkForm::Full));
            assert!(keys.is_led_to_by(&full) && keys.is_led_to_by(&short));
            let others = LinkKeys::new(kind, &mut Rng::new(2));
            assert!(!others.is_led_to_by(&full) && !others.is_led_to_by(&short));
        }
    }

    #[test]
    fn ratchet_keys_do_not_lead_elsewhere() {
        let keys = LinkKeys::new(LinkKind::Contact, &mut Rng::new(1));
        for ratchet in [None, Some("old"), Some("new")] {
            let full = keys.full(ratchet);
            let link = Link::parse(&full).unwrap();
            assert!(keys.is_led_to_by(&link));
            assert_eq!(link.has_ratchet_keys(), Some(ratchet.is_some()));
        }
    }
}
