//! Loom models of the pool's part in the sleep protocol.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst, fence};
use loom::thread;

use super::*;
use crate::pool::testing::{Payloads, task};

/// One worker puts a task and checks for a sleeper. Another registers as a sleeper and checks the
/// pool a last time. At least one of them must find the other.
fn no_sleeper_misses(put: fn(&Split, &mut Local) -> bool) {
    loom::model(move || {
        let (pool, mut seats) = Split::new(2);
        let shared = Arc::new((pool, AtomicUsize::new(0)));
        let sleeper = thread::spawn({
            let shared = shared.clone();
            move || {
                shared.1.fetch_add(1, Relaxed);
                fence(SeqCst);
                shared.0.has_work()
            }
        });
        let made_visible = put(&shared.0, &mut seats[0]);
        assert!(made_visible);
        fence(SeqCst);
        let woken = shared.1.load(Relaxed) > 0;
        let stays_up = sleeper.join().unwrap();
        assert!(woken || stays_up);
    });
}

#[test]
fn no_sleeper_misses_a_put() {
    no_sleeper_misses(|pool, seat| {
        pool.put_at(seat, task(1), 0, Put::Released) | pool.put_at(seat, task(2), 0, Put::Released)
    });
}

#[test]
fn no_sleeper_misses_an_exposed_task() {
    no_sleeper_misses(|pool, seat| pool.put_at(seat, task(1), 0, Put::Spawned) | pool.expose(seat));
}

#[test]
fn no_sleeper_misses_an_urgent_task() {
    no_sleeper_misses(|pool, seat| pool.put_at(seat, task(1), 1, Put::Released));
}

#[test]
fn lanes_and_deque() {
    loom::model(|| {
        let (pool, mut seats) = Split::new(2);
        let shared = Arc::new((pool, Payloads::new(3)));
        let mut thief = seats.remove(1);
        let stealing = thread::spawn({
            let shared = shared.clone();
            move || {
                for _ in 0..2 {
                    shared.0.steal_by(&mut thief, |_| Some(())).into_iter().for_each(|task| shared.1.empty(task));
                }
                thief
            }
        });
        shared.0.put_at(&mut seats[0], shared.1.fill(1), 0, Put::Released);
        shared.0.put_at(&mut seats[0], shared.1.fill(2), 1, Put::Released);
        shared.0.put_at(&mut seats[0], shared.1.fill(3), 0, Put::Released);
        while let Some(task) = shared.0.take(&mut seats[0]) {
            shared.1.empty(task);
        }
        stealing.join().unwrap();
        Arc::try_unwrap(shared).unwrap_or_else(|_| panic!("shared")).1.check();
    });
}
