//! The process group of a child: signalled, watched and reaped as a whole.

use rustix::process::{
    Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid,
};

/// A process group that this process started. Dropping it kills what is left of the group at
/// once, so that no child outlives a runtime that ends early.
///
/// The kernel gives a group's number to nobody else as long as the group has a member, a zombie
/// included. After the last one is gone the number is never used again here: every method ends
/// the watch at the first sign that the group is empty.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Option<Pid>,
}

impl Group {
    /// The group led by the process with this number.
    pub(crate) fn of(leader: Option<u32>) -> Self {
        let leader = leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Group { leader }
    }

    /// Asks every member to end.
    pub(crate) fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Ends every member.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(leader) = self.leader
            && kill_process_group(leader, signal).is_err()
        {
            self.leader = None;
        }
    }

    /// Whether a member is left. To be asked only after the leader has been waited for: members
    /// that became our own children (as process 1 or a subreaper) are waited for here.
    pub(crate) fn is_alive(&mut self) -> bool {
        let Some(leader) = self.leader else { return false };
        while let Ok(Some(_)) = waitpgid(leader, WaitOptions::NOHANG) {}
        if test_kill_process_group(leader).is_err() {
            self.leader = None;
        }
        self.leader.is_some()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
