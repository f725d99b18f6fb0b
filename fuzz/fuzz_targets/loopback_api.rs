//! See `agentwire_core::fuzzing::loopback_api`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::loopback_api(data));
