//! Inline subtrees: portable tasks that run at their spawn, without a closure and a frame.
//! `at_spawn` has the code that knows their types.
//!
//! A portable parent spawns only portable tasks, and waits for nothing. So no task can tell whether
//! a child runs at its spawn or after the body. While such bodies are short, the owner runs each
//! child at its spawn. This *inline subtree* begins with the body of a portable parent that the
//! stack runs. Everything before that parent has finished, so its children never wait, and become
//! calls:
//!
//! ```text
//!   stack   … │ Frame │ closures │ Frame of the parent with which the subtree began │
//!   call frames                                       │ 0 │ 1 │ 2 │ called bodies
//! ```
//!
//! A *call frame* (`call_frames`) replaces the frame of a body. It holds the body's scope, its
//! views of the data that it declared, and a *virtual frame*. The virtual frame is the parent as a
//! compact task without its payload, which the caller passes to the body directly.
//!
//! Nothing in an inline subtree can be stolen. The owner *promotes* the subtree when a thief asks,
//! or when something needs a frame: a failure, an access of another mode, a value. Then each of its
//! bodies gets a frame, and its virtual frame becomes a running closure in the frame below. From
//! then on the bodies push what they spawn. A called body with a frame runs all of its closures
//! before it returns, like a waiting body. What thieves may see meanwhile:
//!
//! - S1. While the stack's shape is odd (`frames::seen`), the owner announces the virtual frame as
//!   running, and then as complete. So no thief sees it as the next closure to run.
//! - S2. The frame of its body is opened like any other.
//!
//! Until its promotion, an inline subtree writes nothing where thieves scan.
//!
//! With one worker there are no thieves. With several, an inline subtree begins only if bodies at
//! its depth take at most [`SHORT`] on average, with all that they spawn. So thieves find the
//! larger tasks first. At each depth, the owner measures one in [`EVERY`] of the bodies in frames.

use std::cell::{Cell, OnceCell, UnsafeCell};

use crate::clock;
use crate::stack::in_order::InOrder;
use crate::stack::layout::frames::Frames;
use crate::sync::atomic::AtomicBool;
use crate::sync::atomic::Ordering::Relaxed;
use crate::task::{NewTask, TaskRef};
use crate::worker::config::{Config, Inline};

mod call_frames;
#[cfg(all(test, not(loom)))]
mod tests;

pub(crate) use call_frames::CallFrame;
use call_frames::CallFrameFields;

/// The most accesses of a parent that is called.
pub(crate) const MAX_PARENT_ACCESSES: usize = 4;

/// The most bodies that call each other.
const MAX_CALL_DEPTH: usize = if cfg!(debug_assertions) { 3 } else { 64 };

/// If the bodies at one depth take at most this long on average, their children run at their spawn.
/// The unit is a moment, about 25 ns, so this is 100 µs. A closure and a frame cost a thousandth of
/// that.
const SHORT: u32 = 1 << 12;

/// A longer time counts as this.
const MAX_NOTED_TIME: u32 = 16 * SHORT;

/// Of the bodies at one depth that run in frames, one in this many is measured.
const EVERY: u32 = 16;

/// If a spawn that cannot be a call ends an inline subtree, this many portable parents run in
/// frames.
const PAUSE: u32 = 16;

/// The number of depths that are distinguished. Deeper bodies count as the last one.
const LEVELS: usize = 64;

/// An inline subtree reads the clock once in this many calls.
const CALLS_PER_CLOCK_READ: u32 = 64;

/// A time in units of 64 clock ticks, with an arbitrary origin. Never 0.
pub(in crate::stack) type Moment = u32;

fn now() -> Moment {
    ((clock::ticks() >> 6) as Moment).max(1)
}

/// A stack's data on inline subtrees. Only the owner uses them, except `on`.
#[derive(Debug)]
pub(in crate::stack) struct InlineSubtrees {
    /// An inline subtree runs, and was not promoted. Thieves read this, too.
    on: AtomicBool,
    call_frames: OnceCell<Box<[UnsafeCell<CallFrameFields>]>>,
    /// The next free call frame, if there is one.
    next: Cell<Option<CallFrame>>,
    /// Of the last inline subtree: the first call frame, or, after a promotion, the call frame of
    /// the first body that has no frame.
    promoted: Cell<Option<CallFrame>>,
    /// The depth of the body with which it began.
    level: Cell<u32>,
    /// Bodies may be called down to this address of the thread's stack.
    until: Cell<usize>,
    /// When it began; 0 if it is not measured.
    began: Cell<Moment>,
    /// Calls until it reads the clock.
    looks: Cell<u32>,
    levels: [Level; LEVELS],
    /// How many more bodies run in frames, because a spawn that could not be a call ended the last
    /// subtree. It does not apply if subtrees always run inline.
    pause: Cell<u32>,
}

