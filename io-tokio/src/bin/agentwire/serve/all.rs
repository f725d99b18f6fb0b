//! All services of a configuration: each is a task of its own, so that none waits for another or
//! falls with it.

use core::time::Duration;
use std::collections::BTreeMap;

use agentwire_core::jsonrpc::{METHOD_NOT_FOUND, Message};
use agentwire_core::mcp::bridge::{CallerId, Room, Via};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::open::{self, Open};
use crate::config::{Given, Service, load};
use crate::exit::{ExitCode, Failure};
use crate::output::Output;
use crate::signals::{Asker, Shutdown};
use crate::terminal::escape;

/// How long a server has to list its tools until it is named.
const PROBE: Duration = Duration::from_secs(10);

/// The pauses after failures grow between these.
const PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

/// The request that a server is tried with.
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// What has become of a service.
enum News {
    /// It is open, at this place.
    Open(String),
    /// Its server was tried: what is wrong with it.
    Tried(Option<String>),
    /// It is not open. It is tried again after this time, or never.
    Failed(Failure, Option<Duration>),
}

/// A service at work.
struct Running {
    service: Service,
    /// Tells this task's news from those of one before it.
    number: u64,
    end: Asker,
    task: JoinHandle<()>,
    state: State,
}

#[derive(Debug)]
enum State {
    Starting,
    Open,
    Tried(Option<String>),
    Failed(String),
}

struct Services {
    given: Given,
    running: BTreeMap<String, Running>,
    next: u64,
    news: mpsc::UnboundedSender<(String, u64, News)>,
    /// Whether the outcome of the last start is still to be told.
    is_telling: bool,
}

/// Serves until it is told to end, or nothing can be served.
pub(super) async fn run(
    given: &Given,
    output: &mut Output,
    mut shutdown: Shutdown,
) -> Result<(), Failure> {
    let config = load(given)?;
    if config.services.is_empty() {
        let problem = "nothing to serve: name a server after --, or a configuration with services \
                       (agentwire config example shows one)";
        return Err(Failure::new(ExitCode::Usage, problem));
    }
    let mut hangup = signal(SignalKind::hangup())?;
    let (news, mut heard) = mpsc::unbounded_channel();
    let given = given.clone();
    let mut services =
        Services { given, running: BTreeMap::new(), next: 0, news, is_telling: true };
    for service in config.services {
        services.start(service);
    }
    let result = services.turn(&mut heard, &mut hangup, output, &mut shutdown).await;
    services.close().await;
    result
}

impl Services {
    fn start(&mut self, service: Service) {
        let number = self.next;
        self.next += 1;
        let (end, shutdown) = Shutdown::new();
        let (news, name) = (self.news.clone(), service.name.clone());
        let tell = move |what| {
            // Nobody listens any more at the end.
            let _ = news.send((name.clone(), number, what));
        };
        let task = tokio::spawn(keep_open(service.clone(), shutdown, tell));
        let name = service.name.clone();
        let state = State::Starting;
        self.running.insert(name, Running { service, number, end, task, state });
        self.is_telling = true;
    }

    async fn turn(
        &mut self,
        heard: &mut mpsc::UnboundedReceiver<(String, u64, News)>,
        hangup: &mut Signal,
        output: &mut Output,
        shutdown: &mut Shutdown,
    ) -> Result<(), Failure> {
        // The first failure: how the program ends if nothing can be served.
        let mut first = None;
        let mut was_open = false;
        loop {
            let (name, number, news) = tokio::select! {
                biased;
                () = shutdown.requested() => return Ok(()),
                Some(()) = hangup.recv() => {
                    self.reload().await;
                    continue;
                }
                Some(news) = heard.recv() => news,
            };
            let Some(running) = self.running.get_mut(&name) else { continue };
            if running.number != number {
                continue;
            }
            running.state = match news {
                News::Open(at) => {
                    was_open = true;
                    if output.is_json() {
                        output.json(&json!({"serving": "mcp", "name": name, "at": at}))?;
                    } else {
                        output.line(format_args!("{name} {}", escape(&at)))?;
                    }
                    State::Open
                }
                News::Tried(trouble) => {
                    if let Some(trouble) = &trouble {
                        eprintln!("agentwire: {name}: {}", escape(trouble));
                    }
                    State::Tried(trouble)
                }
                News::Failed(failure, again) => {
                    let why = failure.message().to_owned();
                    let again = match again {
                        Some(pause) => format!("; trying again in {} s", pause.as_secs()),
                        None => String::new(),
                    };
                    eprintln!("agentwire: {name}: {}{again}", escape(&why));
                    first.get_or_insert(failure);
                    State::Failed(why)
                }
            };
            let is_settled =
                |running: &Running| !matches!(running.state, State::Starting | State::Open);
            if self.is_telling && self.running.values().all(is_settled) {
                self.is_telling = false;
                self.tell(output)?;
                let has_failed = |running: &Running| matches!(running.state, State::Failed(_));
                if !was_open && self.running.values().all(has_failed) {
                    return Err(first.take().map_or_else(
                        || Failure::new(ExitCode::NoChild, "nothing is served"),
                        |first| Failure::new(first.code(), "nothing is served"),
                    ));
                }
            }
        }
    }

