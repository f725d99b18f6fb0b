//! Runs the checks of `no-alloc-vectors` where there is nothing but the kernel. Exit code 0 when
//! all hold, 1 when one does not, 101 on a panic.
#![no_std]
#![no_main]

#[cfg(feature = "alloc")]
mod heap;
mod kernel;
mod memory;
mod stdout;

use core::fmt::Write;

use stdout::Stdout;

/// What `_start` calls, on an aligned stack.
fn main() -> i32 {
    #[cfg(feature = "alloc")]
    if !heap::works() {
        return 1;
    }
    match no_alloc_vectors::run() {
        Ok(count) => {
            // A failed write to the standard output changes nothing about the checks.
            let _ = writeln!(Stdout, "{count} checks hold");
            0
        }
        Err(number) => {
            let name = no_alloc_vectors::name(number).unwrap_or("?");
            let _ = writeln!(Stdout, "check {number} does not hold: {name}");
            1
        }
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Stdout, "{info}");
    kernel::exit(101)
}
