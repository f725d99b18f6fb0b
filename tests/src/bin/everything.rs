//! An MCP server on `rmcp`, with what `tests/peers/everything.json` describes, on its standard
//! streams.

#![expect(deprecated, reason = "what the revision deprecates it still has")]

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, InputRequest,
    InputRequiredResult, InputResponses, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, LoggingMessageNotificationParam,
    PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

static FIXTURE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../peers/everything.json")).expect("JSON")
});

/// How long a list is fresh, in milliseconds.
const TTL: u64 = 60_000;

/// What comes of asking.
enum Asked {
    More(InputRequiredResult),
    Done(String),
}

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture is as the SDK has it")
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn named<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    array(list).find(|entry| entry["name"] == name)
}

fn text(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

/// Whether a response is one to that request.
fn answers(request: &Value, response: Option<&Value>) -> bool {
    let Some(response) = response else { return false };
    match request["method"].as_str() {
        Some("elicitation/create") => array(&request["params"]["requestedSchema"]["required"])
            .filter_map(Value::as_str)
            .all(|key| response["content"].get(key).is_some()),
        Some("sampling/createMessage") => response.get("content").is_some(),
        _ => response["roots"].is_array(),
    }
}

/// Asks, round by round, and says in the end what was answered.
fn ask(
    spec: &Value,
    can: &ClientCapabilities,
    given: Option<&InputResponses>,
    state: Option<&str>,
) -> Result<Asked, ErrorData> {
    let can = json!(can);
    let capability = |request: &Value| {
        let method = request["method"].as_str().unwrap_or_default();
        method.split('/').next().unwrap_or_default().to_owned()
    };
    let wanted = |round: usize| -> Result<BTreeMap<&str, &Value>, ErrorData> {
        let mut requests = BTreeMap::new();
        for (key, request) in spec["rounds"][round].as_object().into_iter().flatten() {
            if can.get(capability(request)).is_some() {
                requests.insert(key.as_str(), request);
            } else if spec["declared"] != true {
                let data = json!({"requiredCapabilities": {capability(request): {}}});
                let code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
                let message = "the client cannot do what is asked of it";
                return Err(ErrorData::new(code, message, Some(data)));
            }
        }
        Ok(requests)
    };
    let rounds = spec["rounds"].as_array().map_or(0, Vec::len);
    let mut round = match state {
        None => 0,
        // The one thing that a state can be: no other was ever given out.
        Some(state) => (0..rounds)
            .find(|round| state == format!("round {round}"))
            .ok_or_else(|| ErrorData::invalid_params("not a state of this server", None))?,
    };
    let response = |key: &str| given.and_then(|given| given.get(key));
    if wanted(round)?.iter().all(|(key, request)| answers(request, response(key))) {
        if round + 1 == rounds {
            let responses: BTreeMap<&str, Option<&Value>> =
                wanted(round)?.into_keys().map(|key| (key, response(key))).collect();
            let words = spec["text"].as_str().unwrap_or_default();
            return Ok(Asked::Done(format!("{words}: {}", json!(responses))));
        }
        round += 1;
    }
    let requests = wanted(round)?.into_iter();
    let requests = requests.map(|(key, it)| (key.to_owned(), of::<InputRequest>(it.clone())));
    let state = (spec["state"] == true).then(|| format!("round {round}"));
    Ok(Asked::More(InputRequiredResult::new(Some(requests.collect()), state)))
}

struct Everything;

impl Everything {
    fn tools() -> Vec<Value> {
        let object = json!({"type": "object"});
        let tool = |spec: &Value| {
            let schema = spec.get("inputSchema").unwrap_or(&object);
            json!({"name": spec["name"], "description": spec["description"], "inputSchema": schema})
        };
        let fixture = &*FIXTURE;
        let mut tools: Vec<Value> =
            array(&fixture["tools"]).chain(array(&fixture["asking"])).map(tool).collect();
        tools.push(tool(&fixture["schema"]));
        tools.push(tool(&fixture["headers"]));
        let number = json!({"type": "number"});
        tools.push(json!({"name": "test_structured_content", "description": "Adds.",
            "inputSchema": {"type": "object", "properties": {"a": number, "b": number},
                "required": ["a", "b"]},
            "outputSchema": {"type": "object", "properties": {"sum": number},
                "required": ["sum"]}}));
        for (name, description) in [
            ("test_tool_with_progress", "Says how far it is."),
            ("test_tool_with_logging", "Writes to the log of its caller."),
            ("test_logging_tool", "Writes to the log of its caller."),
        ] {
            tools.push(tool(&json!({"name": name, "description": description})));
        }
        for number in 0..fixture["fillers"]["count"].as_u64().unwrap_or(0) {
            let description = &fixture["fillers"]["description"];
            let name = format!("filler_{number}");
            tools.push(tool(&json!({"name": name, "description": description})));
        }
        tools
    }

    async fn progress(context: &RequestContext<RoleServer>) -> CallToolResponse {
        for step in [0.0, 50.0, 100.0] {
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, step)
                    .with_total(100.0)
                    .with_message(format!("{step} of 100"));
                // The client is gone: so is the answer.
                let _ = context.peer.notify_progress(progress).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        text("done")
    }

    async fn log(context: &RequestContext<RoleServer>) -> CallToolResponse {
        for word in ["started", "going on", "ended"] {
            if context.meta.log_level().is_some() {
                let entry = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(word));
                let _ = context.peer.notify_logging_message(entry).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        text("logged")
    }
}

fn capabilities(context: &RequestContext<RoleServer>) -> ClientCapabilities {
    context.meta.client_capabilities().unwrap_or_default()
}

impl ServerHandler for Everything {
    fn get_info(&self) -> ServerConfig {
        let capabilities: ServerCapabilities = of(json!({
            "tools": {}, "prompts": {}, "resources": {}, "logging": {}, "completions": {},
        }));
        ServerConfig::new(capabilities).with_server_info(Implementation::new("everything", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = ListToolsResult::with_all_items(of(Value::Array(Self::tools())));
        (list.ttl_ms, list.cache_scope) = (Some(TTL), Some(CacheScope::Public));
        Ok(list)
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (name, fixture) = (call.name.as_ref(), &*FIXTURE);
        let argument = |name| call.arguments.as_ref().and_then(|all| all.get(name));
        if let Some(spec) = named(&fixture["tools"], name) {
            let content: Vec<ContentBlock> = of(spec["content"].clone());
            let is_error = spec["isError"] == true;
            let result = if is_error { CallToolResult::error } else { CallToolResult::success };
            return Ok(result(content).into());
        }
        if let Some(spec) = named(&fixture["asking"], name) {
            let (given, state) = (call.input_responses.as_ref(), call.request_state.as_deref());
            return ask(spec, &capabilities(&context), given, state).map(|asked| match asked {
                Asked::More(result) => result.into(),
                Asked::Done(words) => text(words),
            });
        }
        match name {
            "test_tool_with_progress" => Ok(Self::progress(&context).await),
            "test_tool_with_logging" | "test_logging_tool" => Ok(Self::log(&context).await),
            "test_structured_content" => {
                let number = |name| argument(name).and_then(Value::as_f64);
                let (Some(a), Some(b)) = (number("a"), number("b")) else {
                    return Err(ErrorData::invalid_params("two numbers are needed", None));
                };
                let mut result =
                    CallToolResult::success(vec![ContentBlock::text(format!("{}", a + b))]);
                result.structured_content = Some(json!({"sum": a + b}));
                Ok(result.into())
            }
            name if fixture["schema"]["name"] == name => {
                Ok(text(fixture["schema"]["text"].as_str().unwrap_or_default()))
            }
            name if fixture["headers"]["name"] == name => {
                Ok(text(argument("region").and_then(Value::as_str).unwrap_or_default()))
            }
            name if name.starts_with("filler_") => Ok(CallToolResult::success(Vec::new()).into()),
            _ => Err(ErrorData::invalid_params(format!("there is no tool {name}"), None)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut resources = FIXTURE["resources"].clone();
        for resource in resources.as_array_mut().into_iter().flatten() {
            if let Some(resource) = resource.as_object_mut() {
                resource.remove("text");
                resource.remove("blob");
            }
        }
        let mut list = ListResourcesResult::with_all_items(of(resources));
        (list.ttl_ms, list.cache_scope) = (Some(TTL), Some(CacheScope::Public));
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = of(json!([FIXTURE["template"]]));
        let mut list = ListResourceTemplatesResult::with_all_items(templates);
        (list.ttl_ms, list.cache_scope) = (Some(TTL), Some(CacheScope::Public));
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let found = array(&FIXTURE["resources"]).find(|resource| resource["uri"] == uri);
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let content = match (found, id) {
            (Some(resource), _) => resource.clone(),
            (None, Some(id)) => json!({"uri": uri, "mimeType": FIXTURE["template"]["mimeType"],
                "text": json!({"id": id, "data": format!("of {id}")}).to_string()}),
            (None, None) => {
                let data = Some(json!({ "uri": uri }));
                return Err(ErrorData::invalid_params("there is no such resource", data));
            }
        };
        let mut result = ReadResourceResult::new(of(json!([content])));
        (result.ttl_ms, result.cache_scope) = (Some(TTL), Some(CacheScope::Public));
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let arguments = |names: &[&str]| -> Value {
            names.iter().map(|name| json!({"name": name, "required": true})).collect()
        };
        let mut prompts: Vec<Value> = array(&FIXTURE["prompts"])
            .chain([&FIXTURE["promptAsking"]])
            .map(|spec| json!({"name": spec["name"], "description": spec["description"]}))
            .collect();
        prompts.push(json!({"name": "test_prompt_with_arguments",
            "description": "A prompt with two arguments.", "arguments": arguments(&["arg1", "arg2"])}));
        prompts.push(json!({"name": "test_prompt_with_embedded_resource",
            "description": "A prompt with a resource.", "arguments": arguments(&["resourceUri"])}));
        let mut list = ListPromptsResult::with_all_items(of(Value::Array(prompts)));
        (list.ttl_ms, list.cache_scope) = (Some(TTL), Some(CacheScope::Public));
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = request.name.as_str();
        let argument = |name| -> Result<&str, ErrorData> {
            let argument = request.arguments.as_ref().and_then(|all| all.get(name)?.as_str());
            argument.ok_or_else(|| ErrorData::invalid_params(format!("{name} is missing"), None))
        };
        let text = |text: String| json!({"type": "text", "text": text});
        let content: Vec<Value> = if let Some(spec) = named(&FIXTURE["prompts"], name) {
            array(&spec["content"]).cloned().collect()
        } else if FIXTURE["promptAsking"]["name"] == name {
            let (given, state) =
                (request.input_responses.as_ref(), request.request_state.as_deref());
            match ask(&FIXTURE["promptAsking"], &capabilities(&context), given, state)? {
                Asked::More(result) => return Ok(result.into()),
                Asked::Done(words) => vec![text(words)],
            }
        } else if name == "test_prompt_with_arguments" {
            vec![text(format!("{} and {}", argument("arg1")?, argument("arg2")?))]
        } else if name == "test_prompt_with_embedded_resource" {
            let resource = json!({"uri": argument("resourceUri")?, "mimeType": "text/plain",
                "text": "embedded"});
            vec![json!({"type": "resource", "resource": resource}), text("read it".into())]
        } else {
            return Err(ErrorData::invalid_params(format!("there is no prompt {name}"), None));
        };
        let messages: Value = content
            .into_iter()
            .map(|content| json!({"role": "user", "content": content}))
            .collect();
        Ok(GetPromptResult::new(of(messages)).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let words = array(&FIXTURE["completion"]).filter_map(Value::as_str);
        let values: Vec<String> = words
            .filter(|word| word.starts_with(&request.argument.value))
            .map(Into::into)
            .collect();
        let total = u32::try_from(values.len()).ok();
        let mut completion = CompletionInfo::new(values).expect("a few words");
        (completion.total, completion.has_more) = (total, Some(false));
        Ok(CompleteResult::new(completion))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let streams = (tokio::io::stdin(), tokio::io::stdout());
    Everything.serve(streams).await?.waiting().await?;
    Ok(())
}
