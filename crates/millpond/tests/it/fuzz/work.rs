//! Bodies: what a task of a program does, and how it is spawned.

use std::panic::resume_unwind;
use std::sync::Arc;

use millpond::{Engine, ExternalTasks, Pending, ScopeHandle, Spawn, Sum, on_runtime};

use super::kept::Kept;
use super::ledger::{Kind, Ledger, Life, Lives, Tracked};
use super::program::{self, Access, Deed, Fails, Finds, Joined, Knock, Task, Through, Value, WaitsFor};
use super::session::{Data, OpenSession};
use super::slots::once;
use super::world::{Alive, Job, Join, Out, World, pause};

/// The captures of a task's closure.
pub struct Work {
    pub world: Arc<World>,
    pub task: Task,
    /// Its drop may panic.
    token: Tracked,
    life: Option<Arc<Life>>,
    /// The values that it ends or waits for, in the order of its operations and waits.
    joins: Vec<Join>,
    runtimes: Vec<Kept>,
    sessions: Vec<OpenSession>,
    objects: Kind,
    /// The last field to be dropped: in every case, a task's closure is dropped before its scope
    /// ends.
    _lives: Option<Lives>,
    _alive: Alive,
}

impl Work {
    pub fn new(world: &Arc<World>, task: &Task, objects: Kind, life: Option<&Arc<Life>>) -> Self {
        let kind = if task.fails == Fails::Bomb { Kind::Bomb } else { Kind::Heap };
        if task.sure {
            world.ledger.due(task.id);
        }
        Work {
            world: world.clone(),
            task: task.clone(),
            token: world.ledger.value(kind),
            life: life.cloned(),
            joins: Vec::new(),
            runtimes: Vec::new(),
            sessions: Vec::new(),
            objects,
            _lives: life.map(Lives::of),
            _alive: Alive::of(world),
        }
    }

    /// With the joins that it ends or waits for, the runtimes on which it opens scopes, and the
    /// sessions that it ends.
    pub fn with(mut self, joins: Vec<Join>, runtimes: Vec<Kept>, sessions: Vec<OpenSession>) -> Self {
        (self.joins, self.runtimes, self.sessions) = (joins, runtimes, sessions);
        self
    }

    fn ledger(&self) -> &Arc<Ledger> {
        &self.world.ledger
    }

    fn find(&self, found: u64) {
        let is_right = match self.task.finds {
            Finds::Anything => true,
            Finds::Exactly(number) => found == number,
            Finds::AtLeast(number) => found >= number,
        };
        self.ledger().check(is_right, || format!("task {} finds {found}, not {:?}", self.task.id, self.task.finds));
    }

    fn object(&self) -> Tracked {
        self.ledger().value(self.objects)
    }

    /// The body.
    pub fn run(mut self) -> Out {
        self.ledger().ran(self.task.id);
        self.token.verify();
        let deeds = std::mem::take(&mut self.task.deeds);
        for deed in deeds {
            self.do_it(deed);
        }
        match self.task.fails {
            Fails::Panics if self.task.id.is_multiple_of(4) => panic!("expected: task {}", self.task.id),
            Fails::Panics => resume_unwind(Box::new("expected: a task")),
            _ => {}
        }
        let (ledger, value) = (self.ledger().clone(), self.task.value);
        // This may panic, so there is no value yet.
        drop(self);
        let kind = match value {
            Value::None => return None,
            Value::Heap => Kind::Heap,
            Value::Light => Kind::Light,
            Value::Bomb => Kind::Bomb,
        };
        Some(ledger.value(kind))
    }

