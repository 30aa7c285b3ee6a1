//! The pool of waiting tasks that workers search: chains by the depth of a task in the task graph
//! (TG §4.4), with a table of chains for each nesting level.
//!
//! A search first checks a few tasks where a ready one is likely: from the innermost nesting level
//! and the least depth on, because deeper tasks wait for a task before them. If it finds none, it
//! continues the round over all tasks where the last search stopped. Again it checks only a few,
//! because other threads need the lock. A table grows with the range of depths in it. Chains are
//! linked through the tasks. A search takes O(1). In the worst case, finding the only ready task
//! takes O(waiting tasks).
//!
//! Protocol:
//!
//! 1. One lock guards the chains; a search holds it. `waiting` counts the tasks in the chains, and
//!    one that is being put.
//! 2. **Put**, under the lock: increment `waiting` by a swap, then check whether the task is ready.
//!    If it is, the caller owns it. Otherwise it is linked.
//! 3. **Release**, after the fetch-and-add that counts it: if `waiting` is not 0 and `changed` is
//!    false, swap `changed` to true.
//! 4. **Find**: if `changed` or `unfinished` is true, take the lock. If `changed` is true, set
//!    `unfinished`, then swap `changed` to false; a new round begins, with as many checks as there
//!    are tasks. Check the likely tasks, then continue the round. Afterwards `unfinished` says
//!    whether the round has checks left.
//!
//! These operations are SeqCst, and so have one total order: the swaps of 2 to 4, the loads of 3,
//! the counts of releases, and the checks that read them. (A fence costs as much as a
//! read-modify-write, and each place has a read-modify-write already. Models use fences there: loom
//! knows no other SeqCst.)
//!
//! No task is forgotten:
//!
//! * **Put against release.** A put swaps, then checks. A release counts itself, then loads
//!   `waiting`. In the total order, either the put sees the release, or the release sees a waiting
//!   task. In the second case, a find comes after the task is linked, because it needs the lock.
//! * **A round that misses a release.** If the checks of a round miss a release, they precede its
//!   count. So the round's swap (4) precedes the release's load of `changed`. So `changed` is true
//!   after this release, by its own swap or by another release's after (4). Another round follows.
//! * **Sleep.** A worker does not sleep while `changed` or `unfinished` is true. During a round,
//!   one of them is true: a thread that reads the false of the round's swap also reads what was set
//!   before it. A releasing thread reads both, and wakes a sleeping worker, if there is one
//!   (`Worker::release_one`). A thread that finds a task passes this on (`Worker::search`).

use std::ptr::{self, NonNull};

use crate::sync::tracked::Ordering::{Acquire, Relaxed, SeqCst};
use crate::sync::tracked::{AtomicBool, AtomicUsize};
use crate::sync::{Spinning, fence_of_models};
use crate::task::{Header, Record, TaskRef};

#[cfg(all(test, loom))]
mod loom_tests;

/// The maximum number of chains per level. If there are more depths, a chain holds several.
const MAX_CHAINS: usize = 1 << 20;
/// The maximum number of tasks and chains that a search checks where a ready task is likely.
const MAX_LIKELY_CHECKS: usize = 32;
/// The maximum number of tasks and chains that a search checks in its round.
const MAX_ROUND_CHECKS: usize = 96;
/// The position of the depth in the first access's own word.
const DEPTH_SHIFT: u32 = 32;

/// The waiting tasks of a runtime.
#[derive(Debug, Default)]
pub struct Pool {
    chains: Spinning<Chains>,
    waiting: AtomicUsize,
    /// Whether an access was released since the last round began.
    changed: AtomicBool,
    /// Whether the round has checks left.
    unfinished: AtomicBool,
}

/// All chains.
#[derive(Debug, Default)]
struct Chains {
    /// Indexed by the nesting depth of the scopes.
    levels: Vec<Level>,
    tasks: usize,
    /// Greater than the level of every task.
    top: usize,
    round: Round,
}

