//! What the core shows of an item: `AChatItem` and what is in it.
//!
//! Source of the shapes: frames of core 7.0.0 and simplex-chat `Messages.hs`; members that those
//! frames do not show are from `bots/api/TYPES.md`.

use alloc::string::String;

use crate::chat::{Chat, Sender};
use crate::json::{Writer, to_text};
use crate::loopback::event::{ItemStatus, Quote, QuoteDirection, ReceivedItem, SupportChat};
use crate::loopback::mention::{self, Style};
use crate::loopback::profile::Stored;

use super::view::View;

/// How far an own item has come: the core's `CIStatus` of sent items.
#[derive(Clone, Copy, Debug)]
pub(super) enum Status {
    /// It was only just taken.
    New,
    /// As the database has it.
    Stored,
    /// As an event says.
    At(ItemStatus),
}

impl View<'_> {
    /// The core's `ChatInfo`.
    pub(super) fn chat_info(&self, chat: Chat, support: Option<SupportChat>, out: &mut Writer<'_>) {
        match chat {
            Chat::Direct(contact) => {
                out.raw("{\"type\":\"direct\",\"contact\":");
                self.contact(contact, out);
            }
            Chat::Group(group) => {
                out.raw("{\"type\":\"group\",\"groupInfo\":");
                self.group(group, out);
                if let Some(support) = support {
                    out.raw(",\"groupChatScope\":{\"type\":\"memberSupport\"");
                    if let SupportChat::Of { member } = support {
                        out.raw(",\"groupMember_\":");
                        self.member(group, member, out);
                    }
                    out.raw("}");
                }
            }
        }
        out.raw("}");
    }

    /// The core's `AChatItem` of an item in the database.
    pub(super) fn item(&self, stored: &Stored, status: Status, out: &mut Writer<'_>) {
        out.raw("{\"chatInfo\":");
        self.chat_info(stored.body.chat, stored.body.support, out);
        out.raw(",\"chatItem\":");
        self.chat_item(stored, status, out);
        out.raw("}");
    }

    /// An item as an event reports it, with the text that it had then.
    pub(super) fn reported(&self, body: &ReceivedItem, out: &mut Writer<'_>) {
        out.raw("{\"chatInfo\":");
        self.chat_info(body.chat, body.support, out);
        out.raw(",\"chatItem\":");
        self.body(body, None, false, out);
        out.raw("}");
    }

    /// An item that is no longer in the database.
    pub(super) fn expired(&self, body: &ReceivedItem, is_own: bool, out: &mut Writer<'_>) {
        out.raw("{\"chatInfo\":");
        self.chat_info(body.chat, body.support, out);
        out.raw(",\"chatItem\":");
        self.body(body, is_own.then_some(Some(ItemStatus::Sent)), false, out);
        out.raw("}");
    }

    /// The core's `ChatItem`.
    pub(super) fn chat_item(&self, stored: &Stored, status: Status, out: &mut Writer<'_>) {
        let at = match status {
            Status::New => None,
            Status::At(status) => Some(status),
            Status::Stored if stored.unreceived == 0 => Some(ItemStatus::Received),
            Status::Stored => Some(ItemStatus::Sent),
        };
        self.body(&stored.body, stored.own.then_some(at), stored.deleted, out);
    }

    /// `own` is there for an own item and says how far it has come.
    fn body(
        &self,
        body: &ReceivedItem,
        own: Option<Option<ItemStatus>>,
        is_deleted: bool,
        out: &mut Writer<'_>,
    ) {
        let markdown = mention::parse(&body.text);
        out.raw("{\"chatDir\":");
        self.direction(body.chat, body.sender, own.is_some(), out);
        out.raw(",\"meta\":{\"itemId\":").int(body.item.0);
        out.raw(",\"itemTs\":").string(&body.item_ts).raw(",\"itemText\":").string(&body.text);
        out.raw(",\"itemStatus\":").raw(match own {
            None => "{\"type\":\"rcvNew\"}",
            Some(None) => "{\"type\":\"sndNew\"}",
            Some(Some(ItemStatus::Sent)) => "{\"type\":\"sndSent\",\"sndProgress\":\"complete\"}",
            Some(Some(ItemStatus::Received)) => {
                "{\"type\":\"sndRcvd\",\"msgRcptStatus\":\"ok\",\"sndProgress\":\"complete\"}"
            }
        });
        out.raw(",\"itemSharedMsgId\":").string(body.shared_msg_id.get());
        if is_deleted {
            let chat = if body.chat.is_group() { "group" } else { "direct" };
            out.raw(",\"itemDeleted\":{\"type\":\"deleted\",\"chatType\":").string(chat).raw("}");
        }
        out.raw(",\"itemEdited\":").raw(truth(body.edited));
        if let Some(ttl) = body.ttl {
            out.raw(",\"itemTimed\":{\"ttl\":").int(i64::from(ttl)).raw("}");
        }
        if body.live {
            out.raw(",\"itemLive\":true");
        }
        let is_link = |style| matches!(style, Some(Style::Link(_) | Style::Uri));
        let has_link = markdown.pieces.iter().any(|piece| is_link(piece.style));
        let own_truth = truth(own.is_some());
        out.raw(",\"userMention\":").raw(truth(body.user_mention));
        out.raw(",\"hasLink\":").raw(truth(has_link));
        out.raw(",\"deletable\":").raw(own_truth).raw(",\"editable\":").raw(own_truth);
        let as_group = own.is_some() && body.sender == Sender::Channel;
        out.raw(",\"showGroupAsSender\":").raw(truth(as_group));
        out.raw(",\"createdAt\":").string(&body.item_ts);
        out.raw(",\"updatedAt\":").string(&body.item_ts).raw("},\"content\":{\"type\":");
        out.string(if own.is_some() { "sndMsgContent" } else { "rcvMsgContent" });
        out.raw(",\"msgContent\":");
        content(&body.text, out);
        out.raw("},\"mentions\":");
        self.mentions(body, out);
        formatted_text(&markdown, out);
        if let Some(quote) = &body.quote {
            out.raw(",\"quotedItem\":");
            self.quote(body.chat, quote, out);
        }
        out.raw(",\"reactions\":[]}");
    }

    /// The core's `CIDirection`.
    fn direction(&self, chat: Chat, sender: Sender, is_own: bool, out: &mut Writer<'_>) {
        match (chat, sender) {
            (Chat::Direct(_), _) if is_own => out.raw("{\"type\":\"directSnd\"}"),
            (Chat::Direct(_), _) => out.raw("{\"type\":\"directRcv\"}"),
            (Chat::Group(_), _) if is_own => out.raw("{\"type\":\"groupSnd\"}"),
            (Chat::Group(group), Sender::Member(member)) => {
                out.raw("{\"type\":\"groupRcv\",\"groupMember\":");
                self.member(group, member, out);
                out.raw("}")
            }
            (Chat::Group(_), _) => out.raw("{\"type\":\"channelRcv\"}"),
        };
    }

    /// The map of mentions: each has the member's id, and what the database knows of the member.
    fn mentions(&self, body: &ReceivedItem, out: &mut Writer<'_>) {
        let membership = match body.chat {
            Chat::Group(group) => self.known().and_then(|known| known.groups.get(&group)),
            Chat::Direct(_) => None,
        };
        let mut before = "{";
        for found in &body.mentions {
            out.raw(before).string(&found.name).raw(":{\"memberId\":").string(found.member.get());
            let known = membership.and_then(|known| known.members.get(&found.member));
            if let (Some(number), Some(known), Chat::Group(group)) =
                (found.group_member_id, known, body.chat)
            {
                out.raw(",\"memberRef\":{\"groupMemberId\":").int(number.0);
                out.raw(",\"displayName\":").string(&known.local_name).raw(",\"memberRole\":");
                out.string(self.role(group, found.member)).raw("}");
            }
            out.raw("}");
            before = ",";
        }
        out.raw(if body.mentions.is_empty() { "{}" } else { "}" });
    }

    /// The core's `CIQuote`: what stands in it is the whole text, as the one who quotes gave it.
    fn quote(&self, chat: Chat, quote: &Quote, out: &mut Writer<'_>) {
        out.raw("{");
        match (quote.direction, chat) {
            (QuoteDirection::DirectSnd, _) => {
                out.raw("\"chatDir\":{\"type\":\"directSnd\"},");
            }
            (QuoteDirection::DirectRcv, _) => {
                out.raw("\"chatDir\":{\"type\":\"directRcv\"},");
            }
            (QuoteDirection::GroupSnd, _) => {
                out.raw("\"chatDir\":{\"type\":\"groupSnd\"},");
            }
            (QuoteDirection::GroupRcv { member: Some(member) }, Chat::Group(group)) => {
                out.raw("\"chatDir\":{\"type\":\"groupRcv\",\"groupMember\":");
                self.member(group, member, out);
                out.raw("},");
            }
            _ => {}
        }
        if let Some(item) = quote.item {
            out.raw("\"itemId\":").int(item.0).raw(",");
        }
        out.raw("\"sharedMsgId\":").string(quote.shared_msg_id.get());
        out.raw(",\"sentAt\":").string(&quote.sent_at).raw(",\"content\":");
        content(&quote.text, out);
        formatted_text(&mention::parse(&quote.text), out);
        out.raw("}");
    }
}

