//! How bots fail in use, as scenarios against a core of the loopback's: whatever is killed, cut,
//! flooded, answered late or by the wrong person, a command takes effect at most once, and its
//! caller learns what came of it.
//!
//! | what happens | test |
//! |---|---|
//! | killed after a command was accepted, before it was begun | [`approval`]: `a_call_that_waited_when_the_bot_was_killed_is_decided_once_after_it` |
//! | killed after it was begun | [`journal`]: `killed_while_it_ran_a_command_is_not_run_again` |
//! | the core tells everything again, after a cut and after a restart | [`journal`]: `what_the_core_tells_again_runs_once` |
//! | one caller's odd first message | [`calls`]: `an_odd_first_message_is_its_senders_trouble` |
//! | whoever listened is gone | [`calls`]: `listeners_that_are_gone_hold_nobody_up` |
//! | a core that accepts and drops | [`faults`]: `a_core_that_drops_connections_is_asked_ever_more_slowly` |
//! | a journal that is cut, filled with NUL, or has a byte order mark | `agentwire-blocking`, `tests/journal.rs` |
//! | two bots of one account | [`journal`]: `a_second_life_waits_for_the_end_of_the_first`; the program's exit code in `tests/commands.rs` |
//! | an exit code for each way a call goes wrong | `tests/commands.rs`: `what_goes_wrong_with_a_call_is_a_code_and_a_sentence` |
//! | two bots that answer everything with a call | [`calls`]: `two_bots_that_call_for_each_call_end_at_the_budget` |
//! | an answer of the owner that comes while the bot is down | [`approval`]: the first one |
//! | an answer of the wrong person | [`approval`]: `only_the_owner_who_was_asked_decides` |
//! | an owner who is one no longer | [`approval`]: `who_was_removed_decides_nothing_and_the_next_owner_is_asked` |
//! | an item whose handling panics, or ends the process each time | [`calls`]: `a_panic_costs_one_call`; [`journal`]: `a_command_that_ends_the_process_each_time_is_set_aside` |
//! | ten thousand calls at once | [`calls`]: `a_flood_is_answered_in_bounds_and_fairly` |
//! | errors of callers, and of the connection | [`faults`]: `only_a_connection_that_ends_is_made_anew` |
//! | a core that is not started, or cannot be | [`faults`]: `a_bot_is_ready_once_its_core_is_started` |
//! | a core that says nothing, or nonsense | [`faults`]: `a_core_that_answers_nothing_or_nonsense_is_given_up_and_asked_again` |
//! | five hundred messages while the bot was down | [`journal`]: `what_came_while_the_bot_was_down_is_handled_in_its_order` |

mod approval;
mod calls;
mod faults;
mod journal;

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use agentwire_core::binding::Standard;
use agentwire_core::chat::ContactId;
use agentwire_core::chat::session::{Declared, Reply};
use agentwire_core::loopback::ProfileId;
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::journal::JournalConfig;
use agentwire_core::time::Timestamp;
use agentwire_tokio::bot::{Bot, BotConfig, Gate, Handler, Replier, Request};
use agentwire_tokio::client::{CallOptions, Client, ClientError};
use agentwire_tokio::journal::{OpenError, SqliteJournal};
use agentwire_tokio::link::Core;
use agentwire_tokio::network::{Network, Profile};
use agentwire_tokio::server::Server;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

/// More than anything here takes.
const LONG: Duration = Duration::from_secs(180);

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(LONG, future).await.expect("it comes in time")
}

