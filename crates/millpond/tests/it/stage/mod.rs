//! A stage holds tasks once they have started, so that a test sees which tasks can start and which
//! cannot.
//!
//! There is one worker, and the test controls it by a session. A task is a parent (`Play::hold`):
//! its body records its start, and waits for a future until the test releases it. Its worker
//! continues meanwhile, so any number of bodies can wait. `Play::settle_as` returns when no thread
//! has anything to do; the recorder reports this. A task that has not started by then cannot start.
//! No timing is involved.

use std::collections::HashSet;
use std::future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::task::{Context, Poll, Waker};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use millpond::catalogue::{AnyRuntime, Names};
use millpond::record::{Cause, Event, Recording, Sink, Track, What};
use millpond::{Access, Engine, Handle, Root, Runtime, Session, Spawn};
use millpond::{Commutative, Concurrent, Inout, Max, Read, Reduce, Sum, Write};

use crate::common::{Mutex, builder};

pub mod serial;

/// How a task uses a datum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Read,
    Write,
    Inout,
    Commutative,
    Concurrent,
    /// By `reduce`, with this reducer.
    Sum,
    /// With another reducer.
    Max,
}

/// The accesses of a task: data by number, each at most once.
pub type Uses = Vec<(How, usize)>;

type Datum = Handle<i64>;
/// One type for all tasks, in the order of `How`.
type Accesses<'h> = (
    Vec<Access<'h, i64, Read, Root>>,
    Vec<Access<'h, i64, Write, Root>>,
    Vec<Access<'h, i64, Inout, Root>>,
    Vec<Access<'h, i64, Commutative, Root>>,
    Vec<Access<'h, i64, Concurrent, Root>>,
    Vec<Access<'h, i64, Reduce<Sum>, Root>>,
    Vec<Access<'h, i64, Reduce<Max>, Root>>,
);

/// A runtime of one scheme.
pub struct Stage<E: Engine> {
    scheme: &'static str,
    rt: Runtime<E>,
    threads: Arc<Threads>,
    /// How long `Play::settle_as` waits for the right answer.
    pub patience: Duration,
    // The last field, so that its subjects still exist.
    _recording: Recording,
}

/// The threads that have something to do.
#[derive(Default)]
struct Threads {
    busy: Mutex<HashSet<Track>>,
}

impl Sink for Threads {
    fn take(&self, track: Track, events: &[Event]) {
        let mut busy = self.busy.lock();
        for event in events {
            match event.what {
                // A body that is held. A body that waits for something else continues soon.
                What::Idle | What::Waits { cause: Cause::Others, .. } => _ = busy.remove(&track),
                What::Awake | What::Resumed { .. } | What::Started { .. } | What::Ended { .. } => {
                    _ = busy.insert(track)
                }
                _ => {}
            }
        }
    }
}

/// One task.
#[derive(Default)]
struct Actor {
    started: bool,
    may_go: bool,
    /// It may start, or does not ask.
    goes: bool,
    waker: Option<Waker>,
    saw: Vec<i64>,
}

#[derive(Default)]
struct Actors(Mutex<Vec<Actor>>);

impl Actors {
    fn start(&self, who: usize, saw: Vec<i64>) {
        let actor = &mut self.0.lock()[who];
        assert!(!actor.started, "task {who} starts once");
        (actor.started, actor.saw) = (true, saw);
    }

    fn poll(&self, who: usize, context: &mut Context<'_>) -> Poll<()> {
        let actor = &mut self.0.lock()[who];
        actor.waker = Some(context.waker().clone());
        actor.goes = actor.may_go;
        if actor.goes { Poll::Ready(()) } else { Poll::Pending }
    }

