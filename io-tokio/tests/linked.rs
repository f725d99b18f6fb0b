//! The client and the bot at a core's WebSocket API, which the loopback serves.

use core::future::pending;
use core::time::Duration;
use std::sync::Arc;

use agentwire_core::binding::{End, Failure, Standard};
use agentwire_core::chat::session::{Declared, Reply, ReplyKind};
use agentwire_core::chat::{ContactId, Sender};
use agentwire_core::jsonrpc::INTERNAL_ERROR;
use agentwire_core::rpc::session::{ServiceReply, ServiceReplyKind};
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::frame::Body;
use agentwire_core::simplex::{ServiceRequests, SessionConfig};
use agentwire_tokio::bot::{Bot, BotConfig, Handler, Replier, Request, Via};
use agentwire_tokio::client::{
    CallOptions, Client, ClientError, ConnectError, CoreCallError, CoreState, RequestOptions,
    Target,
};
use agentwire_tokio::link::{Core, LinkError};
use agentwire_tokio::network::Network;
use agentwire_tokio::server::Server;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

/// More than anything here takes.
const LONG: Duration = Duration::from_secs(30);

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(LONG, future).await.expect("it comes in time")
}

fn declared() -> Vec<Declared<Standard>> {
    vec![Declared::new(Standard::A2A, ["1.0"])]
}

fn message(id: u64, method: &str, text: &str) -> String {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": method,
        "a2a-service-parameters": {"A2A-Version": "1.0"},
        "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}},
    })
    .to_string()
}

fn answer_text(request: &Request, text: &str) -> String {
    let id = request.id.as_deref().expect("it has one");
    let message =
        json!({"message": {"messageId": "n", "role": "ROLE_AGENT", "parts": [{"text": text}]}});
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{message}}}"#)
}

fn status(request: &Request, state: &str) -> String {
    let id = request.id.as_deref().expect("it has one");
    let status = json!({"statusUpdate":
        {"taskId": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}}});
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{status}}}"#)
}

