//! An `rmcp` client and an `rmcp` server that know nothing of SimpleX, over the loopback.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use agentwire_core::binding::Standard;
use agentwire_core::chat::CallOptions;
use agentwire_core::chat::session::{Declared, SessionConfig};
use agentwire_tokio::bot::{Bot, BotConfig};
use agentwire_tokio::client::{Client, RequestOptions};
use agentwire_tokio::network::Network;
use agentwire_tokio::rmcp::{ClientTransport, Server};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolRequestParams, ClientRequest, ErrorCode, ErrorData, ProgressNotificationParam,
    ProtocolVersion, Request, RequestMetaObject, ServerCapabilities, ServerConfig,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RunningService,
    ServiceError,
};
use rmcp::{
    ClientHandler, Peer, RoleClient, RoleServer, ServerHandler, schemars, tool, tool_handler,
    tool_router,
};
use tokio::sync::Notify;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

/// What all services of a bot share.
#[derive(Default)]
struct Shared {
    calls: AtomicUsize,
    is_waiting: Notify,
}

#[derive(Clone)]
struct Tools(Arc<Shared>);

#[tool_router]
impl Tools {
    #[tool(description = "the same text again")]
    async fn echo(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        text
    }

    #[tool(description = "three steps")]
    async fn steps(
        &self,
        meta: RequestMetaObject,
        client: Peer<RoleServer>,
    ) -> Result<String, ErrorData> {
        let token = meta
            .get_progress_token()
            .ok_or_else(|| ErrorData::invalid_params("a progress token is needed", None))?;
        for step in 1..=3 {
            let progress = ProgressNotificationParam::new(token.clone(), f64::from(step));
            // Over Service RPC nobody hears it.
            let _ = client.notify_progress(progress).await;
        }
        Ok("done".into())
    }

    #[tool(description = "more than one message holds")]
    async fn flood(&self) -> String {
        "x".repeat(20_000)
    }

    #[tool(description = "no answer, ever")]
    async fn hang(&self) -> String {
        self.0.is_waiting.notify_one();
        core::future::pending().await
    }
}

#[tool_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[derive(Clone, Default)]
struct Progress(Arc<Mutex<Vec<f64>>>);

impl ClientHandler for Progress {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.lock().unwrap().push(params.progress);
    }
}

type Peers = (RunningService<RoleClient, Progress>, Progress, Arc<Shared>, Bot);

/// How the client reaches the server.
#[derive(Clone, Copy, PartialEq)]
enum Over {
    Chat,
    ServiceRpc,
}

async fn peers(over: Over) -> Peers {
    limited_peers(over, SessionConfig::default()).await
}

async fn limited_peers(over: Over, config: SessionConfig) -> Peers {
    let network = Network::new(1);
    let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
    let (to_bot, _) = network.connect(&ann, &bot).unwrap();
    let address = network.open_address(&bot).unwrap();
    let shared = Arc::new(Shared::default());
    let tools = Tools(Arc::clone(&shared));
    let declared = || vec![Declared::new(Standard::MCP, ["2026-07-28"])];
    let serving = BotConfig::from(declared()).service(declared());
    let bot = Bot::start(bot, serving, Server::new(move || tools.clone()));
    let client = Client::with_config(ann, config);
    let transport = match over {
        Over::Chat => {
            let options =
                CallOptions::default().wait(Duration::from_secs(3_600), Duration::from_secs(600));
            ClientTransport::with_options(client, to_bot, options)
        }
        Over::ServiceRpc => {
            ClientTransport::over_service_rpc(client, address, RequestOptions::default())
        }
    };
    let progress = Progress::default();
    let lifecycle =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = progress.clone().serve_with_lifecycle(transport, lifecycle).await.unwrap();
    (client, progress, shared, bot)
}

fn tool(name: &'static str) -> CallToolRequestParams {
    CallToolRequestParams::new(name)
}

fn echo(text: &str) -> CallToolRequestParams {
    let arguments = serde_json::json!({ "text": text });
    tool("echo").with_arguments(arguments.as_object().unwrap().clone())
}

async fn text(client: &Peer<RoleClient>, call: CallToolRequestParams) -> String {
    let result = client.call_tool(call).await.unwrap();
    result.content[0].as_text().unwrap().text.clone()
}

#[tokio::test]
async fn tools_are_listed_and_called_in_a_chat_and_over_service_rpc() {
    for over in [Over::Chat, Over::ServiceRpc] {
        let (client, _, shared, bot) = peers(over).await;
        let mut names: Vec<_> =
            client.list_all_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        names.sort();
        assert_eq!(names, ["echo", "flood", "hang", "steps"]);
        assert_eq!(text(&client, echo("héllo \"you\"\n")).await, "héllo \"you\"\n");
        assert_eq!(shared.calls.load(Ordering::Relaxed), 1);
        client.cancel().await.unwrap();
        bot.shutdown().await;
    }
}

