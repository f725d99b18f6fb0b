//! The memory functions that the compiler emits calls to and that a C library would bring. Written
//! with string instructions, because a loop in Rust may be compiled into a call to itself.

use core::arch::asm;

/// As in C: copies `len` bytes that do not overlap.
///
/// # Safety
/// Both ranges are valid, and they do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    // SAFETY: the caller's ranges are valid; the direction flag is clear by the ABI.
    unsafe {
        asm!("rep movsb", inout("rcx") len => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
    to
}

/// As in C: copies `len` bytes that may overlap.
///
/// # Safety
/// Both ranges are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    if to.addr().wrapping_sub(from.addr()) >= len {
        // SAFETY: `to` lies before `from` or after its end, so copying upwards reads each byte
        // before it is written over.
        return unsafe { memcpy(to, from, len) };
    }
    // SAFETY: as above, downwards from the last byte of each range (`len` is not 0 here); the
    // direction flag is clear again at the end.
    unsafe {
        asm!("std", "rep movsb", "cld", inout("rcx") len => _,
            inout("rdi") to.add(len).sub(1) => _, inout("rsi") from.add(len).sub(1) => _,
            options(nostack));
    }
    to
}

/// As in C: fills `len` bytes.
///
/// # Safety
/// The range is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    // SAFETY: the caller's range is valid; the direction flag is clear by the ABI.
    unsafe {
        asm!("rep stosb", inout("rcx") len => _, inout("rdi") to => _, in("eax") byte,
            options(nostack, preserves_flags));
    }
    to
}

/// As in C: the difference of the first two bytes that differ, or 0.
///
/// # Safety
/// Both ranges are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(left: *const u8, right: *const u8, len: usize) -> i32 {
    for at in 0..len {
        // SAFETY: `at` lies within the caller's ranges. Volatile, so that this loop stays one.
        let (a, b) = unsafe { (left.add(at).read_volatile(), right.add(at).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// As in C: whether two ranges differ.
///
/// # Safety
/// Both ranges are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(left: *const u8, right: *const u8, len: usize) -> i32 {
    // SAFETY: as the caller's promise.
    unsafe { memcmp(left, right, len) }
}

// The precompiled `core` names the unwinder's personality in its tables; nothing here unwinds.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
