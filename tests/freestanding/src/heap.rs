//! A heap that only grows, for the build with `alloc`.

extern crate alloc;

use alloc::{string::String, vec::Vec};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

const SIZE: usize = 1 << 20;

struct Bump {
    space: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
}

// SAFETY: `used` hands out each byte of `space` once, atomically.
unsafe impl Sync for Bump {}

// SAFETY: every returned range lies within `space`, is aligned, and is handed out once.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.space.get().cast::<u8>();
        let mut start = 0;
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let align = layout.align();
            let padding = base.addr().wrapping_add(used).wrapping_neg() & (align - 1);
            start = used.checked_add(padding)?;
            start.checked_add(layout.size()).filter(|end| *end <= SIZE)
        });
        match taken {
            // SAFETY: `start` lies within `space`.
            Ok(_) => unsafe { base.add(start) },
            Err(_) => core::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Bump = Bump { space: UnsafeCell::new([0; SIZE]), used: AtomicUsize::new(0) };

/// Whether growing and copying on this heap give back what was put in.
pub(crate) fn works() -> bool {
    let mut numbers = Vec::new();
    for number in 0..1000_u32 {
        numbers.push(number);
    }
    let text: String = numbers.iter().map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    numbers.iter().sum::<u32>() == 499_500 && text.len() == 1000 && text.ends_with("jkl")
}