/// The record of bodies at one depth.
#[derive(Debug)]
struct Level {
    /// The average time of a body with all that it spawns. Older bodies count less.
    mean: Cell<u32>,
    /// How many bodies at this depth run in frames before the next one is measured. A count over
    /// all depths could miss one depth every time.
    until_measured: Cell<u32>,
}

/// How the stack runs the body of a portable parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stack) enum Begun {
    Usual,
    /// In a frame, and measured until the frame is closed.
    Measured(Moment),
    /// An inline subtree has begun, and is measured.
    InlineSubtree(Moment),
    /// An inline subtree has begun, and is not measured.
    Always,
}

impl Default for InlineSubtrees {
    fn default() -> Self {
        InlineSubtrees {
            on: AtomicBool::new(false),
            call_frames: OnceCell::new(),
            next: Cell::new(None),
            promoted: Cell::new(None),
            level: Cell::new(0),
            until: Cell::new(usize::MAX),
            began: Cell::new(0),
            looks: Cell::new(0),
            levels: [const { Level { mean: Cell::new(2 * SHORT), until_measured: Cell::new(0) } }; LEVELS],
            pause: Cell::new(0),
        }
    }
}

impl InlineSubtrees {
    /// The body of a portable parent at this depth begins. `until` returns the address down to
    /// which the thread's stack has space for other bodies.
    pub(in crate::stack) fn begin(&self, config: &Config, level: u32, until: impl FnOnce() -> usize) -> Begun {
        let always = match config.inline {
            Inline::Never => return Begun::Usual,
            Inline::Always => true,
            Inline::Auto => config.workers == 1,
        };
        let (pause, of_level) = (self.pause.get(), self.of_level(level));
        if always || pause == 0 && of_level.mean.get() <= SHORT {
            let began = if always { 0 } else { now() };
            debug_assert!(!self.goes_on(), "a called body pushes nothing");
            self.make_call_frames();
            self.promoted.set(self.next.get());
            self.level.set(level);
            self.until.set(until());
            self.looks.set(CALLS_PER_CLOCK_READ);
            self.began.set(began);
            self.on.store(true, Relaxed);
            return if always { Begun::Always } else { Begun::InlineSubtree(began) };
        }
        self.pause.set(pause.saturating_sub(1));
        match of_level.until_measured.get() {
            0 => {
                of_level.until_measured.set(EVERY - 1);
                Begun::Measured(now())
            }
            left => {
                of_level.until_measured.set(left - 1);
                Begun::Usual
            }
        }
    }

    /// The body of `begin` has finished. `ran` is false if it did not run at all.
    #[inline]
    pub(in crate::stack) fn end(&self, begun: Begun, level: u32, ran: bool) {
        let goes_on = self.goes_on();
        self.on.store(false, Relaxed);
        if let (Begun::InlineSubtree(began), true) = (begun, ran) {
            let took = now().wrapping_sub(began);
            // After a promotion the subtree is not complete: its time counts only if it already
            // exceeds the average.
            if goes_on || took > self.of_level(level).mean.get() {
                self.note_time(level, took);
            }
        }
    }

    /// Whether an inline subtree runs, which thieves cannot see. This is a peek.
    #[inline(always)]
    pub(in crate::stack) fn goes_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// A body at this depth, begun at `began`, has finished with all that it has spawned.
    #[cold]
    pub(in crate::stack) fn note(&self, level: u32, began: Moment) {
        self.note_time(level, now().wrapping_sub(began));
    }

    fn note_time(&self, level: u32, took: u32) {
        let mean = &self.of_level(level).mean;
        mean.set((mean.get() * 7 + took.min(MAX_NOTED_TIME)) / 8);
    }

    fn of_level(&self, level: u32) -> &Level {
        &self.levels[(level as usize).min(LEVELS - 1)]
    }

    /// Whether a measured inline subtree takes too long. It rarely reads the clock.
    #[inline(always)]
    pub(crate) fn is_too_long(&self) -> bool {
        self.looks.set(self.looks.get() - 1);
        self.looks.get() == 0 && self.is_too_long_by_the_clock()
    }

    #[cold]
    fn is_too_long_by_the_clock(&self) -> bool {
        self.looks.set(CALLS_PER_CLOCK_READ);
        let is_too_long = self.began.get() != 0 && now().wrapping_sub(self.began.get()) > 4 * SHORT;
        if is_too_long {
            self.note_time(self.level.get(), MAX_NOTED_TIME);
        }
        is_too_long
    }

