use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::*;

/// A copy of the models: the number of bodies that added to it.
#[derive(Debug)]
struct Partial {
    sum: loom::cell::UnsafeCell<u32>,
}

/// A body on this seat adds 1 to a copy.
fn body(copies: &Copies, made: &AtomicU32, seat: usize) {
    let copy = copies.take(seat).unwrap_or_else(|| {
        let new = Box::leak(Box::new(Partial { sum: loom::cell::UnsafeCell::new(0) }));
        made.fetch_add(1, Ordering::Relaxed);
        copies.record(NonNull::from(&mut *new).cast());
        NonNull::from(new).cast()
    });
    // SAFETY: recorded copies live until `end`. The cell reports a body that is not alone.
    unsafe { copy.cast::<Partial>().as_ref() }.sum.with_mut(|sum| unsafe { *sum += 1 });
    copies.put_back(seat, copy);
}

/// The combine task, after all bodies. Returns the total.
fn combine(copies: &Copies) -> u32 {
    let all = copies.end().into_iter();
    // SAFETY: leaked in `body`, and no body runs any more.
    all.map(|copy| unsafe { Box::from_raw(copy.cast::<Partial>().as_ptr()) }.sum.with(|sum| unsafe { *sum })).sum()
}

/// Runs the bodies of each list on a thread of its own, where each is on the seat given.
fn model(threads: [&'static [usize]; 2], copies_at_most: u32) {
    loom::model(move || {
        let (copies, made) = (Arc::new(Copies::new(2)), Arc::new(AtomicU32::new(0)));
        // Made here, because the models do not know std's `OnceLock`.
        copies.place(0);
        let other = {
            let (copies, made) = (copies.clone(), made.clone());
            thread::spawn(move || threads[1].iter().for_each(|seat| body(&copies, &made, *seat)))
        };
        threads[0].iter().for_each(|seat| body(&copies, &made, *seat));
        other.join().expect("the model's thread ends");
        let bodies = threads.iter().map(|seats| seats.len() as u32).sum::<u32>();
        assert_eq!(combine(&copies), bodies);
        assert!(made.load(Ordering::Relaxed) <= copies_at_most);
    });
}

/// Each thread has its own seat: two copies for four bodies.
#[test]
fn loom_bodies_on_two_seats() {
    model([&[0, 0], &[1, 1]], 2);
}

/// Two threads select the same place.
#[test]
fn loom_two_threads_share_a_place() {
    model([&[0, 0], &[0, 0]], 2);
}

/// A thread changes its seat. Then its copy may be in the place of the other thread.
#[test]
fn loom_a_thread_changes_its_seat() {
    model([&[0, 1], &[1, 0]], 3);
}
