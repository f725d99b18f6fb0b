//! The same exchange as one would write it by hand with `serde_json`: borrowed structs, `RawValue`
//! for what is only passed on, a `HashMap` for what is open, and a writer that counts for the
//! sizes.
//!
//! It checks what the machines check of these messages: JSON, duplicate members, the JSON-RPC
//! version, the kind of message, the protocol's version, the id of each reply, which reply is the
//! last one. It does less than they do where a quick hand would: no deadlines, no duplicate items,
//! no senders, ids compared by their text.

use std::borrow::Cow;
use std::collections::HashMap;

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
}

impl ByHand {
    pub(crate) fn new() -> Self {
        Self {
            calls: HashMap::new(),
            commands: HashMap::new(),
            command: String::new(),
            item: 0,
            trusts_answers: false,
        }
    }

    /// The responder sends what its handler gives without a look at it.
    pub(crate) fn trusting() -> Self {
        Self { trusts_answers: true, ..Self::new() }
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

        // The responder reads it.
        let (name, request) = self
            .command
            .strip_prefix("/_call ")
            .and_then(|rest| rest.split_once(' '))
            .expect("a command");
        let protocol = Protocol::named(name).expect("a declared protocol");
        self.commands.insert(item, accept(protocol, request).expect("a request"));

        for reply in replies {
            // The responder answers and measures.
            if !self.trusts_answers {
                let expected = self.commands.get(&item).expect("an open command");
                let is_last = is_last(expected, reply).expect("a reply to the request");
                if is_last {
                    self.commands.remove(&item);
                }
            }
            let bytes = size(reply, Some(&self.command));
            assert!(bytes <= LIMIT);
            sizes += bytes;

            // The caller finds the call and sees whether it ends.
            let expected = self.calls.get(&item).expect("an open call");
            let is_last = is_last(expected, reply).expect("a reply to the request");
            if is_last {
                self.calls.remove(&item);
            }
        }
        if self.trusts_answers {
            self.commands.remove(&item);
        }
        assert!(self.calls.is_empty() && self.commands.is_empty());
        sizes
    }
}
