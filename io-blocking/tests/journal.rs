//! The call journal on disk: killed between any two steps, cut, overwritten, opened twice.

use core::sync::atomic::{AtomicU32, Ordering};
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use agentwire_blocking::journal::{self, OpenError, SqliteJournal};
use agentwire_core::chat::{CallKey, Chat, ContactId, GroupId, Item, ItemId, MemberId, Sender};
use agentwire_core::simplex::journal::{
    Accept, Change, Journal, JournalConfig, JournalStore, Mark, Record, Seen, Silence, Stage,
};
use agentwire_core::time::Timestamp;

const SENT: &str = "2026-08-15T15:30:48Z";
const COMMAND: &str = "/_call a2a {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\"}";
/// Set for a child process: the folder to work in.
const FOLDER: &str = "AGENTWIRE_TEST_JOURNAL";

fn now() -> Timestamp {
    Timestamp::parse("2026-08-15T15:30:50Z").expect("a time")
}

fn command(id: i64) -> Item<'static> {
    Item::direct(ContactId(4), ItemId(id), COMMAND).at(SENT)
}

fn key(id: i64) -> CallKey {
    CallKey::new(Chat::Direct(ContactId(4)), ItemId(id))
}

/// An empty folder that no other test uses.
fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("journal-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("created");
    folder
}

fn open(folder: &Path) -> (SqliteJournal, Journal) {
    let mut opened = SqliteJournal::open(&folder.join("calls.db"), now()).expect("opened");
    let journal = opened.journal(JournalConfig::default());
    (opened.store, journal)
}

/// The steps of one command, each of which happens at once or not at all. `told` is called after
/// each, and may not return.
fn serve(folder: &Path, mut told: impl FnMut(&str)) {
    let mut opened = SqliteJournal::open(&folder.join("calls.db"), now()).expect("opened");
    let mut journal = opened.journal(JournalConfig::default());
    let write = |name: &str, line: &str| {
        let file = OpenOptions::new().append(true).create(true).open(folder.join(name));
        file.and_then(|mut file| writeln!(file, "{line}")).expect("written");
    };
    let left: Vec<Record> = journal.unfinished().cloned().collect();
    told("opened");
    // What was left comes first, and the core tells of the item again.
    for item in left.iter().map(Record::item).chain([command(7)]) {
        let key = CallKey::from(&item);
        let answer: String = match journal.handle_command(&item, now()) {
            Seen::Silence(_) => continue,
            Seen::Answer(answer) => answer.into(),
            Seen::New => match journal.accept(&item, now(), false) {
                Accept::Run => {
                    opened.store.save(&journal.take_changes()).expect("saved");
                    told("accepted");
                    assert!(journal.start(key));
                    opened.store.save(&journal.take_changes()).expect("saved");
                    told("started");
                    write("effects", "done");
                    told("done");
                    "done".into()
                }
                Accept::OutcomeUnknown => "unknown".into(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        journal.finish(key, &answer);
        opened.store.save(&journal.take_changes()).expect("saved");
        told("finished");
        write("answers", &answer);
        told("sent");
        journal.confirm(key, now());
        opened.store.save(&journal.take_changes()).expect("saved");
        told("confirmed");
    }
    told("idle");
}

/// Not a test of its own: what a child process does that another test starts.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    serve(Path::new(&folder), |step| {
        println!("\n{step}");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).expect("told to go on");
    });
}

/// A child process at work in a folder.
struct Worker {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Worker {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["child", "--exact", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("started");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, lines }
    }

    /// Lets it go on until it has taken this step; `false` if it never does.
    fn reach(&mut self, wanted: &str) -> bool {
        let steps = ["opened", "accepted", "started", "done", "finished", "sent", "confirmed"];
        while let Some(Ok(line)) = self.lines.next() {
            if line == wanted {
                return true;
            }
            if line == "idle" {
                return false;
            }
            if steps.contains(&line.as_str()) {
                let stdin = self.child.stdin.as_mut().expect("piped");
                stdin.write_all(b"\n").expect("it listens");
            }
        }
        false
    }

