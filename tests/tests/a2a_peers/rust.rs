//! A client made with the official Rust SDK, `a2a-client-lf`: the calls of
//! `tests/peers/a2a_client.py`, and what comes of them in the same words.

use core::future::poll_fn;

use a2a::{
    A2AError, CancelTaskRequest, GetTaskRequest, ListTasksRequest, Message, Part, PartContent,
    Role, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig, TaskState,
};
use a2a_client::agent_card::AgentCardResolver;
use a2a_client::{A2AClient, A2AClientFactory, BoxStream, Transport};
use serde_json::{Value, json};

use crate::peers::Seen;

type Client = A2AClient<Box<dyn Transport>>;

/// What it gets from the agent on HTTP at a URL.
pub(crate) async fn run(url: &str) -> Vec<Seen> {
    let card = AgentCardResolver::new(None).resolve(url).await.expect("a card");
    let client = A2AClientFactory::builder().build().create_from_card(&card).await;
    run_with(&client.expect("a transport")).await
}

/// What it gets with this client.
pub(crate) async fn run_with(client: &Client) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut see = |call: &str, what: Result<Value, A2AError>| {
        let what = what.unwrap_or_else(|error| format!("error {}", error.code).into());
        seen.push(Seen { call: call.to_owned(), what });
    };
    for name in [
        "tck-complete-task",
        "tck-message-response",
        "tck-artifact-text",
        "tck-artifact-file",
        "tck-artifact-file-url",
        "tck-artifact-data",
        "tck-input-required",
        "tck-reject-task",
        "tck-stream-artifact-chunked",
    ] {
        let request = message(&format!("{name}-call"));
        see(&format!("{name}, call"), sent(client, &request).await);
        let request = message(&format!("{name}-stream"));
        let stream = client.send_streaming_message(&request).await;
        see(&format!("{name}, stream"), events(stream).await);
    }
    // A task that waits goes on with a second message.
    let waiting = made(client, &message("tck-input-required-again")).await;
    let mut more = message("tck-input-required-more");
    more.message.task_id = Some(waiting.id.clone());
    more.message.context_id = Some(waiting.context_id.clone());
    see("a second message", events(client.send_streaming_message(&more).await).await);
    let get = GetTaskRequest { id: waiting.id.clone(), history_length: None, tenant: None };
    see("get", client.get_task(&get).await.map(|it| task(&it)));
    let list = ListTasksRequest {
        context_id: Some(waiting.context_id.clone()),
        status: None,
        page_size: None,
        page_token: None,
        history_length: None,
        status_timestamp_after: None,
        include_artifacts: None,
        tenant: None,
    };
    see(
        "list",
        client.list_tasks(&list).await.map(|it| {
            let states = it.tasks.iter().map(|task| format!("task {}", state(&task.status.state)));
            states.chain([format!("of {}", it.total_size)]).collect()
        }),
    );
    see("a message to what is over", sent(client, &more).await);
    see("cancel what is over", client.cancel_task(&cancel(&waiting)).await.map(|it| task(&it)));
    let unknown = GetTaskRequest { id: "nobody's".into(), ..get };
    see("get what is unknown", client.get_task(&unknown).await.map(|it| task(&it)));
    let mut to_unknown = message("unknown");
    to_unknown.message.task_id = Some("nobody's".into());
    see("a message to what is unknown", sent(client, &to_unknown).await);
    let stream = client.subscribe_to_task(&subscription(&waiting)).await;
    see("subscribe to what is over", events(stream).await);
    let config = TaskPushNotificationConfig {
        task_id: waiting.id.clone(),
        url: "https://example.com/".into(),
        id: None,
        token: None,
        authentication: None,
        tenant: None,
    };
    let push = client.create_push_config(&config).await;
    see("ask for push notifications", push.map(|_| "done".into()));
    // A subscription to a task that works: how much it shows in between is a matter of time.
    let working = made(client, &at_once("slow")).await;
    see("send without waiting", Ok(json!([format!("task {}", !working.id.is_empty())])));
    let stream = client.subscribe_to_task(&subscription(&working)).await;
    see(
        "subscribe",
        events(stream).await.map(|events| {
            let first =
                events[0][0].as_str().and_then(|it| it.split(' ').next()).map(str::to_owned);
            json!([first, events.as_array().and_then(|events| events.last())])
        }),
    );
    let working = made(client, &at_once("slow-cancel")).await;
    see("cancel", client.cancel_task(&cancel(&working)).await.map(|it| task(&it)));
    seen
}

fn message(id: &str) -> SendMessageRequest {
    let mut message = Message::new(Role::User, vec![Part::text("hello")]);
    id.clone_into(&mut message.message_id);
    SendMessageRequest { message, configuration: None, metadata: None, tenant: None }
}

fn at_once(id: &str) -> SendMessageRequest {
    let configuration = Some(SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: None,
        history_length: None,
        return_immediately: Some(true),
    });
    SendMessageRequest { configuration, ..message(id) }
}

fn cancel(task: &Task) -> CancelTaskRequest {
    CancelTaskRequest { id: task.id.clone(), metadata: None, tenant: None }
}

fn subscription(task: &Task) -> SubscribeToTaskRequest {
    SubscribeToTaskRequest { id: task.id.clone(), tenant: None }
}

/// The task that a message has made.
async fn made(client: &Client, request: &SendMessageRequest) -> Task {
    match client.send_message(request).await.expect("an answer") {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(_) => panic!("no task"),
    }
}

async fn sent(client: &Client, request: &SendMessageRequest) -> Result<Value, A2AError> {
    Ok(json!([match client.send_message(request).await? {
        SendMessageResponse::Task(it) => task(&it),
        SendMessageResponse::Message(it) => with("message", &it.parts),
    }]))
}

async fn events(
    stream: Result<BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError>,
) -> Result<Value, A2AError> {
    let (mut stream, mut events) = (stream?, Vec::new());
    while let Some(event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        events.push(match event? {
            StreamResponse::Task(it) => task(&it),
            StreamResponse::Message(it) => with("message", &it.parts),
            StreamResponse::StatusUpdate(it) => {
                let says = it.status.message.map(|message| message.parts).unwrap_or_default();
                with(&format!("status {}", state(&it.status.state)), &says)
            }
            StreamResponse::ArtifactUpdate(it) => {
                let is_more = it.append.unwrap_or_default();
                with(if is_more { "artifact, more" } else { "artifact" }, &it.artifact.parts)
            }
        });
    }
    Ok(events.into())
}

fn task(task: &Task) -> Value {
    let artifacts = task.artifacts.iter().flatten();
    let parts: Vec<_> = artifacts.flat_map(|artifact| artifact.parts.clone()).collect();
    with(&format!("task {}", state(&task.status.state)), &parts)
}

/// What something is, and what it carries.
fn with(what: &str, parts: &[Part]) -> Value {
    let parts = parts.iter().map(|part| match &part.content {
        PartContent::Text(text) => format!("text {text}"),
        PartContent::Raw(bytes) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
            format!("raw {}", digits.collect::<String>())
        }
        PartContent::Url(url) => format!("url {url}"),
        PartContent::Data(data) => format!("data {}", whole(data)),
    });
    core::iter::once(what.to_owned()).chain(parts).collect()
}

/// A number of protobuf's is a double; JSON has no such distinction.
fn whole(data: &Value) -> String {
    data.to_string().replace(".0", "")
}

fn state(state: &TaskState) -> String {
    let name = serde_json::to_value(state).expect("a name");
    let name = name.as_str().unwrap_or_default();
    name.strip_prefix("TASK_STATE_").unwrap_or(name).to_owned()
}
