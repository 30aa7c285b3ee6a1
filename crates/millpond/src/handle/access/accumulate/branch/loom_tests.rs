//! A loom model of the handover: the copy has one user at a time, and no addition is lost.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::*;

#[test]
fn loom_the_copy_of_a_join_has_one_user() {
    loom::model(|| {
        let shared = Arc::new((Handover::default(), UnsafeCell::new(0)));
        let first = shared.clone();
        let half = thread::spawn(move || {
            // SAFETY: loom checks that this access is the only one.
            first.1.with_mut(|copy| unsafe { *copy += 1 });
            first.0.pass();
        });
        let mut part = 0;
        if shared.0.was_passed() {
            // SAFETY: as above.
            shared.1.with_mut(|copy| unsafe { *copy += 10 });
        } else {
            part = 10;
        }
        half.join().unwrap();
        // SAFETY: both halves have ended.
        assert_eq!(shared.1.with(|copy| unsafe { *copy }) + part, 11);
    });
}
