//! The configuration: what is served, where, for whom and how often, in TOML.
//!
//! Values come, the first that says something winning, from flags, the environment, the file that
//! `--config` names, `agentwire.toml` in the current folder, and `agentwire/config.toml` in the
//! user's folder for configurations. Services stand together: they are those of the first of these
//! files that has any.

mod command;
mod file;
mod keys;
mod service;

use core::fmt::{self, Display};
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

pub(crate) use command::{ConfigArgs, run};
use file::{Found, Place, Problem, Value};
pub(crate) use service::{Limits, Server, Service, Tuning, Where};

use crate::exit::{ExitCode, Failure};
use crate::terminal::escape;

/// The file in the current folder.
const PROJECT: &str = "agentwire.toml";

/// What flags say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    /// `--config`; `-` is standard input.
    pub(crate) file: Option<PathBuf>,
    /// `--core`.
    pub(crate) core: Option<String>,
    /// `--ca-file`.
    pub(crate) ca_file: Option<PathBuf>,
}

/// Who says a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    Flag(&'static str),
    Environment(&'static str),
    File(Place),
    Default,
}

impl Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Environment(name) => f.write_str(name),
            Self::File(place) => write!(f, "{}:{}", place.file, place.line),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and who says it.
#[derive(Clone, Debug)]
struct Entry {
    value: Value,
    origin: Origin,
}

/// All that is said, the strongest word for each key.
#[derive(Clone, Debug, Default)]
struct Merged(BTreeMap<Vec<String>, Entry>);

impl Merged {
    /// Adds what is said with less weight than all before.
    fn add(&mut self, path: Vec<String>, value: Value, origin: Origin) {
        self.0.entry(path).or_insert(Entry { value, origin });
    }

    fn has_services(&self) -> bool {
        self.0.keys().any(|path| path.first().is_some_and(|name| name == "serve"))
    }

    fn add_file(&mut self, found: Vec<Found>) {
        let has_services = self.has_services();
        let is_service = |found: &Found| found.path.first().is_some_and(|name| name == "serve");
        for found in found.into_iter().filter(|found| !(has_services && is_service(found))) {
            self.add(found.path, found.value, Origin::File(found.place));
        }
    }
}

/// A configuration that is well-formed.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    merged: Merged,
    /// The files that were read, the strongest first.
    pub(crate) files: Vec<String>,
    /// What is to be served, by name.
    pub(crate) services: Vec<Service>,
}

/// What is wrong with a configuration.
#[derive(Debug)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    /// Says each on standard error.
    pub(crate) fn tell(&self) {
        for problem in &self.0 {
            eprintln!("agentwire: {}", escape(&problem.to_string()));
        }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        problems.tell();
        let count = problems.0.len();
        let problem = if count == 1 { "1 problem".into() } else { format!("{count} problems") };
        Failure::new(ExitCode::Config, format!("the configuration has {problem}"))
    }
}

/// Reads the configuration.
pub(crate) fn load(given: &Given) -> Result<Config, Problems> {
    let mut merged = Merged::default();
    let path = |name: &str| vec!["core".to_owned(), name.to_owned()];
    let text = |value: &Path| Value::Text(value.display().to_string());
    if let Some(url) = &given.core {
        merged.add(path("url"), Value::Text(url.clone()), Origin::Flag("--core"));
    }
    if let Some(file) = &given.ca_file {
        merged.add(path("ca_file"), text(file), Origin::Flag("--ca-file"));
    }
    for (key, name) in [("url", "AGENTWIRE_CORE"), ("ca_file", "AGENTWIRE_CA_FILE")] {
        if let Ok(value) = env::var(name) {
            merged.add(path(key), Value::Text(value), Origin::Environment(name));
        }
    }
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    let optional = [Some(PathBuf::from(PROJECT)), user_file()];
    let named = given.file.clone().or_else(|| env::var_os("AGENTWIRE_CONFIG").map(PathBuf::from));
    let layers = named.into_iter().map(|path| (path, true));
    for (path, is_wanted) in layers.chain(optional.into_iter().flatten().map(|path| (path, false)))
    {
        let name = path.display().to_string();
        let text = match read(&path) {
            Ok(text) => text,
            Err(error) if !is_wanted && error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                problems.push(Problem { place: None, text: format!("{name}: {error}") });
                continue;
            }
        };
        match file::read(&name, path.parent().unwrap_or(Path::new("")), &text) {
            Ok(found) => merged.add_file(found),
            Err(more) => problems.extend(more),
        }
        files.push(name);
    }
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    service::add_defaults(&mut merged);
    let services = service::all(&merged).map_err(Problems)?;
    Ok(Config { merged, files, services })
}

fn read(path: &Path) -> io::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    fs::read_to_string(path)
}

/// The user's file, in the folder that `XDG_CONFIG_HOME` names.
fn user_file() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("agentwire/config.toml"))
}
