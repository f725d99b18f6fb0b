//! Ownership in memory.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use core::convert::Infallible;
use core::fmt;

use super::{Entry, Kind, Owner, Store};
use crate::time::Instant;

type Key = (Kind, String);
/// Entries by their age; of two that were used at once the one that came first is older.
type Ages = BTreeMap<(Instant, u64), Key>;

/// A store that is gone with the process. Its size is bounded by the
/// [limits](super::Limits) of the one that uses it.
///
/// ```
/// use agentwire_core::a2a::ownership::{Entry, Kind, Memory, Owner, Store};
/// use agentwire_core::{chat::ContactId, time::Instant};
///
/// let mut store = Memory::default();
/// let entry = Entry::new(Owner::contact(ContactId(4)), Instant::ZERO);
/// store.put(Kind::Task, "t", &entry).unwrap();
/// assert_eq!(store.get(Kind::Task, "t").unwrap(), Some(entry));
/// assert_eq!(store.get(Kind::Context, "t").unwrap(), None);
/// ```
#[derive(Default)]
pub struct Memory {
    entries: BTreeMap<Key, (Entry, u64)>,
    ages: Ages,
    owners: BTreeMap<Owner, BTreeSet<(Instant, u64)>>,
    /// Counts uses.
    uses: u64,
}

impl Memory {
    fn remove(&mut self, age: (Instant, u64)) {
        let Some(key) = self.ages.remove(&age) else { return };
        let Some((entry, _)) = self.entries.remove(&key) else { return };
        if let Some(ages) = self.owners.get_mut(&entry.owner) {
            ages.remove(&age);
            if ages.is_empty() {
                self.owners.remove(&entry.owner);
            }
        }
    }
}

impl Store for Memory {
    type Error = Infallible;

    fn get(&mut self, kind: Kind, id: &str) -> Result<Option<Entry>, Infallible> {
        let found = self.entries.get(&(kind, String::from(id)));
        Ok(found.map(|(entry, _)| entry.clone()))
    }

    fn put(&mut self, kind: Kind, id: &str, entry: &Entry) -> Result<(), Infallible> {
        let key = (kind, String::from(id));
        if let Some((old, uses)) = self.entries.get(&key) {
            let age = (old.used, *uses);
            self.remove(age);
        }
        self.uses = self.uses.saturating_add(1);
        let age = (entry.used, self.uses);
        self.entries.insert(key.clone(), (entry.clone(), self.uses));
        self.ages.insert(age, key);
        self.owners.entry(entry.owner.clone()).or_default().insert(age);
        Ok(())
    }

    fn count(&mut self, owner: Option<&Owner>) -> Result<usize, Infallible> {
        Ok(match owner {
            None => self.entries.len(),
            Some(owner) => self.owners.get(owner).map_or(0, BTreeSet::len),
        })
    }

    fn count_tasks(&mut self, owner: &Owner) -> Result<usize, Infallible> {
        let ages = self.owners.get(owner).into_iter().flatten();
        let is_task =
            |age: &&(Instant, u64)| self.ages.get(*age).is_some_and(|key| key.0 == Kind::Task);
        Ok(ages.filter(is_task).count())
    }

    fn remove_oldest(&mut self, owner: Option<&Owner>) -> Result<(), Infallible> {
        let oldest = match owner {
            None => self.ages.first_key_value().map(|(age, _)| *age),
            Some(owner) => self.owners.get(owner).and_then(|ages| ages.first().copied()),
        };
        if let Some(age) = oldest {
            self.remove(age);
        }
        Ok(())
    }

    fn remove_unused_since(&mut self, time: Instant) -> Result<(), Infallible> {
        while let Some((age, _)) = self.ages.first_key_value().filter(|(age, _)| age.0 < time) {
            let age = *age;
            self.remove(age);
        }
        Ok(())
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (entries, owners) = (self.entries.len(), self.owners.len());
        write!(f, "Memory({entries} entries of {owners} owners)")
    }
}
