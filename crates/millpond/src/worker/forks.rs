//! Forks that nobody but their worker knows, and how others come by them.
//!
//! The second half of a `join(a, b)` lies on its caller's stack. As long as only its worker knows it, it is one of a
//! list through that stack, and the join costs what linking and unlinking it costs. To *offer* a fork is to make a task
//! of it (an [`Offer`], in a block of its own) and put that into the pool, where it is what any task is: others steal
//! it, its worker may take it back, or waits for it ([`Waiter`]).
//!
//! ```text
//!            prev       prev       prev       prev
//!   root | ◀────── offered ◀── f2 ◀────── f3 ◀────── f4
//!        | ──────▶         ──▶    ──────▶    ──────▶
//!           child      ▲                             ▲
//!                    below: the last that was       top: the newest;      both the owner's alone
//!                    offered, or the root           `below` if none is private
//!
//!   limits   push    whether the next push has to look
//!            pop     whether the next pop has to
//! ```
//!
//! # Protocol
//!
//! Owner:
//!
//! 1. **Push**: link the fork behind `top`, which it becomes. If `limits.push` is set, look (4).
//! 2. **Pop** of a fork that was not offered: `top` is the one before. If `limits.pop` is set, look (4). Then its body
//!    is called.
//! 3. **Pop** of one that was: none is private. The list starts anew at its root with `limits.push` set, and the caller
//!    takes the fork back from the pool or waits for it.
//! 4. **Look**: with two private forks, or with one while some worker has nothing to do, the oldest is *offered*: first
//!    `below` becomes that one, and the limits are cleared; then the task is put into the pool where all can find it.
//!    Else `limits.push` alone is set: the next push looks, too.
//! 5. **Before the worker leaves this stack for another, or disappears for long** all private forks are offered, the
//!    oldest first; and if it leaves, the list starts anew at its root, as in 3.
//!
//! Thief, having taken a fork:
//!
//! * a. **Asks** for the next one: sets both limits. Then it runs the fork.
//!
//! # Why it works
//!
//! * **Which forks are private.** A join takes its own fork, so forks are taken in the reverse order of their pushes,
//!   as long as the worker stays on one stack; and when it leaves it, none is private (5). Forks are offered oldest
//!   first. So whoever pops a fork that was offered finds none that is private, and else the newest one, `top`, is his.
//! * **No link that is followed leads to a fork that is gone.** `prev` is that of a private fork: it leads to the root,
//!   or to one further up the same stack (5), whose join has not returned since it called this one's. `child` is
//!   followed from `below` to `top` only: whoever pushed such a fork found the one before as `top`, and what had been
//!   pushed there earlier had been popped.
//! * **The limits are hints**, and relaxed: nothing is handed over through them.
//! * **An ask is not lost.** The owner clears the limits (4) before the fork can be found, so the ask of its thief
//!   comes after. One that the owner overwrites is about a fork that was offered before, and another has just been
//!   offered. If `limits.push` is set anyway, the next push looks without being asked.
//! * **Nobody starves beside a tree of forks.** While a worker has two forks or more, one of them, the largest piece of
//!   its work, lies in the pool; when that is stolen, the owner's next push or pop offers another. A lone fork is
//!   offered when somebody has nothing to do, asleep or not, as a lone task is (`pool::split`). The price: between two
//!   joins of its owner nobody is answered.
//!
//! A push makes an address `top` that it does not load, so that the pushes of a recursion do not wait for one another's
//! stores, as they would for a counter's.
//!
//! A stack of forks is *closed* while its thread works for another runtime on top of it, or is no worker: what is
//! pushed meanwhile stays private, so that the two halves run one after the other. While a recorded body runs, each
//! fork is offered as it is pushed: a recording tells of each. (Also while the thread unwinds: then a drop that joins may
//! leave its stack, and other bodies of this worker keep their forks until it is back.)

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::thread;

use super::current::CurrentWorker;
use super::wait::{Seat, Waiter};
use crate::memory::Block;
use crate::record::Id;
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};
use crate::task::{Header, NewTask, TaskRef, VTable};

#[cfg(all(test, loom))]
mod loom_tests;

/// What a stack of forks knows of a fork: the first field of one.
#[derive(Debug)]
pub(crate) struct Head {
    /// Its table while it is private, its offer then; which, says the bit `OFFERED`.
    what: Cell<*const ()>,
    prev: Cell<Link>,
    /// Set by the push of the next.
    child: Cell<MaybeUninit<Link>>,
}

/// A fork that is there, or the root; null where there is none.
type Link = *const Head;

/// Bit of `Head::what`.
const OFFERED: usize = 1;
const _: () = assert!(align_of::<VTable>() > OFFERED && align_of::<Offer>() > OFFERED);

