//! The demo's bots: a small shop with MCP tools and an A2A agent that takes orders.

use core::time::Duration;
use std::sync::Weak;

use agentwire_core::binding::{Failure, Standard};
use agentwire_core::json::Writer;
use agentwire_core::jsonrpc::{self, ErrorId};
use agentwire_core::mcp::REVISION;
use agentwire_tokio::bot::{Handler, Replier, ReplyError, Request, Via};
use agentwire_tokio::stdio::{Reply, StdioServer};
use serde_json::{Value, json};

/// How long the A2A agent works on each step of an order.
const STEP: Duration = Duration::from_millis(40);

/// A bot that serves MCP, by itself or with a server behind it, and A2A.
pub(super) struct Shop {
    pub(super) name: &'static str,
    /// How many anvils it has.
    pub(super) stock: u32,
    /// Answers MCP in its place.
    pub(super) server: Option<Weak<StdioServer>>,
}

impl Handler<Standard> for Shop {
    async fn handle(&self, request: Request, replier: Replier) {
        let outcome = match (&request.binding, &self.server) {
            (Standard::Mcp(_), Some(server)) => forward(server, &request, replier).await,
            (Standard::Mcp(_), None) => self.mcp(&request, replier).await,
            (Standard::A2a(_), _) => order(&request, replier).await,
            _ => {
                replier.fail(Failure::MethodNotFound);
                Ok(())
            }
        };
        if let Err(error) = outcome {
            // The session has answered with an error.
            eprintln!("agentwire: {}: an answer was not sent: {error}", self.name);
        }
    }
}

impl Shop {
    async fn mcp(&self, request: &Request, mut replier: Replier) -> Result<(), ReplyError> {
        let Ok(message) = serde_json::from_str::<Value>(&request.text) else {
            replier.fail(Failure::Internal);
            return Ok(());
        };
        let params = &message["params"];
        let result = match message["method"].as_str().unwrap_or_default() {
            "server/discover" => json!({
                "resultType": "complete",
                "supportedVersions": [REVISION],
                "capabilities": {"tools": {}},
                "ttlMs": 3_600_000,
                "cacheScope": "public",
            }),
            "tools/list" => tools(),
            "tools/call" => {
                let arguments = &params["arguments"];
                match params["name"].as_str().unwrap_or_default() {
                    "availability" => self.availability(arguments),
                    "stocktake" => {
                        let token = &params["_meta"]["progressToken"];
                        for (done, shelf) in ["anvils", "hammers", "nails"].iter().enumerate() {
                            if !token.is_null() && replier.can_notify() {
                                let progress = json!({
                                    "jsonrpc": "2.0",
                                    "method": "notifications/progress",
                                    "params": {
                                        "progressToken": token,
                                        "progress": done + 1,
                                        "total": 3,
                                        "message": format!("counted the {shelf}"),
                                    },
                                });
                                replier.notify(progress.to_string()).await?;
                            }
                            tokio::time::sleep(STEP).await;
                        }
                        text(format!("{} anvils, 40 hammers, 12000 nails", self.stock))
                    }
                    "catalogue" => {
                        text("anvil, forged, 50 kg, \"as seen on the range\"\n".repeat(400))
                    }
                    _ => {
                        replier.fail(Failure::InvalidParams("there is no such tool"));
                        return Ok(());
                    }
                }
            }
            _ => {
                replier.fail(Failure::MethodNotFound);
                return Ok(());
            }
        };
        respond(replier, request, &result).await
    }

    fn availability(&self, arguments: &Value) -> Value {
        let item = arguments["item"].as_str().unwrap_or("nothing");
        match item {
            "anvil" => text(format!("{}: {} anvils are in stock.", self.name, self.stock)),
            other => text(format!("{}: there is no {other} here.", self.name)),
        }
    }
}

fn tools() -> Value {
    let tool = |name: &str, description: &str, properties: Value| {
        let input = json!({"type": "object", "properties": properties});
        json!({"name": name, "description": description, "inputSchema": input})
    };
    json!({
        "resultType": "complete",
        "tools": [
            tool("availability", "How many of an item are in stock", json!({"item": {"type": "string"}})),
            tool("stocktake", "Counts everything, and says how far it is", json!({})),
            tool("catalogue", "The whole catalogue, which is long", json!({})),
        ],
        "ttlMs": 300_000,
        "cacheScope": "public",
    })
}

