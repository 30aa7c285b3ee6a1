//! Leaves that run at their spawn and are never tasks: no block, no issue to the scheme, no queue.
//!
//! If the bodies of a leaf's kind are short and all its accesses would be granted now, it runs
//! before `spawn` returns. Nothing can be issued in its scope meanwhile, so no other thread needs
//! to know of it. It needs only its accesses, as records on the spawner's stack, during its body.
//!
//! A datum is *quiet* if its current version is idle and produced, and no reduction is open. Since
//! the issuer saw that, only inline leaves have used the version ([`Datum::is_free`]). For a quiet
//! datum, the issuer touches only the cache lines of the datum and of the value.
//!
//! Every other leaf takes the long way, through a block (`runtime::spawn::issue`), and may still
//! run at its spawn. Its reason is one of these:
//!
//! - A recording, declared bytes, or misuse.
//! - Commutative and concurrent accesses.
//! - Reductions under `deterministic`, and the first member of one whose parts are not small
//!   (`handle::reduction::inline`).
//! - A version that another task uses, or that no task has produced.
//!
//! A leaf that accumulates adds to the value itself. One that reduces has its parts on this stack,
//! and combines them at its end. If an earlier task began a reduction, the leaf uses a copy or a
//! part of that, like another member.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use super::body::call_leaf;
use crate::depend::Mode;
use crate::depend::tracker::Tracker;
use crate::error::{Error, Kind, Label};
use crate::handle::Datum;
use crate::handle::access::{Accesses, ArgsOf, Visitor};
use crate::handle::reduction::{EndParts, MakeParts, ReducerRef, Reduction, Rooms};
use crate::handle::version::State;
use crate::panics::{PanicPayload, catch};
use crate::runtime::engine::Engine;
use crate::runtime::outcome::{NoValue, Outcome, value_of};
use crate::runtime::scope::Scope;
use crate::runtime::spawn::Options;
use crate::task::{Record, VTable};
use crate::worker::Worker;
use crate::worker::grain::{Ran, RunSite};
use crate::worker::scope_state::ScopeState;

/// The most accesses of such a leaf: the most that a tuple can have.
const MAX_ACCESSES: usize = 20;
/// With at most this many accesses, each is compared with all earlier ones. This saves a store to
/// the datum.
const MAX_COMPARED_ACCESSES: usize = 4;

/// One spawn in this many takes the long way, if leaves run while tasks wait in the pool.
const LONG_WAY: u64 = 64;

/// The records of a leaf that runs at once. The room is separate from the count, so the count can
/// stay in registers.
struct Records<'a> {
    room: &'a mut [MaybeUninit<Record>; MAX_ACCESSES],
    count: usize,
}

/// Checks whether every access would be granted, and whether its value exists.
struct Look<'a, E: Engine> {
    claim: u64,
    /// The leaf's place in reference order.
    order: u64,
    free: bool,
    few: bool,
    /// Some access is a `write`.
    writes: bool,
    /// Some access needs a part.
    has_parts: bool,
    records: Records<'a>,
    worker: &'a Worker<E>,
    scope_state: &'a ScopeState,
    tracker: E::Tracker,
}

impl<E: Engine> Look<'_, E> {
    /// Whether an access would be granted now, without further action.
    #[inline(always)]
    fn is_free(&self, datum: &Datum, mode: Mode) -> bool {
        !matches!(mode, Mode::Commutative | Mode::Concurrent)
            && self.tracker.orders(mode)
            && (datum.is_quiet_for(self.claim) || becomes_free(datum, self.claim, self.order, self.tracker, mode))
            && self.is_first(datum)
    }

    /// The open reduction of a datum that this scope owns.
    #[inline(always)]
    fn open(&self, datum: &Datum) -> Option<NonNull<Reduction>> {
        if datum.is_claimed_by(self.claim) { datum.reduction() } else { None }
    }

    /// Whether the leaf may run as a member of an open reduction. It uses shared copies only, so it
    /// needs no number among the members.
    #[inline(never)]
    fn may_join(&self, datum: &Datum, open: NonNull<Reduction>, reducer: ReducerRef<'_>) -> bool {
        // SAFETY: an open reduction lives until its combine task. This scope issues that task, and
        // issues nothing until the leaf has ended.
        let reduction = unsafe { open.as_ref() };
        let (version, is_target) = (datum.version(), |record: &Record| record.target() == open.addr().get());
        !self.is_ordered()
            && !looks_for_others(self.order)
            && datum.is_in_generation(reduction.group())
            && reduction.is(reducer, |equal| self.scope_state.compare(equal))
            && self.tracker.is_ready(version.meta(), Mode::Reduce)
            && version.serves(reduction.group())
            && self.is_first(datum)
            && !self.records.get().iter().any(is_target)
    }

    /// Whether parts must be combined in a fixed order, and failures be those of a combination.
    /// Then only tasks reduce.
    #[inline(always)]
    fn is_ordered(&self) -> bool {
        self.worker.shared().config.deterministic
    }

    /// Adds a record. Without an early return before it, so the compiler knows its place in `room`.
    #[inline(always)]
    fn write(&mut self, target: NonNull<()>, declared: Mode, as_inout: bool) {
        let record = Record::new(target, 0, 0, declared, as_inout);
        self.records.room[self.records.count].write(record);
        self.records.count += 1;
    }

    /// Whether the leaf has no other access to the datum.
    #[inline(always)]
    fn is_first(&self, datum: &Datum) -> bool {
        if self.few {
            let target = datum.current().addr().get();
            for record in self.records.get() {
                if record.target() == target {
                    return false;
                }
            }
            true
        } else {
            datum.note_use(self.order, self.records.count).is_none()
        }
    }
}