    /// Makes the call frames, if there are none.
    fn make_call_frames(&self) {
        if self.call_frames.get().is_some() {
            return;
        }
        let call_frames = self
            .call_frames
            .get_or_init(|| (0..MAX_CALL_DEPTH).map(|_| UnsafeCell::new(CallFrameFields::empty())).collect());
        let mut after = None;
        for fields in call_frames.iter().rev() {
            let call_frame = CallFrame::of(fields);
            call_frame.after().set(after);
            after = Some(call_frame);
        }
        self.next.set(after);
    }

    /// The call frame of the next called body. `None` if all call frames are in use, the thread's
    /// stack has too little space, or the inline subtree takes too long.
    #[inline(always)]
    pub(crate) fn next_call_frame(&self) -> Option<CallFrame> {
        let here = 0_u8;
        if (&raw const here).addr() < self.until.get() || self.is_too_long() {
            return None;
        }
        self.next.get()
    }
}

impl Frames {
    /// Whether a task runs at its spawn: an inline subtree runs, the task is portable, and no thief
    /// asks. Otherwise the subtree is promoted, if there is one.
    #[inline(always)]
    pub(crate) fn runs_at_spawn(&self, portable: bool) -> bool {
        self.inline_subtrees.goes_on() && (portable && self.owner_lock().is_clear() || self.goes_on_in_spite(portable))
    }

    #[cold]
    fn goes_on_in_spite(&self, portable: bool) -> bool {
        // If the owner lock needs a fence, it is never clear. A call needs no fence: it takes
        // nothing that a thief could take.
        let goes_on = portable && self.owner_lock().is_owned();
        if !goes_on {
            self.promote();
        }
        goes_on
    }

    /// A body begins in the next call frame.
    #[inline(always)]
    pub(crate) fn begin_in_call_frame(&self, call_frame: CallFrame) {
        debug_assert_eq!(self.inline_subtrees.next.get(), Some(call_frame), "bodies are called one by the other");
        self.inline_subtrees.next.set(call_frame.after().get());
        self.enter_level();
    }

    /// The body in this call frame, which has no frame, has finished with all that it has spawned.
    #[inline(always)]
    pub(crate) fn end_in_call_frame(&self, call_frame: CallFrame) {
        self.end_own(false);
        self.leave_level();
        self.inline_subtrees.next.set(Some(call_frame));
    }

    /// Like `end_in_call_frame`, for a body whose frame was closed.
    pub(crate) fn leave_call_frame(&self, call_frame: CallFrame) {
        call_frame.forget_name();
        self.inline_subtrees.next.set(Some(call_frame));
    }

    /// Promotes the inline subtree for something that it cannot do. Later subtrees may fail in the
    /// same way, so the next parents run in frames.
    #[cold]
    pub(crate) fn give_up_inline_subtree(&self) {
        self.inline_subtrees.pause.set(PAUSE);
        self.promote();
    }

    /// Promotes the inline subtree, if there is one: each of its bodies gets a frame.
    #[cold]
    pub(crate) fn promote(&self) {
        let InlineSubtrees { on, next, promoted, .. } = &self.inline_subtrees;
        if !self.inline_subtrees.goes_on() {
            return;
        }
        on.store(false, Relaxed);
        while promoted.get() != next.get() {
            let call_frame = promoted.get().expect("in use");
            call_frame.made().set(false);
            let closure = self.push_virtual_frame(call_frame.virtual_frame());
            // SAFETY: it is the scope of a body that runs.
            let scope_state = unsafe { call_frame.scope_state() };
            scope_state.move_task(closure);
            // The frame gets the pointer to the place, because closing the frame drops the scope
            // there.
            self.open_with(0, |_| call_frame.scope_state_at());
            // `open_with` counts a body, but this one was counted when it began.
            self.leave_level();
            promoted.set(call_frame.after().get());
        }
    }

    /// Pushes a running parent into the youngest frame.
    fn push_virtual_frame(&self, virtual_frame: TaskRef) -> TaskRef {
        let header = virtual_frame.header();
        let uses = virtual_frame.compact_uses();
        (0..uses.count()).for_each(|index| self.note(uses.version(index).meta().of::<InOrder>()));
        let new = NewTask {
            vtable: header.vtable(),
            scope: header.scope_state().into(),
            order: header.order(),
            place: header.place(),
            priority: 0,
            extras: None,
            accesses: uses.count(),
        };
        // The payload is not needed: the body has it.
        let (closure, size) = self.push_called(new, uses, virtual_frame.compact_label());
        self.announce(closure.0.as_ptr().cast(), size);
        closure
    }
}
