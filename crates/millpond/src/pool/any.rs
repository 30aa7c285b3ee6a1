//! A pool chosen at run time: this crate's, or any other type that implements [`Pool`].
//!
//! Needs the Cargo feature `catalogue`.
//!
//! A worker's part is an object that holds the pool and its own type of local part. So a call needs
//! one virtual call and no check.

use std::fmt;
use std::sync::Arc;

use super::{Counts, Leave, Pool, Put, Split};
use crate::task::TaskRef;

/// The methods of a pool that need no local part.
trait Common: Send + Sync {
    fn hungry(&self, searching: bool);
    fn is_hungry(&self) -> bool;
    fn has_work(&self) -> bool;
    fn balances(&self) -> bool;
    fn waits_busily(&self) -> bool;
    fn sleeps_at_once(&self) -> bool;
    fn counts(&self) -> Counts;
    fn take_oldest(&self, seat: usize) -> Option<TaskRef>;
}

impl<P: Pool> Common for P {
    fn hungry(&self, searching: bool) {
        Pool::hungry(self, searching);
    }

    fn is_hungry(&self) -> bool {
        Pool::is_hungry(self)
    }

    fn has_work(&self) -> bool {
        Pool::has_work(self)
    }

    fn balances(&self) -> bool {
        Pool::balances(self)
    }

    fn waits_busily(&self) -> bool {
        Pool::waits_busily(self)
    }

    fn sleeps_at_once(&self) -> bool {
        Pool::sleeps_at_once(self)
    }

    fn counts(&self) -> Counts {
        Pool::counts(self)
    }

    fn take_oldest(&self, seat: usize) -> Option<TaskRef> {
        Pool::take_oldest(self, seat)
    }
}

/// The methods of a pool that need the worker's local part.
trait Part: Send {
    fn put(&mut self, task: TaskRef, why: Put) -> bool;
    fn take(&mut self) -> Option<TaskRef>;
    fn take_if(&mut self, wanted: &dyn Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool);
    fn steal(&mut self) -> Option<TaskRef>;
    fn put_first(&mut self, task: TaskRef) -> bool;
    fn expose(&mut self) -> bool;
    fn next(&self) -> Option<TaskRef>;
    fn leave(&mut self, leave: Leave) -> bool;
}

struct PartOf<P: Pool> {
    // Declared first: Rust drops a pool's local parts before the pool.
    local: P::Local,
    pool: Arc<P>,
}

impl<P: Pool> Part for PartOf<P> {
    fn put(&mut self, task: TaskRef, why: Put) -> bool {
        self.pool.put(&mut self.local, task, why)
    }

    fn take(&mut self) -> Option<TaskRef> {
        self.pool.take(&mut self.local)
    }

    fn take_if(&mut self, wanted: &dyn Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        self.pool.take_if(&mut self.local, wanted)
    }

    fn steal(&mut self) -> Option<TaskRef> {
        self.pool.steal(&mut self.local)
    }

    fn put_first(&mut self, task: TaskRef) -> bool {
        self.pool.put_first(&mut self.local, task)
    }

    fn expose(&mut self) -> bool {
        self.pool.expose(&mut self.local)
    }

    fn next(&self) -> Option<TaskRef> {
        self.pool.next(&self.local)
    }

    fn leave(&mut self, leave: Leave) -> bool {
        self.pool.leave(&mut self.local, leave)
    }
}

/// A pool chosen at run time ([`Chosen`]).
///
/// ```
/// use millpond::pool::{AnyPool, Pool, params::Params, variants::by_name};
///
/// let (pool, mut workers) = AnyPool::with(2, &by_name("dq8", Params::default()).unwrap());
/// assert!(!pool.has_work() && pool.take(&mut workers[0]).is_none());
/// ```
pub struct AnyPool(Arc<dyn Common>);

/// A worker's local part of an [`AnyPool`]. A call with it reaches the pool that made it.
pub struct AnyLocal(Box<dyn Part>);

/// The choice of a pool and its parameters. The default is the default pool.
#[derive(Clone)]
pub struct Chosen {
    name: &'static str,
    make: Arc<dyn Fn(usize) -> (AnyPool, Vec<AnyLocal>) + Send + Sync>,
}

impl Chosen {
    /// The pool of type `P` with its parameters.
    ///
    /// ```
    /// use millpond::pool::{Chosen, Split};
    ///
    /// assert_eq!(Chosen::of::<Split>(()).name(), "default");
    /// ```
    pub fn of<P: Pool>(choice: P::Choice) -> Chosen {
        let make = move |workers| {
            let (pool, locals) = P::with(workers, &choice);
            let pool = Arc::new(pool);
            let part = |local| AnyLocal(Box::new(PartOf { local, pool: pool.clone() }));
            let locals = locals.into_iter().map(part).collect();
            (AnyPool(pool), locals)
        };
        Chosen { name: P::NAME, make: Arc::new(make) }
    }

    /// The name of the pool ([`Pool::NAME`]).
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl Default for Chosen {
    fn default() -> Self {
        Chosen::of::<Split>(())
    }
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chosen").field(&self.name).finish()
    }
}

// SAFETY: a task goes into the pool that made the worker's local part. That pool's promises hold
// for its way out.
unsafe impl Pool for AnyPool {
    type Local = AnyLocal;
    type Choice = Chosen;

    const NAME: &'static str = "chosen by name";

    const HONOURS_PRIORITY: bool = false;

    fn with(seats: usize, choice: &Chosen) -> (Self, Vec<AnyLocal>) {
        (choice.make)(seats)
    }

    #[inline]
    fn put(&self, local: &mut AnyLocal, task: TaskRef, why: Put) -> bool {
        local.0.put(task, why)
    }

    #[inline]
    fn take(&self, local: &mut AnyLocal) -> Option<TaskRef> {
        local.0.take()
    }

    #[inline]
    fn take_if(&self, local: &mut AnyLocal, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        local.0.take_if(&wanted)
    }

    fn steal(&self, local: &mut AnyLocal) -> Option<TaskRef> {
        local.0.steal()
    }

    fn take_oldest(&self, seat: usize) -> Option<TaskRef> {
        self.0.take_oldest(seat)
    }

    fn put_first(&self, local: &mut AnyLocal, task: TaskRef) -> bool {
        local.0.put_first(task)
    }

    #[inline]
    fn expose(&self, local: &mut AnyLocal) -> bool {
        local.0.expose()
    }

    #[inline]
    fn next(&self, local: &AnyLocal) -> Option<TaskRef> {
        local.0.next()
    }

    fn leave(&self, local: &mut AnyLocal, leave: Leave) -> bool {
        local.0.leave(leave)
    }

    fn hungry(&self, searching: bool) {
        self.0.hungry(searching);
    }

    #[inline]
    fn is_hungry(&self) -> bool {
        self.0.is_hungry()
    }

    fn has_work(&self) -> bool {
        self.0.has_work()
    }

    fn balances(&self) -> bool {
        self.0.balances()
    }

    fn waits_busily(&self) -> bool {
        self.0.waits_busily()
    }

    fn sleeps_at_once(&self) -> bool {
        self.0.sleeps_at_once()
    }

    fn counts(&self) -> Counts {
        self.0.counts()
    }
}