/// Whether the leaf at `order` of scope `claim` may use now a datum that is not known to be quiet
/// (see the [module](self)). The tracker is passed by value, so that the caller's state stays in
/// registers.
#[inline(never)]
fn becomes_free<T: Tracker>(datum: &Datum, claim: u64, order: u64, tracker: T, mode: Mode) -> bool {
    let is_free = if datum.is_claimed_by(claim) {
        datum.is_free(tracker, mode)
    } else {
        datum.claim(claim, tracker) && datum.is_free_if_idle(mode)
    };
    is_free && (datum.is_quiet_for(claim) || !looks_for_others(order))
}

/// Whether the spawn at this place takes the long way, although its leaf could share what other
/// tasks use. Tasks may wait in the pool for this thread, which may run them there
/// (`Worker::throttle`).
fn looks_for_others(order: u64) -> bool {
    (order / 2).is_multiple_of(LONG_WAY)
}

// Always inlined: the modes are known at the place of the spawn, so little code is left.
impl<E: Engine> Visitor for Look<'_, E> {
    #[inline(always)]
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        self.free = self.free && self.is_free(datum, mode);
        self.writes |= mode == Mode::Write;
        self.write(datum.current().cast(), mode, false);
    }

    #[inline(always)]
    fn reduce(&mut self, datum: NonNull<Datum>, reducer: ReducerRef<'_>) {
        // SAFETY: as above.
        let datum = unsafe { datum.as_ref() };
        self.has_parts = true;
        self.free = self.free
            && match self.open(datum) {
                None => reducer.is_small() && !self.is_ordered() && self.is_free(datum, Mode::Reduce),
                Some(open) => self.may_join(datum, open, reducer),
            };
        // The target is the version, and the part is made later.
        self.write(datum.current().cast(), Mode::Reduce, true);
    }

    #[inline(always)]
    fn accumulate(&mut self, datum: NonNull<Datum>, reducer: ReducerRef<'_>) {
        // SAFETY: as above.
        let datum = unsafe { datum.as_ref() };
        if let Some(open) = self.open(datum) {
            self.free = self.free && self.may_join(datum, open, reducer);
            self.write(open.cast(), Mode::Reduce, false);
        } else {
            self.free = self.free && !self.is_ordered() && self.is_free(datum, Mode::Reduce);
            self.write(datum.current().cast(), Mode::Inout, false);
        }
    }
}

impl Records<'_> {
    #[inline(always)]
    fn get(&self) -> &[Record] {
        let first = self.room.as_ptr().cast();
        // SAFETY: this many were written.
        unsafe { slice::from_raw_parts(first, self.count) }
    }
}

impl<'s, 'env, B, E: Engine> Scope<'s, 'env, B, E> {
    /// Runs a leaf now, if possible without a task. Otherwise returns its accesses and its body.
    // Takes both by value. They are borrowed only if the leaf fails, so they can stay in registers.
    #[inline(always)]
    pub(crate) fn try_run_inline<A, F, O, R>(
        &self,
        kind: &'static VTable,
        options: &Options,
        accesses: A,
        body: F,
    ) -> Result<Result<O, Error>, (A, F)>
    where
        A: Accesses<'s, B>,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R,
    {
        let (worker, scope_state, count) = (self.worker(), self.scope_state(), accesses.count());
        // No more records than there is room for.
        if scope_state.record() != 0 || options.bytes != 0 || count > MAX_ACCESSES || scope_state.is_cancelled() {
            return Err((accesses, body));
        }
        let mut room = [const { MaybeUninit::uninit() }; MAX_ACCESSES];
        let records = Records { room: &mut room, count: 0 };
        let (claim, order) = (scope_state.claim(), scope_state.next_order());
        let (free, few, writes) = (true, count <= MAX_COMPARED_ACCESSES, false);
        let (has_parts, tracker) = (false, worker.tracker());
        let mut look = Look::<E> { claim, order, free, few, writes, has_parts, records, worker, scope_state, tracker };
        let shape = accesses.visit(&mut look);
        if !look.free {
            return Err((accesses, body));
        }
        scope_state.count_run_inline();
        let started = worker.grains.start(worker.count_body());
        let result = scope_state.run_inline(|| {
            let records = look.records.get();
            if const { A::REDUCES } && look.has_parts {
                // SAFETY: as below.
                unsafe { call_reducing_leaf::<O, B, A, F, R>(&accesses, records, &shape, body) }
            } else {
                // SAFETY: the records were made for `A`; all of them would be granted, and nothing
                // is issued meanwhile.
                unsafe { call_leaf::<B, A, F, R>(records, &shape, body) }
            }
        });
        let measured = || (&worker.shared().kinds, Ran { kind, accesses: count, site: RunSite::AtItsSpawn });
        worker.grains.end(started, measured);
        let why = match value_of::<O, R>(result) {
            Ok(value) if !look.writes => return Ok(Ok(value)),
            Ok(value) => match first_unwritten(&accesses) {
                None => return Ok(Ok(value)),
                Some(arg) => Err(arg),
            },
            Err(why) => Ok(why),
        };
        Ok(Err(self.failed_inline(options.label(), why, order, accesses)))
    }

