//! A loom model of the claims: each item goes to one thread.

use loom::sync::Arc;
use loom::thread;

use super::*;

/// Claims until nothing is left. Returns the claimed items, one bit each.
fn claim_all(rest: &Rest, end: End, wanted: usize) -> u32 {
    let mut bits = 0;
    while let Some(items) = rest.claim(end, wanted) {
        for item in items {
            assert_eq!(bits & 1 << item, 0, "claimed twice by one thread");
            bits |= 1 << item;
        }
    }
    bits
}

#[test]
fn loom_each_item_is_claimed_once() {
    loom::model(|| {
        let rest = Arc::new(Rest::new(0..5));
        let threads = [(End::Back, 2), (End::Back, 1)].map(|(end, wanted)| {
            let rest = rest.clone();
            thread::spawn(move || claim_all(&rest, end, wanted))
        });
        let own = claim_all(&rest, End::Front, 2);
        let all = threads.map(|thread| thread.join().unwrap());
        assert_eq!((own | all[0] | all[1], own & all[0], (own | all[0]) & all[1]), (0b11111, 0, 0));
    });
}
