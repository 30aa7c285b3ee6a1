//! Values in other places, for the sake of the compiler's view of them.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// The same value in another place.
///
/// A call that is rare, and takes or returns a value of more than two words, has that value lie in memory; and so it does on
/// every way to the call, and behind it, unless what the call takes or returns is a copy.
#[inline(always)]
pub(crate) fn moved<T>(value: T) -> T {
    let value = ManuallyDrop::new(value);
    // SAFETY: it is moved.
    unsafe { NonNull::from(&*value).read() }
}
