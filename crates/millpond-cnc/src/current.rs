//! The step running on this thread, and the results of its last poll. Plain data, because a
//! thread-local has no lifetime parameters.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::{self, Formatter};

use crate::error::{By, StepName};
use crate::origin::{Shown, StepId, Tag};

/// A slot of a collection: the indices of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotId {
    pub(crate) collection: u32,
    pub(crate) slot: usize,
}

/// An effect of a step, which a second run of the step would repeat.
#[derive(Debug)]
pub(crate) enum Done {
    /// It put this item.
    Put(SlotId),
    /// It ended a use of this item.
    Used(SlotId),
    /// It put a tag.
    Tag(Box<PutTag>),
    /// It changed an enclosing graph. The text says how.
    Outside(Box<str>),
}

/// A put tag.
#[derive(Debug)]
pub(crate) struct PutTag {
    /// The tag collection.
    pub(crate) collection: &'static str,
    pub(crate) tag: Tag,
    /// Formats a packed tag.
    pub(crate) show: fn(u64, &mut Formatter<'_>) -> fmt::Result,
}

/// The step whose body is being polled.
#[derive(Debug)]
pub(crate) struct Polled {
    pub(crate) graph: u64,
    pub(crate) step: StepId,
    pub(crate) tag: Tag,
    /// The step collection's name, because an enclosing graph does not know its index.
    pub(crate) name: &'static str,
    /// Formats a packed tag.
    pub(crate) show: fn(u64, &mut Formatter<'_>) -> fmt::Result,
    /// Whether a missing item is only recorded, without a wait.
    pub(crate) notes: bool,
    /// The missing items.
    pub(crate) missing: Vec<SlotId>,
    /// Whether the step runs again from its start if an item is missing.
    pub(crate) replays: bool,
    /// The step's first effect, if it may run again.
    pub(crate) done: Option<Done>,
    /// The body is being dropped, to run again from its start. Its uses are returned.
    pub(crate) drops: bool,
    /// If its gets are checked: the items that it may get, or that have certainly been put.
    pub(crate) sure: Option<Box<Sure>>,
    /// Whether it must not get the first missing item.
    pub(crate) wrong: bool,
}

/// Items that a step may get.
pub(crate) type Sure = HashSet<SlotId, foldhash::fast::FixedState>;

thread_local! {
    /// The steps whose polls have begun on this thread. A body may wait inside a poll, for an inner
    /// scope or graph. Then the thread may run other steps, on other stacks. So the stack's mark
    /// names the running step: its index here, plus 1.
    static POLLED: RefCell<Vec<Option<Polled>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with the running step.
#[inline]
fn with<R>(f: impl FnOnce(&mut Polled) -> R) -> Option<R> {
    let place = millpond::internals::mark().checked_sub(1)?;
    POLLED.with_borrow_mut(|polled| polled.get_mut(place)?.as_mut().map(f))
}

impl Polled {
    /// Records an effect of the step, if the step may run again.
    #[inline]
    pub(crate) fn note(&mut self, done: Done) {
        if self.replays {
            self.done.get_or_insert(done);
        }
    }

    /// Whether a checked step must not get this item. A step must not get an undeclared item. A
    /// step that may run again and has had an effect must not get an item that may be late.
    fn refuses(&mut self, slot: SlotId) -> bool {
        let Some(sure) = &mut self.sure else { return false };
        if sure.contains(&slot) {
            return false;
        }
        if self.replays && self.done.is_none() {
            sure.insert(slot);
            return false;
        }
        if !self.wrong {
            self.missing.insert(0, slot);
            self.wrong = true;
        }
        true
    }
}

/// Runs `poll` as the step `polled`. Returns the result and the step's record.
pub(crate) fn poll_as<R>(polled: Polled, poll: impl FnOnce() -> R) -> (R, Polled) {
    /// An entered step, and the mark before.
    struct Entered {
        place: usize,
        before: usize,
    }
    impl Entered {
        fn leave(&self) -> Option<Polled> {
            millpond::internals::replace_mark(self.before);
            POLLED.with_borrow_mut(|all| {
                let polled = all.get_mut(self.place)?.take();
                // A step above this one runs on another stack, and may end later.
                while let Some(None) = all.last() {
                    all.pop();
                }
                polled
            })
        }
    }
    /// Also leaves if a body panics.
    impl Drop for Entered {
        fn drop(&mut self) {
            drop(self.leave());
        }
    }
    let place = POLLED.with_borrow_mut(|all| {
        all.push(Some(polled));
        all.len() - 1
    });
    let entered = Entered { place, before: millpond::internals::replace_mark(place + 1) };
    let result = poll();
    let polled = entered.leave().expect("a step leaves once");
    std::mem::forget(entered);
    (result, polled)
}

/// Calls `f` with the running step, if it is in this graph.
pub(crate) fn with_own<R>(graph: u64, f: impl FnOnce(&mut Polled) -> R) -> Option<R> {
    with(|polled| (polled.graph == graph).then(|| f(polled))).flatten()
}

/// Whether the running step, if it is in this graph, must not get this item. Then the step does not
/// continue.
#[cold]
pub(crate) fn refuses(graph: u64, slot: SlotId) -> bool {
    with_own(graph, |polled| polled.refuses(slot)) == Some(true)
}

/// Like [`with_own`], but also for a step of a graph enclosed by `graph`. The ids of graphs grow. A
/// step reaches its graph, the enclosing ones, and those that it makes. If it runs again, it makes
/// these again.
pub(crate) fn with_enclosed<R>(graph: u64, f: impl FnOnce(&mut Polled) -> R) -> Option<R> {
    with(|polled| (graph <= polled.graph).then(|| f(polled))).flatten()
}

/// The running step, if it is in `graph` or in a graph enclosed by it.
pub(crate) fn step(graph: u64) -> Option<StepName> {
    let step = with_enclosed(graph, |polled| (polled.name, polled.tag.clone(), polled.show));
    step.map(|(name, tag, show)| StepName { step: name.to_owned(), tag: Shown(&tag, show).to_string() })
}

/// Records the running step's effect on `graph`, if the step may run again. The argument of `done`
/// says whether `graph` is the step's own.
pub(crate) fn note(graph: u64, done: impl FnOnce(bool) -> Done) {
    let own = with_enclosed(graph, |polled| (polled.replays && polled.done.is_none()).then_some(polled.graph == graph));
    if let Some(own) = own.flatten() {
        // Nothing is borrowed here, because this may call a method of a key.
        let done = done(own);
        with_enclosed(graph, |polled| polled.note(done));
    }
}

/// The step acting on this graph here, or the environment.
pub(crate) fn by(graph: u64) -> By {
    step(graph).map_or(By::Environment, By::Step)
}
