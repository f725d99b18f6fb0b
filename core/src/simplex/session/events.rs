//! What the core tells by itself.

use super::Session;
use super::output::{Event, Garbage, Link, Output, OwnedFrame};
use crate::binding::Binding;
use crate::chat::session::Input;
use crate::chat::size::MAX_RECEIVE_MENTIONS;
use crate::chat::{Item, Mention};
use crate::rpc::session::ServiceInput;
use crate::simplex::frame::{
    Body, ChatItem, Frame, GroupChangeKind, ItemError, ItemStatus, ServiceRequest,
};
use alloc::string::String;

impl<B: Binding> Session<B> {
    /// An event, from either connection: each is told to one of them.
    pub(super) fn event(&mut self, link: Link, text: &str, frame: &Frame<'_>) {
        match frame.body() {
            Ok(Body::NewChatItems(items)) => {
                for item in items {
                    match item {
                        Ok(item) if item.direction.is_own() => self.own_item(&item),
                        Ok(item) => self.item(&item, false),
                        Err(error) => self.garbled(link, Garbage::Shape(error)),
                    }
                }
            }
            Ok(Body::ChatItemUpdated(item)) => {
                if item.direction.is_own() {
                    self.own_item(&item);
                } else {
                    // One whose beginning was missed is a new one.
                    let is_known = self.chats.has_seen(item.id);
                    self.item(&item, is_known);
                }
            }
            Ok(Body::ChatItemsStatusesUpdated(items)) => {
                for item in items.flatten() {
                    self.status(&item);
                }
            }
            Ok(Body::ServiceRequest(request)) => self.service_request(&request),
            Ok(Body::Error(error)) => {
                self.outputs.push_back(Output::Event(Event::CoreError(error.into())));
            }
            Ok(Body::Errors(errors)) => {
                for error in errors {
                    self.outputs.push_back(Output::Event(Event::CoreError(error.into())));
                }
            }
            Ok(Body::Group(change)) => {
                let keeps_names =
                    matches!(change.kind, GroupChangeKind::MemberRole | GroupChangeKind::Updated);
                if !keeps_names {
                    self.names.forget(change.group.id);
                }
                self.tell(text);
            }
            Ok(Body::ChatItemsDeleted(items)) => {
                for item in items.flatten().filter(|item| item.direction.is_own()) {
                    // What is gone was there: it may be a message that may have been sent.
                    self.found(&item);
                }
            }
            // What an own command led to is known from its answer.
            Ok(Body::ChatItemNotChanged(_) | Body::ServiceReplySent(_) | Body::CmdOk) => {}
            Ok(_) => self.tell(text),
            Err(error) => self.garbled(link, Garbage::Shape(error)),
        }
    }

    /// Something that is the application's to know.
    fn tell(&mut self, text: &str) {
        if let Ok(frame) = OwnedFrame::new(text) {
            self.outputs.push_back(Output::Event(Event::Core(frame)));
        }
    }

    pub(super) fn garbled(&mut self, link: Link, error: Garbage) {
        self.outputs.push_back(Output::Event(Event::Garbage { link, error }));
    }

    fn status(&mut self, item: &ChatItem<'_>) {
        if !item.direction.is_own() {
            return;
        }
        self.own_item(item);
        if let (Some(chat), ItemStatus::SendError) = (item.chat, item.status) {
            let event = Event::Undelivered { chat, item: item.id };
            self.outputs.push_back(Output::Event(event));
        }
    }

    /// Somebody else's item, or a new text of one.
    pub(super) fn item(&mut self, item: &ChatItem<'_>, is_edit: bool) {
        if !is_edit && self.chats.has_seen(item.id) {
            // The core tells it again.
            return;
        }
        let needed = item.decode_len();
        let mut scratch = core::mem::take(&mut self.scratch);
        if scratch.len() < needed {
            scratch.resize(needed, 0);
        }
        {
            let mut mentions = [Mention::new("", ""); MAX_RECEIVE_MENTIONS];
            match item.decode(&mut scratch, &mut mentions) {
                Ok(mut taken) => {
                    taken.edited = is_edit;
                    if self.name(&mut taken) {
                        self.hand_in(&taken);
                    } else {
                        // It waits here, and is handed in later.
                        self.chats.see(taken.chat, taken.id);
                    }
                }
                Err(ItemError::Skipped(_)) => {
                    if let Some(chat) = item.chat {
                        self.chats.see(chat, item.id);
                    }
                }
                Err(error) => self.garbled(Link::Chat, Garbage::Item(error)),
            }
        }
        self.scratch = scratch;
    }

    /// Hands an item to the machines. What there is no room for is read again later.
    pub(super) fn hand_in(&mut self, item: &Item<'_>) {
        if self.is_repeated(item) {
            self.chats.see(item.chat, item.id);
            return;
        }
        match self.chat.handle_input(self.now, Input::Item(item)) {
            Ok(()) => self.chats.see(item.chat, item.id),
            Err(_) => self.look_later(item.chat, item.id),
        }
        self.pump_of(Some(item));
    }

    fn service_request(&mut self, request: &ServiceRequest<'_>) {
        let request_id: String = request.id.chars().collect();
        let signer_key: Option<String> = request.signer_key.map(|key| key.chars().collect());
        let input = ServiceInput::Request {
            request_id: &request_id,
            signer_key: signer_key.as_deref(),
            text: request.data.get_text(),
        };
        // Its outputs have been taken, so there is room.
        let _ = self.service.handle_input(self.now, input);
        self.pump();
    }
}
