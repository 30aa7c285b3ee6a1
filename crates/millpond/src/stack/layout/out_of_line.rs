//! What stands in a frame for a task whose block lies elsewhere: it is joined, or too large, or was prepared while
//! something else went into the frame before it.

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

/// Bytes in the frame, and the least of a task that lies there itself. A parent takes more than a line wherever it lies, so that it
/// is seen that there may be more to steal while nothing but it is there and runs (`Frames::may_have_work`).
#[inline(always)]
pub(crate) fn size(role: Role) -> usize {
    if role == Role::Nest { 2 * LINE } else { LINE }
}

/// Writes what stands for a task.
///
/// # Safety
///
/// There is room of that [`size`] at `at`, a line, which nobody uses.
pub(crate) unsafe fn write(at: NonNull<u8>, task: TaskRef) {
    let header = task.header();
    let new = NewTask {
        vtable: &OUT_OF_LINE,
        scope_state: header.scope_state(),
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

/// The task itself, whatever stands for it.
#[inline]
pub(crate) fn itself(closure: TaskRef) -> TaskRef {
    if !is_one(closure) {
        return closure;
    }
    // SAFETY: `write` has put it there.
    unsafe { closure.payload::<TaskRef>().read() }
}

/// Whether this stands for a task that lies elsewhere.
pub(crate) fn is_one(closure: TaskRef) -> bool {
    closure.header().role() == Role::OutOfLine
}
