//! Portable tasks that run at their spawn, without a closure and without a frame (`at_spawn` has what knows their types).
//!
//! A portable parent spawns portable tasks only, and waits for nothing: nobody can tell whether what it spawns runs at once or after
//! it. While such bodies are short they run at once, in an *episode*, which begins with the body of a portable parent that the stack
//! runs: all before that has ended, so that of what it spawns nothing has to wait. The children of a leaf's parent are then calls:
//!
//! ```text
//!   stack   … │ Frame │ closures │ Frame of the parent with which the episode began │
//!   rooms                                             │ room 0 │ room 1 │ room 2 │     bodies called by it, one by the other
//! ```
//!
//! A room ([`Parts`]) has what a body finds in its frame otherwise: its scope, its view of what it declared, and a *virtual frame*, the parent in
//! short form but for its payload, which was passed to the body itself.
//!
//! Nothing of an episode can be stolen. So as soon as a thief asks, or something comes up that needs a frame (a failure, an access of
//! another mode, a name), the episode is *promoted*: each of its bodies gets its frame, in which its virtual frame is a closure that runs, and
//! from then on they lay down what they spawn. A body that was called and has got a frame runs all of that before it returns, as one
//! that waits does. What thieves may see meanwhile:
//!
//! - S1. while the stack's shape is odd (`frames::seen`) the virtual frame is announced as what runs, and then as complete: nobody sees it
//!   as what comes next;
//! - S2. its body's frame is opened as any other.
//!
//! Without a settlement an episode writes nothing where thieves look.
//!
//! With one worker there is nobody to steal anything. With several, the bodies of some level must take [`SHORT`] in the mean with all
//! that they spawn, or less, so that thieves find what is larger before. One in [`EVERY`] of those that run in frames is measured.

use std::cell::{Cell, OnceCell, UnsafeCell};
use std::mem::{MaybeUninit, offset_of};
use std::ptr::NonNull;

use super::parent::open_version;
use crate::clock;
use crate::depend::in_order::InOrder;
use crate::depend::tracker::SchemeOps;
use crate::handle::{Datum, Version};
use crate::runtime::config::{Config, Inline};
use crate::runtime::scope_state::ScopeState;
use crate::stack::layout::frames::Frames;
use crate::sync::atomic::AtomicBool;
use crate::sync::atomic::Ordering::Relaxed;
use crate::task::{Header, Modes, NewTask, TaskRef};

#[cfg(all(test, not(loom)))]
mod tests;

/// Accesses that a parent has which is called, at most.
pub(crate) const MOST: usize = 4;

/// Bodies called one by the other, at most.
const DEEPEST: usize = if cfg!(debug_assertions) { 3 } else { 64 };

/// What the bodies of a level take in the mean for what they spawn to run at its spawn: in moments, some 25 ns. 100 µs: a thousandth
/// of it are a closure and a frame.
const SHORT: u32 = 1 << 12;

/// A longer time counts as this.
const LONGEST: u32 = 16 * SHORT;

/// One in so many of a level is measured that have frames.
const EVERY: u32 = 16;

/// After an episode that ended for a spawn that is no call so many portable parents run in frames.
const PAUSE: u32 = 16;

/// Levels that are told apart.
const LEVELS: usize = 64;

/// After so many calls an episode looks at the clock.
const LOOK: u32 = 64;

/// A time in 64 ticks of the clock, from anywhen, never 0.
pub(in crate::stack) type Moment = u32;

fn now() -> Moment {
    ((clock::ticks() >> 6) as Moment).max(1)
}

/// What a stack knows of inline subtrees; the owner's alone.
#[derive(Debug)]
pub(in crate::stack) struct InlineSubtrees {
    /// An episode goes on: nothing was compact down in its bodies. Thieves look at it.
    on: AtomicBool,
    rooms: OnceCell<Box<[UnsafeCell<Parts>]>>,
    /// The next room, if there is one left.
    next: Cell<Option<Room>>,
    /// Of the last episode: the first room, or that of the first body that has no frame; the level of the body with which it began.
    promoted: Cell<Option<Room>>,
    level: Cell<u32>,
    /// Down to which address of the thread's stack it calls bodies.
    until: Cell<usize>,
    /// When it began; calls until it looks at the clock.
    began: Cell<Moment>,
    looks: Cell<u32>,
    levels: [Level; LEVELS],
    /// So many bodies begin no episode that is measured: the last one has ended for something else.
    pause: Cell<u32>,
}

