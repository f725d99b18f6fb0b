//! Lists, in pages that fit whatever pages the server makes (MCP 2026-07-28, server, Pagination and
//! Caching).
//!
//! All pages of a list are collected from the server and given out anew, each as long as the caller's
//! room allows. A cursor of ours is the place where the page begins and a print of the whole list, so
//! that it is known to belong to a list that has changed since. An entry that fits in no page is left
//! out, and the page says how many were ([`META_OMITTED`]).

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::complete::push_caching;
use super::config::Room;
use super::text::{at, comma, push_compact, push_name};
use super::{CallId, CallerId};
use crate::json::{Object, Str};
use crate::mcp::http::{PARAM_PREFIX, params, write_value};
use crate::mcp::{Caching, Method, Revision, Scope};
use crate::time::Instant;

/// The `_meta` key of a tool whose calls need a conversation: `true` marks it.
pub const META_CONVERSATION: &str = "agentwire/conversation";
/// The `_meta` key of a page that says how many entries fitted in no page and were left out.
pub const META_OMITTED: &str = "agentwire/omitted";
/// Pages of the server that one list may have.
pub const MAX_LIST_PAGES: usize = 1_000;
/// Lists that are kept.
pub const MAX_KEPT_LISTS: usize = 64;
/// Tools whose mark is remembered.
pub const MAX_MARKED_TOOLS: usize = 1_024;
/// How long a list is kept for the pages after the first, whatever its time to live.
pub const PAGING_TIME: Duration = Duration::from_secs(60);

/// Which list: what a result depends on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ListKey {
    pub(super) method: Method,
    pub(super) revision: Revision,
    /// The parameters besides the envelope and the cursor.
    pub(super) rest: Box<str>,
}

/// The list that a request asks for, and the cursor in it.
pub(super) fn asked_for<'a>(
    method: Method,
    revision: Revision,
    params: Object<'a>,
) -> (ListKey, Option<Str<'a>>) {
    let mut rest = String::new();
    let mut is_first = true;
    let mut cursor = None;
    for (name, value) in params.members() {
        if name == *"cursor" {
            cursor = value.as_str();
        } else if name != *"_meta" {
            push_name(&mut rest, &mut is_first, name.get());
            push_compact(&mut rest, value.get());
        }
    }
    (ListKey { method, revision, rest: rest.into() }, cursor)
}

/// A whole list.
#[derive(Debug)]
pub(super) struct List {
    member: &'static str,
    items: Vec<Box<str>>,
    /// The other members of the server's first page, as JSON text.
    extra: Box<str>,
    bytes: usize,
    print: u64,
    caching: Caching,
    made_at: Instant,
}

/// A list that is being collected.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) key: ListKey,
    pub(super) caller: CallerId,
    /// The exchange in which the next page comes.
    pub(super) exchange: u64,
    /// The parameters of the first request, without cursor and token.
    pub(super) params: Box<str>,
    pub(super) waiters: Vec<CallId>,
    items: Vec<Box<str>>,
    extra: Box<str>,
    bytes: usize,
    pages: usize,
    caching: Option<Caching>,
}

/// What a page has brought.
pub(super) enum Collected {
    /// There is another page, behind this cursor (JSON text).
    More(String),
    /// That was the last one.
    All,
    /// The list has more than [`MAX_LIST_PAGES`] pages, or more bytes than it may have.
    TooLarge { needed: usize },
    /// There is no list in it.
    Invalid,
}

impl Fetch {
    pub(super) fn new(
        key: ListKey,
        caller: CallerId,
        exchange: u64,
        params: Box<str>,
        waiter: CallId,
    ) -> Self {
        Self {
            key,
            caller,
            exchange,
            params,
            waiters: alloc::vec![waiter],
            items: Vec::new(),
            extra: Box::default(),
            bytes: 0,
            pages: 0,
            caching: None,
        }
    }

