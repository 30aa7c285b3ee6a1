//! The life of a step ([FP](crate#sources) Figure 1): prescribed, ready, running, blocked,
//! finished.
//!
//! A step is a pending task, which starts once its preconditions are met. Its body is a future. If
//! the future waits, the mode decides what happens:
//!
//! | | |
//! |---|---|
//! | strict | the body is polled once, on the worker's stack; if it waits, that is an error |
//! | `Resume` | the future continues as its own task, in that task's block; the first of a flexible collection as with `Fiber` |
//! | `Fiber` | the stack is suspended |
//! | `Replay` | the future is dropped, and a new pending task waits for the item |
//!
//! From its first poll on, a future cannot move, so it must be in a block. But most flexible steps
//! never wait. Until a step of a collection waits, they are polled on the worker's stack, like
//! strict ones. The stack of the first waiting step is suspended. From then on, the collection's
//! steps get blocks.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};

use millpond::{Pending, ScopeHandle, Stay, Task};
use pin_project_lite::pin_project;

use crate::current::{Done, Polled, SlotId, Sure, poll_as};
use crate::error::{ItemName, Kind, Missing, StepName, Stuck};
use crate::key::Key;
use crate::modes::{Blocked, Preconditions};
use crate::need::Need;
use crate::origin::{self, Shown, Tag};
use crate::steps::{Outcome, Prescribed, StepsCore};

impl<'x, K, P, F, Fut> Prescribed<'x, K> for StepsCore<'x, K, P, F>
where
    K: Key,
    P: Fn(&K, &mut Need<'_>) + Copy + Send + Sync + 'x,
    F: Fn(K) -> Fut + Copy + Send + Sync + 'x,
    Fut: Future<Output: Outcome> + Send + 'x,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn prescribe(&'x self, tag: K) {
        let most = self.settings.most();
        if most == 0 {
            return drop(self.pending(tag));
        }
        let Some(pending) = self.pending(tag.clone()) else { return };
        // If this fails the graph, the step is not yet released, and does not begin.
        self.ask(&tag, &mut Need::hold(&pending, most));
    }
}

