//! What is served: [`Service`].

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use agentwire_core::admission::When;

use super::file::{Problem, Value};
use super::keys::KEYS;
use super::{Entry, Merged, Origin};
use crate::args::CoreArgs;

/// Something that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// What to call it; empty if there is only one.
    pub(crate) name: String,
    pub(crate) server: Server,
    pub(crate) place: Where,
    pub(crate) tuning: Tuning,
}

/// The MCP server behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// A program that is started here.
    Program { program: OsString, args: Vec<OsString>, env: Vec<(String, String)> },
    /// One on Streamable HTTP.
    Http { url: String, authorization_file: Option<PathBuf> },
}

/// Where it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// As the profile of a chat core.
    Core { core: CoreArgs, journal: Option<PathBuf>, limits: Limits },
    /// To clients on HTTP.
    Http { address: SocketAddr, token_file: Option<PathBuf> },
}

/// Who may call, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) allow: Vec<String>,
    pub(crate) max_open: Option<u32>,
    pub(crate) per_minute: Option<u32>,
    pub(crate) per_day: Option<u32>,
    /// Which calls an owner approves; none if it is not said.
    pub(crate) approve: Option<When>,
    pub(crate) owner: Vec<String>,
}

/// How the server is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tuning {
    pub(crate) conversation: Vec<String>,
    pub(crate) legacy: bool,
    pub(crate) one_at_a_time: bool,
    pub(crate) per_caller: Option<usize>,
    pub(crate) per_caller_idle: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) total_timeout: Duration,
    pub(crate) max_calls: usize,
}

/// The names of the services.
fn names(merged: &Merged) -> BTreeSet<String> {
    let services = merged.0.keys().filter(|path| path.first().is_some_and(|name| name == "serve"));
    services.filter_map(|path| path.get(1).cloned()).collect()
}

/// Adds the defaults, so that each key that matters has its word.
pub(super) fn add_defaults(merged: &mut Merged) {
    let names = names(merged);
    for key in KEYS {
        let Some(default) = key.default else { continue };
        let value = match default.parse() {
            Ok(count) => Value::Count(count),
            Err(_) => default.parse().map_or_else(|_| Value::Text(default.to_owned()), Value::Flag),
        };
        let path = |name: &str| -> Vec<String> {
            key.path.iter().map(|word| if *word == "*" { name } else { word }.to_owned()).collect()
        };
        if key.path.contains(&"*") {
            for name in &names {
                merged.add(path(name), value.clone(), Origin::Default);
            }
        } else {
            merged.add(path(""), value, Origin::Default);
        }
    }
}

/// The services, or what does not fit together in them.
pub(super) fn all(merged: &Merged) -> Result<Vec<Service>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut services = Vec::new();
    for name in names(merged) {
        let table = Table { merged, name: &name };
        match table.service() {
            Ok(service) => services.push(service),
            Err(problem) => problems.push(problem),
        }
    }
    problems.extend(shared(merged, &services));
    if problems.is_empty() { Ok(services) } else { Err(problems) }
}

/// Places that more than one service wants.
fn shared(merged: &Merged, services: &[Service]) -> Vec<Problem> {
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for service in services {
        let place = match &service.place {
            Where::Http { address, .. } if address.port() == 0 => continue,
            Where::Http { address, .. } => address.to_string(),
            Where::Core { core, .. } => core.url.clone(),
        };
        if let Some(other) = taken.insert(place, &service.name) {
            let table = Table { merged, name: &service.name };
            let text = format!(
                "serve.{other} and serve.{} are served at the same place: one bot or listener each",
                service.name
            );
            problems.push(table.problem(&["http", "core", "command", "url"], text));
        }
    }
    problems
}

/// The values of one service.
struct Table<'m> {
    merged: &'m Merged,
    name: &'m str,
}

