//! The word that a task block lends to a pool: the links of an intrusive list (TP §4.2).
//!
//! A pool that links its tasks needs no nodes of its own. So the memory manager decides where the
//! members of a list lie, as in the paper, whose `tpool_task_t` has room for the pool.
//!
//! A header has no free word. It has enough free bits while the task is ready:
//!
//! ```text
//!     47                     32 31                              3 2   0
//!    +-------------------------+---------------------------------+-----+
//!    | Header::label_or_link   | Header::unmet, the lowest 29    |  0  |   an address
//!    +-------------------------+---------------------------------+-----+
//! ```
//!
//! - `label_or_link` says where the label is, but only in a compact task. Such a task is in a frame
//!   of a stack, never in a pool. If it leaves its frame, it is expanded: the copy has a new
//!   header, and its label is in the extras.
//! - A task that a pool has returned keeps the link. So `compact_label` reads the word in compact
//!   tasks only.
//! - `unmet` counts preconditions. All of them are met, so no thread reads the count again. Before
//!   each poll, a future sets the count.
//! - The bits of `unmet` above the count keep their meaning: the join of a session's task may set
//!   one of them at any time.
//! - A header is aligned to 8 bytes, and user addresses have at most 48 bits.
//!
//! A doubly linked list needs two links. Its users work at the ends only, so each member stores the
//! exclusive or of its neighbours' addresses. A thread that comes from one neighbour computes the
//! other.

use std::ptr::{self, NonNull};

use super::header::{LINK_LOW_BITS, LINK_LOW_MASK};
use super::{Header, TaskRef, flag};
use crate::sync::tracked::Ordering::Relaxed;

/// The lowest bits of a header's address, which are 0.
const ALIGNMENT_BITS: u32 = align_of::<Header>().trailing_zeros();

/// The number of bits of an address that fit.
const ADDRESS_BITS: u32 = u16::BITS + LINK_LOW_BITS + ALIGNMENT_BITS;
const _: () = assert!(ADDRESS_BITS == 48);

/// The exclusive or of the addresses of a task's neighbours in a list. A missing neighbour counts
/// as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbours(u64);

impl Neighbours {
    /// For a member at the end of a list, or a singly linked one.
    #[inline]
    pub(crate) fn one(neighbour: Option<TaskRef>) -> Self {
        Neighbours(address(neighbour))
    }

    /// The neighbour that is not `known`.
    #[inline]
    pub(crate) fn other(self, known: Option<TaskRef>) -> Option<TaskRef> {
        let address = (self.0 ^ address(known)) as usize;
        NonNull::new(ptr::with_exposed_provenance_mut(address)).map(TaskRef)
    }

    /// The same with `added` instead of a missing neighbour, or without `added` if it was one.
    #[inline]
    pub(crate) fn toggle(self, added: TaskRef) -> Self {
        Neighbours(self.0 ^ address(Some(added)))
    }
}

/// The address of a task, exposed, because a link keeps only its bits.
#[inline]
fn address(task: Option<TaskRef>) -> u64 {
    task.map_or(0, |task| task.0.as_ptr().expose_provenance() as u64)
}

impl TaskRef {
    /// Stores the neighbours in the task's block.
    ///
    /// The caller is the pool that holds the task, and no other thread uses the word meanwhile.
    #[inline]
    pub(crate) fn set_neighbours(self, neighbours: Neighbours) {
        let header = self.header();
        if neighbours.0 >> ADDRESS_BITS != 0 {
            does_not_fit(neighbours);
        }
        let bits = neighbours.0 >> ALIGNMENT_BITS;
        header.label_or_link.set((bits >> LINK_LOW_BITS) as u16);
        // Relaxed, here and in `neighbours`: the pool's lock, or its owner's thread, orders these.
        let (low, now) = (bits as u32 & LINK_LOW_MASK, header.unmet.load(Relaxed));
        if header.has(flag::COUNTED) {
            // A join may set a bit of `unmet` meanwhile, but no other thread changes the count. So
            // the difference has no carry.
            header.unmet.fetch_add(low.wrapping_sub(now & LINK_LOW_MASK), Relaxed);
        } else {
            header.unmet.store(now & !LINK_LOW_MASK | low, Relaxed);
        }
    }

