//! Actors: threads that run the steps of a program one by one.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::thread;

use millpond::{Engine, Root, Scope, Spawn, on_runtime};

use super::kept::Kept;
use super::ledger::{Kind, Life, forget, may_forget_threads};
use super::program::{By, Deed, External, Fire, Held, InScope, InSession, Joined, Released, Step, Task, WaitsFor};
use super::session::{Data, OpenSession, check_number, common};
use super::slots::{Outside, Waits, poll_times, wait_for};
use super::work::{Work, knock, pending, spawn};
use super::world::{Awaited, Expected, Job, Join, Out, World, pause};

pub struct Actor {
    world: Arc<World>,
    /// The runtimes that it has not dropped.
    runtimes: Vec<Option<Kept>>,
}

/// In the closure of a scope, wait through the scope: other tasks may need the worker.
impl<B, E: Engine> Waits for Scope<'_, '_, B, E> {
    fn until(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        self.block_on(future);
    }
}

impl Actor {
    pub fn new(world: &Arc<World>, runtimes: &[Kept]) -> Self {
        Actor { world: world.clone(), runtimes: runtimes.iter().cloned().map(Some).collect() }
    }

    pub fn run(mut self, steps: &[Step]) {
        for step in steps {
            let world = self.world.clone();
            world.guard(|| self.step(&Outside, step));
        }
    }

    fn runtime(&self, runtime: usize) -> Kept {
        self.runtimes[runtime].clone().expect("used before it is dropped")
    }

    fn step(&mut self, at: &dyn Waits, step: &Step) {
        let world = &self.world.clone();
        match step {
            Step::Pause(turns) => pause(*turns),
            Step::Open { session } => {
                let runtime = self.runtime(world.program.domains[*session].runtime);
                world.sessions[*session].leave(Arc::new(OpenSession::new(world, *session, &runtime)));
            }
            Step::Use { session, turn, what } => {
                let (slot, domain) = (&world.sessions[*session], &world.program.domains[*session]);
                let mut open = match domain.shared {
                    true => wait_for(at, slot.share()),
                    false => wait_for(at, slot.take(*turn)),
                };
                let objects = domain.objects();
                let work = match what {
                    InSession::Spawn { task, .. } => Some(self.work(at, task, &[], objects, None)),
                    _ => None,
                };
                world.guard(|| OpenSession::use_it(&mut open, at, world, *session, what, work));
                if domain.shared {
                    drop(open);
                    slot.end_turn();
                } else {
                    slot.leave(open);
                }
            }
            Step::End { session, turn, how } => {
                self.session(at, *session, *turn).end(Some(at), world, *session, *how);
            }
            Step::Join { join, how } => {
                let join = wait_for(at, world.joins[*join].take(1));
                self.end_join(at, join, *how);
            }
            Step::Scope { scope, steps } => self.scope(*scope, steps),
            Step::Here(_) => unreachable!("within a scope"),
            Step::Knock(plan) => match plan.by {
                By::Actor => knock(world, plan),
                By::Hand => world.bag.push(Job::Knock(plan.clone())),
                By::LateHand => world.bag.push_late(Job::Knock(plan.clone())),
            },
            Step::Dump { runtime } => {
                let runtime = self.runtime(*runtime);
                on_runtime!(&*runtime, rt => drop((rt.dump().to_string(), rt.counts())));
            }
            Step::Release { runtime, how } => {
                let runtime = self.runtimes[*runtime].take().expect("dropped once");
                match how {
                    Released::Dropped => drop(runtime),
                    Released::ByAHand => world.bag.push(Job::Release(runtime)),
                    Released::Forgotten if may_forget_threads() => forget(runtime),
                    Released::Forgotten => drop(runtime),
                }
            }
        }
        if let Step::Use { what: InSession::Spawn { task, .. }, .. } = step {
            let waits = task.parent.iter().flat_map(|parent| &parent.waits);
            waits.for_each(|wait| fire(world, wait));
        }
    }

    /// A session, after all uses before this turn.
    fn session(&self, at: &dyn Waits, session: usize, turn: usize) -> OpenSession {
        let open = wait_for(at, self.world.sessions[session].take(turn));
        Arc::into_inner(open).expect("each actor has dropped its copy before the end of its turn")
    }