/// The progress of a search.
#[derive(Debug, Default)]
struct Round {
    /// The number of checks left.
    left: usize,
    /// The position where the round continues, and the number of unchecked tasks there.
    level: usize,
    chain: usize,
    in_chain: usize,
}

/// The chains of one level.
#[derive(Debug, Default)]
struct Level {
    /// The number of chains is a power of two, or 0.
    table: Vec<Chain>,
    tasks: usize,
    /// All tasks have depths from `least` to `greatest`.
    least: u32,
    greatest: u32,
}

/// The tasks of one depth.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    first: Option<TaskRef>,
    last: Option<TaskRef>,
    len: usize,
}

// SAFETY: threads hand tasks over through the pool, under its lock.
unsafe impl Send for Chains {}

impl Pool {
    /// Adds a task, unless it is ready. Returns false if it is ready: then the caller owns it.
    pub(super) fn put(&self, task: TaskRef, level: u32, depth: u32, is_ready: impl Fn(TaskRef) -> bool) -> bool {
        self.chains.with(|chains| {
            self.waiting.swap(chains.tasks + 1, SeqCst);
            fence_of_models();
            let waits = !is_ready(task);
            if waits {
                chains.put(task, level as usize, depth);
            } else {
                self.waiting.store(chains.tasks, Relaxed);
            }
            waits
        })
    }

    /// Records that an access was released, by a SeqCst read-modify-write.
    #[inline]
    pub(super) fn note_release(&self) {
        fence_of_models();
        if self.waiting.load(SeqCst) != 0 && !self.changed.load(SeqCst) {
            self.changed.swap(true, SeqCst);
        }
    }

    /// Whether a search might find a task.
    #[inline]
    pub(super) fn has_changed(&self) -> bool {
        (self.changed.load(Acquire) || self.unfinished.load(Relaxed)) && self.waiting.load(Relaxed) != 0
    }

    /// Takes a ready task, if there is one among the tasks that it checks.
    pub(super) fn find(&self, is_ready: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if !self.has_changed() {
            return None;
        }
        self.chains.with(|chains| {
            if self.changed.load(Relaxed) {
                self.unfinished.store(true, Relaxed);
                self.changed.swap(false, SeqCst);
                fence_of_models();
                chains.round.left = chains.tasks;
            } else if chains.round.left == 0 {
                return None;
            }
            let found = chains.take_likely(&is_ready).or_else(|| chains.go_round(&is_ready));
            chains.tasks -= usize::from(found.is_some());
            if chains.tasks == 0 {
                chains.round.left = 0;
            }
            self.waiting.store(chains.tasks, Relaxed);
            self.unfinished.store(chains.round.left > 0, Relaxed);
            found
        })
    }
}

/// The first access of a waiting task, which always has one.
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
        self.len += 1;
    }

    fn pop(&mut self) -> Option<TaskRef> {
        let task = self.first?;
        self.unlink(None, task);
        Some(task)
    }

    /// Unlinks a task that follows `before`.
    fn unlink(&mut self, before: Option<TaskRef>, task: TaskRef) {
        let next = after(task);
        match before {
            Some(before) => set_after(before, next),
            None => self.first = next,
        }
        if next.is_none() {
            self.last = before;
        }
        self.len -= 1;
    }

    /// Takes the first ready task. Each check uses up one of `looks`.
    fn take(&mut self, is_ready: impl Fn(TaskRef) -> bool, looks: &mut usize) -> Option<TaskRef> {
        let (mut before, mut at) = (None, self.first);
        while let Some(task) = at.filter(|_| *looks > 0) {
            *looks -= 1;
            if is_ready(task) {
                self.unlink(before, task);
                return Some(task);
            }
            (before, at) = (Some(task), after(task));
        }
        None
    }
}

impl Level {
    fn chain(&mut self, depth: u32) -> &mut Chain {
        let mask = self.table.len() - 1;
        &mut self.table[depth as usize & mask]
    }

