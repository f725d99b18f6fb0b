//! Whose the contexts and tasks of A2A are, on disk: an ownership
//! [`Store`] in one SQLite file (feature `sqlite`).
//!
//! What has been put is there after the process has ended, however it ended. Where the machine ends
//! with it, the last moments may be missing: then a task is unknown to its own caller too, and
//! never another's.
//!
//! ```
//! use agentwire_blocking::ownership::SqliteOwnership;
//! use agentwire_core::a2a::Method;
//! use agentwire_core::a2a::ownership::{Owner, Ownership};
//! use agentwire_core::{chat::ContactId, json::{Object, Value}, time::Instant};
//!
//! # let folder = std::env::temp_dir().join(format!("agentwire-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! # let path = folder.join("tasks.db");
//! let now = Instant::from_millis(1_790_000_000_000);
//! let ann = Owner::contact(ContactId(4));
//! let answer = Value::parse(r#"{"task":{"id":"t"}}"#).unwrap();
//! let mut ownership = Ownership::new(SqliteOwnership::open(&path)?);
//! ownership.learn(now, &ann, Method::SendMessage, answer).unwrap();
//!
//! let mut again = Ownership::new(SqliteOwnership::open(&path)?);
//! let params = Object::parse(r#"{"id":"t"}"#).ok();
//! assert!(again.admit(now, Some(&ann), Method::GetTask, params).is_ok());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), agentwire_blocking::ownership::OwnershipStoreError>(())
//! ```

use core::fmt;
use core::time::Duration;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use agentwire_core::a2a::ownership::{Entry, Kind, Owner, Store};
use agentwire_core::time::Instant;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params};

/// `PRAGMA application_id`: "agwo".
const APPLICATION_ID: i64 = 0x6167_776f;

/// The version of the table that this crate reads and writes.
const SCHEMA_VERSION: i64 = 1;

const TABLE: &str = "
    CREATE TABLE owned (
        kind INTEGER NOT NULL,
        id TEXT NOT NULL,
        owner TEXT NOT NULL,
        used INTEGER NOT NULL,
        context TEXT,
        local INTEGER NOT NULL,
        PRIMARY KEY (kind, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX owned_by_age ON owned (used);
    CREATE INDEX owned_by_owner ON owned (owner, used);
";

/// Why ownership could not be read or written.
///
/// ```
/// use agentwire_blocking::ownership::{OwnershipStoreError, SqliteOwnership};
/// let error = SqliteOwnership::open(std::path::Path::new("/")).unwrap_err();
/// assert!(matches!(error, OwnershipStoreError::Io(_)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum OwnershipStoreError {
    /// The file cannot be opened.
    Io(io::Error),
    /// The file is that of another program, or of a later version.
    Foreign,
    /// A row is none that this crate writes.
    Damaged,
    /// SQLite says so.
    Sqlite(rusqlite::Error),
}

impl fmt::Display for OwnershipStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Foreign => f.write_str("the file is another program's, or a later version's"),
            Self::Damaged => f.write_str("the file is damaged"),
            Self::Sqlite(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for OwnershipStoreError {}

impl From<rusqlite::Error> for OwnershipStoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Ownership in a SQLite file. See the [module](self).
pub struct SqliteOwnership {
    connection: Connection,
}

impl SqliteOwnership {
    /// Opens the file, or makes one that nobody else can read.
    ///
    /// # Errors
    /// [`OwnershipStoreError`]
    pub fn open(path: &Path) -> Result<Self, OwnershipStoreError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        crate::journal::private(&mut options);
        options.open(path).map_err(OwnershipStoreError::Io)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        let number = |connection: &Connection, pragma: &str| {
            connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
        };
        let tables =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0));
        let (tables, application): (i64, i64) = match tables {
            Ok(tables) => (tables, number(&connection, "application_id")?),
            Err(error) if is_no_database(&error) => return Err(OwnershipStoreError::Foreign),
            Err(error) => return Err(error.into()),
        };
        let is_new = tables == 0 && application == 0;
        let version = number(&connection, "user_version")?;
        if !is_new && (application, version) != (APPLICATION_ID, SCHEMA_VERSION) {
            return Err(OwnershipStoreError::Foreign);
        }
        let _: String =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "trusted_schema", "OFF")?;
        if is_new {
            let transaction = connection.transaction()?;
            transaction.execute_batch(TABLE)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            transaction.commit()?;
        }
        Ok(Self { connection })
    }

    fn number(&mut self, sql: &str, owner: Option<&Owner>) -> Result<usize, OwnershipStoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let count = |row: &Row<'_>| row.get::<_, i64>(0);
        let count = match owner {
            Some(owner) => statement.query_row([owner.to_string()], count)?,
            None => statement.query_row([], count)?,
        };
        usize::try_from(count).map_err(|_| OwnershipStoreError::Damaged)
    }
}

fn is_no_database(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase)
}

const fn number_of(kind: Kind) -> i64 {
    match kind {
        Kind::Context => 0,
        Kind::Task => 1,
    }
}

fn millis(time: Instant) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

impl Store for SqliteOwnership {
    type Error = OwnershipStoreError;

    fn get(&mut self, kind: Kind, id: &str) -> Result<Option<Entry>, OwnershipStoreError> {
        let sql = "SELECT owner, used, context, local FROM owned WHERE kind = ?1 AND id = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let row = statement.query_row(params![number_of(kind), id], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get(2)?, row.get(3)?))
        });
        let Some((owner, used, context, is_local)) = row.optional()? else { return Ok(None) };
        let owner: Owner = owner.parse().map_err(|_| OwnershipStoreError::Damaged)?;
        let used = u64::try_from(used).map_err(|_| OwnershipStoreError::Damaged)?;
        let entry = Entry::new(owner, Instant::from_millis(used));
        Ok(Some(entry.context(context).local(is_local)))
    }

    fn put(&mut self, kind: Kind, id: &str, entry: &Entry) -> Result<(), OwnershipStoreError> {
        let sql = "INSERT OR REPLACE INTO owned VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (owner, used) = (entry.owner.to_string(), millis(entry.used));
        let values =
            params![number_of(kind), id, owner, used, entry.context.as_deref(), entry.is_local];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    fn count(&mut self, owner: Option<&Owner>) -> Result<usize, OwnershipStoreError> {
        let sql = match owner {
            Some(_) => "SELECT count(*) FROM owned WHERE owner = ?1",
            None => "SELECT count(*) FROM owned",
        };
        self.number(sql, owner)
    }

    fn count_tasks(&mut self, owner: &Owner) -> Result<usize, OwnershipStoreError> {
        self.number("SELECT count(*) FROM owned WHERE owner = ?1 AND kind = 1", Some(owner))
    }

    fn remove_oldest(&mut self, owner: Option<&Owner>) -> Result<(), OwnershipStoreError> {
        let which = if owner.is_some() { "WHERE owner = ?1" } else { "" };
        let sql = format!(
            "DELETE FROM owned WHERE (kind, id) IN \
             (SELECT kind, id FROM owned {which} ORDER BY used LIMIT 1)"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        match owner {
            Some(owner) => statement.execute([owner.to_string()])?,
            None => statement.execute([])?,
        };
        Ok(())
    }

    fn remove_unused_since(&mut self, time: Instant) -> Result<(), OwnershipStoreError> {
        let sql = "DELETE FROM owned WHERE used < ?1";
        self.connection.prepare_cached(sql)?.execute([millis(time)])?;
        Ok(())
    }
}

impl fmt::Debug for SqliteOwnership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOwnership").finish_non_exhaustive()
    }
}