    fn end_join(&self, at: &dyn Waits, join: Join, how: Joined) {
        let bag = &self.world.bag;
        if !matches!(how, Joined::ByAHand(_) | Joined::Late) {
            join.cancel();
        }
        match how {
            Joined::Dropped => drop(join),
            Joined::Forgotten => join.forget(),
            Joined::Waited => {
                let result = wait_for(at, join.join);
                join.expected.check(&self.world.ledger, result);
            }
            Joined::Polled(times) => drop(join.poll(&self.world.ledger, times)),
            Joined::ByAHand(times) => bag.push(Job::Join(join, times)),
            Joined::Late => bag.push_late(Job::Join(join, 1)),
            Joined::AwaitedByAHand => {
                let ledger = self.world.ledger.clone();
                Awaited::start(&self.world, async move { join.expected.check(&ledger, join.join.await) });
            }
        }
    }

    /// The closure of a task, with its captures.
    fn work(&self, at: &dyn Waits, task: &Task, waits: &[WaitsFor], objects: Kind, life: Option<&Arc<Life>>) -> Work {
        let of_deeds = task.deeds.iter().filter_map(|deed| match deed {
            Deed::Join { join, .. } => Some(*join),
            _ => None,
        });
        let of_parent = task.parent.iter().flat_map(|parent| &parent.waits);
        let of_waits = of_parent.chain(waits).filter_map(|wait| match wait {
            WaitsFor::Join(join) | WaitsFor::JoinOnce(join) => Some(*join),
            _ => None,
        });
        let joins = of_deeds.chain(of_waits).map(|join| wait_for(at, self.world.joins[join].take(1)));
        let joins: Vec<_> = joins.collect();
        let runtimes = task.deeds.iter().filter_map(|deed| match deed {
            Deed::Scope { runtime } | Deed::Session { runtime } => Some(self.runtime(*runtime)),
            _ => None,
        });
        let sessions = task.deeds.iter().filter_map(|deed| match deed {
            Deed::End { session, turn, .. } => Some(self.session(at, *session, *turn)),
            _ => None,
        });
        let (runtimes, sessions) = (runtimes.collect(), sessions.collect());
        Work::new(&self.world, task, objects, life).with(joins, runtimes, sessions)
    }

    fn scope(&mut self, scope: usize, steps: &[Step]) {
        let (world, life) = (self.world.clone(), Arc::new(Life::default()));
        let domain = &world.program.domains[scope];
        let runtime = self.runtime(domain.runtime);
        let mut data = Data::new(&world, domain);
        let result = catch_unwind(AssertUnwindSafe(
            || on_runtime!(&*runtime, rt => rt.scope(|s| self.closure(s, scope, steps, &mut data, &life))),
        ));
        let left = life.alive();
        // This may be the last owner.
        drop(runtime);
        world.ledger.check(left == 0, || format!("scope {scope} has ended, and {left} of its closures are there"));
        match (result, domain.panics) {
            (Ok(result), false) => {
                domain.check(&world, scope, &result);
                if let (Ok(()), Some(number), false) = (result, domain.number, domain.forgets) {
                    let Data { number: handle, object } = data;
                    check_number(&world, scope, Some(number), handle.into_inner());
                    return world.guard(|| drop(object));
                }
            }
            (Err(_), true) => {}
            (result, _) => world.ledger.fault(format!("scope {scope} has another end: {:?}", result.map_err(drop))),
        }
        data.end(&world, domain);
    }

