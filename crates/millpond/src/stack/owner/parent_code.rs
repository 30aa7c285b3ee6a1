//! The code of a compact parent, for a stack that holds it.

use std::mem;

use super::super::engine::StackEngine;
use crate::error::Error;
use crate::handle::access::{Accesses, Args, ArgsOf, In};
use crate::panics::catch;
use crate::runtime::outcome::{Outcome, value_of};
use crate::runtime::scope::Scope;
use crate::runtime::spawn::body::{Body, ParentCode, compact, compact_uses, take_compact_body};
use crate::task::{TaskRef, VTable};
use crate::worker::Worker;

impl<'s, 'env: 's, B, A, F, O, R> ParentCode<'s, 'env, StackEngine, B, A, F, O, R>
where
    A: Accesses<'s, B>,
    R: Outcome<O>,
    F: for<'t> FnOnce(&Scope<'s, 'env, In<'t>, StackEngine>, <A as ArgsOf<'t>>::Held) -> R,
{
    /// The table of a parent that a stack holds.
    pub(crate) const NEST_IN_FRAME: &'static VTable =
        &Self::table(compact::<A::Shape, F, O>(A::FORM, Self::run_compact));

    /// # Safety
    ///
    /// As for `CompactKind::run`, for the stack's engine.
    unsafe fn run_compact(task: TaskRef, worker: *const ()) -> Result<(), Option<Error>> {
        // SAFETY: the runtime passes its own worker.
        let worker = unsafe { &*worker.cast::<Worker<StackEngine>>() };
        // SAFETY: a compact task of this type.
        let uses = unsafe { compact_uses(task, A::FORM) };
        if !uses.may_run() {
            return Err(None);
        }
        // SAFETY: it holds its body, which is moved out.
        let Body { shape, f } = unsafe { take_compact_body::<A::Shape, F, O>(task, uses.count()) };
        // SAFETY: the task comes next in its stack, and runs.
        let opened = unsafe { worker.open_parent(task, uses) };
        worker.count_body();
        let call = || {
            // SAFETY: made for these versions.
            let mut args = unsafe { Args::views(opened.views) };
            // SAFETY: the versions were written by `A::visit`, the task runs, and has a view of
            // each.
            let handles = unsafe { A::held(&shape, &mut args) };
            // SAFETY: the worker and the frame outlive the body and its descendants. The body runs
            // here, on the thread that holds the worker's seat, and is only resumed there.
            let scope = unsafe { Scope::new(worker, opened.scope_state) };
            f(&scope, handles)
        };
        let value: O = value_of(catch(call)).map_err(|why| Some(why.error(task.label())))?;
        mem::forget(value);
        Ok(())
    }
}
