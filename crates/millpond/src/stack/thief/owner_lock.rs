//! A lock biased towards the owner of a stack. It admits the owner, which pays no
//! read-modify-write, or one thief at a time.
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
//! Before each step that takes a closure or reuses memory of frames, the owner:
//!
//! - O1. announces what it takes, by a store (`Frames::take`);
//! - O2. issues a compiler fence;
//! - O3. loads the word, acquire, and acts on it:
//!   - OWNED: continues up to its next step.
//!   - FRESH: makes it OWNED, and wakes a sleeper if there is one (`search`, W1).
//!   - ASKED: makes it SERVED, scans the stack for the thief instead of waiting for the thief's
//!     scan, and leaves the answer. Then it restores the word, or makes it FRESH if the scan found
//!     something.
//!   - WALKED: waits for the end of the scan.
//!
//! A sentinel that stops its checks makes an OWNED word FRESH (`search`, W4), if no thief is there.
//!
//! A thief, one at a time (`thieves`):
//!
//! - T1. leaves its wish, and makes an OWNED or FRESH word ASKED;
//! - T2. waits a few microseconds for the answer, which the owner gives at its next step. With
//!   short tasks, this is the usual case;
//! - T3. if the word is still ASKED, the owner is in a long body. Then the thief issues a barrier
//!   in all threads of the process (membarrier), and makes the word WALKED. If the owner came
//!   first, the thief continues with T2 instead;
//! - T4. scans, and takes closures. Then it restores the word from before T1, release. If it has
//!   taken closures, it makes an OWNED word FRESH instead. It also does so if it found nothing
//!   during an inline subtree (`inline_subtree`), so that the owner pushes the next tasks of that
//!   subtree.
//!
//! Why no closure is taken twice: if O3 of a step loads a word from before T1, the barrier of T3
//! comes after that load on the owner's processor. Hence it comes after O1, and T4 sees O1. If O3
//! loads ASKED or WALKED, the owner takes nothing before the end of the scan.
//!
//! In the first case, the owner may be in the middle of its step while the thief scans. A step that
//! opens a frame or runs a body adds to the end of the stack; what it adds is complete when the
//! thief can see it. A step that closes a frame leaves nothing in that frame to take, and the owner
//! does not write to its memory before the next step. The thief sees the stack as it was at one
//! moment (`Frames::seen`).
//!
//! The owner also adds frames of called bodies to the end, without O2 and O3. The closures in them
//! already run, and thieves see them as running (`inline_subtree`, S1 and S2). The owner frees an
//! out-of-line task in its own step, which announces that the stack has moved on (`pass_behind`).
//!
//! A stack without an owner is FREE. There a thief needs no barrier, and the next owner waits for
//! it.
//!
//! If the system has no membarrier, the word is never clear. Then the first step of `meet` is a
//! SeqCst fence, and so is the barrier of T3.

use std::fmt;

use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};
use crate::sync::atomic::fence;
use crate::sync::{Guarded, Mutex, barrier, compiler_fence, process, spin_loop, yield_thread};

#[cfg(all(test, loom))]
mod loom_tests;

const OWNED: u32 = 0;
const FRESH: u32 = 1;
const ASKED: u32 = 2;
const SERVED: u32 = 3;
const WALKED: u32 = 4;
const FREE: u32 = 5;
const VISITED: u32 = 6;

/// Mark of the word if the owner needs a fence. A word with this mark is never clear.
const FENCED: u32 = 1 << 31;

/// How often a thief spins before it issues a barrier: a few microseconds, less than the barrier
/// costs.
const SPINS_BEFORE_BARRIER: u32 = if cfg!(loom) { 1 } else { 200 };

/// A wait for a few steps of another thread yields after this many spins.
const SPINS_BEFORE_YIELD: u32 = 1000;

/// See the [module](self). `A` is what a scan finds.
pub(crate) struct OwnerLock<A> {
    /// One of the states above, and [`FENCED`].
    word: AtomicU32,
    fenced: u32,
    /// How many closures the thief asks for. The thief writes it before the word is ASKED, and the
    /// owner reads it while the word is SERVED.
    wish: Guarded<u64>,
    /// The findings of the owner's scan. The owner writes them while the word is SERVED, and the
    /// thief that asked reads them.
    answer: Guarded<Option<A>>,
    /// The word before the thief asked: OWNED or FRESH. The thief writes it, and restores the word
    /// after the visit: a worker that has seen an empty stack may sleep when the owner's first step
    /// comes.
    before: Guarded<u32>,
    thieves: Mutex<()>,
    /// The process in which the lock was made (`sync::process`).
    generation: u32,
}

impl<A> fmt::Debug for OwnerLock<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerLock").field("word", &self.word).finish_non_exhaustive()
    }
}

/// The owner's next action, if the word was not clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// It continues.
    Thief,
    /// It wakes a sleeper, if there is one: this is its first step.
    FirstStep,
}

/// Whose stack a thief scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    InABody,
    None,
}

