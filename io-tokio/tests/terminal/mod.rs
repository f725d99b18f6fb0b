//! A terminal, for programs that look whether they are on one.

use std::fs::File;
use std::io::Read as _;
use std::process::Command;

/// Runs on a terminal of this width; what it shows.
pub(crate) fn on_terminal(mut command: Command, columns: u16) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("granted");
    unlockpt(&ours).expect("unlocked");
    let name = ptsname(&ours, Vec::new()).expect("a name").into_string().expect("UTF-8");
    let theirs = File::options().read(true).write(true).open(name).expect("opened");
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&theirs, size).expect("sized");
    let clone = || theirs.try_clone().expect("a second handle");
    command.stdin(clone()).stdout(clone()).stderr(clone());
    let mut child = command.spawn().expect("the program runs");
    drop((command, theirs));
    let mut shown = Vec::new();
    // The end of a terminal is an error on Linux.
    let _ = File::from(ours).read_to_end(&mut shown);
    child.wait().expect("it ends");
    String::from_utf8(shown).expect("UTF-8")
}
