//! Completions and manual pages, made from the same definition as the command line itself.

use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::exit::{ExitCode, Failure};

/// The script that completes what is typed after the program's name.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut command = Args::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, env!("CARGO_BIN_NAME"), &mut script);
    write(&script)
}

/// A manual page, or all of them.
pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let mut command = Args::command();
    command.build();
    if let Some(folder) = &args.all {
        return pages(&command, folder);
    }
    let mut at = &command;
    for name in &args.command {
        let Some(inner) = at.find_subcommand(name) else {
            let known: Vec<&str> = visible(at).map(Command::get_name).collect();
            let problem = if known.is_empty() {
                format!("{} has no commands", at.get_bin_name().unwrap_or_default())
            } else {
                format!("there is no command {name}; there are {}", known.join(", "))
            };
            return Err(Failure::new(ExitCode::Usage, problem));
        };
        at = inner;
    }
    write(&page(at).map_err(Failure::from)?)
}

/// The commands within a command, without clap's own `help`.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| inner.get_name() != "help")
}

/// The name of a page: the names of the commands, with hyphens between.
fn title(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-")
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let version = concat!("agentwire ", env!("CARGO_PKG_VERSION"));
    let name = title(command);
    // A page of a command shows the whole name; without the commands within, nothing is lost: they
    // have pages of their own.
    let command = command.clone().display_name(name.clone()).disable_help_subcommand(true);
    let man = clap_mangen::Man::new(command).title(name.to_uppercase()).source(version);
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok(page)
}

fn pages(command: &Command, folder: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, error: io::Error| {
        Failure::new(ExitCode::ToolError, format!("{}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let mut left = vec![command];
    while let Some(command) = left.pop() {
        let path = folder.join(format!("{}.1", title(command)));
        let written = page(command).and_then(|page| std::fs::write(&path, page));
        written.map_err(|error| failed(&path, error))?;
        left.extend(visible(command));
    }
    Ok(())
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}
