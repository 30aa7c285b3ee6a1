//! The expected results. Each value is dropped once, and each body runs at most once. After a wait
//! for a scope, nothing of that scope remains.

use std::mem;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::thread;

use crate::common::Mutex;

/// The maximum number of values in one program.
const VALUES: usize = 2048;

pub struct Ledger {
    /// For each value: whether it may leak, and how often it was dropped.
    values: Box<[(AtomicBool, AtomicU8)]>,
    made: AtomicUsize,
    /// For each task: whether it must run, and how often it did.
    tasks: Box<[(AtomicBool, AtomicU8)]>,
    faults: Mutex<Vec<String>>,
}

impl Ledger {
    pub fn new(tasks: usize) -> Arc<Self> {
        Arc::new(Ledger {
            values: (0..VALUES).map(|_| Default::default()).collect(),
            made: AtomicUsize::new(0),
            tasks: (0..tasks).map(|_| Default::default()).collect(),
            faults: Mutex::default(),
        })
    }

    pub fn fault(&self, what: impl Into<String>) {
        self.faults.lock().push(what.into());
    }

    pub fn check(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fault(what());
        }
    }

    pub fn value(self: &Arc<Self>, kind: Kind) -> Tracked {
        let id = self.made.fetch_add(1, Relaxed);
        self.values[id].0.store(kind == Kind::Light, Relaxed);
        let heap = (kind != Kind::Light).then(|| Box::new(mark(id)));
        Tracked { ledger: self.clone(), id, heap, bomb: kind == Kind::Bomb }
    }

    /// Records the spawn of a task that must run.
    pub fn due(&self, task: usize) {
        self.tasks[task].0.store(true, Relaxed);
    }

    pub fn ran(&self, task: usize) {
        let before = self.tasks[task].1.fetch_add(1, Relaxed);
        self.check(before == 0, || format!("task {task} runs a second time"));
    }

    /// Whether all values that must be dropped are dropped.
    pub fn is_empty(&self) -> bool {
        self.kept().next().is_none()
    }

    /// Whether all tasks that must run have run.
    pub fn all_ran(&self) -> bool {
        self.missing().next().is_none()
    }

    fn missing(&self) -> impl Iterator<Item = usize> {
        let is_missing = |(due, ran): &(AtomicBool, AtomicU8)| due.load(SeqCst) && ran.load(SeqCst) == 0;
        self.tasks.iter().enumerate().filter(move |(_, task)| is_missing(task)).map(|(id, _)| id)
    }

    fn kept(&self) -> impl Iterator<Item = usize> {
        let made = self.made.load(SeqCst);
        let is_kept = |id: &usize| !self.values[*id].0.load(SeqCst) && self.values[*id].1.load(SeqCst) == 0;
        (0..made).filter(is_kept)
    }

    /// Whether a value that may leak has leaked.
    pub fn has_leaks(&self) -> bool {
        let leaks = |(may, dropped): &(AtomicBool, AtomicU8)| may.load(SeqCst) && dropped.load(SeqCst) == 0;
        self.values.iter().any(leaks)
    }

    /// The errors after everything has ended.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = mem::take(&mut *self.faults.lock());
        faults.extend(self.kept().map(|id| format!("value {id} was not dropped")));
        faults.extend(self.missing().map(|id| format!("task {id} did not run")));
        faults
    }
}

fn mark(id: usize) -> u64 {
    id as u64 ^ 0x5EED
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Heap,
    /// Without heap memory, so that it may leak.
    Light,
    /// Its drop panics.
    Bomb,
}

/// A value whose drops are counted. It has heap memory, so that sanitizers report a use after its
/// drop.
pub struct Tracked {
    ledger: Arc<Ledger>,
    id: usize,
    heap: Option<Box<u64>>,
    bomb: bool,
}

impl Tracked {
    /// Checks the value.
    pub fn verify(&self) {
        if let Some(heap) = &self.heap {
            let found = **heap as u32 as u64;
            self.ledger.check(found == mark(self.id), || format!("value {} is spoilt: {found:#x}", self.id));
        }
    }

    /// Checks and writes the value.
    pub fn change(&mut self) {
        self.verify();
        if let Some(heap) = &mut self.heap {
            **heap += 1 << 32;
        }
    }

    /// Makes a value whose drop does not panic.
    pub fn defused(mut self) -> Self {
        self.bomb = false;
        self
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.verify();
        let before = self.ledger.values[self.id].1.fetch_add(1, SeqCst);
        self.ledger.check(before == 0, || format!("value {} is dropped a second time", self.id));
        if self.bomb && !thread::panicking() {
            resume_unwind(Box::new("expected: a drop"));
        }
    }
}

/// The number of live closures of a scope.
#[derive(Default)]
pub struct Life(AtomicUsize);

impl Life {
    pub fn alive(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// A closure of the scope holds it.
pub struct Lives(Arc<Life>);

impl Lives {
    pub fn of(life: &Arc<Life>) -> Self {
        life.0.fetch_add(1, SeqCst);
        Lives(life.clone())
    }
}

impl Drop for Lives {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

/// `mem::forget` for a value that a leak checker can still find.
pub fn forget<T>(value: T) {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    if cfg!(millpond_asan) {
        KEPT.lock().push(Box::into_raw(Box::new(value)).expose_provenance());
    } else {
        mem::forget(value);
    }
}

/// Whether a value that keeps threads may be forgotten. This happens a few times in a process. It
/// never happens under a leak checker, which sees only a thread's current stack.
pub fn may_forget_threads() -> bool {
    static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);
    !cfg!(millpond_asan) && FORGOTTEN.fetch_add(1, Relaxed) < 16
}
