//! One file: its values, where each stands, and what is wrong.

use core::fmt::{self, Display};
use core::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentwire_tokio::reach::Address;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{Key, Kind, Node, VERSION, node};

/// The longest file, in bytes.
const LONGEST: usize = 1 << 20;

/// The longest name of a service.
const LONGEST_NAME: usize = 32;

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: Arc<str>,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) place: Option<Place>,
    pub(super) text: String,
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { file, line, column }) = &self.place {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        f.write_str(&self.text)
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Texts(Vec<String>),
    Count(u32),
    Flag(bool),
}

impl Display for Value {
    /// As TOML: its texts may be written as JSON writes them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => serde_json::json!(text).fmt(f),
            Self::Texts(texts) => serde_json::json!(texts).fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
        }
    }
}

/// A value of a file.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) path: Vec<String>,
    pub(super) value: Value,
    pub(super) place: Place,
}

/// Reads the text of a file. Paths in it start at the file's own folder.
pub(super) fn read(name: &str, folder: &Path, text: &str) -> Result<Vec<Found>, Vec<Problem>> {
    let mut reading =
        Reading { text, file: name.into(), folder, found: Vec::new(), problems: Vec::new() };
    if text.len() > LONGEST {
        reading.problem(0, format!("is longer than {LONGEST} bytes"));
        return Err(reading.problems);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map_or(0, |span| span.start);
        reading.problem(at, error.message().replace('\n', ", "));
    }
    if reading.problems.is_empty() {
        reading.table(table.get_ref(), &mut Vec::new());
        reading.version(table.get_ref());
    }
    if reading.problems.is_empty() { Ok(reading.found) } else { Err(reading.problems) }
}

struct Reading<'t> {
    text: &'t str,
    file: Arc<str>,
    folder: &'t Path,
    found: Vec<Found>,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn place(&self, at: usize) -> Place {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let lines = before.bytes().filter(|&byte| byte == b'\n').count();
        Place { file: Arc::clone(&self.file), line: lines + 1, column: line.chars().count() + 1 }
    }

    fn problem(&mut self, at: usize, text: impl Into<String>) {
        let place = Some(self.place(at));
        self.problems.push(Problem { place, text: text.into() });
    }

    fn version(&mut self, table: &DeTable<'_>) {
        let version = self.found.iter().find(|found| found.path == ["version"]);
        let is_known = |value: &Value| matches!(value, Value::Count(n) if i64::from(*n) == VERSION);
        match version {
            Some(found) if is_known(&found.value) => {}
            Some(found) => {
                let text = format!("this program reads version {VERSION}, not {}", found.value);
                self.problems.push(Problem { place: Some(found.place.clone()), text });
            }
            // One that is no number has its problem already.
            None if table.iter().any(|(name, _)| name.get_ref() == "version") => {}
            None => self.problem(0, format!("version = {VERSION} is missing")),
        }
    }

    fn table(&mut self, table: &DeTable<'_>, path: &mut Vec<String>) {
        for (name, value) in table.iter() {
            let at = name.span().start;
            path.push(name.get_ref().to_string());
            match (node(path), value.get_ref()) {
                (Node::Unknown(meant), _) => {
                    let meant = meant.map(|name| format!("; is {name} meant?"));
                    let text = format!("unknown key {}{}", shown(path), meant.unwrap_or_default());
                    self.problem(at, text);
                }
                (Node::Table, DeValue::Table(inner)) => {
                    if path.len() == 2 && !is_name(name.get_ref()) {
                        let text = format!(
                            "a service's name is at most {LONGEST_NAME} letters, digits, - and _",
                        );
                        self.problem(at, text);
                    } else {
                        self.table(inner, path);
                    }
                }
                (Node::Table, _) => self.problem(at, format!("{} is a table", shown(path))),
                (Node::Leaf(key), _) => match self.value(key, value) {
                    Ok(value) => {
                        let place = self.place(at);
                        self.found.push(Found { path: path.clone(), value, place });
                    }
                    Err(why) => {
                        let text = format!("{} {why}", shown(path));
                        self.problem(value.span().start, text);
                    }
                },
            }
            path.pop();
        }
    }

    fn value(&self, key: &Key, value: &Spanned<DeValue<'_>>) -> Result<Value, String> {
        let value = value.get_ref();
        let text = || {
            let text = value.as_str().ok_or("is to be a text, in quotes")?;
            if text.contains('\0') {
                return Err("holds a NUL");
            }
            Ok(text.to_owned())
        };
        let texts = || {
            let texts = value.as_array().ok_or("is to be an array of texts")?.iter();
            let texts = texts.map(|text| text.get_ref().as_str().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>().ok_or("is to be an array of texts")
        };
        Ok(match key.kind {
            Kind::Text => Value::Text(text()?),
            Kind::Texts => Value::Texts(texts()?),
            Kind::Command => {
                let words = texts()?;
                if words.first().is_none_or(String::is_empty) {
                    return Err("names no program".into());
                }
                if words.iter().any(|word| word.contains('\0')) {
                    return Err("holds a NUL".into());
                }
                Value::Texts(words)
            }
            Kind::Count => {
                let number = value.as_integer();
                let number = number
                    .and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok());
                let number = number.filter(|number| *number > 0);
                Value::Count(number.ok_or_else(|| format!("is to be a number, 1 to {}", u32::MAX))?)
            }
            Kind::Flag => Value::Flag(value.as_bool().ok_or("is to be true or false")?),
            Kind::Path => Value::Text(self.path(&text()?)),
            Kind::File => {
                let path = self.path(&text()?);
                std::fs::File::open(&path).map_err(|error| format!("cannot be read: {error}"))?;
                Value::Text(path)
            }
            Kind::Address => {
                let text = text()?;
                text.parse::<SocketAddr>().map_err(|_| {
                    "is to be an IP address and a port, as in 127.0.0.1:8080".to_owned()
                })?;
                Value::Text(text)
            }
            Kind::People => {
                let people = texts()?;
                for whom in &people {
                    let address =
                        whom.parse::<Address>().map_err(|error| format!("{whom}: {error}"));
                    if !matches!(address?, Address::Contact(_) | Address::Everyone(_)) {
                        return Err(format!("{whom}: a contact or a group is wanted"));
                    }
                }
                Value::Texts(people)
            }
            Kind::Core => Value::Text(with_scheme(text()?, &["ws://", "wss://"])?),
            Kind::Url => Value::Text(with_scheme(text()?, &["https://", "http://"])?),
        })
    }

    fn path(&self, path: &str) -> String {
        let path: PathBuf = self.folder.join(path);
        path.display().to_string()
    }
}

