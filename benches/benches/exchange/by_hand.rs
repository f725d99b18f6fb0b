//! The same exchange as one would write it by hand with `serde_json`: borrowed structs, `RawValue`
//! for what is only passed on, a `HashMap` for what is open, and a writer that counts for the
//! sizes.
//!
//! It checks what the machines check of these messages: JSON, duplicate members, the JSON-RPC
//! version, the kind of message, the protocol's version, the id of each reply, which reply is the
//! last one. [`ByHand::new`] does the machines' other work too: deadlines in a `BTreeSet`, items
//! that were seen before, senders. [`ByHand::forgetful`] leaves that out, as a quick hand would, and
//! [`ByHand::trusting`] leaves the handler's answer unread besides. All compare ids by their text.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};

use agentwire_benches::Counter;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{MSG_ID, SENT_AT};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Mcp,
    A2a,
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::A2a => "a2a",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Mcp, Self::A2a].into_iter().find(|protocol| protocol.name() == name)
    }
}

#[derive(Deserialize)]
pub(crate) struct McpParams<'a> {
    #[serde(borrow, rename = "_meta")]
    pub(crate) meta: Meta<'a>,
}

#[derive(Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    pub(crate) version: Cow<'a, str>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(crate) capabilities: &'a RawValue,
}

impl Meta<'_> {
    pub(crate) fn is_served(&self) -> bool {
        self.version == "2026-07-28" && self.capabilities.get().starts_with('{')
    }
}

#[derive(Deserialize)]
struct McpRequest<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow, rename = "method")]
    _method: Cow<'a, str>,
    #[serde(borrow)]
    params: McpParams<'a>,
}

#[derive(Deserialize)]
struct A2aRequest<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, rename = "params")]
    _params: Option<&'a RawValue>,
    #[serde(borrow, rename = "a2a-service-parameters", default)]
    parameters: HashMap<Cow<'a, str>, Cow<'a, str>>,
}

/// What has to be remembered of a request.
#[derive(Clone)]
struct Expected {
    protocol: Protocol,
    id: Box<str>,
    streaming: bool,
}

/// Reads a request, if it is one that is served.
fn accept(protocol: Protocol, request: &str) -> Option<Expected> {
    let (id, streaming) = match protocol {
        Protocol::Mcp => {
            let request: McpRequest<'_> = serde_json::from_str(request).ok()?;
            let ok = request.jsonrpc == "2.0" && request.params.meta.is_served();
            (ok.then_some(request.id)?, false)
        }
        Protocol::A2a => {
            let request: A2aRequest<'_> = serde_json::from_str(request).ok()?;
            let version = request
                .parameters
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case("A2A-Version"))
                .map(|(_, version)| version.as_ref());
            let ok = request.jsonrpc == "2.0" && version == Some("1.0");
            let streaming =
                matches!(request.method.as_ref(), "SendStreamingMessage" | "SubscribeToTask");
            (ok.then_some(request.id)?, streaming)
        }
    };
    // A string, a number or null.
    let is_id = !id.get().starts_with(['{', '[', 't', 'f']);
    is_id.then(|| Expected { protocol, id: id.get().into(), streaming })
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<ErrorObject<'a>>,
}

#[derive(Deserialize)]
struct ErrorObject<'a> {
    #[serde(rename = "code")]
    _code: i64,
    #[serde(borrow, rename = "message")]
    _message: Cow<'a, str>,
}

#[derive(Deserialize)]
struct StreamResponse<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    task: Option<TaskEvent<'a>>,
    #[serde(borrow, rename = "statusUpdate", alias = "status_update")]
    status_update: Option<TaskEvent<'a>>,
    #[serde(borrow, rename = "artifactUpdate", alias = "artifact_update")]
    artifact_update: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TaskEvent<'a> {
    #[serde(borrow)]
    status: Status<'a>,
}

#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow)]
    state: Cow<'a, str>,
}