/// What the first fork is pushed behind. Its owner writes to it at every such push, so nothing else lies in its lines.
#[derive(Debug)]
#[repr(C, align(128))]
struct Root(Head);

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
    push: AtomicBool,
    pop: AtomicBool,
}

/// The private forks of one worker. Aligned, so that nothing else lies in what a thief may write to.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Forks {
    top: Cell<Link>,
    limits: Limits,
    below: Cell<Link>,
    /// Leaked, since it has to stay where it is when this moves.
    root: NonNull<Root>,
    /// How many times it was closed.
    closed: Cell<u32>,
    /// Whether the body that runs is recorded.
    recorded: Cell<bool>,
    worker: Cell<Option<CurrentWorker>>,
}

impl Head {
    #[inline]
    pub(crate) fn new(table: &'static VTable) -> Self {
        Head::of(ptr::from_ref(table).cast())
    }

    #[inline]
    fn of(what: *const ()) -> Self {
        Head { what: Cell::new(what), prev: Cell::new(ptr::null()), child: Cell::new(MaybeUninit::uninit()) }
    }

    #[inline]
    fn is_offered(&self) -> bool {
        self.what.get().addr() & OFFERED != 0
    }

    /// # Safety
    ///
    /// The fork was not offered.
    unsafe fn table(&self) -> &'static VTable {
        // SAFETY: as it was made.
        unsafe { &*self.what.get().cast() }
    }

    fn set_offer(&self, offer: NonNull<Offer>) {
        self.what.set(offer.as_ptr().cast_const().cast::<()>().map_addr(|addr| addr | OFFERED));
    }

    /// # Safety
    ///
    /// The fork was offered, and its offer not freed.
    pub(crate) unsafe fn offer(&self) -> NonNull<Offer> {
        let offer: *const Offer = self.what.get().map_addr(|addr| addr & !OFFERED).cast();
        // SAFETY: set when it was offered, as the caller promises.
        unsafe { NonNull::new_unchecked(offer.cast_mut()) }
    }
}

impl Offer {
    pub(crate) const SIZE: usize = size_of::<Offer>();