impl<'x, K, P, F, Fut> StepsCore<'x, K, P, F>
where
    K: Key,
    P: Fn(&K, &mut Need<'_>) + Copy + Send + Sync + 'x,
    F: Fn(K) -> Fut + Copy + Send + Sync + 'x,
    Fut: Future<Output: Outcome> + Send + 'x,
{
    fn scope_handle(&self) -> &'x ScopeHandle<'x> {
        self.around.scope_handle.get().expect("a graph is built within its scope")
    }

    /// Makes a step's task. If its priority panics, the graph fails.
    fn task(&self, tag: &K) -> Task<'x, ScopeHandle<'x>> {
        let task = self.scope_handle().task(self.name);
        match self.priority {
            Some(priority) => match catch_unwind(AssertUnwindSafe(|| priority(tag))) {
                Ok(priority) => task.priority(priority),
                Err(payload) => {
                    self.panicked(&Tag::of(tag), &*payload);
                    task
                }
            },
            None => task,
        }
    }

    /// A step waiting for its preconditions. `None` if the graph has ended, which is impossible,
    /// because no handle of a collection outlives its graph.
    fn pending(&'x self, tag: K) -> Option<Pending> {
        let task = self.task(&tag);
        let pending = match self.as_future() {
            true => task.pending_future(self.future(tag)),
            false => task.pending(move || self.start(tag)),
        };
        pending.ok()
    }

    /// Whether a step is a future from its prescription on, and so needs only one block (see the
    /// [module](self)). A large future is made when the step begins, in a second block. Many steps
    /// may be prescribed, and flexible preconditions must take as little memory as strict ones
    /// (decision 24).
    fn as_future(&self) -> bool {
        const LARGE: usize = 512;
        self.settings.preconditions != Preconditions::Strict
            && self.settings.blocked == Blocked::Resume
            && size_of::<StepFuture<'x, K, P, F, Fut>>() <= LARGE
            && self.waits.load(Relaxed)
    }

    fn future(&'x self, tag: K) -> StepFuture<'x, K, P, F, Fut> {
        StepFuture { step: self, tag: None, stay: None, body: Body::Tag { tag: Some(tag) } }
    }

    /// Asks for the step's preconditions. A panic fails the graph.
    fn ask(&self, tag: &K, need: &mut Need<'_>) {
        let asked = catch_unwind(AssertUnwindSafe(|| (self.preconditions)(tag, need)));
        if let Err(payload) = asked {
            self.panicked(&Tag::of(tag), &*payload);
        }
    }

    /// Whether to run the body, once the preconditions are met, or can never be met.
    fn begins(&self, tag: &K) -> bool {
        let shared = self.around.shared;
        if shared.is_stopped() {
            return false;
        }
        if shared.wants_reports() {
            let mut missing = Vec::new();
            self.ask(tag, &mut Need::list(&mut missing, self.settings.most()));
            if !missing.is_empty() {
                self.report(&Tag::of(tag), false, &missing);
                return false;
            }
        }
        true
    }

    /// Begins a step that is not yet a future.
    fn start(&'x self, tag: K) {
        if !self.begins(&tag) {
            return;
        }
        match (self.settings.preconditions, self.settings.blocked) {
            (Preconditions::Strict, _) => self.run_once(tag, Self::undeclared),
            (_, Blocked::Replay) => self.run_once(tag, Self::again),
            (_, Blocked::Resume) if self.waits.load(Relaxed) => {
                let task = self.task(&tag);
                task.run_future(self.future(tag));
            }
            (_, Blocked::Resume | Blocked::Fiber) => self.run_on_stack(tag),
        }
    }

    /// Polls a body on this stack. If it waits, the stack is suspended.
    fn run_on_stack(&'x self, tag: K) {
        let (own, mut stay, mut body) = (Tag::of(&tag), None, pin!(Body::Tag { tag: Some(tag) }));
        // The first poll has no waker, because most steps do not wait.
        let (polled, _) =
            self.poll_body(self.polled(&own, true), body.as_mut(), &mut Context::from_waker(Waker::noop()));
        if polled.is_ready() {
            return;
        }
        self.waits.store(true, Relaxed);
        let poll = poll_fn(|context| self.poll(&own, &mut stay, body.as_mut(), context));
        if let Err(error) = self.scope_handle().wait_in_place(poll) {
            self.around.shared.fail(Kind::NotKept { step: self.step(&own), why: error });
        }
    }

    /// Polls a body once, on this stack. If it waits, calls `waits`.
    fn run_once(&'x self, tag: K, waits: impl FnOnce(&'x Self, K, Polled)) {
        let own = Tag::of(&tag);
        let mut body = pin!(Body::Tag { tag: Some(tag.clone()) });
        let sure = self.settings.checks().then(|| Box::new(self.sure(&tag)));
        if sure.is_some() && self.around.shared.is_stopped() {
            return;
        }
        let polled = Polled { sure, ..self.polled(&own, true) };
        let (polled, mut met) = self.poll_body(polled, body.as_mut(), &mut Context::from_waker(Waker::noop()));
        if polled.is_pending() || met.wrong {
            let drops = Polled { drops: true, ..self.polled(&own, true) };
            // The body's values may put items or tags when dropped.
            let ((), dropped) = poll_as(drops, || body.set(Body::Tag { tag: None }));
            met.done = met.done.or(dropped.done);
            waits(self, tag, met);
        }
    }

    /// The items awaited before the step began.
    fn sure(&self, tag: &K) -> Sure {
        let (mut sure, most) = (Sure::default(), self.settings.most());
        if most > 0 {
            self.ask(tag, &mut Need::all(self.around.shared.id(), &mut sure, most));
        }
        sure
    }

    fn undeclared(&'x self, tag: K, met: Polled) {
        let step = self.step(&Tag::of(&tag));
        self.around.shared.fail(match met.missing.first() {
            Some(&slot) => Kind::Undeclared { step, item: self.item(slot) },
            None => Kind::Failed { step, message: "it waits for something that is no item".to_owned() },
        });
    }

    /// Runs the step again from its start when the item has been put.
    fn again(&'x self, tag: K, met: Polled) {
        let step = || self.step(&Tag::of(&tag));
        let Some(&slot) = met.missing.first() else {
            let message = "it waits for something that is no item".to_owned();
            return self.around.shared.fail(Kind::Failed { step: step(), message });
        };
        if let Some(done) = met.done {
            let (item, done) = (self.item(slot), self.done(done));
            return self.around.shared.fail(Kind::PutBeforeGet { step: step(), item, done });
        }
        if self.around.shared.wants_reports() {
            return self.report(&Tag::of(&tag), true, &met.missing);
        }
        let Some(pending) = self.pending(tag) else { return };
        self.around.collections[slot.collection as usize].wait(slot.slot, pending.hold());
    }

    /// Polls a body that may be suspended.
    fn poll(
        &self,
        tag: &Tag,
        stay: &mut Option<Stay>,
        body: Pin<&mut Body<K, Fut>>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let shared = self.around.shared;
        if shared.is_stopped() {
            return Poll::Ready(());
        }
        let reports = shared.wants_reports();
        let (polled, met) = self.poll_body(self.polled(tag, reports), body, context);
        if polled.is_pending() && reports && !met.missing.is_empty() {
            self.report(tag, true, &met.missing);
            return Poll::Ready(());
        }
        // It waits for an event outside the graph. The graph must not end before this event.
        *stay = (polled.is_pending() && met.missing.is_empty()).then(|| self.scope_handle().stay());
        polled
    }

    fn polled(&self, tag: &Tag, notes: bool) -> Polled {
        let (graph, step, tag) = (self.around.shared.id(), self.id, tag.clone());
        let (name, show, replays) = (self.name, origin::show::<K>, self.settings.replays());
        let (missing, done, drops, sure, wrong) = (Vec::new(), None, false, None, false);
        Polled { graph, step, tag, name, show, notes, missing, replays, done, drops, sure, wrong }
    }

    /// Polls a body as its step. If the body fails or panics, the graph fails.
    fn poll_body(&self, polled: Polled, body: Pin<&mut Body<K, Fut>>, context: &mut Context<'_>) -> (Poll<()>, Polled) {
        let poll = || body.begun(self.body).poll(context).map(Outcome::failure);
        let (result, met) = poll_as(polled, || catch_unwind(AssertUnwindSafe(poll)));
        match result {
            Ok(Poll::Pending) => return (Poll::Pending, met),
            Ok(Poll::Ready(None)) => {}
            Ok(Poll::Ready(Some(message))) => self.fail(Kind::Failed { step: self.step(&met.tag), message }),
            Err(payload) => self.panicked(&met.tag, &*payload),
        }
        (Poll::Ready(()), met)
    }

    #[cold]
    fn fail(&self, why: Kind) {
        self.around.shared.fail(why);
    }

    #[cold]
    fn panicked(&self, tag: &Tag, payload: &(dyn Any + Send)) {
        self.fail(Kind::Panicked { step: self.step(tag), message: text(payload) });
    }

    fn step(&self, tag: &Tag) -> StepName {
        self.around.shared.step_name(self.id, tag)
    }

    fn item(&self, slot: SlotId) -> ItemName {
        let items = &self.around.collections[slot.collection as usize];
        ItemName { collection: items.name().to_owned(), key: items.key(slot.slot) }
    }

    /// Describes an effect of a step.
    fn done(&self, done: Done) -> String {
        match done {
            Done::Put(slot) => format!("put item {}", self.item(slot)),
            Done::Used(slot) => format!("used up item {}", self.item(slot)),
            Done::Tag(put) => format!("put tag `{}` {}", put.collection, Shown(&put.tag, put.show)),
            Done::Outside(text) => text.into(),
        }
    }

    /// Reports that the step waits for items that no step will put.
    fn report(&self, tag: &Tag, blocked: bool, missing: &[SlotId]) {
        let missing = missing.iter().map(|&slot| {
            let producers = self.around.collections[slot.collection as usize].producers();
            let producers = producers.into_iter().map(|step| self.around.shared.step(step).to_owned());
            Missing { item: self.item(slot), producers: producers.collect() }
        });
        self.around.shared.report(Stuck { step: self.step(tag), blocked, missing: missing.collect() });
    }
}

/// The message of a panic.
fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "(no text)".to_owned())
}