    /// Takes a page of the server. Tools that ask for headers that there cannot be are left out, where
    /// those are `followed`.
    pub(super) fn collect(&mut self, page: Object<'_>, limit: usize, followed: bool) -> Collected {
        let Some(member) = self.key.method.list() else { return Collected::Invalid };
        let Some(items) = page.get(member).ok().flatten().and_then(|items| items.elements()) else {
            return Collected::Invalid;
        };
        let is_tool = followed && self.key.method == Method::ListTools;
        for item in items {
            let schema =
                item.as_object().and_then(|tool| tool.object("inputSchema").ok().flatten());
            if is_tool && schema.is_some_and(|schema| params(schema, None, &mut |_, _| {}).is_err())
            {
                continue;
            }
            let mut text = String::new();
            push_compact(&mut text, item.get());
            self.bytes = self.bytes.saturating_add(text.len());
            self.items.push(text.into());
            if self.bytes > limit {
                return Collected::TooLarge { needed: self.bytes };
            }
        }
        let caching = Caching::of(page);
        self.caching = Some(match self.caching {
            None => {
                self.extra = extra(page, member).into();
                caching
            }
            // All pages have one scope; the list is as fresh as its oldest page.
            Some(first) => Caching {
                ttl: first.ttl.min(caching.ttl),
                scope: if first.scope == caching.scope { first.scope } else { Scope::Private },
            },
        });
        self.pages = self.pages.saturating_add(1);
        match page.get("nextCursor").ok().flatten().and_then(|cursor| cursor.as_str()) {
            None => Collected::All,
            Some(_) if self.pages >= MAX_LIST_PAGES => Collected::TooLarge { needed: self.bytes },
            Some(cursor) => Collected::More(cursor.get().into()),
        }
    }

