//! Private forks: how a worker keeps them, and how other workers get them.
//!
//! The second half of a `join(a, b)` is on its caller's stack. While only its worker knows it, it
//! is *private*: one element of a linked list through that stack. Then the join costs only linking
//! and unlinking it. To *offer* a fork, the worker makes a task of it (an [`Offer`], in its own
//! block) and puts that into the pool. It is then a task like any other: others may steal it, and
//! its worker takes it back or waits for it (`worker::wait`).
//!
//! ```text
//!            prev       prev       prev       prev
//!   root | ◀────── offered ◀── f2 ◀────── f3 ◀────── f4
//!        | ──────▶         ──▶    ──────▶    ──────▶
//!           child      ▲                             ▲
//!                    below: the last that was       top: the newest;      both the owner's alone
//!                    offered, or the root           `below` if none is private
//!
//!   limits   push    whether the next push must look
//!            pop     whether the next pop must
//! ```
//!
//! # Protocol
//!
//! Owner:
//!
//! 1. **Push**: link the fork behind `top`, and make it the new `top`. If `limits.push` is set,
//!    look (4).
//! 2. **Pop** of a fork that was not offered: set `top` to the fork before it. If `limits.pop` is
//!    set, look (4). Then call its body.
//! 3. **Pop** of a fork that was offered: none is private. The list starts again at its root, with
//!    `limits.push` set. The caller takes the fork back from the pool or waits for it.
//! 4. **Look**: if two forks are private, or if one is and some worker is idle, *offer* the oldest.
//!    First set `below` to that fork, and clear the limits. Then put the task into the pool, where
//!    all can find it. Otherwise set `limits.push` alone: the next push looks, too.
//! 5. **Before the worker leaves this stack for another, or is busy elsewhere for long**: offer all
//!    private forks, the oldest first. If it leaves the stack, the list starts again at its root,
//!    as in 3.
//! 6. **Answer**: between two pieces, a loop that works while its fork is open (`each`) looks (4)
//!    if `limits.push` is set.
//!
//! A thief with a fork:
//!
//! * a. **Asks** for the next one: it sets both limits. Then it runs the fork.
//!
//! # Why it works
//!
//! * **Which forks are private.** A join pops its own fork. So while the worker stays on one stack,
//!   forks are popped in the reverse order of their pushes. When it leaves the stack, none is
//!   private (5). Forks are offered oldest first. So if a popped fork was offered, none is private.
//!   Otherwise the popped fork is the newest one, `top`.
//! * **No followed link leads to a fork that is gone.** The owner follows `prev` of private forks
//!   only. It leads to the root, or to a fork further up the same stack (5). That fork's join
//!   called this fork's join, and has not returned since. The owner follows `child` from `below` to
//!   `top` only. Each push of such a fork found the fork before it as `top`: all forks pushed there
//!   earlier had been popped.
//! * **The limits are hints**, and relaxed, because they hand nothing over.
//! * **An ask is not lost.** The owner clears the limits (4) before a thief can find the fork, so
//!   the ask of its thief comes after that. If the owner overwrites an ask, the ask is about a fork
//!   that was offered before, and another has just been offered. If `limits.push` is set anyway,
//!   the next push looks unasked.
//! * **No worker starves while another has a tree of forks.** While a worker has two forks or more,
//!   one of them, the largest piece of its work, is in the pool. When a thief takes it, the owner's
//!   next push or pop offers another. A lone fork is offered if some worker is idle, asleep or not,
//!   like a lone task (`pool::split`). The price: between two joins, the owner answers no ask,
//!   except in a loop (6).
//!
//! A push stores its fork's address in `top`, a value that it does not load. So the pushes of a
//! recursion do not wait for one another's stores, as they would with a counter.
//!
//! A stack of forks is *closed* while its thread works for another runtime on top of it, or is no
//! worker. Forks pushed meanwhile stay private, so their halves run one after the other. While a
//! recorded body runs, each fork is offered at its push, because a recording contains each fork.
//! (This holds while the thread unwinds, too. Then a joining drop may leave its stack, and other
//! bodies of this worker keep their forks until it is back.)

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::thread;

use super::current::CurrentWorker;
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};
use crate::task::VTable;
use crate::worker::loops::Loops;

#[cfg(all(test, loom))]
mod loom_tests;
mod offer;
mod sharing;

pub(crate) use offer::Offer;
pub(crate) use sharing::Others;

/// The first field of a fork: what a stack of forks knows of it.
#[derive(Debug)]
pub(crate) struct Head {
    /// While the fork is private, its table; afterwards, its offer. The bit `OFFERED` tells which.
    what: Cell<*const ()>,
    prev: Cell<Link>,
    /// Set by the next push.
    child: Cell<MaybeUninit<Link>>,
}

/// A live fork, or the root; null if there is none.
type Link = *const Head;

/// Bit of `Head::what`.
const OFFERED: usize = 1;
const _: () = assert!(align_of::<VTable>() > OFFERED && align_of::<Offer>() > OFFERED);

/// The element behind which the first fork is pushed. Its owner writes to it at each such push, so
/// its cache lines hold nothing else.
#[derive(Debug)]
#[repr(C, align(128))]
struct Root(Head);

/// Whether the owner must look at its next push or pop.
#[derive(Debug)]
struct Limits {
    push: AtomicBool,
    pop: AtomicBool,
}

