//! Forks that nobody but their worker knows, and how others come by them.
//!
//! The second half of a `join(a, b)` lies on its caller's stack. As long as only its worker knows it, it is a slot in
//! the worker's stack of forks, and the join costs what storing and taking a pointer costs. To *offer* a fork is to
//! make a task of it (an [`Offer`], in a block of its own) and put that into the pool, where it is what any task is:
//! others steal it, its worker may take it back, or waits for it ([`Waiter`]).
//!
//! ```text
//!   slots    | offered | f2 | f3 | f4 |  free ...  |
//!              base      first          next         end        first, next: the owner's alone
//!
//!   limits   floor    first, or above everything: a pop that ends below it has to look
//!            ceiling  end - 1, or 0: a push that ends above it has to look
//! ```
//!
//! # Protocol
//!
//! Owner:
//!
//! 1. **Push**: store the slot, `next += 1`. If `next` is above `ceiling`, look (4).
//! 2. **Pop**: if `next - 1` is not below `floor`, the fork is private: `next -= 1`, and its body is called.
//! 3. **Pop below `floor`**: if `first == next`, it has been offered. The slots start anew at their base with `ceiling`
//!    0, and the caller takes the fork back from the pool or waits for it. Else it is private: `next -= 1`, look (4).
//! 4. **Look**: with two private forks, or with one while some worker has nothing to do, the oldest is *offered*: first
//!    `first += 1`, `floor = first`, `ceiling = end - 1`; then the task is put into the pool where all can find it.
//!    Else `floor = first`, `ceiling = 0`: the next push looks, too.
//! 5. **Before the worker leaves this stack for another, or disappears for long** all private forks are offered, the
//!    oldest first, and `ceiling` is 0.
//!
//! Thief, having taken a fork:
//!
//! * a. **Asks** for the next one: `ceiling = 0`, `floor` above everything. Then it runs the fork.
//!
//! # Why it works
//!
//! * **Which forks are private.** A join takes its own fork, so forks are taken in the reverse order of their pushes,
//!   as long as the worker stays on one stack; and when it leaves it, none is private (5). Forks are offered oldest
//!   first. So whoever pops with `first == next` has a fork that was offered, and else the newest private one is his.
//! * **`floor` is never too low.** It is `first`, by the owner, or above everything, by a thief: so a pop that does not
//!   look has a private fork. Both limits are otherwise hints, and relaxed: nothing is handed over through them.
//! * **An ask is not lost.** The owner opens the limits (4) before the fork can be found, so the ask of its thief comes
//!   after. One that the owner overwrites is about a fork that was offered before, and another has just been offered.
//!   If `ceiling` is 0 anyway, the next push looks without being asked.
//! * **Nobody starves beside a tree of forks.** While a worker has two forks or more, one of them, the largest piece of
//!   its work, lies in the pool; when that is stolen, the owner's next push or pop offers another. A lone fork is
//!   offered when somebody has nothing to do, asleep or not, as a lone task is (`pool::split`). The price: between two
//!   joins of its owner nobody is answered.
//!
//! A stack of forks is *closed* while its thread works for another runtime on top of it, or is no worker: what is
//! pushed meanwhile stays private, so that the two halves run one after the other. While a recorded body runs, each
//! fork is offered as it is pushed: a recording tells of each. (Also while the thread unwinds: then a drop that joins may
//! leave its stack, and other bodies of this worker keep their forks until it is back.)

use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::thread;

use super::current::CurrentWorker;
use super::wait::{Seat, Waiter};
use crate::memory::Block;
use crate::record::Id;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::task::{Header, NewTask, TaskRef, VTable};

#[cfg(all(test, loom))]
mod loom_tests;

/// Slots of a stack of forks before it first grows: half a page.
const CAPACITY: usize = 256;

/// What a stack of forks knows of a fork: the first field of one.
#[derive(Debug)]
pub(crate) struct Head {
    table: &'static VTable,
    /// Set when it is offered.
    offer: Cell<MaybeUninit<NonNull<Offer>>>,
}

