//! The default pool: a split deque a seat, and a lane for urgent tasks beside them.
//!
//! A worker's own tasks lie in its deque. What it keeps private costs it nothing to put and take; thieves see
//! the public part only, so somebody has to publish. The rules:
//!
//! * A put publishes when the public part is empty and a task is left to the owner: a lone task stays private, since
//!   the owner takes it next, and handing it over would cost more than most bodies do.
//! * A put by a body that goes on ([`Put::Spawned`]) publishes even a lone task while somebody is hungry.
//! * Before a body ([`expose`](Pool::expose)) everything is published, if nothing is public yet; before a long one, a
//!   half of a fork, and one that goes on after a wait ([`leave`](Pool::leave)), in any case.
//! * With one seat nothing is.
//!
//! A thief takes a quarter of what its victim shows divided by the number of seats (callers' seats, too), up to 32
//! tasks, and keeps all but the first in its own deque: the lines of the victim's deque are fetched once for all of
//! them, and those of the next task while the one before it runs ([`next`](Pool::next)). If the first is a fork it
//! takes no more: the oldest fork is worth the most.
//!
//! Whether the public part is empty is a question to a line that thieves write: 70 ns after a theft, nothing otherwise.
//! A put asks when somebody is hungry, asleep or not, for then the answer is probably yes; and one in 64 asks anyhow,
//! for a thief that is between two looks. Else it goes by what it saw last.

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

/// Room in a deque before it first grows: 2 KiB.
const CAPACITY: usize = if cfg!(loom) { 2 } else { 256 };

/// Of how many puts in a row one looks at what thieves left.
const PATIENCE: u32 = 64;

/// Tasks that a thief takes from one victim at a time.
const MOST_AT_ONCE: u64 = 32;

/// How often a thief tries one victim anew after another was faster.
const ATTEMPTS: usize = 4;

/// The default pool: a deque a seat, of which the owner pays no atomic read-modify-write for what nobody steals.
pub struct Split {
    thieves: Box<[Thief]>,
    urgent: CachePadded<Urgent>,
    hungry: CachePadded<AtomicUsize>,
}

/// What a worker keeps for itself.
pub struct Seat {
    deque: Owner,
    /// Nobody can steal.
    alone: bool,
    /// Puts left until one looks at what thieves left.
    patience: u32,
    number: usize,
    random: XorShift,
}

// SAFETY: a deque hands each task to its owner or to one thief, with what happened before the put (see `deque`); a
// lane does so by its lock. A task is put into exactly one of them.
unsafe impl Pool for Split {
    type Local = Seat;
    type Choice = ();

    const NAME: &'static str = "default";

    const HONOURS_PRIORITY: bool = true;

    fn with(seats: usize, _choice: &()) -> (Self, Vec<Seat>) {
        let (owners, thieves): (Vec<_>, Vec<_>) = (0..seats).map(|_| deque::new(CAPACITY)).unzip();
        let pool = Split {
            thieves: thieves.into(),
            urgent: CachePadded::default(),
            hungry: CachePadded::new(AtomicUsize::new(0)),
        };
        let seat = |(number, deque)| Seat {
            deque,
            alone: seats == 1,
            patience: PATIENCE,
            number,
            random: XorShift::new(number),
        };
        (pool, owners.into_iter().enumerate().map(seat).collect())
    }

    #[inline]
    fn put(&self, local: &mut Seat, task: TaskRef, why: Put) -> bool {
        // SAFETY: the task is being put into this pool.
        let priority = unsafe { task.priority() };
        self.put_at(local, task, priority, why)
    }

    #[inline]
    fn take(&self, local: &mut Seat) -> Option<TaskRef> {
        match self.urgent.pop() {
            Some(task) => Some(Self::before_others(local, task)),
            None => local.deque.pop(),
        }
    }

    #[inline]
    fn take_if(&self, local: &mut Seat, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        match self.urgent.pop_if(&wanted) {
            Some(task) => (Some(task), false),
            None => local.deque.pop_if(wanted),
        }
    }

    fn steal(&self, local: &mut Seat) -> Option<TaskRef> {
        self.steal_by(local, |task| (task.header().role() != Role::Fork).then(|| task.header().scope_state()))
    }

    fn take_oldest(&self, seat: usize) -> Option<TaskRef> {
        persist(&self.thieves[seat])
    }

    fn put_first(&self, _local: &mut Seat, task: TaskRef) -> bool {
        self.urgent.push(task, 0);
        true
    }

    #[inline]
    fn expose(&self, local: &mut Seat) -> bool {
        !local.alone && local.deque.private() > 0 && local.deque.publish(0)
    }

    #[inline]
    fn next(&self, local: &Seat) -> Option<TaskRef> {
        local.deque.newest()
    }

    fn leave(&self, local: &mut Seat, _leave: Leave) -> bool {
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
    /// A task that comes before the seat's own: others must be able to find those, which it may keep waiting by a lock.
    #[cold]
    fn before_others(local: &mut Seat, task: TaskRef) -> TaskRef {
        if !local.alone {
            local.deque.publish_all();
        }
        task
    }

    #[inline]
    fn put_at(&self, local: &mut Seat, task: TaskRef, priority: i8, why: Put) -> bool {
        if priority > 0 {
            self.urgent.push(task, priority);
            return true;
        }
        local.deque.push(task);
        !local.alone && self.publish(local, why)
    }

    /// `group`: a thief that has got a task takes more of the same group; without a group, no more.
    fn steal_by<G: PartialEq>(&self, local: &mut Seat, group: impl Fn(TaskRef) -> Option<G>) -> Option<TaskRef> {
        self.urgent.pop().or_else(|| self.rob(local, group))
    }

    /// The rules at the top of this file.
    #[inline]
    fn publish(&self, local: &mut Seat, why: Put) -> bool {
        let hungry = self.is_hungry();
        let keep = if hungry && why == Put::Spawned { 0 } else { 1 };
        if local.deque.private() <= keep {
            return false;
        }
        if local.deque.public_seen() && !hungry {
            local.patience -= 1;
            if local.patience > 0 {
                return false;
            }
        }
        local.publish(keep)
    }

    /// One round over the other seats, from a random one on.
    fn rob<G: PartialEq>(&self, local: &mut Seat, group: impl Fn(TaskRef) -> Option<G>) -> Option<TaskRef> {
        let seats = self.thieves.len();
        let (own, start) = (local.number, local.random.below(seats));
        for victim in (start..seats).chain(0..start).filter(|&victim| victim != own) {
            let victim = &self.thieves[victim];
            let Some(task) = persist(victim) else { continue };
            if let Some(first) = group(task) {
                self.keep_some_of(local, victim, |task| group(task).as_ref() == Some(&first));
            }
            return Some(task);
        }
        None
    }

    /// The rest of a theft: more tasks from the same end, while its lines are here. Only of the first one's scope: a body
    /// that waits for one of another scope may keep the first from running on, by a lock; so that one goes to anybody.
    fn keep_some_of(&self, local: &mut Seat, victim: &Thief, goes_along: impl Fn(TaskRef) -> bool) {
        let fair = victim.public() / self.thieves.len() as u64;
        for _ in 1..(fair / 4).min(MOST_AT_ONCE) {
            let Steal::Task(task) = victim.steal() else { break };
            if !goes_along(task) {
                return self.urgent.push(task, 0);
            }
            local.deque.push(task);
        }
    }
}

impl Seat {
    #[cold]
    fn publish(&mut self, keep: u64) -> bool {
        self.patience = PATIENCE;
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