    fn closure<'s, E: Engine>(
        &mut self,
        s: &'s Scope<'s, 'static, Root, E>,
        scope: usize,
        steps: &[Step],
        data: &mut Data,
        life: &Arc<Life>,
    ) {
        let world = self.world.clone();
        let mut kept = Vec::new();
        for step in steps {
            world.guard(|| match step {
                Step::Here(step) => {
                    if let Some(join) = self.here(s, scope, step, data, life) {
                        kept.push(join);
                    }
                }
                step => self.step(s, step),
            });
        }
        for (join, expected, how) in kept {
            world.guard(|| self.end_local(s, join, expected, how));
        }
        if world.program.domains[scope].panics {
            resume_unwind(Box::new("expected: a closure"));
        }
    }

    fn end_local<'s, E: Engine>(
        &self,
        s: &'s Scope<'s, 'static, Root, E>,
        mut join: millpond::Join<'s, Root, Out>,
        expected: Expected,
        how: Joined,
    ) {
        match how {
            Joined::Forgotten => forget(join),
            Joined::Waited => expected.check(&self.world.ledger, s.wait(join)),
            Joined::Polled(times) => {
                let polled = poll_times(Pin::new(&mut join), times, times > 1);
                polled.into_iter().for_each(|result| expected.check(&self.world.ledger, result));
            }
            _ => drop(join),
        }
    }

    /// A step on the open scope. Returns the join that is kept until the scope's end.
    fn here<'s, E: Engine>(
        &self,
        s: &'s Scope<'s, 'static, Root, E>,
        scope: usize,
        step: &InScope,
        data: &mut Data,
        life: &Arc<Life>,
    ) -> Option<(millpond::Join<'s, Root, Out>, Expected, Joined)> {
        let (world, objects) = (&self.world, self.world.program.domains[scope].objects());
        match step {
            InScope::Spawn { task, now, how } => {
                let work = self.work(s, task, &[], objects, Some(life));
                let waits = task.parent.iter().flat_map(|parent| &parent.waits);
                waits.for_each(|wait| fire(world, wait));
                let (join, expected) = (spawn(s, data, work), Expected::of(task));
                if !now {
                    return Some((join, expected, *how));
                }
                self.end_local(s, join, expected, *how);
            }
            InScope::External(plan) => self.external(s, plan, objects, life),
            InScope::PassHandle(handle) => _ = world.handles[*handle].set(s.scope_handle()),
            InScope::Crowd { threads, tasks } => crowd(world, s, *threads, tasks, life),
            InScope::Quiesce => s.quiesce(),
            InScope::QuiesceOr(signal) => {
                fire(world, &WaitsFor::Signal(*signal, Fire::Twice));
                let _signalled = s.block_on_or_quiesce(world.signals[*signal].wait());
            }
            InScope::Common(step) => common(world, scope, s, data, step),
        }
        None
    }

    fn external<'s, E: Engine>(
        &self,
        s: &'s Scope<'s, 'static, Root, E>,
        plan: &External,
        objects: Kind,
        life: &Arc<Life>,
    ) {
        let (world, external) = (&self.world, s.external());
        let work = self.work(s, &plan.task, &plan.waits, objects, Some(life));
        let waits = plan.task.parent.iter().flat_map(|parent| &parent.waits);
        waits.chain(&plan.waits).for_each(|wait| fire(world, wait));
        let pending = pending(external, plan, work);
        for hold in &plan.holds {
            let precondition = pending.hold();
            match hold {
                Held::Satisfied => world.bag.push(Job::Satisfy(precondition)),
                Held::Dropped => world.bag.push(Job::Drop(precondition)),
                Held::Item(item) => world.items[*item].wait(precondition),
            }
        }
        match plan.by_a_hand {
            true => world.bag.push(Job::Start(pending)),
            false => drop(pending),
        }
    }
}

/// A hand will fire the signal that a task waits for.
fn fire(world: &World, wait: &WaitsFor) {
    if let WaitsFor::Signal(signal, how) | WaitsFor::SignalOnce(signal, how) = *wait {
        world.bag.push(Job::Fire(signal, how));
    }
}

/// Threads that spawn tasks and satisfy their preconditions, all at the same time.
fn crowd<'s, E: Engine>(
    world: &Arc<World>,
    s: &'s Scope<'s, 'static, Root, E>,
    threads: usize,
    tasks: &[Task],
    life: &Arc<Life>,
) {
    let external = s.external();
    thread::scope(|scope| {
        for tasks in tasks.chunks(tasks.len().div_ceil(threads).max(1)) {
            scope.spawn(move || {
                for task in tasks {
                    let work = Work::new(world, task, Kind::Heap, Some(life));
                    let pending = external.pending(move || drop(work.run()));
                    let (first, second) = (pending.hold(), pending.hold());
                    drop(pending);
                    first.satisfy();
                    pause(task.by as u32 % 64);
                    second.satisfy();
                }
            });
        }
    });
}
