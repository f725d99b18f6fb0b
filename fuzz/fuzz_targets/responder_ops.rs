//! See `agentwire_core::fuzzing::responder_ops`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::responder_ops(data));
