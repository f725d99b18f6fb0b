//! The program agentwire.
//!
//! Results go to standard output, everything else to standard error. What comes from others is
//! escaped before it reaches either (`terminal`). How the program ends is one table (`exit`).
#![allow(clippy::std_instead_of_alloc, reason = "std is always there")]

mod a2a;
mod admission;
mod args;
mod bot;
mod call;
mod card;
mod config;
mod connect;
mod core_api;
mod demo;
mod discover;
mod doctor;
mod exit;
mod front;
mod gateway;
mod generate;
mod guard;
mod input;
mod inspect;
mod journal_file;
mod loopback;
mod output;
mod replay;
mod secret;
mod serve;
mod signals;
mod terminal;
mod web_card;

use std::process;

use args::{Action, Args};
use clap::CommandFactory;
use clap::error::ErrorKind;
use exit::Failure;
use output::Output;

fn main() -> process::ExitCode {
    // No runtime, no thread and no file before this line: `--help` is quick.
    if let Some(ended) = guard::run() {
        return ended;
    }
    let args = Args::read();
    match run(&args) {
        Ok(()) => exit::ExitCode::Ok.into(),
        Err(failure) => failure.report(),
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    let mut output = Output::stdout(args.json);
    match &args.action {
        _ if args.version => version(&mut output),
        Some(Action::Card(args)) => card::run(args, &mut output),
        Some(Action::Demo(demo)) => {
            signals::block_on(|shutdown| async { demo::run(demo, &mut output, shutdown).await })
        }
        Some(Action::Loopback(args)) => {
            signals::block_on(|shutdown| async { loopback::run(args, &mut output, shutdown).await })
        }
        Some(Action::Replay(args)) => replay::run(args, &mut output),
        Some(Action::Inspect(args)) => inspect::run(args, &mut output),
        Some(Action::Call(args)) => {
            signals::block_on(|end| async { call::run(args, &mut output, end).await })
        }
        Some(Action::Bot(args)) => {
            signals::block_on(|end| async { bot::run(args, &mut output, end).await })
        }
        Some(Action::Discover(args)) => {
            signals::block_on(|end| async { discover::run(args, &mut output, end).await })
        }
        Some(Action::Connect(args)) => {
            signals::block_on(|end| async { connect::run(args, &mut output, end).await })
        }
        Some(Action::Doctor(args)) => {
            signals::block_on(|end| async { doctor::run(args, &mut output, end).await })
        }
        Some(Action::Config(args)) => config::run(args, &mut output),
        Some(Action::Completions(args)) => generate::completions(args),
        Some(Action::Man(args)) => generate::man(args),
        Some(Action::Serve(args)) => {
            signals::block_on(|shutdown| async { serve::run(args, &mut output, shutdown).await })
        }
        Some(Action::Gateway(args)) => {
            signals::block_on(|shutdown| async { gateway::run(args, &mut output, shutdown).await })
        }
        None => Args::command()
            .error(ErrorKind::MissingSubcommand, "a subcommand or --version is required")
            .exit(),
    }
}

fn version(output: &mut Output) -> Result<(), Failure> {
    let (name, version) = (env!("CARGO_BIN_NAME"), env!("CARGO_PKG_VERSION"));
    if output.is_json() {
        output.json(&serde_json::json!({
            "name": name,
            "version": version,
            "mcp": [agentwire_tokio::stdio::REVISION],
        }))
    } else {
        output.line(format_args!("{name} {version}"))
    }
}