/// The private forks of one worker. Aligned, so that nothing else is in the cache line that a thief
/// writes.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Forks {
    top: Cell<Link>,
    limits: Limits,
    below: Cell<Link>,
    /// Leaked, because it must keep its address when this moves.
    root: NonNull<Root>,
    /// How many times the stack was closed.
    closed: Cell<u32>,
    /// Whether the running body is recorded.
    recorded: Cell<bool>,
    worker: Cell<Option<CurrentWorker>>,
    /// How many workers the runtime has; 1 for a thread that is no worker.
    workers: Cell<usize>,
    /// In a box, so that the other fields stay in one cache line.
    loops: Box<Loops>,
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
    /// The fork is not offered.
    unsafe fn table(&self) -> &'static VTable {
        // SAFETY: `new` stored the table's address.
        unsafe { &*self.what.get().cast() }
    }

    fn set_offer(&self, offer: NonNull<Offer>) {
        self.what.set(offer.as_ptr().cast_const().cast::<()>().map_addr(|addr| addr | OFFERED));
    }

    /// # Safety
    ///
    /// The fork was offered, and its offer is not freed.
    pub(crate) unsafe fn offer(&self) -> NonNull<Offer> {
        let offer: *const Offer = self.what.get().map_addr(|addr| addr & !OFFERED).cast();
        // SAFETY: the address was set when the fork was offered, as the caller promises.
        unsafe { NonNull::new_unchecked(offer.cast_mut()) }
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
pub(crate) type CallSite = &'static Location<'static>;

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

// SAFETY: only the thread that holds the worker's seat touches the forks. Others reach the limits,
// which are atomics, by their own pointer. Users reach the forks through a joiner, which stays on
// its thread.
unsafe impl Sync for Forks {}

impl Forks {
    /// The forks of a worker that `attach` names later.
    pub(crate) fn new() -> Self {
        let forks = Forks {
            top: Cell::new(ptr::null()),
            limits: Limits { push: AtomicBool::new(false), pop: AtomicBool::new(false) },
            below: Cell::new(ptr::null()),
            root: NonNull::from(Box::leak(Box::new(Root(Head::of(ptr::null()))))),
            closed: Cell::new(0),
            recorded: Cell::new(false),
            worker: Cell::new(None),
            workers: Cell::new(1),
            loops: Box::default(),
        };
        forks.restart();
        forks
    }

    /// For a thread that is no worker: each fork stays private.
    pub(crate) fn unowned() -> Self {
        let forks = Self::new();
        forks.close();
        forks
    }

    /// Sets the worker, and how many there are, before the first push.
    pub(crate) fn attach(&self, worker: CurrentWorker, workers: usize) {
        self.worker.set(Some(worker));
        self.workers.set(workers);
    }

    /// The worker that owns the forks.
    pub(crate) fn worker(&self) -> CurrentWorker {
        self.worker.get().expect("attached when the runtime was built")
    }

    /// Adds a private fork (1).
    ///
    /// # Safety
    ///
    /// The fork keeps its address until it was popped. If it was offered, also until its offer has
    /// ended. The caller is the worker's thread.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, fork: NonNull<Head>, place: CallSite) {
        let (before, link) = (self.top.get(), fork.as_ptr().cast_const());
        // SAFETY: the fork is alive, as the caller promises.
        unsafe { fork.as_ref() }.prev.set(before);
        // SAFETY: this is the root, or a fork that was not popped.
        unsafe { &*before }.child.set(MaybeUninit::new(link));
        self.top.set(link);
        if self.limits.push.load(Relaxed) {
            self.attend(place);
        }
    }

    /// Takes the newest fork, which is `fork`. Returns false if it was offered (2, 3).
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
        self.restart();
    }

    /// Looks, at a push.
    #[cold]
    #[inline(never)]
    fn attend(&self, place: CallSite) {
        if self.recorded.get() && self.closed.get() == 0 {
            self.offer_recorded(place);
        } else {
            self.look();
        }
    }

    /// Looks, at a pop or an answer.
    #[cold]
    #[inline(never)]
    fn look_again(&self) {
        self.look();
    }

    /// The newest fork is recorded. Unrecorded bodies pushed the forks below it.
    #[cold]
    #[inline(never)]
    fn offer_recorded(&self, place: CallSite) {
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

    /// Whether to offer the oldest private fork, if there is one. Not while the thread unwinds: a
    /// thread that waits for a fork may leave its stack, which must not unwind then.
    fn should_offer(&self) -> bool {
        match self.private() {
            Private::None => false,
            Private::One => self.worker().is_hungry() && !thread::panicking(),
            Private::More => !thread::panicking(),
        }
    }

    fn offer(&self, fork: Link, recorded_at: Option<CallSite>) {
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
        self.restart();
        while fork != newest {
            fork = self.after(fork);
            self.offer(fork, None);
        }
    }

    /// The fork that was pushed after this one. It exists and was not popped.
    fn after(&self, fork: Link) -> Link {
        // SAFETY: this is a fork that was not popped, or the root.
        let child = unsafe { &*fork }.child.get();
        // SAFETY: the push set it.
        unsafe { child.assume_init() }
    }

    /// Starts the list again at its root: no fork is private.
    fn restart(&self) {
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

    /// Keeps forks private until `reopen`.
    pub(crate) fn close(&self) {
        self.closed.set(self.closed.get() + 1);
    }

    /// Another stack runs from now on, on which the forks are not closed. Returns how many times
    /// they were closed on this one. No fork is private.
    pub(crate) fn set_aside(&self) -> u32 {
        debug_assert_eq!(self.private(), Private::None, "forks of one stack only (5)");
        self.restart();
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

    /// Sets whether the body that runs from now on is recorded.
    pub(crate) fn set_recorded(&self, recorded: bool) {
        self.recorded.set(recorded);
        self.limits.push.store(true, Relaxed);
    }
}

impl Drop for Forks {
    fn drop(&mut self) {
        // SAFETY: `new` leaked the box, and nothing is pushed any more.
        drop(unsafe { Box::from_raw(self.root.as_ptr()) });
    }
}
