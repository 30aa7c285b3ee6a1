//! Which step runs here, and what its last poll has met. Plain data: a thread-local knows no lifetimes.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::{self, Formatter};

use crate::error::{By, StepName};
use crate::origin::{Shown, StepId, Tag};

/// A slot of a collection, both by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotId {
    pub(crate) collection: u32,
    pub(crate) slot: usize,
}

/// What a step has done, and would do again if it ran again from its start.
#[derive(Debug)]
pub(crate) enum Done {
    /// It has put this item.
    Put(SlotId),
    /// It has ended a use of this item.
    Used(SlotId),
    /// It has put a tag.
    Tag(Box<PutTag>),
    /// It has changed a graph that encloses its own: in words.
    Outside(Box<str>),
}

/// A tag that was put.
#[derive(Debug)]
pub(crate) struct PutTag {
    /// The tag collection.
    pub(crate) collection: &'static str,
    pub(crate) tag: Tag,
    /// Shows a tag that was packed.
    pub(crate) show: fn(u64, &mut Formatter<'_>) -> fmt::Result,
}

/// The step whose body is polled here.
#[derive(Debug)]
pub(crate) struct Polled {
    pub(crate) graph: u64,
    pub(crate) step: StepId,
    pub(crate) tag: Tag,
    /// The step collection, for a graph that does not know it by its place.
    pub(crate) name: &'static str,
    /// Shows a tag that was packed.
    pub(crate) show: fn(u64, &mut Formatter<'_>) -> fmt::Result,
    /// Whether a missing item is noted, and nothing waits for it.
    pub(crate) notes: bool,
    /// The items that were missing.
    pub(crate) missing: Vec<SlotId>,
    /// Whether the step runs again from its start if an item is missing.
    pub(crate) replays: bool,
    /// The first thing that it did and would do again, if it may run again.
    pub(crate) done: Option<Done>,
    /// The body is dropped, to run again from its start: what it has is given back.
    pub(crate) drops: bool,
    /// If its gets are checked: the items that it may get, or that are there for sure.
    pub(crate) sure: Option<Box<Sure>>,
    /// Whether the first item of those that were missing is one that it must not get.
    pub(crate) wrong: bool,
}

/// Items that a step may get.
pub(crate) type Sure = HashSet<SlotId, foldhash::fast::FixedState>;

thread_local! {
    /// The steps whose polls have begun on this thread. If a body waits in the middle of a poll, for a scope or a graph within
    /// it, its thread may run others on other stacks. So which of the steps runs here, the stack's mark says: its place and 1.
    static POLLED: RefCell<Vec<Option<Polled>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f` with the step that runs here.
#[inline]
fn with<R>(f: impl FnOnce(&mut Polled) -> R) -> Option<R> {
    let place = millpond::mark().checked_sub(1)?;
    POLLED.with_borrow_mut(|polled| polled.get_mut(place)?.as_mut().map(f))
}

impl Polled {
    /// Notes what the step has done, if it may run again.
    #[inline]
    pub(crate) fn note(&mut self, done: Done) {
        if self.replays {
            self.done.get_or_insert(done);
        }
    }

    /// Whether a checked step must not get this item: one that it has not declared; or, of a step that may run again, one
    /// that may be late when it has done something already.
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

/// Runs `poll` as the step `polled`; what it has met.
pub(crate) fn poll_as<R>(polled: Polled, poll: impl FnOnce() -> R) -> (R, Polled) {
    /// A step that is entered, with the mark before.
    struct Entered {
        place: usize,
        before: usize,
    }
    impl Entered {
        fn leave(&self) -> Option<Polled> {
            millpond::replace_mark(self.before);
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
    /// Also if a body panics.
    impl Drop for Entered {
        fn drop(&mut self) {
            drop(self.leave());
        }
    }
    let place = POLLED.with_borrow_mut(|all| {
        all.push(Some(polled));
        all.len() - 1
    });
    let entered = Entered { place, before: millpond::replace_mark(place + 1) };
    let result = poll();
    let polled = entered.leave().expect("a step leaves once");
    std::mem::forget(entered);
    (result, polled)
}

/// Tells the step of this graph that runs here, if one does.
pub(crate) fn tell<R>(graph: u64, f: impl FnOnce(&mut Polled) -> R) -> Option<R> {
    with(|polled| (polled.graph == graph).then(|| f(polled))).flatten()
}

/// Whether the step of this graph that runs here must not get that item. It does not go on then.
#[cold]
pub(crate) fn refuses(graph: u64, slot: SlotId) -> bool {
    tell(graph, |polled| polled.refuses(slot)) == Some(true)
}

/// Like [`tell`], also for a step of a graph that `graph` encloses. Numbers of graphs grow, and a step reaches its own
/// graph, those that enclose it, and those that it makes. These last ones are made again when it runs again.
pub(crate) fn tell_enclosed<R>(graph: u64, f: impl FnOnce(&mut Polled) -> R) -> Option<R> {
    with(|polled| (graph <= polled.graph).then(|| f(polled))).flatten()
}

/// The step that runs here, if it is one of `graph` or of a graph that `graph` encloses.
pub(crate) fn step(graph: u64) -> Option<StepName> {
    let step = tell_enclosed(graph, |polled| (polled.name, polled.tag.clone(), polled.show));
    step.map(|(name, tag, show)| StepName { step: name.to_owned(), tag: Shown(&tag, show).to_string() })
}

/// Notes what the step that runs here has done to `graph`, if it may run again. `done` is told whether that graph is the
/// step's own.
pub(crate) fn note(graph: u64, done: impl FnOnce(bool) -> Done) {
    let own = tell_enclosed(graph, |polled| (polled.replays && polled.done.is_none()).then_some(polled.graph == graph));
    if let Some(own) = own.flatten() {
        // May call a method of a key, so nothing is borrowed here.
        let done = done(own);
        tell_enclosed(graph, |polled| polled.note(done));
    }
}

/// The step that does something to this graph here, or the environment.
pub(crate) fn by(graph: u64) -> By {
    step(graph).map_or(By::Environment, By::Step)
}
