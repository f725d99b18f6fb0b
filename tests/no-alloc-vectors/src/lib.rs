//! Checks of `agentwire-core` that need no std, no heap and no operating system. The same ones run
//! on the host (`cargo test -p no-alloc-vectors`), in a program without a C library
//! (`tests/freestanding`), on an emulated Cortex-M4 (`tests/cortex-m`) and as a WebAssembly module
//! (`tests/wasm`).
//!
//! A check is a name and a function that answers whether it held. To add one, add a line to the
//! `CHECKS` of its module; to add a module, add its `CHECKS` to `GROUPS`. Checks write into
//! arrays on the stack: keep them below a few kilobytes.
#![no_std]

mod command;
mod declarations;
mod discovery;
mod exchange;
mod json;
mod length;
mod rpc;
mod sign;
mod size;

/// A check's name, and the check: `true` when it held.
type Check = (&'static str, fn() -> bool);

/// Every module's checks, in the order in which they run.
const GROUPS: &[&[Check]] = &[
    json::CHECKS,
    length::CHECKS,
    size::CHECKS,
    command::CHECKS,
    declarations::CHECKS,
    discovery::CHECKS,
    exchange::CHECKS,
    rpc::CHECKS,
    sign::CHECKS,
];

/// Runs every check. `Ok` holds how many there are, `Err` the number of the first that did not
/// hold, counted from 1; [`name`] tells its name.
///
/// # Errors
/// The number of the first check that did not hold.
pub fn run() -> Result<u32, u32> {
    let mut number = 0;
    for (_, check) in GROUPS.iter().copied().flatten() {
        number += 1;
        if !check() {
            return Err(number);
        }
    }
    Ok(number)
}

/// One call and its answer through both machines: what a program takes that does nothing else.
#[must_use]
pub fn exchange() -> bool {
    exchange::exchange().is_some()
}

/// The name of a check by its number, counted from 1.
#[must_use]
pub fn name(number: u32) -> Option<&'static str> {
    let index = usize::try_from(number.checked_sub(1)?).ok()?;
    GROUPS.iter().copied().flatten().nth(index).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_check_holds() {
        let outcome = super::run();
        assert!(outcome.is_ok(), "does not hold: {:?}", outcome.err().and_then(super::name));
        assert!(outcome > Ok(0), "there are no checks");
    }

    #[test]
    fn numbers_and_names_agree() {
        let count = super::run().unwrap_or(0);
        assert_eq!(super::name(0), None);
        assert!(super::name(1).is_some());
        assert!(super::name(count).is_some());
        assert_eq!(super::name(count + 1), None);
    }
}
