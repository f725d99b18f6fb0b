//! `agentwire serve`: what is here, for others.

use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_core::mcp::REVISION;
use agentwire_core::mcp::bridge::Attribution;
use agentwire_core::simplex::journal::{Journal, JournalConfig};
use agentwire_core::time::Timestamp;
use agentwire_tokio::bot::{Bot, BotConfig};
use agentwire_tokio::journal::{OpenError, SqliteJournal};
use agentwire_tokio::mcp::{
    Backend, Front, Health, Log, McpBridge, McpHandler, Options, Servers, StartError, Upstream,
};
use agentwire_tokio::stdio::ServerCommand;
use clap::{Args as Arguments, Subcommand};
use tokio::sync::watch::Receiver;

use crate::a2a::{self, ServeA2aArgs};
use crate::args::CoreArgs;
use crate::core_api::{core_of, not_connected, shown};
use crate::exit::{ExitCode, Failure};
use crate::front::{self, tell};
use crate::guard::guarded;
use crate::journal_file;
use crate::output::Output;
use crate::secret::read_secret;
use crate::signals::Shutdown;
use crate::terminal::escape;

/// Serve what is here to others.
#[derive(Debug, Arguments)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) what: Served,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Served {
    A2a(ServeA2aArgs),
    Mcp(ServeMcpArgs),
}

/// Serve an MCP server: a program that is started here, or one on HTTP.
///
/// The program is started again when it ends, and ended with this one. Its standard error is shown.
#[derive(Debug, Arguments)]
#[command(group = clap::ArgGroup::new("backend").required(true))]
pub(crate) struct ServeMcpArgs {
    /// Listen here for HTTP clients, and use no messenger; port 0 is any that is free. The address
    /// is printed. Without it the profile of a chat core serves, and its link is printed.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,

    /// A file with the token that HTTP clients have to show, which is needed when not only this
    /// machine is listened to.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) core: CoreArgs,

    /// Keep the call journal in this file; by default in the folder for states.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Answer calls of this tool in conversations alone; may be repeated.
    #[arg(long, value_name = "TOOL")]
    pub(crate) conversation: Vec<String>,

    /// Adapt a server of a revision before 2026-07-28 instead of refusing it.
    #[arg(long)]
    pub(crate) legacy: bool,

    /// Give the server one call at a time, so that each gets its log messages.
    #[arg(long)]
    pub(crate) one_at_a_time: bool,

    /// Seconds that a call may be without a sign of the server.
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub(crate) idle_timeout: u64,

    /// Seconds that a call may take in all.
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    pub(crate) total_timeout: u64,

    /// Calls that are open at once.
    #[arg(long, value_name = "NUMBER", default_value = "256")]
    pub(crate) max_calls: usize,

    /// The URL of a server on Streamable HTTP: https, or http on this machine.
    #[arg(long = "url", value_name = "URL", group = "backend")]
    pub(crate) server_url: Option<String>,

    /// Send what this file holds as the Authorization header of every request to that server.
    #[arg(long, value_name = "FILE", requires = "server_url")]
    pub(crate) authorization_file: Option<PathBuf>,

    /// The program and its arguments.
    #[arg(last = true, value_name = "COMMAND", group = "backend")]
    pub(crate) command: Vec<OsString>,
}

/// How long open calls have to be answered when the program ends: less than that has in all.
const ANSWERS: Duration = Duration::from_secs(2);

/// Serves until it is told to end.
pub(crate) async fn run(
    args: &ServeArgs,
    output: &mut Output,
    shutdown: Shutdown,
) -> Result<(), Failure> {
    match &args.what {
        Served::A2a(args) => a2a::serve(args, output, shutdown).await,
        Served::Mcp(args) => mcp(args, output, shutdown).await,
    }
}

async fn mcp(
    args: &ServeMcpArgs,
    output: &mut Output,
    mut shutdown: Shutdown,
) -> Result<(), Failure> {
    let bridge = McpBridge::start(backend(args)?, options(args));
    let ready = tokio::select! {
        biased;
        () = shutdown.requested() => {
            bridge.close().await;
            return Ok(());
        }
        ready = bridge.ready() => ready,
    };
    if let Err(error) = ready {
        bridge.close().await;
        return Err(error.into());
    }
    let mut health = bridge.watch();
    let servers = Arc::new(Servers::Shared(bridge));
    let served = match args.http {
        Some(address) => {
            let token = args.token_file.as_deref();
            front::listen(address, token, Arc::clone(&servers), output).await.map(Open::Front)
        }
        None => tokio::select! {
            biased;
            () = shutdown.requested() => Ok(Open::Nothing),
            bot = at_a_core(args, &servers, output) => bot.map(|bot| Open::Bot(Box::new(bot))),
        },
    };
    let result = match served {
        Ok(open) => {
            watch(&mut health, &mut shutdown).await;
            open.close().await;
            Ok(())
        }
        Err(failure) => Err(failure),
    };
    if let Some(servers) = Arc::into_inner(servers) {
        servers.close().await;
    }
    result
}

