//! Who may look into a stack: its owner, who pays no read-modify-write for it, or one thief at a time.
//!
//! ```text
//!              enter, alone
//!     ┌─────────────────────┐
//!     ▼                     │
//!   FRESH ◀▶ OWNED ──────▶ FREE ──────▶ VISITED ──▶ FREE
//!       │    │ ▲    leave        thief         thief
//!       │    │ │
//!       └─┬──┘ └───────────┬──────────────────────────┐
//!         │ thief          │ owner, with the answer   │ thief
//!         └────▶ ASKED ────┴─▶ SERVED                 │
//!                  │   owner, at its next step        │
//!                  └────────────────────────────────▶ WALKED
//!                      thief, after a barrier
//! ```
//!
//! The owner, before each step that takes a closure, or gives memory of frames to something else:
//!
//! - O1. announces what it takes, by a store (`Frames::take`);
//! - O2. compiler fence;
//! - O3. loads the word, acquire. OWNED: it goes on, up to its next step. FRESH: it makes it OWNED, and looks whether somebody
//!   sleeps (`thief`, W1). ASKED: it makes it SERVED, scans the stack for the thief, leaves the answer, and makes it what
//!   it was before, or FRESH if that found something: what it would have to wait for otherwise. WALKED: it waits for that.
//!
//! A sentinel that will look no more makes the word FRESH where it is OWNED (`thief`, W4), when no thief is there.
//!
//! A thief, one at a time (`thieves`):
//!
//! - T1. leaves its wish, and makes the word ASKED, if it is OWNED or FRESH;
//! - T2. waits some microseconds for the answer, which the owner's next step gives. So it is with short tasks;
//! - T3. if the owner does not come (the word is still ASKED: it is in a long body), calls for a barrier in all threads of the
//!   process (membarrier), and makes the word WALKED, unless the owner has come; then it goes on with T2;
//! - T4. scans, and takes closures; then makes the word what it was before T1, or FRESH, release: if it has taken some, or if it
//!   has seen nothing since the owner calls what it spawns (`episode`), which then lays that down.
//!
//! Why no closure is taken twice: if O3 of a step loads a word from before T1, then the barrier of T3 comes after that load
//! on the owner's processor, hence after O1, which T4 sees. If it loads ASKED or WALKED, the owner takes nothing before the
//! scan is through. In the first case the owner may be in the middle of its step while the thief scans. That step opens a
//! frame or runs a body, which adds to the end of the stack what is complete when the thief can see it; or it closes a
//! frame in which nothing is left to take, whose memory is not written before the next step. The thief sees the stack as it
//! was at one moment (`Frames::seen`). Frames of bodies that were called are added to the end too, without O2 and O3: what they
//! hold runs already, and is seen so (`episode`, S1 and S2). What lies elsewhere is freed in a step of its own, which announces
//! that the stack has gone on (`pass_behind`).
//!
//! A stack that nobody runs is FREE: there a thief needs no barrier, and who goes on with the stack waits for the thief.
//!
//! Where the system has no membarrier, the word is never clear, a SeqCst fence is the first step of `meet`, and so is the
//! barrier of T3.

use std::fmt;

use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};
use crate::sync::atomic::fence;
use crate::sync::{Guarded, Mutex, barrier, compiler_fence, fork, spin_loop, yield_thread};

#[cfg(all(test, loom))]
mod loom_tests;

const OWNED: u32 = 0;
const FRESH: u32 = 1;
const ASKED: u32 = 2;
const SERVED: u32 = 3;
const WALKED: u32 = 4;
const FREE: u32 = 5;
const VISITED: u32 = 6;

/// Mark of the word where the owner needs a fence of its own: it is never clear there.
const FENCED: u32 = 1 << 31;

/// Turns for which a thief waits until it calls for a barrier: some microseconds, less than the barrier costs.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 200 };

/// Turns after which who waits for another's few steps lets the system run it.
const LONG: u32 = 1000;

/// See the [module](self). A scan finds an `A`.
pub(crate) struct OwnerLock<A> {
    /// One of these states; and [`FENCED`].
    word: AtomicU32,
    fenced: u32,
    /// How much the thief asks for: written before the word is ASKED, read by the owner while it is SERVED.
    wish: Guarded<u64>,
    /// What the owner's scan has found: written as long as the word is SERVED, read by the thief that asked.
    answer: Guarded<Option<A>>,
    /// OWNED or FRESH: what the word was before the thief asked, who writes it. It is that again after the visit: who has seen
    /// an empty stack may sleep when the owner's first step comes.
    before: Guarded<u32>,
    thieves: Mutex<()>,
    /// The process that it was made in (`sync::fork`).
    generation: u32,
}

impl<A> fmt::Debug for OwnerLock<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerLock").field("word", &self.word).finish_non_exhaustive()
    }
}

/// What the owner does that was not clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// It goes on.
    Thief,
    /// It looks whether somebody sleeps: this is its first step.
    NoOwner,
}

impl<A> OwnerLock<A> {
    /// Of a stack that nobody owns.
    pub(crate) fn new() -> Self {
        let fenced = if barrier::is_asymmetric() { 0 } else { FENCED };
        OwnerLock {
            word: AtomicU32::new(FREE | fenced),
            fenced,
            wish: Guarded::default(),
            answer: Guarded::default(),
            before: Guarded::default(),
            thieves: Mutex::default(),
            generation: fork::generation(),
        }
    }

