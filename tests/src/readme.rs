//! The commands of the README, for the tests that run them.

use crate::peers::root;

/// The words of the README's command that begins like this, after its first word, with other words
/// for some of them: what stands for something there, and ports that may be taken.
///
/// # Panics
/// If there is no such command, or a word that is to be another one is not in it.
#[must_use]
pub fn command(beginning: &str, instead: &[(&str, &str)]) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("README.md")).expect("it is there");
    let line = text.lines().find(|line| line.starts_with(beginning)).expect("the command");
    let mut words: Vec<String> = line.split_whitespace().skip(1).map(str::to_owned).collect();
    for (from, to) in instead {
        let word = words.iter_mut().find(|word| word == from);
        (*to).clone_into(word.unwrap_or_else(|| panic!("no {from} in: {line}")));
    }
    words
}