/// What is open to callers.
enum Open {
    Front(Front),
    Bot(Box<Bot>),
    Nothing,
}

impl Open {
    async fn close(self) {
        match self {
            Self::Front(front) => front.close().await,
            Self::Bot(bot) => bot.shutdown_within(ANSWERS).await,
            Self::Nothing => {}
        }
    }
}

/// Serves as the profile of a chat core.
async fn at_a_core(
    args: &ServeMcpArgs,
    servers: &Arc<Servers>,
    output: &mut Output,
) -> Result<Bot, Failure> {
    let declared = || vec![Declared::new(Standard::MCP, [REVISION])];
    let (journal, store) = journal(args)?;
    let config = BotConfig::from(declared()).service(declared()).journal(journal, store);
    let bot = Bot::connect(core_of(&args.core), config, McpHandler::new(Arc::clone(servers))).await;
    let bot = bot.map_err(|error| not_connected(&args.core, &error))?;
    let link = bot.address().await.map_err(|error| {
        Failure::new(ExitCode::NoCore, format!("{}: {error}", shown(&args.core.url)))
    })?;
    tell(output, &link)?;
    Ok(bot)
}

fn journal(args: &ServeMcpArgs) -> Result<(Journal, SqliteJournal), Failure> {
    let path = match &args.journal {
        Some(path) => path.clone(),
        None => journal_file::default_path(&args.core.url)?,
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::new(ExitCode::Config, format!("{}: {error}", folder.display()))
        })?;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp::from_millis(u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let mut opened = SqliteJournal::open(&path, now).map_err(|error| {
        let code = match &error {
            OpenError::Locked { .. } => ExitCode::Locked,
            OpenError::Io { .. } => ExitCode::Config,
            _ => ExitCode::Corrupt,
        };
        Failure::new(code, error.to_string())
    })?;
    if let Some(damaged) = &opened.damaged {
        let (why, moved) = (escape(&damaged.why), damaged.moved_to.display());
        eprintln!("agentwire: the call journal was damaged ({why}) and is now {moved}");
    }
    let journal = opened.journal(JournalConfig::default());
    Ok((journal, opened.store))
}

/// Tells what becomes of the server, until it is to end.
async fn watch(health: &mut Receiver<Health>, shutdown: &mut Shutdown) {
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
                    eprintln!("agentwire: the server {}; starting it again", escape(&trouble.what));
                }
                _ => eprintln!("agentwire: the server is up again"),
            }
        }
    }
}

fn backend(args: &ServeMcpArgs) -> Result<Backend, Failure> {
    let mut words = args.command.iter();
    if let Some(program) = words.next() {
        return Ok(Backend::Child(guarded(ServerCommand::new(program).args(words))));
    }
    let Some(url) = &args.server_url else {
        return Err(Failure::new(ExitCode::Usage, "no server to serve"));
    };
    let mut upstream = Upstream::new(url);
    if let Some(file) = &args.authorization_file {
        upstream = upstream.credential(read_secret(file)?);
    }
    Ok(Backend::Http(upstream))
}

fn options(args: &ServeMcpArgs) -> Options {
    let mut options = Options::default();
    options.bridge.legacy = args.legacy;
    options.bridge.idle_timeout = Duration::from_secs(args.idle_timeout);
    options.bridge.total_timeout = Duration::from_secs(args.total_timeout);
    options.bridge.max_calls = args.max_calls;
    if args.http.is_some() {
        // All local clients are one caller.
        options.bridge.max_per_caller = args.max_calls;
    }
    // The document has no subscriptions over SimpleX.
    options.bridge.subscriptions = args.http.is_some();
    options.bridge.conversation_tools.clone_from(&args.conversation);
    if args.one_at_a_time {
        options.bridge.attribution = Attribution::OneAtATime;
    }
    let name = args.command.first().map(|program| program.to_string_lossy().into_owned());
    let name = escape(&name.unwrap_or_default()).to_string();
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
