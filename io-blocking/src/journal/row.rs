//! A record as a row, and back: whatever does not come back whole is damage.

use core::fmt;

use agentwire_core::chat::{CallKey, Chat, ContactId, GroupId, Item, ItemId, MemberId, Sender};
use agentwire_core::simplex::journal::{Record, Stage};
use agentwire_core::time::Timestamp;
use rusqlite::{Connection, Row, params};

pub(super) const ACCEPTED: u8 = 0;
pub(super) const STARTED: u8 = 1;
pub(super) const FINISHED: u8 = 2;
pub(super) const CONFIRMED: u8 = 3;

/// The tables. What is written at one time has a checksum of its own, because SQLite checks its
/// structure and not what is in it.
pub(super) const TABLES: &str = "
CREATE TABLE calls (
    item INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    chat INTEGER NOT NULL,
    caller TEXT NOT NULL,
    at INTEGER NOT NULL,
    sent_at TEXT,
    ttl INTEGER,
    item_sum INTEGER NOT NULL,
    text TEXT NOT NULL,
    text_sum INTEGER NOT NULL,
    stage INTEGER NOT NULL,
    starts INTEGER NOT NULL,
    answer TEXT NOT NULL,
    stage_sum INTEGER NOT NULL,
    PRIMARY KEY (item, kind, chat)
) STRICT;
CREATE TABLE marks (
    name TEXT NOT NULL PRIMARY KEY,
    item INTEGER NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER NOT NULL
) STRICT;
";

pub(super) fn chat_columns(chat: Chat) -> (u8, i64) {
    match chat {
        Chat::Direct(ContactId(id)) => (0, id),
        Chat::Group(GroupId(id)) => (1, id),
    }
}

/// A checksum of what is in some columns of a row.
pub(super) fn sum(columns: impl fmt::Debug) -> u32 {
    crc32fast::hash(format!("{columns:?}").as_bytes())
}

/// The sum of the columns that say how far a command has come.
pub(super) fn stage_sum(key: CallKey, stage: u8, starts: u8, answer: &str) -> u32 {
    sum((key.item.0, chat_columns(key.chat), stage, starts, answer))
}

/// The sum of a row of marks.
pub(super) fn mark_sum(name: &str, item: i64, at: i64) -> u32 {
    sum((name, item, at))
}

/// SQLite's integers have a sign. Times beyond it are not on any clock.
pub(super) fn millis(time: Timestamp) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn timestamp(millis: i64) -> Option<Timestamp> {
    u64::try_from(millis).ok().map(Timestamp::from_millis)
}

pub(super) fn put(connection: &Connection, record: &Record) -> Result<(), rusqlite::Error> {
    let (kind, chat) = chat_columns(record.key.chat);
    let (item, at) = (record.key.item.0, millis(record.at));
    let caller = match &record.caller {
        Sender::Contact => String::from("contact"),
        Sender::Channel => String::from("channel"),
        Sender::Member(member) => format!("member {}", member.get()),
    };
    let (stage, starts, answer) = match &record.stage {
        Stage::Accepted => (ACCEPTED, 0, ""),
        Stage::Started { times } => (STARTED, *times, ""),
        Stage::Finished { answer } => (FINISHED, 0, &**answer),
        Stage::Confirmed => (CONFIRMED, 0, ""),
        // A stage that this version does not know cannot be kept.
        _ => return Err(rusqlite::Error::InvalidQuery),
    };
    let sent_at = record.sent_at.as_deref();
    let ttl = record.ttl.map(|ttl| i64::try_from(ttl).unwrap_or(i64::MAX));
    let item_sum = sum((item, kind, chat, &caller, at, sent_at, ttl));
    let text = &*record.text;
    let stage_sum = stage_sum(record.key, stage, starts, answer);
    let sql = "INSERT OR REPLACE INTO calls
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
    let values = params![
        item,
        kind,
        chat,
        caller,
        at,
        sent_at,
        ttl,
        item_sum,
        text,
        sum(text),
        stage,
        starts,
        answer,
        stage_sum,
    ];
    connection.prepare_cached(sql)?.execute(values).map(|_| ())
}

/// The columns that [`read`] reads.
pub(super) const COLUMNS: &str = "item, kind, chat, caller, at, sent_at, ttl, item_sum, text, \
    text_sum, stage, starts, answer, stage_sum";

/// Reads a row of [`COLUMNS`]. `Ok(None)` is damage.
pub(super) fn read(row: &Row<'_>) -> Result<Option<Record>, rusqlite::Error> {
    let (item, kind, chat): (i64, u8, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let (caller, at): (String, i64) = (row.get(3)?, row.get(4)?);
    let (sent_at, ttl): (Option<String>, Option<i64>) = (row.get(5)?, row.get(6)?);
    let (text, stage, starts): (String, u8, u8) = (row.get(8)?, row.get(10)?, row.get(11)?);
    let answer: String = row.get(12)?;
    let sums: [u32; 3] = [row.get(7)?, row.get(9)?, row.get(13)?];
    let item_sum = sum((item, kind, chat, &caller, at, sent_at.as_deref(), ttl));
    Ok((|| {
        let chat = match kind {
            0 => Chat::Direct(ContactId(chat)),
            1 => Chat::Group(GroupId(chat)),
            _ => return None,
        };
        let key = CallKey::new(chat, ItemId(item));
        if sums != [item_sum, sum(&*text), stage_sum(key, stage, starts, &answer)] {
            return None;
        }
        let caller = match caller.split_once(' ') {
            None if caller == "contact" => Sender::Contact,
            None if caller == "channel" => Sender::Channel,
            Some(("member", member)) => Sender::Member(MemberId::new(member).ok()?),
            _ => return None,
        };
        let stage = match stage {
            ACCEPTED => Stage::Accepted,
            STARTED => Stage::Started { times: starts },
            FINISHED => Stage::Finished { answer: answer.into() },
            CONFIRMED => Stage::Confirmed,
            _ => return None,
        };
        let mut item = Item::new(chat, caller, key.item, &text);
        item.sent_at = sent_at.as_deref();
        item.ttl = ttl.map(u64::try_from).transpose().ok()?;
        let mut record = Record::accepted(&item, timestamp(at)?);
        record.stage = stage;
        Some(record)
    })())
}