fn text(text: String) -> Value {
    json!({
        "resultType": "complete",
        "content": [{"type": "text", "text": text}],
        "isError": false,
    })
}

/// An A2A agent: an order is accepted, packed and sent, and every step is an event.
async fn order(request: &Request, mut replier: Replier) -> Result<(), ReplyError> {
    let Ok(message) = serde_json::from_str::<Value>(&request.text) else {
        replier.fail(Failure::Internal);
        return Ok(());
    };
    let (task, context) = ("t-8", "c-7");
    let status =
        |state: &str| json!({"taskId": task, "contextId": context, "status": {"state": state}});
    let artifact = json!({
        "artifactId": "a-8",
        "parts": [{"text": "Order 1042: two anvils, delivery on Friday."}],
    });
    match message["method"].as_str().unwrap_or_default() {
        "SendStreamingMessage" => {
            let submitted = json!({
                "task": {"id": task, "contextId": context, "status": {"state": "TASK_STATE_SUBMITTED"}},
            });
            let working = json!({"statusUpdate": status("TASK_STATE_WORKING")});
            let update = json!({
                "artifactUpdate": {"taskId": task, "contextId": context, "artifact": artifact},
            });
            for event in [submitted, working, update] {
                replier.notify(response(request, &event)).await?;
                tokio::time::sleep(STEP).await;
            }
            respond(replier, request, &json!({"statusUpdate": status("TASK_STATE_COMPLETED")}))
                .await
        }
        "SendMessage" => {
            let status = json!({"state": "TASK_STATE_COMPLETED"});
            let text = match request.via {
                Via::Service { signer: Some(_) } => {
                    "Order 1042, on the account of your key: two anvils, delivery on Friday."
                }
                _ => "Order 1042, to be paid on delivery: two anvils, delivery on Friday.",
            };
            let artifact = json!({"artifactId": "a-9", "parts": [{"text": text}]});
            let result = json!({
                "task": {
                    "id": "t-9",
                    "contextId": context,
                    "status": status,
                    "artifacts": [artifact],
                },
            });
            respond(replier, request, &result).await
        }
        "GetTask" if message["params"]["id"] == task => {
            let status = json!({"state": "TASK_STATE_COMPLETED"});
            let result = json!({"id": task, "contextId": context, "status": status, "artifacts": [artifact]});
            respond(replier, request, &result).await
        }
        _ => {
            replier.fail(Failure::MethodNotFound);
            Ok(())
        }
    }
}

/// A response with the request's own id, exactly as it was written.
fn response(request: &Request, result: &Value) -> String {
    write(|out| {
        jsonrpc::write_result(out, request.id.as_deref().unwrap_or("null"), &result.to_string());
    })
}

async fn respond(replier: Replier, request: &Request, result: &Value) -> Result<(), ReplyError> {
    replier.respond(response(request, result)).await?;
    Ok(())
}

/// Hands a request to the server behind the bot, and its messages back.
async fn forward(
    server: &Weak<StdioServer>,
    request: &Request,
    mut replier: Replier,
) -> Result<(), ReplyError> {
    let called = match server.upgrade() {
        Some(server) => server.call(&request.text).await,
        None => {
            replier.fail(Failure::Internal);
            return Ok(());
        }
    };
    let error = match called {
        Ok(mut call) => loop {
            match call.next().await {
                Some(Ok(Reply::Notification(text))) => {
                    // One that does not fit is left out; the answer goes on.
                    let _ = replier.notify(text).await;
                }
                Some(Ok(Reply::Response(text))) => {
                    replier.respond(text).await?;
                    return Ok(());
                }
                Some(Err(error)) => break error.to_string(),
                _ => break String::from("the server gave no answer"),
            }
        },
        Err(error) => error.to_string(),
    };
    let text = write(|out| {
        let id = request.id.as_deref().map_or(ErrorId::Absent, ErrorId::Known);
        jsonrpc::write_error(out, id, jsonrpc::INTERNAL_ERROR, &error, None);
    });
    replier.respond(text).await?;
    Ok(())
}

/// Writes into a buffer that is as large as it has to be.
fn write(message: impl Fn(&mut Writer<'_>)) -> String {
    let mut counter = Writer::new(&mut []);
    message(&mut counter);
    let mut buffer = vec![0; counter.needed()];
    let mut out = Writer::new(&mut buffer);
    message(&mut out);
    out.finish().unwrap_or_default().to_owned()
}
