//! An allocator that counts, so that a test can say how often a piece of code uses the heap, and
//! how much of it.
//!
//! ```
//! use counting_alloc::{Counting, allocated, allocations};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! assert_eq!(allocations(|| drop(Box::new(7))), 1);
//! assert_eq!(allocations(|| drop([7; 100])), 0);
//! assert_eq!(allocated(|| drop(Box::new([7_u8; 100]))).bytes, 100);
//! ```

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

thread_local! {
    static ALLOCATED: Cell<Allocated> = const { Cell::new(Allocated { times: 0, bytes: 0 }) };
}

/// What a thread has asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Allocated {
    /// How often it asked; growing or shrinking what it has counts too.
    pub times: u64,
    /// How many bytes it asked for; of what grows, those that it grows by.
    pub bytes: u64,
}

/// The system's allocator, counting how often each thread asks it for memory, and for how much.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

fn count(bytes: usize) {
    // A thread that is ending counts no more.
    let _ = ALLOCATED.try_with(|allocated| {
        let Allocated { times, bytes: before } = allocated.get();
        allocated.set(Allocated { times: times + 1, bytes: before + bytes as u64 });
    });
}

// SAFETY: every method hands its arguments to `System` as they are and returns what it returns;
// counting touches numbers of the thread and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
        // SAFETY: as above; the memory comes from `System`.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above; the memory comes from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// What this thread asks for while `work` runs.
pub fn allocated(work: impl FnOnce()) -> Allocated {
    let before = ALLOCATED.get();
    work();
    let after = ALLOCATED.get();
    Allocated { times: after.times - before.times, bytes: after.bytes - before.bytes }
}

/// How often this thread asks for memory while `work` runs; growing what it has counts too.
pub fn allocations(work: impl FnOnce()) -> u64 {
    allocated(work).times
}
