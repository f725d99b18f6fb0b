//! One call and its answer through the caller and the responder, and nothing else: the size of
//! this program is what both machines take. Exit code 0 when the answer arrived.
#![no_std]
#![no_main]

#[cfg(feature = "alloc")]
mod heap;
mod kernel;
mod memory;

/// What `_start` calls, on an aligned stack.
fn main() -> i32 {
    #[cfg(feature = "alloc")]
    if !heap::works() {
        return 1;
    }
    i32::from(!no_alloc_vectors::exchange())
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    kernel::exit(101)
}
