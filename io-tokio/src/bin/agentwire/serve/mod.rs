//! `agentwire serve`: what is here, for others.

mod all;
mod open;

use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand};

use crate::a2a::{self, ServeA2aArgs};
use crate::args::{CoreArgs, DEFAULT_CORE, LimitArgs};
use crate::config::{Given, Limits, Server, Service, Tuning, Where};
use crate::exit::{ExitCode, Failure};
use crate::front;
use crate::output::Output;
use crate::signals::Shutdown;

/// Serve what is here to others: one MCP server or A2A agent, or all services of a configuration.
///
/// Without a command, the configuration says what is served (agentwire config example). A service
/// that fails is named, spoils no other one, and is tried again. SIGHUP reads the configuration
/// again: services that have changed are started anew, and a file with a problem changes nothing.
#[derive(Debug, Arguments)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) what: Option<Served>,

    /// The configuration; - is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The chat core of services that name none of their own; stronger than AGENTWIRE_CORE.
    #[arg(long, value_name = "URL")]
    pub(crate) core: Option<String>,

    /// Trust the certificates in this PEM file and no others, for that core.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Served {
    A2a(ServeA2aArgs),
    Mcp(Box<ServeMcpArgs>),
}

/// Serve an MCP server: a program that is started here, or one on HTTP.
///
/// The program is started again when it ends, and ended with this one. Its standard error is shown.
/// Without a server, all services of the configuration are served, as agentwire serve does.
#[derive(Debug, Arguments)]
#[command(group = clap::ArgGroup::new("backend"))]
pub(crate) struct ServeMcpArgs {
    /// Listen here for HTTP clients, and use no messenger; port 0 is any that is free. The address
    /// is printed. Without it the profile of a chat core serves, and its link is printed.
    #[arg(long, value_name = "ADDRESS", requires = "backend")]
    pub(crate) http: Option<SocketAddr>,

    /// A file with the token that HTTP clients have to show, which is needed when not only this
    /// machine is listened to.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) core: CoreArgs,

    /// The configuration, where no server is named here; - is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "backend")]
    pub(crate) config: Option<PathBuf>,

    /// Keep the call journal in this file; by default in the folder for states.
    #[arg(long, value_name = "FILE", requires = "backend")]
    pub(crate) journal: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Answer calls of this tool in conversations alone; may be repeated.
    #[arg(long, value_name = "TOOL", requires = "backend")]
    pub(crate) conversation: Vec<String>,

    /// Adapt a server of a revision before 2026-07-28 instead of refusing it.
    #[arg(long, requires = "backend")]
    pub(crate) legacy: bool,

    /// Give the server one call at a time, so that each gets its log messages.
    #[arg(long, requires = "backend")]
    pub(crate) one_at_a_time: bool,

    /// Give each caller a server of its own, this many at most; a further caller is told that they
    /// are busy.
    #[arg(long, value_name = "NUMBER", requires = "backend")]
    #[arg(value_parser = positive)]
    pub(crate) per_caller: Option<usize>,

    /// Seconds after which a caller's server that is not used is ended.
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    pub(crate) per_caller_idle: u64,

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

/// Serves until it is told to end.
pub(crate) async fn run(
    args: &ServeArgs,
    output: &mut Output,
    shutdown: Shutdown,
) -> Result<(), Failure> {
    let given = match &args.what {
        Some(Served::A2a(args)) => return a2a::serve(args, output, shutdown).await,
        Some(Served::Mcp(args)) => match service(args)? {
            Some(service) => return one(service, output, shutdown).await,
            None => {
                let core = Some(args.core.url.clone()).filter(|url| url != DEFAULT_CORE);
                Given { file: args.config.clone(), core, ca_file: args.core.ca_file.clone() }
            }
        },
        None => Given {
            file: args.config.clone(),
            core: args.core.clone(),
            ca_file: args.ca_file.clone(),
        },
    };
    all::run(&given, output, shutdown).await
}

/// Serves the one server that the flags name.
async fn one(service: Service, output: &mut Output, mut shutdown: Shutdown) -> Result<(), Failure> {
    let Some(open) = open::open(&service, &mut shutdown).await? else { return Ok(()) };
    let told = front::tell(output, &open.at);
    if told.is_ok() {
        open::watch("", open.health(), &mut shutdown).await;
    }
    open.close().await;
    told
}

/// What the flags name; `None` if that is nothing.
fn service(args: &ServeMcpArgs) -> Result<Option<Service>, Failure> {
    let mut words = args.command.iter().cloned();
    let server = match (words.next(), &args.server_url) {
        (Some(program), _) => Server::Program { program, args: words.collect(), env: Vec::new() },
        (None, Some(url)) => {
            let authorization_file = args.authorization_file.clone();
            Server::Http { url: url.clone(), authorization_file }
        }
        (None, None) => return Ok(None),
    };
    let limits = Limits::from(&args.limits);
    let place = match args.http {
        Some(_) if limits != Limits::default() => {
            let problem = "--allow and the limits are for a bot, and --http for clients on HTTP";
            return Err(Failure::new(ExitCode::Usage, problem));
        }
        Some(address) => Where::Http { address, token_file: args.token_file.clone() },
        None => Where::Core { core: args.core.clone(), journal: args.journal.clone(), limits },
    };
    let tuning = Tuning {
        conversation: args.conversation.clone(),
        legacy: args.legacy,
        one_at_a_time: args.one_at_a_time,
        per_caller: args.per_caller,
        per_caller_idle: Duration::from_secs(args.per_caller_idle),
        idle_timeout: Duration::from_secs(args.idle_timeout),
        total_timeout: Duration::from_secs(args.total_timeout),
        max_calls: args.max_calls,
    };
    Ok(Some(Service { name: String::new(), server, place, tuning }))
}

fn positive(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|&number| number > 0).ok_or("not a number from 1 on")
}
