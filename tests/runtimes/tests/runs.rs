//! Each example runs, fails when it has to, and is short.

use std::process::{Command, Output};

/// The programs, and their sources.
const EXAMPLES: [(&str, &str); 3] = [
    (env!("CARGO_BIN_EXE_smol"), include_str!("../examples/smol.rs")),
    (env!("CARGO_BIN_EXE_embassy"), include_str!("../examples/embassy.rs")),
    (env!("CARGO_BIN_EXE_by_hand"), include_str!("../examples/by_hand.rs")),
];

/// An example has fewer lines than this.
const LINES: usize = 80;

fn run(program: &str, answer: Option<&str>) -> (Output, String) {
    let output = Command::new(program).args(answer).output().expect("the example runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
fn the_right_answer_and_the_end_of_a_wait_are_seen() {
    for (program, _) in EXAMPLES {
        let (output, said) = run(program, None);
        assert_eq!(output.status.code(), Some(0), "{program}: {said}");
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(told.ends_with(": one request answered, one ended in time\n"), "{program}: {told}");
    }
}

#[test]
fn another_answer_is_an_exit_code() {
    let wrong = runtimes::ANSWER.replace("COMPLETED", "REJECTED");
    for (program, _) in EXAMPLES {
        let (output, said) = run(program, Some(&wrong));
        assert_eq!(output.status.code(), Some(1), "{program}: {said}");
        assert!(said.contains(&format!("Answer {{ len: {} }}", wrong.len())), "{program}: {said}");
        assert!(output.stdout.is_empty(), "{program}");
    }
}

#[test]
fn each_is_short() {
    for (program, source) in EXAMPLES {
        let lines = source.lines().count();
        assert!((20..LINES).contains(&lines), "{program}: {lines} lines");
    }
}
