//! Pages of the documentation on what official SDKs and suites get through a conversation.
//!
//! The tests that run them write the tables: a table that is not what a run shows fails the
//! test. With `AGENTWIRE_WRITE=1` the test writes the page anew instead.

use std::sync::{Mutex, PoisonError};

use crate::peers;

/// One table is written at a time.
static PAGE: Mutex<()> = Mutex::new(());

/// Holds a table of the page on A2A against what it is to be, or writes it ([`check_in`]).
///
/// # Panics
/// If the page has no such table, or has another one.
pub fn check(name: &str, table: &str) {
    check_in("interop.md", name, table);
}

/// Holds a table of a page against what it is to be, or writes it. It stands between the lines
/// `<!-- NAME -->` and `<!-- NAME ends -->`.
///
/// # Panics
/// If the page has no such table, or has another one.
pub fn check_in(page: &str, name: &str, table: &str) {
    let page = peers::root().join("io-tokio/docs").join(page);
    let _lock = PAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = std::fs::read_to_string(&page).expect("the page is there");
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- {name} ends -->\n"));
    let (before, rest) = text.split_once(&begin).expect("the table begins");
    let (_, after) = rest.split_once(&end).expect("the table ends");
    let new = format!("{before}{begin}\n{}\n\n{end}{after}", table.trim_end());
    if std::env::var_os("AGENTWIRE_WRITE").is_some() {
        return std::fs::write(&page, new).expect("the page can be written");
    }
    assert_eq!(text, new, "{name}: to write the page anew, set AGENTWIRE_WRITE=1");
}

/// The version of a package of Python, npm or Rust, as the lock file in the tests has it.
///
/// # Panics
/// If it is in none of them.
#[must_use]
pub fn version(package: &str) -> String {
    let files = ["tests/peers/requirements.txt", "tests/peers/package-lock.json", "Cargo.lock"];
    let heads = [
        format!("{package}=="),
        format!("    \"node_modules/{package}\": {{\n      \"version\": \""),
        format!("name = \"{package}\"\nversion = \""),
    ];
    let found = files.iter().zip(heads).find_map(|(file, head)| {
        let text = std::fs::read_to_string(peers::root().join(file)).expect("it is there");
        let (_, rest) = text.split_once(&head)?;
        rest.split([' ', '"', '\n']).next().map(str::to_owned)
    });
    found.unwrap_or_else(|| panic!("no version of {package}"))
}
