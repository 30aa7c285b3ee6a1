//! The contract of a pool.

use std::cell::Cell;
use std::cell::UnsafeCell;
use std::panic::Location;
use std::ptr::NonNull;
use std::thread;

use super::limit::limit;
use crate::pool::{Leave, Pool, Put, TaskRef};
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::task::ScopePtr;
use crate::task::{Header, VTable};

/// Tests the contract of a pool: each task goes to one taker, and other workers find the tasks that
/// they must find.
///
/// # Panics
///
/// If the pool breaks its contract.
pub fn pool<P: Pool>() {
    let choice = P::Choice::default();
    limit(120, format!("conformance of pool {}", P::NAME), || {
        an_empty_pool_has_nothing::<P>();
        others_find_what_they_must::<P>();
        only_what_is_wanted::<P>();
        [1, 2, 3, 8].into_iter().for_each(|seats| each_task_once::<P>(&choice, seats, P::NAME));
    });
}

/// Tasks that no runtime runs, numbered from 0. Some have a priority.
struct Tasks(Box<[Task]>);

#[repr(C)]
struct Task {
    header: Header,
    /// 0 at first, 1 after the put, 2 after the take. Not atomic: ThreadSanitizer reports a take
    /// that is not ordered after its put, and a second take.
    step: UnsafeCell<u8>,
}

// SAFETY: a pool reads only headers. The test checks whether the accesses of a cell are ordered.
unsafe impl Sync for Tasks {}

impl Tasks {
    fn new(count: usize) -> Self {
        let header = |n: usize| {
            let header = Header::on_stack(&VTable::OF_POOLS, ScopePtr::DANGLING, Location::caller());
            header.with_priority([3, 0, -2, 0, 0, 1, 0, 0, 0, 0][n % 10])
        };
        Tasks((0..count).map(|n| Task { header: header(n), step: UnsafeCell::new(0) }).collect())
    }

    fn at(&self, n: usize) -> TaskRef {
        TaskRef(NonNull::from(&self.0[n]).cast())
    }

    fn number(&self, task: TaskRef) -> usize {
        let behind = task.as_ptr().addr().get().wrapping_sub(self.0.as_ptr().addr());
        let number = behind / size_of::<Task>();
        assert!(behind.is_multiple_of(size_of::<Task>()) && number < self.0.len(), "a task that was never put");
        number
    }

    /// Returns task `n`, to be put.
    fn make(&self, n: usize) -> TaskRef {
        self.advance(n, 0);
        self.at(n)
    }

    /// Records that a task was taken. Returns its number.
    fn taken(&self, task: TaskRef) -> usize {
        let number = self.number(task);
        self.advance(number, 1);
        number
    }

    fn advance(&self, n: usize, from: u8) {
        // SAFETY: the thread that makes or takes a task has it alone, unless the pool breaks its
        // contract.
        let step = unsafe { &mut *self.0[n].step.get() };
        assert_eq!(*step, from, "task {n} was taken {} times before", step.saturating_sub(1));
        *step += 1;
    }

    fn check(&self) {
        (0..self.0.len()).for_each(|n| self.advance(n, 2));
    }
}

fn an_empty_pool_has_nothing<P: Pool>() {
    let (pool, mut locals) = P::new(2);
    assert_eq!(locals.len(), 2, "a local part for each seat");
    assert!(!pool.has_work(), "an empty pool says that it has work");
    let asked = Cell::new(false);
    let wanted = pool.take_if(&mut locals[0], |_| !asked.replace(true));
    assert_eq!((wanted.0, asked.get()), (None, false), "an empty pool has shown a task");
    assert_eq!((pool.take(&mut locals[0]), pool.steal(&mut locals[1])), (None, None));
    assert!(pool.next(&locals[0]).is_none() && !pool.leave(&mut locals[0], Leave::Seat));
    assert!(!pool.is_hungry());
    pool.hungry(true);
    pool.hungry(true);
    pool.hungry(false);
    assert!(pool.is_hungry(), "one of two is still searching");
    pool.hungry(false);
    assert!(!pool.is_hungry());
}