impl Status<'_> {
    fn is_end(&self) -> bool {
        matches!(
            self.state.as_ref(),
            "TASK_STATE_COMPLETED"
                | "TASK_STATE_FAILED"
                | "TASK_STATE_CANCELED"
                | "TASK_STATE_REJECTED"
                | "TASK_STATE_INPUT_REQUIRED"
                | "TASK_STATE_AUTH_REQUIRED"
        )
    }
}

/// Whether a reply is the last one; `None` if it answers something else.
fn is_last(expected: &Expected, text: &str) -> Option<bool> {
    let reply: Reply<'_> = serde_json::from_str(text).ok()?;
    if reply.jsonrpc != "2.0" {
        return None;
    }
    match (reply.method, reply.id, reply.result, reply.error) {
        (Some(_), None, None, None) => (expected.protocol == Protocol::Mcp).then_some(false),
        (None, Some(id), Some(result), None) if id.get() == &*expected.id => {
            if expected.streaming {
                stream_ends(result.get())
            } else {
                Some(true)
            }
        }
        (None, id, None, Some(_)) if id.is_none_or(|id| id.get() == &*expected.id) => Some(true),
        _ => None,
    }
}

fn stream_ends(result: &str) -> Option<bool> {
    let event: StreamResponse<'_> = serde_json::from_str(result).ok()?;
    match (event.message, event.task, event.status_update, event.artifact_update) {
        (Some(_), None, None, None) => Some(true),
        (None, Some(event), None, None) | (None, None, Some(event), None) => {
            Some(event.status.is_end())
        }
        (None, None, None, Some(_)) => Some(false),
        _ => None,
    }
}

/// The chat message whose size decides whether it is sent.
#[derive(Serialize)]
struct Message<'a> {
    v: &'a str,
    #[serde(rename = "msgId")]
    msg_id: &'a str,
    event: &'a str,
    params: Params<'a>,
}

#[derive(Serialize)]
struct Params<'a> {
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quote: Option<Quote<'a>>,
}

#[derive(Serialize)]
struct Content<'a> {
    text: &'a str,
    r#type: &'a str,
}

#[derive(Serialize)]
struct Quote<'a> {
    content: Content<'a>,
    #[serde(rename = "msgRef")]
    msg_ref: MsgRef<'a>,
}

#[derive(Serialize)]
struct MsgRef<'a> {
    #[serde(rename = "msgId")]
    msg_id: &'a str,
    sent: bool,
    #[serde(rename = "sentAt")]
    sent_at: &'a str,
}

