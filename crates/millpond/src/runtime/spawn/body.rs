//! Bodies: the code that knows a task's types.

use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use crate::error::{Error, Kind};
use crate::handle::access::{Accesses, Args, ArgsOf, In};
use crate::panics::{PanicPayload, catch};
use crate::runtime::engine::Engine;
use crate::runtime::join::must_count;
use crate::runtime::outcome::{Outcome, value_of};
use crate::runtime::scope::Scope;
use crate::task::{CompactKind, Form, Record, Role, TaskRef, Uses, VTable};
use crate::worker::Worker;
use crate::worker::complete::report_drop;
use crate::worker::engine::store::TaskStore;
use crate::worker::scope_state::ScopeState;

/// The payload of a block before the body has run.
pub(crate) struct Body<S, F> {
    pub(crate) shape: S,
    pub(crate) f: F,
}

/// The compact form of a task for its table, if it has one.
pub(crate) const fn compact<S, F, O>(
    form: Form,
    run: unsafe fn(TaskRef, *const ()) -> Result<(), Option<Error>>,
) -> Option<CompactKind> {
    if must_count::<O>() { None } else { CompactKind::new(form, payload::<S, F, O>(), run) }
}

/// The accesses of a compact task.
///
/// # Safety
///
/// The task's type has this form.
#[inline(always)]
pub(crate) unsafe fn compact_uses<'a>(task: TaskRef, form: Form) -> Uses<'a> {
    // SAFETY: as the caller promises.
    unsafe { task.compact_uses_of(form.modes()) }
}

/// # Safety
///
/// The task is compact, has this many accesses, and holds its body, which is moved out.
#[inline(always)]
pub(crate) unsafe fn take_compact_body<S, F, O>(task: TaskRef, accesses: usize) -> Body<S, F> {
    let align = const { payload::<S, F, O>().align() };
    // SAFETY: as the caller promises.
    unsafe { task.compact_payload(accesses, align).cast::<Body<S, F>>().read() }
}

/// The code of a leaf or a parent, for one set of types.
pub(crate) struct Code<'s, B, A, F, O, R>(PhantomData<(&'s (), B, A, F, O, R)>);

/// The layout of the payload: for the body, and for the result of a joined task.
pub(crate) const fn payload<S, F, O>() -> Layout {
    let body = Layout::new::<Body<S, F>>();
    let result = Layout::new::<Result<O, Error>>();
    if !must_count::<O>() {
        return body;
    }
    let size = if body.size() > result.size() { body.size() } else { result.size() };
    let align = if body.align() > result.align() { body.align() } else { result.align() };
    match Layout::from_size_align(size, align) {
        Ok(layout) => layout,
        Err(_) => panic!("closure and result are larger than the address space"),
    }
}

/// Room for a body and then its result, at one address.
#[repr(C)]
union BodyOrResult<S, F, O> {
    _body: ManuallyDrop<MaybeUninit<Body<S, F>>>,
    _result: ManuallyDrop<MaybeUninit<Result<O, Error>>>,
}

/// Where a task keeps body and result.
fn room<S, F, O>(task: TaskRef) -> NonNull<()> {
    if !must_count::<O>() {
        task.payload::<Body<S, F>>().cast()
    } else {
        task.payload::<BodyOrResult<S, F, O>>().cast()
    }
}

/// Writes a body into the room of a prepared task.
///
/// # Safety
///
/// The task was prepared with the payload of these types and its table.
#[inline]
pub(crate) unsafe fn write_body<S, F>(room: NonNull<()>, body: Body<S, F>) {
    let room: NonNull<Body<S, F>> = room.cast();
    debug_assert_eq!(room.addr().get() % align_of::<Body<S, F>>(), 0);
    // SAFETY: the block has room for it.
    unsafe { room.write(body) }
}

/// # Safety
///
/// The task holds its body, which is moved out.
unsafe fn take_body<S, F, O>(task: TaskRef) -> Body<S, F> {
    // SAFETY: as the caller promises.
    unsafe { room::<S, F, O>(task).cast::<Body<S, F>>().read() }
}

