//! The core's events, as a profile's clients get them.

use alloc::string::String;

use super::item::Status;
use super::refusal::Refusal;
use super::view::View;
use crate::chat::GroupId;
use crate::json::{Writer, to_text};
use crate::loopback::event::{Event, MemberChange};
use crate::rpc::CoreFailure;

/// The member `resp` of an event; none for what a core does not report, or what is gone by now.
pub(super) fn report(view: View<'_>, event: &Event) -> Option<String> {
    let known = view.known()?;
    let with_user = |kind: &str, more: &dyn Fn(&mut Writer<'_>)| {
        to_text(|out| {
            out.raw("{\"type\":").string(kind).raw(",\"user\":");
            view.user(out);
            more(out);
            out.raw("}");
        })
    };
    Some(match event {
        Event::NewItem(item) => with_user("newChatItems", &|out| {
            out.raw(",\"chatItems\":[");
            view.reported(item, out);
            out.raw("]");
        }),
        Event::ItemUpdated(item) => with_user("chatItemUpdated", &|out| {
            out.raw(",\"chatItem\":");
            view.reported(item, out);
        }),
        Event::ItemExpired { is_own, item } => with_user("chatItemsDeleted", &|out| {
            out.raw(",\"chatItemDeletions\":[{\"deletedChatItem\":");
            view.expired(item, *is_own, out);
            out.raw("}],\"byUser\":true,\"timed\":true");
        }),
        Event::ItemDeleted { chat, item } => {
            let stored = known.items.get(*chat, *item)?;
            with_user("chatItemsDeleted", &|out| {
                out.raw(",\"chatItemDeletions\":[{\"deletedChatItem\":");
                view.item(stored, Status::Stored, out);
                out.raw(",\"toChatItem\":");
                view.item(stored, Status::Stored, out);
                out.raw("}],\"byUser\":false,\"timed\":false");
            })
        }
        Event::ItemStatus { chat, item, status } => {
            let stored = known.items.get(*chat, *item)?;
            with_user("chatItemsStatusesUpdated", &|out| {
                out.raw(",\"chatItems\":[");
                view.item(stored, Status::At(*status), out);
                out.raw("]");
            })
        }
        Event::ServiceRequest(request) => with_user("serviceRequest", &|out| {
            out.raw(",\"requestId\":").string(&request.request_id);
            if let Some(key) = &request.signer_key {
                out.raw(",\"signerKey\":").string(key);
            }
            out.raw(",\"requestData\":").raw(&request.data);
        }),
        Event::ServiceReplySent { connection } => to_text(|out| {
            out.raw("{\"type\":\"serviceReplySent\",\"connectionId\":").string(&connection.text());
            out.raw("}");
        }),
        Event::ContactRequest { request } => {
            // It was accepted or rejected before anybody was told of it.
            known.requests.get(request)?;
            with_user("receivedContactRequest", &|out| {
                out.raw(",\"contactRequest\":");
                view.request(*request, out);
            })
        }
        Event::ContactAccepting { contact } => with_user("acceptingContactRequest", &|out| {
            out.raw(",\"contact\":");
            view.contact(*contact, out);
        }),
        Event::ContactConnecting { contact } => with_user("contactConnecting", &|out| {
            out.raw(",\"contact\":");
            view.contact(*contact, out);
        }),
        Event::ContactSndReady { contact } => with_user("contactSndReady", &|out| {
            out.raw(",\"contact\":");
            view.contact(*contact, out);
        }),
        Event::ContactConnected { contact } => with_user("contactConnected", &|out| {
            out.raw(",\"contact\":");
            view.contact(*contact, out);
            let shown = known.contacts.get(contact).and_then(|known| known.incognito.as_deref());
            if let Some(shown) = shown {
                out.raw(",\"userCustomProfile\":").raw(shown);
            }
        }),
        Event::ContactDeleted { contact } => with_user("contactDeletedByContact", &|out| {
            out.raw(",\"contact\":");
            view.contact(*contact, out);
        }),
        Event::GroupConnecting { group } => joining(view, "groupLinkConnecting", *group),
        Event::GroupJoined { group } => joining(view, "userJoinedGroup", *group),
        Event::GroupDeleted { group, by } => with_user("groupDeleted", &|out| {
            out.raw(",\"groupInfo\":");
            view.group(*group, out);
            out.raw(",\"member\":");
            view.member(*group, *by, out);
        }),
        Event::ContactUpdated { contact, before } => with_user("contactUpdated", &|out| {
            out.raw(",\"fromContact\":");
            view.contact_before(*contact, before, out);
            out.raw(",\"toContact\":");
            view.contact(*contact, out);
        }),
        Event::GroupUpdated { group, by, before } => with_user("groupUpdated", &|out| {
            out.raw(",\"fromGroup\":");
            view.group_before(*group, before, out);
            out.raw(",\"toGroup\":");
            view.group(*group, out);
            out.raw(",\"member_\":");
            view.member(*group, *by, out);
        }),
        Event::NotSent(errors) => to_text(|out| {
            out.raw("{\"type\":\"chatErrors\",\"chatErrors\":[");
            let mut before = "";
            for error in errors {
                out.raw(before);
                Refusal::from(*error).write(out);
                before = ",";
            }
            out.raw("]}");
        }),
        Event::Member { chat: crate::chat::Chat::Group(group), member, change, .. } => {
            let is_self = known.groups.get(group).is_some_and(|known| known.own == *member);
            let (kind, name) = match change {
                MemberChange::Joined => ("joinedGroupMember", "member"),
                MemberChange::Left => ("leftMember", "member"),
                MemberChange::Removed if is_self => ("deletedMemberUser", "member"),
                MemberChange::Removed => ("deletedMember", "deletedMember"),
            };
            with_user(kind, &|out| {
                out.raw(",\"groupInfo\":");
                view.group(*group, out);
                let owner = view.owner(*group).unwrap_or(*member);
                if *change == MemberChange::Removed {
                    out.raw(",\"withMessages\":false");
                    if !is_self {
                        out.raw(",\"byMember\":");
                        view.member(*group, owner, out);
                    }
                }
                out.raw(",").string(name).raw(":");
                view.member(*group, if is_self { owner } else { *member }, out);
            })
        }
        Event::Member { .. } | Event::ServiceResponse(_) | Event::ServiceFailed { .. } => {
            return None;
        }
    })
}

/// An event of a profile that joins a group by its link.
fn joining(view: View<'_>, kind: &str, group: GroupId) -> String {
    to_text(|out| {
        out.raw("{\"type\":").string(kind).raw(",\"user\":");
        view.user(out);
        out.raw(",\"groupInfo\":");
        view.group(group, out);
        if let Some(owner) = view.owner(group) {
            out.raw(",\"hostMember\":");
            view.member(group, owner, out);
        }
        out.raw("}");
    })
}

/// The response of a `/_service_request`.
pub(super) fn service_response(view: View<'_>, data: &str) -> String {
    to_text(|out| {
        out.raw("{\"type\":\"serviceResponse\",\"user\":");
        view.user(out);
        out.raw(",\"responseData\":").raw(data).raw("}");
    })
}

/// The error of a `/_service_request` that had no response.
pub(super) fn service_failure(failure: CoreFailure) -> String {
    to_text(|out| Refusal::from(failure).response(out))
}
