//! Runs the checks of `no-alloc-vectors` on a bare Cortex-M4 and reports through ARM semihosting:
//! exit code 0 when all hold, 1 when one does not, on a panic and on a fault.
#![no_std]
#![no_main]

use core::arch::asm;
use core::fmt::Write;

/// Semihosting's operations and the reason for a normal end, from ARM's document "Semihosting for
/// AArch32 and AArch64".
const SYS_OPEN: usize = 0x01;
const SYS_WRITE: usize = 0x05;
const SYS_EXIT_EXTENDED: usize = 0x20;
const APPLICATION_EXIT: usize = 0x2_0026;

/// Asks the debugger, here QEMU, for an operation.
fn semihosting(operation: usize, block: &[usize]) -> usize {
    let result;
    // SAFETY: `bkpt 0xab` is semihosting's call on M-profile cores. It reads `block`, which has the
    // words that the operation wants, and returns in r0.
    unsafe {
        asm!(
            "bkpt 0xab",
            inlateout("r0") operation => result,
            in("r1") block.as_ptr(),
            options(nostack, readonly),
        );
    }
    result
}

fn exit(code: usize) -> ! {
    semihosting(SYS_EXIT_EXTENDED, &[APPLICATION_EXIT, code]);
    // Without a debugger the call above returns.
    loop {
        core::hint::spin_loop();
    }
}

/// The debugger's standard output, by its file handle.
struct Stdout(usize);

impl Stdout {
    /// Opens the console for writing: semihosting names it `:tt`, mode 4 is "w".
    fn open() -> Self {
        let console = c":tt";
        Self(semihosting(SYS_OPEN, &[console.as_ptr().addr(), 4, console.count_bytes()]))
    }
}

impl Write for Stdout {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        match semihosting(SYS_WRITE, &[self.0, text.as_ptr().addr(), text.len()]) {
            0 => Ok(()),
            _ => Err(core::fmt::Error),
        }
    }
}

/// Where the core starts, by the vector table in `memory.ld`; the stack pointer is set already.
#[unsafe(no_mangle)]
extern "C" fn reset() -> ! {
    match no_alloc_vectors::run() {
        Ok(count) => {
            // A failed write changes nothing about the checks.
            let _ = writeln!(Stdout::open(), "{count} checks hold");
            exit(0)
        }
        Err(number) => {
            let name = no_alloc_vectors::name(number).unwrap_or("?");
            let _ = writeln!(Stdout::open(), "check {number} does not hold: {name}");
            exit(1)
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn fault() -> ! {
    let _ = writeln!(Stdout::open(), "the processor took a fault");
    exit(1)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Stdout::open(), "{info}");
    exit(1)
}
