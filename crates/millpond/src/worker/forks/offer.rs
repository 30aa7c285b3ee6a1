//! The offer of a fork: the fork as a task, for the pool.

use std::cell::Cell;
use std::ptr::NonNull;

use super::{CallSite, Forks, Head, Limits};
use crate::memory::Block;
use crate::record::Id;
use crate::task::{Header, NewTask, ScopePtr, TaskRef};
use crate::worker::wait::{Mailbox, Waiter};

/// A fork as a task, in its own block.
#[repr(C)]
pub(crate) struct Offer {
    header: Header,
    /// Its number in a recording. It must be at this offset, for `TaskRef::record_id`.
    id: Cell<Id>,
    waiter: Waiter,
    fork: NonNull<Head>,
    /// The limits of the stack that it comes from.
    limits: NonNull<Limits>,
}

impl Offer {
    pub(crate) const SIZE: usize = size_of::<Offer>();

    /// Makes a task of a fork.
    ///
    /// # Safety
    ///
    /// `block` has room for an offer, and nothing else uses it. The fork was not offered before.
    /// Until the offer is freed, the fork keeps its address, and the worker's mailbox and `forks`
    /// live.
    pub(crate) unsafe fn create(
        block: Block,
        fork: NonNull<Head>,
        forks: &Forks,
        mailbox: &Mailbox,
        at: CallSite,
    ) -> TaskRef {
        // SAFETY: the fork is alive, as the caller promises.
        let head = unsafe { fork.as_ref() };
        let new = NewTask {
            // SAFETY: the fork was not offered, as the caller promises.
            vtable: unsafe { head.table() },
            scope: ScopePtr::DANGLING,
            order: 0,
            place: at,
            priority: 0,
            extras: None,
            accesses: 0,
        };
        // SAFETY: as the caller promises. The header is the first field.
        let task = unsafe { TaskRef::create(block, new) };
        let offer: *mut Offer = task.0.cast().as_ptr();
        macro_rules! set {
            ($($field:ident: $value:expr;)*) => {$(
                // SAFETY: the block has room for an offer, and no other thread knows it.
                unsafe { (&raw mut (*offer).$field).write($value) };
            )*};
        }
        set! {
            id: Cell::new(0);
            waiter: Waiter::new(mailbox);
            fork: fork;
            limits: NonNull::from(&forks.limits);
        }
        head.set_offer(task.0.cast());
        task
    }

    pub(crate) fn task(offer: NonNull<Offer>) -> TaskRef {
        TaskRef(offer.cast())
    }

    /// The offer of a task with role `Fork`.
    ///
    /// # Safety
    ///
    /// The task has that role, and is not freed.
    pub(crate) unsafe fn of<'a>(task: TaskRef) -> &'a Offer {
        // SAFETY: the header of such a task is the first field of an offer.
        unsafe { task.0.cast().as_ref() }
    }

    pub(crate) fn fork(&self) -> NonNull<Head> {
        self.fork
    }

    pub(crate) fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Tells the fork's owner that its offer is taken (a).
    pub(crate) fn ask_for_another(&self) {
        // SAFETY: a stack of forks lives as long as its runtime, for which this thread works.
        unsafe { self.limits.as_ref() }.ask();
    }
}