/// # Safety
///
/// As `VTable::discard`.
unsafe fn discard<S, F, O>(task: TaskRef) {
    // SAFETY: the body exists and will not be run.
    let body = unsafe { take_body::<S, F, O>(task) };
    // Dropping the closure's captures may panic; the task has failed already.
    let _ = catch(|| drop(body));
}

/// Where the result of a joined task is.
pub(crate) fn result_at<S, F, O>(task: TaskRef) -> NonNull<Result<O, Error>> {
    let room: NonNull<Result<O, Error>> = room::<S, F, O>(task).cast();
    debug_assert_eq!(room.addr().get() % align_of::<Result<O, Error>>(), 0);
    room
}

/// The scope of a task that is not counted as complete.
fn scope_state<'a>(task: TaskRef) -> &'a ScopeState {
    // SAFETY: the scope outlives its tasks.
    unsafe { task.header().scope_state().as_ref() }
}

/// # Safety
///
/// As for `VTable::fail`.
unsafe fn fail<S, F, O>(task: TaskRef, error: Error, ran: bool) {
    if const { !must_count::<O>() } {
        return scope_state(task).keep_failure(task.header().order(), error);
    }
    if ran {
        // SAFETY: the body left a result.
        unsafe { drop_result::<S, F, O>(task) };
    }
    // SAFETY: the room is empty now.
    unsafe { result_at::<S, F, O>(task).write(Err(error)) }
}

/// # Safety
///
/// As `VTable::drop_result`.
unsafe fn drop_result<S, F, O>(task: TaskRef) {
    /// # Safety
    ///
    /// There is a result, and no other code will read it.
    unsafe fn drop_at<R>(task: TaskRef, at: NonNull<R>) {
        // SAFETY: as the caller promises.
        if let Err(caught) = catch(|| unsafe { at.drop_in_place() }) {
            report_drop(task, &caught);
        }
    }
    if const { !must_count::<O>() } {
        return drop(scope_state(task).take_failure(task.header().order()));
    }
    // SAFETY: the task is complete, so its result exists, and no other code will read it.
    unsafe { drop_at(task, result_at::<S, F, O>(task)) }
}

/// Keeps a body's value for the join, if one may read it.
fn keep<S, F, O>(task: TaskRef, value: O) {
    if const { must_count::<O>() } {
        // SAFETY: the body was moved out, and such a task's room is large enough for its result.
        unsafe { result_at::<S, F, O>(task).write(Ok(value)) }
    } else {
        // A value without size and without drop; the join creates it again.
        mem::forget(value);
    }
}

impl<'s, B, A, F, O, R> Code<'s, B, A, F, O, R>
where
    A: Accesses<'s, B>,
    R: Outcome<O>,
    F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R,
{
    /// The table of a leaf.
    pub(crate) const LEAF: &'static VTable = &Self::table(None);

    /// The table of a leaf that a stack holds.
    pub(crate) const LEAF_IN_FRAME: &'static VTable = &Self::table(Self::COMPACT);

    pub(crate) const fn table(compact: Option<CompactKind>) -> VTable {
        VTable {
            role: Role::Leaf,
            compact,
            run: Self::run_leaf,
            discard: discard::<A::Shape, F, O>,
            fail: fail::<A::Shape, F, O>,
            drop_result: drop_result::<A::Shape, F, O>,
        }
    }

    /// The compact form of a leaf that returns nothing. For most types the compiler knows the
    /// accesses.
    const COMPACT: Option<CompactKind> = compact::<A::Shape, F, O>(A::FORM, Self::run_compact);

    /// # Safety
    ///
    /// As for `CompactKind::run`.
    unsafe fn run_compact(task: TaskRef, _worker: *const ()) -> Result<(), Option<Error>> {
        // SAFETY: a compact task of this type.
        let uses = unsafe { compact_uses(task, A::FORM) };
        if !uses.may_run() {
            return Err(None);
        }
        // SAFETY: it holds its body, which is moved out.
        let Body { shape, f } = unsafe { take_compact_body::<A::Shape, F, O>(task, uses.count()) };
        let mut args = Args::compact(uses);
        let call = || {
            // SAFETY: the versions were written by `A::visit`, and the task runs.
            let args = unsafe { A::leaf(&shape, &mut args) };
            f(args)
        };
        let value: O = value_of(catch(call)).map_err(|why| Some(why.error(task.label())))?;
        mem::forget(value);
        match uses.first_unwritten() {
            None => Ok(()),
            Some(arg) => Err(Some(Error::new(task.label(), Kind::Unwritten { arg }))),
        }
    }

    /// # Safety
    ///
    /// As for `VTable::run`.
    unsafe fn run_leaf(task: TaskRef, _worker: *const ()) -> Result<(), Error> {
        // SAFETY: the task holds its body.
        let Body { shape, f } = unsafe { take_body::<A::Shape, F, O>(task) };
        // SAFETY: the task was prepared with `A`, and runs.
        let returned = unsafe { call_leaf::<B, A, F, R>(task.records(), &shape, f) };
        match value_of::<O, R>(returned) {
            Ok(value) => keep::<A::Shape, F, O>(task, value),
            Err(why) => return Err(why.error(task.label())),
        }
        Ok(())
    }
}

