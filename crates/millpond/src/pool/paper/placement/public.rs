//! A private block of four tasks for each worker, and a public list of such blocks (TP §3.5,
//! `dq8`). A worker without tasks takes a block from another worker's list. Only the public lists
//! have locks.

use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use super::super::lock::Guarded;
use super::super::params::{Filling, Params, Share};
use super::fours::{Four, Fours, Spare};
use super::{Found, Placement};
use crate::pool::Leave;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::task::TaskRef;

/// See the [module](self).
pub struct Public {
    lists: Box<[CachePadded<List>]>,
    filling: Filling,
    share: Share,
}

/// One worker's public list.
struct List {
    blocks: Guarded<Fours>,
    /// The number of blocks, written under the lock.
    len: AtomicUsize,
}

/// The part of the pool that belongs to one worker.
pub struct Seat {
    number: usize,
    private: Box<Four>,
    /// For a greedy worker: full blocks that are not public, oldest first.
    behind: VecDeque<Box<Four>>,
    spare: Spare,
}

// SAFETY: the tasks move with the seat.
unsafe impl Send for Seat {}

impl List {
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut Fours) -> R) -> R {
        self.blocks.with(|blocks| {
            let result = f(blocks);
            self.len.store(blocks.len(), Relaxed);
            result
        })
    }

    #[inline]
    fn looks_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }

    /// Adds a block. Returns whether the list was empty before.
    #[inline]
    fn put(&self, block: Box<Four>) -> bool {
        self.with(|blocks| {
            blocks.push(block);
            blocks.len() == 1
        })
    }
}

impl Public {
    /// Called when the private block is full. That block goes to `behind` or to the public list,
    /// and an empty block takes its place.
    #[cold]
    fn begin_block(&self, seat: &mut Seat) -> Found {
        let empty = seat.spare.take();
        let full = std::mem::replace(&mut seat.private, empty);
        match self.filling {
            Filling::Generous => Found::of_put(self.lists[seat.number].put(full)),
            Filling::Greedy => {
                seat.behind.push_back(full);
                Found::Nothing
            }
        }
    }

    /// For a greedy worker: makes its oldest full block public, if its public list is empty.
    #[inline]
    fn show_one(&self, seat: &mut Seat) -> Found {
        let list = &self.lists[seat.number];
        if !list.looks_empty() {
            return Found::Nothing;
        }
        seat.behind.pop_front().map_or(Found::Nothing, |block| Found::of_put(list.put(block)))
    }

    /// Makes `block` the private block, and takes a task from it.
    fn go_on(&self, seat: &mut Seat, block: Box<Four>) -> Option<TaskRef> {
        seat.spare.keep(std::mem::replace(&mut seat.private, block));
        seat.private.pop()
    }
}

impl Placement for Public {
    const PARAMS: &'static [&'static str] = &["filling", "share", "lock"];
    type Seat = Seat;

    fn new(seats: usize, params: &Params) -> (Self, Vec<Seat>) {
        let list = |_| {
            let blocks = Guarded::new(params.lock, Fours::default());
            CachePadded::new(List { blocks, len: AtomicUsize::new(0) })
        };
        let lists = (0..seats).map(list).collect();
        let seat = |number| {
            let (private, behind, spare) = Default::default();
            Seat { number, private, behind, spare }
        };
        (Public { lists, filling: params.filling, share: params.share }, (0..seats).map(seat).collect())
    }

    #[inline]
    fn put(&self, seat: &mut Seat, task: TaskRef) -> Found {
        let found = if seat.private.is_full() { self.begin_block(seat) } else { Found::Nothing };
        seat.private.push(task);
        if self.filling == Filling::Greedy { self.show_one(seat) } else { found }
    }

    #[inline]
    fn take(&self, seat: &mut Seat) -> Option<TaskRef> {
        if let Some(task) = seat.private.pop() {
            return Some(task);
        }
        if let Some(block) = seat.behind.pop_back() {
            return self.go_on(seat, block);
        }
        let list = &self.lists[seat.number];
        if list.looks_empty() {
            return None;
        }
        let block = list.with(Fours::pop)?;
        self.go_on(seat, block)
    }

    fn take_if(&self, seat: &mut Seat, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if !seat.private.is_empty() {
            return seat.private.pop_if(wanted);
        }
        match seat.behind.back_mut() {
            None => self.lists[seat.number].with(|blocks| blocks.pop_task_if(wanted)),
            Some(block) => {
                let task = block.pop_if(wanted);
                if block.is_empty() {
                    seat.behind.pop_back();
                }
                task
            }
        }
    }

    /// Searches the other workers' lists in turn, starting with the next worker's.
    fn steal(&self, seat: &mut Seat) -> Option<TaskRef> {
        let workers = self.lists.len();
        let mut others = (seat.number + 1..workers).chain(0..seat.number).map(|number| &self.lists[number]);
        let stolen = others.find_map(|list| {
            if list.looks_empty() {
                return None;
            }
            list.with(|blocks| {
                let more = self.share.more(blocks.len(), workers);
                let first = blocks.pop()?;
                Some((first, (0..more).map_while(|_| blocks.pop()).collect::<Vec<_>>()))
            })
        });
        let (mut first, more) = stolen?;
        let mine = &self.lists[seat.number];
        more.into_iter().rev().for_each(|block| _ = mine.put(block));
        if seat.private.is_empty() {
            return self.go_on(seat, first);
        }
        // A worker that has tasks does not steal. If one does, it keeps its tasks.
        let task = first.pop();
        if first.is_empty() {
            seat.spare.keep(first)
        } else {
            _ = mine.put(first)
        }
        task
    }

    fn leave(&self, seat: &mut Seat, _leave: Leave) -> bool {
        let list = &self.lists[seat.number];
        let before = seat.behind.len();
        seat.behind.drain(..).for_each(|block| _ = list.put(block));
        if seat.private.is_empty() {
            return before > 0;
        }
        let empty = seat.spare.take();
        list.put(std::mem::replace(&mut seat.private, empty));
        true
    }

    fn has_work(&self) -> bool {
        self.lists.iter().any(|list| !list.looks_empty())
    }
}
