//! One process for each journal.

use core::time::Duration;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;

use super::OpenError;

/// How often, and after which pauses, the lock is tried, and the holder's process id looked for. It
/// writes it at once after it has the lock. One that has ended, or has closed its journal, can leave
/// the lock for a moment to a child that it has forked and that does not run its own program yet.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// The lock on a journal: the system's own on a file beside it, so that it ends with the process,
/// however that ends. The file stays: to remove it would let two processes lock two files.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(journal: &Path) -> Result<Self, OpenError> {
        let path = beside(journal, ".lock");
        let failed = |cause| OpenError::Io { path: path.clone(), cause };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        super::file::private(&mut options);
        let mut file = options.open(&path).map_err(failed)?;
        let mut looks = 1;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if looks < LOOKS => {
                    looks += 1;
                    thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(OpenError::Locked { path: journal.into(), pid: holder(&mut file) });
                }
                Err(TryLockError::Error(cause)) => return Err(failed(cause)),
            }
        }
        file.set_len(0).map_err(failed)?;
        file.write_all(format!("{}\n", process::id()).as_bytes()).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// Who has the lock.
fn holder(file: &mut File) -> Option<u32> {
    for look in 0..LOOKS {
        if look > 0 {
            thread::sleep(PAUSE);
        }
        let mut text = String::new();
        file.rewind().ok()?;
        file.take(32).read_to_string(&mut text).ok()?;
        // Without the line feed it is not all there.
        if let Some(pid) = text.strip_suffix('\n').and_then(|pid| pid.parse().ok()) {
            return Some(pid);
        }
    }
    None
}

/// The path of a file that belongs to a journal.
pub(super) fn beside(journal: &Path, suffix: &str) -> PathBuf {
    let mut path = journal.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
