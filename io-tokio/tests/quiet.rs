//! What is logged: ids and sizes, and below `trace` never what a message says.

use core::fmt::Write;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_tokio::bot::{Bot, BotConfig, Replier, Request};
use agentwire_tokio::client::{CallOptions, Client, RequestOptions};
use agentwire_tokio::link::Core;
use agentwire_tokio::network::Network;
use agentwire_tokio::server::Server;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Stands in every text of this test that nobody else has to read.
const CANARY: &str = "CANARY";

/// Writes down everything below `trace`.
struct Log(Arc<Mutex<String>>);

struct Fields<'l>(&'l mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn core::fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl Log {
    fn line(&self, metadata: &Metadata<'_>, record: impl FnOnce(&mut Fields<'_>)) {
        let mut log = self.0.lock().expect("no panic");
        let _ = write!(log, "{} {}", metadata.level(), metadata.target());
        record(&mut Fields(&mut log));
        log.push('\n');
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::DEBUG
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.line(span.metadata(), |fields| span.record(fields));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut log = self.0.lock().expect("no panic");
        values.record(&mut Fields(&mut log));
        log.push('\n');
    }

    fn event(&self, event: &Event<'_>) {
        self.line(event.metadata(), |fields| event.record(fields));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn no_message_is_logged_below_trace() {
    let log = Arc::new(Mutex::new(String::new()));
    tracing::subscriber::set_global_default(Log(Arc::clone(&log))).expect("the first one");

    let network = Network::in_real_time(1);
    let (ann, bob) = (network.add_profile("ann").unwrap(), network.add_profile("bob").unwrap());
    let (to_bob, _) = network.connect(&ann, &bob).expect("two profiles");
    let server = Server::new(&network, 1);
    let mut cores = Vec::new();
    for profile in [ann, bob] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        cores.push(Core::new(format!("ws://{address}/{CANARY}")));
        tokio::spawn(server.serve(profile, listener));
    }
    let declared = || vec![Declared::new(Standard::A2A, ["1.0"])];
    let handler = |request: Request, replier: Replier| async move {
        let id = request.id.expect("it has one");
        let parts = format!(r#"[{{"text":"{CANARY}"}}]"#);
        let message = format!(r#"{{"messageId":"n","role":"ROLE_AGENT","parts":{parts}}}"#);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"message":{message}}}}}"#);
        // The second time nobody is there to take it.
        let _ = replier.respond(answer).await;
        assert!(!request.text.contains("panic"), "a handler's own fault");
    };
    let played = async {
        let config = BotConfig::from(declared()).service(declared());
        let bot = Bot::connect(cores.remove(1), config, handler).await.expect("a bot");
        let client = Client::connect(cores.remove(0)).await.expect("a client");
        for text in [CANARY, "panic CANARY"] {
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":"{CANARY}","method":"SendMessage","a2a-service-parameters":{{"A2A-Version":"1.0"}},"params":{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}}}"#
            );
            let call = client.call(Standard::A2A, to_bob, request.clone(), CallOptions::default());
            call.await.expect("sent").last().await.expect("a reply");
            let link = bot.address().await.expect("an address");
            let options = RequestOptions::default();
            let asked = client.request(Standard::A2A, &*link, request, options);
            asked.await.expect("it is made");
        }
        // No command of a core, and a call that cannot be sent.
        let command = format!("/_{CANARY}");
        let raw = agentwire_core::simplex::command::Command::Raw(&command);
        let refused = client.command(&raw).await.expect_err("there is none");
        let shown = format!("{refused} {refused:?} {client:?} {bot:?}");
        assert!(!shown.contains(CANARY), "{shown}");
        server.cut_every(core::num::NonZeroU64::new(1));
        let cut = agentwire_core::simplex::command::Command::Users;
        // The connection ends with its answer, or before.
        let _ = client.command(&cut).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.cut_every(None);
        bot.shutdown().await;
    };
    timeout(Duration::from_secs(60), played).await.expect("it comes in time");

    let log = log.lock().expect("no panic");
    assert!(log.contains("chat=@") && log.contains("bytes="), "{log}");
    assert!(log.contains("no connection"), "{log}");
    let leaks: Vec<&str> = log.lines().filter(|line| line.contains(CANARY)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}
