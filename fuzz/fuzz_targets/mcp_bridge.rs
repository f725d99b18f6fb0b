//! See `agentwire_core::fuzzing::mcp_bridge`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentwire_core::fuzzing::mcp_bridge(data));
