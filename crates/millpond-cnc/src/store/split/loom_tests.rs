//! Models of the split-ordered list: threads put entries and split buckets at once. The second
//! entry doubles the buckets.

use loom::thread;

use super::*;
use crate::sync::atomic::AtomicU32;

type Slots = Split<Hashed, AtomicU32>;

/// A key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hashed(u32);

impl std::hash::Hash for Hashed {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        // Two keys each have the same hash.
        state.write_u32(self.0 / 2);
    }
}

/// A key's index. It also writes to the slot, which shows that the slot exists.
fn find(split: &Slots, key: u32) -> usize {
    let (place, slot) = split.find(&Hashed(key));
    slot.fetch_add(1, Ordering::Relaxed);
    assert_eq!(split.key(place), Hashed(key));
    place
}

fn run<R: 'static>(split: &loom::sync::Arc<Slots>, body: impl FnOnce(&Slots) -> R + 'static) -> thread::JoinHandle<R> {
    let split = split.clone();
    thread::spawn(move || body(&split))
}

/// The list has one entry of a key, whichever thread puts it (step 4).
#[test]
fn loom_one_key() {
    loom::model(|| {
        let split = loom::sync::Arc::new(Slots::new());
        let others = [(); 2].map(|()| run(&split, |split| find(split, 1)));
        let place = find(&split, 1);
        assert!(others.into_iter().all(|other| other.join().unwrap() == place));
        assert_eq!(split.at(find(&split, 1)).load(Ordering::Relaxed), 4);
    });
}

/// Two threads put keys, some of them the same, while their buckets are split (steps 2 and 5).
#[test]
fn loom_buckets_are_split() {
    loom::model(|| {
        let split = loom::sync::Arc::new(Slots::new());
        let first = find(&split, 2);
        let other = run(&split, |split| [3, 4].map(|key| find(split, key)));
        let here = [4, 3].map(|key| find(&split, key));
        let there = other.join().unwrap();
        assert_eq!([there[1], there[0]], here);
        assert_eq!(find(&split, 2), first);
        assert!(split.size.load(Ordering::Relaxed) > 1);
    });
}

/// Two threads ask for the same new bucket at once: it gets one dummy (step 2).
#[test]
fn loom_one_dummy() {
    loom::model(|| {
        let split = loom::sync::Arc::new(Slots::new());
        split.size.store(4, Ordering::Relaxed);
        let other = run(&split, |split| split.start(3));
        assert_eq!(split.start(3), other.join().unwrap());
        // The dummies of bucket 0 and of the other two buckets. Entries that lost a race are
        // outside the list.
        let mut orders = Vec::new();
        let mut at = split.start(0);
        while at != NONE {
            orders.push(split.entry(at).order);
            at = split.entry(at).next.load(Ordering::Relaxed);
        }
        assert_eq!(orders, [0, 1_u64.reverse_bits(), 3_u64.reverse_bits()]);
    });
}