/// What is known of the bodies of one level.
#[derive(Debug)]
struct Level {
    /// What one takes with all that it spawns: a mean in which those long ago count less.
    mean: Cell<u32>,
    /// How many that have frames come before the next one that is measured: of this level, since among all a level could be passed over
    /// for ever.
    until_measured: Cell<u32>,
}

#[repr(C, align(64))]
struct Parts {
    scope_state: MaybeUninit<ScopeState>,
    virtual_frame: MaybeUninit<VirtualFrame>,
    views: [MaybeUninit<Datum>; MOST],
    after: Cell<Option<Room>>,
    /// All parts are there, and as they were made but for what is made for each body; and for mode and generation of views, which the
    /// next access sets.
    made: Cell<bool>,
}

/// A parent in short form but for its payload.
#[repr(C, align(64))]
struct VirtualFrame {
    header: Header,
    versions: [NonNull<Version>; MOST],
}

/// How the body of a portable parent runs that the stack runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stack) enum Begun {
    Usual,
    /// It is measured until its frame is closed.
    Measured(Moment),
    /// An episode has begun, which is measured or not.
    InlineSubtree(Moment),
    Always,
}

/// The room of one body that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room(NonNull<Parts>);

impl Default for InlineSubtrees {
    fn default() -> Self {
        InlineSubtrees {
            on: AtomicBool::new(false),
            rooms: OnceCell::new(),
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
    /// The body of a portable parent of this level begins, on a thread's stack that has room for others down to an address.
    pub(in crate::stack) fn begin(&self, config: &Config, level: u32, until: impl FnOnce() -> usize) -> Begun {
        let always = match config.inline {
            Inline::Never => return Begun::Usual,
            Inline::Always => true,
            Inline::Auto => config.workers == 1,
        };
        let (pause, of_level) = (self.pause.get(), self.of_level(level));
        if always || pause == 0 && of_level.mean.get() <= SHORT {
            let began = if always { 0 } else { now() };
            debug_assert!(!self.goes_on(), "what is called lays nothing down");
            self.open_rooms();
            self.promoted.set(self.next.get());
            self.level.set(level);
            self.until.set(until());
            self.looks.set(LOOK);
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

    /// That body, of this level, has ended, and `ran` at all.
    #[inline]
    pub(in crate::stack) fn end(&self, begun: Begun, level: u32, ran: bool) {
        let goes_on = self.goes_on();
        self.on.store(false, Relaxed);
        if let (Begun::InlineSubtree(began), true) = (begun, ran) {
            let took = now().wrapping_sub(began);
            // Of one that was promoted more is to come.
            if goes_on || took > self.of_level(level).mean.get() {
                self.note_time(level, took);
            }
        }
    }

    /// Whether an episode goes on, of which thieves see nothing: a peek.
    #[inline(always)]
    pub(in crate::stack) fn goes_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// A body of this level is over which began then, with all that it has spawned.
    #[cold]
    pub(in crate::stack) fn note(&self, level: u32, began: Moment) {
        self.note_time(level, now().wrapping_sub(began));
    }

    fn note_time(&self, level: u32, took: u32) {
        let mean = &self.of_level(level).mean;
        mean.set((mean.get() * 7 + took.min(LONGEST)) / 8);
    }

    fn of_level(&self, level: u32) -> &Level {
        &self.levels[(level as usize).min(LEVELS - 1)]
    }

    /// Whether the episode takes too long, if it is measured: a look now and then.
    #[inline(always)]
    pub(crate) fn is_too_long(&self) -> bool {
        self.looks.set(self.looks.get() - 1);
        self.looks.get() == 0 && self.is_too_long_by_the_clock()
    }

    #[cold]
    fn is_too_long_by_the_clock(&self) -> bool {
        self.looks.set(LOOK);
        let is_too_long = self.began.get() != 0 && now().wrapping_sub(self.began.get()) > 4 * SHORT;
        if is_too_long {
            self.note_time(self.level.get(), LONGEST);
        }
        is_too_long
    }

    /// Makes the rooms, if they are not there.
    fn open_rooms(&self) {
        if self.rooms.get().is_some() {
            return;
        }
        let rooms = self.rooms.get_or_init(|| (0..DEEPEST).map(|_| UnsafeCell::new(Parts::empty())).collect());
        let mut after = None;
        for room in rooms.iter().rev() {
            let room = Room(NonNull::from(room).cast());
            room.after().set(after);
            after = Some(room);
        }
        self.next.set(after);
    }

    /// The room of the next body that is called, unless there is none left, no more of the thread's stack, or the episode takes too
    /// long.
    #[inline(always)]
    pub(crate) fn next_room(&self) -> Option<Room> {
        let here = 0_u8;
        if (&raw const here).addr() < self.until.get() || self.is_too_long() {
            return None;
        }
        self.next.get()
    }
}

impl Parts {
    fn empty() -> Parts {
        Parts {
            scope_state: MaybeUninit::uninit(),
            // A header's state is not made with it.
            virtual_frame: MaybeUninit::zeroed(),
            views: [const { MaybeUninit::uninit() }; MOST],
            after: Cell::new(None),
            made: Cell::new(false),
        }
    }
}

impl Room {
    /// What is at so many bytes in it.
    #[inline(always)]
    fn at<T>(self, offset: usize) -> NonNull<T> {
        // SAFETY: inside of it.
        unsafe { self.0.byte_add(offset) }.cast()
    }

    fn scope_state_at(self) -> NonNull<ScopeState> {
        self.at(offset_of!(Parts, scope_state))
    }

    /// The scope of its body.
    ///
    /// # Safety
    ///
    /// It was made, and the body is not over.
    #[inline(always)]
    pub(crate) unsafe fn scope_state<'a>(self) -> &'a ScopeState {
        // SAFETY: the caller's.
        unsafe { self.scope_state_at().as_ref() }
    }

    /// The parent whose body it is, but for its payload.
    #[inline(always)]
    pub(crate) fn virtual_frame(self) -> TaskRef {
        TaskRef(self.at(offset_of!(Parts, virtual_frame)))
    }

    /// Where the first is of its views of what it declared.
    #[inline(always)]
    pub(crate) fn views(self) -> NonNull<Datum> {
        self.at(offset_of!(Parts, views))
    }

    /// The next one.
    #[inline(always)]
    fn after<'a>(self) -> &'a Cell<Option<Room>> {
        // SAFETY: it is there from the first; the stack's owner uses it, who calls.
        unsafe { self.at(offset_of!(Parts, after)).as_ref() }
    }

    #[inline(always)]
    fn made<'a>(self) -> &'a Cell<bool> {
        // SAFETY: as above.
        unsafe { self.at(offset_of!(Parts, made)).as_ref() }
    }

    /// Makes the virtual frame of a parent, but for its versions.
    ///
    /// # Safety
    ///
    /// The room is in no use.
    #[inline(always)]
    pub(crate) unsafe fn push_virtual_frame(self, new: NewTask) {
        if self.made().get() {
            // SAFETY: the caller's; the rest is as it was made.
            unsafe { Header::lay_again(self.virtual_frame().0, new) };
        } else {
            // SAFETY: the caller's.
            unsafe { TaskRef::lay(self.at(offset_of!(Parts, virtual_frame)), 0, true, new) };
        }
    }

    /// Makes the scope of a body, and its views.
    ///
    /// # Safety
    ///
    /// The room is in no use, and its virtual frame is that of a parent that `parent` calls on the worker of `seat`, with these accesses.
    #[inline(always)]
    pub(crate) unsafe fn make(
        self,
        frames: &Frames,
        parent: &ScopeState,
        seat: usize,
        versions: &[NonNull<Version>],
        modes: Modes,
    ) {
        if self.made().get() {
            // SAFETY: the caller's.
            unsafe { ScopeState::renew(self.scope_state_at(), parent, seat) };
        } else {
            // SAFETY: as above.
            unsafe { self.make_first(frames, parent, seat) };
        }
        for (index, &version) in versions.iter().enumerate() {
            // SAFETY: the parent has an access to it.
            open_version(unsafe { version.as_ref() }, modes.at(index));
            // SAFETY: there are so many.
            let view = unsafe { self.views().add(index) };
            // SAFETY: made.
            unsafe { view.as_ref() }.renew_view(version);
        }
    }

    /// # Safety
    ///
    /// As `make`.
    #[cold]
    unsafe fn make_first(self, frames: &Frames, parent: &ScopeState, seat: usize) {
        // SAFETY: the caller's.
        unsafe { ScopeState::nest_in_frame(self.scope_state_at(), parent, self.virtual_frame(), seat, frames.into()) };
        for index in 0..MOST {
            // SAFETY: there are so many.
            let view = unsafe { self.views().add(index) };
            // SAFETY: the caller's.
            unsafe { view.write(Datum::view(NonNull::dangling(), SchemeOps::of::<InOrder>())) };
        }
        self.made().set(true);
    }
}

impl Frames {
    /// Whether a task runs at its spawn: in an episode, if it is portable and nobody asks. Else the episode is over.
    #[inline(always)]
    pub(crate) fn runs_at_spawn(&self, portable: bool) -> bool {
        self.inline_subtrees.goes_on() && (portable && self.guard().is_clear() || self.goes_on_in_spite(portable))
    }

    #[cold]
    fn goes_on_in_spite(&self, portable: bool) -> bool {
        // Where a fence is needed the word is never clear; but a call takes nothing that a thief could take.
        let goes_on = portable && self.guard().is_owned();
        if !goes_on {
            self.promote();
        }
        goes_on
    }

    /// A body begins in the next room.
    #[inline(always)]
    pub(crate) fn begin_in_room(&self, room: Room) {
        debug_assert_eq!(self.inline_subtrees.next.get(), Some(room), "bodies are called one by the other");
        self.inline_subtrees.next.set(room.after().get());
        self.enter_level();
    }

    /// The body in that room, which has no frame, is over, and so is all that it has spawned.
    #[inline(always)]
    pub(crate) fn end_in_room(&self, room: Room) {
        self.end_own(false);
        self.leave_level();
        self.inline_subtrees.next.set(Some(room));
    }

    /// The same, of one whose frame was closed.
    pub(crate) fn leave_room(&self, room: Room) {
        self.inline_subtrees.next.set(Some(room));
    }

    /// Something is to be done that cannot be done in an episode: the next ones of the program are perhaps no better.
    #[cold]
    pub(crate) fn give_up_inline_subtree(&self) {
        self.inline_subtrees.pause.set(PAUSE);
        self.promote();
    }

    /// Ends the episode, if there is one: each of its bodies gets a frame.
    #[cold]
    pub(crate) fn promote(&self) {
        let InlineSubtrees { on, next, promoted, .. } = &self.inline_subtrees;
        if !self.inline_subtrees.goes_on() {
            return;
        }
        on.store(false, Relaxed);
        while promoted.get() != next.get() {
            let room = promoted.get().expect("in use");
            room.made().set(false);
            let closure = self.push_virtual_frame(room.virtual_frame());
            // SAFETY: the scope of a body that runs.
            let scope_state = unsafe { room.scope_state() };
            scope_state.move_task(closure);
            // By the place itself: who closes the frame drops what is there.
            self.open_with(0, |_| room.scope_state_at());
            // It had begun before.
            self.leave_level();
            promoted.set(room.after().get());
        }
    }

    /// Puts a parent, which runs, into the youngest frame.
    fn push_virtual_frame(&self, virtual_frame: TaskRef) -> TaskRef {
        let header = virtual_frame.header();
        let (versions, modes) = virtual_frame.compact_uses();
        versions.iter().for_each(|version| {
            // SAFETY: the parent has an access to it.
            self.note(unsafe { version.as_ref() }.meta().of::<InOrder>());
        });
        let new = NewTask {
            vtable: header.vtable(),
            scope_state: header.scope_state(),
            order: header.order(),
            place: header.place(),
            priority: 0,
            extras: None,
            accesses: modes.count,
        };
        // Of the payload, which is the body's, nothing is needed.
        let (closure, size) = self.lay_called(new, versions);
        self.announce(closure.0.as_ptr().cast(), size);
        closure
    }
}
