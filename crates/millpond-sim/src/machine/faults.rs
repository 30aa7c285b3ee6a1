//! Processors that leave, enrol, and become faulty ([DDS](crate#sources) §6).
//!
//! 1. A processor of speed 0 has left. Its running closure stops, and thieves can steal from its
//!    stacks. With another speed it enrols again, and continues with its stacks.
//! 2. A processor slower than the threshold is faulty: all its stacks are lost, with the work in
//!    them. The root closure of each returns to the stack from which it was stolen.
//! 3. Closures stolen from a lost stack cannot deliver their results, and are dropped, too. They
//!    run again with their creators. Their thieves steal other work.
//! 4. The stack with the program's root was not stolen. If it is lost, the program begins again, on
//!    the first live processor.
//! 5. When a faulty processor is fast enough again, it enrols and holds nothing.

use std::collections::VecDeque;

use super::{Machine, What};
use crate::config::Error;
use crate::frame::StackId;
use crate::program::Program;
use crate::stack::Standing;

/// The maximum number of restarts. With more, the program would not end.
const MAX_RESTARTS: u64 = 10_000;

impl<P: Program> Machine<'_, P> {
    pub(super) fn is_fast(&mut self, number: usize) -> bool {
        let speed = self.processors[number].speed.at(self.now);
        speed > 0.0 && speed >= self.config.fault_below
    }

    /// Schedules the next relevant change of speed.
    pub(super) fn await_change(&mut self, number: usize) {
        let (now, least) = (self.now, self.config.fault_below);
        let speed = &mut self.processors[number].speed;
        if !speed.can_be_below(least) {
            return;
        }
        if let Some(at) = speed.next_change(now) {
            self.changes += 1;
            self.push(at, number, What::Changes);
        }
    }

    /// The speed of a processor changes now.
    pub(super) fn change(&mut self, number: usize) -> Result<(), Error> {
        let (was, is) = (self.processors[number].alive, self.is_fast(number));
        self.processors[number].alive = is;
        self.await_change(number);
        match (was, is) {
            (true, false) => {
                if self.processors[number].speed.at(self.now) < self.config.fault_below {
                    self.fail(number)?;
                } else {
                    self.leave(number);
                }
            }
            (false, true) => {
                if self.is_root_unassigned {
                    self.assign_root();
                } else if self.processors[number].active.is_none() {
                    self.find_work(number);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The processor leaves, and keeps its stacks. Closures that it received and has not begun go
    /// back.
    fn leave(&mut self, number: usize) {
        if self.processors[number].active.is_none() {
            self.processors[number].stamp += 1;
        }
        for id in self.take_sent(number) {
            self.put_back(id);
        }
    }

    /// The stacks that a processor received and has not begun.
    pub(super) fn take_sent(&mut self, number: usize) -> VecDeque<StackId> {
        let sent = std::mem::take(&mut self.processors[number].sent);
        self.moving -= sent.len();
        sent
    }

    fn put_back(&mut self, id: StackId) {
        let Some(stack) = self.stacks.remove(&id) else { return };
        match stack.origin {
            None => self.is_root_unassigned = true,
            Some(origin) => {
                if let Some(victim) = self.stacks.get_mut(&origin.stack) {
                    victim.put_back(origin);
                }
            }
        }
        for stolen in stack.stolen() {
            self.drop_orphan(stolen);
        }
    }

    /// The processor is faulty: all its stacks are lost.
    fn fail(&mut self, number: usize) -> Result<(), Error> {
        self.outcome.faults += 1;
        self.catch_up(number);
        let mut lost = std::mem::take(&mut self.processors[number].suspended);
        if let Some(id) = self.processors[number].active {
            self.rest(number);
            lost.push(id);
        }
        lost.extend(self.take_sent(number));
        self.processors[number].stamp += 1;
        // No processor works on them any more. One may be dropped as an orphan of another.
        lost.iter().for_each(|&id| self.stack(id).standing = Standing::Suspended);
        lost.into_iter().for_each(|id| self.put_back(id));
        if self.is_root_unassigned {
            self.outcome.restarts += 1;
            if self.outcome.restarts == MAX_RESTARTS {
                return Err(Error::Hopeless { restarts: MAX_RESTARTS, seconds: self.now });
            }
            self.assign_root();
        }
        Ok(())
    }

    /// Drops the closures stolen from a lost stack, and recursively those stolen from them.
    fn drop_orphan(&mut self, first: StackId) {
        let mut orphans = vec![first];
        while let Some(id) = orphans.pop() {
            let Some(stack) = self.stacks.get(&id) else { continue };
            let (holder, standing) = (stack.holder, stack.standing);
            if standing == Standing::Active {
                self.catch_up(holder);
            }
            let Some(stack) = self.stacks.remove(&id) else { continue };
            orphans.extend(stack.stolen());
            let processor = &mut self.processors[holder];
            match standing {
                Standing::Sent => {
                    processor.sent.retain(|&other| other != id);
                    self.moving -= 1;
                    if processor.active.is_some() || !processor.sent.is_empty() {
                        continue;
                    }
                    processor.stamp += 1;
                }
                Standing::Active => self.rest(holder),
                Standing::Suspended => {
                    processor.suspended.retain(|&other| other != id);
                    continue;
                }
            }
            // An event at the current time runs after all lost stacks have been dropped.
            self.push(self.now, holder, What::Answered);
        }
    }
}
