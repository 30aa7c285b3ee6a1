//! Models of A1 to A3, and of the sentinel. Two workers make stacks while a thief searches for
//! victims.

use loom::thread;

use super::Stacks;
use crate::sync::Arc;

#[test]
fn loom_who_sees_a_count_finds_as_many_stacks() {
    loom::model(|| {
        let stacks = Arc::new(Stacks::default());
        let make = || {
            let stacks = stacks.clone();
            thread::spawn(move || {
                stacks.take();
            })
        };
        let makers = [make(), make()];
        let count = stacks.count();
        assert!(stacks.iter().count() >= count);
        makers.into_iter().for_each(|maker| maker.join().unwrap());
        assert_eq!((stacks.count(), stacks.iter().count()), (2, 2));
    });
}

#[test]
fn loom_one_of_two_watches() {
    loom::model(|| {
        let stacks = Arc::new(Stacks::default());
        let other = {
            let stacks = stacks.clone();
            thread::spawn(move || stacks.watch())
        };
        let watches = stacks.watch();
        assert!(watches != other.join().unwrap() && stacks.are_watched());
        stacks.stop_watching();
        assert!(!stacks.are_watched() && stacks.watch());
    });
}
