//! A request to another agent, and what it answers.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::{Reply, ReplyKind};
use agentwire_core::chat::{MemberId, Sender};
use agentwire_core::profile::{Needs, Transport};
use agentwire_core::rpc::session::ServiceReplyKind;
use agentwire_core::{a2a, mcp};
use rmcp::model::{ClientCapabilities, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Map, Value, json};

use crate::client::{CallOptions, Client, ClientError, RequestOptions, Target};
use crate::reach::{Address, Destination, Reached};

/// Parts of a stream that are kept for the model.
const PARTS: usize = 1_000;

/// How long a call to everyone in a group takes at most.
const BROADCAST: Duration = Duration::from_secs(300);

/// A request to make.
pub(super) struct Request {
    pub(super) protocol: Standard,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
    pub(super) transport: Option<Transport>,
    /// What the host can do, for MCP: what a server may ask for in its result.
    pub(super) capabilities: Option<ClientCapabilities>,
    /// Who wants to hear of progress.
    pub(super) progress: Option<Progress>,
    pub(super) client_info: bool,
    /// How long a call to everyone goes on after an answer.
    pub(super) broadcast_wait: Duration,
}

/// The host's own request, which the progress of another agent is for.
pub(super) struct Progress {
    pub(super) token: ProgressToken,
    pub(super) host: Peer<RoleServer>,
}

impl Progress {
    /// Passes a notification on, under the host's token.
    async fn tell(&self, mut params: Value) {
        params["progressToken"] = json!(self.token);
        if let Ok(params) = serde_json::from_value::<ProgressNotificationParam>(params) {
            // The host may be gone.
            let _ = self.host.notify_progress(params).await;
        }
    }
}

/// What one agent answers.
pub(super) struct Answer {
    /// The member of the group, in a broadcast.
    pub(super) from: Option<String>,
    /// Parts of a stream before it.
    pub(super) parts: Vec<Value>,
    /// The response: with `result` or `error`; `Null` if the stream broke off.
    pub(super) response: Value,
}

/// The ids of requests.
#[derive(Debug, Default)]
pub(super) struct Ids(AtomicU64);

impl Ids {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }
}

impl Request {
    /// The message.
    fn text(&self, id: u64) -> String {
        let mut params = self.params.clone();
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": self.method});
        if self.protocol == Standard::MCP {
            let mut meta = json!({
                mcp::META_PROTOCOL_VERSION: mcp::REVISION,
                mcp::META_CLIENT_CAPABILITIES: self.capabilities.clone().unwrap_or_default(),
            });
            if self.client_info {
                meta[mcp::META_CLIENT_INFO] =
                    json!({"name": "agentwire", "version": env!("CARGO_PKG_VERSION")});
            }
            if self.progress.is_some() {
                meta["progressToken"] = json!(id);
            }
            params.insert(String::from("_meta"), meta);
        } else {
            message[a2a::SERVICE_PARAMETERS] = json!({a2a::VERSION_PARAMETER: a2a::VERSION});
        }
        message["params"] = Value::Object(params);
        message.to_string()
    }
}

/// Makes a request, and collects what is answered.
pub(super) async fn ask(
    client: &Client,
    ids: &Ids,
    address: &Address,
    request: &Request,
) -> Result<Vec<Answer>, String> {
    let text = request.text(ids.next());
    let reached = Reached::find(client, address).await.map_err(|error| error.to_string())?;
    let mut needs = Needs::default();
    needs.insist = request.transport;
    let route = reached.route(&request.protocol, &text, needs);
    let (destination, _) = route.map_err(|error| error.to_string())?;
    let target = match destination {
        Destination::Conversation(target) => target,
        Destination::Service(link) => {
            return over_service_rpc(client, request.protocol, &link, text)
                .await
                .map(|it| vec![it]);
        }
    };
    let is_broadcast = matches!(target, Target::Everyone(_));
    let mut names = BTreeMap::new();
    if let Target::Everyone(group) = target {
        names = client.member_names(group).await.map_err(|error| error.to_string())?;
    }
    let mut options = CallOptions::default();
    if is_broadcast {
        options = options.wait(BROADCAST, request.broadcast_wait);
    }
    let call = client.call(request.protocol, target, text, options).await;
    let mut replies = call.map_err(|error| error.to_string())?;
    let mut parts: BTreeMap<Option<String>, Vec<Value>> = BTreeMap::new();
    let mut answers = Vec::new();
    while let Some(reply) = replies.next().await {
        let reply = match reply {
            Ok(reply) => reply,
            // With a broadcast the time is over when all that are there had it.
            Err(ClientError::TimedOut(_)) if is_broadcast => break,
            Err(error) => return Err(error.to_string()),
        };
        let from = is_broadcast.then(|| sender(&reply, &names));
        let Ok(value) = serde_json::from_str::<Value>(&reply.text) else { continue };
        match reply.kind {
            ReplyKind::Last(_) => {
                let parts = parts.remove(&from).unwrap_or_default();
                answers.push(Answer { from, parts, response: value });
            }
            ReplyKind::Part(_) => {
                let parts = parts.entry(from).or_default();
                if parts.len() < PARTS {
                    parts.push(value["result"].clone());
                }
            }
            ReplyKind::Notification(method) if method == "notifications/progress" => {
                if let Some(progress) = &request.progress {
                    progress.tell(value["params"].clone()).await;
                }
            }
            _ => {}
        }
    }
    answers.extend(parts.into_iter().map(|(from, parts)| Answer {
        from,
        parts,
        response: Value::Null,
    }));
    Ok(answers)
}

async fn over_service_rpc(
    client: &Client,
    protocol: Standard,
    link: &str,
    text: String,
) -> Result<Answer, String> {
    let request = client.request(protocol, link, text, RequestOptions::default());
    let reply = request.await.map_err(|error| error.to_string())?;
    match reply.kind {
        ServiceReplyKind::Answer { text, .. } => {
            let response = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            Ok(Answer { from: None, parts: Vec::new(), response })
        }
        ServiceReplyKind::Error { ref message, .. } => {
            let more = message.as_ref().map(|message| format!(" ({message:?})"));
            Err(format!("{}{}", reply.kind, more.unwrap_or_default()))
        }
        other => Err(other.to_string()),
    }
}

fn sender(reply: &Reply, names: &BTreeMap<MemberId, String>) -> String {
    match &reply.sender {
        Sender::Member(id) => {
            names.get(id).cloned().unwrap_or_else(|| String::from("an unknown member"))
        }
        _ => String::from("the group"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_info(client_info: bool, params: Value) -> Option<Value> {
        let request = Request {
            protocol: Standard::MCP,
            method: String::from("tools/list"),
            params: params.as_object().cloned().unwrap_or_default(),
            transport: None,
            capabilities: None,
            progress: None,
            client_info,
            broadcast_wait: Duration::ZERO,
        };
        let message: Value = serde_json::from_str(&request.text(7)).expect("JSON");
        message["params"]["_meta"].get("io.modelcontextprotocol/clientInfo").cloned()
    }

    #[test]
    fn a_requester_should_send_a_common_client_info_or_omit_it() {
        // What the host says of itself goes nowhere.
        let host = json!({"_meta": {"io.modelcontextprotocol/clientInfo": {"name": "host"}}});
        for params in [json!({}), host] {
            assert_eq!(client_info(false, params.clone()), None);
            let common = json!({"name": "agentwire", "version": env!("CARGO_PKG_VERSION")});
            assert_eq!(client_info(true, params), Some(common));
        }
    }
}
