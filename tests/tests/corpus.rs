//! Every file of the fuzz targets' corpora, and every input that once broke something, goes
//! through its target's body.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use agentwire_core::fuzzing::{Body, TARGETS};

fn fuzz(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz").join(folder)
}

/// The entries of a folder that are folders, or that are files; none if there is no such folder.
fn entries(folder: &Path, folders: bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut entries: Vec<PathBuf> = entries.filter(|path| path.is_dir() == folders).collect();
    entries.sort();
    entries
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().expect("a plain name").to_owned()
}

fn body(target: &str) -> Body {
    let found = TARGETS.iter().find(|(name, _)| *name == target);
    found.unwrap_or_else(|| panic!("{target} is the name of no target")).1
}

/// Runs what is in the folder of each target, and says which targets there were.
fn replay(folder: &str) -> BTreeSet<String> {
    let mut targets = BTreeSet::new();
    for target in entries(&fuzz(folder), true) {
        let body = body(&name(&target));
        let seeds = entries(&target, false);
        assert!(!seeds.is_empty(), "{} is empty", target.display());
        for seed in seeds {
            let bytes = fs::read(&seed).unwrap();
            // The name goes with the panic, if there is one.
            println!("{}", seed.display());
            body(&bytes);
        }
        targets.insert(name(&target));
    }
    targets
}

#[test]
fn every_target_has_a_corpus_that_passes() {
    let targets = replay("corpus");
    for (target, _) in TARGETS {
        assert!(targets.contains(*target), "{target} has no corpus");
    }
}

#[test]
fn what_once_broke_something_passes() {
    replay("regressions");
}

#[test]
fn every_target_has_a_binary_and_every_binary_a_target() {
    let binaries: BTreeSet<String> = entries(&fuzz("fuzz_targets"), false)
        .iter()
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(binaries, targets);
}

#[test]
fn every_seed_is_explained() {
    let readme = fs::read_to_string(fuzz("corpus/README.md")).unwrap();
    for target in entries(&fuzz("corpus"), true) {
        for seed in entries(&target, false) {
            let row = format!("| `{}/{}` |", name(&target), name(&seed));
            assert!(readme.contains(&row), "no row {row}");
        }
    }
    let rows = readme.lines().filter(|line| line.starts_with("| `")).count();
    let seeds: usize =
        entries(&fuzz("corpus"), true).iter().map(|target| entries(target, false).len()).sum();
    assert_eq!(rows, seeds, "a row of a seed that is not there");
}
