//! Results that travel: the message from a thief to the holder of the victim's stack
//! ([DDS](crate#sources) §3, Fig. 3: *send and signal*).

use super::{Machine, What};
use crate::frame::StackId;
use crate::program::Program;
use crate::stack::{Position, Settled, Standing};

impl<P: Program> Machine<'_, P> {
    /// A stolen closure has finished on one processor. Its result goes to another, which holds the
    /// victim's stack.
    pub(super) fn send_result(&mut self, from: usize, to: usize, origin: Position, bytes: u64) {
        self.outcome.results += 1;
        self.send(bytes, from, to);
        self.moving += 1;
        self.push(self.topology.link(from, to).arrival(self.now, bytes), to, What::Arrives { origin });
    }

    /// A result arrives. If its stack waits for it and the holder has no work, the holder withdraws
    /// its request for work, and continues with the stack.
    pub(super) fn arrive(&mut self, origin: Position) {
        self.moving -= 1;
        let Some(holder) = self.finish_at(origin) else { return };
        let processor = &self.processors[holder];
        if processor.alive && processor.active.is_none() && processor.sent.is_empty() {
            self.find_work(holder);
        }
    }

    /// A stolen closure is finished on its victim's stack. Stacks without unfinished closures end,
    /// one after the other. Returns the holder of a stack that can continue.
    fn finish_at(&mut self, mut origin: Position) -> Option<usize> {
        loop {
            // The stack may be lost in a fault.
            let stack = self.stacks.get_mut(&origin.stack)?;
            stack.finish_stolen(origin);
            let holder = stack.holder;
            if stack.standing != Standing::Suspended || !self.processors[holder].alive {
                return None;
            }
            match stack.settle() {
                Settled::Blocked => return None,
                Settled::Ready => return Some(holder),
                Settled::Ended => origin = self.end_suspended(origin.stack)?,
            }
        }
    }

    /// All closures of a suspended stack have finished. Its result is sent, or belongs to another
    /// stack of the same holder, whose position is returned.
    fn end_suspended(&mut self, id: StackId) -> Option<Position> {
        let stack = self.stacks.remove(&id).expect("it was suspended");
        let holder = stack.holder;
        self.processors[holder].suspended.retain(|&other| other != id);
        let Some(origin) = stack.origin else {
            self.finished = true;
            return None;
        };
        let to = self.stack(origin.stack).holder;
        if to == holder {
            return Some(origin);
        }
        self.send_result(holder, to, origin, stack.result_bytes);
        None
    }

    /// Takes the oldest suspended stack with which a processor can continue. Stacks without
    /// unfinished closures end: results may have arrived while the processor was away.
    pub(super) fn take_ready(&mut self, number: usize) -> Option<StackId> {
        let mut place = 0;
        while let Some(&id) = self.processors[number].suspended.get(place) {
            match self.stack(id).settle() {
                Settled::Blocked => place += 1,
                Settled::Ready => return Some(self.processors[number].suspended.remove(place)),
                Settled::Ended => {
                    if let Some(origin) = self.end_suspended(id) {
                        self.finish_at(origin);
                    }
                    place = 0;
                }
            }
        }
        None
    }
}
