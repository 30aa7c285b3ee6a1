//! The state that the threads of a program share, and what its hands do.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use millpond::item::{CountedItem, Got};
use millpond::{CancelToken, Error, Pending, Precondition, ScopeHandle, SessionJoin, Stay};

use super::kept::{self, Droppers, Kept};
use super::ledger::{Kind, Ledger, Tracked, forget, may_forget_threads};
use super::program::{Fails, Fire, Knock, Program, Task, Use, Value};
use super::session::OpenSession;
use super::slots::{Signal, Slot, poll_times};
use super::work::knock;
use crate::common::rng::Rng;

/// The result of a task.
pub type Out = Option<Tracked>;

pub struct World {
    pub program: Arc<Program>,
    pub ledger: Arc<Ledger>,
    /// By domain.
    pub sessions: Vec<Slot<Arc<OpenSession>>>,
    pub joins: Vec<Slot<Join>>,
    pub handles: Vec<OnceLock<ScopeHandle<'static>>>,
    pub signals: Vec<Signal>,
    pub items: Vec<CountedItem<Tracked>>,
    pub bag: Bag,
    /// Until the tasks of detached sessions have run.
    pub kept: Mutex<Vec<Kept>>,
    droppers: Droppers,
    /// The tasks whose closures exist.
    pub works: AtomicUsize,
}

impl World {
    pub fn new(program: &Arc<Program>) -> Arc<Self> {
        fn many<T>(n: usize, one: impl Fn() -> T) -> Vec<T> {
            (0..n).map(|_| one()).collect()
        }
        Arc::new(World {
            program: program.clone(),
            ledger: Ledger::new(program.tasks),
            sessions: many(program.domains.len(), Slot::new),
            joins: many(program.joins, Slot::new),
            handles: many(program.handles, OnceLock::new),
            signals: (0..program.signals).map(|signal| Signal::new(signal.is_multiple_of(2))).collect(),
            items: many(program.items.len(), CountedItem::new),
            bag: Bag::default(),
            kept: Mutex::default(),
            droppers: Droppers::default(),
            works: AtomicUsize::new(0),
        })
    }

    /// Does the work of hands after they have ended.
    pub fn run_rest(self: &Arc<Self>) {
        // Without the lock.
        let next = || self.bag.lock().now.pop();
        while let Some(job) = next() {
            self.guard(|| run(self, job));
        }
    }

    /// Waits for the drops of runtimes. Hands are running, or `wait` calls `run_rest`.
    pub fn end_droppers(&self, wait: impl Fn(&dyn Fn() -> bool)) {
        loop {
            let droppers = std::mem::take(&mut *self.droppers.lock().unwrap_or_else(PoisonError::into_inner));
            if droppers.is_empty() {
                return;
            }
            wait(&|| droppers.iter().all(JoinHandle::is_finished));
            droppers.into_iter().for_each(|dropper| dropper.join().expect("the drop of a runtime does not panic"));
        }
    }

    /// Until the item is put.
    pub async fn put(&self, item: usize) {
        let item = &self.items[item];
        poll_fn(|context| match item.wake(context.waker()) {
            true => Poll::Pending,
            false => Poll::Ready(()),
        })
        .await;
    }

    /// Runs code that may panic, if the panic is an expected one.
    pub fn guard(&self, what: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(what)) {
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text");
            self.ledger.check(text.starts_with("expected"), || format!("a thread panics: {text}"));
        }
    }
}

/// What is known of a task's result.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    task: usize,
    sure: bool,
    fails: bool,
    value: bool,
}

impl Expected {
    pub fn of(task: &Task) -> Self {
        let (sure, fails) = (task.sure, task.fails != Fails::No);
        Expected { task: task.id, sure, fails, value: task.value != Value::None }
    }

