//! See `agentwire_core::fuzzing::json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::json(data));
