//! The definitions of tools that are accepted, on disk: one JSON object a line.

use core::time::Duration;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use agentwire_core::mcp::pins::Pins;
use serde_json::{Value, json};

use crate::exit::{ExitCode, Failure};
use crate::journal_file;

/// How often it is looked whether something is to be written.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// Where the definitions are.
pub(super) struct PinFile(PathBuf);

impl PinFile {
    /// The file at `path`, or the one of the core at `url`.
    pub(super) fn open(path: Option<&Path>, url: &str) -> Result<Self, Failure> {
        match path {
            Some(path) => Ok(Self(path.to_owned())),
            None => Ok(Self(journal_file::default_path(url)?.with_extension("pins"))),
        }
    }

    /// What is accepted; nothing if there is no file. A file that is broken is not passed over:
    /// every changed tool would be taken for a new one.
    pub(super) fn read(&self) -> Result<Pins, Failure> {
        let mut pins = Pins::default();
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(pins),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(self.broken(1)),
            Err(error) => return Err(self.failed(&error)),
        };
        for (at, line) in text.lines().enumerate() {
            let entry = serde_json::from_str::<Value>(line).unwrap_or_default();
            let restored = entry["server"].as_str().is_some_and(|server| {
                entry["tool"].is_object()
                    && pins.restore(server, &entry["tool"].to_string()).is_ok()
            });
            if !restored {
                return Err(self.broken(at + 1));
            }
        }
        Ok(pins)
    }

    /// What is accepted, as the file holds it.
    pub(super) fn text(&self, pins: &Pins) -> String {
        let lines = pins.iter().map(|(server, _, definition)| {
            let tool = serde_json::from_str::<Value>(definition).unwrap_or_default();
            format!("{}\n", json!({"server": server, "tool": tool}))
        });
        lines.collect()
    }

    /// Puts `text` in the place of what there was, whole or not at all.
    pub(super) fn write(&self, text: &str) -> Result<(), Failure> {
        self.try_write(text).map_err(|error| self.failed(&error))
    }

    fn try_write(&self, text: &str) -> io::Result<()> {
        let folder = self.0.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let new = self.0.with_extension("pins.new");
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.0)?;
        File::open(folder)?.sync_all()
    }

    fn failed(&self, error: &io::Error) -> Failure {
        Failure::new(ExitCode::Config, format!("{}: {error}", self.0.display()))
    }

    fn broken(&self, line: usize) -> Failure {
        let problem = format!(
            "{}: line {line} holds no accepted tool; without this file every tool is taken as it \
             is now, so look at it, mend it or move it away yourself",
            self.0.display(),
        );
        Failure::new(ExitCode::Corrupt, problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_accepted_is_the_same_when_it_is_read_again() {
        let folder = tempfile();
        let file = PinFile::open(Some(&folder.join("x/of.pins")), "").unwrap();
        assert!(file.read().unwrap().is_empty());
        let mut pins = Pins::default();
        pins.see("@bot", r#"{"name":"a","inputSchema":{"maximum":1.50,"title":"é\n"}}"#).unwrap();
        pins.see("#team @bot", r#"{"name":"b"}"#).unwrap();
        file.write(&file.text(&pins)).unwrap();
        assert!(file.read().unwrap().iter().eq(pins.iter()));
        for broken in
            ["{}\n", "\0\0\0", "{\"server\":\"a\",\"tool\":{}}", "{\"server\":\"a\",\"tool\":{\"na"]
        {
            file.write(broken).unwrap();
            let failure = file.read().expect_err("it is broken");
            assert_eq!(failure.code(), ExitCode::Corrupt, "{broken}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    fn tempfile() -> PathBuf {
        let name = format!("agentwire-pins-{}", std::process::id());
        std::env::temp_dir().join(name)
    }
}
