//! What a bot allows, bears and reports: turns, gates, faults of its own parts, and its end.

use core::future::{pending, poll_fn};
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use agentwire_core::binding::{
    Accepted, Binding, Class, End, Expectation, Failure, Place, ProtocolName, Refusal, Standard,
};
use agentwire_core::chat::caller::CallError;
use agentwire_core::chat::session::{Declared, Reply, ReplyKind, SessionConfig};
use agentwire_core::chat::{Chat, ContactId};
use agentwire_core::json::Writer;
use agentwire_core::jsonrpc::INTERNAL_ERROR;
use agentwire_core::loopback::ProfileId;
use agentwire_core::rpc::ServiceCallError;
use agentwire_core::rpc::session::ServiceSessionConfig;
use agentwire_core::time;
use agentwire_core::turns::TurnLimits;
use agentwire_tokio::bot::{Bot, BotConfig, Gate, Handler, Replier, ReplyError, Request, Via};
use agentwire_tokio::client::{
    CallOptions, Client, ClientError, NotSent, RequestError, RequestOptions,
};
use agentwire_tokio::network::Network;
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// More than anything here takes.
const LONG: Duration = Duration::from_secs(20);

fn declared() -> Vec<Declared<Standard>> {
    vec![Declared::new(Standard::A2A, ["1.0"])]
}

fn request(id: u64) -> String {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": "SendMessage",
        "a2a-service-parameters": {"A2A-Version": "1.0"},
        "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}]}},
    })
    .to_string()
}

fn stream(id: u64) -> String {
    request(id).replace("SendMessage", "SendStreamingMessage")
}

fn result(request: &Request) -> String {
    let id = request.id.as_deref().expect("it has one");
    let message = r#"{"message":{"messageId":"n","role":"ROLE_AGENT","parts":[]}}"#;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{message}}}"#)
}

fn status(request: &Request, state: &str) -> String {
    let id = request.id.as_deref().expect("it has one");
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"statusUpdate":{{"taskId":"t","contextId":"c","status":{{"state":"TASK_STATE_{state}"}}}}}}}}"#
    )
}

async fn answer(request: Request, replier: Replier) {
    replier.respond(result(&request)).await.expect("an answer");
}

/// A bot, and callers that each have it as a contact.
struct World {
    network: Network,
    bot: Bot,
    bot_id: ProfileId,
    callers: Vec<(Client, ContactId)>,
}

fn world<G: Gate<Standard>>(
    callers: usize,
    config: BotConfig<Standard, G>,
    handler: impl Handler<Standard>,
) -> World {
    let network = Network::new(1);
    let bot = network.add_profile("bot").expect("a name");
    let callers = (0..callers).map(|n| {
        let profile = network.add_profile(&format!("caller{n}")).expect("a name");
        let (to_bot, _) = network.connect(&profile, &bot).expect("two profiles");
        (Client::start(profile), to_bot)
    });
    let callers = callers.collect();
    let bot_id = bot.id();
    let bot = Bot::start(bot, config, handler);
    World { network, bot, bot_id, callers }
}

impl World {
    async fn ask(&self, caller: usize, request: String) -> Result<Reply, ClientError> {
        let (client, bot) = &self.callers[caller];
        client.call(Standard::A2A, *bot, request, CallOptions::default()).await?.last().await
    }
}

fn error(reply: &Reply) -> Value {
    let value: Value = serde_json::from_str(&reply.text).expect("JSON");
    assert_eq!(reply.kind, ReplyKind::Last(End::Error { code: INTERNAL_ERROR }), "{value}");
    value["error"]["data"][0]["reason"].clone()
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(LONG, future).await.expect("it comes in time")
}

