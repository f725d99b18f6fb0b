//! One service: its server is started, and then it is open to callers.

use core::time::Duration;
use std::sync::Arc;

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_core::mcp::REVISION;
use agentwire_core::mcp::bridge::Attribution;
use agentwire_core::simplex::journal::JournalConfig;
use agentwire_tokio::bot::{Bot, BotConfig};
use agentwire_tokio::mcp::{
    Backend, Front, Health, Log, McpBridge, McpHandler, Options, PerCaller, Servers, StartError,
    Upstream,
};
use agentwire_tokio::stdio::ServerCommand;
use tokio::sync::watch::Receiver;

use crate::admission::{ask_owners, gate};
use crate::config::{Limits, Server, Service, Where};
use crate::core_api::{core_of, not_connected, shown};
use crate::exit::{ExitCode, Failure};
use crate::guard::guarded;
use crate::secret::read_secret;
use crate::signals::Shutdown;
use crate::terminal::escape;
use crate::{front, journal_file};

/// How long open calls have to be answered when a service ends: less than that has in all.
const ANSWERS: Duration = Duration::from_secs(2);

/// A service that is open to callers.
pub(super) struct Open {
    entrance: Entrance,
    servers: Arc<Servers>,
    /// What a caller is told.
    pub(super) at: String,
}

enum Entrance {
    Front(Front),
    Bot(Box<Bot>),
}

impl Open {
    /// How its server stands; nothing is told of servers of callers.
    pub(super) fn health(&self) -> Option<Receiver<Health>> {
        match &*self.servers {
            Servers::Shared(bridge) => Some(bridge.watch()),
            Servers::PerCaller(_) => None,
        }
    }

    /// What answers.
    pub(super) fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Ends it: its calls first, then its server.
    pub(super) async fn close(self) {
        match self.entrance {
            Entrance::Front(front) => front.close().await,
            Entrance::Bot(bot) => bot.shutdown_within(ANSWERS).await,
        }
        end(self.servers).await;
    }
}

async fn end(servers: Arc<Servers>) {
    if let Some(servers) = Arc::into_inner(servers) {
        servers.close().await;
    }
}

/// Opens a service; `None` if it is to end before that.
pub(super) async fn open(
    service: &Service,
    shutdown: &mut Shutdown,
) -> Result<Option<Open>, Failure> {
    let Some(servers) = start(service, shutdown).await?.map(Arc::new) else { return Ok(None) };
    let entered = async {
        match &service.place {
            Where::Http { address, token_file } => {
                let token = token_file.as_deref();
                let front = front::listen(*address, token, Arc::clone(&servers)).await?;
                let at = front.url();
                Ok((Entrance::Front(front), at))
            }
            Where::Core { .. } => {
                let (bot, link) = at_a_core(&service.place, &servers).await?;
                Ok((Entrance::Bot(Box::new(bot)), link))
            }
        }
    };
    let entered: Option<Result<_, Failure>> = tokio::select! {
        biased;
        () = shutdown.requested() => None,
        entered = entered => Some(entered),
    };
    match entered {
        Some(Ok((entrance, at))) => Ok(Some(Open { entrance, servers, at })),
        other => {
            end(servers).await;
            other.transpose().map(|_| None)
        }
    }
}

/// Starts the server, and waits until it takes requests. One for each caller is started once for a
/// trial.
async fn start(service: &Service, shutdown: &mut Shutdown) -> Result<Option<Servers>, Failure> {
    let (backend, options) = (backend(service)?, options(service));
    let bridge = McpBridge::start(backend.clone(), options.clone());
    let ready = tokio::select! {
        biased;
        () = shutdown.requested() => None,
        ready = bridge.ready() => Some(ready),
    };
    let Some(Ok(())) = ready else {
        bridge.close().await;
        return Ok(ready.transpose().map(|_| None)?);
    };
    let Some(max) = service.tuning.per_caller else { return Ok(Some(Servers::Shared(bridge))) };
    bridge.close().await;
    let servers = PerCaller::new(backend, options).max(max).idle(service.tuning.per_caller_idle);
    Ok(Some(Servers::PerCaller(servers)))
}