    /// Makes a task of a fork.
    ///
    /// # Safety
    ///
    /// `block` has room for an offer and nobody else uses it. The fork was not offered before; it stays where it is,
    /// and the worker's seat and `forks` live, until the offer was freed.
    pub(crate) unsafe fn create(block: Block, fork: NonNull<Head>, forks: &Forks, seat: &Seat, at: Place) -> TaskRef {
        // SAFETY: the fork is there, as the caller promises.
        let head = unsafe { fork.as_ref() };
        let new = NewTask {
            // SAFETY: it was not offered, as the caller promises.
            vtable: unsafe { head.table() },
            scope_state: NonNull::dangling(),
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
        head.set_offer(task.0.cast());
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

/// How many forks are private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Private {
    None,
    One,
    More,
}

/// Where a join is called.
pub(crate) type Place = &'static Location<'static>;

impl Limits {
    #[inline]
    fn set(&self, push: bool, pop: bool) {
        self.push.store(push, Relaxed);
        self.pop.store(pop, Relaxed);
    }

    fn ask(&self) {
        self.set(true, true);
    }
}

// SAFETY: only the thread that holds their worker's seat touches them, and their limits, which are atomics, are reached
// by a pointer of their own. A joiner, through which users reach them, stays on its thread.
unsafe impl Sync for Forks {}

impl Forks {
    /// The forks of a worker that is not told yet.
    pub(crate) fn new() -> Self {
        let forks = Forks {
            top: Cell::new(ptr::null()),
            limits: Limits { push: AtomicBool::new(false), pop: AtomicBool::new(false) },
            below: Cell::new(ptr::null()),
            root: NonNull::from(Box::leak(Box::new(Root(Head::of(ptr::null()))))),
            closed: Cell::new(0),
            recorded: Cell::new(false),
            worker: Cell::new(None),
        };
        forks.start_anew();
        forks
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
        let (before, link) = (self.top.get(), fork.as_ptr().cast_const());
        // SAFETY: the fork is there, as the caller promises.
        unsafe { fork.as_ref() }.prev.set(before);
        // SAFETY: the root, or a fork that was not popped.
        unsafe { &*before }.child.set(MaybeUninit::new(link));
        self.top.set(link);
        if self.limits.push.load(Relaxed) {
            self.attend(place);
        }
    }

    /// Takes the newest fork, which is `fork`; false if it has been offered (2).
    #[inline(always)]
    pub(crate) fn pop(&self, fork: &Head) -> bool {
        if fork.is_offered() {
            self.end_offered();
            return false;
        }
        debug_assert!(ptr::eq(self.top.get(), fork), "forks are popped in the reverse order of their pushes");
        self.top.set(fork.prev.get());
        if self.limits.pop.load(Relaxed) {
            self.look_again();
        }
        true
    }

    /// Step 3.
    #[cold]
    #[inline(never)]
    fn end_offered(&self) {
        debug_assert_eq!(self.private(), Private::None, "forks are offered oldest first");
        self.start_anew();
    }

    /// A push has to look.
    #[cold]
    #[inline(never)]
    fn attend(&self, place: Place) {
        if self.recorded.get() && self.closed.get() == 0 {
            self.offer_recorded(place);
        } else {
            self.look();
        }
    }

    /// A pop has to look.
    #[cold]
    #[inline(never)]
    fn look_again(&self) {
        self.look();
    }

    /// The newest fork is recorded; what lies below was pushed by bodies that are not.
    #[cold]
    #[inline(never)]
    fn offer_recorded(&self, place: Place) {
        let newest = self.top.get();
        // SAFETY: the newest fork was just pushed.
        self.top.set(unsafe { &*newest }.prev.get());
        self.offer_all();
        self.offer(newest, Some(place));
    }

    /// Step 4.
    #[inline]
    fn look(&self) {
        if self.closed.get() > 0 {
            self.limits.set(false, false);
        } else if self.recorded.get() {
            self.offer_all();
        } else if self.should_offer() {
            let oldest = self.after(self.below.get());
            self.below.set(oldest);
            self.limits.set(false, false);
            self.offer(oldest, None);
        } else {
            self.limits.set(true, false);
        }
    }

    /// Whether the oldest fork should be on offer, if there is one. Not while the thread unwinds: who waits for a fork
    /// may leave its stack, which an unwinding one must not.
    fn should_offer(&self) -> bool {
        match self.private() {
            Private::None => false,
            Private::One => self.worker().is_hungry() && !thread::panicking(),
            Private::More => !thread::panicking(),
        }
    }

    fn offer(&self, fork: Link, recorded_at: Option<Place>) {
        let fork = NonNull::new(fork.cast_mut()).expect("a link leads to a fork");
        self.worker().offer(fork, recorded_at);
    }

    /// Offers all private forks (5).
    #[inline]
    pub(crate) fn offer_all(&self) {
        if self.private() != Private::None {
            self.offer_each();
        }
    }

    #[cold]
    #[inline(never)]
    fn offer_each(&self) {
        let (mut fork, newest) = (self.below.get(), self.top.get());
        self.start_anew();
        while fork != newest {
            fork = self.after(fork);
            self.offer(fork, None);
        }
    }

    /// The fork after this one, of which one was pushed behind it and not popped.
    fn after(&self, fork: Link) -> Link {
        // SAFETY: a fork that was not popped, or the root.
        let child = unsafe { &*fork }.child.get();
        // SAFETY: set by the push.
        unsafe { child.assume_init() }
    }

    /// No fork is private.
    fn start_anew(&self) {
        let root: Link = self.root.as_ptr().cast_const().cast();
        self.top.set(root);
        self.below.set(root);
        self.limits.set(true, false);
    }

    /// How many forks only this worker knows.
    #[inline]
    pub(crate) fn private(&self) -> Private {
        let (below, top) = (self.below.get(), self.top.get());
        if below == top {
            Private::None
        } else if self.after(below) == top {
            Private::One
        } else {
            Private::More
        }
    }

    /// Until `reopen`, forks stay private.
    pub(crate) fn close(&self) {
        self.closed.set(self.closed.get() + 1);
    }

    /// Another stack runs from now on, on which it was not closed; how many times it was on this one. None is private.
    pub(crate) fn set_aside(&self) -> u32 {
        debug_assert_eq!(self.private(), Private::None, "forks of one stack only (5)");
        self.start_anew();
        self.closed.replace(0)
    }

    /// The stack of `set_aside` runs again.
    pub(crate) fn put_back(&self, closed: u32) {
        self.closed.set(closed);
        self.limits.push.store(true, Relaxed);
    }

    pub(crate) fn reopen(&self) {
        self.closed.set(self.closed.get() - 1);
        self.limits.push.store(true, Relaxed);
    }

    /// The body that runs from now on is recorded, or not.
    pub(crate) fn set_recorded(&self, recorded: bool) {
        self.recorded.set(recorded);
        self.limits.push.store(true, Relaxed);
    }
}

impl Drop for Forks {
    fn drop(&mut self) {
        // SAFETY: leaked by `new`; nothing is pushed any more.
        drop(unsafe { Box::from_raw(self.root.as_ptr()) });
    }
}