    /// The body of a leaf that returns a `Result`.
    fn try_run(self) -> Result<Out, &'static str> {
        let fails = self.task.fails == Fails::Returns;
        let out = self.run();
        if fails { Err("expected: an error") } else { Ok(out) }
    }

    fn do_it(&mut self, deed: Deed) {
        match deed {
            Deed::Pause(turns) => pause(turns),
            Deed::Fork => {
                let (left, right) = (self.ledger().value(Kind::Heap), self.ledger().value(Kind::Heap));
                millpond::join(|| left.verify(), move || right.verify());
                left.verify();
            }
            Deed::Session { .. } => {
                let (runtime, ledger) = (self.runtimes.remove(0), self.ledger().clone());
                let result = on_runtime!(&*runtime, rt => {
                    let session = rt.session();
                    let join = session.spawn((), move |()| ledger.value(Kind::Heap));
                    let left = self.ledger().value(Kind::Heap);
                    session.nest((), move |s, ()| drop(s.spawn((), move |()| left.verify())));
                    let result = session.wait(join).map(|value| value.verify());
                    result.and(session.close().wait())
                });
                self.ledger().check(result.is_ok(), || format!("a session in a body: {result:?}"));
            }
            Deed::End { session, how, .. } => self.sessions.remove(0).end(None, &self.world, session, how),
            Deed::Scope { .. } => {
                let runtime = self.runtimes.remove(0);
                let ledger = self.ledger();
                let result = on_runtime!(&*runtime, rt => rt.scope(|s| {
                    let join = s.spawn((), |()| ledger.value(Kind::Heap));
                    let left = ledger.value(Kind::Heap);
                    s.nest((), move |s, ()| drop(s.spawn((), move |()| left.verify())));
                    s.wait(join).map(|value| value.verify())
                }));
                ledger.check(matches!(result, Ok(Ok(()))), || format!("a scope in a body: {result:?}"));
            }
            Deed::Join { how, .. } => {
                let join = self.joins.remove(0);
                join.cancel();
                match how {
                    Joined::Polled(times) => drop(join.poll(&self.world.ledger, times)),
                    Joined::Forgotten => join.forget(),
                    _ => drop(join),
                }
            }
        }
    }

    /// The joins that it waits for. They follow those of its operations.
    fn awaited(&mut self) -> std::vec::IntoIter<Join> {
        let ended = self.task.deeds.iter().filter(|deed| matches!(deed, Deed::Join { .. })).count();
        self.joins.split_off(ended).into_iter()
    }

    /// The body of a parent: its children, then its waits, then the rest.
    fn run_parent<'s, S: Spawn<'s>>(mut self, s: &S) -> Out {
        let parent = self.task.parent.take().expect("it is one");
        let mut joins = Vec::new();
        for child in &parent.children {
            let work = Work::new(&self.world, child, self.objects, self.life.as_ref());
            joins.push(s.spawn((), move |()| work.run()));
        }
        let mut awaited = self.awaited();
        for wait in &parent.waits {
            match *wait {
                WaitsFor::Signal(signal, _) => s.block_on(self.world.signals[signal].wait()),
                WaitsFor::Join(_) => {
                    let join = awaited.next().expect("one for each such wait");
                    join.cancel();
                    let result = s.block_on(join.join);
                    join.expected.check(self.ledger(), result);
                }
                WaitsFor::JoinOnce(_) => {
                    let join = awaited.next().expect("one for each such wait");
                    join.cancel();
                    let result = s.block_on(once(join.join));
                    result.into_iter().for_each(|result| join.expected.check(self.ledger(), result));
                }
                WaitsFor::SignalOnce(signal, _) => _ = s.block_on(once(self.world.signals[signal].wait())),
                WaitsFor::Item(item) => s.block_on(self.world.put(item)),
                WaitsFor::Children => {
                    for join in joins.drain(..) {
                        drop(s.wait(join).map(|value| value.map(Tracked::defused)));
                    }
                }
            }
        }
        self.run()
    }

    /// The waits of a future, then the body.
    async fn run_later(mut self, waits: Vec<WaitsFor>) -> Out {
        let mut awaited = self.awaited();
        for wait in waits {
            match wait {
                WaitsFor::Signal(signal, _) => self.world.signals[signal].wait().await,
                WaitsFor::Join(_) => {
                    let join = awaited.next().expect("one for each such wait");
                    join.cancel();
                    let result = join.join.await;
                    join.expected.check(self.ledger(), result);
                }
                WaitsFor::JoinOnce(_) => {
                    let join = awaited.next().expect("one for each such wait");
                    join.cancel();
                    let result = once(join.join).await;
                    result.into_iter().for_each(|result| join.expected.check(self.ledger(), result));
                }
                WaitsFor::SignalOnce(signal, _) => _ = once(self.world.signals[signal].wait()).await,
                WaitsFor::Item(item) => self.world.put(item).await,
                WaitsFor::Children => unreachable!("a future has none"),
            }
        }
        self.run()
    }
}

/// The new number after an `inout`.
pub fn mix(number: u64, by: u64) -> u64 {
    number.wrapping_mul(3).wrapping_add(by)
}

