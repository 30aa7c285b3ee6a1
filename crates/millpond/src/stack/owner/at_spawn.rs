//! Portable tasks that run at their spawn (`inline_subtree`): the code that knows their types.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr::NonNull;
use std::slice;

use super::spawn::LARGE;
use crate::depend::Mode;
use crate::error::{Error, Kind, Label};
use crate::handle::access::{Accesses, Args, ArgsOf, In, Visitor};
use crate::handle::reduction::ReducerRef;
use crate::handle::{Datum, Version};
use crate::panics::{PanicPayload, catch};
use crate::runtime::join::must_count;
use crate::runtime::outcome::{NoValue, Outcome, value_of};
use crate::runtime::scope::Scope;
use crate::runtime::spawn::Options;
use crate::runtime::spawn::body::{Code, ParentCode, payload};
use crate::stack::StackEngine;
use crate::stack::layout::frames::Frames;
use crate::stack::owner::inline_subtree::{CallFrame, MAX_PARENT_ACCESSES};
use crate::task::{Form, NewTask, Uses, VTable, with_mode, without_mode};
use crate::worker::Worker;
use crate::worker::scope_state::ScopeState;

/// The most accesses of a called leaf.
const MAX_LEAF_ACCESSES: usize = 8;

/// Gathers the accesses `A` of a task.
struct Gather<'a, 's, B, A> {
    words: &'a mut [MaybeUninit<NonNull<Version>>],
    count: usize,
    /// No datum occurs twice.
    distinct: bool,
    _of: PhantomData<(&'s (), B, A)>,
}

/// Writes the accesses of a task to `words`, which has room for all of them. Returns `None` if a
/// datum occurs twice.
#[inline(always)]
fn gather<'s, B, A: Accesses<'s, B>>(accesses: &A, words: &mut [MaybeUninit<NonNull<Version>>]) -> Option<A::Shape> {
    let mut gather: Gather<'_, 's, B, A> = Gather { words, count: 0, distinct: true, _of: PhantomData };
    let shape = accesses.visit(&mut gather);
    if gather.distinct { Some(shape) } else { None }
}

impl<'s, B, A: Accesses<'s, B>> Visitor for Gather<'_, 's, B, A> {
    #[inline(always)]
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode) {
        // SAFETY: the access token borrows the handle.
        let version = unsafe { datum.as_ref() }.current();
        // SAFETY: this many words were written.
        let before = unsafe { slice::from_raw_parts(self.words.as_ptr().cast::<NonNull<Version>>(), self.count) };
        let of = |word: NonNull<Version>| if A::FORM.keeps_modes() { without_mode(word) } else { word };
        self.distinct = self.distinct && before.iter().all(|&earlier| of(earlier) != version);
        let word = if A::FORM.keeps_modes() { with_mode(version, mode) } else { version };
        self.words[self.count].write(word);
        self.count += 1;
    }

    fn reduce(&mut self, _datum: NonNull<Datum>, _reducer: ReducerRef<'_>) {
        unreachable!("its mode was not among them");
    }
}

/// The accesses `A` that were gathered at `words`.
///
/// # Safety
///
/// `gather` wrote this many there, and they stay in use.
#[inline(always)]
unsafe fn gathered<'a, 's, B, A: Accesses<'s, B>>(words: NonNull<NonNull<Version>>, count: usize) -> Uses<'a> {
    // SAFETY: as the caller promises.
    let words = unsafe { slice::from_raw_parts(words.as_ptr(), count) };
    // SAFETY: as above.
    unsafe { Uses::new(words, A::FORM.modes()) }
}

/// Writes the accesses of a parent to the virtual frame of its call frame. Returns `None` if the
/// parent cannot be called: a datum occurs twice, or an input was not produced.
///
/// # Safety
///
/// The virtual frame is that of a parent with this many accesses.
#[inline(always)]
unsafe fn gather_in<'a, 's, B, A: Accesses<'s, B>>(
    call_frame: CallFrame,
    accesses: &A,
    count: usize,
) -> Option<(A::Shape, Uses<'a>)> {
    let at = call_frame.virtual_frame().compact_versions();
    // SAFETY: a virtual frame has room for this many versions.
    let shape = gather(accesses, unsafe { slice::from_raw_parts_mut(at.as_ptr().cast(), count) })?;
    // SAFETY: gathered there, for the parent.
    let uses = unsafe { gathered::<B, A>(at, count) };
    if uses.may_run() { Some((shape, uses)) } else { None }
}