fn with_scheme(url: String, schemes: &[&str]) -> Result<String, String> {
    if schemes.iter().any(|scheme| url.len() > scheme.len() && url.starts_with(scheme)) {
        Ok(url)
    } else {
        Err(format!("is to be a URL that begins with {}", schemes.join(" or ")))
    }
}

/// Names stand in messages and file names.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(is_plain)
}

/// A path as it is written.
pub(super) fn shown(path: &[String]) -> String {
    path.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let read = read("f", Path::new("/"), text);
        read.expect_err(text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn values_have_their_place() {
        let text = "version = 1\n\n[serve.a-b]\ncommand = ['x', \"y\"]\n  legacy = true\n";
        let found = read("f", Path::new("/"), text).expect("good");
        let found = found.iter().find(|found| found.path[1..] == ["a-b", "legacy"]).expect("there");
        assert_eq!(found.value, Value::Flag(true));
        assert_eq!((found.place.line, found.place.column), (5, 3));
    }

    #[test]
    fn each_problem_has_its_line() {
        let text = "version = 1\n[serve.a]\ncomand = []\n[core]\nurl = 1\n";
        assert_eq!(
            problems(text),
            [
                "f:5:7: core.url is to be a text, in quotes",
                "f:3:1: unknown key serve.a.comand; is command meant?",
            ]
        );
        for (text, problem) in [
            ("", "f:1:1: version = 1 is missing"),
            ("version = 2", "f:1:1: this program reads version 1, not 2"),
            ("version = 0", "f:1:11: version is to be a number, 1 to 4294967295"),
            ("version = 1\ncore = 'x'", "f:2:1: core is a table"),
            (
                "version = 1\n[core]\nurl = 'http://x'",
                "f:3:7: core.url is to be a URL that begins with ws:// or wss://",
            ),
            ("version = 1\n[limits]\nallow = ['#']", "f:3:9: limits.allow #: "),
            (
                "version = 1\n[limits]\nmax_open = 4294967296",
                "f:3:12: limits.max_open is to be a number",
            ),
            ("version = 1\n[serve.'a b']\nurl = 'https://x'", "f:2:8: a service's name"),
            ("version = 1\n[serve.a]\ncommand = ['']", "f:3:11: serve.a.command names no program"),
            ("version = 1\n[serve.a]\nhttp = 'localhost:1'", "f:3:8: serve.a.http is to be an IP"),
            (
                "version = 1\n[serve.a]\ntoken_file = '/none'",
                "f:3:14: serve.a.token_file cannot be read",
            ),
        ] {
            let found = problems(text);
            assert!(found.len() == 1 && found[0].starts_with(problem), "{text}: {found:?}");
        }
        assert!(problems("version = = 1")[0].starts_with("f:1:"));
        assert!(problems("version = 1\nversion = 1")[0].starts_with("f:2:1: "));
        assert!(problems(&" ".repeat(LONGEST + 1))[0].contains("longer"));
    }
}