    /// The whole list.
    pub(super) fn into_list(self, now: Instant) -> (ListKey, CallerId, Vec<CallId>, List) {
        let mut print = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.items.iter().flat_map(|item| item.bytes().chain([0])) {
            print = (print ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let list = List {
            member: self.key.method.list().unwrap_or_default(),
            bytes: self.bytes.saturating_add(self.extra.len()),
            items: self.items,
            extra: self.extra,
            print,
            caching: self.caching.unwrap_or_default(),
            made_at: now,
        };
        (self.key, self.caller, self.waiters, list)
    }
}

/// The members of a page that are not written anew.
fn extra(page: Object<'_>, member: &str) -> String {
    let mut out = String::new();
    let mut is_first = true;
    for (name, value) in page.members() {
        let is_ours =
            ["resultType", "nextCursor", "ttlMs", "cacheScope"].iter().any(|own| name == **own);
        if is_ours || name == *member || value.is_null() {
            continue;
        }
        push_name(&mut out, &mut is_first, name.get());
        push_compact(&mut out, value.get());
    }
    out
}

/// Why there is no page.
pub(super) enum NoPage {
    /// The cursor is none of ours, or of a list that has changed.
    BadCursor,
    /// Not even an empty page fits.
    TooLarge { needed: usize },
}

impl List {
    /// The response with the page that a cursor asks for.
    pub(super) fn page(
        &self,
        id: &str,
        cursor: Option<Str<'_>>,
        room: &Room,
        now: Instant,
    ) -> Result<String, NoPage> {
        let from = match cursor {
            None => 0,
            Some(cursor) => self.place(cursor).ok_or(NoPage::BadCursor)?,
        };
        // The longest that the page can be without entries.
        let frame = self.write(id, &[], Some(usize::MAX), usize::MAX, now);
        let frame = room.needed(&frame);
        let left = room.limit.checked_sub(frame).ok_or(NoPage::TooLarge { needed: frame })?;
        let (mut to, mut omitted, mut used) = (from, 0_usize, 0_usize);
        let mut taken: Vec<&str> = Vec::new();
        for item in self.items.get(from..).unwrap_or_default() {
            let needed =
                if room.limit == usize::MAX { 0 } else { room.needed(item).saturating_add(1) };
            if needed > left {
                omitted = omitted.saturating_add(1);
            } else if used.saturating_add(needed) > left {
                break;
            } else {
                used = used.saturating_add(needed);
                taken.push(item);
            }
            to = to.saturating_add(1);
        }
        let next = (to < self.items.len()).then_some(to);
        Ok(self.write(id, &taken, next, omitted, now))
    }

    fn write(
        &self,
        id: &str,
        items: &[&str],
        next: Option<usize>,
        omitted: usize,
        now: Instant,
    ) -> String {
        let mut out = alloc::format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\"{}\":[",
            self.member
        );
        let mut is_first = true;
        for item in items {
            comma(&mut out, &mut is_first);
            out.push_str(item);
        }
        out.push(']');
        let mut is_first = false;
        if let Some(next) = next {
            push_name(&mut out, &mut is_first, "\"nextCursor\"");
            out.push_str(&alloc::format!("\"{next}-{:016x}\"", self.print));
        }
        let age = now.duration_since(self.made_at);
        let ttl = self.caching.ttl.saturating_sub(age);
        push_caching(&mut out, &mut is_first, Caching { ttl, ..self.caching });
        if omitted > 0 {
            let mark = alloc::format!("\"{META_OMITTED}\":{omitted}");
            self.push_extra_marked(&mut out, &mark);
        } else if !self.extra.is_empty() {
            out.push(',');
            out.push_str(&self.extra);
        }
        out.push_str("}}");
        out
    }

    /// Appends the other members, with one more in `_meta`.
    fn push_extra_marked(&self, out: &mut String, mark: &str) {
        let whole = alloc::format!("{{{}}}", self.extra);
        let mut is_marked = false;
        let mut is_first = false;
        for (name, value) in Object::parse(&whole).into_iter().flat_map(|extra| extra.members()) {
            push_name(out, &mut is_first, name.get());
            match value.as_object().filter(|_| name == *"_meta" && !is_marked) {
                Some(meta) => {
                    is_marked = true;
                    out.push('{');
                    out.push_str(mark);
                    for (name, value) in meta.members() {
                        push_name(out, &mut is_first, name.get());
                        out.push_str(value.get());
                    }
                    out.push('}');
                }
                None => out.push_str(value.get()),
            }
        }
        if !is_marked {
            out.push_str(",\"_meta\":{");
            out.push_str(mark);
            out.push('}');
        }
    }

    /// Where a page begins.
    fn place(&self, cursor: Str<'_>) -> Option<usize> {
        let (place, print) = cursor.as_plain()?.split_once('-')?;
        let place: usize = place.parse().ok()?;
        let is_own = u64::from_str_radix(print, 16) == Ok(self.print) && print.len() == 16;
        (is_own && place < self.items.len()).then_some(place)
    }

    /// The headers that a call of a tool has.
    pub(super) fn headers(&self, call: Object<'_>) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let Some(name) = call.str("name").ok().flatten() else { return headers };
        let is_called = |tool: &Object<'_>| {
            tool.str("name").is_ok_and(|known| known.is_some_and(|known| known == name))
        };
        let tool = self.items().find(is_called);
        let schema = tool.and_then(|tool| tool.object("inputSchema").ok().flatten());
        let arguments = call.object("arguments").ok().flatten();
        if let Some(schema) = schema {
            let followed = params(schema, arguments, &mut |name, value| {
                let mut header = String::from(PARAM_PREFIX);
                header.extend(name.chars());
                headers.push((header, crate::json::to_text(|out| write_value(out, value))));
            });
            if followed.is_err() {
                headers.clear();
            }
        }
        headers
    }

    pub(super) fn items(&self) -> impl Iterator<Item = Object<'_>> {
        self.items.iter().filter_map(|item| Object::parse(item).ok())
    }
}