/// The number of accesses of a task that may be called. `None` if it returns a value, if it has
/// more than `MOST` accesses, or others than the usual ones, or if a frame cannot hold it.
#[inline(always)]
fn accesses_of_call<'s, B, A: Accesses<'s, B>, F, O, const MOST: usize>(accesses: &A) -> Option<usize> {
    let is_out = const { must_count::<O>() || payload::<A::Shape, F, O>().size() > LARGE };
    match A::FORM {
        _ if is_out => None,
        Form::Fixed(modes) => Some(modes.count).filter(|&count| count <= MOST),
        Form::Counted => Some(accesses.count()).filter(|&count| count <= MOST),
        Form::Other => None,
    }
}

/// Why a leaf has failed.
enum Failed {
    NoValue(NoValue),
    Unwritten(usize),
}

impl<'s, 'env, B> Scope<'s, 'env, B, StackEngine> {
    /// Runs a leaf in an inline subtree, if it needs nothing else. Otherwise returns its accesses
    /// and its body.
    #[inline(always)]
    pub(crate) fn call_leaf<A, F, O, R>(
        &self,
        frames: &Frames,
        options: &Options,
        accesses: A,
        body: F,
    ) -> Result<Result<O, Error>, (A, F)>
    where
        A: Accesses<'s, B>,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R,
    {
        let (worker, scope_state) = (self.worker(), self.scope_state());
        let count = accesses_of_call::<B, A, F, O, MAX_LEAF_ACCESSES>(&accesses);
        let Some(count) = count else { return Err((accesses, body)) };
        if options.bytes != 0 || scope_state.is_cancelled() || frames.inline_subtrees.is_too_long() {
            return Err((accesses, body));
        }
        let mut room = [const { MaybeUninit::uninit() }; MAX_LEAF_ACCESSES];
        let Some(shape) = gather(&accesses, &mut room) else { return Err((accesses, body)) };
        let words: NonNull<NonNull<Version>> = NonNull::from(&room).cast();
        // SAFETY: gathered there, for the leaf.
        let uses = unsafe { gathered::<B, A>(words, count) };
        if !uses.may_run() {
            return Err((accesses, body));
        }
        scope_state.count_run_inline();
        worker.count_body();
        // It takes two words, not all of `uses`. So the compiler still knows the modes after it.
        let ended = catch(move || {
            // SAFETY: as above.
            let mut args = Args::compact(unsafe { gathered::<B, A>(words, count) });
            // SAFETY: the versions were gathered from `A`, and everything before the leaf has
            // ended.
            body(unsafe { A::leaf(&shape, &mut args) })
        });
        let failed = match value_of::<O, R>(ended) {
            Ok(value) => match uses.first_unwritten() {
                None => return Ok(Ok(value)),
                Some(arg) => Failed::Unwritten(arg),
            },
            Err(why) => Failed::NoValue(why),
        };
        let order = scope_state.last_order();
        let new = self.new_task(Code::<'s, B, A, F, O, R>::LEAF_IN_FRAME, options.place, order, uses.count());
        Ok(Err(worker.fail_leaf(frames, new, uses, options.label, failed)))
    }

    #[inline(always)]
    fn new_task(
        &self,
        vtable: &'static VTable,
        place: &'static Location<'static>,
        order: u64,
        accesses: usize,
    ) -> NewTask {
        let scope_state = self.scope_state();
        NewTask { vtable, scope: scope_state.into(), order, place, priority: 0, extras: None, accesses }
    }

    /// Like `call_leaf`, for a parent and all that it spawns.
    #[inline(always)]
    pub(crate) fn call_parent<A, F, O, R>(
        &self,
        frames: &Frames,
        options: &Options,
        accesses: A,
        body: F,
    ) -> Result<Result<O, Error>, (A, F)>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Scope<'s, 'env, In<'t>, StackEngine>, <A as ArgsOf<'t>>::Held) -> R + Send + 's,
    {
        let (worker, scope_state) = (self.worker(), self.scope_state());
        let count = accesses_of_call::<B, A, F, O, MAX_PARENT_ACCESSES>(&accesses);
        let Some(count) = count else { return Err((accesses, body)) };
        if options.bytes != 0 || scope_state.is_cancelled() {
            return Err((accesses, body));
        }
        let Some(call_frame) = frames.inline_subtrees.next_call_frame() else { return Err((accesses, body)) };
        let order = scope_state.next_order();
        let vtable = ParentCode::<'s, 'env, StackEngine, B, A, F, O, R>::NEST_IN_FRAME;
        let new = self.new_task(vtable, options.place, order, count);
        // SAFETY: the call frame is the next body's: this body begins there, or none does.
        unsafe { call_frame.push_virtual_frame(new) };
        // SAFETY: the virtual frame is that of a parent with these accesses.
        let Some((shape, uses)) = (unsafe { gather_in(call_frame, &accesses, count) }) else {
            return Err((accesses, body));
        };
        if let Some(label) = options.label {
            // SAFETY: pushed above.
            unsafe { call_frame.name_virtual_frame(label) };
        }
        scope_state.count_run_inline();
        worker.count_body();
        // SAFETY: the call frame is this body's.
        unsafe { call_frame.make(frames, scope_state, worker.seat(), uses) };
        frames.begin_in_call_frame(call_frame);
        // SAFETY: made above, for the versions that were gathered from `A`.
        let ended = unsafe { self.call_in::<A, F, R>(call_frame, &shape, body) };
        // SAFETY: made above.
        let inner = unsafe { call_frame.scope_state() };
        match value_of::<O, R>(ended) {
            Ok(value) if frames.inline_subtrees.goes_on() && inner.is_usual() && uses.first_unwritten().is_none() => {
                if options.label.is_some() {
                    call_frame.forget_name();
                }
                frames.end_in_call_frame(call_frame);
                Ok(Ok(value))
            }
            Ok(value) => Ok(worker.end_called(frames, scope_state, call_frame, order, None).map(|()| value)),
            Err(why) => Ok(Err(worker.fail_parent(frames, scope_state, call_frame, order, why))),
        }
    }

