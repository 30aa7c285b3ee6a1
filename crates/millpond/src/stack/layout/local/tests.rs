//! Data at the places of earlier data of the same size.

use std::mem::MaybeUninit;

use super::*;
use crate::handle::claim::Claimant;
use crate::task::TaskRef;
use crate::worker::cancel::Cancels;

/// Runs `test` in a stack with the scope of a compact parent.
fn with_body(test: impl FnOnce(&Frames, &ScopeState)) {
    let cancels = Cancels::new();
    let root = ScopeState::root(&cancels, &Claimant::enter(true), 0, 0);
    let frames = Box::new(Frames::new());
    frames.enter();
    frames.open(&root);
    let mut nested = Box::new(MaybeUninit::<ScopeState>::uninit());
    let at = NonNull::new(nested.as_mut_ptr()).expect("a box");
    // SAFETY: there is room, and the test does not use the task of the scope.
    unsafe { ScopeState::nest_in_frame(at, &root, TaskRef(NonNull::dangling()), 0, NonNull::from(&*frames).cast()) };
    // SAFETY: the scope was just made.
    test(&frames, unsafe { at.as_ref() });
    frames.close();
    frames.shrink();
}

/// As small as a value can be, and at another place in the datum.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Aligned;

/// Makes a datum without a value, and gives it one.
fn make<T: Copy>(frames: &Frames, scope_state: &ScopeState, value: T) -> Option<NonNull<Datum>> {
    let datum = frames.own_datum::<T>(scope_state)?;
    // SAFETY: its body is not over.
    let version = unsafe { datum.as_ref() }.version();
    assert!(!version.is_produced() && !version.is_full() && !version.is_in_place());
    // SAFETY: the datum has room for a value.
    unsafe { version.value().cast::<T>().write(value) };
    version.produce();
    Some(datum)
}

fn called(frames: &Frames, body: impl FnOnce()) {
    frames.enter_level();
    body();
    frames.end_own(false);
    frames.leave_level();
}

#[test]
fn a_place_comes_again_without_a_value() {
    with_body(|frames, scope_state| {
        let mut places = Vec::new();
        for count in [3_u64, 1, 2, 3] {
            called(frames, || {
                let made: Vec<_> = (0..count).map(|n| make(frames, scope_state, n).expect("few")).collect();
                places.push(made);
            });
        }
        assert!(places.iter().all(|some| places[0].starts_with(some)), "they lie where the first ones did");
        assert!(frames.owned.small.made().is_some(), "and are not made again");
        called(frames, || {
            // Data at these places of another type, and of another size. Then the first type again.
            for n in 0..3 {
                make(frames, scope_state, n as u8).expect("few");
                make(frames, scope_state, [n; 9]).expect("few");
                make(frames, scope_state, Aligned).expect("few");
                called(frames, || assert!(make(frames, scope_state, ()).is_some()));
                make(frames, scope_state, n).expect("few");
            }
        });
    });
}

#[test]
fn what_was_set_in_place_is_not_so_again() {
    with_body(|frames, scope_state| {
        called(frames, || {
            let datum = make(frames, scope_state, 1_u64).expect("one");
            // SAFETY: its body is not over.
            unsafe { datum.as_ref() }.version().set_in_place(true);
        });
        assert!(frames.owned.small.made().is_some(), "it comes again");
        called(frames, || assert!(make(frames, scope_state, 2_u64).is_some()));
    });
}

#[test]
fn a_body_has_so_many_of_each_size() {
    with_body(|frames, scope_state| {
        for _ in 0..2 {
            frames.enter_level();
            let small = (0..100).filter(|&n| make(frames, scope_state, n).is_some()).count();
            let large = (0..100).filter(|&n| make(frames, scope_state, [n; 9]).is_some()).count();
            assert_eq!((small, large), (MAX_DATA_PER_BODY, MAX_DATA_PER_BODY));
            // As for a body that has a frame.
            frames.end_own(true);
            frames.leave_level();
        }
    });
}
