//! A server behind a bot: [`McpHandler`].

use core::hash::BuildHasher as _;
use core::sync::atomic::{AtomicU64, Ordering};
use std::hash::RandomState;
use std::sync::Arc;

use agentwire_core::binding::{Failure, Standard};
use agentwire_core::json::Value;
use agentwire_core::mcp::bridge::{self, CallerId, Problem, Room};
use agentwire_core::rpc::NormalisedLen;

use super::bridge::Reply;
use super::per_caller::Servers;
use crate::bot::{Handler, Replier, ReplyError, Request, Via};

/// Answers the calls of a bot with what an MCP server says.
///
/// A caller is a contact, a member of a group, or whoever signs with a key; each unsigned request over
/// Service RPC is a caller of its own.
///
/// ```
/// use std::sync::Arc;
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::session::Declared;
/// use agentwire_tokio::bot::Bot;
/// use agentwire_tokio::mcp::{McpBridge, McpHandler, Servers};
/// use agentwire_tokio::network::Profile;
///
/// fn serve(profile: Profile, bridge: McpBridge) -> Bot {
///     let declared = vec![Declared::new(Standard::MCP, ["2026-07-28"])];
///     Bot::start(profile, declared, McpHandler::new(Arc::new(Servers::Shared(bridge))))
/// }
/// ```
#[derive(Debug)]
pub struct McpHandler {
    servers: Arc<Servers>,
    names: RandomState,
    nameless: AtomicU64,
}

impl McpHandler {
    /// A handler before these servers.
    #[must_use]
    pub fn new(servers: Arc<Servers>) -> Self {
        Self { servers, names: RandomState::new(), nameless: AtomicU64::new(0) }
    }

    fn caller(&self, via: &Via) -> CallerId {
        CallerId(match via {
            Via::Chat { chat, sender, .. } => self.names.hash_one((chat, sender)),
            Via::Service { signer: Some(key) } => self.names.hash_one(key),
            Via::Service { signer: None } => {
                let next = self.nameless.fetch_add(1, Ordering::Relaxed);
                self.names.hash_one(("nameless", next))
            }
        })
    }
}

/// What a text takes in a response of Service RPC, as the core writes it anew.
fn normalised(text: &str) -> usize {
    Value::parse(text).map_or(text.len(), |value| NormalisedLen::of(value).max)
}

impl Handler<Standard> for McpHandler {
    async fn handle(&self, request: Request<Standard>, mut replier: Replier<Standard>) {
        if !matches!(request.binding, Standard::Mcp(_)) {
            return replier.fail(Failure::MethodNotFound);
        }
        let caller = self.caller(&request.via);
        let (room, via) = match request.via {
            Via::Chat { .. } => (Room::escaped(request.room), bridge::Via::Conversation),
            Via::Service { .. } => (Room::new(request.room, normalised), bridge::Via::OneShot),
        };
        let mut call = self.servers.call(caller, request.text, room, via).await;
        while let Some(reply) = call.next().await {
            match reply {
                Reply::Notification(text) => match replier.notify(text).await {
                    // Answered: there was no more time, or what was sent did not fit.
                    Ok(Some(_)) | Err(ReplyError::Closed | ReplyError::Answer(_)) => return,
                    Ok(None) | Err(_) => {}
                },
                Reply::Answer(answer) => {
                    let failure = answer.problem.as_ref().and_then(Problem::failure);
                    match (via, answer.problem, failure) {
                        (_, Some(Problem::ConversationRequired), _) => {
                            replier.require_conversation();
                        }
                        // The envelope has an error of its own for it.
                        (bridge::Via::OneShot, _, Some(failure)) => replier.fail(failure),
                        _ => {
                            // An error means that nobody waits any more.
                            let _ = replier.respond(answer.text).await;
                        }
                    }
                    return;
                }
            }
        }
        replier.fail(Failure::Internal);
    }
}
