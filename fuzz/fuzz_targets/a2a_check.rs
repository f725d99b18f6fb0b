//! See `agentwire_core::fuzzing::a2a_check`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::a2a_check(data));
