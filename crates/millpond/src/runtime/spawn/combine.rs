//! The begin of a reduction (`handle::reduction`), and its end: combine tasks.

use std::alloc::Layout;
use std::panic::Location;
use std::ptr::NonNull;

use crate::depend::Mode;
use crate::error::{Error, Label};
use crate::handle::Datum;
use crate::handle::reduction::{ReducerRef, Reduction};
use crate::pool::Put;
use crate::task::{Extras, NewTask, Record, Role, Shape, TaskRef, VTable};
use crate::worker::Worker;
use crate::worker::complete::{panicked, reduction_of};
use crate::worker::engine::WorkerEngine;
use crate::worker::engine::store::TaskStore;
use crate::worker::scope_state::ScopeState;

static COMBINE: VTable = VTable {
    role: Role::Combine,
    compact: None,
    run,
    discard: |_| (),
    fail: |_, _, _| unreachable!("a combine task has no join"),
    drop_result: |_| unreachable!("a combine task has no join"),
};

/// # Safety
///
/// As for `VTable::run`: the access, an `inout` for the scheme, was granted.
unsafe fn run(task: TaskRef, _worker: *const ()) -> Result<(), Error> {
    let reduction = reduction_of(task);
    // SAFETY: freed only after this task.
    let combined = unsafe { reduction.as_ref() }.combine();
    combined.map_err(|caught| panicked(task, &caught))
}

impl<E: WorkerEngine> Worker<E> {
    /// Opens a reduction of a datum that has none. `label` is that of the first member.
    #[cold]
    pub(crate) fn open_reduction(
        &self,
        scope_state: &ScopeState,
        datum_at: NonNull<Datum>,
        reducer: ReducerRef<'_>,
        label: Label,
    ) -> NonNull<Reduction> {
        // SAFETY: the access that begins the reduction borrows the handle.
        let datum = unsafe { datum_at.as_ref() };
        let (group, config) = (datum.enter_group(Mode::Reduce), &self.shared().config);
        let new = Reduction::open(datum_at, reducer, label, group, config.deterministic, config.workers);
        datum.open_reduction(new);
        scope_state.add_reduction(new);
        new
    }

    /// Spawns the task that closes the open reduction of a datum. Its place in reference order is
    /// `order`.
    pub(crate) fn combine(&self, scope_state: &ScopeState, reduction: NonNull<Reduction>, order: u64) {
        E::combine_reduction(self, scope_state, reduction, order);
    }

    pub(crate) fn combine_here(&self, scope_state: &ScopeState, reduction: NonNull<Reduction>, order: u64) {
        scope_state.remove_reduction(reduction);
        // SAFETY: an open reduction lives until its combine task.
        let label = unsafe { reduction.as_ref() }.label();
        let block = self.alloc(Shape { extras: true, accesses: 1, nest: false }.block_size(Layout::new::<()>()));
        let id = if scope_state.record() == 0 { 0 } else { self.log.next_id() };
        let (place, extras) = (Location::caller(), Some(Extras { id, label, bytes: 0 }));
        let new =
            NewTask { vtable: &COMBINE, scope: scope_state.into(), order, place, priority: 0, extras, accesses: 1 };
        // SAFETY: the block is fresh and large enough.
        let task = unsafe { TaskRef::create(block, new) };
        // SAFETY: an open reduction owns a part of its datum.
        let datum: NonNull<Datum> = unsafe { reduction.as_ref() }.datum();
        let record = Record::new(reduction.cast(), task.record_behind(0), 0, Mode::Reduce, true);
        // SAFETY: the block has room for one record.
        unsafe { task.records_at().write(record) };
        if scope_state.record() != 0 {
            self.log.spawned(task, scope_state.record());
            // SAFETY: as above.
            self.log.declared(Mode::Inout, unsafe { datum.as_ref() });
        }
        if !E::Tasks::combine(self, scope_state, task) {
            scope_state.count_hidden_spawn();
            self.issue(task, Put::Spawned);
        }
        // SAFETY: this scope issues, and the reduction was open.
        unsafe { Datum::close_reduction(datum) };
    }

    /// Ends all open reductions of a scope that ends.
    pub(crate) fn combine_open(&self, scope_state: &ScopeState) {
        while let Some(reduction) = scope_state.any_reduction() {
            let order = scope_state.count_gap() - 1;
            self.combine(scope_state, reduction, order);
        }
    }
}