/// Spawns a task with its accesses.
pub fn spawn<'s, S: Spawn<'s>>(s: &S, data: &Data<S::Brand>, work: Work) -> S::Join<Out> {
    let (number, object, by) = (&data.number, &data.object, work.task.by);
    if work.task.parent.is_some() {
        return match work.task.access {
            Access::Inout => s.nest(number.inout(), move |s, number| {
                drop(s.spawn(number.inout(), move |number| *number = mix(*number, by)));
                work.run_parent(s)
            }),
            Access::InoutObject => s.nest(object.inout(), move |s, mut object| {
                drop(s.spawn(object.read(), |object| object.verify()));
                drop(s.wait_on(&mut object).map(|mut object| object.change()));
                work.run_parent(s)
            }),
            Access::Read => s.nest(number.read(), move |s, mut number| {
                work.find(s.wait_on(&mut number).map_or(0, |number| *number));
                work.run_parent(s)
            }),
            Access::None => s.nest((), move |s, ()| work.run_parent(s)),
            other => unreachable!("no parent has {other:?}"),
        };
    }
    match work.task.access {
        Access::None => s.task("leaf").index([work.task.id]).try_spawn((), move |()| work.try_run()),
        Access::Read => s.spawn(number.read(), move |number| {
            work.find(*number);
            work.run()
        }),
        Access::Concurrent => s.spawn(number.concurrent(), move |number| {
            work.find(*number);
            work.run()
        }),
        Access::Inout => s.spawn(number.inout(), move |number| {
            *number = mix(*number, by);
            work.run()
        }),
        Access::Commutative => s.spawn(number.commutative(), move |number| {
            *number = number.wrapping_add(by);
            work.run()
        }),
        Access::Reduce => s.spawn(number.reduce(Sum), move |number| {
            *number = number.wrapping_add(by);
            work.run()
        }),
        Access::Write => s.spawn(number.write(), move |number| {
            number.set(by);
            work.run()
        }),
        Access::ReadObject => s.spawn(object.read(), move |object| {
            object.verify();
            work.run()
        }),
        Access::InoutObject => s.spawn(object.inout(), move |object| {
            object.change();
            work.run()
        }),
        Access::WriteObject => s.spawn(object.write(), move |object| {
            object.set(work.object());
            work.run()
        }),
    }
}

/// Makes an external task.
pub fn pending<'s, E: Engine>(external: ExternalTasks<'s, E>, plan: &program::External, work: Work) -> Pending {
    let waits = plan.waits.clone();
    match plan.kind {
        Through::Leaf => external.pending(move || drop(work.run())),
        Through::Parent => external.task("parent").pending_nest(move |s| drop(work.run_parent(s))),
        Through::Future => external.pending_future(async { drop(work.run_later(waits).await) }),
        Through::FromALeaf => {
            external.pending(move || external.run_future(async { drop(work.run_later(waits).await) }))
        }
        Through::InPlace => external.pending(move || drop(external.wait_in_place(work.run_later(waits)))),
    }
}

/// Spawns a task through a scope handle, if the handle exists and is open.
pub fn knock(world: &Arc<World>, plan: &Knock) {
    let Some(handle) = world.handles[plan.handle].get() else { return };
    let work = Work::new(world, &Task { sure: false, ..plan.task.clone() }, Kind::Heap, None);
    let (handle, waits) = (handle.clone(), plan.signal.map(|signal| WaitsFor::Signal(signal, program::Fire::Once)));
    let (id, stays, waits) = (plan.task.id, plan.stays, waits.into_iter().collect::<Vec<_>>());
    let keeps = move |handle: &ScopeHandle<'static>, world: &World| {
        if stays {
            world.bag.push(Job::Leave(handle.stay()));
        }
    };
    let inside = handle.clone();
    let made = match plan.kind {
        Through::Leaf | Through::Parent => handle.pending(move || {
            keeps(&inside, &work.world);
            drop(work.run());
        }),
        Through::Future => handle.pending_future(async move {
            keeps(&inside, &work.world);
            drop(work.run_later(waits).await);
        }),
        Through::FromALeaf => handle.pending(move || {
            keeps(&inside, &work.world);
            inside.run_future(async { drop(work.run_later(waits).await) });
        }),
        Through::InPlace => handle.pending(move || {
            keeps(&inside, &work.world);
            drop(inside.wait_in_place(work.run_later(waits)));
        }),
    };
    if let Ok(pending) = made {
        if plan.task.sure {
            world.ledger.due(id);
        }
        plan.signal.into_iter().for_each(|signal| world.bag.push(Job::Fire(signal, program::Fire::Twice)));
        world.bag.push(Job::Satisfy(pending.hold()));
        drop(pending);
    }
}
