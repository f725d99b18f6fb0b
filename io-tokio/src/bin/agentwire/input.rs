//! Texts that the program reads.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use agentwire_core::json;
use zeroize::Zeroizing;

use crate::exit::{ExitCode, Failure};

/// The longest text that is read, in bytes: far above what any message holds.
const MOST: u64 = 64 * 1024 * 1024;

/// The longest file with a key that is read, in bytes.
const MOST_OF_KEY: usize = 64 * 1024;

/// What standard input holds.
pub(crate) fn stdin() -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        eprintln!("agentwire: reading from standard input; Ctrl-D ends it");
    }
    read(io::stdin().lock(), "standard input")
}

/// What a file holds.
pub(crate) fn file(path: &Path) -> Result<String, Failure> {
    read(open(path)?, &path.display().to_string())
}

/// What a file holds, or standard input where no file is named, or one named `-`.
pub(crate) fn file_or_stdin(path: Option<&Path>) -> Result<String, Failure> {
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => file(path),
        None => stdin(),
    }
}

/// What a file that may hold a secret holds. It is wiped when it is dropped.
pub(crate) fn secret(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let name = path.display().to_string();
    let refused = |why: String| Failure::new(ExitCode::Refused, format!("{name}: {why}"));
    let file = open(path)?;
    // As much room as it can take, so that nothing is moved and left behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST_OF_KEY + 1));
    file.take(MOST_OF_KEY as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| refused(error.to_string()))?;
    if bytes.len() > MOST_OF_KEY {
        return Err(refused(format!("more than {MOST_OF_KEY} bytes")));
    }
    let text = json::text(&bytes).map_err(|error| refused(error.to_string()))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Says on standard error if others can read a file.
pub(crate) fn warn_of_readers(path: &Path) {
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(path) {
        let mode = std::os::unix::fs::MetadataExt::mode(&metadata);
        if metadata.is_file() && mode & 0o077 != 0 {
            let name = path.display().to_string();
            eprintln!("agentwire: {}: others can read this key", crate::terminal::escape(&name));
        }
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    let failed = |error| Failure::new(ExitCode::Usage, format!("{}: {error}", path.display()));
    File::open(path).map_err(failed)
}

/// A text, without the line feed at its end that editors and `echo` put there.
fn read(source: impl Read, name: &str) -> Result<String, Failure> {
    let refused = |why: String| Failure::new(ExitCode::Refused, format!("{name}: {why}"));
    let mut bytes = Vec::new();
    source.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| refused(error.to_string()))?;
    if bytes.len() as u64 > MOST {
        return Err(refused(format!("more than {MOST} bytes")));
    }
    let text = json::text(&bytes).map_err(|error| refused(error.to_string()))?;
    Ok(text.strip_suffix('\n').unwrap_or(text).to_owned())
}
