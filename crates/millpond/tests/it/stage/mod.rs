//! A stage: tasks that stand still once they have started, so that a test sees which can start, and which cannot.
//!
//! There is one worker, and the test directs it by a session. A task is a parent (`Play::stand`): its body says that it
//! has started, and waits for a future until the test lets it go. A body that waits is put aside, or a spare thread works
//! instead, so any number stand at once. `Play::settle_as` returns when no thread has anything to do, which the recorder tells;
//! who has not started by then cannot. No time is involved.

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
    /// And with another one.
    Max,
}

/// What a task uses: data by their numbers, each once.
pub type Uses = Vec<(How, usize)>;

type Datum = Handle<i64>;
/// As one type for all tasks; in the order of `How`.
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
    /// How long `Play::settle_as` waits for what is right.
    pub patience: Duration,
    // Last, so that what it is told of is still there.
    _recording: Recording,
}

/// Those threads that have something to do.
#[derive(Default)]
struct Threads {
    busy: Mutex<HashSet<Track>>,
}

impl Sink for Threads {
    fn take(&self, track: Track, events: &[Event]) {
        let mut busy = self.busy.lock();
        for event in events {
            match event.what {
                // A body that stands. One that waits for something else goes on soon.
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
    /// It knows that it may, or does not ask.
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

    fn let_go(&self, who: usize) {
        let waker = {
            let actor = &mut self.0.lock()[who];
            actor.may_go = true;
            actor.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Runs a test on a stage of each scheme. Commutative tasks and reductions are ordered if `deterministic`; a `write` makes a
/// version of its own if `renames`.
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

    /// Begins with data of these values, or without one.
    pub fn play(&self, data: &[Option<i64>]) -> Play<'_, E> {
        let data = data.iter().map(|value| value.map_or_else(Handle::unset, Handle::new)).collect();
        Play { stage: self, session: Some(self.rt.session()), actors: Arc::default(), data, patience: self.patience }
    }
}

/// A session of tasks on a stage. They are numbered as they come.
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

    /// Numbers a task, and says what it accesses.
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

    /// Spawns a task that stands where it has started.
    pub fn stand(&self, uses: &[(How, usize)]) {
        let ((who, accesses), actors) = (self.enter(uses), self.actors.clone());
        self.session().task("stands").index([who]).nest(accesses, move |s, held| {
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

    /// Spawns a leaf, which does not stand: it has ended when it has started.
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

    /// A task need not stand any more. (One that has not started will not.)
    pub fn let_go(&self, who: usize) {
        self.actors.let_go(who);
    }

    pub fn let_all_go(&self) {
        let count = self.actors.0.lock().len();
        (0..count).for_each(|who| self.let_go(who));
    }

    /// Waits until everything has started that can. Which tasks have started up to now?
    ///
    /// The worker may have been idle before it is told what has changed. So it is given one more task: what it finds
    /// nothing after that has run, it finds after all that the test did before. A task that was let go goes on by itself: it is busy
    /// from when it knows.
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
        // A thread may have handed something over that was drained before, and be idle in the same drain.
        let mut idle = 0;
        while idle < 2 {
            self.stage.rt.recorder().drain();
            idle = if self.stage.threads.busy.lock().is_empty() { idle + 1 } else { 0 };
            yield_now();
        }
        let actors = self.actors.0.lock();
        (0..actors.len()).filter(|&who| actors[who].started).collect()
    }

    /// Settles, until `right` agrees with who has started, or seconds have passed. A thread that was called to work has perhaps
    /// not awoken when the others have settled.
    pub fn settle_as(&self, right: impl Fn(&[usize]) -> bool) -> Vec<usize> {
        let start = Instant::now();
        loop {
            let started = self.settle();
            if right(&started) || start.elapsed() > self.patience {
                return started;
            }
        }
    }

    /// Ends the play: what each task saw, and the last values.
    pub fn end(mut self) -> (Vec<Vec<i64>>, Vec<i64>) {
        self.let_all_go();
        let session = self.session.take().expect("ends once");
        session.close().wait().expect("no thread fails");
        let saw = self.actors.0.lock().iter().map(|actor| actor.saw.clone()).collect();
        let data = std::mem::take(&mut self.data);
        (saw, data.into_iter().map(|datum| datum.into_inner().expect("no thread fails")).collect())
    }
}

/// A test that fails ends.
impl<E: Engine> Drop for Play<'_, E> {
    fn drop(&mut self) {
        self.let_all_go();
    }
}
