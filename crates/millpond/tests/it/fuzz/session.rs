//! Sessions of any engine with their data, and the steps of actors on them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::thread;

use millpond::catalogue::AnyRuntime;
use millpond::{Catalogue, DefaultEngine, Engine, Error, Handle, Root, Session, Spawn, StackEngine};

use super::kept::Kept;
use super::ledger::{Kind, Tracked, forget, may_forget_threads};
use super::program::{Common, Domain, End, InSession, Reserved};
use super::slots::{Waits, poll_times, wait_for};
use super::work::{Work, spawn};
use super::world::{Awaited, Expected, Job, Join, World};

pub enum AnySession {
    Default(Session<DefaultEngine>),
    Stack(Session<StackEngine>),
    Catalogue(Session<Catalogue>),
}

macro_rules! on_session {
    ($any:expr, $session:ident => $body:expr) => {
        match $any {
            AnySession::Default($session) => $body,
            AnySession::Stack($session) => $body,
            AnySession::Catalogue($session) => $body,
        }
    };
}

impl AnySession {
    fn open(runtime: &AnyRuntime) -> Self {
        match runtime {
            AnyRuntime::Default(runtime) => AnySession::Default(runtime.session()),
            AnyRuntime::Stack(runtime) => AnySession::Stack(runtime.session()),
            AnyRuntime::Catalogue(runtime) => AnySession::Catalogue(runtime.session()),
        }
    }
}

/// The data of a session or scope.
pub struct Data<B = Root> {
    pub number: Handle<u64, B>,
    pub object: Handle<Tracked, B>,
}

impl Domain {
    /// The values of its object.
    pub fn objects(&self) -> Kind {
        match () {
            () if self.forgets => Kind::Light,
            () if self.bombs => Kind::Bomb,
            () => Kind::Heap,
        }
    }

    /// Whether this result is possible.
    pub fn check(&self, world: &World, of: usize, result: &Result<(), Error>) {
        let ledger = &world.ledger;
        match result {
            Ok(()) => ledger.check(!self.must_fail, || format!("domain {of} has lost its failure")),
            Err(error) => {
                ledger.check(self.must_fail || self.may_fail || self.cancels, || format!("domain {of}: {error}"))
            }
        }
    }
}

impl Data {
    pub fn new(world: &World, domain: &Domain) -> Self {
        Data { number: Handle::new(1), object: Handle::new(world.ledger.value(domain.objects())) }
    }

    /// Ends them, after the end of their scope or before.
    pub fn end(self, world: &World, domain: &Domain) {
        match domain.forgets {
            true => forget(self),
            // The value of the object may fail instead of the number.
            false => [Box::new(move || drop(self.object)) as Box<dyn FnOnce()>, Box::new(move || drop(self.number))]
                .into_iter()
                .for_each(|end| world.guard(end)),
        }
    }
}

/// A session with its data. While several actors use it, each has a clone of its `Arc`.
pub struct OpenSession {
    session: AnySession,
    data: Data,
    /// The last field: the session is dropped before.
    keeps: Option<Kept>,
}

impl OpenSession {
    pub fn new(world: &World, of: usize, runtime: &Kept) -> Self {
        let domain = &world.program.domains[of];
        let keeps = domain.keeps.then(|| runtime.clone());
        OpenSession { session: AnySession::open(runtime), data: Data::new(world, domain), keeps }
    }

    /// Runs one step on it. `work` is the body of a spawned task.
    pub fn use_it(
        this: &mut Arc<Self>,
        at: &dyn Waits,
        world: &Arc<World>,
        of: usize,
        what: &InSession,
        work: Option<Work>,
    ) {
        match (what, Arc::get_mut(this)) {
            (InSession::Common(step), Some(OpenSession { session, data, .. })) => {
                on_session!(session, session => common(world, of, &*session, data, step));
            }
            (InSession::Common(Common::Look(_) | Common::LookAtObject), None) => {
                // The read has exclusive access to its datum.
                let mut own = Data::new(world, &world.program.domains[of]);
                on_session!(&this.session, session => {
                    common(world, of, session, &mut own, &Common::Look(None));
                    drop(session.spawn(own.object.inout(), |object| object.change()));
                    common(world, of, session, &mut own, &Common::LookAtObject);
                });
            }
            (InSession::Common(step), None) => {
                on_session!(&this.session, session => set_or_cancel(world, of, session, &this.data, step));
            }
            (InSession::Spawn { task, join, permit, cancelled }, _) => {
                let (data, work, expected) = (&this.data, work.expect("made for the spawn"), Expected::of(task));
                let spawned = on_session!(&this.session, session => match permit {
                    None => spawn(session, data, work),
                    Some(polls) => {
                        let mut reserve = session.reserve();
                        let permit = poll_times(Pin::new(&mut reserve), *polls, false);
                        spawn(&permit.unwrap_or_else(|| wait_for(at, reserve)), data, work)
                    }
                });
                world.joins[*join].leave(Join { join: spawned, expected, cancelled: *cancelled });
            }
            (InSession::Reserve(how), _) => on_session!(&this.session, session => reserve(at, session, *how)),
        }
    }

