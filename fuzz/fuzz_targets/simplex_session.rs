//! See `agentwire_core::fuzzing::simplex_session`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::simplex_session(data));
