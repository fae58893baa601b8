//! Large blocks of memory on large pages.
//!
//! The records of a million jobs lie in a few blocks of many megabytes and are read in no order. On
//! pages of 4 kB each read costs a walk through the page tables besides the record itself; on
//! pages of 2 MB it does not (`yardmaster bench --only fold`).

use std::alloc::{GlobalAlloc, Layout};

/// An allocator that asks for large pages where a block is large.
pub struct LargePages<A>(pub A);

/// Size of a large page, and of a block from which on it matters; bytes.
const PAGE: usize = 2 << 20;
const LARGE: usize = 2 * PAGE;

// SAFETY: every block comes from and goes back to the allocator within, with the layout it was
// asked for; `advise` changes neither content nor extent of a block.
unsafe impl<A: GlobalAlloc> GlobalAlloc for LargePages<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the one within asks for.
        advise(unsafe { self.0.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        advise(unsafe { self.0.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        advise(unsafe { self.0.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) }
    }
}

/// Asks for large pages under all of a block that fills them. Where the system has none, nothing
/// changes, so what it answers does not matter.
#[inline]
fn advise(block: *mut u8, size: usize) -> *mut u8 {
    if cfg!(target_os = "linux") && size >= LARGE && !block.is_null() {
        let skipped = block.align_offset(PAGE);
        let whole = size.saturating_sub(skipped) / PAGE * PAGE;
        if whole > 0 {
            // SAFETY: the range lies within the block, begins and ends on a page, and the advice
            // changes nothing that is in it.
            #[cfg(target_os = "linux")]
            unsafe {
                libc::madvise(block.add(skipped).cast(), whole, libc::MADV_HUGEPAGE);
            }
        }
    }
    block
}