    fn release(&self, who: usize) {
        let waker = {
            let actor = &mut self.0.lock()[who];
            actor.may_go = true;
            actor.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Runs a test on a stage of each scheme. With `deterministic`, commutative tasks and reductions
/// are ordered. With `renames`, a `write` makes its own version.
macro_rules! on_every_stage {
    ($deterministic:expr, $renames:expr, $stage:ident => $body:expr) => {
        for row in millpond::catalogue::SCHEMES {
            let any = $crate::stage::runtime(row.name, $deterministic, $renames);
            millpond::on_runtime!(any, rt => {
                let $stage = $crate::stage::Stage::new(row.name, rt);
                $body
            });
        }
    };
}
pub(crate) use on_every_stage;

/// A runtime of one worker, for a stage.
pub fn runtime(scheme: &str, deterministic: bool, renames: bool) -> AnyRuntime {
    let room = if renames { u64::MAX } else { 0 };
    let builder = builder(1).deterministic(deterministic).rename_bytes(room);
    AnyRuntime::build(builder, Names { scheme, ..Names::default() }).expect("the choices are in range")
}

impl<E: Engine> Stage<E> {
    pub fn new(scheme: &'static str, rt: Runtime<E>) -> Self {
        let threads = Arc::new(Threads::default());
        let recording = rt.recorder().add(threads.clone());
        Stage { scheme, rt, threads, patience: Duration::from_secs(5), _recording: recording }
    }

    /// The name of its scheme.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// Starts with data of these values, or without a value.
    pub fn play(&self, data: &[Option<i64>]) -> Play<'_, E> {
        let data = data.iter().map(|value| value.map_or_else(Handle::unset, Handle::new)).collect();
        Play { stage: self, session: Some(self.rt.session()), actors: Arc::default(), data, patience: self.patience }
    }
}

/// A session of tasks on a stage. Tasks have numbers, in the order of their spawns.
pub struct Play<'a, E: Engine> {
    stage: &'a Stage<E>,
    /// Taken at the end.
    session: Option<Session<E>>,
    actors: Arc<Actors>,
    data: Vec<Datum>,
    patience: Duration,
}

impl<E: Engine> Play<'_, E> {
    fn session(&self) -> &Session<E> {
        self.session.as_ref().expect("taken at the end")
    }

    /// Gives a task a number, and records its accesses.
    fn enter(&self, uses: &[(How, usize)]) -> (usize, Accesses<'_>) {
        let mut actors = self.actors.0.lock();
        actors.push(Actor::default());
        let mut accesses = Accesses::default();
        for &(how, datum) in uses {
            let datum = &self.data[datum];
            match how {
                How::Read => accesses.0.push(datum.read()),
                How::Write => accesses.1.push(datum.write()),
                How::Inout => accesses.2.push(datum.inout()),
                How::Commutative => accesses.3.push(datum.commutative()),
                How::Concurrent => accesses.4.push(datum.concurrent()),
                How::Sum => accesses.5.push(datum.reduce(Sum)),
                How::Max => accesses.6.push(datum.reduce(Max)),
            }
        }
        (actors.len() - 1, accesses)
    }

    /// Spawns a task that is held after its start.
    pub fn hold(&self, uses: &[(How, usize)]) {
        let ((who, accesses), actors) = (self.enter(uses), self.actors.clone());
        self.session().task("held").index([who]).nest(accesses, move |s, held| {
            let (mut reads, writes, mut inouts, mut turns, mut shares, mut sums, mut maxs) = held;
            const THERE: &str = "no thread fails";
            let mut saw = Vec::new();
            saw.extend(reads.iter_mut().map(|datum| *s.wait_on(datum).expect(THERE)));
            saw.extend(inouts.iter_mut().map(|datum| *s.wait_on(datum).expect(THERE)));
            saw.extend(shares.iter_mut().map(|datum| *s.wait_on(datum).expect(THERE)));
            actors.start(who, saw);
            s.block_on(future::poll_fn(|context| actors.poll(who, context)));
            let change = |how: How, datum: &mut i64| *datum = serial::after(how, *datum, who);
            writes.iter().for_each(|datum| s.set(datum, serial::after(How::Write, 0, who)));
            inouts.iter_mut().for_each(|datum| change(How::Inout, &mut s.wait_on(datum).expect(THERE)));
            turns.iter_mut().for_each(|datum| change(How::Commutative, &mut s.wait_on(datum).expect(THERE)));
            sums.iter_mut().for_each(|datum| change(How::Sum, &mut s.wait_on(datum).expect(THERE)));
            maxs.iter_mut().for_each(|datum| change(How::Max, &mut s.wait_on(datum).expect(THERE)));
        });
    }