    /// Says how the services stand, the bad ones by name.
    fn tell(&self, output: &mut Output) -> Result<(), Failure> {
        let mut status = Vec::new();
        let (mut open, mut troubled, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for (name, running) in &self.running {
            let (state, why) = match &running.state {
                State::Starting | State::Open | State::Tried(None) => {
                    open.push(name.clone());
                    ("served", None)
                }
                State::Tried(Some(why)) => {
                    troubled.push(format!("{name} ({})", escape(why)));
                    ("troubled", Some(why))
                }
                State::Failed(why) => {
                    failed.push(format!("{name} ({})", escape(why)));
                    ("failed", Some(why))
                }
            };
            status.push(json!({"name": name, "state": state, "why": why}));
        }
        if output.is_json() {
            return output.json(&json!({"kind": "status", "services": status}));
        }
        if troubled.is_empty() && failed.is_empty() {
            return Ok(());
        }
        let part = |what: &str, names: &[String]| match names {
            [] => String::new(),
            names => format!("; {what}: {}", names.join(", ")),
        };
        let all = open.len() + troubled.len() + failed.len();
        eprintln!(
            "agentwire: {} of {all} served{}{}{}",
            open.len() + troubled.len(),
            part("well", &open),
            part("with trouble", &troubled),
            part("not served", &failed)
        );
        Ok(())
    }

    /// Reads the configuration again, and does what is different now.
    async fn reload(&mut self) {
        let config = match load(&self.given) {
            Ok(config) if !config.services.is_empty() => config,
            Ok(_) => {
                eprintln!("agentwire: the new configuration has no services; the old one stays");
                return;
            }
            Err(problems) => {
                problems.tell();
                eprintln!("agentwire: the new configuration has problems; the old one stays");
                return;
            }
        };
        let mut wanted: BTreeMap<String, Service> =
            config.services.into_iter().map(|service| (service.name.clone(), service)).collect();
        let stays = |running: &Running, wanted: &BTreeMap<String, Service>| {
            wanted.get(&running.service.name) == Some(&running.service)
        };
        let gone: Vec<String> = self
            .running
            .iter()
            .filter(|(_, running)| !stays(running, &wanted))
            .map(|(name, _)| name.clone())
            .collect();
        let ended = gone.iter().filter_map(|name| self.running.remove(name)).collect();
        end(ended).await;
        wanted.retain(|name, _| !self.running.contains_key(name));
        eprintln!(
            "agentwire: the configuration was read again: {} ended, {} started, {} as before",
            gone.len(),
            wanted.len(),
            self.running.len()
        );
        for service in wanted.into_values() {
            self.start(service);
        }
    }

    async fn close(self) {
        end(self.running.into_values().collect()).await;
    }
}

/// Ends services, all at once, and waits for it.
async fn end(services: Vec<Running>) {
    for service in &services {
        service.end.ask();
    }
    for service in services {
        // An error is a panic of the task, which has ended then, too.
        let _ = service.task.await;
    }
}

/// Opens a service, as often as it takes, until it is to end.
async fn keep_open(service: Service, mut shutdown: Shutdown, tell: impl Fn(News)) {
    let mut pause = PAUSES.0;
    loop {
        match open::open(&service, &mut shutdown).await {
            Ok(None) => return,
            Ok(Some(open)) => {
                tell(News::Open(open.at.clone()));
                let health = open.health();
                let watched = open::watch(&service.name, health, &mut shutdown);
                let tried = async {
                    tell(News::Tried(probe(&open).await));
                    core::future::pending::<()>().await;
                };
                tokio::select! {
                    () = watched => {}
                    () = tried => {}
                }
                return open.close().await;
            }
            Err(failure) => {
                let passes = matches!(failure.code(), ExitCode::NoCore | ExitCode::NoChild);
                tell(News::Failed(failure, passes.then_some(pause)));
                if !passes {
                    return shutdown.requested().await;
                }
                tokio::select! {
                    biased;
                    () = shutdown.requested() => return,
                    () = sleep(pause) => {}
                }
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}

/// Has the server list its tools; what is wrong with that.
async fn probe(open: &Open) -> Option<String> {
    let listed = async {
        // No caller of a bot has this number but by a chance of one in 2^64.
        let mut call =
            open.servers().call(CallerId(u64::MAX), LIST, Room::UNLIMITED, Via::OneShot).await;
        call.answer().await
    };
    match timeout(PROBE, listed).await {
        Err(_) => Some(format!("does not answer tools/list within {} s", PROBE.as_secs())),
        // It is ending.
        Ok(None) => None,
        Ok(Some(answer)) => match Message::parse(&answer.text) {
            Ok(Message::Error(error)) if error.code != METHOD_NOT_FOUND => {
                Some(format!("answers tools/list with error {}", error.code))
            }
            _ => None,
        },
    }
}
