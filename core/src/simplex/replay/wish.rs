//! What the application must have wished for, by the command that came of it.

use alloc::string::String;
use alloc::vec::Vec;

use super::Replay;
use super::line::decoded;
use crate::binding::{Class, Standard};
use crate::chat::caller::{Call, To};
use crate::chat::command::Command as ChatCommand;
use crate::chat::{Chat, GroupMemberId, ItemId, MemberId};
use crate::json::{Object, Value};
use crate::rpc::{ErrorCode, RequestId, ServiceCall};
use crate::simplex::ServiceTarget;
use crate::simplex::command::grammar::{OPTION_SIGN_KEY, OPTION_TIMEOUT, SEND};
use crate::simplex::command::grammar::{SERVICE_REQUEST, SERVICE_RESPONSE};
use crate::simplex::command::{ChatRef, Command};
use core::time::Duration;

impl Replay {
    /// Wishes for what leads to this command, as far as that can be told. A reply and a call are
    /// the session's to make: where it makes none, nothing stands in for them.
    pub(super) fn wish(&mut self, command: &str) {
        let behind = |word: &str| command.strip_prefix(word)?.strip_prefix(' ');
        let is_known = if let Some(rest) = behind(SEND) {
            self.message(rest)
        } else if let Some(rest) = behind(SERVICE_RESPONSE) {
            self.response(rest)
        } else if let Some(rest) = behind(SERVICE_REQUEST) {
            self.request(rest)
        } else {
            None
        };
        if is_known.is_none() {
            // A command of the application's own, or something that a session does not send.
            let _ = self.session.command(self.now, &Command::Raw(command));
        }
    }

    /// A reply to an open request, or a call.
    fn message(&mut self, rest: &str) -> Option<()> {
        let (to, rest) = ChatRef::parse_prefix(rest).ok()?;
        let messages = Value::parse(rest.strip_prefix(" json ")?).ok()?;
        let mut messages = messages.elements()?;
        let (message, more) = (messages.next()?.as_object()?, messages.next());
        if more.is_some() {
            return None;
        }
        let content = message.object("msgContent").ok()??;
        let text = decoded(content.str("text").ok()??);
        match message.get("quotedItemId").ok()?.and_then(|item| item.as_integer()) {
            Some(item) => self.reply((to.chat, ItemId(item)), &text),
            None => {
                let command = ChatCommand::parse(&text).ok()?;
                let mentions = message.object("mentions").ok()?;
                // A call that is not made shows in what is not sent.
                let _ = self.call(to.chat, command, mentions);
            }
        }
        Some(())
    }

    fn reply(&mut self, key: (Chat, ItemId), text: &str) {
        let Some(token) = self.tokens.remove(&key) else { return };
        if self.session.classify(&token, text).is_some_and(|class: Class<'_>| class.is_last()) {
            // Whether it is taken shows in what is sent.
            let _ = self.session.respond(self.now, token, text);
        } else {
            let _ = self.session.notify(self.now, &token, text);
            self.tokens.insert(key, token);
        }
    }

    fn call(
        &mut self,
        chat: Chat,
        command: ChatCommand<'_>,
        mentions: Option<Object<'_>>,
    ) -> Option<()> {
        let binding = Standard::named(command.protocol())?;
        // The line feed that lets today's core see the mention is the session's.
        let request: String = command.request().replacen("{\n", "{", 1);
        let mentioned = mentions.iter().flat_map(Object::members).next();
        let name = mentioned.map(|(name, _)| decoded(name)).unwrap_or_default();
        let to = match (chat, mentioned) {
            (Chat::Direct(contact), _) => To::Contact(contact),
            (Chat::Group(group), None) => To::Everyone(group),
            (Chat::Group(group), Some((_, number))) => {
                let group_member = GroupMemberId(number.as_integer()?);
                let known: Option<&MemberId> = self.members.get(&(group, group_member));
                let member = *known?;
                To::Member { group, member, group_member, name: &name }
            }
        };
        self.session.call(self.now, &Call::new(binding, to, &request)).ok().map(drop)
    }

    fn response(&mut self, rest: &str) -> Option<()> {
        let mut words = rest.splitn(3, ' ');
        let (_, id, envelope) = (words.next()?, RequestId::new(words.next()?)?, words.next()?);
        let envelope = Object::parse(envelope).ok()?;
        if let Some(response) = envelope.get("response").ok()? {
            let _ = self.session.respond_service(self.now, &id, response.get());
            return Some(());
        }
        let error = envelope.object("error").ok()??;
        let code = ErrorCode::named(&decoded(error.str("code").ok()??));
        let message = error.str("message").ok()?.map(decoded);
        let retry = error.get("retryAfter").ok()?.and_then(|value| value.as_integer());
        let retry = retry.and_then(|seconds| u32::try_from(seconds).ok());
        let _ = self.session.fail_service_with(self.now, &id, code, message.as_deref(), retry);
        Some(())
    }

    fn request(&mut self, rest: &str) -> Option<()> {
        let at = rest.find('{')?;
        let (head, envelope) = rest.split_at_checked(at)?;
        let words: Vec<&str> = head.trim_end().split(' ').collect();
        let [_, target, options @ ..] = words.as_slice() else { return None };
        let envelope = Object::parse(envelope).ok()?;
        let protocol = decoded(envelope.str("protocol").ok()??);
        let binding = [Standard::MCP, Standard::A2A]
            .into_iter()
            .find(|binding| crate::binding::Binding::name(binding).get() == protocol)?;
        let request = envelope.get("request").ok()??;
        let key = envelope.str("requestKey").ok()?.map(decoded);
        let mut call = ServiceCall::new(binding, request.get());
        let mut target = ServiceTarget::new(*target);
        for option in options {
            if let Some(seconds) = option.strip_prefix(OPTION_TIMEOUT) {
                call = call.timeout(Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?);
            } else if let Some(secret) = option.strip_prefix(OPTION_SIGN_KEY) {
                target = target.signed_with(secret);
            }
        }
        call.request_key = key.as_deref();
        self.session.request(self.now, target, &call).ok().map(drop)
    }
}
