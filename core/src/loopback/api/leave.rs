//! What ends: memberships, contacts, groups, connections that wait; and the links of groups.

use super::command::GroupLinkWish;
use super::item::truth;
use super::meet::pending_invitation;
use super::refusal::Refusal;
use super::run::{Done, Run, created_link};
use crate::chat::{Chat, GroupId};
use crate::json::to_text;
use crate::loopback::{ChatDeletion, GroupRef, InvitationId, SendError};

impl Run<'_> {
    /// The group of all members that is this one here, for one who is a member.
    fn membership(&self, group: GroupId) -> Result<GroupRef, Refusal> {
        let membership = self.view().known().and_then(|known| known.groups.get(&group));
        let membership = membership.ok_or(SendError::GroupNotFound { group })?;
        if !membership.active {
            return Err(SendError::MemberLeft { group }.into());
        }
        Ok(membership.group)
    }

    pub(super) fn leave(&mut self, group: GroupId) -> Done {
        let at = self.membership(group)?;
        self.net.handle_timeout(self.now);
        let left = self.net.leave(at, self.profile);
        left.map_err(|_| SendError::MemberLeft { group })?;
        Ok(self.response("leftMemberUser", |view, out| {
            out.raw(",\"groupInfo\":");
            view.group(group, out);
        }))
    }

    /// A contact is shown as it was, or as it is now where it stays.
    pub(super) fn delete_chat(&mut self, chat: Chat, what: ChatDeletion, notify: bool) -> Done {
        self.check_chat(chat)?;
        let (now, profile) = (self.now, self.profile);
        match chat {
            Chat::Direct(contact) => {
                let before = to_text(|out| self.view().contact(contact, out));
                let deleted = self.net.delete_contact(now, profile, contact, what, notify);
                deleted.map_err(|error| self.not_sent(error))?;
                Ok(self.response("contactDeleted", |view, out| {
                    out.raw(",\"contact\":");
                    if what == ChatDeletion::Full {
                        out.raw(&before);
                    } else {
                        view.contact(contact, out);
                    }
                }))
            }
            Chat::Group(group) => {
                let before = to_text(|out| self.view().group(group, out));
                let was_active = self.membership(group).is_ok();
                let deleted = self.net.delete_group(now, profile, group, what, notify);
                deleted.map_err(|error| self.not_sent(error))?;
                let is_local = !was_active || what == ChatDeletion::Messages;
                Ok(self.response("groupDeletedUser", |_, out| {
                    out.raw(",\"groupInfo\":").raw(&before).raw(",\"msgSigned\":false");
                    out.raw(",\"localDeletion\":").raw(truth(is_local));
                }))
            }
        }
    }

    pub(super) fn delete_connection(&mut self, connection: i64) -> Done {
        let invitation = InvitationId(connection);
        let shown = to_text(|out| pending_invitation(&self.view(), invitation, out));
        if !self.net.delete_invitation(self.profile, invitation) {
            let unknown = "pendingConnectionNotFound";
            return Err(Refusal::StoreNumber(unknown, "connId", connection));
        }
        Ok(self.response("contactConnectionDeleted", |_, out| {
            out.raw(",\"connection\":").raw(&shown);
        }))
    }

    /// Links are the owner's to make, to show and to delete.
    pub(super) fn group_link(&mut self, group: GroupId, wish: GroupLinkWish) -> Done {
        let at = self.membership(group)?;
        let view = self.view();
        let own = view.known().and_then(|known| known.groups.get(&group)).map(|known| known.own);
        if view.owner(group) != own {
            return Err(self.not_sent(SendError::Role { group, required: "admin" }));
        }
        let has_link = self.net.group_links(at).is_some();
        let refuse = |kind| Err(Refusal::StoreGroup(kind, to_text(|out| view.group(group, out))));
        match (wish, has_link) {
            (GroupLinkWish::Create, true) => return refuse("duplicateGroupLink"),
            (GroupLinkWish::Show | GroupLinkWish::Delete, false) => {
                return refuse("groupLinkNotFound");
            }
            (GroupLinkWish::Create, false) => {
                // The group is there: the profile is in it.
                let _ = self.net.create_group_link(at);
            }
            (GroupLinkWish::Delete, true) => {
                self.net.delete_group_link(at);
                return Ok(self.response("groupLinkDeleted", |view, out| {
                    out.raw(",\"groupInfo\":");
                    view.group(group, out);
                }));
            }
            (GroupLinkWish::Show, true) => {}
        }
        let kind = match wish {
            GroupLinkWish::Create => "groupLinkCreated",
            _ => "groupLink",
        };
        Ok(self.response(kind, |view, out| {
            out.raw(",\"groupInfo\":");
            view.group(group, out);
            out.raw(",\"groupLink\":{\"userContactLinkId\":2,\"connLinkContact\":");
            created_link(view.net.group_links(at), out);
            out.raw(",\"shortLinkDataSet\":true,\"shortLinkLargeDataSet\":true");
            out.raw(",\"groupLinkId\":").string(view.net.group_link_id(at).unwrap_or_default());
            out.raw(",\"acceptMemberRole\":\"member\"}");
        }))
    }
}
