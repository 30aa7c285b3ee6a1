//! A wait as a task: a body that waits for an access, or for a future.

use std::mem::offset_of;
use std::panic::Location;
use std::ptr::NonNull;

use super::scope_state::ScopeState;
use super::wait::Waiter;
use crate::error::Label;
use crate::mode::Mode;
use crate::task::{Extras, Header, Record, Role, TaskRef, VTable};

/// The wait of a body itself, on its stack. It has the layout of a task's block, so the scheme can
/// grant its access. It can also wait for a future.
#[repr(C)]
pub(crate) struct Waiting {
    pub(crate) header: Header,
    pub(crate) _extras: Extras,
    pub(crate) record: Record,
    pub(crate) waiter: Waiter,
}

impl Waiting {
    /// Waits for something other than an access.
    pub(crate) fn for_no_access(
        scope_state: NonNull<ScopeState>,
        place: &'static Location<'static>,
        waiter: Waiter,
    ) -> Self {
        Waiting {
            header: Header::on_stack(&WAIT, scope_state.into(), place),
            _extras: Extras { id: 0, label: Label::place(place), bytes: 0 },
            record: Record::new(NonNull::dangling(), offset_of!(Waiting, record), 0, Mode::Read, false),
            waiter,
        }
    }

    /// The wait as a task. It must not move while other code has this reference.
    pub(crate) fn task(&self) -> TaskRef {
        TaskRef(NonNull::from(self).cast())
    }

    pub(crate) fn waiter(&self) -> &Waiter {
        &self.waiter
    }
}

pub(crate) static WAIT: VTable = VTable {
    role: Role::Wait,
    compact: None,
    run: |_, _| unreachable!("a waiter is woken, not run"),
    discard: |_| unreachable!("a waiter is woken, not run"),
    fail: |_, _, _| unreachable!("a waiter has no join"),
    drop_result: |_| unreachable!("a waiter has no join"),
};

/// The waiter behind a header of role `Wait`.
pub(crate) fn waiter_of(task: TaskRef) -> *mut Waiter {
    let waiting = task.0.cast::<Waiting>().as_ptr();
    // SAFETY: a header of that role is the first field of a `Waiting`, which stays until its waiter
    // is woken.
    unsafe { &raw mut (*waiting).waiter }
}
