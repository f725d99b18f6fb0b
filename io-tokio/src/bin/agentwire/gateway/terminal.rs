//! The owner at the terminal, which is not where the protocol is spoken.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};

use agentwire_tokio::gateway::{Action, Approver, Decision};
use tokio::sync::oneshot;

use crate::terminal::{escape, escape_lines};

/// Asks on the terminal of the process, if it has one, whatever its standard streams are.
pub(super) struct TerminalOwner;

impl Approver for TerminalOwner {
    async fn decide(&self, action: &Action) -> Decision {
        let whole = serde_json::to_string_pretty(&action.to_json()).unwrap_or_default();
        let question =
            format!("\nMay I {}?\n{}\n[y/N] ", escape(&action.to_string()), escape_lines(&whole),);
        let (done, is_done) = oneshot::channel();
        // A thread of its own, which nobody waits for when the program ends.
        let asking = std::thread::Builder::new().name(String::from("owner"));
        let asked = asking.spawn(move || {
            // An error: nobody waits for the decision any more.
            let _ = done.send(ask(&question));
        });
        match asked {
            Ok(_) => is_done.await.unwrap_or(Decision::Refused),
            Err(error) => Decision::Unreachable(error.to_string()),
        }
    }
}

fn ask(question: &str) -> Decision {
    let tty = || {
        let mut tty = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        tty.write_all(question.as_bytes())?;
        let mut line = String::new();
        BufReader::new(tty).read_line(&mut line)?;
        Ok::<_, std::io::Error>(line)
    };
    match tty() {
        Ok(line) if matches!(line.trim(), "y" | "Y" | "yes") => Decision::Approved,
        Ok(_) => Decision::Refused,
        Err(_) => Decision::Unreachable(String::from(
            "there is no terminal; start the gateway with --ask, --ask-chat or --approve never",
        )),
    }
}
