//! Models of the event buffer: its worker writes and winds back, other threads drain.

use loom::sync::{Arc, Mutex};
use loom::thread;

use super::{EventBuffer, LENGTH};
use crate::record::{Event, Track, What};

fn event(at: u64) -> Event {
    Event { at, what: What::Stole }
}

/// All events arrive, each once, in order, wherever the drains fall.
fn all_arrive(events: u64, drains: usize) {
    let event_buffer = Arc::new(EventBuffer::new(Track { number: 0, worker: None }));
    let got = Arc::new(Mutex::new(Vec::new()));
    let drain = |event_buffer: &EventBuffer, got: &Mutex<Vec<u64>>| {
        event_buffer.drain(|events| got.lock().unwrap().extend(events.iter().map(|event| event.at)));
    };
    let drainers: Vec<_> = (0..drains)
        .map(|_| {
            let (event_buffer, got) = (event_buffer.clone(), got.clone());
            thread::spawn(move || drain(&event_buffer, &got))
        })
        .collect();
    for at in 0..events {
        event_buffer.write(event(at), |events| got.lock().unwrap().extend(events.iter().map(|event| event.at)));
    }
    drainers.into_iter().for_each(|drainer| drainer.join().unwrap());
    drain(&event_buffer, &got);
    assert_eq!(*got.lock().unwrap(), (0..events).collect::<Vec<_>>());
}

#[test]
fn loom_one_drains_a_buffer_that_wraps_around() {
    loom::model(|| all_arrive(2 * LENGTH as u64 + 1, 1));
}

#[test]
fn loom_two_drain() {
    loom::model(|| all_arrive(LENGTH as u64 + 1, 2));
}
