//! See [`agentwire_core::fuzzing::link`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::link(data));
