//! Canonical JSON and Agent Cards on inputs that nobody has chosen: what the fuzz targets hold, for
//! a while in every test run.

use agentwire_core::fuzzing;
use proptest::collection::vec;
use proptest::prelude::*;

/// A configuration with this many cases, or as many as `PROPTEST_CASES` says.
fn cases(count: u32) -> ProptestConfig {
    let chosen = std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok());
    ProptestConfig {
        cases: chosen.unwrap_or(count),
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(cases(512))]

    /// A canonical form is its own canonical form, equal values have equal forms, and both are what
    /// a naive writer makes of the value.
    #[test]
    fn canonical_forms_are_fixed_points_of_equal_values(bytes in vec(any::<u8>(), 0..600)) {
        fuzzing::canonical(&bytes);
    }
}

proptest! {
    #![proptest_config(cases(12))]

    /// What is signed verifies, in the form in which it was signed; what was changed does not.
    #[test]
    fn signed_cards_verify_and_changed_ones_do_not(bytes in vec(any::<u8>(), 100..1200)) {
        fuzzing::card(&bytes);
    }
}
