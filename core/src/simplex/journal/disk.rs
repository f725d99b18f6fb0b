//! A store for tests and fuzz targets.
#![allow(clippy::unwrap_used, reason = "a change of what is not there is what a test is to find")]

use super::*;
use core::convert::Infallible;

/// What the changes amount to: a store in memory that keeps to the trait.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    pub(crate) records: BTreeMap<CallKey, Record>,
    pub(crate) mark: Option<Mark>,
}

impl JournalStore for Disk {
    type Error = Infallible;

    fn save(&mut self, changes: &[Change]) -> Result<(), Infallible> {
        for change in changes {
            match change.clone() {
                Change::Put(record) => {
                    self.records.insert(record.key, record);
                }
                Change::Started { key, times } => {
                    self.records.get_mut(&key).unwrap().stage = Stage::Started { times };
                }
                Change::Finished { key, answer } => {
                    self.records.get_mut(&key).unwrap().stage = Stage::Finished { answer };
                }
                Change::Confirmed(key) => {
                    let record = self.records.get_mut(&key).unwrap();
                    record.stage = Stage::Confirmed;
                    record.text = "".into();
                }
                Change::Dropped(key) => {
                    self.records.remove(&key);
                }
                Change::Mark(mark) => self.mark = Some(mark),
            }
        }
        Ok(())
    }
}

impl Disk {
    pub(crate) fn restore(&self, config: JournalConfig) -> Journal {
        Journal::restore(config, self.records.values().cloned(), self.mark)
    }
}
