//! The exchange of one MCP call with the message types of `jsonrpsee-types`; all else as by hand.

use std::collections::HashMap;

use jsonrpsee_types::{Id, Request, Response, ResponsePayload};
use serde_json::value::RawValue;

use super::by_hand::{McpParams, size};

/// Reads a request, if it is one that is served.
fn accept(request: &str) -> Option<Id<'static>> {
    let request: Request<'_> = serde_json::from_str(request).ok()?;
    let params: McpParams<'_> = serde_json::from_str(request.params.as_deref()?.get()).ok()?;
    params.meta.is_served().then(|| request.id.into_owned())
}

fn answers(id: &Id<'_>, reply: &str) -> bool {
    let reply: Response<'_, &RawValue> = serde_json::from_str(reply).expect("a response");
    reply.id == *id && matches!(reply.payload, ResponsePayload::Success(_))
}

pub(crate) struct Jsonrpsee {
    calls: HashMap<i64, Id<'static>>,
    commands: HashMap<i64, Id<'static>>,
    command: String,
    item: i64,
}

impl Jsonrpsee {
    pub(crate) fn new() -> Self {
        Self { calls: HashMap::new(), commands: HashMap::new(), command: String::new(), item: 0 }
    }

    /// See `Agentwire::exchange`.
    pub(crate) fn exchange(&mut self, request: &str, reply: &str) -> usize {
        self.item += 1;
        let item = self.item;
        let id = accept(request).expect("a request");
        self.command.clear();
        self.command.extend(["/_call mcp ", request]);
        let mut sizes = size(&self.command, None);
        self.calls.insert(item, id);

        let request = self.command.strip_prefix("/_call mcp ").expect("a command");
        self.commands.insert(item, accept(request).expect("a request"));
        let id = self.commands.remove(&item).expect("an open command");
        assert!(answers(&id, reply));
        sizes += size(reply, Some(&self.command));

        let id = self.calls.remove(&item).expect("an open call");
        assert!(answers(&id, reply));
        sizes
    }
}