#[tokio::test]
async fn progress_belongs_to_its_request_and_comes_before_the_answer() {
    let (client, progress, _, bot) = peers(Over::Chat).await;
    assert_eq!(text(&client, tool("steps")).await, "done");
    assert_eq!(*progress.0.lock().unwrap(), [1.0, 2.0, 3.0]);
    bot.shutdown().await;
}

#[tokio::test]
async fn service_rpc_gives_the_answer_without_the_progress() {
    let (client, progress, _, bot) = peers(Over::ServiceRpc).await;
    assert_eq!(text(&client, tool("steps")).await, "done");
    assert!(progress.0.lock().unwrap().is_empty());
    bot.shutdown().await;
}

#[tokio::test]
async fn many_calls_at_once_get_their_own_answers() {
    let (client, _, shared, bot) = peers(Over::Chat).await;
    let calls = (0..32).map(|n| {
        let client = client.clone();
        tokio::spawn(async move { (n, text(&client, echo(&format!("call {n}"))).await) })
    });
    for call in calls.collect::<Vec<_>>() {
        let (n, answer) = call.await.unwrap();
        assert_eq!(answer, format!("call {n}"));
    }
    assert_eq!(shared.calls.load(Ordering::Relaxed), 32);
    bot.shutdown().await;
}

#[tokio::test]
async fn errors_of_the_server_and_of_the_binding_arrive_as_they_are() {
    let (client, _, _, bot) = peers(Over::Chat).await;
    let Err(ServiceError::McpError(unknown)) = client.call_tool(tool("nothing")).await else {
        panic!("an unknown tool was called")
    };
    assert_eq!(unknown.code, ErrorCode::INVALID_PARAMS);
    let Err(ServiceError::McpError(large)) = client.call_tool(tool("flood")).await else {
        panic!("20 kB fitted into one message")
    };
    assert_eq!(large.code, ErrorCode::INTERNAL_ERROR);
    // The connection is as good as before.
    assert_eq!(text(&client, echo("on")).await, "on");
    bot.shutdown().await;
}

#[tokio::test]
async fn an_envelope_error_of_service_rpc_is_named() {
    let (client, _, _, bot) = peers(Over::ServiceRpc).await;
    let Err(ServiceError::McpError(large)) = client.call_tool(tool("flood")).await else {
        panic!("20 kB fitted into one response")
    };
    assert_eq!(large.data.unwrap()["reason"], "too_large");
    bot.shutdown().await;
}

#[tokio::test]
async fn a_call_that_is_too_large_for_a_message_is_not_made() {
    let (client, _, shared, bot) = peers(Over::Chat).await;
    let refused = client.call_tool(echo(&"x".repeat(20_000))).await;
    assert!(matches!(refused, Err(ServiceError::TransportSend(_))), "{refused:?}");
    assert_eq!(text(&client, echo("on")).await, "on");
    assert_eq!(shared.calls.load(Ordering::Relaxed), 1);
    bot.shutdown().await;
}

#[tokio::test]
async fn a_cancelled_request_frees_its_call() {
    let mut one_call = SessionConfig::default();
    one_call.max_calls = 1;
    let (client, _, shared, bot) = limited_peers(Over::Chat, one_call).await;
    let request = ClientRequest::CallToolRequest(Request::new(tool("hang")));
    let options = PeerRequestOptions::default();
    let handle = client.send_cancellable_request(request, options).await.unwrap();
    shared.is_waiting.notified().await;
    let full = client.call_tool(echo("on")).await;
    assert!(matches!(full, Err(ServiceError::TransportSend(_))), "{full:?}");
    handle.cancel(Some("enough".into())).await.unwrap();
    // The call ends in a task of its own, soon.
    let mut answer = client.call_tool(echo("on")).await;
    for _ in 0..1_000 {
        if answer.is_ok() {
            break;
        }
        tokio::task::yield_now().await;
        answer = client.call_tool(echo("on")).await;
    }
    answer.unwrap();
    assert_eq!(shared.calls.load(Ordering::Relaxed), 1);
    drop(bot);
}

#[tokio::test]
async fn a_client_that_is_gone_is_a_transport_that_fails() {
    let (client, _, _, bot) = peers(Over::Chat).await;
    let peer = client.peer().clone();
    client.cancel().await.unwrap();
    assert!(peer.call_tool(echo("late")).await.is_err());
    bot.shutdown().await;
}