    /// Calls the body of a parent; a panic is caught.
    ///
    /// # Safety
    ///
    /// The call frame is the body's. It was made for the versions that were gathered from accesses
    /// of type `A`, of this shape.
    #[inline(always)]
    unsafe fn call_in<A, F, R>(&self, call_frame: CallFrame, shape: &A::Shape, body: F) -> Result<R, PanicPayload>
    where
        A: Accesses<'s, B>,
        F: for<'t> FnOnce(&Scope<'s, 'env, In<'t>, StackEngine>, <A as ArgsOf<'t>>::Held) -> R,
    {
        catch(|| {
            // SAFETY: the views were made for these versions. They stay until the body and all that
            // it spawns have ended.
            let mut args = unsafe { Args::views(call_frame.views()) };
            // SAFETY: the versions were gathered from `A`, and each has a view.
            let handles = unsafe { A::held(shape, &mut args) };
            // SAFETY: the call frame was made.
            let inner = unsafe { call_frame.scope_state() };
            // SAFETY: the worker and the scope outlive the body and its descendants, and the body
            // stays on this thread.
            let scope = unsafe { Scope::new(self.worker(), inner) };
            body(&scope, handles)
        })
    }
}

impl Worker<StackEngine> {
    /// A called leaf has failed: it is pushed as a compact task, and ends like one that failed
    /// there.
    #[cold]
    #[inline(never)]
    fn fail_leaf(&self, frames: &Frames, new: NewTask, uses: Uses<'_>, label: Option<Label>, failed: Failed) -> Error {
        frames.promote();
        let (leaf, _size) = frames.push_called(new, uses, label);
        let error = match failed {
            Failed::NoValue(why) => why.error(leaf.label()),
            Failed::Unwritten(arg) => Error::new(leaf.label(), Kind::Unwritten { arg }),
        };
        self.end_expanded(leaf, Some(error.clone()));
        error
    }

    /// A parent's body, called in scope `around`, has finished. It has a frame, or needs one
    /// because there is more to check. Runs the rest of the frame; returns the parent's failure.
    #[cold]
    #[inline(never)]
    fn end_called(
        &self,
        frames: &Frames,
        around: &ScopeState,
        call_frame: CallFrame,
        order: u64,
        failed: Option<Error>,
    ) -> Result<(), Error> {
        frames.promote();
        let frame = frames.frame();
        // SAFETY: it is the frame's scope, which is open.
        let scope_state = unsafe { frame.scope_state.as_ref() };
        if let Some(error) = failed {
            scope_state.set_own_failure(error);
        }
        self.combine_open(scope_state);
        frame.live.set(false);
        // SAFETY: another body called this one, and its frame stays.
        let outer = unsafe { &*frame.before };
        self.finish(frames, outer, around);
        frames.leave_call_frame(call_frame);
        around.take_failure(order).map_or(Ok(()), Err)
    }

    /// Like `end_called`, for a parent whose body panicked or returned an error.
    #[cold]
    #[inline(never)]
    fn fail_parent(
        &self,
        frames: &Frames,
        around: &ScopeState,
        call_frame: CallFrame,
        order: u64,
        why: NoValue,
    ) -> Error {
        // SAFETY: it is the scope of a body that was called.
        let parent = unsafe { call_frame.scope_state() }.task().expect("a parent's");
        let error = why.error(parent.label());
        self.end_called(frames, around, call_frame, order, Some(error.clone())).err().unwrap_or(error)
    }
}
