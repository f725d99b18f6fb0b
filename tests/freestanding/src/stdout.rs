//! Writing on Linux on x86-64.

use core::arch::asm;

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