fn said(text: &str) -> String {
    let value: Value = serde_json::from_str(text).expect("JSON");
    value["result"]["message"]["parts"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// Says what it was asked for.
async fn echo(request: Request, replier: Replier) {
    let asked: Value = serde_json::from_str(&request.text).expect("JSON");
    let text = asked["params"]["message"]["parts"][0]["text"].as_str().unwrap_or_default();
    replier.respond(answer_text(&request, text)).await.expect("an answer");
}

/// Cores of some profiles, each at a port of its own.
struct Cores {
    network: Network,
    server: Server,
    cores: Vec<Core>,
}

async fn cores(
    names: &[&str],
    set_up: impl FnOnce(&Network, &[agentwire_tokio::network::Profile]),
) -> Cores {
    let network = Network::in_real_time(1);
    let profiles: Vec<_> =
        names.iter().map(|name| network.add_profile(name).expect("a name")).collect();
    set_up(&network, &profiles);
    let server = Server::new(&network, 1);
    let mut cores = Vec::new();
    for profile in profiles {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let url = format!("ws://{}", listener.local_addr().expect("it has one"));
        cores.push(Core::new(url));
        tokio::spawn(server.serve(profile, listener));
    }
    Cores { network, server, cores }
}

/// Two cores whose profiles are connected: ann's, with a client, and bob's, with a bot.
struct Pair {
    cores: Cores,
    client: Client,
    to_bot: ContactId,
    bot: Bot,
}

async fn pair(config: BotConfig<Standard>, handler: impl Handler<Standard>) -> Pair {
    let mut to_bot = None;
    let cores = cores(&["ann", "bob"], |network, profiles| {
        let (contact, _) = network.connect(&profiles[0], &profiles[1]).expect("two profiles");
        to_bot = Some(contact);
    })
    .await;
    let bot = within(Bot::connect(cores.cores[1].clone(), config, handler)).await.expect("a bot");
    let client = within(Client::connect(cores.cores[0].clone())).await.expect("a client");
    Pair { cores, client, to_bot: to_bot.expect("it was set"), bot }
}

impl Pair {
    async fn ask(&self, text: &str) -> Result<Reply, ClientError> {
        let request = message(7, "SendMessage", text);
        let call = self.client.call(Standard::A2A, self.to_bot, request, CallOptions::default());
        within(async { call.await?.last().await }).await
    }
}

#[tokio::test]
async fn a_call_over_two_sockets_is_answered() {
    let pair = pair(declared().into(), echo).await;
    assert!(matches!(pair.client.state(), Some(CoreState::Ready(ready)) if ready.name == "ann"));
    let reply = pair.ask("hello").await.expect("an answer");
    assert_eq!(said(&reply.text), "hello");
    assert_eq!((reply.sender, reply.is_end), (Sender::Contact, true));
    within(pair.bot.shutdown()).await;
}

#[tokio::test]
async fn many_calls_are_answered_each_with_its_own() {
    let pair = Arc::new(pair(declared().into(), echo).await);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..200 {
        let pair = Arc::clone(&pair);
        calls.spawn(async move {
            // No more at once than a caller may have open.
            sleep(Duration::from_millis(number / 64)).await;
            let text = number.to_string();
            loop {
                let reply = pair.ask(&text).await.expect("a reply");
                if reply.kind == ReplyKind::Last(End::Answer) {
                    assert_eq!(said(&reply.text), text);
                    return;
                }
                assert_eq!(reply.kind, ReplyKind::Last(End::Error { code: INTERNAL_ERROR }));
                sleep(Duration::from_millis(20)).await;
            }
        });
    }
    while let Some(call) = within(calls.join_next()).await {
        call.expect("no panic");
    }
}

#[tokio::test]
async fn a_stream_arrives_in_its_order() {
    let handler = |request: Request, mut replier: Replier| async move {
        for _ in 0..20 {
            replier.notify(status(&request, "WORKING")).await.expect("sent");
        }
        replier.respond(status(&request, "COMPLETED")).await.expect("sent");
    };
    let pair = pair(declared().into(), handler).await;
    let request = message(1, "SendStreamingMessage", "go");
    let call = pair.client.call(Standard::A2A, pair.to_bot, request, CallOptions::default());
    let mut replies = within(call).await.expect("sent");
    let mut kinds = Vec::new();
    while let Some(reply) = within(replies.next()).await {
        kinds.push(reply.expect("a reply").kind);
    }
    assert_eq!(kinds.len(), 21);
    assert!(kinds[..20].iter().all(|kind| matches!(kind, ReplyKind::Part(_))));
    assert_eq!(kinds[20], ReplyKind::Last(End::Terminal));
}

#[tokio::test]
async fn a_member_is_mentioned_and_a_group_is_asked() {
    let mut group = None;
    let cores = cores(&["ann", "bob", "cora"], |network, profiles| {
        let id = profiles[0].id();
        network.with(|net| {
            let team = net.create_group(id, "team").expect("a name");
            net.join(team, profiles[1].id()).expect("it joins");
            net.join(team, profiles[2].id()).expect("it joins");
            group = net.group_id(team, id);
        });
    })
    .await;
    let group = group.expect("she made it");
    let mut bots = Vec::new();
    for core in &cores.cores[1..] {
        bots.push(within(Bot::connect(core.clone(), declared(), echo)).await.expect("a bot"));
    }
    let client = within(Client::connect(cores.cores[0].clone())).await.expect("a client");
    let bob = within(client.member(group, "bob")).await.expect("a member");
    assert_eq!(within(client.member(group, "dora")).await, Err(CoreCallError::NotFound));
    let Target::Member { member, .. } = &bob else { panic!("{bob:?}") };
    let sender = Sender::Member(*member);
    let ask = |target: Target, text: &str, options| {
        client.call(Standard::A2A, target, message(1, "SendMessage", text), options)
    };
    let call = within(ask(bob, "you", CallOptions::default())).await.expect("sent");
    let reply = within(call.last()).await.expect("an answer");
    assert_eq!((said(&reply.text), reply.sender), (String::from("you"), sender));

    let options = CallOptions::default().answers(2);
    let mut replies = within(ask(Target::Everyone(group), "all", options)).await.expect("sent");
    let mut senders = Vec::new();
    while let Some(reply) = within(replies.next()).await {
        let reply = reply.expect("a reply");
        assert_eq!(said(&reply.text), "all");
        senders.push(reply.sender);
    }
    assert_eq!(senders.len(), 2);
    assert!(senders[0] != senders[1] && senders.contains(&sender));
}

fn service_text(reply: &ServiceReply) -> String {
    let ServiceReplyKind::Answer { text, .. } = &reply.kind else { panic!("{reply:?}") };
    said(text)
}

#[tokio::test]
async fn service_rpc_goes_to_the_address_that_the_bot_has_opened() {
    let config = BotConfig::from(declared()).service(declared());
    let pair = pair(config, echo).await;
    let state = pair.bot.client().state();
    let Some(CoreState::Ready(ready)) = state else { panic!("{state:?}") };
    assert_eq!(ready.service_requests, ServiceRequests::On);
    let link = within(pair.bot.address()).await.expect("an address");
    assert_eq!(within(pair.bot.address()).await.as_deref(), Ok(&*link));
    let request = message(3, "SendMessage", "rpc");
    let asked = pair.client.request(Standard::A2A, &*link, request, RequestOptions::default());
    let reply = within(asked).await.expect("it is made");
    assert_eq!(service_text(&reply), "rpc");
}

/// The keys of an address that was made without any are behind its short link.
#[tokio::test]
async fn an_address_from_before_takes_requests_too() {
    let config = BotConfig::from(declared()).service(declared());
    let pair = pair(config, echo).await;
    let client = pair.bot.client();
    let create =
        |user| agentwire_core::simplex::command::Command::CreateAddress { user, pq_ratchet: None };
    within(client.of_user(create)).await.expect("an address");
    let link = within(pair.bot.address()).await.expect("an address");
    let request = message(3, "SendMessage", "rpc");
    let asked = pair.client.request(Standard::A2A, &*link, request, RequestOptions::default());
    assert_eq!(service_text(&within(asked).await.expect("it is made")), "rpc");
}

#[tokio::test]
async fn two_agents_that_call_each_other_do_not_wait_for_each_other() {
    // Each answers only after the other one has answered a call of it.
    let cores = cores(&["ann", "bob"], |_, _| {}).await;
    let served = || BotConfig::default().service(declared());
    let bob = within(Bot::connect(cores.cores[1].clone(), served(), echo)).await.expect("a bot");
    let to_bob: Arc<str> = within(bob.address()).await.expect("an address").into();
    let (client, known) = tokio::sync::oneshot::channel::<Client>();
    let known = Arc::new(tokio::sync::Mutex::new(Some(known)));
    let handler = move |request: Request, replier: Replier| {
        let (to_bob, known) = (Arc::clone(&to_bob), Arc::clone(&known));
        async move {
            let mut slot = known.lock().await;
            let client = slot.take().expect("one request").await.expect("it comes");
            let nested = message(9, "SendMessage", "nested");
            let asked = client.request(Standard::A2A, &*to_bob, nested, RequestOptions::default());
            let text = service_text(&asked.await.expect("it is made"));
            replier.respond(answer_text(&request, &text)).await.expect("an answer");
        }
    };
    let ann = within(Bot::connect(cores.cores[0].clone(), served(), handler)).await.expect("a bot");
    let to_ann = within(ann.address()).await.expect("an address");
    assert!(client.send(ann.client()).is_ok());
    let request = message(1, "SendMessage", "outer");
    let bob = bob.client();
    let asked = bob.request(Standard::A2A, &*to_ann, request, RequestOptions::default());
    assert_eq!(service_text(&within(asked).await.expect("it is made")), "nested");
}

#[tokio::test]
async fn whoever_has_the_link_connects_and_calls() {
    let cores = cores(&["ann", "bob"], |_, _| {}).await;
    let bot = within(Bot::connect(cores.cores[1].clone(), declared(), echo)).await.expect("a bot");
    let link = within(bot.address()).await.expect("an address");
    let client = within(Client::connect(cores.cores[0].clone())).await.expect("a client");
    let contact = within(client.connect_to(&link, false)).await.expect("a contact");
    let call = client.call(
        Standard::A2A,
        contact,
        message(1, "SendMessage", "hello"),
        CallOptions::default(),
    );
    let reply = within(async { call.await.expect("sent").last().await }).await.expect("an answer");
    assert_eq!(said(&reply.text), "hello");
    // Once more, and it is the same contact.
    assert_eq!(within(client.connect_to(&link, false)).await, Ok(contact));
    let own = within(bot.client().connect_to(&link, false)).await;
    assert_eq!(own, Err(CoreCallError::Own));
}

#[tokio::test]
async fn the_core_can_be_asked_for_anything() {
    let pair = pair(declared().into(), echo).await;
    let answer = within(pair.client.of_user(Command::Contacts)).await.expect("an answer");
    match answer.frame().map(|frame| frame.body()) {
        Some(Ok(Body::Contacts(contacts))) => assert_eq!(contacts.count(), 1),
        other => panic!("{other:?}"),
    }
    let refused = within(pair.client.command(&Command::Raw("/_no such thing"))).await;
    assert!(matches!(refused, Err(CoreCallError::Refused(_))), "{refused:?}");
    let embedded = pair.cores.network.add_profile("dora").expect("a name");
    let embedded = Client::<Standard>::start(embedded);
    let nothing = within(embedded.command(&Command::Users)).await;
    assert_eq!(nothing, Err(CoreCallError::Embedded));
}

#[tokio::test]
async fn a_core_that_is_not_there_is_named() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let core = Core::new(format!("ws://{}", listener.local_addr().expect("it has one")));
    drop(listener);
    let refused = ConnectError::Link(LinkError::Io(std::io::ErrorKind::ConnectionRefused));
    let error = within(Client::<Standard>::connect(core.clone())).await.map(drop);
    assert_eq!(error, Err(refused.clone()));
    let error = within(Bot::connect(core, declared(), echo)).await.map(drop);
    assert_eq!(error, Err(refused));
    let error = within(Client::<Standard>::connect(Core::new("http://x"))).await.map(drop);
    assert_eq!(error, Err(ConnectError::Link(LinkError::Url)));
}

#[tokio::test]
async fn a_bot_of_a_cut_connection_answers_what_came_meanwhile() {
    let handler = |request: Request, replier: Replier| async move {
        if let Via::Chat { .. } = request.via {
            echo(request, replier).await;
        }
    };
    let pair = pair(declared().into(), handler).await;
    assert_eq!(said(&pair.ask("before").await.expect("an answer").text), "before");
    for round in 0..5 {
        // Every frame from the core ends its connection.
        pair.cores.server.cut_every(core::num::NonZeroU64::new(3));
        let text = format!("round {round}");
        let reply = pair.ask(&text);
        let unsettled = async {
            sleep(Duration::from_millis(150)).await;
            pair.cores.server.cut_every(None);
        };
        let (reply, ()) = tokio::join!(reply, unsettled);
        match reply {
            Ok(reply) => assert_eq!(said(&reply.text), text),
            // The command was not taken; it says so and is not repeated.
            Err(ClientError::NotSent(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(said(&pair.ask("after").await.expect("an answer").text), "after");
}

#[tokio::test]
async fn an_end_says_goodbye() {
    let handler = |_: Request, replier: Replier| async move {
        pending::<()>().await;
        drop(replier);
    };
    let pair = pair(declared().into(), handler).await;
    let call = pair.client.call(
        Standard::A2A,
        pair.to_bot,
        message(1, "SendMessage", "x"),
        CallOptions::default(),
    );
    let replies = within(call).await.expect("sent");
    sleep(Duration::from_millis(50)).await;
    within(pair.bot.shutdown_within(Duration::from_millis(50))).await;
    let reply = within(replies.last()).await.expect("a reply");
    assert_eq!(reply.kind, ReplyKind::Last(End::Error { code: INTERNAL_ERROR }));
    let _ = (Failure::Stopping, SessionConfig::default());
}
