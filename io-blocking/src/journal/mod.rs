//! The call journal on disk: a [`JournalStore`] in one SQLite file (feature `sqlite`).
//!
//! ```text
//!   calls.db        the journal, in write-ahead mode
//!   calls.db-wal    what has not been merged into it yet
//!   calls.db.lock   the process id of the bot that has the journal open
//!   calls.db.corrupt, calls.db.corrupt-1, …   journals that were found damaged
//! ```
//!
//! [`SqliteJournal::save`] returns when the changes are on the disk: all of one call, or none of
//! them, whenever the process or the machine ends. What several calls led to is saved at once, for
//! the price of one.
//!
//! # One bot for each journal
//!
//! Two bots that answer for one profile answer twice. Whoever opens a journal locks the file beside
//! it, for as long as the process lives; the system takes the lock back however it ends, so none is
//! ever left behind. A second one gets [`OpenError::Locked`], which names the first.
//!
//! # A damaged journal
//!
//! Every page and every row is checked when a journal is opened. One that is damaged is moved aside,
//! with everything that belongs to it, and an empty one takes its place: [`Opened::damaged`] says
//! where the old one is. What the old one knew is lost, and so the new one remembers until when:
//! commands that were sent by then get `outcome unknown`. A file of another program, and a journal
//! of a later version, are left alone and refused.

mod file;
mod lock;
mod row;

use core::error::Error;
use core::fmt;
use core::time::Duration;

use std::io;
use std::path::{Path, PathBuf};

use agentwire_core::simplex::journal::{
    CallKey, Change, Journal, JournalConfig, JournalStore, Mark, Record,
};
use agentwire_core::time::Timestamp;
use rusqlite::{Connection, Transaction, params};

pub(crate) use file::private;
use lock::Lock;

/// The version of the tables that this crate reads and writes.
pub const SCHEMA_VERSION: u32 = 1;

/// Why a journal was not opened. Nothing was changed.
///
/// ```
/// use agentwire_blocking::journal::OpenError;
/// use std::path::PathBuf;
/// fn who(error: &OpenError) -> Option<u32> {
///     match error {
///         OpenError::Locked { pid, .. } => *pid,
///         _ => None,
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has it open.
    Locked {
        /// The journal.
        path: PathBuf,
        /// Which process, if it has said so.
        pid: Option<u32>,
    },
    /// The file holds the data of another program.
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The journal was written by a later version.
    Version {
        /// The journal.
        path: PathBuf,
        /// The version of its tables.
        found: u32,
    },
    /// The journal is damaged and could not be moved aside.
    Stuck {
        /// The journal.
        path: PathBuf,
        /// Why it could not be moved.
        cause: io::Error,
    },
    /// The system does not let us.
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// SQLite cannot work with the file, which need not be damaged: the disk may be full.
    Store {
        /// The journal.
        path: PathBuf,
        /// Why.
        cause: SaveError,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path, pid: Some(pid) } => {
                write!(f, "{} is in use by process {pid}", path.display())
            }
            Self::Locked { path, pid: None } => {
                write!(f, "{} is in use by another process", path.display())
            }
            Self::Foreign { path } => {
                write!(f, "{} holds the data of another program", path.display())
            }
            Self::Version { path, found } => write!(
                f,
                "{} is of version {found}, and this program knows {SCHEMA_VERSION}",
                path.display()
            ),
            Self::Stuck { path, cause } => {
                write!(f, "{} is damaged and cannot be moved aside: {cause}", path.display())
            }
            Self::Io { path, cause } => write!(f, "{}: {cause}", path.display()),
            Self::Store { path, cause } => write!(f, "{}: {cause}", path.display()),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Stuck { cause, .. } | Self::Io { cause, .. } => Some(cause),
            Self::Store { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

/// Why changes could not be kept: none of them is.
///
/// ```
/// use agentwire_blocking::journal::SaveError;
/// fn show(error: &SaveError) -> String {
///     format!("nothing more is run: {error}")
/// }
/// ```
#[derive(Debug)]
pub struct SaveError(rusqlite::Error);

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the journal could not be written or read: {}", self.0)
    }
}

