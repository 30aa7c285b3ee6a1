//! Which step runs on this thread, and what its last poll has met. Plain data: a thread-local knows no lifetimes.

use std::cell::RefCell;

use crate::origin::{Origin, StepId, Tag};

/// A slot of a collection, both by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotId {
    pub(crate) collection: u32,
    pub(crate) slot: usize,
}

/// The step whose body is polled here.
#[derive(Debug)]
pub(crate) struct Polled {
    pub(crate) graph: u64,
    pub(crate) step: StepId,
    pub(crate) tag: Tag,
    /// Whether a missing item is noted, and nothing waits for it.
    pub(crate) notes: bool,
    /// The items that were missing.
    pub(crate) missing: Vec<SlotId>,
    /// What was put first, if anything was.
    pub(crate) put: Option<SlotId>,
    /// The first item whose use has ended, if one has.
    pub(crate) used: Option<SlotId>,
    /// The body is dropped, to run again from its start: what it has is given back.
    pub(crate) drops: bool,
}

thread_local! {
    static POLLED: RefCell<Option<Polled>> = const { RefCell::new(None) };
}

/// Runs `poll` as the step `polled`; what it has met.
pub(crate) fn poll_as<R>(polled: Polled, poll: impl FnOnce() -> R) -> (R, Polled) {
    /// Puts back what was there, also if a body panics.
    struct Before(Option<Polled>);
    impl Drop for Before {
        fn drop(&mut self) {
            POLLED.with_borrow_mut(|now| *now = self.0.take());
        }
    }
    let before = Before(POLLED.replace(Some(polled)));
    let result = poll();
    let polled = POLLED.take().expect("what is polled within this is put back");
    drop(before);
    (result, polled)
}

/// Tells the step of this graph that runs here, if one does.
pub(crate) fn tell<R>(graph: u64, f: impl FnOnce(&mut Polled) -> R) -> Option<R> {
    POLLED.with_borrow_mut(|polled| polled.as_mut().filter(|polled| polled.graph == graph).map(f))
}

/// Who puts something into this graph here.
pub(crate) fn origin(graph: u64) -> Origin {
    let step = tell(graph, |polled| Origin::step(polled.step, &polled.tag));
    step.unwrap_or(Origin::Environment)
}