    /// O2 and O3: whether the owner may go on at once.
    #[inline(always)]
    pub(crate) fn is_clear(&self) -> bool {
        compiler_fence(SeqCst);
        self.word.load(Acquire) == OWNED
    }

    /// Whether no thief is there, and nobody sleeps of whom the owner is to look.
    pub(crate) fn is_owned(&self) -> bool {
        self.word() == OWNED
    }

    /// Whether nobody runs the stack: a peek.
    pub(crate) fn is_free(&self) -> bool {
        self.word() == FREE
    }

    fn word(&self) -> u32 {
        self.word.load(Acquire) & !FENCED
    }

    fn set(&self, word: u32) {
        self.word.store(word | self.fenced, Release);
    }

    /// The rest of O3, where the way was not clear. `scan` gets how much the thief asks for.
    #[cold]
    pub(crate) fn meet(&self, scan: impl FnOnce(u64) -> Option<A>) -> Met {
        if self.fenced != 0 {
            fence(SeqCst);
        }
        loop {
            match self.word() {
                FRESH if self.makes(FRESH, OWNED) => return Met::NoOwner,
                ASKED if self.makes(ASKED, SERVED) => {
                    let found = scan(self.wish.get());
                    let after = after(self.before.get(), found.is_some());
                    self.answer.set(found);
                    self.set(after);
                    return Met::Thief;
                }
                OWNED => return Met::Thief,
                WALKED => self.wait_while(WALKED),
                // A thief has come in between.
                _ => {}
            }
        }
    }

    /// Whether this call changed the word. What was done before it is seen by who finds the change, and the other way
    /// round.
    fn makes(&self, from: u32, to: u32) -> bool {
        self.word.compare_exchange(from | self.fenced, to | self.fenced, AcqRel, Acquire).is_ok()
    }

    #[cold]
    fn wait_while(&self, word: u32) {
        let mut turns = 0;
        while self.word() == word {
            if fork::generation() != self.generation {
                // The thief was a thread of the parent.
                return self.set(if word == VISITED { FREE } else { OWNED });
            }
            turns += 1;
            if turns % LONG == 0 { yield_thread() } else { spin_loop() }
        }
    }

    /// Makes the word `to`, by its owner. A thief that asks gets nothing, and a first step wakes nobody: another one will follow.
    fn leave_for(&self, to: u32) {
        while !self.makes(OWNED, to) && !self.makes(FRESH, to) {
            self.meet(|_wish| None);
        }
    }

    /// The owner leaves the stack to whoever takes it next. What it has done there is seen by them.
    pub(crate) fn leave(&self) {
        self.leave_for(FREE);
    }

    /// Becomes the owner of a stack that is free, and that nobody else may take.
    pub(crate) fn enter(&self) {
        while !self.makes(FREE, FRESH) {
            self.wait_while(VISITED);
        }
    }

    /// The owner does something by which a thief must not come, under `f`.
    pub(crate) fn alone<R>(&self, f: impl FnOnce() -> R) -> R {
        self.leave_for(VISITED);
        let result = f();
        self.set(FRESH);
        result
    }

    /// As a thief: what is found by `scan`, which this thread does, or by the owner, which gets the wish; none if another
    /// thief is there. If this thief finds nothing, and `leaves_word`, the owner's next step is a first one.
    pub(crate) fn visit(
        &self,
        wish: u64,
        scan: impl FnOnce() -> Option<A>,
        leaves_word: impl FnOnce() -> bool,
    ) -> Option<A> {
        let _alone = self.thieves.try_lock()?;
        let then = match self.word() {
            FREE if self.makes(FREE, VISITED) => FREE,
            word @ (OWNED | FRESH) => {
                self.before.set(word);
                self.wish.set(wish);
                if !self.makes(word, ASKED) {
                    return None;
                }
                if self.is_answered() {
                    return self.answer.take();
                }
                word
            }
            _ => return None,
        };
        let found = scan();
        self.set(after(then, found.is_some() || then == OWNED && leaves_word()));
        found
    }

    /// Makes the next step of a stack's owner a first one (`thief`, W4); false if somebody else is there.
    pub(crate) fn make_fresh(&self) -> bool {
        let Some(_alone) = self.thieves.try_lock() else { return false };
        match self.word() {
            FREE | FRESH => true,
            OWNED => self.makes(OWNED, FRESH),
            _ => false,
        }
    }

    /// T2 and T3: whether the owner has answered; else the thief may scan.
    fn is_answered(&self) -> bool {
        for _ in 0..PATIENCE {
            if !matches!(self.word(), ASKED | SERVED) {
                return true;
            }
            // In a model, who has yielded goes on only when nobody else does.
            if cfg!(not(loom)) {
                spin_loop();
            }
        }
        // Not if the owner is about to answer: its scan may be long, and the barrier interrupts it.
        if self.word() == ASKED {
            barrier::heavy();
            if self.makes(ASKED, WALKED) {
                return false;
            }
        }
        self.wait_while(SERVED);
        true
    }
}

/// What the word is after a visit. Who has stolen something no longer looks for what the owner announces next: the owner's next
/// step is a first one. So it is if word is left.
fn after(before: u32, found: bool) -> u32 {
    if found && before == OWNED { FRESH } else { before }
}
