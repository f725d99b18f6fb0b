//! Service RPC from outside: the client's requests, and the bot that answers them with the handler
//! of its conversations.

use core::future::{Future, pending};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use agentwire_core::binding::{End, Failure, Standard};
use agentwire_core::chat::session::Declared;
use agentwire_core::jsonrpc::METHOD_NOT_FOUND;
use agentwire_core::loopback::{
    Faults, ServiceAddress, ServiceOrigin, ServiceRequestError, ServiceTarget,
};
use agentwire_core::rpc::session::{ServiceReply, ServiceReplyKind};
use agentwire_core::rpc::{
    CoreFailure, ErrorCode, Executed, Retry, ServiceAnswerError, ServiceCallError, SignerKey,
};
use agentwire_tokio::bot::{Bot, BotConfig, Handler, Replier, ReplyError, Request, Via};
use agentwire_tokio::client::{self, CallOptions, Client, RequestError, RequestOptions};
use agentwire_tokio::network::{Network, ServiceNotSent};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

const KEY: &str = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";

fn mcp(method: &str) -> String {
    json!({
        "jsonrpc": "2.0",
        "id": 7,
        "method": method,
        "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    })
    .to_string()
}

fn result(request: &Request, text: &str) -> String {
    let id = request.id.as_deref().expect("MCP has ids");
    let result = json!({"resultType": "complete", "content": [{"type": "text", "text": text}]});
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// Says how the request has come.
async fn echo(request: Request, replier: Replier) {
    let said = match &request.via {
        Via::Service { signer: Some(key) } => key.to_string(),
        Via::Service { signer: None } => String::from("anybody"),
        _ => String::from("chat"),
    };
    replier.respond(result(&request, &said)).await.expect("an answer");
}

struct Pair {
    network: Network,
    client: Client,
    address: ServiceAddress,
    contact: agentwire_core::chat::ContactId,
    bot: Bot,
}

fn pair(handler: impl Handler<Standard>) -> Pair {
    let network = Network::new(1);
    let ann = network.add_profile("ann").expect("a name");
    let bob = network.add_profile("bob").expect("a name");
    let (contact, _) = network.connect(&ann, &bob).expect("two profiles");
    let address = network.open_address(&bob).expect("its first");
    let declared = || vec![Declared::new(Standard::MCP, ["2026-07-28"])];
    let config = BotConfig::from(declared()).service(declared());
    let client = Client::start(ann);
    Pair { network, client, address, contact, bot: Bot::start(bob, config, handler) }
}

impl Pair {
    async fn ask_with(
        &self,
        target: impl Into<client::ServiceTarget>,
        options: RequestOptions,
    ) -> Result<ServiceReply, RequestError> {
        self.client.request(Standard::MCP, target, mcp("tools/list"), options).await
    }

    async fn ask(&self) -> ServiceReply {
        self.ask_with(self.address, RequestOptions::default()).await.expect("it is made")
    }
}

async fn ask(client: Client, address: ServiceAddress) -> Result<ServiceReply, RequestError> {
    client.request(Standard::MCP, address, mcp("tools/list"), RequestOptions::default()).await
}

fn text_of(reply: &ServiceReply) -> String {
    let ServiceReplyKind::Answer { text, end: End::Answer } = &reply.kind else {
        panic!("{reply:?}")
    };
    let value: Value = serde_json::from_str(text).expect("JSON");
    value["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
}

fn code_of(reply: &ServiceReply) -> ErrorCode {
    match &reply.kind {
        ServiceReplyKind::Error { code, .. } => *code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_handler_answers_conversations_and_service_rpc() {
    let pair = pair(echo);
    let reply = pair.ask().await;
    assert_eq!((text_of(&reply).as_str(), reply.executed), ("anybody", Executed::Yes));

    let target = ServiceTarget::new(pair.address).signed_by(KEY);
    let options = RequestOptions::default().request_key(KEY);
    let reply = pair.ask_with(target, options).await.expect("it is made");
    assert_eq!(text_of(&reply), SignerKey::parse(KEY).expect("a key").to_string());

    let options = CallOptions::default();
    let replies = pair.client.call(Standard::MCP, pair.contact, mcp("tools/list"), options);
    let reply = replies.await.expect("a call").last().await.expect("a reply");
    assert!(reply.text.contains("chat"));
    pair.bot.shutdown().await;
}

#[tokio::test]
async fn a_notification_is_refused_and_the_request_still_answered() {
    let (told, mut said) = mpsc::unbounded_channel();
    let pair = pair(move |request: Request, mut replier: Replier| {
        let told = told.clone();
        async move {
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
            let _ = told.send((replier.can_notify(), replier.notify(progress).await));
            replier.respond(result(&request, "done")).await.expect("an answer");
        }
    });
    assert_eq!(text_of(&pair.ask().await), "done");
    assert_eq!(said.recv().await, Some((false, Err(ReplyError::OneResponse))));
    let options = CallOptions::default();
    let replies = pair.client.call(Standard::MCP, pair.contact, mcp("tools/list"), options);
    replies.await.expect("a call").last().await.expect("a reply");
    assert!(said.recv().await.is_some_and(|(can_notify, result)| can_notify && result.is_ok()));
}

#[tokio::test]
async fn what_a_handler_does_wrong_is_the_envelopes_error() {
    let panics = pair(|_: Request, _: Replier| async { panic!("a handler's own") });
    let reply = panics.ask().await;
    assert_eq!((code_of(&reply), reply.executed), (ErrorCode::Internal, Executed::Unknown));

    let (told, mut said) = mpsc::unbounded_channel();
    let foreign = pair(move |_: Request, replier: Replier| {
        let told = told.clone();
        async move {
            let _ = told.send(replier.respond("no JSON").await);
        }
    });
    assert_eq!(code_of(&foreign.ask().await), ErrorCode::Internal);
    let refused = said.recv().await.expect("told").expect_err("not an answer");
    assert!(matches!(refused, ReplyError::Service(ServiceAnswerError::NotAnAnswer(_))));

    let large = pair(|request: Request, replier: Replier| async move {
        let text = result(&request, &"x".repeat(request.room));
        let size = replier.respond(text).await.expect("taken").expect("replaced");
        assert!(size.needed > size.limit);
    });
    assert_eq!(code_of(&large.ask().await), ErrorCode::TooLarge);

    let fails = pair(|_: Request, replier: Replier| async move {
        replier.fail(Failure::MethodNotFound);
    });
    let reply = fails.ask().await;
    let code = METHOD_NOT_FOUND;
    assert!(
        matches!(&reply.kind, ServiceReplyKind::Answer { end: End::Error { code: c }, .. } if *c == code),
        "{reply:?}"
    );
}

#[tokio::test]
async fn a_handler_can_ask_for_a_conversation() {
    let pair = pair(|_: Request, replier: Replier| async { replier.require_conversation() });
    let reply = pair.ask().await;
    assert_eq!(code_of(&reply), ErrorCode::ConversationRequired);
    assert_eq!((reply.executed, reply.retry), (Executed::No, Retry::InConversation));
    let options = CallOptions::default();
    let replies = pair.client.call(Standard::MCP, pair.contact, mcp("tools/list"), options);
    let reply = replies.await.expect("a call").last().await.expect("a reply");
    assert!(reply.text.contains("-32603"), "{}", reply.text);
}

#[tokio::test(start_paused = true)]
async fn a_bot_without_service_requests_meets_the_cores_timeout() {
    let pair = pair(echo);
    let bob = pair.network.with(|net| net.profile_at(pair.address)).expect("its address");
    pair.network.with(|net| net.enable_service_requests(bob, false)).expect("a profile");
    let start = Instant::now();
    let reply = pair.ask().await;
    assert_eq!(start.elapsed().as_secs(), 30);
    assert_eq!(reply.kind, ServiceReplyKind::Core(CoreFailure::Timeout));
    assert_eq!((reply.executed, reply.retry), (Executed::Unknown, Retry::IfHarmless));
    let options = RequestOptions::default().timeout(Duration::from_secs(5));
    pair.ask_with(pair.address, options).await.expect("it is made");
    assert_eq!(start.elapsed().as_secs(), 35);
}

#[tokio::test]
async fn what_is_not_sent_is_an_error() {
    let pair = pair(echo);
    let mut seen = pair.network.observe_services();
    let carol = pair.network.add_profile("carol").expect("a name");
    let plain = pair.network.with(|net| net.create_address(carol.id(), false)).expect("its first");
    let error = ServiceRequestError::NoRatchetKeys;
    let refused = pair.ask_with(plain, RequestOptions::default()).await;
    assert_eq!(refused, Err(RequestError::NotSent(error.into())));
    let observed = seen.recv().await.expect("observed");
    assert_eq!(observed.message, Err(ServiceNotSent::Request(error)));

    let options = RequestOptions::default().request_key(KEY);
    let refused = pair.ask_with(pair.address, options).await;
    assert_eq!(refused, Err(RequestError::Call(ServiceCallError::KeyWithoutSignature)));
}

#[tokio::test]
async fn requests_and_responses_are_observed_with_their_sizes() {
    let pair = pair(echo);
    let mut seen = pair.network.observe_services();
    pair.ask().await;
    let request = seen.recv().await.expect("the request");
    let response = seen.recv().await.expect("the response");
    assert_eq!((&*request.profile, request.to.as_deref()), ("ann", Some("bob")));
    assert_eq!((&*response.profile, response.to.as_deref()), ("bob", Some("ann")));
    let (request, response) = (request.message.expect("sent"), response.message.expect("sent"));
    assert!(matches!(request.origin, ServiceOrigin::Request { is_signed: false, .. }));
    assert_eq!(response.origin, ServiceOrigin::Response(None));
    assert_eq!(request.framed_len, request.json_len + 192);
    assert_eq!(response.framed_len, response.json_len + 3);
}

#[tokio::test(start_paused = true)]
async fn a_handler_whose_limit_passes_is_ended() {
    struct OnDrop(Arc<AtomicBool>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let is_dropped = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&is_dropped);
    let pair = pair(move |_: Request, replier: Replier| {
        let guard = OnDrop(Arc::clone(&shared));
        async move {
            let _held = (guard, replier);
            pending::<()>().await;
        }
    });
    let start = Instant::now();
    let options = RequestOptions::default().timeout(Duration::from_secs(300));
    let reply = pair.ask_with(pair.address, options).await.expect("it is made");
    assert_eq!((code_of(&reply), start.elapsed().as_secs()), (ErrorCode::Internal, 170));
    sleep(Duration::from_millis(1)).await;
    assert!(is_dropped.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_bot_that_ends_answers_what_is_open_and_takes_nothing_new() {
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let pair = pair(move |request: Request, replier: Replier| {
        let begun = begun.clone();
        async move {
            let (go, may_go) = oneshot::channel::<()>();
            begun.send(go).expect("the test waits");
            may_go.await.expect("it lets go");
            replier.respond(result(&request, "done")).await.expect("an answer");
        }
    });
    let Pair { client, address, bot, .. } = pair;
    let first = tokio::spawn(ask(client.clone(), address));
    let go = has_begun.recv().await.expect("it has begun");
    let mut shutdown = Box::pin(bot.shutdown());
    let is_over = core::future::poll_fn(|context| {
        core::task::Poll::Ready(Future::poll(shutdown.as_mut(), context).is_ready())
    });
    assert!(!is_over.await, "a request is open");
    sleep(Duration::from_millis(5)).await;
    let refused = ask(client.clone(), address).await.expect("it is made");
    assert_eq!((code_of(&refused), refused.executed), (ErrorCode::RateLimited, Executed::No));
    go.send(()).expect("the handler waits");
    shutdown.await;
    let reply = first.await.expect("no panic").expect("it is made");
    assert_eq!(text_of(&reply), "done");
}

#[tokio::test(start_paused = true)]
async fn a_slow_network_and_a_dropped_wait_do_no_harm() {
    let pair = pair(echo);
    let delay = Duration::from_secs(3);
    pair.network.with(|net| net.set_faults(Faults::new().delay(delay, delay)));
    let start = Instant::now();
    let waited = tokio::time::timeout(Duration::from_secs(1), pair.ask()).await;
    assert!(waited.is_err());
    assert_eq!(text_of(&pair.ask().await), "anybody");
    assert_eq!(start.elapsed().as_secs(), 7);
}