    /// Adds a task. Returns whether the chains have moved.
    fn put(&mut self, task: TaskRef, depth: u32) -> bool {
        if self.tasks == 0 {
            (self.least, self.greatest) = (depth, depth);
        }
        (self.least, self.greatest) = (self.least.min(depth), self.greatest.max(depth));
        let grown = self.grow();
        self.tasks += 1;
        self.chain(depth).push(task);
        grown
    }

    /// Makes a chain for each depth that a task may have, up to a maximum.
    fn grow(&mut self) -> bool {
        let wanted = ((self.greatest - self.least) as usize + 1).next_power_of_two().min(MAX_CHAINS);
        let grows = wanted > self.table.len();
        if grows {
            let old = std::mem::replace(&mut self.table, vec![Chain::default(); wanted]);
            for mut chain in old {
                while let Some(task) = chain.pop() {
                    self.chain(depth(task)).push(task);
                }
            }
        }
        grows
    }

    /// Takes the first ready task, from the least depth on. Each check uses up one of `looks`.
    fn take(&mut self, is_ready: impl Fn(TaskRef) -> bool, looks: &mut usize) -> Option<TaskRef> {
        let chains = (self.greatest - self.least).min(self.table.len() as u32 - 1);
        let mut none_before = true;
        for depth in self.least..=self.least + chains {
            if *looks == 0 {
                return None;
            }
            let chain = self.chain(depth);
            none_before &= chain.first.is_none();
            let found = chain.take(&is_ready, looks);
            if none_before {
                self.least = depth + 1;
            } else if let Some(task) = found {
                self.tasks -= 1;
                return Some(task);
            } else {
                *looks = looks.saturating_sub(1);
            }
        }
        None
    }
}

impl Chains {
    fn put(&mut self, task: TaskRef, level: usize, depth: u32) {
        let own = first(task).own().map_addr(|noted| noted | (depth as usize) << DEPTH_SHIFT);
        first(task).set_own(own);
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, Level::default);
        }
        if self.levels[level].put(task, depth) {
            // The chain where the round stopped has other tasks now.
            (self.round.left, self.round.in_chain) = (self.round.left.max(self.tasks), 0);
        }
        // The round may reach this task before it has reached all earlier ones.
        self.round.left += usize::from(self.round.left > 0);
        self.tasks += 1;
        self.top = self.top.max(level + 1);
    }

    /// Checks tasks from the innermost level and the least depth on.
    fn take_likely(&mut self, is_ready: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        while self.top > 0 && self.levels[self.top - 1].tasks == 0 {
            self.top -= 1;
        }
        let mut looks = MAX_LIKELY_CHECKS;
        for level in self.levels[..self.top].iter_mut().rev() {
            if looks == 0 {
                return None;
            }
            let found = if level.tasks == 0 { None } else { level.take(&is_ready, &mut looks) };
            if found.is_some() {
                return found;
            }
            looks = looks.saturating_sub(1);
        }
        None
    }

    /// Continues the round. A task that is not ready goes to the end of its chain.
    fn go_round(&mut self, is_ready: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        for _ in 0..MAX_ROUND_CHECKS {
            if self.round.left == 0 {
                return None;
            }
            if self.round.in_chain == 0 {
                self.next_chain();
                continue;
            }
            let Round { level, chain, .. } = self.round;
            let level = &mut self.levels[level];
            let Some(task) = level.table[chain].pop() else {
                self.round.in_chain = 0;
                continue;
            };
            self.round.in_chain -= 1;
            self.round.left -= 1;
            if is_ready(task) {
                level.tasks -= 1;
                return Some(task);
            }
            level.table[chain].push(task);
        }
        None
    }

    /// Advances to the next chain, round all levels.
    fn next_chain(&mut self) {
        let round = &mut self.round;
        round.chain += 1;
        if self.levels.get(round.level).is_none_or(|level| level.tasks == 0 || round.chain >= level.table.len()) {
            round.chain = 0;
            round.level = if round.level + 1 < self.top { round.level + 1 } else { 0 };
        }
        let level = &self.levels[round.level];
        round.in_chain = level.table.get(round.chain).map_or(0, |chain| chain.len);
    }
}
