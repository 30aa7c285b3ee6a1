//! Models of the tape: its worker writes and winds back, others drain.

use loom::sync::{Arc, Mutex};
use loom::thread;

use super::{LENGTH, Tape};
use crate::record::{Event, Track, What};

fn event(at: u64) -> Event {
    Event { at, what: What::Stole }
}

/// All events arrive, each once, in order, however the drains fall between.
fn all_arrive(events: u64, drains: usize) {
    let tape = Arc::new(Tape::new(Track { number: 0, worker: None }));
    let got = Arc::new(Mutex::new(Vec::new()));
    let drain = |tape: &Tape, got: &Mutex<Vec<u64>>| {
        tape.drain(|events| got.lock().unwrap().extend(events.iter().map(|event| event.at)));
    };
    let drainers: Vec<_> = (0..drains)
        .map(|_| {
            let (tape, got) = (tape.clone(), got.clone());
            thread::spawn(move || drain(&tape, &got))
        })
        .collect();
    for at in 0..events {
        tape.write(event(at), |events| got.lock().unwrap().extend(events.iter().map(|event| event.at)));
    }
    drainers.into_iter().for_each(|drainer| drainer.join().unwrap());
    drain(&tape, &got);
    assert_eq!(*got.lock().unwrap(), (0..events).collect::<Vec<_>>());
}

#[test]
fn loom_one_drains_a_tape_that_winds_back() {
    loom::model(|| all_arrive(2 * LENGTH as u64 + 1, 1));
}

#[test]
fn loom_two_drain() {
    loom::model(|| all_arrive(LENGTH as u64 + 1, 2));
}