/// Waits until something is so.
async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    within(async {
        while !is_so().await {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

fn declared() -> Vec<Declared<Standard>> {
    vec![Declared::new(Standard::A2A, ["1.0"])]
}

fn message(id: u64) -> String {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": "SendMessage",
        "a2a-service-parameters": {"A2A-Version": "1.0"},
        "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}]}},
    })
    .to_string()
}

fn result(request: &Request) -> String {
    let id = request.id.as_deref().expect("it has one");
    let message = r#"{"message":{"messageId":"n","role":"ROLE_AGENT","parts":[]}}"#;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{message}}}"#)
}

/// The id that a reply answers, and the reason of its error if it is one.
fn outcome(reply: &Reply) -> (u64, Option<String>) {
    let value: Value = serde_json::from_str(&reply.text).expect("JSON");
    let reason = value["error"]["data"][0]["reason"].as_str().map(str::to_lowercase);
    (value["id"].as_u64().unwrap_or_default(), reason)
}

/// Which commands have been handled, in which order.
#[derive(Clone, Default)]
struct Handled(Arc<Mutex<Vec<u64>>>);

impl Handled {
    fn add(&self, request: &Request) {
        let id = request.id.as_deref().expect("it has one").parse().expect("a number");
        self.0.lock().expect("no panic").push(id);
    }

    fn ids(&self) -> Vec<u64> {
        self.0.lock().expect("no panic").clone()
    }

    /// Answers, and takes note.
    fn answering(&self) -> impl Handler<Standard> + use<> {
        let handled = self.clone();
        move |request: Request, replier: Replier| {
            let handled = handled.clone();
            async move {
                handled.add(&request);
                // A core that is cut may not take it.
                let _ = replier.respond(result(&request)).await;
            }
        }
    }

    /// Takes note, and never answers.
    fn hanging(&self) -> impl Handler<Standard> + use<> {
        let handled = self.clone();
        move |request: Request, replier: Replier| {
            let handled = handled.clone();
            async move {
                handled.add(&request);
                core::future::pending::<()>().await;
                drop(replier);
            }
        }
    }
}

/// Cores of profiles, each at a port of its own; the second one is the bot's, and has all the
/// others as contacts.
struct World {
    network: Network,
    server: Server,
    profiles: Vec<ProfileId>,
    cores: Vec<Core>,
    /// The bot as the others know it, by their number.
    to_bot: Vec<Option<ContactId>>,
    /// The others as the bot knows them.
    of_bot: Vec<Option<ContactId>>,
}

impl World {
    async fn new(names: &[&str]) -> Self {
        Self::with(names, |_, _| {}).await
    }

    /// The same; `prepare` is called for each profile before anybody can connect to its core.
    async fn with(names: &[&str], prepare: impl Fn(&Server, &Profile)) -> Self {
        let network = Network::in_real_time(1);
        let server = Server::new(&network, 1);
        let profiles: Vec<_> =
            names.iter().map(|name| network.add_profile(name).expect("a name")).collect();
        let (mut to_bot, mut of_bot, mut cores) = (Vec::new(), Vec::new(), Vec::new());
        let mut listeners = Vec::new();
        for (number, profile) in profiles.iter().enumerate() {
            prepare(&server, profile);
            let known = (number != 1)
                .then(|| network.connect(profile, &profiles[1]).expect("two profiles"));
            to_bot.push(known.map(|(to, _)| to));
            of_bot.push(known.map(|(_, of)| of));
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
            cores.push(Core::new(format!("ws://{}", listener.local_addr().expect("bound"))));
            listeners.push(listener);
        }
        let ids = profiles.iter().map(Profile::id).collect();
        for (profile, listener) in profiles.into_iter().zip(listeners) {
            tokio::spawn(server.serve(profile, listener));
        }
        Self { network, server, profiles: ids, cores, to_bot, of_bot }
    }

    fn bot(&self) -> Core {
        self.cores[1].clone()
    }

    async fn person(&self, number: usize) -> Person {
        let client = within(Client::connect(self.cores[number].clone())).await.expect("a client");
        Person { client, bot: self.to_bot[number].expect("not the bot") }
    }
}

/// Somebody who writes to the bot.
#[derive(Clone)]
struct Person {
    client: Client,
    bot: ContactId,
}

impl Person {
    async fn call(&self, id: u64) -> Result<Reply, ClientError> {
        let call =
            self.client.call(Standard::A2A, self.bot, message(id), CallOptions::default()).await?;
        call.last().await
    }

    /// Sends messages as they are.
    async fn say(&self, texts: &[String]) {
        let messages: Vec<Value> = texts
            .iter()
            .map(|text| json!({"msgContent": {"type": "text", "text": text}, "mentions": {}}))
            .collect();
        let command = format!("/_send @{} json {}", self.bot.0, Value::from(messages));
        within(self.client.command(&Command::Raw(&command))).await.expect("sent");
    }

    /// What the bot has written, newest last.
    async fn heard(&self) -> Vec<String> {
        let command = format!("/_get chat @{} count=100", self.bot.0);
        let frame = within(self.client.command(&Command::Raw(&command))).await.expect("read");
        let frame: Value = serde_json::from_str(frame.text()).expect("JSON");
        let items = frame["resp"]["chat"]["chatItems"].as_array().expect("items").clone();
        items
            .iter()
            .filter(|item| item["chatDir"]["type"] == "directRcv")
            .map(|item| item["content"]["msgContent"]["text"].as_str().expect("text").to_owned())
            .collect()
    }
}

fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    Timestamp::from_millis(u64::try_from(now.as_millis()).expect("in time"))
}

/// A place for a journal that no other test has.
fn journal_path() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("operating-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("created");
    folder.join("calls.db")
}

/// One life of a bot with a journal: a runtime of its own, so that it can be ended at any moment
/// and takes leave of nobody.
struct Life {
    runtime: Runtime,
    bot: Bot,
}

impl Life {
    async fn begin<G: Gate<Standard>>(
        core: Core,
        journal: &Path,
        config: BotConfig<Standard, G>,
        handler: impl Handler<Standard>,
    ) -> Self {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        // The life before may not have let go of it yet.
        let mut opened = within(async {
            loop {
                match SqliteJournal::open(journal, now()) {
                    Ok(opened) => return opened,
                    Err(OpenError::Locked { .. }) => sleep(Duration::from_millis(10)).await,
                    Err(error) => panic!("{error}"),
                }
            }
        })
        .await;
        let config = config.journal(opened.journal(JournalConfig::default()), opened.store);
        let connected = runtime.spawn(Bot::connect(core, config, handler));
        let bot = within(connected).await.expect("no panic").expect("a bot");
        Self { runtime, bot }
    }

    /// Ends it as a kill would: nothing is said or written any more.
    fn kill(self) {
        self.runtime.shutdown_background();
        drop(self.bot);
    }

    /// Ends it in order.
    async fn end(self) {
        within(self.bot.shutdown_within(Duration::from_secs(5))).await;
        self.runtime.shutdown_background();
    }
}