    fn kill(mut self) {
        self.child.kill().expect("SIGKILL");
        self.child.wait().expect("it has ended");
    }
}

fn lines(folder: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn killed_after_any_step_a_command_runs_once_or_its_outcome_is_unknown() {
    for (step, effects, answers) in [
        // Not accepted: the core tells of it again.
        ("opened", 1, &["done"][..]),
        ("accepted", 1, &["done"]),
        // Nobody knows whether the effect came about: it did not, or it did.
        ("started", 0, &["unknown"]),
        ("done", 1, &["unknown"]),
        ("finished", 1, &["done"]),
        // The core had it, and the bot did not know.
        ("sent", 1, &["done", "done"]),
        ("confirmed", 1, &["done"]),
    ] {
        let folder = folder();
        let mut first = Worker::start(&folder);
        assert!(first.reach(step), "{step}");
        first.kill();
        // The second life is killed at its end, the third finds nothing to do.
        let mut second = Worker::start(&folder);
        second.reach("idle");
        second.kill();
        serve(&folder, |_| {});
        assert_eq!(lines(&folder, "effects").len(), effects, "killed after {step}");
        assert_eq!(lines(&folder, "answers"), answers, "killed after {step}");
    }
}

#[test]
fn killed_twice_a_command_still_runs_at_most_once() {
    for (first, second) in [("accepted", "started"), ("started", "finished"), ("done", "sent")] {
        let folder = folder();
        for step in [first, second] {
            let mut worker = Worker::start(&folder);
            assert!(worker.reach(step), "{first} {second}");
            worker.kill();
        }
        serve(&folder, |_| {});
        assert!(lines(&folder, "effects").len() <= 1);
        let answers = lines(&folder, "answers");
        assert!(answers.iter().all(|answer| answer == "unknown"), "{answers:?}");
    }
}

#[test]
fn a_second_bot_is_told_who_the_first_is_and_takes_over_after_kill_9() {
    let folder = folder();
    let path = folder.join("calls.db");
    let mut first = Worker::start(&folder);
    assert!(first.reach("accepted"));
    for _ in 0..3 {
        let error = SqliteJournal::open(&path, now()).expect_err("it is in use");
        let OpenError::Locked { pid, .. } = &error else { panic!("{error}") };
        assert_eq!(*pid, Some(first.child.id()));
        assert!(error.to_string().ends_with(&format!("in use by process {}", first.child.id())));
    }
    first.kill();
    let mut opened = SqliteJournal::open(&path, now()).expect("the lock ended with its process");
    assert_eq!(opened.journal(JournalConfig::default()).unfinished().count(), 1);
    // In one process it is no different.
    let error = SqliteJournal::open(&path, now()).expect_err("it is in use");
    assert!(matches!(error, OpenError::Locked { pid, .. } if pid == Some(std::process::id())));
    drop(opened);
    assert!(SqliteJournal::open(&path, now()).is_ok());
}

/// A record of each kind, and a mark.
fn changes() -> Vec<Change> {
    let member = MemberId::new("bVJpU2x2Q2ozMmZkVE81WA==").expect("short");
    let mut changes = Vec::new();
    for id in 1..=4 {
        changes.push(Change::Put(Record::accepted(&command(id), now())));
    }
    for (id, sender) in [(5, Sender::Member(member)), (6, Sender::Channel)] {
        let item = Item::new(Chat::Group(GroupId(3)), sender, ItemId(id), COMMAND).ttl(60);
        changes.push(Change::Put(Record::accepted(&item, now())));
    }
    changes.push(Change::Started { key: key(2), times: 1 });
    changes.push(Change::Finished { key: key(3), answer: "{\"a\":\"b\"}".into() });
    changes.push(Change::Finished { key: key(4), answer: "{}".into() });
    changes.push(Change::Confirmed(key(4)));
    changes.push(Change::Mark(Mark::new(ItemId(0), now())));
    changes
}

#[test]
fn what_is_saved_comes_back_whole() {
    let folder = folder();
    let path = folder.join("calls.db");
    let mut opened = SqliteJournal::open(&path, now()).expect("opened");
    assert!(opened.records.is_empty() && opened.mark.is_none() && opened.damaged.is_none());
    opened.store.save(&changes()).expect("saved");
    opened.store.save(&[]).expect("nothing");
    drop(opened);
    let opened = SqliteJournal::open(&path, now()).expect("opened");
    assert_eq!(opened.mark, Some(Mark::new(ItemId(0), now())));
    let stages: Vec<&Stage> = opened.records.iter().map(|record| &record.stage).collect();
    let finished = Stage::Finished { answer: "{\"a\":\"b\"}".into() };
    let started = Stage::Started { times: 1 };
    let (accepted, confirmed) = (Stage::Accepted, Stage::Confirmed);
    assert_eq!(stages, [&accepted, &started, &finished, &confirmed, &accepted, &accepted]);
    for record in &opened.records {
        let whole = record.stage.is_open();
        assert_eq!(record.item().text, if whole { COMMAND } else { "" });
        let is_group = record.key.chat == Chat::Group(GroupId(3));
        assert_eq!(record.ttl, is_group.then_some(60));
        assert_eq!(record.sent_at.as_deref(), (!is_group).then_some(SENT));
    }
    assert!(matches!(opened.records[4].caller, Sender::Member(_)));
    let mut store = opened.store;
    let all: Vec<Change> =
        opened.records.iter().map(|record| Change::Dropped(record.key)).collect();
    store.save(&all).expect("saved");
    drop(store);
    assert!(SqliteJournal::open(&path, now()).expect("opened").records.is_empty());
}

#[test]
fn changes_are_kept_all_or_none() {
    let folder = folder();
    let (mut store, _) = open(&folder);
    // Somebody else holds the file: nothing can be written, and that is said.
    let other = rusqlite::Connection::open(folder.join("calls.db")).expect("opened");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    store.set_patience(core::time::Duration::ZERO).expect("set");
    let error = store.save(&changes()).expect_err("it is locked");
    assert!(error.to_string().contains("locked"), "{error}");
    other.execute_batch("ROLLBACK").expect("unlocked");
    drop(store);
    let (mut store, journal) = open(&folder);
    assert_eq!((journal.open(), journal.done()), (0, 0));
    store.save(&changes()).expect("saved");
    drop(store);
    let (_store, journal) = open(&folder);
    assert_eq!((journal.open(), journal.done()), (5, 1));
}

/// A journal with two generations of records: those of [`changes`], merged into the file, and one
/// more in its log.
fn two_generations(folder: &Path) -> PathBuf {
    let path = folder.join("calls.db");
    let mut opened = SqliteJournal::open(&path, now()).expect("opened");
    opened.store.save(&changes()).expect("saved");
    drop(opened);
    let mut opened = SqliteJournal::open(&path, now()).expect("opened");
    opened.store.save(&[Change::Put(Record::accepted(&command(9), now()))]).expect("saved");
    // As a kill leaves it: the log is not merged.
    let copy = folder.join("killed");
    fs::create_dir_all(&copy).expect("created");
    for name in ["calls.db", "calls.db-wal"] {
        fs::copy(folder.join(name), copy.join(name)).expect("copied");
    }
    drop(opened);
    copy
}

/// What a journal that was tampered with is like.
#[derive(Debug, PartialEq)]
enum State {
    New,
    Old,
    Empty,
}

fn state(folder: &Path) -> State {
    let opened = SqliteJournal::open(&folder.join("calls.db"), now()).expect("it is opened");
    let (records, mark) = (&opened.records, opened.mark);
    match &opened.damaged {
        Some(damaged) => {
            assert!(damaged.moved_to.exists(), "{damaged:?}");
            assert!(records.is_empty() && mark.is_none() && opened.lost == Some(now()));
            State::Empty
        }
        None if records.is_empty() => {
            assert!(mark.is_none());
            State::Empty
        }
        None => {
            assert_eq!(mark, Some(Mark::new(ItemId(0), now())));
            let open = records.iter().filter(|record| record.stage.is_open());
            assert!(open.clone().all(|record| &*record.text == COMMAND));
            match (records.len(), open.count()) {
                (7, 6) => State::New,
                (6, 5) => State::Old,
                other => panic!("a mix: {other:?}"),
            }
        }
    }
}

/// Offsets to try in a file: all around the borders that SQLite has, and some between.
fn offsets(len: u64) -> Vec<u64> {
    let mut offsets: Vec<u64> = (0..=40).step_by(5).chain([1, 16, 17, 99, 100, 101]).collect();
    for border in (0..=len).step_by(4_096) {
        offsets.extend([border.saturating_sub(1), border, border + 1, border + 24, border + 56]);
        offsets.push(border + 2_222);
    }
    offsets.retain(|&offset| offset < len);
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

fn copy_of(original: &Path, copy: &Path) {
    let _ = fs::remove_dir_all(copy);
    fs::create_dir_all(copy).expect("created");
    for name in ["calls.db", "calls.db-wal"] {
        fs::copy(original.join(name), copy.join(name)).expect("copied");
    }
}

#[test]
fn cut_anywhere_the_journal_is_new_old_or_moved_aside() {
    let folder = folder();
    let original = two_generations(&folder);
    let copy = folder.join("copy");
    copy_of(&original, &copy);
    assert_eq!(state(&copy), State::New);
    let mut seen = [0; 3];
    for name in ["calls.db", "calls.db-wal"] {
        let len = fs::metadata(original.join(name)).expect("there").len();
        for cut in offsets(len) {
            copy_of(&original, &copy);
            let file = OpenOptions::new().write(true).open(copy.join(name)).expect("opened");
            file.set_len(cut).expect("cut");
            let state = state(&copy);
            // The log is cut at most to what was there before.
            assert!(name == "calls.db" || state != State::Empty, "{name} cut at {cut}");
            seen[state as usize] += 1;
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn filled_with_nul_the_journal_is_new_old_or_moved_aside() {
    let folder = folder();
    let original = two_generations(&folder);
    let copy = folder.join("copy");
    let mut empty = 0;
    for name in ["calls.db", "calls.db-wal"] {
        let len = fs::metadata(original.join(name)).expect("there").len();
        for from in offsets(len) {
            for bytes in [16, len - from] {
                copy_of(&original, &copy);
                let mut file = OpenOptions::new().write(true).open(copy.join(name)).expect("there");
                file.seek(SeekFrom::Start(from)).expect("sought");
                let nul = usize::try_from(bytes.min(len - from)).expect("small");
                file.write_all(&vec![0; nul]).expect("written");
                drop(file);
                empty += usize::from(state(&copy) == State::Empty);
            }
        }
    }
    assert!(empty > 0);
}

#[test]
fn a_byte_order_mark_is_damage_and_what_was_sent_before_has_an_unknown_outcome() {
    let folder = folder();
    let path = folder.join("calls.db");
    for round in 0..3 {
        let (mut store, _) = open(&folder);
        store.save(&[Change::Put(Record::accepted(&command(7), now()))]).expect("saved");
        drop(store);
        let mut bytes = b"\xef\xbb\xbf".to_vec();
        bytes.extend(fs::read(&path).expect("read"));
        fs::write(&path, &bytes).expect("written");

        let mut opened = SqliteJournal::open(&path, now()).expect("opened");
        let damaged = opened.damaged.take().expect("it was damaged");
        let name = ["calls.db.corrupt", "calls.db.corrupt-1", "calls.db.corrupt-2"][round];
        assert_eq!(damaged.moved_to, folder.join(name));
        assert_eq!(fs::read(&damaged.moved_to).expect("kept"), bytes);
        assert!(damaged.why.contains("byte order mark"));
        let mut journal = opened.journal(JournalConfig::default());
        assert_eq!(journal.accept(&command(8), now(), true), Accept::OutcomeUnknown);
        let after = command(9).at("2026-08-15T15:30:51Z");
        assert_eq!(journal.accept(&after, now(), false), Accept::Run);
        drop(opened);
        // It is remembered.
        let opened = SqliteJournal::open(&path, now()).expect("opened");
        assert_eq!((opened.lost, opened.damaged), (Some(now()), None));
        drop(opened.store);
    }
}

#[test]
fn what_is_no_journal_is_left_alone() {
    let folder = folder();
    let path = folder.join("calls.db");
    let text = "a letter to a friend, of some length";
    fs::write(&path, text).expect("written");
    let error = SqliteJournal::open(&path, now()).expect_err("a letter");
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("still there"), text);

    // A database of another program, and a journal of a later version.
    for (sql, is_later) in [
        ("CREATE TABLE cats (name TEXT)", false),
        ("PRAGMA application_id = 1; CREATE TABLE cats (name TEXT)", false),
        (
            "PRAGMA application_id = 0x61677772; PRAGMA user_version = 2; CREATE TABLE calls (x)",
            true,
        ),
    ] {
        fs::remove_file(&path).expect("removed");
        let connection = rusqlite::Connection::open(&path).expect("opened");
        connection.execute_batch(sql).expect("made");
        drop(connection);
        let before = fs::read(&path).expect("read");
        let error = SqliteJournal::open(&path, now()).expect_err("not a journal of ours");
        match error {
            OpenError::Version { found, .. } => assert!(is_later && found == 2),
            OpenError::Foreign { .. } => assert!(!is_later),
            other => panic!("{other}"),
        }
        assert!(fs::read(&path).expect("read") == before, "not a byte has changed");
    }
    let nowhere = SqliteJournal::open(&folder.join("no/such/calls.db"), now());
    assert!(matches!(nowhere, Err(OpenError::Io { .. })));
}

#[test]
fn a_look_at_a_journal_changes_nothing() {
    let folder = folder();
    let path = folder.join("calls.db");
    assert!(matches!(journal::check(&path), Err(OpenError::Io { .. })));
    assert!(!path.exists());
    let (mut store, _) = open(&folder);
    store.save(&changes()).expect("saved");
    assert!(matches!(journal::check(&path), Err(OpenError::Locked { .. })));
    drop(store);
    let health = journal::check(&path).expect("nobody has it open");
    assert_eq!((health.known, health.open, health.damage), (6, 5, None));
    fs::write(&path, b"\xef\xbb\xbfSQLite").expect("written");
    let health = journal::check(&path).expect("it can be looked at");
    assert!(health.damage.is_some() && path.exists());
}

#[test]
#[cfg(unix)]
fn nobody_else_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let (mut store, _) = open(&folder);
    store.save(&changes()).expect("saved");
    for name in ["calls.db", "calls.db-wal", "calls.db.lock"] {
        let mode = fs::metadata(folder.join(name)).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
}

#[test]
fn a_thousand_calls_leave_a_small_file() {
    let folder = folder();
    let path = folder.join("calls.db");
    let mut opened = SqliteJournal::open(&path, now()).expect("opened");
    let mut config = JournalConfig::default();
    config.max_done = 50;
    let mut journal = opened.journal(config);
    for round in 0..20 {
        let ids = round * 50 + 1..=round * 50 + 50;
        for id in ids.clone() {
            assert_eq!(journal.accept(&command(id), now(), false), Accept::Run);
            journal.start(key(id));
        }
        opened.store.save(&journal.take_changes()).expect("saved");
        for id in ids.clone() {
            journal.finish(key(id), "{}");
        }
        opened.store.save(&journal.take_changes()).expect("saved");
        for id in ids {
            journal.confirm(key(id), now());
        }
        opened.store.save(&journal.take_changes()).expect("saved");
    }
    drop(opened);
    assert!(fs::metadata(&path).expect("there").len() < 200_000);
    let mut opened = SqliteJournal::open(&path, now()).expect("opened");
    assert_eq!(opened.records.len(), 50);
    let mut journal = opened.journal(config);
    for id in [1, 950] {
        let seen = journal.handle_command(&command(id), now());
        assert_eq!(seen, Seen::Silence(Silence::Forgotten));
    }
    let seen = journal.handle_command(&command(951), now());
    assert_eq!(seen, Seen::Silence(Silence::Answered));
    assert_eq!(journal.handle_command(&command(1_001), now()), Seen::New);
}
