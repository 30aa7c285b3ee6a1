//! The contract of a scheme, step by step. If a figure is wrong (TG Figs. 2–5), the steps show what
//! must happen instead.

use std::panic::Location;
use std::ptr::NonNull;

use super::limit::limit;
use crate::depend::{Mode, Record, Scheme, TaskRef};
use crate::handle::Handle;
use crate::task::ScopePtr;
use crate::task::{Header, VTable};
use Mode::{Commutative, Concurrent, Inout, Read, Reduce, Write};

/// Tests the contract of a scheme: when an access is granted, when a task is ready, and when a
/// version is idle.
///
/// The steps run on one thread. [`runtime`](super::runtime) tests a scheme on several.
///
/// # Panics
///
/// If the scheme breaks its contract.
pub fn scheme<D: Scheme>() {
    let all: [(fn(), &[Mode]); 8] = [
        (a_task_after_an_emptied_generation::<D>, &[Commutative, Reduce]),
        (a_generation_that_empties_behind_another::<D>, &[]),
        (the_next_generation_is_seen::<D>, &[]),
        (a_task_is_guarded_until_it_is_issued::<D>, &[]),
        (a_release_between_issues::<D>, &[]),
        (a_write_never_waits::<D>, &[Write]),
        (generations_follow_one_another::<D>, &[Commutative, Reduce]),
        (a_task_is_in_a_generation_twice::<D>, &[]),
    ];
    limit(60, format!("conformance of scheme {}", D::NAME), || {
        // A scheme need not order all modes.
        let tests = all.into_iter().filter(|(_, modes)| modes.iter().all(|mode| D::MODES.contains(mode)));
        tests.for_each(|(test, _)| test());
    });
}

const MAX_ACCESSES: usize = 3;

#[repr(C)]
struct Block {
    header: Header,
    records: [Record; MAX_ACCESSES],
}

/// Versions and tasks that access them, one step at a time.
struct Steps<D: Scheme> {
    handles: Vec<Handle<u32>>,
    blocks: Vec<NonNull<Block>>,
    local: D::Local,
    shared: D::Shared,
    /// Tasks that became ready by a release, in order.
    ready: Vec<usize>,
}

impl<D: Scheme> Steps<D> {
    fn new(versions: usize) -> Self {
        let handles = (0..versions).map(|_| Handle::new(0)).collect();
        Steps {
            handles,
            blocks: Vec::new(),
            local: D::Local::default(),
            shared: D::Shared::default(),
            ready: Vec::new(),
        }
    }

    /// Makes a task that declares these accesses, and issues none of them. Returns its number.
    fn task(&mut self, accesses: &[(usize, Mode)]) -> usize {
        let record = |place: usize| {
            let (version, mode) = accesses.get(place).copied().unwrap_or(accesses[0]);
            let target = self.handles[version].datum().current().cast();
            // A scheme knows a reduction only by its mode. Its target would be a separate object.
            let declared = if mode == Reduce { Mode::Concurrent } else { mode };
            Record::new(target, size_of::<Header>() + place * size_of::<Record>(), 0, declared, false)
        };
        let header = Header::on_stack(&VTable::OF_POOLS, ScopePtr::DANGLING, Location::caller());
        let block = Box::new(Block { header, records: [record(0), record(1), record(2)] });
        self.blocks.push(NonNull::from(Box::leak(block)));
        let task = self.at(self.blocks.len() - 1);
        task.expose();
        task.set_accesses(accesses.len());
        self.blocks.len() - 1
    }

    fn at(&self, number: usize) -> TaskRef {
        TaskRef(self.blocks[number].cast())
    }

    /// Issues one access. Returns whether it is granted.
    fn issue(&mut self, number: usize, place: usize) -> bool {
        let record = &self.at(number).records()[place];
        // SAFETY: only this thread issues. Blocks and handles live as long as `self`.
        unsafe { D::issue(&mut self.local, record.own_version().meta().of::<D>(), record) }
    }

    /// Tells the scheme that all accesses were issued. Returns whether the task is ready.
    fn enter(&mut self, number: usize, waiting: usize) -> bool {
        // SAFETY: this thread issued them.
        unsafe { D::enter(&self.shared, self.at(number), waiting) }
    }

    /// Makes a task of these accesses and issues it. Returns its number, and whether it is ready.
    fn spawn(&mut self, accesses: &[(usize, Mode)]) -> (usize, bool) {
        let task = self.task(accesses);
        let waiting = (0..accesses.len()).filter(|&place| !self.issue(task, place)).count();
        (task, self.enter(task, waiting))
    }