/// Encoded bytes of a message with this text that quotes that command.
pub(crate) fn size(text: &str, quoted: Option<&str>) -> usize {
    let content = |text| Content { text, r#type: "text" };
    let message = Message {
        v: "1-21",
        msg_id: MSG_ID,
        event: "x.msg.new",
        params: Params {
            content: content(text),
            quote: quoted.map(|command| Quote {
                content: content(command),
                msg_ref: MsgRef { msg_id: MSG_ID, sent: false, sent_at: SENT_AT },
            }),
        },
    };
    let mut counter = Counter::default();
    serde_json::to_writer(&mut counter, &message).expect("a counter takes everything");
    counter.bytes
}

const LIMIT: usize = 15_602;

/// Both sides of a direct chat.
pub(crate) struct ByHand {
    calls: HashMap<i64, Expected>,
    commands: HashMap<i64, Expected>,
    command: String,
    item: i64,
    trusts_answers: bool,
    /// What is kept besides, unless it is forgetful.
    kept: Option<Kept>,
}

/// What follows calls over time.
#[derive(Default)]
struct Kept {
    now: u64,
    calls: Deadlines,
    commands: Deadlines,
    /// Commands that were answered not long ago.
    answered: VecDeque<i64>,
    /// Replies of the call that is open: one at a time here.
    seen: Vec<i64>,
}

/// When the next limit passes, and whose.
#[derive(Default)]
struct Deadlines {
    order: BTreeSet<(u64, i64)>,
    of: HashMap<i64, u64>,
}

impl Deadlines {
    fn set(&mut self, item: i64, at: u64) {
        if let Some(before) = self.of.insert(item, at) {
            self.order.remove(&(before, item));
        }
        self.order.insert((at, item));
    }

    fn end(&mut self, item: i64) {
        if let Some(at) = self.of.remove(&item) {
            self.order.remove(&(at, item));
        }
    }
}

/// How long a call and a command may stay silent, in milliseconds.
const IDLE: (u64, u64) = (150_000, 120_000);
/// How many answered commands are remembered.
const ANSWERED: usize = 64;
/// The contact that is called.
const CALLED: i64 = 4;

impl ByHand {
    pub(crate) fn new() -> Self {
        Self {
            calls: HashMap::new(),
            commands: HashMap::new(),
            command: String::new(),
            item: 0,
            trusts_answers: false,
            kept: Some(Kept::default()),
        }
    }

    /// Without deadlines, and without a look at who replies and at what was seen before.
    pub(crate) fn forgetful() -> Self {
        Self { kept: None, ..Self::new() }
    }

    /// The responder sends what its handler gives without a look at it, besides.
    pub(crate) fn trusting() -> Self {
        Self { trusts_answers: true, ..Self::forgetful() }
    }

    /// See `Agentwire::exchange`.
    pub(crate) fn exchange(
        &mut self,
        protocol: Protocol,
        request: &str,
        replies: &[&str],
    ) -> usize {
        self.item += 1;
        let item = self.item;

        // The caller writes and measures the command.
        let expected = accept(protocol, request).expect("a request");
        self.command.clear();
        self.command.extend(["/_call ", protocol.name(), " ", request]);
        let bytes = size(&self.command, None);
        assert!(bytes <= LIMIT);
        let mut sizes = bytes;
        self.calls.insert(item, expected);
        if let Some(kept) = &mut self.kept {
            kept.now += 1;
            kept.calls.set(item, kept.now + IDLE.0);
            kept.seen.clear();
        }

        // The responder reads it.
        let (name, request) = self
            .command
            .strip_prefix("/_call ")
            .and_then(|rest| rest.split_once(' '))
            .expect("a command");
        let protocol = Protocol::named(name).expect("a declared protocol");
        if let Some(kept) = &mut self.kept {
            assert!(!self.commands.contains_key(&item) && !kept.answered.contains(&item));
            kept.commands.set(item, kept.now + IDLE.1);
        }
        self.commands.insert(item, accept(protocol, request).expect("a request"));

        for (place, reply) in (1..).zip(replies) {
            let (sender, reply_item) = (CALLED, item + place);
            // The responder answers and measures.
            if !self.trusts_answers {
                let expected = self.commands.get(&item).expect("an open command");
                let is_last = is_last(expected, reply).expect("a reply to the request");
                if is_last {
                    self.commands.remove(&item);
                }
                if let Some(kept) = &mut self.kept {
                    if is_last {
                        kept.commands.end(item);
                        kept.answered.push_back(item);
                        if kept.answered.len() > ANSWERED {
                            kept.answered.pop_front();
                        }
                    } else {
                        kept.commands.set(item, kept.now + IDLE.1);
                    }
                }
            }
            let bytes = size(reply, Some(&self.command));
            assert!(bytes <= LIMIT);
            sizes += bytes;

            // The caller finds the call and sees whether it ends.
            let expected = self.calls.get(&item).expect("an open call");
            if let Some(kept) = &mut self.kept {
                assert!(sender == CALLED && !kept.seen.contains(&reply_item));
                kept.seen.push(reply_item);
            }
            let is_last = is_last(expected, reply).expect("a reply to the request");
            if is_last {
                self.calls.remove(&item);
            }
            if let Some(kept) = &mut self.kept {
                if is_last {
                    kept.calls.end(item);
                } else {
                    kept.calls.set(item, kept.now + IDLE.0);
                }
            }
        }
        if self.trusts_answers {
            self.commands.remove(&item);
        }
        assert!(self.calls.is_empty() && self.commands.is_empty());
        sizes
    }
}
