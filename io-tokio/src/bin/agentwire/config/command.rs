//! `agentwire config`: an example, and a check.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args as Arguments, Subcommand};
use serde_json::json;

use super::file::{Value, shown as path_of};
use super::{Config, Given, load};
use crate::core_api::shown as shown_url;
use crate::exit::{ExitCode, Failure};
use crate::output::Output;
use crate::terminal::{DIM, escape};

/// The example; it is read by its own test.
const EXAMPLE: &str = include_str!("example.toml");

/// Write a configuration, or check one.
///
/// Values come, the first that says something winning, from flags, the environment, the file that
/// --config or AGENTWIRE_CONFIG names, agentwire.toml in the current folder, and
/// agentwire/config.toml in the folder of XDG_CONFIG_HOME (~/.config). Services are those of the
/// first file that has any.
#[derive(Debug, Arguments)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Check(CheckArgs),
    Example(ExampleArgs),
}

/// Check the configuration. Exit code 3 if something is wrong: each problem has its line.
#[derive(Debug, Arguments)]
struct CheckArgs {
    /// The file that --config of agentwire serve would name; - is standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Print each value and where it comes from.
    #[arg(short, long)]
    verbose: bool,
}

/// Print a configuration with all keys, or write it to a file that does not exist yet.
#[derive(Debug, Arguments)]
struct ExampleArgs {
    /// The file; only its owner may read it.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) fn run(args: &ConfigArgs, output: &mut Output) -> Result<(), Failure> {
    match &args.what {
        What::Check(args) => check(args, output),
        What::Example(args) => match &args.file {
            None => output.line(EXAMPLE.trim_end()),
            Some(file) => write(file, output),
        },
    }
}

fn check(args: &CheckArgs, output: &mut Output) -> Result<(), Failure> {
    let given = Given { file: args.file.clone(), ..Given::default() };
    let config = match load(&given) {
        Ok(config) => config,
        Err(problems) => {
            if output.is_json() {
                for problem in &problems.0 {
                    let place = problem.place.as_ref();
                    output.json(&json!({
                        "kind": "problem",
                        "file": place.map(|place| &*place.file),
                        "line": place.map(|place| place.line),
                        "column": place.map(|place| place.column),
                        "problem": problem.text,
                    }))?;
                }
            }
            return Err(problems.into());
        }
    };
    if args.verbose {
        values(&config, output)?;
    }
    let names: Vec<&str> = config.services.iter().map(|service| &*service.name).collect();
    if output.is_json() {
        let files = &config.files;
        return output.json(&json!({"kind": "config", "files": files, "services": names}));
    }
    let files = match &config.files[..] {
        [] => "no file".into(),
        files => escape(&files.join(", ")).into_owned(),
    };
    let services = match &names[..] {
        [] => "no services".into(),
        names => format!("serves {}", names.join(", ")),
    };
    output.line(format_args!("{files}: well-formed; {services}"))
}

fn values(config: &Config, output: &mut Output) -> Result<(), Failure> {
    for (path, entry) in &config.merged.0 {
        let value = if path.iter().any(|name| name == "env") {
            // It may be a secret.
            Value::Text("...".into())
        } else if let Value::Text(text) = &entry.value {
            Value::Text(redacted(text))
        } else {
            entry.value.clone()
        };
        let key = path_of(path);
        if output.is_json() {
            let value = match value {
                Value::Text(text) => json!(text),
                Value::Texts(texts) => json!(texts),
                Value::Count(count) => json!(count),
                Value::Flag(flag) => json!(flag),
            };
            let from = entry.origin.to_string();
            output.json(&json!({"kind": "value", "key": key, "value": value, "from": from}))?;
        } else {
            let from = format!("# {}", entry.origin);
            let from = output.terminal().paint(DIM, escape(&from).into_owned());
            let value = value.to_string();
            output.line(format_args!("{} = {}  {from}", escape(&key), escape(&value)))?;
        }
    }
    Ok(())
}

/// A URL without a name and a password.
fn redacted(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) if rest.contains('@') => format!("{scheme}://{}", shown_url(text)),
        _ => text.to_owned(),
    }
}

fn write(path: &Path, output: &mut Output) -> Result<(), Failure> {
    let failed = |code, why: &dyn core::fmt::Display| {
        Failure::new(code, format!("{}: {why}", path.display()))
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| failed(ExitCode::Config, &error))?;
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            failed(ExitCode::Refused, &"is there already, and is left as it is")
        }
        _ => failed(ExitCode::Config, &error),
    })?;
    let written = file.write_all(EXAMPLE.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| failed(ExitCode::Config, &error))?;
    if output.is_json() {
        output.json(&json!({"kind": "written", "file": path.display().to_string()}))
    } else {
        let path = path.display().to_string();
        output
            .line(format_args!("{} written; edit it, then: agentwire config check", escape(&path)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::KEYS;
    use super::*;

    #[test]
    fn the_example_is_well_formed_with_and_without_what_is_commented_out() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |text: &str| super::super::file::read("example", folder, text);
        read(EXAMPLE).expect("well-formed");
        // All keys: those that are commented out begin with a name or a table.
        let is_key = |line: &str| {
            line.strip_prefix("# ")
                .is_some_and(|rest| rest.starts_with('[') || rest.contains(" = "))
        };
        let uncommented: String = EXAMPLE
            .lines()
            .map(|line| if is_key(line) { &line[2..] } else { line }.to_owned() + "\n")
            .collect();
        let files = ["core.pem", "docs.authorization", "docs.token"];
        let mut text = uncommented;
        for file in files {
            text = text.replace(&format!("\"{file}\""), "\"Cargo.toml\"");
        }
        let found = read(&text).unwrap_or_else(|problems| panic!("{problems:?}"));
        for key in KEYS {
            let is_it = |path: &[String]| {
                path.len() == key.path.len()
                    && key.path.iter().zip(path).all(|(name, word)| *name == "*" || name == word)
            };
            assert!(found.iter().any(|found| is_it(&found.path)), "{:?}", key.path);
        }
        assert!(EXAMPLE.lines().all(|line| line.len() <= 100));
    }

    #[test]
    fn passwords_in_urls_are_not_shown() {
        assert_eq!(redacted("wss://me:CANARY@core.example/x"), "wss://core.example/x");
        assert_eq!(redacted("ws://127.0.0.1:1"), "ws://127.0.0.1:1");
        assert_eq!(redacted("a@b"), "a@b");
    }
}
