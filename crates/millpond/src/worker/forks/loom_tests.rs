//! Loom models of the shared state: a pop knows whether its fork was offered, and no ask is lost.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use loom::thread;

use super::*;
use crate::task::Role;
use crate::worker::fork::ForkOps;

static TABLE: VTable = VTable {
    role: Role::Fork,
    compact: None,
    run: |_, _| unreachable!("models run no forks"),
    discard: |_| unreachable!("models run no forks"),
    fail: |_, _, _| unreachable!("models run no forks"),
    drop_result: |_| unreachable!("models run no forks"),
};

/// A worker that shows one fork at a time to its thief, and counts its offers.
#[derive(Default)]
struct Shelf {
    shown: AtomicPtr<Head>,
    offers: AtomicUsize,
}

/// # Safety
///
/// `worker` is a `Shelf`.
unsafe fn offer(worker: *const (), fork: NonNull<Head>, _recorded_at: Option<CallSite>) {
    // SAFETY: as the caller promises.
    let shelf = unsafe { &*worker.cast::<Shelf>() };
    // SAFETY: the models keep the fork alive.
    unsafe { fork.as_ref() }.set_offer(NonNull::dangling());
    shelf.offers.fetch_add(1, Ordering::Relaxed);
    shelf.shown.store(fork.as_ptr(), Ordering::Release);
}

static OPS: ForkOps = ForkOps {
    offer,
    is_hungry: |_| false,
    others: |_| Others::Busy,
    mailbox: |_| unreachable!("no thread waits"),
    take_back: |_, _| unreachable!("the models pop only"),
    free: |_, _| unreachable!("the models pop only"),
    wait: |_, _, _| unreachable!("no thread waits"),
    step_back: |_| unreachable!("no thread waits"),
    log: |_| unreachable!("nothing is recorded"),
};

/// What a thief may touch.
struct Theft(NonNull<Limits>, Arc<Shelf>);

// SAFETY: the limits are atomics. Their forks outlive the thread, which the models join.
unsafe impl Send for Theft {}

impl Theft {
    /// Takes the shown fork, if there is one, and asks for more.
    fn steal(self) -> bool {
        let Theft(limits, shelf) = self;
        let stolen = !shelf.shown.swap(ptr::null_mut(), Ordering::AcqRel).is_null();
        if stolen {
            // SAFETY: as for `Send`.
            unsafe { limits.as_ref() }.ask();
        }
        stolen
    }
}

fn with_a_thief(owner: impl Fn(&Forks, &Shelf, Theft) + Sync + Send + 'static) {
    loom::model(move || {
        let (forks, shelf) = (Forks::new(), Arc::new(Shelf::default()));
        forks.attach(CurrentWorker { worker: (&raw const *shelf).cast(), ops: &OPS }, 2);
        owner(&forks, &shelf, Theft(NonNull::from(&forks.limits), shelf.clone()));
    });
}

fn push(forks: &Forks, fork: &Head) {
    // SAFETY: the models pop what they push.
    unsafe { forks.push(NonNull::from(fork), Location::caller()) };
}

#[test]
fn an_ask_is_not_lost() {
    with_a_thief(|forks, shelf, theft| {
        let heads: [Head; 5] = std::array::from_fn(|_| Head::new(&TABLE));
        push(forks, &heads[0]);
        let thief = thread::spawn(move || theft.steal());
        // The second push offers the first fork; the third may meet the ask, or come before the
        // theft.
        push(forks, &heads[1]);
        push(forks, &heads[2]);
        let stolen = thief.join().unwrap();
        push(forks, &heads[3]);
        push(forks, &heads[4]);
        assert_eq!(shelf.offers.load(Ordering::Relaxed), if stolen { 2 } else { 1 });
    });
}

#[test]
fn a_pop_knows_what_was_offered() {
    with_a_thief(|forks, shelf, theft| {
        let heads: [Head; 3] = std::array::from_fn(|_| Head::new(&TABLE));
        let thief = thread::spawn(move || theft.steal());
        heads.iter().for_each(|head| push(forks, head));
        let private = heads.iter().rev().filter(|head| forks.pop(head)).count();
        assert_eq!(private + shelf.offers.load(Ordering::Relaxed), 3);
        thief.join().unwrap();
    });
}

#[test]
fn an_ask_is_answered_between_two_pieces() {
    with_a_thief(|forks, shelf, theft| {
        let heads: [Head; 4] = std::array::from_fn(|_| Head::new(&TABLE));
        heads[..3].iter().for_each(|head| push(forks, head));
        let thief = thread::spawn(move || theft.steal());
        forks.answer();
        let stolen = thief.join().unwrap();
        forks.answer();
        assert_eq!(shelf.offers.load(Ordering::Relaxed), if stolen { 2 } else { 1 });
    });
}
