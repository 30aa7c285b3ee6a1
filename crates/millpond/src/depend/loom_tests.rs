//! Models of the schemes. The value of a version is a cell that loom watches. A running task
//! touches the cells of its accesses. The issuer touches a cell when the scheme says that it may.

use std::ptr::NonNull;
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::thread;

use super::{EmbeddedGraph, EmbeddedHypergraph, Graph, Hypergraph, List, Parked, Tickets, TwoLocks};
use super::{Mode, Released, Scheme};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::task::ScopePtr;
use crate::task::{Header, Record, TaskRef, VTable};
use Mode::{Concurrent, Inout, Read, Write};

/// The operations that a model needs of a scheme, apart from the trait.
trait Modelled: Scheme<Meta: Default> {
    /// Reuses the version's memory: loom finds any thread that touches it later.
    fn end(meta: &mut Self::Meta);
}

macro_rules! modelled {
    ($($scheme:ty),*) => {$(
        impl Modelled for $scheme {
            fn end(meta: &mut Self::Meta) {
                meta.end();
            }
        }
    )*};
}
modelled!(Parked, Graph, EmbeddedGraph, Hypergraph, EmbeddedHypergraph, List, TwoLocks, Tickets);

/// An access of a task: the version and the mode.
type Declared = (usize, Mode);

/// A task of at most two accesses, with the layout of a task block.
#[repr(C)]
struct Block {
    header: Header,
    records: [Record; 2],
}

const VERSIONS: usize = 2;

/// Versions, and the tasks of a program on them, in issue order.
struct World<D: Modelled> {
    program: Vec<Vec<Declared>>,
    /// On the heap: the records of a scheme that searches point there.
    metas: Box<[std::cell::UnsafeCell<D::Meta>; VERSIONS]>,
    shared: D::Shared,
    values: [UnsafeCell<usize>; VERSIONS],
    /// The number of times that version 0 was freed.
    freed: UnsafeCell<u32>,
    tasks: Vec<TaskRef>,
    ran: Vec<AtomicU32>,
}

// SAFETY: the models check whether the cells are used in order.
unsafe impl<D: Modelled> Sync for World<D> {}
// SAFETY: as above.
unsafe impl<D: Modelled> Send for World<D> {}

fn block<M>(accesses: &[Declared], metas: &[std::cell::UnsafeCell<M>; VERSIONS]) -> TaskRef {
    let record = |place: usize| {
        let (version, mode) = *accesses.get(place).unwrap_or(&(0, Read));
        // The target is the scheme's data itself (`tickets::meta`).
        let at = metas[version].get();
        let _ = at.expose_provenance();
        let target = NonNull::new(at).unwrap().cast();
        Record::new(target, size_of::<Header>() + place * size_of::<Record>(), 0, mode, false)
    };
    let header = Header::on_stack(&VTable::OF_POOLS, ScopePtr::DANGLING, std::panic::Location::caller());
    let task = TaskRef(NonNull::from(Box::leak(Box::new(Block { header, records: [record(0), record(1)] }))).cast());
    task.expose();
    task.set_accesses(accesses.len());
    task
}

impl<D: Modelled> World<D> {
    fn of(program: &[&[Declared]]) -> Arc<Self> {
        let metas = Box::default();
        Arc::new(World {
            program: program.iter().map(|accesses| accesses.to_vec()).collect(),
            shared: D::Shared::default(),
            values: [UnsafeCell::new(0), UnsafeCell::new(0)],
            freed: UnsafeCell::new(0),
            tasks: program.iter().map(|accesses| block(accesses, &metas)).collect(),
            metas,
            ran: program.iter().map(|_| AtomicU32::new(0)).collect(),
        })
    }

    /// Makes tasks of one access each, to version 0.
    fn new(modes: &[Mode]) -> Arc<Self> {
        let program: Vec<_> = modes.iter().map(|&mode| [(0, mode)]).collect();
        Self::of(&program.iter().map(<[Declared; 1]>::as_slice).collect::<Vec<_>>())
    }

    fn meta(&self, version: usize) -> &D::Meta {
        // SAFETY: only `free` borrows it exclusively, and there loom checks that no other thread
        // uses it.
        unsafe { &*self.metas[version].get() }
    }

    /// Frees version 0. From here on, loom finds any thread that still touches it.
    fn free(&self) {
        self.freed.with_mut(|freed| {
            // SAFETY: loom checks it.
            unsafe { *freed += 1 };
        });
        // SAFETY: as above.
        D::end(unsafe { &mut *self.metas[0].get() });
    }

    /// The value that task `number` must find in a version: the number of the last earlier writer,
    /// plus 1.
    fn expected(&self, version: usize, number: usize) -> usize {
        let writes = |accesses: &Vec<Declared>| accesses.iter().any(|&(v, mode)| v == version && !mode.shares());
        self.program[..number].iter().rposition(writes).map_or(0, |last| last + 1)
    }

