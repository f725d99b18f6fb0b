//! Lists on their way: asked for, collected, given out in pages.

use alloc::boxed::Box;
use alloc::string::String;

use super::list::{Collected, Fetch, List, NoPage, asked_for};
use super::text::{comma, push_compact, push_name};
use super::{Bridge, Call, CallId, Problem, Purpose, Stage, legacy};
use crate::json::{Object, Value};
use crate::jsonrpc::Request;
use crate::mcp::{Method, PROGRESS_TOKEN};
use crate::time::Instant;

impl Bridge {
    /// Answers with a page of a list, or asks the server for the list.
    pub(super) fn list(&mut self, now: Instant, call: CallId, params: Object<'_>) {
        let Some(entry) = self.calls.get(&call) else { return };
        let (mut key, mut cursor) = asked_for(entry.asked.method, entry.asked.revision, params);
        if key.method == Method::CallTool {
            // The call waits for the list of tools, whole and as it is now.
            (key.method, key.rest, cursor) = (Method::ListTools, Box::default(), None);
        }
        let caller = entry.caller;
        if let Some(list) = self.lists.find(&key, caller, cursor, now) {
            return self.page(now, call, &list);
        }
        let running =
            self.fetches.iter_mut().find(|(_, fetch)| fetch.caller == caller && fetch.key == key);
        if let Some((list, fetch)) = running {
            fetch.waiters.push(call);
            let list = *list;
            if let Some(entry) = self.calls.get_mut(&call) {
                entry.stage = Stage::Listing(list);
            }
            return;
        }
        let mut base = String::from("{");
        let mut is_first = true;
        let is_call = self.calls.get(&call).is_some_and(Call::is_tool_call);
        for (name, value) in params.members() {
            if name == *"cursor" || is_call && name != *"_meta" {
                continue;
            }
            push_name(&mut base, &mut is_first, name.get());
            match value.as_object().filter(|_| name == *"_meta") {
                Some(meta) => {
                    base.push('{');
                    let mut is_first = true;
                    for (name, value) in meta.members().filter(|(name, _)| *name != *PROGRESS_TOKEN)
                    {
                        push_name(&mut base, &mut is_first, name.get());
                        push_compact(&mut base, value.get());
                    }
                    base.push('}');
                }
                None => push_compact(&mut base, value.get()),
            }
        }
        base.push('}');
        let list = self.next_exchange;
        let exchange = self.exchange(Purpose::List(list));
        let fetch = Fetch::new(key, caller, exchange, base.into(), call);
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.stage = Stage::Listing(list);
        }
        self.ask_page(exchange, &fetch, None);
        self.fetches.insert(list, fetch);
    }

    /// Asks for a page of the server.
    fn ask_page(&mut self, exchange: u64, fetch: &Fetch, cursor: Option<&str>) {
        let mut text = alloc::format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{exchange},\"method\":\"{}\",\"params\":",
            fetch.key.method.name().unwrap_or_default()
        );
        let mut params = String::from("{");
        let mut is_first = true;
        if let Some(cursor) = cursor {
            push_name(&mut params, &mut is_first, "\"cursor\"");
            params.push_str(cursor);
        }
        let members = fetch.params.trim_start_matches('{').len();
        if members > 1 {
            comma(&mut params, &mut is_first);
        }
        params.push_str(fetch.params.get(1..).unwrap_or("}"));
        match Object::parse(&params) {
            Ok(params) if self.server.is_legacy => legacy::push_params(&mut text, params, exchange),
            _ => text.push_str(&params),
        }
        text.push('}');
        self.send(Some(exchange), fetch.key.method, text);
    }

    /// Takes a page of the server.
    pub(super) fn collect(&mut self, now: Instant, list: u64, result: Value<'_>) {
        let limit = self.config.max_list;
        let Some(fetch) = self.fetches.get_mut(&list) else { return };
        let collected = match result.as_object() {
            Some(page) => fetch.collect(page, limit, self.config.http),
            None => Collected::Invalid,
        };
        match collected {
            Collected::More(cursor) => {
                let waiters = fetch.waiters.clone();
                for waiter in waiters {
                    self.touch(now, waiter);
                }
                let exchange = self.exchange(Purpose::List(list));
                if let Some(mut fetch) = self.fetches.remove(&list) {
                    fetch.exchange = exchange;
                    self.ask_page(exchange, &fetch, Some(&cursor));
                    self.fetches.insert(list, fetch);
                }
            }
            Collected::All => {
                let Some(fetch) = self.fetches.remove(&list) else { return };
                let (key, caller, waiters, list) = fetch.into_list(now);
                let list = self.lists.keep(key, caller, list, self.config.max_kept);
                for waiter in waiters {
                    self.page(now, waiter, &list);
                }
            }
            Collected::TooLarge { needed } => {
                self.fail_list(list, || Problem::TooLarge { needed, limit });
            }
            Collected::Invalid => self.fail_list(list, || Problem::InvalidAnswer(None)),
        }
    }

    /// Answers a call with a page.
    fn page(&mut self, now: Instant, call: CallId, list: &List) {
        let Some(entry) = self.calls.get(&call) else { return };
        if entry.is_tool_call() {
            return self.pass_on(call);
        }
        let request = entry.request.clone();
        let params = Request::parse(&request).ok();
        let params = params.and_then(|request| request.params?.as_object());
        let cursor = params.and_then(|params| params.str("cursor").ok().flatten());
        match list.page(&entry.id, cursor, &entry.room, now) {
            Ok(text) => self.finish(call, text),
            Err(NoPage::BadCursor) => self.fail(call, Problem::BadCursor),
            Err(NoPage::TooLarge { needed }) => {
                let limit = entry.room.limit;
                self.fail(call, Problem::TooLarge { needed, limit });
            }
        }
    }
}
