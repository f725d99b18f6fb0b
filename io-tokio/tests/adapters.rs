//! The client and the bot from outside, over the loopback: good company and bad.

use core::future::pending;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use agentwire_core::binding::{
    Accepted, Binding, Class, End, Expectation, Failure, Foreign, Place, ProtocolName, Refusal,
    Standard,
};
use agentwire_core::chat::caller::CallError;
use agentwire_core::chat::responder::AnswerError;
use agentwire_core::chat::session::{Declared, Origin, Reply, ReplyKind, SessionConfig};
use agentwire_core::chat::size::MAX_ENCODED_MSG_LEN;
use agentwire_core::chat::{Chat, ContactId, GroupId, Sender};
use agentwire_core::json::{Object, Writer};
use agentwire_core::jsonrpc::INTERNAL_ERROR;
use agentwire_core::loopback::{Fault, Faults, ProfileId};
use agentwire_core::turns::TurnLimits;
use agentwire_tokio::bot::{Bot, BotConfig, Handler, Replier, ReplyError, Request};
use agentwire_tokio::client::{CallOptions, Client, ClientError, Replies, Target};
use agentwire_tokio::network::Network;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

fn declared() -> Vec<Declared<Standard>> {
    vec![Declared::new(Standard::MCP, ["2026-07-28"]), Declared::new(Standard::A2A, ["1.0"])]
}

fn mcp(id: u64, method: &str) -> String {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": method,
        "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": 1,
        }},
    })
    .to_string()
}

fn stream(id: u64) -> String {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": "SendStreamingMessage",
        "a2a-service-parameters": {"A2A-Version": "1.0"},
        "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}]}},
    })
    .to_string()
}

const PROGRESS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;

/// A result with the request's own id.
fn result(request: &Request, text: &str) -> String {
    let id = request.id.as_deref().expect("both protocols have ids");
    let text = Value::from(text);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":{text}}}]}}}}"#
    )
}

fn status(request: &Request, state: &str) -> String {
    let id = request.id.as_deref().expect("both protocols have ids");
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"statusUpdate":{{"taskId":"t","contextId":"c","status":{{"state":"TASK_STATE_{state}"}}}}}}}}"#
    )
}

async fn method(request: &Request) -> String {
    let message: Value = serde_json::from_str(&request.text).expect("the session has read it");
    message["method"].as_str().expect("and its method").to_owned()
}

/// Answers with the method.
async fn echo(request: Request, replier: Replier) {
    let method = method(&request).await;
    replier.respond(result(&request, &method)).await.expect("an answer");
}

/// A client, and the bot it can call.
struct Pair {
    network: Network,
    client: Client,
    ids: (ProfileId, ProfileId),
    to_bot: ContactId,
    bot: Bot,
}

fn pair(handler: impl Handler<Standard>) -> Pair {
    pair_with(SessionConfig::default(), SessionConfig::default(), handler)
}

fn pair_with(client: SessionConfig, bot: SessionConfig, handler: impl Handler<Standard>) -> Pair {
    pair_of(client, BotConfig::from(declared()).session(bot), handler)
}

fn pair_of(
    client: SessionConfig,
    bot: BotConfig<Standard>,
    handler: impl Handler<Standard>,
) -> Pair {
    let network = Network::new(1);
    let ann = network.add_profile("ann").expect("a name");
    let bob = network.add_profile("bob").expect("a name");
    let (to_bot, _) = network.connect(&ann, &bob).expect("two profiles");
    let ids = (ann.id(), bob.id());
    let client = Client::with_config(ann, client);
    let bot = Bot::start(bob, bot, handler);
    Pair { network, client, ids, to_bot, bot }
}

impl Pair {
    async fn call(&self, request: String) -> Replies {
        self.client
            .call(Standard::MCP, self.to_bot, request, CallOptions::default())
            .await
            .expect("it is sent")
    }

    async fn ask(&self, method: &str) -> Reply {
        self.call(mcp(7, method)).await.last().await.expect("a last reply")
    }
}

fn is_internal_error(reply: &Reply) -> bool {
    reply.kind == ReplyKind::Last(End::Error { code: INTERNAL_ERROR })
}

fn value(reply: &Reply) -> Value {
    serde_json::from_str(&reply.text).expect("JSON")
}

/// Polls a future once.
macro_rules! poll {
    ($future:expr) => {
        core::future::poll_fn(|context| {
            core::task::Poll::Ready(Future::poll($future.as_mut(), context))
        })
        .await
    };
}

/// Waits until `done`, a few turns of the runtime later.
async fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if done() {
            return;
        }
        sleep(Duration::from_millis(1)).await;
    }
    panic!("{what}");
}

