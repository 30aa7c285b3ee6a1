//! The shared state of a graph.

use std::fmt::{self, Formatter};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use millpond::CancelToken;

use crate::error::{By, Error, Kind, StepName, Stuck};
use crate::key::Key;
use crate::origin::{self, Origin, Shown, StepId, Tag};

/// See the [module](self).
pub(crate) struct Shared {
    id: u64,
    /// Whether steps must end without running their bodies.
    stopped: AtomicBool,
    /// Whether steps must report their missing items, and end.
    reports: AtomicBool,
    /// Whether any steps have checked gets.
    checks: AtomicBool,
    failure: Mutex<Option<Error>>,
    stuck: Mutex<Vec<Stuck>>,
    cancel: OnceLock<CancelToken>,
    steps: boxcar::Vec<StepKind>,
}

/// The data of a step collection for reports.
struct StepKind {
    name: &'static str,
    /// Formats a packed tag.
    show: fn(u64, &mut Formatter<'_>) -> fmt::Result,
}

impl Shared {
    pub(crate) fn new() -> Self {
        static GRAPHS: AtomicU64 = AtomicU64::new(0);
        Shared {
            id: GRAPHS.fetch_add(1, Relaxed),
            stopped: AtomicBool::new(false),
            reports: AtomicBool::new(false),
            checks: AtomicBool::new(false),
            failure: Mutex::default(),
            stuck: Mutex::default(),
            cancel: OnceLock::new(),
            steps: boxcar::Vec::new(),
        }
    }

    /// The graph's id.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn set_cancel(&self, token: CancelToken) {
        self.cancel.set(token).expect("a graph runs once");
    }

    pub(crate) fn add_step<K: Key>(&self, name: &'static str) -> StepId {
        StepId(self.steps.push(StepKind { name, show: origin::show::<K> }) as u32)
    }

    pub(crate) fn step(&self, id: StepId) -> &'static str {
        self.steps[id.0 as usize].name
    }

    pub(crate) fn step_name(&self, id: StepId, tag: &Tag) -> StepName {
        let kind = &self.steps[id.0 as usize];
        StepName { step: kind.name.to_owned(), tag: Shown(tag, kind.show).to_string() }
    }

    pub(crate) fn by(&self, origin: &Origin) -> By {
        match origin {
            Origin::Environment => By::Environment,
            Origin::Word(step, word) => By::Step(self.step_name(*step, &Tag::Word(*word))),
            Origin::Other(step, tag) => By::Step(self.step_name(*step, &Tag::Other(tag.clone()))),
        }
    }

    /// Fails the graph. Keeps the first failure. No more steps begin.
    pub(crate) fn fail(&self, why: Kind) {
        let mut why = Some(Error::from(why));
        {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            if failure.is_none() {
                *failure = why.take();
            }
        }
        // Dropped without the lock, because it may hold a user's error.
        drop(why);
        self.stop();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Makes steps that have not begun end at once.
    pub(crate) fn finish(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Ends the graph: no more steps begin.
    pub(crate) fn stop(&self) {
        self.finish();
        if let Some(token) = self.cancel.get() {
            token.cancel();
        }
    }

    /// Records that steps with checked gets exist.
    pub(crate) fn check_gets(&self) {
        self.checks.store(true, Relaxed);
    }

    /// Whether a get must be checked. Relaxed is enough, because the tag that prescribes a step is
    /// put after its collection was made.
    #[inline]
    pub(crate) fn checks_gets(&self) -> bool {
        self.checks.load(Relaxed)
    }

    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes each step report its missing items, and end. Called when no step can run any more.
    pub(crate) fn ask_for_reports(&self) {
        self.reports.store(true, Relaxed);
    }

    pub(crate) fn wants_reports(&self) -> bool {
        self.reports.load(Relaxed)
    }

    pub(crate) fn report(&self, stuck: Stuck) {
        self.stuck.lock().unwrap_or_else(PoisonError::into_inner).push(stuck);
    }

    pub(crate) fn take_reports(&self) -> Vec<Stuck> {
        let mut stuck = std::mem::take(&mut *self.stuck.lock().unwrap_or_else(PoisonError::into_inner));
        stuck.sort();
        stuck
    }
}
