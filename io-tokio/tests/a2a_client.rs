//! An `a2a_client::A2AClient` that knows nothing of SimpleX, over the loopback.

use core::future::poll_fn;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use a2a::{
    A2AError, AgentCard, AgentInterface, GetExtendedAgentCardRequest, GetTaskRequest, Message,
    Part, Role, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, TaskPushNotificationConfig, TaskState, error_code, errordetails,
};
use a2a_client::middleware::CallInterceptor;
use a2a_client::{A2AClient, A2AClientFactory, BoxStream, ServiceParams, Transport};
use agentwire_core::a2a::BINDING_URI;
use agentwire_core::binding::Standard;
use agentwire_core::chat::session::{Declared, SessionConfig};
use agentwire_tokio::a2a_client::{ClientTransport, ClientTransportFactory};
use agentwire_tokio::bot::{Bot, BotConfig, Replier, Request};
use agentwire_tokio::client::{Client, RequestOptions, Target};
use agentwire_tokio::link::Core;
use agentwire_tokio::network::Network;
use agentwire_tokio::server::Server;
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const CARD: &str = r#"{"name":"Shop","description":"Sells anvils","version":"1",
    "supportedInterfaces":[],"capabilities":{"streaming":true},
    "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}"#;

fn declared() -> Vec<Declared<Standard>> {
    vec![Declared::new(Standard::A2A, ["1.0"])]
}

fn update(state: &str) -> Value {
    let status = json!({"state": format!("TASK_STATE_{state}")});
    json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}})
}

fn task(state: &str) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}})
}

/// What the bot has been asked, in order.
type Asked = Arc<Mutex<Vec<Value>>>;

/// Answers by the method, and by the text of a message.
async fn answer(asked: Asked, request: Request, mut replier: Replier) {
    let value: Value = serde_json::from_str(&request.text).unwrap();
    asked.lock().unwrap().push(value.clone());
    let text = value["params"]["message"]["parts"][0]["text"].as_str().unwrap_or_default();
    let reply = |key: &str, what: Value| {
        json!({"jsonrpc": "2.0", "id": value["id"], key: what}).to_string()
    };
    let error = || {
        let details = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org"}, 1]);
        json!({"code": -32001, "message": "no such task", "data": details})
    };
    let last = match (value["method"].as_str().unwrap_or_default(), text) {
        ("SendMessage", "nothing") => reply("result", json!({"no": "arm"})),
        ("SendMessage", _) => reply("result", json!({"task": task("COMPLETED")})),
        ("SendStreamingMessage", "fail") | ("GetTask", _) => reply("error", error()),
        ("SendStreamingMessage", "hang") => {
            replier.notify(reply("result", update("WORKING"))).await.unwrap();
            core::future::pending().await
        }
        ("SendStreamingMessage", text) => {
            replier.notify(reply("result", json!({"task": task("SUBMITTED")}))).await.unwrap();
            replier.notify(reply("result", update("WORKING"))).await.unwrap();
            match text {
                "fail later" => reply("error", error()),
                _ => reply("result", update("INPUT_REQUIRED")),
            }
        }
        ("SubscribeToTask", _) => reply("result", json!({"task": task("CANCELED")})),
        ("GetExtendedAgentCard", _) => reply("result", serde_json::from_str(CARD).unwrap()),
        (method, _) => panic!("{method}"),
    };
    let _ = replier.respond(last).await;
}

/// How the client reaches the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Chat,
    Group,
    ServiceRpc,
}

struct World {
    client: A2AClient<ClientTransport>,
    asked: Asked,
    _bot: Bot,
}

impl World {
    fn new(over: Over) -> Self {
        Self::with_config(over, SessionConfig::default())
    }