/// The lists that are kept.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Of one caller, or (`None`) of all.
    kept: BTreeMap<(ListKey, Option<CallerId>), Arc<List>>,
    marked: BTreeSet<Box<str>>,
}

impl Lists {
    /// A list that a request can be answered from: a fresh one, or for a cursor the one it is of.
    pub(super) fn find(
        &self,
        key: &ListKey,
        caller: CallerId,
        cursor: Option<Str<'_>>,
        now: Instant,
    ) -> Option<Arc<List>> {
        [Some(caller), None].into_iter().find_map(|whose| {
            let list = self.kept.get(&(key.clone(), whose))?;
            let age = now.duration_since(list.made_at);
            let is_usable = match cursor {
                None => age < list.caching.ttl,
                Some(cursor) => {
                    age < list.caching.ttl.max(PAGING_TIME) && list.place(cursor).is_some()
                }
            };
            is_usable.then(|| Arc::clone(list))
        })
    }

    /// Keeps a list, and forgets the oldest ones for it.
    pub(super) fn keep(
        &mut self,
        key: ListKey,
        caller: CallerId,
        list: List,
        max_bytes: usize,
    ) -> Arc<List> {
        if key.method == Method::ListTools {
            self.mark(&list);
        }
        let whose = (list.caching.scope == Scope::Private).then_some(caller);
        let list = Arc::new(list);
        if list.bytes <= max_bytes {
            self.kept.insert((key, whose), Arc::clone(&list));
        }
        loop {
            let bytes: usize =
                self.kept.values().fold(0, |sum, list| sum.saturating_add(list.bytes));
            if self.kept.len() <= MAX_KEPT_LISTS && bytes <= max_bytes {
                return list;
            }
            let oldest = self.kept.iter().min_by_key(|(_, list)| list.made_at);
            match oldest.map(|(key, _)| key.clone()) {
                Some(key) => self.kept.remove(&key),
                None => return list,
            };
        }
    }

    /// The list of tools that this caller was given last, or that all are given.
    pub(super) fn tools(&self, caller: CallerId) -> Option<&List> {
        let own = |whose: &Option<CallerId>| whose.is_none_or(|whose| whose == caller);
        let mut kept = self.kept.iter();
        let found = kept.find(|((key, whose), _)| key.method == Method::ListTools && own(whose));
        found.map(|(_, list)| &**list)
    }

    /// Forgets the lists of tools.
    pub(super) fn forget_tools(&mut self) {
        self.kept.retain(|(key, _), _| key.method != Method::ListTools);
    }

    /// Remembers which tools need a conversation.
    fn mark(&mut self, list: &List) {
        for tool in list.items() {
            let Some(name) = tool.str("name").ok().flatten().and_then(|name| name.as_plain())
            else {
                continue;
            };
            let mark = at(tool, &["_meta", META_CONVERSATION]).and_then(|mark| mark.as_bool());
            if mark == Some(true) {
                if self.marked.len() < MAX_MARKED_TOOLS {
                    self.marked.insert(name.into());
                }
            } else {
                self.marked.remove(name);
            }
        }
    }

    pub(super) fn needs_conversation(&self, tool: &str) -> bool {
        self.marked.contains(tool)
    }

    /// Forgets what the notification says has changed.
    pub(super) fn changed(&mut self, notification: Str<'_>) {
        let is = |name: &str| notification == *name;
        let methods: &[Method] = if is("notifications/tools/list_changed") {
            &[Method::ListTools]
        } else if is("notifications/prompts/list_changed") {
            &[Method::ListPrompts]
        } else if is("notifications/resources/list_changed") {
            &[Method::ListResources, Method::ListResourceTemplates]
        } else {
            return;
        };
        self.kept.retain(|(key, _), _| !methods.contains(&key.method));
    }

    /// Forgets everything: the server is another one.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }
}