    /// Releases one access, and records the tasks that become ready by it.
    fn release_one(&mut self, number: usize, place: usize) {
        let record = &self.at(number).records()[place];
        let meta = record.own_version().meta().of::<D>();
        // SAFETY: the access was issued and granted, and each test releases it once.
        let released = unsafe { D::release(&self.shared, &mut self.local, meta, record) };
        let mut next = released.granted;
        while let Some(granted) = next {
            // SAFETY: the access was just granted, so it was not released.
            let granted = unsafe { granted.as_ref() };
            next = NonNull::new(granted.link().cast());
            // SAFETY: the record came from a release, once.
            if unsafe { D::granted(granted) } {
                self.note(granted.task());
            }
        }
        while let Some(task) = D::find(&self.shared) {
            self.note(task);
        }
    }

    fn note(&mut self, task: TaskRef) {
        let number = self.blocks.iter().position(|&block| TaskRef(block.cast()) == task);
        self.ready.push(number.expect("one of ours"));
    }

    /// Releases all accesses of a task. Returns the tasks that become ready by it, in ascending
    /// order.
    fn release(&mut self, number: usize) -> Vec<usize> {
        (0..self.at(number).records().len()).for_each(|place| self.release_one(number, place));
        let mut ready = std::mem::take(&mut self.ready);
        ready.sort_unstable();
        ready
    }
}

impl<D: Scheme> Drop for Steps<D> {
    fn drop(&mut self) {
        for handle in &self.handles {
            let meta = handle.datum().version().meta().of::<D>();
            assert!(D::is_idle(meta) || std::thread::panicking(), "{}: not idle at the end", D::NAME);
            // SAFETY: no access is issued any more. The version is freed with its handle.
            let _idle = unsafe { D::retire(meta) };
            // SAFETY: no access is outstanding.
            unsafe { handle.datum().version().meta().reset() };
        }
        for block in &self.blocks {
            // SAFETY: `task` leaked it, and nothing refers to it any more.
            drop(unsafe { Box::from_raw(block.as_ptr()) });
        }
    }
}

/// Fig. 3, lines 13 and 14: as printed, a task after an emptied generation counts an edge but is
/// put on no list. So it never becomes ready.
pub(crate) fn a_task_after_an_emptied_generation<D: Scheme>() {
    for (first, second) in [(Read, Inout), (Inout, Read), (Commutative, Read), (Read, Reduce)] {
        let mut steps = Steps::<D>::new(1);
        let (one, ready) = steps.spawn(&[(0, first)]);
        assert!(ready);
        assert_eq!(steps.release(one), []);
        let (other, ready) = steps.spawn(&[(0, second)]);
        assert!(ready, "{}: {second} after an emptied generation of {first}", D::NAME);
        assert_eq!(steps.release(other), []);
    }
    // Another generation precedes the emptied one, where the figure counts the edge.
    for second in [Read, Inout, Commutative] {
        let mut steps = Steps::<D>::new(1);
        let (writer, _) = steps.spawn(&[(0, Inout)]);
        let (reader, _) = steps.spawn(&[(0, Read)]);
        assert_eq!(steps.release(writer), [reader]);
        assert_eq!(steps.release(reader), []);
        let (other, ready) = steps.spawn(&[(0, second)]);
        assert!(ready, "{}: {second} after two emptied generations", D::NAME);
        assert_eq!(steps.release(other), []);
    }
}

/// The same with the emptied generation in between: its members were woken and have ended.
pub(crate) fn a_generation_that_empties_behind_another<D: Scheme>() {
    let mut steps = Steps::<D>::new(1);
    let (writer, _) = steps.spawn(&[(0, Inout)]);
    let (reader, ready) = steps.spawn(&[(0, Read)]);
    assert!(!ready);
    assert_eq!(steps.release(writer), [reader]);
    let (late, ready) = steps.spawn(&[(0, Read)]);
    assert!(ready, "{}: the generation is open, and the one before has ended", D::NAME);
    assert_eq!(steps.release(reader), []);
    let (last, ready) = steps.spawn(&[(0, Inout)]);
    assert!(!ready, "{}: one reader is left", D::NAME);
    assert_eq!(steps.release(late), [last]);
    assert_eq!(steps.release(last), []);
}

/// Fig. 3, line 6: every release after the issue that sets `next` sees it. For a release *during*
/// that issue, see the models `a_chain` and `readers_writer_readers_writer`
/// (`depend/loom_tests.rs`).
pub(crate) fn the_next_generation_is_seen<D: Scheme>() {
    let mut steps = Steps::<D>::new(1);
    let (one, _) = steps.spawn(&[(0, Read)]);
    let (two, _) = steps.spawn(&[(0, Read)]);
    assert_eq!(steps.release(one), []);
    let (writer, ready) = steps.spawn(&[(0, Inout)]);
    assert!(!ready);
    assert_eq!(steps.release(two), [writer]);
    assert_eq!(steps.release(writer), []);
}

