//! A guard before a child: it asks the system to end this process when its parent ends, and becomes
//! the child. So no way of the parent's dying leaves the child behind, SIGKILL among them.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use agentwire_tokio::stdio::ServerCommand;

/// The first argument of a guard.
const WORD: &str = "guard-child";

/// What a shell ends with when it cannot start a program.
const NOT_STARTED: u8 = 127;

/// The command, behind a guard.
pub(crate) fn guarded(command: ServerCommand) -> ServerCommand {
    match env::current_exe() {
        Ok(program) => {
            let parent = std::process::id().to_string();
            command.guard([program.into_os_string(), WORD.into(), parent.into()])
        }
        // Better unguarded than not at all.
        Err(_) => command,
    }
}

/// Runs as a guard if this process was started as one, and returns only if that fails.
pub(crate) fn run() -> Option<ExitCode> {
    let mut args = env::args_os().skip(1);
    if args.next()? != WORD {
        return None;
    }
    let parent: Option<OsString> = args.next();
    let program = args.next()?;
    let has_parent = bind();
    if !has_parent(parent) {
        // It has ended before this one could be bound to it.
        return Some(ExitCode::from(NOT_STARTED));
    }
    let error = Command::new(&program).args(args).exec();
    eprintln!("agentwire: {} could not be started: {error}", program.to_string_lossy());
    Some(ExitCode::from(NOT_STARTED))
}

/// Binds this process to its parent; gives a way to tell whether that is still the one it should be.
fn bind() -> impl Fn(Option<OsString>) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        let bound = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
        move |parent| {
            let parent = parent.and_then(|parent| parent.to_str()?.parse::<i32>().ok());
            !bound || getppid().map(|pid| pid.as_raw_nonzero().get()) == parent
        }
    }
    #[cfg(not(target_os = "linux"))]
    |_| true
}
