//! Tells AddressSanitizer which blocks are free. For AddressSanitizer, a slab is one allocation
//! that lives as long as the manager.
//!
//! The first word of a block is never poisoned, because a stale reader may load it at any time
//! (trait `Memory`).

use std::ptr::NonNull;

#[cfg(millpond_asan)]
// SAFETY: these are two functions of AddressSanitizer's interface, with its signatures. They touch
// shadow memory only, so any address is valid. In the worst case, a later access is reported.
unsafe extern "C" {
    safe fn __asan_poison_memory_region(start: *const u8, bytes: usize);
    safe fn __asan_unpoison_memory_region(start: *const u8, bytes: usize);
}

/// From now on an access to these bytes is an error.
#[inline(always)]
pub(super) fn forbid(start: NonNull<u8>, bytes: usize) {
    #[cfg(millpond_asan)]
    __asan_poison_memory_region(start.as_ptr(), bytes);
    let _ = (start, bytes);
}

/// These bytes may be used again.
#[inline(always)]
pub(super) fn permit(start: NonNull<u8>, bytes: usize) {
    #[cfg(millpond_asan)]
    __asan_unpoison_memory_region(start.as_ptr(), bytes);
    let _ = (start, bytes);
}
