//! Where a bot's call journal is.

use std::env;
use std::path::PathBuf;

use crate::exit::{ExitCode, Failure};

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
