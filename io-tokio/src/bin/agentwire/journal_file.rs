//! A bot's call journal: where it is, and how it is opened.

use std::env;
use std::path::{Path, PathBuf};

use agentwire_tokio::journal::{OpenError, Opened, SqliteJournal};

use crate::doctor::now;
use crate::exit::{ExitCode, Failure};
use crate::terminal::escape;

/// Opens the journal at a path, or the one of the bot at a core.
pub(crate) fn open(path: Option<&Path>, url: &str) -> Result<Opened, Failure> {
    let path = match path {
        Some(path) => path.to_owned(),
        None => default_path(url)?,
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| {
            let problem = format!("{}: {error}; name a file with --journal", folder.display());
            Failure::new(ExitCode::Config, problem)
        })?;
    }
    let opened = SqliteJournal::open(&path, now()).map_err(|error| {
        let (code, mend) = match &error {
            OpenError::Locked { .. } => (
                ExitCode::Locked,
                "; one bot for each core: end that one first, or name another file with --journal",
            ),
            OpenError::Stuck { .. } => (ExitCode::Corrupt, "; name another file with --journal"),
            _ => (ExitCode::Config, "; name another file with --journal"),
        };
        Failure::new(code, format!("{error}{mend}"))
    })?;
    if let Some(damaged) = &opened.damaged {
        let moved = damaged.moved_to.display().to_string();
        eprintln!(
            "agentwire: the call journal was damaged ({}) and is now {}; commands sent before are \
             answered with an unknown outcome",
            escape(&damaged.why),
            escape(&moved)
        );
    }
    Ok(opened)
}

/// The journal of the bot at a core: one for each core, in the folder for states that
/// `XDG_STATE_HOME` names.
pub(crate) fn default_path(url: &str) -> Result<PathBuf, Failure> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let states = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .ok_or_else(|| {
            let problem = "neither XDG_STATE_HOME nor HOME says where the journal is to be; \
                name a file with --journal";
            Failure::new(ExitCode::Config, problem)
        })?;
    Ok(states.join("agentwire").join(format!("{}.db", name(url))))
}

/// What tells cores apart in a file's name: the host and the port, never what stands before the
/// host or after it, which may be secret.
fn name(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let keep = |char: char| if char.is_ascii_alphanumeric() || char == '.' { char } else { '-' };
    let name: String = place.chars().map(keep).collect();
    name.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_named_after_its_core_and_after_nothing_secret() {
        assert_eq!(name("ws://127.0.0.1:5225"), "127.0.0.1-5225");
        assert_eq!(name("wss://me:CANARY@core.example/CANARY?x=CANARY"), "core.example");
        assert_eq!(name("ws://[::1]:5225/"), "1--5225");
        assert_eq!(name("ws://../x"), "");
    }
}