/// Serves as the profile of a chat core; gives its link, too.
async fn at_a_core(place: &Where, servers: &Arc<Servers>) -> Result<(Bot, String), Failure> {
    let Where::Core { core, journal, limits } = place else {
        return Err(Failure::new(ExitCode::Usage, "no chat core"));
    };
    let declared = || vec![Declared::new(Standard::MCP, [REVISION])];
    // Before the core is touched: a second bot is to change nothing.
    let mut opened = journal_file::open(journal.as_deref(), &core.url)?;
    let journal = opened.journal(JournalConfig::default());
    let config = BotConfig::from(declared()).service(declared()).journal(journal, opened.store);
    let handler = McpHandler::new(Arc::clone(servers));
    let bot = if *limits == Limits::default() {
        Bot::connect(core_of(core), config, handler).await
    } else {
        let gate = gate(core, limits).await?;
        let bot = Bot::connect(core_of(core), config.gate(gate.clone()), handler).await;
        bot.inspect(|bot| ask_owners(gate, bot))
    };
    let bot = bot.map_err(|error| not_connected(core, &error))?;
    let link = bot.address().await.map_err(|error| {
        Failure::new(ExitCode::NoCore, format!("{}: {error}", shown(&core.url)))
    })?;
    Ok((bot, link))
}

/// Tells what becomes of the server, until it is to end.
pub(super) async fn watch(name: &str, health: Option<Receiver<Health>>, shutdown: &mut Shutdown) {
    let Some(mut health) = health else { return shutdown.requested().await };
    let who = if name.is_empty() { String::new() } else { format!("{name}: ") };
    let mut was_up = true;
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => return,
            changed = health.changed() => if changed.is_err() { return },
        }
        let health = health.borrow_and_update().clone();
        if health.is_up() != was_up {
            was_up = health.is_up();
            match &health.trouble {
                Some(trouble) if !was_up => {
                    let what = escape(&trouble.what);
                    eprintln!("agentwire: {who}the server {what}; starting it again");
                }
                _ => eprintln!("agentwire: {who}the server is up again"),
            }
        }
    }
}

fn backend(service: &Service) -> Result<Backend, Failure> {
    match &service.server {
        Server::Program { program, args, env } => {
            let mut command = ServerCommand::new(program).args(args);
            for (name, value) in env {
                command = command.env(name, value);
            }
            Ok(Backend::Child(guarded(command)))
        }
        Server::Http { url, authorization_file } => {
            let mut upstream = Upstream::new(url);
            if let Some(file) = authorization_file {
                upstream = upstream.credential(read_secret(file)?);
            }
            Ok(Backend::Http(upstream))
        }
    }
}

fn options(service: &Service) -> Options {
    let tuning = &service.tuning;
    let mut options = Options::default();
    options.bridge.legacy = tuning.legacy;
    options.bridge.idle_timeout = tuning.idle_timeout;
    options.bridge.total_timeout = tuning.total_timeout;
    options.bridge.max_calls = tuning.max_calls;
    let is_http = matches!(service.place, Where::Http { .. });
    if is_http {
        // All clients on HTTP are one caller.
        options.bridge.max_per_caller = tuning.max_calls;
    }
    // The document has no subscriptions over SimpleX.
    options.bridge.subscriptions = is_http;
    options.bridge.conversation_tools.clone_from(&tuning.conversation);
    if tuning.one_at_a_time {
        options.bridge.attribution = Attribution::OneAtATime;
    }
    let name = match &service.server {
        _ if !service.name.is_empty() => service.name.clone(),
        Server::Program { program, .. } => program.to_string_lossy().into_owned(),
        Server::Http { .. } => String::new(),
    };
    let name = escape(&name).to_string();
    // A standard error that nobody reads is no reason to end.
    options.log = Some(Log::new(move |line| {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("{name}: {}\n", escape(line)),
        );
    }));
    options
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        // What it wrote to its standard error has been shown.
        Failure::new(ExitCode::NoChild, error.to_string())
    }
}
