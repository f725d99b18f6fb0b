//! Notifications on their way to the call that they are about.

use alloc::string::String;

use super::output::count;
use super::text::{own_key_of, push_compact, push_replaced};
use super::{Bridge, CallId, Output, Purpose, Via, server};
use crate::jsonrpc::Notification;
use crate::mcp::{META_SUBSCRIPTION, Method, Notice, PROGRESS_TOKEN, Tie, Way};
use crate::time::Instant;

impl Bridge {
    pub(super) fn notify(
        &mut self,
        now: Instant,
        exchange: Option<u64>,
        notification: &Notification<'_>,
    ) {
        let Ok(notice) = Notice::of(notification, Way::FromServer) else {
            return count(&mut self.dropped.malformed);
        };
        self.lists.changed(notice.method);
        let key = match notice.tie {
            Tie::Progress(id) | Tie::Subscription(id) | Tie::Request(id) => {
                let key = own_key_of(id);
                key.filter(|key| exchange.is_none_or(|exchange| exchange == *key))
            }
            Tie::Stream => exchange.or_else(|| self.alone(now)),
            Tie::None => return count(&mut self.dropped.unattributed),
        };
        let Some(key) = key else {
            let is_stream = matches!(notice.tie, Tie::Stream);
            return count(if is_stream {
                &mut self.dropped.unattributed
            } else {
                &mut self.dropped.unknown
            });
        };
        let call = match self.exchanges.get(&key) {
            Some(Purpose::Call(call)) => *call,
            Some(_) => return count(&mut self.dropped.unasked),
            None => {
                let is_late = key != 0 && key < self.next_exchange;
                return count(if is_late {
                    &mut self.dropped.late
                } else {
                    &mut self.dropped.unknown
                });
            }
        };
        self.pass_notice(now, key, call, notification, &notice);
    }

    /// The exchange that a message without a name can only be about.
    fn alone(&self, now: Instant) -> Option<u64> {
        let only = self.exchanges.keys().next().copied();
        only.filter(|_| self.exchanges.len() == 1 && now >= self.quiet_until)
    }

    fn pass_notice(
        &mut self,
        now: Instant,
        key: u64,
        call: CallId,
        notification: &Notification<'_>,
        notice: &Notice<'_>,
    ) {
        let Some(method) = self.calls.get(&call).map(|entry| entry.asked.method) else { return };
        let idle = self.idle(method);
        let Some(entry) = self.calls.get_mut(&call) else { return };
        let is_listen = entry.asked.method == Method::Listen;
        let path: &[&str] = match notice.tie {
            Tie::Progress(_) => &[PROGRESS_TOKEN],
            Tie::Subscription(_) => &["_meta", META_SUBSCRIPTION],
            _ => &[],
        };
        let own = match notice.tie {
            Tie::Progress(_) => entry.token.as_deref(),
            Tie::Subscription(_) => is_listen.then_some(&*entry.id),
            Tie::Stream => entry.asked.logs.then_some(""),
            // The subscription has ended, and this is how its server says so.
            Tie::Request(_) if is_listen => {
                let text = server::unsubscribed(&entry.id);
                self.exchanges.remove(&key);
                return self.finish(call, text);
            }
            Tie::Request(_) | Tie::None => None,
        };
        let Some(own) = own.filter(|_| entry.via == Via::Conversation) else {
            // Progress that cannot be shown is a sign of life all the same.
            entry.idle_until = now.saturating_add(idle);
            return count(&mut self.dropped.unasked);
        };
        if entry.progress.advance(notice).is_err() {
            return count(&mut self.dropped.malformed);
        }
        entry.idle_until = now.saturating_add(idle);
        let mut text = String::from("{\"jsonrpc\":\"2.0\",\"method\":");
        text.push_str(notification.method.get());
        if let Some(params) = notification.params {
            text.push_str(",\"params\":");
            if path.is_empty() {
                push_compact(&mut text, params.get());
            } else {
                push_replaced(&mut text, params, path, own);
            }
        }
        text.push('}');
        if entry.room.fits(&text) {
            self.outputs.push_back(Output::Notification { call, text });
        } else {
            count(&mut self.dropped.overlong);
        }
    }
}
