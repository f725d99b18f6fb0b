//! Opening the file: what is in it, and what is to be done if it cannot be read.

use core::time::Duration;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use agentwire_core::chat::ItemId;
use agentwire_core::simplex::journal::{Mark, Record};
use agentwire_core::time::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags, params};

use super::lock::beside;
use super::{OpenError, SCHEMA_VERSION, row};

/// `PRAGMA application_id`: "agwr".
const APPLICATION_ID: i64 = 0x6167_7772;

/// What every SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What a journal holds.
pub(super) struct Loaded {
    pub(super) records: Vec<Record>,
    pub(super) mark: Option<Mark>,
    pub(super) lost: Option<Timestamp>,
}

/// The journal is damaged: what is wrong with it.
pub(super) struct Unreadable(pub(super) String);

/// Why a journal is not opened.
enum Fault {
    Damage(String),
    Other(OpenError),
}

/// Opens a journal, or makes an empty one, in which nothing is known until `lost`.
pub(super) fn open(
    path: &Path,
    lost: Option<Timestamp>,
) -> Result<Result<(Connection, Loaded), Unreadable>, OpenError> {
    match try_open(path, lost) {
        Ok(opened) => Ok(Ok(opened)),
        Err(Fault::Damage(why)) => Ok(Err(Unreadable(why))),
        Err(Fault::Other(error)) => Err(error),
    }
}