/// Calls the body of a leaf; a panic is caught.
///
/// # Safety
///
/// The records were made for `A`, and the accesses are granted, or would be if they were issued.
#[inline]
pub(crate) unsafe fn call_leaf<'s, B, A, F, R>(records: &[Record], shape: &A::Shape, f: F) -> Result<R, PanicPayload>
where
    A: Accesses<'s, B>,
    F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R,
{
    catch(|| {
        let mut args = Args::new(records, None);
        // SAFETY: as the caller promises.
        f(unsafe { A::leaf(shape, &mut args) })
    })
}

/// The code of a parent. It is separate from the leaf's, because the closure has another type.
pub(crate) struct ParentCode<'s, 'env, E, B, A, F, O, R>(PhantomData<(&'s (), &'env (), E, B, A, F, O, R)>);

impl<'s, 'env: 's, E, B, A, F, O, R> ParentCode<'s, 'env, E, B, A, F, O, R>
where
    E: Engine,
    A: Accesses<'s, B>,
    R: Outcome<O>,
    F: for<'t> FnOnce(&Scope<'s, 'env, In<'t>, E>, <A as ArgsOf<'t>>::Held) -> R,
{
    /// The table of a parent.
    pub(crate) const NEST: &'static VTable = &Self::table(None);

    pub(crate) const fn table(compact: Option<CompactKind>) -> VTable {
        VTable {
            role: Role::Nest,
            compact,
            run: Self::run,
            discard: discard::<A::Shape, F, O>,
            fail: fail::<A::Shape, F, O>,
            drop_result: drop_result::<A::Shape, F, O>,
        }
    }

    /// # Safety
    ///
    /// As for `VTable::run`, on a worker of engine `E`.
    unsafe fn run(task: TaskRef, worker: *const ()) -> Result<(), Error> {
        // SAFETY: the runtime passes its own worker.
        let worker = unsafe { &*worker.cast::<Worker<E>>() };
        let frame = E::Tasks::open_frame(worker, task);
        // SAFETY: the task holds its body.
        let Body { shape, f } = unsafe { take_body::<A::Shape, F, O>(task) };
        let call = || {
            let mut args = Args::new(task.records(), Some(frame));
            // SAFETY: the task was prepared with `A`, runs, and has a frame.
            let handles = unsafe { A::held(&shape, &mut args) };
            // SAFETY: the worker and the frame outlive the body and its descendants. The body runs
            // here, on the thread that holds the worker's seat, and is only resumed there.
            let scope = unsafe { Scope::new(worker, frame.scope_state()) };
            f(&scope, handles)
        };
        let value: O = value_of(catch(call)).map_err(|why| why.error(task.label()))?;
        keep::<A::Shape, F, O>(task, value);
        Ok(())
    }
}