/// Figs. 2 to 4: a task whose first access is granted before its second is issued is not ready. It
/// becomes ready once.
pub(crate) fn a_task_is_guarded_until_it_is_issued<D: Scheme>() {
    let mut steps = Steps::<D>::new(2);
    let (a, _) = steps.spawn(&[(0, Inout)]);
    let (b, _) = steps.spawn(&[(1, Inout)]);
    let both = steps.task(&[(0, Inout), (1, Inout)]);
    assert!(!steps.issue(both, 0));
    assert_eq!(steps.release(a), [], "{}: one access is not issued", D::NAME);
    assert!(!steps.issue(both, 1));
    assert!(!steps.enter(both, 2));
    assert_eq!(steps.release(b), [both]);
    assert_eq!(steps.release(both), []);
    // Both accesses are granted before the task is issued as a whole.
    let (a, _) = steps.spawn(&[(0, Inout)]);
    let both = steps.task(&[(0, Inout), (1, Inout)]);
    let waiting = usize::from(!steps.issue(both, 0)) + usize::from(!steps.issue(both, 1));
    assert_eq!(waiting, 1);
    assert_eq!(steps.release(a), []);
    assert!(steps.enter(both, waiting), "{}: all were granted", D::NAME);
    assert_eq!(steps.release(both), []);
}

/// §4.4: issue and release need not exclude each other. A release between the steps of an issue is
/// not lost. For releases within one step, see all models of `depend/loom_tests.rs`.
pub(crate) fn a_release_between_issues<D: Scheme>() {
    let mut steps = Steps::<D>::new(1);
    let (writer, _) = steps.spawn(&[(0, Inout)]);
    let (one, two) = (steps.task(&[(0, Read)]), steps.task(&[(0, Read)]));
    assert!(!steps.issue(one, 0));
    assert!(!steps.enter(one, 1));
    assert_eq!(steps.release(writer), [one]);
    assert!(steps.issue(two, 0) && steps.enter(two, 0), "{}: the reader's generation is the oldest", D::NAME);
    assert_eq!((steps.release(one), steps.release(two)), (vec![], vec![]));
}

/// §3.3: a `write` is the first of its version. It is granted, and later accesses wait for it.
pub(crate) fn a_write_never_waits<D: Scheme>() {
    let mut steps = Steps::<D>::new(1);
    let (writer, ready) = steps.spawn(&[(0, Write)]);
    assert!(ready);
    let (reader, ready) = steps.spawn(&[(0, Read)]);
    assert!(!ready);
    assert_eq!(steps.release(writer), [reader]);
    assert_eq!(steps.release(reader), []);
    let (again, ready) = steps.spawn(&[(0, Write)]);
    assert!(ready, "{}: the version is idle", D::NAME);
    assert_eq!(steps.release(again), []);
}

/// A release grants a whole generation, in any order, and no access of the next one.
pub(crate) fn generations_follow_one_another<D: Scheme>() {
    let mut steps = Steps::<D>::new(1);
    let (head, _) = steps.spawn(&[(0, Inout)]);
    let generations = [[Read; 3], [Commutative; 3], [Reduce; 3]];
    let generations = generations.map(|modes| modes.map(|mode| steps.spawn(&[(0, mode)]).0));
    assert_eq!(steps.release(head), generations[0]);
    for pair in 0..generations.len() {
        let next = generations.get(pair + 1).map_or(vec![], |next| next.to_vec());
        assert_eq!(steps.release(generations[pair][1]), []);
        assert_eq!(steps.release(generations[pair][2]), []);
        assert_eq!(steps.release(generations[pair][0]), next, "{}", D::NAME);
    }
}

/// A task that reads a version twice is two members of one generation. It becomes ready once, and
/// later tasks wait for both members.
pub(crate) fn a_task_is_in_a_generation_twice<D: Scheme>() {
    let repeated = [Read, Concurrent].into_iter().filter(|mode| D::MODES.contains(mode));
    for mode in repeated {
        let mut steps = Steps::<D>::new(2);
        let (head, _) = steps.spawn(&[(0, Inout)]);
        let (other, _) = steps.spawn(&[(1, Inout)]);
        let (twice, ready) = steps.spawn(&[(0, mode), (1, Read), (0, mode)]);
        let (after, _) = steps.spawn(&[(0, Inout)]);
        assert!(!ready);
        assert_eq!(steps.release(head), []);
        assert_eq!(steps.release(other), [twice], "{}: ready once, with its last access", D::NAME);
        steps.release_one(twice, 0);
        assert_eq!(steps.ready, [], "{}: one {mode} is left", D::NAME);
        steps.release_one(twice, 1);
        steps.release_one(twice, 2);
        assert_eq!(std::mem::take(&mut steps.ready), [after]);
        assert_eq!(steps.release(after), []);
        // The task joins a generation that is already granted.
        let (twice, ready) = steps.spawn(&[(0, mode), (0, mode)]);
        assert!(ready, "{}: {mode} twice of an idle version", D::NAME);
        let (beside, ready) = steps.spawn(&[(0, mode), (0, mode)]);
        assert!(ready, "{}: {mode} beside the same", D::NAME);
        assert_eq!((steps.release(twice), steps.release(beside)), (vec![], vec![]));
    }
}