fn try_open(path: &Path, lost: Option<Timestamp>) -> Result<(Connection, Loaded), Fault> {
    let io = |cause| Fault::Other(OpenError::Io { path: path.into(), cause });
    let sql = |error| fault(path, error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    private(&mut options);
    let file = options.open(path).map_err(io)?;
    let mut start = Vec::new();
    file.take(MAGIC.len() as u64).read_to_end(&mut start).map_err(io)?;
    match beginning(&start) {
        Beginning::Good => {}
        Beginning::Damaged(why) => return Err(Fault::Damage(why.into())),
        Beginning::Foreign => return Err(Fault::Other(OpenError::Foreign { path: path.into() })),
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(sql)?;
    connection.set_prepared_statement_cache_capacity(16);
    // The lock beside the file keeps other bots out; a tool that looks at it for a moment is
    // waited for.
    connection.busy_timeout(Duration::from_secs(5)).map_err(sql)?;
    let number = |connection: &Connection, pragma: &str| {
        connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
    };
    let tables = |connection: &Connection, name: &str| {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE ?1 IN (name, '')";
        connection.query_row(sql, [name], |row| row.get::<_, i64>(0))
    };
    // Before the first change to the file: whose is it?
    let application = number(&connection, "application_id").map_err(sql)?;
    let is_new = application == 0 && tables(&connection, "").map_err(sql)? == 0;
    if application == 0 && !is_new && tables(&connection, "calls").map_err(sql)? == 1 {
        return Err(Fault::Damage(String::from("its header is damaged")));
    }
    if !is_new && application != APPLICATION_ID {
        return Err(Fault::Other(OpenError::Foreign { path: path.into() }));
    }
    let version = number(&connection, "user_version").map_err(sql)?;
    if !is_new && version != i64::from(SCHEMA_VERSION) {
        return Err(match u32::try_from(version) {
            Ok(found) if found > SCHEMA_VERSION => {
                Fault::Other(OpenError::Version { path: path.into(), found })
            }
            _ => Fault::Damage(format!("there is no version {version} of a journal")),
        });
    }
    // WAL appends each transaction and lets it count only whole; FULL waits for the disk.
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(sql)?;
    if !mode.eq_ignore_ascii_case("wal") {
        let cause = io::Error::other("the file system has no shared memory for a journal");
        return Err(Fault::Other(OpenError::Io { path: path.into(), cause }));
    }
    connection.pragma_update(None, "synchronous", "FULL").map_err(sql)?;
    connection.pragma_update(None, "fullfsync", "ON").map_err(sql)?;
    connection.pragma_update(None, "trusted_schema", "OFF").map_err(sql)?;
    if is_new {
        create(&mut connection, lost).map_err(sql)?;
        // The file's name has to outlive the machine too.
        sync_folder(path).map_err(io)?;
    }
    let check: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(sql)?;
    if check != "ok" {
        return Err(Fault::Damage(check));
    }
    let loaded = load(&connection).map_err(|error| match error {
        // A column that is missing, or of another type than it was made.
        rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..)
        | rusqlite::Error::SqlInputError { .. } => Fault::Damage(error.to_string()),
        error => sql(error),
    })?;
    let loaded = loaded.ok_or_else(|| Fault::Damage(String::from("a row is damaged")))?;
    Ok((connection, loaded))
}

enum Beginning {
    Good,
    Damaged(&'static str),
    Foreign,
}

/// What the first bytes of a file say: it is empty, a database, one that was damaged by what is
/// known to damage files, or something that nobody should move.
fn beginning(start: &[u8]) -> Beginning {
    if start.is_empty() || start == MAGIC {
        Beginning::Good
    } else if MAGIC.starts_with(start) {
        Beginning::Damaged("it ends after a few bytes")
    } else if start.iter().zip(MAGIC).all(|(&byte, magic)| byte == *magic || byte == 0) {
        Beginning::Damaged("there are NUL bytes at its beginning")
    } else if start.strip_prefix(b"\xef\xbb\xbf").is_some_and(|rest| MAGIC.starts_with(rest)) {
        Beginning::Damaged("something has put a byte order mark before it")
    } else {
        Beginning::Foreign
    }
}

fn create(connection: &mut Connection, lost: Option<Timestamp>) -> Result<(), rusqlite::Error> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(row::TABLES)?;
    if let Some(lost) = lost {
        put_mark(&transaction, LOST, 0, lost)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()
}

/// `Ok(None)` is damage.
fn load(connection: &Connection) -> Result<Option<Loaded>, rusqlite::Error> {
    let sql = format!("SELECT {} FROM calls ORDER BY item, kind, chat", row::COLUMNS);
    let mut statement = connection.prepare(&sql)?;
    let records: Option<Vec<Record>> =
        statement.query_map([], row::read)?.collect::<Result<Option<Vec<_>>, _>>()?;
    let mut statement = connection.prepare("SELECT name, item, at, sum FROM marks")?;
    let marks: Vec<(String, i64, i64, u32)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<Result<_, _>>()?;
    let (mut mark, mut lost) = (None, None);
    for (name, item, at, sum) in marks {
        let Some(time) = row::timestamp(at) else { return Ok(None) };
        match &*name {
            _ if sum != row::mark_sum(&name, item, at) => return Ok(None),
            MARK => mark = Some(Mark::new(ItemId(item), time)),
            LOST => lost = Some(time),
            _ => return Ok(None),
        }
    }
    Ok(records.map(|records| Loaded { records, mark, lost }))
}

/// Up to where commands have been forgotten.
pub(super) const MARK: &str = "forgotten";
/// Until when nothing is known.
const LOST: &str = "lost";

pub(super) fn put_mark(
    connection: &Connection,
    name: &str,
    item: i64,
    at: Timestamp,
) -> Result<(), rusqlite::Error> {
    let at = row::millis(at);
    let sql = "INSERT OR REPLACE INTO marks VALUES (?1, ?2, ?3, ?4)";
    let values = params![name, item, at, row::mark_sum(name, item, at)];
    connection.prepare_cached(sql)?.execute(values).map(|_| ())
}

fn fault(path: &Path, error: rusqlite::Error) -> Fault {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Fault::Damage(error.to_string())
        }
        _ => Fault::Other(OpenError::Store { path: path.into(), cause: error.into() }),
    }
}

/// Gives a damaged journal, and what belongs to it, another name: which one.
pub(super) fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let names = core::iter::once(String::from(".corrupt"))
        .chain((1_u32..).map(|number| format!(".corrupt-{number}")));
    for name in names {
        let to = beside(path, &name);
        if to.try_exists()? {
            continue;
        }
        // The journal goes first: what is left of it if that is all that happens does no harm to
        // an empty one.
        fs::rename(path, &to)?;
        for belonging in ["-wal", "-shm"] {
            match fs::rename(beside(path, belonging), beside(&to, belonging)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        sync_folder(path)?;
        return Ok(to);
    }
    Err(io::Error::other("there is no name left"))
}

/// Nobody else is to read what callers write.
pub(crate) fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Lets the names in a file's folder outlive the machine.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Other systems have no such call, and keep names by themselves.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