/// `MsgContent` of a text.
fn content(text: &str, out: &mut Writer<'_>) {
    out.raw("{\"type\":\"text\",\"text\":").string(text).raw("}");
}

/// The member `formattedText`, which is absent where nothing has a format.
fn formatted_text(markdown: &mention::Markdown<'_>, out: &mut Writer<'_>) {
    if !markdown.formatted {
        return;
    }
    let mut before = ",\"formattedText\":[{";
    for piece in &markdown.pieces {
        out.raw(before);
        if let Some(style) = piece.style {
            format(style, out);
        }
        out.raw("\"text\":").string(piece.text).raw("}");
        before = ",{";
    }
    out.raw("]");
}

/// The member `format` with its comma.
fn format(style: Style<'_>, out: &mut Writer<'_>) {
    let (name, member, value) = match style {
        Style::Bold => ("bold", "", ""),
        Style::Italic => ("italic", "", ""),
        Style::StrikeThrough => ("strikeThrough", "", ""),
        Style::Snippet => ("snippet", "", ""),
        Style::Secret => ("secret", "", ""),
        Style::Coloured(letter) => ("colored", "color", colour(letter)),
        Style::Link(address) => ("hyperLink", "linkUri", address),
        Style::Uri => ("uri", "", ""),
        Style::Email => ("email", "", ""),
        Style::Phone => ("phone", "", ""),
        Style::Command(command) => ("command", "commandStr", command),
        Style::Mention(name) => ("mention", "memberName", name),
        Style::Name => return,
    };
    out.raw("\"format\":{\"type\":").string(name);
    if !member.is_empty() {
        out.raw(",").string(member).raw(":").string(value);
    }
    out.raw("},");
}

/// simplex-chat `Markdown.hs`, `colors` and `colorP`.
fn colour(mark: &str) -> &'static str {
    match mark {
        "r" | "1" => "red",
        "g" | "2" => "green",
        "b" | "3" => "blue",
        "y" | "4" => "yellow",
        "c" | "5" => "cyan",
        _ => "magenta",
    }
}

pub(super) const fn truth(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// One item in a text of its own, to be shown when the database has changed.
pub(super) fn before_change(view: View<'_>, stored: &Stored) -> String {
    to_text(|out| view.item(stored, Status::Stored, out))
}
