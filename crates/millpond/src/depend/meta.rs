//! The bytes of a scheme in a version.

use std::cell::UnsafeCell;
use std::ptr::NonNull;

use super::Scheme;
use crate::task::META_SIZE;

/// The 64 bytes of scheme metadata in each version. All zeros is an unused version.
#[derive(Debug, Default)]
#[repr(C, align(8))]
pub struct Meta(UnsafeCell<[u64; 8]>);

const _: () = assert!(size_of::<Meta>() == META_SIZE);

// SAFETY: a scheme's `Meta` type is `Sync` (bound in `Scheme`). The bytes are only accessed as that
// type, or by `reset`, on condition that no other code accesses them.
unsafe impl Sync for Meta {}

impl Meta {
    /// The bytes, as the metadata of scheme `D`.
    #[inline]
    pub(crate) fn of<D: Scheme>(&self) -> &D::Meta {
        // Loom's atomics are larger. Under loom the tables of all schemes are compiled, but models
        // make their own metadata.
        #[cfg(not(loom))]
        const {
            assert!(size_of::<D::Meta>() <= 64, "the scheme's metadata must fit 64 bytes");
            assert!(align_of::<D::Meta>() <= 8, "the scheme's metadata must need no more than 8-byte alignment");
        }
        #[cfg(loom)]
        assert!(size_of::<D::Meta>() <= 64 && align_of::<D::Meta>() <= 8, "the metadata of a model");
        // SAFETY: size and alignment fit (checked above). Zeros, and all that `D` left, are valid
        // (trait `Scheme`). Two schemes never use a block at once: a scope claims a handle, then
        // resets it.
        unsafe { &*self.0.get().cast::<D::Meta>() }
    }

    /// Prefetches its line for a write.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn prefetch(&self) {
        crate::sync::prefetch_for_write(NonNull::from(self).cast(), size_of::<Meta>());
    }

    /// Resets the bytes to the unused state, for a scope that has just claimed the handle.
    ///
    /// # Safety
    ///
    /// No access to the version is outstanding, and no other scope can issue one.
    pub(crate) unsafe fn reset(&self) {
        // SAFETY: by the condition above, no other code reads or writes the bytes.
        unsafe { *self.0.get() = [0; 8] }
    }
}
