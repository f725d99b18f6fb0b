//! See [`agentwire_core::fuzzing::name`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::name(data));
