//! See `agentwire_core::fuzzing::rpc_ops`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::rpc_ops(data));