/// A fork as a task, in a block of its own.
#[repr(C)]
pub(crate) struct Offer {
    header: Header,
    /// Its number in a recording: at this place, for `TaskRef::record_id`.
    id: Cell<Id>,
    waiter: Waiter,
    fork: NonNull<Head>,
    /// Of the stack that it comes from.
    limits: NonNull<Limits>,
}

/// Where the owner must look before it goes on.
#[derive(Debug)]
struct Limits {
    floor: AtomicUsize,
    ceiling: AtomicUsize,
}

type Slot = *const Head;

/// The private forks of one worker. Aligned, so that nothing else lies in what a thief may write to.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Forks {
    next: Cell<*mut Slot>,
    limits: Limits,
    first: Cell<*mut Slot>,
    base: Cell<*mut Slot>,
    /// The ceiling that leaves as much as there is.
    full: Cell<usize>,
    /// What the above point into.
    slots: RefCell<Vec<Slot>>,
    /// How many times it was closed.
    closed: Cell<u32>,
    /// Whether the body that runs is recorded.
    recorded: Cell<bool>,
    worker: Cell<Option<CurrentWorker>>,
}

impl Head {
    #[inline]
    pub(crate) fn new(table: &'static VTable) -> Self {
        Head { table, offer: Cell::new(MaybeUninit::uninit()) }
    }

    /// # Safety
    ///
    /// The fork was offered, and its offer not freed.
    pub(crate) unsafe fn offer(&self) -> NonNull<Offer> {
        // SAFETY: set when it was offered.
        unsafe { self.offer.get().assume_init() }
    }
}

impl Offer {
    pub(crate) const SIZE: usize = size_of::<Offer>();

    /// Makes a task of a fork.
    ///
    /// # Safety
    ///
    /// `block` has room for an offer and nobody else uses it. The fork stays where it is, and the worker's seat and
    /// `forks` live, until the offer was freed.
    pub(crate) unsafe fn create(block: Block, fork: NonNull<Head>, forks: &Forks, seat: &Seat, at: Place) -> TaskRef {
        // SAFETY: the fork is there, as the caller promises.
        let head = unsafe { fork.as_ref() };
        let new = NewTask {
            vtable: head.table,
            domain: NonNull::dangling(),
            order: 0,
            place: at,
            priority: 0,
            extras: None,
            accesses: 0,
        };
        // SAFETY: as the caller promises; the header is the first field.
        let task = unsafe { TaskRef::create(block, new) };
        let offer: *mut Offer = task.0.cast().as_ptr();
        macro_rules! set {
            ($($field:ident: $value:expr;)*) => {$(
                // SAFETY: the block has room for an offer, and nobody else knows it.
                unsafe { (&raw mut (*offer).$field).write($value) };
            )*};
        }
        set! {
            id: Cell::new(0);
            waiter: Waiter::new(seat);
            fork: fork;
            limits: NonNull::from(&forks.limits);
        }
        head.offer.set(MaybeUninit::new(task.0.cast()));
        task
    }

    pub(crate) fn task(offer: NonNull<Offer>) -> TaskRef {
        TaskRef(offer.cast())
    }

    /// The offer that a task of role `Fork` is.
    ///
    /// # Safety
    ///
    /// It is one, and not freed.
    pub(crate) unsafe fn of<'a>(task: TaskRef) -> &'a Offer {
        // SAFETY: the header of such a task is the first field of an offer.
        unsafe { task.0.cast().as_ref() }
    }

    pub(crate) fn fork(&self) -> NonNull<Head> {
        self.fork
    }

    pub(crate) fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Tells the fork's owner that it has nothing on offer any more (a).
    pub(crate) fn ask_for_another(&self) {
        // SAFETY: a stack of forks lives as long as its runtime, for which this thread works.
        unsafe { self.limits.as_ref() }.ask();
    }
}

