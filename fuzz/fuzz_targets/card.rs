//! See `agentwire_core::fuzzing::card`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::card(data));
