//! How profiles meet: what is behind a link or a name, requests, invitations, groups.

use alloc::string::String;

use super::item::truth;
use super::refusal::Refusal;
use super::run::{Done, Run, created_link};
use super::view::View;
use crate::chat::GroupId;
use crate::discovery::link::{Link, LinkForm};
use crate::discovery::name::{Name, Tld};
use crate::json::{Writer, to_text};
use crate::loopback::request::ContactRequested;
use crate::loopback::{
    GroupRef, InvitationId, LinkTarget, NameProblem, ServiceAddress, SetupError,
};
use crate::simplex::ContactRequestId;

/// What a link or a name leads to.
#[derive(Clone, Copy)]
struct Found<'a> {
    target: LinkTarget,
    /// Whether it is a full link, which says everything itself: nothing is looked up.
    is_full: bool,
    /// The name that was looked up.
    name: Option<Name<'a>>,
}

impl Run<'_> {
    fn find<'a>(&self, target: &'a str) -> Result<Found<'a>, Refusal> {
        if let Ok(link) = Link::parse(target) {
            let is_full = link.form() == LinkForm::Full;
            let target = self.net.behind(&link).ok_or(Refusal::NoSuchAddress)?;
            return Ok(Found { target, is_full, name: None });
        }
        let name = Name::parse(target).map_err(|_| Refusal::Chat("invalidConnReq"))?;
        let target = self.net.look_up(&name).map_err(|problem| not_ready(&name, problem))?;
        Ok(Found { target, is_full: false, name: Some(name) })
    }

    /// Whom a Service RPC request is for. The keys are those that the link given has, or those
    /// behind a short one.
    pub(super) fn service_address(&self, target: &str) -> Result<ServiceAddress, Refusal> {
        let found = self.find(target)?;
        let LinkTarget::Address(address) = found.target else {
            return Err(Refusal::NoSuchAddress);
        };
        let has_keys = Link::parse(target).ok().and_then(|link| link.has_ratchet_keys());
        if found.is_full && has_keys != Some(true) {
            return Err(Refusal::Service("notDRAddress"));
        }
        Ok(address)
    }

    pub(super) fn connect_plan(&self, user: i64, target: &str) -> Done {
        Self::check_user(Some(user))?;
        let found = self.find(target)?;
        let plan = match found.target {
            LinkTarget::Address(address) => self.address_plan(address, found.is_full)?,
            LinkTarget::Invitation(invitation) => {
                self.invitation_plan(invitation, found.is_full)?
            }
            LinkTarget::Group(group) => self.group_plan(group, found.is_full),
        };
        Ok(self.response("connectionPlan", |view, out| {
            out.raw(",\"connLink\":");
            let links = match found.target {
                // Of the own link the core shows what it has itself.
                LinkTarget::Address(address)
                    if found.is_full || view.net.profile_at(address) == Some(view.profile) =>
                {
                    view.net.links(address)
                }
                LinkTarget::Address(address) => view.net.resolved_links(address),
                LinkTarget::Invitation(invitation) => view.net.invitation_links(invitation),
                LinkTarget::Group(group) => view.net.group_links(group),
            };
            created_link(links, out);
            if let Some(name) = &found.name {
                let is_contact = matches!(found.target, LinkTarget::Address(_));
                out.raw(",\"planSimplexName\":{\"nameType\":");
                out.string(if is_contact { "contact" } else { "publicGroup" });
                out.raw(",\"nameDomain\":").raw(&domain(name)).raw("}");
            }
            out.raw(",\"connectionPlan\":").raw(&plan);
        }))
    }

    /// The data are behind the short link; a full link has none.
    fn address_plan(&self, address: ServiceAddress, is_full: bool) -> Result<String, Refusal> {
        let owner = self.net.profile_at(address).ok_or(Refusal::NoSuchAddress)?;
        let view = self.view();
        let contact = view.known().and_then(|known| known.contact_of(owner));
        let asked =
            self.net.profiles.get(owner.0).is_some_and(|owner| {
                owner.requests.values().any(|asking| asking.from == self.profile)
            });
        Ok(to_text(|out| {
            out.raw("{\"type\":\"contactAddress\",\"contactAddressPlan\":{\"type\":");
            match contact {
                _ if owner == self.profile => {
                    out.raw("\"ownLink\"");
                }
                Some(contact) => {
                    out.raw("\"known\",\"contact\":");
                    view.contact(contact, out);
                }
                None if asked => {
                    out.raw("\"connectingConfirmReconnect\"");
                }
                None => {
                    out.raw("\"ok\"");
                    link_data(self.net.record(owner).filter(|_| !is_full), out);
                }
            }
            out.raw("}}");
        }))
    }

    fn invitation_plan(&self, id: InvitationId, is_full: bool) -> Result<String, Refusal> {
        let known = self.net.invitations.get(&id).ok_or(Refusal::NoSuchAddress)?;
        let contact = match known.used {
            Some((_, [contact, _])) if known.profile == self.profile => Some(contact),
            Some((user, [_, contact])) if user == self.profile => Some(contact),
            // It is spent.
            Some(_) => return Err(Refusal::NoSuchAddress),
            None => None,
        };
        let view = self.view();
        let is_there = |id| view.known().is_some_and(|known| known.contacts.contains_key(id));
        if known.used.is_some() && !contact.as_ref().is_some_and(is_there) {
            return Err(Refusal::NoSuchAddress);
        }
        let shown = known.incognito.as_deref().or_else(|| self.net.record(known.profile));
        Ok(to_text(|out| {
            out.raw("{\"type\":\"invitationLink\",\"invitationLinkPlan\":{\"type\":");
            match contact {
                Some(contact) => {
                    out.raw("\"known\",\"contact\":");
                    view.contact(contact, out);
                }
                None if known.profile == self.profile => {
                    out.raw("\"ownLink\"");
                }
                None => {
                    out.raw("\"ok\"");
                    link_data(shown.filter(|_| !is_full), out);
                }
            }
            out.raw("}}");
        }))
    }

    fn group_plan(&self, group: GroupRef, is_full: bool) -> String {
        let view = self.view();
        to_text(|out| {
            out.raw("{\"type\":\"groupLink\",\"groupLinkPlan\":{\"type\":");
            match self.member_of(group) {
                Some((id, true)) => {
                    out.raw("\"ownLink\",\"groupInfo\":");
                    view.group(id, out);
                }
                Some((id, false)) => {
                    out.raw("\"known\",\"groupInfo\":");
                    view.group(id, out);
                    out.raw(",\"groupUpdated\":false,\"linkOwners\":[]");
                }
                None => {
                    out.raw("\"ok\"");
                    let known = self.net.groups.get(group.0).filter(|_| !is_full);
                    if let Some(known) = known {
                        out.raw(",\"groupSLinkInfo_\":{\"direct\":").raw(truth(!known.is_channel));
                        out.raw(",\"groupRelays\":[]},\"groupSLinkData_\":{\"groupProfile\":");
                        out.raw(&known.record).raw("}");
                    }
                }
            }
            out.raw("}}");
        })
    }

    /// The group as the profile knows it, and whether it owns it; none if it is not in it now.
    fn member_of(&self, group: GroupRef) -> Option<(GroupId, bool)> {
        let mut groups = self.view().known()?.groups.iter();
        let (id, known) = groups.find(|(_, known)| known.group == group && known.active)?;
        Some((*id, self.view().owner(*id) == Some(known.own)))
    }

    pub(super) fn connect(&mut self, user: Option<i64>, incognito: bool, link: &str) -> Done {
        Self::check_user(user)?;
        let found = self.find(link)?;
        let shown = incognito.then(|| self.net.made_up_record());
        let (now, profile) = (self.now, self.profile);
        match found.target {
            LinkTarget::Address(address) => {
                let asked = self.net.request_contact_as(now, profile, address, shown.clone())?;
                Ok(match asked {
                    ContactRequested::Known(contact) => {
                        self.response("contactAlreadyExists", |view, out| {
                            out.raw(",\"contact\":");
                            view.contact(contact, out);
                        })
                    }
                    ContactRequested::Sent => self.begun("sentInvitation", None, shown.as_deref()),
                })
            }
            LinkTarget::Invitation(invitation) => {
                self.net.use_invitation_as(now, profile, invitation, shown.clone())?;
                Ok(self.begun("sentConfirmation", None, shown.as_deref()))
            }
            // Groups of one's own name alone: a made-up one is for contacts here.
            LinkTarget::Group(_) if incognito => Err(Refusal::not_done()),
            LinkTarget::Group(group) => self.join(group),
        }
    }

    /// Who is a member already asks for nothing new.
    fn join(&mut self, group: GroupRef) -> Done {
        let is_channel = self.net.groups.get(group.0).is_some_and(|group| group.is_channel);
        let group_link = self.net.group_link_id(group).map(String::from);
        let joined = match self.net.join_by_link(self.now, self.profile, group) {
            Ok(joined) => Some(joined),
            Err(SetupError::AlreadyMember { .. }) => self.member_of(group).map(|(id, _)| id),
            Err(_) => return Err(Refusal::NoSuchAddress),
        };
        match joined {
            Some(joined) if is_channel => {
                Ok(self.response("startedConnectionToGroup", |view, out| {
                    out.raw(",\"groupInfo\":");
                    view.group(joined, out);
                    out.raw(",\"relayResults\":[]");
                }))
            }
            _ => Ok(self.begun("sentInvitation", group_link.as_deref(), None)),
        }
    }

    /// A response with a connection that has only begun.
    fn begun(&self, kind: &str, group_link: Option<&str>, shown: Option<&str>) -> String {
        self.response(kind, |view, out| {
            out.raw(",\"connection\":");
            pending(
                view,
                Pending { id: 1, status: "joined", group_link, ..Pending::default() },
                out,
            );
            if let Some(shown) = shown {
                out.raw(",\"customUserProfile\":").raw(shown);
            }
        })
    }

    pub(super) fn invite(&mut self, user: Option<i64>, incognito: bool) -> Done {
        Self::check_user(user)?;
        let shown = incognito.then(|| self.net.made_up_record());
        let made = self.net.create_invitation_as(self.profile, shown);
        let made = made.map_err(|_| Refusal::internal("the loopback has no room"))?;
        Ok(self.response("invitation", |view, out| {
            out.raw(",\"connLinkInvitation\":");
            created_link(view.net.invitation_links(made), out);
            out.raw(",\"connection\":");
            pending_invitation(view, made, out);
        }))
    }

    pub(super) fn accept(&mut self, incognito: bool, request: ContactRequestId) -> Done {
        let shown = incognito.then(|| self.net.made_up_record());
        let contact = self.net.accept_contact_as(self.now, self.profile, request, shown)?;
        Ok(self.response("acceptingContactRequest", |view, out| {
            out.raw(",\"contact\":");
            view.contact(contact, out);
        }))
    }

    pub(super) fn reject(&mut self, request: ContactRequestId) -> Done {
        let shown = to_text(|out| self.view().request(request, out));
        self.net.reject_contact(self.profile, request)?;
        Ok(self.response("contactRequestRejected", |_, out| {
            out.raw(",\"contactRequest\":").raw(&shown);
        }))
    }
}

