//! Threads outside the runtime that let a scope end, and still use its runtime when it is dropped.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{builder, limit, sized};
use millpond::pool::{Leave, Pool, Put, Split, TaskRef};
use millpond::{DefaultMemory, DefaultScheme, Idle, Parts, Runtime, ScopeHandle};

thread_local! {
    /// Whether this thread is slow to leave the pool.
    static IS_SLOW: Cell<bool> = const { Cell::new(false) };
}

/// The runtime has been dropped.
static RUNTIME_DROPPED: AtomicBool = AtomicBool::new(false);
/// A thread has left the pool, and by then a pool was dropped.
static LEFT_TOO_LATE: AtomicBool = AtomicBool::new(false);
/// The number of pools.
static POOLS: AtomicUsize = AtomicUsize::new(0);

type Seat = <Split as Pool>::Local;

/// The default pool. After others have taken its tasks, a slow thread waits in it until the runtime
/// was dropped.
struct Slow(Split);

impl Drop for Slow {
    fn drop(&mut self) {
        POOLS.fetch_sub(1, SeqCst);
    }
}

// SAFETY: the default pool does everything.
unsafe impl Pool for Slow {
    type Local = Seat;
    type Choice = ();
    const NAME: &'static str = "slow";
    const HONOURS_PRIORITY: bool = Split::HONOURS_PRIORITY;

    fn with(seats: usize, (): &()) -> (Self, Vec<Seat>) {
        POOLS.fetch_add(1, SeqCst);
        let (pool, locals) = Split::new(seats);
        (Slow(pool), locals)
    }

    fn put(&self, local: &mut Seat, task: TaskRef, why: Put) -> bool {
        self.0.put(local, task, why)
    }

    fn take(&self, local: &mut Seat) -> Option<TaskRef> {
        self.0.take(local)
    }

    fn take_if(&self, local: &mut Seat, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        self.0.take_if(local, wanted)
    }

    fn steal(&self, local: &mut Seat) -> Option<TaskRef> {
        self.0.steal(local)
    }

    fn expose(&self, local: &mut Seat) -> bool {
        self.0.expose(local)
    }

    fn leave(&self, local: &mut Seat, leave: Leave) -> bool {
        let public = self.0.leave(local, leave);
        if IS_SLOW.get() {
            let start = Instant::now();
            while !RUNTIME_DROPPED.load(SeqCst) && start.elapsed() < Duration::from_secs(20) {
                thread::yield_now();
            }
            // The pool that this thread is in is one of them.
            LEFT_TOO_LATE.fetch_or(POOLS.load(SeqCst) == 0, SeqCst);
        }
        public
    }

    fn hungry(&self, searching: bool) {
        self.0.hungry(searching);
    }

    fn is_hungry(&self) -> bool {
        self.0.is_hungry()
    }

    fn has_work(&self) -> bool {
        self.0.has_work()
    }
}

/// Another thread satisfies the last precondition of a scope's last task. The scope and the runtime
/// end while that thread is still in the pool. It is the pool of a caller context, since there are
/// more callers than seats.
#[test]
fn a_visitor_keeps_the_runtime() {
    limit(60, "a visitor keeps the runtime", || {
        type Engine = Parts<DefaultMemory, Slow, DefaultScheme>;
        const SEATS: usize = 5;
        let rt: Arc<Runtime<Engine>> = Arc::new(builder(1).idle(Idle::Busy).build_with().unwrap());
        let (sat, seated) = channel();
        let seats: Vec<_> = (0..SEATS)
            .map(|_| {
                let (rt, sat, (leave, left)) = (rt.clone(), sat.clone(), channel::<()>());
                let caller = thread::spawn(move || {
                    rt.scope(|_| {
                        sat.send(()).unwrap();
                        left.recv().unwrap_err();
                    })
                });
                (leave, caller)
            })
            .collect();
        (0..SEATS).for_each(|_| seated.recv().unwrap());
        let (give, given) = channel::<millpond::Precondition>();
        let visitor = thread::spawn(move || {
            let precondition = given.recv().unwrap();
            IS_SLOW.set(true);
            precondition.satisfy();
            IS_SLOW.set(false);
        });
        rt.scope(|s| {
            let pending = s.external().pending(|| ());
            give.send(pending.hold()).unwrap();
        })
        .unwrap();
        for (leave, caller) in seats {
            drop(leave);
            caller.join().unwrap().unwrap();
        }
        drop(Arc::into_inner(rt).expect("the callers have left"));
        RUNTIME_DROPPED.store(true, SeqCst);
        visitor.join().unwrap();
        assert!(!LEFT_TOO_LATE.load(SeqCst), "the pool was dropped while a thread was in it");
        assert_eq!(POOLS.load(SeqCst), 0, "the last thread to leave drops the pool");
    });
}

/// A drop on another thread ends a scope, and then the runtime. The sanitizers report a use after
/// free.
#[test]
fn a_stay_ends_the_scope_and_the_runtime() {
    limit(60, "a stay ends the scope and the runtime", || {
        for round in 0..sized(200, 2000) {
            let (handle, rt) = (OnceLock::<ScopeHandle>::new(), builder(1 + round % 2).build().unwrap());
            let (give, given) = channel::<millpond::Stay>();
            let dropper = thread::spawn(move || drop(given.recv().unwrap()));
            rt.scope(|s| {
                let handle = handle.get_or_init(|| s.scope_handle());
                drop(handle.pending(move || give.send(handle.stay()).unwrap()).unwrap());
            })
            .unwrap();
            drop(rt);
            dropper.join().unwrap();
        }
    });
}
