//! Leaves that run at their spawn without ever being a task: no block, no turn with the scheme, no queue.
//!
//! A leaf whose kind is short, and whose accesses would all be granted now, runs before `spawn` returns, and nothing can
//! be issued in its scope meanwhile. So nobody ever looks for it, and all that it needs are its accesses, as records on
//! the spawner's stack, for the time of its body. Of a datum that only such leaves use the issuer touches its own line
//! and the value's ([`Datum::is_free`]).
//!
//! Whatever is not plain takes the long way, through a block (`runtime::spawn::issue`), which may still end in a run at the
//! spawn: a recording, bytes, commutative and concurrent accesses, reductions, a version that somebody uses or that
//! nobody has produced, misuse.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use super::body::call_leaf;
use crate::access::{Accesses, ArgsOf, Visitor};
use crate::depend::Mode;
use crate::depend::tracker::Tracker;
use crate::engine::Engine;
use crate::error::{Error, Kind, Label};
use crate::handle::Datum;
use crate::handle::reduction::ReducerRef;
use crate::handle::version::State;
use crate::runtime::outcome::{NoValue, Outcome, value_of};
use crate::runtime::scope::Scope;
use crate::runtime::spawn::Options;
use crate::task::{Record, VTable};
use crate::worker::grain;

/// The most accesses of such a leaf: all that a tuple can have.
const MOST: usize = 20;
/// With so many accesses at most, each is compared with all before it, which spares the datum a store.
const FEW: usize = 4;

/// Of so many spawns that run beside tasks of the pool, one goes the long way.
const LONG_WAY: u64 = 64;

/// The records of a leaf that runs at once. The room lies apart from what is counted, which can then stay in registers.
struct Records<'a> {
    room: &'a mut [MaybeUninit<Record>; MOST],
    count: usize,
}

/// Looks whether every access would be granted, and its value is there.
struct Look<'a, E: Engine> {
    claim: u64,
    /// The place in reference order that the leaf would have.
    order: u64,
    free: bool,
    few: bool,
    /// Some access is a `write`.
    writes: bool,
    records: Records<'a>,
    tracker: E::Tracker,
}

impl<E: Engine> Look<'_, E> {
    /// Whether an access may be had now, without further ado.
    #[inline(always)]
    fn is_free(&self, datum: &Datum, mode: Mode) -> bool {
        matches!(mode, Mode::Read | Mode::Write | Mode::Inout)
            && self.tracker.orders(mode)
            && (datum.is_quiet_for(self.claim) || becomes_free(datum, self.claim, self.order, self.tracker, mode))
            && self.is_first(datum)
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

/// Whether the leaf at `order` of scope `claim` may use a datum at once that is not known to be quiet. By value, so that
/// what looks stays in registers.
#[inline(never)]
fn becomes_free<T: Tracker>(datum: &Datum, claim: u64, order: u64, tracker: T, mode: Mode) -> bool {
    // It reads beside tasks that wait in the pool, perhaps for this very thread: now and then the spawn goes the long way,
    // where its owner looks after them (`Worker::throttle`).
    let looks = || !(order / 2).is_multiple_of(LONG_WAY) || datum.is_quiet_for(claim);
    (datum.is_claimed_by(claim) || datum.claim(claim, tracker)) && datum.is_free(tracker, mode) && looks()
}

// Always inlined: where a leaf is spawned its modes are known, and little is left of this.
impl<E: Engine> Visitor for Look<'_, E> {
    #[inline(always)]
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        // In any case a record, and no early return: so its place in `room` is known where this is compiled.
        self.free = self.free && self.is_free(datum, mode);
        self.writes |= mode == Mode::Write;
        let record = Record::new(datum.current().cast(), 0, 0, mode, false);
        self.records.room[self.records.count].write(record);
        self.records.count += 1;
    }

    fn reduce(&mut self, _datum: NonNull<Datum>, _reducer: ReducerRef<'_>) {
        self.free = false;
    }
}

impl Records<'_> {
    #[inline(always)]
    fn get(&self) -> &[Record] {
        let first = self.room.as_ptr().cast();
        // SAFETY: so many were written.
        unsafe { slice::from_raw_parts(first, self.count) }
    }
}

impl<'s, 'env, B, E: Engine> Scope<'s, 'env, B, E> {
    /// Runs a leaf now, if that can be done without a task; else gives its accesses and its body back.
    // By value, and nothing lent to what is called only if the leaf fails: so all of it can stay in registers.
    #[inline(always)]
    pub(in crate::runtime) fn try_run_inline<A, F, O, R>(
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
        if scope_state.record() != 0 || options.bytes != 0 || count > MOST || scope_state.is_cancelled() {
            return Err((accesses, body));
        }
        let mut room = [const { MaybeUninit::uninit() }; MOST];
        let records = Records { room: &mut room, count: 0 };
        let (claim, order) = (scope_state.claim(), scope_state.next_order());
        let (free, few, writes) = (true, count <= FEW, false);
        let mut look = Look::<E> { claim, order, free, few, writes, records, tracker: worker.tracker() };
        let shape = accesses.visit(&mut look);
        if !look.free {
            return Err((accesses, body));
        }
        scope_state.count_run_inline();
        let started = worker.grains.start(worker.count_body());
        // SAFETY: the records were made for `A`; all of them would be granted, and nothing is issued meanwhile.
        let result = scope_state.run_inline(|| unsafe { call_leaf::<B, A, F, R>(look.records.get(), &shape, body) });
        worker.grains.end(|| &worker.shared().kinds, kind, started, grain::Ran::AtItsSpawn);
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

    /// A leaf that ran at once has failed, by what it has left in place of a value or by an access that it has not set: what it would have written is not
    /// there.
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
        accesses.visit(&mut Poison(&error));
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

    fn reduce(&mut self, _datum: NonNull<Datum>, _reducer: ReducerRef<'_>) {}
}

/// What a failed leaf would have written is not there, and what it has used is not what it was.
struct Poison<'a>(&'a Error);

impl Visitor for Poison<'_> {
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        if mode == Mode::Read {
            return datum.disturb();
        }
        // A generation of its own: accesses to come are not in that of an earlier failure.
        datum.enter_group(mode);
        datum.version().set_state(State::Failed(self.0.root().clone()));
    }

    fn reduce(&mut self, _datum: NonNull<Datum>, _reducer: ReducerRef<'_>) {}
}