/// The core's `ContactShortLinkData` as a member of a plan, if there are any.
fn link_data(record: Option<&str>, out: &mut Writer<'_>) {
    if let Some(record) = record {
        out.raw(",\"contactSLinkData_\":{\"profile\":").raw(record).raw(",\"business\":false}");
    }
}

#[derive(Default)]
struct Pending<'a> {
    id: i64,
    status: &'a str,
    group_link: Option<&'a str>,
    invitation: Option<(String, String)>,
    is_incognito: bool,
}

/// The core's `PendingContactConnection` of an invitation that waits.
pub(super) fn pending_invitation(view: &View<'_>, id: InvitationId, out: &mut Writer<'_>) {
    let known = view.net.invitations.get(&id);
    let is_incognito = known.is_some_and(|known| known.incognito.is_some());
    let invitation = view.net.invitation_links(id);
    let waits = Pending { id: id.0, status: "new", invitation, is_incognito, group_link: None };
    pending(view, waits, out);
}

fn pending(view: &View<'_>, waits: Pending<'_>, out: &mut Writer<'_>) {
    let created = view.beginning();
    out.raw("{\"pccConnId\":").int(waits.id).raw(",\"pccAgentConnId\":\"").int(waits.id);
    out.raw("\",\"pccConnStatus\":{\"type\":").string(waits.status);
    out.raw("},\"viaContactUri\":").raw(truth(waits.invitation.is_none()));
    if let Some(group_link) = waits.group_link {
        out.raw(",\"groupLinkId\":").string(group_link);
    }
    if waits.is_incognito {
        out.raw(",\"customUserProfileId\":").int(waits.id);
    }
    if waits.invitation.is_some() {
        out.raw(",\"connLinkInv\":");
        created_link(waits.invitation, out);
    }
    out.raw(",\"localAlias\":\"\",\"createdAt\":").string(&created);
    out.raw(",\"updatedAt\":").string(&created).raw("}");
}

