//! The blocking client and bot at a core's WebSocket API, which the loopback serves.

use core::num::NonZeroU64;
use core::time::Duration;
use std::sync::mpsc;
use std::thread;

use agentwire_blocking::bot::{Bot, BotConfig, Replier, ReplyError, Request, Via};
use agentwire_blocking::client::{
    CallOptions, Client, ClientError, ConnectError, CoreCallError, CoreState, NotSent,
    RequestOptions,
};
use agentwire_blocking::link::{Core, LinkError};
use agentwire_core::binding::{End, Failure, Standard};
use agentwire_core::chat::ContactId;
use agentwire_core::chat::session::{Declared, Reply, ReplyKind};
use agentwire_core::loopback::ProfileId;
use agentwire_core::rpc::session::ServiceReplyKind;
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::frame::Body;
use agentwire_tokio::network::Network;
use agentwire_tokio::server::Server;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

fn declared() -> Vec<Declared<Standard>> {
    vec![Declared::new(Standard::A2A, ["1.0"])]
}

fn message(method: &str, text: &str) -> String {
    json!({
        "jsonrpc": "2.0",
        "id": 7,
        "method": method,
        "a2a-service-parameters": {"A2A-Version": "1.0"},
        "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}},
    })
    .to_string()
}

fn result(request: &Request, result: &Value) -> String {
    let id = request.id.as_deref().expect("it has one");
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn said(text: &str) -> String {
    let value: Value = serde_json::from_str(text).expect("JSON");
    value["result"]["message"]["parts"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// Says what it was asked for.
fn echo(request: Request, replier: Replier) {
    let asked: Value = serde_json::from_str(&request.text).expect("JSON");
    let parts = &asked["params"]["message"]["parts"];
    let message = json!({"message": {"messageId": "n", "role": "ROLE_AGENT", "parts": parts}});
    replier.respond(&result(&request, &message)).expect("an answer");
}

/// The cores of ann and bob, who are contacts, each at a port of its own.
struct Cores {
    /// What serves them.
    _runtime: Runtime,
    network: Network,
    server: Server,
    ann: Core,
    bob: Core,
    to_bob: ContactId,
    bob_id: ProfileId,
}

fn cores() -> Cores {
    let runtime = Runtime::new().expect("a runtime");
    let network = Network::in_real_time(1);
    let ann = network.add_profile("ann").expect("a name");
    let bob = network.add_profile("bob").expect("a name");
    let (to_bob, _) = network.connect(&ann, &bob).expect("two profiles");
    let bob_id = bob.id();
    let server = Server::new(&network, 1);
    let mut cores = [ann, bob].into_iter().map(|profile| {
        runtime.block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
            let url = format!("ws://{}", listener.local_addr().expect("it has one"));
            tokio::spawn(server.serve(profile, listener));
            Core::new(url)
        })
    });
    let (ann, bob) = (cores.next().expect("two"), cores.next().expect("two"));
    drop(cores);
    Cores { _runtime: runtime, network, server, ann, bob, to_bob, bob_id }
}

fn ask(client: &Client, to: ContactId, text: &str) -> Result<Reply, ClientError> {
    let request = message("SendMessage", text);
    client.call(Standard::A2A, to, &request, CallOptions::default())?.last()
}

#[test]
fn a_call_over_two_sockets_is_answered() {
    let cores = cores();
    let bot = Bot::connect(cores.bob.clone(), declared(), BotConfig::default(), echo);
    let bot = bot.expect("a bot");
    let client = Client::connect(cores.ann.clone()).expect("a client");
    assert!(matches!(client.state(), Some(CoreState::Ready(ready)) if ready.name == "ann"));
    for number in 0..20 {
        let text = number.to_string();
        let reply = ask(&client, cores.to_bob, &text).expect("an answer");
        assert_eq!(said(&reply.text), text);
    }
    bot.shutdown();
}

#[test]
fn threads_share_a_client() {
    let cores = cores();
    let config = BotConfig::default().workers(8);
    let _bot = Bot::connect(cores.bob.clone(), declared(), config, echo).expect("a bot");
    let client = Client::connect(cores.ann.clone()).expect("a client");
    thread::scope(|scope| {
        for thread in 0..8 {
            let (client, to_bob) = (client.clone(), cores.to_bob);
            scope.spawn(move || {
                for number in 0..10 {
                    let text = format!("{thread} {number}");
                    assert_eq!(said(&ask(&client, to_bob, &text).expect("an answer").text), text);
                }
            });
        }
    });
}

#[test]
fn a_stream_arrives_in_its_order_and_a_refused_answer_is_told() {
    let cores = cores();
    let (tell, told) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let gone = std::sync::Mutex::new(gone);
    let handler = move |request: Request, mut replier: Replier| {
        let status = |state: &str| {
            let status = json!({"taskId": "t", "contextId": "c",
                "status": {"state": format!("TASK_STATE_{state}")}});
            result(&request, &json!({"statusUpdate": status}))
        };
        let Via::Chat { chat, item, .. } = request.via else { return };
        for _ in 0..5 {
            replier.notify(&status("WORKING")).expect("sent");
        }
        if request.text.contains("lose me") {
            tell.send(Ok((chat, item))).expect("somebody looks");
            gone.lock().expect("no panic").recv().expect("a sign");
            tell.send(Err(replier.respond(&status("COMPLETED")))).expect("somebody looks");
        } else {
            replier.respond(&status("COMPLETED")).expect("sent");
        }
    };
    let _bot = Bot::connect(cores.bob.clone(), declared(), BotConfig::default(), handler);
    let client = Client::connect(cores.ann.clone()).expect("a client");
    let request = message("SendStreamingMessage", "go");
    let call = client.call(Standard::A2A, cores.to_bob, &request, CallOptions::default());
    let kinds: Vec<ReplyKind> =
        call.expect("made").map(|reply| reply.expect("a reply").kind).collect();
    assert_eq!(kinds.len(), 6);
    assert_eq!(kinds[5], ReplyKind::Last(End::Terminal));

    let request = message("SendStreamingMessage", "lose me");
    let call = client.call(Standard::A2A, cores.to_bob, &request, CallOptions::default());
    let _replies = call.expect("made");
    let (chat, item) = told.recv().expect("a handler").expect("where it is");
    cores.network.with(|net| net.forget(cores.bob_id, chat, item)).expect("it was there");
    go.send(()).expect("it waits");
    let outcome = told.recv().expect("an outcome").expect_err("an answer");
    assert!(matches!(outcome, Err(ReplyError::NotSent(NotSent::Core(_)))), "{outcome:?}");
}

#[test]
fn service_rpc_goes_to_the_address_that_the_bot_has_opened() {
    let cores = cores();
    let config = BotConfig::default().service(true);
    let bot = Bot::connect(cores.bob.clone(), declared(), config, echo).expect("a bot");
    let link = bot.address().expect("an address");
    let client = Client::connect(cores.ann.clone()).expect("a client");
    let request = message("SendMessage", "rpc");
    let options = RequestOptions::default();
    let reply = client.request(Standard::A2A, &*link, &request, options).expect("it is made");
    let ServiceReplyKind::Answer { text, .. } = reply.kind else { panic!("{reply:?}") };
    assert_eq!(said(&text), "rpc");
}

#[test]
fn the_core_can_be_asked_for_anything() {
    let cores = cores();
    let client = Client::<Standard>::connect(cores.ann.clone()).expect("a client");
    let answer = client.of_user(Command::Contacts).expect("an answer");
    match answer.frame().map(|frame| frame.body()) {
        Some(Ok(Body::Contacts(contacts))) => assert_eq!(contacts.count(), 1),
        other => panic!("{other:?}"),
    }
    let refused = client.command(&Command::Raw("/_no such thing"));
    assert!(matches!(refused, Err(CoreCallError::Refused(_))), "{refused:?}");
}

#[test]
fn whoever_has_the_link_connects_and_calls() {
    let cores = cores();
    let config = BotConfig::default();
    let bot = Bot::connect(cores.bob.clone(), declared(), config, echo).expect("a bot");
    let link = bot.address().expect("an address");
    let client = Client::connect(cores.ann.clone()).expect("a client");
    let long = Duration::from_secs(60);
    let contact = client.connect_to(&link, false, long).expect("a contact");
    assert_eq!(said(&ask(&client, contact, "hello").expect("an answer").text), "hello");
    // Once more, and it is the same contact.
    assert_eq!(client.connect_to(&link, false, long), Ok(contact));
    let own = bot.client().connect_to(&link, false, long);
    assert_eq!(own, Err(CoreCallError::Own));
}

#[test]
fn a_core_that_is_not_there_is_named() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let core = Core::new(format!("ws://{}", listener.local_addr().expect("it has one")));
    drop(listener);
    let refused = ConnectError::Link(LinkError::Io(std::io::ErrorKind::ConnectionRefused));
    assert_eq!(Client::<Standard>::connect(core).map(drop), Err(refused));
}

