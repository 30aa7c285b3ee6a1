//! The record in a frame for an out-of-line task. A task is out of line if it is joined, or too
//! large, or if another task went into the frame during its preparation.

use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;

use crate::memory::{Block, LINE};
use crate::task::{Header, NewTask, Role, Shape, TaskRef, VTable};

static OUT_OF_LINE: VTable = VTable {
    role: Role::OutOfLine,
    compact: None,
    run: |_, _| unreachable!("what it stands for is run"),
    discard: |_| unreachable!("what it stands for is discarded"),
    fail: |_, _, _| unreachable!("what it stands for may have a join"),
    drop_result: |_| unreachable!("what it stands for may have a join"),
};

const _: () = assert!(size_of::<Header>() + size_of::<Cell<TaskRef>>() <= LINE || cfg!(loom));

/// Bytes of the record in the frame, and the smallest size of a task in place. A parent always
/// takes more than a line. So a thief sees that there may be more to steal while only the running
/// parent is there (`Frames::may_have_work`).
#[inline(always)]
pub(crate) fn size(role: Role) -> usize {
    if role == Role::Nest { 2 * LINE } else { LINE }
}

/// Writes the record for an out-of-line task.
///
/// # Safety
///
/// `at` is the start of a line, and has room for that [`size`], which no other code uses.
pub(crate) unsafe fn write(at: NonNull<u8>, task: TaskRef) {
    let header = task.header();
    let new = NewTask {
        vtable: &OUT_OF_LINE,
        scope: header.scope_state().into(),
        order: header.order(),
        place: header.place(),
        priority: 0,
        extras: None,
        accesses: 0,
    };
    debug_assert!(Shape { extras: false, accesses: 0, nest: false }.block_size(Layout::new::<TaskRef>()) <= LINE);
    // SAFETY: there is room for a header and a reference.
    let here = unsafe { TaskRef::create(Block { start: at, tag: size(header.role()) as u32 }, new) };
    // SAFETY: as above.
    unsafe { here.payload::<TaskRef>().write(task) };
}

/// The task of a closure: the out-of-line task of such a record, or the closure itself.
#[inline]
pub(crate) fn itself(closure: TaskRef) -> TaskRef {
    if !is_one(closure) {
        return closure;
    }
    // SAFETY: `write` wrote it.
    unsafe { closure.payload::<TaskRef>().read() }
}

/// Whether this is the record of an out-of-line task.
pub(crate) fn is_one(closure: TaskRef) -> bool {
    closure.header().role() == Role::OutOfLine
}