#[tokio::test]
async fn a_caller_who_floods_takes_nothing_from_the_others() {
    let (begun, mut seen) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let held = Arc::clone(&gate);
    let handler = move |request: Request, replier: Replier| {
        let (begun, held) = (begun.clone(), Arc::clone(&held));
        async move {
            let Via::Chat { chat: Chat::Direct(caller), .. } = &request.via else { return };
            begun.send(caller.0).expect("somebody looks");
            held.acquire().await.expect("it stays open").forget();
            answer(request, replier).await;
        }
    };
    let turns = TurnLimits::default().running_per_caller(2).waiting_per_caller(5);
    let world = Arc::new(world(2, BotConfig::from(declared()).turns(turns), handler));
    let mut calls = JoinSet::new();
    for id in 0..20 {
        let world = Arc::clone(&world);
        calls.spawn(async move { world.ask(0, request(id)).await.expect("a reply") });
    }
    // Two are handled, five wait, and the others are told at once.
    for _ in 0..13 {
        let refused = within(calls.join_next()).await.expect("a call").expect("no panic");
        assert_eq!(error(&refused), "BUSY");
    }
    let calm = Arc::clone(&world);
    let calm = tokio::spawn(async move { calm.ask(1, request(99)).await.expect("a reply") });
    let mut callers = Vec::new();
    for _ in 0..3 {
        callers.push(within(seen.recv()).await.expect("a handler"));
    }
    assert_eq!(callers[0], callers[1]);
    assert_ne!(callers[0], callers[2], "the other caller is handled before the third of the first");
    gate.add_permits(8);
    assert!(within(calm).await.expect("no panic").kind.is_last());
    let mut answered = 0;
    while let Some(reply) = within(calls.join_next()).await {
        assert_eq!(reply.expect("no panic").kind, ReplyKind::Last(End::Answer));
        answered += 1;
    }
    assert_eq!(answered, 7);
}

/// Lets only so many requests be open, asks the owner about each, and knows what it has let in.
#[derive(Clone)]
struct Counting {
    open: Arc<AtomicUsize>,
    limit: usize,
    verdict: Result<(), Failure<'static>>,
}

struct Pass(Arc<AtomicUsize>);

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Gate<Standard> for Counting {
    type Pass = Pass;

    fn admit(&self, _: time::Instant, _: &Request) -> Result<Pass, Failure<'static>> {
        if self.open.fetch_add(1, Ordering::SeqCst) >= self.limit {
            self.open.fetch_sub(1, Ordering::SeqCst);
            return Err(Failure::Busy { capacity: self.limit });
        }
        Ok(Pass(Arc::clone(&self.open)))
    }

    async fn approve(&self, _: &Request) -> Result<(), Failure<'static>> {
        sleep(Duration::from_millis(1)).await;
        self.verdict
    }
}

#[tokio::test]
async fn a_gate_decides_and_knows_how_long_each_request_is_open() {
    let open = Arc::new(AtomicUsize::new(0));
    let gate = Counting { open: Arc::clone(&open), limit: 3, verdict: Ok(()) };
    let held = Arc::new(Semaphore::new(0));
    let permits = Arc::clone(&held);
    let handler = move |request: Request, replier: Replier| {
        let held = Arc::clone(&held);
        async move {
            held.acquire().await.expect("it stays open").forget();
            answer(request, replier).await;
        }
    };
    let world = Arc::new(world(1, BotConfig::from(declared()).gate(gate), handler));
    let mut calls = JoinSet::new();
    for id in 0..5 {
        let world = Arc::clone(&world);
        calls.spawn(async move { world.ask(0, request(id)).await.expect("a reply") });
    }
    for _ in 0..2 {
        let refused = within(calls.join_next()).await.expect("a call").expect("no panic");
        assert_eq!(error(&refused), "BUSY");
    }
    assert_eq!(open.load(Ordering::SeqCst), 3);
    permits.add_permits(3);
    while let Some(reply) = within(calls.join_next()).await {
        assert_eq!(reply.expect("no panic").kind, ReplyKind::Last(End::Answer));
    }
    within(async {
        while open.load(Ordering::SeqCst) > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_the_owner_does_not_approve_is_not_handled() {
    let open = Arc::new(AtomicUsize::new(0));
    let verdict = Err(Failure::InvalidRequest("the owner says no"));
    let gate = Counting { open: Arc::clone(&open), limit: 3, verdict };
    let never = |_: Request, _: Replier| async { panic!("it was not approved") };
    let world = world(1, BotConfig::from(declared()).gate(gate), never);
    let reply = within(world.ask(0, request(1))).await.expect("a reply");
    let value: Value = serde_json::from_str(&reply.text).expect("JSON");
    assert_eq!(value["error"]["message"], "the owner says no");
}

#[tokio::test]
async fn a_gate_that_panics_refuses_and_the_bot_lives() {
    struct Brittle(AtomicUsize);

    impl Gate<Standard> for Brittle {
        type Pass = ();

        fn admit(&self, _: time::Instant, _: &Request) -> Result<(), Failure<'static>> {
            assert!(self.0.fetch_add(1, Ordering::SeqCst) > 0, "the first one is too much");
            Ok(())
        }
    }

    let config = BotConfig::from(declared()).gate(Brittle(AtomicUsize::new(0)));
    let world = world(1, config, answer);
    let refused = within(world.ask(0, request(1))).await.expect("a reply");
    assert_eq!(error(&refused), "INTERNAL");
    let reply = within(world.ask(0, request(2))).await.expect("a reply");
    assert_eq!(reply.kind, ReplyKind::Last(End::Answer));
}

/// A2A, but for requests that name what it panics at.
#[derive(Clone, Copy, Debug)]
struct Brittle;

impl Binding for Brittle {
    fn name(&self) -> ProtocolName<'static> {
        Standard::A2A.name()
    }

    fn accept<'m>(
        &self,
        request: &'m str,
        versions: &'m [&'m str],
        place: Place,
    ) -> Result<Accepted<'m>, Refusal<'m>> {
        // The caller asks without versions.
        assert!(versions.is_empty() || !request.contains("accept"), "as it was told");
        Standard::A2A.accept(request, versions, place)
    }

    fn classify<'m>(&self, expected: &Expectation, reply: &'m str) -> Class<'m> {
        assert!(!reply.contains("classify"), "as it was told");
        Standard::A2A.classify(expected, reply)
    }

    fn write_failure(&self, failure: &Failure<'_>, id: Option<&str>, out: &mut Writer<'_>) {
        Standard::A2A.write_failure(failure, id, out);
    }
}

