//! What a thief wants from a stack, and what it gets: a batch of closures.
//!
//! A batch is the first closure of a theft, and those that its thief has *reserved* behind it
//! (`batches`). Each of them waits for nothing, or only for earlier ones of the batch. So a thief
//! may take a whole chain of tasks at once, and runs the batch in order.

use super::theft::{self, State};
use crate::stack::layout::frames::Frames;
use crate::task::{Role, TaskRef};

/// Which closures of the youngest frame a scan leaves to the stack's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spare {
    Nothing,
    /// As many as the thief wants, from the owner's next closure on. The owner takes about as long
    /// for these as the thief for its batch, so it reaches no closure that the thief still has.
    Next,
    /// This many ready closures.
    Ready(usize),
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Request {
    /// The largest number of closures to take, all of one frame.
    pub(super) most: usize,
    spare: Spare,
    /// Whether the stack's owner takes them for itself: leaves of the youngest frame only. It may
    /// run nothing else on the stack of a waiting body.
    by_owner: bool,
    /// Whether it may take a closure that another thief has reserved.
    takes_reserved: bool,
    /// Set by the scan: whether it is in the youngest frame, and the order of the first closure
    /// there that is not left to the owner.
    pub(super) in_youngest: bool,
    pub(super) begins_at: u64,
    /// Ready closures that the scan has left to the owner.
    pub(super) spared: usize,
    /// Whether it has seen ready closures that another thief has reserved.
    saw_reserved: bool,
    pub(super) found: Vec<TaskRef>,
}

/// What a scan does with a ready closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Take,
    /// Ready, but the owner's.
    Spare,
    Leave,
    /// The scan ends before this closure.
    End,
}

impl Request {
    /// For a stack that has no owner.
    pub(in crate::stack) fn first(most: u64) -> Self {
        Request {
            most: most as usize,
            spare: Spare::Nothing,
            by_owner: false,
            takes_reserved: false,
            in_youngest: false,
            begins_at: 0,
            spared: 0,
            saw_reserved: false,
            found: Vec::new(),
        }
    }

    /// For a stack whose owner continues at once. If `most` is one, the scan takes the first ready
    /// closure: a longer scan is not worth it.
    pub(in crate::stack) fn ahead(most: u64) -> Self {
        if most > 1 { Request::behind(most) } else { Request::first(most) }
    }

    /// For a stack whose owner is in a long body.
    pub(in crate::stack) fn behind(most: u64) -> Self {
        Request { spare: Spare::Next, ..Request::first(most) }
    }

    /// For the owner itself, while its next closure is stolen. If `takes_reserved`, it takes what
    /// other thieves have reserved, if nothing else is ready.
    pub(in crate::stack) fn by_owner(most: u64, takes_reserved: bool) -> Self {
        Request { by_owner: true, takes_reserved, ..Request::first(most) }
    }

    /// Whether the scan visits only the youngest frame.
    pub(super) fn is_by_owner(&self) -> bool {
        self.by_owner
    }

    /// Whether a task with this role may be taken.
    pub(super) fn admits(&self, role: Role) -> bool {
        role == Role::Leaf || (role != Role::Combine && !self.by_owner)
    }

    /// How many closures the scan may have to pass before it finds some.
    pub(super) fn wanted(&self) -> usize {
        if self.in_youngest && self.spare == Spare::Next { 2 * self.most } else { self.most }
    }

    /// What to do with a ready closure of this role and state.
    pub(super) fn choose(&mut self, role: Role, order: u64, state: State) -> Choice {
        if state == State::Reserved && !self.takes_reserved {
            self.saw_reserved = true;
            return Choice::Leave;
        }
        if role != Role::Leaf {
            // A parent is taken alone, because it may represent all the work that there is.
            return if self.found.is_empty() { Choice::Take } else { Choice::End };
        }
        let is_spared = self.in_youngest
            && self.found.is_empty()
            && match &mut self.spare {
                Spare::Nothing => false,
                Spare::Next => order < self.begins_at,
                Spare::Ready(left) => {
                    *left > 0 && {
                        *left -= 1;
                        true
                    }
                }
            };
        if !is_spared {
            return Choice::Take;
        }
        self.spared += 1;
        Choice::Spare
    }

    /// Whether there is something to take, even if it is what the scan has left to the owner.
    pub(super) fn has_some(&self) -> bool {
        !self.found.is_empty() || self.spared > 0
    }

    /// Whether the scan has found enough. One parent is enough, and so is one reserved closure.
    pub(super) fn is_full(&self, itself: impl Fn(TaskRef) -> TaskRef) -> bool {
        let is_parent = |first: &TaskRef| itself(*first).header().role() != Role::Leaf;
        let most = if self.takes_reserved { 1 } else { self.most };
        self.found.first().is_some_and(is_parent) || self.found.len() >= most
    }

    /// Changes the request after a scan that has found nothing. Returns false if there is nothing
    /// to scan for again.
    pub(super) fn asks_for_less(&mut self) -> bool {
        if self.spared > 0 {
            // Half of what is ready.
            self.spare = Spare::Ready(self.spared / 2);
            self.spared = 0;
            return true;
        }
        if !self.saw_reserved || self.takes_reserved || self.by_owner {
            return false;
        }
        (self.takes_reserved, self.spare) = (true, Spare::Nothing);
        true
    }

    /// Takes the closures that were found. The caller holds the stack's owner lock.
    pub(super) fn take(self, frames: &Frames) -> Option<Batch> {
        let (&first, rest) = self.found.split_first()?;
        if self.takes_reserved {
            // If it was reserved, its thief may have begun it since the scan. The others may wait
            // for it.
            return frames.batches.take_back(first).then(|| {
                theft::take(first);
                Batch { first, rest: None, count: 1 }
            });
        }
        theft::take(first);
        let untouched = |this: &&TaskRef| theft::state(**this) == State::Untouched;
        let rest: Vec<TaskRef> = rest.iter().take_while(untouched).copied().collect();
        let count = 1 + rest.len();
        Some(Batch { first, rest: frames.batches.reserve(rest), count })
    }
}

/// Stolen closures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    pub(in crate::stack) first: TaskRef,
    /// The batch of the reserved closures, if there are any.
    pub(in crate::stack) rest: Option<u64>,
    /// How many there are in all.
    pub(in crate::stack) count: usize,
}
