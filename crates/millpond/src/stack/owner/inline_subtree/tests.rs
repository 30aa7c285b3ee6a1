//! Tests of reused call frames, of bodies that get frames, and of measured depths.

use std::alloc::Layout;
use std::panic::Location;
use std::ptr::{self, NonNull};

use super::*;
use crate::depend::Mode;
use crate::handle::access::In;
use crate::handle::claim::Claimant;
use crate::handle::{Handle, Version};
use crate::task::{CompactKind, Form, Role, Uses, VTable};
use crate::worker::cancel::Cancels;
use crate::worker::scope_state::ScopeState;

static PARENT: VTable = VTable {
    role: Role::Nest,
    compact: CompactKind::new(Form::of(Mode::Inout), Layout::new::<[u64; 3]>(), |_, _| Ok(())),
    run: |_, _| unreachable!("it is called"),
    discard: |_| (),
    fail: |_, _, _| (),
    drop_result: |_| (),
};

/// Calls a body that calls three others, nested `deep` times. If `promotes`, the innermost bodies
/// get frames.
fn call(frames: &Frames, parent: &ScopeState, version: NonNull<Version>, deep: u32, promotes: bool) {
    let call_frame = frames.inline_subtrees.next_call_frame().expect("few are used");
    let new = NewTask {
        vtable: &PARENT,
        scope: parent.into(),
        order: parent.next_order(),
        place: Location::caller(),
        priority: 0,
        extras: None,
        accesses: 1,
    };
    // SAFETY: the call frame is not in use.
    unsafe { call_frame.push_virtual_frame(new) };
    // SAFETY: a virtual frame has space for this version.
    unsafe { call_frame.virtual_frame().compact_versions().write(version) };
    parent.count_run_inline();
    let versions = [version];
    // SAFETY: there is one mode, and the version is in use until the test ends.
    let uses = unsafe { Uses::new(&versions, Form::of(Mode::Inout).modes()) };
    // SAFETY: the call frame is this body's, and it has these accesses.
    unsafe { call_frame.make(frames, parent, 0, uses) };
    frames.begin_in_call_frame(call_frame);
    // SAFETY: `make` made it.
    let scope_state = unsafe { call_frame.scope_state() };
    // SAFETY: as above.
    assert_eq!(unsafe { call_frame.views().as_ref() }.current(), version);
    let own: Handle<u64, In<'_>> = Handle::held(frames.own_datum::<u64>(scope_state).expect("one"));
    // SAFETY: the handle has no value, and no other code knows it.
    unsafe { own.fill(3) };
    if deep > 0 {
        call(frames, scope_state, own.datum().current(), deep - 1, promotes);
        if frames.inline_subtrees.goes_on() {
            call(frames, scope_state, version, deep - 1, false);
            call(frames, scope_state, own.datum().current(), deep - 1, promotes);
        }
    } else if promotes {
        frames.promote();
    }
    if frames.inline_subtrees.goes_on() {
        return frames.end_in_call_frame(call_frame);
    }
    let frame = frames.frame();
    assert!(ptr::eq(frame.scope_state.as_ptr(), scope_state), "its own");
    frame.live.set(false);
    let at = frame.scope_state;
    frames.end_uses();
    // SAFETY: its body is over, and its frame has no other bodies.
    unsafe { at.drop_in_place() };
    frames.close();
    assert!(frames.frame().live.get());
    frames.set_cursor(frames.top());
    frames.rewind();
    frames.leave_call_frame(call_frame);
}

#[test]
fn rooms_are_used_again() {
    let cancels = Cancels::new();
    let root = ScopeState::root(&cancels, &Claimant::enter(true), 0, 0);
    let frames = Box::new(Frames::new());
    frames.enter();
    frames.open(&root);
    root.set_frames(Some((&*frames).into()));
    frames.owner_lock().meet(|_| None);
    let x = Handle::new(1_u64);
    let config = Config { inline: Inline::Always, ..Config::default() };
    for (deep, promotes) in
        [(2, false), (2, false), (2, true), (1, false), (2, false), (1, true), (0, true), (2, false)]
    {
        assert_eq!(frames.inline_subtrees.begin(&config, 1, || 0), Begun::Always);
        call(&frames, &root, x.datum().current(), deep, promotes);
        assert_eq!(frames.inline_subtrees.goes_on(), !promotes);
        frames.inline_subtrees.end(Begun::Always, 1, true);
        assert_eq!(frames.level(), 1);
    }
    root.set_frames(None);
    frames.close();
}

#[test]
fn levels_are_short_that_were_measured_so() {
    let (inline_subtrees, config) = (InlineSubtrees::default(), Config { workers: 2, ..Config::default() });
    let begin = || inline_subtrees.begin(&config, 5, || 0);
    let measured = (0..10 * EVERY).filter(|_| matches!(begin(), Begun::Measured(_))).count();
    assert_eq!(measured, 10);
    (0..50).for_each(|_| inline_subtrees.note_time(5, SHORT / 4));
    assert!(matches!(begin(), Begun::InlineSubtree(_)));
    inline_subtrees.end(Begun::InlineSubtree(now()), 5, true);
    // Other depths are not known to be short.
    assert!(!matches!(inline_subtrees.begin(&config, 6, || 0), Begun::InlineSubtree(_)));
    inline_subtrees.note_time(5, MAX_NOTED_TIME);
    assert!(!matches!(begin(), Begun::InlineSubtree(_)), "one was as long as many");
    let never = Config { inline: Inline::Never, ..Config::default() };
    assert_eq!(inline_subtrees.begin(&never, 5, || 0), Begun::Usual);
}

/// A parent and its children alternate, with as many children as there are bodies between two
/// measurements. A count over all depths would measure the same depth every time.
#[test]
fn each_level_is_measured() {
    let (inline_subtrees, config) = (InlineSubtrees::default(), Config { workers: 2, ..Config::default() });
    let mut measured = [0, 0];
    for place in 0..1000 * EVERY {
        let level = usize::from(place % EVERY != 0);
        let begun = inline_subtrees.begin(&config, level as u32, || 0);
        measured[level] += u32::from(matches!(begun, Begun::Measured(_)));
    }
    assert_eq!(measured, [1000_u32.div_ceil(EVERY), 1000 * (EVERY - 1) / EVERY + 1]);
}
