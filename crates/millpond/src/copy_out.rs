//! Copies of values, and calls out of line. They let the compiler keep the values of the fast path
//! in registers.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Moves a value to a fresh stack slot, so that the original can stay in registers on the fast
/// path.
///
/// If a rare call takes or returns a value of more than two words, that value is in memory. The
/// compiler then keeps it in memory on every path to the call and after it. A copy at the call
/// avoids that.
#[inline(always)]
pub(crate) fn copy_out<T>(value: T) -> T {
    let value = ManuallyDrop::new(value);
    // SAFETY: the original is not used or dropped any more.
    unsafe { NonNull::from(&*value).read() }
}

/// Calls a function out of line, for a path that is rarely taken.
#[cold]
#[inline(never)]
pub(crate) fn rarely<R>(call: impl FnOnce() -> R) -> R {
    call()
}
