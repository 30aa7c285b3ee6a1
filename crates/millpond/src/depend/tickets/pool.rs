//! Where tasks wait that are not ready, and are looked for: a table of chains, by the depth of a task in the task graph
//! (TG §4.4).
//!
//! A search goes from the least depth on and ends at the first task that is ready, since what lies deeper waits for
//! something before it. It takes O(tasks that it looks at); in the worst case that is all that wait. The table grows with
//! what waits; chains are linked through the tasks.
//!
//! Protocol:
//!
//! 1. One lock guards the chains. `waiting` counts the tasks in them, and one that is being put.
//! 2. **Put**, under the lock: count the task; SeqCst fence; look whether it is ready. If so it is the caller's; else it
//!    is linked.
//! 3. **Release**, after it has counted itself: SeqCst fence; if anybody is `waiting`, swap `changed` to true.
//! 4. **Find**: if `changed`, take the lock, and swap `changed` to false; if that was still true, look through the chains.
//!    A task that is found is unlinked, and `changed` is true again, since there may be more.
//!
//! Why no task is forgotten. By the fences either the put sees the release, or the release sees that somebody is waiting;
//! then a find, which needs the lock, comes after the task is linked. Say a find does not see a release that it looks for:
//! then its swap (4) is before that release's (3) in the order of the swaps, or it would have acquired it; so `changed` is
//! true after it. And whoever has released looks at `changed` and wakes somebody, unless nobody sleeps
//! (`Worker::release_one`); who finds a task passes that on (`Worker::search`).

use std::ptr::{self, NonNull};

use crate::sync::Mutex;
use crate::sync::tracked::Ordering::{AcqRel, Relaxed, SeqCst};
use crate::sync::tracked::{AtomicBool, AtomicUsize, fence};
use crate::task::{Header, Record, TaskRef};

/// Chains at first; a power of two.
const LEAST: usize = if cfg!(loom) { 1 } else { 64 };
/// The most chains: beyond, a chain holds several depths.
const MOST: usize = 1 << 20;
/// Where the depth is in what the first access keeps.
const DEPTH_SHIFT: u32 = 32;

/// The tasks of a runtime that wait.
#[derive(Debug, Default)]
pub struct Pool {
    chains: Mutex<Chains>,
    waiting: AtomicUsize,
    /// Whether something was released since the last search.
    changed: AtomicBool,
}

/// The table.
#[derive(Debug, Default)]
struct Chains {
    /// Their number is a power of two, or 0.
    table: Vec<Chain>,
    tasks: usize,
    /// No task lies less deep, nor deeper.
    least: u32,
    greatest: u32,
}

/// The tasks of a depth, in the order in which they were put.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    first: Option<TaskRef>,
    last: Option<TaskRef>,
}

// SAFETY: tasks are handed between threads through the pool, under its lock.
unsafe impl Send for Chains {}

impl Pool {
    /// Adds a task, unless it is ready: false, and it is the caller's.
    pub(super) fn put(&self, task: TaskRef, depth: u32, is_ready: impl Fn(TaskRef) -> bool) -> bool {
        let mut chains = self.chains.lock();
        self.waiting.store(chains.tasks + 1, Relaxed);
        fence(SeqCst);
        let waits = !is_ready(task);
        if waits {
            chains.put(task, depth);
        }
        self.waiting.store(chains.tasks, Relaxed);
        waits
    }

    /// Something was released.
    #[inline]
    pub(super) fn note_release(&self) {
        fence(SeqCst);
        if self.waiting.load(Relaxed) != 0 {
            self.changed.swap(true, AcqRel);
        }
    }

    /// Whether something was released since the last search, and somebody waits.
    #[inline]
    pub(super) fn has_changed(&self) -> bool {
        self.changed.load(Relaxed) && self.waiting.load(Relaxed) != 0
    }

    /// Takes a task that is ready, if there is one.
    pub(super) fn find(&self, is_ready: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if !self.has_changed() {
            return None;
        }
        let mut chains = self.chains.lock();
        if !self.changed.swap(false, AcqRel) {
            return None;
        }
        let found = chains.take(is_ready);
        if found.is_some() {
            self.waiting.store(chains.tasks, Relaxed);
            self.changed.swap(true, AcqRel);
        }
        found
    }
}

/// The first access of a task that waits: it has one.
fn first(task: TaskRef) -> &'static Record {
    &task.records()[0]
}

fn depth(task: TaskRef) -> u32 {
    (first(task).own().addr() >> DEPTH_SHIFT) as u32
}

fn after(task: TaskRef) -> Option<TaskRef> {
    NonNull::new(first(task).link().cast::<Header>()).map(TaskRef)
}

fn set_after(task: TaskRef, next: Option<TaskRef>) {
    first(task).set_link(next.map_or(ptr::null_mut(), |next| next.0.as_ptr().cast()));
}

impl Chain {
    fn push(&mut self, task: TaskRef) {
        set_after(task, None);
        match self.last.replace(task) {
            Some(last) => set_after(last, Some(task)),
            None => self.first = Some(task),
        }
    }

    /// Unlinks the first task that is ready.
    fn take(&mut self, is_ready: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        let (mut before, mut at) = (None, self.first);
        while let Some(task) = at {
            let next = after(task);
            if is_ready(task) {
                match before {
                    Some(before) => set_after(before, next),
                    None => self.first = next,
                }
                if next.is_none() {
                    self.last = before;
                }
                return Some(task);
            }
            (before, at) = (Some(task), next);
        }
        None
    }
}

impl Chains {
    fn put(&mut self, task: TaskRef, depth: u32) {
        let own = first(task).own().map_addr(|noted| noted | (depth as usize) << DEPTH_SHIFT);
        first(task).set_own(own);
        if self.tasks == 0 {
            (self.least, self.greatest) = (depth, depth);
        }
        (self.least, self.greatest) = (self.least.min(depth), self.greatest.max(depth));
        self.grow();
        self.tasks += 1;
        self.chain(depth).push(task);
    }

    fn chain(&mut self, depth: u32) -> &mut Chain {
        let mask = self.table.len() - 1;
        &mut self.table[depth as usize & mask]
    }

    /// Makes a chain for each depth at which a task may lie, up to a bound.
    fn grow(&mut self) {
        let wanted = ((self.greatest - self.least) as usize + 1).next_power_of_two().clamp(LEAST, MOST);
        if wanted <= self.table.len() {
            return;
        }
        let old = std::mem::replace(&mut self.table, vec![Chain::default(); wanted]);
        for mut chain in old {
            while let Some(task) = chain.first {
                chain.first = after(task);
                self.chain(depth(task)).push(task);
            }
        }
    }

    /// Takes the first task that is ready, from the least depth on.
    fn take(&mut self, is_ready: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if self.tasks == 0 {
            return None;
        }
        let chains = (self.greatest - self.least).min(self.table.len() as u32 - 1);
        let mut at_least = true;
        for depth in self.least..=self.least + chains {
            let chain = self.chain(depth);
            if let Some(task) = chain.take(&is_ready) {
                self.tasks -= 1;
                return Some(task);
            }
            at_least &= chain.first.is_none();
            if at_least {
                self.least = depth + 1;
            }
        }
        None
    }
}