impl Table<'_> {
    fn entry(&self, key: &str) -> Option<&Entry> {
        self.merged.0.get(&["serve", self.name, key].map(str::to_owned)[..])
    }

    /// A value that not only services have.
    fn general(&self, table: &str, key: &str) -> Option<&Value> {
        self.merged.0.get(&[table, key].map(str::to_owned)[..]).map(|entry| &entry.value)
    }

    /// A problem at the first of these keys that is there.
    fn problem(&self, keys: &[&str], text: impl Into<String>) -> Problem {
        let found = keys.iter().find_map(|key| match &self.entry(key)?.origin {
            Origin::File(place) => Some(place.clone()),
            _ => None,
        });
        let first = || {
            self.merged.0.iter().find_map(|(path, entry)| match &entry.origin {
                Origin::File(place) if path.get(1).is_some_and(|name| name == self.name) => {
                    Some(place.clone())
                }
                _ => None,
            })
        };
        Problem { place: found.or_else(first), text: text.into() }
    }

    fn text(&self, key: &str) -> Option<String> {
        match &self.entry(key)?.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(PathBuf::from)
    }

    fn texts(&self, key: &str) -> Vec<String> {
        match self.entry(key).map(|entry| &entry.value) {
            Some(Value::Texts(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    fn count(&self, key: &str) -> Option<u32> {
        match self.entry(key)?.value {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    fn flag(&self, key: &str) -> bool {
        matches!(self.entry(key), Some(Entry { value: Value::Flag(true), .. }))
    }

    fn seconds(&self, key: &str) -> Duration {
        Duration::from_secs(self.count(key).unwrap_or_default().into())
    }

    fn number(&self, key: &str) -> Option<usize> {
        self.count(key).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn service(&self) -> Result<Service, Problem> {
        let server = self.server()?;
        let place = self.place()?;
        let tuning = Tuning {
            conversation: self.texts("conversation"),
            legacy: self.flag("legacy"),
            one_at_a_time: self.flag("one_at_a_time"),
            per_caller: self.number("per_caller"),
            per_caller_idle: self.seconds("per_caller_idle"),
            idle_timeout: self.seconds("idle_timeout"),
            total_timeout: self.seconds("total_timeout"),
            max_calls: self.number("max_calls").unwrap_or_default(),
        };
        Ok(Service { name: self.name.to_owned(), server, place, tuning })
    }

    fn server(&self) -> Result<Server, Problem> {
        let env =
            self.merged.0.iter().filter_map(|(path, entry)| match (&path[..], &entry.value) {
                ([serve, service, env, name], Value::Text(value))
                    if serve == "serve" && service == self.name && env == "env" =>
                {
                    Some((name.clone(), value.clone()))
                }
                _ => None,
            });
        let env: Vec<_> = env.collect();
        let name = self.name;
        match (self.texts("command").split_first(), self.text("url")) {
            (Some((program, args)), None) => {
                if self.entry("authorization_file").is_some() {
                    let text = format!("serve.{name}: authorization_file is for a url");
                    return Err(self.problem(&["authorization_file"], text));
                }
                let args = args.iter().map(OsString::from).collect();
                Ok(Server::Program { program: program.into(), args, env })
            }
            (None, Some(url)) if env.is_empty() => {
                Ok(Server::Http { url, authorization_file: self.path("authorization_file") })
            }
            (None, Some(_)) => {
                Err(self.problem(&["url"], format!("serve.{name}: env is for a command")))
            }
            (None, None) => {
                Err(self.problem(&[], format!("serve.{name} has neither command nor url")))
            }
            (Some(_), Some(_)) => {
                Err(self.problem(&["url"], format!("serve.{name} has both command and url")))
            }
        }
    }

    fn place(&self) -> Result<Where, Problem> {
        let name = self.name;
        if let Some(address) = self.text("http").and_then(|text| text.parse().ok()) {
            let of_bots = [
                "core",
                "ca_file",
                "journal",
                "allow",
                "max_open",
                "per_minute",
                "per_day",
                "approve",
                "owner",
            ];
            if let Some(key) = of_bots.into_iter().find(|key| self.entry(key).is_some()) {
                let text =
                    format!("serve.{name}: {key} is for a bot, and http for clients on HTTP");
                return Err(self.problem(&[key], text));
            }
            let address: SocketAddr = address;
            let token_file = self.path("token_file");
            if token_file.is_none() && !address.ip().is_loopback() {
                let text =
                    format!("serve.{name}: other machines are served only with a token_file");
                return Err(self.problem(&["http"], text));
            }
            return Ok(Where::Http { address, token_file });
        }
        if self.entry("token_file").is_some() {
            let text = format!("serve.{name}: token_file is for http");
            return Err(self.problem(&["token_file"], text));
        }
        let general = |table: &str, key| match self.general(table, key) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let own = self.text("core");
        let ca_file = match (&own, self.path("ca_file")) {
            (_, Some(file)) => Some(file),
            // What is said of one core is not said of another.
            (Some(_), None) => None,
            (None, None) => general("core", "ca_file").map(PathBuf::from),
        };
        let url = own.or_else(|| general("core", "url")).unwrap_or_default();
        let limit = |key| {
            self.count(key).or_else(|| match self.general("limits", key) {
                Some(Value::Count(count)) => Some(*count),
                _ => None,
            })
        };
        let allow = match (self.entry("allow"), self.general("limits", "allow")) {
            (None, Some(Value::Texts(texts))) => texts.clone(),
            _ => self.texts("allow"),
        };
        let owner = match (self.entry("owner"), self.general("limits", "owner")) {
            (None, Some(Value::Texts(texts))) => texts.clone(),
            _ => self.texts("owner"),
        };
        let approve = self.text("approve").or_else(|| general("limits", "approve"));
        let approve = match approve.as_deref().map(str::parse::<When>) {
            Some(Err(error)) => {
                let text = format!("serve.{name}: approve is {error}");
                return Err(self.problem(&["approve"], text));
            }
            Some(Ok(When::New | When::Always)) if owner.is_empty() => {
                let text = format!("serve.{name}: approve needs an owner");
                return Err(self.problem(&["approve"], text));
            }
            approve => approve.and_then(Result::ok),
        };
        let limits = Limits {
            approve,
            owner,
            allow,
            max_open: limit("max_open"),
            per_minute: limit("per_minute"),
            per_day: limit("per_day"),
        };
        let core = CoreArgs { url, ca_file };
        Ok(Where::Core { core, journal: self.path("journal"), limits })
    }
}