impl Error for SaveError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl From<rusqlite::Error> for SaveError {
    fn from(error: rusqlite::Error) -> Self {
        Self(error)
    }
}

/// A journal that was damaged.
///
/// ```
/// use agentwire_blocking::journal::Damaged;
/// fn show(damaged: &Damaged) -> String {
///     format!("{}; it is now {}", damaged.why, damaged.moved_to.display())
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Damaged {
    /// What is wrong with it.
    pub why: String,
    /// Where it is now.
    pub moved_to: PathBuf,
}

/// What was on the disk.
///
/// ```
/// use agentwire_blocking::journal::Opened;
/// use agentwire_core::simplex::journal::JournalConfig;
/// fn begin(opened: &mut Opened) -> usize {
///     let journal = opened.journal(JournalConfig::default());
///     journal.unfinished().count()
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Opened {
    /// Where changes are kept.
    pub store: SqliteJournal,
    /// The commands that are known.
    pub records: Vec<Record>,
    /// Up to where commands have been forgotten.
    pub mark: Option<Mark>,
    /// Until when nothing is known of what was done.
    pub lost: Option<Timestamp>,
    /// What was found instead of a journal that can be read.
    pub damaged: Option<Damaged>,
}

impl Opened {
    /// The journal as the process before has left it. The records go into it.
    pub fn journal(&mut self, config: JournalConfig) -> Journal {
        let records = core::mem::take(&mut self.records);
        Journal::restore(config, records, self.mark).after_loss(self.lost)
    }
}

/// What is to be said of a journal that nobody has open.
///
/// ```
/// use agentwire_blocking::journal::Health;
/// fn is_fine(health: &Health) -> bool {
///     health.damage.is_none()
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Health {
    /// How many commands it knows.
    pub known: usize,
    /// How many of them are open.
    pub open: usize,
    /// What is wrong with it. It is moved aside when it is opened.
    pub damage: Option<String>,
}

/// Looks at a journal, which has to exist, and leaves it where it is.
///
/// # Errors
/// [`OpenError`]
pub fn check(path: &Path) -> Result<Health, OpenError> {
    let missing = |cause| OpenError::Io { path: path.into(), cause };
    std::fs::metadata(path).map_err(missing)?;
    let _lock = Lock::take(path)?;
    Ok(match file::open(path, None)? {
        Ok((_, file::Loaded { records, .. })) => {
            let open = records.iter().filter(|record| record.stage.is_open()).count();
            Health { known: records.len(), open, damage: None }
        }
        Err(file::Unreadable(why)) => Health { known: 0, open: 0, damage: Some(why) },
    })
}

/// The journal's file. See the [module](self).
///
/// ```
/// use agentwire_blocking::journal::SqliteJournal;
/// use agentwire_core::chat::{ContactId, Item, ItemId};
/// use agentwire_core::simplex::journal::{Accept, JournalConfig, JournalStore};
/// use agentwire_core::time::Timestamp;
///
/// # let folder = std::env::temp_dir().join(format!("agentwire-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("calls.db");
/// let now = Timestamp::parse("2026-08-15T15:30:49Z").unwrap();
/// let mut opened = SqliteJournal::open(&path, now).unwrap();
/// let mut journal = opened.journal(JournalConfig::default());
///
/// let item = Item::direct(ContactId(4), ItemId(7), "/_call a2a {}").at("2026-08-15T15:30:48Z");
/// assert_eq!(journal.accept(&item, now, false), Accept::Run);
/// opened.store.save(&journal.take_changes()).unwrap();
/// // From here on the command is not lost, whatever happens.
/// drop((opened, journal));
///
/// let mut opened = SqliteJournal::open(&path, now).unwrap();
/// assert_eq!(opened.journal(JournalConfig::default()).unfinished().count(), 1);
/// # drop(opened);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// ```
#[derive(Debug)]
pub struct SqliteJournal {
    connection: Connection,
    path: PathBuf,
    // Dropped last: the file is closed when another process can open it.
    _lock: Lock,
}

