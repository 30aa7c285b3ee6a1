//! Where tasks wait that are not ready, and are looked for: chains by the depth of a task in the task graph (TG §4.4), a
//! table of them for each level of nesting.
//!
//! A search looks at a few tasks where one is likely to be ready: at the innermost level, from the least depth on, since
//! what lies deeper waits for something before it. If it finds none it goes on where the last one stopped, round all
//! tasks, and again only for a few: others need the lock. A table grows with the depths that lie in it; chains are linked
//! through the tasks. A search takes O(1), and finding the one task that is ready O(tasks that wait) in the worst case.
//!
//! Protocol:
//!
//! 1. One lock guards the chains, and is held for a search. `waiting` counts the tasks in them, and one that is being put.
//! 2. **Put**, under the lock: swap `waiting` for one more; look whether the task is ready. If so it is the caller's; else
//!    it is linked.
//! 3. **Release**, after the fetch-and-add by which it has counted itself: if anybody is `waiting`, and `changed` is not
//!    true, swap that to true.
//! 4. **Find**: if `changed` or `unfinished`, take the lock; if `changed`, set `unfinished`, then swap `changed` to false,
//!    and a new round begins, of as many looks as there are tasks. Look at the likely ones, then go on with the round.
//!    `unfinished` says afterwards whether it has looks left.
//!
//! The swaps of 2 to 4, the loads of 3, the counts of releases and the looks at them are SeqCst, and so have one order. (A
//! fence costs as much as a read-modify-write, and each would be beside one. Models have fences there: loom knows no other
//! SeqCst.)
//!
//! Why no task is forgotten:
//!
//! * **Put against release.** A put swaps, then looks; a release counts itself, then loads `waiting`. In their order either
//!   the put sees the release, or the release sees that somebody is waiting; then a find, which needs the lock, comes after
//!   the task is linked.
//! * **A round that misses a release** which it began for: its looks are before that release's count, hence its swap (4)
//!   before that release's load of `changed`. So `changed` is true after this release, by its own swap or by one of another
//!   release that comes after (4), and another round follows.
//! * **Sleep.** A worker does not sleep while `changed` or `unfinished` is true, and while a round goes on one of them is:
//!   who reads the false of its swap reads what was set before. Whoever has released looks at them and wakes somebody,
//!   unless nobody sleeps (`Worker::release_one`); who finds a task passes that on (`Worker::search`).

use std::ptr::{self, NonNull};

use crate::sync::tracked::Ordering::{Acquire, Relaxed, SeqCst};
use crate::sync::tracked::{AtomicBool, AtomicUsize};
use crate::sync::{Spinning, fence_of_models};
use crate::task::{Header, Record, TaskRef};

#[cfg(all(test, loom))]
mod loom_tests;

/// The most chains of a level: beyond, a chain holds several depths.
const MOST: usize = 1 << 20;
/// How many tasks and chains a search looks at where a task is likely to be ready, and how many in its round.
const LIKELY: usize = 32;
const ROUND: usize = 96;
/// Where the depth is in what the first access keeps.
const DEPTH_SHIFT: u32 = 32;

/// The tasks of a runtime that wait.
#[derive(Debug, Default)]
pub struct Pool {
    chains: Spinning<Chains>,
    waiting: AtomicUsize,
    /// Whether something was released since the last round began.
    changed: AtomicBool,
    /// Whether the round has looks left.
    unfinished: AtomicBool,
}

/// All chains.
#[derive(Debug, Default)]
struct Chains {
    /// By the nesting of the scopes.
    levels: Vec<Level>,
    tasks: usize,
    /// No task lies at a higher level than the one before this.
    top: usize,
    round: Round,
}

/// How far a search has come.
#[derive(Debug, Default)]
struct Round {
    /// Looks that are left.
    left: usize,
    /// Where it goes on, and how many tasks it has not looked at there.
    level: usize,
    chain: usize,
    in_chain: usize,
}

/// The chains of one level.
#[derive(Debug, Default)]
struct Level {
    /// Their number is a power of two, or 0.
    table: Vec<Chain>,
    tasks: usize,
    /// No task lies less deep, nor deeper.
    least: u32,
    greatest: u32,
}

/// The tasks of a depth.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    first: Option<TaskRef>,
    last: Option<TaskRef>,
    len: usize,
}

// SAFETY: tasks are handed between threads through the pool, under its lock.
unsafe impl Send for Chains {}

impl Pool {
    /// Adds a task, unless it is ready: false, and it is the caller's.
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

    /// Something was released, by a SeqCst read-modify-write.
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

    /// Takes a task that is ready, if there is one where it looks.
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
        self.len += 1;
    }

    fn pop(&mut self) -> Option<TaskRef> {
        let task = self.first?;
        self.unlink(None, task);
        Some(task)
    }

    /// Unlinks a task, which comes after `before`.
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

    /// Takes the first task that is ready; uses up `looks`.
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

    /// Adds a task; whether chains are elsewhere now.
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

    /// Makes a chain for each depth at which a task may lie, up to a bound.
    fn grow(&mut self) -> bool {
        let wanted = ((self.greatest - self.least) as usize + 1).next_power_of_two().min(MOST);
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

    /// Takes the first task that is ready, from the least depth on; uses up `looks`.
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
            // The chain in which the round was has other tasks now.
            (self.round.left, self.round.in_chain) = (self.round.left.max(self.tasks), 0);
        }
        // It may come to this one before it has come to all that were there.
        self.round.left += usize::from(self.round.left > 0);
        self.tasks += 1;
        self.top = self.top.max(level + 1);
    }

    /// Looks from the innermost level and the least depth on.
    fn take_likely(&mut self, is_ready: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        while self.top > 0 && self.levels[self.top - 1].tasks == 0 {
            self.top -= 1;
        }
        let mut looks = LIKELY;
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

    /// Goes on with the round: who is not ready goes to the end of its chain.
    fn go_round(&mut self, is_ready: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        for _ in 0..ROUND {
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

    /// Turns to the next chain, round all levels.
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
