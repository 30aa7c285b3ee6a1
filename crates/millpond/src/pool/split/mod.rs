//! The default pool: a split deque for each seat, and a shared priority queue for urgent tasks.
//!
//! A worker's own tasks are in its deque. Putting and taking its private tasks costs no atomic
//! operation. Thieves see only the public part, so the owner has to publish tasks. The rules:
//!
//! * A put publishes if the public part is empty and at least one task is left for the owner. A
//!   lone task stays private: the owner takes it next, and a handover would cost more than most
//!   bodies.
//! * A put by a continuing body ([`Put::Spawned`]) publishes even a lone task while some worker is
//!   hungry.
//! * Before a body ([`expose`](Pool::expose)), the owner publishes all tasks if none is public yet.
//!   It does so in any case ([`leave`](Pool::leave)) before a long body, before a half of a fork,
//!   and before a body continues after a wait.
//! * With one seat, nothing is published.
//!
//! A thief takes several tasks at once. Its share is the number of the victim's public tasks,
//! divided by the number of seats (callers' seats, too). It takes a quarter of that share, at most
//! 32 tasks, and keeps all but the first in its own deque. So the thief fetches the lines of the
//! victim's deque once for all of them. While it runs a task, it fetches the lines of the next one
//! ([`next`](Pool::next)). If the first task is a fork, the thief takes no more: the oldest fork is
//! worth the most.
//!
//! To learn whether the public part is empty, a put reads a line that thieves write. That costs 70
//! ns after a theft, and nothing otherwise. A put reads it when some worker is hungry, asleep or
//! not: then the part is probably empty. One put in 64 reads it anyway, for a thief between two
//! searches. Other puts use the last value.

use crossbeam_utils::CachePadded;

use self::deque::{Owner, Steal, Thief};
use self::urgent::Urgent;
use super::random::{Draw, XorShift};
use super::{Leave, Pool, Put};
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::sync::spin_loop;
use crate::task::{Role, TaskRef};

mod deque;
#[cfg(all(test, loom))]
mod loom_models;
#[cfg(all(test, not(loom)))]
mod tests;
mod urgent;

/// The room in a deque before it first grows: 2 KiB.
const CAPACITY: usize = if cfg!(loom) { 2 } else { 256 };

/// One in this many successive puts reads the thieves' line.
const PUTS_PER_READ: u32 = 64;

/// The most tasks that a thief takes from one victim at a time.
const MAX_STOLEN_AT_ONCE: u64 = 32;

/// How often a thief tries one victim while other threads are faster.
const ATTEMPTS: usize = 4;

/// The default pool: a deque for each seat. The owner pays no atomic read-modify-write for tasks
/// that are not stolen.
pub struct Split {
    thieves: Box<[Thief]>,
    urgent: CachePadded<Urgent>,
    hungry: CachePadded<AtomicUsize>,
}

/// The default pool.
pub type DefaultPool = Split;

/// The part of the pool that belongs to one worker.
pub struct Local {
    deque: Owner,
    /// There is only one seat, so there are no thieves.
    alone: bool,
    /// The number of puts until one reads the thieves' line.
    puts_until_read: u32,
    number: usize,
    random: XorShift,
}

// SAFETY: a deque hands each task to its owner or to one thief, and the put happens before that
// (see `deque`). The priority queue does the same under its lock. A task is put into exactly one of
// them.
unsafe impl Pool for Split {
    type Local = Local;
    type Choice = ();

    const NAME: &'static str = "default";

    const HONOURS_PRIORITY: bool = true;

    fn with(seats: usize, _choice: &()) -> (Self, Vec<Local>) {
        let (owners, thieves): (Vec<_>, Vec<_>) = (0..seats).map(|_| deque::new(CAPACITY)).unzip();
        let pool = Split {
            thieves: thieves.into(),
            urgent: CachePadded::default(),
            hungry: CachePadded::new(AtomicUsize::new(0)),
        };
        let local = |(number, deque)| Local {
            deque,
            alone: seats == 1,
            puts_until_read: PUTS_PER_READ,
            number,
            random: XorShift::new(number),
        };
        (pool, owners.into_iter().enumerate().map(local).collect())
    }

    #[inline]
    fn put(&self, local: &mut Local, task: TaskRef, why: Put) -> bool {
        // SAFETY: the task is being put into this pool.
        let priority = unsafe { task.priority() };
        self.put_at(local, task, priority, why)
    }

    #[inline]
    fn take(&self, local: &mut Local) -> Option<TaskRef> {
        match self.urgent.pop() {
            Some(task) => Some(Self::before_others(local, task)),
            None => local.deque.pop(),
        }
    }

    #[inline]
    fn take_if(&self, local: &mut Local, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        match self.urgent.pop_if(&wanted) {
            Some(task) => (Some(task), false),
            None => local.deque.pop_if(wanted),
        }
    }