impl SqliteJournal {
    /// Opens a journal, or makes an empty one, readable by nobody else. `now` is until when
    /// nothing is known if it is damaged.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn open(path: &Path, now: Timestamp) -> Result<Opened, OpenError> {
        let lock = Lock::take(path)?;
        let (why, moved_to) = match file::open(path, None)? {
            Ok((connection, loaded)) => return Ok(Self::opened(connection, path, lock, loaded)),
            Err(file::Unreadable(why)) => {
                let stuck = |cause| OpenError::Stuck { path: path.into(), cause };
                (why, file::move_aside(path).map_err(stuck)?)
            }
        };
        let (connection, loaded) =
            file::open(path, Some(now))?.map_err(|file::Unreadable(why)| OpenError::Stuck {
                path: path.into(),
                cause: io::Error::other(why),
            })?;
        let mut opened = Self::opened(connection, path, lock, loaded);
        opened.damaged = Some(Damaged { why, moved_to });
        Ok(opened)
    }

    fn opened(connection: Connection, path: &Path, lock: Lock, loaded: file::Loaded) -> Opened {
        let file::Loaded { records, mark, lost } = loaded;
        let store = Self { connection, path: path.into(), _lock: lock };
        Opened { store, records, mark, lost, damaged: None }
    }

    /// How long [`save`](JournalStore::save) waits for another program that looks at the file at
    /// this moment; five seconds by default.
    ///
    /// # Errors
    /// [`SaveError`]
    pub fn set_patience(&self, patience: Duration) -> Result<(), SaveError> {
        Ok(self.connection.busy_timeout(patience)?)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl JournalStore for SqliteJournal {
    type Error = SaveError;

    fn save(&mut self, changes: &[Change]) -> Result<(), SaveError> {
        if changes.is_empty() {
            return Ok(());
        }
        let transaction = self.connection.transaction()?;
        for change in changes {
            keep(&transaction, change)?;
        }
        Ok(transaction.commit()?)
    }
}

fn keep(transaction: &Transaction<'_>, change: &Change) -> Result<(), rusqlite::Error> {
    match change {
        Change::Put(record) => row::put(transaction, record),
        Change::Started { key, times } => stage(transaction, *key, row::STARTED, *times, ""),
        Change::Finished { key, answer } => stage(transaction, *key, row::FINISHED, 0, answer),
        Change::Confirmed(key) => {
            stage(transaction, *key, row::CONFIRMED, 0, "")?;
            let (kind, chat) = row::chat_columns(key.chat);
            let sql = "UPDATE calls SET text = '', text_sum = ?1
                WHERE item = ?2 AND kind = ?3 AND chat = ?4";
            let values = params![row::sum(""), key.item.0, kind, chat];
            transaction.prepare_cached(sql)?.execute(values).map(|_| ())
        }
        Change::Dropped(key) => {
            let (kind, chat) = row::chat_columns(key.chat);
            let sql = "DELETE FROM calls WHERE item = ?1 AND kind = ?2 AND chat = ?3";
            transaction.prepare_cached(sql)?.execute(params![key.item.0, kind, chat]).map(|_| ())
        }
        Change::Mark(mark) => file::put_mark(transaction, file::MARK, mark.item.0, mark.at),
        // A change that this version does not know cannot be kept.
        _ => Err(rusqlite::Error::InvalidQuery),
    }
}

/// A command has come so far.
fn stage(
    transaction: &Transaction<'_>,
    key: CallKey,
    stage: u8,
    starts: u8,
    answer: &str,
) -> Result<(), rusqlite::Error> {
    let (kind, chat) = row::chat_columns(key.chat);
    let sum = row::stage_sum(key, stage, starts, answer);
    let sql = "UPDATE calls SET stage = ?1, starts = ?2, answer = ?3, stage_sum = ?4
        WHERE item = ?5 AND kind = ?6 AND chat = ?7";
    let values = params![stage, starts, answer, sum, key.item.0, kind, chat];
    transaction.prepare_cached(sql)?.execute(values).map(|_| ())
}