#[tokio::test]
async fn a_binding_that_panics_costs_one_request() {
    let network = Network::new(1);
    let (ann, bob) = (network.add_profile("ann").unwrap(), network.add_profile("bob").unwrap());
    let (to_bob, _) = network.connect(&ann, &bob).unwrap();
    let handler = |request: Request<Brittle>, replier: Replier<Brittle>| async move {
        let id = request.id.expect("it has one");
        let word = if request.text.contains("classify") { "classify" } else { "ok" };
        let message =
            format!(r#"{{"message":{{"messageId":"{word}","role":"ROLE_AGENT","parts":[]}}}}"#);
        let _ =
            replier.respond(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{message}}}"#)).await;
    };
    let _bot = Bot::start(bob, vec![Declared::new(Brittle, ["1.0"])], handler);
    let client = Client::start(ann);
    let ask = async |word: &str| {
        let request = request(1).replace("go", word);
        let replies =
            client.call(Standard::A2A, to_bob, request, CallOptions::default()).await.unwrap();
        within(replies.last()).await.unwrap()
    };
    assert_eq!(error(&ask("accept").await), "INTERNAL");
    assert_eq!(error(&ask("classify").await), "INTERNAL");
    assert_eq!(ask("go").await.kind, ReplyKind::Last(End::Answer));
}

#[tokio::test]
async fn a_handler_learns_that_its_answer_was_refused() {
    let (outcome, learned) = oneshot::channel();
    let outcome = Mutex::new(Some(outcome));
    let (begun, has_begun) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let held = Arc::clone(&gate);
    let handler = move |request: Request, mut replier: Replier| {
        let outcome = outcome.lock().expect("no panic").take();
        let (begun, held) = (begun.clone(), Arc::clone(&held));
        async move {
            let Via::Chat { chat, item, .. } = request.via else { return };
            begun.send((chat, item)).expect("somebody looks");
            held.acquire().await.expect("it stays open").forget();
            let part = replier.notify(status(&request, "WORKING")).await;
            let last = replier.respond(status(&request, "COMPLETED")).await;
            outcome.expect("one request").send((part, last)).expect("somebody waits");
        }
    };
    let mut has_begun = has_begun;
    let world = world(1, BotConfig::from(declared()), handler);
    let (client, bot) = &world.callers[0];
    let _replies =
        client.call(Standard::A2A, *bot, stream(1), CallOptions::default()).await.expect("sent");
    // The bot's side loses the command, so that it cannot be quoted any more.
    let (chat, item) = within(has_begun.recv()).await.expect("a handler");
    world.network.with(|net| net.forget(world.bot_id, chat, item)).expect("it was there");
    gate.add_permits(1);
    let (part, last) = within(learned).await.expect("it tells");
    assert!(matches!(part, Err(ReplyError::NotSent(NotSent::Message(_)))), "{part:?}");
    assert!(matches!(last, Err(ReplyError::NotSent(NotSent::Message(_)))), "{last:?}");
}