    fn with_config(over: Over, config: SessionConfig) -> Self {
        let network = Network::new(1);
        let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
        let (to_bot, _) = network.connect(&ann, &bot).unwrap();
        let address = network.open_address(&bot).unwrap();
        let group = network.with(|net| {
            let group = net.create_group(ann.id(), "group").unwrap();
            net.join(group, bot.id()).unwrap();
            net.group_id(group, ann.id()).unwrap()
        });
        let asked = Asked::default();
        let seen = Arc::clone(&asked);
        let serving = BotConfig::from(declared()).service(declared());
        let handler = move |request, replier| answer(Arc::clone(&seen), request, replier);
        let bot = Bot::start(bot, serving, handler);
        let client = Client::with_config(ann, config);
        let transport = match over {
            Over::Chat => ClientTransport::new(client, to_bot),
            Over::Group => ClientTransport::new(client, Target::Everyone(group)),
            Over::ServiceRpc => {
                ClientTransport::over_service_rpc(client, address, RequestOptions::default())
            }
        };
        Self { client: A2AClient::new(transport), asked, _bot: bot }
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

fn message(text: &str) -> SendMessageRequest {
    let message = Message::new(Role::User, vec![Part::text(text)]);
    SendMessageRequest { message, configuration: None, metadata: None, tenant: None }
}

fn get() -> GetTaskRequest {
    GetTaskRequest { id: "t".into(), history_length: None, tenant: None }
}

async fn next(
    stream: &mut BoxStream<'static, Result<StreamResponse, A2AError>>,
) -> Option<Result<StreamResponse, A2AError>> {
    poll_fn(|cx| stream.as_mut().poll_next(cx)).await
}

/// The states of a stream's events.
async fn states(
    mut stream: BoxStream<'static, Result<StreamResponse, A2AError>>,
) -> Vec<Result<TaskState, i32>> {
    let mut states = Vec::new();
    while let Some(event) = next(&mut stream).await {
        states.push(match event {
            Ok(StreamResponse::Task(task)) => Ok(task.status.state),
            Ok(StreamResponse::StatusUpdate(update)) => Ok(update.status.state),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.code),
        });
    }
    states
}

#[tokio::test]
async fn a_message_is_answered_in_a_chat_in_a_group_and_over_service_rpc() {
    for over in [Over::Chat, Over::Group, Over::ServiceRpc] {
        let world = World::new(over);
        let mut request = message("hällo \"you\"");
        // Who goes on with a context does it in a conversation.
        request.message.context_id = (over != Over::ServiceRpc).then(|| "c".into());
        let SendMessageResponse::Task(task) = world.client.send_message(&request).await.unwrap()
        else {
            panic!("no task")
        };
        assert_eq!((task.id.as_str(), task.status.state), ("t", TaskState::Completed));
        let asked = world.asked().remove(0);
        let context = request.message.context_id.map_or(Value::Null, Value::from);
        assert_eq!(asked["params"]["message"]["contextId"], context);
        assert_eq!(asked["params"]["message"]["parts"], json!([{"text": "hällo \"you\""}]));
        assert_eq!(asked["a2a-service-parameters"], json!({"A2A-Version": "1.0"}));
    }
}

#[tokio::test]
async fn a_stream_gives_its_events_in_order_and_ends_where_the_task_waits() {
    let world = World::new(Over::Chat);
    let stream = world.client.send_streaming_message(&message("go")).await.unwrap();
    let expected = [TaskState::Submitted, TaskState::Working, TaskState::InputRequired];
    assert_eq!(states(stream).await, expected.map(Ok));
    let subscribe = SubscribeToTaskRequest { id: "t".into(), tenant: None };
    let stream = world.client.subscribe_to_task(&subscribe).await.unwrap();
    assert_eq!(states(stream).await, [Ok(TaskState::Canceled)]);
}

#[tokio::test]
async fn an_error_before_the_first_event_is_the_calls_and_a_later_one_the_streams() {
    let world = World::new(Over::Chat);
    let Err(error) = world.client.send_streaming_message(&message("fail")).await else {
        panic!("a stream")
    };
    assert_eq!(error.code, error_code::TASK_NOT_FOUND);
    let stream = world.client.send_streaming_message(&message("fail later")).await.unwrap();
    let expected = [Ok(TaskState::Submitted), Ok(TaskState::Working), Err(-32001)];
    assert_eq!(states(stream).await, expected);
}

#[tokio::test]
async fn errors_keep_their_code_their_message_and_their_details() {
    let world = World::new(Over::Chat);
    let error = world.client.get_task(&get()).await.unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (-32001, "no such task"));
    let details = error.details.unwrap();
    assert_eq!(details.len(), 1);
    assert_eq!(details[0].type_url, errordetails::ERROR_INFO_TYPE);
    assert_eq!(details[0].value["reason"], "TASK_NOT_FOUND");
    // What is no answer is not shown either.
    let error = world.client.send_message(&message("nothing")).await.unwrap_err();
    assert_eq!(error.code, error_code::INVALID_AGENT_RESPONSE);
    assert!(!error.message.contains("arm"), "{error:?}");
}

#[tokio::test]
async fn service_rpc_carries_messages_whose_outcome_is_waited_for_and_nothing_else() {
    let world = World::new(Over::ServiceRpc);
    let client = &world.client;
    let mut now = message("now");
    let return_immediately = Some(true);
    now.configuration = Some(SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: None,
        history_length: None,
        return_immediately,
    });
    let subscribe = SubscribeToTaskRequest { id: "t".into(), tenant: None };
    for error in [
        client.send_streaming_message(&message("go")).await.err(),
        client.subscribe_to_task(&subscribe).await.err(),
        client.get_task(&get()).await.err(),
        client.send_message(&now).await.err(),
    ] {
        assert_eq!(error.unwrap().code, error_code::UNSUPPORTED_OPERATION);
    }
    assert!(world.asked().is_empty());
}