/// Other workers find the tasks that a put has shown. After the owner has left its seat, they find
/// all tasks.
fn others_find_what_they_must<P: Pool>() {
    const COUNT: usize = 50;
    let tasks = Tasks::new(COUNT);
    let (pool, mut locals) = P::new(2);
    let [owner, other] = &mut locals[..] else { panic!("a local part for each seat") };
    for n in 0..COUNT {
        let shown = pool.put(owner, tasks.make(n), Put::Spawned);
        assert!(!shown || pool.has_work(), "a put has shown a task that `has_work` does not see");
    }
    pool.leave(owner, Leave::Seat);
    assert!(pool.has_work(), "the seat was left, and `has_work` sees nothing");
    let mut found = || pool.take(other).or_else(|| pool.steal(other));
    let mut numbers: Vec<_> = std::iter::from_fn(&mut found).map(|task| tasks.taken(task)).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..COUNT).collect::<Vec<_>>(), "the seat was left, and another one finds all tasks");
    assert!(!pool.has_work() && pool.take(owner).is_none());
}

fn only_what_is_wanted<P: Pool>() {
    let tasks = Tasks::new(10);
    let (pool, mut locals) = P::new(1);
    let local = &mut locals[0];
    (0..10).for_each(|n| _ = pool.put(local, tasks.make(n), Put::Released));
    let mut left = 10;
    while left > 0 {
        assert_eq!(pool.take_if(local, |_| false).0, None, "a task that was not wanted");
        let shown = Cell::new(None);
        let next = pool.next(local);
        let taken = pool.take_if(local, |task| {
            shown.set(Some(task));
            true
        });
        assert_eq!(taken.0, shown.get(), "`take_if` returns the task that it has shown");
        let task = taken.0.or_else(|| pool.take(local)).expect("a task is left");
        // `next` is a hint, but names only tasks in the pool.
        next.into_iter().for_each(|next| _ = tasks.number(next));
        tasks.taken(task);
        left -= 1;
    }
    assert!(pool.take(local).is_none());
    tasks.check();
}

/// Runs as many threads as seats. Each thread puts, takes and steals, like a worker.
pub(crate) fn each_task_once<P: Pool>(choice: &P::Choice, seats: usize, name: &str) {
    let count = if cfg!(any(millpond_tsan, millpond_asan)) { 200 } else { 2000 };
    let (pool, locals) = P::with(seats, choice);
    let (tasks, left) = (Tasks::new(count * seats), AtomicUsize::new(count * seats));
    let work = |seat: usize, mut local: P::Local| {
        let taken = |task: TaskRef| {
            tasks.taken(task);
            left.fetch_sub(1, Relaxed);
        };
        for n in seat * count..(seat + 1) * count {
            pool.put(&mut local, tasks.make(n), if n % 2 == 0 { Put::Spawned } else { Put::Released });
            match n % 7 {
                0 => pool.take(&mut local).into_iter().for_each(taken),
                1 => {
                    let wanted = |task| tasks.number(task).is_multiple_of(2);
                    pool.take_if(&mut local, wanted).0.into_iter().for_each(taken);
                }
                2 => pool.steal(&mut local).into_iter().for_each(taken),
                3 => _ = pool.expose(&mut local),
                _ => {}
            }
            if n % 500 == 0 {
                pool.leave(&mut local, Leave::Seat);
            }
        }
        pool.leave(&mut local, Leave::Body);
        while left.load(Relaxed) > 0 {
            match pool.take(&mut local).or_else(|| pool.steal(&mut local)) {
                Some(task) => taken(task),
                None => thread::yield_now(),
            }
        }
    };
    thread::scope(|scope| {
        let work = &work;
        for (seat, local) in locals.into_iter().enumerate() {
            scope.spawn(move || work(seat, local));
        }
    });
    tasks.check();
    assert!(!pool.has_work(), "{name} with {seats}: all is taken, and it says that it has work");
}