impl<A> OwnerLock<A> {
    /// The lock of a stack without an owner.
    pub(crate) fn new() -> Self {
        let fenced = if barrier::is_asymmetric() { 0 } else { FENCED };
        OwnerLock {
            word: AtomicU32::new(FREE | fenced),
            fenced,
            wish: Guarded::default(),
            answer: Guarded::default(),
            before: Guarded::default(),
            thieves: Mutex::default(),
            generation: process::generation(),
        }
    }

    /// O2 and O3: whether the owner may continue at once.
    #[inline(always)]
    pub(crate) fn is_clear(&self) -> bool {
        compiler_fence(SeqCst);
        self.word.load(Acquire) == OWNED
    }

    /// Whether no thief is there, and the owner need not check for a sleeper.
    pub(crate) fn is_owned(&self) -> bool {
        self.word() == OWNED
    }

    /// Whether the stack is FREE: a peek.
    pub(crate) fn is_free(&self) -> bool {
        self.word() == FREE
    }

    fn word(&self) -> u32 {
        self.word.load(Acquire) & !FENCED
    }

    fn set(&self, word: u32) {
        self.word.store(word | self.fenced, Release);
    }

    /// The rest of O3, if the word was not clear. `scan` gets the wish of the thief.
    #[cold]
    pub(crate) fn meet(&self, scan: impl FnOnce(u64) -> Option<A>) -> Met {
        if self.fenced != 0 {
            fence(SeqCst);
        }
        loop {
            match self.word() {
                FRESH if self.makes(FRESH, OWNED) => return Met::FirstStep,
                ASKED if self.makes(ASKED, SERVED) => {
                    let found = scan(self.wish.get());
                    let after = after(self.before.get(), found.is_some());
                    self.answer.set(found);
                    self.set(after);
                    return Met::Thief;
                }
                OWNED => return Met::Thief,
                WALKED => self.wait_while(WALKED),
                // A thief has changed the word in between.
                _ => {}
            }
        }
    }

    /// Tries to change the word, and returns whether this call did. A thread that finds the change
    /// sees everything that this thread did before it. This thread sees everything before the word
    /// that it found.
    fn makes(&self, from: u32, to: u32) -> bool {
        self.word.compare_exchange(from | self.fenced, to | self.fenced, AcqRel, Acquire).is_ok()
    }

    #[cold]
    fn wait_while(&self, word: u32) {
        let mut turns = 0;
        while self.word() == word {
            if process::generation() != self.generation {
                // The thief was a thread of the parent process.
                return self.set(if word == VISITED { FREE } else { OWNED });
            }
            turns += 1;
            if turns % SPINS_BEFORE_YIELD == 0 { yield_thread() } else { spin_loop() }
        }
    }

    /// The owner makes the word `to`. An asking thief gets nothing. A first step wakes no sleeper,
    /// because another first step will follow.
    fn leave_for(&self, to: u32) {
        while !self.makes(OWNED, to) && !self.makes(FRESH, to) {
            self.meet(|_wish| None);
        }
    }

    /// The owner leaves the stack. The next owner sees what this one did there.
    pub(crate) fn leave(&self) {
        self.leave_for(FREE);
    }

    /// Becomes the owner of a free stack that no other thread may enter.
    pub(crate) fn enter(&self) {
        while !self.makes(FREE, FRESH) {
            self.wait_while(VISITED);
        }
    }

    /// The owner runs `f`. No thief scans the stack meanwhile.
    pub(crate) fn alone<R>(&self, f: impl FnOnce() -> R) -> R {
        self.leave_for(VISITED);
        let result = f();
        self.set(FRESH);
        result
    }

    /// A thief's visit. Returns what `scan` finds on this thread, or what the owner finds for
    /// `wish`. If another thief is there, returns `None`. If this thread's scan finds nothing, and
    /// `leaves_word` returns true, the owner's next step is a first step.
    pub(crate) fn visit(
        &self,
        wish: u64,
        scan: impl FnOnce(Owner) -> Option<A>,
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
        let found = scan(if then == FREE { Owner::None } else { Owner::InABody });
        self.set(after(then, found.is_some() || then == OWNED && leaves_word()));
        found
    }

    /// Makes the next step of a stack's owner a first step (`search`, W4). Returns false if another
    /// thread is there.
    pub(crate) fn make_fresh(&self) -> bool {
        let Some(_alone) = self.thieves.try_lock() else { return false };
        match self.word() {
            FREE | FRESH => true,
            OWNED => self.makes(OWNED, FRESH),
            _ => false,
        }
    }

    /// T2 and T3: returns whether the owner has answered. If not, the thief may scan.
    fn is_answered(&self) -> bool {
        for _ in 0..SPINS_BEFORE_BARRIER {
            if !matches!(self.word(), ASKED | SERVED) {
                return true;
            }
            // In a loom model, a thread that yields continues only when no other thread does.
            if cfg!(not(loom)) {
                spin_loop();
            }
        }
        // No barrier if the owner is about to answer: its scan may be long, and the barrier
        // interrupts it.
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

/// The word after a visit. A thief that has stolen something no longer watches for the owner's next
/// announcements, so the owner's next step must be a first step. The same holds if `leaves_word`
/// returned true.
fn after(before: u32, found: bool) -> u32 {
    if found && before == OWNED { FRESH } else { before }
}