#[tokio::test]
async fn what_the_binding_refuses_is_not_sent() {
    let world = World::new(Over::Chat);
    let large = world.client.send_message(&message(&"x".repeat(20_000))).await.unwrap_err();
    assert_eq!(large.code, error_code::INVALID_REQUEST);
    let config = TaskPushNotificationConfig {
        task_id: "t".into(),
        url: "https://example.com/".into(),
        id: None,
        token: None,
        authentication: None,
        tenant: None,
    };
    let push = world.client.create_push_config(&config).await.unwrap_err();
    assert_eq!(push.code, error_code::PUSH_NOTIFICATION_NOT_SUPPORTED);
    assert!(world.asked().is_empty());
}

/// Gives each call a credential.
struct Credential;

#[async_trait]
impl CallInterceptor for Credential {
    async fn before(&self, _: &str, service: &mut ServiceParams) -> Result<(), A2AError> {
        service.insert("Authorization".into(), vec!["Bearer CANARY".into()]);
        service.insert("X-Trace".into(), vec!["1".into(), "2".into()]);
        Ok(())
    }

    async fn after(&self, _: &str, _: &Result<(), A2AError>) -> Result<(), A2AError> {
        Ok(())
    }
}

#[tokio::test]
async fn service_parameters_go_with_the_request_and_credentials_into_no_group() {
    for over in [Over::Chat, Over::Group] {
        let world = World::new(over);
        let client = world.client.with_interceptors(vec![Arc::new(Credential)]);
        let answer = client.send_message(&message("hi")).await;
        let asked = world.asked.lock().unwrap().first().cloned();
        match over {
            Over::Group => {
                let error = answer.unwrap_err();
                assert_eq!(error.code, error_code::INVALID_REQUEST);
                assert!(!format!("{error:?}").contains("CANARY"));
                assert!(asked.is_none());
            }
            _ => assert_eq!(
                asked.unwrap()["a2a-service-parameters"],
                json!({"A2A-Version": "1.0", "Authorization": "Bearer CANARY", "X-Trace": "1, 2"})
            ),
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_dropped_frees_its_call() {
    let mut one_call = SessionConfig::default();
    one_call.max_calls = 1;
    let world = World::with_config(Over::Chat, one_call);
    let mut stream = world.client.send_streaming_message(&message("hang")).await.unwrap();
    assert!(next(&mut stream).await.unwrap().is_ok());
    let full = world.client.send_message(&message("hi")).await.unwrap_err();
    assert_eq!(full.code, error_code::INTERNAL_ERROR);
    drop(stream);
    world.client.send_message(&message("hi")).await.unwrap();
}

#[tokio::test]
async fn a_client_goes_from_a_card_to_the_conversation_that_it_names() {
    let network = Network::in_real_time(1);
    let [shop, me] = ["shop", "me"].map(|name| network.add_profile(name).unwrap());
    let server = Server::new(&network, 1);
    let mut cores = Vec::new();
    for profile in [shop, me] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        cores.push(Core::new(format!("ws://{}", listener.local_addr().unwrap())));
        tokio::spawn(server.serve(profile, listener));
    }
    let [shop, me] = <[Core; 2]>::try_from(cores).unwrap();
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let handler = move |request, replier| answer(Arc::clone(&seen), request, replier);
    let bot = Bot::connect(shop, declared(), handler).await.unwrap();
    let link = bot.address().await.unwrap();

    let mut card: AgentCard = serde_json::from_str(CARD).unwrap();
    let http = AgentInterface::new("https://shop.example/a2a", "JSONRPC");
    card.supported_interfaces = vec![http, AgentInterface::new(link.as_str(), BINDING_URI)];
    let client = Client::connect(me).await.unwrap();
    let factory = A2AClientFactory::builder()
        .no_defaults()
        .register(Arc::new(ClientTransportFactory::new(client)))
        .build();
    let client: A2AClient<Box<dyn Transport>> =
        tokio::time::timeout(Duration::from_secs(30), factory.create_from_card(&card))
            .await
            .unwrap()
            .unwrap();
    assert!(client.send_message(&message("hi")).await.is_ok());
    let request = GetExtendedAgentCardRequest { tenant: None };
    assert_eq!(client.get_extended_agent_card(&request).await.unwrap().name, "Shop");
    // Nobody is behind it.
    card.supported_interfaces = vec![AgentInterface::new("https://elsewhere.example", BINDING_URI)];
    assert!(factory.create_from_card(&card).await.is_err());
    drop(bot);
}
