//! An MCP client on `rmcp`: `steps STEPS COMMAND…` takes the steps of a JSON array against the server
//! that is started, as steps.py and steps.mjs do, and prints a line for each.

#![expect(deprecated, reason = "what the revision deprecates it still has")]

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ErrorData, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, NotificationContext, RequestContext, RoleClient,
    RunningService, ServiceError,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::process::Command;

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("as the SDK has it")
}

/// What the server says beside its answers.
#[derive(Clone, Default)]
struct Host(Arc<Mutex<(Vec<Value>, Vec<Value>)>>);

impl Host {
    fn heard(&self) -> std::sync::MutexGuard<'_, (Vec<Value>, Vec<Value>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities =
            of(json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}}));
        ClientConfig::new(capabilities, Implementation::new("steps", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = json!(request);
        let properties = asked["requestedSchema"]["properties"].as_object().into_iter().flatten();
        let content: serde_json::Map<String, Value> = properties
            .map(|(key, schema)| {
                let value = if schema["type"] == "boolean" { json!(true) } else { json!("ann") };
                (key.clone(), value)
            })
            .collect();
        Ok(of(json!({"action": "accept", "content": content})))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Ok(of(json!({"role": "assistant", "content": {"type": "text", "text": "Paris"},
            "model": "steps", "stopReason": "endTurn"})))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(of(json!({"roots": [{"uri": "file:///steps", "name": "steps"}]})))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let heard = json!([progress.progress, progress.total, progress.message]);
        self.heard().0.push(heard);
    }

    async fn on_logging_message(
        &self,
        entry: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.heard().1.push(entry.data);
    }
}

/// All pages of a list.
async fn pages<T: Serialize, F>(
    name: &str,
    fetch: impl Fn(Option<PaginatedRequestParams>) -> F,
) -> Result<Value, ServiceError>
where
    F: Future<Output = Result<T, ServiceError>>,
{
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let params =
            cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let mut page = json!(fetch(params).await?);
        all.extend(page[name].as_array_mut().map(core::mem::take).unwrap_or_default());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(json!({ name: all })),
        }
    }
}

async fn step(
    client: &RunningService<RoleClient, Host>,
    method: &str,
    mut params: Value,
) -> Result<Value, ServiceError> {
    match method {
        "tools/list" => pages("tools", |page| client.list_tools(page)).await,
        "prompts/list" => pages("prompts", |page| client.list_prompts(page)).await,
        "resources/list" => pages("resources", |page| client.list_resources(page)).await,
        "resources/templates/list" => {
            pages("resourceTemplates", |page| client.list_resource_templates(page)).await
        }
        "tools/call" => {
            params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "debug"});
            client.call_tool(of(params)).await.map(|result| json!(result))
        }
        "prompts/get" => client.get_prompt(of(params)).await.map(|result| json!(result)),
        "resources/read" => client.read_resource(of(params)).await.map(|result| json!(result)),
        "completion/complete" => client.complete(of(params)).await.map(|result| json!(result)),
        other => panic!("{other} is no step"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut words = std::env::args().skip(1);
    let steps: Vec<Value> = serde_json::from_str(&words.next().ok_or("no steps")?)?;
    let mut server = Command::new(words.next().ok_or("no command")?)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let streams = (server.stdout.take(), server.stdin.take());
    let (Some(output), Some(input)) = streams else { return Err("no streams".into()) };
    let host = Host::default();
    let modern =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = host.clone().serve_with_lifecycle((output, input), modern).await?;
    for asked in steps {
        let method = asked["method"].as_str().ok_or("a step has a method")?;
        let params = asked.get("params").cloned().unwrap_or_else(|| json!({}));
        let mut seen = match step(&client, method, params).await {
            Ok(result) => json!({ "result": result }),
            Err(ServiceError::McpError(error)) => json!({ "error": error }),
            Err(error) => return Err(error.into()),
        };
        let (progress, log) = core::mem::take(&mut *host.heard());
        (seen["progress"], seen["log"]) = (progress.into(), log.into());
        println!("{seen}");
    }
    client.cancel().await?;
    server.wait().await?;
    Ok(())
}
