//! How much room an answer takes at least.

use crate::binding::{Binding, Failure, STANDARD_FAILURE_LEN};
use crate::json::Writer;
use crate::json::length::{MAX_COST, escaped_len};

/// Room for the shortest error of either standard binding, without its id.
const SHORTEST: usize = STANDARD_FAILURE_LEN;

/// The escaped length of the shortest error that the binding writes with this id.
pub(super) fn shortest_failure<B: Binding>(binding: B, id: Option<&str>) -> usize {
    let mut scratch = [0; SHORTEST];
    let mut writer = Writer::new(&mut scratch);
    // The id may be longer than the scratch: it is left out and counted apart.
    binding.write_failure(&Failure::Internal, id.map(|_| ""), &mut writer);
    let id = id.map_or(0, escaped_len);
    match writer.finish() {
        Ok(text) => escaped_len(text).saturating_add(id),
        // A binding that writes more has its text counted twice over, as if all were escaped.
        Err(error) => error.needed.saturating_mul(2).saturating_add(id),
    }
}

/// Whether the shortest error that the binding writes with this id takes at most `room` escaped
/// bytes; if not, how many it takes.
pub(super) fn check_failure<B: Binding>(
    binding: B,
    id: Option<&str>,
    room: usize,
) -> Result<(), usize> {
    // Nearly always there is room even if every byte has the longest escape, and then nothing
    // has to be measured.
    let most = binding.failure_len().saturating_add(id.map_or(0, str::len));
    if most.saturating_mul(MAX_COST) <= room {
        return Ok(());
    }
    let needed = shortest_failure(binding, id);
    if needed <= room { Ok(()) } else { Err(needed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::Standard;

    #[test]
    fn the_standard_bindings_promise_enough_for_their_errors() {
        for binding in [Standard::MCP, Standard::A2A] {
            for id in [None, Some("")] {
                let mut counter = Writer::new(&mut []);
                binding.write_failure(&Failure::Internal, id, &mut counter);
                assert!(counter.needed() <= binding.failure_len());
            }
        }
    }

    #[test]
    fn an_error_fits_to_the_byte() {
        for binding in [Standard::MCP, Standard::A2A] {
            for id in [None, Some("7"), Some("\"\\\"\"")] {
                let needed = shortest_failure(binding, id);
                assert_eq!(check_failure(binding, id, needed), Ok(()));
                assert_eq!(check_failure(binding, id, needed - 1), Err(needed));
                assert_eq!(check_failure(binding, id, 15_000), Ok(()));
            }
        }
    }
}