    fn look(&self, version: usize, number: usize) {
        self.values[version].with(|value| {
            // SAFETY: loom checks it.
            assert_eq!(unsafe { *value }, self.expected(version, number));
        });
    }

    fn change(&self, version: usize, number: usize, to: usize) {
        self.values[version].with_mut(|value| {
            // SAFETY: loom checks it.
            assert_eq!(unsafe { *value }, self.expected(version, number));
            // SAFETY: as above.
            unsafe { *value = to };
        });
    }

    fn issue(&self, number: usize) -> bool {
        let (task, mut waiting, mut local) = (self.tasks[number], 0, D::Local::default());
        for (record, &(version, _)) in task.records().iter().zip(&self.program[number]) {
            // SAFETY: only this thread issues, and the records outlive the model.
            waiting += usize::from(!unsafe { D::issue(&mut local, self.meta(version), record) });
        }
        // SAFETY: the accesses were just issued.
        unsafe { D::enter(&self.shared, task, waiting) }
    }

    fn number(&self, task: TaskRef) -> usize {
        self.tasks.iter().position(|&known| known == task).expect("one of ours")
    }

    /// Runs a ready task, and all tasks that become ready by it.
    fn run(&self, number: usize) {
        let mut todo = vec![number];
        while let Some(number) = todo.pop() {
            self.ran[number].fetch_add(1, Ordering::Relaxed);
            for &(version, mode) in &self.program[number] {
                if mode.shares() {
                    self.look(version, number);
                } else {
                    self.change(version, number, number + 1);
                }
            }
            for (record, &(version, _)) in self.tasks[number].records().iter().zip(&self.program[number]).rev() {
                self.release(version, record, &mut todo);
            }
            if todo.is_empty() {
                todo.extend(D::find(&self.shared).map(|task| self.number(task)));
            }
        }
    }

    fn release(&self, version: usize, record: &Record, todo: &mut Vec<usize>) {
        let mut local = D::Local::default();
        // SAFETY: the access was issued and granted, and is released once.
        let Released { granted, last } = unsafe { D::release(&self.shared, &mut local, self.meta(version), record) };
        let mut next = granted;
        while let Some(record) = next {
            // SAFETY: the access is granted below, so it is not released yet.
            let record = unsafe { record.as_ref() };
            next = NonNull::new(record.link().cast());
            let task = record.task();
            // SAFETY: the record came from a release.
            if unsafe { D::granted(record) } {
                todo.push(self.number(task));
            }
        }
        if last {
            self.free();
        }
    }

    /// Issues tasks, then runs those that were ready at once.
    fn issue_and_run(&self, numbers: impl Iterator<Item = usize>) {
        let ready: Vec<_> = numbers.filter(|&number| self.issue(number)).collect();
        ready.into_iter().for_each(|number| self.run(number));
    }

    fn all_ran_once(&self) {
        assert!(self.ran.iter().all(|ran| ran.load(Ordering::Relaxed) == 1));
        assert!((0..VERSIONS).all(|version| D::is_idle(self.meta(version))));
    }

    fn retire(&self) {
        // SAFETY: this thread issues, and issues nothing afterwards.
        if unsafe { D::retire(self.meta(0)) } {
            self.free();
        }
    }

    fn freed_once(&self) {
        self.freed.with(|freed| {
            // SAFETY: the threads were joined.
            assert_eq!(unsafe { *freed }, 1);
        });
        assert!(self.ran.iter().all(|ran| ran.load(Ordering::Relaxed) == 1));
    }
}

fn runs<D: Modelled>(world: &Arc<World<D>>, number: usize) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || world.run(number))
}

fn issue_and_start<D: Modelled, const N: usize>(world: &Arc<World<D>>) -> [thread::JoinHandle<()>; N] {
    std::array::from_fn(|number| {
        assert!(world.issue(number));
        runs(world, number)
    })
}