#[test]
fn a_bot_of_a_cut_connection_answers_what_came_meanwhile() {
    let cores = cores();
    let bot = Bot::connect(cores.bob.clone(), declared(), BotConfig::default(), echo);
    let _bot = bot.expect("a bot");
    let client = Client::connect(cores.ann.clone()).expect("a client");
    for round in 0..3 {
        cores.server.cut_every(NonZeroU64::new(3));
        let text = format!("round {round}");
        let reply = thread::scope(|scope| {
            let asked = scope.spawn(|| ask(&client, cores.to_bob, &text));
            thread::sleep(Duration::from_millis(150));
            cores.server.cut_every(None);
            asked.join().expect("no panic")
        });
        match reply {
            Ok(reply) => assert_eq!(said(&reply.text), text),
            // The command was not taken; it says so and is not repeated.
            Err(ClientError::NotSent(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!(said(&ask(&client, cores.to_bob, "after").expect("an answer").text), "after");
}

#[test]
fn a_handler_that_panics_or_refuses_is_answered_for() {
    let cores = cores();
    let handler = |request: Request, replier: Replier| {
        assert!(!request.text.contains("panic"), "as it was told");
        replier.fail(&Failure::InvalidParams("no"));
    };
    let bot = Bot::connect(cores.bob.clone(), declared(), BotConfig::default(), handler);
    let _bot = bot.expect("a bot");
    let client = Client::connect(cores.ann.clone()).expect("a client");
    for (text, code) in [("panic", -32603), ("other", -32602), ("panic", -32603)] {
        let reply = ask(&client, cores.to_bob, text).expect("a reply");
        assert_eq!(reply.kind, ReplyKind::Last(End::Error { code }));
    }
}