    fn steal(&self, local: &mut Local) -> Option<TaskRef> {
        self.steal_by(local, |task| (task.header().role() != Role::Fork).then(|| task.header().scope_state()))
    }

    fn take_oldest(&self, seat: usize) -> Option<TaskRef> {
        persist(&self.thieves[seat])
    }

    fn put_first(&self, _local: &mut Local, task: TaskRef) -> bool {
        self.urgent.push(task, 0);
        true
    }

    #[inline]
    fn expose(&self, local: &mut Local) -> bool {
        !local.alone && local.deque.private() > 0 && local.deque.publish(0)
    }

    #[inline]
    fn next(&self, local: &Local) -> Option<TaskRef> {
        local.deque.newest()
    }

    fn leave(&self, local: &mut Local, _leave: Leave) -> bool {
        !local.alone && local.deque.publish_all()
    }

    fn hungry(&self, searching: bool) {
        if searching {
            self.hungry.fetch_add(1, Relaxed);
        } else {
            self.hungry.fetch_sub(1, Relaxed);
        }
    }

    #[inline]
    fn is_hungry(&self) -> bool {
        self.hungry.load(Relaxed) > 0
    }

    fn has_work(&self) -> bool {
        !self.urgent.is_empty() || self.thieves.iter().any(Thief::public_seen)
    }
}

impl Split {
    /// Returns a task that runs before the seat's own tasks. Other workers must be able to find
    /// those, because this task may hold a lock that they need.
    #[cold]
    fn before_others(local: &mut Local, task: TaskRef) -> TaskRef {
        if !local.alone {
            local.deque.publish_all();
        }
        task
    }

    #[inline]
    fn put_at(&self, local: &mut Local, task: TaskRef, priority: i8, why: Put) -> bool {
        if priority > 0 {
            self.urgent.push(task, priority);
            return true;
        }
        local.deque.push(task);
        !local.alone && self.publish(local, why)
    }

    /// Steals one task, and perhaps more of the same `group`. If the first task has no group, the
    /// thief takes no more.
    fn steal_by<G: PartialEq>(&self, local: &mut Local, group: impl Fn(TaskRef) -> Option<G>) -> Option<TaskRef> {
        self.urgent.pop().or_else(|| self.rob(local, group))
    }

    /// The rules at the top of this file.
    #[inline]
    fn publish(&self, local: &mut Local, why: Put) -> bool {
        let hungry = self.is_hungry();
        let keep = if hungry && why == Put::Spawned { 0 } else { 1 };
        if local.deque.private() <= keep {
            return false;
        }
        if local.deque.public_seen() && !hungry {
            local.puts_until_read -= 1;
            if local.puts_until_read > 0 {
                return false;
            }
        }
        local.publish(keep)
    }

    /// Makes one round over the other seats, starting at a random one.
    fn rob<G: PartialEq>(&self, local: &mut Local, group: impl Fn(TaskRef) -> Option<G>) -> Option<TaskRef> {
        let seats = self.thieves.len();
        let mut next = local.random.below(seats);
        for _ in 0..seats {
            let seat = next;
            next = if seat + 1 == seats { 0 } else { seat + 1 };
            if seat == local.number {
                continue;
            }
            let victim = &self.thieves[seat];
            let Some(task) = persist(victim) else { continue };
            if let Some(first) = group(task) {
                self.keep_some_of(local, victim, |task| group(task).as_ref() == Some(&first));
            }
            return Some(task);
        }
        None
    }

    /// The rest of a theft: takes more tasks from the same end, while its lines are in this cache.
    /// They all belong to the first task's scope. A body waiting for a task of another scope may
    /// hold a lock that the first task needs. So a task of another scope must not wait behind the
    /// first one: it goes to the shared queue.
    fn keep_some_of(&self, local: &mut Local, victim: &Thief, goes_along: impl Fn(TaskRef) -> bool) {
        let fair = victim.public() / self.thieves.len() as u64;
        for _ in 1..(fair / 4).min(MAX_STOLEN_AT_ONCE) {
            let Steal::Task(task) = victim.steal() else { break };
            if !goes_along(task) {
                return self.urgent.push(task, 0);
            }
            local.deque.push(task);
        }
    }
}

impl Local {
    #[cold]
    fn publish(&mut self, keep: u64) -> bool {
        self.puts_until_read = PUTS_PER_READ;
        self.deque.publish(keep)
    }
}

fn persist(victim: &Thief) -> Option<TaskRef> {
    for _ in 0..ATTEMPTS {
        match victim.steal() {
            Steal::Task(task) => return Some(task),
            Steal::Empty => return None,
            Steal::Lost => spin_loop(),
        }
    }
    None
}
