//! Sessions of any engine, with their data, and what an actor does with one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use millpond::catalogue::AnyRuntime;
use millpond::{Catalogue, DefaultEngine, Error, Handle, Root, Session, Spawn, StackEngine};

use super::ledger::{Kind, Tracked, forget, may_forget_threads};
use super::program::{Domain, End, InSession};
use super::work::{Work, spawn};
use super::world::{Expected, Job, Join, World};

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
    /// What the values of its object are.
    pub fn objects(&self) -> Kind {
        match () {
            () if self.forgets => Kind::Light,
            () if self.bombs => Kind::Bomb,
            () => Kind::Heap,
        }
    }

    /// Whether this may be its result.
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

    /// Ends them, when their scope has ended or before.
    pub fn end(self, world: &World, domain: &Domain) {
        match domain.forgets {
            true => forget(self),
            // In the number's place the value of the object may fail.
            false => [Box::new(move || drop(self.object)) as Box<dyn FnOnce()>, Box::new(move || drop(self.number))]
                .into_iter()
                .for_each(|end| world.guard(end)),
        }
    }
}

pub struct OpenSession {
    session: AnySession,
    data: Data,
}

impl OpenSession {
    pub fn new(world: &World, of: usize, runtime: &AnyRuntime) -> Self {
        OpenSession { session: AnySession::open(runtime), data: Data::new(world, &world.program.domains[of]) }
    }

    /// Does one thing with it; `work` is that of a task that is spawned.
    pub fn use_it(&mut self, world: &Arc<World>, of: usize, what: &InSession, work: Option<Work>) {
        let (ledger, objects) = (&world.ledger, world.program.domains[of].objects());
        let data = &mut self.data;
        on_session!(&self.session, session => match what {
            InSession::Spawn { task, join } => {
                let expected = Expected::of(task);
                let spawned = spawn(session, data, work.expect("made for the spawn"));
                world.joins[*join].leave(Join { join: spawned, expected });
            }
            InSession::Set(value) => session.set(&data.number, *value),
            InSession::SetObject => session.set(&data.object, ledger.value(objects)),
            InSession::Look(expected) => {
                let found = session.wait_on(&mut data.number).map(|number| *number);
                check_number(world, of, *expected, found);
            }
            InSession::LookAtObject => _ = session.wait_on(&mut data.object).map(|mut object| object.change()),
            InSession::Cancel { late: true } => world.bag.push_late(Job::Cancel(session.cancel_token())),
            InSession::Cancel { late: false } => world.bag.push(Job::Cancel(session.cancel_token())),
            InSession::CancelOnFailure => session.cancel_on_failure(true),
        });
    }

    pub fn end(self, world: &World, of: usize, how: End) {
        let domain = &world.program.domains[of];
        let OpenSession { session, data } = self;
        match how {
            End::Closed => {
                let closed = catch_unwind(AssertUnwindSafe(|| on_session!(session, session => session.close())));
                match closed {
                    Ok(result) => domain.check(world, of, &result),
                    Err(_) => world.ledger.fault(format!("the end of session {of} panics")),
                }
                if let Some(number) = domain.number.filter(|_| !domain.forgets) {
                    let Data { number: handle, object } = data;
                    check_number(world, of, Some(number), handle.into_inner());
                    return world.guard(|| drop(object));
                }
                data.end(world, domain);
            }
            End::Forgotten if may_forget_threads() => {
                forget(session);
                data.end(world, domain);
            }
            // On another thread, and its tasks may use them yet.
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

/// The number of a domain, if it is known.
pub fn check_number(world: &World, of: usize, expected: Option<u64>, found: Result<u64, Error>) {
    if let Some(expected) = expected {
        let is_right = matches!(&found, Ok(found) if *found == expected);
        world.ledger.check(is_right, || format!("the number of domain {of} is {found:?}, not {expected}"));
    }
}