    /// Ends it. `at` is the actor's place.
    pub fn end(self, at: Option<&dyn Waits>, world: &Arc<World>, of: usize, how: End) {
        let domain = &world.program.domains[of];
        let OpenSession { session, data, keeps } = self;
        match how {
            End::Closed(_) | End::Awaited => {
                let closed = catch_unwind(AssertUnwindSafe(|| {
                    on_session!(session, session => {
                        let mut end = session.close();
                        match how {
                            End::Closed(polls) => {
                                let polled = poll_times(Pin::new(&mut end), polls, false);
                                polled.unwrap_or_else(|| end.wait())
                            }
                            _ => match at {
                                Some(at) => wait_for(at, end),
                                None => end.wait(),
                            },
                        }
                    })
                }));
                match closed {
                    Ok(result) => closed_with(world, of, &result, data),
                    Err(_) => world.ledger.fault(format!("the end of session {of} panics")),
                }
            }
            End::AwaitedByAHand | End::PolledByAHand(_) => {
                let in_world = world.clone();
                on_session!(session, session => {
                    let end = session.close();
                    let end = async move {
                        closed_with(&in_world, of, &end.await, data);
                        drop(keeps);
                    };
                    match how {
                        End::PolledByAHand(times) => world.bag.push(Job::Poll(Box::pin(end), times)),
                        _ => Awaited::start(world, end),
                    }
                });
            }
            End::Polled(times) => {
                on_session!(session, session => {
                    let mut end = session.close();
                    match poll_times(Pin::new(&mut end), times, of.is_multiple_of(8)) {
                        Some(result) => closed_with(world, of, &result, data),
                        None => {
                            drop(end);
                            data.end(world, domain);
                        }
                    }
                });
            }
            End::Detached => {
                on_session!(session, session => session.detach());
                let mut kept = world.kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(keeps);
                drop(kept);
                data.end(world, domain);
            }
            End::Forgotten if may_forget_threads() => {
                forget(session);
                data.end(world, domain);
            }
            // On another thread. Its tasks may still use them.
            End::Dropped | End::Forgotten if of.is_multiple_of(3) && !domain.forgets => {
                world.bag.push(Job::Discard(Box::new(data)));
                drop(session);
            }
            End::Dropped | End::Forgotten if of % 3 == 1 => {
                data.end(world, domain);
                drop(session);
            }
            End::Dropped | End::Forgotten => {
                drop(session);
                data.end(world, domain);
            }
        }
    }
}

/// A thread waited for the end of the session.
fn closed_with(world: &World, of: usize, result: &Result<(), Error>, data: Data) {
    let domain = &world.program.domains[of];
    domain.check(world, of, result);
    match domain.number.filter(|_| !domain.forgets) {
        Some(number) => {
            let Data { number: handle, object } = data;
            check_number(world, of, Some(number), handle.into_inner());
            world.guard(|| drop(object));
        }
        None => data.end(world, domain),
    }
}

/// Waits for room, and gives it back or not.
fn reserve<E: Engine>(at: &dyn Waits, session: &Session<E>, how: Reserved) {
    let mut reserve = session.reserve();
    match how {
        Reserved::Polled(times) => drop(poll_times(Pin::new(&mut reserve), times, times > 2)),
        Reserved::Dropped => drop(wait_for(at, reserve)),
        Reserved::Elsewhere => {
            let permit = wait_for(at, reserve);
            thread::scope(|threads| _ = threads.spawn(|| drop(permit)));
        }
        Reserved::OneOfTwo => {
            let mut other = session.reserve();
            let first = poll_times(Pin::new(&mut reserve), 1, false);
            let second = poll_times(Pin::new(&mut other), 2, false);
            drop((first, reserve));
            drop(second.unwrap_or_else(|| wait_for(at, other)));
        }
        Reserved::Forgotten => forget(wait_for(at, reserve)),
    }
}

/// A step on a scope or a session. The thread has exclusive access to the data.
pub fn common<'s, S: Spawn<'s>>(world: &World, of: usize, s: &S, data: &mut Data<S::Brand>, step: &Common) {
    match step {
        Common::Look(expected) => {
            let found = s.wait_on(&mut data.number).map(|number| *number);
            check_number(world, of, *expected, found);
        }
        Common::LookAtObject => _ = s.wait_on(&mut data.object).map(|mut object| object.change()),
        step => set_or_cancel(world, of, s, data, step),
    }
}

/// A step on data that others use.
fn set_or_cancel<'s, S: Spawn<'s>>(world: &World, of: usize, s: &S, data: &Data<S::Brand>, step: &Common) {
    match step {
        Common::Set(value) => s.set(&data.number, *value),
        Common::SetObject => s.set(&data.object, world.ledger.value(world.program.domains[of].objects())),
        Common::Cancel { late: true } => world.bag.push_late(Job::Cancel(s.cancel_token())),
        Common::Cancel { late: false } => world.bag.push(Job::Cancel(s.cancel_token())),
        Common::CancelOnFailure => s.cancel_on_failure(true),
        Common::Look(_) | Common::LookAtObject => unreachable!("a look has its datum alone"),
    }
}

/// The number of a domain, if it is known.
pub fn check_number(world: &World, of: usize, expected: Option<u64>, found: Result<u64, Error>) {
    if let Some(expected) = expected {
        let is_right = matches!(&found, Ok(found) if *found == expected);
        world.ledger.check(is_right, || format!("the number of domain {of} is {found:?}, not {expected}"));
    }
}