/// A group of ann and some bots; ann's client, her group, and how she mentions the first bot.
fn group(names: &[&'static str]) -> (Network, Client, GroupId, Target, Vec<Bot>) {
    let network = Network::new(1);
    let ann = network.add_profile("ann").expect("a name");
    let group = network.with(|net| net.create_group(ann.id(), "team")).expect("a name");
    let mut bots = Vec::new();
    let mut first = None;
    for &name in names {
        let profile = network.add_profile(name).expect("a name");
        let id = profile.id();
        network.with(|net| net.join(group, id)).expect("it joins");
        first.get_or_insert(id);
        let say = move |request: Request, replier: Replier| async move {
            replier.respond(result(&request, name)).await.expect("an answer");
        };
        bots.push(Bot::start(profile, declared(), say));
    }
    let first = first.expect("a bot");
    let (market, member) = network.with(|net| {
        let market = net.group_id(group, ann.id()).expect("she made it");
        (market, net.member_of(group, ann.id(), first).expect("a member"))
    });
    let mentioned = Target::Member {
        group: market,
        member: member.member,
        group_member: member.group_member_id,
        name: member.name,
    };
    (network, Client::start(ann), market, mentioned, bots)
}

#[tokio::test]
async fn a_call_in_a_direct_chat_is_answered() {
    let pair = pair(echo);
    let mut replies = pair.call(mcp(7, "tools/list")).await;
    let reply = replies.next().await.expect("a reply").expect("no error");
    assert_eq!((reply.kind.clone(), reply.is_end), (ReplyKind::Last(End::Answer), true));
    assert_eq!(reply.sender, Sender::Contact);
    assert_eq!(value(&reply)["result"]["content"][0]["text"], "tools/list");
    assert!(replies.next().await.is_none());
    assert!(replies.next().await.is_none());
}

#[tokio::test]
async fn a_mention_is_answered_by_the_mentioned_alone() {
    let (network, client, _, mentioned, _bots) = group(&["bob", "cora"]);
    let mut seen = network.observe();
    let replies = client.call(Standard::MCP, mentioned, mcp(1, "ping"), CallOptions::default());
    let reply = replies.await.expect("sent").last().await.expect("an answer");
    assert_eq!(value(&reply)["result"]["content"][0]["text"], "bob");
    sleep(Duration::from_millis(5)).await;
    let mut who = Vec::new();
    while let Ok(seen) = seen.try_recv() {
        who.push(seen.profile.to_string());
    }
    assert_eq!(who, ["ann", "bob"]);
}

#[tokio::test(start_paused = true)]
async fn a_broadcast_is_answered_by_each_member_in_its_name() {
    let (_network, client, group, _, _bots) = group(&["bob", "cora", "dan"]);
    let options = CallOptions::default().answers(3);
    let everyone = Target::Everyone(group);
    let mut replies =
        client.call(Standard::MCP, everyone.clone(), mcp(1, "x"), options).await.expect("sent");
    let (mut names, mut senders) = (Vec::new(), Vec::new());
    while let Some(reply) = replies.next().await {
        let reply = reply.expect("an answer");
        names
            .push(value(&reply)["result"]["content"][0]["text"].as_str().expect("text").to_owned());
        assert!(!senders.contains(&reply.sender), "{:?} twice", reply.sender);
        senders.push(reply.sender);
    }
    names.sort();
    assert_eq!(names, ["bob", "cora", "dan"]);

    // Without a number the wait ends it, and says how many there were.
    let options = CallOptions::default().wait(Duration::from_secs(9), Duration::from_secs(9));
    let mut replies =
        client.call(Standard::MCP, everyone, mcp(2, "x"), options).await.expect("sent");
    let start = Instant::now();
    for _ in 0..3 {
        assert!(replies.next().await.expect("a reply").is_ok());
    }
    match replies.next().await {
        Some(Err(ClientError::TimedOut(end))) => assert_eq!(end.answers, 3),
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() <= Duration::from_millis(9_010));
    assert!(replies.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stream_comes_in_order_and_extends_the_idle_limit() {
    let pair = pair(|request: Request, mut replier: Replier| async move {
        for state in ["SUBMITTED", "WORKING", "WORKING"] {
            replier.notify(status(&request, state)).await.expect("a part");
            sleep(Duration::from_secs(100)).await;
        }
        replier.respond(status(&request, "COMPLETED")).await.expect("the end");
    });
    let options = CallOptions::default().wait(Duration::from_secs(400), Duration::from_secs(120));
    let call = pair.client.call(Standard::A2A, pair.to_bot, stream(3), options);
    let mut replies = call.await.expect("sent");
    let mut states = Vec::new();
    while let Some(reply) = replies.next().await {
        let reply = reply.expect("a part");
        let state = value(&reply)["result"]["statusUpdate"]["status"]["state"].clone();
        states.push((state.as_str().expect("text").to_owned(), reply.kind.is_last()));
    }
    let expected =
        [("SUBMITTED", false), ("WORKING", false), ("WORKING", false), ("COMPLETED", true)];
    let expected = expected.map(|(state, last)| (format!("TASK_STATE_{state}"), last));
    assert_eq!(states, expected);
}

#[tokio::test]
async fn a_handler_that_panics_is_an_internal_error_and_harms_nobody() {
    let pair = pair(|request: Request, replier: Replier| async move {
        assert_eq!(method(&request).await, "good", "this one is bad");
        echo(request, replier).await;
    });
    let (bad, good) = tokio::join!(pair.ask("bad"), pair.ask("good"));
    assert!(is_internal_error(&bad));
    assert_eq!(value(&bad)["id"], 7);
    assert_eq!(good.kind, ReplyKind::Last(End::Answer));
    assert_eq!(pair.ask("good").await.kind, ReplyKind::Last(End::Answer));
}

/// A handler that panics before it is a future.
struct Early;

impl Handler<Standard> for Early {
    #[allow(clippy::manual_async_fn, reason = "the panic has to come before the future")]
    fn handle(&self, request: Request, replier: Replier) -> impl Future<Output = ()> + Send {
        assert!(request.id.is_none(), "at once");
        async move { drop(replier) }
    }
}

#[tokio::test]
async fn a_handler_that_panics_before_its_first_await_is_an_internal_error() {
    let pair = pair(Early);
    assert!(is_internal_error(&pair.ask("x").await));
    assert!(is_internal_error(&pair.ask("x").await));
}

#[tokio::test]
async fn a_dropped_replier_is_an_internal_error() {
    let pair = pair(async |_request: Request, replier: Replier| drop(replier));
    assert!(is_internal_error(&pair.ask("x").await));
}

#[tokio::test]
async fn a_handler_says_why_it_fails() {
    let pair = pair(async |_: Request, replier: Replier| replier.fail(Failure::MethodNotFound));
    let reply = pair.ask("x").await;
    assert_eq!(reply.kind, ReplyKind::Last(End::Error { code: -32601 }));
}

/// Tells when it is dropped.
struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_answers_meets_its_deadline_and_is_ended() {
    let ended = Arc::new(AtomicBool::new(false));
    let mut config = SessionConfig::default();
    config.responder.overall = Duration::from_secs(20);
    config.responder.idle = Duration::from_secs(5);
    config.max_requests = 1;
    let seen = Arc::clone(&ended);
    let pair = pair_with(SessionConfig::default(), config, move |request: Request, replier| {
        let guard = Guard(Arc::clone(&seen));
        async move {
            if method(&request).await == "hang" {
                let _guard = guard;
                pending::<()>().await;
            }
            echo(request, replier).await;
        }
    });
    let start = Instant::now();
    let reply = pair.ask("hang").await;
    assert_eq!(value(&reply)["error"]["data"]["reason"], "timeout");
    assert_eq!(start.elapsed().as_secs(), 5);
    until("the handler goes on", || ended.load(Ordering::Relaxed)).await;
    // Its place is free again.
    assert_eq!(pair.ask("x").await.kind, ReplyKind::Last(End::Answer));
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_go_on_after_its_last_reply() {
    let done = Arc::new(Notify::new());
    let mut config = SessionConfig::default();
    config.responder.overall = Duration::from_secs(1);
    let seen = Arc::clone(&done);
    let pair = pair_with(SessionConfig::default(), config, move |request: Request, replier| {
        let done = Arc::clone(&seen);
        async move {
            echo(request, replier).await;
            sleep(Duration::from_secs(60)).await;
            done.notify_one();
        }
    });
    assert_eq!(pair.ask("x").await.kind, ReplyKind::Last(End::Answer));
    timeout(Duration::from_secs(61), done.notified()).await.expect("it was not ended");
}

#[tokio::test]
async fn an_answer_too_large_is_replaced_and_the_handler_knows() {
    let (told, mut replaced) = mpsc::unbounded_channel();
    let pair = pair(move |request: Request, replier: Replier| {
        let told = told.clone();
        async move {
            let text = result(&request, &"\"".repeat(10_000));
            told.send(replier.respond(text).await).expect("somebody listens");
        }
    });
    let mut seen = pair.network.observe();
    let reply = pair.ask("x").await;
    assert!(is_internal_error(&reply));
    let error = &value(&reply)["error"];
    assert_eq!(error["data"]["reason"], "too_large");
    assert_eq!(error["data"]["limit"], MAX_ENCODED_MSG_LEN);
    let told = replaced.recv().await.expect("an outcome").expect("an error was sent");
    assert!(told.is_some_and(|too_large| too_large.needed > MAX_ENCODED_MSG_LEN));
    while let Ok(seen) = seen.try_recv() {
        assert!(seen.message.expect("sent").encoded_len <= MAX_ENCODED_MSG_LEN);
    }
}

#[tokio::test]
async fn a_part_too_large_ends_the_stream_and_a_notification_too_large_does_not() {
    let pair = pair(|request: Request, mut replier: Replier| async move {
        let large = "x".repeat(16_000);
        if method(&request).await == "SendStreamingMessage" {
            let part = status(&request, "WORKING")
                .replace("\"taskId\":\"t\"", &format!("\"taskId\":\"{large}\""));
            assert!(replier.notify(part).await.expect("an error was sent").is_some());
            let gone = Err(ReplyError::Answer(AnswerError::Gone));
            assert_eq!(replier.notify(status(&request, "WORKING")).await, gone);
            assert_eq!(replier.respond(status(&request, "COMPLETED")).await, gone);
        } else {
            let note = PROGRESS
                .replace("\"progress\":1", &format!("\"progress\":1,\"message\":\"{large}\""));
            match replier.notify(note).await {
                Err(ReplyError::Answer(AnswerError::TooLarge(_))) => {}
                other => panic!("{other:?}"),
            }
            echo(request, replier).await;
        }
    });
    assert_eq!(pair.ask("x").await.kind, ReplyKind::Last(End::Answer));
    let call =
        pair.client.call(Standard::A2A, pair.to_bot, stream(3), CallOptions::default()).await;
    let reply = call.expect("sent").last().await.expect("a last reply");
    assert_eq!(value(&reply)["error"]["data"][0]["reason"], "TOO_LARGE");
}

#[tokio::test]
async fn a_wrong_id_is_refused_and_the_caller_gets_an_internal_error() {
    let (told, mut outcome) = mpsc::unbounded_channel();
    let pair = pair(move |_request: Request, replier: Replier| {
        let told = told.clone();
        async move {
            let answer = r#"{"jsonrpc":"2.0","id":8,"result":{"resultType":"complete"}}"#;
            told.send(replier.respond(answer).await).expect("somebody listens");
        }
    });
    assert!(is_internal_error(&pair.ask("x").await));
    match outcome.recv().await.expect("an outcome") {
        Err(ReplyError::Answer(AnswerError::NotAnAnswer(_))) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn replies_in_the_wrong_place_are_refused_and_the_answer_goes_on() {
    let pair = pair(|request: Request, mut replier: Replier| async move {
        let last = replier.notify(result(&request, "x")).await;
        assert_eq!(last, Err(ReplyError::Answer(AnswerError::IsLast)));
        let text = replier.notify("no JSON").await;
        assert!(matches!(text, Err(ReplyError::Answer(AnswerError::NotAnAnswer(_)))), "{text:?}");
        replier.notify(PROGRESS).await.expect("progress");
        echo(request, replier).await;
    });
    let mut replies = pair.call(mcp(7, "x")).await;
    let first = replies.next().await.expect("a reply").expect("no error");
    assert_eq!(first.kind, ReplyKind::Notification("notifications/progress".into()));
    assert_eq!(replies.last().await.expect("an answer").kind, ReplyKind::Last(End::Answer));
}

#[tokio::test(start_paused = true)]
async fn a_reply_after_the_deadline_is_refused() {
    let (told, outcome) = oneshot::channel();
    let told = std::sync::Mutex::new(Some(told));
    let mut config = SessionConfig::default();
    config.responder.overall = Duration::from_secs(1);
    let pair =
        pair_with(SessionConfig::default(), config, move |_: Request, mut replier: Replier| {
            let told = told.lock().expect("once").take().expect("once");
            async move {
                // It outlives its handler.
                tokio::spawn(async move {
                    sleep(Duration::from_secs(2)).await;
                    let notified = replier.notify(PROGRESS).await;
                    let _ = told.send((notified, replier.notify(PROGRESS).await));
                });
            }
        });
    assert_eq!(value(&pair.ask("x").await)["error"]["data"]["reason"], "timeout");
    let gone = Err(ReplyError::Answer(AnswerError::Gone));
    assert_eq!(outcome.await.expect("it ran"), (gone.clone(), gone));
}

#[tokio::test]
async fn a_notification_that_nobody_waits_for_is_sent_and_the_answer_follows() {
    let pair = pair(|request: Request, mut replier: Replier| async move {
        // Dropped after its first poll.
        let given_up = tokio::select! {
            biased;
            _ = replier.notify(PROGRESS) => false,
            () = core::future::ready(()) => true,
        };
        assert!(given_up);
        echo(request, replier).await;
    });
    let mut replies = pair.call(mcp(7, "x")).await;
    let first = replies.next().await.expect("a reply").expect("no error");
    assert!(matches!(first.kind, ReplyKind::Notification(_)), "{first:?}");
    assert_eq!(replies.last().await.expect("an answer").kind, ReplyKind::Last(End::Answer));
}

#[tokio::test]
async fn dropped_replies_cancel_the_call_and_free_its_place() {
    let mut config = SessionConfig::default();
    config.max_calls = 1;
    let release = Arc::new(Notify::new());
    let gate = Arc::clone(&release);
    let pair = pair_with(config, SessionConfig::default(), move |request: Request, replier| {
        let gate = Arc::clone(&gate);
        async move {
            if method(&request).await == "slow" {
                gate.notified().await;
            }
            echo(request, replier).await;
        }
    });
    let slow = pair.call(mcp(1, "slow")).await;
    let full = pair.client.call(Standard::MCP, pair.to_bot, mcp(2, "x"), CallOptions::default());
    match full.await {
        Err(ClientError::Call(CallError::Full { capacity: 1 })) => {}
        other => panic!("{other:?}"),
    }
    drop(slow);
    let replies = pair.call(mcp(3, "x")).await;
    // The late answer to the first disturbs nobody.
    release.notify_one();
    assert_eq!(value(&replies.last().await.expect("an answer"))["id"], 3);
    pair.ask("x").await;
}

#[tokio::test]
async fn a_call_given_up_before_it_was_made_leaves_nothing() {
    let pair = pair(echo);
    let mut seen = pair.network.observe();
    for _ in 0..10 {
        tokio::select! {
            biased;
            _ = pair.client.call(Standard::MCP, pair.to_bot, mcp(1, "x"), CallOptions::default()) => {
                panic!("it is not made at once");
            }
            () = core::future::ready(()) => {}
        }
    }
    pair.ask("y").await;
    let mut messages = 0;
    while seen.try_recv().is_ok() {
        messages += 1;
    }
    assert_eq!(messages, 2);
}

#[tokio::test]
async fn a_call_given_up_while_it_is_made_frees_its_place() {
    let mut config = SessionConfig::default();
    config.max_calls = 1;
    let hang = async |_: Request, _replier: Replier| pending::<()>().await;
    let pair = pair_with(config, SessionConfig::default(), hang);
    for id in 0..3 {
        let mut seen = pair.network.observe();
        let target = pair.to_bot;
        let call = pair.client.call(Standard::MCP, target, mcp(id, "x"), CallOptions::default());
        let mut call = core::pin::pin!(call);
        assert!(poll!(&mut call).is_pending());
        // It has been made and sent, and the caller does not look.
        let sent = timeout(Duration::from_secs(5), seen.recv()).await.expect("there is room");
        assert_eq!(&*sent.expect("the command").profile, "ann");
    }
    drop(pair.call(mcp(9, "x")).await);
}

#[tokio::test]
async fn who_does_not_take_replies_lags_and_the_others_do_not() {
    let pair = pair(|request: Request, mut replier: Replier| async move {
        if method(&request).await == "flood" {
            for _ in 0..1_000 {
                replier.notify(PROGRESS).await.expect("progress");
            }
        }
        echo(request, replier).await;
    });
    let mut slow = pair.call(mcp(1, "flood")).await;
    for _ in 0..5 {
        assert_eq!(pair.ask("x").await.kind, ReplyKind::Last(End::Answer));
    }
    let mut fast = pair.call(mcp(2, "flood")).await;
    let mut count = 0;
    while let Some(reply) = fast.next().await {
        reply.expect("taken in time");
        count += 1;
    }
    assert_eq!(count, 1_001);
    let mut count = 0;
    let error = loop {
        match slow.next().await.expect("an end") {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((count, error), (256, ClientError::Lagged));
    assert!(slow.next().await.is_none());
}

#[tokio::test]
async fn a_dropped_client_serves_its_open_calls() {
    let release = Arc::new(Notify::new());
    let gate = Arc::clone(&release);
    let pair = pair(move |request: Request, replier| {
        let gate = Arc::clone(&gate);
        async move {
            gate.notified().await;
            echo(request, replier).await;
        }
    });
    let replies = pair.call(mcp(1, "x")).await;
    let Pair { client, bot, .. } = pair;
    drop(client);
    release.notify_one();
    assert_eq!(replies.last().await.expect("an answer").kind, ReplyKind::Last(End::Answer));
    bot.shutdown().await;
}

/// Ends the bot with two commands open and one that comes too late.
async fn end(by_drop: bool) {
    let release = Arc::new(Notify::new());
    let gate = Arc::clone(&release);
    let open = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&open);
    let pair = pair(move |request: Request, replier: Replier| {
        let gate = Arc::clone(&gate);
        count.fetch_add(1, Ordering::Relaxed);
        async move {
            gate.notified().await;
            echo(request, replier).await;
        }
    });
    let (one, two) = (pair.call(mcp(1, "x")).await, pair.call(mcp(2, "x")).await);
    until("both are open", || open.load(Ordering::Relaxed) == 2).await;
    let Pair { client, to_bot, bot, network, .. } = pair;
    let mut ending = tokio::spawn(async move {
        if by_drop {
            drop(bot);
            pending::<()>().await;
        } else {
            bot.shutdown().await;
        }
    });
    assert!(timeout(Duration::from_millis(20), &mut ending).await.is_err(), "it waits");
    let late = client.call(Standard::MCP, to_bot, mcp(3, "x"), CallOptions::default()).await;
    let late = late.expect("sent").last().await.expect("an answer");
    assert!(is_internal_error(&late));
    assert_eq!(open.load(Ordering::Relaxed), 2, "the late one is not handled");
    release.notify_waiters();
    for replies in [one, two] {
        assert_eq!(replies.last().await.expect("an answer").kind, ReplyKind::Last(End::Answer));
    }
    if by_drop {
        ending.abort();
    } else {
        timeout(Duration::from_secs(5), ending).await.expect("it ends").expect("no panic");
    }
    // Nobody is there any more: no answer, and no message that somebody took.
    let mut seen = network.observe();
    let wait = CallOptions::default().wait(Duration::from_millis(30), Duration::from_millis(30));
    let silent = client.call(Standard::MCP, to_bot, mcp(4, "x"), wait).await.expect("sent");
    assert!(matches!(silent.last().await, Err(ClientError::TimedOut(_))));
    assert_eq!(&*seen.recv().await.expect("the command").profile, "ann");
    assert!(seen.try_recv().is_err());
}

#[tokio::test]
async fn shutdown_waits_for_what_is_open_and_refuses_what_is_new() {
    end(false).await;
}

#[tokio::test]
async fn a_dropped_bot_ends_in_the_same_way() {
    end(true).await;
}

#[tokio::test]
async fn two_agents_call_each_other() {
    let network = Network::new(1);
    let ann = network.add_profile("ann").expect("a name");
    let bob = network.add_profile("bob").expect("a name");
    let (to_bob, to_ann) = network.connect(&ann, &bob).expect("two profiles");
    let ann = Bot::start(ann, declared(), echo);
    let (client, on_bob) = oneshot::channel::<Client>();
    let on_bob = Arc::new(tokio::sync::Mutex::new(on_bob));
    // Bob asks back before he answers.
    let bob = Bot::start(bob, declared(), move |request: Request, replier: Replier| {
        let on_bob = Arc::clone(&on_bob);
        async move {
            let client = (&mut *on_bob.lock().await).await.expect("a client");
            let call = client.call(Standard::MCP, to_ann, mcp(9, "back"), CallOptions::default());
            let back = call.await.expect("sent").last().await.expect("an answer");
            let text = value(&back)["result"]["content"][0]["text"].to_string();
            replier.respond(result(&request, &text)).await.expect("an answer");
        }
    });
    client.send(bob.client()).expect("it waits");
    let call = ann.client();
    let call = call.call(Standard::MCP, to_bob, mcp(1, "there"), CallOptions::default());
    let reply = call.await.expect("sent").last().await.expect("an answer");
    assert_eq!(value(&reply)["result"]["content"][0]["text"], "\"back\"");

    // A client of a bot ends with it.
    let client = ann.client();
    ann.shutdown().await;
    let closed = client.call(Standard::MCP, to_bob, mcp(2, "x"), CallOptions::default()).await;
    assert_eq!(closed.err(), Some(ClientError::Closed));
    bob.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn lost_and_late_messages_time_out() {
    let pair = pair(echo);
    let wait = CallOptions::default().wait(Duration::from_secs(10), Duration::from_secs(5));
    let (ann, bob) = pair.ids;
    let faults =
        [(ann, Fault::Drop), (bob, Fault::Drop), (bob, Fault::Delay(Duration::from_secs(7)))];
    for (who, fault) in faults {
        pair.network.with(|net| net.fault_next(who, fault));
        let start = Instant::now();
        let call = pair.client.call(Standard::MCP, pair.to_bot, mcp(1, "x"), wait).await;
        match call.expect("sent").last().await {
            Err(ClientError::TimedOut(end)) => assert_eq!((end.answers, end.replies), (0, 0)),
            other => panic!("{other:?}"),
        }
        assert!((5_000..5_010).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    }
    // What is only slow arrives, in its time.
    pair.network.with(|net| {
        let second = Duration::from_secs(1);
        net.set_faults(Faults::new().delay(second, second));
    });
    let start = Instant::now();
    assert_eq!(pair.ask("x").await.kind, ReplyKind::Last(End::Answer));
    assert!((2_000..10_000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn each_of_many_calls_ends_on_a_bad_network() {
    let pair = pair(echo);
    pair.network.with(|net| {
        let span = Duration::from_millis(500);
        net.set_faults(
            Faults::new().delay(span, 4 * span).drop(50).duplicate(100).reorder(100, span).edit(50),
        );
    });
    let pair = Arc::new(pair);
    let mut calls = JoinSet::new();
    for id in 0..300 {
        let pair = Arc::clone(&pair);
        calls.spawn(async move {
            let wait =
                CallOptions::default().wait(Duration::from_secs(30), Duration::from_secs(30));
            let call = pair.client.call(Standard::MCP, pair.to_bot, mcp(id, "x"), wait).await;
            (id, call.expect("sent").last().await)
        });
    }
    let (mut answered, mut lost) = (0, 0);
    while let Some(call) = calls.join_next().await {
        match call.expect("no panic") {
            (id, Ok(reply)) => {
                assert_eq!(value(&reply)["id"], id);
                answered += 1;
            }
            (_, Err(ClientError::TimedOut(_))) => lost += 1,
            (_, other) => panic!("{other:?}"),
        }
    }
    assert!(answered > 200 && lost > 0 && answered + lost == 300, "{answered} and {lost}");
}

async fn thousand() {
    let gate = Arc::new(Notify::new());
    let open = Arc::new(AtomicUsize::new(0));
    let (release, count) = (Arc::clone(&gate), Arc::clone(&open));
    let handler = move |request: Request, replier: Replier| {
        let (gate, count) = (Arc::clone(&gate), Arc::clone(&count));
        async move {
            let released = gate.notified();
            count.fetch_add(1, Ordering::SeqCst);
            released.await;
            echo(request, replier).await;
        }
    };
    // One caller, who may have them all handled at once.
    let turns = TurnLimits::default().running(1_000).running_per_caller(1_000);
    let config = BotConfig::from(declared()).turns(turns);
    let pair = Arc::new(pair_of(SessionConfig::default(), config, handler));
    let mut calls = JoinSet::new();
    for id in 0..1_000 {
        let pair = Arc::clone(&pair);
        calls.spawn(async move { (id, pair.call(mcp(id, "x")).await.last().await) });
    }
    for _ in 0..10_000 {
        if open.load(Ordering::SeqCst) == 1_000 {
            break;
        }
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(open.load(Ordering::SeqCst), 1_000, "all are in flight");
    // `notified()` counts from its making on where `notify_waiters` is meant.
    release.notify_waiters();
    let mut ids = Vec::new();
    while let Some(call) = calls.join_next().await {
        let (id, reply) = call.expect("no panic");
        assert_eq!(value(&reply.expect("an answer"))["id"], id);
        ids.push(id);
    }
    assert_eq!(ids.len(), 1_000);
}

#[tokio::test]
async fn a_thousand_calls_are_in_flight_at_once() {
    timeout(Duration::from_secs(60), thousand()).await.expect("in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_calls_are_in_flight_at_once_on_several_threads() {
    timeout(Duration::from_secs(60), thousand()).await.expect("in time");
}

#[tokio::test]
async fn a_flood_leaves_other_tasks_their_turn() {
    let pair = pair(echo);
    let mut seen = pair.network.observe();
    let (now, chat) = (pair.network.now(), Chat::Direct(pair.to_bot));
    pair.network.with(|net| {
        for _ in 0..600 {
            net.send(now, pair.ids.0, chat, "/_call mcp {}").expect("sent");
        }
    });
    let (mut all, mut most) = (0, 0);
    while all < 600 {
        let mut answers = 0;
        while let Ok(seen) = seen.try_recv() {
            assert_eq!(seen.message.expect("sent").origin, Origin::Refusal);
            answers += 1;
        }
        (all, most) = (all + answers, most.max(answers));
        tokio::task::yield_now().await;
    }
    assert!(most < 300, "{most} in one turn");
    pair.ask("x").await;
}

#[tokio::test]
async fn more_commands_than_a_bot_takes_are_answered_as_busy() {
    let mut config = SessionConfig::default();
    config.max_requests = 2;
    let pair =
        pair_with(SessionConfig::default(), config, async |_: Request, _replier: Replier| {
            pending::<()>().await;
        });
    let _open = (pair.call(mcp(1, "x")).await, pair.call(mcp(2, "x")).await);
    let reply = pair.ask("x").await;
    assert_eq!(value(&reply)["error"]["data"]["reason"], "busy");
}

#[tokio::test]
async fn a_call_that_is_not_sent_says_why() {
    let pair = pair(echo);
    let nobody = ContactId(99);
    let call = pair.client.call(Standard::MCP, nobody, mcp(1, "x"), CallOptions::default()).await;
    match call.expect("made").last().await {
        Err(ClientError::NotSent(_)) => {}
        other => panic!("{other:?}"),
    }
    let broken = pair.client.call(Standard::MCP, pair.to_bot, "{", CallOptions::default()).await;
    assert!(matches!(broken, Err(ClientError::Call(_))), "{broken:?}");
    let large = mcp(1, &"x".repeat(16_000));
    let large = pair.client.call(Standard::MCP, pair.to_bot, large, CallOptions::default()).await;
    assert!(matches!(large, Err(ClientError::Call(_))), "{large:?}");
    pair.ask("x").await;
}

/// Answers `{"ping": n}` with `{"pong": n}`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ping;

impl Binding for Ping {
    fn name(&self) -> ProtocolName<'static> {
        ProtocolName::new("ping").expect("a name")
    }

    fn accept<'m>(
        &self,
        request: &'m str,
        _versions: &'m [&'m str],
        _place: Place,
    ) -> Result<Accepted<'m>, Refusal<'m>> {
        let refuse = |failure| Refusal::new(failure, None);
        let object = Object::parse(request).map_err(|error| refuse(Failure::Parse(error)))?;
        match object.get("ping") {
            Ok(Some(_)) => Ok(Accepted::new(Expectation::default(), None)),
            _ => Err(refuse(Failure::InvalidRequest("no ping"))),
        }
    }

    fn classify<'m>(&self, _expected: &Expectation, reply: &'m str) -> Class<'m> {
        match Object::parse(reply) {
            Ok(object) if object.get("pong").is_ok_and(|pong| pong.is_some()) => {
                Class::Last(End::Answer)
            }
            Ok(_) => Class::Foreign(Foreign::NotAReply),
            Err(error) => Class::Foreign(Foreign::Json(error)),
        }
    }

    fn write_failure(&self, failure: &Failure<'_>, _id: Option<&str>, out: &mut Writer<'_>) {
        out.raw("{\"pong\":null,\"why\":").string(failure.sentence()).raw("}");
    }
}

#[tokio::test]
async fn a_protocol_of_ones_own_is_called_and_answered() {
    let network = Network::new(1);
    let ann = network.add_profile("ann").expect("a name");
    let bob = network.add_profile("bob").expect("a name");
    let (to_bob, _) = network.connect(&ann, &bob).expect("two profiles");
    let client = Client::<Ping>::start(ann);
    let handler = |request: Request<Ping>, replier: Replier<Ping>| async move {
        assert_eq!(request.text, r#"{"ping":1}"#, "no other is handled");
        assert!(request.id.is_none());
        replier.respond(r#"{"pong":1}"#).await.expect("an answer");
    };
    let bot = Bot::start(bob, vec![Declared::new(Ping, ["1"])], handler);
    let ask = |request: &'static str| {
        let client = client.clone();
        async move {
            let call = client.call(Ping, to_bob, request, CallOptions::default()).await?;
            call.last().await.map(|reply| reply.text)
        }
    };
    assert_eq!(ask(r#"{"ping":1}"#).await.as_deref(), Ok(r#"{"pong":1}"#));
    let failed = ask(r#"{"ping":2}"#).await.expect("an answer");
    assert_eq!(failed, r#"{"pong":null,"why":"the handler failed"}"#);
    assert!(matches!(ask("{}").await, Err(ClientError::Call(_))));
    bot.shutdown().await;
}

#[tokio::test]
async fn observers_see_every_message_in_order() {
    let pair = pair(echo);
    let (mut one, two) = (pair.network.observe(), pair.network.observe());
    drop(two);
    pair.ask("x").await;
    let mut late = pair.network.observe();
    let unknown =
        pair.client.call(Standard::MCP, ContactId(99), mcp(1, "x"), CallOptions::default()).await;
    assert!(unknown.expect("made").last().await.is_err());

    let command = one.recv().await.expect("the command");
    assert_eq!(&*command.profile, "ann");
    let sent = command.message.expect("sent");
    assert!(matches!(sent.origin, Origin::Command(_)) && sent.text.starts_with("/_call mcp {"));
    let answer = one.recv().await.expect("the answer");
    assert!((&*answer.profile, answer.at >= command.at) == ("bob", true));
    let sent = answer.message.expect("sent");
    assert!(matches!(sent.origin, Origin::Answer(_, true)) && sent.quotes.is_some());
    assert!(sent.encoded_len > sent.text.len());
    for seen in [&mut one, &mut late] {
        let refused = seen.recv().await.expect("what could not be sent");
        assert!(refused.message.is_err());
        assert!(seen.try_recv().is_err());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn observers_see_no_answer_before_its_command() {
    let pair = Arc::new(pair(echo));
    let mut seen = pair.network.observe();
    let mut calls = JoinSet::new();
    for _ in 0..200 {
        let pair = Arc::clone(&pair);
        calls.spawn(async move { pair.ask("x").await });
    }
    while let Some(call) = calls.join_next().await {
        call.expect("no panic");
    }
    let mut open = 0_i32;
    while let Ok(seen) = seen.try_recv() {
        open += if &*seen.profile == "ann" { 1 } else { -1 };
        assert!(open >= 0);
    }
    assert_eq!(open, 0);
}
