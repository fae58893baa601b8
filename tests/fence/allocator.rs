//! An allocator that counts what a thread asks it for, while that thread wants it counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted.
pub struct Counting;

thread_local! {
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
    static COUNTED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

fn note(size: usize) {
    if IS_COUNTED.get() {
        let (calls, bytes) = COUNTED.get();
        COUNTED.set((calls + 1, bytes + size as u64));
    }
}

/// Does something; gives how often it asked for memory, and for how many bytes in all.
pub fn counted<T>(act: impl FnOnce() -> T) -> (T, u64, u64) {
    COUNTED.set((0, 0));
    IS_COUNTED.set(true);
    let done = act();
    IS_COUNTED.set(false);
    let (calls, bytes) = COUNTED.get();
    (done, calls, bytes)
}

// SAFETY: every block comes from and goes back to the system's allocator, with the layout it was
// asked for.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}
