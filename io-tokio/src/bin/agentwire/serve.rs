//! `agentwire serve`: what is here, for others.

use core::net::SocketAddr;
use core::time::Duration;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use agentwire_core::mcp::bridge::Attribution;
use agentwire_tokio::mcp::{
    Backend, Front, Log, McpBridge, Options, Servers, StartError, Upstream,
};
use agentwire_tokio::stdio::ServerCommand;
use clap::{Args as Arguments, Subcommand};

use crate::a2a::{self, ServeA2aArgs};
use crate::exit::{ExitCode, Failure};
use crate::guard::guarded;
use crate::output::Output;
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
    /// Listen here for local HTTP clients, without a messenger; port 0 is any that is free. The
    /// address is printed.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: SocketAddr,

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
    #[arg(long, value_name = "URL", group = "backend")]
    pub(crate) url: Option<String>,

    /// Send what this file holds as the Authorization header of every request to that server.
    #[arg(long, value_name = "FILE", requires = "url")]
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
    let front = Front::listen(args.http, Arc::clone(&servers)).await.map_err(|error| {
        Failure::new(ExitCode::Refused, format!("cannot listen on {}: {error}", args.http))
    })?;
    if output.is_json() {
        output.json(&serde_json::json!({ "serving": "mcp", "url": front.url() }))?;
    } else {
        output.line(format_args!("{}", front.url()))?;
    }
    let mut was_up = true;
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => break,
            changed = health.changed() => if changed.is_err() { break },
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
    front.close().await;
    if let Some(servers) = Arc::into_inner(servers) {
        servers.close().await;
    }
    Ok(())
}

fn backend(args: &ServeMcpArgs) -> Result<Backend, Failure> {
    let mut words = args.command.iter();
    if let Some(program) = words.next() {
        return Ok(Backend::Child(guarded(ServerCommand::new(program).args(words))));
    }
    let Some(url) = &args.url else {
        return Err(Failure::new(ExitCode::Usage, "no server to serve"));
    };
    let mut upstream = Upstream::new(url);
    if let Some(file) = &args.authorization_file {
        let text = std::fs::read_to_string(file).map_err(|error| {
            let file = file.display();
            Failure::new(ExitCode::Config, format!("{file} cannot be read: {error}"))
        })?;
        upstream = upstream.credential(text.trim());
    }
    Ok(Backend::Http(upstream))
}

fn options(args: &ServeMcpArgs) -> Options {
    let mut options = Options::default();
    options.bridge.legacy = args.legacy;
    options.bridge.idle_timeout = Duration::from_secs(args.idle_timeout);
    options.bridge.total_timeout = Duration::from_secs(args.total_timeout);
    options.bridge.max_calls = args.max_calls;
    options.bridge.max_per_caller = args.max_calls;
    options.bridge.subscriptions = true;
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