fn not_ready(name: &Name<'_>, problem: NameProblem) -> Refusal {
    Refusal::DomainNotReady(domain(name), problem)
}

/// The core's `SimplexDomain`: the part below the top-level domain, and what is below that.
fn domain(name: &Name<'_>) -> String {
    let labels: alloc::vec::Vec<String> = name.labels().map(str::to_ascii_lowercase).collect();
    let tld = name.tld();
    // A name of one label has its top-level domain unsaid; a web domain is its last two labels.
    let end = match tld {
        Tld::Simplex | Tld::Testing if labels.len() > 1 => labels.len().saturating_sub(1),
        _ => labels.len(),
    };
    let own = if tld == Tld::Web { 2 } else { 1 };
    let begin = end.saturating_sub(own);
    to_text(|out| {
        out.raw("{\"nameTLD\":").string(match tld {
            Tld::Simplex => "simplex",
            Tld::Testing => "testing",
            Tld::Web => "web",
        });
        let between = labels.get(begin..end).unwrap_or_default().join(".");
        out.raw(",\"domain\":").string(&between).raw(",\"subDomain\":[");
        let mut before = "";
        for label in labels.get(..begin).unwrap_or_default() {
            out.raw(before).string(label);
            before = ",";
        }
        out.raw("]}");
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// simplex-chat `bots/api/TYPES.md`, `SimplexDomain`.
    #[test]
    fn a_domain_is_split_at_its_top() {
        for (name, expected) in [
            ("@bot.simplex", r#"{"nameTLD":"simplex","domain":"bot","subDomain":[]}"#),
            ("privacy", r#"{"nameTLD":"simplex","domain":"privacy","subDomain":[]}"#),
            ("#News.Acme.testing", r#"{"nameTLD":"testing","domain":"acme","subDomain":["news"]}"#),
            ("@acme.example", r#"{"nameTLD":"web","domain":"acme.example","subDomain":[]}"#),
        ] {
            assert_eq!(domain(&Name::parse(name).unwrap()), expected);
        }
    }
}
