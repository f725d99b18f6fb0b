//! Ownership on disk against ownership in memory, and what a restart keeps.
#![allow(missing_docs, clippy::std_instead_of_alloc)]

use std::fs;
use std::path::PathBuf;
use std::process;

use agentwire_blocking::ownership::{OwnershipStoreError, SqliteOwnership};
use agentwire_core::a2a::Method;
use agentwire_core::a2a::ownership::{
    Admitted, Entry, Kind, Memory, Owner, Ownership, OwnershipError, Store,
};
use agentwire_core::chat::{ContactId, GroupId, MemberId};
use agentwire_core::json::{Object, Value};
use agentwire_core::time::Instant;

/// A folder of the test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("agentwire-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("tasks.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn a_restart_keeps_whose_a_task_is() {
    let folder = Folder::new("restart");
    let owners = [
        Owner::contact(ContactId(4)),
        Owner::contact(ContactId(5)),
        Owner::member(GroupId(7), MemberId::new("bVJpU2x2Q2ozMmZkVE81WA==").unwrap()),
    ];
    for (number, owner) in owners.iter().enumerate() {
        let mut ownership = Ownership::new(SqliteOwnership::open(&folder.file()).unwrap());
        let text = format!(r#"{{"task":{{"id":"t{number}","contextId":"c{number}"}}}}"#);
        let answer = Value::parse(&text).unwrap();
        ownership.learn(at(7), owner, Method::SendMessage, answer).unwrap();
    }
    let mut ownership = Ownership::new(SqliteOwnership::open(&folder.file()).unwrap());
    for (number, owner) in owners.iter().enumerate() {
        let text = format!(r#"{{"message":{{"taskId":"t{number}","contextId":"c{number}"}}}}"#);
        let params = Object::parse(&text).ok();
        for other in &owners {
            let admitted = ownership.admit(at(8), Some(other), Method::SendMessage, params);
            if owner == other {
                assert_eq!(admitted.unwrap(), Admitted::ToAgent);
            } else {
                assert!(matches!(admitted, Err(OwnershipError::Unknown)), "{owner} {other}");
            }
        }
    }
}

#[test]
fn both_stores_say_the_same() {
    let folder = Folder::new("same");
    let mut disk = SqliteOwnership::open(&folder.file()).unwrap();
    let mut memory = Memory::default();
    let owners = [Owner::contact(ContactId(4)), Owner::contact(ContactId(5))];
    let mut state: u32 = 7;
    let mut random = |below: u32| {
        state = state.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
        (state >> 16) % below
    };
    for step in 0..500_u64 {
        let owner = &owners[random(2) as usize];
        let kind = if random(2) == 0 { Kind::Task } else { Kind::Context };
        let id = format!("id'{}", random(8));
        match random(8) {
            0 => {
                disk.remove_oldest(Some(owner)).unwrap();
                memory.remove_oldest(Some(owner)).unwrap();
            }
            1 => {
                disk.remove_oldest(None).unwrap();
                memory.remove_oldest(None).unwrap();
            }
            2 => {
                let time = at(step.saturating_sub(20));
                disk.remove_unused_since(time).unwrap();
                memory.remove_unused_since(time).unwrap();
            }
            _ => {
                // No two at once: which of them is older the stores need not agree on.
                let context = (random(2) == 0).then(|| String::from("c"));
                let entry = Entry::new(owner.clone(), at(step)).context(context);
                let entry = entry.local(random(2) == 0);
                disk.put(kind, &id, &entry).unwrap();
                memory.put(kind, &id, &entry).unwrap();
            }
        }
        assert_eq!(disk.get(kind, &id).unwrap(), memory.get(kind, &id).unwrap());
        assert_eq!(disk.count(None).unwrap(), memory.count(None).unwrap());
        assert_eq!(disk.count(Some(owner)).unwrap(), memory.count(Some(owner)).unwrap());
        assert_eq!(disk.count_tasks(owner).unwrap(), memory.count_tasks(owner).unwrap());
    }
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    let folder = Folder::new("foreign");
    fs::write(folder.file(), "not a database, but something that somebody may want to keep")
        .unwrap();
    let opened = SqliteOwnership::open(&folder.file());
    assert!(matches!(opened, Err(OwnershipStoreError::Foreign)));
    let text = fs::read_to_string(folder.file()).unwrap();
    assert!(text.starts_with("not a database"));
}

#[test]
#[cfg(unix)]
fn nobody_else_reads_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("private");
    drop(SqliteOwnership::open(&folder.file()).unwrap());
    assert_eq!(fs::metadata(folder.file()).unwrap().permissions().mode() & 0o777, 0o600);
}
