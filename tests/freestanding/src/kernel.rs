//! The three things that this program asks of Linux on x86-64: to be started, to write, to end.

use core::arch::{asm, global_asm};

// The kernel enters here with the arguments on the stack; the ABI wants it aligned to 16 bytes at
// a call.
global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call {enter}",
    "ud2",
    enter = sym enter,
);

extern "C" fn enter() -> ! {
    exit(crate::main())
}

/// Ends the process (`exit_group`).
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: system call 231 takes one integer and does not return.
    unsafe { asm!("syscall", in("rax") 231, in("edi") code, options(noreturn, nostack)) }
}

/// The standard output, unbuffered.
pub(crate) struct Stdout;

impl core::fmt::Write for Stdout {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let written: isize;
            // SAFETY: system call 1 reads `rest.len()` bytes at `rest`, which is a live slice, and
            // clobbers rcx and r11 alone.
            unsafe {
                asm!(
                    "syscall",
                    inlateout("rax") 1_isize => written,
                    in("rdi") 1,
                    in("rsi") rest.as_ptr(),
                    in("rdx") rest.len(),
                    lateout("rcx") _,
                    lateout("r11") _,
                    options(nostack, readonly),
                );
            }
            let written = usize::try_from(written).map_err(|_| core::fmt::Error)?;
            rest = rest.get(written..).ok_or(core::fmt::Error)?;
        }
        Ok(())
    }
}