fn join(threads: impl IntoIterator<Item = thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Two readers run while the issuer adds a writer, two readers and a writer behind them.
fn readers_writer_readers_writer<D: Modelled>() {
    let world = World::<D>::new(&[Read, Read, Inout, Read, Read, Inout]);
    let threads = issue_and_start::<D, 2>(&world);
    world.issue_and_run(2..6);
    join(threads);
    world.all_ran_once();
}

/// Readers join a generation that is open and becomes empty meanwhile.
fn readers_join_while_it_empties<D: Modelled>() {
    let world = World::<D>::new(&[Read, Read, Read, Read, Inout]);
    let threads = issue_and_start::<D, 2>(&world);
    world.issue_and_run(2..5);
    join(threads);
    world.all_ran_once();
}

/// A chain of inouts is issued while its head runs. A generation of another sharing mode is at its
/// end.
fn a_chain<D: Modelled>() {
    let world = World::<D>::new(&[Inout, Inout, Inout, Concurrent, Read]);
    let threads = issue_and_start::<D, 1>(&world);
    world.issue_and_run(1..5);
    join(threads);
    world.all_ran_once();
}

/// Tasks wait for two data that two threads use.
fn two_data<D: Modelled>() {
    let world = World::<D>::of(&[
        &[(0, Inout)],
        &[(1, Inout)],
        &[(0, Read), (1, Inout)],
        &[(1, Read), (0, Inout)],
        &[(0, Inout), (1, Inout)],
    ]);
    let threads = issue_and_start::<D, 2>(&world);
    world.issue_and_run(2..5);
    join(threads);
    world.all_ran_once();
}

/// Like `two_data`, with readers of one datum in between.
fn two_data_and_readers<D: Modelled>() {
    let world = World::<D>::of(&[&[(0, Inout)], &[(1, Read)], &[(0, Read), (1, Read)], &[(1, Inout), (0, Read)]]);
    let threads = issue_and_start::<D, 2>(&world);
    world.issue_and_run(2..4);
    join(threads);
    world.all_ran_once();
}

/// If the scheme says that an access would be granted at once, the issuer performs it without
/// issuing it.
fn the_issuer_looks<D: Modelled>() {
    let world = World::<D>::new(&[Inout, Read, Read]);
    assert!(world.issue(0));
    let first = runs(&world, 0);
    let mut ready = vec![];
    for number in [1, 2] {
        if D::is_ready(world.meta(0), Read) {
            world.look(0, number);
        }
        if world.issue(number) {
            ready.push(number);
        }
    }
    if D::is_ready(world.meta(0), Read) {
        world.look(0, 3);
    }
    ready.into_iter().for_each(|number| world.run(number));
    if D::is_ready(world.meta(0), Inout) {
        world.change(0, 3, 1);
    }
    join([first]);
    world.all_ran_once();
}

/// Readers run at once on two threads. The issuer writes the value when the version is idle.
fn the_issuer_writes_when_idle<D: Modelled>() {
    let world = World::<D>::new(&[Read, Read, Inout]);
    let threads = issue_and_start::<D, 2>(&world);
    if D::is_idle(world.meta(0)) {
        world.change(0, 0, 0);
    }
    if D::is_ready(world.meta(0), Inout) {
        world.change(0, 2, 0);
    }
    world.issue_and_run(2..3);
    if D::is_idle(world.meta(0)) {
        world.change(0, 3, 9);
    }
    join(threads);
    world.all_ran_once();
}

/// The issuer retires the version while its last accesses are released. The version is freed once,
/// and no thread touches it later.
fn retire_races_with_releases<D: Modelled>() {
    let world = World::<D>::new(&[Read, Read]);
    let threads = issue_and_start::<D, 2>(&world);
    world.retire();
    join(threads);
    world.freed_once();
}

/// Like `retire_races_with_releases`, with a waiting access.
fn retire_with_one_waiting<D: Modelled>() {
    let world = World::<D>::new(&[Inout, Inout]);
    let threads = issue_and_start::<D, 1>(&world);
    let ready = world.issue(1);
    world.retire();
    if ready {
        world.run(1);
    }
    join(threads);
    world.freed_once();
}

/// Like `retire_races_with_releases`, with waiting readers, which join a generation that no longer
/// waits.
fn retire_with_readers_waiting<D: Modelled>() {
    let world = World::<D>::new(&[Inout, Read, Read]);
    let threads = issue_and_start::<D, 1>(&world);
    let ready: Vec<_> = [1, 2].into_iter().filter(|&number| world.issue(number)).collect();
    world.retire();
    ready.into_iter().for_each(|number| world.run(number));
    join(threads);
    world.freed_once();
}

/// If the version is idle, the issuer issues a `write` in place (TG §3.3), and the next task waits
/// for it.
fn a_write_when_idle<D: Modelled>() {
    let world = World::<D>::new(&[Read, Write, Read]);
    let threads = issue_and_start::<D, 1>(&world);
    if D::is_idle(world.meta(0)) {
        assert!(world.issue(1));
        let write = runs(&world, 1);
        world.issue_and_run(2..3);
        join([write]);
        join(threads);
        return world.all_ran_once();
    }
    join(threads);
}

/// The largest models have too many steps for a scheme that searches, so these models run for a
/// limited time.
fn model<D: Scheme>(model: fn()) {
    let mut builder = loom::model::Builder::new();
    if D::SEARCHES {
        builder.max_duration = builder.max_duration.or(Some(Duration::from_secs(100)));
    }
    builder.check(model);
}

tests_of_every_scheme! {
    model;
    readers_writer_readers_writer
    readers_join_while_it_empties
    a_chain
    two_data
    two_data_and_readers
    the_issuer_looks
    the_issuer_writes_when_idle
    retire_races_with_releases
    retire_with_one_waiting
    retire_with_readers_waiting
    a_write_when_idle
}