    /// The neighbours that [`set_neighbours`](TaskRef::set_neighbours) stored.
    #[inline]
    pub(crate) fn neighbours(self) -> Neighbours {
        let header = self.header();
        let low = u64::from(header.unmet.load(Relaxed) & LINK_LOW_MASK);
        Neighbours((u64::from(header.label_or_link.get()) << LINK_LOW_BITS | low) << ALIGNMENT_BITS)
    }
}

#[cold]
#[inline(never)]
fn does_not_fit(neighbours: Neighbours) -> ! {
    // Not a panic: the caller may be inside a list that it has half changed.
    eprintln!("millpond: a task at an address of more than {ADDRESS_BITS} bits: {neighbours:x?}");
    std::process::abort()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::error::Label;
    use crate::task::{Role, ScopePtr, VTable};

    fn header() -> Header {
        Header::on_stack(&VTable::OF_POOLS, ScopePtr::DANGLING, Location::caller())
    }

    fn task(header: &Header) -> TaskRef {
        TaskRef(NonNull::from(header))
    }

    #[test]
    fn a_link_leads_to_the_task_and_leaves_the_other_bits_alone() {
        for flags in [0, flag::COUNTED] {
            let (header, other) = (header(), header());
            task(&header).add_flags(flags);
            header.cancel();
            header.abandon();
            for neighbour in [Some(task(&other)), None, Some(task(&header))] {
                task(&header).set_neighbours(Neighbours::one(neighbour));
                assert_eq!(task(&header).neighbours().other(None), neighbour);
                assert!(header.is_cancelled() && header.is_abandoned());
            }
            assert_eq!((header.has(flag::COUNTED), header.accesses()), (flags == flag::COUNTED, 0));
        }
    }

    /// The largest address that fits, and one with alternating bits.
    #[test]
    fn every_bit_of_an_address_is_kept() {
        let header = header();
        for address in [(1_u64 << ADDRESS_BITS) - 8, 0x5555_5555_5550, 0xAAAA_AAAA_AAA8, 8, 0] {
            task(&header).set_neighbours(Neighbours(address));
            assert_eq!(task(&header).neighbours(), Neighbours(address));
            assert!(!header.is_called_off());
        }
    }

    #[test]
    fn two_neighbours_in_one_word() {
        let [left, middle, right] = [header(), header(), header()];
        let [left, middle, right] = [&left, &middle, &right].map(task);
        middle.set_neighbours(Neighbours::one(Some(left)).toggle(right));
        assert_eq!(middle.neighbours().other(Some(left)), Some(right));
        assert_eq!(middle.neighbours().other(Some(right)), Some(left));
        middle.set_neighbours(middle.neighbours().toggle(left));
        assert_eq!(middle.neighbours().other(None), Some(right));
    }

    /// A future with a join has the flags of a compact leaf while it is suspended.
    #[test]
    fn a_link_is_not_taken_for_the_offset_of_a_label() {
        const FUTURE: VTable = VTable { role: Role::Future, ..VTable::OF_POOLS };
        for (vtable, flags) in [
            (&VTable::OF_POOLS, 0),
            (&VTable::OF_POOLS, flag::COUNTED),
            (&VTable::OF_POOLS, flag::IN_PLACE),
            (&FUTURE, flag::SUSPENDED),
            (&FUTURE, flag::SUSPENDED | flag::COUNTED),
        ] {
            let header = Header::on_stack(vtable, ScopePtr::DANGLING, Location::caller());
            let task = task(&header);
            task.add_flags(flags);
            // As an offset, this would be inside the header.
            task.set_neighbours(Neighbours(1 << (ADDRESS_BITS - 16)));
            assert_eq!(header.label_or_link.get(), 1);
            assert_eq!((task.compact_label(), task.label()), (None, Label::place(header.place())));
        }
    }

    /// One thread moves a task through lists while another one cancels it.
    #[test]
    fn a_cancel_is_not_lost() {
        for _ in 0..if cfg!(miri) { 5 } else { 2000 } {
            let (header, other) = (header(), header());
            task(&header).add_flags(flag::COUNTED);
            let (sent, begun) = (task(&header), std::sync::Barrier::new(2));
            std::thread::scope(|scope| {
                let begun = &begun;
                scope.spawn(move || {
                    begun.wait();
                    sent.header().cancel();
                });
                begun.wait();
                for turn in 0..20 {
                    task(&header).set_neighbours(Neighbours::one((turn % 2 == 0).then(|| task(&other))));
                }
            });
            assert!(header.is_cancelled());
        }
    }
}
