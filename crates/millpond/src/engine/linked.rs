//! The parts of an engine that are compiled once, in this crate, and linked to programs.
//!
//! A function that is generic over its engine is compiled again in every program that calls it.
//! Functions that programs call, and that do not depend on a program's types, go through a method
//! of [`Linked`]. The implementation for an engine of this crate is not generic, so programs only
//! link to it.

use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

#[cfg(feature = "catalogue")]
use super::Catalogue;
#[cfg(feature = "stack")]
use super::StackEngine;
use super::{DefaultParts, Engine, Parts};
use crate::depend::{Mode, Scheme};
use crate::handle::Datum;
use crate::handle::reduction::Reduction;
use crate::memory::Memory;
use crate::pool::Pool;
use crate::runtime::Inner;
use crate::runtime::scope_state::ScopeState;
use crate::task::TaskRef;
use crate::worker::Worker;
use crate::worker::seats::Shared;
use crate::worker::wait::Waiter;

/// The functions of an engine that programs call. The methods have unusual names, because of the
/// compiler's errors: for a call of a missing method, it suggests each trait with a method of that
/// name.
pub trait Linked: Sized {
    fn make_room(worker: &Worker<Self>, scope_state: &ScopeState, bytes: usize)
    where
        Self: Engine;

    fn combine_reduction(worker: &Worker<Self>, scope_state: &ScopeState, reduction: NonNull<Reduction>, order: u64)
    where
        Self: Engine;

    fn try_exclude_all(worker: &Worker<Self>, task: TaskRef) -> bool
    where
        Self: Engine;

    fn release_exclusions(worker: &Worker<Self>, task: TaskRef)
    where
        Self: Engine;

    fn wait_below(worker: &Worker<Self>, waiter: &Waiter, scope_state: &ScopeState)
    where
        Self: Engine;

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
        Self: Engine;

    fn end_scope(worker: &Worker<Self>, scope_state: &ScopeState)
    where
        Self: Engine;

    fn enter_as_worker(shared: &Shared<Self>, run: &mut dyn FnMut(&Worker<Self>))
    where
        Self: Engine;

    /// # Safety
    ///
    /// Called once; `inner` is not used afterwards.
    unsafe fn drop_runtime(inner: &mut ManuallyDrop<Arc<Inner<Self>>>)
    where
        Self: Engine;
}

macro_rules! linked {
    ($engine:ty $(, $($parameter:ident: $bound:ident),*)?) => {
        impl $(<$($parameter: $bound),*>)? Linked for $engine {
            #[cold]
            fn make_room(worker: &Worker<Self>, scope_state: &ScopeState, bytes: usize) {
                worker.make_room_here(scope_state, bytes);
            }

            #[cold]
            fn combine_reduction(worker: &Worker<Self>, scope_state: &ScopeState, reduction: NonNull<Reduction>, order: u64) {
                worker.combine_here(scope_state, reduction, order);
            }

            fn try_exclude_all(worker: &Worker<Self>, task: TaskRef) -> bool {
                worker.try_exclude_all_here(task)
            }

            fn release_exclusions(worker: &Worker<Self>, task: TaskRef) {
                worker.release_exclusions_here(task);
            }

            fn wait_below(worker: &Worker<Self>, waiter: &Waiter, scope_state: &ScopeState) {
                worker.wait_here(waiter, scope_state);
            }

            unsafe fn await_datum(
                worker: &Worker<Self>,
                scope_state: &ScopeState,
                datum: &Datum,
                mode: Mode,
                place: &'static Location<'static>,
            ) {
                // SAFETY: as the caller promises.
                unsafe { worker.await_datum_here(scope_state, datum, mode, place) }
            }

            fn end_scope(worker: &Worker<Self>, scope_state: &ScopeState) {
                worker.end_scope_here(scope_state);
            }

            fn enter_as_worker(shared: &Shared<Self>, run: &mut dyn FnMut(&Worker<Self>)) {
                shared.enter_here(run);
            }

            unsafe fn drop_runtime(inner: &mut ManuallyDrop<Arc<Inner<Self>>>) {
                // In the child of a fork, the runtime is left as it is.
                if !inner.is_forked() {
                    inner.end();
                    // SAFETY: as the caller promises.
                    unsafe { ManuallyDrop::drop(inner) }
                }
            }
        }
    };
}

linked!(DefaultParts);
#[cfg(feature = "stack")]
linked!(StackEngine);
#[cfg(feature = "catalogue")]
linked!(Catalogue);
linked!(Parts<M, P, D>, M: Memory, P: Pool, D: Scheme);
