//! See `agentwire_core::fuzzing::sse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::sse(data));