    /// Fails a leaf that ran at once, because its body left no value or did not set an access. The
    /// values that it would have written are missing.
    #[cold]
    #[inline(never)]
    fn failed_inline<A: Accesses<'s, B>>(
        &self,
        label: Label,
        why: Result<NoValue, usize>,
        order: u64,
        accesses: A,
    ) -> Error {
        let unwritten = |arg| Error::new(label, Kind::Unwritten { arg });
        let error = why.map_or_else(unwritten, |why| why.error(label));
        accesses.visit(&mut Poison { error: &error, worker: self.worker(), scope_state: self.scope_state(), label });
        self.scope_state().fail(order, &error);
        error
    }
}

/// The first `write` of a leaf that was not set.
#[inline]
fn first_unwritten<'s, B, A: Accesses<'s, B>>(accesses: &A) -> Option<usize> {
    let mut unwritten = Unwritten { index: 0, first: None };
    accesses.visit(&mut unwritten);
    unwritten.first
}

struct Unwritten {
    index: usize,
    first: Option<usize>,
}

impl Visitor for Unwritten {
    #[inline(always)]
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode) {
        // SAFETY: the access token borrows the handle.
        if mode == Mode::Write && self.first.is_none() && !unsafe { datum.as_ref() }.version().is_produced() {
            self.first = Some(self.index);
        }
        self.index += 1;
    }

    #[inline(always)]
    fn reduce(&mut self, _datum: NonNull<Datum>, _reducer: ReducerRef<'_>) {
        self.index += 1;
    }
}

/// Calls the body of a leaf some of whose accesses need a part.
///
/// # Safety
///
/// As for [`call_leaf`]. The records are those of a leaf that runs at its spawn.
#[inline(never)]
unsafe fn call_reducing_leaf<'s, O, B, A, F, R>(
    accesses: &A,
    records: &[Record],
    shape: &A::Shape,
    body: F,
) -> Result<R, PanicPayload>
where
    A: Accesses<'s, B>,
    R: Outcome<O>,
    F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R,
{
    let mut rooms: Rooms<MAX_ACCESSES> = [const { MaybeUninit::uninit() }; MAX_ACCESSES];
    let made = catch(|| drop(accesses.visit(&mut MakeParts::new(records, &mut rooms))));
    let ended = match made {
        // SAFETY: as the caller promises.
        Ok(()) => unsafe { call_leaf::<B, A, F, R>(records, shape, body) },
        Err(caught) => {
            // The task has failed already.
            let _thrown_after = catch(|| drop(body));
            Err(caught)
        }
    };
    let mut end = EndParts::new(records, ended.as_ref().is_ok_and(R::has_succeeded));
    accesses.visit(&mut end);
    match end.result() {
        Ok(()) => ended,
        Err(caught) => {
            // The task has failed already.
            let _thrown_after = catch(|| drop(ended));
            Err(caught)
        }
    }
}

/// Poisons the values that a failed leaf would have written, and marks the ones it has read as
/// disturbed.
struct Poison<'a, E: Engine> {
    error: &'a Error,
    worker: &'a Worker<E>,
    scope_state: &'a ScopeState,
    label: Label,
}

impl<E: Engine> Visitor for Poison<'_, E> {
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        if mode == Mode::Read {
            return datum.disturb();
        }
        // Starts a new generation: later accesses are not in the generation of an earlier failure.
        datum.enter_group(mode);
        datum.version().set_state(State::Failed(self.error.root().clone()));
    }

    /// Other members of the generation may run.
    fn reduce(&mut self, datum: NonNull<Datum>, reducer: ReducerRef<'_>) {
        // SAFETY: the access token borrows the handle.
        let open = unsafe { datum.as_ref() }.reduction();
        let begin = || self.worker.open_reduction(self.scope_state, datum, reducer, self.label);
        let reduction = open.unwrap_or_else(begin);
        // SAFETY: an open reduction lives until its combine task, and this scope issues that one.
        let reduction = unsafe { reduction.as_ref() };
        reduction.version().fail_in_group(reduction.group(), self.error.root());
    }
}
