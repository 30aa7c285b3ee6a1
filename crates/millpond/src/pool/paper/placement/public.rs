//! Each worker has a private block of four tasks, and a public list of such blocks (TP §3.5,
//! `dq8`). A worker without tasks takes blocks from another worker's list: one, or as many as
//! `share` says. Only the public lists have locks.

use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use super::super::lock::Guarded;
use super::super::params::{Filling, Share};
use super::super::settings::Settings;
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
pub struct Local {
    number: usize,
    private: Box<Four>,
    /// For a greedy worker: full blocks that are not public, oldest first.
    behind: VecDeque<Box<Four>>,
    spare: Spare,
}

// SAFETY: the tasks move with the local state.
unsafe impl Send for Local {}

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
    fn begin_block(&self, local: &mut Local) -> Found {
        let empty = local.spare.take();
        let full = std::mem::replace(&mut local.private, empty);
        match self.filling {
            Filling::Generous => Found::of_put(self.lists[local.number].put(full)),
            Filling::Greedy => {
                local.behind.push_back(full);
                Found::Nothing
            }
        }
    }

    /// For a greedy worker: makes its oldest full block public, if its public list is empty.
    #[inline]
    fn show_one(&self, local: &mut Local) -> Found {
        let list = &self.lists[local.number];
        if !list.looks_empty() {
            return Found::Nothing;
        }
        local.behind.pop_front().map_or(Found::Nothing, |block| Found::of_put(list.put(block)))
    }

    /// Makes `block` the private block, and takes a task from it.
    fn go_on(&self, local: &mut Local, block: Box<Four>) -> Option<TaskRef> {
        local.spare.keep(std::mem::replace(&mut local.private, block));
        local.private.pop()
    }
}

impl Placement for Public {
    const PARAMS: &'static [&'static str] = &["filling", "share", "lock"];
    type Local = Local;

    fn new(seats: usize, settings: &Settings) -> (Self, Vec<Local>) {
        let list = |_| {
            let blocks = Guarded::new(settings.params.lock, Fours::default());
            CachePadded::new(List { blocks, len: AtomicUsize::new(0) })
        };
        let lists = (0..seats).map(list).collect();
        let local = |number| {
            let (private, behind, spare) = Default::default();
            Local { number, private, behind, spare }
        };
        (
            Public { lists, filling: settings.params.filling, share: settings.params.share },
            (0..seats).map(local).collect(),
        )
    }

    #[inline]
    fn put(&self, local: &mut Local, task: TaskRef) -> Found {
        let found = if local.private.is_full() { self.begin_block(local) } else { Found::Nothing };
        local.private.push(task);
        if self.filling == Filling::Greedy { self.show_one(local) } else { found }
    }

    #[inline]
    fn take(&self, local: &mut Local) -> Option<TaskRef> {
        if let Some(task) = local.private.pop() {
            return Some(task);
        }
        if let Some(block) = local.behind.pop_back() {
            return self.go_on(local, block);
        }
        let list = &self.lists[local.number];
        if list.looks_empty() {
            return None;
        }
        let block = list.with(Fours::pop)?;
        self.go_on(local, block)
    }

    fn take_if(&self, local: &mut Local, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if !local.private.is_empty() {
            return local.private.pop_if(wanted);
        }
        match local.behind.back_mut() {
            None => self.lists[local.number].with(|blocks| blocks.pop_task_if(wanted)),
            Some(block) => {
                let task = block.pop_if(wanted);
                if block.is_empty() {
                    local.behind.pop_back();
                }
                task
            }
        }
    }

    /// Searches the other workers' lists in turn, starting with the next worker's.
    fn steal(&self, local: &mut Local) -> Option<TaskRef> {
        let workers = self.lists.len();
        let mut others = (local.number + 1..workers).chain(0..local.number).map(|number| &self.lists[number]);
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
        let mine = &self.lists[local.number];
        more.into_iter().rev().for_each(|block| _ = mine.put(block));
        if local.private.is_empty() {
            return self.go_on(local, first);
        }
        // A worker that has tasks does not steal. If one does, it keeps its tasks.
        let task = first.pop();
        if first.is_empty() {
            local.spare.keep(first)
        } else {
            _ = mine.put(first)
        }
        task
    }

    fn leave(&self, local: &mut Local, _leave: Leave) -> bool {
        let list = &self.lists[local.number];
        let before = local.behind.len();
        local.behind.drain(..).for_each(|block| _ = list.put(block));
        if local.private.is_empty() {
            return before > 0;
        }
        let empty = local.spare.take();
        list.put(std::mem::replace(&mut local.private, empty));
        true
    }

    fn has_work(&self) -> bool {
        self.lists.iter().any(|list| !list.looks_empty())
    }
}