/// Where a join is called.
pub(crate) type Place = &'static Location<'static>;

impl Limits {
    fn set(&self, floor: usize, ceiling: usize) {
        self.floor.store(floor, Relaxed);
        self.ceiling.store(ceiling, Relaxed);
    }

    fn ask(&self) {
        self.set(usize::MAX, 0);
    }
}

// SAFETY: only the thread that holds their worker's seat touches them, and their limits, which are atomics, are reached
// by a pointer of their own. A joiner, through which users reach them, stays on its thread.
unsafe impl Sync for Forks {}

/// Slots, the first of them, and the ceiling that leaves all of them.
fn room(capacity: usize) -> (Vec<Slot>, *mut Slot, usize) {
    let mut slots = vec![ptr::null(); capacity];
    let base = slots.as_mut_ptr();
    (slots, base, base.wrapping_add(capacity - 1).addr())
}

impl Forks {
    /// The forks of a worker that is not told yet.
    pub(crate) fn new() -> Self {
        let (slots, base, full) = room(CAPACITY);
        Forks {
            next: Cell::new(base),
            limits: Limits { floor: AtomicUsize::new(base.addr()), ceiling: AtomicUsize::new(0) },
            first: Cell::new(base),
            base: Cell::new(base),
            full: Cell::new(full),
            slots: RefCell::new(slots),
            closed: Cell::new(0),
            recorded: Cell::new(false),
            worker: Cell::new(None),
        }
    }

    /// Where nobody works: each fork stays private.
    pub(crate) fn of_nobody() -> Self {
        let forks = Self::new();
        forks.close();
        forks
    }

    /// Tells whose they are, before the first push.
    pub(crate) fn attach(&self, worker: CurrentWorker) {
        self.worker.set(Some(worker));
    }

    /// Whose they are.
    pub(crate) fn worker(&self) -> CurrentWorker {
        self.worker.get().expect("attached when the runtime was built")
    }