    pub fn check(self, ledger: &Ledger, result: Result<Out, Error>) {
        match &result {
            Ok(value) => {
                ledger.check(!self.sure || !self.fails, || format!("the join of task {} has no failure", self.task));
                ledger.check(value.is_some() == self.value, || format!("the value of task {} is another", self.task));
                value.iter().for_each(Tracked::verify);
            }
            Err(error) => {
                ledger.check(!self.sure || self.fails, || format!("the join of task {}: {error}", self.task));
            }
        }
        result.ok().flatten().map(Tracked::defused);
    }
}

/// The join of a session's task.
pub struct Join {
    pub join: SessionJoin<Out>,
    pub expected: Expected,
    /// Cancels its task, if it has not started.
    pub cancelled: bool,
}

impl Join {
    /// Cancels the task, if the program says so.
    pub fn cancel(&self) {
        let times = if self.cancelled { self.expected.task % 3 } else { 0 };
        (0..times).for_each(|_| self.join.cancel());
    }

    /// Polls it with a waker that does nothing. Returns the join if it is not done.
    pub fn poll(mut self, ledger: &Ledger, times: usize) -> Option<Self> {
        self.cancel();
        let panics = self.expected.task.is_multiple_of(8);
        match poll_times(Pin::new(&mut self.join), times, panics) {
            Some(result) => {
                self.expected.check(ledger, result);
                None
            }
            None => Some(self),
        }
    }

    /// Forgets it and thereby a runtime, if there were not too many before.
    pub fn forget(self) {
        if may_forget_threads() {
            forget(self);
        }
    }
}

/// What the hands poll.
type Future = Pin<Box<dyn std::future::Future<Output = ()> + Send>>;

/// A future that hands poll whenever it is woken, until it is ready.
pub struct Awaited {
    world: Arc<World>,
    future: Mutex<Option<Future>>,
}

impl std::task::Wake for Awaited {
    fn wake(self: Arc<Self>) {
        self.world.clone().bag.push(Job::Run(self));
    }
}

/// The closure of a task exists.
pub struct Alive(Arc<World>);

impl Alive {
    pub fn of(world: &Arc<World>) -> Self {
        world.works.fetch_add(1, SeqCst);
        Alive(world.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.works.fetch_sub(1, SeqCst);
    }
}

/// The hands run as long as one of these exists.
struct Stays(Arc<World>);

impl Drop for Stays {
    fn drop(&mut self) {
        self.0.bag.lock().awaited -= 1;
        self.0.bag.more.notify_all();
    }
}

impl Awaited {
    /// Lets hands await a future.
    pub fn start(world: &Arc<World>, future: impl std::future::Future<Output = ()> + Send + 'static) {
        world.bag.lock().awaited += 1;
        let stays = Stays(world.clone());
        let future: Future = Box::pin(async move {
            future.await;
            drop(stays);
        });
        world.bag.push(Job::Run(Arc::new(Awaited { world: world.clone(), future: Mutex::new(Some(future)) })));
    }

    fn poll(self: Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut slot = self.future.lock().unwrap_or_else(PoisonError::into_inner);
        // A panic drops it.
        if let Some(mut future) = slot.take()
            && future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
        {
            *slot = Some(future);
        }
    }
}

/// What a hand does.
pub enum Job {
    Satisfy(Precondition),
    Drop(Precondition),
    Start(Pending),
    Fire(usize, Fire),
    Leave(Stay),
    Join(Join, usize),
    Cancel(CancelToken),
    Knock(Knock),
    Put(usize),
    Use(usize, Use),
    Look(usize),
    Free(usize),
    Wake(Waker),
    Release(Kept),
    Run(Arc<Awaited>),
    /// Polls a future this often, and drops it.
    Poll(Future, usize),
    Stand(Vec<Sender<()>>),
    Discard(Box<dyn Send>),
}

#[derive(Default)]
pub struct Bag {
    jobs: Mutex<Jobs>,
    more: Condvar,
}

#[derive(Default)]
struct Jobs {
    now: Vec<Job>,
    late: Vec<Job>,
    /// Futures that are not ready.
    awaited: usize,
    closed: bool,
}

impl Bag {
    fn lock(&self) -> std::sync::MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, job: Job) {
        self.lock().now.push(job);
        self.more.notify_one();
    }

