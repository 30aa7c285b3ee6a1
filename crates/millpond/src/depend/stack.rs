//! The dataflow stack as a scheme: scopes hold their tasks in frames (`stack`), where nothing is ordered before a thief
//! asks (DDS §3).
//!
//! What no body's scope holds, the tasks of sessions above all, is ordered as under [`Parked`].
//!
//! A stack knows the order of the program and no other. So a `write` goes where the value is, in its turn, not into new
//! storage; `commutative` accesses take the order of the program; priorities do not overtake; a body that waits for something
//! waits for all that its scope has spawned before; and values that were to be dropped stay until the tasks of their frame have
//! ended.

use super::parked::{Parked, ParkedMeta};
use super::{Mode, Released, Scheme};
use crate::task::Record;

/// See the [module](self).
#[derive(Debug)]
pub struct Stack;

// SAFETY: that of `Parked`; what is held in frames is not issued here.
unsafe impl Scheme for Stack {
    type Meta = ParkedMeta;
    type Local = <Parked as Scheme>::Local;
    type Shared = <Parked as Scheme>::Shared;
    const NAME: &'static str = "stack";
    const FRAMES: bool = true;

    fn is_idle(meta: &ParkedMeta) -> bool {
        Parked::is_idle(meta)
    }

    fn is_ready(meta: &ParkedMeta, mode: Mode) -> bool {
        Parked::is_ready(meta, mode)
    }

    fn prefetch(meta: &ParkedMeta, record: &Record) {
        Parked::prefetch(meta, record);
    }

    unsafe fn issue(local: &mut Self::Local, meta: &ParkedMeta, record: &Record) -> bool {
        // SAFETY: passed on; so below.
        unsafe { Parked::issue(local, meta, record) }
    }

    unsafe fn enter(shared: &Self::Shared, task: crate::task::TaskRef, waiting: usize) -> bool {
        // SAFETY: passed on.
        unsafe { Parked::enter(shared, task, waiting) }
    }

    unsafe fn granted(record: &Record) -> bool {
        // SAFETY: passed on.
        unsafe { Parked::granted(record) }
    }

    unsafe fn release(shared: &Self::Shared, local: &mut Self::Local, meta: &ParkedMeta, record: &Record) -> Released {
        // SAFETY: passed on.
        unsafe { Parked::release(shared, local, meta, record) }
    }

    unsafe fn forget(meta: &ParkedMeta) {
        // SAFETY: passed on.
        unsafe { Parked::forget(meta) }
    }

    unsafe fn retire(meta: &ParkedMeta) -> bool {
        // SAFETY: passed on.
        unsafe { Parked::retire(meta) }
    }
}
