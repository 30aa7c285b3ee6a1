//! The parts of an engine that are compiled once, in this crate, and linked to programs.
//!
//! A function that is generic over its engine is compiled again in each program that calls it.
//! Functions that programs call, and that do not depend on a program's types, go through a method
//! of [`Linked`]. Its implementation for an engine of this crate is not generic, so programs only
//! link to it.

use std::panic::Location;
use std::ptr::NonNull;

use super::WorkerEngine;
use crate::depend::Mode;
use crate::handle::Datum;
use crate::handle::reduction::Reduction;
use crate::task::TaskRef;
use crate::worker::Worker;
use crate::worker::scope_state::ScopeState;
use crate::worker::seats::Shared;
use crate::worker::wait::Waiter;

/// The functions of an engine's workers that programs call. The methods have unusual names because
/// of the compiler's errors: for a call of a missing method, it suggests each trait with a method
/// of that name.
pub trait Linked: Sized {
    fn make_room(worker: &Worker<Self>, scope_state: &ScopeState, bytes: usize)
    where
        Self: WorkerEngine;

    fn combine_reduction(worker: &Worker<Self>, scope_state: &ScopeState, reduction: NonNull<Reduction>, order: u64)
    where
        Self: WorkerEngine;

    fn try_exclude_all(worker: &Worker<Self>, task: TaskRef) -> bool
    where
        Self: WorkerEngine;

    fn release_exclusions(worker: &Worker<Self>, task: TaskRef)
    where
        Self: WorkerEngine;

    /// # Safety
    ///
    /// As for `Worker::issue_accesses`. The scheme grants all accesses at once.
    unsafe fn issue_at_spawn(worker: &Worker<Self>, task: TaskRef)
    where
        Self: WorkerEngine;

    fn release_at_spawn(worker: &Worker<Self>, task: TaskRef)
    where
        Self: WorkerEngine;

    fn wait_below(worker: &Worker<Self>, waiter: &Waiter, scope_state: &ScopeState)
    where
        Self: WorkerEngine;

    /// # Safety
    ///
    /// As for `Worker::await_datum_here`.
    unsafe fn await_datum(
        worker: &Worker<Self>,
        scope_state: &ScopeState,
        datum: &Datum,
        mode: Mode,
        place: &'static Location<'static>,
    ) where
        Self: WorkerEngine;

    fn end_scope(worker: &Worker<Self>, scope_state: &ScopeState)
    where
        Self: WorkerEngine;

    fn enter_as_worker(shared: &Shared<Self>, run: &mut dyn FnMut(&Worker<Self>))
    where
        Self: WorkerEngine;
}

macro_rules! linked {
    ($engine:ty $(, $($parameter:ident: $bound:path),*)?) => {
        impl $(<$($parameter: $bound),*>)? $crate::worker::engine::linked::Linked for $engine {
            #[cold]
            fn make_room(worker: &$crate::worker::Worker<Self>, scope_state: &$crate::worker::scope_state::ScopeState, bytes: usize) {
                worker.make_room_here(scope_state, bytes);
            }

            #[cold]
            fn combine_reduction(worker: &$crate::worker::Worker<Self>, scope_state: &$crate::worker::scope_state::ScopeState, reduction: std::ptr::NonNull<$crate::handle::reduction::Reduction>, order: u64) {
                worker.combine_here(scope_state, reduction, order);
            }

            fn try_exclude_all(worker: &$crate::worker::Worker<Self>, task: $crate::task::TaskRef) -> bool {
                worker.try_exclude_all_here(task)
            }

            fn release_exclusions(worker: &$crate::worker::Worker<Self>, task: $crate::task::TaskRef) {
                worker.release_exclusions_here(task);
            }

            unsafe fn issue_at_spawn(worker: &$crate::worker::Worker<Self>, task: $crate::task::TaskRef) {
                // SAFETY: as the caller promises.
                let ready = unsafe { worker.issue_accesses(task) };
                assert!(ready, "the scheme said that it would grant these accesses");
            }

            fn release_at_spawn(worker: &$crate::worker::Worker<Self>, task: $crate::task::TaskRef) {
                worker.release(task);
            }

            fn wait_below(worker: &$crate::worker::Worker<Self>, waiter: &$crate::worker::wait::Waiter, scope_state: &$crate::worker::scope_state::ScopeState) {
                worker.wait_here(waiter, scope_state);
            }

            unsafe fn await_datum(
                worker: &$crate::worker::Worker<Self>,
                scope_state: &$crate::worker::scope_state::ScopeState,
                datum: &$crate::handle::Datum,
                mode: $crate::depend::Mode,
                place: &'static std::panic::Location<'static>,
            ) {
                // SAFETY: as the caller promises.
                unsafe { worker.await_datum_here(scope_state, datum, mode, place) }
            }

            fn end_scope(worker: &$crate::worker::Worker<Self>, scope_state: &$crate::worker::scope_state::ScopeState) {
                worker.end_scope_here(scope_state);
            }

            fn enter_as_worker(shared: &$crate::worker::seats::Shared<Self>, run: &mut dyn FnMut(&$crate::worker::Worker<Self>)) {
                shared.enter_here(run);
            }
        }
    };
}

pub(crate) use linked;