    /// Adds work for the end of the program.
    pub fn push_late(&self, job: Job) {
        self.lock().late.push(job);
    }

    pub fn close(&self) {
        self.lock().closed = true;
        self.more.notify_all();
    }

    pub fn take_late(&self) -> Vec<Job> {
        std::mem::take(&mut self.lock().late)
    }

    /// Takes any of the jobs. Returns `None` if there will be no more.
    fn take(&self, rng: &mut Rng) -> Option<Job> {
        let mut jobs = self.lock();
        loop {
            if !jobs.now.is_empty() {
                let at = rng.below(jobs.now.len());
                return Some(jobs.now.swap_remove(at));
            }
            if jobs.closed && jobs.awaited == 0 {
                return None;
            }
            jobs = self.more.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A hand, until the bag is closed and empty.
pub fn hand(world: &Arc<World>, mut rng: Rng) {
    kept::never_wait(&world.droppers);
    while let Some(job) = world.bag.take(&mut rng) {
        pause(match rng.below(8) {
            0..4 => 0,
            4..7 => rng.below(200) as u32,
            _ => 1000,
        });
        world.guard(|| run(world, job));
    }
}

/// A short pause: spins, yields from 200 on, and sleeps from 1000 on.
pub fn pause(turns: u32) {
    match turns {
        0..200 => (0..turns).for_each(|_| std::hint::spin_loop()),
        200..1000 => (200..turns.min(204)).for_each(|_| thread::yield_now()),
        _ => thread::sleep(Duration::from_micros(20)),
    }
}

pub fn run(world: &Arc<World>, job: Job) {
    let ledger = &world.ledger;
    match job {
        Job::Satisfy(precondition) => precondition.satisfy(),
        Job::Drop(precondition) => drop(precondition),
        Job::Start(pending) => drop(pending),
        Job::Fire(signal, how) => {
            let late = world.signals[signal].fire(how);
            late.into_iter().for_each(|waker| world.bag.push_late(Job::Wake(waker)));
        }
        Job::Leave(stay) => drop(stay),
        Job::Join(join, polls) => drop(join.poll(ledger, polls)),
        Job::Cancel(token) => token.cancel(),
        Job::Knock(knocks) => knock(world, &knocks),
        Job::Put(item) => {
            let plan = &world.program.items[item];
            let value = ledger.value(match () {
                () if plan.uses.contains(&Use::Forgotten) => Kind::Light,
                () if plan.bomb => Kind::Bomb,
                () => Kind::Heap,
            });
            let uses = plan.uses.len() as u32;
            ledger.check(world.items[item].put(value, uses).is_ok(), || format!("item {item} was put before"));
        }
        Job::Use(item, how) => match (world.items[item].get(), how) {
            // Another hand may briefly hold the last use.
            (Got::Missing | Got::UsedUp, _) => {
                thread::yield_now();
                world.bag.push(Job::Use(item, how));
            }
            (Got::Use(one), Use::Dropped) => one.verify(),
            (Got::Use(one), Use::Taken) => {
                one.verify();
                drop(one.take().map(|mut value| value.change()));
            }
            (Got::Use(one), Use::GivenBack) => {
                one.verify();
                one.give_back();
                world.bag.push(Job::Use(item, Use::Taken));
            }
            (Got::Use(one), Use::Forgotten) => forget(one),
        },
        Job::Look(item) => {
            if let Got::Use(one) = world.items[item].get() {
                one.verify();
                one.give_back();
            }
        }
        Job::Free(item) => world.items[item].release(),
        Job::Wake(waker) => waker.wake(),
        Job::Release(runtime) => drop(runtime),
        Job::Run(awaited) => awaited.poll(),
        Job::Poll(mut future, times) => _ = poll_times(future.as_mut(), times, false),
        Job::Stand(sitters) => drop(sitters),
        Job::Discard(what) => drop(what),
    }
}
