//! Models of turns. One member at a time has the turn. No member waits without end, whether the
//! member that has the turn waits or not.

use loom::sync::Arc;
use loom::thread;

use super::*;
use crate::sync::Guarded;
use crate::worker::sleep::{Idle, Sleep};
use crate::worker::wait::Mailbox;

/// The value that the members of a reduction read, one at a time. Loom checks that.
struct World {
    turns: Turns,
    value: Guarded<u32>,
    mailboxes: [Mailbox; 2],
}

// SAFETY: only the member that has the turn touches the value. The model checks that.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn new() -> Arc<World> {
        let mailbox = || Mailbox::new(0, crate::sync::Arc::new(Sleep::new(1, Idle::Sleep)));
        Arc::new(World { turns: Turns::default(), value: Guarded::new(0), mailboxes: [(); 2].map(|()| mailbox()) })
    }

    /// A member on the worker of a seat. If `parks`, it waits while it has the turn.
    fn look(&self, seat: usize, parks: bool) {
        let mailbox = &self.mailboxes[seat];
        let wait = |waiter: &Waiter| {
            if waiter.park() {
                mailbox.sleep_until_delivered(waiter);
            }
        };
        self.turns.take_at(Address(ptr::from_ref(mailbox).cast()), || Waiter::new(mailbox), wait);
        self.value.set(self.value.get() + 1);
        if parks {
            self.turns.note_parked();
        }
        self.value.set(self.value.get() + 1);
        self.turns.end();
    }
}

fn members(parks: [bool; 2]) {
    loom::model(move || {
        let world = World::new();
        let other = thread::spawn({
            let world = world.clone();
            move || world.look(1, parks[1])
        });
        world.look(0, parks[0]);
        other.join().unwrap();
        assert_eq!(world.value.get(), 4);
    });
}

#[test]
fn loom_turns_of_members_that_run() {
    members([false, false]);
}

#[test]
fn loom_a_turn_of_one_that_waits() {
    members([true, false]);
}

#[test]
fn loom_turns_of_members_that_wait() {
    members([true, true]);
}
