//! Models of counted items: threads give back, end and take uses at the same time. Loom checks each
//! read of the value.

use loom::thread;

use super::*;
use crate::sync::Arc;

fn item(uses: u32) -> Arc<CountedItem<u32>> {
    let item = Arc::new(CountedItem::new());
    assert!(item.put(7, uses).is_ok());
    item
}

/// A use of the value. Only its thread knows its type.
fn begin(item: &CountedItem<u32>) -> Option<Use<'_, u32>> {
    match item.get() {
        Got::Use(one) => Some(one),
        Got::UsedUp => None,
        Got::Missing => panic!("it was put"),
    }
}

fn run<R: 'static>(
    item: &Arc<CountedItem<u32>>,
    body: impl FnOnce(&CountedItem<u32>) -> R + 'static,
) -> thread::JoinHandle<R> {
    let item = item.clone();
    thread::spawn(move || body(&item))
}

/// Reads the value, and gives the use back.
fn look(item: &CountedItem<u32>) {
    if let Some(one) = begin(item) {
        assert_eq!(*one, 7);
        one.give_back();
    }
}

/// One thread takes the value after another has read it and given its use back.
#[test]
fn loom_taken_after_a_look() {
    loom::model(|| {
        let item = item(1);
        let other = run(&item, look);
        if let Some(one) = begin(&item) {
            assert_eq!(one.take().ok(), Some(7));
        }
        other.join().unwrap();
    });
}

/// The value is dropped after such a read.
#[test]
fn loom_dropped_after_a_look() {
    loom::model(|| {
        let item = item(1);
        let other = run(&item, look);
        drop(begin(&item));
        other.join().unwrap();
    });
}

/// One of two uses is given back, and a third thread begins it. All reads happen before the end of
/// the last use.
#[test]
fn loom_a_use_that_was_given_back_is_begun_again() {
    loom::model(|| {
        let item = item(2);
        let others = [run(&item, look), run(&item, |item| drop(begin(item)))];
        if let Some(one) = begin(&item) {
            assert_eq!(*one, 7);
            drop(one.take());
        }
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}