    /// Adds a private fork (1).
    ///
    /// # Safety
    ///
    /// It stays where it is until it was popped and, if it was offered, its offer has come to an end. On the worker's
    /// thread.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, fork: NonNull<Head>, place: Place) {
        let slot = self.next.get();
        // SAFETY: there is room for one more fork after each push (`look`), and after each pop.
        unsafe { slot.write(fork.as_ptr()) };
        let next = slot.wrapping_add(1);
        self.next.set(next);
        if next.addr() > self.limits.ceiling.load(Relaxed) {
            self.attend(place);
        }
    }

    /// Takes the newest fork, which is `fork`; false if it has been offered (2).
    #[inline(always)]
    pub(crate) fn pop(&self, fork: &Head) -> bool {
        let next = self.next.get().wrapping_sub(1);
        if next.addr() < self.limits.floor.load(Relaxed) {
            return self.pop_with_care(fork);
        }
        self.next.set(next);
        debug_assert!(self.has_popped(fork));
        true
    }

    /// Step 3.
    #[cold]
    #[inline(never)]
    fn pop_with_care(&self, fork: &Head) -> bool {
        if self.private() == 0 {
            self.start_anew();
            return false;
        }
        self.next.set(self.next.get().wrapping_sub(1));
        debug_assert!(self.has_popped(fork));
        self.look();
        true
    }

    /// Whether the fork that was just popped is this one.
    fn has_popped(&self, fork: &Head) -> bool {
        // SAFETY: the slot of a fork that was private.
        ptr::eq(unsafe { self.next.get().read() }, fork)
    }

    /// A push has ended above `ceiling`.
    #[cold]
    #[inline(never)]
    fn attend(&self, place: Place) {
        if self.next.get().addr() > self.full.get() {
            self.make_room();
        }
        if self.recorded.get() && self.closed.get() == 0 {
            self.offer_recorded(place);
        } else {
            self.look();
        }
    }

    /// The newest fork is recorded; what lies below was pushed by bodies that are not.
    #[cold]
    #[inline(never)]
    fn offer_recorded(&self, place: Place) {
        self.next.set(self.next.get().wrapping_sub(1));
        // SAFETY: the slot of the newest fork.
        let newest = unsafe { self.next.get().read() };
        self.offer_all();
        self.offer(newest, Some(place));
    }

    /// Step 4.
    #[inline]
    fn look(&self) {
        let first = self.first.get();
        if self.closed.get() > 0 {
            self.limits.set(first.addr(), self.full.get());
        } else if self.recorded.get() {
            self.offer_all();
        } else if self.should_offer() {
            self.first.set(first.wrapping_add(1));
            self.limits.set(self.first.get().addr(), self.full.get());
            // SAFETY: the slot of a private fork.
            self.offer(unsafe { first.read() }, None);
        } else {
            self.limits.set(first.addr(), 0);
        }
    }

    /// Whether the oldest fork should be on offer, if there is one. Not while the thread unwinds: who waits for a fork
    /// may leave its stack, which an unwinding one must not.
    fn should_offer(&self) -> bool {
        match self.private() {
            0 => false,
            1 => self.worker().is_hungry() && !thread::panicking(),
            _ => !thread::panicking(),
        }
    }

    fn offer(&self, fork: Slot, recorded_at: Option<Place>) {
        let fork = NonNull::new(fork.cast_mut()).expect("a slot in use holds a fork");
        self.worker().offer(fork, recorded_at);
    }

    /// Offers all private forks (5).
    #[inline]
    pub(crate) fn offer_all(&self) {
        if self.private() > 0 {
            self.offer_each();
        }
    }

    #[cold]
    #[inline(never)]
    fn offer_each(&self) {
        let (mut slot, end) = (self.first.get(), self.next.get());
        self.start_anew();
        while slot != end {
            // SAFETY: the slot of a fork that was private; nothing is pushed meanwhile.
            self.offer(unsafe { slot.read() }, None);
            slot = slot.wrapping_add(1);
        }
    }

    /// No fork is private.
    fn start_anew(&self) {
        let base = self.base.get();
        self.first.set(base);
        self.next.set(base);
        self.limits.set(base.addr(), 0);
    }

    /// How many forks only this worker knows.
    #[inline]
    pub(crate) fn private(&self) -> usize {
        (self.next.get().addr() - self.first.get().addr()) / size_of::<Slot>()
    }

    /// All slots are in use, or were.
    #[cold]
    #[inline(never)]
    fn make_room(&self) {
        let private = self.private();
        let (slots, base, full) = room(CAPACITY.max(2 * private));
        // SAFETY: the private forks' slots, in the old memory, and room for them in the new.
        unsafe { ptr::copy_nonoverlapping(self.first.get(), base, private) };
        self.base.set(base);
        self.full.set(full);
        self.first.set(base);
        self.next.set(base.wrapping_add(private));
        self.limits.set(base.addr(), 0);
        self.slots.replace(slots);
    }

    /// Until `reopen`, forks stay private.
    pub(crate) fn close(&self) {
        self.closed.set(self.closed.get() + 1);
    }

    /// Another stack runs from now on, on which it was not closed; how many times it was on this one.
    pub(crate) fn set_aside(&self) -> u32 {
        self.limits.ceiling.store(0, Relaxed);
        self.closed.replace(0)
    }

    /// The stack of `set_aside` runs again.
    pub(crate) fn put_back(&self, closed: u32) {
        self.closed.set(closed);
        self.limits.ceiling.store(0, Relaxed);
    }

    pub(crate) fn reopen(&self) {
        self.closed.set(self.closed.get() - 1);
        self.limits.ceiling.store(0, Relaxed);
    }

    /// The body that runs from now on is recorded, or not.
    pub(crate) fn set_recorded(&self, recorded: bool) {
        self.recorded.set(recorded);
        self.limits.ceiling.store(0, Relaxed);
    }
}