pin_project! {
    /// A step that continues where it was.
    struct StepFuture<'x, K, P, F, Fut> {
        step: &'x StepsCore<'x, K, P, F>,
        // `Some` once the step has begun.
        tag: Option<Tag>,
        stay: Option<Stay>,
        #[pin]
        body: Body<K, Fut>,
    }
}

pin_project! {
    /// A body: its tag, and from its first poll on its future. So the step runs the closure, and is
    /// the origin of its effects.
    #[project = BodyNow]
    enum Body<K, Fut> {
        Tag { tag: Option<K> },
        Begun { #[pin] body: Fut },
    }
}

impl<K, Fut> Body<K, Fut> {
    /// The future, made if there is none yet.
    #[inline]
    fn begun(mut self: Pin<&mut Self>, begin: impl Fn(K) -> Fut) -> Pin<&mut Fut> {
        if let BodyNow::Tag { tag } = self.as_mut().project() {
            let tag = tag.take().expect("begun once");
            self.set(Body::Begun { body: begin(tag) });
        }
        match self.project() {
            BodyNow::Begun { body } => body,
            BodyNow::Tag { .. } => unreachable!("just begun"),
        }
    }
}

impl<'x, K, P, F, Fut> Future for StepFuture<'x, K, P, F, Fut>
where
    K: Key,
    P: Fn(&K, &mut Need<'_>) + Copy + Send + Sync + 'x,
    F: Fn(K) -> Fut + Copy + Send + Sync + 'x,
    Fut: Future<Output: Outcome> + Send + 'x,
{
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if let Body::Tag { tag: Some(tag) } = &*this.body {
            if !this.step.begins(tag) {
                return Poll::Ready(());
            }
            *this.tag = Some(Tag::of(tag));
        }
        let tag = this.tag.as_ref().expect("it has begun");
        this.step.poll(tag, this.stay, this.body, context)
    }
}
