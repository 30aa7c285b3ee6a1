//! The fast path into a frame, for compact tasks. Such a task returns nothing, declares no bytes,
//! and accesses data of its scope in the usual modes.

use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use super::frames::Frames;
use crate::depend::Mode;
use crate::depend::tracker::Of;
use crate::error::Label;
use crate::handle::access::{Accesses, Visitor};
use crate::handle::reduction::ReducerRef;
use crate::handle::{Datum, Version};
use crate::memory::LINE;
use crate::runtime::join::must_count;
use crate::runtime::spawn::Options;
use crate::runtime::spawn::body::{Body, payload, write_body};
use crate::stack::in_order::InOrder;
use crate::stack::layout::out_of_line;
use crate::task::{self, Form, NewTask, Role, TaskRef, Uses, VTable};
use crate::worker::scope_state::ScopeState;

#[cfg(all(test, not(loom)))]
mod tests;

/// If a task has at most this many accesses, each is compared with all before it. This saves a
/// store to the datum.
const MAX_COMPARED_ACCESSES: usize = 6;

/// Writes the versions of a task with accesses `A` into its place, and checks whether the task may
/// go there.
struct Push<'a, 's, B, A> {
    frames: &'a Frames,
    scope_state: &'a ScopeState,
    epoch: u64,
    order: u64,
    few: bool,
    /// The first version, and the number of versions so far.
    versions: NonNull<NonNull<Version>>,
    count: usize,
    usual: bool,
    _of: PhantomData<(&'s (), B, A)>,
}

impl<'s, B, A: Accesses<'s, B>> Visitor for Push<'_, 's, B, A> {
    #[inline(always)]
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        // `note` is a separate function, and does not take `self`, which would have to be in memory
        // for that.
        self.usual = self.usual && (datum.is_seen_in(self.epoch) || note(self.scope_state, self.frames, datum, mode));
        if self.usual {
            let version = datum.current();
            self.usual = self.is_first(datum, version);
            // SAFETY: there is room for one version per access.
            let at = unsafe { self.versions.add(self.count) };
            let word = if A::FORM.keeps_modes() { task::with_mode(version, mode) } else { version };
            // SAFETY: as above, and no other code uses it.
            unsafe { at.write(word) };
        }
        self.count += 1;
    }

    fn reduce(&mut self, _datum: NonNull<Datum>, _reducer: ReducerRef<'_>) {
        self.usual = false;
    }
}

impl<B, A> Push<'_, '_, B, A> {
    /// Whether the task has no other access to the datum.
    #[inline(always)]
    fn is_first(&self, datum: &Datum, version: NonNull<Version>) -> bool {
        if !self.few {
            return datum.note_compact(self.order);
        }
        // SAFETY: `count` versions were written.
        let before = unsafe { std::slice::from_raw_parts(self.versions.as_ptr(), self.count) };
        before.iter().all(|&earlier| earlier != version)
    }
}

/// Records a datum that was not used in this epoch. Returns false if the scope cannot have it.
#[inline(never)]
fn note(scope_state: &ScopeState, frames: &Frames, datum: &Datum, mode: Mode) -> bool {
    let is_claimed =
        datum.is_claimed_by(scope_state.claim()) || datum.claim(scope_state.claim(), Of::<InOrder>::default());
    if is_claimed {
        frames.note(datum.version().meta().of::<InOrder>());
        datum.set_seen(scope_state.epoch(), mode);
    }
    is_claimed
}

/// Bytes of a compact task in a frame, in whole lines.
#[inline(always)]
fn size_of_compact(role: Role, accesses: usize, payload: Layout, has_label: bool) -> usize {
    task::compact_size(accesses, payload, has_label).next_multiple_of(LINE).max(out_of_line::size(role))
}

impl Frames {
    /// Makes a compact task at the top of the youngest frame, without its payload. The task was
    /// called (`at_spawn`). Does not publish it. Returns the task and its size.
    #[cold]
    pub(in crate::stack) fn push_called(&self, new: NewTask, uses: Uses<'_>, label: Option<Label>) -> (TaskRef, usize) {
        let (payload, words) = (new.vtable.compact.as_ref().expect("it has a compact form").payload, uses.words().0);
        let size = size_of_compact(new.vtable.role, words.len(), payload, label.is_some());
        if !self.has_room(size) {
            self.make_room(size);
        }
        // SAFETY: there is room, above all that is in use.
        let task = unsafe { TaskRef::place_at(self.top_at(), size, true, new) };
        let to = task.compact_versions().as_ptr();
        // SAFETY: there is room for all versions, and the source is elsewhere.
        unsafe { ptr::copy_nonoverlapping(words.as_ptr(), to, words.len()) };
        if let Some(label) = label {
            // SAFETY: there is room for it, and a called task is small.
            unsafe { task.write_compact_label(words.len(), payload, label) };
        }
        (task, size)
    }
}

/// Pushes a task and returns it, if the fast path can take it. Otherwise returns the accesses and
/// the body.
#[inline(always)]
pub(in crate::stack) fn plain<'s, B, A, F, O>(
    scope_state: &ScopeState,
    frames: &Frames,
    vtable: &'static VTable,
    options: &Options,
    accesses: A,
    body: F,
) -> Result<TaskRef, (A, F)>
where
    A: Accesses<'s, B>,
{
    let count = match const { if must_count::<O>() { Form::Other } else { A::FORM } } {
        Form::Fixed(modes) => modes.count,
        Form::Counted => accesses.count(),
        Form::Other => return Err((accesses, body)),
    };
    let payload = payload::<A::Shape, F, O>();
    let size = size_of_compact(vtable.role, count, payload, options.label.is_some());
    if payload.align() > LINE || options.bytes != 0 || !scope_state.is_plain() || !frames.has_room(size) {
        return Err((accesses, body));
    }
    if options.label.is_some() && !task::may_have_label(size) {
        return Err((accesses, body));
    }
    let at = frames.top_at();
    let order = scope_state.next_order();
    let new = NewTask {
        vtable,
        scope: scope_state.into(),
        order,
        place: options.place,
        priority: 0,
        extras: None,
        accesses: count,
    };
    // SAFETY: there is room, above all that is in use.
    let task = unsafe { TaskRef::place_at(at, size, options.portable, new) };
    let versions = task.compact_versions();
    let few = count <= MAX_COMPARED_ACCESSES && !A::FORM.keeps_modes();
    let epoch = scope_state.epoch();
    let mut push: Push<'_, 's, B, A> =
        Push { frames, scope_state, epoch, order, few, versions, count: 0, usual: true, _of: PhantomData };
    let shape = accesses.visit(&mut push);
    if !push.usual {
        return Err((accesses, body));
    }
    debug_assert_eq!(push.count, count, "the accesses do not change");
    scope_state.count_run_inline();
    let room = task.compact_payload(count, payload.align());
    // SAFETY: there is room for it.
    unsafe { write_body::<A::Shape, F>(room, Body { shape, f: body }) };
    if let Some(label) = options.label {
        // SAFETY: there is room for it, which was checked to be near enough.
        unsafe { task.write_compact_label(count, payload, label) };
    }
    frames.publish(at.as_ptr().wrapping_add(size));
    Ok(task)
}
