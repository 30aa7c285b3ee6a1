//! A scheme: for each version in use, a queue of its waiting accesses. The queues are in locked
//! tables of the process. The address of the version's `Meta` is the key.

use std::collections::{BTreeMap, VecDeque};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use millpond::depend::{Mode, Record, Released, Scheme};

/// A queue for each version.
#[derive(Debug)]
pub struct Queues;

/// The state in a version: only a unique address.
#[derive(Debug, Default)]
pub struct Meta {
    _bytes: AtomicU64,
}

/// The accesses to one version.
#[derive(Debug)]
struct Queue {
    /// The number of granted, unreleased accesses. All are of one generation.
    running: usize,
    /// The mode of this generation.
    mode: Mode,
    /// The accesses after it, in the order of their issue.
    waiting: VecDeque<Waiting>,
    retired: bool,
}

#[derive(Debug)]
struct Waiting(NonNull<Record>, Mode);

// SAFETY: the record stays valid until it is released. The thread that takes this out of a queue
// grants the access.
unsafe impl Send for Waiting {}

type Table = BTreeMap<usize, Queue>;

/// Several tables, so that threads seldom wait for each other.
static TABLES: [Mutex<Table>; 16] = [const { Mutex::new(Table::new()) }; 16];

/// The locked table of a version, and the key of the version.
fn table(meta: &Meta) -> (MutexGuard<'static, Table>, usize) {
    let key = ptr::from_ref(meta).addr();
    let table = &TABLES[key / 64 % TABLES.len()];
    (table.lock().unwrap_or_else(PoisonError::into_inner), key)
}

/// The number of versions in all tables. It is 0 once all handles are dropped.
pub fn versions() -> usize {
    TABLES.iter().map(|table| table.lock().unwrap_or_else(PoisonError::into_inner).len()).sum()
}

impl Queue {
    /// Whether an access of this mode may start now.
    fn admits(&self, mode: Mode) -> bool {
        self.running == 0 || (self.waiting.is_empty() && mode.shares() && mode == self.mode)
    }

    /// Removes the next generation from the queue, and makes it the running one.
    fn advance(&mut self) -> Vec<NonNull<Record>> {
        let Some(&Waiting(_, mode)) = self.waiting.front() else { return Vec::new() };
        let together = self.waiting.iter().take_while(|next| mode.shares() && next.1 == mode).count();
        let granted: Vec<_> = self.waiting.drain(..together.max(1)).map(|Waiting(record, _)| record).collect();
        (self.running, self.mode) = (granted.len(), mode);
        granted
    }
}

// SAFETY: an access is granted when all unreleased accesses before it are of its generation. Else
// it waits. The release that ends the generation before its own grants it. A table's lock orders
// the two. `Meta` is a number, so zeroed bytes are valid; a version without a table entry is
// unused.
unsafe impl Scheme for Queues {
    type Meta = Meta;
    type Local = ();
    type Shared = ();

    const NAME: &'static str = "queues";

    fn is_idle(meta: &Meta) -> bool {
        let (table, key) = table(meta);
        table.get(&key).is_none_or(|queue| queue.running == 0)
    }

    fn is_ready(meta: &Meta, mode: Mode) -> bool {
        let (table, key) = table(meta);
        table.get(&key).is_none_or(|queue| queue.admits(mode))
    }

    fn prefetch(_meta: &Meta, _record: &Record) {}

    unsafe fn issue((): &mut (), meta: &Meta, record: &Record) -> bool {
        let (mut table, key) = table(meta);
        let mode = record.mode();
        let new = || Queue { running: 0, mode, waiting: VecDeque::new(), retired: false };
        let queue = table.entry(key).or_insert_with(new);
        let granted = queue.admits(mode);
        if granted {
            (queue.running, queue.mode) = (queue.running + 1, mode);
        } else {
            queue.waiting.push_back(Waiting(record.into(), mode));
        }
        granted
    }

    unsafe fn release((): &(), (): &mut (), meta: &Meta, _record: &Record) -> Released {
        let (mut table, key) = table(meta);
        let queue = table.get_mut(&key).expect("the access was issued");
        queue.running -= 1;
        if queue.running > 0 {
            return Released::default();
        }
        let granted = queue.advance();
        let last = granted.is_empty() && queue.retired;
        if last {
            table.remove(&key);
        }
        // Another thread may free the version from here on, so `meta` is not used after this.
        drop(table);
        let mut chain = None;
        for record in granted.into_iter().rev() {
            // SAFETY: a record stays valid until it is released, and this one is not granted yet.
            let this = unsafe { record.as_ref() };
            // SAFETY: this scheme has the record, and the link leads to one that is granted with
            // it.
            unsafe { this.write_link(chain.map_or(ptr::null_mut(), |next: NonNull<Record>| next.as_ptr().cast())) };
            chain = Some(record);
        }
        Released { granted: chain, last }
    }

    unsafe fn retire(meta: &Meta) -> bool {
        let (mut table, key) = table(meta);
        let Some(queue) = table.get_mut(&key) else { return true };
        queue.retired = true;
        let idle = queue.running == 0;
        if idle {
            table.remove(&key);
        }
        idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond::{DefaultMemory, DefaultPool, Handle, Parts, Runtime, Spawn};

    /// `retire`, `forget` and the last release remove a version from its table. This is the only
    /// test of the binary, because the tables belong to the process.
    #[test]
    fn no_version_stays() {
        let rt: Runtime<Parts<DefaultMemory, DefaultPool, Queues>> =
            Runtime::builder().workers(2).build_with().unwrap();
        for _ in 0..2 {
            let data: Vec<_> = (0..10).map(Handle::new).collect();
            rt.scope(|s| {
                for i in 0..1000 {
                    let (from, to) = (&data[i % 10], &data[i * 7 % 10 / 2 + 5]);
                    s.spawn(to.write(), move |to| to.set(i));
                    s.spawn(to.inout(), |to| *to += 1);
                    s.nest(from.inout(), |s, from| {
                        s.spawn(from.inout(), |from| *from += 1);
                        s.spawn(from.read(), |_| ());
                    });
                }
            })
            .unwrap();
            // Data used with another scheme afterwards.
            Runtime::new().unwrap().scope(|s| drop(s.spawn(data[0].inout(), |value| *value = 0))).unwrap();
        }
        assert_eq!(versions(), 0);
    }
}