#[tokio::test]
async fn replies_are_a_stream() {
    let handler = |request: Request, mut replier: Replier| async move {
        for _ in 0..3 {
            replier.notify(status(&request, "WORKING")).await.expect("sent");
        }
        replier.respond(status(&request, "COMPLETED")).await.expect("sent");
    };
    let world = world(1, BotConfig::from(declared()), handler);
    let (client, bot) = &world.callers[0];
    let call = client.call(Standard::A2A, *bot, stream(1), CallOptions::default());
    let mut replies = call.await.expect("sent");
    let mut kinds = Vec::new();
    while let Some(reply) = within(poll_fn(|cx| Pin::new(&mut replies).poll_next(cx))).await {
        kinds.push(reply.expect("a reply").kind.is_last());
    }
    assert_eq!(kinds, [false, false, false, true]);
}

#[tokio::test]
async fn a_request_that_is_given_up_frees_its_place() {
    let network = Network::new(1);
    let (ann, bob) = (network.add_profile("ann").unwrap(), network.add_profile("bob").unwrap());
    let address = network.open_address(&bob).unwrap();
    let config = BotConfig::default().service(declared());
    let _bot = Bot::start(bob, config, |_: Request, _replier: Replier| pending());
    let client = Client::start(ann);
    let limit = ServiceSessionConfig::default().max_calls;
    let ask = |id| {
        let options = RequestOptions::default();
        client.request(Standard::A2A, address, request(id), options)
    };
    for id in 0..limit as u64 + 10 {
        let early = timeout(Duration::from_millis(1), ask(id)).await;
        assert!(!matches!(early, Ok(Err(RequestError::Call(ServiceCallError::Full { .. })))));
    }
}

#[tokio::test]
async fn an_end_within_a_span_answers_what_is_open() {
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let handler = move |_: Request, replier: Replier| {
        let begun = begun.clone();
        async move {
            begun.send(()).expect("somebody looks");
            pending::<()>().await;
            drop(replier);
        }
    };
    let World { bot, callers, network, .. } = world(1, BotConfig::from(declared()), handler);
    let (client, to_bot) = callers.into_iter().next().expect("one");
    let call = client.call(Standard::A2A, to_bot, request(1), CallOptions::default());
    let replies = call.await.expect("sent");
    within(has_begun.recv()).await.expect("a handler");
    within(bot.shutdown_within(Duration::from_millis(20))).await;
    let reply = within(replies.last()).await.expect("an answer");
    assert_eq!(error(&reply), "STOPPING");
    drop(network);
}

#[tokio::test]
async fn a_handler_that_waits_for_ever_ends_at_the_deadline() {
    let (begun, mut ended) = mpsc::unbounded_channel::<()>();
    let handler = move |_: Request, replier: Replier| {
        let begun = begun.clone();
        async move {
            pending::<()>().await;
            drop((replier, begun));
        }
    };
    let mut session = SessionConfig::default();
    session.responder.overall = Duration::from_millis(50);
    session.responder.idle = Duration::from_millis(50);
    let world = world(1, BotConfig::from(declared()).session(session), handler);
    let reply = within(world.ask(0, request(1))).await.expect("a reply");
    assert_eq!(error(&reply), "TIMEOUT");
    world.bot.shutdown().await;
    // The handler is gone, and what it held.
    assert_eq!(within(ended.recv()).await, None);
}

#[tokio::test]
async fn a_call_too_many_is_refused_here() {
    let network = Network::new(1);
    let (ann, bob) = (network.add_profile("ann").unwrap(), network.add_profile("bob").unwrap());
    let (to_bob, _) = network.connect(&ann, &bob).unwrap();
    let mut config = SessionConfig::default();
    config.max_calls = 1;
    let client = Client::with_config(ann, config);
    let call = |id| client.call(Standard::A2A, to_bob, request(id), CallOptions::default());
    let first = call(1).await.expect("there is room");
    assert!(matches!(call(2).await, Err(ClientError::Call(CallError::Full { capacity: 1 }))));
    drop(first);
    call(3).await.map(drop).expect("its place is free");
}
