//! What must come out: each value is dropped once, each body runs once at most, and what waits for a scope finds nothing of
//! it left.

use std::mem;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::thread;

use crate::common::Mutex;

/// The values that one program may make.
const VALUES: usize = 2048;

pub struct Ledger {
    /// By value: whether it may leak, how often it was dropped.
    values: Box<[(AtomicBool, AtomicU8)]>,
    made: AtomicUsize,
    /// By task: whether it must run, how often it did.
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

    /// A task is spawned that must run.
    pub fn due(&self, task: usize) {
        self.tasks[task].0.store(true, Relaxed);
    }

    pub fn ran(&self, task: usize) {
        let before = self.tasks[task].1.fetch_add(1, Relaxed);
        self.check(before == 0, || format!("task {task} runs a second time"));
    }

    /// Whether all values are gone that must be.
    pub fn is_empty(&self) -> bool {
        self.kept().next().is_none()
    }

    /// Whether all tasks have run that must.
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

    /// Whether a value has leaked, that may.
    pub fn has_leaks(&self) -> bool {
        let leaks = |(may, dropped): &(AtomicBool, AtomicU8)| may.load(SeqCst) && dropped.load(SeqCst) == 0;
        self.values.iter().any(leaks)
    }

    /// What is wrong when everything has ended.
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
    /// Without memory of its own, so that it may leak.
    Light,
    /// Its drop panics.
    Bomb,
}

/// A value whose drop is counted. What it has on the heap shows a use after its drop to the sanitizers.
pub struct Tracked {
    ledger: Arc<Ledger>,
    id: usize,
    heap: Option<Box<u64>>,
    bomb: bool,
}

impl Tracked {
    /// A look at it.
    pub fn look(&self) {
        if let Some(heap) = &self.heap {
            let found = **heap as u32 as u64;
            self.ledger.check(found == mark(self.id), || format!("value {} is spoilt: {found:#x}", self.id));
        }
    }

    /// A change of it.
    pub fn change(&mut self) {
        self.look();
        if let Some(heap) = &mut self.heap {
            **heap += 1 << 32;
        }
    }

    /// Its drop does not panic.
    pub fn defused(mut self) -> Self {
        self.bomb = false;
        self
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.look();
        let before = self.ledger.values[self.id].1.fetch_add(1, SeqCst);
        self.ledger.check(before == 0, || format!("value {} is dropped a second time", self.id));
        if self.bomb && !thread::panicking() {
            resume_unwind(Box::new("expected: a drop"));
        }
    }
}

/// How many closures of a scope there are.
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

/// `mem::forget`, of what a leak checker can still find.
pub fn forget<T>(value: T) {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    if cfg!(millpond_asan) {
        KEPT.lock().push(Box::into_raw(Box::new(value)).expose_provenance());
    } else {
        mem::forget(value);
    }
}

/// Whether something may be forgotten that keeps threads: a few times in a process. Not if a leak checker looks, which sees of a
/// thread only the stack that it is on.
pub fn may_forget_threads() -> bool {
    static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);
    !cfg!(millpond_asan) && FORGOTTEN.fetch_add(1, Relaxed) < 16
}
