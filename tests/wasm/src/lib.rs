//! The checks of `no-alloc-vectors` behind three exports. A panic traps.
#![no_std]

/// How many checks hold, or, negative, the number of the first that does not.
#[unsafe(no_mangle)]
pub extern "C" fn run() -> i32 {
    match no_alloc_vectors::run() {
        Ok(count) => i32::try_from(count).unwrap_or(i32::MAX),
        Err(number) => i32::try_from(number).map_or(i32::MIN, |number| -number),
    }
}

/// Where a check's name stands in the module's memory.
#[unsafe(no_mangle)]
pub extern "C" fn name_start(number: u32) -> *const u8 {
    no_alloc_vectors::name(number).unwrap_or_default().as_ptr()
}

/// How long a check's name is, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn name_length(number: u32) -> usize {
    no_alloc_vectors::name(number).unwrap_or_default().len()
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
