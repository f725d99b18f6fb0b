//! See `agentwire_core::fuzzing::canonical`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::canonical(data));
