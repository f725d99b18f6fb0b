//! What these programs ask of Linux on x86-64: to be started, and to end.

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