    /// Spawns a leaf that is not held: if it has started, it has ended.
    pub fn pass(&self, uses: &[(How, usize)]) {
        let ((who, accesses), actors) = (self.enter(uses), self.actors.clone());
        self.session().task("passes").index([who]).spawn(accesses, move |args| {
            let (reads, writes, inouts, turns, shares, sums, maxs) = args;
            let saw = reads.into_iter().chain(inouts.iter().map(|datum| &**datum)).chain(shares).copied();
            actors.start(who, saw.collect());
            actors.0.lock()[who].goes = true;
            let change = |how: How, datum: &mut i64| *datum = serial::after(how, *datum, who);
            writes.into_iter().for_each(|out| out.set(serial::after(How::Write, 0, who)));
            inouts.into_iter().for_each(|datum| change(How::Inout, datum));
            turns.into_iter().for_each(|datum| change(How::Commutative, datum));
            sums.into_iter().for_each(|datum| change(How::Sum, datum));
            maxs.into_iter().for_each(|datum| change(How::Max, datum));
        });
    }

    /// Releases a task. (A task that has not started will not be held.)
    pub fn release(&self, who: usize) {
        self.actors.release(who);
    }

    pub fn release_all(&self) {
        let count = self.actors.0.lock().len();
        (0..count).for_each(|who| self.release(who));
    }

    /// Waits until every task that can start has started. Returns the tasks that have started.
    ///
    /// The worker may be idle before it learns of a change, so this spawns one more task. What the
    /// worker finds after that task follows all earlier actions of the test. A released task
    /// continues by itself, and is busy from then on.
    fn settle(&self) -> Vec<usize> {
        let looked = Arc::new(AtomicBool::new(false));
        let looks = looked.clone();
        self.session().spawn((), move |()| looks.store(true, Release));
        while !looked.load(Acquire) {
            yield_now();
        }
        while self.actors.0.lock().iter().any(|actor| actor.started && actor.may_go && !actor.goes) {
            yield_now();
        }
        // A thread may have handed over something that was drained before, and be idle in the same
        // drain.
        let mut idle = 0;
        while idle < 2 {
            self.stage.rt.recorder().drain();
            idle = if self.stage.threads.busy.lock().is_empty() { idle + 1 } else { 0 };
            yield_now();
        }
        let actors = self.actors.0.lock();
        (0..actors.len()).filter(|&who| actors[who].started).collect()
    }

    /// Settles until `right` accepts the started tasks, or seconds have passed. When the others
    /// have settled, a thread that was woken may not yet be awake.
    pub fn settle_as(&self, right: impl Fn(&[usize]) -> bool) -> Vec<usize> {
        let start = Instant::now();
        loop {
            let started = self.settle();
            if right(&started) || start.elapsed() > self.patience {
                return started;
            }
        }
    }

    /// Ends the play. Returns what each task saw, and the last values.
    pub fn end(mut self) -> (Vec<Vec<i64>>, Vec<i64>) {
        self.release_all();
        let session = self.session.take().expect("ends once");
        session.close().wait().expect("no thread fails");
        let saw = self.actors.0.lock().iter().map(|actor| actor.saw.clone()).collect();
        let data = std::mem::take(&mut self.data);
        (saw, data.into_iter().map(|datum| datum.into_inner().expect("no thread fails")).collect())
    }
}

/// A failing test ends.
impl<E: Engine> Drop for Play<'_, E> {
    fn drop(&mut self) {
        self.release_all();
    }
}
