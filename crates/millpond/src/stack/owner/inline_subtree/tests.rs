//! Rooms that are used again, and bodies that get frames;

use std::alloc::Layout;
use std::panic::Location;
use std::ptr;

use super::*;
use crate::access::In;
use crate::depend::Mode;
use crate::handle::Handle;
use crate::handle::claim::Claimant;
use crate::runtime::cancel::Cancels;
use crate::task::{Laid, Role, VTable};

const INOUT: Modes = Modes::of(Mode::Inout).expect("a usual mode");

static PARENT: VTable = VTable {
    role: Role::Nest,
    laid: Some(Laid { run: |_, _| Ok(()), payload: Layout::new::<[u64; 3]>(), modes: INOUT }),
    run: |_, _| unreachable!("it is called"),
    discard: |_| (),
    fail: |_, _, _| (),
    drop_result: |_| (),
};

/// Calls a body that calls three others, so many deep; the innermost ones get frames, or not.
fn call(frames: &Frames, parent: &Domain, version: NonNull<Version>, deep: u32, settles: bool) {
    let room = frames.episodes.next_room().expect("few are used");
    let new = NewTask {
        vtable: &PARENT,
        domain: parent.into(),
        order: parent.next_order(),
        place: Location::caller(),
        priority: 0,
        extras: None,
        accesses: 1,
    };
    // SAFETY: the room is in no use.
    unsafe { room.lay_shell(new) };
    // SAFETY: a shell has room for one.
    unsafe { room.shell().laid_versions().write(version) };
    parent.count_at_once();
    // SAFETY: it is the room of this body, whose accesses these are.
    unsafe { room.make(frames, parent, 0, &[version], INOUT) };
    frames.begin_in_room(room);
    // SAFETY: just made.
    let domain = unsafe { room.domain() };
    // SAFETY: as above.
    assert_eq!(unsafe { room.views().as_ref() }.current(), version);
    let own: Handle<u64, In<'_>> = Handle::held(frames.own_datum::<u64>(domain).expect("one"));
    // SAFETY: it has none, and nobody else knows it.
    unsafe { own.fill(3) };
    if deep > 0 {
        call(frames, domain, own.datum().current(), deep - 1, settles);
        if frames.episodes.goes_on() {
            call(frames, domain, version, deep - 1, false);
            call(frames, domain, own.datum().current(), deep - 1, settles);
        }
    } else if settles {
        frames.settle();
    }
    if frames.episodes.goes_on() {
        return frames.end_in_room(room);
    }
    let frame = frames.frame();
    assert!(ptr::eq(frame.domain.as_ptr(), domain), "its own");
    frame.live.set(false);
    let at = frame.domain;
    frames.end_uses();
    // SAFETY: its body is over, and there are no others in its frame.
    unsafe { at.drop_in_place() };
    frames.close();
    assert!(frames.frame().live.get());
    frames.set_cursor(frames.top());
    frames.rewind();
    frames.leave_room(room);
}

#[test]
fn rooms_are_used_again() {
    let cancels = Cancels::new();
    let root = Domain::root(&cancels, &Claimant::enter(true), 0, 0);
    let frames = Box::new(Frames::new());
    frames.enter();
    frames.open(&root);
    root.set_frames(Some((&*frames).into()));
    frames.guard().meet(|_| None);
    let x = Handle::new(1_u64);
    let config = Config { inline: Inline::Always, ..Config::default() };
    for (deep, settles) in [(2, false), (2, false), (2, true), (1, false), (2, false), (1, true), (0, true), (2, false)]
    {
        assert_eq!(frames.episodes.begin(&config, 1, || 0), Begun::Always);
        call(&frames, &root, x.datum().current(), deep, settles);
        assert_eq!(frames.episodes.goes_on(), !settles);
        frames.episodes.end(Begun::Always, 1, true);
        assert_eq!(frames.level(), 1);
    }
    root.set_frames(None);
    frames.close();
}

#[test]
fn levels_are_short_that_were_measured_so() {
    let (episodes, config) = (Episodes::default(), Config { workers: 2, ..Config::default() });
    let begin = || episodes.begin(&config, 5, || 0);
    let measured = (0..10 * EVERY).filter(|_| matches!(begin(), Begun::Measured(_))).count();
    assert_eq!(measured, 10);
    (0..50).for_each(|_| episodes.note_time(5, SHORT / 4));
    assert!(matches!(begin(), Begun::Episode(_)));
    episodes.end(Begun::Episode(now()), 5, true);
    // Others are not known.
    assert!(!matches!(episodes.begin(&config, 6, || 0), Begun::Episode(_)));
    episodes.note_time(5, LONGEST);
    assert!(!matches!(begin(), Begun::Episode(_)), "one was as long as many");
    let never = Config { inline: Inline::Never, ..Config::default() };
    assert_eq!(episodes.begin(&never, 5, || 0), Begun::Usual);
}

/// One parent and as many children as come between two measurements: among all of them the same level would be measured each time.
#[test]
fn each_level_is_measured() {
    let (episodes, config) = (Episodes::default(), Config { workers: 2, ..Config::default() });
    let mut measured = [0, 0];
    for place in 0..1000 * EVERY {
        let level = usize::from(place % EVERY != 0);
        let begun = episodes.begin(&config, level as u32, || 0);
        measured[level] += u32::from(matches!(begun, Begun::Measured(_)));
    }
    assert_eq!(measured, [1000_u32.div_ceil(EVERY), 1000 * (EVERY - 1) / EVERY + 1]);
}
